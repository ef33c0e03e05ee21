//! A stream of numbered packets between two hosts, and what became of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use linuxnet::{NetError, PacketSocket, Poller};

/// What packets of the stream begin their content with.
const MARK: u64 = 0x5357_5744_5249_4c4c;
/// After so long without an arrival, packets that have not come after the last was sent are lost.
const TAIL: Duration = Duration::from_secs(1);
/// The stream still flows: how many packets it has is not known.
const FLOWING: u64 = u64::MAX;
/// How often waiting threads look up.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Numbers of packets that only find out whether the network is ready.
const EARLY: u64 = 1 << 63;

/// The content of a packet.
pub(super) fn content(number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&MARK.to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The number of a packet of the stream.
fn number(frame: &[u8]) -> Option<u64> {
    let mark = MARK.to_be_bytes();
    let at = frame.windows(8).position(|window| window == mark)?;
    let number = frame.get(at + 8..at + 16)?;
    Some(u64::from_be_bytes(number.try_into().ok()?))
}

/// What was sent and received, and when.
pub(super) struct Log {
    /// The moment at which each packet was sent, by its number.
    pub(super) sent: Vec<Instant>,
    /// Numbers and moments of arrival, in order.
    received: Vec<(u64, Instant)>,
}

/// A log in numbers.
pub(super) struct Counted {
    pub(super) received: u64,
    pub(super) duplicated: u64,
    pub(super) reordered: u64,
    /// From the first lost packet's sending to the last one's.
    pub(super) outage: Duration,
}

/// A stream that flows.
pub(super) struct Stream {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<Vec<Instant>>,
    receiver: JoinHandle<Vec<(u64, Instant)>>,
    /// How many packets were sent in all, or [`FLOWING`].
    total: Arc<AtomicU64>,
}

impl Stream {
    /// Waits until a packet gets through, and lets the stream flow; `None` if none does in time.
    ///
    /// # Errors
    /// Sockets that cannot be waited for.
    pub(super) fn start(
        mut sending: PacketSocket,
        mut arriving: PacketSocket,
        frame: impl Fn(u64) -> Vec<u8>,
        rate: u32,
        patience: Duration,
    ) -> Result<Option<Self>, NetError> {
        let poller = Poller::new()?;
        poller.add(&arriving)?;
        let deadline = Instant::now() + patience;
        let mut through = false;
        while !through {
            if Instant::now() > deadline {
                return Ok(None);
            }
            sending.send(&frame(EARLY));
            sending.flush();
            poller.wait(Some(POLL_INTERVAL * 4))?;
            arriving.receive(usize::MAX, |frame| through |= number(frame) == Some(EARLY));
            arriving.settle();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let total = Arc::new(AtomicU64::new(FLOWING));
        let interval = Duration::from_secs(1) / rate.max(1);
        // The number is written over in the frame, and no checksum of it is looked at on the way.
        let template = frame(0);
        let (stopped, expected) = (Arc::clone(&stop), Arc::clone(&total));
        let sender = std::thread::spawn(move || send(&mut sending, template, interval, &stopped));
        let receiver = std::thread::spawn(move || receive(&mut arriving, &poller, &expected));
        Ok(Some(Self {
            stop,
            sender,
            receiver,
            total,
        }))
    }

    /// Ends the stream and waits until all has arrived, or nothing comes any more.
    pub(super) fn stop(self) -> Log {
        self.stop.store(true, Ordering::Release);
        // A thread that panicked has counted nothing.
        let sent = self.sender.join().unwrap_or_default();
        self.total.store(sent.len() as u64, Ordering::Release);
        let received = self.receiver.join().unwrap_or_default();
        Log { sent, received }
    }
}

fn send(
    socket: &mut PacketSocket,
    mut frame: Vec<u8>,
    interval: Duration,
    stop: &AtomicBool,
) -> Vec<Instant> {
    let mark = MARK.to_be_bytes();
    let at = frame.windows(8).position(|window| window == mark);
    let at = at.map_or(0, |at| at + 8);
    let mut sent = Vec::new();
    let start = Instant::now();
    while !stop.load(Ordering::Acquire) {
        let number = sent.len() as u64;
        if let Some(place) = frame.get_mut(at..at + 8) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        socket.send(&frame);
        socket.flush();
        sent.push(Instant::now());
        let next = start + interval.saturating_mul(u32::try_from(sent.len()).unwrap_or(u32::MAX));
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    sent
}

fn receive(socket: &mut PacketSocket, poller: &Poller, total: &AtomicU64) -> Vec<(u64, Instant)> {
    let mut received = Vec::new();
    let mut arrived = BTreeSet::new();
    let mut since = None;
    loop {
        let total = total.load(Ordering::Acquire);
        if total != FLOWING {
            let quiet = *since.get_or_insert_with(Instant::now);
            if arrived.len() as u64 >= total || quiet.elapsed() > TAIL {
                break;
            }
        }
        let taken = socket.receive(usize::MAX, |frame| {
            if let Some(number) = number(frame).filter(|number| *number < EARLY) {
                received.push((number, Instant::now()));
                arrived.insert(number);
                since = None;
            }
        });
        if taken == 0 && poller.wait(Some(POLL_INTERVAL)).is_err() {
            break;
        }
        socket.settle();
    }
    received
}

impl Log {
    pub(super) fn count(&self) -> Counted {
        let mut seen = vec![false; self.sent.len()];
        let (mut duplicated, mut reordered, mut highest) = (0, 0, 0);
        for &(number, _) in &self.received {
            let Some(seen) = usize::try_from(number).ok().and_then(|at| seen.get_mut(at)) else {
                continue;
            };
            duplicated += u64::from(std::mem::replace(seen, true));
            reordered += u64::from(number < highest);
            highest = highest.max(number);
        }
        let first = seen.iter().position(|seen| !seen);
        let last = seen.iter().rposition(|seen| !seen);
        let outage = match (first, last) {
            (Some(first), Some(last)) => {
                self.sent[last].saturating_duration_since(self.sent[first])
            }
            _ => Duration::ZERO,
        };
        Counted {
            received: seen.iter().filter(|seen| **seen).count() as u64,
            duplicated,
            reordered,
            outage,
        }
    }

    /// The longest time between two arrivals, of which the later one lies between these moments.
    /// The last packet's sending counts as an arrival, or a stream that never comes back would have
    /// no gap.
    pub(super) fn longest_gap(&self, from: Option<Instant>, to: Option<Instant>) -> Duration {
        let mut moments: Vec<Instant> = self.received.iter().map(|(_, at)| *at).collect();
        moments.extend(self.sent.last().filter(|last| moments.last() < Some(last)));
        let pairs = moments.windows(2).filter_map(|pair| match pair {
            [before, after] => {
                let inside =
                    from.is_none_or(|from| *after >= from) && to.is_none_or(|to| *after < to);
                inside.then(|| after.saturating_duration_since(*before))
            }
            _ => None,
        });
        pairs.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_gaps_and_repetitions_are_counted() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let log = Log {
            sent: (0..6).map(at).collect(),
            received: vec![(0, at(1)), (1, at(2)), (1, at(3)), (5, at(30)), (4, at(31))],
        };
        let counted = log.count();
        assert_eq!(
            (counted.received, counted.duplicated, counted.reordered),
            (4, 1, 1)
        );
        assert_eq!(counted.outage, Duration::from_millis(1));
        assert_eq!(log.longest_gap(None, None), Duration::from_millis(27));
        assert_eq!(
            log.longest_gap(None, Some(at(10))),
            Duration::from_millis(1)
        );
        assert_eq!(number(&content(77)), Some(77));
        assert_eq!(number(&[0; 40]), None);
    }
}

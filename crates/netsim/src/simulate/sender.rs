//! How senders behave: windows (TCP, DCTCP, TCP-Bolt) and rates (DCQCN).

/// Gain of DCTCP's estimate of the share of marked packets (DCTCP10).
const DCTCP_GAIN: f64 = 1.0 / 16.0;
/// A sender that hears nothing for so long sends again.
pub(super) const RETRANSMIT_AFTER: u64 = 5_000_000;
/// The largest window, in packets: what a receiver offers.
const MAX_PACKETS: f64 = 1_000.0;
/// The first window of TCP and DCTCP, in packets (RFC 6928).
const FIRST_PACKETS: f64 = 10.0;

/// A window in packets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: f64,
    threshold: f64,
    /// First packet that is not acknowledged.
    pub(super) acked: u64,
    /// Whether marks count.
    ecn: bool,
    /// Whether packets may overtake each other, so that a gap says nothing.
    unordered: bool,
    share: f64,
    round_end: u64,
    seen: u64,
    marked: u64,
    repeats: u32,
    recover: u64,
    /// A packet to be sent again.
    pub(super) again: Option<u64>,
    pub(super) deadline: u64,
}

impl Window {
    /// A window; `first` packets to begin with, or the usual number.
    pub(super) fn new(ecn: bool, first: Option<f64>, unordered: bool) -> Self {
        Self {
            size: first.unwrap_or(FIRST_PACKETS),
            // TCP-Bolt begins where others only arrive.
            threshold: first.unwrap_or(MAX_PACKETS),
            acked: 0,
            ecn,
            unordered,
            share: 1.0,
            round_end: 0,
            seen: 0,
            marked: 0,
            repeats: 0,
            recover: 0,
            again: None,
            deadline: u64::MAX,
        }
    }

    /// Whether a new packet may be sent when the next one's number is `next`.
    pub(super) fn open(&self, next: u64) -> bool {
        (next.saturating_sub(self.acked) as f64) < self.size.max(1.0)
    }

    /// All packets below `upto` have arrived; one of them said whether it was marked.
    pub(super) fn acknowledge(&mut self, now: u64, upto: u64, marked: bool, next: u64) {
        self.deadline = now + RETRANSMIT_AFTER;
        if upto <= self.acked {
            self.repeats += 1;
            if self.repeats == 3 && !self.unordered && self.acked >= self.recover {
                self.lost(next);
            }
            return;
        }
        let fresh = upto - self.acked;
        self.acked = upto;
        self.repeats = 0;
        if upto < self.recover {
            // A partial acknowledgement: the next gap.
            self.again = Some(upto);
            return;
        }
        self.seen += fresh;
        self.marked += if marked { fresh } else { 0 };
        self.size += match self.size < self.threshold {
            true => fresh as f64,
            false => fresh as f64 / self.size,
        };
        self.size = self.size.min(MAX_PACKETS);
        if self.ecn && upto >= self.round_end {
            self.end_round(next);
        }
    }

    fn end_round(&mut self, next: u64) {
        let share = self.marked as f64 / self.seen.max(1) as f64;
        self.share += DCTCP_GAIN * (share - self.share);
        if self.marked > 0 {
            self.size = (self.size * (1.0 - self.share / 2.0)).max(1.0);
            self.threshold = self.size;
        }
        (self.seen, self.marked) = (0, 0);
        self.round_end = next;
    }

    fn lost(&mut self, next: u64) {
        self.threshold = (self.size / 2.0).max(2.0);
        self.size = self.threshold;
        self.recover = next;
        self.again = Some(self.acked);
    }

    /// Nothing was heard for too long: everything is sent again, from `acked` on.
    pub(super) fn time_out(&mut self, now: u64) {
        self.threshold = (self.size / 2.0).max(2.0);
        self.size = 1.0;
        self.recover = 0;
        self.again = None;
        self.repeats = 0;
        self.deadline = now + RETRANSMIT_AFTER;
    }
}

/// DCQCN's reaction point, with the parameters of its paper (DCQCN15).
#[derive(Clone, Debug)]
pub(super) struct Dcqcn {
    pub(super) rate: f64,
    target: f64,
    share: f64,
    line: f64,
    next_decay: u64,
    next_rise: u64,
    rises: u32,
    bytes: u64,
    byte_rises: u32,
}

const GAIN: f64 = 1.0 / 256.0;
const PERIOD: u64 = 55_000;
const BYTE_PERIOD: u64 = 10_000_000;
const FAST_STEPS: u32 = 5;
const STEP: f64 = 40e6;
const LARGE_STEP: f64 = 400e6;
const LEAST_RATE: f64 = 10e6;
/// A receiver notifies a sender at most so often.
pub(super) const NOTIFY_EVERY: u64 = 50_000;

impl Dcqcn {
    /// A sender at this rate, that of its link.
    pub(super) fn new(line: f64) -> Self {
        Self {
            rate: line,
            target: line,
            share: 1.0,
            line,
            next_decay: u64::MAX,
            next_rise: u64::MAX,
            rises: 0,
            bytes: 0,
            byte_rises: 0,
        }
    }

    /// The receiver saw a mark.
    pub(super) fn notified(&mut self, now: u64) {
        self.advance(now);
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.share / 2.0)).max(LEAST_RATE);
        self.share += GAIN * (1.0 - self.share);
        (self.rises, self.byte_rises, self.bytes) = (0, 0, 0);
        self.next_decay = now + PERIOD;
        self.next_rise = now + PERIOD;
    }

    /// Does what time has brought.
    pub(super) fn advance(&mut self, now: u64) {
        while self.next_decay <= now {
            self.share *= 1.0 - GAIN;
            self.next_decay += PERIOD;
        }
        while self.next_rise <= now {
            self.rises += 1;
            self.rise();
            self.next_rise += PERIOD;
        }
    }

    /// Bytes were sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        if self.next_rise == u64::MAX {
            return;
        }
        self.bytes += bytes;
        if self.bytes >= BYTE_PERIOD {
            self.bytes -= BYTE_PERIOD;
            self.byte_rises += 1;
            self.rise();
        }
    }

    fn rise(&mut self) {
        let (more, less) = (
            self.rises.max(self.byte_rises),
            self.rises.min(self.byte_rises),
        );
        if less > FAST_STEPS {
            self.target += LARGE_STEP;
        } else if more > FAST_STEPS {
            self.target += STEP;
        }
        self.target = self.target.min(self.line);
        self.rate = ((self.rate + self.target) / 2.0).min(self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dctcp_gives_way_by_the_share_of_marks() {
        let mut window = Window::new(true, Some(100.0), false);
        let (mut acked, mut next) = (0, 100);
        // A hundred rounds: after twenty the estimate still remembers that it began with all.
        for _ in 0..10_000 {
            acked += 1;
            next += 1;
            window.acknowledge(0, acked, acked % 10 == 0, next);
        }
        assert!((0.05..0.2).contains(&window.share), "{}", window.share);
        assert!((10.0..120.0).contains(&window.size), "{}", window.size);
    }

    #[test]
    fn a_gap_is_sent_again_and_halves_the_window() {
        let mut window = Window::new(false, Some(20.0), false);
        window.acknowledge(0, 5, false, 25);
        for _ in 0..3 {
            window.acknowledge(0, 5, false, 25);
        }
        assert_eq!(window.again, Some(5));
        assert!(window.size < 11.0);
        window.acknowledge(0, 9, false, 25);
        assert_eq!(window.again, Some(9), "the next gap of the same loss");
    }

    #[test]
    fn dcqcn_falls_and_recovers() {
        let mut sender = Dcqcn::new(40e9);
        sender.notified(0);
        assert!((19e9..21e9).contains(&sender.rate));
        sender.advance(PERIOD * 6);
        assert!(sender.rate > 39e9);
        for at in 0..20 {
            sender.notified(PERIOD * (6 + at));
        }
        assert!(sender.rate < 10e9 && sender.rate >= LEAST_RATE);
    }
}

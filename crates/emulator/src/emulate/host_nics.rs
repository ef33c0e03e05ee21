//! The thread that drives the hosts' cards: it takes in what arrives, and sends what flows may
//! send, at their rate. Frames are real UDP packets through each host's own interface; PFC frames
//! that arrive there are obeyed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use linuxnet::{NetError, PacketSocket, Poller, Wake};
use simulator::simulate::player::{Hosts, NicStep};

use super::clock::Clock;

/// The most frames taken from one host before the next has its turn.
const TURN: usize = 256;
/// How late a frame may be and still count as sent in time, as in the switches.
const CATCH_UP: Duration = Duration::from_millis(20);
/// The longest sleep: whoever changes something wakes the thread, so this only bounds the harm of a
/// lost wake-up.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// What the thread and others share.
struct Shared {
    hosts: Mutex<Hosts>,
    stop: AtomicBool,
    /// Somebody changed the hosts: all cards look again.
    changed: AtomicBool,
}

/// The cards while they run.
pub(super) struct HostNics {
    shared: Arc<Shared>,
    wake: Wake,
    thread: Option<JoinHandle<Served>>,
}

/// How well the cards were served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    /// The longest that a frame waited for its thread, in scenario time.
    pub(super) latest: u64,
    /// Frames that came faster than they were taken, and were lost.
    pub(super) overrun: u64,
}

impl HostNics {
    /// Starts. Sockets are in the order of the hosts.
    pub(super) fn start(
        hosts: Hosts,
        sockets: Vec<PacketSocket>,
        clock: Clock,
    ) -> Result<Self, NetError> {
        let poller = Poller::new()?;
        for socket in &sockets {
            poller.add(socket)?;
        }
        let wake = poller.wake();
        let shared = Arc::new(Shared {
            hosts: Mutex::new(hosts),
            stop: AtomicBool::new(false),
            changed: AtomicBool::new(false),
        });
        let driver = Driver {
            due: vec![0; sockets.len()],
            shared: Arc::clone(&shared),
            sockets,
            poller,
            clock,
            served: Served::default(),
        };
        let thread = std::thread::Builder::new()
            .name("hosts".to_owned())
            .spawn(move || driver.run())
            .map_err(|source| NetError::System {
                what: "starting a thread".to_owned(),
                source,
            })?;
        Ok(Self {
            shared,
            wake,
            thread: Some(thread),
        })
    }

    /// The hosts, to look at.
    pub(super) fn hosts(&self) -> MutexGuard<'_, Hosts> {
        lock(&self.shared.hosts)
    }

    /// The hosts, to change.
    pub(super) fn change(&self, change: impl FnOnce(&mut Hosts)) {
        change(&mut lock(&self.shared.hosts));
        self.shared.changed.store(true, Ordering::Release);
        self.wake.wake();
    }

    /// Ends the thread; nothing is sent or taken in any more.
    pub(super) fn stop(&mut self) -> Served {
        self.shared.stop.store(true, Ordering::Release);
        self.wake.wake();
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for HostNics {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(hosts: &Mutex<Hosts>) -> MutexGuard<'_, Hosts> {
    hosts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread works with.
struct Driver {
    shared: Arc<Shared>,
    sockets: Vec<PacketSocket>,
    poller: Poller,
    clock: Clock,
    /// When each card looks again, in scenario time.
    due: Vec<u64>,
    served: Served,
}

impl Driver {
    fn run(mut self) -> Served {
        let mut frame = Vec::new();
        while !self.shared.stop.load(Ordering::Acquire) {
            let heard = self.round(&mut frame);
            let next = self.due.iter().copied().min().unwrap_or(u64::MAX);
            let nap = self.clock.until(next).min(LONGEST_SLEEP);
            if nap.is_zero() {
                continue;
            }
            match self.poller.wait(Some(nap)) {
                // Woken for no frame: it may have been an error, which must be taken or wakes us
                // for ever.
                Ok(true) if !heard => self.sockets.iter_mut().for_each(PacketSocket::settle),
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "waiting for the hosts' frames");
                    break;
                }
            }
        }
        for socket in &mut self.sockets {
            self.served.overrun += socket.stats().receive_overrun;
        }
        self.served
    }

    /// Serves every host once; whether any heard something.
    fn round(&mut self, frame: &mut Vec<u8>) -> bool {
        let mut hosts = lock(&self.shared.hosts);
        let now = self.clock.now();
        if self.shared.changed.swap(false, Ordering::Acquire) {
            self.due.fill(now);
        }
        let earliest = now.saturating_sub(self.clock.scenario(CATCH_UP));
        let mut heard = false;
        for (host, (socket, due)) in self.sockets.iter_mut().zip(&mut self.due).enumerate() {
            if socket.receive(TURN, |bytes| hosts.take(host, now, bytes)) > 0 {
                *due = (*due).min(now);
                heard = true;
            }
            while *due <= now {
                let at = (*due).max(earliest);
                match hosts.step(host, at, frame) {
                    NicStep::Sends(until) => {
                        self.served.latest = self.served.latest.max(now - *due);
                        socket.send(frame);
                        *due = until;
                    }
                    NicStep::Waits(next) => *due = next.max(at + 1),
                }
            }
            socket.flush();
        }
        heard
    }
}

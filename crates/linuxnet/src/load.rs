//! Load and its yardstick: a sender of frames, paced or as fast as it goes, and the bare forwarder
//! that shows what this machine's raw sockets can carry at best. For benchmarks.
//!
//! What arrives is counted by the interface at the far end, so that no receiver takes part in the
//! race.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{NetError, RAW, Tried};
use crate::packet::{Driver, PacketOptions, PacketSocket};
use crate::poller::{Poller, Wake};

/// Frames handed to the interface at a time.
const BURST: u32 = 32;
/// Looks at empty rings before the forwarder sleeps.
const IDLE_ROUNDS: u32 = 64;
/// The longest sleep.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// A thread that works until it is stopped.
#[derive(Debug)]
struct Worker<T> {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Worker<T> {
    fn start(
        name: &str,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<Self, NetError> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&told))
            .tried("starting a thread", RAW)?;
        Ok(Self { stop, thread })
    }

    fn stop(self) -> Option<T> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().ok()
    }
}

/// What a [`Load`] sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the interface took.
    pub frames: u64,
    /// For how long.
    pub time: Duration,
}

/// Sends copies of one frame.
#[derive(Debug)]
pub struct Load(Worker<Sent>);

impl Load {
    /// Starts to send from an interface of the caller's namespace, at `rate` frames per second or
    /// as fast as it goes.
    ///
    /// # Errors
    /// As [`PacketSocket::open`].
    pub fn start(interface: &str, frame: Vec<u8>, rate: Option<u64>) -> Result<Self, NetError> {
        let options = PacketOptions {
            ring_frames: 1, // nothing is received here
            ..PacketOptions::default()
        };
        let socket = PacketSocket::open(interface, &options)?;
        Worker::start("load", move |stop| send(socket, &frame, rate, stop)).map(Self)
    }

    /// Stops and tells what was sent.
    #[must_use]
    pub fn stop(self) -> Sent {
        self.0.stop().unwrap_or_default()
    }
}

fn send(mut socket: PacketSocket, frame: &[u8], rate: Option<u64>, stop: &AtomicBool) -> Sent {
    let start = Instant::now();
    let mut handed: u64 = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Some(rate) = rate {
            let due = start.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000;
            let late = due.saturating_sub(u128::from(handed));
            if late == 0 {
                // Half a burst's time away: too short to sleep well, long enough for others.
                thread::yield_now();
                continue;
            }
            for _ in 0..late.min(u128::from(BURST)) {
                socket.send(frame);
                handed += 1;
            }
        } else {
            for _ in 0..BURST {
                socket.send(frame);
            }
            handed += u64::from(BURST);
        }
        socket.flush();
    }
    let time = start.elapsed();
    Sent {
        frames: socket.stats().sent,
        time,
    }
}

/// Carries frames from one interface to another and back, and does nothing else: no program, no
/// tables, no copy but the kernel's.
#[derive(Debug)]
pub struct Forwarder {
    worker: Worker<()>,
    wake: Wake,
}

impl Forwarder {
    /// Starts between two interfaces of the caller's namespace.
    ///
    /// # Errors
    /// As [`PacketSocket::open`].
    pub fn start(a: &str, b: &str, driver: Driver) -> Result<Self, NetError> {
        let options = PacketOptions {
            driver,
            ..PacketOptions::default()
        };
        let (mut a, mut b) = (
            PacketSocket::open(a, &options)?,
            PacketSocket::open(b, &options)?,
        );
        let poller = Poller::new()?;
        poller.add(&a)?;
        poller.add(&b)?;
        let wake = poller.wake();
        let worker = Worker::start("forwarder", move |stop| {
            let mut idle = 0;
            while !stop.load(Ordering::Relaxed) {
                let mut taken = a.receive(BURST as usize, |frame| b.send(frame));
                taken += b.receive(BURST as usize, |frame| a.send(frame));
                a.flush();
                b.flush();
                idle = if taken == 0 { idle + 1 } else { 0 };
                if idle > IDLE_ROUNDS {
                    let _ = poller.wait(Some(LONGEST_SLEEP));
                } else if idle > 0 {
                    hint::spin_loop();
                }
            }
        })?;
        Ok(Self { worker, wake })
    }

    /// Stops.
    pub fn stop(self) {
        self.worker.stop.store(true, Ordering::Release);
        self.wake.wake();
        let _ = self.worker.stop();
    }
}

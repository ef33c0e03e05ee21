//! Waiting on many descriptors, and being woken from another thread.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::error::{NetError, RAW, Tried};

/// Below this, milliseconds, epoll's unit, are too coarse.
const COARSE: Duration = Duration::from_millis(20);

/// The mark of the descriptor that wakes.
const WAKE: u64 = u64::MAX;

/// Wakes the thread that waits in a [`Poller`]. Cheap to clone; any thread may call it.
#[derive(Clone, Debug)]
pub struct Wake(Arc<EventFd>);

impl Wake {
    /// Ends the current or the next wait.
    pub fn wake(&self) {
        // It can only fail when the count is full, and then the sleeper wakes anyway.
        let _ = self.0.write(1);
    }
}

/// Waits until one of its descriptors can be read, or until it is woken.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    wake: Wake,
}

impl Poller {
    /// Watches nothing but its [`Wake`].
    ///
    /// # Errors
    /// Too many open descriptors.
    pub fn new() -> Result<Self, NetError> {
        let epoll =
            Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).tried("making an epoll set", RAW)?;
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let event = EventFd::from_value_and_flags(0, flags).tried("making an eventfd", RAW)?;
        epoll
            .add(&event, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))
            .tried("watching an eventfd", RAW)?;
        Ok(Self {
            epoll,
            wake: Wake(Arc::new(event)),
        })
    }

    /// What wakes it.
    #[must_use]
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// Waits for this descriptor too, from now on. A closed descriptor is forgotten by itself.
    ///
    /// # Errors
    /// A descriptor that cannot be waited for (a plain file), or that is watched already.
    pub fn add(&self, descriptor: &impl AsFd) -> Result<(), NetError> {
        self.epoll
            .add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, 0))
            .tried("watching a descriptor", RAW)
    }

    /// Waits at most this long; `None` waits until something happens. Says whether something did.
    /// Short waits are as fine as the system's timers, some fifty microseconds.
    /// Which descriptor it was is not told: who waits looks at all of them anyway.
    ///
    /// # Errors
    /// None but a broken kernel's.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool, NetError> {
        let timeout = match timeout {
            Some(time) if time < COARSE && !time.is_zero() => {
                if !self.wait_finely(time)? {
                    return Ok(false);
                }
                EpollTimeout::ZERO
            }
            None => EpollTimeout::NONE,
            // Never shorter than asked: rounding down would spin.
            Some(time) => EpollTimeout::try_from(time.as_nanos().div_ceil(1_000_000) as u64)
                .unwrap_or(EpollTimeout::MAX),
        };
        let mut events = [EpollEvent::empty(); 16];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(e) => return Err(e).tried("waiting", RAW),
        };
        if events[..count].iter().any(|event| event.data() == WAKE) {
            let _ = self.wake.0.read();
        }
        Ok(count > 0)
    }

    /// Waits for any descriptor; whether one is ready.
    fn wait_finely(&self, time: Duration) -> Result<bool, NetError> {
        let mut descriptors = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut descriptors, Some(TimeSpec::from_duration(time)), None) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::errno::Errno::EINTR) => Ok(false),
            Err(e) => Err(e).tried("waiting", RAW),
        }
    }
}

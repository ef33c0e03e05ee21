//! A device with its executor's state, where that is: with the executor, or, where several threads
//! have one, under a lock.
//!
//! A program in which packets do nothing but count has a state for each thread. Any other
//! (registers, meters, times of hits) has one for all: a thread takes it for a stretch of packets,
//! so that no packet sees a part of what another does.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device::Device;
use p4exec::{Executor as _, RuntimeState};

use super::BoxedExecutor;

/// The one state of all threads.
pub(crate) type OneState = Arc<Mutex<RuntimeState>>;

/// An executor for a thread, and the state that it shares with those of the others.
pub(crate) struct Share {
    pub(crate) executor: BoxedExecutor,
    pub(crate) one: Option<OneState>,
}

impl Share {
    /// Executors for so many threads, of one whose state they go on with.
    pub(crate) fn out(mut executor: BoxedExecutor, threads: usize, seed: u64) -> Vec<Self> {
        if threads == 1 {
            return vec![Self {
                executor,
                one: None,
            }];
        }
        if executor.state().data.only_counts() {
            let other = |number: u64| {
                let mut other = executor.with_state(executor.state().beside());
                other.state_mut().data.seed(seed.wrapping_add(number));
                other
            };
            let others: Vec<_> = (1..threads as u64).map(other).collect();
            let all = std::iter::once(executor).chain(others);
            return all
                .map(|executor| Self {
                    executor,
                    one: None,
                })
                .collect();
        }
        let program = Arc::clone(executor.state().program());
        let absent = || RuntimeState::absent(Arc::clone(&program));
        let one = Arc::new(Mutex::new(std::mem::replace(
            executor.state_mut(),
            absent(),
        )));
        let others: Vec<_> = (1..threads)
            .map(|_| executor.with_state(absent()))
            .collect();
        let all = std::iter::once(executor).chain(others);
        let share = |executor| Self {
            executor,
            one: Some(Arc::clone(&one)),
        };
        all.map(share).collect()
    }
}

/// A device and where its state is.
pub(crate) struct Running {
    pub(crate) device: Device<BoxedExecutor>,
    one: Option<OneState>,
}

impl Running {
    /// Runs this executor on a device that was made with it.
    pub(crate) fn new(device: Device<BoxedExecutor>, one: Option<OneState>) -> Self {
        let mut running = Self { device, one };
        running.enter().tell_ports();
        running
    }

    /// Runs another executor from now on; the old one comes back.
    pub(crate) fn replace(&mut self, share: Share) -> Share {
        let old = Share {
            one: std::mem::replace(&mut self.one, share.one),
            executor: self.device.replace_executor(share.executor),
        };
        self.enter().tell_ports();
        old
    }

    /// Whether other threads have the same state.
    pub(crate) const fn shares_state(&self) -> bool {
        self.one.is_some()
    }

    /// The device with its state, which nobody else has until this is dropped. A state that others
    /// have too says of the ports what this device knows: another thread may not have taken up yet
    /// what was said of a port, or have taken up more.
    pub(crate) fn enter(&mut self) -> Entered<'_> {
        let one = self.one.as_ref();
        let mut entered = Entered {
            device: &mut self.device,
            // Whoever panicked has put the state back.
            place: one.map(|one| one.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        entered.exchange();
        if entered.place.is_some() {
            entered.tell_ports();
        }
        entered
    }
}

/// A device that has its state.
pub(crate) struct Entered<'r> {
    device: &'r mut Device<BoxedExecutor>,
    /// Where the state comes from, and what the executor had instead.
    place: Option<MutexGuard<'r, RuntimeState>>,
}

impl Entered<'_> {
    fn exchange(&mut self) {
        if let Some(place) = &mut self.place {
            std::mem::swap(self.device.executor_mut().state_mut(), place);
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.exchange();
    }
}

impl Deref for Entered<'_> {
    type Target = Device<BoxedExecutor>;

    fn deref(&self) -> &Self::Target {
        self.device
    }
}

impl DerefMut for Entered<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.device
    }
}

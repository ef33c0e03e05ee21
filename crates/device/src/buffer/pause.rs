//! Priority Flow Control: sending and obeying pause frames, and the timers of both.

use std::cmp::Reverse;

use quantities::{Nanos, PortId, Priority};
use wire::pfc::{self, Quanta};

use super::config::CLASSES;
use super::{Buffer, Wire, bit};

/// A PFC frame that was received and will be acted on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedPause {
    at: Nanos,
    times: [Option<Quanta>; CLASSES],
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// A received pause ends.
    Expiry,
    /// A pause that was sent is renewed.
    Renewal,
    /// A received frame takes effect.
    Reaction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    at: Nanos,
    port: PortId,
    class: u8,
    purpose: Purpose,
}

/// A queue that stopped because of a received pause, or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseEdge {
    /// When.
    pub at: Nanos,
    /// The queue's port.
    pub port: PortId,
    /// The queue's class.
    pub class: Priority,
    /// Stopped, or going on.
    pub paused: bool,
}

impl Buffer {
    /// Keeps a list of when queues were paused from now on; [`Buffer::take_pauses`] empties it.
    pub fn log_pauses(&mut self) {
        self.pause_log.get_or_insert_default();
    }

    /// What happened since the list was last emptied.
    pub fn take_pauses(&mut self) -> Vec<PauseEdge> {
        self.pause_log
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Whether a queue is paused.
    #[must_use]
    pub fn is_paused(&self, port: PortId, class: Priority) -> bool {
        self.port(port)
            .is_some_and(|p| p.paused & bit(class.get()) != 0)
    }

    /// How long a queue was paused in all, with the pause that lasts now.
    #[must_use]
    pub fn paused(&self, now: Nanos, port: PortId, class: Priority) -> Nanos {
        let at = usize::from(class.get() & 7);
        let Some(port) = self.port(port) else {
            return Nanos::default();
        };
        let lasts = match port.paused & bit(class.get()) {
            0 => 0,
            _ => now
                .get()
                .saturating_sub(port.classes[at].paused_since.get()),
        };
        Nanos::new(port.classes[at].counters.paused.get() + lasts)
    }

    /// Takes in a PFC frame from the far end of a port. Classes that are not lossless do not obey.
    pub fn receive_pfc(&mut self, now: Nanos, id: PortId, frame: &pfc::Repr) {
        let Some(port) = self.port_mut(id) else {
            return;
        };
        if !port.up {
            return;
        }
        if port.config.reaction.get() == 0 {
            self.apply_pause(now, id, frame.times);
            return;
        }
        let at = Nanos::new(now.get().saturating_add(port.config.reaction.get()));
        port.heard.push_back(ReceivedPause {
            at,
            times: frame.times,
        });
        self.arm(at, id, 0, Purpose::Reaction);
    }

    fn apply_pause(&mut self, now: Nanos, id: PortId, times: [Option<Quanta>; CLASSES]) {
        let lossless = self.config.lossless.bits();
        for class in 0..CLASSES as u8 {
            let Some(time) = times[usize::from(class)].filter(|_| lossless & bit(class) != 0)
            else {
                continue;
            };
            let at = usize::from(class);
            let Some(port) = self.port_mut(id) else {
                return;
            };
            if time == Quanta::RESUME {
                port.classes[at].counters.resumes_received += 1;
                self.unpause(now, id, class);
                continue;
            }
            port.classes[at].counters.pauses_received += 1;
            if port.deaf & bit(class) != 0 {
                continue;
            }
            let length = time.duration(port.config.rate).get();
            let until = Nanos::new(now.get().saturating_add(length));
            port.classes[at].paused_until = until;
            let fresh = port.paused & bit(class) == 0;
            port.paused |= bit(class);
            if fresh {
                port.classes[at].paused_since = now;
            }
            // A later end is seen when the timer under way goes off.
            let arm = port.classes[at].expiry.is_none_or(|armed| until < armed);
            if arm {
                port.classes[at].expiry = Some(until);
                self.arm(until, id, class, Purpose::Expiry);
            }
            if fresh {
                self.note(now, id, class, true);
            }
        }
    }

    fn note(&mut self, at: Nanos, port: PortId, class: u8, paused: bool) {
        if let Some(log) = &mut self.pause_log {
            let class = Priority::new(class);
            log.push(PauseEdge {
                at,
                port,
                class,
                paused,
            });
        }
    }

    pub(super) fn unpause(&mut self, now: Nanos, id: PortId, class: u8) {
        let Some(port) = self.port_mut(id).filter(|p| p.paused & bit(class) != 0) else {
            return;
        };
        let at = usize::from(class & 7);
        port.paused &= !bit(class);
        let paused = &mut port.classes[at].counters.paused;
        let lasted = now
            .get()
            .saturating_sub(port.classes[at].paused_since.get());
        *paused = Nanos::new(paused.get() + lasted);
        if port.waiting & bit(class) != 0 {
            self.wake(id);
        }
        self.note(now, id, class, false);
    }

    /// Puts an idle port on the list of those to be asked.
    fn wake(&mut self, id: PortId) {
        let Some(port) = self.port_mut(id) else {
            return;
        };
        if matches!(port.wire, Wire::Idle) && port.up && !port.ready {
            port.ready = true;
            self.ready.push_back(id);
        }
    }

    /// Tells the sender of an input port to stop a class.
    pub(super) fn stop(&mut self, now: Nanos, id: PortId, class: u8) {
        let at = usize::from(class & 7);
        let Some(port) = self.port_mut(id) else {
            return;
        };
        port.classes[at].ingress.xoff = true;
        port.classes[at].told_since = now;
        self.stopped.push((id.get(), class));
        self.say_stop(now, id, class);
    }

    fn say_stop(&mut self, now: Nanos, id: PortId, class: u8) {
        let pause = self.config.pause;
        let at = usize::from(class & 7);
        let Some(port) = self.port_mut(id) else {
            return;
        };
        port.classes[at].counters.pauses_sent += 1;
        port.say.times[at] = Some(pause);
        port.says = true;
        let half = pause.duration(port.config.rate).get() / 2;
        let renew_at = Nanos::new(now.get().saturating_add(half.max(1)));
        port.classes[at].renew_at = renew_at;
        let arm = port.renewal_armed & bit(class) == 0;
        port.renewal_armed |= bit(class);
        if arm {
            self.arm(renew_at, id, class, Purpose::Renewal);
        }
        self.wake(id);
    }

    /// Tells the sender to go on, if the use of the class allows.
    pub(super) fn try_resume(&mut self, now: Nanos, port: u16, class: u8) {
        let at = usize::from(class & 7);
        let free = self.shared.saturating_sub(self.shared_used);
        let limit = self.config.threshold.resume_at(free);
        let id = PortId::new(port);
        let Some(place) = self.port_mut(id) else {
            return;
        };
        let ingress = &mut place.classes[at].ingress;
        if !ingress.xoff || ingress.headroom > 0 || (ingress.used() > limit && ingress.used() > 0) {
            return;
        }
        ingress.xoff = false;
        place.classes[at].told_since = now;
        place.classes[at].counters.resumes_sent += 1;
        if place.up {
            place.say.times[at] = Some(Quanta::RESUME);
            place.says = true;
        }
        self.stopped.retain(|&stopped| stopped != (port, class));
        self.wake(id);
    }

    /// A link came up: whoever must not send is told again.
    pub(super) fn renew_all(&mut self, now: Nanos, id: PortId) {
        for class in 0..CLASSES as u8 {
            if self
                .port(id)
                .is_some_and(|p| p.classes[usize::from(class)].ingress.xoff)
            {
                self.say_stop(now, id, class);
            }
        }
    }

    fn arm(&mut self, at: Nanos, port: PortId, class: u8, purpose: Purpose) {
        self.timers.push(Reverse(Timer {
            at,
            port,
            class,
            purpose,
        }));
        self.soonest = Some(self.soonest.map_or(at, |soonest| soonest.min(at)));
    }

    /// When [`Buffer::run_timers`] has something to do.
    #[must_use]
    #[inline]
    pub const fn next_timer(&self) -> Option<Nanos> {
        self.soonest
    }

    /// Does what is due: ends pauses, renews pauses, acts on received frames.
    pub fn run_timers(&mut self, now: Nanos) {
        while let Some(&Reverse(timer)) = self.timers.peek().filter(|first| first.0.at <= now) {
            self.timers.pop();
            match timer.purpose {
                Purpose::Expiry => self.expire(now, timer),
                Purpose::Renewal => self.renew(now, timer),
                Purpose::Reaction => self.react(now, timer.port),
            }
        }
        self.soonest = self.timers.peek().map(|Reverse(timer)| timer.at);
    }

    fn expire(&mut self, now: Nanos, timer: Timer) {
        let (id, class) = (timer.port, timer.class);
        let at = usize::from(class & 7);
        let Some(port) = self.port_mut(id) else {
            return;
        };
        if port.classes[at].expiry != Some(timer.at) {
            return; // an earlier one took its place
        }
        let until = port.classes[at].paused_until;
        let paused = port.paused & bit(class) != 0;
        if paused && until > now {
            port.classes[at].expiry = Some(until);
            self.arm(until, id, class, Purpose::Expiry);
            return;
        }
        port.classes[at].expiry = None;
        self.unpause(now, id, class);
    }

    fn renew(&mut self, now: Nanos, timer: Timer) {
        let (id, class) = (timer.port, timer.class);
        let at = usize::from(class & 7);
        let Some(port) = self.port_mut(id) else {
            return;
        };
        let ingress = port.classes[at].ingress;
        let renew_at = port.classes[at].renew_at;
        if ingress.xoff && port.up && renew_at > now {
            self.arm(renew_at, id, class, Purpose::Renewal);
            return;
        }
        port.renewal_armed &= !bit(class);
        if ingress.xoff && port.up {
            port.classes[at].counters.pauses_renewed += 1;
            self.say_stop(now, id, class);
        }
    }

    fn react(&mut self, now: Nanos, id: PortId) {
        loop {
            let Some(port) = self.port_mut(id) else {
                return;
            };
            let Some(heard) = port.heard.front().copied().filter(|h| h.at <= now) else {
                return;
            };
            port.heard.pop_front();
            self.apply_pause(now, id, heard.times);
        }
    }
}

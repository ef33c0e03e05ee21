//! SONiC's PFC watchdog (SonicWatchdog): at every poll it looks at each lossless queue of each
//! switch. A queue that has packets, hears PFC and has sent nothing for the detection time is in a
//! storm: PFC is not obeyed there any more, and its packets are thrown away, or sent. When no PFC
//! has been heard for the restoration time, all is as before.

use std::collections::BTreeMap;

use device::Device;
use device::buffer::{Buffer, CLASSES, StormAction};
use p4exec::FastestExecutor;
use quantities::{Nanos, PortId, Priority};
use serde::Serialize;
use spec::{WatchdogAction, WatchdogSpec};

/// What a watchdog did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WatchdogReport {
    /// Queues that it found in a storm.
    pub storms: u64,
    /// Of these, those that were restored.
    pub restored: u64,
    /// Lossless packets that it threw away.
    pub dropped: u64,
}

/// A queue: switch, port, class.
type Queue = (usize, PortId, u8);

/// What is known of a queue.
#[derive(Clone, Copy, Debug)]
struct Watched {
    storm: bool,
    /// How much longer the state must last to change.
    left: u64,
    sent: u64,
    pauses: u64,
}

/// See the module documentation.
pub(crate) struct Watchdog {
    detection: u64,
    restoration: u64,
    poll: u64,
    action: StormAction,
    queues: BTreeMap<Queue, Watched>,
    report: WatchdogReport,
}

impl Watchdog {
    pub(crate) fn new(spec: &WatchdogSpec) -> Self {
        Self {
            detection: spec.detection().get(),
            restoration: spec.restoration().get(),
            poll: spec.poll().get().max(1),
            action: match spec.action {
                WatchdogAction::Drop => StormAction::Drop,
                WatchdogAction::Forward => StormAction::Forward,
            },
            queues: BTreeMap::new(),
            report: WatchdogReport::default(),
        }
    }

    /// When it looks again.
    pub(crate) const fn next(&self, now: u64) -> u64 {
        now + self.poll
    }

    /// What it did, with the packets that it kept out.
    pub(crate) fn report<'a>(
        &self,
        switches: impl Iterator<Item = &'a Device<FastestExecutor>>,
    ) -> WatchdogReport {
        let buffers = switches.filter_map(Device::buffer);
        let refused: u64 = buffers.map(|buffer| buffer.counters().refused_storm).sum();
        WatchdogReport {
            dropped: self.report.dropped + refused,
            ..self.report
        }
    }

    /// Looks at every lossless queue of a switch; whether anything changed.
    pub(crate) fn poll(&mut self, now: u64, switch: usize, buffer: &mut Buffer) -> bool {
        let lossless = buffer.config().lossless;
        let ports: Vec<PortId> = buffer.config().ports.iter().map(|p| p.port).collect();
        let mut changed = false;
        for port in ports {
            let classes = (0..CLASSES as u8).filter(|c| lossless.contains(Priority::new(*c)));
            for class in classes {
                changed |= self.look_at(now, (switch, port, class), buffer);
            }
        }
        changed
    }

    fn look_at(&mut self, now: u64, queue: Queue, buffer: &mut Buffer) -> bool {
        let (_, port, class) = queue;
        let class = Priority::new(class);
        let Some(counters) = buffer.class_counters(port, class) else {
            return false;
        };
        // It was looking before the first packet was sent: what was sent since counts as progress.
        let fresh = Watched {
            storm: false,
            left: self.detection,
            sent: 0,
            pauses: 0,
        };
        let known = self.queues.entry(queue).or_insert(fresh);
        let heard = counters.pauses_received > known.pauses || buffer.is_paused(port, class);
        let stands = buffer.queue(port, class).1 > 0 && counters.sent == known.sent;
        known.sent = counters.sent;
        known.pauses = counters.pauses_received;
        let lasts = match known.storm {
            true => !heard,
            false => heard && stands,
        };
        let coordinator = match known.storm {
            true => self.restoration,
            false => self.detection,
        };
        if !lasts {
            known.left = coordinator;
            return false;
        }
        known.left = known.left.saturating_sub(self.poll);
        if known.left > 0 {
            return false;
        }
        known.storm = !known.storm;
        if known.storm {
            known.left = self.restoration;
            self.report.storms += 1;
            let at = Nanos::new(now);
            self.report.dropped += buffer.begin_storm(at, port, class, self.action);
        } else {
            known.left = self.detection;
            self.report.restored += 1;
            buffer.end_storm(port, class);
        }
        true
    }
}

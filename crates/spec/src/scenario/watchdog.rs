//! How the switches' PFC watchdog works (SonicWatchdog).

use quantities::Nanos;
use serde::Deserialize;

use crate::quantity::Time;

/// SONiC's default for all three times: 200 ms.
const DEFAULT: Nanos = Nanos::new(200_000_000);

/// How the watchdog works; with SONiC's defaults where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WatchdogSpec {
    /// How long a queue may stand still; 200 ms if absent.
    pub detection: Option<Time>,
    /// How long no PFC may be heard before a queue is restored; 200 ms if absent.
    pub restoration: Option<Time>,
    /// How often it looks; 200 ms if absent.
    pub poll: Option<Time>,
    /// What becomes of the queue.
    pub action: WatchdogAction,
}

/// What becomes of a queue in a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum WatchdogAction {
    /// Its packets are thrown away.
    #[default]
    Drop,
    /// Its packets are sent, PFC or not.
    Forward,
}

impl WatchdogSpec {
    /// How often it looks.
    #[must_use]
    pub fn poll(&self) -> Nanos {
        self.poll.map_or(DEFAULT, |time| time.0)
    }

    /// How long a queue may stand still.
    #[must_use]
    pub fn detection(&self) -> Nanos {
        self.detection.map_or(DEFAULT, |time| time.0)
    }

    /// How long no PFC may be heard before a queue is restored.
    #[must_use]
    pub fn restoration(&self) -> Nanos {
        self.restoration.map_or(DEFAULT, |time| time.0)
    }

    /// What makes no sense of it.
    pub(super) fn wrong(&self) -> Option<&'static str> {
        let times = [self.detection, self.restoration];
        let poll = self.poll().get();
        match poll {
            0 => Some("polls all the time; give `poll` above 0"),
            _ if times.iter().flatten().any(|time| time.0.get() < poll) => {
                Some("detects or restores faster than it polls; make `poll` smaller")
            }
            _ => None,
        }
    }
}

//! Scenario time on a real clock: so many times slower as links are.

use std::time::{Duration, Instant};

use quantities::Nanos;

/// When scenario time is what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The origin of the switches' clocks.
    origin: Instant,
    /// When the scenario begins.
    start: Instant,
    /// Real nanoseconds of one of the scenario.
    scale: f64,
}

impl Clock {
    /// A clock whose scenario begins now.
    pub(super) fn new(origin: Instant, scale: f64) -> Self {
        Self {
            origin,
            start: Instant::now(),
            scale,
        }
    }

    /// Scenario time, in nanoseconds.
    pub(super) fn now(&self) -> u64 {
        self.scenario(self.start.elapsed())
    }

    /// A time span in the scenario.
    pub(super) fn scenario(&self, real: Duration) -> u64 {
        (real.as_nanos() as f64 / self.scale) as u64
    }

    /// How long until a scenario time.
    pub(super) fn until(&self, at: u64) -> Duration {
        let real = Duration::from_secs_f64((at as f64 * self.scale / 1e9).min(1e9));
        (self.start + real).saturating_duration_since(Instant::now())
    }

    /// A time of the switches' clocks in the scenario; its beginning for what was before.
    pub(super) fn of_switch(&self, at: Nanos) -> u64 {
        let before = self.start.saturating_duration_since(self.origin);
        self.scenario(Duration::from_nanos(at.get()).saturating_sub(before))
    }

    /// Real nanoseconds of one of the scenario.
    pub(super) const fn scale(&self) -> f64 {
        self.scale
    }

    /// Time of the switches' clocks.
    pub(super) fn switches_now(&self) -> Nanos {
        let elapsed = self.origin.elapsed().as_nanos();
        Nanos::new(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// Real time since the scenario began.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenario_time_is_slower() {
        let origin = Instant::now();
        let clock = Clock::new(origin, 2_000.0);
        assert_eq!(clock.scenario(Duration::from_secs(2)), 1_000_000);
        assert_eq!(clock.of_switch(Nanos::new(0)), 0, "before the beginning");
        assert!(clock.until(1_000_000_000) > Duration::from_secs(1_900));
        assert_eq!(clock.until(0), Duration::ZERO);
    }
}

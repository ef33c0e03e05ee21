//! The retransmission timeout (RFC 6298), in nanoseconds.

/// The longest timeout (RFC 6298 section 2.5 asks for at least 60 s).
const LONGEST: u64 = 60_000_000_000;

/// Round-trip times that a sender has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RoundTrips {
    /// How many.
    pub(crate) count: u64,
    /// Their sum, the shortest and the longest in nanoseconds.
    pub(crate) sum: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// The timeout of one sender. Without timestamps one packet is timed at a time, and none that was
/// sent twice (RFC 6298 section 3).
#[derive(Clone, Debug)]
pub(crate) struct Timeout {
    least: u64,
    fixed: bool,
    length: u64,
    smoothed: f64,
    variation: f64,
    timed: Option<(u64, u64)>,
    pub(crate) measured: RoundTrips,
}

impl Timeout {
    /// A timeout that is never shorter than `least`; always this long if it is fixed. Until
    /// something is measured it is as long as the shortest, not a second (RFC 6298 section 2.1):
    /// hosts of a data center know the order of their round-trip times.
    pub(crate) fn new(least: u64, fixed: bool) -> Self {
        Self {
            least,
            fixed,
            length: least,
            smoothed: 0.0,
            variation: 0.0,
            timed: None,
            measured: RoundTrips::default(),
        }
    }

    /// How long it is now.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// A packet that was never sent before leaves.
    pub(crate) fn begin(&mut self, number: u64, now: u64) {
        self.timed.get_or_insert((number, now));
    }

    /// Something is sent again: what is timed may be answered twice, or late for another's sake.
    pub(crate) fn forget(&mut self) {
        self.timed = None;
    }

    /// All packets below `upto` are acknowledged.
    pub(crate) fn end(&mut self, upto: u64, now: u64) {
        if let Some((number, sent)) = self.timed
            && upto > number
        {
            self.timed = None;
            self.measure(now.saturating_sub(sent));
        }
    }

    /// RFC 6298 sections 2.2 to 2.4, with a clock that has no granularity.
    fn measure(&mut self, round_trip: u64) {
        let found = &mut self.measured;
        found.least = match found.count {
            0 => round_trip,
            _ => found.least.min(round_trip),
        };
        found.most = found.most.max(round_trip);
        found.count += 1;
        found.sum += round_trip;
        let time = round_trip as f64;
        if found.count == 1 {
            (self.smoothed, self.variation) = (time, time / 2.0);
        } else {
            self.variation += ((self.smoothed - time).abs() - self.variation) / 4.0;
            self.smoothed += (time - self.smoothed) / 8.0;
        }
        if !self.fixed {
            let length = (self.smoothed + 4.0 * self.variation) as u64;
            self.length = length.max(self.least).min(LONGEST);
        }
    }

    /// The timer went off (RFC 6298 section 5.5).
    pub(crate) fn back_off(&mut self) {
        if !self.fixed {
            self.length = self.length.saturating_mul(2).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_what_is_measured() {
        let mut timeout = Timeout::new(100, false);
        timeout.begin(0, 0);
        timeout.begin(1, 500);
        timeout.end(1, 1_000);
        assert_eq!(timeout.length(), 3_000, "RFC 6298, 2.2: R + 4 R / 2");
        timeout.begin(2, 1_000);
        timeout.end(3, 3_000);
        // RTTVAR = 3/4 500 + 1/4 1000, SRTT = 7/8 1000 + 1/8 2000.
        assert_eq!(timeout.length(), 1_125 + 4 * 625, "RFC 6298, 2.3");
        timeout.back_off();
        assert_eq!(timeout.length(), 2 * (1_125 + 4 * 625));
        assert_eq!(timeout.measured.count, 2);
        assert_eq!(
            (timeout.measured.least, timeout.measured.most),
            (1_000, 2_000)
        );
    }

    #[test]
    fn what_was_sent_twice_is_not_timed() {
        let mut timeout = Timeout::new(100, false);
        timeout.begin(0, 0);
        timeout.forget();
        timeout.end(1, 1_000);
        assert_eq!(timeout.measured.count, 0, "RFC 6298 section 3");
        assert_eq!(timeout.length(), 100);
    }

    #[test]
    fn it_is_never_shorter_than_the_shortest_nor_longer_than_the_longest() {
        let mut timeout = Timeout::new(2_000_000, false);
        timeout.begin(0, 0);
        timeout.end(1, 10_000);
        assert_eq!(timeout.length(), 2_000_000);
        (0..40).for_each(|_| timeout.back_off());
        assert_eq!(timeout.length(), LONGEST);
        let mut fixed = Timeout::new(600_000, true);
        fixed.begin(0, 0);
        fixed.end(1, 5_000_000);
        fixed.back_off();
        assert_eq!(fixed.length(), 600_000);
    }
}

//! Senders with a rate: DCQCN.

/// DCQCN's reaction point, with the parameters of its paper (DCQCN15).
#[derive(Clone, Debug)]
pub(crate) struct Dcqcn {
    pub(crate) rate: f64,
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
pub(crate) const NOTIFY_EVERY: u64 = 50_000;

impl Dcqcn {
    /// A sender at this rate, that of its link.
    pub(crate) fn new(line: f64) -> Self {
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
    pub(crate) fn notified(&mut self, now: u64) {
        self.advance(now);
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.share / 2.0)).max(LEAST_RATE);
        self.share += GAIN * (1.0 - self.share);
        (self.rises, self.byte_rises, self.bytes) = (0, 0, 0);
        self.next_decay = now + PERIOD;
        self.next_rise = now + PERIOD;
    }

    /// Does what time has brought.
    pub(crate) fn advance(&mut self, now: u64) {
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
    pub(crate) fn sent(&mut self, bytes: u64) {
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

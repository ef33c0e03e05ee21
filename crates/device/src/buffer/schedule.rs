//! Which class of a port sends next.

use super::config::{CLASSES, Scheduler};

/// Bytes that a weight of 1 is worth per round of DWRR.
const QUANTUM: u64 = 2_048;

/// A port's place in its round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    class: u8,
    /// Whether the class has got its share of this round.
    granted: bool,
    credit: [u64; CLASSES],
}

impl Turn {
    /// One of the classes in the mask `ready`, which is not empty. `length` is that of a class's
    /// first packet. Classes outside `waiting` are empty and lose what they saved.
    #[inline]
    pub(super) fn pick(
        &mut self,
        scheduler: &Scheduler,
        ready: u8,
        waiting: u8,
        length: impl Fn(u8) -> u64,
    ) -> u8 {
        match ready & (ready - 1) {
            0 => 7 - ready.leading_zeros() as u8,
            _ => self.pick_among(scheduler, ready, waiting, length),
        }
    }

    fn pick_among(
        &mut self,
        scheduler: &Scheduler,
        ready: u8,
        waiting: u8,
        length: impl Fn(u8) -> u64,
    ) -> u8 {
        let highest = 7 - ready.leading_zeros() as u8;
        let (weights, bytes) = match scheduler {
            Scheduler::Strict => return highest,
            Scheduler::Wrr(weights) => (weights, false),
            Scheduler::Dwrr(weights) => (weights, true),
        };
        loop {
            let class = self.class;
            let at = usize::from(class);
            if ready >> class & 1 == 1 {
                let (grant, cost) = match bytes {
                    true => (u64::from(weights[at]) * QUANTUM, length(class)),
                    false => (u64::from(weights[at]), 1),
                };
                if !self.granted {
                    self.credit[at] += grant;
                    self.granted = true;
                }
                if self.credit[at] >= cost {
                    self.credit[at] -= cost;
                    return class;
                }
                if !bytes {
                    self.credit[at] = 0;
                }
            } else if waiting >> class & 1 == 0 {
                self.credit[at] = 0;
            }
            self.class = (class + 1) % CLASSES as u8;
            self.granted = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(scheduler: Scheduler, lengths: [u64; 8], ready: u8) -> [u64; 8] {
        let mut turn = Turn::default();
        let mut sent = [0; 8];
        for _ in 0..10_000 {
            let class = turn.pick(&scheduler, ready, ready, |c| lengths[usize::from(c)]);
            sent[usize::from(class)] += 1;
        }
        sent
    }

    #[test]
    fn strict_serves_the_highest() {
        assert_eq!(shares(Scheduler::Strict, [1; 8], 0b0010_0110)[5], 10_000);
    }

    #[test]
    fn wrr_counts_packets() {
        let sent = shares(Scheduler::Wrr([1, 3, 1, 1, 1, 1, 1, 1]), [1500; 8], 0b11);
        assert_eq!((sent[0], sent[1]), (2_500, 7_500));
    }

    #[test]
    fn dwrr_counts_bytes() {
        let mut lengths = [1500; 8];
        lengths[2] = 100;
        let sent = shares(Scheduler::Dwrr([1; 8]), lengths, 0b110);
        let bytes = [sent[1] * 1500, sent[2] * 100];
        assert!(bytes[0].abs_diff(bytes[1]) < 20_000, "{bytes:?}");
    }
}

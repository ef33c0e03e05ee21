//! Senders with a window, in packets: TCP (RFC 5681, with NewReno's recovery, RFC 6582), DCTCP (RFC
//! 8257), TCP-Bolt (Stephens15 chapter 3), pFabric (pFabric13). All packets of a flow count alike,
//! so that a segment is a packet.

use super::timeout::Timeout;

/// Gain of DCTCP's estimate of the share of marked packets (RFC 8257 section 4.2).
const DCTCP_GAIN: f64 = 1.0 / 16.0;
/// The largest window: what a receiver offers.
const OFFERED: f64 = 1_000.0;
/// The least slow-start threshold (RFC 5681 equation 4).
const LEAST_THRESHOLD: f64 = 2.0;
/// So many acknowledgements of the same packet tell of a loss (RFC 5681 section 3.2).
const REPEATS: u32 = 3;
/// After so many timeouts in a row a pFabric sender only asks whether there is a way (pFabric13
/// section 4.3).
const PROBE_AFTER: u32 = 5;

/// How a sender with a window behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WindowRules {
    /// Marks count: DCTCP.
    pub(crate) ecn: bool,
    /// The first window, in packets.
    pub(crate) first: f64,
    /// Begin by doubling the window in every round trip. Without, the first window is also the
    /// slow-start threshold.
    pub(crate) slow_start: bool,
    /// Send again what acknowledgements tell is missing.
    pub(crate) fast_retransmit: bool,
    /// The shortest retransmission timeout in nanoseconds.
    pub(crate) min_rto: u64,
    /// The timeout is always the shortest, and after some in a row the sender only probes: pFabric.
    pub(crate) fixed_rto: bool,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    rules: WindowRules,
    /// `cwnd` and `ssthresh`.
    size: f64,
    threshold: f64,
    /// First packet that is not acknowledged.
    pub(crate) acked: u64,
    /// The first packet that was never sent.
    sent_below: u64,
    repeats: u32,
    /// Loss recovery lasts until all packets below are acknowledged.
    recover: u64,
    recovering: bool,
    /// Whether a partial acknowledgement of this recovery has restarted the timer.
    restarted: bool,
    /// A packet to be sent again.
    pub(crate) again: Option<u64>,
    /// DCTCP's estimate, the end of the window that it is taken over, and what that window has
    /// seen.
    share: f64,
    round_end: u64,
    seen: u64,
    marked: u64,
    /// The window is not reduced for marks again before this is acknowledged.
    reduced_until: u64,
    pub(crate) timeout: Timeout,
    /// When the timer goes off; `u64::MAX` while it is off.
    pub(crate) deadline: u64,
    timeouts_in_a_row: u32,
    probe_due: bool,
}

impl Window {
    pub(crate) fn new(rules: WindowRules) -> Self {
        Self {
            size: rules.first.clamp(1.0, OFFERED),
            threshold: match rules.slow_start {
                // RFC 5681 section 3.1: arbitrarily high, such as what the receiver offers.
                true => OFFERED,
                false => rules.first,
            },
            timeout: Timeout::new(rules.min_rto, rules.fixed_rto),
            rules,
            acked: 0,
            sent_below: 0,
            repeats: 0,
            recover: 0,
            recovering: false,
            restarted: false,
            again: None,
            share: 1.0,
            round_end: 0,
            seen: 0,
            marked: 0,
            reduced_until: 0,
            deadline: u64::MAX,
            timeouts_in_a_row: 0,
            probe_due: false,
        }
    }

    /// Whether a new packet may be sent when the next one's number is `next`.
    pub(crate) fn open(&self, next: u64) -> bool {
        let flight = next.saturating_sub(self.acked) as f64;
        flight + 1.0 <= self.size.max(1.0)
    }

    /// Whether the sender only asks whether there is a way.
    pub(crate) const fn probes(&self) -> bool {
        self.rules.fixed_rto && self.timeouts_in_a_row >= PROBE_AFTER
    }

    /// Whether it is to ask now.
    pub(crate) const fn probe_due(&self) -> bool {
        self.probe_due
    }

    /// A packet, or a probe, leaves.
    pub(crate) fn sent(&mut self, now: u64, number: u64) {
        if self.deadline == u64::MAX {
            // RFC 6298 section 5.1.
            self.deadline = now.saturating_add(self.timeout.length());
        }
        if self.probes() {
            self.probe_due = false;
            return;
        }
        if self.again == Some(number) {
            self.again = None;
        }
        if number >= self.sent_below {
            self.sent_below = number + 1;
            self.timeout.begin(number, now);
        }
    }

    /// All packets below `upto` have arrived; the one that this answers was marked or not. `next`
    /// is the number of the next new packet.
    pub(crate) fn acknowledge(&mut self, now: u64, upto: u64, marked: bool, next: u64) {
        if upto < self.acked {
            return;
        }
        let (heard_after_silence, outstanding) = (self.timeouts_in_a_row > 0, next > self.acked);
        self.timeouts_in_a_row = 0;
        self.probe_due = false;
        if upto == self.acked {
            // RFC 5681 section 2: not a repeated one unless something is on its way.
            if outstanding && !heard_after_silence {
                self.repeated(now, next);
            }
            return;
        }
        let fresh = upto - self.acked;
        self.acked = upto;
        self.repeats = 0;
        self.timeout.end(upto, now);
        self.count_marks(fresh, marked, next.max(upto));
        if self.recovering {
            return self.recovers(now, upto, fresh, next);
        }
        self.restart(now, next);
        if marked && self.rules.ecn {
            // RFC 3168 section 6.1.2: it does not grow by an acknowledgement that tells of a mark,
            // and falls once per window.
            return self.reduce(upto, next);
        }
        // RFC 5681 equations 2 and 3, by an acknowledgement at a time.
        self.size += match self.size < self.threshold {
            true => 1.0,
            false => 1.0 / self.size,
        };
        self.size = self.size.min(OFFERED);
    }

    /// RFC 6298 sections 5.2 and 5.3.
    fn restart(&mut self, now: u64, next: u64) {
        self.deadline = match self.acked >= next {
            true => u64::MAX,
            false => now.saturating_add(self.timeout.length()),
        };
    }

    /// RFC 8257 section 3.3: the share of marked packets, estimated once per window.
    fn count_marks(&mut self, fresh: u64, marked: bool, next: u64) {
        if !self.rules.ecn {
            return;
        }
        self.seen += fresh;
        self.marked += if marked { fresh } else { 0 };
        if self.acked > self.round_end {
            let share = self.marked as f64 / self.seen.max(1) as f64;
            self.share += DCTCP_GAIN * (share - self.share);
            (self.seen, self.marked) = (0, 0);
            self.round_end = next;
        }
    }

    /// RFC 8257 section 3.3: less by the share of marks, at most once per window.
    fn reduce(&mut self, upto: u64, next: u64) {
        if upto > self.reduced_until {
            self.size = (self.size * (1.0 - self.share / 2.0)).max(1.0);
            self.threshold = self.size.max(LEAST_THRESHOLD);
            self.reduced_until = next;
        }
    }

    /// An acknowledgement says nothing new.
    fn repeated(&mut self, now: u64, next: u64) {
        if self.recovering {
            // RFC 5681 section 3.2, step 4: a packet has left the network.
            self.size += 1.0;
            return;
        }
        self.repeats += 1;
        // RFC 6582 section 3.2, step 2: not for packets that were sent before the last recovery.
        let eligible = self.rules.fast_retransmit && self.acked >= self.recover;
        if self.repeats != REPEATS || !eligible {
            return;
        }
        self.threshold = self.half(next);
        self.size = self.threshold + f64::from(REPEATS);
        self.recover = self.sent_below;
        (self.recovering, self.restarted) = (true, false);
        self.again = Some(self.acked);
        self.timeout.forget();
        self.restart(now, next);
    }

    /// RFC 5681 equation 4.
    fn half(&self, next: u64) -> f64 {
        (next.saturating_sub(self.acked) as f64 / 2.0).max(LEAST_THRESHOLD)
    }

    /// RFC 6582 section 3.2, step 3.
    fn recovers(&mut self, now: u64, upto: u64, fresh: u64, next: u64) {
        if upto >= self.recover {
            let flight = next.saturating_sub(upto) as f64;
            self.size = self.threshold.min(flight.max(1.0) + 1.0);
            self.recovering = false;
            return self.restart(now, next);
        }
        self.again = Some(upto);
        self.size = (self.size - fresh as f64 + 1.0).max(1.0);
        if !std::mem::replace(&mut self.restarted, true) {
            self.restart(now, next);
        }
    }

    /// Nothing was heard for too long: everything is sent again, from `acked` on (RFC 5681 section
    /// 3.1, RFC 6298 sections 5.4 to 5.6).
    pub(crate) fn time_out(&mut self, now: u64, next: u64) {
        if self.timeouts_in_a_row == 0 {
            self.threshold = self.half(next);
        }
        self.timeouts_in_a_row += 1;
        self.size = 1.0;
        self.recover = self.sent_below;
        self.recovering = false;
        self.again = None;
        self.repeats = 0;
        self.probe_due = self.probes();
        self.timeout.forget();
        self.timeout.back_off();
        self.deadline = now.saturating_add(self.timeout.length());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: WindowRules = WindowRules {
        ecn: false,
        first: 10.0,
        slow_start: true,
        fast_retransmit: true,
        min_rto: 2_000_000,
        fixed_rto: false,
    };

    /// A sender whose packets below `next` are on their way.
    fn sending(rules: WindowRules, next: u64) -> Window {
        let mut window = Window::new(rules);
        (0..next).for_each(|number| window.sent(0, number));
        window
    }

    #[test]
    fn the_window_doubles_in_a_round_trip_up_to_the_threshold_and_then_grows_by_one() {
        let mut window = sending(TCP, 10);
        (1..=10).for_each(|upto| window.acknowledge(100, upto, false, 10 + upto));
        assert_eq!(window.size, 20.0, "RFC 5681 equation 2");
        let rules = WindowRules {
            slow_start: false,
            ..TCP
        };
        let mut window = sending(rules, 10);
        (1..=10).for_each(|upto| window.acknowledge(100, upto, false, 10 + upto));
        assert!((10.9..11.0).contains(&window.size), "{}", window.size);
    }

    #[test]
    fn only_whole_packets_fit_the_window() {
        let window = sending(WindowRules { first: 2.5, ..TCP }, 1);
        assert!(window.open(1) && !window.open(2));
    }

    #[test]
    fn dctcp_gives_way_by_the_share_of_marks() {
        let rules = WindowRules {
            ecn: true,
            first: 100.0,
            slow_start: false,
            ..TCP
        };
        let mut window = sending(rules, 100);
        let (mut acked, mut next) = (0, 100);
        // A hundred rounds: after twenty the estimate still remembers that it began with all.
        for _ in 0..10_000 {
            acked += 1;
            next += 1;
            window.sent(0, next - 1);
            window.acknowledge(0, acked, acked % 10 == 0, next);
        }
        assert!((0.05..0.2).contains(&window.share), "{}", window.share);
        assert!((10.0..120.0).contains(&window.size), "{}", window.size);
    }

    #[test]
    fn marks_reduce_the_window_once_per_window_of_packets() {
        let rules = WindowRules {
            ecn: true,
            first: 100.0,
            slow_start: false,
            ..TCP
        };
        let mut window = sending(rules, 100);
        window.acknowledge(0, 1, true, 100);
        assert_eq!(window.size, 50.0, "the estimate begins with all");
        (2..=100).for_each(|upto| window.acknowledge(0, upto, true, 100));
        assert_eq!(window.size, 50.0);
        window.sent(0, 100);
        window.acknowledge(0, 101, true, 101);
        assert!(window.size < 26.0, "the next window: {}", window.size);
        // Plain TCP does not ask for marks and does not see any.
        let mut plain = sending(TCP, 10);
        plain.acknowledge(0, 1, true, 10);
        assert_eq!(plain.size, 11.0);
    }

    #[test]
    fn three_repeats_send_the_gap_again_and_halve_what_is_in_flight() {
        let mut window = sending(WindowRules { first: 20.0, ..TCP }, 20);
        window.acknowledge(0, 5, false, 20);
        window.acknowledge(0, 5, false, 20);
        window.acknowledge(0, 5, false, 20);
        assert_eq!(window.again, None);
        window.acknowledge(0, 5, false, 20);
        assert_eq!(window.again, Some(5));
        assert_eq!(
            (window.threshold, window.size),
            (7.5, 10.5),
            "RFC 5681, 3.2"
        );
        window.sent(0, 5);
        window.acknowledge(0, 5, false, 20);
        assert_eq!(window.size, 11.5, "each further one says that one has left");
        window.acknowledge(0, 9, false, 20);
        assert_eq!(window.again, Some(9), "the next gap of the same loss");
        assert_eq!(
            window.size, 8.5,
            "RFC 6582: less what was acknowledged, plus one"
        );
        window.sent(0, 9);
        window.acknowledge(0, 20, false, 20);
        assert_eq!(window.size, 2.0, "RFC 6582: nothing in flight, no burst");
        assert_eq!(window.deadline, u64::MAX);
    }

    #[test]
    fn without_fast_retransmit_only_silence_tells_of_a_loss() {
        let rules = WindowRules {
            fast_retransmit: false,
            ..TCP
        };
        let mut window = sending(rules, 10);
        (0..9).for_each(|_| window.acknowledge(0, 0, false, 10));
        assert_eq!((window.again, window.size), (None, 10.0));
    }

    #[test]
    fn a_timeout_begins_anew_with_one_packet() {
        let mut window = sending(TCP, 10);
        let deadline = window.deadline;
        assert_eq!(deadline, 2_000_000);
        window.time_out(deadline, 10);
        assert_eq!((window.size, window.threshold), (1.0, 5.0));
        assert_eq!(window.deadline, deadline + 4_000_000, "RFC 6298, 5.5");
        window.time_out(window.deadline, 1);
        assert_eq!(
            window.threshold, 5.0,
            "RFC 5681: held for what was sent again"
        );
        window.sent(deadline, 0);
        window.acknowledge(deadline + 1_000, 10, false, 1);
        assert_eq!((window.acked, window.size), (10, 2.0));
    }

    #[test]
    fn pfabric_probes_after_five_timeouts_and_goes_on_when_it_is_heard() {
        let rules = WindowRules {
            first: 200.0,
            slow_start: false,
            fast_retransmit: false,
            min_rto: 600_000,
            fixed_rto: true,
            ..TCP
        };
        let mut window = sending(rules, 200);
        for number in 1..=5 {
            assert!(!window.probes());
            assert_eq!(window.deadline, number * 600_000, "never longer");
            window.time_out(window.deadline, 0);
        }
        assert!(window.probes() && window.probe_due());
        window.sent(window.deadline, 0);
        assert!(!window.probe_due());
        window.acknowledge(9_000_000, 0, false, 1);
        assert!(!window.probes() && window.open(0));
    }
}

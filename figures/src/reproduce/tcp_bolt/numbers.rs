//! The numbers of Stephens15 chapter 3. Its plots are missing in our copy: these are those that its
//! text states.

use super::super::item::{Row, Said, Tolerance};

const TENTH: Tolerance = Tolerance::Part(0.1);

/// KB of a flow, and what rows call it.
pub(super) const KILOBYTES: [(f64, &str); 3] =
    [(100.0, "100 KB"), (1_000.0, "1 MB"), (10_000.0, "10 MB")];
pub(super) const MOST_SAVED: &str = "what a flow of some size saves at most, percent";

/// Figure 3.1: between 100 KB and 10 MB; the summary says 50 to 70 percent.
pub(super) fn speedup() -> Vec<Row> {
    const CUBIC: &str = "the paper's TCP is Cubic of Linux 3.2, whose slow start ends when round trips grow (HyStart), long before the link is full; ours doubles its window until it is, and a \
                         flow of 10 MB makes up for that in one tenth of its time";
    let row = |(kilobytes, name): (f64, &str)| {
        Row::new("times as fast", name, Said::Between(1.5, 3.0))
            .at(kilobytes)
            .higher()
            .because(CUBIC)
    };
    let mut rows = KILOBYTES.map(row).to_vec();
    rows.push(Row::new("percent", MOST_SAVED, Said::Between(50.0, 70.0)));
    rows
}

/// So many flows share the link.
pub(super) const FLOWS: [usize; 4] = [2, 3, 4, 5];

/// The name of a row: so many flows, whose share.
pub(super) fn share(flows: usize, whose: &str) -> String {
    format!("{flows} flows, {whose}")
}

fn shares(whose: &str, rates: [f64; 4], tolerance: Tolerance) -> impl Iterator<Item = Row> {
    FLOWS.into_iter().zip(rates).map(move |(flows, rate)| {
        Row::new(whose, share(flows, whose), Said::Number(rate))
            .at(flows as f64)
            .within(tolerance)
    })
}

/// Equal shares of 10 Gb/s, as section 3.3.2 states them.
const EQUAL: [f64; 4] = [5.0, 3.33, 2.5, 2.0];

/// The flow that comes in by its own port.
pub(super) const ALONE: &str = "B to A";
/// The first of those that come in by one port.
pub(super) const TOGETHER: &str = "H1 to A";

/// Why B's flow gets another share than the others.
const BURSTS: &str = "packets of flows that share a link come into the queue one after the other, B's beside them in bursts, which meet it full or marking more often the more they are";

/// Figure 3.2: roughly fair.
pub(super) fn fair() -> Vec<Row> {
    let quarter = Tolerance::Part(0.25);
    let both = [ALONE, TOGETHER].into_iter();
    both.flat_map(|whose| shares(whose, EQUAL, quarter))
        .map(|row| row.because(BURSTS))
        .collect()
}

/// Figure 3.3: half for one port, the other half for the flows of the other.
pub(super) fn per_port() -> Vec<Row> {
    let alone = shares(ALONE, [5.0; 4], TENTH);
    let together = shares(TOGETHER, [5.0, 2.5, 5.0 / 3.0, 1.25], TENTH);
    alone.chain(together).collect()
}

/// Figure 3.5: near the equal shares.
pub(super) fn nearly_fair() -> Vec<Row> {
    let fifth = Tolerance::Part(0.2);
    let both = [ALONE, TOGETHER].into_iter();
    both.flat_map(|whose| shares(whose, EQUAL, fifth))
        .map(|row| row.because(BURSTS))
        .collect()
}

pub(super) const BLOCKED: &str = "A to D while A to C sends";
pub(super) const FREE: &str = "A to D afterwards";
pub(super) const AFTERWARDS: &str = "each of the others into C afterwards";

/// Figure 3.4: four flows share C's link, then three evenly.
pub(super) fn blocked() -> Vec<Row> {
    [(BLOCKED, 2.5), (FREE, 10.0), (AFTERWARDS, 10.0 / 3.0)]
        .map(|(name, rate)| Row::new("Gb/s", name, Said::Number(rate)).within(TENTH))
        .to_vec()
}

pub(super) const OVER_TWO: &str = "the flow over two bottlenecks, part of its fair share";
pub(super) const BESIDE: &str = "the flow beside it, part of what that leaves of its link";

/// Figure 3.6; the text exchanges C and D: the flow over two bottlenecks gets half of its fair
/// share, the other one what that leaves.
pub(super) fn unblocked() -> Vec<Row> {
    vec![
        Row::new("part of the fair share", OVER_TWO, Said::Number(0.5))
            .within(Tolerance::Part(0.25))
            .higher(),
        Row::new("part of what is left", BESIDE, Said::Number(1.0)).within(TENTH),
    ]
}

/// Ratios by the words of [`crate::tcp_bolt::BoltClaim::what`].
fn times(what: &str, said: Said, tolerance: Tolerance) -> Row {
    Row::new("times", what, said).within(tolerance)
}

/// Figure 3.7.
pub(super) fn background() -> Vec<Row> {
    const SIZES: &str = "DCTCP takes 4 to 7 times as long up to 512 KB, and as long from 2 MB on, where all that counts is who shares the link; the chapter does not say which sizes its figure shows. The rest is what ns-3's \
                         TCP did at the time and the chapter does not mention: a first window of one packet (7 to 10 times up to 512 KB), and an acknowledgement of every second packet, by which windows grow half as \
                         fast (with both: 12 to 14 times up to 256 KB, 7 at 512 KB, 4.4 over all sizes). Tried, and not the reason: marks from 6 to 90 KB on (ratios of 2.9 to 3.7 over all sizes), timeouts of 0.6 to \
                         200 ms (2.9), buffers of 100 to 450 KB a port (2.8), a gain of 1/4 or 1/64 (3.3, 3.0), half the growth alone (2.9), no incasts or four times as many (2.6, 3.0), pauses of none to 10 ms (2.3 to 3.5), \
                         flows up to 32 MB (2.4), an estimate of marks that begins at 0 (2.7), slow start only up to 64 KB (2.1)";
    const THRESHOLD: &str = "ours doubles windows until packets are lost, and a flow that loses its last ones waits 2 ms. The chapter's simulator is ns-3, where slow start ended at 64 KB if nobody asked for more: \
                             so it takes 1.25 times as long as TCP-Bolt here, and less from 1 MB on";
    let fifth = Tolerance::Part(0.2);
    vec![
        times(
            "background, p99: DCTCP over TCP-Bolt",
            Said::AtLeast(10.0),
            fifth,
        )
        .because(SIZES),
        times(
            "background, p99: DCTCP-DCB over DCTCP",
            Said::Number(1.0),
            fifth,
        ),
        times(
            "background, p99: TCP-DCB over TCP-Bolt",
            Said::AtLeast(2.0),
            fifth,
        ),
        times(
            "background, p99: TCP over TCP-Bolt",
            Said::AtMost(1.0),
            fifth,
        )
        .because(THRESHOLD),
    ]
}

pub(super) const SLOWEST: &str = "TCP is the slowest of those shown";

/// Figure 3.8.
pub(super) fn incast() -> Vec<Row> {
    const CARDS: &str = "hosts here send for their flows in turn, so that an answer passes its host's paused background flow, which it waits for where a card has one queue; and 30 ms of flows up to 4 MB \
                         fill fewer buffers than 500 ms of flows up to 32 MB, which make it 21 times the optimum and 14 times DCTCP";
    const LAST_LINK: &str = "spreading packets over the network does not help where they meet again: first windows of 200 packets stand before the answers at the last link";
    const LOSSES: &str = "one lost answer of a thousand, which waits 2 ms, makes this percentile: it hangs on a few first windows that meet at a full queue, and two seeds differ by a factor of 5";
    let quarter = Tolerance::Part(0.25);
    vec![
        Row::new(
            "times the optimum",
            "incasts, p99.9: TCP-DCB over the optimum",
            Said::AtLeast(40.0),
        )
        .because(CARDS),
        times(
            "incasts, p99.9: TCP-DCB over DCTCP",
            Said::Number(20.0),
            quarter,
        )
        .because(CARDS),
        times(
            "incasts, p99.9: TCP-NoSS over TCP",
            Said::Number(1.0),
            quarter,
        )
        .because(LOSSES),
        times(
            "incasts, p99.9: pFabric over TCP",
            Said::Number(1.0),
            quarter,
        )
        .lower(),
        times(
            "incasts, p99.9: TCP-Bolt over DCTCP",
            Said::Number(2.0),
            quarter,
        )
        .lower(),
        times(
            "incasts, p99.9: DCTCP-NoSS over DCTCP",
            Said::Number(2.0),
            quarter,
        )
        .because(LOSSES)
        .lower(),
        times(
            "incasts, p99.9: PS-TCP-Bolt over DCTCP",
            Said::Number(1.0),
            quarter,
        )
        .lower()
        .because(LAST_LINK),
        Row::holds(SLOWEST),
    ]
}

/// Figure 3.9 and the text below it.
pub(super) fn lossless() -> Vec<Row> {
    vec![
        times(
            "incasts, p99.9: PS-TCP-Bolt over PS-DCTCP-NoSS",
            Said::Number(0.8),
            TENTH,
        )
        .lower(),
        times(
            "background, p99: PS-DCTCP-NoSS over TCP-Bolt, the size with most",
            Said::AtLeast(5.0),
            TENTH,
        ),
    ]
}

pub(super) const IDLE: &str = "idle";
pub(super) const LOADED: &str = "under load";

/// Section 3.3.1.
pub(super) fn round_trips() -> Vec<Row> {
    [(IDLE, 240.0), (LOADED, 1240.0)]
        .map(|(name, micros)| Row::new("us", name, Said::Number(micros)).within(TENTH))
        .to_vec()
}

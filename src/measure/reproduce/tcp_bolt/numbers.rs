//! The numbers of Stephens15 chapter 3. Its plots are missing in our copy: these are those that its text states.

use super::super::item::{Row, Said, Tolerance};

const TENTH: Tolerance = Tolerance::Part(0.1);

/// Figure 3.1: between 100 KB and 10 MB.
pub(super) fn speedup() -> Vec<Row> {
    let row = |(kilobytes, name): (f64, &str)| {
        Row::new("times as fast", name, Said::Between(1.5, 3.0))
            .at(kilobytes)
            .higher()
    };
    [(100.0, "100 KB"), (1_000.0, "1 MB"), (10_000.0, "10 MB")]
        .map(row)
        .to_vec()
}

/// So many flows share the link.
pub(super) const FLOWS: [u8; 4] = [2, 3, 4, 5];

/// The name of a row: so many flows, whose share.
pub(super) fn share(flows: u8, whose: &str) -> String {
    format!("{flows} flows, {whose}")
}

fn shares(whose: &str, rates: [f64; 4], tolerance: Tolerance) -> impl Iterator<Item = Row> {
    FLOWS.into_iter().zip(rates).map(move |(flows, rate)| {
        Row::new(whose, share(flows, whose), Said::Number(rate))
            .at(f64::from(flows))
            .within(tolerance)
    })
}

/// Equal shares of 10 Gb/s, as section 3.3.2 states them.
const EQUAL: [f64; 4] = [5.0, 3.33, 2.5, 2.0];

/// The flow that comes in by its own port.
pub(super) const ALONE: &str = "B to A";
/// The first of those that come in by one port.
pub(super) const TOGETHER: &str = "H1 to A";

/// Figure 3.2: roughly fair.
pub(super) fn fair() -> Vec<Row> {
    let quarter = Tolerance::Part(0.25);
    let both = [ALONE, TOGETHER].into_iter();
    both.flat_map(|whose| shares(whose, EQUAL, quarter))
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
    both.flat_map(|whose| shares(whose, EQUAL, fifth)).collect()
}

/// Figure 3.4.
pub(super) fn blocked() -> Vec<Row> {
    [
        ("A to D while A to C sends", 2.5),
        ("A to D afterwards", 10.0),
        ("each of the others into C afterwards", 5.0),
    ]
    .map(|(name, rate)| Row::new("Gb/s", name, Said::Number(rate)).within(TENTH))
    .to_vec()
}

/// Figure 3.6; the text exchanges C and D: the flow over two bottlenecks gets half of its fair share, the other one what that leaves.
pub(super) fn unblocked() -> Vec<Row> {
    vec![
        Row::new(
            "part of the fair share",
            "the flow over two bottlenecks, part of its fair share",
            Said::Number(0.5),
        )
        .within(Tolerance::Part(0.25))
        .higher(),
        Row::new(
            "part of what is left",
            "the flow beside it, part of what that leaves of its link",
            Said::Number(1.0),
        )
        .within(TENTH),
    ]
}

/// Figure 3.7.
pub(super) fn background() -> Vec<Row> {
    [
        ("DCTCP over TCP-Bolt", 10.0),
        ("TCP-DCB over TCP-Bolt", 2.0),
    ]
    .map(|(name, ratio)| Row::new("times", name, Said::AtLeast(ratio)).within(Tolerance::Part(0.2)))
    .to_vec()
}

/// Figure 3.8.
pub(super) fn incast() -> Vec<Row> {
    vec![
        Row::new(
            "times the optimum",
            "TCP-DCB over the optimum",
            Said::AtLeast(40.0),
        ),
        Row::new("times", "TCP-Bolt over DCTCP", Said::Number(2.0))
            .within(Tolerance::Part(0.25))
            .lower(),
        Row::new("times", "PS-TCP-Bolt over DCTCP", Said::Number(1.0))
            .within(Tolerance::Part(0.2))
            .lower(),
        Row::holds("TCP is the slowest of those shown"),
    ]
}

/// Figure 3.9 and the text below it.
pub(super) fn lossless() -> Vec<Row> {
    vec![
        Row::new("part", "PS-TCP-Bolt over PS-DCTCP-NoSS", Said::Number(0.8))
            .within(TENTH)
            .lower(),
        Row::new(
            "times",
            "PS-DCTCP-NoSS over TCP-Bolt, some small background flows",
            Said::AtLeast(5.0),
        ),
    ]
}

/// Section 3.3.1.
pub(super) fn round_trips() -> Vec<Row> {
    [("idle", 240.0), ("under load", 1240.0)]
        .map(|(name, micros)| Row::new("us", name, Said::Number(micros)).within(TENTH))
        .to_vec()
}

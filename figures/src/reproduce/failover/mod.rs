//! Stephens15 chapter 4: what local failover loses, how long its ways get, what it takes of a
//! switch.

mod compression;
mod expected;
mod ground;
mod state;
mod stretch;
mod throughput;

use super::item::{Axes, Item, Paper};
use crate::failover::Shape;

const EGFT: &str = "EGFT (B1), 64-port switches";
const SETS: &str = "topology and ways: 1; failures and flows: quick 2 sets of each size, full 10; half of them of neighbours";

const LOST: Axes = Axes {
    x: ("failed links", true),
    y: ("part of the flows that is lost", true),
};
const STRETCH: Axes = Axes {
    x: ("failed links", true),
    y: ("stretch, 99.9th percentile", false),
};
const RATIO: Axes = Axes {
    x: ("hosts", true),
    y: ("rules before over after", true),
};

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item::measured(
        "figure-4.1",
        "what failure-identifying schemes lose when links fail, and how near equation 4.2 is",
        (Paper::Stephens15, "Figure 4.1"),
        (EGFT, "512 and 1024 hosts, t = 0 to 4", SETS),
        "switchwright bench failover --only \"failures plinko\"",
        Some(LOST),
        (expected::links_rows, expected::links),
    ),
    Item::measured(
        "figure-4.2",
        "what is lost when switches fail, and how near equations 4.3 and 4.4 are",
        (Paper::Stephens15, "Figure 4.2"),
        (EGFT, "512 hosts, full: 1024 (the paper: 4096)", SETS),
        "switchwright bench failover --only switches",
        Some(Axes {
            x: ("failed switches", true),
            y: ("part of the flows that is lost", true),
        }),
        (expected::switches_rows, expected::switches),
    ),
    Item::measured(
        "figure-4.3",
        "how many sets of 64 failed links lose any flow",
        (Paper::Stephens15, "Figure 4.3"),
        (
            EGFT,
            "1024 hosts, t = 0 and 4",
            "topology and ways: 1; 10 sets of each kind, full: 100",
        ),
        "switchwright bench failover --only \"failures plinko t4\"",
        Some(Axes {
            x: ("part of the flows that is lost", true),
            y: ("part of the sets", false),
        }),
        (expected::distribution_rows, expected::distribution),
    ),
    Item::measured(
        "figure-4.4",
        "failures of neighbouring links, and a network with six hosts per unit of bisection bandwidth",
        (Paper::Stephens15, "Figure 4.4"),
        (
            "EGFT (B1 and B6), 64-port switches",
            "1024 hosts, t = 0 to 4",
            SETS,
        ),
        "switchwright bench failover --only b6",
        Some(LOST),
        (expected::neighbours_rows, expected::neighbours),
    ),
    Item::measured(
        "figure-4.8",
        "TCAM of a switch for six failures, and what compression leaves of it",
        (Paper::Stephens15, "Figure 4.8"),
        (EGFT, "512 hosts, full: 2048", "topology and ways: 1"),
        "switchwright bench failover --only \"state egft-b1\"",
        None,
        (state::six_rows, state::six),
    ),
    Item::measured(
        "figure-4.11",
        "what source routes, network virtualization and compression save",
        (Paper::Stephens15, "Figure 4.11"),
        (
            "Jellyfish (B6), 64-port switches",
            "512 hosts, full: 1024; t = 2, full: 4",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"schemes jellyfish-b6\"",
        None,
        (state::savings_rows, state::savings),
    ),
    Item::measured(
        "table-4.11",
        "compression ratios on fat-trees",
        (Paper::Stephens15, "Table 4.11"),
        (
            EGFT,
            "512 and 1024 hosts to t = 2, full: to 8192 and t = 6",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"state egft-b1\"",
        Some(RATIO),
        (
            || compression::rows(Shape::Egft),
            |run| compression::measure(Shape::Egft, run),
        ),
    ),
    Item::measured(
        "table-4.12",
        "compression ratios on Jellyfish",
        (Paper::Stephens15, "Table 4.12"),
        (
            "Jellyfish (B1), 64-port switches",
            "512 and 1024 hosts to t = 2, full: to 8192 and t = 6",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"state jellyfish-b1\"",
        Some(RATIO),
        (
            || compression::rows(Shape::Jellyfish),
            |run| compression::measure(Shape::Jellyfish, run),
        ),
    ),
    Item::measured(
        "figure-4.12",
        "TCAM of a switch by scheme, Jellyfish",
        (Paper::Stephens15, "Figure 4.12"),
        (
            "Jellyfish (B6), 64-port switches",
            "512 hosts, full: 1024 to 4096",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"schemes jellyfish-b6\"",
        None,
        (
            || state::scheme_rows(4096),
            |run| state::schemes(Shape::Jellyfish, 6, 4096, run),
        ),
    ),
    Item::measured(
        "figure-4.13",
        "TCAM of a switch by scheme, fat-tree",
        (Paper::Stephens15, "Figure 4.13"),
        (
            EGFT,
            "512 hosts, full: 1024 and 2048",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"schemes egft-b1\"",
        None,
        (
            || state::scheme_rows(2048),
            |run| state::schemes(Shape::Egft, 1, 2048, run),
        ),
    ),
    Item::measured(
        "figure-4.14",
        "TCAM of a switch for disjoint trees, Jellyfish",
        (Paper::Stephens15, "Figure 4.14"),
        (
            "Jellyfish (B6), 64-port switches",
            "512 hosts, full: 2048",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"schemes jellyfish-b6\"",
        None,
        (
            || state::tree_rows(false),
            |run| state::tree_state(Shape::Jellyfish, 6, false, run),
        ),
    ),
    Item::measured(
        "figure-4.15",
        "TCAM of a switch for disjoint trees, fat-tree",
        (Paper::Stephens15, "Figure 4.15"),
        (
            EGFT,
            "512 hosts, full: 2048 and 8192",
            "topology and ways: 1",
        ),
        "switchwright bench failover --only \"schemes egft-b1\"",
        None,
        (
            || state::tree_rows(true),
            |run| state::tree_state(Shape::Egft, 1, true, run),
        ),
    ),
    Item::measured(
        "section-4.9",
        "rules of disjoint trees with hardware that finds the first tree that has not failed",
        (Paper::Stephens15, "section 4.9"),
        (EGFT, "512 hosts, t = 1 to 4", "topology and ways: 1"),
        "switchwright bench failover --only \"schemes egft-b1\"",
        None,
        (state::custom_rows, state::custom),
    ),
    Item::measured(
        "table-4.13",
        "stretch of failure-identifying schemes",
        (Paper::Stephens15, "Table 4.13"),
        (EGFT, "1024 hosts, t = 2, full: 4 and 6", SETS),
        "switchwright bench failover --only \"failures plinko\"",
        Some(STRETCH),
        (stretch::identifying_rows, stretch::identifying),
    ),
    Item::measured(
        "table-4.14",
        "stretch of arc-disjoint trees",
        (Paper::Stephens15, "Table 4.14"),
        (EGFT, "1024 hosts, t = 1, full: 2 and 4", SETS),
        "switchwright bench failover --only \"failures adst\"",
        Some(STRETCH),
        (stretch::adst_rows, stretch::adst),
    ),
    Item::measured(
        "table-4.15",
        "stretch of edge-disjoint trees",
        (Paper::Stephens15, "Table 4.15"),
        (EGFT, "1024 hosts, t = 1, full: 2 and 4", SETS),
        "switchwright bench failover --only \"failures edst\"",
        Some(STRETCH),
        (stretch::edst_rows, stretch::edst),
    ),
    Item::measured(
        "figure-4.16",
        "throughput of failure-identifying schemes, and with few routings to a switch",
        (Paper::Stephens15, "Figure 4.16"),
        (EGFT, "1024 hosts, t = 1 and 1, 2, 4, 8 routings", SETS),
        "switchwright bench failover --only \"failures plinko\"",
        Some(Axes {
            x: ("routings to a switch", true),
            y: ("throughput over that of shortest paths", false),
        }),
        (throughput::routings_rows, throughput::routings),
    ),
    Item::measured(
        "figure-4.17",
        "throughput of disjoint trees",
        (Paper::Stephens15, "Figure 4.17"),
        (EGFT, "1024 hosts, t = 1, full: 4", SETS),
        "switchwright bench failover --only \"failures edst\"",
        Some(Axes {
            x: ("failed links", true),
            y: ("throughput over that of shortest paths", false),
        }),
        (throughput::trees_rows, throughput::trees),
    ),
    Item::measured(
        "figure-4.18",
        "what disjoint trees lose when links fail",
        (Paper::Stephens15, "Figure 4.18"),
        (EGFT, "1024 hosts, t = 0, full: 4", SETS),
        "switchwright bench failover --only \"failures adst\"",
        Some(LOST),
        (expected::trees_rows, expected::trees),
    ),
];

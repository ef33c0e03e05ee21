//! Stephens15 chapter 3: TCP-Bolt.

mod measured;
mod numbers;

use super::item::{Axes, Item, Paper};

const LINE: (&str, &str, &str) = (
    "two switches, as in Figure 2.1 or 2.2",
    "10 Gb/s, 225 KB a port; 20 ms for each of the paper's 2 s, 200 ms where windows have to find their shares, full: always",
    "source ports, jitter of hosts: 1",
);
const FAT_TREE: (&str, &str, &str) = (
    "three-layer fat-tree",
    "54 hosts, 10 Gb/s, 225 KB a port, marks at 22.5 KB; 30 ms and flows to 4 MB, full: 500 ms and to 32 MB",
    "arrivals, sizes and destinations: quick 1 and 2, full 1 to 5",
);

const OVER_FLOWS: Option<Axes> = Some(Axes {
    x: ("competing flows", false),
    y: ("Gb/s of a flow", false),
});
const OVER_BYTES: Option<Axes> = Some(Axes {
    x: ("KB", true),
    y: ("times", true),
});

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item::measured(
        "figure-3.1",
        "how much faster one flow ends with a first window of a bandwidth-delay product over DCB",
        (Paper::Stephens15, "Figure 3.1"),
        (
            "one switch",
            "flows of 100 KB to 10 MB, 10 Gb/s",
            "nothing is drawn",
        ),
        "switchwright bench tcp-bolt --figure 1",
        OVER_BYTES,
        (numbers::speedup, measured::speedup),
    ),
    Item::measured(
        "figure-3.2",
        "five flows into one host: TCP over Ethernet",
        (Paper::Stephens15, "Figure 3.2"),
        LINE,
        "switchwright bench tcp-bolt --figure 2",
        OVER_FLOWS,
        (numbers::fair, measured::fair),
    ),
    Item::measured(
        "figure-3.3",
        "five flows into one host: TCP over DCB",
        (Paper::Stephens15, "Figure 3.3"),
        LINE,
        "switchwright bench tcp-bolt --figure 3",
        OVER_FLOWS,
        (numbers::per_port, measured::per_port),
    ),
    Item::measured(
        "figure-3.4",
        "head-of-line blocking: TCP over DCB",
        (Paper::Stephens15, "Figure 3.4"),
        LINE,
        "switchwright bench tcp-bolt --figure 4 --only TCP-DCB",
        None,
        (numbers::blocked, measured::blocked),
    ),
    Item::measured(
        "figure-3.5",
        "five flows into one host: TCP-Bolt",
        (Paper::Stephens15, "Figure 3.5"),
        LINE,
        "switchwright bench tcp-bolt --figure 5",
        OVER_FLOWS,
        (numbers::nearly_fair, measured::nearly_fair),
    ),
    Item::measured(
        "figure-3.6",
        "no head-of-line blocking: TCP-Bolt",
        (Paper::Stephens15, "Figure 3.6"),
        LINE,
        "switchwright bench tcp-bolt --figure 6 --only TCP-Bolt",
        None,
        (numbers::unblocked, measured::unblocked),
    ),
    Item::measured(
        "figure-3.7",
        "background flows, 99th percentile over the optimum, by transport",
        (Paper::Stephens15, "Figure 3.7"),
        FAT_TREE,
        "switchwright bench tcp-bolt --figure 7",
        OVER_BYTES,
        (numbers::background, measured::background),
    ),
    Item::measured(
        "figure-3.8",
        "incasts, 99.9th percentile over the optimum, by transport",
        (Paper::Stephens15, "Figure 3.8"),
        FAT_TREE,
        "switchwright bench tcp-bolt --figure 8",
        OVER_BYTES,
        (numbers::incast, measured::incast),
    ),
    Item::measured(
        "figure-3.9",
        "incasts with and without DCB, packets sprayed",
        (Paper::Stephens15, "Figure 3.9"),
        FAT_TREE,
        "switchwright bench tcp-bolt --figure 9",
        OVER_BYTES,
        (numbers::lossless, measured::lossless),
    ),
    Item::measured(
        "section-3.3.1",
        "round trips under TCP over DCB",
        (Paper::Stephens15, "section 3.3.1"),
        LINE,
        "switchwright bench tcp-bolt",
        None,
        (numbers::round_trips, measured::round_trips),
    ),
];

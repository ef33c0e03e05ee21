//! Stephens15 chapter 3: TCP-Bolt. The numbers stand here; the work that finds ours is not there yet.
//!
//! To fill an entry in, name in its `work` a function that returns a value for each name of its rows.

mod numbers;

use super::item::{Axes, Item, Paper, Row, Work};

/// Why there are no numbers of ours.
pub(super) const NOT_COMPUTED: &str = "not computed";

/// An entry of the chapter.
const fn item(
    name: &'static str,
    title: &'static str,
    place: &'static str,
    (topology, sizes): (&'static str, &'static str),
    axes: Option<Axes>,
    rows: fn() -> Vec<Row>,
) -> Item {
    Item {
        paper: Paper::Stephens15,
        name,
        title,
        topology,
        sizes,
        seeds: "arrivals and destinations",
        place,
        command: "",
        axes,
        rows,
        work: Work::NotComputed(NOT_COMPUTED),
    }
}

const LINE: (&str, &str) = ("two switches, as in Figure 2.1 or 2.2", "10 Gb/s");
const FAT_TREE: (&str, &str) = (
    "three-layer fat-tree",
    "54 hosts, 10 Gb/s, 225 KB a port, marks at 22.5 KB",
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
    item(
        "figure-3.1",
        "how much faster one flow ends with a first window of a bandwidth-delay product over DCB",
        "Figure 3.1",
        ("two hops", "flows of 100 KB to 10 MB, 10 Gb/s"),
        OVER_BYTES,
        numbers::speedup,
    ),
    item(
        "figure-3.2",
        "five flows into one host: TCP over Ethernet",
        "Figure 3.2",
        LINE,
        OVER_FLOWS,
        numbers::fair,
    ),
    item(
        "figure-3.3",
        "five flows into one host: TCP over DCB",
        "Figure 3.3",
        LINE,
        OVER_FLOWS,
        numbers::per_port,
    ),
    item(
        "figure-3.4",
        "head-of-line blocking: TCP over DCB",
        "Figure 3.4",
        LINE,
        None,
        numbers::blocked,
    ),
    item(
        "figure-3.5",
        "five flows into one host: TCP-Bolt",
        "Figure 3.5",
        LINE,
        OVER_FLOWS,
        numbers::nearly_fair,
    ),
    item(
        "figure-3.6",
        "no head-of-line blocking: TCP-Bolt",
        "Figure 3.6",
        LINE,
        None,
        numbers::unblocked,
    ),
    item(
        "figure-3.7",
        "background flows, 99th percentile over the optimum, by transport",
        "Figure 3.7",
        FAT_TREE,
        None,
        numbers::background,
    ),
    item(
        "figure-3.8",
        "incasts, 99.9th percentile over the optimum, by transport",
        "Figure 3.8",
        FAT_TREE,
        None,
        numbers::incast,
    ),
    item(
        "figure-3.9",
        "incasts with and without DCB, packets sprayed",
        "Figure 3.9",
        FAT_TREE,
        None,
        numbers::lossless,
    ),
    item(
        "section-3.3.1",
        "round trips under TCP over DCB",
        "section 3.3.1",
        LINE,
        None,
        numbers::round_trips,
    ),
];

//! Stephens15 chapter 5: failover that stays lossless, by virtual channels and by trees.

mod channels;
mod trees;

use self::trees::{carried, lost, state};
use super::item::{Axes, Item, Paper};
use crate::failover::Shape;

const CHANNELS: Axes = Axes {
    x: ("routings to a switch", true),
    y: ("virtual channels", true),
};
const LOST: Axes = Axes {
    x: ("failed links", true),
    y: ("part of the flows that is lost", true),
};
const CARRIED: Axes = Axes {
    x: ("failed links", true),
    y: ("throughput over that of shortest paths", false),
};
const SETS: &str = "topology and trees: 1; failures and flows: quick 2 sets of each size, full 10";
const ONE: &str = "topology, ways and trees: 1";

const EGFT_B1: &str = "EGFT (B1), 64-port switches";
const JELLYFISH_B1: &str = "Jellyfish (B1), 64-port switches";
const QUICK_CELLS: &str =
    "512 and 1024 hosts to t = 2 and 2 routings, full: to 2048 hosts, t = 4 and 8 routings";

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item::measured(
        "table-5.1",
        "virtual channels of failure-identifying ways, fat-tree",
        (Paper::Stephens15, "Table 5.1"),
        (EGFT_B1, QUICK_CELLS, ONE),
        "switchwright bench df --only egft-b1",
        Some(CHANNELS),
        (
            || channels::rows("egft-b1"),
            |run| channels::measure("egft-b1", run),
        ),
    ),
    Item::measured(
        "table-5.2",
        "virtual channels of failure-identifying ways, fat-tree with less bandwidth",
        (Paper::Stephens15, "Table 5.2"),
        ("EGFT (B6), 64-port switches", QUICK_CELLS, ONE),
        "switchwright bench df --only egft-b6",
        Some(CHANNELS),
        (
            || channels::rows("egft-b6"),
            |run| channels::measure("egft-b6", run),
        ),
    ),
    Item::measured(
        "table-5.3",
        "virtual channels of failure-identifying ways, Jellyfish",
        (Paper::Stephens15, "Table 5.3"),
        (JELLYFISH_B1, QUICK_CELLS, ONE),
        "switchwright bench df --only jellyfish",
        Some(CHANNELS),
        (
            || channels::rows("jellyfish-b1"),
            |run| channels::measure("jellyfish-b1", run),
        ),
    ),
    Item::measured(
        "figure-5.8",
        "TCAM of a switch for trees, Jellyfish: NoRes, Line",
        (Paper::Stephens15, "Figure 5.8"),
        (JELLYFISH_B1, "full: 2048 and 4096 hosts", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg line --channels 8 --subset 8 --multipath 8",
        None,
        (state::state_rows, |run| state::state(Shape::Jellyfish, run)),
    ),
    Item::measured(
        "figure-5.9",
        "TCAM of a switch for trees, fat-tree: NoRes, Line",
        (Paper::Stephens15, "Figure 5.9"),
        (EGFT_B1, "512 hosts, full: 2048 to 8192", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg line --channels 8 --subset 8 --multipath 8",
        None,
        (state::state_rows, |run| state::state(Shape::Egft, run)),
    ),
    Item::measured(
        "figure-5.10",
        "what trees lose, Jellyfish: NoRes, Line, any tree to any other",
        (Paper::Stephens15, "Figure 5.10"),
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 16,64",
        Some(LOST),
        (lost::lost_rows, |run| lost::lost(Shape::Jellyfish, run)),
    ),
    Item::measured(
        "figure-5.11",
        "what trees lose, fat-tree: NoRes, Line, any tree to any other",
        (Paper::Stephens15, "Figure 5.11"),
        (EGFT_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 16,64",
        Some(LOST),
        (lost::lost_rows, |run| lost::lost(Shape::Egft, run)),
    ),
    Item::measured(
        "figure-5.12",
        "throughput of trees, Jellyfish: NoRes, Line",
        (Paper::Stephens15, "Figure 5.12"),
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1,16",
        Some(CARRIED),
        (carried::carried_rows, |run| {
            carried::simple_carried(Shape::Jellyfish, run)
        }),
    ),
    Item::measured(
        "figure-5.13",
        "throughput of trees, fat-tree: NoRes, Line",
        (Paper::Stephens15, "Figure 5.13"),
        (EGFT_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1,16",
        Some(CARRIED),
        (carried::carried_rows, |run| {
            carried::simple_carried(Shape::Egft, run)
        }),
    ),
    Item::measured(
        "figure-5.14",
        "what trees lose, Jellyfish: T and ALayer",
        (Paper::Stephens15, "Figure 5.14"),
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (lost::layers_rows, lost::layers),
    ),
    Item::measured(
        "figure-5.15",
        "what trees lose, fat-tree: T",
        (Paper::Stephens15, "Figure 5.15"),
        (EGFT_B1, "1024 hosts", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (lost::t_lost_rows, lost::t_lost),
    ),
    Item::measured(
        "figure-5.16",
        "throughput of trees, Jellyfish: T and ALayer",
        (Paper::Stephens15, "Figure 5.16"),
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (carried::t_carried_rows, |run| {
            carried::t_carried(Shape::Jellyfish, run)
        }),
    ),
    Item::measured(
        "figure-5.17",
        "throughput of trees, fat-tree: T",
        (Paper::Stephens15, "Figure 5.17"),
        (EGFT_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (carried::t_carried_rows, |run| {
            carried::t_carried(Shape::Egft, run)
        }),
    ),
    Item::measured(
        "figure-5.18",
        "TCAM of a switch for trees: T between NoRes and any tree to any other",
        (Paper::Stephens15, "Figure 5.18"),
        (EGFT_B1, "512 hosts", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg t --channels 8 --subset 8 --multipath 8",
        None,
        (state::t_state_rows, state::t_state),
    ),
    Item::measured(
        "figure-5.19",
        "throughput of trees, Jellyfish: Rand and Max",
        (Paper::Stephens15, "Figure 5.19"),
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (carried::rand_carried_jellyfish_rows, |run| {
            carried::alike(Shape::Jellyfish, run)
        }),
    ),
    Item::measured(
        "figure-5.20",
        "throughput of trees, fat-tree: Rand and Max",
        (Paper::Stephens15, "Figure 5.20"),
        (
            "EGFT (B1 and B2), 64-port switches",
            "1024 hosts, full: 2048 too",
            SETS,
        ),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (carried::rand_carried_egft_rows, carried::rand_carried_egft),
    ),
    Item::measured(
        "figure-5.21",
        "what trees lose, Jellyfish: Max",
        (Paper::Stephens15, "Figure 5.21"),
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (lost::max_lost_jellyfish_rows, lost::max_lost_jellyfish),
    ),
    Item::measured(
        "figure-5.22",
        "what trees lose, fat-tree: Rand and Max",
        (Paper::Stephens15, "Figure 5.22"),
        (EGFT_B1, "1024 hosts", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (lost::rand_lost_rows, lost::rand_lost),
    ),
    Item::measured(
        "figure-5.23",
        "TCAM of a switch for trees: Rand and Max, 12 trees and 4 routings beside 8 and 8",
        (Paper::Stephens15, "Figure 5.23"),
        (EGFT_B1, "512 hosts", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg max --channels 4 --subset 12 --multipath 4",
        None,
        (state::rand_state_rows, state::rand_state),
    ),
    Item::measured(
        "figure-5.24",
        "TCAM of a switch for trees if packets do not carry their tree",
        (Paper::Stephens15, "Figure 5.24"),
        (EGFT_B1, "512 hosts, full: 2048", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg max --channels 8 --subset 8 --multipath 8",
        None,
        (state::unlabeled_rows, state::unlabeled),
    ),
];

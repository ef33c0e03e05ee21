//! Stephens15 chapter 5: failover that stays lossless, by virtual channels and by trees.

mod channels;
mod trees;

use super::item::{Axes, Item, Paper, Row, Run, Value, Work};

type Measured = fn(&Run<'_>) -> Result<Vec<Value>, super::item::ItemError>;

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

const fn item(
    name: &'static str,
    title: &'static str,
    place: &'static str,
    (topology, sizes, seeds): (&'static str, &'static str, &'static str),
    command: &'static str,
    axes: Option<Axes>,
    (rows, measure): (fn() -> Vec<Row>, Measured),
) -> Item {
    Item {
        paper: Paper::Stephens15,
        name,
        title,
        topology,
        sizes,
        seeds,
        place,
        command,
        axes,
        rows,
        work: Work::Measured(measure),
    }
}

const EGFT_B1: &str = "EGFT (B1), 64-port switches";
const JELLYFISH_B1: &str = "Jellyfish (B1), 64-port switches";
const QUICK_CELLS: &str =
    "512 and 1024 hosts to t = 2 and 2 routings, full: to 2048 hosts, t = 4 and 8 routings";

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    item(
        "table-5.1",
        "virtual channels of failure-identifying ways, fat-tree",
        "Table 5.1",
        (EGFT_B1, QUICK_CELLS, ONE),
        "switchwright bench df --only egft-b1",
        Some(CHANNELS),
        (channels::egft_rows, channels::egft),
    ),
    item(
        "table-5.2",
        "virtual channels of failure-identifying ways, fat-tree with less bandwidth",
        "Table 5.2",
        ("EGFT (B6), 64-port switches", QUICK_CELLS, ONE),
        "switchwright bench df --only egft-b6",
        Some(CHANNELS),
        (channels::egft_b6_rows, channels::egft_b6),
    ),
    item(
        "table-5.3",
        "virtual channels of failure-identifying ways, Jellyfish",
        "Table 5.3",
        (JELLYFISH_B1, QUICK_CELLS, ONE),
        "switchwright bench df --only jellyfish",
        Some(CHANNELS),
        (channels::jellyfish_rows, channels::jellyfish),
    ),
    item(
        "figure-5.8",
        "TCAM of a switch for trees, Jellyfish: NoRes, Line",
        "Figure 5.8",
        (JELLYFISH_B1, "full: 2048 and 4096 hosts", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg line --channels 8 --subset 8 --multipath 8",
        None,
        (trees::state_jellyfish_rows, trees::state_jellyfish),
    ),
    item(
        "figure-5.9",
        "TCAM of a switch for trees, fat-tree: NoRes, Line",
        "Figure 5.9",
        (EGFT_B1, "512 hosts, full: 2048 to 8192", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg line --channels 8 --subset 8 --multipath 8",
        None,
        (trees::state_egft_rows, trees::state_egft),
    ),
    item(
        "figure-5.10",
        "what trees lose, Jellyfish: NoRes, Line, any tree to any other",
        "Figure 5.10",
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 16,64",
        Some(LOST),
        (trees::lost_jellyfish_rows, trees::lost_jellyfish),
    ),
    item(
        "figure-5.11",
        "what trees lose, fat-tree: NoRes, Line, any tree to any other",
        "Figure 5.11",
        (EGFT_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 16,64",
        Some(LOST),
        (trees::lost_egft_rows, trees::lost_egft),
    ),
    item(
        "figure-5.12",
        "throughput of trees, Jellyfish: NoRes, Line",
        "Figure 5.12",
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1,16",
        Some(CARRIED),
        (trees::carried_jellyfish_rows, trees::carried_jellyfish),
    ),
    item(
        "figure-5.13",
        "throughput of trees, fat-tree: NoRes, Line",
        "Figure 5.13",
        (EGFT_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1,16",
        Some(CARRIED),
        (trees::carried_egft_rows, trees::carried_egft),
    ),
    item(
        "figure-5.14",
        "what trees lose, Jellyfish: T and ALayer",
        "Figure 5.14",
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (trees::layers_rows, trees::layers),
    ),
    item(
        "figure-5.15",
        "what trees lose, fat-tree: T",
        "Figure 5.15",
        (EGFT_B1, "1024 hosts", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (trees::t_lost_rows, trees::t_lost),
    ),
    item(
        "figure-5.16",
        "throughput of trees, Jellyfish: T and ALayer",
        "Figure 5.16",
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (trees::t_carried_jellyfish_rows, trees::t_carried_jellyfish),
    ),
    item(
        "figure-5.17",
        "throughput of trees, fat-tree: T",
        "Figure 5.17",
        (EGFT_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (trees::t_carried_egft_rows, trees::t_carried_egft),
    ),
    item(
        "figure-5.18",
        "TCAM of a switch for trees: T between NoRes and any tree to any other",
        "Figure 5.18",
        (EGFT_B1, "512 hosts", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg t --channels 8 --subset 8 --multipath 8",
        None,
        (trees::t_state_rows, trees::t_state),
    ),
    item(
        "figure-5.19",
        "throughput of trees, Jellyfish: Rand and Max",
        "Figure 5.19",
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (
            trees::rand_carried_jellyfish_rows,
            trees::rand_carried_jellyfish,
        ),
    ),
    item(
        "figure-5.20",
        "throughput of trees, fat-tree: Rand and Max",
        "Figure 5.20",
        (
            "EGFT (B1 and B2), 64-port switches",
            "1024 hosts, full: 2048 too",
            SETS,
        ),
        "switchwright measure PLAN --failures 1",
        Some(CARRIED),
        (trees::rand_carried_egft_rows, trees::rand_carried_egft),
    ),
    item(
        "figure-5.21",
        "what trees lose, Jellyfish: Max",
        "Figure 5.21",
        (JELLYFISH_B1, "512 hosts, full: 1024", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (trees::max_lost_jellyfish_rows, trees::max_lost_jellyfish),
    ),
    item(
        "figure-5.22",
        "what trees lose, fat-tree: Rand and Max",
        "Figure 5.22",
        (EGFT_B1, "1024 hosts", SETS),
        "switchwright measure PLAN --failures 64",
        Some(LOST),
        (trees::rand_lost_rows, trees::rand_lost),
    ),
    item(
        "figure-5.23",
        "TCAM of a switch for trees: Rand and Max, 12 trees and 4 routings beside 8 and 8",
        "Figure 5.23",
        (EGFT_B1, "512 hosts", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg max --channels 4 --subset 12 --multipath 4",
        None,
        (trees::rand_state_rows, trees::rand_state),
    ),
    item(
        "figure-5.24",
        "TCAM of a switch for trees if packets do not carry their tree",
        "Figure 5.24",
        (EGFT_B1, "512 hosts, full: 2048", ONE),
        "switchwright plan TOPO --scheme df-edst --ttg max --channels 8 --subset 8 --multipath 8",
        None,
        (trees::unlabeled_rows, trees::unlabeled),
    ),
];

//! FC23: paths, throughput, cables, cycles of buffers, deadlocks.

mod cables;
mod paths;
mod simulated;
mod throughput;

use super::item::{Axes, Item, Paper};
use crate::FlattenedTable;

const NETWORKS: &str = "topology: quick 1 and 2, full 1 to 5 (from 2000 switches on: 1)";
const ONE: &str = "topology: 1";

const PATHS: Axes = Axes {
    x: ("switches", true),
    y: ("paths, or switches of a path", false),
};
const CARRIED: Axes = Axes {
    x: ("switches", true),
    y: ("part of hosts' rates carried", true),
};

const FC_64: &str = "Flattened Clos, 64-port switches with 40 links";
const FC_32: &str = "Flattened Clos, 32-port switches with 18 links";
const FC_144: &str = "Flattened Clos of 144 switches, 32 ports, 24 links; its spanning trees; a Clos of 148 switches";

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item::measured(
        "figure-3",
        "random graphs with a cycle of buffers under shortest paths",
        (Paper::FC23, "Figure 3"),
        (
            "Jellyfish and Xpander, 5 links a switch",
            "6 to 60 switches",
            "graphs: quick 20, full 100 of each size",
        ),
        "switchwright bench flattened-clos --figure 3",
        Some(Axes {
            x: ("switches", false),
            y: ("part of the graphs", false),
        }),
        (paths::cycles_rows, paths::cycles),
    ),
    Item::measured(
        "table-1",
        "disjoint paths by virtual layers",
        (Paper::FC23, "Table 1"),
        (FC_64, "500 switches, full: to 5000", NETWORKS),
        "switchwright bench flattened-clos --table 1",
        Some(PATHS),
        (
            || paths::rows(FlattenedTable::Layers),
            |run| paths::measure(FlattenedTable::Layers, run),
        ),
    ),
    Item::measured(
        "figure-5",
        "the fewest virtual layers by the number of switches",
        (Paper::FC23, "Figure 5"),
        (FC_64, "500 to 5000 switches", "nothing is drawn"),
        "switchwright topo flattened-clos --switches 500 --ports 64 --fabric-ports 40",
        Some(Axes {
            x: ("switches", true),
            y: ("virtual layers", false),
        }),
        (paths::layers_rows, paths::layers),
    ),
    Item::measured(
        "figure-7",
        "throughput beside trees and Clos, 32-port switches",
        (Paper::FC23, "Figure 7"),
        (
            FC_32,
            "50 switches, full: 500",
            "topology and traffic: quick 1 and 2, full 1 to 5 (500 switches: 1)",
        ),
        "switchwright bench flattened-clos --table 3 --only \"50 x\"",
        Some(CARRIED),
        (throughput::figure_7_rows, throughput::figure_7),
    ),
    Item::measured(
        "table-2",
        "disjoint paths beside spanning trees, 32-port switches",
        (Paper::FC23, "Table 2"),
        (FC_32, "50 to 500 switches", NETWORKS),
        "switchwright bench flattened-clos --table 2",
        Some(PATHS),
        (
            || paths::rows(FlattenedTable::SmallSwitches),
            |run| paths::measure(FlattenedTable::SmallSwitches, run),
        ),
    ),
    Item::measured(
        "table-3",
        "throughput, times of flows, cables and cost of three networks",
        (Paper::FC23, "Table 3"),
        (
            FC_144,
            "1152 hosts, 25 Gb/s, load 0.3",
            "topology and traffic: quick 1, full 1 to 3",
        ),
        "switchwright bench flattened-clos --table 3 --only \"144 x\"",
        None,
        (throughput::table_3_rows, throughput::table_3),
    ),
    Item::measured(
        "figure-8",
        "four switches: throughput of disjoint paths, trees and shortest paths",
        (Paper::FC23, "Figure 8"),
        (
            "four switches in a ring of double links, 16 hosts",
            "192 flows, 50 Gb/s",
            "nothing is drawn",
        ),
        "switchwright simulate --scenario four-switches-virtual-up-down",
        None,
        (simulated::testbed_rows, simulated::testbed),
    ),
    Item::measured(
        "section-6.2",
        "how a deadlock closes",
        (Paper::FC23, "section 6.2 and Figure 9"),
        (
            "four switches in a ring of double links, 16 hosts",
            "192 flows, 50 Gb/s",
            "nothing is drawn",
        ),
        "switchwright simulate --scenario four-switches-ecmp --without-tags --transport dcqcn",
        None,
        (simulated::deadlock_rows, simulated::deadlock),
    ),
    Item::measured(
        "figure-10",
        "rerouting around a failed link without a bounce",
        (Paper::FC23, "Figure 10"),
        (
            FC_32,
            "50 switches, 40 links one at a time, full: all 450",
            ONE,
        ),
        "switchwright bench flattened-clos --rerouting --only \"50 x 32\"",
        None,
        (paths::rerouting_rows, paths::rerouting),
    ),
    Item::measured(
        "table-4",
        "cables and cost",
        (Paper::FC23, "Table 4"),
        (
            "Flattened Clos, 32-port switches, OCSs of 320 ports",
            "150 to 900 switches, full: to 9000",
            ONE,
        ),
        "switchwright bench flattened-clos --table 4",
        None,
        (cables::table_4_rows, cables::table_4),
    ),
    Item::measured(
        "table-5",
        "prices",
        (Paper::FC23, "Table 5"),
        ("none", "one of each", "nothing is drawn"),
        "switchwright topo cable TOPO --prices fc23",
        None,
        (cables::prices_rows, cables::prices),
    ),
    Item::measured(
        "table-6",
        "disjoint paths where links run through optical circuit switches",
        (Paper::FC23, "Table 6"),
        (FC_64, "500 switches, full: to 5000", NETWORKS),
        "switchwright bench flattened-clos --table 6",
        Some(PATHS),
        (
            || paths::rows(FlattenedTable::Cabling),
            |run| paths::measure(FlattenedTable::Cabling, run),
        ),
    ),
    Item::measured(
        "figure-13",
        "throughput beside trees and Clos, 64-port switches",
        (Paper::FC23, "Figure 13"),
        (FC_64, "full: 144 switches", "topology and traffic: 1"),
        "switchwright bench flattened-clos --table 3",
        Some(CARRIED),
        (throughput::figure_13_rows, throughput::figure_13),
    ),
    Item::measured(
        "table-7",
        "disjoint paths beside spanning trees, 64-port switches",
        (Paper::FC23, "Table 7"),
        (FC_64, "500 switches, full: to 3000", NETWORKS),
        "switchwright bench flattened-clos --table 7",
        Some(PATHS),
        (paths::table_7_rows, |run| {
            paths::measure(FlattenedTable::LargeSwitches, run)
        }),
    ),
    Item::measured(
        "figure-14",
        "times of flows, and no deadlock at a load of 0.7",
        (Paper::FC23, "Figure 14"),
        (
            FC_144,
            "1152 hosts, 25 Gb/s, near-worst traffic",
            "topology and traffic: 1",
        ),
        "switchwright bench flattened-clos --fct --load 0.7 --only \"near-worst, up and down\"",
        None,
        (simulated::load_rows, simulated::load),
    ),
];

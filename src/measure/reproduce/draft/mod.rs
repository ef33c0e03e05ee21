//! TaggerDraft: headroom, probes of routes, and the experiments that it plans. It prints few numbers; what it states is checked.

mod headroom;
mod probes;
mod scenarios;
mod statements;

use super::item::{Axes, Item, Paper, Work};

const SEED: &str = "nothing is drawn";
const NETWORK: &str = "the network of the scenario";

const fn scenario(
    name: &'static str,
    title: &'static str,
    place: &'static str,
    command: &'static str,
    rows: fn() -> Vec<super::item::Row>,
    work: Work,
) -> Item {
    Item {
        paper: Paper::TaggerDraft,
        name,
        title,
        topology: NETWORK,
        sizes: "40 Gb/s",
        seeds: SEED,
        place,
        command,
        axes: None,
        rows,
        work,
    }
}

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item {
        paper: Paper::TaggerDraft,
        name: "table-1",
        title: "how often packets are rerouted: probabilities from the draft's counts, and what its probes see",
        topology: "data centers of a provider; probes: fat-tree, k = 4",
        sizes: "a week of some 10^10 measurements a day; probes: 64 measurements",
        seeds: SEED,
        place: "Table 1",
        command: "switchwright measure-paths build --fail p1a1-p1e1",
        axes: None,
        rows: probes::rows,
        work: Work::Measured(probes::measure),
    },
    Item {
        paper: Paper::TaggerDraft,
        name: "equation-1",
        title: "PFC headroom of a port, of a switch, and of a switch in a tree",
        topology: "a switch of 32 ports; fat-tree for the last",
        sizes: "40 Gb/s, 300 m, MTU 1500, 12 MB",
        seeds: SEED,
        place: "equation 1",
        command: "switchwright buffers build",
        axes: None,
        rows: headroom::rows,
        work: Work::Measured(headroom::measure),
    },
    scenario(
        "figure-4",
        "lossless transition between priorities",
        "Fig. 4",
        "switchwright simulate --scenario lossless-transition-1",
        scenarios::transition_rows,
        Work::Measured(scenarios::transition),
    ),
    scenario(
        "figure-5",
        "a routing loop, and three flows over a cycle of buffers",
        "Fig. 5",
        "switchwright simulate --scenario routing-loop --without-tags",
        scenarios::validation_rows,
        Work::Measured(scenarios::validation),
    ),
    Item {
        paper: Paper::TaggerDraft,
        name: "section-7.3.1",
        title: "priorities and rules of fat-trees, BCubes and Jellyfish",
        topology: "fat-tree, BCube, Jellyfish",
        sizes: "to 1000 switches",
        seeds: "topology: 1",
        place: "section 7.3.1",
        command: "switchwright bench tags",
        axes: Some(Axes {
            x: ("switches", true),
            y: ("rules of the switch with most", true),
        }),
        rows: scenarios::resources_rows,
        work: Work::Measured(scenarios::resources),
    },
    scenario(
        "section-7.3.2",
        "what tags cost at every hop",
        "section 7.3.2",
        "switchwright simulate --scenario tag-at-every-hop",
        scenarios::overhead_rows,
        Work::Measured(scenarios::overhead),
    ),
    scenario(
        "figure-6",
        "priorities that two classes share keep the link full",
        "Fig. 6",
        "switchwright simulate --scenario priority-reuse",
        scenarios::reuse_rows,
        Work::Measured(scenarios::reuse),
    ),
    scenario(
        "section-7.5",
        "bounced packets lossless, lossy, or not allowed",
        "section 7.5",
        "switchwright simulate --scenario hierarchical-space-1",
        scenarios::spaces_rows,
        Work::Measured(scenarios::spaces),
    ),
];

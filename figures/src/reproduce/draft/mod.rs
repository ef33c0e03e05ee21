//! TaggerDraft: headroom, probes of routes, and the experiments that it plans. It prints few
//! numbers; what it states is checked.

mod headroom;
mod probes;
mod scenarios;
mod statements;

use super::item::{Axes, Item, Paper, Row, Work};

const SEED: &str = "nothing is drawn";
const NETWORK: &str = "the network of the scenario";

const fn scenario(
    name: &'static str,
    title: &'static str,
    place: &'static str,
    command: &'static str,
    work: (fn() -> Vec<Row>, Work),
) -> Item {
    Item::measured(
        name,
        title,
        (Paper::TaggerDraft, place),
        (NETWORK, "40 Gb/s", SEED),
        command,
        None,
        work,
    )
}

/// The entries.
pub(super) const ITEMS: &[Item] = &[
    Item::measured(
        "table-1",
        "how often packets are rerouted: probabilities from the draft's counts, and what its probes see",
        (Paper::TaggerDraft, "Table 1"),
        (
            "data centers of a provider; probes: fat-tree, k = 4",
            "a week of some 10^10 measurements a day; probes: 64 measurements",
            SEED,
        ),
        "switchwright measure-paths build --fail p1a1-p1e1",
        None,
        (probes::rows, probes::measure),
    ),
    Item::measured(
        "equation-1",
        "PFC headroom of a port, of a switch, and of a switch in a tree",
        (Paper::TaggerDraft, "equation 1"),
        (
            "a switch of 32 ports; fat-tree for the last",
            "40 Gb/s, 300 m, MTU 1500, 12 MB",
            SEED,
        ),
        "switchwright buffers build",
        None,
        (headroom::rows, headroom::measure),
    ),
    scenario(
        "figure-4",
        "lossless transition between priorities",
        "Fig. 4",
        "switchwright simulate --scenario lossless-transition-1",
        (scenarios::transition_rows, scenarios::transition),
    ),
    scenario(
        "figure-5",
        "a routing loop, and three flows over a cycle of buffers",
        "Fig. 5",
        "switchwright simulate --scenario routing-loop --without-tags",
        (scenarios::validation_rows, scenarios::validation),
    ),
    Item::measured(
        "section-7.3.1",
        "priorities and rules of fat-trees, BCubes and Jellyfish",
        (Paper::TaggerDraft, "section 7.3.1"),
        (
            "fat-tree, BCube, Jellyfish",
            "to 1000 switches",
            "topology: 1",
        ),
        "switchwright bench tags",
        Some(Axes {
            x: ("switches", true),
            y: ("rules of the switch with most", true),
        }),
        (scenarios::resources_rows, scenarios::resources),
    ),
    scenario(
        "section-7.3.2",
        "what tags cost at every hop",
        "section 7.3.2",
        "switchwright simulate --scenario tag-at-every-hop",
        (scenarios::overhead_rows, scenarios::overhead),
    ),
    scenario(
        "figure-6",
        "priorities that two classes share keep the link full",
        "Fig. 6",
        "switchwright simulate --scenario priority-reuse",
        (scenarios::reuse_rows, scenarios::reuse),
    ),
    scenario(
        "section-7.5",
        "bounced packets lossless, lossy, or not allowed",
        "section 7.5",
        "switchwright simulate --scenario hierarchical-space-1",
        (scenarios::spaces_rows, scenarios::spaces),
    ),
];

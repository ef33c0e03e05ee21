//! Options of `plan --scheme df-edst`: to which trees packets may change.

use clap::{Args, ValueEnum};
use schemes::failover::{TransitionKind, TransitionOptions, TreeOrder};

/// Tree transition graphs (Stephens15 section 5.2.2).
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TransitionName {
    /// Packets stay on the tree that they begin on: no failure is survived.
    NoRes,
    /// From any tree to any other: refused, for it is cyclic (see the scheme edst).
    NoDfr,
    /// From each tree to the next, beginning on the first: survives one failure less than there are
    /// trees.
    Line,
    /// From all initial trees to the head of a line of the others: survives as many failures as
    /// those are.
    T,
    /// Layers, each two trees narrower than the one before.
    ALayer,
    /// Layers, each half as wide as the one before.
    MLayer,
    /// As t; among initial trees a random acyclic graph.
    Rand,
    /// As t; from every initial tree to all later ones.
    Max,
}

/// In which order a switch tries the trees of a layer.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderName {
    /// Those first from which most others can be reached.
    Res,
    /// The shortest from the switch first.
    Perf,
}

/// To which trees packets may change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Failover scheme df-edst")]
pub(super) struct TransitionArgs {
    /// With df-edst: to which trees packets may change (Stephens15 section 5.2.2) [default: t].
    #[arg(long, value_enum, value_name = "GRAPH")]
    ttg: Option<TransitionName>,
    /// With df-edst: the order in which a switch tries the trees of a layer [default: res].
    #[arg(long, value_enum, value_name = "ORDER")]
    tree_order: Option<OrderName>,
    /// With df-edst: on how many trees of a channel packets may begin [default: as many as the
    /// resilience leaves].
    #[arg(long, value_name = "N")]
    initial_trees: Option<u8>,
    /// With df-edst: how many trees of a channel lead to each destination, the shortest as far as
    /// the resilience leaves it [default: all].
    #[arg(long, value_name = "N")]
    subset: Option<u8>,
    /// With df-edst: let packets change from each tree of a layer to the next in it, too.
    #[arg(long)]
    connect_layers: bool,
}

impl TransitionArgs {
    pub(super) fn options(&self, channels: Option<u8>) -> TransitionOptions {
        TransitionOptions {
            kind: match self.ttg {
                Some(TransitionName::NoRes) => TransitionKind::NoRes,
                Some(TransitionName::NoDfr) => TransitionKind::NoDfr,
                Some(TransitionName::Line) => TransitionKind::Line,
                None | Some(TransitionName::T) => TransitionKind::T,
                Some(TransitionName::ALayer) => TransitionKind::ALayer,
                Some(TransitionName::MLayer) => TransitionKind::MLayer,
                Some(TransitionName::Rand) => TransitionKind::Rand,
                Some(TransitionName::Max) => TransitionKind::Max,
            },
            order: match self.tree_order {
                None | Some(OrderName::Res) => TreeOrder::Resilience,
                Some(OrderName::Perf) => TreeOrder::Performance,
            },
            channels: channels.unwrap_or(1),
            initial: self.initial_trees,
            subset: self.subset,
            connected: self.connect_layers,
        }
    }
}

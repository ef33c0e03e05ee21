//! `push --verify-cabling`: nothing is written to a network whose cables are not those of the plan.

use std::path::Path;

use p4gen::build::BuildDirectory;
use topology::difference::{Comparison, Item, MatchBy, NodeKind};

use super::super::fault::{Context, Fault, Status};
use super::super::plan_file::load_built;
use super::super::terminal::Terminal;
use super::super::topo;
use super::super::words::counted;

/// Compares the cables of a network with those of the plan that a directory was built from.
///
/// # Errors
/// Cables and switches that differ (status 1); files that cannot be read.
pub(super) fn verify(directory: &str, network: &str, terminal: &Terminal) -> Result<(), Fault> {
    let built = BuildDirectory::open(Path::new(directory)).input(directory)?;
    let plan = load_built(&built)?.topology;
    let found = topo::network(network)?;
    let difference = Comparison::new(&plan, &found, MatchBy::Auto).difference();
    let wrong: Vec<String> = difference
        .cabling()
        .filter(|item| !is_silent_host(item))
        .map(ToString::to_string)
        .collect();
    if wrong.is_empty() {
        terminal.note(format_args!("`{network}` has the cables of the plan"));
        return Ok(());
    }
    let count = counted(wrong.len(), "difference");
    let lines = wrong.join("\n  ");
    Err(Fault::with(
        Status::Failed,
        format!("nothing was written: the cables of `{network}` are not those of the plan ({count}):\n  {lines}"),
    )
    .help(format!("correct the cables; `switchwright check PLAN --against {network}` says what they break")))
}

/// Whether a difference is a host that says nothing of itself, as most hosts, or one that the plan
/// does not have: neither moves a cable of the plan.
const fn is_silent_host(item: &Item) -> bool {
    matches!(
        item,
        Item::NodeMissing {
            what: NodeKind::Host,
            ..
        } | Item::NodeAdded {
            what: NodeKind::Host,
            ..
        }
    )
}

//! Matching the nodes of two networks: by name, then by structure.

use super::nodes::{Nodes, all};
use super::{MatchBy, MatchedBy, structure};
use crate::model::Topology;

/// The nodes of both networks, matched.
pub(super) fn matched(a: &Topology, b: &Topology, by: MatchBy) -> Nodes {
    let mut nodes = Nodes::unmatched(a, b);
    if by != MatchBy::Structure {
        for node in all(a) {
            if let Some(other) = b.node(a.node_name(node)) {
                nodes.pair(node, other);
            }
        }
    }
    let no_switch = !a.switch_ids().any(|id| nodes.switch_of(id).is_some());
    if by == MatchBy::Structure || (by == MatchBy::Auto && no_switch) {
        nodes.by = MatchedBy::Structure;
    }
    if by != MatchBy::Name {
        structure::complete(a, b, &mut nodes);
    }
    nodes
}

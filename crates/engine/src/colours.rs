//! What links are coloured by: the tags that packets may have on them. Their load is in
//! [`crate::loads`].

use std::collections::BTreeSet;

use plan::{NewTag, Tables, Tag};

/// By link, the lossless tags with which packets may leave a switch over it, in order: what the
/// rules of its ends put out, and what hosts send.
pub(crate) fn tags(tables: &Tables) -> Vec<Vec<Tag>> {
    let topology = &tables.topology;
    let mut found: Vec<BTreeSet<Tag>> = vec![BTreeSet::new(); topology.links().len()];
    for (switch, rules) in topology.switch_ids().zip(&tables.tagging.rules) {
        for (port, peer) in topology.peers(switch) {
            let here = rules.iter().filter(|rule| rule.out_ports.contains(port));
            found[peer.link.index()].extend(here.filter_map(|rule| match rule.new_tag {
                NewTag::Lossless(tag) => Some(tag),
                NewTag::Lossy => None,
            }));
        }
    }
    let initial: Vec<Tag> = tables.tagging.classes.iter().map(|c| c.initial).collect();
    for host in topology.host_ids() {
        for (_, peer) in topology.uplinks(host) {
            found[peer.link.index()].extend(initial.iter().copied());
        }
    }
    found.into_iter().map(Vec::from_iter).collect()
}

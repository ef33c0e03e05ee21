//! Finding nodes and links by the names that people type.

use std::collections::BTreeSet;

use quantities::PortId;
use thiserror::Error;

use super::ids::{HostId, LinkId, NodeId, SwitchId};
use super::listed::{LISTED, first_names};
use super::model::{Link, Topology};

/// Why a name was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// No node of that kind has the name.
    #[error("there is no {kind} `{name}`; {known}")]
    NoSuchNode {
        /// `switch` or `host`.
        kind: &'static str,
        /// The name.
        name: String,
        /// Some that exist, as a clause.
        known: String,
    },
    /// Not a way to write a link, or of nodes that do not exist.
    #[error("`{text}` is not a link; write its ends, as in `s1-s2` or `s1:3-s2:1`; {known}")]
    NotALink {
        /// What was asked for.
        text: String,
        /// Links that exist.
        known: String,
    },
    /// The nodes exist, the link does not.
    #[error("there is no link `{text}`; `{node}` is linked to {known}")]
    NoSuchLink {
        /// What was asked for.
        text: String,
        /// One of the nodes.
        node: String,
        /// What it is linked to.
        known: String,
    },
    /// Parallel links.
    #[error("`{text}` means any of {links}; say which by its ports")]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// What it may mean.
        links: String,
    },
}

impl Topology {
    /// The switch of a name.
    ///
    /// # Errors
    /// [`LookupError::NoSuchNode`].
    pub fn switch_named(&self, name: &str) -> Result<SwitchId, LookupError> {
        match self.node(name) {
            Some(NodeId::Switch(switch)) => Ok(switch),
            _ => Err(LookupError::NoSuchNode {
                kind: "switch",
                name: name.to_owned(),
                known: known("switch", self.switches().iter().map(|s| s.name.clone())),
            }),
        }
    }

    /// The host of a name.
    ///
    /// # Errors
    /// [`LookupError::NoSuchNode`].
    pub fn host_named(&self, name: &str) -> Result<HostId, LookupError> {
        match self.node(name) {
            Some(NodeId::Host(host)) => Ok(host),
            _ => Err(LookupError::NoSuchNode {
                kind: "host",
                name: name.to_owned(),
                known: known("host", self.hosts().iter().map(|h| h.name.clone())),
            }),
        }
    }

    /// The link of a name: `s1-s2`, or with ports on either end where there are parallel ones, as
    /// in `s1:3-s2:1` or `s1:Ethernet8-s2:swp1`. Names of nodes and ports may hold dashes
    /// themselves.
    ///
    /// # Errors
    /// [`LookupError`] if there is no such link or more than one.
    pub fn link_named(&self, text: &str) -> Result<LinkId, LookupError> {
        let dashes = text.match_indices('-').map(|(at, _)| at);
        let split = |at: usize| Some((self.end(&text[..at])?, self.end(&text[at + 1..])?));
        let pairs: Vec<_> = dashes.filter_map(split).collect();
        let Some(&((near, _), _)) = pairs.first() else {
            return Err(LookupError::NotALink {
                text: text.to_owned(),
                known: self.links_near(text),
            });
        };
        let mut found: Vec<LinkId> = Vec::new();
        for (a, b) in pairs {
            found.extend(self.link_ids().filter(|&id| self.joins(id, a, b)));
        }
        found.sort_unstable();
        found.dedup();
        match found[..] {
            [link] => Ok(link),
            [] => Err(LookupError::NoSuchLink {
                text: text.to_owned(),
                node: self.node_name(near).to_owned(),
                known: list(self.neighbours(near)),
            }),
            _ => Err(LookupError::Ambiguous {
                text: text.to_owned(),
                links: list(found.iter().map(|&id| format!("`{}`", self.link_name(id)))),
            }),
        }
    }

    /// A link as [`Topology::link_named`] reads it, with both ports.
    #[must_use]
    pub fn link_name(&self, id: LinkId) -> String {
        let link = self.link(id);
        format!(
            "{}-{}",
            self.endpoint_name(link.a),
            self.endpoint_name(link.b)
        )
    }

    /// Links of a node that the text begins or ends with; without one, the first links.
    fn links_near(&self, text: &str) -> String {
        let node = |text: &str| {
            let name = text.split_once(':').map_or(text, |(name, _)| name);
            self.node(name)
        };
        let mut dashes = text.match_indices('-').map(|(at, _)| at);
        let near = dashes.find_map(|at| node(&text[..at]).or_else(|| node(&text[at + 1..])));
        match near.or_else(|| node(text)) {
            Some(near) => format!(
                "`{}` is linked to {}",
                self.node_name(near),
                list(self.neighbours(near))
            ),
            None => {
                let plain = |id: LinkId| {
                    let Link { a, b, .. } = *self.link(id);
                    format!("{}-{}", self.node_name(a.node), self.node_name(b.node))
                };
                let (to_hosts, between): (Vec<LinkId>, Vec<LinkId>) =
                    self.link_ids().partition(|&id| self.link(id).is_to_host());
                let links = between.into_iter().chain(to_hosts);
                format!("there are {}", list(links.map(plain)))
            }
        }
    }

    /// A node, or a node and its port.
    fn end(&self, text: &str) -> Option<(NodeId, Option<PortId>)> {
        if let Some(node) = self.node(text) {
            return Some((node, None));
        }
        // Names of nodes hold no colon, those of ports may: `et-0/0/3:1`.
        let (name, port) = text.split_once(':')?;
        let node = self.node(name)?;
        Some((node, Some(self.port_named(node, port)?)))
    }

    fn joins(&self, id: LinkId, a: (NodeId, Option<PortId>), b: (NodeId, Option<PortId>)) -> bool {
        let link = self.link(id);
        let is = |end: super::model::Endpoint, (node, port): (NodeId, Option<PortId>)| {
            end.node == node && port.is_none_or(|port| port == end.port)
        };
        is(link.a, a) && is(link.b, b) || is(link.a, b) && is(link.b, a)
    }

    /// The names of what a node is linked to, each once, in port order.
    fn neighbours(&self, node: NodeId) -> Vec<String> {
        let peers: Vec<NodeId> = match node {
            NodeId::Switch(switch) => self.peers(switch).map(|(_, peer)| peer.end.node).collect(),
            NodeId::Host(host) => {
                let uplinks = self.uplinks(host).iter();
                uplinks.map(|(_, peer)| peer.end.node).collect()
            }
        };
        let mut seen = BTreeSet::new();
        let each = peers.into_iter().filter(|&peer| seen.insert(peer));
        each.map(|peer| self.node_name(peer).to_owned()).collect()
    }
}

/// Which nodes of a kind there are, as a clause.
fn known(kind: &str, names: impl ExactSizeIterator<Item = String>) -> String {
    match names.len() {
        0 => format!("the network has no {kind}"),
        _ => format!("there are {}", list(names)),
    }
}

/// The first few names, and how many more there are.
fn list(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    first_names(&names, LISTED)
}

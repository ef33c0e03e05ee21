//! Finding nodes and links by the names that people type.

use quantities::PortId;
use thiserror::Error;

use super::ids::{HostId, LinkId, NodeId, SwitchId};
use super::model::Topology;

/// Names that a message lists before it stops.
const LISTED: usize = 8;

/// Why a name was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// No node of that kind has the name.
    #[error("there is no {kind} `{name}`; there are {known}")]
    NoSuchNode {
        /// `switch` or `host`.
        kind: &'static str,
        /// The name.
        name: String,
        /// Some that exist.
        known: String,
    },
    /// Not a way to write a link.
    #[error("`{0}` is not a link; write its ends, as in `s1-s2` or `s1:3-s2:1`")]
    NotALink(String),
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
                known: list(self.switches().iter().map(|s| s.name.clone())),
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
                known: list(self.hosts().iter().map(|h| h.name.clone())),
            }),
        }
    }

    /// The link of a name: `s1-s2`, or with ports on either end where there are parallel ones, as
    /// in `s1:3-s2:1`. Names of nodes may hold dashes themselves.
    ///
    /// # Errors
    /// [`LookupError`] if there is no such link or more than one.
    pub fn link_named(&self, text: &str) -> Result<LinkId, LookupError> {
        let dashes = text.match_indices('-').map(|(at, _)| at);
        let split = |at: usize| Some((self.end(&text[..at])?, self.end(&text[at + 1..])?));
        let pairs: Vec<_> = dashes.filter_map(split).collect();
        let Some(&((near, _), _)) = pairs.first() else {
            return Err(LookupError::NotALink(text.to_owned()));
        };
        let mut found: Vec<LinkId> = Vec::new();
        for (a, b) in pairs {
            found.extend(self.link_ids().filter(|&id| self.joins(id, a, b)));
        }
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

    /// A node, or a node and its port.
    fn end(&self, text: &str) -> Option<(NodeId, Option<PortId>)> {
        if let Some(node) = self.node(text) {
            return Some((node, None));
        }
        let (name, port) = text.rsplit_once(':')?;
        Some((self.node(name)?, Some(PortId::new(port.parse().ok()?))))
    }

    fn joins(&self, id: LinkId, a: (NodeId, Option<PortId>), b: (NodeId, Option<PortId>)) -> bool {
        let link = self.link(id);
        let is = |end: super::model::Endpoint, (node, port): (NodeId, Option<PortId>)| {
            end.node == node && port.is_none_or(|port| port == end.port)
        };
        is(link.a, a) && is(link.b, b) || is(link.a, b) && is(link.b, a)
    }

    /// The names of what a node is linked to, in port order.
    fn neighbours(&self, node: NodeId) -> Vec<String> {
        let name = |peer: super::model::Peer| self.node_name(peer.end.node).to_owned();
        match node {
            NodeId::Switch(switch) => self.peers(switch).map(|(_, peer)| name(peer)).collect(),
            NodeId::Host(host) => self
                .uplinks(host)
                .iter()
                .map(|&(_, peer)| name(peer))
                .collect(),
        }
    }
}

/// The first few names, and how many more there are.
fn list(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown = names
        .iter()
        .take(LISTED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

//! The kinds of differences, and their words.

use std::fmt;

use quantities::{BitRate, Bytes, Metres, PortId};
use serde::Serialize;

use crate::listed::first_names;
use crate::model::Role;

/// Whether a node forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A switch.
    Switch,
    /// A host.
    Host,
}

impl NodeKind {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Host => "host",
        }
    }
}

/// One end of a cable: a port of a switch, or a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct End {
    /// What the node is.
    pub kind: NodeKind,
    /// The node, as the first network calls it; as the second does, if only that has it.
    pub node: String,
    /// The port.
    pub port: PortId,
    /// What the switch calls the port, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

impl End {
    /// The port without its node; nothing for a host.
    fn port_name(&self) -> String {
        match (&self.interface, self.kind) {
            (_, NodeKind::Host) => String::new(),
            (Some(name), NodeKind::Switch) => name.clone(),
            (None, NodeKind::Switch) => format!("port {}", self.port),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            NodeKind::Host => f.write_str(&self.node),
            NodeKind::Switch => write!(f, "{} {}", self.node, self.port_name()),
        }
    }
}

/// A cable by its ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cable {
    /// One end.
    pub a: End,
    /// The other end.
    pub b: End,
}

impl Cable {
    /// A cable with its ends in order, so that the same cable is always written alike.
    pub(super) fn new(a: End, b: End) -> Self {
        if a <= b {
            Self { a, b }
        } else {
            Self { a: b, b: a }
        }
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - {}", self.a, self.b)
    }
}

/// An end whose cable leads elsewhere in the second network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reconnected {
    /// The end.
    pub end: End,
    /// Where its cable leads in the first network; nothing if it has no cable there.
    pub from: Option<End>,
    /// Where its cable leads in the second network; nothing if it has no cable there.
    pub to: Option<End>,
}

impl fmt::Display for Reconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = &self.end;
        match (&self.from, &self.to) {
            (Some(from), Some(to)) if from.node == to.node => {
                write!(f, "{end} leads to {to}, not to {}", from.port_name())
            }
            (Some(from), Some(to)) => write!(f, "{end} leads to {to}, not to {from}"),
            (Some(from), None) => write!(f, "{end} leads nowhere, not to {from}"),
            (None, Some(to)) => write!(f, "{end} leads to {to}, not nowhere"),
            (None, None) => write!(f, "{end} leads nowhere"),
        }
    }
}

/// One difference between a first network and a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Item {
    /// A node is in the first network only.
    NodeMissing {
        /// The node.
        node: String,
        /// What it is.
        what: NodeKind,
        /// Its cables, as far as no other difference has them.
        cables: Vec<Cable>,
    },
    /// A node is in the second network only.
    NodeAdded {
        /// The node.
        node: String,
        /// What it is.
        what: NodeKind,
        /// Its cables, as far as no other difference has them.
        cables: Vec<Cable>,
    },
    /// A node is a switch in one network and a host in the other.
    NodeKind {
        /// The node.
        node: String,
        /// What it is in the first network.
        from: NodeKind,
        /// What it is in the second.
        to: NodeKind,
    },
    /// A node has another name.
    NodeName {
        /// What it is.
        what: NodeKind,
        /// Its name in the first network.
        from: String,
        /// Its name in the second.
        to: String,
    },
    /// A cable is in the first network only.
    CableMissing {
        /// The cable.
        cable: Cable,
    },
    /// A cable is in the second network only.
    CableAdded {
        /// The cable.
        cable: Cable,
    },
    /// A cable ends at another port of the same node.
    WrongPort {
        /// The end that it should not have, and the one that it should.
        cable: Reconnected,
    },
    /// A cable ends at another node.
    WrongNode {
        /// The end that it should not have, and the one that it should.
        cable: Reconnected,
    },
    /// Two cables are exchanged: each ends where the other should.
    Exchanged {
        /// Both.
        cables: Vec<Reconnected>,
        /// The node where they are exchanged, if it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// More than two cables are exchanged in a circle, or in a row that ends at free ports.
    Permuted {
        /// All of them.
        cables: Vec<Reconnected>,
    },
    /// A cable has another rate.
    Rate {
        /// The cable.
        cable: Cable,
        /// Bits per second in the first network.
        from: BitRate,
        /// Bits per second in the second.
        to: BitRate,
    },
    /// A cable has another length.
    Length {
        /// The cable.
        cable: Cable,
        /// Metres in the first network.
        from: Metres,
        /// Metres in the second.
        to: Metres,
    },
    /// A link is up in one network and down in the other.
    LinkState {
        /// The link.
        cable: Cable,
        /// Whether it is up in the second.
        up: bool,
    },
    /// A switch is up in one network and down in the other.
    SwitchState {
        /// The switch.
        switch: String,
        /// Whether it is up in the second.
        up: bool,
    },
    /// A switch has another packet buffer.
    Buffer {
        /// The switch.
        switch: String,
        /// Bytes in the first network.
        from: Bytes,
        /// Bytes in the second.
        to: Bytes,
    },
    /// A switch has another role.
    Role {
        /// The switch.
        switch: String,
        /// In the first network.
        from: Role,
        /// In the second.
        to: Role,
    },
    /// A port has another name.
    PortName {
        /// The switch.
        switch: String,
        /// The port.
        port: PortId,
        /// Its name in the first network.
        from: String,
        /// Its name in the second.
        to: String,
    },
}

impl Item {
    /// Whether it says what joins what, rather than what a node or a cable is like.
    #[must_use]
    pub const fn is_cabling(&self) -> bool {
        matches!(
            self,
            Self::NodeMissing { .. }
                | Self::NodeAdded { .. }
                | Self::NodeKind { .. }
                | Self::CableMissing { .. }
                | Self::CableAdded { .. }
                | Self::WrongPort { .. }
                | Self::WrongNode { .. }
                | Self::Exchanged { .. }
                | Self::Permuted { .. }
        )
    }

    /// Whether it says what is up and what is down.
    #[must_use]
    pub const fn is_state(&self) -> bool {
        matches!(self, Self::LinkState { .. } | Self::SwitchState { .. })
    }
}

/// Cables by name behind a node that is in one network only.
const CABLES_NAMED: usize = 4;

fn with_cables(cables: &[Cable]) -> String {
    let all: Vec<String> = cables.iter().map(Cable::to_string).collect();
    let named = first_names(&all, CABLES_NAMED);
    match cables.len() {
        0 => String::new(),
        1 => format!(" (with the cable {named})"),
        count => format!(" (with {count} cables: {named})"),
    }
}

fn joined(cables: &[Reconnected]) -> String {
    let each: Vec<String> = cables.iter().map(Reconnected::to_string).collect();
    each.join("; ")
}

const fn state(up: bool) -> &'static str {
    if up { "up" } else { "down" }
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Switch => "a switch",
        Role::Server => "a server that forwards",
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeMissing { node, what, cables } => {
                write!(
                    f,
                    "{} {node} is missing{}",
                    what.name(),
                    with_cables(cables)
                )
            }
            Self::NodeAdded { node, what, cables } => {
                write!(f, "{} {node} is added{}", what.name(), with_cables(cables))
            }
            Self::NodeKind { node, from, to } => {
                write!(f, "{node} is a {}, not a {}", to.name(), from.name())
            }
            Self::NodeName { what, from, to } => {
                write!(f, "{} {from} is called {to}", what.name())
            }
            Self::CableMissing { cable } => write!(f, "cable {cable} is missing"),
            Self::CableAdded { cable } => write!(f, "cable {cable} is added"),
            Self::WrongPort { cable } => write!(f, "wrong port: {cable}"),
            Self::WrongNode { cable } => write!(f, "wrong cable: {cable}"),
            Self::Exchanged { cables, at } => {
                let ends: Vec<String> = cables.iter().map(|c| c.end.to_string()).collect();
                let at = at
                    .as_ref()
                    .map(|at| format!(" at {at}"))
                    .unwrap_or_default();
                let (ends, each) = (ends.join(" and "), joined(cables));
                write!(f, "{ends} are exchanged{at}: {each}")
            }
            Self::Permuted { cables } => {
                write!(
                    f,
                    "{} cables are permuted: {}",
                    cables.len(),
                    joined(cables)
                )
            }
            Self::Rate { cable, from, to } => {
                let (from, to) = (from.with_unit(), to.with_unit());
                write!(f, "cable {cable} runs at {to}, not {from}")
            }
            Self::Length { cable, from, to } => {
                write!(f, "cable {cable} is {to} m long, not {from} m")
            }
            Self::LinkState { cable, up } => write!(f, "link {cable} is {}", state(*up)),
            Self::SwitchState { switch, up } => write!(f, "switch {switch} is {}", state(*up)),
            Self::Buffer { switch, from, to } => {
                let (from, to) = (from.with_unit(), to.with_unit());
                write!(f, "switch {switch} has a buffer of {to}, not {from}")
            }
            Self::Role { switch, from, to } => {
                write!(f, "{switch} is {}, not {}", role(*to), role(*from))
            }
            Self::PortName {
                switch, from, to, ..
            } => write!(f, "{switch} {from} is called {to}"),
        }
    }
}

/// Alike differences that are written one by one; beyond, the first few stand for all.
const ALIKE: usize = 8;

/// What differences have in common that are folded into one line.
fn alike(item: &Item) -> Option<String> {
    Some(match item {
        Item::Rate { from, to, .. } => {
            format!("run at {}, not {}", to.with_unit(), from.with_unit())
        }
        Item::Length { from, to, .. } => format!("are {to} m long, not {from} m"),
        Item::LinkState { up, .. } => format!("are {}", state(*up)),
        Item::NodeName { what, .. } => match what {
            NodeKind::Switch => "switches have other names".to_owned(),
            NodeKind::Host => "hosts have other names".to_owned(),
        },
        Item::PortName { .. } => "ports have other names".to_owned(),
        _ => return None,
    })
}

/// Writes a line for each difference; many differences that are alike are one line.
pub(super) fn lines(items: &[Item], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let same = |a: &Item, b: &Item| {
        let (a, b) = (alike(a), alike(b));
        a.is_some() && a == b
    };
    for run in items.chunk_by(same) {
        if run.len() <= ALIKE {
            for item in run {
                writeln!(f, "{item}")?;
            }
            continue;
        }
        let what = alike(&run[0]).unwrap_or_default();
        let named = run.iter().take(3).map(|item| match item {
            Item::Rate { cable, .. }
            | Item::Length { cable, .. }
            | Item::LinkState { cable, .. } => cable.to_string(),
            Item::NodeName { from, to, .. } => format!("{from} is called {to}"),
            other => other.to_string(),
        });
        let named: Vec<String> = named.collect();
        let subject = match run[0] {
            Item::NodeName { .. } | Item::PortName { .. } => "",
            Item::LinkState { .. } => "links ",
            _ => "cables ",
        };
        writeln!(
            f,
            "{} {subject}{what}: {}, ...",
            run.len(),
            named.join(", ")
        )?;
    }
    Ok(())
}

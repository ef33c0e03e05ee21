//! The tag tables of all switches spelled out, so that every later step of the proof asks in one load.
//!
//! A cell stands for one key (class, tag, ingress port, egress port) of one switch and holds the new tag.
//! Painting the rules into the cells in the order of their precedence finds every pair of rules that match
//! the same packet, have the same precedence and disagree.

use quantities::PortId;
use topology::{NodeId, SwitchId, Topology};

use super::error::PlanError;
use crate::model::{Tables, TagRule};
use crate::tag::{ClassId, NewTag, Tag};

/// The cell of a key whose packets turn lossy.
pub(super) const LOSSY: u8 = u8::MAX;

/// No switch stands at this port.
const NOTHING: u32 = u32::MAX;

/// A position in the sorted list of the plan's tags.
pub(super) type TagIx = u8;

/// How many tags the proof can tell apart (a set of them is a word). No switch has as many priorities.
pub(super) const MAX_TAGS: usize = 64;

/// All ports of all switches in one row, and what they are plugged into.
pub(super) struct Ports {
    /// `first[s]` is the number of port 0 of switch `s`.
    first: Vec<u32>,
    /// The port of a switch that each port is plugged into.
    peer: Vec<u32>,
    /// Whether a host is plugged in.
    host: Vec<bool>,
    /// The switch of each port.
    owner: Vec<SwitchId>,
}

impl Ports {
    pub(super) fn new(topology: &Topology) -> Self {
        let mut first = Vec::with_capacity(topology.switches().len() + 1);
        let mut owner = Vec::new();
        for (id, switch) in topology.switch_ids().zip(topology.switches()) {
            first.push(u32::try_from(owner.len()).unwrap_or(u32::MAX));
            owner.extend(std::iter::repeat_n(id, usize::from(switch.ports) + 1));
        }
        first.push(u32::try_from(owner.len()).unwrap_or(u32::MAX));
        let mut ports = Self {
            peer: vec![NOTHING; owner.len()],
            host: vec![false; owner.len()],
            first,
            owner,
        };
        for switch in topology.switch_ids() {
            for (port, peer) in topology.peers(switch) {
                let at = ports.at(switch, port) as usize;
                match peer.end.node {
                    NodeId::Switch(other) => ports.peer[at] = ports.at(other, peer.end.port),
                    NodeId::Host(_) => ports.host[at] = true,
                }
            }
        }
        ports
    }

    /// The number of a port.
    pub(super) fn at(&self, switch: SwitchId, port: PortId) -> u32 {
        self.first[switch.index()] + u32::from(port.get())
    }

    /// How many ports there are.
    pub(super) fn count(&self) -> usize {
        self.owner.len()
    }

    /// The switch and the port of a number.
    pub(super) fn name(&self, at: u32) -> (SwitchId, PortId) {
        let switch = self.owner[at as usize];
        let port = at - self.first[switch.index()];
        (switch, PortId::new(u16::try_from(port).unwrap_or(u16::MAX)))
    }

    /// The ingress port at the far end of the link, if that is a switch.
    pub(super) fn peer(&self, at: u32) -> Option<u32> {
        let peer = self.peer[at as usize];
        (peer != NOTHING).then_some(peer)
    }

    /// Ports that face hosts.
    pub(super) fn host_facing(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..)
            .zip(&self.host)
            .filter_map(|(at, host)| host.then_some(at))
    }
}

/// The cells of one switch.
struct Block {
    /// The first cell.
    start: usize,
    /// Ports, counting port 0.
    ports: usize,
}

/// Every table of every switch, spelled out.
pub(super) struct Lookup {
    /// The plan's tags, in rising order; a [`TagIx`] is a position in here.
    pub(super) tags: Vec<Tag>,
    /// How many kinds of packet the rules tell apart by class: 1, or the classes and "no class of this plan".
    pub(super) kinds: usize,
    blocks: Vec<Block>,
    cells: Vec<u8>,
}

impl Lookup {
    /// Spells the tables out. The tables have been checked for shape.
    ///
    /// # Errors
    /// One [`PlanError::Conflict`] per switch that has any.
    pub(super) fn new(tables: &Tables) -> Result<Self, Vec<PlanError>> {
        let tagging = &tables.tagging;
        let by_class = tagging.rules.iter().flatten().any(|r| r.class.is_some());
        let tags: Vec<Tag> = tagging.priorities.keys().copied().collect();
        let mut lookup = Self {
            kinds: if by_class {
                tagging.classes.len() + 1
            } else {
                1
            },
            tags,
            blocks: Vec::new(),
            cells: Vec::new(),
        };
        let mut errors = Vec::new();
        let mut painted = Vec::new();
        for (switch, rules) in tables.topology.switches().iter().zip(&tagging.rules) {
            let ports = usize::from(switch.ports) + 1;
            let size = lookup.kinds * lookup.tags.len() * ports * ports;
            let start = lookup.cells.len();
            lookup.cells.resize(start + size, LOSSY);
            lookup.blocks.push(Block { start, ports });
            painted.clear();
            painted.resize(size, 0u16);
            if let Err(conflict) = lookup.paint(&switch.name, start, ports, rules, &mut painted) {
                errors.push(*conflict);
            }
        }
        if errors.is_empty() {
            Ok(lookup)
        } else {
            Err(errors)
        }
    }

    /// Paints the rules of one switch; `painted` remembers 1 + precedence of what was painted last.
    fn paint(
        &mut self,
        switch: &str,
        start: usize,
        ports: usize,
        rules: &[TagRule],
        painted: &mut [u16],
    ) -> Result<(), Box<PlanError>> {
        let mut order: Vec<&TagRule> = rules.iter().collect();
        order.sort_by_key(|rule| rule.precedence);
        for rule in order {
            let Some(tag) = self.index(rule.tag) else {
                continue;
            };
            let value = self.value(rule.new_tag);
            let level = 1 + u16::from(rule.precedence);
            let kinds = match rule.class {
                Some(class) => class.index()..class.index() + 1,
                None => 0..self.kinds,
            };
            for kind in kinds {
                let table = (kind * self.tags.len() + usize::from(tag)) * ports;
                for in_port in rule.in_ports.iter() {
                    let row = (table + usize::from(in_port.get())) * ports;
                    for (a, b) in rule.out_ports.runs() {
                        let (first, last) =
                            (row + usize::from(a.get()), row + usize::from(b.get()));
                        let cells = &mut self.cells[start + first..=start + last];
                        let painted = &mut painted[first..=last];
                        let both = cells.iter().zip(&*painted);
                        let mut clashes = both.zip(a.get()..);
                        let clash = clashes
                            .find(|((cell, painted), _)| **painted == level && **cell != value);
                        if let Some(((&first, _), out)) = clash {
                            return Err(Box::new(PlanError::Conflict {
                                switch: switch.to_owned(),
                                tag: rule.tag,
                                in_port,
                                out_port: PortId::new(out),
                                first: self.new_tag(first),
                                second: rule.new_tag,
                                precedence: rule.precedence,
                            }));
                        }
                        cells.fill(value);
                        painted.fill(level);
                    }
                }
            }
        }
        Ok(())
    }

    /// The position of a tag.
    pub(super) fn index(&self, tag: Tag) -> Option<TagIx> {
        let at = self.tags.binary_search(&tag).ok()?;
        TagIx::try_from(at).ok()
    }

    fn value(&self, new_tag: NewTag) -> u8 {
        new_tag
            .tag()
            .and_then(|tag| self.index(tag))
            .unwrap_or(LOSSY)
    }

    fn new_tag(&self, value: u8) -> NewTag {
        match self.tags.get(usize::from(value)) {
            Some(tag) => NewTag::Lossless(*tag),
            None => NewTag::Lossy,
        }
    }

    /// The kind of packet that a class is.
    pub(super) fn kind(&self, class: ClassId) -> usize {
        if self.kinds == 1 { 0 } else { class.index() }
    }

    /// The new tags of a packet that came in by a port, by egress port; [`LOSSY`] where it turns lossy.
    pub(super) fn row(&self, switch: SwitchId, kind: usize, tag: TagIx, in_port: PortId) -> &[u8] {
        let block = &self.blocks[switch.index()];
        let table = (kind * self.tags.len() + usize::from(tag)) * block.ports;
        let row = block.start + (table + usize::from(in_port.get())) * block.ports;
        &self.cells[row..row + block.ports]
    }

    /// The new tag of one packet.
    pub(super) fn get(
        &self,
        switch: SwitchId,
        kind: usize,
        tag: TagIx,
        in_port: PortId,
        out_port: PortId,
    ) -> Option<TagIx> {
        let value = self.row(switch, kind, tag, in_port)[usize::from(out_port.get())];
        (value != LOSSY).then_some(value)
    }
}

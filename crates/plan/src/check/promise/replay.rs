//! One promise: its class, and the tags with which packets leave each switch.

use quantities::PortId;
use topology::routes::{Path, Route, RouteSet};
use topology::{Attachment, SwitchId};

use crate::check::error::LostRoute;
use crate::check::rules::lookup::{LOSSY, Lookup, TagIx};
use crate::model::Tables;
use crate::tag::Tag;

/// What rules do with the packets of one class.
pub(in crate::check) trait Marking: Sync {
    /// How many tags packets can have.
    fn tag_count(&self) -> usize;

    /// The rules that packets which came in by a port with a tag may meet at a switch: the new tags
    /// by each.
    fn rows(&self, switch: SwitchId, tag: TagIx, in_port: PortId) -> impl Iterator<Item = Row<'_>>;

    /// Whether packets with a tag from two ports of a switch meet the same rules.
    fn are_alike(&self, switch: SwitchId, tag: TagIx, ports: [PortId; 2]) -> bool;

    /// A tag as the plan has it.
    fn name(&self, tag: TagIx) -> Tag;
}

/// New tags by egress port.
#[derive(Clone, Copy)]
pub(in crate::check) struct Row<'a> {
    /// The cells of the rules; ports behind the last are lossy.
    pub(in crate::check) cells: &'a [u8],
    /// What the cells mean, where they are not the tags themselves.
    pub(in crate::check) meaning: Option<&'a [TagIx]>,
    /// Whether packets that would turn lossy never meet these rules.
    pub(in crate::check) only_lossless: bool,
}

impl<'a> Row<'a> {
    /// The row of rules whose cells are the tags themselves.
    fn of(cells: &'a [u8]) -> Self {
        Self {
            cells,
            meaning: None,
            only_lossless: false,
        }
    }

    /// The new tag of packets that leave by a port; [`LOSSY`] if they turn lossy. Nothing if they
    /// never meet these rules.
    #[inline]
    pub(super) fn get(&self, out_port: PortId) -> Option<TagIx> {
        match self.cells.get(usize::from(out_port.get())) {
            None | Some(&LOSSY) => (!self.only_lossless).then_some(LOSSY),
            Some(&cell) => Some(match self.meaning {
                None => cell,
                Some(meaning) => meaning[usize::from(cell)],
            }),
        }
    }
}

/// The rules of one plan, for packets of one kind.
pub(super) struct OnePlan<'a> {
    pub(super) lookup: &'a Lookup,
    /// What the tables take the packets for.
    pub(super) kind: usize,
}

impl Marking for OnePlan<'_> {
    fn tag_count(&self) -> usize {
        self.lookup.tags.len()
    }

    fn rows(&self, switch: SwitchId, tag: TagIx, in_port: PortId) -> impl Iterator<Item = Row<'_>> {
        std::iter::once(Row::of(self.lookup.row(switch, self.kind, tag, in_port)))
    }

    fn are_alike(&self, switch: SwitchId, tag: TagIx, ports: [PortId; 2]) -> bool {
        let [a, b] = ports.map(|port| self.lookup.number(switch, self.kind, tag, port));
        a == b
    }

    fn name(&self, tag: TagIx) -> Tag {
        self.lookup.tags[usize::from(tag)]
    }
}

/// One promise under replay.
pub(in crate::check) struct Replay<'a, M> {
    /// The plan whose promise it is.
    pub(in crate::check) tables: &'a Tables,
    /// What the switches do with its packets.
    pub(in crate::check) marking: M,
    /// The class's name.
    pub(in crate::check) class: &'a str,
    /// The tag with which its hosts send.
    pub(in crate::check) initial: TagIx,
}

impl<M: Marking> Replay<'_, M> {
    /// The tags with which packets may leave a switch; [`LOSSY`] among them if they may turn lossy.
    pub(super) fn step(
        &self,
        switch: SwitchId,
        tag: TagIx,
        in_port: PortId,
        out_port: PortId,
    ) -> impl Iterator<Item = TagIx> {
        let rows = self.marking.rows(switch, tag, in_port);
        rows.filter_map(move |row| row.get(out_port))
    }

    /// Whether all routes along a path stay lossless. May say no for the sake of a host that is at
    /// both ends of the path; then every route has to be looked at.
    pub(super) fn path_is_lossless(&self, set: &RouteSet, path: Path<'_>) -> bool {
        let fabric = set.fabric();
        let mut at = path.from;
        let mut states: Vec<(PortId, TagIx)> = path
            .sources
            .iter()
            .map(|source| (source.port, self.initial))
            .collect();
        for &id in path.arcs {
            let arc = fabric.arc(id);
            let mut next = Vec::new();
            for (in_port, tag) in states {
                for tag in self.step(at, tag, in_port, arc.out_port) {
                    if tag == LOSSY {
                        return false;
                    }
                    if !next.contains(&(arc.in_port, tag)) {
                        next.push((arc.in_port, tag));
                    }
                }
            }
            states = next;
            at = arc.to;
        }
        states
            .iter()
            .all(|&(in_port, tag)| self.leaves(at, tag, in_port, path.destinations).is_none())
    }

    /// The first host port at which a packet would not arrive lossless. A packet never returns by
    /// the port it came in.
    pub(super) fn leaves(
        &self,
        switch: SwitchId,
        tag: TagIx,
        in_port: PortId,
        hosts: &[Attachment],
    ) -> Option<PortId> {
        let lost = |row: Row<'_>| {
            let mut hosts = hosts.iter().filter(|host| host.port != in_port);
            hosts.find(|host| row.get(host.port) == Some(LOSSY))
        };
        let mut rows = self.marking.rows(switch, tag, in_port);
        rows.find_map(lost).map(|host| host.port)
    }

    /// Follows one route; where it turns lossy, if it does.
    pub(super) fn follow(&self, route: &Route) -> Option<LostRoute> {
        // The tags with which packets may enter the switch, each with those before.
        let mut walks = vec![vec![self.initial]];
        for hop in &route.hops {
            let mut next: Vec<Vec<TagIx>> = Vec::new();
            for walk in walks {
                let tag = walk[walk.len() - 1];
                for new in self.step(hop.switch, tag, hop.in_port, hop.out_port) {
                    if new == LOSSY {
                        return Some(self.lost_at(route, hop, &walk));
                    }
                    if next.iter().all(|walk| walk.last() != Some(&new)) {
                        next.push(walk.iter().copied().chain([new]).collect());
                    }
                }
            }
            walks = next;
        }
        None
    }

    fn lost_at(&self, route: &Route, hop: &topology::routes::Hop, tags: &[TagIx]) -> LostRoute {
        let topology = &self.tables.topology;
        let mut nodes = vec![topology.host(route.source).name.clone()];
        let switches = route.hops.iter().map(|h| topology.switch(h.switch));
        nodes.extend(switches.map(|s| s.name.clone()));
        nodes.push(topology.host(route.destination).name.clone());
        LostRoute {
            class: self.class.to_owned(),
            nodes,
            tags: tags.iter().map(|&tag| self.marking.name(tag)).collect(),
            switch: topology.switch(hop.switch).name.clone(),
            in_port: hop.in_port,
            out_port: hop.out_port,
        }
    }
}

//! Lossless tags on the ways of failover tables: every packet that arrives must stay lossless on
//! its way, whatever has failed, and what a cycle of buffers consists of is told by walks.

use quantities::PortId;
use topology::{Fabric, SwitchId};

use super::hop::Hop;
use crate::check::error::{LostRoute, PlanError};
use crate::check::rules::Rules;
use crate::check::rules::lookup::{Lookup, TagIx};
use crate::check::rules::ports::{IngressBuffer, Ports};
use crate::failover::{Action, Destination, Failover, Origin, Target};
use crate::model::Tables;
use crate::tag::{ClassId, Tag};

/// The tag tables, ready for walks.
pub(in crate::check) struct Tags<'a> {
    lookup: &'a Lookup,
    ports: &'a Ports,
    /// Kind and initial tag of every class.
    classes: Vec<(usize, TagIx)>,
    /// Dependencies of buffers of which a walk is wanted.
    edges: Vec<(IngressBuffer, IngressBuffer)>,
}

/// Where a packet turns lossy.
pub(super) struct TurnsLossy {
    /// Place of the hop on the way.
    hop: usize,
    in_port: PortId,
    out_port: PortId,
    tag: TagIx,
}

impl<'a> Tags<'a> {
    /// The tag tables of a plan; the buffers of a cycle, in order, if there is one.
    pub(in crate::check) fn new(rules: &'a Rules<'_>, cycle: &[IngressBuffer]) -> Self {
        let Rules {
            tables,
            lookup,
            ports,
        } = rules;
        let classes = (0..).map(ClassId::new).zip(&tables.tagging.classes);
        let after = cycle.iter().cycle().skip(1);
        Self {
            classes: classes
                .filter_map(|(id, class)| Some((lookup.kind(id), lookup.index(class.initial)?)))
                .collect(),
            edges: cycle.iter().copied().zip(after.copied()).collect(),
            lookup,
            ports,
        }
    }

    /// How many dependencies walks are wanted of.
    pub(super) fn wanted(&self) -> usize {
        self.edges.len()
    }

    /// The tag with which a packet leaves; `None` if it turns lossy.
    fn leave(&self, hop: &Hop, kind: usize, tag: TagIx, from: PortId, to: PortId) -> Option<TagIx> {
        match hop.channel {
            Some(channel) => self.lookup.index(channel),
            None => self.lookup.get(hop.switch, kind, tag, from, to),
        }
    }

    /// Replays the tags of every class along a way that ends at one of these ports of hosts, from
    /// every host where it begins. Tells the place of each wanted dependency that it has.
    pub(super) fn replay(
        &self,
        fabric: &Fabric,
        hops: &[Hop],
        hosts: &[PortId],
        mut found: impl FnMut(usize),
    ) -> Result<(), TurnsLossy> {
        for &(kind, initial) in &self.classes {
            let mut tags = 1u64 << initial;
            for (place, hop) in hops.iter().enumerate() {
                let sources = fabric.attachments(hop.switch).iter().map(|a| a.port);
                let from: Vec<PortId> = match hop.origin {
                    Origin::Port(port) => vec![port],
                    _ => sources.collect(),
                };
                let to = hop.out.as_ref().map_or(hosts, std::slice::from_ref);
                let mut next = 0u64;
                for tag in (0..64).filter(|tag| tags >> tag & 1 == 1) {
                    for (&in_port, &out_port) in
                        from.iter().flat_map(|f| to.iter().map(move |t| (f, t)))
                    {
                        let Some(new) = self.leave(hop, kind, tag, in_port, out_port) else {
                            return Err(TurnsLossy {
                                hop: place,
                                in_port,
                                out_port,
                                tag,
                            });
                        };
                        next |= 1 << new;
                        self.note((hop.switch, in_port, tag), (out_port, new), &mut found);
                    }
                }
                tags = next;
            }
        }
        Ok(())
    }

    /// The tags with which a packet of the first class from the host at a port leaves the switches
    /// of a way; `None` once it is lossy.
    pub(super) fn along(&self, hops: &[Hop], host: PortId) -> Vec<Option<Tag>> {
        let class = self.classes.first();
        let mut tag = class.map(|&(_, initial)| initial);
        let kind = class.map_or(0, |&(kind, _)| kind);
        let leaves = hops.iter().map(|hop| {
            let from = match hop.origin {
                Origin::Port(port) => port,
                _ => host,
            };
            if let (Some(own), Some(out)) = (tag, hop.out) {
                tag = self.leave(hop, kind, own, from, out);
            }
            tag.map(|tag| self.lookup.tags[usize::from(tag)])
        });
        leaves.collect()
    }

    fn note(
        &self,
        (switch, in_port, tag): (SwitchId, PortId, TagIx),
        (out_port, new): (PortId, TagIx),
        found: &mut impl FnMut(usize),
    ) {
        if self.edges.is_empty() {
            return;
        }
        let here = (self.ports.at(switch, in_port), tag);
        let Some(peer) = self.ports.peer(self.ports.at(switch, out_port)) else {
            return;
        };
        for (place, edge) in self.edges.iter().enumerate() {
            if *edge == (here, (peer, new)) {
                found(place);
            }
        }
    }

    /// What becomes of a packet where it turns lossy, in words.
    pub(super) fn describe(&self, lossy: &TurnsLossy) -> String {
        format!(
            "it turns lossy there: no rule keeps tag {} from port {} to port {}",
            self.lookup.tags[usize::from(lossy.tag)],
            lossy.in_port,
            lossy.out_port
        )
    }
}

impl TurnsLossy {
    /// The hops up to the one where the packet turns lossy.
    pub(super) fn way<'h>(&self, hops: &'h [Hop]) -> &'h [Hop] {
        &hops[..=self.hop]
    }
}

/// The ports by which a switch hands packets to the hosts of a destination.
pub(super) fn host_ports(
    fabric: &Fabric,
    destination: &Destination,
    home: SwitchId,
) -> Vec<PortId> {
    let hosts = fabric.attachments(home).iter();
    let meant = hosts.filter(|a| match destination.target {
        Target::Host(host) => a.host == host,
        Target::Switch { .. } => true,
    });
    meant.map(|a| a.port).collect()
}

/// The buffers that channels put packets into.
pub(in crate::check) fn channels(failover: &Failover, rules: &Rules<'_>) -> Vec<IngressBuffer> {
    let Rules { lookup, ports, .. } = rules;
    let mut held = Vec::new();
    for (switch, table) in (0..).map(SwitchId::new).zip(&failover.tables) {
        for action in table.actions() {
            if let (Some((out, _)), Some(channel)) = (action.out(), channel(action))
                && let Some(peer) = ports.peer(ports.at(switch, out))
                && let Some(tag) = lookup.index(channel)
            {
                held.push((peer, tag));
            }
        }
    }
    held.sort_unstable();
    held.dedup();
    held
}

fn channel(action: &Action) -> Option<crate::tag::Tag> {
    match action {
        Action::Forward { write, .. } => write.channel,
        Action::Drop => None,
    }
}

/// What is wrong with the channels that rules give: one error per switch.
pub(in crate::check) fn shape(tables: &Tables, failover: &Failover) -> Vec<PlanError> {
    let tagging = &tables.tagging;
    let limited = tagging.classes.iter().any(|class| class.limit.is_some());
    let highest = tagging.classes.iter().map(|class| class.initial).max();
    let wrong = |rule: &crate::failover::RuleRef<'_>| {
        let channel = channel(rule.action)?;
        let known = tagging.priorities.contains_key(&channel);
        if rule.origin != Origin::Host {
            Some(
                "it gives a lossless channel to packets from other switches; only packets from hosts get one: set `in`",
            )
        } else if highest.is_none_or(|highest| channel < highest) {
            Some(
                "its lossless channel is below the tag with which hosts send; no class may begin above a channel",
            )
        } else if !known {
            Some("its lossless channel has no priority; add it to `tags`")
        } else {
            limited.then_some("channels and limits of classes exclude each other; remove `limit`")
        }
    };
    let mut errors = Vec::new();
    for (switch, table) in tables.topology.switches().iter().zip(&failover.tables) {
        if !table.actions().any(|action| channel(action).is_some()) {
            continue;
        }
        let found = (1..)
            .zip(table.iter())
            .find_map(|(number, rule)| Some((number, wrong(&rule)?)));
        errors.extend(
            found.map(|(number, reason): (usize, _)| PlanError::Failover {
                place: format!("failover rule {number} of switch `{}`", switch.name),
                reason: reason.to_owned(),
            }),
        );
    }
    errors
}

/// Packets between hosts of one switch that turn lossy: the first of each class.
pub(in crate::check) fn within_switches(rules: &Rules<'_>) -> Vec<PlanError> {
    let Rules { tables, lookup, .. } = rules;
    let topology = &tables.topology;
    let fabric = Fabric::new(topology);
    let mut errors = Vec::new();
    for (id, class) in (0..).map(ClassId::new).zip(&tables.tagging.classes) {
        let Some(initial) = lookup.index(class.initial) else {
            continue;
        };
        let kind = lookup.kind(id);
        let lossy = fabric.edge_switches().find_map(|switch| {
            let hosts = fabric.attachments(switch);
            let pairs = hosts.iter().flat_map(|a| hosts.iter().map(move |b| (a, b)));
            let mut pairs = pairs.filter(|(a, b)| a.port != b.port);
            let lost = |(a, b): &(&topology::Attachment, &topology::Attachment)| {
                lookup.get(switch, kind, initial, a.port, b.port).is_none()
            };
            pairs.find(lost).map(|(a, b)| (switch, a, b))
        });
        errors.extend(lossy.map(|(switch, a, b)| {
            let name = topology.switch(switch).name.clone();
            PlanError::RouteLost(LostRoute {
                class: class.name.clone(),
                nodes: vec![
                    topology.host(a.host).name.clone(),
                    name.clone(),
                    topology.host(b.host).name.clone(),
                ],
                tags: vec![class.initial],
                switch: name,
                in_port: a.port,
                out_port: b.port,
            })
        }));
    }
    errors
}

//! The networks and the rules of all plans of a change, in the numbers that they share: switches
//! by name, ports by number, packets by the code that they carry.

use std::collections::BTreeSet;

use quantities::{PortId, Priority};
use topology::{NodeId, SwitchId, Topology};

use super::error::ChangeError;
use super::model::{Change, PlanIndex};
use crate::carrier::TagCode;
use crate::check::error::{PlanError, PortName};
use crate::check::evidence::References;
use crate::check::resilience::lossless;
use crate::check::rules::Rules;
use crate::check::rules::lookup::{LOSSY, RowNumber, TagIx};
use crate::model::Tables;
use crate::tag::{ClassId, NewTag};

/// What packets carry: the version of the failover plan that they are stamped with (plans count
/// from 1; packets of other plans have none, 0), and the code of the tag.
pub(super) type Code = (usize, TagCode);

/// A code that packets carry, by its place in [`Union::codes`].
pub(super) type CodeIx = u8;

/// The most codes that the proof can tell apart.
const MAX_CODES: usize = 200;
/// The greatest priority that the proof can tell apart. Switches have 8, but budgets may be left
/// out.
const MAX_PRIORITY: u8 = 127;

/// A switch of any of the plans.
pub(super) struct UnionSwitch<'a> {
    pub(super) name: &'a str,
    /// The number of its port 0 among all ports.
    first: u32,
    /// By plan: the switch.
    pub(super) ids: Vec<Option<SwitchId>>,
}

/// What can be at the far end of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Far {
    /// Ports of switches, of which a plan each says that it is plugged in there.
    pub(super) peers: Vec<u32>,
    /// Whether a plan has a host there.
    pub(super) host: bool,
}

/// One plan of the change.
pub(super) struct Member<'a> {
    pub(super) tables: &'a Tables,
    /// The version that its packets are stamped with; 0 without failover tables.
    version: usize,
    /// The rules; nothing if the plan has no lossless tags.
    pub(super) rules: Option<Rules<'a>>,
    /// By code: as what kind and tag the plan reads it.
    read: Vec<Option<(usize, TagIx)>>,
    /// By code and tag: the code of a packet that carried this code and leaves with this tag.
    written: Vec<Vec<CodeIx>>,
    /// By tag: its priority.
    priorities: Vec<Priority>,
    /// By switch: its place in [`Union::switches`].
    places: Vec<usize>,
}

/// All plans of a change.
pub(super) struct Union<'a> {
    pub(super) switches: Vec<UnionSwitch<'a>>,
    /// By port.
    pub(super) far: Vec<Far>,
    /// By port: its switch.
    owner: Vec<usize>,
    /// The codes that packets may carry, in rising order.
    pub(super) codes: Vec<Code>,
    pub(super) members: Vec<Member<'a>>,
}

impl<'a> Union<'a> {
    /// Matches the plans of a change.
    ///
    /// # Errors
    /// Plans that cannot be steps of one change.
    pub(super) fn new(change: &'a Change) -> Result<Self, Vec<ChangeError>> {
        let errors = contradictions(&change.plans);
        if !errors.is_empty() {
            return Err(errors);
        }
        let (switches, owner) = switches(change);
        let mut union = Self {
            far: vec![Far::default(); owner.len()],
            switches,
            owner,
            codes: codes(&change.plans),
            members: Vec::new(),
        };
        if union.codes.len() > MAX_CODES {
            return Err(vec![ChangeError::TooManyCodes { most: MAX_CODES }]);
        }
        for (index, plan) in change.plans.iter().enumerate() {
            let member = union.member(index, plan).map_err(|errors| {
                let of = |error| ChangeError::Plan { plan: index, error };
                errors.into_iter().map(of).collect::<Vec<_>>()
            })?;
            union.plug(index, &plan.topology);
            union.members.push(member);
        }
        Ok(union)
    }

    fn member(&self, index: PlanIndex, tables: &'a Tables) -> Result<Member<'a>, Vec<PlanError>> {
        let references = References::new(tables);
        if !references.malformed.is_empty() {
            return Err(references.malformed);
        }
        let rules = match references.tags {
            true => Some(Rules::new(tables)?),
            false => None,
        };
        let mut places = vec![0; tables.topology.switches().len()];
        for (at, switch) in self.switches.iter().enumerate() {
            if let Some(id) = switch.ids[index] {
                places[id.index()] = at;
            }
        }
        let mut member = Member {
            tables,
            version: version(index, tables),
            rules,
            read: Vec::new(),
            written: Vec::new(),
            priorities: Vec::new(),
            places,
        };
        member.read_codes(&self.codes);
        Ok(member)
    }

    /// Plugs in the cables of a plan.
    fn plug(&mut self, index: PlanIndex, topology: &Topology) {
        for at in 0..self.switches.len() {
            let Some(id) = self.switches[at].ids[index] else {
                continue;
            };
            for (port, peer) in topology.peers(id) {
                let here = self.port(at, port) as usize;
                match peer.end.node {
                    NodeId::Host(_) => self.far[here].host = true,
                    NodeId::Switch(other) => {
                        let name = &topology.switch(other).name;
                        let Some(there) = self.place_of(name) else {
                            continue;
                        };
                        let there = self.port(there, peer.end.port);
                        let peers = &mut self.far[here].peers;
                        if !peers.contains(&there) {
                            peers.push(there);
                        }
                    }
                }
            }
        }
    }

    /// The row in which a plan's rules have a packet, and the tag that it has there; nothing if the
    /// plan does not know the switch, the port or the code.
    pub(super) fn row(
        &self,
        plan: PlanIndex,
        (switch, in_port): (usize, PortId),
        code: CodeIx,
    ) -> Option<(RowNumber, TagIx)> {
        let member = &self.members[plan];
        let rules = member.rules.as_ref()?;
        let id = self.switches[switch].ids[plan]?;
        let (kind, tag) = member.reads(code)?;
        if in_port.get() > member.tables.topology.switch(id).ports {
            return None;
        }
        Some((rules.lookup.number(id, kind, tag, in_port), tag))
    }

    /// The place of a code.
    pub(super) fn place_of_code(&self, code: Code) -> Option<CodeIx> {
        CodeIx::try_from(self.codes.binary_search(&code).ok()?).ok()
    }

    /// The place of a switch.
    fn place_of(&self, name: &str) -> Option<usize> {
        self.switches.binary_search_by(|s| s.name.cmp(name)).ok()
    }

    /// The number of a port.
    fn port(&self, switch: usize, port: PortId) -> u32 {
        self.switches[switch].first + u32::from(port.get())
    }

    /// How many ports there are.
    pub(super) fn port_count(&self) -> usize {
        self.owner.len()
    }

    /// The switch and the port of a number.
    pub(super) fn split(&self, port: u32) -> (usize, PortId) {
        let switch = self.owner[port as usize];
        let number = port - self.switches[switch].first;
        (
            switch,
            PortId::new(u16::try_from(number).unwrap_or(u16::MAX)),
        )
    }

    /// A port with names.
    pub(super) fn port_name(&self, port: u32) -> PortName {
        let (at, number) = self.split(port);
        let switch = &self.switches[at];
        let interface = self
            .members
            .iter()
            .zip(&switch.ids)
            .find_map(|(member, id)| {
                let name = member.tables.topology.interface((*id)?, number)?;
                Some(name.to_owned())
            });
        PortName {
            switch: switch.name.to_owned(),
            port: number,
            interface,
        }
    }

    /// The ports behind which failover rules of a plan put packets, and the codes of these.
    pub(super) fn channels(&self, plan: PlanIndex) -> Vec<(u32, CodeIx)> {
        let member = &self.members[plan];
        let (Some(rules), Some(failover)) = (&member.rules, &member.tables.failover) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (at, tag) in lossless::channels(failover, rules) {
            let (switch, port) = rules.ports.name(at);
            let at = self.port(member.places[switch.index()], port);
            let codes = (0..).zip(&member.read);
            let same = codes.filter(|(_, read)| read.is_some_and(|(_, read)| read == tag));
            found.extend(same.map(|(code, _)| (at, code)));
        }
        found
    }
}

impl Member<'_> {
    fn read_codes(&mut self, codes: &[Code]) {
        let Some(rules) = &self.rules else {
            self.read = vec![None; codes.len()];
            return;
        };
        let (carrier, lookup) = (&self.tables.carrier, &rules.lookup);
        let class = |code: TagCode| match carrier.class_shift {
            Some(shift) => usize::from(code.get().checked_shr(shift.into()).unwrap_or(0)),
            None => 0,
        };
        let version = self.version;
        let read = |(own, code): &Code| {
            if *own != version {
                return None;
            }
            let tag = lookup.index(carrier.decode(*code).tag()?)?;
            Some((class(*code).min(lookup.kinds - 1), tag))
        };
        self.read = codes.iter().map(read).collect();
        let tables = self.tables;
        let write = |(own, code): &Code| {
            let written = lookup.tags.iter().map(|tag| {
                let tag = carrier.codes.get(tag).copied().unwrap_or_default();
                let whole = (*own, rewritten(tables, *code, tag));
                // Codes that the plan does not read, it does not write anew.
                let place = codes.binary_search(&whole).ok();
                place
                    .and_then(|at| CodeIx::try_from(at).ok())
                    .unwrap_or(LOSSY)
            });
            written.collect()
        };
        self.written = codes.iter().map(write).collect();
        let priorities = &self.tables.tagging.priorities;
        self.priorities = lookup
            .tags
            .iter()
            .map(|tag| priorities.get(tag).copied().unwrap_or_default())
            .collect();
    }

    /// As what the plan reads a code.
    pub(super) fn reads(&self, code: CodeIx) -> Option<(usize, TagIx)> {
        self.read[usize::from(code)]
    }

    /// The code with which a packet leaves that carried `code` and gets this tag.
    pub(super) fn writes(&self, code: CodeIx, tag: TagIx) -> CodeIx {
        self.written(code)[usize::from(tag)]
    }

    /// The greatest priority of its tags.
    pub(super) fn greatest_priority(&self) -> Option<Priority> {
        self.priorities.iter().copied().max()
    }

    /// The priority of a tag.
    pub(super) fn priority(&self, tag: TagIx) -> Priority {
        self.priorities[usize::from(tag)]
    }

    /// The code with which hosts of a class send.
    pub(super) fn initial(&self, class: ClassId) -> Option<Code> {
        let tag = self.tables.tagging.classes.get(class.index())?.initial;
        let code = self.tables.carrier.code(class, NewTag::Lossless(tag))?;
        Some((self.version, code))
    }

    /// The place of a switch of the plan.
    pub(super) fn place(&self, switch: SwitchId) -> usize {
        self.places[switch.index()]
    }

    /// By tag: the code of a packet that carried this code and leaves with the tag.
    pub(super) fn written(&self, code: CodeIx) -> &[CodeIx] {
        &self.written[usize::from(code)]
    }
}

fn switches(change: &Change) -> (Vec<UnionSwitch<'_>>, Vec<usize>) {
    let mut switches = Vec::new();
    let mut owner = Vec::new();
    for (at, name) in change.switch_names().into_iter().enumerate() {
        let ids: Vec<Option<SwitchId>> = change
            .plans
            .iter()
            .map(|plan| match plan.topology.node(name) {
                Some(NodeId::Switch(id)) => Some(id),
                _ => None,
            })
            .collect();
        let ports = change.plans.iter().zip(&ids).filter_map(|(plan, id)| {
            let switch = plan.topology.switch((*id)?);
            Some(switch.ports)
        });
        let ports = ports.max().unwrap_or(0);
        let first = u32::try_from(owner.len()).unwrap_or(u32::MAX);
        owner.extend(std::iter::repeat_n(at, usize::from(ports) + 1));
        switches.push(UnionSwitch { name, first, ids });
    }
    (switches, owner)
}

/// The codes of the tags and classes of all plans, and those that packets with one of these get by
/// another plan. Of the classes that a plan does not have, one stands for all. Ends early if there
/// are more than [`MAX_CODES`].
fn codes(plans: &[Tables]) -> Vec<Code> {
    let tagged = || plans.iter().enumerate().filter(|(_, plan)| plan.has_tags());
    let mut codes: BTreeSet<Code> = tagged()
        .flat_map(|(at, plan)| own_codes(at, plan))
        .collect();
    let mut new: Vec<Code> = codes.iter().copied().collect();
    while let Some((version, code)) = new.pop() {
        let readers = tagged().filter(|(at, plan)| {
            self::version(*at, plan) == version && plan.carrier.decode(code) != NewTag::Lossy
        });
        for (_, plan) in readers {
            for tag in plan.carrier.codes.values() {
                let written = (version, rewritten(plan, code, *tag));
                if codes.insert(written) {
                    new.push(written);
                }
            }
        }
        if codes.len() > MAX_CODES {
            break;
        }
    }
    codes.into_iter().collect()
}

/// The codes of the tags of a plan, for each of its classes and one that it does not have.
fn own_codes(index: PlanIndex, plan: &Tables) -> Vec<Code> {
    let carrier = &plan.carrier;
    let classes = match carrier.class_shift {
        Some(_) => plan.tagging.classes.len(),
        None => 0,
    };
    let classes = (0..=u8::MAX).map(ClassId::new).take(classes + 1);
    let codes = classes.flat_map(|class| {
        let tags = carrier.codes.keys();
        tags.filter_map(move |tag| carrier.code(class, NewTag::Lossless(*tag)))
    });
    let fit = codes.filter(|code| code.get() <= carrier.kind.max_code());
    fit.map(|code| (version(index, plan), code)).collect()
}

/// The code with which a packet leaves that carried `code` and gets the tag with the code `tag`: it
/// keeps its class.
fn rewritten(plan: &Tables, code: TagCode, tag: TagCode) -> TagCode {
    TagCode::new((code.get() & !plan.carrier.tag_mask()) | tag.get())
}

/// The version that packets of a plan are stamped with.
fn version(index: PlanIndex, plan: &Tables) -> usize {
    match plan.failover {
        Some(_) => index + 1,
        None => 0,
    }
}

/// Why plans cannot be steps of one change.
fn contradictions(plans: &[Tables]) -> Vec<ChangeError> {
    let Some(first) = plans.first() else {
        return vec![ChangeError::NoPlans];
    };
    let mut errors = Vec::new();
    for (index, plan) in (1..).zip(&plans[1..]) {
        let (one, other) = (&plans[index - 1].topology, &plan.topology);
        let common = other
            .switches()
            .iter()
            .any(|switch| matches!(one.node(&switch.name), Some(NodeId::Switch(_))));
        if !common {
            errors.push(ChangeError::NothingInCommon {
                plan: index,
                before: one.name().to_owned(),
                after: other.name().to_owned(),
            });
            continue;
        }
        if plan.failover.is_some() != first.failover.is_some() {
            errors.push(ChangeError::Program { plan: index });
        } else if plan.has_tags() && first.has_tags() && plan.carrier.kind != first.carrier.kind {
            errors.push(ChangeError::Carrier {
                plan: index,
                before: first.carrier.kind.name(),
                after: plan.carrier.kind.name(),
            });
        }
        errors.extend(renamed(one, other));
    }
    errors.extend(lossy_code(plans));
    errors.extend(plans.iter().enumerate().find_map(|(plan, tables)| {
        let mut priorities = tables.tagging.priorities.values();
        let priority = priorities.find(|priority| priority.get() > MAX_PRIORITY)?;
        Some(ChangeError::PriorityRange {
            plan,
            priority: *priority,
            most: MAX_PRIORITY,
        })
    }));
    errors
}

/// A code with which lossy packets leave and that another plan reads as a lossless tag.
fn lossy_code(plans: &[Tables]) -> Option<ChangeError> {
    let tagged = || plans.iter().enumerate().filter(|(_, plan)| plan.has_tags());
    let pairs = tagged().flat_map(|(lossy, plan)| {
        let others =
            tagged().filter(move |(reader, other)| version(lossy, plan) == version(*reader, other));
        others.map(move |(reader, other)| (lossy, plan.carrier.lossy, reader, other))
    });
    let mut read = pairs.filter(|(_, code, _, other)| {
        // A plan's own lossy code is none of its tags, whatever these bits are to others.
        *code != other.carrier.lossy && other.carrier.decode(*code) != NewTag::Lossy
    });
    let (lossy, code, reader, _) = read.next()?;
    Some(ChangeError::LossyCode {
        lossy,
        code,
        reader,
    })
}

/// Ports that two plans number differently: one error for each switch.
fn renamed(before: &Topology, after: &Topology) -> Vec<ChangeError> {
    let mut errors = Vec::new();
    for (id, switch) in after.switch_ids().zip(after.switches()) {
        let old = match before.node(&switch.name) {
            Some(NodeId::Switch(old)) => old,
            Some(NodeId::Host(_)) => {
                errors.push(ChangeError::OtherKind {
                    node: switch.name.clone(),
                });
                continue;
            }
            None => continue,
        };
        let ports = (1..=switch.ports).map(PortId::new);
        let moved = ports
            .filter(|port| port.get() <= before.switch(old).ports)
            .find_map(|port| {
                let (was, is) = (before.interface(old, port)?, after.interface(id, port)?);
                (was != is).then(|| (port, was.to_owned(), is.to_owned()))
            });
        errors.extend(moved.map(|(port, before, after)| ChangeError::Renumbered {
            switch: switch.name.clone(),
            port,
            before,
            after,
        }));
    }
    errors
}

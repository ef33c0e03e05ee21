//! `bm_mc_*` and `mirroring_*`: multicast groups and clone sessions.
//!
//! BMv2 makes nodes (copies to some ports with one number) and puts them into groups; P4Runtime and
//! the data plane know only groups with their copies. The nodes are kept here. The groups of the
//! switch decide: what a P4Runtime client made of a group becomes nodes when it is looked at.

use std::collections::{BTreeMap, BTreeSet};

use p4exec::Update;
use p4exec::state::{CloneSession, Replica};
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Entry;
use p4runtime::p4::v1::replica::PortKind;
use p4runtime::p4::v1::update::Type;
use quantities::PortId;
use serde_json::json;

use super::value::{Fields, Value};
use super::{Call, Fault, Outcome};
use crate::server::switch::Switch;
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::replication::read_sessions;
use crate::translate::update_of;

/// `McOperationErrorCode`.
const TABLE_FULL: i32 = 1;
const INVALID_MGID: i32 = 2;
const INVALID_GROUP: i32 = 3;
const INVALID_NODE: i32 = 4;
const ERROR: i32 = 5;

/// `MirroringOperationErrorCode`.
const SESSION_NOT_FOUND: i32 = 1;

/// Ports or link groups that a map names, as in BMv2.
const MAP_SIZE: usize = 512;

/// Nodes at most, as in BMv2.
const MOST_NODES: usize = 4096;

/// Clone sessions have numbers below this, as in BMv2.
const SESSIONS: i32 = 1 << 15;

/// The hash by which BMv2 picks a port of a link group: always the same.
const LAG_HASH: usize = 0xff;

/// Copies with one number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    rid: u16,
    ports: BTreeSet<u16>,
    lags: BTreeSet<u16>,
    group: Option<u16>,
}

/// All nodes.
#[derive(Clone, Default)]
pub(super) struct Nodes {
    nodes: BTreeMap<i32, Node>,
    /// The nodes of each group in the order in which they came to it.
    groups: BTreeMap<u16, Vec<i32>>,
    /// The ports of each link group.
    lags: BTreeMap<u16, BTreeSet<u16>>,
}

/// A refusal of a group.
struct Refused(Fault);

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.code {
            tonic::Code::ResourceExhausted => TABLE_FULL,
            _ => ERROR,
        };
        Self(Fault::Refused(code, refusal.message))
    }
}

impl Nodes {
    /// The copies of a node: to its ports, and to one port of each of its link groups.
    fn copies_of(&self, node: &Node) -> Vec<(u16, u16)> {
        let picked = node.lags.iter().filter_map(|lag| {
            let ports = self.lags.get(lag)?;
            let place = LAG_HASH.checked_rem(ports.len())?;
            ports.iter().nth(place)
        });
        let ports = node.ports.iter().chain(picked);
        ports.map(|port| (*port, node.rid)).collect()
    }

    fn copies(&self, group: u16) -> Vec<(u16, u16)> {
        let nodes = self.groups.get(&group).into_iter().flatten();
        let nodes = nodes.filter_map(|handle| self.nodes.get(handle));
        nodes.flat_map(|node| self.copies_of(node)).collect()
    }

    fn free_handle(&self) -> i32 {
        let taken = (0..).zip(self.nodes.keys());
        let gap = taken.into_iter().find(|(place, handle)| place != *handle);
        gap.map_or_else(
            || i32::try_from(self.nodes.len()).unwrap_or(i32::MAX),
            |(place, _)| place,
        )
    }

    /// Brings the nodes in line with the groups that the switch has.
    fn learn(&mut self, contents: &PipelineState) {
        let there = contents.state().replication.groups();
        let gone: Vec<u16> = self
            .groups
            .keys()
            .filter(|g| !there.contains_key(g))
            .copied()
            .collect();
        for group in gone {
            self.release(group);
        }
        for (group, replicas) in there {
            let copies: BTreeSet<_> = replicas.iter().map(|r| (r.port.get(), r.rid)).collect();
            let known: BTreeSet<_> = self.copies(*group).into_iter().collect();
            if known == copies && self.groups.contains_key(group) {
                continue;
            }
            for handle in self.groups.remove(group).unwrap_or_default() {
                self.nodes.remove(&handle);
            }
            let mut ports: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
            for (port, rid) in copies {
                ports.entry(rid).or_default().insert(port);
            }
            let mut handles = Vec::new();
            for (rid, ports) in ports {
                let handle = self.free_handle();
                let (group, lags) = (Some(*group), BTreeSet::new());
                self.nodes.insert(
                    handle,
                    Node {
                        rid,
                        ports,
                        lags,
                        group,
                    },
                );
                handles.push(handle);
            }
            self.groups.insert(*group, handles);
        }
    }

    /// Forgets a group; its nodes stay.
    fn release(&mut self, group: u16) {
        for handle in self.groups.remove(&group).unwrap_or_default() {
            if let Some(node) = self.nodes.get_mut(&handle) {
                node.group = None;
            }
        }
    }
}

/// The number of a multicast group.
fn group_number(number: i32, code: i32) -> Result<u16, Fault> {
    match u16::try_from(number) {
        Ok(group) if group > 0 => Ok(group),
        _ => Err(Fault::Code(code)),
    }
}

/// The numbers in a map: a string of 0s and 1s, the last one for number 0.
fn read_map(args: &Fields, field: i16) -> Result<BTreeSet<u16>, Fault> {
    let text = args.text(field)?;
    let wrong = |why: &str| Fault::Refused(ERROR, format!("`{text}`: {why}"));
    let mut numbers = BTreeSet::new();
    for (number, digit) in text.chars().rev().enumerate() {
        match (digit, u16::try_from(number)) {
            ('0', _) => {}
            ('1', Ok(number)) if usize::from(number) < MAP_SIZE => {
                numbers.insert(number);
            }
            ('1', _) => return Err(wrong("it names a number above 511")),
            _ => return Err(wrong("it has other characters than 0 and 1")),
        }
    }
    Ok(numbers)
}

fn replica(contents: &PipelineState, port: u16, rid: u16) -> v1::Replica {
    let port = contents.schema.port_bytes(PortId::new(port));
    v1::Replica {
        port_kind: Some(PortKind::Port(port)),
        instance: rid.into(),
        backup_replicas: Vec::new(),
    }
}

fn replication(entry: Entry) -> Entity {
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(entry),
    })
}

/// The update of a multicast group.
fn group_update(
    contents: &PipelineState,
    kind: Type,
    group: u16,
    copies: &[(u16, u16)],
) -> v1::Update {
    let replicas = copies
        .iter()
        .map(|(port, rid)| replica(contents, *port, *rid));
    update_of(
        kind,
        replication(Entry::MulticastGroupEntry(v1::MulticastGroupEntry {
            multicast_group_id: group.into(),
            replicas: replicas.collect(),
            ..Default::default()
        })),
    )
}

/// Changes the nodes; the groups that `change` names follow. If one is refused the nodes stay as
/// they were.
fn change<T>(
    call: &Call<'_>,
    change: impl FnOnce(&mut Nodes) -> Result<(Vec<u16>, T), Fault>,
) -> Result<T, Fault> {
    let mut memory = call.memory();
    let mut nodes = memory.replication.clone();
    let mut result = None;
    let made = call.subject.switch.amend::<Refused>(|contents| {
        nodes.learn(contents);
        let (groups, value) = change(&mut nodes)?;
        result = Some(value);
        let group =
            |group: &u16| group_update(contents, Type::Modify, *group, &nodes.copies(*group));
        Ok(groups.iter().map(group).collect())
    });
    made.map_err(|Refused(fault)| fault)?;
    memory.replication = nodes;
    result.ok_or(Fault::Code(ERROR))
}

pub(super) fn create_group(call: &Call<'_>) -> Outcome {
    let group = group_number(call.args.i32(2)?, INVALID_MGID)?;
    let _turn = call.memory();
    let made = call.subject.switch.amend::<Refused>(|contents| {
        // As in BMv2, a group that is there already is no error.
        let there = contents.state().replication.group(group).is_some();
        let new = (!there).then(|| group_update(contents, Type::Insert, group, &[]));
        Ok(new.into_iter().collect())
    });
    made.map_err(|Refused(fault)| fault)?;
    Ok(Some(Value::I32(group.into())))
}

pub(super) fn destroy_group(call: &Call<'_>) -> Outcome {
    let group = group_number(call.args.i32(2)?, INVALID_GROUP)?;
    let mut memory = call.memory();
    let made = call.subject.switch.amend::<Refused>(|contents| {
        let there = contents.state().replication.group(group).is_some();
        let gone = there.then(|| group_update(contents, Type::Delete, group, &[]));
        Ok(gone.into_iter().collect())
    });
    made.map_err(|Refused(fault)| fault)?;
    memory.replication.release(group);
    Ok(None)
}

fn create(call: &Call<'_>, lags: BTreeSet<u16>) -> Outcome {
    let rid = u16::try_from(call.args.i32(2)?);
    let rid = rid.map_err(|_| Fault::Refused(ERROR, "a rid has 16 bits".to_owned()))?;
    let ports = read_map(&call.args, 3)?;
    let handle = change(call, |nodes| {
        if nodes.nodes.len() >= MOST_NODES {
            return Err(Fault::Code(TABLE_FULL));
        }
        let handle = nodes.free_handle();
        let group = None;
        nodes.nodes.insert(
            handle,
            Node {
                rid,
                ports,
                lags,
                group,
            },
        );
        Ok((Vec::new(), handle))
    })?;
    Ok(Some(Value::I32(handle)))
}

pub(super) fn create_node(call: &Call<'_>) -> Outcome {
    create(call, BTreeSet::new())
}

pub(super) fn create_node_with_lags(call: &Call<'_>) -> Outcome {
    create(call, read_map(&call.args, 4)?)
}

/// Changes a node that is named by a field.
fn change_node(
    call: &Call<'_>,
    field: i16,
    change_it: impl FnOnce(&mut Nodes, i32, Node) -> Result<Vec<u16>, Fault>,
) -> Outcome {
    let handle = call.args.i32(field)?;
    change(call, |nodes| {
        let node = nodes.nodes.get(&handle).cloned();
        let node = node.ok_or(Fault::Code(INVALID_NODE))?;
        Ok((change_it(nodes, handle, node)?, ()))
    })?;
    Ok(None)
}

pub(super) fn associate(call: &Call<'_>) -> Outcome {
    let group = call.args.i32(2)?;
    change_node(call, 3, |nodes, handle, node| {
        let group = group_number(group, INVALID_GROUP)?;
        let Some(list) = nodes.groups.get_mut(&group) else {
            return Err(Fault::Code(INVALID_GROUP));
        };
        if node.group.is_some() {
            let why = "the node is in a group already";
            return Err(Fault::Refused(ERROR, why.to_owned()));
        }
        list.push(handle);
        let group = Some(group);
        nodes.nodes.insert(handle, Node { group, ..node });
        Ok(group.into_iter().collect())
    })
}

/// Takes a node out of its group.
fn take_out(nodes: &mut Nodes, handle: i32, group: u16) {
    if let Some(list) = nodes.groups.get_mut(&group) {
        list.retain(|known| *known != handle);
    }
    if let Some(node) = nodes.nodes.get_mut(&handle) {
        node.group = None;
    }
}

pub(super) fn dissociate(call: &Call<'_>) -> Outcome {
    let group = call.args.i32(2)?;
    change_node(call, 3, |nodes, handle, node| {
        let group = group_number(group, INVALID_GROUP)?;
        if !nodes.groups.contains_key(&group) {
            return Err(Fault::Code(INVALID_GROUP));
        }
        if node.group != Some(group) {
            return Err(Fault::Refused(
                ERROR,
                "the node is not in the group".to_owned(),
            ));
        }
        take_out(nodes, handle, group);
        Ok(vec![group])
    })
}

pub(super) fn destroy_node(call: &Call<'_>) -> Outcome {
    change_node(call, 2, |nodes, handle, node| {
        if let Some(group) = node.group {
            take_out(nodes, handle, group);
        }
        nodes.nodes.remove(&handle);
        Ok(node.group.into_iter().collect())
    })
}

fn update_ports(call: &Call<'_>, lags: Option<BTreeSet<u16>>) -> Outcome {
    let ports = read_map(&call.args, 3)?;
    change_node(call, 2, |nodes, handle, node| {
        let group = node.group;
        let lags = lags.unwrap_or_else(|| node.lags.clone());
        nodes.nodes.insert(
            handle,
            Node {
                ports,
                lags,
                ..node
            },
        );
        Ok(group.into_iter().collect())
    })
}

pub(super) fn update_node(call: &Call<'_>) -> Outcome {
    update_ports(call, None)
}

pub(super) fn update_node_with_lags(call: &Call<'_>) -> Outcome {
    update_ports(call, Some(read_map(&call.args, 4)?))
}

pub(super) fn set_lag_membership(call: &Call<'_>) -> Outcome {
    let lag = u16::try_from(call.args.i16(2)?).ok();
    let lag = lag.filter(|lag| usize::from(*lag) < MAP_SIZE);
    let lag = lag.ok_or_else(|| Fault::Refused(ERROR, "a link group is below 512".to_owned()))?;
    let ports = read_map(&call.args, 3)?;
    change(call, |nodes| {
        nodes.lags.insert(lag, ports);
        let users = nodes.nodes.values().filter(|node| node.lags.contains(&lag));
        let groups: BTreeSet<u16> = users.filter_map(|node| node.group).collect();
        Ok((groups.into_iter().collect(), ()))
    })?;
    Ok(None)
}

pub(super) fn entries(call: &Call<'_>) -> Outcome {
    let mut memory = call.memory();
    let nodes = &mut memory.replication;
    call.look(ERROR, |contents| {
        nodes.learn(contents);
        Ok(())
    })?;
    let groups = nodes.groups.iter();
    let groups = groups.map(|(id, nodes)| json!({"id": id, "l1_handles": nodes}));
    // A node has one set of ports, known by the same number.
    let rids = nodes.nodes.iter();
    let rids = rids.map(|(at, node)| json!({"handle": at, "rid": node.rid, "l2_handle": at}));
    let ports = nodes.nodes.iter();
    let ports =
        ports.map(|(at, node)| json!({"handle": at, "ports": node.ports, "lags": node.lags}));
    let lags = nodes.lags.iter();
    let lags = lags.map(|(id, ports)| json!({"id": id, "ports": ports}));
    let all = json!({
        "mgrps": groups.collect::<Vec<_>>(),
        "l1_handles": rids.collect::<Vec<_>>(),
        "l2_handles": ports.collect::<Vec<_>>(),
        "lags": lags.collect::<Vec<_>>(),
    });
    Ok(Some(Value::text(all.to_string())))
}

fn session_number(number: i32) -> Result<u32, Fault> {
    let known = u32::try_from(number).ok().filter(|_| number < SESSIONS);
    known.ok_or_else(|| {
        let why = format!("clone session {number} is not between 0 and 32767");
        Fault::Refused(SESSION_NOT_FOUND, why)
    })
}

fn session_fault(refusal: Refusal) -> Fault {
    Fault::Refused(SESSION_NOT_FOUND, refusal.message)
}

/// Sets a clone session and replaces one with the same number. A session that copies to a port is a
/// P4Runtime update. Session 0 and sessions that copy to a multicast group have no such update.
fn set_session(call: &Call<'_>, number: i32, port: Option<i32>, group: Option<i32>) -> Outcome {
    let session = session_number(number)?;
    let bad = |why: &str| Fault::Refused(SESSION_NOT_FOUND, why.to_owned());
    let port = port.map(u16::try_from).transpose();
    let port = port
        .ok()
        .filter(|p| p.is_none_or(|p| usize::from(p) < MAP_SIZE));
    let port = port.ok_or_else(|| bad("a port is between 0 and 511"))?;
    let group = group.map(u16::try_from).transpose();
    let group = group.map_err(|_| bad("a multicast group is between 0 and 65535"))?;
    let switch = &call.subject.switch;
    match (session, port, group) {
        (1.., Some(port), None) => {
            let make = |contents: &PipelineState| {
                let there = contents.state().replication.session(session).is_some();
                let kind = if there { Type::Modify } else { Type::Insert };
                let entry = v1::CloneSessionEntry {
                    session_id: session,
                    replicas: vec![replica(contents, port, 0)],
                    ..Default::default()
                };
                let entity = replication(Entry::CloneSessionEntry(entry));
                Ok::<_, Refusal>(vec![update_of(kind, entity)])
            };
            switch.amend(make).map_err(session_fault)?;
        }
        _ => {
            let copy = |port| Replica {
                port: PortId::new(port),
                rid: 0,
            };
            let config = CloneSession {
                replicas: port.map(copy).into_iter().collect(),
                multicast_group: group,
                truncate_to: None,
            };
            let config = Some(config);
            let made = switch.amend_state(Update::SetCloneSession { session, config });
            made.map_err(session_fault)?;
        }
    }
    Ok(None)
}

/// What sets the clone sessions again in a state that has none.
pub(super) struct Sessions {
    updates: Vec<v1::Update>,
    /// Those that no P4Runtime update says.
    others: Vec<Update>,
}

impl Sessions {
    pub(super) fn of(contents: &PipelineState) -> Result<Self, Refusal> {
        let (mut updates, mut others) = (Vec::new(), Vec::new());
        for (number, config) in contents.state().replication.sessions() {
            let (session, config) = (*number, Some(config.clone()));
            if session == 0 || config.as_ref().is_some_and(|c| c.multicast_group.is_some()) {
                others.push(Update::SetCloneSession { session, config });
                continue;
            }
            let filter = v1::CloneSessionEntry {
                session_id: session,
                ..Default::default()
            };
            read_sessions(contents, &filter, &mut |entity| {
                updates.push(update_of(Type::Insert, entity));
                Ok(())
            })?;
        }
        Ok(Self { updates, others })
    }

    pub(super) fn set(self, switch: &Switch) -> Result<(), Refusal> {
        switch.amend(|_| Ok::<_, Refusal>(self.updates))?;
        let mut others = self.others.into_iter();
        others.try_for_each(|update| switch.amend_state(update))
    }
}

fn unset_session(call: &Call<'_>, number: i32) -> Outcome {
    let session = session_number(number)?;
    let switch = &call.subject.switch;
    if session == 0 {
        let config = None;
        let made = switch.amend_state(Update::SetCloneSession { session, config });
        made.map_err(session_fault)?;
        return Ok(None);
    }
    let entry = v1::CloneSessionEntry {
        session_id: session,
        ..Default::default()
    };
    let updates = vec![update_of(
        Type::Delete,
        replication(Entry::CloneSessionEntry(entry)),
    )];
    let made = switch.amend(|_| Ok::<_, Refusal>(updates));
    made.map_err(session_fault)?;
    Ok(None)
}

/// Port and multicast group of a session.
fn find_session(call: &Call<'_>, number: i32) -> Result<(Option<u16>, Option<u16>), Fault> {
    let session = session_number(number)?;
    call.look(SESSION_NOT_FOUND, |contents| {
        let found = contents.state().replication.session(session);
        let found = found.ok_or(Fault::Code(SESSION_NOT_FOUND))?;
        let port = found.replicas.first().map(|copy| copy.port.get());
        Ok((port, found.multicast_group))
    })
}

pub(super) fn add_session(call: &Call<'_>) -> Outcome {
    let config = call.args.fields(2)?;
    let port = config.given_i32(1)?.copied();
    let group = config.given_i32(2)?.copied();
    set_session(call, call.args.i32(1)?, port, group)
}

pub(super) fn delete_session(call: &Call<'_>) -> Outcome {
    unset_session(call, call.args.i32(1)?)
}

pub(super) fn session(call: &Call<'_>) -> Outcome {
    let (port, group) = find_session(call, call.args.i32(1)?)?;
    let port = port.map(|port| (1, Value::I32(port.into())));
    let group = group.map(|group| (2, Value::I32(group.into())));
    Ok(Some(Value::structure(port.into_iter().chain(group))))
}

/// The older methods answer whether it was done.
fn done(made: Outcome) -> Outcome {
    match made {
        Ok(_) => Ok(Some(Value::I32(1))),
        Err(Fault::Code(_) | Fault::Refused(..)) => Ok(Some(Value::I32(0))),
        Err(other) => Err(other),
    }
}

pub(super) fn add_mapping(call: &Call<'_>) -> Outcome {
    let port = Some(call.args.i32(2)?);
    done(set_session(call, call.args.i32(1)?, port, None))
}

pub(super) fn delete_mapping(call: &Call<'_>) -> Outcome {
    done(unset_session(call, call.args.i32(1)?))
}

pub(super) fn mapping(call: &Call<'_>) -> Outcome {
    let port = match find_session(call, call.args.i32(1)?) {
        Ok((port, _)) => port.map(i32::from),
        Err(_) => None,
    };
    Ok(Some(Value::I32(port.unwrap_or(-1))))
}

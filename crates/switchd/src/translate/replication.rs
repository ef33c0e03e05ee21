//! The packet replication engine: multicast groups and clone sessions (P4Runtime 1.5, section 9.5).

use std::collections::BTreeSet;

use p4exec::Update;
use p4exec::state::{CloneSession, Copies, Replica};
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type;
use p4runtime::p4::v1::replica::PortKind;

use super::action::WriteContext;
use super::pipeline_state::{Note, NoteKey, PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::Schema;
use super::value::port_number;
use super::{Sink, Steps, Verb};

/// Copies, and for each those that take its place while its port is down; no lists at all if there
/// are no backups.
#[derive(Default)]
struct Given {
    replicas: Vec<Replica>,
    backups: Vec<Vec<Replica>>,
}

impl Given {
    /// The step that sets the backups, if there are or were any.
    fn backups(self, contents: &View<'_>, of: Copies) -> Option<Step> {
        let any = !self.backups.is_empty() || !contents.state().replication.backups(of).is_empty();
        any.then_some(Step::Update(Update::SetBackups {
            of,
            backups: self.backups,
        }))
    }
}

fn rid(instance: u32) -> Result<u16, Refusal> {
    u16::try_from(instance).map_err(|_| {
        Refusal::invalid(format!(
            "instance {instance} exceeds 65535, the largest egress_rid"
        ))
    })
}

/// The most copies of one packet: a packet may cause 4096 passes, and copies may be copied.
pub const MAX_REPLICAS: usize = 1024;

/// The backups of a replica: each on a port of its own, and none twice in all of the group
/// (P4Runtime 1.5, section 9.5).
fn backups(
    around: &WriteContext<'_>,
    primary: Replica,
    given: &[v1::BackupReplica],
    seen: &mut BTreeSet<Replica>,
) -> Result<Vec<Replica>, Refusal> {
    let mut ports = BTreeSet::from([primary.port]);
    let mut backups = Vec::with_capacity(given.len());
    for (index, backup) in given.iter().enumerate() {
        let here = |r: Refusal| r.at(&format!("backup {index}"));
        let replica = Replica {
            port: around.port(&backup.port).map_err(here)?,
            rid: rid(backup.instance).map_err(here)?,
        };
        if !ports.insert(replica.port) {
            return Err(here(Refusal::invalid(format!(
                "port {} is tried twice: a backup needs a port of its own",
                replica.port
            ))));
        }
        check_once(seen, replica).map_err(here)?;
        backups.push(replica);
    }
    Ok(backups)
}

fn check_once(seen: &mut BTreeSet<Replica>, replica: Replica) -> Result<(), Refusal> {
    if seen.insert(replica) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "port {} with instance {} is there twice",
        replica.port, replica.rid
    )))
}

fn replicas(around: &WriteContext<'_>, given: &[v1::Replica]) -> Result<Given, Refusal> {
    if given.len() > MAX_REPLICAS {
        return Err(Refusal::exhausted(format!(
            "there are {} replicas; at most {MAX_REPLICAS} copies of a packet are made",
            given.len()
        )));
    }
    let mut seen = BTreeSet::new();
    let mut replicas = Vec::with_capacity(given.len());
    let mut backed = Vec::with_capacity(given.len());
    for (index, replica) in given.iter().enumerate() {
        let here = |r: Refusal| r.at(&format!("replica {index}"));
        #[allow(deprecated)]
        let port = match &replica.port_kind {
            None => return Err(here(super::missing("port"))),
            Some(PortKind::Port(bytes)) => around.port(bytes),
            Some(PortKind::EgressPort(number)) => port_number(*number, around.cpu_port),
        };
        let copy = Replica {
            port: port.map_err(here)?,
            rid: rid(replica.instance).map_err(here)?,
        };
        check_once(&mut seen, copy).map_err(here)?;
        let backups = backups(around, copy, &replica.backup_replicas, &mut seen);
        backed.push(backups.map_err(here)?);
        replicas.push(copy);
    }
    if backed.iter().all(Vec::is_empty) {
        backed.clear();
    }
    Ok(Given {
        replicas,
        backups: backed,
    })
}

fn messages(schema: &Schema, replicas: &[Replica], backups: &[Vec<Replica>]) -> Vec<v1::Replica> {
    let backup = |replica: &Replica| v1::BackupReplica {
        port: schema.port_bytes(replica.port),
        instance: replica.rid.into(),
    };
    let message = |(index, replica): (usize, &Replica)| v1::Replica {
        port_kind: Some(PortKind::Port(schema.port_bytes(replica.port))),
        instance: replica.rid.into(),
        backup_replicas: backups
            .get(index)
            .map(|backups| backups.iter().map(backup).collect())
            .unwrap_or_default(),
    };
    replicas.iter().enumerate().map(message).collect()
}

/// Whether the thing is there, and may be as the verb wants it.
fn check_there(there: bool, verb: Verb, what: &str) -> Result<(), Refusal> {
    match (verb, there) {
        (Verb::Insert, true) => Err(Refusal::exists(format!("{what} is there already"))),
        (Verb::Modify | Verb::Delete, false) => {
            Err(Refusal::not_found(format!("{what} is not there")))
        }
        _ => Ok(()),
    }
}

/// The steps of an update of a multicast group.
///
/// # Errors
/// INVALID_ARGUMENT, ALREADY_EXISTS or NOT_FOUND.
pub fn write_group(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    verb: Verb,
    given: &v1::MulticastGroupEntry,
) -> Result<Steps, Refusal> {
    let what = format!("multicast group {}", given.multicast_group_id);
    let group = match u16::try_from(given.multicast_group_id) {
        Ok(group) if group != 0 => group,
        _ => {
            return Err(Refusal::invalid(format!(
                "{what} is not between 1 and 65535"
            )));
        }
    };
    let there = contents.state().replication.group(group).is_some();
    check_there(there, verb, &what)?;
    let key = NoteKey::Multicast(group);
    let of = Copies::Group(group);
    let mut copies = Given::default();
    let (new, note) = if verb == Verb::Delete {
        (None, None)
    } else {
        let note = Note {
            metadata: given.metadata.clone(),
            ..Note::default()
        };
        copies = replicas(around, &given.replicas).map_err(|r| r.at(&what))?;
        let replicas = std::mem::take(&mut copies.replicas);
        (Some(replicas), (!note.metadata.is_empty()).then_some(note))
    };
    let mut steps = Steps::one(Step::Update(Update::SetMulticastGroup {
        group,
        replicas: new,
    }));
    if let Some(step) = copies.backups(contents, of) {
        steps.push(step);
    }
    steps.push(Step::Note(key, note));
    Ok(steps)
}

/// The steps of an update of a clone session.
///
/// # Errors
/// INVALID_ARGUMENT, ALREADY_EXISTS or NOT_FOUND.
pub fn write_session(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    verb: Verb,
    given: &v1::CloneSessionEntry,
) -> Result<Steps, Refusal> {
    let (session, what) = (
        given.session_id,
        format!("clone session {}", given.session_id),
    );
    if session == 0 {
        return Err(Refusal::invalid("clone session ids start at 1"));
    }
    let there = contents.state().replication.session(session).is_some();
    check_there(there, verb, &what)?;
    let mut copies = Given::default();
    let (config, note) = if verb == Verb::Delete {
        (None, None)
    } else {
        let Ok(length) = u32::try_from(given.packet_length_bytes) else {
            return Err(Refusal::invalid(format!(
                "{what}: packet_length_bytes {} is negative",
                given.packet_length_bytes
            )));
        };
        if given.class_of_service > 7 {
            return Err(Refusal::invalid(format!(
                "{what}: class_of_service {} exceeds 7",
                given.class_of_service
            )));
        }
        copies = replicas(around, &given.replicas).map_err(|r| r.at(&what))?;
        let config = CloneSession {
            replicas: std::mem::take(&mut copies.replicas),
            multicast_group: None,
            truncate_to: (length > 0).then_some(length),
        };
        let note = Note {
            class_of_service: given.class_of_service,
            ..Note::default()
        };
        (Some(config), (given.class_of_service > 0).then_some(note))
    };
    let mut steps = Steps::one(Step::Update(Update::SetCloneSession { session, config }));
    if let Some(step) = copies.backups(contents, Copies::Session(session)) {
        steps.push(step);
    }
    steps.push(Step::Note(NoteKey::Session(session), note));
    Ok(steps)
}

fn entity(kind: Type) -> Entity {
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) })
}

/// Hands out multicast groups: all if the id is 0.
///
/// # Errors
/// Those of the sink.
pub fn read_groups(
    contents: &PipelineState,
    filter: &v1::MulticastGroupEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    for (group, replicas) in contents.state().replication.groups() {
        if filter.multicast_group_id == 0 || filter.multicast_group_id == u32::from(*group) {
            let note = contents.note(NoteKey::Multicast(*group));
            sink(entity(Type::MulticastGroupEntry(v1::MulticastGroupEntry {
                multicast_group_id: (*group).into(),
                replicas: messages(
                    &contents.schema,
                    replicas,
                    contents.state().replication.backups(Copies::Group(*group)),
                ),
                metadata: note.map(|n| n.metadata.clone()).unwrap_or_default(),
            })))?;
        }
    }
    Ok(())
}

/// Hands out clone sessions: all if the id is 0.
///
/// # Errors
/// Those of the sink.
pub fn read_sessions(
    contents: &PipelineState,
    filter: &v1::CloneSessionEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    for (id, session) in contents.state().replication.sessions() {
        if filter.session_id == 0 || filter.session_id == *id {
            let note = contents.note(NoteKey::Session(*id));
            let length = session.truncate_to.unwrap_or(0);
            sink(entity(Type::CloneSessionEntry(v1::CloneSessionEntry {
                session_id: *id,
                replicas: messages(
                    &contents.schema,
                    &session.replicas,
                    contents.state().replication.backups(Copies::Session(*id)),
                ),
                class_of_service: note.map_or(0, |n| n.class_of_service),
                packet_length_bytes: i32::try_from(length).unwrap_or(i32::MAX),
            })))?;
        }
    }
    Ok(())
}

//! What a switch holds: its program and its entities, read whole and made comparable.

use std::collections::{BTreeMap, BTreeSet};

use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1::{self, entity::Entity as Kind, packet_replication_engine_entry as pre};
use tonic::Code;

use super::client::Client;
use super::desired::DesiredPipeline;
use super::entity::{self, Entities, EntityKey, EntityKind};
use super::error::RemoteError;

/// Kinds of entities that a switch does not let anybody read.
pub type Unreadable = BTreeSet<EntityKind>;

/// What a switch holds.
#[derive(Clone, Debug, Default)]
pub struct SwitchState {
    /// Its program; `None` before the first.
    pub pipeline: Option<v1::ForwardingPipelineConfig>,
    /// Its entities, canonical; those of the program itself are left out.
    pub entities: Entities,
    /// Kinds that it does not let anybody read.
    pub unreadable: Unreadable,
}

impl SwitchState {
    /// The index of its P4Info, if it has a program.
    ///
    /// # Errors
    /// [`RemoteError::Foreign`] for P4Info that contradicts itself.
    pub fn index(&self) -> Result<Option<P4InfoIndex>, RemoteError> {
        let info = self
            .pipeline
            .as_ref()
            .and_then(|config| config.p4info.clone());
        info.map(P4InfoIndex::new)
            .transpose()
            .map_err(|error| RemoteError::Foreign(error.to_string()))
    }

    /// What else it runs than this program; none if it runs it, or nothing.
    #[must_use]
    pub fn other_program(&self, pipeline: &DesiredPipeline) -> Option<Foreign> {
        let config = self.pipeline.as_ref()?;
        if pipeline.runs_in(config) {
            return None;
        }
        let theirs = config.p4info.clone().unwrap_or_default();
        let ours = pipeline.info.info();
        let arch = |info: &P4Info| {
            info.pkg_info
                .as_ref()
                .map_or_else(String::new, |p| p.arch.clone())
        };
        let (their_arch, our_arch) = (arch(&theirs), arch(ours));
        if !their_arch.is_empty() && !our_arch.is_empty() && their_arch != our_arch {
            return Some(Foreign::Architecture(their_arch));
        }
        if theirs == *ours {
            return Some(Foreign::Version);
        }
        Some(Foreign::Program(info_difference(&theirs, ours)))
    }

    /// Whether it runs this program.
    #[must_use]
    pub fn runs(&self, pipeline: &DesiredPipeline) -> bool {
        let config = self.pipeline.as_ref();
        config.is_some_and(|config| pipeline.runs_in(config))
    }
}

/// A program that is not the build's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It is for another architecture.
    Architecture(String),
    /// It has the same P4Info and is not the same.
    Version,
    /// It has another P4Info: the first difference.
    Program(String),
}

/// The first table or action that one of two programs has and the other has not, or not so.
fn info_difference(theirs: &P4Info, ours: &P4Info) -> String {
    let table = |info: &P4Info, name: &str| info.tables.iter().find(|t| t.name() == name).cloned();
    let actions = |info: &P4Info| {
        let actions = info.actions.iter();
        actions
            .map(|a| (a.name().to_owned(), a.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    for ours in &ours.tables {
        match table(theirs, ours.name()) {
            None => return format!("it has no table {}", ours.name()),
            Some(theirs) if theirs != *ours => {
                return format!("its table {} is another", ours.name());
            }
            Some(_) => {}
        }
    }
    if let Some(more) = theirs
        .tables
        .iter()
        .find(|t| table(ours, t.name()).is_none())
    {
        return format!("it has a table {}", more.name());
    }
    let (theirs, ours) = (actions(theirs), actions(ours));
    match ours
        .iter()
        .find(|(name, action)| theirs.get(*name) != Some(action))
    {
        Some((name, _)) => format!("its action {name} is another, or missing"),
        None => "its P4Info is another".to_owned(),
    }
}

/// Reads everything from a switch.
///
/// # Errors
/// An unreachable switch; refusals; contents that do not fit the switch's own P4Info.
pub async fn read(client: &mut Client) -> Result<SwitchState, RemoteError> {
    let mut state = SwitchState {
        pipeline: client.pipeline().await?,
        ..SwitchState::default()
    };
    if let Some(info) = state.index()? {
        (state.entities, state.unreadable) = read_entities(client, &info).await?;
    }
    Ok(state)
}

/// Reads all entities of a switch whose program is known.
///
/// # Errors
/// As [`read`].
pub async fn read_entities(
    client: &mut Client,
    info: &P4InfoIndex,
) -> Result<(Entities, Unreadable), RemoteError> {
    let mut entities = Entities::new();
    let mut unreadable = Unreadable::new();
    for (kind, query) in queries(info) {
        let answer = match client.read(vec![query]).await {
            Ok(answer) => answer,
            Err(error) if error.code() == Some(Code::Unimplemented) => {
                unreadable.insert(kind);
                continue;
            }
            Err(error) => return Err(error),
        };
        for entity in &answer {
            // Wildcard reads of some servers answer with default entries unasked.
            let canonical = entity::canonical(entity, info)
                .map_err(|error| RemoteError::Foreign(format!("{kind}: {error}")))?;
            if let Some((key, entity)) = canonical
                && !is_the_programs_own(&key, info)
            {
                entities.insert(key, entity);
            }
        }
    }
    Ok((entities, unreadable))
}

/// Entries that a program declares may be told from ours only in tables where it declares none:
/// those tables are the program's.
fn is_the_programs_own(key: &EntityKey, info: &P4InfoIndex) -> bool {
    match key {
        EntityKey::Entry { table, .. } => info
            .table_by_id(*table)
            .is_ok_and(|table| table.has_initial_entries),
        _ => false,
    }
}

/// One wildcard query per kind that the program can have.
fn queries(info: &P4InfoIndex) -> Vec<(EntityKind, v1::Entity)> {
    let mut queries = Vec::new();
    if !info.info().action_profiles.is_empty() {
        queries.push((
            EntityKind::Members,
            Kind::ActionProfileMember(v1::ActionProfileMember::default()),
        ));
        queries.push((
            EntityKind::Groups,
            Kind::ActionProfileGroup(v1::ActionProfileGroup::default()),
        ));
    }
    let replication = |kind| {
        Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) })
    };
    queries.push((
        EntityKind::Multicast,
        replication(pre::Type::MulticastGroupEntry(
            v1::MulticastGroupEntry::default(),
        )),
    ));
    queries.push((
        EntityKind::Clones,
        replication(pre::Type::CloneSessionEntry(
            v1::CloneSessionEntry::default(),
        )),
    ));
    queries.push((
        EntityKind::Entries,
        Kind::TableEntry(v1::TableEntry::default()),
    ));
    queries.push((
        EntityKind::Defaults,
        Kind::TableEntry(v1::TableEntry {
            is_default_action: true,
            ..Default::default()
        }),
    ));
    let wrapped = queries.into_iter();
    wrapped
        .map(|(kind, query)| (kind, entity::wrap(query)))
        .collect()
}

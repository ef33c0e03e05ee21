//! What a switch holds: its program and its entities, read whole and made comparable.

use std::collections::{BTreeMap, BTreeSet};

use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::{self, entity::Entity as Kind, packet_replication_engine_entry as pre};
use tonic::Code;

use super::client::Client;
use super::desired::DesiredPipeline;
use super::entity::{self, EntityKey, EntityKind};
use super::error::RemoteError;

/// What a switch holds.
#[derive(Clone, Debug, Default)]
pub struct SwitchState {
    /// Its program; `None` before the first.
    pub pipeline: Option<v1::ForwardingPipelineConfig>,
    /// Its entities, canonical; those of the program itself are left out.
    pub entities: BTreeMap<EntityKey, v1::Entity>,
    /// Kinds that it does not let anybody read.
    pub unreadable: BTreeSet<EntityKind>,
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

    /// Whether it runs this program.
    #[must_use]
    pub fn runs(&self, pipeline: &DesiredPipeline) -> bool {
        let config = self.pipeline.as_ref();
        config.is_some_and(|config| pipeline.runs_in(config))
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
) -> Result<(BTreeMap<EntityKey, v1::Entity>, BTreeSet<EntityKind>), RemoteError> {
    let mut entities = BTreeMap::new();
    let mut unreadable = BTreeSet::new();
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

/// Entries that a program declares may be told from ours only in tables where it declares none: those tables are
/// the program's.
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

//! What has to change on a switch, and the order in which it can.

use std::collections::BTreeMap;

use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::{self, entity::Entity as Kind, update};

use super::desired::DesiredPipeline;
use super::entity::{self, EntityKey, EntityKind};
use super::state::SwitchState;

/// How an entity changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It is not there yet.
    Insert,
    /// Its value is another.
    Modify,
    /// It goes away; a default entry becomes the program's own again.
    Delete,
}

impl ChangeKind {
    /// As diffs mark it.
    #[must_use]
    pub const fn mark(self) -> char {
        match self {
            Self::Insert => '+',
            Self::Modify => '~',
            Self::Delete => '-',
        }
    }
}

/// One entity that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// How.
    pub kind: ChangeKind,
    /// Which.
    pub key: EntityKey,
    /// What is there.
    pub before: Option<v1::Entity>,
    /// What is to be there.
    pub after: Option<v1::Entity>,
}

/// What happens to a switch's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineChange {
    /// It runs the right one.
    Same,
    /// It has none yet.
    Load,
    /// It runs another.
    Replace,
}

impl PipelineChange {
    /// What has to happen to what a switch runs, for it to run this.
    #[must_use]
    pub fn of(state: &SwitchState, pipeline: &DesiredPipeline) -> Self {
        match state.pipeline {
            _ if state.runs(pipeline) => Self::Same,
            None => Self::Load,
            Some(_) => Self::Replace,
        }
    }

    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Load => "load",
            Self::Replace => "replace",
        }
    }
}

/// Everything that has to change on a switch.
#[derive(Clone, Debug)]
pub struct SwitchDiff {
    /// Its program.
    pub pipeline: PipelineChange,
    /// Its entities, in the order of their keys. Where the program is replaced: all that is wanted.
    pub changes: Vec<Change>,
}

impl SwitchDiff {
    /// From what a switch holds to what it is to hold.
    #[must_use]
    pub fn between(
        state: &SwitchState,
        pipeline: &DesiredPipeline,
        wanted: &BTreeMap<EntityKey, v1::Entity>,
    ) -> Self {
        let pipeline = PipelineChange::of(state, pipeline);
        let changes = match pipeline {
            PipelineChange::Same => changes(&state.entities, wanted),
            PipelineChange::Load | PipelineChange::Replace => changes(&BTreeMap::new(), wanted),
        };
        Self { pipeline, changes }
    }

    /// Whether nothing has to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pipeline == PipelineChange::Same && self.changes.is_empty()
    }

    /// How many entities change in this way.
    #[must_use]
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|c| c.kind == kind).count()
    }

    /// One line per change, in the program's names: the mark of its kind, then the entity. A change
    /// of value gives both values.
    #[must_use]
    pub fn lines(&self, info: &P4InfoIndex) -> Vec<(ChangeKind, String)> {
        let line = |change: &Change| {
            let describe = |e: &Option<v1::Entity>| {
                e.as_ref()
                    .map_or_else(String::new, |e| entity::describe(e, info))
            };
            let text = match change.kind {
                ChangeKind::Insert => describe(&change.after),
                ChangeKind::Delete => describe(&change.before),
                ChangeKind::Modify => {
                    let (before, after) = (describe(&change.before), describe(&change.after));
                    let was = before
                        .split_once(" -> ")
                        .map_or(before.as_str(), |(_, was)| was);
                    format!("{after} (was {was})")
                }
            };
            (change.kind, text)
        };
        self.changes.iter().map(line).collect()
    }
}

/// The changes from one set of entities to another.
#[must_use]
pub fn changes(
    before: &BTreeMap<EntityKey, v1::Entity>,
    after: &BTreeMap<EntityKey, v1::Entity>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (key, entity) in after {
        let kind = match before.get(key) {
            Some(held) if held == entity => continue,
            Some(_) => ChangeKind::Modify,
            None => ChangeKind::Insert,
        };
        changes.push(Change {
            kind,
            key: key.clone(),
            before: before.get(key).cloned(),
            after: Some(entity.clone()),
        });
    }
    for (key, entity) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
        changes.push(Change {
            kind: ChangeKind::Delete,
            key: key.clone(),
            before: Some(entity.clone()),
            after: None,
        });
    }
    changes.sort_by(|a, b| (&a.key, a.kind).cmp(&(&b.key, b.kind)));
    changes
}

/// The updates of changes, in stages that one after the other can be applied to a switch which
/// checks references and room: what is referred to is made first and removed last, and nothing is
/// removed before its successor is there, except from tables that have no room for both.
#[must_use]
pub fn stages(
    changes: &[Change],
    held: &BTreeMap<EntityKey, v1::Entity>,
    info: &P4InfoIndex,
) -> Vec<Vec<v1::Update>> {
    let cramped = cramped_tables(changes, held, info);
    let mut stages: BTreeMap<u8, Vec<v1::Update>> = BTreeMap::new();
    for change in changes {
        let stage = stage_of(change, &cramped);
        stages.entry(stage).or_default().extend(update_of(change));
    }
    stages.into_values().collect()
}

/// Tables in which old and new entries together exceed the room.
fn cramped_tables(
    changes: &[Change],
    held: &BTreeMap<EntityKey, v1::Entity>,
    info: &P4InfoIndex,
) -> BTreeMap<u32, bool> {
    let mut rows: BTreeMap<u32, i64> = BTreeMap::new();
    for key in held.keys() {
        if let EntityKey::Entry { table, .. } = key {
            *rows.entry(*table).or_default() += 1;
        }
    }
    for change in changes {
        if let (EntityKey::Entry { table, .. }, ChangeKind::Insert) = (&change.key, change.kind) {
            *rows.entry(*table).or_default() += 1;
        }
    }
    let room = |table: u32| info.table_by_id(table).map_or(i64::MAX, |table| table.size);
    rows.into_iter()
        .map(|(table, rows)| (table, rows > room(table)))
        .collect()
}

fn stage_of(change: &Change, cramped: &BTreeMap<u32, bool>) -> u8 {
    let removes = change.kind == ChangeKind::Delete;
    match (change.key.kind(), removes) {
        (EntityKind::Entries, true) => match &change.key {
            EntityKey::Entry { table, .. } if cramped.get(table) == Some(&true) => 0,
            _ => 6,
        },
        (EntityKind::Members, false) => 1,
        (EntityKind::Groups, false) => 2,
        (EntityKind::Multicast | EntityKind::Clones, false) => 3,
        (EntityKind::Entries, false) => 4,
        (EntityKind::Defaults, _) => 5,
        (EntityKind::Multicast | EntityKind::Clones, true) => 7,
        (EntityKind::Groups, true) => 8,
        (EntityKind::Members, true) => 9,
    }
}

/// The update of a change. Default entries are only ever modified: without an action they become
/// the program's.
fn update_of(change: &Change) -> Option<v1::Update> {
    let default = change.key.kind() == EntityKind::Defaults;
    let kind = match change.kind {
        _ if default => update::Type::Modify,
        ChangeKind::Insert => update::Type::Insert,
        ChangeKind::Modify => update::Type::Modify,
        ChangeKind::Delete => update::Type::Delete,
    };
    let entity = match (&change.key, change.kind) {
        (EntityKey::Default { table }, ChangeKind::Delete) => {
            entity::wrap(Kind::TableEntry(v1::TableEntry {
                table_id: *table,
                is_default_action: true,
                ..Default::default()
            }))
        }
        (_, ChangeKind::Delete) => change.before.clone()?,
        _ => change.after.clone()?,
    };
    Some(v1::Update {
        r#type: kind.into(),
        entity: Some(entity),
    })
}

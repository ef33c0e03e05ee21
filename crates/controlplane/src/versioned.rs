//! A new failover plan in place of another on running switches, without a packet lost or forwarded
//! by both (Stephens15 section 4.6.4): the new entries are installed beside the old ones, on every
//! switch; then the stamps at the edge change; then, when no packet with the old stamp is under
//! way, the old entries go.
//!
//! The two builds need the same program and different versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use p4runtime::P4InfoIndex;
use p4runtime::p4::v1;
use thiserror::Error;

use super::desired::{Desired, DesiredError};
use super::devices::{Device, Devices};
use super::diff::PipelineChange;
use super::entity::EntityKey;
use super::error::RemoteError;
use super::journal::{Journal, JournalError, Progress, Store, SwitchRecord};
use super::push::{self, PushContext, PushError, PushOptions, StepObserver};
use super::report::{Outcome, PushReport};

/// How long packets with the old stamp may be under way.
pub const DRAIN: Duration = Duration::from_millis(500);
/// The key field that tells versions apart.
const VERSION: &str = "version";

/// Why a versioned push was not begun, or did not end.
#[derive(Debug, Error)]
pub enum VersionedError {
    /// A switch cannot be asked.
    #[error("nothing was changed: {switch}: {error}")]
    Unknown {
        /// The switch.
        switch: String,
        /// Why.
        error: RemoteError,
    },
    /// A switch runs another program.
    #[error(
        "`{0}` does not run this build's program, so nothing can stand beside what it holds: push without --versioned \
         (packets are lost while programs change)"
    )]
    Program(String),
    /// Both builds have the same version.
    #[error(
        "`{0}` holds other entries of the same version: build with another `--plan-version`, so that packets can tell the \
         two apart"
    )]
    SameVersion(String),
    /// A step of it failed before it changed anything.
    #[error(transparent)]
    Push(#[from] PushError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The build directory.
    #[error(transparent)]
    Desired(#[from] DesiredError),
}

type Entities = BTreeMap<EntityKey, v1::Entity>;

/// Brings running switches from one version of a plan to another.
///
/// # Errors
/// [`VersionedError`] if it ended before anything was changed. If a step fails later, or somebody
/// asks to end, every switch is brought back to what it held before the first; the report tells.
pub async fn push(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
) -> Result<PushReport, VersionedError> {
    let mut journal = Journal::open(&options.journal)?;
    let store = journal.store();
    let (held, mut before) = ask(desired, devices, options, observer, store).await?;
    if journal.progress() == Some(Progress::Pushing) {
        // A push that never ended: what was there before it counts.
        before.extend(journal.records()?);
    }
    let [install, stamp, remove] = steps(desired, &held)?;
    let quiet: StepObserver = Arc::new(|_, _| {});
    let mut whole = PushReport::new(desired, Vec::new(), Outcome::Unchanged, 0);
    for (step, observer, ends) in [
        (&install, &quiet, Progress::Pushing),
        (&stamp, &quiet, Progress::Pushing),
        (&remove, observer, Progress::Pushed),
    ] {
        if ends == Progress::Pushed && whole.written > 0 {
            tokio::time::sleep(DRAIN).await;
        }
        let part = PushContext {
            before: Some(&before),
            ends,
        };
        match push::push_as(step, devices, options, observer, &mut journal, &part).await {
            Ok(report) if matches!(report.outcome, Outcome::RolledBack | Outcome::Mixed) => {
                return Ok(report);
            }
            Ok(report) => {
                let written = whole.written + report.written;
                whole = PushReport { written, ..report };
            }
            Err(error) if whole.written == 0 => return Err(error.into()),
            // This step changed nothing, but those before it did: what they wrote goes again.
            Err(error) => {
                let back = push::rollback_as(desired, devices, options, &quiet, &mut journal);
                return Ok(blame(back.await?, error));
            }
        }
    }
    if whole.written > 0 {
        whole.outcome = Outcome::Pushed;
    }
    Ok(whole)
}

/// What every switch holds, and where the journal has that of those that are to change.
async fn ask(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
    store: &Store,
) -> Result<(BTreeMap<String, Entities>, BTreeMap<String, SwitchRecord>), VersionedError> {
    let mut held = BTreeMap::new();
    let mut before = BTreeMap::new();
    let whole = |device: &Device, found| (device.name.clone(), found);
    for (switch, found) in push::ask(desired, devices, options.jobs, observer, whole).await {
        match found {
            Err(error) => return Err(VersionedError::Unknown { switch, error }),
            Ok((_, diff)) if diff.pipeline != PipelineChange::Same => {
                return Err(VersionedError::Program(switch));
            }
            Ok((state, diff)) => {
                if !diff.is_empty() {
                    before.insert(switch.clone(), store.keep(&switch, &state)?);
                }
                held.insert(switch, state.entities);
            }
        }
    }
    Ok((held, before))
}

/// The report of switches brought back, with what ended the push at those that ended it.
fn blame(mut report: PushReport, error: PushError) -> PushReport {
    report.written = 0;
    if report.outcome == Outcome::Unchanged {
        report.outcome = Outcome::RolledBack;
    }
    let PushError::Before(failures) = error else {
        return report;
    };
    for (name, error) in failures {
        let Some(switch) = report.switches.iter_mut().find(|s| s.switch == name) else {
            continue;
        };
        let not_back = switch.error.take();
        let both = [
            Some(error.to_string()),
            not_back.map(|e| format!("not brought back: {e}")),
        ];
        switch.error = Some(both.into_iter().flatten().collect::<Vec<_>>().join("; "));
    }
    report
}

/// The same network with other entities.
fn with(desired: &Desired, entities: &BTreeMap<String, Entities>) -> Desired {
    let mut other = desired.clone();
    for switch in &mut other.switches {
        if let Some(entities) = entities.get(&switch.name) {
            *switch = switch.with(entities.clone());
        }
    }
    other
}

/// The states on the way: both versions with the old stamps, both with the new ones, the new
/// version alone.
fn steps(
    desired: &Desired,
    held: &BTreeMap<String, Entities>,
) -> Result<[Desired; 3], VersionedError> {
    let (mut old_stamps, mut new_stamps) = (BTreeMap::new(), BTreeMap::new());
    let empty = Entities::new();
    for switch in &desired.switches {
        let held = held.get(&switch.name).unwrap_or(&empty);
        let ours = switch.entities(&desired.pipeline)?;
        let version = |entity: &v1::Entity| version_of(entity, &desired.pipeline.info);
        let wanted: BTreeSet<Vec<u8>> = ours.values().filter_map(version).collect();
        // What is there of our version must be ours: what an earlier attempt has left.
        let foreign = held.iter().any(|(key, entity)| {
            version(entity).is_some_and(|v| wanted.contains(&v)) && ours.get(key) != Some(entity)
        });
        if foreign {
            return Err(VersionedError::SameVersion(switch.name.clone()));
        }
        let mut both = Entities::clone(&ours);
        both.extend(held.iter().map(|(k, e)| (k.clone(), e.clone())));
        old_stamps.insert(switch.name.clone(), both);
        let mut both = held.clone();
        both.extend(ours.iter().map(|(k, e)| (k.clone(), e.clone())));
        new_stamps.insert(switch.name.clone(), both);
    }
    Ok([
        with(desired, &old_stamps),
        with(desired, &new_stamps),
        desired.clone(),
    ])
}

/// The version that an entry is for, if it is for one alone.
fn version_of(entity: &v1::Entity, info: &P4InfoIndex) -> Option<Vec<u8>> {
    let Some(v1::entity::Entity::TableEntry(entry)) = &entity.entity else {
        return None;
    };
    let table = info.table_by_id(entry.table_id).ok()?;
    let field = table
        .match_fields
        .iter()
        .find(|field| field.name == VERSION)?;
    let given = entry
        .r#match
        .iter()
        .find(|given| given.field_id == field.id)?;
    match &given.field_match_type {
        Some(v1::field_match::FieldMatchType::Exact(exact)) => Some(exact.value.clone()),
        _ => None,
    }
}

//! One switch brought to a state: the program if it must be, the entities that differ, and a look
//! whether it holds.
//!
//! What a switch can do is found out, never assumed: which device config it takes by letting it
//! verify, which atomicity by asking for the strongest that its target is known for, or that there
//! is, and stepping down where it says UNIMPLEMENTED.

use p4gen::capabilities::Capabilities;
use p4gen::targets;
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::write_request::Atomicity;
use prost::Message as _;
use tonic::Code;

use super::client::Client;
use super::desired::DesiredPipeline;
use super::devices::ConfigFormat;
use super::devices::Device;
use super::diff::{self, Change, ChangeKind};
use super::entity::{self, Entities};
use super::error::RemoteError;
use super::state::SwitchState;
use super::switch::Switch;

/// Servers receive at least 4 MB; this leaves room for the frame.
const BATCH_BYTES_MAX: usize = 3 << 20;
/// Errors of a batch travel in a header, so there must not be too many.
const BATCH_UPDATES_MAX: usize = 10_000;
/// Differences that a failed read-back names.
const SHOWN_MAX: usize = 3;

/// What a switch turned out to be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The strongest atomicity that it has not refused.
    pub atomicity: Atomicity,
    /// What it is, where that is known.
    pub target: Option<&'static Capabilities>,
    /// Whether it looks at device configs when it is asked to verify.
    pub verifies: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            atomicity: Atomicity::DataplaneAtomic,
            target: None,
            verifies: false,
        }
    }
}

impl Abilities {
    /// What to begin with: what the target is known for where it is known, else the strongest.
    ///
    /// A build for v1model runs on switches of two kinds, so only the devices file says which one
    /// it is; a build for Tofino says it itself.
    #[must_use]
    pub fn of(device: &Device, pipeline: &DesiredPipeline) -> Self {
        let named = pipeline.target;
        let kinds = targets::ALL.iter();
        let kinds = kinds.filter(|t| t.capabilities().build == named.build);
        let target = device.target.or((kinds.count() == 1).then_some(named));
        Self {
            atomicity: target.map_or(Atomicity::DataplaneAtomic, |t| t.atomicity.message()),
            target,
            verifies: false,
        }
    }

    /// Where it turned out to be otherwise than its target is known for.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let known = self
            .target
            .filter(|target| target.atomicity.message() != self.atomicity);
        known
            .map(|target| {
                format!(
                    "batches are {}; a switch of target {} is known for {}",
                    self.atomicity_name(),
                    target.target,
                    target.atomicity.name()
                )
            })
            .into_iter()
            .collect()
    }

    /// The word in reports.
    #[must_use]
    pub const fn atomicity_name(&self) -> &'static str {
        match self.atomicity {
            Atomicity::DataplaneAtomic => "dataplane-atomic",
            Atomicity::RollbackOnError => "rollback-on-error",
            Atomicity::ContinueOnError => "none",
        }
    }
}

/// What was done to a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Whether its program was loaded.
    pub loaded: bool,
    /// Entities made.
    pub inserted: usize,
    /// Entities changed.
    pub modified: usize,
    /// Entities removed.
    pub deleted: usize,
    /// Writes that it took.
    pub batches: usize,
}

impl Applied {
    /// How many updates were written.
    #[must_use]
    pub const fn updates(&self) -> usize {
        self.inserted + self.modified + self.deleted
    }

    fn count(&mut self, changes: &[Change]) {
        for change in changes {
            match change.kind {
                ChangeKind::Insert => self.inserted += 1,
                ChangeKind::Modify => self.modified += 1,
                ChangeKind::Delete => self.deleted += 1,
            }
        }
    }
}

/// A state for a switch.
#[derive(Clone, Debug)]
pub struct Goal<'a> {
    /// A program to load first; `None` where the right one runs.
    pub load: Option<v1::ForwardingPipelineConfig>,
    /// Index of the P4Info that then holds.
    pub info: &'a P4InfoIndex,
    /// The entities, canonical.
    pub entities: &'a Entities,
}

/// The device config of a program for this switch, verified by it as far as it verifies anything.
/// We must be primary.
///
/// A server that takes any bytes for verified cannot tell us what it would load, and some do not
/// survive the wrong thing: such a server gets BMv2's JSON, which is what servers take that do not
/// look.
///
/// # Errors
/// A switch that refuses the program; a missing p4c; a `config_file` that cannot be read.
pub async fn device_config(
    client: &mut Client,
    device: &Device,
    pipeline: &DesiredPipeline,
    abilities: &mut Abilities,
) -> Result<Vec<u8>, RemoteError> {
    if let Some(path) = &device.config_file {
        let read = std::fs::read(path);
        return read.map_err(|error| {
            RemoteError::Config(format!("`{}` cannot be read: {error}", path.display()))
        });
    }
    abilities.verifies = verifies(client, pipeline.info.info()).await?;
    let source = pipeline.source.clone().into_bytes();
    let config = match device.config {
        ConfigFormat::P4 => source,
        ConfigFormat::Bmv2Json => pipeline.bmv2_json().await?,
        ConfigFormat::Auto if !abilities.verifies => pipeline.bmv2_json().await?,
        ConfigFormat::Auto => {
            let message = pipeline.message(source.clone());
            match client.set_pipeline(Action::Verify, message).await {
                Ok(()) => return Ok(source),
                Err(error @ RemoteError::Refused { .. }) => {
                    tracing::debug!("{}: takes no P4 text: {error}", device.name);
                    // What it said of our text matters if there is no other form.
                    pipeline.bmv2_json().await.map_err(|json| {
                        RemoteError::Config(format!("{error}; and as for BMv2 JSON: {json}"))
                    })?
                }
                Err(error) => return Err(error),
            }
        }
    };
    if abilities.verifies {
        let message = pipeline.message(config.clone());
        client.set_pipeline(Action::Verify, message).await?;
    }
    Ok(config)
}

/// Whether a switch looks at device configs when it is asked to verify: nonsense is refused then.
/// Nothing changes. We must be primary.
///
/// # Errors
/// An unreachable switch; one that refuses for other reasons.
pub async fn verifies(client: &mut Client, info: &P4Info) -> Result<bool, RemoteError> {
    let nonsense = v1::ForwardingPipelineConfig {
        p4info: Some(info.clone()),
        p4_device_config: b"not a program".as_slice().into(),
        cookie: None,
    };
    match client.set_pipeline(Action::Verify, nonsense).await {
        Ok(()) => Ok(false),
        Err(error) if error.code() == Some(Code::Unimplemented) => Ok(false),
        Err(RemoteError::Refused { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Brings a switch from `held` to the goal, and reads back whether it is there. We must be primary.
///
/// # Errors
/// The first refusal; the switch may then hold a part. [`RemoteError::ReadBack`] where everything
/// was taken and is not there.
pub async fn apply(
    switch: &mut Switch,
    held: &SwitchState,
    goal: &Goal<'_>,
    abilities: &mut Abilities,
) -> Result<Applied, RemoteError> {
    let mut applied = Applied::default();
    let reread;
    let held = match &goal.load {
        None => &held.entities,
        Some(config) => {
            let Switch::P4Runtime(client) = switch else {
                return Err(RemoteError::Cannot {
                    what: "be given a program over BF Runtime while it forwards".to_owned(),
                });
            };
            load(client, config, held.pipeline.is_some(), abilities).await?;
            applied.loaded = true;
            reread = switch.entities(goal.info).await?.0;
            &reread
        }
    };
    let changes = diff::changes(held, goal.entities);
    applied.count(&changes);
    if !changes.is_empty() {
        let stages = diff::stages(&changes, held, goal.info);
        applied.batches = write(switch, stages, goal.info, abilities).await?;
    }
    if applied.loaded || !changes.is_empty() {
        verify(switch, goal).await?;
    }
    Ok(applied)
}

/// Loads a program; where one runs and the switch knows what it verifies, its entries are kept if
/// they can be.
async fn load(
    client: &mut Client,
    config: &v1::ForwardingPipelineConfig,
    running: bool,
    abilities: &Abilities,
) -> Result<(), RemoteError> {
    if running && abilities.verifies {
        let kept = client.set_pipeline(Action::ReconcileAndCommit, config.clone());
        match kept.await {
            Err(RemoteError::Refused { .. }) => {}
            done => return done,
        }
    }
    client
        .set_pipeline(Action::VerifyAndCommit, config.clone())
        .await
}

/// Writes stages in order. A switch with atomic batches gets everything in one if it fits; servers
/// over P4Runtime may take the updates of a batch in any order, so one that refuses it gets the
/// stages one by one. Where batches keep their order it is enough that they are taken whole or not
/// at all.
async fn write(
    switch: &mut Switch,
    stages: Vec<Vec<v1::Update>>,
    info: &P4InfoIndex,
    abilities: &mut Abilities,
) -> Result<usize, RemoteError> {
    let updates: usize = stages.iter().map(Vec::len).sum();
    let bytes: usize = stages.iter().flatten().map(update_bytes).sum();
    let fits = bytes <= BATCH_BYTES_MAX && updates <= BATCH_UPDATES_MAX;
    let needed = if switch.keeps_order() {
        Atomicity::RollbackOnError
    } else {
        Atomicity::DataplaneAtomic
    };
    if stages.len() > 1 && fits && abilities.atomicity >= needed {
        let whole = stages.concat();
        match switch.write(whole.clone(), abilities.atomicity).await {
            Ok(()) => return Ok(1),
            Err(error) if error.code() == Some(Code::Unimplemented) => {
                abilities.atomicity = weaker(abilities.atomicity);
            }
            Err(error @ RemoteError::Updates { .. }) if switch.keeps_order() => {
                return Err(named(error, &whole, info));
            }
            Err(RemoteError::Updates { .. } | RemoteError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let mut batches = 0;
    for stage in stages {
        for batch in cut(stage) {
            write_batch(switch, batch, info, abilities).await?;
            batches += 1;
        }
    }
    Ok(batches)
}

/// Cuts a stage into batches that every server can receive.
fn cut(stage: Vec<v1::Update>) -> Vec<Vec<v1::Update>> {
    let mut batches = vec![Vec::new()];
    let mut bytes = 0;
    for update in stage {
        let more = update_bytes(&update);
        let full = batches.last().map_or(0, Vec::len) >= BATCH_UPDATES_MAX;
        if full || bytes + more > BATCH_BYTES_MAX {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += more;
        if let Some(batch) = batches.last_mut() {
            batch.push(update);
        }
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

fn update_bytes(update: &v1::Update) -> usize {
    // Tag and length of the field.
    update.encoded_len() + 6
}

/// Writes a batch as atomically as the switch can.
async fn write_batch(
    switch: &mut Switch,
    batch: Vec<v1::Update>,
    info: &P4InfoIndex,
    abilities: &mut Abilities,
) -> Result<(), RemoteError> {
    loop {
        let error = match switch.write(batch.clone(), abilities.atomicity).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        // A server without the mode refuses the call; an update that it lacks is among the details.
        let lacks_mode =
            matches!(&error, RemoteError::Refused { code, .. } if *code == Code::Unimplemented);
        if !lacks_mode || abilities.atomicity == Atomicity::ContinueOnError {
            return Err(named(error, &batch, info));
        }
        abilities.atomicity = weaker(abilities.atomicity);
    }
}

/// The next weaker promise.
const fn weaker(atomicity: Atomicity) -> Atomicity {
    match atomicity {
        Atomicity::DataplaneAtomic => Atomicity::RollbackOnError,
        Atomicity::RollbackOnError | Atomicity::ContinueOnError => Atomicity::ContinueOnError,
    }
}

/// Puts the updates into the failures of a batch.
fn named(error: RemoteError, batch: &[v1::Update], info: &P4InfoIndex) -> RemoteError {
    let RemoteError::Updates { mut failures, of } = error else {
        return error;
    };
    for failure in &mut failures {
        let update = batch.get(failure.index);
        failure.update = update.and_then(|update| {
            let entity = entity::describe(update.entity.as_ref()?, info);
            Some(format!("{} {entity}", update.r#type().as_str_name()))
        });
    }
    RemoteError::Updates { failures, of }
}

/// Reads back and compares.
async fn verify(switch: &mut Switch, goal: &Goal<'_>) -> Result<(), RemoteError> {
    let (held, unreadable) = switch.entities(goal.info).await?;
    let differing = diff::changes(goal.entities, &held);
    let blind = differing
        .iter()
        .find(|change| unreadable.contains(&change.key.kind()));
    if let Some(change) = blind {
        return Err(RemoteError::Cannot {
            what: format!("read back {} (UNIMPLEMENTED)", change.key.kind()),
        });
    }
    if differing.is_empty() {
        return Ok(());
    }
    Err(RemoteError::ReadBack {
        what: differences(&differing, goal.info),
    })
}

/// The first differences between what was wanted and what is there.
fn differences(changes: &[Change], info: &P4InfoIndex) -> String {
    let one = |change: &Change| {
        let describe = |entity: &Option<v1::Entity>| {
            entity
                .as_ref()
                .map_or_else(String::new, |e| entity::describe(e, info))
        };
        match change.kind {
            ChangeKind::Insert => format!("{} is there and should not be", describe(&change.after)),
            ChangeKind::Delete => format!("{} is missing", describe(&change.before)),
            ChangeKind::Modify => format!(
                "{} is there where {} should be",
                describe(&change.after),
                describe(&change.before)
            ),
        }
    };
    let mut text = changes
        .iter()
        .take(SHOWN_MAX)
        .map(one)
        .collect::<Vec<_>>()
        .join("; ");
    if changes.len() > SHOWN_MAX {
        text.push_str(&format!("; and {} more", changes.len() - SHOWN_MAX));
    }
    text
}

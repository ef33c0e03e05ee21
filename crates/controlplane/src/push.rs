//! The network brought to what a build directory says, or left as it was.
//!
//! First every switch is asked what it holds; then every switch that needs another program verifies it; then what
//! all of them hold is written to the journal. Nothing was changed so far, and whatever goes wrong until here ends
//! the push. Then all are written to in parallel and read back. If one refuses, every one is brought back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1;
use thiserror::Error;

use super::apply::{self, Abilities, Applied, Goal};
use super::desired::{Desired, DesiredPipeline, DesiredSwitch};
use super::devices::{Device, Devices};
use super::diff::{PipelineChange, SwitchDiff};
use super::error::RemoteError;
use super::journal::{Journal, JournalError, Progress, Snapshot};
use super::report::{Outcome, PushReport, Survey, SwitchOutcome, SwitchReport};
use super::state::{Foreign, SwitchState};
use super::switch::Switch;

/// Attempts to reach a switch that is to be brought back.
const RESTORE_ATTEMPTS: u32 = 5;
/// Pause between them.
const RESTORE_PAUSE: Duration = Duration::from_millis(300);

/// How a push goes about it.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Switches at a time.
    pub jobs: usize,
    /// Push to those that can be reached.
    pub continue_on_unreachable: bool,
    /// Outbid other primaries.
    pub take_over: bool,
    /// Load the build's program where another one runs, or another version of it.
    pub replace_program: bool,
    /// The journal's directory.
    pub journal: PathBuf,
    /// Ends the push early.
    pub stop: Stop,
}

/// Asks a push to end: before anything was changed it ends there, later it brings every switch back.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks; from any thread.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Called with the name of a switch that is done with a step, from any thread.
pub type StepObserver = Arc<dyn Fn(Step, &str) + Send + Sync>;

/// Steps of a push, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// What it holds is known.
    Surveyed,
    /// It was written to and read back, or left alone.
    Applied,
    /// It is as it was before.
    Restored,
}

/// Why a push ended before it touched anything.
#[derive(Debug, Error)]
pub enum PushError {
    /// Switches could not be asked, or would refuse.
    #[error("nothing was changed: {}", each_line(.0))]
    Before(Vec<(String, RemoteError)>),
    /// Somebody asked it to end.
    #[error("interrupted; nothing was changed")]
    Interrupted,
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

fn each_line(failures: &[(String, RemoteError)]) -> String {
    let lines: Vec<String> = failures
        .iter()
        .map(|(name, error)| format!("{name}: {error}"))
        .collect();
    lines.join("\n")
}

/// Asks every switch what it holds. No session is opened: whoever is primary stays it.
pub async fn survey(
    desired: &Desired,
    devices: &Devices,
    jobs: usize,
    observer: &StepObserver,
) -> Vec<Survey> {
    let asked = pairs(desired, devices);
    let pipeline = Arc::clone(&desired.pipeline);
    let observer = Arc::clone(observer);
    each(asked, jobs, move |(device, wanted)| {
        let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
        async move {
            let found = async {
                let mut switch = Switch::connect(&device, &pipeline).await?;
                let state = switch.state().await?;
                let diff = SwitchDiff::between(&state, &pipeline, &wanted.entities);
                Ok((state, diff))
            };
            let found = found.await;
            observer(Step::Surveyed, &device.name);
            Survey { device, found }
        }
    })
    .await
}

/// A switch that we are primary of and know.
struct Ready {
    device: Device,
    wanted: DesiredSwitch,
    switch: Switch,
    state: SwitchState,
    diff: SwitchDiff,
    abilities: Abilities,
    device_config: Option<Vec<u8>>,
}

/// What became of one switch in the writing step.
enum Written {
    Done(Applied),
    Skipped,
    Failed(RemoteError),
}

/// Pushes.
///
/// # Errors
/// [`PushError`] if it ended before anything was changed. What happens afterwards is in the report.
pub async fn push(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
) -> Result<PushReport, PushError> {
    let mut journal = Journal::open(&options.journal)?;
    push_as(
        desired,
        devices,
        options,
        observer,
        &mut journal,
        &PushContext::WHOLE,
    )
    .await
}

/// What a push is a part of.
pub(super) struct PushContext<'a> {
    /// What switches are brought back to, if that is not what they hold now: what they held before the first part.
    pub before: Option<&'a BTreeMap<String, Snapshot>>,
    /// What the journal says once it is done.
    pub ends: Progress,
}

impl PushContext<'static> {
    /// A push of its own.
    const WHOLE: Self = Self {
        before: None,
        ends: Progress::Pushed,
    };
}

/// Pushes, with a journal that is held already.
pub(super) async fn push_as(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
    journal: &mut Journal,
    part: &PushContext<'_>,
) -> Result<PushReport, PushError> {
    let (mut ready, left_out) = prepare(desired, devices, options, observer).await?;
    let interrupted = journal.progress() == Some(Progress::Pushing);
    let mut report: Vec<SwitchReport> = left_out.iter().map(unreachable).collect();
    if ready.iter().all(|ready| ready.diff.is_empty()) {
        if interrupted && left_out.is_empty() {
            journal.finish(part.ends)?;
        }
        report.extend(
            ready
                .iter()
                .map(|r| switch_report(r, SwitchOutcome::Unchanged, None)),
        );
        return Ok(PushReport::new(desired, report, Outcome::Unchanged, 0));
    }
    if options.stop.asked() {
        return Err(PushError::Interrupted);
    }
    let snapshots = match part.before {
        Some(before) => before.clone(),
        None => before(journal, &ready, interrupted)?,
    };
    journal.begin(&snapshots)?;

    let (written, failed) = write_all(&mut ready, desired, options, observer).await;
    if !failed {
        let mut updates = 0;
        for (ready, written) in ready.iter().zip(&written) {
            let applied = match written {
                Written::Done(applied) => *applied,
                _ => Applied::default(),
            };
            updates += applied.updates();
            let outcome = if ready.diff.is_empty() {
                SwitchOutcome::Unchanged
            } else {
                SwitchOutcome::Pushed
            };
            report.push(switch_report(ready, outcome, Some(applied)));
        }
        journal.finish(part.ends)?;
        return Ok(PushReport::new(desired, report, Outcome::Pushed, updates));
    }
    let (restored, outcome) = undo(desired, ready, written, &snapshots, options, observer).await;
    report.extend(restored);
    if outcome == Outcome::RolledBack {
        journal.finish(Progress::RolledBack)?;
    }
    Ok(PushReport::new(desired, report, outcome, 0))
}

/// What the network is brought back to: what switches hold now, or held before a push that never ended.
fn before(
    journal: &Journal,
    ready: &[Ready],
    interrupted: bool,
) -> Result<BTreeMap<String, Snapshot>, JournalError> {
    let changing = ready.iter().filter(|ready| !ready.diff.is_empty());
    let mut snapshots: BTreeMap<String, Snapshot> = changing
        .map(|ready| (ready.device.name.clone(), Snapshot::from(&ready.state)))
        .collect();
    if interrupted {
        snapshots.extend(journal.snapshots()?);
    }
    Ok(snapshots)
}

/// Becomes primary everywhere, surveys, and lets programs be verified. Nothing is changed yet.
async fn prepare(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
) -> Result<(Vec<Ready>, Vec<(Device, RemoteError)>), PushError> {
    let pipeline = Arc::clone(&desired.pipeline);
    let (how, observer) = (options.clone(), Arc::clone(observer));
    let found = each(
        pairs(desired, devices),
        options.jobs,
        move |(device, wanted)| {
            let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
            let how = how.clone();
            async move {
                let ready = make_ready(device.clone(), wanted, &pipeline, &how).await;
                observer(Step::Surveyed, &device.name);
                ready.map_err(|error| (device, error))
            }
        },
    )
    .await;
    let (mut ready, mut failures) = (Vec::new(), Vec::new());
    for found in found {
        match found {
            Ok(one) => ready.push(*one),
            Err(failure) => failures.push(failure),
        }
    }
    let tolerable = |(_, error): &(Device, RemoteError)| error.unreachable();
    if failures.is_empty() || (options.continue_on_unreachable && failures.iter().all(tolerable)) {
        return Ok((ready, failures));
    }
    let named = failures
        .into_iter()
        .map(|(device, error)| (device.name, error));
    Err(PushError::Before(named.collect()))
}

async fn make_ready(
    device: Device,
    wanted: DesiredSwitch,
    pipeline: &Arc<DesiredPipeline>,
    options: &PushOptions,
) -> Result<Box<Ready>, RemoteError> {
    let mut switch = Switch::connect(&device, pipeline).await?;
    switch.become_primary(options.take_over).await?;
    let state = switch.state().await?;
    let diff = SwitchDiff::between(&state, pipeline, &wanted.entities);
    let mut abilities = Abilities::of(&device, pipeline);
    let device_config = match &mut switch {
        Switch::P4Runtime(client) if diff.pipeline != PipelineChange::Same => {
            may_replace(&device, &state, pipeline, options.replace_program)?;
            Some(apply::device_config(client, &device, pipeline, &mut abilities).await?)
        }
        _ => None,
    };
    Ok(Box::new(Ready {
        device,
        wanted,
        switch,
        state,
        diff,
        abilities,
        device_config,
    }))
}

/// Refuses a switch that runs another program or version, unless that is to be replaced; and one that is built for
/// another architecture in any case.
fn may_replace(
    device: &Device,
    state: &SwitchState,
    pipeline: &DesiredPipeline,
    replace: bool,
) -> Result<(), RemoteError> {
    let other = |found: String, mend| RemoteError::OtherProgram {
        found: format!("{} has {found}", device.endpoint.address),
        wanted: format!("`{}`, for {}", pipeline.name, pipeline.target.target),
        mend,
    };
    let Some(foreign) = state.other_program(pipeline) else {
        return Ok(());
    };
    match foreign {
        Foreign::Architecture(arch) => Err(other(
            format!("a program for {arch}"),
            "it is not a switch of this target: name another one in the devices file, or build for its target",
        )),
        _ if replace => Ok(()),
        Foreign::Version => Err(other(
            "another version of this program (the same tables, other text)".to_owned(),
            "push with --replace-program to load the build's, or push the build that it runs",
        )),
        Foreign::Program(difference) => Err(other(
            format!("another program ({difference})"),
            "push with --replace-program to load the build's, or push the build that it runs",
        )),
    }
}

/// Writes to all that need it; once one fails, those not yet begun are left alone.
async fn write_all(
    ready: &mut Vec<Ready>,
    desired: &Desired,
    options: &PushOptions,
    observer: &StepObserver,
) -> (Vec<Written>, bool) {
    let failed = Arc::new(AtomicBool::new(false));
    let (pipeline, observer) = (Arc::clone(&desired.pipeline), Arc::clone(observer));
    let (stop, asked) = (Arc::clone(&failed), options.stop.clone());
    let done = each(
        std::mem::take(ready),
        options.jobs,
        move |mut ready: Ready| {
            let (pipeline, observer, failed) = (
                Arc::clone(&pipeline),
                Arc::clone(&observer),
                Arc::clone(&stop),
            );
            let asked = asked.clone();
            async move {
                let written = if ready.diff.is_empty() {
                    Written::Skipped
                } else if asked.asked() || failed.load(Ordering::SeqCst) {
                    // Left out: what others were given has to go again.
                    failed.store(true, Ordering::SeqCst);
                    Written::Skipped
                } else {
                    match write_one(&mut ready, &pipeline).await {
                        Ok(applied) => Written::Done(applied),
                        Err(error) => {
                            failed.store(true, Ordering::SeqCst);
                            Written::Failed(error)
                        }
                    }
                };
                observer(Step::Applied, &ready.device.name);
                (ready, written)
            }
        },
    )
    .await;
    let written;
    (*ready, written) = done.into_iter().unzip();
    (written, failed.load(Ordering::SeqCst))
}

async fn write_one(ready: &mut Ready, pipeline: &DesiredPipeline) -> Result<Applied, RemoteError> {
    let goal = Goal {
        load: ready
            .device_config
            .clone()
            .map(|config| pipeline.message(config)),
        info: &pipeline.info,
        entities: &ready.wanted.entities,
    };
    apply::apply(&mut ready.switch, &ready.state, &goal, &mut ready.abilities).await
}

/// Brings everything back that may have been touched.
async fn undo(
    desired: &Desired,
    ready: Vec<Ready>,
    written: Vec<Written>,
    snapshots: &BTreeMap<String, Snapshot>,
    options: &PushOptions,
    observer: &StepObserver,
) -> (Vec<SwitchReport>, Outcome) {
    let jobs: Vec<(Ready, Written, Option<Snapshot>)> = ready
        .into_iter()
        .zip(written)
        .map(|(ready, written)| {
            let snapshot = snapshots.get(&ready.device.name).cloned();
            (ready, written, snapshot)
        })
        .collect();
    let take_over = options.take_over;
    let (pipeline, observer) = (Arc::clone(&desired.pipeline), Arc::clone(observer));
    let reports = each(jobs, options.jobs, move |(ready, written, snapshot)| {
        let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
        async move {
            let refusal = match written {
                Written::Failed(error) => Some(error.to_string()),
                _ => None,
            };
            let back = match &snapshot {
                Some(snapshot) => {
                    let switch = Some(ready.switch);
                    restore(&ready.device, &pipeline, switch, snapshot, take_over)
                        .await
                        .map(drop)
                }
                None => Ok(()),
            };
            observer(Step::Restored, &ready.device.name);
            let outcome = match (&back, &snapshot) {
                (Ok(()), None) => SwitchOutcome::Unchanged,
                (Ok(()), Some(_)) => SwitchOutcome::Restored,
                (Err(_), _) => SwitchOutcome::Lost,
            };
            let not_back = back.err().map(|error| format!("not brought back: {error}"));
            let error = [refusal, not_back]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("; ");
            SwitchReport {
                pipeline: Some(ready.diff.pipeline.name()),
                error: (!error.is_empty()).then_some(error),
                ..SwitchReport::of(&ready.device, outcome)
            }
        }
    })
    .await;
    let lost = reports
        .iter()
        .any(|report| report.outcome == SwitchOutcome::Lost);
    let outcome = if lost {
        Outcome::Mixed
    } else {
        Outcome::RolledBack
    };
    (reports, outcome)
}

/// Brings a switch back to a snapshot. A switch that had no program keeps the one it has, emptied: P4Runtime
/// cannot take a program away.
async fn restore(
    device: &Device,
    pipeline: &Arc<DesiredPipeline>,
    switch: Option<Switch>,
    snapshot: &Snapshot,
    take_over: bool,
) -> Result<Applied, RemoteError> {
    let mut switch = switch.filter(Switch::is_primary);
    let mut attempt = 0;
    loop {
        attempt += 1;
        match restore_once(device, pipeline, switch.take(), snapshot, take_over).await {
            Err(error) if error.unreachable() && attempt < RESTORE_ATTEMPTS => {
                tokio::time::sleep(RESTORE_PAUSE).await;
            }
            done => return done,
        }
    }
}

async fn restore_once(
    device: &Device,
    pipeline: &Arc<DesiredPipeline>,
    switch: Option<Switch>,
    snapshot: &Snapshot,
    take_over: bool,
) -> Result<Applied, RemoteError> {
    let mut switch = match switch {
        Some(switch) => switch,
        None => {
            let mut switch = Switch::connect(device, pipeline).await?;
            switch.become_primary(take_over).await?;
            switch
        }
    };
    let held = switch.state().await?;
    let same = held.pipeline == snapshot.pipeline;
    let load = snapshot.pipeline.clone().filter(|_| !same);
    let info = match &load {
        Some(config) => Some(index(config)?),
        None => held.index()?,
    };
    let Some(info) = info else {
        return Ok(Applied::default()); // no program then, none now
    };
    let goal = Goal {
        load,
        info: &info,
        entities: &snapshot.entities,
    };
    let mut abilities = Abilities::of(device, pipeline);
    if let (Some(_), Switch::P4Runtime(client)) = (&goal.load, &mut switch) {
        abilities.verifies = apply::verifies(client, info.info()).await?;
    }
    apply::apply(&mut switch, &held, &goal, &mut abilities).await
}

fn index(config: &v1::ForwardingPipelineConfig) -> Result<P4InfoIndex, RemoteError> {
    let info = config.p4info.clone().unwrap_or_default();
    P4InfoIndex::new(info).map_err(|error| RemoteError::Foreign(error.to_string()))
}

/// Brings every switch that the last push touched back to what it held before.
///
/// # Errors
/// [`PushError::Journal`] without a push to undo. Switches that cannot be brought back are in the report; asking
/// again tries again.
pub async fn rollback(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
) -> Result<PushReport, PushError> {
    let mut journal = Journal::open(&options.journal)?;
    rollback_as(desired, devices, options, observer, &mut journal).await
}

/// Brings switches back, with a journal that is held already.
pub(super) async fn rollback_as(
    desired: &Desired,
    devices: &Devices,
    options: &PushOptions,
    observer: &StepObserver,
    journal: &mut Journal,
) -> Result<PushReport, PushError> {
    let snapshots = journal.snapshots()?;
    let jobs: Vec<(Device, Option<Snapshot>)> = devices
        .all()
        .iter()
        .map(|device| (device.clone(), snapshots.get(&device.name).cloned()))
        .collect();
    let (take_over, observer) = (options.take_over, Arc::clone(observer));
    let pipeline = Arc::clone(&desired.pipeline);
    let reports = each(jobs, options.jobs, move |(device, snapshot)| {
        let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
        async move {
            let done = match &snapshot {
                Some(snapshot) => restore(&device, &pipeline, None, snapshot, take_over).await,
                None => Ok(Applied::default()),
            };
            observer(Step::Restored, &device.name);
            restored(&device, done)
        }
    })
    .await;
    let lost = reports.iter().any(|report| report.error.is_some());
    let written: usize = reports
        .iter()
        .map(|r| r.inserted + r.modified + r.deleted)
        .sum();
    let untouched = reports
        .iter()
        .all(|r| r.outcome == SwitchOutcome::Unchanged);
    let outcome = match (lost, untouched) {
        (true, _) => Outcome::Mixed,
        (false, true) => Outcome::Unchanged,
        (false, false) => Outcome::RolledBack,
    };
    if !lost {
        journal.finish(Progress::RolledBack)?;
    }
    Ok(PushReport::new(desired, reports, outcome, written))
}

fn restored(device: &Device, done: Result<Applied, RemoteError>) -> SwitchReport {
    let (applied, error) = match done {
        Ok(applied) => (applied, None),
        Err(error) => (Applied::default(), Some(error)),
    };
    let outcome = match &error {
        Some(error) if error.unreachable() => SwitchOutcome::Unreachable,
        Some(_) => SwitchOutcome::Lost,
        None if applied == Applied::default() => SwitchOutcome::Unchanged,
        None => SwitchOutcome::Restored,
    };
    SwitchReport {
        pipeline: Some(if applied.loaded { "replace" } else { "same" }),
        error: error.map(|error| error.to_string()),
        ..SwitchReport::of(device, outcome).with(&applied)
    }
}

fn switch_report(ready: &Ready, outcome: SwitchOutcome, applied: Option<Applied>) -> SwitchReport {
    let applied = applied.unwrap_or_default();
    let wrote = applied.batches > 0;
    SwitchReport {
        pipeline: Some(ready.diff.pipeline.name()),
        atomicity: wrote.then(|| ready.abilities.atomicity_name()),
        differs: if wrote {
            ready.abilities.differences()
        } else {
            Vec::new()
        },
        ..SwitchReport::of(&ready.device, outcome).with(&applied)
    }
}

fn unreachable((device, error): &(Device, RemoteError)) -> SwitchReport {
    SwitchReport {
        error: Some(error.to_string()),
        ..SwitchReport::of(device, SwitchOutcome::Unreachable)
    }
}

/// Every device with what it is to hold.
fn pairs(desired: &Desired, devices: &Devices) -> Vec<(Device, DesiredSwitch)> {
    let wanted: BTreeMap<&str, &DesiredSwitch> = desired
        .switches
        .iter()
        .map(|switch| (switch.name.as_str(), switch))
        .collect();
    devices
        .all()
        .iter()
        .filter_map(|device| {
            let wanted = wanted.get(device.name.as_str())?;
            Some((device.clone(), (*wanted).clone()))
        })
        .collect()
}

/// Runs a job per item, at most `jobs` at a time; results come in the order of the items.
async fn each<T, R, F>(items: Vec<T>, jobs: usize, work: impl Fn(T) -> F) -> Vec<R>
where
    T: Send + 'static,
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    stream::iter(items)
        .map(|item| tokio::spawn(work(item)))
        .buffered(jobs.max(1))
        .map(|done| match done {
            Ok(result) => result,
            // A job's panic is ours; nobody cancels jobs.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        })
        .collect()
        .await
}

//! The network brought to what a build directory says, or left as it was.
//!
//! First every switch is asked what it holds, which is written down, and every switch that needs
//! another program verifies it; then the journal says that a push begins. Nothing was changed so
//! far, and whatever goes wrong until here ends the push. Then all are written to in parallel and
//! read back. If one refuses, every one is brought back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use p4gen::build::Digest;
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1;
use thiserror::Error;

use super::apply::{self, Abilities, Applied, Goal};
use super::desired::{Desired, DesiredPipeline, DesiredSwitch};
use super::devices::{Device, Devices};
use super::diff::{PipelineChange, SwitchDiff};
use super::entity::Entities;
use super::error::RemoteError;
use super::journal::{self, Journal, JournalError, Progress, Snapshot, Store, SwitchRecord};
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
    /// The most switches whose session and state are kept from the survey to the writing. A session
    /// is a connection, and a state may be megabytes: those beyond are asked again when it is their
    /// turn, and refused if they were changed meanwhile.
    pub sessions: usize,
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

impl PushOptions {
    /// What [`sessions`](Self::sessions) is where nobody has a reason for another number.
    pub const SESSIONS: usize = 64;
}

/// Asks a push to end: before anything was changed it ends there, later it brings every switch
/// back.
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

/// What a switch holds and how that differs, or why it is not known.
pub(super) type SwitchSurvey = Result<(SwitchState, SwitchDiff), RemoteError>;

/// Asks every switch what it holds, and keeps what `keep` makes of it. No session is opened:
/// whoever is primary stays it.
pub(super) async fn ask<T: Send + 'static>(
    desired: &Desired,
    devices: &Devices,
    jobs: usize,
    observer: &StepObserver,
    keep: impl Fn(&Device, SwitchSurvey) -> T + Clone + Send + Sync + 'static,
) -> Vec<T> {
    let asked = pairs(desired, devices);
    let pipeline = Arc::clone(&desired.pipeline);
    let observer = Arc::clone(observer);
    each(asked, jobs, move |(device, wanted)| {
        let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
        let keep = keep.clone();
        async move {
            let found = async {
                let mut switch = Switch::connect(&device, &pipeline).await?;
                let state = switch.state().await?;
                let wanted = wanted_of(&wanted, &pipeline)?;
                let diff = SwitchDiff::between(&state, &pipeline, &wanted);
                Ok((state, diff))
            };
            let kept = keep(&device, found.await);
            observer(Step::Surveyed, &device.name);
            kept
        }
    })
    .await
}

/// How every switch differs from what it is to hold.
pub async fn survey(
    desired: &Desired,
    devices: &Devices,
    jobs: usize,
    observer: &StepObserver,
) -> Vec<Survey> {
    let differs = |device: &Device, found: SwitchSurvey| Survey {
        device: device.clone(),
        found: found.map(|(_, diff)| diff),
    };
    ask(desired, devices, jobs, observer, differs).await
}

/// What a push would do at every switch. Of each no more is kept than that.
pub async fn dry_run(
    desired: &Desired,
    devices: &Devices,
    jobs: usize,
    observer: &StepObserver,
) -> Vec<SwitchReport> {
    let would = |device: &Device, found: SwitchSurvey| {
        let survey = Survey {
            device: device.clone(),
            found: found.map(|(_, diff)| diff),
        };
        survey.report()
    };
    ask(desired, devices, jobs, observer, would).await
}

/// What a switch is to hold.
fn wanted_of(
    wanted: &DesiredSwitch,
    pipeline: &DesiredPipeline,
) -> Result<Arc<Entities>, RemoteError> {
    let entities = wanted.entities(pipeline);
    entities.map_err(|error| RemoteError::Files(error.to_string()))
}

/// A switch that we know, and that is to be written to if anything differs.
struct Ready {
    device: Device,
    wanted: DesiredSwitch,
    /// What happens to its program.
    program: PipelineChange,
    /// Whether it holds what it is to hold.
    same: bool,
    /// Where the journal has what it holds, unless nothing is to change or the journal knows it
    /// already.
    record: Option<SwitchRecord>,
    /// What it holds.
    seen: Digest,
    /// That itself, where it is kept.
    state: Option<SwitchState>,
    /// The session in which we are primary, where it is kept.
    session: Option<Switch>,
    abilities: Abilities,
    device_config: Option<Arc<Vec<u8>>>,
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
    /// What switches are brought back to, if that is not what they hold now: what they held before
    /// the first part.
    pub before: Option<&'a BTreeMap<String, SwitchRecord>>,
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
    let interrupted = journal.progress() == Some(Progress::Pushing);
    // What switches held before the first part, or before a push that never ended, counts.
    let mut records = match part.before {
        Some(before) => before.clone(),
        None if interrupted => journal.records()?,
        None => BTreeMap::new(),
    };
    let how = Preparing {
        options: options.clone(),
        store: journal.store().clone(),
        known: match part.before {
            Some(_) => None,
            None => Some(records.keys().cloned().collect()),
        },
        kept: Arc::default(),
        configs: Arc::default(),
    };
    let (mut ready, left_out) = prepare(desired, devices, how, observer).await?;
    let mut report: Vec<SwitchReport> = left_out.iter().map(unreachable).collect();
    if ready.iter().all(|ready| ready.same) {
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
    for ready in &mut ready {
        if let Some(record) = ready.record.take() {
            records.insert(ready.device.name.clone(), record);
        }
    }
    journal.begin(&records)?;

    let (written, failed) = write_all(&mut ready, desired, options, observer).await;
    if !failed {
        let mut updates = 0;
        for (ready, written) in ready.iter().zip(&written) {
            let applied = match written {
                Written::Done(applied) => *applied,
                _ => Applied::default(),
            };
            updates += applied.updates();
            let outcome = if ready.same {
                SwitchOutcome::Unchanged
            } else {
                SwitchOutcome::Pushed
            };
            report.push(switch_report(ready, outcome, Some(applied)));
        }
        journal.finish(part.ends)?;
        return Ok(PushReport::new(desired, report, Outcome::Pushed, updates));
    }
    let back = (&records, journal.store());
    let (restored, outcome) = undo(desired, ready, written, back, options, observer).await;
    report.extend(restored);
    if outcome == Outcome::RolledBack {
        journal.finish(Progress::RolledBack)?;
    }
    Ok(PushReport::new(desired, report, outcome, 0))
}

/// What every switch is asked with.
#[derive(Clone)]
struct Preparing {
    options: PushOptions,
    store: Store,
    /// The switches of which the journal has what they are brought back to; nothing where it has
    /// that of all.
    known: Option<BTreeSet<String>>,
    /// How many sessions and states are kept.
    kept: Arc<AtomicUsize>,
    /// Device configs that switches share.
    configs: Arc<Configs>,
}

/// Device configs, each once.
type Configs = Mutex<Vec<Arc<Vec<u8>>>>;

impl Preparing {
    /// Whether another session and state may be kept.
    fn keeps(&self) -> bool {
        let most = self.options.sessions;
        let more = |kept: usize| (kept < most).then_some(kept + 1);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        self.kept.fetch_update(set, fetch, more).is_ok()
    }

    /// A device config that switches share.
    fn shared(&self, config: Vec<u8>) -> Arc<Vec<u8>> {
        let mut configs = match self.configs.lock() {
            Ok(configs) => configs,
            Err(poisoned) => poisoned.into_inner(),
        };
        if let Some(known) = configs.iter().find(|known| ***known == config) {
            return Arc::clone(known);
        }
        let config = Arc::new(config);
        configs.push(Arc::clone(&config));
        config
    }
}

/// Why a switch is not ready.
enum NotReady {
    Remote(RemoteError),
    Journal(JournalError),
    /// Somebody asked the push to end.
    Stopped,
}

impl From<RemoteError> for NotReady {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

/// Becomes primary everywhere, surveys, writes down what switches that are to change hold, and lets
/// programs be verified. Nothing is changed yet.
async fn prepare(
    desired: &Desired,
    devices: &Devices,
    how: Preparing,
    observer: &StepObserver,
) -> Result<(Vec<Ready>, Vec<(Device, RemoteError)>), PushError> {
    let pipeline = Arc::clone(&desired.pipeline);
    let observer = Arc::clone(observer);
    let options = how.options.clone();
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
            Err((device, NotReady::Remote(error))) => failures.push((device, error)),
            Err((_, NotReady::Journal(error))) => return Err(error.into()),
            Err((_, NotReady::Stopped)) => return Err(PushError::Interrupted),
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
    how: &Preparing,
) -> Result<Box<Ready>, NotReady> {
    if how.options.stop.asked() {
        return Err(NotReady::Stopped);
    }
    let mut switch = Switch::connect(&device, pipeline).await?;
    switch.become_primary(how.options.take_over).await?;
    let state = switch.state().await?;
    let program = PipelineChange::of(&state, pipeline);
    let same = program == PipelineChange::Same && state.entities == *wanted_of(&wanted, pipeline)?;
    let mut abilities = Abilities::of(&device, pipeline);
    let device_config = match &mut switch {
        Switch::P4Runtime(client) if program != PipelineChange::Same => {
            may_replace(&device, &state, pipeline, how.options.replace_program)?;
            let config = apply::device_config(client, &device, pipeline, &mut abilities).await?;
            Some(how.shared(config))
        }
        _ => None,
    };
    let known = how.known.as_ref();
    let keep_record = !same && known.is_some_and(|known| !known.contains(&device.name));
    let record = match keep_record {
        true => Some(how.store.keep(&device.name, &state)),
        false => None,
    };
    let keeps = !same && how.keeps();
    Ok(Box::new(Ready {
        record: record.transpose().map_err(NotReady::Journal)?,
        seen: journal::digest(&state.entities),
        state: keeps.then_some(state),
        session: keeps.then_some(switch),
        device,
        wanted,
        program,
        same,
        abilities,
        device_config,
    }))
}

impl Ready {
    /// A session in which we are primary, and what the switch holds, for the writing.
    async fn open(
        &mut self,
        pipeline: &Arc<DesiredPipeline>,
        take_over: bool,
    ) -> Result<(Switch, SwitchState), RemoteError> {
        if let (Some(session), Some(state)) = (self.session.take(), self.state.take()) {
            return Ok((session, state));
        }
        let mut switch = Switch::connect(&self.device, pipeline).await?;
        switch.become_primary(take_over).await?;
        let state = switch.state().await?;
        let same_program = PipelineChange::of(&state, pipeline) == self.program;
        if !same_program || journal::digest(&state.entities) != self.seen {
            return Err(RemoteError::Meanwhile);
        }
        Ok((switch, state))
    }
}

/// Refuses a switch that runs another program or version, unless that is to be replaced; and one
/// that is built for another architecture in any case.
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
    let (stop, asked, take_over) = (Arc::clone(&failed), options.stop.clone(), options.take_over);
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
                let written = if ready.same {
                    Written::Skipped
                } else if asked.asked() || failed.load(Ordering::SeqCst) {
                    // Left out: what others were given has to go again.
                    failed.store(true, Ordering::SeqCst);
                    Written::Skipped
                } else {
                    match write_one(&mut ready, &pipeline, take_over).await {
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

async fn write_one(
    ready: &mut Ready,
    pipeline: &Arc<DesiredPipeline>,
    take_over: bool,
) -> Result<Applied, RemoteError> {
    let keeps = ready.session.is_some();
    let (mut switch, state) = ready.open(pipeline, take_over).await?;
    let wanted = wanted_of(&ready.wanted, pipeline)?;
    let config = ready.device_config.take();
    let goal = Goal {
        load: config.map(|config| pipeline.message(config.to_vec())),
        info: &pipeline.info,
        entities: &wanted,
    };
    let applied = apply::apply(&mut switch, &state, &goal, &mut ready.abilities).await;
    // The session in which a switch may have to be brought back.
    ready.session = keeps.then_some(switch);
    applied
}

/// Brings everything back that may have been touched.
async fn undo(
    desired: &Desired,
    ready: Vec<Ready>,
    written: Vec<Written>,
    (records, store): (&BTreeMap<String, SwitchRecord>, &Store),
    options: &PushOptions,
    observer: &StepObserver,
) -> (Vec<SwitchReport>, Outcome) {
    let jobs: Vec<(Ready, Written, Option<SwitchRecord>)> = ready
        .into_iter()
        .zip(written)
        .map(|(ready, written)| {
            let record = records.get(&ready.device.name).cloned();
            (ready, written, record)
        })
        .collect();
    let (take_over, store) = (options.take_over, store.clone());
    let (pipeline, observer) = (Arc::clone(&desired.pipeline), Arc::clone(observer));
    let reports = each(jobs, options.jobs, move |(ready, written, record)| {
        let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
        let store = store.clone();
        async move {
            let refusal = match written {
                Written::Failed(error) => Some(error.to_string()),
                _ => None,
            };
            let back = match &record {
                Some(record) => {
                    let place = (&store, record);
                    restore(&ready.device, &pipeline, ready.session, place, take_over)
                        .await
                        .map(drop)
                }
                None => Ok(()),
            };
            observer(Step::Restored, &ready.device.name);
            let outcome = match (&back, &record) {
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
                pipeline: Some(ready.program.name()),
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

/// Brings a switch back to a snapshot. A switch that had no program keeps the one it has, emptied:
/// P4Runtime cannot take a program away.
async fn restore(
    device: &Device,
    pipeline: &Arc<DesiredPipeline>,
    switch: Option<Switch>,
    (store, record): (&Store, &SwitchRecord),
    take_over: bool,
) -> Result<Applied, RemoteError> {
    let snapshot = store.snapshot(record);
    let snapshot = &snapshot.map_err(|error| RemoteError::Files(error.to_string()))?;
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
/// [`PushError::Journal`] without a push to undo. Switches that cannot be brought back are in the
/// report; asking again tries again.
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
    let records = journal.records()?;
    let store = journal.store().clone();
    let jobs: Vec<(Device, Option<SwitchRecord>)> = devices
        .all()
        .iter()
        .map(|device| (device.clone(), records.get(&device.name).cloned()))
        .collect();
    let (take_over, observer) = (options.take_over, Arc::clone(observer));
    let pipeline = Arc::clone(&desired.pipeline);
    let reports = each(jobs, options.jobs, move |(device, record)| {
        let (pipeline, observer) = (Arc::clone(&pipeline), Arc::clone(&observer));
        let store = store.clone();
        async move {
            let done = match &record {
                Some(record) => {
                    restore(&device, &pipeline, None, (&store, record), take_over).await
                }
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
        pipeline: Some(ready.program.name()),
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

//! The device behind the service: its roles, its pipelines, and the order in which batches are
//! made.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use tokio::sync::Notify;
use tonic::Status;

use super::batch::Batch;
use super::build::{Builds, PipelineBuilder};
use super::encoded::EncodedWrite;
use super::persist::Store;
use super::pipeline::{Pipeline, no_p4info};
use super::primacy::{Primacy, Step};
use super::restore;
use super::roles::{Permissions, Roles};
use super::status::batch_status;
use crate::engine::{self, EngineHandle};
use crate::translate::fast::{Reader, Short};
use crate::translate::refusal::Refusal;

/// The program that runs, and one that was saved to run later.
#[derive(Default)]
pub struct Pipelines {
    /// Packets go through this one.
    pub running: Option<Pipeline>,
    /// Reads and writes go to this one until it is committed (P4Runtime 1.5, chapter 14).
    pub saved: Option<Pipeline>,
}

impl Pipelines {
    /// What reads and writes refer to.
    #[must_use]
    pub fn current(&self) -> Option<&Pipeline> {
        self.saved.as_ref().or(self.running.as_ref())
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Pipeline> {
        self.saved.as_mut().or(self.running.as_mut())
    }
}

/// Updates of a batch that is read before it is its turn: what has been read takes more room than
/// what came.
const AHEAD: usize = 4096;

/// The device.
pub struct Switch {
    device_id: u64,
    /// The way to the data plane.
    pub engine: EngineHandle,
    /// Who may change it.
    pub primacy: Primacy,
    pub(super) builds: Builds,
    pipelines: RwLock<Pipelines>,
    /// Writers that wait for readers of the pipelines.
    writers: AtomicUsize,
    /// Changes whenever the pipelines may have.
    revision: AtomicU64,
    /// What read the last batch.
    reader: Mutex<Option<Reader>>,
    store: Mutex<Option<Store>>,
    /// Rings when notes about idle timeouts or digests may have changed.
    pub changed: Notify,
}

fn no_pipeline() -> Status {
    Status::failed_precondition(
        "no forwarding pipeline is set; use SetForwardingPipelineConfig first",
    )
}

impl Switch {
    /// A device without program, whose pushed programs `builder` builds, and whose state is kept in
    /// `store` if there is one.
    #[must_use]
    pub fn new(
        device_id: u64,
        engine: EngineHandle,
        builder: PipelineBuilder,
        store: Option<Store>,
    ) -> Self {
        Self {
            device_id,
            primacy: Primacy::new(device_id),
            builds: Builds::new(builder, engine.clone()),
            engine,
            pipelines: RwLock::default(),
            writers: AtomicUsize::new(0),
            revision: AtomicU64::new(0),
            reader: Mutex::new(None),
            store: Mutex::new(store),
            changed: Notify::new(),
        }
    }

    /// The roles.
    pub fn roles(&self) -> MutexGuard<'_, Roles> {
        self.primacy.roles()
    }

    /// The pipelines, to read.
    pub fn pipelines(&self) -> RwLockReadGuard<'_, Pipelines> {
        self.pipelines
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pipelines_mut(&self) -> RwLockWriteGuard<'_, Pipelines> {
        self.writers.fetch_add(1, Ordering::AcqRel);
        let pipelines = self.pipelines.write();
        self.writers.fetch_sub(1, Ordering::AcqRel);
        self.revision.fetch_add(1, Ordering::AcqRel);
        pipelines.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody who wants to change the pipelines waits for readers.
    #[must_use]
    pub fn writer_waits(&self) -> bool {
        self.writers.load(Ordering::Acquire) > 0
    }

    /// The pipelines' revision: while they are held to read, the same number means the same
    /// content.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    fn reader(&self) -> MutexGuard<'_, Option<Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store(&self) -> MutexGuard<'_, Option<Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device must be this one (P4Runtime 1.5, section 5.3).
    ///
    /// # Errors
    /// NOT_FOUND.
    pub fn check_device(&self, id: u64) -> Result<(), Status> {
        if id == self.device_id {
            return Ok(());
        }
        Err(Status::not_found(format!(
            "there is no device {id}; this switch is device {}",
            self.device_id
        )))
    }

    /// Leave for a batch.
    ///
    /// # Errors
    /// NOT_FOUND for another device or an unknown role, PERMISSION_DENIED for who is not its
    /// primary.
    pub async fn step_to_write(&self, request: &EncodedWrite) -> Result<Step, Status> {
        self.check_device(request.device_id)?;
        let election = request.election_id.as_ref();
        let tenure = self.primacy.admit(&request.role, election)?;
        self.primacy.step(&tenure).await
    }

    /// Makes a batch of updates (chapter 12). When it returns, the data plane has it.
    ///
    /// # Errors
    /// The status of the whole, with one error per update in its details where single updates
    /// failed; INTERNAL, and nothing is done, if an update cannot be decoded.
    pub fn write(&self, step: &Step, request: &EncodedWrite) -> Result<(), Status> {
        // While another batch is made, this one is read, unless each update is to be decoded and
        // looked at.
        let reader = self.reader().clone();
        let short = step.permissions().is_none() && request.updates.len() <= AHEAD;
        let ahead = reader.iter().filter(|_| short);
        let ahead = ahead.flat_map(|reader| reader.read(&request.updates));
        let ahead: Vec<_> = ahead.collect();
        let mut pipelines = self.pipelines_mut();
        let running = pipelines.saved.is_none();
        let pipeline = pipelines.current_mut().ok_or_else(no_pipeline)?;
        // P4Runtime 1.5, section 12.2: all three modes; both that are all-or-nothing reach the data
        // plane as a whole.
        let whole = match v1::write_request::Atomicity::try_from(request.atomicity) {
            Ok(v1::write_request::Atomicity::ContinueOnError) => false,
            Ok(_) => true,
            Err(_) => {
                let mode = request.atomicity;
                return Err(Status::invalid_argument(format!(
                    "there is no atomicity {mode}"
                )));
            }
        };
        let batch = Batch {
            engine: &self.engine,
            permissions: step.permissions(),
            restoring: false,
        };
        let current = pipeline.contents.reader();
        let is_current = reader.as_ref().is_some_and(|reader| reader.is(current));
        if !is_current {
            *self.reader() = Some(current.clone());
        }
        let ahead = if is_current { &ahead[..] } else { &[] };
        let refusals = self.put_in_force(pipeline, running, &batch, request, ahead, whole)?;
        drop(pipelines);
        self.changed.notify_one();
        if refusals.is_empty() {
            return Ok(());
        }
        Err(batch_status(request.updates.len(), &refusals))
    }

    /// Makes a batch in a pipeline, keeps it on disk if the pipeline is the one that runs, and
    /// gives it to the data plane. Refused updates come back with their places.
    pub(super) fn put_in_force(
        &self,
        pipeline: &mut Pipeline,
        running: bool,
        batch: &Batch<'_>,
        request: &EncodedWrite,
        ahead: &[Option<Short<'_>>],
        whole: bool,
    ) -> Result<Vec<(usize, Refusal)>, Refusal> {
        let schema = Arc::clone(&pipeline.contents.schema);
        let mut staging = pipeline.contents.begin();
        let refusals = batch
            .stage(&mut staging, &schema, &request.updates, ahead, whole)
            .map_err(|e| Refusal::internal(e.to_string()))?;
        if running && let Some(store) = self.store().as_mut() {
            // Nothing may be in force that would not survive: if it cannot be kept, it is taken
            // back.
            let kept = store.batch(request, &refusals, whole);
            kept.map_err(|e| Refusal::unavailable(format!("the state cannot be saved: {e}")))?;
        }
        let delta = staging.finish();
        pipeline.contents.commit(delta)?;
        if running && let Some(store) = self.store().as_mut() {
            store.compact_if_large(pipeline);
        }
        Ok(refusals)
    }

    /// Sets the pipeline (P4Runtime 1.5, chapter 14). A bad program leaves the old one running.
    /// Until the program is built nothing is held up, and the call may be dropped at any time: then
    /// nothing happens. The build ends when the client is no longer primary.
    ///
    /// # Errors
    /// See the chapter.
    pub async fn set_pipeline(
        self: Arc<Self>,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        let election = request.election_id.as_ref();
        let tenure = self.primacy.admit(&request.role, election)?;
        may_set_pipeline(self.roles().permissions(&request.role).as_ref())?;
        let change = tokio::select! {
            change = self.prepare(request) => change?,
            ended = self.primacy.end_of(&tenure) => return Err(ended),
        };
        let Some(change) = change else {
            return Ok(());
        };
        let step = self.primacy.step(&tenure).await?;
        // From here on it is done, even if nobody waits for the answer: the step goes along.
        let made = tokio::task::spawn_blocking(move || self.change(step, change)).await;
        made.map_err(|e| Status::internal(format!("setting the pipeline was cut short: {e}")))?
    }

    /// Builds what a request is about; `None` if that was all that it asked for.
    async fn prepare(
        &self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> Result<Option<Change>, Refusal> {
        let action = request.action();
        match (action, request.config) {
            (Action::Unspecified, _) => Err(Refusal::invalid(
                "the action is missing; say VERIFY, VERIFY_AND_COMMIT, ...",
            )),
            (Action::Commit, None) => Ok(Some(Change::LaunchSaved)),
            (Action::Commit, Some(_)) => Err(Refusal::invalid(
                "COMMIT takes no config: it runs the one that was saved",
            )),
            (_, None) => Err(Refusal::invalid("the config is missing")),
            (_, Some(config)) if config.p4info.is_none() => Err(no_p4info()),
            (Action::Verify, Some(config)) => {
                self.builds.verify(config).await?;
                Ok(None)
            }
            (Action::VerifyAndSave, Some(config)) => {
                Ok(Some(Change::Save(self.builds.build(config).await?)))
            }
            (Action::VerifyAndCommit, Some(config)) => {
                Ok(Some(Change::Launch(self.builds.build(config).await?)))
            }
            (Action::ReconcileAndCommit, Some(config)) => {
                Ok(Some(Change::Reconcile(self.builds.build(config).await?)))
            }
        }
    }

    /// Changes the pipelines.
    ///
    /// # Errors
    /// See chapter 14.
    pub fn change(&self, step: Step, change: Change) -> Result<(), Status> {
        may_set_pipeline(step.permissions())?;
        let retired = self.make_change(change)?;
        drop(step);
        // Freeing a large pipeline takes long, and holds up nobody here.
        drop(retired);
        Ok(())
    }

    /// Changes the pipelines, whoever asked for it; what goes out of use comes back.
    pub(super) fn make_change(&self, change: Change) -> Result<Retired, Refusal> {
        let retired = {
            let mut pipelines = self.pipelines_mut();
            match change {
                Change::Save(pipeline) => Retired {
                    _saved: pipelines.saved.replace(pipeline),
                    ..Retired::default()
                },
                Change::Launch(pipeline) => self.launch(&mut pipelines, pipeline)?,
                Change::Reconcile(mut pipeline) => {
                    if let Some(old) = &pipelines.running {
                        restore::carry_over(&self.engine, old, &mut pipeline)?;
                    }
                    self.launch(&mut pipelines, pipeline)?
                }
                Change::LaunchSaved => {
                    let saved = pipelines.saved.take().ok_or_else(|| {
                        Refusal::not_found("no config is saved; use VERIFY_AND_SAVE first")
                    })?;
                    self.launch(&mut pipelines, saved)?
                }
            }
        };
        self.changed.notify_one();
        Ok(retired)
    }

    fn launch(
        &self,
        pipelines: &mut Pipelines,
        mut pipeline: Pipeline,
    ) -> Result<Retired, Refusal> {
        if let Some(store) = self.store().as_mut() {
            let saved = store.pipeline(&pipeline);
            saved.map_err(|e| Refusal::unavailable(format!("the state cannot be saved: {e}")))?;
        }
        Ok(Retired {
            _ran: pipeline.contents.control.launch()?,
            _saved: pipelines.saved.take(),
            _running: pipelines.running.replace(pipeline),
        })
    }

    /// Runs a pipeline that the switch is started with, as if a client had pushed it. It is built
    /// here: whoever starts a switch may as well wait for its program.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a program that does not run; the old one goes on.
    pub fn load(&self, config: v1::ForwardingPipelineConfig) -> Result<(), Refusal> {
        let pipeline = Pipeline::build(&self.engine, config)?;
        self.launch(&mut self.pipelines_mut(), pipeline)?;
        self.changed.notify_one();
        Ok(())
    }

    /// Runs a pipeline that was restored from disk.
    pub(super) fn resume(&self, mut pipeline: Pipeline) -> Result<(), Refusal> {
        pipeline.contents.control.launch()?;
        self.pipelines_mut().running = Some(pipeline);
        Ok(())
    }

    /// Tells which pipeline runs (P4Runtime 1.5, chapter 15).
    ///
    /// # Errors
    /// NOT_FOUND for another device.
    pub fn get_pipeline(
        &self,
        request: &v1::GetForwardingPipelineConfigRequest,
    ) -> Result<Option<v1::ForwardingPipelineConfig>, Status> {
        self.check_device(request.device_id)?;
        let wanted = request.response_type();
        Ok(self
            .pipelines()
            .running
            .as_ref()
            .map(|p| p.response(wanted)))
    }

    /// Writes the whole state to disk, if it is kept there, and gives its folder back: nothing is
    /// saved after that.
    pub fn save(&self) {
        let pipelines = self.pipelines();
        let mut store = self.store();
        let Some(store) = store.as_mut() else { return };
        if let Some(pipeline) = &pipelines.running
            && let Err(error) = store.snapshot(pipeline)
        {
            tracing::error!(%error, "the state could not be saved");
        }
        store.close();
    }
}

/// A change of the pipelines, ready to be made.
pub enum Change {
    /// Saves a pipeline.
    Save(Pipeline),
    /// Runs it.
    Launch(Pipeline),
    /// Runs it with the state of the one that runs.
    Reconcile(Pipeline),
    /// Runs the one that was saved.
    LaunchSaved,
}

/// What a change put out of use, to be freed when nobody waits for it.
#[derive(Default)]
pub(super) struct Retired {
    _ran: engine::Retired,
    _saved: Option<Pipeline>,
    _running: Option<Pipeline>,
}

fn may_set_pipeline(permissions: Option<&Permissions>) -> Result<(), Status> {
    if permissions.is_some_and(|p| !p.pipeline) {
        return Err(Status::permission_denied(
            "the role may not set the pipeline",
        ));
    }
    Ok(())
}

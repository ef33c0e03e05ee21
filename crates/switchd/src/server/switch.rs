//! The device behind the service: its roles, its pipelines, and the order in which batches are made.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use tokio::sync::Notify;
use tonic::Status;

use super::pipeline::Pipeline;
use super::restore;
use super::roles::{Permissions, Roles};
use super::status::batch_status;
use crate::engine::EngineHandle;
use crate::persist::Store;
use crate::translate::action::Surroundings;
use crate::translate::book::Staging;
use crate::translate::refusal::Refusal;
use crate::translate::schema::Schema;
use crate::translate::subject;

/// The program that runs, and one that was saved to run later.
#[derive(Default)]
pub struct Pipelines {
    /// Packets go through this one.
    pub running: Option<Pipeline>,
    /// Reads and writes go to this one until it is committed (p4runtime.md 25).
    pub saved: Option<Pipeline>,
}

impl Pipelines {
    /// What reads and writes refer to.
    #[must_use]
    pub fn current(&self) -> Option<&Pipeline> {
        self.saved.as_ref().or(self.running.as_ref())
    }

    fn current_mut(&mut self) -> Option<&mut Pipeline> {
        self.saved.as_mut().or(self.running.as_mut())
    }
}

/// The device.
pub struct Switch {
    device_id: u64,
    /// The way to the data plane.
    pub engine: EngineHandle,
    roles: Mutex<Roles>,
    pipelines: RwLock<Pipelines>,
    store: Mutex<Option<Store>>,
    /// Writes hold it shared; a hand-over takes it alone and so waits for those in flight (p4runtime.md 7).
    pub gate: tokio::sync::RwLock<()>,
    /// Rings when notes about idle timeouts or digests may have changed.
    pub changed: Notify,
}

fn no_pipeline() -> Status {
    Status::failed_precondition(
        "no forwarding pipeline is set; use SetForwardingPipelineConfig first",
    )
}

impl Switch {
    /// A device without program, whose state is kept in `store` if there is one.
    #[must_use]
    pub fn new(device_id: u64, engine: EngineHandle, store: Option<Store>) -> Self {
        Self {
            device_id,
            engine,
            roles: Mutex::new(Roles::new(device_id)),
            pipelines: RwLock::default(),
            store: Mutex::new(store),
            gate: tokio::sync::RwLock::new(()),
            changed: Notify::new(),
        }
    }

    /// The roles.
    pub fn roles(&self) -> MutexGuard<'_, Roles> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipelines, to read.
    pub fn pipelines(&self) -> RwLockReadGuard<'_, Pipelines> {
        self.pipelines
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pipelines_mut(&self) -> RwLockWriteGuard<'_, Pipelines> {
        self.pipelines
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store(&self) -> MutexGuard<'_, Option<Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device must be this one (p4runtime.md 6).
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

    /// The checks of every write, in the order of the standard (p4runtime.md 8, 9).
    fn check_writer(
        &self,
        device: u64,
        role: &str,
        election: Option<&v1::Uint128>,
    ) -> Result<Option<Permissions>, Status> {
        self.check_device(device)?;
        let roles = self.roles();
        if !roles.knows(role) {
            return Err(Status::not_found(format!("there is no role `{role}`")));
        }
        if !roles.is_primary(role, election) {
            return Err(Status::permission_denied(
                "the election id is not that of a connected primary; arbitrate on a stream first",
            ));
        }
        Ok(roles.permissions(role))
    }

    /// Makes a batch of updates (chapter 12). When it returns, the data plane has it.
    ///
    /// # Errors
    /// The status of the whole, with one error per update in its details where single updates failed.
    pub fn write(&self, request: &v1::WriteRequest) -> Result<(), Status> {
        let election = request.election_id.as_ref();
        let permissions = self.check_writer(request.device_id, &request.role, election)?;
        let mut pipelines = self.pipelines_mut();
        let running = pipelines.saved.is_none();
        let pipeline = pipelines.current_mut().ok_or_else(no_pipeline)?;
        // p4runtime.md 21: all three modes; both that are all-or-nothing reach the data plane as a whole.
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
            permissions: permissions.as_ref(),
        };
        let schema = Arc::clone(&pipeline.book.schema);
        let mut staging = pipeline.book.begin();
        let refusals = batch.stage(&mut staging, &schema, &request.updates, whole);
        if running && let Some(store) = self.store().as_mut() {
            // Nothing may be in force that would not survive: if it cannot be kept, it is taken back.
            let kept = store.batch(request, &refusals, whole);
            kept.map_err(|e| Status::unavailable(format!("the state cannot be saved: {e}")))?;
        }
        let delta = staging.finish();
        pipeline.book.commit(delta)?;
        if running && let Some(store) = self.store().as_mut() {
            store.compact_if_large(pipeline);
        }
        drop(pipelines);
        self.changed.notify_one();
        if refusals.is_empty() {
            return Ok(());
        }
        Err(batch_status(request.updates.len(), &refusals))
    }

    /// Sets the pipeline (chapter 14; p4runtime.md 25). A bad program leaves the old one running.
    ///
    /// # Errors
    /// See the chapter.
    pub fn set_pipeline(
        &self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> Result<(), Status> {
        let election = request.election_id.as_ref();
        let permissions = self.check_writer(request.device_id, &request.role, election)?;
        if permissions.is_some_and(|p| !p.pipeline) {
            return Err(Status::permission_denied(
                "the role may not set the pipeline",
            ));
        }
        let config = request.config.clone();
        let need = || config.ok_or_else(|| Refusal::invalid("the config is missing"));
        let build = |config| Pipeline::build(&self.engine, config);
        match request.action() {
            Action::Unspecified => {
                Err(Refusal::invalid(
                    "the action is missing; say VERIFY, VERIFY_AND_COMMIT, ...",
                ))?;
            }
            Action::Verify => drop(build(need()?)?),
            Action::VerifyAndSave => self.pipelines_mut().saved = Some(build(need()?)?),
            Action::VerifyAndCommit => {
                let pipeline = build(need()?)?;
                self.launch(&mut self.pipelines_mut(), pipeline)?;
            }
            Action::Commit => {
                if request.config.is_some() {
                    Err(Refusal::invalid(
                        "COMMIT takes no config: it runs the one that was saved",
                    ))?;
                }
                let mut pipelines = self.pipelines_mut();
                let saved = pipelines.saved.take().ok_or_else(|| {
                    Refusal::not_found("no config is saved; use VERIFY_AND_SAVE first")
                })?;
                self.launch(&mut pipelines, saved)?;
            }
            Action::ReconcileAndCommit => {
                let mut pipeline = build(need()?)?;
                let mut pipelines = self.pipelines_mut();
                if let Some(old) = &pipelines.running {
                    restore::carry_over(&self.engine, old, &mut pipeline)?;
                }
                self.launch(&mut pipelines, pipeline)?;
            }
        }
        self.changed.notify_one();
        Ok(())
    }

    fn launch(&self, pipelines: &mut Pipelines, mut pipeline: Pipeline) -> Result<(), Refusal> {
        if let Some(store) = self.store().as_mut() {
            let saved = store.pipeline(&pipeline);
            saved.map_err(|e| Refusal::unavailable(format!("the state cannot be saved: {e}")))?;
        }
        pipeline.book.control.launch()?;
        pipelines.saved = None;
        pipelines.running = Some(pipeline);
        Ok(())
    }

    /// Runs a pipeline that the switch is started with, as if a client had pushed it.
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
        pipeline.book.control.launch()?;
        self.pipelines_mut().running = Some(pipeline);
        Ok(())
    }

    /// Tells which pipeline runs (chapter 15; p4runtime.md 26).
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

    /// Writes the whole state to disk, if it is kept there.
    pub fn save(&self) {
        let pipelines = self.pipelines();
        if let (Some(pipeline), Some(store)) = (&pipelines.running, self.store().as_mut())
            && let Err(error) = store.snapshot(pipeline)
        {
            tracing::error!(%error, "the state could not be saved");
        }
    }
}

/// The names by which role configs may call an object.
#[must_use]
pub fn object_names(schema: &Schema, id: Option<u32>) -> Vec<String> {
    let Some(id) = id else {
        return vec!["packet_replication_engine".to_owned()];
    };
    let arrays = [&schema.counters, &schema.meters, &schema.registers];
    let name = None
        .or_else(|| schema.tables.get(&id).map(|t| &t.name))
        .or_else(|| schema.profiles.get(&id).map(|p| &p.name))
        .or_else(|| schema.value_sets.get(&id).map(|v| &v.name))
        .or_else(|| schema.digests.get(&id).map(|d| &d.name))
        .or_else(|| arrays.iter().find_map(|a| a.get(&id)).map(|a| &a.name));
    name.cloned().into_iter().chain([id.to_string()]).collect()
}

/// What making a batch needs.
pub struct Batch<'a> {
    /// The data plane, for its ports.
    pub engine: &'a EngineHandle,
    /// What the client may do.
    pub permissions: Option<&'a Permissions>,
}

impl Batch<'_> {
    /// Makes the updates in the control plane's copy. Those refused come back with their places; if the batch is to be done as a
    /// whole and one is refused, none is done and all others are aborted.
    pub fn stage(
        &self,
        staging: &mut Staging<'_>,
        schema: &Schema,
        updates: &[v1::Update],
        whole: bool,
    ) -> Vec<(usize, Refusal)> {
        let ports = || {
            let ports = self.engine.ports().unwrap_or_default();
            ports.into_iter().map(|(port, _)| port).collect()
        };
        let around = Surroundings {
            schema,
            cpu_port: self.engine.cpu_port(),
            ports: &ports,
        };
        let start = staging.mark();
        let mut refusals = Vec::new();
        for (index, update) in updates.iter().enumerate() {
            let made = self
                .check_role(schema, update)
                .and_then(|()| staging.update(&around, update));
            let Err(refusal) = made else {
                continue;
            };
            if !whole {
                refusals.push((index, refusal));
                continue;
            }
            staging.roll_back(start);
            let others = (0..updates.len()).filter(|i| *i != index);
            let aborted = || Refusal::aborted(format!("update {index} of the atomic batch failed"));
            refusals.extend(others.map(|i| (i, aborted())));
            refusals.push((index, refusal));
            refusals.sort_by_key(|(i, _)| *i);
            return refusals;
        }
        refusals
    }

    fn check_role(&self, schema: &Schema, update: &v1::Update) -> Result<(), Refusal> {
        if let Some(permissions) = self.permissions
            && let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.as_ref())
        {
            let names = object_names(schema, subject(entity));
            if !permissions.may_write(&names) {
                let what = names.join("/");
                return Err(Refusal::denied(format!("the role may not write {what}")));
            }
        }
        Ok(())
    }
}

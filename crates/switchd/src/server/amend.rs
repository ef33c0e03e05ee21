//! Changes that come from beside P4Runtime: its arbitration does not know them. They are made in
//! the same state, one after the other with the batches of clients, and are kept on disk with them.

use std::sync::Arc;

use p4exec::Update;
use p4runtime::p4::v1;
use prost::Message as _;

use super::batch::Batch;
use super::encoded::EncodedWrite;
use super::pipeline::Pipeline;
use super::switch::{Change, Switch};
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;

fn no_pipeline() -> Refusal {
    Refusal::precondition("no program is loaded")
}

impl Switch {
    /// Makes the updates that `make` derives from the state, all or none. Nobody else changes the
    /// state in between.
    ///
    /// # Errors
    /// What `make` says; FAILED_PRECONDITION without a program; the refusal of the first update
    /// that is refused.
    pub fn amend<E: From<Refusal>>(
        &self,
        make: impl FnOnce(&PipelineState) -> Result<Vec<v1::Update>, E>,
    ) -> Result<(), E> {
        self.amend_and_look(make, |_| ())
    }

    /// The same, and hands out what `after` finds in the state then.
    ///
    /// # Errors
    /// As [`Switch::amend`].
    pub fn amend_and_look<T, E: From<Refusal>>(
        &self,
        make: impl FnOnce(&PipelineState) -> Result<Vec<v1::Update>, E>,
        after: impl FnOnce(&PipelineState) -> T,
    ) -> Result<T, E> {
        let mut pipelines = self.pipelines_mut();
        let running = pipelines.saved.is_none();
        let pipeline = pipelines.current_mut().ok_or_else(no_pipeline)?;
        let updates = make(&pipeline.contents)?;
        let request = EncodedWrite {
            updates: updates.iter().map(|u| u.encode_to_vec().into()).collect(),
            ..EncodedWrite::default()
        };
        let batch = Batch {
            engine: &self.engine,
            permissions: None,
            restoring: false,
        };
        let refusals = self.put_in_force(pipeline, running, &batch, &request, &[], true)?;
        let first = refusals
            .into_iter()
            .map(|(_, refusal)| refusal)
            .find(|refusal| refusal.code != tonic::Code::Aborted);
        if let Some(refusal) = first {
            return Err(refusal.into());
        }
        let found = after(&pipeline.contents);
        drop(pipelines);
        self.changed.notify_one();
        Ok(found)
    }

    /// Makes an update of the state that P4Runtime has no message for. It is not kept on disk.
    ///
    /// # Errors
    /// FAILED_PRECONDITION without a program; why the state refuses it.
    pub fn amend_state(&self, update: Update) -> Result<(), Refusal> {
        let mut pipelines = self.pipelines_mut();
        let pipeline = pipelines.current_mut().ok_or_else(no_pipeline)?;
        let mut staging = pipeline.contents.begin();
        staging.apply(update)?;
        let delta = staging.finish();
        pipeline.contents.commit(delta)
    }

    /// Builds a configuration, and runs it or saves it to be run by [`Switch::run_saved`].
    ///
    /// # Errors
    /// As SetForwardingPipelineConfig: a bad program leaves the old one running.
    pub async fn install(
        self: &Arc<Self>,
        config: v1::ForwardingPipelineConfig,
        save: bool,
    ) -> Result<(), Refusal> {
        let pipeline: Pipeline = self.builds.build(config).await?;
        self.make_change(match save {
            true => Change::Save(pipeline),
            false => Change::Launch(pipeline),
        })
        .map(drop)
    }

    /// Runs the configuration that was saved.
    ///
    /// # Errors
    /// NOT_FOUND if none was.
    pub fn run_saved(&self) -> Result<(), Refusal> {
        self.make_change(Change::LaunchSaved).map(drop)
    }
}

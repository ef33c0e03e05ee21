//! The service: each call with the checks of its chapter; the work is in [`super::switch`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_runtime_server::P4Runtime;
use tokio::sync::{mpsc, watch};
use tokio_stream::Stream as MessageStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::roles::{OUTBOX, Permissions};
use super::status::batch_status;
use super::stream::{Shared, Stream};
use super::switch::{Switch, object_names};
use crate::translate::refusal::Refusal;
use crate::translate::{self, subject};

/// The version of the standard that is served (p4runtime.md 28).
pub const API_VERSION: &str = "1.5.0";

/// Updates that are made on the connection's own task; larger batches must not hold up other connections.
const INLINE: usize = 4096;

/// Entities in one answer of a read.
const CHUNK: usize = 1024;

/// Answers of a read that wait for the client.
const CHUNKS: usize = 8;

/// How long writers wait for a client that reads slowly, before the rest of its answer is kept in memory.
const PATIENCE: Duration = Duration::from_secs(1);

type Answers<T> = Pin<Box<dyn MessageStream<Item = Result<T, Status>> + Send>>;

/// See the module's documentation.
pub struct Service {
    shared: Shared,
    streams: AtomicU64,
    stopping: watch::Receiver<bool>,
}

impl Service {
    /// The service of a device; `stopping` ends the streams.
    #[must_use]
    pub const fn new(shared: Shared, stopping: watch::Receiver<bool>) -> Self {
        Self {
            shared,
            streams: AtomicU64::new(1),
            stopping,
        }
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    async fn write(
        &self,
        request: Request<v1::WriteRequest>,
    ) -> Result<Response<v1::WriteResponse>, Status> {
        let request = request.into_inner();
        let switch = Arc::clone(&self.shared.switch);
        let step = switch.step_to_write(&request).await?;
        if request.updates.len() <= INLINE {
            switch.write(&step, &request)?;
        } else {
            // The step goes along: if the call is cancelled, the batch is made all the same.
            let written = tokio::task::spawn_blocking(move || switch.write(&step, &request)).await;
            written.map_err(|e| Status::internal(format!("the write was cut short: {e}")))??;
        }
        Ok(Response::new(v1::WriteResponse {}))
    }

    type ReadStream = Answers<v1::ReadResponse>;

    async fn read(
        &self,
        request: Request<v1::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let switch = Arc::clone(&self.shared.switch);
        switch.check_device(request.device_id)?;
        let permissions = {
            let roles = switch.roles();
            if !roles.knows(&request.role) {
                return Err(Status::not_found(format!(
                    "there is no role `{}`",
                    request.role
                )));
            }
            roles.permissions(&request.role)
        };
        if switch.pipelines().current().is_none() {
            return Err(Status::failed_precondition(
                "no forwarding pipeline is set; use SetForwardingPipelineConfig first",
            ));
        }
        let (sender, receiver) = mpsc::channel(CHUNKS);
        tokio::task::spawn_blocking(move || {
            Reading::new(sender).run(&switch, &request, permissions.as_ref());
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let switch = Arc::clone(&self.shared.switch);
        let mut stopping = self.stopping.clone();
        tokio::select! {
            set = switch.set_pipeline(request.into_inner()) => set?,
            _ = stopping.wait_for(|stop| *stop) => {
                return Err(Status::unavailable("the switch is stopping"));
            }
        }
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let config = self.shared.switch.get_pipeline(request.get_ref())?;
        Ok(Response::new(v1::GetForwardingPipelineConfigResponse {
            config,
        }))
    }

    type StreamChannelStream = Answers<v1::StreamMessageResponse>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let id = self.streams.fetch_add(1, Ordering::Relaxed);
        let (outbox, receiver) = mpsc::channel(OUTBOX);
        let stream = Stream::new(self.shared.clone(), id, outbox.clone());
        let mut stopping = self.stopping.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stream.serve(request.into_inner()) => {}
                _ = stopping.wait_for(|stop| *stop) => {
                    let _ = outbox.try_send(Err(Status::unavailable("the switch is stopping")));
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn capabilities(
        &self,
        request: Request<v1::CapabilitiesRequest>,
    ) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        let device = request.get_ref().device_id;
        if device != 0 {
            self.shared.switch.check_device(device)?;
        }
        Ok(Response::new(v1::CapabilitiesResponse {
            p4runtime_api_version: API_VERSION.to_owned(),
            experimental: None,
        }))
    }
}

/// One read: entities are gathered into answers while the state is held, so that all show one moment (chapter 13). A client that is
/// slow holds up writers for [`PATIENCE`] in all; after that what it has not taken waits in memory.
struct Reading {
    sender: mpsc::Sender<Result<v1::ReadResponse, Status>>,
    answer: v1::ReadResponse,
    waited: Duration,
    overflow: Vec<v1::ReadResponse>,
}

impl Reading {
    const fn new(sender: mpsc::Sender<Result<v1::ReadResponse, Status>>) -> Self {
        Self {
            sender,
            answer: v1::ReadResponse {
                entities: Vec::new(),
            },
            waited: Duration::ZERO,
            overflow: Vec::new(),
        }
    }

    fn run(
        mut self,
        switch: &Switch,
        request: &v1::ReadRequest,
        permissions: Option<&Permissions>,
    ) {
        let pipelines = switch.pipelines();
        let Some(pipeline) = pipelines.current() else {
            return;
        };
        let book = &pipeline.book;
        let mut refusals: Vec<(usize, Refusal)> = Vec::new();
        for (index, asked) in request.entities.iter().enumerate() {
            let read = translate::read(book, asked.entity.as_ref(), &mut |entity| {
                if permissions
                    .is_none_or(|p| p.may_read(&object_names(&book.schema, subject(&entity))))
                {
                    self.put(entity);
                }
            });
            if let Err(refusal) = read {
                refusals.push((index, refusal));
            }
        }
        self.flush();
        drop(pipelines);
        for answer in std::mem::take(&mut self.overflow) {
            if self.sender.blocking_send(Ok(answer)).is_err() {
                return;
            }
        }
        if !refusals.is_empty() {
            let status = batch_status(request.entities.len(), &refusals);
            // A client that has gone needs no status.
            let _ = self.sender.blocking_send(Err(status));
        }
    }

    fn put(&mut self, entity: v1::entity::Entity) {
        if self.answer.entities.capacity() == 0 {
            self.answer.entities.reserve_exact(CHUNK);
        }
        self.answer.entities.push(v1::Entity {
            entity: Some(entity),
        });
        if self.answer.entities.len() >= CHUNK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.answer.entities.is_empty() {
            return;
        }
        let answer = std::mem::take(&mut self.answer);
        if !self.overflow.is_empty() {
            self.overflow.push(answer);
            return;
        }
        let full = match self.sender.try_send(Ok(answer)) {
            Err(mpsc::error::TrySendError::Full(Ok(answer))) => answer,
            // Sent, or the client has gone.
            _ => return,
        };
        let left = PATIENCE.saturating_sub(self.waited);
        let began = std::time::Instant::now();
        let room = async { tokio::time::timeout(left, self.sender.reserve()).await };
        match tokio::runtime::Handle::current().block_on(room) {
            Ok(Ok(permit)) => permit.send(Ok(full)),
            Ok(Err(_)) => {}
            Err(_) => self.overflow.push(full),
        }
        self.waited += began.elapsed();
    }
}

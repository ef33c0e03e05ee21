//! The service: each call with the checks of its chapter; the work is in [`super::switch`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_runtime_server::P4Runtime;
use prost::Message as _;
use tokio::sync::watch;
use tokio_stream::Stream as MessageStream;
use tonic::{Request, Response, Status, Streaming};

use super::connections::Client;
use super::encoded::EncodedWrite;
use super::guard::Holds;
use super::limits::{Limits, Permit, Places};
use super::outbox::{Inbox, Outbox};
use super::reads::{AnswerStream, Reads};
use super::stream::{Shared, Stream};

/// The version of the standard that is served (P4Runtime 1.5, chapter 17).
pub const API_VERSION: &str = "1.5.0";

/// Updates that are made on the connection's own task; larger batches must not hold up other
/// connections.
const INLINE: usize = 4096;

type Answers<T> = Pin<Box<dyn MessageStream<Item = Result<T, Status>> + Send>>;

/// What a stream's client hears, while the stream has its place.
pub struct StreamResponses {
    inbox: Inbox,
    _places: (Permit, Permit),
}

impl MessageStream for StreamResponses {
    type Item = Result<v1::StreamMessageResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.inbox).poll_next(context)
    }
}

/// See the module's documentation.
pub struct Service {
    shared: Shared,
    reads: Arc<Reads>,
    /// Memory for answers that wait for clients.
    answers: Arc<Places>,
    ids: AtomicU64,
    streams: Arc<Places>,
    /// Memory for what waits for the clients of streams.
    outboxes: Arc<Places>,
    stopping: watch::Receiver<bool>,
}

impl Service {
    /// The service of a device; `stopping` ends the streams.
    #[must_use]
    pub fn new(shared: Shared, stopping: watch::Receiver<bool>) -> Self {
        let limits = shared.limits;
        let answers = Places::new(limits.answers);
        Self {
            shared,
            reads: Reads::new(limits, Arc::clone(&answers)),
            answers,
            ids: AtomicU64::new(1),
            streams: Places::new(limits.streams),
            outboxes: Places::new(limits.outboxes),
            stopping,
        }
    }

    /// The limits of the server.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.shared.limits
    }

    fn client<T>(&self, request: &Request<T>) -> Arc<Client> {
        Client::of(request.extensions()).unwrap_or_else(|| Client::new(0, &self.limits()))
    }

    /// Write (chapter 12).
    ///
    /// # Errors
    /// See the chapter.
    pub async fn make_write(&self, request: EncodedWrite) -> Result<(), Status> {
        let switch = Arc::clone(&self.shared.switch);
        let step = switch.step_to_write(&request).await?;
        if request.updates.len() <= INLINE {
            return switch.write(&step, &request);
        }
        // The step goes along: if the call is cancelled, the batch is made all the same.
        let written = tokio::task::spawn_blocking(move || switch.write(&step, &request)).await;
        written.map_err(|e| Status::internal(format!("the write was cut short: {e}")))?
    }

    /// Read (chapter 13): checks what is to be checked first, and starts it.
    ///
    /// # Errors
    /// See the chapter; RESOURCE_EXHAUSTED where there are too many.
    pub async fn start_read(
        &self,
        request: Request<v1::ReadRequest>,
    ) -> Result<Response<AnswerStream>, Status> {
        let client = self.client(&request);
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
        let reading = self.reads.start(&client, switch, request, permissions);
        Ok(Response::new(reading.await?))
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    async fn write(
        &self,
        _: Request<v1::WriteRequest>,
    ) -> Result<Response<v1::WriteResponse>, Status> {
        Err(elsewhere("Write"))
    }

    type ReadStream = Answers<v1::ReadResponse>;

    async fn read(
        &self,
        _: Request<v1::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        Err(elsewhere("Read"))
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
        let bytes = config
            .as_ref()
            .map_or(0, v1::ForwardingPipelineConfig::encoded_len);
        let memory = self.answers.take(bytes).ok_or_else(|| {
            Status::resource_exhausted("too many clients do not take their answers; try again")
        })?;
        let response = v1::GetForwardingPipelineConfigResponse { config };
        let mut response = Response::new(response);
        response.extensions_mut().insert(Holds(Arc::new(memory)));
        Ok(response)
    }

    type StreamChannelStream = StreamResponses;

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let client = self.client(&request);
        let places = client.streams.take(1).zip(self.streams.take(1));
        let places = places.ok_or_else(|| {
            Status::resource_exhausted(format!(
                "there are {} streams of this connection and {} in all already; {} and {} may be",
                client.streams.taken(),
                self.streams.taken(),
                client.streams.most(),
                self.streams.most()
            ))
        })?;
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (outbox, inbox) = Outbox::new(self.limits().outbox, Arc::clone(&self.outboxes));
        let stream = Stream::new(self.shared.clone(), id, outbox.clone());
        let mut stopping = self.stopping.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stream.serve(request.into_inner()) => {}
                _ = stopping.wait_for(|stop| *stop) => {
                    outbox.end(Status::unavailable("the switch is stopping"));
                }
            }
        });
        Ok(Response::new(StreamResponses {
            inbox,
            _places: places,
        }))
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

/// What the generated trait's own Read and Write would answer; [`super::calls`] takes them.
fn elsewhere(call: &str) -> Status {
    Status::internal(format!("{call} has a codec of its own"))
}

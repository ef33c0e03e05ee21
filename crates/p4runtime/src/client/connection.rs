//! Calls to a server, each within a time, and the stream.

use std::sync::Arc;
use std::time::Duration;

use crate::p4::v1::p4_runtime_client::P4RuntimeClient;
use crate::p4::v1::{
    self, get_forwarding_pipeline_config_request::ResponseType, stream_message_request,
    stream_message_response,
};
use prost::bytes::Bytes;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};

use super::encoded::EncodedWrites;

/// Messages of ours that may wait on the stream.
const STREAM_DEPTH: usize = 64;

/// A server did not answer in time: the cause of a DEADLINE_EXCEEDED that is made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no answer in {} s", .0.as_secs_f64())]
pub struct NoAnswer(pub Duration);

/// A connection to a server. Clones share it.
#[derive(Clone, Debug)]
pub struct Connection {
    channel: Channel,
    rpc: P4RuntimeClient<Channel>,
    timeout: Duration,
}

impl Connection {
    /// Over a transport; each answer may take `timeout`.
    #[must_use]
    pub fn new(channel: Channel, timeout: Duration) -> Self {
        let rpc = P4RuntimeClient::new(channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        Self {
            channel,
            rpc,
            timeout,
        }
    }

    /// The calls as they are, for what no client should do: nothing limits their time.
    #[must_use]
    pub fn rpc(&self) -> P4RuntimeClient<Channel> {
        self.rpc.clone()
    }

    /// Capabilities: the version of P4Runtime that the server names.
    ///
    /// # Errors
    /// The server's status, or [`NoAnswer`].
    pub async fn api_version(&self, device_id: u64) -> Result<String, Status> {
        let request = v1::CapabilitiesRequest { device_id };
        let mut rpc = self.rpc();
        let answer = self.in_time(rpc.capabilities(request)).await?;
        Ok(answer.into_inner().p4runtime_api_version)
    }

    /// GetForwardingPipelineConfig, as much of it as `what` says.
    ///
    /// # Errors
    /// The server's status, or [`NoAnswer`].
    pub async fn pipeline(
        &self,
        device_id: u64,
        what: ResponseType,
    ) -> Result<Option<v1::ForwardingPipelineConfig>, Status> {
        let request = v1::GetForwardingPipelineConfigRequest {
            device_id,
            response_type: what.into(),
        };
        let mut rpc = self.rpc();
        let answer = self.in_time(rpc.get_forwarding_pipeline_config(request));
        Ok(answer.await?.into_inner().config)
    }

    /// SetForwardingPipelineConfig.
    ///
    /// # Errors
    /// The server's status, or [`NoAnswer`].
    pub async fn set_pipeline(
        &self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> Result<(), Status> {
        let mut rpc = self.rpc();
        let call = rpc.set_forwarding_pipeline_config(request);
        self.in_time(call).await.map(drop)
    }

    /// Write.
    ///
    /// # Errors
    /// The server's status, or [`NoAnswer`].
    pub async fn write(&self, request: v1::WriteRequest) -> Result<(), Status> {
        let mut rpc = self.rpc();
        self.in_time(rpc.write(request)).await.map(drop)
    }

    /// Write of a request that was encoded beforehand.
    ///
    /// # Errors
    /// The server's status, or [`NoAnswer`].
    pub async fn write_encoded(&self, request: Bytes) -> Result<(), Status> {
        let mut rpc = Grpc::new(self.channel.clone());
        let path = PathAndQuery::from_static("/p4.v1.P4Runtime/Write");
        let call = async {
            let ready = rpc.ready().await;
            ready.map_err(|error| Status::unavailable(error.to_string()))?;
            rpc.unary(Request::new(request), path, EncodedWrites).await
        };
        self.in_time(call).await.map(drop)
    }

    /// Read: all entities, however many messages they come in.
    ///
    /// # Errors
    /// The server's status, also in the middle, or [`NoAnswer`].
    pub async fn read(&self, request: v1::ReadRequest) -> Result<Vec<v1::Entity>, Status> {
        let mut found = Vec::new();
        let take = |message: v1::ReadResponse| found.extend(message.entities);
        self.read_each(request, take).await?;
        Ok(found)
    }

    /// Read, message by message.
    ///
    /// # Errors
    /// As [`Connection::read`].
    pub async fn read_each(
        &self,
        request: v1::ReadRequest,
        mut take: impl FnMut(v1::ReadResponse),
    ) -> Result<(), Status> {
        let mut rpc = self.rpc();
        let mut answers = self.in_time(rpc.read(request)).await?.into_inner();
        while let Some(message) = self.in_time(answers.message()).await? {
            take(message);
        }
        Ok(())
    }

    /// StreamChannel. What is said first is sent before the server answers: some servers send
    /// nothing, not even headers, until they were asked.
    ///
    /// # Errors
    /// The server's status, or [`NoAnswer`].
    pub async fn stream(
        &self,
        first: Option<stream_message_request::Update>,
    ) -> Result<Stream, Status> {
        let (requests, queue) = mpsc::channel(STREAM_DEPTH);
        let mut rpc = self.rpc();
        let opened = rpc.stream_channel(ReceiverStream::new(queue));
        if let Some(first) = first {
            say(&requests, first).await;
        }
        let answers = self.in_time(opened).await.map(Response::into_inner)?;
        Ok(Stream {
            requests,
            answers,
            timeout: self.timeout,
        })
    }

    async fn in_time<T>(&self, call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        in_time(self.timeout, call).await
    }
}

/// A stream to a server; it ends when this is dropped.
#[derive(Debug)]
pub struct Stream {
    requests: mpsc::Sender<v1::StreamMessageRequest>,
    answers: Streaming<v1::StreamMessageResponse>,
    timeout: Duration,
}

impl Stream {
    /// Sends a message; `false` if the server has ended the stream.
    pub async fn say(&self, update: stream_message_request::Update) -> bool {
        say(&self.requests, update).await
    }

    /// The next message, whenever it comes; `None` when the server ends the stream.
    ///
    /// # Errors
    /// The status with which the server ended the stream.
    pub async fn next(&mut self) -> Result<Option<stream_message_response::Update>, Status> {
        loop {
            match self.answers.message().await? {
                None => return Ok(None),
                Some(message) if message.update.is_some() => return Ok(message.update),
                Some(_) => {}
            }
        }
    }

    /// The next answer to a bid; other messages are passed over. `None` when the server ends the
    /// stream.
    ///
    /// # Errors
    /// The status with which the server ended the stream, or [`NoAnswer`].
    pub async fn arbitration(&mut self) -> Result<Option<v1::MasterArbitrationUpdate>, Status> {
        let timeout = self.timeout;
        loop {
            match in_time(timeout, self.next()).await? {
                None => return Ok(None),
                Some(stream_message_response::Update::Arbitration(update)) => {
                    return Ok(Some(update));
                }
                Some(_) => {}
            }
        }
    }
}

async fn say(
    requests: &mpsc::Sender<v1::StreamMessageRequest>,
    update: stream_message_request::Update,
) -> bool {
    let update = Some(update);
    let sent = requests.send(v1::StreamMessageRequest { update }).await;
    sent.is_ok()
}

async fn in_time<T>(
    timeout: Duration,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let answer = tokio::time::timeout(timeout, call).await;
    answer.unwrap_or_else(|_| {
        let silence = NoAnswer(timeout);
        let mut status = Status::deadline_exceeded(silence.to_string());
        status.set_source(Arc::new(silence));
        Err(status)
    })
}

//! One device over BF Runtime: a connection, and a session in which we may write.
//!
//! A client subscribes under a number of its own and binds itself to one program; only one client
//! may be bound to a program. Reading needs neither. There are no election ids: what is bound by
//! somebody is theirs, unless we are told to take over, and then write to the program without being
//! bound to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use p4gen::capabilities::Api;
use p4runtime::client::ConnectError;
use p4runtime::p4::v1::{self, write_request::Atomicity};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::protocol::proto::bf_runtime_client::BfRuntimeClient;
use super::protocol::proto::{
    self, set_forwarding_pipeline_config_request::Action, stream_message_request,
    stream_message_response, write_request,
};
use super::{EntityTranslation, Schema};
use crate::desired::DesiredPipeline;
use crate::entity;
use crate::state::SwitchState;
use crate::{Device, Endpoint, RemoteError};

/// The number under which we subscribe unless the devices file has another.
pub const CLIENT_ID: u32 = 5377;

/// All pipes of a device, both directions, all parsers.
const ALL_PIPES: u32 = 0xffff;
const ALL: u32 = 0xff;
/// Messages that may wait on the stream.
const STREAM_DEPTH: usize = 16;
/// How long a predecessor's session may take to die before its number and its program are free
/// again.
const PREDECESSOR: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const ATTEMPT: Duration = Duration::from_millis(50);

/// A device that we talk to.
#[derive(Debug)]
pub struct Client {
    rpc: BfRuntimeClient<Channel>,
    endpoint: Endpoint,
    /// The device's name for the program.
    program: String,
    client_id: u32,
    pipeline: Arc<DesiredPipeline>,
    /// The device's tables, once it was asked for them.
    translation: Option<EntityTranslation>,
    session: Option<Session>,
}

/// The stream that keeps us subscribed; it ends when this is dropped.
#[derive(Debug)]
struct Session {
    requests: mpsc::Sender<proto::StreamMessageRequest>,
    /// Reads what the device sends, so that it never waits for us.
    reader: tokio::task::JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// [`RemoteError::Connect`].
    pub async fn connect(
        device: &Device,
        pipeline: &Arc<DesiredPipeline>,
    ) -> Result<Self, RemoteError> {
        let channel = device.endpoint.channel().await?;
        let program = device.p4_name.clone();
        Ok(Self {
            rpc: BfRuntimeClient::new(channel)
                .max_decoding_message_size(usize::MAX)
                .max_encoding_message_size(usize::MAX),
            endpoint: device.endpoint.clone(),
            program: program.unwrap_or_else(|| pipeline.program.clone()),
            client_id: device.client_id.unwrap_or(CLIENT_ID),
            pipeline: Arc::clone(pipeline),
            translation: None,
            session: None,
        })
    }

    /// Subscribes and binds itself to the program. Both are tried for some seconds: a predecessor
    /// that was killed may still be there. With `take_over` a program that somebody else is bound
    /// to is written to all the same.
    ///
    /// # Errors
    /// [`RemoteError::OtherProgram`]; [`RemoteError::Taken`] where somebody else is bound;
    /// refusals; an unreachable device.
    pub async fn bind(&mut self, take_over: bool) -> Result<(), RemoteError> {
        // One cannot be bound to a program that is not there, and should not be to another than the
        // build's.
        self.translation = Some(self.ask_for_tables().await?);
        let deadline = tokio::time::Instant::now() + PREDECESSOR;
        loop {
            let error = match self.subscribe().await {
                Ok(session) => {
                    self.session = Some(session);
                    break;
                }
                Err(error) => error,
            };
            if error.unreachable() || tokio::time::Instant::now() >= deadline {
                return Err(error);
            }
            tokio::time::sleep(ATTEMPT).await;
        }
        loop {
            let error = match self.bind_once().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if error.code() != Some(Code::AlreadyExists) {
                return Err(error);
            }
            if take_over {
                return Ok(());
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(RemoteError::Taken {
                    program: format!("`{}` at {}", self.program, self.endpoint.address),
                    words: error.to_string(),
                });
            }
            tokio::time::sleep(ATTEMPT).await;
        }
    }

    async fn subscribe(&mut self) -> Result<Session, RemoteError> {
        let (requests, queue) = mpsc::channel(STREAM_DEPTH);
        let subscribe = proto::Subscribe {
            device_id: self.device_id(),
            notifications: Some(proto::subscribe::Notifications::default()),
            ..Default::default()
        };
        let message = proto::StreamMessageRequest {
            client_id: self.client_id,
            update: Some(stream_message_request::Update::Subscribe(subscribe)),
        };
        // The queue has room: nothing was sent yet.
        let _ = requests.send(message).await;
        let rpc = "StreamChannel";
        let opened = self.rpc.stream_channel(ReceiverStream::new(queue));
        let opened = within(&self.endpoint, rpc, opened).await?;
        let mut answers = opened
            .map_err(|status| self.error(rpc, &status))?
            .into_inner();
        loop {
            let answer = within(&self.endpoint, rpc, answers.message()).await?;
            let answer = answer.map_err(|status| self.error(rpc, &status))?;
            let answer =
                answer.ok_or_else(|| self.protocol("it closed the stream without a word"))?;
            let Some(stream_message_response::Update::Subscribe(answer)) = answer.update else {
                continue;
            };
            let status = answer.status.unwrap_or_default();
            if status.code != 0 {
                let status = Status::new(Code::from_i32(status.code), status.message);
                return Err(self.error(rpc, &status));
            }
            let reader = tokio::spawn(async move { while answers.next().await.is_some() {} });
            return Ok(Session { requests, reader });
        }
    }

    async fn bind_once(&mut self) -> Result<(), RemoteError> {
        let request = proto::SetForwardingPipelineConfigRequest {
            device_id: self.device_id(),
            client_id: self.client_id,
            action: Action::Bind.into(),
            config: vec![proto::ForwardingPipelineConfig {
                p4_name: self.program.clone(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let rpc = "SetForwardingPipelineConfig (BIND)";
        let call = self.rpc.set_forwarding_pipeline_config(request);
        let answer = within(&self.endpoint, rpc, call).await?;
        answer.map(drop).map_err(|status| self.error(rpc, &status))
    }

    /// Whether the session still stands.
    #[must_use]
    pub fn is_subscribed(&self) -> bool {
        let alive = |s: &Session| !s.requests.is_closed() && !s.reader.is_finished();
        self.session.as_ref().is_some_and(alive)
    }

    /// Reads everything: that the program is the build's, and what its tables hold.
    ///
    /// # Errors
    /// [`RemoteError::OtherProgram`] where it is another program or version; an unreachable device;
    /// refusals.
    pub async fn state(&mut self) -> Result<SwitchState, RemoteError> {
        self.translation = Some(self.ask_for_tables().await?);
        Ok(SwitchState {
            pipeline: Some(self.pipeline.message(Vec::new())),
            entities: self.entities().await?,
            unreadable: BTreeSet::new(),
        })
    }

    async fn ask_for_tables(&mut self) -> Result<EntityTranslation, RemoteError> {
        let request = proto::GetForwardingPipelineConfigRequest {
            device_id: self.device_id(),
            client_id: self.client_id,
        };
        let rpc = "GetForwardingPipelineConfig";
        let call = self.rpc.get_forwarding_pipeline_config(request);
        let answer = within(&self.endpoint, rpc, call).await?;
        let configs = answer
            .map_err(|status| {
                let address = &self.endpoint.address;
                RemoteError::of_required(address, Api::BfRuntime, rpc, &status)
            })?
            .into_inner()
            .config;
        let Some(config) = configs.iter().find(|c| c.p4_name == self.program) else {
            return Err(self.without_program(&configs));
        };
        let schema = Schema::parse(&config.bfruntime_info)
            .map_err(|error| RemoteError::Foreign(error.to_string()))?;
        let (theirs, ours) = (schema.mark(), &self.pipeline.mark);
        if theirs != *ours {
            let said = |mark: &Option<String>| match mark {
                Some(mark) => format!("`{mark}`"),
                None => "not one of Switchwright's builds".to_owned(),
            };
            return Err(self.another_version(&format!(
                "it says of itself: {}; the build is {}",
                said(&theirs),
                said(ours)
            )));
        }
        EntityTranslation::new(schema, &self.pipeline.info)
            .map_err(|difference| self.another_version(&difference))
    }

    fn without_program(&self, configs: &[proto::ForwardingPipelineConfig]) -> RemoteError {
        let names: Vec<String> = configs.iter().map(|c| format!("`{}`", c.p4_name)).collect();
        RemoteError::OtherProgram {
            found: format!(
                "{} has {}",
                self.endpoint.address,
                if names.is_empty() {
                    "no program".to_owned()
                } else {
                    names.join(", ")
                }
            ),
            wanted: format!("`{}`, {}", self.program, self.pipeline.name),
            mend: "compile the build's program and start the device with it (docs/on-tofino.md); if it is there under \
                   another name, say so with `p4_name` in the devices file",
        }
    }

    fn another_version(&self, difference: &str) -> RemoteError {
        RemoteError::OtherProgram {
            found: format!(
                "{} has another version of `{}` ({difference})",
                self.endpoint.address, self.program
            ),
            wanted: self.pipeline.name.clone(),
            mend: "compile the build's program and start the device with it (docs/on-tofino.md), or push the build that \
                   it runs",
        }
    }

    /// Every entity that the device holds.
    ///
    /// # Errors
    /// Refusals; an unreachable device; entries that do not fit the program.
    pub async fn entities(&mut self) -> Result<entity::Entities, RemoteError> {
        let Some(translation) = self.translation.clone() else {
            return Err(self.protocol("its tables are not known yet"));
        };
        let mut entities = entity::Entities::new();
        for table in translation.tables() {
            for entry in self.read_table(table).await? {
                let info = &self.pipeline.info;
                let found = translation
                    .entity(&entry, info)
                    .map_err(RemoteError::Foreign)?;
                let Some(found) = found else { continue };
                let canonical = entity::canonical(&found, info)
                    .map_err(|error| RemoteError::Foreign(error.to_string()))?;
                entities.extend(canonical);
            }
        }
        Ok(entities)
    }

    async fn read_table(&mut self, table_id: u32) -> Result<Vec<proto::TableEntry>, RemoteError> {
        let entry = proto::TableEntry {
            table_id,
            ..Default::default()
        };
        let request = proto::ReadRequest {
            target: Some(self.target()),
            client_id: self.client_id,
            entities: vec![proto::Entity {
                entity: Some(proto::entity::Entity::TableEntry(entry)),
            }],
            p4_name: self.program.clone(),
        };
        let opened = within(&self.endpoint, "Read", self.rpc.read(request)).await?;
        let mut answers = opened
            .map_err(|status| self.error("Read", &status))?
            .into_inner();
        let mut found = Vec::new();
        loop {
            match within(&self.endpoint, "Read", answers.message()).await? {
                Ok(Some(answer)) => found.extend(answer.entities.into_iter().filter_map(|e| {
                    let proto::entity::Entity::TableEntry(entry) = e.entity?;
                    Some(entry)
                })),
                Ok(None) => return Ok(found),
                Err(status) => return Err(self.error("Read", &status)),
            }
        }
    }

    /// Writes one batch, in the order of its updates.
    ///
    /// # Errors
    /// [`RemoteError::Updates`] with every refused update; [`RemoteError::Cannot`] for what BF
    /// Runtime has no place for; other refusals; an unreachable device.
    pub async fn write(
        &mut self,
        updates: &[v1::Update],
        atomicity: Atomicity,
    ) -> Result<(), RemoteError> {
        let Some(translation) = &self.translation else {
            return Err(self.protocol("its tables are not known yet"));
        };
        let info = &self.pipeline.info;
        let translated = updates
            .iter()
            .map(|update| translation.update(update, info));
        let translated: Result<Vec<proto::Update>, String> = translated.collect();
        let translated = translated.map_err(|words| RemoteError::Cannot {
            what: format!("be given an entry of the build over BF Runtime: {words}"),
        })?;
        let count = translated.len();
        let request = proto::WriteRequest {
            target: Some(self.target()),
            client_id: self.client_id,
            updates: translated,
            atomicity: match atomicity {
                Atomicity::ContinueOnError => write_request::Atomicity::ContinueOnError,
                Atomicity::RollbackOnError => write_request::Atomicity::RollbackOnError,
                Atomicity::DataplaneAtomic => write_request::Atomicity::DataplaneAtomic,
            }
            .into(),
            p4_name: self.program.clone(),
        };
        let answer = within(&self.endpoint, "Write", self.rpc.write(request)).await?;
        answer
            .map(drop)
            .map_err(|status| RemoteError::of(&self.endpoint.address, "Write", &status, count))
    }

    fn device_id(&self) -> u32 {
        // The devices file has no larger ones for BF Runtime.
        u32::try_from(self.endpoint.device_id).unwrap_or(u32::MAX)
    }

    fn target(&self) -> proto::TargetDevice {
        proto::TargetDevice {
            device_id: self.device_id(),
            pipe_id: ALL_PIPES,
            direction: ALL,
            prsr_id: ALL,
        }
    }

    fn error(&self, rpc: &'static str, status: &Status) -> RemoteError {
        RemoteError::of(&self.endpoint.address, rpc, status, 0)
    }

    fn protocol(&self, what: &str) -> RemoteError {
        RemoteError::Protocol {
            address: self.endpoint.address.clone(),
            api: "BF Runtime",
            what: what.to_owned(),
        }
    }
}

/// Waits for one answer, as long as the endpoint allows.
async fn within<T>(
    endpoint: &Endpoint,
    rpc: &'static str,
    call: impl Future<Output = T>,
) -> Result<T, RemoteError> {
    let answer = tokio::time::timeout(endpoint.timeout, call).await;
    answer.map_err(|_| {
        RemoteError::Connect(ConnectError::Unreachable {
            address: endpoint.address.clone(),
            reason: format!("no answer to {rpc} in {} s", endpoint.timeout.as_secs_f64()),
        })
    })
}

//! One switch: a connection, and a session in which we are its primary client.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::{
    self, get_forwarding_pipeline_config_request, set_forwarding_pipeline_config_request,
    stream_message_request, stream_message_response, write_request,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};
use tonic::{Code, Status};

use super::error::RemoteError;

/// Room for the `details` of a refused Write: one error per update travels in a header.
const HEADERS_MAX: u32 = 16 << 20;
/// Messages that may wait on the stream in either direction.
const STREAM_DEPTH: usize = 64;
/// How long a predecessor's session may take to die before its election id is free again.
const PREDECESSOR: Duration = Duration::from_secs(5);
/// Pause between two attempts to become primary.
const ATTEMPT: Duration = Duration::from_millis(50);

/// An election id: 128 bits, the highest is primary (P4Runtime 1.5, chapter 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "ElectionText", into = "ElectionText")]
pub struct ElectionId(pub u128);

/// As it is written in files: a number, or `[high, low]`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ElectionText {
    Low(u64),
    Both([u64; 2]),
}

impl From<ElectionText> for ElectionId {
    fn from(text: ElectionText) -> Self {
        match text {
            ElectionText::Low(low) => Self(low.into()),
            ElectionText::Both([high, low]) => Self(u128::from(high) << 64 | u128::from(low)),
        }
    }
}

impl From<ElectionId> for ElectionText {
    fn from(id: ElectionId) -> Self {
        // The two halves; truncation is what is meant.
        match ((id.0 >> 64) as u64, id.0 as u64) {
            (0, low) => Self::Low(low),
            (high, low) => Self::Both([high, low]),
        }
    }
}

impl ElectionId {
    /// As the wire has it.
    #[must_use]
    pub const fn message(self) -> v1::Uint128 {
        v1::Uint128 {
            high: (self.0 >> 64) as u64,
            low: self.0 as u64,
        }
    }

    /// From the wire.
    #[must_use]
    pub fn from_message(id: v1::Uint128) -> Self {
        Self(u128::from(id.high) << 64 | u128::from(id.low))
    }

    /// The next higher id; the highest of all has none.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ElectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Certificates of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The authority that signed the switch's certificate, PEM.
    pub ca: Option<PathBuf>,
    /// Our own certificate and key, PEM, for switches that ask for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the switch's certificate, where it is not the address.
    pub name: Option<String>,
}

/// Where a switch is and who we are to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `HOST:PORT`.
    pub address: String,
    /// P4Runtime device id.
    pub device_id: u64,
    /// Role name, empty for full access.
    pub role: String,
    /// With this id we ask to be primary.
    pub election_id: ElectionId,
    /// Encrypted, with these certificates.
    pub tls: Option<Tls>,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Endpoint {
    /// A plain connection with the usual settings.
    #[must_use]
    pub fn plain(address: impl Into<String>, device_id: u64) -> Self {
        Self {
            address: address.into(),
            device_id,
            role: String::new(),
            election_id: ElectionId(1),
            tls: None,
            timeout: Duration::from_secs(30),
        }
    }

    /// Opens the transport.
    ///
    /// # Errors
    /// [`RemoteError::Tls`] for certificates that cannot be used, [`RemoteError::Unreachable`].
    pub async fn channel(&self) -> Result<Channel, RemoteError> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri = format!("{scheme}://{}", self.address);
        let mut endpoint = tonic::transport::Endpoint::from_shared(uri)
            .map_err(|error| self.unreachable(&error))?
            .connect_timeout(self.timeout.min(Duration::from_secs(5)))
            .http2_max_header_list_size(HEADERS_MAX)
            .tcp_nodelay(true);
        if let Some(tls) = &self.tls {
            endpoint = endpoint
                .tls_config(self.tls_config(tls)?)
                .map_err(|error| self.tls_error(&error))?;
        }
        endpoint
            .connect()
            .await
            .map_err(|error| self.unreachable(&error))
    }

    fn tls_config(&self, tls: &Tls) -> Result<ClientTlsConfig, RemoteError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| RemoteError::Tls {
                address: self.address.clone(),
                reason: format!("`{}` cannot be read: {error}", path.display()),
            })
        };
        let mut config = ClientTlsConfig::new();
        if let Some(ca) = &tls.ca {
            config = config.ca_certificate(Certificate::from_pem(read(ca)?));
        }
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        if let Some(name) = &tls.name {
            config = config.domain_name(name);
        }
        Ok(config)
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> RemoteError {
        RemoteError::Unreachable {
            address: self.address.clone(),
            reason: causes(error),
        }
    }

    fn tls_error(&self, error: &dyn std::error::Error) -> RemoteError {
        RemoteError::Tls {
            address: self.address.clone(),
            reason: causes(error),
        }
    }
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// A switch that we talk to. Reading needs no more than a connection; writing needs [`Client::become_primary`].
#[derive(Debug)]
pub struct Client {
    rpc: P4RuntimeClient<Channel>,
    endpoint: Endpoint,
    session: Option<Session>,
}

/// The stream that keeps us primary; it ends when this is dropped.
#[derive(Debug)]
struct Session {
    election_id: ElectionId,
    requests: mpsc::Sender<v1::StreamMessageRequest>,
    /// Reads what the switch sends, so that it never waits for us.
    reader: tokio::task::JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// What the switch answered to our bid.
enum Bid {
    Primary(Session),
    Backup(ElectionId),
    Refused(Status),
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// [`RemoteError::Unreachable`], [`RemoteError::Tls`].
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, RemoteError> {
        let channel = endpoint.channel().await?;
        Ok(Self {
            rpc: P4RuntimeClient::new(channel)
                .max_decoding_message_size(usize::MAX)
                .max_encoding_message_size(usize::MAX),
            endpoint: endpoint.clone(),
            session: None,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Opens the stream and waits until we are primary.
    ///
    /// A predecessor that was killed may still hold our election id for a moment, so a refusal is asked again for
    /// five seconds. With `take_over` the highest id that the switch has seen is outbid.
    ///
    /// # Errors
    /// [`RemoteError::NotPrimary`] if somebody with a higher id is, or has been; refusals of the switch.
    pub async fn become_primary(&mut self, take_over: bool) -> Result<(), RemoteError> {
        let mut id = self.endpoint.election_id;
        let deadline = tokio::time::Instant::now() + PREDECESSOR;
        loop {
            let error = match self.bid(id).await? {
                Bid::Primary(session) => {
                    self.session = Some(session);
                    return Ok(());
                }
                Bid::Backup(highest) if take_over && highest > id => {
                    id = highest.next();
                    continue;
                }
                Bid::Backup(highest) if highest > id => {
                    return Err(RemoteError::NotPrimary {
                        address: self.endpoint.address.clone(),
                        highest,
                        own: id,
                    });
                }
                Bid::Backup(highest) => RemoteError::NotPrimary {
                    address: self.endpoint.address.clone(),
                    highest,
                    own: id,
                },
                Bid::Refused(status)
                    if matches!(
                        status.code(),
                        Code::InvalidArgument | Code::AlreadyExists | Code::ResourceExhausted
                    ) =>
                {
                    self.error("StreamChannel", &status)
                }
                Bid::Refused(status) => return Err(self.error("StreamChannel", &status)),
            };
            if tokio::time::Instant::now() >= deadline {
                return Err(error);
            }
            tokio::time::sleep(ATTEMPT).await;
        }
    }

    /// Leaves the primary's seat.
    pub fn resign(&mut self) {
        self.session = None;
    }

    /// Opens a stream, asks, and hears the first answer.
    async fn bid(&mut self, election_id: ElectionId) -> Result<Bid, RemoteError> {
        let (requests, queue) = mpsc::channel(STREAM_DEPTH);
        let role = (!self.endpoint.role.is_empty()).then(|| v1::Role {
            name: self.endpoint.role.clone(),
            ..Default::default()
        });
        let ask = v1::MasterArbitrationUpdate {
            device_id: self.endpoint.device_id,
            role,
            election_id: Some(election_id.message()),
            status: None,
        };
        let message = v1::StreamMessageRequest {
            update: Some(stream_message_request::Update::Arbitration(ask)),
        };
        // The queue has room: nothing was sent yet.
        let _ = requests.send(message).await;
        let opened = self.rpc.stream_channel(ReceiverStream::new(queue));
        let answers = match within(&self.endpoint, "StreamChannel", opened).await? {
            Ok(response) => response.into_inner(),
            Err(status) => return Ok(Bid::Refused(status)),
        };
        self.first_answer(election_id, requests, answers).await
    }

    async fn first_answer(
        &self,
        election_id: ElectionId,
        requests: mpsc::Sender<v1::StreamMessageRequest>,
        mut answers: tonic::Streaming<v1::StreamMessageResponse>,
    ) -> Result<Bid, RemoteError> {
        loop {
            let answer = match self.in_time("StreamChannel", answers.message()).await? {
                Ok(Some(answer)) => answer,
                Ok(None) => return Err(self.protocol("it closed the stream without a word")),
                Err(status) => return Ok(Bid::Refused(status)),
            };
            let Some(stream_message_response::Update::Arbitration(update)) = answer.update else {
                continue;
            };
            if update.status.as_ref().is_none_or(|status| status.code == 0) {
                let reader = tokio::spawn(async move { while answers.next().await.is_some() {} });
                return Ok(Bid::Primary(Session {
                    election_id,
                    requests,
                    reader,
                }));
            }
            let highest = update.election_id.map(ElectionId::from_message);
            return Ok(Bid::Backup(highest.unwrap_or(ElectionId(0))));
        }
    }

    /// Whether the session still stands.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        let alive = |s: &Session| !s.requests.is_closed() && !s.reader.is_finished();
        self.session.as_ref().is_some_and(alive)
    }

    /// The version of P4Runtime that the switch names.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch.
    pub async fn api_version(&mut self) -> Result<String, RemoteError> {
        let request = v1::CapabilitiesRequest {
            device_id: self.endpoint.device_id,
        };
        let call = self.rpc.capabilities(request);
        let answer = within(&self.endpoint, "Capabilities", call).await?;
        let answer = answer.map_err(|status| self.error("Capabilities", &status))?;
        Ok(answer.into_inner().p4runtime_api_version)
    }

    /// Refuses a switch that names another major version of P4Runtime; one that names none is taken.
    ///
    /// # Errors
    /// [`RemoteError::Protocol`]; an unreachable switch.
    pub async fn check_version(&mut self) -> Result<(), RemoteError> {
        match self.api_version().await {
            Ok(version) if other_major(&version) => {
                Err(self.protocol(&format!("it names version {version} of it, this is 1.5")))
            }
            Ok(_) | Err(RemoteError::Refused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The program that the switch runs; `None` where none was loaded yet.
    ///
    /// A server that answers FAILED_PRECONDITION there (the specification says: an unset config) is understood.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch.
    pub async fn pipeline(&mut self) -> Result<Option<v1::ForwardingPipelineConfig>, RemoteError> {
        let request = v1::GetForwardingPipelineConfigRequest {
            device_id: self.endpoint.device_id,
            response_type: get_forwarding_pipeline_config_request::ResponseType::All.into(),
        };
        let rpc = "GetForwardingPipelineConfig";
        let call = self.rpc.get_forwarding_pipeline_config(request);
        match within(&self.endpoint, rpc, call).await? {
            Ok(answer) => {
                let config = answer.into_inner().config;
                Ok(config.filter(|c| c.p4info.is_some()))
            }
            Err(status) if status.code() == Code::FailedPrecondition => Ok(None),
            Err(status) => Err(self.error(rpc, &status)),
        }
    }

    /// Verifies or loads a program.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch.
    pub async fn set_pipeline(
        &mut self,
        action: set_forwarding_pipeline_config_request::Action,
        config: v1::ForwardingPipelineConfig,
    ) -> Result<(), RemoteError> {
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: self.endpoint.device_id,
            role: self.endpoint.role.clone(),
            election_id: Some(self.election_id().message()),
            action: action.into(),
            config: Some(config),
            ..Default::default()
        };
        let rpc = "SetForwardingPipelineConfig";
        let call = self.rpc.set_forwarding_pipeline_config(request);
        let answer = within(&self.endpoint, rpc, call).await?;
        answer.map(drop).map_err(|status| self.error(rpc, &status))
    }

    /// Reads everything that answers to `entities`, however many messages it takes.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch, also in the middle.
    pub async fn read(
        &mut self,
        entities: Vec<v1::Entity>,
    ) -> Result<Vec<v1::Entity>, RemoteError> {
        let request = v1::ReadRequest {
            device_id: self.endpoint.device_id,
            role: self.endpoint.role.clone(),
            entities,
        };
        let opened = within(&self.endpoint, "Read", self.rpc.read(request)).await?;
        let mut answers = opened
            .map_err(|status| self.error("Read", &status))?
            .into_inner();
        let mut found = Vec::new();
        loop {
            match self.in_time("Read", answers.message()).await? {
                Ok(Some(answer)) => found.extend(answer.entities),
                Ok(None) => return Ok(found),
                Err(status) => return Err(self.error("Read", &status)),
            }
        }
    }

    /// Writes one batch.
    ///
    /// # Errors
    /// [`RemoteError::Updates`] with every refused update; other refusals; an unreachable switch.
    pub async fn write(
        &mut self,
        updates: Vec<v1::Update>,
        atomicity: write_request::Atomicity,
    ) -> Result<(), RemoteError> {
        let count = updates.len();
        let request = v1::WriteRequest {
            device_id: self.endpoint.device_id,
            role: self.endpoint.role.clone(),
            election_id: Some(self.election_id().message()),
            updates,
            atomicity: atomicity.into(),
            ..Default::default()
        };
        let answer = within(&self.endpoint, "Write", self.rpc.write(request)).await?;
        answer
            .map(drop)
            .map_err(|status| RemoteError::of(&self.endpoint.address, "Write", &status, count))
    }

    fn election_id(&self) -> ElectionId {
        let session = self.session.as_ref();
        session.map_or(self.endpoint.election_id, |session| session.election_id)
    }

    async fn in_time<T>(
        &self,
        rpc: &'static str,
        call: impl Future<Output = T>,
    ) -> Result<T, RemoteError> {
        within(&self.endpoint, rpc, call).await
    }

    fn error(&self, rpc: &'static str, status: &Status) -> RemoteError {
        RemoteError::of(&self.endpoint.address, rpc, status, 0)
    }

    fn protocol(&self, what: &str) -> RemoteError {
        RemoteError::Protocol {
            address: self.endpoint.address.clone(),
            api: "P4Runtime",
            what: what.to_owned(),
        }
    }
}

/// Whether a version says that it is neither 1 nor nothing.
fn other_major(version: &str) -> bool {
    let major = version.split('.').next().unwrap_or_default();
    !major.is_empty() && major != "1"
}

/// Waits for one answer, as long as the endpoint allows.
pub(crate) async fn within<T>(
    endpoint: &Endpoint,
    rpc: &'static str,
    call: impl Future<Output = T>,
) -> Result<T, RemoteError> {
    let answer = tokio::time::timeout(endpoint.timeout, call).await;
    answer.map_err(|_| RemoteError::Unreachable {
        address: endpoint.address.clone(),
        reason: format!("no answer to {rpc} in {} s", endpoint.timeout.as_secs_f64()),
    })
}

#[cfg(test)]
mod tests {
    use super::other_major;

    #[test]
    fn versions_are_told_by_their_major_number() {
        for same in ["1.5.0", "1", "1.3.0-rc.1", ""] {
            assert!(!other_major(same), "{same}");
        }
        for other in ["2.0", "0.9", "10.1", "v1"] {
            assert!(other_major(other), "{other}");
        }
    }
}

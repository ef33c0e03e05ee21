//! One switch: a connection, and a session in which we are its primary client.

use std::time::Duration;

use p4gen::capabilities::Api;
use p4runtime::client::{Connection, ElectionId, Endpoint, Identity, Stream};
use p4runtime::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::p4::v1::{self, set_forwarding_pipeline_config_request, write_request};
use tonic::{Code, Status};

use crate::error::RemoteError;

/// How long a predecessor's session may take to die before its election id is free again.
const PREDECESSOR: Duration = Duration::from_secs(5);
/// Pause between two attempts to become primary.
const ATTEMPT: Duration = Duration::from_millis(50);

/// A switch that we talk to. Reading needs no more than a connection; writing needs
/// [`Client::become_primary`].
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    endpoint: Endpoint,
    session: Option<Session>,
}

/// The stream that keeps us primary; it ends when this is dropped.
#[derive(Debug)]
struct Session {
    election_id: ElectionId,
    /// Holds the stream and reads what the switch sends, so that it never waits for us.
    reader: tokio::task::JoinHandle<()>,
}

impl Session {
    fn hold(election_id: ElectionId, mut stream: Stream) -> Self {
        let reader = tokio::spawn(async move { while let Ok(Some(_)) = stream.next().await {} });
        Self {
            election_id,
            reader,
        }
    }
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
    /// [`RemoteError::Connect`].
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, RemoteError> {
        Ok(Self {
            connection: endpoint.connect().await?,
            endpoint: endpoint.clone(),
            session: None,
        })
    }

    /// Opens the stream and waits until we are primary.
    ///
    /// A predecessor that was killed may still hold our election id for a moment, so a refusal is
    /// asked again for five seconds. With `take_over` the highest id that the switch has seen is
    /// outbid.
    ///
    /// # Errors
    /// [`RemoteError::NotPrimary`] if somebody with a higher id is, or has been; refusals of the
    /// switch.
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
                Bid::Refused(status) => return Err(self.required("StreamChannel", &status)),
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
    async fn bid(&self, election_id: ElectionId) -> Result<Bid, RemoteError> {
        let bid = Identity {
            election_id: Some(election_id),
            ..self.endpoint.identity()
        };
        let mut stream = match self.connection.stream(Some(bid.arbitration())).await {
            Ok(stream) => stream,
            Err(status) => return Ok(Bid::Refused(status)),
        };
        let update = match stream.arbitration().await {
            Ok(Some(update)) => update,
            Ok(None) => return Err(self.protocol("it closed the stream without a word")),
            Err(status) => return Ok(Bid::Refused(status)),
        };
        if update.status.as_ref().is_none_or(|status| status.code == 0) {
            return Ok(Bid::Primary(Session::hold(election_id, stream)));
        }
        let highest = update.election_id.map(ElectionId::from_message);
        Ok(Bid::Backup(highest.unwrap_or(ElectionId(0))))
    }

    /// Whether the session still stands.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        let alive = |session: &Session| !session.reader.is_finished();
        self.session.as_ref().is_some_and(alive)
    }

    /// The version of P4Runtime that the switch names.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch.
    pub async fn api_version(&mut self) -> Result<String, RemoteError> {
        let version = self.connection.api_version(self.endpoint.device_id).await;
        version.map_err(|status| self.error("Capabilities", &status))
    }

    /// Refuses a switch that names another major version of P4Runtime; one that names none is
    /// taken.
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
    /// A server that answers FAILED_PRECONDITION there (the specification says: an unset config) is
    /// understood.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch.
    pub async fn pipeline(&mut self) -> Result<Option<v1::ForwardingPipelineConfig>, RemoteError> {
        match self
            .connection
            .pipeline(self.endpoint.device_id, ResponseType::All)
            .await
        {
            Ok(config) => Ok(config.filter(|c| c.p4info.is_some())),
            Err(status) if status.code() == Code::FailedPrecondition => Ok(None),
            Err(status) => Err(self.required("GetForwardingPipelineConfig", &status)),
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
        let request = self.identity().set_pipeline(action, Some(config));
        let done = self.connection.set_pipeline(request).await;
        done.map_err(|status| self.error("SetForwardingPipelineConfig", &status))
    }

    /// Reads everything that answers to `entities`, however many messages it takes.
    ///
    /// # Errors
    /// Refusals of the switch; an unreachable switch, also in the middle.
    pub async fn read(
        &mut self,
        entities: Vec<v1::Entity>,
    ) -> Result<Vec<v1::Entity>, RemoteError> {
        let request = self.identity().read(entities);
        let found = self.connection.read(request).await;
        found.map_err(|status| self.error("Read", &status))
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
        let request = self.identity().write(updates, atomicity);
        let done = self.connection.write(request).await;
        done.map_err(|status| RemoteError::of(&self.endpoint.address, "Write", &status, count))
    }

    /// Who we are: with the id that made us primary, where one did.
    fn identity(&self) -> Identity {
        let session = self.session.as_ref();
        Identity {
            election_id: session
                .map(|s| s.election_id)
                .or(Some(self.endpoint.election_id)),
            ..self.endpoint.identity()
        }
    }

    fn error(&self, rpc: &'static str, status: &Status) -> RemoteError {
        RemoteError::of(&self.endpoint.address, rpc, status, 0)
    }

    /// An error of an RPC that every server has.
    fn required(&self, rpc: &'static str, status: &Status) -> RemoteError {
        RemoteError::of_required(&self.endpoint.address, Api::P4Runtime, rpc, status)
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

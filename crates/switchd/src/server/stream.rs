//! One client's stream: arbitration, packets out, acknowledgements (P4Runtime 1.5, chapter 16).

use std::sync::Arc;

use p4runtime::p4::v1;
use p4runtime::p4::v1::stream_error::Details;
use p4runtime::p4::v1::stream_message_request::Update as Asked;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use super::dispatch::Acks;
use super::limits::Limits;
use super::outbox::Outbox;
use super::roles::StreamId;
use super::switch::Switch;
use crate::translate::packet::packet_out;
use crate::translate::refusal::Refusal;

/// What a stream needs of the server.
#[derive(Clone)]
pub struct Shared {
    /// The device.
    pub switch: Arc<Switch>,
    /// Where acknowledgements go.
    pub acks: mpsc::Sender<Acks>,
    /// What clients may take.
    pub limits: Limits,
}

/// A client's stream.
pub struct Stream {
    shared: Shared,
    id: StreamId,
    outbox: Outbox,
    role: Option<String>,
}

impl Stream {
    /// A stream whose client has said nothing yet.
    #[must_use]
    pub const fn new(shared: Shared, id: StreamId, outbox: Outbox) -> Self {
        Self {
            shared,
            id,
            outbox,
            role: None,
        }
    }

    /// Serves the client until it goes, or until it does what ends a stream.
    pub async fn serve(mut self, mut inbox: Streaming<v1::StreamMessageRequest>) {
        let late = tokio::time::sleep(self.shared.limits.arbitration);
        tokio::pin!(late);
        loop {
            let message = tokio::select! {
                message = inbox.message() => message,
                // The client has stopped listening: it is gone.
                () = self.outbox.closed() => break,
                () = &mut late, if self.role.is_none() => {
                    let seconds = self.shared.limits.arbitration.as_secs();
                    self.outbox.end(Status::deadline_exceeded(format!(
                        "the stream has sent no arbitration update for {seconds} s"
                    )));
                    break;
                }
            };
            let message = match message {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(status) => {
                    // If it cannot be told, it is gone all the same.
                    self.outbox.end(status);
                    break;
                }
            };
            if let Err(status) = self.take(message).await {
                self.outbox.end(status);
                break;
            }
        }
        if let Some(role) = &self.role {
            self.shared.switch.primacy.leave(role, self.id).await;
        }
    }

    async fn take(&mut self, message: v1::StreamMessageRequest) -> Result<(), Status> {
        match message.update {
            Some(Asked::Arbitration(update)) => self.arbitrate(update).await,
            Some(Asked::Packet(packet)) => {
                if let Err(refusal) = self.packet_out(&packet) {
                    let packet_out = Some(packet);
                    self.complain(
                        refusal,
                        Details::PacketOut(v1::PacketOutError { packet_out }),
                    );
                }
                Ok(())
            }
            Some(Asked::DigestAck(ack)) => {
                if let Err(refusal) = self.acknowledge(&ack).await {
                    let digest_list_ack = Some(ack);
                    let details = v1::DigestListAckError { digest_list_ack };
                    self.complain(refusal, Details::DigestListAck(details));
                }
                Ok(())
            }
            Some(Asked::Other(other)) => {
                let refusal = Refusal::unimplemented(format!("`{}` is unknown", other.type_url));
                let other = Some(other);
                self.complain(refusal, Details::Other(v1::StreamOtherError { other }));
                Ok(())
            }
            None => Err(Status::invalid_argument("the stream message is empty")),
        }
    }

    /// Elects (section 5.3).
    async fn arbitrate(&mut self, update: v1::MasterArbitrationUpdate) -> Result<(), Status> {
        let switch = Arc::clone(&self.shared.switch);
        if let Err(unknown) = switch.check_device(update.device_id) {
            return Err(match self.role {
                // The stream had a device before.
                Some(_) => Status::failed_precondition(unknown.message()),
                None => unknown,
            });
        }
        let (known, limits) = (self.role.as_deref(), &self.shared.limits);
        switch
            .primacy
            .arbitrate(self.id, &update, known, &self.outbox, limits)
            .await?;
        self.role = Some(update.role.map(|role| role.name).unwrap_or_default());
        switch.changed.notify_one();
        Ok(())
    }

    fn role(&self) -> Result<&str, Refusal> {
        let role = self.role.as_deref();
        role.ok_or_else(|| Refusal::denied("the stream has no role: arbitrate first"))
    }

    /// A packet of the primary goes to the CPU port; what does not fit P4Info is dropped (P4Runtime
    /// 1.5, section 16.1).
    fn packet_out(&self, packet: &v1::PacketOut) -> Result<(), Refusal> {
        let (role, switch) = (self.role()?, &self.shared.switch);
        let (primary, permissions) = {
            let roles = switch.roles();
            (
                roles.is_primary_stream(role, self.id),
                roles.permissions(role),
            )
        };
        if !primary {
            return Err(Refusal::denied("only the primary sends packets"));
        }
        if permissions.is_some_and(|p| !p.packet_out) {
            return Err(Refusal::denied("the role may not send packets"));
        }
        let Some(port) = switch.engine.cpu_port() else {
            return Err(Refusal::precondition(
                "the switch has no CPU port; start it with --cpu-port",
            ));
        };
        let bytes = {
            let pipelines = switch.pipelines();
            let Some(pipeline) = &pipelines.running else {
                return Err(Refusal::precondition("no forwarding pipeline is set"));
            };
            packet_out(&pipeline.contents.schema, packet)?
        };
        if switch.engine.injected() + bytes.len() > self.shared.limits.packets_out {
            return Err(Refusal::exhausted(
                "the data plane is behind with packets of clients; send more slowly",
            ));
        }
        Ok(switch.engine.inject(port, bytes)?)
    }

    async fn acknowledge(&self, ack: &v1::DigestListAck) -> Result<(), Refusal> {
        let role = self.role()?;
        if !self.shared.switch.roles().is_primary_stream(role, self.id) {
            return Err(Refusal::denied("only the primary acknowledges digests"));
        }
        let known = {
            let pipelines = self.shared.switch.pipelines();
            let schema = pipelines.running.as_ref().map(|p| &p.contents.schema);
            schema.is_some_and(|s| s.digests.contains_key(&ack.digest_id))
        };
        if !known {
            let id = ack.digest_id;
            return Err(Refusal::invalid(format!(
                "P4Info has no digest with id {id}"
            )));
        }
        let sent = self.shared.acks.send((ack.digest_id, ack.list_id)).await;
        sent.map_err(|_| Refusal::unavailable("the server is stopping"))
    }

    /// A stream error is only sent where the client takes it at once.
    fn complain(&self, refusal: Refusal, details: Details) {
        let error = v1::StreamError {
            canonical_code: refusal.code as i32,
            message: refusal.message,
            space: "switchwright".to_owned(),
            code: refusal.code as i32,
            details: Some(details),
        };
        let message = v1::StreamMessageResponse {
            update: Some(Answer::Error(error)),
        };
        let _ = self.outbox.offer(message.encoded_len(), || message);
    }
}

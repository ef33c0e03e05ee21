//! The bench on which a server is tried: streams, calls with any identity, entities by name, and
//! the findings.

use std::time::Duration;

use p4runtime::P4InfoIndex;
use p4runtime::client::{Connection, Identity};
use p4runtime::p4::config::v1::{P4Info, Preamble};
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as PipelineAction;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::write_request::Atomicity;
use p4runtime::p4::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType, stream_message_request,
    table_action, update,
};
use tonic::{Code, Status};

pub(super) use super::answer::{Outcome, StreamEvent, name};
use controlplane::apply::{self, Abilities};
use controlplane::desired::DesiredPipeline;
use controlplane::{Client, Device, ElectionId, Endpoint, RemoteError};

use super::{ConformError, ConformOptions, Conformance, Finding, Fuzzing, Verdict};

/// How long an answer may take that must come.
pub(super) const SOON: Duration = Duration::from_secs(3);
/// How long we wait for an answer that must not come.
pub(super) const NEVER: Duration = Duration::from_millis(300);

/// A server under trial.
pub(super) struct TestBed {
    pub(super) connection: Connection,
    pub(super) endpoint: Endpoint,
    pub(super) options: ConformOptions,
    pub(super) pipeline: DesiredPipeline,
    device_config: Vec<u8>,
    /// We are primary with this id and stream.
    pub(super) primary: Option<(ElectionId, Stream)>,
    /// A higher id than any that the server has seen from us.
    next_id: ElectionId,
    api_version: String,
    findings: Vec<Finding>,
    pub(super) fuzzing: Option<Fuzzing>,
    dead: bool,
}

/// A stream to the server, of which everything is noted: messages, its end, silence.
pub(super) struct Stream(p4runtime::client::Stream);

impl Stream {
    /// Sends a message; a stream that has ended swallows it.
    pub(super) async fn say(&self, update: stream_message_request::Update) {
        self.0.say(update).await;
    }

    /// Asks to be primary.
    pub(super) async fn bid(&self, who: &Identity) {
        self.say(who.arbitration()).await;
    }

    /// The next message.
    pub(super) async fn hear(&mut self, wait: Duration) -> StreamEvent {
        match tokio::time::timeout(wait, self.0.next()).await {
            Err(_) => StreamEvent::Nothing,
            Ok(Ok(Some(message))) => StreamEvent::Said(message),
            Ok(Ok(None)) => StreamEvent::Ended(Code::Ok, "no reason".to_owned()),
            Ok(Err(status)) => StreamEvent::Ended(status.code(), status.message().to_owned()),
        }
    }

    /// The next message of a kind; others are passed over.
    pub(super) async fn hear_until(
        &mut self,
        wait: Duration,
        wanted: impl Fn(&Answer) -> bool,
    ) -> StreamEvent {
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            match self.hear(left).await {
                StreamEvent::Said(answer) if !wanted(&answer) => {}
                heard => return heard,
            }
        }
    }

    /// The answer to a bid: that we are primary, or who is above us. What a server tells all of a
    /// client that has just gone is passed over.
    async fn answer_to_bid(&mut self, id: ElectionId) -> StreamEvent {
        let answers = |answer: &Answer| match answer {
            Answer::Arbitration(update) => {
                let primary = update.status.as_ref().is_none_or(|s| s.code == 0);
                let highest = update.election_id.map(ElectionId::from_message);
                primary || highest.is_some_and(|highest| highest >= id)
            }
            _ => false,
        };
        self.hear_until(SOON, answers).await
    }

    /// The next arbitration answer.
    pub(super) async fn arbitration(&mut self, wait: Duration) -> StreamEvent {
        self.hear_until(wait, |answer| matches!(answer, Answer::Arbitration(_)))
            .await
    }
}

impl TestBed {
    pub(super) async fn open(
        endpoint: &Endpoint,
        options: &ConformOptions,
        pipeline: DesiredPipeline,
    ) -> Result<Self, ConformError> {
        let connection = endpoint.connect().await.map_err(RemoteError::from)?;
        let api_version = match connection.api_version(endpoint.device_id).await {
            Ok(version) => version,
            Err(status) if status.code() == Code::Unimplemented => "none".to_owned(),
            Err(status) => {
                let error = RemoteError::of(&endpoint.address, "Capabilities", &status, 0);
                return Err(error.into());
            }
        };
        Ok(Self {
            connection,
            endpoint: endpoint.clone(),
            options: options.clone(),
            pipeline,
            device_config: Vec::new(),
            primary: None,
            // Low ids are left to backups.
            next_id: ElectionId(endpoint.election_id.0.max(100_000)),
            api_version,
            findings: Vec::new(),
            fuzzing: None,
            dead: false,
        })
    }

    /// Becomes primary above everybody who was, finds out which device config the server takes, and
    /// loads the program.
    pub(super) async fn load(&mut self) -> Result<(), ConformError> {
        self.primary = None;
        let mut client = Client::connect(&self.endpoint).await?;
        client.become_primary(true).await?;
        let device = Device {
            name: "conform".to_owned(),
            endpoint: self.endpoint.clone(),
            config: self.options.config,
            config_file: self.options.config_file.clone(),
            target: self.options.target,
            p4_name: None,
            client_id: None,
        };
        let mut abilities = Abilities::default();
        self.device_config =
            apply::device_config(&mut client, &device, &self.pipeline, &mut abilities).await?;
        let message = self.pipeline.message(self.device_config.clone());
        client
            .set_pipeline(PipelineAction::VerifyAndCommit, message)
            .await?;
        drop(client);
        self.reclaim().await?;
        Ok(())
    }

    /// Primary again with a fresh stream, and the program as if just loaded. A server that has died
    /// stays so.
    pub(super) async fn refresh(&mut self) -> Result<(), ConformError> {
        if self.dead {
            return Ok(());
        }
        if let Err(error) = self.reclaim().await {
            self.died(&error);
            return Ok(());
        }
        let config = self.pipeline.message(self.device_config.clone());
        if let Err(status) = self
            .set_pipeline(PipelineAction::VerifyAndCommit, Some(config))
            .await
        {
            let error = RemoteError::Foreign(format!(
                "the program could not be loaded again: {} ({})",
                name(status.code()),
                status.message()
            ));
            self.died(&error);
        }
        Ok(())
    }

    /// Opens a stream with a higher id than before and waits to be primary.
    pub(super) async fn reclaim(&mut self) -> Result<(), RemoteError> {
        self.primary = None;
        let id = self.fresh_id();
        let mut stream = self.stream(&self.who(Some(id))).await?;
        let mut heard = stream.answer_to_bid(id).await;
        if let (Some(code), Some(highest)) = (heard.code(), heard.election_id())
            && code != Code::Ok
            && highest >= id
        {
            self.next_id = highest.next();
            let id = self.fresh_id();
            stream.bid(&self.who(Some(id))).await;
            heard = stream.answer_to_bid(id).await;
            if heard.code() == Some(Code::Ok) {
                self.primary = Some((id, stream));
                return Ok(());
            }
        } else if heard.code() == Some(Code::Ok) {
            self.primary = Some((id, stream));
            return Ok(());
        }
        Err(RemoteError::Protocol {
            api: "P4Runtime",
            address: self.endpoint.address.clone(),
            what: format!(
                "with a higher election id than ever before we are not primary: {}",
                heard.describe()
            ),
        })
    }

    /// An election id higher than all before.
    pub(super) fn fresh_id(&mut self) -> ElectionId {
        // Room between, for ids that are to lie between.
        self.next_id = ElectionId(self.next_id.0.saturating_add(10));
        self.next_id
    }

    /// A client of our device and the default role.
    pub(super) fn who(&self, election_id: Option<ElectionId>) -> Identity {
        Identity {
            device_id: self.endpoint.device_id,
            role: String::new(),
            election_id,
        }
    }

    /// Ourselves, primary.
    pub(super) fn me(&self) -> Identity {
        self.who(self.primary.as_ref().map(|(id, _)| *id))
    }

    /// A new stream that begins with a bid.
    pub(super) async fn stream(&self, who: &Identity) -> Result<Stream, RemoteError> {
        let opened = self.connection.stream(Some(who.arbitration())).await;
        opened
            .map(Stream)
            .map_err(|status| RemoteError::of(&self.endpoint.address, "StreamChannel", &status, 0))
    }

    /// Bids on a stream of its own and hears the first answer; `None` for the stream where the
    /// server refused it.
    pub(super) async fn enter(&self, who: &Identity) -> (Option<Stream>, StreamEvent) {
        match self.stream(who).await {
            Ok(mut stream) => {
                let heard = stream.arbitration(SOON).await;
                (Some(stream), heard)
            }
            Err(error) => {
                let code = error.code().unwrap_or(Code::Unavailable);
                (None, StreamEvent::Ended(code, error.to_string()))
            }
        }
    }

    /// A Write of anybody.
    pub(super) async fn write_as(
        &self,
        who: &Identity,
        updates: Vec<v1::Update>,
        atomicity: Atomicity,
    ) -> Result<(), Status> {
        self.connection.write(who.write(updates, atomicity)).await
    }

    /// Our Write.
    pub(super) async fn write(&self, updates: Vec<v1::Update>) -> Result<(), Status> {
        self.write_as(&self.me(), updates, Atomicity::ContinueOnError)
            .await
    }

    /// Our Write of one update: its own code and words.
    pub(super) async fn put(&self, kind: update::Type, entity: Kind) -> Outcome {
        Outcome::of(self.write(vec![one(kind, entity)]).await)
    }

    /// A Read of anybody: all entities, and in how many messages.
    pub(super) async fn read_as(
        &self,
        who: &Identity,
        entities: Vec<Kind>,
    ) -> Result<(Vec<Kind>, usize), Status> {
        let request = who.read(entities.into_iter().map(wrap).collect());
        let (mut found, mut messages) = (Vec::new(), 0);
        let take = |message: v1::ReadResponse| {
            messages += 1;
            let entities = message.entities.into_iter();
            found.extend(entities.filter_map(|entity| entity.entity));
        };
        self.connection.read_each(request, take).await?;
        Ok((found, messages))
    }

    /// Our Read.
    pub(super) async fn read(&self, entity: Kind) -> Result<Vec<Kind>, Status> {
        self.read_as(&self.me(), vec![entity])
            .await
            .map(|(found, _)| found)
    }

    /// Our Read of table entries.
    pub(super) async fn entries(
        &self,
        filter: v1::TableEntry,
    ) -> Result<Vec<v1::TableEntry>, Status> {
        let found = self.read(Kind::TableEntry(filter)).await?;
        let entries = found.into_iter().filter_map(|kind| match kind {
            Kind::TableEntry(entry) => Some(entry),
            _ => None,
        });
        Ok(entries.collect())
    }

    /// Our SetForwardingPipelineConfig.
    pub(super) async fn set_pipeline(
        &self,
        action: PipelineAction,
        config: Option<v1::ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = self.me().set_pipeline(action, config);
        self.connection.set_pipeline(request).await
    }

    /// The program's message.
    pub(super) fn config(&self) -> v1::ForwardingPipelineConfig {
        self.pipeline.message(self.device_config.clone())
    }

    /// The program's P4Info.
    pub(super) fn index(&self) -> &P4InfoIndex {
        &self.pipeline.info
    }

    /// Notes a check.
    pub(super) fn note(
        &mut self,
        point: u8,
        check: &'static str,
        verdict: Verdict,
        seen: impl Into<String>,
        spec: &'static str,
    ) {
        let verdict = if self.dead { Verdict::Skip } else { verdict };
        self.findings.push(Finding {
            point,
            check,
            verdict,
            seen: if self.dead {
                "the server is gone".to_owned()
            } else {
                seen.into()
            },
            spec,
        });
    }

    /// Notes a check that is right or wrong.
    pub(super) fn judge(
        &mut self,
        point: u8,
        check: &'static str,
        right: bool,
        seen: impl Into<String>,
        spec: &'static str,
    ) {
        let verdict = if right { Verdict::Pass } else { Verdict::Fail };
        self.note(point, check, verdict, seen, spec);
    }

    /// Notes a check whose outcome must be one of these codes.
    pub(super) fn demand(
        &mut self,
        point: u8,
        check: &'static str,
        outcome: &Outcome,
        codes: &[Code],
        spec: &'static str,
    ) {
        if outcome.gone {
            self.died(outcome);
        }
        self.judge(
            point,
            check,
            codes.contains(&outcome.code),
            outcome.to_string(),
            spec,
        );
    }

    /// Whether the server has died.
    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    /// The server does not answer any more: the last check has killed it.
    pub(super) fn died(&mut self, how: &dyn std::fmt::Display) {
        if let Some(last) = self.findings.last_mut()
            && !self.dead
        {
            last.verdict = Verdict::Fail;
            last.seen = format!("{}; after that the server is gone: {how}", last.seen);
        }
        self.dead = true;
    }

    /// Looks whether the server still answers.
    pub(super) async fn look(&mut self) {
        match self.connection.api_version(self.endpoint.device_id).await {
            Err(status) if status.code() == Code::Unavailable => {
                self.died(&status.message().to_owned())
            }
            _ => {}
        }
    }

    pub(super) fn into_report(mut self) -> Conformance {
        self.findings.sort_by_key(|finding| finding.point);
        let agrees = |fuzzing: &Fuzzing| fuzzing.disagreements.is_empty();
        Conformance {
            address: self.endpoint.address.clone(),
            api_version: self.api_version,
            differs: Vec::new(),
            conforms: self.findings.iter().all(|f| f.verdict != Verdict::Fail)
                && self.fuzzing.as_ref().is_none_or(agrees),
            findings: self.findings,
            fuzzing: self.fuzzing,
        }
    }

    /// Whether a check of a point came out so.
    pub(super) fn has(&self, point: u8, verdict: Verdict) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|f| f.point == point && f.verdict == verdict)
    }

    /// The version that the server names.
    pub(super) fn api_version(&self) -> &str {
        &self.api_version
    }

    /// The id of a table, by its last name.
    pub(super) fn table(&self, table: &str) -> u32 {
        id_of(
            self.pipeline.info.info().tables.iter().map(|t| &t.preamble),
            table,
        )
    }

    /// The id of an action.
    pub(super) fn action_id(&self, action: &str) -> u32 {
        id_of(
            self.pipeline
                .info
                .info()
                .actions
                .iter()
                .map(|a| &a.preamble),
            action,
        )
    }

    /// The program's P4Info message.
    pub(super) fn info(&self) -> &P4Info {
        self.pipeline.info.info()
    }

    /// A call of an action; parameters are numbered from 1.
    pub(super) fn call(&self, action: &str, params: &[&[u8]]) -> v1::Action {
        let params = params.iter().zip(1..);
        v1::Action {
            action_id: self.action_id(action),
            params: params
                .map(|(value, param_id)| v1::action::Param {
                    param_id,
                    value: value.to_vec().into(),
                })
                .collect(),
        }
    }

    /// `send(port)` as a table action.
    pub(super) fn send(&self, port: u8) -> Option<v1::TableAction> {
        Some(v1::TableAction {
            r#type: Some(table_action::Type::Action(self.call("send", &[&[port]]))),
        })
    }

    /// An entry of `exact_match`.
    pub(super) fn exact(&self, b: &[u8], d: &[u8], port: u8) -> v1::TableEntry {
        v1::TableEntry {
            table_id: self.table("exact_match"),
            r#match: vec![exact(1, b), exact(2, d)],
            action: self.send(port),
            ..Default::default()
        }
    }

    /// The `number`th entry of `exact_match`, for tables full of them.
    pub(super) fn numbered(&self, number: u32) -> v1::TableEntry {
        let bytes = p4runtime::bytestring::canonical(&(number & 0xffff).to_be_bytes()).to_vec();
        let more = p4runtime::bytestring::canonical(&(number >> 16).to_be_bytes()).to_vec();
        self.exact(&bytes, &more, 1)
    }
}

/// The id of the object whose full name ends in this name.
pub(super) fn id_of<'a>(
    preambles: impl Iterator<Item = &'a Option<Preamble>>,
    wanted: &str,
) -> u32 {
    preambles
        .flatten()
        .find(|preamble| preamble.name.rsplit('.').next() == Some(wanted))
        .map_or(0, |preamble| preamble.id)
}

/// An exact key.
pub(super) fn exact(field_id: u32, value: &[u8]) -> v1::FieldMatch {
    let value = value.to_vec().into();
    key(
        field_id,
        FieldMatchType::Exact(v1::field_match::Exact { value }),
    )
}

/// A key.
pub(super) fn key(field_id: u32, value: FieldMatchType) -> v1::FieldMatch {
    v1::FieldMatch {
        field_id,
        field_match_type: Some(value),
    }
}

/// One update.
pub(super) fn one(kind: update::Type, entity: Kind) -> v1::Update {
    v1::Update {
        r#type: kind.into(),
        entity: Some(wrap(entity)),
    }
}

fn wrap(entity: Kind) -> v1::Entity {
    v1::Entity {
        entity: Some(entity),
    }
}

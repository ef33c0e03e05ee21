//! A switch in memory, clients for it, and short ways to say what is written and read.

use std::time::Duration;

use p4runtime::client::{Connection, ElectionId, Endpoint, Identity, Stream};
use p4runtime::google::rpc;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::{self, FieldMatchType};
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use p4runtime::p4::v1::stream_message_request::Update as Asked;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::{table_action, write_request::Atomicity};
use prost::Message as _;
use quantities::PortId;
use switchd::engine::io::{MemoryIo, MemoryWires};
use switchd::engine::{Engine, EngineConfig, Notification};
use switchd::server::{Server, ServerConfig};
use tokio::sync::mpsc;
use tonic::transport::Channel;
use tonic::{Code, Status};

pub const PROGRAM: &str = include_str!("all.p4");
pub const WAIT: Duration = Duration::from_secs(20);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(600);
pub const CPU: u16 = 255;

/// P4Info of a program, by our own front end.
pub fn info_of(program: &str) -> P4Info {
    let mut map = p4front::source::SourceMap::new();
    let main = map.add("all.p4", program).unwrap();
    match p4front::compile(&mut map, main, &p4front::Options::default()) {
        Ok(compiled) => compiled.p4info,
        Err(findings) => panic!("{}", findings.render(&map)),
    }
}

pub fn config_of(program: &str) -> v1::ForwardingPipelineConfig {
    v1::ForwardingPipelineConfig {
        p4info: Some(info_of(program)),
        p4_device_config: program.as_bytes().to_vec(),
        cookie: Some(v1::forwarding_pipeline_config::Cookie { cookie: 42 }),
    }
}

pub struct Rig {
    pub engine: Engine,
    pub server: Server,
    pub wires: MemoryWires,
    pub info: P4Info,
}

impl Rig {
    pub async fn start() -> Self {
        Self::start_as(ServerConfig::new(([127, 0, 0, 1], 0).into())).await
    }

    pub async fn start_as(config: ServerConfig) -> Self {
        let (io, wires) = MemoryIo::new();
        let engine = EngineConfig {
            ports: (1..=8).map(PortId::new).collect(),
            cpu_port: Some(PortId::new(CPU)),
            ..EngineConfig::default()
        };
        let (engine, notifications) = Engine::start(&engine, io).unwrap();
        Self::serve(config, engine, notifications, wires).await
    }

    pub async fn serve(
        config: ServerConfig,
        engine: Engine,
        notifications: mpsc::Receiver<Notification>,
        wires: MemoryWires,
    ) -> Self {
        let server = Server::start(config, engine.handle().clone(), notifications)
            .await
            .unwrap();
        Self {
            engine,
            server,
            wires,
            info: info_of(PROGRAM),
        }
    }

    pub async fn connection(&self) -> Connection {
        let endpoint = Endpoint {
            timeout: CALL,
            ..Endpoint::plain(self.server.address().to_string(), 0)
        };
        endpoint.connect().await.unwrap()
    }

    pub async fn channel(&self) -> P4RuntimeClient<Channel> {
        self.connection().await.rpc()
    }

    pub async fn client(&self, election: Option<u64>, role: &str) -> Client {
        Client::open(self.connection().await, election, role).await
    }

    /// A primary with the program running.
    pub async fn ready(&self) -> Client {
        let mut client = self.client(Some(1), "").await;
        client
            .set(Set::VerifyAndCommit, Some(config_of(PROGRAM)))
            .await
            .unwrap();
        client
    }

    pub fn table(&self, name: &str) -> u32 {
        let named =
            |t: &&p4runtime::p4::config::v1::Table| t.preamble.as_ref().unwrap().alias == name;
        self.info
            .tables
            .iter()
            .find(named)
            .unwrap()
            .preamble
            .as_ref()
            .unwrap()
            .id
    }

    pub fn action(&self, name: &str) -> u32 {
        let heads = self
            .info
            .actions
            .iter()
            .map(|a| a.preamble.as_ref().unwrap());
        heads
            .clone()
            .find(|p| p.alias == name || p.name == name)
            .unwrap()
            .id
    }

    pub fn profile(&self, name: &str) -> u32 {
        let heads = self
            .info
            .action_profiles
            .iter()
            .map(|a| a.preamble.as_ref().unwrap());
        heads.clone().find(|p| p.alias == name).unwrap().id
    }

    /// `action(arg)`: the argument in one byte.
    pub fn call(&self, name: &str, args: &[&[u8]]) -> v1::Action {
        v1::Action {
            action_id: self.action(name),
            params: args
                .iter()
                .zip(1..)
                .map(|(value, param_id)| v1::action::Param {
                    param_id,
                    value: value.to_vec(),
                })
                .collect(),
        }
    }

    /// An entry that calls an action.
    pub fn entry(
        &self,
        table: &str,
        key: Vec<v1::FieldMatch>,
        priority: i32,
        action: &str,
        args: &[&[u8]],
    ) -> v1::TableEntry {
        v1::TableEntry {
            table_id: self.table(table),
            r#match: key,
            priority,
            action: Some(direct(self.call(action, args))),
            ..Default::default()
        }
    }
}

pub fn direct(action: v1::Action) -> v1::TableAction {
    v1::TableAction {
        r#type: Some(table_action::Type::Action(action)),
    }
}

fn field(field_id: u32, kind: FieldMatchType) -> v1::FieldMatch {
    v1::FieldMatch {
        field_id,
        field_match_type: Some(kind),
    }
}

pub fn exact(id: u32, value: &[u8]) -> v1::FieldMatch {
    let value = value.to_vec();
    field(id, FieldMatchType::Exact(field_match::Exact { value }))
}

pub fn lpm(id: u32, value: &[u8], prefix_len: i32) -> v1::FieldMatch {
    let value = value.to_vec();
    field(
        id,
        FieldMatchType::Lpm(field_match::Lpm { value, prefix_len }),
    )
}

pub fn ternary(id: u32, value: &[u8], mask: &[u8]) -> v1::FieldMatch {
    let (value, mask) = (value.to_vec(), mask.to_vec());
    field(
        id,
        FieldMatchType::Ternary(field_match::Ternary { value, mask }),
    )
}

pub fn range(id: u32, low: &[u8], high: &[u8]) -> v1::FieldMatch {
    let (low, high) = (low.to_vec(), high.to_vec());
    field(id, FieldMatchType::Range(field_match::Range { low, high }))
}

pub fn optional(id: u32, value: &[u8]) -> v1::FieldMatch {
    let value = value.to_vec();
    field(
        id,
        FieldMatchType::Optional(field_match::Optional { value }),
    )
}

pub fn update(verb: Type, entity: Entity) -> v1::Update {
    v1::Update {
        r#type: verb.into(),
        entity: Some(v1::Entity {
            entity: Some(entity),
        }),
    }
}

pub fn insert(entry: v1::TableEntry) -> v1::Update {
    update(Type::Insert, Entity::TableEntry(entry))
}

pub fn modify(entry: v1::TableEntry) -> v1::Update {
    update(Type::Modify, Entity::TableEntry(entry))
}

pub fn delete(entry: v1::TableEntry) -> v1::Update {
    update(Type::Delete, Entity::TableEntry(entry))
}

/// The code of each update; one code for all if the batch failed as a whole.
pub fn codes(result: &Result<(), Status>, count: usize) -> Vec<Code> {
    let Err(status) = result else {
        return vec![Code::Ok; count];
    };
    if status.details().is_empty() {
        return vec![status.code()];
    }
    assert_eq!(status.code(), Code::Unknown, "{status}");
    let details = rpc::Status::decode(status.details()).unwrap();
    assert_eq!(details.code, Code::Unknown as i32);
    assert_eq!(details.message, status.message());
    let code = |any: &prost_types::Any| {
        assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
        v1::Error::decode(any.value.as_slice())
            .unwrap()
            .canonical_code
            .into()
    };
    details.details.iter().map(code).collect()
}

pub struct Client {
    pub connection: Connection,
    /// The calls as they are.
    pub rpc: P4RuntimeClient<Channel>,
    pub stream: Stream,
    pub identity: Identity,
}

pub fn id(election: Option<u64>) -> Option<v1::Uint128> {
    election.map(|low| v1::Uint128 { high: 0, low })
}

fn identity(device_id: u64, election: Option<u64>, role: &str) -> Identity {
    Identity {
        device_id,
        role: role.to_owned(),
        election_id: election.map(|low| ElectionId(low.into())),
    }
}

pub fn arbitration(device_id: u64, election: Option<u64>, role: &str) -> Asked {
    identity(device_id, election, role).arbitration()
}

impl Client {
    /// A client that has arbitrated; what it was answered is still in its inbox if `election`
    /// loses.
    pub async fn open(connection: Connection, election: Option<u64>, role: &str) -> Self {
        let mut client = Self::silent(connection, election, role).await;
        client.say(arbitration(0, election, role)).await;
        let (code, _) = client.arbitrated().await;
        if let Some(election) = election {
            assert!(code == Code::Ok || election < 1000, "{code}");
        }
        client
    }

    /// A client that has said nothing.
    pub async fn silent(connection: Connection, election: Option<u64>, role: &str) -> Self {
        Self {
            rpc: connection.rpc(),
            stream: connection.stream(None).await.unwrap(),
            connection,
            identity: identity(0, election, role),
        }
    }

    pub async fn say(&self, message: Asked) {
        assert!(self.stream.say(message).await, "the stream stands");
    }

    pub async fn hear(&mut self) -> Result<Answer, Status> {
        let message = tokio::time::timeout(WAIT, self.stream.next())
            .await
            .expect("an answer in time");
        Ok(message?.expect("the stream goes on"))
    }

    /// The next arbitration update: its code and election id.
    pub async fn arbitrated(&mut self) -> (Code, Option<u64>) {
        match self.hear().await {
            Ok(Answer::Arbitration(update)) => {
                let code = update.status.unwrap().code;
                (code.into(), update.election_id.map(|id| id.low))
            }
            other => panic!("expected an arbitration update, got {other:?}"),
        }
    }

    pub fn request(&self, updates: Vec<v1::Update>, atomicity: Atomicity) -> v1::WriteRequest {
        self.identity.write(updates, atomicity)
    }

    pub async fn write_as(
        &mut self,
        updates: Vec<v1::Update>,
        atomicity: Atomicity,
    ) -> Result<(), Status> {
        let request = self.request(updates, atomicity);
        self.connection.write(request).await
    }

    pub async fn write(&mut self, updates: Vec<v1::Update>) -> Result<(), Status> {
        self.write_as(updates, Atomicity::ContinueOnError).await
    }

    /// Writes one update and tells its code.
    pub async fn one(&mut self, update: v1::Update) -> Code {
        let result = self.write(vec![update]).await;
        let codes = codes(&result, 1);
        assert_eq!(codes.len(), 1);
        codes[0]
    }

    /// The same, with what is said of it.
    pub async fn refused(&mut self, update: v1::Update) -> (Code, String) {
        let status = self
            .write(vec![update])
            .await
            .expect_err("it should be refused");
        let details = rpc::Status::decode(status.details()).unwrap();
        let error = v1::Error::decode(details.details[0].value.as_slice()).unwrap();
        (error.canonical_code.into(), error.message)
    }

    pub async fn read(&mut self, entities: Vec<Entity>) -> Result<Vec<Entity>, Status> {
        let entities = entities
            .into_iter()
            .map(|e| v1::Entity { entity: Some(e) })
            .collect();
        self.read_raw(entities).await
    }

    pub async fn read_raw(&mut self, entities: Vec<v1::Entity>) -> Result<Vec<Entity>, Status> {
        let request = self.identity.read(entities);
        let found = self.connection.read(request).await?;
        Ok(found.into_iter().map(|e| e.entity.unwrap()).collect())
    }

    pub async fn entries(&mut self, filter: v1::TableEntry) -> Vec<v1::TableEntry> {
        let found = self.read(vec![Entity::TableEntry(filter)]).await.unwrap();
        found
            .into_iter()
            .map(|e| match e {
                Entity::TableEntry(entry) => entry,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    pub async fn set(
        &mut self,
        action: Set,
        config: Option<v1::ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = self.identity.set_pipeline(action, config);
        self.connection.set_pipeline(request).await
    }
}

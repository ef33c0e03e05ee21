//! A device with BF Runtime: it holds tables as a schema says, and refuses what a device refuses.
//! It reads the schema for itself, so that what our client takes from it is held against a second
//! reading.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use controlplane::bfrt::protocol::proto::bf_runtime_server::{BfRuntime, BfRuntimeServer};
use controlplane::bfrt::protocol::proto::{
    self, data_field, entity, key_field, set_forwarding_pipeline_config_request as set_config,
    stream_message_request, stream_message_response, table_entry, update, write_request,
};
use futures::{Stream, StreamExt as _};
use p4runtime::google::rpc;
use prost::Message as _;
use serde_json::Value;
use tonic::{Code, Request, Response, Status, Streaming};

/// A key, each field as it is compared: value, mask, and the length of a prefix.
type Key = Vec<(Vec<u8>, Vec<u8>, i32)>;
type Refusal = (Code, String);

fn refusal(code: Code, words: impl Into<String>) -> Refusal {
    (code, words.into())
}

/// What a field's values are.
#[derive(Clone, Debug)]
struct Field {
    id: u32,
    name: String,
    kind: String,
    bits: u32,
    repeated: bool,
}

impl Field {
    fn of(value: &Value) -> Self {
        let of = &value["type"];
        let kind = of["type"].as_str().unwrap_or("none").to_owned();
        let bits = match kind.as_str() {
            "uint32" => 32,
            "uint64" => 64,
            _ => of["width"].as_u64().unwrap_or(0) as u32,
        };
        Self {
            id: value["id"].as_u64().unwrap() as u32,
            name: value["name"].as_str().unwrap().to_owned(),
            kind,
            bits,
            repeated: value["repeated"].as_bool().unwrap_or(false),
        }
    }

    fn number(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let length = self.bits.div_ceil(8) as usize;
        let spare = length as u32 * 8 - self.bits;
        if bytes.len() != length || (spare > 0 && u32::from(bytes[0]) >> (8 - spare) != 0) {
            let words = format!(
                "{}: {} bytes for {} bits",
                self.name,
                bytes.len(),
                self.bits
            );
            return Err(refusal(Code::InvalidArgument, words));
        }
        Ok(())
    }
}

struct Action {
    name: String,
    scope: String,
    params: Vec<Field>,
}

struct Table {
    name: String,
    kind: String,
    size: usize,
    fixed: bool,
    depends_on: Vec<u32>,
    key: Vec<(Field, String)>,
    actions: BTreeMap<u32, Action>,
    data: Vec<Field>,
    entries: BTreeMap<Key, proto::TableEntry>,
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl Table {
    fn of(value: &Value) -> (u32, Self) {
        let fields = |data: &'_ Value| -> Vec<Field> {
            list(data)
                .flat_map(|data| match data.get("oneof") {
                    Some(several) => list(several).map(Field::of).collect(),
                    None => vec![Field::of(&data["singleton"])],
                })
                .collect()
        };
        let action = |action: &Value| {
            let one = Action {
                name: action["name"].as_str().unwrap().to_owned(),
                scope: action["action_scope"].as_str().unwrap().to_owned(),
                params: list(&action["data"]).map(Field::of).collect(),
            };
            (action["id"].as_u64().unwrap() as u32, one)
        };
        let kind = value["table_type"].as_str().unwrap().to_owned();
        let ours = [
            "MatchAction_Direct",
            "MatchAction_Indirect",
            "MatchAction_Indirect_Selector",
            "Action",
            "Selector",
        ];
        let known = ours.contains(&kind.as_str());
        let table = Self {
            name: value["name"].as_str().unwrap().to_owned(),
            size: value["size"].as_u64().unwrap() as usize,
            fixed: list(&value["attributes"]).any(|a| a == "ConstTable") || !known,
            depends_on: list(&value["depends_on"])
                .map(|id| id.as_u64().unwrap() as u32)
                .collect(),
            key: list(&value["key"])
                .map(|key| {
                    (
                        Field::of(key),
                        key["match_type"].as_str().unwrap().to_owned(),
                    )
                })
                .collect(),
            actions: list(&value["action_specs"]).map(action).collect(),
            data: if known {
                fields(&value["data"])
            } else {
                Vec::new()
            },
            entries: BTreeMap::new(),
            kind,
        };
        (value["id"].as_u64().unwrap() as u32, table)
    }

    fn data(&self, name: &str) -> Option<&Field> {
        self.data.iter().find(|field| field.name == name)
    }

    /// The key as it is compared. Every field has to be there, as wide and matched as the schema
    /// says.
    fn key_of(&self, entry: &proto::TableEntry) -> Result<Key, Refusal> {
        let wrong =
            |words: String| refusal(Code::InvalidArgument, format!("{}: {words}", self.name));
        let Some(table_entry::Value::Key(given)) = &entry.value else {
            return Err(wrong("no key".to_owned()));
        };
        if given.fields.len() != self.key.len() {
            return Err(wrong(format!(
                "{} fields of {}",
                given.fields.len(),
                self.key.len()
            )));
        }
        let mut key = Vec::new();
        for (field, kind) in &self.key {
            let value = given.fields.iter().find(|f| f.field_id == field.id);
            let value = value.and_then(|f| f.match_type.as_ref());
            key.push(match (kind.as_str(), value) {
                ("Exact", Some(key_field::MatchType::Exact(exact))) => {
                    field.number(&exact.value)?;
                    if field.name == "$MATCH_PRIORITY" && exact.value[0] != 0 {
                        return Err(wrong("$MATCH_PRIORITY has 24 bits".to_owned()));
                    }
                    (exact.value.clone(), Vec::new(), 0)
                }
                ("Ternary", Some(key_field::MatchType::Ternary(ternary))) => {
                    field.number(&ternary.value)?;
                    field.number(&ternary.mask)?;
                    let pairs = ternary.value.iter().zip(&ternary.mask);
                    (pairs.map(|(v, m)| v & m).collect(), ternary.mask.clone(), 0)
                }
                ("LPM", Some(key_field::MatchType::Lpm(lpm))) => {
                    field.number(&lpm.value)?;
                    if lpm.prefix_len < 0 || lpm.prefix_len as u32 > field.bits {
                        return Err(wrong(format!("a prefix of {} bits", lpm.prefix_len)));
                    }
                    (lpm.value.clone(), Vec::new(), lpm.prefix_len)
                }
                (kind, _) => return Err(wrong(format!("{} is not matched {kind}", field.name))),
            });
        }
        Ok(key)
    }
}

/// What a device was asked to do, and does wrong on request.
#[derive(Default)]
struct Inner {
    /// The programs by name, with the schema.
    programs: Vec<(String, String)>,
    tables: BTreeMap<u32, Table>,
    subscribed: BTreeSet<u32>,
    /// Who is bound to the program.
    bound: Option<u32>,
    updates: usize,
    batches: usize,
    /// A table that takes no more entries.
    full: Option<String>,
    /// Modes that it has.
    atomic: bool,
}

/// The device.
#[derive(Clone, Default)]
pub(crate) struct Device(Arc<Mutex<Inner>>);

impl Device {
    /// A device that runs a program.
    pub(crate) fn with(program: &str, schema: &str) -> Self {
        let device = Self::default();
        device.run(program, schema);
        device
    }

    /// It runs this program, with empty tables.
    pub(crate) fn run(&self, program: &str, schema: &str) {
        let json: Value = serde_json::from_str(schema).unwrap();
        let mut inner = self.inner();
        inner.programs = vec![(program.to_owned(), schema.to_owned())];
        inner.tables = list(&json["tables"]).map(Table::of).collect();
        inner.atomic = true;
    }

    /// It runs no program.
    pub(crate) fn run_nothing(&self) {
        self.inner().programs.clear();
    }

    /// A table of it takes no more entries; none: all do.
    pub(crate) fn fill(&self, table: Option<&str>) {
        self.inner().full = table.map(str::to_owned);
    }

    /// It has no batches that are taken whole or not at all.
    pub(crate) fn without_atomic_batches(&self) {
        self.inner().atomic = false;
    }

    /// Somebody else is bound to the program.
    pub(crate) fn bind_somebody(&self, client: Option<u32>) {
        self.inner().bound = client;
    }

    /// How many updates it has taken, and in how many batches.
    pub(crate) fn taken(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.updates, inner.batches)
    }

    /// How many entries each table has, by name; empty ones left out.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let inner = self.inner();
        let counts = inner
            .tables
            .values()
            .map(|t| (t.name.clone(), t.entries.len()));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Removes an entry behind everybody's back.
    pub(crate) fn lose_one(&self, table: &str) {
        let mut inner = self.inner();
        let table = inner.tables.values_mut().find(|t| t.name == table).unwrap();
        table.entries.pop_first().unwrap();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// Listens; the server ends with the runtime.
    pub(crate) async fn listen(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let service = BfRuntimeServer::new(self.clone()).max_decoding_message_size(usize::MAX);
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        address
    }
}

impl Inner {
    fn update(&mut self, update: &proto::Update) -> Result<(), Refusal> {
        let Some(entity::Entity::TableEntry(entry)) =
            update.entity.as_ref().and_then(|e| e.entity.as_ref())
        else {
            return Err(refusal(Code::InvalidArgument, "no entry"));
        };
        let id = entry.table_id;
        let table = self.tables.get(&id);
        let table = table.ok_or_else(|| refusal(Code::NotFound, format!("no table {id:#x}")))?;
        if table.fixed || entry.is_default_entry {
            return Err(refusal(
                Code::PermissionDenied,
                format!("{} is the program's", table.name),
            ));
        }
        let key = table.key_of(entry)?;
        let there = table.entries.contains_key(&key);
        let inserts = match update.r#type() {
            update::Type::Insert if there => {
                return Err(refusal(
                    Code::AlreadyExists,
                    format!("{}: it is there", table.name),
                ));
            }
            update::Type::Insert => true,
            update::Type::Modify | update::Type::Delete if !there => {
                return Err(refusal(
                    Code::NotFound,
                    format!("{}: it is not there", table.name),
                ));
            }
            update::Type::Modify => false,
            update::Type::Delete => {
                self.not_in_use(id, &key)?;
                self.tables.get_mut(&id).unwrap().entries.remove(&key);
                return Ok(());
            }
            _ => return Err(refusal(Code::InvalidArgument, "no type")),
        };
        self.data(table, entry)?;
        let full = self.full.as_ref() == Some(&table.name);
        if inserts && (full || table.entries.len() >= table.size) {
            return Err(refusal(
                Code::ResourceExhausted,
                format!("{} is full", table.name),
            ));
        }
        let table = self.tables.get_mut(&id).unwrap();
        table.entries.insert(key, entry.clone());
        Ok(())
    }

    /// Data as the schema has them, of things that are there.
    fn data(&self, table: &Table, entry: &proto::TableEntry) -> Result<(), Refusal> {
        let wrong =
            |words: String| refusal(Code::InvalidArgument, format!("{}: {words}", table.name));
        let data = entry
            .data
            .as_ref()
            .ok_or_else(|| wrong("no data".to_owned()))?;
        let stream = |field: &proto::DataField| match &field.value {
            Some(data_field::Value::Stream(bytes)) => Ok(bytes.clone()),
            other => Err(wrong(format!("{other:?} is not a number"))),
        };
        if !table.actions.is_empty() {
            let action = table.actions.get(&data.action_id);
            let action = action.ok_or_else(|| wrong(format!("no action {:#x}", data.action_id)))?;
            if action.scope == "DefaultOnly" || data.fields.len() != action.params.len() {
                return Err(wrong(format!(
                    "{} with {} data",
                    action.name,
                    data.fields.len()
                )));
            }
            for param in &action.params {
                let given = data.fields.iter().find(|f| f.field_id == param.id);
                let given = given.ok_or_else(|| wrong(format!("no {}", param.name)))?;
                param.number(&stream(given)?)?;
            }
            return Ok(());
        }
        for given in &data.fields {
            let field = table.data.iter().find(|f| f.id == given.field_id);
            let field = field.ok_or_else(|| wrong(format!("no data {}", given.field_id)))?;
            match (&given.value, field.kind.as_str(), field.repeated) {
                (Some(data_field::Value::Stream(bytes)), "uint32", false) => field.number(bytes)?,
                (Some(data_field::Value::IntArrVal(_)), "uint32", true)
                | (Some(data_field::Value::BoolArrVal(_)), "bool", true) => {}
                (value, kind, _) => return Err(wrong(format!("{value:?} for {kind}"))),
            }
        }
        self.references(table, data)
    }

    fn references(&self, table: &Table, data: &proto::TableData) -> Result<(), Refusal> {
        let wrong =
            |words: String| refusal(Code::InvalidArgument, format!("{}: {words}", table.name));
        let of_kind = |kind: &str| {
            let tables = table.depends_on.iter().filter_map(|id| self.tables.get(id));
            tables.into_iter().find(|t| t.kind == kind)
        };
        let there = |kind: &str, id: &[u8]| {
            let key = vec![(id.to_vec(), Vec::new(), 0)];
            of_kind(kind).is_some_and(|t| t.entries.contains_key(&key))
        };
        let value = |name: &str| {
            let id = table.data(name)?.id;
            data.fields
                .iter()
                .find(|f| f.field_id == id)?
                .value
                .as_ref()
        };
        if table.kind != "Selector" {
            return match (value("$ACTION_MEMBER_ID"), value("$SELECTOR_GROUP_ID")) {
                (Some(data_field::Value::Stream(id)), None) if there("Action", id) => Ok(()),
                (None, Some(data_field::Value::Stream(id))) if there("Selector", id) => Ok(()),
                other => Err(wrong(format!("no such member or group: {other:?}"))),
            };
        }
        let (
            Some(data_field::Value::IntArrVal(members)),
            Some(data_field::Value::BoolArrVal(status)),
            Some(data_field::Value::Stream(most)),
        ) = (
            value("$ACTION_MEMBER_ID"),
            value("$ACTION_MEMBER_STATUS"),
            value("$MAX_GROUP_SIZE"),
        )
        else {
            return Err(wrong(
                "a group has members, their status and room".to_owned(),
            ));
        };
        let most = u32::from_be_bytes(most.as_slice().try_into().unwrap()) as usize;
        let known = members
            .val
            .iter()
            .all(|id| there("Action", &id.to_be_bytes()));
        if members.val.len() != status.val.len() || members.val.len() > most || !known {
            return Err(wrong(format!(
                "members {:?} of at most {most}",
                members.val
            )));
        }
        Ok(())
    }

    /// What others refer to stays.
    fn not_in_use(&self, id: u32, key: &Key) -> Result<(), Refusal> {
        let kind = &self.tables[&id].kind;
        let name = match kind.as_str() {
            "Action" => "$ACTION_MEMBER_ID",
            "Selector" => "$SELECTOR_GROUP_ID",
            _ => return Ok(()),
        };
        let number = u32::from_be_bytes(key[0].0.as_slice().try_into().unwrap());
        for user in self.tables.values().filter(|t| t.depends_on.contains(&id)) {
            let Some(field) = user.data(name) else {
                continue;
            };
            let refers = |data: &proto::DataField| match &data.value {
                Some(data_field::Value::Stream(bytes)) => *bytes == number.to_be_bytes(),
                Some(data_field::Value::IntArrVal(list)) => list.val.contains(&number),
                _ => false,
            };
            let used = user.entries.values().flat_map(|e| &e.data).any(|data| {
                data.fields
                    .iter()
                    .any(|f| f.field_id == field.id && refers(f))
            });
            if used {
                return Err(refusal(
                    Code::FailedPrecondition,
                    format!("{number} is in use by {}", user.name),
                ));
            }
        }
        Ok(())
    }

    /// Who may write or read: the one that is bound, or anybody who names the program.
    fn admit(&self, client: u32, program: &str) -> Result<(), Status> {
        if self.programs.is_empty() {
            return Err(Status::not_found("no program"));
        }
        let named = self.programs.iter().any(|(name, _)| name == program);
        let bound = program.is_empty() && self.bound == Some(client);
        if named || bound {
            return Ok(());
        }
        Err(Status::failed_precondition(format!(
            "client {client} is not bound"
        )))
    }

    fn write(&mut self, request: &proto::WriteRequest) -> Result<(), Status> {
        self.admit(request.client_id, &request.p4_name)?;
        if request.target.as_ref().map(|t| t.pipe_id) != Some(0xffff) {
            return Err(Status::invalid_argument("all pipes have one program"));
        }
        let whole = match request.atomicity() {
            write_request::Atomicity::ContinueOnError => false,
            write_request::Atomicity::RollbackOnError if self.atomic => true,
            _ => return Err(Status::unimplemented("no such mode")),
        };
        self.batches += 1;
        let before: BTreeMap<u32, _> = self
            .tables
            .iter()
            .map(|(id, table)| (*id, table.entries.clone()))
            .collect();
        let mut errors = Vec::new();
        let mut failed = false;
        for update in &request.updates {
            let (code, message) = match self.update(update) {
                Ok(()) => (Code::Ok, String::new()),
                Err(refused) => refused,
            };
            failed |= code != Code::Ok;
            errors.push(proto::Error {
                canonical_code: code.into(),
                message,
                ..Default::default()
            });
            if failed && whole {
                break;
            }
        }
        if !failed {
            self.updates += request.updates.len();
            return Ok(());
        }
        if whole {
            for (id, entries) in before {
                self.tables.get_mut(&id).unwrap().entries = entries;
            }
        }
        let details = rpc::Status {
            code: Code::Unknown.into(),
            message: "Write Error Status".to_owned(),
            details: errors
                .iter()
                .map(|error| prost_types::Any {
                    type_url: "type.googleapis.com/bfrt_proto.Error".to_owned(),
                    value: error.encode_to_vec(),
                })
                .collect(),
        };
        Err(Status::with_details(
            Code::Unknown,
            "Write Error Status",
            details.encode_to_vec().into(),
        ))
    }

    fn read(&self, request: &proto::ReadRequest) -> Result<proto::ReadResponse, Status> {
        self.admit(request.client_id, &request.p4_name)?;
        let mut entities = Vec::new();
        for asked in &request.entities {
            let Some(entity::Entity::TableEntry(asked)) = &asked.entity else {
                return Err(Status::invalid_argument("entries can be read"));
            };
            let table = self.tables.get(&asked.table_id);
            let table = table.ok_or_else(|| Status::not_found("no such table"))?;
            entities.extend(table.entries.values().cloned());
            // A read of everything has the default entry too, where the table can have one.
            if let Some((action_id, _)) =
                table.actions.iter().find(|(_, a)| a.scope == "DefaultOnly")
                && table.kind == "MatchAction_Direct"
            {
                entities.push(proto::TableEntry {
                    table_id: asked.table_id,
                    is_default_entry: true,
                    data: Some(proto::TableData {
                        action_id: *action_id,
                        fields: Vec::new(),
                    }),
                    ..Default::default()
                });
            }
        }
        let wrapped = entities.into_iter().map(|entry| proto::Entity {
            entity: Some(entity::Entity::TableEntry(entry)),
        });
        Ok(proto::ReadResponse {
            entities: wrapped.collect(),
            status: Vec::new(),
        })
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// A client that has gone is unbound, and its number is free.
struct Left(Device, u32);

impl Drop for Left {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.subscribed.remove(&self.1);
        if inner.bound == Some(self.1) {
            inner.bound = None;
        }
    }
}

#[tonic::async_trait]
impl BfRuntime for Device {
    async fn write(
        &self,
        request: Request<proto::WriteRequest>,
    ) -> Result<Response<proto::WriteResponse>, Status> {
        self.inner().write(request.get_ref())?;
        Ok(Response::new(proto::WriteResponse::default()))
    }

    type ReadStream = Answers<proto::ReadResponse>;

    async fn read(
        &self,
        request: Request<proto::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let answer = self.inner().read(request.get_ref())?;
        Ok(Response::new(Box::pin(futures::stream::iter([Ok(answer)]))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<proto::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<proto::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let mut inner = self.inner();
        if request.action() != set_config::Action::Bind {
            return Err(Status::unimplemented(
                "it has the program that it was started with",
            ));
        }
        if !inner.subscribed.contains(&request.client_id) {
            return Err(Status::unavailable("unknown client"));
        }
        let [config] = request.config.as_slice() else {
            return Err(Status::invalid_argument("exactly one config"));
        };
        if !inner
            .programs
            .iter()
            .any(|(name, _)| *name == config.p4_name)
        {
            return Err(Status::not_found("no such program"));
        }
        if let Some(owner) = inner.bound {
            return Err(Status::already_exists(format!(
                "client {owner} owns this P4"
            )));
        }
        inner.bound = Some(request.client_id);
        Ok(Response::new(
            proto::SetForwardingPipelineConfigResponse::default(),
        ))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        _: Request<proto::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<proto::GetForwardingPipelineConfigResponse>, Status> {
        let inner = self.inner();
        let config = inner
            .programs
            .iter()
            .map(|(name, schema)| proto::ForwardingPipelineConfig {
                p4_name: name.clone(),
                bfruntime_info: schema.clone().into_bytes(),
                profiles: Vec::new(),
            });
        Ok(Response::new(proto::GetForwardingPipelineConfigResponse {
            config: config.collect(),
            non_p4_config: None,
        }))
    }

    type StreamChannelStream = Answers<proto::StreamMessageResponse>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<proto::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let mut messages = request.into_inner();
        let first = messages.message().await?.unwrap_or_default();
        let Some(stream_message_request::Update::Subscribe(subscribe)) = first.update else {
            return Err(Status::invalid_argument("a client subscribes first"));
        };
        if !self.inner().subscribed.insert(first.client_id) {
            return Err(Status::invalid_argument("two clients with the same id"));
        }
        let left = Left(self.clone(), first.client_id);
        let answer = proto::StreamMessageResponse {
            update: Some(stream_message_response::Update::Subscribe(
                proto::Subscribe {
                    status: Some(rpc::Status::default()),
                    ..subscribe
                },
            )),
        };
        let rest = messages.filter_map(move |_| {
            let _stays = &left;
            futures::future::ready(None)
        });
        let answers = futures::stream::once(futures::future::ready(Ok(answer))).chain(rest);
        Ok(Response::new(Box::pin(answers)))
    }
}

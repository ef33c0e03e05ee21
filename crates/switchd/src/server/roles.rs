//! Who may write: election ids per role, who is primary, and what a role may touch (P4Runtime 1.5,
//! chapter 5).

use std::collections::{BTreeMap, BTreeSet};

use p4runtime::google::rpc;
use p4runtime::p4::v1;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use prost::Message as _;
use prost_types::value::Kind;
use tonic::{Code, Status};

use super::limits::Limits;
use super::outbox::Outbox;

/// One client's stream.
pub type StreamId = u64;

/// What a role may do; agreed as a `google.protobuf.Struct` with any of the keys `write` and `read`
/// (lists of names or ids of P4Info objects, and `packet_replication_engine`), `packet_in`,
/// `packet_out` and `pipeline` (booleans).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    write: Option<BTreeSet<String>>,
    read: Option<BTreeSet<String>>,
    /// Gets packets.
    pub packet_in: bool,
    /// May send packets.
    pub packet_out: bool,
    /// May set the pipeline.
    pub pipeline: bool,
}

impl Permissions {
    fn parse(config: &prost_types::Any) -> Result<Self, Status> {
        let wrong = |what: &str| {
            Status::invalid_argument(format!(
                "role config: {what}; expected a google.protobuf.Struct with write, read (lists of names), \
                 packet_in, packet_out, pipeline (booleans)"
            ))
        };
        if !config.type_url.ends_with("google.protobuf.Struct") {
            return Err(wrong(&format!(
                "type `{}` is not agreed upon",
                config.type_url
            )));
        }
        let parsed = prost_types::Struct::decode(config.value.as_slice());
        let parsed = parsed.map_err(|e| wrong(&e.to_string()))?;
        let mut permissions = Self {
            packet_in: true,
            packet_out: true,
            pipeline: true,
            ..Self::default()
        };
        for (key, value) in &parsed.fields {
            match (key.as_str(), value.kind.as_ref()) {
                ("write", Some(Kind::ListValue(list))) => permissions.write = names(list),
                ("read", Some(Kind::ListValue(list))) => permissions.read = names(list),
                ("packet_in", Some(Kind::BoolValue(b))) => permissions.packet_in = *b,
                ("packet_out", Some(Kind::BoolValue(b))) => permissions.packet_out = *b,
                ("pipeline", Some(Kind::BoolValue(b))) => permissions.pipeline = *b,
                _ => return Err(wrong(&format!("`{key}` is unknown or of another type"))),
            }
        }
        Ok(permissions)
    }

    /// Whether an object may be written.
    #[must_use]
    pub fn may_write(&self, names: &[String]) -> bool {
        allows(self.write.as_ref(), names)
    }

    /// Whether an object may be read.
    #[must_use]
    pub fn may_read(&self, names: &[String]) -> bool {
        allows(self.read.as_ref(), names)
    }
}

fn names(list: &prost_types::ListValue) -> Option<BTreeSet<String>> {
    let name = |value: &prost_types::Value| match &value.kind {
        Some(Kind::StringValue(text)) => Some(text.clone()),
        Some(Kind::NumberValue(number)) => Some(format!("{number}")),
        _ => None,
    };
    Some(list.values.iter().filter_map(name).collect())
}

fn allows(set: Option<&BTreeSet<String>>, names: &[String]) -> bool {
    set.is_none_or(|set| names.iter().any(|name| set.contains(name)))
}

struct Client {
    election: Option<u128>,
    outbox: Outbox,
}

/// An uninterrupted time of one client, with one election id, as primary of a role. Another client
/// that comes with the same id, or the same one after somebody else was primary, has another
/// tenure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenure {
    role: String,
    number: u64,
}

impl Tenure {
    /// The role it is of.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }
}

/// The client whose tenure lasts.
struct Holder {
    number: u64,
    stream: StreamId,
    election: Option<u128>,
}

#[derive(Default)]
struct Role {
    clients: BTreeMap<StreamId, Client>,
    /// The highest id of any primary ever (P4Runtime 1.5, section 5.3).
    highest: Option<u128>,
    primary: Option<StreamId>,
    /// Of the primary; it outlasts a hand-over from a client to itself.
    holder: Option<Holder>,
    config: Option<prost_types::Any>,
    permissions: Option<Permissions>,
}

impl Role {
    /// Whether nothing has to be remembered of it.
    fn forgettable(&self) -> bool {
        self.clients.is_empty() && self.highest.is_none()
    }
}

/// All roles of the device.
pub struct Roles {
    device: u64,
    roles: BTreeMap<String, Role>,
    /// How many tenures there were.
    tenures: u64,
    lost: u64,
}

/// An arbitration that was accepted.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The client becomes or stays primary, once [`Roles::enthrone`] is called.
    Primary(Option<prost_types::Any>, Option<Permissions>),
    /// It is a backup; everyone who has to know was told.
    Backup,
}

/// An election id as one number.
#[must_use]
pub fn election(id: Option<&v1::Uint128>) -> Option<u128> {
    id.map(|id| (u128::from(id.high) << 64) | u128::from(id.low))
}

impl Roles {
    /// No client was there yet.
    #[must_use]
    pub const fn new(device: u64) -> Self {
        Self {
            device,
            roles: BTreeMap::new(),
            tenures: 0,
            lost: 0,
        }
    }

    /// A new role must have room (P4Runtime 1.5 has every role remembered until the switch
    /// restarts).
    fn check_room(&self, name: &str, limits: &Limits) -> Result<(), Status> {
        if name.len() > limits.role_name {
            let most = limits.role_name;
            return Err(Status::invalid_argument(format!(
                "the role's name has {} bytes; {most} are allowed",
                name.len()
            )));
        }
        if !self.knows(name) && self.roles.len() >= limits.roles {
            let most = limits.roles;
            return Err(Status::resource_exhausted(format!(
                "{most} roles are remembered until the switch restarts; there is no room for another"
            )));
        }
        Ok(())
    }

    /// Takes a client's arbitration update; `known` says the role it had before on this stream.
    ///
    /// # Errors
    /// The status that ends the stream (P4Runtime 1.5, section 5.3).
    pub fn arbitrate(
        &mut self,
        stream: StreamId,
        update: &v1::MasterArbitrationUpdate,
        known: Option<&str>,
        outbox: &Outbox,
        limits: &Limits,
    ) -> Result<Outcome, Status> {
        let given = update.role.as_ref();
        let name = given.map_or("", |r| r.name.as_str());
        if known.is_some_and(|known| known != name) {
            return Err(Status::failed_precondition(format!(
                "the stream is of role `{}`; open another one for role `{name}`",
                known.unwrap_or_default()
            )));
        }
        self.check_room(name, limits)?;
        let config = given.and_then(|r| r.config.clone());
        let bytes = config.as_ref().map_or(0, prost::Message::encoded_len);
        if bytes > limits.role_config {
            let most = limits.role_config;
            return Err(Status::invalid_argument(format!(
                "the role config has {bytes} bytes; {most} are allowed"
            )));
        }
        if name.is_empty() && config.is_some() {
            return Err(Status::invalid_argument(
                "the default role has full access and takes no role config",
            ));
        }
        let permissions = config.as_ref().map(Permissions::parse).transpose()?;
        let id = election(update.election_id.as_ref());
        if let Some(role) = self.roles.get(name) {
            // P4Runtime 1.5, section 16.2.1: several clients without an id may be connected.
            let taken = |(other, c): (&StreamId, &Client)| *other != stream && c.election == id;
            if id.is_some() && role.clients.iter().any(taken) {
                return Err(Status::invalid_argument(format!(
                    "election id {} is another client's",
                    id.unwrap_or_default()
                )));
            }
            let most = limits.streams_of_role;
            if known.is_none() && role.clients.len() >= most {
                return Err(Status::resource_exhausted(format!(
                    "role `{name}` has {most} streams already"
                )));
            }
        }
        let role = self.roles.entry(name.to_owned()).or_default();
        let outbox = outbox.clone();
        role.clients.insert(
            stream,
            Client {
                election: id,
                outbox,
            },
        );
        if id.is_some() && id >= role.highest {
            return Ok(Outcome::Primary(config, permissions));
        }
        if role.primary == Some(stream) {
            role.primary = None;
            role.holder = None;
            self.tell_all(name, None);
        } else {
            self.tell(name, stream);
        }
        Ok(Outcome::Backup)
    }

    /// Nobody is primary for a while: the one before, if it is another, is told who comes, and with
    /// which role config.
    pub fn dethrone(&mut self, name: &str, next: StreamId, config: Option<prost_types::Any>) {
        let Some(role) = self.roles.get_mut(name) else {
            return;
        };
        let id = role.clients.get(&next).and_then(|c| c.election);
        // The others hear of the new primary, which is not told before the writes of the old one
        // are done (P4Runtime 1.5, section 5.4).
        role.highest = id.max(role.highest);
        role.holder
            .take_if(|holder| (holder.stream, holder.election) != (next, id));
        role.config = config;
        role.primary = Some(next);
        self.tell_all(name, Some(next));
        if let Some(role) = self.roles.get_mut(name) {
            role.primary = None;
        }
    }

    /// Makes a client primary and tells it; nothing happens if it has gone meanwhile.
    pub fn enthrone(&mut self, name: &str, stream: StreamId, permissions: Option<Permissions>) {
        if let Some(role) = self.roles.get_mut(name)
            && let Some(client) = role.clients.get(&stream)
        {
            role.primary = Some(stream);
            role.holder.get_or_insert_with(|| {
                self.tenures += 1;
                Holder {
                    number: self.tenures,
                    stream,
                    election: client.election,
                }
            });
            role.permissions = permissions;
            self.tell(name, stream);
        }
    }

    /// A client has gone. Without its primary a role has none until the next arbitration (P4Runtime
    /// 1.5, section 5.3).
    pub fn leave(&mut self, name: &str, stream: StreamId) {
        let Some(role) = self.roles.get_mut(name) else {
            return;
        };
        role.clients.remove(&stream);
        role.holder.take_if(|holder| holder.stream == stream);
        if role.primary == Some(stream) {
            role.primary = None;
            self.tell_all(name, None);
        } else if role.forgettable() {
            self.roles.remove(name);
        }
    }

    fn message(
        name: &str,
        role: &Role,
        device: u64,
        stream: StreamId,
    ) -> v1::StreamMessageResponse {
        // P4Runtime 1.5, section 5.4: backups are told whether there is a primary.
        let (code, text) = match role.primary {
            Some(primary) if primary == stream => (Code::Ok, "you are primary"),
            Some(_) => (Code::AlreadyExists, "you are a backup; there is a primary"),
            None => (Code::NotFound, "you are a backup; there is no primary"),
        };
        let config = role.config.clone();
        let named = !name.is_empty() || config.is_some();
        v1::StreamMessageResponse {
            update: Some(Answer::Arbitration(v1::MasterArbitrationUpdate {
                device_id: device,
                role: named.then(|| v1::Role {
                    name: name.to_owned(),
                    config,
                    ..Default::default()
                }),
                // P4Runtime 1.5, section 5.3: the highest id seen.
                election_id: role.highest.map(|id| v1::Uint128 {
                    high: (id >> 64) as u64,
                    low: id as u64,
                }),
                status: Some(rpc::Status {
                    code: code as i32,
                    message: text.to_owned(),
                    details: Vec::new(),
                }),
            })),
        }
    }

    fn tell(&self, name: &str, stream: StreamId) {
        let role = self.roles.get(name);
        if let Some((role, client)) = role.and_then(|r| Some((r, r.clients.get(&stream)?))) {
            let message = Self::message(name, role, self.device, stream);
            if !client.outbox.tell(message) {
                tracing::warn!(
                    role = name,
                    stream,
                    "takes nothing: it misses who is primary"
                );
            }
        }
    }

    fn tell_all(&self, name: &str, except: Option<StreamId>) {
        let Some(role) = self.roles.get(name) else {
            return;
        };
        for stream in role.clients.keys().filter(|s| Some(**s) != except) {
            self.tell(name, *stream);
        }
    }

    /// Whether a role was ever arbitrated for; the default role always exists.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        name.is_empty() || self.roles.contains_key(name)
    }

    /// The tenure of the role's primary, if the id is its.
    #[must_use]
    pub fn tenure(&self, name: &str, id: Option<&v1::Uint128>) -> Option<Tenure> {
        let holder = self.roles.get(name)?.holder.as_ref()?;
        let is_its = holder.election.is_some() && holder.election == election(id);
        is_its.then(|| Tenure {
            role: name.to_owned(),
            number: holder.number,
        })
    }

    /// Whether a tenure has not ended.
    #[must_use]
    pub fn lasts(&self, tenure: &Tenure) -> bool {
        let holder = self.roles.get(&tenure.role).and_then(|r| r.holder.as_ref());
        holder.is_some_and(|holder| holder.number == tenure.number)
    }

    /// Whether a stream is its role's primary.
    #[must_use]
    pub fn is_primary_stream(&self, name: &str, stream: StreamId) -> bool {
        self.roles
            .get(name)
            .is_some_and(|r| r.primary == Some(stream))
    }

    /// What a role may do; `None` is everything.
    #[must_use]
    pub fn permissions(&self, name: &str) -> Option<Permissions> {
        self.roles.get(name).and_then(|r| r.permissions.clone())
    }

    /// Sends something to the primaries of the roles that may have it; what a slow client cannot
    /// take is lost and counted.
    pub fn publish(
        &mut self,
        may: impl Fn(Option<&Permissions>) -> bool,
        message: &v1::StreamMessageResponse,
    ) -> bool {
        let bytes = message.encoded_len();
        let mut heard = false;
        for role in self.roles.values() {
            let primary = role.primary.and_then(|stream| role.clients.get(&stream));
            if let Some(client) = primary.filter(|_| may(role.permissions.as_ref())) {
                let sent = client.outbox.offer(bytes, || message.clone());
                self.lost += u64::from(!sent);
                heard |= sent;
            }
        }
        heard
    }

    /// Messages of the data plane that were lost since a primary did not take them.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

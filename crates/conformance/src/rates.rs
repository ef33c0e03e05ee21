//! How fast a P4Runtime server takes entries and gives them back, measured from a client: ours, or
//! any other.

use std::time::{Duration, Instant};

use p4runtime::client::{ConnectError, Connection, ElectionId, Endpoint, Identity, Stream};
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::{self, FieldMatchType};
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::table_action;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use prost::Message as _;
use prost::bytes::Bytes;
use thiserror::Error;
use tonic::Status;

/// A program with a table of each [`Kind`] for a million entries, to be measured on any v1model
/// target.
pub const PROGRAM: &str = include_str!("rates.p4");

/// With this id we write.
const ELECTION: ElectionId = ElectionId(1);

/// How long a server may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(30);

/// How long one call may take: a program may be built for long, and a million entries be read.
const CALL: Duration = Duration::from_secs(600);

/// Which table is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Prefixes of 32 bits, by longest prefix match.
    Lpm,
    /// Values of 32 bits, by exact match.
    Exact,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Lpm, Self::Exact];

    /// As P4 calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lpm => "lpm",
            Self::Exact => "exact",
        }
    }

    const fn table(self) -> &'static str {
        match self {
            Self::Lpm => "routes",
            Self::Exact => "hosts",
        }
    }
}

/// Figures of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Entries written and read.
    pub entries: usize,
    /// Entries written per second.
    pub writes: f64,
    /// Entries read per second.
    pub reads: f64,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Which table is filled.
    pub kind: Kind,
    /// Entries in all.
    pub entries: usize,
    /// Entries in one batch.
    pub batch: usize,
    /// Batches under way at a time.
    pub in_flight: usize,
}

/// Why there are no figures.
#[derive(Debug, Error)]
pub enum RateError {
    /// The server cannot be reached.
    #[error(transparent)]
    Unreachable(#[from] ConnectError),
    /// The server refuses.
    #[error("{0}: {1}")]
    Refused(&'static str, Box<Status>),
    /// The server holds something else than was written.
    #[error("{read} of {written} entries came back")]
    Lost {
        /// Entries read.
        read: usize,
        /// Entries written.
        written: usize,
    },
    /// No threads, or a program of ours that does not compile.
    #[error("{0}")]
    Here(String),
}

fn refused(what: &'static str) -> impl Fn(Status) -> RateError {
    move |status| RateError::Refused(what, Box::new(status))
}

/// The P4Info of [`PROGRAM`].
///
/// # Errors
/// [`RateError::Here`] if it does not compile, which is our fault.
pub fn info() -> Result<P4Info, RateError> {
    let here = |error: &dyn std::fmt::Display| RateError::Here(error.to_string());
    let mut map = p4front::source::SourceMap::new();
    let main = map.add("rates.p4", PROGRAM).map_err(|e| here(&e))?;
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
    let compiled = compiled.map_err(|findings| RateError::Here(findings.render(&map)))?;
    Ok(compiled.p4info)
}

/// A server whose primary we are, and on which [`PROGRAM`] runs.
pub struct Session {
    connection: Connection,
    identity: Identity,
    info: P4Info,
    /// Keeps us primary while it is open.
    _stream: Stream,
}

impl Session {
    /// Opens a session and loads the program; the server has some time to come up.
    ///
    /// # Errors
    /// [`RateError`].
    pub async fn open(
        address: &str,
        device_id: u64,
        device_config: Vec<u8>,
    ) -> Result<Self, RateError> {
        let endpoint = Endpoint {
            election_id: ELECTION,
            timeout: CALL,
            ..Endpoint::plain(address, device_id)
        };
        let identity = endpoint.identity();
        let deadline = Instant::now() + LISTENS_WITHIN;
        let connection = loop {
            match endpoint.connect().await {
                Err(_) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                done => break done?,
            }
        };
        let opened = connection.stream(Some(identity.arbitration())).await;
        let mut stream = opened.map_err(refused("StreamChannel"))?;
        stream
            .arbitration()
            .await
            .map_err(refused("StreamChannel"))?;
        let info = info()?;
        let config = v1::ForwardingPipelineConfig {
            p4info: Some(info.clone()),
            p4_device_config: device_config.into(),
            cookie: None,
        };
        let request = identity.set_pipeline(Action::VerifyAndCommit, Some(config));
        let loaded = connection.set_pipeline(request).await;
        loaded.map_err(refused("SetForwardingPipelineConfig"))?;
        Ok(Self {
            connection,
            identity,
            info,
            _stream: stream,
        })
    }

    fn table(&self, kind: Kind) -> u32 {
        let heads = self.info.tables.iter().filter_map(|t| t.preamble.as_ref());
        let mut named = heads.filter(|p| p.alias == kind.table());
        named.next().map_or(0, |p| p.id)
    }

    fn action(&self) -> u32 {
        let heads = self.info.actions.iter().filter_map(|a| a.preamble.as_ref());
        let mut named = heads.filter(|p| p.alias == "send");
        named.next().map_or(0, |p| p.id)
    }

    /// Writes the entries, batches made and encoded beforehand, and reads them back.
    ///
    /// # Errors
    /// The first refusal; [`RateError::Lost`] if fewer entries come back than were written.
    pub async fn measure(&self, load: &Load) -> Result<Rates, RateError> {
        let writing = self.fill(load).await?;
        let (reading, read) = self.read(load).await?;
        if read < load.entries {
            let written = load.entries;
            return Err(RateError::Lost { read, written });
        }
        let rate = |time: Duration| load.entries as f64 / time.as_secs_f64().max(1e-9);
        Ok(Rates {
            entries: load.entries,
            writes: rate(writing),
            reads: rate(reading),
        })
    }

    /// Writes the entries, and tells how long that took.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn fill(&self, load: &Load) -> Result<Duration, RateError> {
        let (table, action) = (self.table(load.kind), self.action());
        let mut numbers = 0..u32::try_from(load.entries).unwrap_or(u32::MAX);
        // Encoded beforehand: what is measured is the server, and the client shares the machine
        // with it.
        let mut requests: Vec<Bytes> = Vec::new();
        while !numbers.is_empty() {
            let batch = numbers.by_ref().take(load.batch.max(1));
            let updates = batch.map(|n| entry(load.kind, table, action, n)).collect();
            let request = self.identity.write(updates, Atomicity::ContinueOnError);
            requests.push(request.encode_to_vec().into());
        }
        requests.reverse();
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        let take = |done: Result<Result<(), Status>, tokio::task::JoinError>| match done {
            Ok(done) => done.map_err(refused("Write")),
            Err(error) => Err(RateError::Here(error.to_string())),
        };
        while let Some(request) = requests.pop() {
            if tasks.len() >= load.in_flight.max(1)
                && let Some(done) = tasks.join_next().await
            {
                take(done)?;
            }
            let connection = self.connection.clone();
            tasks.spawn(async move { connection.write_encoded(request).await });
        }
        while let Some(done) = tasks.join_next().await {
            take(done)?;
        }
        Ok(began.elapsed())
    }

    /// The request that reads a whole table.
    #[must_use]
    pub fn everything(&self, kind: Kind) -> v1::ReadRequest {
        let filter = v1::TableEntry {
            table_id: self.table(kind),
            ..Default::default()
        };
        self.identity.read(vec![v1::Entity {
            entity: Some(Entity::TableEntry(filter)),
        }])
    }

    /// Writes one entry once more, as it is, and tells how long that took.
    ///
    /// # Errors
    /// The refusal.
    pub async fn rewrite(&self, kind: Kind, number: u32) -> Result<Duration, RateError> {
        let mut update = entry(kind, self.table(kind), self.action(), number);
        update.set_type(Type::Modify);
        let request = self
            .identity
            .write(vec![update], Atomicity::ContinueOnError);
        let began = Instant::now();
        let done = self.connection.write(request).await;
        done.map_err(refused("Write"))?;
        Ok(began.elapsed())
    }

    async fn read(&self, load: &Load) -> Result<(Duration, usize), RateError> {
        let request = self.everything(load.kind);
        let began = Instant::now();
        let mut read = 0;
        let count = |answer: v1::ReadResponse| read += answer.entities.len();
        let done = self.connection.read_each(request, count).await;
        done.map_err(refused("Read"))?;
        Ok((began.elapsed(), read))
    }
}

/// Every value once, scattered over the space: the odd constant makes multiplication a permutation.
fn entry(kind: Kind, table_id: u32, action_id: u32, number: u32) -> v1::Update {
    let value = number.wrapping_mul(0x9e37_79b1).to_be_bytes().to_vec();
    let matched = match kind {
        Kind::Lpm => FieldMatchType::Lpm(field_match::Lpm {
            value,
            prefix_len: 32,
        }),
        Kind::Exact => FieldMatchType::Exact(field_match::Exact { value }),
    };
    let action = v1::Action {
        action_id,
        params: vec![v1::action::Param {
            param_id: 1,
            value: vec![(number % 250) as u8 + 1],
        }],
    };
    v1::Update {
        r#type: Type::Insert.into(),
        entity: Some(v1::Entity {
            entity: Some(Entity::TableEntry(v1::TableEntry {
                table_id,
                r#match: vec![v1::FieldMatch {
                    field_id: 1,
                    field_match_type: Some(matched),
                }],
                action: Some(v1::TableAction {
                    r#type: Some(table_action::Type::Action(action)),
                }),
                ..Default::default()
            })),
        }),
    }
}

/// Measures a server from a thread that is not a task; `loaded` is called when the program is there
/// and no entry yet.
///
/// # Errors
/// [`RateError`].
pub fn run(
    address: &str,
    device_id: u64,
    device_config: Vec<u8>,
    load: &Load,
    loaded: impl FnOnce(),
) -> Result<Rates, RateError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| RateError::Here(error.to_string()))?;
    runtime.block_on(async {
        let session = Session::open(address, device_id, device_config).await?;
        loaded();
        session.measure(load).await
    })
}

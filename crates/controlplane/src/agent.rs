//! Port status for switches that cannot see their own links: watches the interfaces of a switch's
//! ports and keeps the default action of the program's port-status table at what they are
//! (Stephens15 section 4.6.1).
//!
//! The table is the one that the program annotates with `@switchwright("port_status")`. The agent
//! takes the primary's seat only for the moment of a write, so that a controller can come and go;
//! it reconnects when the switch comes back, and looks every second whether the switch still holds
//! what it was told.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linuxnet::rtnl::Rtnl;
use linuxnet::{LinkEvent, LinkWatch, NetError};
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::{self, entity::Entity as Kind, table_action, update, write_request};
use quantities::PortId;
use thiserror::Error;
use tokio::sync::watch;
use tonic::Code;

use super::client::Client;
use super::entity::{self, is_port_status};
use super::error::RemoteError;
use p4runtime::client::Endpoint;

/// How often the switch is asked whether it still holds the status.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Pauses between attempts to reach a switch: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A port and the interface behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The switch's number of it.
    pub port: PortId,
    /// The interface in the agent's own network namespace.
    pub interface: String,
}

/// What an agent does.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The switch.
    pub endpoint: Endpoint,
    /// Its ports.
    pub ports: Vec<Watched>,
    /// Look at `/sys/class/net/NAME/carrier` this often instead of listening to the kernel.
    pub carrier: Option<Duration>,
    /// Write the status once and end.
    pub once: bool,
}

/// What an agent tells.
#[derive(Clone, Debug)]
pub enum AgentEvent {
    /// The switch holds this status.
    Written {
        /// The ports that are up.
        up: Vec<PortId>,
        /// From the moment at which the agent heard of the change until the switch had it, in
        /// seconds.
        seconds: f64,
    },
    /// The switch does not take it yet; the agent tries again.
    Waiting {
        /// Why.
        reason: String,
    },
}

/// Why an agent ends.
#[derive(Debug, Error)]
pub enum AgentError {
    /// Links cannot be watched.
    #[error(transparent)]
    Links(#[from] NetError),
    /// An interface that is not there.
    #[error(
        "there is no interface `{name}` here: the agent runs in the network namespace of the switch's interfaces"
    )]
    NoInterface {
        /// Its name.
        name: String,
    },
    /// A port twice.
    #[error("port {0} is given twice")]
    PortTwice(PortId),
    /// A port that the program's status does not have.
    #[error(
        "port {port} is beyond the port status of the switch's program, which ends at port {last}"
    )]
    Port {
        /// The port.
        port: PortId,
        /// The last that there is.
        last: u32,
    },
    /// The switch, where only one attempt was wanted.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The watching thread ended.
    #[error("links are no longer watched")]
    Blind,
}

/// The status and when it became so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status {
    up: u128,
    since: Instant,
}

/// Where a program keeps the port status.
#[derive(Clone, Copy, Debug)]
struct Place {
    table: u32,
    action: u32,
    param: u32,
    bits: u32,
}

/// Keeps the status of a switch's ports up to date, until it is dropped or, with `once`, has
/// written it.
///
/// # Errors
/// [`AgentError`]: wrong interfaces or ports, or links that cannot be watched. A switch that cannot
/// be reached or has no such program yet is waited for, unless only one attempt is wanted.
pub async fn run(
    options: &AgentOptions,
    mut told: impl FnMut(AgentEvent),
) -> Result<(), AgentError> {
    let (sender, mut status) = watch::channel(Status {
        up: 0,
        since: Instant::now(),
    });
    let _source = watch_links(options, sender)?;
    let mut session = Session {
        endpoint: options.endpoint.clone(),
        client: None,
        place: None,
    };
    let mut written = None;
    let mut pause = PAUSE.0;
    let mut said = String::new();
    loop {
        let wanted = *status.borrow_and_update();
        if written != Some(wanted.up) {
            match session.write(wanted.up, &options.ports).await {
                Ok(()) => {
                    written = Some(wanted.up);
                    pause = PAUSE.0;
                    said.clear();
                    told(AgentEvent::Written {
                        up: ports_of(wanted.up),
                        seconds: wanted.since.elapsed().as_secs_f64(),
                    });
                    if options.once {
                        return Ok(());
                    }
                    continue;
                }
                Err(AgentError::Remote(error)) if !options.once => {
                    let reason = error.to_string();
                    if reason != said {
                        told(AgentEvent::Waiting {
                            reason: reason.clone(),
                        });
                        said = reason;
                    }
                    if error.code() == Some(Code::InvalidArgument) {
                        session.outgrow();
                    }
                    session.forget();
                    // A change does not cut the pause short: the switch is not there.
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                    continue;
                }
                Err(error) => return Err(error),
            }
        }
        tokio::select! {
            changed = status.changed() => changed.map_err(|_| AgentError::Blind)?,
            () = tokio::time::sleep(POLL_INTERVAL) => {
                if !session.holds(wanted.up).await {
                    written = None;
                }
            }
        }
    }
}

fn ports_of(up: u128) -> Vec<PortId> {
    let numbers = (0..128u16).filter(|port| up >> port & 1 == 1);
    numbers.map(PortId::new).collect()
}

const fn bit(port: PortId) -> u128 {
    match 1u128.checked_shl(port.get() as u32) {
        Some(bit) => bit,
        None => 0,
    }
}

/// What watches the links; it ends when dropped.
enum Source {
    Kernel { _watch: LinkWatch },
    Carrier { stop: Arc<AtomicBool> },
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Self::Carrier { stop } = self {
            stop.store(true, Ordering::Release);
        }
    }
}

fn watch_links(
    options: &AgentOptions,
    sender: watch::Sender<Status>,
) -> Result<Source, AgentError> {
    let mut ports: BTreeMap<String, PortId> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    let there = Rtnl::open()?.links()?;
    for watched in &options.ports {
        if seen.insert(watched.port, ()).is_some() {
            return Err(AgentError::PortTwice(watched.port));
        }
        if bit(watched.port) == 0 {
            return Err(AgentError::Port {
                port: watched.port,
                last: 127,
            });
        }
        let name = watched.interface.clone();
        if !there.iter().any(|link| link.name == name) {
            return Err(AgentError::NoInterface { name });
        }
        ports.insert(name, watched.port);
    }
    let set = move |port: PortId, up: bool| {
        sender.send_if_modified(|status| {
            let now = if up {
                status.up | bit(port)
            } else {
                status.up & !bit(port)
            };
            let changed = now != status.up;
            if changed {
                *status = Status {
                    up: now,
                    since: Instant::now(),
                };
            }
            changed
        });
    };
    if let Some(interval) = options.carrier {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let look = move || {
            for (name, port) in &ports {
                set(*port, carries(name));
            }
        };
        look();
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                std::thread::sleep(interval);
                look();
            }
        });
        return Ok(Source::Carrier { stop });
    }
    let watch = LinkWatch::start(move |event| {
        let (name, up) = match &event {
            LinkEvent::State(link) => (&link.name, link.up),
            LinkEvent::Gone { name, .. } => (name, false),
        };
        if let Some(port) = ports.get(name) {
            set(*port, up);
        }
    })?;
    Ok(Source::Kernel { _watch: watch })
}

/// Whether an interface carries, as the kernel's files say; one that is switched off does not.
fn carries(name: &str) -> bool {
    let path = format!("/sys/class/net/{name}/carrier");
    fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

/// A connection, and where the switch's program keeps the status.
struct Session {
    endpoint: Endpoint,
    client: Option<Client>,
    place: Option<Place>,
}

impl Session {
    /// Another client holds our election id: the next one may be free.
    const fn outgrow(&mut self) {
        self.endpoint.election_id = self.endpoint.election_id.next();
    }

    fn forget(&mut self) {
        self.client = None;
        self.place = None;
    }

    async fn ready(&mut self) -> Result<(&mut Client, Place), RemoteError> {
        if self.client.is_none() {
            self.client = Some(Client::connect(&self.endpoint).await?);
        }
        let place = self.place;
        let Some(client) = &mut self.client else {
            return Err(RemoteError::Config("not connected".to_owned()));
        };
        let place = match place {
            Some(place) => place,
            None => find(client).await?,
        };
        self.place = Some(place);
        Ok((client, place))
    }

    async fn write(&mut self, up: u128, ports: &[Watched]) -> Result<(), AgentError> {
        let (client, place) = self.ready().await?;
        if let Some(beyond) = ports.iter().find(|w| u32::from(w.port.get()) >= place.bits) {
            return Err(AgentError::Port {
                port: beyond.port,
                last: place.bits.saturating_sub(1),
            });
        }
        client.become_primary(true).await?;
        let update = v1::Update {
            r#type: update::Type::Modify.into(),
            entity: Some(entity::wrap(Kind::TableEntry(place.entry(Some(up))))),
        };
        let done = client
            .write(vec![update], write_request::Atomicity::ContinueOnError)
            .await;
        client.resign();
        Ok(done?)
    }

    /// Whether the switch can be asked, and says that it holds this status.
    async fn holds(&mut self, up: u128) -> bool {
        let Ok((client, place)) = self.ready().await else {
            self.forget();
            return false;
        };
        let query = entity::wrap(Kind::TableEntry(place.entry(None)));
        let Ok(answer) = client.read(vec![query]).await else {
            self.forget();
            return false;
        };
        let held = answer.iter().find_map(|entity| place.value(entity));
        held == Some(up)
    }
}

impl Place {
    /// The default entry of the table, with this status if any.
    fn entry(&self, up: Option<u128>) -> v1::TableEntry {
        let action = up.map(|up| {
            let bytes = up.to_be_bytes();
            let first = bytes
                .iter()
                .position(|b| *b != 0)
                .unwrap_or(bytes.len() - 1);
            let value = bytes[first..].to_vec();
            v1::TableAction {
                r#type: Some(table_action::Type::Action(v1::Action {
                    action_id: self.action,
                    params: vec![v1::action::Param {
                        param_id: self.param,
                        value,
                    }],
                })),
            }
        });
        v1::TableEntry {
            table_id: self.table,
            is_default_action: true,
            action,
            ..Default::default()
        }
    }

    /// The status of a default entry that was read.
    fn value(&self, entity: &v1::Entity) -> Option<u128> {
        let Some(Kind::TableEntry(entry)) = &entity.entity else {
            return None;
        };
        let Some(table_action::Type::Action(call)) = entry.action.as_ref()?.r#type.as_ref() else {
            return None;
        };
        let param = call.params.iter().find(|p| p.param_id == self.param)?;
        let number = |value, byte: &u8| value << 8 | u128::from(*byte);
        (entry.table_id == self.table && call.action_id == self.action)
            .then(|| param.value.iter().fold(0, number))
    }
}

/// Where the switch's program keeps the port status.
async fn find(client: &mut Client) -> Result<Place, RemoteError> {
    let config = client.pipeline().await?;
    let info = config.and_then(|config| config.p4info).ok_or_else(|| {
        RemoteError::Config("the switch has no program yet: push a build to it".to_owned())
    })?;
    let index = P4InfoIndex::new(info).map_err(|error| RemoteError::Foreign(error.to_string()))?;
    let place = index
        .info()
        .tables
        .iter()
        .filter(|t| is_port_status(t))
        .find_map(|table| {
            let actions = table.action_refs.iter();
            let mut found = actions.filter_map(|action| index.action_by_id(action.id).ok());
            found.find_map(|action| match &action.params[..] {
                [param] => Some(Place {
                    table: table.preamble.as_ref()?.id,
                    action: action.preamble.as_ref()?.id,
                    param: param.id,
                    bits: u32::try_from(param.bitwidth).ok()?,
                }),
                _ => None,
            })
        });
    place.ok_or_else(|| {
        RemoteError::Config(
            "the switch's program has no table for the port status: it is not a failover program, or sees its links \
             itself"
                .to_owned(),
        )
    })
}

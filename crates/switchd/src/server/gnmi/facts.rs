//! What is known of the ports at one moment. A caller gets facts that were gathered after its call;
//! calls that wait at the same time share them, so that only one thread gathers at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use device::PortCounters;
use linuxnet::Link;
use linuxnet::rtnl::Rtnl;
use quantities::PortId;
use tonic::Status;

use crate::engine::{EngineHandle, PortState};
use crate::ports::{LineStats, PortSpec, Ports};

/// A port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) name: Arc<str>,
    pub(super) state: PortState,
    pub(super) counters: Option<PortCounters>,
    pub(super) line: Option<LineStats>,
    pub(super) link: Option<Link>,
}

/// What has to be asked for beside the table of ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) counters: bool,
    pub(super) lines: bool,
    pub(super) links: bool,
}

impl Wants {
    pub(super) const fn with(self, other: Self) -> Self {
        Self {
            counters: self.counters || other.counters,
            lines: self.lines || other.lines,
            links: self.links || other.links,
        }
    }

    const fn covers(self, other: Self) -> bool {
        (self.counters || !other.counters)
            && (self.lines || !other.lines)
            && (self.links || !other.links)
    }

    const fn is_nothing(self) -> bool {
        !self.counters && !self.lines && !self.links
    }
}

/// The ports at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    began: Instant,
    wants: Wants,
    /// Of the table of ports.
    pub(super) revision: u64,
    pub(super) time: SystemTime,
    pub(super) ports: Vec<Port>,
}

/// Where facts come from.
pub(super) struct Facts {
    pub(super) engine: EngineHandle,
    ports: Option<Arc<Mutex<Ports>>>,
    last: tokio::sync::Mutex<Option<Arc<Snapshot>>>,
}

impl Facts {
    pub(super) fn new(engine: EngineHandle, ports: Option<Arc<Mutex<Ports>>>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            ports,
            last: tokio::sync::Mutex::default(),
        })
    }

    /// Facts that are not older than this call.
    ///
    /// # Errors
    /// UNAVAILABLE if the data plane has stopped.
    pub(super) async fn snapshot(self: &Arc<Self>, wants: Wants) -> Result<Arc<Snapshot>, Status> {
        if wants.is_nothing() {
            return Ok(Arc::new(self.gather(wants)?));
        }
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some(snapshot) = &*last
            && snapshot.began >= asked
            && snapshot.wants.covers(wants)
        {
            return Ok(Arc::clone(snapshot));
        }
        let facts = Arc::clone(self);
        let gathered = tokio::task::spawn_blocking(move || facts.gather(wants)).await;
        let gathered =
            gathered.map_err(|e| Status::internal(format!("the facts were not gathered: {e}")))?;
        let snapshot = Arc::new(gathered?);
        *last = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// The port of an event with its name, without its counters and its link.
    pub(super) fn port(&self, state: PortState) -> Port {
        let number = state.port.get().into();
        Port {
            name: self.engine.port_names().name(number).into(),
            state,
            counters: None,
            line: None,
            link: None,
        }
    }

    fn gather(&self, wants: Wants) -> Result<Snapshot, Status> {
        let began = Instant::now();
        let mut counters = BTreeMap::new();
        if wants.counters {
            let counted = self.engine.all_port_counters();
            counters = counted.map_err(|e| Status::unavailable(e.to_string()))?;
        }
        let lines = self.lines(wants.lines);
        let links = self.links(wants.links);
        let states = self.engine.port_states();
        let port = |state: PortState| Port {
            counters: counters.get(&state.port).copied(),
            line: lines.get(&state.port).copied(),
            link: links.get(&state.port).cloned(),
            ..self.port(state)
        };
        Ok(Snapshot {
            began,
            wants,
            revision: states.revision,
            time: SystemTime::now(),
            ports: states.ports.into_iter().map(port).collect(),
        })
    }

    fn lines(&self, wanted: bool) -> BTreeMap<PortId, LineStats> {
        let Some(ports) = self.ports.as_ref().filter(|_| wanted) else {
            return BTreeMap::new();
        };
        let ports = ports.lock().unwrap_or_else(PoisonError::into_inner);
        let list = ports.list().into_iter();
        list.map(|info| (info.port, info.stats)).collect()
    }

    /// The interfaces of ports. What the kernel does not know is absent.
    fn links(&self, wanted: bool) -> BTreeMap<PortId, Link> {
        let Some(ports) = self.ports.as_ref().filter(|_| wanted) else {
            return BTreeMap::new();
        };
        let bindings = {
            let ports = ports.lock().unwrap_or_else(PoisonError::into_inner);
            ports.bindings()
        };
        let links = Rtnl::open().and_then(|mut rtnl| rtnl.links());
        let links = links.unwrap_or_else(|error| {
            tracing::debug!(%error, "interfaces cannot be read");
            Vec::new()
        });
        let named: BTreeMap<&str, &Link> = links.iter().map(|link| (&*link.name, link)).collect();
        let link = |binding: &crate::ports::PortBinding| match &binding.spec {
            PortSpec::Interface(name) => {
                let link = named.get(name.as_str())?;
                Some((binding.port, (*link).clone()))
            }
            _ => None,
        };
        bindings.iter().filter_map(link).collect()
    }
}

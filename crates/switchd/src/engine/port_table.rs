//! Ports as the control plane knows them: whether their links carry frames, whether an
//! administrator lets packets pass, and when either changed. Packets pass a port if both hold.

use std::collections::BTreeMap;
use std::time::SystemTime;

use quantities::PortId;
use tokio::sync::broadcast;

/// Events that may wait for a listener; one that misses some has to read the table again.
const EVENTS: usize = 1024;

/// A port, the CPU port excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortState {
    /// Its number.
    pub port: PortId,
    /// Whether its link carries frames.
    pub link_up: bool,
    /// Whether an administrator lets packets pass.
    pub enabled: bool,
    /// When packets last began or ceased to pass; `None` before the first change.
    pub changed: Option<SystemTime>,
    /// How often packets began or ceased to pass.
    pub transitions: u64,
}

impl PortState {
    /// A port that was just added.
    const fn new(port: PortId) -> Self {
        Self {
            port,
            link_up: true,
            enabled: true,
            changed: None,
            transitions: 0,
        }
    }

    /// Whether packets pass.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.link_up && self.enabled
    }
}

/// A change of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortEvent {
    /// How often the table had changed, this change included.
    pub revision: u64,
    /// When.
    pub at: SystemTime,
    /// The port that has changed, as it is now; `None`: ports were added or removed.
    pub state: Option<PortState>,
}

/// The ports at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortStates {
    /// How often the table had changed.
    pub revision: u64,
    /// The ports in rising order, the CPU port excepted.
    pub ports: Vec<PortState>,
}

/// The ports and the listeners.
pub(super) struct PortTable {
    ports: BTreeMap<PortId, PortState>,
    revision: u64,
    events: broadcast::Sender<PortEvent>,
}

impl PortTable {
    pub(super) fn new(ports: impl IntoIterator<Item = PortId>) -> Self {
        let ports = ports.into_iter();
        Self {
            ports: ports.map(|port| (port, PortState::new(port))).collect(),
            revision: 0,
            events: broadcast::Sender::new(EVENTS),
        }
    }

    pub(super) fn states(&self) -> PortStates {
        PortStates {
            revision: self.revision,
            ports: self.ports.values().copied().collect(),
        }
    }

    pub(super) fn contains(&self, port: PortId) -> bool {
        self.ports.contains_key(&port)
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<PortEvent> {
        self.events.subscribe()
    }

    /// Changes the state of a port. Returns its state before and after, or `None` if there is no
    /// such port. Listeners hear of it by [`PortTable::announce`].
    pub(super) fn change(
        &mut self,
        port: PortId,
        change: impl FnOnce(&mut PortState),
    ) -> Option<(PortState, PortState)> {
        let state = self.ports.get_mut(&port)?;
        let before = *state;
        change(state);
        if state.is_up() != before.is_up() {
            state.changed = Some(SystemTime::now());
            state.transitions += 1;
        }
        Some((before, *state))
    }

    /// Sends an event about a change. The data plane has the change already.
    pub(super) fn announce(&mut self, before: PortState, after: PortState) {
        if before != after {
            let at = after.changed.filter(|_| before.changed != after.changed);
            self.send(at.unwrap_or_else(SystemTime::now), Some(after));
        }
    }

    pub(super) fn set_exists(&mut self, port: PortId, exists: bool) {
        let changed = match exists {
            true if self.contains(port) => false,
            true => self.ports.insert(port, PortState::new(port)).is_none(),
            false => self.ports.remove(&port).is_some(),
        };
        if changed {
            self.send(SystemTime::now(), None);
        }
    }

    fn send(&mut self, at: SystemTime, state: Option<PortState>) {
        self.revision += 1;
        // There may be no listener.
        let _ = self.events.send(PortEvent {
            revision: self.revision,
            at,
            state,
        });
    }
}

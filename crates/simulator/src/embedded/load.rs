//! From name-based entries to the executor's tables: all of a switch's entries as one batch.

use entries::{EntryError, SwitchEntries};
use p4exec::{RuntimeState, StateError};
use quantities::{Nanos, PortId};
use thiserror::Error;
use topology::{LinkId, SwitchId, Topology};

/// Why an embedded switch does not take its entries.
#[derive(Debug, Error)]
pub enum LoadError {
    /// An entry does not fit the program.
    #[error(transparent)]
    Entry(#[from] Box<EntryError>),
    /// The executor refuses an update.
    #[error("update {index}: {source}")]
    Refused {
        /// The update's position in the batch.
        index: usize,
        /// Why.
        source: StateError,
    },
}

/// Installs everything, or nothing.
///
/// # Errors
/// [`LoadError`], with the entry or update that does not fit the program.
pub fn install(state: &mut RuntimeState, entries: &SwitchEntries) -> Result<(), LoadError> {
    let updates = entries::resolve(state.program(), entries).map_err(Box::new)?;
    state
        .apply_batch(updates, Nanos::new(0))
        .map_err(|(index, source)| LoadError::Refused { index, source })
}

/// Makes a switch of a network of an executor's state: its entries, and its ports, all of them
/// down.
///
/// # Errors
/// As [`install`].
pub fn install_switch(
    state: &mut RuntimeState,
    topology: &Topology,
    switch: SwitchId,
    entries: &SwitchEntries,
) -> Result<(), LoadError> {
    install(state, entries)?;
    let last = topology.peers(switch).map(|(port, _)| port).max();
    let count = last.map_or(0, |port| port.get().saturating_add(1));
    state.set_port_count(count);
    for port in (0..count).map(PortId::new) {
        state.set_port_up(port, false);
    }
    Ok(())
}

/// Says at a switch which links have failed: these, and no others but those that the topology has
/// down.
pub fn set_failed(
    state: &mut RuntimeState,
    topology: &Topology,
    switch: SwitchId,
    failed: &[LinkId],
) {
    for (port, peer) in topology.peers(switch) {
        let up = topology.is_live(peer.link) && !failed.contains(&peer.link);
        state.set_port_up(port, up);
    }
}

//! Looking ahead: the first look-up of many packets at once, before the first of them is run.
//!
//! A look-up in a large table waits for memory, and a packet that is run to its end cannot begin
//! the next one's. So the executor first runs a batch's packets only as far as their first look-up
//! (`codegen/ahead.rs`), looks up all of those keys together (`tables/table/together.rs`), and then
//! runs the packets, which find the answers waiting.

use p4ir::{Entity as _, TableId};
use quantities::Nanos;

use super::jit::{Arrival, Session};
use super::memo::KEY_WORDS;
use super::runtime::Foreseen;
use crate::state::ControlState;
use crate::tables::table::Together;
use crate::tables::{TOGETHER, Table};

/// Entries from which on a table is large: its look-ups wait for memory.
pub(super) const MANY_ENTRIES: usize = 4096;

/// Packets of a batch from which on it is worth looking ahead.
pub(super) const SOME_PACKETS: usize = 4;

/// Whether a table is large.
pub(super) fn has_large_table(control: &ControlState) -> bool {
    let mut tables = control.program().tables.keys();
    tables.any(|id| {
        let table = control.known_table(id);
        table.is_some_and(|table| table.len() >= MANY_ENTRIES)
    })
}

/// The first look-ups of the packets that are run, and of those after them.
#[derive(Debug, Default)]
pub(super) struct LookAhead(pub(super) [FirstLookUps; 2]);

/// The first look-ups of at most [`TOGETHER`] packets, as far as they can be known.
#[derive(Debug, Default)]
pub(super) struct FirstLookUps {
    /// The table that the first of them comes to; packets of one batch nearly always come to the
    /// same.
    table: Option<usize>,
    /// Which packets come to it, by their places.
    packets: [usize; TOGETHER],
    /// Their keys.
    keys: [[u64; KEY_WORDS]; TOGETHER],
    count: usize,
    together: Together,
}

/// Words of a table's keys.
fn key_words(table: &Table) -> usize {
    table.layout().dense_words().min(KEY_WORDS)
}

/// Keys as a table has them.
fn keys_of<'k>(own: &'k [[u64; KEY_WORDS]; TOGETHER], table: &Table) -> [&'k [u64]; TOGETHER] {
    let words = key_words(table);
    let mut keys: [&[u64]; TOGETHER] = [&[]; TOGETHER];
    for (key, own) in keys.iter_mut().zip(own) {
        *key = &own[..words];
    }
    keys
}

impl FirstLookUps {
    /// Runs packets as far as their first look-ups, and takes the first two steps of those.
    pub(super) fn look_at(
        &mut self,
        session: &mut Session<'_>,
        now: Nanos,
        packets: &[Arrival<'_>],
    ) {
        (self.table, self.count) = (None, 0);
        for (packet, arrival) in packets.iter().enumerate() {
            let place = self.count;
            let key = &mut self.keys[place];
            let Some(at) = session.look_ahead(now, arrival, key) else {
                continue;
            };
            if *self.table.get_or_insert(at) != at {
                continue;
            }
            let control = &session.runtime.state.control;
            if let Some(table) = control.known_table(TableId::new(at)) {
                let key = &self.keys[place][..key_words(table)];
                table.begin_together(place, key, &mut self.together);
            }
            self.packets[place] = packet;
            self.count += 1;
        }
        self.go_on(&session.runtime.state.control);
    }

    /// The second step of the look-ups.
    fn go_on(&mut self, control: &ControlState) {
        if let Some(table) = self.table_in(control) {
            let keys = &keys_of(&self.keys, table)[..self.count];
            table.go_on_together(keys, &mut self.together);
        }
    }

    /// The last step: what each packet finds.
    pub(super) fn end(&self, control: &ControlState) -> [Foreseen; TOGETHER] {
        let mut foreseen = [Foreseen::default(); TOGETHER];
        if let (Some(at), Some(table)) = (self.table, self.table_in(control)) {
            let found =
                table.end_together(&keys_of(&self.keys, table)[..self.count], &self.together);
            for (packet, slot) in self.packets.iter().zip(found).take(self.count) {
                foreseen[*packet] = Foreseen::new(TableId::new(at), slot);
            }
        }
        foreseen
    }

    fn table_in<'c>(&self, control: &'c ControlState) -> Option<&'c Table> {
        control.known_table(TableId::new(self.table?))
    }
}

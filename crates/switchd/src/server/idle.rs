//! Which entries were not hit for their time to live (P4Runtime 1.5, section 9.1.8).
//!
//! A scan looks in the control plane's copy where entries with timeouts are, and then at those
//! places in the data plane, a stretch at a time: between two stretches packets go on, and so do
//! writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use p4exec::tables::{EntryHandle, Slot};
use p4runtime::p4::v1;
use tokio::time::Instant;

use crate::translate::pipeline_state::{NoteKey, PipelineState};
use crate::translate::schema::Schema;
use crate::translate::table::entry_message;

/// Entries are looked at this often at most.
const SCAN_AT_MOST: Duration = Duration::from_millis(10);

/// And this often at least, if any can be idle.
const SCAN_AT_LEAST: Duration = Duration::from_secs(1);

/// Between two scans there is so many times the time that one takes, however short timeouts are.
const REST: u32 = 4;

/// Slots that are looked at in one visit of the data plane: packets wait that long, some ten
/// microseconds.
const VISIT: Slot = 1024;

/// When to look, and how far a look has come.
#[derive(Default)]
pub(super) struct IdleScan {
    /// The program whose entries are looked at.
    schema: Option<Arc<Schema>>,
    /// When the next scan begins.
    at: Option<Instant>,
    began: Option<Instant>,
    /// The shortest timeout that an entry has, in nanoseconds.
    shortest: Option<u64>,
    /// What this scan has yet to look at: ids of tables and numbers of stretches.
    left: VecDeque<(u32, Slot)>,
    found: Vec<v1::TableEntry>,
}

impl IdleScan {
    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.left.is_empty() {
            true => self.at,
            false => self.began,
        }
    }

    /// Entries may have got timeouts, or there is another program, or none.
    pub(super) fn reconsider(&mut self, contents: Option<&PipelineState>) {
        let Some(contents) = contents else {
            *self = Self::default();
            return;
        };
        let same = |schema: &Arc<Schema>| Arc::ptr_eq(schema, &contents.schema);
        if !self.schema.as_ref().is_some_and(same) {
            *self = Self {
                schema: Some(Arc::clone(&contents.schema)),
                ..Self::default()
            };
        }
        if let Some(timeout) = contents.take_shortest_idle() {
            self.shortest = Some(self.shortest.map_or(timeout, |s| s.min(timeout)));
            // Writes that come often must not put it off.
            let next = Instant::now() + interval(timeout);
            self.at = Some(self.at.map_or(next, |at| at.min(next)));
        }
    }

    /// Goes on with a scan, or begins one if it is time. The entries that are idle, when a scan
    /// ends.
    pub(super) fn step(
        &mut self,
        contents: Option<&PipelineState>,
        now: Instant,
    ) -> Vec<v1::TableEntry> {
        self.reconsider(contents);
        let Some(contents) = contents.filter(|_| self.due().is_some_and(|at| at <= now)) else {
            return Vec::new();
        };
        if self.left.is_empty() {
            self.begin(contents, now);
        }
        if let Some((table, stretch)) = self.left.pop_front() {
            self.look(contents, table, stretch);
        }
        if !self.left.is_empty() {
            return Vec::new();
        }
        let end = Instant::now();
        let took = end.saturating_duration_since(self.began.unwrap_or(end));
        let rest = |timeout| end + interval(timeout).max(took * REST);
        self.at = self.shortest.map(rest);
        std::mem::take(&mut self.found)
    }

    /// Finds the entries that have timeouts.
    fn begin(&mut self, contents: &PipelineState, now: Instant) {
        self.began = Some(now);
        self.shortest = None;
        for schema in contents.schema.tables.values().filter(|t| t.idle_timeout) {
            let Ok(table) = contents.state().table(schema.table) else {
                continue;
            };
            for entry in table.iter() {
                let timeout = entry.idle_timeout().get();
                if timeout == 0 {
                    continue;
                }
                self.shortest = Some(self.shortest.map_or(timeout, |s| s.min(timeout)));
                let stretch = (schema.id, entry.handle().0 / VISIT);
                if self.left.back() != Some(&stretch) {
                    self.left.push_back(stretch);
                }
            }
        }
    }

    fn look(&mut self, contents: &PipelineState, id: u32, stretch: Slot) {
        let Some(schema) = contents.schema.tables.get(&id) else {
            return;
        };
        let table = schema.table;
        let first = stretch * VISIT;
        let slots = contents.control.visit_one(move |state, now| {
            let p4exec::RuntimeState { control, data } = state;
            data.take_idle(control, table, now, first..first.saturating_add(VISIT))
        });
        let Ok(state) = contents.state().table(table) else {
            return;
        };
        let slots = slots.unwrap_or_default().into_iter();
        let entries = slots.filter_map(|slot| state.view(EntryHandle(slot)));
        self.found.extend(entries.map(|entry| {
            let note = contents.note(NoteKey::Entry(table, entry.handle()));
            entry_message(contents, schema, entry, note)
        }));
    }
}

/// An eighth of the shortest time to live, within bounds.
fn interval(shortest: u64) -> Duration {
    Duration::from_nanos(shortest / 8).clamp(SCAN_AT_MOST, SCAN_AT_LEAST)
}

//! What the data plane tells goes to the primaries: packets, digest lists, entries that are idle (P4Runtime 1.5, sections 9.1.8,
//! 9.8, 16.1 and 16.4; p4runtime.md 19, 27).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use p4exec::tables::EntryHandle;
use p4ir::TableId;
use p4runtime::p4::v1;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::digests::Digests;
use super::switch::Switch;
use crate::engine::Notification;
use crate::engine::control::EntryName;
use crate::translate::book::NoteKey;
use crate::translate::packet::packet_in;
use crate::translate::table::entry_message;

/// A digest and a list of it that was acknowledged.
pub type Acks = (u32, u64);

/// Entries are looked at this often at most.
const SCAN_AT_MOST: Duration = Duration::from_millis(10);

/// And this often at least, if any can be idle.
const SCAN_AT_LEAST: Duration = Duration::from_secs(1);

/// Nothing is due.
const LONG: Duration = Duration::from_secs(3600);

/// Nanoseconds since 1970, as the standard wants its timestamps.
#[must_use]
pub fn timestamp() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The task.
pub struct Dispatch {
    switch: Arc<Switch>,
    digests: Digests,
    /// When each idle entry was told last.
    told: BTreeMap<(TableId, EntryHandle), Instant>,
    scan_at: Option<Instant>,
}

impl Dispatch {
    /// Nothing was told yet.
    #[must_use]
    pub fn new(switch: Arc<Switch>) -> Self {
        Self {
            switch,
            digests: Digests::default(),
            told: BTreeMap::new(),
            scan_at: None,
        }
    }

    /// Runs until the data plane has stopped.
    pub async fn run(
        mut self,
        mut notifications: mpsc::Receiver<Notification>,
        mut acks: mpsc::Receiver<Acks>,
    ) {
        let switch = Arc::clone(&self.switch);
        loop {
            let due = [self.digests.due(), self.scan_at]
                .into_iter()
                .flatten()
                .min();
            let due = due.unwrap_or_else(|| Instant::now() + LONG);
            tokio::select! {
                notification = notifications.recv() => match notification {
                    Some(notification) => self.take(notification),
                    None => return,
                },
                Some((digest, list)) = acks.recv() => self.digests.acknowledge(digest, list),
                () = tokio::time::sleep_until(due) => {}
                () = switch.changed.notified() => self.reconsider(),
            }
            let now = Instant::now();
            for list in self.digests.ready(now) {
                self.publish(Answer::Digest(list), |_| true);
            }
            if self.scan_at.is_some_and(|at| at <= now) {
                self.scan(now);
            }
        }
    }

    fn publish(
        &self,
        update: Answer,
        may: impl Fn(Option<&super::roles::Permissions>) -> bool,
    ) -> bool {
        let message = v1::StreamMessageResponse {
            update: Some(update),
        };
        self.switch.roles().publish(may, &message)
    }

    fn take(&mut self, notification: Notification) {
        let switch = Arc::clone(&self.switch);
        let pipelines = switch.pipelines();
        let Some(pipeline) = &pipelines.running else {
            return;
        };
        match notification {
            Notification::PacketIn(bytes) => {
                let packet = packet_in(&pipeline.book.schema, bytes);
                self.publish(Answer::Packet(packet), |p| p.is_none_or(|p| p.packet_in));
            }
            Notification::Digest(digest, _) => self.digests.take(&pipeline.book, &digest),
            Notification::Port(..) => {}
        }
    }

    /// Entries may have got or lost their timeouts.
    fn reconsider(&mut self) {
        let switch = Arc::clone(&self.switch);
        let pipelines = switch.pipelines();
        let Some(pipeline) = &pipelines.running else {
            self.scan_at = None;
            return;
        };
        self.digests.keep(&pipeline.book);
        let notes = pipeline.book.notes();
        let idle = |key: &(TableId, EntryHandle)| {
            notes
                .get(&NoteKey::Entry(key.0, key.1))
                .is_some_and(|n| n.idle_timeout > 0)
        };
        self.told.retain(|key, _| idle(key));
        let shortest = notes
            .values()
            .map(|n| n.idle_timeout)
            .filter(|t| *t > 0)
            .min();
        self.scan_at = shortest.map(|ttl| Instant::now() + scan_interval(ttl));
    }

    /// Tells which entries were not hit for their time to live; they are told again after another one (p4runtime.md 19).
    fn scan(&mut self, now: Instant) {
        let switch = Arc::clone(&self.switch);
        let pipelines = switch.pipelines();
        let Some(pipeline) = &pipelines.running else {
            self.scan_at = None;
            return;
        };
        let book = &pipeline.book;
        let mut shortest = i64::MAX;
        let mut by_table: BTreeMap<TableId, Vec<(EntryHandle, i64)>> = BTreeMap::new();
        for (key, note) in book.notes() {
            if let NoteKey::Entry(table, handle) = key
                && note.idle_timeout > 0
            {
                shortest = shortest.min(note.idle_timeout);
                by_table
                    .entry(*table)
                    .or_default()
                    .push((*handle, note.idle_timeout));
            }
        }
        self.scan_at = (shortest < i64::MAX).then(|| now + scan_interval(shortest));
        let mut idle = Vec::new();
        for (table, entries) in by_table {
            let Ok(state) = book.control.state().table(table) else {
                continue;
            };
            let Some(schema) = book.schema.tables.values().find(|t| t.table == table) else {
                continue;
            };
            for part in entries.chunks(1024) {
                let found: Vec<_> = part
                    .iter()
                    .filter_map(|(handle, ttl)| Some((*handle, *ttl, state.entry(*handle)?)))
                    .collect();
                let names = found.iter().map(|(_, _, entry)| EntryName {
                    key: entry.key.clone(),
                    priority: entry.priority,
                });
                let Ok(data) = book.control.entry_data(table, names.collect()) else {
                    return;
                };
                for ((handle, ttl, entry), data) in found.into_iter().zip(data) {
                    let ttl = Duration::from_nanos(ttl.unsigned_abs());
                    let since = Duration::from_nanos(data.since_hit.get());
                    let armed = self.told.get(&(table, handle));
                    if since >= ttl && armed.is_none_or(|at| now.duration_since(*at) >= ttl) {
                        self.told.insert((table, handle), now);
                        let note = book.note(NoteKey::Entry(table, handle));
                        idle.push(entry_message(book, schema, entry, note));
                    } else if since < ttl {
                        self.told.remove(&(table, handle));
                    }
                }
            }
        }
        if !idle.is_empty() {
            let notification = v1::IdleTimeoutNotification {
                table_entry: idle,
                timestamp: timestamp(),
            };
            self.publish(Answer::IdleTimeoutNotification(notification), |_| true);
        }
    }
}

/// An eighth of the shortest time to live, within bounds.
fn scan_interval(shortest: i64) -> Duration {
    Duration::from_nanos(shortest.unsigned_abs() / 8).clamp(SCAN_AT_MOST, SCAN_AT_LEAST)
}

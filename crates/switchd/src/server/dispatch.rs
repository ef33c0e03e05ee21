//! What the data plane tells goes to the primaries: packets, digest lists, entries that are idle (P4Runtime 1.5, sections 9.1.8,
//! 9.8, 16.1 and 16.4; p4runtime.md 19, 27).

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use p4exec::tables::{EntryHandle, Slot};
use p4runtime::p4::v1;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::digests::Digests;
use super::switch::Switch;
use crate::engine::Notification;
use crate::translate::book::NoteKey;
use crate::translate::packet::packet_in;
use crate::translate::table::entry_message;

/// A digest and a list of it that was acknowledged.
pub type Acks = (u32, u64);

/// Entries are looked at this often at most.
const SCAN_AT_MOST: Duration = Duration::from_millis(10);

/// And this often at least, if any can be idle.
const SCAN_AT_LEAST: Duration = Duration::from_secs(1);

/// Slots that are looked at in one visit of the data plane: packets wait that long, some ten microseconds.
const VISIT: Slot = 1024;

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
    scan_at: Option<Instant>,
}

impl Dispatch {
    /// Nothing was told yet.
    #[must_use]
    pub fn new(switch: Arc<Switch>) -> Self {
        Self {
            switch,
            digests: Digests::default(),
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
        let next = pipeline
            .book
            .shortest_idle()
            .map(|ttl| Instant::now() + scan_interval(ttl));
        // Writes that come often must not put it off.
        self.scan_at = next.map(|next| self.scan_at.map_or(next, |at| at.min(next)));
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
        let mut idle = Vec::new();
        for schema in book.schema.tables.values().filter(|t| t.idle_timeout) {
            let table = schema.table;
            let Ok(state) = book.state().table(table) else {
                continue;
            };
            let last = Slot::try_from(state.slots()).unwrap_or(Slot::MAX);
            let mut slots = Vec::new();
            for start in (0..last).step_by(VISIT as usize) {
                let found = book.control.visit(move |state, now| {
                    let p4exec::RuntimeState { control, data } = state;
                    data.take_idle(control, table, now, start..start.saturating_add(VISIT))
                });
                slots.extend(found.unwrap_or_default());
            }
            let entries = slots
                .into_iter()
                .filter_map(|slot| state.view(EntryHandle(slot)));
            idle.extend(entries.map(|entry| {
                let note = book.note(NoteKey::Entry(table, entry.handle()));
                entry_message(book, schema, entry, note)
            }));
        }
        self.scan_at = book.shortest_idle().map(|ttl| now + scan_interval(ttl));
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
fn scan_interval(shortest: u64) -> Duration {
    Duration::from_nanos(shortest / 8).clamp(SCAN_AT_MOST, SCAN_AT_LEAST)
}

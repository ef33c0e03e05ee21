//! What the data plane tells goes to the primaries: packets, digest lists, entries that are idle
//! (P4Runtime 1.5, sections 9.1.8, 9.8, 16.1 and 16.4).

use std::sync::Arc;
use std::time::Duration;

use p4runtime::p4::v1;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::digests::{Digests, timestamp};
use super::idle::IdleScan;
use super::switch::Switch;
use crate::engine::Notification;
use crate::translate::packet::packet_in;

/// A digest and a list of it that was acknowledged.
pub type Acks = (u32, u64);

/// Entries in one notification that they are idle.
const ENTRIES: usize = 1024;

/// Nothing is due.
const LONG: Duration = Duration::from_secs(3600);

/// The task.
pub struct Dispatch {
    switch: Arc<Switch>,
    digests: Digests,
    idle: IdleScan,
}

impl Dispatch {
    /// Nothing was told yet.
    #[must_use]
    pub fn new(switch: Arc<Switch>) -> Self {
        Self {
            switch,
            digests: Digests::default(),
            idle: IdleScan::default(),
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
            let due = [self.digests.due(), self.idle.due()]
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
            if self.idle.due().is_some_and(|at| at <= now) {
                self.look_for_idle(now);
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
                let packet = packet_in(&pipeline.contents.schema, bytes);
                self.publish(Answer::Packet(packet), |p| p.is_none_or(|p| p.packet_in));
            }
            Notification::Digest(digest, _) => self.digests.take(&pipeline.contents, &digest),
            Notification::Port(..) => {}
        }
    }

    /// Entries may have got or lost their timeouts, and digests their settings.
    fn reconsider(&mut self) {
        let switch = Arc::clone(&self.switch);
        let pipelines = switch.pipelines();
        let running = pipelines.running.as_ref();
        self.idle
            .reconsider(running.map(|pipeline| &pipeline.contents));
        if let Some(pipeline) = running {
            self.digests.keep(&pipeline.contents);
        }
    }

    /// Looks for entries that were not hit for their time to live, and tells which; they are told
    /// again after another one (P4Runtime 1.5, section 16.4).
    fn look_for_idle(&mut self, now: Instant) {
        let switch = Arc::clone(&self.switch);
        let pipelines = switch.pipelines();
        let contents = pipelines
            .running
            .as_ref()
            .map(|pipeline| &pipeline.contents);
        let table_entry = self.idle.step(contents, now);
        drop(pipelines);
        // Clients take messages of some megabytes only.
        for part in table_entry.chunks(ENTRIES) {
            let notification = v1::IdleTimeoutNotification {
                table_entry: part.to_vec(),
                timestamp: timestamp(),
            };
            self.publish(Answer::IdleTimeoutNotification(notification), |_| true);
        }
    }
}

//! Digest lists: distinct messages gathered until the list is full or the first has waited long
//! enough, and not told again until the client has acknowledged them or has had its time (P4Runtime
//! 1.5, section 9.8).

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use p4exec::externs::digest::Digest;
use p4exec::value::Bits;
use p4runtime::p4::v1;
use tokio::time::Instant;

use crate::translate::data::encode_leaves;
use crate::translate::pipeline_state::{NoteKey, PipelineState};

/// The longest list where the client sets no bound.
const LONGEST: usize = 1024;

/// Messages of a digest that are remembered, waiting or not acknowledged; new ones beyond are lost,
/// as section 9.8 allows.
const REMEMBERED: usize = 1 << 16;

/// A list that was sent.
struct Sent {
    at: Instant,
    messages: Vec<Vec<Bits>>,
}

/// One digest of the program.
#[derive(Default)]
struct Queue {
    max_timeout: Duration,
    ack_timeout: Duration,
    longest: usize,
    waiting: Vec<(Vec<Bits>, v1::P4Data)>,
    since: Option<Instant>,
    /// Messages that wait, or were sent and not acknowledged.
    known: HashSet<Vec<Bits>, foldhash::fast::FixedState>,
    sent: BTreeMap<u64, Sent>,
}

/// Nanoseconds since 1970, as the standard wants its timestamps.
#[must_use]
pub fn timestamp() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// All digests.
#[derive(Default)]
pub struct Digests {
    queues: BTreeMap<u32, Queue>,
    lists: u64,
}

fn duration(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

impl Digests {
    /// Takes a message in, if the client wants it and has not got it already.
    pub fn take(&mut self, contents: &PipelineState, digest: &Digest) {
        let mut schemas = contents.schema.digests.values();
        let Some(schema) = schemas.find(|d| d.name == digest.name) else {
            return;
        };
        let Some(config) = contents
            .note(NoteKey::Digest(schema.id))
            .and_then(|n| n.digest)
        else {
            return;
        };
        let queue = self.queues.entry(schema.id).or_default();
        queue.max_timeout = duration(config.max_timeout_ns);
        queue.ack_timeout = duration(config.ack_timeout_ns);
        queue.longest = match usize::try_from(config.max_list_size) {
            Ok(0) | Err(_) => LONGEST,
            Ok(size) => size,
        };
        queue.expire(Instant::now());
        if queue.known.len() >= REMEMBERED {
            return;
        }
        if !queue.known.insert(digest.fields.clone()) {
            return;
        }
        queue.since.get_or_insert_with(Instant::now);
        let data = encode_leaves(&contents.schema.types, &schema.data, &digest.fields);
        queue.waiting.push((digest.fields.clone(), data));
    }

    /// Forgets digests that are not wanted any more.
    pub fn keep(&mut self, contents: &PipelineState) {
        self.queues
            .retain(|id, _| contents.note(NoteKey::Digest(*id)).is_some());
    }

    /// The client has a list.
    pub fn acknowledge(&mut self, digest: u32, list: u64) {
        if let Some(queue) = self.queues.get_mut(&digest) {
            queue.forget(list);
        }
    }

    /// When the next list is due by its age.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let due = |queue: &Queue| Some(queue.since? + queue.max_timeout);
        self.queues.values().filter_map(due).min()
    }

    /// The lists that are due.
    pub fn ready(&mut self, now: Instant) -> Vec<v1::DigestList> {
        let mut lists = Vec::new();
        for (id, queue) in &mut self.queues {
            loop {
                let old = queue
                    .since
                    .is_some_and(|at| now.duration_since(at) >= queue.max_timeout);
                let full = queue.waiting.len() >= queue.longest.max(1);
                if queue.waiting.is_empty() || !(old || full) {
                    break;
                }
                self.lists += 1;
                lists.push(queue.send(*id, self.lists, now));
            }
        }
        lists
    }
}

impl Queue {
    fn send(&mut self, digest_id: u32, list_id: u64, now: Instant) -> v1::DigestList {
        let count = self.waiting.len().min(self.longest.max(1));
        let (messages, data): (Vec<_>, Vec<_>) = self.waiting.drain(..count).unzip();
        self.since = (!self.waiting.is_empty()).then_some(now);
        self.sent.insert(list_id, Sent { at: now, messages });
        if self.ack_timeout.is_zero() {
            self.forget(list_id);
        }
        v1::DigestList {
            digest_id,
            list_id,
            data,
            timestamp: timestamp(),
        }
    }

    fn forget(&mut self, list: u64) {
        for message in self
            .sent
            .remove(&list)
            .map(|s| s.messages)
            .unwrap_or_default()
        {
            self.known.remove(&message);
        }
    }

    /// Lists that were not acknowledged in time may be told again.
    fn expire(&mut self, now: Instant) {
        while let Some((list, sent)) = self.sent.first_key_value()
            && now.duration_since(sent.at) >= self.ack_timeout
        {
            let list = *list;
            self.forget(list);
        }
    }
}

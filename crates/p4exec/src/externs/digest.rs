//! Digests: messages from the data plane to whoever listens.

use std::collections::VecDeque;

use crate::value::Bits;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The control-plane name of the digest.
    pub name: String,
    /// Its fields in order.
    pub fields: Vec<Bits>,
}

/// Messages not yet fetched; the newest are lost when it is full.
#[derive(Clone, Debug, Default)]
pub struct DigestQueue {
    waiting: VecDeque<Digest>,
    lost: u64,
}

/// The most messages that wait.
const CAPACITY: usize = 65_536;

impl DigestQueue {
    /// Adds a message, or counts it as lost.
    pub fn push(&mut self, digest: Digest) {
        if self.waiting.len() < CAPACITY {
            self.waiting.push_back(digest);
        } else {
            self.lost += 1;
        }
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the messages that wait, the oldest first.
    pub fn take(&mut self) -> Vec<Digest> {
        self.waiting.drain(..).collect()
    }
}

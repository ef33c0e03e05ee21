//! Longest-prefix match: a path-compressed binary trie for each value of the exact fields.
//!
//! Prefixes are kept left-aligned in a `u128`: the first bit of the field is the top bit of the
//! number whatever the field's width, so that nodes need not know it. Wider fields go to the tuple
//! space with the prefix length as the priority.

use super::{Slot, WordMap};

/// The widest field the trie takes, in bits.
pub(crate) const MAX_WIDTH: u32 = 128;

/// A prefix: its bits left-aligned (the rest zero), and how many of them count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    bits: u128,
    len: u32,
}

/// The top `len` bits set.
const fn top_ones(len: u32) -> u128 {
    match len {
        0 => 0,
        1..=127 => u128::MAX << (128 - len),
        _ => u128::MAX,
    }
}

impl Prefix {
    /// The first `len` bits of a field of `width` bits that holds `value`.
    pub(crate) const fn new(value: u128, width: u32, len: u32) -> Self {
        let bits = if width == 0 {
            0
        } else {
            value << (MAX_WIDTH - width)
        };
        Self {
            bits: bits & top_ones(len),
            len,
        }
    }

    /// Bit `index` from the front.
    const fn bit(self, index: u32) -> usize {
        ((self.bits >> (127 - index)) & 1) as usize
    }

    /// How many leading bits two prefixes share.
    fn common(self, other: Self) -> u32 {
        (self.bits ^ other.bits)
            .leading_zeros()
            .min(self.len)
            .min(other.len)
    }

    const fn truncated(self, len: u32) -> Self {
        Self {
            bits: self.bits & top_ones(len),
            len,
        }
    }
}

/// The words of an LPM field as a number.
pub(crate) fn field_value(words: &[u64]) -> u128 {
    words
        .iter()
        .fold(0, |acc, word| (acc << 64) | u128::from(*word))
}

#[derive(Clone, Debug)]
struct Node {
    prefix: Prefix,
    slot: Option<Slot>,
    /// Subtries by the bit that follows the prefix; 0 (the root) means none.
    children: [u32; 2],
}

/// Prefixes of one field, the longest found first. Node 0 is the root, of the empty prefix.
#[derive(Clone, Debug)]
pub(crate) struct PrefixTrie {
    nodes: Vec<Node>,
    free: Vec<u32>,
    len: usize,
}

impl PrefixTrie {
    pub(crate) fn new() -> Self {
        let root = Node {
            prefix: Prefix { bits: 0, len: 0 },
            slot: None,
            children: [0; 2],
        };
        Self {
            nodes: vec![root],
            free: Vec::new(),
            len: 0,
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn allocate(&mut self, node: Node) -> u32 {
        if let Some(index) = self.free.pop() {
            self.nodes[index as usize] = node;
            index
        } else {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        }
    }

    pub(crate) fn insert(&mut self, prefix: Prefix, slot: Slot) {
        let mut at = 0u32;
        loop {
            let node = &self.nodes[at as usize];
            if node.prefix == prefix {
                self.len += usize::from(node.slot.is_none());
                self.nodes[at as usize].slot = Some(slot);
                return;
            }
            // Here `node.prefix` is a proper prefix of the new one.
            let side = prefix.bit(node.prefix.len);
            let child = node.children[side];
            if child == 0 {
                let leaf = self.allocate(Node {
                    prefix,
                    slot: Some(slot),
                    children: [0; 2],
                });
                self.nodes[at as usize].children[side] = leaf;
                self.len += 1;
                return;
            }
            let below = self.nodes[child as usize].prefix;
            let common = below.common(prefix);
            if common < below.len {
                // The paths part inside the edge: put a node where they do.
                let mut fork = Node {
                    prefix: prefix.truncated(common),
                    slot: None,
                    children: [0; 2],
                };
                fork.children[below.bit(common)] = child;
                let fork = self.allocate(fork);
                self.nodes[at as usize].children[side] = fork;
                at = fork;
            } else {
                at = child;
            }
        }
    }

    pub(crate) fn remove(&mut self, prefix: Prefix) {
        let mut path: Vec<(u32, usize)> = Vec::new();
        let mut at = 0u32;
        loop {
            let node = &self.nodes[at as usize];
            if node.prefix == prefix {
                break;
            }
            if node.prefix.len >= prefix.len || node.prefix.common(prefix) < node.prefix.len {
                return;
            }
            let side = prefix.bit(node.prefix.len);
            path.push((at, side));
            at = node.children[side];
            if at == 0 {
                return;
            }
        }
        self.len -= usize::from(self.nodes[at as usize].slot.take().is_some());
        // A node without an entry stays only where two paths part.
        while let Some((parent, side)) = path.pop() {
            let node = &self.nodes[at as usize];
            let heir = match (node.slot, node.children) {
                (Some(_), _) => break,
                (None, [0, other] | [other, 0]) => other,
                (None, _) => break,
            };
            self.nodes[parent as usize].children[side] = heir;
            self.free.push(at);
            at = parent;
        }
    }

    /// The entry of the longest prefix of `value` (left-aligned).
    pub(crate) fn lookup(&self, value: u128) -> Option<Slot> {
        let mut best = None;
        let mut at = 0u32;
        loop {
            let node = &self.nodes[at as usize];
            if (value ^ node.prefix.bits) & top_ones(node.prefix.len) != 0 {
                return best;
            }
            best = node.slot.or(best);
            if node.prefix.len >= MAX_WIDTH {
                return best;
            }
            at = node.children[((value >> (127 - node.prefix.len)) & 1) as usize];
            if at == 0 {
                return best;
            }
        }
    }
}

/// A table with one LPM field, the others exact.
#[derive(Clone, Debug)]
pub(crate) struct LpmIndex {
    /// The words of the LPM field.
    field: std::ops::Range<usize>,
    width: u32,
    /// Tries by the packed words of the exact fields.
    tries: WordMap<PrefixTrie>,
    /// The one trie of a table without exact fields: spares the hash.
    only: Option<PrefixTrie>,
}

impl LpmIndex {
    pub(crate) fn new(field: std::ops::Range<usize>, width: u32, words: usize) -> Self {
        let only = (field.len() == words).then(PrefixTrie::new);
        Self {
            field,
            width,
            tries: WordMap::default(),
            only,
        }
    }

    /// The words outside the LPM field.
    fn exact_words(&self, key: &[u64]) -> Box<[u64]> {
        key[..self.field.start]
            .iter()
            .chain(&key[self.field.end..])
            .copied()
            .collect()
    }

    fn prefix(&self, key: &[u64], len: u32) -> Prefix {
        Prefix::new(field_value(&key[self.field.clone()]), self.width, len)
    }

    pub(crate) fn insert(&mut self, key: &[u64], len: u32, slot: Slot) {
        let prefix = self.prefix(key, len);
        let exact = self.exact_words(key);
        match &mut self.only {
            Some(trie) => trie.insert(prefix, slot),
            None => {
                self.tries
                    .entry(exact)
                    .or_insert_with(PrefixTrie::new)
                    .insert(prefix, slot);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &[u64], len: u32) {
        let prefix = self.prefix(key, len);
        let exact = self.exact_words(key);
        if let Some(trie) = &mut self.only {
            trie.remove(prefix);
        } else if let Some(trie) = self.tries.get_mut(&exact) {
            trie.remove(prefix);
            if trie.is_empty() {
                self.tries.remove(&exact);
            }
        }
    }

    pub(crate) fn lookup(&self, key: &[u64]) -> Option<Slot> {
        let trie = match &self.only {
            Some(trie) => trie,
            None => self.tries.get(&self.exact_words(key))?,
        };
        trie.lookup(self.prefix(key, self.width).bits)
    }
}

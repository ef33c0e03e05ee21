//! Longest-prefix match: a tree bitmap (Eatherton04) of six bits per
//! node, one tree for each value of the exact fields.
//!
//! A node has a bitmap of the prefixes that end in it (63: lengths 0 to 5 of its six bits), with
//! their entries side by side, and a bitmap of its children, which lie side by side too. A subtree
//! of one prefix is a single *leaf* node that holds the whole prefix, so sparse and long prefixes
//! cost neither depth nor memory. Insertion and removal touch the nodes on one path.
//!
//! Prefixes are left-aligned in a `u128`: the first bit of the field is the top bit of the number
//! whatever the field's width. Wider fields go to the tuple space with the length as the priority.

use super::arena::Arena;
use super::hash::{HashIndex, hash_words};
use super::layout::{KeyLayout, MAX_PREFIX_WIDTH};
use super::{Slot, TOGETHER};

/// Bits a node decides.
const STRIDE: u32 = 6;
/// Nodes on the longest path.
const MAX_DEPTH: usize = (MAX_PREFIX_WIDTH / STRIDE) as usize + 1;

/// In [`Node::results`]: the node is a leaf.
const LEAF: u32 = 1 << 31;

/// The top `len` bits set.
const fn top_ones(len: u32) -> u128 {
    match len {
        0 => 0,
        1..=127 => u128::MAX << (128 - len),
        _ => u128::MAX,
    }
}

/// A branch: `own` and `below` are the bitmaps of prefixes and children, `results` and `children`
/// where those begin. A leaf: `own` and `below` are the halves of its prefix, `children` its slot
/// and `results` its length.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    own: u64,
    below: u64,
    children: u32,
    results: u32,
}

/// The bits of `own` that match six key bits, by their value: prefix lengths 0 to 5.
const MATCHING: [u64; 64] = {
    let mut table = [0u64; 64];
    let mut key = 0;
    while key < 64 {
        let mut len = 0;
        while len < STRIDE {
            table[key] |= 1 << own_bit(key as u64, len);
            len += 1;
        }
        key += 1;
    }
    table
};

/// The bit of `own` for the first `len` (below 6) of six bits.
const fn own_bit(six: u64, len: u32) -> u32 {
    (1 << len) - 1 + (six >> (STRIDE - len)) as u32
}

/// Ones of a bitmap below a bit.
const fn rank(bitmap: u64, bit: u32) -> u32 {
    (bitmap & ((1 << bit) - 1)).count_ones()
}

impl Node {
    const fn leaf(prefix: Prefix, slot: Slot) -> Self {
        Self {
            own: (prefix.bits >> 64) as u64,
            below: prefix.bits as u64,
            children: slot,
            results: LEAF | prefix.len,
        }
    }

    const fn as_leaf(&self) -> Option<Prefix> {
        if self.results & LEAF == 0 {
            return None;
        }
        Some(Prefix {
            bits: (self.own as u128) << 64 | self.below as u128,
            len: self.results & !LEAF,
        })
    }

    const fn is_empty(&self) -> bool {
        self.results & LEAF == 0 && self.own == 0 && self.below == 0
    }
}

/// A prefix: its bits left-aligned (the rest zero), and how many of them count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    bits: u128,
    len: u32,
}

impl Prefix {
    /// The six bits a node at `depth` decides.
    const fn six(self, depth: u32) -> u64 {
        (self.bits << (depth * STRIDE) >> 122) as u64
    }

    /// The bit of `own` of a node at `depth`, if the prefix ends there.
    const fn ends_at(self, depth: u32) -> Option<u32> {
        let rest = self.len - depth * STRIDE;
        if rest < STRIDE {
            Some(own_bit(self.six(depth), rest))
        } else {
            None
        }
    }
}

/// The field of a key, left-aligned: 64 bits suffice for most fields, and are faster.
trait FieldBits: Copy + Default {
    /// The first six bits, and the bits after them.
    fn split(self) -> (u32, Self);
    /// Whether a leaf's prefix is one of it.
    fn holds(self, leaf: &Node) -> bool;
}

impl FieldBits for u64 {
    #[inline(always)]
    fn split(self) -> (u32, Self) {
        ((self >> (Self::BITS - STRIDE)) as u32, self << STRIDE)
    }

    #[inline(always)]
    fn holds(self, leaf: &Node) -> bool {
        let free = Self::BITS - (leaf.results & !LEAF);
        (self ^ leaf.own).checked_shr(free).unwrap_or(0) == 0
    }
}

impl FieldBits for u128 {
    #[inline(always)]
    fn split(self) -> (u32, Self) {
        ((self >> (Self::BITS - STRIDE)) as u32, self << STRIDE)
    }

    #[inline(always)]
    fn holds(self, leaf: &Node) -> bool {
        let prefix = Self::from(leaf.own) << 64 | Self::from(leaf.below);
        (self ^ prefix) & top_ones(leaf.results & !LEAF) == 0
    }
}

/// What the walk down a tree comes to.
#[derive(Clone, Copy, Debug, Default)]
enum Found {
    #[default]
    Nothing,
    /// The slot of a leaf.
    Leaf(Slot),
    /// Where the slot is.
    Result(u32),
}

/// Look-ups of several keys on their way down, by their places.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ways([Found; TOGETHER]);

/// A way down a tree.
#[derive(Clone, Copy, Debug, Default)]
struct Way<B> {
    /// The key, and those bits of it that the next node and those below it decide.
    bits: B,
    rest: B,
    /// The next node.
    at: u32,
    /// The last node with prefixes that match the key, and their bits.
    best: u32,
    matching: u64,
}

/// What is below a step of a way down.
enum Below {
    Child(u32),
    Leaf(Slot),
    Nothing,
}

/// A step of an insertion or a removal down a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descent {
    at: u32,
    depth: u32,
    prefix: Prefix,
}

/// What came of putting a prefix into a branch.
enum Put {
    Done,
    /// It was there already.
    There,
    /// It belongs below this child.
    Below(u32),
}

/// Trees in two arenas. A tree is named by its root node.
#[derive(Clone, Debug, Default)]
struct Forest {
    nodes: Arena<Node>,
    slots: Arena<Slot>,
}

impl Forest {
    fn plant(&mut self) -> u32 {
        let root = self.nodes.allocate(1);
        self.nodes[root] = Node::default();
        root
    }

    /// Whether it was not there yet; if it was, nothing changes.
    fn insert(&mut self, root: u32, prefix: Prefix, slot: Slot) -> bool {
        let (mut at, mut depth) = (root, 0);
        if self.nodes[at].is_empty() {
            self.nodes[at] = Node::leaf(prefix, slot);
            return true;
        }
        loop {
            let node = self.nodes[at];
            if let Some(other) = node.as_leaf() {
                if other == prefix {
                    return false;
                }
                self.nodes[at] = Node::default();
                self.put(at, depth, other, node.children);
            }
            match self.put(at, depth, prefix, slot) {
                Put::Done => return true,
                Put::There => return false,
                Put::Below(child) => at = child,
            }
            depth += 1;
        }
    }

    /// Puts a prefix into a branch, or names the child it belongs below.
    fn put(&mut self, at: u32, depth: u32, prefix: Prefix, slot: Slot) -> Put {
        let mut node = self.nodes[at];
        if let Some(bit) = prefix.ends_at(depth) {
            let count = node.own.count_ones();
            if node.own >> bit & 1 == 1 {
                return Put::There;
            }
            let index = rank(node.own, bit);
            node.results = self.slots.insert(node.results, count, index, slot);
            node.own |= 1 << bit;
        } else {
            let six = prefix.six(depth) as u32;
            let index = rank(node.below, six);
            if node.below >> six & 1 == 1 {
                return Put::Below(node.children + index);
            }
            let count = node.below.count_ones();
            let leaf = Node::leaf(prefix, slot);
            node.children = self.nodes.insert(node.children, count, index, leaf);
            node.below |= 1 << six;
        }
        self.nodes[at] = node;
        Put::Done
    }

    fn remove(&mut self, root: u32, prefix: Prefix) {
        let mut path = [0u32; MAX_DEPTH + 1];
        let (mut at, mut depth) = (root, 0usize);
        loop {
            path[depth] = at;
            let mut node = self.nodes[at];
            if let Some(own) = node.as_leaf() {
                if own != prefix {
                    return;
                }
                self.nodes[at] = Node::default();
                break;
            }
            if let Some(bit) = prefix.ends_at(depth as u32) {
                if node.own >> bit & 1 == 0 {
                    return;
                }
                let count = node.own.count_ones();
                node.results = self.slots.remove(node.results, count, rank(node.own, bit));
                node.own &= !(1 << bit);
                self.nodes[at] = node;
                break;
            }
            let six = prefix.six(depth as u32) as u32;
            if node.below >> six & 1 == 0 {
                return;
            }
            at = node.children + rank(node.below, six);
            depth += 1;
        }
        self.contract(&path[..=depth], prefix);
    }

    /// Mends a path from its end: empty nodes go, nodes of one prefix become leaves.
    fn contract(&mut self, path: &[u32], removed: Prefix) {
        for depth in (0..path.len()).rev() {
            let at = path[depth];
            let node = self.nodes[at];
            if node.as_leaf().is_some() {
                continue;
            }
            match (node.own.count_ones(), node.below.count_ones()) {
                (0, 0) if depth > 0 => self.drop_child(path[depth - 1], at),
                (1, 0) => {
                    let slot = self.slots[node.results];
                    self.slots.release(node.results, 1);
                    let bit = node.own.trailing_zeros();
                    self.nodes[at] = Node::leaf(only_prefix(bit, depth as u32, removed), slot);
                }
                (0, 1) => {
                    let child = self.nodes[node.children];
                    if child.as_leaf().is_none() {
                        return;
                    }
                    self.nodes.release(node.children, 1);
                    self.nodes[at] = child;
                }
                _ => return,
            }
        }
    }

    fn drop_child(&mut self, parent: u32, child: u32) {
        let mut node = self.nodes[parent];
        let index = child - node.children;
        let count = node.below.count_ones();
        let mut bits = node.below;
        for _ in 0..index {
            bits &= bits - 1;
        }
        node.below &= !(1 << bits.trailing_zeros());
        node.children = self.nodes.remove(node.children, count, index);
        self.nodes[parent] = node;
    }

    /// Takes a step down from the node that a way has come to.
    #[inline(always)]
    fn step<B: FieldBits>(&self, way: &mut Way<B>) -> Below {
        let node = &self.nodes[way.at];
        if node.results & LEAF != 0 {
            return match way.bits.holds(node) {
                true => Below::Leaf(node.children),
                false => Below::Nothing,
            };
        }
        let (six, rest) = way.rest.split();
        way.rest = rest;
        let matching = node.own & MATCHING[six as usize];
        if matching != 0 {
            (way.best, way.matching) = (way.at, matching);
        }
        match node.below >> six & 1 {
            0 => Below::Nothing,
            _ => Below::Child(node.children + rank(node.below, six)),
        }
    }

    /// Where the longest prefix of a way that ended at no leaf has its slot.
    #[inline(always)]
    fn longest<B>(&self, way: &Way<B>) -> Option<u32> {
        if way.matching == 0 {
            return None;
        }
        let node = &self.nodes[way.best];
        Some(node.results + rank(node.own, 63 - way.matching.leading_zeros()))
    }

    /// The entry of the longest prefix of a key.
    #[inline]
    fn lookup<B: FieldBits>(&self, root: u32, bits: B) -> Option<Slot> {
        let mut way = Way::new(root, bits);
        loop {
            match self.step(&mut way) {
                Below::Child(next) => way.at = next,
                Below::Leaf(slot) => return Some(slot),
                Below::Nothing => return self.longest(&way).map(|at| self.slots[at]),
            }
        }
    }

    /// Goes down with several keys at once, by their places, and asks for what is read next.
    #[inline]
    fn go_down<B: FieldBits>(
        &self,
        keys: impl Iterator<Item = Option<(u32, B)>>,
        found: &mut [Found; TOGETHER],
    ) {
        let mut ways = [Way::default(); TOGETHER];
        let mut places = [0; TOGETHER];
        let mut going = 0;
        for (place, key) in keys.enumerate().take(TOGETHER) {
            found[place] = Found::Nothing;
            if let Some((root, bits)) = key {
                ways[going] = Way::new(root, bits);
                places[going] = place;
                going += 1;
            }
        }
        while going > 0 {
            let mut kept = 0;
            for i in 0..going {
                let (mut way, place) = (ways[i], places[i]);
                match self.step(&mut way) {
                    Below::Child(next) => {
                        self.nodes.prefetch(next);
                        way.at = next;
                        (ways[kept], places[kept]) = (way, place);
                        kept += 1;
                    }
                    Below::Leaf(slot) => found[place] = Found::Leaf(slot),
                    Below::Nothing => {
                        if let Some(at) = self.longest(&way) {
                            self.slots.prefetch(at);
                            found[place] = Found::Result(at);
                        }
                    }
                }
            }
            going = kept;
        }
    }

    /// A step of an insertion or a removal down a tree, if it is not the last; asks for what the
    /// next step, or the change, reads.
    #[inline]
    fn descend(&self, way: Descent) -> Option<Descent> {
        let node = &self.nodes[way.at];
        if node.as_leaf().is_some() {
            return None;
        }
        if way.prefix.ends_at(way.depth).is_some() {
            self.slots.prefetch(node.results);
            return None;
        }
        let six = way.prefix.six(way.depth) as u32;
        if node.below >> six & 1 == 0 {
            // A new child moves its siblings.
            self.nodes
                .prefetch_some(node.children, node.below.count_ones());
            return None;
        }
        let at = node.children + rank(node.below, six);
        self.nodes.prefetch(at);
        let depth = way.depth + 1;
        Some(Descent { at, depth, ..way })
    }

    /// The entry of exactly this prefix.
    fn find(&self, root: u32, prefix: Prefix) -> Option<Slot> {
        let (mut at, mut depth) = (root, 0);
        loop {
            let node = self.nodes[at];
            if let Some(own) = node.as_leaf() {
                return (own == prefix).then_some(node.children);
            }
            if let Some(bit) = prefix.ends_at(depth) {
                let is = node.own >> bit & 1 == 1;
                return is.then(|| self.slots[node.results + rank(node.own, bit)]);
            }
            let six = prefix.six(depth) as u32;
            if node.below >> six & 1 == 0 {
                return None;
            }
            at = node.children + rank(node.below, six);
            depth += 1;
        }
    }
}

impl<B: Default> Way<B> {
    #[inline(always)]
    fn new(root: u32, bits: B) -> Self
    where
        B: Copy,
    {
        Self {
            bits,
            rest: bits,
            at: root,
            ..Self::default()
        }
    }
}

/// The prefix that a bit of `own` stands for, on a path that `on_path` takes.
fn only_prefix(bit: u32, depth: u32, on_path: Prefix) -> Prefix {
    let len = 63 - u64::from(bit + 1).leading_zeros();
    let value = u128::from(bit + 1 - (1 << len));
    let taken = depth * STRIDE;
    let bits = on_path.bits & top_ones(taken);
    let own = if len == 0 {
        0
    } else {
        value << (128 - taken - len)
    };
    Prefix {
        bits: bits | own,
        len: taken + len,
    }
}

/// A tree for one value of the exact fields.
#[derive(Clone, Copy, Debug, Default)]
struct Root {
    node: u32,
    entries: u32,
}

/// A table with one LPM field, the others exact.
#[derive(Clone, Debug)]
pub(crate) struct LpmIndex {
    field: usize,
    width: u32,
    forest: Forest,
    /// Trees by the exact fields; a table without them has the first one only.
    roots: Vec<Root>,
    free: Vec<u32>,
    /// The bits of the dense words that are not of the LPM field; empty if there are none.
    exact_mask: Vec<u64>,
    /// The dense words (LPM field zero) of each tree, side by side.
    exact_words: Vec<u64>,
    by_exact: HashIndex,
}

impl LpmIndex {
    pub(crate) fn new(layout: &KeyLayout, field: usize) -> Self {
        let mut exact_mask = Vec::new();
        if layout.fields().iter().filter(|f| f.width > 0).count() > 1 {
            exact_mask = vec![u64::MAX; layout.dense_words()];
            layout.write_field(field, &mut exact_mask, std::iter::repeat(0));
        }
        let mut index = Self {
            field,
            width: layout.fields()[field].width,
            forest: Forest::default(),
            roots: Vec::new(),
            free: Vec::new(),
            exact_mask,
            exact_words: Vec::new(),
            by_exact: HashIndex::default(),
        };
        if index.exact_mask.is_empty() {
            let node = index.forest.plant();
            index.roots.push(Root { node, entries: 0 });
        }
        index
    }

    /// The LPM field of a dense key, left-aligned.
    #[inline]
    fn bits(&self, layout: &KeyLayout, dense: &[u64]) -> u128 {
        if self.width <= 64 {
            return u128::from(self.short_bits(layout, dense)) << 64;
        }
        let words = layout.field_in(self.field, dense);
        let value = words.fold(0u128, |acc, word| (acc << 64) | u128::from(word));
        value << (MAX_PREFIX_WIDTH - self.width)
    }

    /// The same of a field of at most 64 bits.
    #[inline]
    fn short_bits(&self, layout: &KeyLayout, dense: &[u64]) -> u64 {
        let value = layout.field_in(self.field, dense).next().unwrap_or(0);
        value.checked_shl(64 - self.width).unwrap_or(0)
    }

    fn prefix(&self, layout: &KeyLayout, dense: &[u64], len: i32) -> Prefix {
        let len = len.unsigned_abs().min(self.width);
        Prefix {
            bits: self.bits(layout, dense) & top_ones(len),
            len,
        }
    }

    fn exact_of(&self, root: u32) -> &[u64] {
        let words = self.exact_mask.len();
        &self.exact_words[root as usize * words..][..words]
    }

    /// The tree of the exact fields of a dense key.
    #[inline]
    fn root(&self, dense: &[u64]) -> Option<u32> {
        if self.exact_mask.is_empty() {
            return Some(0);
        }
        let hash = super::hash::hash_masked(dense, &self.exact_mask);
        self.by_exact.get(hash, |root| {
            let parts = self.exact_of(root).iter().zip(dense).zip(&self.exact_mask);
            parts.fold(0, |acc, ((own, word), mask)| acc | (own ^ (word & mask))) == 0
        })
    }

    fn root_or_new(&mut self, dense: &[u64]) -> u32 {
        if let Some(root) = self.root(dense) {
            return root;
        }
        let node = self.forest.plant();
        let fresh = Root { node, entries: 0 };
        let root = if let Some(root) = self.free.pop() {
            self.roots[root as usize] = fresh;
            root
        } else {
            self.roots.push(fresh);
            let words = self.roots.len() * self.exact_mask.len();
            self.exact_words.resize(words, 0);
            self.roots.len() as u32 - 1
        };
        let words = self.exact_mask.len();
        let own = &mut self.exact_words[root as usize * words..][..words];
        for ((own, word), mask) in own.iter_mut().zip(dense).zip(&self.exact_mask) {
            *own = word & mask;
        }
        let hash = hash_words(own);
        self.by_exact.insert(hash, root);
        root
    }

    /// Inserts a prefix; whether it was not there yet.
    pub(crate) fn insert(
        &mut self,
        layout: &KeyLayout,
        dense: &[u64],
        len: i32,
        slot: Slot,
    ) -> bool {
        let root = self.root_or_new(dense);
        let prefix = self.prefix(layout, dense, len);
        let tree = &mut self.roots[root as usize];
        let new = self.forest.insert(tree.node, prefix, slot);
        tree.entries += u32::from(new);
        new
    }

    /// Removes a prefix that is there.
    pub(crate) fn remove(&mut self, layout: &KeyLayout, dense: &[u64], len: i32) {
        let Some(root) = self.root(dense) else {
            return;
        };
        let prefix = self.prefix(layout, dense, len);
        let tree = &mut self.roots[root as usize];
        tree.entries -= 1;
        let Root { node, entries } = *tree;
        self.forest.remove(node, prefix);
        if entries == 0 && !self.exact_mask.is_empty() {
            let hash = hash_words(self.exact_of(root));
            if let Some(at) = self.by_exact.find(hash, |r| r == root) {
                self.by_exact.remove_at(at);
            }
            self.forest.nodes.release(node, 1);
            self.free.push(root);
        }
    }

    pub(crate) fn find(&self, layout: &KeyLayout, dense: &[u64], len: i32) -> Option<Slot> {
        let root = self.root(dense)?;
        let prefix = self.prefix(layout, dense, len);
        self.forest.find(self.roots[root as usize].node, prefix)
    }

    /// The first step of an insertion or a removal down its tree, if there is one.
    pub(crate) fn descent(&self, layout: &KeyLayout, dense: &[u64], len: i32) -> Option<Descent> {
        let root = self.root(dense)?;
        Some(Descent {
            at: self.roots[root as usize].node,
            depth: 0,
            prefix: self.prefix(layout, dense, len),
        })
    }

    /// Takes a step; the next one, if there is one.
    pub(crate) fn descend(&self, way: Descent) -> Option<Descent> {
        self.forest.descend(way)
    }

    /// The root of a key's tree.
    #[inline]
    fn root_node(&self, dense: &[u64]) -> Option<u32> {
        self.root(dense).map(|root| self.roots[root as usize].node)
    }

    /// Goes down the trees of all keys at once, by their places.
    pub(crate) fn go_down(&self, layout: &KeyLayout, keys: &[&[u64]], ways: &mut Ways) {
        if self.width <= 64 {
            let keys = keys.iter().map(|key| {
                let root = self.root_node(key)?;
                Some((root, self.short_bits(layout, key)))
            });
            return self.forest.go_down(keys, &mut ways.0);
        }
        let keys = keys.iter().map(|key| {
            let root = self.root_node(key)?;
            Some((root, self.bits(layout, key)))
        });
        self.forest.go_down(keys, &mut ways.0);
    }

    /// What [`LpmIndex::lookup`] finds of the keys that came so far, by their places.
    #[inline]
    pub(crate) fn end(&self, ways: &Ways) -> impl Iterator<Item = Option<Slot>> {
        ways.0.iter().map(|found| match *found {
            Found::Nothing => None,
            Found::Leaf(slot) => Some(slot),
            Found::Result(at) => Some(self.forest.slots[at]),
        })
    }

    #[inline]
    pub(crate) fn lookup(&self, layout: &KeyLayout, dense: &[u64]) -> Option<Slot> {
        let root = self.root_node(dense)?;
        if self.width <= 64 {
            return self.forest.lookup(root, self.short_bits(layout, dense));
        }
        self.forest.lookup(root, self.bits(layout, dense))
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.forest.nodes.bytes()
            + self.forest.slots.bytes()
            + self.by_exact.bytes()
            + self.roots.capacity() * 8
            + self.free.capacity() * 4
            + self.exact_words.capacity() * 8
    }
}

//! The table of one switch: ordered rules, kept compactly.
//!
//! A network at four failures has millions of rules, but few distinct sets of ports, reverse routes
//! and actions; each is kept once and rules refer to it by number.

use std::hash::Hash;

use indexmap::IndexSet;
use quantities::PortId;

use super::mask::PortMask;
use super::ternary::Ternary;
use super::{Label, MAX_HOPS};
use crate::tag::Tag;

/// Where a packet comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// From anywhere.
    #[default]
    Any,
    /// From a host (or the switch itself).
    Host,
    /// From another switch, by this port.
    Port(PortId),
}

/// What a rule asks of the port status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortMatch {
    /// Ports that must be up.
    pub up: PortMask,
    /// Ports that must be down.
    pub down: PortMask,
}

impl PortMatch {
    /// Whether the rule matches while these ports are up.
    #[must_use]
    pub const fn matches(&self, status: PortMask) -> bool {
        status.contains_all(self.up) && status.and(self.down).is_empty()
    }
}

/// What a rule asks of the reverse route: how many hops there are, and which. Hops that are not
/// listed do not matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReverseMatch {
    /// The number of hops.
    pub count: Ternary,
    /// The ports, the latest first.
    pub hops: Box<[Ternary]>,
}

impl Default for ReverseMatch {
    /// Any reverse route.
    fn default() -> Self {
        Self {
            count: Ternary::ANY,
            hops: Box::default(),
        }
    }
}

impl ReverseMatch {
    /// Exactly this route.
    #[must_use]
    pub fn exact(ports: impl IntoIterator<Item = u8>) -> Self {
        let hops: Box<[Ternary]> = ports
            .into_iter()
            .map(|port| Ternary::exact(u32::from(port)))
            .collect();
        let count = u32::try_from(hops.len()).unwrap_or(u32::MAX);
        Self {
            count: Ternary::exact(count),
            hops,
        }
    }

    /// Whether a reverse route matches; hops beyond its end read 0.
    #[must_use]
    pub fn matches(&self, reverse: &[u8]) -> bool {
        let count = u32::try_from(reverse.len()).unwrap_or(u32::MAX);
        let hop = |at: usize| u32::from(reverse.get(at).copied().unwrap_or(0));
        self.count.matches(count)
            && self
                .hops
                .iter()
                .enumerate()
                .all(|(at, asked)| asked.matches(hop(at)))
    }

    /// Whether any reverse route matches.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.count.is_any() && self.hops.iter().all(|hop| hop.is_any())
    }
}

/// How a rule changes the number in the header: the bits of `mask` become those of `value`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteTag {
    /// The new bits.
    pub value: u32,
    /// Which bits change.
    pub mask: u32,
}

/// What a rule changes in the header beside the routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Write {
    /// The number.
    pub tag: WriteTag,
    /// The tree that the packet is on from here.
    pub tree: Option<u8>,
    /// The lossless tag with which a lossless packet leaves, whatever the tag rules say: its
    /// channel. Only rules for packets from hosts give one.
    pub channel: Option<Tag>,
}

impl Write {
    /// Sets the whole number.
    #[must_use]
    pub const fn tag(value: u32) -> Self {
        Self {
            tag: WriteTag {
                value,
                mask: u32::MAX,
            },
            tree: None,
            channel: None,
        }
    }

    /// Applies the change.
    pub fn apply(&self, label: &mut Label) {
        label.tag = label.tag & !self.tag.mask | self.tag.value & self.tag.mask;
        label.tree = self.tree.unwrap_or(label.tree);
    }
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Drops the packet: there is no way.
    Drop,
    /// Sends it on.
    Forward {
        /// The port to leave by, then those of the switches after this one.
        route: Box<[u8]>,
        /// What changes in the header.
        write: Write,
    },
}

impl Action {
    /// The port that the packet leaves by, and the rest of the route.
    #[must_use]
    pub fn out(&self) -> Option<(PortId, &[u8])> {
        match self {
            Self::Drop => None,
            Self::Forward { route, .. } => {
                let (first, rest) = route.split_first()?;
                Some((PortId::new(u16::from(*first)), rest))
            }
        }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The destination codes that it is for.
    pub destination: Ternary,
    /// The number in the header.
    pub tag: Ternary,
    /// The tree that the packet is on, if that matters.
    pub tree: Option<u8>,
    /// Where the packet comes from.
    pub origin: Origin,
    /// The way that it has come.
    pub reverse: ReverseMatch,
    /// The port status.
    pub ports: PortMatch,
    /// What to do.
    pub action: Action,
}

impl Rule {
    /// A rule for one destination that asks for nothing else.
    #[must_use]
    pub fn to(destination: u32, action: Action) -> Self {
        Self {
            destination: Ternary::exact(destination),
            tag: Ternary::ANY,
            tree: None,
            origin: Origin::Any,
            reverse: ReverseMatch::default(),
            ports: PortMatch::default(),
            action,
        }
    }
}

/// One rule of a table, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRef<'a> {
    /// The destination codes that it is for.
    pub destination: Ternary,
    /// The number in the header.
    pub tag: Ternary,
    /// The tree that the packet is on, if that matters.
    pub tree: Option<u8>,
    /// Where the packet comes from.
    pub origin: Origin,
    /// The way that it has come.
    pub reverse: &'a ReverseMatch,
    /// The port status.
    pub ports: PortMatch,
    /// What to do.
    pub action: &'a Action,
}

impl RuleRef<'_> {
    /// Whether the rule matches, whatever the port status.
    #[must_use]
    pub fn matches_packet(&self, destination: u32, origin: Origin, label: &Label) -> bool {
        self.destination.matches(destination)
            && self.tag.matches(label.tag)
            && self.tree.is_none_or(|tree| tree == label.tree)
            && (self.origin == Origin::Any || self.origin == origin)
            && self.reverse.matches(&label.reverse)
    }

    /// The rule itself.
    #[must_use]
    pub fn to_rule(&self) -> Rule {
        Rule {
            destination: self.destination,
            tag: self.tag,
            tree: self.tree,
            origin: self.origin,
            reverse: self.reverse.clone(),
            ports: self.ports,
            action: self.action.clone(),
        }
    }
}

/// A rule whose larger parts stand in the table's pools.
#[derive(Clone, Copy, Debug)]
struct Packed {
    destination: Ternary,
    tag: Ternary,
    origin: Origin,
    tree: Option<u8>,
    reverse: u32,
    ports: u32,
    action: u32,
}

type Pool<T> = IndexSet<T, foldhash::fast::FixedState>;

/// The ordered rules of one switch: the first that matches counts.
#[derive(Clone, Debug, Default)]
pub struct SwitchTable {
    rules: Vec<Packed>,
    reverses: Pool<ReverseMatch>,
    ports: Pool<PortMatch>,
    actions: Pool<Action>,
}

impl PartialEq for SwitchTable {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for SwitchTable {}

/// The number of a value in its pool.
fn intern<T: Hash + Eq>(pool: &mut Pool<T>, value: T) -> u32 {
    let (at, _) = pool.insert_full(value);
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The number of a value in its pool, which takes a copy only of one that it does not have.
fn intern_copy<T: Hash + Eq + Clone>(pool: &mut Pool<T>, value: &T) -> u32 {
    match pool.get_index_of(value) {
        Some(at) => u32::try_from(at).unwrap_or(u32::MAX),
        None => intern(pool, value.clone()),
    }
}

/// The value of a number that [`intern`] gave.
fn look<T>(pool: &Pool<T>, at: u32) -> &T {
    &pool[at as usize]
}

impl SwitchTable {
    /// Appends a rule: all before it are matched first.
    pub fn push(&mut self, rule: Rule) {
        let packed = Packed {
            destination: rule.destination,
            tag: rule.tag,
            origin: rule.origin,
            tree: rule.tree,
            reverse: intern(&mut self.reverses, rule.reverse),
            ports: intern(&mut self.ports, rule.ports),
            action: intern(&mut self.actions, rule.action),
        };
        self.rules.push(packed);
    }

    /// Appends a copy of a rule, for rules of many tables made together.
    pub fn push_copy(&mut self, rule: &RuleRef<'_>) {
        let packed = Packed {
            destination: rule.destination,
            tag: rule.tag,
            origin: rule.origin,
            tree: rule.tree,
            reverse: intern_copy(&mut self.reverses, rule.reverse),
            ports: intern_copy(&mut self.ports, &rule.ports),
            action: intern_copy(&mut self.actions, rule.action),
        };
        self.rules.push(packed);
    }

    /// Number of rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// A rule by its place in the order.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<RuleRef<'_>> {
        self.rules.get(at).map(|rule| self.resolve(rule))
    }

    /// The rules in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RuleRef<'_>> {
        self.rules.iter().map(|rule| self.resolve(rule))
    }

    /// The number of each rule's action, in rule order: equal actions have equal numbers.
    pub fn action_numbers(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.rules.iter().map(|rule| rule.action)
    }

    /// The distinct actions, by their numbers.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = &Action> {
        self.actions.iter()
    }

    fn resolve(&self, rule: &Packed) -> RuleRef<'_> {
        RuleRef {
            destination: rule.destination,
            tag: rule.tag,
            tree: rule.tree,
            origin: rule.origin,
            reverse: look(&self.reverses, rule.reverse),
            ports: *look(&self.ports, rule.ports),
            action: look(&self.actions, rule.action),
        }
    }

    /// The first rule that matches, with its place.
    #[must_use]
    pub fn lookup(
        &self,
        destination: u32,
        origin: Origin,
        label: &Label,
        status: PortMask,
    ) -> Option<(usize, RuleRef<'_>)> {
        let matches = |(_, rule): &(usize, RuleRef<'_>)| {
            rule.ports.matches(status) && rule.matches_packet(destination, origin, label)
        };
        self.iter().enumerate().find(matches)
    }

    /// Gives back memory that growing has left over.
    pub fn shrink(&mut self) {
        self.rules.shrink_to_fit();
        self.reverses.shrink_to_fit();
        self.ports.shrink_to_fit();
        self.actions.shrink_to_fit();
    }

    /// The longest reverse route that a rule asks about.
    #[must_use]
    pub fn longest_reverse(&self) -> usize {
        let lengths = self.reverses.iter().map(|reverse| reverse.hops.len());
        lengths.max().unwrap_or(0).min(MAX_HOPS)
    }
}

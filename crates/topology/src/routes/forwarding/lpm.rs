//! From destinations to prefixes: who has which addresses, and tables without waste. Where a
//! topology gives the hosts of a switch no subnet, but addresses that lie together, they get a
//! block of their own all the same.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::policy::RoutePolicy;
use super::super::set::RouteSet;
use super::ForwardAction;
use crate::{HostId, Ipv4Prefix, Ipv6Prefix, NodeId, SwitchId, Topology};

/// A prefix of either family: its bits from the left of 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Block {
    bits: u128,
    length: u8,
}

impl Block {
    /// Everything.
    const ALL: Self = Self { bits: 0, length: 0 };

    fn of_ipv4(prefix: Ipv4Prefix) -> Self {
        Self {
            bits: u128::from(u32::from(prefix.address())) << 96,
            length: prefix.length(),
        }
    }

    fn of_ipv6(prefix: Ipv6Prefix) -> Self {
        Self {
            bits: u128::from(prefix.address()),
            length: prefix.length(),
        }
    }

    fn contains(self, other: Self) -> bool {
        let differ = (self.bits ^ other.bits).leading_zeros();
        self.length <= other.length && differ >= u32::from(self.length)
    }

    /// The smallest block that holds both.
    fn around(self, other: Self) -> Self {
        let differ = (self.bits ^ other.bits).leading_zeros();
        let common = u8::try_from(differ).unwrap_or(u8::MAX);
        let length = self.length.min(other.length).min(common);
        let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        Self {
            bits: self.bits & mask,
            length,
        }
    }

    /// The last address in it.
    fn last(self) -> u128 {
        self.bits | u128::MAX.checked_shr(self.length.into()).unwrap_or(0)
    }
}

/// A prefix of one family, as tables have it.
pub(super) trait Prefix: Copy + Ord {
    /// The prefix of a block.
    fn of(block: Block) -> Self;

    /// The block that this and `next` are the two halves of.
    fn joined(self, next: Self) -> Option<Self>;
}

impl Prefix for Ipv4Prefix {
    fn of(block: Block) -> Self {
        let bits = u32::try_from(block.bits >> 96).unwrap_or(u32::MAX);
        Self::new(Ipv4Addr::from(bits), block.length)
    }

    fn joined(self, next: Self) -> Option<Self> {
        self.joined(next)
    }
}

impl Prefix for Ipv6Prefix {
    fn of(block: Block) -> Self {
        Self::new(Ipv6Addr::from(block.bits), block.length)
    }

    fn joined(self, next: Self) -> Option<Self> {
        self.joined(next)
    }
}

/// Hosts that are reached alike: those on one switch, or on the same set of switches, or with
/// listed routes of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// The switches that have the hosts.
    pub(super) targets: Vec<SwitchId>,
    /// The host, where it is a class of its own.
    pub(super) host: Option<HostId>,
}

/// Both families at once: IPv4 first.
type Both<T> = [T; 2];

/// The table of one switch and family, in the order of prefixes.
type Table<P> = Vec<(P, ForwardAction)>;

/// Who has which addresses: the same for all switches.
#[derive(Clone, Debug)]
pub(super) struct AddressPlan {
    pub(super) classes: Vec<Class>,
    /// In address order, containers before their contents.
    places4: Vec<Place<Ipv4Prefix>>,
    places6: Vec<Place<Ipv6Prefix>>,
}

/// A block that hosts of a class have.
#[derive(Clone, Copy, Debug)]
struct Place<P> {
    prefix: P,
    class: usize,
    /// Whether it lies in the last block before it that lies in none.
    inside: bool,
    /// Whether it is a single address.
    single: bool,
}

impl<P: Prefix> Place<P> {
    /// Whether it is a block that lies in no other.
    fn is_plain(&self) -> bool {
        !self.inside && !self.single
    }

    /// Of blocks with classes, in order.
    fn all(blocks: &[(Block, usize)], whole: u8) -> Vec<Self> {
        let mut container: Option<Block> = None;
        let mut place = |&(block, class): &(Block, usize)| {
            let inside = container.is_some_and(|around| around.contains(block));
            if !inside {
                container = Some(block);
            }
            Self {
                prefix: P::of(block),
                class,
                inside,
                single: block.length == whole,
            }
        };
        blocks.iter().map(&mut place).collect()
    }
}

impl AddressPlan {
    pub(super) fn new(topology: &Topology, set: &RouteSet) -> Self {
        let own_class = match set.policy() {
            RoutePolicy::Explicit { .. } => {
                set.listed().iter().map(|r| r.destination.host).collect()
            }
            _ => std::collections::BTreeSet::new(),
        };
        let mut classes = Vec::new();
        let mut blocks: Both<Vec<(Block, usize)>> = [Vec::new(), Vec::new()];
        let mut known: BTreeMap<(Vec<SwitchId>, Option<HostId>), usize> = BTreeMap::new();
        let mut subnets = BTreeMap::new();
        for host in topology.host_ids() {
            let targets = switches_of(topology, host);
            let own = own_class.contains(&host).then_some(host);
            let key = (targets, own);
            let next = known.len();
            let class = *known.entry(key.clone()).or_insert(next);
            let (targets, own) = key;
            // A host that lives where its address says needs no entry of its own elsewhere.
            let entry = topology.host(host);
            if let ([switch], None) = (&targets[..], own)
                && let Some(subnet) = topology.switch(*switch).subnet
                && subnet.ipv4.contains(entry.ipv4)
                && subnet.ipv6.contains(entry.ipv6)
            {
                subnets.insert(*switch, (subnet, class));
            } else {
                for (blocks, block) in blocks.iter_mut().zip(blocks_of(topology, host)) {
                    blocks.push((block, class));
                }
            }
            if class == next {
                classes.push(Class { targets, host: own });
            }
        }
        let [mut v4, mut v6] = blocks;
        for (subnet, class) in subnets.into_values() {
            v4.push((Block::of_ipv4(subnet.ipv4), class));
            v6.push((Block::of_ipv6(subnet.ipv6), class));
        }
        // Hosts with listed routes of their own, or on several switches, are not behind one switch.
        let behind = |class: usize| {
            let class: &Class = &classes[class];
            class.host.is_none() && class.targets.len() == 1
        };
        for (blocks, whole) in [(&mut v4, 32), (&mut v6, 128)] {
            blocks.sort_unstable();
            gather(blocks, whole, behind);
        }
        Self {
            places4: Place::all(&v4, 32),
            places6: Place::all(&v6, 128),
            classes,
        }
    }

    /// The tables of one switch, of IPv4 and of IPv6. `actions` says what it does with each class,
    /// `local` with its own hosts by address, and `climbs` of the groups, by number, which lead up
    /// by all their ports.
    pub(super) fn tables(
        &self,
        topology: &Topology,
        actions: &[ForwardAction],
        local: &BTreeMap<HostId, ForwardAction>,
        climbs: &[bool],
    ) -> (Table<Ipv4Prefix>, Table<Ipv6Prefix>) {
        let of_host = |(&host, &action): (&HostId, &ForwardAction)| {
            let [v4, v6] = blocks_of(topology, host);
            ((Prefix::of(v4), action), (Prefix::of(v6), action))
        };
        let (hosts4, hosts6) = local.iter().map(of_host).unzip();
        (
            table(&self.places4, actions, hosts4, climbs),
            table(&self.places6, actions, hosts6, climbs),
        )
    }
}

/// Puts the hosts behind one switch into one block, the smallest that holds them, where nobody else
/// has a part of it. Addresses in it that nobody has go to that switch, which drops them: it sends
/// none but its own hosts' addresses on, and has the block discarded where it has a default route.
/// So they cannot circulate, as those of a subnet cannot.
fn gather(blocks: &mut Vec<(Block, usize)>, whole: u8, behind: impl Fn(usize) -> bool) {
    let mut hosts: BTreeMap<usize, (Block, usize)> = BTreeMap::new();
    for &(block, class) in blocks.iter() {
        if block.length == whole && behind(class) {
            let (around, count) = hosts.entry(class).or_insert((block, 0));
            *around = around.around(block);
            *count += 1;
        }
    }
    let mut gathered: BTreeMap<usize, Block> = BTreeMap::new();
    for (class, (around, count)) in hosts {
        let from = blocks.partition_point(|(block, _)| block.bits < around.bits);
        let inside = blocks[from..]
            .iter()
            .take_while(|(block, _)| block.bits <= around.last());
        // Blocks that hold it may begin with it.
        let parts = inside.filter(|(block, _)| around.contains(*block)).count();
        if count > 1 && parts == count {
            gathered.insert(class, around);
        }
    }
    if gathered.is_empty() {
        return;
    }
    blocks.retain(|(block, class)| {
        let around = gathered.get(class);
        block.length != whole || around.is_none_or(|around| !around.contains(*block))
    });
    blocks.extend(gathered.into_iter().map(|(class, around)| (around, class)));
    blocks.sort_unstable();
}

/// The switches that a host is linked to, each once. A link that is down does not count if the host
/// has another to a different switch that is up.
fn switches_of(topology: &Topology, host: HostId) -> Vec<SwitchId> {
    let linked = |live: bool| {
        let uplinks = topology.uplinks(host).iter();
        let usable = uplinks.filter(|(_, peer)| !live || topology.is_live(peer.link));
        let mut switches: Vec<SwitchId> = usable
            .filter_map(|(_, peer)| match peer.end.node {
                NodeId::Switch(switch) => Some(switch),
                NodeId::Host(_) => None,
            })
            .collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    };
    match linked(true) {
        live if live.is_empty() => linked(false),
        live => live,
    }
}

fn blocks_of(topology: &Topology, host: HostId) -> Both<Block> {
    let host = topology.host(host);
    [
        Block::of_ipv4(Ipv4Prefix::new(host.ipv4, 32)),
        Block::of_ipv6(Ipv6Prefix::new(host.ipv6, 128)),
    ]
}

/// The table of one switch and family. Not inlined: two copies in one function would share its
/// registers.
#[inline(never)]
fn table<P: Prefix>(
    places: &[Place<P>],
    actions: &[ForwardAction],
    hosts: BTreeMap<P, ForwardAction>,
    climbs: &[bool],
) -> Table<P> {
    // Outermost blocks, merged where two halves go the same way; and exceptions within them.
    let (mut outer, inner) = match places.iter().all(Place::is_plain) {
        true => (plain(places, actions), Table::new()),
        false => nested(places, actions, &hosts),
    };
    match default_route(&outer, climbs) {
        Some(action) => {
            outer.retain(|&(_, other)| other != action);
            outer.insert(0, (P::of(Block::ALL), action));
        }
        // Without a default route, what has no entry is dropped anyway.
        None => outer.retain(|&(_, action)| action != ForwardAction::Discard),
    }
    merged(merged(outer, inner), hosts)
}

/// The outermost blocks where there are no others, and no single addresses.
fn plain<P: Prefix>(places: &[Place<P>], actions: &[ForwardAction]) -> Table<P> {
    let mut outer = Table::with_capacity(places.len() + 1);
    for place in places {
        push_merged(&mut outer, place.prefix, actions[place.class]);
    }
    outer
}

/// The outermost blocks, and what goes elsewhere within them. What are hosts of the switch itself
/// has no place among them.
fn nested<P: Prefix>(
    places: &[Place<P>],
    actions: &[ForwardAction],
    hosts: &BTreeMap<P, ForwardAction>,
) -> (Table<P>, Table<P>) {
    let mut outer = Table::with_capacity(places.len() + 1);
    let mut inner = Table::new();
    let mut around = ForwardAction::Discard;
    // Both are in order.
    let mut own = hosts.keys().peekable();
    for place in places {
        let prefix = place.prefix;
        if place.single {
            while own.next_if(|host| **host < prefix).is_some() {}
            if own.peek() == Some(&&prefix) {
                continue;
            }
        }
        let action = actions[place.class];
        if !place.inside {
            around = action;
            push_merged(&mut outer, prefix, action);
        } else if action != around {
            inner.push((prefix, action));
        }
    }
    (outer, inner)
}

/// Two tables in the order of prefixes, as one.
fn merged<P: Prefix>(
    table: Table<P>,
    other: impl IntoIterator<Item = (P, ForwardAction)>,
) -> Table<P> {
    let mut other = other.into_iter().peekable();
    if other.peek().is_none() {
        return table;
    }
    let mut all = Vec::with_capacity(table.len() + other.size_hint().0);
    let mut rest = &table[..];
    for next in other {
        let less = rest.partition_point(|(prefix, _)| *prefix < next.0);
        all.extend_from_slice(&rest[..less]);
        all.push(next);
        rest = &rest[less..];
    }
    all.extend_from_slice(rest);
    all
}

/// Appends the next prefix in address order and joins halves as far as they go.
#[inline]
fn push_merged<P: Prefix>(outer: &mut Table<P>, prefix: P, action: ForwardAction) {
    let joined = match outer.last() {
        Some((_, before)) if *before == action => join(outer, prefix, action),
        _ => prefix,
    };
    outer.push((joined, action));
}

/// The block of a prefix and of those before it that it is the other half of; those are taken off.
#[inline(never)]
fn join<P: Prefix>(outer: &mut Table<P>, prefix: P, action: ForwardAction) -> P {
    let mut prefix = prefix;
    while let Some(&(last, same)) = outer.last()
        && same == action
        && let Some(joined) = last.joined(prefix)
    {
        outer.pop();
        prefix = joined;
    }
    prefix
}

/// The way up that the most entries take, if more than one does.
fn default_route<P>(outer: &[(P, ForwardAction)], climbs: &[bool]) -> Option<ForwardAction> {
    if !climbs.contains(&true) {
        return None;
    }
    let mut uses: BTreeMap<ForwardAction, usize> = BTreeMap::new();
    for &(_, action) in outer.iter().filter(|(_, action)| is_up(*action, climbs)) {
        *uses.entry(action).or_default() += 1;
    }
    let candidates = uses.into_iter().filter(|&(_, uses)| uses > 1);
    let most = candidates.max_by_key(|&(action, uses)| (uses, std::cmp::Reverse(action)));
    most.map(|(action, _)| action)
}

/// Whether an action sends up by all ports; groups that are not listed do not.
fn is_up(action: ForwardAction, climbs: &[bool]) -> bool {
    match action {
        ForwardAction::Group(group) => climbs.get(group as usize) == Some(&true),
        ForwardAction::Discard => false,
    }
}

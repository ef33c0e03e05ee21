//! From destinations to prefixes: who has which addresses, and tables without waste. Where a topology gives the hosts of a switch no subnet,
//! but addresses that lie together, they get a block of their own all the same.

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

    pub(super) fn of_ipv4(prefix: Ipv4Prefix) -> Self {
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

    pub(super) fn ipv4(self) -> Ipv4Prefix {
        let bits = u32::try_from(self.bits >> 96).unwrap_or(u32::MAX);
        Ipv4Prefix::new(Ipv4Addr::from(bits), self.length)
    }

    pub(super) fn ipv6(self) -> Ipv6Prefix {
        Ipv6Prefix::new(Ipv6Addr::from(self.bits), self.length)
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

    /// The block that this and `next` are the two halves of.
    fn joined(self, next: Self) -> Option<Self> {
        let length = self.length.checked_sub(1)?;
        let last = 1u128 << (127 - u32::from(length));
        let halves =
            next.length == self.length && self.bits & last == 0 && next.bits == self.bits | last;
        halves.then_some(Self {
            bits: self.bits,
            length,
        })
    }
}

/// Hosts that are reached alike: those on one switch, or on the same set of switches, or with listed
/// routes of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// The switches that have the hosts.
    pub(super) targets: Vec<SwitchId>,
    /// The host, where it is a class of its own.
    pub(super) host: Option<HostId>,
}

/// Both families at once: IPv4 first.
type Both<T> = [T; 2];

/// Who has which addresses: the same for all switches.
#[derive(Clone, Debug)]
pub(super) struct AddressPlan {
    pub(super) classes: Vec<Class>,
    /// In address order, containers before their contents.
    places: Both<Vec<Place>>,
}

/// A block that hosts of a class have.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: Block,
    class: usize,
    /// Whether it lies in the last block before it that lies in none.
    inside: bool,
    /// Whether it is a single address.
    single: bool,
}

impl Place {
    /// Of blocks with classes, in order.
    fn all(blocks: &[(Block, usize)], whole: u8) -> Vec<Self> {
        let mut container: Option<Block> = None;
        let mut place = |&(block, class): &(Block, usize)| {
            let inside = container.is_some_and(|around| around.contains(block));
            if !inside {
                container = Some(block);
            }
            Self {
                block,
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
        let places = |blocks: &mut Vec<(Block, usize)>, whole| {
            blocks.sort_unstable();
            gather(blocks, whole, behind);
            Place::all(blocks, whole)
        };
        Self {
            places: [places(&mut v4, 32), places(&mut v6, 128)],
            classes,
        }
    }

    /// The tables of one switch. `actions` says what it does with each class, `local` with its own hosts
    /// by address, and `climbs` of the groups, by number, which lead up by all their ports.
    pub(super) fn tables(
        &self,
        topology: &Topology,
        actions: &[ForwardAction],
        local: &BTreeMap<HostId, ForwardAction>,
        climbs: &[bool],
    ) -> Both<Vec<(Block, ForwardAction)>> {
        let mut hosts: Both<BTreeMap<Block, ForwardAction>> = [BTreeMap::new(), BTreeMap::new()];
        for (&host, &action) in local {
            for (hosts, block) in hosts.iter_mut().zip(blocks_of(topology, host)) {
                hosts.insert(block, action);
            }
        }
        let [v4, v6] = &self.places;
        let [hosts4, hosts6] = hosts;
        [
            table(v4, actions, hosts4, climbs),
            table(v6, actions, hosts6, climbs),
        ]
    }
}

/// Puts the hosts behind one switch into one block, the smallest that holds them, where nobody else has a part of it. Addresses in it that
/// nobody has go to that switch, which drops them: it sends none but its own hosts' addresses on, and has the block discarded where it has
/// a default route. So they cannot circulate, as those of a subnet cannot.
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

/// The table of one switch and family.
fn table(
    places: &[Place],
    actions: &[ForwardAction],
    hosts: BTreeMap<Block, ForwardAction>,
    climbs: &[bool],
) -> Vec<(Block, ForwardAction)> {
    // Outermost blocks, merged where two halves go the same way; and exceptions within them.
    let mut outer: Vec<(Block, ForwardAction)> = Vec::with_capacity(places.len() + 1);
    let mut inner: Vec<(Block, ForwardAction)> = Vec::new();
    let mut around = ForwardAction::Discard;
    // Both are in order.
    let mut own = hosts.keys().peekable();
    for place in places {
        let block = place.block;
        if place.single {
            while own.next_if(|host| **host < block).is_some() {}
            if own.peek() == Some(&&block) {
                continue;
            }
        }
        let action = actions[place.class];
        if !place.inside {
            around = action;
            push_merged(&mut outer, block, action);
        } else if action != around {
            inner.push((block, action));
        }
    }
    match default_route(&outer, climbs) {
        Some(action) => {
            outer.retain(|&(_, other)| other != action);
            outer.insert(0, (Block::ALL, action));
        }
        // Without a default route, what has no entry is dropped anyway.
        None => outer.retain(|&(_, action)| action != ForwardAction::Discard),
    }
    merged(merged(outer, inner), hosts)
}

/// Two rows in the order of blocks, as one.
fn merged(
    row: Vec<(Block, ForwardAction)>,
    other: impl IntoIterator<Item = (Block, ForwardAction)>,
) -> Vec<(Block, ForwardAction)> {
    let mut other = other.into_iter().peekable();
    if other.peek().is_none() {
        return row;
    }
    let mut all = Vec::with_capacity(row.len() + other.size_hint().0);
    let mut rest = &row[..];
    for next in other {
        let less = rest.partition_point(|(block, _)| *block < next.0);
        all.extend_from_slice(&rest[..less]);
        all.push(next);
        rest = &rest[less..];
    }
    all.extend_from_slice(rest);
    all
}

/// Appends the next block in address order and joins halves as far as they go.
fn push_merged(outer: &mut Vec<(Block, ForwardAction)>, block: Block, action: ForwardAction) {
    let mut block = block;
    while let Some(&(last, same)) = outer.last()
        && same == action
        && let Some(joined) = last.joined(block)
    {
        outer.pop();
        block = joined;
    }
    outer.push((block, action));
}

/// The way up that the most entries take, if more than one does.
fn default_route(outer: &[(Block, ForwardAction)], climbs: &[bool]) -> Option<ForwardAction> {
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

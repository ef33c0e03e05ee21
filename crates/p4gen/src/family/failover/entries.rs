//! Entries of the `failover` programs: what a checked plan's failover tables say of one switch.
//!
//! | table | from | entry |
//! |---|---|---|
//! | `island_in` | ports | port -> from a host (with the version that it stamps), or from a switch |
//! | `neighbor` | hosts | IPv4 address -> MAC address |
//! | `encap` | destinations | version, MAC address -> the code of the host, or the codes of its switch |
//! | `src_forward` | ports towards switches | version, next hop, port up -> follow; else abandon the route |
//! | `local_host` | destinations at this switch | version, code, MAC address, port up -> the host's port |
//! | `res_forward` | failover rules | version and the rule's own key -> next port and route, or drop |
//! | `island_out` | ports that face hosts | port -> take the header off |
//! | `edge_class`, `classify`, `rewrite` | lossless classes and tag rules | as in the `tagger` programs, with the version |
//! | `classify`, `rewrite` | rules that give channels | (first tag, port of a host, out port, channel) -> the channel |
//! | `in_port_bit`, `out_port_bit` | ports (Tofino, port sets) | port -> its one-hot bit |
//! | `port_down` | ports (Tofino) | the port that went down -> all bits but its own |
//! | `port_alive` | ports (Tofino) | out port, its bit -> it is up |
//! | `way` | numbers of routings (Tofino) | number, low bits of the flow hash -> the hash modulo that number |
//!
//! `security` has none: the plan does not say what hosts may not send. The first rule of the plan
//! has the highest priority. On Tofino ports outside are the device's; rules and headers keep the
//! plan's numbers. A rule that asks for what packets of its program cannot carry never matches, and
//! is left out.

use std::collections::{BTreeMap, BTreeSet};

use entries::{Bits, Bytestring as _};
use plan::Carrier;
use plan::failover::{
    Action, Destination, Failover, LabelKind, Origin, PortMask, ReverseMatch, RuleRef, Target,
    Ternary, Write,
};
use quantities::PortId;
use topology::{HostId, NodeId, SwitchId, Topology};

use super::tables::{FLOW_HASH_BITS, OutNames, STATUS, STATUS_HIGH};
use super::{FailoverFeatures, HeaderState, NO_PORT, NO_REVERSE, names};
use crate::capabilities::Architecture;
use crate::entries::writer::{Writer, number};
use crate::entries::{EntriesError, EntryAction, Key, NamedCall, Ports, Problem, SwitchEntries};
use crate::family::EntrySource;
use crate::family::tagger::entries::{self as tagger, channel_code};
use crate::layout::{STATUS_WORD_BITS, VERSION_KEY, action, table};

/// Bits of a port's number within its pipe on Tofino.
const PIPE_PORT_MASK: u16 = 0x7f;
/// Where the ways are no power of two, so many values of the hash a way at least: the shares differ
/// by no more than one in so many.
const HASHES_PER_WAY: u32 = 16;

/// The entries of one switch; packets that enter at it are stamped with the source's version, and
/// its forwarding entries are for that version alone.
pub(super) fn generate(
    features: &FailoverFeatures,
    source: &EntrySource<'_>,
    switch: SwitchId,
) -> Result<SwitchEntries, EntriesError> {
    let topology = source.plan.topology();
    let unfit = |problem| source.unfit(switch, problem);
    let missing = || Problem::Failover("the plan has no failover tables".to_owned());
    let failover = source.plan.tables().failover.as_ref();
    let ports = source.ports(switch).map_err(unfit)?;
    if let Some(pipeline) = source.target.pipeline {
        no_generator(&ports, pipeline.generator_port).map_err(unfit)?;
    }
    let mut build = Build {
        topology,
        failover: failover.ok_or_else(missing).map_err(unfit)?,
        carrier: source.plan.carrier(),
        features,
        switch,
        version: source.version,
        ports,
        architecture: source.target.architecture,
        names: OutNames::of(source.target.architecture),
        to: Writer::new(source.layout, &topology.switch(switch).name),
    };
    build.all().map_err(unfit)?;
    let to = match &features.tags {
        Some(tags) => tagger::add_tags(tags, source, switch, build.to).map_err(unfit)?,
        None => build.to,
    };
    Ok(to.entries)
}

/// Refuses a device port that is that of a pipe's packet generator.
fn no_generator(ports: &Ports, generator: u16) -> Result<(), Problem> {
    let mut all = ports.iter();
    match all.find(|(_, device)| device & PIPE_PORT_MASK == generator) {
        Some((port, device)) => Err(Problem::GeneratorPort {
            port: port.get(),
            device,
        }),
        None => Ok(()),
    }
}

struct Build<'a> {
    topology: &'a Topology,
    failover: &'a Failover,
    carrier: &'a Carrier,
    features: &'a FailoverFeatures,
    switch: SwitchId,
    version: u8,
    ports: Ports,
    architecture: Architecture,
    names: OutNames,
    to: Writer<'a>,
}

/// A destination's code, and what the header of packets to it says.
#[derive(Clone, Copy)]
struct Code {
    code: u32,
    label: LabelKind,
}

/// A rule's key, as far as it can be matched by packets of the program.
enum Asked {
    /// These values.
    Keys(Vec<Key>),
    /// What no packet carries.
    Never,
}

impl Build<'_> {
    fn all(&mut self) -> Result<(), Problem> {
        let mut host_ports = Vec::new();
        for (port, peer) in self.topology.peers(self.switch) {
            let faces_host = matches!(peer.end.node, NodeId::Host(_));
            let device = self.ports.device(port);
            let key = self.to.exact(table::ISLAND_IN, "port", device)?;
            let call = match (faces_host, self.architecture) {
                (true, _) => {
                    host_ports.push(device);
                    self.to.call(action::FROM_HOST, &[self.version.into()])?
                }
                (false, Architecture::V1model) => self.to.call(action::FROM_FABRIC, &[])?,
                (false, Architecture::Tofino) => {
                    let inside = port.get().into();
                    self.to.call(action::FROM_FABRIC, &[inside])?
                }
            };
            self.to.add(table::ISLAND_IN, vec![key], None, call);
        }
        if !host_ports.is_empty() {
            self.neighbors()?;
            self.encapsulations()?;
        }
        if self.features.source_routes {
            self.next_hops()?;
        }
        self.local_hosts()?;
        self.rules()?;
        for device in host_ports {
            let name = self.names.island_out;
            let key = self.to.exact(name, "port", device)?;
            let call = self.to.call(self.names.decapsulate, &[])?;
            self.to.add(name, vec![key], None, call);
        }
        match self.architecture {
            Architecture::V1model => Ok(()),
            Architecture::Tofino => self.tofino_tables(),
        }
    }

    fn neighbors(&mut self) -> Result<(), Problem> {
        let mut known = BTreeMap::new();
        // Address 0.0.0.0 stands for "nobody asked" on Tofino.
        let addressed = |host: &&topology::Host| !host.ipv4.is_unspecified();
        for host in self.topology.hosts().iter().filter(addressed) {
            known.entry(host.ipv4).or_insert(host.mac);
        }
        for (address, mac) in known {
            let key = self
                .to
                .exact(table::NEIGHBOR, "target_ip", u32::from(address))?;
            let call = self.to.call(action::ANSWER, &[number(mac)])?;
            self.to.add(table::NEIGHBOR, vec![key], None, call);
        }
        Ok(())
    }

    /// Where packets to every host go: to the host's own code, or to those of its switch.
    fn encapsulations(&mut self) -> Result<(), Problem> {
        let mut own: BTreeMap<HostId, Code> = BTreeMap::new();
        let mut switches: BTreeMap<SwitchId, BTreeMap<u16, Code>> = BTreeMap::new();
        for destination in &self.failover.destinations {
            let code = Code {
                code: destination.code,
                label: self.failover.protection(destination).label,
            };
            match destination.target {
                Target::Host(host) => {
                    own.entry(host).or_insert(code);
                }
                Target::Switch { switch, path } => {
                    switches.entry(switch).or_default().insert(path, code);
                }
            }
        }
        for host in self.topology.host_ids() {
            let uplinks = self.topology.uplinks(host).iter();
            let mut homes = uplinks.filter_map(|(_, peer)| match peer.end.node {
                NodeId::Switch(switch) => switches.get(&switch),
                NodeId::Host(_) => None,
            });
            let (first, ways) = match (own.get(&host), homes.next()) {
                (Some(&code), _) => (code, 1),
                (None, Some(paths)) => self.consecutive(paths)?,
                (None, None) => continue,
            };
            let mut values: Vec<u128> = vec![first.code.into()];
            let name = match ways {
                1 => action::ENCAPSULATE,
                ways => {
                    values.push(ways.into());
                    action::ENCAPSULATE_FLOW
                }
            };
            if self.features.state.is_mixed() {
                values.push(match first.label {
                    LabelKind::ReverseRoute => 0,
                    _ => NO_REVERSE.into(),
                });
            }
            let call = self.to.call(name, &values)?;
            let mac = number(self.topology.host(host).mac);
            let keys = vec![
                self.to.exact(table::ENCAP, VERSION_KEY, self.version)?,
                self.to.exact(table::ENCAP, "dst_addr", mac)?,
            ];
            self.to.add(table::ENCAP, keys, None, call);
        }
        Ok(())
    }

    /// The first code of a switch's routings, and how many there are.
    fn consecutive(&self, paths: &BTreeMap<u16, Code>) -> Result<(Code, u16), Problem> {
        let first = paths.values().next().copied().unwrap_or(Code {
            code: 0,
            label: self.failover.label,
        });
        let follows = (first.code..).zip(0..).zip(paths);
        let mut expected = follows.map(|((code, path), (p, c))| code == c.code && path == *p);
        let ways = u16::try_from(paths.len()).unwrap_or(u16::MAX);
        if paths.values().any(|own| own.label != first.label) {
            return Err(Problem::Failover(
                "the routings to a switch must have one `label`, for whoever sends a packet does not know which it takes; \
                 give them one in the plan"
                    .to_owned(),
            ));
        }
        if expected.all(|as_expected| as_expected) {
            return Ok((first, ways));
        }
        Err(Problem::Failover(
            "the routings to a switch must be numbered 0, 1, 2, ..., and their codes must follow on each other, for a \
             packet's code is the first plus the flow's choice; number them so in the plan"
                .to_owned(),
        ))
    }

    /// Ports towards switches; what a route says else is dropped.
    fn next_hops(&mut self) -> Result<(), Problem> {
        let name = table::SRC_FORWARD;
        for (port, peer) in self.topology.peers(self.switch) {
            let switch = matches!(peer.end.node, NodeId::Switch(_));
            if !switch || port > plan::failover::WIDEST {
                continue;
            }
            let keys = vec![
                self.to.exact(name, VERSION_KEY, self.version)?,
                self.to.exact(name, "next_hop", port.get())?,
            ];
            let mut up = keys.clone();
            up.extend(self.status(name, PortMask::single(port), PortMask::EMPTY)?);
            let device = self.ports.device(port).into();
            let follow = self.to.call(action::FOLLOW, &[device])?;
            self.to.add(name, up, Some(2), follow);
            let abandon = self.to.call(action::ABANDON, &[])?;
            self.to.add(name, keys, Some(1), abandon);
        }
        Ok(())
    }

    /// The port-status keys: these ports up, those down.
    fn status(&self, name: &str, up: PortMask, down: PortMask) -> Result<Vec<Key>, Problem> {
        let (up, mask) = (up.bits(), up.bits() | down.bits());
        if self.architecture == Architecture::V1model {
            let key = self.to.ternary(name, STATUS, up, mask)?;
            return Ok(key.into_iter().collect());
        }
        let bits = self.features.port_bits.into();
        Bits::from_uint(mask, bits).map_err(|source| Problem::value(STATUS, name, source))?;
        let words = [STATUS, STATUS_HIGH]
            .into_iter()
            .zip(words(up).zip(words(mask)));
        let mut keys = Vec::new();
        for (field, (up, mask)) in words.take(self.features.status_words()) {
            keys.extend(self.to.ternary(name, field, up, mask)?);
        }
        Ok(keys)
    }

    fn local_hosts(&mut self) -> Result<(), Problem> {
        let here = self.topology.peers(self.switch);
        let attached: Vec<(PortId, HostId)> = here
            .filter_map(|(port, peer)| match peer.end.node {
                NodeId::Host(host) => Some((port, host)),
                NodeId::Switch(_) => None,
            })
            .collect();
        let failover = self.failover;
        for destination in &failover.destinations {
            let hosts: Vec<(PortId, HostId)> = match destination.target {
                Target::Host(host) => {
                    let own = attached.iter().filter(|(_, h)| *h == host);
                    own.copied().collect()
                }
                Target::Switch { switch, .. } if switch == self.switch => attached.clone(),
                Target::Switch { .. } => continue,
            };
            let is_home = destination.homes(self.topology).contains(&self.switch);
            if is_home || !hosts.is_empty() {
                self.local(destination, &hosts)?;
            }
        }
        Ok(())
    }

    /// Hands packets for a destination to the hosts at these ports; drops what is for none of them.
    fn local(
        &mut self,
        destination: &Destination,
        hosts: &[(PortId, HostId)],
    ) -> Result<(), Problem> {
        let name = table::LOCAL_HOST;
        let own = vec![
            self.to.exact(name, VERSION_KEY, self.version)?,
            self.to.exact(name, "destination", destination.code)?,
        ];
        for (priority, &(port, host)) in (2..).zip(hosts) {
            let mac = number(self.topology.host(host).mac);
            let mut keys = own.clone();
            keys.extend(self.to.ternary(name, "dst_addr", mac, (1 << 48) - 1)?);
            keys.extend(self.status(name, PortMask::single(port), PortMask::EMPTY)?);
            let device = self.ports.device(port).into();
            let call = self.to.call(action::DELIVER, &[device])?;
            self.to.add(name, keys, Some(priority), call);
        }
        let call = self.to.call(action::NO_HOST, &[])?;
        self.to.add(name, own, Some(1), call);
        Ok(())
    }

    fn rules(&mut self) -> Result<(), Problem> {
        let failover = self.failover;
        let Some(rules) = failover.table(self.switch) else {
            return Ok(());
        };
        let count = i32::try_from(rules.len()).unwrap_or(i32::MAX);
        for ((number, rule), priority) in (1..).zip(rules.iter()).zip((1..=count).rev()) {
            let place = |problem: Problem| match problem {
                Problem::Failover(what) => {
                    Problem::Failover(format!("failover rule {number}: {what}"))
                }
                other => Problem::Failover(format!("failover rule {number}: {other}")),
            };
            let Asked::Keys(keys) = self.rule_keys(&rule).map_err(place)? else {
                continue;
            };
            let call = self.rule_action(rule.action).map_err(place)?;
            self.to.add(table::RES_FORWARD, keys, Some(priority), call);
        }
        Ok(())
    }

    fn rule_keys(&self, rule: &RuleRef<'_>) -> Result<Asked, Problem> {
        let name = table::RES_FORWARD;
        let mut keys = vec![self.to.exact(name, VERSION_KEY, self.version)?];
        keys.extend(self.part("destination", 16, rule.destination)?);
        let came_from = match rule.origin {
            Origin::Any => Ternary::ANY,
            Origin::Host => Ternary::exact(NO_PORT.into()),
            Origin::Port(port) => Ternary::exact(port.get().into()),
        };
        keys.extend(self.part("came_from", 9, came_from)?);
        keys.extend(self.status(name, rule.ports.up, rule.ports.down)?);
        let state = self.features.state;
        if state.keeps_reverse() {
            if !state.has_number() && !rule.tag.matches(0) {
                return Ok(Asked::Never);
            }
            let Some(hops) = self.reverse_keys(rule.reverse)? else {
                return Ok(Asked::Never);
            };
            keys.extend(hops);
        } else if !rule.reverse.matches(&[]) {
            return Ok(Asked::Never);
        }
        if state.has_number() {
            keys.extend(self.part("tag", 24, rule.tag)?);
        }
        match (rule.tree, state.has_tree()) {
            (None, _) => {}
            (Some(tree), true) => {
                keys.extend(self.part("tree", 8, Ternary::exact(tree.into()))?);
            }
            (Some(0), _) => {}
            (Some(_), _) => return Ok(Asked::Never),
        }
        Ok(Asked::Keys(keys))
    }

    /// The keys over the reverse route; `None` if no route of the header's length has it.
    fn reverse_keys(&self, asked: &ReverseMatch) -> Result<Option<Vec<Key>>, Problem> {
        let mut keys: Vec<Key> = self.part("hops", 8, asked.count)?.into_iter().collect();
        for (at, hop) in asked.hops.iter().enumerate() {
            match names::reverse_keys(self.features.stack).nth(at) {
                Some(name) => keys.extend(self.part(name, 8, *hop)?),
                None if hop.matches(0) => {}
                None => return Ok(None),
            }
        }
        Ok(Some(keys))
    }

    /// A key of a rule, cut to its width: bits beyond are zero in every packet.
    fn part(&self, field: &'static str, bits: u32, asked: Ternary) -> Result<Option<Key>, Problem> {
        let width = u32::MAX >> (u32::BITS - bits);
        if asked.value() & !width != 0 {
            return Err(Problem::Failover(format!(
                "{field} {asked} does not fit into the {bits} bits that the header has for it; number from 0 up"
            )));
        }
        let (value, mask) = (asked.value().into(), (asked.mask() & width).into());
        self.to.ternary(table::RES_FORWARD, field, value, mask)
    }

    fn rule_action(&self, action: &Action) -> Result<NamedCall, Problem> {
        let Action::Forward { route, write } = action else {
            return self.to.call(action::NO_WAY, &[]);
        };
        let Some((&port, rest)) = route.split_first() else {
            return self.to.call(action::NO_WAY, &[]);
        };
        let most = usize::from(self.features.most_rest());
        let name = names::send(rest.len()).filter(|_| rest.len() <= most);
        let name = name.ok_or_else(|| {
            Problem::Failover(format!(
                "its route leaves {} hops to the switches after, but the header holds {most}",
                rest.len()
            ))
        })?;
        let mut values: Vec<u128> = vec![self.ports.device(PortId::new(port.into())).into()];
        values.extend(self.writes(*write)?);
        values.extend(rest.iter().map(|&hop| u128::from(hop)));
        self.to.call(name, &values)
    }

    /// How the header's number, and its tree, change.
    fn writes(&self, write: Write) -> Result<Vec<u128>, Problem> {
        let (tag, tree) = (write.tag, write.tree);
        let state = self.features.state;
        let foreign = match state {
            HeaderState::ReverseRoute if tag.mask != 0 || tree.is_some() => {
                "the number or the tree"
            }
            HeaderState::Tag if tree.is_some() => "the tree",
            _ => "",
        };
        if !foreign.is_empty() {
            return Err(Problem::Failover(format!(
                "it changes {foreign} in the header, which the plan's `label` does not let it carry"
            )));
        }
        let width = 0x00ff_ffff;
        if tag.value & tag.mask & !width != 0 {
            return Err(Problem::Failover(format!(
                "it writes {} into the header, which has 24 bits for it; number from 0 up",
                tag.value & tag.mask
            )));
        }
        let mut values = Vec::new();
        if state.has_number() {
            values.push((!tag.mask & width).into());
            values.push((tag.value & tag.mask).into());
        }
        if state.has_tree() {
            values.push(if tree.is_some() { 0 } else { 0xff });
            values.push(tree.unwrap_or(0).into());
        }
        if self.features.channel_bits().is_some() {
            let code = write.channel.map(|tag| channel_code(self.carrier, tag));
            values.push(code.transpose()?.unwrap_or_default().into());
        }
        Ok(values)
    }
    /// The tables that only Tofino has.
    fn tofino_tables(&mut self) -> Result<(), Problem> {
        let count = self.features.status_words();
        let bit = |port: PortId| 1_u128.checked_shl(port.get().into()).unwrap_or(0);
        for (port, device) in self.ports.iter() {
            let others: Vec<u128> = words(!bit(port)).take(count).collect();
            let key = self.to.exact(table::PORT_DOWN, "port", device)?;
            let call = self.to.call(action::TAKE_DOWN, &others)?;
            self.to.add(table::PORT_DOWN, vec![key], None, call);
        }
        for (port, device) in self.ports.iter() {
            let name = table::PORT_ALIVE;
            let mut keys = vec![self.to.exact(name, "port", device)?];
            let fields = [STATUS, STATUS_HIGH].into_iter().take(count);
            for (field, bits) in fields.zip(words(bit(port))) {
                keys.extend(self.to.ternary(name, field, bits, bits)?);
            }
            self.to
                .add(name, keys, Some(1), NamedCall::bare(action::ALIVE));
        }
        for ways in numbers_of_ways(&self.to.entries) {
            for (hash, mask) in hashes(ways) {
                let mut keys = vec![self.to.exact(table::WAY, "ways", ways)?];
                let hash_key = self
                    .to
                    .ternary(table::WAY, "flow_hash", hash.into(), mask.into());
                keys.extend(hash_key?);
                let call = self.to.call(action::TAKE_WAY, &[(hash % ways).into()])?;
                self.to.add(table::WAY, keys, Some(1), call);
            }
        }
        Ok(())
    }
}

/// A port status as the registers have it, the low ports first.
fn words(status: u128) -> impl Iterator<Item = u128> {
    let shifts = (0..u128::BITS).step_by(STATUS_WORD_BITS.into());
    shifts.map(move |shift| status >> shift & u128::from(u32::MAX))
}

/// The numbers of routings that flows choose from.
fn numbers_of_ways(entries: &SwitchEntries) -> BTreeSet<u32> {
    let calls = entries
        .tables
        .iter()
        .filter_map(|entry| match &entry.action {
            EntryAction::Call(call) if call.action == action::ENCAPSULATE_FLOW => Some(call),
            _ => None,
        });
    let ways = calls.filter_map(|call| {
        let (_, ways) = call.params.iter().find(|(name, _)| name == "ways")?;
        u32::try_from(ways.to_u128()?).ok()
    });
    ways.filter(|ways| *ways > 0).collect()
}

/// The low bits of a hash that choose one of so many ways: all their values, with the mask.
fn hashes(ways: u32) -> impl Iterator<Item = (u32, u32)> {
    let enough = if ways.is_power_of_two() {
        ways
    } else {
        (ways * HASHES_PER_WAY).next_power_of_two()
    };
    let values = enough.min(1 << FLOW_HASH_BITS);
    (0..values).map(move |hash| (hash, values - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_split_into_words() {
        let of = |status| words(status).take(2).collect::<Vec<_>>();
        assert_eq!(of(1 << 5), [1 << 5, 0]);
        assert_eq!(of(1 << 40 | 1 << 2), [1 << 2, 1 << 8]);
    }

    #[test]
    fn every_hash_chooses_a_way_and_each_about_as_often() {
        for ways in [1, 2, 3, 4, 5, 7, 8, 12, 100] {
            let mut chosen = vec![0_u32; ways as usize];
            let mut seen = 0;
            for (hash, mask) in hashes(ways) {
                assert_eq!(hash & mask, hash);
                chosen[(hash % ways) as usize] += 1;
                seen += 1;
            }
            let (least, most) = (chosen.iter().min(), chosen.iter().max());
            let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
            assert!(
                most - least <= 1 && least * 17 >= most * 16,
                "{ways}: {least} to {most}"
            );
            assert!(u32::is_power_of_two(seen));
        }
    }
}

//! Entries of the `failover` programs: what a checked plan's failover tables say of one switch, in the tables
//! that [`plan::layout`](crate::layout) defines.
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
//!
//! `security` has none: the plan does not say what hosts may not send. The first rule of the plan has the highest
//! priority. A rule that asks for what packets of its program cannot carry never matches, and is left out.

use std::collections::BTreeMap;

use plan::CheckedPlan;
use plan::failover::{
    Action, Destination, Failover, Origin, PortMask, ReverseMatch, RuleRef, Target, Ternary, Write,
};
use quantities::PortId;
use topology::{HostId, NodeId, SwitchId, Topology};

use super::model::{EntryAction, Key, SwitchEntries};
use super::writer::{Writer, number};
use super::{EntriesError, Problem};
use crate::layout::{
    FailoverFeatures, HeaderState, Layout, NO_PORT, ProgramFeatures, action, table,
};

/// The version that builds stamp unless they are told another.
pub const DEFAULT_VERSION: u8 = 1;

/// The entries of one switch; packets that enter at it are stamped with `version`, and its forwarding entries
/// are for that version alone.
///
/// # Errors
/// [`EntriesError::Unfit`] when the plan says what the program cannot hold, such as a destination code of more
/// than 16 bits.
pub fn generate(
    plan: &CheckedPlan,
    layout: &Layout,
    switch: SwitchId,
    version: u8,
) -> Result<SwitchEntries, EntriesError> {
    let name = &plan.topology().switch(switch).name;
    let unfit = |problem| EntriesError::Unfit {
        at: name.clone(),
        problem,
    };
    let (Some(failover), ProgramFeatures::Failover(features)) =
        (plan.tables().failover.as_ref(), &layout.features)
    else {
        return Err(unfit(Problem::Failover(
            "the plan has no failover tables, or the program is of another family".to_owned(),
        )));
    };
    let mut build = Build {
        topology: plan.topology(),
        failover,
        features,
        switch,
        version,
        to: Writer::new(layout, name),
    };
    build.all().map_err(unfit)?;
    Ok(build.to.entries)
}

struct Build<'a> {
    topology: &'a Topology,
    failover: &'a Failover,
    features: &'a FailoverFeatures,
    switch: SwitchId,
    version: u8,
    to: Writer<'a>,
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
            let key = self.to.exact(table::ISLAND_IN, "port", port.get())?;
            let call = if faces_host {
                host_ports.push(port);
                self.to.call(action::FROM_HOST, &[self.version.into()])?
            } else {
                self.to.call(action::FROM_FABRIC, &[])?
            };
            self.to
                .push(table::ISLAND_IN, vec![key], None, EntryAction::Direct(call));
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
        for port in host_ports {
            let key = self.to.exact(table::ISLAND_OUT, "port", port.get())?;
            let call = self.to.call(action::DECAPSULATE, &[])?;
            self.to.push(
                table::ISLAND_OUT,
                vec![key],
                None,
                EntryAction::Direct(call),
            );
        }
        Ok(())
    }

    fn neighbors(&mut self) -> Result<(), Problem> {
        let mut known = BTreeMap::new();
        for host in self.topology.hosts() {
            known.entry(host.ipv4).or_insert(host.mac);
        }
        for (address, mac) in known {
            let key = self
                .to
                .exact(table::NEIGHBOR, "target_ip", u32::from(address))?;
            let call = self.to.call(action::ANSWER, &[number(mac)])?;
            self.to
                .push(table::NEIGHBOR, vec![key], None, EntryAction::Direct(call));
        }
        Ok(())
    }

    /// Where packets to every host go: to the host's own code, or to those of its switch.
    fn encapsulations(&mut self) -> Result<(), Problem> {
        let mut own: BTreeMap<HostId, u32> = BTreeMap::new();
        let mut switches: BTreeMap<SwitchId, BTreeMap<u16, u32>> = BTreeMap::new();
        for destination in &self.failover.destinations {
            match destination.target {
                Target::Host(host) => {
                    own.entry(host).or_insert(destination.code);
                }
                Target::Switch { switch, path } => {
                    switches
                        .entry(switch)
                        .or_default()
                        .insert(path, destination.code);
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
            let call = match ways {
                1 => self.to.call(action::ENCAPSULATE, &[first.into()])?,
                ways => self
                    .to
                    .call(action::ENCAPSULATE_FLOW, &[first.into(), ways.into()])?,
            };
            let mac = number(self.topology.host(host).mac);
            let keys = vec![
                self.to.exact(table::ENCAP, "version", self.version)?,
                self.to.exact(table::ENCAP, "dst_addr", mac)?,
            ];
            self.to
                .push(table::ENCAP, keys, None, EntryAction::Direct(call));
        }
        Ok(())
    }

    /// The first code of a switch's routings, and how many there are.
    fn consecutive(&self, paths: &BTreeMap<u16, u32>) -> Result<(u32, u16), Problem> {
        let first = paths.values().next().copied().unwrap_or_default();
        let follows = (first..).zip(0..).zip(paths);
        let mut expected = follows.map(|((code, path), (p, c))| code == *c && path == *p);
        let ways = u16::try_from(paths.len()).unwrap_or(u16::MAX);
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
                self.to.exact(name, "version", self.version)?,
                self.to.exact(name, "next_hop", port.get())?,
            ];
            let mut up = keys.clone();
            up.extend(self.status(name, PortMask::single(port), PortMask::EMPTY)?);
            let follow = self.to.call(action::FOLLOW, &[port.get().into()])?;
            self.to.push(name, up, Some(2), EntryAction::Direct(follow));
            let abandon = self.to.call(action::ABANDON, &[])?;
            self.to
                .push(name, keys, Some(1), EntryAction::Direct(abandon));
        }
        Ok(())
    }

    /// The port-status key: these ports up, those down.
    fn status(&self, name: &str, up: PortMask, down: PortMask) -> Result<Option<Key>, Problem> {
        let mask = up.bits() | down.bits();
        self.to.ternary(name, "port_status", up.bits(), mask)
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
            self.to.exact(name, "version", self.version)?,
            self.to.exact(name, "destination", destination.code)?,
        ];
        for (priority, &(port, host)) in (2..).zip(hosts) {
            let mac = number(self.topology.host(host).mac);
            let mut keys = own.clone();
            keys.extend(self.to.ternary(name, "dst_addr", mac, (1 << 48) - 1)?);
            keys.extend(self.status(name, PortMask::single(port), PortMask::EMPTY)?);
            let call = self.to.call(action::DELIVER, &[port.get().into()])?;
            self.to
                .push(name, keys, Some(priority), EntryAction::Direct(call));
        }
        let call = self.to.call(action::NO_HOST, &[])?;
        self.to.push(name, own, Some(1), EntryAction::Direct(call));
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
            let call = EntryAction::Direct(call);
            self.to.push(table::RES_FORWARD, keys, Some(priority), call);
        }
        Ok(())
    }

    fn rule_keys(&self, rule: &RuleRef<'_>) -> Result<Asked, Problem> {
        let name = table::RES_FORWARD;
        let mut keys = vec![self.to.exact(name, "version", self.version)?];
        keys.extend(self.part("destination", 16, rule.destination)?);
        let came_from = match rule.origin {
            Origin::Any => Ternary::ANY,
            Origin::Host => Ternary::exact(NO_PORT.into()),
            Origin::Port(port) => Ternary::exact(port.get().into()),
        };
        keys.extend(self.part("came_from", 9, came_from)?);
        keys.extend(self.status(name, rule.ports.up, rule.ports.down)?);
        let state = self.features.state;
        if state == HeaderState::ReverseRoute {
            if !rule.tag.matches(0) {
                return Ok(Asked::Never);
            }
            let Some(hops) = self.reverse_keys(rule.reverse)? else {
                return Ok(Asked::Never);
            };
            keys.extend(hops);
        } else {
            if !rule.reverse.matches(&[]) {
                return Ok(Asked::Never);
            }
            keys.extend(self.part("tag", 24, rule.tag)?);
        }
        match (rule.tree, state) {
            (None, _) => {}
            (Some(tree), HeaderState::Trees) => {
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
        let stack = usize::from(self.features.stack);
        for (at, hop) in asked.hops.iter().enumerate() {
            match FailoverFeatures::reverse_name(at).filter(|_| at < stack) {
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

    fn rule_action(&self, action: &Action) -> Result<super::ActionCall, Problem> {
        let Action::Forward { route, write } = action else {
            return self.to.call(action::NO_WAY, &[]);
        };
        let Some((&port, rest)) = route.split_first() else {
            return self.to.call(action::NO_WAY, &[]);
        };
        let most = usize::from(self.features.most_rest());
        let name = FailoverFeatures::send_name(rest.len()).filter(|_| rest.len() <= most);
        let name = name.ok_or_else(|| {
            Problem::Failover(format!(
                "its route leaves {} hops to the switches after, but the header holds {most}",
                rest.len()
            ))
        })?;
        let mut values: Vec<u128> = vec![port.into()];
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
        if state != HeaderState::ReverseRoute {
            values.push((!tag.mask & width).into());
            values.push((tag.value & tag.mask).into());
        }
        if state == HeaderState::Trees {
            values.push(if tree.is_some() { 0 } else { 0xff });
            values.push(tree.unwrap_or(0).into());
        }
        Ok(values)
    }
}

//! What the switches' tables hold, and how that changes: the build directory's entries, routes over
//! what is up, routes by hand, and the tag rules switched off.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use entries::{Bits, Bytestring as _};
use p4gen::capabilities::Capabilities;
use p4gen::entries::{
    EntriesError, EntryAction, FieldMatch, Key, NamedCall, SwitchEntries, TableEntry,
};
use p4gen::family::{self, EntrySource, ProgramFeatures};
use p4gen::layout::{CHANNEL_KEY, Layout, MatchKind, VERSION_KEY, action, table};
use plan::{CheckedPlan, NewTag};
use quantities::{PortId, Priority};
use topology::routes::RouteError;
use topology::routes::forwarding::{Forwarding, Reroute};
use topology::{HostId, LinkId, NodeId, SwitchId};

use crate::embedded::Network;
use spec::{RouteSpec, ScenarioError};

/// Addresses of flows with routes of their own (RFC 2544: for benchmarks).
const OWN_ROUTES: u32 = u32::from_be_bytes([198, 18, 0, 1]);
/// How many there are.
const MAX_OWN_ROUTES: u32 = 1 << 17;

/// Where a switch sends an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByHand {
    port: PortId,
    mac: [u8; 6],
}

/// See the module documentation.
pub(crate) struct Routing {
    plan: Arc<CheckedPlan>,
    features: ProgramFeatures,
    target: &'static Capabilities,
    layout: Layout,
    tags: bool,
    /// The version of the tag rules, where entries have one.
    version: Option<Key>,
    /// What routing says, by switch.
    routed: Vec<SwitchEntries>,
    /// Routes of flows, which stay.
    paths: BTreeMap<(SwitchId, Ipv4Addr), ByHand>,
    /// Routes of events, which may be taken back.
    by_hand: BTreeMap<(SwitchId, Ipv4Addr), ByHand>,
    own: u32,
    /// The addresses of flows with routes of their own, and who receives them.
    named: BTreeMap<String, Ipv4Addr>,
}

impl Routing {
    /// The entries as the build directory has them.
    pub(crate) fn new(network: &Network, routed: Vec<SwitchEntries>, tags: bool) -> Self {
        let (features, target) = network.made_for();
        Self {
            layout: features.layout(target.architecture),
            features,
            target,
            plan: Arc::clone(network.shared_plan()),
            tags,
            version: version(&routed),
            routed,
            paths: BTreeMap::new(),
            by_hand: BTreeMap::new(),
            own: 0,
            named: BTreeMap::new(),
        }
    }

    /// Refuses what changes routes, where there are none but failover tables.
    pub(crate) fn by_routes(&self, place: &str) -> Result<(), ScenarioError> {
        if self.features.routes() {
            return Ok(());
        }
        let problem = "failover tables have no routes that could change; leave it out";
        Err(ScenarioError::wrong(place, problem))
    }

    /// Routing reacts to the links that are down.
    pub(crate) fn reroute(
        &mut self,
        failed: &BTreeSet<LinkId>,
        reroute: Reroute,
    ) -> Result<(), RerouteError> {
        let failed: Vec<LinkId> = failed.iter().copied().collect();
        let topology = self.plan.topology().with_failed_links(&failed);
        let forwarding = Forwarding::new(&topology, &self.plan.tables().forwarding, reroute)?;
        let source = EntrySource::new(&self.plan, self.target, &self.layout, Some(&forwarding));
        for switch in topology.switch_ids() {
            self.routed[switch.index()] = self.features.entries(&source, switch)?;
        }
        Ok(())
    }

    /// One switch sends what is for a host, or a flow with routes of its own, to a neighbour.
    pub(crate) fn route(&mut self, place: &str, spec: &RouteSpec) -> Result<(), ScenarioError> {
        self.by_routes(place)?;
        let topology = self.plan.topology();
        let wrong = |error| ScenarioError::wrong(place, error);
        let switch = topology.switch_named(&spec.switch).map_err(wrong)?;
        let address = match self.named.get(&spec.to) {
            Some(&address) => address,
            None => {
                topology
                    .host(topology.host_named(&spec.to).map_err(wrong)?)
                    .ipv4
            }
        };
        let Some(via) = topology.node(&spec.via) else {
            return Err(ScenarioError::wrong(
                place,
                format!("there is no node `{}`", spec.via),
            ));
        };
        let hop = self.hop(place, switch, None, via)?;
        self.by_hand.insert((switch, address), hop);
        Ok(())
    }

    /// The routes of events are taken back.
    pub(crate) fn mend(&mut self) {
        self.by_hand.clear();
    }

    /// Gives a flow routes of its own over these switches; the address to send to.
    pub(crate) fn path(
        &mut self,
        place: &str,
        name: &str,
        path: &[(SwitchId, Option<PortId>)],
        to: HostId,
    ) -> Result<Ipv4Addr, ScenarioError> {
        self.by_routes(place)?;
        if self.own == MAX_OWN_ROUTES {
            return Err(ScenarioError::wrong(
                place,
                "more flows with paths than there are addresses for",
            ));
        }
        let address = Ipv4Addr::from(OWN_ROUTES + self.own);
        self.own += 1;
        self.named.insert(name.to_owned(), address);
        let mut seen = BTreeSet::new();
        for (number, &(switch, port)) in path.iter().enumerate() {
            if !seen.insert(switch) {
                let name = &self.plan.topology().switch(switch).name;
                let problem = format!(
                    "its path passes `{name}` twice, which routes by destination cannot say"
                );
                return Err(ScenarioError::wrong(place, problem));
            }
            let next = path
                .get(number + 1)
                .map_or(NodeId::Host(to), |&(s, _)| NodeId::Switch(s));
            let hop = self.hop(place, switch, port, next)?;
            self.paths.insert((switch, address), hop);
        }
        Ok(address)
    }

    /// The way to a neighbour, by a port of choice or the first that leads there.
    fn hop(
        &self,
        place: &str,
        switch: SwitchId,
        by: Option<PortId>,
        to: NodeId,
    ) -> Result<ByHand, ScenarioError> {
        let topology = self.plan.topology();
        let mut peers = topology.peers(switch);
        let found =
            peers.find(|(port, peer)| peer.end.node == to && by.is_none_or(|by| by == *port));
        let Some((port, peer)) = found else {
            let problem = format!(
                "`{}` has no link to `{}`{}",
                topology.switch(switch).name,
                topology.node_name(to),
                by.map_or_else(String::new, |port| format!(" at port {port}"))
            );
            return Err(ScenarioError::wrong(place, problem));
        };
        let mac = match to {
            NodeId::Switch(next) => topology.port_mac(next, peer.end.port),
            NodeId::Host(host) => topology.host(host).mac,
        };
        Ok(ByHand { port, mac })
    }

    /// All entries of a switch as they are to be now.
    pub(crate) fn entries(&self, switch: SwitchId) -> Result<SwitchEntries, RerouteError> {
        let mut entries = self.routed[switch.index()].clone();
        if !self.tags {
            self.without_tags(&mut entries, switch)?;
        }
        for (&(_, address), hop) in self
            .paths
            .iter()
            .chain(&self.by_hand)
            .filter(|((at, _), _)| *at == switch)
        {
            self.add_route(&mut entries, switch, address, *hop)?;
        }
        Ok(entries)
    }

    fn add_route(
        &self,
        entries: &mut SwitchEntries,
        switch: SwitchId,
        address: Ipv4Addr,
        hop: ByHand,
    ) -> Result<(), RerouteError> {
        let value = bits(u32::from(address).into(), 32)?;
        let keys: Vec<Key> = FieldMatch::lpm(&value, 32)
            .map(|value| Key {
                field: "dst_addr".into(),
                value,
            })
            .into_iter()
            .collect();
        let source = self.plan.topology().port_mac(switch, hop.port);
        let values = [hop.port.get().into(), mac(source), mac(hop.mac)];
        entries
            .tables
            .retain(|e| e.table != table::IPV4_ROUTE || e.keys != keys);
        entries.tables.push(TableEntry {
            table: table::IPV4_ROUTE.into(),
            keys,
            priority: None,
            action: EntryAction::Call(self.call(action::NEXT_HOP, &values)?),
            is_default: false,
        });
        Ok(())
    }

    /// Replaces the tag rules: every class keeps the tag and the priority that it begins with.
    fn without_tags(
        &self,
        entries: &mut SwitchEntries,
        switch: SwitchId,
    ) -> Result<(), RerouteError> {
        entries
            .tables
            .retain(|e| e.table != table::CLASSIFY && e.table != table::REWRITE);
        if self.target.maps.is_some() {
            return self.plain_maps(entries, switch);
        }
        let tagging = self.plan.tagging();
        let initial: BTreeSet<_> = tagging.classes.iter().map(|class| class.initial).collect();
        let ports: Vec<PortId> = self
            .plan
            .topology()
            .peers(switch)
            .map(|(port, _)| port)
            .collect();
        for tag in initial {
            let priority = u128::from(tagging.priority(NewTag::Lossless(tag)).get());
            let Some(code) = self.plan.carrier().codes.get(&tag) else {
                continue;
            };
            let code = u128::from(code.get());
            for (name, call) in [
                (
                    table::CLASSIFY,
                    self.call(action::SET_PRIORITIES, &[priority, priority])?,
                ),
                (table::REWRITE, self.call(action::SET_TAG, &[code])?),
            ] {
                let spec = self.layout.table(name).ok_or(RerouteError::Layout(name))?;
                let width = |field| spec.field(field).map_or(0, |f| u32::from(f.bits));
                let exact = |field: &'static str, value: u128| {
                    Ok::<_, RerouteError>(Key {
                        field: field.into(),
                        value: FieldMatch::Exact(bits(value, width(field))?),
                    })
                };
                let tag_key = exact("tag", code)?;
                // Whatever channel a packet was just given, if channels are given.
                let channels = match spec.field(CHANNEL_KEY) {
                    None => vec![None],
                    Some(_) => self
                        .channels()
                        .map(|channel| exact(CHANNEL_KEY, channel).map(Some))
                        .collect::<Result<_, _>>()?,
                };
                let mut push = |keys: Vec<Key>| {
                    for channel in &channels {
                        let more = self.version.iter().chain(channel).cloned();
                        entries.tables.push(TableEntry {
                            table: name.into(),
                            keys: keys.iter().cloned().chain(more).collect(),
                            priority: spec.has_priority().then_some(1),
                            action: EntryAction::Call(call.clone()),
                            is_default: false,
                        });
                    }
                };
                let in_kind = spec.field("in_port").map(|f| f.kind);
                if in_kind == Some(MatchKind::Ternary) {
                    push(vec![tag_key]);
                    continue;
                }
                for &from in &ports {
                    for &to in &ports {
                        let from = exact("in_port", from.get().into())?;
                        let to = exact("out_port", to.get().into())?;
                        push(vec![tag_key.clone(), from, to]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Replaces the maps by those of a switch that knows no tags: every class has one traffic
    /// class, priority group and queue, and keeps its DSCP.
    fn plain_maps(
        &self,
        entries: &mut SwitchEntries,
        switch: SwitchId,
    ) -> Result<(), RerouteError> {
        let maps = [
            table::DSCP_TO_TC,
            table::ACL_TC,
            table::TC_TO_PRIORITY_GROUP,
            table::TC_TO_QUEUE,
            table::TC_TO_DSCP,
        ];
        let is_map = |entry: &TableEntry| maps.iter().any(|map| entry.table == *map);
        entries.tables.retain(|entry| !is_map(entry));
        let config = sonic::without_tags(&self.plan, switch);
        let source = EntrySource::new(&self.plan, self.target, &self.layout, None);
        let made = family::tagger::of_maps(&source, switch, &config)?;
        entries.tables.extend(made.tables);
        Ok(())
    }

    /// Codes of channels, and that of none.
    fn channels(&self) -> impl Iterator<Item = u128> + '_ {
        let codes = self.plan.carrier().codes.values();
        std::iter::once(0).chain(codes.map(|code| code.get().into()))
    }

    fn call(&self, name: &'static str, values: &[u128]) -> Result<NamedCall, RerouteError> {
        let action = self.layout.action(name).ok_or(RerouteError::Layout(name))?;
        let mut params = Vec::with_capacity(values.len());
        for (param, &value) in action.params.iter().zip(values) {
            params.push((param.name.into(), bits(value, param.bits.into())?));
        }
        Ok(NamedCall {
            action: name.into(),
            params,
        })
    }

    /// The priority that a class is sent with.
    pub(crate) fn priority(&self, class: u8) -> Option<Priority> {
        let tagging = self.plan.tagging();
        let class = tagging.classes.get(usize::from(class))?;
        Some(tagging.priority(NewTag::Lossless(class.initial)))
    }
}

/// The version of what hosts send, which is that of all rules.
fn version(entries: &[SwitchEntries]) -> Option<Key> {
    let mut all = entries.iter().flat_map(|switch| &switch.tables);
    let class = all.find(|entry| entry.table == table::EDGE_CLASS)?;
    let mut keys = class.keys.iter();
    keys.find(|key| key.field == VERSION_KEY).cloned()
}

fn bits(value: u128, width: u32) -> Result<Bits, RerouteError> {
    Bits::from_uint(value, width).map_err(|e| RerouteError::Value(e.to_string()))
}

fn mac(bytes: [u8; 6]) -> u128 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Why tables cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum RerouteError {
    /// No routes over what is left.
    #[error("routing: {0}")]
    Routes(#[from] RouteError),
    /// They do not fit the program.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// A value is too wide for its field.
    #[error("a value does not fit its field: {0}")]
    Value(String),
    /// The program lacks something.
    #[error("the program has no `{0}`")]
    Layout(&'static str),
}

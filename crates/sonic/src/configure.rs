//! The configuration of a switch of a plan: maps, PFC, buffers.

use std::collections::BTreeSet;

use plan::{CheckedPlan, NewTag, headroom};
use quantities::{Bytes, PortId};
use topology::{NodeId, SwitchId};

use crate::assign::{self, Shortage, SwitchMaps, assign};
use crate::interfaces::{LANES, first_lane, interface};
use crate::platform::{HIGHEST_DSCP, HIGHEST_PG, Platform};
use crate::tables::{
    AclRule, ConfigDb, MapKind, NeighborRow, NumberMap, PoolRow, PoolSide, PortQosRow, PortRow,
    ProfileRow, WatchdogRow,
};
use crate::write::{Names, acl_key};

/// The name of maps that know no tags.
const PLAIN: &str = "PLAIN";
pub(crate) const LOSSLESS_POOL: &str = "ingress_lossless_pool";
pub(crate) const EGRESS_LOSSLESS_POOL: &str = "egress_lossless_pool";
const EGRESS_LOSSY_POOL: &str = "egress_lossy_pool";
const LOSSY_PROFILE: &str = "ingress_lossy_profile";
pub(crate) const EGRESS_LOSSLESS_PROFILE: &str = "egress_lossless_profile";
const EGRESS_LOSSY_PROFILE: &str = "egress_lossy_profile";

/// A lossless priority group is paused when it has used half of what is free (alpha 1/2, as
/// `simulate` has it) ...
pub(crate) const LOSSLESS_THRESHOLD: i32 = -1;
/// ... and a lossy one may use eight times what is free.
const LOSSY_THRESHOLD: i32 = 3;
/// The priority of the first ACL rule; no two rules match the same packet.
const ACL_PRIORITY: u32 = 9000;
const BITS_PER_MEGABIT: u64 = 1_000_000;

/// What becomes of the PFC watchdog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watchdog {
    /// The configuration does not ask for it: no cycle of buffers is possible.
    #[default]
    Off,
    /// It stays as a net, with SONiC's times, for what the proof does not cover: a host that pauses
    /// for ever.
    Net,
}

/// How long the watchdog waits, in milliseconds (SonicWatchdog).
pub const WATCHDOG_MS: u32 = 200;

/// What can be chosen about a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The platform.
    pub platform: &'static Platform,
    /// The watchdog.
    pub watchdog: Watchdog,
}

impl Options {
    /// A platform, and no watchdog.
    #[must_use]
    pub const fn on(platform: &'static Platform) -> Self {
        Self {
            platform,
            watchdog: Watchdog::Off,
        }
    }
}

/// The configuration of one switch of a plan whose tags are DSCPs.
///
/// # Errors
/// What the platform lacks.
pub fn configure(
    plan: &CheckedPlan,
    switch: SwitchId,
    options: &Options,
) -> Result<ConfigDb, Shortage> {
    let maps = assign(plan, switch, options.platform)?;
    let mut build = Build {
        plan,
        switch,
        priorities: plan
            .tagging()
            .priorities
            .values()
            .map(|p| p.get())
            .collect(),
        config: ConfigDb {
            hostname: Some(plan.topology().switch(switch).name.clone()),
            ..ConfigDb::default()
        },
    };
    build.ports();
    build.maps(&maps);
    build.buffers()?;
    if options.watchdog == Watchdog::Net {
        build.watchdog();
    }
    Ok(build.config)
}

/// The maps of a switch that knows no tags: every lossless class of a plan has the traffic class,
/// the priority group and the queue of its first tag and keeps its DSCP, as SONiC's default maps do
/// with DSCPs 3 and 4.
#[must_use]
pub fn without_tags(plan: &CheckedPlan, switch: SwitchId) -> ConfigDb {
    let topology = plan.topology();
    let mut config = ConfigDb::default();
    let mut dscp_to_tc: NumberMap = (0..=HIGHEST_DSCP).map(|dscp| (dscp, 0)).collect();
    let mut same: NumberMap = [(0, 0)].into();
    let tagging = plan.tagging();
    for (dscp, _, tag) in assign::codes(plan) {
        if tagging.classes.iter().any(|class| class.initial == tag) {
            let priority = tagging.priority(NewTag::Lossless(tag)).get();
            dscp_to_tc.insert(dscp, priority);
            same.insert(priority, priority);
        }
    }
    let pfc_enable: BTreeSet<u8> = same.keys().copied().filter(|p| *p > 0).collect();
    let bound = [
        (MapKind::DscpToTc, dscp_to_tc),
        (MapKind::TcToPriorityGroup, same.clone()),
        (MapKind::TcToQueue, same),
    ];
    for (kind, map) in bound {
        config.maps.insert(kind, [(PLAIN.to_owned(), map)].into());
    }
    for (port, _) in topology.peers(switch) {
        let name = interface(topology, switch, port);
        let kinds = [
            MapKind::DscpToTc,
            MapKind::TcToPriorityGroup,
            MapKind::TcToQueue,
        ];
        let row = PortQosRow {
            maps: kinds.map(|kind| (kind, PLAIN.to_owned())).into(),
            pfc_enable: pfc_enable.clone(),
            watchdog: BTreeSet::new(),
        };
        config.ports.insert(name.clone(), PortRow::default());
        config.port_qos.insert(name, row);
    }
    config
}

/// The rows of ACL rules.
pub(crate) fn acl_rules(
    plan: &CheckedPlan,
    switch: SwitchId,
    rules: &[assign::Rule],
) -> Vec<AclRule> {
    let name = |port: &PortId| interface(plan.topology(), switch, *port);
    let names = |ports: &BTreeSet<PortId>| ports.iter().map(name).collect();
    let made = (1..).zip(rules).map(|(number, rule)| AclRule {
        name: acl_key(number),
        priority: ACL_PRIORITY,
        in_ports: names(&rule.in_ports),
        out_ports: names(&rule.out_ports),
        dscp: rule.dscp,
        tc: rule.tc,
    });
    let mut rows: Vec<AclRule> = made.collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

struct Build<'a> {
    plan: &'a CheckedPlan,
    switch: SwitchId,
    /// The lossless priorities.
    priorities: BTreeSet<u8>,
    config: ConfigDb,
}

impl Build<'_> {
    fn name(&self, port: PortId) -> String {
        interface(self.plan.topology(), self.switch, port)
    }

    fn ports(&mut self) {
        let topology = self.plan.topology();
        for (port, peer) in topology.peers(self.switch) {
            let name = self.name(port);
            let link = topology.link(peer.link);
            let lane = first_lane(topology, self.switch, port) + 1;
            let lanes: Vec<String> = (lane..lane + LANES).map(|lane| lane.to_string()).collect();
            let row = PortRow {
                speed: Some(link.rate.get() / BITS_PER_MEGABIT),
                lanes: Some(lanes.join(",")),
                alias: Some(format!("port{port}")),
            };
            self.config.ports.insert(name.clone(), row);
            let far = match peer.end.node {
                NodeId::Switch(far) => interface(topology, far, peer.end.port),
                NodeId::Host(_) => match topology.interface_at(peer.end) {
                    Some(name) => name.to_owned(),
                    None => format!("eth{}", peer.end.port),
                },
            };
            let neighbor = NeighborRow {
                name: topology.node_name(peer.end.node).to_owned(),
                port: Some(far),
            };
            self.config.neighbors.insert(name.clone(), neighbor);
            self.config.cable_length.insert(name, link.length.get());
        }
    }

    fn maps(&mut self, maps: &SwitchMaps) {
        let as_map = |values: &[u8]| -> NumberMap { (0u8..).zip(values.iter().copied()).collect() };
        let mut dscp_to_tc = Names::new("SWITCHWRIGHT_IN");
        let mut tc_to_group = Names::new("SWITCHWRIGHT");
        let mut tc_to_queue = Names::new("SWITCHWRIGHT_OUT");
        let mut tc_to_dscp = Names::new("SWITCHWRIGHT_OUT");
        let mut pfc_to_queue = Names::new("SWITCHWRIGHT");
        let groups = tc_to_group.name(as_map(&maps.tc_to_group));
        // A priority is called alike on both ends of a cable, and its queue has its number.
        let pauses = pfc_to_queue.name((0..=HIGHEST_PG).map(|p| (p, p)).collect());
        for (port, _) in self.plan.topology().peers(self.switch) {
            let mut row = PortQosRow {
                pfc_enable: self.priorities.clone(),
                ..PortQosRow::default()
            };
            let mut bind = |kind, name| row.maps.insert(kind, name);
            bind(
                MapKind::DscpToTc,
                dscp_to_tc.name(as_map(&maps.dscp_to_tc[&port])),
            );
            bind(MapKind::TcToPriorityGroup, groups.clone());
            bind(
                MapKind::TcToQueue,
                tc_to_queue.name(as_map(&maps.tc_to_queue[&port])),
            );
            bind(
                MapKind::TcToDscp,
                tc_to_dscp.name(as_map(&maps.tc_to_dscp[&port])),
            );
            bind(MapKind::PfcToQueue, pauses.clone());
            self.config.port_qos.insert(self.name(port), row);
        }
        let made = [
            (MapKind::DscpToTc, dscp_to_tc),
            (MapKind::TcToPriorityGroup, tc_to_group),
            (MapKind::TcToQueue, tc_to_queue),
            (MapKind::TcToDscp, tc_to_dscp),
            (MapKind::PfcToQueue, pfc_to_queue),
        ];
        let made = made.into_iter().map(|(kind, names)| (kind, names.maps()));
        self.config.maps = made.collect();
        self.config
            .maps
            .insert(MapKind::PfcToPriorityGroup, Default::default());
        self.config.acl = acl_rules(self.plan, self.switch, &maps.rules);
    }

    /// Headroom for every port and lossless priority (TaggerDraft section 3.3); the rest is shared.
    fn buffers(&mut self) -> Result<(), Shortage> {
        let topology = self.plan.topology();
        let budget = &self.plan.tables().budget;
        let own = topology.switch(self.switch).buffer;
        let buffer = own.unwrap_or(budget.buffer).get();
        let xon = budget.mtu.get();
        let mut reserved = 0u64;
        for (port, peer) in topology.peers(self.switch) {
            let name = self.name(port);
            let link = topology.link(peer.link);
            let xoff = headroom(link.rate, link.length, budget.mtu).get();
            let speed = link.rate.get() / BITS_PER_MEGABIT;
            let profile = format!("pg_lossless_{speed}_{}m_profile", link.length);
            for &priority in &self.priorities {
                let key = (name.clone(), priority);
                self.config
                    .priority_groups
                    .insert(key, Some(profile.clone()));
                reserved = reserved.saturating_add(xon + xoff);
                let queue = (name.clone(), priority);
                self.config
                    .queues
                    .insert(queue, EGRESS_LOSSLESS_PROFILE.to_owned());
            }
            let lossy = (name.clone(), 0);
            self.config
                .priority_groups
                .insert(lossy.clone(), Some(LOSSY_PROFILE.to_owned()));
            self.config
                .queues
                .insert(lossy, EGRESS_LOSSY_PROFILE.to_owned());
            let row = ProfileRow {
                pool: LOSSLESS_POOL.to_owned(),
                size: xon + xoff,
                xon: Some(xon),
                xon_offset: Some(2 * xon),
                xoff: Some(xoff),
                dynamic_th: Some(LOSSLESS_THRESHOLD),
                static_th: None,
            };
            self.config.profiles.insert(profile, row);
        }
        let shared = buffer.checked_sub(reserved).filter(|shared| *shared > 0);
        let shared = shared.ok_or(Shortage {
            resource: "bytes of buffer for headroom",
            need: reserved.saturating_add(1),
            limit: buffer,
            mend: "plan with fewer bounces or classes, or say how large the buffer is (`--buffer`)",
        })?;
        self.pools(Bytes::new(buffer), Bytes::new(shared));
        Ok(())
    }

    fn pools(&mut self, buffer: Bytes, shared: Bytes) {
        let pool = |side, dynamic, size: Bytes| PoolRow {
            side,
            dynamic,
            size: Some(size.get()),
            xoff: 0,
        };
        let pools = [
            (LOSSLESS_POOL, pool(PoolSide::Ingress, true, shared)),
            // Egress never drops what ingress accounts: its limit is the whole buffer.
            (EGRESS_LOSSLESS_POOL, pool(PoolSide::Egress, false, buffer)),
            (EGRESS_LOSSY_POOL, pool(PoolSide::Egress, true, shared)),
        ];
        let pools = pools.into_iter().map(|(name, row)| (name.to_owned(), row));
        self.config.pools = pools.collect();
        let lossy = |pool: &str| ProfileRow {
            pool: pool.to_owned(),
            dynamic_th: Some(LOSSY_THRESHOLD),
            ..ProfileRow::default()
        };
        let lossless = ProfileRow {
            pool: EGRESS_LOSSLESS_POOL.to_owned(),
            static_th: Some(buffer.get()),
            ..ProfileRow::default()
        };
        for (name, row) in [
            (LOSSY_PROFILE, lossy(LOSSLESS_POOL)),
            (EGRESS_LOSSY_PROFILE, lossy(EGRESS_LOSSY_POOL)),
            (EGRESS_LOSSLESS_PROFILE, lossless),
        ] {
            self.config.profiles.insert(name.to_owned(), row);
        }
    }

    fn watchdog(&mut self) {
        self.config.watchdog_poll_ms = Some(WATCHDOG_MS);
        for (port, row) in &mut self.config.port_qos {
            row.watchdog.clone_from(&self.priorities);
            let watchdog = WatchdogRow {
                action: "drop".to_owned(),
                detection_ms: Some(WATCHDOG_MS),
                restoration_ms: Some(WATCHDOG_MS),
            };
            self.config.watchdog.insert(port.clone(), watchdog);
        }
    }
}

//! 500 configurations, each with a fault planted: the audit finds it. What is changed and no fault
//! raises no alarm.

use std::collections::BTreeSet;

use plan::CheckedPlan;
use quantities::PortId;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sonic::audit::{AuditReport, FindingKind};
use sonic::tables::{MapKind, NumberMap, PoolSide, PortRow};
use sonic::{ConfigDb, interface};
use topology::{NodeId, SwitchId};

use super::audited::{configs, up_down};
use super::written::{bounces, clos};

const MUTATIONS: u64 = 500;
/// The kinds of fault that are planted.
const KINDS: u64 = 17;

/// Changes a copy of a map of one port, which gets it for its own.
fn remap(config: &mut ConfigDb, port: &str, kind: MapKind, change: impl FnOnce(&mut NumberMap)) {
    let mut map = config.map_of(kind, port).unwrap().clone();
    change(&mut map);
    let name = "CHANGED".to_owned();
    config
        .maps
        .get_mut(&kind)
        .unwrap()
        .insert(name.clone(), map);
    let row = config.port_qos.get_mut(port).unwrap();
    row.maps.insert(kind, name);
}

/// The fabric and what may be planted in it.
struct Planter<'a> {
    plan: &'a CheckedPlan,
    configs: Vec<ConfigDb>,
    chance: ChaCha8Rng,
}

/// What was planted: the kind that has to be found, and one of the places that have to be named.
struct Planted {
    kind: FindingKind,
    places: Vec<String>,
}

impl Planter<'_> {
    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.chance.random_range(0..of.len())].clone()
    }

    /// A port that leads to a switch: the switch, the interface, and both ends as the audit names
    /// them.
    fn cable(&mut self) -> (usize, String, Vec<String>) {
        let topology = self.plan.topology();
        let mut all = Vec::new();
        for switch in topology.switch_ids() {
            for (port, peer) in topology.peers(switch) {
                if let NodeId::Switch(far) = peer.end.node {
                    all.push((switch, port, far, peer.end.port));
                }
            }
        }
        let (switch, port, far, far_port) = self.pick(&all);
        let name = |switch: SwitchId, port: PortId| {
            let interface = interface(topology, switch, port);
            format!("{}:{interface}", topology.switch(switch).name)
        };
        (
            switch.index(),
            interface(topology, switch, port),
            vec![name(switch, port), name(far, far_port)],
        )
    }

    /// A lossless DSCP that arrives at a port from a host or a switch, in a network of one class:
    /// the first tag does.
    fn first_dscp(&self) -> u8 {
        let initial = self.plan.tagging().classes[0].initial;
        u8::try_from(self.plan.carrier().codes[&initial].get()).unwrap()
    }

    fn plant(&mut self, number: u64) -> Planted {
        let (at, port, places) = self.cable();
        let priority = 3;
        let dscp = self.first_dscp();
        let kind = match number % KINDS {
            0 => {
                let row = self.configs[at].port_qos.get_mut(&port).unwrap();
                row.pfc_enable.clear();
                FindingKind::PfcOneEnd
            }
            1 => {
                let lost = self.pick(&[3, 4]);
                let row = self.configs[at].port_qos.get_mut(&port).unwrap();
                assert!(row.pfc_enable.remove(&lost));
                FindingKind::PfcPriorities
            }
            2 => {
                let key = (port, priority);
                let config = &mut self.configs[at];
                assert!(config.priority_groups.remove(&key).is_some());
                // SONiC computes a profile for groups without a row, where it knows the cable.
                match self.chance.random_bool(0.5) {
                    true => assert!(config.cable_length.remove(&key.0).is_some()),
                    false => config.dynamic_buffers = true,
                }
                FindingKind::Headroom
            }
            3 => {
                let config = &mut self.configs[at];
                let key = (port, priority);
                let profile = config.priority_groups[&key].clone().unwrap();
                let mut small = config.profiles[&profile].clone();
                small.xoff = small.xoff.map(|xoff| xoff - 1);
                config.profiles.insert("small".to_owned(), small);
                config.priority_groups.insert(key, Some("small".to_owned()));
                FindingKind::Headroom
            }
            4 => {
                remap(&mut self.configs[at], &port, MapKind::DscpToTc, |map| {
                    map.insert(dscp, 0);
                });
                FindingKind::ClassChanges
            }
            5 => {
                remap(&mut self.configs[at], &port, MapKind::PfcToQueue, |map| {
                    map.insert(3, 4);
                    map.insert(4, 3);
                });
                FindingKind::PauseMisses
            }
            6 => {
                self.configs[at].port_qos.remove(&port);
                FindingKind::NoMaps
            }
            7 => {
                // Every lossless class waits in the lossy queue, and leaves with a lossless DSCP.
                remap(&mut self.configs[at], &port, MapKind::TcToQueue, |map| {
                    map.values_mut().for_each(|queue| *queue = 0);
                });
                FindingKind::ClassChanges
            }
            8 => {
                let key = (port, priority);
                let lossy = "ingress_lossy_profile".to_owned();
                self.configs[at].priority_groups.insert(key, Some(lossy));
                FindingKind::Headroom
            }
            14 => {
                // Lossy packets that leave by this port only wait elsewhere than at all others.
                remap(&mut self.configs[at], &port, MapKind::TcToQueue, |map| {
                    map.insert(0, 7);
                });
                FindingKind::QueueChanges
            }
            9..=13 => return self.plant_in_buffers(number % KINDS, at, port, places),
            _ => return self.plant_cycle(),
        };
        Planted { kind, places }
    }

    /// Faults of queues and pools.
    fn plant_in_buffers(
        &mut self,
        which: u64,
        at: usize,
        port: String,
        places: Vec<String>,
    ) -> Planted {
        let priority = self.pick(&[3, 4]);
        let key = (port, priority);
        let config = &mut self.configs[at];
        let kind = match which {
            9 => {
                assert!(config.queues.remove(&key).is_some());
                FindingKind::QueueBuffer
            }
            10 => {
                config.queues.insert(key, "egress_lossy_profile".to_owned());
                FindingKind::QueueBuffer
            }
            11 => {
                // The profile of one queue, or of one priority group, moves to a pool of the other
                // side.
                let (profile, pool) = match self.chance.random_bool(0.5) {
                    true => (config.queues[&key].clone(), "ingress_lossless_pool"),
                    false => {
                        let profile = config.priority_groups[&key].clone();
                        (profile.unwrap(), "egress_lossless_pool")
                    }
                };
                config.profiles.get_mut(&profile).unwrap().pool = pool.to_owned();
                FindingKind::BufferPool
            }
            12 => {
                // Half of what the priority groups set aside.
                let aside = config.priority_groups.keys();
                let aside = aside.filter_map(|(port, group)| config.lossless_profile(port, *group));
                let aside: u64 = aside.map(|profile| profile.size).sum();
                for pool in config.pools.values_mut() {
                    pool.size = Some(aside / 2);
                }
                FindingKind::BufferPool
            }
            _ => {
                // Shared headroom that is smaller than that of one priority group.
                let profile = config.priority_groups[&key].clone().unwrap();
                let profile = config.profiles.get_mut(&profile).unwrap();
                profile.size = profile.xon.unwrap();
                let pool = config.pools.get_mut(&profile.pool).unwrap();
                pool.xoff = profile.xoff.unwrap() - 1;
                FindingKind::Headroom
            }
        };
        let switch = SwitchId::new(u32::try_from(at).unwrap());
        let places = match kind {
            FindingKind::BufferPool => vec![self.plan.topology().switch(switch).name.clone()],
            _ => places,
        };
        Planted { kind, places }
    }

    /// Two leaves do not raise the tag of what bounces at them: both go on as what comes from hosts
    /// does.
    fn plant_cycle(&mut self) -> Planted {
        let topology = self.plan.topology();
        let leaves: Vec<SwitchId> = topology
            .switch_ids()
            .filter(|switch| topology.switch(*switch).layer == Some(0))
            .collect();
        let first = self.pick(&leaves);
        let others: Vec<SwitchId> = leaves.into_iter().filter(|leaf| *leaf != first).collect();
        let second = self.pick(&others);
        let dscp = self.first_dscp();
        for leaf in [first, second] {
            let config = &mut self.configs[leaf.index()];
            let ports: Vec<String> = topology
                .peers(leaf)
                .map(|(port, _)| interface(topology, leaf, port))
                .collect();
            let host = ports[0].clone();
            let from_host = config.map_of(MapKind::DscpToTc, &host).unwrap()[&dscp];
            for port in ports {
                remap(config, &port, MapKind::DscpToTc, |map| {
                    map.insert(dscp, from_host);
                });
            }
        }
        Planted {
            kind: FindingKind::CyclicBuffers,
            places: Vec::new(),
        }
    }
}

fn found(report: &AuditReport, planted: &Planted) -> bool {
    report.findings.iter().any(|finding| {
        let told = format!("{} {}", finding.place, finding.problem);
        let named = planted.places.iter().any(|place| told.contains(place));
        finding.kind == planted.kind && (named || planted.places.is_empty())
    })
}

#[test]
fn every_planted_fault_is_found() {
    let plan = bounces(&clos(), 1);
    let clean = configs(&plan);
    assert_eq!(up_down(plan.topology(), &clean, 1).findings, []);
    let mut kinds = BTreeSet::new();
    for number in 0..MUTATIONS {
        let mut planter = Planter {
            plan: &plan,
            configs: clean.clone(),
            chance: ChaCha8Rng::seed_from_u64(number),
        };
        let planted = planter.plant(number);
        assert_ne!(planter.configs, clean, "{number}: nothing was planted");
        let report = up_down(plan.topology(), &planter.configs, 1);
        assert!(
            found(&report, &planted),
            "{number}: {:?} at {:?} is not among {:?}",
            planted.kind,
            planted.places,
            report.findings
        );
        assert!(
            planted.kind != FindingKind::CyclicBuffers || report.cbd_free == Some(false),
            "{number}"
        );
        kinds.insert(planted.kind);
    }
    assert_eq!(kinds.len(), FindingKind::ALL.len());
}

/// Changes that are no faults: SONiC computes headroom itself, pools are of both sides, headroom is
/// shared, ports without a cable have nothing, queues that nobody uses have a lossless profile.
#[test]
fn what_is_no_fault_raises_no_alarm() {
    let plan = bounces(&clos(), 1);
    for number in 0..5 {
        let mut changed = configs(&plan);
        for config in &mut changed {
            match number {
                0 => config.priority_groups.retain(|(_, group), _| *group == 0),
                1 => config
                    .pools
                    .values_mut()
                    .for_each(|pool| pool.side = PoolSide::Both),
                2 => {
                    let xoffs = config.profiles.values().filter_map(|profile| profile.xoff);
                    let most = xoffs.max().unwrap();
                    for profile in config.profiles.values_mut().filter(|p| p.xoff.is_some()) {
                        profile.size = profile.xon.unwrap();
                    }
                    for pool in config
                        .pools
                        .values_mut()
                        .filter(|p| p.side == PoolSide::Ingress)
                    {
                        pool.xoff = most;
                    }
                }
                3 => {
                    config
                        .ports
                        .insert("Ethernet400".to_owned(), PortRow::default());
                }
                _ => {
                    config
                        .ports
                        .insert("Ethernet400".to_owned(), PortRow::default());
                    let lossless = "egress_lossless_profile".to_owned();
                    config
                        .queues
                        .insert(("Ethernet400".to_owned(), 5), lossless);
                }
            }
        }
        let report = up_down(plan.topology(), &changed, 1);
        assert_eq!(
            (report.findings, report.cbd_free),
            (vec![], Some(true)),
            "{number}"
        );
    }
}

//! Who sends to whom (Stephens15 section 4.7).

use plan::check::resilience::Flow;
use plan::failover::{Failover, Target};
use rand::SeedableRng;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;
use topology::{Fabric, HostId, Topology};

/// Flows with the hosts at their ends.
pub struct Bundle {
    /// Hosts of the network.
    pub hosts: usize,
    /// The flows, as the tables see them.
    pub flows: Vec<Flow>,
    /// The sending and the receiving host of each, by index.
    pub ends: Vec<(usize, usize)>,
}

impl Bundle {
    /// Every host to so many other hosts, drawn at random; with several routings to a switch, by
    /// one at random.
    #[must_use]
    pub fn uniform(
        topology: &Topology,
        fabric: &Fabric,
        failover: &Failover,
        degree: usize,
        seed: u64,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let places = Places::new(topology, failover);
        let hosts: Vec<HostId> = topology.host_ids().collect();
        let mut bundle = Self {
            hosts: hosts.len(),
            flows: Vec::new(),
            ends: Vec::new(),
        };
        for source in fabric.edge_switches() {
            for attachment in fabric.attachments(source) {
                let others = hosts.iter().filter(|&&host| host != attachment.host);
                for &to in others.sample(&mut rng, degree) {
                    let Some(&destination) = places.of(to).iter().choose(&mut rng) else {
                        continue;
                    };
                    bundle.flows.push(Flow {
                        source,
                        destination,
                    });
                    bundle.ends.push((attachment.host.index(), to.index()));
                }
            }
        }
        bundle
    }
}

/// The destinations that stand for each host.
struct Places(Vec<Vec<usize>>);

impl Places {
    fn new(topology: &Topology, failover: &Failover) -> Self {
        let mut places = vec![Vec::new(); topology.hosts().len()];
        let fabric = Fabric::new(topology);
        for (at, destination) in failover.destinations.iter().enumerate() {
            match destination.target {
                Target::Host(host) => places[host.index()].push(at),
                Target::Switch { switch, .. } => {
                    for attachment in fabric.attachments(switch) {
                        places[attachment.host.index()].push(at);
                    }
                }
            }
        }
        // A host that is a destination of its own is sent nothing by way of its switch's.
        for own in &mut places {
            let is_host = |at: &usize| matches!(failover.destinations[*at].target, Target::Host(_));
            if own.iter().any(is_host) {
                own.retain(is_host);
            }
        }
        Self(places)
    }

    fn of(&self, host: HostId) -> &[usize] {
        &self.0[host.index()]
    }
}

//! The live network as algorithms want it: directed arcs between switches in dense arrays.
//!
//! A [`Fabric`] is a snapshot of what is up. Each live link between two switches is two [`Arc`]s;
//! the arcs that leave a switch are contiguous and in port order, so that every algorithm built on
//! it is deterministic without sorting.

use quantities::PortId;

use super::ids::{ArcId, HostId, LinkId, NodeId, SwitchId};
use super::model::{Topology, VirtualLayers};

/// One direction of a live link between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The switch that sends.
    pub from: SwitchId,
    /// The switch that receives.
    pub to: SwitchId,
    /// The port of `from`.
    pub out_port: PortId,
    /// The port of `to`.
    pub in_port: PortId,
    /// The link.
    pub link: LinkId,
}

/// A host on a port of a switch, over a live link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attachment {
    /// The switch's port.
    pub port: PortId,
    /// The host.
    pub host: HostId,
}

/// The live switches, arcs and hosts of a topology.
#[derive(Clone, Debug)]
pub struct Fabric {
    arcs: Vec<Arc>,
    /// `first[s]..first[s + 1]` are the arcs that leave `s`.
    first: Vec<u32>,
    reverse: Vec<ArcId>,
    /// By link: one of its arcs.
    of_link: Vec<Option<ArcId>>,
    attachments: Vec<Attachment>,
    /// `first_attachment[s]..first_attachment[s + 1]` are the hosts at `s`.
    first_attachment: Vec<u32>,
    layers: Vec<Option<u8>>,
    /// The virtual layers of each arc's ends, near one first, where links have any.
    virtual_layers: Vec<Option<(u8, u8)>>,
    /// The highest virtual layer.
    top: u8,
}

impl Fabric {
    /// The live part of a topology.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let mut fabric = Self {
            arcs: Vec::with_capacity(2 * topology.links().len()),
            first: vec![0],
            reverse: Vec::new(),
            of_link: vec![None; topology.links().len()],
            attachments: Vec::new(),
            first_attachment: vec![0],
            layers: topology.switches().iter().map(|s| s.layer).collect(),
            virtual_layers: Vec::new(),
            top: 0,
        };
        for from in topology.switch_ids() {
            for (out_port, peer) in topology.peers(from) {
                if !topology.is_live(peer.link) {
                    continue;
                }
                match peer.end.node {
                    NodeId::Host(host) => fabric.attachments.push(Attachment {
                        port: out_port,
                        host,
                    }),
                    NodeId::Switch(to) => {
                        let id = ArcId::new(count(fabric.arcs.len()));
                        let half = &mut fabric.of_link[peer.link.index()];
                        fabric.reverse.push(half.unwrap_or(id));
                        if let Some(other) = *half {
                            fabric.reverse[other.index()] = id;
                        }
                        *half = Some(id);
                        let link = topology.link(peer.link);
                        let layers = link.virtual_layers.map(|layers| {
                            // The far end tells the ends apart, for no link joins a switch to
                            // itself.
                            let VirtualLayers { a, b } = layers;
                            if link.a == peer.end { (b, a) } else { (a, b) }
                        });
                        let higher = layers.map_or(0, |(near, far)| near.max(far));
                        fabric.top = fabric.top.max(higher);
                        fabric.virtual_layers.push(layers);
                        fabric.arcs.push(Arc {
                            from,
                            to,
                            out_port,
                            in_port: peer.end.port,
                            link: peer.link,
                        });
                    }
                }
            }
            fabric.first.push(count(fabric.arcs.len()));
            fabric
                .first_attachment
                .push(count(fabric.attachments.len()));
        }
        fabric
    }

    /// The number of switches, live or not: ids are those of the topology.
    #[must_use]
    pub fn switch_count(&self) -> usize {
        self.first.len() - 1
    }

    /// All arcs, in id order.
    #[must_use]
    pub fn arcs(&self) -> &[Arc] {
        &self.arcs
    }

    /// One arc.
    #[must_use]
    pub fn arc(&self, id: ArcId) -> &Arc {
        &self.arcs[id.index()]
    }

    /// The same link the other way.
    #[must_use]
    pub fn reverse(&self, id: ArcId) -> ArcId {
        self.reverse[id.index()]
    }

    /// One of the two arcs of a link, if it is live and joins two switches.
    #[must_use]
    pub fn arc_of(&self, link: LinkId) -> Option<ArcId> {
        self.of_link.get(link.index()).copied().flatten()
    }

    /// The arcs that leave a switch, in port order.
    pub fn out(&self, switch: SwitchId) -> impl DoubleEndedIterator<Item = ArcId> + use<> {
        self.out_range(switch).map(ArcId::new)
    }

    /// The arcs that leave a switch as a range of raw ids.
    pub fn out_range(&self, switch: SwitchId) -> std::ops::Range<u32> {
        self.first[switch.index()]..self.first[switch.index() + 1]
    }

    /// The arcs that leave a switch, in port order, with their ids.
    pub fn out_arcs(&self, switch: SwitchId) -> impl DoubleEndedIterator<Item = (ArcId, &Arc)> {
        self.out(switch).map(|id| (id, self.arc(id)))
    }

    /// The arc that leaves a switch by a port.
    #[must_use]
    pub fn arc_at(&self, switch: SwitchId, port: PortId) -> Option<ArcId> {
        let start = self.first[switch.index()] as usize;
        let end = self.first[switch.index() + 1] as usize;
        let at = self.arcs[start..end].binary_search_by_key(&port, |arc| arc.out_port);
        at.ok().map(|at| ArcId::new(count(start + at)))
    }

    /// The layer of a switch, where the topology has layers.
    #[must_use]
    pub fn layer(&self, switch: SwitchId) -> Option<u8> {
        self.layers[switch.index()]
    }

    /// Whether an arc leads to a higher layer.
    #[must_use]
    pub fn is_up(&self, arc: ArcId) -> bool {
        let arc = self.arc(arc);
        self.layer(arc.to) > self.layer(arc.from)
    }

    /// The rank of an arc in a Flattened Clos of k virtual layers: j from layer j up to j + 1, 2k -
    /// 1 - j from j + 1 down to j. Along a way up, then down (FC23 section 3.1) ranks rise. `None`
    /// if the link has no virtual layers.
    #[must_use]
    pub fn rank(&self, arc: ArcId) -> Option<u16> {
        let (near, far) = self.virtual_layers[arc.index()]?;
        Some(if near < far {
            near.into()
        } else {
            2 * u16::from(self.top) - 1 - u16::from(far)
        })
    }

    /// Number of virtual layers; 0 where no link has any.
    #[must_use]
    pub fn virtual_layer_count(&self) -> u8 {
        self.top
    }

    /// The hosts on a switch, in port order.
    #[must_use]
    pub fn attachments(&self, switch: SwitchId) -> &[Attachment] {
        let start = self.first_attachment[switch.index()] as usize;
        let end = self.first_attachment[switch.index() + 1] as usize;
        &self.attachments[start..end]
    }

    /// The switches that have a live host, in id order.
    pub fn edge_switches(&self) -> impl Iterator<Item = SwitchId> + '_ {
        self.switch_ids()
            .filter(|&s| !self.attachments(s).is_empty())
    }

    /// The ids of all switches.
    pub fn switch_ids(&self) -> impl Iterator<Item = SwitchId> + use<> {
        (0..count(self.switch_count())).map(SwitchId::new)
    }

    /// Hops from `source` to every switch ([`UNREACHABLE`] where there is no way). Links run both
    /// ways, so these are the distances *to* `source` as well.
    #[must_use]
    pub fn distances(&self, source: SwitchId) -> Vec<u16> {
        let mut distance = vec![UNREACHABLE; self.switch_count()];
        let mut queue = Vec::with_capacity(self.switch_count());
        distance[source.index()] = 0;
        queue.push(source);
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            let beyond = distance[at.index()].saturating_add(1);
            for (_, arc) in self.out_arcs(at) {
                if distance[arc.to.index()] == UNREACHABLE && beyond < UNREACHABLE {
                    distance[arc.to.index()] = beyond;
                    queue.push(arc.to);
                }
            }
        }
        distance
    }
}

/// The distance of a switch that cannot be reached.
pub const UNREACHABLE: u16 = u16::MAX;

/// A count that [`Topology::new`] has bounded: every arc is half a link, every link has a `u32` id.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

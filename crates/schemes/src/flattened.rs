//! Flattened Clos as a Tagger scheme: whether a packet's tag rises depends on the virtual layers of
//! its ingress and egress port alone.
//!
//! Number the links upward from layer j to j + 1 as j, and those downward from j + 1 to j as
//! 2k - 1 - j, for k layers. A packet keeps its tag where that number rises: one tag then closes no
//! cycle of buffers, whatever the routes. Any other turn between switches is a bounce, and raises
//! the tag. FC23's Lemma 4 says as much of the routes it chooses; this says it of ports.

use plan::{PortSet, Tag};
use quantities::PortId;
use topology::flattened::FlattenedLinks;
use topology::{NodeId, SwitchId, Topology, VirtualLayers};

use super::Tagged;
use super::error::SchemeError;
use super::options::TaggerOptions;
use super::turn::Turn;
use super::turns::tag_turns;

/// Bounces count from 1, as in a Clos.
const FIRST_TAG: Tag = Tag::new(1);

/// How the packet that comes by a port has come, or how the one that leaves by it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A host stands at the port.
    Host,
    /// The port is the upper end of a link in this layer: packets come up and leave down.
    Above(u8),
    /// The port is the lower end of a link in this layer: packets come down and leave up.
    Below(u8),
}

impl Place {
    /// Where a port stands.
    fn of(topology: &Topology, switch: SwitchId, port: PortId) -> Option<Self> {
        let peer = topology.peer(switch, port)?;
        if matches!(peer.end.node, NodeId::Host(_)) {
            return Some(Self::Host);
        }
        let link = topology.link(peer.link);
        let VirtualLayers { a, b } = link.virtual_layers?;
        // The far end tells the ends apart, for no link joins a switch to itself.
        let (near, far) = if link.a == peer.end { (b, a) } else { (a, b) };
        Some(if near > far {
            Self::Above(near)
        } else {
            Self::Below(near)
        })
    }

    /// Whether packets that come here and leave there keep their tag.
    const fn keeps(self, out: Self) -> bool {
        match (self, out) {
            (Self::Host, _) | (_, Self::Host) | (Self::Above(_), Self::Above(_)) => true,
            // Up to the layer, and further up.
            (Self::Above(layer), Self::Below(own)) => own >= layer,
            // Down to the layer, and further down.
            (Self::Below(layer), Self::Above(own)) => own <= layer,
            (Self::Below(_), Self::Below(_)) => false,
        }
    }
}

/// The rules: with port sets one for each way to come (from a host, up to each layer, down to each
/// layer) and tag, and one for what rises.
pub(super) fn rules(
    topology: &Topology,
    options: &TaggerOptions,
    bounces: u8,
) -> Result<Tagged, SchemeError> {
    FlattenedLinks::new(topology)?;
    tag_turns(topology, options, FIRST_TAG, bounces, |switch| {
        let ports: Vec<(PortId, Place)> = topology
            .peers(switch)
            .filter_map(|(port, _)| Some((port, Place::of(topology, switch, port)?)))
            .collect();
        let mut places: Vec<Place> = ports.iter().map(|&(_, place)| place).collect();
        places.sort_unstable();
        places.dedup();
        let those = |wanted: &dyn Fn(Place) -> bool| -> PortSet {
            let these = ports.iter().filter(|(_, place)| wanted(*place));
            these.map(|&(port, _)| port).collect()
        };
        let mut turns = vec![Turn {
            precedence: 0,
            in_ports: those(&|_| true),
            out_ports: those(&|_| true),
            rises: true,
        }];
        for from in places {
            turns.push(Turn {
                // One above what a class's own limit says of turns that rise.
                precedence: 2,
                in_ports: those(&|place| place == from),
                out_ports: those(&|place| from.keeps(place)),
                rises: false,
            });
        }
        turns.retain(|turn| !turn.out_ports.is_empty());
        turns
    })
}

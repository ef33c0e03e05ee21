//! Walks with their lossless tags, one by one, as the proof reads them: so that others can be
//! compared with it.

use quantities::PortId;
use topology::SwitchId;

use super::lossless::Tags;
use super::walk::{DestinationRules, End, World};
use crate::check::rules::Rules;
use crate::model::Tables;
use crate::tag::Tag;

/// A packet of the first class: where it enters the network and what has failed.
#[derive(Clone, Debug)]
pub struct TaggedPacket {
    /// The switch that it enters the network at.
    pub source: SwitchId,
    /// The port of the host that sends it.
    pub host: PortId,
    /// The failed links (or switches, if the plan protects those).
    pub failed: Vec<u32>,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedWalk {
    /// Whether it arrived.
    pub arrived: bool,
    /// Each switch that it left for another: the output port, and the tag with which it left;
    /// `None` once it is lossy.
    pub hops: Vec<(SwitchId, PortId, Option<Tag>)>,
}

/// Failover tables with lossless tags, ready to be walked again and again.
pub struct TaggedSurvey<'a> {
    world: World<'a>,
    rules: Rules<'a>,
}

impl<'a> TaggedSurvey<'a> {
    /// Gets a plan's tables ready; `None` if it has no failover tables, or its tag rules contradict
    /// each other.
    #[must_use]
    pub fn new(tables: &'a Tables) -> Option<Self> {
        Some(Self {
            world: World::new(&tables.topology, tables.failover.as_ref()?),
            rules: Rules::new(tables).ok()?,
        })
    }

    /// The walks of packets to one destination, by its place in the list of destinations.
    #[must_use]
    pub fn walks(&self, destination: usize, packets: &[TaggedPacket]) -> Vec<TaggedWalk> {
        let tags = Tags::new(&self.rules, &[]);
        let mut rules = DestinationRules::new(&self.world, destination);
        let mut hops = Vec::new();
        let walk = |packet: &TaggedPacket| {
            let end = rules.walk_hops(packet.source, &packet.failed, &mut Vec::new(), &mut hops);
            let left = tags.along(&hops, packet.host);
            let out = hops.iter().zip(left);
            TaggedWalk {
                arrived: matches!(end, End::Delivered(_)),
                hops: out
                    .filter_map(|(hop, tag)| Some((hop.switch, hop.out?, tag)))
                    .collect(),
            }
        };
        packets.iter().map(walk).collect()
    }
}

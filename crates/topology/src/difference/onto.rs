//! The second network in the terms of the first.

use quantities::PortId;

use super::Comparison;
use super::facts::{in_place, switches};
use super::ports::{Slot, node_at};
use crate::ids::NodeId;
use crate::model::{Endpoint, Link, Topology};

impl Comparison<'_> {
    /// The first network with the cables, rates, lengths, buffers and states of the second. Nodes
    /// and ports that only the second network has are left out, and cables to them. Switches that
    /// it does not have are down. Nodes may be without a cable.
    #[must_use]
    pub fn second_as_first(&self) -> Topology {
        let mut links: Vec<Link> = Vec::with_capacity(self.b.links().len());
        for (id, link) in self.b.link_ids().zip(self.b.links()) {
            let [x, y] = self.slots.of_b[id.index()];
            let [Some(a), Some(b)] = [x, y].map(|slot| self.place(slot)) else {
                continue;
            };
            if matches!((a.node, b.node), (NodeId::Host(_), NodeId::Host(_))) {
                continue;
            }
            // What the second network does not say of a cable that is in place.
            let same = self.slots.link_a(x);
            let same = same.filter(|own| self.slots.link_a(y) == Some(*own));
            let planned = same.map(|own| self.a.link(own));
            let mut assumed = link.assumed;
            let (mut rate, mut length) = (link.rate, link.length);
            if let Some(own) = planned {
                if assumed.rate {
                    (rate, assumed.rate) = (own.rate, own.assumed.rate);
                }
                if assumed.length {
                    (length, assumed.length) = (own.length, own.assumed.length);
                }
            }
            links.push(Link {
                a,
                b,
                rate,
                length,
                assumed,
                virtual_layers: planned.map_or(link.virtual_layers, |own| own.virtual_layers),
                ocs: planned.map_or(link.ocs, |own| own.ocs),
                ..link.clone()
            });
        }
        let mut all = self.a.switches().to_vec();
        for (id, switch) in self.a.switch_ids().zip(&mut all) {
            let other = self.nodes.switch_of(id).map(|other| self.b.switch(other));
            switch.up = other.is_some_and(|other| other.up);
            switch.buffer = other.and_then(|other| other.buffer).or(switch.buffer);
        }
        self.a.with_cables(all, links)
    }

    /// The first network in the state of the second: what is down there is down, as far as cables
    /// and switches are in place.
    #[must_use]
    pub fn first_in_state_of_second(&self) -> Topology {
        let mut links = self.a.links().to_vec();
        for (own, other) in in_place(self) {
            links[own.index()].up = self.b.link(other).up;
        }
        let mut all = self.a.switches().to_vec();
        for (own, other) in switches(self) {
            all[own.index()].up = self.b.switch(other).up;
        }
        self.a.with_cables(all, links)
    }

    /// Where a slot is in the first network, if it has the port.
    fn place(&self, slot: Slot) -> Option<Endpoint> {
        let node = node_at(self.a, slot.node)?;
        let port = u16::try_from(slot.port).ok().map(PortId::new)?;
        let exists = match node {
            NodeId::Switch(switch) => port.get() <= self.a.switch(switch).ports,
            NodeId::Host(_) => true,
        };
        exists.then_some(Endpoint { node, port })
    }
}

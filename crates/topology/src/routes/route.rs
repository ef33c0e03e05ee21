//! Routes: what they are made of, and the two forms in which they are handed out.

use quantities::PortId;

use crate::{ArcId, Attachment, Fabric, HostId, SwitchId};

/// One switch of a route, with the ports by which a packet enters and leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The switch.
    pub switch: SwitchId,
    /// The port of arrival; at the first switch, the source host's.
    pub in_port: PortId,
    /// The port of departure; at the last switch, the destination host's.
    pub out_port: PortId,
}

/// A route from host to host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// The host that sends.
    pub source: HostId,
    /// The host that receives.
    pub destination: HostId,
    /// The switches in order; at least one.
    pub hops: Vec<Hop>,
}

/// All routes that share their switches and links and differ only in the hosts at either end. A
/// borrowed view: copy what must outlive the next step of the enumeration.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// The first switch.
    pub from: SwitchId,
    /// The last switch.
    pub to: SwitchId,
    /// The links between, none if the first switch is also the last.
    pub arcs: &'a [ArcId],
    /// The hosts that routes start from, with the ports they enter by.
    pub sources: &'a [Attachment],
    /// The hosts that routes end at, with the ports they leave by.
    pub destinations: &'a [Attachment],
}

impl<'a> Path<'a> {
    /// The pairs of different hosts.
    pub fn pairs(self) -> impl Iterator<Item = (Attachment, Attachment)> + 'a {
        let pair = move |&source: &'a Attachment| {
            let others = self
                .destinations
                .iter()
                .filter(move |d| d.host != source.host);
            others.map(move |&destination| (source, destination))
        };
        self.sources.iter().flat_map(pair)
    }

    /// The hops of the route between two of the hosts.
    pub fn hops(
        self,
        fabric: &'a Fabric,
        source: Attachment,
        destination: Attachment,
    ) -> impl Iterator<Item = Hop> + 'a {
        let ports = move |&arc: &'a ArcId| fabric.arc(arc);
        let arrivals = std::iter::once((self.from, source.port));
        let arrivals = arrivals.chain(self.arcs.iter().map(ports).map(|a| (a.to, a.in_port)));
        let departures = self.arcs.iter().map(ports).map(|a| a.out_port);
        let departures = departures.chain(std::iter::once(destination.port));
        arrivals
            .zip(departures)
            .map(|((switch, in_port), out_port)| Hop {
                switch,
                in_port,
                out_port,
            })
    }

    /// The route between two of the hosts.
    #[must_use]
    pub fn route(self, fabric: &Fabric, source: Attachment, destination: Attachment) -> Route {
        Route {
            source: source.host,
            destination: destination.host,
            hops: self.hops(fabric, source, destination).collect(),
        }
    }
}

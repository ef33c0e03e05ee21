//! What senders of flows and of workloads are made of: windows, times, and the first bytes of
//! frames.

use plan::ClassId;
use quantities::BitRate;
use topology::{HostId, Topology};

use super::distance::Distances;
use crate::embedded::{Network, Probe};
use crate::simulate::SimulateError;
use crate::simulate::host::flow::{HEAD, checksum};
use crate::simulate::host::window::WindowRules;
use spec::{Scenario, SenderSpec, TransportSpec};

/// The shortest retransmission timeout where nothing says otherwise, in nanoseconds.
const USUAL_RTO: u64 = 5_000_000;
/// The first window of TCP and DCTCP, in packets (RFC 6928).
const FIRST_WINDOW: f64 = 10.0;
/// The timeout of pFabric, in round trips (pFabric13 section 4.3).
const PFABRIC_ROUND_TRIPS: u64 = 3;

/// Who sends to whom, frames of which length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    pub(crate) packet: u16,
}

/// Nanoseconds that a host takes to act on what has arrived, so that a round trip is as long as the
/// scenario says.
///
/// # Errors
/// A scenario whose round trips are too short for the network.
pub(crate) fn host_delay(
    scenario: &Scenario,
    distances: &mut Distances<'_>,
    ends: Ends,
) -> Result<u64, String> {
    let Some(wanted) = scenario.round_trip.map(|time| time.0.get()) else {
        return Ok(0);
    };
    let needed = distances.round_trip(ends.from, ends.to, ends.packet.into());
    match wanted.checked_sub(needed) {
        Some(rest) => Ok(rest / 2),
        None => Err(format!(
            "`round_trip` is {:.3} us, but a frame of {} bytes and its answer need {:.3} us even if hosts take no time",
            wanted as f64 / 1e3,
            ends.packet,
            needed as f64 / 1e3
        )),
    }
}

/// How the window of a sender behaves.
pub(crate) fn rules(
    spec: &SenderSpec,
    distances: &mut Distances<'_>,
    ends: Ends,
    host_delay: u64,
) -> WindowRules {
    let round_trip = distances.round_trip(ends.from, ends.to, ends.packet.into()) + 2 * host_delay;
    let coordinator = matches!(spec.transport, TransportSpec::Bolt | TransportSpec::Pfabric);
    let pfabric = spec.transport == TransportSpec::Pfabric;
    // What fills the way to the receiver and back.
    let pipe = || {
        let frame = distances.on_uplink(ends.from, u64::from(ends.packet) + distances.overhead());
        (round_trip as f64 / frame.max(1.0)).ceil().max(2.0)
    };
    let first = spec.first_window.map(f64::from);
    let usual_rto = match pfabric {
        true => PFABRIC_ROUND_TRIPS * round_trip,
        false => USUAL_RTO,
    };
    WindowRules {
        ecn: spec.transport.is_ecn_capable(),
        first: first.unwrap_or_else(|| if coordinator { pipe() } else { FIRST_WINDOW }),
        slow_start: spec.slow_start.unwrap_or(!coordinator),
        fast_retransmit: spec.fast_retransmit.unwrap_or(!spec.spray && !pfabric),
        min_rto: spec.min_rto.map_or(usual_rto, |time| time.0.get()),
        fixed_rto: pfabric,
    }
}

/// What the first bytes of a frame say beyond its hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Nothing for lossy packets.
    pub(crate) class: Option<ClassId>,
    /// The UDP source port.
    pub(crate) port: u16,
    pub(crate) packet: u16,
    /// Whether the sender asks for marks.
    pub(crate) ecn: bool,
    pub(crate) id: u16,
}

impl Head {
    /// The first bytes: Ethernet, IPv4, UDP, and room for a note.
    pub(crate) fn bytes(
        &self,
        network: &Network,
        from: HostId,
        to: HostId,
    ) -> Result<[u8; HEAD], SimulateError> {
        let probe = Probe {
            from,
            to,
            class: self.class,
            flow: self.port,
            ipv6: false,
        };
        let (bytes, _, _) = network.packet(&probe)?;
        let mut head: [u8; HEAD] = *bytes.first_chunk().ok_or(SimulateError::Head)?;
        head[16..18].copy_from_slice(&(self.packet - 14).to_be_bytes());
        head[38..40].copy_from_slice(&(self.packet - 34).to_be_bytes());
        // No UDP checksum: the payload changes from packet to packet.
        head[40..42].fill(0);
        head[15] |= if self.ecn { 2 } else { 0 };
        head[18..20].copy_from_slice(&self.id.to_be_bytes());
        checksum(&mut head);
        Ok(head)
    }
}

/// A link's rate, if the scenario does not say another for all.
pub(crate) fn rate_of(scenario: &Scenario, rate: BitRate) -> BitRate {
    scenario.rate.map_or(rate, |speed| speed.0)
}

/// What is wrong with a class that the plan does not have.
pub(crate) fn no_class(network: &Network, class: u8) -> String {
    match network.plan().tagging().classes.len() {
        0 => "the plan has no lossless class; send it `lossy: true`, or plan with `lossless: rising` \
              (`plan --lossless rising`)"
            .to_owned(),
        classes => format!("there is no class {class}: the plan has {classes}, counted from 0"),
    }
}

/// Bits per second of a host's first link.
pub(crate) fn link_rate(topology: &Topology, scenario: &Scenario, host: HostId) -> u64 {
    let uplink = topology.uplinks(host).first();
    uplink.map_or(1, |(_, p)| {
        rate_of(scenario, topology.link(p.link).rate).get()
    })
}

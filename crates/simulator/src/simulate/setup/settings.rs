//! What a plan wants of the buffers of its switches, for switches that somebody else configures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use device::buffer::Threshold;
use p4gen::family::ProgramFeatures;
use plan::CheckedPlan;
use quantities::{BitRate, Bytes, PortId};
use serde::Serialize;
use topology::{Peer, SwitchId};

use super::buffers::{LosslessFile, LosslessPort, longest_frame, of_plan};
use spec::{ScenarioError, Size, Speed, SwitchSpec};

/// The shared buffer of a switch: dynamic thresholds, and headroom for every port and lossless
/// priority (TaggerDraft section 3.3).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchBuffer {
    /// Name of the switch.
    pub switch: String,
    /// The packet buffer, in bytes.
    pub buffer_bytes: u64,
    /// What the headroom of all ports and lossless priorities leaves of it.
    pub shared_bytes: u64,
    /// The priorities with PFC, by the priority of the arriving packet.
    pub lossless_priorities: Vec<u8>,
    /// A lossless priority of a port is paused when it has used so much of the free shared buffer.
    pub alpha: f64,
    /// The sender may go on when the use has fallen so far below the threshold, in bytes.
    pub xon_offset_bytes: u64,
    /// The longest frame, with what carries the tag, in bytes.
    pub longest_frame_bytes: u64,
    /// The plugged ports.
    pub ports: Vec<PortBuffer>,
}

/// A port of a [`SwitchBuffer`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortBuffer {
    /// Its number.
    pub port: u16,
    /// The far end, such as `leaf1:3` or `h1:1`.
    pub peer: String,
    /// Bits per second.
    pub rate_bps: u64,
    /// Length of the cable.
    pub length_metres: u32,
    /// Headroom of each lossless priority, in bytes.
    pub headroom_bytes: u64,
}

impl SwitchBuffer {
    /// What the plan wants of a switch.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] for a buffer of which headroom leaves nothing to share.
    pub fn of_plan(plan: &CheckedPlan, switch: SwitchId) -> Result<Self, ScenarioError> {
        let topology = plan.topology();
        let name = &topology.switch(switch).name;
        let longest = longest_frame(plan);
        let config = of_plan(plan, &SwitchSpec::default(), None, switch, longest)?;
        let shared = config
            .shared()
            .map_err(|error| ScenarioError::wrong(name, error))?;
        let (alpha, offset) = match config.threshold {
            Threshold::Dynamic { alpha, offset } => (alpha.share(), offset),
            Threshold::Fixed { .. } => {
                return Err(ScenarioError::wrong(name, "the usual threshold is a share"));
            }
        };
        let headroom: BTreeMap<PortId, Bytes> =
            config.ports.iter().map(|p| (p.port, p.headroom)).collect();
        let port = |(port, peer): (PortId, Peer)| {
            let link = topology.link(peer.link);
            PortBuffer {
                port: port.get(),
                peer: topology.endpoint_name(peer.end),
                rate_bps: link.rate.get(),
                length_metres: link.length.get(),
                headroom_bytes: headroom.get(&port).map_or(0, |bytes| bytes.get()),
            }
        };
        Ok(Self {
            switch: name.clone(),
            buffer_bytes: config.capacity.get(),
            shared_bytes: shared.get(),
            lossless_priorities: (1..8)
                .filter(|class| config.lossless.bits() >> class & 1 == 1)
                .collect(),
            alpha,
            xon_offset_bytes: offset.get(),
            longest_frame_bytes: longest + u64::from(ProgramFeatures::of(plan).carrier_bytes()),
            ports: topology.peers(switch).map(port).collect(),
        })
    }
}

impl LosslessFile {
    /// The file that makes a process this switch of the plan, as `switch --lossless
    /// BUILD/switches/NAME` does.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] for frames longer than the file can say, and as
    /// [`SwitchBuffer::of_plan`].
    pub fn of_plan(plan: &CheckedPlan, switch: SwitchId) -> Result<Self, ScenarioError> {
        let wanted = SwitchBuffer::of_plan(plan, switch)?;
        let packet = u16::try_from(wanted.longest_frame_bytes)
            .map_err(|_| ScenarioError::wrong("packet", "frames are at most 65535 bytes long"))?;
        let port = |port: &PortBuffer| {
            let own = LosslessPort {
                rate: Some(Speed(BitRate::new(port.rate_bps))),
                length: Some(port.length_metres),
                headroom: None,
            };
            (port.port, own)
        };
        let first = wanted.ports.first().map(|port| port.rate_bps);
        Ok(Self {
            lossless: wanted.lossless_priorities.clone(),
            // Every port has its own; the file wants one for others.
            rate: Speed(first.map_or(BitRate::gbps(1), BitRate::new)),
            length: 0,
            packet: Some(packet),
            lateness: None,
            ports: wanted.ports.iter().map(port).collect(),
            switch: SwitchSpec {
                buffer: Some(Size(Bytes::new(wanted.buffer_bytes))),
                ..SwitchSpec::default()
            },
        })
    }

    /// The file as YAML, as far as [`LosslessFile::of_plan`] fills it.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let rate = |speed: Speed| format!("{}bps", speed.0.get());
        let mut text = format!("lossless: {:?}\nrate: {}\n", self.lossless, rate(self.rate));
        if let Some(packet) = self.packet {
            text += &format!("packet: {packet}\n");
        }
        if let Some(buffer) = self.switch.buffer {
            text += &format!("switch: {{ buffer: {}B }}\n", buffer.0.get());
        }
        if !self.ports.is_empty() {
            text += "ports:\n";
        }
        for (port, own) in &self.ports {
            let speed = own.rate.unwrap_or(self.rate);
            let length = own.length.unwrap_or(self.length);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  {port}: {{ rate: {}, length: {length} }}",
                rate(speed)
            );
        }
        text
    }
}

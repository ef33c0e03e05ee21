//! How switches are configured as lossless shared-buffer switches: from a plan, from a scenario,
//! from a file.

use std::collections::BTreeMap;

use device::buffer::{
    Alpha, BufferConfig, ClassSet, Ecn, PortConfig, QueueLimit, Scheduler, Threshold,
};
use p4gen::family::ProgramFeatures;
use plan::{CheckedPlan, headroom};
use quantities::{BitRate, Bytes, Metres, Nanos, PortId, Priority};
use serde::Deserialize;
use topology::{Peer, SwitchId};
use wire::MacAddr;
use wire::pfc::Quanta;

use spec::{ScenarioError, SchedulerSpec, Size, Speed, SwitchSpec, ThresholdSpec, Time};

/// IEEE 802.1Qbb: what acting on a PFC frame may take, in quanta.
pub(crate) const REACTION_QUANTA: u16 = 60;
/// How late the threads of a switch on a real clock may be.
const USUAL_LATENESS: Nanos = Nanos::new(20_000_000);
/// The longest usual frame.
const USUAL_PACKET: u16 = 1518;

/// A switch of a plan.
pub(crate) fn of_plan(
    plan: &CheckedPlan,
    spec: &SwitchSpec,
    rate: Option<Speed>,
    switch: SwitchId,
    longest: u64,
) -> Result<BufferConfig, ScenarioError> {
    let topology = plan.topology();
    let port = |(port, peer): (PortId, Peer)| {
        let link = topology.link(peer.link);
        PortConfig {
            port,
            rate: rate.map_or(link.rate, |speed| speed.0),
            headroom: Bytes::default(),
            mac: MacAddr::from(topology.port_mac(switch, port)),
            reaction: Nanos::default(),
        }
    };
    let lengths: BTreeMap<PortId, Metres> = topology
        .peers(switch)
        .map(|(port, peer)| (port, topology.link(peer.link).length))
        .collect();
    let priorities = plan.tagging().priorities.values().copied();
    let capacity = topology.switch(switch).buffer;
    let mut config = BufferConfig::usual(
        capacity.unwrap_or(plan.tables().budget.buffer),
        priorities.filter(|p| p.get() > 0).collect::<ClassSet>(),
        topology.peers(switch).map(port).collect(),
    );
    // Between switches packets are longer by what carries their tag.
    let carrier = ProgramFeatures::of(plan).carrier_bytes();
    configure(spec, &mut config, &lengths, longest + u64::from(carrier))?;
    Ok(config)
}

/// Changes what is usual, and calculates headroom for cables of these lengths.
fn configure(
    spec: &SwitchSpec,
    config: &mut BufferConfig,
    lengths: &BTreeMap<PortId, Metres>,
    longest: u64,
) -> Result<(), ScenarioError> {
    let wrong = |problem| ScenarioError::wrong("switches", problem);
    let reaction = spec.reaction_quanta.unwrap_or(REACTION_QUANTA);
    for port in &mut config.ports {
        let length = lengths.get(&port.port).copied().unwrap_or_default();
        let calculated = headroom(port.rate, length, Bytes::new(longest));
        port.headroom = spec.headroom.map_or(calculated, |size| size.0);
        port.reaction = Quanta(reaction).duration(port.rate);
    }
    config.capacity = spec.buffer.map_or(config.capacity, |size| size.0);
    match spec.threshold {
        None => {}
        Some(ThresholdSpec::Fixed { xoff, xon }) => {
            config.threshold = Threshold::Fixed {
                xoff: xoff.0,
                xon: xon.0,
            };
        }
        Some(ThresholdSpec::Dynamic { alpha, offset }) => {
            config.threshold = Threshold::Dynamic {
                alpha: Alpha::new(alpha)
                    .ok_or_else(|| wrong("alpha must be from 0.001 to 1024"))?,
                offset: offset.map_or(Bytes::new(3_000), |size| size.0),
            };
        }
    }
    if let Some(limit) = spec.lossy_limit {
        config.lossy_limit = QueueLimit::Fixed(limit.0);
    }
    config.ranked = spec.ranked.map(|size| size.0);
    config.ecn = spec.ecn.map(|ecn| Ecn {
        kmin: ecn.kmin.0,
        kmax: ecn.kmax.0,
        pmax: ecn.pmax.unwrap_or(1.0),
    });
    config.scheduler = match spec.scheduler {
        None => config.scheduler,
        Some(SchedulerSpec::Strict) => Scheduler::Strict,
        Some(SchedulerSpec::Wrr(weights)) => Scheduler::Wrr(weights),
        Some(SchedulerSpec::Dwrr(weights)) => Scheduler::Dwrr(weights),
    };
    config.tied_priorities = spec.tied_priorities;
    config.pause = spec.pause_quanta.map_or(config.pause, Quanta);
    config.wire_overhead = spec
        .wire_overhead
        .map_or(config.wire_overhead, |size| size.0);
    Ok(())
}

/// A switch on a real clock: what arrives while its threads are late gets headroom, and the buffer
/// is larger by as much, so that what is shared stays the same.
pub fn allow_lateness(config: &mut BufferConfig, lateness: Nanos) {
    let classes = u64::from(config.lossless.bits().count_ones());
    for port in &mut config.ports {
        let late = u128::from(port.rate.get()) * u128::from(lateness.get()) / 8_000_000_000;
        let late = u64::try_from(late).unwrap_or(u64::MAX);
        port.headroom = Bytes::new(port.headroom.get().saturating_add(late));
        let more = late.saturating_mul(classes);
        config.capacity = Bytes::new(config.capacity.get().saturating_add(more));
        // It is the threads that take time to act.
        port.reaction = Nanos::default();
    }
}

/// The longest frame of a plan's hosts, in bytes.
pub(crate) fn longest_frame(plan: &CheckedPlan) -> u64 {
    plan.tables().budget.mtu.get().max(USUAL_PACKET.into())
}

/// A switch of a plan, as a process: at the rates of its links, or at this one.
///
/// # Errors
/// None but those of a configuration that contradicts itself.
pub fn lossless_of_plan(
    plan: &CheckedPlan,
    switch: SwitchId,
    rate: Option<BitRate>,
) -> Result<BufferConfig, ScenarioError> {
    let spec = SwitchSpec::default();
    let longest = longest_frame(plan);
    let mut config = of_plan(plan, &spec, rate.map(Speed), switch, longest)?;
    allow_lateness(&mut config, USUAL_LATENESS);
    Ok(config)
}

/// The file that makes a process a lossless switch (`switch --lossless FILE`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LosslessFile {
    /// The lossless priorities, 1 to 7.
    pub lossless: Vec<u8>,
    /// Rate of all ports that `ports` does not name.
    pub rate: Speed,
    /// Length of their cables in metres; 0 if absent.
    #[serde(default)]
    pub length: u32,
    /// The longest frame, in bytes; 1518 if absent.
    pub packet: Option<u16>,
    /// How late threads may be before lossless packets can be lost; 20 ms if absent.
    pub lateness: Option<Time>,
    /// Ports that are otherwise, by number.
    #[serde(default)]
    pub ports: BTreeMap<u16, LosslessPort>,
    /// Buffer, thresholds, scheduler, marking: as a scenario's `switches`.
    #[serde(default)]
    pub switch: SwitchSpec,
}

/// A port that is otherwise than the rest.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LosslessPort {
    /// Its rate.
    pub rate: Option<Speed>,
    /// Length of its cable in metres.
    pub length: Option<u32>,
    /// Its headroom per class, instead of the calculated one.
    pub headroom: Option<Size>,
}

impl LosslessFile {
    /// Reads the file.
    ///
    /// # Errors
    /// [`ScenarioError::Syntax`]; [`ScenarioError::Wrong`] for priorities that there are not.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        let file: Self = serde_saphyr::from_str(text)
            .map_err(|e| ScenarioError::Syntax(topology::yaml_problem(text, &e)))?;
        if let Some(class) = file.lossless.iter().find(|class| !(1..8).contains(*class)) {
            let problem = format!("priority {class} cannot be lossless; use 1 to 7");
            return Err(ScenarioError::wrong("lossless", problem));
        }
        Ok(file)
    }

    /// The switch with these ports; `device` makes the addresses of its ports its own.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] for ports that the switch does not have.
    pub fn config(&self, ports: &[PortId], device: u64) -> Result<BufferConfig, ScenarioError> {
        if let Some(port) = self
            .ports
            .keys()
            .find(|port| !ports.contains(&PortId::new(**port)))
        {
            let problem = "the switch has no such port; name it with -i, or leave it out";
            return Err(ScenarioError::wrong(format!("ports: {port}"), problem));
        }
        let own = |port: PortId| self.ports.get(&port.get());
        let length = |port| own(port).and_then(|p| p.length).unwrap_or(self.length);
        let lengths = ports.iter().map(|&port| (port, Metres::new(length(port))));
        let port = |&port: &PortId| {
            let [.., d1, d0] = device.to_be_bytes();
            let [p1, p0] = port.get().to_be_bytes();
            PortConfig {
                port,
                rate: own(port).and_then(|p| p.rate).unwrap_or(self.rate).0,
                headroom: Bytes::default(),
                mac: MacAddr::from([2, 0, d1, d0, p1, p0]),
                reaction: Nanos::default(),
            }
        };
        let classes = self.lossless.iter().copied().map(Priority::new);
        let ports = ports.iter().map(port).collect();
        let mut config = BufferConfig::usual(topology::BUFFER, classes.collect(), ports);
        let longest = self.packet.unwrap_or(USUAL_PACKET);
        configure(
            &self.switch,
            &mut config,
            &lengths.collect(),
            longest.into(),
        )?;
        for port in &mut config.ports {
            let headroom = own(port.port).and_then(|p| p.headroom);
            port.headroom = headroom.map_or(port.headroom, |size| size.0);
        }
        let lateness = self.lateness.map_or(USUAL_LATENESS, |time| time.0);
        allow_lateness(&mut config, lateness);
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_makes_a_switch() {
        let text = "lossless: [1, 2]\nrate: 50Mbps\nlateness: 10ms\nports: { 2: { rate: 25Mbps, headroom: 9KB } }\n\
                    switch: { threshold: { xoff: 60KB, xon: 50KB }, scheduler: strict }\n";
        let file = LosslessFile::from_yaml(text).expect("file");
        let config = file
            .config(&[PortId::new(1), PortId::new(2)], 258)
            .expect("config");
        let rates: Vec<u64> = config.ports.iter().map(|p| p.rate.get()).collect();
        assert_eq!(rates, [50_000_000, 25_000_000]);
        // 10 ms at 25 Mb/s beside what was said.
        assert_eq!(config.ports[1].headroom, Bytes::new(9_000 + 31_250));
        assert_eq!(config.ports[1].mac, MacAddr::from([2, 0, 1, 2, 0, 2]));
        assert_eq!(config.scheduler, Scheduler::Strict);
        assert_eq!(config.lossless.bits(), 0b110);
        device::buffer::Buffer::new(config).expect("it works");
    }

    #[test]
    fn files_that_cannot_be_are_refused() {
        for text in [
            "lossless: [0]\nrate: 1Gbps",
            "lossless: [1]",
            "lossless: [1]\nrate: 1Gbps\nfoo: 1",
        ] {
            assert!(LosslessFile::from_yaml(text).is_err(), "{text}");
        }
        let file = LosslessFile::from_yaml("lossless: [1]\nrate: 1Gbps\nports: { 9: {} }");
        assert!(file.expect("file").config(&[PortId::new(1)], 0).is_err());
    }
}

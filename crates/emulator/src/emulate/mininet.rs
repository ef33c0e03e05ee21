//! The same network in Mininet: a script in Python that starts lossless `switchwright switch`
//! processes, and what it is to play.
//!
//! Mininet's hosts send by the kernel's stack, which does not obey PFC, and routes stay as they
//! were built: flows go where the entries send them, links fail and work again, routes by hand are
//! not played.

use serde::Serialize;
use simulator::embedded::Network;
use simulator::simulate::player::{self, ScenarioPlayer};
use spec::Scenario;
use topology::LinkId;

use super::EmulateError;

/// The script: the switch class, and the network of a build directory.
pub const SCRIPT: &str = include_str!("../../mininet/switchwright.py");

/// What the script plays, by the clock.
#[derive(Clone, Debug, Serialize)]
pub struct MininetPlay {
    /// Bits per second of all ports.
    pub rate: u64,
    /// How long it lasts.
    pub seconds: f64,
    /// UDP flows.
    pub flows: Vec<MininetFlow>,
    /// Links that fail and work again.
    pub links: Vec<MininetLink>,
}

/// A UDP flow.
#[derive(Clone, Debug, Serialize)]
pub struct MininetFlow {
    /// Its name.
    pub name: String,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Bits per second.
    pub rate: f64,
    /// Length of its frames.
    pub packet: u32,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends.
    pub stop: f64,
}

/// A link that fails or works again.
#[derive(Clone, Debug, Serialize)]
pub struct MininetLink {
    /// When, in seconds.
    pub at: f64,
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// Whether it works from then on.
    pub up: bool,
}

/// A scenario as the script plays it, with links of this rate, and what of it is left out.
///
/// # Errors
/// [`EmulateError`] if the scenario does not fit the network.
pub fn play(
    network: &Network,
    scenario: &Scenario,
    rate: quantities::BitRate,
) -> Result<(MininetPlay, Vec<String>), EmulateError> {
    let topology = network.plan().topology();
    player::refuse_simulated(scenario)?;
    let scale = super::scale(network, scenario, rate)?;
    let (_, hosts) = ScenarioPlayer::new(network, scenario)?;
    let seconds = |nanos: u64| nanos as f64 * scale / 1e9;
    let flows = hosts.planned_flows().map(|leg| MininetFlow {
        from: topology.host(leg.from).name.clone(),
        to: topology.host(leg.to).name.clone(),
        rate: leg.rate / scale,
        packet: leg.packet,
        start: seconds(leg.start),
        stop: seconds(leg.stop),
        name: leg.name,
    });
    let (mut links, mut left_out) = (Vec::new(), Vec::new());
    for (number, event) in scenario.events.iter().enumerate() {
        let (name, up) = match (&event.fail, &event.restore) {
            (Some(name), _) => (name, false),
            (None, Some(name)) => (name, true),
            (None, None) => {
                left_out.push(event.place(number));
                continue;
            }
        };
        let found: Option<LinkId> = topology.link_named(name).ok();
        if let Some(link) = found.map(|id| topology.link(id)) {
            links.push(MininetLink {
                at: seconds(event.at.0.get()),
                a: topology.node_name(link.a.node).to_owned(),
                b: topology.node_name(link.b.node).to_owned(),
                up,
            });
        }
    }
    if scenario.flows.iter().any(|flow| flow.path.is_some()) {
        left_out.push("paths of flows".to_owned());
    }
    let play = MininetPlay {
        rate: rate.get(),
        seconds: seconds(scenario.duration.0.get()),
        flows: flows.collect(),
        links,
    };
    Ok((play, left_out))
}

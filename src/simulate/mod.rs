//! The network in virtual time: every switch runs the generated program on its entries, by the compiled
//! executor, behind a lossless shared-buffer switch (`device`); cables have rates and lengths; hosts send
//! flows, obey PFC and react to congestion.
//!
//! A [`Scenario`] says who sends what and what happens when; [`simulate`] plays it and returns a
//! [`Report`] and, where asked for, [`Plots`]. Nothing reads a clock: the same network, scenario and seed
//! give the same events, figures and pictures.
//!
//! Packets are real headers with a payload of zeros that is not carried about: the program sees the
//! first 74 bytes, buffers and cables see the whole length.

mod buffers;
mod bundled;
mod calendar;
mod check;
mod flow;
mod host;
pub(crate) mod live;
mod network;
mod page;
mod plot;
mod quantity;
mod report;
mod routing;
mod scenario;
mod sender;
mod setup;
mod world;

use std::collections::BTreeSet;

use p4exec::BuildError;
use thiserror::Error;
use units::Nanos;

use crate::target::embedded::{LoadError, Network, NetworkError};
use crate::topology::{LinkId, NodeId};

pub use buffers::{LosslessFile, LosslessPort, allow_lateness, lossless_of_plan};
pub use bundled::{BUNDLED, bundled};
pub use network::{
    AlgorithmSpec, CablesSpec, ClosSpec, DrawnSpec, NetworkSpec, PlanSpec, RowSpec, SchemeSpec,
    TargetSpec, TopologySpec,
};
pub use plot::{Plots, compare_goodput};
pub use quantity::{Size, Speed, Time};
pub use report::{ClassReport, DeadlockReport, FlowReport, Happening, Report, SwitchReport};
pub use routing::RerouteError;
pub use scenario::{
    EcnSpec, EventSpec, FlowSpec, PatternSpec, PauseSpec, RerouteSpec, RouteSpec, Scenario,
    ScenarioError, SchedulerSpec, SwitchSpec, ThresholdSpec, TransportSpec,
};
pub use world::Losses;

use setup::{Act, Stage};

/// Why a simulation does not run.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// The scenario does not fit the network.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The build directory.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The executor refuses the program.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A switch refuses its entries.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Tables cannot be changed as the scenario says.
    #[error(transparent)]
    Reroute(#[from] RerouteError),
    /// The plan forwards by failover tables.
    #[error("a plan of failover tables cannot be simulated yet; plan with --scheme tagger or ttl")]
    Failover,
    /// Our own frames.
    #[error("the first bytes of a frame have an unexpected length; this is a bug of Switchwright")]
    Head,
}

/// What a simulation gives.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// The pictures, if they were asked for.
    pub plots: Option<Plots>,
}

/// Plays a scenario on a network, to its end.
///
/// # Errors
/// [`SimulateError`] if the scenario names what is not there, or a switch cannot be set up.
pub fn simulate(
    network: &Network,
    scenario: &Scenario,
    plots: bool,
) -> Result<Outcome, SimulateError> {
    check::check(scenario)?;
    let mut stage = setup::set(network, scenario, plots)?;
    let mut play = Play {
        network,
        scenario,
        failed: BTreeSet::new(),
    };
    for (number, event) in scenario.events.iter().enumerate() {
        let at = event.at.0.get();
        stage.world.add(at, world::Kinds::Script, number as u32);
    }
    while let Some(number) = stage.world.run() {
        play.act(&mut stage, number as usize)?;
    }
    stage.world.look();
    let topology = network.plan().topology();
    let report = Report::new(topology, scenario, &stage.world);
    let plots = plots.then(|| Plots::draw(topology, &report, &stage.world));
    Ok(Outcome { report, plots })
}

struct Play<'a> {
    network: &'a Network,
    scenario: &'a Scenario,
    failed: BTreeSet<LinkId>,
}

impl Play<'_> {
    fn act(&mut self, stage: &mut Stage<'_>, number: usize) -> Result<(), SimulateError> {
        match stage.acts.get(number) {
            Some(&Act::Fail(link)) => {
                self.failed.insert(link);
                self.set_link(stage, link, false);
            }
            Some(&Act::Restore(link)) => {
                self.failed.remove(&link);
                self.set_link(stage, link, true);
            }
            Some(&Act::Reroute(reroute)) => self.retable(stage, |routing, play| {
                Ok(routing.reroute(&play.failed, reroute)?)
            })?,
            Some(&Act::Route(event)) => self.retable(stage, |routing, play| {
                if let Some(route) = &play.scenario.events[event].route {
                    routing.route(&format!("events[{event}]"), route)?;
                }
                Ok(())
            })?,
            Some(Act::Mend) => self.retable(stage, |routing, _| {
                routing.mend();
                Ok(())
            })?,
            Some(&Act::Pause(host, class, lasts)) => {
                let until = stage.world.now + lasts;
                stage.world.pause(host.index(), class, until);
            }
            None => {}
        }
        Ok(())
    }

    /// Changes the routing, and gives the switches whose entries differ now new tables between two packets.
    fn retable<'b>(
        &self,
        stage: &mut Stage<'b>,
        change: impl FnOnce(&mut routing::Routing<'b>, &Self) -> Result<(), SimulateError>,
    ) -> Result<(), SimulateError> {
        let switches: Vec<_> = self.network.plan().topology().switch_ids().collect();
        let mut before = Vec::with_capacity(switches.len());
        for &id in &switches {
            before.push(stage.routing.entries(id)?);
        }
        change(&mut stage.routing, self)?;
        for (&id, before) in switches.iter().zip(before) {
            if stage.routing.entries(id)? != before {
                let executor = setup::executor(&stage.first, &stage.routing, id)?;
                stage.world.switches[id.index()].replace_executor(executor);
            }
        }
        Ok(())
    }

    fn set_link(&self, stage: &mut Stage<'_>, id: LinkId, up: bool) {
        let world = &mut stage.world;
        let now = Nanos::new(world.now);
        let link = self.network.plan().topology().link(id);
        for end in [link.a, link.b] {
            match end.node {
                NodeId::Switch(switch) => {
                    let device = &mut world.switches[switch.index()];
                    let flushed = |d: &device::Device<p4exec::Compiled>| {
                        d.buffer().map_or(0, |b| b.counters().flushed)
                    };
                    let before = flushed(device);
                    device.set_link_up(now, end.port, up);
                    world.losses.link_down += flushed(device) - before;
                    world.settle(switch.index());
                }
                NodeId::Host(host) => {
                    world.hosts[host.index()].up = up;
                    world.kick(host.index());
                }
            }
        }
    }
}

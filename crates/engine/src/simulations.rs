//! Simulations in slices.

use std::sync::Arc;

use plan::CheckedPlan;
use plan::check::{Options, check};
use quantities::Progress;
use serde_json::{Value, json};
use simulator::embedded::Network;
use simulator::simulate::Session;
use spec::{BUNDLED, Request, Scenario, bundled as text_of};
use topology::Topology;
use topology::routes::forwarding::Reroute;

use crate::limits::{MAX_DURATION, MAX_EVENTS, MAX_FLOWS, MAX_SIMULATIONS, Trust};
use crate::network::Networks;
use crate::request::{ChangeRequest, RunRequest, SessionRequest, SimulateRequest};
use crate::{Refusal, topologies, value};

/// Events after which is looked whether anybody still waits for a slice.
const GLANCE: u64 = 20_000;

/// What runs, by number.
#[derive(Default)]
pub(crate) struct Simulations {
    trust: Trust,
    /// Asked whether anybody still waits.
    progress: Arc<Progress>,
    last: u64,
    running: Vec<(u64, Running)>,
}

struct Running {
    session: Session,
    topology: Topology,
}

/// Answers `scenarios`.
pub(crate) fn bundled() -> Value {
    let all = BUNDLED.iter().filter_map(|(name, text)| {
        let scenario = Scenario::from_yaml(text).ok()?;
        Some(json!({
            "name": name,
            "about": scenario.about.trim(),
            "text": text,
            "own_network": scenario.network.is_some(),
        }))
    });
    Value::Array(all.collect())
}

impl Simulations {
    /// With nothing that runs.
    pub(crate) fn new(trust: Trust) -> Self {
        Self {
            trust,
            ..Self::default()
        }
    }

    /// From now on asks this whether anybody still waits.
    pub(crate) fn tell(&mut self, progress: &Arc<Progress>) {
        self.progress = Arc::clone(progress);
    }

    /// Answers `simulate`: a number for the requests that follow, and the network that it is about.
    pub(crate) fn start(
        &mut self,
        networks: &mut Networks,
        asked: &SimulateRequest,
    ) -> Result<Value, Refusal> {
        if self.running.len() >= MAX_SIMULATIONS && self.trust == Trust::Anybody {
            // The oldest is what a page forgot.
            self.running.remove(0);
        }
        let text = text_of(&asked.scenario).unwrap_or(&asked.scenario);
        let mut scenario = Scenario::from_yaml(text).map_err(Refusal::wrong)?;
        if let Some(tags) = asked.tags {
            scenario.tags = tags;
        }
        affordable(&scenario, self.trust)?;
        let plan = match (&asked.network, &scenario.network) {
            (Some(network), _) => networks.plan_of(network)?,
            (None, Some(spec)) => own_plan(spec, self.trust, &self.progress)?,
            (None, None) => {
                let problem = "the scenario names no network: choose one";
                return Err(Refusal::wrong(problem));
            }
        };
        let topology = plan.topology().clone();
        let network = Network::of(plan).map_err(Refusal::wrong)?;
        let session = Session::new(&network, &scenario, true).map_err(Refusal::wrong)?;
        let flows: Vec<&str> = session.flows().collect();
        self.trust
            .at_most("the number of flows", MAX_FLOWS, flows.len())?;
        let ends = scenario.flows.iter().filter_map(|flow| {
            let name = flow.name.as_ref()?;
            Some(json!({ "name": name, "from": flow.from, "to": flow.to, "path": flow.path }))
        });
        let answer = json!({
            "simulation": self.last + 1,
            "name": scenario.name,
            "about": scenario.about.trim(),
            "tags": scenario.tags,
            "duration_us": scenario.duration.0.get() as f64 / 1e3,
            "flows": flows,
            "named": ends.collect::<Vec<_>>(),
            "timeline": simulator::simulate::player::timeline(&scenario),
            "topology": topologies::view(&topology)?,
        });
        self.last += 1;
        self.running
            .push((self.last, Running { session, topology }));
        Ok(answer)
    }

    fn running(&mut self, number: u64) -> Result<&mut Running, Refusal> {
        let mut all = self.running.iter_mut();
        let found = all.find(|(known, _)| *known == number);
        found.map(|(_, running)| running).ok_or_else(|| {
            Refusal::Wrong(format!(
                "there is no simulation {number}: it has ended, or {MAX_SIMULATIONS} newer ones took its place"
            ))
        })
    }

    /// Answers `run`: how things are after the slice, and whether its time was reached. Where
    /// nobody waits any more it ends between two events, and can be run on.
    pub(crate) fn run(&mut self, asked: &RunRequest) -> Result<Value, Refusal> {
        let events = asked.events.unwrap_or(MAX_EVENTS);
        self.trust
            .at_most("the number of events of a slice", MAX_EVENTS, events)?;
        let progress = Arc::clone(&self.progress);
        let running = self.running(asked.simulation)?;
        let until = (asked.until_us.max(0.0) * 1e3) as u64;
        let mut left = events;
        let mut reached = false;
        while !reached && left > 0 && !progress.is_cancelled() {
            let some = left.min(GLANCE);
            reached = running.session.run(until, some).map_err(Refusal::wrong)?;
            left -= some;
        }
        let mut state = value(running.session.state())?;
        state["reached"] = value(reached)?;
        Ok(state)
    }

    /// Answers `change`.
    pub(crate) fn change(&mut self, asked: &ChangeRequest) -> Result<Value, Refusal> {
        let running = self.running(asked.simulation)?;
        for (name, up) in [(&asked.fail, false), (&asked.restore, true)] {
            if let Some(name) = name {
                let link = running.topology.link_named(name).map_err(Refusal::wrong)?;
                running.session.set_link(link, up).map_err(Refusal::wrong)?;
            }
        }
        if let Some(who) = asked.reroute {
            let reroute = Reroute::from(who);
            running.session.reroute(reroute).map_err(Refusal::wrong)?;
        }
        value(running.session.state())
    }

    /// Answers `report`.
    pub(crate) fn report(&mut self, asked: &SessionRequest) -> Result<Value, Refusal> {
        value(self.running(asked.simulation)?.session.report())
    }

    /// Answers `plots`: pictures by name, as SVG. The simulation ends.
    pub(crate) fn plots(&mut self, asked: &SessionRequest) -> Result<Value, Refusal> {
        self.running(asked.simulation)?;
        let mut all = self.running.iter();
        let at = all.position(|(number, _)| *number == asked.simulation);
        let at = at.ok_or_else(|| Refusal::wrong("there is no such simulation"))?;
        let (_, running) = self.running.remove(at);
        let Some(plots) = running.session.finish(true).plots else {
            return Ok(Value::Null);
        };
        Ok(json!({
            "throughput": plots.throughput, "queues": plots.queues, "buffers": plots.buffers,
            "pauses": plots.pauses, "deadlock": plots.deadlock, "completions": plots.completions,
        }))
    }

    /// Answers `end`.
    pub(crate) fn end(&mut self, asked: &SessionRequest) -> Result<Value, Refusal> {
        self.running(asked.simulation)?;
        self.running
            .retain(|(number, _)| *number != asked.simulation);
        Ok(Value::Null)
    }
}

/// Refuses scenarios that are too long or too full.
fn affordable(scenario: &Scenario, trust: Trust) -> Result<(), Refusal> {
    let duration = scenario.duration.0.get();
    trust.at_most("simulated time in nanoseconds", MAX_DURATION, duration)?;
    let times = scenario.flows.iter().map(|flow| flow.times.unwrap_or(1));
    let flows = times.map(u64::from).fold(0, u64::saturating_add);
    trust.at_most("the number of flows", MAX_FLOWS, flows)
}

/// The plan that a scenario asks for.
fn own_plan(
    spec: &Request,
    trust: Trust,
    progress: &Arc<Progress>,
) -> Result<CheckedPlan, Refusal> {
    let given = crate::request::Given::Make {
        topology: spec.topology.clone(),
        cables: spec.cables,
    };
    let (topology, _) = topologies::make(&given, trust)?;
    let tables = spec.plan.tables(&topology, progress);
    let options = Options {
        progress: Arc::clone(progress),
        ..Options::default()
    };
    check(tables.map_err(Refusal::wrong)?, &options).map_err(Refusal::wrong)
}

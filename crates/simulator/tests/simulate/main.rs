//! The papers' scenarios in virtual time: deadlocks that form without tags and not with them,
//! pauses that cross a change of priority, shares. The scenario files are those of
//! `examples/scenarios`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bolt;
mod failover;
mod lossless;
mod settings;
mod shares;
mod sonic;
mod threads;
mod transports;
mod workloads;

use plan::check;
use quantities::{Bytes, Nanos};
use schemes::TaggerOptions;
use simulator::embedded::Network;
use simulator::simulate::{SimulationReport, simulate};
use spec::{BUNDLED, Scenario, Size, ThresholdSpec, Time, TransportSpec, bundled};
use topology::Topology;
use topology::generate::{Cables, Clos};

use shares::{Use, max_min, spread, whole};

/// Whether the large cases are asked for, as `cargo xtask nightly` does.
pub(crate) fn large() -> bool {
    std::env::var_os("LARGE_TESTS").is_some()
}

fn network(topology: &Topology, options: &TaggerOptions) -> Network {
    let tables = schemes::tagger(topology, options).unwrap();
    Network::of(check(tables, &check::Options::default()).unwrap()).unwrap()
}

fn clos(leaves: u32, spines: u32, hosts: u16) -> Topology {
    Clos {
        leaves,
        spines,
        hosts,
        parallel: 1,
        cables: Cables::default(),
    }
    .generate()
    .unwrap()
}

fn scenario(name: &str) -> Scenario {
    let text = bundled(name).unwrap_or_else(|| panic!("no scenario `{name}`"));
    Scenario::from_yaml(text).unwrap()
}

/// The network that a scenario is for, by the way that `simulate --scenario` takes.
fn its_network(scenario: &Scenario) -> Network {
    let tables = scenario.tables().unwrap();
    Network::of(check(tables, &check::Options::default()).unwrap()).unwrap()
}

fn play(network: &Network, scenario: &Scenario) -> SimulationReport {
    simulate(network, scenario, false).unwrap().report
}

/// A scenario on its own network, with tags and without.
fn with_and_without(scenario: &Scenario) -> (SimulationReport, SimulationReport) {
    let network = its_network(scenario);
    let mut scenario = scenario.clone();
    scenario.tags = true;
    let with = play(&network, &scenario);
    scenario.tags = false;
    (with, play(&network, &scenario))
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= expected * 0.05
}

/// The links of a flow with a path, first as the file says, then under the `route` events that come
/// before `at_ms`, host links too.
fn links(scenario: &Scenario, name: &str, at_ms: u64) -> Vec<(String, String)> {
    let flow = scenario
        .flows
        .iter()
        .find(|f| f.name.as_deref() == Some(name));
    let flow = flow.unwrap();
    let path = flow.path.clone().unwrap();
    let (from, to) = (flow.from.clone().unwrap(), flow.to.clone().unwrap());
    let mut next: std::collections::BTreeMap<String, String> = path
        .iter()
        .cloned()
        .zip(path[1..].iter().cloned().chain([to.clone()]))
        .collect();
    for event in &scenario.events {
        if let Some(route) = &event.route
            && route.to == name
            && event.at.0.get() <= at_ms * 1_000_000
        {
            next.insert(route.switch.clone(), route.via.clone());
        }
    }
    let mut links = vec![(from, path[0].clone())];
    let mut at = path[0].clone();
    while at != to {
        let hop = next[&at].clone();
        links.push((at, hop.clone()));
        at = hop;
        assert!(links.len() < 20, "{name} goes round");
    }
    links
}

/// What a link of a scenario carries in frames, without what the wire takes beyond them.
fn line_rate(scenario: &Scenario) -> f64 {
    let rate = scenario.rate.unwrap().0.get() as f64 / 1e9;
    rate * f64::from(scenario.packet) / (f64::from(scenario.packet) + 24.0)
}

/// Every scenario that comes along has a proven network, and every file comes along.
#[test]
fn every_scenario_file_comes_along() {
    let folder = format!("{}/../../examples/scenarios", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut names: Vec<&str> = BUNDLED.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(files, names);
    for name in names {
        let scenario = scenario(name);
        assert_eq!(scenario.name, name);
        its_network(&scenario);
    }
}

/// TaggerDraft section 7.2, scenario 1.
#[test]
fn a_routing_loop_takes_a_neighbour_down_only_without_tags() {
    for xoff in [20, 100, 500] {
        let mut scenario = scenario("routing-loop");
        scenario.switches.threshold = Some(ThresholdSpec::Fixed {
            xoff: Size(Bytes::new(xoff * 1_000)),
            xon: Size(Bytes::new((xoff - 3) * 1_000)),
        });
        let (with, without) = with_and_without(&scenario);
        assert_eq!(
            (with.deadlocks, with.lossless_drops, without.lossless_drops),
            (0, 0, 0)
        );
        assert!(
            near(with.flow("flow2").unwrap().gbps, 10.0),
            "not concerned"
        );
        let sent = 5.0 * 1500.0 / 1524.0;
        assert!(
            near(with.flow("flow1").unwrap().gbps_at_end, sent),
            "mended"
        );
        assert_eq!(without.deadlocks, 1);
        let mut switches = without.deadlock[0].switches.clone();
        switches.sort();
        assert_eq!(switches, ["leaf2", "spine1"]);
        assert!(without.gbps_at_end() < 0.01, "and it stays");
    }
}

/// The deadlock outlives its cause: a lossy flow over the same switches, by routes that go wrong
/// and are mended with those of flow 1, shows that the loop is gone while flow 2 still stands.
#[test]
fn a_deadlock_stays_when_its_cause_is_mended() {
    let mut scenario = scenario("routing-loop");
    let network = its_network(&scenario);
    let more = Scenario::from_yaml(
        "
name: probe
duration: 10ms
flows:
  - { name: probe, from: h1, to: h5, path: [leaf1, spine1, leaf3], rate: 1Gbps, lossy: true }
events:
  - { at: 1ms, route: { switch: spine1, to: probe, via: leaf2 } }
  - { at: 1ms, route: { switch: leaf2, to: probe, via: spine1 } }
",
    )
    .unwrap();
    scenario.flows.extend(more.flows);
    scenario.events.extend(more.events);
    scenario.tags = false;
    let report = play(&network, &scenario);
    let deadlock = &report.deadlock[0];
    assert!(
        (1_000.0..5_000.0).contains(&deadlock.closed_us),
        "after the loop came and before it went: {deadlock:?}"
    );
    let probe = report.flow("probe").unwrap();
    assert!(
        near(probe.gbps_at_end, 1.0),
        "the loop is mended: {probe:?}"
    );
    assert!(
        (0.55..0.65).contains(&probe.gbps),
        "but was there for 4 ms of 10: {probe:?}"
    );
    for flow in ["flow1", "flow2"] {
        assert_eq!(report.flow(flow).unwrap().gbps_at_end, 0.0, "{flow}");
    }
    assert!(report.stuck_queues >= deadlock.circle.len());
}

/// Tagger17, Figs. 2 and 3.
#[test]
fn bounces_deadlock_without_tags_and_not_with_them() {
    bounces("bounce", ["p1a2", "p2a1", "spine1", "spine2"]);
}

/// The same with two layers and eight switches.
#[test]
fn bounces_at_leaves_deadlock_without_tags_and_not_with_them() {
    bounces("bounce-leaf-spine", ["leaf2", "leaf3", "spine1", "spine2"]);
}

/// Over a range of thresholds and of times between the failures. The cycle is named, and
/// the deadlock outlives its cause; with tags every flow has its max-min share.
fn bounces(name: &str, cycle: [&str; 4]) {
    let scenario = scenario(name);
    let network = its_network(&scenario);
    let names: Vec<&str> = scenario
        .flows
        .iter()
        .filter_map(|f| f.name.as_deref())
        .collect();
    for (xoff, second_us) in [
        (100, 2_000),
        (80, 2_000),
        (250, 2_000),
        (100, 1_300),
        (100, 2_777),
    ] {
        let mut scenario = scenario.clone();
        scenario.switches.threshold = Some(ThresholdSpec::Fixed {
            xoff: Size(Bytes::new(xoff * 1_000)),
            xon: Size(Bytes::new((xoff - 3) * 1_000)),
        });
        for event in &mut scenario.events {
            if event.at.0.get() == 2_000_000 {
                event.at = Time(Nanos::new(second_us * 1_000));
            }
        }
        let case = format!("XOFF {xoff} KB, second failure at {second_us} us");
        scenario.seed = xoff + second_us;
        scenario.tags = false;
        let without = play(&network, &scenario);
        assert_eq!(
            (without.deadlocks, without.lossless_drops),
            (1, 0),
            "{case}"
        );
        let mut switches = without.deadlock[0].switches.clone();
        switches.sort();
        assert_eq!(switches, cycle, "{case}");
        let closed = without.deadlock[0].closed_us;
        assert!(
            closed > second_us as f64,
            "{case}: after the second failure"
        );
        assert!(
            without.stuck_queues >= 4,
            "{case}: it stays when all is mended"
        );
        assert!(without.flows.iter().all(|f| f.gbps_at_end < 0.01), "{case}");

        // Under the failures, and after them.
        scenario.tags = true;
        for (mended, at_ms) in [(false, 5), (true, 0)] {
            let mut scenario = scenario.clone();
            if !mended {
                scenario.duration = Time(Nanos::new(6_000_000));
                scenario.measure_from = Some(Time(Nanos::new(3_000_000)));
            }
            let with = play(&network, &scenario);
            assert_eq!(
                (with.deadlocks, with.stuck_queues, with.lossless_drops),
                (0, 0, 0),
                "{case}"
            );
            let paths: Vec<_> = names
                .iter()
                .map(|n| whole(links(&scenario, n, at_ms)))
                .collect();
            for (name, share) in names.iter().zip(max_min(&paths, line_rate(&scenario))) {
                let flow = with.flow(name).unwrap();
                let got = if mended { flow.gbps_at_end } else { flow.gbps };
                assert!(near(got, share), "{case}: {share} {flow:?}");
            }
        }
    }
}

/// TaggerDraft section 7.1: what is paused stops without a loss, what is not goes on; and section
/// 6.3: with EG_PRIO tied to ING_PRIO packets are lost.
#[test]
fn pauses_cross_a_change_of_priority() {
    for (name, classes) in [
        ("lossless-transition-1", 1),
        ("lossless-transition-2", 1),
        ("lossless-transition-3", 2),
    ] {
        let mut scenario = scenario(name);
        let network = its_network(&scenario);
        let report = play(&network, &scenario);
        assert_eq!((report.deadlocks, report.lossless_drops), (0, 0), "{name}");
        let (flow1, flow2) = (report.flow("flow1").unwrap(), report.flow("flow2").unwrap());
        assert!(
            flow2.gbps_at_end < 0.01,
            "{name}: flow 2 is paused: {flow2:?}"
        );
        assert!(flow2.arrived > 1_000, "{name}: and was not before");
        match classes {
            1 => assert!(near(flow1.gbps, 10.0), "{name}: {flow1:?}"),
            _ => assert!(
                flow1.gbps_at_end < 0.01 && flow2.bytes > 2 * flow1.bytes,
                "{name}"
            ),
        }
        scenario.switches.tied_priorities = true;
        let tied = play(&network, &scenario);
        assert!(
            tied.lossless_drops > 0,
            "{name}: tied priorities lose packets"
        );
    }
}

/// TaggerDraft section 7.2, scenario 2.
#[test]
fn three_flows_over_a_cycle_stand_still_only_without_tags() {
    let scenario = scenario("three-flows");
    for xoff in [250, 400, 800] {
        let mut scenario = scenario.clone();
        scenario.seed = xoff;
        scenario.switches.threshold = Some(ThresholdSpec::Fixed {
            xoff: Size(Bytes::new(xoff * 1_000)),
            xon: Size(Bytes::new((xoff - 3) * 1_000)),
        });
        let (with, without) = with_and_without(&scenario);
        assert_eq!(
            (with.deadlocks, with.lossless_drops, without.lossless_drops),
            (0, 0, 0)
        );
        let names = ["ABC", "BCA", "CAB"];
        let paths: Vec<_> = names
            .iter()
            .map(|n| whole(links(&scenario, n, 0)))
            .collect();
        for (name, share) in names.iter().zip(max_min(&paths, line_rate(&scenario))) {
            let flow = with.flow(name).unwrap();
            assert!(near(flow.gbps, share), "XOFF {xoff} KB: {share} {flow:?}");
        }
        assert_eq!(without.deadlocks, 1);
        assert_eq!(
            without.deadlock[0].cycle,
            [
                "A:3->B priority 3",
                "B:4->C priority 3",
                "C:1->A priority 3"
            ]
        );
        // It stays when nobody sends any more.
        let mut ended = scenario.clone();
        ended.tags = false;
        for flow in &mut ended.flows {
            flow.stop = Some(Time(Nanos::new(2_000_000)));
        }
        let ended = play(&its_network(&ended), &ended);
        assert_eq!(
            (ended.deadlocks, ended.stuck_queues),
            (1, without.stuck_queues)
        );
        assert!(without.flows.iter().all(|flow| flow.gbps_at_end < 0.01));
    }
}

/// TaggerDraft section 7.4: the bottleneck stays full; the class that is joined by bounced packets
/// pays.
#[test]
fn reused_priorities_keep_the_link_full() {
    let mut scenario = scenario("priority-reuse");
    let full = 40.0 * 1500.0 / 1524.0;
    let play = |scenario: &Scenario, priorities| {
        let network = its_network(scenario);
        let carrying = network.plan().tagging().priorities.len();
        assert_eq!(carrying, priorities, "priorities that carry both users");
        let report = play(&network, scenario);
        assert_eq!((report.deadlocks, report.lossless_drops), (0, 0));
        assert!(near(report.gbps, full), "{:?}", report.flows);
        report
    };
    let reused = play(&scenario, 3);
    for (name, part) in [("flow1", 4.0), ("flow2", 2.0), ("flow3", 4.0)] {
        let flow = reused.flow(name).unwrap();
        assert!(near(flow.gbps, full / part), "{flow:?}");
    }
    // What it is compared with: user 2 keeps away from where user 1 bounces to, for one priority
    // more. The link is no fuller, but flow 3 has a third of it.
    let plan = &mut scenario.network.as_mut().unwrap().plan;
    plan.classes = Some(3);
    scenario.flows[2].class = 2;
    let apart = play(&scenario, 4);
    assert!(near(apart.flow("flow3").unwrap().gbps, full / 3.0));
}

/// The same network, scenario and seed give the same figures and the same pictures.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    let network = network(&clos(3, 2, 2), &TaggerOptions::default());
    let text = "
name: mixed
duration: 300us
rate: 10Gbps
switches: { ecn: { kmin: 20KB, kmax: 60KB, pmax: 0.5 } }
flows:
  - { pattern: all-to-all, transport: dcqcn, bytes: 100KB }
  - { from: h1, to: h6, transport: bolt, spray: true }
  - { from: h2, to: h6, transport: dctcp, lossy: true }
  - { from: h3, to: h6, rate: 3Gbps, on: 20us, off: 30us }
events:
  - { at: 100us, fail: leaf1-spine1 }
  - { at: 120us, reroute: local }
  - { at: 160us, reroute: converged }
  - { at: 200us, restore: leaf1-spine1 }
  - { at: 210us, reroute: converged }
";
    let run = |seed| {
        let mut scenario = Scenario::from_yaml(text).unwrap();
        scenario.seed = seed;
        let outcome = simulate(&network, &scenario, true).unwrap();
        let plots = outcome.plots.unwrap();
        assert_eq!(outcome.report.lossless_drops, 0);
        (
            serde_json::to_string(&outcome.report).unwrap(),
            plots.page(&outcome.report, "").unwrap(),
            plots,
        )
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first.0, run(2).0, "the seed picks paths");
    // The picture of the wait-for graph too.
    let deadlock = || {
        let mut scenario = scenario("routing-loop");
        scenario.tags = false;
        let outcome = simulate(&network, &scenario, true).unwrap();
        let plots = outcome.plots.unwrap();
        assert!(plots.deadlock.is_some());
        (serde_json::to_string(&outcome.report).unwrap(), plots)
    };
    assert_eq!(deadlock(), deadlock());
}

/// Where only the switches at failed links react, packets that come back are sent on by another
/// way: none goes round until its TTL ends.
#[test]
fn local_rerouting_loses_no_packet_that_has_a_way() {
    let of = |topology: &str, failed: &[&str]| {
        let fail = |link: &&str| format!("  - {{ at: 100us, fail: {link} }}\n");
        let failed: String = failed.iter().map(fail).collect();
        let text = format!(
            "
name: local
network:
  topology: {topology}
  plan: {{ bounces: 1 }}
duration: 2ms
rate: 40Gbps
seed: 7001
flows:
  - {{ name: p, pattern: permutation, spray: true, rate: 4Gbps, stop: 500us }}
events:
{failed}  - {{ at: 110us, reroute: local }}
"
        );
        let scenario = Scenario::from_yaml(&text).unwrap();
        play(&its_network(&scenario), &scenario)
    };
    let clos = "{ clos: { leaves: 4, spines: 2, hosts: 2 } }";
    let wide = "{ clos: { leaves: 4, spines: 3, hosts: 2 } }";
    let fat_tree = "{ fat-tree: { k: 4 } }";
    for (topology, failed) in [
        (clos, &["leaf4-spine2"][..]),
        (clos, &["leaf1-spine1", "leaf4-spine2"]),
        (wide, &["leaf4-spine2", "leaf4-spine3"]),
        (fat_tree, &["p1a1-core1"]),
        (fat_tree, &["p1e1-p1a1"]),
    ] {
        let report = of(topology, failed);
        assert_eq!(
            report.losses.program, 0,
            "{topology} {failed:?}: {:?}",
            report.losses
        );
        assert!(report.flows.iter().all(|flow| flow.bytes > 0));
    }
}

/// Window and rate control share a bottleneck; TCP-Bolt keeps queues short enough for ECN and loses
/// nothing.
#[test]
fn congestion_control_shares_a_bottleneck() {
    let network = network(&clos(2, 1, 4), &TaggerOptions::default());
    for transport in ["dctcp", "bolt", "dcqcn"] {
        let text = format!(
            "
name: incast
duration: 20ms
measure_from: 5ms
rate: 10Gbps
switches: {{ ecn: {{ kmin: 30KB, kmax: 30KB }} }}
flows:
  - {{ name: a, from: h1, to: h5, transport: {transport} }}
  - {{ name: b, from: h2, to: h5, transport: {transport} }}
"
        );
        let report = play(&network, &Scenario::from_yaml(&text).unwrap());
        assert_eq!(report.lossless_drops, 0);
        let full = 10.0 * 1500.0 / 1524.0;
        assert!(report.gbps > 0.85 * full, "{transport}: {:?}", report.flows);
        assert!(
            report.flows.iter().all(|f| f.gbps > 0.3 * full),
            "{transport}: {:?}",
            report.flows
        );
        assert!(report.flows.iter().all(|f| f.marked > 0), "{transport}");
    }
}

#[test]
fn wrong_scenarios_are_refused_with_the_place() {
    let network = network(&clos(3, 2, 2), &TaggerOptions::default());
    let cases: [(&str, &str); 34] = [
        (
            "duration: 0ms\nflows:\n  - { from: h1, to: h3 }\n",
            "duration",
        ),
        ("flows: []\n", "flows"),
        ("flows:\n  - { from: h1, to: nobody }\n", "nobody"),
        ("flows:\n  - { from: h1, to: h1 }\n", "itself"),
        ("flows:\n  - { from: h1, to: h3, rate: 0Gbps }\n", "rate 0"),
        ("flows:\n  - { from: h1, to: h3, class: 4 }\n", "class 4"),
        (
            "flows:\n  - { from: h1, to: h3, path: [leaf2] }\n",
            "must begin at `leaf1`",
        ),
        ("flows:\n  - { from: h1, to: h3, colour: red }\n", "colour"),
        ("rate: 0bps\nflows:\n  - { from: h1, to: h3 }\n", "rate"),
        (
            "switches: { buffer: 10KB }\nflows:\n  - { from: h1, to: h3 }\n",
            "headroom",
        ),
        (
            "switches: { threshold: { xoff: 1GB, xon: 1KB } }\nflows:\n  - { from: h1, to: h3 }\n",
            "XOFF",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 1ms, fail: leaf1-leaf2 }\n",
            "no link",
        ),
        ("flows:\n  - { from: h1, to: h3, every: 1us }\n", "`times`"),
        (
            "flows:\n  - { from: h1, to: h3, every: 1ns, times: 4000000000 }\n",
            "4000000000 flows",
        ),
        (
            "flows:\n  - { from: h1, to: h3, paths: [[leaf1]] }\n",
            "`path`",
        ),
        (
            "flows:\n  - { pattern: permutation, paths: [[leaf1, spine1, leaf2]] }\n",
            "none of its paths",
        ),
        (
            "flows:\n  - { from: h1, to: h3, path: [leaf1:1, spine1, leaf2] }\n",
            "at port 1",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 2ms, fail: leaf1-spine1 }\n",
            "events[0] (fail leaf1-spine1): it happens at 2ms, but the simulation ends at 1ms",
        ),
        (
            "flows:\n  - { name: late, from: h1, to: h3, start: 1500us }\n",
            "flow `late`: it starts at 1500us",
        ),
        (
            "flows:\n  - { from: h1, to: h3, start: 20us, stop: 10us }\n",
            "not after its start",
        ),
        (
            "measure_from: 1ms\nflows:\n  - { from: h1, to: h3 }\n",
            "measure_from",
        ),
        ("sample: 0\nflows:\n  - { from: h1, to: h3 }\n", "sample"),
        (
            "flows:\n  - { name: a, from: h1, to: h3 }\n  - { name: a, from: h2, to: h3 }\n",
            "`a` already",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 0ms, pause: { host: h1, priority: 1, lasts: 0us } }\n",
            "no time",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 0ms, pause: { host: h9, priority: 1, lasts: 1us } }\n",
            "h9",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 0ms, pause: { host: h1, priority: 0, lasts: 1us } }\n",
            "priority 0",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 0ms, route: { switch: leaf9, to: h3, via: spine1 } }\n",
            "leaf9",
        ),
        (
            "flows:\n  - { from: h1, to: h3 }\nevents:\n  - { at: 0ms }\n",
            "exactly one",
        ),
        (
            "switches: { threshold: { xoff: 10KB, xon: 20KB } }\nflows:\n  - { from: h1, to: h3 }\n",
            "XON",
        ),
        (
            "switches: { threshold: { alpha: 0 } }\nflows:\n  - { from: h1, to: h3 }\n",
            "alpha",
        ),
        (
            "switches: { ecn: { kmin: 20KB, kmax: 10KB } }\nflows:\n  - { from: h1, to: h3 }\n",
            "kmin",
        ),
        (
            "switches: { scheduler: { wrr: [1, 1, 0, 1, 1, 1, 1, 1] } }\nflows:\n  - { from: h1, to: h3 }\n",
            "weight",
        ),
        (
            "switches: { pause_quanta: 0 }\nflows:\n  - { from: h1, to: h3 }\n",
            "0 quanta",
        ),
        (
            "flows:\n  - { from: h1, to: h3, rate: 10 parsecs }\n",
            "does not end with a unit of a rate",
        ),
    ];
    for (text, says) in cases {
        let duration = if text.contains("duration") {
            ""
        } else {
            "duration: 1ms\n"
        };
        let text = format!("name: wrong\n{duration}{text}");
        let error = match Scenario::from_yaml(&text) {
            Err(error) => error.to_string(),
            Ok(scenario) => simulate(&network, &scenario, false)
                .unwrap_err()
                .to_string(),
        };
        assert!(error.contains(says), "{text}\n{error}");
    }
}

/// Tagger17, Fig. 2, with nothing by hand: links fail, routing converges, packets bounce.
#[test]
fn failures_under_load_deadlock_without_tags_and_not_with_them() {
    let scenario = scenario("link-failures");
    let network = its_network(&scenario);
    let full = line_rate(&scenario);
    let failed: Vec<_> = scenario
        .events
        .iter()
        .filter_map(|event| event.fail.as_ref())
        .map(|name| network.topology().link_named(name).unwrap())
        .collect();
    let left = network.topology().with_failed_links(&failed);
    let uses: Vec<Use> = scenario
        .flows
        .iter()
        .map(|f| spread(&left, f.from.as_ref().unwrap(), f.to.as_ref().unwrap()))
        .collect();
    let shares = max_min(&uses, full);
    for (xoff, seed) in [(60, 1), (30, 5), (60, 3), (40, 7), (100, 5)]
        .into_iter()
        .take(if large() { 5 } else { 2 })
    {
        let mut scenario = scenario.clone();
        scenario.seed = seed;
        scenario.switches.threshold = Some(ThresholdSpec::Fixed {
            xoff: Size(Bytes::new(xoff * 1_000)),
            xon: Size(Bytes::new((xoff - 3) * 1_000)),
        });
        let case = format!("XOFF {xoff} KB, seed {seed}");
        let with = play(&network, &scenario);
        assert_eq!(
            (with.deadlocks, with.stuck_queues, with.lossless_drops),
            (0, 0, 0),
            "{case}"
        );
        // While the links are down, the shares over all shortest paths that are left.
        let mut during = scenario.clone();
        let end = Time(Nanos::new(6_000_000));
        during.duration = end;
        during.events.retain(|event| event.at <= end);
        during.measure_from = Some(Time(Nanos::new(3_000_000)));
        let bounced = play(&network, &during);
        for (flow, share) in bounced.flows.iter().zip(&shares) {
            assert!(near(flow.gbps, *share), "{case}: {share} {flow:?}");
        }
        // The links work again, every host can be reached at line rate.
        assert!(
            near(with.gbps_at_end(), 8.0 * full),
            "{case}: {:?}",
            with.flows
        );
        scenario.tags = false;
        let without = play(&network, &scenario);
        assert_eq!(
            (without.deadlocks, without.lossless_drops),
            (1, 0),
            "{case}"
        );
        let deadlock = &without.deadlock[0];
        let mut switches = deadlock.switches.clone();
        switches.sort();
        assert_eq!(switches, ["leaf2", "leaf3", "spine1", "spine2"], "{case}");
        assert!(deadlock.closed_us > 2_000.0, "{case}: after the failures");
        assert!(without.stuck_queues > 0, "{case}: it stays");
        assert!(
            without.gbps_at_end() < 0.01,
            "{case}: nothing moves any more"
        );
    }
}

/// FC23 section 6.2: with all flows between opposite switches on clockwise paths, shortest paths
/// deadlock, with DCQCN too; virtual up-down paths and edge-disjoint spanning trees do not, and the
/// proof finds that one tag carries them. Up-down paths carry more than trees.
#[test]
fn four_switches_deadlock_by_shortest_paths_only() {
    for name in ["ecmp", "virtual-up-down", "edst"] {
        let mut scenario = scenario(&format!("four-switches-{name}"));
        let one_tag = its_network(&scenario).plan().tagging().priorities.len() == 1;
        assert_eq!(one_tag, name != "ecmp", "{name}");
        for transport in [TransportSpec::Open, TransportSpec::Dcqcn] {
            scenario.flows[0].transport = transport;
            let (with, without) = with_and_without(&scenario);
            assert_eq!(with.flows.len(), 192);
            assert_eq!(
                (with.deadlocks, with.lossless_drops, without.lossless_drops),
                (0, 0, 0),
                "{name}"
            );
            if name == "ecmp" {
                assert_eq!(without.deadlocks, 1);
                let mut switches = without.deadlock[0].switches.clone();
                switches.sort();
                assert_eq!(switches, ["S1", "S2", "S3", "S4"]);
                assert!(without.gbps_at_end() < 0.01, "nothing moves any more");
            } else {
                assert_eq!((without.deadlocks, without.stuck_queues), (0, 0), "{name}");
            }
            // The fullest link carries 24 flows, of a tree 32; PFC stops a host's flows all at
            // once, so that the others, whose links are free, go in step with them.
            let fullest = if name == "edst" { 32.0 } else { 24.0 };
            let share = 50.0 * 1500.0 / 1524.0 / fullest;
            assert!(near(with.gbps, 192.0 * share), "{name}: {}", with.gbps);
            if name != "edst" {
                assert!(with.flows.iter().all(|f| near(f.gbps, share)), "{name}");
            }
        }
    }
    // With the paper's XON, two frames below XOFF, it deadlocks all the same.
    let mut paper = scenario("four-switches-ecmp");
    paper.switches.threshold = Some(ThresholdSpec::Fixed {
        xoff: Size(Bytes::new(50_000)),
        xon: Size(Bytes::new(47_000)),
    });
    let (with, without) = with_and_without(&paper);
    assert_eq!((with.deadlocks, without.deadlocks), (0, 1));
}

/// FC23 section 6.2, balanced allocation: the same circle of dependencies, but no deadlock; the
/// network is full.
#[test]
fn four_switches_with_balanced_paths_do_not_deadlock() {
    let mut scenario = scenario("four-switches-ecmp");
    // The ports of every switch that lead counter-clockwise.
    let ports = [[6, 8], [5, 7], [5, 7], [5, 7]];
    for to in 0..4 {
        // From two switches further on, over the one between.
        let (from, over) = ((to + 2) % 4, (to + 1) % 4);
        for first in ports[from] {
            for second in ports[over] {
                scenario.flows[0].paths.push(vec![
                    format!("S{}:{first}", from + 1),
                    format!("S{}:{second}", over + 1),
                    format!("S{}", to + 1),
                ]);
            }
        }
    }
    let (with, without) = with_and_without(&scenario);
    let full = 192.0 * 50.0 * 1500.0 / 1524.0 / 16.0;
    for report in [with, without] {
        assert_eq!((report.deadlocks, report.lossless_drops), (0, 0));
        assert!(near(report.gbps, full), "{}", report.gbps);
    }
}

/// TaggerDraft section 7.5: a second lossless space keeps messages from losses; without one some
/// wait for a retransmission, and where nothing may bounce none arrive.
#[test]
fn a_second_lossless_space_keeps_messages_from_losses() {
    let run = |scheme, seed| {
        let mut scenario = scenario(&format!("hierarchical-space-{scheme}"));
        scenario.seed = seed;
        let report = play(&its_network(&scenario), &scenario);
        assert_eq!(
            (report.deadlocks, report.lossless_drops),
            (0, 0),
            "{scheme}"
        );
        let messages = report
            .flows
            .iter()
            .filter(|f| f.name.starts_with("message"));
        // A message that never ends took for ever.
        let mut times: Vec<f64> = messages
            .map(|f| f.completed_us.unwrap_or(f64::INFINITY))
            .collect();
        times.sort_by(f64::total_cmp);
        assert_eq!(times.len(), 150);
        let large: f64 = report.flows[..2].iter().map(|f| f.gbps).sum();
        (times, large, report.losses.lossy)
    };
    let (lossless, straight) = (run(1, 1), run(3, 1));
    // Whose packet finds a full queue is chance: with most seeds, not with the first, it is a
    // message's too.
    let mut seeds = (1..=6)
        .map(|seed| run(2, seed))
        .inspect(|lossy| assert!(lossy.2 > 0));
    let lossy = seeds.find(|lossy| lossy.0[149] > 5_000.0);
    assert_eq!(lossless.2, 0);
    assert!(lossless.0[149] < 2_000.0, "{:?}", lossless.0);
    let lossy = lossy.expect("a lost packet costs a timeout");
    assert!(straight.0[0].is_infinite() && straight.1 < 0.01);
    assert!(
        lossless.1 > 20.0 && lossy.1 > 20.0,
        "{} {}",
        lossless.1,
        lossy.1
    );
}

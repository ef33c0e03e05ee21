//! The papers' scenarios in virtual time: deadlocks that form without tags and not with them, pauses that
//! cross a change of priority, shares. The scenario files are those of `examples/scenarios`.
#![allow(clippy::unwrap_used, clippy::panic)]

use switchwright::plan::check;
use switchwright::scheme::{self, TaggerOptions};
use switchwright::simulate::{Report, Scenario, Size, simulate};
use switchwright::target::embedded::Network;
use switchwright::topology::Topology;
use switchwright::topology::generate::{Cables, Clos, ThreeLayerClos};
use units::{BitRate, Bytes};

fn network(topology: &Topology, options: &TaggerOptions) -> Network {
    let tables = scheme::tagger(topology, options).unwrap();
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

fn pods(hosts: u16) -> Topology {
    ThreeLayerClos {
        pods: 2,
        leaves: 2,
        aggregations: 2,
        spines: 2,
        hosts,
        planes: false,
        cables: Cables::default(),
    }
    .generate()
    .unwrap()
}

fn scenario(name: &str) -> Scenario {
    let path = format!(
        "{}/examples/scenarios/{name}.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    Scenario::from_yaml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn play(network: &Network, scenario: &Scenario) -> Report {
    simulate(network, scenario, false).unwrap().report
}

fn with_and_without(network: &Network, name: &str) -> (Report, Report) {
    let mut scenario = scenario(name);
    let with = play(network, &scenario);
    scenario.tags = false;
    (with, play(network, &scenario))
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= expected * 0.05
}

/// 002 section 7.2, scenario 1.
#[test]
fn a_routing_loop_takes_a_neighbour_down_only_without_tags() {
    let network = network(&clos(3, 2, 2), &TaggerOptions::default());
    let (with, without) = with_and_without(&network, "routing-loop");
    assert_eq!(
        (with.deadlocks, with.lossless_drops, without.lossless_drops),
        (0, 0, 0)
    );
    assert!(near(with.flow("flow2").unwrap().gbps, 10.0));
    assert!(with.flow("flow1").unwrap().gbps_at_end > 4.5, "mended");
    assert_eq!(without.deadlocks, 1);
    assert!(
        without.flow("flow2").unwrap().gbps_at_end < 0.01,
        "and it stays"
    );
}

/// 002 section 7.1: what is paused stops without a loss, what is not goes on; and section 6.3: with
/// EG_PRIO tied to ING_PRIO packets are lost.
#[test]
fn pauses_cross_a_change_of_priority() {
    for (name, classes) in [
        ("lossless-transition-1", 1),
        ("lossless-transition-2", 1),
        ("lossless-transition-3", 2),
    ] {
        let options = TaggerOptions::default().with_classes(classes);
        let network = network(&clos(3, 2, 2), &options);
        let mut scenario = scenario(name);
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

/// 002 section 7.4: the bottleneck stays full; the class that is joined by bounced packets pays.
#[test]
fn reused_priorities_keep_the_link_full() {
    let options = TaggerOptions::default().with_classes(2);
    let network = network(&pods(4), &options);
    let report = play(&network, &scenario("priority-reuse"));
    assert_eq!((report.deadlocks, report.lossless_drops), (0, 0));
    let full = 40.0 * 1500.0 / 1524.0;
    assert!(near(report.gbps, full), "{:?}", report.flows);
    assert!(
        near(report.flow("flow2").unwrap().gbps, full / 2.0),
        "{:?}",
        report.flows
    );
}

/// Headroom by the calculator is never exceeded, though it is used; with less, packets are lost.
#[test]
fn headroom_is_as_the_calculator_says() {
    let network = network(&clos(3, 2, 2), &TaggerOptions::default());
    let mut scenario = scenario("lossless-transition-1");
    let report = play(&network, &scenario);
    assert_eq!(report.lossless_drops, 0);
    let used = report
        .switches
        .iter()
        .map(|s| s.headroom_peak_bytes)
        .max()
        .unwrap();
    assert!(used > 0);
    scenario.switches.headroom = Some(Size(Bytes::new(used - 1_500)));
    assert!(play(&network, &scenario).lossless_drops > 0);
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
            plots.throughput,
            plots.pauses,
        )
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first.0, run(2).0, "the seed picks paths");
}

/// Window and rate control share a bottleneck; TCP-Bolt keeps queues short enough for ECN and loses nothing.
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
    let cases: [(&str, &str); 12] = [
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

/// At least ten million packets, and not one lossless drop: 128 hosts of a fat-tree, permutation, PFC.
/// `cargo test --release --test simulate -- --ignored` runs it.
#[test]
#[ignore = "minutes; run it in release"]
fn ten_million_packets_without_a_drop() {
    let topology = switchwright::topology::generate::FatTree {
        k: 8,
        cables: Cables {
            host_rate: BitRate::gbps(40),
            fabric_rate: BitRate::gbps(40),
            ..Cables::default()
        },
    };
    let network = network(&topology.generate().unwrap(), &TaggerOptions::default());
    let text = "name: permutation\nduration: 28ms\nflows:\n  - { pattern: permutation }\n";
    let report = play(&network, &Scenario::from_yaml(text).unwrap());
    assert!(report.packet_hops >= 10_000_000, "{}", report.packet_hops);
    assert_eq!((report.lossless_drops, report.deadlocks), (0, 0));
}

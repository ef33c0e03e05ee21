//! Transports on the network: round trips, first windows, slow start, timeouts, ranked queues.

use simulator::simulate::{FlowReport, SimulationReport};
use spec::Scenario;

use super::{its_network, play};

/// A fat-tree of 16 hosts with links of 10 Gb/s and round trips of 240 us.
const FAT_TREE: &str = "
name: transports
network:
  topology: { fat-tree: { k: 4 } }
  cables: { fabric_rate: 10Gbps, host_rate: 10Gbps }
  plan: { bounces: 0 }
round_trip: 240us
";

fn run(rest: &str) -> SimulationReport {
    let scenario = Scenario::from_yaml(&format!("{FAT_TREE}{rest}")).unwrap();
    play(&its_network(&scenario), &scenario)
}

fn flow<'a>(report: &'a SimulationReport, name: &str) -> &'a FlowReport {
    report.flow(name).unwrap()
}

#[test]
fn a_round_trip_is_as_long_as_the_scenario_says_however_far_hosts_are() {
    let report = run("
duration: 5ms
flows:
  - { name: near, from: h1, to: h2, transport: tcp, bytes: 1MB }
  - { name: far, from: h5, to: h16, transport: tcp, bytes: 1MB }
");
    for name in ["near", "far"] {
        let measured = flow(&report, name).round_trip_us.unwrap();
        assert!(
            (measured.least - 240.0).abs() < 0.05,
            "{name}: {measured:?}"
        );
        assert!(measured.most >= measured.least && measured.mean <= measured.most + 1e-6);
    }
    let text = format!("{FAT_TREE}duration: 1ms\nflows: [{{ from: h1, to: h16 }}]\n");
    let scenario = Scenario::from_yaml(&text.replace("240us", "10us")).unwrap();
    let error =
        simulator::simulate::simulate(&its_network(&scenario), &scenario, false).unwrap_err();
    assert!(
        error.to_string().contains("even if hosts take no time"),
        "{error}"
    );
}

#[test]
fn jitter_lengthens_round_trips_by_what_was_drawn_and_keeps_packets_in_order() {
    let rest = "
duration: 5ms
jitter: 20us
flows:
  - { name: f, from: h5, to: h16, transport: tcp, bytes: 1MB, first_window: 200 }
";
    let report = run(rest);
    let found = flow(&report, "f");
    let measured = found.round_trip_us.unwrap();
    // Two hosts draw, 10 us each on average.
    assert!(measured.least >= 239.9, "{measured:?}");
    assert!(measured.mean > measured.least + 0.1 && measured.most < 700.0);
    // What overtakes would be answered three times over, and sent again.
    assert_eq!((found.sent, found.arrived), (667, 667));
    let again = run(rest);
    assert_eq!(flow(&again, "f").completed_us, found.completed_us);
    let without = run(&rest.replace("jitter: 20us", ""));
    assert!(found.completed_us > flow(&without, "f").completed_us);
}

/// Packets that a window lets go in each round trip, by arithmetic alone: 1.2192 us a packet, 240
/// us a round.
fn expected_us(first: u64, packets: u64) -> f64 {
    let (mut window, mut left, mut rounds) = (first, packets, 0.0);
    while left > window && window < 197 {
        left -= window;
        window *= 2;
        rounds += 1.0;
    }
    // The last frame is on its way for half a round trip.
    rounds * 240.0 + left as f64 * 1.2192 + 120.0
}

#[test]
fn a_small_first_window_costs_round_trips_and_a_large_one_does_not() {
    let report = run("
duration: 6ms
flows:
  - { name: slow, from: h1, to: h5, transport: tcp, bytes: 150KB }
  - { name: fast, from: h2, to: h6, transport: tcp, first_window: 200, slow_start: false, bytes: 150KB, start: 2ms }
  - { name: bolt, from: h3, to: h7, transport: bolt, bytes: 150KB, start: 4ms }
");
    let time = |name| flow(&report, name).completed_us.unwrap();
    let near = |name, expected: f64| {
        let found: f64 = time(name);
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{name}: {found} us, not {expected}"
        );
    };
    near("slow", expected_us(10, 100));
    near("fast", expected_us(200, 100));
    near("bolt", expected_us(200, 100));
    // 10, 20, 40 and 30 packets: three round trips more.
    assert!(time("slow") > time("fast") + 2.9 * 240.0 - 80.0);
}

#[test]
fn without_slow_start_a_window_grows_by_a_packet_in_a_round_trip() {
    let scenario = |slow_start: bool| {
        run(&format!(
            "
duration: 2.5ms
flows:
  - {{ name: flow, from: h1, to: h5, transport: tcp, first_window: 10, slow_start: {slow_start} }}
"
        ))
    };
    // Ten round trips: 10 + 11 + ... packets, one less each where a window is not quite whole yet;
    // or doubling up to line rate.
    let linear = flow(&scenario(false), "flow").arrived;
    assert!((135..=145).contains(&linear), "{linear}");
    assert!(flow(&scenario(true), "flow").arrived > 800);
}

#[test]
fn the_last_frame_is_as_short_as_what_is_left() {
    let report = run("
duration: 1ms
flows:
  - { name: flow, from: h1, to: h5, transport: tcp, bytes: 2000 }
  - { name: tiny, from: h2, to: h6, transport: tcp, bytes: 10 }
");
    assert_eq!(
        (flow(&report, "flow").bytes, flow(&report, "flow").arrived),
        (2_000, 2)
    );
    assert_eq!(flow(&report, "tiny").bytes, 74, "the shortest frame");
    assert_eq!(report.losses.program, 0);
}

/// Eight hosts send to one at once: what they begin with is more than its queue holds.
fn incast(switches: &str, sender: &str) -> SimulationReport {
    let flows: String = (2..=9)
        .map(|host| format!("  - {{ name: f{host}, from: h{host}, to: h1, lossy: true, bytes: 60KB, {sender} }}\n"))
        .collect();
    run(&format!(
        "
duration: 60ms
switches: {{ {switches} }}
flows:
{flows}"
    ))
}

#[test]
fn timeouts_are_as_short_as_they_may_be() {
    let slowest = |sender: &str| {
        let report = incast("lossy_limit: 30KB, headroom: 0B", sender);
        assert!(report.losses.lossy > 0);
        let times = report.flows.iter().map(|flow| flow.completed_us.unwrap());
        times.fold(0.0, f64::max)
    };
    let patient =
        slowest("transport: tcp, first_window: 40, fast_retransmit: false, min_rto: 10ms");
    let quick = slowest("transport: tcp, first_window: 40, fast_retransmit: false, min_rto: 1ms");
    assert!(
        patient > 10_000.0 && quick < patient / 2.0,
        "{quick} {patient}"
    );
    let repaired = slowest("transport: tcp, first_window: 40, min_rto: 10ms");
    assert!(repaired <= patient, "{repaired} {patient}");
}

#[test]
fn ranked_queues_let_the_shortest_flow_through() {
    let flows = "
flows:
  - { name: long, from: h2, to: h1, lossy: true }
  - { name: longer, from: h3, to: h1, lossy: true, start: 1us }
  - { name: short, from: h4, to: h1, lossy: true, bytes: 30KB, start: 3ms, transport: pfabric }
";
    let text = |switches: &str| {
        format!("\nduration: 6ms\nswitches: {{ headroom: 0B, {switches} }}{flows}")
    };
    let ranked = run(&text("ranked: 22.5KB"));
    let plain = run(&text("lossy_limit: 22.5KB"));
    let time =
        |report: &SimulationReport| flow(report, "short").completed_us.unwrap_or(f64::INFINITY);
    // 20 packets, half a round trip, and at most the packet that was on the wire before each.
    assert!(
        time(&ranked) < 120.0 + 21.0 * 1.22 + 6.0,
        "{}",
        time(&ranked)
    );
    assert!(time(&plain) > time(&ranked) + 100.0, "{}", time(&plain));
    let evicted: u64 = ranked
        .switches
        .iter()
        .flat_map(|s| &s.classes)
        .map(|c| c.evicted)
        .sum();
    assert!(evicted > 0 && ranked.losses.lossy >= evicted);
    assert_eq!(ranked.losses.lossless, 0);
}

#[test]
fn spraying_does_without_fast_retransmit() {
    // Two flows over all ways: packets overtake each other where queues differ, and nothing is
    // lost.
    let report = run("
duration: 5ms
flows:
  - { name: a, from: h1, to: h5, transport: bolt, spray: true, bytes: 2MB }
  - { name: b, from: h2, to: h6, transport: bolt, spray: true, bytes: 2MB }
  - { name: c, from: h3, to: h7, transport: bolt, bytes: 2MB }
");
    for flow in &report.flows {
        assert!(flow.completed_us.is_some(), "{}", flow.name);
        assert_eq!(
            flow.sent, flow.arrived,
            "{}: nothing is sent twice",
            flow.name
        );
    }
}

#[test]
fn what_means_nothing_for_a_transport_is_refused() {
    for (flow, words) in [
        ("first_window: 3", "without a window"),
        ("transport: dcqcn, slow_start: true", "without a window"),
        (
            "transport: pfabric, fast_retransmit: true",
            "by timeouts alone",
        ),
        ("transport: tcp, first_window: 0", "never send"),
        ("transport: tcp, min_rto: 0us", "takes some time"),
    ] {
        let text = format!("{FAT_TREE}duration: 1ms\nflows: [{{ from: h1, to: h2, {flow} }}]\n");
        let error = Scenario::from_yaml(&text).unwrap_err().to_string();
        assert!(error.contains(words), "{flow}: {error}");
    }
}

//! Workloads: jobs by chance, incasts, flows one after the other, completion times.

use simulator::simulate::{SimulationReport, simulate};
use spec::Scenario;

use super::{its_network, play};

const FAT_TREE: &str = "
name: workloads
network:
  topology: { fat-tree: { k: 4 } }
  cables: { fabric_rate: 10Gbps, host_rate: 10Gbps }
  plan: { bounces: 0 }
round_trip: 240us
duration: 50ms
";

fn run(workloads: &str) -> SimulationReport {
    let scenario = Scenario::from_yaml(&format!("{FAT_TREE}workloads:\n{workloads}")).unwrap();
    play(&its_network(&scenario), &scenario)
}

#[test]
fn incasts_arrive_as_often_as_they_should_and_an_undisturbed_one_takes_the_optimum() {
    // So few that they hardly ever meet: 16 hosts, 40 ms.
    let report = run("
  - { name: incasts, arrivals: { poisson: 100 }, servers: 10, sizes: [2KB, 4KB, 8KB], transport: bolt, stop: 40ms }
");
    let workload = &report.workloads[0];
    assert!((40..90).contains(&workload.jobs), "{} of 64", workload.jobs);
    let sizes: Vec<u64> = workload.completions.iter().map(|c| c.bytes).collect();
    assert_eq!(sizes, [2_000, 4_000, 8_000]);
    for found in &workload.completions {
        assert_eq!(found.unfinished, 0);
        // Ten answers share a link: 240 us for the request and the first answer's way, then their
        // bytes.
        let bytes = 10.0 * (found.bytes as f64 + 24.0 * (found.bytes as f64 / 1_500.0).ceil());
        let optimum = 240.0 + bytes * 8.0 / 1e4;
        assert!(
            (found.optimum_us / optimum - 1.0).abs() < 0.03,
            "{found:?} {optimum}"
        );
        assert!((0.99..1.1).contains(&found.normalized.p50), "{found:?}");
    }
    let answers: u64 = workload
        .completions
        .iter()
        .map(|c| c.bytes * 10 * c.jobs as u64)
        .sum();
    assert_eq!(workload.bytes, answers);
    assert_eq!(report.lossless_drops, 0);
}

#[test]
fn closed_loops_have_one_flow_per_host_at_a_time() {
    let report = run("
  - { name: background, arrivals: { closed: 1ms }, sizes: [100KB], transport: bolt, stop: 45ms }
");
    let found = &report.workloads[0].completions[0];
    // A flow takes 200 us and more, and a round trip and half a millisecond pass before the next:
    // fewer than 45 / (0.2 + 0.5).
    let most = 16.0 * 45.0 / 0.7;
    assert!(
        (found.jobs as f64) < most && found.jobs as f64 > most / 3.0,
        "{}",
        found.jobs
    );
    assert_eq!(found.unfinished, 0);
    assert!(found.times_us.p50 >= found.optimum_us * 0.999, "{found:?}");
    // 100 KB at 10 Gb/s, and half a round trip.
    assert!(
        (found.optimum_us - 201.3).abs() < 2.0,
        "{}",
        found.optimum_us
    );
    assert!(found.normalized.p50 < found.normalized.p99);
}

#[test]
fn jobs_are_the_same_whatever_the_transport_and_the_same_seed_gives_the_same_bytes() {
    let incasts = |transport: &str| {
        format!("
  - {{ name: incasts, arrivals: {{ poisson: 400 }}, servers: 5, sizes: [2KB, 8KB], {transport}, stop: 40ms }}
  - {{ name: background, arrivals: {{ closed: 1ms }}, sizes: [64KB, 256KB], {transport} }}
")
    };
    let of = |text: &str| run(text).workloads;
    let bolt = of(&incasts("transport: bolt"));
    let lossy = of(&incasts("transport: tcp, lossy: true"));
    let jobs = |all: &[simulator::simulate::WorkloadReport]| {
        all[0]
            .completions
            .iter()
            .map(|c| c.jobs)
            .collect::<Vec<_>>()
    };
    assert_eq!(jobs(&bolt), jobs(&lossy));
    let text = |all| serde_json::to_string(all).unwrap();
    assert_eq!(text(&bolt), text(&of(&incasts("transport: bolt"))));
}

#[test]
fn workloads_are_drawn_beside_flows() {
    let text = format!(
        "{FAT_TREE}
flows: [{{ name: one, from: h1, to: h2, rate: 1Gbps }}]
workloads: [{{ name: jobs, arrivals: {{ poisson: 300 }}, sizes: [20KB] }}]
"
    );
    let scenario = Scenario::from_yaml(&text).unwrap();
    let outcome = simulate(&its_network(&scenario), &scenario, true).unwrap();
    let plots = outcome.plots.unwrap();
    assert!(plots.throughput.contains(">jobs<") && plots.throughput.contains(">one<"));
    let page = plots.page(&outcome.report, "").unwrap();
    let completions = plots.completions.unwrap();
    assert!(completions.contains("jobs, 99.9 %") && page.contains(&completions));
    let report = outcome.report;
    assert_eq!(report.flows.len(), 1, "only those that are named");
    let sent = &report.workloads[0];
    assert!(sent.bytes > 0 && sent.gbps > 0.0);
    assert!((report.gbps - report.flows[0].gbps - sent.gbps).abs() < 1e-9);
}

#[test]
fn workloads_that_cannot_be_are_refused() {
    for (rest, words) in [
        ("arrivals: { poisson: 0 }, sizes: [2KB]", "above 0"),
        ("arrivals: { poisson: 5 }, sizes: []", "sizes"),
        (
            "arrivals: { poisson: 5 }, servers: 0, sizes: [2KB]",
            "0 servers",
        ),
        (
            "arrivals: { poisson: 5 }, servers: 16, sizes: [2KB]",
            "15 other hosts",
        ),
        (
            "arrivals: { poisson: 5 }, request: 80B, sizes: [2KB]",
            "asks no",
        ),
        (
            "arrivals: { closed: 1ms }, sizes: [2KB], start: 2ms, stop: 1ms",
            "before it starts",
        ),
        (
            "arrivals: { closed: 1ms }, sizes: [2KB], start: 60ms",
            "has ended",
        ),
        (
            "arrivals: { poisson: 1000000 }, sizes: [2KB], servers: 10, class: 1",
            "would make",
        ),
        (
            "arrivals: { poisson: 5 }, sizes: [2KB], class: 1",
            "class 1",
        ),
        (
            "arrivals: { poisson: 5 }, sizes: [2KB], min_rto: 1ms",
            "without a window",
        ),
    ] {
        let text = format!("{FAT_TREE}workloads: [{{ name: odd, {rest} }}]\n");
        let error = match Scenario::from_yaml(&text) {
            Err(error) => error.to_string(),
            Ok(scenario) => {
                let network = its_network(&scenario);
                simulate(&network, &scenario, false)
                    .unwrap_err()
                    .to_string()
            }
        };
        assert!(error.contains(words), "{rest}: {error}");
    }
}

//! Any number of threads and parts gives the same bytes: report and pictures.

use std::fmt::Write as _;
use std::sync::LazyLock;

use proptest::prelude::*;
use quantities::Nanos;
use simulator::embedded::Network;
use simulator::simulate::{Threads, Windows, simulate_shared};
use spec::{BUNDLED, Scenario, Time};

use super::{its_network, large};

/// Everything that comes out, as text, and how it was shared; or what is wrong.
fn all_of(network: &Network, scenario: &Scenario, threads: Threads) -> (String, Windows) {
    let progress = std::sync::Arc::default();
    let shared = simulate_shared(network, scenario, true, threads, &progress);
    let (outcome, windows) = match shared {
        Ok(shared) => shared,
        // Routes around failures that leave a host without a way.
        Err(error) => return (error.to_string(), Windows::default()),
    };
    let mut text = serde_json::to_string_pretty(&outcome.report).unwrap();
    let plots = outcome.plots.unwrap();
    write!(text, "{plots:#?}").unwrap();
    (text, windows)
}

/// Where two texts differ first, with the line before.
fn difference<'a>(one: &'a str, other: &'a str) -> Option<[&'a str; 2]> {
    let mut lines = one.lines().zip(other.lines());
    lines
        .find(|(a, b)| a != b)
        .map(|(a, b)| [a, b])
        .or_else(|| (one.len() != other.len()).then_some(["", "one is longer"]))
}

/// The networks of the random scenarios.
static NETWORKS: LazyLock<Vec<(&str, Network)>> = LazyLock::new(|| {
    let of = |network: &'static str| {
        let text = format!(
            "name: x\nduration: 1us\nnetwork: {network}\nworkloads: [{{ name: a, arrivals: {{ poisson: 1 }}, sizes: [1KB] }}]\n"
        );
        (network, its_network(&Scenario::from_yaml(&text).unwrap()))
    };
    let cables = "cables: { fabric_rate: 10Gbps, host_rate: 10Gbps";
    let short = "fabric_length: 3, host_length: 0";
    let all = [
        format!("{{ topology: {{ fat-tree: {{ k: 4 }} }}, {cables} }}, plan: {{ bounces: 1 }} }}"),
        format!(
            "{{ topology: {{ clos: {{ leaves: 4, spines: 2, hosts: 2 }} }}, {cables}, {short} }} }}"
        ),
        format!(
            "{{ topology: {{ ring: {{ switches: 5, hosts: 2 }} }}, {cables} }}, plan: {{ algorithm: brute-force, routes: {{ policy: shortest }} }} }}"
        ),
        format!(
            "{{ topology: {{ fat-tree: {{ k: 4 }} }}, {cables}, {short} }}, plan: {{ scheme: plinko, lossless: rising, resilience: 1, seed: 7 }} }}"
        ),
    ];
    all.into_iter().map(|text| of(text.leak())).collect()
});

/// Numbers of which a scenario is made.
struct Draws<'a>(std::slice::Iter<'a, u32>);

impl Draws<'_> {
    fn below(&mut self, count: u32) -> u32 {
        self.0.next().copied().unwrap_or(0) % count
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u32) as usize]
    }

    fn sender(&mut self) -> String {
        let transport = self.one(&["open", "tcp", "dctcp", "bolt", "dcqcn", "pfabric"]);
        let lossy = self.below(3) == 0;
        let spray = self.below(3) == 0;
        format!("transport: {transport}, lossy: {lossy}, spray: {spray}")
    }
}

/// A scenario of flows, jobs, failures and pauses.
fn made(network: &str, host_names: &[String], links: &[String], draws: &[u32]) -> String {
    let mut draw = Draws(draws.iter());
    let mut text = format!(
        "name: random\nduration: 400us\nnetwork: {network}\nseed: {}\ntags: {}\n",
        draw.below(1_000),
        draw.below(4) != 0
    );
    text += draw.one(&["", "jitter: 3us\n"]);
    text += draw.one(&["", "round_trip: 80us\n"]);
    let watchdog = "watchdog: { detection: 60us, restoration: 40us, poll: 20us";
    text += &match draw.below(3) {
        0 => String::new(),
        1 => format!("{watchdog} }}\n"),
        _ => format!("{watchdog}, action: forward }}\n"),
    };
    let buffer = draw.one(&[
        "",
        "threshold: { xoff: 20KB, xon: 17KB }",
        "threshold: { alpha: 0.1 }",
    ]);
    let marks = draw.one(&["", "ecn: { kmin: 5KB, kmax: 20KB, pmax: 0.5 }"]);
    let lossy = draw.one(&["", "lossy_limit: 20KB", "ranked: 20KB"]);
    let parts: Vec<&str> = [buffer, marks, lossy]
        .into_iter()
        .filter(|p| !p.is_empty())
        .collect();
    writeln!(text, "switches: {{ {} }}", parts.join(", ")).unwrap();
    text += "flows:\n";
    match draw.below(3) {
        0 => writeln!(text, "  - {{ pattern: permutation, {} }}", draw.sender()).unwrap(),
        1 => writeln!(
            text,
            "  - {{ pattern: all-to-all, bytes: 30KB, {} }}",
            draw.sender()
        )
        .unwrap(),
        _ => {}
    }
    for number in 0..=draw.below(4) {
        let from = draw.below(host_names.len() as u32) as usize;
        let to = (from + 1 + draw.below(host_names.len() as u32 - 1) as usize) % host_names.len();
        let size = draw.one(&[
            "",
            ", bytes: 3KB, every: 40us, times: 4",
            ", bytes: 100KB",
            ", on: 30us, off: 20us",
        ]);
        let (from, to) = (&host_names[from], &host_names[to]);
        writeln!(
            text,
            "  - {{ name: f{number}, from: {from}, to: {to}, start: {}us, {}{size} }}",
            draw.below(100),
            draw.sender()
        )
        .unwrap();
    }
    text += "workloads:\n";
    for number in 0..=draw.below(3) {
        let arrivals = draw.one(&["poisson: 5000", "closed: 20us", "closed: 0us"]);
        let servers = draw.one(&["", ", servers: 3"]);
        writeln!(
            text,
            "  - {{ name: w{number}, arrivals: {{ {arrivals} }}, sizes: [2KB, 9KB]{servers}, {} }}",
            draw.sender()
        )
        .unwrap();
    }
    text += "events:\n";
    let mut at = 30;
    for _ in 0..=draw.below(4) {
        let link = &links[draw.below(links.len() as u32) as usize];
        let host = &host_names[draw.below(host_names.len() as u32) as usize];
        match draw.below(4) {
            0 => writeln!(
                text,
                "  - {{ at: {at}us, pause: {{ host: {host}, priority: 3, lasts: 120us }} }}"
            )
            .unwrap(),
            1 if !network.contains("plinko") => {
                let how = draw.one(&["local", "converged"]);
                writeln!(
                    text,
                    "  - {{ at: {at}us, fail: {link} }}\n  - {{ at: {at}us, reroute: {how} }}"
                )
                .unwrap();
            }
            _ => writeln!(
                text,
                "  - {{ at: {at}us, fail: {link} }}\n  - {{ at: {}us, restore: {link} }}",
                at + 35
            )
            .unwrap(),
        }
        at += 20 + draw.below(50);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if large() { 200 } else { 6 }))]

    #[test]
    fn random_scenarios_come_out_the_same(
        network in 0usize..4,
        draws in proptest::collection::vec(any::<u32>(), 80),
    ) {
        let (about, network) = &NETWORKS[network];
        let topology = network.plan().topology();
        let hosts: Vec<String> = topology.hosts().iter().map(|host| host.name.clone()).collect();
        let links: Vec<String> = topology
            .links()
            .iter()
            .filter(|link| [link.a, link.b].iter().all(|end| matches!(end.node, topology::NodeId::Switch(_))))
            .map(|link| format!("{}-{}", topology.node_name(link.a.node), topology.node_name(link.b.node)))
            .collect();
        let text = made(about, &hosts, &links, &draws);
        let scenario = Scenario::from_yaml(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let (alone, _) = all_of(network, &scenario, Threads::new(1));
        for threads in [Threads::new(2), Threads::new(8), Threads { threads: 2, parts: 5 }] {
            let (shared, windows) = all_of(network, &scenario, threads);
            prop_assert_eq!(difference(&alone, &shared), None, "{:?}\n{}", windows, text);
            prop_assert!(alone.len() < 200 || windows.windows > 0, "{:?}", windows);
        }
    }
}

/// A scenario until shortly after its last event and the start of its last flow: what comes then is
/// more of the same.
fn shortened(scenario: &Scenario) -> Scenario {
    let events = scenario.events.iter().map(|event| event.at.0.get());
    let starts = scenario
        .flows
        .iter()
        .filter_map(|flow| Some(flow.start?.0.get()));
    let last = events.chain(starts).max();
    let end = last.map_or(0, |last| last + 300_000).max(1_000_000);
    let end = end.min(scenario.duration.0.get());
    Scenario {
        duration: Time(Nanos::new(end)),
        measure_from: scenario.measure_from.filter(|from| from.0.get() < end),
        ..scenario.clone()
    }
}

#[test]
fn scenarios_that_come_along_come_out_the_same() {
    for (number, (name, text)) in BUNDLED.iter().enumerate() {
        let scenario = shortened(&Scenario::from_yaml(text).unwrap());
        let network = its_network(&scenario);
        let tagged = scenario.tags.then_some(true);
        for tags in tagged.into_iter().chain([false]) {
            let scenario = Scenario {
                tags,
                ..scenario.clone()
            };
            let (alone, whole) = all_of(&network, &scenario, Threads::new(1));
            let (shared, windows) = all_of(&network, &scenario, Threads::new(2 + number % 3));
            assert_eq!(difference(&alone, &shared), None, "{name}: {windows:?}");
            assert_eq!((whole.parts, whole.windows), (1, 0), "{name}: {alone}");
            assert!(windows.parts > 1, "{name}: {windows:?}");
        }
    }
}

/// Where no time passes between switches, nobody can work ahead: they are one part.
#[test]
fn cables_of_no_length_are_not_cut() {
    let text = "
name: short
duration: 50us
network: { topology: { line: { switches: 3, hosts: 1 } }, cables: { fabric_length: 0, host_length: 0 } }
flows: [{ pattern: permutation }]
";
    let scenario = Scenario::from_yaml(text).unwrap();
    let network = its_network(&scenario);
    let (alone, _) = all_of(&network, &scenario, Threads::new(1));
    let (shared, windows) = all_of(&network, &scenario, Threads::new(3));
    assert_eq!(difference(&alone, &shared), None);
    assert_eq!((windows.parts, windows.threads), (1, 1));
}

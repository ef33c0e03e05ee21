//! Losslessness under pressure: a million packets, or ten, and not one lost, headroom that is just
//! enough, and what happens when it is one frame less.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::large;
use plan::{check, headroom};
use quantities::{BitRate, Bytes, Metres};
use schemes::TaggerOptions;
use simulator::embedded::Network;
use simulator::simulate::{ClassReport, SimulationReport, simulate};
use spec::{Scenario, Size};
use topology::generate::{Cables, Clos};

fn clos(leaves: u32, spines: u32, hosts: u16, length: Metres) -> Network {
    let rate = BitRate::gbps(40);
    let cables = Cables {
        host_rate: rate,
        fabric_rate: rate,
        host_length: length,
        fabric_length: length,
    };
    let topology = Clos {
        leaves,
        spines,
        hosts,
        parallel: 1,
        cables,
    };
    let tables = schemes::tagger(&topology.generate().unwrap(), &TaggerOptions::default()).unwrap();
    Network::of(check(tables, &check::Options::default()).unwrap()).unwrap()
}

fn play(network: &Network, scenario: &str) -> SimulationReport {
    let scenario = Scenario::from_yaml(scenario).unwrap();
    simulate(network, &scenario, false).unwrap().report
}

fn classes(report: &SimulationReport) -> impl Iterator<Item = &ClassReport> {
    report.switches.iter().flat_map(|s| &s.classes)
}

/// The most of any headroom that was used.
fn peak(report: &SimulationReport) -> u64 {
    classes(report)
        .map(|c| c.headroom_peak_bytes)
        .max()
        .unwrap()
}

/// Lossless packets that arrived.
fn lossless(report: &SimulationReport) -> u64 {
    let flows = report.flows.iter().filter(|f| f.priority.get() > 0);
    flows.map(|f| f.arrived).sum()
}

/// Full load, incasts that come and go, a host that pauses its switch, and lossy packets that PFC
/// frames wait behind: nothing lossless is lost, whatever is lossy. Two networks at once, for there
/// are two cores.
#[test]
fn of_a_million_packets_none_is_lost() {
    let packets = if large() { 10_000_000 } else { 1_000_000 };
    let pressure = |micros: f64, hosts: u32, seed: u32| {
        let last = 2 * hosts;
        format!(
            "
name: pressure
duration: {micros:.0}us
seed: {seed}
switches: {{ threshold: {{ xoff: 60KB, xon: 50KB }}, lossy_limit: 100KB }}
flows:
  - {{ pattern: permutation }}
  - {{ from: h1, to: h{last}, on: 30us, off: 70us }}
  - {{ from: h2, to: h{last}, on: 45us, off: 35us, packet: 700 }}
  - {{ from: h{hosts}, to: h{last}, transport: dcqcn, rate: 20Gbps }}
  - {{ from: h{last}, to: h2, lossy: true }}
  - {{ from: h3, to: h2, lossy: true, on: 200us, off: 100us }}
events:
  - {{ at: 1ms, pause: {{ host: h{last}, priority: 3, lasts: 300us }} }}
  - {{ at: 2ms, pause: {{ host: h2, priority: 3, lasts: 200us }} }}
"
        )
    };
    // As long as a short run shows that half of the packets take.
    let run = |network: Network, hosts, seed| {
        const TRIAL: f64 = 5_000.0;
        let pace = lossless(&play(&network, &pressure(TRIAL, hosts, seed))) as f64 / TRIAL;
        play(
            &network,
            &pressure(0.55 * packets as f64 / pace, hosts, seed),
        )
    };
    let reports = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(clos(2, 2, 4, Metres::new(100)), 4, 1));
        let other = scope.spawn(|| run(clos(2, 3, 6, Metres::new(20)), 6, 2));
        [one.join().unwrap(), other.join().unwrap()]
    });
    let sent: u64 = reports.iter().map(lossless).sum();
    assert!(sent >= packets, "{sent}");
    for report in &reports {
        assert_eq!((report.lossless_drops, report.deadlocks), (0, 0));
        assert_eq!(classes(report).map(|c| c.lossless_drops).sum::<u64>(), 0);
        assert!(classes(report).all(|c| c.headroom_peak_bytes <= c.headroom_bytes));
        let pauses: u64 = report.switches.iter().map(|s| s.pauses_sent).sum();
        assert!(pauses > packets / 1_000, "PFC had to work: {pauses}");
        assert!(peak(report) > 0);
        assert!(report.losses.lossy > 0, "lossy packets had to give way");
    }
}

/// A sender at full rate into a switch whose way on is paused, while frames go back to the sender
/// one after the other: the PFC frame has to wait for one of them, as long as `phase` says.
fn fill(network: &Network, phase: u64, headroom: Option<u64>) -> SimulationReport {
    let text = format!(
        "
name: worst case
duration: 60us
switches: {{ threshold: {{ xoff: 51KB, xon: 48KB }} }}
flows:
  - {{ name: forth, from: h1, to: h3, path: [leaf1, spine1, leaf2] }}
  - {{ name: back, from: h4, to: h2, path: [leaf2, spine1, leaf1], lossy: true, start: {phase}ns }}
events:
  - {{ at: 0us, pause: {{ host: h3, priority: 3, lasts: 60us }} }}
"
    );
    let mut scenario = Scenario::from_yaml(&text).unwrap();
    scenario.switches.headroom = headroom.map(|bytes| Size(Bytes::new(bytes)));
    simulate(network, &scenario, false).unwrap().report
}

/// TaggerDraft section 3.3 with its own example: 40 Gb/s, 300 m, MTU 1500.
#[test]
fn the_calculated_headroom_is_enough_and_one_frame_less_is_not() {
    const MTU: u64 = 1_500;
    let length = Metres::new(300);
    let calculated = headroom(BitRate::gbps(40), length, Bytes::new(MTU)).get();
    assert_eq!(calculated, 21_968);
    let network = clos(3, 2, 2, length);
    // A frame takes 305 ns on the wire: all phases, in steps.
    let runs: Vec<(u64, u64)> = (0..305)
        .step_by(15)
        .map(|phase| {
            let report = fill(&network, phase, None);
            assert_eq!(report.lossless_drops, 0, "phase {phase}");
            let mut given = classes(&report).filter(|c| c.headroom_bytes > 0);
            assert!(given.all(|c| {
                c.headroom_bytes == calculated && c.headroom_peak_bytes <= calculated
            }));
            (peak(&report), phase)
        })
        .collect();
    let &(worst, phase) = runs.iter().max().unwrap();
    assert!(
        worst > calculated - MTU,
        "the worst phase needs all but the rest of a frame: {runs:?}"
    );
    let report = fill(&network, phase, Some(calculated - MTU));
    assert!(report.lossless_drops > 0, "one frame less, phase {phase}");
    let caught: Vec<&ClassReport> = classes(&report).filter(|c| c.lossless_drops > 0).collect();
    assert!(!caught.is_empty());
    assert!(caught.iter().all(|c| c.headroom_bytes == calculated - MTU));
    assert!(classes(&report).all(|c| c.headroom_peak_bytes <= c.headroom_bytes));
}

/// What waits in buffers when the senders stop still arrives, but not within the time that
/// throughput is measured over.
#[test]
fn no_host_hears_more_than_its_link_carries() {
    let network = clos(2, 2, 2, Metres::new(100));
    let report = play(
        &network,
        "
name: stop
duration: 100us
switches: { threshold: { xoff: 400KB, xon: 390KB } }
flows:
  - { from: h1, to: h4, stop: 20us }
  - { from: h2, to: h4, stop: 20us }
",
    );
    let arrived: u64 = report.flows.iter().map(|flow| flow.bytes).sum();
    // More than 40 Gb/s bring in 20 us: buffers were full at the end.
    assert!(arrived > 110_000, "{arrived}");
    assert!(report.gbps <= 40.0 && report.gbps > 30.0, "{}", report.gbps);
}

//! Failover plans under load: links fail and return while every host sends at line rate.

use std::collections::BTreeSet;

use plan::check::{FailureOptions, Options};
use plan::{NewTag, PlanError, Tables, check};
use quantities::Nanos;
use simulator::embedded::Network;
use simulator::simulate::simulate;
use spec::{Scenario, Time};
use topology::{LinkId, NodeId};

use super::{its_network, play, scenario, with_and_without};

/// All packets in one lossless class, as the simulator has them without tags: what the plan
/// becomes.
fn one_class(mut tables: Tables) -> Tables {
    let tag = tables.tagging.classes[0].initial;
    for rules in &mut tables.tagging.rules {
        for rule in rules {
            rule.tag = tag;
            rule.new_tag = NewTag::Lossless(tag);
        }
    }
    tables
}

/// A network of a failover plan; its proof over failures is other tests' business.
fn small(plan: &str) -> Network {
    let text = format!(
        "name: small\nduration: 1ms\nnetwork: {{ topology: {JELLYFISH}, plan: {{ {plan} }} }}\n\
         flows: [{{ pattern: permutation }}]\n"
    );
    let tables = Scenario::from_yaml(&text).unwrap().tables().unwrap();
    let failures = FailureOptions {
        failures: Some(0),
        ..FailureOptions::default()
    };
    let options = Options {
        failures,
        ..Options::default()
    };
    Network::of(check(tables, &options).unwrap()).unwrap()
}

/// Two disjoint trees, more ways than one.
const JELLYFISH: &str = "{ jellyfish: { switches: 8, ports: 5, fabric_ports: 4, seed: 3 } }";

/// A scenario under failures on such a network, one at a time, yet to have flows.
fn failures(network: &Network) -> String {
    let topology = network.topology();
    let between = |link: &LinkId| {
        let link = topology.link(*link);
        [link.a.node, link.b.node]
            .iter()
            .all(|node| matches!(node, NodeId::Switch(_)))
    };
    let mut links = topology.link_ids().filter(between);
    let mut name = || topology.link_name(links.next().unwrap());
    let (one, other) = (name(), name());
    format!(
        "name: small\nduration: 500us\nrate: 40Gbps\nevents:\n  \
         - {{ at: 100us, fail: {one} }}\n  - {{ at: 200us, restore: {one} }}\n  - {{ at: 300us, fail: {other} }}\n"
    )
}

#[test]
fn plinko_in_one_class_deadlocks_when_links_fail_and_not_with_rising_tags() {
    let scenario = scenario("lossless-failover-plinko");
    let (with, without) = with_and_without(&scenario);

    assert_eq!(
        (with.deadlocks, with.stuck_queues, with.lossless_drops),
        (0, 0, 0)
    );
    assert!(with.flows.iter().all(|flow| flow.gbps_at_end > 5.0));

    let deadlock = &without.deadlock[0];
    assert!(deadlock.closed_us > 500.0, "after the failures");
    assert!(deadlock.closed_us < 1_500.0, "before the links return");
    assert_eq!((without.lossless_drops, without.losses.program), (0, 0));
    assert!(without.stuck_queues >= deadlock.cycle.len(), "it stays");
    let (stands, moves) = (without.gbps_at_end(), with.gbps_at_end());
    assert!(stands < 0.7 * moves, "{stands} of {moves} Gb/s");
}

/// Packets in channels of their own move on, and use more than one.
#[test]
fn df_fi_does_not_deadlock_when_links_fail() {
    let scenario = scenario("lossless-failover-df-fi");
    let report = play(&its_network(&scenario), &scenario);
    let bad = (report.deadlocks, report.stuck_queues, report.lossless_drops);
    assert_eq!(bad, (0, 0, 0));
    assert_eq!(report.losses.program + report.losses.lossy, 0);
    assert!(report.losses.link_down > 0, "{:?}", report.losses);
    assert!(report.flows.iter().all(|flow| flow.gbps_at_end > 5.0));
    let classes = report.switches.iter().flat_map(|switch| &switch.classes);
    let carry = classes.filter(|class| class.headroom_peak_bytes > 0);
    let priorities: BTreeSet<_> = carry.map(|class| class.priority).collect();
    assert!(priorities.len() > 1, "{priorities:?}");
}

/// Counted to the last packet: what does not arrive was on a link that failed, or in the queue
/// before it.
#[test]
fn nothing_is_lost_but_with_the_links_that_fail() {
    let mut scenario = scenario("lossless-failover-plinko");
    scenario.flows[0].stop = Some(Time(Nanos::new(2_500_000)));
    let report = play(&its_network(&scenario), &scenario);
    let sent: u64 = report.flows.iter().map(|flow| flow.sent).sum();
    let arrived: u64 = report.flows.iter().map(|flow| flow.arrived).sum();
    assert!(sent > 50_000 && report.losses.link_down > 0, "{report:?}");
    assert_eq!(sent, arrived + report.losses.link_down);
}

#[test]
fn without_failures_plinko_needs_no_second_tag() {
    let mut scenario = scenario("lossless-failover-plinko");
    scenario.events.clear();
    let (with, without) = with_and_without(&scenario);
    for report in [with, without] {
        assert_eq!((report.deadlocks, report.losses.link_down), (0, 0));
        let arrived: u64 = report.flows.iter().map(|flow| flow.arrived).sum();
        assert_eq!((report.packets, report.losses.program), (arrived, 0));
    }
}

/// The proof knows what the simulator finds.
#[test]
fn one_class_for_all_ways_fails_the_proof() {
    let tables = one_class(scenario("lossless-failover-plinko").tables().unwrap());
    let refused = check(tables, &Options::default()).unwrap_err();
    let cycles = refused.errors.iter();
    let mut cycles = cycles.filter(|error| matches!(error, PlanError::Cycle(_)));
    assert!(cycles.next().is_some(), "{:?}", refused.errors);
    assert_eq!(refused.report.cbd_free, Some(false));
}

/// Hop by hop, along trees, with several routings: whatever the header, packets arrive under
/// failures, lossless or not.
#[test]
fn failover_plans_of_every_header_run_under_load() {
    for (plan, class) in [
        ("scheme: fcp, lossless: rising", "class: 0"),
        ("scheme: mpls-frr, lossless: rising", "class: 0"),
        ("scheme: plinko, lossless: rising, multipath: 2", "class: 0"),
        ("scheme: edst, lossless: rising", "class: 0"),
        ("scheme: df-fi", "class: 0"),
        ("scheme: adst", "lossy: true, rate: 5Gbps"),
        ("scheme: plinko", "lossy: true, rate: 5Gbps"),
    ] {
        let network = small(plan);
        let flows = format!("flows:\n  - {{ pattern: permutation, {class} }}\n");
        let scenario = Scenario::from_yaml(&format!("{}{flows}", failures(&network))).unwrap();
        let report = play(&network, &scenario);
        let bad = (
            report.deadlocks,
            report.lossless_drops,
            report.losses.program,
        );
        assert_eq!(bad, (0, 0, 0), "{plan}");
        for flow in &report.flows {
            assert!(flow.gbps_at_end > 1.0, "{plan}: {flow:?}");
        }
    }
}

#[test]
fn what_failover_tables_cannot_do_is_refused_with_the_place() {
    let flows = |flow: &str, more: &str| {
        format!("name: refused\nduration: 1ms\nflows:\n  - {{ from: h1, to: h3, {flow} }}\n{more}")
    };
    let plain = small("scheme: plinko");
    let rising = small("scheme: plinko, lossless: rising");
    for (network, text, says) in [
        (&plain, flows("", ""), "lossy: true"),
        (&rising, flows("class: 1", ""), "no class 1"),
        (&rising, flows("path: [s1]", ""), "no routes"),
        (
            &rising,
            flows("", "events: [{ at: 0us, reroute: local }]\n"),
            "events[0]: failover tables",
        ),
        (
            &rising,
            flows(
                "",
                "events: [{ at: 0us, route: { switch: s1, to: h3, via: s2 } }]\n",
            ),
            "events[0] (route at s1): failover tables",
        ),
    ] {
        let scenario = Scenario::from_yaml(&text).unwrap();
        let error = simulate(network, &scenario, false).unwrap_err().to_string();
        assert!(error.contains(says), "{text}\n{error}");
    }
    for (plan, says) in [
        ("scheme: plinko, bounces: 1", "`bounces`"),
        ("resilience: 1", "`resilience`"),
        ("scheme: plinko, algorithm: greedy", "`algorithm`"),
    ] {
        let text = format!(
            "network: {{ topology: three-node, plan: {{ {plan} }} }}\n{}",
            flows("", "")
        );
        let scenario = Scenario::from_yaml(&text).unwrap();
        let refused = scenario.tables().unwrap_err().to_string();
        assert!(refused.contains(says), "{plan}: {refused}");
    }
}

/// Same network, scenario and seed, same bytes; and a longer carrier asks for more headroom.
#[test]
fn headroom_holds_what_carries_the_tag() {
    let mut scenario = scenario("lossless-failover-plinko");
    scenario.duration = Time(Nanos::new(1_000_000));
    scenario.events.truncate(2);
    let network = its_network(&scenario);
    let (one, other) = (play(&network, &scenario), play(&network, &scenario));
    let json = |report| serde_json::to_string(report).unwrap();
    assert_eq!(json(&one), json(&other));
    let classes = || one.switches.iter().flat_map(|switch| &switch.classes);
    assert!(classes().all(|class| class.headroom_peak_bytes <= class.headroom_bytes));
    assert!(classes().any(|class| class.headroom_peak_bytes > 0));
}

//! Switches under SONiC: the bounce deadlocks with maps that know no tags and not with ours; what
//! the PFC watchdog is worth.

use p4gen::targets::{SONIC_8TC, Target as _};
use plan::check;
use quantities::Nanos;
use simulator::embedded::Network;
use spec::{Scenario, Time, WatchdogAction, WatchdogSpec};

use super::{its_network, play, scenario};

/// The network of a scenario under SONiC.
fn under_sonic(scenario: &Scenario) -> Network {
    let tables = scenario.tables().unwrap();
    let plan = check(tables, &check::Options::default()).unwrap();
    Network::on(plan, SONIC_8TC.capabilities()).unwrap()
}

#[test]
fn maps_keep_the_bounce_from_deadlock() {
    let mut scenario = scenario("bounce");
    let network = under_sonic(&scenario);
    let with = play(&network, &scenario);
    assert_eq!((with.deadlocks, with.lossless_drops), (0, 0));
    scenario.tags = false;
    let without = play(&network, &scenario);
    assert_eq!(without.deadlocks, 1);
    assert_eq!(without.lossless_drops, 0);
    // The same as the program with rules does.
    let ruled = its_network(&scenario);
    let without_rules = play(&ruled, &scenario);
    assert_eq!(without.deadlock[0].cycle, without_rules.deadlock[0].cycle);
    scenario.tags = true;
    let with_rules = play(&ruled, &scenario);
    let bytes = |report: &simulator::simulate::SimulationReport| -> Vec<u64> {
        report.flows.iter().map(|flow| flow.bytes).collect()
    };
    assert_eq!(bytes(&with), bytes(&with_rules));
}

/// The bounce with a watchdog whose times are a hundredth of SONiC's, so that a run is short.
fn watched(action: WatchdogAction) -> Scenario {
    let time = Some(Time(Nanos::new(2_000_000)));
    Scenario {
        tags: false,
        duration: Time(Nanos::new(30_000_000)),
        watchdog: Some(WatchdogSpec {
            detection: time,
            restoration: time,
            poll: time,
            action,
        }),
        ..scenario("bounce")
    }
}

#[test]
fn a_watchdog_breaks_a_deadlock_and_drops_what_is_innocent() {
    let dropping = watched(WatchdogAction::Drop);
    let network = its_network(&dropping);
    let plain = play(
        &network,
        &Scenario {
            watchdog: None,
            ..dropping.clone()
        },
    );
    assert!(plain.stuck_queues > 0 && plain.watchdog.is_none());
    let report = play(&network, &dropping);
    let watchdog = report.watchdog.unwrap();
    assert!(watchdog.storms > 0 && watchdog.restored > 0, "{watchdog:?}");
    assert!(watchdog.dropped > 0);
    assert_eq!(report.stuck_queues, 0);
    // What the deadlock stopped moves again.
    let at_end = |report: &simulator::simulate::SimulationReport| -> f64 {
        report.flows.iter().map(|flow| flow.gbps_at_end).sum()
    };
    assert!(at_end(&report) > 40.0 && at_end(&plain) < 1.0);
    let report = play(&network, &watched(WatchdogAction::Forward));
    let forwarding = report.watchdog.unwrap();
    assert!(forwarding.storms > 0 && report.stuck_queues == 0);
    // It throws nothing away itself; what overruns headroom then is lost all the same.
    assert_eq!(forwarding.dropped, 0);
}

/// The deadlock is there after 2.4 ms. At 4 ms queues that stand still have sent since the look
/// before; at 8 ms they have not.
#[test]
fn a_watchdog_needs_two_looks() {
    let time = Time(Nanos::new(4_000_000));
    for (end, found) in [(7_000_000, false), (9_000_000, true)] {
        let mut scenario = watched(WatchdogAction::Drop);
        scenario.duration = Time(Nanos::new(end));
        scenario.watchdog = Some(WatchdogSpec {
            detection: Some(time),
            restoration: Some(time),
            poll: Some(time),
            action: WatchdogAction::Drop,
        });
        let report = play(&its_network(&scenario), &scenario);
        assert_eq!(report.deadlocks, 1);
        assert_eq!(report.watchdog.unwrap().storms > 0, found, "{end}");
    }
}

#[test]
fn a_watchdog_that_polls_slower_than_it_detects_is_refused() {
    let text = "name: x\nduration: 1ms\nwatchdog: { detection: 1ms, poll: 2ms }\nflows: [{ from: a, to: b }]\n";
    let error = Scenario::from_yaml(text).unwrap_err().to_string();
    assert!(error.contains("watchdog"), "{error}");
}

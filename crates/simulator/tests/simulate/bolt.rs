//! TCP-Bolt beside plain PFC: shares of ports, head-of-line blocking.

use super::*;

/// Stephens15 Fig. 2.1: PFC shares by port; TCP-Bolt by flow.
#[test]
fn bolt_mends_the_unfairness_between_ports() {
    let mut scenario = scenario("port-fairness");
    let network = its_network(&scenario);
    let full = 10.0 * 1500.0 / 1524.0;
    let mut run = |transport| {
        let flows = scenario.flows.iter_mut();
        flows.for_each(|flow| flow.transport = transport);
        play(&network, &scenario)
    };
    for transport in [TransportSpec::Tcp, TransportSpec::Open] {
        let pfc = run(transport);
        for (name, share) in [
            ("B", 2.0),
            ("H1", 8.0),
            ("H2", 8.0),
            ("H3", 8.0),
            ("H4", 8.0),
        ] {
            assert!(
                near(pfc.flow(name).unwrap().gbps, full / share),
                "{:?}",
                pfc.flows
            );
        }
    }
    let bolt = run(TransportSpec::Bolt);
    assert_eq!(bolt.lossless_drops, 0);
    assert!(near(bolt.gbps, full));
    for flow in &bolt.flows {
        assert!(
            (flow.gbps / (full / 5.0) - 1.0).abs() < 0.25,
            "{:?}",
            bolt.flows
        );
    }
}

/// Stephens15 Fig. 2.2: PFC blocks a flow whose way is free; TCP-Bolt lets it have what is left.
#[test]
fn bolt_mends_head_of_line_blocking() {
    let scenario = scenario("head-of-line");
    let network = its_network(&scenario);
    let full = 10.0 * 1500.0 / 1524.0;
    let mut during = scenario.clone();
    during.duration = Time(Nanos::new(50_000_000));
    let pfc = play(&network, &during);
    for flow in &pfc.flows {
        assert!(near(flow.gbps, full / 4.0), "{:?}", pfc.flows);
    }
    let after = play(&network, &scenario);
    assert!(near(after.flow("A-D").unwrap().gbps_at_end, full));
    let flows = during.flows.iter_mut();
    flows.for_each(|flow| flow.transport = TransportSpec::Bolt);
    let bolt = play(&network, &during);
    assert_eq!(bolt.lossless_drops, 0);
    let gbps = |name| bolt.flow(name).unwrap().gbps;
    assert!(near(gbps("A-C") + gbps("A-D"), full), "{:?}", bolt.flows);
    assert!(gbps("A-D") > 0.7 * full, "{:?}", bolt.flows);
    for name in ["A-C", "H1-C", "H2-C", "H3-C"] {
        let share = bolt.flow(name).unwrap().gbps / (full / 4.0);
        assert!((0.6..1.4).contains(&share), "{:?}", bolt.flows);
    }
}

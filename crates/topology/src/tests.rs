//! What a topology refuses, the file format, lookups.

use proptest::prelude::*;

use super::generate::{Bcube, Cables, Clos, FatTree, Jellyfish, JellyfishSize, ThreeNode};
use super::*;

const PAIR: &str = r#"{
  "format": "switchwright-topology", "version": 1, "name": "pair",
  "switches": [{"name": "s1", "ports": 3}, {"name": "s2", "ports": 3}],
  "hosts": [{"name": "h1"}, {"name": "h2"}],
  "links": [
    {"a": "s1:1", "b": "h1:0"},
    {"a": "s2:1", "b": "h2:0"},
    {"a": "s1:2", "b": "s2:2", "rate_gbps": 0.1, "length_m": 7},
    {"a": "s1:3", "b": "s2:3", "up": false}
  ]
}"#;

#[test]
fn what_is_left_out_of_a_file_is_derived() {
    let pair = Topology::from_json(PAIR).unwrap();
    let host = pair.host(HostId::new(1));
    assert_eq!(host.ipv4.to_string(), "10.0.1.1");
    assert_eq!(pair.links()[2].rate.get(), 100_000_000);
    assert_eq!(pair.links()[0].length.get(), 10);
    assert!(!pair.links()[3].up);
    insta::assert_snapshot!(pair.to_json());
}

#[test]
fn every_fault_of_a_file_is_named_with_its_place() {
    let cases = [
        (
            r#""version": 1"#,
            r#""version": 7"#,
            "the topology file's version is 7, but this program reads version 1; use a newer program",
        ),
        (
            r#""switchwright-topology""#,
            r#""other""#,
            r#"this is no topology file: its `format` is "other", and must be "switchwright-topology""#,
        ),
        (
            r#""s2:2""#,
            r#""s2:1""#,
            "port 1 of `s2` is used twice, by links[1] (s2:1 - h2:0) and by links[2] (s1:2 - s2:1); give one of them another port",
        ),
        (
            r#""s2:2""#,
            r#""s2:9""#,
            "links[2] (s1:2 - s2:9): switch `s2` has no port 9, only 1 to 3; correct the link or raise the switch's `ports`",
        ),
        (
            r#""s2:2""#,
            r#""s9:2""#,
            "links[2].b (s1:2 - s9:2): `s9:2` ends at `s9`, but there is no switch or host of that name; add it or correct the link",
        ),
        (
            r#""s2:2""#,
            r#""s2""#,
            "links[2].b (s1:2 - s2): `s2` is not an endpoint; write a node and its port, as in s1:3",
        ),
        (
            r#""s2:2""#,
            r#""s1:3""#,
            "links[2] (s1:2 - s1:3) joins `s1` to itself; remove it",
        ),
        (
            r#""s1:1", "b""#,
            r#""h2:1", "b""#,
            "links[0] (h2:1 - h1:0) joins two hosts; put a switch between them",
        ),
        (
            r#""name": "s2""#,
            r#""name": "s1""#,
            "the name `s1` is used by two nodes; switches and hosts share one name space, rename one",
        ),
        (
            r#"{"name": "h2"}"#,
            r#"{"name": "h2"}, {"name": "h2"}"#,
            "the name `h2` is used by two nodes; switches and hosts share one name space, rename one",
        ),
        (
            r#"{"name": "h2"}"#,
            r#"{"name": "h2"}, {"name": "h3"}"#,
            "host `h3` has no link; add one or remove the host",
        ),
        (
            r#"{"name": "s2", "ports": 3}"#,
            r#"{"name": "s2", "ports": 3}, {"name": "s3", "ports": 3}"#,
            "switch `s3` is not connected to the rest of the network (down links count as connections); add a link or remove the switch",
        ),
        (
            r#"{"name": "h2"}"#,
            r#"{"name": "h2", "mac": "xx"}"#,
            "hosts[1].mac (h2): `xx` is not an Ethernet address; write six bytes in hexadecimal, as in 02:00:0a:00:00:01",
        ),
        (
            "0.1",
            "-1",
            "links[2].rate_gbps (s1:2 - s2:2): `-1` is not a rate; write gigabits per second above 0, as in 100 or 0.1",
        ),
    ];
    for (from, to, expected) in cases {
        let text = PAIR.replacen(from, to, 1);
        assert_ne!(text, PAIR, "{from}");
        let error = Topology::from_json(&text).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn faults_of_json_give_line_and_column() {
    let unknown = PAIR.replacen(r#""ports": 3"#, r#""port": 3"#, 1);
    let error = Topology::from_json(&unknown).unwrap_err().to_string();
    assert!(
        error.contains("unknown field `port`") && error.contains("line 3"),
        "{error}"
    );
    let cut = Topology::from_json(&PAIR[..100]).unwrap_err().to_string();
    assert!(cut.contains("line 3"), "{cut}");
}

#[test]
fn links_to_nodes_outside_the_vectors_do_not_panic() {
    let end = |node| Endpoint {
        node,
        port: 1.into(),
    };
    let link = Link {
        a: end(NodeId::Switch(SwitchId::new(0))),
        b: end(NodeId::Switch(SwitchId::new(5))),
        rate: quantities::BitRate::gbps(1),
        length: 1.into(),
        up: true,
        virtual_layers: None,
        ocs: None,
        assumed: AssumedOfLink::default(),
    };
    let topology = Topology::new("t".into(), vec![Switch::new("s1", 1)], vec![], vec![link]);
    assert!(matches!(topology, Err(TopologyError::DanglingLink { .. })));
}

#[test]
fn hosts_and_subnets_may_not_share_addresses() {
    let text = PAIR
        .replacen(
            r#"{"name": "h1"}"#,
            r#"{"name": "h1", "ipv4": "10.0.0.1"}"#,
            1,
        )
        .replacen(
            r#"{"name": "h2"}"#,
            r#"{"name": "h2", "ipv4": "10.0.0.1"}"#,
            1,
        );
    let error = Topology::from_json(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "hosts `h1` and `h2` both have the address 10.0.0.1; give one of them another"
    );
    let subnet = |ipv4: &str| {
        format!(
            r#""ports": 3, "subnet": {{"ipv4": "{ipv4}", "ipv6": "fd00::/{}"}}"#,
            if ipv4.ends_with("16") { 112 } else { 120 }
        )
    };
    let text = PAIR
        .replacen(r#""ports": 3"#, &subnet("10.1.0.0/16"), 1)
        .replacen(
            r#""s2", "ports": 3"#,
            &format!(r#""s2", {}"#, subnet("10.1.2.0/24")),
            1,
        )
        .replacen(
            r#"{"name": "h1"}"#,
            r#"{"name": "h1", "ipv4": "10.1.3.1"}"#,
            1,
        );
    let error = Topology::from_json(&text).unwrap_err().to_string();
    assert!(
        error.contains("subnets of switches `s1` and `s2` overlap in 10.1.2.0/24"),
        "{error}"
    );
}

#[test]
fn the_schema_describes_the_file() {
    let schema = serde_json::to_string_pretty(&Topology::json_schema()).unwrap();
    insta::assert_snapshot!(schema);
}

#[test]
fn links_are_found_by_their_ends() {
    let pair = Topology::from_json(PAIR).unwrap();
    assert_eq!(pair.link_named("s1:2-s2:2"), Ok(LinkId::new(2)));
    assert_eq!(pair.link_named("s2-s1:3"), Ok(LinkId::new(3)));
    assert_eq!(pair.link_named("h1-s1"), Ok(LinkId::new(0)));
    assert_eq!(pair.link_name(LinkId::new(2)), "s1:2-s2:2");
    let message = |text: &str| pair.link_named(text).unwrap_err().to_string();
    assert_eq!(
        message("s1-s2"),
        "`s1-s2` means any of `s1:2-s2:2`, `s1:3-s2:3`; say which by its ports"
    );
    assert_eq!(
        message("h1-s2"),
        "there is no link `h1-s2`; `h1` is linked to s1"
    );
    assert_eq!(
        message("s1"),
        "`s1` is not a link; write its ends, as in `s1-s2` or `s1:3-s2:1`; `s1` is linked to h1, s2"
    );
    let unknown = pair.switch_named("h1").unwrap_err().to_string();
    assert_eq!(unknown, "there is no switch `h1`; there are s1, s2");
}

#[test]
fn node_names_may_hold_dashes() {
    let text = PAIR.replace("s1", "a-b").replace("s2", "c");
    let topology = Topology::from_json(&text).unwrap();
    assert_eq!(topology.link_named("a-b:2-c"), Ok(LinkId::new(2)));
}

#[test]
fn failed_links_and_switches_are_not_live() {
    let topology = ThreeNode::default().generate().unwrap();
    let link = topology.link_named("A-B").unwrap();
    let failed = topology.with_failed_links(&[link]);
    assert!(topology.is_live(link) && !failed.is_live(link));
    assert_eq!(Fabric::new(&failed).arcs().len(), 4);
    let failed = topology.with_failed_switches(&[topology.switch_named("C").unwrap()]);
    assert_eq!(Fabric::new(&failed).arcs().len(), 2);
}

fn any_topology() -> impl Strategy<Value = Topology> {
    let cables = Cables::default();
    prop_oneof![
        (1u32..6, 1u32..5, 0u16..4, 1u16..3).prop_map(move |(leaves, spines, hosts, parallel)| {
            Clos {
                leaves,
                spines,
                hosts,
                parallel,
                cables,
            }
            .generate()
        }),
        (1u16..4).prop_map(move |half| FatTree {
            k: 2 * half,
            cables
        }
        .generate()),
        (2u16..4, 0u16..3).prop_map(move |(n, k)| Bcube { n, k, cables }.generate()),
        (3u32..9, 2u16..5, any::<u64>()).prop_map(move |(switches, fabric_ports, seed)| {
            let size = JellyfishSize::Switches {
                switches,
                fabric_ports,
            };
            Jellyfish {
                size,
                ports: fabric_ports + 2,
                seed,
                cables,
            }
            .generate()
        }),
    ]
    .prop_filter_map("a valid topology", Result::ok)
}

proptest! {
    #[test]
    fn a_file_round_trips(topology in any_topology(), failed in any::<u64>()) {
        let failed: Vec<_> = topology.link_ids().filter(|l| failed >> (l.index() % 64) & 1 == 1).collect();
        let topology = topology.with_failed_links(&failed);
        let text = topology.to_json();
        let back = Topology::from_json(&text).unwrap();
        prop_assert_eq!(&back, &topology);
        prop_assert_eq!(back.to_json(), text);
    }

    #[test]
    fn arcs_and_their_reverses_belong_together(topology in any_topology()) {
        let fabric = Fabric::new(&topology);
        for switch in fabric.switch_ids() {
            for (id, arc) in fabric.out_arcs(switch) {
                let back = fabric.arc(fabric.reverse(id));
                prop_assert_eq!((arc.from, arc.out_port, arc.link), (back.to, back.in_port, back.link));
                prop_assert_eq!(fabric.arc_at(switch, arc.out_port), Some(id));
            }
        }
    }
}

#[test]
fn schema_file_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&Topology::json_schema()).unwrap();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/topology.schema.json"
    );
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, schema.clone() + "\n").unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        written.trim_end(),
        schema,
        "run this test with UPDATE_SCHEMA=1"
    );
}

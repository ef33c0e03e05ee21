//! Foreign files, good and bad.

use quantities::PortId;

use super::*;
use crate::{HostId, NodeId, SwitchId};

fn read(text: &str) -> Imported {
    import(text, &ImportOptions::default()).unwrap()
}

fn refused(text: &str) -> String {
    import(text, &ImportOptions::default())
        .unwrap_err()
        .to_string()
}

const P4APP: &str = include_str!("../../../../examples/topologies/p4app.json");
const TUTORIAL: &str = include_str!("../../../../examples/topologies/tutorials-topology.json");

#[test]
fn tutorials_topologies_keep_ports_and_addresses() {
    let imported = read(TUTORIAL);
    assert_eq!(imported.format, ImportFormat::Tutorials);
    insta::assert_snapshot!(imported.topology.to_json());
}

#[test]
fn p4_utils_numbers_ports_in_order_and_addresses_by_strategy() {
    let text = P4APP;
    let imported = read(text);
    assert_eq!(imported.format, ImportFormat::P4Utils);
    insta::assert_snapshot!(imported.topology.to_json());
    for (strategy, address) in [("l2", "10.0.0.3"), ("l3", "10.2.3.2")] {
        let imported = read(&text.replace("mixed", strategy));
        assert_eq!(
            imported.topology.host(HostId::new(2)).ipv4.to_string(),
            address
        );
    }
    let odd = refused(&text.replace("mixed", "l9"));
    assert_eq!(
        odd,
        "p4-utils p4app.json: topology.assignment_strategy: `l9` is not a strategy; use l2, mixed, l3 or manual"
    );
}

#[test]
fn p4app_targets_are_read_too() {
    let text = r#"{"program": "x.p4", "targets": {"multiswitch": {
      "links": [["h1", "s1"], ["h2", "s1"]], "hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}}}}}"#;
    let imported = read(text);
    assert_eq!(imported.topology.hosts().len(), 2);
    assert_eq!(
        imported.notes,
        ["the network is that of target `multiswitch`"]
    );
}

const ZOO: &str = include_str!("../../../../examples/topologies/two-seas.graphml");

#[test]
fn graphml_takes_names_speeds_and_distances() {
    let imported = read(ZOO);
    assert_eq!(imported.format, ImportFormat::GraphMl);
    assert_eq!(
        imported.notes,
        [
            "GraphML has no hosts: every node was given 1",
            "1 links of a node to itself were left out"
        ]
    );
    insta::assert_snapshot!(imported.topology.to_json());
}

#[test]
fn graphml_faults_name_the_line() {
    let text = ZOO.replace(r#"target="2" />"#, r#"target="9" />"#);
    assert_eq!(
        refused(&text),
        "GraphML: edge 2 (line 17): its target `9` is no node"
    );
    let slow = ZOO.replace(">10<", ">fast<");
    assert_eq!(
        refused(&slow),
        "GraphML: edge 0 (line 15): `fast` is not a link speed; write a number above 0"
    );
    assert!(refused("<html/>").contains("it is XML of `html`, not `graphml`"));
    assert!(refused("<graphml").starts_with("GraphML: "));
}

const LAB: &str = include_str!("../../../../examples/topologies/campus.clab.yml");

#[test]
fn containerlab_knows_clients_from_switches() {
    let imported = read(LAB);
    assert_eq!(imported.format, ImportFormat::Containerlab);
    assert_eq!(
        imported.notes,
        [
            "2 links to the outside of the lab were left out",
            "the network was recognised as a Clos of 2 layers; remove `layer` from the file if it is none",
        ]
    );
    insta::assert_snapshot!(imported.topology.to_json());
}

#[test]
fn containerlab_keeps_the_names_of_interfaces() {
    let topology = read(&LAB.replace("spine:e1-2", "spine:e2-1")).topology;
    let link = topology.link_named("leaf2:e1-49-spine:e2-1").unwrap();
    assert_eq!(topology.link_name(link), "leaf2:2-spine:2");
    let client = topology.link_named("client2:eth1-leaf2").unwrap();
    assert_eq!(topology.link_name(client), "leaf2:1-client2:0");
}

#[test]
fn a_lab_of_linux_nodes_has_its_leaves_as_hosts() {
    let text = "name: frr\ntopology:\n  defaults: {kind: linux}\n  nodes: {r1: {}, r2: {}, pc1: {}, pc2: }\n  links:\n    - endpoints: [\"r1:eth1\", \"r2:eth1\"]\n    - endpoints: [\"pc1:eth1\", \"r1:eth2\"]\n    - endpoints: [\"pc2:eth1\", \"r2:eth2\"]\n";
    let imported = read(text);
    let names: Vec<_> = imported
        .topology
        .hosts()
        .iter()
        .map(|h| h.name.as_str())
        .collect();
    assert_eq!(names, ["pc1", "pc2"]);
}

#[test]
fn faults_of_links_name_their_place() {
    assert_eq!(
        refused(&TUTORIAL.replace("s1-p2", "s9-p2")),
        "p4lang tutorials topology.json: links[2] (s9-p2 - s3-p1): there is no node `s9`; add it or correct the link"
    );
    assert_eq!(
        refused(&TUTORIAL.replace("s1-p2", "s1-p1")),
        "p4lang tutorials topology.json: links[2] (s1-p1 - s3-p1): port 1 of `s1` is used twice, here and by links[0] (h1 - s1-p1); give one of them another port"
    );
    assert_eq!(
        refused(&TUTORIAL.replace("s1-p2", "s1-px")),
        "p4lang tutorials topology.json: links[2] (s1-px - s3-p1): `x` in `s1-px` is not a port number; write `s1-p3`"
    );
    assert_eq!(
        refused(&TUTORIAL.replace("10.0.1.1/24", "10.0.1/24")),
        "p4lang tutorials topology.json: hosts.h1: `10.0.1/24` is not an IPv4 address; write one as in 10.0.1.1/24"
    );
    assert_eq!(
        refused(&LAB.replace("leaf1:e1-49", "leaf1")),
        "containerlab topology: topology.links[0]: `leaf1` is not an endpoint; write `node:interface`"
    );
    assert!(refused("{\"a\": 1}").contains("its keys are a"));
    assert!(refused("{").contains("it is not valid JSON"));
    assert!(refused("just text").contains("no CSV whose first line names the columns a and b"));
}

#[test]
fn our_own_files_pass_through() {
    let own = read(TUTORIAL).topology;
    let again = read(&own.to_json());
    assert_eq!(
        (again.format, again.topology),
        (ImportFormat::Switchwright, own)
    );
}

#[test]
fn a_triangle_has_no_layers() {
    let text = r#"{"hosts": {"h1": {}, "h2": {}, "h3": {}}, "switches": {"s1": {}, "s2": {}, "s3": {}},
      "links": [["h1", "s1-p1"], ["h2", "s2-p1"], ["h3", "s3-p1"], ["s1-p2", "s2-p2"], ["s1-p3", "s3-p2"], ["s2-p3", "s3-p3"]]}"#;
    let imported = read(text);
    assert!(imported.notes.is_empty());
    assert!(
        imported
            .topology
            .switches()
            .iter()
            .all(|s| s.layer.is_none())
    );
}

#[test]
fn the_largest_part_of_a_broken_network_can_be_kept() {
    let text = ZOO.replace(r#"source="1" target="2""#, r#"source="0" target="1""#);
    assert!(refused(&text).contains("switch `London_2` is not connected"));
    let options = ImportOptions {
        largest_part: true,
        ..ImportOptions::default()
    };
    let imported = import(&text, &options).unwrap();
    assert_eq!(imported.topology.switches().len(), 2);
    let note = "not connected to the largest part and left out: London_2, h3".to_owned();
    assert!(imported.notes.contains(&note), "{:?}", imported.notes);
}

#[test]
fn lab_nodes_without_links_are_left_out() {
    let text = LAB.replace(
        "    client2:\n",
        "    collector: {kind: linux}\n    client2:\n",
    );
    let imported = read(&text);
    assert!(
        imported
            .notes
            .contains(&"nodes without a link were left out: collector".to_owned())
    );
}

#[test]
fn links_come_as_csv() {
    let text = "a,a_port,b,b_port,rate_gbps,length_m\n\
                # the spine\n\
                leaf1,Ethernet8,spine1,1,400,30\n\
                leaf2,Ethernet8,spine1,2,400,50\n\
                leaf1,,h1,,,\n\
                leaf2,,\"h2\",,25,3\n";
    let imported = read(text);
    assert_eq!(imported.format, ImportFormat::Csv);
    let topology = imported.topology;
    let names = |n: &[&str]| n.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let switches: Vec<_> = topology.switches().iter().map(|s| s.name.clone()).collect();
    assert_eq!(switches, names(&["leaf1", "leaf2", "spine1"]));
    let hosts: Vec<_> = topology.hosts().iter().map(|h| h.name.clone()).collect();
    assert_eq!(hosts, names(&["h1", "h2"]));
    let link = |name: &str| topology.link(topology.link_named(name).unwrap());
    let up = link("leaf1:Ethernet8-spine1:1");
    assert_eq!((up.a.port.get(), up.length.get()), (1, 30));
    assert_eq!(link("leaf2-spine1").rate.get(), 400_000_000_000);
    let down = link("leaf2-h2");
    assert_eq!((down.rate.get(), down.length.get()), (25_000_000_000, 3));
    assert_eq!(topology.switches()[2].layer, Some(1));
}

#[test]
fn csv_without_hosts_gets_them_and_kinds_are_obeyed() {
    let ring = "a,b\nx,y\ny,z\nz,x\n";
    let topology = read(ring).topology;
    assert_eq!((topology.switches().len(), topology.hosts().len()), (3, 3));
    let told = "A,B,B_kind\nx,y,switch\ny,z,switch\nx,h,host\n";
    let topology = read(told).topology;
    assert_eq!((topology.switches().len(), topology.hosts().len()), (3, 1));
}

#[test]
fn csv_errors_name_line_and_column() {
    for (text, said) in [
        (
            "a,b\nx\n",
            "line 2: has 1 cells, but the first line names 2",
        ),
        (
            "a,b\nx,y,z\n",
            "line 2: has 3 cells, but the first line names 2",
        ),
        (
            "a,b,colour\nx,y,red\n",
            "line 1, column `colour`: is not known",
        ),
        (
            "a,b,A\nx,y,z\n",
            "line 1, column `a`: says the same as column `a`",
        ),
        ("a,b\nx,\n", "line 2, column `b`: is empty"),
        (
            "a,b,rate_gbps\nx,y,-1\n",
            "line 2, column `rate_gbps`: `-1` is not a rate",
        ),
        (
            "a,b,rate\nx,y,40GB/s\n",
            "line 2, column `rate`: `40GB/s` is not a rate",
        ),
        (
            "a;b;length\nx;y;3 feet\n",
            "line 2, column `length`: `3 feet` is not a length",
        ),
        (
            "a,b,up\nx,y,maybe\n",
            "line 2, column `up`: `maybe` is not yes or no",
        ),
        (
            "a,b,a_port\nx,y,70000\n",
            "line 2, column `a_port`: `70000` is not a port",
        ),
        (
            "a,b,b_ipv4\nx,y,10.0.1\n",
            "line 2, column `b_ipv4`: `10.0.1` is not an IPv4 address",
        ),
        (
            "a,b,a_port\n# Dell\nx,y,Te 1/1\n",
            "line 3: the interface `Te 1/1` of `x`",
        ),
        ("a,b\nx,y\ny,w\n\nw,w\n", "line 5: joins `w` to itself"),
        (
            "a,a_port,b\nx,Ethernet1,y\nx,Ethernet1,z\ny,,z\n",
            "line 3: port `Ethernet1` of `x` is used twice, here and by line 2",
        ),
        (
            "a,b,b_kind\nx,y,host\nz,y,switch\n",
            "line 3: `y` is a switch in one line and a host in another",
        ),
        ("a,b,b_kind\nx,y,router\n", "router"),
    ] {
        let error = refused(text);
        assert!(
            error.starts_with("CSV of links: ") && error.contains(said),
            "{error}"
        );
    }
}

/// A configuration of a switch with two ports and two neighbours.
fn device(name: &str, neighbors: [(&str, &str); 2]) -> NamedText {
    let row = |(at, (far, port)): (usize, (&str, &str))| {
        format!(
            r#""Ethernet{}": {{"name": "{far}", "port": "{port}"}}"#,
            8 * at + 4
        )
    };
    let rows: Vec<String> = neighbors.into_iter().enumerate().map(row).collect();
    let text = format!(
        r#"{{"DEVICE_METADATA": {{"localhost": {{"hostname": "{name}"}}}},
             "PORT": {{"Ethernet12": {{"speed": "100000"}}, "Ethernet4": {{"speed": "25000"}}}},
             "CABLE_LENGTH": {{"AZURE": {{"Ethernet4": "5m", "Ethernet12": "40m"}}}},
             "DEVICE_NEIGHBOR": {{{}}}}}"#,
        rows.join(", ")
    );
    NamedText {
        name: format!("{name}/config_db.json"),
        text,
    }
}

fn fabric(files: &[NamedText]) -> Result<Imported, String> {
    import_fabric(files, &ImportOptions::default()).map_err(|error| error.to_string())
}

#[test]
fn a_fabric_comes_from_its_switches_configurations() {
    let files = [
        device("left", [("server1", "eth0"), ("right", "Ethernet12")]),
        device("right", [("server2", "eth0"), ("left", "Ethernet12")]),
    ];
    let imported = fabric(&files).unwrap();
    assert_eq!(imported.format, ImportFormat::Fabric);
    let topology = imported.topology;
    assert_eq!((topology.switches().len(), topology.hosts().len()), (2, 2));
    let left = SwitchId::new(0);
    // Ethernet4 comes before Ethernet12, and both keep their names.
    assert_eq!(topology.interface(left, PortId::new(1)), Some("Ethernet4"));
    assert_eq!(topology.interface(left, PortId::new(2)), Some("Ethernet12"));
    let between = topology.peer(left, PortId::new(2)).unwrap();
    assert_eq!(between.end.node, NodeId::Switch(SwitchId::new(1)));
    let link = topology.link(between.link);
    assert_eq!((link.rate.get(), link.length.get()), (100_000_000_000, 40));
    // Names survive the topology file.
    let again = Topology::from_json(&topology.to_json()).unwrap();
    assert_eq!(again, topology);
}

#[test]
fn neighbours_come_from_lldp_too() {
    let lldp = |name: &str, far: &str, port: &str| NamedText {
        name: format!("{name}.json"),
        text: format!(
            r#"{{"lldp": {{"interface": [
                 {{"Ethernet0": {{"chassis": {{"server-{name}": {{"id": {{"type": "mac", "value": "02:00:00:00:00:01"}}}}}},
                                  "port": {{"id": {{"type": "mac", "value": "02:00:00:00:00:02"}}}}}}}},
                 {{"Ethernet4": {{"chassis": {{"{far}": {{"id": {{"type": "mac", "value": "x"}}}}}},
                                  "port": {{"id": {{"type": "local", "value": "etp2"}}, "descr": "{port}"}}}}}}]}}}}"#
        ),
    };
    let files = [lldp("a", "b", "Ethernet4"), lldp("b", "a", "Ethernet4")];
    let topology = fabric(&files).unwrap().topology;
    assert_eq!((topology.switches().len(), topology.hosts().len()), (2, 2));
    assert_eq!(topology.links().len(), 3);
    let one = NamedText {
        name: "one.json".to_owned(),
        text: r#"{"lldp": {"interface": {"eth0": {"name": "eth0"}}}}"#.to_owned(),
    };
    let error = fabric(&[one]).unwrap_err();
    assert!(
        error.contains("one.json: lldp.interface, key `eth0`"),
        "{error}"
    );
}

#[test]
fn neighbours_come_from_lldp_as_json0_too() {
    let lldp = |name: &str, far: &str| NamedText {
        name: format!("{name}.json"),
        text: format!(
            r#"{{"lldp": [{{"interface": [
                 {{"name": "Ethernet0", "via": "LLDP", "chassis": [{{"id": [{{"type": "mac", "value": "02:00:00:00:00:0{far}"}}]}}],
                   "port": [{{"id": [{{"type": "mac", "value": "02:00:00:00:00:02"}}]}}]}},
                 {{"name": "Ethernet4", "via": "LLDP", "chassis": [{{"id": [{{"type": "mac", "value": "x"}}], "name": [{{"value": "{far}"}}]}}],
                   "port": [{{"id": [{{"type": "local", "value": "etp2"}}], "descr": [{{"value": "Ethernet4"}}]}}]}}]}}]}}"#
        ),
    };
    let topology = fabric(&[lldp("a", "b"), lldp("b", "a")]).unwrap().topology;
    let hosts: Vec<&str> = topology.hosts().iter().map(|h| h.name.as_str()).collect();
    assert_eq!(hosts, ["02-00-00-00-00-0a", "02-00-00-00-00-0b"]);
    assert_eq!((topology.switches().len(), topology.links().len()), (2, 3));
}

#[test]
fn a_fabric_in_parts_is_refused_whole_and_read_part_by_part() {
    let files = [
        device("east", [("server1", "eth0"), ("far1", "Ethernet12")]),
        device("left", [("server2", "eth0"), ("right", "Ethernet12")]),
        device("right", [("server3", "eth0"), ("left", "Ethernet12")]),
    ];
    assert!(fabric(&files).unwrap_err().contains("is not connected"));
    let parts = import_fabric_parts(&files, &ImportOptions::default()).unwrap();
    let names = |imported: &Imported| -> Vec<String> {
        let switches = imported.topology.switches().iter();
        switches.map(|switch| switch.name.clone()).collect()
    };
    assert_eq!(
        parts.iter().map(names).collect::<Vec<_>>(),
        [vec!["east"], vec!["left", "right"]]
    );
    assert_eq!(parts[1].topology.hosts().len(), 2);
}

#[test]
fn files_that_disagree_are_told_by_file_table_and_key() {
    let elsewhere = [
        device("left", [("server1", "eth0"), ("right", "Ethernet12")]),
        device("right", [("left", "Ethernet4"), ("left", "Ethernet4")]),
    ];
    let no_port = [
        device("left", [("server1", "eth0"), ("right", "Ethernet99")]),
        device("right", [("server2", "eth0"), ("left", "Ethernet12")]),
    ];
    let mut unlike = [
        device("left", [("server1", "eth0"), ("right", "Ethernet12")]),
        device("right", [("server2", "eth0"), ("left", "Ethernet12")]),
    ];
    unlike[1].text = unlike[1].text.replace("100000", "40000");
    let mut twice = elsewhere.clone();
    twice[0].text = twice[0]
        .text
        .replace("40m\"}", "40m\"}, \"OTHER\": {\"Ethernet12\": \"7m\"}");
    let mut long = unlike.clone();
    long[1].text = long[1].text.replace("40m", "40 feet");
    for (files, said) in [
        (&elsewhere, "correct one of them"),
        (&no_port, "`right` has no port `Ethernet99`"),
        (&unlike, "runs at 100000 Mb/s here and at 40000 Mb/s"),
        (
            &twice,
            "key `OTHER.Ethernet12`: 7 m, but another group says 40 m",
        ),
        (&long, "table CABLE_LENGTH, key `AZURE.Ethernet12`"),
    ] {
        let error = fabric(files).unwrap_err();
        assert!(error.contains("/config_db.json: table "), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let none = import_fabric(&[], &ImportOptions::default());
    assert!(none.unwrap_err().to_string().contains("no config_db.json"));
}

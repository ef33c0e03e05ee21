//! Names of ports, in the styles of many vendors, and the order of files: for every format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Endpoint, natural_order};

/// How vendors call their ports.
const STYLES: [fn(u16) -> String; 12] = [
    |n| format!("Ethernet{}", 4 * n),
    |n| format!("Ethernet1/{n}/1"),
    |n| format!("Ethernet{}/{}", n / 8 + 1, n % 8 + 1),
    |n| format!("swp{}s{}", n / 4 + 1, n % 4),
    |n| format!("et-0/0/{}:{}", n / 4, n % 4),
    |n| format!("HundredGigE0/0/0/{n}"),
    |n| format!("ethernet1/1/{}:{}", n / 4 + 1, n % 4 + 1),
    |n| format!("ethernet-1/{n}"),
    |n| format!("e1-{n}"),
    |n| format!("eth{}", n + 1),
    |n| format!("sfp-sfpplus{n}"),
    |n| format!("wan{n}.100"),
];

/// A link: both nodes and their ports.
type Cable = [(String, String); 2];

/// A leaf-spine network under names of some styles.
#[derive(Clone, Debug)]
struct Wiring {
    cables: Vec<Cable>,
}

impl Wiring {
    fn switches(&self) -> Vec<String> {
        let mut names: Vec<String> = self.nodes(|name| !name.starts_with('h'));
        names.sort();
        names
    }

    fn hosts(&self) -> Vec<String> {
        self.nodes(|name| name.starts_with('h'))
    }

    fn nodes(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (node, _) in self.cables.iter().flatten() {
            if wanted(node) && !names.contains(node) {
                names.push(node.clone());
            }
        }
        names
    }
}

/// A leaf-spine network, its cables in a random order and direction, twice.
fn wirings() -> impl Strategy<Value = (Wiring, Wiring)> {
    let size = (2..5usize, 1..4usize, 1..4usize);
    let styles = prop::collection::vec(0..STYLES.len(), 8);
    let ports = prop::collection::vec(prop::collection::btree_set(1..60u16, 8), 8);
    let made = (size, styles, ports).prop_map(|((leaves, spines, hosts), styles, ports)| {
        let mut free: Vec<Vec<u16>> = ports
            .into_iter()
            .map(|ports| ports.into_iter().collect())
            .collect();
        let mut end = |name: String, at: usize| {
            let port = free[at].pop().unwrap();
            (name, STYLES[styles[at]](port))
        };
        let mut cables = Vec::new();
        for leaf in 0..leaves {
            let name = || format!("leaf{}", leaf * 4 + 1);
            for spine in 0..spines {
                let far = end(format!("spine{}", spine * 9 + 2), 4 + spine);
                cables.push([end(name(), leaf), far]);
            }
            for host in 0..hosts {
                let far = (format!("h{}", leaf * 8 + host), "eth0".to_owned());
                cables.push([end(name(), leaf), far]);
            }
        }
        cables
    });
    made.prop_flat_map(|cables| {
        let count = cables.len();
        let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        let turned = prop::collection::vec(any::<bool>(), count);
        (Just(cables), order, turned).prop_map(|(cables, order, turned)| {
            let other = order.into_iter().map(|at| {
                let [a, b] = cables[at].clone();
                if turned[at] { [b, a] } else { [a, b] }
            });
            let other = Wiring {
                cables: other.collect(),
            };
            (Wiring { cables }, other)
        })
    })
}

fn csv(wiring: &Wiring) -> Imported {
    let mut text = "a;a_port;b;b_port\n".to_owned();
    for [(a, a_port), (b, b_port)] in &wiring.cables {
        writeln!(text, "{a};{a_port};{b};{b_port}").unwrap();
    }
    import(&text, &ImportOptions::default()).unwrap()
}

fn containerlab(wiring: &Wiring) -> Imported {
    let mut text = "name: lab\ntopology:\n  nodes:\n".to_owned();
    for (names, kind) in [(wiring.switches(), "ceos"), (wiring.hosts(), "linux")] {
        for name in names {
            writeln!(text, "    {name}: {{kind: {kind}}}").unwrap();
        }
    }
    text += "  links:\n";
    for [(a, a_port), (b, b_port)] in &wiring.cables {
        writeln!(
            text,
            "    - endpoints: [\"{a}:{a_port}\", \"{b}:{b_port}\"]"
        )
        .unwrap();
    }
    import(&text, &ImportOptions::default()).unwrap()
}

/// The files of the switches; `entry` says what a port leads to.
fn folder(
    wiring: &Wiring,
    file: impl Fn(&str, &BTreeMap<&str, &(String, String)>) -> Value,
) -> Imported {
    let mut files = Vec::new();
    for switch in wiring.switches() {
        let mut heard = BTreeMap::new();
        for [a, b] in &wiring.cables {
            for (near, far) in [(a, b), (b, a)] {
                if near.0 == switch {
                    heard.insert(near.1.as_str(), far);
                }
            }
        }
        files.push(NamedText {
            name: format!("{switch}.json"),
            text: file(&switch, &heard).to_string(),
        });
    }
    import_fabric(&files, &ImportOptions::default()).unwrap()
}

fn lldp(wiring: &Wiring) -> Imported {
    folder(wiring, |_, heard| {
        let entry = |(near, far): (&&str, &&(String, String))| {
            json!({ *near: {
                "chassis": { &far.0: { "id": { "type": "mac", "value": "02:00:00:00:00:01" } } },
                "port": { "id": { "type": "ifname", "value": far.1 } },
            } })
        };
        json!({ "lldp": { "interface": heard.iter().map(entry).collect::<Vec<_>>() } })
    })
}

fn sonic(wiring: &Wiring) -> Imported {
    folder(wiring, |name, heard| {
        let rows = |value: &dyn Fn(&(String, String)) -> Value| -> Value {
            let rows = heard.iter();
            rows.map(|(near, far)| ((*near).to_owned(), value(far)))
                .collect()
        };
        json!({
            "DEVICE_METADATA": { "localhost": { "hostname": name } },
            "PORT": rows(&|_| json!({})),
            "DEVICE_NEIGHBOR": rows(&|far| json!({ "name": far.0, "port": far.1 })),
        })
    })
}

/// The end of a link at a node, by the name of the port.
fn end(topology: &Topology, node: &str, port: &str) -> Endpoint {
    let node = topology.node(node).unwrap();
    let port = topology.port_named(node, port).unwrap();
    Endpoint { node, port }
}

/// A format: the network that a wiring gives.
type Reader = fn(&Wiring) -> Imported;

const NAMING: [(&str, Reader); 4] = [
    ("csv", csv),
    ("containerlab", containerlab),
    ("lldp", lldp),
    ("sonic", sonic),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every cable joins the ports that its file names, and all formats number ports alike.
    #[test]
    fn names_are_kept_and_order_changes_nothing((one, other) in wirings()) {
        let mut first: Option<Topology> = None;
        for (format, read) in NAMING {
            let topology = read(&one).topology;
            prop_assert_eq!(topology.links().len(), one.cables.len(), "{}", format);
            for [a, b] in &one.cables {
                let (a, b) = (end(&topology, &a.0, &a.1), end(&topology, &b.0, &b.1));
                let joined = topology.links().iter().any(|link| {
                    [link.a, link.b] == [a, b] || [link.b, link.a] == [a, b]
                });
                prop_assert!(joined, "{format}: {a:?} {b:?}");
            }
            prop_assert_eq!(read(&other).topology.to_json(), topology.to_json(), "{}", format);
            let again = Topology::from_json(&topology.to_json()).unwrap();
            prop_assert_eq!(&again, &topology);
            for switch in topology.switches() {
                let names: Vec<&String> = switch.interfaces.values().collect();
                let sorted = names.windows(2).all(|pair| natural_order(pair[0], pair[1]).is_lt());
                prop_assert!(sorted, "{}: {:?}", format, names);
            }
            let named = |topology: &Topology| -> Vec<_> {
                let switches = topology.switches().iter();
                switches.map(|switch| (switch.name.clone(), switch.interfaces.clone())).collect()
            };
            let ends = |topology: &Topology| -> Vec<_> {
                topology.links().iter().map(|link| (link.a, link.b)).collect()
            };
            match &first {
                None => first = Some(topology),
                Some(first) => {
                    prop_assert_eq!(named(first), named(&topology), "{}", format);
                    prop_assert_eq!(ends(first), ends(&topology), "{}", format);
                }
            }
        }
    }

    /// The order of a file without names changes nothing either.
    #[test]
    fn order_changes_nothing_without_names((one, other) in wirings()) {
        let bare = |wiring: &Wiring| {
            let rows = wiring.cables.iter().map(|[a, b]| format!("{},{}\n", a.0, b.0));
            let text = format!("a,b\n{}", rows.collect::<String>());
            import(&text, &ImportOptions::default()).unwrap().topology.to_json()
        };
        prop_assert_eq!(bare(&one), bare(&other));
        let graph = |wiring: &Wiring| {
            let mut text = "<graphml><graph>".to_owned();
            for name in wiring.nodes(|name| !name.starts_with('h')) {
                write!(text, "<node id='{name}'/>").unwrap();
            }
            for [(a, _), (b, _)] in &wiring.cables {
                if !a.starts_with('h') && !b.starts_with('h') {
                    write!(text, "<edge source='{a}' target='{b}'/>").unwrap();
                }
            }
            text += "</graph></graphml>";
            import(&text, &ImportOptions::default()).unwrap().topology.to_json()
        };
        prop_assert_eq!(graph(&one), graph(&other));
        // Of the tutorials, where the number of the port is part of the name.
        let numbers = csv(&one).topology;
        let tutorials = |wiring: &Wiring| {
            let write = |(node, port): &(String, String)| match node.starts_with('h') {
                true => node.clone(),
                false => format!("{node}-p{}", end(&numbers, node, port).port),
            };
            let all = |names: Vec<String>| -> Value {
                names.into_iter().map(|name| (name, json!({}))).collect()
            };
            let links: Vec<_> = wiring.cables.iter().map(|cable| cable.each_ref().map(write)).collect();
            let file = json!({
                "hosts": all(wiring.hosts()), "switches": all(wiring.switches()), "links": links,
            });
            import(&file.to_string(), &ImportOptions::default()).unwrap().topology.to_json()
        };
        prop_assert_eq!(tutorials(&one), tutorials(&other));
    }
}

fn read(text: &str) -> Topology {
    import(text, &ImportOptions::default()).unwrap().topology
}

#[test]
fn a_number_inside_a_name_is_not_the_port() {
    let topology = read(
        "a,a_port,b,b_port\n\
         leaf1,Ethernet8,spine1,Ethernet12\nleaf2,Ethernet8,spine1,Ethernet4\n\
         leaf1,Ethernet4,h1,\nleaf2,Ethernet4,h2,\n",
    );
    let link = topology.link(topology.link_named("leaf1-spine1").unwrap());
    assert_eq!((link.a.port.get(), link.b.port.get()), (2, 2));
    assert_eq!(topology.interface_at(link.a), Some("Ethernet8"));
    assert_eq!(topology.interface_at(link.b), Some("Ethernet12"));
    // A whole number is the port.
    let topology = read("a,a_port,b,b_port\nx,7,y,3\nx,9,h1,\ny,1,h2,\n");
    assert_eq!(
        topology.link_name(topology.link_named("x-y").unwrap()),
        "x:7-y:3"
    );
    assert!(topology.switches()[0].interfaces.is_empty());
}

#[test]
fn slots_and_breakouts_are_ports_of_their_own() {
    let topology = read(
        "a,a_port,b,b_port\nleaf1,Ethernet1/1,spine1,Ethernet1/1\nleaf1,Ethernet2/1,spine1,Ethernet2/1\n\
         leaf1,Ethernet1/49/1,spine1,Ethernet1/49/1\nleaf1,Ethernet1/2,h1,eth0\n",
    );
    let names: Vec<&str> = topology.switches()[0]
        .interfaces
        .values()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "Ethernet1/1",
            "Ethernet1/2",
            "Ethernet1/49/1",
            "Ethernet2/1"
        ]
    );
}

#[test]
fn p4_utils_keeps_the_order_of_its_links_and_names() {
    let file = |links: Value| {
        json!({ "topology": {
            "hosts": { "h1": {}, "h2": {} }, "switches": { "s2": {}, "s10": {} }, "links": links,
        } })
        .to_string()
    };
    let link = json!(["s10", "s2", { "intfName1": "left", "delay": "5ms" }]);
    let text = file(json!([["h1", "s2"], link, ["h2", "s10"]]));
    let imported = import(&text, &ImportOptions::default()).unwrap();
    let topology = imported.topology;
    let link = topology.link_named("s10:left-s2:2").unwrap();
    assert_eq!(topology.link_name(link), "s10:1-s2:2");
    assert!(
        imported.notes[0].contains("the delay of 1 link is left out"),
        "{:?}",
        imported.notes
    );
}

/// Options that leave out, or keep.
fn leaving(ignore: &[&str], keep: &[&str]) -> ImportOptions {
    let texts = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect();
    ImportOptions {
        ignore: texts(ignore),
        keep: texts(keep),
        ..ImportOptions::default()
    }
}

#[test]
fn management_interfaces_are_left_out() {
    let managed = "a,a_port,b,b_port\n\
        leaf1,swp1,spine1,swp1\nleaf2,swp1,spine1,swp2\nleaf1,swp2,h1,eth0\nleaf2,swp2,h2,eth0\n\
        leaf1,eth0,oob,Gi1/0/1\nleaf2,eth0,oob,Gi1/0/2\nspine1,Management1,oob,Gi1/0/3\n";
    let imported = import(managed, &ImportOptions::default()).unwrap();
    assert_eq!(
        imported.notes[..2],
        [
            "management interfaces are left out: leaf1:eth0, leaf2:eth0, spine1:Management1",
            "no other link leads to, so left out too: oob",
        ]
    );
    let topology = imported.topology;
    assert_eq!((topology.switches().len(), topology.hosts().len()), (3, 2));
    assert_eq!(topology.switches()[2].layer, Some(1));
    let kept = import(managed, &leaving(&[], &["*:eth0"]))
        .unwrap()
        .topology;
    assert_eq!((kept.switches().len(), kept.links().len()), (4, 6));
    // Where all ports of a switch are called so, it is one of many.
    let software = "a,a_port,b,b_port\ns1,eth0,s2,eth0\ns1,eth1,h1,eth0\ns2,eth1,h2,eth0\n";
    assert_eq!(read(software).links().len(), 3);
}

#[test]
fn what_the_user_ignores_is_left_out() {
    let text = "a,a_port,b,b_port\nx,p1,y,p1\nx,p2,y,p2\nx,p3,h1,\ny,p3,h2,\ny,p4,tap,\n";
    let options = leaving(&["tap", "x:p2"], &[]);
    let imported = import(text, &options).unwrap();
    assert_eq!(imported.notes[0], "left out as asked: tap, x:p2");
    assert_eq!(imported.topology.links().len(), 3);
    let idle = import(text, &leaving(&["x:p9"], &[]))
        .unwrap_err()
        .to_string();
    assert!(
        idle.contains("`x:p9`: no device and no interface matches"),
        "{idle}"
    );
}

#[test]
fn what_lldp_hears_on_management_interfaces_is_left_out() {
    let entry = |near: &str, device: &str, port: &str| {
        json!({ near: {
            "chassis": { device: { "id": { "type": "mac", "value": "x" } } },
            "port": { "id": { "type": "ifname", "value": port } },
        } })
    };
    let file = |name: &str, entries: Vec<Value>| NamedText {
        name: format!("{name}.json"),
        text: json!({ "lldp": { "interface": entries } }).to_string(),
    };
    let files = [
        file(
            "a",
            vec![
                entry("et-0/0/1:0", "b", "et-0/0/1:0"),
                entry("et-0/0/2", "srv1", "eth0"),
                // A shared segment: several are heard on one interface.
                entry("fxp0", "oob", "7"),
                entry("fxp0", "b", "fxp0"),
            ],
        ),
        file(
            "b",
            vec![
                entry("et-0/0/1:0", "a", "et-0/0/1:0"),
                entry("et-0/0/2", "srv2", "eth0"),
                entry("fxp0", "oob", "8"),
            ],
        ),
    ];
    let imported = import_fabric(&files, &ImportOptions::default()).unwrap();
    assert_eq!(
        imported.notes[..2],
        [
            "management interfaces are left out: a:fxp0, b:fxp0",
            "no other link leads to, so left out too: oob",
        ]
    );
    let topology = imported.topology;
    let hosts: Vec<&str> = topology.hosts().iter().map(|h| h.name.as_str()).collect();
    assert_eq!(hosts, ["srv1", "srv2"]);
    assert!(topology.link_named("a:et-0/0/1:0-b").is_ok());
}

#[test]
fn a_device_without_a_file_that_many_hear_is_named() {
    let heard = |name: &str, far: &[(&str, &str, &str)]| {
        let row = |(near, device, port): &(&str, &str, &str)| {
            ((*near).to_owned(), json!({ "name": device, "port": port }))
        };
        let rows: Value = far.iter().map(row).collect();
        NamedText {
            name: format!("{name}.json"),
            text: json!({ "DEVICE_NEIGHBOR": rows }).to_string(),
        }
    };
    let files = [
        heard("a", &[("e1", "b", "e1"), ("e9", "core", "x1")]),
        heard(
            "b",
            &[("e1", "a", "e1"), ("e2", "c", "e1"), ("e9", "core", "x2")],
        ),
        heard("c", &[("e1", "b", "e2"), ("e9", "core", "x3")]),
    ];
    let imported = import_fabric(&files, &ImportOptions::default()).unwrap();
    let note = "`core` has no file and 3 switches hear it: it is taken for a host";
    assert!(
        imported.notes.iter().any(|n| n.contains(note)),
        "{:?}",
        imported.notes
    );
    let ignored = import_fabric(&files, &leaving(&["core"], &[])).unwrap();
    assert!(ignored.topology.hosts().is_empty());
    assert_eq!(ignored.topology.links().len(), 2);
}

#[test]
fn assumptions_are_kept_and_supplied() {
    let text = "a,b,rate\nleaf1,spine1,400G\nleaf2,spine1,\nleaf1,h1,25\nleaf2,h2,\n";
    let topology = read(text);
    assert_eq!(
        topology.assumptions().condition(),
        "2 assumed rates, 4 assumed lengths, 3 assumed buffers and an assumed MTU"
    );
    let lines: Vec<String> = topology
        .assumptions()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines[0],
        "rate of 2 links is not given: 100 Gb/s assumed (`topo import --rate`, `--fabric-rate`, `--host-rate`)"
    );
    let again = Topology::from_json(&topology.to_json()).unwrap();
    assert_eq!(again, topology);
    let options = ImportOptions {
        supplied: Supplied {
            host_rate: Some(BitRate::gbps(25)),
            fabric_rate: Some(BitRate::gbps(800)),
            ..Supplied::default()
        },
        ..ImportOptions::default()
    };
    // Also from a file of ours that says what it assumes.
    for text in [text, &topology.to_json()] {
        let supplied = import(text, &options).unwrap().topology;
        let rate = |link: &str| supplied.link(supplied.link_named(link).unwrap()).rate;
        assert_eq!(rate("leaf1-spine1"), BitRate::gbps(400));
        assert_eq!(rate("leaf2-spine1"), BitRate::gbps(800));
        assert_eq!(rate("leaf2-h2"), BitRate::gbps(25));
        assert!(!supplied.assumptions().condition().contains("rate"));
    }
}

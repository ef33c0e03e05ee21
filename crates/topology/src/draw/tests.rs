//! Drawings are well-formed, complete, inside their frame and the same every time.

use super::super::generate::{
    Bcube, Cables, Clos, FatTree, Jellyfish, JellyfishSize, Line, Ring, ThreeLayerClos, ThreeNode,
};
use super::super::*;

fn samples() -> Vec<Topology> {
    let cables = Cables::default();
    let size = JellyfishSize::Switches {
        switches: 20,
        fabric_ports: 4,
    };
    vec![
        ThreeNode::default().generate().unwrap(),
        Line {
            switches: 5,
            hosts: 2,
            cables,
        }
        .generate()
        .unwrap(),
        Line {
            switches: 1,
            hosts: 0,
            cables,
        }
        .generate()
        .unwrap(),
        Ring {
            switches: 6,
            hosts: 1,
            cables,
        }
        .generate()
        .unwrap(),
        Clos {
            leaves: 4,
            spines: 2,
            hosts: 2,
            parallel: 2,
            cables,
        }
        .generate()
        .unwrap(),
        ThreeLayerClos {
            pods: 3,
            leaves: 2,
            aggregations: 2,
            spines: 4,
            hosts: 2,
            planes: true,
            parallel: 1,
            cables,
        }
        .generate()
        .unwrap(),
        FatTree { k: 4, cables }.generate().unwrap(),
        FatTree { k: 8, cables }.generate().unwrap(),
        Bcube { n: 4, k: 1, cables }.generate().unwrap(),
        Jellyfish {
            size,
            ports: 6,
            seed: 1,
            cables,
        }
        .generate()
        .unwrap(),
    ]
}

#[test]
fn drawings_are_well_formed_and_show_every_switch_and_link() {
    for topology in samples() {
        let svg = topology.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let count = |class: &str| {
            let text = document
                .descendants()
                .filter(|n| n.attribute("class") == Some(class));
            text.count()
        };
        assert_eq!(
            count("n") + count("o"),
            topology.switches().len(),
            "{}",
            topology.name()
        );
        let paths = document
            .descendants()
            .filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "path")));
        // The hosts of a large network are labels.
        let labels = topology.hosts().len() > super::HOSTS_APART;
        let between = |link: &&Link| {
            let is_switch = |end: Endpoint| matches!(end.node, NodeId::Switch(_));
            !labels || is_switch(link.a) && is_switch(link.b)
        };
        let drawn = topology.links().iter().filter(between).count();
        assert_eq!(paths.count(), drawn, "{}", topology.name());
        assert_eq!(svg, topology.to_svg());
    }
}

#[test]
fn everything_is_inside_the_frame() {
    for topology in samples() {
        let svg = topology.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let root = document.root_element();
        let size = |side: &str| root.attribute(side).unwrap().parse::<f64>().unwrap();
        let (width, height) = (size("width"), size("height"));
        for node in document.descendants() {
            for (attribute, limit) in [("cx", width), ("x", width), ("cy", height), ("y", height)] {
                if let Some(value) = node.attribute(attribute) {
                    let value: f64 = value.parse().unwrap();
                    assert!(
                        (0.0..=limit).contains(&value),
                        "{}: {attribute} {value}",
                        topology.name()
                    );
                }
            }
        }
    }
}

/// Four spines and eight leaves with four hosts each: 12 switches.
fn twelve() -> Topology {
    let clos = Clos {
        leaves: 8,
        spines: 4,
        hosts: 4,
        parallel: 1,
        cables: Cables::default(),
    };
    clos.generate().unwrap()
}

#[test]
fn ports_of_twelve_switches_are_labelled() {
    let topology = twelve();
    let svg = topology.to_svg();
    let ends = topology.links().iter().flat_map(|link| [link.a, link.b]);
    let ports = ends.filter(|end| matches!(end.node, NodeId::Switch(_)));
    assert_eq!(svg.matches("class=\"p\"").count(), ports.count());
}

#[test]
fn every_link_names_its_ends_where_a_pointer_is_over_it() {
    let mut topologies = samples();
    topologies.push(
        FatTree {
            k: 20,
            cables: Cables::default(),
        }
        .generate()
        .unwrap(),
    );
    for topology in topologies {
        let svg = topology.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let titles: Vec<&str> = document
            .descendants()
            .filter(|n| n.tag_name().name() == "path")
            .filter_map(|path| path.first_element_child()?.text())
            .collect();
        let drawn = svg.matches("<path").count();
        assert_eq!(titles.len(), drawn, "{}", topology.name());
    }
    let base = twelve();
    let mut switches = base.switches().to_vec();
    let port = quantities::PortId::new(5);
    switches[0]
        .interfaces
        .insert(port, "Ethernet1/49".to_owned());
    let (hosts, links) = (base.hosts().to_vec(), base.links().to_vec());
    let named = Topology::new("named".to_owned(), switches, hosts, links);
    let named = named.unwrap().to_svg();
    let title = "<title>leaf1 Ethernet1/49 (port 5) - spine1 port 1, 100Gbps, 100 m</title>";
    assert!(named.contains(title), "{named}");
}

#[test]
fn failures_are_dashed() {
    let topology = ThreeNode::default().generate().unwrap();
    assert_eq!(topology.to_svg().matches("links").count(), 1);
    let failed = topology.with_failed_links(&[topology.link_named("A-B").unwrap()]);
    let svg = failed.to_svg();
    let after = svg.split("stroke-dasharray").nth(1).unwrap();
    assert_eq!(
        after.split("</g>").next().unwrap().matches("<path").count(),
        1
    );
    assert!(svg.contains("1 down"));
}

#[test]
fn names_are_escaped() {
    let text = r#"{"format": "switchwright-topology", "version": 1, "name": "a<b>&\"c", "switches": [{"name": "<s&1>", "ports": 1}]}"#;
    let svg = Topology::from_json(text).unwrap().to_svg();
    assert!(roxmltree::Document::parse(&svg).is_ok());
}

#[test]
fn large_networks_lose_detail_not_shape() {
    let topology = FatTree {
        k: 20,
        cables: Cables::default(),
    }
    .generate()
    .unwrap();
    let svg = topology.to_svg();
    assert!(!svg.contains("class=\"n\"") && !svg.contains("class=\"p\""));
    assert_eq!(
        svg.matches("<rect").count(),
        topology.switches().len() + 1 + 20
    );
}

#[test]
fn many_hosts_are_one_label_for_each_switch() {
    let clos = Clos {
        leaves: 13,
        spines: 4,
        hosts: 16,
        parallel: 1,
        cables: Cables::default(),
    };
    let svg = clos.generate().unwrap().to_svg();
    assert!(svg.contains(">h1-h16 (16)</text>"), "{svg}");
    assert!(svg.contains(">h193-h208 (16)</text>"), "{svg}");
    assert_eq!(svg.matches("class=\"h\"").count(), 0);
    assert_eq!(super::rack_label(&["h1"]), "h1");
    let long = ["node-pod12-rack07-01", "node-pod12-rack07-16"];
    assert_eq!(super::rack_label(&long), "node-pod12-rack07-01..16 (2)");
    assert_eq!(
        super::rack_label(&["a".repeat(20).as_str(), "b"]),
        format!("{}..b (2)", "a".repeat(20))
    );
}

/// The places of the names in a row: the middle and the width of each.
fn names(svg: &str, class: &str) -> Vec<(f64, f64, f64)> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let texts = document
        .descendants()
        .filter(|n| n.attribute("class") == Some(class));
    let number = |node: &roxmltree::Node<'_, '_>, name| -> f64 {
        node.attribute(name).unwrap().parse().unwrap()
    };
    let place = |node: roxmltree::Node<'_, '_>| {
        #[expect(clippy::cast_precision_loss, reason = "a few letters")]
        let width = node.text().unwrap().chars().count() as f64 * 6.0;
        (number(&node, "y"), number(&node, "x"), width)
    };
    texts.map(place).collect()
}

#[test]
fn long_names_do_not_overlap() {
    for (leaves, hosts) in [(4, 2), (8, 4), (8, 24)] {
        let clos = Clos {
            leaves,
            spines: 4,
            hosts,
            parallel: 1,
            cables: Cables::default(),
        };
        let plain = clos.generate().unwrap().to_json();
        let mut value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        let renamed = |name: &str| format!("node-pod12-rack07-{name}");
        for kind in ["switches", "hosts"] {
            for node in value[kind].as_array_mut().unwrap() {
                node["name"] = renamed(node["name"].as_str().unwrap()).into();
            }
        }
        for link in value["links"].as_array_mut().unwrap() {
            for end in ["a", "b"] {
                link[end] = renamed(link[end].as_str().unwrap()).into();
            }
        }
        let svg = Topology::from_json(&value.to_string()).unwrap().to_svg();
        for class in ["n", "h"] {
            let mut places = names(&svg, class);
            places.sort_by(|a, b| a.partial_cmp(b).unwrap());
            for pair in places.windows(2) {
                let [(row, left, wide), (next, right, width)] = [pair[0], pair[1]];
                let apart = right - left >= f64::midpoint(wide, width);
                assert!(row < next || apart, "{class}: {pair:?}");
            }
        }
    }
}

#[test]
fn a_summary_says_what_matters() {
    let cables = Cables::default();
    let topology = Clos {
        leaves: 4,
        spines: 2,
        hosts: 4,
        parallel: 1,
        cables,
    }
    .generate()
    .unwrap();
    let link = topology.link_named("leaf1-spine1").unwrap();
    insta::assert_snapshot!(topology.with_failed_links(&[link]).summary().to_string(), @r"
    clos-4x2
      switches   6, up to 6 ports
      hosts      16, 4 per edge switch
      links      24 (1 down), 8 between switches
      rates      24 x 100 Gb/s
      degrees    1 x 4, 1 x 3, 3 x 2, 1 x 1
      diameter   3, mean 2.00 between edge switches
      layer 1    2 switches, 700 Gb/s down
      layer 0    4 switches, 1600 Gb/s down, 700 Gb/s up, oversubscribed 2.29 : 1
      bisection  at most 300 Gb/s
    ");
    let fat_tree = FatTree { k: 4, cables }.generate().unwrap().summary();
    assert_eq!(fat_tree.diameter, Some(4));
    assert!((fat_tree.bisection_bound_gbps - 800.0).abs() < 1e-9);
    let json = serde_json::to_value(&fat_tree).unwrap();
    assert_eq!(json["rates"]["100000000000"], 48);
}

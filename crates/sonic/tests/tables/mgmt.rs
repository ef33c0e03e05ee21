//! On the configurations in sonic-net/sonic-mgmt, where a checkout of it is there:
//! `SONIC_MGMT=/path/to/sonic-mgmt`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sonic::audit::FindingKind;
use topology::import::NamedText;

use super::audited::{Way, audit_folder};

/// The checkout, or a line that says what is left out without it.
fn checkout(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("SONIC_MGMT").map(PathBuf::from);
    if found.is_none() {
        println!("skipped {what}: SONIC_MGMT names no checkout of sonic-net/sonic-mgmt");
    }
    found
}

/// Files of a folder, by their names.
fn files(folder: &Path, named: impl Fn(&str) -> bool) -> Vec<NamedText> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if named(&name) {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push(NamedText { name, text });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The two line cards and the supervisor of a virtual chassis, in the spelling of references that
/// SONiC has today or had.
fn chassis(root: &Path, new: bool) -> Vec<NamedText> {
    let folder = root.join("tests/vs_voq_cfgs");
    files(&folder, |name| {
        name.ends_with("_config_db.json") && name.contains("new_dbfmt") == new
    })
}

#[test]
fn a_virtual_chassis_is_audited() {
    let Some(root) = checkout("virtual chassis of sonic-mgmt") else {
        return;
    };
    let [old, new] = [false, true].map(|new| audit_folder(&chassis(&root, new), Way::Any));
    assert_eq!(old, new);
    assert_eq!((new.switches, new.links), (3, 8));
    assert_eq!(new.cbd_free, Some(true), "{:?}", new.cbd_free_unknown);
    // The cable between the line cards: PFC is not on there, and the rows of all other ports say so
    // by their presence.
    assert_eq!(new.findings.len(), 2, "{:?}", new.findings);
    for finding in &new.findings {
        assert_eq!(finding.kind, FindingKind::NoMaps);
        assert!(finding.place.ends_with(":Ethernet120"), "{finding}");
    }
}

/// The seven nodes of a routed test bed. Their cables are where two interfaces share a network; QoS
/// they get from the chassis, which has SONiC's default maps.
fn seven_nodes(root: &Path, folder: &str) -> Vec<NamedText> {
    let home = root.join("ansible/vars/configdb_jsons").join(folder);
    let mut nodes: BTreeMap<String, Value> = BTreeMap::new();
    for file in files(&home, |name| name.ends_with(".json")) {
        let config: Value = serde_json::from_str(&file.text).unwrap();
        nodes.insert(file.name.trim_end_matches(".json").to_owned(), config);
    }
    let mut networks: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (node, config) in &nodes {
        for key in config["INTERFACE"].as_object().unwrap().keys() {
            if let Some((port, network)) = key
                .split_once('|')
                .and_then(|(port, a)| Some((port, network(a)?)))
            {
                let ends = networks.entry(network).or_default();
                ends.push((node.clone(), port.to_owned()));
            }
        }
    }
    let chassis = chassis(root, true);
    let card: Value = serde_json::from_str(&chassis[0].text).unwrap();
    let row = &card["PORT_QOS_MAP"]["Ethernet0"];
    for (node, config) in &mut nodes {
        let mut neighbors = Map::new();
        for ends in networks.values().filter(|ends| ends.len() == 2) {
            for (here, there) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
                if here.0 == *node {
                    neighbors.insert(here.1.clone(), json!({"name": there.0, "port": there.1}));
                }
            }
        }
        let hosts: Vec<String> = config["PORT"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        let free = hosts
            .into_iter()
            .find(|port| !neighbors.contains_key(port))
            .unwrap();
        neighbors.insert(
            free,
            json!({"name": format!("host-{node}"), "port": "eth0"}),
        );
        for port in neighbors.keys() {
            config["PORT_QOS_MAP"][port] = row.clone();
            config["CABLE_LENGTH"]["AZURE"][port] = json!("5m");
        }
        config["DEVICE_NEIGHBOR"] = Value::Object(neighbors);
        for table in [
            "DSCP_TO_TC_MAP",
            "TC_TO_QUEUE_MAP",
            "TC_TO_PRIORITY_GROUP_MAP",
            "MAP_PFC_PRIORITY_TO_QUEUE",
        ] {
            config[table] = card[table].clone();
        }
    }
    let texts = nodes.into_iter();
    texts
        .map(|(node, config)| NamedText {
            name: format!("{node}.json"),
            text: config.to_string(),
        })
        .collect()
}

/// The network of an address such as `fc00::71/126`, for those that two routers share.
fn network(address: &str) -> Option<String> {
    let (address, length) = address.trim().split_once('/')?;
    let address: std::net::Ipv6Addr = address.parse().ok()?;
    let length: u32 = length
        .parse()
        .ok()
        .filter(|length| (120..=127).contains(length))?;
    let network = u128::from(address) >> (128 - length) << (128 - length);
    Some(format!("{}/{length}", std::net::Ipv6Addr::from(network)))
}

#[test]
fn seven_nodes_with_default_maps_are_audited() {
    let Some(root) = checkout("routed test beds of sonic-mgmt") else {
        return;
    };
    for folder in ["7nodes_cisco", "7nodes_force10"] {
        let files = seven_nodes(&root, folder);
        let shortest = audit_folder(&files, Way::Shortest);
        assert_eq!((shortest.switches, shortest.links), (7, 19));
        assert_eq!((shortest.findings, shortest.cbd_free), (vec![], Some(true)));
        assert_eq!(shortest.lossless_dscps, [3, 4]);
        let any = audit_folder(&files, Way::Any);
        assert_eq!(any.cbd_free, Some(false));
        let kinds: Vec<FindingKind> = any.findings.iter().map(|f| f.kind).collect();
        assert_eq!(kinds, [FindingKind::CyclicBuffers], "{:?}", any.findings);
    }
}

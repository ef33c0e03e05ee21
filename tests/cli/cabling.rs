//! Is that the network? `topo diff` and `check --against` on networks that were cabled otherwise.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Status, output, errors.
fn run(at: &Path, line: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(line.split(' '))
        .current_dir(at)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap();
    (status, text(output.stdout), text(output.stderr))
}

fn read(at: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(at.join(name)).unwrap()).unwrap()
}

/// A Clos and its plan, and the same Clos with two cables of a spine exchanged, with rates of a
/// tenth, and with a link down.
fn prepare() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for line in [
        "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json",
        "plan clos.json -o plan.json",
        "build plan.json -o build",
    ] {
        let (status, _, error) = run(at, line);
        assert_eq!(status, 0, "{line}: {error}");
    }
    let clos = read(at, "clos.json");
    let write = |name: &str, change: &dyn Fn(&mut Vec<Value>)| {
        let mut changed = clos.clone();
        changed["name"] = Value::from(name.trim_end_matches(".json"));
        change(changed["links"].as_array_mut().unwrap());
        fs::write(at.join(name), changed.to_string()).unwrap();
    };
    write("swapped.json", &|links| {
        for link in links {
            let other = match link["b"].as_str().unwrap() {
                "spine1:1" => "spine1:2",
                "spine1:2" => "spine1:1",
                same => same,
            };
            link["b"] = Value::from(other);
        }
    });
    write("slow.json", &|links| {
        links
            .iter_mut()
            .for_each(|link| link["rate_gbps"] = Value::from(10));
    });
    write("fast.json", &|links| {
        links
            .iter_mut()
            .for_each(|link| link["rate_gbps"] = Value::from(400));
    });
    write("down.json", &|links| {
        let at_spine = |link: &&mut Value| link["b"] == "spine1:1";
        links.iter_mut().find(at_spine).unwrap()["up"] = Value::from(false);
    });
    folder
}

#[test]
fn exchanged_cables_are_named() {
    let folder = prepare();
    let at = folder.path();
    let (status, text, _) = run(at, "topo diff clos.json swapped.json");
    assert_eq!(status, 1, "{text}");
    let line = "leaf1 port 3 and leaf2 port 3 are exchanged at spine1: ";
    assert!(text.starts_with(line), "{text}");
    assert!(
        text.ends_with("1 difference between clos-4x2 and swapped\n"),
        "{text}"
    );
    let (status, text, _) = run(at, "topo diff clos.json swapped.json --json");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &report["equal"]), (1, &json!(false)));
    assert_eq!(report["matched_by"], "name");
    assert_eq!(report["differences"][0]["kind"], "exchanged");
    assert_eq!(report["differences"][0]["at"], "spine1");
    for same in ["clos.json", "plan.json", "build"] {
        let (status, text, error) = run(at, &format!("topo diff clos.json {same} --json"));
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (status, &report["equal"]),
            (0, &json!(true)),
            "{same}: {error}"
        );
    }
}

#[test]
fn what_is_built_is_examined_on_other_cables() {
    let folder = prepare();
    let at = folder.path();
    let (status, text, error) = run(at, "check plan.json --against swapped.json");
    assert_eq!(status, 1, "{text}{error}");
    assert!(text.contains("exchanged at spine1"), "{text}");
    assert!(
        text.contains("spine1 port 1 leads to leaf2, not to leaf1"),
        "{text}"
    );
    assert!(!text.contains("proven"), "{text}");
    assert!(
        error.contains("the plan is proven for its own network; this network differs"),
        "{error}"
    );
    let (status, text, _) = run(at, "check plan.json --against swapped.json --json");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &report["verdict"]), (1, &json!("refuted")));
    let against = &report["against"];
    assert_eq!(
        (&against["holds"], &against["plan"]),
        (&json!(false), &json!("proven"))
    );
    assert_eq!(against["entries"].as_array().unwrap().len(), 2, "{against}");
}

#[test]
fn what_does_no_harm_is_told_and_proven() {
    let folder = prepare();
    let at = folder.path();
    for (network, words) in [
        ("clos.json", "is the network of the plan"),
        ("slow.json", "proven also for this network"),
        ("down.json", "proven also for this network"),
    ] {
        let (status, text, error) = run(at, &format!("check plan.json --against {network}"));
        assert_eq!(status, 0, "{network}: {text}{error}");
        assert!(text.contains(words), "{network}: {text}");
    }
    let (_, text, _) = run(at, "check plan.json --against slow.json");
    assert!(
        text.contains("24 cables") || text.contains("16 cables run at 10Gbps"),
        "{text}"
    );
    let (_, text, _) = run(at, "check plan.json --against down.json");
    assert!(
        text.contains("link leaf1 port 3 - spine1 port 1 is down"),
        "{text}"
    );
    assert!(text.contains("have no live next hop"), "{text}");
    let (status, text, error) = run(at, "check plan.json --against fast.json");
    assert_eq!(status, 1, "{text}");
    assert!(
        text.contains("but its cable needs") && error.contains("headroom of"),
        "{text}{error}"
    );
}

/// What the switches of the Clos hear by LLDP, as `lldpcli -f json show neighbors` tells it; ports
/// are called by the port of the plan.
fn lldp(at: &Path, folder: &str) {
    fs::create_dir(at.join(folder)).unwrap();
    let clos = read(at, "clos.json");
    let names: Vec<&str> = ["leaf1", "leaf2", "leaf3", "leaf4", "spine1", "spine2"].into();
    for name in &names {
        let mut heard = Vec::new();
        for link in clos["links"].as_array().unwrap() {
            let [a, b] = ["a", "b"].map(|end| link[end].as_str().unwrap().split_once(':').unwrap());
            for (near, far) in [(a, b), (b, a)] {
                if near.0 == *name {
                    let port = format!("Ethernet{}", near.1);
                    heard.push(json!({ port: {
                        "chassis": { far.0: { "id": { "type": "mac", "value": "00:11:22:33:44:55" } } },
                        "port": { "id": { "type": "ifname", "value": format!("Ethernet{}", far.1) } },
                    }}));
                }
            }
        }
        let table = json!({ "lldp": { "interface": heard } });
        fs::write(
            at.join(folder).join(format!("{name}.json")),
            table.to_string(),
        )
        .unwrap();
    }
}

#[test]
fn a_plan_is_compared_with_what_switches_hear() {
    let folder = prepare();
    let at = folder.path();
    lldp(at, "lldp");
    // The plan's ports have the same names, under numbers that LLDP does not know.
    let mut clos = read(at, "clos.json");
    for switch in clos["switches"].as_array_mut().unwrap() {
        let ports = switch["ports"].as_u64().unwrap();
        let names =
            (1..=ports).map(|port| ((port + 48).to_string(), json!(format!("Ethernet{port}"))));
        switch["interfaces"] = Value::Object(names.collect());
        switch["ports"] = json!(ports + 48);
    }
    for link in clos["links"].as_array_mut().unwrap() {
        for end in ["a", "b"] {
            let (node, port) = link[end].as_str().unwrap().split_once(':').unwrap();
            let port: u16 = port.parse().unwrap();
            if !node.starts_with('h') {
                link[end] = json!(format!("{node}:{}", port + 48));
            }
        }
    }
    fs::write(at.join("named.json"), clos.to_string()).unwrap();
    let (status, text, error) = run(at, "plan named.json -o named-plan.json");
    assert_eq!(status, 0, "{text}{error}");
    let (_, text, error) = run(at, "topo diff named-plan.json lldp --json");
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{error}"));
    let cabling = |item: &&Value| item["kind"] != "rate" && item["kind"] != "length";
    let differences = report["differences"].as_array().unwrap();
    assert_eq!(differences.iter().filter(cabling).count(), 0, "{text}");
    let (status, text, error) = run(at, "check named-plan.json --against lldp");
    assert_eq!(status, 0, "{text}{error}");
    let (status, _, error) = run(at, "check plan.json --against nowhere");
    assert_eq!(status, 2, "{error}");
}

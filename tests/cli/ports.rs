//! The names of ports from the operator's files to what is built, and what imports leave out and
//! assume.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

fn run(at: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(line.split(' ')).current_dir(at);
    let command = command.env("NO_COLOR", "1").stdin(Stdio::null());
    command.output().unwrap()
}

/// Standard output and standard error of a command that succeeds.
fn done(at: &Path, line: &str) -> (String, String) {
    let output = run(at, line);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{line}: {words}");
    (String::from_utf8(output.stdout).unwrap(), words)
}

/// Status and standard error of a command that is refused.
fn refused(at: &Path, line: &str) -> (i32, String) {
    let output = run(at, line);
    let words = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), words)
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The keys of a table of a switch's SONiC configuration.
fn table(folder: &Path, switch: &str, table: &str) -> BTreeSet<String> {
    let config = json_of(&folder.join(format!("switches/{switch}/config_db.json")));
    config[table].as_object().unwrap().keys().cloned().collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn sonic_has_the_names_of_the_file() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let links = "a,a_port,b,b_port,rate,length\n\
        rack1,Ethernet8,core1,Ethernet16,400 Gb/s,30\nrack2,Ethernet8,core1,Ethernet4,400 Gb/s,50 m\n\
        rack1,Ethernet4,web1,,25,3\nrack2,Ethernet4,web2,,25G,3\n";
    fs::write(at.join("links.csv"), links).unwrap();
    done(at, "topo import links.csv --strict -o links.json");
    done(at, "plan links.json -o plan.json");
    done(at, "build plan.json --target sonic -o fabric");
    let fabric = at.join("fabric");
    assert_eq!(
        table(&fabric, "rack1", "DEVICE_NEIGHBOR"),
        set(&["Ethernet4", "Ethernet8"])
    );
    let config = json_of(&fabric.join("switches/rack1/config_db.json"));
    let neighbor = &config["DEVICE_NEIGHBOR"]["Ethernet8"];
    assert_eq!(neighbor, &json!({ "name": "core1", "port": "Ethernet16" }));
    assert_eq!(
        table(&fabric, "core1", "PORT_QOS_MAP"),
        set(&["Ethernet16", "Ethernet4"])
    );
    // Commands take these names too.
    done(at, "build plan.json -o build");
    let line = "trace build --from web1 --to web2 --brief --fail rack1:Ethernet8-core1:Ethernet16";
    let (status, words) = refused(at, line);
    assert_eq!((status, words.as_str()), (1, ""));
}

/// How vendors call the ports of a switch with two uplinks and two hosts.
const VENDORS: [[&str; 4]; 10] = [
    ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet120"],
    [
        "Ethernet1/1",
        "Ethernet2/1",
        "Ethernet1/49/1",
        "Ethernet1/49/2",
    ],
    ["swp1", "swp2", "swp12s0", "swp12s3"],
    ["xe-0/0/1", "xe-0/0/2", "et-0/0/3:0", "et-0/0/3:1"],
    ["Ethernet1/1", "Ethernet1/2", "Ethernet1/53", "Ethernet1/54"],
    [
        "TenGigE0/0/0/1",
        "TenGigE0/0/0/2",
        "HundredGigE0/0/0/1",
        "HundredGigE0/1/0/1",
    ],
    [
        "ethernet1/1/1:1",
        "ethernet1/1/1:2",
        "ethernet1/1/31",
        "ethernet1/1/32",
    ],
    [
        "ethernet-1/1",
        "ethernet-1/2",
        "ethernet-1/33/1",
        "ethernet-2/33/1",
    ],
    ["eth1", "eth2", "eth49", "eth50"],
    ["sfp-sfpplus1", "sfp-sfpplus2", "qsfp28-1-1", "qsfp28-2-1"],
];

#[test]
fn names_of_ten_vendors_reach_what_is_built() {
    for names in VENDORS {
        let folder = TempDir::new().unwrap();
        let at = folder.path();
        let [first, second, left, right] = names;
        let mut links = "b,b_port,a,a_port\n".to_owned();
        for (number, leaf) in ["leaf1", "leaf2"].into_iter().enumerate() {
            for (spine, port) in [("spine1", left), ("spine2", right)] {
                writeln!(links, "{leaf},{port},{spine},{}", names[number]).unwrap();
            }
            writeln!(
                links,
                "{leaf},{first},{leaf}-a,eth0\n{leaf},{second},{leaf}-b,eth0"
            )
            .unwrap();
        }
        fs::write(at.join("links.csv"), &links).unwrap();
        done(at, "topo import links.csv -o links.json");
        done(at, "plan links.json -o plan.json");
        for target in ["v1model", "tna", "sonic"] {
            done(
                at,
                &format!("build plan.json --target {target} -o {target}"),
            );
            let plan = json_of(&at.join(target).join("plan.json"));
            let leaf = &plan["topology"]["switches"][0];
            let kept: BTreeSet<String> = leaf["interfaces"]
                .as_object()
                .unwrap()
                .values()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect();
            assert_eq!((&leaf["name"], kept), (&json!("leaf1"), set(&names)));
        }
        let fabric = at.join("sonic");
        for name in ["PORT", "DEVICE_NEIGHBOR", "PORT_QOS_MAP"] {
            assert_eq!(table(&fabric, "leaf1", name), set(&names), "{name}");
            assert_eq!(table(&fabric, "spine2", name), set(&names[..2]), "{name}");
        }
        // What was built is read again as the same network.
        done(at, "topo import sonic -o again.json");
        let links = |name: &str| json_of(&at.join(name))["switches"].clone();
        for (read, made) in std::iter::zip(
            links("again.json").as_array().unwrap(),
            links("links.json").as_array().unwrap(),
        ) {
            assert_eq!(read["interfaces"], made["interfaces"]);
        }
    }
}

/// A device and one of its ports.
type End = (String, String);
/// A cable of the fabric.
type Cable = [End; 2];
/// What a switch's ports lead to, by the names of the ports.
type Heard = Vec<(String, End)>;

/// Eight leaves, four spines, two hosts at each leaf, Arista's names.
fn fabric() -> Vec<Cable> {
    let mut cables = Vec::new();
    for leaf in 1..=8 {
        let name = format!("leaf{leaf}");
        for spine in 1..=4 {
            let near = (name.clone(), format!("Ethernet1/{}/1", 48 + spine));
            cables.push([near, (format!("spine{spine}"), format!("Ethernet{leaf}/1"))]);
        }
        for host in 1..=2 {
            let near = (name.clone(), format!("Ethernet1/{host}"));
            cables.push([near, (format!("srv{leaf}-{host}"), "eth0".to_owned())]);
        }
    }
    cables
}

/// What each switch leads to, by its ports.
fn heard(cables: &[Cable]) -> Vec<(String, Heard)> {
    let mut switches: Vec<(String, Vec<_>)> = Vec::new();
    for [a, b] in cables {
        for (near, far) in [(a, b), (b, a)] {
            if near.0.starts_with("srv") {
                continue;
            }
            let row = (near.1.clone(), far.clone());
            match switches.iter_mut().find(|(name, _)| *name == near.0) {
                Some((_, rows)) => rows.push(row),
                None => switches.push((near.0.clone(), vec![row])),
            }
        }
    }
    switches
}

#[test]
fn one_fabric_in_three_formats_gives_one_plan() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for name in ["csv", "lldp/fabric", "sonic/fabric"] {
        fs::create_dir_all(at.join(name)).unwrap();
    }
    let cables = fabric();
    let mut links = "a\ta_port\tb\tb_port\n".to_owned();
    // The last first: the order of the lines is not the order of the network.
    for [a, b] in cables.iter().rev() {
        writeln!(links, "{}\t{}\t{}\t{}", b.0, b.1, a.0, a.1).unwrap();
    }
    fs::write(at.join("csv/fabric.csv"), links).unwrap();
    for (switch, rows) in heard(&cables) {
        let entry = |(near, far): &(String, (String, String))| {
            json!({ near: {
                "chassis": { &far.0: { "id": { "type": "mac", "value": "02:00:00:00:00:01" } } },
                "port": { "id": { "type": "ifname", "value": far.1 }, "descr": far.1 },
            } })
        };
        let mut entries: Vec<Value> = rows.iter().map(entry).collect();
        let oob = (format!("Gi1/0/{}", entries.len()), switch.clone());
        entries.push(entry(&(
            "Management1".to_owned(),
            ("oob-sw1".to_owned(), oob.0),
        )));
        let text = json!({ "lldp": { "interface": entries } }).to_string();
        fs::write(at.join(format!("lldp/fabric/{switch}.json")), text).unwrap();
        let each = |value: &dyn Fn(&(String, String)) -> Value| -> Value {
            rows.iter()
                .map(|(near, far)| (near.clone(), value(far)))
                .collect()
        };
        let is_host = |far: &(String, String)| far.0.starts_with("srv");
        let speed = |far: &_| json!({ "speed": if is_host(far) { "25000" } else { "400000" } });
        let length = |far: &_| json!(if is_host(far) { "3m" } else { "30m" });
        let text = json!({
            "DEVICE_METADATA": { "localhost": { "hostname": switch } },
            "PORT": each(&speed),
            "CABLE_LENGTH": { "AZURE": each(&length) },
            "DEVICE_NEIGHBOR": each(&|far| json!({ "name": far.0, "port": far.1 })),
        });
        let place = at.join("sonic/fabric").join(format!("{switch}.json"));
        fs::write(place, text.to_string()).unwrap();
    }
    let facts = "--host-rate 25 --fabric-rate 400 --host-length 3 --fabric-length 30";
    let (_, words) = done(
        at,
        &format!("topo import lldp/fabric {facts} --strict -o lldp.json"),
    );
    assert!(
        words.contains("management interfaces are left out: leaf1:Management1"),
        "{words}"
    );
    assert!(words.contains("left out too: oob-sw1"), "{words}");
    done(
        at,
        &format!("topo import csv/fabric.csv {facts} --strict -o csv.json"),
    );
    done(at, "topo import sonic/fabric --strict -o sonic.json");
    let plans = ["lldp", "csv", "sonic"].map(|name| {
        done(at, &format!("plan {name}.json -o {name}-plan.json"));
        fs::read_to_string(at.join(format!("{name}-plan.json"))).unwrap()
    });
    assert!(plans[0] == plans[1], "by LLDP and by CSV");
    assert!(plans[1] == plans[2], "by CSV and by SONiC");
}

#[test]
fn what_is_assumed_is_said_once_and_refused_if_asked() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let lab = "name: lab\ntopology:\n  nodes:\n    leaf1: {kind: ceos}\n    leaf2: {kind: ceos}\n    \
        spine1: {kind: ceos}\n    h1: {kind: linux}\n    h2: {kind: linux}\n  links:\n  \
        - endpoints: [\"leaf1:eth1\", \"spine1:eth1\"]\n  - endpoints: [\"leaf2:eth1\", \"spine1:eth2\"]\n  \
        - endpoints: [\"leaf1:eth2\", \"h1:eth1\"]\n  - endpoints: [\"leaf2:eth2\", \"h2:eth1\"]\n";
    fs::write(at.join("lab.clab.yml"), lab).unwrap();
    let (_, words) = done(at, "topo import lab.clab.yml -o lab.json");
    let rate = "rate of 4 links is not given: 100 Gb/s assumed (`topo import --rate`";
    assert_eq!(words.matches("rate of 4 links").count(), 1, "{words}");
    assert!(words.contains(rate), "{words}");
    assert!(
        words.contains("length of 2 links is not given: 100 m assumed"),
        "{words}"
    );
    assert!(
        words.contains("length of 2 links is not given: 10 m assumed"),
        "{words}"
    );
    let (shown, _) = done(at, "topo show lab.json");
    assert!(
        shown.contains(rate) && shown.contains("buffer of 3 switches is not given"),
        "{shown}"
    );
    let condition = "with 4 assumed rates, 4 assumed lengths, 3 assumed buffers and an assumed MTU";
    let (planned, _) = done(at, "plan lab.json");
    assert!(
        planned.contains(&format!("proven, {condition}: no cyclic")),
        "{planned}"
    );
    done(at, "plan lab.json -o plan.json");
    let (checked, _) = done(at, "check plan.json");
    assert!(
        checked.contains(&format!("3 switches, 2 hosts, {condition}")),
        "{checked}"
    );
    let (report, _) = done(at, "check plan.json --json");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        report["assumed"][0],
        json!({
            "what": "rate", "count": 4, "value": "100 Gb/s",
            "option": "`topo import --rate`, `--fabric-rate`, `--host-rate`",
        })
    );
    for (line, status) in [
        ("topo import lab.clab.yml --strict -o strict.json", 2),
        ("plan lab.json --strict -o strict.json", 1),
        ("check plan.json --strict", 1),
    ] {
        let (code, words) = refused(at, line);
        assert_eq!(code, status, "{words}");
        assert!(words.contains(rate), "{words}");
        assert!(!at.join("strict.json").exists());
    }
    done(
        at,
        "topo import lab.clab.yml --rate 400 --length 30 --strict -o given.json",
    );
    let (planned, _) = done(
        at,
        "plan given.json --buffer 32MiB --mtu 9100 --strict -o given-plan.json",
    );
    assert!(
        planned.contains("proven: no cyclic") && !planned.contains("assumed"),
        "{planned}"
    );
    done(at, "check given-plan.json --strict");
    for (line, says) in [
        (
            "topo import given.json --rate 100",
            "`--rate` means nothing here",
        ),
        (
            "topo import lab.clab.yml --rate 1 --host-rate 1 --fabric-rate 1",
            "`--rate` means nothing beside",
        ),
        (
            "topo import lab.json --ignore h1",
            "nothing of it is left out",
        ),
        (
            "topo import lab.clab.yml --ignore h9",
            "`h9`: no device and no interface matches",
        ),
    ] {
        let (code, words) = refused(at, line);
        assert_eq!(code, 2, "{words}");
        assert!(words.contains(says), "{words}");
    }
}

#[test]
fn errors_of_scenarios_name_the_file_once() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, "topo clos --leaves 2 --spines 2 --hosts 1 -o clos.json");
    done(at, "plan clos.json -o plan.json");
    done(at, "build plan.json -o build");
    let scenario = |name: &str, text: &str| {
        fs::write(at.join(name), format!("name: own\nduration: 1ms\n{text}")).unwrap();
        refused(at, &format!("simulate build --scenario {name}")).1
    };
    let flow = "flows:\n  - { from: h1, to: h2 }\n";
    let words = scenario("rate.yaml", &format!("rate: 40GB/s\n{flow}"));
    assert!(words.starts_with("error: rate.yaml: "), "{words}");
    assert_eq!(words.matches("error").count(), 1, "{words}");
    assert!(
        !words.contains("<input>") && words.contains("line 3"),
        "{words}"
    );
    let words = scenario(
        "down.yaml",
        &format!("{flow}events:\n  - {{ at: 0us, fail: leaf9-spine1 }}\n"),
    );
    let says = "events[0] (fail leaf9-spine1): `leaf9-spine1` is not a link";
    assert!(
        words.contains(says) && words.contains("`spine1` is linked to leaf1, leaf2"),
        "{words}"
    );
    let words = scenario(
        "none.yaml",
        &format!("{flow}events:\n  - {{ at: 0us, fail: a-b }}\n"),
    );
    assert!(
        words.contains("there are leaf1-spine1, leaf1-spine2"),
        "{words}"
    );
}

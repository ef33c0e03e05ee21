//! From a plan to switches under SONiC and back: built, imported, audited, changed, audited again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

fn run(at: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(line.split(' ')).current_dir(at);
    command
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn done(at: &Path, line: &str) -> String {
    let output = run(at, line);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// Changes a switch's configuration.
fn edit(at: &Path, switch: &str, change: impl FnOnce(&mut Value)) {
    let path = at.join(format!("fabric/switches/{switch}/config_db.json"));
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

fn fabric(bounces: u8) -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json");
    done(
        at,
        &format!("plan clos.json --bounces {bounces} -o plan.json"),
    );
    done(at, "build plan.json --target sonic -o fabric");
    folder
}

#[test]
fn a_fabric_is_built_imported_and_audited() {
    let folder = fabric(1);
    let at = folder.path();
    done(at, "topo import fabric -o imported.json");
    let count = |name: &str| -> Vec<usize> {
        let text = fs::read_to_string(at.join(name)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let parts = ["switches", "hosts", "links"];
        parts
            .map(|part| value[part].as_array().unwrap().len())
            .to_vec()
    };
    assert_eq!(count("imported.json"), count("clos.json"));
    let text = fs::read_to_string(at.join("imported.json")).unwrap();
    assert!(
        text.contains(r#""interfaces":{"1":"Ethernet0","2":"Ethernet4""#),
        "{text}"
    );
    // What was imported can be planned and built, under the same names.
    done(at, "plan imported.json -o again.json");
    done(at, "build again.json --target sonic -o again");
    let patch = |folder: &str| fs::read(at.join(folder).join("switches/leaf1/patch.json")).unwrap();
    assert_eq!(patch("again"), patch("fabric"));

    let report: Value = serde_json::from_str(&done(at, "audit fabric --json")).unwrap();
    assert_eq!(
        (&report["cbd_free"], &report["findings"]),
        (&json!(true), &json!([]))
    );
    edit(at, "leaf2", |config| {
        let row = config["PORT_QOS_MAP"]["Ethernet8"].as_object_mut().unwrap();
        row.remove("pfc_enable");
    });
    let output = run(at, "audit fabric --json -o audit.html");
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "pfc-one-end");
    assert!(
        finding["place"]
            .as_str()
            .unwrap()
            .contains("leaf2:Ethernet8")
    );
    let page = fs::read_to_string(at.join("audit.html")).unwrap();
    assert!(page.contains("PFC at one end only") && page.contains("leaf2:Ethernet8"));
    edit(at, "leaf3", |config| {
        config["PORT_QOS_MAP"]["Ethernet0"]["tc_to_queue_map"] = json!("AZURE");
    });
    let output = run(at, "audit fabric");
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = "switches/leaf3/config_db.json: table PORT_QOS_MAP, key `Ethernet0.tc_to_queue_map`";
    assert!(words.contains(told), "{words}");
}

/// Codes and priorities that an operator chooses are those of maps, PFC and packets.
#[test]
fn codes_and_priorities_are_the_operators() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json");
    for (options, codes, pfc) in [
        ("--codes 26", ["26", "28"], "3,4"),
        ("--codes 46,3 --tag-priorities 5,6", ["46", "3"], "5,6"),
    ] {
        done(at, &format!("plan clos.json {options} -o plan.json"));
        done(at, "build plan.json --target sonic -o fabric");
        done(at, "audit fabric");
        let text = fs::read_to_string(at.join("fabric/switches/leaf1/config_db.json")).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        let port = &config["PORT_QOS_MAP"]["Ethernet0"];
        assert_eq!(port["pfc_enable"], pfc);
        let map = &config["DSCP_TO_TC_MAP"][port["dscp_to_tc_map"].as_str().unwrap()];
        let lossless = map.as_object().unwrap().iter().filter(|(_, tc)| *tc != "0");
        let mut lossless: Vec<&str> = lossless.map(|(dscp, _)| dscp.as_str()).collect();
        lossless.sort_unstable();
        let order = codes;
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        assert_eq!(lossless, codes);
        // The same on switches with tag rules.
        done(at, "build plan.json -o build");
        for built in ["build", "fabric"] {
            let fails = "--fail leaf1-spine1 --fail leaf4-spine2";
            let walk = done(
                at,
                &format!("trace {built} --from h1 --to h8 {fails} --json"),
            );
            let walk: Value = serde_json::from_str(&walk).unwrap();
            let hops = walk["hops"].as_array().unwrap();
            let of = |field: &str| -> Vec<String> {
                hops.iter().map(|hop| hop[field].to_string()).collect()
            };
            let (low, high) = pfc.split_once(',').unwrap();
            assert_eq!(
                of("code_after"),
                [0, 0, 1, 1, 1].map(|tag| order[tag]),
                "{built}"
            );
            assert_eq!(of("eg_prio"), [low, low, high, high, high], "{built}");
        }
    }
}

/// Tags beside the configurations of switches, for a folder and for one file; merging again changes
/// nothing.
#[test]
fn tags_are_put_beside_the_configurations_of_switches() {
    let folder = fabric(1);
    let at = folder.path();
    for switch in ["leaf1", "leaf2", "leaf3", "leaf4", "spine1", "spine2"] {
        edit(at, switch, |config| {
            config["SCHEDULER"] = json!({"scheduler.0": {"type": "STRICT"}});
            config["DSCP_TO_TC_MAP"] = json!({"AZURE": {"0": "0", "48": "6"}});
            config["TC_TO_QUEUE_MAP"] = json!({"AZURE": {"0": "0", "6": "6"}});
            config["TC_TO_PRIORITY_GROUP_MAP"] = json!({"AZURE": {"0": "0", "6": "0"}});
            config.as_object_mut().unwrap().remove("TC_TO_DSCP_MAP");
            for row in config["PORT_QOS_MAP"].as_object_mut().unwrap().values_mut() {
                *row = json!({"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE"});
            }
        });
    }
    done(
        at,
        "build plan.json --target sonic --merge fabric/switches -o once",
    );
    done(at, "audit once");
    done(at, "audit once --routes any");
    let config = |name: &str| -> Value {
        let path = at.join(name).join("switches/leaf1/config_db.json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let once = config("once");
    assert_eq!(once["SCHEDULER"]["scheduler.0"]["type"], "STRICT");
    let port = &once["PORT_QOS_MAP"]["Ethernet0"];
    let bound = |field: &str| port[field].as_str().unwrap();
    let map = &once["DSCP_TO_TC_MAP"][bound("dscp_to_tc_map")];
    assert_eq!(
        (&map["48"], port["pfc_enable"].as_str()),
        (&json!("6"), Some("3,4"))
    );
    assert_eq!(once["TC_TO_QUEUE_MAP"][bound("tc_to_queue_map")]["6"], "6");
    assert!(map["26"].is_string() && map["28"].is_string());
    done(
        at,
        "build plan.json --target sonic --merge once/switches -o again",
    );
    assert_eq!(config("again"), once);
    // The embedded switches run what was merged.
    let walk = done(at, "trace once --from h1 --to h8 --json");
    let walk: Value = serde_json::from_str(&walk).unwrap();
    assert_eq!(walk["hops"][0]["eg_prio"], 3, "{walk}");
    // A code in a class of the operator's is refused, and nothing is left behind.
    done(at, "plan clos.json --codes 48 -o cnp.json");
    let output = run(
        at,
        "build cnp.json --target sonic --merge fabric/switches -o new",
    );
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(
        words.contains("leaf1/config_db.json: table DSCP_TO_TC_MAP, key `AZURE.48`"),
        "{words}"
    );
    assert!(
        words.contains("--codes") && !at.join("new").exists(),
        "{words}"
    );
    // One file for all switches.
    let shared = json!({
        "DSCP_TO_TC_MAP": {"AZURE": {"48": "6"}},
        "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "6": "6"}},
    });
    fs::write(at.join("qos.json"), shared.to_string()).unwrap();
    done(
        at,
        "build plan.json --target sonic --merge qos.json -o shared",
    );
    done(at, "audit shared");
    assert_eq!(config("shared")["TC_TO_QUEUE_MAP"]["AZURE"]["6"], "6");
}

#[test]
fn a_fabric_in_parts_is_audited_part_by_part() {
    let folder = fabric(1);
    let at = folder.path();
    let lonely = json!({
        "DEVICE_METADATA": {"localhost": {"hostname": "lonely"}},
        "PORT": {"Ethernet0": {"speed": "100000"}},
    });
    fs::create_dir(at.join("fabric/lonely")).unwrap();
    fs::write(at.join("fabric/lonely/config_db.json"), lonely.to_string()).unwrap();
    let output = run(at, "audit fabric --json -o audit.html");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && words.contains("in 2 parts"),
        "{words}"
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["switches"], &report["cbd_free"]),
        (&json!(7), &json!(true))
    );
    let page = fs::read_to_string(at.join("audit.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    // Routes are those of the part in which they start; one that starts nowhere is told.
    fs::write(at.join("routes.txt"), "h1 leaf1 spine1 leaf4 h8\n").unwrap();
    done(at, "audit fabric --routes routes.txt");
    fs::write(at.join("routes.txt"), "h99 leaf1 spine1 leaf4 h8\n").unwrap();
    let output = run(at, "audit fabric --routes routes.txt");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("h99"));
    // A topology is one network.
    let output = run(at, "topo import fabric -o imported.json");
    assert_eq!(output.status.code(), Some(2));
    assert!(!at.join("imported.json").exists());
}

#[test]
fn what_does_not_fit_is_refused_with_need_and_limit() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json");
    done(at, "plan clos.json --bounces 3 -o deep.json");
    let output = run(at, "build deep.json --target sonic -o deep");
    assert_eq!(output.status.code(), Some(3));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("needs 9 traffic classes, the target has 8"),
        "{words}"
    );
    assert!(!at.join("deep").exists());
    done(
        at,
        "build deep.json --target sonic --platform generic-16tc -o deep",
    );
    done(
        at,
        "build deep.json --target sonic --platform generic-8tc-acl -o ruled",
    );
    let config = fs::read_to_string(at.join("ruled/switches/leaf1/config_db.json")).unwrap();
    assert!(config.contains("TC_ACTION"));
}

#[test]
fn the_bounce_under_sonic() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(
        at,
        "topo clos --pods 2 --leaves 2 --aggregations 2 --spines 2 --hosts 2 -o pods.json",
    );
    done(at, "plan pods.json --bounces 1 -o plan.json");
    done(at, "build plan.json --target sonic -o fabric");
    for (tags, deadlocks) in [("", 0), (" --without-tags", 1)] {
        let line = format!("simulate fabric --scenario bounce --json{tags}");
        let report: Value = serde_json::from_str(&done(at, &line)).unwrap();
        assert_eq!(report["deadlocks"], deadlocks, "{line}");
        assert_eq!(report["lossless_drops"], 0, "{line}");
    }
}

/// ACL rules change what the DSCP alone decides, and the audit proves what was built with them.
#[test]
fn a_fabric_with_acl_rules_is_proven() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, "topo ring 4 -o ring.json");
    done(at, "plan ring.json --classes 2 -o plan.json");
    done(
        at,
        "build plan.json --target sonic --platform generic-8tc-acl -o fabric",
    );
    let switches = fs::read_dir(at.join("fabric/switches")).unwrap();
    let ruled = switches.filter(|switch| {
        let path = switch.as_ref().unwrap().path().join("config_db.json");
        fs::read_to_string(path).unwrap().contains("ACL_RULE")
    });
    assert!(ruled.count() > 0, "no switch has an ACL rule");
    for routes in ["", " --routes any"] {
        done(at, &format!("audit fabric{routes}"));
    }
}

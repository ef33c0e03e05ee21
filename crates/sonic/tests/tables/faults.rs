//! Configurations that contradict themselves: told by file, table and key.

use serde_json::{Value, json};
use sonic::platform::GENERIC_8TC;
use sonic::{configure, read};
use topology::SwitchId;

use super::written::{bounces, clos, options};

/// A configuration that is right.
fn right() -> Value {
    let plan = bounces(&clos(), 1);
    let config = configure(&plan, SwitchId::new(0), &options(&GENERIC_8TC)).unwrap();
    Value::Object(sonic::write::tables(&config))
}

/// The first fault of a configuration that was changed.
fn told(change: impl FnOnce(&mut Value)) -> String {
    let mut value = right();
    change(&mut value);
    let error = read("leaf1.json", &value.to_string()).unwrap_err();
    error.to_string()
}

#[test]
fn faults_name_file_table_and_key() {
    read("leaf1.json", &right().to_string()).unwrap();
    let first_map = |value: &Value, table: &str| {
        let maps = value[table].as_object().unwrap();
        maps.keys().next().unwrap().clone()
    };
    let unknown = told(|value| {
        let map = first_map(value, "DSCP_TO_TC_MAP");
        value["DSCP_TO_TC_MAP"][map]["1"] = json!("16");
    });
    assert!(unknown.starts_with("leaf1.json: table DSCP_TO_TC_MAP, key `SWITCHWRIGHT_IN_"));
    assert!(unknown.contains("`16` is no traffic class"), "{unknown}");
    let unmapped = told(|value| {
        let map = first_map(value, "DSCP_TO_TC_MAP");
        value["DSCP_TO_TC_MAP"][map]["1"] = json!("9");
    });
    assert!(unmapped.contains("gives traffic class 9"), "{unmapped}");
    let port = told(|value| {
        let row = value["PORT_QOS_MAP"]["Ethernet0"].clone();
        value["PORT_QOS_MAP"]["Ethernet400"] = row;
    });
    assert!(
        port.contains("table PORT_QOS_MAP, key `Ethernet400`"),
        "{port}"
    );
    let map = told(|value| value["PORT_QOS_MAP"]["Ethernet0"]["tc_to_queue_map"] = json!("AZURE"));
    assert!(
        map.contains("key `Ethernet0.tc_to_queue_map`: there is no `AZURE`"),
        "{map}"
    );
    let twice = told(|value| value["BUFFER_PG"]["Ethernet0|0-1"] = json!({"profile": "x"}));
    assert!(twice.contains("table BUFFER_PG"), "{twice}");
    assert!(
        twice.contains("two rows with different profiles"),
        "{twice}"
    );
    let cable = told(|value| value["CABLE_LENGTH"]["OTHER"] = json!({"Ethernet0": "7m"}));
    assert!(cable.contains("another group says"), "{cable}");
    let profile = told(|value| value["BUFFER_PG"]["Ethernet0|1"]["profile"] = json!("none"));
    assert!(profile.contains("there is no profile `none`"), "{profile}");
    assert!(
        read("x.json", "{")
            .unwrap_err()
            .to_string()
            .contains("x.json: no JSON")
    );
    assert!(
        read("x.json", "[]")
            .unwrap_err()
            .to_string()
            .contains("no object of tables")
    );
}

#[test]
fn older_spellings_are_read() {
    let mut value = right();
    let row = value["PORT_QOS_MAP"]["Ethernet0"].clone();
    let map = row["dscp_to_tc_map"].as_str().unwrap().to_owned();
    value["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] = json!(format!("[DSCP_TO_TC_MAP|{map}]"));
    let older = read("leaf1.json", &value.to_string()).unwrap();
    let newer = read("leaf1.json", &right().to_string()).unwrap();
    assert_eq!(older, newer);
}

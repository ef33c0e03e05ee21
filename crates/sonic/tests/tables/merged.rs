//! Tags beside the configuration that an operator has.

use plan::{CheckedPlan, NewTag, TagCode, TagNumbers};
use quantities::Priority;
use schemes::{TaggerOptions, tagger};
use serde_json::{Map, Value, json};
use sonic::audit::{Fabric, Routing, audit};
use sonic::platform::{GENERIC_8TC, GENERIC_8TC_ACL, GENERIC_16TC};
use sonic::{
    Base, ConfigDb, Configuration, MergeError, Pipeline, Platform, Watchdog, configuration,
    interface,
};
use topology::{NodeId, SwitchId};

use crate::written::{bounces, clos, options, proven};

/// Tags with these codes and priorities in the Clos of the tests.
fn chosen(codes: &[u16], priorities: &[u8]) -> CheckedPlan {
    let options = TaggerOptions {
        numbers: TagNumbers {
            codes: codes.iter().copied().map(TagCode::new).collect(),
            priorities: priorities.iter().copied().map(Priority::new).collect(),
        },
        ..TaggerOptions::default()
    };
    proven(tagger(&clos(), &options).unwrap())
}

/// A map as the templates of switches write it.
fn map(of: impl Fn(u8) -> u8, last: u8) -> Value {
    let rows = (0..=last).map(|n| (n.to_string(), json!(of(n).to_string())));
    Value::Object(rows.collect())
}

/// The configuration of a leaf or a spine before tags: classes for background (8), voice (46) and
/// congestion notification (48), schedulers, WRED, buffers, a watchdog, and interfaces of its own.
fn operator(plan: &CheckedPlan, switch: SwitchId) -> Value {
    let topology = plan.topology();
    let names: Vec<String> = topology
        .peers(switch)
        .map(|(port, _)| interface(topology, switch, port))
        .collect();
    let by_port = |row: &dyn Fn(&String) -> Value| -> Value {
        Value::Object(names.iter().map(|name| (name.clone(), row(name))).collect())
    };
    let by_queue = |rows: &[(&str, Value)]| -> Value {
        let each = names.iter().flat_map(|name| {
            let each = rows.iter();
            each.map(move |(queues, row)| (format!("{name}|{queues}"), row.clone()))
        });
        Value::Object(each.collect())
    };
    let neighbors: Map<String, Value> = topology
        .peers(switch)
        .map(|(port, peer)| {
            let far = topology.node_name(peer.end.node);
            let far_port = match peer.end.node {
                NodeId::Switch(at) => interface(topology, at, peer.end.port),
                NodeId::Host(_) => "eth0".to_owned(),
            };
            (
                interface(topology, switch, port),
                json!({"name": far, "port": far_port}),
            )
        })
        .collect();
    let lengths: Map<String, Value> = topology
        .peers(switch)
        .map(|(port, peer)| {
            let metres = topology.link(peer.link).length;
            (
                interface(topology, switch, port),
                json!(format!("{metres}m")),
            )
        })
        .collect();
    let dscp = |dscp| match dscp {
        8 => 0,
        46 => 5,
        48 => 6,
        _ => 1,
    };
    json!({
        "DEVICE_METADATA": {"localhost": {"hostname": topology.switch(switch).name, "type": "LeafRouter", "hwsku": "x"}},
        "PORT": by_port(&|_| json!({"speed": "100000", "mtu": "9100", "fec": "rs", "admin_status": "up"})),
        "DEVICE_NEIGHBOR": neighbors,
        "CABLE_LENGTH": {"AZURE": lengths},
        "DSCP_TO_TC_MAP": {"AZURE": map(dscp, 63)},
        "TC_TO_QUEUE_MAP": {"AZURE": map(|tc| tc, 7)},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": map(|tc| if tc == 7 { 7 } else { 0 }, 7)},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": map(|priority| priority, 7)},
        "PORT_QOS_MAP": {
            "global": {"dscp_to_tc_map": "AZURE"},
            names.join(","): {
                "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE",
                "pfc_to_queue_map": "AZURE",
            },
        },
        "SCHEDULER": {
            "scheduler.0": {"type": "DWRR", "weight": "14"},
            "scheduler.1": {"type": "DWRR", "weight": "15"},
            "scheduler.2": {"type": "STRICT"},
        },
        "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "green_max_threshold": "2097152"}},
        "QUEUE": by_queue(&[
            ("1", json!({"scheduler": "scheduler.0"})),
            ("3", json!({"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"})),
            ("4", json!({"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"})),
            ("6", json!({"scheduler": "scheduler.2"})),
        ]),
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10875072"},
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "15982720"},
            "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "15982720"},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"},
        },
        "BUFFER_PG": by_queue(&[("0", json!({"profile": "ingress_lossy_profile"}))]),
        "BUFFER_QUEUE": by_queue(&[
            ("0-2", json!({"profile": "egress_lossy_profile"})),
            ("3-4", json!({"profile": "egress_lossless_profile"})),
            ("5-6", json!({"profile": "egress_lossy_profile"})),
        ]),
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}},
        "NTP_SERVER": {"10.0.0.9": {}},
    })
}

fn base(config: &Value) -> Base {
    Base::read("config_db.json", &config.to_string(), false).unwrap_or_else(|e| panic!("{e}"))
}

fn merged_on(
    plan: &CheckedPlan,
    switch: SwitchId,
    config: &Value,
    platform: &'static Platform,
) -> Result<Configuration, MergeError> {
    configuration(plan, switch, &options(platform), Some(&base(config)))
}

fn merged(plan: &CheckedPlan, switch: SwitchId, config: &Value) -> Value {
    let merged = merged_on(plan, switch, config, &GENERIC_8TC);
    Value::Object(merged.unwrap_or_else(|e| panic!("{e}")).tables)
}

fn typed(config: &Value) -> ConfigDb {
    sonic::read("config_db.json", &config.to_string()).unwrap_or_else(|e| panic!("{e}"))
}

/// The faults that a merge finds.
fn refused(plan: &CheckedPlan, config: &Value) -> String {
    let merged = merged_on(plan, SwitchId::new(0), config, &GENERIC_16TC);
    match merged {
        Err(MergeError::Collision(faults)) => faults.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tags_stand_beside_the_operators_classes() {
    let plan = bounces(&clos(), 1);
    let (tagging, carrier) = (plan.tagging(), plan.carrier());
    for switch in plan.topology().switch_ids() {
        let before = operator(&plan, switch);
        let after = merged(&plan, switch, &before);
        for table in [
            "PORT",
            "DEVICE_NEIGHBOR",
            "CABLE_LENGTH",
            "SCHEDULER",
            "QUEUE",
            "WRED_PROFILE",
            "BUFFER_POOL",
            "BUFFER_QUEUE",
            "PFC_WD",
            "LOOPBACK_INTERFACE",
            "NTP_SERVER",
            "DEVICE_METADATA",
            "MAP_PFC_PRIORITY_TO_QUEUE",
        ] {
            assert_eq!(after[table], before[table], "{table}");
        }
        for kind in [
            "DSCP_TO_TC_MAP",
            "TC_TO_QUEUE_MAP",
            "TC_TO_PRIORITY_GROUP_MAP",
        ] {
            assert_eq!(after[kind]["AZURE"], before[kind]["AZURE"], "{kind}");
        }
        let (old, new) = (typed(&before), typed(&after));
        let (old, new) = (Pipeline::of(&old), Pipeline::of(&new));
        let topology = plan.topology();
        let ports = || topology.peers(switch).map(|(port, _)| port);
        let at =
            |pipeline: &Pipeline, port| pipeline.port(&interface(topology, switch, port)).unwrap();
        for input in ports() {
            assert!(new.pfc(at(&new, input), 3) && new.pfc(at(&new, input), 4));
            for output in ports() {
                for dscp in 0..64u8 {
                    let was = old.treat(at(&old, input), dscp, at(&old, output));
                    let is = new.treat(at(&new, input), dscp, at(&new, output));
                    let NewTag::Lossless(tag) = carrier.decode(TagCode::new(dscp.into())) else {
                        assert_eq!(is, was, "DSCP {dscp} is the operator's");
                        continue;
                    };
                    let class = plan::ClassId::new(0);
                    let new_tag = tagging.new_tag(switch, class, tag, input, output);
                    let code = carrier.code(class, new_tag).unwrap().get();
                    assert_eq!(u16::from(is.dscp), code);
                    assert_eq!(
                        is.priority_group,
                        tagging.priority(NewTag::Lossless(tag)).get()
                    );
                    // Lossy packets wait where the operator's packets with DSCP 0 wait.
                    let queue = match new_tag {
                        NewTag::Lossless(_) => tagging.priority(new_tag).get(),
                        NewTag::Lossy => 1,
                    };
                    assert_eq!(is.queue, queue);
                }
            }
        }
    }
}

#[test]
fn the_audit_of_a_merged_fabric_is_clean() {
    for (plan, platform) in [
        (bounces(&clos(), 1), &GENERIC_8TC),
        (chosen(&[3, 4], &[4, 3]), &GENERIC_8TC),
        (bounces(&clos(), 2), &GENERIC_16TC),
        (bounces(&clos(), 1), &GENERIC_8TC_ACL),
    ] {
        let topology = plan.topology();
        let configs: Vec<ConfigDb> = topology
            .switch_ids()
            .map(|switch| {
                let mut given = operator(&plan, switch);
                // Two tags of two bounces: the lossless queues of a third priority.
                if plan.tagging().priorities.len() > 2 {
                    let queues = given["BUFFER_QUEUE"].as_object_mut().unwrap();
                    queues.retain(|key, _| !key.ends_with("|0-2"));
                }
                let merged = merged_on(&plan, switch, &given, platform);
                typed(&Value::Object(
                    merged.unwrap_or_else(|e| panic!("{e}")).tables,
                ))
            })
            .collect();
        let fabric = Fabric {
            topology,
            configs: &configs,
            mtu: plan.tables().budget.mtu,
        };
        let report = audit(&fabric, Routing::Any);
        assert_eq!(report.findings, []);
        assert_eq!(report.cbd_free, Some(true), "{:?}", report.cbd_free_unknown);
        let codes = plan.carrier().codes.values();
        let mut codes: Vec<u8> = codes
            .map(|code| u8::try_from(code.get()).unwrap())
            .collect();
        codes.sort_unstable();
        assert_eq!(report.lossless_dscps, codes);
    }
}

#[test]
fn merging_again_changes_nothing() {
    let plan = bounces(&clos(), 1);
    for switch in plan.topology().switch_ids() {
        let given = operator(&plan, switch);
        let once = merged(&plan, switch, &given);
        let again = merged_on(&plan, switch, &once, &GENERIC_8TC).unwrap();
        assert_eq!(Value::Object(again.tables), once);
        assert_eq!(again.patch, json!([]));
        // Maps of an earlier plan go.
        let other = chosen(&[28, 26], &[3, 4]);
        let changed = merged(&other, switch, &once);
        assert_eq!(changed, merged(&other, switch, &given));
    }
}

#[test]
fn a_merge_is_beside_a_plain_build_too() {
    let plan = bounces(&clos(), 1);
    let switch = SwitchId::new(0);
    let plain = configuration(&plan, switch, &options(&GENERIC_8TC), None).unwrap();
    let again = merged(&plan, switch, &Value::Object(plain.tables.clone()));
    for table in [
        "BUFFER_PG",
        "BUFFER_QUEUE",
        "BUFFER_PROFILE",
        "BUFFER_POOL",
        "CABLE_LENGTH",
    ] {
        assert_eq!(again[table], plain.tables[table], "{table}");
    }
    assert_eq!(again, merged(&plan, switch, &again));
}

#[test]
fn the_patch_names_the_tables_that_change() {
    let plan = bounces(&clos(), 1);
    let switch = SwitchId::new(0);
    let given = operator(&plan, switch);
    let made = merged_on(&plan, switch, &given, &GENERIC_8TC).unwrap();
    let paths: Vec<&str> = made
        .patch
        .as_array()
        .unwrap()
        .iter()
        .map(|operation| operation["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "/DSCP_TO_TC_MAP",
            "/PORT_QOS_MAP",
            "/TC_TO_DSCP_MAP",
            "/TC_TO_PRIORITY_GROUP_MAP",
            "/TC_TO_QUEUE_MAP"
        ]
    );
}

/// A change of an operator's configuration.
type Change = Box<dyn Fn(&mut Value)>;

#[test]
fn what_collides_is_refused_with_table_key_and_both_values() {
    let plan = bounces(&clos(), 1);
    let switch = SwitchId::new(0);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut given = operator(&plan, switch);
        change(&mut given);
        refused(&plan, &given)
    };
    let set = |path: &'static [&'static str], value: Value| {
        move |given: &mut Value| {
            let mut at = given;
            for part in path {
                at = &mut at[*part];
            }
            *at = value.clone();
        }
    };
    let cases: Vec<(Change, &[&str])> = vec![
        // Lossless traffic of another kind in a priority of the plan.
        (
            Box::new(|given: &mut Value| {
                given["DSCP_TO_TC_MAP"]["AZURE"]["3"] = json!("3");
                given["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["3"] = json!("3");
            }),
            &[
                "table DSCP_TO_TC_MAP, key `AZURE.3`",
                "traffic class 3 and so priority group 3",
                "that of tag 1 of the plan",
                "--tag-priorities",
            ],
        ),
        (
            Box::new(set(&["DSCP_TO_TC_MAP", "AZURE", "34"], json!("4"))),
            &["key `AZURE.34`", "so queue 4", "that of tag 2"],
        ),
        (
            Box::new(set(&["DSCP_TO_TC_MAP", "AZURE", "26"], json!("6"))),
            &[
                "key `AZURE.26`",
                "traffic class 6",
                "queue 6",
                "with priority 3",
                "--codes",
            ],
        ),
        (
            Box::new(set(
                &["MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "3"],
                json!("2"),
            )),
            &[
                "table MAP_PFC_PRIORITY_TO_QUEUE, key `AZURE.3`: queue 2",
                "queue 3",
            ],
        ),
        (
            Box::new(|given: &mut Value| {
                given["TC_TO_DSCP_MAP"] = json!({"REMARK": {"1": "26"}});
                let rows = given["PORT_QOS_MAP"].as_object_mut().unwrap();
                for (_, row) in rows.iter_mut().filter(|(key, _)| *key != "global") {
                    row["tc_to_dscp_map"] = json!("REMARK");
                }
            }),
            &["table TC_TO_DSCP_MAP, key `REMARK.1`", "DSCP 26"],
        ),
        (
            Box::new(|given: &mut Value| {
                given["BUFFER_PROFILE"]["small"] = json!({
                    "pool": "ingress_lossless_pool", "size": "1000", "xon": "1000", "xoff": "1000", "dynamic_th": "-1",
                });
                given["BUFFER_PG"]["Ethernet0|3-4"] = json!({"profile": "small"});
            }),
            &["table BUFFER_PG, key `Ethernet0|3`", "1000 bytes", "needs"],
        ),
        (
            Box::new(set(
                &["BUFFER_QUEUE", "Ethernet4|3-4", "profile"],
                json!("egress_lossy_profile"),
            )),
            &[
                "table BUFFER_QUEUE, key `Ethernet4|3`",
                "egress_lossy_profile",
            ],
        ),
        (
            Box::new(set(&["PORT", "Ethernet0", "speed"], json!("25000"))),
            &[
                "table PORT, key `Ethernet0.speed`",
                "25000 Mb/s",
                "100000 Mb/s",
            ],
        ),
        (
            Box::new(set(&["CABLE_LENGTH", "AZURE", "Ethernet8"], json!("5m"))),
            &["table CABLE_LENGTH, key `Ethernet8`: 5m", "100m"],
        ),
        (
            Box::new(set(
                &["DEVICE_NEIGHBOR", "Ethernet8", "name"],
                json!("spine9"),
            )),
            &[
                "table DEVICE_NEIGHBOR, key `Ethernet8.name`",
                "`spine9`",
                "`spine1`",
            ],
        ),
        (
            Box::new(set(
                &["DEVICE_METADATA", "localhost", "hostname"],
                json!("leaf7"),
            )),
            &["table DEVICE_METADATA", "`leaf7`", "`leaf1`"],
        ),
    ];
    for (change, parts) in cases {
        let said = with(&*change);
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in:\n{said}");
        }
    }
}

#[test]
fn codes_that_the_operator_uses_for_the_plan_are_no_collision() {
    let plan = chosen(&[3, 4], &[3, 4]);
    let switch = SwitchId::new(0);
    let mut given = operator(&plan, switch);
    for number in ["3", "4"] {
        given["DSCP_TO_TC_MAP"]["AZURE"][number] = json!(number);
        given["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"][number] = json!(number);
    }
    merged(&plan, switch, &given);
}

#[test]
fn too_few_free_traffic_classes_are_refused() {
    let plan = bounces(&clos(), 1);
    let switch = SwitchId::new(0);
    let mut given = operator(&plan, switch);
    given["DSCP_TO_TC_MAP"]["AZURE"]["10"] = json!("2");
    given["DSCP_TO_TC_MAP"]["AZURE"]["56"] = json!("7");
    let short = merged_on(&plan, switch, &given, &GENERIC_8TC);
    let Err(MergeError::Shortage(short)) = short else {
        panic!("{short:?}")
    };
    assert_eq!((short.need, short.limit), (4, 2));
    assert!(merged_on(&plan, switch, &given, &GENERIC_16TC).is_ok());
}

#[test]
fn one_file_for_all_has_no_ports() {
    let plan = bounces(&clos(), 1);
    let shared = json!({
        "DSCP_TO_TC_MAP": {"AZURE": map(|dscp| if dscp == 48 { 6 } else { 0 }, 63)},
        "TC_TO_QUEUE_MAP": {"AZURE": map(|tc| tc, 7)},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": map(|_| 0, 7)},
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}},
        "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}},
    });
    let base = Base::read("qos.json", &shared.to_string(), true).unwrap();
    let topology = plan.topology();
    let configs: Vec<ConfigDb> = topology
        .switch_ids()
        .map(|switch| {
            let made = configuration(&plan, switch, &options(&GENERIC_8TC), Some(&base)).unwrap();
            assert_eq!(made.tables["SCHEDULER"], shared["SCHEDULER"]);
            typed(&Value::Object(made.tables))
        })
        .collect();
    for (config, switch) in configs.iter().zip(topology.switches()) {
        assert_eq!(config.hostname.as_ref(), Some(&switch.name));
    }
    let fabric = Fabric {
        topology,
        configs: &configs,
        mtu: plan.tables().budget.mtu,
    };
    let report = audit(&fabric, Routing::Any);
    assert_eq!((report.findings, report.cbd_free), (vec![], Some(true)));
}

#[test]
fn the_watchdog_is_added_where_there_is_none() {
    let plan = bounces(&clos(), 1);
    let switch = SwitchId::new(0);
    let mut given = operator(&plan, switch);
    given["PFC_WD"]["Ethernet0"] =
        json!({"action": "forward", "detection_time": "400", "restoration_time": "400"});
    let mut options = options(&GENERIC_8TC);
    options.watchdog = Watchdog::Net;
    let made = configuration(&plan, switch, &options, Some(&base(&given))).unwrap();
    let rows = &made.tables["PFC_WD"];
    assert_eq!(rows["Ethernet0"], given["PFC_WD"]["Ethernet0"]);
    assert_eq!(rows["Ethernet4"]["action"], "drop");
    assert_eq!(
        made.tables["PORT_QOS_MAP"]["Ethernet4"]["pfcwd_sw_enable"],
        "3,4"
    );
}

#[test]
fn references_are_spelled_as_the_switch_spells_them() {
    let plan = bounces(&clos(), 1);
    let switch = SwitchId::new(0);
    let mut given = operator(&plan, switch);
    let rows = given["PORT_QOS_MAP"].as_object_mut().unwrap();
    for (_, row) in rows.iter_mut().filter(|(key, _)| *key != "global") {
        row["dscp_to_tc_map"] = json!("[DSCP_TO_TC_MAP|AZURE]");
    }
    let once = merged(&plan, switch, &given);
    let bound = &once["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"];
    assert!(
        bound
            .as_str()
            .unwrap()
            .starts_with("[DSCP_TO_TC_MAP|AZURE_SWITCHWRIGHT_IN_"),
        "{bound}"
    );
    assert_eq!(merged(&plan, switch, &once), once);
}

//! p4c's BMv2 JSON has no optional match: it writes such keys as ternary, and P4Info alone says
//! what they are.

use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use quantities::PortId;
use serde_json::{Value, json};
use tonic::Code;

use crate::support::{Client, Rig, WAIT, delete, info_of, insert, modify, optional, ternary};

/// What P4Info is made of.
const SOURCE: &str = r"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<16> to; }
struct H { h_t h; }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action send(bit<9> port) { s.egress_spec = port; }
    table choose {
        key = { h.h.kind: optional; h.h.to: optional; }
        actions = { send; NoAction; }
        default_action = send(1);
        size = 16;
    }
    table begun {
        key = { h.h.to: optional; }
        actions = { send; NoAction; }
        default_action = NoAction();
        const entries = { 7: send(5); _: NoAction(); }
    }
    apply { choose.apply(); begun.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

fn key(name: &str, field: &str) -> Value {
    json!({ "match_type": "ternary", "name": name, "target": ["h", field], "mask": null })
}

fn table(name: &str, keys: &[Value], next: Option<&str>) -> Value {
    json!({
        "name": name, "id": 0, "key": keys, "match_type": "ternary", "type": "simple", "max_size": 16,
        "with_counters": false, "support_timeout": false, "direct_meters": null,
        "action_ids": [0, 1], "actions": ["I.send", "NoAction"], "base_default_next": next,
        "next_tables": { "I.send": next, "NoAction": next },
        "default_entry": { "action_id": 1, "action_const": false, "action_data": [], "action_entry_const": false }
    })
}

/// The JSON of that program, in p4c's manner.
fn json_of(to_mask: &str) -> Value {
    let mut begun = table("I.begun", &[key("h.h.to", "to")], None);
    begun["entries"] = json!([
        { "match_key": [{ "match_type": "ternary", "key": "0x0007", "mask": to_mask }], "priority": 1,
          "action_entry": { "action_id": 0, "action_data": ["0x5"] } },
        { "match_key": [{ "match_type": "ternary", "key": "0x0000", "mask": "0x0000" }], "priority": 2,
          "action_entry": { "action_id": 1, "action_data": [] } }
    ]);
    let choose = [key("h.h.kind", "kind"), key("h.h.to", "to")];
    let mut choose = table("I.choose", &choose, Some("I.begun"));
    choose["default_entry"]["action_id"] = 0.into();
    choose["default_entry"]["action_data"] = json!(["0x1"]);
    json!({
        "header_types": [
            { "name": "standard_metadata", "id": 0, "fields": [["ingress_port", 9, false], ["egress_spec", 9, false],
              ["egress_port", 9, false], ["instance_type", 32, false], ["packet_length", 32, false],
              ["mcast_grp", 16, false], ["egress_rid", 16, false], ["parser_error", 32, false], ["_padding", 5, false]] },
            { "name": "h_t", "id": 1, "fields": [["kind", 8, false], ["to", 16, false]] }
        ],
        "headers": [
            { "name": "standard_metadata", "id": 0, "header_type": "standard_metadata", "metadata": true },
            { "name": "h", "id": 1, "header_type": "h_t", "metadata": false }
        ],
        "parsers": [{ "name": "parser", "id": 0, "init_state": "start", "parse_states": [
            { "name": "start", "id": 0,
              "parser_ops": [{ "op": "extract", "parameters": [{ "type": "regular", "value": "h" }] }],
              "transitions": [{ "type": "default", "value": null, "mask": null, "next_state": null }],
              "transition_key": [] }] }],
        "deparsers": [{ "name": "deparser", "id": 0, "order": ["h"] }],
        "actions": [
            { "name": "I.send", "id": 0, "runtime_data": [{ "name": "port", "bitwidth": 9 }], "primitives": [
                { "op": "assign", "parameters": [{ "type": "field", "value": ["standard_metadata", "egress_spec"] },
                                                 { "type": "runtime_data", "value": 0 }] }] },
            { "name": "NoAction", "id": 1, "runtime_data": [], "primitives": [] }
        ],
        "pipelines": [
            { "name": "ingress", "id": 0, "init_table": "I.choose",
              "tables": [choose, begun] },
            { "name": "egress", "id": 1, "init_table": null, "tables": [] }
        ]
    })
}

async fn push(client: &mut Client, json: &Value) -> Result<(), tonic::Status> {
    let config = v1::ForwardingPipelineConfig {
        p4info: Some(info_of(SOURCE)),
        p4_device_config: json.to_string().into_bytes(),
        cookie: None,
    };
    client.set(Set::VerifyAndCommit, Some(config)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_fields_work_on_p4cs_json() {
    let mut rig = Rig::start().await;
    rig.info = info_of(SOURCE);
    let mut client = rig.client(Some(1), "").await;
    push(&mut client, &json_of("0xffff")).await.unwrap();
    let entry = |key, priority, port: u8| rig.entry("choose", key, priority, "send", &[&[port]]);
    let by_kind = entry(vec![optional(1, &[1])], 10, 2);
    let by_to = entry(vec![optional(2, &[9])], 20, 3);
    let by_both = entry(vec![optional(1, &[4]), optional(2, &[9])], 30, 4);
    let all = [&by_kind, &by_to, &by_both].map(|e| insert(e.clone()));
    client.write(all.to_vec()).await.unwrap();
    let sent = |kind: u8, to: u8| {
        rig.wires.send(PortId::new(1), &[kind, 0, to]);
        rig.wires.receive(WAIT).unwrap().0.get()
    };
    assert_eq!(
        [sent(1, 5), sent(1, 9), sent(2, 9), sent(4, 9)],
        [2, 3, 3, 4]
    );
    // No entry of ours chooses; the program's own does.
    assert_eq!([sent(2, 5), sent(2, 7)], [1, 5]);

    let table = |name: &str| v1::TableEntry {
        table_id: rig.table(name),
        ..Default::default()
    };
    let mut found = client.entries(table("choose")).await;
    found.sort_by_key(|e| e.priority);
    assert_eq!(found, [by_kind.clone(), by_to.clone(), by_both.clone()]);
    let own = client.entries(table("begun")).await;
    let keys: Vec<_> = own.iter().map(|e| e.r#match.clone()).collect();
    assert!(keys.contains(&vec![optional(1, &[7])]), "{keys:?}");
    assert!(keys.contains(&Vec::new()), "{keys:?}");

    let elsewhere = entry(vec![optional(2, &[9])], 20, 6);
    client
        .write(vec![modify(elsewhere), delete(by_both)])
        .await
        .unwrap();
    assert_eq!([sent(2, 9), sent(4, 9)], [6, 6]);
    assert_eq!(client.one(insert(by_kind)).await, Code::AlreadyExists);
    let masked = entry(vec![ternary(1, &[1], &[0xff])], 40, 2);
    assert_eq!(client.one(insert(masked)).await, Code::InvalidArgument);
    let wide = entry(vec![optional(1, &[1, 0])], 40, 2);
    assert_eq!(client.one(insert(wide)).await, Code::OutOfRange);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_of_the_program_that_is_not_optional_is_refused() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    let refused = push(&mut client, &json_of("0x00ff")).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("masks a part"), "{refused}");
}

//! The engine as a page uses it: requests and responses.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use engine::Engine;
use quantities::{Cancelled, Progress};
use serde_json::{Value, json};

/// The answer to a request that has one.
fn ask(engine: &mut Engine, request: &Value) -> Value {
    let answer: Value = serde_json::from_str(&engine.call(&request.to_string())).unwrap();
    assert!(answer["error"].is_null(), "{request}: {answer}");
    answer["ok"].clone()
}

/// The kind and the text of the error of a request that has no answer.
fn refused(engine: &mut Engine, request: &Value) -> (String, String) {
    let answer: Value = serde_json::from_str(&engine.call(&request.to_string())).unwrap();
    let text = |key: &str| answer["error"][key].as_str().unwrap_or_default().to_owned();
    assert!(!text("message").is_empty(), "{request}: {answer}");
    (text("kind"), text("message"))
}

fn clos() -> Value {
    json!({ "make": { "topology": { "clos": { "leaves": 4, "spines": 2, "hosts": 2 } } } })
}

/// A request about the Clos of the tour.
fn about(call: &str, more: &Value) -> Value {
    let mut request = json!({ "call": call, "topology": clos() });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

#[test]
fn a_topology_is_made_drawn_and_read_back() {
    let mut engine = Engine::new();
    let made = ask(&mut engine, &about("topology", &json!({})));
    let count = |what: &str| made[what].as_array().unwrap().len();
    assert_eq!(
        (count("switches"), count("hosts"), count("links")),
        (6, 8, 16)
    );
    let imported = json!({ "call": "topology", "topology": { "text": { "text": made["file"] } } });
    let imported = ask(&mut engine, &imported);
    assert_eq!(imported, made);
}

#[test]
fn codes_and_priorities_of_a_request_are_those_of_the_plan() {
    let mut engine = Engine::new();
    let own = json!({ "plan": { "codes": [46], "tag_priorities": [5, 6] } });
    let file = ask(&mut engine, &about("plan", &own))["file"].to_string();
    let file = file.replace('\\', "");
    assert!(
        file.contains(r#"{"tag":1,"priority":5,"code":46}"#),
        "{file}"
    );
    assert!(
        file.contains(r#"{"tag":2,"priority":6,"code":26}"#),
        "{file}"
    );
    let wrong = about("plan", &json!({ "plan": { "codes": [64] } }));
    let (_, message) = refused(&mut engine, &wrong);
    assert!(
        message.contains("`codes`: there is no code 64"),
        "{message}"
    );
}

#[test]
fn a_plan_is_proven_and_without_tags_the_cycle_is_named_by_its_links() {
    let mut engine = Engine::new();
    let plan = ask(
        &mut engine,
        &about("plan", &json!({ "plan": { "bounces": 1 } })),
    );
    assert_eq!(plan["proven"], true);
    assert_eq!(plan["tags"].as_array().unwrap().len(), 2);
    assert_eq!(plan["summary"]["rules_total"], 20);
    let plain = json!({ "plan": { "bounces": 1 }, "without_tags": true });
    let plain = ask(&mut engine, &about("plan", &plain));
    assert_eq!(plain["proven"], false);
    let cycle = plain["cycle"]["buffers"].as_array().unwrap();
    let links = ask(&mut engine, &about("topology", &json!({})))["links"].clone();
    for (buffer, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        // The next buffer is at the far end of a link of this one's switch.
        let link = &links[next["link"].as_u64().unwrap() as usize];
        let ends = [&link["a"]["switch"], &link["b"]["switch"]];
        assert!(ends.contains(&&buffer["number"]) && ends.contains(&&next["number"]));
    }
}

#[test]
fn entries_are_those_of_a_build() {
    let mut engine = Engine::new();
    let entries = ask(
        &mut engine,
        &about("entries", &json!({ "switches": ["leaf1"] })),
    );
    let built = ask(
        &mut engine,
        &about("build", &json!({ "target": "v1model" })),
    );
    let rows = entries["rows"].as_array().unwrap();
    assert_eq!(built["entries"][0], rows.len());
    assert!(rows.iter().all(|row| row[0] == "leaf1"));
    let text = built["files"][0]["text"].as_str().unwrap();
    assert!(text.contains("V1Switch("));
}

/// The trace of a packet under the tour's two failures.
fn bounced(packet: &Value) -> Value {
    let fail = ["leaf1-spine1", "leaf4-spine2"];
    about("trace", &json!({ "fail": fail, "packet": packet }))
}

#[test]
fn a_packet_is_followed_with_headers_entries_and_the_lines_that_ran() {
    let mut engine = Engine::new();
    let walk = json!({ "hosts": { "from": "h1", "to": "h8" } });
    let walk = ask(&mut engine, &bounced(&walk));
    assert_eq!(
        (&walk["end"], &walk["host"]),
        (&json!("delivered"), &json!("h8"))
    );
    let hops = walk["hops"].as_array().unwrap();
    assert_eq!(hops.len(), 5);
    let bounce = &hops[2];
    assert_eq!(
        (&bounce["tag_before"], &bounce["tag_after"]),
        (&json!("1"), &json!("2"))
    );
    let field = |side: &str, name: &str| {
        let headers = bounce[side]["headers"].as_array().unwrap();
        let ipv4 = headers.iter().find(|h| h["name"] == "ipv4").unwrap();
        let fields = ipv4["fields"].as_array().unwrap();
        fields.iter().find(|f| f[0] == name).unwrap()[1].clone()
    };
    assert_ne!(field("before", "dscp"), field("after", "dscp"));
    assert_ne!(field("before", "ttl"), field("after", "ttl"));
    // Every line that ran is a line of the program, and says something.
    let files = walk["files"].as_array().unwrap();
    let mut seen = 0;
    for line in bounce["lines"].as_array().unwrap() {
        let Some(file) = files.iter().find(|file| file["name"] == line[0]) else {
            continue;
        };
        let text = file["text"].as_str().unwrap();
        let number = line[1].as_u64().unwrap() as usize;
        let text = text.lines().nth(number - 1).unwrap().trim();
        assert!(
            !text.is_empty() && !text.starts_with("//"),
            "{number}: {text}"
        );
        seen += 1;
    }
    assert!(seen > 5, "{seen} lines");
    // The bytes of that hop, sent by hand, do the same there.
    let by_hand = json!({ "bytes": {
        "switch": bounce["switch"], "port": bounce["in_port"], "bytes": bounce["bytes_before"],
    } });
    let again = ask(&mut engine, &bounced(&by_hand));
    assert_eq!(again["hops"][0]["bytes_after"], bounce["bytes_after"]);
}

#[test]
fn an_edited_program_is_what_runs() {
    let mut engine = Engine::new();
    let mut asked = about(
        "trace",
        &json!({ "packet": { "hosts": { "from": "h1", "to": "h8" } } }),
    );
    let walk = ask(&mut engine, &asked);
    let text = walk["files"][0]["text"].as_str().unwrap();
    let edited = text.replacen("ttl - 1", "ttl - 3", 1);
    assert_ne!(
        text, edited,
        "the program counts the TTL down elsewhere now"
    );
    asked["program"] = json!(edited);
    let after = ask(&mut engine, &asked);
    assert_ne!(
        after["hops"][0]["bytes_after"],
        walk["hops"][0]["bytes_after"]
    );
    asked["program"] = json!("control");
    let (kind, message) = refused(&mut engine, &asked);
    assert!(
        kind == "wrong" && message.contains("does not compile"),
        "{message}"
    );
}

#[test]
fn programs_are_compiled_with_places_and_played_on_cases() {
    let mut engine = Engine::new();
    let wrong = "#include <v1model.p4>\nheader h_t { bit<8> a }\n";
    let found = ask(&mut engine, &json!({ "call": "compile", "text": wrong }));
    assert_eq!(found["compiled"], false);
    assert_eq!(found["findings"][0]["place"]["line"], 2);
    let built = ask(
        &mut engine,
        &about("build", &json!({ "target": "v1model" })),
    );
    let files = built["files"].as_array().unwrap();
    let include = |file: &Value| {
        (
            file["name"].as_str().unwrap().to_owned(),
            file["text"].clone(),
        )
    };
    let includes: serde_json::Map<String, Value> = files[1..].iter().map(include).collect();
    let program = json!({ "call": "compile", "text": files[0]["text"], "files": includes });
    let fine = ask(&mut engine, &program);
    assert_eq!(fine["compiled"], true, "{fine}");
    let program = json!({ "text": files[0]["text"], "files": includes });
    let case = |case: &str| json!({ "call": "stf", "program": program, "case": case });
    let passed = ask(&mut engine, &case("packet 1 ffff\nno_packet\n"));
    assert_eq!(passed["passed"], true, "{passed}");
    let failed = ask(&mut engine, &case("packet 1 ffff\nexpect 2 ffff\n"));
    assert_eq!(
        (&failed["passed"], &failed["failures"][0]["line"]),
        (&json!(false), &json!(2))
    );
}

const REFLECTS: &str = "
#include <core.p4>
#include <v1model.p4>
header byte_t { bit<8> value; }
struct headers_t { byte_t first; }
struct metadata_t {}
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.first); transition accept; }
}
control V(inout headers_t h, inout metadata_t m) { apply {} }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    table ways { key = { h.first.value: exact; } actions = { to; NoAction; } default_action = NoAction(); }
    apply { s.egress_spec = 511; ways.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
control C(inout headers_t h, inout metadata_t m) { apply {} }
control D(packet_out p, in headers_t h) { apply { p.emit(h.first); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

#[test]
fn packets_go_through_a_program_with_entries_of_any_format() {
    let mut engine = Engine::new();
    let ask_with = |name: &str, text: &str, trace: bool| {
        json!({
            "call": "packets", "program": { "text": REFLECTS }, "trace": trace,
            "entries": [{ "name": name, "text": text }],
            "packets": [{ "port": 1, "bytes": "07 ff" }, { "port": 1, "bytes": "08" }],
        })
    };
    let commands = ask_with("commands.txt", "table_add I.ways I.to 7 => 3", false);
    let played = ask(&mut engine, &commands);
    let packets = &played["packets"];
    let sent = json!([{ "port": 3, "queue": 0, "bytes": "07ff" }]);
    assert_eq!(packets[0]["sent"], sent, "{played}");
    assert_eq!(packets[1]["sent"], json!([]));
    assert_eq!(packets[1]["dropped"].as_array().unwrap().len(), 1);
    assert_eq!(played["ports"], json!({ "3": 1 }));
    assert_eq!(packets[0]["trace"], json!([]));
    let stf = ask_with("case.stf", "add I.ways h.first.value:7 I.to(port:3)", true);
    let traced = ask(&mut engine, &stf);
    assert_eq!(traced["packets"][0]["sent"], sent);
    let lines = traced["packets"][0]["trace"].as_array().unwrap();
    assert!(lines.iter().any(|l| l.as_str().unwrap().contains("I.ways")));
    let wrong = ask_with("commands.txt", "table_add I.none I.to 7 => 3", false);
    let (kind, message) = refused(&mut engine, &wrong);
    assert!(
        kind == "wrong" && message.starts_with("commands.txt"),
        "{message}"
    );
}

#[test]
fn files_of_the_machine_are_for_its_owner() {
    let folder = std::env::temp_dir().join(format!("switchwright-engine-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("reflects.p4");
    std::fs::write(&path, REFLECTS).unwrap();
    let asked = json!({ "call": "compile", "path": path });
    let (_, message) = refused(&mut Engine::new(), &asked);
    assert!(message.contains("reads no files"), "{message}");
    let compiled = ask(&mut Engine::of_owner(), &asked);
    assert_eq!(compiled["compiled"], true);
    std::fs::remove_dir_all(&folder).unwrap();
    let both = json!({ "call": "compile", "path": path, "text": REFLECTS });
    refused(&mut Engine::of_owner(), &both);
    refused(&mut Engine::new(), &json!({ "call": "compile" }));
    let long = json!({ "make": { "topology": { "line": { "switches": 3_100, "hosts": 0 } } } });
    let long = json!({ "call": "topology", "topology": long });
    assert_eq!(refused(&mut Engine::new(), &long).0, "limit");
    let made = ask(&mut Engine::of_owner(), &long);
    assert_eq!(made["switches"].as_array().unwrap().len(), 3_100);
    let about = ask(&mut Engine::of_owner(), &json!({ "call": "about" }));
    assert!(about["limits"].is_null());
}

#[test]
fn a_plan_file_is_a_network_whoever_computed_it() {
    let mut engine = Engine::new();
    let plan = ask(&mut engine, &about("plan", &json!({})));
    let file = &plan["file"];
    let by_file = json!({ "call": "plan", "file": file });
    // Whoever made it, and whoever has never seen it.
    assert_eq!(ask(&mut engine, &by_file), plan);
    assert_eq!(ask(&mut Engine::new(), &by_file), plan);
    let plain = json!({ "call": "plan", "file": file, "without_tags": true });
    assert_eq!(ask(&mut engine, &plain)["proven"], false);
    let entries = json!({ "call": "entries", "file": file, "switches": ["leaf1"] });
    let of_topology = about("entries", &json!({ "switches": ["leaf1"] }));
    assert_eq!(ask(&mut engine, &entries), ask(&mut engine, &of_topology));
    let both = about("plan", &json!({ "file": file }));
    let (_, message) = refused(&mut engine, &both);
    assert!(message.contains("or the `file` of a plan"), "{message}");
    let network = json!({ "file": file }).to_string();
    assert_eq!(
        engine.proven(&network).unwrap().topology().links().len(),
        16
    );
    let plain = json!({ "file": file, "without_tags": true }).to_string();
    assert!(engine.proven(&plain).unwrap_err().contains("not proven"));
}

#[test]
fn links_have_tags_by_the_rules_and_load_by_the_routes() {
    let mut engine = Engine::new();
    let plan = ask(&mut engine, &about("plan", &json!({})));
    let links = ask(&mut engine, &about("topology", &json!({})))["links"].clone();
    for (link, tags) in links
        .as_array()
        .unwrap()
        .iter()
        .zip(plan["link_tags"].as_array().unwrap())
    {
        // Packets go to hosts and down with either tag, and up with the first alone unless they
        // bounced below.
        assert_eq!(tags[0], 1, "{link}");
        assert_eq!(tags.as_array().unwrap().len(), 2, "{link}");
    }
    let load = |engine: &mut Engine, fail: &[&str]| {
        let answer = ask(engine, &about("load", &json!({ "fail": fail })));
        let links = answer["links"].as_array().unwrap().iter();
        let links: Vec<f64> = links.map(|share| share.as_f64().unwrap()).collect();
        (links, answer["lost"].as_f64().unwrap())
    };
    // Two spines share what 2 hosts of a leaf send to the 6 of others: 6 each, and as much down. A
    // host sends to 7.
    let (shares, lost) = load(&mut engine, &[]);
    assert_eq!(lost, 0.0);
    let of = |name: &str, shares: &[f64]| {
        let names = links.as_array().unwrap().iter();
        let at = names.map(|link| &link["name"]).position(|n| n == name);
        shares[at.unwrap()]
    };
    assert_eq!(of("leaf1-spine1", &shares), of("leaf4-spine2", &shares));
    assert_eq!(of("leaf1-spine1", &shares), 0.8571);
    assert_eq!(of("leaf1-h1", &shares), 1.0);
    let (after, lost) = load(&mut engine, &["leaf1-spine1"]);
    assert_eq!((lost, of("leaf1-spine1", &after)), (0.0, 0.0));
    assert_eq!(of("leaf1-spine2", &after), 1.0);
    let cut = ["leaf1-spine1", "leaf1-spine2"];
    let (_, lost) = load(&mut engine, &cut);
    // From leaf1 to the others, and from them to it: 2 times 2 times 6 of 8 times 7 pairs.
    assert_eq!(lost, 0.4286);
}

#[test]
fn links_have_the_load_that_failover_tables_put_on_them() {
    let mut engine = Engine::new();
    let links = ask(&mut engine, &about("topology", &json!({})))["links"].clone();
    let at = |name: &str| {
        let names = links.as_array().unwrap().iter();
        names.map(|link| &link["name"]).position(|n| n == name)
    };
    for scheme in ["plinko", "fcp"] {
        let mut load = |fail: &[&str]| {
            let asked = json!({ "plan": { "scheme": scheme }, "fail": fail });
            let answer = ask(&mut engine, &about("load", &asked));
            let links = answer["links"].as_array().unwrap().iter();
            let links: Vec<f64> = links.map(|share| share.as_f64().unwrap()).collect();
            (links, answer["lost"].as_f64().unwrap())
        };
        let of = |name: &str, shares: &[f64]| shares[at(name).unwrap()];
        // A host sends to 7 others and hears of them.
        let (shares, lost) = load(&[]);
        assert_eq!(lost, 0.0);
        assert_eq!(of("leaf1-h1", &shares), of("leaf4-h8", &shares));
        assert!(of("leaf1-spine1", &shares) > 0.0, "{shares:?}");
        // One link is left for what the 2 hosts of a leaf send to the 6 of others, and hear of
        // them.
        let (after, lost) = load(&["leaf1-spine1"]);
        assert_eq!((lost, of("leaf1-spine1", &after)), (0.0, 0.0));
        let (host, link) = (of("leaf1-h1", &after), of("leaf1-spine2", &after));
        assert!(
            (host / link - 7.0 / 12.0).abs() < 1e-3,
            "{scheme}: {after:?}"
        );
        // No table leads past the last link: 2 times 2 times 6 of 8 times 7 pairs.
        let (cut, lost) = load(&["leaf1-spine1", "leaf1-spine2"]);
        assert_eq!(lost, 0.4286, "{scheme}");
        assert_eq!(of("leaf1-spine2", &cut), 0.0);
        // A host whose own link has failed takes nothing off the others.
        let (alone, _) = load(&["leaf1-h1"]);
        assert_eq!(of("leaf1-h1", &alone), 0.0);
        assert!(of("leaf1-h2", &alone) > 0.0);
    }
}

#[test]
fn pods_are_what_hangs_together_below_the_top() {
    let mut engine = Engine::new();
    let pods = |engine: &mut Engine, topology: Value| -> Vec<Value> {
        let asked = json!({ "call": "topology", "topology": { "make": { "topology": topology } } });
        let made = ask(engine, &asked);
        let switches = made["switches"].as_array().unwrap().iter();
        switches.map(|switch| switch["pod"].clone()).collect()
    };
    let tree = pods(&mut engine, json!({ "fat-tree": { "k": 4 } }));
    let of = |number: usize| tree.iter().filter(|pod| **pod == json!(number)).count();
    assert_eq!((0..5).map(of).collect::<Vec<_>>(), [4, 4, 4, 4, 0]);
    assert_eq!(tree.iter().filter(|pod| pod.is_null()).count(), 4);
    for flat in [
        json!({ "clos": { "leaves": 4, "spines": 2 } }),
        json!({ "ring": { "switches": 4 } }),
    ] {
        assert!(pods(&mut engine, flat).iter().all(Value::is_null));
    }
}

#[test]
fn a_build_comes_whole_and_pictures_are_drawn() {
    let mut engine = Engine::new();
    let whole = json!({ "target": "v1model", "directory": true });
    let built = ask(&mut engine, &about("build", &whole));
    let files = built["directory"].as_object().unwrap();
    let manifest: Value = serde_json::from_str(files["manifest.json"].as_str().unwrap()).unwrap();
    assert_eq!(manifest["switches"].as_array().unwrap().len(), 6);
    assert!(files.contains_key("switches/leaf1/entries.txtpb"));
    assert!(files["report.html"].as_str().unwrap().contains("<html"));
    let summary = ask(&mut engine, &about("summary", &json!({})));
    assert_eq!(
        (&summary["switches"], &summary["diameter"]),
        (&json!(6), &json!(2))
    );
    let drawn = ask(&mut engine, &about("draw", &json!({})));
    assert!(drawn["svg"].as_str().unwrap().starts_with("<svg"));
    let started = json!({ "call": "simulate", "scenario": "bounce", "tags": false });
    let number = ask(&mut engine, &started)["simulation"].clone();
    let run = json!({ "call": "run", "simulation": number, "until_us": 1e9 });
    ask(&mut engine, &run);
    let plots = json!({ "call": "plots", "simulation": number });
    let drawn = ask(&mut engine, &plots);
    assert!(drawn["deadlock"].as_str().unwrap().starts_with("<svg"));
    assert!(drawn["completions"].is_null());
    let (_, message) = refused(&mut engine, &plots);
    assert!(message.contains("no simulation"), "{message}");
}

#[test]
fn every_scheme_of_the_page_plans_and_options_of_others_are_refused() {
    let mut engine = Engine::new();
    let on = |topology: &Value, plan: &Value| json!({ "call": "plan", "topology": { "make": { "topology": topology } }, "plan": plan });
    let flat = json!({ "flattened-clos": { "switches": 16, "ports": 12, "fabric_ports": 8 } });
    let fish = json!({ "jellyfish": { "switches": 12, "ports": 6, "fabric_ports": 4 } });
    let ring = json!({ "ring": { "switches": 5 } });
    for (topology, plan) in [
        (&flat, json!({ "scheme": "flattened-clos" })),
        (&fish, json!({ "scheme": "df-edst" })),
        (&fish, json!({ "scheme": "df-edst", "ttg": "line" })),
        (&fish, json!({ "scheme": "df-fi", "channels": 2 })),
        (&fish, json!({ "scheme": "edst", "trees": 2 })),
        (
            &ring,
            json!({ "algorithm": "optimal", "search_moves": 10_000, "seed": 3 }),
        ),
    ] {
        let answer = ask(&mut engine, &on(topology, &plan));
        assert_eq!(answer["proven"], true, "{plan}: {}", answer["errors"]);
    }
    for (plan, word) in [
        (
            json!({ "ttg": "t" }),
            "`ttg` means nothing for the scheme tagger: it is for df-edst",
        ),
        (
            json!({ "scheme": "plinko", "rules": "exact" }),
            "`rules` means nothing without lossless tags",
        ),
        (
            json!({ "scheme": "edst", "trees": 1, "resilience": 1 }),
            "`trees: 1` survives 0 failures, but `resilience: 1` says otherwise",
        ),
        (
            json!({ "search_moves": 3 }),
            "`search_moves` means nothing here: it is for `algorithm: optimal`",
        ),
        (
            json!({ "scheme": "plinko", "trees": 2 }),
            "`trees` means nothing for the scheme plinko: it is for edst, adst, df-edst",
        ),
        (
            json!({ "scheme": "plinko", "channels": 2 }),
            "`channels` means nothing for the scheme plinko: it is for df-fi, df-edst",
        ),
        (
            json!({ "scheme": "df-edst", "lossless": "rising" }),
            "`lossless` means nothing for the scheme df-edst",
        ),
        (
            json!({ "scheme": "df-fi", "channels": 2, "lossless": "rising" }),
            "takes the place of channels",
        ),
        (
            json!({ "scheme": "flattened-clos", "hops": 3 }),
            "`hops` means nothing for the scheme flattened-clos: it is for ttl",
        ),
        (
            json!({ "scheme": "ecmp", "bounces": 1 }),
            "`bounces` means nothing for the scheme ecmp: it is for tagger, ttl, flattened-clos",
        ),
    ] {
        let (_, message) = refused(&mut engine, &on(&fish, &plan));
        assert!(message.contains(word), "{plan}: {message}");
    }
    let sized = json!({ "call": "topology", "topology": { "make": { "topology": { "jellyfish": { "hosts": 30, "ports": 8 } } } } });
    assert!(ask(&mut engine, &sized)["hosts"].as_array().unwrap().len() >= 30);
    for wrong in [
        json!({ "jellyfish": { "hosts": 30, "ports": 8, "switches": 12 } }),
        json!({ "jellyfish": { "ports": 8 } }),
        json!({ "clos": { "leaves": 4, "spines": 2, "planes": true } }),
    ] {
        let asked = json!({ "call": "topology", "topology": { "make": { "topology": wrong } } });
        refused(&mut engine, &asked);
    }
}

/// Runs a simulation in slices of so many microseconds; its last state and its figures.
fn play(engine: &mut Engine, tags: bool, slice: f64) -> (Value, Value) {
    let started = json!({ "call": "simulate", "scenario": "bounce", "tags": tags });
    let number = ask(engine, &started)["simulation"].clone();
    let mut until = 0.0;
    loop {
        until += slice;
        let run = json!({ "call": "run", "simulation": number, "until_us": until });
        let state = ask(engine, &run);
        if state["ended"] == true {
            let report = ask(engine, &json!({ "call": "report", "simulation": number }));
            ask(engine, &json!({ "call": "end", "simulation": number }));
            return (state, report);
        }
    }
}

#[test]
fn a_deadlock_closes_in_slices_as_it_does_at_once_and_not_with_tags() {
    let mut engine = Engine::new();
    let (state, sliced) = play(&mut engine, false, 250.0);
    let (_, whole) = play(&mut engine, false, 1e9);
    assert_eq!(sliced, whole);
    assert_eq!(state["deadlocks"].as_array().unwrap().len(), 1);
    let queues = state["queues"].as_array().unwrap();
    assert!(queues.iter().filter(|q| q["paused"] == true).count() >= 4);
    let (state, _) = play(&mut engine, true, 1e9);
    assert!(state["deadlocks"].as_array().unwrap().is_empty());
}

#[test]
fn links_fail_by_hand_while_a_simulation_runs() {
    let mut engine = Engine::new();
    let scenario = "name: two\nduration: 2ms\nflows:\n  - { from: h1, to: h8 }\n";
    let network = json!({ "topology": clos(), "plan": { "bounces": 1 } });
    let started = json!({ "call": "simulate", "scenario": scenario, "network": network });
    let number = ask(&mut engine, &started)["simulation"].clone();
    let run = |engine: &mut Engine, until: f64| {
        let run = json!({ "call": "run", "simulation": number, "until_us": until });
        ask(engine, &run)["flows"][0]["bytes"].as_u64().unwrap()
    };
    assert!(run(&mut engine, 500.0) > 0);
    for link in ["leaf1-spine1", "leaf1-spine2"] {
        ask(
            &mut engine,
            &json!({ "call": "change", "simulation": number, "fail": link }),
        );
    }
    run(&mut engine, 600.0);
    let still = run(&mut engine, 700.0);
    assert_eq!(run(&mut engine, 800.0), still, "no way is left");
    let mend = json!({ "call": "change", "simulation": number, "restore": "leaf1-spine2", "reroute": "converged" });
    let state = ask(&mut engine, &mend);
    assert_eq!(state["failed"].as_array().unwrap().len(), 1);
    assert!(run(&mut engine, 1_000.0) > still);
}

#[test]
fn hostile_requests_are_refused_with_the_limit_that_they_exceed() {
    let mut engine = Engine::new();
    for topology in [
        json!({ "fat-tree": { "k": 254 } }),
        json!({ "bcube": { "n": 200, "k": 40 } }),
        json!({ "ring": { "switches": 4_000_000_000_u32, "hosts": 60_000 } }),
        json!({ "clos": { "leaves": 4_000_000_000_u32, "spines": 2, "hosts": 60_000, "pods": 4_000_000_000_u32, "aggregations": 2 } }),
        json!({ "jellyfish": { "switches": 1_000_000, "ports": 48, "fabric_ports": 24 } }),
        json!({ "jellyfish": { "hosts": 4_000_000_000_u32, "ports": 48 } }),
        json!({ "egft": { "hosts": 4_000_000_000_u32, "ports": 48 } }),
        json!({ "flattened-clos": { "switches": 4_000_000_000_u32, "ports": 48, "fabric_ports": 24 } }),
        json!({ "xpander": { "switches": 4_000_000_000_u32, "ports": 48, "fabric_ports": 24 } }),
    ] {
        let asked = json!({ "call": "topology", "topology": { "make": { "topology": topology } } });
        let (kind, message) = refused(&mut engine, &asked);
        assert_eq!(kind, "limit", "{message}");
        assert!(message.contains("limited to"), "{message}");
    }
    let network = "network: { topology: three-node }\n";
    for (duration, flow) in [
        ("2s", "{ from: h1, to: h2 }"),
        (
            "2ms",
            "{ from: h1, to: h2, bytes: 1KB, every: 1us, times: 4000000000 }",
        ),
    ] {
        let text = format!("name: much\nduration: {duration}\n{network}flows: [{flow}]\n");
        let asked = json!({ "call": "simulate", "scenario": text });
        let (kind, message) = refused(&mut engine, &asked);
        assert_eq!(kind, "limit", "{message}");
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(engine.call(&deep).contains("cannot be read"));
    assert!(engine.call(&" ".repeat(5 << 20)).contains("limit"));
    let deep = format!(
        "const bit<8> a = {}1{};",
        "(".repeat(200_000),
        ")".repeat(200_000)
    );
    let found = ask(&mut engine, &json!({ "call": "compile", "text": deep }));
    assert_eq!(found["compiled"], false);
    let gone = json!({ "call": "run", "simulation": 9, "until_us": 1 });
    let (_, message) = refused(&mut engine, &gone);
    assert!(message.contains("no simulation 9"), "{message}");
}

#[test]
fn a_cancelled_request_ends_and_what_was_made_before_stays() {
    let mut engine = Engine::of_owner();
    let begun = json!({ "call": "simulate", "scenario": "bounce", "tags": false });
    let simulation = ask(&mut engine, &begun)["simulation"].clone();
    let progress = Arc::<Progress>::default();
    engine.tell(&progress);
    progress.cancel();
    for plan in [
        json!({ "scheme": "plinko" }),
        json!({ "algorithm": "optimal", "search_moves": u64::MAX }),
    ] {
        let asked = about("plan", &json!({ "plan": plan })).to_string();
        assert_eq!(Cancelled::caught(|| engine.call(&asked)), Err(Cancelled));
    }
    let run = json!({ "call": "run", "simulation": simulation, "until_us": 100 });
    let state = ask(&mut engine, &run);
    assert_eq!(
        (&state["reached"], &state["now_us"]),
        (&json!(false), &json!(0.0))
    );
    engine.tell(&Arc::default());
    assert_eq!(ask(&mut engine, &run)["now_us"], 100.0);
    let plan = about("plan", &json!({ "plan": { "scheme": "plinko" } }));
    assert_eq!(ask(&mut engine, &plan)["proven"], true);
}

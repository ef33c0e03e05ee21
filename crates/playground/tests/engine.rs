//! The engine as a page uses it: requests and responses.
#![allow(clippy::unwrap_used)]

use playground::Engine;
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
    let case = |case: &str| json!({ "call": "stf", "text": files[0]["text"], "files": includes, "case": case });
    let passed = ask(&mut engine, &case("packet 1 ffff\nno_packet\n"));
    assert_eq!(passed["passed"], true, "{passed}");
    let failed = ask(&mut engine, &case("packet 1 ffff\nexpect 2 ffff\n"));
    assert_eq!(
        (&failed["passed"], &failed["failures"][0]["line"]),
        (&json!(false), &json!(2))
    );
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

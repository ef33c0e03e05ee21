//! `push` and `drift` against real P4Runtime servers: our own switch, and BMv2's where it is
//! installed. No mocks.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod fabric;
mod sessions;
mod versions;

use std::time::{Duration, Instant};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use fabric::{Fabric, Kind};

/// Runs a test on every kind of switch that is here.
fn on_every_kind(test: impl Fn(&Fabric)) {
    for kind in Kind::ALL {
        match kind.missing() {
            Some(tool) => println!("skipped on {kind:?}: {tool} is not installed"),
            None => test(&Fabric::start(kind)),
        }
    }
}

#[test]
fn a_push_brings_the_network_up_and_the_second_writes_nothing() {
    on_every_kind(|fabric| {
        let plan = fabric.json(0, &["push", "one", "--dry-run"]);
        let first = fabric.json(0, &["push", "one"]);
        assert_eq!(first["outcome"], "pushed");
        assert_eq!(first["written"], plan["would_write"]);
        assert!(first["written"].as_u64().unwrap() > 10, "{first}");
        let second = fabric.json(0, &["push", "one"]);
        assert_eq!(second["outcome"], "unchanged");
        assert_eq!(second["written"], 0);
        assert_eq!(
            fabric.json(0, &["push", "one", "--dry-run"])["would_write"],
            0
        );
        assert_eq!(
            fabric.text(0, &["push", "one", "--diff"]),
            "no differences\n"
        );
        assert_eq!(fabric.json(0, &["drift", "one"])["drifted"], false);
    });
}

#[test]
fn another_plan_is_a_diff_and_can_be_undone() {
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        let diff = fabric.text(1, &["push", "two", "--diff"]);
        insta::assert_snapshot!("diff", diff);
        let drift = fabric.json(1, &["drift", "two"]);
        let kinds: Vec<&str> = drift["drifts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|drift| drift["kind"].as_str().unwrap())
            .collect();
        assert!(
            kinds.contains(&"changed") && kinds.contains(&"extra"),
            "{drift}"
        );
        let pushed = fabric.json(0, &["push", "two"]);
        assert_eq!(pushed["outcome"], "pushed");
        assert!(
            pushed["switches"]
                .as_array()
                .unwrap()
                .iter()
                .all(|s| s["pipeline"] == "same")
        );
        fabric.text(0, &["push", "two", "--diff"]);
        // `two` was pushed last, and its journal leads back to `one`.
        assert_eq!(
            fabric.json(0, &["push", "two", "--rollback"])["outcome"],
            "rolled-back"
        );
        fabric.text(0, &["push", "one", "--diff"]);
        assert_eq!(
            fabric.json(0, &["push", "two", "--rollback"])["outcome"],
            "unchanged"
        );
    });
}

/// The Clos of the builds as its switches hear it by LLDP, with two cables of `spine1` exchanged or
/// not. Hosts say nothing of themselves.
fn lldp(fabric: &Fabric, folder: &str, exchanged: bool) {
    std::fs::create_dir(fabric.path().join(folder)).unwrap();
    let (one, two) = if exchanged { (2, 1) } else { (1, 2) };
    for (name, heard) in [
        ("leaf1", [(3, "spine1", one), (4, "spine2", 1)]),
        ("leaf2", [(3, "spine1", two), (4, "spine2", 2)]),
        ("spine1", [(one, "leaf1", 3), (two, "leaf2", 3)]),
        ("spine2", [(1, "leaf1", 4), (2, "leaf2", 4)]),
    ] {
        let interfaces = heard.map(|(port, far, far_port)| {
            serde_json::json!({ format!("p{port}"): {
                "chassis": { far: { "id": { "type": "local", "value": far } } },
                "port": { "id": { "type": "ifname", "value": format!("p{far_port}") } },
            }})
        });
        let table = serde_json::json!({ "lldp": { "interface": interfaces } });
        fabric.write(&format!("{folder}/{name}.json"), &table.to_string());
    }
}

#[test]
fn a_network_of_other_cables_is_not_written() {
    let fabric = Fabric::start(Kind::Ours);
    // What LLDP calls ports is in the plan.
    let text = std::fs::read_to_string(fabric.path().join("clos.json")).unwrap();
    let mut clos: Value = serde_json::from_str(&text).unwrap();
    for switch in clos["switches"].as_array_mut().unwrap() {
        let ports = switch["ports"].as_u64().unwrap();
        let names = (1..=ports).map(|port| (port.to_string(), Value::from(format!("p{port}"))));
        switch["interfaces"] = Value::Object(names.collect());
    }
    fabric.write("clos.json", &clos.to_string());
    fabric.make(&["plan", "clos.json", "-o", "named.plan.json"]);
    fabric.make(&["build", "named.plan.json", "-o", "named"]);
    lldp(&fabric, "right", false);
    lldp(&fabric, "wrong", true);
    let (status, _, error) = fabric.run(&["push", "named", "--verify-cabling", "wrong"]);
    assert_eq!(status, 1, "{error}");
    assert!(
        error.contains("leaf1 p3 and leaf2 p3 are exchanged at spine1"),
        "{error}"
    );
    let plan = fabric.json(0, &["push", "named", "--dry-run"]);
    assert!(plan["would_write"].as_u64().unwrap() > 10, "{plan}");
    let pushed = fabric.json(0, &["push", "named", "--verify-cabling", "right"]);
    assert_eq!(pushed["outcome"], "pushed");
    let read = fabric.run(&["push", "named", "--verify-cabling", "nowhere"]);
    assert_eq!(read.0, 2, "{}", read.2);
}

/// A push is refused with these words.
fn refused(fabric: &Fabric, arguments: &[&str], words: &[&str]) {
    let (status, text, error) = fabric.run(arguments);
    assert_eq!(status, 3, "{arguments:?}: {text}{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

#[test]
fn a_build_for_tofino_is_told_what_the_switches_speak() {
    on_every_kind(|fabric| {
        fabric.make(&["build", "one.plan.json", "--target", "tna", "-o", "tofino"]);
        refused(
            fabric,
            &["push", "tofino"],
            &["does not speak BF Runtime", "--target v1model"],
        );
    });
}

/// A switch that runs another program is refused, and so is one that runs another version of it,
/// until somebody says that the program is to be replaced.
#[test]
fn another_program_replaces_the_first_if_told_to_and_can_be_undone() {
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        refused(
            fabric,
            &["push", "vlan"],
            &[
                "nothing was changed",
                "leaf1",
                "has another program",
                "--replace-program",
                "push the build that it runs",
            ],
        );
        assert_eq!(fabric.json(0, &["drift", "one"])["drifted"], false);
        let pushed = fabric.json(0, &["push", "vlan", "--replace-program"]);
        assert!(
            pushed["switches"]
                .as_array()
                .unwrap()
                .iter()
                .all(|s| s["pipeline"] == "replace")
        );
        assert_eq!(fabric.json(0, &["push", "vlan"])["written"], 0);
        fabric.json(0, &["push", "vlan", "--rollback"]);
        fabric.text(0, &["push", "one", "--diff"]);
    });
}

#[test]
fn another_version_of_the_program_is_refused_until_it_is_to_be_replaced() {
    // BMv2's server gives the cookie back too, so both are told apart by it.
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        fabric.edit("two", "p4/tagger.p4", |text| {
            format!("{text}\n// Another version.\n")
        });
        refused(
            fabric,
            &["push", "two"],
            &["another version of this program", "--replace-program"],
        );
        let pushed = fabric.json(0, &["push", "two", "--replace-program"]);
        assert_eq!(pushed["switches"][0]["pipeline"], "replace");
        assert_eq!(fabric.json(0, &["push", "two"])["written"], 0);
    });
}

/// What the devices file says of a switch is held against the build, and against what the switch
/// turns out to do.
#[test]
fn a_switch_of_a_known_target_is_taken_at_its_word() {
    on_every_kind(|fabric| {
        let devices = std::fs::read_to_string(fabric.path().join("devices.yaml")).unwrap();
        let say = |target: &str| {
            let defaults = format!("defaults: {{target: {target}}}\nswitches:");
            fabric.write("devices.yaml", &devices.replace("switches:", &defaults));
        };
        say("tna");
        let (status, _, error) = fabric.run(&["push", "one"]);
        assert_eq!(status, 2, "{error}");
        assert!(error.contains("of target tna"), "{error}");
        let (own, other) = match fabric.kind() {
            Kind::Ours => ("embedded", "v1model"),
            Kind::Bmv2 => ("v1model", "embedded"),
        };
        say(own);
        let report = fabric.json(0, &["push", "one"]);
        assert!(report["switches"][0]["differs"].is_null(), "{report}");
        say(other);
        let report = fabric.json(0, &["push", "two"]);
        let differs = &report["switches"][0]["differs"];
        match fabric.kind() {
            // Nobody asks BMv2's target for what it is known to lack, so nothing is seen.
            Kind::Ours => assert!(differs.is_null(), "{report}"),
            Kind::Bmv2 => assert!(
                differs[0]
                    .as_str()
                    .unwrap()
                    .contains("known for dataplane-atomic"),
                "{report}"
            ),
        }
    });
}

#[test]
fn one_refusal_brings_the_whole_network_back() {
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        fabric.spoil("two", "leaf2");
        let (status, report, error) = fabric.run(&["push", "two", "--json"]);
        assert_eq!(status, 3, "{error}");
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["outcome"], "rolled-back", "{report}");
        let leaf2 = &report["switches"][1];
        let words = leaf2["error"].as_str().unwrap();
        assert!(
            words.contains("ingress.ecmp_group group=1 -> group 77"),
            "{words}"
        );
        assert_eq!(fabric.json(0, &["drift", "one"])["drifted"], false);
    });
}

/// What `push --diff` and `drift` say of a build, in one word each; the status is told apart by it.
fn verdicts(fabric: &Fabric, build: &str, status: i32) -> [Value; 2] {
    let diff = fabric.json(status, &["push", build, "--diff"]);
    let drift = fabric.json(status, &["drift", build]);
    [diff["differs"].clone(), drift["drifted"].clone()]
}

#[test]
fn differences_are_found_excluded_or_unknown() {
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        assert_eq!(verdicts(fabric, "one", 0), [false, false].map(Value::from));
        assert_eq!(verdicts(fabric, "two", 1), [true, true].map(Value::from));
        fabric.stop("spine1");
        // What a switch that nobody reaches holds is unknown, but others differ all the same.
        assert_eq!(verdicts(fabric, "one", 3), [Value::Null, Value::Null]);
        assert_eq!(verdicts(fabric, "two", 3), [true, true].map(Value::from));
    });
}

#[test]
fn an_unreachable_switch_leaves_the_others_untouched_unless_asked() {
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        fabric.stop("spine1");
        let (status, _, error) = fabric.run(&["push", "two"]);
        assert_eq!(status, 3);
        assert!(
            error.contains("spine1") && error.contains("nothing was changed"),
            "{error}"
        );
        let diff = fabric.run(&["push", "one", "--diff", "--json"]);
        assert_eq!(diff.0, 3);
        let diff: Value = serde_json::from_str(&diff.1).unwrap();
        assert_eq!(
            diff["differs"],
            Value::Null,
            "the others still hold the first plan, of this one nobody knows"
        );
        let (status, report, _) =
            fabric.run(&["push", "two", "--json", "--continue-on-unreachable"]);
        assert_eq!(status, 3, "not everything was done");
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["outcome"], "pushed");
        let outcomes: Vec<&str> = report["switches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["outcome"].as_str().unwrap())
            .collect();
        assert_eq!(outcomes, ["pushed", "pushed", "unreachable", "pushed"]);
    });
}

#[test]
fn wrong_devices_files_are_wrong_input() {
    let fabric = Fabric::files_only();
    let cases = [
        (
            "format: switchwright-devices\nversion: 1\nswitches: {leaf1: {address: \"a:1\"}}\n",
            "spine2",
        ),
        ("format: something\nversion: 1\n", "something"),
        ("switches: [", "devices.yaml"),
    ];
    for (text, words) in cases {
        fabric.write("devices.yaml", text);
        let (status, _, error) = fabric.run(&["push", "one"]);
        assert_eq!(status, 2, "{error}");
        assert!(error.contains(words), "{error}");
    }
    fabric.write("one/switches/leaf1/entries.txtpb", "# changed\n");
    let (status, _, error) = fabric.run(&["push", "one"]);
    assert_eq!(status, 2, "{error}");
    assert!(error.contains("digest"), "{error}");
}

/// How long a push of `one` over `two` takes; afterwards the fabric holds `one`.
fn time_of_a_push(fabric: &Fabric) -> Duration {
    fabric.json(0, &["push", "two"]);
    let start = Instant::now();
    fabric.json(0, &["push", "one"]);
    start.elapsed()
}

/// A pusher that is killed at any moment, and a second one: the network is right, and where batches
/// are atomic no switch ever held half of one.
#[test]
fn a_killed_push_is_mended_by_the_next() {
    on_every_kind(|fabric| {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let whole = time_of_a_push(fabric);
        for round in 0..fabric.kind().kills() {
            let build = ["two", "one"][round % 2];
            let mut pusher = fabric.start_push(build);
            let moment = whole.mul_f64(random.random_range(0.0..1.2));
            let deadline = Instant::now() + moment;
            while Instant::now() < deadline && pusher.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            pusher.kill().unwrap();
            pusher.wait().unwrap();
            if fabric.kind().atomic() {
                fabric.holds_one_of(["one", "two"]);
            }
            let after = fabric.json(0, &["push", build]);
            assert!(matches!(
                after["outcome"].as_str().unwrap(),
                "pushed" | "unchanged"
            ));
            assert_eq!(
                fabric.json(0, &["drift", build])["drifted"],
                false,
                "round {round}"
            );
        }
    });
}

/// Kills a switch at some moment of a push that takes about so long, lets the push end, and starts
/// the switch again.
fn kill_a_switch(
    fabric: &Fabric,
    random: &mut ChaCha8Rng,
    build: &str,
    whole: Duration,
) -> &'static str {
    let victim = ["leaf1", "leaf2", "spine1", "spine2"][random.random_range(0..4)];
    let mut pusher = fabric.start_push(build);
    std::thread::sleep(whole.mul_f64(random.random_range(0.0..1.0)));
    fabric.stop(victim);
    let status = pusher.wait().unwrap().code();
    assert!(matches!(status, Some(0 | 3)), "{status:?}");
    fabric.start_again(victim);
    victim
}

/// A switch that is killed at any moment of a push, and comes back empty: the push says so and the
/// next one mends it.
#[test]
fn a_killed_switch_is_mended_by_the_next_push() {
    on_every_kind(|fabric| {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let whole = time_of_a_push(fabric);
        // The other half of the moments is below.
        for round in 0..fabric.kind().kills() / 2 {
            let build = ["two", "one"][round % 2];
            let victim = kill_a_switch(fabric, &mut random, build, whole);
            let after = fabric.json(0, &["push", build]);
            assert_eq!(
                after["outcome"], "pushed",
                "{victim} came back empty: {after}"
            );
            assert_eq!(
                fabric.json(0, &["drift", build])["drifted"],
                false,
                "round {round}"
            );
        }
    });
}

/// The same with switches that keep their state: one that was killed comes back with whole batches,
/// never with half of one.
#[test]
fn a_killed_switch_comes_back_with_whole_batches() {
    let fabric = Fabric::start_kept();
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let whole = time_of_a_push(&fabric);
    for round in 0..fabric.kind().kills() / 2 {
        let build = ["two", "one"][round % 2];
        kill_a_switch(&fabric, &mut random, build, whole);
        fabric.holds_one_of(["one", "two"]);
        let after = fabric.json(0, &["push", build]);
        assert!(
            matches!(after["outcome"].as_str().unwrap(), "pushed" | "unchanged"),
            "{after}"
        );
        assert_eq!(
            fabric.json(0, &["drift", build])["drifted"],
            false,
            "round {round}"
        );
    }
}

/// Ctrl-C at any moment: all switches hold the new state and the push says so, or all hold the old.
#[test]
fn an_interrupted_push_is_done_or_undone() {
    on_every_kind(|fabric| {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let whole = time_of_a_push(fabric);
        let mut now = "one";
        for round in 0..fabric.kind().kills().min(12) {
            let next = if now == "one" { "two" } else { "one" };
            let mut pusher = fabric.start_push(next);
            std::thread::sleep(whole.mul_f64(random.random_range(0.0..1.1)));
            let pid = nix::unistd::Pid::from_raw(pusher.id() as i32);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
            match pusher.wait().unwrap().code() {
                Some(0) => now = next,
                // Interrupted, or before it listened.
                Some(3) | None => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(
                fabric.json(0, &["drift", now])["drifted"],
                false,
                "round {round}"
            );
        }
    });
}

#[test]
fn encrypted_and_with_certificates_on_both_sides() {
    let own = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (server, client, stranger) = (own("localhost"), own("client"), own("client"));
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let server_cert = file("server.pem", server.cert.pem());
    let server_key = file("server.key", server.signing_key.serialize_pem());
    let client_cert = file("client.pem", client.cert.pem());
    let client_key = file("client.key", client.signing_key.serialize_pem());
    let head = format!(
        "defaults:\n  timeout: 10\n  tls: {{ca: {server_cert}, cert: {client_cert}, key: {client_key}, name: localhost}}\n"
    );
    let more = [
        "--grpc-server-ssl",
        "--grpc-server-cert",
        &server_cert,
        "--grpc-server-key",
        &server_key,
        "--grpc-server-cacert",
        &client_cert,
        "--grpc-server-with-client-auth",
    ];
    let fabric = Fabric::start_with(Kind::Ours, &more, &head);
    assert_eq!(fabric.json(0, &["push", "one"])["outcome"], "pushed");
    // A stranger's certificate, and none at all.
    std::fs::write(&client_cert, stranger.cert.pem()).unwrap();
    std::fs::write(&client_key, stranger.signing_key.serialize_pem()).unwrap();
    assert_eq!(fabric.run(&["push", "one"]).0, 3);
    let devices = std::fs::read_to_string(fabric.path().join("devices.yaml")).unwrap();
    fabric.write("devices.yaml", &devices.replace(&head, ""));
    assert_eq!(fabric.run(&["drift", "one"]).0, 3);
}

/// Somebody else writes, and `drift --watch` tells it, and that it is gone.
#[test]
fn drift_is_told_as_it_occurs() {
    on_every_kind(|fabric| {
        fabric.json(0, &["push", "one"]);
        let mut watcher = fabric.start_watch("one", "0.1");
        let lines = fabric::lines_of(&mut watcher);
        let next = || -> Value {
            let line = lines.recv_timeout(Duration::from_secs(60)).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        fabric.json(0, &["push", "two"]);
        let event = next();
        assert_eq!(event["appeared"], true, "{event}");
        assert!(event["what"].as_str().unwrap().contains('.'), "{event}");
        fabric.json(0, &["push", "one"]);
        let deadline = Instant::now() + Duration::from_secs(60);
        while next()["appeared"] == true {
            assert!(Instant::now() < deadline, "the drift is never resolved");
        }
        watcher.kill().unwrap();
        watcher.wait().unwrap();
    });
}

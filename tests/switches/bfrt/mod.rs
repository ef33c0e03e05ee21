//! `push` and `drift` over BF Runtime, against devices that hold tables as a schema says and refuse
//! what a device refuses; the loader script, run; and the schema that the open compiler writes,
//! where that is installed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod compiler;
mod device;
mod loader;
mod network;

use network::{Network, SWITCHES, schema};

#[test]
fn a_push_brings_the_network_up_and_the_second_writes_nothing() {
    let network = Network::start();
    let plan = network.json(0, &["push", "one", "--dry-run"]);
    let first = network.json(0, &["push", "one", "--target", "bfrt"]);
    assert_eq!(first["outcome"], "pushed");
    assert_eq!(first["written"], plan["would_write"]);
    for switch in first["switches"].as_array().unwrap() {
        assert_eq!(switch["atomicity"], "rollback-on-error", "{switch}");
        assert_eq!(switch["batches"], 1, "{switch}");
        assert!(switch["differs"].is_null(), "{switch}");
    }
    for (name, device) in network.devices() {
        assert_eq!(device.counts(), network.wanted("one", name), "{name}");
    }
    let taken: Vec<_> = network
        .devices()
        .map(|(_, device)| device.taken())
        .collect();
    let second = network.json(0, &["push", "one"]);
    assert_eq!(
        (&second["outcome"], &second["written"]),
        (&"unchanged".into(), &0.into())
    );
    assert_eq!(
        network.run(&["push", "one", "--diff"]).1,
        "no differences\n"
    );
    assert_eq!(network.json(0, &["drift", "one"])["drifted"], false);
    let after: Vec<_> = network
        .devices()
        .map(|(_, device)| device.taken())
        .collect();
    assert_eq!(taken, after, "nothing was written");
}

#[test]
fn another_plan_is_a_diff_and_can_be_undone() {
    let network = Network::start();
    network.json(0, &["push", "one"]);
    let (status, diff, _) = network.run(&["push", "two", "--diff"]);
    assert_eq!(status, 1);
    assert!(diff.contains("- ingress.classify tag="), "{diff}");
    assert_eq!(network.json(0, &["push", "two"])["outcome"], "pushed");
    for (name, device) in network.devices() {
        assert_eq!(device.counts(), network.wanted("two", name), "{name}");
    }
    assert_eq!(
        network.json(0, &["push", "two", "--rollback"])["outcome"],
        "rolled-back"
    );
    assert_eq!(
        network.run(&["push", "one", "--diff"]).1,
        "no differences\n"
    );
}

#[test]
fn one_refusal_brings_the_whole_network_back() {
    let network = Network::start();
    network.json(0, &["push", "two"]);
    network.device("leaf2").fill(Some("pipe.ingress.classify"));
    let report = network.json(3, &["push", "one"]);
    assert_eq!(report["outcome"], "rolled-back", "{report}");
    let words = report["switches"][1]["error"].as_str().unwrap();
    assert!(
        words.contains("ingress.classify") && words.contains("is full"),
        "{words}"
    );
    assert_eq!(network.json(0, &["drift", "two"])["drifted"], false);
    network.device("leaf2").fill(None);
    assert_eq!(network.json(0, &["push", "one"])["outcome"], "pushed");
}

#[test]
fn what_is_lost_is_drift_and_comes_back() {
    let network = Network::start();
    network.json(0, &["push", "one"]);
    network.device("spine1").lose_one("pipe.ingress.classify");
    let drift = network.json(1, &["drift", "one"]);
    let [lost] = drift["drifts"].as_array().unwrap().as_slice() else {
        panic!("{drift}")
    };
    assert_eq!(
        (&lost["switch"], &lost["kind"]),
        (&"spine1".into(), &"missing".into())
    );
    assert_eq!(network.json(0, &["push", "one"])["written"], 1);
}

#[test]
fn an_unreachable_device_leaves_the_others_untouched_unless_asked() {
    let network = Network::start();
    network.rewrite(|text| {
        let line = text.lines().find(|line| line.contains("spine1")).unwrap();
        text.replace(line, "  spine1: {address: \"127.0.0.1:1\"}")
    });
    network.refused(
        3,
        &["push", "one"],
        &["spine1", "nothing was changed", "cannot be reached"],
    );
    assert!(
        network
            .devices()
            .all(|(_, device)| device.taken() == (0, 0))
    );
    let report = network.json(3, &["push", "one", "--continue-on-unreachable"]);
    assert_eq!(report["outcome"], "pushed");
    let outcomes: Vec<&str> = report["switches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["pushed", "pushed", "unreachable", "pushed"]);
}

/// Another name, another version of the same tables, other tables, nothing: each is refused, and no
/// device was written to.
#[test]
fn a_device_with_another_program_or_version_is_refused() {
    let network = Network::start();
    let leaf = network.device("leaf1");
    let one = schema(&network.path().join("one"));
    let nothing_was_written = || assert!(network.devices().all(|(_, d)| d.taken() == (0, 0)));

    leaf.run("router", &one);
    network.refused(
        3,
        &["push", "one"],
        &[
            "leaf1",
            "nothing was changed",
            "has `router`, and the build is for `tagger`",
            "docs/on-tofino.md",
            "p4_name",
        ],
    );
    network.rewrite(|text| text.replace("leaf1: {", "leaf1: {p4_name: router, "));
    network.json(0, &["push", "one", "--dry-run"]);
    network.rewrite(|text| text.replace("p4_name: router, ", ""));
    nothing_was_written();

    leaf.run_nothing();
    network.refused(3, &["push", "one"], &["has no program"]);

    // The same tables in another version.
    let (before, rest) = one.split_once(" for tna, ").unwrap();
    let (stamp, rest) = rest.split_at(16);
    leaf.run(
        "tagger",
        &format!("{before} for tna, 0123456789abcdef{rest}"),
    );
    network.refused(
        3,
        &["push", "one"],
        &[
            "another version of `tagger`",
            "0123456789abcdef",
            stamp,
            "compile the build's program",
        ],
    );

    // Not ours at all, though the tables have the same names.
    leaf.run("tagger", &one.replace("@switchwright", "@somebody"));
    network.refused(3, &["push", "one"], &["not one of Switchwright's builds"]);

    leaf.run("tagger", &schema(&network.path().join("vlan")));
    network.refused(
        3,
        &["push", "one"],
        &["another version of `tagger`", "vlan-pcp"],
    );
    let drift = network.json(1, &["drift", "one"]);
    let program = drift["drifts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|d| d["switch"] == "leaf1");
    assert_eq!(program.unwrap()["kind"], "program", "{drift}");

    // A schema that says of itself what it is not.
    leaf.run("tagger", &one.replace("\"dst_addr\"", "\"address\""));
    network.refused(3, &["push", "one"], &["has no key dst_addr"]);
    leaf.run("tagger", &one.replacen("4096", "2048", 1));
    network.refused(3, &["push", "one"], &["holds 2048 entries, not 4096"]);
    nothing_was_written();

    leaf.run("tagger", &one);
    network.json(0, &["push", "one"]);
}

#[test]
fn a_program_that_somebody_else_is_bound_to_is_theirs_unless_taken_over() {
    let network = Network::start();
    network.device("leaf2").bind_somebody(Some(7));
    network.refused(
        3,
        &["push", "one"],
        &[
            "leaf2",
            "bound to another client",
            "client 7 owns",
            "--take-over",
        ],
    );
    assert_eq!(
        network.json(0, &["push", "one", "--take-over"])["outcome"],
        "pushed"
    );
}

/// A device that has fewer modes than Tofino is known for gets its entries all the same, and the
/// report tells.
#[test]
fn where_a_device_is_otherwise_than_its_target_the_report_tells() {
    let network = Network::start();
    network.device("spine2").without_atomic_batches();
    let report = network.json(0, &["push", "one"]);
    let spine = &report["switches"][3];
    assert_eq!(spine["atomicity"], "none");
    let words = spine["differs"][0].as_str().unwrap();
    assert!(words.contains("known for rollback-on-error"), "{words}");
    assert_eq!(network.json(0, &["drift", "one"])["drifted"], false);
}

#[test]
fn a_build_is_pushed_over_the_api_that_it_is_for() {
    let network = Network::start();
    network.refused(
        2,
        &["push", "one", "--target", "p4runtime"],
        &[
            "built for target tna",
            "BF Runtime, not P4Runtime",
            "--target v1model",
        ],
    );
    network.refused(
        2,
        &["push", "v1", "--target", "bfrt"],
        &[
            "built for target v1model",
            "P4Runtime, not BF Runtime",
            "--target tna",
        ],
    );
    network.refused(
        3,
        &["push", "v1"],
        &["does not speak P4Runtime", "--target tna"],
    );
    network.rewrite(|text| text.replace("spine1: {", "spine1: {target: tna2, "));
    network.refused(
        2,
        &["push", "one"],
        &[
            "`spine1` is of target tna2, and the build is for tna",
            "--target tna2",
        ],
    );
}

/// Two builds for the two chips have the same tables; a device of one says that it is not the
/// other's.
#[test]
fn a_program_for_the_other_chip_is_another_version() {
    let network = Network::start();
    network.refused(3, &["push", "tofino2"], &["for tna,", "for t2na,"]);
    for name in SWITCHES {
        let schema = schema(&network.path().join("tofino2"));
        network.device(name).run("tagger", &schema);
    }
    assert_eq!(network.json(0, &["push", "tofino2"])["outcome"], "pushed");
}

//! The command line as its users meet it: the main road, exit statuses, errors, nothing
//! half-written.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Runs `switchwright` in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Runs it and demands success.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs it with `--json` and reads what it prints.
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    serde_json::from_str(&done(folder, &arguments)).unwrap()
}

/// Runs it and demands this exit status and these words in the error.
fn refused(folder: &Path, arguments: &[&str], status: i32, words: &[&str]) {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {errors}"
    );
    for word in words {
        assert!(
            errors.contains(word),
            "{arguments:?}: `{word}` is not in: {errors}"
        );
    }
}

/// A folder with a small Clos: its topology, plan and build.
fn built() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(
        at,
        &[
            "topo",
            "clos",
            "--leaves",
            "4",
            "--spines",
            "2",
            "--hosts",
            "2",
            "-o",
            "clos.json",
        ],
    );
    done(
        at,
        &["plan", "clos.json", "--scheme", "tagger", "-o", "plan.json"],
    );
    done(
        at,
        &["build", "plan.json", "--target", "v1model", "-o", "build"],
    );
    folder
}

#[test]
fn the_main_road_from_topology_to_packet() {
    let folder = built();
    let at = folder.path();
    let check = json(at, &["check", "plan.json"]);
    assert_eq!(check["proven"], true);
    assert_eq!(check["cbd_free"], true);
    assert_eq!(check["counterexample"], Value::Null);
    let trace = json(at, &["trace", "build", "--from", "h1", "--to", "h8"]);
    assert_eq!(trace["delivered"], true);
    assert_eq!(trace["hops"].as_array().unwrap().len(), 3);
    for hop in trace["hops"].as_array().unwrap() {
        assert_eq!(hop["tag_before"], "1");
        assert_eq!(hop["tag_after"], "1");
        assert_eq!(hop["ing_prio"], 3);
        assert_eq!(hop["eg_prio"], 3);
    }
}

#[test]
fn a_bounce_raises_the_tag_and_the_queue() {
    let folder = built();
    let failures = ["--fail", "leaf1-spine1", "--fail", "leaf4-spine2"];
    let mut arguments = vec!["trace", "build", "--from", "h1", "--to", "h8"];
    arguments.extend(failures);
    let trace = json(folder.path(), &arguments);
    assert_eq!(trace["delivered"], true);
    let hops = trace["hops"].as_array().unwrap();
    assert_eq!(hops.len(), 5);
    let tags: Vec<&str> = hops
        .iter()
        .map(|hop| hop["tag_after"].as_str().unwrap())
        .collect();
    assert_eq!(tags, ["1", "1", "2", "2", "2"]);
    let bounce = &hops[2];
    assert_eq!(
        (&bounce["ing_prio"], &bounce["eg_prio"]),
        (&3.into(), &4.into())
    );
}

#[test]
fn the_build_directory_holds_what_the_contract_names() {
    let folder = built();
    let build = folder.path().join("build");
    assert!(build.join("switches/spine1/entries.txtpb").is_file());
    for not_asked in ["topology.json", "switches/spine1/commands.txt"] {
        assert!(!build.join(not_asked).exists(), "{not_asked}");
    }
    let formats = "binpb,txtpb,tutorials";
    done(
        folder.path(),
        &["build", "plan.json", "--formats", formats, "-o", "build"],
    );
    let files = [
        "manifest.json",
        "topology.json",
        "plan.json",
        "report.json",
        "report.html",
        "p4/tagger.p4",
    ];
    let switch = [
        "entries.binpb",
        "entries.txtpb",
        "runtime.json",
        "commands.txt",
    ];
    let switch = switch.map(|f| format!("switches/spine1/{f}"));
    for file in files
        .iter()
        .map(ToString::to_string)
        .chain(switch)
        .chain(["p4/tagger.p4info.txtpb".to_owned()])
    {
        let length = fs::metadata(build.join(&file))
            .unwrap_or_else(|e| panic!("{file}: {e}"))
            .len();
        assert!(length > 0, "{file} is empty");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (one, two) = (built(), built());
    for file in [
        "plan.json",
        "build/manifest.json",
        "build/report.html",
        "build/switches/leaf1/entries.txtpb",
    ] {
        let read = |folder: &TempDir| fs::read(folder.path().join(file)).unwrap();
        assert_eq!(read(&one), read(&two), "{file}");
    }
}

#[test]
fn plan_prints_the_figures_of_the_contract() {
    let folder = built();
    let plan = json(
        folder.path(),
        &["plan", "clos.json", "--scheme", "tagger", "--bounces", "2"],
    );
    assert_eq!(plan["scheme"], "tagger");
    assert_eq!(plan["switches"], 6);
    assert_eq!(plan["hosts"], 8);
    assert_eq!(plan["tags"], 3);
    assert_eq!(plan["lossless_priorities"], 3);
    for key in [
        "routes",
        "rules_total",
        "rules_max_per_switch",
        "tcam_bits_max",
        "seconds",
    ] {
        assert!(plan[key].is_number(), "{key}: {}", plan[key]);
    }
}

#[test]
fn broken_topologies_are_wrong_input() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, &["topo", "line", "3", "-o", "good.json"]);
    let good: Value =
        serde_json::from_str(&fs::read_to_string(at.join("good.json")).unwrap()).unwrap();
    let write = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut topology = good.clone();
        change(&mut topology);
        fs::write(at.join(name), topology.to_string()).unwrap();
    };
    write("twice.json", &|t| {
        let link = t["links"][0].clone();
        t["links"].as_array_mut().unwrap().push(link);
    });
    write("dangling.json", &|t| t["links"][0]["b"] = "nobody:1".into());
    write("island.json", &|t| {
        t["switches"]
            .as_array_mut()
            .unwrap()
            .push(serde_json::json!({"name": "island", "ports": 4}));
    });
    refused(
        at,
        &["topo", "show", "twice.json"],
        2,
        &["twice.json", "port"],
    );
    refused(at, &["topo", "show", "dangling.json"], 2, &["nobody"]);
    refused(at, &["topo", "show", "island.json"], 2, &["island"]);
    refused(at, &["topo", "show", "missing.json"], 2, &["missing.json"]);
    refused(at, &["topo", "fat-tree", "--k", "3"], 2, &["even"]);
}

#[test]
fn a_plan_with_a_cycle_fails_the_check_and_names_it() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(at, &["topo", "ring", "4", "-o", "ring.json"]);
    done(
        at,
        &[
            "plan",
            "ring.json",
            "--routes",
            "shortest",
            "--rules",
            "exact",
            "-o",
            "plan.json",
        ],
    );
    let mut plan: Value =
        serde_json::from_str(&fs::read_to_string(at.join("plan.json")).unwrap()).unwrap();
    lower_all_new_tags(&mut plan);
    fs::write(at.join("cyclic.json"), plan.to_string()).unwrap();
    refused(
        at,
        &["check", "cyclic.json"],
        1,
        &["cyclic buffer dependency", "s1", "s2"],
    );
    refused(
        at,
        &["build", "cyclic.json", "--target", "v1model", "-o", "build"],
        1,
        &["cyclic"],
    );
    assert!(!at.join("build").exists(), "nothing is half-written");
    let output = run(at, &["check", "cyclic.json", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["proven"], false);
    assert_eq!(report["cbd_free"], false);
    assert!(report["counterexample"].as_str().unwrap().contains("s1"));
}

/// Makes every rule keep the tag that it matches, so that rings of buffers close.
fn lower_all_new_tags(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let (Some(tag), true) = (fields.get("tag").cloned(), fields.contains_key("new")) {
                fields.insert("new".to_owned(), tag);
            }
            fields.values_mut().for_each(lower_all_new_tags);
        }
        Value::Array(items) => items.iter_mut().for_each(lower_all_new_tags),
        _ => {}
    }
}

#[test]
fn more_than_the_target_has_is_the_targets_refusal() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(
        at,
        &[
            "topo",
            "clos",
            "--leaves",
            "3",
            "--spines",
            "2",
            "--hosts",
            "1",
            "-o",
            "clos.json",
        ],
    );
    refused(
        at,
        &["plan", "clos.json", "--bounces", "3", "--priorities", "2"],
        3,
        &["priorit"],
    );
    done(
        at,
        &[
            "topo",
            "clos",
            "--leaves",
            "600",
            "--spines",
            "1",
            "--hosts",
            "1",
            "-o",
            "wide.json",
        ],
    );
    refused(
        at,
        &["plan", "wide.json", "-o", "wide-plan.json"],
        3,
        &["spine1", "600", "511"],
    );
    assert!(
        !at.join("wide-plan.json").exists(),
        "nothing is half-written"
    );
}

#[test]
fn failover_plans_are_lossless_on_demand_and_built_where_a_program_carries_their_tags() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let jellyfish = ["topo", "jellyfish", "--switches", "8", "--ports", "6"];
    done(
        at,
        &[&jellyfish[..], &["--fabric-ports", "4", "-o", "topo.json"]].concat(),
    );
    let plan = |scheme: &[&str]| {
        let plan = ["plan", "topo.json", "-o", "plan.json", "--scheme"];
        done(at, &[&plan[..], scheme].concat());
        json(at, &["check", "plan.json"])
    };
    let plain = plan(&["plinko"]);
    assert_eq!(
        (&plain["proven"], &plain["cbd_free"]),
        (&Value::Bool(true), &Value::Null)
    );
    assert_eq!(plain["cbd_free_unknown"], "the plan has no lossless class");
    assert_eq!(plain["lossless_priorities"], 0);
    let lossless: [(&[&str], &str); 3] = [
        (&["plinko", "--lossless", "rising"], "lossless-sets"),
        (&["df-fi"], "lossless-sets-channels"),
        (&["df-fi", "--channels", "3"], "lossless-sets-channels"),
    ];
    let build = |target| ["build", "plan.json", "--target", target, "-o", "build"];
    for (scheme, program) in lossless {
        let report = plan(scheme);
        assert_eq!(report["cbd_free"], true, "{scheme:?}");
        assert_eq!(report["resilience"]["lossy"], 0);
        assert!(report["lossless_priorities"].as_u64().unwrap() > 1);
        for target in ["tna", "v1model"] {
            let built = json(at, &build(target));
            assert!(built["program"].as_str().unwrap().ends_with(program));
        }
    }
    let trace = [
        "trace", "build", "--from", "h1", "--to", "h9", "--fail", "s1-s5", "--short",
    ];
    let walk = done(at, &trace);
    assert!(walk.contains("lossless tag  none -> ") && walk.contains("EG_PRIO"));
    refused(
        at,
        &[
            "plan",
            "topo.json",
            "--scheme",
            "df-fi",
            "--priorities",
            "1",
        ],
        3,
        &["lossless priorities", "have 1"],
    );
    refused(
        at,
        &["plan", "topo.json", "--lossless", "rising"],
        2,
        &["scheme tagger", "df-fi"],
    );
    refused(
        at,
        &["plan", "topo.json", "--scheme", "plinko", "--channels", "2"],
        2,
        &["df-fi"],
    );
}

#[test]
fn greedy_is_refused_with_the_conflicting_key() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    done(
        at,
        &[
            "topo",
            "jellyfish",
            "--switches",
            "40",
            "--ports",
            "10",
            "--fabric-ports",
            "5",
            "-o",
            "j.json",
        ],
    );
    refused(
        at,
        &["plan", "j.json", "--algorithm", "greedy"],
        2,
        &["tag", "port"],
    );
    done(at, &["plan", "j.json", "--algorithm", "single-valued"]);
}

#[test]
fn wrong_p4_is_shown_with_place_and_caret() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(
        at.join("wrong.p4"),
        "#include <core.p4>\nconst bit<8> x = y;\n",
    )
    .unwrap();
    refused(at, &["p4", "check", "wrong.p4"], 2, &["wrong.p4:2:18", "^"]);
}

#[test]
fn arguments_that_make_no_sense_exit_with_2() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    assert_eq!(run(at, &["nonsense"]).status.code(), Some(2));
    assert_eq!(
        run(at, &["trace", "nowhere", "--from", "a", "--to", "b"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(run(at, &["check", "nowhere.json"]).status.code(), Some(2));
}

#[test]
fn a_scenario_is_one_command() {
    let folder = TempDir::new().unwrap();
    let list = json(folder.path(), &["simulate", "--list"]);
    assert!(list["scenarios"].as_array().unwrap().len() > 10);
    let play = ["simulate", "--scenario", "three-flows"];
    let with = json(folder.path(), &play);
    assert_eq!(with["deadlocks"], 0);
    let without = json(
        folder.path(),
        &[&play[..], &["--without-tags", "-o", "plots"]].concat(),
    );
    assert_eq!(without["deadlocks"], 1);
    assert!(folder.path().join("plots/deadlock.svg").exists());
    let shared = ["--without-tags", "-o", "shared", "--threads", "2"];
    let mut shared = json(folder.path(), &[&play[..], &shared].concat());
    shared["seconds"] = without["seconds"].clone();
    assert_eq!(shared, without, "any number of threads gives the same");
    let page = |place: &str| fs::read(folder.path().join(place).join("report.html")).unwrap();
    assert_eq!(page("shared"), page("plots"));

    let nowhere = ["simulate", "--scenario", "nowhere.yaml"];
    refused(
        folder.path(),
        &nowhere,
        2,
        &["nowhere.yaml", "simulate --list"],
    );
    let scenario = |network: &str| {
        let flows = "flows:\n  - { from: h1, to: h2 }\n";
        let text = format!("name: mine\nduration: 1ms\n{network}{flows}");
        fs::write(folder.path().join("mine.yaml"), text).unwrap();
    };
    let mine = ["simulate", "--scenario", "mine.yaml"];
    scenario("");
    refused(folder.path(), &mine, 2, &["network", "build directory"]);
    scenario("network: { topology: { ring: { switches: 2 } } }\n");
    refused(folder.path(), &mine, 2, &["network.topology", "switches"]);
    scenario("network: { topology: { drawn: { switches: { a: [h1] }, links: [[a, b]] } } }\n");
    refused(folder.path(), &mine, 2, &["no switch `b`"]);
    scenario("network: { topology: three-node, plan: { algorithm: clos } }\n");
    refused(folder.path(), &mine, 2, &["network.plan"]);
}

#[test]
fn the_demo_ends_with_a_deadlock_and_without_one() {
    let folder = TempDir::new().unwrap();
    let figures = json(folder.path(), &["demo", "-o", "tour"]);
    for (ending, page) in [("ending", "deadlock.html"), ("failover", "failover.html")] {
        let ending = &figures[ending];
        assert_eq!(ending["without_tags"]["deadlocks"], 1);
        assert_eq!(ending["with_tags"]["deadlocks"], 0);
        let page = fs::read_to_string(folder.path().join("tour").join(page)).unwrap();
        assert!(page.contains("Deadlock at") && page.contains("No deadlock"));
        assert!(page.matches("<svg").count() >= 5);
    }
}

//! `submit kubernetes`: the manifest, by the published schema, and what its containers do.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{COMMAND, done, failed, json, plan, stand_in, switchwright, timeless};
use crate::clients::python_with;

const SUBMIT: &str = "submit kubernetes -n 3 -o sweep --claim files --namespace net --at-once 2 --cpus 2 --memory 512 --keep 3600";

/// The Jobs of a manifest.
fn jobs(at: &Path) -> Vec<Value> {
    let text = fs::read_to_string(at.join("sweep/jobs.yaml")).unwrap();
    serde_saphyr::from_multiple(&text).unwrap()
}

/// Does what a container of a Job says, as in a pod whose volume is mounted at the folder.
fn container(at: &Path, container: &Value, index: Option<u32>) -> Output {
    assert_eq!(container["workingDir"], "/work");
    assert_eq!(container["volumeMounts"][0]["mountPath"], "/work");
    let words = container["command"].as_array().unwrap();
    let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
    let folder = Path::new(COMMAND).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(at).env("PATH", path);
    if let Some(index) = index {
        command.env("JOB_COMPLETION_INDEX", index.to_string());
    }
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_containers_of_a_manifest_give_what_one_machine_gives() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    plan(at);
    for (line, status) in [
        ("check plan.json --failures 2", 1),
        ("measure plan.json --sets 2 --failures 1,3", 0),
    ] {
        done(&mut switchwright(at, &format!("{SUBMIT} -- {line}")));
        let jobs = jobs(at);
        assert_eq!(jobs.len(), 2);
        let share = &jobs[0]["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(jobs[0]["spec"]["completions"], 3);
        for index in [2, 0, 1, 1] {
            let output = container(at, share, Some(index));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        }
        let pod = &jobs[1]["spec"]["template"]["spec"];
        assert!(
            container(at, &pod["initContainers"][0], None)
                .status
                .success()
        );
        let merged = container(at, &pod["containers"][0], None);
        assert_eq!(merged.status.code(), Some(status));
        let merged = fs::read_to_string(at.join("sweep/merged.json")).unwrap();
        let whole = switchwright(at, &format!("{line} --json"))
            .output()
            .unwrap();
        let whole = String::from_utf8(whole.stdout).unwrap();
        match status {
            1 => assert_eq!(timeless(&merged), timeless(&whole)),
            _ => assert_eq!(merged, whole),
        }
        assert_eq!(at.join("sweep/figures").exists(), status == 0);
        fs::remove_dir_all(at.join("sweep")).unwrap();
    }
}

#[test]
fn manifests_are_what_the_schema_of_kubernetes_says() {
    let Some(python) = python_with("kubernetes-validate", "import kubernetes_validate") else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let validate = || {
        let mut command = Command::new(&python);
        command.args(["-m", "kubernetes_validate", "--strict", "sweep/jobs.yaml"]);
        command.current_dir(at).output().unwrap()
    };
    for line in [
        &format!("{SUBMIT} -- check plan.json"),
        "submit kubernetes -n 7 -o sweep --claim files -- measure plan.json --sets 2",
    ] {
        done(&mut switchwright(at, line));
        let output = validate();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
    }
    // And the schema refuses what is not so.
    let manifest = at.join("sweep/jobs.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    for (good, bad) in [
        ("completionMode:", "completionMood:"),
        ("completions: 7", "completions: seven"),
    ] {
        let changed = text.replace(good, bad);
        assert_ne!(changed, text);
        fs::write(&manifest, changed).unwrap();
        assert!(!validate().status.success(), "{bad}");
    }
}

#[test]
fn kubectl_is_given_the_manifest() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let line = format!("{SUBMIT} --run --json -- check plan.json");
    let path = stand_in(
        at,
        "kubectl",
        "[ \"$*\" = 'apply -o name -f sweep/jobs.yaml' ] && [ -s sweep/jobs.yaml ] || exit 9\n\
         echo job.batch/switchwright; echo job.batch/switchwright-merge\n",
    );
    let told = done(switchwright(at, &line).env("PATH", path));
    let names = serde_json::json!(["job.batch/switchwright", "job.batch/switchwright-merge"]);
    assert_eq!(json(&told)["jobs"], names);
    let path = stand_in(at, "kubectl", "echo 'no such claim' >&2; exit 1\n");
    let output = switchwright(at, &line).env("PATH", path).output().unwrap();
    failed(&output, 3, "no such claim");
}

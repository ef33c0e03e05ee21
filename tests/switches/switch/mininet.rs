//! Mininet with our switch as its switch class, and the exercises of p4lang/tutorials with our switch in the place of
//! simple_switch_grpc. Everything happens inside a namespace of the test: nothing is left, whatever ends it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use netlab::Namespace;

use super::support::{COMMAND, may};

/// Debian's Mininet belongs to Debian's Python.
const PYTHON: &str = "/usr/bin/python3";
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/mininet/switchwright.py"
);
/// The longest that a network may take.
const TIMEOUT: Duration = Duration::from_secs(240);

fn imports(python: &str, modules: &str) -> bool {
    let import = format!("import {modules}");
    let status = Command::new(python)
        .args(["-c", &import])
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn has_mininet() -> bool {
    let has = may() && imports(PYTHON, "mininet");
    if !has {
        println!("skipped: Mininet is not installed (Debian: apt-get install mininet)");
    }
    has
}

/// Runs a command in a namespace of its own, and kills it if it takes too long.
fn in_a_namespace(command: &mut Command, input: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("in"), input).unwrap();
    let open = |name| {
        std::fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(file(name))
    };
    let lab = Namespace::new().unwrap();
    command
        .stdin(open("in").unwrap())
        .stdout(open("out").unwrap())
        .stderr(open("err").unwrap());
    let mut child = lab.run(|| command.spawn()).unwrap().unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > TIMEOUT {
            let _ = child.kill();
            println!("killed after {TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    Output {
        status,
        stdout: std::fs::read(file("out")).unwrap(),
        stderr: std::fs::read(file("err")).unwrap(),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_python_without_mininet_is_told_which_has_it() {
    // Without `site` Python knows no packages but its own.
    let output = Command::new(PYTHON)
        .args(["-S", SCRIPT, "--build", "."])
        .output();
    let Ok(output) = output else {
        return println!("skipped: {PYTHON} is not there");
    };
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(!text.contains("Traceback"), "{text}");
    for word in ["no module `mininet`", "sudo /usr/bin/python3", "--build ."] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn mininet_pings_through_our_switch_class() {
    if !has_mininet() {
        return;
    }
    let mut command = Command::new(PYTHON);
    let output = in_a_namespace(command.arg(SCRIPT).env("SWITCHWRIGHT", COMMAND), "");
    assert!(output.status.success(), "{}", said(&output));
}

/// Four switches, the generated program, generated entries by `switchwright cli`.
#[test]
fn mininet_runs_a_built_network() {
    if !has_mininet() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "topo clos --leaves 2 --spines 2 --hosts 1 -o clos.json",
        "plan clos.json --scheme tagger --bounces 1 -o plan.json",
        "build plan.json --target v1model -o out",
    ] {
        let mut command = Command::new(COMMAND);
        let done = command
            .args(line.split(' '))
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{line}: {}", said(&done));
    }
    let mut command = Command::new(PYTHON);
    command
        .arg(SCRIPT)
        .arg("--build")
        .arg(folder.path().join("out"));
    let output = in_a_namespace(command.env("SWITCHWRIGHT", COMMAND), "");
    assert!(output.status.success(), "{}", said(&output));
}

/// The `basic` exercise: our compiler by the name of p4c's, the exercises' own runner and controller, our switch by the name of BMv2's. `TUTORIALS`
/// names the checkout, `TUTORIALS_PYTHON` a Python with Mininet, p4runtime, grpcio and psutil.
#[test]
fn the_tutorials_basic_exercise_runs_on_our_switch() {
    let Some(tutorials) = std::env::var_os("TUTORIALS").map(PathBuf::from) else {
        println!("skipped: TUTORIALS does not name a checkout of p4lang/tutorials");
        return;
    };
    let python = std::env::var("TUTORIALS_PYTHON").unwrap_or_else(|_| PYTHON.to_owned());
    if !may() || !imports(&python, "mininet, p4, grpc, psutil") {
        println!("skipped: {python} lacks Mininet, p4runtime, grpcio or psutil");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let exercise = tutorials.join("exercises/basic");
    let path = |name: &str| folder.path().join(name);
    copy(&exercise.join("pod-topo"), &path("pod-topo"));
    std::fs::create_dir(path("build")).unwrap();
    // In the place of p4c, by its name.
    std::os::unix::fs::symlink(COMMAND, path("p4c-bm2-ss")).unwrap();
    let compiled = Command::new(path("p4c-bm2-ss"))
        .args([
            "--p4v",
            "16",
            "--p4runtime-files",
            "build/basic.p4.p4info.txtpb",
            "-o",
            "build/basic.json",
        ])
        .arg(exercise.join("solution/basic.p4"))
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", said(&compiled));
    std::os::unix::fs::symlink(COMMAND, path("simple_switch_grpc")).unwrap();
    let search = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(&python);
    command
        .arg(tutorials.join("utils/run_exercise.py"))
        .args([
            "-t",
            "pod-topo/topology.json",
            "-j",
            "build/basic.json",
            "-b",
            "simple_switch_grpc",
        ])
        .current_dir(&folder)
        .env("PATH", format!("{}:{search}", folder.path().display()));
    let output = in_a_namespace(&mut command, "pingall\nexit\n");
    let text = said(&output);
    assert!(
        output.status.success() && text.contains("Results: 0% dropped"),
        "{text}"
    );
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

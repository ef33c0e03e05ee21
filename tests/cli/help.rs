//! What help, manual and completions say, and that it is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");

fn run(at: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(COMMAND);
    command.args(arguments).current_dir(at).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).output().unwrap()
}

fn said(at: &Path, arguments: &[&str]) -> String {
    let output = run(at, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of a part of the help, up to the next empty line.
fn part<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect()
}

/// The commands that have none below them, as words.
fn leaves(at: &Path, path: &[String], found: &mut Vec<Vec<String>>) {
    let mut line: Vec<&str> = path.iter().map(String::as_str).collect();
    line.push("-h");
    let help = said(at, &line);
    // The commands of the root stand in groups, up to the options.
    let first = match path.is_empty() {
        true => "Design:",
        false => "Commands:",
    };
    let below = help.lines().skip_while(|line| *line != first).skip(1);
    let names = below
        .take_while(|line| !line.starts_with("Options") && (path.is_empty() || !line.is_empty()))
        .filter_map(|line| {
            // What stands further to the right is the end of a long description.
            let name = line
                .strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '))?;
            name.split_whitespace().next()
        });
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    if names.is_empty() {
        found.push(path.to_vec());
    }
    for name in names {
        leaves(at, &[path, &[name.to_owned()]].concat(), found);
    }
}

/// What examples are not run, and why; a unit test of the command line parses those too.
const NOT_RUN: &[(&str, &str)] = &[
    ("push", "it needs running switches"),
    ("drift", "it needs running switches"),
    ("conform", "it needs a running switch"),
    ("agent", "it never ends"),
    ("drill", "it needs rights; tests of switches run it"),
    ("emulate", "it needs rights; tests of emulation run it"),
    ("net", "it needs rights; tests of switches run it"),
    ("switch", "it never ends"),
    ("status", "it needs a running switch"),
    ("cli", "it needs a running switch"),
    ("lab", "it ends by Ctrl-C; the page's own tests run it"),
    ("bench", "it measures the machine"),
];

/// What examples read.
fn prepare(at: &Path) {
    for line in [
        "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json",
        "topo ring 6 -o ring.json",
        "plan clos.json -o plan.json",
        "plan clos.json -o old.json",
        "plan clos.json --bounces 2 -o new.json",
        "plan ring.json --scheme plinko -o failover.json",
        "check failover.json --shard 1/1 -o shares",
        "build plan.json -o build",
        "build plan.json --target sonic -o fabric",
    ] {
        said(at, &line.split(' ').collect::<Vec<_>>());
    }
    let lab = "name: lab\ntopology:\n  nodes:\n    s1: {kind: bridge}\n    h1: {kind: linux}\n    h2: {kind: linux}\n  links:\n    - endpoints: [\"s1:eth1\", \"h1:eth1\"]\n    - endpoints: [\"s1:eth2\", \"h2:eth1\"]\n";
    fs::write(at.join("lab.clab.yaml"), lab).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::os::unix::fs::symlink(root.join("labs"), at.join("labs")).unwrap();
    let cases = root.join("bmv2-tests/cases");
    fs::copy(cases.join("flow.p4"), at.join("program.p4")).unwrap();
    fs::copy(cases.join("plumbing.p4"), at.join("plumbing.p4")).unwrap();
    fs::copy(cases.join("flow.stf"), at.join("case.stf")).unwrap();
}

#[test]
fn examples_of_the_help_run() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    prepare(at);
    std::os::unix::fs::symlink(COMMAND, at.join("switchwright")).unwrap();
    let mut commands = Vec::new();
    leaves(at, &[], &mut commands);
    assert!(commands.len() > 30, "{commands:?}");
    let mut played = 0;
    for path in &commands {
        let mut line: Vec<&str> = path.iter().map(String::as_str).collect();
        line.push("-h");
        // Wide enough that no example is broken into lines.
        let output = Command::new(COMMAND)
            .args(&line)
            .env("COLUMNS", "1000")
            .output();
        let help = String::from_utf8(output.unwrap().stdout).unwrap();
        let examples = part(&help, "Examples:");
        assert!(!examples.is_empty(), "{path:?}: {help}");
        if NOT_RUN.iter().any(|(name, _)| path[0] == *name) {
            continue;
        }
        let script = format!("set -eo pipefail; PATH=$PWD:$PATH\n{}", examples.join("\n"));
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &script])
            .current_dir(at)
            .stdin(Stdio::null());
        let output = shell.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{examples:?}: {words}");
        played += examples.len();
    }
    assert!(played > 30, "{played}");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    said(at, &["man", "-o", "pages"]);
    let mut commands = Vec::new();
    leaves(at, &[], &mut commands);
    for path in &commands {
        let name = format!("switchwright-{}.1", path.join("-"));
        let page = fs::read_to_string(at.join("pages").join(&name)).expect(&name);
        for word in [
            ".TH",
            ".SH NAME",
            ".SH OPTIONS",
            ".SH EXAMPLES",
            ".SH \"EXIT STATUS\"",
        ] {
            assert!(page.contains(word), "{name}: no {word}: {page}");
        }
        assert!(!page.contains('\u{1b}'), "{name}");
    }
    let plan = fs::read_to_string(at.join("pages/switchwright-plan.1")).unwrap();
    assert!(
        plan.contains(".SH SOURCES") && plan.contains("Stephens15: "),
        "{plan}"
    );
    // It writes over its own pages, and over nothing else.
    said(at, &["man", "-o", "pages"]);
    fs::create_dir(at.join("other")).unwrap();
    fs::write(at.join("other/file"), "").unwrap();
    assert_eq!(run(at, &["man", "-o", "other"]).status.code(), Some(2));
}

#[test]
fn completions_know_names_and_files() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("bounded.yaml"), "").unwrap();
    let script = said(at, &["completions", "bash"]);
    fs::write(at.join("script"), script).unwrap();
    let completed = |line: &str| -> BTreeSet<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words.len() - 1;
        let script = format!(
            "source ./script; COMP_WORDS=({line}); COMP_CWORD={last}; _switchwright switchwright '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words[last],
            words[last - 1]
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(at)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let found = completed("switchwright simulate --scenario boun");
    let expected = ["bounce", "bounce-leaf-spine", "bounded.yaml"];
    assert_eq!(found, expected.map(str::to_owned).into());
    let found = completed("switchwright plan --routes bcube-");
    assert_eq!(found, ["bcube-rotations".to_owned()].into());
    let found = completed("switchwright plan --scheme plin");
    assert_eq!(found, ["plinko".to_owned()].into());
    let zsh = said(at, &["completions", "zsh"]);
    let both = zsh
        .lines()
        .filter(|line| line.contains("--scenario=") && line.contains("files:file:_files"));
    assert_eq!(both.count(), 2);
    let fish = said(at, &["completions", "fish"]);
    let both = fish
        .lines()
        .filter(|line| line.contains("-l scenario") && line.contains("-r -F -a"));
    assert_eq!(both.count(), 2);
}

#[test]
fn quiet_commands_that_make_or_prove_say_nothing() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for line in [
        "topo ring 6 -o r.json",
        "plan r.json -o p.json",
        "plan r.json --scheme plinko -o f.json",
        "check p.json",
        "check f.json",
        "build p.json -o b",
        "p4 check b/p4/tagger.p4",
        "man -o pages",
    ] {
        let arguments: Vec<&str> = line.split(' ').chain(["-q"]).collect();
        let output = run(at, &arguments);
        assert!(output.status.success(), "{line}");
        let told = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&told), "", "{line}");
    }
    // What is wrong is said all the same, and a result that was asked for.
    assert!(!run(at, &["check", "nowhere", "-q"]).stderr.is_empty());
    assert!(!run(at, &["topo", "show", "r.json", "-q"]).stdout.is_empty());
}

#[test]
fn without_arguments_the_commands_are_listed_by_what_they_are_for() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let short = said(at, &[]);
    for title in [
        "Design:", "Build:", "Run:", "Observe:", "Learn:", "Measure:",
    ] {
        assert!(short.lines().any(|line| line == title), "{title}: {short}");
    }
    assert!(!short.contains("--verbose"), "{short}");
    let long = said(at, &["--help"]);
    for line in ["  0 done or proven", "  3 a target refused or cannot"] {
        assert!(long.lines().any(|one| one == line), "{line}: {long}");
    }
    assert!(!long.contains("\n\n\n"), "{long}");
}

#[test]
fn the_version_names_the_build() {
    let folder = TempDir::new().unwrap();
    let text = said(folder.path(), &["--version"]);
    let begin = format!("switchwright {} (", env!("CARGO_PKG_VERSION"));
    assert!(
        text.starts_with(&begin) && text.contains("profile "),
        "{text}"
    );
}

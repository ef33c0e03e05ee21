//! Every block of commands in README and docs runs as it is written, in order, and the tour prints
//! what README shows of it.
//!
//! Each document has a folder of its own, with the Clos that README makes (`clos.json`,
//! `plan.json`, `build`), a network namespace with two pairs of interfaces (`veth0` to `veth3`)
//! where that may be made, and `switchwright` on its PATH. Blocks for programs that are not
//! installed are left out, and said.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rayon::prelude::*;
use tempfile::TempDir;

/// Programs that are not ours; a block that calls one runs where it is found.
const FOREIGN: &[&str] = &[
    "p4c",
    "p4c-bm2-ss",
    "simple_switch",
    "simple_switch_CLI",
    "bfshell",
    "docker",
];
/// How README runs the program from a checkout.
const BUILT: &str = "cargo run --profile quick --";
/// What is not run, and why.
const LEFT_OUT: &[(&str, &str)] = &[("cargo xtask test", "it runs this test")];

/// The commands of a document: the blocks marked `sh`.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match (&mut open, line) {
            (None, "```sh") => open = Some(String::new()),
            (Some(block), "```") => {
                blocks.push(std::mem::take(block));
                open = None;
            }
            (Some(block), line) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    assert!(open.is_none(), "a block has no end");
    blocks
}

/// A block as this test runs it: the program that was built, what never ends for a while only.
fn as_run(block: &str) -> String {
    let line = |line: &str| {
        if let Some((command, why)) = LEFT_OUT.iter().find(|(c, _)| line.starts_with(c)) {
            return format!("# {command}: {why}\n");
        }
        let line = line.replace(BUILT, "switchwright");
        match line.contains("--watch") {
            true => format!("timeout --preserve-status -s INT 5 {line}\n"),
            false => format!("{line}\n"),
        }
    };
    block.lines().map(line).collect()
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The first program that a block calls and that is not here.
fn missing(block: &str) -> Option<&'static str> {
    let words = |line: &str| -> Vec<String> {
        let commands = line.split(['|', ';', '&']);
        let first = |command: &str| {
            let mut words = command.split_whitespace().skip_while(|w| w.contains('='));
            words.next().map(str::to_owned)
        };
        commands.filter_map(first).collect()
    };
    let called: Vec<String> = block.lines().flat_map(words).collect();
    let foreign = FOREIGN.iter().copied();
    let mut absent = foreign.filter(|program| !on_path(program));
    absent.find(|program| called.iter().any(|word| word == program))
}

fn switchwright(at: &Path, arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(arguments)
        .arg("-q")
        .current_dir(at)
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

/// Runs the blocks of a document as one script.
fn play(name: &str, script: &str) {
    let folder = TempDir::new().unwrap();
    let (at, bin) = (folder.path().join("work"), folder.path().join("bin"));
    fs::create_dir(&at).unwrap();
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_switchwright"), bin.join("switchwright")).unwrap();
    symlink(
        concat!(env!("CARGO_MANIFEST_DIR"), "/examples"),
        at.join("examples"),
    )
    .unwrap();
    let clos = "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json";
    for line in [
        clos,
        "plan clos.json -o plan.json",
        "build plan.json -o build",
    ] {
        switchwright(&at, &line.split(' ').collect::<Vec<_>>());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).unwrap();
    let links = "ip link set lo up; ip link add veth0 type veth peer veth1; ip link add veth2 type veth peer veth3; \
                 for i in 0 1 2 3; do ip link set veth$i up; done";
    let script = format!(
        "set -eo pipefail; trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{links}\nset -x\n{script}"
    );
    let output = Command::new("unshare")
        .args(["-n", "bash", "-c", &script])
        .current_dir(&at)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{name}: {}: {words}",
        output.status
    );
}

/// README and the chapters of the book, in order.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![root.join("README.md")];
    chapters(&root.join("docs"), &mut all);
    all.sort();
    all
}

fn chapters(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            chapters(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The blocks of a document that can run here, with its name.
fn script(path: &Path) -> Option<(String, String)> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut script = String::new();
    for block in blocks(&fs::read_to_string(path).unwrap()) {
        match missing(&block) {
            Some(program) => println!("skipped: a block of {name}: no `{program}` here"),
            None => script.push_str(&as_run(&block)),
        }
    }
    (!script.is_empty()).then_some((name, script))
}

#[test]
fn every_block_of_commands_runs_as_written() {
    if let Err(error) = linuxnet::permitted() {
        println!("skipped: {error}");
        return;
    }
    let scripts: Vec<(String, String)> =
        documents().iter().filter_map(|path| script(path)).collect();
    assert!(scripts.len() >= 4, "{} documents", scripts.len());
    // Documents need nothing of each other.
    scripts
        .par_iter()
        .for_each(|(name, script)| play(name, script));
}

/// A text without what differs from run to run: seconds.
fn timeless(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let mut next = words.iter().skip(1);
        let word = |word: &&str| match next.next() {
            Some(&("s" | "s.")) if word.parse::<f64>().is_ok() => "...".to_owned(),
            _ => (*word).to_owned(),
        };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect()
}

#[test]
fn the_tour_is_as_readme_shows_it() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let start = format!("```text\n$ {BUILT} demo\n");
    let shown = readme.split_once(&start).expect("README shows the tour").1;
    let shown = shown.split_once("```").expect("what is shown ends").0;
    let folder = TempDir::new().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .arg("demo")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(timeless(shown), timeless(&said));
    let picture = fs::read_to_string(folder.path().join("out/demo/deadlock.svg")).unwrap();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/deadlock.svg");
    assert!(
        picture == fs::read_to_string(kept).unwrap(),
        "docs/deadlock.svg is not the tour's: copy out/demo/deadlock.svg there"
    );
    assert!(picture.len() < 200_000 && !picture.contains("<script"));
    roxmltree::Document::parse(&picture).unwrap();
}

#[test]
fn blocks_are_found_and_changed_as_little_as_can_be() {
    let text = "a\n```sh\ncargo run --profile quick -- demo   # x\ncargo xtask test\n```\n```json\n{}\n```\n```sh\np4c -o x\n```\n";
    let found = blocks(text);
    assert_eq!(found.len(), 2);
    assert_eq!(
        as_run(&found[0]),
        "switchwright demo   # x\n# cargo xtask test: it runs this test\n"
    );
    assert_eq!(missing("a | no-such; X=1 b"), None);
}

//! How `switchwright` starts `switchwright-figures`, the program of `bench` and `reproduce`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The command alone in a folder, on the file system of the build.
struct Installed {
    folder: TempDir,
    command: PathBuf,
}

impl Installed {
    fn new() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let command = folder.path().join("switchwright");
        fs::hard_link(env!("CARGO_BIN_EXE_switchwright"), &command).unwrap();
        Self { folder, command }
    }

    /// A script in the place of the program, in a folder below this one.
    fn script(&self, below: &str, text: &str) -> PathBuf {
        let folder = self.folder.path().join(below);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("switchwright-figures");
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    fn run(&self, path: &Path, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(&self.command);
        command.args(arguments).env("PATH", path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        child.wait_with_output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn without_the_program_its_commands_say_how_to_get_it() {
    let installed = Installed::new();
    let nowhere = Path::new("/nonexistent");
    for line in ["bench --help", "reproduce --list", "help bench"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = installed.run(nowhere, &arguments, "");
        assert_eq!(output.status.code(), Some(3), "{line}");
        let words = text(&output.stderr);
        for said in [
            "`switchwright-figures`",
            "cargo build -p switchwright-figures",
            "cargo install --path figures",
        ] {
            assert!(words.contains(said), "{line}: {words}");
        }
        assert!(output.stdout.is_empty(), "{line}");
    }
    let output = installed.run(nowhere, &["bench", "plan", "--json"], "");
    assert_eq!(output.status.code(), Some(3));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["error"]["status"], 3);
    // The commands are known all the same.
    let help = text(&installed.run(nowhere, &["--help"], "").stdout);
    for name in ["bench", "reproduce"] {
        assert!(help.contains(&format!("\n  {name} ")), "{help}");
        let script = text(&installed.run(nowhere, &["completions", "bash"], "").stdout);
        assert!(
            script.contains(&format!("switchwright__subcmd__{name}")),
            "{name}"
        );
    }
}

#[test]
fn the_program_takes_arguments_streams_and_status_as_they_are() {
    let installed = Installed::new();
    let script = "printf '%s|' \"$@\"; cat; echo words >&2; exit 7";
    installed.script("", script);
    let line = [
        "--json", "-v", "bench", "plan", "--only", "a b", "--", "-x", "",
    ];
    let output = installed.run(Path::new("/usr/bin:/bin"), &line, "input");
    let expected = "--json|-v|bench|plan|--only|a b|--|-x||input";
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "words\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn the_program_has_the_process_and_gets_its_signals() {
    let installed = Installed::new();
    installed.script("", "echo $$; kill -TERM $$");
    let mut child = Command::new(&installed.command)
        .arg("bench")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let status = child.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    assert_eq!(said.trim(), id.to_string());
    assert_eq!(status.signal(), Some(15));
}

#[test]
fn the_program_beside_the_command_comes_before_one_on_the_path() {
    let installed = Installed::new();
    let on_path = installed.script("bin", "echo path");
    // A file that nobody may execute is no program.
    let first = installed.folder.path().join("first");
    fs::create_dir(&first).unwrap();
    fs::write(first.join("switchwright-figures"), "").unwrap();
    let path = std::env::join_paths([&first, &on_path]).unwrap();
    let said = |path: &Path| text(&installed.run(path, &["reproduce", "--list"], "").stdout);
    assert_eq!(said(Path::new(&path)), "path\n");
    installed.script("", "echo beside");
    assert_eq!(said(Path::new(&path)), "beside\n");
}

#[test]
fn shares_of_the_program_are_merged_and_submitted_by_it() {
    let installed = Installed::new();
    installed.script("", "echo \"figures: $*\"");
    let shares = installed.folder.path().join("shares");
    fs::create_dir(&shares).unwrap();
    let shares = shares.to_string_lossy().into_owned();
    let path = Path::new("/usr/bin:/bin");
    for command in ["bench-failover", "reproduce"] {
        let share = format!("{{\"work\": {{\"command\": \"{command}\"}}}}");
        fs::write(format!("{shares}/shard-1-of-1.json"), share).unwrap();
        let output = installed.run(path, &["merge", &shares], "");
        assert_eq!(text(&output.stdout), format!("figures: merge {shares}\n"));
    }
    let line = "submit slurm -n 2 -o jobs -- bench failover --sets 3";
    let output = installed.run(path, &line.split(' ').collect::<Vec<_>>(), "");
    assert_eq!(text(&output.stdout), format!("figures: {line}\n"));
}

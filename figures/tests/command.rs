//! `switchwright-figures` as a command. That there is a test of the program itself makes cargo
//! build the program for all tests, those of `switchwright` among them.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn run(at: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright-figures"));
    command.args(arguments).current_dir(at).stdin(Stdio::null());
    command.output().unwrap()
}

fn said(at: &Path, arguments: &[&str]) -> String {
    let output = run(at, arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions_and_manual_have_the_options() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for shell in ["bash", "zsh", "fish"] {
        let script = said(at, &["completions", shell]);
        assert!(script.contains("switchwright-figures"), "{shell}");
        assert!(script.contains("no-peer"), "{shell}");
    }
    said(at, &["man", "-o", "pages"]);
    for (name, option) in [("bench", "no\\-peer"), ("reproduce", "quick")] {
        let page = at.join(format!("pages/switchwright-figures-{name}.1"));
        let page = fs::read_to_string(page).unwrap();
        for word in [".SH OPTIONS", ".SH EXAMPLES", option] {
            assert!(page.contains(word), "{name}: no {word}: {page}");
        }
    }
}

#[test]
fn help_says_examples_and_sources() {
    let folder = TempDir::new().unwrap();
    let help = said(folder.path(), &["reproduce", "--help"]);
    for word in ["Examples:", "Sources:", "Options of every command:"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[test]
fn a_folder_without_shares_is_wrong_input() {
    let folder = TempDir::new().unwrap();
    let output = run(folder.path(), &["merge", "."]);
    assert_eq!(output.status.code(), Some(2));
}

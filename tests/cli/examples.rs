//! The examples of the crates that others may use, and a scheme and a target to begin with: each
//! runs and prints the same as before.

use std::path::PathBuf;
use std::process::Command;

/// Crate, without the project's name, and example.
const EXAMPLES: [(&str, &str); 8] = [
    ("topology", "failed_link"),
    ("plan", "prove"),
    ("p4front", "tables"),
    ("p4exec", "forward"),
    ("device", "reflect"),
    ("spec", "request"),
    ("", "toy-scheme"),
    ("", "toy-target"),
];

/// The program that cargo made of an example, beside the command.
fn program(example: &str) -> PathBuf {
    let command = PathBuf::from(env!("CARGO_BIN_EXE_switchwright"));
    let path = command.with_file_name("examples").join(example);
    assert!(
        path.is_file(),
        "{} is missing; `cargo test --workspace` builds it, and `cargo build --workspace --examples`",
        path.display()
    );
    path
}

#[test]
fn examples_print_what_they_are_to_print() {
    for (package, example) in EXAMPLES {
        let output = Command::new(program(example)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{package} {example}: {errors}");
        let printed = String::from_utf8(output.stdout).unwrap();
        insta::assert_snapshot!(
            format!("{package}_{example}").trim_start_matches('_'),
            printed
        );
    }
}

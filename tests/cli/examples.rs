//! The examples of the crates that others may use: each runs and prints what its page says.

use std::path::PathBuf;
use std::process::Command;

/// Crate and example.
const EXAMPLES: [(&str, &str); 6] = [
    ("topology", "failed_link"),
    ("plan", "prove"),
    ("p4front", "tables"),
    ("p4exec", "forward"),
    ("device", "reflect"),
    ("spec", "request"),
];

/// The program that cargo made of an example, beside the command.
fn program(package: &str, example: &str) -> PathBuf {
    let command = PathBuf::from(env!("CARGO_BIN_EXE_switchwright"));
    let path = command.with_file_name("examples").join(example);
    assert!(
        path.is_file(),
        "{} is missing; `cargo test --workspace` builds it, and `cargo build -p switchwright-{package} --example {example}`",
        path.display()
    );
    path
}

#[test]
fn examples_print_what_they_are_to_print() {
    for (package, example) in EXAMPLES {
        let output = Command::new(program(package, example)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{package} {example}: {errors}");
        let printed = String::from_utf8(output.stdout).unwrap();
        insta::assert_snapshot!(format!("{package}_{example}"), printed);
    }
}

//! BMv2's JSON for switches that take nothing else: made by p4c where it is installed.

use std::io;
use std::path::Path;
use std::process::Command;

/// The compiler's name on the path.
const P4C: &str = "p4c-bm2-ss";

/// Compiles a program that stands in one text.
///
/// The error says what to do, for people.
pub fn bmv2_json(source: &str) -> Result<Vec<u8>, String> {
    let folder =
        files::Scratch::new().map_err(|error| format!("no room for p4c's files: {error}"))?;
    let (input, output) = (
        folder.path().join("program.p4"),
        folder.path().join("program.json"),
    );
    std::fs::write(&input, source).map_err(|error| format!("no room for p4c's files: {error}"))?;
    run(&input, &output)?;
    std::fs::read(&output).map_err(|error| format!("{P4C} wrote no JSON: {error}"))
}

fn run(input: &Path, output: &Path) -> Result<(), String> {
    let done = Command::new(P4C)
        .args(["--std", "p4-16", "-o"])
        .arg(output)
        .arg(input)
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "the switch wants its program as BMv2 JSON, and {P4C} is not installed: install p4c, or compile it \
                 elsewhere (`{P4C} --std p4-16 -o tagger.json p4/tagger.p4`) and name the file as `config_file` in \
                 the devices file"
            ),
            _ => format!("{P4C} cannot be started: {error}"),
        })?;
    if done.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&done.stderr);
    Err(format!("{P4C} refuses the program: {}", words.trim()))
}

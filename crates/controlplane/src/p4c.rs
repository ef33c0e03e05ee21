//! BMv2's JSON for switches that take nothing else: made by p4c where it is installed, and by our
//! own compiler elsewhere.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use p4front::Options;
use p4front::source::SourceMap;

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
    let done = Command::new(P4C)
        .args(["--std", "p4-16", "-o"])
        .args([&output, &input])
        .output();
    match done {
        Ok(done) => said(&done, &output),
        Err(error) if error.kind() == io::ErrorKind::NotFound => ours(source),
        Err(error) => Err(format!("{P4C} cannot be started: {error}")),
    }
}

/// By our own front end, which has read every program that gets here.
fn ours(source: &str) -> Result<Vec<u8>, String> {
    let mut map = SourceMap::new();
    let main = map
        .add("program.p4", source)
        .map_err(|error| error.to_string())?;
    let compiled = p4front::compile(&mut map, main, &Options::default());
    let compiled = compiled.map_err(|found| found.render(&map))?;
    let json = bmv2json::write(&compiled.ir, "program.p4").map_err(|error| {
        format!(
            "the switch wants its program as BMv2 JSON, which has no place for this: {error}; compile it elsewhere \
             and name the file as `config_file` in the devices file"
        )
    })?;
    Ok(json.into_bytes())
}

fn said(done: &Output, output: &Path) -> Result<Vec<u8>, String> {
    if done.status.success() {
        let json = std::fs::read(output);
        return json.map_err(|error| format!("{P4C} wrote no JSON: {error}"));
    }
    let words = String::from_utf8_lossy(&done.stderr);
    Err(format!("{P4C} refuses the program: {}", words.trim()))
}

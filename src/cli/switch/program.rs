//! The program of the command line, made ready for the server: P4 source as one text with its P4Info, or BMv2 JSON.

use std::fs;
use std::path::{Path, PathBuf};

use p4front::source::SourceMap;
use p4runtime::p4::v1::ForwardingPipelineConfig;

use super::super::fault::{Context, Fault, Status};
use super::super::terminal::{self, Terminal};

/// Includes within includes.
const DEEPEST: usize = 64;
/// What the switch has built in.
const BUILT_IN: [&str; 2] = ["core.p4", "v1model.p4"];

/// A program, read and not yet run.
pub(super) enum Start {
    /// Source, with its P4Info.
    Source(Box<ForwardingPipelineConfig>),
    /// BMv2 JSON.
    Json(String),
}

/// Reads a program; what is wrong with a source is shown.
///
/// # Errors
/// A file that cannot be read or does not compile.
pub(super) fn read(path: &str, terminal: &Terminal) -> Result<Start, Fault> {
    let text = terminal::read(path)?;
    if text.trim_start().starts_with('{') {
        return Ok(Start::Json(text));
    }
    let mut map = SourceMap::new();
    let main = map.add(path, text.as_str()).input(path)?;
    let found = p4front::compile(&mut map, main, &p4front::Options::default());
    let compiled = found.map_err(|found| {
        terminal.note(found.render(&map).trim_end());
        Fault::shown(Status::Input)
    })?;
    let text = with_includes(&text, Path::new(path), DEEPEST)?;
    Ok(Start::Source(Box::new(ForwardingPipelineConfig {
        p4info: Some(switchd::p4info::message(&compiled.p4info)),
        p4_device_config: text.into_bytes(),
        cookie: None,
    })))
}

/// The text with included files in their places: a program that is handed over travels alone. Only files beside the one that
/// includes them are put in; guards and conditions work as before, for nothing else is changed.
fn with_includes(text: &str, path: &Path, depth: usize) -> Result<String, Fault> {
    if depth == 0 {
        return Err(Fault::input(format!(
            "{}: includes lead in a circle",
            path.display()
        )));
    }
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        match included(line, path) {
            Some(file) => {
                let inner = fs::read_to_string(&file).input(file.display())?;
                whole.push_str(&with_includes(&inner, &file, depth - 1)?);
            }
            None => whole.push_str(line),
        }
        whole.push('\n');
    }
    Ok(whole)
}

/// The file that a line includes, if it is not built in and is there.
fn included(line: &str, from: &Path) -> Option<PathBuf> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("include")?.trim();
    let name = rest
        .strip_prefix('"')
        .and_then(|rest| rest.split_once('"'))
        .or_else(|| rest.strip_prefix('<').and_then(|rest| rest.split_once('>')))?
        .0;
    let file = from.parent().unwrap_or(Path::new("")).join(name);
    (!BUILT_IN.contains(&name) && file.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_are_put_in_and_circles_end() {
        let folder = tempfile::tempdir().expect("folder");
        let file = |name: &str| folder.path().join(name);
        fs::write(file("inner.p4"), "INNER\n").expect("written");
        fs::write(
            file("outer.p4"),
            "#include \"inner.p4\"\n#include <core.p4>\nOUTER\n",
        )
        .expect("written");
        let text = "  # include \"outer.p4\"\nEND\n";
        let whole = with_includes(text, &file("main.p4"), DEEPEST).expect("whole");
        assert_eq!(
            whole.replace("\n\n", "\n"),
            "INNER\n#include <core.p4>\nOUTER\nEND\n"
        );
        fs::write(file("self.p4"), "#include \"self.p4\"\n").expect("written");
        assert!(with_includes("#include \"self.p4\"\n", &file("main.p4"), DEEPEST).is_err());
    }
}

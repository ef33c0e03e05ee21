//! The program of the command line, made ready for the server: P4 source as one text with its
//! P4Info, or BMv2 JSON.

use p4front::source::SourceMap;
use p4runtime::p4::v1::ForwardingPipelineConfig;

use super::super::fault::{Context, Fault, Status};
use super::super::terminal::{self, Terminal};

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
    if bmv2json::is_json(&text) {
        return Ok(Start::Json(text));
    }
    let mut map = SourceMap::new();
    let main = map.add(path, text.as_str()).input(path)?;
    let options = p4front::Options::on_disk();
    let found = p4front::compile(&mut map, main, &options).and_then(|compiled| {
        // A program that is handed over travels alone.
        let text = p4front::pp::one_text(&mut map, main, &options)?;
        Ok((compiled, text))
    });
    let (compiled, text) = found.map_err(|found| {
        terminal.note(found.render_coloured(&map).trim_end());
        Fault::shown(Status::Input)
    })?;
    Ok(Start::Source(Box::new(ForwardingPipelineConfig {
        p4info: Some(compiled.p4info),
        p4_device_config: text.into_bytes(),
        cookie: None,
    })))
}

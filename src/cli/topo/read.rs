//! A network, whatever it is described by.

use std::path::Path;

use p4gen::build::{BuildDirectory, MANIFEST};
use topology::Topology;
use topology::import::{self, ImportOptions};

use super::super::fault::{Context, Fault, chain};
use super::super::plan_file::load_built;
use super::super::{folder, terminal};

/// Reads the network of a topology file, a plan, a build directory, a file of another tool, or a
/// folder of SONiC configurations and LLDP tables; `-` is standard input.
///
/// # Errors
/// What cannot be read, or describes no network.
pub(in crate::cli) fn network(path: &str) -> Result<Topology, Fault> {
    let place = Path::new(path);
    if place.is_dir() && place.join(MANIFEST).exists() {
        let directory = BuildDirectory::open(place).input(path)?;
        return Ok(load_built(&directory)?.topology);
    }
    let name = place.file_stem();
    let options = ImportOptions {
        name: name
            .map_or_else(|| "imported".into(), |stem| stem.to_string_lossy())
            .into_owned(),
        ..ImportOptions::default()
    };
    let refuse = |error: import::ImportError| Fault::input(format!("{path}: {}", chain(&error)));
    if place.is_dir() {
        let files = folder::json_files(path)?;
        return Ok(import::import_fabric(&files, &options)
            .map_err(refuse)?
            .topology);
    }
    let text = terminal::read(path)?;
    if is_plan(&text) {
        return Ok(plan::Tables::from_json(&text).input(path)?.topology);
    }
    Ok(import::import(&text, &options).map_err(refuse)?.topology)
}

/// Whether a text is a plan file, by its field `format`.
fn is_plan(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Header {
        format: String,
    }
    let header = text
        .trim_start()
        .starts_with('{')
        .then(|| serde_json::from_str::<Header>(text));
    matches!(header, Some(Ok(header)) if header.format == plan::FORMAT)
}

//! A network, whatever it is described by.

use std::path::Path;

use p4gen::build::{BuildDirectory, MANIFEST};
use topology::Topology;
use topology::import::{self, ImportError, ImportOptions, Imported, NamedText};

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
    let source = Source::read(path)?;
    if let Source::Text(text) = &source
        && is_plan(text)
    {
        return Ok(plan::Tables::from_json(text).input(path)?.topology);
    }
    let options = ImportOptions {
        name: source.name(path),
        ..ImportOptions::default()
    };
    let imported = source.import(&options);
    let imported = imported.map_err(|e| Fault::input(format!("{path}: {}", chain(&e))))?;
    Ok(imported.topology)
}

/// What an importer reads.
pub(super) enum Source {
    /// The JSON files of a folder: SONiC configurations and LLDP tables.
    Folder(Vec<NamedText>),
    /// A file.
    Text(String),
}

impl Source {
    /// Reads a file or a folder; `-` is standard input.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn read(path: &str) -> Result<Self, Fault> {
        match Path::new(path).is_dir() {
            true => folder::json_files(path).map(Self::Folder),
            false => terminal::read(path).map(Self::Text),
        }
    }

    /// The name of the network where the files do not give it: that of the folder, or of the file
    /// without its extension.
    pub(super) fn name(&self, path: &str) -> String {
        let name = match self {
            Self::Folder(_) => Path::new(path).file_name(),
            Self::Text(_) => Path::new(path).file_stem(),
        };
        name.map_or_else(|| "imported".into(), |name| name.to_string_lossy())
            .into_owned()
    }

    /// Imports it, whichever format it has.
    ///
    /// # Errors
    /// As [`import::import`] and [`import::import_fabric`].
    pub(super) fn import(&self, options: &ImportOptions) -> Result<Imported, ImportError> {
        match self {
            Self::Folder(files) => import::import_fabric(files, options),
            Self::Text(text) => import::import(text, options),
        }
    }
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

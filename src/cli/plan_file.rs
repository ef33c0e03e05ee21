//! Plans on disk.

use p4gen::build::BuildDirectory;
use plan::Tables;

use super::fault::{Context, Fault};
use super::terminal;

/// Reads a plan file.
///
/// # Errors
/// A file that cannot be read or is no plan.
pub(super) fn load(path: &str) -> Result<Tables, Fault> {
    Tables::from_json(&terminal::read(path)?).input(path)
}

/// Reads the plan that a build was made from.
///
/// # Errors
/// A plan that is not the one that was built, or is none.
pub(super) fn load_built(directory: &BuildDirectory) -> Result<Tables, Fault> {
    let plan = &directory.manifest().made_from.plan;
    let text = directory.read_text(plan).map_err(Fault::input)?;
    Tables::from_json(&text).input(plan)
}

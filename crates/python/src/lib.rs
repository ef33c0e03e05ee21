//! The extension module `switchwright._engine` of the wheel: the engine that pages ask (crate `playground`), what it leaves to others,
//! and the command. What people use is Python around it, in `python/switchwright/`.
//!
//! The crate is empty without its feature `extension`; see `Cargo.toml`.

#[cfg(feature = "extension")]
mod engine;

#[cfg(feature = "extension")]
#[pyo3::pymodule(name = "_engine")]
mod module {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use pyo3::prelude::*;
    use switchwright::cli::{self, Program};

    #[pymodule_export]
    use crate::engine::Engine;

    /// The version, as `switchwright --version` tells it.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command with its arguments, the program's name first, and returns its exit status. `program` is the file that runs
    /// the command, for commands that start themselves again; None if there is none.
    #[pyfunction]
    #[pyo3(signature = (arguments, program))]
    fn run(py: Python<'_>, arguments: Vec<OsString>, program: Option<PathBuf>) -> u8 {
        let program = program.map_or_else(
            || Program::Missing(MISSING.to_owned()),
            Program::File,
        );
        py.detach(|| cli::run(arguments, Some(program)))
    }

    const MISSING: &str = "this command starts itself again, for which the script `switchwright` of the wheel is needed, and it is not installed";
}

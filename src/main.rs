//! The `switchwright` command; see [`switchwright::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    switchwright::cli::main()
}

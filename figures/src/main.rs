//! The `switchwright-figures` command; see [`figures::command`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(figures::command::run(std::env::args_os().collect()))
}

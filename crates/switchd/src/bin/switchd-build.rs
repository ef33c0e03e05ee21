//! Builds programs for a switch that is embedded in another program; see
//! [`switchd::server::build`]. The command `switchwright` needs none: it starts itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchd::server::build::child::main()
}

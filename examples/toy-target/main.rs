//! A target in one file, to begin a target with: BMv2's switch, filled from a table of entries as
//! comma-separated values.
//!
//! The families write programs for the target's architecture, so a target is what it can do and the
//! files that it takes. CONTRIBUTING.md says which files a target of the command has beside this.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fmt::Write as _;
use std::sync::LazyLock;

use p4gen::build::{BuildOptions, build_files};
use p4gen::capabilities::Capabilities;
use p4gen::entries::SwitchEntries;
use p4gen::program::Program;
use p4gen::program::p4info::P4InfoError;
use p4gen::targets::{Build, BuiltSwitch, File, SwitchFiles, Target, TargetError, V1MODEL};
use p4runtime::p4::config::v1::P4Info;
use plan::check::{Options, check};
use schemes::{TaggerOptions, tagger};
use topology::generate::{Cables, Clos};

/// The target.
struct Toy;

/// What it can do: what BMv2 can.
static CAPABILITIES: LazyLock<Capabilities> = LazyLock::new(|| Capabilities {
    target: "toy",
    what: "a switch that reads entries from a table",
    build: "toy",
    ..*V1MODEL.capabilities()
});

impl Target for Toy {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn p4info(&self, program: &Program) -> Result<P4Info, P4InfoError> {
        V1MODEL.p4info(program)
    }

    fn switch_files(
        &self,
        _: &Build<'_>,
        files: &SwitchFiles,
        entries: &SwitchEntries,
    ) -> Result<Vec<File>, TargetError> {
        let mut text = "table,priority\n".to_owned();
        for entry in &entries.tables {
            let _ = writeln!(text, "{},{}", entry.table, entry.priority.unwrap_or(0));
        }
        Ok(vec![File {
            path: format!("{}/entries.csv", files.directory),
            bytes: text.into_bytes(),
        }])
    }

    fn extra_files(&self, _: &Build<'_>, _: &[BuiltSwitch]) -> Result<Vec<File>, TargetError> {
        Ok(vec![])
    }

    fn commands(&self, build: &Build<'_>, _: &[BuiltSwitch]) -> String {
        format!("toy-switch --program {}", build.files.main)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let clos = Clos {
        leaves: 2,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables: Cables::default(),
    };
    let tables = tagger(&clos.generate()?, &TaggerOptions::default())?;
    let plan = check(tables, &Options::default())?;
    let (_, files) = build_files(&plan, &Toy, &BuildOptions::default(), &|_| {})?;
    for path in files.keys().filter(|path| path.ends_with(".csv")) {
        println!("{path}");
    }
    Ok(())
}

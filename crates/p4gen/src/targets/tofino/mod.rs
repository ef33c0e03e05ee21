//! Tofino 1 and 2: every switch's entries for BF Runtime, with a loader. Tables have the size that
//! the plan needs, for they take stages.

use p4runtime::p4::config::v1::P4Info;

use super::{Build, BuiltSwitch, File, SwitchFiles, Target, TargetError};
use crate::capabilities::{Api, Architecture, Atomicity, Capabilities, Pipeline};
use crate::entries::{SwitchEntries, bfrt};
use crate::layout::{self, table};
use crate::program::Program;
use crate::program::p4info::{self, P4InfoError};

/// A chip with its vendor's compiler.
pub struct Tofino {
    /// What it can do.
    pub capabilities: Capabilities,
}

/// Tofino 1.
pub static TNA: Tofino = Tofino {
    capabilities: TOFINO,
};

/// Tofino 2.
pub static TNA2: Tofino = Tofino {
    capabilities: Capabilities {
        target: "tna2",
        what: "Tofino 2",
        build: "tna2",
        include: "t2na",
        pipeline: Some(Pipeline {
            stages: 20,
            edge_spread: 1,
            generator_port: 6,
            has_clots: true,
            chip: "tofino2",
            ..PIPELINE
        }),
        ..TOFINO
    },
};

/// Ports are 9 bits and 511 is none. The program compares a port's bitmap with zero, and a
/// condition sees four bytes and twelve bits at most: its compiler takes bitmaps of 33 bits and
/// refuses 65.
const TOFINO: Capabilities = Capabilities {
    target: "tna",
    what: "Tofino 1",
    build: "tna",
    architecture: Architecture::Tofino,
    include: "tna",
    api: Api::BfRuntime,
    priorities: 8,
    ingress_priority: true,
    pfc: true,
    highest_port: 510,
    bitmap_bits: 33,
    status_bits: layout::STATUS_BITS_MAX,
    // With both routes and a choice of routings the compiler finds room for 16, and hardly for
    // more.
    route_hops: 16,
    match_kinds: &["exact", "lpm", "ternary", "range"],
    pipeline: Some(PIPELINE),
    maps: None,
    atomicity: Atomicity::RollbackOnError,
    registers: true,
    value_sets: true,
    restrictions: &[
        "The traffic manager has to map ingress_cos to priority groups and qid to queues one to one, with PFC on the \
         lossless ones: that is port configuration, and no part of the program.",
    ],
};

const PIPELINE: Pipeline = Pipeline {
    stages: 12,
    logical_tables: 16,
    tcam_blocks: 24,
    tcam_rows: 512,
    tcam_bits: 44,
    crossbar_bytes: 66,
    sram_blocks: 80,
    sram_rows: 1024,
    sram_bits: 128,
    edge_spread: 0,
    generator_port: 68,
    has_clots: false,
    chip: "tofino",
};

/// The loader for bfrt_python, and its name in the build directory.
const LOADER: (&str, &str) = ("bfrt_load.py", include_str!("bfrt_load.py"));
/// What feeds the port status of a program that has one, and its name.
const PORTS: (&str, &str) = ("bfrt_ports.py", include_str!("bfrt_ports.py"));

impl Target for Tofino {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn p4info(&self, program: &Program) -> Result<P4Info, P4InfoError> {
        Ok(p4info::of_layout(&program.layout))
    }

    fn switch_files(
        &self,
        build: &Build<'_>,
        files: &SwitchFiles,
        entries: &SwitchEntries,
    ) -> Result<Vec<File>, TargetError> {
        let text = bfrt::write(entries, build.index, build.program.name())?;
        Ok(vec![File::new(files.bfrt_json(), text)])
    }

    fn extra_files(
        &self,
        build: &Build<'_>,
        _switches: &[BuiltSwitch],
    ) -> Result<Vec<File>, TargetError> {
        let scripts = scripts(build.program);
        Ok(scripts.map(|(name, text)| File::new(name, text)).collect())
    }

    /// How the program is compiled, and the first switch loaded.
    fn commands(&self, build: &Build<'_>, switches: &[BuiltSwitch]) -> String {
        let chip = self.capabilities.pipeline.map_or("", |p| p.chip);
        let arch = self.capabilities.include;
        let name = build.program.name();
        let mut text = format!(
            "p4c --target {chip} --arch {arch} --bf-rt-schema {name}.tofino/bfrt.json -o {name}.tofino {}",
            build.files.main
        );
        for (script, _) in scripts(build.program) {
            if let Some(switch) = switches.first() {
                let entries = switch.files.bfrt_json();
                text += &format!("\nSWITCHWRIGHT_BFRT=$PWD/{entries} bfshell -b $PWD/{script}");
            }
        }
        text
    }
}

/// The scripts that fill a switch.
fn scripts(program: &Program) -> impl Iterator<Item = (&'static str, &'static str)> {
    let has_status = program.layout.table(table::PORT_DOWN).is_some();
    [LOADER].into_iter().chain(has_status.then_some(PORTS))
}

#[cfg(test)]
mod tests;

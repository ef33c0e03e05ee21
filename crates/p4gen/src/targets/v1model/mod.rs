//! v1model: BMv2's `simple_switch`, and the embedded switch. Entries in the formats that are asked
//! for, and what Mininet needs around some of them.

mod mininet;

use p4runtime::p4::config::v1::P4Info;
use plan::failover::MAX_HOPS;

use super::{Build, BuiltSwitch, File, Format, SwitchFiles, Target, TargetError};
use crate::capabilities::{Api, Architecture, Atomicity, Capabilities};
use crate::entries::{SwitchEntries, commands, runtime_json, write_request};
use crate::hosts::Reach;
use crate::layout;
use crate::program::Program;
use crate::program::p4info::{self, P4InfoError};

/// A switch that runs v1model programs.
pub struct V1model {
    /// What it can do.
    pub capabilities: Capabilities,
}

/// BMv2's `simple_switch`. Ports are 9 bits and 511 means "drop"; `standard_metadata.priority` has
/// 3 bits.
pub static V1MODEL: V1model = V1model { capabilities: BMV2 };

/// The embedded switch: v1model with what BMv2 lacks.
pub static EMBEDDED: V1model = V1model {
    capabilities: Capabilities {
        target: "embedded",
        what: "Switchwright's own switch (`switchwright switch`)",
        ingress_priority: true,
        pfc: true,
        atomicity: Atomicity::DataplaneAtomic,
        registers: true,
        value_sets: true,
        restrictions: &[],
        ..BMV2
    },
};

const BMV2: Capabilities = Capabilities {
    target: "v1model",
    what: "BMv2's simple_switch and simple_switch_grpc",
    build: "v1model",
    architecture: Architecture::V1model,
    include: "v1model",
    api: Api::P4Runtime,
    priorities: 1 << layout::PRIORITY_BITS,
    ingress_priority: false,
    pfc: false,
    highest_port: 510,
    bitmap_bits: layout::BITMAP_BITS_MAX,
    status_bits: 128,
    route_hops: MAX_HOPS as u8,
    match_kinds: &["exact", "lpm", "ternary", "range", "optional"],
    pipeline: None,
    maps: None,
    atomicity: Atomicity::ContinueOnError,
    registers: false,
    value_sets: false,
    restrictions: &[
        "BMv2 has one priority a packet, that of the queue it waits in: the priority of the arriving tag is computed \
         and counted, and no queue is accounted by it.",
        "BMv2 neither sends nor obeys PFC: it writes the right tags, but lossless packets may be dropped.",
    ],
};

impl Target for V1model {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn p4info(&self, program: &Program) -> Result<P4Info, P4InfoError> {
        p4info::of(program)
    }

    fn switch_files(
        &self,
        build: &Build<'_>,
        files: &SwitchFiles,
        entries: &SwitchEntries,
    ) -> Result<Vec<File>, TargetError> {
        let formats = build.formats;
        let mut written = Vec::new();
        if formats.has(Format::Txtpb) {
            let request = write_request::write_text(entries, build.index)?;
            written.push(File::new(files.entries_txtpb(), request));
        }
        if formats.has(Format::Binpb) {
            let request = write_request::write_binary(entries, build.index)?;
            written.push(File::new(files.entries_binpb(), request));
        }
        if formats.has(Format::Tutorials) {
            let program = runtime_json::ProgramFiles {
                p4info: build.files.p4info.clone(),
                bmv2_json: bmv2_json(build),
            };
            let runtime = runtime_json::write(entries, build.index, &program)?;
            written.push(File::new(files.runtime_json(), runtime));
        }
        if formats.has_commands() {
            let commands = commands::write(entries, build.index)?;
            written.push(File::new(files.commands_txt(), commands));
        }
        Ok(written)
    }

    fn extra_files(
        &self,
        build: &Build<'_>,
        switches: &[BuiltSwitch],
    ) -> Result<Vec<File>, TargetError> {
        let queues = self.capabilities.priorities;
        let (topology, source) = (build.plan.topology(), &build.files.main);
        let features = build.program.features;
        let reach = Reach::of(&features);
        let mut written = Vec::new();
        if build.formats.has(Format::Tutorials) {
            let carrier = features.carrier_bytes();
            let network = mininet::topology_json(topology, queues, carrier, reach, switches)?;
            let makefile = mininet::makefile(source, &bmv2_json(build));
            written.push(File::new("topology.json", network));
            written.push(File::new("Makefile", makefile));
        }
        if build.formats.has(Format::P4Utils) {
            let p4app = mininet::p4app_json(topology, queues, source, switches)?;
            written.push(File::new(format!("{}/p4app.json", mininet::P4UTILS), p4app));
        }
        Ok(written)
    }

    fn commands(&self, build: &Build<'_>, _switches: &[BuiltSwitch]) -> String {
        format!(
            "p4c-bm2-ss --std p4-16 -o {} {}\nsimple_switch_grpc --no-p4 -- --priority-queues {}",
            bmv2_json(build),
            build.files.main,
            self.capabilities.priorities
        )
    }
}

/// Where the program's BMv2 JSON is once it is compiled.
fn bmv2_json(build: &Build<'_>) -> String {
    format!("p4/{}.json", build.program.name())
}

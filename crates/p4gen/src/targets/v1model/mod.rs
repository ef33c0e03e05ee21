//! v1model: BMv2's `simple_switch`, and the embedded switch. Entries in three formats, and what Mininet needs around them.

mod mininet;

use p4runtime::p4::config::v1::P4Info;
use plan::failover::MAX_HOPS;

use super::{Build, BuiltSwitch, File, SwitchFiles, Target, TargetError};
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

/// BMv2's `simple_switch`. Ports are 9 bits and 511 means "drop"; `standard_metadata.priority` has 3 bits.
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
        "BMv2 neither sends nor obeys PFC: tags are right, losslessness is not to be had.",
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
        let program = runtime_json::ProgramFiles {
            p4info: build.files.p4info.clone(),
            bmv2_json: bmv2_json(build),
        };
        let request = write_request::write_text(entries, build.index)?;
        let runtime = runtime_json::write(entries, build.index, &program)?;
        let commands = commands::write(entries, build.index)?;
        Ok(vec![
            File::new(files.entries_txtpb(), request),
            File::new(files.runtime_json(), runtime),
            File::new(files.commands_txt(), commands),
        ])
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
        let files =
            mininet::topology_json(topology, queues, features.carrier_bytes(), reach, switches)?;
        let p4app = mininet::p4app_json(topology, queues, source, switches)?;
        Ok(vec![
            File::new("topology.json", files),
            File::new("Makefile", mininet::makefile(source, &bmv2_json(build))),
            File::new(format!("{}/p4app.json", mininet::P4UTILS), p4app),
        ])
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

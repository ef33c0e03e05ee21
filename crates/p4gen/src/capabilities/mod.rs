//! What a target can do, as data; and what it refuses, with the way out.
//!
//! Limits of the language and the switch stand here; limits of a table (how many entries) are the
//! program's own and stand in its [`Layout`].

mod pipeline;

use std::cmp::Reverse;
use std::fmt;

use p4runtime::p4::v1::write_request;
use plan::CheckedPlan;
use serde::Serialize;
use thiserror::Error;
use topology::SwitchId;

pub(crate) use pipeline::EXACT_OVERHEAD;
pub use pipeline::{Estimate, Ingress, Step, StepEstimate, TableMemory};

use crate::layout::Layout;

/// What a target can do. `build`, `push`, `conform` and `targets` read the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// The target's name.
    pub target: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What `build --target` is called with to get its program.
    pub build: &'static str,
    /// The kind of architecture that its programs are written for.
    #[serde(skip)]
    pub architecture: Architecture,
    /// The file that declares the architecture, without `.p4`.
    #[serde(skip)]
    pub include: &'static str,
    /// How its tables are filled.
    pub api: Api,
    /// Number of priorities, the lossy one included.
    pub priorities: u16,
    /// Whether the arriving priority decides which queue is accounted, apart from the queue that a
    /// packet waits in.
    pub ingress_priority: bool,
    /// Whether it sends and obeys PFC.
    pub pfc: bool,
    /// The highest number that a port may have.
    pub highest_port: u16,
    /// The widest one-hot bitmap of ports, in bits.
    pub bitmap_bits: u16,
    /// The most ports that the port status of a failover program stands for: ports 0 to one less.
    pub status_bits: u16,
    /// The most hops that a route in a header may have.
    pub route_hops: u8,
    /// How tables match.
    pub match_kinds: &'static [&'static str],
    /// The hardware's pipeline; a program in software has none.
    pub pipeline: Option<Pipeline>,
    /// What it has for maps between DSCP, traffic class, priority group and queue, where those say
    /// what becomes of tags.
    pub maps: Option<&'static sonic::Platform>,
    /// The strongest promise about a batch of writes.
    pub atomicity: Atomicity,
    /// Whether registers are read and written over its API.
    pub registers: bool,
    /// Whether parser value sets are written over its API.
    pub value_sets: bool,
    /// What the program of this target does not get done, for the report.
    pub restrictions: &'static [&'static str],
}

/// The kinds of P4 architecture: a family has one text for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// BMv2's, and the embedded switch's.
    V1model,
    /// Tofino 1's and 2's: `tna` and `t2na`.
    Tofino,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::V1model, Self::Tofino];
}

/// How a target's tables are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Api {
    /// P4Runtime.
    #[serde(rename = "P4Runtime")]
    P4Runtime,
    /// Intel's BF Runtime.
    #[serde(rename = "BF Runtime")]
    BfRuntime,
}

impl Api {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P4Runtime => "P4Runtime",
            Self::BfRuntime => "BF Runtime",
        }
    }
}

/// What a target promises about a batch of writes, weakest first (P4Runtime 1.5, section 12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Atomicity {
    /// Every update for itself.
    ContinueOnError,
    /// All or nothing, and packets may see a mixture meanwhile.
    RollbackOnError,
    /// All or nothing, and no packet sees a mixture.
    DataplaneAtomic,
}

impl Atomicity {
    /// P4Runtime's word for it.
    #[must_use]
    pub const fn message(self) -> write_request::Atomicity {
        match self {
            Self::ContinueOnError => write_request::Atomicity::ContinueOnError,
            Self::RollbackOnError => write_request::Atomicity::RollbackOnError,
            Self::DataplaneAtomic => write_request::Atomicity::DataplaneAtomic,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContinueOnError => "continue-on-error",
            Self::RollbackOnError => "rollback-on-error",
            Self::DataplaneAtomic => "dataplane-atomic",
        }
    }
}

/// A pipeline of match-action stages, with the memory of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pipeline {
    /// Stages.
    pub stages: u16,
    /// Tables that a stage can begin, gateways included.
    pub logical_tables: u16,
    /// TCAM blocks of a stage.
    pub tcam_blocks: u16,
    /// Rows of a TCAM block.
    pub tcam_rows: u16,
    /// Bits of a row.
    pub tcam_bits: u16,
    /// Bytes of a packet's header vector that a stage brings to its TCAM.
    pub crossbar_bytes: u16,
    /// SRAM blocks of a stage.
    pub sram_blocks: u16,
    /// Rows of an SRAM block.
    pub sram_rows: u16,
    /// Bits of a row.
    pub sram_bits: u16,
    /// Stages by which the compiler spreads a program that puts carriers on further than its tables
    /// need (measured).
    pub edge_spread: u16,
    /// The port of every pipe from which its packet generator sends.
    #[serde(skip)]
    pub generator_port: u16,
    /// Whether bytes may pass the pipeline by, in buffers of their own (CLOTs).
    #[serde(skip)]
    pub has_clots: bool,
    /// What the vendor's compiler calls the chip.
    #[serde(skip)]
    pub chip: &'static str,
}

/// Something that the plan needs and the target does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Refusal {
    /// The target.
    pub target: &'static str,
    /// The resource, as a plural: `priorities`, `entries of table ingress.classify`.
    pub resource: String,
    /// The switch that needs most, if it is about one.
    pub switch: Option<String>,
    /// How much the plan needs.
    pub need: u64,
    /// How much there is.
    pub limit: u64,
    /// What to change.
    pub mend: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.switch.as_deref().map(|s| format!("switch `{s}`"));
        write!(
            f,
            "target {} cannot carry this plan: {} needs {} {}, the target has {}; {}",
            self.target,
            who.as_deref().unwrap_or("it"),
            self.need,
            self.resource,
            self.limit,
            self.mend
        )
    }
}

/// What a program family needs of a target for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Of what.
    pub resource: Resource,
    /// How much.
    pub need: u64,
    /// What to change where a target has less.
    pub mend: &'static str,
}

/// What targets have more or less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Bits of the one-hot bitmap of ports.
    BitmapBits,
    /// Bits of the port status.
    StatusBits,
    /// Hops of a route in the header.
    RouteHops,
}

impl Resource {
    /// Its name, as a plural.
    const fn name(self) -> &'static str {
        match self {
            Self::BitmapBits => "bits of port bitmap (one per port, and bit 0)",
            Self::StatusBits => "bits of port status (one per port, and bit 0)",
            Self::RouteHops => "hops of a route in the header",
        }
    }
}

impl Capabilities {
    /// Everything that a plan needs and this target does not have, as far as entries do not matter:
    /// `demands` are those of the plan's program family.
    #[must_use]
    pub fn refusals(&self, plan: &CheckedPlan, demands: &[Demand]) -> Vec<Refusal> {
        let demanded = demands.iter().filter_map(|demand| {
            let limit = self.limit(demand.resource);
            let name = demand.resource.name();
            (demand.need > limit).then(|| self.refusal(name, demand.need, limit, demand.mend))
        });
        let common = [self.priorities_of(plan), self.ports_of(plan)];
        common.into_iter().flatten().chain(demanded).collect()
    }

    fn limit(&self, resource: Resource) -> u64 {
        match resource {
            Resource::BitmapBits => self.bitmap_bits.into(),
            Resource::StatusBits => self.status_bits.into(),
            Resource::RouteHops => self.route_hops.into(),
        }
    }

    fn refusal(&self, resource: &str, need: u64, limit: u64, mend: &'static str) -> Refusal {
        Refusal {
            target: self.target,
            resource: resource.to_owned(),
            switch: None,
            need,
            limit,
            mend,
        }
    }

    fn priorities_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let highest = plan.tagging().priorities.values().max()?.get();
        let need = u64::from(highest) + 1;
        let limit = u64::from(self.priorities);
        (need > limit).then(|| {
            self.refusal(
                "priorities",
                need,
                limit,
                "plan with fewer bounces or classes",
            )
        })
    }

    fn ports_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let topology = plan.topology();
        let (port, switch) = topology
            .switch_ids()
            .filter_map(|s| Some((topology.peers(s).last()?.0, s)))
            .min_by_key(|(port, _)| Reverse(*port))?;
        (port.get() > self.highest_port).then(|| Refusal {
            switch: Some(topology.switch(switch).name.clone()),
            ..self.refusal(
                "port numbers",
                u64::from(port.get()),
                u64::from(self.highest_port),
                "number its ports from 1, or split the switch",
            )
        })
    }

    /// What the pipeline lacks for a program.
    #[must_use]
    pub fn pipeline_refusals(&self, estimate: &Estimate) -> Vec<Refusal> {
        let Some(pipeline) = &self.pipeline else {
            return Vec::new();
        };
        let blocks = u64::from(pipeline.tcam_blocks) * u64::from(pipeline.stages);
        let mend = estimate.largest_step().map_or("", |step| step.mend);
        [
            ("TCAM blocks", estimate.tcam_blocks, blocks),
            ("stages", estimate.stages, pipeline.stages.into()),
        ]
        .into_iter()
        .filter(|(_, need, limit)| need > limit)
        .map(|(resource, need, limit)| self.refusal(resource, need, limit, mend))
        .collect()
    }

    /// What a table of a switch lacks for its entries; `mend` says how to need fewer.
    #[must_use]
    pub fn table_refusal(
        &self,
        plan: &CheckedPlan,
        switch: SwitchId,
        layout: &Layout,
        (table, entries): (&str, u64),
        mend: &'static str,
    ) -> Option<Refusal> {
        let size = u64::from(layout.table(table)?.size);
        (entries > size).then(|| Refusal {
            switch: Some(plan.topology().switch(switch).name.clone()),
            ..self.refusal(&format!("entries of table {table}"), entries, size, mend)
        })
    }

    /// What the action selector of a switch lacks for its members.
    #[must_use]
    pub fn selector_refusal(
        &self,
        plan: &CheckedPlan,
        switch: SwitchId,
        layout: &Layout,
        members: u64,
    ) -> Option<Refusal> {
        let limit = u64::from(layout.selector_size);
        (members > limit).then(|| Refusal {
            switch: Some(plan.topology().switch(switch).name.clone()),
            ..self.refusal(
                "members of ECMP groups",
                members,
                limit,
                "plan with fewer equal-cost paths",
            )
        })
    }
}

//! What a target can do, as data; and what it refuses, with the way out.
//!
//! Limits of the language and the switch stand here; limits of a table (how many entries) are the
//! program's own and stand in its [`Layout`].

use std::cmp::Reverse;
use std::fmt;

use p4runtime::p4::v1::write_request;
use plan::failover::MOST_HOPS;
use plan::{CheckedPlan, RuleForm};
use serde::Serialize;
use thiserror::Error;
use topology::SwitchId;

use super::tofino::Estimate;
use crate::layout::{self, FailoverFeatures, Layout};

/// What a target can do. `build`, `push`, `conform` and `targets` read the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// The target's name.
    pub target: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What `build --target` is called with to get its program.
    pub build: &'static str,
    /// How its tables are filled.
    pub api: Api,
    /// Number of priorities, the lossy one included.
    pub priorities: u16,
    /// Whether the arriving priority decides which queue is accounted, apart from the queue that a packet waits in.
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
    /// The strongest promise about a batch of writes.
    pub atomicity: Atomicity,
    /// Whether registers are read and written over its API.
    pub registers: bool,
    /// Whether parser value sets are written over its API.
    pub value_sets: bool,
    /// What the program of this target does not get done, for the report.
    pub restrictions: &'static [&'static str],
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
    /// Stages by which the compiler spreads a program that puts carriers on further than its tables need (measured).
    pub edge_spread: u16,
}

const TOFINO: Pipeline = Pipeline {
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
};

/// BMv2's `simple_switch`. Ports are 9 bits and 511 means "drop"; `standard_metadata.priority` has 3 bits.
pub const V1MODEL: Capabilities = Capabilities {
    target: "v1model",
    what: "BMv2's simple_switch and simple_switch_grpc",
    build: "v1model",
    api: Api::P4Runtime,
    priorities: 1 << layout::PRIORITY_BITS,
    ingress_priority: false,
    pfc: false,
    highest_port: 510,
    bitmap_bits: layout::BITMAP_BITS_MAX,
    status_bits: 128,
    route_hops: MOST_HOPS as u8,
    match_kinds: &["exact", "lpm", "ternary", "range", "optional"],
    pipeline: None,
    atomicity: Atomicity::ContinueOnError,
    registers: false,
    value_sets: false,
    restrictions: &[
        "BMv2 has one priority a packet, that of the queue it waits in: the priority of the arriving tag is computed \
         and counted, and no queue is accounted by it.",
        "BMv2 neither sends nor obeys PFC: tags are right, losslessness is not to be had.",
    ],
};

/// The embedded switch: v1model with what BMv2 lacks.
pub const EMBEDDED: Capabilities = Capabilities {
    target: "embedded",
    what: "Switchwright's own switch (`switchwright switch`)",
    ingress_priority: true,
    pfc: true,
    atomicity: Atomicity::DataplaneAtomic,
    registers: true,
    value_sets: true,
    restrictions: &[],
    ..V1MODEL
};

/// Tofino 1. Ports are 9 bits and 511 is none. The program compares a port's bitmap with zero, and a condition sees four
/// bytes and twelve bits at most: its compiler takes bitmaps of 33 bits and refuses 65.
pub const TNA: Capabilities = Capabilities {
    target: "tna",
    what: "Tofino 1",
    build: "tna",
    api: Api::BfRuntime,
    priorities: 8,
    ingress_priority: true,
    pfc: true,
    highest_port: 510,
    bitmap_bits: 33,
    status_bits: layout::tofino::STATUS_BITS_MAX,
    // With both routes and a choice of routings the compiler finds room for 16, and hardly for more.
    route_hops: 16,
    match_kinds: &["exact", "lpm", "ternary", "range"],
    pipeline: Some(TOFINO),
    atomicity: Atomicity::RollbackOnError,
    registers: true,
    value_sets: true,
    restrictions: &[
        "The traffic manager has to map ingress_cos to priority groups and qid to queues one to one, with PFC on the \
         lossless ones: that is port configuration, and no part of the program.",
    ],
};

/// Tofino 2.
pub const TNA2: Capabilities = Capabilities {
    target: "tna2",
    what: "Tofino 2",
    build: "tna2",
    pipeline: Some(Pipeline {
        stages: 20,
        edge_spread: 1,
        ..TOFINO
    }),
    ..TNA
};

/// Every target, as `targets` prints them.
pub const ALL: [&Capabilities; 4] = [&V1MODEL, &EMBEDDED, &TNA, &TNA2];

/// The target of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Capabilities> {
    ALL.into_iter().find(|target| target.target == name)
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

impl Capabilities {
    /// Everything that a plan needs and this target does not have, as far as entries do not matter.
    #[must_use]
    pub fn refusals(&self, plan: &CheckedPlan) -> Vec<Refusal> {
        [
            self.priorities_of(plan),
            self.ports_of(plan),
            self.bitmap_of(plan),
            self.status_of(plan),
            self.hops_of(plan),
        ]
        .into_iter()
        .flatten()
        .collect()
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

    fn bitmap_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let bits = plan.tables().port_bitmap_bits();
        let matched = plan.tagging().form == RuleForm::PortSets && plan.tables().failover.is_none();
        let wide = matched && bits > self.bitmap_bits;
        wide.then(|| {
            self.refusal(
                "bits of port bitmap (one per port, and bit 0)",
                u64::from(bits),
                u64::from(self.bitmap_bits),
                "plan with rules for exact ports instead of port sets",
            )
        })
    }

    fn status_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let need = plan.tables().port_bitmap_bits();
        let wide = plan.tables().failover.is_some() && need > self.status_bits;
        wide.then(|| {
            self.refusal(
                "bits of port status (one per port, and bit 0)",
                u64::from(need),
                u64::from(self.status_bits),
                "number the ports of every switch from 1, or split the switch",
            )
        })
    }

    fn hops_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let features = FailoverFeatures::of(plan)?;
        (features.has_routes() && features.stack > self.route_hops).then(|| {
            self.refusal(
                "hops of a route in the header",
                features.stack.into(),
                self.route_hops.into(),
                "plan with a smaller --stack",
            )
        })
    }

    /// What the pipeline lacks for a program.
    #[must_use]
    pub fn pipeline_refusals(&self, estimate: &Estimate) -> Vec<Refusal> {
        let Some(pipeline) = &self.pipeline else {
            return Vec::new();
        };
        let mut refusals = Vec::new();
        let blocks = u64::from(pipeline.tcam_blocks) * u64::from(pipeline.stages);
        let largest = estimate.largest_step();
        if estimate.tcam_blocks > blocks {
            refusals.push(self.refusal(
                "TCAM blocks",
                estimate.tcam_blocks,
                blocks,
                mend_of(largest),
            ));
        }
        if estimate.stages > u64::from(pipeline.stages) {
            refusals.push(self.refusal(
                "stages",
                estimate.stages,
                pipeline.stages.into(),
                mend_of(largest),
            ));
        }
        refusals
    }

    /// What a table of a switch lacks for its entries.
    #[must_use]
    pub fn table_refusal(
        &self,
        plan: &CheckedPlan,
        switch: SwitchId,
        layout: &Layout,
        table: &str,
        entries: u64,
    ) -> Option<Refusal> {
        let size = u64::from(layout.table(table)?.size);
        (entries > size).then(|| Refusal {
            switch: Some(plan.topology().switch(switch).name.clone()),
            ..self.refusal(
                &format!("entries of table {table}"),
                entries,
                size,
                match table {
                    layout::table::CLASSIFY | layout::table::REWRITE => {
                        "plan with port sets, which take far fewer rules than exact ports"
                    }
                    layout::table::RES_FORWARD => RULES_MEND,
                    layout::table::ENCAP | layout::table::NEIGHBOR | layout::table::LOCAL_HOST => {
                        "split the network: a switch knows every host"
                    }
                    _ => "address the hosts of one switch from one prefix, so that routes merge",
                },
            )
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

/// How to need less of what a step of the pipeline takes most of.
fn mend_of(step: &str) -> &'static str {
    match step {
        super::tofino::TAGS => {
            "plan with fewer or narrower tag rules: exact ports for wide switches, fewer bounces or classes"
        }
        super::tofino::RULES => RULES_MEND,
        super::tofino::ROUTES => {
            "address the hosts of one switch from one prefix, so that routes merge"
        }
        _ => "split the network: a switch knows every host",
    }
}

/// How to need fewer failover rules.
const RULES_MEND: &str =
    "plan with --compress, --multipath or less resilience, which takes fewer rules";

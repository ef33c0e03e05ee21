//! `report.json` and `report.html`: what was proven, how tags travel, what every switch holds, and
//! what its lossless priorities cost.

use plan::{CarrierKind, CheckReport, CheckedPlan, Provenance};
use serde::Serialize;

use crate::capabilities::{Capabilities, Estimate};
use crate::family::failover::FailoverReport;
use crate::family::summary::SwitchReport;
use crate::family::tagger::{ClassReport, RulesReport, TagReport};

/// `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildReport {
    /// The target.
    pub target: String,
    /// The program.
    pub program: String,
    /// How the plan was made.
    pub provenance: Provenance,
    /// What the check showed.
    pub proof: CheckReport,
    /// The network in numbers.
    pub network: NetworkReport,
    /// Where tags travel.
    pub carrier: CarrierKind,
    /// The code that lossy packets leave with.
    pub lossy_code: u16,
    /// The lossless tags, rising.
    pub tags: Vec<TagReport>,
    /// The lossless classes.
    pub classes: Vec<ClassReport>,
    /// Tag rules over all switches.
    pub rules: RulesReport,
    /// The failover tables, where the plan has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverReport>,
    /// What this target does not do of what the plan is about.
    pub restrictions: &'static [&'static str],
    /// What the program takes of the hardware's pipeline, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Estimate>,
    /// Entries over all switches: table entries, selector members and groups.
    pub entries_total: u64,
    /// Every switch, in topology order.
    pub switches: Vec<SwitchReport>,
}

/// The network in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkReport {
    /// Name of the topology.
    pub name: String,
    /// Number of switches.
    pub switches: usize,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of links.
    pub links: usize,
}

impl BuildReport {
    /// The report of a build.
    pub(crate) fn new(
        plan: &CheckedPlan,
        target: &Capabilities,
        program: String,
        version: u8,
        pipeline: Option<Estimate>,
        switches: Vec<SwitchReport>,
    ) -> Self {
        let summary = plan.summary(0.0);
        Self {
            target: target.target.to_owned(),
            restrictions: target.restrictions,
            pipeline,
            program,
            provenance: plan.tables().provenance.clone(),
            proof: plan.report(),
            network: NetworkReport {
                name: plan.topology().name().to_owned(),
                switches: summary.switches,
                hosts: summary.hosts,
                links: summary.links,
            },
            carrier: plan.carrier().kind,
            lossy_code: plan.carrier().lossy.get(),
            tags: TagReport::all(plan),
            classes: ClassReport::all(plan),
            rules: RulesReport::of(&summary),
            failover: FailoverReport::of(plan, version),
            entries_total: switches.iter().map(SwitchReport::entries).sum(),
            switches,
        }
    }
}

//! `report.json` and `report.html`: what was proven, how tags travel, what every switch holds, and what
//! its lossless priorities cost.

use std::collections::BTreeMap;

use plan::failover::{Element, LabelKind, Output, StateCounts};
use plan::{
    CarrierKind, CheckReport, CheckedPlan, ClassId, NewTag, Provenance, RuleCounts, SwitchHeadroom,
};
use serde::Serialize;
use topology::SwitchId;

use crate::entries::SwitchEntries;
use crate::layout::edge_dscp;
use crate::targets::capabilities::Capabilities;
use crate::targets::tofino::Estimate;

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
    /// Number of lossless routes from host to host, of the class that is promised most.
    pub lossless_routes: u128,
    /// Whether that number is exact or an upper bound.
    pub lossless_routes_exact: bool,
}

/// A lossless tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagReport {
    /// The tag.
    pub tag: u8,
    /// What stands for it in the carrier, for class 0.
    pub code: u16,
    /// Its priority.
    pub priority: u8,
}

/// A lossless class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassReport {
    /// Its name.
    pub name: String,
    /// The tag with which its hosts send.
    pub initial: u8,
    /// The highest tag that it may carry, where class bits are carried.
    pub limit: Option<u8>,
    /// The code of its first tag.
    pub code: u16,
    /// The DSCP with which a host picks it.
    pub dscp: u16,
}

/// Tag rules over all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RulesReport {
    /// Rules of all switches.
    pub total: u64,
    /// Rules of the switch that has most.
    pub max_per_switch: u64,
    /// How many exact-port rules they stand for.
    pub exact_total: u64,
    /// Bits of one key.
    pub key_bits: u64,
    /// TCAM bits of the switch that needs most.
    pub tcam_bits_max: u64,
}

/// The failover tables in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailoverReport {
    /// What the header says of failures.
    pub label: LabelKind,
    /// What rules put out.
    pub output: Output,
    /// Failures that the plan survives.
    pub resilience: u32,
    /// Of what.
    pub element: Element,
    /// The version that packets are stamped with.
    pub version: u8,
    /// Destinations in headers.
    pub destinations: u64,
    /// Most hops of a route in the header.
    pub stack: u8,
    /// Rules of all switches.
    pub rules_total: u64,
    /// Rules of the switch that has most.
    pub rules_max_per_switch: u64,
    /// TCAM bits of the switch that needs most, as Stephens15 counts them.
    pub tcam_bits_max: u64,
    /// The same as Tofino 1 would allot them.
    pub tofino_bits_max: u64,
}

impl FailoverReport {
    fn of(plan: &CheckedPlan, version: u8) -> Option<Self> {
        let failover = plan.tables().failover.as_ref()?;
        let counts = failover.counts();
        let most = |of: fn(&StateCounts) -> u64| counts.iter().map(of).max().unwrap_or(0);
        Some(Self {
            label: failover.label,
            output: failover.output,
            resilience: failover.claim.failures,
            element: failover.claim.element,
            version,
            destinations: failover.destinations.len() as u64,
            stack: failover.stack,
            rules_total: counts.iter().map(|c| c.rules).sum(),
            rules_max_per_switch: most(|c| c.rules),
            tcam_bits_max: most(|c| c.tcam_bits),
            tofino_bits_max: most(|c| c.tofino.bits),
        })
    }
}

/// What one switch holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchReport {
    /// The switch.
    pub name: String,
    /// Its layer, counted from the hosts.
    pub layer: Option<u8>,
    /// Its tag rules.
    pub rules: RuleCounts,
    /// Its entries, by table.
    pub tables: BTreeMap<String, u64>,
    /// Members of its action selector.
    pub members: u64,
    /// Groups of its action selector.
    pub groups: u64,
    /// What its lossless priorities cost.
    pub headroom: SwitchHeadroom,
}

impl SwitchReport {
    /// What a switch holds, from its entries.
    pub(crate) fn new(plan: &CheckedPlan, switch: SwitchId, entries: &SwitchEntries) -> Self {
        let described = plan.topology().switch(switch);
        let mut tables = BTreeMap::new();
        for entry in &entries.tables {
            *tables.entry(entry.table.to_string()).or_insert(0) += 1;
        }
        Self {
            name: described.name.clone(),
            layer: described.layer,
            rules: plan.counts(switch),
            tables,
            members: entries.members.len() as u64,
            groups: entries.groups.len() as u64,
            headroom: plan.headroom(switch),
        }
    }

    /// Table entries, members and groups together.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.tables.values().sum::<u64>() + self.members + self.groups
    }
}

impl BuildReport {
    /// The report of a build.
    pub(crate) fn new(
        plan: &CheckedPlan,
        target: &Capabilities,
        program: String,
        version: u8,
        switches: Vec<SwitchReport>,
    ) -> Self {
        let summary = plan.summary(0.0);
        Self {
            target: target.target.to_owned(),
            restrictions: target.restrictions,
            pipeline: None,
            program,
            provenance: plan.tables().provenance.clone(),
            proof: plan.report(),
            network: NetworkReport {
                name: plan.topology().name().to_owned(),
                switches: summary.switches,
                hosts: summary.hosts,
                links: summary.links,
                lossless_routes: summary.routes,
                lossless_routes_exact: summary.routes_exact,
            },
            carrier: plan.carrier().kind,
            lossy_code: plan.carrier().lossy.get(),
            tags: tags(plan),
            classes: classes(plan),
            rules: RulesReport {
                total: summary.rules_total,
                max_per_switch: summary.rules_max_per_switch,
                exact_total: summary.exact_rules_total,
                key_bits: summary.key_bits,
                tcam_bits_max: summary.tcam_bits_max,
            },
            failover: FailoverReport::of(plan, version),
            entries_total: switches.iter().map(SwitchReport::entries).sum(),
            switches,
        }
    }
}

fn tags(plan: &CheckedPlan) -> Vec<TagReport> {
    let code = |tag| plan.carrier().code(ClassId::new(0), NewTag::Lossless(tag));
    let priorities = plan.tagging().priorities.iter();
    priorities
        .map(|(tag, priority)| TagReport {
            tag: tag.get(),
            code: code(*tag).map_or(0, |c| c.get()),
            priority: priority.get(),
        })
        .collect()
}

fn classes(plan: &CheckedPlan) -> Vec<ClassReport> {
    let carrier = plan.carrier();
    let classes = plan.tagging().classes.iter().zip(0..);
    classes
        .map(|(class, number)| {
            let id = ClassId::new(number);
            let code = carrier.code(id, NewTag::Lossless(class.initial));
            let code = code.map_or(0, |c| c.get());
            ClassReport {
                name: class.name.clone(),
                initial: class.initial.get(),
                limit: class.limit.map(|t| t.get()),
                code,
                dscp: match carrier.kind {
                    CarrierKind::Dscp => code,
                    _ => u16::from(edge_dscp(id)),
                },
            }
        })
        .collect()
}

//! What every plan reports in figures: `plan --json` prints it.

use std::collections::BTreeSet;
use std::fmt;

use quantities::Bytes;
use serde::Serialize;
use topology::routes::{RouteCount, RouteSet};
use topology::{Assumptions, Fabric};

use super::check::checked::{CheckedPlan, RuleCounts};
use super::check::{PromisedPairs, Verdict};
use super::failover::{Destination, Failover, LabelKind, Part, StateCounts, longest_hops};
use super::model::{RuleForm, Tables};

/// A plan in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary {
    /// The scheme.
    pub scheme: String,
    /// The algorithm within the scheme.
    pub algorithm: String,
    /// Number of switches.
    pub switches: usize,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of links.
    pub links: usize,
    /// Number of lossless routes from host to host, of the class that is promised most; `null`
    /// where nobody counted ([`PlanSummary::counting_routes`]).
    pub routes: Option<u128>,
    /// Whether that number is exact or an upper bound.
    pub routes_exact: Option<bool>,
    /// Number of classes.
    pub classes: usize,
    /// Number of lossless tags.
    pub tags: usize,
    /// Number of lossless priorities that the tags take.
    pub lossless_priorities: usize,
    /// How rules match ports.
    pub form: RuleForm,
    /// Tag rules over all switches.
    pub rules_total: u64,
    /// Tag rules of the switch that has most.
    pub rules_max_per_switch: u64,
    /// The same as exact-port rules: over all switches.
    pub exact_rules_total: u64,
    /// The same as exact-port rules: of the switch that has most.
    pub exact_rules_max_per_switch: u64,
    /// Width of the key of a rule, in bits.
    pub key_bits: u64,
    /// TCAM bits of the switch that needs most.
    pub tcam_bits_max: u64,
    /// PFC headroom of the port that needs most, for one priority, in bytes (TaggerDraft equation
    /// 1).
    pub headroom_port_max: Bytes,
    /// PFC headroom of the switch that needs most, for all lossless priorities of the plan, in
    /// bytes.
    pub headroom_switch_max: Bytes,
    /// What of that can be used, on the switch where it is most: ports keep none for priorities
    /// that cannot come in there, whatever the routing.
    pub headroom_switch_needed: Bytes,
    /// For how many lossless priorities the buffer of the tightest switch has room.
    pub affordable_priorities: u64,
    /// The failover tables, where there are some; then `routes` counts pairs of a switch with hosts
    /// and a destination, and the rules are theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverSummary>,
    /// The pairs of switches with hosts that the plan promises something.
    pub promised: Option<PromisedPairs>,
    /// What the proof has shown.
    pub verdict: Verdict,
    /// What of the network nobody gave: the verdict holds if the assumed values do.
    #[serde(skip_serializing_if = "Assumptions::is_empty")]
    pub assumed: Assumptions,
    /// How long planning took; the caller, who has a clock, says so.
    pub seconds: f64,
}

/// Failover tables in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailoverSummary {
    /// Failures that the plan claims to survive, unless `parts` says otherwise.
    pub resilience: u32,
    /// The destinations by how their packets survive failures, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<FailoverPart>,
    /// Destinations.
    pub destinations: usize,
    /// Pairs of a switch with hosts and a destination elsewhere.
    pub pairs: u64,
    /// Rules over all switches.
    pub rules: u64,
    /// Rules of the switch that has most.
    pub rules_max: u64,
    /// Most TCAM bits of a switch, as Stephens15 counts them.
    pub tcam_bits_max: u64,
    /// Most TCAM bits of a switch, as Tofino 1 would allot them.
    pub tofino_bits_max: u64,
    /// Most stages of a switch that Tofino 1 would fill.
    pub tofino_stages_max: u64,
    /// Most distinct (output, action) pairs of a switch.
    pub actions_max: u64,
    /// The longest reverse route that a rule asks about.
    pub longest_reverse: usize,
    /// The longest forward route that a rule puts into a header.
    pub longest_forward: usize,
}

/// Destinations whose packets survive failures in one way, where a plan has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FailoverPart {
    /// What the header of packets to them says.
    pub label: LabelKind,
    /// Failures that the plan claims that they survive.
    pub resilience: u32,
    /// How many destinations there are.
    pub destinations: usize,
}

impl FailoverPart {
    /// Of failover tables; empty where all destinations are alike.
    #[must_use]
    pub fn all(failover: &Failover) -> Vec<Self> {
        let parts = failover.parts();
        let several = parts.len() > 1;
        let part = |part: &Part| Self {
            label: part.protection.label,
            resilience: part.protection.failures,
            destinations: part.destinations,
        };
        parts.iter().filter(|_| several).map(part).collect()
    }
}

impl PlanSummary {
    /// These figures, with the routes counted too.
    #[must_use]
    pub fn counting_routes(mut self, plan: &CheckedPlan) -> Self {
        let count = plan.count_routes();
        self.routes_exact = Some(count.exact);
        self.routes = Some(match &self.failover {
            Some(failover) if count.routes == 0 => u128::from(failover.pairs),
            _ => count.routes,
        });
        self
    }
}

impl CheckedPlan {
    /// The plan in figures but for the number of routes, which can take longer to count than the
    /// plan to prove.
    #[must_use]
    pub fn summary(&self, seconds: f64) -> PlanSummary {
        let tables = self.tables();
        let topology = self.topology();
        let priorities: BTreeSet<_> = tables.tagging.priorities.values().collect();
        let counts: Vec<RuleCounts> = topology.switch_ids().map(|s| self.counts(s)).collect();
        let most = |figure: fn(&RuleCounts) -> u64| counts.iter().map(figure).max().unwrap_or(0);
        let headroom: Vec<_> = topology.switch_ids().map(|s| self.headroom(s)).collect();
        let per_priority = headroom.iter().map(|h| h.per_priority.get()).max();
        let switch_max = per_priority.unwrap_or(0) * priorities.len() as u64;
        let needed = self.headroom_needed().iter().map(|own| own.needed).max();
        let failover = self.failover_summary();
        let report = self.report();
        let mut rules: (u64, u64, u64) = (
            counts.iter().map(|c| c.rules).sum(),
            most(|c| c.rules),
            most(|c| c.tcam_bits),
        );
        if let Some(failover) = &failover {
            rules.0 += failover.rules;
            rules.1 = rules.1.max(failover.rules_max);
            rules.2 = rules.2.max(failover.tcam_bits_max);
        }
        PlanSummary {
            scheme: tables.provenance.scheme.clone(),
            algorithm: tables.provenance.algorithm.clone(),
            switches: topology.switches().len(),
            hosts: topology.hosts().len(),
            links: topology.links().len(),
            routes: None,
            routes_exact: None,
            classes: tables.tagging.classes.len(),
            tags: tables.tagging.priorities.len(),
            lossless_priorities: priorities.len(),
            form: tables.tagging.form,
            rules_total: rules.0,
            rules_max_per_switch: rules.1,
            exact_rules_total: counts.iter().map(|c| c.exact).sum(),
            exact_rules_max_per_switch: most(|c| c.exact),
            key_bits: tables.key_bits(),
            tcam_bits_max: rules.2,
            headroom_port_max: headroom
                .iter()
                .map(|h| h.per_port_max)
                .max()
                .unwrap_or_default(),
            headroom_switch_max: Bytes::new(switch_max),
            headroom_switch_needed: needed.unwrap_or_default(),
            affordable_priorities: headroom.iter().map(|h| h.affordable).min().unwrap_or(0),
            failover,
            promised: report.promised,
            verdict: report.verdict,
            assumed: report.assumed,
            seconds,
        }
    }

    /// The failover tables in figures.
    #[must_use]
    pub fn failover_summary(&self) -> Option<FailoverSummary> {
        let failover = self.tables().failover.as_ref()?;
        let topology = self.topology();
        let counts = failover.counts();
        let most = |figure: fn(&StateCounts) -> u64| counts.iter().map(figure).max().unwrap_or(0);
        let fabric = Fabric::new(topology);
        let sources: Vec<_> = fabric.edge_switches().collect();
        let away = |d: &Destination| {
            let homes = d.homes(topology);
            sources.iter().filter(|s| !homes.contains(s)).count() as u64
        };
        let (longest_reverse, longest_forward) = longest_hops(failover);
        Some(FailoverSummary {
            resilience: failover.claim.failures,
            parts: FailoverPart::all(failover),
            destinations: failover.destinations.len(),
            pairs: failover.destinations.iter().map(away).sum(),
            rules: counts.iter().map(|c| c.rules).sum(),
            rules_max: most(|c| c.rules),
            tcam_bits_max: most(|c| c.tcam_bits),
            tofino_bits_max: most(|c| c.tofino.bits),
            tofino_stages_max: most(|c| c.tofino.stages),
            actions_max: most(|c| c.actions),
            longest_reverse,
            longest_forward,
        })
    }

    /// The routes of the class that is promised most.
    fn count_routes(&self) -> RouteCount {
        let mut policies = Vec::new();
        for promise in &self.tables().promises {
            if !policies.contains(&&promise.routes) {
                policies.push(&promise.routes);
            }
        }
        let counts = policies.into_iter().filter_map(|policy| {
            let set = RouteSet::new(self.topology(), policy.clone()).ok()?;
            Some(set.count())
        });
        let none = RouteCount {
            routes: 0,
            exact: true,
        };
        counts.max_by_key(|count| count.routes).unwrap_or(none)
    }

    /// What the plan promises, in words.
    #[must_use]
    pub fn promised(&self) -> impl fmt::Display + '_ {
        Promised(self.tables())
    }
}

impl Tables {
    /// What the plan promises, in words.
    #[must_use]
    pub fn promised(&self) -> impl fmt::Display + '_ {
        Promised(self)
    }
}

/// The promises of a plan in words.
struct Promised<'a>(&'a Tables);

impl fmt::Display for Promised<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.0;
        let promises = &tables.promises;
        if let Some(first) = promises.first()
            && promises
                .iter()
                .all(|promise| promise.routes == first.routes)
        {
            return write!(f, "{}", first.routes);
        }
        for (index, promise) in promises.iter().enumerate() {
            let class = tables.tagging.classes.get(promise.class.index());
            let name = class.map_or("?", |class| class.name.as_str());
            let comma = if index > 0 { "; " } else { "" };
            write!(f, "{comma}{name}: {}", promise.routes)?;
        }
        if promises.is_empty() {
            f.write_str("nothing")?;
        }
        Ok(())
    }
}

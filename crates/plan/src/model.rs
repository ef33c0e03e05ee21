//! The plan model: what a scheme fills in, what a plan file holds, and what everything after the
//! proof reads.
//!
//! [`Tables`] are unchecked. Their tagging half follows the seeds: a packet carries a *tag*; at
//! every switch a rule over (tag, ingress port, egress port) gives the tag with which it leaves; a
//! tag stands for one lossless priority (Tagger17, "Generalizing"); whatever no rule matches leaves
//! with the *lossy* tag, last and always, and stays lossy. The tag with which a packet *arrives*
//! gives its ingress priority, the tag with which it *leaves* gives its egress priority
//! (TaggerDraft section 6.3). A packet for which no rule matches is lossy at that switch already:
//! it neither triggers PFC nor occupies a lossless queue.

use std::collections::BTreeMap;

use quantities::{PortId, Priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use topology::routes::forwarding::{Reroute, Routing};
use topology::routes::{RouteError, RoutePolicy};
use topology::{SwitchId, Topology};

use super::budget::Budget;
use super::carrier::{Carrier, CarrierKind};
use super::failover::Failover;
use super::portset::PortSet;
use super::tag::{ClassId, NewTag, Tag};

/// One tag rule of one switch: packets with this tag that come in by one of `in_ports` and leave by
/// one of `out_ports` leave with `new_tag`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagRule {
    /// Of rules that match the same packet the one with the greatest precedence counts; rules of
    /// equal precedence that match the same packet must agree.
    pub precedence: u8,
    /// The class that the rule is for; `None` means any. Only where the tagging carries class bits.
    pub class: Option<ClassId>,
    /// The tag with which the packet arrives.
    pub tag: Tag,
    /// The ports by which it may come in.
    pub in_ports: PortSet,
    /// The ports by which it may leave.
    pub out_ports: PortSet,
    /// The tag with which it leaves.
    pub new_tag: NewTag,
}

impl TagRule {
    /// Whether the rule matches.
    #[must_use]
    pub fn matches(&self, class: ClassId, tag: Tag, in_port: PortId, out_port: PortId) -> bool {
        self.tag == tag
            && self.class.is_none_or(|c| c == class)
            && self.in_ports.contains(in_port)
            && self.out_ports.contains(out_port)
    }

    /// Number of exact-port rules that say the same.
    #[must_use]
    pub fn exact_count(&self) -> usize {
        self.in_ports.len() * self.out_ports.len()
    }
}

/// How rules match ports.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
    EnumMessage,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RuleForm {
    /// Every rule names one ingress port and one egress port; no two rules of a switch overlap.
    #[strum(message = "One ingress and one egress port per rule")]
    Exact,
    /// Rules name sets of ports (one-hot bitmaps matched ternary).
    #[strum(message = "Sets of ports as one-hot bitmaps, matched ternary")]
    #[default]
    PortSets,
}

/// A lossless class of traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Unique name.
    pub name: String,
    /// The tag with which its hosts send.
    pub initial: Tag,
    /// The highest tag that its packets may carry, where class bits let the switches enforce one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Tag>,
}

/// The tag tables of all switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagging {
    /// The lossless classes; [`ClassId`] is a position in here.
    pub classes: Vec<Class>,
    /// Whether packets carry their class beside the tag, so that rules can tell classes apart.
    pub class_bits: bool,
    /// The lossless priority of every tag; priority 0 is the lossy one.
    pub priorities: BTreeMap<Tag, Priority>,
    /// How the rules match ports.
    pub form: RuleForm,
    /// The rules of every switch, in switch order. After the last one comes the catch-all: lossy.
    pub rules: Vec<Vec<TagRule>>,
}

impl Tagging {
    /// The tag with which a packet leaves. What no rule matches is lossy.
    #[must_use]
    pub fn new_tag(
        &self,
        switch: SwitchId,
        class: ClassId,
        tag: Tag,
        in_port: PortId,
        out_port: PortId,
    ) -> NewTag {
        let mut best: Option<&TagRule> = None;
        for rule in self.rules.get(switch.index()).into_iter().flatten() {
            if best.is_none_or(|b| b.precedence < rule.precedence)
                && rule.matches(class, tag, in_port, out_port)
            {
                best = Some(rule);
            }
        }
        best.map_or(NewTag::Lossy, |rule| rule.new_tag)
    }

    /// The priority of a tag; the lossy priority (0) for lossy packets and for tags without a
    /// priority.
    #[must_use]
    pub fn priority(&self, tag: NewTag) -> Priority {
        tag.tag()
            .and_then(|tag| self.priorities.get(&tag).copied())
            .unwrap_or(LOSSY_PRIORITY)
    }
}

/// The priority of lossy traffic.
pub const LOSSY_PRIORITY: Priority = Priority::new(0);

/// What a plan promises: these routes are lossless for this class from end to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The class.
    pub class: ClassId,
    /// The routes.
    pub routes: RoutePolicy,
}

/// Where a plan comes from; enough to make it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The scheme, as the command line names it (`tagger`, `ttl`), or what another tool calls its
    /// own.
    pub scheme: String,
    /// The algorithm within the scheme (`clos`, `greedy`, ...).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub algorithm: String,
    /// Options that shaped the tables, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The seed of whatever was drawn at random.
    #[serde(default)]
    pub seed: u64,
    /// The tool that computed the tables.
    pub tool: String,
    /// That tool's version.
    pub version: String,
}

impl Provenance {
    /// Provenance of tables that this version of Switchwright computed.
    #[must_use]
    pub fn ours(scheme: &str, algorithm: &str) -> Self {
        Self {
            scheme: scheme.to_owned(),
            algorithm: algorithm.to_owned(),
            options: BTreeMap::new(),
            seed: 1,
            tool: "switchwright".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// A whole plan, unchecked. [`check`](super::check()) turns it into a
/// [`CheckedPlan`](super::CheckedPlan).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Where it comes from.
    pub provenance: Provenance,
    /// The network.
    pub topology: Topology,
    /// Classes, priorities and rules.
    pub tagging: Tagging,
    /// Where in the packet tags travel, and as which numbers.
    pub carrier: Carrier,
    /// The routes that are to be lossless.
    pub promises: Vec<Promise>,
    /// Where packets go: the routes from which forwarding entries are made. The proof of deadlock
    /// freedom does not depend on it.
    pub forwarding: RoutePolicy,
    /// Failover tables, which then forward instead.
    pub failover: Option<Failover>,
    /// What a switch has.
    pub budget: Budget,
}

impl Tables {
    /// The same plan without tags: every switch lets packets keep the first tag, whatever way they
    /// take. It is what plain PFC does, and the proof finds the cycle of buffers that routing may
    /// close. Nothing where there is no lossless class.
    #[must_use]
    pub fn without_tags(&self) -> Option<Self> {
        let first = self.tagging.classes.first()?.initial;
        let ports =
            |switch: &topology::Switch| PortSet::from_iter((1..=switch.ports).map(Into::into));
        let keep = |switch: &topology::Switch| {
            vec![TagRule {
                precedence: 0,
                class: None,
                tag: first,
                in_ports: ports(switch),
                out_ports: ports(switch),
                new_tag: NewTag::Lossless(first),
            }]
        };
        let mut plain = self.clone();
        plain.tagging.rules = plain.topology.switches().iter().map(keep).collect();
        Some(plain)
    }

    /// A plan of failover tables, without lossless tags.
    #[must_use]
    pub fn failover_only(topology: Topology, provenance: Provenance, failover: Failover) -> Self {
        Self {
            provenance,
            tagging: Tagging {
                classes: vec![],
                class_bits: false,
                priorities: BTreeMap::new(),
                form: RuleForm::default(),
                rules: vec![vec![]; topology.switches().len()],
            },
            carrier: Carrier::numbered(CarrierKind::default(), [], false),
            promises: vec![],
            forwarding: RoutePolicy::Shortest,
            failover: Some(failover),
            budget: Budget::default(),
            topology,
        }
    }

    /// The forwarding that entries are made from: the plan's routes over what is up of its network.
    /// Failover tables forward by themselves, without it.
    ///
    /// # Errors
    /// [`RouteError`] if the routes do not fit the network.
    pub fn routing(&self) -> Result<Routing<'_>, RouteError> {
        Routing::new(&self.topology, &self.forwarding, Reroute::Converged)
    }

    /// Whether there are lossless tags in this plan: always, unless it only fails over.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        self.failover.is_none() || !self.tagging.classes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_precedence_counts_and_the_rest_is_lossy() {
        let ports = |text: &str| text.parse::<PortSet>().unwrap_or_else(|_| PortSet::empty());
        let rule = |precedence, tag, in_ports, out_ports, new_tag| TagRule {
            precedence,
            class: None,
            tag: Tag::new(tag),
            in_ports: ports(in_ports),
            out_ports: ports(out_ports),
            new_tag,
        };
        let tagging = Tagging {
            classes: vec![],
            class_bits: false,
            priorities: BTreeMap::from([(Tag::new(1), Priority::new(1))]),
            form: RuleForm::PortSets,
            rules: vec![vec![
                rule(0, 1, "1-4", "1-4", NewTag::Lossless(Tag::new(1))),
                rule(1, 1, "3-4", "3-4", NewTag::Lossless(Tag::new(2))),
            ]],
        };
        let look = |tag, i, o| {
            tagging.new_tag(
                SwitchId::new(0),
                ClassId::new(0),
                Tag::new(tag),
                PortId::new(i),
                PortId::new(o),
            )
        };
        assert_eq!(look(1, 1, 3), NewTag::Lossless(Tag::new(1)));
        assert_eq!(look(1, 3, 4), NewTag::Lossless(Tag::new(2)));
        assert_eq!(look(2, 3, 4), NewTag::Lossy);
        assert_eq!(look(1, 5, 1), NewTag::Lossy);
        assert_eq!(tagging.priority(NewTag::Lossy), LOSSY_PRIORITY);
        assert_eq!(
            tagging.priority(NewTag::Lossless(Tag::new(1))),
            Priority::new(1)
        );
    }
}

//! The tag rules that a switch has, as packets see them: by codes and priorities.

use std::collections::BTreeSet;

use quantities::Priority;
use topology::NodeId;

use super::model::PlanIndex;
use crate::carrier::TagCode;
use crate::model::{Tables, TagRule};
use crate::portset::PortSet;
use crate::tag::NewTag;

/// A tag rule as a switch has it: codes and priorities in place of tags.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule<'a> {
    /// The version of packets that it matches; 0 without failover tables.
    version: usize,
    code: TagCode,
    mask: u16,
    in_ports: &'a PortSet,
    out_ports: &'a PortSet,
    precedence: u8,
    new_code: TagCode,
    ingress: Priority,
    egress: Priority,
}

/// The rules that a switch has if it holds some plans.
pub(super) fn held<'a>(
    plans: &'a [Tables],
    held: &BTreeSet<PlanIndex>,
    switch: &str,
) -> BTreeSet<Rule<'a>> {
    let mut rules = BTreeSet::new();
    for &index in held {
        let Some(plan) = plans.get(index) else {
            continue;
        };
        let Some(NodeId::Switch(id)) = plan.topology.node(switch) else {
            continue;
        };
        let own = plan.tagging.rules.get(id.index()).into_iter().flatten();
        rules.extend(own.map(|rule| seen(plan, index, rule)));
    }
    rules
}

fn seen<'a>(plan: &Tables, index: PlanIndex, rule: &'a TagRule) -> Rule<'a> {
    let (carrier, tagging) = (&plan.carrier, &plan.tagging);
    let low = |tag| carrier.codes.get(&tag).copied().unwrap_or_default();
    let shift = u32::from(carrier.class_shift.unwrap_or(0));
    let class = rule
        .class
        .map(|class| u16::from(class.get()).checked_shl(shift));
    let class = class.flatten().unwrap_or(0);
    Rule {
        version: plan.failover.as_ref().map_or(0, |_| index + 1),
        code: TagCode::new(class | low(rule.tag).get()),
        mask: match rule.class {
            Some(_) => u16::MAX,
            None => carrier.tag_mask(),
        },
        in_ports: &rule.in_ports,
        out_ports: &rule.out_ports,
        precedence: rule.precedence,
        new_code: match rule.new_tag {
            NewTag::Lossless(tag) => low(tag),
            NewTag::Lossy => carrier.lossy,
        },
        ingress: tagging.priority(NewTag::Lossless(rule.tag)),
        egress: tagging.priority(rule.new_tag),
    }
}

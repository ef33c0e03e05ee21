//! Port sets spelled out as exact-port rules, precedences resolved.

use std::collections::BTreeMap;

use plan::{ClassId, NewTag, PortSet, Tag, TagRule};
use quantities::PortId;
use rayon::prelude::*;

/// What one exact key says, and with which precedence.
type Answers = BTreeMap<(Tag, PortId, PortId), (u8, NewTag)>;

/// The same rules with one ingress and one egress port each, sorted by tag and ports. Only rules
/// for single classes overlap any others; they come with a greater precedence.
pub(super) fn expand(rules: Vec<Vec<TagRule>>) -> Vec<Vec<TagRule>> {
    rules.into_par_iter().map(|r| expand_switch(&r)).collect()
}

fn expand_switch(rules: &[TagRule]) -> Vec<TagRule> {
    let already = |rule: &TagRule| {
        rule.class.is_none()
            && rule.precedence == 0
            && rule.in_ports.as_single().is_some()
            && rule.out_ports.as_single().is_some()
    };
    if rules.iter().all(already) {
        return rules.to_vec();
    }
    let general = answers(rules, None);
    let mut exact: Vec<TagRule> = general
        .iter()
        .filter(|(_, (_, new_tag))| *new_tag != NewTag::Lossy)
        .map(|(key, (_, new_tag))| rule(0, None, *key, *new_tag))
        .collect();
    let mut classes: Vec<ClassId> = rules.iter().filter_map(|rule| rule.class).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let own = answers(rules, Some(class)).into_iter();
        let differ =
            own.filter(|(key, (_, new_tag))| general.get(key).map(|g| g.1) != Some(*new_tag));
        exact.extend(differ.map(|(key, (_, new_tag))| rule(1, Some(class), key, new_tag)));
    }
    exact
}

/// What the rules for a class (or for no class in particular) say to every key.
fn answers(rules: &[TagRule], class: Option<ClassId>) -> Answers {
    let mut answers = Answers::new();
    for rule in rules
        .iter()
        .filter(|r| r.class.is_none() || r.class == class)
    {
        for in_port in rule.in_ports.iter() {
            for out_port in rule.out_ports.iter() {
                let said = (rule.precedence, rule.new_tag);
                let known = answers.entry((rule.tag, in_port, out_port)).or_insert(said);
                if known.0 < rule.precedence {
                    *known = said;
                }
            }
        }
    }
    answers
}

fn rule(
    precedence: u8,
    class: Option<ClassId>,
    (tag, in_port, out_port): (Tag, PortId, PortId),
    new_tag: NewTag,
) -> TagRule {
    TagRule {
        precedence,
        class,
        tag,
        in_ports: PortSet::single(in_port),
        out_ports: PortSet::single(out_port),
        new_tag,
    }
}

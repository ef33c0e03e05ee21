//! What can be said of a plan without following a packet: references, names, codes, priorities,
//! budgets.

use std::collections::{BTreeMap, BTreeSet};

use quantities::{Bytes, PortId, Priority};

use super::error::PlanError;
use super::rules::lookup::MAX_TAGS;
use crate::budget::switch_headroom;
use crate::model::{LOSSY_PRIORITY, RuleForm, Tables, TagRule};
use crate::tag::Tag;

/// The highest priority of IEEE 802.1Q.
const LAST_PRIORITY: Priority = Priority::new(7);

/// Errors after which following packets makes no sense: something refers to what is not there.
pub(super) fn references(tables: &Tables) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let tagging = &tables.tagging;
    let switches = tables.topology.switches();
    if tagging.rules.len() != switches.len() {
        errors.push(PlanError::RuleLists {
            given: tagging.rules.len(),
            switches: switches.len(),
        });
    }
    classes(tables, &mut errors);
    for (switch, rules) in switches.iter().zip(&tagging.rules) {
        for (number, rule) in rules.iter().enumerate() {
            let place = || format!("rule {} of switch `{}`", number + 1, switch.name);
            if let Err(error) = rule_shape(tables, rule, switch.ports, &switch.name, &place) {
                errors.push(error);
                break; // one per switch: the rest are seldom news
            }
        }
    }
    for promise in &tables.promises {
        if promise.class.index() >= tagging.classes.len() {
            errors.push(PlanError::UnknownClass {
                place: "a promise".to_owned(),
                class: promise.class.get(),
                classes: tagging.classes.len(),
            });
        }
    }
    if tagging.priorities.len() > MAX_TAGS {
        errors.push(too_many_priorities(tables));
    }
    errors
}

fn classes(tables: &Tables, errors: &mut Vec<PlanError>) {
    let tagging = &tables.tagging;
    if tagging.classes.is_empty() {
        errors.push(PlanError::NoClass);
    }
    let mut names = BTreeSet::new();
    for class in &tagging.classes {
        let place = format!("class `{}`", class.name);
        if !names.insert(&class.name) {
            errors.push(PlanError::DuplicateClass(class.name.clone()));
        }
        if class.limit.is_some() && !tagging.class_bits {
            errors.push(PlanError::NoClassBits {
                place: place.clone(),
            });
        }
        for tag in [Some(class.initial), class.limit].into_iter().flatten() {
            if let Err(error) = known(tables, tag, || place.clone()) {
                errors.push(error);
            }
        }
    }
}

fn known(tables: &Tables, tag: Tag, place: impl Fn() -> String) -> Result<(), PlanError> {
    if tables.tagging.priorities.contains_key(&tag) {
        return Ok(());
    }
    Err(PlanError::UnknownTag {
        place: place(),
        tag,
    })
}

fn rule_shape(
    tables: &Tables,
    rule: &TagRule,
    ports: u16,
    switch: &str,
    place: &impl Fn() -> String,
) -> Result<(), PlanError> {
    let tagging = &tables.tagging;
    for tag in [Some(rule.tag), rule.new_tag.tag()].into_iter().flatten() {
        known(tables, tag, place)?;
    }
    if let Some(class) = rule.class {
        if !tagging.class_bits {
            return Err(PlanError::NoClassBits { place: place() });
        }
        if class.index() >= tagging.classes.len() {
            return Err(PlanError::UnknownClass {
                place: place(),
                class: class.get(),
                classes: tagging.classes.len(),
            });
        }
    }
    for set in [&rule.in_ports, &rule.out_ports] {
        let Some(last) = set.last() else {
            return Err(PlanError::EmptyPorts { place: place() });
        };
        let beyond = (last > PortId::new(ports)).then_some(last);
        let none = PortId::new(0);
        if let Some(port) = beyond.or(set.contains(none).then_some(none)) {
            return Err(PlanError::NoSuchPort {
                place: place(),
                switch: switch.to_owned(),
                port,
                ports,
            });
        }
        if tagging.form == RuleForm::Exact && set.as_single().is_none() {
            return Err(PlanError::NotExact { place: place() });
        }
    }
    Ok(())
}

fn too_many_priorities(tables: &Tables) -> PlanError {
    PlanError::TooManyPriorities {
        needed: tables.tagging.priorities.len(),
        available: tables.budget.lossless_priorities.min(LAST_PRIORITY.get()),
    }
}

/// Priorities: every tag its own, none the lossy one, no more than there are.
pub(super) fn priorities(tables: &Tables) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let tags = &tables.tagging.priorities;
    let available = tables.budget.lossless_priorities.min(LAST_PRIORITY.get());
    if tags.len() > usize::from(available) {
        errors.push(too_many_priorities(tables));
    }
    let mut owners = BTreeMap::new();
    for (&tag, &priority) in tags {
        if priority == LOSSY_PRIORITY {
            errors.push(PlanError::LossyPriority { tag });
        } else if priority > LAST_PRIORITY {
            // Running out of priorities has been said already.
            if tags.len() <= usize::from(available) {
                errors.push(PlanError::NoSuchPriority { tag, priority });
            }
        } else if let Some(first) = owners.insert(priority, tag) {
            errors.push(PlanError::SharedPriority {
                first,
                second: tag,
                priority,
            });
        }
    }
    errors
}

/// Codes: every tag and class has one, they fit the field, and no two meanings share one.
pub(super) fn carrier(tables: &Tables) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let carrier = &tables.carrier;
    let tagging = &tables.tagging;
    if carrier.class_shift.is_some() != tagging.class_bits {
        let place = "the carrier".to_owned();
        errors.push(PlanError::NoClassBits { place });
    }
    let most = carrier.kind.max_code();
    let mut check_range = |what: String, code: u32| {
        if code > u32::from(most) {
            errors.push(PlanError::CodeRange {
                what,
                code,
                carrier: carrier.kind.name(),
                most,
            });
        }
    };
    let mut meanings = vec![("the lossy tag".to_owned(), carrier.lossy.get())];
    check_range("the lossy tag".to_owned(), u32::from(carrier.lossy.get()));
    for (tag, code) in &carrier.codes {
        check_range(format!("tag {tag}"), u32::from(code.get()));
        meanings.push((format!("tag {tag}"), code.get()));
    }
    if let Some(shift) = carrier.class_shift {
        for (number, class) in (0u32..).zip(&tagging.classes) {
            let code = number.checked_shl(u32::from(shift)).unwrap_or(u32::MAX);
            check_range(format!("class `{}`", class.name), code);
        }
        for (tag, code) in &carrier.codes {
            if u32::from(code.get()) >= 1u32.checked_shl(u32::from(shift)).unwrap_or(u32::MAX) {
                check_range(format!("tag {tag} below the class bits"), u32::MAX);
            }
        }
    }
    meanings.sort_by_key(|(_, code)| *code);
    for pair in meanings.windows(2) {
        if let [(first, code), (second, same)] = pair
            && code == same
        {
            errors.push(PlanError::SharedCode {
                first: first.clone(),
                second: second.clone(),
                code: *code,
            });
        }
    }
    for &tag in tagging.priorities.keys() {
        if tagging.classes.len() <= usize::from(u8::MAX) && carrier.codes.contains_key(&tag) {
            continue;
        }
        errors.push(PlanError::NoCode { tag });
    }
    if let (Some(_), Some(tag)) = (carrier.class_shift, aliased_lossy(tables)) {
        errors.push(PlanError::SharedCode {
            first: "the lossy tag".to_owned(),
            second: format!("tag {tag} of some class"),
            code: carrier.lossy.get(),
        });
    }
    errors
}

/// A tag whose bits the lossy code has too. Rules for any class look at these bits only, whatever
/// class bits stand above them.
fn aliased_lossy(tables: &Tables) -> Option<Tag> {
    let carrier = &tables.carrier;
    let lossy = carrier.lossy.get() & carrier.tag_mask();
    let mut codes = carrier.codes.iter();
    codes.find_map(|(tag, code)| (code.get() == lossy).then_some(*tag))
}

/// What the switches have: ports, TCAM, buffer.
pub(super) fn budgets(tables: &Tables) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let budget = &tables.budget;
    let priorities = tables.tagging.priorities.len() as u64;
    for (id, switch) in tables.topology.switch_ids().zip(tables.topology.switches()) {
        if switch.ports > budget.ports {
            errors.push(PlanError::TooManyPorts {
                switch: switch.name.clone(),
                ports: switch.ports,
                available: budget.ports,
            });
        }
        let counts = tables.counts(id);
        if let Some(available) = budget.tcam_bits
            && counts.tcam_bits > available
        {
            errors.push(PlanError::TcamFull {
                switch: switch.name.clone(),
                rules: counts.rules,
                needed: counts.tcam_bits,
                available,
            });
        }
        let headroom = switch_headroom(&tables.topology, id, budget);
        if headroom.affordable < priorities {
            let needed = headroom.per_priority.get().saturating_mul(priorities);
            errors.push(PlanError::BufferFull {
                switch: switch.name.clone(),
                priorities,
                needed: Bytes::new(needed),
                available: budget.buffer,
                affordable: headroom.affordable,
            });
        }
    }
    errors
}

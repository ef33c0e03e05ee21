//! The obligations of the theorem, in its order: what must hold of the evidence.

use super::error::{Fault, PlanError};
use super::evidence::{Evidence, Tagging};
use super::resilience::lossless;
use super::rules::Rules;
use super::rules::dependencies::Dependencies;
use super::shape;
use crate::tag::ClassId;

/// One obligation of the theorem.
pub(super) struct Obligation {
    /// Its name in the theorem. Its number there is its place in the list, from 1.
    pub(super) name: &'static str,
    /// Whether it is met.
    pub(super) examine: fn(&Evidence<'_>) -> Finding,
}

/// What was found of an obligation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Finding {
    /// It is met.
    Holds,
    /// It is not met: why, in the order in which it is reported.
    Refuted(Vec<PlanError>),
    /// It is not known: evidence is absent, because what the evidence is made from is refuted.
    Open,
    /// The plan has nothing that it speaks of, or the caller leaves it out.
    Vacuous,
}

/// The obligations O1, O2, ... of the theorem.
pub(super) const OBLIGATIONS: [Obligation; 10] = [
    obligation("well-formed", well_formed),
    obligation("injective", injective),
    obligation("within the budget", within_budget),
    obligation("single-valued", single_valued),
    obligation("rising", rising),
    obligation("resilient", resilient),
    obligation("acyclic", acyclic),
    obligation("limited", limited),
    obligation("promised", promised),
    obligation("delivered", delivered),
];

const fn obligation(name: &'static str, examine: fn(&Evidence<'_>) -> Finding) -> Obligation {
    Obligation { name, examine }
}

/// O1. Everything that the tables name exists.
fn well_formed(evidence: &Evidence<'_>) -> Finding {
    Finding::of(evidence.malformed.clone())
}

/// O2. Distinct tags have distinct lossless priorities and distinct codes.
fn injective(evidence: &Evidence<'_>) -> Finding {
    let tables = evidence.tables;
    of_tags(evidence, || {
        let mut errors = shape::priorities(tables);
        errors.retain(|error| evidence.options.budgets || error.fault() != Fault::Target);
        errors.extend(shape::carrier(tables));
        errors
    })
}

/// O3. Every switch has the ports, the TCAM and the buffer that the plan takes of it.
fn within_budget(evidence: &Evidence<'_>) -> Finding {
    if !evidence.options.budgets {
        return Finding::Vacuous;
    }
    of_tags(evidence, || shape::budgets(evidence.tables))
}

/// O4. Rules of equal precedence that match the same packet agree.
fn single_valued(evidence: &Evidence<'_>) -> Finding {
    of_tags(evidence, || match &evidence.tagging {
        Tagging::Ambiguous(conflicts) => conflicts.clone(),
        Tagging::Unread | Tagging::Read(_) => Vec::new(),
    })
}

/// O5. Between switches a tag never falls.
fn rising(evidence: &Evidence<'_>) -> Finding {
    of_rules(evidence, |_, dependencies| dependencies.falls.clone())
}

/// O6. Under failures, a packet that has a path arrives, none circulates, and what arrives was
/// lossless all the way.
fn resilient(evidence: &Evidence<'_>) -> Finding {
    if evidence.tables.failover.is_none() {
        return Finding::Vacuous;
    }
    let Some(walks) = &evidence.walks else {
        return Finding::Open;
    };
    // Walks are between switches.
    let rules = evidence.tagging.read().map(|(rules, _)| rules);
    let mut errors = rules.map(lossless::within_switches).unwrap_or_default();
    errors.extend(PlanError::of_failures(walks));
    if errors.is_empty() && rules.is_none() && evidence.tables.has_tags() {
        return Finding::Open;
    }
    Finding::of(errors)
}

/// O7. The buffer dependency graph has no cycle.
fn acyclic(evidence: &Evidence<'_>) -> Finding {
    of_rules(evidence, |rules, Dependencies { cycle, .. }| {
        if cycle.is_empty() {
            return Vec::new();
        }
        let walks = evidence.walks.as_ref();
        let causes = walks.map_or(&[][..], |walks| &walks.causes);
        vec![PlanError::Cycle(rules.name_cycle(cycle, causes))]
    })
}

/// O8. No packet gets past the limit of its class.
fn limited(evidence: &Evidence<'_>) -> Finding {
    of_rules(evidence, |rules, _| {
        let classes = (0..).map(ClassId::new).zip(&rules.tables.tagging.classes);
        classes
            .filter_map(|(id, class)| rules.past_limit(id, class))
            .collect()
    })
}

/// O9. Every promised route stays lossless from end to end.
fn promised(evidence: &Evidence<'_>) -> Finding {
    of_rules(evidence, |_, _| {
        let replays = evidence.replays.iter().cloned();
        replays.filter_map(Result::err).collect()
    })
}

/// O10. The plan's own forwarding has no loop, and drops no packet that has a path.
fn delivered(evidence: &Evidence<'_>) -> Finding {
    match &evidence.forwarding {
        _ if evidence.tables.failover.is_some() => Finding::Vacuous,
        None => Finding::Open,
        Some(Err(error)) => Finding::of(vec![error.clone().into()]),
        Some(Ok(followed)) => Finding::of(followed.errors.clone()),
    }
}

/// The finding of an obligation about tags: open if they cannot be read.
fn of_tags(evidence: &Evidence<'_>, errors: impl FnOnce() -> Vec<PlanError>) -> Finding {
    match &evidence.tagging {
        _ if !evidence.tables.has_tags() => Finding::Vacuous,
        Tagging::Unread => Finding::Open,
        Tagging::Ambiguous(_) | Tagging::Read(_) => Finding::of(errors()),
    }
}

/// The finding of an obligation about what tag rules do: open if they contradict each other.
fn of_rules(
    evidence: &Evidence<'_>,
    errors: impl FnOnce(&Rules<'_>, &Dependencies) -> Vec<PlanError>,
) -> Finding {
    match evidence.tagging.read() {
        _ if !evidence.tables.has_tags() => Finding::Vacuous,
        None => Finding::Open,
        Some((rules, dependencies)) => Finding::of(errors(rules, dependencies)),
    }
}

impl Finding {
    fn of(errors: Vec<PlanError>) -> Self {
        if errors.is_empty() {
            Self::Holds
        } else {
            Self::Refuted(errors)
        }
    }
}

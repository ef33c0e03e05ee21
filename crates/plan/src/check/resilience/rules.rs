//! The rules of a switch for one destination, such that few are looked at for a packet.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

use std::collections::HashMap;

use crate::failover::{Label, LabelKind, Origin, RuleRef, Ternary};

/// What most rules ask of a packet exactly: the label's number, or where the packet comes from; and
/// the reverse route.
type Header = (u32, Box<[u8]>);

/// The rules of a switch for one destination.
pub(super) struct SwitchRules<'w> {
    label: LabelKind,
    /// In table order.
    rules: Vec<RuleRef<'w>>,
    /// Places of the rules that ask for one header.
    exact: HashMap<Header, Vec<u32>, foldhash::fast::FixedState>,
    /// Places of the others.
    loose: Vec<u32>,
}

impl<'w> SwitchRules<'w> {
    pub(super) fn new(label: LabelKind, rules: Vec<RuleRef<'w>>) -> Self {
        let mut own = Self {
            label,
            rules,
            exact: HashMap::default(),
            loose: Vec::new(),
        };
        for (place, rule) in (0u32..).zip(&own.rules) {
            match asked(label, rule) {
                Some(header) => own.exact.entry(header).or_default().push(place),
                None => own.loose.push(place),
            }
        }
        own
    }

    /// The rules that a packet may match, in table order.
    pub(super) fn candidates(
        &self,
        origin: Origin,
        label: &Label,
    ) -> impl Iterator<Item = &RuleRef<'w>> {
        let exact = self.exact.get(&shown(self.label, origin, label));
        let mut exact = exact.into_iter().flatten().copied().peekable();
        let mut loose = self.loose.iter().copied().peekable();
        std::iter::from_fn(move || {
            let first = match (exact.peek(), loose.peek()) {
                (Some(own), Some(other)) if own > other => loose.next(),
                (Some(_), _) => exact.next(),
                (None, _) => loose.next(),
            };
            self.rules.get(first? as usize)
        })
    }
}

/// The header that a rule asks for, if it matches no other.
fn asked(label: LabelKind, rule: &RuleRef<'_>) -> Option<Header> {
    match label {
        LabelKind::ReverseRoute => {
            let hop = |hop: &Ternary| u8::try_from(hop.as_exact()?).ok();
            let hops: Option<Box<[u8]>> = rule.reverse.hops.iter().map(hop).collect();
            let hops = hops?;
            let count = rule.reverse.count.as_exact()? as usize;
            (count == hops.len()).then_some((0, hops))
        }
        LabelKind::FailureSet | LabelKind::RouteId => Some((rule.tag.as_exact()?, Box::default())),
        LabelKind::FailedTrees => match rule.origin {
            Origin::Any => None,
            origin => Some((number(origin), Box::default())),
        },
    }
}

/// What a packet shows of the same.
fn shown(kind: LabelKind, origin: Origin, label: &Label) -> Header {
    match kind {
        LabelKind::ReverseRoute => (0, label.reverse.as_slice().into()),
        LabelKind::FailureSet | LabelKind::RouteId => (label.tag, Box::default()),
        LabelKind::FailedTrees => (number(origin), Box::default()),
    }
}

fn number(origin: Origin) -> u32 {
    match origin {
        Origin::Any | Origin::Host => 0,
        Origin::Port(port) => u32::from(port.get()) + 1,
    }
}

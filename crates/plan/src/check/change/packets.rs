//! Packets of promised routes while switches change: what each switch may do with them.

use std::collections::BTreeSet;

use quantities::PortId;
use topology::SwitchId;
use topology::routes::RouteSet;

use super::error::ChangeError;
use super::model::{Moment, PlanIndex};
use super::union::{CodeIx, Union, UnionSwitch};
use crate::check::error::PlanError;
use crate::check::promise::{Marking, Replay, Row};
use crate::check::rules::lookup::TagIx;
use crate::tag::{ClassId, Tag};

/// What a switch may hold while it forwards by a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Holding<'a> {
    plans: &'a BTreeSet<PlanIndex>,
    /// Whether packets for which no rule of it is meet others: those that are deleted after
    /// forwarding has changed, or were inserted before.
    only_lossless: bool,
}

/// Packets that are sent with the initial tags of one plan, along routes of another.
pub(super) struct Packets<'a> {
    union: &'a Union<'a>,
    /// The plan with whose initial tags they are sent.
    sent: PlanIndex,
    /// The plan whose routes they follow.
    routes: PlanIndex,
    /// By switch: all that it may hold while they come.
    held: Vec<BTreeSet<Holding<'a>>>,
}

impl<'a> Packets<'a> {
    /// Packets that are under way in these moments and in the steps between them.
    pub(super) fn new(
        union: &'a Union<'a>,
        (sent, routes): (PlanIndex, PlanIndex),
        moments: &'a [Moment<'a>],
    ) -> Self {
        let held = |switch: &UnionSwitch<'_>| holdings(moments, routes, switch.name);
        Self {
            held: union.switches.iter().map(held).collect(),
            union,
            sent,
            routes,
        }
    }

    /// Whether packets may find other rules than those of the plan with whose tags they were sent.
    fn meet_foreign_rules(&self) -> bool {
        let mut switches = self.union.switches.iter().zip(&self.held);
        switches.any(|(switch, held)| {
            let foreign = |held: &Holding<'_>| !held.plans.contains(&self.sent);
            switch.ids[self.routes].is_some() && held.iter().any(foreign)
        })
    }

    /// The first promise that is broken.
    pub(super) fn replay(&self, step: usize) -> Result<(), Box<ChangeError>> {
        if self.sent == self.routes && !self.meet_foreign_rules() {
            return Ok(()); // what the plan does by itself was proven
        }
        let (sent, plan) = (&self.union.members[self.sent], self.routes);
        let tables = self.union.members[plan].tables;
        for promise in &tables.promises {
            let Some(class) = tables.tagging.classes.get(promise.class.index()) else {
                continue;
            };
            // The same class in the plan with whose tags it is sent; a class that only one plan has
            // is promised nothing by the other.
            let classes = sent.tables.tagging.classes.iter();
            let own = (0..).map(ClassId::new).zip(classes);
            let own = own.filter(|(_, other)| other.name == class.name);
            let initial = own.map(|(id, _)| id).next().and_then(|id| sent.initial(id));
            let Some(initial) = initial.and_then(|code| self.union.place_of_code(code)) else {
                continue;
            };
            let replay = Replay {
                tables,
                marking: self,
                class: &class.name,
                initial,
            };
            let set = RouteSet::new(&tables.topology, promise.routes.clone());
            let kept = set
                .map_err(PlanError::from)
                .and_then(|set| replay.policy(&set));
            kept.map_err(|error| {
                Box::new(match error {
                    PlanError::RouteLost(lost) => ChangeError::Lost {
                        step,
                        sent: self.sent,
                        routes: self.routes,
                        lost,
                    },
                    error => ChangeError::Plan { plan, error },
                })
            })?;
        }
        Ok(())
    }

    /// The plans whose rules a packet with a code may meet at a switch, and whether it meets them
    /// only if they keep it lossless; no plan where no rule reads the code.
    fn readers(&self, switch: SwitchId, code: CodeIx) -> BTreeSet<(Option<PlanIndex>, bool)> {
        let place = self.union.members[self.routes].place(switch);
        let reads = |plan: &&PlanIndex| {
            let known = self.union.switches[place].ids[**plan].is_some();
            known && self.union.members[**plan].reads(code).is_some()
        };
        let held = self.held[place].iter();
        held.map(|held| (held.plans.iter().find(reads).copied(), held.only_lossless))
            .collect()
    }

    fn row(
        &self,
        (plan, only_lossless): (Option<PlanIndex>, bool),
        switch: SwitchId,
        code: CodeIx,
        in_port: PortId,
    ) -> Row<'_> {
        let place = self.union.members[self.routes].place(switch);
        let member = plan.map(|plan| (plan, &self.union.members[plan]));
        let cells = member.and_then(|(plan, member)| {
            let (row, _) = self.union.row(plan, (place, in_port), code)?;
            Some(member.rules.as_ref()?.lookup.numbered(row).1)
        });
        Row {
            cells: cells.unwrap_or_default(),
            meaning: member.map(|(_, member)| member.written(code)),
            only_lossless,
        }
    }
}

/// The first switch of a failover plan which may lack its tables in some of these moments. Its
/// packets carry its version, which chooses both their tags and their route.
pub(super) fn lacking<'a>(
    union: &Union<'a>,
    plan: PlanIndex,
    moments: &[Moment<'_>],
) -> Option<&'a str> {
    let lacks = |switch: &&UnionSwitch<'_>| {
        let mut held = moments.iter().filter_map(|m| m.rules.get(switch.name));
        switch.ids[plan].is_some() && held.any(|held| !held.contains(&plan))
    };
    union.switches.iter().find(lacks).map(|switch| switch.name)
}

/// All that a switch may hold while it forwards by a plan, in some moments and the steps between
/// them. In a step new rules are inserted, then forwarding changes, then old rules are deleted.
fn holdings<'a>(
    moments: &'a [Moment<'a>],
    routes: PlanIndex,
    switch: &str,
) -> BTreeSet<Holding<'a>> {
    let mut held = BTreeSet::new();
    let mut add = |moment: &'a Moment<'a>, only_lossless: bool| {
        held.extend(moment.rules.get(switch).map(|plans| Holding {
            plans,
            only_lossless,
        }));
    };
    for moment in moments.iter().filter(|moment| moment.forwarding == routes) {
        add(moment, false);
    }
    for step in moments.windows(2) {
        let [before, after] = step else { continue };
        match (before.forwarding == routes, after.forwarding == routes) {
            (true, false) => add(after, true),
            (false, true) => add(before, true),
            _ => {}
        }
    }
    held
}

impl Marking for &Packets<'_> {
    fn tag_count(&self) -> usize {
        self.union.codes.len()
    }

    fn rows(&self, switch: SwitchId, tag: TagIx, in_port: PortId) -> impl Iterator<Item = Row<'_>> {
        let readers = self.readers(switch, tag).into_iter();
        readers.map(move |reader| self.row(reader, switch, tag, in_port))
    }

    fn are_alike(&self, _: SwitchId, _: TagIx, [a, b]: [PortId; 2]) -> bool {
        a == b
    }

    fn name(&self, tag: TagIx) -> Tag {
        let plans = std::iter::once(self.sent).chain(0..self.union.members.len());
        let mut named = plans.filter_map(|plan| {
            let member = &self.union.members[plan];
            let (_, tag) = member.reads(tag)?;
            member
                .rules
                .as_ref()
                .map(|rules| rules.lookup.tags[usize::from(tag)])
        });
        named.next().unwrap_or(Tag::new(0))
    }
}

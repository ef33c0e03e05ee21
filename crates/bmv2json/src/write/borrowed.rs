//! Sub-parsers that several calls share.
//!
//! In the IR, a block that is applied twice works on the places of its first caller: later calls
//! save these places, fill them, call, and put everything back. BMv2 ends a parser at once where
//! the packet is too short, so that nothing would be put back. States of a sub-parser are written
//! once per call; here each call gets its own places instead, and there is nothing to put back.

use std::collections::BTreeSet;

use p4ir::{Assign, Block, Callee, ExprKind, ParserId, Place, Program, StmtKind, VarKind};

use super::steps::{Renames, Step};
use super::{Note, Write, Writer, place_of};

impl Writer<'_> {
    /// Where a place of the parser that is being written really is.
    pub(super) fn renamed(&self, place: &Place) -> Place {
        let inside = |(from, to): &(Place, Place)| {
            let rest = place.path.strip_prefix(from.path.as_slice())?;
            let same = place.var == from.var;
            same.then(|| Place {
                var: to.var,
                path: [&to.path, rest].concat(),
            })
        };
        self.renames
            .iter()
            .find_map(inside)
            .unwrap_or_else(|| place.clone())
    }

    /// The call of a sub-parser: its copies, and what its places are. Copies that are left, which a
    /// parser that ends early would have to make, are noted.
    pub(super) fn call_parser(
        &mut self,
        parser: ParserId,
        copy_in: &[Assign],
        copy_out: &Block,
        steps: &mut Vec<Step>,
    ) -> Write<()> {
        let renames = self.own_places(copy_in, copy_out);
        for copy in copy_in {
            let is_save = |(from, _): &(Place, Place)| self.saves(copy, from, copy_out);
            if renames.iter().any(is_save) {
                continue;
            }
            match renames.iter().find(|(from, _)| *from == copy.dst) {
                Some((_, to)) => steps.extend(self.assign(&Assign {
                    dst: to.clone(),
                    value: copy.value,
                })?),
                None => steps.extend(self.assign(copy)?),
            }
        }
        let stages: Vec<&Place> = assigned(copy_out)
            .filter(|a| renames.iter().any(|(from, _)| self.reads(a, from)))
            .map(|a| &a.dst)
            .collect();
        let made = |kind: &StmtKind| match kind {
            StmtKind::Assign(a) => {
                let restored = renames.iter().any(|(from, _)| *from == a.dst);
                let staged = stages.iter().any(|s| a.dst == **s || self.reads(a, s));
                restored || staged
            }
            _ => false,
        };
        let left: Block = copy_out
            .iter()
            .filter(|s| !made(&s.kind))
            .cloned()
            .collect();
        if !left.is_empty() && can_be_short(self.p, parser) {
            self.notes.push(Note {
                place: place_of(self.p, self.span),
                what: "the results of this sub-parser are copied, and BMv2 does not copy them if the packet ends in \
                       the sub-parser: give it whole variables that nothing else of the call is a part of"
                    .into(),
                of_packets: true,
            });
        }
        let after = self.block(&left)?;
        steps.push(Step::Sub(parser, after, renames));
        Ok(())
    }

    /// The places that a call borrows, and what may stand for them: the place that gets the result,
    /// or the one where the borrowed place would be saved.
    fn own_places(&self, copy_in: &[Assign], copy_out: &Block) -> Renames {
        let mut made: Renames = Vec::new();
        for save in copy_in {
            let ExprKind::Read(from) = &self.p.exprs[save.value].kind else {
                continue;
            };
            if !self.saves(save, from, copy_out) {
                continue;
            }
            // Another argument of this call is the place, or shares something with it.
            let restores = |a: &&Assign| self.reads(a, &save.dst);
            let others: Vec<&Assign> = assigned(copy_out).filter(|a| !restores(a)).collect();
            if others.iter().any(|a| a.dst.overlaps(from)) {
                return Vec::new();
            }
            let stage = assigned(copy_out).find(|a| self.reads(a, from));
            let result =
                stage.and_then(|stage| assigned(copy_out).find(|a| self.reads(a, &stage.dst)));
            match result {
                // Of results that share something, the last one counts.
                Some(result) if share(&others, &result.dst) > 1 => return Vec::new(),
                Some(result) => made.push((from.clone(), result.dst.clone())),
                // A result that goes elsewhere is copied.
                None if stage.is_some() => return Vec::new(),
                None => made.push((from.clone(), save.dst.clone())),
            }
        }
        // Old places stay what they are unless this call gives them others.
        let composed: Renames = made
            .iter()
            .map(|(from, to)| (from.clone(), self.renamed(to)))
            .chain(self.renames.iter().cloned())
            .collect();
        let separate = composed.iter().enumerate().all(|(i, (_, to))| {
            let others = composed.iter().take(i).map(|(_, other)| other);
            let froms = composed.iter().map(|(from, _)| from);
            to.is_static() && !others.chain(froms).any(|other| to.overlaps(other))
        });
        match separate {
            true => made,
            false => Vec::new(),
        }
    }

    /// Whether an assignment saves a borrowed place: it is put back from there. An argument that is
    /// copied in and out is no place that is saved.
    fn saves(&self, save: &Assign, from: &Place, copy_out: &Block) -> bool {
        self.reads(save, from)
            && self.p.vars[save.dst.var].kind == VarKind::Temp
            && assigned(copy_out).any(|a| a.dst == *from && self.reads(a, &save.dst))
    }

    fn reads(&self, assign: &Assign, place: &Place) -> bool {
        matches!(&self.p.exprs[assign.value].kind, ExprKind::Read(from) if from == place)
    }

    /// Goes into a call whose places are these; what to come back to.
    pub(super) fn enter(&mut self, renames: &Renames) -> Renames {
        let inner = renames
            .iter()
            .map(|(from, to)| (from.clone(), self.renamed(to)))
            .chain(self.renames.iter().cloned())
            .collect();
        std::mem::replace(&mut self.renames, inner)
    }
}

/// The assignments of a block that always happen.
fn assigned(block: &Block) -> impl Iterator<Item = &Assign> {
    block.iter().filter_map(|s| match &s.kind {
        StmtKind::Assign(a) => Some(a),
        _ => None,
    })
}

/// How many assignments write to a place or to what shares something with it.
fn share(assigns: &[&Assign], place: &Place) -> usize {
    assigns.iter().filter(|a| a.dst.overlaps(place)).count()
}

/// Whether a parser, or one that it calls, takes something from the packet.
fn can_be_short(p: &Program, parser: ParserId) -> bool {
    let mut open = vec![parser];
    let mut seen = BTreeSet::new();
    while let Some(parser) = open.pop() {
        if !seen.insert(parser) {
            continue;
        }
        for state in p.state_order(p.parsers[parser].start).states {
            let mut blocks = vec![&p.states[state].body];
            while let Some(block) = blocks.pop() {
                for statement in block {
                    match &statement.kind {
                        StmtKind::Extract { .. }
                        | StmtKind::ExtractVarbit { .. }
                        | StmtKind::Lookahead { .. }
                        | StmtKind::Advance { .. } => return true,
                        StmtKind::Call {
                            callee: Callee::Parser(inner),
                            ..
                        } => open.push(*inner),
                        _ => blocks.extend(statement.kind.blocks()),
                    }
                }
            }
        }
    }
    false
}

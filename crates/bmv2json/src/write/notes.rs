//! What a file says that BMv2 does otherwise than P4Runtime and the source have it.

use std::collections::BTreeMap;
use std::fmt;

use p4ir::{
    Block, Callee, Entity, ExternCallee, ExternFunction, Pipeline, Program, Span, StmtKind,
};

use super::place_of;

/// A difference that a user of the file should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// File, line and column in the P4 source, with a colon behind; empty where they are not known.
    pub place: String,
    /// What BMv2 does.
    pub what: String,
    /// Whether packets can come out otherwise than the source says.
    pub of_packets: bool,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.what)
    }
}

/// What BMv2 does otherwise with a program, in order of tables, digests last.
pub(super) fn notes(program: &Program) -> Vec<Note> {
    let Some(Pipeline::V1Model(blocks)) = program.pipeline() else {
        return Vec::new();
    };
    let initial = program.tables.values().filter(|table| {
        let is_direct = table.implementation.is_none();
        is_direct && !table.entries.is_empty() && !table.const_entries
    });
    let mut found: Vec<Note> = initial
        .map(|table| Note {
            place: place_of(program, table.span),
            what: format!(
                "table `{}` has initial entries, which BMv2 takes for const entries: it refuses to add, change or delete any",
                table.name
            ),
            of_packets: false,
        })
        .collect();
    let mut digests = Digests {
        program,
        known: BTreeMap::new(),
    };
    let ingress = &program.controls[blocks.ingress];
    let made = digests.of_block(&ingress.body);
    if made.most > 1 {
        found.push(Note {
            place: made
                .last
                .map_or_else(String::new, |span| place_of(program, span)),
            what: "one packet may make more than one digest; BMv2 sends the last of them only"
                .into(),
            of_packets: false,
        });
    }
    found
}

/// Digests that one run of something makes at most, and a place of the last.
#[derive(Clone, Copy, Default)]
struct DigestCount {
    most: u32,
    last: Option<Span>,
}

impl DigestCount {
    fn then(self, next: Self) -> Self {
        Self {
            most: self.most.saturating_add(next.most),
            last: next.last.or(self.last),
        }
    }

    fn or(self, other: Self) -> Self {
        match other.most > self.most {
            true => other,
            false => self,
        }
    }
}

struct Digests<'p> {
    program: &'p Program,
    /// Actions, functions, controls (0, 1, 2) and tables (3), by number.
    known: BTreeMap<(u8, usize), DigestCount>,
}

impl Digests<'_> {
    fn of_block(&mut self, block: &Block) -> DigestCount {
        let mut made = DigestCount::default();
        for statement in block {
            let next = match &statement.kind {
                StmtKind::Extern(call)
                    if matches!(call.callee, ExternCallee::Function(ExternFunction::Digest)) =>
                {
                    DigestCount {
                        most: 1,
                        last: Some(statement.span),
                    }
                }
                StmtKind::Call { callee, .. } => self.of_callee(*callee),
                StmtKind::ApplyTable { table, .. } => {
                    let actions = &self.program.tables[*table].actions;
                    self.of_known((3, table.index()), |d| {
                        let callees = actions.iter().map(|a| Callee::Action(a.action));
                        callees.fold(DigestCount::default(), |most, c| most.or(d.of_callee(c)))
                    })
                }
                StmtKind::Loop {
                    head, body, step, ..
                } => {
                    let parts = [head, body, step].map(|b| self.of_block(b));
                    let [head, body, step] = parts;
                    let round = head.then(body).then(step);
                    round.then(round)
                }
                branching => {
                    let blocks = branching.blocks();
                    let each = blocks.into_iter().map(|block| self.of_block(block));
                    each.fold(DigestCount::default(), DigestCount::or)
                }
            };
            made = made.then(next);
        }
        made
    }

    fn of_callee(&mut self, callee: Callee) -> DigestCount {
        let program = self.program;
        let (key, body) = match callee {
            Callee::Action(id) => ((0, id.index()), &program.actions[id].body),
            Callee::Function(id) => ((1, id.index()), &program.functions[id].body),
            Callee::Control(id) => ((2, id.index()), &program.controls[id].body),
            Callee::Parser(_) => return DigestCount::default(),
        };
        self.of_known(key, |d| d.of_block(body))
    }

    fn of_known(
        &mut self,
        key: (u8, usize),
        find: impl FnOnce(&mut Self) -> DigestCount,
    ) -> DigestCount {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let made = find(self);
        self.known.insert(key, made);
        made
    }
}

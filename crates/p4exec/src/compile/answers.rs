//! What look-ups came to lately: per table, a small direct-mapped store from key words to the
//! action that is run, its data, and whether an entry matched. Compiled code asks here before it
//! asks the helper, which writes the answer down.
//!
//! An answer is more than what [`Memo`](super::memo::Memo) keeps, which knows only the entry: it
//! holds only of tables whose look-ups change nothing (no direct counters or meters, no times) and
//! pick nothing (no profile), and as long as the table is the one, at the place in memory, that the
//! answer was found in.

use p4ir::{Entity as _, ValidProgram};

use super::epoch::{Changed, LookupCache};
use super::memo::{KEY_WORDS, LINES};

/// An answer: one line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Answer {
    /// Zero behind the words that the table's keys have.
    pub(super) key: [u64; KEY_WORDS],
    /// [`Place::epoch`] when it was found.
    pub(super) epoch: u64,
    /// The action's place in the table's list, all ones if there is nothing to run.
    pub(super) position: u64,
    /// The address of its data.
    pub(super) args: u64,
    /// Whether an entry matched.
    pub(super) hit: u64,
}

/// Where a table's answers are.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Place {
    /// The address of [`LINES`] answers, 0 if none are kept.
    pub(super) lines: u64,
    /// The epoch of the table: answers of another one do not hold. Never zero where answers are
    /// kept.
    pub(super) epoch: u64,
}

/// The answers of the tables of a program.
#[derive(Debug)]
pub(super) struct Answers {
    /// By table: its answers, if they may be kept.
    lines: Vec<Option<Vec<Answer>>>,
    /// By table.
    places: Vec<Place>,
}

impl Answers {
    /// No answers yet, of the tables of a program whose answers may be kept.
    pub(super) fn new(program: &ValidProgram) -> Self {
        let tables = program.tables.iter();
        let lines = tables.map(|(_, table)| is_plain(table).then(Vec::new));
        Self {
            lines: lines.collect(),
            places: vec![Place::default(); program.tables.len()],
        }
    }

    /// Where each table's answers are.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }
}

impl LookupCache for Answers {
    /// None are kept while look-ups are made ahead, whose answers would wait in vain.
    fn renew(&mut self, changed: &Changed<'_>) {
        let (at, table) = (changed.id.index(), changed.table);
        let Some(lines) = &mut self.lines[at] else {
            return;
        };
        let place = &mut self.places[at];
        place.epoch = changed.epoch;
        let short = is_short(table.layout().dense_words());
        let basis = changed.basis;
        if !short || table.is_quick() || basis.leaves_marks || basis.looks_ahead {
            place.lines = 0;
            return;
        }
        lines.resize(LINES, Answer::default());
        place.lines = lines.as_mut_ptr().expose_provenance() as u64;
    }
}

/// Whether look-ups of a table change nothing and pick nothing, but for times, which entries may
/// keep.
pub(super) fn is_plain(table: &p4ir::Table) -> bool {
    table.direct.is_empty() && table.implementation.is_none()
}

/// Whether answers may be kept for keys of so many words.
pub(super) fn is_short(words: usize) -> bool {
    (1..=KEY_WORDS).contains(&words)
}

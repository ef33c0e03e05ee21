//! What look-ups came to lately: per table, a small direct-mapped store from key words to the
//! action that is run, its data, and whether an entry matched. Compiled code asks here before it
//! asks the helper, which writes the answer down.
//!
//! An answer is more than what [`Memo`](super::memo::Memo) keeps, which knows only the entry: it
//! holds only of tables whose look-ups change nothing (no direct counters or meters, no times) and
//! pick nothing (no profile), and as long as the table is the one, at the place in memory, that the
//! answer was found in.

use p4ir::{Entity as _, TableId, ValidProgram};

use super::memo::{KEY_WORDS, LINES};
use crate::state::{RuntimeState, TableCells};
use crate::tables::Table;
use crate::tables::revision::Revision;

/// An answer: one line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Answer {
    /// Zero behind the words that the table's keys have.
    pub(super) key: [u64; KEY_WORDS],
    /// [`Place::generation`] when it was found.
    pub(super) generation: u64,
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
    /// Grows when the table changes: older answers do not hold. Never zero where answers are kept.
    pub(super) generation: u64,
}

/// A table and where it has its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    revision: Revision,
    rows: usize,
    default_row: usize,
}

impl Stamp {
    fn of(table: &Table) -> Self {
        Self {
            revision: table.revision(),
            rows: table.rows_at(),
            default_row: table.default_row().map_or(0, |row| row.as_ptr().addr()),
        }
    }
}

/// The answers of one table.
#[derive(Debug)]
struct Kept {
    table: TableId,
    stamp: Option<Stamp>,
    lines: Vec<Answer>,
}

/// The answers of the tables of a program.
#[derive(Debug)]
pub(super) struct Answers {
    kept: Vec<Kept>,
    /// By table.
    places: Vec<Place>,
}

impl Answers {
    /// No answers yet, of the tables of a program whose answers may be kept.
    pub(super) fn new(program: &ValidProgram) -> Self {
        let tables = program.tables.iter();
        let kept = tables
            .filter(|(_, table)| is_plain(table))
            .map(|(table, _)| Kept {
                table,
                stamp: None,
                lines: Vec::new(),
            });
        Self {
            kept: kept.collect(),
            places: vec![Place::default(); program.tables.len()],
        }
    }

    /// Brings the places in line with the state. None are kept while look-ups are made ahead, whose
    /// answers would wait in vain.
    pub(super) fn refresh(&mut self, state: &RuntimeState, looks_ahead: bool) {
        let RuntimeState { control, data } = state;
        for kept in &mut self.kept {
            let place = &mut self.places[kept.table.index()];
            let marks = data.cells(kept.table).is_some_and(TableCells::keeps);
            let table = control.known_table(kept.table);
            let table = table.filter(|table| {
                let short = is_short(table.layout().dense_words());
                short && !table.is_quick() && !marks && !looks_ahead
            });
            let Some(table) = table else {
                place.lines = 0;
                continue;
            };
            let stamp = Some(Stamp::of(table));
            if kept.stamp != stamp {
                kept.stamp = stamp;
                place.generation += 1;
            }
            kept.lines.resize(LINES, Answer::default());
            place.lines = kept.lines.as_mut_ptr().expose_provenance() as u64;
        }
    }

    /// Where each table's answers are.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
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

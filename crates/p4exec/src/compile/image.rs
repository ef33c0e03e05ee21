//! Small tables as compiled code reads them by itself: a copy of the entries, and of the actions
//! they come to, in one run of words.
//!
//! An image is a copy so that compiled code holds no pointer into the state, which the control
//! plane changes and swaps between two calls. It is made anew with every
//! [`Epoch`](super::epoch::Epoch) of its table; a table that does not suit has none, and compiled
//! code calls [`Runtime::apply`](super::runtime::Runtime::apply) for it.
//!
//! ```text
//! from 0     whether it is a hit, by entry, winners first; what is said of a miss is said of those that are not there, and always
//!            behind the last of [`MOST`], here and below
//! then       columns: 32 bits of the masks of all entries, those of their values (without masks where every bit counts). Entries
//!            that are not there have zeroes: whether they match does not matter
//! then       by entry, too. Without a profile: the action's place in the table's list ([`NOTHING`] for none). With a profile:
//!            a [`Choice`]
//! then       rows. Without a profile, one by entry: the action's data. With a profile, one by place: the action's place in the
//!            table's list, then its data
//! ```
//!
//! Rows of a table are equally long, so that where one is follows from its number without another
//! load.

use p4ir::{Entity as _, TableId};

use super::epoch::{Changed, LookupCache};
use crate::ports::PortSet;
use crate::state::{ProfileState, RuntimeState};
use crate::tables::action::most_arg_words;
use crate::tables::small_table::MAX_ENTRIES;
use crate::tables::{ActionWord, GroupId, KeyForm, KeyLayout, MemberId, RowKind, Slot, Table};

/// Entries that compiled code compares in one go.
pub(super) const FEW: usize = 4;
/// Entries that it compares in one go if there are more.
pub(super) const MOST: usize = MAX_ENTRIES;

/// The place of no action.
pub(super) const NOTHING: u64 = u64::MAX;

/// Images beyond so many words are not made: copying them would cost more than it gains.
const MAX_WORDS: usize = 1 << 14;

/// Entries of which something is said: those, and the miss.
const SAID: usize = MOST + 1;

/// Where it is said whether it is a hit, in bytes.
pub(super) const HITS: usize = 0;
/// Where columns begin, in bytes.
pub(super) const COLUMNS: usize = HITS + 8 * SAID;
/// Bytes of 32 bits of all entries.
pub(super) const LANES: usize = 4 * MOST;
/// [`Choice::mask`] where the number of places is no power of two.
pub(super) const ANY_COUNT: u64 = u64::MAX;

/// How places of a profile are picked from.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Choice {
    /// How many there are.
    pub(super) count: u64,
    /// 2^64 divided by that, rounded up.
    pub(super) inverse: u64,
    /// The byte offset of their rows.
    pub(super) rows: u64,
    /// What leaves a place of a hash if their number is a power of two, [`ANY_COUNT`] else.
    pub(super) mask: u64,
}

/// Words of a [`Choice`].
pub(super) const CHOICE: usize = size_of::<Choice>() / 8;

/// Where what follows the columns begins, in bytes, and how long a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Where it is said which actions entries come to, or how places are picked.
    pub(super) said: usize,
    /// Where rows begin.
    pub(super) rows: usize,
    /// Words of a row: a power of two.
    pub(super) row_words: usize,
}

impl Shape {
    pub(super) fn of(table: &Table) -> Self {
        let (spec, layout) = (table.spec(), table.layout());
        let (words_said, data_at) = if spec.indirect { (CHOICE, 1) } else { (1, 0) };
        let data = most_arg_words(&spec.actions);
        let vectors = columns(layout).len() * if is_masked(layout) { 2 } else { 1 };
        let said = COLUMNS + vectors * LANES;
        Self {
            said,
            rows: said + 8 * words_said * SAID,
            row_words: (data_at + data).max(1).next_power_of_two(),
        }
    }
}

/// Whether entries have masks.
pub(super) fn is_masked(layout: &KeyLayout) -> bool {
    layout.form() != KeyForm::Exact
}

/// Bits of a key that a column has.
const COLUMN_BITS: u32 = 32;

/// The columns of a table: the word of the dense key, and how far up its 32 bits stand there.
pub(super) fn columns(layout: &KeyLayout) -> Vec<(usize, u32)> {
    let of_word = |word| {
        let bits = layout.dense_bits(word);
        (0..bits.div_ceil(COLUMN_BITS)).map(move |nth| (word, nth * COLUMN_BITS))
    };
    (0..layout.dense_words()).flat_map(of_word).collect()
}

/// Where a table's image is, 0 if it has none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Addresses {
    /// Of an image of one entry or none.
    pub(super) one: u64,
    /// Of one of up to [`FEW`] entries.
    pub(super) few: u64,
    /// Of any.
    pub(super) any: u64,
}

/// The images of the tables of a program.
#[derive(Debug)]
pub(super) struct Images {
    /// By table: the words of its image, if compiled code looks it up by itself while it has one.
    words: Vec<Option<Vec<u64>>>,
    /// By table.
    addresses: Vec<Addresses>,
}

impl Images {
    /// Room for the images of the tables in `looked_up`, of a program that has `tables` tables.
    pub(super) fn new(tables: usize, looked_up: &[TableId]) -> Self {
        let mut words = vec![None; tables];
        for id in looked_up {
            words[id.index()] = Some(Vec::new());
        }
        Self {
            addresses: vec![Addresses::default(); tables],
            words,
        }
    }

    /// Where each table's image is.
    pub(super) fn addresses(&self) -> &[Addresses] {
        &self.addresses
    }
}

impl LookupCache for Images {
    fn renew(&mut self, changed: &Changed<'_>) {
        let Changed {
            id, table, state, ..
        } = *changed;
        let Some(words) = &mut self.words[id.index()] else {
            return;
        };
        words.clear();
        let made = !changed.basis.leaves_marks && draw(words, (id, table), state).is_some();
        let any = if made && words.len() <= MAX_WORDS {
            words.as_ptr().expose_provenance() as u64
        } else {
            0
        };
        let up_to = |count| if table.len() <= count { any } else { 0 };
        self.addresses[id.index()] = Addresses {
            one: up_to(1),
            few: up_to(FEW),
            any,
        };
    }
}

/// Draws a table; `None` if it does not suit.
fn draw(words: &mut Vec<u64>, (id, table): (TableId, &Table), state: &RuntimeState) -> Option<()> {
    let control = &state.control;
    let entries = table.small().entries()?;
    let program = control.program();
    let layout = table.layout();
    let shape = Shape::of(table);
    words.extend((0..SAID).map(|nth| u64::from(nth < entries.len())));
    for (word, up) in columns(layout) {
        let dense = layout.dense_words();
        let lane = |at: usize| move |entry: &[u64]| (entry[at] >> up) as u32;
        if is_masked(layout) {
            push_lanes(words, &entries, lane(word));
        }
        push_lanes(words, &entries, lane(dense + word));
    }
    words.resize(shape.rows / 8, 0);
    let slots = entries.iter().map(|(_, slot)| Some(*slot));
    let slots = slots
        .chain(std::iter::repeat(None))
        .take(MOST)
        .chain([None]);
    let profile = program.tables[id].implementation;
    let mut artist = Artist {
        table,
        shape,
        words,
    };
    match profile.and_then(|profile| control.profile_state(profile).ok()) {
        None => {
            for (nth, slot) in slots.enumerate() {
                artist.own(nth, slot)?;
            }
        }
        Some(profile) => {
            let miss = artist.miss();
            for (nth, slot) in slots.enumerate() {
                let choice = match slot {
                    Some(slot) => artist.choice(slot, profile, state.data.ports())?,
                    None => miss,
                };
                artist.say(nth, choice);
            }
        }
    }
    Some(())
}

/// Appends 32 bits of every entry, as a vector of them is read.
fn push_lanes(words: &mut Vec<u64>, entries: &[(&[u64], Slot)], of: impl Fn(&[u64]) -> u32) {
    let mut lanes = [[0; 4]; MOST];
    for (lane, (entry, _)) in lanes.iter_mut().zip(entries) {
        *lane = of(entry).to_ne_bytes();
    }
    let (pairs, _) = lanes.as_flattened().as_chunks();
    words.extend(pairs.iter().map(|pair| u64::from_ne_bytes(*pair)));
}

struct Artist<'a> {
    table: &'a Table,
    shape: Shape,
    words: &'a mut Vec<u64>,
}

impl<'a> Artist<'a> {
    /// Draws a row, filled up with zeroes.
    fn row(&mut self, words: impl IntoIterator<Item = u64>) {
        let end = self.words.len() + self.shape.row_words;
        self.words.extend(words);
        debug_assert!(self.words.len() <= end, "no action has more data");
        self.words.resize(end, 0);
    }

    /// The place of a row's action in the table's list, and its data.
    fn parts(row: &[u64]) -> (u64, &[u64]) {
        match row {
            [word, data @ ..] => (u64::from(ActionWord(*word).position()), data),
            [] => (NOTHING, &[]),
        }
    }

    fn default_row(&self) -> &'a [u64] {
        self.table.default_row().unwrap_or_default()
    }

    /// Draws what an entry or a miss comes to in a table without a profile; `None` if that cannot
    /// be drawn.
    fn own(&mut self, nth: usize, slot: Option<Slot>) -> Option<()> {
        let row = match slot {
            Some(slot) => {
                let row = self.table.action_row(slot);
                (ActionWord(row[0]).kind() == RowKind::Call).then_some(row)?
            }
            None => self.default_row(),
        };
        let (position, data) = Self::parts(row);
        self.words[self.shape.said / 8 + nth] = position;
        self.row(data.iter().copied());
        Some(())
    }

    /// Says how places are picked for an entry or a miss.
    fn say(&mut self, nth: usize, choice: Choice) {
        let at = self.shape.said / 8 + nth * CHOICE;
        let Choice {
            count,
            inverse,
            rows,
            mask,
        } = choice;
        self.words[at..at + CHOICE].copy_from_slice(&[count, inverse, rows, mask]);
    }

    /// Draws the rows of some places, each as often as its weight says.
    fn places<'r>(&mut self, rows: impl IntoIterator<Item = (u32, u64, &'r [u64])>) -> Choice {
        let (at, mut count) = (self.words.len(), 0);
        for (weight, position, data) in rows {
            count += u64::from(weight);
            for _ in 0..weight {
                self.row(std::iter::once(position).chain(data.iter().copied()));
            }
        }
        let inverse = (u64::MAX / count.max(1)).wrapping_add(1);
        let mask = if count.is_power_of_two() {
            count - 1
        } else {
            ANY_COUNT
        };
        Choice {
            count,
            inverse,
            rows: at as u64 * 8,
            mask,
        }
    }

    /// The default action, whatever the hash.
    fn miss(&mut self) -> Choice {
        let (position, data) = Self::parts(self.default_row());
        self.places([(1, position, data)])
    }

    /// How an entry's places are picked; `None` if that cannot be drawn.
    fn choice(
        &mut self,
        slot: Slot,
        state: &'a ProfileState,
        ports: &'a PortSet,
    ) -> Option<Choice> {
        let table = self.table;
        let word = ActionWord(table.action_row(slot)[0]);
        let rows: Vec<(u32, &'a [u64])> = match word.kind() {
            RowKind::Call => return None,
            RowKind::Member => {
                let row = state.profile.member_row(MemberId(word.id()));
                row.map(|row| (1, row)).into_iter().collect()
            }
            RowKind::Group => {
                let group = GroupId(word.id());
                state.profile.group_rows(group, ports).collect()
            }
            RowKind::OneShot => table.one_shot_rows(slot, ports).collect(),
        };
        let places: u64 = rows.iter().map(|(weight, _)| u64::from(*weight)).sum();
        if places == 0 {
            // Nobody lives: the default action.
            return Some(self.miss());
        }
        let room = MAX_WORDS.saturating_sub(self.words.len()) / self.shape.row_words;
        if places > room as u64 {
            return None;
        }
        let rows = rows.into_iter().map(|(weight, row)| {
            // What other tables of the profile offer, and this one does not, is nothing here.
            match table.position_in_list(ActionWord(row[0])) {
                Some(position) => (weight, u64::from(position), &row[1..]),
                None => (weight, NOTHING, &[][..]),
            }
        });
        Some(self.places(rows))
    }
}

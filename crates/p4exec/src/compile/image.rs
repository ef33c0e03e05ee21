//! Small tables as compiled code reads them by itself: a copy of the entries, and of the actions they
//! come to, in one run of words.
//!
//! An image is a copy so that compiled code holds no pointer into the state, which the control plane
//! changes and swaps between two calls. It is made anew when the [`Revision`] of what it was made
//! from has changed; a table that does not suit has none, and compiled code calls
//! [`Runtime::apply`](super::runtime::Runtime::apply) for it.
//!
//! ```text
//! from 0     byte offset of what a hit comes to, by entry, winners first; what a miss comes to for those that are not there,
//!            and always behind the last of [`MOST`]
//! then       by entry, too: the action's place in the table's list, which only tables without a profile have
//! then       columns: 32 bits of the masks of all entries, those of their values (without masks where every bit counts). Entries
//!            that are not there have zeroes: whether they match does not matter
//! then       what entries come to. Without a profile, a row: the action's place in the table's
//!            list ([`NOTHING`] for none), then its data. With a profile, a pick: the number of
//!            places, 2^64 divided by it (rounded up), the byte offset of the row of each place
//! ```

use p4ir::{Entity as _, TableId, ValidProgram};

use crate::state::{ControlState, RuntimeState, TableCells};
use crate::tables::revision::Revision;
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

/// Where it is said what hits come to, in bytes.
pub(super) const HITS: usize = 0;
/// Where it is said what a miss comes to, in bytes.
pub(super) const MISS: usize = HITS + 8 * MOST;
/// Where it is said which actions that are, in bytes.
pub(super) const ACTIONS: usize = HITS + 8 * (MOST + 1);
/// Where columns begin, in bytes.
pub(super) const COLUMNS: usize = ACTIONS + 8 * (MOST + 1);
/// Bytes of 32 bits of all entries.
pub(super) const LANES: usize = 4 * MOST;

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

/// What an image was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    table: Revision,
    /// Profile and ports, if the table has a profile.
    choice: Option<(Revision, Revision)>,
}

#[derive(Debug, Default)]
struct Image {
    stamp: Option<Stamp>,
    words: Vec<u64>,
}

/// Where a table's image is, 0 if it has none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Addresses {
    /// Of an image of up to [`FEW`] entries.
    pub(super) few: u64,
    /// Of any.
    pub(super) any: u64,
}

/// The images of the tables of a program.
#[derive(Debug)]
pub(super) struct Images {
    /// The tables that compiled code looks up by itself, if they have an image.
    tables: Vec<(TableId, Image)>,
    /// By table.
    addresses: Vec<Addresses>,
}

impl Images {
    /// Images, not made yet, of these tables.
    pub(super) fn new(program: &ValidProgram, tables: Vec<TableId>) -> Self {
        Self {
            addresses: vec![Addresses::default(); program.tables.len()],
            tables: tables
                .into_iter()
                .map(|id| (id, Image::default()))
                .collect(),
        }
    }

    /// Images, not made yet, of the same tables of another switch.
    pub(super) fn sibling(&self, program: &ValidProgram) -> Self {
        Self::new(program, self.tables.iter().map(|(id, _)| *id).collect())
    }

    /// Brings the images in line with the state. Costs a comparison per table if nothing changed.
    pub(super) fn refresh(&mut self, program: &ValidProgram, state: &RuntimeState) {
        let RuntimeState { control, data } = state;
        for (id, image) in &mut self.tables {
            let Some(table) = control.known_table(*id) else {
                continue;
            };
            let profile = program.tables[*id].implementation;
            let profile = profile.and_then(|profile| control.profile_state(profile).ok());
            let stamp = Stamp {
                table: table.revision(),
                choice: profile.map(|p| (p.profile.revision(), data.ports_revision())),
            };
            if image.stamp == Some(stamp) {
                continue;
            }
            image.stamp = Some(stamp);
            image.words.clear();
            let keeps = data.cells(*id).is_some_and(TableCells::keeps);
            let made = !keeps && draw(&mut image.words, (*id, table), state, control).is_some();
            let any = if made && image.words.len() <= MAX_WORDS {
                image.words.as_ptr().expose_provenance() as u64
            } else {
                0
            };
            let few = if table.len() <= FEW { any } else { 0 };
            self.addresses[id.index()] = Addresses { few, any };
        }
    }

    /// Where each table's image is.
    pub(super) fn addresses(&self) -> &[Addresses] {
        &self.addresses
    }
}

/// Draws a table; `None` if it does not suit.
fn draw(
    words: &mut Vec<u64>,
    (id, table): (TableId, &Table),
    state: &RuntimeState,
    control: &ControlState,
) -> Option<()> {
    let entries = table.small().entries()?;
    words.resize(COLUMNS / 8, 0);
    let layout = table.layout();
    for (word, up) in columns(layout) {
        let dense = layout.dense_words();
        let lane = |at: usize| move |entry: &[u64]| (entry[at] >> up) as u32;
        if layout.form() != KeyForm::Exact {
            push_lanes(words, &entries, lane(word));
        }
        push_lanes(words, &entries, lane(dense + word));
    }
    let program = control.program();
    let profile = program.tables[id].implementation;
    let mut artist = Artist {
        table,
        profile: profile.and_then(|profile| control.profile_state(profile).ok()),
        state,
        words,
    };
    let miss = artist.default_row();
    let miss = artist.target(&[(1, miss)]);
    artist.words[HITS / 8..ACTIONS / 8].fill(miss);
    for (nth, (_, slot)) in entries.iter().enumerate() {
        artist.words[HITS / 8 + nth] = artist.entry(*slot)?;
    }
    if artist.profile.is_none() {
        for nth in 0..=MOST {
            let row = artist.words[HITS / 8 + nth] / 8;
            artist.words[ACTIONS / 8 + nth] = artist.words[row as usize];
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

/// A byte offset.
const fn bytes(words: usize) -> u64 {
    words as u64 * 8
}

struct Artist<'a> {
    table: &'a Table,
    profile: Option<&'a crate::state::ProfileState>,
    state: &'a RuntimeState,
    words: &'a mut Vec<u64>,
}

impl<'a> Artist<'a> {
    /// Draws a row; where it is.
    fn row(&mut self, position: Option<u32>, args: &[u64]) -> u64 {
        let at = bytes(self.words.len());
        self.words.push(position.map_or(NOTHING, u64::from));
        self.words.extend_from_slice(args);
        at
    }

    /// The same for a row of the table's own.
    fn own_row(&mut self, row: &[u64]) -> u64 {
        match row {
            [word, args @ ..] => self.row(Some(ActionWord(*word).position()), args),
            [] => self.row(None, &[]),
        }
    }

    fn default_row(&mut self) -> u64 {
        let table = self.table;
        self.own_row(table.default_row().unwrap_or_default())
    }

    /// What an entry or a miss comes to, from rows with their weights.
    fn target(&mut self, rows: &[(u32, u64)]) -> u64 {
        if let (None, [(_, row)]) = (self.profile, rows) {
            return *row;
        }
        let at = bytes(self.words.len());
        let places: u64 = rows.iter().map(|(weight, _)| u64::from(*weight)).sum();
        self.words.push(places);
        self.words.push((u64::MAX / places.max(1)).wrapping_add(1));
        for (weight, row) in rows {
            let places = std::iter::repeat_n(*row, *weight as usize);
            self.words.extend(places);
        }
        at
    }

    /// What an entry comes to; `None` if that cannot be drawn.
    fn entry(&mut self, slot: Slot) -> Option<u64> {
        let (table, ports) = (self.table, self.state.data.ports());
        let row = table.action_row(slot);
        let word = ActionWord(row[0]);
        let Some(state) = self.profile else {
            return (word.kind() == RowKind::Call).then(|| self.own_row(row));
        };
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
            let row = self.default_row();
            return Some(self.target(&[(1, row)]));
        }
        if places as usize + self.words.len() > MAX_WORDS {
            return None;
        }
        let rows: Vec<(u32, u64)> = rows
            .into_iter()
            .map(|(weight, row)| {
                let position = table.position_in_list(ActionWord(row[0]));
                (weight, self.row(position, &row[1..]))
            })
            .collect();
        Some(self.target(&rows))
    }
}

//! Actions in packed form: a word that says what to run, and the argument words behind it.
//!
//! Arguments lie in parameter order, `ceil(width / 64)` words each, **low word first** (the order
//! compiled code loads them in).

use std::fmt;

use p4ir::{ActionId, Entity as _};
use smallvec::SmallVec;

use super::entry::{
    ActionCall, ActionSpec, EntryAction, GroupId, MemberId, TableError, TableSpec, WeightedCall,
};
use super::packing;
use crate::value::Bits;

/// What an action row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// An action with its arguments.
    Call,
    /// A member of the table's action profile.
    Member,
    /// A group of it.
    Group,
    /// A set of its own.
    OneShot,
}

/// The first word of an action row: kind in bits 56 to 63; for a call, the action's position in its
/// table's list in bits 32 to 55; in bits 0 to 31 the number of the action, member or group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ActionWord(pub u64);

impl ActionWord {
    /// A call.
    #[must_use]
    pub fn call(position: usize, action: ActionId) -> Self {
        Self((position as u64 & 0xff_ffff) << 32 | (action.index() as u64 & 0xffff_ffff))
    }

    /// A member.
    #[must_use]
    pub const fn member(id: MemberId) -> Self {
        Self(1 << 56 | id.0 as u64)
    }

    /// A group.
    #[must_use]
    pub const fn group(id: GroupId) -> Self {
        Self(2 << 56 | id.0 as u64)
    }

    /// A one-shot set.
    pub(crate) const fn one_shot() -> Self {
        Self(3 << 56)
    }

    /// What the row is about.
    #[must_use]
    pub const fn kind(self) -> RowKind {
        match self.0 >> 56 {
            0 => RowKind::Call,
            1 => RowKind::Member,
            2 => RowKind::Group,
            _ => RowKind::OneShot,
        }
    }

    /// A call's position in the action list of its table.
    #[must_use]
    pub const fn position(self) -> u32 {
        (self.0 >> 32) as u32 & 0xff_ffff
    }

    /// The number of the action, member or group.
    #[must_use]
    pub const fn id(self) -> u32 {
        self.0 as u32
    }

    /// The action of a call.
    #[must_use]
    pub fn action(self) -> ActionId {
        ActionId::new(self.id() as usize)
    }
}

impl fmt::Debug for ActionWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} at {}", self.kind(), self.id(), self.position())
    }
}

/// Words of a call that take no allocation.
const SHORT_CALL: usize = 3;

/// A call of a table's action in packed form: the action word, then argument words. Made by
/// [`TableSpec::start_call`] and [`TableSpec::set_arg`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedCall(SmallVec<[u64; SHORT_CALL]>);

impl TableSpec {
    /// Begins a call of an action with all arguments zero; [`TableSpec::set_arg`] fills them.
    ///
    /// # Errors
    /// [`TableError`] if entries do not call actions, or not this one.
    pub fn start_call(&self, action: ActionId) -> Result<PackedCall, TableError> {
        if self.indirect {
            return Err(TableError::Implementation {
                table: self.name.clone(),
                indirect: true,
            });
        }
        let (position, spec) = find(&self.name, &self.actions, action, false)?;
        let mut words = SmallVec::new();
        words.push(ActionWord::call(position, action).0);
        words.resize(1 + arg_words(spec), 0);
        Ok(PackedCall(words))
    }

    /// Sets an argument of a call from a big-endian number of any length.
    ///
    /// # Errors
    /// [`TableError`] if there is no such parameter or the number is too large for it.
    pub fn set_arg(
        &self,
        call: &mut PackedCall,
        index: usize,
        value: &[u8],
    ) -> Result<(), TableError> {
        let position = ActionWord(call.0[0]).position();
        let spec = self.actions.get(position as usize);
        let Some((spec, width)) = spec.and_then(|s| Some((s, *s.params.get(index)?))) else {
            return Err(TableError::ArgumentCount {
                table: self.name.clone(),
                action: spec.map_or_else(String::new, |s| s.name.clone()),
                expected: spec.map_or(0, |s| s.params.len()),
                given: index + 1,
            });
        };
        if !packing::fits(value, width) {
            return Err(too_wide(&self.name, spec, index, packing::show(value)));
        }
        let before = spec.params[..index].iter();
        let start = 1 + before.map(|w| w.div_ceil(64) as usize).sum::<usize>();
        let words = width.div_ceil(64) as usize;
        if let Some(place) = call.0.get_mut(start..start + words) {
            let numbers = packing::words_of(value, words);
            place
                .iter_mut()
                .rev()
                .zip(numbers)
                .for_each(|(p, w)| *p = w);
        }
        Ok(())
    }
}

/// An entry's action in packed form, with the set of a one-shot selector beside it. Made by
/// [`super::Table::pack_action`] and the functions here, to be used
/// again for the next entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedAction {
    pub(crate) row: Vec<u64>,
    pub(crate) one_shot: Vec<WeightedCall>,
}

impl PackedAction {
    /// The row: action word, then argument words.
    #[must_use]
    pub fn row(&self) -> &[u64] {
        &self.row
    }

    /// Becomes a call.
    pub fn set_call(&mut self, call: &PackedCall) {
        self.row.clear();
        self.row.extend_from_slice(&call.0);
        self.one_shot.clear();
    }

    /// Becomes a member.
    pub fn set_member(&mut self, id: MemberId) {
        self.set(ActionWord::member(id));
    }

    /// Becomes a group.
    pub fn set_group(&mut self, id: GroupId) {
        self.set(ActionWord::group(id));
    }

    pub(crate) fn set(&mut self, word: ActionWord) {
        self.row.clear();
        self.row.push(word.0);
        self.one_shot.clear();
    }
}

/// Argument words of an action.
pub(crate) fn arg_words(spec: &ActionSpec) -> usize {
    spec.params.iter().map(|w| w.div_ceil(64) as usize).sum()
}

/// Argument words of the action that has the most.
pub(crate) fn most_arg_words(specs: &[ActionSpec]) -> usize {
    specs.iter().map(arg_words).max().unwrap_or_default()
}

/// Appends an argument that has its parameter's width.
pub(crate) fn push_arg(value: &Bits, out: &mut Vec<u64>) {
    let at = out.len();
    value.push_words(out);
    out[at..].reverse();
}

/// The typed call of a row.
pub(crate) fn unpack_call(row: &[u64], params: &[u32]) -> ActionCall {
    let mut words = Vec::new();
    let mut rest = row.get(1..).unwrap_or_default();
    let args = params
        .iter()
        .map(|width| {
            let (own, later) = rest.split_at((width.div_ceil(64) as usize).min(rest.len()));
            rest = later;
            words.clear();
            words.extend(own.iter().rev());
            Bits::from_words(*width, &words)
        })
        .collect();
    ActionCall {
        action: ActionWord(row.first().copied().unwrap_or(0)).action(),
        args,
    }
}

/// Checks a call against the actions of a table and packs it: the one place that decides which
/// actions with which arguments fit where.
pub(crate) fn pack_call(
    table: &str,
    specs: &[ActionSpec],
    call: &ActionCall,
    default: bool,
    out: &mut Vec<u64>,
) -> Result<(), TableError> {
    let (position, spec) = find(table, specs, call.action, default)?;
    if spec.params.len() != call.args.len() {
        return Err(TableError::ArgumentCount {
            table: table.to_owned(),
            action: spec.name.clone(),
            expected: spec.params.len(),
            given: call.args.len(),
        });
    }
    out.clear();
    out.push(ActionWord::call(position, call.action).0);
    for (index, (width, value)) in spec.params.iter().zip(&call.args).enumerate() {
        let fitted = value.resize_unsigned(*width);
        if value.width() > *width && fitted.resize_unsigned(value.width()) != *value {
            return Err(too_wide(table, spec, index, value.to_string()));
        }
        push_arg(&fitted, out);
    }
    Ok(())
}

/// The action of a table that may be used in entries or as the default.
pub(crate) fn find<'s>(
    table: &str,
    specs: &'s [ActionSpec],
    action: ActionId,
    default: bool,
) -> Result<(usize, &'s ActionSpec), TableError> {
    let allowed = |a: &ActionSpec| if default { a.as_default } else { a.in_entries };
    specs
        .iter()
        .enumerate()
        .find(|(_, a)| a.id == action && allowed(a))
        .ok_or_else(|| TableError::ActionNotAllowed {
            table: table.to_owned(),
            action,
            place: if default {
                "as default action"
            } else {
                "in entries"
            },
        })
}

pub(crate) fn too_wide(table: &str, spec: &ActionSpec, index: usize, value: String) -> TableError {
    TableError::ArgumentTooWide {
        table: table.to_owned(),
        action: spec.name.clone(),
        index,
        width: spec.params[index],
        value,
    }
}

/// The typed action of a row; the set of a one-shot is given.
pub(crate) fn unpack_action(
    row: &[u64],
    specs: &[ActionSpec],
    one_shot: &[WeightedCall],
) -> EntryAction {
    let word = ActionWord(row.first().copied().unwrap_or(0));
    match word.kind() {
        RowKind::Call => {
            let spec = specs.get(word.position() as usize);
            EntryAction::Call(unpack_call(row, spec.map_or(&[], |s| &s.params)))
        }
        RowKind::Member => EntryAction::Member(MemberId(word.id())),
        RowKind::Group => EntryAction::Group(GroupId(word.id())),
        RowKind::OneShot => EntryAction::OneShot(one_shot.to_vec()),
    }
}

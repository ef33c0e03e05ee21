//! The short way for the common updates: an entry of a table with direct actions, straight from the
//! bytes of the wire into the packed words of the table, without a message or anything allocated in
//! between.
//!
//! It takes only what is right in every respect. Whatever it does not take, or the table refuses,
//! goes the long way, which finds the same fault again and can say what it is.

use std::sync::Arc;

use p4exec::state::{ControlState, Transaction};
use p4exec::tables::{
    self, EntryOptions, KeyLayout, PackedAction, PackedCall, PackedKey, Table, TableSpec,
};
use p4ir::{Entity as _, TableId};
use p4runtime::p4::v1::update::Type;
use prost::bytes::Bytes;
use quantities::Nanos;

use super::schema::{FieldSchema, Schema, TableSchema};
use super::wire::{Fields, Value};

/// What reading updates needs; it says nothing of the state, so that a batch can be read before it
/// is its turn.
#[derive(Clone)]
pub struct Reader {
    schema: Arc<Schema>,
    /// How each table of the program packs its keys and its actions.
    tables: Arc<[(KeyLayout, Arc<TableSpec>)]>,
}

impl Reader {
    /// Of updates for a program in this state.
    #[must_use]
    pub fn new(schema: Arc<Schema>, state: &ControlState) -> Self {
        let of = |table: &Table| (table.layout().clone(), Arc::clone(table.spec()));
        Self {
            schema,
            tables: state.tables().map(|(_, table)| of(table)).collect(),
        }
    }

    /// Whether both read for the same program.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.schema, &other.schema)
    }

    /// Reads encoded updates; in the place of each, whether and how it can go the short way.
    pub fn read<'a>(&'a self, updates: &'a [Bytes]) -> impl Iterator<Item = Option<Short<'a>>> {
        updates.iter().map(|update| Short::read(self, update))
    }
}

/// Asks for the memory that making these updates will need, of [`tables::TOGETHER`] at most.
pub(super) fn approach(control: &ControlState, updates: &[Option<Short<'_>>]) {
    tables::approach(updates.iter().flatten().filter_map(|short| {
        let table = control.table(short.table.table).ok()?;
        Some((table, short.key.words(), short.key.rank()))
    }));
}

/// An update that can go the short way, if the state lets it.
pub struct Short<'a> {
    verb: Type,
    table: &'a TableSchema,
    key: PackedKey,
    action: Option<PackedCall>,
    idle_timeout: Nanos,
    metadata: &'a [u8],
}

impl<'a> Short<'a> {
    /// Reads an encoded `Update`, and packs its key and its action.
    fn read(reader: &'a Reader, update: &'a [u8]) -> Option<Self> {
        let (verb, given) = open(update)?;
        let table = reader.schema.tables.get(&given.table)?;
        let ranked = if table.needs_priority {
            given.priority > 0
        } else {
            given.priority == 0
        };
        let timed = given.idle_timeout.get() > 0;
        if !table.fast || !ranked || (timed && !table.idle_timeout) {
            return None;
        }
        let (layout, spec) = reader.tables.get(table.table.index())?;
        let action = match given.action {
            Some(given) => Some(action(table, spec, given)?),
            None => None,
        };
        Some(Self {
            verb,
            table,
            key: key(table, layout, &given)?,
            action,
            idle_timeout: given.idle_timeout,
            metadata: given.metadata,
        })
    }

    /// Makes it if it can; `noted` says whether some entry of a table has a note, which only the
    /// long way minds. The idle timeout that was given comes back, zero if none was.
    pub(super) fn make(
        &self,
        transaction: &mut Transaction<'_>,
        packed: &mut PackedAction,
        noted: impl FnOnce(TableId) -> bool,
    ) -> Option<Nanos> {
        let Self {
            verb,
            table,
            key,
            action,
            idle_timeout,
            metadata,
        } = self;
        let id = table.table;
        if *verb != Type::Insert && noted(id) {
            return None;
        }
        // A deletion does not mind the action, which was read all the same.
        if *verb == Type::Delete {
            transaction.delete_packed(id, key).ok()?;
            return Some(*idle_timeout);
        }
        packed.set_call(action.as_ref()?);
        let options = EntryOptions {
            controller_metadata: metadata.to_vec(),
            idle_timeout: *idle_timeout,
            counter: None,
            // Left out it is reset (P4Runtime 1.5, section 9.1).
            meter: (*verb == Type::Modify && table.meter.is_some()).then_some(None),
        };
        if *verb == Type::Insert {
            let made = transaction.insert_packed(id, key, packed, &options);
            made.ok()?;
        } else {
            let made = transaction.modify_packed(id, key, packed, Some(&options));
            made.ok()?;
        }
        Some(*idle_timeout)
    }
}

/// What an encoded `TableEntry` says, if it says nothing that needs a closer look.
#[derive(Default)]
struct Given<'a> {
    table: u32,
    priority: i32,
    idle_timeout: Nanos,
    metadata: &'a [u8],
    /// An encoded `Action`.
    action: Option<&'a [u8]>,
    /// All of it: its match fields are read in their turn.
    entry: &'a [u8],
}

/// A number of the wire, if a field of type `T` can have it.
fn number<T: TryFrom<u64>>(value: u64) -> Option<T> {
    T::try_from(value).ok()
}

/// Sets what may be there once only.
fn once<'a>(place: &mut Option<&'a [u8]>, bytes: &'a [u8]) -> Option<()> {
    place.replace(bytes).is_none().then_some(())
}

/// A message whose only field is number `tag`, which is a message too.
fn only(tag: u32, message: &[u8]) -> Option<&[u8]> {
    let mut inner = None;
    for field in Fields::of(message) {
        match field? {
            (number, Value::Bytes(bytes)) if number == tag => once(&mut inner, bytes)?,
            _ => return None,
        }
    }
    inner
}

/// The type of an encoded `Update` (fields 1 and 2), and the `TableEntry` (2 of `Entity`) that it
/// is about.
fn open(update: &[u8]) -> Option<(Type, Given<'_>)> {
    let (mut verb, mut entity) = (Type::Unspecified, None);
    for field in Fields::of(update) {
        match field? {
            (1, Value::Number(n)) => verb = Type::try_from(number::<i32>(n)?).ok()?,
            (2, Value::Bytes(bytes)) => once(&mut entity, bytes)?,
            _ => return None,
        }
    }
    if verb == Type::Unspecified {
        return None;
    }
    let mut given = Given {
        entry: only(2, entity?)?,
        ..Given::default()
    };
    let mut action = None;
    for field in Fields::of(given.entry) {
        match field? {
            (1, Value::Number(n)) => given.table = number(n)?,
            (2, Value::Bytes(_)) => {}
            (3, Value::Bytes(bytes)) => once(&mut action, bytes)?,
            (4, Value::Number(n)) => given.priority = number(n)?,
            (9, Value::Number(n)) => {
                given.idle_timeout = Nanos::new(number::<i64>(n)?.unsigned_abs())
            }
            (11, Value::Bytes(bytes)) => given.metadata = bytes,
            _ => return None,
        }
    }
    // An action is field 1 of a `TableAction`; members, groups and sets are not for here.
    given.action = match action {
        Some(action) => Some(only(1, action)?),
        None => None,
    };
    Some((verb, given))
}

/// The value of a match (field 1 of every kind but ranges), and its mask or prefix length (field
/// 2), if it has such.
fn value_and_second(kind: &[u8]) -> Option<(&[u8], Option<Value<'_>>)> {
    let (mut value, mut second): (&[u8], _) = (&[], None);
    for field in Fields::of(kind) {
        match field? {
            (1, Value::Bytes(bytes)) => value = bytes,
            (2, given) => second = Some(given),
            _ => return None,
        }
    }
    (!value.is_empty()).then_some((value, second))
}

/// The id of an encoded `FieldMatch`, the number of its kind's field, and what that holds.
fn field_match(message: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (mut id, mut kind) = (0, None);
    for field in Fields::of(message) {
        match field? {
            (1, Value::Number(n)) => id = number(n)?,
            (tag, Value::Bytes(bytes)) if kind.is_none() => kind = Some((tag, bytes)),
            _ => return None,
        }
    }
    let (tag, bytes) = kind?;
    Some((id, tag, bytes))
}

/// Packs the key; `None` if anything about it is not as it should be.
fn key(table: &TableSchema, layout: &KeyLayout, given: &Given<'_>) -> Option<PackedKey> {
    let mut packed = PackedKey::default();
    layout.start(given.priority, &mut packed);
    // Fields in rising order, each at most once; another order goes the long way.
    let mut next = 0;
    for field in Fields::of(given.entry) {
        let Some((2, Value::Bytes(message))) = field else {
            continue;
        };
        let (id, kind, bytes) = field_match(message)?;
        let rest = table.fields.get(next..)?;
        let place = next + rest.iter().position(|f| f.id == id)?;
        if table.fields[next..place].iter().any(|f| !f.has_dont_care()) {
            return None;
        }
        next = place + 1;
        let (value, second) = value_and_second(bytes)?;
        let set = match (kind, second) {
            (2, None) => layout.set_exact(&mut packed, place, value),
            (3, Some(Value::Bytes(mask))) if mask.iter().any(|byte| *byte != 0) => {
                layout.set_ternary(&mut packed, place, value, mask)
            }
            (4, Some(Value::Number(length))) if length > 0 => {
                layout.set_lpm(&mut packed, place, value, number(length)?)
            }
            (7, None) => layout.set_optional(&mut packed, place, value),
            // Ranges are few, and the full one has to be found out.
            _ => return None,
        };
        set.ok()?;
    }
    let rest = table.fields.get(next..)?;
    rest.iter()
        .all(FieldSchema::has_dont_care)
        .then_some(packed)
}

/// Packs an encoded `Action`, its parameters in their order.
fn action(table: &TableSchema, spec: &TableSpec, action: &[u8]) -> Option<PackedCall> {
    let mut id = 0;
    for field in Fields::of(action) {
        match field? {
            (1, Value::Number(n)) => id = number(n)?,
            (4, Value::Bytes(_)) => {}
            _ => return None,
        }
    }
    let choice = table.actions.iter().find(|c| c.schema.id == id)?;
    if !choice.in_entries {
        return None;
    }
    let mut call = spec.start_call(choice.action).ok()?;
    let mut params = choice.schema.params.iter().enumerate();
    for field in Fields::of(action) {
        let Some((4, Value::Bytes(message))) = field else {
            continue;
        };
        let (index, param) = params.next()?;
        let (mut id, mut value): (u32, &[u8]) = (0, &[]);
        for field in Fields::of(message) {
            match field? {
                (2, Value::Number(n)) => id = number(n)?,
                (3, Value::Bytes(bytes)) => value = bytes,
                _ => return None,
            }
        }
        if param.id != id || value.is_empty() || param.shape.signed || param.names.is_some() {
            return None;
        }
        spec.set_arg(&mut call, index, value).ok()?;
    }
    params.next().is_none().then_some(call)
}

//! The entries that a program's text gives its tables, as P4Runtime writes them (P4Runtime 1.5,
//! sections 9.1 and 9.1.2).

use num_bigint::BigUint;
use p4ir::{Const, KeyKind, KeySet, MatchKind, ValidProgram};
use p4runtime::bytestring::{canonical, canonical_signed};
use p4runtime::p4::config::v1::{self as info, P4Info};
use p4runtime::p4::v1;
use p4runtime::p4::v1::field_match::{self, FieldMatchType};

use super::types::padded;

/// All entries of the program's text, `const` or not, as one `WriteRequest` that inserts them.
/// Device and election id are left unset. Entries keep the order of the text; "don't care" is left
/// out.
///
/// `info` is the P4Info of the same program.
#[must_use]
pub fn initial_entries(program: &ValidProgram, info: &P4Info) -> v1::WriteRequest {
    let mut request = v1::WriteRequest::default();
    for (_, table) in program.tables.iter() {
        let named = |t: &&info::Table| t.preamble.as_ref().is_some_and(|p| p.name == table.name);
        let Some(known) = info.tables.iter().find(named) else {
            continue;
        };
        for entry in &table.entries {
            let message = v1::TableEntry {
                table_id: known.preamble.as_ref().map_or(0, |p| p.id),
                r#match: fields(program, table, known, entry),
                action: action(program, table, info, entry),
                priority: match table.needs_priority() {
                    true => super::int32(entry.priority),
                    false => 0,
                },
                is_const: entry.is_const || table.const_entries,
                ..v1::TableEntry::default()
            };
            request.updates.push(v1::Update {
                r#type: v1::update::Type::Insert.into(),
                entity: Some(v1::Entity {
                    entity: Some(v1::entity::Entity::TableEntry(message)),
                }),
            });
        }
    }
    request
}

/// The key of an entry. Keys that P4Info does not have (those that only a selector reads) have no
/// field.
fn fields(
    program: &ValidProgram,
    table: &p4ir::Table,
    known: &info::Table,
    entry: &p4ir::Entry,
) -> Vec<v1::FieldMatch> {
    let said = table.keys.iter().zip(&entry.keys);
    let said = said.filter(|(key, _)| !matches!(key.kind, KeyKind::Selector));
    let fields = known.match_fields.iter().zip(said);
    fields
        .filter_map(|(field, (key, set))| {
            let ty = &program.types[program.exprs[key.expr].ty];
            let (width, signed) = ty.bits().unwrap_or((1, false));
            Some(v1::FieldMatch {
                field_id: field.id,
                field_match_type: Some(matched(&key.kind, set, Shape { width, signed })?),
            })
        })
        .collect()
}

/// Width and signedness of a value.
#[derive(Clone, Copy)]
struct Shape {
    width: u32,
    signed: bool,
}

impl Shape {
    fn bytes(self, value: &BigUint) -> Vec<u8> {
        let bytes = padded(value, self.width);
        match self.signed {
            // The sign of a value whose width is no number of bytes fills its first byte.
            true => canonical_signed(&self.extended(value, bytes)).to_vec(),
            false => canonical(&bytes).to_vec(),
        }
    }

    fn extended(self, value: &BigUint, mut bytes: Vec<u8>) -> Vec<u8> {
        let beyond = self.width % 8;
        let negative = self.width > 0 && value.bit(u64::from(self.width) - 1);
        if beyond != 0
            && negative
            && let Some(first) = bytes.first_mut()
        {
            *first |= 0xff << beyond;
        }
        bytes
    }

    fn ones(self) -> BigUint {
        (BigUint::from(1u8) << self.width) - 1u8
    }

    fn constant(self, value: &Const) -> Option<Vec<u8>> {
        match value {
            Const::Bits(bits) => Some(self.bytes(bits)),
            Const::Bool(bit) => Some(vec![u8::from(*bit)]),
            Const::Error(_) | Const::Enum(_) | Const::Str(_) => None,
        }
    }
}

/// How one field matches; `None` for "don't care".
fn matched(kind: &KeyKind, set: &KeySet, shape: Shape) -> Option<FieldMatchType> {
    let ternary = |value: Vec<u8>, mask: &BigUint| {
        let mask = shape.bytes(mask);
        FieldMatchType::Ternary(field_match::Ternary { value, mask })
    };
    Some(match (kind, set) {
        (_, KeySet::Any) => return None,
        (KeyKind::Match(MatchKind::Exact), KeySet::Value(value)) => {
            let value = shape.constant(value)?;
            FieldMatchType::Exact(field_match::Exact { value })
        }
        (KeyKind::Match(MatchKind::Optional), KeySet::Value(value)) => {
            let value = shape.constant(value)?;
            FieldMatchType::Optional(field_match::Optional { value })
        }
        (KeyKind::Match(MatchKind::Lpm), KeySet::Value(value)) => {
            FieldMatchType::Lpm(field_match::Lpm {
                value: shape.constant(value)?,
                prefix_len: super::int32(shape.width),
            })
        }
        (KeyKind::Match(MatchKind::Lpm), KeySet::Mask { value, mask }) => match mask.count_ones() {
            0 => return None,
            length => FieldMatchType::Lpm(field_match::Lpm {
                value: shape.bytes(value),
                prefix_len: super::int32(length),
            }),
        },
        (KeyKind::Match(MatchKind::Range), KeySet::Value(value)) => {
            FieldMatchType::Range(field_match::Range {
                low: shape.constant(value)?,
                high: shape.constant(value)?,
            })
        }
        (KeyKind::Match(MatchKind::Range), KeySet::Range { lo, hi }) => {
            FieldMatchType::Range(field_match::Range {
                low: shape.bytes(lo),
                high: shape.bytes(hi),
            })
        }
        (_, KeySet::Value(value)) => ternary(shape.constant(value)?, &shape.ones()),
        (_, KeySet::Mask { value, mask }) => match mask.bits() {
            0 => return None,
            _ => ternary(shape.bytes(&(value & mask)), mask),
        },
        (_, KeySet::Range { .. }) => return None,
    })
}

/// What an entry does.
fn action(
    program: &ValidProgram,
    table: &p4ir::Table,
    known: &P4Info,
    entry: &p4ir::Entry,
) -> Option<v1::TableAction> {
    let action = &program.actions[table.actions.get(entry.action as usize)?.action];
    let named = |a: &&info::Action| a.preamble.as_ref().is_some_and(|p| p.name == action.name);
    let known = known.actions.iter().find(named)?;
    let arguments = action.data_params().zip(&known.params).zip(&entry.args);
    let params = arguments.filter_map(|((param, known), value)| {
        let ty = &program.types[program.vars[param.var].ty];
        let (width, signed) = ty.bits().unwrap_or((1, false));
        Some(v1::action::Param {
            param_id: known.id,
            value: Shape { width, signed }.constant(value)?,
        })
    });
    let action = v1::Action {
        action_id: known.preamble.as_ref()?.id,
        params: params.collect(),
    };
    Some(v1::TableAction {
        r#type: Some(v1::table_action::Type::Action(action)),
    })
}

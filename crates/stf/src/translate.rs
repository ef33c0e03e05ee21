//! What case files say in the terms of the executor: entries, matches, calls, meters.

use entries::check::wrong_kind;
use entries::{Bits, FieldMatch, Key, NamedAction, NamedCall, Problem, TableEntry};
use num_bigint::BigUint;
use num_traits::Zero as _;
use p4exec::RuntimeState;
use p4exec::externs::meter::MeterConfig;
use p4exec::tables::{GroupId, KeyField, MatchKind, MemberId};
use p4ir::TableId;

use crate::case::{ActionText, EntryText, Match, Number, Rate};
use crate::names;

/// An entry by the full names of the program. As for p4c's runner, a priority is ignored where the
/// table has none, and a header whose validity is left out is not valid.
pub(crate) fn entry(
    state: &RuntimeState,
    table: TableId,
    priority: Option<i32>,
    key: &[(String, Match)],
    action: &EntryText,
) -> Result<TableEntry, String> {
    let shape = state.table(table).map_err(|e| e.to_string())?;
    let fields = shape.layout().fields();
    let field_names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    let mut keys = Vec::with_capacity(key.len());
    for (name, given) in key {
        let field = &fields[names::key(&field_names, name)?];
        let value = field_match(field, given).map_err(|e| e.to_string())?;
        keys.extend(value.map(|value| Key {
            field: field.name.clone().into(),
            value,
        }));
    }
    for field in fields
        .iter()
        .filter(|field| names::validity(&field.name).is_some())
    {
        if field.kind == MatchKind::Exact && !keys.iter().any(|key| key.field == field.name) {
            keys.push(Key {
                field: field.name.clone().into(),
                value: FieldMatch::Exact(Bits::zero(field.width)),
            });
        }
    }
    let action = match action {
        EntryText::Action(text) => NamedAction::Call(call(state, table, text)?),
        EntryText::Member(id) => NamedAction::Member(MemberId(*id)),
        EntryText::Group(id) => NamedAction::Group(GroupId(*id)),
    };
    Ok(TableEntry {
        table: state.program().tables[table].name.clone().into(),
        keys,
        priority: priority.filter(|_| shape.layout().needs_priority()),
        action,
        is_default: false,
    })
}

/// A call of an action of a table, by the full names of the program.
pub(crate) fn call(
    state: &RuntimeState,
    table: TableId,
    text: &ActionText,
) -> Result<NamedCall, String> {
    let param = |(name, number): &(String, Number)| (name.clone().into(), bits(&number.value));
    Ok(NamedCall {
        action: names::action(state, table, &text.name)?.into(),
        params: text.args.iter().map(param).collect(),
    })
}

/// A number at the width that it needs: it is held against its field or parameter later.
fn bits(value: &BigUint) -> Bits {
    let width = u32::try_from(value.bits().max(1)).unwrap_or(u32::MAX);
    Bits::from_biguint(width, value)
}

/// The match that a case file says; `None` if every value passes it.
pub(crate) fn field_match(field: &KeyField, given: &Match) -> Result<Option<FieldMatch>, Problem> {
    let width = field.width;
    let bits = |n: &Number| bits(&n.value);
    let any = |n: &Number, m: &Number| n.value == m.value && m.value.is_zero();
    let wrong = |given| wrong_kind(&field.name, Some(field.kind), given);
    // A value of fewer bits than its mask has no bits where the mask has more.
    let masked = |value: &Bits, mask: Bits| {
        let widest = width.max(value.width()).max(mask.width());
        let value = value.resize_unsigned(widest);
        FieldMatch::ternary(&value, mask.resize_unsigned(widest))
    };
    Ok(match (field.kind, given) {
        (MatchKind::Exact, Match::Value(n)) if !n.has_stars => Some(FieldMatch::Exact(bits(n))),
        (MatchKind::Optional, Match::Value(n)) if !n.has_stars => {
            Some(FieldMatch::Optional(Some(bits(n))))
        }
        (MatchKind::Optional | MatchKind::Lpm | MatchKind::Range, Match::Mask(n, m))
            if any(n, m) =>
        {
            None
        }
        (MatchKind::Ternary, Match::Value(n)) => {
            let ones = || Bits::ones(width);
            let mask = n
                .mask
                .as_ref()
                .map_or_else(ones, |mask| Bits::from_biguint(width, mask));
            masked(&bits(n), mask)
        }
        (MatchKind::Ternary, Match::Mask(n, m)) => masked(&bits(n), bits(m)),
        (MatchKind::Lpm, Match::Value(n)) => {
            let prefix_len = n.prefix_bits.unwrap_or(width).min(width);
            prefix(&bits(n), width, prefix_len)
        }
        (MatchKind::Lpm, Match::Prefix(n, len)) => prefix(&bits(n), width, *len),
        (MatchKind::Range, Match::Range(low, high)) => range(bits(low), bits(high), width),
        (MatchKind::Range, Match::Value(n)) if !n.has_stars => range(bits(n), bits(n), width),
        (_, Match::Value(n)) if n.has_stars => return Err(wrong("ternary")),
        (_, Match::Value(_)) => return Err(wrong("exact")),
        (_, Match::Prefix(..)) => return Err(wrong("lpm")),
        (_, Match::Mask(..)) => return Err(wrong("ternary")),
        (_, Match::Range(..)) => return Err(wrong("range")),
    })
}

/// A prefix of a value; the bits after it are cleared, as case files may have them set.
fn prefix(value: &Bits, width: u32, prefix_len: u32) -> Option<FieldMatch> {
    if value.width() > width || prefix_len > width {
        return (prefix_len > 0).then(|| FieldMatch::Lpm {
            value: value.clone(),
            prefix_len,
        });
    }
    FieldMatch::lpm(&value.resize_unsigned(width), prefix_len)
}

/// A range; a bound that is too wide is refused later.
fn range(low: Bits, high: Bits, width: u32) -> Option<FieldMatch> {
    if low.width().max(high.width()) > width {
        return Some(FieldMatch::Range { low, high });
    }
    FieldMatch::range(low.resize_unsigned(width), high.resize_unsigned(width))
}

/// Two rates: committed, then peak. BMv2 asks that they rise.
pub(crate) fn meter_config(rates: &[Rate]) -> Result<MeterConfig, String> {
    let [committed, peak] = rates else {
        return Err(format!("a meter takes two rates, {} given", rates.len()));
    };
    if committed.per_second > peak.per_second {
        return Err("the first rate is the committed one; it must not exceed the peak".into());
    }
    Ok(MeterConfig {
        cir: committed.per_second,
        cburst: committed.burst,
        pir: peak.per_second,
        pburst: peak.burst,
    })
}

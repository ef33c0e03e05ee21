//! The rules that every entry keeps, one by one: for those who look names up in a [`Catalog`] and
//! for the P4Runtime server, which is given ids.
//!
//! [`Catalog`]: crate::Catalog

use p4exec::tables::FieldMatch;
use p4exec::value::Bits;
use p4ir::MatchKind;

use crate::{Bytestring as _, Problem};

/// A value at the width of its match field or parameter.
///
/// # Errors
/// [`Problem::Value`] if it does not fit; `what` says what it is a value of.
pub fn value(value: &Bits, width: u32, what: impl FnOnce() -> String) -> Result<Bits, Problem> {
    let fitted = value.resize_unsigned(width);
    if value.width() <= width || fitted.resize_unsigned(value.width()) == *value {
        return Ok(fitted);
    }
    bytes(&value.to_bytes_be(), width, what)
}

/// A value of P4Runtime's bytes (P4Runtime 1.5, section 8.3) at the width of its match field or
/// parameter.
///
/// # Errors
/// [`Problem::Value`] if it is empty or does not fit; `what` says what it is a value of.
pub fn bytes(bytes: &[u8], width: u32, what: impl FnOnce() -> String) -> Result<Bits, Problem> {
    Bits::decode(bytes, width).map_err(|source| Problem::Value {
        what: what(),
        source,
    })
}

/// How messages call a match field.
#[must_use]
pub fn field_place(field: &str) -> String {
    format!("the match field `{field}`")
}

/// How messages call a parameter.
#[must_use]
pub fn param_place(action: &str, param: &str) -> String {
    format!("the parameter `{param}` of {action}")
}

/// A match of the field's kind and width in its normal form (P4Runtime 1.5, section 9.1.1), where
/// bits that do not matter are zero. A match that everything passes is refused: its field is left
/// out.
///
/// # Errors
/// [`Problem`], with the field.
pub fn field_match(
    field: &str,
    width: u32,
    kind: Option<MatchKind>,
    given: &FieldMatch,
) -> Result<FieldMatch, Problem> {
    if kind != Some(given.kind()) {
        return Err(wrong_kind(field, kind, given.kind().name()));
    }
    let name = || field.to_owned();
    let fit = |bits: &Bits| value(bits, width, || field_place(field));
    let stray = |value: &Bits, outside: String| Problem::StrayBits {
        field: name(),
        value: value.to_string(),
        outside,
    };
    let normal = match given {
        FieldMatch::Exact(value) => Some(FieldMatch::Exact(fit(value)?)),
        FieldMatch::Optional(value) => {
            let value = value.as_ref().map(fit).transpose()?;
            value.map(|value| FieldMatch::Optional(Some(value)))
        }
        FieldMatch::Lpm { value, prefix_len } => {
            prefix_length(field, width, i64::from(*prefix_len))?;
            let value = fit(value)?;
            if value.and(&Bits::prefix_mask(width, *prefix_len)) != value {
                return Err(stray(&value, format!("its first {prefix_len} bits")));
            }
            FieldMatch::lpm(&value, *prefix_len)
        }
        FieldMatch::Ternary { value, mask } => {
            let (value, mask) = (fit(value)?, fit(mask)?);
            if value.and(&mask) != value {
                return Err(stray(&value, format!("the mask {mask}")));
            }
            FieldMatch::ternary(&value, mask)
        }
        FieldMatch::Range { low, high } => {
            let (low, high) = (fit(low)?, fit(high)?);
            range(field, &low, &high)?;
            FieldMatch::range(low, high)
        }
    };
    normal.ok_or_else(|| Problem::DontCareWritten(name()))
}

/// A range of at least one value.
///
/// # Errors
/// [`Problem::EmptyRange`].
pub fn range(field: &str, low: &Bits, high: &Bits) -> Result<(), Problem> {
    if low <= high {
        return Ok(());
    }
    Err(Problem::EmptyRange {
        field: field.to_owned(),
        low: low.to_string(),
        high: high.to_string(),
    })
}

/// A match of another kind is given.
#[must_use]
pub fn wrong_kind(field: &str, expected: Option<MatchKind>, given: &'static str) -> Problem {
    Problem::MatchKind {
        field: field.to_owned(),
        expected,
        given,
    }
}

/// A prefix length that the field has.
///
/// # Errors
/// [`Problem::PrefixLength`].
pub fn prefix_length(field: &str, width: u32, given: i64) -> Result<u32, Problem> {
    let length = u32::try_from(given).ok().filter(|length| *length <= width);
    length.ok_or_else(|| Problem::PrefixLength {
        field: field.to_owned(),
        width,
        given,
    })
}

/// The match of a field that is left out: everything.
///
/// # Errors
/// [`Problem::ExactKeyMissing`] if the field is exact.
pub fn left_out(field: &str, width: u32, kind: Option<MatchKind>) -> Result<FieldMatch, Problem> {
    let any = kind.and_then(|kind| FieldMatch::any(kind, width));
    any.ok_or_else(|| Problem::ExactKeyMissing(field.to_owned()))
}

/// The priority of an entry (P4Runtime 1.5, section 9.1); 0 where the table has none.
///
/// # Errors
/// [`Problem::PriorityMissing`] or [`Problem::PriorityUnexpected`].
pub fn priority(needs_priority: bool, given: Option<i32>) -> Result<i32, Problem> {
    match (needs_priority, given) {
        (true, Some(priority)) if priority > 0 => Ok(priority),
        (true, _) => Err(Problem::PriorityMissing),
        (false, Some(priority)) => Err(Problem::PriorityUnexpected(priority)),
        (false, None) => Ok(0),
    }
}

/// The table does not list an action for this use; `allowed` are those that it lists for it.
#[must_use]
pub fn not_allowed<'a>(
    action: &str,
    as_default: bool,
    listed: bool,
    allowed: impl Iterator<Item = &'a str>,
) -> Problem {
    let allowed: Vec<&str> = allowed.collect();
    Problem::ActionNotAllowed {
        action: action.to_owned(),
        usage: if as_default {
            "the default entry"
        } else {
            "entries"
        },
        allowed: if allowed.is_empty() {
            "none".to_owned()
        } else {
            allowed.join(", ")
        },
        listed,
    }
}

/// The table's actions are members of a profile, and the entry gives an action.
pub const NAME_A_MEMBER: Problem =
    Problem::Rule("the table's actions are members of a profile; refer to a member or group");

/// The table has no profile, and the entry gives a member or group.
pub const GIVE_AN_ACTION: Problem =
    Problem::Rule("the table has no action profile; give it an action");

/// A default entry gives a member or group.
pub const DEFAULT_IS_AN_ACTION: Problem =
    Problem::Rule("the default entry has an action, not a member or group");

/// The profile has no groups.
pub const NO_SELECTOR: Problem = Problem::Rule("the profile has no selector, so it has no groups");

/// The table has no key, and the entry is not the default entry.
pub const NO_KEY: Problem = Problem::Rule("the table has no key, so it has a default entry only");

/// The default entry has match fields or a priority.
pub const DEFAULT_WITH_KEYS: Problem =
    Problem::Rule("a default entry has neither match fields nor a priority");

//! What case files say in the terms of the executor: matches, calls, meters.

use num_traits::ToPrimitive as _;
use p4exec::RuntimeState;
use p4exec::externs::meter::MeterConfig;
use p4exec::tables::{ActionCall, FieldMatch, KeyField, MatchKind};
use p4exec::value::Bits;

use crate::case::{ActionText, Match, Number, Rate};

pub(crate) fn call_of(
    state: &RuntimeState,
    id: p4ir::ActionId,
    text: &ActionText,
) -> Result<ActionCall, String> {
    let program = state.program();
    let action = &program.actions[id];
    let params: Vec<_> = action.data_params().collect();
    for (name, _) in &text.args {
        if !params.iter().any(|p| p.name == *name) {
            return Err(format!(
                "action `{}` has no parameter `{name}`",
                action.name
            ));
        }
    }
    let mut args = Vec::with_capacity(params.len());
    for param in params {
        let given = text.args.iter().find(|(name, _)| *name == param.name);
        let Some((_, number)) = given else {
            return Err(format!("action `{}` needs `{}`", action.name, param.name));
        };
        let width = p4exec::v1model::scalar_width(program, program.vars[param.var].ty);
        args.push(Bits::from_biguint(width, &number.value));
    }
    Ok(ActionCall { action: id, args })
}

/// What a key that the case does not mention matches: everything, or zero where it cannot.
pub(crate) fn unset(field: &KeyField) -> FieldMatch {
    FieldMatch::any(field.kind, field.width)
        .unwrap_or_else(|| FieldMatch::Exact(Bits::zero(field.width)))
}

pub(crate) fn field_match(field: &KeyField, given: &Match) -> Result<FieldMatch, String> {
    let width = field.width;
    let bits = |n: &Number| Bits::from_biguint(width, &n.value);
    let any = |n: &Number, m: &Number| n.value == m.value && m.value.to_u64() == Some(0);
    Ok(match (field.kind, given) {
        (MatchKind::Exact, Match::Value(n)) if !n.has_stars => FieldMatch::Exact(bits(n)),
        (MatchKind::Optional, Match::Value(n)) if !n.has_stars => {
            FieldMatch::Optional(Some(bits(n)))
        }
        (MatchKind::Optional, Match::Mask(n, m)) if any(n, m) => FieldMatch::Optional(None),
        (MatchKind::Ternary, Match::Value(n)) => {
            let mask = n
                .mask
                .as_ref()
                .map_or_else(|| Bits::ones(width), |mask| Bits::from_biguint(width, mask));
            FieldMatch::Ternary {
                value: bits(n),
                mask,
            }
        }
        (MatchKind::Ternary, Match::Mask(n, m)) => FieldMatch::Ternary {
            value: bits(n),
            mask: bits(m),
        },
        (MatchKind::Lpm, Match::Value(n)) => {
            let prefix_len = n.prefix_bits.unwrap_or(width).min(width);
            FieldMatch::Lpm {
                value: bits(n),
                prefix_len,
            }
        }
        (MatchKind::Lpm, Match::Prefix(n, len)) => FieldMatch::Lpm {
            value: bits(n),
            prefix_len: *len,
        },
        (MatchKind::Lpm, Match::Mask(n, m)) if any(n, m) => FieldMatch::Lpm {
            value: bits(n),
            prefix_len: 0,
        },
        (MatchKind::Range, Match::Range(low, high)) => FieldMatch::Range {
            low: bits(low),
            high: bits(high),
        },
        (MatchKind::Range, Match::Value(n)) if !n.has_stars => FieldMatch::Range {
            low: bits(n),
            high: bits(n),
        },
        (MatchKind::Range, Match::Mask(n, m)) if any(n, m) => FieldMatch::Range {
            low: Bits::zero(width),
            high: Bits::ones(width),
        },
        (kind, _) => {
            return Err(format!(
                "key `{}` is {kind} and cannot match so",
                field.name
            ));
        }
    })
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

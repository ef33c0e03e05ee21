//! Values worth trying, by width.

use std::collections::{BTreeMap, BTreeSet};

use p4exec::RuntimeState;
use p4exec::tables::FieldMatch;
use p4exec::v1model::scalar_width;
use p4exec::value::Bits;
use p4ir::{BigUint, Const, ExprKind, KeySet, Program, SelectMatch, Transition};
use quantities::PortId;

use crate::Choices;

/// Ports that random runs use; few, so that several things meet at one.
const PORTS: u16 = 8;

/// Entries of a table that are looked at.
const MAX_ENTRIES: usize = 4096;

/// Values worth trying, by width.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    values: BTreeMap<u32, Vec<Bits>>,
}

impl Pool {
    /// The constants of a program, their neighbours, and some values of each width.
    #[must_use]
    pub fn new(program: &Program, choices: &mut Choices<'_>) -> Self {
        let mut found = ConstantsByWidth(BTreeMap::new());
        for (_, expr) in program.exprs.iter() {
            if let ExprKind::Const(Const::Bits(value)) = &expr.kind {
                found.add(scalar_width(program, expr.ty), value);
            }
        }
        for (_, state) in program.states.iter() {
            let Transition::Select { keys, cases } = &state.transition else {
                continue;
            };
            for case in cases {
                let SelectMatch::Sets(sets) = &case.matches else {
                    continue;
                };
                for (key, set) in keys.iter().zip(sets) {
                    found.add_set(scalar_width(program, program.expr_type(*key)), set);
                }
            }
        }
        for (_, table) in program.tables.iter() {
            for entry in &table.entries {
                for (key, set) in table.keys.iter().zip(&entry.keys) {
                    found.add_set(scalar_width(program, program.expr_type(key.expr)), set);
                }
            }
        }
        let widths: BTreeSet<u32> = program
            .vars
            .iter()
            .map(|(_, var)| scalar_width(program, var.ty))
            .chain(
                program
                    .types
                    .iter()
                    .filter_map(|(_, ty)| ty.bits().map(|b| b.0)),
            )
            .filter(|width| *width > 0)
            .collect();
        for width in widths {
            for _ in 0..3 {
                let value = uniform(choices, width);
                found.0.entry(width).or_default().insert(Ordered(value));
            }
        }
        let values = found.0.into_iter();
        Self {
            values: values
                .map(|(width, set)| (width, set.into_iter().map(|v| v.0).collect()))
                .collect(),
        }
    }

    /// The values that installed entries match: drawn as often as all the program's constants.
    pub fn add_entries(&mut self, state: &RuntimeState) {
        let tables = state.tables();
        let entries = tables.flat_map(|(_, table)| table.iter().take(MAX_ENTRIES));
        self.add_matches(entries.flat_map(|entry| entry.to_entry().key));
    }

    /// The values of some matches, likewise.
    pub fn add_matches(&mut self, matches: impl Iterator<Item = FieldMatch>) {
        let mut found: BTreeMap<u32, BTreeSet<Ordered>> = BTreeMap::new();
        for part in matches {
            let value = match part {
                FieldMatch::Exact(value)
                | FieldMatch::Lpm { value, .. }
                | FieldMatch::Ternary { value, .. }
                | FieldMatch::Range { low: value, .. }
                | FieldMatch::Optional(Some(value)) => value,
                FieldMatch::Optional(None) => continue,
            };
            let values = found.entry(value.width()).or_default();
            values.insert(Ordered(value));
        }
        for (width, values) in found {
            let known = self.values.entry(width).or_default();
            let new: Vec<Bits> = values.into_iter().map(|v| v.0).collect();
            // As many times as it takes to be half of the pool.
            let times = (known.len() / new.len().max(1)).max(1);
            for _ in 0..times {
                known.extend(new.iter().cloned());
            }
        }
    }

    /// A port: one of those that occur as 9-bit values, as long as they are few, else a small one.
    pub fn port(&self, choices: &mut Choices<'_>) -> u16 {
        let value = self.value(choices, 9).low_u64();
        if value < 256 {
            value as u16
        } else {
            Self::few_ports(choices).get()
        }
    }

    /// One of eight ports, so that several things meet at one.
    pub fn few_ports(choices: &mut Choices<'_>) -> PortId {
        PortId::new(choices.below(usize::from(PORTS)) as u16)
    }

    /// A value of some width: mostly one of the pool, else a small one, the largest, or any.
    pub fn value(&self, choices: &mut Choices<'_>, width: u32) -> Bits {
        match choices.below(8) {
            0 => uniform(choices, width),
            1 => Bits::from_u64(width, choices.below(8) as u64),
            2 if width == 9 => Bits::from_u64(width, choices.below(usize::from(PORTS)) as u64),
            2 => Bits::ones(width),
            _ => match self.values.get(&width) {
                Some(values) => choices.pick(values).cloned(),
                None => None,
            }
            .unwrap_or_else(|| uniform(choices, width)),
        }
    }

    /// A value for an action's parameter: ports are mostly ports that exist.
    pub fn argument(&self, choices: &mut Choices<'_>, width: u32) -> Bits {
        if width == 9 && !choices.one_in(8) {
            return Bits::from_u64(width, choices.below(usize::from(PORTS)) as u64);
        }
        self.value(choices, width)
    }
}

/// Every value as likely.
fn uniform(choices: &mut Choices<'_>, width: u32) -> Bits {
    Bits::from_bytes_be(width, &choices.bytes(width.div_ceil(8) as usize))
}

/// Bit strings in numeric order, so that the pool does not depend on hashing.
#[derive(PartialEq, Eq)]
struct Ordered(Bits);

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp_unsigned(&other.0)
    }
}

struct ConstantsByWidth(BTreeMap<u32, BTreeSet<Ordered>>);

impl ConstantsByWidth {
    /// A value and its neighbours.
    fn add(&mut self, width: u32, value: &BigUint) {
        if width == 0 {
            return;
        }
        let values = self.0.entry(width).or_default();
        let value = Bits::from_biguint(width, value);
        let one = Bits::from_u64(width, 1);
        for value in [value.wrapping_add(&one), value.wrapping_sub(&one), value] {
            values.insert(Ordered(value));
        }
    }

    fn add_set(&mut self, width: u32, set: &KeySet) {
        match set {
            KeySet::Value(Const::Bits(value)) | KeySet::Mask { value, .. } => {
                self.add(width, value);
            }
            KeySet::Range { lo, hi } => {
                self.add(width, lo);
                self.add(width, hi);
            }
            KeySet::Any | KeySet::Value(_) => {}
        }
    }
}

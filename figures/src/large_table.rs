//! A large table to measure: an access list over the five-tuple, flows, or routes; its entries and
//! its packets.

use std::collections::BTreeSet;

use p4exec::tables::{ActionCall, EntryAction, EntryPriority, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4exec::{RuntimeState, StateError, Update};
use packetgen::Traffic;
use quantities::{Nanos, PortId};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// The program, in `benches/p4`.
const PROGRAM: &str = include_str!("../p4/large_table.p4");

/// The widths of the five-tuple's fields.
const WIDTHS: [u32; 5] = [32, 32, 8, 16, 16];

/// The five values of a rule or a packet.
type Tuple = [u32; 5];

/// What the table matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeTable {
    /// The five-tuple under so many different masks, with priorities.
    AccessList {
        /// Different masks.
        masks: usize,
    },
    /// The whole five-tuple.
    Flows,
    /// Prefixes of the destination address, 16 to 32 bits long.
    Routes,
}

/// One rule: values under masks.
struct Rule {
    value: Tuple,
    mask: Tuple,
}

/// The top `len` bits of an address.
fn prefix(len: u32) -> u32 {
    u32::MAX.checked_shl(32 - len).unwrap_or(0)
}

/// The masks of an access list: prefixes of the addresses, ports and protocol given or not.
fn masks(count: usize, random: &mut ChaCha8Rng) -> Vec<Tuple> {
    let whole = |random: &mut ChaCha8Rng, width: u32| {
        if random.random::<bool>() {
            u32::MAX >> (32 - width)
        } else {
            0
        }
    };
    (0..count)
        .map(|_| {
            [
                prefix(random.random_range(16..=32)),
                prefix(random.random_range(16..=32)),
                whole(random, 8),
                whole(random, 16),
                whole(random, 16),
            ]
        })
        .collect()
}

impl LargeTable {
    /// The program, and the macro to define for it.
    #[must_use]
    pub const fn program(self) -> (&'static str, Option<&'static str>) {
        let defined = match self {
            Self::AccessList { .. } => None,
            Self::Flows => Some("EXACT"),
            Self::Routes => Some("ROUTES"),
        };
        (PROGRAM, defined)
    }

    /// Different rules.
    fn rules(self, count: usize, random: &mut ChaCha8Rng) -> Vec<Rule> {
        let masks = match self {
            Self::AccessList { masks: count } => masks(count, random),
            Self::Flows => vec![WIDTHS.map(|width| u32::MAX >> (32 - width))],
            Self::Routes => (16..=32).map(|len| [0, prefix(len), 0, 0, 0]).collect(),
        };
        let mut seen = BTreeSet::new();
        let mut rules = Vec::new();
        while rules.len() < count {
            let mask = masks[random.random_range(0..masks.len())];
            let mut value = [0; 5];
            for (value, mask) in value.iter_mut().zip(mask) {
                *value = random.next_u32() & mask;
            }
            // TCP or UDP: other packets have no ports to look at.
            value[2] = mask[2] & if random.random() { 6 } else { 17 };
            if seen.insert((mask, value)) {
                rules.push(Rule { value, mask });
            }
        }
        rules
    }

    /// A rule's key, as the table takes it.
    fn key(self, rule: &Rule) -> Vec<FieldMatch> {
        let bits = |i: usize, value: u32| Bits::from_u64(WIDTHS[i], u64::from(value));
        match self {
            Self::AccessList { .. } => (0..5)
                .map(|i| FieldMatch::Ternary {
                    value: bits(i, rule.value[i]),
                    mask: bits(i, rule.mask[i]),
                })
                .collect(),
            Self::Flows => (0..5)
                .map(|i| FieldMatch::Exact(bits(i, rule.value[i])))
                .collect(),
            Self::Routes => vec![FieldMatch::Lpm {
                value: bits(1, rule.value[1]),
                prefix_len: rule.mask[1].count_ones(),
            }],
        }
    }

    /// Fills the table and returns packets that its entries match: one for each of `flows` of them,
    /// or, if more are asked for than there are entries, each for one drawn at random.
    ///
    /// # Errors
    /// What the table refuses.
    pub fn fill(
        self,
        state: &mut RuntimeState,
        entries: usize,
        flows: usize,
        seed: u64,
    ) -> Result<Traffic, StateError> {
        let no_such = |what, id: &str| StateError::NoSuch {
            what,
            id: id.to_owned(),
        };
        let table = state.table_named("I.large");
        let table = table.ok_or_else(|| no_such("table", "I.large"))?;
        let permit = state.action_named("I.permit");
        let permit = permit.ok_or_else(|| no_such("action", "I.permit"))?;
        let has_priority = matches!(self, Self::AccessList { .. });
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut traffic = Traffic::new();
        let rules = self.rules(entries, &mut random);
        for (n, rule) in rules.iter().enumerate() {
            let call = ActionCall {
                action: permit,
                args: vec![Bits::from_u64(9, n as u64 % 64)],
            };
            let entry = NewEntry {
                key: self.key(rule),
                priority: EntryPriority(if has_priority { 1 + n as i32 } else { 0 }),
                action: EntryAction::Call(call),
                is_const: false,
                options: Default::default(),
            };
            state.apply(Update::InsertEntry { table, entry }, Nanos::new(0))?;
            if flows <= entries && n % entries.div_ceil(flows).max(1) == 0 {
                traffic.push((PortId::new(1), packet(rule, &mut random)));
            }
        }
        while entries > 0 && entries < flows && traffic.len() < flows {
            let rule = &rules[random.random_range(0..rules.len())];
            traffic.push((PortId::new(1), packet(rule, &mut random)));
        }
        Ok(traffic)
    }
}

/// A 64-byte packet that a rule matches, if its protocol has ports.
fn packet(rule: &Rule, random: &mut ChaCha8Rng) -> Vec<u8> {
    let [source, destination, _, from, to] =
        std::array::from_fn(|i| rule.value[i] | (random.next_u32() & !rule.mask[i]));
    let protocol = if rule.mask[2] == 0 {
        17
    } else {
        rule.value[2] as u8
    };
    let mut bytes = vec![0; 64];
    bytes[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    bytes[23] = protocol;
    bytes[26..30].copy_from_slice(&source.to_be_bytes());
    bytes[30..34].copy_from_slice(&destination.to_be_bytes());
    bytes[34..36].copy_from_slice(&(from as u16).to_be_bytes());
    bytes[36..38].copy_from_slice(&(to as u16).to_be_bytes());
    bytes
}

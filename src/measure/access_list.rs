//! A large ternary table to measure: an access list over the five-tuple, its entries and its packets.

use p4exec::tables::{ActionCall, EntryAction, EntryPriority, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4exec::{RuntimeState, StateError, Update};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use units::{Nanos, PortId};

use super::forwarding::Traffic;

/// The program, in `benches/p4`.
pub const ACCESS_LIST: &str = include_str!("../../benches/p4/access_list.p4");

/// The widths of the key's fields.
const WIDTHS: [u32; 5] = [32, 32, 8, 16, 16];

/// The five values of a rule or a packet.
type Tuple = [u32; 5];

/// One rule: values under masks.
struct Rule {
    value: Tuple,
    mask: Tuple,
}

/// Rules that share `masks` different masks, as access lists do: prefixes of the addresses, ports and
/// protocol given or not.
fn rules(count: usize, masks: usize, random: &mut ChaCha8Rng) -> Vec<Rule> {
    let prefix = |len: u32| u32::MAX.checked_shl(32 - len).unwrap_or(0);
    let masks: Vec<Tuple> = (0..masks)
        .map(|_| {
            let whole = |random: &mut ChaCha8Rng, width: u32| {
                if random.random::<bool>() {
                    u32::MAX >> (32 - width)
                } else {
                    0
                }
            };
            [
                prefix(random.random_range(16..=32)),
                prefix(random.random_range(16..=32)),
                whole(random, 8),
                whole(random, 16),
                whole(random, 16),
            ]
        })
        .collect();
    (0..count)
        .map(|_| {
            let mask = masks[random.random_range(0..masks.len())];
            let mut value = [0; 5];
            for (value, mask) in value.iter_mut().zip(mask) {
                *value = random.next_u32() & mask;
            }
            // TCP or UDP: other packets have no ports to look at.
            value[2] = mask[2] & if random.random() { 6 } else { 17 };
            Rule { value, mask }
        })
        .collect()
}

/// Fills the access list and returns packets that its rules match, one for each of `flows` of them.
///
/// # Errors
/// What the table refuses.
pub fn fill_access_list(
    state: &mut RuntimeState,
    entries: usize,
    masks: usize,
    flows: usize,
    seed: u64,
) -> Result<Traffic, StateError> {
    let no_such = |what, id: &str| StateError::NoSuch {
        what,
        id: id.to_owned(),
    };
    let table = state.table_named("I.access_list");
    let table = table.ok_or_else(|| no_such("table", "I.access_list"))?;
    let permit = state.action_named("I.permit");
    let permit = permit.ok_or_else(|| no_such("action", "I.permit"))?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut traffic = Traffic::new();
    for (n, rule) in rules(entries, masks, &mut random).into_iter().enumerate() {
        let key = std::array::from_fn::<_, 5, _>(|i| FieldMatch::Ternary {
            value: Bits::from_u64(WIDTHS[i], u64::from(rule.value[i])),
            mask: Bits::from_u64(WIDTHS[i], u64::from(rule.mask[i])),
        });
        let call = ActionCall {
            action: permit,
            args: vec![Bits::from_u64(9, n as u64 % 64)],
        };
        let entry = NewEntry {
            key: key.to_vec(),
            priority: EntryPriority(1 + n as i32),
            action: EntryAction::Call(call),
            is_const: false,
            options: Default::default(),
        };
        state.apply(Update::InsertEntry { table, entry }, Nanos::new(0))?;
        if n % entries.div_ceil(flows).max(1) == 0 {
            traffic.push((PortId::new(1), packet(&rule, &mut random)));
        }
    }
    Ok(traffic)
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

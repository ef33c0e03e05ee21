//! Entries of the `failover` programs for Tofino: those of v1model's program with ports outside as the device has them
//! (rules and headers keep the plan's numbers), and those of the tables that only Tofino has:
//!
//! | table | entry |
//! |---|---|
//! | `port_down` | the port that went down -> all bits but its own |
//! | `port_alive` | out port, its bit -> it is up |
//! | `way` | number of routings, low bits of the flow hash -> the hash modulo that number |
//!
//! The port status has a bit for every port of the plan, 32 in a key field.

use std::collections::BTreeSet;

use p4runtime::Bits;
use plan::CheckedPlan;
use topology::SwitchId;

use super::model::{ActionCall, EntryAction, Key, MatchValue, SwitchEntries};
use super::tofino::{DevicePorts, Ports, count_of, rename};
use super::writer::Writer;
use super::{EntriesError, Problem, failover};
use crate::layout::tofino::{
    ALIVE, FLOW_HASH_BITS, ISLAND_OUT, PORT_ALIVE, PORT_DOWN, STATUS, STATUS_HIGH,
    STATUS_WORD_BITS, TAKE_DOWN, TAKE_WAY, WAY, generator_port,
};
use crate::layout::{Architecture, FailoverFeatures, FailoverRoom, Layout, action, table};

/// Bits of a port's number within its pipe.
const PIPE_PORT_MASK: u16 = 0x7f;
/// Where the ways are no power of two, so many values of the hash a way at least: the shares differ by no more than one
/// in so many.
const HASHES_PER_WAY: u32 = 16;

/// What entries are made for, besides the plan.
#[derive(Clone, Copy, Debug)]
pub struct For<'a> {
    /// The chip.
    pub architecture: Architecture,
    /// The program's features.
    pub features: &'a FailoverFeatures,
    /// The program's layout ([`Layout::tofino_failover`]).
    pub layout: &'a Layout,
    /// The version that packets are stamped with.
    pub version: u8,
    /// Device ports.
    pub devices: &'a DevicePorts,
}

/// The entries of one switch.
///
/// # Errors
/// As [`failover::generate`]; two ports of a switch that end up with one device port, or one that is the generator's.
pub fn generate(
    plan: &CheckedPlan,
    program: &For<'_>,
    switch: SwitchId,
) -> Result<SwitchEntries, EntriesError> {
    let layout = Layout::failover(*program.features);
    let common = failover::generate(plan, &layout, switch, program.version)?;
    let name = common.switch.clone();
    let numbers = plan.topology().peers(switch).map(|(port, _)| port);
    let named = |problem| EntriesError::Unfit {
        at: name.clone(),
        problem,
    };
    let ports = Ports::of(&name, numbers, program.devices).map_err(named)?;
    let generator = generator_port(program.architecture);
    for (port, device) in ports.iter() {
        if device & PIPE_PORT_MASK == generator {
            return Err(named(Problem::GeneratorPort {
                port: port.get(),
                device,
            }));
        }
    }
    let mut to = Writer::new(program.layout, &name);
    to.entries = translate(common, &ports).map_err(named)?;
    own_tables(&mut to, program.features, &ports).map_err(named)?;
    Ok(to.entries)
}

/// Tofino's names, ports and status for what v1model's program has.
fn translate(mut entries: SwitchEntries, ports: &Ports) -> Result<SwitchEntries, Problem> {
    for entry in &mut entries.tables {
        rename(&mut entry.table);
        let outside = matches!(entry.table.as_ref(), table::ISLAND_IN | ISLAND_OUT);
        let mut inside = None;
        let mut keys = Vec::with_capacity(entry.keys.len() + 1);
        for mut key in std::mem::take(&mut entry.keys) {
            match &mut key.value {
                MatchValue::Exact(value) if outside => {
                    inside = Some(value.clone());
                    *value = ports.translate(value)?;
                    keys.push(key);
                }
                MatchValue::Ternary { value, mask } if key.field == STATUS => {
                    keys.extend(status(value, mask)?);
                }
                _ => keys.push(key),
            }
        }
        entry.keys = keys;
        if let EntryAction::Direct(call) = &mut entry.action {
            rename(&mut call.action);
            for (_, value) in call.params.iter_mut().filter(|(name, _)| name == "port") {
                *value = ports.translate(value)?;
            }
            if let (action::FROM_FABRIC, Some(port)) = (call.action.as_ref(), inside) {
                call.params.push(("port".into(), port));
            }
        }
    }
    Ok(entries)
}

/// The words of the port status, where a bit of them counts.
fn status(value: &Bits, mask: &Bits) -> Result<Vec<Key>, Problem> {
    let mut keys = Vec::new();
    let wide = |bits: &Bits| bits.to_u128().unwrap_or(u128::MAX);
    let (value, mask) = (wide(value), wide(mask));
    for (field, shift) in [(STATUS, 0), (STATUS_HIGH, u32::from(STATUS_WORD_BITS))] {
        let word = |bits: u128| bits >> shift & u128::from(u32::MAX);
        let value = word_bits(word(value))?;
        if let Some(value) = MatchValue::ternary(&value, word_bits(word(mask))?) {
            keys.push(Key {
                field: field.into(),
                value,
            });
        }
    }
    Ok(keys)
}

fn word_bits(word: u128) -> Result<Bits, Problem> {
    Bits::from_uint(word, STATUS_WORD_BITS.into()).map_err(|source| Problem::Value {
        what: "the port status".to_owned(),
        source,
    })
}

fn own_tables(
    to: &mut Writer<'_>,
    features: &FailoverFeatures,
    ports: &Ports,
) -> Result<(), Problem> {
    for (port, device) in ports.iter() {
        let bit = 1_u128.checked_shl(port.get().into()).unwrap_or(0);
        let others: Vec<u128> = (0..features.status_words())
            .map(|word| !(bit >> (32 * word)) & u128::from(u32::MAX))
            .collect();
        let key = to.exact(PORT_DOWN, "port", device)?;
        let call = to.call(TAKE_DOWN, &others)?;
        to.push(PORT_DOWN, vec![key], None, EntryAction::Direct(call));
    }
    for (port, device) in ports.iter() {
        let bit = 1_u128.checked_shl(port.get().into()).unwrap_or(0);
        let mut keys = vec![to.exact(PORT_ALIVE, "port", device)?];
        for (word, field) in [STATUS, STATUS_HIGH]
            .into_iter()
            .take(features.status_words())
            .enumerate()
        {
            let bits = bit >> (32 * word) & u128::from(u32::MAX);
            keys.extend(to.ternary(PORT_ALIVE, field, bits, bits)?);
        }
        let call = ActionCall::bare(ALIVE);
        to.push(PORT_ALIVE, keys, Some(1), EntryAction::Direct(call));
    }
    for ways in numbers_of_ways(&to.entries) {
        for (hash, mask) in hashes(ways) {
            let mut keys = vec![to.exact(WAY, "ways", ways)?];
            keys.extend(to.ternary(WAY, "flow_hash", hash.into(), mask.into())?);
            let call = to.call(TAKE_WAY, &[(hash % ways).into()])?;
            to.push(WAY, keys, Some(1), EntryAction::Direct(call));
        }
    }
    Ok(())
}

/// The numbers of routings that flows choose from.
fn numbers_of_ways(entries: &SwitchEntries) -> BTreeSet<u32> {
    let calls = entries
        .tables
        .iter()
        .filter_map(|entry| match &entry.action {
            EntryAction::Direct(call) if call.action == action::ENCAPSULATE_FLOW => Some(call),
            _ => None,
        });
    let ways = calls.filter_map(|call| {
        let (_, ways) = call.params.iter().find(|(name, _)| name == "ways")?;
        u32::try_from(ways.to_u128()?).ok()
    });
    ways.filter(|ways| *ways > 0).collect()
}

/// The low bits of a hash that choose one of so many ways: all their values, with the mask.
fn hashes(ways: u32) -> impl Iterator<Item = (u32, u32)> {
    let enough = if ways.is_power_of_two() {
        ways
    } else {
        (ways * HASHES_PER_WAY).next_power_of_two()
    };
    let values = enough.min(1 << FLOW_HASH_BITS);
    (0..values).map(move |hash| (hash, values - 1))
}

/// How many of a switch's entries go into a table.
#[must_use]
pub fn room_needed(entries: &SwitchEntries) -> FailoverRoom {
    let of = |name: &str| count_of(entries, name);
    FailoverRoom {
        rules: of(table::RES_FORWARD),
        destinations: of(table::ENCAP),
        neighbors: of(table::NEIGHBOR),
        local_hosts: of(table::LOCAL_HOST),
        next_hops: of(table::SRC_FORWARD),
        ways: of(WAY),
        security: of(table::SECURITY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_chooses_a_way_and_each_about_as_often() {
        for ways in [1, 2, 3, 4, 5, 7, 8, 12, 100] {
            let mut chosen = vec![0_u32; ways as usize];
            let mut seen = 0;
            for (hash, mask) in hashes(ways) {
                assert_eq!(hash & mask, hash);
                chosen[(hash % ways) as usize] += 1;
                seen += 1;
            }
            let (least, most) = (chosen.iter().min(), chosen.iter().max());
            let (least, most) = (least.copied().unwrap_or(0), most.copied().unwrap_or(0));
            assert!(
                most - least <= 1 && least * 17 >= most * 16,
                "{ways}: {least} to {most}"
            );
            assert!(u32::is_power_of_two(seen));
        }
    }

    #[test]
    fn the_status_is_split_into_words() {
        let bits = |value: u128| Bits::from_uint(value, 64).expect("it fits");
        let one = |value, mask| status(&bits(value), &bits(mask)).expect("it fits");
        assert_eq!(one(1 << 5, 1 << 5).len(), 1);
        let both = one(1 << 40, 1 << 40 | 1 << 2);
        let fields: Vec<&str> = both.iter().map(|k| k.field.as_ref()).collect();
        assert_eq!(fields, [STATUS, STATUS_HIGH]);
        let MatchValue::Ternary { value, mask } = &both[1].value else {
            unreachable!("it is ternary");
        };
        assert_eq!(
            (value.to_u128(), mask.to_u128()),
            (Some(1 << 8), Some(1 << 8))
        );
    }
}

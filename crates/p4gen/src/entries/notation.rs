//! Values as people read them: addresses as addresses, ports with the names that their switches
//! give them, bitmaps of ports as lists.

use std::net::{Ipv4Addr, Ipv6Addr};

use plan::{RuleForm, Tables};
use quantities::PortId;
use topology::{SwitchId, Topology, port_list};
use wire::MacAddr;

use super::value_text::{decimal, hexadecimal};
use super::{Bits, FieldMatch};
use crate::layout::Meaning;

/// How the values of a plan's program are written for people.
#[derive(Clone, Copy, Debug)]
pub struct Notation<'a> {
    topology: &'a Topology,
    /// Whether tag rules match sets of ports.
    sets: bool,
    /// Whether the numbers of ports are the plan's. On Tofino they are the device's.
    plan_ports: bool,
}

impl<'a> Notation<'a> {
    /// For the program of a plan. `maps` says whether a platform's maps take the place of tag
    /// rules, `plan_ports` whether ports have the plan's numbers (and not the device's).
    pub(crate) fn new(tables: &'a Tables, maps: bool, plan_ports: bool) -> Self {
        Self {
            topology: &tables.topology,
            sets: tables.tagging.form == RuleForm::PortSets && !maps,
            plan_ports,
        }
    }

    /// The value of a key field that is looked up.
    #[must_use]
    pub fn key(&self, switch: SwitchId, table: &str, field: &str, value: &Bits) -> String {
        let meaning = Meaning::of_key(table, field, value.width(), self.sets);
        self.value(switch, meaning, value)
    }

    /// The values of a key field that an entry matches: one, a prefix, a set, a range, or `*` for
    /// any.
    #[must_use]
    pub fn matched(&self, switch: SwitchId, table: &str, field: &str, of: &FieldMatch) -> String {
        let meaning = |bits: &Bits| Meaning::of_key(table, field, bits.width(), self.sets);
        let text = |bits: &Bits| self.value(switch, meaning(bits), bits);
        match of {
            FieldMatch::Exact(value) | FieldMatch::Optional(Some(value)) => text(value),
            FieldMatch::Lpm { value, prefix_len } => format!("{}/{prefix_len}", text(value)),
            FieldMatch::Range { low, high } => format!("{}..{}", text(low), text(high)),
            FieldMatch::Optional(None) => "*".to_owned(),
            FieldMatch::Ternary { value, mask } => self.masked(switch, meaning(value), value, mask),
        }
    }

    /// The value of a parameter of an action.
    #[must_use]
    pub fn parameter(&self, switch: SwitchId, name: &str, value: &Bits) -> String {
        let meaning = Meaning::of_parameter(name, value.width());
        self.value(switch, meaning, value)
    }

    /// A port of a switch, with its name where the topology has one.
    #[must_use]
    pub fn port(&self, switch: SwitchId, port: PortId) -> String {
        match self.plan_ports {
            true => self.topology.port_label(switch, port),
            false => port.to_string(),
        }
    }

    fn value(&self, switch: SwitchId, meaning: Meaning, value: &Bits) -> String {
        let bytes = value.to_bytes_be();
        let written = match meaning {
            Meaning::Mac => <[u8; 6]>::try_from(bytes)
                .ok()
                .map(|bytes| MacAddr::from(bytes).to_string()),
            Meaning::Ipv4 => <[u8; 4]>::try_from(bytes)
                .ok()
                .map(|bytes| Ipv4Addr::from(bytes).to_string()),
            Meaning::Ipv6 => <[u8; 16]>::try_from(bytes)
                .ok()
                .map(|bytes| Ipv6Addr::from(bytes).to_string()),
            Meaning::Port => value
                .to_u64()
                .and_then(|port| u16::try_from(port).ok())
                .map(|port| self.port(switch, PortId::new(port))),
            Meaning::PortBit => match ports(value, 0)[..] {
                [port] => Some(self.topology.port_label(switch, port)),
                _ => None,
            },
            Meaning::PortsUp { first } => Some(format!("up {}", port_list(ports(value, first)))),
            Meaning::Number => None,
        };
        written.unwrap_or_else(|| decimal(value))
    }

    fn masked(&self, switch: SwitchId, meaning: Meaning, value: &Bits, mask: &Bits) -> String {
        if mask.is_zero() {
            return "*".to_owned();
        }
        match meaning {
            // One bit is set in the key: a mask that excludes bits leaves the others.
            Meaning::PortBit if value.is_zero() => {
                let last = self.topology.switch(switch).ports;
                let outside = |port: &PortId| !mask.bit(u32::from(port.get()));
                let inside: Vec<PortId> = (1..=last).map(PortId::new).filter(outside).collect();
                match inside[..] {
                    [port] => self.topology.port_label(switch, port),
                    _ => format!("ports {}", port_list(inside)),
                }
            }
            Meaning::PortsUp { first } => {
                let up = ports(value, first);
                let down = ports(&mask.and(&value.not()), first);
                let said = [("up", up), ("down", down)];
                let said = said.into_iter().filter(|(_, ports)| !ports.is_empty());
                let said = said.map(|(word, ports)| format!("{word} {}", port_list(ports)));
                said.collect::<Vec<_>>().join("; ")
            }
            _ if *mask == Bits::ones(mask.width()) => self.value(switch, meaning, value),
            Meaning::Mac => {
                let write = |bits| self.value(switch, meaning, bits);
                format!("{}&&&{}", write(value), write(mask))
            }
            _ => format!("{}&&&{}", hexadecimal(value), hexadecimal(mask)),
        }
    }
}

/// The ports whose bits are set; bit 0 stands for `first`.
fn ports(bits: &Bits, first: u16) -> Vec<PortId> {
    let width = u16::try_from(bits.width()).unwrap_or(u16::MAX);
    let set = (0..width).filter(|&bit| bits.bit(u32::from(bit)));
    set.map(|bit| PortId::new(first.saturating_add(bit)))
        .collect()
}

//! What the values of key fields and parameters stand for, so that people can read them.
//!
//! The text of a program says the same of addresses with `@format`, an annotation that P4Info
//! carries; a test compares both.

use super::{PORT_BITS, table};

/// What the values of a field or parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An Ethernet address.
    Mac,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// The number of a port.
    Port,
    /// The one bit of a port: bit `p` for port `p`. A mask of a key gives a set of ports.
    PortBit,
    /// Ports that are up: bit `p` for port `p + first`.
    PortsUp {
        /// The port of the lowest bit.
        first: u16,
    },
    /// A number.
    Number,
}

impl Meaning {
    /// Of a key field. `sets` says whether tag rules match sets of ports.
    #[must_use]
    pub fn of_key(table: &str, field: &str, bits: u32, sets: bool) -> Self {
        let tag_rules = [table::CLASSIFY, table::REWRITE, table::INGRESS_REWRITE];
        match field {
            "in_port" | "out_port" if sets && tag_rules.contains(&table) => Self::PortBit,
            "in_port" | "out_port" | "came_from" => Self::Port,
            _ => Self::of_name(field, bits),
        }
    }

    /// Of a parameter of an action.
    #[must_use]
    pub fn of_parameter(name: &str, bits: u32) -> Self {
        match name {
            "bits" => Self::PortBit,
            _ => Self::of_name(name, bits),
        }
    }

    fn of_name(name: &str, bits: u32) -> Self {
        match (name, bits) {
            ("target_ip" | "dst_addr", 32) => Self::Ipv4,
            ("dst_addr", 128) => Self::Ipv6,
            ("src_addr" | "dst_addr" | "mac" | "src_mac" | "dst_mac" | "gateway_mac", 48) => {
                Self::Mac
            }
            ("port", bits) if bits == u32::from(PORT_BITS) => Self::Port,
            ("next_hop", 8) => Self::Port,
            ("port_status" | "up" | "others", _) => Self::PortsUp { first: 0 },
            ("port_status_high" | "others_high", _) => Self::PortsUp {
                first: super::STATUS_WORD_BITS,
            },
            _ => Self::Number,
        }
    }
}

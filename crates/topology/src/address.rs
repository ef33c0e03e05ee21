//! Structured addresses: one power-of-two block per edge switch, blocks of a group side by side.
//!
//! The layout is `10.0.0.0/8`, split as group | edge switch of the group | host. Each field is as
//! wide as its largest value needs, widened to a whole byte where that fits, so that a fat-tree
//! reads `10.pod.edge.host`. Edge numbers start at zero in each group: the blocks of a group are
//! dense and merge into few prefixes. The IPv6 address is the IPv4 address behind `fd00::/96`, the
//! Ethernet address behind `02:00`; so one structure serves all three.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::prefix::{Ipv4Prefix, Ipv6Prefix, Subnet};

/// `10.0.0.0/8`.
const BASE: u32 = 10 << 24;
/// Bits of an address below the base.
const FREE_BITS: u32 = 24;
/// Addresses of a block that no host has: the first, the last, and the switch's own before it.
const RESERVED: u32 = 3;

/// How many bits each field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    edge_bits: u32,
    host_bits: u32,
}

impl Layout {
    /// The layout for `groups` groups of at most `edges` edge switches with at most `hosts` hosts;
    /// `None` if that exceeds `10.0.0.0/8`.
    pub(super) fn fit(groups: u32, edges: u32, hosts: u32) -> Option<Self> {
        let group_bits = width(groups);
        let mut edge_bits = width(edges);
        let mut host_bits = width(hosts.checked_add(RESERVED)?);
        if group_bits + edge_bits + host_bits > FREE_BITS {
            return None;
        }
        if group_bits + edge_bits + host_bits.max(8) <= FREE_BITS {
            host_bits = host_bits.max(8);
        }
        if groups > 1 && group_bits + edge_bits.max(8) + host_bits <= FREE_BITS {
            edge_bits = edge_bits.max(8);
        }
        Some(Self {
            edge_bits,
            host_bits,
        })
    }

    /// The block of an edge switch.
    pub(super) fn subnet(self, group: u32, edge: u32) -> Subnet {
        let block = BASE | (((group << self.edge_bits) | edge) << self.host_bits);
        let length = u8::try_from(32 - self.host_bits).unwrap_or(32);
        let ipv4 = Ipv4Addr::from(block);
        Subnet {
            ipv4: Ipv4Prefix::new(ipv4, length),
            ipv6: Ipv6Prefix::new(ipv6_of(ipv4), 96 + length),
        }
    }
}

/// The address of the `number`-th host (from 0) of a block.
pub(super) fn host_address(subnet: Subnet, number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(subnet.ipv4.address()) + 1 + number)
}

/// The IPv6 address that goes with an IPv4 address.
pub(super) fn ipv6_of(ipv4: Ipv4Addr) -> Ipv6Addr {
    const ULA: u128 = 0xfd00 << 112;
    Ipv6Addr::from(ULA | u128::from(u32::from(ipv4)))
}

/// The locally administered Ethernet address that goes with an IPv4 address.
pub(super) fn mac_of(ipv4: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = ipv4.octets();
    [0x02, 0x00, a, b, c, d]
}

/// Bits that tell `values` values apart.
fn width(values: u32) -> u32 {
    u32::BITS - values.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fat_tree_reads_pod_edge_host() {
        let layout = Layout::fit(8, 4, 4).unwrap();
        let subnet = layout.subnet(3, 1);
        assert_eq!(subnet.ipv4.to_string(), "10.3.1.0/24");
        assert_eq!(subnet.ipv6.to_string(), "fd00::a03:100/120");
        assert_eq!(host_address(subnet, 0), Ipv4Addr::new(10, 3, 1, 1));
        assert_eq!(mac_of(host_address(subnet, 0)), [2, 0, 10, 3, 1, 1]);
    }

    #[test]
    fn large_networks_get_tight_fields_and_too_large_ones_none() {
        let layout = Layout::fit(1000, 100, 61).unwrap();
        assert_eq!(layout.subnet(0, 1).ipv4.to_string(), "10.0.0.64/26");
        assert_eq!(Layout::fit(1, 1 << 20, 60), None);
        assert!(Layout::fit(1, 1 << 20, 13).is_some());
    }
}

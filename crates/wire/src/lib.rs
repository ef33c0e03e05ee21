//! Packets as bytes: checked views of headers, their representations, checksums, PFC frames, and
//! a builder for whole packets.
//!
//! Every header has two forms. A **view** (`ethernet::Frame`, `ipv4::Packet`, ...) wraps a buffer,
//! checks once that the header is there (`new_checked`), and reads and writes fields in place at
//! named ranges. A **representation** (`Repr`) is the header's meaning as plain values; `parse`
//! makes it from a view and checks what a view does not (versions, reserved values), `emit`
//! writes it. For every header, `parse` after `emit` gives the same representation.
//!
//! ```
//! use wire::{PacketBuilder, layers::Layers};
//!
//! let bytes = PacketBuilder::new()
//!     .ipv4([10, 0, 1, 1], [10, 0, 2, 1])
//!     .dscp(1)
//!     .udp(4000, 5000)
//!     .payload(b"hello")
//!     .build()?;
//! let layers = Layers::parse(&bytes)?;
//! assert_eq!(layers.dscp(), Some(1));
//! # Ok::<(), wire::PacketError>(())
//! ```

#[macro_use]
mod view;

pub mod arp;
pub mod build;
pub mod checksum;
pub mod ethernet;
pub mod ipv4;
pub mod ipv6;
pub mod layers;
pub mod pfc;
pub mod tcp;
pub mod udp;
pub mod vlan;

pub use build::PacketBuilder;
pub use ethernet::{EtherType, MacAddr};

use std::fmt;

/// Why bytes are not the header that they should be, or a header cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The header, or what its length field announces, does not fit the buffer.
    #[error("the {header} needs {needed} bytes and there are {have}")]
    Truncated {
        /// Which header.
        header: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that there are.
        have: usize,
    },
    /// A field has a value that the header's standard does not allow.
    #[error("the {header} has {field} {value}, {rule}")]
    Malformed {
        /// Which header.
        header: &'static str,
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What the standard says.
        rule: &'static str,
    },
    /// The checksum does not fit the bytes.
    #[error("the {header} has a wrong checksum")]
    Checksum {
        /// Which header.
        header: &'static str,
    },
    /// A packet to be built has a part that no header of that kind can carry.
    #[error("cannot build the packet: {0}")]
    Build(String),
    /// Text is not a MAC address.
    #[error("'{0}' is not a MAC address; write six hexadecimal bytes as in 02:00:00:00:00:01")]
    MacAddr(String),
}

/// An IP protocol number (IPv4 "protocol", IPv6 "next header"; IANA registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// RFC 9293.
    pub const TCP: Self = Self(6);
    /// RFC 768.
    pub const UDP: Self = Self(17);
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TCP => f.write_str("TCP"),
            Self::UDP => f.write_str("UDP"),
            Self(number) => write!(f, "protocol {number}"),
        }
    }
}

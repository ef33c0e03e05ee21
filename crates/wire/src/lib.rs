//! Packets as bytes: headers behind checks, PFC frames, and a builder for whole packets.
//!
//! Views of headers are those of `pnet_packet`. It accepts any buffer that has room for the fixed
//! fields; the functions of [`headers`] also check what a header says of its own length and
//! version, and end the view where the header says that the packet ends.
//!
//! ```
//! use wire::{PacketBuilder, headers::Layers};
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

pub mod build;
pub mod checksum;
pub mod headers;
pub mod pfc;

pub use build::PacketBuilder;
pub use pnet_base::MacAddr;
pub use pnet_packet as pnet;
pub use pnet_packet::Packet;
pub use pnet_packet::ethernet::{EtherType, EtherTypes};
pub use pnet_packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};

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
    /// A packet to be built has a part that no header of that kind can carry.
    #[error("cannot build the packet: {0}")]
    Build(String),
}

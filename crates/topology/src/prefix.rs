//! Address prefixes (CIDR blocks), written `10.0.1.0/24` and `fd00::a00:100/120`.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a text is not a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// Not `ADDRESS/LENGTH`.
    #[error("`{0}` is not a prefix; write an address, a slash and a length, as in `{1}`")]
    Syntax(String, &'static str),
    /// The length exceeds the address.
    #[error("`{0}`: a prefix length of this family is at most {1}")]
    Length(String, u8),
}

/// Declares a prefix type over an address type and the integer that holds it.
macro_rules! prefix {
    ($(#[$doc:meta])* $name:ident, $address:ident, $bits:ident, $width:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name {
            address: $address,
            length: u8,
        }

        impl $name {
            /// The block of `length` leading bits that holds `address`; the host bits are cleared
            /// and a longer length means the whole address.
            #[must_use]
            pub fn new(address: $address, length: u8) -> Self {
                let length = length.min($width);
                let address = $address::from(<$bits>::from(address) & Self::mask(length));
                Self { address, length }
            }

            /// The block's first address.
            #[must_use]
            pub const fn address(self) -> $address {
                self.address
            }

            /// How many leading bits are fixed.
            #[must_use]
            pub const fn length(self) -> u8 {
                self.length
            }

            /// Whether `address` lies in the block.
            #[must_use]
            pub fn contains(self, address: $address) -> bool {
                <$bits>::from(address) & Self::mask(self.length) == <$bits>::from(self.address)
            }

            /// The block that this and `next` are the two halves of.
            pub(crate) fn joined(self, next: Self) -> Option<Self> {
                let length = self.length.checked_sub(1)?;
                let (own, other) = (<$bits>::from(self.address), <$bits>::from(next.address));
                let last = 1 << ($width - 1 - length);
                let halves = next.length == self.length && own & last == 0 && other == own | last;
                halves.then_some(Self {
                    address: self.address,
                    length,
                })
            }

            fn mask(length: u8) -> $bits {
                match length {
                    0 => 0,
                    length => <$bits>::MAX << ($width - length),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.address, self.length)
            }
        }

        impl From<$name> for String {
            fn from(prefix: $name) -> Self {
                prefix.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = PrefixError;

            fn try_from(text: String) -> Result<Self, PrefixError> {
                text.parse()
            }
        }

        impl FromStr for $name {
            type Err = PrefixError;

            fn from_str(text: &str) -> Result<Self, PrefixError> {
                let syntax = || PrefixError::Syntax(text.to_owned(), $example);
                let (address, length) = text.split_once('/').ok_or_else(syntax)?;
                let address: $address = address.trim().parse().map_err(|_| syntax())?;
                let length: u8 = length.trim().parse().map_err(|_| syntax())?;
                if length > $width {
                    return Err(PrefixError::Length(text.to_owned(), $width));
                }
                Ok(Self::new(address, length))
            }
        }
    };
}

prefix! {
    /// A block of IPv4 addresses.
    Ipv4Prefix, Ipv4Addr, u32, 32, "10.0.1.0/24"
}
prefix! {
    /// A block of IPv6 addresses.
    Ipv6Prefix, Ipv6Addr, u128, 128, "fd00::a00:100/120"
}

/// The addresses behind one edge switch, in both families. The switch discards what lies in them
/// and belongs to no host of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    /// The IPv4 block.
    pub ipv4: Ipv4Prefix,
    /// The IPv6 block.
    pub ipv6: Ipv6Prefix,
}

impl Subnet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_bits_are_cleared_and_text_round_trips() {
        let prefix: Ipv4Prefix = "10.1.2.3/20".parse().unwrap();
        assert_eq!(prefix.to_string(), "10.1.0.0/20");
        assert_eq!(prefix, prefix.to_string().parse().unwrap());
        assert!(prefix.contains(Ipv4Addr::new(10, 1, 15, 255)));
        assert!(!prefix.contains(Ipv4Addr::new(10, 1, 16, 0)));
        let all: Ipv6Prefix = "::/0".parse().unwrap();
        assert!(all.contains(Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn bad_prefixes_say_what_is_wrong() {
        assert!("10.0.0.0".parse::<Ipv4Prefix>().is_err());
        let long = "10.0.0.0/33".parse::<Ipv4Prefix>().unwrap_err();
        assert!(long.to_string().contains("at most 32"));
    }
}

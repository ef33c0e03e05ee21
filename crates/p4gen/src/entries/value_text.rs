//! Values as people and tools write them: addresses by their width, else numbers.

use std::net::{Ipv4Addr, Ipv6Addr};

use entries::{Bits, Bytestring as _};
use num_bigint::BigUint;
use wire::MacAddr;

/// The address that a value of an address's width can be written as: 32 bits as IPv4, 48 as MAC,
/// 128 as IPv6.
pub fn address(bits: &Bits) -> Option<String> {
    let bytes = bits.to_bytes_be();
    match bits.width() {
        32 => <[u8; 4]>::try_from(bytes.as_slice())
            .ok()
            .map(|b| Ipv4Addr::from(b).to_string()),
        48 => <[u8; 6]>::try_from(bytes.as_slice())
            .ok()
            .map(|b| MacAddr::from(b).to_string()),
        128 => <[u8; 16]>::try_from(bytes.as_slice())
            .ok()
            .map(|b| Ipv6Addr::from(b).to_string()),
        _ => None,
    }
}

/// The value as a decimal number of any size.
pub fn decimal(bits: &Bits) -> String {
    match bits.to_u128() {
        Some(value) => value.to_string(),
        None => bits.to_biguint().to_string(),
    }
}

/// The value as a hexadecimal number without leading zeros.
pub fn hexadecimal(bits: &Bits) -> String {
    let digits = bits.to_string();
    match digits.trim_start_matches("0x").trim_start_matches('0') {
        "" => "0x0".to_owned(),
        digits => format!("0x{digits}"),
    }
}

/// Reads an address (where the width is one's), a decimal or a `0x` hexadecimal number.
///
/// The error says what was expected.
pub(super) fn parse(text: &str, width: u32) -> Result<Bits, String> {
    let bytes = match parse_address(text, width) {
        Some(bytes) => bytes,
        None => {
            let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                Some(digits) => BigUint::parse_bytes(digits.as_bytes(), 16),
                None => BigUint::parse_bytes(text.as_bytes(), 10),
            };
            number
                .ok_or_else(|| format!("'{text}' is neither a number nor an address of its width"))?
                .to_bytes_be()
        }
    };
    Bits::decode(&bytes, width).map_err(|error| error.to_string())
}

fn parse_address(text: &str, width: u32) -> Option<Vec<u8>> {
    match width {
        32 => text.parse::<Ipv4Addr>().ok().map(|a| a.octets().to_vec()),
        48 => text.parse::<MacAddr>().ok().map(|a| a.octets().to_vec()),
        128 => text.parse::<Ipv6Addr>().ok().map(|a| a.octets().to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in prop::collection::vec(any::<u8>(), 1..40), spare in 0_u32..8) {
            let width = bytes.len() as u32 * 8 - spare;
            let bits = Bits::decode(&bytes, bytes.len() as u32 * 8).unwrap();
            let Ok(bits) = Bits::decode(&bits.to_bytes_be(), width) else { return Ok(()) };
            prop_assert_eq!(parse(&decimal(&bits), width), Ok(bits.clone()));
            prop_assert_eq!(parse(&hexadecimal(&bits), width), Ok(bits.clone()));
            if let Some(text) = address(&bits) {
                prop_assert_eq!(parse(&text, width), Ok(bits));
            }
        }
    }

    #[test]
    fn nonsense_is_told() {
        assert!(
            parse("10.0.0.1", 16)
                .unwrap_err()
                .contains("neither a number nor an address")
        );
        assert!(parse("256", 8).unwrap_err().contains("needs 9 bits"));
        assert!(parse("-1", 8).is_err() && parse("", 8).is_err() && parse("0x", 8).is_err());
    }
}

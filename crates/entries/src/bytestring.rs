//! Values as P4Runtime writes them (P4Runtime 1.5, chapter 8, "Bytestrings").

use p4exec::value::Bits;
use p4runtime::BytestringError;
use p4runtime::bytestring::{canonical, unsigned};

/// A value as P4Runtime writes it: the shortest byte string that holds it.
pub trait Bytestring: Sized {
    /// Reads an unsigned value of at most `width` bits, with any amount of leading zeros.
    ///
    /// # Errors
    /// [`BytestringError`] when the string is empty or its value does not fit.
    fn decode(bytes: &[u8], width: u32) -> Result<Self, BytestringError>;

    /// A value of at most 128 bits.
    ///
    /// # Errors
    /// [`BytestringError::TooWide`] when it does not fit `width` bits.
    fn from_uint(value: impl Into<u128>, width: u32) -> Result<Self, BytestringError> {
        Self::decode(&value.into().to_be_bytes(), width)
    }

    /// The shortest string: no leading zero bytes, and one `00` for zero.
    fn canonical(&self) -> Vec<u8>;
}

impl Bytestring for Bits {
    fn decode(bytes: &[u8], width: u32) -> Result<Self, BytestringError> {
        Ok(Self::from_bytes_be(width, unsigned(bytes, width)?))
    }

    fn canonical(&self) -> Vec<u8> {
        canonical(&self.to_bytes_be()).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_zero_padding_is_read_and_the_shortest_form_is_written() {
        for width in [9, 16, 128, 200] {
            let bits = Bits::decode(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5], width);
            assert_eq!(bits, Ok(Bits::from_u64(width, 0x105)));
            assert_eq!(bits.unwrap().canonical(), [1, 5]);
        }
        assert_eq!(Bits::zero(48).canonical(), [0]);
        assert_eq!(Bits::decode(&[], 8), Err(BytestringError::Empty));
        let refused = Bits::from_uint(0x1ff_u32, 8).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the value 0x01ff does not fit 8 bits: it needs 9 bits"
        );
    }
}

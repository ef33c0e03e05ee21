//! Reading and writing bit strings in packets: network order, most significant bit first.

use crate::value::Bits;

/// The `width` bits of `data` that start `offset` bits from its beginning, or `None` if the
/// data ends before them.
#[must_use]
pub fn read_bits(data: &[u8], offset: usize, width: u32) -> Option<Bits> {
    let end = offset.checked_add(width as usize)?;
    if end > data.len() * 8 {
        return None;
    }
    if width == 0 {
        return Some(Bits::zero(0));
    }
    let bytes = &data[offset / 8..end.div_ceil(8)];
    let tail = (end.div_ceil(8) * 8 - end) as u32;
    if width + tail <= 128 {
        let value = bytes
            .iter()
            .fold(0u128, |acc, b| (acc << 8) | u128::from(*b));
        return Some(Bits::from_u128(width, value >> tail));
    }
    let whole = Bits::from_bytes_be(width + tail + 7, bytes);
    Some(whole.shr_unsigned(tail).resize_unsigned(width))
}

/// Collects bit strings one behind the other; the last byte is filled up with zero bits.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits written so far.
    len: usize,
}

impl BitWriter {
    /// An empty writer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value, most significant bit first.
    pub fn push(&mut self, bits: &Bits) {
        let used = (self.len % 8) as u32;
        let width = bits.width();
        if width == 0 {
            return;
        }
        // Shift the value so that its end lies on a byte boundary, then merge its first byte.
        let tail = (8 - (used + width) % 8) % 8;
        let aligned = bits
            .resize_unsigned(used + width + tail)
            .shl(tail)
            .to_bytes_be();
        let mut rest = aligned.as_slice();
        if used > 0
            && let (Some(last), Some((first, others))) = (self.bytes.last_mut(), rest.split_first())
        {
            *last |= first;
            rest = others;
        }
        self.bytes.extend_from_slice(rest);
        self.len += width as usize;
    }

    /// Appends whole bytes, wherever the writer stands.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if self.len.is_multiple_of(8) {
            self.bytes.extend_from_slice(bytes);
            self.len += bytes.len() * 8;
        } else {
            for byte in bytes {
                self.push(&Bits::from_u64(8, u64::from(*byte)));
            }
        }
    }

    /// The bytes written, the last one filled up with zero bits.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

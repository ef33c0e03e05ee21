//! Encoded messages read where they are: the fields of one message after the other, nothing copied.

use prost::encoding::{WireType, decode_key, decode_varint};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number, as it is encoded.
    Number(u64),
    /// Bytes, or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message, in the order in which they were written; `None` where one cannot be
/// read, or is of a kind that no P4Runtime entry has, and the last then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Of an encoded message.
    pub(super) const fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    #[inline]
    fn read(&mut self) -> Option<(u32, Value<'a>)> {
        let (number, wire) = decode_key(&mut self.0).ok()?;
        let value = match wire {
            WireType::Varint => Value::Number(decode_varint(&mut self.0).ok()?),
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut self.0).ok()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u32, Value<'a>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use p4runtime::p4::v1;
    use prost::Message as _;

    use super::*;

    #[test]
    fn fields_are_those_that_were_encoded() {
        let entry = v1::TableEntry {
            table_id: 300,
            priority: 7,
            metadata: vec![1, 2],
            ..Default::default()
        };
        let bytes = entry.encode_to_vec();
        let fields: Option<Vec<_>> = Fields::of(&bytes).collect();
        let expected = vec![
            (1, Value::Number(300)),
            (4, Value::Number(7)),
            (11, Value::Bytes(&[1, 2])),
        ];
        assert_eq!(fields, Some(expected));
        for cut in 1..bytes.len() {
            let whole = v1::TableEntry::decode(&bytes[..cut]).is_ok();
            let read = Fields::of(&bytes[..cut]).all(|field| field.is_some());
            assert_eq!(read, whole, "the first {cut} bytes");
        }
    }
}

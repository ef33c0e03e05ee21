//! What all views share: big-endian access at named ranges, and the macro that declares a view.

use std::ops::Range;

/// The place of a field in its header.
pub(crate) type Field = Range<usize>;

/// Two bytes as a number.
pub(crate) fn get_u16(buffer: &[u8], field: &Field) -> u16 {
    u16::from_be_bytes([buffer[field.start], buffer[field.start + 1]])
}

/// Four bytes as a number.
pub(crate) fn get_u32(buffer: &[u8], field: &Field) -> u32 {
    u32::from(get_u16(buffer, field)) << 16
        | u32::from(get_u16(buffer, &(field.start + 2..field.end)))
}

/// Writes a number into two bytes.
pub(crate) fn set_u16(buffer: &mut [u8], field: Field, value: u16) {
    buffer[field].copy_from_slice(&value.to_be_bytes());
}

/// Writes a number into four bytes.
pub(crate) fn set_u32(buffer: &mut [u8], field: Field, value: u32) {
    buffer[field].copy_from_slice(&value.to_be_bytes());
}

/// Copies a field out as an array.
pub(crate) fn get_array<const N: usize>(buffer: &[u8], field: Field) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&buffer[field]);
    array
}

/// Declares a view: a buffer behind a check.
///
/// `$check` gets the buffer, at least `$min` bytes long, and looks at what the header says of its
/// own length. After it, no access to the header's own fields can fall outside the buffer.
macro_rules! view {
    ($(#[$doc:meta])* $name:ident, $header:literal, $min:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T> {
            buffer: T,
        }

        impl<T: AsRef<[u8]>> $name<T> {
            /// Wraps a buffer after checking that it holds the whole header.
            ///
            /// # Errors
            /// [`PacketError`](crate::PacketError) when the header does not fit the buffer or
            /// tells a length that it cannot have.
            pub fn new_checked(buffer: T) -> Result<Self, $crate::PacketError> {
                let have = buffer.as_ref().len();
                let needed = $min;
                if have < needed {
                    return Err($crate::PacketError::Truncated { header: $header, needed, have });
                }
                let check: fn(&[u8]) -> Result<(), $crate::PacketError> = $check;
                check(buffer.as_ref())?;
                Ok(Self { buffer })
            }

            /// The buffer.
            pub fn into_inner(self) -> T {
                self.buffer
            }

            fn bytes(&self) -> &[u8] {
                self.buffer.as_ref()
            }
        }

        impl<T: AsRef<[u8]> + AsMut<[u8]>> $name<T> {
            #[allow(dead_code)]
            fn bytes_mut(&mut self) -> &mut [u8] {
                self.buffer.as_mut()
            }
        }
    };
}

/// The part of a buffer that a representation is to be written to.
pub(crate) fn room<'a>(
    buffer: &'a mut [u8],
    header: &'static str,
    needed: usize,
) -> Result<&'a mut [u8], crate::PacketError> {
    let have = buffer.len();
    buffer
        .get_mut(..needed)
        .ok_or(crate::PacketError::Truncated {
            header,
            needed,
            have,
        })
}

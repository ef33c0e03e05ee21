//! Counters of packets and bytes.

use quantities::Bytes;

/// What a counter counts. Both numbers are kept either way, as BMv2 does; the kind says which
/// of them the program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterKind {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Both.
    PacketsAndBytes,
}

/// One counter. Compiled code counts in it by itself.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CounterCell {
    /// Packets counted.
    pub packets: u64,
    /// Bytes of those packets, as they came in.
    pub bytes: Bytes,
}

impl CounterCell {
    /// What this one and another have counted together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_add(other.packets),
            bytes: Bytes::new(self.bytes.get().wrapping_add(other.bytes.get())),
        }
    }

    /// Counts one packet.
    pub fn count(&mut self, length: Bytes) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = Bytes::new(self.bytes.get().wrapping_add(length.get()));
    }
}

/// An indexed counter.
#[derive(Clone, Debug)]
pub struct CounterArray {
    /// The control-plane name.
    pub name: String,
    /// What the program counts.
    pub kind: CounterKind,
    /// The cells by index.
    pub cells: Vec<CounterCell>,
}

impl CounterArray {
    /// `size` cells at zero.
    #[must_use]
    pub fn new(name: String, kind: CounterKind, size: usize) -> Self {
        Self {
            name,
            kind,
            cells: vec![CounterCell::default(); size],
        }
    }

    /// Counts one packet in a cell; an index out of range counts nothing, as in BMv2.
    pub fn count(&mut self, index: usize, length: Bytes) {
        if let Some(cell) = self.cells.get_mut(index) {
            cell.count(length);
        }
    }
}

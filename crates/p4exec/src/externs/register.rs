//! Registers: arrays of values that packets read and write.

use crate::value::Bits;

/// A register array.
#[derive(Clone, Debug)]
pub struct RegisterArray {
    /// The control-plane name.
    pub name: String,
    /// Bits of one cell.
    pub width: u32,
    initial: Bits,
    cells: Vec<Bits>,
}

impl RegisterArray {
    /// `size` cells at zero.
    #[must_use]
    pub fn new(name: String, width: u32, size: usize) -> Self {
        Self {
            name,
            width,
            initial: Bits::zero(width),
            cells: vec![Bits::zero(width); size],
        }
    }

    /// Sets all cells, now and at every reset.
    pub fn start_with(&mut self, value: Bits) {
        self.initial = value.resize_unsigned(self.width);
        self.reset();
    }

    /// Number of cells.
    #[must_use]
    pub fn size(&self) -> usize {
        self.cells.len()
    }

    /// The cells in order.
    #[must_use]
    pub fn cells(&self) -> &[Bits] {
        &self.cells
    }

    /// A cell; `None` out of range, where BMv2 leaves the destination as it was.
    #[must_use]
    pub fn read(&self, index: usize) -> Option<&Bits> {
        self.cells.get(index)
    }

    /// Sets a cell and returns the old value; out of range nothing happens.
    pub fn write(&mut self, index: usize, value: &Bits) -> Option<Bits> {
        let value = value.resize_unsigned(self.width);
        self.cells
            .get_mut(index)
            .map(|cell| std::mem::replace(cell, value))
    }

    /// A cell to what it starts with; cells are made up to it.
    pub(crate) fn begin(&mut self, index: usize) {
        if index >= self.cells.len() {
            self.cells.resize(index + 1, self.initial.clone());
        }
        self.cells[index] = self.initial.clone();
    }

    /// All cells to what they started with.
    pub fn reset(&mut self) {
        self.cells.fill(self.initial.clone());
    }
}

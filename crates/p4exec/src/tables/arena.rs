//! Short arrays in one vector: blocks of 1, 2, 4, ... 64 items, with a list of free blocks for
//! each size. The owner keeps where a block begins and how many items it has; that is enough.

use std::ops::{Index, IndexMut};

use super::{CACHE_LINE, prefetch_item};

/// Sizes of blocks: powers of two up to 64.
const CLASSES: usize = 7;

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena<T> {
    items: Vec<T>,
    free: [Vec<u32>; CLASSES],
}

const fn class(count: u32) -> usize {
    count.next_power_of_two().trailing_zeros() as usize
}

impl<T: Copy + Default> Arena<T> {
    /// A block for `count` items (1 to 64), whose contents are whatever they were.
    pub(crate) fn allocate(&mut self, count: u32) -> u32 {
        let class = class(count);
        if let Some(at) = self.free[class].pop() {
            return at;
        }
        let at = self.items.len();
        self.items.resize(at + (1 << class), T::default());
        at as u32
    }

    /// Asks for an item to be fetched to the cache, if there is one.
    #[inline]
    pub(crate) fn prefetch(&self, at: u32) {
        prefetch_item(&self.items, at as usize);
    }

    /// The same for some items side by side.
    #[inline]
    pub(crate) fn prefetch_some(&self, at: u32, count: u32) {
        let line = (CACHE_LINE / size_of::<T>()).max(1);
        for item in (at..at + count).step_by(line) {
            self.prefetch(item);
        }
    }

    /// Gives back a block of `count` items.
    pub(crate) fn release(&mut self, at: u32, count: u32) {
        self.free[class(count)].push(at);
    }

    /// Inserts an item at `index` into a block of `count` items; says where the block is now.
    pub(crate) fn insert(&mut self, at: u32, count: u32, index: u32, item: T) -> u32 {
        let full = count == 0 || count.is_power_of_two();
        let new = if full { self.allocate(count + 1) } else { at };
        let (from, to) = (at as usize, new as usize);
        let (index, count) = (index as usize, count as usize);
        self.items
            .copy_within(from + index..from + count, to + index + 1);
        if new != at {
            self.items.copy_within(from..from + index, to);
            if count > 0 {
                self.release(at, count as u32);
            }
        }
        self.items[to + index] = item;
        new
    }

    /// Removes the item at `index` from a block of `count` items; says where the block is now.
    pub(crate) fn remove(&mut self, at: u32, count: u32, index: u32) -> u32 {
        let left = count - 1;
        let (from, index) = (at as usize, index as usize);
        self.items
            .copy_within(from + index + 1..from + count as usize, from + index);
        if left == 0 {
            self.release(at, count);
            return 0;
        }
        if !left.is_power_of_two() {
            return at;
        }
        // What is left fills a block of half the size.
        let new = self.allocate(left);
        self.items
            .copy_within(from..from + left as usize, new as usize);
        self.release(at, count);
        new
    }

    /// Bytes on the heap, without the lists of free blocks.
    pub(crate) const fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>()
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;
    fn index(&self, at: u32) -> &T {
        &self.items[at as usize]
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }
}

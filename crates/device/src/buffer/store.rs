//! Storage of waiting packets: slots that are used again, linked into queues.

use p4exec::prefetch;

use super::frames::Frames;

/// No slot.
const END: u32 = u32::MAX;

/// A waiting packet, but for its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Zero bytes at its end that are not held.
    pub(super) padding: u32,
    /// Its length with padding.
    pub(super) length: u32,
    /// The port that it came in by.
    pub(super) in_port: u16,
    /// ING_PRIO: the class that it is charged to there.
    pub(super) in_class: u8,
    next: u32,
}

impl Slot {
    /// Bytes that are held.
    pub(super) const fn held(&self) -> usize {
        (self.length - self.padding) as usize
    }
}

/// All slots. They keep their memory when they are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    /// By the number of the frame.
    slots: Vec<Slot>,
    frames: Frames,
}

/// A packet to be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) padding: u32,
    pub(super) in_port: u16,
    pub(super) in_class: u8,
}

impl Store {
    /// Puts a packet at the end of a queue.
    pub(super) fn push(&mut self, queue: &mut Fifo, put: Put<'_>) -> u32 {
        let at = self.frames.put(put.bytes);
        let slot = Slot {
            padding: put.padding,
            length: put.bytes.len() as u32 + put.padding,
            in_port: put.in_port,
            in_class: put.in_class,
            next: END,
        };
        match self.slots.get_mut(at as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        if queue.packets == 0 {
            queue.head = at;
        } else {
            self.slots[queue.tail as usize].next = at;
        }
        queue.tail = at;
        queue.packets += 1;
        queue.bytes += u64::from(slot.length);
        at
    }

    /// Takes the first packet off a queue that is not empty; its bytes stay in [`Store::bytes`] until the next push.
    pub(super) fn pop(&mut self, queue: &mut Fifo) -> (u32, Slot) {
        let at = queue.head;
        let slot = self.slots[at as usize];
        // The queue may be long, and its next packets put away a long time ago.
        if let Some(next) = self.slots.get(slot.next as usize) {
            self.frames.prefetch(slot.next);
            if let Some(after) = self.slots.get(next.next as usize) {
                prefetch(after);
            }
        }
        queue.head = slot.next;
        queue.packets -= 1;
        queue.bytes -= u64::from(slot.length);
        self.frames.free(at);
        (at, slot)
    }

    /// The first packet of a queue that is not empty.
    pub(super) fn first(&self, queue: &Fifo) -> &Slot {
        &self.slots[queue.head as usize]
    }

    /// The bytes of a packet.
    pub(super) fn bytes(&self, at: u32) -> &[u8] {
        self.frames.get(at, self.slots[at as usize].held())
    }

    /// The same, to be changed.
    pub(super) fn bytes_mut(&mut self, at: u32) -> &mut [u8] {
        self.frames.get_mut(at, self.slots[at as usize].held())
    }

    /// The packets of a queue, first to last.
    pub(super) fn iter<'a>(&'a self, queue: &Fifo) -> impl Iterator<Item = &'a Slot> {
        let mut at = queue.head;
        (0..queue.packets).map(move |_| {
            let slot = &self.slots[at as usize];
            at = slot.next;
            slot
        })
    }
}

/// A queue of slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

//! Where waiting packets lie: slots that are used again, strung into queues.

use p4exec::compile::prefetch;

/// No slot.
const END: u32 = u32::MAX;

/// A waiting packet.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// Its bytes, but for padding.
    pub(super) bytes: Vec<u8>,
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

/// All slots. They keep their memory when they are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// A packet to be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) padding: u32,
    pub(super) length: u32,
    pub(super) in_port: u16,
    pub(super) in_class: u8,
}

impl Store {
    /// Puts a packet at the end of a queue.
    pub(super) fn push(&mut self, queue: &mut Fifo, put: Put<'_>) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                bytes: Vec::with_capacity(128),
                padding: 0,
                length: 0,
                in_port: 0,
                in_class: 0,
                next: END,
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[at as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(put.bytes);
        slot.padding = put.padding;
        slot.length = put.length;
        slot.in_port = put.in_port;
        slot.in_class = put.in_class;
        slot.next = END;
        if queue.packets == 0 {
            queue.head = at;
        } else {
            self.slots[queue.tail as usize].next = at;
        }
        queue.tail = at;
        queue.packets += 1;
        queue.bytes += u64::from(put.length);
        at
    }

    /// Takes the first packet off a queue that is not empty; the slot is free from the next push on.
    pub(super) fn pop(&mut self, queue: &mut Fifo) -> &mut Slot {
        let at = queue.head;
        let next = self.slots[at as usize].next;
        // The queue may be long, and its next packets put away a long time ago.
        if let Some(next) = self.slots.get(next as usize)
            && let Some(after) = self.slots.get(next.next as usize)
        {
            prefetch(after);
        }
        let slot = &mut self.slots[at as usize];
        queue.head = next;
        queue.packets -= 1;
        queue.bytes -= u64::from(slot.length);
        self.free.push(at);
        slot
    }

    /// The first packet of a queue that is not empty.
    pub(super) fn first(&self, queue: &Fifo) -> &Slot {
        &self.slots[queue.head as usize]
    }

    pub(super) fn bytes_mut(&mut self, at: u32) -> &mut [u8] {
        &mut self.slots[at as usize].bytes
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

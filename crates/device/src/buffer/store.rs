//! Storage of waiting packets: slots that are used again, linked into queues.

use p4exec::prefetch;

use super::frames::Frames;
use super::rank::Rank;

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
    /// Likewise, of packets in queues that go by rank.
    ranks: Vec<Rank>,
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
    #[inline]
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

    /// The same in a queue that goes by rank.
    pub(super) fn push_ranked(&mut self, queue: &mut Fifo, put: Put<'_>) -> u32 {
        let rank = Rank::read(put.bytes);
        let at = self.push(queue, put);
        if self.ranks.len() < self.slots.len() {
            self.ranks.resize(self.slots.len(), Rank::default());
        }
        self.ranks[at as usize] = rank;
        at
    }

    /// Takes the packet off a queue that is so far from its head; the queue is longer. Where it lies.
    #[inline]
    pub(super) fn pop_at(&mut self, queue: &mut Fifo, place: u32) -> u32 {
        if place == 0 {
            return self.pop(queue);
        }
        let mut before = queue.head;
        for _ in 1..place {
            before = self.slots[before as usize].next;
        }
        let at = self.slots[before as usize].next;
        let slot = self.slots[at as usize];
        self.slots[before as usize].next = slot.next;
        if at == queue.tail {
            queue.tail = before;
        }
        queue.packets -= 1;
        queue.bytes -= u64::from(slot.length);
        self.frames.free(at);
        at
    }

    /// The packet of a queue that is so far from its head.
    #[inline]
    pub(super) fn nth(&self, queue: &Fifo, place: u32) -> &Slot {
        let mut at = queue.head;
        for _ in 0..place {
            at = self.slots[at as usize].next;
        }
        &self.slots[at as usize]
    }

    /// What the packets of a queue that goes by rank say of themselves, first to last.
    pub(super) fn ranks<'a>(&'a self, queue: &Fifo) -> impl Iterator<Item = Rank> + Clone + 'a {
        let mut at = queue.head;
        (0..queue.packets).map(move |_| {
            let rank = self.ranks[at as usize];
            at = self.slots[at as usize].next;
            rank
        })
    }

    /// Takes the first packet off a queue that is not empty: where it lies. It stays in [`Store::slot`] and [`Store::bytes`] until the
    /// next push.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Fifo) -> u32 {
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
        at
    }

    /// A packet, but for its bytes.
    #[inline]
    pub(super) fn slot(&self, at: u32) -> &Slot {
        &self.slots[at as usize]
    }

    /// The bytes of a packet.
    #[inline]
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

#[cfg(test)]
mod tests {
    use super::super::rank::{least_urgent, most_urgent};
    use super::*;

    fn packet(flow: u32, rank: u32) -> Vec<u8> {
        let payload = [flow.to_be_bytes(), rank.to_be_bytes()].concat();
        let builder = wire::PacketBuilder::new().ipv4([10, 0, 0, 1], [10, 0, 0, 2]);
        let payload: [u8; 8] = payload.try_into().unwrap();
        builder.udp(1, 2).payload(payload).build().unwrap()
    }

    #[test]
    fn a_flow_s_packets_stay_in_order_and_the_least_urgent_goes_first() {
        let (mut store, mut queue) = (Store::default(), Fifo::default());
        // Flow 1 has 3000 bytes left, then 1500; flow 2 has 2000.
        for (flow, rank) in [(1, 3_000), (2, 2_000), (1, 1_500)] {
            let bytes = packet(flow, rank);
            let put = Put {
                bytes: &bytes,
                padding: 0,
                in_port: 1,
                in_class: 0,
            };
            store.push_ranked(&mut queue, put);
        }
        let rank = |rank| Rank { flow: 9, rank };
        assert_eq!(least_urgent(store.ranks(&queue), rank(1_000)), Some(0));
        assert_eq!(least_urgent(store.ranks(&queue), rank(3_000)), None);
        let mut order = Vec::new();
        while queue.packets > 0 {
            let place = most_urgent(store.ranks(&queue));
            let at = store.pop_at(&mut queue, place);
            order.push(Rank::read(store.bytes(at)).rank);
        }
        assert_eq!(order, [3_000, 1_500, 2_000]);
        assert_eq!(queue.bytes, 0);
    }
}

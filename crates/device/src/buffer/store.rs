//! Waiting packets: their queues, and the storage of their bytes.

use std::collections::VecDeque;

use super::frames::Frames;
use super::rank::Rank;

/// A waiting packet, but for its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Zero bytes at its end that are not held.
    pub(super) padding: u32,
    /// Its length with padding.
    pub(super) length: u32,
    /// The port that it came in by.
    pub(super) in_port: u16,
    /// ING_PRIO: the class that it is charged to there.
    pub(super) in_class: u8,
    /// The number of its bytes.
    pub(super) frame: u32,
}

impl Waiting {
    /// Bytes that are held.
    const fn held(&self) -> usize {
        (self.length - self.padding) as usize
    }
}

/// A queue, first to last. What waits lies side by side, for memory is slow: it is read long after
/// it was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<Waiting>,
    /// Of all packets, with padding.
    bytes: u64,
}

impl Fifo {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// How many packets there are.
    pub(super) fn packets(&self) -> u32 {
        u32::try_from(self.packets.len()).unwrap_or(u32::MAX)
    }

    #[inline]
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// First to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> + Clone {
        self.packets.iter()
    }

    /// The length of the packet that is so far from the head; 0 if there is none.
    #[inline]
    pub(super) fn length_at(&self, place: u32) -> u64 {
        let packet = self.packets.get(place as usize);
        packet.map_or(0, |packet| packet.length.into())
    }
}

/// What holds the bytes of all queues. It keeps its memory when they are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    frames: Frames,
    /// By the number of a frame: what packets say that wait in queues that go by rank.
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
    /// Puts a packet at the end of a queue; its bytes, which may be changed.
    #[inline]
    pub(super) fn push(&mut self, queue: &mut Fifo, put: Put<'_>) -> &mut [u8] {
        let held = put.bytes.len();
        let frame = self.frames.put(put.bytes);
        let length = held as u32 + put.padding;
        queue.packets.push_back(Waiting {
            padding: put.padding,
            length,
            in_port: put.in_port,
            in_class: put.in_class,
            frame,
        });
        queue.bytes += u64::from(length);
        self.frames.get_mut(frame, held)
    }

    /// Notes what the packet that was put last at the end of a queue that goes by rank says of
    /// itself.
    pub(super) fn note_rank(&mut self, queue: &Fifo) {
        let Some(last) = queue.packets.back() else {
            return;
        };
        let rank = Rank::read(self.frames.get(last.frame, last.held()));
        let place = last.frame as usize;
        if self.ranks.len() <= place {
            self.ranks.resize(place + 1, Rank::default());
        }
        self.ranks[place] = rank;
    }

    /// What the packets of a queue that goes by rank say of themselves, first to last.
    pub(super) fn ranks<'a>(&'a self, queue: &'a Fifo) -> impl Iterator<Item = Rank> + Clone + 'a {
        let places = queue.iter().map(|packet| packet.frame as usize);
        places.map(|place| self.ranks[place])
    }

    /// Takes the packet off a queue that is so far from its head. Its bytes stay until
    /// [`Store::free`].
    #[inline]
    pub(super) fn pop_at(&mut self, queue: &mut Fifo, place: u32) -> Option<Waiting> {
        let packet = match place {
            0 => queue.packets.pop_front(),
            _ => queue.packets.remove(place as usize),
        }?;
        // The bytes of the next one may have been put away a long time ago.
        if let Some(next) = queue.packets.front() {
            self.frames.prefetch(next.frame);
        }
        queue.bytes -= u64::from(packet.length);
        Some(packet)
    }

    /// Keeps bytes that wait in no queue; their number.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> u32 {
        self.frames.put(bytes)
    }

    /// Gives the memory of a packet's bytes back.
    #[inline]
    pub(super) fn free(&mut self, frame: u32) {
        self.frames.free(frame);
    }

    /// The bytes of a packet, of which so many are held.
    #[inline]
    pub(super) fn bytes(&self, frame: u32, held: usize) -> &[u8] {
        self.frames.get(frame, held)
    }
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
            store.push(&mut queue, put);
            store.note_rank(&queue);
        }
        let rank = |rank| Rank { flow: 9, rank };
        assert_eq!(least_urgent(store.ranks(&queue), rank(1_000)), Some(0));
        assert_eq!(least_urgent(store.ranks(&queue), rank(3_000)), None);
        let mut order = Vec::new();
        while !queue.is_empty() {
            let place = most_urgent(store.ranks(&queue));
            let packet = store.pop_at(&mut queue, place).unwrap();
            order.push(Rank::read(store.bytes(packet.frame, packet.held())).rank);
        }
        assert_eq!(order, [3_000, 1_500, 2_000]);
        assert_eq!(queue.bytes(), 0);
    }
}

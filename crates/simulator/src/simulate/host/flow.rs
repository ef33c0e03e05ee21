//! Flows: what is sent as which bytes, when the next packet is due, and what has arrived.

use std::collections::BTreeSet;

use topology::HostId;

use super::sender::{Dcqcn, NOTIFY_EVERY};
use super::window::Window;

/// Bytes of a frame that are carried about: Ethernet, IPv4, UDP, and what the simulator writes
/// behind. With an 802.1Q tag they still fit a line of the processor's cache.
pub(crate) const HEAD: usize = 60;

/// Writes the IPv4 header's checksum anew.
pub(crate) fn checksum(head: &mut [u8]) {
    wire::checksum::fill_ipv4(&mut head[14..34]);
}

/// What a flow is of a job, if it is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// One that the scenario names.
    #[default]
    Own,
    /// The request to a host of an incast.
    Request(Task),
    /// A flow whose end ends the job, or an answer that is one of those that do.
    Shard(Task),
}

/// The job that a flow is for: what a host needs to know of it that did not begin it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Its number among those that began at hosts of the same part of the network.
    pub(crate) job: u32,
    pub(crate) workload: u32,
    /// Bytes of its flow, or of each answer.
    pub(crate) size: u64,
}

/// Where the simulator's part begins, counted from the end of those bytes: the UDP payload.
const TAIL: usize = 18;
/// The length of acknowledgements and notices.
pub(crate) const ANSWER_LENGTH: u32 = 74;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    /// TCP: all packets below a number have arrived.
    Ack,
    /// DCQCN: the receiver saw a mark.
    Notice,
    /// pFabric: no data, but to be acknowledged.
    Probe,
}

/// What the simulator writes into a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    pub(crate) flow: u32,
    /// What switches with ranked queues go by: bytes that are left to be sent, up to `u32::MAX`; 0
    /// for what is not data.
    pub(crate) rank: u32,
    pub(crate) kind: Kind,
    /// The packet's number; for acknowledgements the number below which all have arrived.
    pub(crate) number: u64,
    /// For acknowledgements: the packet they answer was marked.
    pub(crate) marked: bool,
    /// Length of the whole frame.
    pub(crate) length: u32,
}

impl Note {
    /// Writes it to the end of a frame's first bytes: flow, rank (where `device::buffer::rank`
    /// reads them), number, length, kind, mark.
    pub(crate) fn write(self, bytes: &mut [u8]) {
        let at = bytes.len().saturating_sub(TAIL);
        let tail = &mut bytes[at..];
        tail[0..4].copy_from_slice(&self.flow.to_be_bytes());
        tail[4..8].copy_from_slice(&self.rank.to_be_bytes());
        tail[8..14].copy_from_slice(&self.number.to_be_bytes()[2..]);
        tail[14..16].copy_from_slice(&self.length.to_be_bytes()[2..]);
        tail[16] = match self.kind {
            Kind::Data => 0,
            Kind::Ack => 1,
            Kind::Notice => 2,
            Kind::Probe => 3,
        };
        tail[17] = self.marked.into();
    }

    /// What a frame that a host got says; nothing if it is none of ours.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let tail: &[u8; TAIL] = bytes.last_chunk()?;
        let (&[f0, f1, f2, f3, r0, r1, r2, r3], rest) = tail.split_first_chunk()?;
        let &[n0, n1, n2, n3, n4, n5, l0, l1, kind, marked] = rest.first_chunk()?;
        Some(Self {
            flow: u32::from_be_bytes([f0, f1, f2, f3]),
            rank: u32::from_be_bytes([r0, r1, r2, r3]),
            kind: match kind {
                0 => Kind::Data,
                1 => Kind::Ack,
                2 => Kind::Notice,
                3 => Kind::Probe,
                _ => return None,
            },
            marked: marked != 0,
            number: u64::from_be_bytes([0, 0, n0, n1, n2, n3, n4, n5]),
            length: u32::from_be_bytes([0, 0, l0, l1]),
        })
    }
}

/// How a flow's sender behaves.
#[derive(Clone, Debug)]
pub(crate) enum Sender {
    Open,
    Window(Box<Window>),
    Rate(Box<Dcqcn>),
}

/// What a flow's sender may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send this packet.
    Packet(u64),
    /// Nothing before this time.
    Wait(u64),
    /// Nothing until something is heard.
    Blocked,
    /// Nothing ever.
    Done,
}

/// A flow. Where its ends are in different parts of the network, each part has one, of which it
/// keeps its own end's state.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// What frames call it: those that the scenario names are counted from 0, then come those of
    /// jobs.
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    /// The priority that its packets begin with.
    pub(crate) class: u8,
    /// The first bytes of its data frames, and of what its receiver answers.
    pub(crate) data: [u8; HEAD],
    pub(crate) answer: [u8; HEAD],
    /// Length of a data frame, and of the last one.
    pub(crate) packet: u32,
    pub(crate) last_packet: u32,
    /// Nanoseconds from when a frame of the flow has arrived at a host's card until the host acts
    /// on it.
    pub(crate) host_delay: u64,
    /// When the receiver acted on the last data frame, and the sender on the last answer: kept if
    /// hosts take their time by chance.
    pub(crate) acted: [u64; 2],
    /// Bits per second, at most.
    pub(crate) rate: f64,
    pub(crate) paced: bool,
    pub(crate) spray: bool,
    pub(crate) start: u64,
    pub(crate) stop: u64,
    /// On and off in turn.
    pub(crate) cycle: Option<(u64, u64)>,
    /// How many packets there are.
    pub(crate) packets: u64,
    pub(crate) sender: Sender,
    /// The number of the next new packet, and when it may be sent at the earliest.
    pub(crate) next: u64,
    pub(crate) due: f64,
    /// Frames sent, repeated ones too.
    pub(crate) sent: u64,
    pub(crate) arrivals: Arrivals,
    /// When its timer is next looked at; `u64::MAX` for never.
    pub(crate) timer_at: u64,
    /// What it is of a workload's job.
    pub(crate) role: Role,
}

/// What a receiver has got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    /// All packets below this number have arrived.
    pub(crate) below: u64,
    ahead: BTreeSet<u64>,
    /// Bytes of packets that arrived for the first time.
    pub(crate) bytes: u64,
    /// Of these, since measuring began.
    pub(crate) measured: u64,
    /// Of these, until the sender stopped.
    pub(crate) measured_to_stop: u64,
    /// Of these, in the last tenth of the simulation.
    pub(crate) at_end: u64,
    /// When all had come.
    pub(crate) complete: Option<u64>,
    /// Packets that arrived marked.
    pub(crate) marked: u64,
    next_notice: u64,
}

impl Arrivals {
    /// Whether the packet is new.
    pub(crate) fn add(&mut self, number: u64) -> bool {
        if number < self.below {
            return false;
        }
        if number > self.below {
            return self.ahead.insert(number);
        }
        self.below += 1;
        while self.ahead.remove(&self.below) {
            self.below += 1;
        }
        true
    }

    /// Packets that have arrived, each once.
    pub(crate) fn count(&self) -> u64 {
        self.below + self.ahead.len() as u64
    }

    /// Whether it is time to tell the sender of a mark.
    pub(crate) fn notify(&mut self, now: u64) -> bool {
        let due = now >= self.next_notice;
        if due {
            self.next_notice = now + NOTIFY_EVERY;
        }
        due
    }
}

impl Flow {
    /// What the sender may do now.
    pub(crate) fn ask(&mut self, now: u64) -> Next {
        if now < self.start {
            return Next::Wait(self.start);
        }
        if now >= self.stop {
            return Next::Done;
        }
        if let Sender::Window(window) = &self.sender {
            if window.probes() {
                return match window.probe_due() {
                    true => Next::Packet(self.next),
                    false => Next::Blocked,
                };
            }
            if let Some(again) = window.again {
                return Next::Packet(again);
            }
        }
        if self.next >= self.packets {
            return match &self.sender {
                Sender::Window(window) if window.acked < self.packets => Next::Blocked,
                _ => Next::Done,
            };
        }
        if let Some((on, off)) = self.cycle {
            let into = (now - self.start) % (on + off);
            if into >= on {
                return Next::Wait(now + (on + off - into));
            }
        }
        match &mut self.sender {
            Sender::Window(window) if !window.open(self.next) => return Next::Blocked,
            Sender::Rate(rate) => rate.advance(now),
            _ => {}
        }
        if self.due > now as f64 {
            return Next::Wait(self.due.ceil() as u64);
        }
        Next::Packet(self.next)
    }

    /// The number of packets of so many bytes, and the length of the last one: what is left, but
    /// not less than a frame must have.
    pub(crate) fn cut(bytes: u64, packet: u32) -> (u64, u32) {
        let packets = bytes.div_ceil(packet.into()).max(1);
        let rest = bytes - (packets - 1) * u64::from(packet);
        (packets, (rest as u32).clamp(ANSWER_LENGTH, packet))
    }

    /// The length of a packet.
    pub(crate) const fn length(&self, number: u64) -> u32 {
        match number.saturating_add(1) == self.packets {
            true => self.last_packet,
            false => self.packet,
        }
    }

    /// Bytes from a packet on to the end, as switches with ranked queues are told.
    pub(crate) fn rank(&self, number: u64) -> u32 {
        let more = self.packets.saturating_sub(number).saturating_sub(1);
        let left = more.saturating_mul(self.packet.into());
        u32::try_from(left.saturating_add(self.last_packet.into())).unwrap_or(u32::MAX)
    }

    /// An acknowledgement has arrived; whether it is the one that tells that all has.
    pub(crate) fn acknowledged(&mut self, now: u64, note: Note) -> bool {
        let Sender::Window(window) = &mut self.sender else {
            return false;
        };
        let before = window.acked;
        window.acknowledge(now, note.number, note.marked, self.next);
        // After a timeout the next packet may be one that had arrived.
        self.next = self.next.max(window.acked);
        before < self.packets && window.acked >= self.packets
    }

    /// A packet was sent.
    pub(crate) fn sent(&mut self, now: u64, number: u64, wire: u64) {
        self.sent += 1;
        match &mut self.sender {
            Sender::Window(window) => {
                let probe = window.probes();
                window.sent(now, number);
                if probe {
                    return;
                }
            }
            Sender::Rate(rate) => rate.sent(wire),
            Sender::Open => {}
        }
        if number == self.next {
            self.next += 1;
        }
        let rate = match &self.sender {
            Sender::Rate(dcqcn) => dcqcn.rate.min(self.rate),
            _ if self.paced => self.rate,
            _ => return,
        };
        // Late packets do not bring the following ones forward by more than one.
        let gap = wire as f64 * 8e9 / rate;
        self.due = (self.due + gap).max(now as f64);
    }
}

//! One interface as a stream of Ethernet frames, by AF_PACKET.
//!
//! **Receiving** uses a ring of frame slots that the kernel shares with us (`PACKET_RX_RING`,
//! TPACKET_V2): a frame costs no system call and no second copy, and is seen as soon as it is
//! there. TPACKET_V3 packs frames tighter, but hands them over by blocks: a single frame waits until
//! its block is full or times out, a millisecond at best, which no switch can afford.
//!
//! **Sending** hands batches to `sendmmsg` on a second socket that receives nothing, past the queueing
//! discipline (`PACKET_QDISC_BYPASS`). A mapped send ring saves nothing on virtual links: the kernel
//! copies its pages anyway before they cross to the other side, one allocated page each, and is slower.
//!
//! **What the system leaves out** is put back, so that a switch sees the frames of a real wire:
//!
//! - *Checksums.* A host behind a veth pair, which offers to compute checksums, sends only partial
//!   ones. The ring carries a `virtio_net_hdr` that says where; they are completed here.
//! - *Segments.* For the same reason such a host sends TCP in frames of up to 64 KiB. They do not fit a
//!   slot, come by the socket's own queue, and are cut to the size the host meant.
//! - *Tags.* The kernel takes the outer VLAN tag off. It is put back in place.
//!
//! Frames that this host sends through the interface by other sockets are not received, nor are our own.

mod offload;
mod ring;
mod send;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use self::offload::VnetHeader;
use self::ring::{Ring, Slot};
use self::send::Sender;
use crate::error::{NetError, RAW, Tried};
use crate::rtnl::{Link, Rtnl};
use crate::sys::{self, Offload, set_offload};

/// `ETH_P_ALL`: every protocol.
const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;
/// Room for large frames that do not fit a slot, and for frames being sent, in bytes.
const SOCKET_BUFFER: libc::c_int = 8 << 20;

/// How to open an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// Slots of the receive ring: how many frames may wait. Rounded up to a power of two.
    pub ring_frames: usize,
    /// Frames are sent past the queueing discipline of the interface.
    pub bypass_queueing: bool,
}

impl Default for PacketOptions {
    fn default() -> Self {
        Self {
            ring_frames: 4096,
            bypass_queueing: true,
        }
    }
}

/// What passed through a [`PacketSocket`], in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketStats {
    /// Received and handed on.
    pub received: u64,
    /// Not received because the ring was full.
    pub receive_overrun: u64,
    /// Received and thrown away: cut off, or not to be understood.
    pub receive_damaged: u64,
    /// Sent.
    pub sent: u64,
    /// Not sent because the interface refused.
    pub send_refused: u64,
}

/// An interface, opened for raw frames.
#[derive(Debug)]
pub struct PacketSocket {
    link: Link,
    socket: OwnedFd,
    ring: Ring,
    sender: Sender,
    scratch: Vec<u8>,
    large: Vec<u8>,
    stats: PacketStats,
}

impl PacketSocket {
    /// Opens an interface of the caller's namespace.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; [`NetError::NotEthernet`]; [`NetError::NotPermitted`] without
    /// `CAP_NET_RAW`.
    pub fn open(name: &str, options: &PacketOptions) -> Result<Self, NetError> {
        let link = Rtnl::open()?.link(name)?;
        if !link.ethernet {
            return Err(NetError::NotEthernet {
                name: name.to_owned(),
            });
        }
        // Merged frames are not what came over the wire. Who may not switch it off still gets frames
        // cut to size again.
        for offload in [Offload::ReceiveMerging, Offload::LargeReceive] {
            if let Err(error) = set_offload(name, offload, false) {
                tracing::debug!(%error, ?offload, "an offload stays on");
            }
        }
        let socket = sys::packet_socket()?;
        let ring = Ring::new(&socket, link.mtu, options.ring_frames)
            .tried(format!("mapping a receive ring for {name}"), RAW)?;
        configure(&socket, &link).tried(format!("opening {name} for raw frames"), RAW)?;
        let sender = Sender::open(&link, options.bypass_queueing)?;
        Ok(Self {
            link,
            socket,
            ring,
            sender,
            scratch: Vec::new(),
            large: vec![0; offload::LARGEST_FRAME],
            stats: PacketStats::default(),
        })
    }

    /// The interface as it was when it was opened.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// Hands over at most `limit` frames that have arrived, in order (a large frame that is cut
    /// counts once), and returns how many there were. Does not wait and makes no system call.
    pub fn receive(&mut self, limit: usize, mut each: impl FnMut(&mut [u8])) -> usize {
        let mut taken = 0;
        while taken < limit {
            let Some(slot) = self.ring.next() else { break };
            taken += 1;
            let Some(frame) = whole_frame(slot, &self.socket, &mut self.large) else {
                self.stats.receive_damaged += 1;
                self.ring.release();
                continue;
            };
            let Frame { header, tag, bytes } = frame;
            let received = &mut self.stats.received;
            let mut hand_on = |frame: &mut [u8]| {
                *received += 1;
                each(frame);
            };
            let done = if header.is_large() {
                offload::cut(&header, bytes, tag, &mut self.scratch, &mut hand_on)
            } else {
                offload::complete(&header, bytes).map(|()| match tag {
                    None => hand_on(&mut bytes[offload::TAG_ROOM..]),
                    Some(tag) => hand_on(offload::put_tag(bytes, tag)),
                })
            };
            if done.is_none() {
                self.stats.receive_damaged += 1;
            }
            self.ring.release();
        }
        taken
    }

    /// Takes a frame to be sent; it goes with the next [`PacketSocket::flush`], or before when the
    /// batch is full.
    pub fn send(&mut self, frame: &[u8]) {
        self.sender.push(frame);
    }

    /// Sends what was taken.
    pub fn flush(&mut self) {
        self.sender.flush();
    }

    /// Takes pending errors off the sockets (an interface that was switched off leaves one), so that
    /// waiting works again. To be called after waiting brought no frame.
    pub fn settle(&mut self) {
        if let Some(error) = sys::take_error(&self.socket) {
            tracing::debug!(%error, interface = self.link.name, "receiving");
        }
        self.sender.settle();
    }

    /// What passed so far. Asks the kernel.
    pub fn stats(&mut self) -> PacketStats {
        self.stats.receive_overrun += sys::take_drops(&self.socket);
        self.stats.sent = self.sender.sent();
        self.stats.send_refused = self.sender.refused();
        self.stats
    }
}

impl AsFd for PacketSocket {
    /// What becomes readable when a frame arrives.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets the options of the receiving socket and starts it.
fn configure(socket: &OwnedFd, link: &Link) -> std::io::Result<()> {
    let packet = libc::SOL_PACKET;
    // Frames that do not fit a slot are also queued whole.
    sys::set_option(socket, packet, libc::PACKET_COPY_THRESH, &1)?;
    let force = sys::set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        &SOCKET_BUFFER,
    );
    if force.is_err() {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &SOCKET_BUFFER)?;
    }
    if let Err(error) = sys::set_option(socket, packet, libc::PACKET_IGNORE_OUTGOING, &1) {
        tracing::debug!(%error, "frames that this host sends are told apart here");
    }
    sys::bind_packet(socket, link.index, ALL_PROTOCOLS)?;
    let promiscuous = libc::packet_mreq {
        mr_ifindex: link.index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    sys::set_option(socket, packet, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
}

/// A received frame before it is put in order. `bytes` begins with [`offload::TAG_ROOM`] bytes of room.
struct Frame<'a> {
    header: VnetHeader,
    tag: Option<[u8; 4]>,
    bytes: &'a mut [u8],
}

/// The frame of a slot, or of the socket's queue when the slot was too small; `None` when it is not whole.
fn whole_frame<'a>(slot: Slot<'a>, socket: &OwnedFd, large: &'a mut [u8]) -> Option<Frame<'a>> {
    let tag = slot.tag;
    if slot.queued {
        // The queue gives the virtio header before the frame.
        let read = nix::unistd::read(socket, &mut large[offload::QUEUE_ROOM..]).ok()?;
        let end = offload::QUEUE_ROOM + read;
        let frame = offload::QUEUE_ROOM + VnetHeader::LENGTH;
        let header = VnetHeader::read(large.get(offload::QUEUE_ROOM..frame)?)?;
        let bytes = large.get_mut(frame - offload::TAG_ROOM..end)?;
        return Some(Frame { header, tag, bytes });
    }
    if !slot.whole {
        return None;
    }
    let header = VnetHeader::read(
        slot.bytes
            .get(slot.frame - VnetHeader::LENGTH..slot.frame)?,
    )?;
    let bytes = slot.bytes.get_mut(slot.frame - offload::TAG_ROOM..)?;
    Some(Frame { header, tag, bytes })
}

//! One interface as a stream of Ethernet frames, by AF_PACKET or AF_XDP ([`Driver`]).
//!
//! **Receiving** uses a ring of frame slots that the kernel shares with us (`PACKET_RX_RING`,
//! TPACKET_V2): a frame costs no system call and no second copy, and is seen as soon as it is
//! there. TPACKET_V3 packs frames tighter, but hands them over by blocks: a single frame waits
//! until its block is full or times out, a millisecond at best, which no switch can afford.
//!
//! **Sending** hands batches to `sendmmsg` on a second socket that receives nothing, past the
//! queueing discipline (`PACKET_QDISC_BYPASS`). A mapped send ring saves nothing on virtual links:
//! the kernel copies its pages anyway before they cross to the other side, one allocated page each,
//! and is slower. An interface that somebody gave a queueing discipline, to shape or delay what
//! leaves, is sent to through it.
//!
//! **What the system leaves out** is put back, so that a switch sees the frames of a real wire:
//!
//! - *Checksums.* A host behind a veth pair, which offers to compute checksums, sends only partial
//!   ones. The ring carries a `virtio_net_hdr` that says where; they are completed here.
//! - *Segments.* For the same reason such a host sends TCP in frames of up to 64 KiB. They do not
//!   fit a slot, come by the socket's own queue, and are cut to the size the host meant.
//! - *Tags.* The kernel takes the outer VLAN tag off. It is put back in place.
//!
//! Frames that this host sends through the interface by other sockets are not received, nor are our
//! own.

mod fanout;
mod offload;
mod ring;
mod send;
mod xdp;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use self::fanout::Group;
use self::offload::VnetHeader;
use self::ring::{Ring, Slot};
use self::send::Sender;
use self::xdp::Xdp;
use crate::error::{NetError, RAW, Tried};
use crate::rtnl::{Link, Rtnl};
use crate::sys::{self, Offload, set_offload};

/// `ETH_P_ALL`: every protocol.
const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;
/// Room for large frames that do not fit a slot, and for frames being sent, in bytes.
const SOCKET_BUFFER: libc::c_int = 8 << 20;

/// How frames come from an interface and go to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The ring; the plain socket where no ring can be mapped.
    #[default]
    Auto,
    /// A mapped receive ring (AF_PACKET).
    Ring,
    /// Past the network stack (AF_XDP, copy mode).
    Xdp,
    /// A plain AF_PACKET socket: one system call a frame.
    Packet,
}

/// Whether this kernel has AF_XDP and lets this process use it.
///
/// # Errors
/// [`NetError::NoXdp`]; [`NetError::NotPermitted`].
pub fn xdp_available() -> Result<(), NetError> {
    xdp::available()
}

/// How to open an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// How frames come and go.
    pub driver: Driver,
    /// Slots of the receive ring: how many frames may wait. Rounded up to a power of two.
    pub ring_frames: usize,
    /// Frames are sent past the queueing discipline of the interface, unless somebody chose that.
    pub bypass_queueing: bool,
}

impl Default for PacketOptions {
    fn default() -> Self {
        Self {
            driver: Driver::Auto,
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
    way: Way,
    scratch: Vec<u8>,
    large: Vec<u8>,
    stats: PacketStats,
}

/// How frames come and go.
#[derive(Debug)]
enum Way {
    Ring {
        // Unmapped before its socket is closed.
        ring: Ring,
        socket: OwnedFd,
        sender: Sender,
    },
    Packet {
        socket: OwnedFd,
        sender: Sender,
    },
    Xdp(Box<Xdp>),
}

impl Way {
    fn open(
        link: &Link,
        options: &PacketOptions,
        mut group: Option<&mut Group>,
    ) -> Result<Self, NetError> {
        match options.driver {
            Driver::Ring => Self::ring(link, options, group),
            Driver::Packet => Self::packet(link, options, group),
            Driver::Xdp if group.is_some() => Err(NetError::XdpShared {
                name: link.name.clone(),
            }),
            Driver::Xdp => Ok(Self::Xdp(Box::new(Xdp::open(link)?))),
            Driver::Auto => match Self::ring(link, options, group.as_deref_mut()) {
                Err(error) if !matches!(error, NetError::NotPermitted { .. }) => {
                    tracing::warn!(%error, "no ring; a plain socket is used");
                    Self::packet(link, options, group)
                }
                result => result,
            },
        }
    }

    fn ring(
        link: &Link,
        options: &PacketOptions,
        group: Option<&mut Group>,
    ) -> Result<Self, NetError> {
        let socket = sys::packet_socket()?;
        let ring = Ring::new(&socket, link.mtu, options.ring_frames)
            .tried(format!("mapping a receive ring for {}", link.name), RAW)?;
        // Frames that do not fit a slot are also queued whole.
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1)
            .and_then(|()| configure(&socket, link, group))
            .tried(format!("opening {} for raw frames", link.name), RAW)?;
        let sender = Sender::open(link, options.bypass_queueing)?;
        Ok(Self::Ring {
            ring,
            socket,
            sender,
        })
    }

    fn packet(
        link: &Link,
        options: &PacketOptions,
        group: Option<&mut Group>,
    ) -> Result<Self, NetError> {
        let socket = sys::packet_socket()?;
        let set = |option| sys::set_option(&socket, libc::SOL_PACKET, option, &1);
        set(libc::PACKET_VNET_HDR)
            .and_then(|()| set(libc::PACKET_AUXDATA))
            .and_then(|()| configure(&socket, link, group))
            .tried(format!("opening {} for raw frames", link.name), RAW)?;
        let sender = Sender::open(link, options.bypass_queueing)?;
        Ok(Self::Packet { socket, sender })
    }
}

/// What puts frames in order and hands them on.
struct HandOn<'a, F> {
    scratch: &'a mut Vec<u8>,
    stats: &'a mut PacketStats,
    each: F,
}

impl<F: FnMut(&mut [u8])> HandOn<'_, F> {
    fn take(&mut self, frame: Option<Frame<'_>>) {
        let done = frame.and_then(|frame| self.whole(frame));
        if done.is_none() {
            self.stats.receive_damaged += 1;
        }
    }

    fn whole(&mut self, frame: Frame<'_>) -> Option<()> {
        let Frame { header, tag, bytes } = frame;
        let (received, each) = (&mut self.stats.received, &mut self.each);
        let mut hand_on = |frame: &mut [u8]| {
            *received += 1;
            each(frame);
        };
        if header.is_large() {
            return offload::cut(&header, bytes, tag, self.scratch, &mut hand_on);
        }
        offload::complete(&header, bytes)?;
        match tag {
            None => hand_on(bytes.get_mut(offload::TAG_ROOM..)?),
            Some(tag) => hand_on(offload::put_tag(bytes, tag)),
        }
        Some(())
    }
}

impl PacketSocket {
    /// Opens an interface of the caller's namespace.
    ///
    /// # Errors
    /// [`NetError::NoInterface`]; [`NetError::NotEthernet`]; [`NetError::NotPermitted`] without
    /// `CAP_NET_RAW`; with [`Driver::Xdp`] also what [`xdp_available`] says, and interfaces that it
    /// cannot serve.
    pub fn open(name: &str, options: &PacketOptions) -> Result<Self, NetError> {
        Self::open_in(name, options, None)
    }

    /// Opens an interface by so many sockets, among which the kernel shares out what comes: frames
    /// of a flow come to one of them and in order. Frames without IP addresses are one flow for
    /// each EtherType.
    ///
    /// # Errors
    /// As [`PacketSocket::open`]; [`NetError::XdpShared`].
    pub fn open_shared(
        name: &str,
        options: &PacketOptions,
        sockets: usize,
    ) -> Result<Vec<Self>, NetError> {
        let mut group = Group::default();
        (0..sockets)
            .map(|_| Self::open_in(name, options, Some(&mut group)))
            .collect()
    }

    fn open_in(
        name: &str,
        options: &PacketOptions,
        group: Option<&mut Group>,
    ) -> Result<Self, NetError> {
        let link = Rtnl::open()?.link(name)?;
        if !link.ethernet {
            return Err(NetError::NotEthernet {
                name: name.to_owned(),
            });
        }
        // Merged frames are not what came over the wire. Who may not switch it off still gets
        // frames cut to size again.
        for offload in [Offload::ReceiveMerging, Offload::LargeReceive] {
            if let Err(error) = set_offload(name, offload, false) {
                tracing::debug!(%error, ?offload, "an offload stays on");
            }
        }
        let way = Way::open(&link, options, group)?;
        Ok(Self {
            link,
            way,
            scratch: Vec::new(),
            large: vec![0; offload::LARGEST_FRAME],
            stats: PacketStats::default(),
        })
    }

    /// Hands over at most `limit` frames that have arrived, in order (a large frame that is cut
    /// counts once), and returns how many there were. Does not wait; a mapped ring makes no system
    /// call.
    pub fn receive(&mut self, limit: usize, each: impl FnMut(&mut [u8])) -> usize {
        let mut hand_on = HandOn {
            scratch: &mut self.scratch,
            stats: &mut self.stats,
            each,
        };
        let mut taken = 0;
        match &mut self.way {
            Way::Ring { ring, socket, .. } => {
                while taken < limit {
                    let Some(slot) = ring.next() else { break };
                    taken += 1;
                    hand_on.take(whole_frame(slot, socket, &mut self.large));
                    ring.release();
                }
            }
            Way::Packet { socket, .. } => {
                while taken < limit {
                    let room = &mut self.large[offload::QUEUE_ROOM..];
                    let Ok(queued) = sys::receive_packet(socket, room) else {
                        break;
                    };
                    taken += 1;
                    if !queued.outgoing {
                        hand_on.take(queued_frame(&queued, &mut self.large));
                    }
                }
            }
            Way::Xdp(xdp) => {
                let HandOn { stats, each, .. } = &mut hand_on;
                taken = xdp.receive(limit, each);
                stats.received += taken as u64;
            }
        }
        taken
    }

    /// Takes a frame to be sent; it goes with the next [`PacketSocket::flush`], or before when the
    /// batch is full.
    pub fn send(&mut self, frame: &[u8]) {
        match &mut self.way {
            Way::Ring { sender, .. } | Way::Packet { sender, .. } => sender.push(frame),
            Way::Xdp(xdp) => xdp.send(frame),
        }
    }

    /// Sends what was taken.
    pub fn flush(&mut self) {
        match &mut self.way {
            Way::Ring { sender, .. } | Way::Packet { sender, .. } => sender.flush(),
            Way::Xdp(xdp) => xdp.flush(),
        }
    }

    /// Sends what was taken and then these frames, from where they are.
    pub fn send_all<'a>(&mut self, frames: impl IntoIterator<Item = &'a [u8]>) {
        match &mut self.way {
            Way::Ring { sender, .. } | Way::Packet { sender, .. } => sender.send_all(frames),
            Way::Xdp(xdp) => {
                frames.into_iter().for_each(|frame| xdp.send(frame));
                xdp.flush();
            }
        }
    }

    /// Takes pending errors off the sockets (an interface that was switched off leaves one), so
    /// that waiting works again. To be called after waiting brought no frame.
    pub fn settle(&mut self) {
        match &mut self.way {
            Way::Ring { socket, sender, .. } | Way::Packet { socket, sender } => {
                if let Some(error) = sys::take_error(socket) {
                    tracing::debug!(%error, interface = self.link.name, "receiving");
                }
                sender.settle();
            }
            Way::Xdp(xdp) => xdp.settle(),
        }
    }

    /// What passed so far. Asks the kernel.
    pub fn stats(&mut self) -> PacketStats {
        match &mut self.way {
            Way::Ring { socket, sender, .. } | Way::Packet { socket, sender } => {
                self.stats.receive_overrun += sys::take_drops(socket);
                self.stats.sent = sender.sent();
                self.stats.send_refused = sender.refused();
            }
            Way::Xdp(xdp) => {
                self.stats.receive_overrun = xdp.overrun();
                self.stats.sent = xdp.sent;
                self.stats.send_refused = xdp.refused;
            }
        }
        self.stats
    }
}

impl AsFd for PacketSocket {
    /// What becomes readable when a frame arrives.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Ring { socket, .. } | Way::Packet { socket, .. } => socket.as_fd(),
            Way::Xdp(xdp) => xdp.as_fd(),
        }
    }
}

/// Sets the options of the receiving socket and starts it.
fn configure(socket: &OwnedFd, link: &Link, mut group: Option<&mut Group>) -> std::io::Result<()> {
    let packet = libc::SOL_PACKET;
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
    if let Some(group) = &group {
        group.hush(socket)?;
    }
    sys::bind_packet(socket, link.index, ALL_PROTOCOLS)?;
    if let Some(group) = &mut group {
        group.join(socket)?;
    }
    let promiscuous = libc::packet_mreq {
        mr_ifindex: link.index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    sys::set_option(socket, packet, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
}

/// A received frame before it is put in order. `bytes` begins with [`offload::TAG_ROOM`] bytes of
/// room.
struct Frame<'a> {
    header: VnetHeader,
    tag: Option<[u8; 4]>,
    bytes: &'a mut [u8],
}

/// The frame of a slot, or of the socket's queue when the slot was too small; `None` when it is not
/// whole.
fn whole_frame<'a>(slot: Slot<'a>, socket: &OwnedFd, large: &'a mut [u8]) -> Option<Frame<'a>> {
    let tag = slot.tag;
    if slot.queued {
        // The queue gives the virtio header before the frame.
        let queued = sys::receive_packet(socket, &mut large[offload::QUEUE_ROOM..]).ok()?;
        return Some(Frame {
            tag,
            ..queued_frame(&queued, large)?
        });
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

/// The frame that was taken off a socket's queue into `large`, behind [`offload::QUEUE_ROOM`];
/// `None` when it is not whole.
fn queued_frame<'a>(queued: &sys::Queued, large: &'a mut [u8]) -> Option<Frame<'a>> {
    if !queued.whole {
        return None;
    }
    let frame = offload::QUEUE_ROOM + VnetHeader::LENGTH;
    let end = offload::QUEUE_ROOM + queued.length;
    let header = VnetHeader::read(large.get(offload::QUEUE_ROOM..frame)?)?;
    let beside = queued.beside.as_ref();
    let tag = beside.and_then(|b| ring::tag(b.tp_status, b.tp_vlan_tci, b.tp_vlan_tpid));
    let bytes = large.get_mut(frame - offload::TAG_ROOM..end)?;
    Some(Frame { header, tag, bytes })
}

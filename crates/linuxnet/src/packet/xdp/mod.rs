//! One interface by AF_XDP, copy mode: frames go between our memory and the driver past the network
//! stack.
//!
//! Every receive queue has a socket of its own; frames are sent by the first. What the stack knows
//! *beside* a frame is not seen here. Partial checksums are recognised by their value
//! ([`super::offload::complete_by_sight`]); a tag that a virtual link keeps beside the frame, as
//! that of a host's VLAN interface behind a veth pair, is lost. The mapped ring has neither limit.
#![allow(unsafe_code)]

mod program;
mod rings;

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use libc::{sockaddr_xdp, xdp_desc, xdp_mmap_offsets, xdp_statistics, xdp_umem_reg};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use self::program::{Attached, BPF, Mode, Program};
use self::rings::{Frames, Ring};
use super::offload;
use crate::error::{NetError, Tried};
use crate::rtnl::Link;
use crate::sys;

/// Frames that may wait to be received, per queue; a power of two.
const RECEIVE: u32 = 4096;
/// Frames that may wait to be sent; a power of two.
const SEND: u32 = 1024;
/// More queues than that are not served.
const MAX_QUEUES: u32 = 64;
/// What the kernel keeps free at the head of a frame (`XDP_PACKET_HEADROOM`), in bytes.
const HEADROOM: usize = 256;
/// Ethernet header and two tags, in bytes.
const ETHERNET: usize = 14 + 8;
/// The largest frame memory that the kernel takes: a page.
const LARGEST: usize = 4096;

/// One receive queue of the interface, and one way to send.
#[derive(Debug)]
struct Queue {
    socket: OwnedFd,
    frames: Frames,
    fill: Ring<u64>,
    completion: Ring<u64>,
    receive: Ring<xdp_desc>,
    send: Ring<xdp_desc>,
    /// Frames for sending that are ours.
    free: Vec<u64>,
}

/// An interface, opened by AF_XDP.
#[derive(Debug)]
pub(super) struct Xdp {
    // The program goes first: then nothing comes any more.
    _attached: Attached,
    queues: Vec<Queue>,
    epoll: Epoll,
    turn: usize,
    unsent: bool,
    pub(super) sent: u64,
    pub(super) refused: u64,
}

/// Whether this kernel has AF_XDP and lets us use it.
pub(super) fn available() -> Result<(), NetError> {
    drop(sys::xdp_socket()?);
    Program::load(1).map(drop)
}

impl Queue {
    /// Opens a queue; `None` if the interface has no such queue.
    fn open(link: &Link, number: u32) -> Result<Option<Self>, NetError> {
        let what = || format!("opening {} by AF_XDP", link.name);
        let chunk = match link.mtu as usize + ETHERNET + HEADROOM {
            0..=2048 => 2048,
            2049..=LARGEST => LARGEST,
            _ => {
                return Err(NetError::TooLarge {
                    name: link.name.clone(),
                    mtu: link.mtu,
                    most: (LARGEST - ETHERNET - HEADROOM) as u32,
                });
            }
        };
        let count = RECEIVE + SEND;
        let frames = Frames::new(chunk, count as usize).tried(what(), BPF)?;
        let socket = sys::xdp_socket()?;
        let queue = Self::rings(socket, frames).tried(what(), BPF)?;
        match bind(&queue.socket, link.index, number) {
            Ok(()) => Ok(Some(queue)),
            Err(error) if number > 0 && error.raw_os_error() == Some(libc::EINVAL) => Ok(None),
            Err(error) => Err(error).tried(what(), BPF),
        }
    }

    fn rings(socket: OwnedFd, frames: Frames) -> io::Result<Self> {
        let level = libc::SOL_XDP;
        // SAFETY: the structure is plain numbers, for which zeros are valid.
        let mut memory: xdp_umem_reg = unsafe { zeroed() };
        memory.addr = frames.address();
        memory.len = frames.length() as u64;
        memory.chunk_size = frames.chunk() as u32;
        sys::set_option(&socket, level, libc::XDP_UMEM_REG, &memory)?;
        for (ring, count) in [
            (libc::XDP_UMEM_FILL_RING, RECEIVE),
            (libc::XDP_UMEM_COMPLETION_RING, SEND),
            (libc::XDP_RX_RING, RECEIVE),
            (libc::XDP_TX_RING, SEND),
        ] {
            sys::set_option(&socket, level, ring, &count)?;
        }
        // SAFETY: as above.
        let mut places: xdp_mmap_offsets = unsafe { zeroed() };
        sys::get_option(&socket, level, libc::XDP_MMAP_OFFSETS, &mut places)?;
        let mut fill = Ring::map(&socket, &places.fr, libc::XDP_UMEM_PGOFF_FILL_RING, RECEIVE)?;
        let page = libc::XDP_UMEM_PGOFF_COMPLETION_RING;
        let completion = Ring::map(&socket, &places.cr, page, SEND)?;
        let receive = Ring::map(&socket, &places.rx, libc::XDP_PGOFF_RX_RING as u64, RECEIVE)?;
        let send = Ring::map(&socket, &places.tx, libc::XDP_PGOFF_TX_RING as u64, SEND)?;
        let chunk = frames.chunk() as u64;
        for number in 0..u64::from(RECEIVE) {
            fill.produce(number * chunk);
        }
        fill.publish();
        let free = (RECEIVE..RECEIVE + SEND)
            .map(|number| u64::from(number) * chunk)
            .collect();
        Ok(Self {
            socket,
            frames,
            fill,
            completion,
            receive,
            send,
            free,
        })
    }

    fn receive(&mut self, limit: usize, each: &mut impl FnMut(&mut [u8])) -> usize {
        let mut taken = 0;
        while taken < limit {
            let Some(descriptor) = self.receive.consume() else {
                break;
            };
            taken += 1;
            let frame = self.frames.bytes(descriptor.addr, descriptor.len as usize);
            offload::complete_by_sight(frame);
            each(frame);
            let chunk = self.frames.chunk() as u64;
            // As many places as chunks: there is always one.
            self.fill.produce(descriptor.addr & !(chunk - 1));
        }
        if taken > 0 {
            self.receive.release();
            self.fill.publish();
        }
        taken
    }

    /// Takes back frames that have left.
    fn reclaim(&mut self) {
        let before = self.free.len();
        while let Some(frame) = self.completion.consume() {
            self.free.push(frame);
        }
        if self.free.len() > before {
            self.completion.release();
        }
    }

    /// Asks the kernel to send what is in the ring: it takes some frames at a time.
    fn wake_kernel(&self) -> io::Result<()> {
        // SAFETY: no memory is handed over.
        let result = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                ptr::null(),
                0,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// Binds a socket to a queue of an interface; frames are copied.
fn bind(socket: &OwnedFd, index: u32, queue: u32) -> io::Result<()> {
    // SAFETY: the structure is plain numbers, for which zeros are valid.
    let mut address: sockaddr_xdp = unsafe { zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_flags = libc::XDP_COPY;
    address.sxdp_ifindex = index;
    address.sxdp_queue_id = queue;
    sys::bind(socket, &address)
}

impl Xdp {
    /// Opens an interface.
    pub(super) fn open(link: &Link) -> Result<Self, NetError> {
        let what = || format!("opening {} by AF_XDP", link.name);
        let program = Program::load(MAX_QUEUES)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).tried(what(), BPF)?;
        let mut queues = Vec::new();
        for number in 0..MAX_QUEUES {
            let Some(queue) = Queue::open(link, number)? else {
                break;
            };
            program.serve(number, &queue.socket).tried(what(), BPF)?;
            let event = EpollEvent::new(EpollFlags::EPOLLIN, 0);
            epoll.add(&queue.socket, event).tried(what(), BPF)?;
            queues.push(queue);
        }
        let attached = program.attach(link.index).map_err(|error| {
            if error.raw_os_error() == Some(libc::EBUSY) {
                return NetError::XdpTaken {
                    name: link.name.clone(),
                };
            }
            NetError::system(what(), BPF, error)
        })?;
        let native = attached.mode == Mode::Native;
        tracing::debug!(
            interface = link.name,
            queues = queues.len(),
            native,
            "AF_XDP"
        );
        Ok(Self {
            _attached: attached,
            queues,
            epoll,
            turn: 0,
            unsent: false,
            sent: 0,
            refused: 0,
        })
    }

    /// Hands over at most `limit` frames and returns how many there were.
    pub(super) fn receive(&mut self, limit: usize, mut each: impl FnMut(&mut [u8])) -> usize {
        let count = self.queues.len();
        let mut taken = 0;
        for step in 0..count {
            let queue = &mut self.queues[(self.turn + step) % count];
            taken += queue.receive(limit - taken, &mut each);
        }
        self.turn = (self.turn + 1) % count.max(1);
        taken
    }

    /// Takes a frame to be sent with the next [`Xdp::flush`].
    pub(super) fn send(&mut self, frame: &[u8]) {
        let Some(queue) = self.queues.first_mut() else {
            return;
        };
        if queue.free.is_empty() {
            self.flush();
        }
        let Some(queue) = self.queues.first_mut() else {
            return;
        };
        let fits = frame.len() <= queue.frames.chunk();
        let Some(at) = fits.then(|| queue.free.pop()).flatten() else {
            self.refused += 1;
            return;
        };
        queue.frames.bytes(at, frame.len()).copy_from_slice(frame);
        let descriptor = xdp_desc {
            addr: at,
            len: frame.len() as u32,
            options: 0,
        };
        // As many places as frames: there is always one.
        queue.send.produce(descriptor);
        self.sent += 1;
        self.unsent = true;
    }

    /// Sends what was taken. What an interface refuses because it is off stays, and every later
    /// call tries again.
    pub(super) fn flush(&mut self) {
        let unsent = std::mem::take(&mut self.unsent);
        let Some(queue) = self.queues.first_mut() else {
            return;
        };
        if !unsent && queue.send.is_drained() {
            return;
        }
        queue.send.publish();
        // The kernel takes a part of the ring at a time and says EAGAIN while there is more; a
        // frame that it lost (EBUSY: no carrier) is taken out as well.
        let mut left = queue.send.left();
        for _ in 0..SEND {
            let outcome = queue.wake_kernel();
            queue.reclaim();
            let again = outcome.is_err_and(|e| {
                [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&e.kind())
            });
            let before = std::mem::replace(&mut left, queue.send.left());
            if left == 0 || (left == before && !again) {
                break;
            }
        }
    }

    /// Takes pending errors off the sockets.
    pub(super) fn settle(&mut self) {
        for queue in &mut self.queues {
            if let Some(error) = sys::take_error(&queue.socket) {
                tracing::debug!(%error, "AF_XDP");
            }
            queue.reclaim();
        }
    }

    /// Frames that were not received because a ring was full, since the sockets were opened.
    pub(super) fn overrun(&self) -> u64 {
        let lost = |queue: &Queue| {
            // SAFETY: the structure is plain numbers, for which zeros are valid.
            let mut stats: xdp_statistics = unsafe { zeroed() };
            let asked = sys::get_option(
                &queue.socket,
                libc::SOL_XDP,
                libc::XDP_STATISTICS,
                &mut stats,
            );
            asked.map_or(0, |()| stats.rx_dropped + stats.rx_ring_full)
        };
        self.queues.iter().map(lost).sum()
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

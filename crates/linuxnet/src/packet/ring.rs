//! The receive ring: slots of memory that the kernel fills and we empty, in turn (`PACKET_RX_RING`,
//! TPACKET_V2; Linux `Documentation/networking/packet_mmap.rst`).
//!
//! A slot belongs to the kernel while its status word is 0 and to us while bit `TP_STATUS_USER` is
//! set. Each side gives it over by writing the word last (release) and looks at it first (acquire).
#![allow(unsafe_code)]

use std::io;
use std::mem::size_of;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sockaddr_ll, tpacket_req, tpacket2_hdr};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::offload::{TAG_ROOM, VnetHeader};
use crate::sys;

/// What the kernel puts before a frame, rounded up generously: header, address, virtio header,
/// alignment.
const BEFORE_FRAME: usize = 128;
/// Ethernet header and two tags.
const ETHERNET: usize = 14 + 8;
/// Slots are allotted in blocks of this size, in bytes (contiguous kernel memory).
const BLOCK: usize = 1 << 16;
/// Where the address follows the header in a slot.
const ADDRESS_AT: usize = size_of::<tpacket2_hdr>().next_multiple_of(16);

/// The mapped ring of one socket.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<u8>,
    length: usize,
    slot_size: usize,
    slots: usize,
    at: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Ring {}

/// A filled slot.
pub(super) struct Slot<'a> {
    /// The slot's memory after the kernel's header, up to the end of the frame.
    pub(super) bytes: &'a mut [u8],
    /// Where in `bytes` the frame begins; at least as far in as a virtio header and a tag need.
    pub(super) frame: usize,
    /// The slot holds all of the frame.
    pub(super) whole: bool,
    /// The frame did not fit and is in the socket's queue.
    pub(super) queued: bool,
    /// The tag that the kernel took off: protocol and control information, as on the wire.
    pub(super) tag: Option<[u8; 4]>,
}

impl Ring {
    /// Makes and maps the ring of `socket`, for frames of up to `mtu` bytes of payload.
    pub(super) fn new(socket: &OwnedFd, mtu: u32, slots: usize) -> io::Result<Self> {
        let packet = libc::SOL_PACKET;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        sys::set_option(socket, packet, libc::PACKET_VERSION, &version)?;
        sys::set_option(socket, packet, libc::PACKET_VNET_HDR, &1)?;
        let largest = mtu as usize + ETHERNET + BEFORE_FRAME;
        let slot_size = largest.next_power_of_two().max(2048);
        let block = slot_size.max(BLOCK);
        let slots = slots.next_power_of_two().max(block / slot_size);
        let length = slots * slot_size;
        let number = |n: usize| {
            libc::c_uint::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
        };
        let request = tpacket_req {
            tp_block_size: number(block)?,
            tp_block_nr: number(length / block)?,
            tp_frame_size: number(slot_size)?,
            tp_frame_nr: number(slots)?,
        };
        sys::set_option(socket, packet, libc::PACKET_RX_RING, &request)?;
        let size = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; it touches no memory of ours.
        let memory = unsafe { mmap(None, size, access, MapFlags::MAP_SHARED, socket, 0) }?;
        Ok(Self {
            memory: memory.cast(),
            length,
            slot_size,
            slots,
            at: 0,
        })
    }

    /// The start of the current slot.
    fn slot(&self) -> NonNull<u8> {
        // SAFETY: `at < slots`, so that the offset stays inside the mapping of `slots * slot_size`
        // bytes.
        unsafe { self.memory.add(self.at * self.slot_size) }
    }

    /// The status word of the current slot.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is the first word of a slot, slots are aligned to at least 16 bytes
        // and live as long as `self`; both sides access it as an atomic only.
        unsafe { AtomicU32::from_ptr(self.slot().cast().as_ptr()) }
    }

    /// The next filled slot; [`Ring::release`] gives it back. Slots that hold a frame which this
    /// host sent itself are skipped.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Slot<'_>> {
        loop {
            let status = self.status().load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                return None;
            }
            let start = self.slot();
            // SAFETY: the slot is ours (status), holds a `tpacket2_hdr` at its start, aligned, and
            // the address behind it; both are copied out.
            let (header, address): (tpacket2_hdr, sockaddr_ll) = unsafe {
                (
                    ptr::read(start.cast().as_ptr()),
                    ptr::read_unaligned(start.add(ADDRESS_AT).cast().as_ptr()),
                )
            };
            if address.sll_pkttype == libc::PACKET_OUTGOING {
                self.release();
                continue;
            }
            let first = ADDRESS_AT + size_of::<sockaddr_ll>();
            let frame = usize::from(header.tp_mac);
            let end = (frame + header.tp_snaplen as usize).min(self.slot_size);
            let room = VnetHeader::LENGTH.max(TAG_ROOM);
            let queued = status & libc::TP_STATUS_COPY != 0;
            let fits = frame >= first + room && end >= frame;
            let (frame, end) = if fits {
                (frame, end)
            } else {
                (first + room, first + room)
            };
            // SAFETY: `first <= end <= slot_size`, so that the range lies in the current slot,
            // which belongs to us until `release`; that needs `&mut self`, which the slice borrows.
            let bytes =
                unsafe { slice::from_raw_parts_mut(start.add(first).as_ptr(), end - first) };
            return Some(Slot {
                bytes,
                frame: frame - first,
                whole: fits && header.tp_snaplen == header.tp_len,
                queued,
                tag: tag(status, header.tp_vlan_tci, header.tp_vlan_tpid),
            });
        }
    }

    /// Gives the current slot back to the kernel.
    #[inline]
    pub(super) fn release(&mut self) {
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.at = (self.at + 1) & (self.slots - 1);
    }
}

/// The tag that the kernel keeps beside a frame: protocol and control information, as on the wire.
pub(super) fn tag(status: u32, control: u16, protocol: u16) -> Option<[u8; 4]> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
        libc::ETH_P_8021Q as u16
    } else {
        protocol
    };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), control.to_be_bytes());
    Some([a, b, c, d])
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory.cast(), self.length) };
    }
}

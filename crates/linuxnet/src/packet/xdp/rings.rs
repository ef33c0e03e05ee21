//! Memory that AF_XDP shares with the kernel: the frames, and the four rings that say whose turn
//! each is (Linux `Documentation/networking/af_xdp.rst`).
//!
//! A ring has one producer and one consumer. Each side writes its own index last (release) and
//! reads the other's first (acquire); entries between the two belong to the consumer.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::xdp_ring_offset;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A mapping that ends with this value.
#[derive(Debug)]
struct Mapping {
    memory: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory.cast(), self.length) };
    }
}

const ACCESS: ProtFlags = ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE);

/// The frames of one socket: chunks of one size, named by where they begin.
#[derive(Debug)]
pub(super) struct Frames {
    mapping: Mapping,
    chunk: usize,
}

impl Frames {
    /// Room for `count` chunks of `chunk` bytes, a power of two.
    pub(super) fn new(chunk: usize, count: usize) -> io::Result<Self> {
        let length = chunk * count;
        let size = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice; it touches no memory of ours.
        let memory = unsafe { mmap_anonymous(None, size, ACCESS, flags) }?;
        let mapping = Mapping {
            memory: memory.cast(),
            length,
        };
        Ok(Self { mapping, chunk })
    }

    /// Where they begin, for the kernel.
    pub(super) fn address(&self) -> u64 {
        self.mapping.memory.as_ptr() as u64
    }

    /// How long they are together, in bytes.
    pub(super) const fn length(&self) -> usize {
        self.mapping.length
    }

    /// Bytes of one.
    pub(super) const fn chunk(&self) -> usize {
        self.chunk
    }

    /// The bytes of a frame that belongs to us; empty when they would lie outside.
    pub(super) fn bytes(&mut self, at: u64, length: usize) -> &mut [u8] {
        let fits = usize::try_from(at).ok().filter(|at| {
            at.checked_add(length)
                .is_some_and(|e| e <= self.mapping.length)
        });
        let Some(at) = fits else { return &mut [] };
        // SAFETY: `at + length` lies inside the mapping. Chunks that a ring has given to us are not
        // touched by the kernel until they are given back, and `&mut self` keeps others of ours
        // from reaching them.
        unsafe { slice::from_raw_parts_mut(self.mapping.memory.add(at).as_ptr(), length) }
    }
}

/// One ring, seen from our side.
#[derive(Debug)]
pub(super) struct Ring<T> {
    mapping: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    mask: u32,
    /// Our index: of what we have produced or consumed, told to the kernel by [`Ring::publish`] or
    /// [`Ring::release`].
    own: u32,
    kind: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps a ring of `count` entries, a power of two, which the socket was told to make.
    pub(super) fn map(
        socket: &OwnedFd,
        place: &xdp_ring_offset,
        page: u64,
        count: u32,
    ) -> io::Result<Self> {
        let wrong = |_| io::Error::from(io::ErrorKind::InvalidData);
        let [producer, consumer, entries] = [place.producer, place.consumer, place.desc]
            .map(|at| usize::try_from(at).map_err(wrong));
        let entries = entries?;
        let length = entries + count as usize * size_of::<T>();
        let size = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        let page = libc::off_t::try_from(page).map_err(wrong)?;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice; it touches no memory of ours.
        let memory = unsafe { mmap(None, size, ACCESS, flags, socket, page) }?;
        Ok(Self {
            mapping: Mapping {
                memory: memory.cast(),
                length,
            },
            producer: producer?,
            consumer: consumer?,
            entries,
            mask: count - 1,
            own: 0,
            kind: PhantomData,
        })
    }

    fn index(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the kernel told where in the mapping its indices lie: aligned words that both
        // sides access as atomics only; they live as long as the mapping, which `self` owns.
        unsafe { AtomicU32::from_ptr(self.mapping.memory.add(at).cast().as_ptr()) }
    }

    fn entry(&self, number: u32) -> NonNull<T> {
        let place = (number & self.mask) as usize;
        // SAFETY: `place` is at most the mask, so that the entry lies inside the mapping, whose
        // length was computed from it.
        unsafe { self.mapping.memory.add(self.entries).cast::<T>().add(place) }
    }

    /// Puts an entry in; false if the kernel has not taken enough out.
    #[inline]
    pub(super) fn produce(&mut self, entry: T) -> bool {
        let taken = self.index(self.consumer).load(Ordering::Acquire);
        if self.own.wrapping_sub(taken) > self.mask {
            return false;
        }
        // SAFETY: the place is inside the mapping and not the kernel's until `publish`.
        unsafe { self.entry(self.own).write(entry) };
        self.own = self.own.wrapping_add(1);
        true
    }

    /// Lets the kernel see what was put in.
    #[inline]
    pub(super) fn publish(&self) {
        self.index(self.producer).store(self.own, Ordering::Release);
    }

    /// How many of those that were put in the kernel has not taken out.
    #[inline]
    pub(super) fn left(&self) -> u32 {
        let taken = self.index(self.consumer).load(Ordering::Acquire);
        self.own.wrapping_sub(taken)
    }

    /// Whether the kernel has taken out all that was put in.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.left() == 0
    }

    /// Takes an entry out.
    #[inline]
    pub(super) fn consume(&mut self) -> Option<T> {
        if self.own == self.index(self.producer).load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the kernel has published this entry (acquire) and leaves it alone until
        // `release`.
        let entry = unsafe { self.entry(self.own).read() };
        self.own = self.own.wrapping_add(1);
        Some(entry)
    }

    /// Lets the kernel use the places of what was taken out.
    #[inline]
    pub(super) fn release(&self) {
        self.index(self.consumer).store(self.own, Ordering::Release);
    }
}

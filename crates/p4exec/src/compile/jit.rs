//! Calls of compiled code, and the helpers that it calls: the one file of this crate with `unsafe`.
//!
//! Compiled code is called with a [`Ctx`] and the frame, and calls back through [`Helper`]s. What
//! makes this sound: [`Session`] is the only caller; it fills the `Ctx` with pointers that live
//! until the call returns; the code generator is the only author of the code (in this process, or
//! in another one of the same build, which [`Object::check`](super::object::Object) asks for),
//! reads and writes the frame and the output only within the bounds that the layout gave it, and
//! the packet only after it compared with its length; helpers make references only for their own
//! duration, while the code that called them waits. The function of all blocks takes the packets of
//! a batch from where they lie, and writes bytes, departures and drops where [`Session::run_whole`]
//! made room for all of them.

#![allow(unsafe_code)]

use std::mem::offset_of;
use std::slice;
use std::sync::Mutex;

use cranelift_jit::JITModule;
use p4ir::LeafKind;
use quantities::{Bytes, Nanos, PortId};
use serde::{Deserialize, Serialize};

use super::answers::{Answer, Place};
use super::frame::Slot;
use super::image::Addresses;
use super::memo::{KEY_WORDS, line_of, padded};
use super::runtime::{Runtime, WideOp};
use super::site::{Site, first_case};
use crate::exec::{Batch, Departure, DropReason};
use crate::externs::counter::CounterCell;
use crate::externs::hash::{Calculation, HashAlgorithm};
use crate::forward::Way;
use crate::path::Pass;
use crate::state::{ExternState, RuntimeState};
use crate::tables::TOGETHER;

/// [`prefetch`](crate::prefetch) of what lies so many bytes behind: parts of what cannot be looked
/// at before it is in the cache.
#[inline]
pub fn prefetch_behind<T: ?Sized>(place: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that a program could see, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = std::ptr::from_ref(place).cast::<i8>();
        _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(bytes));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, bytes);
}

/// What compiled code and helpers share during a call, besides the frame.
#[repr(C)]
pub(super) struct Ctx {
    /// The packet as it came to this pass.
    packet: *const u8,
    packet_len: u64,
    /// Bits of it that the parser took.
    cursor: u64,
    /// Where the deparser writes next.
    out: *mut u8,
    /// Loop rounds and parser states so far.
    rounds: u64,
    /// The data of the action the last table application found.
    args: *const u64,
    /// Whether the last table application hit.
    hit: u64,
    /// By table: where its image is (see [`super::image`]).
    images: *const Addresses,
    /// By table: where its answers are (see [`super::answers`]).
    answers: *const Place,
    /// By extern object: the cells of a counter.
    counters: *const Cells,
    /// What counters count of the packet.
    length: u64,
    /// The time in microseconds.
    now_us: u64,
    /// Which ports are up, as many words as the field for it has.
    port_status: *const u64,
    /// Whether the packet asked for a clone or the like.
    requested: u64,
    /// Where the packet goes when ingress sends it on, and its replica number.
    port: u64,
    rid: u64,
    /// Of the function of all blocks: the next packet, and the place behind the last one.
    next: *const Arrival<'static>,
    stop: *const Arrival<'static>,
    /// The number of the packet under way in its batch.
    arrival: u64,
    /// Where the bytes of all packets are that are sent, and where those of the next one begin.
    all_bytes: *mut u8,
    start: *mut u8,
    /// Where the next departure goes.
    sent: *mut Departure,
    /// Where the next packet is noted that is dropped: twice its number, and one more if egress
    /// dropped it.
    dropped: *mut u64,
    /// Where the key of a look-up goes that is found ahead, room for [`KEY_WORDS`].
    key: *mut u64,
    /// A [`Runtime`].
    runtime: *mut Runtime<'static>,
}

/// A packet of a batch, and the port that it came by.
pub(super) type Arrival<'p> = (PortId, &'p [u8]);

/// The layout of [`Arrival`].
pub(super) mod arrival {
    use super::{Arrival, PortId, offset_of, slice};

    pub(in crate::compile) const SIZE: usize = size_of::<Arrival<'_>>();
    pub(in crate::compile) const PORT: usize = offset_of!(Arrival<'_>, 0);
    pub(in crate::compile) const AT: usize = offset_of!(Arrival<'_>, 1) + PARTS.0;
    pub(in crate::compile) const LENGTH: usize = offset_of!(Arrival<'_>, 1) + PARTS.1;

    /// Where a slice has its address and its length.
    const PARTS: (usize, usize) = {
        let place = std::ptr::without_provenance::<u8>(align_of::<u64>());
        // SAFETY: an empty slice may be anywhere but at 0; it is two words long, as is the array.
        let words =
            unsafe { std::mem::transmute::<&[u8], [usize; 2]>(slice::from_raw_parts(place, 0)) };
        match words[0] {
            0 => (size_of::<usize>(), 0),
            _ => (0, size_of::<usize>()),
        }
    };

    const _: () = assert!(size_of::<PortId>() == size_of::<u16>());
}

/// A priority that is too large is said to be this one.
pub(super) const LARGEST_PRIORITY: u64 = u8::MAX as u64;

/// The layout of [`Departure`].
pub(super) mod departure {
    use std::mem::{MaybeUninit, transmute};

    use super::{Departure, offset_of};
    use crate::exec::OutputMetadata;
    use quantities::{PortId, Priority};

    pub(in crate::compile) const SIZE: usize = size_of::<Departure>();
    pub(in crate::compile) const ARRIVAL: usize = offset_of!(Departure, arrival);
    pub(in crate::compile) const PORT: usize = offset_of!(Departure, port);
    pub(in crate::compile) const START: usize = offset_of!(Departure, range.start);
    pub(in crate::compile) const END: usize = offset_of!(Departure, range.end);
    pub(in crate::compile) const QUEUE: usize = METADATA + offset_of!(OutputMetadata, queue);
    pub(in crate::compile) const ING_PRIO: usize = METADATA + offset_of!(OutputMetadata, ing_prio);
    pub(in crate::compile) const EG_PRIO: usize = METADATA + offset_of!(OutputMetadata, eg_prio);
    pub(in crate::compile) const INSTANCE_TYPE: usize =
        METADATA + offset_of!(OutputMetadata, instance_type);
    pub(in crate::compile) const RID: usize = METADATA + offset_of!(OutputMetadata, rid);
    const METADATA: usize = offset_of!(Departure, metadata);

    /// A priority that there is, as 16 bits, when it is 0.
    pub(in crate::compile) const SOME: u16 = u16::from_ne_bytes(some(0));
    /// Where its value stands in them.
    pub(in crate::compile) const VALUE: u32 =
        (SOME ^ u16::from_ne_bytes(some(u8::MAX))).trailing_zeros();
    /// No priority.
    pub(in crate::compile) const NONE: u16 = {
        // SAFETY: both are two bytes, and the second one may hold anything.
        let none = unsafe { transmute::<Option<Priority>, [MaybeUninit<u8>; 2]>(None) };
        let mut bytes = [0; 2];
        let which = (some(0)[0] == some(u8::MAX)[0]) as usize ^ 1;
        // SAFETY: the byte that is not the value's says whether there is one.
        bytes[which] = unsafe { none[which].assume_init() };
        u16::from_ne_bytes(bytes)
    };

    const fn some(priority: u8) -> [u8; 2] {
        // SAFETY: both are two bytes: a priority's own, and the one that says that it is there.
        unsafe { transmute::<Option<Priority>, [u8; 2]>(Some(Priority::new(priority))) }
    }

    const _: () = assert!(size_of::<PortId>() == size_of::<u16>());
    const _: () = assert!(SOME != NONE && VALUE.is_multiple_of(8));
}

/// Where the cells of a counter are, and how many.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Cells {
    at: u64,
    count: u64,
}

impl Cells {
    /// Where the counters of a state are, by extern object. They stay there as long as nobody
    /// changes the state but packets, which count and do not make or remove counters.
    pub(super) fn find(counters: &mut Vec<Self>, state: &mut RuntimeState) {
        counters.clear();
        let externs = state.data.externs_mut().iter_mut();
        counters.extend(externs.map(|state| match state {
            ExternState::Counter(counter) => Self {
                at: counter.cells.as_mut_ptr().expose_provenance() as u64,
                count: counter.cells.len() as u64,
            },
            _ => Self { at: 0, count: 0 },
        }));
    }
}

/// The layout of [`Cells`] and of what it leads to.
pub(super) mod cells {
    use super::{Bytes, Cells, CounterCell, offset_of};

    pub(in crate::compile) const SIZE: usize = size_of::<Cells>();
    pub(in crate::compile) const AT: usize = offset_of!(Cells, at);
    pub(in crate::compile) const COUNT: usize = offset_of!(Cells, count);
    pub(in crate::compile) const CELL: usize = size_of::<CounterCell>();
    pub(in crate::compile) const PACKETS: usize = offset_of!(CounterCell, packets);
    pub(in crate::compile) const BYTES: usize = offset_of!(CounterCell, bytes);

    const _: () = assert!(size_of::<Bytes>() == size_of::<u64>());
}

/// Offsets of the fields that compiled code uses.
pub(super) mod field {
    use super::{Ctx, offset_of};

    pub(in crate::compile) const PACKET: i32 = offset_of!(Ctx, packet) as i32;
    pub(in crate::compile) const PACKET_LEN: i32 = offset_of!(Ctx, packet_len) as i32;
    pub(in crate::compile) const CURSOR: i32 = offset_of!(Ctx, cursor) as i32;
    pub(in crate::compile) const OUT: i32 = offset_of!(Ctx, out) as i32;
    pub(in crate::compile) const ROUNDS: i32 = offset_of!(Ctx, rounds) as i32;
    pub(in crate::compile) const ARGS: i32 = offset_of!(Ctx, args) as i32;
    pub(in crate::compile) const HIT: i32 = offset_of!(Ctx, hit) as i32;
    pub(in crate::compile) const IMAGES: i32 = offset_of!(Ctx, images) as i32;
    pub(in crate::compile) const ANSWERS: i32 = offset_of!(Ctx, answers) as i32;
    pub(in crate::compile) const COUNTERS: i32 = offset_of!(Ctx, counters) as i32;
    pub(in crate::compile) const LENGTH: i32 = offset_of!(Ctx, length) as i32;
    pub(in crate::compile) const NOW_US: i32 = offset_of!(Ctx, now_us) as i32;
    pub(in crate::compile) const PORT_STATUS: i32 = offset_of!(Ctx, port_status) as i32;
    pub(in crate::compile) const REQUESTED: i32 = offset_of!(Ctx, requested) as i32;
    pub(in crate::compile) const PORT: i32 = offset_of!(Ctx, port) as i32;
    pub(in crate::compile) const RID: i32 = offset_of!(Ctx, rid) as i32;
    pub(in crate::compile) const NEXT: i32 = offset_of!(Ctx, next) as i32;
    pub(in crate::compile) const STOP: i32 = offset_of!(Ctx, stop) as i32;
    pub(in crate::compile) const ARRIVAL: i32 = offset_of!(Ctx, arrival) as i32;
    pub(in crate::compile) const ALL_BYTES: i32 = offset_of!(Ctx, all_bytes) as i32;
    pub(in crate::compile) const START: i32 = offset_of!(Ctx, start) as i32;
    pub(in crate::compile) const SENT: i32 = offset_of!(Ctx, sent) as i32;
    pub(in crate::compile) const DROPPED: i32 = offset_of!(Ctx, dropped) as i32;
    pub(in crate::compile) const KEY: i32 = offset_of!(Ctx, key) as i32;

    /// Those that stay as they are while code runs; what they are of a packet, the function of all
    /// blocks does not read here.
    pub(in crate::compile) const CONSTANT: [i32; 8] = [
        PACKET,
        PACKET_LEN,
        IMAGES,
        ANSWERS,
        COUNTERS,
        LENGTH,
        NOW_US,
        PORT_STATUS,
    ];
}

/// What compiled code takes for granted of the build that runs it, besides the order of its
/// helpers.
pub(super) const ABI: &[u32] = &[
    size_of::<Ctx>() as u32,
    size_of::<Addresses>() as u32,
    size_of::<Place>() as u32,
    offset_of!(Place, lines) as u32,
    offset_of!(Place, epoch) as u32,
    size_of::<Answer>() as u32,
    offset_of!(Answer, key) as u32,
    offset_of!(Answer, epoch) as u32,
    offset_of!(Answer, position) as u32,
    offset_of!(Answer, args) as u32,
    offset_of!(Answer, hit) as u32,
    field::PACKET as u32,
    field::PACKET_LEN as u32,
    field::CURSOR as u32,
    field::OUT as u32,
    field::ROUNDS as u32,
    field::ARGS as u32,
    field::HIT as u32,
    field::IMAGES as u32,
    field::ANSWERS as u32,
    field::COUNTERS as u32,
    field::LENGTH as u32,
    field::NOW_US as u32,
    field::PORT_STATUS as u32,
    field::REQUESTED as u32,
    field::PORT as u32,
    field::RID as u32,
    field::NEXT as u32,
    field::STOP as u32,
    field::ARRIVAL as u32,
    field::ALL_BYTES as u32,
    field::START as u32,
    field::SENT as u32,
    field::DROPPED as u32,
    field::KEY as u32,
    KEY_WORDS as u32,
    FIRST_TABLE as u32,
    cells::SIZE as u32,
    cells::AT as u32,
    cells::COUNT as u32,
    cells::CELL as u32,
    cells::PACKETS as u32,
    cells::BYTES as u32,
    arrival::SIZE as u32,
    arrival::PORT as u32,
    arrival::AT as u32,
    arrival::LENGTH as u32,
    departure::SIZE as u32,
    departure::ARRIVAL as u32,
    departure::PORT as u32,
    departure::START as u32,
    departure::END as u32,
    departure::QUEUE as u32,
    departure::ING_PRIO as u32,
    departure::EG_PRIO as u32,
    departure::INSTANCE_TYPE as u32,
    departure::RID as u32,
    departure::SOME as u32,
    departure::VALUE,
    departure::NONE as u32,
    Helper::COUNT,
];

/// What the function that looks ahead returns for the first table, and one more for each after it.
/// Less says that there is no look-up.
pub(super) const FIRST_TABLE: u64 = 16;

/// A compiled block. It returns 0, or 1 if it aborted the packet; the parser returns its error.
pub(super) type Block = unsafe extern "C" fn(*mut Ctx, *mut u64) -> u64;

/// The machine code of a program; dropping it frees the memory.
pub(super) struct Native {
    /// Behind a lock only so that switches in several threads may share the code; nobody takes it.
    module: Mutex<Option<JITModule>>,
    /// In the order of [`BlockKind`].
    blocks: Vec<Block>,
    /// All in one, with what is between them for a packet that asks for nothing special.
    whole: Option<Block>,
    /// As far as the first look-up.
    ahead: Option<Block>,
}

/// Which block to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Parser,
    /// Checksum verification and ingress.
    Ingress,
    Egress,
    /// Checksum computation and deparser; Tofino's egress deparser.
    Deparser,
    /// Only of Tofino.
    IngressDeparser,
    /// Only of Tofino.
    EgressParser,
}

/// How the function of all blocks ended.
fn way_of_code(code: u64) -> Way {
    Way::ALL.get(code as usize).copied().unwrap_or(Way::Aborted)
}

impl Native {
    /// Takes over a finished module and the addresses of its blocks, all that the program's
    /// architecture has, of the function of all, and of the one that looks ahead.
    pub(super) fn new(
        module: JITModule,
        blocks: Vec<*const u8>,
        whole: Option<*const u8>,
        ahead: Option<*const u8>,
    ) -> Self {
        // SAFETY: the generator declared these functions with this signature, and they stay where
        // they are until `module` is freed, which `Drop` does.
        let block = |at| unsafe { std::mem::transmute::<*const u8, Block>(at) };
        Self {
            module: Mutex::new(Some(module)),
            blocks: blocks.into_iter().map(block).collect(),
            whole: whole.map(block),
            ahead: ahead.map(block),
        }
    }

    /// Whether there is a function of all blocks.
    pub(super) const fn has_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether there is a function that looks ahead.
    pub(super) const fn looks_ahead(&self) -> bool {
        self.ahead.is_some()
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let module = match self.module.get_mut() {
            Ok(module) => module.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(module) = module {
            // SAFETY: the code runs only during `Session::run`, which borrows it.
            unsafe { module.free_memory() };
        }
    }
}

/// Compiled code with all it runs on, for one packet or many.
pub(super) struct Session<'a> {
    code: &'a Native,
    ctx: Ctx,
    dropped: [u64; TOGETHER],
    pub(super) runtime: Runtime<'a>,
}

/// A packet that left the short way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// Its number in the batch.
    pub(super) packet: usize,
    pub(super) way: Way,
    /// Bits of it that the parser took; set where it asked for something.
    pub(super) parsed: usize,
    /// The port and replica number with which it left ingress; set where it left egress.
    pub(super) forwarded: (PortId, u16),
}

/// How a block ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// The parser's error, or 1 for "aborted".
    pub(super) code: u64,
    /// Bits of the packet that the parser took.
    pub(super) parsed: usize,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        code: &'a Native,
        runtime: Runtime<'a>,
        images: &'a [Addresses],
        answers: &'a [Place],
        counters: &'a [Cells],
        port_status: &'a [u64],
    ) -> Self {
        let ctx = Ctx {
            packet: std::ptr::null(),
            packet_len: 0,
            cursor: 0,
            out: std::ptr::null_mut(),
            rounds: 0,
            args: std::ptr::null(),
            hit: 0,
            images: images.as_ptr(),
            answers: answers.as_ptr(),
            counters: counters.as_ptr(),
            length: 0,
            now_us: 0,
            port_status: port_status.as_ptr(),
            requested: 0,
            port: 0,
            rid: 0,
            next: std::ptr::null(),
            stop: std::ptr::null(),
            arrival: 0,
            all_bytes: std::ptr::null_mut(),
            start: std::ptr::null_mut(),
            sent: std::ptr::null_mut(),
            dropped: std::ptr::null_mut(),
            key: std::ptr::null_mut(),
            runtime: std::ptr::null_mut(),
        };
        Self {
            code,
            ctx,
            dropped: [0; TOGETHER],
            runtime,
        }
    }

    /// Runs a block that does not write packets.
    pub(super) fn run(&mut self, kind: BlockKind, pass: Pass<'_>) -> Ended {
        self.run_writing(kind, pass, std::ptr::null_mut()).0
    }

    /// Runs a deparser, which appends at most `room` bytes to `out`.
    pub(super) fn run_deparser(
        &mut self,
        kind: BlockKind,
        pass: Pass<'_>,
        out: &mut Vec<u8>,
        room: usize,
    ) -> Ended {
        // Words are written whole, so up to seven bytes behind the last one are scratch.
        out.reserve(room + 8);
        let start = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
        let (ended, end) = self.run_writing(kind, pass, start);
        // SAFETY: both point into the spare capacity; compiled code wrote all bytes between them,
        // and the generator computed `room` as an upper bound of what it writes.
        unsafe {
            let written = usize::try_from(end.offset_from(start)).unwrap_or(0);
            out.set_len(out.len() + written);
        }
        ended
    }

    /// Runs all blocks of a program that has a function for that on packets of a batch, the first
    /// of which has this number, until one leaves the short way; which that is, and how. Those
    /// before it were dropped, or sent: headers of at most `room` bytes, then the payload. They are
    /// at most [`TOGETHER`].
    pub(super) fn run_whole(
        &mut self,
        now: Nanos,
        packets: &[Arrival<'_>],
        first: usize,
        out: &mut Batch,
        room: usize,
    ) -> Option<Left> {
        let whole = self.code.whole?;
        assert!(packets.len() <= TOGETHER, "there is room for so many drops");
        let payloads: usize = packets.iter().map(|(_, packet)| packet.len()).sum();
        // Words are written whole, so up to seven bytes behind the last one are scratch.
        out.bytes.reserve(packets.len() * room + payloads + 8);
        out.sent.reserve(packets.len());
        let (written, sent) = (out.bytes.len(), out.sent.len());
        self.ctx.all_bytes = out.bytes.as_mut_ptr();
        self.ctx.start = out.bytes.spare_capacity_mut().as_mut_ptr().cast();
        self.ctx.sent = out.sent.spare_capacity_mut().as_mut_ptr().cast();
        self.ctx.dropped = self.dropped.as_mut_ptr();
        let (from, departure) = (self.ctx.start, self.ctx.sent);
        let drop = self.ctx.dropped.cast_const();
        // The function counts on before it looks at a packet.
        self.ctx.arrival = (first as u64).wrapping_sub(1);
        let code = self.run_arrivals(whole, now, packets);
        // SAFETY: the pointers lie in the spare capacities; compiled code wrote all bytes and
        // departures before them, of which there are at most as many as packets, of at most `room`
        // bytes and what the packets have.
        unsafe {
            let bytes = usize::try_from(self.ctx.start.offset_from(from)).unwrap_or(0);
            out.bytes.set_len(written + bytes);
            let departures = usize::try_from(self.ctx.sent.offset_from(departure)).unwrap_or(0);
            out.sent.set_len(sent + departures);
        }
        let drops = (self.ctx.dropped.addr() - drop.addr()) / size_of::<u64>();
        for word in self.dropped.iter().take(drops) {
            let reason = match word % 2 {
                0 => DropReason::Ingress,
                _ => DropReason::Egress,
            };
            out.dropped.push(((word / 2) as u32, reason));
        }
        (code != Way::Sent as u64).then(|| Left {
            packet: self.ctx.arrival as usize,
            way: way_of_code(code),
            parsed: self.ctx.cursor as usize,
            forwarded: (PortId::new(self.ctx.port as u16), self.ctx.rid as u16),
        })
    }

    /// Runs a packet as far as the first table that compiled code does not look up by itself, if it
    /// comes to one and nothing that packets change lies before it: the table, and the key as the
    /// table packs it. Nothing else happens.
    #[inline]
    pub(super) fn look_ahead(
        &mut self,
        now: Nanos,
        packet: &Arrival<'_>,
        key: &mut [u64; KEY_WORDS],
    ) -> Option<usize> {
        let ahead = self.code.ahead?;
        self.ctx.key = key.as_mut_ptr();
        let code = self.run_arrivals(ahead, now, slice::from_ref(packet));
        self.ctx.key = std::ptr::null_mut();
        code.checked_sub(FIRST_TABLE).map(|at| at as usize)
    }

    /// Calls a function that takes packets of a batch.
    #[inline]
    fn run_arrivals(&mut self, function: Block, now: Nanos, packets: &[Arrival<'_>]) -> u64 {
        let ends = packets.as_ptr_range();
        // What is not set here, the function sets before it reads it.
        (self.ctx.next, self.ctx.stop) = (ends.start.cast(), ends.end.cast());
        self.runtime.now = now;
        self.ctx.now_us = now.get() / 1000;
        self.ctx.runtime = (&raw mut self.runtime).cast();
        let frame = self.runtime.frame.as_mut_ptr();
        let ctx = &raw mut self.ctx;
        // SAFETY: see the module documentation; the frame has the length the code was made for.
        unsafe { function(ctx, frame) }
    }

    fn run_writing(&mut self, kind: BlockKind, pass: Pass<'_>, out: *mut u8) -> (Ended, *mut u8) {
        self.runtime.now = pass.now;
        self.runtime.scratch.start_block();
        let frame = self.runtime.frame.as_mut_ptr();
        // What is not set here is set before it is read.
        self.ctx.packet = pass.bytes.as_ptr();
        self.ctx.packet_len = pass.bytes.len() as u64;
        self.ctx.cursor = pass.parsed as u64;
        self.ctx.out = out;
        self.ctx.rounds = 0;
        self.ctx.length = pass.length as u64;
        self.ctx.now_us = pass.now.get() / 1000;
        self.ctx.requested = 0;
        self.ctx.runtime = (&raw mut self.runtime).cast();
        let ctx = &raw mut self.ctx;
        let block = self.code.blocks[kind as usize];
        // SAFETY: see the module documentation; the frame has the length the code was made for.
        let code = unsafe { block(ctx, frame) };
        let ended = Ended {
            code,
            parsed: self.ctx.cursor as usize,
        };
        (ended, self.ctx.out)
    }
}

impl Ctx {
    /// The runtime of a call that is under way.
    ///
    /// # Safety
    ///
    /// `ctx` is the one that [`Session`] gave to the code that calls.
    unsafe fn runtime<'c>(ctx: *mut Ctx) -> &'c mut Runtime<'c> {
        // SAFETY: by this function's contract; nothing else uses the runtime until the helper ends.
        unsafe { &mut *(*ctx).runtime.cast() }
    }

    /// The packet and the parser's place in it.
    ///
    /// # Safety
    ///
    /// As for [`Ctx::runtime`].
    unsafe fn packet<'c>(ctx: *mut Ctx) -> (&'c [u8], usize) {
        // SAFETY: `Session`, or the function of all blocks, took both from one slice, which
        // outlives the call.
        unsafe {
            let bytes = slice::from_raw_parts((*ctx).packet, (*ctx).packet_len as usize);
            (bytes, (*ctx).cursor as usize)
        }
    }
}

/// The leaves that a site describes.
fn leaves<'a>(runtime: &Runtime<'a>, site: u64) -> &'a [(Slot, LeafKind)] {
    match runtime.sites.get(site as usize) {
        Some(Site::Leaves(leaves)) => leaves,
        _ => &[],
    }
}

macro_rules! helpers {
    ($($(#[$doc:meta])* $name:ident = $function:ident($($arg:ident: $ty:ty),*) $body:block)*) => {
        /// A function that compiled code calls. All take and return 64-bit words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub(super) enum Helper { $($(#[$doc])* $name,)* }

        impl Helper {
            /// How many there are.
            const COUNT: u32 = [$(stringify!($name)),*].len() as u32;

            /// Where it is in this process.
            pub(super) fn address(self) -> *const u8 {
                match self { $(Self::$name => $function as *const u8,)* }
            }

            /// How many arguments it takes.
            pub(super) const fn params(self) -> usize {
                match self { $(Self::$name => [$(stringify!($arg)),*].len(),)* }
            }
        }

        $(unsafe extern "C" fn $function($($arg: $ty),*) -> u64 {
            // SAFETY: called by compiled code only, with pointers as the site or layout says.
            unsafe { $body }
        })*
    };
}

helpers! {
    /// Looks up a table: dense key words and their number, selector bytes and theirs. Sets `args`
    /// and `hit`; returns the action's place in the table's list, or all ones.
    Apply = apply(ctx: *mut Ctx, table: u64, key: *const u64, key_len: u64, selector: *const u8, selector_len: u64) {
        let runtime = Ctx::runtime(ctx);
        let key = slice::from_raw_parts(key, key_len as usize);
        let selector = slice::from_raw_parts(selector, selector_len as usize);
        runtime.length = Bytes::new((*ctx).length);
        let place = *(*ctx).answers.add(table as usize);
        let memo = place.lines == 0;
        let applied = runtime.apply((table as usize, memo), key, selector, (*ctx).arrival as usize);
        (*ctx).hit = u64::from(applied.hit);
        let position = match applied.action {
            Some((position, args)) => {
                (*ctx).args = args.as_ptr();
                position as u64
            }
            None => u64::MAX,
        };
        if !memo && let Some(words) = padded(key) {
            let lines = std::ptr::with_exposed_provenance_mut::<Answer>(place.lines as usize);
            *lines.add(line_of(&words)) = Answer {
                key: words,
                epoch: place.epoch,
                position,
                args: (*ctx).args.expose_provenance() as u64,
                hit: (*ctx).hit,
            };
        }
        position
    }
    /// Computes a [`WideOp`]: operation, widths in bits, operands, result.
    Wide = wide(op: u64, width_a: u64, width_b: u64, a: *const u64, b: *const u64, out: *mut u64) {
        let words = |width: u64| width.div_ceil(64).max(1) as usize;
        let (a, b) = (
            slice::from_raw_parts(a, words(width_a)),
            slice::from_raw_parts(b, words(width_b)),
        );
        let out = slice::from_raw_parts_mut(out, words(width_a));
        if let Some(op) = WideOp::from_number(op) {
            op.compute((width_a as u32, width_b as u32), a, b, out);
        }
        0
    }
    /// Hashes bytes with the algorithm of a number (see [`hash_number`]).
    Hash = hash(ctx: *mut Ctx, algorithm: u64, data: *const u8, len: u64) {
        let data = slice::from_raw_parts(data, len as usize);
        Ctx::runtime(ctx).hash(numbered_hash(algorithm), data)
    }
    /// Makes the extern call of a site: argument words, answer words.
    Extern = call_extern(ctx: *mut Ctx, site: u64, args: *const u64, out: *mut u64) {
        let runtime = Ctx::runtime(ctx);
        match runtime.sites.get(site as usize) {
            Some(Site::Extern { call, args: slots, arg_words, out_words }) => {
                let args = slice::from_raw_parts(args, *arg_words);
                let out = slice::from_raw_parts_mut(out, *out_words);
                runtime.length = Bytes::new((*ctx).length);
                let answer = runtime.call(call, slots, args, out, Ctx::packet(ctx));
                (*ctx).requested = u64::from(runtime.scratch.requested);
                answer
            }
            _ => 0,
        }
    }
    /// Whether a value set holds a key.
    ValueSet = value_set(ctx: *mut Ctx, set: u64, key: *const u64) {
        let runtime = Ctx::runtime(ctx);
        let key = slice::from_raw_parts(key, runtime.value_set_words(set as usize));
        u64::from(runtime.in_value_set(set as usize, key))
    }
    /// The number of the target of the first of a site's cases that holds the keys; all ones if
    /// none does.
    FirstCase = search_cases(ctx: *mut Ctx, site: u64, key: *const u64) {
        match Ctx::runtime(ctx).sites.get(site as usize) {
            Some(Site::Cases { keys, key_words, cases }) => {
                let words = slice::from_raw_parts(key, *key_words);
                first_case(keys, cases, words).map_or(u64::MAX, |target| target as u64)
            }
            _ => u64::MAX,
        }
    }
    /// Extracts the leaves of a site to a word of the frame, the varbit with this many bits. Moves
    /// the cursor if `take` is set. Returns 0, or one more than the error.
    Extract = extract(ctx: *mut Ctx, site: u64, word: u64, varbit: u64, take: u64) {
        let runtime = Ctx::runtime(ctx);
        let leaves = leaves(runtime, site);
        let (bytes, cursor) = Ctx::packet(ctx);
        match runtime.extract(leaves, word as u32, bytes, cursor, varbit) {
            Ok(end) => {
                if take != 0 {
                    (*ctx).cursor = end as u64;
                }
                0
            }
            Err(error) => u64::from(error) + 1,
        }
    }
    /// Appends the leaves of a site at a word of the frame to the deparser's buffer.
    Emit = emit(ctx: *mut Ctx, site: u64, word: u64) {
        let runtime = Ctx::runtime(ctx);
        let leaves = leaves(runtime, site);
        runtime.emit(leaves, word as u32);
        0
    }
    /// The same, but straight to the output: what was written is a whole number of bytes.
    EmitBytes = emit_bytes(ctx: *mut Ctx, site: u64, word: u64) {
        let runtime = Ctx::runtime(ctx);
        let leaves = leaves(runtime, site);
        runtime.emit(leaves, word as u32);
        let bytes = std::mem::take(&mut runtime.scratch.writer).into_bytes();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), (*ctx).out, bytes.len());
        (*ctx).out = (*ctx).out.add(bytes.len());
        0
    }
    /// Shifts a stack: its word, size, words per element, count, 1 for push.
    ShiftStack = shift_stack(ctx: *mut Ctx, word: u64, size: u64, words: u64, count: u64, push: u64) {
        let [word, size, words, count] = [word, size, words, count].map(|n| n as usize);
        Ctx::runtime(ctx).shift_stack(word, size, words, count, push != 0);
        0
    }
    /// Copies words of the frame: to, from, number.
    CopyWords = copy_words(frame: *mut u64, to: u64, from: u64, count: u64) {
        std::ptr::copy(frame.add(from as usize), frame.add(to as usize), count as usize);
        0
    }
    /// Zeroes words of the frame: from, number.
    ZeroWords = zero_words(frame: *mut u64, at: u64, count: u64) {
        std::ptr::write_bytes(frame.add(at as usize), 0, count as usize);
        0
    }
    /// Copies bytes: to, from, number.
    CopyBytes = copy_bytes(to: *mut u8, from: *const u8, count: u64) {
        std::ptr::copy_nonoverlapping(from, to, count as usize);
        0
    }
    /// Notes that the packet ran a loop too often.
    AbortLoop = abort_loop(ctx: *mut Ctx) {
        Ctx::runtime(ctx).abort_loop();
        0
    }
}

/// Hash algorithms without parameters, by the number compiled code knows them by.
const HASHES: [HashAlgorithm; 9] = [
    HashAlgorithm::Crc32,
    HashAlgorithm::Crc16,
    HashAlgorithm::Random,
    HashAlgorithm::Identity,
    HashAlgorithm::Csum16,
    HashAlgorithm::Xor16,
    HashAlgorithm::Xor8,
    HashAlgorithm::Xor32,
    HashAlgorithm::LowBits,
];

/// Numbers of custom CRCs begin here, in either width; the calculation is added.
const CUSTOM_16: u64 = 1 << 16;
const CUSTOM_32: u64 = 2 << 16;

/// The number of an algorithm for [`Helper::Hash`].
pub(super) fn hash_number(algorithm: HashAlgorithm) -> u64 {
    match algorithm {
        HashAlgorithm::Crc16Custom(Calculation(number)) => CUSTOM_16 + u64::from(number),
        HashAlgorithm::Crc32Custom(Calculation(number)) => CUSTOM_32 + u64::from(number),
        _ => {
            let position = HASHES.iter().position(|known| *known == algorithm);
            position.unwrap_or(0) as u64
        }
    }
}

/// The algorithm of a number that [`hash_number`] made.
fn numbered_hash(number: u64) -> HashAlgorithm {
    let calculation = Calculation(number as u16);
    match number {
        CUSTOM_32.. => HashAlgorithm::Crc32Custom(calculation),
        CUSTOM_16.. => HashAlgorithm::Crc16Custom(calculation),
        _ => HASHES[number as usize],
    }
}

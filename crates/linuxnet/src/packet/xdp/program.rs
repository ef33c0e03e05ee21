//! The program in the kernel that hands an interface's frames to our sockets: five instructions,
//! written out here, so that neither a compiler nor a library is needed. The attachment is a
//! descriptor: it ends with the process, whatever ends that.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::{NetError, Tried};

/// What the calls below need.
pub(super) const BPF: &str = "cap_net_raw,cap_net_admin,cap_bpf";

/// Commands of `bpf(2)`, from `linux/bpf.h`.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
/// `BPF_MAP_TYPE_XSKMAP`.
const SOCKET_MAP: u32 = 17;
/// `BPF_PROG_TYPE_XDP`.
const XDP_PROGRAM: u32 = 6;
/// `BPF_XDP` of `enum bpf_attach_type`.
const XDP_ATTACH: u32 = 37;
/// `XDP_FLAGS_SKB_MODE` and `XDP_FLAGS_DRV_MODE` of `linux/if_link.h`.
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;

/// `struct bpf_insn`: code, registers (destination in the low half), offset, immediate.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers,
        offset,
        immediate,
    }
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    version: u32,
    flags: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    kind: u32,
    flags: u32,
}

/// One call of `bpf(2)`.
fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the pointer and the length describe `attributes`, a structure laid out as the command
    // expects; what it points to lives in the caller. The kernel takes missing trailing fields as
    // zero.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>() as libc::c_uint,
        )
    };
    RawFd::try_from(result)
        .ok()
        .filter(|result| *result >= 0)
        .ok_or_else(io::Error::last_os_error)
}

fn own(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the descriptor was made just now and has no other owner.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// How the program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// In the interface's driver.
    Native,
    /// In the network stack.
    Generic,
}

/// The program with its map of sockets, loaded and not yet attached.
#[derive(Debug)]
pub(super) struct Program {
    map: OwnedFd,
    program: OwnedFd,
}

/// The program at work on an interface.
#[derive(Debug)]
pub(super) struct Attached {
    _link: OwnedFd,
    pub(super) mode: Mode,
}

impl Program {
    /// Loads it, for so many receive queues.
    pub(super) fn load(queues: u32) -> Result<Self, NetError> {
        let map = bpf(
            MAP_CREATE,
            &MapCreate {
                kind: SOCKET_MAP,
                key_size: 4,
                value_size: 4,
                max_entries: queues,
                flags: 0,
            },
        )
        .tried("making a map of AF_XDP sockets", BPF)?;
        let map = own(map);
        let instructions = [
            instruction(0x61, 0x12, 16, 0), // r2 = context->rx_queue_index
            instruction(0x18, 0x11, 0, map.as_raw_fd()), // r1 = map
            instruction(0, 0, 0, 0),
            instruction(0xb7, 0x03, 0, 2), // r3 = XDP_PASS: what happens without a socket
            instruction(0x85, 0x00, 0, 51), // r0 = redirect_map(r1, r2, r3)
            instruction(0x95, 0x00, 0, 0), // return r0
        ];
        let license = c"Apache-2.0";
        let program = bpf(
            PROG_LOAD,
            &ProgLoad {
                kind: XDP_PROGRAM,
                count: instructions.len() as u32,
                instructions: instructions.as_ptr() as u64,
                license: license.as_ptr() as u64,
                log_level: 0,
                log_size: 0,
                log: 0,
                version: 0,
                flags: 0,
            },
        )
        .tried("loading an XDP program", BPF)?;
        Ok(Self {
            map,
            program: own(program),
        })
    }

    /// Frames of this queue go to this socket.
    pub(super) fn serve(&self, queue: u32, socket: &OwnedFd) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let update = MapUpdate {
            map: self.map.as_raw_fd() as u32,
            pad: 0,
            key: std::ptr::from_ref(&queue) as u64,
            value: std::ptr::from_ref(&value) as u64,
            flags: 0,
        };
        bpf(MAP_UPDATE, &update).map(|_| ())
    }

    /// Attaches it, in the driver if that can.
    pub(super) fn attach(&self, interface: u32) -> io::Result<Attached> {
        let attach = |flags| {
            let create = LinkCreate {
                program: self.program.as_raw_fd() as u32,
                interface,
                kind: XDP_ATTACH,
                flags,
            };
            bpf(LINK_CREATE, &create).map(own)
        };
        let (link, mode) = match attach(NATIVE) {
            Ok(link) => (link, Mode::Native),
            // Another program is there: it would be in the way in either mode.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Err(error),
            Err(_) => (attach(GENERIC)?, Mode::Generic),
        };
        Ok(Attached { _link: link, mode })
    }
}

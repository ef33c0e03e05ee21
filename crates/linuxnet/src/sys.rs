//! System calls that no safe wrapper covers: options of packet and AF_XDP sockets, frames with what
//! is said beside them, ethtool.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use nix::sys::signal::Signal;

use crate::error::{ADMIN, NetError, RAW, Tried};

/// A descriptor of something that knows only its number.
pub(crate) fn borrow<T: AsRawFd>(owner: &T) -> BorrowedFd<'_> {
    // SAFETY: `owner` keeps the descriptor open for as long as it is borrowed.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Has the process that `command` starts get `signal` when the thread that starts it ends.
pub(crate) fn end_with_parent(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: the call takes numbers only.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_int) })?;
        // The parent may have ended before that.
        if std::os::unix::process::parent_id() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is
    // taken.
    unsafe { command.pre_exec(prepare) };
}

/// Has the calling thread run before all ordinary ones (`SCHED_FIFO`) whenever it has something to
/// do.
///
/// # Errors
/// The system permits it neither by `CAP_SYS_NICE` nor by `RLIMIT_RTPRIO`.
pub fn run_before_others() -> io::Result<()> {
    /// The kernel's `struct sched_param`.
    #[repr(C)]
    struct Parameters {
        priority: libc::c_int,
    }
    let how = Parameters { priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // The system call itself: musl's function of its name always fails with ENOSYS.
    // SAFETY: the pointer is to `how`, which lives through the call; the kernel only reads it.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const how) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A raw packet socket that receives nothing until it is bound to a protocol.
pub(crate) fn packet_socket() -> Result<OwnedFd, NetError> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes numbers only.
    let file = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
        .tried("opening a raw packet socket", RAW)?;
    // SAFETY: the descriptor was made just now and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Sets a socket option whose value is the plain data `value`.
pub(crate) fn set_option<T: Copy>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives through the call; the
    // kernel only reads it.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            length,
        )
    })
    .map(|_| ())
}

/// Asks for a socket option whose value is plain numbers.
pub(crate) fn get_option<T: Copy>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointers describe `value` and its length, which live through the call; the kernel
    // writes at most that many bytes, and every pattern of them is a valid `T` (callers ask for
    // structures of numbers only).
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_mut(value).cast(),
            &raw mut length,
        )
    })
    .map(|_| ())
}

/// An AF_XDP socket without memory or interface.
pub(crate) fn xdp_socket() -> Result<OwnedFd, NetError> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers only.
    let file = check(unsafe { libc::socket(libc::AF_XDP, kind, 0) }).map_err(|error| {
        if error.raw_os_error() == Some(libc::EAFNOSUPPORT) {
            return NetError::NoXdp;
        }
        NetError::system("opening an AF_XDP socket", RAW, error)
    })?;
    // SAFETY: the descriptor was made just now and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Binds a socket to an address of its family, a structure of numbers.
pub(crate) fn bind<T: Copy>(socket: &OwnedFd, address: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which lives through the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(address).cast(), length) })
        .map(|_| ())
}

/// A frame from a packet socket's queue.
pub(crate) struct Queued {
    /// Its length in the buffer, its virtio header counted.
    pub(crate) length: usize,
    /// The buffer held all of it.
    pub(crate) whole: bool,
    /// This host sent it.
    pub(crate) outgoing: bool,
    /// What the kernel says beside it (`PACKET_AUXDATA`).
    pub(crate) beside: Option<libc::tpacket_auxdata>,
}

/// Takes a frame off a packet socket's queue, with what the kernel says beside it.
pub(crate) fn receive_packet(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Queued> {
    // Room for one control message, aligned as its header needs.
    let mut control = [0u64; 16];
    // SAFETY: the structures are plain numbers and pointers that may be null, for which zeros are
    // valid.
    let (mut address, mut message): (libc::sockaddr_ll, libc::msghdr) = unsafe { zeroed() };
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    message.msg_name = ptr::from_mut(&mut address).cast();
    message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` points to the address, the part with the buffer and the control room, with
    // their lengths; all live through the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: `message` was filled by the kernel; the first control message, if there is one, lies
    // in `control`, which lives, and its data is read only where its length says that it is there.
    let beside = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        let needed = libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as libc::c_uint) as usize;
        (!first.is_null()
            && (*first).cmsg_level == libc::SOL_PACKET
            && (*first).cmsg_type == libc::PACKET_AUXDATA
            && (*first).cmsg_len as usize >= needed)
            .then(|| ptr::read_unaligned(libc::CMSG_DATA(first).cast()))
    };
    Ok(Queued {
        length,
        whole: message.msg_flags & libc::MSG_TRUNC == 0,
        outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
        beside,
    })
}

/// Binds a packet socket to an interface; protocol 0 receives nothing.
pub(crate) fn bind_packet(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: the structure is plain numbers, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as libc::c_int;
    bind(socket, &address)
}

/// Takes the pending error off a socket, so that waiting for it does not end at once for ever.
pub(crate) fn take_error(socket: &OwnedFd) -> Option<io::Error> {
    let mut error: libc::c_int = 0;
    match get_option(socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut error) {
        Err(e) => Some(e),
        Ok(()) if error != 0 => Some(io::Error::from_raw_os_error(error)),
        Ok(()) => None,
    }
}

/// What the kernel did not deliver to a packet socket since the last call.
pub(crate) fn take_drops(socket: &OwnedFd) -> u64 {
    // SAFETY: the structure is plain numbers, for which zeros are valid.
    let mut stats: libc::tpacket_stats = unsafe { zeroed() };
    let asked = get_option(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_STATISTICS,
        &mut stats,
    );
    asked.map_or(0, |()| u64::from(stats.tp_drops))
}

/// Work that a network card, or a veth pair that plays one, takes over from the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Checks checksums of received frames.
    ReceiveChecksum,
    /// Fills in checksums of sent frames: until then they carry a partial one.
    SendChecksum,
    /// Cuts TCP segments to size after the system sent one large frame.
    TcpSegmentation,
    /// The same, in software just before the card.
    Segmentation,
    /// Merges received frames into larger ones.
    ReceiveMerging,
    /// Merges received frames in hardware.
    LargeReceive,
}

/// `struct ethtool_value` of `linux/ethtool.h`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `ETHTOOL_S*` commands and the flag of `ETHTOOL_SFLAGS`, from `linux/ethtool.h`.
const SET_RECEIVE_CHECKSUM: u32 = 0x15;
const SET_SEND_CHECKSUM: u32 = 0x17;
const SET_TCP_SEGMENTATION: u32 = 0x1f;
const SET_SEGMENTATION: u32 = 0x24;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const SET_RECEIVE_MERGING: u32 = 0x2c;
const FLAG_LARGE_RECEIVE: u32 = 1 << 15;

/// Switches an offload of an interface of this namespace on or off.
///
/// # Errors
/// [`NetError::NotPermitted`]; an interface that cannot.
pub fn set_offload(interface: &str, offload: Offload, on: bool) -> Result<(), NetError> {
    let what = format!("setting an offload of {interface}");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")
        .or_else(|_| std::net::UdpSocket::bind("[::1]:0"))
        .tried(&what, ADMIN)?;
    let command = match offload {
        Offload::ReceiveChecksum => SET_RECEIVE_CHECKSUM,
        Offload::SendChecksum => SET_SEND_CHECKSUM,
        Offload::TcpSegmentation => SET_TCP_SEGMENTATION,
        Offload::Segmentation => SET_SEGMENTATION,
        Offload::ReceiveMerging => SET_RECEIVE_MERGING,
        Offload::LargeReceive => {
            let flags = ethtool(&socket, interface, GET_FLAGS, 0).tried(&what, ADMIN)?;
            let flags = if on {
                flags | FLAG_LARGE_RECEIVE
            } else {
                flags & !FLAG_LARGE_RECEIVE
            };
            ethtool(&socket, interface, SET_FLAGS, flags).tried(&what, ADMIN)?;
            return Ok(());
        }
    };
    ethtool(&socket, interface, command, u32::from(on))
        .tried(&what, ADMIN)
        .map(|_| ())
}

fn ethtool(socket: &impl AsRawFd, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    // SAFETY: the structure is plain numbers and pointers that may be null, for which zeros are
    // valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = ptr::from_mut(&mut value).cast();
    // SAFETY: `request` and the `value` it points to live through the call; the commands used here
    // read and write one `ethtool_value`.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })?;
    Ok(value.data)
}

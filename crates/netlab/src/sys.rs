//! System calls that no safe wrapper covers: packet socket options and ethtool.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

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

/// Binds a packet socket to an interface; protocol 0 receives nothing.
pub(crate) fn bind_packet(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: the structure is plain numbers, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which lives through the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) })
        .map(|_| ())
}

/// Takes the pending error off a socket, so that waiting for it does not end at once for ever.
pub(crate) fn take_error(socket: &OwnedFd) -> Option<io::Error> {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointers describe two numbers that live through the call; the kernel writes at
    // most `length` bytes to the first.
    let done = check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            ptr::from_mut(&mut error).cast(),
            &raw mut length,
        )
    });
    match done {
        Err(e) => Some(e),
        Ok(_) if error != 0 => Some(io::Error::from_raw_os_error(error)),
        Ok(_) => None,
    }
}

/// What the kernel did not deliver to a packet socket since the last call.
pub(crate) fn take_drops(socket: &OwnedFd) -> u64 {
    // SAFETY: the structure is plain numbers, for which zeros are valid.
    let mut stats: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the pointers describe `stats` and its length, which live through the call.
    let done = check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            ptr::from_mut(&mut stats).cast(),
            &raw mut length,
        )
    });
    done.map_or(0, |_| u64::from(stats.tp_drops))
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
    // SAFETY: the structure is plain numbers and pointers that may be null, for which zeros are valid.
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

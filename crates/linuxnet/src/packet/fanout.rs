//! Several sockets on one interface, among which the kernel shares frames out by a hash of their
//! flow (`PACKET_FANOUT_HASH`): those of a connection, of both directions, come to one socket and
//! in order. Frames that the kernel finds no IP addresses in are one flow for each EtherType.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr;

use crate::sys::{get_option, set_option};

/// Sockets of one interface.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Its number in the network namespace; the kernel gives it with the first member.
    number: Option<u16>,
}

/// A classic BPF instruction that takes no byte of a frame (`BPF_RET | BPF_K`): nothing is
/// received.
const NOTHING: libc::sock_filter = libc::sock_filter {
    code: 0x06,
    jt: 0,
    jf: 0,
    k: 0,
};

impl Group {
    /// To be called before a member is bound: until it has joined, it would get what others get
    /// too.
    pub(super) fn hush(&self, socket: &OwnedFd) -> io::Result<()> {
        if self.number.is_none() {
            return Ok(()); // the first one: what comes is its own
        }
        let filter = libc::sock_fprog {
            len: 1,
            filter: ptr::from_ref(&NOTHING).cast_mut(),
        };
        set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
    }

    /// Joins a socket that is bound.
    pub(super) fn join(&mut self, socket: &OwnedFd) -> io::Result<()> {
        let mut how = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
        if self.number.is_none() {
            how |= libc::PACKET_FANOUT_FLAG_UNIQUEID;
        }
        let mut group = (how << 16) | u32::from(self.number.unwrap_or_default());
        set_option(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &group)?;
        if self.number.is_some() {
            return set_option(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0);
        }
        get_option(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &mut group)?;
        self.number = Some(group as u16);
        Ok(())
    }
}

//! Sending frames by the batch: one system call for many (`sendmmsg`).
#![allow(unsafe_code)]

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use libc::{iovec, mmsghdr};

use super::SOCKET_BUFFER;
use crate::error::{NetError, RAW, Tried};
use crate::rtnl::Link;
use crate::sys;

/// Frames per system call.
const BATCH: usize = 64;
/// A batch with so many bytes goes at once.
const BATCH_BYTES: usize = 128 << 10;

/// A socket that only sends, and the batch that it will send next.
#[derive(Debug)]
pub(super) struct Sender {
    socket: OwnedFd,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    sent: u64,
    refused: u64,
}

impl Sender {
    /// Opens a sender on an interface.
    pub(super) fn open(link: &Link, bypass_queueing: bool) -> Result<Self, NetError> {
        let socket = sys::packet_socket()?;
        let what = || format!("opening {} for sending", link.name);
        let level = libc::SOL_SOCKET;
        if sys::set_option(&socket, level, libc::SO_SNDBUFFORCE, &SOCKET_BUFFER).is_err() {
            sys::set_option(&socket, level, libc::SO_SNDBUF, &SOCKET_BUFFER).tried(what(), RAW)?;
        }
        if bypass_queueing {
            let option = libc::PACKET_QDISC_BYPASS;
            sys::set_option(&socket, libc::SOL_PACKET, option, &1).tried(what(), RAW)?;
        }
        sys::bind_packet(&socket, link.index, 0).tried(what(), RAW)?;
        Ok(Self {
            socket,
            bytes: Vec::with_capacity(BATCH_BYTES),
            ends: Vec::with_capacity(BATCH),
            sent: 0,
            refused: 0,
        })
    }

    /// Frames sent so far.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Frames that the interface did not take.
    pub(super) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Adds a frame to the batch, and sends the batch when it is full.
    #[inline]
    pub(super) fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
        if self.ends.len() == BATCH || self.bytes.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Sends the batch. A frame that is refused (too long or too short, or an interface that is down
    /// or full) is counted and skipped: a wire loses frames, it does not stop.
    pub(super) fn flush(&mut self) {
        let count = self.ends.len();
        if count == 0 {
            return;
        }
        // SAFETY: both structures are plain numbers and pointers that may be null, for which zeros are
        // valid.
        let (mut parts, mut messages): ([iovec; BATCH], [mmsghdr; BATCH]) = unsafe { zeroed() };
        let mut start = 0;
        for ((part, message), end) in parts.iter_mut().zip(&mut messages).zip(&self.ends) {
            let frame = &self.bytes[start..*end];
            part.iov_base = frame.as_ptr().cast_mut().cast();
            part.iov_len = frame.len();
            message.msg_hdr.msg_iov = ptr::from_mut(part);
            message.msg_hdr.msg_iovlen = 1;
            start = *end;
        }
        let mut done = 0;
        while done < count {
            let rest = &mut messages[done..count];
            // SAFETY: `rest` are that many headers; each points to one part, and each part to bytes of
            // `self.bytes`; all live through the call and the kernel only reads the bytes.
            let result = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as libc::c_uint,
                    libc::MSG_DONTWAIT,
                )
            };
            if let Ok(sent @ 1..) = usize::try_from(result) {
                self.sent += sent as u64;
                done += sent;
            } else if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                self.refused += 1;
                done += 1;
            }
        }
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes a pending error off the socket.
    pub(super) fn settle(&mut self) {
        let _ = sys::take_error(&self.socket);
    }
}

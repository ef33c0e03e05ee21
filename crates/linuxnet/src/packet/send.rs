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
        if bypass_queueing && link.has_default_queueing() {
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

    /// Sends the batch.
    pub(super) fn flush(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let (bytes, ends) = (
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.ends),
        );
        let mut start = 0;
        let frames = ends
            .iter()
            .map(|end| &bytes[std::mem::replace(&mut start, *end)..*end]);
        self.send_all(frames);
        (self.bytes, self.ends) = (bytes, ends);
        self.bytes.clear();
        self.ends.clear();
    }

    /// Sends these frames from where they are, after those of the batch.
    pub(super) fn send_all<'a>(&mut self, frames: impl IntoIterator<Item = &'a [u8]>) {
        self.flush();
        let mut frames = frames.into_iter();
        loop {
            // SAFETY: both structures are plain numbers and pointers that may be null, for which
            // zeros are valid.
            let (mut parts, mut messages): ([iovec; BATCH], [mmsghdr; BATCH]) = unsafe { zeroed() };
            let mut count = 0;
            for ((part, message), frame) in parts.iter_mut().zip(&mut messages).zip(&mut frames) {
                part.iov_base = frame.as_ptr().cast_mut().cast();
                part.iov_len = frame.len();
                message.msg_hdr.msg_iov = ptr::from_mut(part);
                message.msg_hdr.msg_iovlen = 1;
                count += 1;
            }
            if count == 0 {
                return;
            }
            // SAFETY: each of the first `count` headers points to one part in `parts`, which stays
            // in place, and each part to the bytes of a frame; the frames are borrowed for longer
            // than this call.
            unsafe { self.send_messages(&mut messages[..count]) };
        }
    }

    /// Hands messages to the kernel. A frame that is refused (too long or too short, or an
    /// interface that is down or full) is counted and skipped: a wire loses frames, it does not
    /// stop.
    ///
    /// # Safety
    /// Every message must point to parts that point to readable memory, all alive through the call.
    unsafe fn send_messages(&mut self, messages: &mut [mmsghdr]) {
        let mut done = 0;
        while done < messages.len() {
            let rest = &mut messages[done..];
            // SAFETY: `rest` are that many headers; what they point to is alive (the caller), and
            // the kernel only reads the bytes.
            let result = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as libc::c_uint,
                    // The C libraries have different types for it.
                    libc::MSG_DONTWAIT as _,
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
    }

    /// Takes a pending error off the socket.
    pub(super) fn settle(&mut self) {
        let _ = sys::take_error(&self.socket);
    }
}

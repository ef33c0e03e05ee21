//! Datagram sockets as lines: every datagram is a frame. For tests and emulation without rights.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::{Line, LineStats};
use crate::sockets::{self, SocketFile};

/// The largest frame, in bytes.
const LARGEST: usize = 1 << 16;
/// After nothing was there, so many looks are left out: each costs a system call.
const LEAVE_OUT: u32 = 16;

/// A socket that takes and gives datagrams without blocking.
pub(super) trait Socket: AsFd + Send + Sized + 'static {
    /// The same socket for another thread, to give by.
    fn another(&self) -> io::Result<Self>;
    fn take(&self, buffer: &mut [u8]) -> io::Result<usize>;
    fn give(&self, frame: &[u8]) -> io::Result<usize>;
}

/// A UDP socket that talks to one peer.
pub(super) struct Udp(UdpSocket);

impl Udp {
    pub(super) fn open(local: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(local)?;
        socket.connect(peer)?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket for Udp {
    fn another(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    fn take(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer)
    }

    fn give(&self, frame: &[u8]) -> io::Result<usize> {
        self.0.send(frame)
    }
}

/// A Unix datagram socket; its file goes with it.
pub(super) struct Unix {
    socket: UnixDatagram,
    peer: PathBuf,
    _file: Option<SocketFile>,
}

impl Unix {
    pub(super) fn open(local: &Path, peer: &Path) -> io::Result<Self> {
        let connect = |path: &Path| UnixDatagram::unbound()?.connect(path);
        let (socket, file) = sockets::bind(local, |path| UnixDatagram::bind(path), connect)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            peer: peer.to_owned(),
            _file: Some(file),
        })
    }
}

impl AsFd for Unix {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Socket for Unix {
    fn another(&self) -> io::Result<Self> {
        Ok(Self {
            socket: self.socket.try_clone()?,
            peer: self.peer.clone(),
            _file: None,
        })
    }

    fn take(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.recv(buffer)
    }

    fn give(&self, frame: &[u8]) -> io::Result<usize> {
        self.socket.send_to(frame, &self.peer)
    }
}

/// A datagram socket as a line. One thread takes what comes: others only give.
pub(super) struct Datagrams<S> {
    socket: S,
    takes: bool,
    buffer: Vec<u8>,
    leave_out: u32,
    stats: LineStats,
}

impl<S: Socket> Datagrams<S> {
    /// Lines for so many threads.
    pub(super) fn shared(socket: S, threads: usize) -> io::Result<Vec<Box<dyn Line>>> {
        let others = (1..threads).map(|_| socket.another());
        let others: Vec<S> = others.collect::<io::Result<_>>()?;
        let lines = std::iter::once((socket, true)).chain(others.into_iter().map(|s| (s, false)));
        let lines = lines.map(|(socket, takes)| Box::new(Self::new(socket, takes)) as _);
        Ok(lines.collect())
    }

    fn new(socket: S, takes: bool) -> Self {
        Self {
            socket,
            takes,
            buffer: vec![0; if takes { LARGEST } else { 0 }],
            leave_out: 0,
            stats: LineStats::default(),
        }
    }
}

impl<S: Socket> Line for Datagrams<S> {
    fn receive(&mut self, limit: usize, each: &mut dyn FnMut(&[u8])) -> usize {
        if !self.takes {
            return 0;
        }
        if self.leave_out > 0 {
            self.leave_out -= 1;
            return 0;
        }
        for taken in 0..limit {
            match self.socket.take(&mut self.buffer) {
                Ok(length) => {
                    self.stats.received += 1;
                    each(&self.buffer[..length]);
                }
                Err(e) => {
                    // Any other error is that of an earlier send to a peer that is not there.
                    if e.kind() == io::ErrorKind::WouldBlock && taken == 0 {
                        self.leave_out = LEAVE_OUT;
                    }
                    return taken;
                }
            }
        }
        limit
    }

    fn send_all(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) {
        for frame in frames {
            match self.socket.give(frame) {
                Ok(_) => self.stats.sent += 1,
                Err(_) => self.stats.send_refused += 1,
            }
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.takes.then(|| self.socket.as_fd())
    }

    fn woken(&mut self) {
        self.leave_out = 0;
    }

    fn stats(&mut self) -> LineStats {
        self.stats
    }
}

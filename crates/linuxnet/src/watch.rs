//! Link state: told by the kernel the moment it changes.
//!
//! A thread waits for rtnetlink's link messages and calls back. Nothing polls: from the kernel's
//! message to the callback it takes one wake-up of a thread, which goes before all ordinary threads
//! where the system lets it (`SCHED_FIFO`), and reads the few bytes that matter where they are.
//! When messages were lost (the kernel says so), all links are read anew, so that no change is ever
//! missed.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netlink_sys::Socket;
use nix::sys::socket::{MsgFlags, recv};

use crate::error::{ADMIN, NetError, Tried};
use crate::poller::{Poller, Wake};
use crate::rtnl::{Link, Rtnl, connect};

/// The old-style bit of the group `RTNLGRP_LINK`.
const LINK_GROUP: u32 = libc::RTMGRP_LINK as u32;
/// Room for the kernel's messages while this thread does not run, in bytes.
const BUFFER: usize = 1 << 20;
/// Room for one message: what counts is at its beginning.
const MESSAGE: usize = 4096;

/// A link as a message about it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The kernel's number of it in this namespace.
    pub index: u32,
    /// Its name in this namespace.
    pub name: String,
    /// Whether frames can pass: see [`Link::up`].
    pub up: bool,
}

impl From<Link> for LinkState {
    fn from(link: Link) -> Self {
        let Link {
            index, name, up, ..
        } = link;
        Self { index, name, up }
    }
}

/// What happened to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is there, in this state; perhaps the same as before.
    State(LinkState),
    /// It is gone: removed, or moved to another namespace.
    Gone {
        /// The number it had.
        index: u32,
        /// The name it had.
        name: String,
    },
}

/// Watches the links of the namespace in which it was started, until it is dropped.
#[derive(Debug)]
pub struct LinkWatch {
    stop: Arc<AtomicBool>,
    wake: Wake,
    thread: Option<JoinHandle<()>>,
}

/// The kernel's messages about links, for who looks for them himself. [`LinkWatch`] waits for them
/// instead.
pub struct LinkMessages {
    socket: Socket,
    buffer: Box<[u8; MESSAGE]>,
}

impl LinkMessages {
    /// Those of the caller's network namespace, from now on.
    ///
    /// # Errors
    /// No more descriptors.
    pub fn open() -> Result<Self, NetError> {
        let socket = connect(LINK_GROUP)?;
        let _ = socket.set_rx_buf_sz(BUFFER);
        socket
            .set_non_blocking(true)
            .tried("watching links", ADMIN)?;
        Ok(Self {
            socket,
            buffer: Box::new([0; MESSAGE]),
        })
    }

    /// Reads one that waits, if there is one.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none; `ENOBUFS` if some were lost.
    pub fn receive(&mut self, told: &mut impl FnMut(LinkEvent)) -> io::Result<()> {
        let length = recv(
            self.socket.as_raw_fd(),
            &mut *self.buffer,
            MsgFlags::empty(),
        )?;
        read_events(&self.buffer[..length], told);
        Ok(())
    }
}

/// What the watching thread works with.
struct Listener<F> {
    messages: LinkMessages,
    poller: Poller,
    rtnl: Rtnl,
    told: F,
}

impl LinkWatch {
    /// Starts to watch. `told` first hears of every link there is, and then of every change.
    ///
    /// # Errors
    /// No more descriptors or threads.
    pub fn start(told: impl FnMut(LinkEvent) + Send + 'static) -> Result<Self, NetError> {
        let messages = LinkMessages::open()?;
        let poller = Poller::new()?;
        poller.add(&Descriptor(&messages.socket))?;
        let wake = poller.wake();
        let mut listener = Listener {
            messages,
            poller,
            rtnl: Rtnl::open()?,
            told,
        };
        // Listening began first, so nothing is missed between the list and the changes.
        listener.tell_all()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("links".to_owned())
            .spawn(move || listener.listen(&stopped))
            .tried("starting a thread", ADMIN)?;
        Ok(Self {
            stop,
            wake,
            thread: Some(thread),
        })
    }
}

impl Drop for LinkWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.wake.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<F: FnMut(LinkEvent)> Listener<F> {
    fn tell_all(&mut self) -> Result<(), NetError> {
        for link in self.rtnl.links()? {
            (self.told)(LinkEvent::State(link.into()));
        }
        Ok(())
    }

    fn listen(mut self, stop: &AtomicBool) {
        // Where the system refuses, news is as late as the other threads make it.
        if let Err(error) = crate::sys::run_before_others() {
            tracing::debug!(%error, "links are watched at ordinary priority");
        }
        while !stop.load(Ordering::Acquire) {
            let heard = match self.messages.receive(&mut self.told) {
                Ok(()) => Ok(()),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.poller.wait(None).map(|_| ())
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
                // Messages were lost: look at everything.
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => self.tell_all(),
                Err(e) => Err(NetError::system("watching links", ADMIN, e)),
            };
            if let Err(error) = heard {
                tracing::warn!(%error, "the state of the links may be out of date");
                if self.poller.wait(Some(PAUSE)).is_err() {
                    return;
                }
            }
        }
    }
}

/// Reads the messages of a datagram as far as they are there: a header, what every link has,
/// attributes.
fn read_events(mut datagram: &[u8], told: &mut impl FnMut(LinkEvent)) {
    while let Some((length, kind)) = u32_at(datagram, 0).zip(u16_at(datagram, 4)) {
        let length = length as usize;
        let message = datagram.get(..length).unwrap_or(datagram);
        if let Some(event) = read_event(kind, message.get(HEADER..).unwrap_or_default()) {
            told(event);
        }
        // Messages are aligned to 4 bytes.
        let next = length.max(HEADER).next_multiple_of(4);
        datagram = datagram.get(next..).unwrap_or_default();
    }
}

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Bytes of `struct ifinfomsg`.
const INFO: usize = 16;
/// The attribute with the interface's name (`IFLA_IFNAME`).
const NAME: u16 = 3;

/// Reads `struct ifinfomsg` and the name among the attributes behind it.
fn read_event(kind: u16, body: &[u8]) -> Option<LinkEvent> {
    // A carrier alone is not enough: until the kernel has noted it, what is sent is dropped.
    const UP: u32 = (libc::IFF_UP | libc::IFF_LOWER_UP | libc::IFF_RUNNING) as u32;
    let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
    let name = name_of(body.get(INFO..)?)?;
    let up = flags & UP == UP;
    match kind {
        libc::RTM_NEWLINK => Some(LinkEvent::State(LinkState { index, name, up })),
        libc::RTM_DELLINK => Some(LinkEvent::Gone { index, name }),
        _ => None,
    }
}

/// The interface's name among attributes: each has its length and its kind before it.
fn name_of(mut attributes: &[u8]) -> Option<String> {
    loop {
        let (length, kind) = u16_at(attributes, 0).zip(u16_at(attributes, 2))?;
        let length = usize::from(length).max(4);
        if kind == NAME {
            let bytes = attributes.get(4..length)?;
            let name = bytes.split(|byte| *byte == 0).next()?;
            return Some(String::from_utf8_lossy(name).into_owned());
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    bytes.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

/// How long to wait after an error before listening again.
const PAUSE: Duration = Duration::from_millis(100);

/// The socket as something to wait for.
struct Descriptor<'a>(&'a Socket);

impl AsFd for Descriptor<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        crate::sys::borrow(self.0)
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::NetlinkMessage;
    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

    use super::*;

    fn datagram(gone: bool, name: &str, flags: LinkFlags) -> Vec<u8> {
        let mut link = LinkMessage::default();
        link.header.index = 7;
        link.header.flags = flags;
        link.attributes.push(LinkAttribute::Mtu(1500));
        link.attributes.push(LinkAttribute::IfName(name.to_owned()));
        link.attributes.push(LinkAttribute::TxQueueLen(1000));
        let message = if gone {
            RouteNetlinkMessage::DelLink(link)
        } else {
            RouteNetlinkMessage::NewLink(link)
        };
        let mut message = NetlinkMessage::from(message);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    #[test]
    fn messages_are_read_as_another_writes_them() {
        let up = LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running;
        let mut bytes = datagram(false, "veth12", up);
        bytes.extend(datagram(false, "p1", LinkFlags::Up));
        bytes.extend(datagram(true, "p1", LinkFlags::empty()));
        let state = |name: &str, up| {
            LinkEvent::State(LinkState {
                index: 7,
                name: name.to_owned(),
                up,
            })
        };
        let gone = LinkEvent::Gone {
            index: 7,
            name: "p1".to_owned(),
        };
        let mut events = Vec::new();
        read_events(&bytes, &mut |event| events.push(event));
        assert_eq!(events, [state("veth12", true), state("p1", false), gone]);
        // Whatever is cut off or strange is passed over.
        for cut in 0..bytes.len() {
            read_events(&bytes[..cut], &mut |_| {});
            let mut strange = bytes.clone();
            strange[cut] ^= 0xff;
            read_events(&strange, &mut |_| {});
        }
    }
}

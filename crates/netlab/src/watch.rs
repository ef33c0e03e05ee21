//! Link state: told by the kernel the moment it changes.
//!
//! A thread waits for rtnetlink's link messages and calls back. Nothing polls: from the kernel's
//! message to the callback it takes one wake-up of a thread, tens of microseconds. When messages
//! were lost (the kernel says so), all links are read anew, so that no change is ever missed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::Socket;

use crate::error::{ADMIN, NetError, Tried};
use crate::poller::{Poller, Wake};
use crate::rtnl::{Link, Rtnl, connect, messages};

/// The old-style bit of the group `RTNLGRP_LINK`.
const LINK_GROUP: u32 = libc::RTMGRP_LINK as u32;
/// Room for the kernel's messages while this thread does not run, in bytes.
const BUFFER: usize = 1 << 20;

/// What happened to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is there, in this state; perhaps the same as before.
    State(Link),
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

/// What the watching thread works with.
struct Listener<F> {
    socket: Socket,
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
        let socket = connect(LINK_GROUP)?;
        let _ = socket.set_rx_buf_sz(BUFFER);
        socket
            .set_non_blocking(true)
            .tried("watching links", ADMIN)?;
        let poller = Poller::new()?;
        poller.add(&Descriptor(&socket))?;
        let wake = poller.wake();
        let mut listener = Listener {
            socket,
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
            (self.told)(LinkEvent::State(link));
        }
        Ok(())
    }

    fn listen(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let heard = match self.socket.recv_from_full() {
                Ok((datagram, _)) => self.hear(&datagram),
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

    fn hear(&mut self, datagram: &[u8]) -> Result<(), NetError> {
        for message in messages(datagram, "watching links")? {
            match message.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                    (self.told)(LinkEvent::State(Link::read(&link)));
                }
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelLink(link)) => {
                    let Link { index, name, .. } = Link::read(&link);
                    (self.told)(LinkEvent::Gone { index, name });
                }
                _ => {}
            }
        }
        Ok(())
    }
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

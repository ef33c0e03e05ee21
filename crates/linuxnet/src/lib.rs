//! Network namespaces, veth pairs, raw sockets and link state on Linux.
//!
//! Everything here talks to the kernel and nothing here knows what a switch is. There is no
//! asynchronous runtime: the calls block, the sockets of the packet path do not, and
//! [`Poller`] waits on many of them.
//!
//! - [`Namespace`] and [`veth`]: networks for tests, emulation and benchmarks. A namespace lives as
//!   long as its handle (and the processes in it), so a crash leaves nothing behind; what has a
//!   name in the file system is written down with the process that made it, and [`sweep`] removes
//!   what dead processes left.
//! - [`rtnl`]: links, addresses, routes and neighbours by rtnetlink; [`LinkWatch`] tells at once
//!   when a link comes up or goes down.
//! - [`PacketSocket`]: one interface as a stream of Ethernet frames: a mapped receive ring or
//!   AF_XDP, batched sending, tags and checksums made whole again (see [`packet`](mod@packet) for
//!   the reasons).
//!
//! - [`FreePorts`]: ports for programs that cannot say where they listen.
//! - [`Process`]: a child that ends with its parent, whatever ends that.
//! - [`give_up_rights`]: what a process needs no more once its interfaces are open.
//! - [`CarrierLosses`] and [`run_before_others`]: to see, or be, who is first.
//! - [`load`]: a load generator and the bare forwarder, for benchmarks.
//!
//! `unsafe` stands in [`sys`], which wraps system calls, and in `packet/ring.rs`, `packet/send.rs`
//! and `packet/xdp/`, which share memory with
//! the kernel.

mod carrier;
mod error;
mod free;
pub mod load;
mod namespace;
mod own;
pub mod packet;
mod poller;
mod privilege;
mod process;
pub mod rtnl;
mod sys;
pub mod veth;
mod watch;

pub use carrier::CarrierLosses;
pub use error::NetError;
pub use free::FreePorts;
pub use namespace::Namespace;
pub use own::sweep;
pub use packet::{Driver, PacketOptions, PacketSocket, PacketStats, xdp_available};
pub use poller::{Poller, Wake};
pub use privilege::give_up_rights;
pub use process::Process;
pub use rtnl::{Link, LinkStats};
pub use sys::{Offload, run_before_others, set_offload};
pub use veth::Veth;
pub use watch::{LinkEvent, LinkMessages, LinkState, LinkWatch};

/// Whether this process may make namespaces, links and raw sockets here; otherwise why not.
///
/// # Errors
/// What was not permitted, and what would permit it.
pub fn permitted() -> Result<(), NetError> {
    let namespace = Namespace::new()?;
    namespace.run(|| {
        let pair = Veth::new(veth::End::here("probe0"), veth::End::here("probe1"))?;
        let socket = PacketSocket::open("probe0", &PacketOptions::default())?;
        drop(socket);
        drop(pair);
        Ok(())
    })?
}

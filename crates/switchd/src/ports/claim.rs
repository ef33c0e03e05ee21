//! One switch an interface: two that served the same one would each forward what comes in.
//!
//! A claim is an abstract Unix socket with the interface's number in its name. Such names are those of a network namespace, as the numbers
//! are, hold across containers that share one, and vanish with the process, however it ends.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use netlab::rtnl::Rtnl;
use quantities::PortId;

use super::PortError;

/// An interface that no other switch may serve for as long as this lives.
#[derive(Debug)]
pub(super) struct Claim {
    _socket: UnixDatagram,
}

impl Claim {
    /// Claims an interface of the caller's network namespace.
    ///
    /// # Errors
    /// [`PortError::Busy`] if a switch has it; an interface that is not there.
    pub(super) fn new(port: PortId, interface: &str) -> Result<Self, PortError> {
        let link = Rtnl::open().and_then(|mut rtnl| rtnl.link(interface));
        let link = link.map_err(|source| PortError::Net { port, source })?;
        let name = format!("switchwright/interface/{}", link.index);
        let socket =
            SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
        match socket {
            Ok(socket) => Ok(Self { _socket: socket }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(PortError::Busy {
                port,
                interface: interface.to_owned(),
            }),
            Err(source) => Err(PortError::Socket {
                port,
                what: format!("claiming the interface {interface}"),
                source,
            }),
        }
    }
}

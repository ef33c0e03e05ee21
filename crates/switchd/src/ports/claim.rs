//! One switch an interface: two that served the same one would each forward what comes in.
//!
//! A claim is an abstract Unix socket with the interface's number in its name. Such names are those
//! of a network namespace, as the numbers are, hold across containers that share one, and vanish
//! with the process, however it ends.

use std::collections::BTreeMap;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use linuxnet::rtnl::Rtnl;
use quantities::PortId;

use super::PortError;

/// An interface that no other switch may serve for as long as this lives.
#[derive(Debug)]
pub(super) struct Claim {
    index: u32,
    _socket: UnixDatagram,
}

/// The interfaces that nobody else may serve, by port. They are given back as soon as a port is
/// removed, though its socket may still be open for an instant: the data-plane thread closes it.
pub(super) type Claims = BTreeMap<PortId, Claim>;

impl Claim {
    /// Claims an interface of the caller's network namespace, beside what this switch has claimed
    /// already. An interface may have several names (`altname`) and has one number.
    ///
    /// # Errors
    /// [`PortError::Shared`] if another port has it, [`PortError::Busy`] if another switch has; an
    /// interface that is not there.
    pub(super) fn new(port: PortId, interface: &str, claims: &Claims) -> Result<Self, PortError> {
        let link = Rtnl::open().and_then(|mut rtnl| rtnl.link(interface));
        let link = link.map_err(|source| PortError::Net { port, source })?;
        let name = format!("switchwright/interface/{}", link.index);
        let socket =
            SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
        match socket {
            Ok(socket) => Ok(Self {
                index: link.index,
                _socket: socket,
            }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let interface = interface.to_owned();
                let own = claims.iter().find(|(_, claim)| claim.index == link.index);
                Err(match own {
                    Some((&other, _)) => PortError::Shared {
                        port,
                        interface,
                        other,
                    },
                    None => PortError::Busy { port, interface },
                })
            }
            Err(source) => Err(PortError::Socket {
                port,
                what: format!("claiming the interface {interface}"),
                source,
            }),
        }
    }
}

//! Ports for programs that cannot say which one the system gave them.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

/// Port numbers on loopback that nothing uses, each of them once.
///
/// A number is free when it is handed out and held by nobody from then on: another process may take
/// it before the program that it is for does. What can bind port 0 and say where it listens does
/// that instead; this is for programs that cannot. Numbers of one value of this type never repeat.
#[derive(Clone, Debug, Default)]
pub struct FreePorts {
    given: BTreeSet<u16>,
}

impl FreePorts {
    /// None given yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            given: BTreeSet::new(),
        }
    }

    /// A TCP port.
    ///
    /// # Errors
    /// There is none.
    pub fn tcp(&mut self) -> io::Result<u16> {
        self.next(|any| TcpListener::bind(any)?.local_addr())
    }

    /// A UDP port.
    ///
    /// # Errors
    /// There is none.
    pub fn udp(&mut self) -> io::Result<u16> {
        self.next(|any| UdpSocket::bind(any)?.local_addr())
    }

    fn next(&mut self, bind: impl Fn(SocketAddr) -> io::Result<SocketAddr>) -> io::Result<u16> {
        for _ in 0..=self.given.len() + TRIES {
            let port = bind((Ipv4Addr::LOCALHOST, 0).into())?.port();
            if self.given.insert(port) {
                return Ok(port);
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }
}

/// How often the system may name a port that was given before, besides once for each.
const TRIES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let mut ports = FreePorts::default();
        // The system gives a port again as soon as it is closed: here at once, every other time.
        let mut numbers = [7, 7, 9, 9, 7, 11].into_iter();
        let numbers = std::cell::RefCell::new(&mut numbers);
        let bind = |any: SocketAddr| {
            let port = numbers.borrow_mut().next().unwrap_or(13);
            Ok(SocketAddr::new(any.ip(), port))
        };
        let given: Vec<u16> = (0..4).map(|_| ports.next(bind).unwrap()).collect();
        assert_eq!(given, [7, 9, 11, 13]);
        let real = (ports.tcp().unwrap(), ports.udp().unwrap());
        assert_ne!(real.0, real.1);
    }
}

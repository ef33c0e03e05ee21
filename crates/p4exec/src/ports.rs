//! Which ports are down.

use quantities::PortId;

/// A set of ports, asked once per packet and changed rarely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSet {
    /// One bit per port that is down.
    down: Vec<u64>,
    count: usize,
}

impl PortSet {
    /// Whether a port is up. Ports are up until they are said to be down.
    #[must_use]
    pub fn is_up(&self, port: PortId) -> bool {
        let port = usize::from(port.get());
        let word = self.down.get(port / 64).copied().unwrap_or(0);
        word >> (port % 64) & 1 == 0
    }

    /// Whether all ports are up.
    #[must_use]
    pub const fn all_up(&self) -> bool {
        self.count == 0
    }

    /// Says that a port went up or down; whether that is news.
    pub fn set_up(&mut self, port: PortId, up: bool) -> bool {
        if self.is_up(port) == up {
            return false;
        }
        let port = usize::from(port.get());
        if self.down.len() <= port / 64 {
            self.down.resize(port / 64 + 1, 0);
        }
        self.down[port / 64] ^= 1 << (port % 64);
        if up {
            self.count -= 1;
        } else {
            self.count += 1;
        }
        true
    }

    /// The ports that are down, in rising order.
    pub fn down(&self) -> impl Iterator<Item = PortId> + '_ {
        let ports = 0..self.down.len() * 64;
        ports
            .filter(|port| self.down[port / 64] >> (port % 64) & 1 == 1)
            .filter_map(|port| u16::try_from(port).ok().map(PortId::new))
    }
}

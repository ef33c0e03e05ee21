//! BCube: a server-centric network in which servers forward (BCube09).

use super::{Cables, Check, GenerateError, Network};
use crate::{Role, Switch, SwitchId, Topology};

/// BCube(n, k): n^(k+1) servers of k + 1 fabric ports, and k + 1 levels of n^k switches of n ports.
/// A switch of level l joins the n servers that differ in digit l of their addresses in base n.
///
/// A server forwards, so it is a switch of [`Role::Server`] with one host: port 1 is the host's,
/// port l + 2 leads to level l. Servers are named by their digits (`v10`), switches by level and
/// digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bcube {
    /// Ports per switch.
    pub n: u16,
    /// The k of BCube(n, k): there are k + 1 levels of switches.
    pub k: u16,
    /// Rates and lengths.
    pub cables: Cables,
}

impl Bcube {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range or there would be too many servers.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("bcube");
        check.range("n", self.n, 2, 1024)?;
        check.range("k", self.k, 0, 20)?;
        let n = u64::from(self.n);
        check.nodes("servers", n.checked_pow(u32::from(self.k) + 1))?;
        let levels = usize::from(self.k) + 1;
        let n = usize::from(self.n);

        let name = format!("bcube-{}-{}", self.n, self.k);
        let mut net = Network::new("bcube", name, self.cables);
        let servers: Vec<SwitchId> = (0..n.pow(u32::from(self.k) + 1))
            .map(|address| {
                let name = format!("v{}", digits(address, n, levels));
                let server = net.builder.switch(Switch {
                    role: Role::Server,
                    ..Switch::new(name, self.k + 2)
                });
                net.host(server, 1);
                server
            })
            .collect();
        for level in 0..=self.k {
            let weight = n.pow(u32::from(level));
            for line in 0..n.pow(u32::from(self.k)) {
                let rest = digits(line, n, levels - 1);
                let separator = if rest.is_empty() { "" } else { "." };
                let switch = Switch::new(format!("w{level}{separator}{rest}"), self.n);
                let switch = net.builder.switch(switch);
                // The address of the line's first server: `line` with a zero put in at `level`.
                let first = line / weight * weight * n + line % weight;
                for member in 0..self.n {
                    let server = servers[first + usize::from(member) * weight];
                    net.join((server, level + 2), (switch, member + 1));
                }
            }
        }
        net.finish()
    }
}

/// A number in base n, highest digit first; digits beyond 9 are set apart by dots.
fn digits(number: usize, n: usize, count: usize) -> String {
    let digit =
        |position: usize| (number / n.pow(u32::try_from(position).unwrap_or(0)) % n).to_string();
    let digits: Vec<_> = (0..count).rev().map(digit).collect();
    digits.join(if n > 10 { "." } else { "" })
}

//! Switches of ours in processes of their own, on loopback: controllers fill them over P4Runtime,
//! and packets go through them by UDP.
//!
//! Every port of every switch is a UDP socket whose other end is here. Cables between switches are
//! here too, so that what crosses one is seen: a packet's way through the network can be told.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use files::Scratch;
use linuxnet::{FreePorts, Process};

use crate::program::hex;

/// How long a switch may take to start.
const TIMEOUT: Duration = Duration::from_secs(8);
/// How long is listened for packets that nobody expects.
const SILENCE: Duration = Duration::from_millis(100);
/// How often something is looked after.
pub(crate) const TICK: Duration = Duration::from_millis(10);
/// How often sockets are looked at while a packet is waited for.
const GLANCE: Duration = Duration::from_millis(1);
/// Cables on a packet's way that are told; more are a circle.
const MAX_WAY: usize = 16;

/// The programs that a judge starts.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The command `switchwright`.
    pub switchwright: PathBuf,
    /// A Python that has grpcio and the package `p4runtime`.
    pub python: PathBuf,
}

/// What a step comes to: the error is for the student or the user.
pub(crate) type Step<T> = Result<T, String>;

pub(crate) fn text(error: &std::io::Error) -> String {
    error.to_string()
}

/// A port of a switch: the switch's place in the layout, and the number of the port.
pub(crate) type Port = (usize, u16);

/// A switch of a layout.
pub(crate) struct Place {
    /// Its name.
    pub(crate) name: String,
    /// Its device id.
    pub(crate) device_id: u64,
    /// Where it serves P4Runtime; any free port of loopback where nobody asks.
    pub(crate) address: Option<SocketAddr>,
    /// Its ports.
    pub(crate) ports: Vec<u16>,
}

/// A network of switches.
pub(crate) struct Layout {
    /// Its switches.
    pub(crate) switches: Vec<Place>,
    /// Ports that are plugged into each other.
    pub(crate) cables: Vec<[Port; 2]>,
    /// Ports that cases send to and expect from, by the number that cases give them.
    pub(crate) outside: BTreeMap<u16, Port>,
}

struct Node {
    name: String,
    device_id: u64,
    address: SocketAddr,
    /// The file in which it says where it listens.
    said: PathBuf,
    /// Our socket and the switch's address, by port.
    ports: BTreeMap<u16, (UdpSocket, SocketAddr)>,
    process: Process,
}

/// Running switches and the other ends of their ports.
pub(crate) struct TestBed {
    switchwright: PathBuf,
    /// Where switches say where they listen.
    _said: Scratch,
    nodes: Vec<Node>,
    cables: BTreeMap<Port, Port>,
    outside: BTreeMap<u16, Port>,
    /// What came out of ports that lead outside, by their numbers, and was not received yet.
    arrived: BTreeMap<u16, VecDeque<Vec<u8>>>,
    /// Cables that packets crossed since the last one was sent in.
    way: Vec<String>,
}

/// The address in what a switch says as JSON when it is ready, once that is there.
fn said_address(said: &Path) -> Option<SocketAddr> {
    let said = std::fs::read_to_string(said).ok()?;
    let (line, _) = said.split_once('\n')?;
    let ready: serde_json::Value = serde_json::from_str(line).ok()?;
    ready["address"].as_str()?.parse().ok()
}

/// The address that a switch is to serve P4Runtime at, if it can be had.
fn wanted_address(place: &Place, address: SocketAddr) -> Step<SocketAddr> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(address),
        Err(error) => Err(format!(
            "`{}` has to serve P4Runtime at {address}, where the controller looks for it, and cannot: {error}; end what listens there (`ss -ltnp` names it) and try again",
            place.name
        )),
    }
}

impl Node {
    /// Starts a switch that says into a file of `folder` where it listens; `free` are ports for all
    /// switches of a network.
    fn start(
        switchwright: &PathBuf,
        place: &Place,
        folder: &Path,
        free: &mut FreePorts,
    ) -> Step<Self> {
        let mut ports = BTreeMap::new();
        for &number in &place.ports {
            let ours = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| text(&e))?;
            ours.set_nonblocking(true).map_err(|e| text(&e))?;
            let theirs = free.udp().map_err(|e| text(&e))?;
            ports.insert(number, (ours, (Ipv4Addr::LOCALHOST, theirs).into()));
        }
        let address = match place.address {
            Some(address) => wanted_address(place, address)?,
            None => (Ipv4Addr::LOCALHOST, 0).into(),
        };
        let said = folder.join(format!("{}.json", place.device_id));
        let mut command = Command::new(switchwright);
        command.args(["--json", "switch", "--no-p4", "--device-id"]);
        command.arg(place.device_id.to_string());
        command.args(["--grpc-server-addr", &address.to_string()]);
        for (number, (ours, theirs)) in &ports {
            let ours = ours.local_addr().map_err(|e| text(&e))?;
            command.args(["-i", &format!("{number}=udp:{theirs}->{ours}")]);
        }
        command
            .stdin(Stdio::null())
            .stdout(File::create(&said).map_err(|e| text(&e))?)
            .stderr(Stdio::null());
        let process = Process::start(command).map_err(|e| text(&e))?;
        Ok(Self {
            name: place.name.clone(),
            device_id: place.device_id,
            address,
            said,
            ports,
            process,
        })
    }

    /// Waits until the switch serves P4Runtime.
    fn ready(&mut self, end: Instant) -> Step<()> {
        while !self.listens() {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(format!("switch `{}` did not start: {status}", self.name));
            }
            if Instant::now() > end {
                return Err(format!("switch `{}` did not start in time", self.name));
            }
            std::thread::sleep(TICK);
        }
        Ok(())
    }
}

impl Node {
    /// Whether the switch listens, where it said that it does.
    fn listens(&mut self) -> bool {
        let Some(address) = said_address(&self.said) else {
            return false;
        };
        self.address = address;
        TcpStream::connect_timeout(&address, TICK).is_ok()
    }
}

impl TestBed {
    /// Starts all switches of a layout.
    pub(crate) fn start(tools: &Tools, layout: &Layout) -> Step<Self> {
        let said = Scratch::new().map_err(|e| text(&e))?;
        let mut free = FreePorts::default();
        let nodes = layout.switches.iter();
        let nodes =
            nodes.map(|place| Node::start(&tools.switchwright, place, said.path(), &mut free));
        let mut bench = Self {
            switchwright: tools.switchwright.clone(),
            nodes: nodes.collect::<Step<_>>()?,
            _said: said,
            cables: BTreeMap::new(),
            outside: layout.outside.clone(),
            arrived: BTreeMap::new(),
            way: Vec::new(),
        };
        for &[a, b] in &layout.cables {
            bench.cables.extend([(a, b), (b, a)]);
        }
        let end = Instant::now() + TIMEOUT;
        for node in &mut bench.nodes {
            node.ready(end)?;
        }
        Ok(bench)
    }

    /// Where the first switch serves P4Runtime.
    pub(crate) fn address(&self) -> Step<SocketAddr> {
        let first = self.nodes.first();
        let address = first.map(|node| node.address);
        address.ok_or_else(|| "there is no switch".to_owned())
    }

    /// The numbers of the ports that lead outside.
    pub(crate) fn outside(&self) -> Vec<u16> {
        self.outside.keys().copied().collect()
    }

    /// How a port is called: `s1 port 2`, or `port 2` where there is one switch.
    fn called(&self, (node, port): Port) -> String {
        match self.nodes.as_slice() {
            [_] => format!("port {port}"),
            nodes => {
                let name = nodes.get(node).map_or("?", |n| n.name.as_str());
                format!("{name} port {port}")
            }
        }
    }

    fn end(&self, port: u16) -> Step<Port> {
        let end = self.outside.get(&port).copied();
        end.ok_or_else(|| format!("there is no port {port} that leads outside"))
    }

    fn push(&self, (node, port): Port, bytes: &[u8]) -> Step<()> {
        let ends = self.nodes.get(node).and_then(|node| node.ports.get(&port));
        let (ours, theirs) = ends.ok_or_else(|| format!("the switch has no port {port}"))?;
        match ours.send_to(bytes, theirs) {
            Ok(_) => Ok(()),
            // A socket without room loses frames, as a cable would under too much of them.
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(e) => Err(text(&e)),
        }
    }

    /// Sends a packet in. Returns how it and the port are called.
    pub(crate) fn send(&mut self, port: u16, bytes: &[u8]) -> Step<String> {
        let end = self.end(port)?;
        self.way.clear();
        self.push(end, bytes)?;
        Ok(format!("packet in at {}: {}", self.called(end), hex(bytes)))
    }

    /// Takes what came out of ports: along cables it goes on, outside it is kept. Says whether
    /// anything came.
    fn forward(&mut self) -> Step<bool> {
        let mut buffer = vec![0; 1 << 16];
        let mut frames = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            for (&number, (ours, _)) in &node.ports {
                match ours.recv(&mut buffer) {
                    Ok(length) => {
                        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
                        frames.push(((index, number), bytes));
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                    Err(e) => return Err(text(&e)),
                }
            }
        }
        let any = !frames.is_empty();
        for (from, bytes) in frames {
            let number = self.outside.iter().find(|(_, end)| **end == from);
            if let Some((&number, _)) = number {
                self.arrived.entry(number).or_default().push_back(bytes);
                continue;
            }
            let Some(&to) = self.cables.get(&from) else {
                continue;
            };
            if self.way.len() < MAX_WAY {
                let (from, to) = (self.called(from), self.called(to));
                self.way
                    .push(format!("  cable    {from} -> {to}: {}", hex(&bytes)));
            } else if self.way.len() == MAX_WAY {
                self.way.push("  cable    and more".to_owned());
            }
            self.push(to, &bytes)?;
        }
        Ok(any)
    }

    /// The next packet out of a port.
    pub(crate) fn receive(&mut self, port: u16, within: Duration) -> Step<Option<Vec<u8>>> {
        self.end(port)?;
        let end = Instant::now() + within;
        loop {
            let any = self.forward()?;
            let found = self.arrived.get_mut(&port).and_then(VecDeque::pop_front);
            if found.is_some() {
                return Ok(found);
            }
            let now = Instant::now();
            // Frames that go in a circle come for ever.
            if now > end + within || (now > end && !any) {
                return Ok(None);
            }
            if !any {
                std::thread::sleep(GLANCE);
            }
        }
    }

    /// What comes out of any port though nobody expects it, after a while of listening.
    pub(crate) fn unexpected(&mut self) -> Step<Vec<(u16, Vec<u8>)>> {
        let mut found = Vec::new();
        let mut patience = SILENCE;
        for port in self.outside() {
            while let Some(bytes) = self.receive(port, patience)? {
                found.push((port, bytes));
                if found.len() == MAX_WAY {
                    return Ok(found);
                }
            }
            // All ports were listened to meanwhile.
            patience = Duration::ZERO;
        }
        Ok(found)
    }

    /// Cables that packets crossed since the last one was sent in, a line each.
    pub(crate) fn way(&self) -> &[String] {
        &self.way
    }

    /// How the port outside is called.
    pub(crate) fn name_of(&self, port: u16) -> String {
        self.end(port)
            .map_or_else(|why| why, |end| self.called(end))
    }

    /// Packets and bytes of a counter's cell. Where there are several switches, the counter's name
    /// begins with that of its switch and a dot.
    pub(crate) fn counter(&self, counter: &str, index: usize) -> Step<[u64; 2]> {
        let named = |node: &&Node| {
            let rest = counter.strip_prefix(&node.name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let (node, name) = match (self.nodes.iter().find(named), self.nodes.as_slice()) {
            (Some(node), _) => (node, counter.get(node.name.len() + 1..).unwrap_or_default()),
            (None, [node]) => (node, counter),
            (None, _) => return Err(format!("`{counter}` does not begin with a switch's name")),
        };
        let mut command = Command::new(&self.switchwright);
        command.args(["cli", &node.address.to_string(), "--device-id"]);
        command.arg(node.device_id.to_string());
        command.args(["-c", &format!("counter_read {name} {index}")]);
        command.stdin(Stdio::null());
        let output = command.output().map_err(|e| text(&e))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(why.trim().to_owned());
        }
        cell(&said).ok_or_else(|| format!("no counter in `{}`", said.trim()))
    }
}

/// Packets and bytes in `name[3]= (50 bytes, 1 packets)`.
fn cell(said: &str) -> Option<[u64; 2]> {
    let (_, cell) = said.rsplit_once('(')?;
    let (bytes, rest) = cell.split_once(" bytes, ")?;
    let (packets, _) = rest.split_once(" packets")?;
    Some([packets.parse().ok()?, bytes.parse().ok()?])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_cell_is_read_as_the_console_writes_it() {
        assert_eq!(cell("c[3]= (50 bytes, 1 packets)\n"), Some([1, 50]));
        assert_eq!(cell("error: there is no counter `c`"), None);
    }

    #[test]
    fn an_address_that_is_taken_is_named_with_its_switch() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = taken.local_addr().unwrap();
        let place = Place {
            name: "s1".to_owned(),
            device_id: 0,
            address: Some(address),
            ports: Vec::new(),
        };
        let said = wanted_address(&place, address).unwrap_err();
        assert!(
            said.contains("`s1`") && said.contains(&address.to_string()),
            "{said}"
        );
    }
}

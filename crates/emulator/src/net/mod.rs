//! A student's own network: any program on every switch of a topology, hosts with addresses, and
//! commands to look at what happens.
//!
//! Hosts have a network namespace each, all switches have one together. A host knows, for good, the
//! hosts of its own subnet and its gateway by their Ethernet addresses: programs need not answer
//! ARP. Everything ends with its handle.

mod entries;
mod hosts;
mod switches;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::SystemTime;

use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{Namespace, NetError, Veth};
use quantities::PortId;
use thiserror::Error;
use topology::{Endpoint, HostId, LinkId, NodeId, Topology};

use switches::Switches;

/// What a network is made of.
#[derive(Clone, Debug)]
pub struct NetOptions {
    /// The program of every switch: P4 source.
    pub program: PathBuf,
    /// Where entries are, by the switch's name.
    pub entries: Option<PathBuf>,
    /// Where switches write what they have to say.
    pub logs: PathBuf,
    /// The command `switchwright`.
    pub executable: PathBuf,
}

/// Why there is no network.
#[derive(Debug, Error)]
pub enum NetLabError {
    /// Namespaces, links, addresses.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A program cannot be started.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A switch ended, or does not listen.
    #[error("switch `{name}` does not run; its last words: {words}")]
    Switch {
        /// The switch.
        name: String,
        /// The end of its log.
        words: String,
    },
    /// A port does not become what its link is.
    #[error("port {port} of switch `{name}` does not come {state}")]
    Port {
        /// The switch.
        name: String,
        /// The port.
        port: PortId,
        /// What it was to be: `up` or `down`.
        state: &'static str,
    },
    /// The program has errors; rendered.
    #[error("{0}")]
    Program(String),
    /// Entries that do not fit the program.
    #[error("{place}: {why}")]
    Entries {
        /// The file.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// A file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The topology has nothing of that name.
    #[error(transparent)]
    Lookup(#[from] topology::LookupError),
}

/// Entries that do not fit the program: the switch runs without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The file.
    pub place: String,
    /// What is wrong, line by line.
    pub why: String,
}

/// Who reached whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Pairs that were tried.
    pub tried: usize,
    /// Pairs without an answer.
    pub lost: usize,
}

/// A running network.
pub struct Net {
    topology: Topology,
    hosts: Vec<Namespace>,
    switches: Switches,
    options: NetOptions,
    read: Option<SystemTime>,
    _links: Vec<Veth>,
}

/// The interface of a link's end.
fn interface(topology: &Topology, end: Endpoint) -> String {
    match end.node {
        NodeId::Switch(switch) => format!("s{}-eth{}", switch.index(), end.port.get()),
        NodeId::Host(host) => match topology.uplinks(host).first() {
            Some((first, _)) if *first == end.port => "eth0".to_owned(),
            _ => format!("eth{}", end.port.get()),
        },
    }
}

impl Net {
    /// Makes the network and starts everything. The calling thread is in the switches' namespace
    /// from then on, and has to outlive the network.
    ///
    /// # Errors
    /// [`NetLabError`]; what was made is gone then.
    pub fn start(topology: Topology, options: NetOptions) -> Result<Self, NetLabError> {
        let compiled = entries::compile(&options.program)?;
        let tables = entries::Entries::find(&topology, &options, &compiled)?;
        Namespace::new()?.enter()?;
        Rtnl::open()?.set_up("lo", true)?;
        let mut hosts = Vec::new();
        for host in topology.hosts() {
            hosts.push(Namespace::labelled(&host.name)?);
        }
        let mut links = Vec::new();
        for link in topology.links() {
            let names = [link.a, link.b].map(|end| interface(&topology, end));
            let end = |i: usize, end: Endpoint| match end.node {
                NodeId::Switch(_) => End::here(&names[i]),
                NodeId::Host(host) => End::inside(&names[i], &hosts[host.index()]),
            };
            links.push(Veth::new(end(0, link.a), end(1, link.b))?);
        }
        for (id, namespace) in topology.host_ids().zip(&hosts) {
            hosts::set_up(&topology, id, namespace)?;
        }
        let switches = Switches::start(&topology, &options)?;
        let net = Self {
            read: modified(&options),
            topology,
            hosts,
            switches,
            options,
            _links: links,
        };
        for id in net.topology.link_ids() {
            net.set_link(id, net.topology.link(id).up)?;
        }
        match net.switches.fill(&tables, &net.options)?.into_iter().next() {
            Some(Unfit { place, why }) => Err(NetLabError::Entries { place, why }),
            None => Ok(net),
        }
    }

    /// The network as it was planned.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Where switches listen, by name.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.switches.addresses()
    }

    /// Lets a link fail, or come back; its switches know when this returns.
    ///
    /// # Errors
    /// [`NetLabError::Net`], [`NetLabError::Port`].
    pub fn set_link(&self, link: LinkId, up: bool) -> Result<(), NetLabError> {
        let link = self.topology.link(link);
        for end in [link.a, link.b] {
            let name = interface(&self.topology, end);
            match end.node {
                NodeId::Switch(_) => Rtnl::open()?.set_up(&name, up)?,
                NodeId::Host(host) => {
                    self.hosts[host.index()].run(|| Rtnl::open()?.set_up(&name, up))??;
                }
            }
        }
        for end in [link.a, link.b] {
            if let NodeId::Switch(switch) = end.node {
                self.switches.await_port(switch, end.port, up)?;
            }
        }
        Ok(())
    }

    /// Whether the program was saved since it was read.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        modified(&self.options) != self.read
    }

    /// Gives all switches the program as it is now, and their entries; what of them does not fit it
    /// any more. If the program has errors, or entries are asked for that its P4Info does not know,
    /// everything runs on as before.
    ///
    /// # Errors
    /// [`NetLabError`].
    pub fn reload(&mut self) -> Result<Vec<Unfit>, NetLabError> {
        self.read = modified(&self.options);
        let compiled = entries::compile(&self.options.program)?;
        let tables = entries::Entries::find(&self.topology, &self.options, &compiled)?;
        self.switches.stop();
        self.switches = Switches::start(&self.topology, &self.options)?;
        self.switches.fill(&tables, &self.options)
    }

    /// Runs a command on a host, on this terminal. Words that are hosts' names stand for their
    /// addresses.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn run_on(&self, host: HostId, words: &[String]) -> Result<ExitStatus, NetLabError> {
        let words: Vec<String> = words.iter().map(|word| self.address_of(word)).collect();
        hosts::run(&self.hosts[host.index()], &words, false)
    }

    fn address_of(&self, word: &str) -> String {
        match self.topology.host_named(word) {
            Ok(host) => self.topology.host(host).ipv4.to_string(),
            Err(_) => word.to_owned(),
        }
    }

    /// One ping from every host to every other; `tell` hears of each, and may end it.
    ///
    /// # Errors
    /// There is no `ping`.
    pub fn ping_all(
        &self,
        tell: &mut dyn FnMut(&str, &str, bool) -> ControlFlow<()>,
    ) -> Result<Reached, NetLabError> {
        let mut reached = Reached::default();
        for from in self.topology.host_ids() {
            for to in self.topology.host_ids().filter(|to| *to != from) {
                let (source, target) = (self.topology.host(from), self.topology.host(to));
                let words = ["ping", "-c", "1", "-W", "1", "-q"].map(str::to_owned);
                let words = [&words[..], &[target.ipv4.to_string()]].concat();
                let status = hosts::run(&self.hosts[from.index()], &words, true)?;
                reached.tried += 1;
                reached.lost += usize::from(!status.success());
                if tell(&source.name, &target.name, status.success()).is_break() {
                    return Ok(reached);
                }
            }
        }
        Ok(reached)
    }
}

/// When the program was saved last.
fn modified(options: &NetOptions) -> Option<SystemTime> {
    std::fs::metadata(&options.program)
        .and_then(|m| m.modified())
        .ok()
}

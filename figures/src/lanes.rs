//! Routings in virtual lanes beside OpenSM's: how many lanes, how fast.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use schemes::TaggerOptions;
use schemes::failover::{LaneRouting, count_lanes, virtual_lanes};
use serde::Serialize;
use topology::generate::{Cables, FatTree, GenerateError, Jellyfish, JellyfishSize};
use topology::{Fabric, NodeId, Topology};

use super::machine::timed;
use super::planning::MeasureError;

/// A network that is routed.
#[derive(Clone, Copy, Debug)]
pub struct LanesCase {
    /// Its name.
    pub name: &'static str,
    network: Network,
}

#[derive(Clone, Copy, Debug)]
enum Network {
    FatTree { k: u16 },
    Jellyfish { switches: u32, fabric_ports: u16 },
}

/// The networks, one host a switch but for the fat-tree.
pub const LANES_CASES: [LanesCase; 4] = [
    LanesCase {
        name: "fat-tree k = 8",
        network: Network::FatTree { k: 8 },
    },
    LanesCase {
        name: "jellyfish 100 x 10",
        network: Network::Jellyfish {
            switches: 100,
            fabric_ports: 10,
        },
    },
    LanesCase {
        name: "jellyfish 500 x 20",
        network: Network::Jellyfish {
            switches: 500,
            fabric_ports: 20,
        },
    },
    LanesCase {
        name: "jellyfish 500 x 40",
        network: Network::Jellyfish {
            switches: 500,
            fabric_ports: 40,
        },
    },
];

/// What a routing does to a network.
#[derive(Clone, Debug, Serialize)]
pub struct LanesFigure {
    /// The network: switches, and links of each.
    pub name: &'static str,
    /// The routing.
    pub routing: &'static str,
    /// Virtual lanes.
    pub lanes: usize,
    /// Lanes that are needed at least.
    pub at_least: usize,
    /// Links of the longest way.
    pub longest: usize,
    /// Pairs of hosts over the link with most.
    pub most_loaded: u64,
    /// Seconds for all ways and their lanes: the best of three runs.
    pub seconds: f64,
    /// Seconds for the plan's tables.
    pub table_seconds: f64,
    /// OpenSM's lanes and seconds for the same network.
    pub open_sm: Option<OpenSm>,
}

/// What OpenSM's log says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OpenSm {
    /// Virtual lanes.
    pub lanes: usize,
    /// Seconds between "virtual lanes available" and "virtual lanes needed": cutting cycles alone.
    pub seconds: f64,
}

impl LanesCase {
    /// Makes the network.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub fn topology(&self) -> Result<Topology, GenerateError> {
        let cables = Cables::default();
        match self.network {
            Network::FatTree { k } => FatTree { k, cables }.generate(),
            Network::Jellyfish {
                switches,
                fabric_ports,
            } => Jellyfish {
                size: JellyfishSize::Switches {
                    switches,
                    fabric_ports,
                },
                ports: fabric_ports + 1,
                seed: 1,
                cables,
            }
            .generate(),
        }
    }

    /// Routes it; where `scratch` is given and OpenSM and ibsim are found, OpenSM's DFSSSP beside.
    ///
    /// # Errors
    /// [`MeasureError`].
    pub fn measure(
        &self,
        routing: LaneRouting,
        scratch: Option<&Path>,
    ) -> Result<LanesFigure, MeasureError> {
        let topology = self.topology()?;
        let (mut counted, mut seconds) = timed(|| count_lanes(&topology, routing));
        for _ in 1..3 {
            let (again, taken) = timed(|| count_lanes(&topology, routing));
            (counted, seconds) = (again, seconds.min(taken));
        }
        let options = TaggerOptions {
            carrier: plan::CarrierKind::Shim,
            ..TaggerOptions::default()
        };
        let (tables, table_seconds) = timed(|| virtual_lanes(&topology, routing, &options));
        tables?;
        let beside = scratch.filter(|_| routing == LaneRouting::Dfsssp);
        Ok(LanesFigure {
            name: self.name,
            routing: routing.name(),
            lanes: counted.lanes,
            at_least: counted.at_least,
            longest: counted.longest,
            most_loaded: counted.most_loaded,
            seconds,
            table_seconds,
            open_sm: match beside {
                Some(scratch) => open_sm(&topology, scratch, OPENSM_LIMIT)?,
                None => None,
            },
        })
    }
}

/// Where Debian keeps the library that leads OpenSM to the simulated network.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";
/// How often OpenSM is started until the simulator is there.
const TRIES: usize = 20;

/// How long OpenSM may take for a network, all starts together: some ten times as long as for the
/// largest of ours.
const OPENSM_LIMIT: Duration = Duration::from_secs(120);
/// How often it is looked whether OpenSM has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs OpenSM's DFSSSP on a network that ibsim simulates; `None` where they are missing or fail.
///
/// # Errors
/// [`MeasureError::Late`] if OpenSM has not ended in time.
fn open_sm(
    topology: &Topology,
    scratch: &Path,
    limit: Duration,
) -> Result<Option<OpenSm>, MeasureError> {
    if !Path::new(LIBRARY).exists() {
        return Ok(None);
    }
    let net = scratch.join("network");
    let Some(host) = topology.hosts().first().map(|host| &host.name) else {
        return Ok(None);
    };
    if fs::write(&net, network_file(topology)).is_err() {
        return Ok(None);
    }
    let Some(_simulator) = Simulator::start(&net, scratch) else {
        return Ok(None);
    };
    let log = scratch.join("opensm.log");
    let end = Instant::now() + limit;
    for _ in 0..TRIES {
        std::thread::sleep(Duration::from_millis(500));
        // OpenSM writes on where a log ends: what an earlier network left is not of this one.
        let _ = fs::remove_file(&log);
        let started = Command::new("opensm")
            .args(["-o", "-R", "dfsssp", "-D", "0x43", "-f"])
            .arg(&log)
            .env("LD_PRELOAD", LIBRARY)
            .env("SIM_HOST", host)
            .env("OSM_TMP_DIR", scratch)
            .env("OSM_CACHE_DIR", scratch)
            .current_dir(scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = started else { return Ok(None) };
        let Some(status) = Ending(child).within(end) else {
            return Err(MeasureError::Late {
                what: "OpenSM",
                seconds: limit.as_secs(),
            });
        };
        let told = || read_log(&fs::read_to_string(&log).ok()?);
        if let Some(found) = status.success().then(told).flatten() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A child process that is ended, by its id, when it goes out of use.
struct Ending(Child);

impl Ending {
    /// How it ended by itself; `None` if it had not by then.
    fn within(mut self, end: Instant) -> Option<ExitStatus> {
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(POLL_INTERVAL),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // Nothing is left to say to it; if it has ended, neither does anything.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running ibsim.
struct Simulator {
    _process: Ending,
}

impl Simulator {
    fn start(net: &Path, scratch: &Path) -> Option<Self> {
        let words: PathBuf = scratch.join("ibsim.out");
        let words = File::create(words).ok()?;
        let child = Command::new("ibsim")
            .args(["-s", "-n", "-N", "60000", "-S", "10000", "-P", "400000"])
            .arg(net)
            .current_dir(scratch)
            .stdin(Stdio::null())
            .stdout(words)
            .stderr(Stdio::null())
            .spawn();
        child.ok().map(|child| Self {
            _process: Ending(child),
        })
    }
}

/// A network as ibsim reads it.
fn network_file(topology: &Topology) -> String {
    let mut text = String::new();
    let fabric = Fabric::new(topology);
    for switch in topology.switch_ids() {
        for attachment in fabric.attachments(switch) {
            let (host, at) = (topology.host(attachment.host), topology.switch(switch));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "Hca 1 \"{}\"\n[1] \"{}\"[{}]\n",
                host.name, at.name, attachment.port
            );
        }
    }
    for id in topology.switch_ids() {
        let switch = topology.switch(id);
        let _ = writeln!(text, "Switch {} \"{}\"", switch.ports, switch.name);
        for (port, peer) in topology.peers(id) {
            let (name, there) = match peer.end.node {
                NodeId::Switch(other) => (&topology.switch(other).name, peer.end.port.get()),
                NodeId::Host(host) => (&topology.host(host).name, 1),
            };
            let _ = writeln!(text, "[{port}] \"{name}\"[{there}]");
        }
        text.push('\n');
    }
    text
}

/// Lanes and seconds from OpenSM's log.
fn read_log(log: &str) -> Option<OpenSm> {
    let line = |words: &str| log.lines().rev().find(|line| line.contains(words));
    let (from, to) = (
        line("Virtual Lanes available")?,
        line("Virtual Lanes needed")?,
    );
    let lanes = to.rsplit(' ').next()?.parse().ok()?;
    let seconds = moment(to)? - moment(from)?;
    // A run over midnight.
    let seconds = if seconds < 0.0 {
        seconds + 86_400.0
    } else {
        seconds
    };
    Some(OpenSm { lanes, seconds })
}

/// The time of day of a line such as `Nov 24 21:52:21 276769 [...`, in seconds.
fn moment(line: &str) -> Option<f64> {
    let mut words = line.split_whitespace().skip(2);
    let mut clock = words
        .next()?
        .split(':')
        .map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    let micros: f64 = words.next()?.parse().ok()?;
    Some(hours * 3600.0 + minutes * 60.0 + seconds + micros / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_opensm_is_read() {
        let log = "Nov 24 21:52:21 276769 [8C5C6C0] 0x02 -> dfsssp_remove_deadlocks: Virtual Lanes available: 8\n\
                   Nov 24 21:52:29 433600 [8C5C6C0] 0x02 -> dfsssp_remove_deadlocks: Virtual Lanes needed: 4\n";
        let found = read_log(log).unwrap();
        assert_eq!(found.lanes, 4);
        assert!((found.seconds - 8.156831).abs() < 1e-6);
        let earlier = log.replace("needed: 4", "needed: 1");
        assert_eq!(
            read_log(&(earlier + log)),
            Some(found),
            "the last run counts"
        );
        assert_eq!(read_log("nothing"), None);
    }

    #[test]
    fn what_does_not_end_in_time_is_ended() {
        let start = |words: &[&str]| Command::new(words[0]).args(&words[1..]).spawn().unwrap();
        let child = start(&["sleep", "600"]);
        let id = child.id();
        assert_eq!(Ending(child).within(Instant::now()), None);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
        let later = Instant::now() + Duration::from_secs(60);
        let ended = Ending(start(&["true"])).within(later);
        assert!(ended.is_some_and(|status| status.success()));
    }

    #[test]
    fn networks_are_written_for_ibsim() {
        let topology = LANES_CASES[1].topology().unwrap();
        let text = network_file(&topology);
        assert!(text.starts_with("Hca 1 \"h1\"\n[1] \"s1\"[1]\n"), "{text}");
        assert!(
            text.contains("Switch 11 \"s1\"\n[1] \"h1\"[1]\n[2] \"s"),
            "{text}"
        );
        assert_eq!(text.matches("Switch ").count(), 100);
    }
}

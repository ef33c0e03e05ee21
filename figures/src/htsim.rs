//! csg-htsim, Broadcom's simulator of packets, beside ours: the same fat-tree, rates and lengths,
//! every host sending to the same other one, packets as long, switches that lose nothing by PFC
//! (`htsim_roce`). It runs no program in its switches; its receivers acknowledge every packet, and
//! its flows are finite.
//!
//! It does not count what passes its switches. All flows are played to their end, so that the
//! number of their packets follows from their bytes, and what passes switches from that and the
//! switches between two hosts of a fat-tree: data on the way there, an acknowledgement for each on
//! the way back. A run in which anything was sent again is not counted.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;
use simulator::simulate::{SimulateError, player::ScenarioPlayer};
use spec::Scenario;
use thiserror::Error;

use super::machine::{thread_time, timed};
use super::simulation::SimulationBench;

/// The variable of the environment that names the program; else it is looked for on PATH.
pub const HTSIM_VARIABLE: &str = "HTSIM_ROCE";
/// Its name there.
const PROGRAM: &str = "htsim_roce";

/// Packets of each flow, and bytes of a packet, without the 64 that it adds.
const PACKETS: u64 = 2_000;
const MTU: u64 = 1_500;
/// So many times what the flows would take by themselves may they take together, in its own time.
const SLACK: u64 = 40;
/// How long a run may take here.
const LIMIT: Duration = Duration::from_secs(120);

/// What a run of csg-htsim came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HtsimFigure {
    /// Data packets that arrived; each was acknowledged.
    pub packets: u64,
    /// How often a packet or acknowledgement passed a switch.
    pub packet_hops: u64,
    /// Processor time without setting up, wall-clock time where that is not known.
    pub seconds: f64,
    /// Packet-hops per second.
    pub hops_per_second: f64,
}

/// Why csg-htsim gives no figure.
#[derive(Debug, Error)]
pub enum HtsimError {
    /// It was named, and is not there or does not start.
    #[error(
        "{} does not start: {error}; let {variable} name csg-htsim's `htsim_roce`, or leave it out with `--no-peer`",
        .program.display(),
        variable = HTSIM_VARIABLE
    )]
    Start {
        /// What was to be started.
        program: OsString,
        /// Why it was not.
        error: io::Error,
    },
    /// The file that says who sends to whom.
    #[error("the connection matrix for htsim_roce: {0}")]
    Matrix(io::Error),
    /// It has not ended in time.
    #[error(
        "htsim_roce had not ended after {} s, and was stopped; leave it out with `--no-peer`",
        LIMIT.as_secs()
    )]
    Late,
    /// Not all has arrived, so that it cannot be counted.
    #[error(
        "htsim_roce ended {ended} of {flows} flows and sent {again} packets again: what passed its switches is not known; \
         leave it out with `--no-peer`"
    )]
    Incomplete {
        /// Flows that ended.
        ended: usize,
        /// All flows.
        flows: usize,
        /// Packets sent once more.
        again: u64,
    },
    /// It is another csg-htsim than the one whose output is known.
    #[error(
        "htsim_roce does not say how many packets it sent again (`Rtx: N`): what passed its switches is not known; \
         leave it out with `--no-peer`"
    )]
    Silent,
    /// Who sends to whom.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// csg-htsim, ready to play what a [`SimulationBench`] plays.
pub struct HtsimBench<'a> {
    program: OsString,
    scratch: &'a Path,
    /// Ports of a switch.
    k: u64,
    /// Every flow's two hosts.
    pairs: Vec<(u64, u64)>,
    /// Processor time that it takes to come to the first packets.
    setup: f64,
}

impl<'a> HtsimBench<'a> {
    /// `None` where no variable names the program and it is not on PATH. Files are written to
    /// `scratch`.
    ///
    /// # Errors
    /// [`HtsimError`].
    pub fn new(bench: &SimulationBench, scratch: &'a Path) -> Result<Option<Self>, HtsimError> {
        let named = std::env::var_os(HTSIM_VARIABLE).filter(|name| !name.is_empty());
        Self::of(named, bench, scratch)
    }

    fn of(
        named: Option<OsString>,
        bench: &SimulationBench,
        scratch: &'a Path,
    ) -> Result<Option<Self>, HtsimError> {
        let program = named.clone().unwrap_or_else(|| PROGRAM.into());
        let mut found = Self {
            program,
            scratch,
            k: bench.ports().into(),
            pairs: pairs(bench, &SimulationBench::scenario(1.0)?)?,
            setup: 0.0,
        };
        let matrix = matrix(bench.topology().hosts().len(), &found.pairs);
        fs::write(scratch.join("permutation.cm"), matrix).map_err(HtsimError::Matrix)?;
        match found.play(1) {
            Ok((_, seconds)) => found.setup = seconds,
            Err(HtsimError::Start { error, .. })
                if named.is_none() && error.kind() == io::ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        Ok(Some(found))
    }

    /// Plays all flows to their end.
    ///
    /// # Errors
    /// [`HtsimError`].
    pub fn run(&self) -> Result<HtsimFigure, HtsimError> {
        // A packet of 1500 bytes takes 300 ns at 40 Gb/s.
        let alone = PACKETS * 300 / 1_000;
        let (said, seconds) = self.play(alone * SLACK)?;
        let (ended, again) = read(&said);
        let again = again.ok_or(HtsimError::Silent)?;
        if ended != self.pairs.len() || again != 0 {
            return Err(HtsimError::Incomplete {
                ended,
                flows: self.pairs.len(),
                again,
            });
        }
        let switches = self
            .pairs
            .iter()
            .map(|&(from, to)| switches(self.k, from, to));
        let packet_hops = 2 * PACKETS * switches.sum::<u64>();
        let seconds = (seconds - self.setup).max(1e-9);
        Ok(HtsimFigure {
            packets: PACKETS * self.pairs.len() as u64,
            packet_hops,
            seconds,
            hops_per_second: packet_hops as f64 / seconds,
        })
    }

    /// Runs it for so many microseconds of its own time: what it says, and the processor time that
    /// it took.
    fn play(&self, micros: u64) -> Result<(String, f64), HtsimError> {
        let hosts = self.k.pow(3) / 4;
        let mut child = Command::new(&self.program)
            .args(["-nodes", &hosts.to_string(), "-tm", "permutation.cm"])
            .args(["-linkspeed", "40000", "-mtu", &MTU.to_string()])
            .args(["-hop_latency", "0.5", "-q", "1000"])
            .args(["-strat", "ecmp_host", "-paths", "128"])
            .args(["-end", &micros.to_string(), "-o", "htsim.log"])
            .current_dir(self.scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| HtsimError::Start {
                program: self.program.clone(),
                error,
            })?;
        let (said, wall) = timed(|| all_it_says(&mut child));
        // It has said all, but is not forgotten before it is waited for.
        let taken = thread_time(child.id(), None).map(|time| time.as_secs_f64());
        if said.is_none() {
            let _ = child.kill();
        }
        let _ = child.wait();
        let said = said.ok_or(HtsimError::Late)?;
        Ok((said, taken.filter(|taken| *taken > 0.0).unwrap_or(wall)))
    }
}

/// What a process prints until it ends; `None` if that is not in time.
fn all_it_says(child: &mut Child) -> Option<String> {
    let mut out = child.stdout.take()?;
    let (told, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = out.read_to_end(&mut bytes);
        // Nobody hears it who has given up waiting.
        let _ = told.send(read.map(|_| bytes));
    });
    match hears.recv_timeout(LIMIT) {
        Ok(read) => Some(String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()),
        Err(_) => None,
    }
}

/// Who sends to whom, by the numbers of hosts.
fn pairs(bench: &SimulationBench, scenario: &Scenario) -> Result<Vec<(u64, u64)>, SimulateError> {
    let (_, hosts) = ScenarioPlayer::new(bench.network(), scenario)?;
    let number = |leg: simulator::simulate::player::PlannedFlow| {
        (leg.from.index() as u64, leg.to.index() as u64)
    };
    Ok(hosts.planned_flows().map(number).collect())
}

/// A connection matrix, as csg-htsim reads it.
fn matrix(hosts: usize, pairs: &[(u64, u64)]) -> String {
    let mut text = format!("Nodes {hosts}\nConnections {}\n", pairs.len());
    for (number, (from, to)) in (1..).zip(pairs) {
        let bytes = PACKETS * MTU;
        text.push_str(&format!("{from}->{to} id {number} start 0 size {bytes}\n"));
    }
    text
}

/// Flows that ended, and packets that were sent again, if it says how many.
fn read(said: &str) -> (usize, Option<u64>) {
    let ended = said
        .lines()
        .filter(|line| line.contains(" finished at "))
        .count();
    let again = said.lines().rev().find_map(|line| line.split_once("Rtx: "));
    let again = again.and_then(|(_, number)| number.trim().parse().ok());
    (ended, again)
}

/// Switches between two hosts of a fat-tree, numbered switch by switch and pod by pod.
fn switches(k: u64, a: u64, b: u64) -> u64 {
    let (of_switch, of_pod) = (k / 2, k * k / 4);
    if a / of_switch == b / of_switch {
        1
    } else if a / of_pod == b / of_pod {
        3
    } else {
        5
    }
}

#[cfg(test)]
mod tests {
    use topology::{HostId, NodeId, Topology};

    use super::*;

    #[test]
    fn hosts_are_numbered_as_switches_and_pods_are() {
        let bench = SimulationBench::new(4).unwrap();
        let topology = bench.topology();
        for a in topology.host_ids() {
            for b in topology.host_ids() {
                let found = switches(4, a.index() as u64, b.index() as u64);
                assert_eq!(found, walked(topology, a, b), "{a:?} to {b:?}");
            }
        }
    }

    /// Switches between two hosts, by looking at all of them from the first host's on.
    fn walked(topology: &Topology, a: HostId, b: HostId) -> u64 {
        let home = |host| topology.uplinks(host)[0].1.end.node;
        let mut seen = vec![home(a)];
        for passed in 1..6 {
            if seen.contains(&home(b)) {
                return passed;
            }
            let peers = seen.iter().flat_map(|node| match node {
                NodeId::Switch(switch) => topology.peers(*switch).collect(),
                NodeId::Host(_) => Vec::new(),
            });
            let next: Vec<NodeId> = peers.map(|(_, peer)| peer.end.node).collect();
            seen = next;
        }
        0
    }

    #[test]
    fn a_peer_that_is_not_there_is_told_only_where_it_was_named() {
        let (bench, scratch) = (
            SimulationBench::new(4).unwrap(),
            tempfile::tempdir().unwrap(),
        );
        let of = |named: &str| HtsimBench::of(Some(named.into()), &bench, scratch.path());
        let missing = of("/nowhere/htsim_roce").map(|_| ());
        let told = missing.unwrap_err().to_string();
        assert!(
            told.starts_with("/nowhere/htsim_roce does not start"),
            "{told}"
        );
        // Programs that play nothing.
        let told = of("true").unwrap().unwrap().run().unwrap_err();
        assert!(matches!(told, HtsimError::Silent), "{told}");
        // Written by another process: one that others start meanwhile would inherit the open file,
        // which then cannot be run.
        let script = "printf '#!/bin/sh\necho New: 0 Rtx: 7\n' > lossy && chmod +x lossy";
        let mut write = Command::new("sh");
        let written = write.args(["-c", script]).current_dir(scratch.path());
        assert!(written.status().unwrap().success());
        let lossy = scratch.path().join("lossy");
        let told = of(lossy.to_str().unwrap()).unwrap().unwrap().run();
        let told = told.unwrap_err().to_string();
        assert!(
            told.starts_with("htsim_roce ended 0 of 16 flows and sent 7 packets again"),
            "{told}"
        );
    }

    #[test]
    fn every_host_sends_to_another_one() {
        let bench = SimulationBench::new(4).unwrap();
        let pairs = pairs(&bench, &SimulationBench::scenario(1.0).unwrap()).unwrap();
        let mut to: Vec<u64> = pairs.iter().map(|(_, to)| *to).collect();
        to.sort_unstable();
        assert_eq!(to, (0..16).collect::<Vec<_>>());
        assert!(pairs.iter().all(|(from, to)| from != to));
        let text = matrix(16, &pairs[..1]);
        let (from, to) = pairs[0];
        assert_eq!(
            text,
            format!("Nodes 16\nConnections 1\n{from}->{to} id 1 start 0 size 3000000\n")
        );
    }

    #[test]
    fn what_it_says_is_read() {
        let said = "Starting simulation\nFlow Roce_0_5 9 finished at 12.5 total bytes 3000000\n\
                    Flow Roce_1_4 9 finished at 13 total bytes 3000000\nDone\nNew: 0 Rtx: 7\n";
        assert_eq!(read(said), (2, Some(7)));
        assert_eq!(read(""), (0, None));
    }
}

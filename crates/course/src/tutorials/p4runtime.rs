//! The exercise `p4runtime`: its program is given, and its solution is a controller that comes with
//! a library in the checkout.
//!
//! The controller is run as the exercise says, in a folder where `make` would have left what it
//! loads; our switches are where it looks for them. It runs for ever and prints counters: when it
//! has printed the first, all is installed, and packets are sent.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use files::Scratch;
use topology::import::{ImportOptions, import};
use topology::{NodeId, Topology};

use crate::bench::{Layout, Place, Step, TestBed, Tools, text};
use crate::controller::{Controller, Wait, compile, has_p4runtime, play};
use crate::grade::CaseResult;
use crate::lab::{LabError, read};
use crate::program::case;

/// The exercise.
pub(super) const NAME: &str = "p4runtime";
/// What runs the controller.
const LAUNCH: &str = include_str!("launch.py");
/// Our case. Ports are hosts: 1 is h1.
const CASE: &str = include_str!("../../labs/tutorials/p4runtime.stf");
/// Where the runner of the exercises has the first switch serve P4Runtime; those of the others
/// follow, and device ids count from 0.
const FIRST_PORT: u16 = 50051;
/// How long a controller may take to print the first counter, two seconds of which it sleeps.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn judge(
    checkout: &Path,
    solutions: bool,
    tools: &Tools,
) -> Result<CaseResult, LabError> {
    let missing = |why: String| LabError::Missing { why };
    let folder = checkout.join("exercises").join(NAME);
    let file = match solutions {
        true => folder.join("solution/mycontroller.py"),
        false => folder.join("mycontroller.py"),
    };
    read(&file)?;
    let layout = layout(&folder.join("topology.json"))?;
    let program = folder.join("advanced_tunnel.p4");
    read(&program)?;
    let (about, case) = case(Path::new(NAME), CASE)?;
    let result = |why| CaseResult::new(NAME, &about, why);
    has_p4runtime(tools).map_err(missing)?;
    let built = match compile(&program, Vec::new()) {
        Ok(built) => built,
        Err(why) => return Ok(result(vec![why])),
    };
    let scratch = Scratch::new().map_err(|e| missing(e.to_string()))?;
    let launch = lay_out(scratch.path(), &built.info, &built.json).map_err(missing)?;
    let mut bench = TestBed::start(tools, &layout).map_err(missing)?;
    let mut command = Command::new(&tools.python);
    command.arg(launch).arg(absolute(&file)?);
    command.current_dir(scratch.path());
    command.env("PYTHONPATH", absolute(&checkout.join("utils"))?);
    // The checkout stays as it is, and what is printed is seen at once.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("PYTHONUNBUFFERED", "1");
    let mut controller = Controller::start(command).map_err(missing)?;
    let why = match installed(&mut controller).map_err(missing)? {
        Some(why) => vec![why],
        None => play(&mut bench, &case).map_err(missing)?,
    };
    Ok(result(why))
}

fn absolute(path: &Path) -> Result<PathBuf, LabError> {
    path.canonicalize().map_err(|source| LabError::Read {
        path: path.display().to_string(),
        source,
    })
}

/// The folder as `make` leaves it: what the controller loads (P4Info under its name of today and of
/// before), and where it logs. Returns what runs it.
fn lay_out(folder: &Path, info: &str, json: &str) -> Step<PathBuf> {
    let write = |path: &Path, what: &str| std::fs::write(path, what).map_err(|e| text(&e));
    for name in ["build", "logs"] {
        std::fs::create_dir(folder.join(name)).map_err(|e| text(&e))?;
    }
    let build = folder.join("build");
    write(&build.join("advanced_tunnel.json"), json)?;
    for name in [
        "advanced_tunnel.p4.p4info.txtpb",
        "advanced_tunnel.p4.p4info.txt",
    ] {
        write(&build.join(name), info)?;
    }
    let launch = folder.join("launch.py");
    write(&launch, LAUNCH)?;
    Ok(launch)
}

/// Waits until all is installed; or why it never will be.
fn installed(controller: &mut Controller) -> Step<Option<String>> {
    let counts = |line: &str| line.contains("TunnelCounter") && line.contains(" packets");
    Ok(match controller.wait(TIMEOUT, counts)? {
        Wait::Said => None,
        Wait::Ended(status) => Some(format!(
            "the controller ended before it printed a counter ({status}): {}",
            controller.last_line()
        )),
        Wait::Over => Some(format!(
            "the controller printed no counter within {} s; its last line: {}",
            TIMEOUT.as_secs(),
            controller.last_line()
        )),
    })
}

/// The exercise's network: switches in order, hosts by their numbers.
fn layout(path: &Path) -> Result<Layout, LabError> {
    let broken = |why: String| LabError::Broken {
        path: path.display().to_string(),
        why,
    };
    let imported = import(&read(path)?, &ImportOptions::default());
    let topology = imported.map_err(|e| broken(e.to_string()))?.topology;
    of(&topology).map_err(broken)
}

fn of(topology: &Topology) -> Step<Layout> {
    let mut layout = Layout {
        switches: Vec::new(),
        cables: Vec::new(),
        outside: BTreeMap::new(),
    };
    for (number, id) in (0u16..).zip(topology.switch_ids()) {
        let port = FIRST_PORT.checked_add(number);
        let port = port.ok_or_else(|| "there are too many switches".to_owned())?;
        layout.switches.push(Place {
            name: topology.switch(id).name.clone(),
            device_id: u64::from(number),
            address: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            ports: topology.peers(id).map(|(port, _)| port.get()).collect(),
        });
    }
    for link in topology.links() {
        let (a, b) = (link.a, link.b);
        match (a.node, b.node) {
            (NodeId::Switch(from), NodeId::Switch(to)) => {
                let ends = [(from.index(), a.port.get()), (to.index(), b.port.get())];
                layout.cables.push(ends);
            }
            (NodeId::Switch(switch), host) => {
                let end = (switch.index(), a.port.get());
                layout.outside.insert(number(topology, host)?, end);
            }
            (host, NodeId::Switch(switch)) => {
                let end = (switch.index(), b.port.get());
                layout.outside.insert(number(topology, host)?, end);
            }
            _ => {}
        }
    }
    Ok(layout)
}

/// The number in a host's name.
fn number(topology: &Topology, host: NodeId) -> Step<u16> {
    let name = topology.node_name(host);
    let number = name.strip_prefix('h').and_then(|n| n.parse().ok());
    number.ok_or_else(|| format!("host `{name}` is not called h1, h2, ..."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn switches_stand_where_the_controller_looks_for_them_and_hosts_outside() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/topologies");
        let layout = layout(&examples.join("tutorials-topology.json")).unwrap();
        for (number, place) in layout.switches.iter().enumerate() {
            assert_eq!(place.device_id, number as u64);
            let address = format!("127.0.0.1:{}", 50051 + number);
            assert_eq!(place.address.unwrap().to_string(), address);
        }
        // Every port is plugged in once.
        let cables = layout.cables.iter().flatten();
        let mut plugged: Vec<_> = cables.chain(layout.outside.values()).collect();
        plugged.sort();
        let ports = layout.switches.iter().enumerate();
        let all = ports.flat_map(|(s, place)| place.ports.iter().map(move |&port| (s, port)));
        let mut all: Vec<_> = all.collect();
        all.sort();
        assert!(plugged.into_iter().eq(&all), "{all:?}");
        assert!(layout.outside.contains_key(&1));
    }
}

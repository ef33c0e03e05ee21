//! Importers: topology files of other tools, recognised by their content.
//!
//! What a foreign file leaves open is filled in: ports are numbered, missing addresses derived,
//! subnets taken over where a switch has one of its own, and layers recognised where the network is
//! a Clos. The same network gives the same topology whatever the order of the lines of its file,
//! except where the format gives the order a meaning (p4-utils).

mod containerlab;
mod csv;
mod draft;
mod fabric;
mod graphml;
mod leave;
mod leave_out;
mod mininet;
#[cfg(test)]
mod naming_tests;
#[cfg(test)]
mod tests;

pub use fabric::{NamedText, configurations, import_fabric, import_fabric_parts};

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;

use quantities::BitRate;
use thiserror::Error;

use super::assumptions::Supplied;
use super::error::TopologyError;
use super::file::{self, FileError};
use super::model::Topology;
use super::ports::natural_order;
use draft::{Draft, DraftEnd, DraftHost, DraftLink, Order};

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Switchwright's own topology file.
    Switchwright,
    /// p4-utils `p4app.json`.
    P4Utils,
    /// `topology.json` of the p4lang tutorials.
    Tutorials,
    /// GraphML, as in the Internet Topology Zoo.
    GraphMl,
    /// A containerlab topology definition (YAML).
    Containerlab,
    /// Links as comma-separated values.
    Csv,
    /// A folder of configurations of switches under SONiC, of LLDP tables, or of both.
    Fabric,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Switchwright => "Switchwright topology",
            Self::P4Utils => "p4-utils p4app.json",
            Self::Tutorials => "p4lang tutorials topology.json",
            Self::GraphMl => "GraphML",
            Self::Containerlab => "containerlab topology",
            Self::Csv => "CSV of links",
            Self::Fabric => "SONiC configurations and LLDP tables",
        })
    }
}

/// What a file does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// The topology's name, where the file has none.
    pub name: String,
    /// Hosts to put on every node of a GraphML file, which has none, or of a CSV of links that has
    /// none.
    pub hosts_per_node: u16,
    /// What is left out: globs (`*`, `?`) of a device, or of `DEVICE:INTERFACE`.
    pub ignore: Vec<String>,
    /// Management interfaces that are not left out: globs as of `ignore`.
    pub keep: Vec<String>,
    /// Facts in place of those that the file does not give.
    pub supplied: Supplied,
    /// Whether to keep only the largest part of a network that is not connected, instead of
    /// refusing it.
    pub largest_part: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            name: "imported".to_owned(),
            hosts_per_node: 1,
            supplied: Supplied::default(),
            ignore: Vec::new(),
            keep: Vec::new(),
            largest_part: false,
        }
    }
}

/// An imported topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The topology.
    pub topology: Topology,
    /// What kind of file it came from.
    pub format: ImportFormat,
    /// What was left out or decided on the way, a sentence each.
    pub notes: Vec<String>,
}

impl Imported {
    /// A topology that a file of ours holds as it is.
    fn whole(
        topology: Topology,
        format: ImportFormat,
        options: &ImportOptions,
    ) -> Result<Self, ImportError> {
        if let Some(pattern) = options.ignore.iter().chain(&options.keep).next() {
            return Err(ImportError::Value {
                format,
                place: format!("`{pattern}`"),
                reason: "Switchwright wrote this file, and nothing of it is left out; remove the \
                         switch or the link from the file"
                    .to_owned(),
            });
        }
        Ok(Self {
            topology,
            format,
            notes: Vec::new(),
        })
    }

    /// With the facts that the user supplies.
    fn with_supplied(self, options: &ImportOptions) -> Self {
        Self {
            topology: self.topology.with_supplied(&options.supplied),
            ..self
        }
    }
}

/// Why a file was not imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// None of the formats.
    #[error(
        "this is none of the formats that can be imported (p4-utils p4app.json, p4lang tutorials topology.json, \
         GraphML, containerlab YAML, CSV of links with the columns a and b): {0}"
    )]
    Unknown(String),
    /// The file is of a known kind, but broken.
    #[error("{format}: {reason}")]
    Syntax {
        /// The kind of file.
        format: ImportFormat,
        /// What its parser says, with the place.
        reason: String,
    },
    /// A part of the file makes no sense.
    #[error("{format}: {place}: {reason}")]
    Value {
        /// The kind of file.
        format: ImportFormat,
        /// Where.
        place: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// Our own format, with a fault.
    #[error(transparent)]
    Native(#[from] FileError),
    /// The parts are fine, the whole is not.
    #[error("{format}: {source}")]
    Topology {
        /// The kind of file.
        format: ImportFormat,
        /// What is wrong with the topology.
        source: TopologyError,
    },
}

/// Imports a topology file, whichever kind it is.
///
/// # Errors
/// [`ImportError`], which names the place and says how to mend it.
pub fn import(text: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    let imported = read(text, options)?;
    Ok(imported.with_supplied(options))
}

fn read(text: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let draft = if start.starts_with('<') {
        graphml::read(text, options)?
    } else if start.starts_with('{') {
        let keys = mininet::keys(text)?;
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("format") {
            let topology = Topology::from_json(text)?;
            return Imported::whole(topology, ImportFormat::Switchwright, options);
        }
        if has("topology") || has("targets") {
            mininet::read_p4utils(text, options)?
        } else if has("links") && has("hosts") {
            mininet::read_tutorials(text, options)?
        } else {
            let known = format!("its keys are {}", keys.join(", "));
            return Err(ImportError::Unknown(known));
        }
    } else if csv::is_table(start) {
        csv::read(text, options)?
    } else if has_key(text, "topology") {
        match containerlab::read(text, options)? {
            containerlab::LabFile::Draft(draft) => draft,
            containerlab::LabFile::Topology(topology) => {
                return Imported::whole(topology, ImportFormat::Containerlab, options);
            }
        }
    } else {
        return Err(ImportError::Unknown(match start.is_empty() {
            true => "it is empty".to_owned(),
            false => "it is no XML, no JSON, no CSV whose first line names the columns a and b, and YAML without the key `topology`".to_owned(),
        }));
    };
    draft.finish()
}

/// Puts hosts on every switch, under names that no switch has.
fn add_hosts(draft: &mut Draft, per_switch: u16) {
    if draft.order == Order::Names {
        draft.switches.sort_by(|a, b| natural_order(a, b));
    }
    let taken: BTreeSet<String> = draft.switches.iter().cloned().collect();
    let mut names = (1u64..)
        .map(|n| format!("h{n}"))
        .filter(|name| !taken.contains(name));
    for switch in &draft.switches {
        for name in names.by_ref().take(usize::from(per_switch)) {
            let place = format!("host `{name}`");
            let ends = [DraftEnd::open(switch), DraftEnd::open(&name)];
            draft.links.push(DraftLink::new(place, ends));
            draft.hosts.push(DraftHost {
                name,
                ..DraftHost::default()
            });
        }
    }
}

/// Whether a YAML file has this key at its outermost level, in block or flow style.
fn has_key(text: &str, key: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start_matches(['\u{feff}', '"', '\'']);
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| {
            rest.trim_start_matches(['"', '\''])
                .trim_start()
                .starts_with(':')
        })
    };
    text.lines().any(begins)
}

/// An address with or without the length of its network.
fn parse_cidr(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let length: u8 = length.trim().parse().ok().filter(|&length| length <= 32)?;
    Some((address.trim().parse().ok()?, length))
}

/// A rate given in megabits per second, as Mininet does.
fn parse_megabits(megabits: f64) -> Option<BitRate> {
    file::parse_rate(megabits / 1000.0)
}

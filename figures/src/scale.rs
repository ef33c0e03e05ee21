//! How plans, proofs and builds grow with the network: processor time, memory, entries, bytes.

use std::path::Path;
use std::time::Duration;

use p4gen::build::{self, BuildOptions};
use p4gen::targets::{Format, Formats, V1MODEL};
use plan::check;
use quantities::Bytes;
use schemes::TaggerOptions;
use serde::{Deserialize, Serialize};
use topology::Topology;
use topology::generate::{Cables, FatTree, GenerateError, Jellyfish, JellyfishSize};

use super::machine::{peak_memory, reset_peak_memory, thread_time, timed};
use super::planning::MeasureError;

/// A network of some size.
#[derive(Clone, Copy, Debug)]
pub enum ScaleCase {
    /// A fat-tree of switches with so many ports.
    FatTree {
        /// Ports of a switch.
        k: u16,
    },
    /// A random regular graph; half the ports of a switch lead to hosts.
    Jellyfish {
        /// Switches.
        switches: u32,
        /// Ports of a switch.
        ports: u16,
    },
}

/// The cases of `switchwright bench scale`.
pub const SCALE_CASES: [ScaleCase; 10] = [
    ScaleCase::FatTree { k: 8 },
    ScaleCase::FatTree { k: 16 },
    ScaleCase::FatTree { k: 32 },
    ScaleCase::FatTree { k: 48 },
    ScaleCase::FatTree { k: 64 },
    jellyfish(500, 40),
    jellyfish(1000, 40),
    jellyfish(2000, 40),
    jellyfish(2000, 48),
    jellyfish(5000, 48),
];

const fn jellyfish(switches: u32, ports: u16) -> ScaleCase {
    ScaleCase::Jellyfish { switches, ports }
}

/// What a case took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScaleFigure {
    /// The case.
    pub name: String,
    /// Switches.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Processor seconds of all threads that the tables took; nothing where the kernel does not
    /// tell.
    pub plan_seconds: Option<f64>,
    /// Likewise, the proof.
    pub proof_seconds: Option<f64>,
    /// Likewise, the build directory.
    pub build_seconds: Option<f64>,
    /// Seconds on the clock for all three.
    pub clock_seconds: f64,
    /// The most memory held, the topology included, where the kernel tells.
    pub peak_memory: Option<Bytes>,
    /// Entries of all switches: of tables, members, groups.
    pub entries: u64,
    /// Entries of the switch that has most.
    pub entries_max: u64,
    /// Prefixes of both families of the switch that has most.
    pub routes_max: u64,
    /// Bytes of the build directory.
    pub bytes: Bytes,
}

impl ScaleFigure {
    /// Processor seconds for tables, proof and build together.
    #[must_use]
    pub fn processor_seconds(&self) -> Option<f64> {
        Some(self.plan_seconds? + self.proof_seconds? + self.build_seconds?)
    }
}

impl ScaleCase {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::FatTree { k } => format!("fat-tree k = {k}"),
            Self::Jellyfish { switches, ports } => format!("jellyfish {switches} x {ports}"),
        }
    }

    fn topology(self) -> Result<Topology, GenerateError> {
        let cables = Cables::default();
        match self {
            Self::FatTree { k } => FatTree { k, cables }.generate(),
            Self::Jellyfish { switches, ports } => Jellyfish {
                size: JellyfishSize::Switches {
                    switches,
                    fabric_ports: ports / 2,
                },
                ports,
                seed: 1,
                cables,
            }
            .generate(),
        }
    }

    /// Plans, proves and builds it into `directory`, with entries in this format. Tables are
    /// computed, proven and built once.
    ///
    /// # Errors
    /// [`MeasureError`].
    pub fn measure(self, format: Format, directory: &Path) -> Result<ScaleFigure, MeasureError> {
        reset_peak_memory();
        let topology = self.topology()?;
        let (tables, planning) = measured(|| schemes::tagger(&topology, &TaggerOptions::default()));
        let (switches, hosts) = (topology.switches().len(), topology.hosts().len());
        drop(topology);
        let tables = tables?;
        let (plan, proof) = measured(|| check(tables, &check::Options::default()));
        let plan = plan?;
        let options = BuildOptions {
            formats: Formats::new([format]),
            ..BuildOptions::default()
        };
        let (report, building) =
            measured(|| build::build_with(&plan, &V1MODEL, directory, &options, &|_| ()));
        let report = report?;
        let of_switches = |of: &dyn Fn(&p4gen::family::summary::SwitchReport) -> u64| {
            report.switches.iter().map(of).max().unwrap_or(0)
        };
        let routes = [
            p4gen::layout::table::IPV4_ROUTE,
            p4gen::layout::table::IPV6_ROUTE,
        ];
        Ok(ScaleFigure {
            name: self.name(),
            switches,
            hosts,
            plan_seconds: planning.processor,
            proof_seconds: proof.processor,
            build_seconds: building.processor,
            clock_seconds: planning.clock + proof.clock + building.clock,
            peak_memory: peak_memory(),
            entries: report.entries_total,
            entries_max: of_switches(&|switch| switch.entries()),
            routes_max: of_switches(&|switch| {
                let of = |table: &&str| switch.tables.get(*table).copied().unwrap_or(0);
                routes.iter().map(of).sum()
            }),
            bytes: Bytes::new(size_of(directory)),
        })
    }
}

/// Time that some work took.
struct Took {
    processor: Option<f64>,
    clock: f64,
}

/// Runs work and tells its time, on all threads together and on the clock.
fn measured<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let own = std::process::id();
    let before = thread_time(own, None);
    let (done, clock) = timed(work);
    let after = thread_time(own, None);
    let spent = |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64();
    let processor = before
        .zip(after)
        .map(|(before, after)| spent(before, after));
    (done, Took { processor, clock })
}

/// The bytes of all files of a folder; what cannot be looked at counts nothing.
fn size_of(folder: &Path) -> u64 {
    let mut open = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => bytes += found.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_case_is_measured_in_both_formats() {
        let place = tempfile::tempdir().unwrap();
        let case = jellyfish(20, 6);
        let of = |format: Format| {
            let folder = place.path().join(format.name());
            case.measure(format, &folder).unwrap()
        };
        let (text, binary) = (of(Format::Txtpb), of(Format::Binpb));
        assert_eq!((text.switches, text.hosts), (20, 60));
        assert_eq!(text.entries, binary.entries);
        assert!(text.entries_max >= text.routes_max && text.routes_max >= 40);
        assert!(text.bytes > binary.bytes);
    }
}

//! The build directory that the switches of a target are fed from.
//!
//! [`build()`] turns a checked plan into a directory that holds everything a network of such switches
//! needs: the program, every switch's entries in each format, the topology for Mininet, the plan itself
//! and a report. The directory appears complete or not at all.

pub(crate) mod directory;
pub(crate) mod failover_page;
pub(crate) mod manifest;
pub(crate) mod mininet;
pub(crate) mod page;
pub(crate) mod report;

use std::fmt;
use std::path::Path;

use thiserror::Error;

pub use directory::{Digest, DirectoryError};
pub use manifest::{BuildDirectory, MANIFEST, Manifest, ManifestError, SwitchFiles};
pub use report::{BuildReport, FailoverReport, SwitchReport};

use directory::Staging;
use plan::CheckedPlan;
use topology::routes::RouteError;

use crate::entries::tofino::DevicePorts;
use crate::entries::{EntriesError, Problem};
use crate::program::ProgramError;
use crate::program::p4info::P4InfoError;
use crate::targets::capabilities::{self, Capabilities, Refusal};
use crate::targets::{tofino, v1model};

/// The style sheet of report pages.
pub const STYLE: &str = include_str!("../../templates/report.css");

/// The switches that a plan can be built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// v1model: BMv2's `simple_switch`, and the embedded switch.
    V1model,
    /// Tofino 1.
    Tna,
    /// Tofino 2.
    Tna2,
}

impl TargetKind {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::V1model, Self::Tna, Self::Tna2];

    /// The name on the command line and in manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1model => "v1model",
            Self::Tna => "tna",
            Self::Tna2 => "tna2",
        }
    }

    /// What the target can do.
    #[must_use]
    pub const fn capabilities(self) -> &'static Capabilities {
        match self {
            Self::V1model => &capabilities::V1MODEL,
            Self::Tna => &capabilities::TNA,
            Self::Tna2 => &capabilities::TNA2,
        }
    }
}

/// Called with the number of switches that were just finished, from any thread.
pub type Progress<'a> = &'a (dyn Fn(usize) + Sync);

/// Whose fault it is that a build failed; the command line makes its exit status of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildFault {
    /// The place or the plan named by the user.
    Input,
    /// The target cannot.
    Target,
    /// Ours.
    Bug,
}

/// Why there is no build directory.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The target lacks something.
    #[error("{}", Lines(.0))]
    Refused(Vec<Refusal>),
    /// The plan has lossless tags and failover tables.
    #[error(
        "target {0} has no program yet that both keeps tags lossless and fails over: such plans can be proven with \
         `check`, not built; plan with one of the two to build"
    )]
    Both(&'static str),
    /// The device ports name switches that the plan does not have.
    #[error("the device ports name a switch that the plan does not have: `{0}`")]
    NoSuchSwitch(String),
    /// The plan's failover tables are not what the header can carry.
    #[error("the plan's failover tables or the device ports do not fit: {0}")]
    Header(EntriesError),
    /// The directory cannot be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The program cannot be generated.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The plan's routes do not fit its topology.
    #[error(transparent)]
    Routes(#[from] RouteError),
    /// Entries do not fit the program.
    #[error("entries and program disagree: {0}; this is a bug of Switchwright")]
    Entries(EntriesError),
    /// The program has no P4Info.
    #[error(transparent)]
    ProgramInfo(#[from] P4InfoError),
    /// P4Info contradicts itself.
    #[error("the program's P4Info is unsound: {0}; this is a bug of Switchwright")]
    P4Info(p4runtime::NameError),
    /// A protobuf message cannot be printed.
    #[error("P4Info cannot be written: {0}; this is a bug of Switchwright")]
    Text(#[from] p4runtime::TextError),
    /// A file cannot be put into JSON.
    #[error("a file cannot be written as JSON: {0}; this is a bug of Switchwright")]
    Json(#[from] serde_json::Error),
    /// The report page cannot be rendered.
    #[error("report.html cannot be rendered: {0}; this is a bug of Switchwright")]
    Page(#[from] askama::Error),
}

impl BuildError {
    /// Whose fault it is.
    #[must_use]
    pub const fn fault(&self) -> BuildFault {
        match self {
            Self::Refused(_) | Self::Both(_) => BuildFault::Target,
            Self::Directory(_) | Self::Routes(_) | Self::Header(_) | Self::NoSuchSwitch(_) => {
                BuildFault::Input
            }
            _ => BuildFault::Bug,
        }
    }
}

impl From<EntriesError> for BuildError {
    fn from(error: EntriesError) -> Self {
        match &error {
            EntriesError::Unfit {
                problem:
                    Problem::Failover(_) | Problem::DevicePort { .. } | Problem::GeneratorPort { .. },
                ..
            } => Self::Header(error),
            _ => Self::Entries(error),
        }
    }
}

/// What can be chosen about a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The version that packets are stamped with in a failover program, and that its entries are for (Stephens15 section
    /// 4.6.4). Two builds of different versions can stand in the switches side by side.
    pub version: u8,
    /// For Tofino: which device port stands behind a port of the plan.
    pub device_ports: DevicePorts,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            version: crate::entries::failover::DEFAULT_VERSION,
            device_ports: DevicePorts::default(),
        }
    }
}

/// One refusal a line.
struct Lines<'a>(&'a [Refusal]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{refusal}")?;
        }
        Ok(())
    }
}

/// Builds a plan for a target into a directory, which is replaced if it is an earlier build.
///
/// The same plan gives the same bytes. Nothing is left behind if it fails.
///
/// # Errors
/// [`BuildError`]; [`BuildError::fault`] tells whose it is.
pub fn build(
    plan: &CheckedPlan,
    target: TargetKind,
    directory: &Path,
    progress: Progress<'_>,
) -> Result<BuildReport, BuildError> {
    build_with(plan, target, directory, &BuildOptions::default(), progress)
}

/// Builds a plan with options; see [`build()`].
///
/// # Errors
/// As [`build()`].
pub fn build_with(
    plan: &CheckedPlan,
    target: TargetKind,
    directory: &Path,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<BuildReport, BuildError> {
    if plan.tables().failover.is_some() && plan.tables().has_tags() {
        return Err(BuildError::Both(target.capabilities().target));
    }
    let staging = Staging::beside(directory)?;
    let report = match target {
        TargetKind::V1model => v1model::build(plan, &staging, options, progress),
        TargetKind::Tna | TargetKind::Tna2 => {
            tofino::build(plan, target, &staging, options, progress)
        }
    }?;
    staging.commit()?;
    Ok(report)
}

#[cfg(test)]
mod tests;

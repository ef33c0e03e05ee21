//! The build directory that the switches of a target are fed from.
//!
//! [`build()`] turns a checked plan into a directory that holds everything a network of such
//! switches needs: the program, every switch's entries in each format, the topology for Mininet,
//! the plan itself and a report. The directory appears complete or not at all.

mod digest;
mod directory;
mod held;
mod manifest;
mod page;
mod report;
mod sceptic;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use plan::{CarrierKind, CheckedPlan};
use rayon::prelude::*;
use thiserror::Error;
use topology::routes::RouteError;
use topology::routes::forwarding::{Routing, SwitchTables};
use topology::{SwitchId, Topology};

pub use digest::Digest;
pub use directory::DirectoryError;
pub use held::HeldError;
pub use manifest::{BuildDirectory, MANIFEST, Manifest, ManifestError};
pub use report::BuildReport;

use directory::Staging;
pub use directory::file_name;
use manifest::MadeFrom;
use sceptic::Sceptic;

use crate::capabilities::{Architecture, Capabilities, Estimate, Refusal};
use crate::entries::{DevicePorts, EntriesError, Problem, Row, SwitchEntries, rows_for_people};
use crate::family::summary::{Source, SwitchReport};
use crate::family::{DEFAULT_VERSION, EntrySource, ProgramFeatures};
use crate::layout::TableSizes;
use crate::program::p4info::P4InfoError;
use crate::program::{self, Program, ProgramError};
use crate::targets::{self, BuiltSwitch, Formats, ProgramFiles, SwitchFiles, Target, TargetError};

/// The largest network that the report draws.
const PICTURE_SWITCHES_MAX: usize = 400;
/// Where the plan itself is kept.
const PLAN: &str = "plan.json";

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
    /// The plan has lossless tags and failover tables, in a way for which there is no program.
    #[error("target {target} has no program that fails over with lossless {what}; {mend}")]
    LosslessFailover {
        /// The target.
        target: &'static str,
        /// What it has none for.
        what: &'static str,
        /// What can be done.
        mend: &'static str,
    },
    /// The plan has what no maps say.
    #[error("target {target} has no maps for {what}; {mend}")]
    Unmapped {
        /// The target.
        target: &'static str,
        /// What it has none for.
        what: &'static str,
        /// What can be done.
        mend: &'static str,
    },
    /// An operator's configuration contradicts the plan.
    #[error("tags do not go beside the configuration:\n{0}")]
    Collision(sonic::ConfigError),
    /// The audit finds fault with configurations in which tags stand beside the operator's.
    #[error("tags do not go beside the configurations: the audit finds {0}")]
    Merged(String),
    /// A configuration fitted, and does not any more, or an audit does not agree with the plan.
    #[error("maps: {0}; this is a bug of Switchwright")]
    Maps(String),
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
            Self::Refused(_) | Self::LosslessFailover { .. } | Self::Unmapped { .. } => {
                BuildFault::Target
            }
            Self::Directory(_)
            | Self::Routes(_)
            | Self::Header(_)
            | Self::NoSuchSwitch(_)
            | Self::Collision(_)
            | Self::Merged(_) => BuildFault::Input,
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
    /// The version that packets are stamped with in a failover program, and that its entries are
    /// for (Stephens15 section 4.6.4). Two builds of different versions can stand in the switches
    /// side by side.
    pub version: u8,
    /// For Tofino: which device port stands behind a port of the plan.
    pub device_ports: DevicePorts,
    /// Under SONiC: what becomes of the PFC watchdog.
    pub watchdog: sonic::Watchdog,
    /// Under SONiC: the configurations that tags are put beside, by switch; every switch has one,
    /// or none has.
    pub bases: BTreeMap<String, sonic::Base>,
    /// For v1model: the formats in which entries are written.
    pub formats: Formats,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            version: DEFAULT_VERSION,
            device_ports: DevicePorts::default(),
            watchdog: sonic::Watchdog::default(),
            bases: BTreeMap::new(),
            formats: Formats::default(),
        }
    }
}

impl From<TargetError> for BuildError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Entries(error) => error.into(),
            TargetError::Json(error) => Self::Json(error),
            TargetError::Merged(error) => Self::Merged(error),
            // Refused before, or it is our bug.
            TargetError::Sonic(_) | TargetError::Audit(_) => Self::Maps(error.to_string()),
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
    target: &'static dyn Target,
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
    target: &'static dyn Target,
    directory: &Path,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<BuildReport, BuildError> {
    let staging = Staging::beside(directory)?;
    let made = ProgramWithEntries::new(plan, target, options, progress)?;
    let report = made.write(&staging)?;
    staging.commit()?;
    Ok(report)
}

/// The files of the directory by path, for who has no disk.
///
/// # Errors
/// As [`build()`].
pub fn build_files(
    plan: &CheckedPlan,
    target: &'static dyn Target,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<(BuildReport, BTreeMap<String, Vec<u8>>), BuildError> {
    let staging = Staging::in_memory();
    let made = ProgramWithEntries::new(plan, target, options, progress)?;
    let report = made.write(&staging)?;
    Ok((report, staging.commit()?))
}

/// A program and the entries that go into it.
pub struct ProgramWithEntries<'a> {
    plan: &'a CheckedPlan,
    target: &'static dyn Target,
    options: &'a BuildOptions,
    progress: Progress<'a>,
    /// The plan's routes, where the program forwards by them; a switch's tables are made when they
    /// are wanted.
    forwarding: Option<Routing<'a>>,
    /// The program.
    pub program: Program,
    /// What it takes of the target's pipeline, where there is one.
    pub estimate: Option<Estimate>,
}

/// Refuses plans of failover tables whose lossless tags no program of the target has.
fn lossless_failover(plan: &CheckedPlan, target: &Capabilities) -> Result<(), BuildError> {
    let tables = plan.tables();
    let (what, mend) = if tables.failover.is_none() || !tables.has_tags() {
        return Ok(());
    } else if target.architecture != Architecture::V1model && tables.tagging.class_bits {
        let mend = "build for v1model, or plan with one class";
        ("tags that say their class", mend)
    } else if plan.carrier().kind != CarrierKind::Shim {
        let mend = "plan with --carrier shim: packets have that header anyway";
        ("tags outside its own header", mend)
    } else {
        return Ok(());
    };
    Err(BuildError::LosslessFailover {
        target: target.target,
        what,
        mend,
    })
}

/// Refuses plans whose rules the maps of a platform cannot say.
fn mapped(
    plan: &CheckedPlan,
    target: &Capabilities,
    platform: &'static sonic::Platform,
    bases: &BTreeMap<String, sonic::Base>,
) -> Result<(), BuildError> {
    match targets::sonic::unmapped(plan) {
        Some((what, mend)) => Err(BuildError::Unmapped {
            target: target.target,
            what,
            mend,
        }),
        None => {
            let found = targets::sonic::refusals(target.target, platform, plan, bases);
            refuse(found.map_err(BuildError::Collision)?)
        }
    }
}

impl<'a> ProgramWithEntries<'a> {
    /// The program and the entries of a plan, unless the target cannot hold them.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn new(
        plan: &'a CheckedPlan,
        target: &'static dyn Target,
        options: &'a BuildOptions,
        progress: Progress<'a>,
    ) -> Result<Self, BuildError> {
        let capabilities = target.capabilities();
        if let Some(platform) = capabilities.maps {
            mapped(plan, capabilities, platform, &options.bases)?;
        }
        lossless_failover(plan, capabilities)?;
        let features = ProgramFeatures::on(plan, capabilities);
        refuse(capabilities.refusals(plan, &features.demands(plan)))?;
        known_switches(plan, options)?;
        let mut made = Self {
            plan,
            target,
            options,
            progress,
            forwarding: forwarding(plan, features)?,
            program: program::generate(features, capabilities)?,
            estimate: None,
        };
        if let Some(pipeline) = &capabilities.pipeline {
            // Tables take stages: they are as large as the entries need. Those of all switches are
            // never held together.
            let sizes =
                made.each_switch(|switch| Ok(TableSizes::needed(&made.entries(switch)?)))?;
            let need = sizes
                .into_iter()
                .fold(TableSizes::default(), TableSizes::max);
            let layout = made.program.layout.clone().holding(&need);
            let estimate = Estimate::of(&features.ingress(&layout, pipeline), pipeline);
            refuse(capabilities.pipeline_refusals(&estimate))?;
            made.estimate = Some(estimate);
            made.program = program::generate_with(features, capabilities, layout)?;
        }
        Ok(made)
    }

    /// The entries of a switch.
    ///
    /// # Errors
    /// [`BuildError`]: they do not fit the program, or the target.
    pub fn entries(&self, switch: SwitchId) -> Result<SwitchEntries, BuildError> {
        let source = EntrySource {
            version: self.options.version,
            device_ports: &self.options.device_ports,
            bases: Some(&self.options.bases),
            ..EntrySource::new(
                self.plan,
                self.target.capabilities(),
                &self.program.layout,
                self.forwarding
                    .as_ref()
                    .map(|routing| routing as &dyn SwitchTables),
            )
        };
        Ok(self.program.features.entries(&source, switch)?)
    }

    /// Does something for every switch, several at a time; of several errors always the first
    /// switch's is told.
    fn each_switch<T: Send>(
        &self,
        of: impl Fn(SwitchId) -> Result<T, BuildError> + Sync,
    ) -> Result<Vec<T>, BuildError> {
        let ids: Vec<SwitchId> = self.plan.topology().switch_ids().collect();
        let done: Vec<_> = ids.par_iter().map(|id| of(*id)).collect();
        done.into_iter().collect()
    }

    fn write(&self, staging: &Staging) -> Result<BuildReport, BuildError> {
        let files = ProgramFiles::of(&self.program);
        let info = self.target.p4info(&self.program)?;
        staging.make_dir("p4")?;
        for file in self.program.files() {
            staging.write(&format!("p4/{}", file.name), file.text.as_bytes())?;
        }
        let text = p4runtime::to_text(&info)?;
        staging.write(&files.p4info, text.as_bytes())?;
        let index = p4runtime::P4InfoIndex::new(info).map_err(BuildError::P4Info)?;
        let build = targets::Build {
            plan: self.plan,
            program: &self.program,
            index: &index,
            files: &files,
            watchdog: self.options.watchdog,
            bases: &self.options.bases,
            formats: &self.options.formats,
        };
        let switches = self.each_switch(|switch| self.write_switch(&build, switch, staging))?;
        for file in self.target.extra_files(&build, &switches)? {
            if let Some((folder, _)) = file.path.rsplit_once('/') {
                staging.make_dir(folder)?;
            }
            staging.write(&file.path, &file.bytes)?;
        }
        let plan = self.plan.tables().to_json();
        staging.write(PLAN, plan.as_bytes())?;
        let digest = Digest::of(plan.as_bytes());
        let certificate = sceptic::certificate(self.plan, digest);
        if let Some(certificate) = &certificate {
            staging.write(sceptic::CERTIFICATE, certificate.as_bytes())?;
        }
        let checked = (digest, certificate.is_some());
        let commands = self.target.commands(&build, &switches);
        self.write_reports(staging, commands, files, switches, checked)
    }

    fn write_switch(
        &self,
        build: &targets::Build<'_>,
        switch: SwitchId,
        staging: &Staging,
    ) -> Result<BuiltSwitch, BuildError> {
        let entries = self.entries(switch)?;
        let report = SwitchReport::new(self.plan, switch, &entries);
        self.refuse_too_many(switch, &report)?;
        let files = SwitchFiles {
            device_id: switch.index() as u64,
            directory: format!("switches/{}", file_name(&report.name)),
            entries: report.entries(),
            name: report.name.clone(),
        };
        staging.make_dir(&files.directory)?;
        for file in self.target.switch_files(build, &files, &entries)? {
            staging.write(&file.path, &file.bytes)?;
        }
        (self.progress)(1);
        Ok(BuiltSwitch { report, files })
    }

    fn refuse_too_many(&self, switch: SwitchId, report: &SwitchReport) -> Result<(), BuildError> {
        let capabilities = self.target.capabilities();
        let (plan, layout) = (self.plan, &self.program.layout);
        let tables = report.tables.iter();
        let mut refusals: Vec<Refusal> = tables
            .filter_map(|(table, &entries)| {
                let mend = self.program.features.mend(table);
                capabilities.table_refusal(plan, switch, layout, (table, entries), mend)
            })
            .collect();
        refusals.extend(capabilities.selector_refusal(plan, switch, layout, report.members));
        refuse(refusals)
    }

    /// The entries as the page lists them; none where they are too many.
    fn listed(&self, report: &BuildReport) -> Result<Vec<[String; 7]>, BuildError> {
        if report.entries_total > page::MAX_ROWS {
            return Ok(Vec::new());
        }
        let ids: Vec<SwitchId> = self.plan.topology().switch_ids().collect();
        let notation = targets::notation(self.target.capabilities(), self.plan.tables());
        let listed = ids.into_iter().map(|switch| {
            let entries = self.entries(switch)?;
            let rows = rows_for_people(&entries, switch, &notation);
            Ok(rows.iter().map(Row::cells).collect::<Vec<_>>())
        });
        let listed = listed.collect::<Result<Vec<_>, BuildError>>()?;
        Ok(listed.concat())
    }

    fn write_reports(
        &self,
        staging: &Staging,
        commands: String,
        program: ProgramFiles,
        switches: Vec<BuiltSwitch>,
        (digest, certified): (Digest, bool),
    ) -> Result<BuildReport, BuildError> {
        let (plan, capabilities) = (self.plan, self.target.capabilities());
        let (reports, listed) = switches.into_iter().map(|s| (s.report, s.files)).unzip();
        let report = BuildReport::new(
            plan,
            capabilities,
            program.name.clone(),
            self.options.version,
            self.estimate.clone(),
            reports,
        );
        staging.write("report.json", &json_file(&report)?)?;
        let summary = self.program.features.summary(&Source {
            plan,
            switches: &report.switches,
            resilience: &report.proof.resilience,
            version: self.options.version,
            maps: self.target.capabilities().maps,
        });
        let sceptic = Sceptic::new(plan, &report.proof, digest, certified);
        let usage = page::Usage {
            commands,
            // `trace` runs what the front end builds for v1model.
            trace: self.estimate.is_none(),
        };
        let rows = self.listed(&report)?;
        let picture = picture(plan.topology());
        let page = page::render(plan, &report, (summary, sceptic), usage, (&picture, &rows))?;
        staging.write("report.html", page.as_bytes())?;
        let manifest = Manifest::new(
            capabilities.target,
            capabilities.priorities,
            program,
            MadeFrom {
                topology: plan.topology().name().to_owned(),
                plan: PLAN.to_owned(),
                provenance: plan.tables().provenance.clone(),
            },
            listed,
            staging.digests(),
        );
        staging.write_unlisted(MANIFEST, &json_file(&manifest)?)?;
        Ok(report)
    }
}

/// The plan's routes as next hops, for a program that forwards by them.
fn forwarding(
    plan: &CheckedPlan,
    features: ProgramFeatures,
) -> Result<Option<Routing<'_>>, RouteError> {
    let made = features.routes().then(|| plan.tables().routing());
    made.transpose()
}

fn known_switches(plan: &CheckedPlan, options: &BuildOptions) -> Result<(), BuildError> {
    let topology = plan.topology();
    let known = |name: &str| topology.switches().iter().any(|switch| switch.name == name);
    match options.device_ports.switches().find(|name| !known(name)) {
        Some(name) => Err(BuildError::NoSuchSwitch(name.to_owned())),
        None => Ok(()),
    }
}

fn refuse(refusals: Vec<Refusal>) -> Result<(), BuildError> {
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(BuildError::Refused(refusals))
    }
}

/// A value as an indented JSON file.
fn json_file<T: serde::Serialize>(value: &T) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The network as SVG; empty where it has too many switches for a picture to show anything.
fn picture(topology: &Topology) -> String {
    if topology.switches().len() > PICTURE_SWITCHES_MAX {
        return String::new();
    }
    topology.to_svg()
}

#[cfg(test)]
mod tests;

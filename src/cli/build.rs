//! `switchwright build`: a plan becomes a directory with program, entries and report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::{Args, ValueEnum};
use p4gen::build::{self, BuildError, BuildFault, BuildOptions, BuildReport};
use p4gen::capabilities::{Architecture, Estimate};
use p4gen::entries::DevicePorts;
use p4gen::family::DEFAULT_VERSION;
use p4gen::targets::{
    self, Format, Formats, SONIC_8TC, SONIC_8TC_ACL, SONIC_16TC, SONIC_16TC_ACL, TNA, TNA2, Target,
    V1MODEL,
};
use plan::{CheckedPlan, Verdict};
use serde::Serialize;
use sonic::Base;
use topology::Topology;
use topology::import;

use super::fault::{self, Fault, Status};
use super::given::Given;
use super::terminal::{self, Terminal};
use super::words::counted;
use super::{check, folder};
use measure::timed;

/// Arguments of `switchwright build`.
#[derive(Debug, Args)]
pub(super) struct Build {
    /// The plan file.
    plan: String,
    /// What the switches are.
    #[arg(long, value_enum, default_value_t = TargetName::V1model)]
    target: TargetName,
    /// The directory to make; an earlier build there is replaced.
    #[arg(short, long, value_name = "DIR")]
    output: String,
    /// Version that packets are stamped with, in plans of failover tables. A build of another
    /// version can take over from this one without a packet lost (`push --versioned`).
    #[arg(long, value_name = "N", default_value_t = DEFAULT_VERSION)]
    plan_version: u8,
    /// For Tofino: a JSON file that says which device port stands behind a port of the plan
    /// (`{"leaf1": {"1": 128, "2": 132}}`); ports that it does not list keep their number.
    #[arg(long, value_name = "FILE")]
    device_ports: Option<String>,
    /// For v1model: what is written for whom, beside the program. `txtpb` (entries for P4Runtime as
    /// text, what is written if nothing is said), `binpb` (the same in binary: small and fast to
    /// read, for large networks), `commands` (simple_switch_CLI), `tutorials` (the exercise runner
    /// of p4lang/tutorials: `make run`), `p4-utils`. The text is written unless `binpb` is named
    /// without it.
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    formats: Vec<FormatName>,
    /// For SONiC: what the switches have (`targets` lists them).
    #[arg(long, value_enum, default_value_t = Platform::Generic8tc)]
    platform: Platform,
    /// For SONiC: what becomes of the PFC watchdog.
    #[arg(long, value_enum, default_value_t = Watchdog::Off)]
    watchdog: Watchdog,
    /// For SONiC: put the tags beside the configurations that the switches have: a folder with the
    /// config_db.json of every switch, or one file for all. Their classes, queues, schedulers and
    /// other tables stay; rows that contradict the plan are refused.
    #[arg(long, value_name = "CONFIG_DB")]
    merge: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TargetName {
    /// BMv2's simple_switch and the embedded switch.
    V1model,
    /// Tofino 1.
    Tna,
    /// Tofino 2.
    Tna2,
    /// Switches under SONiC, which have no P4: maps, PFC and buffers for config_db.json.
    Sonic,
}

/// What is written for whom.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// A p4.v1.WriteRequest as text.
    Txtpb,
    /// A p4.v1.WriteRequest in binary.
    Binpb,
    /// Lines for simple_switch_CLI.
    Commands,
    /// The exercise runner of p4lang/tutorials.
    Tutorials,
    /// p4-utils.
    P4Utils,
}

impl FormatName {
    const fn format(self) -> Format {
        match self {
            Self::Txtpb => Format::Txtpb,
            Self::Binpb => Format::Binpb,
            Self::Commands => Format::Commands,
            Self::Tutorials => Format::Tutorials,
            Self::P4Utils => Format::P4Utils,
        }
    }
}

/// What switches under SONiC have.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Platform {
    /// 8 traffic classes.
    #[value(name = "generic-8tc")]
    Generic8tc,
    /// 16 traffic classes.
    #[value(name = "generic-16tc")]
    Generic16tc,
    /// 8 traffic classes, and ACL rules that set one.
    #[value(name = "generic-8tc-acl")]
    Generic8tcAcl,
    /// 16 traffic classes, and ACL rules that set one.
    #[value(name = "generic-16tc-acl")]
    Generic16tcAcl,
}

impl Platform {
    const fn target(self) -> &'static dyn Target {
        match self {
            Self::Generic8tc => &SONIC_8TC,
            Self::Generic16tc => &SONIC_16TC,
            Self::Generic8tcAcl => &SONIC_8TC_ACL,
            Self::Generic16tcAcl => &SONIC_16TC_ACL,
        }
    }
}

/// What becomes of SONiC's PFC watchdog.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Watchdog {
    /// The configuration does not ask for it: buffers cannot wait in a circle.
    Off,
    /// It stays as a net, for hosts that pause for ever.
    Net,
}

/// What `build --json` prints.
#[derive(Serialize)]
struct Figures<'a> {
    directory: &'a str,
    target: &'a str,
    program: &'a str,
    switches: usize,
    entries_total: u64,
    rules_total: u64,
    /// What the proof of the plan has shown.
    verdict: Verdict,
    /// What the program takes of the hardware's pipeline; null where there is none.
    pipeline: Option<&'a Estimate>,
    /// The formats of entries, where there are several to choose from; null where there are not.
    formats: Option<Vec<&'static str>>,
    seconds: f64,
}

impl Build {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let plan = check::prove(check::load(&self.plan)?, terminal)?;
        let target: &'static dyn Target = match self.target {
            TargetName::V1model => &V1MODEL,
            TargetName::Tna => &TNA,
            TargetName::Tna2 => &TNA2,
            TargetName::Sonic => self.platform.target(),
        };
        if !matches!(self.target, TargetName::Sonic) {
            let reason = "without `--target sonic`: it is about switches under SONiC";
            given.refuse_all(&["platform", "watchdog", "merge"], reason)?;
        }
        if !matches!(self.target, TargetName::V1model) {
            let reason = "with this target, whose entries have one format";
            given.refuse_all(&["formats"], reason)?;
        }
        if plan.tables().failover.is_none() {
            let reason = "here: this plan has no failover tables, whose packets carry a version";
            given.refuse_all(&["plan_version"], reason)?;
        }
        let software = target.capabilities().architecture == Architecture::V1model;
        if self.device_ports.is_some() && software {
            return Err(Fault::input(
                "--device-ports is for Tofino: BMv2 and the embedded switch have the plan's port numbers",
            ));
        }
        let options = BuildOptions {
            version: self.plan_version,
            device_ports: self.device_ports.as_deref().map_or_else(
                || Ok(DevicePorts::default()),
                |path| {
                    DevicePorts::from_json(&terminal::read(path)?)
                        .map_err(|e| Fault::input(format!("{path}: {e}")))
                },
            )?,
            watchdog: match self.watchdog {
                Watchdog::Off => sonic::Watchdog::Off,
                Watchdog::Net => sonic::Watchdog::Net,
            },
            bases: match &self.merge {
                Some(path) => bases(path, plan.topology(), terminal)?,
                None => BTreeMap::new(),
            },
            formats: Formats::new(self.formats.iter().map(|name| name.format())),
        };
        let formats = options.formats.clone();
        let (report, seconds) = timed(|| make_with(&plan, target, &self.output, options, terminal));
        let report = report?;
        check::note_forwarding(&plan, terminal);
        let figures = Figures {
            directory: &self.output,
            target: &report.target,
            program: &report.program,
            switches: report.network.switches,
            entries_total: report.entries_total,
            rules_total: report.rules.total,
            verdict: report.proof.verdict,
            pipeline: report.pipeline.as_ref(),
            formats: matches!(self.target, TargetName::V1model).then(|| formats.names()),
            seconds,
        };
        terminal.summary(&figures, || {
            describe(&report, &formats, &self.output, seconds)
        })
    }
}

/// The configurations that tags are put beside, by switch.
///
/// # Errors
/// A switch without a configuration, or what is wrong with one.
fn bases(
    path: &str,
    topology: &Topology,
    terminal: &Terminal,
) -> Result<BTreeMap<String, Base>, Fault> {
    let names = || topology.switches().iter().map(|switch| switch.name.clone());
    if !Path::new(path).is_dir() {
        let text = terminal::read(path)?;
        let base = Base::read(path, &text, true);
        let base = base.map_err(|error| Fault::input(fault::chain(&error)))?;
        return Ok(names().map(|name| (name, base.clone())).collect());
    }
    let files = folder::json_files(path)?;
    let owners = import::configurations(&files);
    let known: BTreeSet<String> = names().collect();
    for other in owners.keys().filter(|name| !known.contains(*name)) {
        terminal.note(format!(
            "note: the plan has no switch `{other}`: its configuration is left out"
        ));
    }
    let read =
        |file: &import::NamedText| Base::read(&format!("{path}/{}", file.name), &file.text, false);
    let made = folder::of_switches(path, topology, &files, &owners, read)?;
    Ok(names().zip(made).collect())
}

/// Builds with progress.
///
/// # Errors
/// A refusal of the target, or a place that cannot be written.
pub(super) fn make(
    plan: &CheckedPlan,
    target: &'static dyn Target,
    directory: &str,
    terminal: &Terminal,
) -> Result<BuildReport, Fault> {
    make_with(plan, target, directory, BuildOptions::default(), terminal)
}

fn make_with(
    plan: &CheckedPlan,
    target: &'static dyn Target,
    directory: &str,
    options: BuildOptions,
    terminal: &Terminal,
) -> Result<BuildReport, Fault> {
    let bar = terminal.counter("building switches", plan.topology().switches().len());
    let built = build::build_with(plan, target, Path::new(directory), &options, &|done| {
        bar.inc(done as u64)
    });
    bar.finish_and_clear();
    built.map_err(|error| refuse(&error))
}

fn refuse(error: &BuildError) -> Fault {
    match error.fault() {
        BuildFault::Target => Fault::with(Status::Target, error),
        BuildFault::Input | BuildFault::Bug => Fault::input(error),
    }
}

/// A build for people.
pub(super) fn describe(
    report: &BuildReport,
    formats: &Formats,
    directory: &str,
    seconds: f64,
) -> String {
    let maps = targets::named(&report.target).and_then(|target| target.capabilities().maps);
    let formats = match (&report.pipeline, maps) {
        (Some(_), _) => "for BF Runtime".to_owned(),
        (None, Some(_)) => "made from each switch's config_db.json".to_owned(),
        (None, None) => format!("as {}", formats.names().join(", ")),
    };
    let mut facts = vec![
        ("directory", directory.to_owned()),
        (
            "program",
            format!("{} for {}", report.program, report.target),
        ),
        (
            "entries",
            format!(
                "{} on {}, {formats}",
                report.entries_total,
                counted(report.network.switches, "switch")
            ),
        ),
    ];
    if let Some(estimate) = &report.pipeline {
        facts.push(("pipeline", estimate.sentence()));
        let warnings = estimate.warnings.iter();
        facts.extend(warnings.map(|warning| ("warning", warning.clone())));
    }
    facts.push(("report", format!("{directory}/report.html")));
    facts.push(("built in", format!("{seconds:.3} s")));
    terminal::facts(&facts)
}

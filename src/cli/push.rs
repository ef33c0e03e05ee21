//! `switchwright push`: a build directory onto running switches, over P4Runtime or BF Runtime.

mod cabling;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use controlplane::journal::JournalError;
use controlplane::push::{Step, StepObserver};
use controlplane::push::{dry_run, push, rollback, survey};
use controlplane::report::Survey;
use controlplane::report::{Outcome, SwitchOutcome, SwitchReport};
use controlplane::versioned::{self, VersionedError};
use controlplane::{
    ChangeKind, Desired, Devices, PipelineChange, PushError, PushOptions, PushReport, Stop,
};
use indicatif::ProgressBar;
use p4gen::capabilities::Api;
use serde::Serialize;

use super::fault::{Context, Fault, Status};
use super::terminal::{self, Terminal};
use super::words::counted;
use measure::timed;

/// Above this many switches only those that changed are listed.
const LISTED_MAX: usize = 48;

/// Arguments that name a network of switches.
#[derive(Debug, Args)]
pub(super) struct Network {
    /// The build directory.
    directory: String,
    /// Where the switches are (YAML or JSON; see docs/bring-up.md).
    #[arg(long, value_name = "FILE")]
    devices: String,
    /// How many switches are talked to at a time.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
}

/// Arguments of `switchwright push`.
#[derive(Debug, Args)]
pub(super) struct Push {
    #[command(flatten)]
    network: Network,
    /// Over what tables are filled [default: what the build's target has]. Another than that is
    /// refused.
    #[arg(long, value_enum, value_name = "API")]
    target: Option<Over>,
    /// Tell what would be written; write nothing.
    #[arg(long, conflicts_with_all = ["diff", "rollback"])]
    dry_run: bool,
    /// Show every entity that differs; write nothing. Exit status 1 if anything differs.
    #[arg(long, conflicts_with = "rollback")]
    diff: bool,
    /// Bring every switch back to what it held before the last push.
    #[arg(long)]
    rollback: bool,
    /// Replace another version of a failover plan without a packet lost: the new entries stand
    /// beside the old ones before packets are stamped anew (builds of different --plan-version).
    #[arg(long, conflicts_with_all = ["dry_run", "diff", "rollback", "continue_on_unreachable"])]
    versioned: bool,
    /// Push to the switches that can be reached instead of leaving all untouched.
    #[arg(long, conflicts_with_all = ["dry_run", "diff"])]
    continue_on_unreachable: bool,
    /// Become primary even if another client has a higher election id.
    #[arg(long, conflicts_with_all = ["dry_run", "diff"])]
    take_over: bool,
    /// Load the build's program where a switch runs another one, or another version. Without it
    /// such a switch is refused.
    #[arg(long)]
    replace_program: bool,
    /// Refuse to write unless this network has the cables of the plan: a folder of LLDP tables of
    /// the switches, or whatever `topo diff` reads. Exit status 1 if a cable is wrong.
    #[arg(long, value_name = "NETWORK", conflicts_with = "rollback")]
    verify_cabling: Option<String>,
    /// Where the journal is kept, from which --rollback works [default: the build directory's name
    /// with `.push`].
    #[arg(long, value_name = "JOURNAL", conflicts_with_all = ["dry_run", "diff"])]
    state: Option<PathBuf>,
}

/// Reads where the switches of a build are.
pub(super) fn read_devices(file: &str, desired: &Desired) -> Result<Devices, Fault> {
    let text = terminal::read(file)?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    Devices::parse(&text, folder, &desired.wanted()).input(file)
}

/// APIs, as `--target` names them.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Over {
    /// P4Runtime: BMv2, and Switchwright's own switch.
    P4runtime,
    /// BF Runtime: Tofino.
    Bfrt,
}

impl Network {
    /// What is wanted, and where.
    ///
    /// # Errors
    /// Files that cannot be read or do not fit together.
    pub(super) fn open(&self) -> Result<(Desired, Devices), Fault> {
        let desired = Desired::open(Path::new(&self.directory)).input(&self.directory)?;
        let devices = read_devices(&self.devices, &desired)?;
        Ok((desired, devices))
    }

    /// Switches at a time.
    pub(super) fn jobs(&self) -> usize {
        self.jobs.into()
    }

    /// `build` -> `build.push`, beside the directory however it is spelled.
    fn journal(&self) -> Result<PathBuf, Fault> {
        let whole = Path::new(&self.directory)
            .canonicalize()
            .input(&self.directory)?;
        let mut name = whole.file_name().unwrap_or_default().to_owned();
        name.push(".push");
        Ok(whole.with_file_name(name))
    }
}

/// A runtime for talking to switches.
///
/// # Errors
/// An operating system that gives no threads.
pub fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .input("starting threads")
}

impl Push {
    /// Refuses an API that the build is not for.
    fn over(&self, desired: &Desired) -> Result<(), Fault> {
        let (asked, instead) = match self.target {
            Some(Over::P4runtime) => (Api::P4Runtime, "v1model"),
            Some(Over::Bfrt) => (Api::BfRuntime, "tna` or `--target tna2"),
            None => return Ok(()),
        };
        let built = desired.pipeline.target;
        if built.api == asked {
            return Ok(());
        }
        Err(Fault::input(format!(
            "`{}` was built for target {}, whose tables are filled over {}, not {}",
            self.network.directory,
            built.target,
            built.api.name(),
            asked.name()
        ))
        .help(format!(
            "leave `--target` out, or build for the other: `switchwright build PLAN --target {instead}`"
        )))
    }

    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let (desired, devices) = self.network.open()?;
        self.over(&desired)?;
        if let Some(network) = &self.verify_cabling {
            cabling::verify(&self.network.directory, network, terminal)?;
        }
        let runtime = runtime()?;
        if self.dry_run || self.diff {
            let bar = terminal.counter("asking switches", devices.all().len());
            let told = tell(&bar, &[Step::Surveyed]);
            let jobs = self.network.jobs();
            if self.diff {
                let surveys = runtime.block_on(survey(&desired, &devices, jobs, &told));
                bar.finish_and_clear();
                return show_diff(&desired, &surveys, terminal);
            }
            let switches = runtime.block_on(dry_run(&desired, &devices, jobs, &told));
            bar.finish_and_clear();
            return show_dry_run(switches, terminal);
        }
        let options = PushOptions {
            jobs: self.network.jobs(),
            sessions: PushOptions::SESSIONS,
            continue_on_unreachable: self.continue_on_unreachable,
            take_over: self.take_over,
            replace_program: self.replace_program,
            journal: match &self.state {
                Some(path) => path.clone(),
                None => self.network.journal()?,
            },
            stop: Stop::default(),
        };
        let (what, steps): (_, &[Step]) = if self.rollback {
            ("rolling back", &[Step::Restored])
        } else {
            ("pushing", &[Step::Surveyed, Step::Applied])
        };
        let bar = terminal.counter(what, devices.all().len() * steps.len());
        let told = tell(&bar, steps);
        let (done, seconds) = timed(|| {
            runtime.block_on(async {
                listen(*terminal, self.rollback, options.stop.clone());
                let refused = |error: PushError| refuse(&error);
                if self.rollback {
                    rollback(&desired, &devices, &options, &told)
                        .await
                        .map_err(refused)
                } else if self.versioned {
                    let pushed = versioned::push(&desired, &devices, &options, &told).await;
                    pushed.map_err(refuse_versioned)
                } else {
                    push(&desired, &devices, &options, &told)
                        .await
                        .map_err(refused)
                }
            })
        });
        bar.finish_and_clear();
        conclude(
            &done?,
            &How {
                rollback: self.rollback,
                interrupted: options.stop.asked(),
                seconds,
            },
            terminal,
        )
    }
}

/// Waits for Ctrl-C and SIGTERM beside the work. The first lets a push bring every switch back; the
/// second ends the process.
fn listen(terminal: Terminal, rollback: bool, stop: Stop) {
    tokio::spawn(async move {
        use tokio::signal::unix::{SignalKind, signal};
        // Without handlers the signals end the process, as ever.
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        next().await;
        terminal.note(if rollback {
            "interrupted: switches are being brought back already; once more ends that"
        } else {
            "interrupted: every switch is brought back; once more ends that"
        });
        stop.ask();
        next().await;
        Fault::with(
            Status::Target,
            "interrupted while switches were being brought back: some may hold the new state and some the old",
        )
        .help("`switchwright push` brings all to the new state, `switchwright push --rollback` to the old")
        .print();
        std::process::exit(Status::Target as i32);
    });
}

/// How a push went about it.
struct How {
    rollback: bool,
    interrupted: bool,
    seconds: f64,
}

/// A listener that moves a bar.
fn tell(bar: &ProgressBar, steps: &[Step]) -> StepObserver {
    let (bar, steps) = (bar.clone(), steps.to_vec());
    Arc::new(move |step, _| {
        if steps.contains(&step) {
            bar.inc(1);
        }
    })
}

fn refuse(error: &PushError) -> Fault {
    match error {
        PushError::Journal(JournalError::Busy(_))
        | PushError::Before(_)
        | PushError::Interrupted => Fault::with(Status::Target, error),
        PushError::Journal(_) => Fault::input(error),
    }
}

fn refuse_versioned(error: VersionedError) -> Fault {
    match &error {
        VersionedError::Push(error) => refuse(error),
        VersionedError::Unknown { .. } => Fault::with(Status::Target, &error),
        _ => Fault::input(&error),
    }
}

/// What `push --json` prints.
#[derive(Serialize)]
struct Figures<'a> {
    #[serde(flatten)]
    report: &'a PushReport,
    seconds: f64,
}

fn conclude(report: &PushReport, how: &How, terminal: &Terminal) -> Result<(), Fault> {
    let &How {
        rollback,
        interrupted,
        seconds,
    } = how;
    let figures = Figures { report, seconds };
    terminal.result(&figures, || describe(report, rollback, seconds))?;
    let failed = report
        .switches
        .iter()
        .filter(|switch| switch.error.is_some());
    let lines: Vec<String> = failed
        .map(|s| format!("{}: {}", s.switch, s.error.as_deref().unwrap_or_default()))
        .collect();
    let lines = lines.join("\n");
    let refused = match report.outcome {
        Outcome::RolledBack if !rollback && interrupted && lines.is_empty() => {
            "interrupted; all switches are as they were"
        }
        Outcome::RolledBack if !rollback => "a switch refused; all switches are as they were",
        Outcome::Mixed if rollback => "not every switch could be brought back; try again",
        Outcome::Mixed => {
            "a switch refused, and not every switch could be brought back; push again, or --rollback"
        }
        _ if !lines.is_empty() => "switches were left out",
        _ => return Ok(()),
    };
    Err(Fault::with(Status::Target, format!("{refused}\n{lines}")))
}

/// What happened, for people.
fn describe(report: &PushReport, rollback: bool, seconds: f64) -> String {
    let verdict = match (report.outcome, rollback) {
        (Outcome::Unchanged, false) => {
            "every switch holds it already: nothing was written".to_owned()
        }
        (Outcome::Unchanged, true) => {
            "every switch is as it was before the push: nothing was written".to_owned()
        }
        (Outcome::Pushed, _) => {
            let updates = counted(report.written, "update");
            format!("{updates} written and read back")
        }
        (Outcome::RolledBack, true) => format!(
            "{} written: every switch is as it was before the push",
            counted(report.written, "update")
        ),
        (Outcome::RolledBack, false) => "rolled back".to_owned(),
        (Outcome::Mixed, _) => "not every switch is in a known state".to_owned(),
    };
    let mut text = list(&report.switches);
    for switch in &report.switches {
        for difference in &switch.differs {
            text.push_str(&format!("{}: {difference}\n", switch.switch));
        }
    }
    text + &format!("{verdict} ({seconds:.3} s)\n")
}

/// The switches as a table; of many, those that changed.
fn list(switches: &[SwitchReport]) -> String {
    let many = switches.len() > LISTED_MAX;
    let shown = switches
        .iter()
        .filter(|report| !many || report.outcome != SwitchOutcome::Unchanged);
    let rows: Vec<Vec<String>> = shown
        .map(|report| {
            vec![
                report.switch.clone(),
                report.address.clone(),
                outcome_name(report.outcome).to_owned(),
                report.pipeline.unwrap_or("").to_owned(),
                report.inserted.to_string(),
                report.modified.to_string(),
                report.deleted.to_string(),
                report.batches.to_string(),
                report.atomicity.unwrap_or("").to_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = [
        "switch",
        "address",
        "outcome",
        "program",
        "+",
        "~",
        "-",
        "batches",
        "atomicity",
    ];
    terminal::table(&header, &[4, 5, 6, 7], &rows)
}

const fn outcome_name(outcome: SwitchOutcome) -> &'static str {
    match outcome {
        SwitchOutcome::Unchanged => "unchanged",
        SwitchOutcome::Pushed => "pushed",
        SwitchOutcome::Unreachable => "unreachable",
        SwitchOutcome::Restored => "restored",
        SwitchOutcome::Lost => "not restored",
    }
}

/// What `push --dry-run --json` prints.
#[derive(Serialize)]
struct DryRun {
    /// Updates that a push would write; `null` where a switch cannot be reached.
    would_write: Option<usize>,
    /// Switches whose program it would load or replace; likewise.
    programs: Option<usize>,
    switches: Vec<SwitchReport>,
}

fn show_dry_run(switches: Vec<SwitchReport>, terminal: &Terminal) -> Result<(), Fault> {
    let reached = switches.iter().filter(|r| r.error.is_none());
    let updates = |r: &SwitchReport| r.inserted + r.modified + r.deleted;
    let would_write = reached.clone().map(updates).sum();
    let changes = |r: &&SwitchReport| r.pipeline != Some(PipelineChange::Same.name());
    let (known, programs) = (reached.clone().count(), reached.filter(changes).count());
    let all = known == switches.len();
    let plan = DryRun {
        would_write: all.then_some(would_write),
        programs: all.then_some(programs),
        switches,
    };
    terminal.result(&plan, || {
        let changing = plan
            .switches
            .iter()
            .filter(|r| r.outcome == SwitchOutcome::Pushed);
        let mut text = String::new();
        for report in changing {
            text.push_str(&format!(
                "{} ({}): {}{} to insert, {} to modify, {} to delete\n",
                report.switch,
                report.address,
                match report.pipeline {
                    Some("load") => "load the program, ",
                    Some("replace") => "replace the program, ",
                    _ => "",
                },
                report.inserted,
                report.modified,
                report.deleted
            ));
        }
        let updates = counted(would_write, "update");
        match plan.switches.len() - known {
            0 if text.is_empty() => "a push would write nothing".to_owned(),
            0 => text + &format!("a push would write {updates}"),
            _ if known == 0 => "what a push would write is unknown: no switch can be reached".to_owned(),
            lost => {
                let lost = counted(lost, "switch");
                text + &format!("a push would write {updates}, and what else is unknown: {lost} cannot be reached")
            }
        }
    })?;
    let lost = plan.switches.iter();
    let lost = lost.filter_map(|r| Some((r.switch.as_str(), r.error.clone()?)));
    unreachable(lost)
}

/// What `push --diff --json` prints.
#[derive(Serialize)]
struct DiffFigures {
    /// Whether a switch holds something else; `null` where none does that was reached, and not all
    /// were.
    differs: Option<bool>,
    switches: Vec<SwitchDiffFigures>,
}

#[derive(Serialize)]
struct SwitchDiffFigures {
    switch: String,
    address: String,
    pipeline: Option<&'static str>,
    changes: Vec<ChangeFigures>,
    error: Option<String>,
}

#[derive(Serialize)]
struct ChangeFigures {
    change: &'static str,
    entity: String,
}

fn show_diff(desired: &Desired, surveys: &[Survey], terminal: &Terminal) -> Result<(), Fault> {
    let differs = surveys
        .iter()
        .any(|survey| survey.found.as_ref().is_ok_and(|diff| !diff.is_empty()));
    let all_reached = surveys.iter().all(|survey| survey.found.is_ok());
    let figures = DiffFigures {
        differs: (differs || all_reached).then_some(differs),
        switches: surveys
            .iter()
            .map(|survey| diff_figures(desired, survey))
            .collect(),
    };
    terminal.result(&figures, || {
        diff_text(desired, surveys, terminal::colours())
    })?;
    let lost = surveys.iter().filter_map(|survey| {
        let error = survey.found.as_ref().err()?;
        Some((survey.device.name.as_str(), error.to_string()))
    });
    unreachable(lost)?;
    if differs {
        return Err(Fault::shown(Status::Failed));
    }
    Ok(())
}

fn diff_figures(desired: &Desired, survey: &Survey) -> SwitchDiffFigures {
    let change = |(kind, entity)| ChangeFigures {
        change: match kind {
            ChangeKind::Insert => "insert",
            ChangeKind::Modify => "modify",
            ChangeKind::Delete => "delete",
        },
        entity,
    };
    let found = survey.found.as_ref();
    SwitchDiffFigures {
        switch: survey.device.name.clone(),
        address: survey.device.endpoint.address.clone(),
        pipeline: found.ok().map(|diff| diff.pipeline.name()),
        changes: found
            .map(|diff| {
                diff.lines(&desired.pipeline.info)
                    .into_iter()
                    .map(change)
                    .collect()
            })
            .unwrap_or_default(),
        error: found.err().map(ToString::to_string),
    }
}

/// The diff for people: only switches that differ.
fn diff_text(desired: &Desired, surveys: &[Survey], colours: bool) -> String {
    let mut text = String::new();
    for survey in surveys {
        let Ok(diff) = &survey.found else {
            continue;
        };
        if diff.is_empty() {
            continue;
        }
        let device = &survey.device;
        text.push_str(&format!(
            "{} ({}, device {})\n",
            device.name, device.endpoint.address, device.endpoint.device_id
        ));
        match diff.pipeline {
            PipelineChange::Same => {}
            PipelineChange::Load => text.push_str(&paint(
                ChangeKind::Insert,
                &format!("program {}", desired.pipeline.name),
                colours,
            )),
            PipelineChange::Replace => text.push_str(&paint(
                ChangeKind::Modify,
                &format!("program {} (another is loaded)", desired.pipeline.name),
                colours,
            )),
        }
        for (kind, line) in diff.lines(&desired.pipeline.info) {
            text.push_str(&paint(kind, &line, colours));
        }
    }
    if text.is_empty() && surveys.iter().all(|survey| survey.found.is_ok()) {
        text.push_str("no differences\n");
    }
    text
}

/// A line of a diff, green, yellow or red.
fn paint(kind: ChangeKind, line: &str, colours: bool) -> String {
    let mark = kind.mark();
    if !colours {
        return format!("  {mark} {line}\n");
    }
    let colour = match kind {
        ChangeKind::Insert => 32,
        ChangeKind::Modify => 33,
        ChangeKind::Delete => 31,
    };
    format!("  \x1b[{colour}m{mark} {line}\x1b[0m\n")
}

/// Refuses with the switches that could not be asked.
fn unreachable<'a>(lost: impl Iterator<Item = (&'a str, String)>) -> Result<(), Fault> {
    let lines: Vec<String> = lost
        .map(|(switch, error)| format!("{switch}: {error}"))
        .collect();
    if lines.is_empty() {
        Ok(())
    } else {
        Err(Fault::with(Status::Target, lines.join("\n")))
    }
}

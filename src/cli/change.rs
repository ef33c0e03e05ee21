//! `switchwright change`: the steps from one proven plan to another, each proven.

use std::sync::Arc;

use clap::Args;
use plan::Verdict;
use plan::check::Options;
use plan::check::change::{self, Change, ChangeFailure, ChangeReport, CheckedChange, StepReport};
use schemes::{FoundChange, LossyChange, Means, NoChange, find_change};
use serde::Serialize;

use super::fault::{Context, Fault, Status};
use super::plan_file::load;
use super::terminal::{self, Terminal};
use super::words::counted;

/// Arguments of `switchwright change`.
#[derive(Debug, Args)]
pub(super) struct ChangeCommand {
    /// The plan file that switches follow now.
    old: String,
    /// The plan file that they are to follow.
    new: String,
    /// The change file to write.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write the new plan as it is after the change: its codes and priorities may be others.
    #[arg(long, value_name = "FILE")]
    new_plan: Option<String>,
    /// Leave out budgets: is there a change apart from what the switches have?
    #[arg(long)]
    no_budgets: bool,
    /// If nothing else helps, let lossless classes be lossy while the rules change.
    #[arg(long)]
    allow_lossy: bool,
}

/// What `change --json` and `check --json` print of a change.
#[derive(Serialize)]
struct Figures<'a> {
    /// How the change is made; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    means: Option<&'static str>,
    #[serde(flatten)]
    report: &'a ChangeReport,
}

/// What `change --json` prints where there is no change.
#[derive(Serialize)]
struct Refused {
    proven: bool,
    tried: Vec<Tried>,
}

/// Means that were tried in vain.
#[derive(Serialize)]
struct Tried {
    means: &'static str,
    error: String,
}

impl ChangeCommand {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let (old, new) = (load(&self.old)?, load(&self.new)?);
        let watch = terminal.watch("looking for steps");
        let options = Options {
            budgets: !self.no_budgets,
            progress: Arc::clone(watch.progress()),
            ..Options::default()
        };
        for (path, plan) in [(&self.old, &old), (&self.new, &new)] {
            plan::check(plan.clone(), &options).map_err(|failure| {
                Fault::with(failure.fault().into(), format!("{path}: {failure}"))
            })?;
        }
        let lossy = match self.allow_lossy {
            true => LossyChange::IfNeeded,
            false => LossyChange::Never,
        };
        let found = find_change(&old, &new, &options, lossy);
        let found = found.map_err(|none| refuse(&none, self.allow_lossy, terminal))?;
        let FoundChange { change, means } = found;
        // The search is not trusted: every plan and every step is proven from the tables.
        let proven = change::check(change, &options);
        drop(watch);
        let proven = proven.map_err(|failure| refuse_file(&failure, terminal))?;
        if let Some(place) = &self.output {
            terminal::write(place, &proven.change().to_json())?;
        }
        if let (Some(place), Some(last)) = (&self.new_plan, proven.change().plans.last()) {
            terminal::write(place, &last.to_json())?;
        }
        tell(&proven, Some(means), terminal)
    }
}

/// Proves a change file.
///
/// # Errors
/// A file that is none, or a change that is refused.
pub(super) fn check_file(
    path: &str,
    text: &str,
    options: &Options,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let change = Change::from_json(text).input(path)?;
    let proven = change::check(change, options);
    let proven = proven.map_err(|failure| refuse_file(&failure, terminal))?;
    tell(&proven, None, terminal)
}

fn refuse_file(failure: &ChangeFailure, terminal: &Terminal) -> Fault {
    if terminal.json {
        let report = &failure.report;
        let _ = terminal.result(
            &Figures {
                means: None,
                report,
            },
            String::new,
        );
    }
    Fault::with(failure.fault().into(), failure)
}

/// Says why there is no change. Plans that are no two states of one network are wrong input.
fn refuse(none: &NoChange, lossy_allowed: bool, terminal: &Terminal) -> Fault {
    if terminal.json {
        let tried = none.tried.iter().map(|(means, error)| Tried {
            means: means.name(),
            error: error.to_string(),
        });
        let refused = Refused {
            proven: false,
            tried: tried.collect(),
        };
        let _ = terminal.result(&refused, String::new);
    }
    let faults = none.tried.iter().map(|(_, error)| error.fault());
    if faults.min() == Some(plan::Fault::Input) {
        return Fault::input(none);
    }
    let fault = Fault::with(Status::Target, format!("no change is proven\n{none}"));
    match lossy_allowed {
        true => fault,
        false => fault.help(
            "give switches more lossless priorities or buffer, or allow a time without lossless transport by --allow-lossy",
        ),
    }
}

fn tell(proven: &CheckedChange, means: Option<Means>, terminal: &Terminal) -> Result<(), Fault> {
    let report = proven.report();
    let figures = Figures {
        means: means.map(Means::name),
        report,
    };
    terminal.summary(&figures, || describe(report, means))?;
    match report.verdict {
        Verdict::Sampled => Err(Fault::shown(Status::Sampled)),
        Verdict::Proven | Verdict::Refuted => Ok(()),
    }
}

/// A change in words, and its steps as a table.
fn describe(report: &ChangeReport, means: Option<Means>) -> String {
    // The number of steps says it already if there is one.
    let how = means.filter(|means| *means != Means::OneStep);
    let how = how.map_or_else(String::new, |means| format!(" {}", means.describe()));
    let word = match report.verdict {
        Verdict::Sampled => "Nothing wrong was found",
        Verdict::Proven | Verdict::Refuted => "Proven",
    };
    let most = report.priorities.map_or_else(String::new, |most| {
        format!("; at most {} at once", counted(most, "lossless priority"))
    });
    let steps = counted(report.steps.len(), "step");
    let mut text = format!("{word}: {steps}{how}{most}.\n");
    let lossy = (1..).zip(&report.steps).filter(|(_, step)| step.lossy);
    let lossy: Vec<String> = lossy.map(|(number, _)| number.to_string()).collect();
    if !lossy.is_empty() {
        let steps = lossy.join(" and ");
        text.push_str(&format!(
            "Lossless classes are lossy in steps {steps}; they cannot deadlock.\n"
        ));
    }
    let header = [
        "step",
        "switches",
        "inserted",
        "deleted",
        "hosts",
        "forwarding",
        "drain",
        "buffers",
        "dependencies",
    ];
    let rows: Vec<Vec<String>> = (1..)
        .zip(&report.steps)
        .map(|(n, step)| row(n, step))
        .collect();
    text.push('\n');
    text.push_str(&terminal::table(&header, &[0, 1, 2, 3, 7, 8], &rows));
    text
}

fn row(number: usize, step: &StepReport) -> Vec<String> {
    let word = |is: bool, what: &str| if is { what.to_owned() } else { String::new() };
    let graph = |figure: fn(&plan::check::GraphSize) -> u64| {
        let graph = step.graph.as_ref();
        graph.map_or_else(|| "-".to_owned(), |graph| figure(graph).to_string())
    };
    vec![
        number.to_string(),
        step.switches.to_string(),
        step.inserted.to_string(),
        step.deleted.to_string(),
        word(step.hosts, "change"),
        word(step.forwarding, "changes"),
        word(step.drain, "drain"),
        graph(|graph| graph.buffers),
        graph(|graph| graph.dependencies),
    ]
}

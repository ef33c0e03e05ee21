//! What `check --against` prints: what differs, what that means for what is built, the verdict.

use plan::check::Options;
use plan::check::against::{Against, AgainstReport};
use plan::{CheckFailure, CheckReport, Verdict};
use serde::Serialize;

use super::super::fault::{Fault, Status};
use super::super::terminal::{self, Terminal};
use super::super::words::counted;

/// Lines of one kind that are printed; `--json` has all.
const LINES_MAX: usize = 12;
/// Switches that a line names.
const SWITCHES_MAX: usize = 4;

/// What `check --against --json` prints.
#[derive(Serialize)]
struct Figures<'a> {
    #[serde(flatten)]
    report: &'a CheckReport,
    against: &'a AgainstReport,
}

/// Prints what was found of a plan on a network. With `options` the plan is proven for its own
/// network too, if it does not hold on this one.
///
/// # Errors
/// Whatever does not hold on the network.
pub(super) fn tell(
    against: &Against,
    outcome: Result<CheckReport, Box<CheckFailure>>,
    options: Option<&Options>,
    seconds: f64,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let refused = outcome.as_ref().err().cloned();
    let (report, mut about) = against.conclude(outcome);
    let report = report.timed(seconds);
    if about.equal
        && let Some(failure) = refused
    {
        // The network is the plan's: it is the plan that is refused.
        return Err(super::refuse(&failure, terminal));
    }
    if !about.holds
        && let Some(options) = options
    {
        let own = plan::check(against.plan().clone(), options);
        about.plan = Some(own.map_or(Verdict::Refuted, |plan| plan.report().verdict));
    }
    let figures = Figures {
        report: &report,
        against: &about,
    };
    terminal.summary(&figures, || describe(against, &report, &about))?;
    match report.verdict {
        _ if !about.holds => Err(Fault::with(Status::Failed, broken(&about))
            .help("correct the cables, or plan for this network: `switchwright plan`")),
        Verdict::Sampled => Err(Fault::shown(Status::Sampled)),
        Verdict::Proven | Verdict::Refuted => Ok(()),
    }
}

/// The promises that break, a line each.
fn broken(about: &AgainstReport) -> String {
    let own = match about.plan {
        Some(Verdict::Refuted) => "the plan is refuted for its own network too",
        Some(Verdict::Sampled) => "nothing wrong was found of the plan on its own network",
        Some(Verdict::Proven) => "the plan is proven for its own network",
        None => "nothing is said of the plan on its own network",
    };
    let count = about.broken.len();
    let verb = if count == 1 { "breaks" } else { "break" };
    format!(
        "{own}; this network differs, and {} {verb}:\n{}",
        counted(count, "promise"),
        lines(&about.broken, "  ")
    )
}

/// The first few of some lines, and how many more there are.
fn lines(all: &[impl ToString], indent: &str) -> String {
    let shown = all.iter().take(LINES_MAX);
    let mut lines: Vec<String> = shown
        .map(|line| format!("{indent}{}", line.to_string()))
        .collect();
    if all.len() > LINES_MAX {
        let more = all.len() - LINES_MAX;
        lines.push(format!("{indent}... and {more} more (`--json` has all)"));
    }
    lines.join("\n")
}

fn describe(against: &Against, report: &CheckReport, about: &AgainstReport) -> String {
    let name = &about.difference.b;
    let tables = against.tables();
    if about.equal {
        let proof = super::describe(tables, report);
        return format!("`{name}` is the network of the plan\n{proof}");
    }
    let differences = about.difference.to_string();
    let differences: Vec<&str> = differences.lines().collect();
    let mut text = format!(
        "`{name}` differs from the network of the plan in {}:\n{}\n",
        counted(about.difference.items.len(), "place"),
        lines(&differences, "  ")
    );
    text.push_str("what that means for what is built from the plan:\n");
    text.push_str(&terminal::facts(&meaning(about)));
    if about.holds {
        let word = match report.verdict {
            Verdict::Sampled => "nothing wrong was found for this network either",
            _ => "proven also for this network",
        };
        text.push_str(&format!("{word}:\n{}", super::describe(tables, report)));
    }
    text
}

/// The consequences, a fact for each kind.
fn meaning(about: &AgainstReport) -> Vec<(&'static str, String)> {
    let list = |all: &[String], none: &str| match all {
        [] => none.to_owned(),
        all => lines(all, "             ").trim_start().to_owned(),
    };
    let entries: Vec<String> = about.entries.iter().map(ToString::to_string).collect();
    let rules: Vec<String> = about.tag_rules.iter().map(ToString::to_string).collect();
    let short: Vec<String> = about.headroom.iter().map(ToString::to_string).collect();
    let mut facts = vec![
        (
            "entries",
            list(&entries, "all send to the nodes that they were made for"),
        ),
        (
            "tag rules",
            list(
                &rules,
                "all match packets between the nodes that they were made for",
            ),
        ),
        ("headroom", list(&short, "as large as the cables need")),
    ];
    if let Some(stranded) = &about.stranded {
        let named = &stranded.switches[..stranded.switches.len().min(SWITCHES_MAX)];
        let more = if named.len() < stranded.switches.len() {
            ", ..."
        } else {
            ""
        };
        facts.push((
            "down",
            format!(
                "{} of {}{more} have no live next hop; the verdict is for forwarding that has converged on what is up",
                counted(stranded.entries, "entry"),
                named.join(", ")
            ),
        ));
    }
    facts
}

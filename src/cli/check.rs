//! `switchwright check`: the independent proof of a plan file.

mod against;

use std::sync::Arc;

use clap::Args;
use p4gen::build::Digest;
use plan::check::against::Against;
use plan::check::change::Change;
use plan::check::{FailureOptions, Options, PartReport, Resilience, WalkedShare};
use plan::{CheckFailure, CheckReport, CheckedPlan, PlanFileError, Tables, Verdict};
use topology::Topology;

use super::fault::{Context, Fault, Status};
use super::given::Given;
pub(super) use super::plan_file::{load, load_built};
use super::shard::{Sharding, ShareResult, Work};
use super::terminal::{self, Terminal};
use super::words::counted;
use super::{assumed, change, topo};
use measure::timed;

const FAILOVER: &str = "Failover tables";

/// Arguments of `switchwright check`.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The plan file, or a change file (`switchwright change`).
    plan: String,
    /// Examine what is built from the plan on this network instead of the plan's own: a topology
    /// file, a folder of LLDP tables or SONiC configurations, or whatever `topo diff` reads. First
    /// lists what differs.
    #[arg(long, value_name = "NETWORK")]
    against: Option<String>,
    /// Refuse a network of which rates, lengths, buffers or the MTU are assumed.
    #[arg(long)]
    strict: bool,
    /// Leave out budgets: are the tables sound apart from what the switches have?
    #[arg(long)]
    no_budgets: bool,
    /// Write the certificate of a proven plan: its buffers in an order in which each waits for
    /// later ones only.
    #[arg(long, value_name = "FILE")]
    certificate: Option<String>,
    /// The most links (or switches) that fail at once [default: as many as the plan claims].
    #[arg(long, value_name = "K", help_heading = FAILOVER)]
    failures: Option<u32>,
    /// Walks after which sets of failures are drawn rather than all explored.
    #[arg(long, value_name = "N", default_value_t = FailureOptions::default().most_walks, help_heading = FAILOVER)]
    most_walks: u64,
    /// How many sets of failures to draw then.
    #[arg(long, value_name = "N", default_value_t = FailureOptions::default().samples, help_heading = FAILOVER)]
    samples: u32,
    /// Seed of the drawing.
    #[arg(long, default_value_t = 1, help_heading = FAILOVER)]
    seed: u64,
    #[command(flatten)]
    sharding: Sharding,
}

impl Check {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let text = terminal::read(&self.plan)?;
        let tables = match Tables::from_json(&text) {
            Err(PlanFileError::Format { found }) if found.contains(Change::FORMAT) => {
                return self.check_change(&text, given, terminal);
            }
            read => read.input(&self.plan)?,
        };
        let subject = put_on(tables, self.against.as_deref())?;
        let tables = subject.tables();
        if tables.failover.is_none() {
            let about = [
                "failures",
                "most_walks",
                "samples",
                "seed",
                "shard",
                "shards",
            ];
            given.refuse_all(&about, "here: this plan has no failover tables")?;
        } else if !tables.has_tags() {
            let about = ["no_budgets", "certificate"];
            given.refuse_all(&about, "here: this plan has no lossless tags")?;
        }
        assumed::refuse(self.strict, &tables.topology.assumptions(), Status::Failed)?;
        let watch = terminal.watch("proving");
        let options = Options {
            budgets: !self.no_budgets,
            failures: self.failures(),
            progress: Arc::clone(watch.progress()),
        };
        if self.against.is_some() {
            given.refuse_all(&["certificate"], "with `--against`")?;
        }
        if self.sharding.wanted() {
            given.refuse_all(&["certificate"], "with `--shard`")?;
            return self.sharding.run(self.work()?, terminal, |share| {
                let (walked, seconds) = timed(|| plan::check::walk_share(tables, &options, share));
                drop(watch);
                let walked = walked.map_err(|failure| refuse(&failure, terminal))?;
                Ok((ShareResult::Check(walked), seconds))
            });
        }
        let tables = match subject {
            Subject::Own(tables) => tables,
            Subject::On(on) => {
                let (outcome, seconds) = timed(|| on.check(&options));
                drop(watch);
                return against::tell(&on, outcome, Some(&options), seconds, terminal);
            }
        };
        let (outcome, seconds) = timed(|| plan::check(*tables, &options));
        drop(watch);
        match outcome {
            Ok(plan) => {
                let report = plan.report().timed(seconds);
                let told = tell(&report, terminal, || describe(plan.tables(), &report));
                if let Some(place) = &self.certificate {
                    certify(&plan, place)?;
                }
                // The process ends: freeing a large plan name by name would take a twentieth of its
                // time.
                std::mem::forget(plan);
                told
            }
            Err(failure) => {
                let mut failure = *failure;
                failure.report = failure.report.timed(seconds);
                Err(refuse(&failure, terminal))
            }
        }
    }
}

/// Writes the certificate of a plan.
fn certify(plan: &CheckedPlan, place: &str) -> Result<(), Fault> {
    let Some(certificate) = plan.certificate() else {
        return Err(Fault::input("this plan has no lossless tags to certify"));
    };
    let digest = Digest::of(plan.tables().to_json().as_bytes());
    terminal::write(place, &certificate.to_json(&digest.to_string()))
}

impl Check {
    fn check_change(self, text: &str, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let of_plans = [
            "against",
            "strict",
            "certificate",
            "failures",
            "most_walks",
            "samples",
            "seed",
            "shard",
            "shards",
        ];
        given.refuse_all(&of_plans, "here: this is a change file")?;
        let watch = terminal.watch("proving");
        let options = Options {
            budgets: !self.no_budgets,
            progress: Arc::clone(watch.progress()),
            ..Options::default()
        };
        change::check_file(&self.plan, text, &options, terminal)
    }

    fn failures(&self) -> FailureOptions {
        FailureOptions {
            failures: self.failures,
            most_walks: self.most_walks,
            samples: self.samples,
            seed: self.seed,
        }
    }

    /// All that the outcome depends on.
    fn work(&self) -> Result<Work, Fault> {
        Ok(Work::Check {
            plan: Work::input(&self.plan)?,
            against: self.against.as_deref().map(Work::input).transpose()?,
            no_budgets: self.no_budgets,
            failures: self.failures,
            most_walks: self.most_walks,
            samples: self.samples,
            seed: self.seed,
        })
    }
}

/// The outcome of a check that was shared out.
///
/// # Errors
/// As `check`, and shares that are not of the plan.
pub(super) fn merged(
    work: &Work,
    shares: &[WalkedShare],
    seconds: f64,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let Work::Check {
        plan,
        against,
        no_budgets,
        failures,
        most_walks,
        samples,
        seed,
    } = work
    else {
        return Err(Fault::input("these are no shares of `check`"));
    };
    let subject = put_on(
        load(&plan.path)?,
        against.as_ref().map(|input| input.path.as_str()),
    )?;
    let tables = subject.tables();
    let options = Options {
        budgets: !no_budgets,
        failures: FailureOptions {
            failures: *failures,
            most_walks: *most_walks,
            samples: *samples,
            seed: *seed,
        },
        ..Options::default()
    };
    let outcome = plan::check::check_shares(tables, &options, shares).map_err(Fault::input)?;
    if let Subject::On(on) = &subject {
        return against::tell(on, outcome, None, seconds, terminal);
    }
    match outcome {
        Ok(report) => {
            let report = report.timed(seconds);
            tell(&report, terminal, || describe_failover(tables, &report))
        }
        Err(failure) => {
            let mut failure = *failure;
            failure.report = failure.report.timed(seconds);
            Err(refuse(&failure, terminal))
        }
    }
}

/// Tells of tables in which nothing wrong was found.
fn tell(
    report: &CheckReport,
    terminal: &Terminal,
    describe: impl FnOnce() -> String,
) -> Result<(), Fault> {
    terminal.summary(report, describe)?;
    match report.verdict {
        Verdict::Sampled => Err(Fault::shown(Status::Sampled)),
        Verdict::Proven | Verdict::Refuted => Ok(()),
    }
}

/// What is examined.
enum Subject {
    /// A plan for its own network.
    Own(Box<Tables>),
    /// A plan on another network.
    On(Box<Against>),
}

impl Subject {
    fn tables(&self) -> &Tables {
        match self {
            Self::Own(tables) => tables,
            Self::On(against) => against.tables(),
        }
    }
}

/// Puts the tables of a plan on another network if one is named.
fn put_on(tables: Tables, against: Option<&str>) -> Result<Subject, Fault> {
    let Some(path) = against else {
        return Ok(Subject::Own(Box::new(tables)));
    };
    let against = Against::new(tables, &topo::network(path)?).input(path)?;
    Ok(Subject::On(Box::new(against)))
}

/// Proves tables, or prints why not.
///
/// # Errors
/// A refusal, with the exit status of its worst error.
pub fn prove(tables: Tables, terminal: &Terminal) -> Result<CheckedPlan, Fault> {
    plan::check(tables, &Options::default()).map_err(|failure| refuse(&failure, terminal))
}

/// All errors of a refused plan as one fault; with `--json` its report is printed.
pub(super) fn refuse(failure: &CheckFailure, terminal: &Terminal) -> Fault {
    if terminal.json {
        let _ = terminal.result(&failure.report, String::new);
    }
    Fault::with(failure.fault().into(), failure)
}

/// What was shown of failover tables, in words.
pub(super) fn describe_resilience(found: &Resilience) -> String {
    if found.walks == 0 && found.lost == 0 {
        return "no packet was followed: no path joins two switches with hosts".to_owned();
    }
    let stretch = found.stretch_max.unwrap_or(1.0);
    let held = format!(
        "by {}: every packet that has a path arrives, none circulates, stretch at most {stretch:.2}",
        counted(found.walks, "walk")
    );
    if !found.parts.is_empty() {
        return describe_parts(found, &held);
    }
    match found.sample {
        None if found.sets_checked == 1 => format!("the one set of no failures, {held}"),
        None => format!(
            "all {} of at most {}, {held}",
            counted(found.sets_checked, "set"),
            counted(found.checked_failures, "failure")
        ),
        Some(sample) => format!(
            "all sets of at most {}, and {} of {}, half of them drawn at random and half of neighbours, {held}; \
             a fault in {} % of the sets would have been missed with a probability of {:.2}",
            counted(found.exhaustive_failures, "failure"),
            counted(sample.sets, "set"),
            found.checked_failures,
            sample.share * 100.0,
            sample.missed
        ),
    }
}

/// What was shown of each kind of destinations, where they differ in how their packets survive
/// failures.
fn describe_parts(found: &Resilience, held: &str) -> String {
    let tried = |part: &PartReport| {
        let to = format!(
            "to {} by {}",
            counted(part.destinations, "destination"),
            part.label.describe()
        );
        let all = format!(
            "{to}, all sets of at most {}",
            counted(part.exhaustive_failures, "failure")
        );
        match found.sample {
            Some(sample) if part.exhaustive_failures < part.checked_failures => format!(
                "{all}, and {} of {}",
                counted(sample.sets, "set"),
                part.checked_failures
            ),
            _ => all,
        }
    };
    let tried: Vec<String> = found.parts.iter().map(tried).collect();
    let all = format!("{}; {held}", tried.join("; "));
    match found.sample {
        None => all,
        Some(sample) => format!(
            "{all}; half of the sets that are not all were drawn at random and half of neighbours, and a fault in {} % of the sets \
             would have been missed with a probability of {:.2}",
            sample.share * 100.0,
            sample.missed
        ),
    }
}

/// The lossless priorities of a failover plan, in words.
pub(super) fn describe_lossless(tables: &Tables, report: &CheckReport) -> String {
    let priorities = report.lossless_priorities;
    let kept = format!(
        "what arrives was lossless on its whole way; {}, carried in {}",
        counted(priorities, "priority"),
        tables.carrier.kind.name()
    );
    match report.resilience.priorities_at_least {
        Some(least) if least as usize == priorities => format!("{kept}, and fewer cannot do"),
        Some(2) => format!("{kept}; one alone would close a cycle"),
        _ => kept,
    }
}

/// How many pairs of switches have a promised route, in words.
pub(super) fn describe_promised(report: &CheckReport) -> String {
    let Some(found) = &report.promised else {
        return "cannot be counted".to_owned();
    };
    if found.pairs == 0 {
        return "no two switches have hosts, so nothing is promised between switches".to_owned();
    }
    let all = format!(
        "{} of {} of switches with hosts",
        found.with_route,
        counted(found.pairs, "pair")
    );
    if found.without_route == 0 {
        return all;
    }
    let first = found.first_without.iter().take(NAMED_WAYS);
    let named: Vec<String> = first
        .map(|pair| format!("`{}` to `{}`", pair.from, pair.to))
        .collect();
    let more = if found.without_route as usize > named.len() {
        ", ..."
    } else {
        ""
    };
    format!(
        "{all}; {} without one: {}{more}",
        counted(found.without_route, "pair"),
        named.join(", ")
    )
}

/// The pairs without any way, if there are some: nothing is shown of those.
pub(super) fn gaps(report: &CheckReport) -> Option<(&'static str, String)> {
    let found = report.promised.as_ref()?;
    found
        .has_gaps()
        .then(|| ("joined", describe_promised(report)))
}

/// What of the promises was shown, in words: nothing is said of promises that there are not.
pub(super) fn describe_kept(report: &CheckReport) -> String {
    match &report.promised {
        Some(found) if found.with_route == 0 => {
            "no pair of switches has a promised route".to_owned()
        }
        Some(found) if found.without_route > 0 => format!(
            "every promised route stays lossless, but {} of switches {} none",
            counted(found.without_route, "pair"),
            if found.without_route == 1 {
                "has"
            } else {
                "have"
            }
        ),
        _ => "every promised route stays lossless".to_owned(),
    }
}

/// How many lossy ways are named in words; `--json` has them all.
const NAMED_WAYS: usize = 3;

/// Whether the plan's own forwarding stays lossless, in words.
pub(super) fn describe_forwarding(report: &CheckReport) -> String {
    let Some(found) = &report.forwarding else {
        return "not computed".to_owned();
    };
    if found.pairs == 0 {
        return "no two switches have hosts, so nothing goes from switch to switch".to_owned();
    }
    if found.lossy == 0 {
        return format!(
            "stays lossless for all {} of switches with hosts",
            counted(found.pairs, "pair")
        );
    }
    let named = found.lossy_ways.iter().take(NAMED_WAYS).map(|way| {
        format!(
            "{} to `{}` at `{}` from port {} to port {}",
            way.class,
            way.to,
            way.switches.join(" > "),
            way.in_port,
            way.out_port
        )
    });
    let named: Vec<String> = named.collect();
    format!(
        "leaves the promised routes and turns lossy for {} of {} of switches with hosts: {}{}",
        found.lossy,
        counted(found.pairs, "pair"),
        named.join("; "),
        if found.lossy as usize > NAMED_WAYS {
            "; ..."
        } else {
            ""
        }
    )
}

/// Says so if packets turn lossy as the plan forwards them.
pub(super) fn note_forwarding(plan: &CheckedPlan, terminal: &Terminal) {
    let report = plan.report();
    if report
        .forwarding
        .as_ref()
        .is_some_and(|found| found.lossy > 0)
    {
        terminal.note(format_args!("forwarding {}", describe_forwarding(&report)));
    }
}

/// The size of a network, in words.
fn size(topology: &Topology) -> String {
    format!(
        "{}, {}",
        counted(topology.switches().len(), "switch"),
        counted(topology.hosts().len(), "host")
    )
}

fn describe(plan: &Tables, report: &CheckReport) -> String {
    if plan.failover.is_some() {
        return describe_failover(plan, report);
    }
    let condition = assumed::condition(&report.assumed);
    let mut facts = vec![
        ("proven", size(&plan.topology) + &condition),
        (
            "deadlock",
            "no cyclic buffer dependency, whatever the routing and the hosts".to_owned(),
        ),
        (
            "tags",
            "never fall between switches; each has a lossless priority of its own".to_owned(),
        ),
        (
            "promised",
            format!("lossless from end to end: {}", plan.promised()),
        ),
        ("promised to", describe_promised(report)),
        ("forwarding", describe_forwarding(report)),
        ("tables", "single-valued, within the budgets".to_owned()),
    ];
    facts.extend(assumed::facts(&report.assumed));
    facts.push(("checked in", format!("{:.3} s", report.seconds)));
    terminal::facts(&facts)
}

fn describe_failover(tables: &Tables, report: &CheckReport) -> String {
    let mut facts = vec![
        (
            report.verdict.name(),
            size(&tables.topology) + &assumed::condition(&report.assumed),
        ),
        ("failures", describe_resilience(&report.resilience)),
    ];
    facts.extend(gaps(report));
    if tables.has_tags() {
        facts.push((
            "deadlock",
            "no cyclic buffer dependency, over all states of failure at once and whatever the hosts".to_owned(),
        ));
        facts.push(("lossless", describe_lossless(tables, report)));
    }
    facts.extend(assumed::facts(&report.assumed));
    facts.push(("checked in", format!("{:.3} s", report.seconds)));
    terminal::facts(&facts)
}

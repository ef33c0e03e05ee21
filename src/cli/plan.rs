//! `switchwright plan`: tables for a topology, proven before they are written.

use std::sync::Arc;

use clap::Args;
use plan::check::Options;
use plan::{CheckedPlan, FailoverSummary, PlanSummary};
use schemes::{Algorithm, TAGS_AT_LEAST};
use spec::{Choice as _, Named, PlanError, PlanSpec, RouteName, RoutesSpec, Spelling};
use topology::routes::{RoutePolicy, parse_routes};

use super::fault::{Context, Fault, Status};
use super::terminal::{self, Terminal};
use super::words::counted;
use super::{assumed, check, topo};
use measure::timed;

/// How long the search of `--algorithm optimal` lasts, in seconds, unless `--time-limit` is given.
const TIME_LIMIT: u64 = 60;

/// Arguments of `switchwright plan`.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// The topology file.
    topology: String,
    #[command(flatten)]
    spec: PlanSpec,
    /// The plan file to write; without it the plan is only computed, proven and reported.
    #[arg(short, long, value_name = "PLAN")]
    output: Option<String>,
    /// Write the plan even if its proof fails, for `check` and other tools; the exit status
    /// is that of the refusal.
    #[arg(long, requires = "output")]
    unproven: bool,
    /// Refuse a network of which rates, lengths, buffers or the MTU are assumed.
    #[arg(long)]
    strict: bool,
}

impl Plan {
    pub(super) fn run(mut self, terminal: &Terminal) -> Result<(), Fault> {
        if self.spec.algorithm == Some(Named(Algorithm::Optimal)) {
            self.spec.time_limit.get_or_insert(TIME_LIMIT);
        }
        self.read_routes()?;
        let scheme = self.spec.validate(Spelling::CommandLine).map_err(refuse)?;
        let topology = self.spec.settle(topo::load(&self.topology)?);
        assumed::refuse(self.strict, &topology.assumptions(), Status::Failed)?;
        let watch = terminal.watch("planning");
        let progress = watch.progress();
        let (made, seconds) = timed(|| {
            scheme
                .tables(&topology, Spelling::CommandLine, progress)
                .map_err(refuse)
        });
        let tables = made?;
        watch.say("proving");
        let options = Options {
            progress: Arc::clone(watch.progress()),
            ..Options::default()
        };
        let kept = self.unproven.then(|| tables.clone());
        let proven = plan::check(tables, &options);
        drop(watch);
        let plan = match (proven, kept, &self.output) {
            (Ok(plan), ..) => plan,
            (Err(failure), Some(tables), Some(output)) => {
                terminal::write(output, &tables.to_json())?;
                return Err(check::refuse(&failure, terminal));
            }
            (Err(failure), ..) => return Err(check::refuse(&failure, terminal)),
        };
        if let Some(output) = &self.output {
            terminal::write(output, &plan.tables().to_json())?;
            if output == "-" {
                return Ok(());
            }
        }
        let mut summary = plan.summary(seconds);
        if terminal.json {
            summary = summary.counting_routes(&plan);
            check::note_forwarding(&plan, terminal);
        }
        let text = || describe(&plan, &summary);
        match self.output {
            Some(_) => terminal.summary(&summary, text)?,
            None => terminal.result(&summary, text)?,
        }
        if self.output.is_none() {
            terminal.note("nothing was written; keep the plan with `-o PLAN`");
        }
        Ok(())
    }

    /// Reads the file of routes, if one is named.
    fn read_routes(&mut self) -> Result<(), Fault> {
        let Some(RoutesSpec::File(path)) = &self.spec.routes else {
            return Ok(());
        };
        let text = terminal::read(path).map_err(|fault| {
            let names = RouteName::names().join(", ");
            fault.help(format!("--routes takes {names}, or a file of routes"))
        })?;
        let routes = parse_routes(&text).input(path)?;
        if routes.is_empty() {
            return Err(Fault::input(format!("{path}: there is no route in it"))
                .help("write a route a line, or promise a kind of routes (`--routes shortest`)"));
        }
        self.spec.routes = Some(RoutesSpec::Policy(RoutePolicy::Explicit { routes }));
        Ok(())
    }
}

/// A refused option or topology.
fn refuse(error: PlanError) -> Fault {
    let (problem, help) = error.parts();
    let fault = Fault::input(problem);
    match help {
        Some(help) => fault.help(help),
        None => fault,
    }
}

/// The plan for people.
pub(super) fn describe(plan: &CheckedPlan, summary: &PlanSummary) -> String {
    let topology = plan.topology();
    if let Some(figures) = &summary.failover {
        return describe_failover(plan, summary, figures);
    }
    let provenance = &plan.tables().provenance;
    let priorities = plan
        .tagging()
        .priorities
        .iter()
        .map(|(tag, priority)| format!("{tag} -> {priority}"));
    let most = u64::from(plan.tables().budget.lossless_priorities);
    let headroom = topology
        .switch_ids()
        .map(|s| plan.headroom(s))
        .max_by_key(|h| h.per_priority)
        .map_or_else(String::new, |h| {
            format!(
                "{} B per priority at the worst switch ({} B per port); its buffer has room for {} of {} lossless priorities",
                h.per_priority,
                h.per_port_max,
                h.affordable.min(most),
                most
            )
        });
    let report = plan.report();
    let mut facts = vec![
        (
            "topology",
            format!(
                "{}: {}, {}",
                topology.name(),
                counted(summary.switches, "switch"),
                counted(summary.hosts, "host")
            ),
        ),
        (
            "scheme",
            format!("{} {}", provenance.scheme, provenance.algorithm),
        ),
        ("promised lossless", plan.promised().to_string()),
        ("promised to", check::describe_promised(&report)),
        ("forwarding", check::describe_forwarding(&report)),
        ("tags", tags_of(plan, summary)),
        (
            "tags -> priorities",
            format!(
                "{} (everything else: lossy, 0)",
                priorities.collect::<Vec<_>>().join(", ")
            ),
        ),
        ("carrier", carrier_of(plan)),
        (
            "rules",
            format!(
                "{} in all, at most {} on a switch ({} TCAM bits)",
                summary.rules_total, summary.rules_max_per_switch, summary.tcam_bits_max
            ),
        ),
        ("PFC headroom", headroom),
    ];
    facts.extend(assumed::facts(&summary.assumed));
    facts.push(("planned in", format!("{:.3} s", summary.seconds)));
    format!(
        "{}  proven{}: no cyclic buffer dependency for any routing; {}\n",
        terminal::facts(&facts),
        assumed::condition(&summary.assumed),
        check::describe_kept(&report)
    )
}

/// Where tags travel, and the code of each.
fn carrier_of(plan: &CheckedPlan) -> String {
    let carrier = plan.carrier();
    let codes = carrier.codes.iter();
    let codes: Vec<String> = codes
        .map(|(tag, code)| format!("{tag} is {}", code.get()))
        .collect();
    format!("{}: tag {}", carrier.kind.name(), codes.join(", "))
}

/// How many tags there are, and whether fewer could do, where that was looked for.
fn tags_of(plan: &CheckedPlan, summary: &PlanSummary) -> String {
    let found = summary.tags;
    match plan.tables().provenance.options.get(TAGS_AT_LEAST) {
        None => found.to_string(),
        Some(least) if *least == found.to_string() => format!("{found}; fewer cannot do"),
        Some(least) => format!("{found}; at least {least} are needed"),
    }
}

/// A plan of failover tables for people.
fn describe_failover(
    plan: &CheckedPlan,
    summary: &PlanSummary,
    figures: &FailoverSummary,
) -> String {
    let options = plan.tables().provenance.options.iter();
    let options: Vec<String> = options
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let mbit = |bits: u64| format!("{:.3} Mbit", bits as f64 / 1e6);
    let mut facts = vec![
        (
            "topology",
            format!(
                "{}: {}, {}",
                plan.topology().name(),
                counted(summary.switches, "switch"),
                counted(summary.hosts, "host")
            ),
        ),
        (
            "scheme",
            format!("{} ({})", summary.scheme, options.join(", ")),
        ),
        (
            "destinations",
            format!(
                "{}, of {}",
                figures.destinations,
                counted(figures.pairs, "pair")
            ),
        ),
        (
            "rules",
            format!(
                "{} in all, at most {} on a switch",
                figures.rules, figures.rules_max
            ),
        ),
        (
            "TCAM",
            format!(
                "at most {} on a switch as Stephens15 counts; {} and {} on Tofino 1",
                mbit(figures.tcam_bits_max),
                mbit(figures.tofino_bits_max),
                counted(figures.tofino_stages_max, "stage")
            ),
        ),
        (
            "header",
            format!(
                "reverse routes of up to {} are matched, forward routes of up to {} written",
                counted(figures.longest_reverse, "hop"),
                figures.longest_forward
            ),
        ),
    ];
    let report = plan.report();
    facts.extend(check::gaps(&report));
    if plan.tables().has_tags() {
        facts.push(("lossless", check::describe_lossless(plan.tables(), &report)));
        let rules = plan.topology().switch_ids().map(|s| plan.counts(s).rules);
        let (total, most) = rules.fold((0, 0), |(sum, most), own| (sum + own, most.max(own)));
        facts.push((
            "tag rules",
            format!("{total} in all, at most {most} on a switch"),
        ));
    }
    facts.extend(assumed::facts(&summary.assumed));
    facts.push(("planned in", format!("{:.3} s", summary.seconds)));
    facts.push((
        summary.verdict.name(),
        check::describe_resilience(&report.resilience) + &assumed::condition(&summary.assumed),
    ));
    terminal::facts(&facts)
}

#[cfg(test)]
mod tests;

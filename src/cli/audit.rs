//! `switchwright audit`: what a running fabric's maps, PFC and buffers do to lossless traffic.

mod page;

use std::collections::BTreeSet;

use clap::Args;
use plan::Tables;
use quantities::Bytes;
use schemes::TaggerOptions;
use serde::Serialize;
use sonic::ConfigDb;
use sonic::audit::{AuditReport, Fabric, Routing, audit};
use topology::Topology;
use topology::import::{self, ImportOptions, Imported};
use topology::routes::{RoutePolicy, parse_routes};

use super::fault::{Context, Fault, Status};
use super::folder;
use super::given::Given;
use super::terminal::{self, Terminal};
use super::words::counted;
use measure::timed;

/// Arguments of `switchwright audit`.
#[derive(Debug, Args)]
pub(super) struct Audit {
    /// A folder with the config_db.json of every switch (and LLDP tables, if there are any).
    folder: String,
    /// The routes that packets take: any, up-down, shortest, or a file of routes [default: up-down
    /// in layered topologies, else shortest].
    #[arg(long, value_name = "ROUTES")]
    routes: Option<String>,
    /// With up-down routes: how many times packets may bounce.
    #[arg(long, default_value_t = 1, value_name = "N")]
    bounces: u8,
    /// Largest frame, in bytes: headroom has to take it.
    #[arg(long, default_value_t = 1500, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(64..=65_535))]
    mtu: u64,
    /// Write a page for people.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// What `audit --json` prints.
#[derive(Serialize)]
struct Figures<'a> {
    folder: &'a str,
    /// The ways that packets were let take.
    routes: &'a str,
    #[serde(flatten)]
    report: &'a AuditReport,
    seconds: f64,
}

impl Audit {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let files = folder::json_files(&self.folder)?;
        let parts = import::import_fabric_parts(&files, &ImportOptions::default());
        let parts = parts.input(&self.folder)?;
        if parts.len() > 1 {
            let what = "parts that name no cable between them: each is audited by itself";
            terminal.note(format!("note: the fabric is in {} {what}", parts.len()));
        }
        let listed = self.listed(given)?;
        let bar = terminal.progress("following every DSCP");
        let mut reports = Vec::new();
        let mut ways = BTreeSet::new();
        let mut seconds = 0.0;
        let owners = import::configurations(&files);
        for (number, part) in parts.iter().enumerate() {
            for note in &part.notes {
                terminal.note(format!("note: {note}"));
            }
            let read = |file: &import::NamedText| sonic::read(&file.name, &file.text);
            let configs = folder::of_switches(&self.folder, &part.topology, &files, &owners, read)?;
            let listed = listed
                .as_deref()
                .map(|routes| of_part(routes, &parts, number));
            let policy = self.policy(&part.topology, listed, given)?;
            ways.insert(policy.as_ref().map_or_else(any_way, ToString::to_string));
            let (report, took) = timed(|| self.audit(&part.topology, &configs, policy.as_ref()));
            reports.push(report?);
            seconds += took;
        }
        bar.finish_and_clear();
        let report = AuditReport::of_parts(reports);
        let said = ways.into_iter().collect::<Vec<_>>().join("; ");
        if let Some(path) = &self.output {
            let topologies: Vec<&Topology> = parts.iter().map(|part| &part.topology).collect();
            let page = page::render(&self.folder, &said, &report, &topologies);
            terminal::write(path, &page.map_err(Fault::input)?)?;
        }
        let figures = Figures {
            folder: &self.folder,
            routes: &said,
            report: &report,
            seconds,
        };
        terminal.result(&figures, || describe(&report, &said, seconds))?;
        match report.findings.is_empty() && report.cbd_free == Some(true) {
            true => Ok(()),
            false => Err(Fault::shown(Status::Failed)),
        }
    }

    /// The audit of one part.
    fn audit(
        &self,
        topology: &Topology,
        configs: &[ConfigDb],
        policy: Option<&RoutePolicy>,
    ) -> Result<AuditReport, Fault> {
        let turns = policy.map(|policy| self.turns(topology, policy));
        let turns = turns.transpose()?;
        let fabric = Fabric {
            topology,
            configs,
            mtu: Bytes::new(self.mtu),
        };
        let routing = match &turns {
            None => Routing::Any,
            Some(tables) => Routing::Turns(&tables.tagging.rules),
        };
        Ok(audit(&fabric, routing))
    }

    /// The routes of the file that `--routes` names; none if it names none.
    fn listed(&self, given: &Given) -> Result<Option<Vec<String>>, Fault> {
        let Some(path) = self.routes.as_deref() else {
            return Ok(None);
        };
        if path != "up-down" {
            given.refuse_all(&["bounces"], "without up-down routes: others do not bounce")?;
        }
        if ["up-down", "shortest", "any"].contains(&path) {
            return Ok(None);
        }
        let text = terminal::read(path).map_err(|fault| {
            fault.help("--routes takes any, up-down, shortest, or a file of routes")
        })?;
        let routes = parse_routes(&text).input(path)?;
        match routes.is_empty() {
            true => Err(Fault::input(format!("{path}: there is no route in it"))),
            false => Ok(Some(routes)),
        }
    }

    /// The ways that packets take in a part; none for any way.
    fn policy(
        &self,
        topology: &Topology,
        listed: Option<Vec<String>>,
        given: &Given,
    ) -> Result<Option<RoutePolicy>, Fault> {
        let up_down = RoutePolicy::UpDown {
            bounces: self.bounces,
        };
        if let Some(routes) = listed {
            return Ok(Some(RoutePolicy::Explicit { routes }));
        }
        let policy = match self.routes.as_deref() {
            Some("any") => None,
            Some("up-down") => Some(up_down),
            None if topology.is_layered() => Some(up_down),
            _ => Some(RoutePolicy::Shortest),
        };
        if !matches!(policy, Some(RoutePolicy::UpDown { .. })) {
            given.refuse_all(&["bounces"], "without up-down routes: others do not bounce")?;
        }
        Ok(policy)
    }

    /// The turns of these ways at every switch.
    fn turns(&self, topology: &Topology, policy: &RoutePolicy) -> Result<Tables, Fault> {
        let tables = schemes::one_tag(topology, "audit", policy, &TaggerOptions::default());
        tables.input(&self.folder)
    }
}

/// The routes that start in a part; those that start nowhere stay with the first, which tells what
/// is wrong with them.
fn of_part(routes: &[String], parts: &[Imported], number: usize) -> Vec<String> {
    let start = |route: &String| {
        let word = route.split_whitespace().next().unwrap_or_default();
        let name = word.split(':').next().unwrap_or_default();
        let home = parts.iter().position(|part| {
            let hosts = part.topology.hosts().iter();
            hosts.map(|host| &host.name).any(|host| host == name)
        });
        home.unwrap_or(0)
    };
    let own = routes.iter().filter(|route| start(route) == number);
    own.cloned().collect()
}

/// How routes are said that may go anywhere.
fn any_way() -> String {
    "any way".to_owned()
}

/// The report for people.
fn describe(report: &AuditReport, routes: &str, seconds: f64) -> String {
    let list = |numbers: &[u8]| {
        let all: Vec<String> = numbers.iter().map(u8::to_string).collect();
        match all.is_empty() {
            true => "none".to_owned(),
            false => all.join(", "),
        }
    };
    let mut text = terminal::facts(&[
        (
            "fabric",
            format!(
                "{}, {}",
                counted(report.switches, "switch"),
                counted(report.links, "link")
            ),
        ),
        ("ways", routes.to_owned()),
        ("lossless DSCPs", list(&report.lossless_dscps)),
        ("priorities with PFC", list(&report.lossless_priorities)),
        ("audited in", format!("{seconds:.3} s")),
    ]);
    for finding in &report.findings {
        text.push_str(&format!("{finding}\n    mend: {}\n", finding.kind.mend()));
    }
    text.push_str(&verdict(report));
    text
}

/// What was shown, in a sentence.
fn verdict(report: &AuditReport) -> String {
    let cycles = match (report.cbd_free, &report.cbd_free_unknown) {
        (Some(true), _) => "no buffers can wait for each other in a circle".to_owned(),
        (Some(false), _) => "buffers can wait for each other in a circle".to_owned(),
        (None, Some(why)) => format!("whether buffers can wait in a circle is not known: {why}"),
        (None, None) => "whether buffers can wait in a circle is not known".to_owned(),
    };
    match report.findings.len() {
        0 => format!("no finding: {cycles}\n"),
        count => format!("{}: {cycles}\n", counted(count, "finding")),
    }
}

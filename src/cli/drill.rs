//! `switchwright drill`: running switches, a stream of packets, and a link that fails or a plan
//! that changes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use controlplane::Desired;
use emulator::drill::{
    DrillError, DrillEvent, DrillOptions, DrillReport, Fabric, Running, SwitchKind, drill, possible,
};
use p4gen::build::BuildDirectory;

use super::fault::{Context, Fault, Status};
use super::terminal::{self, Terminal};
use super::words::counted;
use super::{check, own, push};

const RUNNING: &str = "Switches that run already";
const LIMITS: &str = "What is too much (exit status 1)";

/// Arguments of `switchwright drill`.
#[derive(Debug, Args)]
pub(super) struct Drill {
    /// The build directory.
    directory: String,
    /// The sending host [default: the first].
    #[arg(long, value_name = "HOST")]
    from: Option<String>,
    /// The receiving host [default: the last].
    #[arg(long, value_name = "HOST")]
    to: Option<String>,
    /// The link that fails, as `s1-s2` [default: the first that the packets cross].
    #[arg(long, value_name = "LINK", conflicts_with = "update")]
    fail: Option<String>,
    /// Instead of a failure: this build takes over, version beside version.
    #[arg(long, value_name = "DIR")]
    update: Option<PathBuf>,
    /// What the switches are.
    #[arg(long, value_enum, default_value_t = Kind::Ours)]
    switches: Kind,
    /// The switches run already, with the build's entries: the interfaces, in this network
    /// namespace, at which the sending host's packets enter and the receiving host's arrive.
    #[arg(long, value_name = "FROM,TO", help_heading = RUNNING, value_parser = two_names, conflicts_with_all = ["switches", "fail"])]
    interfaces: Option<TwoNames>,
    /// With --interfaces: the interfaces that are switched off for the failing link.
    #[arg(
        long,
        value_name = "IF",
        help_heading = RUNNING,
        value_delimiter = ',',
        requires = "interfaces"
    )]
    cut: Vec<String>,
    /// With --interfaces and --update: where the switches are.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = RUNNING,
        requires = "interfaces",
        requires = "update"
    )]
    devices: Option<String>,
    /// Packets a second.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// Seconds that packets are sent; what happens, happens after a third of them.
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Fail (exit status 1) if nothing arrives for longer than this.
    #[arg(long, value_name = "MS", help_heading = LIMITS)]
    max_gap: Option<f64>,
    /// Fail (exit status 1) if more packets than this are lost.
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    max_lost: Option<u64>,
}

/// The interfaces of two hosts.
#[derive(Clone, Debug)]
struct TwoNames([String; 2]);

fn two_names(text: &str) -> Result<TwoNames, String> {
    match text.split_once(',') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() && !to.contains(',') => {
            Ok(TwoNames([from, to].map(str::to_owned)))
        }
        _ => Err("give two interfaces, as in `veth1,veth7`".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// `switchwright switch`.
    Ours,
    /// BMv2's `simple_switch_grpc`, with `switchwright agent`.
    Bmv2,
}

impl Drill {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let directory = BuildDirectory::open(Path::new(&self.directory))
            .and_then(BuildDirectory::over_p4runtime)
            .input(&self.directory)?;
        let plan = check::prove(check::load_built(&directory)?, terminal)?;
        let fabric = self.fabric()?;
        if !(0.1..=3600.0).contains(&self.seconds) {
            return Err(Fault::input("--seconds: give 0.1 to 3600"));
        }
        let topology = plan.topology();
        let host = |name: &Option<String>, other: Option<topology::HostId>, flag: &str| match name {
            Some(name) => topology.host_named(name).input(flag),
            None => other.ok_or_else(|| Fault::input("the network has no hosts")),
        };
        let event = match (&self.update, &self.fail) {
            (Some(build), _) => DrillEvent::Update(build.clone()),
            (None, Some(name)) => DrillEvent::Fail(Some(
                topology.link_named(name).input(format!("--fail {name}"))?,
            )),
            (None, None) => DrillEvent::Fail(None),
        };
        let options = DrillOptions {
            fabric,
            build: PathBuf::from(&self.directory),
            from: host(&self.from, topology.host_ids().next(), "--from")?,
            to: host(&self.to, topology.host_ids().last(), "--to")?,
            event,
            rate: self.rate,
            time: Duration::from_secs_f64(self.seconds),
        };
        let bar = terminal.progress("drilling");
        let report = drill(&plan, &options);
        bar.finish_and_clear();
        let report = report.map_err(|error| refuse(&error))?;
        terminal.result(&report, || describe(&report))?;
        let too_long = self
            .max_gap
            .is_some_and(|most| report.longest_gap_ms > most);
        let too_many = self.max_lost.is_some_and(|most| report.lost > most);
        let mut broken = Vec::new();
        if let (true, Some(most)) = (too_long, self.max_gap) {
            let gap = report.longest_gap_ms;
            broken.push(format!(
                "nothing arrived for {gap:.2} ms, and --max-gap allows {most}"
            ));
        }
        if let (true, Some(most)) = (too_many, self.max_lost) {
            let lost = report.lost;
            broken.push(format!(
                "lost {}, and --max-lost allows {most}",
                counted(lost, "packet")
            ));
        }
        match broken.is_empty() {
            true => Ok(()),
            false => Err(Fault::with(Status::Failed, broken.join("; "))),
        }
    }
}

impl Drill {
    /// The switches, if drills of them can run here.
    fn fabric(&self) -> Result<Fabric, Fault> {
        if let Some(TwoNames(interfaces)) = &self.interfaces {
            if self.update.is_none() && self.cut.is_empty() {
                return Err(Fault::input(
                    "--interfaces: say what happens, with --cut IF (a link) or with --update DIR and --devices FILE",
                ));
            }
            let read = |file: &str| {
                let desired = Desired::open(Path::new(&self.directory)).input(&self.directory)?;
                push::read_devices(file, &desired)
            };
            return Ok(Fabric::Running(Running {
                interfaces: interfaces.clone(),
                cut: self.cut.clone(),
                devices: self.devices.as_deref().map(read).transpose()?,
            }));
        }
        let kind = match self.switches {
            Kind::Ours => SwitchKind::Ours,
            Kind::Bmv2 => SwitchKind::Bmv2,
        };
        possible(kind).map_err(|missing| Fault::with(Status::Target, missing))?;
        Ok(Fabric::Own {
            kind,
            executable: own::file()?,
        })
    }
}

fn refuse(error: &DrillError) -> Fault {
    match error {
        DrillError::Build(_)
        | DrillError::NoDevices
        | DrillError::NoLink { .. }
        | DrillError::Versioned(_) => Fault::input(error),
        _ => Fault::with(Status::Target, error),
    }
}

fn describe(report: &DrillReport) -> String {
    let mut facts = vec![
        ("switches", report.switches.to_owned()),
        ("event", report.event.clone()),
        (
            "sent",
            format!(
                "{}, {} a second",
                counted(report.sent, "packet"),
                report.rate
            ),
        ),
        (
            "received",
            format!(
                "{}; lost {}, twice {}, out of order {}",
                report.received, report.lost, report.duplicated, report.reordered
            ),
        ),
        (
            "longest gap",
            format!(
                "{:.2} ms from the event on; {:.2} ms before it",
                report.longest_gap_ms, report.quiet_gap_ms
            ),
        ),
        (
            "outage",
            format!(
                "{:.2} ms from the first lost packet to the last",
                report.outage_ms
            ),
        ),
    ];
    if let Some(ms) = report.control_ms {
        facts.push(("control plane", format!("{ms:.0} ms")));
    }
    terminal::facts(&facts)
}

//! `switchwright emulate`: a network in real time, in network namespaces, under a scenario.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use controlplane::push::Stop;
use emulator::emulate::{
    EmulateError, EmulateReport, Entrances, Moment, Options, Watcher, emulate, mininet,
};
use indicatif::ProgressBar;
use linuxnet::Process;
use quantities::BitRate;
use serde::Serialize;
use simulator::embedded::Network;
use spec::Scenario;

use super::fault::{Context, Fault, Status};
use super::own;
use super::simulate::{describe, load, network};
use super::terminal::{self, Terminal};
use super::words::counted;

/// What happens without a scenario: every host sends to one other.
const PERMUTATION: &str = "name: permutation\nduration: 5ms\nflows: [{ pattern: permutation }]\n";

const MININET: &str = "Mininet";

/// Arguments of `switchwright emulate`.
#[derive(Debug, Args)]
pub(super) struct Emulate {
    /// A build directory, instead of the network that the scenario is for.
    #[arg(required_unless_present_any = ["clean", "scenario"])]
    directory: Option<String>,
    /// A scenario file, or the name of one that comes with Switchwright (`simulate --list`)
    /// [default: every host sends to another]
    #[arg(long, value_name = "FILE")]
    scenario: Option<String>,
    /// Where chance begins, instead of the scenario's seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Never change a packet's tag, whatever the scenario says: plain PFC.
    #[arg(long)]
    without_tags: bool,
    /// Rate of the fastest link; other links, and time, are slower by the same factor.
    #[arg(long, value_name = "RATE", default_value = "20Mbps")]
    rate: BitRate,
    /// How late threads may be before a lossless packet can be lost, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    lateness: u64,
    /// Give the namespaces names, for `ip netns exec`.
    #[arg(long)]
    named: bool,
    /// Write what passes the switches' ports to files in this folder.
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Open every switch's admin socket in this folder, for `switchwright status --admin
    /// DIR/NAME.sock`.
    #[arg(long, value_name = "DIR")]
    admin: Option<PathBuf>,
    /// Write the network as a Mininet script, and run that instead: lossless switches as processes,
    /// the kernel's own hosts.
    #[arg(long, help_heading = MININET, conflicts_with_all = ["pcap", "named", "admin", "lateness", "show"])]
    mininet: bool,
    /// With --mininet: keep the script and what it plays in this folder.
    #[arg(long, value_name = "DIR", requires = "mininet", help_heading = MININET)]
    script: Option<PathBuf>,
    /// Flows that the tables list; the JSON has all.
    #[arg(long, default_value_t = 24, value_name = "N")]
    show: usize,
    /// Remove what dead runs left (named namespaces), and do nothing else.
    #[arg(long, conflicts_with_all = ["directory", "scenario", "seed", "without_tags", "rate", "lateness", "named", "pcap", "admin", "mininet", "script", "show"])]
    clean: bool,
}

/// What `--clean` removed.
#[derive(Serialize)]
struct Cleaned {
    removed: Vec<String>,
}

fn clean(terminal: &Terminal) -> Result<(), Fault> {
    let removed = linuxnet::sweep().map_err(|error| Fault::with(Status::Target, error))?;
    let cleaned = Cleaned { removed };
    terminal.result(&cleaned, || match cleaned.removed.as_slice() {
        [] => "nothing was left\n".to_owned(),
        names => format!("removed {}\n", names.join(", ")),
    })
}

impl Emulate {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        if self.clean {
            return clean(terminal);
        }
        let name = self.scenario.as_deref().unwrap_or("the default scenario");
        let mut scenario = match &self.scenario {
            Some(name) => load(name)?,
            None => Scenario::from_yaml(PERMUTATION).input(name)?,
        };
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.tags &= !self.without_tags;
        if scenario.watchdog.is_some() {
            let problem = "has a PFC watchdog, which `simulate` alone knows";
            return Err(Fault::input(format!("{name}: {problem}"))
                .help("leave `watchdog` out of it, or play it with `simulate`"));
        }
        let network = network(&scenario, self.directory.as_deref(), name, terminal)?;
        if self.mininet {
            return self.run_mininet(&network, &scenario, name, terminal);
        }
        if let Some(folder) = &self.pcap {
            files::make_folder(folder).map_err(terminal::unwritten)?;
        }
        // What a run left that was killed must not stand in the way; who may not remove it may not
        // emulate either.
        if let Ok(removed) = linuxnet::sweep()
            && !removed.is_empty()
        {
            terminal.note(format!(
                "removed what dead runs left: {}",
                removed.join(", ")
            ));
        }
        let options = Options {
            rate: self.rate,
            lateness: std::time::Duration::from_millis(self.lateness),
            named: self.named,
            capture: self.pcap.clone(),
            admin: self.admin.clone(),
            stop: Stop::default(),
        };
        stop_on_signals(&options.stop)?;
        let mut look = Look {
            terminal: *terminal,
            bar: terminal.progress("laying cables"),
            show: self.show,
        };
        let report = emulate(&network, &scenario, &options, &mut look);
        look.bar.finish_and_clear();
        let report = report.map_err(|error| refuse(&error, name))?;
        terminal.result(&report, || tell(&report, self.show))
    }
}

impl Emulate {
    /// Writes the script and runs it.
    fn run_mininet(
        &self,
        network: &Network,
        scenario: &Scenario,
        name: &str,
        terminal: &Terminal,
    ) -> Result<(), Fault> {
        let build = self.directory.as_deref().ok_or_else(|| {
            Fault::input("--mininet needs a build directory: its switches are filled from files")
                .help("build one with `switchwright build --formats tutorials`")
        })?;
        if !std::path::Path::new(build).join("topology.json").is_file() {
            let what = format!("`{build}` holds nothing for Mininet");
            return Err(Fault::input(what).help("build it with `--formats tutorials`"));
        }
        let planned = mininet::play(network, scenario, self.rate);
        let (play, left_out) = planned.map_err(|error| refuse(&error, name))?;
        if !left_out.is_empty() {
            terminal.note(format!("Mininet does not play {}", left_out.join(", ")));
        }
        let kept = files::Scratch::new().input("a folder for the script")?;
        let folder = self.script.as_deref().unwrap_or(kept.path());
        if self.script.is_some() {
            files::claim(folder, "Mininet script").map_err(terminal::unwritten)?;
        }
        let place = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let (script, played) = (place("switchwright.py"), place("play.json"));
        terminal::write(&script, mininet::SCRIPT)?;
        let json = serde_json::to_string_pretty(&play).input("what is played")?;
        terminal::write(&played, &json)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|folder| folder.join("mn").is_file()) {
            return Err(Fault::with(
                Status::Target,
                "`mn` is not on PATH: Mininet is not installed",
            )
            .help("apt-get install mininet; --script DIR writes the script all the same"));
        }
        // Mininet is installed for the system's Python.
        let mut command = std::process::Command::new("/usr/bin/python3");
        command.args([&script, "--build", build, "--play", &played]);
        if terminal.quiet {
            command.arg("--quiet");
        }
        let own = own::file()?;
        command.env("SWITCHWRIGHT", own);
        if terminal.json {
            // The script's words are for people.
            command.stdout(std::process::Stdio::null());
        }
        // As Ctrl-C does: the script takes its network down.
        let script = Process::start_to_interrupt(command);
        let status = script.and_then(|mut script| script.wait());
        let status = status.input("/usr/bin/python3")?;
        if !status.success() {
            return Err(Fault::with(
                Status::Target,
                format!("the Mininet script failed: {status}"),
            )
            .help("it needs root; `mn -c` removes what a killed run left"));
        }
        terminal.result(&play, String::new)
    }
}

pub(super) fn refuse(error: &EmulateError, scenario: &str) -> Fault {
    if error.is_input() {
        return Fault::input(format!("{scenario}: {error}"));
    }
    Fault::with(Status::Target, error)
        .help("emulation makes network namespaces and raw sockets: run it as root (`sudo`), on Linux; `simulate` needs no rights")
}

/// Ctrl-C and SIGTERM end the scenario early; what there is by then is reported, and nothing stays
/// behind.
fn stop_on_signals(stop: &Stop) -> Result<(), Fault> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.input("signals")?;
    let stop = stop.clone();
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        let interrupt = signal(SignalKind::interrupt()).input("signals")?;
        (interrupt, signal(SignalKind::terminate()).input("signals")?)
    };
    let wait = move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        stop.ask();
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)
        .input("signals")?;
    Ok(())
}

/// Tells people what goes on.
struct Look {
    terminal: Terminal,
    bar: ProgressBar,
    show: usize,
}

impl Watcher for Look {
    fn ready(&mut self, entrances: &Entrances) {
        let doors = entrances.namespaces.iter();
        let doors: Vec<(&str, String)> = doors
            .map(|(name, door)| (name.as_str(), door.clone()))
            .collect();
        self.bar.suspend(|| {
            self.terminal
                .note("ready; to look inside, before a command:");
            self.terminal.note(terminal::facts(&doors).trim_end());
        });
        tracing::info!(interfaces = ?entrances.interfaces, "the fabric");
    }

    fn tick(&mut self, moment: &Moment<'_>) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_message(live(moment, self.show));
    }
}

/// The live table: throughput by the clock of each flow, pauses, deadlocks.
fn live(moment: &Moment<'_>, show: usize) -> String {
    let mut text = format!(
        "{:.1} s, {:.3} of {:.3} ms of the scenario; {} queues paused",
        moment.elapsed.as_secs_f64(),
        moment.now.get() as f64 / 1e6,
        moment.end.get() as f64 / 1e6,
        moment.paused,
    );
    if let Some(event) = &moment.event {
        let _ = write!(text, "; {event}");
    }
    for deadlock in &moment.deadlocks {
        let _ = write!(text, "\n  DEADLOCK: {deadlock}");
    }
    let seconds = moment.since.as_secs_f64().max(1e-3);
    for (name, bytes, runs) in moment.flows.iter().take(show) {
        let mbps = *bytes as f64 * 8.0 / seconds / 1e6;
        let _ = match runs {
            true => write!(text, "\n  {name:24} {mbps:10.3} Mb/s"),
            false => write!(text, "\n  {name:24}          -"),
        };
    }
    if moment.flows.len() > show {
        let _ = write!(
            text,
            "\n  and {} more",
            counted(moment.flows.len() - show, "flow")
        );
    }
    text
}

fn tell(report: &EmulateReport, show: usize) -> String {
    let real = &report.real;
    let end = if real.stopped_early {
        ", stopped early"
    } else {
        ""
    };
    let text = describe(&report.figures, show);
    // The last fact of the simulator's is about computing; here a clock ran.
    let figures = text
        .rsplit_once("  computed in")
        .map_or(text.as_str(), |(figures, _)| figures);
    figures.to_owned()
        + &terminal::facts(&[
            (
                "by the clock",
                format!(
                    "{:.1} s{end}; {:.3} Mb/s over links of {:.0} Mb/s: everything is {:.0} times slower than in the scenario",
                    real.seconds, real.mbps, real.link_mbps, real.scale
                ),
            ),
            (
                "kept up",
                format!(
                    "{} frames lost by the system; a host's frame waited {:.1} ms at most",
                    real.overrun, real.latest_ms
                ),
            ),
        ])
}

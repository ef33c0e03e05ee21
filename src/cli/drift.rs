//! `switchwright drift`: where running switches no longer hold what a build directory says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use controlplane::drift::{Drift, DriftKind, Event, drifts, watch};
use controlplane::push::StepObserver;
use serde::Serialize;

use super::fault::{Fault, Status};
use super::push::{Network, runtime};
use super::terminal::{self, Terminal};
use super::words::counted;

/// Arguments of `switchwright drift`.
#[derive(Debug, Args)]
pub(super) struct DriftCommand {
    #[command(flatten)]
    network: Network,
    /// Keep looking, and tell changes as they occur, until interrupted; with --json one object per
    /// line.
    #[arg(long)]
    watch: bool,
    /// Seconds from one look to the next.
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = interval, requires = "watch")]
    interval: f64,
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "a number of seconds is wanted".to_owned())?;
    if (0.05..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("an interval is between 0.05 and 86400 seconds".to_owned())
    }
}

/// What `drift --json` prints.
#[derive(Serialize)]
struct Figures<'a> {
    /// Whether a switch no longer holds what it should; `null` where none does that was reached,
    /// and not all were.
    drifted: Option<bool>,
    switches: usize,
    drifts: &'a BTreeSet<Drift>,
}

impl DriftCommand {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let (desired, devices) = self.network.open()?;
        let runtime = runtime()?;
        if self.watch {
            let interval = Duration::from_secs_f64(self.interval);
            let mut first = true;
            let listen = |events: Vec<Event>| {
                if std::mem::take(&mut first) && events.is_empty() {
                    terminal.say("no drift so far");
                }
                events.iter().for_each(|event| tell(event, terminal));
                true
            };
            runtime.block_on(async {
                let looking = watch(&desired, &devices, self.network.jobs(), interval, listen);
                tokio::select! {
                    () = looking => {}
                    _ = tokio::signal::ctrl_c() => {}
                }
            });
            return Ok(());
        }
        let bar = terminal.counter("asking switches", devices.all().len());
        let ticking = bar.clone();
        let told: StepObserver = Arc::new(move |_, _| ticking.inc(1));
        let drifts = runtime.block_on(drifts(&desired, &devices, self.network.jobs(), &told));
        bar.finish_and_clear();
        let switches = devices.all().len();
        let figures = Figures {
            drifted: drifted(&drifts),
            switches,
            drifts: &drifts,
        };
        terminal.result(&figures, || {
            if drifts.is_empty() {
                return format!("no drift on {}", counted(switches, "switch"));
            }
            drifts.iter().map(line).collect()
        })?;
        if drifts
            .iter()
            .any(|drift| drift.kind == DriftKind::Unreachable)
        {
            return Err(Fault::shown(Status::Target));
        }
        if drifts.is_empty() {
            Ok(())
        } else {
            Err(Fault::shown(Status::Failed))
        }
    }
}

/// Whether there is drift, as far as the switches could be asked.
fn drifted(drifts: &BTreeSet<Drift>) -> Option<bool> {
    let silent = |drift: &Drift| drift.kind == DriftKind::Unreachable;
    let found = drifts.iter().any(|drift| !silent(drift));
    let all_asked = !drifts.iter().any(silent);
    (found || all_asked).then_some(found)
}

fn line(drift: &Drift) -> String {
    format!("{}: {}: {}\n", drift.switch, drift.kind.name(), drift.what)
}

/// One event on one line.
fn tell(event: &Event, terminal: &Terminal) {
    if terminal.json {
        if let Ok(json) = serde_json::to_string(event) {
            terminal::emit(&format!("{json}\n"));
        }
        return;
    }
    let mark = if event.appeared { '!' } else { ' ' };
    let gone = if event.appeared { "" } else { "no longer: " };
    terminal::emit(&format!("{mark} {gone}{}", line(&event.drift)));
}

//! `switchwright bench all`: the benches of speed, each briefly and in a process of its own, and
//! one table of ratios.

use std::process::Command;

use measure::Machine;
use serde::Serialize;
use serde_json::{Map, Value};

use super::none_matches;
use switchwright::cli::fault::{Context, Fault, Status};
use switchwright::cli::terminal::{self, Terminal};

/// A bench: its name on the command line, what makes it brief, whether it has peers to leave out,
/// and how its figures are read.
struct BenchEntry {
    name: &'static str,
    brief: &'static [&'static str],
    peers: bool,
    rows: fn(&Value) -> Vec<Row>,
}

const BENCHES: [BenchEntry; 7] = [
    BenchEntry {
        name: "plan",
        brief: &[],
        peers: true,
        rows: plan,
    },
    BenchEntry {
        name: "p4",
        brief: &[],
        peers: true,
        rows: p4,
    },
    BenchEntry {
        name: "cores",
        brief: &[],
        peers: false,
        rows: cores,
    },
    BenchEntry {
        name: "ports",
        brief: &[],
        peers: true,
        rows: ports,
    },
    BenchEntry {
        name: "p4runtime",
        brief: &["--entries", "200000"],
        peers: true,
        rows: p4runtime,
    },
    BenchEntry {
        name: "simulate",
        brief: &["--packets", "0"],
        peers: true,
        rows: simulate,
    },
    BenchEntry {
        name: "lanes",
        brief: &["--only", "dfsssp"],
        peers: true,
        rows: lanes,
    },
];

#[derive(Serialize)]
struct AllReport {
    machine: Machine,
    /// One row for each figure.
    figures: Vec<Row>,
    /// Benches that this machine cannot run or that failed, and why.
    not_run: Vec<NotRun>,
    /// What each bench says, as `bench NAME --json` does.
    benches: Map<String, Value>,
}

/// A figure of ours beside a peer's of the same run.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    bench: &'static str,
    case: String,
    unit: &'static str,
    ours: f64,
    /// What ours is compared with; `null` where no peer was found.
    peer: Option<&'static str>,
    theirs: Option<f64>,
    /// How many times as good as the peer.
    ratio: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize)]
struct NotRun {
    bench: &'static str,
    /// Whether it failed with its peers alone: then there are figures of ours.
    peers_alone: bool,
    /// The bench's exit status: 3 if this machine cannot run it, or its peer.
    status: i32,
    why: String,
}

impl NotRun {
    /// Whether something is broken, and not only more than this machine can.
    fn has_failed(&self) -> bool {
        self.peers_alone || self.status != Status::Target as i32
    }
}

/// What a bench prints, or its exit status and why it printed no figures.
type Said = Result<Value, (i32, String)>;

pub(super) fn run(only: Option<&str>, peers: bool, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |bench: &&BenchEntry| only.is_none_or(|text| bench.name.contains(text));
    if !BENCHES.iter().any(|bench| wanted(&bench)) {
        return Err(none_matches(only, &BENCHES.map(|bench| bench.name)));
    }
    let mut report = AllReport {
        machine: Machine::here(),
        figures: Vec::new(),
        not_run: Vec::new(),
        benches: Map::new(),
    };
    let bar = terminal.progress("benches");
    for (number, bench) in BENCHES.iter().filter(wanted).enumerate() {
        let count = BENCHES.iter().filter(wanted).count();
        bar.set_message(format!("{} ({} of {count})", bench.name, number + 1));
        report.add(bench, peers, |peers| bench.run(peers))?;
    }
    bar.finish_and_clear();
    terminal.result(&report, || describe(&report))?;
    match report.not_run.iter().any(NotRun::has_failed) {
        true => Err(Fault::shown(Status::Input)),
        false => Ok(()),
    }
}

impl AllReport {
    /// Adds a bench's figures. If it fails with peers it is run without them: what is broken may be
    /// a peer, and our figures are there.
    fn add(
        &mut self,
        bench: &BenchEntry,
        peers: bool,
        run: impl Fn(bool) -> Result<Said, Fault>,
    ) -> Result<(), Fault> {
        let mut said = run(peers)?;
        if let Err((status, why)) = &said
            && bench.peers
            && peers
        {
            let without = run(false)?;
            if without.is_ok() {
                self.not_run.push(NotRun {
                    bench: bench.name,
                    peers_alone: true,
                    status: *status,
                    why: why.clone(),
                });
                said = without;
            }
        }
        match said {
            Ok(said) => {
                self.figures.extend((bench.rows)(&said));
                self.benches.insert(bench.name.to_owned(), said);
            }
            Err((status, why)) => self.not_run.push(NotRun {
                bench: bench.name,
                peers_alone: false,
                status,
                why,
            }),
        }
        Ok(())
    }
}

impl BenchEntry {
    fn run(&self, peers: bool) -> Result<Said, Fault> {
        let mut command = Command::new(std::env::current_exe().input("our own program")?);
        command
            .args(["--json", "bench", self.name])
            .args(self.brief);
        if self.peers && !peers {
            command.arg("--no-peer");
        }
        let output = command.output().input("our own program")?;
        let said: Value =
            serde_json::from_slice(&output.stdout).input(format!("bench {}", self.name))?;
        Ok(match output.status.code() {
            Some(0) => Ok(said),
            code => {
                let why = text(&said, "/error/message");
                Err((code.unwrap_or(Status::Input as i32), why))
            }
        })
    }
}

fn number(value: &Value, place: &str) -> Option<f64> {
    value.pointer(place)?.as_f64()
}

fn text(value: &Value, place: &str) -> String {
    let found = value.pointer(place).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

fn all<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn plan(said: &Value) -> Vec<Row> {
    let row = |case: &Value| {
        let theirs = number(case, "/peer/seconds");
        Some(Row {
            bench: "plan",
            case: text(case, "/name"),
            unit: "s, tables",
            ours: number(case, "/plan_seconds")?,
            peer: theirs.map(|_| "greedy in Python"),
            theirs,
            ratio: number(case, "/ratio"),
        })
    };
    all(said, "plan").filter_map(row).collect()
}

fn p4(said: &Value) -> Vec<Row> {
    let row = |case: &Value| {
        let ours = number(case, "/compile/packets_per_second")?;
        let theirs = number(case, "/simple_switch/packets_per_second");
        Some(Row {
            bench: "p4",
            case: text(case, "/name"),
            unit: "packets/s",
            ours,
            peer: theirs.map(|_| "simple_switch"),
            theirs,
            ratio: theirs.map(|theirs| ours / theirs),
        })
    };
    all(said, "p4").filter_map(row).collect()
}

/// The most threads beside one.
fn cores(said: &Value) -> Vec<Row> {
    let row = |case: &Value| {
        let runs = case.get("runs")?.as_array()?;
        Some(Row {
            bench: "cores",
            case: text(case, "/name"),
            unit: "packets/s",
            ours: number(runs.last()?, "/packets_per_second")?,
            peer: Some("one thread"),
            theirs: number(runs.first()?, "/packets_per_second"),
            ratio: number(runs.last()?, "/ratio"),
        })
    };
    all(said, "cores").filter_map(row).collect()
}

/// Each of our switches beside the bare forwarder, which looks at no frame: the ratio is below one.
fn ports(said: &Value) -> Vec<Row> {
    let bare = |length: Option<f64>| {
        let bare = |f: &&Value| {
            text(f, "/contender") == "bare forwarder" && number(f, "/length") == length
        };
        number(all(said, "ports").find(bare)?, "/unpaced")
    };
    let row = |figure: &Value| {
        let contender = text(figure, "/contender");
        let length = number(figure, "/length");
        let theirs = bare(length);
        (contender != "bare forwarder").then_some(())?;
        Some(Row {
            bench: "ports",
            case: format!("{contender}, {} bytes", length?),
            unit: "frames/s",
            ours: number(figure, "/unpaced")?,
            peer: theirs.map(|_| "bare forwarder"),
            theirs,
            ratio: number(figure, "/ratio"),
        })
    };
    all(said, "ports").filter_map(row).collect()
}

fn p4runtime(said: &Value) -> Vec<Row> {
    let ours = all(said, "p4runtime").filter(|f| text(f, "/server") == "switchwright switch");
    let rows = |figure: &Value| {
        [("writes", "write_ratio"), ("reads", "read_ratio")].map(|(what, ratio)| {
            let ours = number(figure, &format!("/{what}"))?;
            let ratio = number(figure, &format!("/{ratio}"));
            Some(Row {
                bench: "p4runtime",
                case: format!("{what}, {}", text(figure, "/table")),
                unit: "entries/s",
                ours,
                peer: ratio.map(|_| "simple_switch_grpc"),
                theirs: ratio.map(|ratio| ours / ratio),
                ratio,
            })
        })
    };
    ours.flat_map(rows).flatten().collect()
}

fn simulate(said: &Value) -> Vec<Row> {
    let theirs = number(said, "/peer/hops_per_second");
    let row = |figure: &Value| {
        Some(Row {
            bench: "simulate",
            case: text(figure, "/case"),
            unit: "packet-hops/s",
            ours: number(figure, "/hops_per_second")?,
            peer: theirs.map(|_| "csg-htsim"),
            theirs,
            ratio: number(said, "/ratio"),
        })
    };
    all(said, "simulate").filter_map(row).collect()
}

fn lanes(said: &Value) -> Vec<Row> {
    let row = |figure: &Value| {
        let ours = number(figure, "/seconds")?;
        let theirs = number(figure, "/open_sm/seconds");
        Some(Row {
            bench: "lanes",
            case: text(figure, "/name"),
            unit: "s, DFSSSP",
            ours,
            peer: theirs.map(|_| "OpenSM"),
            theirs,
            ratio: theirs.map(|theirs| theirs / ours),
        })
    };
    all(said, "lanes").filter_map(row).collect()
}

fn describe(report: &AllReport) -> String {
    let row = |row: &Row| {
        vec![
            row.bench.to_owned(),
            row.case.clone(),
            figure(row.ours),
            row.unit.to_owned(),
            row.peer.unwrap_or("-").to_owned(),
            row.theirs.map_or_else(|| "-".to_owned(), figure),
            row.ratio
                .map_or_else(|| "-".to_owned(), |r| format!("{} x", figure(r))),
        ]
    };
    let rows: Vec<Vec<String>> = report.figures.iter().map(row).collect();
    let header = ["bench", "case", "ours", "unit", "peer", "theirs", "ratio"];
    let mut said = format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &[2, 5, 6], &rows)
    );
    for not_run in &report.not_run {
        let what = match (not_run.peers_alone, not_run.has_failed()) {
            (true, _) => "failed beside its peers",
            (false, true) => "failed",
            (false, false) => "was not run",
        };
        said.push_str(&format!(
            "bench {} {what}: {}\n",
            not_run.bench, not_run.why
        ));
    }
    said
}

/// Three digits, and a letter for thousands and millions.
fn figure(value: f64) -> String {
    let digits = |value: f64| match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    };
    match value {
        v if v >= 1e6 => format!("{} M", digits(v / 1e6)),
        v if v >= 1e4 => format!("{} k", digits(v / 1e3)),
        v => digits(v),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_read_and_peers_that_were_not_there_stay_empty() {
        let said = json!({"p4": [
            {"name": "edge", "compile": {"packets_per_second": 2e7}, "simple_switch": {"packets_per_second": 1e5}},
            {"name": "core", "compile": {"packets_per_second": 1e7}, "simple_switch": null},
        ]});
        let rows = p4(&said);
        assert_eq!(
            (rows[0].ratio, rows[0].peer),
            (Some(200.0), Some("simple_switch"))
        );
        assert_eq!(
            (rows[1].ratio, rows[1].peer, rows[1].theirs),
            (None, None, None)
        );
        let said = json!({"cores": [{"name": "counters", "runs": [
            {"threads": 1, "packets_per_second": 1e7, "ratio": 1.0}, {"threads": 2, "packets_per_second": 1.9e7, "ratio": 1.9},
        ]}]});
        let rows = cores(&said);
        assert_eq!((rows[0].ratio, rows[0].theirs), (Some(1.9), Some(1e7)));
        let said = json!({"ports": [
            {"contender": "bare forwarder", "length": 64, "unpaced": 1e6, "ratio": 1.0},
            {"contender": "switchwright compile", "length": 64, "unpaced": 9e5, "ratio": 0.9},
        ]});
        let rows = ports(&said);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].theirs, rows[0].ratio), (Some(1e6), Some(0.9)));
        let said = json!({"p4runtime": [
            {"server": "switchwright switch", "table": "lpm", "writes": 8.0, "reads": 6.0, "write_ratio": 4.0, "read_ratio": 2.0},
            {"server": "simple_switch_grpc", "table": "lpm", "writes": 2.0, "reads": 3.0, "write_ratio": null, "read_ratio": null},
        ]});
        let theirs: Vec<Option<f64>> = p4runtime(&said).iter().map(|row| row.theirs).collect();
        assert_eq!(theirs, [Some(2.0), Some(3.0)]);
        let said = json!({
            "simulate": [{"case": "permutation", "hops_per_second": 3e6}], "peer": {"hops_per_second": 2e6}, "ratio": 1.5,
        });
        let rows = simulate(&said);
        assert_eq!((rows[0].theirs, rows[0].ratio), (Some(2e6), Some(1.5)));
    }

    #[test]
    fn a_bench_that_fails_takes_no_figures_of_others_with_it() {
        let figures = || json!({"p4": [{"name": "edge", "compile": {"packets_per_second": 2e7}}]});
        let bench = &BENCHES[1];
        let broken = |status| Err((status, "a peer has ended".to_owned()));
        let of = |peers: bool, with: Said, without: Said| {
            let mut report = AllReport {
                machine: Machine::here(),
                figures: Vec::new(),
                not_run: Vec::new(),
                benches: Map::new(),
            };
            let run = |peers: bool| Ok(if peers { with.clone() } else { without.clone() });
            report.add(bench, peers, run).expect("it is told");
            let failed = report.not_run.iter().any(NotRun::has_failed);
            let missing = report.not_run.iter().map(|n| (n.peers_alone, n.status));
            (report.figures.len(), missing.collect::<Vec<_>>(), failed)
        };
        let missing = |peers_alone, status| vec![(peers_alone, status)];
        assert_eq!(of(true, Ok(figures()), broken(2)), (1, vec![], false));
        for status in [2, 3] {
            let told = of(true, broken(status), Ok(figures()));
            assert_eq!(told, (1, missing(true, status), true));
        }
        let told = of(true, broken(2), broken(2));
        assert_eq!(told, (0, missing(false, 2), true));
        // This machine cannot.
        let told = of(true, broken(3), broken(3));
        assert_eq!(told, (0, missing(false, 3), false));
        let told = of(false, Ok(figures()), broken(1));
        assert_eq!(told, (0, missing(false, 1), true));
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (0.0123, "0.012"),
            (4.0, "4.00"),
            (999.0, "999"),
            (71_234.0, "71.2 k"),
            (1.76e7, "17.6 M"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}

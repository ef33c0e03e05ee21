//! `switchwright conform`: is that P4Runtime server one that clients can rely on?

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use conformance::{
    self, ConformError, ConformOptions, Conformance, Finding, FuzzOptions, Fuzzing, Verdict,
};
use controlplane::{ConfigFormat, Endpoint, Tls};
use p4gen::targets;

use super::fault::{Fault, Status};
use super::push::runtime;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright conform`.
#[derive(Debug, Args)]
pub(super) struct Conform {
    /// The server. Whatever it holds is replaced.
    #[arg(value_name = "HOST:PORT", required_unless_present = "print_program")]
    address: Option<String>,
    /// P4Runtime device id.
    #[arg(long, value_name = "N", default_value_t = 0)]
    device_id: u64,
    /// Leave out what takes long or much.
    #[arg(long)]
    quick: bool,
    /// The port that leads to the controller, to try packets in.
    #[arg(long, value_name = "PORT")]
    cpu_port: Option<u16>,
    /// Two ports that the server has, to try groups that watch ports [default: the first two of 1
    /// to 64 that are taken].
    #[arg(long, value_name = "PORT,PORT", value_delimiter = ',')]
    ports: Vec<u8>,
    /// What the server takes as a device config.
    #[arg(long, value_enum, default_value_t = Config::Auto)]
    config: Config,
    /// A device config of the conformance program made elsewhere (see --print-program).
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    config_file: Option<PathBuf>,
    /// Print the conformance program and do nothing else.
    #[arg(long, conflicts_with_all = [
        "address", "device_id", "quick", "cpu_port", "ports", "config", "config_file", "fuzz", "seed", "target", "all",
        "tls", "tls_ca", "tls_cert", "tls_key", "tls_name",
    ])]
    print_program: bool,
    /// After the checks, write this number of random updates, valid and invalid, and compare every
    /// answer and the state with a model.
    #[arg(long, value_name = "UPDATES")]
    fuzz: Option<usize>,
    /// Same seed, same updates.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "fuzz")]
    seed: u64,
    /// What the server is: what that target has (`switchwright targets`) must be there, what it has
    /// not need not.
    #[arg(long, value_name = "TARGET", value_parser = ["v1model", "embedded"])]
    target: Option<String>,
    /// Show every check, not only those that did not pass.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    tls: TlsArguments,
}

/// An encrypted connection.
#[derive(Debug, Args)]
#[command(next_help_heading = "Encryption")]
struct TlsArguments {
    /// Encrypt calls; any of the following does so too.
    #[arg(long)]
    tls: bool,
    /// The authority that signed the server's certificate (PEM).
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Our own certificate (PEM), for servers that ask for one.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of our certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The name in the server's certificate, where it is not the address.
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
}

impl TlsArguments {
    fn read(&self) -> Option<Tls> {
        let identity = self.tls_cert.clone().zip(self.tls_key.clone());
        let tls = Tls {
            ca: self.tls_ca.clone(),
            identity,
            name: self.tls_name.clone(),
        };
        (self.tls || tls != Tls::default()).then_some(tls)
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Config {
    /// Found out by letting the server verify.
    Auto,
    /// The P4 text.
    P4,
    /// The JSON that p4c makes for BMv2.
    Bmv2Json,
}

impl Conform {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        if self.print_program {
            return terminal.text("program", conformance::PROGRAM);
        }
        if self.all && terminal.json {
            let message = "--all is about the table for people: --json has every check anyway";
            return Err(Fault::input(message).help("leave --all out"));
        }
        let address = self.address.as_deref().unwrap_or_default();
        let endpoint = Endpoint {
            tls: self.tls.read(),
            ..Endpoint::plain(address, self.device_id)
        };
        let ports = match self.ports.as_slice() {
            [] => None,
            &[one, two] if one != two => Some([one, two]),
            _ => return Err(Fault::input("--ports takes two ports: `--ports 1,2`")),
        };
        let options = ConformOptions {
            quick: self.quick,
            cpu_port: self.cpu_port,
            ports,
            config: match self.config {
                Config::Auto => ConfigFormat::Auto,
                Config::P4 => ConfigFormat::P4,
                Config::Bmv2Json => ConfigFormat::Bmv2Json,
            },
            config_file: self.config_file.clone(),
            fuzz: self.fuzz.map(|updates| FuzzOptions {
                seed: self.seed,
                updates,
            }),
            target: self
                .target
                .as_deref()
                .and_then(targets::named)
                .map(|target| target.capabilities()),
        };
        let bar = terminal.progress("trying the server");
        let watched = bar.clone();
        let watch = move |what: &str| watched.set_message(what.to_owned());
        let done = runtime()?.block_on(conformance::run(&endpoint, &options, &watch));
        bar.finish_and_clear();
        let report = done.map_err(|error| match error {
            ConformError::Remote(error) => Fault::with(Status::Target, error),
            error @ ConformError::Program(_) => Fault::input(error),
        })?;
        terminal.result(&report, || describe(&report, self.all))?;
        if report.conforms {
            Ok(())
        } else {
            Err(Fault::shown(Status::Failed))
        }
    }
}

/// A row per point, then what did not pass.
fn describe(report: &Conformance, all: bool) -> String {
    let mut text = points(report);
    let wanted = |finding: &&Finding| all || finding.verdict != Verdict::Pass;
    for finding in report.findings.iter().filter(wanted) {
        text.push_str(&format!(
            "{:>3} {:5} {}\n          seen  {}\n          spec  {}\n",
            finding.point,
            finding.verdict.name(),
            finding.check,
            finding.seen,
            finding.spec
        ));
    }
    for difference in &report.differs {
        text.push_str(&format!("otherwise than its target: {difference}\n"));
    }
    if let Some(fuzzing) = &report.fuzzing {
        text.push_str(&describe_fuzzing(fuzzing));
    }
    text + &format!(
        "{}: P4Runtime {}; {} checks passed, {} failed, {} lacking, {} skipped\n",
        report.address,
        report.api_version,
        report.count(Verdict::Pass),
        report.count(Verdict::Fail),
        report.count(Verdict::Lacks),
        report.count(Verdict::Skip)
    )
}

fn describe_fuzzing(fuzzing: &Fuzzing) -> String {
    let faulty = |kind: &&&str| kind.starts_with(char::is_uppercase);
    let mut text = String::new();
    for disagreement in &fuzzing.disagreements {
        text.push_str(&format!("disagreement: {disagreement}\n"));
    }
    text + &format!(
        "random updates (seed {}): {} sent, {} of {} kinds of faults among them, {} taken, {} reads compared, {} disagreements ({:.1} s)\n",
        fuzzing.seed,
        fuzzing.updates,
        fuzzing.kinds.keys().filter(faulty).count(),
        conformance::fuzz::invalid::FAULTS.len(),
        fuzzing.accepted,
        fuzzing.reads,
        fuzzing.disagreements.len(),
        fuzzing.seconds
    )
}

fn points(report: &Conformance) -> String {
    let rows: Vec<Vec<String>> = conformance::POINTS
        .iter()
        .map(|(point, title)| {
            let of_point = || report.findings.iter().filter(|f| f.point == *point);
            let worst = of_point().map(|f| f.verdict).max();
            let passed = of_point().filter(|f| f.verdict == Verdict::Pass).count();
            vec![
                point.to_string(),
                (*title).to_owned(),
                worst.map_or("skip", Verdict::name).to_owned(),
                format!("{passed}/{}", of_point().count()),
            ]
        })
        .collect();
    terminal::table(
        &["point", "what clients rely on", "verdict", "checks"],
        &[0, 3],
        &rows,
    )
}

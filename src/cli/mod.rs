//! The command line: the only place that prints. One file per command; `terminal` speaks, `fault`
//! fails.

mod fault;
mod given;
mod help;
mod terminal;
mod words;

mod agent;
mod audit;
mod bench;
mod buffers;
mod build;
mod check;
mod completions;
mod conform;
mod console;
mod demo;
mod drift;
mod drill;
mod emulate;
mod entries;
mod export;
mod folder;
mod grade;
mod lab;
mod man;
mod measure;
mod measure_paths;
mod merge;
mod net;
mod own;
mod p4;
mod plan;
mod prompt;
mod push;
mod reproduce;
mod seeds;
mod shard;
mod simulate;
mod status;
mod submit;
mod switch;
mod targets;
mod topo;
mod trace;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use self::fault::{Fault, Status};
use self::given::Given;
pub use self::own::Program;
use self::terminal::Terminal;

/// From a data-center topology and a policy to proven P4 data planes that run.
#[derive(Debug, Parser)]
#[command(
    name = "switchwright",
    version,
    propagate_version = true,
    max_term_width = 110
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EVERYWHERE: &str = "Options of every command";

#[derive(Debug, Args)]
struct Global {
    /// Print one JSON object on standard output, and nothing else there.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// No commentary, no progress.
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    /// Say more about what happens inside (-vv: everything).
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = EVERYWHERE)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make, import, show and draw topologies.
    Topo(topo::Topo),
    /// Compute tables for a topology and prove them.
    Plan(plan::Plan),
    /// Prove a plan file, whoever computed it.
    Check(check::Check),
    /// Audit a running SONiC fabric from its config_db.json files.
    ///
    /// It looks for cyclic buffer dependencies, headroom that is too small, PFC at one end of a
    /// link only, and classes that change on the way.
    Audit(audit::Audit),
    /// Measure failover tables under failures: state, losses, stretch, throughput.
    Measure(measure::Measure),
    /// Measure whether packets are rerouted, by probes and their TTL.
    ///
    /// Probes go to the highest switches and back (TaggerDraft section 3.1).
    MeasurePaths(measure_paths::MeasurePaths),
    /// Merge the results of the shares of a command (`--shard I/N`).
    Merge(merge::Merge),
    /// Submit a command's shares and their merge to Slurm or Kubernetes.
    Submit(submit::Submit),
    /// Turn a plan into a P4 program and every switch's table entries.
    Build(build::Build),
    /// List the table entries of a build directory, as a table or CSV.
    Entries(entries::Entries),
    /// Compute the buffers of lossless priorities: thresholds, headroom port by port.
    Buffers(buffers::Buffers),
    /// List the targets: priorities, ports, stages, TCAM, features of their APIs.
    Targets(targets::Targets),
    /// Write a build directory to running switches over P4Runtime, or undo it.
    Push(push::Push),
    /// Compare running switches with a build directory.
    Drift(drift::DriftCommand),
    /// Test a P4Runtime server for conformance.
    Conform(conform::Conform),
    /// Report link state to a switch that cannot see it itself (BMv2).
    Agent(agent::Agent),
    /// Fail a link, or change the plan, under traffic, and count lost packets.
    Drill(drill::Drill),
    /// Trace one packet through the embedded switches, hop by hop.
    Trace(trace::Trace),
    /// Simulate a scenario in virtual time: PFC, deadlocks, throughput.
    Simulate(simulate::Simulate),
    /// Run a build directory and a scenario in network namespaces, in real time.
    Emulate(Box<emulate::Emulate>),
    /// Export the network of a build directory to containerlab or KNE.
    Export(export::Export),
    /// Run any P4 program on any topology, in network namespaces, with a prompt.
    Net(net::NetCommand),
    /// Run a switch; it takes the arguments of simple_switch_grpc.
    ///
    /// A switch has ports, a data plane and a server of P4Runtime and gNMI.
    Switch(Box<switch::Switch>),
    /// Show the state of a running switch: ports, buffers, pauses, watermarks.
    Status(status::Status),
    /// Read and write a running switch with the commands of simple_switch_CLI.
    Cli(console::Console),
    /// Work on P4 programs: check, compile, format, test, run.
    P4(p4::P4),
    /// Grade a lab: points, and for each failure the packet and its path.
    Grade(grade::GradeCommand),
    /// Measure speed and memory, beside other tools where they are found.
    Bench(bench::Bench),
    /// Compute the tables and figures of the papers, ours beside theirs.
    ///
    /// The papers are Tagger17, TaggerDraft, Stephens15 and FC23.
    Reproduce(reproduce::Reproduce),
    /// Serve the page of networks, plans, packets and deadlocks to a browser.
    Lab(lab::Lab),
    /// Show the tour: topology, tags, proof, program, entries, and a deadlock.
    Demo(demo::Demo),
    /// Print a completion script for your shell.
    Completions(completions::Completions),
    /// Write the manual, a page for each command.
    Man(man::Manual),
}

/// The name of a tool, as a command line begins with it.
fn tool(argument: &OsStr) -> Option<&str> {
    Path::new(argument).file_name().and_then(OsStr::to_str)
}

/// Whose name a switch was started by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalledBy {
    /// Ours.
    Own,
    /// A link with the name of `simple_switch_grpc`.
    Bmv2,
    /// A link with the name of `simple_switch`, whose callers know Thrift only.
    SimpleSwitch,
}

fn called_by() -> CalledBy {
    match own::arguments()
        .first()
        .map(OsString::as_os_str)
        .and_then(tool)
    {
        Some("simple_switch") => CalledBy::SimpleSwitch,
        Some("simple_switch_grpc") => CalledBy::Bmv2,
        _ => CalledBy::Own,
    }
}

/// Called by the name of a tool of BMv2 (by a link), it is the command that takes that tool's
/// arguments.
fn as_called(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let command = match arguments.first().map(OsString::as_os_str).and_then(tool) {
        Some("simple_switch" | "simple_switch_grpc") => "switch",
        Some("simple_switch_CLI") => "cli",
        _ => return arguments,
    };
    arguments.insert(1, command.into());
    arguments
}

/// Runs the command line of this process and tells the exit status.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os().collect(), None))
}

/// Runs a command line, the program's name first, and tells the exit status. `program` says what
/// runs the command again where the file of this process does not: commands start themselves to
/// serve, to build and to limit what strangers ask for.
///
/// It is the command of its process: signals, standard input and output are its own, and a command
/// that is to run until it is ended does not return.
#[must_use]
pub fn run(arguments: Vec<OsString>, program: Option<Program>) -> u8 {
    own::remember(&arguments, program);
    match arguments.get(1) {
        // What a switch starts to build programs that clients push: order on standard input, answer
        // on standard output. It is no command, for nobody types it.
        Some(first) if first == switch::BUILD => switchd::server::build::child::run(),
        // What the page's server starts to answer requests with, of which none shall hang or crash
        // it.
        Some(first) if first == lab::child::ENGINE => lab::child::run(),
        _ => command(arguments),
    }
}

/// Runs what is no child of another command.
fn command(arguments: Vec<OsString>) -> u8 {
    let name = arguments.first().map(OsString::as_os_str).and_then(tool);
    let compiler = match name {
        Some("p4c") => Some(p4::p4c::Tool::Driver),
        Some("p4c-bm2-ss") => Some(p4::p4c::Tool::Compiler),
        _ => None,
    };
    if let Some(tool) = compiler {
        let done = p4::p4c::run(tool, arguments);
        return status_of(done.and_then(|()| terminal::lost()), false);
    }
    let (cli, given) = match parse(as_called(arguments.into_iter())) {
        Ok(parsed) => parsed,
        Err(told) => return tell(&told),
    };
    let terminal = Terminal {
        json: cli.global.json,
        quiet: cli.global.quiet,
    };
    start_log(cli.global.verbose);
    let done = match cli.command {
        Command::Topo(topo) => topo.run(&given, &terminal),
        Command::Plan(plan) => plan.run(&terminal),
        Command::Check(check) => check.run(&given, &terminal),
        Command::Audit(audit) => audit.run(&given, &terminal),
        Command::Measure(measure) => measure.run(&terminal),
        Command::MeasurePaths(paths) => paths.run(&terminal),
        Command::Merge(merge) => merge.run(&given, &terminal),
        Command::Submit(submit) => submit.run(&terminal),
        Command::Build(build) => build.run(&given, &terminal),
        Command::Entries(entries) => entries.run(&given, &terminal),
        Command::Buffers(buffers) => buffers.run(&given, &terminal),
        Command::Targets(targets) => targets.run(&terminal),
        Command::Push(push) => push.run(&terminal),
        Command::Drift(drift) => drift.run(&terminal),
        Command::Conform(conform) => conform.run(&terminal),
        Command::Agent(agent) => agent.run(&terminal),
        Command::Drill(drill) => drill.run(&terminal),
        Command::Trace(trace) => trace.run(&given, &terminal),
        Command::Simulate(simulate) => simulate.run(&given, &terminal),
        Command::Emulate(emulate) => emulate.run(&terminal),
        Command::Export(export) => export.run(&terminal),
        Command::Net(net) => net.run(&terminal),
        Command::Status(status) => status.run(&terminal),
        Command::Switch(switch) => switch.run(&terminal),
        Command::Cli(console) => console.run(&terminal),
        Command::P4(p4) => p4.run(&terminal),
        Command::Grade(grade) => grade.run(&terminal),
        Command::Bench(bench) => bench.run(&given, &terminal),
        Command::Reproduce(reproduce) => reproduce.run(&given, &terminal),
        Command::Lab(lab) => lab.run(&terminal),
        Command::Demo(demo) => demo.run(&terminal),
        Command::Completions(completions) => completions.run(),
        Command::Man(manual) => manual.run(&terminal),
    };
    status_of(done.and_then(|()| terminal::lost()), terminal.json)
}

/// Reads the command line, and remembers what stood on it.
fn parse(arguments: Vec<OsString>) -> Result<(Cli, Given), clap::Error> {
    // Examples and sources take far longer than reading the arguments: they are made for those who
    // are told something.
    let matches = Cli::command()
        .try_get_matches_from(arguments.clone())
        .or_else(|_| help::command().try_get_matches_from(arguments))?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok((cli, Given::of(&matches)))
}

/// Prints an error, if there is one, and tells the exit status.
fn status_of(done: Result<(), Fault>, json: bool) -> u8 {
    match done {
        Ok(()) => 0,
        Err(fault) => {
            let status = fault.status() as u8;
            if json && !terminal::has_emitted() {
                terminal::emit(&fault.to_json());
            }
            fault.print();
            status
        }
    }
}

/// What the parser of arguments has to tell: an error, help, or the version.
fn tell(told: &clap::Error) -> u8 {
    use std::io::{ErrorKind, Write};
    let printed = told.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(error) if !told.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("standard output: {error}");
            status_of(Err(Fault::with(Status::Target, message)), false)
        }
        _ if told.use_stderr() && own::arguments().iter().any(|argument| argument == "--json") => {
            let message = told.to_string();
            terminal::emit(&Fault::input(message.trim_end()).to_json());
            Status::Input as u8
        }
        _ => u8::try_from(told.exit_code()).unwrap_or(Status::Input as u8),
    }
}

/// The log goes to standard error; `RUST_LOG` overrides `-v`.
fn start_log(verbose: u8) {
    let default = ["warn", "info", "debug"][usize::from(verbose.min(2))];
    let told: Option<Targets> = std::env::var("RUST_LOG").ok().and_then(|t| t.parse().ok());
    let filter = told.unwrap_or_else(|| default.parse().unwrap_or_default());
    let output = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let _ = tracing_subscriber::registry()
        .with(output.with_filter(filter))
        .try_init();
}

//! The command line: the only place that prints. One file per command; `terminal` speaks, `fault`
//! fails. What is public, `switchwright-figures` uses too.

pub mod fault;
pub mod given;
pub mod help;
pub mod own;
pub mod process;
pub mod shard;
pub mod terminal;
pub mod words;

mod agent;
mod assumed;
mod audit;
mod buffers;
mod build;
mod change;
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
mod figure_folder;
mod figures;
mod folder;
mod grade;
mod lab;
mod man;
mod measure;
mod measure_paths;
mod merge;
mod net;
mod p4;
mod plan;
mod plan_file;
mod prompt;
mod push;
mod seeds;
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

use clap::{Parser, Subcommand};

pub use self::check::prove;
pub use self::completions::Completions;
pub use self::figure_folder::write_out;
pub use self::man::Manual;
pub use self::measure::failure_table;
pub use self::merge::{Merge, in_turn};
pub use self::own::Program;
pub use self::p4::{Subject, of_build};
use self::process::{Global, parse, status_of, tell};
pub use self::push::runtime;
pub use self::submit::Submit;

/// The version, with the commit and the profile of this build.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("SWITCHWRIGHT_BUILD"),
    ")"
);

/// From a data-center topology and a policy to proven P4 data planes that run.
#[derive(Debug, Parser)]
#[command(
    name = "switchwright",
    version,
    long_version = VERSION,
    propagate_version = true,
    max_term_width = 110
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make, import, show and draw topologies.
    Topo(topo::Topo),
    /// Compute tables for a topology and prove them.
    Plan(plan::Plan),
    /// Prove a plan file or a change file, from any planner.
    Check(check::Check),
    /// Find proven steps from one plan to another, for switches under traffic.
    Change(change::ChangeCommand),
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
    #[command(disable_help_flag = true)]
    Bench(figures::Figures),
    /// Compute the tables and figures of the papers, ours beside theirs.
    ///
    /// The papers are Tagger17, TaggerDraft, Stephens15 and FC23.
    #[command(disable_help_flag = true)]
    Reproduce(figures::Figures),
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
        return status_of(done, false);
    }
    let arguments = as_called(arguments.into_iter());
    if arguments.len() == 1 {
        terminal::emit(&help::first());
        return status_of(Ok(()), false);
    }
    if figures::are_called(&arguments) {
        return status_of(Err(figures::start(&arguments)), own::asks_for_json());
    }
    let (cli, given): (Cli, given::Given) = match parse(arguments, help::dressed) {
        Ok(parsed) => parsed,
        Err(told) => return tell(&told),
    };
    let terminal = cli.global.begin();
    let done = match cli.command {
        Command::Topo(topo) => topo.run(&given, &terminal),
        Command::Plan(plan) => plan.run(&terminal),
        Command::Check(check) => check.run(&given, &terminal),
        Command::Change(change) => change.run(&terminal),
        Command::Audit(audit) => audit.run(&given, &terminal),
        Command::Measure(measure) => measure.run(&terminal),
        Command::MeasurePaths(paths) => paths.run(&terminal),
        Command::Merge(merge) => merge.run(&given, &terminal),
        Command::Submit(submit) => submit.run(&help::plain(), &terminal),
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
        Command::Bench(_) | Command::Reproduce(_) => Err(figures::start(&own::arguments())),
        Command::Lab(lab) => lab.run(&terminal),
        Command::Demo(demo) => demo.run(&terminal),
        Command::Completions(completions) => completions.run(help::plain()),
        Command::Man(manual) => manual.run(help::plain(), &terminal),
    };
    status_of(done, terminal.json)
}

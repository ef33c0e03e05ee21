//! `switchwright net`: any program on any topology, with hosts, in network namespaces, and a
//! prompt.

use std::io::{self, BufRead, IsTerminal};
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use emulator::net::{Net, NetLabError, NetOptions, Unfit};
use topology::Topology;
use topology::import::{self, ImportOptions};

use super::fault::{Context, Fault, Status, chain};
use super::own;
use super::prompt::{Interrupts, Prompt};
use super::terminal::{self, Terminal};
use super::words::counted;

/// Arguments of `switchwright net`.
#[derive(Debug, Args)]
pub(super) struct NetCommand {
    /// The topology: a topology file, or what `topo import` reads.
    topology: String,
    /// The program of every switch: P4 source.
    #[arg(long, value_name = "FILE")]
    p4: PathBuf,
    /// A folder with SWITCH-runtime.json or SWITCH-commands.txt.
    #[arg(long, value_name = "DIR")]
    entries: Option<PathBuf>,
    /// Where switches write what they have to say.
    #[arg(long, value_name = "DIR", default_value = "logs")]
    logs: PathBuf,
    /// Read commands from a file instead of the terminal; the first that fails ends the network,
    /// with status 1.
    #[arg(long, value_name = "FILE")]
    commands: Option<String>,
}

/// What the prompt knows.
const HELP: &str = "\
HOST COMMAND ...       run a command on a host; hosts' names stand for their addresses: h1 ping -c 1 h2
HOST                   a shell on a host
pingall                one ping from every host to every other
link A B up|down       let a link fail, or come back
net                    hosts and switches, and where these listen
reload                 give switches the program as it is now (saved changes are seen by themselves)
exit                   as Ctrl-D; Ctrl-C ends the command that runs, not the network
";

/// Words that lines begin with, besides hosts.
const COMMANDS: [&str; 7] = ["exit", "help", "link", "net", "pingall", "quit", "reload"];

/// What a line came to.
enum Outcome {
    Done,
    /// It ran, and says no.
    Failed(String),
    Exit,
}

impl NetCommand {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        if terminal.json {
            let message =
                "`--json` means nothing here: what hosts' commands print is on standard output";
            return Err(Fault::input(message).help("leave `--json` out"));
        }
        linuxnet::permitted().map_err(|e| Fault::with(Status::Target, chain(&e)))?;
        let lines = self.commands.as_deref().map(terminal::read).transpose()?;
        let topology = load(&self.topology)?;
        files::make_folder(&self.logs).map_err(terminal::unwritten)?;
        let options = NetOptions {
            program: self.p4,
            entries: self.entries,
            logs: self.logs.clone(),
            executable: own::file()?,
        };
        let bar = terminal.progress("starting switches");
        let net = Net::start(topology, options);
        bar.finish_and_clear();
        let mut net = net.map_err(refuse)?;
        let (hosts, switches) = (
            net.topology().hosts().len(),
            net.topology().switches().len(),
        );
        let logs = self.logs.display();
        terminal.note(format!(
            "{}, {}; their logs are in {logs}/; `help` tells the commands",
            counted(hosts, "host"),
            counted(switches, "switch")
        ));
        match lines {
            Some(lines) => by_file(&mut net, &lines, terminal),
            None => by_hand(&mut net, terminal),
        }
    }
}

/// Reads a topology: ours, or one of somebody else's.
fn load(path: &str) -> Result<Topology, Fault> {
    let text = terminal::read(path)?;
    let stem = Path::new(path).file_stem().unwrap_or_default();
    let options = ImportOptions {
        name: stem.to_string_lossy().into_owned(),
        ..ImportOptions::default()
    };
    let imported = import::import(&text, &options).input(path)?;
    Ok(imported.topology)
}

fn refuse(error: NetLabError) -> Fault {
    match error {
        NetLabError::Program(_) | NetLabError::Entries { .. } | NetLabError::Lookup(_) => {
            Fault::input(error)
        }
        _ => Fault::with(Status::Target, chain(&error)),
    }
}

/// As [`refuse`], with the line that failed.
fn refuse_at(place: &str, error: NetLabError) -> Fault {
    let why = chain(&error);
    Fault::with(refuse(error).status(), format!("{place}: {why}"))
}

/// Commands of a file, up to the first that fails.
fn by_file(net: &mut Net, lines: &str, terminal: &Terminal) -> Result<(), Fault> {
    for (number, line) in lines.lines().enumerate() {
        let place = format!("line {}: `{line}`", number + 1);
        match obey(net, line, None, terminal).map_err(|e| refuse_at(&place, e))? {
            Outcome::Done => {}
            Outcome::Exit => break,
            Outcome::Failed(why) => {
                return Err(Fault::with(Status::Failed, format!("{place}: {why}")));
            }
        }
    }
    Ok(())
}

/// A prompt, until standard input ends.
fn by_hand(net: &mut Net, terminal: &Terminal) -> Result<(), Fault> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        for line in io::stdin().lock().lines() {
            let line = line.input("standard input")?;
            if step(net, &line, None, terminal) {
                break;
            }
        }
        return Ok(());
    }
    let interrupts = Interrupts::take()?;
    let names = Names::of(net);
    let mut prompt = Prompt::open("net> ", move |words| names.for_last(words))?;
    while let Some(line) = prompt.line()? {
        interrupts.forget();
        if step(net, &line, Some(&interrupts), terminal) {
            break;
        }
    }
    Ok(())
}

/// Does what a line says, and says what came of it; whether it was the last.
fn step(net: &mut Net, line: &str, interrupts: Option<&Interrupts>, terminal: &Terminal) -> bool {
    match obey(net, line, interrupts, terminal) {
        Ok(Outcome::Done) => {}
        Ok(Outcome::Exit) => return true,
        Ok(Outcome::Failed(why)) => terminal.finding(why),
        // The prompt goes on: what was wrong can be typed again.
        Err(error) => terminal.finding(chain(&error)),
    }
    false
}

/// What lines are made of.
struct Names {
    hosts: Vec<String>,
    nodes: Vec<String>,
}

impl Names {
    fn of(net: &Net) -> Self {
        let topology = net.topology();
        let hosts: Vec<String> = topology.hosts().iter().map(|h| h.name.clone()).collect();
        let switches = topology.switches().iter().map(|s| s.name.clone());
        let nodes = hosts.iter().cloned().chain(switches).collect();
        Self { hosts, nodes }
    }

    /// What can stand in the place of the last word.
    fn for_last(&self, words: &[&str]) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match words {
            [] | [_] => [owned(&COMMANDS), self.hosts.clone()].concat(),
            ["link", _] | ["link", _, _] => self.nodes.clone(),
            ["link", _, _, _] => owned(&["up", "down"]),
            [first, ..] if COMMANDS.contains(first) => Vec::new(),
            _ => self.hosts.clone(),
        }
    }
}

/// Does what a line says.
fn obey(
    net: &mut Net,
    line: &str,
    interrupts: Option<&Interrupts>,
    terminal: &Terminal,
) -> Result<Outcome, NetLabError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let line = line.trim();
    if words.is_empty() || line.starts_with('#') {
        return Ok(Outcome::Done);
    }
    if net.is_outdated() && words[0] != "reload" {
        reload(net, terminal);
    }
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    match texts[..] {
        ["exit" | "quit"] => return Ok(Outcome::Exit),
        ["help"] => terminal::emit(HELP),
        ["reload"] => {
            let unfit = net.reload()?;
            terminal.note("all switches run the program anew");
            if !unfit.is_empty() {
                return Ok(Outcome::Failed(left_out(&unfit)));
            }
        }
        ["net"] => terminal::emit(&nodes(net)),
        ["pingall"] => return ping_all(net, interrupts),
        ["link", a, b, state @ ("up" | "down")] => {
            let link = net.topology().link_named(&format!("{a}-{b}"))?;
            net.set_link(link, state == "up")?;
        }
        ["link", ..] => {
            return Ok(Outcome::Failed(
                "say `link A B up` or `link A B down`".to_owned(),
            ));
        }
        [host, ..] => match net.topology().host_named(host) {
            Ok(id) => {
                let status = net.run_on(id, &words[1..])?;
                // Who typed Ctrl-C knows why the command ended.
                let interrupted = interrupts.is_some_and(Interrupts::seen);
                if !(status.success() || interrupted && ended_by_hand(status)) {
                    return Ok(Outcome::Failed(status.to_string()));
                }
            }
            Err(_) => {
                return Ok(Outcome::Failed(format!(
                    "`{host}` is neither a host nor a command; `help` tells the commands"
                )));
            }
        },
        [] => {}
    }
    Ok(Outcome::Done)
}

/// A program that was saved takes over; if it has errors the one before runs on.
fn reload(net: &mut Net, terminal: &Terminal) {
    match net.reload() {
        Ok(unfit) => {
            terminal.note("the program was saved: all switches run it anew");
            if !unfit.is_empty() {
                terminal.finding(left_out(&unfit));
            }
        }
        Err(error) => terminal.finding(format!(
            "the program was saved, and is not taken over:\n{error}"
        )),
    }
}

/// Says which entries switches run without.
fn left_out(unfit: &[Unfit]) -> String {
    let mut text =
        "not all entries fit the program; switches run without those that do not:".to_owned();
    for Unfit { place, why } in unfit {
        text += &format!("\n{place}: {why}");
    }
    text
}

fn nodes(net: &Net) -> String {
    let mut text = String::new();
    for host in net.topology().hosts() {
        text += &format!("{}  {}  {}\n", host.name, host.ipv4, mac(host.mac));
    }
    for (name, address) in net.addresses() {
        text += &format!("{name}  P4Runtime at {address}\n");
    }
    text
}

fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|b| format!("{b:02x}")).join(":")
}

/// Whether a command was ended by Ctrl-C or Ctrl-\, by the signal itself or by the status that
/// shells give.
fn ended_by_hand(status: std::process::ExitStatus) -> bool {
    matches!(status.signal(), Some(2 | 3)) || matches!(status.code(), Some(130 | 131))
}

fn ping_all(net: &Net, interrupts: Option<&Interrupts>) -> Result<Outcome, NetLabError> {
    let mut last = String::new();
    let reached = net.ping_all(&mut |from, to, answered| {
        if from != last {
            let end = if last.is_empty() { "" } else { "\n" };
            terminal::emit(&format!("{end}{from} ->"));
            from.clone_into(&mut last);
        }
        terminal::emit(&format!(" {}", if answered { to } else { "X" }));
        match interrupts.is_some_and(Interrupts::seen) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    terminal::emit(&format!("\n{} of {} lost\n", reached.lost, reached.tried));
    Ok(match reached.lost {
        0 => Outcome::Done,
        lost => Outcome::Failed(format!("{lost} of {} pings had no answer", reached.tried)),
    })
}

//! `switchwright cli`: simple_switch_CLI's commands, on P4Runtime. Names come from the P4Info that
//! the switch holds; what P4Runtime cannot say (ports) goes over the switch's admin socket, where
//! there is one.
//!
//! It works with any P4Runtime switch. Differences to Thrift's command line are those of P4Runtime:
//! handles are counted here, from what the switch holds when a table is first touched, and the
//! *smallest* priority number wins as in simple_switch_CLI (P4Runtime's is turned round, as BMv2's
//! own server does it).

mod arrays;
mod help;
mod ports;
mod profiles;
mod replication;
mod tables;
mod value_sets;

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::p4::v1::{self, entity::Entity, update, write_request};
use serde::Serialize;
use switchd::admin;
use tokio::runtime::{Builder, Runtime};

pub(super) use ports::describe as describe_ports;

use controlplane::{Client, ElectionId, Endpoint, RemoteError, Tls};

use super::fault::{Context, Fault, Status};
use super::prompt::Prompt;
use super::terminal::{self, Terminal};

const TLS: &str = "Encryption";

/// Arguments of `switchwright cli`.
#[derive(Debug, Args)]
pub(super) struct Console {
    /// Where the switch serves P4Runtime.
    #[arg(
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:9559",
        conflicts_with = "thrift_port"
    )]
    address: String,
    /// Find the switch by the --thrift-port that it was started with, on this machine.
    #[arg(long, value_name = "PORT")]
    thrift_port: Option<u16>,
    /// Commands are read from this file; else from standard input.
    #[arg(short, long, value_name = "FILE")]
    file: Option<String>,
    /// One command; may be given again.
    #[arg(short, long, value_name = "COMMAND")]
    command: Vec<String>,
    /// The P4Runtime device id.
    #[arg(long, value_name = "ID", default_value_t = 0)]
    device_id: u64,
    /// Our election id when something is written.
    #[arg(long, value_name = "ID", default_value_t = 1)]
    election_id: u128,
    /// Take the place of a controller with a higher election id.
    #[arg(long)]
    take_over: bool,
    /// The switch's admin socket [default: in the run directory, named after the port]
    #[arg(long, value_name = "PATH")]
    admin: Option<PathBuf>,
    /// Go on after a command that failed.
    #[arg(long)]
    keep_going: bool,
    /// Certificates that vouch for the switch (PEM); calls are encrypted then.
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    tls_ca: Option<PathBuf>,
    /// Our certificate, where the switch asks for one (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = TLS)]
    tls_cert: Option<PathBuf>,
    /// The key of our certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = TLS)]
    tls_key: Option<PathBuf>,
}

/// A command and what it said, for `--json`.
#[derive(Serialize)]
struct Done {
    command: String,
    output: String,
    error: Option<String>,
}

/// A command's text, or what is wrong with it.
type Outcome<T = String> = Result<T, Trouble>;

/// Why a command failed.
#[derive(Debug)]
enum Trouble {
    /// The command is wrong.
    Line(String),
    /// The switch refused, or is not there.
    Switch(RemoteError),
}

impl From<RemoteError> for Trouble {
    fn from(error: RemoteError) -> Self {
        Self::Switch(error)
    }
}

impl From<String> for Trouble {
    fn from(text: String) -> Self {
        Self::Line(text)
    }
}

impl From<&str> for Trouble {
    fn from(text: &str) -> Self {
        Self::Line(text.to_owned())
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(text) => f.write_str(text),
            Self::Switch(error) => error.fmt(f),
        }
    }
}

/// What `cli --json` prints.
#[derive(Serialize)]
struct ConsoleReport {
    commands: Vec<Done>,
}

/// A connection and what is remembered between commands.
struct Session {
    runtime: Runtime,
    client: Client,
    /// The program's names; missing before any pipeline is set.
    info: Option<P4InfoIndex>,
    take_over: bool,
    admin: PathBuf,
    handles: tables::Handles,
    /// Nodes by handle; `None` in the place of one that was destroyed.
    nodes: Option<Vec<Option<replication::Node>>>,
}

impl Console {
    pub(super) fn run(mut self, terminal: &Terminal) -> Result<(), Fault> {
        if let Some(port) = self.thrift_port {
            self.find(port)?;
        }
        let mut session = self.connect()?;
        let mut done = Vec::new();
        let mut worst = None;
        let interactive = self.file.is_none() && self.command.is_empty() && on_terminal();
        let names = session.names();
        let mut step = |line: &str| {
            let Some(outcome) = session.line(line) else {
                return true;
            };
            let (output, error) = match outcome {
                Ok(output) => (output, None),
                Err(trouble) => {
                    let status = match &trouble {
                        Trouble::Line(_) => Status::Input,
                        Trouble::Switch(_) => Status::Target,
                    };
                    worst.get_or_insert(status);
                    (String::new(), Some(trouble.to_string()))
                }
            };
            if terminal.json {
                let command = line.trim().to_owned();
                done.push(Done {
                    command,
                    output,
                    error: error.clone(),
                });
            } else if let Some(error) = &error {
                terminal.note(format!("error: {line}: {error}"));
            } else if !output.is_empty() {
                terminal::emit(&format!("{}\n", output.trim_end()));
            }
            error.is_none() || self.keep_going || interactive
        };
        if self.command.is_empty() {
            read_lines(self.file.as_deref(), interactive, names, &mut step)?;
        } else {
            self.command.iter().all(|line| step(line));
        }
        if terminal.json {
            terminal.result(&ConsoleReport { commands: done }, String::new)?;
        }
        match worst {
            Some(status) if !interactive => Err(Fault::shown(status)),
            _ => Ok(()),
        }
    }

    /// Takes address and device id from the switch that was started with this Thrift port.
    fn find(&mut self, thrift_port: u16) -> Result<(), Fault> {
        let path = admin::thrift_path(thrift_port);
        let path = self.admin.get_or_insert(path);
        match admin::ask(path, &admin::Request::Server) {
            Ok(admin::Answer::Server { address, device_id }) => {
                let mut address = address;
                if address.ip().is_unspecified() {
                    address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
                }
                self.address = address.to_string();
                self.device_id = device_id;
                Ok(())
            }
            Ok(_) => Err(Fault::input(format!("{}: not a switch's socket", path.display()))),
            Err(error) => Err(Fault::with(
                Status::Target,
                format!("no switch of this machine was started with --thrift-port {thrift_port} ({}: {error})", path.display()),
            )
            .help("name its P4Runtime address instead: `switchwright cli HOST:PORT`")),
        }
    }

    fn connect(&self) -> Result<Session, Fault> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.input("the runtime of the client")?;
        let identity = self.tls_cert.clone().zip(self.tls_key.clone());
        let ca = self.tls_ca.clone();
        let tls = (ca.is_some() || identity.is_some()).then_some(Tls {
            ca,
            identity,
            name: None,
        });
        let endpoint = Endpoint {
            election_id: ElectionId(self.election_id),
            tls,
            ..Endpoint::plain(self.address.as_str(), self.device_id)
        };
        let refused = |error: RemoteError| {
            Fault::with(Status::Target, error)
                .help("start one with `switchwright switch`, or name its address: `switchwright cli HOST:PORT`")
        };
        let client = runtime
            .block_on(Client::connect(&endpoint))
            .map_err(refused)?;
        let port = self
            .address
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok());
        let default = || admin::default_path(port.unwrap_or(0));
        let mut session = Session {
            runtime,
            client,
            info: None,
            take_over: self.take_over,
            admin: self.admin.clone().unwrap_or_else(default),
            handles: tables::Handles::default(),
            nodes: None,
        };
        session
            .learn()
            .map_err(|trouble| Fault::with(Status::Target, trouble))?;
        Ok(session)
    }
}

/// Hands lines to `step` until it says stop or there are no more; `names` are of tables and
/// actions, for a prompt.
fn read_lines(
    file: Option<&str>,
    interactive: bool,
    names: Vec<String>,
    step: &mut dyn FnMut(&str) -> bool,
) -> Result<(), Fault> {
    if let Some(file) = file {
        terminal::read(file)?.lines().all(step);
        return Ok(());
    }
    let last = |line: &str| ["quit", "exit", "EOF"].contains(&line.trim());
    if interactive {
        let mut prompt = Prompt::open("RuntimeCmd: ", move |words| match words {
            [] | [_] => help::commands(),
            _ => names.clone(),
        })?;
        while let Some(line) = prompt.line()? {
            if last(&line) || !step(&line) {
                break;
            }
        }
        return Ok(());
    }
    for line in io::stdin().lock().lines() {
        let line = line.input("standard input")?;
        if last(&line) || !step(&line) {
            break;
        }
    }
    Ok(())
}

/// Whether somebody types and reads here.
fn on_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

impl Session {
    /// Names of tables and actions.
    fn names(&self) -> Vec<String> {
        let Some(info) = &self.info else {
            return Vec::new();
        };
        let info = info.info();
        let tables = info.tables.iter().map(|t| &t.preamble);
        let actions = info.actions.iter().map(|a| &a.preamble);
        let all = tables.chain(actions).flatten();
        all.map(|preamble| preamble.name.clone()).collect()
    }

    /// Asks the switch for the names of its program.
    fn learn(&mut self) -> Outcome<()> {
        let config = self.runtime.block_on(self.client.pipeline())?;
        self.info = match config.and_then(|config| config.p4info) {
            Some(info) => Some(P4InfoIndex::new(info).map_err(|e| e.to_string())?),
            None => None,
        };
        Ok(())
    }

    /// Runs a line; nothing where there is nothing to run.
    fn line(&mut self, line: &str) -> Option<Outcome> {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let (command, words) = words.split_first()?;
        Some(self.run(command, words))
    }

    fn run(&mut self, command: &str, words: &[&str]) -> Outcome {
        match command {
            "help" | "?" => Ok(help::text(words.first().copied())),
            "port_add"
            | "port_remove"
            | "show_ports"
            | "set_queue_depth"
            | "set_queue_rate"
            | "get_time_elapsed"
            | "get_time_since_epoch" => self.ports(command, words),
            "show_pvs" => self.value_sets(command, words),
            _ if command.starts_with("pvs_") => self.value_sets(command, words),
            "reset_state" | "write_config_to_file" => self.config(command, words),
            _ if help::is_absent(command) => Err(help::unknown(command).into()),
            _ if profiles::of_table(command).is_some() => self.profiles_of_table(command, words),
            _ if command.starts_with("table_") || command.starts_with("show_") => {
                self.tables(command, words)
            }
            _ if command.starts_with("act_prof_") => self.profiles(command, words),
            _ if command.starts_with("mc_") || command.starts_with("mirroring_") => {
                self.replication(command, words)
            }
            _ if ["counter_", "register_", "meter_"]
                .iter()
                .any(|p| command.starts_with(p)) =>
            {
                self.arrays(command, words)
            }
            "switch_info" => Ok(self.switch_info()),
            _ => Err(help::unknown(command).into()),
        }
    }

    /// `reset_state`, `write_config_to_file`: the pipeline as a whole.
    fn config(&mut self, command: &str, words: &[&str]) -> Outcome {
        let config = self.runtime.block_on(self.client.pipeline())?;
        let config = config.ok_or("the switch has no pipeline yet")?;
        match (command, words) {
            ("reset_state", []) => {
                let (client, take_over) = (&mut self.client, self.take_over);
                self.runtime.block_on(async {
                    if !client.is_primary() {
                        client.become_primary(take_over).await?;
                    }
                    client.set_pipeline(Action::VerifyAndCommit, config).await
                })?;
                self.handles = tables::Handles::default();
                self.nodes = None;
                Ok("the same pipeline, without entries".to_owned())
            }
            ("write_config_to_file", [file]) => {
                let written = files::write(Path::new(file), &config.p4_device_config);
                written.map_err(|e| e.to_string())?;
                Ok(format!("{} bytes", config.p4_device_config.len()))
            }
            _ => Err(help::unknown_or_usage(command).into()),
        }
    }

    fn switch_info(&self) -> String {
        let count = |what: &str, count: usize| format!("{what:<24}: {count}\n");
        match &self.info {
            None => "no pipeline is set".to_owned(),
            Some(index) => {
                let info = index.info();
                count("tables", info.tables.len())
                    + &count("actions", info.actions.len())
                    + &count("action profiles", info.action_profiles.len())
                    + &count("counters", info.counters.len() + info.direct_counters.len())
                    + &count("meters", info.meters.len() + info.direct_meters.len())
                    + &count("registers", info.registers.len())
            }
        }
    }

    /// The program's names.
    fn info(&self) -> Outcome<&P4InfoIndex> {
        self.info.as_ref().ok_or_else(|| {
            "the switch has no pipeline yet: start it with a program, or push one".into()
        })
    }

    /// Makes one change; becomes the primary for it if need be.
    fn change(&mut self, kind: update::Type, entity: Entity) -> Outcome<()> {
        self.change_all(kind, [entity])
    }

    /// The same with many by one request.
    fn change_all(
        &mut self,
        kind: update::Type,
        entities: impl IntoIterator<Item = Entity>,
    ) -> Outcome<()> {
        let update = |entity| v1::Update {
            r#type: kind.into(),
            entity: Some(v1::Entity {
                entity: Some(entity),
            }),
        };
        let updates = entities.into_iter().map(update).collect();
        let (client, take_over) = (&mut self.client, self.take_over);
        self.runtime.block_on(async {
            if !client.is_primary() {
                client.become_primary(take_over).await?;
            }
            let atomicity = write_request::Atomicity::ContinueOnError;
            client.write(updates, atomicity).await
        })?;
        Ok(())
    }

    /// What the switch holds of this kind.
    fn fetch(&mut self, entity: Entity) -> Outcome<Vec<Entity>> {
        let wanted = v1::Entity {
            entity: Some(entity),
        };
        let found = self.runtime.block_on(self.client.read(vec![wanted]))?;
        Ok(found.into_iter().filter_map(|found| found.entity).collect())
    }
}

/// A number of a command.
fn number<T: std::str::FromStr>(text: &str) -> Outcome<T> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a number in range").into())
}

/// A handle: decimal, or hexadecimal as `table_dump` prints it.
fn handle(text: &str) -> Outcome<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => {
            u32::from_str_radix(digits, 16).map_err(|_| format!("'{text}' is not a handle").into())
        }
        None => number(text),
    }
}

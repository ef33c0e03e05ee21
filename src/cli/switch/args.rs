//! The arguments of `switchwright switch`: its own, and the whole line of `simple_switch_grpc`,
//! which is accepted unchanged. What that line asks for and we do otherwise is told once; it is no
//! error.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use quantities::{BitRate, Bytes, Nanos, UnitError};
use switchd::ports::PortBinding;
use switchd::server::DEFAULT_ADDRESS;
use switchd::server::build::BuildLimits;

use super::super::fault::Fault;
use super::super::{CalledBy, called_by};

const LOSSLESS: &str = "Lossless switches";
const PUSHED: &str = "Programs that clients push";
const SERVER: &str = "P4Runtime and gNMI server";

/// Arguments of `switchwright switch`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Switch {
    /// The program to start with: our P4 source, or BMv2 JSON. Without one, wait for a controller
    /// to push it.
    #[arg(value_name = "PROGRAM")]
    pub(super) program: Option<String>,
    /// A port and what it is connected to: 1@veth0, or 1= with pcap:IN,OUT, udp:LOCAL->PEER,
    /// unix:LOCAL->PEER.
    #[arg(
        short = 'i',
        long = "interface",
        visible_alias = "port",
        value_name = "N@PORT"
    )]
    pub(super) ports: Vec<PortBinding>,
    /// The P4Runtime device id.
    #[arg(long, value_name = "ID", default_value_t = 0)]
    pub(super) device_id: u64,
    /// Start without a program (that is so anyway when none is named).
    #[arg(long)]
    pub(super) no_p4: bool,
    /// What runs the program.
    #[arg(long, value_enum, default_value_t)]
    pub(super) executor: ExecutorName,
    /// How frames come from interfaces and go to them.
    #[arg(long, value_enum, default_value_t)]
    pub(super) driver: DriverName,
    /// Threads of the data plane (1 to 64); a flow's packets stay on one. Not with --lossless,
    /// --priority-queues or --driver xdp.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(super) threads: u8,
    /// Keep pipeline and entries in this folder, and start with what it holds.
    #[arg(long, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
    /// Be a lossless switch (PFC) with port rates: a file (docs/switch.md), or BUILD/switches/NAME
    /// of a build directory.
    #[arg(long, value_name = "FILE", conflicts_with = "priority_queues", help_heading = LOSSLESS)]
    pub(super) lossless: Option<PathBuf>,
    /// Rate of all ports of a lossless switch, instead of those that it is given: 50Mbps.
    #[arg(long, value_name = "RATE", requires = "lossless", value_parser = port_rate, help_heading = LOSSLESS)]
    pub(super) port_rate: Option<BitRate>,
    /// The socket for `switchwright cli`'s commands on ports [default: in the run directory, named
    /// after the port]
    #[arg(long, value_name = "PATH")]
    pub(super) admin: Option<PathBuf>,
    /// Write every port's packets to files in this folder (here if none is named).
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(super) pcap: Option<PathBuf>,
    /// Ports read NAME_in.pcap and write NAME_out.pcap instead of an interface, after this
    /// number of seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(super) use_files: Option<u64>,
    /// Serve BMv2's Thrift services at this port too, for simple_switch_CLI, runtime_CLI and
    /// p4-utils; 0 takes any that is free [default: none; 9090 under the names simple_switch and
    /// simple_switch_grpc]
    #[arg(long, value_name = "PORT")]
    pub(super) thrift_port: Option<u16>,
    /// The most memory that building a program may take that a client pushes.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", help_heading = PUSHED)]
    pub(super) build_memory: Bytes,
    /// The most processor time for that; by the clock it may take four times as long.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = build_time, help_heading = PUSHED)]
    pub(super) build_time: Nanos,
    /// Where random numbers of programs begin.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) target: Target,
    #[command(flatten)]
    pub(super) foreign: Foreign,
    /// Arguments that simple_switch_grpc takes after `--`.
    #[arg(last = true, value_name = "TARGET ARGUMENTS")]
    rest: Vec<String>,
}

fn queue_count(text: &str) -> Result<NonZeroU8, String> {
    let count = text
        .parse()
        .ok()
        .filter(|count: &NonZeroU8| count.get() <= 8);
    count.ok_or_else(|| "a number from 1 to 8 is needed".to_owned())
}

fn port_rate(text: &str) -> Result<BitRate, String> {
    match text.parse().map_err(|error: UnitError| error.to_string())? {
        BitRate::ZERO => Err("a port with rate 0 could never send".to_owned()),
        rate => Ok(rate),
    }
}

fn build_time(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: UnitError| error.to_string())?;
    if time.get() < 1_000_000_000 {
        return Err("less than a second cannot be held to".to_owned());
    }
    Ok(time)
}

/// What simple_switch_grpc takes after `--`; here also before.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub(super) struct Target {
    /// Where the P4Runtime and gNMI server listens [default: 127.0.0.1:9559; 0.0.0.0:9559 under the
    /// name simple_switch_grpc]
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = SERVER)]
    pub(super) grpc_server_addr: Option<String>,
    /// Packets to this port go to the controller.
    #[arg(long, value_name = "N")]
    pub(super) cpu_port: Option<u16>,
    /// Where packets are dropped; 511 as v1model has it.
    #[arg(long, value_name = "N")]
    pub(super) drop_port: Option<u16>,
    /// Egress queues per port (1 to 8), chosen by standard_metadata.priority; the highest number
    /// goes first.
    #[arg(long, value_name = "N", value_parser = queue_count)]
    pub(super) priority_queues: Option<NonZeroU8>,
    /// Encrypt calls; needs --grpc-server-cert and --grpc-server-key.
    #[arg(long, help_heading = SERVER)]
    pub(super) grpc_server_ssl: bool,
    /// The server's certificate (PEM).
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub(super) grpc_server_cert: Option<PathBuf>,
    /// The key of the server's certificate (PEM).
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub(super) grpc_server_key: Option<PathBuf>,
    /// Certificates that vouch for clients (PEM); needs --grpc-server-with-client-auth.
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub(super) grpc_server_cacert: Option<PathBuf>,
    /// Clients must show a certificate; needs --grpc-server-cacert.
    #[arg(long, help_heading = SERVER)]
    pub(super) grpc_server_with_client_auth: bool,
    #[arg(long, hide = true)]
    pub(super) disable_swap: bool,
    #[arg(long, hide = true)]
    enable_swap: bool,
    #[arg(long, hide = true)]
    dp_grpc_server_addr: Option<String>,
    #[arg(long, hide = true)]
    load_modules: Option<String>,
    #[arg(long, hide = true)]
    max_mc_groups: Option<u32>,
    #[arg(long, hide = true)]
    max_l1_entries: Option<u32>,
    #[arg(long, hide = true)]
    max_l2_entries: Option<u32>,
}

/// Arguments of BMv2 that mean nothing here, or are said otherwise.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Foreign {
    #[arg(long, hide = true)]
    log_console: bool,
    #[arg(long, hide = true)]
    log_file: Option<String>,
    #[arg(long, short = 'L', hide = true)]
    log_level: Option<String>,
    #[arg(long, hide = true)]
    log_flush: bool,
    #[arg(long, hide = true)]
    log_file_max_size: Option<u64>,
    #[arg(long, hide = true)]
    log_file_max_files: Option<u64>,
    #[arg(long, hide = true)]
    nanolog: Option<String>,
    #[arg(long, hide = true)]
    notifications_addr: Option<String>,
    #[arg(long, hide = true)]
    packet_in: Option<String>,
    #[arg(long, hide = true)]
    debugger: bool,
    #[arg(long, hide = true)]
    debugger_addr: Option<String>,
    #[arg(long, hide = true)]
    restore_state: Option<String>,
    #[arg(long, hide = true)]
    dump_packet_data: Option<u64>,
    #[arg(long, hide = true)]
    max_port_count: Option<u32>,
}

/// The executors by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ExecutorName {
    /// The reference interpreter.
    Interp,
    /// Machine code, made when a program is loaded.
    #[default]
    Compile,
}

/// The drivers by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DriverName {
    /// The ring, or the plain socket where no ring can be mapped.
    #[default]
    Auto,
    /// AF_PACKET with a mapped receive ring.
    Ring,
    /// AF_XDP, past the network stack, where the kernel has it.
    Xdp,
    /// AF_PACKET, one system call a frame.
    Packet,
}

impl From<DriverName> for linuxnet::Driver {
    fn from(name: DriverName) -> Self {
        match name {
            DriverName::Auto => Self::Auto,
            DriverName::Ring => Self::Ring,
            DriverName::Xdp => Self::Xdp,
            DriverName::Packet => Self::Packet,
        }
    }
}

/// The part after `--`, read alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Rest {
    #[command(flatten)]
    target: Target,
}

impl Switch {
    /// Takes in what stands after `--`, and checks what arguments say of each other.
    ///
    /// # Errors
    /// Arguments that contradict each other, or that would silently change what packets do.
    pub(super) fn settle(&mut self) -> Result<(), Fault> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            let read = Rest::try_parse_from(rest).map_err(|e| {
                let text = e.to_string();
                let text = text
                    .trim_start_matches("error: ")
                    .lines()
                    .next()
                    .unwrap_or_default();
                Fault::input(format!("after `--`: {text}"))
                    .help("`switchwright switch --help` lists the target's arguments")
            })?;
            self.target.prefer(read.target);
        }
        // `--pcap FOLDER` and `--pcap PROGRAM` look alike: a folder is no file.
        if self.program.is_none() && self.pcap.as_ref().is_some_and(|path| path.is_file()) {
            let program = self.pcap.replace(".".into());
            self.program = program.map(|path| path.to_string_lossy().into_owned());
        }
        if self.no_p4 && self.program.is_some() {
            return Err(Fault::input("--no-p4 and a program contradict each other")
                .help("leave one of them out"));
        }
        self.check_threads()?;
        let plain = self.target.grpc_server_cert.is_none() && self.target.grpc_server_key.is_none();
        if plain && !self.target.grpc_server_ssl && self.target.grpc_server_cacert.is_some() {
            return Err(Fault::input(
                "--grpc-server-cacert means nothing where calls are not encrypted",
            )
            .help("give --grpc-server-cert and --grpc-server-key too, or leave it out"));
        }
        if self.target.grpc_server_cacert.is_some() && !self.target.grpc_server_with_client_auth {
            return Err(Fault::input(
                "--grpc-server-cacert means nothing where clients need no certificate",
            )
            .help("give --grpc-server-with-client-auth too, or leave it out"));
        }
        if let Some(port) = self.target.drop_port.filter(|port| *port != 511) {
            return Err(Fault::input(format!(
                "--drop-port {port}: packets are dropped at port 511 here"
            ))
            .help("`mark_to_drop` works whatever the number; leave --drop-port out"));
        }
        let foreign = &self.foreign;
        for (given, what, instead) in [
            (
                self.target.dp_grpc_server_addr.is_some(),
                "--dp-grpc-server-addr",
                "use ports udp: or unix:",
            ),
            (
                self.target.load_modules.is_some(),
                "--load-modules",
                "extern modules of BMv2 cannot be loaded",
            ),
            (
                foreign.packet_in.is_some(),
                "--packet-in",
                "use ports udp: or unix:",
            ),
            (
                foreign.restore_state.is_some(),
                "--restore-state",
                "use --state-dir",
            ),
        ] {
            if given {
                return Err(Fault::input(format!("{what} is not supported")).help(instead));
            }
        }
        Ok(())
    }

    /// What several threads cannot do.
    fn check_threads(&self) -> Result<(), Fault> {
        for (given, option, why) in [
            (
                self.lossless.is_some(),
                "--lossless",
                "all packets share one buffer",
            ),
            (
                self.target.priority_queues.is_some(),
                "--priority-queues",
                "the packets of a port share its queues",
            ),
            (
                self.driver == DriverName::Xdp,
                "--driver xdp",
                "its frames are not shared out among threads",
            ),
        ] {
            if given && self.threads > 1 {
                let threads = self.threads;
                return Err(Fault::input(format!(
                    "{option} takes one thread, not {threads}: {why}"
                ))
                .help(format!("leave out --threads or {option}")));
            }
        }
        Ok(())
    }

    /// What building a pushed program may take.
    pub(super) fn build_limits(&self) -> BuildLimits {
        let processor = Duration::from_nanos(self.build_time.get());
        BuildLimits {
            memory: self.build_memory,
            processor,
            time: processor * 4,
        }
    }

    /// What the line asked for and is done otherwise, one remark each.
    pub(super) fn remarks(&self) -> Vec<String> {
        let foreign = &self.foreign;
        let mut remarks = Vec::new();
        for (given, what) in [
            (foreign.nanolog.is_some(), "--nanolog"),
            (foreign.notifications_addr.is_some(), "--notifications-addr"),
            (
                foreign.debugger || foreign.debugger_addr.is_some(),
                "--debugger",
            ),
        ] {
            if given {
                remarks.push(format!(
                    "{what} is ignored: there are no nanomsg services here"
                ));
            }
        }
        if self.pcap.is_some() && self.use_files.is_some() {
            remarks.push(
                "--pcap writes nothing with --use-files: what leaves is in NAME_out.pcap"
                    .to_owned(),
            );
        }
        if foreign.log_console || foreign.log_file.is_some() || foreign.log_level.is_some() {
            remarks.push(
                "the log goes to standard error; -v and -vv say more (RUST_LOG chooses)".to_owned(),
            );
        }
        remarks
    }

    /// What is dangerous about where Thrift is served.
    pub(super) fn thrift_exposure(&self, grpc: IpAddr) -> Option<String> {
        let address = self.thrift_address(grpc)?;
        address.ip().to_canonical().is_unspecified().then(|| {
            format!(
                "Thrift is served at {address}, which knows neither encryption nor passwords: whoever reaches this machine can replace \
                 the program and its entries; `switchwright switch --thrift-port PORT` serves it where P4Runtime is"
            )
        })
    }

    /// What is dangerous about where the server listens.
    pub(super) fn exposure(&self, address: SocketAddr) -> Option<String> {
        let plain = self.target.grpc_server_cert.is_none();
        (plain && address.ip().to_canonical().is_unspecified()).then(|| {
            format!(
                "P4Runtime is served at {address} without TLS: whoever reaches this machine can replace the program and its entries; \
                 listen at 127.0.0.1 (--grpc-server-addr), or give --grpc-server-cert and --grpc-server-key, and clients' certificates \
                 by --grpc-server-cacert and --grpc-server-with-client-auth"
            )
        })
    }

    /// Where the Thrift services are, if they are served: as BMv2 does it under its names, else
    /// beside P4Runtime.
    pub(super) fn thrift_address(&self, grpc: IpAddr) -> Option<SocketAddr> {
        thrift_address(called_by(), self.thrift_port, grpc)
    }

    /// Where the P4Runtime server listens.
    ///
    /// # Errors
    /// An address that is none.
    pub(super) fn address(&self) -> Result<SocketAddr, Fault> {
        let text = self
            .target
            .grpc_server_addr
            .as_deref()
            .unwrap_or_else(|| default_address(called_by()));
        let mut found = text.to_socket_addrs().ok().into_iter().flatten();
        found.next().ok_or_else(|| {
            Fault::input(format!("--grpc-server-addr {text}: that is not an address"))
                .help("write ADDRESS:PORT, such as 127.0.0.1:9559")
        })
    }
}

/// Where that tool's server listens unless told otherwise.
const BMV2_ADDRESS: &str = "0.0.0.0:9559";

/// `simple_switch` serves no P4Runtime: several of them may run in one place, and none takes a port
/// that nobody asked for.
const ANY_PORT: &str = "127.0.0.1:0";

/// Who is called by the name of simple_switch_grpc listens where its callers expect it.
fn default_address(called_by: CalledBy) -> &'static str {
    match called_by {
        CalledBy::Bmv2 => BMV2_ADDRESS,
        CalledBy::SimpleSwitch => ANY_PORT,
        CalledBy::Own => DEFAULT_ADDRESS,
    }
}

/// See [`Switch::thrift_address`].
fn thrift_address(called_by: CalledBy, port: Option<u16>, grpc: IpAddr) -> Option<SocketAddr> {
    match called_by {
        CalledBy::SimpleSwitch | CalledBy::Bmv2 => {
            let port = port.unwrap_or(switchd::thrift::DEFAULT_PORT);
            Some((Ipv4Addr::UNSPECIFIED, port).into())
        }
        CalledBy::Own => port.map(|port| (grpc, port).into()),
    }
}

impl Target {
    /// What was said later wins.
    fn prefer(&mut self, later: Self) {
        macro_rules! later_or_before {
            ($($field:ident),*) => { $( if later.$field.is_some() { self.$field = later.$field; } )* };
        }
        later_or_before!(
            grpc_server_addr,
            cpu_port,
            drop_port,
            priority_queues,
            grpc_server_cert,
            grpc_server_key,
            grpc_server_cacert,
            dp_grpc_server_addr,
            load_modules,
            max_mc_groups,
            max_l1_entries,
            max_l2_entries
        );
        self.grpc_server_ssl |= later.grpc_server_ssl;
        self.grpc_server_with_client_auth |= later.grpc_server_with_client_auth;
        self.disable_swap |= later.disable_swap;
        self.enable_swap |= later.enable_swap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        switch: Switch,
    }

    fn read(line: &str) -> Switch {
        Line::try_parse_from(line.split_whitespace())
            .expect(line)
            .switch
    }

    #[test]
    fn the_line_of_simple_switch_grpc_is_accepted() {
        let mut switch = read(
            "switch -i 1@s1-eth1 -i 2@s1-eth2 --pcap=/tmp/pcaps --nanolog ipc:///tmp/x.ipc --device-id 3 build/x.json \
             --thrift-port 9090 --log-console -L trace --notifications-addr ipc:///tmp/n.ipc --use-files 1 -- \
             --grpc-server-addr 0.0.0.0:50051 --cpu-port 255 --priority-queues 8 --drop-port 511",
        );
        switch.settle().expect("settled");
        assert_eq!(switch.ports.len(), 2);
        assert_eq!(switch.device_id, 3);
        assert_eq!(switch.program.as_deref(), Some("build/x.json"));
        assert_eq!(switch.target.cpu_port, Some(255));
        assert_eq!(switch.address().expect("address").port(), 50051);
        assert_eq!(switch.remarks().len(), 4, "{:?}", switch.remarks());
    }

    #[test]
    fn what_follows_pcap_is_a_folder_or_the_program() {
        let folder = tempfile::tempdir().expect("folder");
        let program = folder.path().join("x.json");
        std::fs::write(&program, "{}").expect("written");
        let (program, folder) = (program.display(), folder.path().display());
        for (line, pcap) in [
            (
                format!("switch --pcap {folder} --nanolog x {program}"),
                folder.to_string(),
            ),
            (
                format!("switch --pcap={folder} {program}"),
                folder.to_string(),
            ),
            (format!("switch --pcap {program}"), ".".to_owned()),
        ] {
            let mut switch = read(&line);
            switch.settle().expect("settled");
            assert_eq!(switch.program, Some(program.to_string()), "{line}");
            assert_eq!(switch.pcap, Some(pcap.into()), "{line}");
        }
    }

    #[test]
    fn our_own_line_needs_no_dashes() {
        let mut switch = read("switch --no-p4 --cpu-port 510 --grpc-server-addr localhost:1234");
        switch.settle().expect("settled");
        assert_eq!(switch.target.cpu_port, Some(510));
        assert_eq!(switch.address().expect("address").port(), 1234);
    }

    #[test]
    fn only_plain_calls_from_everywhere_are_warned_of() {
        assert!(default_address(CalledBy::Own).starts_with("127.0.0.1:"));
        assert!(default_address(CalledBy::Bmv2).starts_with("0.0.0.0:"));
        for (line, warned) in [
            ("switch --no-p4", false),
            ("switch --no-p4 --grpc-server-addr 0.0.0.0:9559", true),
            ("switch --no-p4 --grpc-server-addr [::]:9559", true),
            (
                "switch --no-p4 --grpc-server-addr [::ffff:0.0.0.0]:9559",
                true,
            ),
            ("switch --no-p4 --grpc-server-addr 10.1.2.3:9559", false),
            (
                "switch --no-p4 --grpc-server-addr 0.0.0.0:9559 --grpc-server-cert x --grpc-server-key y",
                false,
            ),
        ] {
            let switch = read(line);
            let address = switch.address().expect("address");
            assert_eq!(switch.exposure(address).is_some(), warned, "{line}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for line in [
            "switch --no-p4 x.p4",
            "switch --no-p4 -- --drop-port 7",
            "switch --no-p4 -- --nonsense 7",
            "switch --no-p4 -- --load-modules x.so",
            "switch --no-p4 --restore-state x",
            "switch --no-p4 --grpc-server-cacert x",
            "switch --no-p4 --grpc-server-cert x --grpc-server-key x --grpc-server-cacert x",
        ] {
            assert!(read(line).settle().is_err(), "{line}");
        }
    }
}

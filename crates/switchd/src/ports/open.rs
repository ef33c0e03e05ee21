//! Opens what ports are connected to, for every thread its part.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linuxnet::{PacketOptions, PacketSocket};
use quantities::PortId;

use super::capture::{Files, Input, Output, Tap};
use super::claim::{Claim, Claims};
use super::datagram::{Datagrams, Udp, Unix};
use super::interface::Interface;
use super::{Line, PortBinding, PortError, PortSpec};

/// How ports are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortOptions {
    /// Every port's frames are also written to files in this folder.
    pub capture: Option<PathBuf>,
    /// Input files are read only after so long: time to load a program.
    pub files_wait: Duration,
    /// The port that leads to the controller: it is no line.
    pub cpu_port: Option<PortId>,
    /// How interfaces are opened.
    pub packet: PacketOptions,
}

/// A port as one thread has it, opened and ready to be driven.
pub(super) struct Wire {
    pub(super) port: PortId,
    pub(super) line: Box<dyn Line>,
    pub(super) tap: Option<Tap>,
    pub(super) input: Option<Input>,
}

type Lines = Vec<Box<dyn Line>>;

/// Opens a port for so many threads; an interface is claimed.
pub(super) fn open(
    binding: &PortBinding,
    options: &PortOptions,
    claims: &Claims,
    threads: usize,
) -> Result<(Vec<Wire>, Option<Claim>), PortError> {
    let port = binding.port;
    let socket = |what: &str, source| PortError::Socket {
        port,
        what: what.to_owned(),
        source,
    };
    let (mut inputs, mut claim) = (Vec::new(), None);
    let lines: Lines = match &binding.spec {
        PortSpec::Interface(name) => {
            claim = Some(Claim::new(port, name, claims)?);
            let opened = interfaces(name, options, threads);
            opened.map_err(|source| PortError::Net { port, source })?
        }
        PortSpec::Pcap {
            input: from,
            output: to,
        } => {
            if let Some(path) = from {
                inputs = Input::open(port, path, threads)?;
            }
            let to = to
                .as_deref()
                .map(|path| Output::create(port, path)?.alone(port))
                .transpose()?;
            let to = to.map(|output| Arc::new(Mutex::new(output)));
            (0..threads)
                .map(|_| Box::new(Files::new(to.clone())) as _)
                .collect()
        }
        PortSpec::Udp { local, peer } => {
            let opened = Udp::open(*local, *peer);
            let opened = opened.and_then(|udp| Datagrams::shared(udp, threads));
            opened.map_err(|e| socket(&format!("UDP socket {local}"), e))?
        }
        PortSpec::Unix { local, peer } => {
            let opened = Unix::open(local, peer);
            let opened = opened.and_then(|unix| Datagrams::shared(unix, threads));
            opened.map_err(|e| socket(&format!("Unix socket {}", local.display()), e))?
        }
    };
    let name = match &binding.spec {
        PortSpec::Interface(name) => name.clone(),
        _ => format!("port{port}"),
    };
    let tap = options.capture.as_deref();
    let tap = tap
        .map(|folder| Tap::create(port, folder, &name))
        .transpose()?;
    let mut inputs = inputs.into_iter();
    let wire = |line| Wire {
        port,
        line,
        tap: tap.clone(),
        input: inputs.next(),
    };
    Ok((lines.into_iter().map(wire).collect(), claim))
}

fn interfaces(
    name: &str,
    options: &PortOptions,
    threads: usize,
) -> Result<Lines, linuxnet::NetError> {
    let sockets = match threads {
        1 => vec![PacketSocket::open(name, &options.packet)?],
        _ => PacketSocket::open_shared(name, &options.packet, threads)?,
    };
    let line = |socket| Box::new(Interface::new(socket)) as _;
    Ok(sockets.into_iter().map(line).collect())
}

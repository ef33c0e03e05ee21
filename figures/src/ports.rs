//! Packets through a switch between two veth pairs: ours with either executor, the bare forwarder
//! that shows what raw sockets can carry here, and BMv2 where it is installed. All in one network
//! namespace, in turns.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use linuxnet::load::{Forwarder, Load};
use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{Driver, Namespace, NetError, PacketOptions, Process, Veth};
use p4front::Options;
use p4ir::ValidProgram;
use quantities::{Bytes, PortId};
use serde::Serialize;
use stf::bmv2::{Compiler, Program, is_installed};
use switchd::engine::{Engine, EngineConfig, ExecutorKind};
use switchd::ports::{PortBinding, PortOptions, PortSpec, Ports};
use thiserror::Error;

use super::program::compiled;

/// The program that all contenders run.
const PROGRAM: &str = include_str!("../p4/l2.p4");
/// From the sender's address to that of port 2.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
/// An EtherType for experiments (IEEE 802).
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];
/// Frame lengths, in bytes.
const LENGTHS: [usize; 2] = [64, 1500];
/// How often each contender runs; the best run counts.
const ROUNDS: usize = 3;
/// One run.
const WINDOW: Duration = Duration::from_millis(1000);
/// For a contender to carry its first frame.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Paced load as a share of what the bare forwarder carried.
const PACE: f64 = 0.5;

/// Who carries the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Nobody who looks at them.
    Bare,
    /// Our switch.
    Ours(ExecutorKind, Driver),
    /// BMv2's simple_switch.
    Bmv2,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare forwarder",
            Self::Ours(ExecutorKind::Interp, _) => "switchwright interp",
            Self::Ours(ExecutorKind::Compile, Driver::Xdp) => "switchwright compile, AF_XDP",
            Self::Ours(ExecutorKind::Compile, _) => "switchwright compile",
            Self::Bmv2 => "simple_switch",
        }
    }

    /// The thread of this process that carries frames; `None` if a process of its own does.
    fn thread(self) -> Option<&'static str> {
        match self {
            Self::Bare => Some("forwarder"),
            Self::Ours(..) => Some("data-plane"),
            Self::Bmv2 => None,
        }
    }
}

/// What one contender reached with frames of one length.
#[derive(Clone, Debug, Serialize)]
pub struct PortFigure {
    /// Who.
    pub contender: &'static str,
    /// Length of the frames.
    pub length: Bytes,
    /// Frames per second carried under as much load as the sender can make: the best run.
    pub unpaced: f64,
    /// The same over the bare forwarder's.
    pub ratio: f64,
    /// Processor time of the carrying threads per frame, in nanoseconds: the best run. Others at
    /// work on the machine change it less than the rate.
    pub core_time: Option<f64>,
    /// The bare forwarder's over it.
    pub core_ratio: Option<f64>,
    /// Paced load offered, in frames per second.
    pub offered: f64,
    /// The share of it that was carried.
    pub carried: f64,
    /// By how much the process grew while it carried frames (ours only).
    pub growth: Option<Bytes>,
}

/// Why the benchmark did not run.
#[derive(Debug, Error)]
pub enum PortsError {
    /// The machine does not let us.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The switch did not start.
    #[error("the switch did not start: {0}")]
    Switch(String),
    /// Nothing came through.
    #[error("{0} carried no frame in {1} s")]
    Silent(&'static str, u64),
    /// A file or process.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A contender at work.
enum Running {
    Bare(Forwarder),
    Ours(Box<(Engine, Ports)>),
    Bmv2(Process),
}

impl Running {
    fn start(contender: Contender, scratch: &Path) -> Result<Self, PortsError> {
        match contender {
            Contender::Bare => Ok(Self::Bare(Forwarder::start("p1", "p2", Driver::Ring)?)),
            Contender::Ours(kind, driver) => {
                start_ours(kind, driver).map(|running| Self::Ours(Box::new(running)))
            }
            Contender::Bmv2 => {
                let mut switch = Command::new("simple_switch");
                switch
                    .args(["--log-level", "off", "-i", "1@p1", "-i", "2@p2"])
                    .args(["--thrift-port", "19090"]) // of the namespace: nobody else's
                    .arg(scratch.join("l2.json"))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                Ok(Self::Bmv2(Process::start(switch)?))
            }
        }
    }

    /// Processor time that the carrying threads have taken.
    fn core_time(&self, contender: Contender) -> Option<Duration> {
        match self {
            Self::Bmv2(child) => super::machine::thread_time(child.id(), None),
            _ => super::machine::thread_time(std::process::id(), contender.thread()),
        }
    }

    fn stop(self) {
        match self {
            Self::Bare(forwarder) => forwarder.stop(),
            Self::Ours(running) => {
                let (engine, ports) = *running;
                drop(ports);
                engine.stop();
            }
            Self::Bmv2(child) => drop(child),
        }
    }
}

fn program() -> Result<Arc<ValidProgram>, PortsError> {
    let options = Options::default();
    compiled("l2.p4", PROGRAM, &options).map_err(PortsError::Switch)
}

fn start_ours(kind: ExecutorKind, driver: Driver) -> Result<(Engine, Ports), PortsError> {
    let binding = |number: u16| PortBinding {
        port: PortId::new(number),
        spec: PortSpec::Interface(format!("p{number}")),
    };
    let failed = |e: &dyn std::fmt::Display| PortsError::Switch(e.to_string());
    let options = PortOptions {
        packet: PacketOptions {
            driver,
            ..PacketOptions::default()
        },
        ..PortOptions::default()
    };
    let (mut ports, set) =
        Ports::open(&[binding(1), binding(2)], options).map_err(|e| failed(&e))?;
    let config = EngineConfig {
        ports: ports.numbers(),
        executor: kind,
        ..EngineConfig::default()
    };
    let (engine, _) = Engine::start(&config, set).map_err(|e| failed(&e))?;
    let executor = engine.handle().build(program()?).map_err(|e| failed(&e))?;
    engine.handle().replace(executor).map_err(|e| failed(&e))?;
    ports.attach(engine.handle()).map_err(|e| failed(&e))?;
    Ok((engine, ports))
}

/// Compiles the program for BMv2; false where it is not installed.
fn prepare_bmv2(scratch: &Path) -> Result<bool, PortsError> {
    if !is_installed("simple_switch") {
        return Ok(false);
    }
    let source = scratch.join("l2.p4");
    fs::write(&source, PROGRAM)?;
    let options = Options::default();
    let Ok(program) = Program::compile(&source, Compiler::preferred(), &options, scratch) else {
        return Ok(false);
    };
    fs::copy(program.json(), scratch.join("l2.json"))?;
    Ok(true)
}

/// Counts what arrives at the far end.
struct Sink(Rtnl);

impl Sink {
    fn count(&mut self) -> Result<u64, PortsError> {
        Ok(self.0.link("sink")?.stats.received)
    }

    /// Until frames arrive.
    fn wait(&mut self, contender: Contender) -> Result<(), PortsError> {
        let (first, start) = (self.count()?, Instant::now());
        while self.count()? < first + 100 {
            if start.elapsed() > TIMEOUT {
                return Err(PortsError::Silent(contender.name(), TIMEOUT.as_secs()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn frame(length: usize) -> Vec<u8> {
    let mut frame = [ADDRESSES.as_slice(), &EXPERIMENT].concat();
    frame.resize(length, 0x5a);
    frame
}

/// One run under full load.
#[derive(Clone, Copy, Default)]
struct Run {
    /// Frames per second carried.
    rate: f64,
    /// Nanoseconds of processor time per frame.
    core_time: Option<f64>,
    /// How much memory the process took meanwhile, in bytes.
    growth: Option<u64>,
}

impl Run {
    /// The better of two runs, figure by figure.
    fn better(self, other: Self) -> Self {
        let least = [self.core_time, other.core_time].into_iter().flatten();
        Self {
            rate: self.rate.max(other.rate),
            core_time: least.reduce(f64::min),
            growth: if other.rate > self.rate {
                other.growth
            } else {
                self.growth
            },
        }
    }
}

/// Frames carried under full load.
fn unpaced(contender: Contender, length: usize, scratch: &Path) -> Result<Run, PortsError> {
    let mut sink = Sink(Rtnl::open()?);
    let running = Running::start(contender, scratch)?;
    let load = Load::start("gen", frame(length), None)?;
    let measured = sink.wait(contender).and_then(|()| {
        let memory = super::machine::resident_memory();
        let spent = running.core_time(contender);
        let (before, start) = (sink.count()?, Instant::now());
        thread::sleep(WINDOW);
        let frames = (sink.count()? - before) as f64;
        let rate = frames / start.elapsed().as_secs_f64();
        let spent = spent.zip(running.core_time(contender));
        let growth = memory.zip(super::machine::resident_memory());
        Ok(Run {
            rate,
            core_time: spent.map(|(a, b)| b.saturating_sub(a).as_nanos() as f64 / frames.max(1.0)),
            growth: growth.map(|(a, b)| b.get().saturating_sub(a.get())),
        })
    });
    let _ = load.stop();
    running.stop();
    measured
}

/// The share of paced load that was carried, and the load.
fn paced(
    contender: Contender,
    length: usize,
    rate: u64,
    scratch: &Path,
) -> Result<(f64, f64), PortsError> {
    let mut sink = Sink(Rtnl::open()?);
    let running = Running::start(contender, scratch)?;
    let first = Load::start("gen", frame(length), Some(1000))?;
    let started = sink.wait(contender);
    let _ = first.stop();
    let measured = started.and_then(|()| {
        settle(&mut sink)?;
        let before = sink.count()?;
        let load = Load::start("gen", frame(length), Some(rate))?;
        thread::sleep(WINDOW);
        let sent = load.stop();
        settle(&mut sink)?;
        let arrived = (sink.count()? - before) as f64;
        let offered = sent.frames as f64 / sent.time.as_secs_f64();
        Ok((offered, arrived / sent.frames.max(1) as f64))
    });
    running.stop();
    measured
}

/// Until nothing arrives any more.
fn settle(sink: &mut Sink) -> Result<(), PortsError> {
    let mut last = sink.count()?;
    loop {
        thread::sleep(Duration::from_millis(100));
        let now = sink.count()?;
        if now == last {
            return Ok(());
        }
        last = now;
    }
}

/// Runs all contenders and tells of each step.
///
/// # Errors
/// [`PortsError::Net`] where the machine does not let us make namespaces and raw sockets.
pub fn measure_ports(
    scratch: &Path,
    peers: bool,
    step: &(dyn Fn(&str) + Sync),
) -> Result<Vec<PortFigure>, PortsError> {
    let mut contenders = vec![Contender::Bare];
    // The slowest first.
    contenders.push(Contender::Ours(ExecutorKind::Interp, Driver::Ring));
    contenders.push(Contender::Ours(ExecutorKind::Compile, Driver::Ring));
    if linuxnet::xdp_available().is_ok() {
        contenders.push(Contender::Ours(ExecutorKind::Compile, Driver::Xdp));
    }
    if peers && prepare_bmv2(scratch)? {
        contenders.push(Contender::Bmv2);
    }
    let lab = Namespace::new()?;
    // Without IPv6 there is no chatter; where there is none it need not be switched off.
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let _inward = Veth::new(End::here("gen"), End::here("p1"))?;
        let _outward = Veth::new(End::here("p2"), End::here("sink"))?;
        let mut figures = Vec::new();
        for length in LENGTHS {
            figures.extend(measure_length(&contenders, length, scratch, step)?);
        }
        Ok(figures)
    })?
}

fn measure_length(
    contenders: &[Contender],
    length: usize,
    scratch: &Path,
    step: &(dyn Fn(&str) + Sync),
) -> Result<Vec<PortFigure>, PortsError> {
    let mut best = vec![Run::default(); contenders.len()];
    for _ in 0..ROUNDS {
        for (contender, best) in contenders.iter().zip(&mut best) {
            step(&format!("{} with {length} bytes", contender.name()));
            *best = best.better(unpaced(*contender, length, scratch)?);
        }
    }
    let bare = best[0];
    let pace = (bare.rate * PACE) as u64;
    let figure = |(contender, run): (&Contender, Run)| {
        step(&format!("{} with {length} bytes, paced", contender.name()));
        let (offered, carried) = paced(*contender, length, pace, scratch)?;
        let ours = matches!(contender, Contender::Ours(..));
        Ok(PortFigure {
            contender: contender.name(),
            length: Bytes::new(length as u64),
            unpaced: run.rate,
            ratio: run.rate / bare.rate,
            core_time: run.core_time,
            core_ratio: bare
                .core_time
                .zip(run.core_time)
                .map(|(bare, own)| bare / own),
            offered,
            carried,
            growth: run.growth.filter(|_| ours).map(Bytes::new),
        })
    };
    contenders.iter().zip(best).map(figure).collect()
}

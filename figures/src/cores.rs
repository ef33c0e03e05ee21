//! Packets through the engine with one data-plane thread and with several. Ports are in memory:
//! each thread finds the next packets of its flows there and leaves what it sends, so that no
//! sender and no system call bounds it; all else is as in the switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use p4ir::ValidProgram;
use quantities::{PortId, Priority};
use serde::Serialize;
use switchd::engine::flow::thread_of;
use switchd::engine::io::{PacketBatch, PortIo, Wake};
use switchd::engine::{Engine, EngineConfig, EngineError, ExecutorKind, thread_name};
use thiserror::Error;

use super::program::compiled;

const PROGRAM: &str = include_str!("../p4/cores.p4");
/// Ports that packets come by.
const PORTS: u16 = 4;
/// Flows.
const FLOWS: u16 = 1024;
/// Packets that a thread finds at once, and bytes of each.
const BURST: usize = 256;
const LENGTH: usize = 128;
/// Runs of each number of threads, in turns.
const ROUNDS: usize = 6;
/// One run, after a start.
const WINDOW: Duration = Duration::from_millis(300);
const START: Duration = Duration::from_millis(50);

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoresCase {
    /// Its name.
    pub name: &'static str,
    /// What packets write besides counters.
    register: bool,
}

/// All cases.
pub const CORES_CASES: [CoresCase; 2] = [
    CoresCase {
        name: "counters",
        register: false,
    },
    CoresCase {
        name: "counters and a register",
        register: true,
    },
];

/// What a number of threads reached.
#[derive(Clone, Debug, Serialize)]
pub struct CoresRun {
    /// Threads of the data plane.
    pub threads: usize,
    /// Packets per second of all together: the best run.
    pub packets_per_second: f64,
    /// The same over one thread's.
    pub ratio: f64,
    /// The middle of the ratios of runs that followed each other: others at work on the machine
    /// change it less.
    pub paired_ratio: f64,
    /// Packets per second of processor time, over one thread's: what threads cost each other while
    /// they run.
    pub efficiency: Option<f64>,
    /// The share of the time in which the threads had no processor: they waited for each other, or
    /// others had it.
    pub off_processor: Option<f64>,
}

/// The figures of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CoresFigure {
    /// Its name.
    pub name: &'static str,
    /// By number of threads.
    pub runs: Vec<CoresRun>,
}

/// Why the benchmark did not run.
#[derive(Debug, Error)]
pub enum CoresError {
    /// The program of the benchmark.
    #[error("the program does not run: {0}")]
    Program(String),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Packets that a thread has sent, on lines of the processor's cache of their own.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

/// Ports of one thread: the same packets again and again.
struct Replay {
    packets: Vec<(PortId, Vec<u8>)>,
    next: usize,
    sent: Arc<Count>,
    go: Arc<AtomicBool>,
}

struct NoWake;

impl Wake for NoWake {
    fn wake(&self) {}
}

impl PortIo for Replay {
    fn receive(&mut self, batch: &mut PacketBatch) {
        if !self.go.load(Ordering::Relaxed) {
            return;
        }
        let from = self.packets.iter().cycle().skip(self.next);
        for (port, packet) in from.take(BURST) {
            batch.push(*port, Priority::default(), packet);
        }
        self.next = (self.next + BURST) % self.packets.len().max(1);
    }

    fn transmit(&mut self, batch: &PacketBatch) {
        self.sent.0.fetch_add(batch.len() as u64, Ordering::Relaxed);
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        thread::sleep(timeout.unwrap_or_default().min(Duration::from_millis(1)));
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::new(NoWake)
    }
}

/// A packet of each flow.
fn packets() -> Vec<(PortId, Vec<u8>)> {
    let packet = |flow: u16| {
        let [high, low] = flow.to_be_bytes();
        let mut packet = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0];
        packet.extend([0x45, 0, 0, 114, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        packet.extend([10, 2, high, low, 10, low & 1, high, low]);
        packet.extend([high, low, 0, 53]);
        packet.resize(LENGTH, 0x5a);
        (PortId::new(1 + flow % PORTS), packet)
    };
    (0..FLOWS).map(packet).collect()
}

/// One run: packets per second, and per second of processor time.
#[derive(Clone, Copy, Default)]
struct Rate {
    clock: f64,
    processor: Option<f64>,
}

impl CoresCase {
    /// Runs it with one thread, two, and so on twice as many, up to the cores that there are.
    ///
    /// # Errors
    /// [`CoresError`] if threads cannot be had.
    pub fn measure(self, step: impl Fn(&str)) -> Result<CoresFigure, CoresError> {
        let program = self.program()?;
        let cores = thread::available_parallelism()
            .map_or(2, usize::from)
            .max(2);
        let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
        let counts: Vec<usize> = doubled.take_while(|threads| *threads <= cores).collect();
        let mut rates = vec![Vec::new(); counts.len()];
        for round in 0..ROUNDS {
            step(&format!("{}, run {} of {ROUNDS}", self.name, round + 1));
            for (threads, rates) in counts.iter().zip(&mut rates) {
                rates.push(run(&program, *threads)?);
            }
        }
        let one = rates[0].clone();
        let runs = counts.iter().zip(&rates);
        Ok(CoresFigure {
            name: self.name,
            runs: runs
                .map(|(threads, rates)| figure(*threads, rates, &one))
                .collect(),
        })
    }

    fn program(self) -> Result<Arc<ValidProgram>, CoresError> {
        let mut options = p4front::Options::default();
        if self.register {
            options.defines.push(("REGISTER".to_owned(), String::new()));
        }
        compiled("cores.p4", PROGRAM, &options).map_err(CoresError::Program)
    }
}

fn figure(threads: usize, rates: &[Rate], one: &[Rate]) -> CoresRun {
    let best = |rates: &[Rate]| rates.iter().map(|r| r.clock).fold(0.0, f64::max);
    let cheapest = |rates: &[Rate]| rates.iter().filter_map(|r| r.processor).reduce(f64::max);
    let mut paired: Vec<f64> = rates
        .iter()
        .zip(one)
        .map(|(r, o)| r.clock / o.clock)
        .collect();
    paired.sort_by(f64::total_cmp);
    let off = |rate: &Rate| Some(1.0 - rate.clock / (rate.processor? * threads as f64));
    CoresRun {
        threads,
        packets_per_second: best(rates),
        ratio: best(rates) / best(one),
        paired_ratio: paired[paired.len() / 2],
        efficiency: cheapest(rates)
            .zip(cheapest(one))
            .map(|(own, one)| own / one),
        off_processor: rates.iter().filter_map(off).reduce(f64::min),
    }
}

/// Processor time that the threads of all data planes of this process have taken.
fn processor(threads: usize) -> Option<Duration> {
    let of = |name: String| super::machine::thread_time(std::process::id(), Some(&name));
    (0..threads).map(thread_name).map(of).sum()
}

fn run(program: &Arc<ValidProgram>, threads: usize) -> Result<Rate, CoresError> {
    let go = Arc::new(AtomicBool::new(false));
    let counts: Vec<Arc<Count>> = (0..threads).map(|_| Arc::default()).collect();
    let replay = |number: usize| {
        let packets = packets().into_iter();
        let own = packets.filter(|(_, packet)| thread_of(packet, threads) == number);
        Replay {
            packets: own.collect(),
            next: 0,
            sent: Arc::clone(&counts[number]),
            go: Arc::clone(&go),
        }
    };
    let config = EngineConfig {
        ports: (1..=PORTS).map(PortId::new).collect(),
        executor: ExecutorKind::Compile,
        ..EngineConfig::default()
    };
    let (engine, _notifications) =
        Engine::start_threads(&config, (0..threads).map(replay).collect())?;
    let executor = engine.handle().build(Arc::clone(program));
    let executor = executor.map_err(|e| CoresError::Program(e.to_string()))?;
    engine.handle().replace(executor)?;
    go.store(true, Ordering::Relaxed);
    thread::sleep(START);
    let sent = || {
        counts
            .iter()
            .map(|c| c.0.load(Ordering::Relaxed))
            .sum::<u64>()
    };
    let (before, spent, start) = (sent(), processor(threads), Instant::now());
    thread::sleep(WINDOW);
    let packets = (sent() - before) as f64;
    let clock = packets / start.elapsed().as_secs_f64();
    let spent = spent.zip(processor(threads));
    engine.stop();
    Ok(Rate {
        clock,
        processor: spent.map(|(a, b)| packets / b.saturating_sub(a).as_secs_f64()),
    })
}

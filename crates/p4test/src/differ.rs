//! Whether two executors do the same: one scenario on both, step by step, then the state compared.

use std::fmt;
use std::sync::Arc;

use p4exec::ExecutorKind;
use p4exec::exec::Batch;
use p4exec::state::ExternState;
use p4exec::trace::Tracer;
use p4exec::{BuildError, Executor, Output, Outputs, RuntimeState, Update};
use p4ir::ValidProgram;
use packetgen::Choices;
use quantities::{Nanos, PortId};

use crate::beside::Beside;
use crate::random::{Scenario, Step};

/// Time between two packets.
const TICK: u64 = 7_919;
/// Packets that come at once: more than the compiled executor takes in one piece.
const MOST_IN_A_BATCH: usize = 40;
/// Scenarios that shrinking may run.
const MAX_SHRINKS: usize = 600;

/// Two executors did not do the same.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The two.
    pub executors: (ExecutorKind, ExecutorKind),
    /// The second ran the JSON that we write of the program.
    pub by_json: bool,
    /// The step after which they differ; all steps, where only the state at the end does.
    pub step: usize,
    /// What the first did.
    pub first: String,
    /// What the second did.
    pub second: String,
    /// The steps that lead there.
    pub scenario: Scenario,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b) = self.executors;
        let b = match self.by_json {
            true => format!("{b} by way of JSON"),
            false => b.to_string(),
        };
        writeln!(f, "{a} and {b} differ after these steps:")?;
        write!(f, "{}", self.scenario)?;
        let (first, second) = (&self.first, &self.second);
        write!(f, "{a}: {first}\n{b}: {second}")
    }
}

/// What packets of a scenario came to, so that one sees that a run meant something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that came in.
    pub packets: u64,
    /// Packets that went out.
    pub sent: u64,
    /// Packets and copies dropped.
    pub dropped: u64,
    /// Updates taken.
    pub updates: u64,
    /// Updates refused.
    pub refused: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.updates += other.updates;
        self.refused += other.refused;
    }
}

/// Two executors of one program, made once for many scenarios.
pub struct Pair {
    executors: (ExecutorKind, ExecutorKind),
    first: Box<dyn Executor>,
    second: Box<dyn Executor>,
    /// The first states of both.
    initial: [RuntimeState; 2],
    /// The JSON that the second runs.
    json: Option<Beside>,
}

impl Pair {
    /// Starts both.
    ///
    /// # Errors
    /// An executor that cannot run the program.
    pub fn new(
        program: &Arc<ValidProgram>,
        executors: (ExecutorKind, ExecutorKind),
    ) -> Result<Self, BuildError> {
        Self::of(program, executors, None)
    }

    /// Starts one of the program and one of the JSON that we write of it.
    ///
    /// # Errors
    /// An executor that cannot run the program.
    pub fn beside(
        program: &Arc<ValidProgram>,
        executors: (ExecutorKind, ExecutorKind),
        json: Beside,
    ) -> Result<Self, BuildError> {
        Self::of(program, executors, Some(json))
    }

    fn of(
        program: &Arc<ValidProgram>,
        executors: (ExecutorKind, ExecutorKind),
        json: Option<Beside>,
    ) -> Result<Self, BuildError> {
        let first = p4exec::executor(executors.0, Arc::clone(program))?;
        let second = json.as_ref().map_or(program, Beside::program);
        let second = p4exec::executor(executors.1, Arc::clone(second))?;
        Ok(Self {
            executors,
            initial: [first.state().clone(), second.state().clone()],
            first,
            second,
            json,
        })
    }

    /// Runs a scenario on both, from the program's first state.
    ///
    /// # Errors
    /// Where they differ.
    pub fn compare(&mut self, scenario: &Scenario) -> Result<Tally, Disagreement> {
        let (first, second) = (self.first.as_mut(), self.second.as_mut());
        first.state_mut().clone_from(&self.initial[0]);
        second.state_mut().clone_from(&self.initial[1]);
        play(
            scenario,
            self.executors,
            [first, second],
            self.json.as_ref(),
        )
    }

    /// Runs a scenario on the first alone, traced, from the program's first state.
    pub fn trace(&mut self, scenario: &Scenario, tracer: &mut dyn Tracer) {
        let executor = self.first.as_mut();
        executor.state_mut().clone_from(&self.initial[0]);
        let mut now = Nanos::new(1_000_000);
        let mut out = Outputs::default();
        for step in &scenario.steps {
            now = Nanos::new(now.get() + TICK);
            match step {
                Step::Update(update) => {
                    // What is refused changes nothing.
                    let _ = apply(executor, update, now);
                }
                Step::Port { port, up } => executor.state_mut().set_port_up(*port, *up),
                Step::Wait(time) => now = Nanos::new(now.get() + time.get()),
                Step::Packet { port, bytes } => {
                    out.clear();
                    executor.process_traced(now, bytes, *port, &mut out, tracer);
                }
            }
        }
    }
}

fn play(
    scenario: &Scenario,
    executors: (ExecutorKind, ExecutorKind),
    [first, second]: [&mut dyn Executor; 2],
    json: Option<&Beside>,
) -> Result<Tally, Disagreement> {
    let mut tally = Tally::default();
    let mut now = Nanos::new(1_000_000);
    let disagreement = |step: usize, a: String, b: String| Disagreement {
        executors,
        by_json: json.is_some(),
        step,
        first: a,
        second: b,
        scenario: Scenario {
            steps: scenario.steps[..step].to_vec(),
        },
    };
    let mut index = 0;
    while let Some(step) = scenario.steps.get(index) {
        now = Nanos::new(now.get() + TICK);
        let start = index;
        index += 1;
        match step {
            Step::Update(update) => {
                let Some(theirs) = of_second(first, json, update) else {
                    continue;
                };
                let a = apply(first, update, now);
                let b = apply(second, &theirs, now);
                // The words may name what the JSON calls otherwise.
                let same = a == b || (json.is_some() && a.is_err() == b.is_err());
                if !same {
                    let show = |r: Result<(), String>| r.err().unwrap_or_else(|| "taken".into());
                    return Err(disagreement(index, show(a), show(b)));
                }
                tally.updates += u64::from(a.is_ok());
                tally.refused += u64::from(a.is_err());
            }
            Step::Port { port, up } => {
                first.state_mut().set_port_up(*port, *up);
                second.state_mut().set_port_up(*port, *up);
            }
            Step::Wait(time) => now = Nanos::new(now.get() + time.get()),
            Step::Packet { .. } => {
                let packets = packets_of(&scenario.steps[start..]);
                index = start + packets.len();
                let mut a = Vec::new();
                for (port, bytes) in &packets {
                    let mut out = Outputs::default();
                    first.process(now, bytes, *port, &mut out);
                    tally.sent += out.sent.len() as u64;
                    tally.dropped += out.dropped.len() as u64;
                    a.push(out);
                }
                tally.packets += packets.len() as u64;
                let b = by_batch(second, now, &packets);
                let same = |(a, b): &(&Outputs, &Outputs)| match json {
                    None => a.sent == b.sent && a.dropped == b.dropped,
                    Some(_) => same_packets(a, b),
                };
                let mut pairs = a.iter().zip(&b);
                if let Some(at) = pairs.position(|pair| !same(&pair)) {
                    let show = |out: &Outputs| format!("packet {}: {out:?}", at + 1);
                    return Err(disagreement(index, show(&a[at]), show(&b[at])));
                }
            }
        }
    }
    if json.is_some() {
        return Ok(tally);
    }
    let (a, b) = (snapshot(first.state()), snapshot(second.state()));
    match a.iter().zip(&b).find(|(a, b)| a != b) {
        None => Ok(tally),
        Some((a, b)) => Err(disagreement(scenario.steps.len(), a.clone(), b.clone())),
    }
}

/// A change as the second takes it; `None` if it has no such object.
fn of_second(first: &dyn Executor, json: Option<&Beside>, update: &Update) -> Option<Update> {
    match json {
        None => Some(update.clone()),
        Some(json) => json.update(first.state().program(), update),
    }
}

/// The JSON has no place for the annotations that choose queues.
fn same_packets(a: &Outputs, b: &Outputs) -> bool {
    let packets = |out: &Outputs| -> Vec<(PortId, Vec<u8>)> {
        let sent = out.sent.iter();
        sent.map(|one| (one.port, one.bytes.clone())).collect()
    };
    packets(a) == packets(b) && a.dropped == b.dropped
}

/// The packets that steps begin with, which come at one time: as many as there are up to the next
/// step of another kind, but no more than the length of the first one says. So there are batches of
/// one, and of many.
fn packets_of(steps: &[Step]) -> Vec<(PortId, &[u8])> {
    let packets = steps.iter().map_while(|step| match step {
        Step::Packet { port, bytes } => Some((*port, &bytes[..])),
        _ => None,
    });
    let packets: Vec<_> = packets.take(MOST_IN_A_BATCH).collect();
    let most = packets.first().map_or(0, |(_, first)| first.len());
    packets
        .into_iter()
        .take(1 + most % MOST_IN_A_BATCH)
        .collect()
}

/// What packets come to as one batch.
fn by_batch(executor: &mut dyn Executor, now: Nanos, packets: &[(PortId, &[u8])]) -> Vec<Outputs> {
    let mut batch = Batch::default();
    executor.process_batch(now, packets, &mut batch);
    let mut all = vec![Outputs::default(); packets.len()];
    for departure in &batch.sent {
        all[departure.arrival as usize].sent.push(Output {
            port: departure.port,
            bytes: batch.packet(departure).to_vec(),
            metadata: departure.metadata,
        });
    }
    for (arrival, reason) in batch.dropped {
        all[arrival as usize].dropped.push(reason);
    }
    all
}

fn apply(executor: &mut dyn Executor, update: &Update, now: Nanos) -> Result<(), String> {
    let state = executor.state_mut();
    state.apply(update.clone(), now).map_err(|e| e.to_string())
}

/// Everything a control plane could read, as text: one line per table, extern object, and the rest.
#[must_use]
pub fn snapshot(state: &RuntimeState) -> Vec<String> {
    let program = state.program();
    let mut lines = Vec::new();
    for (id, table) in state.tables() {
        let name = &program.tables[id].name;
        lines.push(format!("{name} default {:?}", table.default_action()));
        lines.push(format!("{name} {:?}", state.data.cells(id)));
        let entries = table.iter();
        lines.extend(entries.map(|e| format!("{name} {} {:?}", e.handle(), e.to_entry())));
    }
    for (id, instance) in program.externs.iter() {
        let name = &instance.name;
        lines.extend(
            state
                .extern_state(id)
                .map(|state| format!("{name} {}", cells(state))),
        );
    }
    lines.push(format!("digests {:?}", state.data.digests));
    lines.push(format!("random {:?}", state.data.random));
    lines
}

/// The cells of an extern object that are not as they were at the start: arrays are long, and what
/// packets touch is little.
fn cells(state: &ExternState) -> String {
    fn show<T: fmt::Debug>(cells: &[T], is_touched: impl Fn(&T) -> bool) -> String {
        let touched = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| is_touched(cell));
        touched.fold(String::new(), |text, (index, cell)| {
            format!("{text} {index}: {cell:?}")
        })
    }
    match state {
        ExternState::Counter(counter) => show(&counter.cells, |c| *c != Default::default()),
        // Those without a configuration mark too: all green.
        ExternState::Meter(meter) => show(&meter.cells, |m| {
            m.config().is_some() || *m.marked() != Default::default()
        }),
        ExternState::Register(register) => show(register.cells(), |value| !value.is_zero()),
        ExternState::None => String::new(),
    }
}

/// The least part of a disagreement's scenario that still shows one, as far as removing pieces
/// goes.
#[must_use]
pub fn shrink(program: &Arc<ValidProgram>, found: Disagreement) -> Disagreement {
    let pair = match found.by_json.then(|| Beside::new(program)) {
        None => Pair::new(program, found.executors),
        Some(Ok(json)) => Pair::beside(program, found.executors, json),
        Some(Err(_)) => return found,
    };
    let Ok(mut pair) = pair else {
        return found;
    };
    let mut best = found;
    let mut runs = 0;
    let mut size = best.scenario.steps.len() / 2;
    while size > 0 {
        let mut start = 0;
        while start < best.scenario.steps.len() && runs < MAX_SHRINKS {
            runs += 1;
            let mut steps = best.scenario.steps.clone();
            let end = (start + size).min(steps.len());
            steps.drain(start..end);
            match pair.compare(&Scenario { steps }) {
                Err(smaller) => best = smaller,
                Ok(_) => start += size,
            }
        }
        size /= 2;
    }
    best
}

/// Runs `packets` random packets through a program on two executors, in scenarios of up to
/// `per_scenario` packets, each from the program's first state.
///
/// # Errors
/// An executor that cannot run the program.
pub fn soak(
    program: &Arc<ValidProgram>,
    executors: (ExecutorKind, ExecutorKind),
    packets: u64,
    per_scenario: usize,
    seed: u64,
) -> Result<Result<Tally, Box<Disagreement>>, BuildError> {
    let pair = Pair::new(program, executors)?;
    soak_pair(program, pair, packets, per_scenario, seed)
}

/// The same on the interpreter and, beside it, on the JSON that we write of the program.
///
/// # Errors
/// An executor that cannot run the program.
pub fn soak_json(
    program: &Arc<ValidProgram>,
    json: Beside,
    packets: u64,
    per_scenario: usize,
    seed: u64,
) -> Result<Result<Tally, Box<Disagreement>>, BuildError> {
    let pair = Pair::beside(program, (ExecutorKind::Interp, ExecutorKind::Interp), json)?;
    soak_pair(program, pair, packets, per_scenario, seed)
}

fn soak_pair(
    program: &Arc<ValidProgram>,
    mut pair: Pair,
    packets: u64,
    per_scenario: usize,
    seed: u64,
) -> Result<Result<Tally, Box<Disagreement>>, BuildError> {
    let mut tally = Tally::default();
    let mut round = 0_u64;
    while tally.packets < packets {
        let mut choices = Choices::seeded(seed.wrapping_mul(0x1000_0001).wrapping_add(round));
        round += 1;
        let left = usize::try_from(packets - tally.packets).unwrap_or(usize::MAX);
        let scenario = Scenario::new(program, per_scenario.min(left), &mut choices)?;
        match pair.compare(&scenario) {
            Ok(more) => tally += more,
            Err(found) => return Ok(Err(Box::new(shrink(program, found)))),
        }
    }
    Ok(Ok(tally))
}

//! Whether everybody does with a program what the oracle says.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use p4exec::{Batch, Executor as _, ExecutorKind};
use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use quantities::{Nanos, PortId};
use stf::bmv2::{self, Compiler, Trouble};

use crate::beside::Beside;

use super::ast::Program;
use super::eval::{self, Outcome, Run};
use super::shrink::shrink;

/// Where packets come in, and where they go.
const IN_PORT: u16 = 0;
const OUT_PORT: u16 = 1;

/// Who is asked besides our executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judges {
    /// p4c: what it compiled runs on our executors too.
    pub p4c: bool,
    /// `simple_switch`, on what we compiled, and p4c.
    pub simple_switch: bool,
}

impl Judges {
    fn compilers(self) -> Vec<Compiler> {
        let ours = self.simple_switch.then_some(Compiler::Ours);
        ours.into_iter()
            .chain(self.p4c.then_some(Compiler::P4c))
            .collect()
    }
}

impl Judges {
    /// Those on PATH.
    #[must_use]
    pub fn installed() -> Self {
        Self {
            p4c: bmv2::is_installed("p4c-bm2-ss"),
            simple_switch: bmv2::missing_tool().is_none(),
        }
    }
}

/// Who did something else than the oracle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Our front end refuses the program.
    FrontEnd,
    /// An executor of ours, on what our front end makes of the program.
    Ours(ExecutorKind),
    /// The interpreter, on the JSON that a compiler makes of it.
    FromJson(Compiler),
    /// `simple_switch`, on the same.
    SimpleSwitch(Compiler),
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FrontEnd => f.write_str("our front end"),
            Self::Ours(kind) => write!(f, "{kind}"),
            Self::FromJson(compiler) => write!(f, "interp from the JSON of {compiler}"),
            Self::SimpleSwitch(compiler) => write!(f, "simple_switch, by {compiler}"),
        }
    }
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Who differs.
    pub party: Party,
    /// The program.
    pub program: Program,
    /// The packet, and what the oracle says of it. `None` where the program was not run.
    pub packet: Option<(Vec<u8>, Outcome)>,
    /// What happened instead.
    pub instead: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.program)?;
        if let Some((packet, expected)) = &self.packet {
            writeln!(f, "packet   {}", hex(packet))?;
            match expected {
                Outcome::Sent(bytes) => {
                    let digit = |b: &Option<u8>| b.map_or("**".into(), |b| format!("{b:02x}"));
                    let bytes: String = bytes.iter().map(digit).collect();
                    writeln!(f, "expected {bytes}")?;
                }
                Outcome::Undefined(why) => writeln!(f, "undefined: {why}")?,
            }
        }
        write!(f, "{}: {}", self.party, self.instead)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// What a run of many programs came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs.
    pub programs: u64,
    /// Packets through them.
    pub packets: u64,
    /// Packets for which the language defines nothing: only our executors are compared.
    pub undefined: u64,
    /// What came of the JSON that we make of them.
    pub ours: Judged,
    /// What came of p4c's.
    pub p4c: Judged,
}

/// What a run of many programs by way of a compiler's JSON came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Programs that our interpreter ran.
    pub compiled: u64,
    /// Programs that `simple_switch` ran.
    pub simple_switch: u64,
    /// Packets of these that came out otherwise, and had met a known fault of p4c.
    pub explained: u64,
    /// Programs that the compiler does not take, by the kind of refusal.
    pub not_taken: BTreeMap<String, u64>,
    /// Programs that the compiler takes and `simple_switch` does not: whole headers behind an index
    /// computed at run time.
    pub not_started: u64,
}

impl std::ops::AddAssign for Judged {
    fn add_assign(&mut self, other: Self) {
        self.compiled += other.compiled;
        self.simple_switch += other.simple_switch;
        self.explained += other.explained;
        for (kind, count) in other.not_taken {
            *self.not_taken.entry(kind).or_default() += count;
        }
        self.not_started += other.not_started;
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.packets += other.packets;
        self.undefined += other.undefined;
        self.ours += other.ours;
        self.p4c += other.p4c;
    }
}

/// What a packet came to on one executor: the bytes sent, if it was.
type Sent = Option<Vec<u8>>;

/// Runs packets through a program on everybody, and finds the first difference.
///
/// # Errors
/// The difference, not yet made small.
pub fn check(
    program: &Program,
    packets: &[Vec<u8>],
    judges: Judges,
) -> Result<Tally, Box<Difference>> {
    let found = |party, packet, instead| {
        Box::new(Difference {
            party,
            program: program.clone(),
            packet,
            instead,
        })
    };
    let text = program.to_string();
    let ir = compile(&text).map_err(|why| found(Party::FrontEnd, None, why))?;
    let runs: Vec<Run> = packets.iter().map(|p| eval::run(program, p)).collect();
    let differs = |party, sent: &[Sent]| {
        let p4c = Compiler::P4c;
        let ours = party != Party::FromJson(p4c) && party != Party::SimpleSwitch(p4c);
        let all = packets.iter().zip(&runs).zip(sent);
        let mut wrong = all.filter(|((_, run), sent)| !agrees(&run.outcome, sent));
        wrong.find_map(|((packet, run), sent)| {
            let why = || sent.as_ref().map_or("nothing".to_owned(), |b| hex(b));
            let packet = || Some((packet.clone(), run.outcome.clone()));
            (ours || run.faults.is_empty()).then(|| found(party, packet(), why()))
        })
    };
    let explained = |sent: &[Sent]| {
        let wrong = runs.iter().zip(sent);
        let wrong = wrong.filter(|(run, sent)| !agrees(&run.outcome, sent));
        wrong.filter(|(run, _)| !run.faults.is_empty()).count() as u64
    };
    let mut first: Option<Vec<Sent>> = None;
    for kind in ExecutorKind::ALL {
        let party = Party::Ours(kind);
        let sent = play(&ir, kind, packets).map_err(|why| found(party, None, why))?;
        if let Some(found) = differs(party, &sent) {
            return Err(found);
        }
        // Among our own, what the language leaves open is agreed on too.
        let earlier = first.get_or_insert_with(|| sent.clone());
        if let Some(at) = (0..packets.len()).find(|at| earlier[*at] != sent[*at]) {
            let show = |sent: &Sent| sent.as_ref().map_or("nothing".to_owned(), |b| hex(b));
            let both = format!(
                "{}, not as the first: {}",
                show(&sent[at]),
                show(&earlier[at])
            );
            let packet = (packets[at].clone(), runs[at].outcome.clone());
            return Err(found(party, Some(packet), both));
        }
    }
    let mut tally = Tally {
        programs: 1,
        packets: packets.len() as u64,
        undefined: runs
            .iter()
            .filter(|run| matches!(run.outcome, Outcome::Undefined(_)))
            .count() as u64,
        ..Tally::default()
    };
    match Beside::new(&ir) {
        Ok(json) => {
            let party = Party::FromJson(Compiler::Ours);
            let sent = play(json.program(), ExecutorKind::Interp, packets);
            let sent = sent.map_err(|why| found(party, None, why))?;
            if let Some(found) = differs(party, &sent) {
                return Err(found);
            }
            tally.ours.compiled += 1;
        }
        Err(refused) => match refused.kind() {
            Some(kind) => *tally.ours.not_taken.entry(kind).or_default() += 1,
            None => {
                let party = Party::FromJson(Compiler::Ours);
                return Err(found(party, None, refused.to_string()));
            }
        },
    }
    for compiler in judges.compilers() {
        let to = match compiler {
            Compiler::Ours => &mut tally.ours,
            Compiler::P4c => &mut tally.p4c,
        };
        match judged(&text, packets, compiler, judges) {
            // Those of ours are counted above.
            Err(Trouble::Compile(Compiler::Ours, _)) => {}
            Err(Trouble::Compile(Compiler::P4c, _)) => {
                *to.not_taken.entry("p4c refuses".to_owned()).or_default() += 1;
            }
            Err(trouble) => {
                let party = Party::FromJson(compiler);
                return Err(found(party, None, trouble.to_string()));
            }
            Ok((from_json, simple_switch)) => {
                if let Some(found) = differs(Party::FromJson(compiler), &from_json) {
                    return Err(found);
                }
                to.compiled += u64::from(compiler == Compiler::P4c);
                to.explained += explained(&from_json);
                match simple_switch {
                    Some(sent) => {
                        if let Some(found) = differs(Party::SimpleSwitch(compiler), &sent) {
                            return Err(found);
                        }
                        to.simple_switch += 1;
                    }
                    None => to.not_started += u64::from(judges.simple_switch),
                }
            }
        }
    }
    Ok(tally)
}

/// The same difference in the least part of its program that still shows one of the same party.
#[must_use]
pub fn smallest(found: Difference, packets: &[Vec<u8>], judges: Judges) -> Difference {
    let mut best = found.clone();
    // p4c takes most of a second, and a switch another.
    let (needed, most) = match found.party {
        Party::FrontEnd | Party::Ours(_) => (Judges::default(), 1_500),
        Party::FromJson(Compiler::P4c) => {
            let p4c = Judges {
                simple_switch: false,
                ..judges
            };
            (p4c, 300)
        }
        Party::FromJson(Compiler::Ours) | Party::SimpleSwitch(Compiler::Ours) => {
            let ours = Judges {
                p4c: false,
                ..judges
            };
            (ours, 150)
        }
        Party::SimpleSwitch(Compiler::P4c) => (judges, 150),
    };
    shrink(found.program, most, |smaller| {
        match check(smaller, packets, needed) {
            Err(now)
                if now.party == best.party && now.packet.is_some() == best.packet.is_some() =>
            {
                best = *now;
                true
            }
            _ => false,
        }
    });
    best
}

fn agrees(expected: &Outcome, sent: &Sent) -> bool {
    match (expected, sent) {
        (Outcome::Undefined(_), _) => true,
        (Outcome::Sent(bytes), Some(sent)) => {
            let same = |(e, s): (&Option<u8>, &u8)| e.is_none_or(|e| e == *s);
            bytes.len() == sent.len() && bytes.iter().zip(sent).all(same)
        }
        (Outcome::Sent(_), None) => false,
    }
}

fn compile(text: &str) -> Result<Arc<ValidProgram>, String> {
    let mut map = SourceMap::new();
    let main = map.add("random.p4", text).map_err(|e| e.to_string())?;
    match p4front::compile(&mut map, main, &Options::default()) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(diags) => Err(diags.render(&map)),
    }
}

/// What comes of each packet on one executor, which is given all of them at once.
fn play(
    program: &Arc<ValidProgram>,
    kind: ExecutorKind,
    packets: &[Vec<u8>],
) -> Result<Vec<Sent>, String> {
    let mut executor = p4exec::executor(kind, Arc::clone(program)).map_err(|e| e.to_string())?;
    let port = PortId::new(IN_PORT);
    let arrivals: Vec<_> = packets.iter().map(|packet| (port, &packet[..])).collect();
    let mut out = Batch::default();
    executor.process_batch(Nanos::new(1_000), &arrivals, &mut out);
    let mut all = vec![None; packets.len()];
    for departure in &out.sent {
        all[departure.arrival as usize] = Some(out.packet(departure).to_vec());
    }
    Ok(all)
}

/// What a compiler's program does, on the interpreter and, if asked, on `simple_switch`.
fn judged(
    text: &str,
    packets: &[Vec<u8>],
    compiler: Compiler,
    judges: Judges,
) -> Result<(Vec<Sent>, Option<Vec<Sent>>), Trouble> {
    let tool = |e: &dyn fmt::Display| Trouble::Tool(e.to_string());
    let folder = tempfile::tempdir().map_err(|e| tool(&e))?;
    let path = folder.path().join("random.p4");
    std::fs::write(&path, text).map_err(|e| tool(&e))?;
    let program = bmv2::Program::compile(&path, compiler, &Options::default(), folder.path())?;
    let from_json = play(program.ir(), ExecutorKind::Interp, packets).map_err(|e| tool(&e))?;
    if !judges.simple_switch {
        return Ok((from_json, None));
    }
    match bmv2::forward(&program, packets, (IN_PORT, OUT_PORT)) {
        Err(Trouble::NotStarted(_)) => Ok((from_json, None)),
        // Every packet is sent, in order.
        sent => Ok((from_json, Some(sent?.into_iter().map(Some).collect()))),
    }
}

//! Target `packets`: the packet path. The first byte picks a program, the rest decides updates and
//! packets ([`Choices::of_bytes`]). All executors must agree.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use p4exec::trace::{TraceEvent, Tracer};
use p4exec::{Executor as _, Interpreter, Outputs};
use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use units::Nanos;

use super::{Behaviour, Target};
use crate::differ;
use crate::executors::Engine;
use crate::random::{Choices, Scenario, Step};

pub(super) const TARGET: Target = Target {
    name: "packets",
    about: "updates and packets for a program, on every executor",
    run,
    words: &[
        &[0x08, 0x00],
        &[0x86, 0xdd],
        &[0x81, 0x00],
        &[0x45, 0x00],
        &[0xff; 8],
        &[0x00; 8],
    ],
    parts: None,
    max_len: 2048,
};

/// Packets per input.
const PACKETS: usize = 24;

macro_rules! sources {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $folder, "/", $name, ".p4")))),*]
    };
}

/// Programs of our own cases, and generated ones.
const PROGRAMS: [&[(&str, &str)]; 2] = [
    sources!("cases": "arithmetic", "copies", "flow", "matches", "parsing", "selector", "stateful", "sums"),
    sources!("../p4src/generated": "tagger-dscp-exact", "tagger-dscp-sets33", "tagger-shim-exact",
        "tagger-vlan-pcp-sets33", "tagger-vlan-vid-exact"),
];

fn compile(name: &str, text: &str) -> Option<Arc<ValidProgram>> {
    let mut map = SourceMap::new();
    let main = map.add(&format!("{name}.p4"), text).ok()?;
    let include = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
    let included = [
        include("plumbing.p4", include_str!("../../cases/plumbing.p4")),
        include("headers.p4", include_str!("../../../p4src/headers.p4")),
        include("layout.p4", include_str!("../../../p4src/layout.p4")),
    ];
    let options = Options {
        files: included.into_iter().collect(),
        ..Options::default()
    };
    let compiled = p4front::compile(&mut map, main, &options).ok()?;
    Some(Arc::new(compiled.ir))
}

fn programs() -> &'static [Arc<ValidProgram>] {
    static PROGRAMS_IR: OnceLock<Vec<Arc<ValidProgram>>> = OnceLock::new();
    PROGRAMS_IR.get_or_init(|| {
        let all = PROGRAMS.iter().flat_map(|list| list.iter());
        all.filter_map(|(name, text)| compile(name, text)).collect()
    })
}

/// Collects where packets go, not with which values.
#[derive(Default)]
struct Ways {
    seen: BTreeSet<String>,
}

impl Tracer for Ways {
    fn event(&mut self, event: TraceEvent) {
        let way = match event {
            TraceEvent::ParserState { parser, state } => format!("s {parser} {state}"),
            TraceEvent::ParserError { error } => format!("e {error}"),
            TraceEvent::Table(t) => format!("t {} {} {:?}", t.table, t.hit.is_some(), t.action),
            TraceEvent::Ingress { instance_type, .. } => format!("i {instance_type}"),
            TraceEvent::Egress { instance_type, .. } => format!("g {instance_type}"),
            TraceEvent::Dropped(reason) => format!("d {reason}"),
            _ => return,
        };
        self.seen.insert(way);
    }
}

#[allow(clippy::panic, reason = "a panic is how a fuzz target reports")]
fn run(input: &[u8]) -> Behaviour {
    let Some((first, rest)) = input.split_first() else {
        return Behaviour::default();
    };
    let programs = programs();
    let index = usize::from(*first) % programs.len().max(1);
    let Some(program) = programs.get(index) else {
        return Behaviour::default();
    };
    let Ok(scenario) = Scenario::new(program, PACKETS, &mut Choices::of_bytes(rest)) else {
        return Behaviour::default();
    };
    for engine in &Engine::ALL[1..] {
        if let Ok(Err(found)) = differ::compare(program, &scenario, (Engine::Interp, *engine)) {
            panic!("{found}");
        }
    }
    Behaviour::of((index, ways(program, &scenario).seen))
}

fn ways(program: &Arc<ValidProgram>, scenario: &Scenario) -> Ways {
    let mut ways = Ways::default();
    let Ok(mut interp) = Interpreter::new(Arc::clone(program)) else {
        return ways;
    };
    let mut out = Outputs::default();
    for (index, step) in scenario.steps.iter().enumerate() {
        let now = Nanos::new(1_000_000 * (index as u64 + 1));
        match step {
            Step::Update(update) => {
                // What is refused changes nothing; that it is the same everywhere was compared.
                let _ = interp.state_mut().apply((**update).clone(), now);
            }
            Step::Port { port, up } => interp.state_mut().set_port_up(*port, *up),
            Step::Wait(_) => {}
            Step::Packet { port, bytes } => {
                out.clear();
                interp.process_traced(now, bytes, *port, &mut out, &mut ways);
            }
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_compiles() {
        let wanted: usize = PROGRAMS.iter().map(|list| list.len()).sum();
        assert_eq!(programs().len(), wanted);
    }
}

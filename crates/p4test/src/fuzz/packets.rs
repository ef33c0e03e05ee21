//! Target `packets`: the packet path. The first byte picks a program, the rest decides updates and
//! packets ([`Choices::of_bytes`]). All executors must agree.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use p4exec::ExecutorKind;
use p4exec::trace::{TraceEvent, Tracer};
use p4front::source::SourceMap;
use p4front::{Files, Options};
use p4ir::ValidProgram;
use packetgen::Choices;

use super::{Behaviour, Target};
use crate::differ::Pair;
use crate::random::Scenario;

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
    limits: None,
    seeds: None,
};

/// Packets per input.
const PACKETS: usize = 24;

macro_rules! sources {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../", $folder, "/", $name, ".p4")))),*]
    };
}

/// Programs of our own cases, and generated ones.
const PROGRAMS: [&[(&str, &str)]; 2] = [
    sources!("bmv2-tests/cases": "arithmetic", "copies", "flow", "matches", "parsing", "selector", "stateful", "sums"),
    sources!("p4src/generated": "tagger-dscp-exact", "tagger-dscp-sets33", "tagger-shim-exact",
        "tagger-vlan-pcp-sets33", "tagger-vlan-vid-exact"),
];

fn compile(name: &str, text: &str) -> Option<Arc<ValidProgram>> {
    let mut map = SourceMap::new();
    let main = map.add(&format!("{name}.p4"), text).ok()?;
    let include = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
    let included = [
        include(
            "plumbing.p4",
            include_str!("../../../../bmv2-tests/cases/plumbing.p4"),
        ),
        include("headers.p4", include_str!("../../../../p4src/headers.p4")),
        include("layout.p4", include_str!("../../../../p4src/layout.p4")),
    ];
    let options = Options {
        files: Files::Memory(included.into_iter().collect()),
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

/// Events of one input that are looked at: a packet that is cloned and sent round for ever makes
/// hundreds of thousands, and shows nothing new after the first few.
const MAX_EVENTS: usize = 4096;

/// Collects where packets go, not with which values.
#[derive(Default)]
struct Ways {
    seen: BTreeSet<String>,
    events: usize,
}

impl Tracer for Ways {
    fn event(&mut self, event: TraceEvent) {
        self.events += 1;
        if self.events > MAX_EVENTS {
            return;
        }
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

thread_local! {
    /// The executors by program: compiling takes longer than an input does.
    static PAIRS: RefCell<BTreeMap<usize, Pair>> = const { RefCell::new(BTreeMap::new()) };
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
    // Taken out while it runs, so that one that panicked is not used again.
    let kept = PAIRS.with_borrow_mut(|pairs| pairs.remove(&index));
    let pair = kept.map_or_else(
        || Pair::new(program, (ExecutorKind::Interp, ExecutorKind::Compile)),
        Ok,
    );
    let Ok(mut pair) = pair else {
        return Behaviour::default();
    };
    if let Err(found) = pair.compare(&scenario) {
        panic!("{found}");
    }
    let mut ways = Ways::default();
    pair.trace(&scenario, &mut ways);
    PAIRS.with_borrow_mut(|pairs| pairs.insert(index, pair));
    Behaviour::of((index, ways.seen))
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

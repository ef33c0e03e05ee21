//! The solutions of p4lang/tutorials with their own runtime files: `TUTORIALS=/path/to/tutorials
//! cargo test -p switchwright-p4test --test cases tutorials`.
//!
//! Every program of a `solution` folder is compiled, every `sX-runtime.json` of its exercise is
//! loaded, and packets drawn from the parser and the entries go through both executors, which must
//! agree. Where BMv2 is installed, the same entries and packets go to `simple_switch`, on what our
//! compiler and p4c (where it is installed) make, and what comes out there must be the same, but
//! for bytes that tell the time: those that change when the same packets go through our executor at
//! other times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4exec::trace::TraceEvent;
use p4exec::{Executor, ExecutorKind, Outputs};
use p4front::Options;
use p4front::source::SourceMap;
use p4gen::entries::{SwitchEntries, commands, runtime_json};
use p4ir::ValidProgram;
use p4runtime::P4InfoIndex;
use p4test::{ProgramError, build};
use packetgen::{Choices, PacketMaker, Pool, TrafficSpec, traffic};
use quantities::{Nanos, PortId};
use simulator::embedded::install;
use stf::bmv2::{self, Compiler, missing_tool, observe};

/// Packets of a run that the entries forward, and packets that may be anything.
const AIMED: usize = 24;
const ANY: usize = 12;

type Packets = Vec<(u16, Vec<u8>)>;
/// What came out, by port.
type Sent = BTreeMap<u16, Vec<Vec<u8>>>;

struct Compiled {
    path: PathBuf,
    program: Arc<ValidProgram>,
    info: P4InfoIndex,
}

/// A program and the entries of one switch.
struct Run<'c> {
    name: String,
    compiled: &'c Compiled,
    entries: SwitchEntries,
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in list.filter_map(|entry| entry.ok().map(|e| e.path())) {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn compile(path: &Path) -> Compiled {
    let mut map = SourceMap::new();
    let main = map.load(path).expect("the file was listed");
    let compiled = p4front::compile(&mut map, main, &Options::on_disk());
    let compiled = compiled.unwrap_or_else(|found| {
        let found = found.render(&map);
        unreachable!("{}: {found}", path.display())
    });
    let info = P4InfoIndex::new(compiled.p4info).expect("ids are unique");
    Compiled {
        path: path.to_owned(),
        program: Arc::new(compiled.ir),
        info,
    }
}

/// The program that a runtime file is for: `build/NAME.p4.p4info.txtpb` says it.
fn program_of<'c>(programs: &'c [Compiled], runtime: &str, exercise: &Path) -> &'c Compiled {
    let named = |c: &&Compiled| {
        let name = c.path.file_name().unwrap_or_default().to_string_lossy();
        runtime.contains(&format!("/{name}.p4info"))
    };
    let mut all = programs.iter().filter(named);
    let own = all.clone().find(|c| c.path.starts_with(exercise));
    own.or_else(|| all.next())
        .unwrap_or_else(|| unreachable!("{}: no program for a runtime file", exercise.display()))
}

fn runs<'c>(programs: &'c [Compiled], exercises: &Path) -> Vec<Run<'c>> {
    let mut runs = Vec::new();
    let mut used = BTreeSet::new();
    for runtime in files(exercises, "-runtime.json") {
        let exercise = runtime.strip_prefix(exercises).expect("found there");
        let exercise = exercises.join(exercise.iter().next().unwrap_or_default());
        let text = std::fs::read_to_string(&runtime).expect("the file was listed");
        let compiled = program_of(programs, &text, &exercise);
        let name = runtime.strip_prefix(exercises).unwrap_or(&runtime);
        let name = name.display().to_string();
        let (entries, _) = runtime_json::read(&name, &text, &compiled.info)
            .unwrap_or_else(|error| unreachable!("{name}: {error}"));
        used.insert(&compiled.path);
        runs.push(Run {
            name,
            compiled,
            entries,
        });
    }
    // The others are filled by a controller: without entries they run, too.
    for compiled in programs.iter().filter(|c| !used.contains(&c.path)) {
        runs.push(Run {
            name: compiled.path.display().to_string(),
            compiled,
            entries: SwitchEntries::default(),
        });
    }
    runs
}

impl Run<'_> {
    fn packets(&self, executor: &dyn Executor) -> Packets {
        let program = &self.compiled.program;
        let spec = TrafficSpec {
            size: 100,
            count: AIMED,
            seed: 1,
        };
        let aimed = traffic(program, executor.state(), spec);
        let mut packets: Packets = aimed.into_iter().map(|(p, b)| (p.get() % 8, b)).collect();
        let mut choices = Choices::seeded(2);
        let mut pool = Pool::new(program, &mut choices);
        pool.add_entries(executor.state());
        let maker = PacketMaker::new(Arc::clone(program));
        for _ in 0..ANY {
            let port = choices.below(8) as u16;
            packets.push((port, maker.packet(&pool, &mut choices)));
        }
        // A hash over a header that is not there is undefined: BMv2 takes what an earlier packet
        // left.
        if program.to_string().contains("extern hash") {
            packets.retain(|(port, bytes)| self.visits_all_states(*port, bytes));
        }
        packets
    }

    fn visits_all_states(&self, port: u16, bytes: &[u8]) -> bool {
        let mut events: Vec<TraceEvent> = Vec::new();
        let mut executor = self.started(ExecutorKind::Interp);
        let (now, port) = (Nanos::new(1_000_000), PortId::new(port));
        executor.process_traced(now, bytes, port, &mut Outputs::default(), &mut events);
        let state = |event: TraceEvent| match event {
            TraceEvent::ParserState { state, .. } => Some(state),
            _ => None,
        };
        let visited: BTreeSet<String> = events.into_iter().filter_map(state).collect();
        visited.len() == self.compiled.program.states.len()
    }

    fn started(&self, kind: ExecutorKind) -> Box<dyn Executor + Send> {
        let program = Arc::clone(&self.compiled.program);
        let mut executor = p4exec::executor(kind, program).expect("it runs");
        install(executor.state_mut(), &self.entries)
            .unwrap_or_else(|error| unreachable!("{}: {error}", self.name));
        executor
    }

    /// What an executor sends, `start` nanoseconds after its start.
    fn play(&self, kind: ExecutorKind, packets: &Packets, start: u64, step: u64) -> Sent {
        let mut executor = self.started(kind);
        let mut sent = Sent::new();
        for (index, (port, bytes)) in packets.iter().enumerate() {
            let mut out = Outputs::default();
            let now = Nanos::new(start + step * index as u64);
            executor.process(now, bytes, PortId::new(*port), &mut out);
            for output in out.sent {
                let list = sent.entry(output.port.get()).or_default();
                list.push(output.bytes);
            }
        }
        sent
    }

    /// What BMv2 does otherwise, on what a compiler makes of the program.
    fn judge(
        &self,
        compiler: Compiler,
        folder: &Path,
        packets: &Packets,
        ours: [&Sent; 2],
    ) -> Option<String> {
        let path = &self.compiled.path;
        let program = bmv2::Program::compile(path, compiler, &Options::on_disk(), folder);
        let program = match program {
            Ok(program) => program,
            Err(trouble) => return Some(trouble.to_string()),
        };
        let lines = commands::write(&self.entries, &self.compiled.info).expect("they fit");
        let ports: BTreeSet<u16> = (0..8).chain(ours[0].keys().copied()).collect();
        let theirs = match observe(&program, &lines, packets, &ports) {
            Ok(sent) => sent,
            Err(trouble) => return Some(trouble.to_string()),
        };
        for port in ports {
            let none = Vec::new();
            let [a, b] = ours.map(|sent| sent.get(&port).unwrap_or(&none));
            let t = theirs.get(&port).unwrap_or(&none);
            if a.len() != t.len() {
                return Some(format!("port {port}: {} packets, {}", a.len(), t.len()));
            }
            for (index, ((a, b), t)) in a.iter().zip(b).zip(t).enumerate() {
                let timeless = |i: usize| b.get(i) == a.get(i);
                let same = a.len() == t.len() && (0..a.len()).all(|i| !timeless(i) || a[i] == t[i]);
                if !same {
                    return Some(format!(
                        "port {port}, packet {index}:\n  {a:02x?}\n  {t:02x?}"
                    ));
                }
            }
        }
        None
    }
}

#[test]
fn the_solutions_run_with_their_entries() {
    let Some(tutorials) = std::env::var_os("TUTORIALS").map(PathBuf::from) else {
        return println!("skipped: TUTORIALS does not name a checkout of p4lang/tutorials");
    };
    let exercises = tutorials.join("exercises");
    let solutions = files(&exercises, ".p4").into_iter().filter(|path| {
        let text = path.to_string_lossy();
        // The P4 program of this exercise is given; its solution is the controller.
        text.contains("/solution/") || text.ends_with("p4runtime/advanced_tunnel.p4")
    });
    let programs: Vec<Compiled> = solutions.map(|path| compile(&path)).collect();
    assert!(programs.len() >= 10, "{} programs", programs.len());
    let judge = missing_tool();
    if let Some(tool) = judge {
        println!("skipped: the comparison with BMv2: {tool} is not installed");
    }
    let (mut count, mut forwarded, mut wrong) = (0, 0, Vec::new());
    for run in runs(&programs, &exercises) {
        let built: Result<_, ProgramError> = build(&run.compiled.program);
        assert!(built.is_ok(), "{}", run.name);
        let packets = run.packets(run.started(ExecutorKind::Interp).as_ref());
        // Times that differ in every byte of a small number of microseconds.
        let early = run.play(ExecutorKind::Interp, &packets, 0x0010_1010_1000, 1_000_000);
        let late = run.play(ExecutorKind::Interp, &packets, 0x2a3b_4c5d_6e7f, 3_777_000);
        let compiled = run.play(ExecutorKind::Compile, &packets, 0x0010_1010_1000, 1_000_000);
        assert_eq!(early, compiled, "{}: the executors differ", run.name);
        let sent: usize = early.values().map(Vec::len).sum();
        assert!(sent > 0 || run.entries.tables.is_empty(), "{}", run.name);
        forwarded += sent;
        count += 1;
        if judge.is_none() {
            let folder = tempfile::tempdir().expect("a folder");
            for compiler in Compiler::here() {
                let found = run.judge(compiler, folder.path(), &packets, [&early, &late]);
                wrong.extend(found.map(|why| format!("{}, by {compiler}: {why}", run.name)));
            }
        }
    }
    println!(
        "{} programs, {count} switches, {forwarded} packets out",
        programs.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

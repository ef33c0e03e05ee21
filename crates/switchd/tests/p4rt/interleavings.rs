//! Arbitration, changes and departures of several clients in every order: nothing of an earlier
//! primary comes in force once a later one knows that it is primary, and nobody waits for ever.
//!
//! The clients are tasks on the server's own code, driven by hand: at each place where code waits,
//! or where a test says that others may come in between, one task that can go on is chosen. A play
//! is the list of these choices; small scenes are played in all ways, large ones in many random
//! ones.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::{FutureExt as _, StreamExt as _};
use p4ir::ValidProgram;
use p4runtime::p4::v1;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use prost::Message as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig, ReadyProgram};
use switchd::server::build::PipelineBuilder;
use switchd::server::encoded::EncodedWrite;
use switchd::server::limits::{Limits, Places};
use switchd::server::outbox::{Inbox, Outbox};
use switchd::server::pipeline::{Pipeline, read_device_config};
use switchd::server::roles::Tenure;
use switchd::server::switch::{Change, Switch};
use tokio::sync::oneshot;
use tonic::Code;

use crate::support::{direct, exact, id, info_of, insert};

// ----- plays -----

/// The choices of one play.
trait Choices {
    /// One of so many.
    fn choose(&mut self, of: usize) -> usize;
}

/// All plays, one after the other.
#[derive(Default)]
struct All {
    /// What was chosen, of how many.
    made: Vec<(usize, usize)>,
    at: usize,
}

impl All {
    /// Goes to the next play; false if there is none.
    fn next(&mut self) -> bool {
        self.at = 0;
        while let Some((chosen, of)) = self.made.pop() {
            if chosen + 1 < of {
                self.made.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

impl Choices for All {
    fn choose(&mut self, of: usize) -> usize {
        if self.at == self.made.len() {
            self.made.push((0, of));
        }
        self.at += 1;
        let (chosen, before) = self.made[self.at - 1];
        assert_eq!(before, of, "the same choices lead to the same place");
        chosen
    }
}

impl Choices for ChaCha8Rng {
    fn choose(&mut self, of: usize) -> usize {
        self.random_range(0..of)
    }
}

/// Whether a task can go on.
struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Plays tasks to their ends; `observe` is called after each step.
fn play(choices: &mut dyn Choices, tasks: Vec<Task>, observe: &dyn Fn()) {
    let mut tasks: Vec<(Task, Arc<Ready>)> = tasks
        .into_iter()
        .map(|task| (task, Arc::new(Ready(AtomicBool::new(true)))))
        .collect();
    while !tasks.is_empty() {
        let ready = |(_, ready): &(Task, Arc<Ready>)| ready.0.load(Ordering::SeqCst);
        let able: Vec<usize> = (0..tasks.len()).filter(|i| ready(&tasks[*i])).collect();
        assert!(!able.is_empty(), "{} tasks wait for ever", tasks.len());
        let chosen = able[choices.choose(able.len())];
        let (task, ready) = &mut tasks[chosen];
        ready.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(ready));
        let done = task.as_mut().poll(&mut Context::from_waker(&waker));
        observe();
        if done.is_ready() {
            drop(tasks.remove(chosen));
        }
    }
}

/// Others may come in between.
async fn pause() {
    let mut paused = false;
    poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

// ----- the scene -----

/// A program whose one table has a name of its own.
fn program(name: &str) -> String {
    format!(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header h_t {{ bit<8> a; }}\nstruct H {{ h_t h; }}\nstruct M {{ }}\n\
         parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{\n\
             state start {{ b.extract(h.h); transition accept; }}\n}}\n\
         control V(inout H h, inout M m) {{ apply {{ }} }}\n\
         control I(inout H h, inout M m, inout standard_metadata_t s) {{\n\
             @id(0x2000001) table {name} {{ key = {{ h.h.a: exact; }} actions = {{ NoAction; }} }}\n\
             apply {{ {name}.apply(); }}\n}}\n\
         control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
         control C(inout H h, inout M m) {{ apply {{ }} }}\n\
         control D(packet_out b, in H h) {{ apply {{ }} }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    )
}

/// The names of the clients' tables.
const NAMES: [&str; 3] = ["of_a", "of_b", "of_c"];

/// What all plays share: a data plane, and the programs of the clients, compiled.
struct Stage {
    engine: Engine,
    programs: Vec<(Arc<ValidProgram>, v1::ForwardingPipelineConfig)>,
    /// An entry of each program's table, but for its key.
    entry: v1::TableEntry,
}

impl Stage {
    fn new() -> Rc<Self> {
        let (io, _) = MemoryIo::new();
        let (engine, _) = Engine::start(&EngineConfig::default(), io).unwrap();
        let mut entry = None;
        let mut programs = Vec::new();
        for name in NAMES {
            let text = program(name);
            let info = info_of(&text);
            let made = v1::TableEntry {
                table_id: info.tables[0].preamble.as_ref().unwrap().id,
                action: Some(direct(v1::Action {
                    action_id: info.actions[0].preamble.as_ref().unwrap().id,
                    params: Vec::new(),
                })),
                ..Default::default()
            };
            assert_eq!(entry.get_or_insert(made.clone()), &made, "one for all");
            let config = v1::ForwardingPipelineConfig {
                p4info: Some(info),
                p4_device_config: text.as_bytes().to_vec(),
                cookie: None,
            };
            let program = read_device_config(text.as_bytes()).unwrap();
            programs.push((Arc::new(program), config));
        }
        Rc::new(Self {
            engine,
            programs,
            entry: entry.unwrap(),
        })
    }

    fn pipeline(&self, client: usize) -> Pipeline {
        let (program, config) = &self.programs[client];
        let ready = ReadyProgram {
            program: Arc::clone(program),
            object: None,
        };
        Pipeline::link(self.engine.handle(), config.clone(), ready).unwrap()
    }
}

/// One play's switch, and what its clients saw.
struct World {
    stage: Rc<Stage>,
    switch: Arc<Switch>,
    outboxes: Vec<(Outbox, RefCell<Inbox>)>,
    seen: RefCell<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Who was last told that it is primary.
    told: Option<usize>,
    /// Whose program was last put in force.
    runs: Option<usize>,
    /// How many entries were inserted since.
    entries: usize,
    /// Changes that were made, and that were refused.
    made: usize,
    refused: usize,
}

impl World {
    fn new(stage: &Rc<Stage>) -> Rc<Self> {
        let engine = stage.engine.handle().clone();
        let switch = Switch::new(0, engine, PipelineBuilder::InProcess, None);
        let outboxes = NAMES.iter().map(|_| {
            let (outbox, inbox) = Outbox::new(1 << 20, Places::new(1 << 20));
            (outbox, RefCell::new(inbox))
        });
        Rc::new(Self {
            stage: Rc::clone(stage),
            switch: Arc::new(switch),
            outboxes: outboxes.collect(),
            seen: RefCell::default(),
        })
    }

    /// Notes what the clients were told.
    fn observe(&self) {
        for (client, (_, inbox)) in self.outboxes.iter().enumerate() {
            while let Some(Some(Ok(message))) = inbox.borrow_mut().next().now_or_never() {
                if let Some(Answer::Arbitration(update)) = message.update
                    && update.status.is_some_and(|s| s.code == Code::Ok as i32)
                {
                    self.seen.borrow_mut().told = Some(client);
                }
            }
        }
    }

    /// A client arbitrates, for the first time or again; whether its stream goes on.
    async fn arbitrate(&self, client: usize, election: u64, again: bool) -> bool {
        let update = v1::MasterArbitrationUpdate {
            election_id: id(Some(election)),
            ..Default::default()
        };
        let outbox = &self.outboxes[client].0;
        let known = again.then_some("");
        pause().await;
        let arbitrated =
            self.switch
                .primacy
                .arbitrate(client as u64, &update, known, outbox, &Limits::DEFAULT);
        let taken = arbitrated.await.is_ok();
        pause().await;
        taken
    }

    async fn leave(&self, client: usize) {
        pause().await;
        self.switch.primacy.leave("", client as u64).await;
    }

    /// A client asks for its program to be run.
    fn admit(&self, election: u64) -> Option<Tenure> {
        let election = id(Some(election));
        let admitted = self.switch.primacy.admit("", election.as_ref());
        admitted.inspect_err(|_| self.refuse()).ok()
    }

    /// Its program is built, others doing what they do meanwhile, and then run.
    async fn commit(&self, client: usize, tenure: Option<Tenure>) {
        let Some(tenure) = tenure else {
            return;
        };
        let change = Change::Launch(self.stage.pipeline(client));
        pause().await;
        let Ok(step) = self.switch.primacy.step(&tenure).await else {
            return self.refuse();
        };
        pause().await;
        self.assert_primary(client);
        self.switch.change(step, change).unwrap();
        let mut seen = self.seen.borrow_mut();
        seen.runs = Some(client);
        seen.entries = 0;
        seen.made += 1;
    }

    /// A client inserts an entry in the table of the program that runs.
    async fn write(&self, client: usize, election: u64, key: u8) {
        let entry = v1::TableEntry {
            r#match: vec![exact(1, &[key])],
            ..self.stage.entry.clone()
        };
        let request = EncodedWrite {
            election_id: id(Some(election)),
            updates: vec![insert(entry).encode_to_vec().into()],
            ..Default::default()
        };
        pause().await;
        let Ok(step) = self.switch.step_to_write(&request).await else {
            return self.refuse();
        };
        pause().await;
        self.assert_primary(client);
        let written = self.switch.write(&step, &request);
        let mut seen = self.seen.borrow_mut();
        assert_eq!(written.is_ok(), seen.runs.is_some(), "{written:?}");
        seen.entries += usize::from(written.is_ok());
        seen.made += usize::from(written.is_ok());
    }

    fn refuse(&self) {
        self.seen.borrow_mut().refused += 1;
    }

    /// What a client does comes in force: then it is the last that was told to be primary.
    fn assert_primary(&self, client: usize) {
        let told = self.seen.borrow().told;
        assert_eq!(told, Some(client), "another one knows that it is primary");
    }

    /// At the end, what was put in force last is what is told, and what runs.
    fn assert_state(&self) {
        let seen = self.seen.borrow();
        let pipelines = self.switch.pipelines();
        let running = pipelines.running.as_ref();
        let told = running.map(|p| p.config.p4_device_config.clone());
        let expected = seen.runs.map(|client| program(NAMES[client]).into_bytes());
        assert_eq!(told, expected);
        let (Some(client), Some(running)) = (seen.runs, running) else {
            return;
        };
        let handle = self.stage.engine.handle();
        let name = handle.visit_first(|state, _| {
            let table = state.control.program().tables.values().next();
            table.map(|table| table.name.clone()).unwrap_or_default()
        });
        let name = name.unwrap();
        assert!(name.ends_with(NAMES[client]), "{name}");
        let table = running
            .contents
            .schema
            .tables
            .values()
            .next()
            .unwrap()
            .table;
        let entries = running
            .contents
            .state()
            .table(table)
            .unwrap()
            .iter()
            .count();
        assert_eq!(entries, seen.entries);
    }
}

type Scene<'a> = &'a dyn Fn(&Rc<World>, &mut dyn Choices) -> Vec<Task>;

fn play_scene(stage: &Rc<Stage>, choices: &mut dyn Choices, scene: Scene<'_>) -> (usize, usize) {
    let world = World::new(stage);
    let tasks = scene(&world, choices);
    play(choices, tasks, &|| world.observe());
    world.assert_state();
    let seen = world.seen.borrow();
    (seen.made, seen.refused)
}

/// Plays a scene in all ways: the number of changes made and refused in each.
fn all_ways(scene: Scene<'_>) -> Vec<(usize, usize)> {
    let stage = Stage::new();
    let mut all = All::default();
    let mut counts = Vec::new();
    loop {
        counts.push(play_scene(&stage, &mut all, scene));
        if !all.next() {
            return counts;
        }
    }
}

/// A task of one client.
macro_rules! task {
    ($world:ident, $body:block) => {{
        let $world = Rc::clone($world);
        Box::pin(async move { $body }) as Task
    }};
}

const A: usize = 0;
const B: usize = 1;

#[test]
fn two_clients_run_programs_and_the_first_leaves() {
    let counts = all_ways(&|world, _| {
        let (arbitrated, known) = oneshot::channel();
        vec![
            task!(world, {
                world.arbitrate(A, 1, false).await;
                let _ = arbitrated.send(());
                let tenure = world.admit(1);
                world.commit(A, tenure).await;
            }),
            task!(world, {
                let _ = known.await;
                world.leave(A).await;
            }),
            task!(world, {
                world.arbitrate(B, 2, false).await;
                let tenure = world.admit(2);
                world.commit(B, tenure).await;
            }),
        ]
    });
    assert!(counts.len() > 1000, "{} ways", counts.len());
    // B's program is always run; A's in some ways, and in some it comes too late.
    assert!(
        counts
            .iter()
            .all(|(made, refused)| made + refused == 2 && *made > 0)
    );
    for made in [1, 2] {
        assert!(counts.iter().any(|(count, _)| *count == made), "{made}");
    }
}

#[test]
fn a_client_with_the_same_election_id_is_another_one() {
    let counts = all_ways(&|world, _| {
        let (admitted, known) = oneshot::channel();
        let (left, gone) = oneshot::channel();
        vec![
            task!(world, {
                world.arbitrate(A, 5, false).await;
                let tenure = world.admit(5);
                let _ = admitted.send(());
                world.commit(A, tenure).await;
            }),
            task!(world, {
                let _ = known.await;
                world.leave(A).await;
                let _ = left.send(());
            }),
            task!(world, {
                let _ = gone.await;
                assert!(world.arbitrate(B, 5, false).await);
                let tenure = world.admit(5);
                world.commit(B, tenure).await;
            }),
        ]
    });
    assert!(
        counts
            .iter()
            .all(|(made, refused)| made + refused == 2 && *made > 0)
    );
    for made in [1, 2] {
        assert!(counts.iter().any(|(count, _)| *count == made), "{made}");
    }
}

#[test]
fn a_client_that_arbitrates_again_stays_what_it_is() {
    let counts = all_ways(&|world, _| {
        let (arbitrated, known) = oneshot::channel();
        vec![
            task!(world, {
                world.arbitrate(A, 1, false).await;
                let _ = arbitrated.send(());
                let tenure = world.admit(1);
                world.commit(A, tenure).await;
                world.write(A, 1, 7).await;
            }),
            task!(world, {
                let _ = known.await;
                world.arbitrate(A, 1, true).await;
            }),
        ]
    });
    assert!(counts.len() > 100, "{} ways", counts.len());
    assert!(counts.iter().all(|count| *count == (2, 0)), "{counts:?}");
}

#[test]
fn writes_and_programs_of_two_clients() {
    let counts = all_ways(&|world, _| {
        let (arbitrated, known) = oneshot::channel();
        vec![
            task!(world, {
                world.arbitrate(A, 1, false).await;
                let tenure = world.admit(1);
                world.commit(A, tenure).await;
                let _ = arbitrated.send(());
                pause().await;
                world.write(A, 1, 1).await;
                world.write(A, 1, 2).await;
            }),
            task!(world, {
                let _ = known.await;
                world.arbitrate(B, 2, false).await;
                world.write(B, 2, 3).await;
                let tenure = world.admit(2);
                world.commit(B, tenure).await;
            }),
        ]
    });
    assert!(counts.len() > 300, "{} ways", counts.len());
    for made in [3, 4, 5] {
        assert!(counts.iter().any(|(count, _)| *count == made), "{made}");
    }
}

/// What a client of a random scene does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Arbitrate(u64),
    Commit(u64),
    Write(u64, u8),
    Leave,
}

#[test]
fn three_clients_do_whatever_comes_to_mind() {
    let stage = Stage::new();
    let (mut made, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let counts = play_scene(&stage, &mut random, &|world, choices| {
            let mut key = 0;
            let mut tasks = Vec::new();
            for client in 0..NAMES.len() {
                // Election ids of different clients differ: an id is all that a call shows of who
                // made it.
                let mut election = client as u64 + 1;
                let mut deeds = vec![Deed::Arbitrate(election)];
                for _ in 0..6 {
                    deeds.push(match choices.choose(7) {
                        0 => {
                            election = (1 + choices.choose(4) * NAMES.len() + client) as u64;
                            Deed::Arbitrate(election)
                        }
                        1..=2 => Deed::Commit(election),
                        3 => Deed::Leave,
                        _ => {
                            key += 1;
                            Deed::Write(election, key)
                        }
                    });
                }
                tasks.push(task!(world, {
                    let mut connected = false;
                    for deed in deeds {
                        pause().await;
                        match deed {
                            Deed::Arbitrate(election) => {
                                world.arbitrate(client, election, connected).await;
                                connected = true;
                            }
                            Deed::Commit(election) => {
                                let tenure = world.admit(election);
                                world.commit(client, tenure).await;
                            }
                            Deed::Write(election, key) => world.write(client, election, key).await,
                            Deed::Leave => {
                                world.leave(client).await;
                                connected = false;
                            }
                        }
                    }
                }));
            }
            tasks
        });
        made += counts.0;
        refused += counts.1;
    }
    assert!(made > 1000 && refused > 1000, "{made} {refused}");
}

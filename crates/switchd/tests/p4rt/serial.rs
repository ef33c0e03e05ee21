//! Concurrent clients' batches are serialisable (P4Runtime 1.5, section 13.4): random batches of
//! many clients, and in the end a search for one order, each client's own kept, that explains every
//! response, every read on the way and the final state.

use std::collections::{BTreeMap, BTreeSet};

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::FieldMatchType;
use p4runtime::p4::v1::table_action;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tonic::Code;

use crate::support::{Client, Rig, codes, exact, insert, update};

/// What the table holds: keys and ports.
type State = BTreeMap<u8, u8>;

const CLIENTS: usize = 6;
const BATCHES: usize = 5;
const ROUNDS: u64 = 12;

/// One update: the verb, the key, the port, and whether the key is wider than its field.
#[derive(Clone, Copy, Debug)]
struct Change {
    verb: Type,
    key: u8,
    port: u8,
    wide: bool,
}

#[derive(Clone, Debug)]
struct Batch {
    changes: Vec<Change>,
    atomicity: Atomicity,
}

impl Change {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        let verbs = [Type::Insert, Type::Modify, Type::Modify, Type::Delete];
        Self {
            verb: verbs[rng.random_range(0..verbs.len())],
            key: rng.random_range(0..6),
            port: rng.random_range(1..=8),
            wide: rng.random_range(0..20) == 0,
        }
    }

    fn update(self, rig: &Rig) -> v1::Update {
        let key: &[u8] = if self.wide {
            &[1, 0, 0, 0, self.key]
        } else {
            &[self.key]
        };
        let entry = rig.entry("exact_one", vec![exact(1, key)], 0, "send", &[&[self.port]]);
        update(self.verb, Entity::TableEntry(entry))
    }

    /// What it does to the state, and its code.
    fn make(self, state: &mut State) -> Code {
        if self.wide {
            return Code::OutOfRange;
        }
        match (self.verb, state.contains_key(&self.key)) {
            (Type::Insert, true) => return Code::AlreadyExists,
            (Type::Modify | Type::Delete, false) => return Code::NotFound,
            (Type::Delete, true) => drop(state.remove(&self.key)),
            _ => drop(state.insert(self.key, self.port)),
        }
        Code::Ok
    }
}

impl Batch {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        let size = rng.random_range(1..=5);
        let modes = [
            Atomicity::ContinueOnError,
            Atomicity::RollbackOnError,
            Atomicity::DataplaneAtomic,
        ];
        Self {
            changes: (0..size).map(|_| Change::draw(rng)).collect(),
            atomicity: modes[rng.random_range(0..modes.len())],
        }
    }

    /// What it does to the state if it runs now, and its codes.
    fn make(&self, state: &State) -> (State, Vec<Code>) {
        let mut after = state.clone();
        let mut codes: Vec<Code> = Vec::new();
        for change in &self.changes {
            let code = change.make(&mut after);
            codes.push(code);
            if code != Code::Ok && self.atomicity != Atomicity::ContinueOnError {
                let mut all = vec![Code::Aborted; self.changes.len()];
                all[codes.len() - 1] = code;
                return (state.clone(), all);
            }
        }
        (after, codes)
    }
}

/// What the clients were answered, each in its own order.
type History = Vec<Vec<(Batch, Vec<Code>)>>;

/// Looks for an order; the states on the way must cover all that were read.
struct Search<'a> {
    history: &'a History,
    read: &'a BTreeSet<State>,
    last: &'a State,
    /// Where it has been in vain: how far each client was, the state, and which reads were
    /// explained.
    vain: BTreeSet<(Vec<usize>, State, BTreeSet<State>)>,
}

impl Search<'_> {
    fn explains(&mut self, done: &[usize], state: &State, mut explained: BTreeSet<State>) -> bool {
        if self.read.contains(state) {
            explained.insert(state.clone());
        }
        let ended = done.iter().zip(self.history).all(|(d, h)| *d == h.len());
        if ended {
            return state == self.last && explained.len() == self.read.len();
        }
        let here = (done.to_vec(), state.clone(), explained.clone());
        if self.vain.contains(&here) {
            return false;
        }
        for client in 0..done.len() {
            let Some((batch, answered)) = self.history[client].get(done[client]) else {
                continue;
            };
            let (after, codes) = batch.make(state);
            if codes != *answered {
                continue;
            }
            let mut next = done.to_vec();
            next[client] += 1;
            if self.explains(&next, &after, explained.clone()) {
                return true;
            }
        }
        self.vain.insert(here);
        false
    }
}

async fn read(client: &mut Client, rig: &Rig) -> State {
    let filter = v1::TableEntry {
        table_id: rig.table("exact_one"),
        ..Default::default()
    };
    let mut state = State::new();
    for entry in client.entries(filter).await {
        let Some(FieldMatchType::Exact(key)) = &entry.r#match[0].field_match_type else {
            panic!("{entry:?}")
        };
        let Some(table_action::Type::Action(action)) = entry.action.unwrap().r#type else {
            panic!("an action")
        };
        state.insert(key.value[0], action.params[0].value[0]);
    }
    state
}

#[tokio::test(flavor = "multi_thread")]
async fn p22_random_batches_of_many_clients_are_as_in_some_order() {
    let rig = std::sync::Arc::new(Rig::start().await);
    let mut client = rig.ready().await;
    let mut state = State::new();
    for key in 0..3u8 {
        let entry = rig.entry("exact_one", vec![exact(1, &[key])], 0, "send", &[&[1]]);
        client.write(vec![insert(entry)]).await.unwrap();
        state.insert(key, 1);
    }
    for round in 0..ROUNDS {
        let mut writers = Vec::new();
        for writer in 0..CLIENTS {
            let mut rng = ChaCha8Rng::seed_from_u64(round * 100 + writer as u64);
            let batches: Vec<Batch> = (0..BATCHES).map(|_| Batch::draw(&mut rng)).collect();
            let requests = batches.iter().map(|batch| {
                let updates = batch.changes.iter().map(|c| c.update(&rig));
                client.request(updates.collect(), batch.atomicity)
            });
            let requests: Vec<_> = requests.collect();
            let mut rpc = rig.channel().await;
            writers.push(tokio::spawn(async move {
                let mut answered = Vec::new();
                for (batch, request) in batches.into_iter().zip(requests) {
                    let result = rpc.write(request).await.map(|_| ());
                    let codes = codes(&result, batch.changes.len());
                    answered.push((batch, codes));
                }
                answered
            }));
        }
        let mut seen = BTreeSet::new();
        while writers.iter().any(|w| !w.is_finished()) {
            seen.insert(read(&mut client, &rig).await);
        }
        let mut history = History::new();
        for writer in writers {
            history.push(writer.await.unwrap());
        }
        let last = read(&mut client, &rig).await;
        let mut search = Search {
            history: &history,
            read: &seen,
            last: &last,
            vain: BTreeSet::new(),
        };
        assert!(
            search.explains(&[0; CLIENTS], &state, BTreeSet::new()),
            "round {round}: no order explains {history:#?} from {state:?} to {last:?} by way of {seen:?}"
        );
        // The search can fail: an answer that was not given has no order.
        if round == 0 {
            let mut lie = history.clone();
            let codes = &mut lie[0][0].1;
            codes[0] = Code::DataLoss;
            let mut search = Search {
                history: &lie,
                read: &seen,
                last: &last,
                vain: BTreeSet::new(),
            };
            assert!(!search.explains(&[0; CLIENTS], &state, BTreeSet::new()));
        }
        state = last;
    }
}

//! Updates as bytes: the short way makes of them what the long way would, whatever they are.

use std::ops::ControlFlow;
use std::sync::Arc;

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::write_request::Atomicity;
use prost::Message as _;
use prost::bytes::Bytes;
use quantities::PortId;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use switchd::engine::control::Control;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::encoded::EncodedWrite;
use switchd::translate;
use switchd::translate::action::WriteContext;
use switchd::translate::pipeline_state::{PipelineState, Staging};
use switchd::translate::refusal::Refusal;
use switchd::translate::schema::Schema;
use tonic::Code;

use crate::support::{PROGRAM, Rig, delete, exact, id, insert, lpm, modify, optional, ternary};

/// How encoded updates are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// All of them decoded.
    Long,
    /// Most of them not decoded, and read where they are made.
    Short,
    /// The same, read before.
    Ahead,
}

/// A state without clients, in which updates are made one by one.
struct Bench {
    _engine: Engine,
    state: PipelineState,
}

impl Bench {
    fn new() -> Self {
        let mut map = p4front::source::SourceMap::new();
        let main = map.add("all.p4", PROGRAM).unwrap();
        let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
        let compiled = compiled.map_err(|d| d.render(&map)).unwrap();
        let (engine, _) = Engine::start(&EngineConfig::default(), MemoryIo::new().0).unwrap();
        let program = Arc::new(compiled.ir);
        let executor = engine.handle().build(Arc::clone(&program)).unwrap();
        let control = Control::new(engine.handle(), executor);
        let names = engine.handle().port_names();
        let schema = Schema::new(program, &compiled.p4info, names).unwrap();
        Self {
            _engine: engine,
            state: PipelineState::new(Arc::new(schema), control),
        }
    }

    /// Makes updates, and says which were refused and how; `None` if one is no update.
    fn make(&mut self, updates: &[Bytes], way: Way) -> Option<Vec<(usize, Code)>> {
        let schema = Arc::clone(&self.state.schema);
        let around = WriteContext {
            schema: &schema,
            cpu_port: None,
            ports: &|| vec![PortId::new(1)],
            restoring: false,
        };
        let mut refused = Vec::new();
        let reader = self.state.reader().clone();
        let ahead = if way == Way::Ahead { updates } else { &[] };
        let ahead: Vec<_> = reader.read(ahead).collect();
        let mut staging = self.state.begin();
        if way != Way::Long {
            let told = |_: &mut Staging<'_>, index, refusal: Refusal| {
                refused.push((index, refusal.code));
                ControlFlow::Continue(())
            };
            staging.updates(&around, updates, &ahead, None, told).ok()?;
        } else {
            for (index, update) in updates.iter().enumerate() {
                let update = v1::Update::decode(update.clone()).ok()?;
                let made = staging.update(&around, &update);
                refused.extend(made.err().map(|refusal| (index, refusal.code)));
            }
        }
        let delta = staging.finish();
        self.state.commit(delta).unwrap();
        Some(refused)
    }

    fn entries(&self) -> Vec<Entity> {
        let mut found = Vec::new();
        let all = Entity::TableEntry(v1::TableEntry::default());
        translate::read(&self.state, Some(&all), &mut |entity| {
            found.push(entity);
            Ok(())
        })
        .unwrap();
        found
    }
}

/// An update of some table and kind of match, right or wrong.
fn updates(rig: &Rig, rng: &mut ChaCha8Rng) -> v1::Update {
    let key = rng.random_range(0..3u8);
    let port: &[u8] = &[rng.random_range(1..4u8)];
    let entry = match rng.random_range(0..4) {
        0 => v1::TableEntry {
            idle_timeout_ns: i64::from(key) * 1000,
            metadata: vec![key; usize::from(key)],
            ..rig.entry("exact_one", vec![exact(1, &[key])], 0, "send", &[port])
        },
        1 => {
            let prefix = lpm(1, &[10, 0, key, 0], 24);
            rig.entry("routes", vec![prefix], 0, "send", &[port])
        }
        2 => {
            let masked = ternary(1, &[key], &[3]);
            rig.entry("acl", vec![masked], i32::from(key), "counted", &[])
        }
        _ => rig.entry("acl", vec![optional(3, &[key])], 1, "counted", &[]),
    };
    match rng.random_range(0..4) {
        0 => modify(entry),
        1 => delete(entry),
        _ => insert(entry),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_short_way_does_what_the_long_way_does() {
    let rig = Rig::start().await;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut short, mut ahead, mut long) = (Bench::new(), Bench::new(), Bench::new());
    let (mut made, mut refused, mut unreadable) = (0, 0, 0);
    for _ in 0..600 {
        let count = rng.random_range(1..40);
        let share = if rng.random() { 0.3 } else { 0.0 };
        let batch = (0..count).map(|_| {
            let mut bytes = updates(&rig, &mut rng).encode_to_vec();
            if rng.random_bool(share) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] ^= 1 << rng.random_range(0..8);
            }
            Bytes::from(bytes)
        });
        let batch: Vec<Bytes> = batch.collect();
        let (one, other) = (short.make(&batch, Way::Short), long.make(&batch, Way::Long));
        assert_eq!(one, other, "{batch:02x?}");
        assert_eq!(ahead.make(&batch, Way::Ahead), other, "{batch:02x?}");
        match one {
            Some(codes) => {
                made += batch.len() - codes.len();
                refused += codes.len();
            }
            None => unreadable += 1,
        }
        assert_eq!(short.entries(), long.entries());
        assert_eq!(ahead.entries(), long.entries());
    }
    assert!(
        made > 2000 && refused > 2000 && unreadable > 20,
        "{made} {refused} {unreadable}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_an_update_that_cannot_be_read_is_not_made() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let before = client.entries(v1::TableEntry::default()).await;
    let update = |key: u8| {
        let entry = rig.entry("exact_one", vec![exact(1, &[key])], 0, "drop", &[]);
        insert(entry).encode_to_vec()
    };
    let broken = update(2);
    let cuts = (1..broken.len()).filter(|cut| v1::Update::decode(&broken[..*cut]).is_err());
    let cuts: Vec<usize> = cuts.collect();
    assert!(!cuts.is_empty());
    for mode in [Atomicity::ContinueOnError, Atomicity::DataplaneAtomic] {
        for cut in &cuts {
            let request = EncodedWrite {
                election_id: id(Some(1)),
                updates: vec![update(1).into(), broken[..*cut].to_vec().into()],
                atomicity: mode.into(),
                ..Default::default()
            };
            let switch = rig.server.switch();
            let step = switch.step_to_write(&request).await.unwrap();
            let refused = switch.write(&step, &request).unwrap_err();
            assert_eq!(refused.code(), Code::Internal, "{refused}");
        }
    }
    assert_eq!(client.entries(v1::TableEntry::default()).await, before);
}

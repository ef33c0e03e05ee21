//! A P4Runtime write of a thousand prefixes, from its bytes to the data plane's tables; every run
//! takes out what the one before put in.

use std::ops::ControlFlow;
use std::sync::Arc;

use p4front::Options;
use p4front::source::SourceMap;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::{FieldMatchType, Lpm};
use p4runtime::p4::v1::update::Type;
use prost::Message as _;
use prost::bytes::Bytes;
use quantities::PortId;
use switchd::engine::control::Control;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::encoded::EncodedWrite;
use switchd::translate::action::WriteContext;
use switchd::translate::pipeline_state::PipelineState;
use switchd::translate::schema::Schema;

use super::tables::mix;
use super::{Failure, Kernel};

/// Prefixes of the write.
const PREFIXES: u64 = 1000;

fn entry(table: u32, action: u32, number: u64) -> v1::TableEntry {
    let prefix = Lpm {
        value: (mix(number) as u32 & !0xff).to_be_bytes().to_vec(),
        prefix_len: 24,
    };
    let port = v1::action::Param {
        param_id: 1,
        value: vec![(number % 200) as u8 + 1],
    };
    let call = v1::Action {
        action_id: action,
        params: vec![port],
    };
    v1::TableEntry {
        table_id: table,
        r#match: vec![v1::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Lpm(prefix)),
        }],
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(call)),
        }),
        ..v1::TableEntry::default()
    }
}

/// The bytes of a request that puts in all prefixes, or takes them out.
fn request(verb: Type, table: u32, action: u32) -> Vec<u8> {
    let update = |number| v1::Update {
        r#type: verb as i32,
        entity: Some(v1::Entity {
            entity: Some(Entity::TableEntry(entry(table, action, number))),
        }),
    };
    let request = v1::WriteRequest {
        updates: (0..PREFIXES).map(update).collect(),
        ..v1::WriteRequest::default()
    };
    request.encode_to_vec()
}

/// What the server does with a request once it is in memory: read it, make it in the control
/// plane's copy, put it in force.
fn write(state: &mut PipelineState, bytes: &[u8]) -> Result<u64, Failure> {
    let request = EncodedWrite::decode(Bytes::copy_from_slice(bytes))?;
    let schema = Arc::clone(&state.schema);
    let around = WriteContext {
        schema: &schema,
        cpu_port: None,
        ports: &|| vec![PortId::new(1)],
        restoring: false,
    };
    let mut refused = None;
    let mut staging = state.begin();
    staging.updates(&around, &request.updates, &[], None, |_, _, refusal| {
        refused = Some(refusal.message);
        ControlFlow::Break(())
    })?;
    if let Some(message) = refused {
        return Err(message.into());
    }
    let delta = staging.finish();
    state.commit(delta).map_err(|refusal| refusal.message)?;
    Ok(request.updates.len() as u64)
}

/// Prefixes put in and taken out.
pub(super) fn push() -> Result<Kernel, Failure> {
    let mut options = Options::on_disk();
    options.defines.push(("ROUTES".to_owned(), "1".to_owned()));
    let mut map = SourceMap::new();
    let path = p4test::root().join("benches/p4/large_table.p4");
    let main = map.load(&path).map_err(|e| e.to_string())?;
    let compiled = p4front::compile(&mut map, main, &options).map_err(|d| d.render(&map))?;
    let (engine, _) = Engine::start(&EngineConfig::default(), MemoryIo::new().0)?;
    let program = Arc::new(compiled.ir);
    let control = Control::new(
        engine.handle(),
        engine.handle().build(Arc::clone(&program))?,
    );
    let names = engine.handle().port_names();
    let schema = Schema::new(program, &compiled.p4info, names).map_err(|r| r.message)?;
    let table = schema.tables.values().next().ok_or("no table")?;
    let action = table
        .actions
        .iter()
        .find(|a| a.schema.name.ends_with("permit"));
    let action = action.ok_or("no action `permit`")?.schema.id;
    let puts = request(Type::Insert, table.id, action);
    let takes = request(Type::Delete, table.id, action);
    let mut state = PipelineState::new(Arc::new(schema), control);
    let run = move || {
        let both = [&puts, &takes].map(|bytes| write(&mut state, bytes).unwrap_or(0));
        both.iter().sum()
    };
    Ok(Kernel {
        unit: "update",
        run: Box::new(run),
    })
}

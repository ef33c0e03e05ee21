//! A wrong entry is refused in the same words by the simulator, by a case file and by the switch.

#![allow(clippy::unwrap_used)] // a test with helpers

use std::ops::ControlFlow;
use std::sync::Arc;

use entries::{Bits, FieldMatch, Key, NamedCall, SwitchEntries, TableEntry, message};
use p4exec::{ExecutorKind, executor};
use p4front::P4Info;
use p4ir::ValidProgram;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::{self, table_action, update};
use prost::Message as _;
use quantities::PortId;
use switchd::engine::control::Control;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::translate::action::WriteContext;
use switchd::translate::pipeline_state::PipelineState;
use switchd::translate::schema::Schema;

const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
header kind_t { bit<8> a; bit<8> b; }
struct H { kind_t kind; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.kind); transition accept; }
}
control C(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    action other() { }
    table plain { key = { h.kind.a: exact; } actions = { to; @defaultonly NoAction; } }
    table ranked {
        key = { h.kind.a: exact; h.kind.b: ternary; }
        actions = { to; }
    }
    table third { key = { h.kind.b: exact; } actions = { other; } }
    table span { key = { h.kind.a: range; } actions = { to; } }
    apply { plain.apply(); ranked.apply(); third.apply(); span.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
";

/// An entry as all of them can be told it.
#[derive(Clone)]
struct Wish {
    table: &'static str,
    /// Names and matches.
    key: Vec<(&'static str, FieldMatch)>,
    priority: i32,
    action: &'static str,
    /// The values of parameters.
    args: Vec<(&'static str, u64)>,
}

fn wish(table: &'static str, key: Vec<(&'static str, FieldMatch)>) -> Wish {
    Wish {
        table,
        key,
        priority: 0,
        action: "I.to",
        args: vec![("port", 1)],
    }
}

fn exact(value: u64) -> FieldMatch {
    FieldMatch::Exact(Bits::from_u64(16, value))
}

/// The value in the hexadecimal digits that it needs.
fn hex(value: &Bits) -> String {
    format!("{:#x}", value.to_u64().unwrap())
}

struct Bench {
    program: Arc<ValidProgram>,
    info: P4Info,
    _engine: Engine,
    state: PipelineState,
}

impl Bench {
    fn new() -> Self {
        let mut map = p4front::source::SourceMap::new();
        let main = map.add("refusals.p4", PROGRAM).unwrap();
        let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
        let compiled = compiled.map_err(|found| found.render(&map)).unwrap();
        let program = Arc::new(compiled.ir);
        let (engine, _) = Engine::start(&EngineConfig::default(), MemoryIo::new().0).unwrap();
        let handle = engine.handle();
        let control = Control::new(handle, handle.build(Arc::clone(&program)).unwrap());
        let names = handle.port_names();
        let schema = Schema::new(Arc::clone(&program), &compiled.p4info, names).unwrap();
        let state = PipelineState::new(Arc::new(schema), control);
        Self {
            program,
            info: compiled.p4info,
            _engine: engine,
            state,
        }
    }

    fn simulator(&self, wish: &Wish) -> String {
        let params = wish.args.iter();
        let params = params.map(|(name, value)| ((*name).into(), Bits::from_u64(16, *value)));
        let call = NamedCall {
            action: wish.action.into(),
            params: params.collect(),
        };
        let key = |(field, value): &(&'static str, FieldMatch)| Key {
            field: (*field).into(),
            value: value.clone(),
        };
        let entries = SwitchEntries {
            switch: "s1".to_owned(),
            tables: vec![TableEntry {
                table: wish.table.into(),
                keys: wish.key.iter().map(key).collect(),
                priority: (wish.priority != 0).then_some(wish.priority),
                action: call.into(),
                is_default: false,
            }],
            ..SwitchEntries::default()
        };
        let mut executor = executor(ExecutorKind::Interp, Arc::clone(&self.program)).unwrap();
        let refused = simulator::embedded::install(executor.state_mut(), &entries);
        refused.unwrap_err().to_string()
    }

    fn case(&self, wish: &Wish) -> String {
        let key = wish.key.iter().map(|(field, value)| match value {
            FieldMatch::Exact(value) => format!("{field}:{}", hex(value)),
            FieldMatch::Lpm { value, prefix_len } => {
                format!("{field}:{}/{prefix_len}", hex(value))
            }
            FieldMatch::Ternary { value, mask } => {
                format!("{field}:{}&&&{}", hex(value), hex(mask))
            }
            FieldMatch::Range { low, high } => format!("{field}:{}..{}", hex(low), hex(high)),
            _ => unreachable!("no case asks for it"),
        });
        let key: Vec<String> = key.collect();
        let args = wish.args.iter();
        let args: Vec<String> = args
            .map(|(name, value)| format!("{name}:{value}"))
            .collect();
        let priority = match wish.priority {
            0 => String::new(),
            priority => format!("{priority} "),
        };
        let Wish { table, action, .. } = wish;
        let (key, args) = (key.join(" "), args.join(", "));
        let text = format!("add {table} {priority}{key} {action}({args})\n");
        let case = stf::parse(&text)
            .map_err(|e| format!("{text}: {e:?}"))
            .unwrap();
        let mut executor = executor(ExecutorKind::Interp, Arc::clone(&self.program)).unwrap();
        let failures = stf::run(&case, &mut *executor).unwrap_err();
        failures[0].message.clone()
    }

    fn id(&self, kind: &str, name: &str) -> u32 {
        let tables = self.info.tables.iter().map(|t| ("table", &t.preamble));
        let actions = self.info.actions.iter().map(|a| ("action", &a.preamble));
        let mut all = tables.chain(actions).filter(|(of, _)| *of == kind);
        let found = all.find_map(|(_, head)| head.as_ref().filter(|head| head.name == name));
        found.map_or(0x0212_3456, |head| head.id)
    }

    fn switch(&mut self, wish: &Wish) -> String {
        let table = self.id("table", wish.table);
        let fields = self.info.tables.iter().find(|t| t.id() == table);
        let fields = fields.map_or(&[][..], |t| &t.match_fields[..]);
        let matches = wish.key.iter().map(|(name, value)| {
            let field = fields.iter().find(|field| field.name == *name);
            let id = field.map_or(1, |field| field.id);
            message::write(id, value, Bits::to_bytes_be).unwrap()
        });
        let params = wish.args.iter().zip(1..).map(|((_, value), param_id)| {
            let value = value.to_be_bytes().to_vec();
            v1::action::Param { param_id, value }
        });
        let call = v1::Action {
            action_id: self.id("action", wish.action),
            params: params.collect(),
        };
        let entry = v1::TableEntry {
            table_id: table,
            r#match: matches.collect(),
            priority: wish.priority,
            action: Some(v1::TableAction {
                r#type: Some(table_action::Type::Action(call)),
            }),
            ..v1::TableEntry::default()
        };
        let update = v1::Update {
            r#type: update::Type::Insert.into(),
            entity: Some(v1::Entity {
                entity: Some(Entity::TableEntry(entry)),
            }),
        };
        let schema = Arc::clone(&self.state.schema);
        let around = WriteContext {
            schema: &schema,
            cpu_port: None,
            ports: &|| vec![PortId::new(1)],
            restoring: false,
        };
        let mut refused = None;
        let mut staging = self.state.begin();
        let bytes = [update.encode_to_vec().into()];
        let done = staging.updates(&around, &bytes, &[], None, |_, _, refusal| {
            refused = Some(refusal.message);
            ControlFlow::Break(())
        });
        done.unwrap();
        refused.unwrap()
    }
}

#[test]
fn a_wrong_entry_is_refused_in_the_same_words_everywhere() {
    let plain = || wish("I.plain", vec![("h.kind.a", exact(1))]);
    let mask = |value, mask| FieldMatch::Ternary {
        value: Bits::from_u64(16, value),
        mask: Bits::from_u64(16, mask),
    };
    let prefix = FieldMatch::Lpm {
        value: Bits::from_u64(8, 0xf0),
        prefix_len: 4,
    };
    // All ones, in more bits than the field has.
    let all = FieldMatch::Range {
        low: Bits::zero(16),
        high: Bits::from_u64(16, 0x1ff),
    };
    let ranked = || {
        let key = vec![("h.kind.a", exact(1)), ("h.kind.b", mask(1, 3))];
        wish("I.ranked", key)
    };
    let wrong = [
        (
            wish("I.plain", vec![("h.kind.a", exact(0x1ff))]),
            "the match field `h.kind.a`: the value 0x01ff does not fit 8 bits: it needs 9 bits",
        ),
        (
            Wish {
                priority: 1,
                ..wish("I.span", vec![("h.kind.a", all)])
            },
            "the match field `h.kind.a`: the value 0x01ff does not fit 8 bits: it needs 9 bits",
        ),
        (
            Wish {
                args: vec![("port", 600)],
                ..plain()
            },
            "the parameter `port` of I.to: the value 0x0258 does not fit 9 bits: it needs 10 bits",
        ),
        (
            wish("I.plain", vec![("h.kind.a", prefix)]),
            "the match field `h.kind.a` is matched as exact; lpm is given",
        ),
        (
            Wish {
                priority: 1,
                ..wish("I.ranked", vec![("h.kind.b", mask(1, 3))])
            },
            "the match field `h.kind.a` is exact and must be given",
        ),
        (
            ranked(),
            "the table has a ternary, range or optional match field; give the entry a priority of \
             at least 1",
        ),
        (
            Wish {
                action: "I.other",
                args: vec![],
                ..plain()
            },
            " for entries; it has I.to",
        ),
        (
            Wish {
                action: "NoAction",
                args: vec![],
                ..plain()
            },
            "the table has no action NoAction for entries; it has I.to",
        ),
        (
            Wish {
                args: vec![],
                ..plain()
            },
            "the parameter `port` of I.to is missing",
        ),
    ];
    let mut bench = Bench::new();
    for (wish, words) in wrong {
        let said = [
            bench.simulator(&wish),
            bench.case(&wish),
            bench.switch(&wish),
        ];
        for said in said {
            assert!(said.ends_with(words), "{said}\n{words}");
        }
    }
}

/// A table and an action are named by name or by id, so the words differ in that alone.
#[test]
fn what_the_program_does_not_have_is_named() {
    let mut bench = Bench::new();
    let unknown = wish("I.nowhere", vec![("h.kind.a", exact(1))]);
    for said in [bench.simulator(&unknown), bench.case(&unknown)] {
        let words = "the program has no table named 'I.nowhere'; it has I.plain, I.ranked, I.third, \
                     I.span";
        assert!(said.ends_with(words), "{said}");
    }
    let said = bench.switch(&unknown);
    assert!(
        said.ends_with("the program has no table with id 34747478 (0x02123456)"),
        "{said}"
    );
    let unknown = Wish {
        action: "I.nothing",
        args: vec![],
        ..wish("I.plain", vec![("h.kind.a", exact(1))])
    };
    for said in [bench.simulator(&unknown), bench.case(&unknown)] {
        let words = "the program has no action named 'I.nothing'; it has ";
        assert!(said.contains(words), "{said}");
    }
}

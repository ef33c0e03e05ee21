//! What the JSON that we write says, where the program and the format differ most.

#![allow(clippy::unwrap_used)] // a test with helpers

use std::sync::Arc;

use p4exec::tables::{ActionCall, EntryAction, EntryPriority, FieldMatch, MemberId, NewEntry};
use p4exec::value::Bits;
use p4exec::{Executor, ExecutorKind, Outputs, Update, executor};
use p4front::Options;
use p4ir::ValidProgram;
use quantities::{Nanos, PortId};

fn compiled(text: &str) -> Arc<ValidProgram> {
    p4test::compile_text("says.p4", text, &Options::default()).unwrap()
}

fn json_of(program: &ValidProgram) -> Arc<ValidProgram> {
    let text = bmv2json::write(program, "says").unwrap();
    Arc::new(bmv2json::read(&text).unwrap())
}

fn started(program: &Arc<ValidProgram>) -> Box<dyn Executor + Send> {
    executor(ExecutorKind::Interp, Arc::clone(program)).unwrap()
}

/// A program of these headers, with these declarations before its parser, states and ingress.
fn program(headers: &str, before: &str, states: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header kind_t {{ bit<8> a; bit<8> b; }}
header short_t {{ bit<16> v; }}
header long_t {{ bit<32> v; }}
header_union U {{ short_t s; long_t l; }}
struct H {{ kind_t kind; {headers} }}
struct M {{ bit<8> x; bit<8> y; }}
{before}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ {states} }}
control C(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {ingress} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    )
}

/// The bytes that leave, for each packet.
fn sent(executor: &mut dyn Executor, packets: &[&[u8]]) -> Vec<Vec<Vec<u8>>> {
    let one = |packet: &&[u8]| {
        let mut out = Outputs::default();
        executor.process(Nanos::new(1), packet, PortId::new(0), &mut out);
        out.sent.into_iter().map(|one| one.bytes).collect()
    };
    packets.iter().map(one).collect()
}

/// Packets of two kinds, as long as they should be and shorter in every way.
fn packets() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for kinds in [[1, 1], [1, 2], [2, 1], [2, 2], [1, 3], [3, 1]] {
        for length in 0..12 {
            let mut packet = kinds.to_vec();
            packet.extend((0..length).map(|i| 0x10 + i));
            all.push(packet);
        }
    }
    all
}

/// What BMv2 does otherwise.
fn notes(text: &str) -> Vec<String> {
    let (_, notes) = bmv2json::write_with_notes(&compiled(text), "says").unwrap();
    notes.iter().map(ToString::to_string).collect()
}

fn same(text: &str) {
    let source = compiled(text);
    let packets = packets();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let expected = sent(started(&source).as_mut(), &packets);
    let found = sent(started(&json_of(&source)).as_mut(), &packets);
    for ((packet, found), expected) in packets.iter().zip(found).zip(expected) {
        assert_eq!(found, expected, "{packet:x?}\n{text}");
    }
}

/// The second call of a sub-parser works on other places than the first, and may end for lack of
/// packet: BMv2 puts nothing back then.
#[test]
fn subparsers_that_end_early_leave_other_places_alone() {
    let states = "state start { transition select(kind) { 1: one; 2: two; } }
    state one { p.extract(u.s); p.extract(l); seen = 1; transition accept; }
    state two { p.extract(u.l); p.extract(l); seen = 2; transition accept; }";
    let sub = format!(
        "parser S(packet_in p, in bit<8> kind, out U u, inout short_t l, out bit<8> seen) {{ {states} }}"
    );
    let headers = "U u; short_t l; U v; short_t k;";
    let ingress =
        "apply { s.egress_spec = 1; h.kind.a = h.kind.a ^ m.x; h.kind.b = h.kind.b ^ m.y; }";
    let calls = [
        // Other places; the first ones changed about; the same again.
        "i.apply(p, h.kind.a, h.u, h.l, m.x); i.apply(p, h.kind.b, h.v, h.k, m.y);",
        "i.apply(p, h.kind.a, h.u, h.l, m.x); i.apply(p, h.kind.b, h.v, h.l, m.x);",
        "i.apply(p, h.kind.a, h.u, h.l, m.x); i.apply(p, 1, h.v, h.k, m.y);",
        "i.apply(p, h.kind.a, h.u, h.l, m.x); i.apply(p, h.kind.a, h.u, h.l, m.x);",
    ];
    for call in calls {
        let states =
            format!("S() i; state start {{ p.extract(h.kind); {call} transition accept; }}");
        same(&program(headers, &sub, &states, ingress));
    }
    // A sub-parser's own sub-parser, with places that both calls hand on.
    let outer = format!(
        "{sub}
parser T(packet_in p, in bit<8> kind, out U u, inout short_t l, out bit<8> seen) {{
    S() s; state start {{ s.apply(p, kind, u, l, seen); transition accept; }}
}}"
    );
    let states = format!(
        "T() i; state start {{ p.extract(h.kind); {} transition accept; }}",
        calls[0]
    );
    same(&program(headers, &outer, &states, ingress));
}

#[test]
fn results_that_bmv2_does_not_copy_are_noted() {
    let sub = "parser S(packet_in p, out bit<4> seen, out short_t l) {
    state start { seen = 1; p.extract(l); transition accept; }
}";
    let states =
        "S() i; state start { p.extract(h.kind); i.apply(p, m.x[3:0], h.l); transition accept; }";
    let ingress = "apply { s.egress_spec = 1; h.kind.a = m.x; }";
    let found = notes(&program("short_t l;", sub, states, ingress));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("says.p4:12:"), "{found:?}");
    assert!(found[0].contains("results of this sub-parser"), "{found:?}");
}

const START: &str = "state start { p.extract(h.kind); transition accept; }";

/// Members hold actions of a profile, whichever of its tables lists them.
#[test]
fn tables_of_one_profile_share_its_members() {
    let ingress = "
    action mark(bit<8> v) { h.kind.b = h.kind.b ^ v; }
    action_profile(8) members;
    table one { key = { h.kind.a: exact; } actions = { mark; NoAction; } implementation = members; }
    table two { key = { h.kind.a: exact; } actions = { NoAction; mark; } implementation = members; }
    apply { s.egress_spec = 1; one.apply(); two.apply(); }";
    let source = compiled(&program("", "", START, ingress));
    let mut switch = started(&json_of(&source));
    let state = switch.state_mut();
    let profile = state.extern_named("I.members").unwrap();
    let action = state.action_named("I.mark").unwrap();
    let member = MemberId(1);
    let call = ActionCall {
        action,
        args: vec![Bits::from_u64(8, 0x11)],
    };
    let mut updates = vec![Update::InsertMember {
        profile,
        member,
        call,
    }];
    for (name, value) in [("I.one", 1), ("I.two", 2)] {
        updates.push(Update::InsertEntry {
            table: state.table_named(name).unwrap(),
            entry: NewEntry {
                key: vec![FieldMatch::Exact(Bits::from_u64(8, value))],
                priority: EntryPriority(0),
                action: EntryAction::Member(member),
                is_const: false,
                options: Default::default(),
            },
        });
    }
    for update in updates {
        state.apply(update, Nanos::new(0)).unwrap();
    }
    let found = sent(switch.as_mut(), &[&[1, 0], &[2, 0], &[3, 0]]);
    assert_eq!(found, [[[1, 0x11]], [[2, 0x11]], [[3, 0]]]);
}

#[test]
fn value_sets_that_bmv2_has_not_are_refused() {
    let before = "struct set_t { @match(ternary) bit<8> a; }";
    let states = "value_set<set_t>(4) known; state start { p.extract(h.kind);
    transition select(h.kind.a) { known: accept; default: accept; } }";
    let ingress = "apply { s.egress_spec = 1; }";
    let source = compiled(&program("", before, states, ingress));
    let refusal = bmv2json::write(&source, "says").unwrap_err().to_string();
    assert!(refusal.starts_with("says.p4:10:"), "{refusal}");
    assert!(
        refusal.contains("value set `P.known` matches as `ternary`"),
        "{refusal}"
    );
    let exact = program("", &before.replace("@match(ternary) ", ""), states, ingress);
    bmv2json::write(&compiled(&exact), "says").unwrap();
}

/// What BMv2 does otherwise is told, with its place.
#[test]
fn initial_entries_and_several_digests_are_noted() {
    let of_ingress = |ingress: &str| notes(&program("", "", START, ingress));
    let table = |kind: &str| {
        format!(
            "action a() {{ }}
    table t {{ key = {{ h.kind.a: exact; }} actions = {{ a; }} {kind}entries = {{ 1: a(); }} }}
    apply {{ s.egress_spec = 1; t.apply(); }}"
        )
    };
    assert_eq!(of_ingress(&table("const ")), Vec::<String>::new());
    let found = of_ingress(&table(""));
    assert!(found[0].starts_with("says.p4:13:"), "{found:?}");
    assert!(
        found[0].contains("table `I.t` has initial entries"),
        "{found:?}"
    );
    let tell = "digest<kind_t>(1, h.kind);";
    let one_of_two = format!("apply {{ if (m.x == 1) {{ {tell} }} else {{ {tell} }} }}");
    assert_eq!(of_ingress(&one_of_two), Vec::<String>::new());
    let both = format!("action a() {{ {tell} }} apply {{ a();\n if (m.x == 1) {{ {tell} }} }}");
    let found = of_ingress(&both);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("says.p4:13:"), "{found:?}");
    assert!(found[0].contains("more than one digest"), "{found:?}");
}

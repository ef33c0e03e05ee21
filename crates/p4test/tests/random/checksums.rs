//! Internet checksums of random fields, verified and updated on random conditions: compiled code
//! makes a sum from the one before it, where that is shorter.

use std::fmt::Write as _;

use p4exec::{ExecutorKind, executor};
use p4front::Options;
use p4test::compile_text;
use packetgen::Choices;
use quantities::Nanos;

use super::both::both_send;
use super::by_json::ByJson;

const PROGRAMS: u64 = 60;
const PACKETS: usize = 60;

/// The fields of the header, with their widths.
const FIELDS: [(&str, u32); 9] = [
    ("kind", 8),
    ("a", 4),
    ("b", 12),
    ("c", 16),
    ("d", 32),
    ("e", 64),
    ("f", 48),
    ("g", 8),
    ("i", 128),
];

type Field = (&'static str, u32);

fn field(choices: &mut Choices<'_>) -> Field {
    FIELDS[choices.below(FIELDS.len())]
}

/// Most of some fields and perhaps others, filled up to whole parts of 16 bits.
fn data(most: &[Field], choices: &mut Choices<'_>) -> String {
    let mut fields = most.to_vec();
    for _ in 0..choices.below(3) {
        let at = choices.below(fields.len());
        if choices.one_in(2) {
            fields[at] = field(choices);
        } else if fields.len() > 1 {
            fields.swap_remove(at);
        }
    }
    let bits: u32 = fields.iter().map(|(_, width)| width).sum();
    let mut names: Vec<String> = fields
        .iter()
        .map(|(name, _)| format!("h.h.{name}"))
        .collect();
    let rest = (16 - bits % 16) % 16;
    if rest > 0 {
        names.push(format!("{rest}w0"));
    }
    format!("{{ {} }}", names.join(", "))
}

fn condition(choices: &mut Choices<'_>) -> String {
    match choices.below(3) {
        0 => "true".to_owned(),
        1 => "h.h.isValid()".to_owned(),
        _ => format!("h.h.kind > {}", choices.below(256)),
    }
}

/// Lines of some statements.
fn lines(
    most: usize,
    choices: &mut Choices<'_>,
    line: impl Fn(&mut Choices<'_>) -> String,
) -> String {
    let mut text = String::new();
    for _ in 0..1 + choices.below(most) {
        let line = line(choices);
        let _ = writeln!(text, "        {line}");
    }
    text
}

fn program(choices: &mut Choices<'_>) -> String {
    let fields: String = FIELDS
        .iter()
        .map(|(name, width)| format!("bit<{width}> {name}; "))
        .collect();
    let most: Vec<Field> = (0..4 + choices.below(5)).map(|_| field(choices)).collect();
    let verified = lines(3, choices, |choices| {
        let (condition, data) = (condition(choices), data(&most, choices));
        format!("verify_checksum({condition}, {data}, h.h.c, HashAlgorithm.csum16);")
    });
    let changes = lines(5, choices, |choices| {
        let (name, width) = field(choices);
        let change = format!(
            "h.h.{name} = h.h.{name} + {width}w{};",
            1 + choices.below(9)
        );
        match choices.below(2) {
            0 => change,
            _ => format!("if ({}) {{ {change} }}", condition(choices)),
        }
    });
    // Programs that do nothing but checksums there are what JSON can say.
    let directly = choices.one_in(2);
    let updated = lines(3, choices, |choices| {
        let (condition, data) = (condition(choices), data(&most, choices));
        if directly {
            return format!("update_checksum({condition}, {data}, h.h.c, HashAlgorithm.csum16);");
        }
        let to = ["c", "d", "g"][choices.below(3)];
        format!(
            "update_checksum({condition}, {data}, m.{to}, HashAlgorithm.csum16); h.h.{to} = m.{to};"
        )
    });
    // The updates' results go to metadata first: they have other widths than the checksum.
    format!(
        "
#include <core.p4>
#include <v1model.p4>
header h_t {{ {fields} }}
struct headers {{ h_t h; }}
struct meta {{ bit<16> c; bit<32> d; bit<8> g; }}
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ packet.extract(h.h); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{
{verified}    }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{
        s.egress_spec = 2;
        if (s.checksum_error == 1) {{ h.h.g = h.h.g ^ 1; }}
{changes}    }} }}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{}} }}
control C(inout headers h, inout meta m) {{ apply {{
{updated}    }} }}
control D(packet_out packet, in headers h) {{ apply {{ packet.emit(h.h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

#[test]
fn checksums_are_what_the_interpreter_makes_of_their_fields() {
    let (mut sent, mut by_json) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut choices = Choices::seeded(seed);
        let text = program(&mut choices);
        let program = compile_text("checksums.p4", &text, &Options::default())
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        let packets: Vec<Vec<u8>> = (0..PACKETS)
            .map(|_| {
                let length = 30 + choices.below(30);
                choices.bytes(length)
            })
            .collect();
        let mut executors = [ExecutorKind::Interp, ExecutorKind::Compile]
            .map(|kind| executor(kind, program.clone()).expect("a program that runs"));
        let what = format!("seed {seed}\n{text}");
        let expected = both_send(&mut executors, &packets, &what);
        sent += expected.sent.len();
        if let Ok(mut json) = ByJson::where_sayable(&program) {
            json.send(Nanos::new(0), &packets, &expected, &what);
            by_json += 1;
        }
    }
    assert!(sent > PACKETS, "{sent} packets sent");
    assert!(by_json * 4 > PROGRAMS, "JSON says {by_json} programs");
}

//! Headers of random fields, of which programs change some: what the compiled executor copies from
//! the packet, and what it does not.

use p4exec::{ExecutorKind, executor};
use p4front::Options;
use p4test::compile_text;
use packetgen::Choices;
use quantities::Nanos;

use super::both::both_send;
use super::by_json::ByJson;

/// Programs, and packets through each.
const PROGRAMS: u64 = 60;
const PACKETS: usize = 120;

/// Widths of fields that fill whole bytes together.
fn widths(choices: &mut Choices<'_>) -> Vec<usize> {
    let bytes = 1 + choices.below(40);
    let mut left = bytes * 8;
    let mut widths = Vec::new();
    while left > 0 {
        // Whole bytes, as most fields have, or any number of bits.
        let width = match choices.below(3) {
            0 => 1 + choices.below(12),
            1 => 8 * (1 + choices.below(6)),
            _ => 1 + choices.below(128),
        };
        let width = width.min(left);
        widths.push(width);
        left -= width;
    }
    widths
}

/// The width of a field of whole bytes that holds the first one, and more.
fn wide(widths: &[usize]) -> usize {
    (widths[0] / 8 + 2) * 8
}

/// A statement that changes something of the headers `a` and `b`, or makes a third that begins with
/// the first's field, made wider.
fn statement(widths: &[usize], choices: &mut Choices<'_>) -> String {
    let mut field = || {
        let header = ["a", "b"][choices.below(2)];
        let at = choices.below(widths.len());
        (format!("h.{header}.f{at}"), widths[at])
    };
    let ((to, width), (from, _)) = (field(), field());
    match choices.below(9) {
        0 => format!("{to} = (bit<{width}>) {from};"),
        1 => format!("{to} = {to} + 1;"),
        2 => format!("{to} = 0;"),
        3 => "h.b = h.a;".into(),
        4 => "h.a = h.b;".into(),
        5 => "h.a.setInvalid();".into(),
        6 => "h.b.setValid();".into(),
        7 => format!("h.w.setValid(); h.w.f0 = (bit<{}>) h.a.f0;", wide(widths)),
        _ => format!("{to} = {to} ^ (bit<{width}>) {from};"),
    }
}

/// A program that takes two headers of the same fields, the second of some packets only, and
/// changes them in some ways.
fn program(choices: &mut Choices<'_>) -> String {
    let widths = widths(choices);
    let fields = widths.iter().enumerate();
    let fields: Vec<String> = fields.map(|(i, w)| format!("bit<{w}> f{i};")).collect();
    let mut statements = String::new();
    for n in 0..choices.below(5) {
        let statement = statement(&widths, choices);
        let line = match choices.below(2) {
            0 => format!("if (h.k.kind[{n}:{n}] == 1) {{ {statement} }}"),
            _ => statement,
        };
        statements += &format!("        {line}\n");
    }
    let emitted = ["k a b w", "k b a w", "a k w b", "k a a b w"][choices.below(4)];
    let emitted = emitted
        .split(' ')
        .map(|name| format!("packet.emit(h.{name}); "));
    let wide = wide(&widths);
    let (fields, emitted) = (fields.join(" "), emitted.collect::<String>());
    format!(
        "
#include <core.p4>
#include <v1model.p4>
header k_t {{ bit<8> kind; }}
header f_t {{ {fields} }}
header w_t {{ bit<{wide}> f0; }}
struct headers {{ k_t k; f_t a; f_t b; w_t w; }}
struct meta {{ }}
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{
        packet.extract(h.k);
        packet.extract(h.a);
        transition select(h.k.kind[7:7]) {{ 1: second; default: accept; }}
    }}
    state second {{ packet.extract(h.b); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{}} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    apply {{
        s.egress_spec = 1;
{statements}    }}
}}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{}} }}
control C(inout headers h, inout meta m) {{ apply {{}} }}
control D(packet_out packet, in headers h) {{ apply {{ {emitted}}} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

#[test]
fn headers_leave_as_the_program_says_whatever_is_copied() {
    let (mut sent, mut by_json) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut choices = Choices::seeded(seed);
        let text = program(&mut choices);
        let program = compile_text("headers.p4", &text, &Options::default())
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        let packets: Vec<Vec<u8>> = (0..PACKETS)
            .map(|_| {
                let length = choices.below(100);
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
    assert!(by_json * 2 > PROGRAMS, "JSON says {by_json} programs");
}

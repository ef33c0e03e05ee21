//! Programs of a few shapes and any size: those that ask for far more than they are long, which
//! must be refused before anything is made, and long ones that repeat something, which must cost no
//! more than they are long.

mod hostile;
mod long;

use std::fmt::Write as _;

use p4ir::limits::Limit;

use hostile::*;
use long::*;

/// What becomes of the programs of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeOutcome {
    /// Refused by the front end for exceeding this bound.
    Refused(Limit),
    /// Refused by the front end, with these words in the message.
    TooNested(&'static str),
    /// Refused when the state is made.
    TooMuchState,
    /// Runs on the interpreter; refused when it is compiled.
    TooMuchCode,
    /// Runs on both executors.
    Runs,
}

/// A shape with the size to try it at.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// What becomes of it.
    pub outcome: ShapeOutcome,
    /// The size to try it at.
    pub size: usize,
    make: fn(usize) -> ProgramBlocks,
}

impl Shape {
    /// The program of a size.
    #[must_use]
    pub fn program(&self, size: usize) -> String {
        (self.make)(size).program()
    }

    /// The shape of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SHAPES.iter().find(|shape| shape.name == name).copied()
    }
}

macro_rules! shapes {
    ($($name:ident($size:expr) => $outcome:expr;)*) => {
        /// All shapes.
        pub const SHAPES: &[Shape] = &[$(Shape {
            name: stringify!($name),
            outcome: $outcome,
            size: $size,
            make: $name,
        }),*];
    };
}

use Limit::{Depth, Instances, NameBytes, Nodes, Steps, StorageWords, TypeDepth, TypeWords};
use ShapeOutcome::{Refused, Runs, TooMuchCode, TooMuchState, TooNested};

/// What the front end says of nesting.
const NESTED: &str = "nested";
/// What the preprocessor says of macros.
const MACROS: &str = "macro";
/// What the parser says of expressions.
const PARTS: &str = "parts that depend on each other";

shapes! {
    doubling_tuples(49) => Refused(TypeWords);
    doubling_structs(59) => Refused(TypeWords);
    doubling_empty_structs(59) => Refused(TypeWords);
    doubling_generics(59) => Refused(TypeWords);
    doubling_generic_structs(59) => Refused(TypeWords);
    doubling_concatenations(40) => TooNested("legal width");
    doubling_macros(40) => TooNested(MACROS);
    doubling_arguments(59) => Refused(TypeWords);
    doubling_extern_arguments(49) => Refused(TypeWords);
    doubling_stacks(40) => Refused(TypeWords);
    doubling_headers(59) => Refused(TypeWords);
    doubling_inferred_tuples(30) => Refused(TypeWords);
    wide_tuples(10_000) => Refused(TypeWords);
    wide_fields(100) => Refused(TypeWords);
    deep_structs(1_000) => Refused(TypeDepth);
    deep_new_types(1_000) => Refused(TypeDepth);
    deep_stacks(1_000) => Refused(TypeDepth);
    huge_stack(60_000) => Refused(TypeWords);
    large_locals(10_000) => Refused(StorageWords);
    large_parameters(10_000) => Refused(StorageWords);
    large_constants(10_000) => Refused(Nodes);
    large_comparisons(10_000) => Refused(Nodes);
    doubling_controls(40) => Refused(Instances);
    doubling_parsers(40) => Refused(Instances);
    doubling_functions(40) => Refused(Instances);
    repeated_controls(140) => Refused(Nodes);
    long_names(15) => Refused(NameBytes);
    deep_actions(2_000) => Refused(Depth);
    deep_functions(2_000) => Refused(Depth);
    doubling_action_calls(30) => Refused(Steps);
    doubling_function_calls(30) => Refused(Steps);
    doubling_table_actions(30) => Refused(Steps);
    repeated_copies(300) => Refused(Steps);
    large_registers(20) => TooMuchState;
    large_meters(20) => TooMuchState;
    large_counters(20) => TooMuchState;
    dear_calls(120) => TooMuchCode;
    many_applications(40) => TooMuchCode;
    deep_ifs(5_000) => TooNested(NESTED);
    deep_blocks(5_000) => TooNested(NESTED);
    deep_brackets(5_000) => TooNested(NESTED);
    long_sums(5_000) => TooNested(PARTS);
    long_choices(5_000) => TooNested(PARTS);
    long_concatenations(5_000) => TooNested(PARTS);
    long_else_ifs(5_000) => TooNested("else if");
    many_members(10_000) => Runs;
    many_values(10_000) => Runs;
    many_tables(10_000) => Runs;
    many_cases(10_000) => Runs;
    many_wide_cases(2_000) => Runs;
    many_case_calls(10_000) => Runs;
    many_entries(10_000) => Runs;
    many_actions(2_000) => Runs;
    many_keys(500) => Runs;
    many_states(1_000) => Runs;
    many_select_cases(5_000) => Runs;
    many_locals(10_000) => Runs;
    many_fields(10_000) => Runs;
    compared_structs(10_000) => Runs;
    many_masked_cases(20_000) => Runs;
    many_ternary_entries(10_000) => Runs;
    moved_stack(8_000) => Runs;
    many_constants(10_000) => Runs;
    many_counters(2_000) => Runs;
    many_functions(5_000) => Runs;
    one_long_line(10_000) => Runs;
    huge_table(1 << 31) => Runs;
    nested_loops(8) => Runs;
    large_hashes(60) => Runs;
    wide_products(200) => Runs;
    action_chain(280) => Runs;
    nested_ifs(60) => Runs;
    nested_brackets(80) => Runs;
    nested_sums(150) => Runs;
    large_comparison(8) => Runs;
}

/// The parts of a program for v1model that shapes are about.
#[derive(Clone, Debug, Default)]
struct ProgramBlocks {
    /// Declarations.
    decls: String,
    /// States of the parser, with `start`; none for one that accepts.
    states: String,
    /// Declarations of ingress.
    locals: String,
    /// Statements of ingress.
    body: String,
}

/// See [`ProgramBlocks`].
fn parts(decls: &str, states: &str, locals: &str, body: &str) -> ProgramBlocks {
    ProgramBlocks {
        decls: decls.to_owned(),
        states: states.to_owned(),
        locals: locals.to_owned(),
        body: body.to_owned(),
    }
}

impl ProgramBlocks {
    /// Puts those of another behind these.
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.decls, &other.decls),
            (&mut self.states, &other.states),
            (&mut self.locals, &other.locals),
            (&mut self.body, &other.body),
        ];
        for (all, more) in pairs {
            all.push_str(more);
            all.push('\n');
        }
    }

    /// The whole program.
    fn program(&self) -> String {
        let Self {
            decls,
            states,
            locals,
            body,
        } = self;
        let states = match states.trim() {
            "" => "state start { transition accept; }",
            other => other,
        };
        format!(
            "#include <core.p4>
#include <v1model.p4>
header byte_h {{ bit<8> v; }}
struct metadata {{ bit<32> a; bit<32> b; }}
struct headers {{ byte_h h; }}
{decls}
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{states}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
{locals}
apply {{
std.egress_spec = 1;
{body}
}}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out pkt, in headers hdr) {{ apply {{ pkt.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
        )
    }
}

/// The word that begins a line that asks for a shape.
const WORD: &str = "shape ";

/// The largest size that a line may ask for, unless the shape has a larger one.
const MAX_LINE_SIZE: usize = 20_000;

/// A program that has so many bytes gets no further shapes.
const MAX_LINE_BYTES: usize = 4 << 20;

/// The lines that ask for all shapes, each at its own size: `shape NAME SIZE`.
pub fn lines() -> impl Iterator<Item = String> {
    let line = |shape: &Shape| format!("{WORD}{} {}\n", shape.name, shape.size);
    SHAPES.iter().map(line)
}

/// The program that the lines of an input ask for, which is several shapes in one if there are
/// several. `None` if the input does not begin with such a line; what asks for nothing known is
/// left out.
#[must_use]
pub fn of_lines(input: &[u8]) -> Option<String> {
    if !input.starts_with(WORD.as_bytes()) {
        return None;
    }
    let mut all = ProgramBlocks::default();
    for line in String::from_utf8_lossy(input).lines() {
        let mut words = line.strip_prefix(WORD).unwrap_or("").split_whitespace();
        let shape = words.next().and_then(Shape::named);
        let size = words.next().and_then(|n| n.parse::<usize>().ok());
        if let (Some(shape), Some(size)) = (shape, size) {
            all.add(&(shape.make)(size.min(shape.size.max(MAX_LINE_SIZE))));
        }
        if all.decls.len() + all.locals.len() + all.body.len() > MAX_LINE_BYTES {
            break;
        }
    }
    Some(all.program())
}

/// A text for each number.
fn each(numbers: impl IntoIterator<Item = usize>, text: impl Fn(usize) -> String) -> String {
    numbers.into_iter().fold(String::new(), |mut all, n| {
        let _ = writeln!(all, "{}", text(n));
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_several_shapes() {
        let text = of_lines(b"shape many_tables 2\nshape many_members 3\nshape none 1\nmore\n");
        let text = text.expect("it begins with such a line");
        assert!(text.contains("t1.apply();") && text.contains("enum e { m0, m1, m2 }"));
        let mut map = p4front::source::SourceMap::new();
        let main = map.add("several.p4", &text).expect("small");
        let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
        let found = compiled.err().map(|found| found.render(&map));
        assert_eq!(found, None, "{text}");
        assert_eq!(of_lines(text.as_bytes()), None);
    }
}

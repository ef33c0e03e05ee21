//! Programs for Tofino: what our declarations of `tna.p4` and `t2na.p4` accept, and what becomes of
//! the externs.
//!
//! `TNA_PROGRAMS=FOLDER cargo test -p switchwright-p4front --test accepted tna -- --nocapture`
//! reads every program under a folder (p4c's are in
//! `backends/p4tools/modules/testgen/targets/tofino/test/p4-programs`) and tells the shares that
//! `docs/language.md` reports.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use std::path::{Path, PathBuf};

use p4front::source::SourceMap;
use p4front::{Compiled, Options, compile};

/// A whole program around an ingress control.
fn program(include: &str, locals: &str, body: &str) -> String {
    format!(
        "#include <{include}>
         header data_t {{ bit<32> a; bit<32> b; bit<16> c; }}
         struct headers_t {{ data_t data; }}
         struct meta_t {{ bit<32> x; bit<16> y; bool bad; }}
         struct pair_t {{ bit<16> low; bit<16> high; }}
         parser IP(packet_in p, out headers_t hdr, out meta_t m, out ingress_intrinsic_metadata_t i) {{
           Checksum() sum;
           state start {{ p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(hdr.data);
             sum.add(hdr.data); m.bad = sum.verify(); transition select(hdr.data.c) {{ 0: accept; 1: reject; }} }}
         }}
         control I(inout headers_t hdr, inout meta_t m, in ingress_intrinsic_metadata_t i,
                   in ingress_intrinsic_metadata_from_parser_t ip, inout ingress_intrinsic_metadata_for_deparser_t id,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {{
           {locals}
           apply {{ {body} }}
         }}
         control ID(packet_out p, inout headers_t hdr, in meta_t m, in ingress_intrinsic_metadata_for_deparser_t id) {{
           Checksum() sum;
           apply {{ hdr.data.c = sum.update({{ hdr.data.a, hdr.data.b }}); p.emit(hdr); }}
         }}
         parser EP(packet_in p, out headers_t hdr, out meta_t m, out egress_intrinsic_metadata_t i) {{
           state start {{ p.extract(i); transition accept; }}
         }}
         control E(inout headers_t hdr, inout meta_t m, in egress_intrinsic_metadata_t i,
                   in egress_intrinsic_metadata_from_parser_t ip, inout egress_intrinsic_metadata_for_deparser_t id,
                   inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ }} }}
         control ED(packet_out p, inout headers_t hdr, in meta_t m, in egress_intrinsic_metadata_for_deparser_t id) {{
           apply {{ p.emit(hdr); }}
         }}
         Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
         Switch(pipe) main;
        "
    )
}

fn build(text: &str) -> Result<Compiled, String> {
    let mut map = SourceMap::new();
    let main = map.add("t.p4", text).expect("small");
    compile(&mut map, main, &Options::default()).map_err(|d| d.render(&map))
}

fn good(text: &str) -> Compiled {
    match build(text) {
        Ok(compiled) => compiled,
        Err(findings) => panic!("refused:\n{findings}"),
    }
}

fn tofino(ir: &p4ir::Program) -> p4ir::Tna {
    match ir.pipeline() {
        Some(p4ir::Pipeline::Tofino(view)) => view,
        other => panic!("no pipeline of Tofino: {other:?}"),
    }
}

#[test]
fn both_chips_have_their_widths() {
    for (include, metadata, qid) in [("tna.p4", 64, 5), ("t2na.p4", 192, 7)] {
        let body = "tm.qid = 3; tm.ingress_cos = 2; tm.ucast_egress_port = 1;";
        let compiled = good(&program(include, "", body));
        let view = tofino(&compiled.ir);
        assert_eq!(view.port_metadata_bits, metadata);
        let tm = &compiled.ir.controls[view.ingress.control].params[5];
        let ty = compiled.ir.vars[tm.var].ty;
        let field = compiled.ir.types.field_index(ty, "qid").unwrap();
        let width = &compiled.ir.types[compiled.ir.types[ty].fields().unwrap()[field as usize].ty];
        assert!(
            matches!(width, p4ir::Type::Bits { width, .. } if *width == qid),
            "{width:?}"
        );
        let name = compiled.ir.architecture.map(p4ir::Architecture::name);
        assert_eq!(name, include.strip_suffix(".p4"));
    }
}

#[test]
fn a_direction_shares_its_storage_and_no_more() {
    let compiled = good(&program("tna.p4", "", ""));
    let ir = &compiled.ir;
    let view = tofino(ir);
    let control =
        |id: p4ir::ControlId| -> Vec<_> { ir.controls[id].params.iter().map(|p| p.var).collect() };
    let (ingress, deparser) = (
        control(view.ingress.control),
        control(view.ingress.deparser),
    );
    assert_eq!(ingress[0], deparser[0]);
    assert_eq!(ingress[1], deparser[1]);
    let intrinsic = ir.parsers[view.ingress.parser].params[2].var;
    assert_eq!(ingress[2], intrinsic);
    assert_ne!(ingress[0], control(view.egress.control)[0]);
}

#[test]
fn externs_become_what_executors_know() {
    let locals = "Register<pair_t, bit<8>>(4, { 1, 2 }) pairs;
        RegisterAction<pair_t, bit<8>, bit<16>>(pairs) bump = {
          void apply(inout pair_t value, out bit<16> rv) { value.low = value.low + 1; rv = value.high; } };
        Counter<bit<64>, bit<4>>(16, CounterType_t.BYTES) seen;
        Meter<bit<4>>(16, MeterType_t.PACKETS) meter;
        Hash<bit<16>>(HashAlgorithm_t.CRC32) crc;
        Hash<bit<8>>(HashAlgorithm_t.XOR8) folded;";
    let body = "m.y = bump.execute(3); seen.count(2); m.x = (bit<32>)meter.execute(1);
        m.y = crc.get({ hdr.data.a, hdr.data.b }); m.x = (bit<32>)folded.get(hdr.data.c);";
    insta::assert_snapshot!(good(&program("tna.p4", locals, body)).ir.to_string());
}

#[test]
fn what_does_not_fit_is_refused() {
    let locals = "Register<bit<32>, bit<8>>(4) cells;
        RegisterAction<bit<32>, bit<8>, bit<32>>(cells) bad = { void apply(inout bit<16> value) { } };";
    let findings = build(&program("tna.p4", locals, "")).unwrap_err();
    assert!(findings.contains("apply"), "{findings}");
    // Only `tna.p4` lets a control leave the traffic manager's metadata out.
    let text = program("t2na.p4", "", "").replace(
        "inout ingress_intrinsic_metadata_for_deparser_t id,
                   inout ingress_intrinsic_metadata_for_tm_t tm",
        "inout ingress_intrinsic_metadata_for_deparser_t id",
    );
    let findings = build(&text).unwrap_err();
    assert!(findings.contains("does not fit `IngressT`"), "{findings}");
    good(&text.replace("t2na.p4", "tna.p4"));
}

/// The residual of a checksum takes away what the parser extracts later: of headers whose size is
/// known.
#[test]
fn residuals_take_headers_of_fixed_size() {
    let with = |call: &str, fields: &str| {
        let text = program("tna.p4", "", "");
        let text = text.replace("sum.add(hdr.data); m.bad = sum.verify();", call);
        let rest = format!(
            "header rest_t {{ {fields} }} struct headers_t {{ data_t data; rest_t rest; }}"
        );
        text.replace("struct headers_t { data_t data; }", &rest)
    };
    let call = "sum.subtract_all_and_deposit(m.y); p.extract(hdr.rest";
    let compiled = good(&with(&format!("{call});"), "bit<8> bits;"));
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    let findings = build(&with(&format!("{call}, 8);"), "varbit<64> bits;")).unwrap_err();
    assert!(findings.contains("headers of fixed size"), "{findings}");
}

#[test]
fn a_direct_register_is_named_by_its_table() {
    let locals = "DirectRegister<bit<32>>(3) cells; Register<bit<32>, bit<8>>(4) others; RegisterParam<bit<32>>(7) step;
        DirectRegisterAction<bit<32>, bit<32>>(cells) add = {
          void apply(inout bit<32> v, out bit<32> rv) { v = v + step.read(); rv = v; } };
        action a() { m.x = add.execute(); }
        table t { key = { hdr.data.a: exact; } actions = { a; } registers = cells; }";
    let compiled = good(&program("tna.p4", locals, "t.apply();"));
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    let ir = &compiled.ir;
    let direct = ir.tables.values().flat_map(|t| &t.direct);
    let direct: Vec<_> = direct.map(|id| ir.externs[*id].ty.clone()).collect();
    assert_eq!(direct, [p4ir::ExternType::DirectRegister]);
    // P4Runtime has no message for them.
    assert_eq!(compiled.p4info.registers.len(), 1);
    let wrong = locals.replace("registers = cells", "registers = others");
    let findings = build(&program("tna.p4", &wrong, "t.apply();")).unwrap_err();
    assert!(findings.contains("must be DirectRegister"), "{findings}");
}

fn programs(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            programs(&path, into);
        } else if path.extension().is_some_and(|e| e == "p4")
            && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("main;"))
        {
            into.push(path);
        }
    }
}

#[test]
fn shares_of_other_programs() {
    let Some(folder) = std::env::var_os("TNA_PROGRAMS").map(PathBuf::from) else {
        println!("skipped: TNA_PROGRAMS names no folder");
        return;
    };
    let mut all = Vec::new();
    programs(&folder, &mut all);
    all.sort();
    let (mut accepted, mut run) = (0, 0);
    for path in &all {
        let two = path.to_string_lossy().contains("tofino2");
        let mut options = Options::on_disk();
        options.include_paths.push(folder.clone());
        let chip = if two { "2" } else { "1" };
        options
            .defines
            .push(("__TARGET_TOFINO__".into(), chip.into()));
        let mut map = SourceMap::new();
        let main = map.load(path).unwrap();
        match compile(&mut map, main, &options) {
            Ok(compiled) => {
                accepted += 1;
                if compiled.ir.pipeline().is_some() {
                    run += 1;
                } else {
                    println!("{}: not one pipeline", path.display());
                }
            }
            Err(findings) => {
                let text = findings.render(&map);
                let first: Vec<&str> = text.lines().take(3).collect();
                println!("{}:\n{}", path.display(), first.join("\n"));
            }
        }
    }
    println!(
        "{accepted} of {} accepted, {run} of them one pipeline",
        all.len()
    );
    assert!(
        accepted * 10 >= all.len() * 9,
        "{accepted} of {}",
        all.len()
    );
}

/// Type arguments of which the program says `_` (P4_16, "Don't care types").
#[test]
fn a_type_that_only_methods_use_may_stay_open() {
    let include = "tna.p4>\ntypedef Register<bit<32>, _> cells_t;\n#include <core.p4";
    let locals = "cells_t(4) seen; cells_t(32w4) others;
        RegisterAction<bit<32>, _, bit<32>>(seen) bump = {
          void apply(inout bit<32> v, out bit<32> r) { v = v + 1; r = v; } };
        RegisterAction<_, _, _>(others) known = {
          void apply(inout bit<32> v, out bit<16> r) { r = v[15:0]; } };
        RegisterAction<bit<32>, _, void>(others) clear = { void apply(inout bit<32> v) { v = 0; } };
        Counter<_, bit<4>>(16, CounterType_t.BYTES) bytes; Meter<_>(8, MeterType_t.PACKETS) meter;";
    let body = "m.x = bump.execute(0); m.x = bump.execute(hdr.data.c); m.y = known.execute(8w1);
        clear.execute(hdr.data.a); bytes.count(3); m.x = seen.read(2); others.write(8w3, m.x);
        m.x = (bit<32>)meter.execute(hdr.data.b);";
    let compiled = good(&program(include, locals, body));
    let calls = compiled.ir.functions.len();
    assert_eq!(calls, 3, "each action is one function");
    let refused = |locals: &str, body: &str| build(&program("tna.p4", locals, body)).unwrap_err();
    let cannot = "the type arguments of `Register` cannot be inferred";
    assert!(refused("Register<_, bit<8>>(4) r;", "").contains(cannot));
    let shown = refused(
        "Register<bit<32>, _>(4) r; RegisterAction<_, _, _>(r) a = { void apply(inout bit<32> v, out bit<8> o) { } };",
        "m.x = a.execute(0);",
    );
    assert!(
        shown.contains("expected `bit<32>`, found `bit<8>`"),
        "{shown}"
    );
}

#[test]
fn one_control_in_several_pipes_has_several_names() {
    let one = program(
        "tna.p4",
        "action set(bit<16> c) { hdr.data.c = c; } action own() { }
         Register<bit<32>, bit<8>>(4) cells;
         table t1 { key = { hdr.data.a: exact; } actions = { set; @name(\"mine\") own; } }",
        "t1.apply(); m.x = cells.read(1);",
    );
    let two = one.replace(
        "Switch(pipe) main",
        "Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe1; Switch(pipe, pipe1) main",
    );
    let compiled = good(&two);
    let tables: Vec<&str> = compiled
        .ir
        .tables
        .values()
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(tables, ["pipe.I.t1", "pipe1.I.t1"]);
    let info = &compiled.p4info;
    let preambles = info.tables.iter().filter_map(|t| t.preamble.as_ref());
    let preambles = preambles.chain(info.actions.iter().filter_map(|a| a.preamble.as_ref()));
    let preambles = preambles.chain(info.registers.iter().filter_map(|r| r.preamble.as_ref()));
    let mut seen = std::collections::BTreeMap::new();
    for preamble in preambles {
        assert_eq!(
            seen.insert(preamble.id, &*preamble.name),
            None,
            "{}",
            preamble.name
        );
    }
    for name in [
        "pipe.I.set",
        "pipe1.I.set",
        "pipe.I.cells",
        "pipe1.I.cells",
        "pipe1.I.t1",
    ] {
        assert!(
            seen.values().any(|known| *known == name),
            "{name}: {seen:?}"
        );
    }
    // What all pipes share is one program, and has the names that one pipe has.
    let shared = good(&one.replace("Switch(pipe) main", "Switch(pipe, pipe) main"));
    assert_eq!(shared.p4info, good(&one).p4info);
    assert_eq!((shared.ir.pipes(), compiled.ir.pipes()), (1, 2));
}

#[test]
fn what_places_a_program_on_the_chip_is_known() {
    let locals = "@pa_atomic(\"ingress\", \"hdr.data.c\") @stage(3) @pragma ways 4
        table t { key = { hdr.data.a: exact; } actions = { NoAction; } size = 16; idle_timeout = true;
          requires_versioning = false; atcam = Atcam(2); alpm = Alpm(1); }";
    let said = |include: &str, locals: &str| -> Vec<String> {
        let text = program(include, locals, "t.apply();");
        good(&text)
            .warnings
            .into_iter()
            .map(|d| d.message)
            .collect()
    };
    assert_eq!(said("tna.p4", locals), [] as [&str; 0]);
    assert_eq!(said("t2na.p4", locals), [] as [&str; 0]);
    let misspelt = locals.replace("idle_timeout", "idle_timout");
    let wrong = "property `idle_timout` is not known and has no effect";
    assert_eq!(said("tna.p4", &misspelt), [wrong]);
}

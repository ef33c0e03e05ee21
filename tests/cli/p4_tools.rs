//! The tools under `switchwright p4` as their users meet them: packets from every source, and wrong
//! input.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs it with `--json` and reads what it prints.
fn json(at: &Path, args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.push("--json");
    let output = with_input(at, &args, "");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs it and demands this exit status and these words in what it says.
fn refused(at: &Path, args: &[&str], status: i32, words: &[&str]) {
    let output = with_input(at, args, "");
    let both = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&both);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{args:?}: `{word}` is not in: {said}");
    }
}

/// A program that sends every packet back, with `1` as its first byte.
const ECHO: &str = "#include <core.p4>\n#include <v1model.p4>\n\
    header h_t { bit<8> a; }\nstruct headers { h_t h; }\nstruct meta { }\n\
    parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t sm) {\n\
    state start { p.extract(hdr.h); transition accept; } }\n\
    control V(inout headers hdr, inout meta m) { apply { } }\n\
    control I(inout headers hdr, inout meta m, inout standard_metadata_t sm) {\n\
    action set(bit<8> a) { hdr.h.a = a; }\n\
    table t { key = { hdr.h.a : exact; } actions = { set; NoAction; } default_action = NoAction(); }\n\
    apply { sm.egress_spec = sm.ingress_port; t.apply(); } }\n\
    control E(inout headers hdr, inout meta m, inout standard_metadata_t sm) { apply { } }\n\
    control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }\n\
    V1Switch(P(), V(), I(), E(), V(), D()) main;\n";

/// The command with a text on standard input.
fn with_input(at: &Path, args: &[&str], text: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(args)
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("piped");
    // A command that does not read its input ends early; that is not this test's matter.
    let _ = std::io::Write::write_all(&mut input, text.as_bytes());
    drop(input);
    child.wait_with_output().expect("the command ends")
}

/// BMv2's JSON has an action for each table that offers it, several of one name.
#[test]
fn a_build_compiled_for_bmv2_takes_its_entries() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for line in [
        "topo three-node -o network.json",
        "plan network.json -o plan.json",
        "build plan.json -o build",
        "p4 compile build/p4/tagger.p4 -o tagger.json --p4runtime-files tagger.txtpb",
    ] {
        let done = with_input(at, &line.split(' ').collect::<Vec<_>>(), "");
        assert!(done.status.success(), "{line}");
    }
    // IPv4 from h1 to h2, as it comes in at switch A.
    let packet = "06000000000202000a0000010800450000200000000040fd64e00a0000010a000101000000000000000000000000";
    let entries = "build/switches/A/entries.txtpb";
    let run = |program: &[&str]| {
        let words = ["p4", "run", packet, "--port", "2", "--entries", entries];
        let mut said = json(at, &[&words[..2], program, &words[2..]].concat());
        said["shown"][0]["sent"].take()
    };
    let sent = run(&["build/p4/tagger.p4"]);
    assert_eq!(sent[0]["port"], 3, "{sent}");
    assert_eq!(run(&["tagger.json", "--p4info", "tagger.txtpb"]), sent);
}

#[test]
fn packets_go_through_a_program_from_every_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("echo.p4"), ECHO).expect("a writable folder");
    fs::write(at.join("entries.stf"), "add t hdr.h.a:7 set(a:0x99)\n").expect("a writable folder");
    for executor in ["interp", "compile"] {
        let args = ["p4", "run", "echo.p4", "07 AA", "0x08", "--port", "3"];
        let more = ["--entries", "entries.stf", "--executor", executor];
        let done = json(at, &[&args[..], &more[..]].concat());
        assert_eq!(done["sent"], 2, "{done}");
        assert_eq!(done["shown"][0]["sent"][0]["bytes"], "99aa");
        assert_eq!(done["shown"][0]["sent"][0]["port"], 3);
        assert_eq!(done["shown"][1]["sent"][0]["bytes"], "08");
    }
    // Into a capture file and back out of it.
    let out = [
        "p4",
        "run",
        "echo.p4",
        "0102",
        "03",
        "--pcap-out",
        "0=out.pcap",
    ];
    assert_eq!(json(at, &out)["files"][0], "out.pcap");
    let back = ["p4", "run", "echo.p4", "--pcap-in", "5=out.pcap"];
    let back = json(at, &back);
    assert_eq!(back["ports"]["5"], 2, "{back}");
    assert_eq!(back["shown"][1]["bytes"], "03");
    // Standard input: packets, or the program.
    let text = "# two packets\n4 07\npacket 6 08 09\n";
    let run = with_input(at, &["p4", "run", "echo.p4", "-"], text);
    let shown = String::from_utf8_lossy(&run.stdout);
    assert!(shown.contains("port 6 out: 0809"), "{shown}");
    assert!(
        shown.contains("2 packets in, 2 out (port 4: 1, port 6: 1), 0 dropped"),
        "{shown}"
    );
    let run = with_input(at, &["p4", "run", "-", "41"], ECHO);
    assert!(String::from_utf8_lossy(&run.stdout).contains("1 packet in, 1 out"));
    let run = with_input(at, &["p4", "info", "-"], ECHO);
    assert!(String::from_utf8_lossy(&run.stdout).contains("tables {"));
    let run = with_input(at, &["p4", "explain", "-", "--pass", "tables"], ECHO);
    assert!(String::from_utf8_lossy(&run.stdout).contains("action   I.set(a)"));
    let measured = json(at, &["p4", "explain", "echo.p4", "--pass", "profile"]);
    assert_eq!(measured["packets"], 1024, "{measured}");
    assert_eq!(measured["tables"][0]["name"], "I.t", "{measured}");
    let times = ["around", "whole"].map(|part| measured[part].as_f64().unwrap_or(0.0));
    assert!(times.iter().all(|time| *time > 0.0), "{measured}");
}

#[test]
fn programs_are_compiled_for_bmv2_and_run_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("echo.p4"), ECHO).expect("a writable folder");
    fs::write(at.join("entries.stf"), "add t hdr.h.a:7 set(a:0x99)\n").expect("a writable folder");
    let compile = ["p4", "compile", "echo.p4", "-o", "echo.json"];
    let infos = ["--p4runtime-files", "echo.txtpb,echo.bin,echo.p4info.json"];
    let done = json(at, &[&compile[..], &infos[..]].concat());
    assert_eq!(done["files"].as_array().map(Vec::len), Some(4), "{done}");
    let run = [
        "p4",
        "run",
        "echo.json",
        "07 AA",
        "--entries",
        "entries.stf",
    ];
    assert_eq!(json(at, &run)["shown"][0]["sent"][0]["bytes"], "99aa");
    let info = fs::read_to_string(at.join("echo.txtpb")).expect("written");
    let told = with_input(at, &["p4", "info", "echo.p4"], "");
    assert_eq!(info.as_bytes(), told.stdout, "the P4Info is that of `info`");
    let printed = with_input(at, &["p4", "compile", "-", "-o", "-"], ECHO);
    assert!(String::from_utf8_lossy(&printed.stdout).starts_with("{\n"));
    refused(
        at,
        &["p4", "compile", "echo.json", "-o", "x.json"],
        2,
        &["compiled already"],
    );
    refused(
        at,
        &["p4", "compile", "echo.p4", "-o", "-", "--json"],
        2,
        &["standard output"],
    );
    let twice = ECHO.replace("t.apply();", "t.apply(); hdr.h.a = 1; t.apply();");
    fs::write(at.join("twice.p4"), twice).expect("a writable folder");
    refused(
        at,
        &["p4", "compile", "twice.p4", "-o", "twice.json"],
        3,
        &["table `I.t`", "two places"],
    );
    assert!(!at.join("twice.json").exists(), "nothing half-written");
}

#[test]
fn programs_are_formatted_and_findings_told_as_sarif() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let loose = ECHO.replace("sm.egress_spec = sm", "sm . egress_spec=sm");
    fs::write(at.join("loose.p4"), &loose).expect("a writable folder");
    refused(
        at,
        &["p4", "fmt", "--check", "loose.p4"],
        1,
        &["loose.p4", "1 of 1 file"],
    );
    assert_eq!(
        json(at, &["p4", "fmt", "loose.p4"])["changed"][0],
        "loose.p4"
    );
    let formatted = fs::read_to_string(at.join("loose.p4")).expect("written");
    assert!(
        formatted.contains("sm.egress_spec = sm.ingress_port;"),
        "{formatted}"
    );
    assert_eq!(
        json(at, &["p4", "fmt", "--check", "loose.p4"])["changed"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
    let piped = with_input(at, &["p4", "fmt", "-"], &loose);
    assert_eq!(String::from_utf8_lossy(&piped.stdout), formatted);
    fs::write(
        at.join("wrong.p4"),
        ECHO.replace("t.apply()", "nothing.apply()"),
    )
    .expect("a writable folder");
    let found = with_input(at, &["p4", "check", "wrong.p4", "--format", "sarif"], "");
    assert_eq!(found.status.code(), Some(2));
    let log: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["level"], "error", "{log:#}");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "wrong.p4");
    assert_eq!(place["region"]["startLine"], 12, "{log:#}");
}

#[test]
fn wrong_input_of_the_p4_tools_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("echo.p4"), ECHO).expect("a writable folder");
    fs::write(at.join("junk"), "junk").expect("a writable folder");
    fs::write(at.join("junk.json"), "{\"a\": ").expect("a writable folder");
    fs::write(at.join("zero.p4"), b"header\0h").expect("a writable folder");
    fs::write(at.join("self.p4"), "#include \"self.p4\"\n").expect("a writable folder");
    let typo = ECHO.replace("v1model.p4", "v1modle.p4");
    fs::write(at.join("typo.p4"), typo).expect("a writable folder");
    let forever = ECHO.replace("transition accept", "transition start");
    fs::write(at.join("forever.p4"), forever).expect("a writable folder");
    let recursive = ECHO.replace(
        "struct meta",
        "bit<8> f(bit<8> x) { return f(x); }\nstruct meta",
    );
    fs::write(at.join("recursive.p4"), recursive).expect("a writable folder");
    let key = ECHO.replace("hdr.h.a : exact", "hdr.h.a : exat");
    fs::write(at.join("key.p4"), key).expect("a writable folder");
    fs::write(at.join("wrong.stf"), "add t hdr.h.b:7 set(a:1)\n").expect("a writable folder");
    fs::write(at.join("bogus.stf"), "\nbogus 1\n").expect("a writable folder");
    refused(
        at,
        &["p4", "run", "echo.p4"],
        2,
        &["no packets", "--pcap-in"],
    );
    refused(
        at,
        &["p4", "run", "echo.p4", "0"],
        2,
        &["`0` is not a packet"],
    );
    refused(
        at,
        &["p4", "run", "none.p4", "00"],
        2,
        &["cannot read none.p4"],
    );
    let pcap = ["p4", "run", "echo.p4", "--pcap-in", "1=junk"];
    refused(at, &pcap, 2, &["junk is not a pcap or pcapng file"]);
    refused(at, &["p4", "run", "junk.json", "00"], 2, &["not BMv2 JSON"]);
    refused(at, &["p4", "check", "junk.json"], 2, &["not BMv2 JSON"]);
    refused(at, &["p4", "info", "junk.json"], 2, &["give the P4 source"]);
    refused(
        at,
        &["p4", "check", "zero.p4"],
        2,
        &["not a text file: byte 6"],
    );
    refused(
        at,
        &["p4", "check", "self.p4"],
        2,
        &["self.p4:1:10", "does a file include itself?"],
    );
    refused(
        at,
        &["p4", "check", "typo.p4"],
        2,
        &["typo.p4:2:10", "did you mean `v1model.p4`?"],
    );
    refused(
        at,
        &["p4", "check", "forever.p4"],
        2,
        &["never reaches `accept` or `reject`"],
    );
    refused(
        at,
        &["p4", "check", "recursive.p4"],
        2,
        &["`f` calls itself", "1 error"],
    );
    refused(
        at,
        &["-q", "p4", "check", "key.p4"],
        2,
        &["did you mean `exact`?"],
    );
    let case = ["p4", "stf", "echo.p4", "wrong.stf"];
    refused(at, &case, 1, &["line 1: there is no key `hdr.h.b`"]);
    refused(
        at,
        &["p4", "stf", "echo.p4", "bogus.stf"],
        2,
        &["line 2: `bogus`"],
    );
    let run = with_input(at, &["p4", "run", "echo.p4", "-"], "1 00\n1 zz\n");
    let shown = String::from_utf8_lossy(&run.stderr);
    assert!(shown.contains("standard input, line 2: `zz`"), "{shown}");
    let run = with_input(
        at,
        &["p4", "check", "--json", "-"],
        "control C() { apply { x = 1; } }\n",
    );
    let json: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(json["diagnostics"][1]["place"]["file"], "<stdin>", "{json}");
    assert_eq!(run.status.code(), Some(2));
}

#[test]
fn findings_have_colours_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("bad.p4"), "const bit<8> x = y;\n").unwrap();
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command
            .args(["p4", "check", "bad.p4"])
            .current_dir(at)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("`y` is not declared"), "{said}");
        said.contains("\u{1b}[")
    };
    assert!(!coloured(&[]), "a pipe is no terminal");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&[("CLICOLOR", "1")]));
}

#[test]
fn a_library_is_not_taken_for_a_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(
        at.join("lib.p4"),
        "#include <core.p4>\nheader h_t { bit<8> a; }\n",
    )
    .expect("a writable folder");
    let words = ["lib.p4", "no `main`", "library", "name the program"];
    let words = words.as_slice();
    for args in [
        &["p4", "info", "lib.p4"][..],
        &["p4", "ir", "lib.p4"],
        &["p4", "compile", "lib.p4", "-o", "lib.json"],
        &["p4", "run", "lib.p4", "00"],
        &["p4", "bench", "lib.p4"],
        &["p4", "explain", "lib.p4", "--pass", "tables"],
    ] {
        refused(at, args, 2, words);
    }
    assert!(!at.join("lib.json").exists());
    json(at, &["p4", "check", "lib.p4"]);
}

/// A program of several pipes is accepted; executors, which play one, say so.
#[test]
fn several_pipes_are_accepted_and_not_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("bmv2-tests/cases/tna/path.p4");
    let text = fs::read_to_string(case).expect("the case");
    let end = text.rfind("Pipeline(").expect("its pipeline");
    let (before, pipeline) = text.split_at(end);
    let (pipeline, main) = pipeline.split_once(';').expect("its end");
    let name = pipeline.split_whitespace().last().expect("its name");
    let other = pipeline.replace(&format!(") {name}"), ") another");
    let main = main.replace(
        &format!("Switch({name})"),
        &format!("Switch({name}, another)"),
    );
    fs::write(
        at.join("two.p4"),
        format!("{before}{pipeline};\n{other};{main}"),
    )
    .expect("a writable folder");
    json(at, &["p4", "check", "two.p4"]);
    let words = ["2 different pipelines", "programs of one pipeline"];
    refused(at, &["p4", "run", "two.p4", "00"], 3, &words);
}

/// A table that no packet meets is not in BMv2's JSON, nor are its direct counter and meter.
#[test]
fn a_table_that_is_not_applied_is_compiled() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let unused = "direct_meter<bit<2>>(MeterType.bytes) dm; direct_counter(CounterType.packets) dc;\n\
        action colour() { dm.read(m.c); dc.count(); }\n\
        table unused { key = { hdr.h.a : exact; } actions = { colour; } meters = dm; counters = dc; }\n";
    let text = ECHO.replace("struct meta { }", "struct meta { bit<2> c; }");
    let text = text.replace("action set", &format!("{unused}action set"));
    fs::write(at.join("unused.p4"), text).expect("a writable folder");
    json(at, &["p4", "compile", "unused.p4", "-o", "unused.json"]);
    let written: Value =
        serde_json::from_slice(&fs::read(at.join("unused.json")).unwrap()).unwrap();
    assert_eq!(written["meter_arrays"], Value::Array(vec![]));
    assert_eq!(written["counter_arrays"], Value::Array(vec![]));
}

/// A whole program for Tofino around the objects and statements of its ingress control.
fn tofino_program(locals: &str, body: &str) -> String {
    format!(
        "#include <tna.p4>
header h_t {{ bit<32> a; }}
struct H {{ h_t h; }}
struct M {{ }}
parser IP(packet_in p, out H h, out M m, out ingress_intrinsic_metadata_t i) {{
    state start {{ p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(h.h); transition accept; }} }}
control I(inout H h, inout M m, in ingress_intrinsic_metadata_t i, in ingress_intrinsic_metadata_from_parser_t ip,
          inout ingress_intrinsic_metadata_for_deparser_t d, inout ingress_intrinsic_metadata_for_tm_t t) {{
    {locals}
    apply {{ {body} t.ucast_egress_port = i.ingress_port; }} }}
control ID(packet_out p, inout H h, in M m, in ingress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(h); }} }}
parser EP(packet_in p, out H h, out M m, out egress_intrinsic_metadata_t e) {{
    state start {{ p.extract(e); p.extract(h.h); transition accept; }} }}
control E(inout H h, inout M m, in egress_intrinsic_metadata_t e, in egress_intrinsic_metadata_from_parser_t ep,
          inout egress_intrinsic_metadata_for_deparser_t d,
          inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ }} }}
control ED(packet_out p, inout H h, in M m, in egress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(h); }} }}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"
    )
}

/// What the embedded switch lacks is told by `check` and by who loads the program, with what is
/// called and where. Objects that nothing calls are in nobody's way.
#[test]
fn calls_that_no_executor_runs_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let wred = "Wred<bit<32>, bit<8>>(16, 1, 0) red; Lpf<bit<32>, bit<8>>(16) unused;";
    let call = "h.h.a = (bit<32>)red.execute(h.h.a, 3);";
    fs::write(at.join("wred.p4"), tofino_program(wred, call)).unwrap();
    fs::write(at.join("unused.p4"), tofino_program(wred, "")).unwrap();

    let what = "method `execute` of `I.red` (`Wred`)";
    let figures = json(at, &["p4", "check", "wred.p4"]);
    assert_eq!(figures["accepted"], true);
    let found = figures["diagnostics"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "unsupported");
    assert!(found[0]["message"].as_str().unwrap().contains(what));
    assert_eq!(found[0]["place"]["line"], 10, "{found:?}");
    refused(
        at,
        &["p4", "run", "wred.p4", "00000001"],
        3,
        &[what, "wred.p4:10:"],
    );

    let figures = json(at, &["p4", "check", "unused.p4"]);
    assert_eq!(
        (&figures["accepted"], &figures["warnings"]),
        (&true.into(), &0.into())
    );
    json(at, &["p4", "run", "unused.p4", "00000001"]);
}

/// A CRC that the program describes, and a table that the chip keeps as an algorithmic one.
#[test]
fn tofino_programs_describe_crcs_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let crc = "CRCPolynomial<bit<32>>(32w0x04C11DB7, true, false, false, 32w0xFFFFFFFF, 32w0xFFFFFFFF) poly;
        Hash<bit<16>>(HashAlgorithm_t.CUSTOM, poly) hash;
        Alpm(number_partitions = 1024, subtrees_per_partition = 2) algorithmic;
        action none() { }
        table routes { key = { h.h.a : lpm; } actions = { none; } alpm = algorithmic; size = 16; }";
    let body = "routes.apply(); h.h.a = (bit<32>)hash.get({ h.h.a });";
    fs::write(at.join("crc.p4"), tofino_program(crc, body)).unwrap();
    let figures = json(at, &["p4", "check", "crc.p4"]);
    assert_eq!(figures["warnings"], 0, "{figures}");
    let output = with_input(at, &["p4", "run", "crc.p4", "00000001"], "");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("0000ef8a"), "{said}");
}

//! Our own case files, on every executor.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4exec::{BuildError, Compiled, DropReason, Executor, OutputMetadata, Outputs};
use p4front::Options;
use p4ir::{Architecture, Program, ValidProgram};
use p4test::{Built, ProgramError, build, compile, compile_text, generated_text, many};
use quantities::{Nanos, PortId, Priority};

fn cases() -> Vec<PathBuf> {
    let folder = p4test::root().join("bmv2-tests/cases");
    let mut cases = cases_in(&folder);
    // Those of Tofino are by themselves: BMv2 does not play them.
    cases.extend(cases_in(&folder.join("tna")));
    // Somebody else's, with `CASES=FOLDER`.
    if let Some(folder) = std::env::var_os("CASES") {
        cases.extend(cases_in(Path::new(&folder)));
    }
    cases
}

fn cases_in(folder: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of cases is part of the repository")
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "stf"))
        .collect();
    cases.sort();
    cases
}

/// `matches.p4` for `matches.stf` and for `matches.many.stf`.
fn program_of(case: &Path) -> PathBuf {
    let name = case.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    case.with_file_name(format!("{stem}.p4"))
}

/// Plays one case on every executor, one of Tofino for both chips, and returns what went wrong.
fn play(path: &Path) -> String {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return error.to_string(),
    };
    let mut report = play_text(&text, &program_of(path), &Options::on_disk());
    if path.parent().is_some_and(|folder| folder.ends_with("tna")) {
        report += &play_text(&text, &program_of(path), &tofino2());
    }
    report
}

/// Programs that can be for either chip are for Tofino 2.
fn tofino2() -> Options {
    let mut options = Options::on_disk();
    let define = ("__TARGET_TOFINO__".to_owned(), "2".to_owned());
    options.defines.push(define);
    options
}

/// Programs that JSON for BMv2 cannot say all of.
const NOT_IN_JSON: [&str; 2] = [
    // Applies a table at two places that go on differently.
    "flow.p4",
    // Sets of several fields are matched as annotations say, which the file has no place for.
    "sets.p4",
];

pub(super) fn play_text(text: &str, program: &Path, options: &Options) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    // That a program wants to know which ports are up is an annotation too.
    let whole = !NOT_IN_JSON.contains(&&*name) && !text.contains("port_down");
    play_on(text, compile(program, options), whole)
}

/// Plays a case on every executor of a program that is compiled, if it is.
fn play_on(text: &str, program: Result<Arc<ValidProgram>, ProgramError>, by_json: bool) -> String {
    let mut report = String::new();
    let case = match stf::parse(text) {
        Ok(case) => case,
        Err(error) => return error.to_string(),
    };
    let built = program.and_then(|program| {
        let mut executors = build(&program)?;
        executors.push(("compile, written and read", written_and_read(&program)?));
        if by_json {
            executors.extend(through_json(&program)?);
        }
        Ok(executors)
    });
    let executors = match built {
        Ok(executors) => executors,
        Err(error) => return error.to_string(),
    };
    for (name, mut executor) in executors {
        for failure in stf::run(&case, executor.as_mut()).err().unwrap_or_default() {
            let _ = writeln!(report, "[{name}] {failure}");
        }
    }
    report
}

/// The executors of a program that was written as JSON for BMv2 and read back; none of those that
/// are not for BMv2.
fn through_json(program: &ValidProgram) -> Result<Vec<Built>, ProgramError> {
    if program.architecture != Some(Architecture::V1Model) {
        return Ok(Vec::new());
    }
    let refused = |e: &dyn std::fmt::Display| ProgramError::Compile(e.to_string());
    let text = bmv2json::write(program, "case").map_err(|e| refused(&e))?;
    let read = Arc::new(bmv2json::read(&text).map_err(|e| refused(&e))?);
    let named = |(name, executor): Built| match name {
        "interp" => ("interp, by way of JSON", executor),
        _ => ("compile, by way of JSON", executor),
    };
    Ok(build(&read)?.into_iter().map(named).collect())
}

/// The program's machine code, linked from bytes to the program as it is read from bytes: what
/// happens to a program that one process compiles and another one runs.
fn written_and_read(program: &Arc<ValidProgram>) -> Result<Box<dyn Executor + Send>, BuildError> {
    let bytes = postcard::to_stdvec::<Program>(program).expect("programs can be written");
    let read = postcard::from_bytes(&bytes).expect("and read");
    let read = p4ir::validate(read).expect("what was valid is");
    assert_eq!(read.to_string(), program.to_string());
    let bytes = postcard::to_stdvec(&Compiled::generate(program)?).expect("objects can be written");
    let object = postcard::from_bytes(&bytes).expect("and read");
    Ok(Box::new(Compiled::link(Arc::new(read), object)?))
}

#[test]
fn every_case_holds_on_every_executor() {
    let mut report = String::new();
    let cases = cases();
    assert!(cases.len() >= 8, "the cases are found");
    for path in &cases {
        let failures = play(path);
        if !failures.is_empty() {
            let _ = writeln!(report, "{}:\n{failures}", path.display());
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// Every entry of tables with thousands, on every executor.
#[test]
fn large_tables_hold_on_every_executor() {
    let program = p4test::root().join("bmv2-tests/cases/many.p4");
    for (seed, entries, packets) in [(1, 8_000, 600), (2, 2_000, 600), (3, 300, 600)] {
        let report = play_text(
            &many::case(seed, entries, packets),
            &program,
            &Options::on_disk(),
        );
        let first: Vec<&str> = report.lines().take(8).collect();
        assert!(first.is_empty(), "seed {seed}: {}", first.join("\n"));
    }
}

/// What the traffic manager of Tofino is told comes out as the priorities of v1model's annotated
/// fields do.
#[test]
fn tofinos_queues_are_priorities() {
    let program = p4test::root().join("bmv2-tests/cases/tna/path.p4");
    let program = compile(&program, &Options::on_disk()).expect("it compiles");
    for (name, mut executor) in build(&program).expect("it runs") {
        let mut out = Outputs::default();
        executor.process(Nanos::new(1), &[1, 5], PortId::new(6), &mut out);
        let metadata: Vec<_> = out.sent.iter().map(|o| (o.port, o.metadata)).collect();
        let wanted = OutputMetadata {
            queue: 5,
            ing_prio: Some(Priority::new(3)),
            eg_prio: Some(Priority::new(5)),
            instance_type: 0,
            rid: 0,
        };
        assert_eq!(metadata, [(PortId::new(5), wanted)], "{name}");
        // A packet that the ingress parser drops says why it ends.
        out.clear();
        executor.process(Nanos::new(1), &[0xdd, 2], PortId::new(6), &mut out);
        let reason = DropReason::Parser("NoMatch".to_owned());
        assert_eq!(out.dropped, [reason], "{name}");
    }
}

/// The generated programs for Tofino send what those for v1model send: the same cases, with the
/// entries where Tofino has its tables. `rewrite` is looked up in ingress there, and where ports
/// are sets their bits come from tables.
#[test]
fn generated_programs_for_tofino_send_the_same_packets() {
    let root = p4test::root();
    let cases = cases_in(&root.join("bmv2-tests/cases/generated"));
    let (report, played) = play_for_tofino(&cases);
    assert!(played >= 30, "{played} cases were found");
    assert!(report.is_empty(), "{report}");
}

/// Where ports go down, v1model's programs are told by the switch, and Tofino's by packets from the
/// generator.
#[test]
fn generated_programs_fail_over_alike() {
    let root = p4test::root();
    let cases = cases_in(&root.join("bmv2-tests/cases/failures"));
    let (mut report, played) = play_for_tofino(&cases);
    for case in &cases {
        let name = case.file_name().unwrap_or_default();
        let program = p4test::generated().join(name);
        let text = std::fs::read_to_string(case).unwrap_or_default();
        report += &play_text(&text, &program.with_extension("p4"), &with_headers());
    }
    assert_eq!(played, 2 * cases.len());
    assert!(cases.len() >= 5, "{} cases were found", cases.len());
    assert!(report.is_empty(), "{report}");
}

/// Where the generated programs find what they include.
fn with_headers() -> Options {
    let mut options = Options::on_disk();
    let root = p4test::root();
    options.include_paths.push(root.join("p4src"));
    options
}

/// Plays cases of v1model's generated programs on those for both chips: what went wrong, and how
/// many were played.
fn play_for_tofino(cases: &[PathBuf]) -> (String, usize) {
    let (mut report, mut played) = (String::new(), 0);
    for case in cases {
        let name = case.file_stem().unwrap_or_default().to_string_lossy();
        for architecture in ["tna", "t2na"] {
            let name = format!("{architecture}/{name}");
            let Some(program) = generated_text(&name) else {
                continue;
            };
            let text = std::fs::read_to_string(case).unwrap_or_default();
            let text = for_tofino(&text, architecture);
            let failures = play_on(&text, compile_text(&name, &program, &with_headers()), true);
            if !failures.is_empty() {
                let _ = writeln!(report, "{name}:\n{failures}");
            }
            played += 1;
        }
    }
    (report, played)
}

fn for_tofino(case: &str, architecture: &str) -> String {
    let mut text = String::new();
    if case.contains("out_port:0b") {
        for port in 1..5 {
            let bits = 1 << port;
            for side in ["in", "out"] {
                let _ = writeln!(
                    text,
                    "add ingress.{side}_port_bit port:{port} ingress.set_{side}_port(bits:{bits:#x})"
                );
            }
        }
    }
    let case = case
        .replace("egress.rewrite", "ingress.rewrite")
        .replace("egress.set_tag", "ingress.set_tag");
    if case.contains("ingress.island_in") {
        text += &failover_for_tofino(&case, architecture);
    } else {
        text += &case;
    }
    text
}

/// The status has 32 bits, `from_fabric` says which port it is, and the header comes off in
/// ingress.
fn failover_for_tofino(case: &str, architecture: &str) -> String {
    let mut text = String::new();
    for port in 0..5 {
        let bit = 1_u32 << port;
        let _ = writeln!(
            text,
            "add ingress.port_down port:{port} ingress.take_down(others:{:#x})\n\
             add ingress.port_alive 1 port:{port} port_status:0b{:*>32} ingress.alive()",
            !bit,
            format!("1{:*<1$}", "", port)
        );
    }
    let generator = if architecture == "t2na" { 6 } else { 68 };
    for line in case.lines() {
        if line.contains("ingress.port_status ingress.set_port_status") {
            continue;
        }
        if let Some(port) = line.strip_prefix("port_down ") {
            let port: u8 = port.parse().expect("a port");
            let _ = writeln!(text, "packet {generator} 00{port:06x}0000");
            continue;
        }
        if line.starts_with("port_up ") {
            text.push_str("register_write ingress.ports_up 0 0xffffffff\n");
            continue;
        }
        // Port 6 is nobody's in v1model's cases, and the generator's in Tofino 2.
        let line = line
            .replace("packet 6 ", "packet 7 ")
            .replace("port_status:0b", &format!("port_status:0b{:*<27}", ""))
            .replace("egress.island_out", "ingress.island_out")
            .replace("egress.decapsulate", "ingress.decapsulate");
        let port = line.split_once("port:").map_or("", |(_, rest)| rest);
        let port = port.split(' ').next().unwrap_or_default();
        let named = format!("from_fabric(port:{port})");
        text += &line.replace("from_fabric()", &named);
        text.push('\n');
    }
    text
}

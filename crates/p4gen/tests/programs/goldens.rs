//! The rendered programs under `p4src/generated/`: kept as goldens, and compiled by the reference
//! compiler where it is installed.
//!
//! `BLESS=1 cargo test -p switchwright-p4gen --test programs` writes the goldens anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use p4exec::Interpreter;
use p4front::source::SourceMap;
use p4gen::capabilities::Architecture;
use p4gen::family::{FailoverFeatures, HeaderState, ProgramFeatures, TaggerFeatures};
use p4gen::layout::{self, Layout};
use p4gen::program::{Program, generate, p4info};
use p4gen::targets::{TNA, TNA2, Target, V1MODEL};
use p4ir::ValidProgram;
use p4runtime::p4::config::v1::{P4Info, Preamble, action_ref, match_field};
use plan::{CarrierKind, RuleForm, TagCode};
use similar::TextDiff;

fn generated() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4src/generated")
}

/// One failover program for every kind of header state, hop by hop or with source routes.
fn failover_programs() -> Vec<FailoverFeatures> {
    let program = |state, source_routes, multipath| FailoverFeatures {
        state,
        source_routes,
        stack: 4,
        port_bits: 5,
        multipath,
        tags: None,
        channels: false,
        rules: 16_384,
    };
    vec![
        program(HeaderState::ReverseRoute, true, true),
        program(HeaderState::ReverseRoute, false, false),
        program(HeaderState::Tag, true, false),
        program(HeaderState::Tag, false, false),
        program(HeaderState::Trees, false, true),
        program(HeaderState::WayOrTrees, true, true),
        program(HeaderState::WayOrTrees, false, false),
    ]
}

/// Three of them with lossless tags, in both port modes, one with channels.
fn lossless_failover_programs() -> [FailoverFeatures; 3] {
    let tags = |form, port_bits| TaggerFeatures {
        carrier: CarrierKind::Shim,
        class_shift: None,
        lossy: TagCode::new(0),
        form,
        port_bits,
        maps: false,
    };
    let all = failover_programs();
    [
        FailoverFeatures {
            tags: Some(tags(RuleForm::Exact, 9)),
            ..all[3]
        },
        FailoverFeatures {
            tags: Some(tags(RuleForm::PortSets, 5)),
            ..all[0]
        },
        FailoverFeatures {
            tags: Some(tags(RuleForm::PortSets, 5)),
            channels: true,
            ..all[1]
        },
    ]
}

/// Every carrier in both port modes, and one program with class bits in each mode.
fn tagger_programs() -> Vec<TaggerFeatures> {
    let mut features: Vec<TaggerFeatures> = Vec::new();
    for &carrier in CarrierKind::ALL {
        for (form, port_bits) in [(RuleForm::Exact, 9), (RuleForm::PortSets, 33)] {
            let mut classes = vec![None];
            if carrier == CarrierKind::Dscp {
                classes.push(Some(3));
            }
            features.extend(classes.into_iter().map(|class_shift| TaggerFeatures {
                carrier,
                class_shift,
                lossy: TagCode::new(if carrier == CarrierKind::VlanVid {
                    1
                } else {
                    0
                }),
                form,
                port_bits,
                maps: false,
            }));
        }
    }
    features
}

/// The program whose tables are SONiC's maps: software alone has it.
fn map_program(target: &'static dyn Target) -> Option<TaggerFeatures> {
    let software = target.capabilities().architecture == Architecture::V1model;
    software.then_some(TaggerFeatures {
        carrier: CarrierKind::Dscp,
        class_shift: None,
        lossy: TagCode::new(0),
        form: RuleForm::Exact,
        port_bits: 9,
        maps: true,
    })
}

/// The programs of both families for a target, by name.
fn programs_for(target: &'static dyn Target) -> impl Iterator<Item = (String, Program)> {
    let taggers = tagger_programs().into_iter().chain(map_program(target));
    let taggers = taggers.map(ProgramFeatures::from);
    let failover = failover_programs().into_iter().map(ProgramFeatures::from);
    let lossless = lossless_failover_programs()
        .into_iter()
        .map(ProgramFeatures::from);
    taggers.chain(failover).chain(lossless).map(|features| {
        let program = generate(features, target.capabilities()).expect("the templates render");
        (features.program_name(), program)
    })
}

/// The programs for v1model. Templates take seconds to render, and many tests read them.
fn goldens() -> Vec<(String, Program)> {
    static ALL: LazyLock<Vec<(String, Program)>> =
        LazyLock::new(|| programs_for(&V1MODEL).collect());
    ALL.clone()
}

/// Tofino 1 and 2.
const CHIPS: [&dyn Target; 2] = [&TNA, &TNA2];

/// The programs for Tofino 1 and 2, in a folder for each.
fn tofino_goldens() -> Vec<(String, Program)> {
    static ALL: LazyLock<Vec<(String, Program)>> = LazyLock::new(|| {
        let in_folder = |chip: &'static dyn Target| {
            let folder = chip.capabilities().include;
            programs_for(chip).map(move |(name, program)| (format!("{folder}/{name}"), program))
        };
        CHIPS.into_iter().flat_map(in_folder).collect()
    });
    ALL.clone()
}

#[test]
fn goldens_are_up_to_date() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut stale = Vec::new();
    let mut check = |path: PathBuf, text: &str| {
        let written = std::fs::read_to_string(&path).ok();
        if written.as_deref() == Some(text) {
            return;
        }
        if bless {
            std::fs::write(&path, text).expect("p4src is writable");
        } else {
            stale.push(path);
        }
    };
    let all = goldens().into_iter().chain(tofino_goldens());
    let all: BTreeMap<String, Program> = all.collect();
    for (name, program) in &all {
        match name.strip_prefix("t2na/") {
            Some(rest) => {
                let other = format!("tna/{rest}");
                let difference = difference(&other, &all[&other], name, program);
                check(generated().join(file_name(name)), &difference);
            }
            None => check(generated().join(file_name(name)), &program.main.text),
        }
        for file in &program.includes {
            check(generated().join("..").join(&file.name), &file.text);
        }
    }
    assert!(
        stale.is_empty(),
        "these goldens differ from what the templates say; look at the difference, then run \
         `BLESS=1 cargo test -p switchwright-p4gen --test programs`: {stale:#?}"
    );
}

/// Tools look the table of `@refers_to(table, field)` up in the control where it stands.
#[test]
fn references_stay_within_their_control() {
    let mut references = 0;
    for (name, program) in goldens().into_iter().chain(tofino_goldens()) {
        for control in program.main.text.split("\ncontrol ").skip(1) {
            let after = control.split("@refers_to(").skip(1);
            for table in after.filter_map(|text| Some(text.split_once(',')?.0)) {
                let declared = control.contains(&format!("table {table} {{"));
                assert!(declared, "{name}: `{table}` is in another control");
                references += 1;
            }
        }
    }
    assert!(references > 100, "{references} references");
}

/// The file of a golden: those for Tofino 2 are differences from Tofino 1's.
fn file_name(name: &str) -> String {
    let ending = if name.starts_with("t2na/") {
        "diff"
    } else {
        "p4"
    };
    format!("{name}.{ending}")
}

/// What makes one program another.
fn difference(old_name: &str, old: &Program, new_name: &str, new: &Program) -> String {
    let lines = TextDiff::from_lines(&old.main.text, &new.main.text);
    let mut difference = lines.unified_diff();
    let names = difference.header(old_name, new_name).context_radius(0);
    names.to_string()
}

#[test]
fn no_golden_is_left_over() {
    let mut wanted: Vec<String> = goldens()
        .iter()
        .chain(&tofino_goldens())
        .map(|(name, _)| file_name(name))
        .collect();
    wanted.sort();
    let mut present = Vec::new();
    let folders = CHIPS.map(|chip| format!("{}/", chip.capabilities().include));
    for folder in std::iter::once(String::new()).chain(folders) {
        let entries = std::fs::read_dir(generated().join(&folder)).expect("the folder exists");
        for entry in entries {
            let entry = entry.expect("a readable directory");
            if entry.path().is_file() {
                present.push(format!("{folder}{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    present.sort();
    assert_eq!(present, wanted);
}

#[test]
fn text_has_no_blank_line_runs_no_trailing_space_and_short_lines() {
    for (name, program) in goldens().into_iter().chain(tofino_goldens()) {
        for file in program.files() {
            assert!(!file.text.contains("\n\n\n"), "{name}: {}", file.name);
            assert!(file.text.ends_with("\n"), "{name}: {}", file.name);
            for (number, line) in file.text.lines().enumerate() {
                let place = format!("{name}: {}:{}", file.name, number + 1);
                assert_eq!(line.trim_end(), line, "{place}: trailing space");
                assert!(line.len() <= 104, "{place}: {} columns", line.len());
            }
        }
    }
}

/// What `p4 fmt --check` says of every file that is shipped: of programs of all families and
/// targets, and of what they include.
#[test]
fn programs_are_written_as_the_formatter_writes() {
    for (name, program) in goldens().into_iter().chain(tofino_goldens()) {
        for file in program.files() {
            let formatted = p4front::format::format(&file.name, &file.text).expect("it is P4");
            assert_eq!(formatted, file.text, "{name}: {}", file.name);
        }
    }
    let mut kept = 0;
    for folder in ["", "tna"] {
        for entry in std::fs::read_dir(generated().join(folder)).expect("the folder exists") {
            let path = entry.expect("a readable directory").path();
            if path.extension().is_some_and(|e| e == "p4") {
                let text = std::fs::read_to_string(&path).expect("it is readable");
                let formatted = p4front::format::format("golden", &text).expect("it is P4");
                assert_eq!(formatted, text, "{}", path.display());
                kept += 1;
            }
        }
    }
    assert!(kept > 40, "{kept} goldens");
}

/// Writes a program into a directory of its own and compiles it; panics with the compiler's words.
fn compile(compiler: &str, extra: &[&str], name: &str, program: &Program) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for file in program.files() {
        std::fs::write(dir.path().join(&file.name), &file.text).expect("a writable directory");
    }
    let output = Command::new(compiler)
        .args(["--std", "p4-16", "--Werror"])
        .args(extra)
        .arg(&program.main.name)
        .current_dir(dir.path())
        .output()
        .expect("the compiler starts");
    let words = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = words
        .lines()
        .filter(|line| line.contains("error") || line.contains("warning"))
        .filter(|line| !line.contains(SELECTOR_WARNING))
        .collect();
    assert!(
        output.status.success() && complaints.is_empty(),
        "{compiler} does not take {name} without complaint:\n{words}"
    );
}

/// What p4c-bm2-ss says of every table with an action selector, its own samples included: its front
/// end gives each table a default action, its back end then warns that BMv2 has none there. No
/// option and no annotation silences it.
const SELECTOR_WARNING: &str =
    "Target does not support default_action for ingress.ecmp_group (due to action profiles)";

/// Whether a program is on PATH; says that the test is skipped if not.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {program} is not on PATH");
    }
    found
}

#[test]
fn p4c_bm2_ss_takes_every_golden_without_a_warning() {
    if installed("p4c-bm2-ss") {
        for (name, program) in goldens() {
            let out = ["-o", "out.json", "--p4runtime-files", "out.p4info.txtpb"];
            compile("p4c-bm2-ss", &out, &name, &program);
        }
    }
}

#[test]
fn p4test_takes_every_golden_without_a_warning() {
    if installed("p4test") {
        for (name, program) in goldens() {
            compile("p4test", &[], &name, &program);
        }
    }
}

/// What the entries are written against is what the compiler makes of the text.
fn assert_layout_matches(name: &str, program: &Program, info: &P4Info) {
    let layout = &program.layout;
    let id_and_name = |p: &Option<Preamble>| {
        let p = p.as_ref().expect("every object has a preamble");
        (p.id, p.name.clone())
    };
    let names: BTreeMap<u32, String> = info
        .actions
        .iter()
        .map(|a| id_and_name(&a.preamble))
        .collect();
    // Tables whose entries are part of the program are nobody's to fill.
    let tables: Vec<(u32, String)> = info
        .tables
        .iter()
        .filter(|t| !t.is_const_table)
        .map(|t| id_and_name(&t.preamble))
        .collect();
    let wanted: Vec<(u32, String)> = layout
        .tables
        .iter()
        .map(|t| (t.id, t.name.to_owned()))
        .collect();
    assert_eq!(sorted(tables), wanted, "{name}: tables");
    for (wanted, table) in by_id(&layout.tables, |t| t.id, &info.tables, |t| &t.preamble) {
        let key: Vec<(u32, &str, i32)> = table
            .match_fields
            .iter()
            .map(|f| (f.id, f.name.as_str(), f.bitwidth))
            .collect();
        let wanted_key: Vec<(u32, &str, i32)> = wanted
            .key
            .iter()
            .map(|f| (f.id, f.name, i32::from(f.bits)))
            .collect();
        assert_eq!(sorted(key), sorted(wanted_key), "{name}: {}", wanted.name);
        for (field, info) in wanted.key.iter().zip(&table.match_fields) {
            let kind = p4front::match_type(field.kind);
            let said = match_field::Match::MatchType(kind as i32);
            assert_eq!(info.r#match, Some(said), "{name}: {}", wanted.name);
        }
        let entry_actions: Vec<&str> = table
            .action_refs
            .iter()
            .filter(|r| r.scope != action_ref::Scope::DefaultOnly as i32)
            .map(|r| names[&r.id].as_str())
            .collect();
        assert_eq!(entry_actions, wanted.actions, "{name}: {}", wanted.name);
        assert_eq!(
            table.size,
            i64::from(wanted.size),
            "{name}: {}",
            wanted.name
        );
        assert_eq!(
            table.implementation_id != 0,
            wanted.selector.is_some(),
            "{name}"
        );
    }
    for (wanted, action) in by_id(&layout.actions, |a| a.id, &info.actions, |a| &a.preamble) {
        let params: Vec<(u32, &str, i32)> = action
            .params
            .iter()
            .map(|p| (p.id, p.name.as_str(), p.bitwidth))
            .collect();
        let wanted_params: Vec<(u32, &str, i32)> = wanted
            .params
            .iter()
            .map(|p| (p.id, p.name, i32::from(p.bits)))
            .collect();
        assert_eq!(params, wanted_params, "{name}: {}", wanted.name);
        assert_eq!(names[&wanted.id], wanted.name, "{name}");
    }
    assert_counters_and_selector(name, program, info);
}

fn assert_counters_and_selector(name: &str, program: &Program, info: &P4Info) {
    let layout: &Layout = &program.layout;
    let id_and_name = |p: &Option<Preamble>| {
        let p = p.as_ref().expect("every object has a preamble");
        (p.id, p.name.clone())
    };
    let counters: Vec<String> = info
        .counters
        .iter()
        .map(|c| id_and_name(&c.preamble).1)
        .collect();
    let mut wanted = vec![layout::DROP_COUNTER];
    if let ProgramFeatures::Tagger(_) = program.features {
        wanted.extend([layout::INGRESS_CLASS_COUNTER, layout::EGRESS_CLASS_COUNTER]);
        let selector = &info.action_profiles[0];
        let wanted = (layout.selector_id, layout::ECMP_SELECTOR.to_owned());
        assert_eq!(id_and_name(&selector.preamble), wanted, "{name}");
        assert_eq!(selector.size, i64::from(layout.selector_size), "{name}");
        assert_eq!(
            i64::from(selector.max_group_size),
            i64::from(layout.group_members),
            "{name}"
        );
    } else {
        assert!(info.action_profiles.is_empty(), "{name}");
    }
    let wanted: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
    assert_eq!(sorted(counters), sorted(wanted), "{name}");
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values
}

/// Pairs what the layout has with what P4Info has under the same id.
fn by_id<'a, L, I>(
    ours: &'a [L],
    id: impl Fn(&L) -> u32,
    theirs: &'a [I],
    preamble: impl Fn(&I) -> &Option<Preamble>,
) -> Vec<(&'a L, &'a I)> {
    ours.iter()
        .map(|our| {
            let their = theirs
                .iter()
                .find(|t| preamble(t).as_ref().is_some_and(|p| p.id == id(our)));
            (our, their.expect("P4Info has an object with this id"))
        })
        .collect()
}

#[test]
fn layout_is_what_our_front_end_says_in_p4info() {
    for (name, program) in goldens() {
        let info = p4info::of(&program).expect("our own program compiles");
        assert_layout_matches(&name, &program, &info);
    }
}

#[test]
fn layout_is_what_p4c_says_in_p4info() {
    if !installed("p4c-bm2-ss") {
        return;
    }
    for (name, program) in goldens() {
        let out = tempfile::tempdir().expect("a temporary directory");
        let path = out.path().join("p4info.txtpb");
        let text_path = path.to_str().expect("a path in UTF-8");
        compile(
            "p4c-bm2-ss",
            &["--p4runtime-files", text_path],
            &name,
            &program,
        );
        let text = std::fs::read_to_string(&path).expect("p4c wrote P4Info");
        let info: P4Info = p4runtime::from_text(&text).expect("p4c's P4Info is read");
        assert_layout_matches(&name, &program, &info);
    }
}

/// Compiles a golden with our own front end; panics with its findings.
#[expect(clippy::panic, reason = "the findings, as they are shown to users")]
fn compile_golden(name: &str) -> Arc<ValidProgram> {
    let options = p4front::Options {
        include_paths: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4src")],
        ..p4front::Options::on_disk()
    };
    let mut map = SourceMap::new();
    let main = map
        .load(&generated().join(format!("{name}.p4")))
        .expect("the golden is there");
    match p4front::compile(&mut map, main, &options) {
        Ok(compiled) => {
            let warnings: Vec<String> = compiled.warnings.iter().map(|w| w.render(&map)).collect();
            assert!(warnings.is_empty(), "{name}: {}", warnings.concat());
            Arc::new(compiled.ir)
        }
        Err(diagnostics) => panic!("{name}:\n{}", diagnostics.render(&map)),
    }
}

#[test]
fn our_own_front_end_takes_every_golden_without_a_warning() {
    for (name, _) in goldens() {
        compile_golden(&name);
    }
}

/// What the programs do to packets: the cases were played on BMv2 too.
#[test]
fn cases_hold_on_the_interpreter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bmv2-tests/cases/generated");
    let mut report = String::new();
    for (name, _) in goldens() {
        let path = folder.join(format!("{name}.stf"));
        let text = std::fs::read_to_string(&path).expect("every golden has a case");
        let case = stf::parse(&text).expect("the case is well-formed");
        let mut interpreter =
            Interpreter::new(compile_golden(&name)).expect("the interpreter takes the program");
        for failure in stf::run(&case, &mut interpreter).err().unwrap_or_default() {
            report.push_str(&format!("{name}: {failure}\n"));
        }
    }
    assert!(report.is_empty(), "{report}");
}

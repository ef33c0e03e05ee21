//! P4Info of the generated programs from our own front end: what the layout says, and, where p4c is
//! installed, byte for byte what p4c writes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use p4gen::capabilities::Capabilities;
use p4gen::family::{FailoverFeatures, HeaderState, TaggerFeatures};
use p4gen::layout::Meaning;
use p4gen::program::{Program, generate, p4info};
use p4gen::targets::{TNA, TNA2, V1MODEL};
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::config::v1::match_field::Match;
use p4runtime::{P4InfoIndex, to_text};
use plan::{CarrierKind, RuleForm, TagCode};

fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    for &carrier in CarrierKind::ALL {
        for (form, port_bits) in [(RuleForm::Exact, 9), (RuleForm::PortSets, 65)] {
            let class_shift = (carrier == CarrierKind::Dscp).then_some(3);
            let lossy = TagCode::new(0);
            let features = TaggerFeatures {
                carrier,
                class_shift,
                lossy,
                form,
                port_bits,
                maps: false,
            };
            let program = generate(features, &V1MODEL.capabilities);
            programs.push(program.expect("the templates render"));
        }
    }
    for state in HeaderState::ALL {
        for source_routes in [false, true] {
            let features = FailoverFeatures {
                state,
                source_routes,
                stack: 16,
                port_bits: 128,
                multipath: source_routes,
                tags: None,
                channels: false,
                rules: 1 << 20,
            };
            let program = generate(features, &V1MODEL.capabilities);
            programs.push(program.expect("the templates render"));
        }
    }
    programs
}

#[test]
fn the_layout_is_what_the_program_says() {
    for program in programs() {
        let info = p4info::of(&program).expect("our own program compiles");
        let index = P4InfoIndex::new(info).expect("ids and names are unique");
        let layout = &program.layout;
        for table in &layout.tables {
            let found = index.table(table.name).expect("a table of the layout");
            assert_eq!(found.id(), table.id, "{}", table.name);
            assert_eq!(found.match_fields.len(), table.key.len(), "{}", table.name);
            for key in &table.key {
                let field = found.field(key.name).expect("a key of the layout");
                let kind = p4front::match_type(key.kind);
                let wanted = (
                    key.id,
                    i32::from(key.bits),
                    Some(Match::MatchType(kind.into())),
                );
                assert_eq!((field.id, field.bitwidth, field.r#match.clone()), wanted);
            }
        }
        for action in &layout.actions {
            let found = index.action(action.name).expect("an action of the layout");
            assert_eq!(found.id(), action.id, "{}", action.name);
            let params: Vec<_> = found
                .params
                .iter()
                .map(|p| (p.id, p.name.as_str(), p.bitwidth))
                .collect();
            let wanted: Vec<_> = action
                .params
                .iter()
                .map(|p| (p.id, p.name, i32::from(p.bits)))
                .collect();
            assert_eq!(params, wanted, "{}", action.name);
        }
    }
}

/// The address that an annotation says a value is.
fn format_of(annotations: &[String]) -> Option<Meaning> {
    let known = [
        ("@format(MAC_ADDRESS)", Meaning::Mac),
        ("@format(IPV4_ADDRESS)", Meaning::Ipv4),
        ("@format(IPV6_ADDRESS)", Meaning::Ipv6),
    ];
    let found = known
        .iter()
        .find(|(text, _)| annotations.iter().any(|one| one == text));
    found.map(|(_, meaning)| *meaning)
}

#[test]
fn addresses_are_what_the_annotations_of_the_program_say() {
    let is_address =
        |meaning: &Meaning| matches!(meaning, Meaning::Mac | Meaning::Ipv4 | Meaning::Ipv6);
    let mut seen = 0;
    for program in programs() {
        let info = p4info::of(&program).expect("our own program compiles");
        for table in &info.tables {
            let name = &table.preamble.as_ref().expect("a name").name;
            for field in &table.match_fields {
                let bits = u32::try_from(field.bitwidth).expect("a width");
                let meaning = Meaning::of_key(name, &field.name, bits, true);
                let address = Some(meaning).filter(is_address);
                assert_eq!(
                    address,
                    format_of(&field.annotations),
                    "{name}.{}",
                    field.name
                );
                seen += usize::from(address.is_some());
            }
        }
        for action in &info.actions {
            for parameter in &action.params {
                let bits = u32::try_from(parameter.bitwidth).expect("a width");
                let meaning = Meaning::of_parameter(&parameter.name, bits);
                let address = Some(meaning).filter(is_address);
                assert_eq!(
                    address,
                    format_of(&parameter.annotations),
                    "{}",
                    parameter.name
                );
                seen += usize::from(address.is_some());
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

/// What p4c writes for a program; `None` without p4c.
fn of_p4c(program: &Program, folder: &Path) -> Option<String> {
    for file in program.files() {
        std::fs::write(folder.join(&file.name), &file.text).expect("a writable folder");
    }
    let status = Command::new("p4test")
        .current_dir(folder)
        .args([program.main.name.as_str(), "--arch", "v1model"])
        .args(["--p4runtime-files", "p4info.txtpb"])
        .stderr(Stdio::null())
        .status()
        .ok()?;
    assert!(status.success(), "p4test refuses the program");
    Some(std::fs::read_to_string(folder.join("p4info.txtpb")).expect("p4test writes it"))
}

#[test]
fn the_text_is_what_p4c_writes() {
    for program in programs() {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(theirs) = of_p4c(&program, folder.path()) else {
            return println!("skipped: p4test is not installed");
        };
        let info = p4info::of(&program).expect("our own program compiles");
        let ours = to_text(&info).expect("P4Info is one of our messages");
        let name = program.features.program_name();
        for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            assert_eq!(ours, theirs, "{name}, line {}", number + 1);
        }
        assert_eq!(ours.len(), theirs.len(), "{name}");
    }
}

/// Programs for Tofino 1, and one for Tofino 2.
fn tofino_programs() -> Vec<(Program, &'static Capabilities)> {
    let mut programs = Vec::new();
    for &carrier in CarrierKind::ALL {
        for form in [RuleForm::Exact, RuleForm::PortSets] {
            let features = TaggerFeatures {
                carrier,
                class_shift: None,
                lossy: TagCode::new(u16::from(carrier == CarrierKind::VlanVid)),
                form,
                port_bits: if form == RuleForm::Exact { 9 } else { 32 },
                maps: false,
            };
            let target = match (carrier, form) {
                (CarrierKind::Dscp, RuleForm::PortSets) => &TNA2.capabilities,
                _ => &TNA.capabilities,
            };
            let program = generate(features, target).expect("the templates render");
            programs.push((program, target));
        }
    }
    programs
}

/// What the open compiler for Tofino writes for a program, in P4Runtime's own terms; `None` without
/// it (see `tofino.rs` for how it is found). P4Info is written long before the program, whose
/// compilation is ended.
fn of_barefoot(program: &Program, target: &Capabilities, folder: &Path) -> Option<P4Info> {
    let name = std::env::var_os("P4C_BAREFOOT").unwrap_or_else(|| "p4c-barefoot".into());
    for file in program.files() {
        std::fs::write(folder.join(&file.name), &file.text).expect("a writable folder");
    }
    let chip = target.pipeline.map_or("", |pipeline| pipeline.chip);
    let mut command = Command::new(name);
    command.args(["--target", chip, "--arch", target.include]);
    let includes = std::env::var_os("P4C_BAREFOOT_INCLUDE");
    for include in includes.iter().flat_map(std::env::split_paths) {
        command.arg("-I").arg(include);
    }
    let log = std::fs::File::create(folder.join("log")).expect("a writable folder");
    let mut child = command
        .args([
            "--p4runtime-force-std-externs",
            "--p4runtime-files",
            "p4info.txtpb",
        ])
        .args(["-o", "out", program.main.name.as_str()])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .ok()?;
    let start = Instant::now();
    let info = loop {
        let text = std::fs::read_to_string(folder.join("p4info.txtpb")).unwrap_or_default();
        // It ends with the types: what is there before is a part.
        if text.contains("\ntype_info {") && text.ends_with("}\n") {
            break p4runtime::from_text(&text).expect("P4Info");
        }
        let ended = child.try_wait().expect("a child of ours");
        let words = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(
            ended.is_none() && start.elapsed() < Duration::from_secs(600),
            "no P4Info:\n{}",
            words()
        );
        std::thread::sleep(Duration::from_millis(50));
    };
    let _ = child.kill();
    let _ = child.wait();
    Some(info)
}

/// Entity by entity: everything but port metadata, which is no entity of P4Runtime's.
#[test]
fn tofinos_is_what_its_compiler_writes() {
    for (program, target) in tofino_programs() {
        let folder = tempfile::tempdir().expect("a folder");
        let ours = p4info::of(&program).expect("our own program compiles");
        let layout = P4InfoIndex::new(ours.clone()).expect("ids and names are unique");
        for table in &program.layout.tables {
            let found = layout.table(table.name).expect("a table of the layout");
            assert_eq!(found.id(), table.id, "{}", table.name);
        }
        let Some(theirs) = of_barefoot(&program, target, folder.path()) else {
            println!("skipped: the comparison with P4Info of p4c-barefoot, which is not installed");
            continue;
        };
        let name = program.features.program_name();
        assert_eq!(ours.pkg_info, theirs.pkg_info, "{name}");
        let count = |info: &P4Info| [info.tables.len(), info.actions.len(), info.counters.len()];
        assert_eq!(count(&ours), count(&theirs), "{name}");
        for (ours, theirs) in ours.tables.iter().zip(&theirs.tables) {
            assert_eq!(ours, theirs, "{name}");
        }
        for (ours, theirs) in ours.actions.iter().zip(&theirs.actions) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(ours.action_profiles, theirs.action_profiles, "{name}");
        assert_eq!(ours.counters, theirs.counters, "{name}");
        assert_eq!(ours.registers, theirs.registers, "{name}");
    }
}

//! Target `push`: what a P4Runtime client gives SetForwardingPipelineConfig, built as the server
//! builds it.
//!
//! An input is one of
//! * the bytes of a `ForwardingPipelineConfig`;
//! * a device config (P4 text, BMv2 JSON, either wrapped), and behind a record separator (0x1e) its
//!   P4Info in text format; without one P4Info is what our front end says of the program;
//! * lines `shape NAME SIZE`, for programs that are small to write and large to build
//!   ([`crate::shapes`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use p4front::source::SourceMap;
use p4front::{Files, Options};
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1::ForwardingPipelineConfig;
use prost::Message as _;
use switchd::engine::ExecutorKind;
use switchd::server::pipeline::prepare;
use switchd::translate::refusal::Refusal;

use super::worker::Limits;
use super::{Behaviour, Target, text};
use crate::shapes;

pub(super) const TARGET: Target = Target {
    name: "push",
    about: "device configs and P4Info, built as the server builds what a client pushes",
    run,
    words: text::P4_WORDS,
    parts: Some(text::parts),
    max_len: 1 << 17,
    limits: Some(Limits {
        memory: 1 << 30,
        work: Duration::from_secs(20),
    }),
    seeds: Some(seeds),
};

/// Between a device config and its P4Info.
const SEPARATOR: u8 = 0x1e;

/// Sizes of what was built.
type Built = (Option<u32>, usize);

/// What the child of the server does with a config, and then the server itself with what came of
/// it.
fn build(config: &ForwardingPipelineConfig) -> Result<Built, Refusal> {
    let executor = ExecutorKind::Compile;
    let ready = prepare(executor, config)?;
    let program = Arc::clone(&ready.program);
    let linked = executor.link(ready);
    linked.map_err(|e| Refusal::internal(format!("what was built cannot be linked: {e}")))?;
    let expressions = program.exprs.len().checked_ilog2();
    Ok((expressions, program.tables.len()))
}

fn run(input: &[u8]) -> Behaviour {
    match build(&config(input)) {
        Ok(sizes) => Behaviour::of(sizes),
        Err(refusal) => {
            // The first finding, without what it quotes.
            let words: Vec<&str> = refusal.message.split(['`', '"']).step_by(2).collect();
            let words = words.concat();
            let first = words.lines().next().unwrap_or_default();
            let letters = |c: &char| !c.is_ascii_digit();
            let shape: String = first.chars().filter(letters).collect();
            Behaviour::of((refusal.code as i32, shape))
        }
    }
}

fn config(input: &[u8]) -> ForwardingPipelineConfig {
    if let Some(program) = shapes::of_lines(input) {
        return with_own_info(program.into_bytes());
    }
    if let Some(at) = input.iter().position(|b| *b == SEPARATOR) {
        let info = String::from_utf8_lossy(&input[at + 1..]);
        return ForwardingPipelineConfig {
            p4info: p4runtime::from_text(&info).ok(),
            p4_device_config: input[..at].to_vec(),
            ..Default::default()
        };
    }
    match ForwardingPipelineConfig::decode(input) {
        Ok(config) if !config.p4_device_config.is_empty() => config,
        _ => with_own_info(input.to_vec()),
    }
}

/// A program with the P4Info that our front end makes of it; empty, if it makes none.
fn with_own_info(program: Vec<u8>) -> ForwardingPipelineConfig {
    let text = String::from_utf8_lossy(&program);
    ForwardingPipelineConfig {
        p4info: own_info(&text),
        p4_device_config: program,
        ..Default::default()
    }
}

fn own_info(text: &str) -> Option<P4Info> {
    let mut map = SourceMap::new();
    let main = map.add("push.p4", text).ok()?;
    let compiled = p4front::compile(&mut map, main, &Options::default()).ok()?;
    Some(compiled.p4info)
}

/// Programs of the repository, each as one text with its P4Info, and BMv2 JSON; and all shapes.
fn seeds() -> Vec<Vec<u8>> {
    let root = crate::root();
    let folders = [
        "p4src/generated",
        "p4src/generated/t2na",
        "bmv2-tests/cases",
        "bmv2-tests/cases/tna",
        "crates/switchd/tests/p4rt",
        "fuzz/corpus/compile",
        "fuzz/corpus/parser",
        "fuzz/corpus/json",
    ];
    let mut files: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(root.join(folder)).ok())
        .flat_map(|entries| entries.filter_map(|e| e.ok().map(|e| e.path())))
        .collect();
    files.sort();
    let programs = files.iter().filter_map(|file| seed(file, &root));
    programs
        .chain(shapes::lines().map(String::into_bytes))
        .collect()
}

fn seed(file: &Path, root: &Path) -> Option<Vec<u8>> {
    let mut seed = match file.extension()?.to_str()? {
        "json" => std::fs::read(file).ok()?,
        "p4" | "diff" => {
            let options = Options {
                include_paths: vec![root.join("p4src")],
                files: Files::Disk,
                ..Options::default()
            };
            let mut map = SourceMap::new();
            let main = match file.strip_prefix(crate::generated()) {
                Ok(name) => {
                    let text = crate::generated_text(name.with_extension("").to_str()?)?;
                    map.add(&file.to_string_lossy(), &text).ok()?
                }
                Err(_) => map.load(file).ok()?,
            };
            let whole = p4front::pp::one_text(&mut map, main, &options).ok()?;
            let info = own_info(&whole).and_then(|info| p4runtime::to_text(&info).ok());
            let mut seed = whole.into_bytes();
            if let Some(info) = info {
                seed.push(SEPARATOR);
                seed.extend_from_slice(info.as_bytes());
            }
            seed
        }
        _ => return None,
    };
    seed.truncate(TARGET.max_len);
    Some(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = include_str!("../../../../bmv2-tests/cases/plumbing.p4");

    #[test]
    fn every_form_of_an_input_is_built() {
        const LINES: &[u8] = b"shape many_tables 2\nshape many_members 3\n";
        let text = shapes::of_lines(LINES).expect("lines");
        let whole = with_own_info(text.clone().into_bytes());
        assert!(whole.p4info.is_some(), "it compiles");
        let sizes = build(&whole).expect("it is built");
        assert_eq!(sizes.1, 2, "two tables");
        let info = p4runtime::to_text(whole.p4info.as_ref().expect("made above")).expect("text");
        let separated = [text.as_bytes(), &[SEPARATOR], info.as_bytes()].concat();
        for input in [
            LINES.to_vec(),
            text.into_bytes(),
            whole.encode_to_vec(),
            separated,
        ] {
            assert_eq!(build(&config(&input)), Ok(sizes));
        }
        assert!(
            build(&config(PROGRAM.as_bytes())).is_err(),
            "no whole program"
        );
    }

    #[test]
    fn programs_of_the_repository_are_built() {
        let seeds = seeds();
        let programs: Vec<_> = seeds.iter().filter(|s| !s.starts_with(b"shape ")).collect();
        let built = programs
            .iter()
            .filter(|s| build(&config(s)).is_ok())
            .count();
        assert!(
            built > 30 && built * 10 > programs.len() * 8,
            "{built} of {}",
            programs.len()
        );
        assert_eq!(seeds.len() - programs.len(), shapes::SHAPES.len());
    }
}

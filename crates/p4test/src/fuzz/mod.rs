//! Fuzz targets: functions that take any bytes and must neither panic, nor hang, nor grow.
//!
//! A [`Target`] is driven in three ways: the kept corpus of `fuzz/corpus/NAME/` is run by an
//! ordinary test; `cargo xtask fuzz NAME` mutates it for as long as one likes, on any toolchain
//! ([`drive`]); and the workspace `fuzz/` gives it to libFuzzer.
//!
//! A target that may end its process, or take it whole, has [`worker::Limits`]: the driver and the
//! test run it in child processes ([`worker`]).
//!
//! A target tells what it did as a [`Behaviour`]. The driver keeps inputs with a new one: a poor
//! man's coverage that needs no instrumentation.
//!
//! To add a target, write `fn(&[u8]) -> Behaviour` in a module here, add it to [`TARGETS`], lay a
//! few inputs into `fuzz/corpus/NAME/`, and add a file of three lines to `fuzz/fuzz_targets/`.

pub mod drive;
mod faulty;
mod packets;
mod push;
mod text;
pub mod worker;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher as _};
use std::ops::Range;

/// What an input made a target do, as a number: inputs that take the same way have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Behaviour(pub u64);

impl Behaviour {
    /// Of anything that can be hashed. The same on every run.
    pub fn of(value: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Cuts an input into its words and subtrees.
pub type Splitter = fn(&[u8]) -> Vec<Range<usize>>;

/// A function to be given anything.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line and the name of its corpus folder.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Does the work; a panic is a finding.
    pub run: fn(&[u8]) -> Behaviour,
    /// Pieces worth inserting.
    pub words: &'static [&'static [u8]],
    /// Where the words and subtrees of an input lie, for targets with a grammar: they are exchanged
    /// whole.
    pub parts: Option<Splitter>,
    /// Inputs are not longer.
    pub max_len: usize,
    /// What one input may take, for targets that run in child processes.
    pub limits: Option<worker::Limits>,
    /// Inputs to begin with besides the corpus, made from what lies elsewhere in the repository.
    pub seeds: Option<fn() -> Vec<Vec<u8>>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    packets::TARGET,
    text::LEXER,
    text::PARSER,
    text::COMPILE,
    text::JSON,
    push::TARGET,
];

/// The target of a name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    let all = TARGETS.iter().chain(std::iter::once(&faulty::TARGET));
    all.into_iter().find(|t| t.name == name)
}

/// Runs a target on one input: what libFuzzer's targets call.
pub fn run(name: &str, input: &[u8]) {
    if let Some(target) = target(name) {
        (target.run)(input);
    }
}

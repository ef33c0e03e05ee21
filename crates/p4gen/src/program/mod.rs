//! From the features of a checked plan to the P4_16 text that every switch of the plan runs.
//!
//! The text is rendered from logic-free templates under `templates/`, fed by view structs: whatever a
//! template needs is a field, already in its final spelling. Types and ids that all programs share
//! are plain P4 under `p4src/` and go into the program's directory as includes.

mod failover;
mod failover_tofino;
pub mod p4info;
mod tagger;
mod tofino;

use plan::CheckedPlan;
use sha2::{Digest as _, Sha256};

use crate::layout::{
    Architecture, FailoverFeatures, FailoverRoom, Features, Layout, ProgramFeatures, Room,
};

/// A file of P4 text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// File name, without directory.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// A P4 program: the main file and what it includes beside the target's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the family (`tagger`, `failover`); the main file is `NAME.p4`.
    pub name: &'static str,
    /// What it is written for.
    pub architecture: Architecture,
    /// What the program depends on.
    pub features: ProgramFeatures,
    /// What its tables look like.
    layout: Layout,
    /// The main file.
    pub main: SourceFile,
    /// The included files.
    pub includes: Vec<SourceFile>,
}

impl Program {
    /// All files, the main file first.
    pub fn files(&self) -> impl Iterator<Item = &SourceFile> {
        std::iter::once(&self.main).chain(&self.includes)
    }

    /// What its tables look like.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout.clone()
    }

    /// A program for v1model.
    fn for_v1model(name: &'static str, features: ProgramFeatures, text: String) -> Self {
        Self {
            name,
            architecture: Architecture::V1model,
            features,
            layout: Layout::of(&features),
            main: SourceFile {
                name: format!("{name}.p4"),
                text,
            },
            includes: shared_includes(),
        }
    }
}

/// The program of a plan.
///
/// # Errors
/// [`ProgramError`] if a template cannot be rendered (our bug).
pub fn generate(plan: &CheckedPlan) -> Result<Program, ProgramError> {
    generate_for(&ProgramFeatures::of(plan))
}

/// The program with the given features.
///
/// # Errors
/// [`ProgramError`] if a template cannot be rendered (our bug).
pub fn generate_for(features: &ProgramFeatures) -> Result<Program, ProgramError> {
    match features {
        ProgramFeatures::Tagger(features) => tagger::render(features),
        ProgramFeatures::Failover(features) => failover::render(features),
    }
}

/// The `tagger` program with the given features for Tofino 1 ([`Architecture::Tna`]) or 2 ([`Architecture::T2na`]), with
/// this much room for entries.
///
/// # Errors
/// [`ProgramError`] if a template cannot be rendered (our bug).
pub fn generate_tofino(
    features: &Features,
    architecture: Architecture,
    room: &Room,
) -> Result<Program, ProgramError> {
    tofino::render(features, architecture, room)
}

/// The `failover` program with the given features for Tofino 1 or 2, with this much room for entries.
///
/// # Errors
/// [`ProgramError`] if a template cannot be rendered (our bug).
pub fn generate_tofino_failover(
    features: &FailoverFeatures,
    architecture: Architecture,
    room: &FailoverRoom,
) -> Result<Program, ProgramError> {
    failover_tofino::render(features, architecture, room)
}

/// Why there is no program text. Features come from a checked plan, so this is never the user's fault.
#[derive(Debug, thiserror::Error)]
#[error("rendering the P4 program failed: {0}; this is a bug of Switchwright")]
pub struct ProgramError(#[from] askama::Error);

/// What stands in a template where the stamp goes.
const STAMP: &str = "0000000000000000";

/// A text with its stamp: a digest of the text without it and of what it includes. Programs for Tofino carry it in an
/// annotation, for a device tells annotations with its tables, and nothing else of a program's text.
fn stamped(text: &str, includes: &[SourceFile]) -> String {
    let mut digest = Sha256::new();
    digest.update(text);
    for file in includes {
        digest.update(&file.text);
    }
    let digest = digest.finalize();
    let stamp: String = digest[..STAMP.len() / 2]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    text.replacen(STAMP, &stamp, 1)
}

/// The P4 files that every program includes.
fn shared_includes() -> Vec<SourceFile> {
    let file = |name: &str, text: &str| SourceFile {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    vec![
        file("headers.p4", include_str!("../../../../p4src/headers.p4")),
        file("layout.p4", include_str!("../../../../p4src/layout.p4")),
    ]
}

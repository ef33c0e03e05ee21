//! From the features of a checked plan to the P4_16 text that every switch of the plan runs.
//!
//! The text is a family's; types, numbers and ids that all programs share go into the program's directory as includes.

mod includes;
pub mod p4info;

use sha2::{Digest as _, Sha256};

use crate::capabilities::Capabilities;
use crate::family::{ProgramFeatures, STAMP};
use crate::layout::Layout;

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
    /// What the program depends on.
    pub features: ProgramFeatures,
    /// What its tables look like.
    pub layout: Layout,
    /// The main file.
    pub main: SourceFile,
    /// The included files.
    pub includes: Vec<SourceFile>,
}

impl Program {
    /// The family's name (`tagger`, `failover`); the main file is `NAME.p4`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.features.name()
    }

    /// All files, the main file first.
    pub fn files(&self) -> impl Iterator<Item = &SourceFile> {
        std::iter::once(&self.main).chain(&self.includes)
    }
}

/// The program with these features for a target, with tables of the size that every program has.
///
/// # Errors
/// [`ProgramError`] if a template cannot be rendered (our bug).
pub fn generate(
    features: impl Into<ProgramFeatures>,
    target: &Capabilities,
) -> Result<Program, ProgramError> {
    let features = features.into();
    generate_with(features, target, features.layout(target.architecture))
}

/// The program with these features for a target, with tables as large as this layout says.
///
/// # Errors
/// [`ProgramError`] if a template cannot be rendered (our bug).
pub fn generate_with(
    features: ProgramFeatures,
    target: &Capabilities,
    layout: Layout,
) -> Result<Program, ProgramError> {
    let text = features.render(target, &layout)?;
    let includes = includes::all()?;
    Ok(Program {
        features,
        layout,
        main: SourceFile {
            name: format!("{}.p4", features.name()),
            text: stamped(&text, &includes),
        },
        includes,
    })
}

/// Why there is no program text. Features come from a checked plan, so this is never the user's fault.
#[derive(Debug, thiserror::Error)]
#[error("rendering the P4 program failed: {0}; this is a bug of Switchwright")]
pub struct ProgramError(#[from] askama::Error);

/// A text with its stamp, where it has a place for one: a digest of the text without it and of what it includes. Programs
/// for Tofino carry it in an annotation, for a device tells annotations with its tables, and nothing else of a program's text.
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

//! From the features of a checked plan to the P4_16 text that every switch of the plan runs.
//!
//! The text is a family's; types, numbers and ids that all programs share go into the program's
//! directory as includes.

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
/// [`ProgramError`] if a template cannot be rendered or formatted (our bug).
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
/// [`ProgramError`] if a template cannot be rendered or formatted (our bug).
pub fn generate_with(
    features: ProgramFeatures,
    target: &Capabilities,
    layout: Layout,
) -> Result<Program, ProgramError> {
    let name = format!("{}.p4", features.name());
    let text = formatted(&name, &features.render(target, &layout)?)?;
    let mut includes = includes::all()?;
    for file in &mut includes {
        file.text = formatted(&file.name, &file.text)?;
    }
    Ok(Program {
        features,
        layout,
        main: SourceFile {
            name,
            text: stamped(&text, &includes),
        },
        includes,
    })
}

/// A text as `p4 fmt` writes it: templates need not know where their parts are put.
fn formatted(name: &str, text: &str) -> Result<String, ProgramError> {
    p4front::format::format(name, text).map_err(|e| ProgramError::Format(Box::new(e)))
}

/// Why there is no program text. Features come from a checked plan, so this is never the user's
/// fault.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// A template could not be rendered.
    #[error("rendering the P4 program failed: {0}; this is a bug of Switchwright")]
    Render(#[from] askama::Error),
    /// What was rendered could not be formatted.
    #[error("formatting the P4 program failed: {0}; this is a bug of Switchwright")]
    Format(#[source] Box<p4front::format::FormatError>),
}

/// A text with its stamp, where it has a place for one: a digest of the text without it and of what
/// it includes. Programs for Tofino carry it in an annotation, for a device tells annotations with
/// its tables, and nothing else of a program's text.
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

//! What p4c writes beside JSON: messages of P4Runtime in their formats, rules for make.

use std::path::{Path, PathBuf};

use p4runtime::to_dynamic;
use prost::{Message, Name};

use crate::cli::fault::{Context, Fault};

/// Formats of P4Runtime's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::p4) enum Format {
    Text,
    Json,
    Binary,
}

impl Format {
    /// The format that a file's ending asks for.
    pub(in crate::cli::p4) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" | "txtpb" => Some(Self::Text),
            "json" => Some(Self::Json),
            "bin" => Some(Self::Binary),
            _ => None,
        }
    }

    /// The format of a name of `--p4runtime-format`.
    ///
    /// # Errors
    /// Another name.
    pub(super) fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "binary" => Ok(Self::Binary),
            _ => Err(
                Fault::input(format!("`{name}` is no format of P4Runtime's messages"))
                    .help("formats are binary, json and text"),
            ),
        }
    }

    /// A message in this format.
    ///
    /// # Errors
    /// A message that cannot be written: none of a program's.
    pub(in crate::cli::p4) fn bytes<M: Message + Name>(
        self,
        message: &M,
        place: &Path,
    ) -> Result<Vec<u8>, Fault> {
        Ok(match self {
            Self::Binary => message.encode_to_vec(),
            Self::Text => p4runtime::to_text(message)
                .input(place.display())?
                .into_bytes(),
            Self::Json => {
                let named = to_dynamic(message).input(place.display())?;
                let mut text = serde_json::to_vec_pretty(&named).input(place.display())?;
                text.push(b'\n');
                text
            }
        })
    }
}

/// What a line says of the rule for make.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    /// `-MD`: beside the output.
    pub(super) beside: bool,
    pub(super) file: Option<PathBuf>,
    pub(super) targets: Vec<String>,
    pub(super) phony: bool,
}

/// A rule for make: what the target is made of.
pub(super) fn rule(
    said: &Dependencies,
    target: &str,
    program: &str,
    included: &[String],
) -> String {
    let targets = match said.targets.is_empty() {
        true => escaped(target),
        false => said.targets.join(" "),
    };
    let files = std::iter::once(program).chain(included.iter().map(String::as_str));
    let files: Vec<String> = files.map(escaped).collect();
    let mut text = format!("{targets}: {}\n", files.join(" \\\n  "));
    if said.phony {
        for file in included {
            text += &format!("\n{}:\n", escaped(file));
        }
    }
    text
}

/// A name as make reads it.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            ' ' | '\t' | '#' => text.push('\\'),
            '$' => text.push('$'),
            _ => {}
        }
        text.push(c);
    }
    text
}

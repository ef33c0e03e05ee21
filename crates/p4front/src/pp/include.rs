//! `#include`: which file is meant, among those that [`Files`] lets the program see.

use std::path::{Component, Path, PathBuf};

use super::builtin::{BUILTIN, OFFERED};
use super::whole::Followed;
use super::{MAX_INCLUDE_DEPTH, MAX_INCLUDED_BYTES, MAX_INCLUDES, Preprocessor};
use crate::diag::Diagnostic;
use crate::disk;
use crate::lex::{Punct, RawKind, RawToken};
use crate::options::{Builtins, Files};
use crate::source::{FileId, SourceError, SourceMap, Span};

/// Where a file being read came from: what `"..."` is relative to.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// The folder of a file.
    Folder(PathBuf),
    /// Built in.
    Builtin,
}

impl Origin {
    pub(super) fn main(map: &SourceMap, main: FileId) -> Self {
        let name = map.file(main).map_or_else(|| "".into(), |f| f.name.clone());
        Origin::folder_of(Path::new(&*name))
    }

    fn folder_of(path: &Path) -> Self {
        Origin::Folder(path.parent().map(Path::to_path_buf).unwrap_or_default())
    }
}

/// What has been included so far.
#[derive(Debug)]
pub(super) struct Budget {
    /// The main file.
    pub(super) main: FileId,
    /// Directives that were carried out, in order.
    pub(super) followed: Vec<Followed>,
    files: usize,
    bytes: usize,
}

impl Budget {
    pub(super) fn of(main: FileId) -> Self {
        Self {
            main,
            followed: Vec::new(),
            files: 0,
            bytes: 0,
        }
    }
}

/// The text of an included file.
enum IncludedText {
    Text {
        path: PathBuf,
        text: String,
    },
    Builtin {
        name: &'static str,
        text: &'static str,
    },
    Unreadable(SourceError),
    Already,
}

impl Preprocessor<'_> {
    /// `#include`, its name not read yet.
    pub(super) fn include(&mut self, hash: Span) {
        let mut tokens = self.rest_of_line();
        let directive = tokens.last().map_or(hash, |last| hash.to(last.span));
        let literal =
            |t: Option<&RawToken>| t.is_some_and(|t| t.kind == RawKind::String || t.is(Punct::Lt));
        if !literal(tokens.first()) {
            tokens = self.expand_list(tokens, hash);
        }
        let Some((name, quoted, span)) = self.header_name(&tokens) else {
            let at = tokens.first().map_or(hash, |t| t.span);
            self.diags.push(
                Diagnostic::error("preprocessor", at, "`#include` needs a file name")
                    .with_help("write `#include <name>` or `#include \"name\"`"),
            );
            return;
        };
        if self.frames.len() >= MAX_INCLUDE_DEPTH {
            let text = format!(
                "includes are nested more than {MAX_INCLUDE_DEPTH} deep; \
                                does a file include itself?"
            );
            self.stop(span, text);
            return;
        }
        match self.find(&name, quoted) {
            Ok(found) => self.open(found, &name, span, directive),
            Err(searched) => self.not_found(&name, span, &searched),
        }
    }

    /// The name in `<name>` or `"name"`, whether it is quoted, and its place.
    fn header_name(&self, tokens: &[RawToken]) -> Option<(String, bool, Span)> {
        let first = tokens.first()?;
        if first.kind == RawKind::String {
            let name = first.text.get(1..first.text.len() - 1)?;
            return (!name.is_empty()).then(|| (name.to_string(), true, first.span));
        }
        if !first.is(Punct::Lt) {
            return None;
        }
        let close = tokens.iter().position(|t| t.is(Punct::Gt))?;
        let mut name = String::new();
        for t in tokens.get(1..close)? {
            if t.space && !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&t.text);
        }
        let span = first.span.to(tokens.get(close)?.span);
        (!name.is_empty()).then_some((name, false, span))
    }

    /// Finds the file meant by `name`, or the folders searched in vain.
    fn find(&self, name: &str, quoted: bool) -> Result<IncludedText, Vec<PathBuf>> {
        let builtin = BUILTIN.iter().find(|(n, _)| *n == name);
        let builtin = builtin.map(|(name, text)| IncludedText::Builtin { name, text });
        let origin = self.frames.last().map(|f| &f.origin);
        let mut folders: Vec<PathBuf> = Vec::new();
        if let (true, Some(Origin::Folder(f))) = (quoted, origin) {
            folders.push(f.clone());
        }
        let first = self.options.builtins == Builtins::BeforePath
            || (quoted && matches!(origin, Some(Origin::Builtin)));
        match builtin {
            Some(b) if first => Ok(b),
            builtin => {
                folders.extend(self.options.include_paths.iter().cloned());
                let hit = folders
                    .iter()
                    .find_map(|folder| self.read(&folder.join(name)));
                hit.or(builtin).ok_or(folders)
            }
        }
    }

    fn read(&self, path: &Path) -> Option<IncludedText> {
        let over = match &self.options.files {
            Files::Overlay(texts) => texts.get(&*normal(path)).map(ToString::to_string),
            _ => None,
        };
        let text = match &self.options.files {
            Files::Builtin => return None,
            Files::Memory(files) => files.get(&*normal(path))?.clone(),
            Files::Overlay(_) if over.is_some() => over.unwrap_or_default(),
            Files::Disk | Files::Overlay(_) if !disk::is_file(path) => return None,
            Files::Disk | Files::Overlay(_) => match disk::read(path) {
                Ok(text) => text,
                Err(why) => return Some(IncludedText::Unreadable(why)),
            },
        };
        if self.once.contains(path) {
            return Some(IncludedText::Already);
        }
        Some(IncludedText::Text {
            path: path.to_path_buf(),
            text,
        })
    }

    fn open(&mut self, found: IncludedText, name: &str, span: Span, directive: Span) {
        let built_in = matches!(found, IncludedText::Builtin { .. });
        let (file, origin) = match found {
            IncludedText::Already => {
                let text = None;
                self.included.followed.push(Followed { directive, text });
                return;
            }
            IncludedText::Unreadable(why) => {
                self.complete = false;
                self.error(span, why.to_string());
                return;
            }
            IncludedText::Builtin { name, text } => {
                (self.take(&format!("<{name}>"), text, true), Origin::Builtin)
            }
            IncludedText::Text { path, text } => (
                self.take(&path.to_string_lossy(), &text, false),
                Origin::folder_of(&path),
            ),
        };
        if !built_in {
            self.included.followed.push(Followed {
                directive,
                text: file,
            });
        }
        match file {
            Some(id) => self.enter(id, origin),
            None => self.stop(
                span,
                format!(
                    "`{name}` is too much: more than {MAX_INCLUDES} files or {} MiB are included",
                    MAX_INCLUDED_BYTES >> 20
                ),
            ),
        }
    }

    /// Adds an included text to the map, within the budget.
    fn take(&mut self, name: &str, text: &str, builtin: bool) -> Option<FileId> {
        self.included.files += 1;
        self.included.bytes += text.len();
        if self.included.files > MAX_INCLUDES || self.included.bytes > MAX_INCLUDED_BYTES {
            return None;
        }
        self.map.insert(name, text, builtin).ok()
    }

    fn not_found(&mut self, name: &str, span: Span, searched: &[PathBuf]) {
        self.complete = false;
        let mut found = Diagnostic::error("include", span, format!("cannot find `{name}`"));
        let alone = self.options.files == Files::Builtin;
        if !alone {
            found = found.with_note(format!("searched in: {}", list(searched)));
        }
        found = found.with_note(format!("built in are: {}", OFFERED.join(", ")));
        let help = match (
            crate::names::closest(name, OFFERED),
            &self.options.files,
        ) {
            (Some(close), _) => format!("did you mean `{close}`?"),
            (None, Files::Disk | Files::Overlay(_)) => "name its folder with -I".to_owned(),
            (None, Files::Builtin | Files::Memory(_)) => {
                "put its text in the place of the `#include`; no file of this machine can be included"
                    .to_owned()
            }
        };
        self.diags.push(found.with_help(help));
    }
}

/// Folders as people read them.
fn list(folders: &[PathBuf]) -> String {
    let shown = |p: &PathBuf| {
        if p.as_os_str().is_empty() {
            "the current folder".into()
        } else {
            p.display().to_string()
        }
    };
    let all: Vec<String> = folders.iter().map(shown).collect();
    if all.is_empty() {
        return "nowhere".into();
    }
    all.join(", ")
}

/// A path without `.` and `..`, where names alone tell what they mean.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        let up = part == Component::ParentDir
            && matches!(out.components().next_back(), Some(Component::Normal(_)));
        if up {
            out.pop();
        } else if part != Component::CurDir {
            out.push(part);
        }
    }
    out
}

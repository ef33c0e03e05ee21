//! The documents: the links of every Markdown file, and the book that mdBook makes of `docs/`.
//!
//! Links between documents have to work in two places: where a repository is browsed, and in the
//! book. So a document in `docs/` links only to files in `docs/`; it names other files by their
//! path from the root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The folder of the book's chapters.
const CHAPTERS: &str = "docs";
/// The book's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Folders below the root whose documents are checked.
const FOLDERS: &[&str] = &[".github", "crates", "docs", "figures", "labs"];
/// Folders of files that tools write.
const WRITTEN_BY_TOOLS: &[&str] = &["node_modules", "target"];

/// Checks all links, then builds the book where mdBook is installed.
///
/// # Errors
/// Every broken link and missing chapter, or that mdBook failed.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    check(root)?;
    build(root)
}

/// Builds the book into `book` in cargo's target folder.
fn build(root: &Path) -> Result<(), String> {
    let program = std::env::var_os("MDBOOK").unwrap_or_else(|| "mdbook".into());
    let found = Command::new(&program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !found.is_ok_and(|status| status.success()) {
        println!(
            "xtask: skipped building the book: `mdbook` is not installed (`cargo install --locked mdbook \
             --no-default-features`; MDBOOK names one that is not on PATH)"
        );
        return Ok(());
    }
    let made = crate::target_folder(root).join("book");
    let status = Command::new(&program)
        .args(["build", "--dest-dir"])
        .arg(&made)
        .current_dir(root)
        .status()
        .map_err(|e| format!("mdbook did not start: {e}"))?;
    if !status.success() {
        return Err("`mdbook build` failed".to_owned());
    }
    println!("xtask: the book is {}", made.join("index.html").display());
    Ok(())
}

/// Checks the links of all documents, and that the book has every chapter.
fn check(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    let mut documents = BTreeMap::new();
    for path in paths(root) {
        let text =
            fs::read_to_string(root.join(&path)).map_err(|e| format!("{}: {e}", path.display()))?;
        documents.insert(path, Document::read(&text));
    }
    for (path, document) in &documents {
        for link in &document.links {
            if let Err(why) = follow(root, path, &link.target, &documents) {
                let (line, target) = (link.line, &link.target);
                findings.push(format!("{}:{line}: `{target}`: {why}", path.display()));
            }
        }
    }
    missing_chapters(&documents, &mut findings);
    if findings.is_empty() {
        println!(
            "xtask: the links of {} documents are valid",
            documents.len()
        );
        return Ok(());
    }
    Err(format!(
        "{} broken links:\n{}",
        findings.len(),
        findings.join("\n")
    ))
}

/// The documents that are checked, relative to the root.
fn paths(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = Vec::new();
    documents_in(root, false, &mut found);
    for folder in FOLDERS {
        documents_in(&root.join(folder), true, &mut found);
    }
    let relative = |path: PathBuf| path.strip_prefix(root).ok().map(Path::to_path_buf);
    found.into_iter().filter_map(relative).collect()
}

/// The Markdown files of a folder, with those of its folders if `deep`.
pub(crate) fn documents_in(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let by_tool = |name: &str| WRITTEN_BY_TOOLS.contains(&name);
        // Symbolic links are not followed: their targets are visited in their real folder.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            if deep && !entry.file_name().to_str().is_some_and(by_tool) {
                documents_in(&path, deep, found);
            }
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// Adds a finding for each document of the book that the table of contents does not name.
fn missing_chapters(documents: &BTreeMap<PathBuf, Document>, findings: &mut Vec<String>) {
    let summary = documents.get(Path::new(SUMMARY));
    let links = summary.iter().flat_map(|summary| &summary.links);
    let listed: BTreeSet<PathBuf> = links
        .filter_map(|link| resolve(Path::new(SUMMARY), &link.target))
        .collect();
    for path in documents.keys().filter(|path| path.starts_with(CHAPTERS)) {
        if path != Path::new(SUMMARY) && !listed.contains(path) {
            findings.push(format!("{}: {SUMMARY} does not list it", path.display()));
        }
    }
}

/// A link or an image.
struct Link {
    /// Its line, from 1.
    line: usize,
    /// The address as written.
    target: String,
}

/// What a check needs of a document.
#[derive(Default)]
struct Document {
    /// All links and images, in order.
    links: Vec<Link>,
    /// The names by which its headings are linked to.
    anchors: BTreeSet<String>,
}

impl Document {
    fn read(text: &str) -> Self {
        let mut document = Self::default();
        let mut heading: Option<String> = None;
        let mut used = BTreeMap::new();
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(Link {
                        line: text[..range.start].matches('\n').count() + 1,
                        target: dest_url.into_string(),
                    });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let name = anchor(&heading.take().unwrap_or_default());
                    let before: &mut usize = used.entry(name.clone()).or_default();
                    document.anchors.insert(match *before {
                        0 => name,
                        n => format!("{name}-{n}"),
                    });
                    *before += 1;
                }
                _ => {}
            }
        }
        document
    }
}

/// The name by which a heading is linked to, in the book and where repositories are browsed.
fn anchor(heading: &str) -> String {
    let characters = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_lowercase().to_string()),
        c if c.is_whitespace() => Some("-".to_owned()),
        _ => None,
    });
    characters.collect()
}

/// The file that a relative address names, relative to the root; `None` if it is outside.
fn resolve(from: &Path, target: &str) -> Option<PathBuf> {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return Some(from.to_path_buf());
    }
    let mut path = from.parent()?.to_path_buf();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Checks one address of a document.
fn follow(
    root: &Path,
    from: &Path,
    target: &str,
    documents: &BTreeMap<PathBuf, Document>,
) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let path = resolve(from, target).ok_or("it leads out of the repository")?;
    if !root.join(&path).exists() {
        return Err(format!("there is no {}", path.display()));
    }
    if from.starts_with(CHAPTERS) && !path.starts_with(CHAPTERS) {
        return Err(format!(
            "the book has only files of {CHAPTERS}/; name the file by its path from the root instead"
        ));
    }
    let Some((_, name)) = target.split_once('#') else {
        return Ok(());
    };
    match documents.get(&path) {
        Some(document) if document.anchors.contains(name) => Ok(()),
        Some(_) => Err(format!("{} has no heading `{name}`", path.display())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents() -> BTreeMap<PathBuf, Document> {
        let a = "# One `two`, three\n\n## Again\n## Again\n[b](b.md) ![c](b.md#x)\n\n    [no](link.md)\n";
        let named = [
            ("docs/a.md", a),
            ("docs/sub/b.md", "# B"),
            (SUMMARY, "[A](a.md)"),
        ];
        let read = |(path, text): (&str, &str)| (PathBuf::from(path), Document::read(text));
        named.map(read).into_iter().collect()
    }

    #[test]
    fn links_have_lines_and_headings_have_names() {
        let documents = documents();
        let a = &documents[Path::new("docs/a.md")];
        let links: Vec<(usize, &str)> = a
            .links
            .iter()
            .map(|l| (l.line, l.target.as_str()))
            .collect();
        assert_eq!(links, [(5, "b.md"), (5, "b.md#x")]);
        let anchors: Vec<&str> = a.anchors.iter().map(String::as_str).collect();
        assert_eq!(anchors, ["again", "again-1", "one-two-three"]);
    }

    #[test]
    fn a_link_leads_to_a_file_of_the_book_and_to_a_heading() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let documents = paths(root)
            .into_iter()
            .map(|path| {
                let text = fs::read_to_string(root.join(&path)).unwrap();
                (path, Document::read(&text))
            })
            .collect();
        let follow = |target: &str| follow(root, Path::new("docs/commands.md"), target, &documents);
        assert_eq!(follow("https://p4.org/#x"), Ok(()));
        assert_eq!(follow("#exit-status"), Ok(()));
        assert_eq!(follow("commands/run.md#switch"), Ok(()));
        assert!(follow("#no-such").unwrap_err().contains("no heading"));
        assert!(
            follow("no-such.md")
                .unwrap_err()
                .contains("there is no docs/no-such.md")
        );
        assert!(
            follow("../README.md")
                .unwrap_err()
                .contains("only files of docs/")
        );
        assert!(
            follow("../../x")
                .unwrap_err()
                .contains("out of the repository")
        );
    }

    #[test]
    fn a_document_that_the_contents_do_not_list_is_found() {
        let mut findings = Vec::new();
        missing_chapters(&documents(), &mut findings);
        assert_eq!(
            findings,
            ["docs/sub/b.md: docs/SUMMARY.md does not list it"]
        );
    }
}

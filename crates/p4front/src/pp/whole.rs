//! A program as one text: for whoever cannot be given its included files too.

use std::collections::BTreeMap;

use super::preprocess;
use crate::diag::Diagnostics;
use crate::options::Options;
use crate::source::{FileId, SourceMap, Span};

/// An `#include` that was carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    /// The directive, from `#` to its last token.
    pub(crate) directive: Span,
    /// What stands in its place; nothing the second time, after `#pragma once`.
    pub(crate) text: Option<FileId>,
}

/// The program whose main file is `main` with included files in the places of the `#include`s that
/// the preprocessor follows. What is built in stays an `#include`; macros and conditions stay as
/// well, and mean what they meant.
///
/// # Errors
/// What the preprocessor found, if there is an error in it.
pub fn one_text(
    map: &mut SourceMap,
    main: FileId,
    options: &Options,
) -> Result<String, Diagnostics> {
    let mut diags = Diagnostics::new();
    let preprocessed = preprocess(map, main, options, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    // A file that is included twice is two files of the map.
    let mut by_file: BTreeMap<FileId, Vec<Followed>> = BTreeMap::new();
    for followed in preprocessed.followed {
        let file = by_file.entry(followed.directive.file).or_default();
        file.push(followed);
    }
    let mut whole = String::new();
    put(&mut whole, map, main, &by_file);
    Ok(whole)
}

fn put(
    whole: &mut String,
    map: &SourceMap,
    file: FileId,
    by_file: &BTreeMap<FileId, Vec<Followed>>,
) {
    let Some(text) = map.file(file).map(|file| &*file.text) else {
        return;
    };
    let mut from = 0;
    for followed in by_file.get(&file).into_iter().flatten() {
        let (start, end) = line(text, followed.directive);
        whole.push_str(text.get(from..start).unwrap_or_default());
        if let Some(included) = followed.text {
            put(whole, map, included, by_file);
            end_line(whole);
        }
        from = end;
    }
    whole.push_str(text.get(from..).unwrap_or_default());
}

/// Ends the last line, so that it is not joined with the next.
fn end_line(whole: &mut String) {
    if !whole.ends_with('\n') {
        whole.push('\n');
    }
    let last = whole.trim_end_matches('\n').len();
    let line = whole.get(..last).unwrap_or_default();
    let joins = line.trim_end_matches([' ', '\t', '\r']).ends_with('\\');
    if joins && last + 1 == whole.len() {
        whole.push('\n');
    }
}

/// Where a directive begins and ends, with its line unless a comment stands there too.
fn line(text: &str, directive: Span) -> (usize, usize) {
    let blank = |c: char| c == ' ' || c == '\t' || c == '\r';
    let (start, end) = (directive.start as usize, directive.end as usize);
    let before = text.get(..start).unwrap_or_default();
    let start = match before.trim_end_matches(blank) {
        lead if lead.is_empty() || lead.ends_with('\n') => lead.len(),
        _ => start,
    };
    let after = text.get(end..).unwrap_or_default();
    let end = match after.trim_start_matches(blank).strip_prefix('\n') {
        Some(rest) => text.len() - rest.len(),
        None => end,
    };
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Files;

    fn map_of((name, text): (&str, &str)) -> SourceMap {
        let mut map = SourceMap::new();
        map.add(name, text).expect("it is short");
        map
    }

    fn whole(files: &[(&str, &str)]) -> Result<String, String> {
        let options = Options {
            files: Files::Memory(files.iter().map(|(n, t)| (n.into(), (*t).into())).collect()),
            ..Options::default()
        };
        let mut map = SourceMap::new();
        let main = map.add(files[0].0, files[0].1).map_err(|e| e.to_string())?;
        let one = one_text(&mut map, main, &options).map_err(|found| found.render(&map))?;
        // Text without its files is the same program.
        let tokens = |map: &mut SourceMap, main, options: &Options| -> Vec<String> {
            let found = preprocess(map, main, options, &mut Diagnostics::new());
            found
                .tokens
                .iter()
                .map(|t| map.text(t.span).to_owned())
                .collect()
        };
        let before = tokens(&mut map_of(files[0]), FileId(0), &options);
        let after = tokens(
            &mut map_of(("one.p4", &one)),
            FileId(0),
            &Options::default(),
        );
        assert_eq!(before, after, "{one}");
        Ok(one)
    }

    #[test]
    fn included_files_are_put_in() {
        let one = whole(&[
            ("d/main.p4", "  # include \"outer.p4\"\nEND\n"),
            (
                "d/outer.p4",
                "#include \"e/inner.p4\" // why\n#include <core.p4>\nOUTER\n",
            ),
            ("d/e/inner.p4", "#include \"deep.p4\"\nINNER"),
            ("d/e/deep.p4", "DEEP\r\n"),
        ]);
        let wanted = "DEEP\r\nINNER\n // why\n#include <core.p4>\nOUTER\nEND\n";
        assert_eq!(one.as_deref(), Ok(wanted));
    }

    #[test]
    fn joined_lines_stay_apart_from_the_next() {
        let one = whole(&[
            (
                "a.p4",
                "/**/\\\n#inc\\\nlude \"b.p4\" \\\n\nEND\n#include \"c.p4\"\nMORE\n",
            ),
            ("b.p4", "IN_B // and \\\n"),
            ("c.p4", "IN_C // and \\"),
        ]);
        let one = one.expect("whole");
        assert!(
            one.contains("\nEND\n") && one.ends_with("\n\nMORE\n"),
            "{one}"
        );
    }

    #[test]
    fn the_preprocessor_decides_what_is_included() {
        let one = whole(&[
            (
                "a.p4",
                "#if 0\n#include \"nowhere.p4\"\n#endif\n#define FILE \"b.p4\"\n#include FILE\n#include \"once.p4\"\n",
            ),
            // A circle with a guard ends.
            (
                "b.p4",
                "#ifndef B\n#define B\n#include \"c.p4\"\nIN_B\n#endif\n",
            ),
            ("c.p4", "#include \"once.p4\"\n#include \"b.p4\"\nIN_C\n"),
            ("once.p4", "#pragma once\nONCE\n"),
        ]);
        let one = one.expect("whole");
        assert!(
            one.starts_with("#if 0\n#include \"nowhere.p4\"\n#endif\n"),
            "{one}"
        );
        assert_eq!(one.matches("\nONCE\n").count(), 1, "{one}");
        let endless = whole(&[("a.p4", "#include \"a.p4\"\n")]);
        assert!(endless.is_err_and(|words| words.contains("include itself")));
        assert!(whole(&[("a.p4", "#include \"x.p4\"\n")]).is_err());
    }
}

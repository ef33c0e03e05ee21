//! The files that are part of this compiler, and what they declare.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::preprocess;
use crate::diag::Diagnostics;
use crate::lex::{Keyword, Punct, Token, TokenKind};
use crate::options::Options;
use crate::source::SourceMap;

/// Declarations that are part of this compiler, by the name they are included under.
pub(super) const BUILTIN: [(&str, &str); 11] = [
    ("core.p4", include_str!("../../p4include/core.p4")),
    ("v1model.p4", include_str!("../../p4include/v1model.p4")),
    ("tna.p4", include_str!("../../p4include/tna.p4")),
    ("t2na.p4", include_str!("../../p4include/t2na.p4")),
    (
        "tofino_native.p4",
        include_str!("../../p4include/tofino_native.p4"),
    ),
    // Older programs include the three parts one by one.
    ("tofino1_specs.p4", "#include <tna.p4>\n"),
    ("tofino1_base.p4", "#include <tna.p4>\n"),
    ("tofino1_arch.p4", "#include <tna.p4>\n"),
    ("tofino2_specs.p4", "#include <t2na.p4>\n"),
    ("tofino2_base.p4", "#include <t2na.p4>\n"),
    ("tofino2_arch.p4", "#include <t2na.p4>\n"),
];

/// Those of them that programs include.
pub(super) const OFFERED: [&str; 4] = ["core.p4", "v1model.p4", "tna.p4", "t2na.p4"];

/// The built-in file that has `name` at its top level, if one has: what to include.
pub(crate) fn declared_by(name: &str) -> Option<&'static str> {
    static DECLARED: OnceLock<BTreeMap<String, &'static str>> = OnceLock::new();
    let declared = DECLARED.get_or_init(|| {
        // What several have is the first one's.
        let files = OFFERED.into_iter().rev();
        files
            .flat_map(|file| names_of(file).into_iter().map(move |name| (name, file)))
            .collect()
    });
    declared.get(name).copied()
}

/// Names that a built-in file declares, with what it includes: those that stand outside of all
/// brackets before the rest of their declaration, and match kinds.
fn names_of(file: &str) -> Vec<String> {
    let mut map = SourceMap::new();
    let Ok(main) = map.add("", &format!("#include <{file}>\n")) else {
        return Vec::new();
    };
    let options = Options::default();
    let tokens = preprocess(&mut map, main, &options, &mut Diagnostics::new()).tokens;
    let mut names = Vec::new();
    let (mut depth, mut match_kinds) = (0usize, false);
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Keyword(Keyword::MatchKind) => match_kinds = true,
            TokenKind::Punct(Punct::LBrace | Punct::LParen) => depth += 1,
            TokenKind::Punct(Punct::RBrace | Punct::RParen) => {
                depth = depth.saturating_sub(1);
                match_kinds &= depth > 0;
            }
            TokenKind::Ident if match_kinds || (depth == 0 && is_declared(&tokens, i)) => {
                names.push(token.text.to_string());
            }
            _ => {}
        }
    }
    names
}

/// Whether the name at `i` is one that is declared there, not a type or an annotation.
fn is_declared(tokens: &[Token], i: usize) -> bool {
    let annotation = i
        .checked_sub(1)
        .is_some_and(|before| tokens[before].kind == TokenKind::Punct(Punct::At));
    let behind = tokens.get(i + 1).map(|token| token.kind);
    let begins = matches!(
        behind,
        Some(TokenKind::Punct(
            Punct::LBrace | Punct::LParen | Punct::Lt | Punct::Semicolon | Punct::Assign
        ))
    );
    begins && !annotation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_the_file_to_include() {
        assert_eq!(declared_by("packet_in"), Some("core.p4"));
        assert_eq!(declared_by("NoAction"), Some("core.p4"));
        assert_eq!(declared_by("verify"), Some("core.p4"));
        assert_eq!(declared_by("ternary"), Some("core.p4"));
        assert_eq!(declared_by("standard_metadata_t"), Some("v1model.p4"));
        assert_eq!(declared_by("mark_to_drop"), Some("v1model.p4"));
        assert_eq!(declared_by("V1Switch"), Some("v1model.p4"));
        assert_eq!(declared_by("RegisterAction"), Some("tna.p4"));
        assert_eq!(declared_by("headers"), None);
        assert_eq!(declared_by("ingress_port"), None);
    }
}

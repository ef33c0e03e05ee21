//! One way to write P4: indentation and blanks by rule, line breaks and comments as they stand.
//!
//! Works on tokens and not on the syntax tree, so that programs with macros, with errors, or for
//! any architecture are formatted too. A line is indented by four blanks for each line on which a
//! bracket was opened that is not closed yet, and once more where it goes on with a statement.
//! Directives stay as they are. Tokens, comments and joined lines are found by the scanner of the
//! preprocessor; what was written is then compared with what was read by a reader that shares
//! nothing with the formatter (`guard`).

use crate::source::SourceError;

mod guard;
mod pieces;
mod write;

/// Why a text was not formatted.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It is too large, or no text.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A comment that does not end; rendered.
    #[error("{0}")]
    Tokens(String),
    /// The text cannot be written by these rules and keep its meaning.
    #[error(
        "{name}:{line}: formatting would change {what}; nothing is written (write this line otherwise, or leave the file as it is)"
    )]
    Changed {
        /// The file.
        name: String,
        /// The line of the first difference, from 1.
        line: usize,
        /// What would differ.
        what: String,
    },
}

/// The text, formatted.
///
/// # Errors
/// [`FormatError`]: also where the formatted text would not mean the same.
pub fn format(name: &str, text: &str) -> Result<String, FormatError> {
    let formatted = write::write(&pieces::pieces(name, text)?);
    match guard::difference(name, text, &formatted)? {
        None => Ok(formatted),
        Some(found) => Err(FormatError::Changed {
            name: name.to_owned(),
            line: found.line,
            what: found.what,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_indentation_by_rule() {
        let text = "control C( inout H h ,in  bit<8> x){\n  // said\naction a( ) {h.x=x ;\n\n\n\n  if(x==1||h.y>3){ y=(bit<8>)x>>2; }}\n@name( \"t\" )\n  table t {key={h.x:exact;}\n}\n  /* two\n     * lines */\napply{ t . apply( );  } }";
        let wanted = "control C(inout H h, in bit<8> x) {\n    // said\n    action a() { h.x = x;\n\n        if (x == 1 || h.y>3) { y = (bit<8>)x>>2; } }\n    @name(\"t\")\n    table t { key = { h.x:exact; }\n    }\n    /* two\n     * lines */\n    apply { t.apply(); } }\n";
        let found = format("x.p4", text).expect("it has tokens");
        assert_eq!(found, wanted);
        assert_eq!(format("x.p4", &found).expect("it has tokens"), found);
    }

    #[test]
    fn directives_and_continued_statements() {
        let text = "#define A(x) \\\n   x\n#if A\ncontrol C() {\n#else\ncontrol D() {\n#endif\n x = a +\n b;\n y = 1;\n}\n";
        let wanted = "#define A(x) \\\n   x\n#if A\ncontrol C() {\n#else\ncontrol D() {\n#endif\n    x = a +\n        b;\n    y = 1;\n}\n";
        assert_eq!(format("x.p4", text).expect("it has tokens"), wanted);
    }

    #[test]
    fn what_has_no_tokens_is_told() {
        assert!(matches!(
            format("x.p4", "/* open"),
            Err(FormatError::Tokens(_))
        ));
        assert_eq!(format("x.p4", "").expect("nothing"), "");
    }
}

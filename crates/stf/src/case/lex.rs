//! Words and signs of one statement.

use super::ParseError;

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a number, with dots, `$`, brackets and stars as they stand.
    Word(String),
    /// A sign.
    Sign(&'static str),
}

/// Signs, the longer first.
const SIGNS: &[&str] = &[
    "&&&", "==", "!=", "<=", ">=", "..", ":", ",", "(", ")", "=", "<", ">", "/", "@",
];

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '[' | ']' | '*')
}

/// The length of the word that a text begins with. A colon inside brackets is a part of it, as in
/// the name of the key `hdr.a.v[3:0]`.
fn word_end(text: &str) -> usize {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ':' if depth > 0 && text[i..].contains(']') => continue,
            _ => {}
        }
        // Two dots end a word: they are the sign of a range.
        if !is_word(c) || text[i..].starts_with("..") {
            return i;
        }
    }
    text.len()
}

/// The pieces of a line without its comment.
pub(super) fn lex(line: &str, number: usize) -> Result<Vec<Token>, ParseError> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some(end) = quoted.find('"') else {
                return Err(ParseError {
                    line: number,
                    message: "a quote is not closed".into(),
                });
            };
            tokens.push(Token::Word(quoted[..end].to_owned()));
            rest = &quoted[end + 1..];
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if is_word(first) {
            let end = word_end(rest);
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else {
            let message = format!("`{first}` has no meaning here");
            return Err(ParseError {
                line: number,
                message,
            });
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

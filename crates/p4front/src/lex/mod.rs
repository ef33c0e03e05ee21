//! Tokens of P4_16, and the scanner that finds them in text.
//!
//! Two layers share the scanner. The preprocessor works on [`RawToken`]s: words, numbers in the
//! generous sense of C (`8w0xFF`, but also `8wN`), strings, punctuation; it needs to know where
//! lines begin. The parser works on [`Token`]s, in which keywords are told from names. What becomes
//! of a number is decided by [`number`].

use std::collections::HashSet;
use std::fmt;

use crate::ast::Symbol;
use crate::source::Span;

pub mod number;
mod scan;

pub use scan::{Scanner, StringEnd};

/// Declares an enum of fixed spellings with lookups in both directions.
macro_rules! spellings {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // each variant is documented by its spelling below
        pub enum $name { $($variant,)* }
        impl $name {
            /// The spelling.
            pub fn text(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
            /// The variant with this spelling.
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

spellings! {
    /// Reserved words. Some of them are also names (see the parser's `name`).
    Keyword {
        Abstract "abstract", Action "action", Actions "actions", Apply "apply", Bool "bool",
        Bit "bit", Break "break", Const "const", Continue "continue", Control "control",
        Default "default", Else "else", Entries "entries", Enum "enum", Error "error",
        Exit "exit", Extern "extern", False "false", For "for", Header "header",
        HeaderUnion "header_union", If "if", In "in", InOut "inout", Int "int", Key "key",
        List "list", MatchKind "match_kind", Out "out", Parser "parser", Package "package",
        Priority "priority", Return "return", Select "select", State "state", String "string",
        Struct "struct", Switch "switch", Table "table", This "this", Transition "transition",
        True "true", Tuple "tuple", Type "type", Typedef "typedef", Varbit "varbit",
        ValueSet "value_set", Void "void", Underscore "_",
    }
}

spellings! {
    /// Operators, brackets and separators. There is no `>>`: two `>` that touch are a shift where
    /// an operator is expected and two closing brackets elsewhere ([`Token::joint`]).
    Punct {
        Mask "&&&", Dots "...", Range "..", Shl "<<", AndAnd "&&", OrOr "||", EqEq "==",
        Ne "!=", Ge ">=", Le "<=", PlusPlus "++", PlusEq "+=", MinusEq "-=", StarEq "*=",
        SlashEq "/=", PercentEq "%=", AndEq "&=", OrEq "|=", CaretEq "^=", ShlEq "<<=",
        ShrEq ">>=", PlusSatEq "|+|=", MinusSatEq "|-|=", Plus "+", Invalid "{#}",
        PlusSat "|+|", Minus "-", MinusSat "|-|", Star "*", Slash "/", Percent "%", Or "|",
        And "&", Caret "^", Tilde "~", LParen "(", RParen ")", LBracket "[", RBracket "]",
        LBrace "{", RBrace "}", Lt "<", Gt ">", Not "!", Colon ":", PlusColon "+:", Comma ",",
        Question "?", Dot ".", Assign "=", Semicolon ";", At "@",
        // Only for the preprocessor:
        Hash "#", HashHash "##",
    }
}

/// Longest spelling of a [`Punct`], in bytes.
const MAX_PUNCT: usize = 4;

/// What sort of [`RawToken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawKind {
    /// A name or keyword.
    Word,
    /// A digit and all letters, digits and underscores behind it.
    Number,
    /// A string with its quotes.
    String,
    /// A string whose closing quote is missing; runs to the end of its line.
    OpenString,
    /// The beginning of a string, up to a line of it that is a directive
    /// ([`Scanner::with_directives_in_strings`]).
    StringHead,
    /// Punctuation.
    Punct(Punct),
    /// Any other character.
    Other,
    /// End of the file, of a directive, or of a macro argument.
    End,
}

/// A token as the preprocessor sees it.
#[derive(Debug, Clone)]
pub struct RawToken {
    /// What sort.
    pub kind: RawKind,
    /// Exactly as spelled.
    pub text: Symbol,
    /// Where; for tokens out of a macro the place of its outermost use.
    pub span: Span,
    /// First on its line.
    pub bol: bool,
    /// White space or a comment stands before it.
    pub space: bool,
    /// The next character follows immediately (for `>` before `>`).
    pub joint: bool,
    /// A macro name that must not be expanded any more.
    pub painted: bool,
}

impl RawToken {
    /// True for this punctuation.
    pub fn is(&self, p: Punct) -> bool {
        self.kind == RawKind::Punct(p)
    }
}

/// What sort of [`Token`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name.
    Ident,
    /// A reserved word.
    Keyword(Keyword),
    /// An integer literal (or what looks like one: [`number::parse`] decides).
    Int,
    /// A string literal; the token's text lacks the quotes, escapes are not replaced.
    String,
    /// Punctuation.
    Punct(Punct),
    /// A character that is no token.
    Other,
    /// The end of the program, or of what the token's text says.
    End,
}

/// A token as the parser sees it.
#[derive(Debug, Clone)]
pub struct Token {
    /// What sort.
    pub kind: TokenKind,
    /// Its text.
    pub text: Symbol,
    /// Where.
    pub span: Span,
    /// First on its line; ends `@pragma`.
    pub bol: bool,
    /// Touches the token behind it.
    pub joint: bool,
}

impl Token {
    /// The parser's view of `raw`.
    pub fn from_raw(raw: RawToken) -> Self {
        let kind = match raw.kind {
            RawKind::Word => match Keyword::from_text(&raw.text) {
                Some(k) => TokenKind::Keyword(k),
                None => TokenKind::Ident,
            },
            RawKind::Number => TokenKind::Int,
            RawKind::String => TokenKind::String,
            RawKind::Punct(Punct::Hash | Punct::HashHash)
            | RawKind::Other
            | RawKind::OpenString
            | RawKind::StringHead => TokenKind::Other,
            RawKind::Punct(p) => TokenKind::Punct(p),
            RawKind::End => TokenKind::End,
        };
        let text = match kind {
            TokenKind::String => {
                let inner = raw.text.get(1..raw.text.len() - 1).unwrap_or("");
                inner.replace("\\\n", "").into() // a spliced line
            }
            _ => raw.text,
        };
        Token {
            kind,
            text,
            span: raw.span,
            bol: raw.bol,
            joint: raw.joint,
        }
    }
}

impl fmt::Display for Token {
    /// As error messages name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TokenKind::Ident => write!(f, "`{}`", self.text),
            TokenKind::Keyword(k) => write!(f, "keyword `{}`", k.text()),
            TokenKind::Int => write!(f, "number `{}`", self.text),
            TokenKind::String => write!(f, "a string"),
            TokenKind::Punct(p) => write!(f, "`{}`", p.text()),
            TokenKind::Other => write!(f, "`{}`", self.text.escape_debug()),
            TokenKind::End if self.text.is_empty() => write!(f, "the end of the program"),
            TokenKind::End => write!(f, "the end of the {}", self.text),
        }
    }
}

/// Shares equal spellings.
#[derive(Debug, Default)]
pub struct Interner {
    known: HashSet<Symbol>,
}

impl Interner {
    /// The shared copy of `text`.
    pub fn get(&mut self, text: &str) -> Symbol {
        if let Some(s) = self.known.get(text) {
            return s.clone();
        }
        let s: Symbol = text.into();
        self.known.insert(s.clone());
        s
    }
}

/// A string literal's text with `\"`, `\\`, `\n` and `\r` replaced; other backslashes stay.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let replaced = match (c, chars.peek()) {
            ('\\', Some('"')) => '"',
            ('\\', Some('\\')) => '\\',
            ('\\', Some('n')) => '\n',
            ('\\', Some('r')) => '\r',
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(replaced);
    }
    out
}

//! What may stand at a place, by the tokens in front of it: the grammar's part of the answer.

use std::borrow::Cow;

use crate::diag::Diagnostics;
use crate::lex::{Interner, Keyword, Punct, RawKind, Scanner, Token, TokenKind};
use crate::source::{FileId, SourceMap, Span};

/// What may stand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A member, behind a dot.
    Member,
    /// A value.
    Expression,
    /// A statement of a control, action or function.
    Statement,
    /// A statement of a parser state, or its transition.
    ParserStatement,
    /// A declaration of a control, or its `apply`.
    ControlLocal,
    /// A declaration of a parser, or a state.
    ParserLocal,
    /// A declaration of the top level.
    TopLevel,
    /// A type.
    Type,
    /// A parameter: a direction or a type.
    Parameter,
    /// A state of the parser; behind `transition` also `select`.
    State { select: bool },
    /// An action.
    Action,
    /// A match kind.
    MatchKind,
    /// A property of a table.
    Property,
    /// What a case of a `select` or an entry matches.
    Keyset,
    /// An annotation.
    Annotation,
    /// A new name, which only its author knows.
    Nothing,
}

/// The tokens in front of a place, and what may stand there.
pub(super) struct Context<'t> {
    tokens: &'t [Token],
    pub(super) wanted: Wanted,
}

/// The tokens in front of a place: those of the program, or those of the file as they are written
/// where the program has others or none (in the arguments of a macro, in text that a condition
/// leaves out).
pub(super) fn tokens_before<'t>(
    map: &SourceMap,
    tokens: &'t [Token],
    file: FileId,
    offset: u32,
) -> Cow<'t, [Token]> {
    let last = tokens
        .iter()
        .rfind(|t| t.span.file == file && t.span.end <= offset);
    let from = last.map_or(0, |t| t.span.end);
    let gap = map.text(Span::new(file, from, offset));
    let typed = gap.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    match is_code(typed) {
        false => Cow::Borrowed(tokens),
        true => Cow::Owned(written(map, file, offset)),
    }
}

/// Whether a text between two tokens has more than comments and directives.
fn is_code(gap: &str) -> bool {
    let mut rest = gap.trim_start();
    while !rest.is_empty() {
        let end = match rest {
            _ if rest.starts_with("//") || rest.starts_with('#') => rest.find('\n'),
            _ if rest.starts_with("/*") => rest.find("*/").map(|end| end + 2),
            _ => return true,
        };
        rest = rest
            .get(end.unwrap_or(rest.len())..)
            .unwrap_or_default()
            .trim_start();
    }
    false
}

/// The tokens of a file up to a place, as they are written; directives are left out.
fn written(map: &SourceMap, file: FileId, offset: u32) -> Vec<Token> {
    let Some(text) = map.file(file).map(|f| f.text.clone()) else {
        return Vec::new();
    };
    let mut scanner = Scanner::new(file, text);
    let (mut names, mut hidden) = (Interner::default(), Diagnostics::new());
    let mut tokens = Vec::new();
    let mut directive = false;
    loop {
        let raw = scanner.next(&mut names, &mut hidden);
        if raw.kind == RawKind::End || raw.span.start >= offset {
            return tokens;
        }
        if raw.bol {
            directive = raw.is(Punct::Hash);
        }
        if !directive && raw.kind != RawKind::OpenString {
            tokens.push(Token::from_raw(raw));
        }
    }
}

impl<'t> Context<'t> {
    pub(super) fn new(map: &SourceMap, tokens: &'t [Token], file: FileId, offset: u32) -> Self {
        let before =
            |t: &Token| t.span.file == file && t.span.end <= offset && t.span.start < offset;
        let mut count = tokens.iter().rposition(before).map_or(0, |i| i + 1);
        let from = match count.checked_sub(1).and_then(|i| tokens.get(i)) {
            Some(last) => last.span.end,
            None => 0,
        };
        let gap = map.text(Span::new(file, from, offset));
        let cut = tokens.get(count).is_some_and(|t| {
            let inside = t.span.file == file && t.span.start < offset && offset < t.span.end;
            // The name that is being typed is not what one looks for.
            inside && matches!(t.kind, TokenKind::String | TokenKind::Int)
        });
        let mut number = false;
        if let Some(last) = count.checked_sub(1).and_then(|i| tokens.get(i))
            && last.span.end == offset
        {
            match last.kind {
                TokenKind::Ident | TokenKind::Keyword(_) => count -= 1,
                TokenKind::Int => number = true,
                _ => {}
            }
        }
        let mut context = Self {
            tokens: &tokens[..count],
            wanted: Wanted::Nothing,
        };
        if !(cut || number || is_hidden(gap)) {
            context.wanted = context.find();
        }
        context
    }

    fn kind(&self, i: usize) -> Option<TokenKind> {
        self.tokens.get(i).map(|t| t.kind)
    }

    fn is(&self, i: Option<usize>, p: Punct) -> bool {
        i.and_then(|i| self.kind(i)) == Some(TokenKind::Punct(p))
    }

    fn keyword(&self, i: Option<usize>) -> Option<Keyword> {
        match i.and_then(|i| self.kind(i)) {
            Some(TokenKind::Keyword(k)) => Some(k),
            _ => None,
        }
    }

    fn find(&self) -> Wanted {
        let Some(last) = self.tokens.len().checked_sub(1) else {
            return Wanted::TopLevel;
        };
        let here = Some(last);
        if self.is(here, Punct::Dot) {
            return Wanted::Member;
        }
        if self.is(here, Punct::At) {
            return Wanted::Annotation;
        }
        match self.keyword(here) {
            Some(Keyword::Transition) => return Wanted::State { select: true },
            Some(Keyword::Typedef | Keyword::Type | Keyword::Const | Keyword::Extern) => {
                return Wanted::Type;
            }
            Some(Keyword::In | Keyword::Out | Keyword::InOut) => return Wanted::Type,
            Some(
                Keyword::Return | Keyword::Apply | Keyword::Else | Keyword::Key | Keyword::Entries,
            ) => {}
            // A new name follows, or no name at all.
            Some(_) => return Wanted::Nothing,
            None => {}
        }
        if self.kind(last) == Some(TokenKind::Ident) || self.ends_type(last) {
            return Wanted::Nothing;
        }
        self.inside(last)
    }

    /// Whether a type with arguments or a size ends at `last`, so that a name follows.
    fn ends_type(&self, last: usize) -> bool {
        let open = match self.kind(last) {
            Some(TokenKind::Punct(Punct::Gt)) => self.opening_angle(last),
            Some(TokenKind::Punct(Punct::RBracket)) => self.opening(last),
            _ => None,
        };
        let Some(name) = open.and_then(|open| open.checked_sub(1)) else {
            return false;
        };
        if self.keyword(Some(name)).is_some() || self.ends_type(name) {
            return true;
        }
        let before = name.checked_sub(1);
        let begins = [Punct::LBrace, Punct::RBrace, Punct::Semicolon];
        before.is_none() || begins.iter().any(|p| self.is(before, *p))
    }

    /// What may stand behind `last`, by the bracket around it.
    fn inside(&self, last: usize) -> Wanted {
        let here = Some(last);
        let begins = [Punct::LBrace, Punct::RBrace, Punct::Semicolon]
            .iter()
            .any(|p| self.is(here, *p));
        let Some(open) = self.open_bracket() else {
            return match begins || self.closes_annotation(last) {
                true => Wanted::TopLevel,
                false => Wanted::Expression,
            };
        };
        if !self.is(Some(open), Punct::LBrace) {
            let params = self.is(Some(open), Punct::LParen) && self.declares(open);
            return match params {
                true if last == open || self.is(here, Punct::Comma) => Wanted::Parameter,
                true if self.is(here, Punct::Gt) || self.is(here, Punct::RBracket) => {
                    Wanted::Nothing
                }
                _ => Wanted::Expression,
            };
        }
        let before = open.checked_sub(1);
        let name = open.checked_sub(2);
        if self.is(before, Punct::Assign) {
            return match self.keyword(name) {
                Some(Keyword::Actions) => Wanted::Action,
                Some(Keyword::Key) if self.is(here, Punct::Colon) => Wanted::MatchKind,
                Some(Keyword::Entries) if self.is(here, Punct::Colon) => Wanted::Action,
                Some(Keyword::Entries) => Wanted::Keyset,
                _ => Wanted::Expression,
            };
        }
        match self.keyword(name) {
            Some(Keyword::Table) => {
                let colon = self.is(here, Punct::Assign);
                let default = last.checked_sub(1).and_then(|i| self.tokens.get(i));
                return match (begins, colon) {
                    (true, _) => Wanted::Property,
                    (_, true) if default.is_some_and(|t| &*t.text == "default_action") => {
                        Wanted::Action
                    }
                    _ => Wanted::Expression,
                };
            }
            Some(Keyword::Header | Keyword::Struct | Keyword::HeaderUnion) if begins => {
                return Wanted::Type;
            }
            Some(Keyword::Extern) if begins => return Wanted::Type,
            Some(Keyword::Enum) => return Wanted::Nothing,
            Some(Keyword::State) if begins => return Wanted::ParserStatement,
            _ => {}
        }
        if self.is(before, Punct::RParen)
            && let Some(paren) = before.and_then(|i| self.opening(i))
        {
            let word = paren.checked_sub(1);
            if self.keyword(word) == Some(Keyword::Select) {
                return match self.is(here, Punct::Colon) {
                    true => Wanted::State { select: false },
                    false => Wanted::Keyset,
                };
            }
            if begins || self.closes_annotation(last) {
                match self.declared_word(paren) {
                    Some(Keyword::Control) => return Wanted::ControlLocal,
                    Some(Keyword::Parser) => return Wanted::ParserLocal,
                    _ => {}
                }
            }
        }
        let starts = begins || self.keyword(here) == Some(Keyword::Else);
        match starts || self.is(here, Punct::RParen) {
            true => Wanted::Statement,
            false => Wanted::Expression,
        }
    }

    /// Whether `last` closes the arguments of an annotation.
    fn closes_annotation(&self, last: usize) -> bool {
        let open = match self.is(Some(last), Punct::RParen) {
            true => self.opening(last),
            false => None,
        };
        open.and_then(|i| i.checked_sub(2))
            .is_some_and(|i| self.is(Some(i), Punct::At))
    }

    /// The innermost bracket that is open behind the last token.
    fn open_bracket(&self) -> Option<usize> {
        let mut depth = 0_usize;
        for (i, token) in self.tokens.iter().enumerate().rev() {
            match token.kind {
                TokenKind::Punct(Punct::RBrace | Punct::RParen | Punct::RBracket) => depth += 1,
                TokenKind::Punct(Punct::LBrace | Punct::LParen | Punct::LBracket) => {
                    match depth.checked_sub(1) {
                        Some(less) => depth = less,
                        None => return Some(i),
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The bracket that the one at `close` closes.
    fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for i in (0..=close).rev() {
            match self.kind(i) {
                Some(TokenKind::Punct(Punct::RBrace | Punct::RParen | Punct::RBracket)) => {
                    depth += 1;
                }
                Some(TokenKind::Punct(Punct::LBrace | Punct::LParen | Punct::LBracket)) => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The `<` that the `>` at `close` closes.
    fn opening_angle(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for i in (0..=close).rev() {
            match self.kind(i)? {
                TokenKind::Punct(Punct::Gt) => depth += 1,
                TokenKind::Punct(Punct::Lt) => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                TokenKind::Ident | TokenKind::Int | TokenKind::Keyword(_) => {}
                TokenKind::Punct(Punct::Comma | Punct::LParen | Punct::RParen) => {}
                _ => return None,
            }
        }
        None
    }

    /// The word that begins the declaration whose parameters begin at `paren`.
    fn declared_word(&self, paren: usize) -> Option<Keyword> {
        let mut at = paren.checked_sub(1)?;
        if self.is(Some(at), Punct::RParen) {
            return self.declared_word(self.opening(at)?);
        }
        if self.is(Some(at), Punct::Gt) {
            at = self.opening_angle(at)?.checked_sub(1)?;
        }
        self.keyword(at.checked_sub(1))
    }

    /// Whether the parenthesis at `open` begins parameters.
    fn declares(&self, open: usize) -> bool {
        let Some(name) = open.checked_sub(1) else {
            return false;
        };
        if self.is(Some(name), Punct::RParen) {
            return self.declared_word(open).is_some();
        }
        if self.declared_word(open).is_some_and(|k| {
            use Keyword as K;
            matches!(
                k,
                K::Action | K::Control | K::Parser | K::Package | K::Void | K::Bool
            )
        }) {
            return true;
        }
        // `T name(`, `bit<8> name(`: a function or method.
        let typed = name.checked_sub(1);
        let named = self.kind(name) == Some(TokenKind::Ident);
        named
            && (self.is(typed, Punct::Gt)
                || typed.and_then(|i| self.kind(i)) == Some(TokenKind::Ident))
    }

    /// The tokens of the expression that ends in front of `end`: names, members, calls, elements.
    fn chain(&self, end: usize) -> &'t [Token] {
        let mut start = end;
        while let Some(last) = start.checked_sub(1) {
            match self.kind(last) {
                Some(TokenKind::Punct(Punct::RParen | Punct::RBracket)) => {
                    let Some(open) = self.opening(last) else {
                        break;
                    };
                    start = open;
                    // `(a).b`: nothing is called.
                    let called = open.checked_sub(1).and_then(|i| self.kind(i));
                    match called {
                        Some(TokenKind::Ident | TokenKind::Punct(Punct::RBracket)) => continue,
                        Some(TokenKind::Keyword(Keyword::Apply)) => continue,
                        Some(TokenKind::Punct(Punct::Gt)) => {
                            let Some(angle) =
                                open.checked_sub(1).and_then(|i| self.opening_angle(i))
                            else {
                                break;
                            };
                            start = angle;
                            continue;
                        }
                        _ => break,
                    }
                }
                Some(TokenKind::Ident) => start = last,
                Some(TokenKind::Keyword(
                    Keyword::Error
                    | Keyword::This
                    | Keyword::Apply
                    | Keyword::Key
                    | Keyword::Type
                    | Keyword::List
                    | Keyword::State
                    | Keyword::Priority,
                )) => start = last,
                _ => break,
            }
            match start.checked_sub(1) {
                Some(dot) if self.is(Some(dot), Punct::Dot) => {
                    start = dot;
                    let base = dot.checked_sub(1).and_then(|i| self.kind(i));
                    let based = matches!(
                        base,
                        Some(
                            TokenKind::Ident
                                | TokenKind::Keyword(_)
                                | TokenKind::Punct(Punct::RParen | Punct::RBracket)
                        )
                    );
                    if !based {
                        // `.name` of the top level.
                        break;
                    }
                }
                _ => break,
            }
        }
        self.tokens.get(start..end).unwrap_or_default()
    }

    /// What stands before the dot at the end.
    pub(super) fn base(&self) -> &'t [Token] {
        self.chain(self.tokens.len().saturating_sub(1))
    }

    /// What the value at the end is compared with or assigned to.
    pub(super) fn beside(&self) -> &'t [Token] {
        let behind = match self.wanted {
            Wanted::Member => self.tokens.len() - 1 - self.base().len(),
            _ => self.tokens.len(),
        };
        let Some(operator) = behind.checked_sub(1) else {
            return &[];
        };
        let compares = [
            Punct::Assign,
            Punct::EqEq,
            Punct::Ne,
            Punct::Lt,
            Punct::Le,
            Punct::Ge,
            Punct::Plus,
            Punct::Minus,
            Punct::And,
            Punct::Or,
            Punct::Caret,
            Punct::PlusEq,
            Punct::MinusEq,
            Punct::AndEq,
            Punct::OrEq,
            Punct::CaretEq,
            Punct::PlusSat,
            Punct::MinusSat,
        ];
        match compares.iter().any(|p| self.is(Some(operator), *p)) {
            true => self.chain(operator),
            false => &[],
        }
    }

    /// The call whose arguments the place is among: what is called, and how many arguments stand
    /// before.
    pub(super) fn call(&self) -> Option<(&'t [Token], usize)> {
        let mut end = self.tokens.len();
        // Out of initialisers and other brackets in an argument.
        for _ in 0..8 {
            let inner = Self {
                tokens: &self.tokens[..end],
                wanted: self.wanted,
            };
            let open = inner.open_bracket()?;
            if self.is(Some(open), Punct::LParen) && !self.declares(open) {
                let mut name = open;
                if let Some(angle) = open.checked_sub(1)
                    && self.is(Some(angle), Punct::Gt)
                {
                    name = self.opening_angle(angle)?;
                }
                let callee = self.chain(name);
                if !callee.is_empty() {
                    return Some((callee, inner.commas_behind(open)));
                }
            } else if self.is(Some(open), Punct::LBrace) && self.statement_block(open) {
                return None;
            }
            end = open;
        }
        None
    }

    /// Whether a brace opens a block rather than an initialiser.
    fn statement_block(&self, open: usize) -> bool {
        let before = open.checked_sub(1);
        !(self.is(before, Punct::Comma)
            || self.is(before, Punct::LParen)
            || self.is(before, Punct::Assign))
    }

    fn commas_behind(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        let mut count = 0;
        for token in self.tokens.iter().skip(open + 1) {
            match token.kind {
                TokenKind::Punct(Punct::LBrace | Punct::LParen | Punct::LBracket | Punct::Lt) => {
                    depth += 1;
                }
                TokenKind::Punct(Punct::RBrace | Punct::RParen | Punct::RBracket | Punct::Gt) => {
                    depth = depth.saturating_sub(1);
                }
                TokenKind::Punct(Punct::Comma) if depth == 0 => count += 1,
                _ => {}
            }
        }
        count
    }
}

/// Whether what follows a text stands in a comment or a directive.
fn is_hidden(gap: &str) -> bool {
    let line = gap.rsplit('\n').next().unwrap_or_default();
    if line.contains("//") || (gap.contains('\n') && line.trim_start().starts_with('#')) {
        return true;
    }
    match gap.rfind("/*") {
        Some(open) => !gap[open..].contains("*/"),
        None => false,
    }
}

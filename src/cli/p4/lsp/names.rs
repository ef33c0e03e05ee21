//! What a program's names are, found in its tokens: so that a program that is being typed, and has errors, has names all the same.

use p4front::Options;
use p4front::diag::Diagnostics;
use p4front::lex::{Keyword, Punct, Token, TokenKind};
use p4front::pp;
use p4front::source::{FileId, SourceMap, Span};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A header, struct, enum or other type.
    Type,
    Control,
    Parser,
    Action,
    Table,
    State,
    Constant,
    /// A variable, parameter or instance.
    Variable,
    /// Of a header or struct.
    Field,
    /// Of an extern.
    Method,
}

/// A name and where it is declared.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// The name of its type, for variables and fields.
    ty: Option<String>,
    /// The tokens in which it is known; of a field, those of its record.
    scope: (usize, usize),
    /// The record or extern that a field or method is of.
    owner: Option<String>,
}

/// A program's tokens and declarations.
pub(super) struct Names {
    tokens: Vec<Token>,
    main: FileId,
    pub(super) declarations: Vec<Declaration>,
}

/// A construct with braces.
struct Region {
    start: usize,
    end: usize,
    name: String,
    word: Keyword,
}

impl Names {
    pub(super) fn of(map: &mut SourceMap, main: FileId, options: &Options) -> Self {
        let mut diags = Diagnostics::new();
        let tokens = pp::preprocess(map, main, options, &mut diags).tokens;
        let regions = regions(&tokens);
        let declarations = declarations(&tokens, &regions);
        Self {
            tokens,
            main,
            declarations,
        }
    }

    /// The token at, or right before, a place of the main file.
    fn at(&self, offset: u32) -> Option<usize> {
        let here =
            |t: &Token| t.span.file == self.main && t.span.start <= offset && offset <= t.span.end;
        let name = |t: &Token| t.kind == TokenKind::Ident;
        let mut found = (0..self.tokens.len()).filter(|i| here(&self.tokens[*i]));
        let first = found.next()?;
        // Between two tokens that touch, the name is meant.
        match found.next() {
            Some(second) if !name(&self.tokens[first]) => Some(second),
            _ => Some(first),
        }
    }

    /// What the name at a place stands for.
    pub(super) fn declaration_at(&self, offset: u32) -> Option<&Declaration> {
        let at = self.at(offset)?;
        let name = &*self.tokens[at].text;
        if let Some(declared) = self
            .declarations
            .iter()
            .find(|d| d.span == self.tokens[at].span)
        {
            return Some(declared);
        }
        match at.checked_sub(1) {
            Some(dot) if is(&self.tokens[dot], Punct::Dot) => self.member(dot, name),
            _ => self.visible(name, at),
        }
    }

    /// The innermost declaration of a name that is known at a token.
    fn visible(&self, name: &str, at: usize) -> Option<&Declaration> {
        let known = self.known(at).filter(|d| d.name == name);
        known.min_by_key(|d| d.scope.1 - d.scope.0)
    }

    /// What is known at a token.
    fn known(&self, at: usize) -> impl Iterator<Item = &Declaration> {
        self.declarations
            .iter()
            .filter(move |d| d.owner.is_none() && d.scope.0 <= at && at <= d.scope.1)
    }

    /// The member that stands behind a dot: of the type of what stands before it, or of any.
    fn member(&self, dot: usize, name: &str) -> Option<&Declaration> {
        let of = self.type_before(dot);
        let mut members = self
            .declarations
            .iter()
            .filter(|d| d.owner.is_some() && d.name == name);
        let own = |d: &&Declaration| of.is_some() && d.owner == of;
        members.clone().find(own).or_else(|| members.next())
    }

    /// The name of the type of what stands before a dot.
    fn type_before(&self, dot: usize) -> Option<String> {
        let mut at = dot.checked_sub(1)?;
        // An element has the type that the stack is declared with.
        if is(&self.tokens[at], Punct::RBracket) {
            while !is(&self.tokens[at], Punct::LBracket) {
                at = at.checked_sub(1)?;
            }
            at = at.checked_sub(1)?;
        }
        let name = &*self.tokens[at].text;
        let declared = match at.checked_sub(1) {
            Some(before) if is(&self.tokens[before], Punct::Dot) => self.member(before, name),
            _ => self.visible(name, at),
        };
        declared.and_then(|d| d.ty.clone())
    }

    /// What may stand at a place: members behind a dot, else everything known.
    pub(super) fn candidates(&self, offset: u32) -> Vec<&Declaration> {
        let before = |t: &Token| t.span.file == self.main && t.span.end <= offset;
        let Some(mut last) = self.tokens.iter().rposition(before) else {
            return Vec::new();
        };
        // The name that is being typed is not what one looks for.
        let typed = &self.tokens[last];
        if typed.kind == TokenKind::Ident && typed.span.end == offset && last > 0 {
            last -= 1;
        }
        if !is(&self.tokens[last], Punct::Dot) {
            return self.known(last).collect();
        }
        let of = self.type_before(last);
        let members = self.declarations.iter().filter(|d| d.owner.is_some());
        match of {
            Some(of) => members
                .filter(|d| d.owner.as_deref() == Some(&*of))
                .collect(),
            None => members.collect(),
        }
    }
}

fn is(token: &Token, punct: Punct) -> bool {
    token.kind == TokenKind::Punct(punct)
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token.kind {
        TokenKind::Keyword(k) => Some(k),
        _ => None,
    }
}

/// Where the brace is that closes the one at `open`; the last token if none does.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            TokenKind::Punct(Punct::LBrace) => depth += 1,
            TokenKind::Punct(Punct::RBrace) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// Constructs that begin with a word and a name.
fn regions(tokens: &[Token]) -> Vec<Region> {
    let mut found = Vec::new();
    for (i, pair) in tokens.windows(2).enumerate() {
        let (Some(word), TokenKind::Ident) = (keyword(&pair[0]), pair[1].kind) else {
            continue;
        };
        let opens = [
            Keyword::Header,
            Keyword::HeaderUnion,
            Keyword::Struct,
            Keyword::Enum,
            Keyword::Control,
            Keyword::Parser,
            Keyword::Action,
            Keyword::Table,
            Keyword::State,
            Keyword::Extern,
        ];
        if !opens.contains(&word) {
            continue;
        }
        let stop = |t: &Token| is(t, Punct::LBrace) || is(t, Punct::Semicolon);
        let Some(open) = tokens[i..].iter().position(stop).map(|n| n + i) else {
            continue;
        };
        let end = if is(&tokens[open], Punct::LBrace) {
            closing(tokens, open)
        } else {
            open
        };
        found.push(Region {
            start: i,
            end,
            name: pair[1].text.to_string(),
            word,
        });
    }
    found
}

fn declarations(tokens: &[Token], regions: &[Region]) -> Vec<Declaration> {
    let all = (0, tokens.len());
    let within = |i: usize| {
        let around = regions.iter().filter(|r| r.start < i && i <= r.end);
        around.min_by_key(|r| r.end - r.start)
    };
    let mut found = Vec::new();
    for region in regions {
        let kind = match region.word {
            Keyword::Control => Kind::Control,
            Keyword::Parser => Kind::Parser,
            Keyword::Action => Kind::Action,
            Keyword::Table => Kind::Table,
            Keyword::State => Kind::State,
            _ => Kind::Type,
        };
        let outer = within(region.start);
        found.push(Declaration {
            name: region.name.clone(),
            kind,
            span: tokens[region.start + 1].span,
            // A table is of a type that is its own: what `apply` is of.
            ty: None,
            scope: outer.map_or(all, |r| (r.start, r.end)),
            owner: None,
        });
    }
    for i in 1..tokens.len().saturating_sub(1) {
        if tokens[i].kind != TokenKind::Ident
            || keyword(&tokens[i - 1]).is_some_and(|k| !is_type(k))
        {
            continue;
        }
        let ends = [Punct::Semicolon, Punct::Comma, Punct::RParen, Punct::Assign];
        let outer = within(i);
        let word = outer.map(|r| r.word);
        // A method may have type parameters.
        let generic = word == Some(Keyword::Extern) && is(&tokens[i + 1], Punct::Lt);
        let method = generic || is(&tokens[i + 1], Punct::LParen);
        if !method && !ends.iter().any(|p| is(&tokens[i + 1], *p)) {
            continue;
        }
        let Some(ty) = type_before(tokens, i) else {
            continue;
        };
        let record = matches!(
            word,
            Some(Keyword::Header | Keyword::HeaderUnion | Keyword::Struct)
        );
        let (kind, owned) = match (word, method) {
            (_, false) if record => (Kind::Field, true),
            (Some(Keyword::Extern), true) => (Kind::Method, true),
            (_, true) => continue,
            _ if is_constant(tokens, i) => (Kind::Constant, false),
            _ => (Kind::Variable, false),
        };
        found.push(Declaration {
            name: tokens[i].text.to_string(),
            kind,
            span: tokens[i].span,
            ty,
            scope: outer.map_or(all, |r| (r.start, r.end)),
            owner: owned.then(|| outer.map(|r| r.name.clone())).flatten(),
        });
    }
    found
}

fn is_type(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::Bool
            | Keyword::Bit
            | Keyword::Int
            | Keyword::Error
            | Keyword::String
            | Keyword::Varbit
            | Keyword::Void
    )
}

/// Whether a type stands before a token; its name, if it has one.
fn type_before(tokens: &[Token], i: usize) -> Option<Option<String>> {
    let mut at = i - 1;
    // `T[4] name`
    if is(&tokens[at], Punct::RBracket) {
        while !is(&tokens[at], Punct::LBracket) {
            at = at.checked_sub(1)?;
        }
        at = at.checked_sub(1)?;
    }
    // `T<...> name`, `T(...) name`
    for (close, open) in [
        (Punct::Gt, Punct::Lt),
        (Punct::RParen, Punct::LParen),
        (Punct::Gt, Punct::Lt),
    ] {
        if !is(&tokens[at], close) {
            continue;
        }
        let mut depth = 0;
        loop {
            depth += i32::from(is(&tokens[at], close)) - i32::from(is(&tokens[at], open));
            if depth == 0 {
                break;
            }
            if is(&tokens[at], Punct::Semicolon) || is(&tokens[at], Punct::LBrace) {
                return None;
            }
            at = at.checked_sub(1)?;
        }
        at = at.checked_sub(1)?;
    }
    match (tokens[at].kind, keyword(&tokens[at])) {
        (TokenKind::Ident, _) => Some(Some(tokens[at].text.to_string())),
        (_, Some(word)) if is_type(word) => Some(None),
        _ => None,
    }
}

/// Whether `const` stands before the type of a name.
fn is_constant(tokens: &[Token], i: usize) -> bool {
    let before = tokens[..i].iter().rev().take(8);
    before
        .take_while(|t| !is(t, Punct::Semicolon) && !is(t, Punct::RBrace))
        .any(|t| keyword(t) == Some(Keyword::Const))
}

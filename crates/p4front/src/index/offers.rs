//! What may be written at a place, and what a call takes.

use crate::ast::{self, Expr};
use crate::lex::{Punct, Token, TokenKind};
use crate::lower::{Known, Member, Probe, Seen, probe};
use crate::source::{FileId, Span};

use super::Reading;
use super::anchor::Place;
use super::context::{Context, Wanted, tokens_before};
use super::symbols::{Kind, Symbol};

/// What an offer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// A declared name.
    Declared(Kind),
    /// A member that the language defines: read.
    BuiltInField,
    /// A member that the language defines: called.
    BuiltInMethod,
    /// A reserved word.
    Keyword,
    /// A state that the language defines.
    State,
    /// A property of a table.
    Property,
    /// An annotation.
    Annotation,
}

/// Something that may be written at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What is written.
    pub name: String,
    /// What it is.
    pub kind: OfferKind,
    /// Its declaration, on one line.
    pub detail: String,
    /// What its author says of it.
    pub documentation: String,
    /// Offers of a lower rank are more likely.
    pub rank: u32,
}

/// A function that may be meant by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The declaration, on one line.
    pub label: String,
    /// What its author says of it.
    pub documentation: String,
    /// The parameters as they are written.
    pub params: Vec<String>,
}

/// A call that a place is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What may be meant.
    pub signatures: Vec<Signature>,
    /// Arguments before the place.
    pub argument: usize,
}

/// Ranks of what is not declared nearby.
const NOT_FITTING: u32 = 100;
const WORD: u32 = 60;
const LANGUAGE: u32 = 70;

/// Words that begin or make values.
const VALUES: &[&str] = &["true", "false"];
const STATEMENTS: &[&str] = &["if", "else", "switch", "for", "return", "exit", "const"];
const PARSER_STATEMENTS: &[&str] = &["transition", "if", "const"];
const CONTROL_LOCALS: &[&str] = &["action", "apply", "const", "table"];
const PARSER_LOCALS: &[&str] = &["const", "state", "value_set"];
const TOP_LEVEL: &[&str] = &[
    "action",
    "const",
    "control",
    "enum",
    "error",
    "extern",
    "header",
    "header_union",
    "match_kind",
    "package",
    "parser",
    "struct",
    "type",
    "typedef",
];
const TYPES: &[&str] = &[
    "bit", "bool", "error", "int", "string", "tuple", "varbit", "void",
];
const DIRECTIONS: &[&str] = &["in", "inout", "out"];
const PROPERTIES: &[(&str, &str)] = &[
    ("actions", "The actions that entries can have."),
    (
        "const",
        "What follows cannot be changed by the control plane.",
    ),
    ("counters", "The direct counter of the entries."),
    ("default_action", "What is done where no entry matches."),
    ("entries", "Entries that the table begins with."),
    ("implementation", "The action profile or selector."),
    ("key", "What is matched, and how."),
    ("meters", "The direct meter of the entries."),
    ("size", "How many entries the table must be able to hold."),
    ("support_timeout", "Whether entries can be idle."),
];
const ANNOTATIONS: &[(&str, &str)] = &[
    ("atomic", "The block is executed as one."),
    ("defaultonly", "The action is only the default."),
    ("hidden", "The control plane does not see it."),
    ("name", "The name that the control plane sees."),
    ("optional", "The parameter needs no argument."),
    ("priority", "The priority of the entry."),
    ("tableonly", "The action is never the default."),
];

impl Reading {
    /// What may be written at a place.
    pub fn offers(&self, file: FileId, offset: u32) -> Vec<Offer> {
        let tokens = tokens_before(&self.map, &self.tokens, file, offset);
        let context = Context::new(&self.map, &tokens, file, offset);
        if context.wanted == Wanted::Nothing {
            return Vec::new();
        }
        let mut question = self.question(file, offset);
        if context.wanted == Wanted::Member {
            question.base = self.base_of(context.base());
            if question.base.is_none() {
                return Vec::new();
            }
        }
        question.beside = self.base_of(context.beside());
        if question.beside.is_none() {
            let call = context.call();
            question.call = call.and_then(|(callee, n)| Some((self.base_of(callee)?, n)));
        }
        let seen = probe(&self.program, &self.map, &question);
        let mut offers = match context.wanted {
            Wanted::Member => self.members(&seen),
            wanted => self.names(wanted, &seen, &question),
        };
        offers.sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
        offers
    }

    /// The call that a place is in.
    pub fn call_at(&self, file: FileId, offset: u32) -> Option<Call> {
        let tokens = tokens_before(&self.map, &self.tokens, file, offset);
        let context = Context::new(&self.map, &tokens, file, offset);
        let (callee, argument) = context.call()?;
        let mut question = self.question(file, offset);
        question.call = Some((self.base_of(callee)?, argument));
        let seen = probe(&self.program, &self.map, &question);
        let meant = seen
            .callees
            .iter()
            .filter_map(|at| self.symbol_named_at(*at));
        let signatures: Vec<Signature> = meant.map(|s| self.signature(s)).collect();
        (!signatures.is_empty()).then_some(Call {
            signatures,
            argument,
        })
    }

    fn signature(&self, symbol: &Symbol) -> Signature {
        let param = |span: &Span| {
            let words = self.map.text(*span).split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        Signature {
            label: symbol.signature(&self.map),
            documentation: symbol.documentation(&self.map),
            params: symbol.params.iter().map(param).collect(),
        }
    }

    fn question(&self, file: FileId, offset: u32) -> Probe {
        let place = Place {
            map: &self.map,
            file,
            offset,
        };
        let (inside, before, anchor) = place.anchor(&self.program);
        Probe {
            anchor,
            inside,
            place: Span::new(file, offset, offset),
            before,
            base: None,
            beside: None,
            call: None,
        }
    }

    /// An expression, or the name of a type, from its tokens.
    fn base_of(&self, tokens: &[Token]) -> Option<Expr> {
        let last = tokens.last()?;
        let behind = |kind, text: &str| Token {
            kind,
            text: text.into(),
            span: last.span.after(),
            bol: false,
            joint: false,
        };
        let mut all = tokens.to_vec();
        all.push(behind(TokenKind::Punct(Punct::Dot), "."));
        all.push(behind(TokenKind::Ident, "_member"));
        let types = self
            .symbols
            .iter()
            .filter(|s| s.parent.is_none() && s.kind.is_type());
        crate::parse::parse_base(all, types.map(|s| &s.name))
    }

    fn members(&self, seen: &Seen) -> Vec<Offer> {
        let offer = |(place, member): (u32, &Member)| match member {
            Member::Declared { name, at, ty } => {
                let fits = ty.is_some() && *ty == seen.want;
                let mut offer = self.declared(name, *at, place + 1);
                offer.rank = if fits { 0 } else { place + 1 };
                offer
            }
            Member::BuiltIn(built_in) => Offer {
                name: built_in.name.to_owned(),
                kind: match built_in.method {
                    true => OfferKind::BuiltInMethod,
                    false => OfferKind::BuiltInField,
                },
                detail: built_in.signature.to_owned(),
                documentation: built_in.meaning.to_owned(),
                rank: place + 1,
            },
        };
        (0..).zip(&seen.members).map(offer).collect()
    }

    fn declared(&self, name: &str, at: Span, rank: u32) -> Offer {
        let symbol = self.symbol_named_at(at);
        Offer {
            name: name.to_owned(),
            kind: OfferKind::Declared(symbol.map_or(Kind::Variable, |s| s.kind)),
            detail: symbol.map_or(String::new(), |s| s.signature(&self.map)),
            documentation: symbol.map_or(String::new(), |s| s.documentation(&self.map)),
            rank,
        }
    }

    fn names(&self, wanted: Wanted, seen: &Seen, question: &Probe) -> Vec<Offer> {
        let mut offers = Vec::new();
        match wanted {
            Wanted::State { select } => return self.states(select, question),
            Wanted::MatchKind => return self.match_kinds(),
            Wanted::Annotation => return listed(ANNOTATIONS, OfferKind::Annotation),
            Wanted::Property => return listed(PROPERTIES, OfferKind::Property),
            _ => {}
        }
        for known in &seen.names {
            let kind = self.symbol_named_at(known.at).map(|s| s.kind);
            let Some(rank) = kind.and_then(|kind| rank(wanted, kind)) else {
                continue;
            };
            let offer = self.declared(&known.name, known.at, 0);
            offers.push(Offer {
                rank: rank + fitting(known, seen),
                ..offer
            });
        }
        for word in words(wanted) {
            offers.extend(word.iter().map(|word| keyword(word)));
        }
        offers
    }

    /// States of the parser around the place.
    fn states(&self, select: bool, question: &Probe) -> Vec<Offer> {
        let decl = question.inside.and_then(|i| self.program.decls.get(i));
        let mut offers = Vec::new();
        if let Some(ast::DeclKind::Parser(parser)) = decl.map(|d| &d.kind) {
            let names = parser.states.iter().map(|s| &s.name);
            offers.extend(
                (2..)
                    .zip(names)
                    .map(|(rank, n)| self.declared(&n.name, n.span, rank)),
            );
        }
        for name in ["accept", "reject"] {
            let built_in = crate::lower::built_in(name);
            offers.push(Offer {
                name: name.to_owned(),
                kind: OfferKind::State,
                detail: built_in.map_or("", |b| b.signature).to_owned(),
                documentation: built_in.map_or("", |b| b.meaning).to_owned(),
                rank: 1,
            });
        }
        if select {
            offers.push(Offer {
                rank: 0,
                ..keyword("select")
            });
        }
        offers
    }

    fn match_kinds(&self) -> Vec<Offer> {
        let kinds = self.symbols.iter().filter(|s| s.kind == Kind::MatchKind);
        let ranked = (0..).zip(kinds);
        ranked
            .map(|(rank, s)| self.declared(&s.name, s.span, rank))
            .collect()
    }
}

/// How far a name is from what fits.
fn fitting(known: &Known, seen: &Seen) -> u32 {
    let near = known.distance.min(9);
    match &seen.want {
        Some(want) if known.ty.as_ref() == Some(want) => near,
        Some(_) => near + 20,
        None => near,
    }
}

fn keyword(word: &str) -> Offer {
    Offer {
        name: word.to_owned(),
        kind: OfferKind::Keyword,
        detail: String::new(),
        documentation: String::new(),
        rank: WORD,
    }
}

fn listed(all: &[(&str, &str)], kind: OfferKind) -> Vec<Offer> {
    let offer = |(name, meaning): &(&str, &str)| Offer {
        name: (*name).to_owned(),
        kind,
        detail: String::new(),
        documentation: (*meaning).to_owned(),
        rank: LANGUAGE,
    };
    all.iter().map(offer).collect()
}

/// Reserved words that may stand at a place.
fn words(wanted: Wanted) -> &'static [&'static [&'static str]] {
    match wanted {
        Wanted::Expression => &[VALUES],
        Wanted::Keyset => &[VALUES, &["default"]],
        Wanted::Statement => &[STATEMENTS, TYPES],
        Wanted::ParserStatement => &[PARSER_STATEMENTS, TYPES],
        Wanted::ControlLocal => &[CONTROL_LOCALS, TYPES],
        Wanted::ParserLocal => &[PARSER_LOCALS, TYPES],
        Wanted::TopLevel => &[TOP_LEVEL, TYPES],
        Wanted::Type => &[TYPES],
        Wanted::Parameter => &[DIRECTIONS, TYPES],
        _ => &[],
    }
}

/// How unlikely something of a kind is at a place; none if it cannot stand there.
fn rank(wanted: Wanted, kind: Kind) -> Option<u32> {
    use Kind as K;
    let value = matches!(
        kind,
        K::Constant | K::Variable | K::Param | K::Instance | K::Table | K::ValueSet
    );
    let called = matches!(kind, K::Action | K::Function | K::ExternFunction);
    let block = matches!(
        kind,
        K::Parser | K::Control | K::ParserType | K::ControlType | K::Package
    );
    let local = kind.is_type() && !block;
    match wanted {
        Wanted::Action => (kind == K::Action).then_some(0),
        Wanted::Expression | Wanted::Keyset => match kind {
            K::Table => Some(5),
            K::Action => None,
            _ if value => Some(0),
            _ if called => Some(10),
            K::Enum => Some(10),
            _ if kind.is_type() => Some(NOT_FITTING),
            _ => None,
        },
        Wanted::Statement | Wanted::ParserStatement => match kind {
            K::Action | K::Table | K::Control if wanted == Wanted::ParserStatement => None,
            K::Parser if wanted == Wanted::Statement => None,
            K::ParserType | K::ControlType | K::Package | K::Extern => None,
            K::Constant => Some(40),
            _ if value || called => Some(0),
            _ if local => Some(20),
            _ if block => Some(30),
            _ => None,
        },
        Wanted::ControlLocal | Wanted::ParserLocal | Wanted::TopLevel => {
            kind.is_type().then_some(0)
        }
        Wanted::Type | Wanted::Parameter => match kind {
            _ if local => Some(0),
            K::Constant => None,
            _ if block => Some(NOT_FITTING),
            _ => None,
        },
        _ => None,
    }
}

//! Macro definitions, and putting arguments into their bodies: `#`, `##`, variadic macros.

use crate::ast::Symbol;
use crate::diag::Diagnostics;
use crate::lex::{Interner, Punct, RawKind, RawToken, Scanner};
use crate::source::{FileId, Span};

/// A macro.
#[derive(Debug)]
pub(super) struct Macro {
    /// Where its name stands in the definition; none if defined by an option.
    pub(super) defined_at: Option<Span>,
    /// Parameters; none for an object-like macro.
    pub(super) params: Option<Params>,
    /// What it stands for.
    pub(super) body: Vec<Item>,
}

/// Parameters of a function-like macro.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Params {
    /// Their names.
    pub(super) names: Vec<Symbol>,
    /// The last one takes all further arguments.
    pub(super) variadic: bool,
}

/// An element of a macro's body.
#[derive(Debug)]
pub(super) enum Item {
    /// A token as it stands.
    Token(RawToken),
    /// Parameter number `.0`; `.1`: a space before it.
    Param(usize, bool),
    /// `#` and parameter number `.0`; `.1`: a space before it.
    Stringify(usize, bool),
    /// `##`
    Paste,
}

impl Item {
    /// Same meaning, wherever written: what makes a redefinition harmless.
    fn same(&self, other: &Item) -> bool {
        match (self, other) {
            (Item::Token(a), Item::Token(b)) => a.text == b.text,
            (Item::Param(a, _), Item::Param(b, _)) => a == b,
            (Item::Stringify(a, _), Item::Stringify(b, _)) => a == b,
            (Item::Paste, Item::Paste) => true,
            _ => false,
        }
    }
}

impl Macro {
    /// Reads a body from the tokens behind the name and the parameters.
    ///
    /// # Errors
    /// The place of a `##` with nothing before or behind it.
    pub(super) fn new(
        defined_at: Option<Span>,
        params: Option<Params>,
        tokens: Vec<RawToken>,
    ) -> Result<Self, Span> {
        let index = |t: &RawToken| match (&params, t.kind) {
            (Some(p), RawKind::Word) => p.names.iter().position(|n| *n == t.text),
            _ => None,
        };
        let mut body = Vec::with_capacity(tokens.len());
        let last = tokens.len().saturating_sub(1);
        let mut tokens = tokens.into_iter().enumerate().peekable();
        while let Some((i, t)) = tokens.next() {
            if t.is(Punct::HashHash) {
                if i == 0 || i == last {
                    return Err(t.span);
                }
                body.push(Item::Paste);
            } else if let Some(p) = index(&t) {
                body.push(Item::Param(p, t.space));
            } else if let (true, Some(p)) =
                (t.is(Punct::Hash), tokens.peek().and_then(|(_, n)| index(n)))
            {
                tokens.next();
                body.push(Item::Stringify(p, t.space));
            } else {
                body.push(Item::Token(t));
            }
        }
        Ok(Macro {
            defined_at,
            params,
            body,
        })
    }

    /// True if both definitions have the same parameters and body.
    pub(super) fn same(&self, other: &Macro) -> bool {
        self.params == other.params
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).all(|(a, b)| a.same(b))
    }
}

/// An argument of a macro call: as written, and fully expanded.
pub(super) struct Argument {
    pub(super) raw: Vec<RawToken>,
    pub(super) expanded: Vec<RawToken>,
}

/// Puts `args` into the body of `m`. All tokens of the body get the place `at`, the call.
pub(super) fn substitute(
    m: &Macro,
    args: &[Argument],
    at: Span,
    names: &mut Interner,
) -> Vec<RawToken> {
    let mut out: Vec<RawToken> = Vec::new();
    // Where the operand that a following `##` would take begins; empty if at the end.
    let mut operand = 0;
    let pasted = |i: usize| matches!(m.body.get(i), Some(Item::Paste));
    for (i, item) in m.body.iter().enumerate() {
        let paste_before = i > 0 && pasted(i - 1);
        let mut tokens = match item {
            Item::Paste => continue,
            Item::Token(t) => vec![RawToken {
                span: at,
                bol: false,
                ..t.clone()
            }],
            Item::Stringify(p, space) => vec![stringify(args.get(*p), at, *space, names)],
            Item::Param(p, space) => {
                let arg = args.get(*p).map_or(&[][..], |a| {
                    if paste_before || pasted(i + 1) {
                        &a.raw
                    } else {
                        &a.expanded
                    }
                });
                let mut v = arg.to_vec();
                if let Some(first) = v.first_mut() {
                    first.space = *space;
                }
                v
            }
        };
        let left_is_empty = out.len() == operand;
        if !paste_before {
            operand = out.len();
            out.append(&mut tokens);
        } else if elides_comma(m, item) && out.last().is_some_and(|t| t.is(Punct::Comma)) {
            if tokens.is_empty() {
                out.pop();
            }
            out.append(&mut tokens);
        } else if left_is_empty || tokens.is_empty() {
            out.append(&mut tokens);
        } else if let Some(left) = out.pop() {
            let right = tokens.remove(0);
            out.extend(paste(&left, &right, at, names));
            out.append(&mut tokens);
        }
    }
    out
}

/// `, ## __VA_ARGS__`: the comma goes if there are no further arguments.
fn elides_comma(m: &Macro, item: &Item) -> bool {
    match (item, &m.params) {
        (Item::Param(p, _), Some(params)) => params.variadic && p + 1 == params.names.len(),
        _ => false,
    }
}

/// Joins two tokens. Where the result is no single token it is several, as `cpp` has it.
fn paste(left: &RawToken, right: &RawToken, at: Span, names: &mut Interner) -> Vec<RawToken> {
    let text = format!("{}{}", left.text, right.text);
    let mut scanner = Scanner::new(FileId::default(), text.into());
    let mut diags = Diagnostics::new(); // `/` pasted to `*` opens a comment nobody wrote
    let mut out = Vec::new();
    loop {
        let mut t = scanner.next(names, &mut diags);
        if t.kind == RawKind::End {
            return out;
        }
        (t.span, t.bol) = (at, false);
        t.space = out.is_empty() && left.space;
        t.joint |= right.joint && out.is_empty();
        out.push(t);
    }
}

fn stringify(arg: Option<&Argument>, at: Span, space: bool, names: &mut Interner) -> RawToken {
    let mut text = String::from("\"");
    for (i, t) in arg.map_or(&[][..], |a| &a.raw).iter().enumerate() {
        if i > 0 && (t.space || t.bol) {
            text.push(' ');
        }
        if t.kind == RawKind::String {
            text.push_str(&t.text.replace('\\', "\\\\").replace('"', "\\\""));
        } else {
            text.push_str(&t.text);
        }
    }
    text.push('"');
    RawToken {
        kind: RawKind::String,
        text: names.get(&text),
        span: at,
        bol: false,
        space,
        joint: false,
        painted: false,
    }
}

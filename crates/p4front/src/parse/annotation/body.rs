//! Annotations with a known meaning: what their bodies must look like, and what they say.
//!
//! The language leaves the tokens of `@name(...)` to whoever knows the annotation. Those that the
//! language, v1model and P4Runtime define are checked while parsing ([`check`]), so that a mistake
//! is an error even if nobody asks; the readers ([`string`], [`integer`], [`expressions`],
//! [`key_values`], [`translation`]) give later stages their values. Structured bodies
//! (`@name[...]`) are read by the same functions.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::ast::{
    Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, BinaryOp, Expr, ExprKind,
    NamedExpr, Symbol,
};
use crate::diag::{Diagnostic, Diagnostics};
use crate::lex::{Keyword, Punct, Token, TokenKind, number, unescape};
use crate::names::closest;
use crate::parse::{parse_expression_list, parse_key_values};
use crate::source::Span;
use crate::tofino::ANNOTATIONS;

/// What the body of an annotation must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Nothing.
    Empty,
    /// One expression.
    Expression,
    /// One string, possibly joined of several with `++`.
    Text,
    /// Any number of expressions.
    Expressions,
    /// At least one `name = expression`.
    KeyValues,
    /// One integer literal.
    Integer,
    /// One string literal.
    String,
    /// String literals, at least one.
    Strings,
    /// A string literal and `string`, `bit<W>` or `W`.
    Translation,
}

/// The annotations that the language, v1model and P4Runtime give a meaning.
const KNOWN: [(&str, Shape); 34] = [
    ("atomic", Shape::Empty),
    ("defaultonly", Shape::Empty),
    ("tableonly", Shape::Empty),
    ("hidden", Shape::Empty),
    ("likely", Shape::Empty),
    ("unlikely", Shape::Empty),
    ("optional", Shape::Empty),
    ("pure", Shape::Empty),
    ("noSideEffects", Shape::Empty),
    ("disable_optimization", Shape::Empty),
    ("unroll", Shape::Empty),
    ("nounroll", Shape::Empty),
    ("metadata", Shape::Empty),
    ("name", Shape::Text),
    ("deprecated", Shape::Text),
    ("noWarn", Shape::Text),
    ("length", Shape::Expression),
    ("match", Shape::Expression),
    ("synchronous", Shape::Expressions),
    ("field_list", Shape::Expressions),
    ("p4runtime_translation_mappings", Shape::Expressions),
    ("pkginfo", Shape::KeyValues),
    ("platform_property", Shape::KeyValues),
    ("id", Shape::Integer),
    ("priority", Shape::Integer),
    ("max_group_size", Shape::Integer),
    ("max_member_weight", Shape::Integer),
    ("controller_header", Shape::String),
    ("brief", Shape::String),
    ("description", Shape::String),
    ("alias", Shape::String),
    ("selector_size_semantics", Shape::String),
    ("command_line", Shape::Strings),
    ("p4runtime_translation", Shape::Translation),
];

/// The shape of the annotation called `name`, if it is a known one.
pub fn shape(name: &str) -> Option<Shape> {
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known.map(|(_, shape)| *shape)
}

/// The annotation called `name` in `list`; the first if there are several.
pub fn find<'a>(list: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    list.iter().find(|a| &*a.name.name == name)
}

/// How the control plane sees a translated type (P4Runtime 1.4, section on user-defined types).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    /// Name of the translation.
    pub uri: String,
    /// The control plane's type.
    pub sdn_type: SdnType,
}

/// The control plane's type of a [`Translation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SdnType {
    /// `string`
    String,
    /// `bit<W>` with this W.
    Bits(u32),
}

/// Reports an annotation whose name is known and whose body is not as it must be.
pub fn check(a: &Annotation, diags: &mut Diagnostics) {
    check_structure(a, diags);
    if matches!(
        a.body,
        AnnotationBody::Expressions(_) | AnnotationBody::KeyValues(_)
    ) {
        return;
    }
    let Some(shape) = shape(&a.name.name) else {
        warn_misspelt(a, diags);
        return;
    };
    let result = match shape {
        Shape::Empty if tokens(a).is_empty() => return,
        Shape::Empty => Err(wrong(a, "takes no arguments")),
        Shape::Expressions => expressions(a).map(|_| ()),
        Shape::KeyValues => key_values(a).map(|_| ()),
        Shape::Integer => integer(a).map(|_| ()),
        Shape::String | Shape::Text => string(a).map(|_| ()),
        Shape::Translation => translation(a).map(|_| ()),
        Shape::Expression => expressions(a).and_then(|e| match e.len() {
            1 => Ok(()),
            n => Err(wrong(a, &format!("takes one expression, not {n}"))),
        }),
        Shape::Strings => expressions(a).and_then(|e| {
            let all = !e.is_empty() && e.iter().all(|e| matches!(e.kind, ExprKind::String(_)));
            if all {
                Ok(())
            } else {
                Err(wrong(a, "takes strings"))
            }
        }),
    };
    if let Err(d) = result {
        diags.push(*d);
    }
}

/// An annotation that nobody here knows may be meant for another tool; one that is nearly a known
/// one hardly is.
fn warn_misspelt(a: &Annotation, diags: &mut Diagnostics) {
    let name = &*a.name.name;
    if ANNOTATIONS.contains(&name) {
        return;
    }
    if let Some(close) = closest(name, KNOWN.iter().map(|(known, _)| *known)) {
        let text = format!("annotation `@{name}` is not known and has no effect");
        diags.push(
            Diagnostic::warning("annotation", a.at.span, text)
                .with_help(format!("did you mean `@{close}`?")),
        );
    }
}

/// The values of a structured annotation are numbers, strings and booleans.
fn check_structure(a: &Annotation, diags: &mut Diagnostics) {
    let values: Vec<&Expr> = match &a.body {
        AnnotationBody::Expressions(all) => all.iter().collect(),
        AnnotationBody::KeyValues(all) => all.iter().map(|n| &n.value).collect(),
        _ => return,
    };
    for value in values {
        if matches!(
            value.kind,
            ExprKind::List(_) | ExprKind::Struct { .. } | ExprKind::Invalid | ExprKind::Dots
        ) {
            let text = "a structured annotation holds numbers, strings and booleans only";
            diags.push(Diagnostic::error("annotation", value.at.span, text));
        }
    }
}

/// Reports a structured annotation whose name occurs before it in the list.
pub fn check_list(list: &[Annotation], diags: &mut Diagnostics) {
    let structured = |a: &Annotation| {
        matches!(
            a.body,
            AnnotationBody::Expressions(_) | AnnotationBody::KeyValues(_)
        )
    };
    for (i, a) in list.iter().enumerate() {
        let earlier = list[..i].iter().find(|b| b.name == a.name);
        if let Some(b) = earlier
            && (structured(a) || structured(b))
        {
            let text = format!("annotation `@{}` is given twice", a.name);
            diags.push(
                Diagnostic::error("annotation", a.at.span, text)
                    .with_related(b.at.span, "first given here"),
            );
        }
    }
}

fn wrong(a: &Annotation, what: &str) -> Box<Diagnostic> {
    let message = format!("annotation `@{}` {what}", a.name);
    Box::new(Diagnostic::error("annotation", a.at.span, message))
}

/// The tokens of an unstructured body.
fn tokens(a: &Annotation) -> &[AnnotationToken] {
    match &a.body {
        AnnotationBody::Unstructured(t) => t,
        _ => &[],
    }
}

/// The body as a list of expressions. Names in it are taken for values.
///
/// # Errors
/// What is wrong with the body.
pub fn expressions(a: &Annotation) -> Result<Vec<Expr>, Box<Diagnostic>> {
    match &a.body {
        AnnotationBody::Empty => Ok(Vec::new()),
        AnnotationBody::Expressions(list) => Ok(list.clone()),
        AnnotationBody::KeyValues(_) => Err(wrong(a, "takes expressions, not `name = value`")),
        AnnotationBody::Unstructured(_) => read(a, parse_expression_list),
    }
}

/// The body as a list of `name = value`.
///
/// # Errors
/// What is wrong with the body.
pub fn key_values(a: &Annotation) -> Result<Vec<NamedExpr>, Box<Diagnostic>> {
    match &a.body {
        AnnotationBody::KeyValues(list) => Ok(list.clone()),
        AnnotationBody::Empty | AnnotationBody::Expressions(_) => {
            Err(wrong(a, "takes `name = value`"))
        }
        AnnotationBody::Unstructured(_) => read(a, parse_key_values),
    }
}

/// The body as one string; strings joined with `++` count as one.
///
/// # Errors
/// What is wrong with the body.
pub fn string(a: &Annotation) -> Result<String, Box<Diagnostic>> {
    match &expressions(a)?[..] {
        [e] => fold_string(e).ok_or_else(|| wrong(a, "takes a string")),
        _ => Err(wrong(a, "takes one string")),
    }
}

/// The body as one integer literal.
///
/// # Errors
/// What is wrong with the body.
pub fn integer(a: &Annotation) -> Result<BigInt, Box<Diagnostic>> {
    match &expressions(a)?[..] {
        [
            Expr {
                kind: ExprKind::Int(i),
                ..
            },
        ] => Ok(i.value.clone()),
        _ => Err(wrong(a, "takes one integer")),
    }
}

/// The string an expression of string literals and `++` stands for.
pub fn fold_string(e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::String(s) => Some(s.to_string()),
        ExprKind::Binary {
            op: BinaryOp::Concat,
            left,
            right,
        } => Some(fold_string(left)? + &fold_string(right)?),
        _ => None,
    }
}

/// `@p4runtime_translation("uri", string)`, `(..., bit<W>)` or, as formerly, `(..., W)`.
///
/// # Errors
/// What is wrong with the body.
pub fn translation(a: &Annotation) -> Result<Translation, Box<Diagnostic>> {
    let fail = || {
        let d = wrong(a, "takes a string and the control plane's type");
        Box::new(
            d.with_help("write `@p4runtime_translation(\"uri\", string)` or `(\"uri\", bit<W>)`"),
        )
    };
    if let AnnotationBody::Expressions(list) = &a.body {
        let [
            uri,
            Expr {
                kind: ExprKind::Int(width),
                ..
            },
        ] = &list[..]
        else {
            return Err(fail());
        };
        let bits = width.value.to_u32().ok_or_else(fail)?;
        let uri = fold_string(uri).ok_or_else(fail)?;
        return Ok(Translation {
            uri,
            sdn_type: SdnType::Bits(bits),
        });
    }
    use AnnotationTokenKind as K;
    let tokens = tokens(a);
    let texts: Vec<(K, &str)> = tokens.iter().map(|t| (t.kind, &*t.text)).collect();
    let [(K::String, uri), (_, ","), rest @ ..] = &texts[..] else {
        return Err(fail());
    };
    let sdn_type = match rest {
        [(K::Word, "string")] => SdnType::String,
        [(K::Integer, w)] | [(K::Word, "bit"), (_, "<"), (K::Integer, w), (_, ">")] => {
            let width = number::parse(w).ok().filter(|i| i.width.is_none());
            SdnType::Bits(width.and_then(|i| i.value.to_u32()).ok_or_else(fail)?)
        }
        _ => return Err(fail()),
    };
    Ok(Translation {
        uri: unescape(uri),
        sdn_type,
    })
}

/// Parses the tokens of a body; the first error if that fails.
fn read<T>(
    a: &Annotation,
    parse: impl FnOnce(Vec<Token>, &mut Diagnostics) -> Option<T>,
) -> Result<T, Box<Diagnostic>> {
    let mut diags = Diagnostics::new();
    let parsed = parse(as_tokens(tokens(a), a.at.span), &mut diags);
    let error = diags.iter().find(|d| d.is_error()).cloned();
    match (parsed, error) {
        (Some(v), None) => Ok(v),
        (_, Some(d)) => Err(Box::new(
            d.with_note(format!("in annotation `@{}`", a.name)),
        )),
        (None, None) => Err(wrong(a, "is malformed")),
    }
}

/// The tokens as the parser takes them.
fn as_tokens(body: &[AnnotationToken], whole: Span) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(body.len() + 1);
    for (i, t) in body.iter().enumerate() {
        let other = TokenKind::Other;
        let kind = match t.kind {
            AnnotationTokenKind::Word => {
                Keyword::from_text(&t.text).map_or(TokenKind::Ident, TokenKind::Keyword)
            }
            AnnotationTokenKind::Integer => TokenKind::Int,
            AnnotationTokenKind::String => TokenKind::String,
            AnnotationTokenKind::Punctuation => {
                Punct::from_text(&t.text).map_or(other, TokenKind::Punct)
            }
            AnnotationTokenKind::Other => other,
        };
        let joint = body.get(i + 1).is_some_and(|n| n.span.start == t.span.end);
        out.push(Token {
            kind,
            text: t.text.clone(),
            span: t.span,
            bol: false,
            joint,
        });
    }
    let end = Span::new(
        whole.file,
        whole.end.saturating_sub(1).max(whole.start),
        whole.end,
    );
    let text = Symbol::from("annotation");
    out.push(Token {
        kind: TokenKind::End,
        text,
        span: end,
        bol: false,
        joint: false,
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::DeclKind;
    use crate::options::Options;
    use crate::source::SourceMap;

    /// The annotations of the first declaration, and all messages.
    fn annotations(text: &str) -> (Vec<Annotation>, Vec<String>) {
        let mut map = SourceMap::new();
        let file = map
            .add("a.p4", &format!("{text}\nconst bool c = true;"))
            .unwrap();
        let (p, d) = crate::parse(&mut map, file, &Options::default());
        assert!(matches!(p.decls[0].kind, DeclKind::Constant(_)));
        (
            p.decls[0].annotations.clone(),
            d.iter().map(|d| d.message.clone()).collect(),
        )
    }

    #[test]
    fn values_are_read() {
        let (a, messages) = annotations(
            "@name(\"a\" ++ \".b\") @id(0x10) @pkginfo(x = \"1\", y = 2) @field_list(1, m.f) @pure \
             @alias[\"z\"]",
        );
        assert_eq!(messages, Vec::<String>::new());
        assert_eq!(string(&a[0]).unwrap(), "a.b");
        assert_eq!(integer(&a[1]).unwrap(), 16.into());
        assert_eq!(key_values(&a[2]).unwrap().len(), 2);
        assert_eq!(expressions(&a[3]).unwrap()[1].to_string(), "m.f");
        assert_eq!(string(find(&a, "alias").unwrap()).unwrap(), "z");
    }

    #[test]
    fn translations_are_read() {
        let of = |text: &str| translation(&annotations(text).0[0]).ok();
        let bits = |n| {
            Some(Translation {
                uri: "u".into(),
                sdn_type: SdnType::Bits(n),
            })
        };
        assert_eq!(of("@p4runtime_translation(\"u\", 32)"), bits(32));
        assert_eq!(of("@p4runtime_translation(\"u\", bit<9>)"), bits(9));
        assert_eq!(of("@p4runtime_translation[\"u\", 7]"), bits(7));
        let string = Some(Translation {
            uri: "u".into(),
            sdn_type: SdnType::String,
        });
        assert_eq!(of("@p4runtime_translation(\"u\", string)"), string);
        assert_eq!(of("@p4runtime_translation(\"u\", bool)"), None);
    }

    #[test]
    fn wrong_bodies_are_reported_while_parsing() {
        let message = |text: &str| annotations(text).1.join("; ");
        assert_eq!(message("@name"), "annotation `@name` takes one string");
        assert_eq!(
            message("@atomic(1)"),
            "annotation `@atomic` takes no arguments"
        );
        assert_eq!(message("@id(\"x\")"), "annotation `@id` takes one integer");
        assert_eq!(
            message("@pkginfo"),
            "annotation `@pkginfo` takes `name = value`"
        );
        assert_eq!(message("@name(a b)"), "expected `,`, found `b`");
        assert_eq!(
            message("@name(1 + )"),
            "expected an expression, found the end of the annotation"
        );
        let translation = message("@p4runtime_translation(\"u\", int<3>)");
        assert!(translation.ends_with("takes a string and the control plane's type"));
        assert_eq!(message("@unknown(; { + any)"), "");
        assert_eq!(
            message("@tabelonly"),
            "annotation `@tabelonly` is not known and has no effect"
        );
    }
}

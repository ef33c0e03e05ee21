//! Annotations that lowering understands, and those it passes on.

use num_bigint::BigInt;
use p4ir::{Annotation, AnnotationValue};

use super::Lowerer;
use crate::ast::{self, AnnotationBody, AnnotationToken, AnnotationTokenKind, ExprKind};
use crate::source::Span;

impl Lowerer<'_> {
    pub(super) fn annotations(&mut self, all: &[ast::Annotation]) -> Vec<Annotation> {
        self.emitter.annotations(all)
    }

    /// The control-plane name of something declared here as `name`.
    pub(super) fn control_plane_name(
        &mut self,
        name: &str,
        annotations: &[ast::Annotation],
        span: Span,
    ) -> String {
        let local = string_annotation(annotations, "name");
        let local = local.as_deref().unwrap_or(name);
        let whole = match local.strip_prefix('.') {
            Some(absolute) => absolute.to_owned(),
            None if self.prefix.is_empty() => local.to_owned(),
            None => format!("{}.{local}", self.prefix),
        };
        self.bounded_name(whole, span)
    }
}

/// Bytes of text that count as much as an expression.
const NODE_BYTES: u64 = 64;

/// The annotation called `name`, if it is there.
pub(crate) fn find<'x>(all: &'x [ast::Annotation], name: &str) -> Option<&'x ast::Annotation> {
    all.iter().find(|a| &*a.name.name == name)
}

/// The string of `@name("...")`. Adjacent strings are joined.
pub(crate) fn string_annotation(all: &[ast::Annotation], name: &str) -> Option<String> {
    match &find(all, name)?.body {
        AnnotationBody::Unstructured(tokens) => {
            let strings: Vec<_> = tokens
                .iter()
                .filter(|t| t.kind == AnnotationTokenKind::String)
                .map(|t| unescape(&t.text))
                .collect();
            (!strings.is_empty()).then(|| strings.concat())
        }
        AnnotationBody::Expressions(all) => match all.first().map(|e| &e.kind) {
            Some(ExprKind::String(s)) => Some(s.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces `\"`, `\\` and `\n` in the text of a string token.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (c, false) => out.push(c),
        }
    }
    out
}

/// Reads an integer literal as it stands in the source (`0x10`, `8w3`, `1_000`).
pub(crate) fn parse_int(text: &str) -> Option<BigInt> {
    let text: String = text.chars().filter(|c| *c != '_').collect();
    let digits = match text.find(['w', 's']) {
        Some(at) if text[..at].bytes().all(|b| b.is_ascii_digit()) => &text[at + 1..],
        _ => &text,
    };
    let (radix, digits) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0d") => (10, &digits[2..]),
        _ => (10, digits),
    };
    BigInt::parse_bytes(digits.as_bytes(), radix)
}

/// How many expressions an annotation counts as.
pub(super) fn nodes_of(annotation: &Annotation) -> u64 {
    let bytes = |value: &AnnotationValue| match value {
        AnnotationValue::Int(n) => n.bits() / 8,
        AnnotationValue::Str(text) | AnnotationValue::Tokens(text) => text.len() as u64,
        AnnotationValue::Bool(_) => 0,
    };
    let values = annotation.values.iter();
    let bytes: u64 = values.map(|(key, v)| key.len() as u64 + bytes(v)).sum();
    1 + (annotation.name.len() as u64 + bytes) / NODE_BYTES
}

pub(super) fn convert(annotation: &ast::Annotation) -> Annotation {
    let values = match &annotation.body {
        AnnotationBody::Empty => Vec::new(),
        AnnotationBody::Unstructured(tokens) => split_commas(tokens)
            .into_iter()
            .map(|part| (String::new(), token_value(part)))
            .collect(),
        AnnotationBody::Expressions(all) => {
            all.iter().map(|e| (String::new(), expr_value(e))).collect()
        }
        AnnotationBody::KeyValues(all) => all
            .iter()
            .map(|n| (n.name.name.to_string(), expr_value(&n.value)))
            .collect(),
    };
    Annotation {
        name: annotation.name.name.to_string(),
        values,
    }
}

fn split_commas(tokens: &[AnnotationToken]) -> Vec<&[AnnotationToken]> {
    if tokens.is_empty() {
        return Vec::new();
    }
    tokens
        .split(|t| &*t.text == "," && t.kind == AnnotationTokenKind::Punctuation)
        .collect()
}

fn token_value(tokens: &[AnnotationToken]) -> AnnotationValue {
    let joined = || {
        tokens
            .iter()
            .map(|t| &*t.text)
            .collect::<Vec<_>>()
            .join(" ")
    };
    match tokens {
        [t] if t.kind == AnnotationTokenKind::String => AnnotationValue::Str(unescape(&t.text)),
        [t] if t.kind == AnnotationTokenKind::Integer => parse_int(&t.text)
            .map_or_else(|| AnnotationValue::Tokens(joined()), AnnotationValue::Int),
        [t] if &*t.text == "true" => AnnotationValue::Bool(true),
        [t] if &*t.text == "false" => AnnotationValue::Bool(false),
        _ => AnnotationValue::Tokens(joined()),
    }
}

fn expr_value(e: &ast::Expr) -> AnnotationValue {
    match &e.kind {
        ExprKind::Int(i) => AnnotationValue::Int(i.value.clone()),
        ExprKind::Bool(b) => AnnotationValue::Bool(*b),
        ExprKind::String(s) => AnnotationValue::Str(s.to_string()),
        ExprKind::Unary {
            op: ast::UnaryOp::Negate,
            operand,
        } => match expr_value(operand) {
            AnnotationValue::Int(i) => AnnotationValue::Int(-i),
            other => other,
        },
        _ => AnnotationValue::Tokens(String::new()),
    }
}

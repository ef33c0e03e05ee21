//! Annotations as P4Info carries them.

use num_traits::ToPrimitive;
use p4runtime::p4::config::v1::structured_annotation::Body;
use p4runtime::p4::config::v1::{
    Documentation, Expression, ExpressionList, KeyValuePair, KeyValuePairList, StructuredAnnotation,
};

use super::constant;
use crate::annotations;
use crate::ast::{self, AnnotationBody, AnnotationTokenKind};

/// Annotations as P4Info carries them.
pub(super) struct Notes {
    pub(super) plain: Vec<String>,
    pub(super) structured: Vec<StructuredAnnotation>,
    pub(super) doc: Option<Documentation>,
}

/// Sorts annotations into plain and structured ones and documentation; those in `skip` are left
/// out.
pub(super) fn notes(list: &[ast::Annotation], skip: &[&str]) -> Notes {
    let mut out = Notes {
        plain: Vec::new(),
        structured: Vec::new(),
        doc: None,
    };
    for a in list {
        let name = &*a.name.name;
        match &a.body {
            AnnotationBody::Expressions(all) => {
                let expressions = all.iter().map(expression).collect();
                let list = Body::ExpressionList(ExpressionList { expressions });
                out.structured
                    .push(structured(name, (!all.is_empty()).then_some(list)));
                continue;
            }
            AnnotationBody::KeyValues(all) => {
                let kv_pairs = all.iter().map(pair).collect();
                let list = Body::KvPairList(KeyValuePairList { kv_pairs });
                out.structured.push(structured(name, Some(list)));
                continue;
            }
            _ => {}
        }
        match name {
            "name" | "id" => {}
            "brief" => {
                out.doc.get_or_insert_default().brief = annotations::string(a).unwrap_or_default()
            }
            "description" => {
                out.doc.get_or_insert_default().description =
                    annotations::string(a).unwrap_or_default();
            }
            _ if skip.contains(&name) => {}
            _ => out.plain.push(into_written(a)),
        }
    }
    out
}

fn structured(name: &str, body: Option<Body>) -> StructuredAnnotation {
    StructuredAnnotation {
        name: name.to_owned(),
        body,
        source_location: None,
    }
}

fn expression(e: &ast::Expr) -> Expression {
    Expression {
        value: Some(constant::value(e)),
    }
}

fn pair(kv: &ast::NamedExpr) -> KeyValuePair {
    KeyValuePair {
        key: kv.name.to_string(),
        value: Some(expression(&kv.value)),
    }
}

/// Annotations whose arguments p4c parses and writes as a list; of others it writes the tokens with
/// blanks in between.
const LISTS: [&str; 2] = ["field_list", "p4runtime_translation"];

/// `@name` or `@name(tokens)`.
pub(super) fn into_written(a: &ast::Annotation) -> String {
    let AnnotationBody::Unstructured(tokens) = &a.body else {
        return format!("@{}", a.name);
    };
    if tokens.is_empty() {
        return format!("@{}", a.name);
    }
    let mut text = String::new();
    let list = LISTS.contains(&&*a.name.name);
    for token in tokens {
        let comma = list && &*token.text == "," && token.kind == AnnotationTokenKind::Punctuation;
        if !text.is_empty() && !comma {
            text.push(' ');
        }
        match token.kind {
            AnnotationTokenKind::String => text += &format!("\"{}\"", token.text),
            _ => text += &token.text,
        }
    }
    format!("@{}({text})", a.name)
}

pub(super) fn id_of(list: &[ast::Annotation]) -> Option<u32> {
    annotations::integer(annotations::find(list, "id")?)
        .ok()?
        .to_u32()
}

pub(super) fn hidden(list: &[ast::Annotation]) -> bool {
    annotations::find(list, "hidden").is_some()
}

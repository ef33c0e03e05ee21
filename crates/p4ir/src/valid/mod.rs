//! The validator: a checklist, and the witness executors take.
//!
//! Types: every handle is known; records contain only what their kind admits; a stack or array holds values of one known type.
//! Expressions: operands exist *before* their user (so there are no cycles) and have the types the
//! operator asks for; constants fit their type; places project through fitting types.
//! Statements: both sides of an assignment have the same type; aggregates are only copied, never computed;
//! `break`/`continue` stand in loops; parser statements in parsers, `emit` and table applications outside.
//! Calls: no callable calls itself, over any number of steps.
//! Tables: actions, defaults and entries refer to the table's own action list with the right number of
//! arguments; entries have one set per key.
//! Parsers: transitions stay within the parser; selects have one set per key.
//! Package: its arguments exist.

mod body;
mod decl;
mod expr;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;

use crate::entity::{Entity, TypeId};
use crate::layout::Layout;
use crate::types::{RecordKind, Type};
use crate::{Program, Span};

/// One broken rule. It means a bug in the front end that built the program, not in the user's source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ValidationError {
    /// The entity that breaks it, as the text form names it.
    pub entity: String,
    /// What is wrong.
    pub message: String,
    /// Place in the source, if known.
    pub span: Span,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid IR at {}: {} (this is a bug of the front end)",
            self.entity, self.message
        )?;
        if self.span.line > 0 {
            write!(f, " [line {}:{}]", self.span.line, self.span.column)?;
        }
        Ok(())
    }
}

/// A program that passed every check, with its layout. Dereferences to [`Program`].
#[derive(Clone, Debug)]
pub struct ValidProgram {
    program: Program,
    layout: Layout,
}

impl ValidProgram {
    /// Where every variable lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Deref for ValidProgram {
    type Target = Program;
    fn deref(&self) -> &Program {
        &self.program
    }
}

/// Checks everything.
///
/// # Errors
///
/// All broken rules, in order of discovery.
pub fn validate(program: Program) -> Result<ValidProgram, Vec<ValidationError>> {
    let mut checker = Checker {
        program: &program,
        errors: Vec::new(),
    };
    checker.types();
    if checker.errors.is_empty() {
        checker.exprs();
    }
    // Everything later indexes types and expressions freely.
    if checker.errors.is_empty() {
        checker.declarations();
    }
    let errors = checker.errors;
    if !errors.is_empty() {
        return Err(errors);
    }
    let layout = Layout::new(&program);
    Ok(ValidProgram { program, layout })
}

struct Checker<'p> {
    program: &'p Program,
    errors: Vec<ValidationError>,
}

impl Checker<'_> {
    fn fail(&mut self, entity: impl fmt::Display, span: Span, message: impl Into<String>) {
        self.errors.push(ValidationError {
            entity: entity.to_string(),
            message: message.into(),
            span,
        });
    }

    fn types(&mut self) {
        for (id, ty) in self.program.types.iter() {
            match ty {
                Type::Record { kind, name, fields } => {
                    let mut seen = BTreeSet::new();
                    for field in fields {
                        if !seen.insert(&field.name) {
                            self.fail(
                                id,
                                Span::default(),
                                format!("field {} of {name} twice", field.name),
                            );
                        }
                        self.field(id, *kind, field.ty, &field.name);
                    }
                }
                Type::Stack { element, .. } if element.index() >= id.index() => {
                    self.fail(id, Span::default(), "a stack of an unknown type");
                }
                _ => {}
            }
        }
        for (id, var) in self.program.vars.iter() {
            if self.program.types.get(var.ty).is_none() {
                self.fail(id, var.span, "unknown type");
            }
        }
    }

    fn field(&mut self, record: TypeId, kind: RecordKind, ty: TypeId, name: &str) {
        let inner = self
            .program
            .types
            .get(ty)
            .filter(|_| ty.index() < record.index());
        let ok = match (kind, inner) {
            (_, None) => false,
            (RecordKind::Union, Some(t)) => t.is_header(),
            (RecordKind::Header, Some(t)) => match t {
                Type::Bits { .. } | Type::Bool | Type::Varbit { .. } => true,
                Type::Record { kind, .. } => *kind == RecordKind::Struct,
                _ => false,
            },
            (RecordKind::Struct | RecordKind::Tuple, Some(_)) => true,
        };
        if !ok {
            self.fail(
                record,
                Span::default(),
                format!("field {name} has a type that a {kind:?} cannot hold"),
            );
        }
    }
}

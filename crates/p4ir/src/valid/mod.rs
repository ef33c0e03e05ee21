//! The validator: a checklist, and the witness executors take.
//!
//! Types: every handle is known; records contain only what their kind admits; a stack or array
//! holds values of one known type. Expressions: operands exist *before* their user (so there are no
//! cycles) and have the types the operator asks for; constants fit their type; places project
//! through fitting types. Statements: both sides of an assignment have the same type; aggregates
//! are only copied, never computed; `break`/`continue` stand in loops; parser statements in
//! parsers, `emit` and table applications outside. Calls: no callable calls itself, over any number
//! of steps. Tables: actions, defaults and entries refer to the table's own action list with the
//! right number of arguments; entries have one set per key.
//! Parsers: transitions stay within the parser; selects have one set per key.
//! Package: its arguments exist.
//! Bounds: [`crate::limits`]. What is found wrong with them is the user's program, not the front
//! end; they are looked at before anything is laid out.

mod body;
mod decl;
mod expr;
mod work;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;

use crate::entity::{Entity, TypeId};
use crate::layout::Layout;
use crate::limits::{Exceeded, Limit};
use crate::types::{RecordKind, Type};
use crate::{Program, Span};

/// One broken rule, or a bound that the program exceeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ValidationError {
    /// The entity that breaks it, as the text form names it.
    pub entity: String,
    /// What is wrong.
    pub message: String,
    /// Place in the source, if known.
    pub span: Span,
    /// The bound that the user's program exceeds. Without one, a bug in the front end that built
    /// the program.
    pub exceeded: Option<Exceeded>,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exceeded {
            Some(exceeded) => write!(f, "`{}`: {exceeded}", self.entity)?,
            None => write!(
                f,
                "invalid IR at {}: {} (this is a bug of the front end)",
                self.entity, self.message
            )?,
        }
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
    steps: u64,
}

impl ValidProgram {
    /// Steps of one pass through the dearest callable, loops counted once: at most
    /// [`Limit::Steps`].
    pub fn steps(&self) -> u64 {
        self.steps
    }

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
pub fn validate(mut program: Program) -> Result<ValidProgram, Vec<ValidationError>> {
    let mut checker = Checker {
        program: &program,
        errors: Vec::new(),
    };
    let words = checker.types();
    if checker.errors.is_empty() {
        checker.storage(&words);
        checker.exprs();
    }
    // Everything later indexes types and expressions freely.
    let mut order = Vec::new();
    if checker.errors.is_empty() {
        order = checker.declarations();
    }
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    let mut survey = work::Survey::new(&program, &words);
    checker.work(&order, &mut survey);
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    let steps = survey.dearest();
    let (rounds, states) = survey.into_rounds();
    work::settle(&mut program, &rounds, &states);
    let layout = Layout::new(&program);
    Ok(ValidProgram {
        program,
        layout,
        steps,
    })
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
            exceeded: None,
        });
    }

    fn exceed(&mut self, entity: impl fmt::Display, span: Span, exceeded: Exceeded) {
        self.errors.push(ValidationError {
            entity: entity.to_string(),
            message: exceeded.to_string(),
            span,
            exceeded: Some(exceeded),
        });
    }

    /// Checks the types; the words that a value of each takes.
    fn types(&mut self) -> Vec<u64> {
        let mut sizes: Vec<Size> = Vec::with_capacity(self.program.types.len());
        for (id, ty) in self.program.types.iter() {
            let size = Size::of(ty, &sizes);
            let checks = [
                Limit::TypeWords.check(size.words),
                Limit::TypeDepth.check(size.depth),
            ];
            for exceeded in checks.into_iter().filter_map(Result::err) {
                let name = match ty {
                    Type::Record { name, .. } if !name.is_empty() => name.clone(),
                    _ => id.to_string(),
                };
                self.exceed(name, Span::default(), exceeded);
            }
            sizes.push(size);
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
        sizes.into_iter().map(|size| size.words).collect()
    }

    /// All variables have room.
    fn storage(&mut self, words: &[u64]) {
        let mut sum: u64 = 0;
        for var in self.program.vars.values() {
            sum = sum.saturating_add(words[var.ty.index()]);
            if let Err(exceeded) = Limit::StorageWords.check(sum) {
                return self.exceed(&var.name, var.span, exceeded);
            }
        }
    }

    /// The type of what an array holds, through arrays of arrays; any other type itself.
    fn innermost<'t>(&'t self, mut ty: &'t Type) -> &'t Type {
        // Types refer to those before them, so that this ends; what does not is an error already.
        for _ in 0..Limit::TypeDepth.most() {
            match ty {
                Type::Stack { element, .. } => match self.program.types.get(*element) {
                    Some(inner) => ty = inner,
                    None => break,
                },
                _ => break,
            }
        }
        ty
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
            (RecordKind::Header, Some(t)) => match self.innermost(t) {
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

/// How large a type is.
#[derive(Clone, Copy)]
struct Size {
    words: u64,
    depth: u64,
}

impl Size {
    /// The size of a type whose components are among those measured.
    fn of(ty: &Type, known: &[Self]) -> Self {
        // What comes later is an error of its own.
        let known = |id: TypeId| known.get(id.index()).copied().unwrap_or(WORD);
        match ty {
            Type::Record { kind, fields, .. } => {
                let parts = fields.iter().map(|f| known(f.ty));
                let all = parts.fold(Self { words: 0, depth: 0 }, |all, part| Self {
                    words: all.words.saturating_add(part.words),
                    depth: all.depth.max(part.depth),
                });
                let valid = u64::from(*kind == RecordKind::Header);
                Self {
                    words: all.words.saturating_add(valid).max(1),
                    depth: all.depth + 1,
                }
            }
            Type::Stack { element, size } => {
                let element = known(*element);
                let words = element.words.saturating_mul(u64::from(*size));
                Self {
                    words: words.saturating_add(1),
                    depth: element.depth + 1,
                }
            }
            Type::Bits { width, .. } => Self {
                words: u64::from(width.div_ceil(64).max(1)),
                ..WORD
            },
            Type::Varbit { max } => Self {
                words: 1 + u64::from(max.div_ceil(64)),
                ..WORD
            },
            _ => WORD,
        }
    }
}

const WORD: Size = Size { words: 1, depth: 1 };

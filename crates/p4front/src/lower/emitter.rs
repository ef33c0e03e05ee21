//! The program that is made: types, variables, expressions and statements of p4ir.
//!
//! It takes what the [`Checker`] has found as it is: nothing here resolves a name, converts a value
//! or reports an error.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use num_bigint::BigUint;
use num_traits::Zero;
use p4ir::{
    AnnotationValue, Const, ExprId, ExprKind, Place, StmtKind, TypeId, Var, VarId, VarKind,
};

use super::annot::{convert, nodes_of};
use super::checker::Checker;
use super::limits::Spent;
use crate::ast::{self, DeclKind};
use crate::source::Span;
use crate::types::{Record, RecordKind, Ty};

/// Types that are needed often.
#[derive(Clone, Copy)]
pub(super) struct CommonTypes {
    pub(super) boolean: TypeId,
    pub(super) bit32: TypeId,
    pub(super) error: TypeId,
}

/// The program so far, and the block that is being filled.
pub(super) struct Emitter {
    pub(super) ir: p4ir::Program,
    /// Statements of the present block.
    pub(super) out: p4ir::Block,
    pub(super) common: CommonTypes,
    /// Actions made for a table's list, with what they were made of.
    pub(super) wrapped: HashMap<p4ir::ActionId, p4ir::ActionId>,
    /// What the program has besides expressions: see [`super::limits`].
    pub(super) spent: Spent,
    types: HashMap<Ty, TypeId>,
    files: BTreeMap<String, u32>,
}

impl Emitter {
    pub(super) fn new(checker: &Checker<'_>) -> Self {
        let mut ir = p4ir::Program::default();
        let common = CommonTypes {
            boolean: ir.types.boolean(),
            bit32: ir.types.bit(32),
            error: ir.types.intern(p4ir::Type::Error),
        };
        ir.errors = checker.errors.keys().map(ToString::to_string).collect();
        ir.architecture = p4ir::Architecture::declared(|name| checker.globals.contains_key(name));
        Self {
            ir,
            out: Vec::new(),
            common,
            wrapped: HashMap::new(),
            spent: Spent::default(),
            types: HashMap::new(),
            files: BTreeMap::new(),
        }
    }

    /// A place in the source as p4ir keeps it.
    pub(super) fn span(&mut self, checker: &Checker<'_>, span: Span) -> p4ir::Span {
        let at = checker.map.location(span);
        let next = self.files.len() as u32;
        let file = *self.files.entry(at.file.to_string()).or_insert(next);
        if file == next {
            self.ir.files.push(at.file.to_string());
        }
        let place = p4ir::Span {
            file,
            line: at.line,
            column: at.column,
        };
        let text = checker.map.text(span).trim_end_matches(';');
        self.ir.add_excerpt(place, text);
        place
    }

    /// Appends a statement to the present block.
    pub(super) fn push(&mut self, checker: &Checker<'_>, kind: StmtKind, span: Span) {
        self.spent.add(1);
        let span = self.span(checker, span);
        self.out.push(p4ir::Stmt { kind, span });
    }

    /// Annotations as p4ir keeps them, once more for each instance.
    pub(super) fn annotations(&mut self, all: &[ast::Annotation]) -> Vec<p4ir::Annotation> {
        let all: Vec<p4ir::Annotation> = all.iter().map(convert).collect();
        for annotation in &all {
            self.spent.add(nodes_of(annotation));
        }
        all
    }

    /// A new variable.
    pub(super) fn var(
        &mut self,
        checker: &Checker<'_>,
        name: &str,
        ty: &Ty,
        kind: VarKind,
        span: Span,
    ) -> VarId {
        let ty = self.ty(checker, ty);
        let span = self.span(checker, span);
        self.ir.vars.push(Var {
            name: name.to_owned(),
            ty,
            kind,
            span,
        })
    }

    /// Reads a place.
    pub(super) fn read(&mut self, checker: &Checker<'_>, place: Place, ty: &Ty) -> ExprId {
        let ty = self.ty(checker, ty);
        self.ir.add_expr(ExprKind::Read(place), ty)
    }

    /// A constant of a type.
    pub(super) fn constant(&mut self, checker: &Checker<'_>, value: Const, ty: &Ty) -> ExprId {
        let ty = self.ty(checker, ty);
        self.ir.add_expr(ExprKind::Const(value), ty)
    }

    /// Any expression of a type: what stands in the place of one that is wrong.
    pub(super) fn zero(&mut self, checker: &Checker<'_>, ty: &Ty) -> ExprId {
        let ir = self.ty(checker, ty);
        let value = match self.ir.types.get(ir) {
            Some(p4ir::Type::Bool) => Const::Bool(false),
            Some(p4ir::Type::Error) => Const::Error(0),
            Some(p4ir::Type::Enum { .. }) => Const::Enum(0),
            Some(p4ir::Type::String) => Const::Str(String::new()),
            _ => Const::Bits(BigUint::zero()),
        };
        self.ir.add_expr(ExprKind::Const(value), ir)
    }

    /// A bit constant.
    pub(super) fn bits(&mut self, value: u64, width: u32) -> ExprId {
        let ty = self.ir.types.bit(width);
        let value = Const::Bits(BigUint::from(value));
        self.ir.add_expr(ExprKind::Const(value), ty)
    }

    /// The type as p4ir has it.
    pub(super) fn ty(&mut self, checker: &Checker<'_>, ty: &Ty) -> TypeId {
        let ty = checker.infer.resolve(ty);
        if let Some(&known) = self.types.get(&ty) {
            return known;
        }
        let made = match &ty {
            Ty::Bool => p4ir::Type::Bool,
            Ty::String => p4ir::Type::String,
            Ty::Error => p4ir::Type::Error,
            Ty::Bits { width, signed } => p4ir::Type::Bits {
                width: *width,
                signed: *signed,
            },
            Ty::Varbit(max) => p4ir::Type::Varbit { max: *max },
            Ty::New(n) => return self.ty(checker, &n.underlying.clone()),
            Ty::Enum(e) => match &e.repr {
                Some((repr, _)) => return self.ty(checker, &repr.clone()),
                None => p4ir::Type::Enum {
                    name: e.name.to_string(),
                    members: e.members.iter().map(ToString::to_string).collect(),
                },
            },
            Ty::Stack(element, size) => {
                let element = self.ty(checker, element);
                p4ir::Type::Stack {
                    element,
                    size: *size,
                }
            }
            Ty::Tuple(_) | Ty::ListExpr(_) => {
                let fields = ty
                    .components()
                    .iter()
                    .enumerate()
                    .map(|(i, t)| p4ir::Field {
                        name: i.to_string(),
                        ty: self.ty(checker, t),
                        annotations: Vec::new(),
                    })
                    .collect();
                p4ir::Type::Record {
                    kind: p4ir::RecordKind::Tuple,
                    name: String::new(),
                    fields,
                }
            }
            Ty::Record(r) => self.record(checker, r, &ty),
            // Only while a declaration is checked without being instantiated, or after an error.
            _ => p4ir::Type::Bits {
                width: 1,
                signed: false,
            },
        };
        let id = self.ir.types.intern(made);
        self.types.insert(ty, id);
        id
    }

    fn record(&mut self, checker: &Checker<'_>, r: &Rc<Record>, ty: &Ty) -> p4ir::Type {
        let decl = checker.decls.get(&r.decl).copied();
        let mut fields = Vec::new();
        for field in &r.fields {
            let annotations = match decl.map(|d| &d.kind) {
                Some(DeclKind::Composite(c)) => c
                    .fields
                    .get(field.index)
                    .map_or(Vec::new(), |f| self.annotations(&f.annotations)),
                _ => Vec::new(),
            };
            let annotations = resolved(checker, annotations);
            let ty = self.ty(checker, &field.ty);
            fields.push(p4ir::Field {
                name: field.name.to_string(),
                ty,
                annotations,
            });
        }
        let kind = match r.kind {
            RecordKind::Struct => p4ir::RecordKind::Struct,
            RecordKind::Header => p4ir::RecordKind::Header,
            RecordKind::Union => p4ir::RecordKind::Union,
        };
        p4ir::Type::Record {
            kind,
            name: ty.to_string(),
            fields,
        }
    }
}

/// Annotations in which names of constants are their numbers: `@field_list(KEPT)`.
fn resolved(checker: &Checker<'_>, mut all: Vec<p4ir::Annotation>) -> Vec<p4ir::Annotation> {
    for (_, value) in all.iter_mut().flat_map(|a| &mut a.values) {
        let AnnotationValue::Tokens(name) = &*value else {
            continue;
        };
        let decls = checker.globals.get(&**name);
        let decl = decls.and_then(|all| all.first()).map(|d| &d.kind);
        if let Some(DeclKind::Constant(constant)) = decl
            && let ast::ExprKind::Int(int) = &constant.value.kind
        {
            *value = AnnotationValue::Int(int.value.clone());
        }
    }
    all
}

//! A question about one place of the program: which names are known there, and what members an
//! expression has.
//!
//! The walk answers it when it comes to the place, with the scopes that it has there. Only the
//! declaration around the place is elaborated, and what it needs.

use super::built_in::{BuiltIn, members_of};
use super::call::prototype;
use super::value::{Elab, Val};
use super::{BodyKind, Entity, Lowerer, Notes};
use crate::ast::{self, DeclKind, ExprKind, MethodKind, NodeId, TypeKind};
use crate::source::{SourceMap, Span};
use crate::types::Ty;

/// A place in the tree: before an item of a list of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// A statement of a block or parser state.
    Statement(NodeId, usize),
    /// A local declaration of a parser or control.
    Local(NodeId, usize),
    /// Outside of all bodies.
    Top,
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) anchor: Anchor,
    /// The declaration of the top level that the place is in.
    pub(crate) inside: Option<usize>,
    /// The place.
    pub(crate) place: Span,
    /// Declarations of the top level before the place.
    pub(crate) before: usize,
    /// What stands before a dot.
    pub(crate) base: Option<ast::Expr>,
    /// What a value is compared with or assigned to.
    pub(crate) beside: Option<ast::Expr>,
    /// What is called, and which argument stands at the place.
    pub(crate) call: Option<(ast::Expr, usize)>,
}

/// A name that is known at the place.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) name: ast::Symbol,
    /// Where it is declared.
    pub(crate) at: Span,
    /// Its type, if it has a value.
    pub(crate) ty: Option<String>,
    /// Scopes between the place and the declaration.
    pub(crate) distance: u32,
}

/// A member of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Member {
    /// Declared by a program.
    Declared {
        name: ast::Symbol,
        at: Span,
        ty: Option<String>,
    },
    /// Defined by the language.
    BuiltIn(&'static BuiltIn),
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Known names, the nearest first.
    pub(crate) names: Vec<Known>,
    /// Members of [`Probe::base`].
    pub(crate) members: Vec<Member>,
    /// The type of a value that would fit.
    pub(crate) want: Option<String>,
    /// The names of the functions, methods or constructors that are meant by [`Probe::call`], where
    /// they are declared.
    pub(crate) callees: Vec<Span>,
}

/// A question and its answer.
#[derive(Default)]
pub(super) struct Asked<'a> {
    question: Option<&'a Probe>,
    seen: Option<Seen>,
}

impl Asked<'_> {
    /// Nothing is left to do.
    pub(super) fn is_answered(&self) -> bool {
        self.seen.is_some()
    }
}

/// Asks a program.
pub(crate) fn probe<'a>(
    program: &'a ast::Program,
    map: &'a SourceMap,
    question: &'a Probe,
) -> Seen {
    let mut lowerer = Lowerer::new(program, map, Notes::default());
    lowerer.reached = false;
    lowerer.asked.question = Some(question);
    if let Some(decl) = question.inside.and_then(|i| program.decls.get(i)) {
        lowerer.check_unused(decl);
    }
    if lowerer.asked.seen.is_none() {
        lowerer.answer(question);
    }
    lowerer.asked.seen.unwrap_or_default()
}

impl<'a> Lowerer<'a> {
    /// Whether something is of no use to the answer that is looked for: the place is not in it, or
    /// the answer is there.
    pub(super) fn is_beside(&self, span: Span) -> bool {
        let Some(question) = self.asked.question else {
            return false;
        };
        let place = question.place;
        // What is not closed yet has no end.
        let ends = || place.end <= span.end || !self.checker.map.text(span).ends_with(['}', ';']);
        let around = span.file == place.file && span.start <= place.start && ends();
        self.asked.is_answered() || !around
    }

    /// Statements of a block or parser state.
    pub(super) fn stmts_of(&mut self, block: NodeId, stmts: &'a [ast::Stmt]) {
        let Some((question, at)) = self.asked_at(block, Anchor::Statement) else {
            return self.stmts(stmts);
        };
        let at = at.min(stmts.len());
        self.stmts(&stmts[..at]);
        self.answer(question);
        self.stmts(&stmts[at..]);
    }

    /// Before local declaration `index` of a parser or control, of which there are `count`.
    pub(super) fn at_local(&mut self, block: NodeId, index: usize, count: usize) {
        if let Some((question, at)) = self.asked_at(block, Anchor::Local)
            && index == at.min(count)
        {
            self.answer(question);
        }
    }

    /// The question, if it is about a place in this list of items and not answered yet.
    fn asked_at(
        &self,
        block: NodeId,
        kind: fn(NodeId, usize) -> Anchor,
    ) -> Option<(&'a Probe, usize)> {
        let question = self.asked.question?;
        let (Anchor::Statement(id, at) | Anchor::Local(id, at)) = question.anchor else {
            return None;
        };
        let here = id == block && question.anchor == kind(id, at) && self.asked.seen.is_none();
        here.then_some((question, at))
    }

    fn answer(&mut self, question: &'a Probe) {
        let mut seen = Seen::default();
        let (_, ()) = self.nested(|s| {
            if let Some(base) = &question.base {
                seen.members = s.members_at(base);
            }
            if let Some(beside) = &question.beside {
                seen.want = s.type_at(beside);
            }
            if let Some((callee, argument)) = &question.call {
                s.callees(callee, *argument, &mut seen);
            }
        });
        if question.base.is_none() {
            seen.names = self.names_at(question.before);
        }
        self.asked.seen = Some(seen);
    }

    /// All names that are known here, the nearest first, in order.
    fn names_at(&mut self, before: usize) -> Vec<Known> {
        let mut names: Vec<Known> = Vec::new();
        let mut taken = std::collections::HashSet::new();
        let mut distance = 0;
        for scope in self.checker.scopes.iter().rev().filter(|s| !s.is_empty()) {
            let mut here: Vec<_> = scope.iter().collect();
            here.sort_unstable_by_key(|(name, _)| (*name).clone());
            for (name, declared) in here {
                if !taken.insert(name.clone()) {
                    continue;
                }
                let ty = match &declared.entity {
                    Entity::Value(value) => Some(self.checker.infer.resolve(&value.ty).to_string()),
                    _ => None,
                };
                names.push(Known {
                    name: name.clone(),
                    at: declared.at,
                    ty,
                    distance,
                });
            }
            distance += 1;
        }
        let program = self.checker.program;
        for decl in program.decls.iter().take(before) {
            let Some(name) = decl.name().filter(|n| taken.insert(n.name.clone())) else {
                continue;
            };
            let ty = match &decl.kind {
                DeclKind::Constant(c) => Some(self.ty(&c.ty).to_string()),
                _ => None,
            };
            names.push(Known {
                name: name.name.clone(),
                at: name.span,
                ty,
                distance,
            });
        }
        names
    }

    /// The type of an expression, or that of the field it names.
    fn type_at(&mut self, e: &'a ast::Expr) -> Option<String> {
        let value = self.expr(e, None);
        let ty = self.checker.infer.resolve(&value.ty);
        (!ty.is_poison()).then(|| ty.to_string())
    }

    /// Members of what stands before a dot.
    fn members_at(&mut self, base: &'a ast::Expr) -> Vec<Member> {
        match &base.kind {
            ExprKind::TypeName(ty) if matches!(ty.kind, TypeKind::Error) => self.errors_known(),
            ExprKind::TypeName(ty) => {
                let ty = self.ty(ty);
                self.type_members(&ty)
            }
            ExprKind::Path(path) => match self.find(path) {
                Some(Entity::Value(value)) => self.value_members(&value),
                Some(Entity::Type(ty)) => self.type_members(&ty),
                Some(Entity::TypeDecl(decl)) => {
                    let (id, name) = (decl.at.id, path.name.name.clone());
                    match decl.kind {
                        DeclKind::Parser(_) | DeclKind::Control(_) => self
                            .type_members(&Ty::Block(id, name, crate::types::Types::new(vec![]))),
                        _ => Vec::new(),
                    }
                }
                _ => Vec::new(),
            },
            _ => {
                let value = self.expr(base, None);
                self.value_members(&value)
            }
        }
    }

    /// All members of `error`, in order.
    fn errors_known(&self) -> Vec<Member> {
        let mut members = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for decl in &self.checker.program.decls {
            let DeclKind::Error(names) = &decl.kind else {
                continue;
            };
            let new = names.iter().filter(|n| seen.insert(n.name.clone()));
            members.extend(new.map(|n| Member::Declared {
                name: n.name.clone(),
                at: n.span,
                ty: Some("error".to_owned()),
            }));
        }
        members
    }

    /// Members of the name of a type.
    fn type_members(&self, ty: &Ty) -> Vec<Member> {
        let Ty::Enum(e) = ty else {
            let all = members_of(ty, false).into_iter();
            let sizes = all.filter(|m| m.name.contains("Size") || m.name == "apply");
            return sizes.map(Member::BuiltIn).collect();
        };
        let declared = match self.checker.decls.get(&e.decl).map(|d| &d.kind) {
            Some(DeclKind::Enum(e)) => e.members.iter().collect(),
            Some(DeclKind::SerializableEnum(e)) => e.members.iter().map(|m| &m.name).collect(),
            _ => Vec::new(),
        };
        let member = |name: &ast::Ident| Member::Declared {
            name: name.name.clone(),
            at: name.span,
            ty: Some(ty.to_string()),
        };
        declared.into_iter().map(member).collect()
    }

    /// Members of a value: fields and methods.
    fn value_members(&self, value: &Elab<'a>) -> Vec<Member> {
        let ty = self.checker.infer.resolve(&value.ty);
        let mut members = Vec::new();
        match &ty {
            Ty::Record(r) => {
                let declared = match self.checker.decls.get(&r.decl).map(|d| &d.kind) {
                    Some(DeclKind::Composite(c)) => c.fields.as_slice(),
                    _ => &[],
                };
                members.extend(r.fields.iter().filter_map(|field| {
                    Some(Member::Declared {
                        name: field.name.clone(),
                        at: declared.get(field.index)?.name.span,
                        ty: Some(self.checker.infer.resolve(&field.ty).to_string()),
                    })
                }));
            }
            Ty::Extern(id, ..) => members.extend(self.methods_known(*id)),
            _ => {}
        }
        let in_parser = self.body.kind == BodyKind::Parser;
        let built_in = members_of(&ty, in_parser).into_iter();
        members.extend(built_in.map(Member::BuiltIn));
        members
    }

    /// Methods of an extern object, each name once.
    fn methods_known(&self, object: NodeId) -> Vec<Member> {
        let Some(DeclKind::ExternObject(object)) = self.checker.decls.get(&object).map(|d| &d.kind)
        else {
            return Vec::new();
        };
        let mut seen = std::collections::HashSet::new();
        let methods = object.methods.iter();
        methods
            .filter(|m| m.kind != MethodKind::Constructor)
            .map(|m| &m.prototype)
            .filter(|proto| seen.insert(proto.name.name.clone()))
            .map(|proto| Member::Declared {
                name: proto.name.name.clone(),
                at: proto.name.span,
                ty: Some(proto.result.to_string()),
            })
            .collect()
    }

    /// What may be called here, and the type of its argument at the place.
    fn callees(&mut self, callee: &'a ast::Expr, argument: usize, seen: &mut Seen) {
        let mut found: Vec<(Span, &'a [ast::Param], bool)> = Vec::new();
        match &callee.kind {
            ExprKind::Path(path) => match self.find(path) {
                Some(Entity::Functions(all)) => {
                    let protos = all.iter().filter_map(|d| prototype(d));
                    found.extend(protos.map(of_prototype));
                }
                Some(Entity::TypeDecl(decl)) => found = Self::constructors(decl),
                Some(Entity::Value(Elab {
                    val: Val::Action(info),
                    ..
                })) => {
                    let action = info.decl;
                    found.push((action.name.span, &action.params, true));
                }
                Some(Entity::Type(Ty::Extern(id, ..))) => {
                    let decl = self.checker.decls.get(&id).copied();
                    found = decl.map(Self::constructors).unwrap_or_default();
                }
                _ => {}
            },
            ExprKind::Member { base, member } => {
                let ty = match &base.kind {
                    ExprKind::TypeName(ty) => self.ty(ty),
                    _ => self.expr(base, None).ty,
                };
                let ty = self.checker.infer.resolve(&ty);
                let (Ty::Extern(id, ..) | Ty::Block(id, ..)) = &ty else {
                    return;
                };
                let decl = self.checker.decls.get(id).copied();
                match decl.map(|d| (&d.kind, d)) {
                    Some((DeclKind::ExternObject(object), _)) => {
                        let named = object.methods.iter().map(|m| &m.prototype);
                        let named = named.filter(|p| p.name == *member);
                        found.extend(named.map(|p| {
                            let (at, params, _) = of_prototype(p);
                            (at, params, false)
                        }));
                    }
                    Some((_, decl)) if &*member.name == "apply" => {
                        let at = decl.name().map_or(decl.at.span, |n| n.span);
                        found.push((at, Self::apply_params(decl), true));
                    }
                    _ => {}
                }
            }
            ExprKind::TypeName(ty) => {
                let ty = self.ty(ty);
                if let Ty::Extern(id, ..) | Ty::Block(id, ..) | Ty::Package(id, ..) = &ty {
                    let decl = self.checker.decls.get(id).copied();
                    found = decl.map(Self::constructors).unwrap_or_default();
                }
            }
            _ => {}
        }
        seen.callees = found.iter().map(|(at, ..)| *at).collect();
        if let [(_, params, true)] = found.as_slice()
            && let Some(param) = params.get(argument)
        {
            let ty = self.ty(&param.ty);
            seen.want = (!ty.is_poison()).then(|| ty.to_string());
        }
    }

    /// Constructors of what a declaration makes.
    fn constructors(decl: &'a ast::Decl) -> Vec<(Span, &'a [ast::Param], bool)> {
        match &decl.kind {
            DeclKind::ExternObject(object) => {
                let all = object.methods.iter();
                let made = all.filter(|m| m.kind == MethodKind::Constructor);
                made.map(|m| (m.prototype.name.span, &*m.prototype.params, false))
                    .collect()
            }
            DeclKind::Parser(p) => vec![(p.signature.name.span, &p.constructor_params, false)],
            DeclKind::Control(c) => vec![(c.signature.name.span, &c.constructor_params, false)],
            DeclKind::Package(p) => vec![(p.name.span, &p.params, false)],
            _ => Vec::new(),
        }
    }
}

/// A function: its name, parameters, and whether their types mean the same where it is called.
fn of_prototype(proto: &ast::Prototype) -> (Span, &[ast::Param], bool) {
    let plain = proto.type_params.is_empty();
    (proto.name.span, &proto.params, plain)
}

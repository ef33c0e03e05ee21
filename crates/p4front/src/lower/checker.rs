//! What is known of the program: its declarations, the names in scope, types under inference, and
//! what was found wrong.
//!
//! It knows nothing of the program that is made. The [`Emitter`](super::emitter::Emitter) reads it
//! and never changes it.

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};
use num_bigint::BigInt;
use p4ir::CORE_ERRORS;

use super::notes::Notes;
use super::value::{Elab, Val};
use crate::ast::{self, NodeId, Symbol};
use crate::diag::{Diagnostic, Diagnostics};
use crate::pp::declared_by;
use crate::source::{SourceMap, Span};
use crate::types::Ty;
use crate::types::infer::Infer;

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Entity<'a> {
    /// A constant, variable, parameter, instance, table, action or value set.
    Value(Elab<'a>),
    /// A type, ready to use.
    Type(Ty),
    /// A declaration that makes a type of its arguments: generic records, externs, blocks,
    /// packages.
    TypeDecl(&'a ast::Decl),
    /// User functions and extern functions of one name.
    Functions(Vec<&'a ast::Decl>),
    /// An error was reported.
    Poison,
}

pub(super) type Scope<'a> = HashMap<Symbol, Declared<'a>>;

/// A name in a scope.
#[derive(Clone)]
pub(super) struct Declared<'a> {
    pub(super) entity: Entity<'a>,
    pub(super) role: Role,
    pub(super) at: Span,
}

/// What a declaration is, as far as names care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A constant, variable, instance, action, table, type or type parameter.
    Local,
    /// A parameter, which no declaration of an inner block may hide.
    Param,
    /// A constructor's parameter: known at compile time, but not while types are made.
    Constructor,
}

/// Declarations, names, types and findings.
pub(super) struct Checker<'a> {
    pub(super) program: &'a ast::Program,
    pub(super) map: &'a SourceMap,
    pub(super) diags: Diagnostics,
    reported: HashSet<(Option<Span>, String)>,
    /// Declarations at the top level by name; several for overloaded functions.
    pub(super) globals: HashMap<Symbol, Vec<&'a ast::Decl>>,
    /// All declarations of types, by id.
    pub(super) decls: HashMap<NodeId, &'a ast::Decl>,
    /// What declarations at the top level stand for, once that was asked.
    pub(super) resolved: HashMap<NodeId, Entity<'a>>,
    pub(super) in_progress: HashSet<NodeId>,
    /// Records, by declaration and type arguments.
    pub(super) records: HashMap<(NodeId, Vec<Ty>), Ty>,
    /// Members of `error`, with their numbers.
    pub(super) errors: IndexMap<Symbol, u32>,
    pub(super) match_kinds: IndexSet<Symbol>,
    /// Names of the blocks around, innermost last.
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) infer: Infer,
    /// A type is being made: constructor parameters have no value yet.
    pub(super) sizing: bool,
    /// Type parameters that default values of a package's parameters may use.
    pub(super) default_scope: Option<(&'a [ast::TypeParam], Vec<Ty>)>,
    /// Values of the members so far of enums that are being made.
    pub(super) open_enums: HashMap<NodeId, Vec<BigInt>>,
    /// Present nesting.
    pub(super) depth: u32,
    /// What names were found to mean.
    pub(super) notes: Notes,
}

impl<'a> Checker<'a> {
    /// With the names of the top level, all errors and match kinds.
    pub(super) fn new(program: &'a ast::Program, map: &'a SourceMap, notes: Notes) -> Self {
        let core = CORE_ERRORS.iter().zip(0..);
        let mut checker = Self {
            program,
            map,
            diags: Diagnostics::new(),
            reported: HashSet::new(),
            globals: HashMap::new(),
            decls: HashMap::new(),
            resolved: HashMap::new(),
            in_progress: HashSet::new(),
            records: HashMap::new(),
            errors: core.map(|(name, i)| (Symbol::from(*name), i)).collect(),
            match_kinds: IndexSet::new(),
            scopes: Vec::new(),
            infer: Infer::default(),
            sizing: false,
            default_scope: None,
            open_enums: HashMap::new(),
            depth: 0,
            notes,
        };
        checker.collect();
        checker
    }

    /// Reports a finding once, however many instances it is found in.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self
            .reported
            .insert((diagnostic.span, diagnostic.message.clone()))
        {
            self.diags.push(diagnostic);
        }
    }

    /// Takes a name into the innermost scope.
    pub(super) fn declare(&mut self, role: Role, name: &ast::Ident, entity: Entity<'a>) {
        if let Entity::Value(value) = &entity
            && self.notes.are_taken()
        {
            self.notes.typed(name.span, self.infer.resolve(&value.ty));
        }
        let Some(scope) = self.scopes.last_mut() else {
            return;
        };
        let declared = Declared {
            entity,
            role,
            at: name.span,
        };
        if let Some(earlier) = scope.insert(name.name.clone(), declared) {
            self.report(
                Diagnostic::error(
                    "name",
                    name.span,
                    format!("`{name}` is declared twice in this scope"),
                )
                .with_related(earlier.at, "first declared here"),
            );
        }
    }

    /// A declaration inside a block must not hide a parameter.
    pub(super) fn check_shadowing(&mut self, name: &ast::Ident) {
        let outer = self.scopes.iter().rev().skip(1);
        let hidden = outer.filter_map(|s| s.get(&name.name)).next();
        let Some(Declared {
            role: Role::Param | Role::Constructor,
            at,
            ..
        }) = hidden
        else {
            return;
        };
        let at = *at;
        self.report(
            Diagnostic::error(
                "name",
                name.span,
                format!("`{name}` hides the parameter `{name}`"),
            )
            .with_related(at, "the parameter is declared here")
            .with_help("give one of them another name"),
        );
    }

    /// Notes that the name at `at` means what is declared at `declared`.
    pub(super) fn used(&mut self, at: Span, declared: Span) {
        self.notes.used(self.map, at, declared);
    }

    /// Notes that the name at `at` means a member that the language defines.
    pub(super) fn used_built_in(&mut self, at: Span, name: &'static str) {
        self.notes.built_in(self.map, at, name);
    }

    /// Notes that the name at `at` means field `index` of the record that `decl` declares.
    pub(super) fn used_field(&mut self, at: Span, decl: NodeId, index: usize) {
        if let Some(ast::DeclKind::Composite(c)) = self.decls.get(&decl).map(|d| &d.kind)
            && let Some(field) = c.fields.get(index)
        {
            self.used(at, field.name.span);
        }
    }

    /// Notes that the name at `at` means a member of the enum that `decl` declares.
    pub(super) fn used_member(&mut self, at: Span, decl: NodeId, member: &str) {
        let declared = match self.decls.get(&decl).map(|d| &d.kind) {
            Some(ast::DeclKind::Enum(e)) => e.members.iter().find(|m| &*m.name == member),
            Some(ast::DeclKind::SerializableEnum(e)) => {
                let mut names = e.members.iter().map(|m| &m.name);
                names.find(|m| &*m.name == member)
            }
            _ => None,
        };
        if let Some(declared) = declared {
            self.used(at, declared.span);
        }
    }

    /// All names that could have been meant, in order.
    pub(super) fn names(&self, path: &ast::Path) -> Vec<&str> {
        let scopes = self.scopes.iter().filter(|_| !path.absolute);
        let mut names: Vec<&str> = scopes.flat_map(|s| s.keys().map(|k| &**k)).collect();
        names.extend(self.globals.keys().map(|k| &**k));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A match kind is a value too.
    pub(super) fn match_kind(&self, name: &str) -> Option<Entity<'a>> {
        let index = self.match_kinds.get_index_of(name)? as u32;
        Some(Entity::Value(Elab::new(Ty::MatchKind, Val::Enum(index))))
    }

    /// All actions that could have been meant, in order.
    pub(super) fn actions(&self, path: &ast::Path) -> Vec<&str> {
        let is_action = |entity: &Entity<'a>| matches!(entity, Entity::Value(value) if matches!(value.val, Val::Action(_)));
        let scopes = self.scopes.iter().filter(|_| !path.absolute).flatten();
        let local = scopes.filter(|(_, declared)| is_action(&declared.entity));
        let action = |decl: &&ast::Decl| matches!(decl.kind, ast::DeclKind::Action(_));
        let global = self
            .globals
            .iter()
            .filter(|(_, all)| all.iter().any(action));
        let mut names: Vec<&str> = local.map(|(name, _)| &**name).collect();
        names.extend(global.map(|(name, _)| &**name));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether `main` is made of several packages: a chip of pipes with a program each.
    pub(super) fn several_pipes(&self) -> bool {
        let main = self.globals.get("main").and_then(|all| all.first());
        let Some(ast::DeclKind::Instance(main)) = main.map(|decl| &decl.kind) else {
            return false;
        };
        let mut pipes = main.args.iter().map(|arg| &arg.value);
        let first = pipes.next();
        pipes.any(|pipe| Some(pipe) != first)
    }

    /// Takes in the names of the top level, all errors and match kinds.
    fn collect(&mut self) {
        let program = self.program;
        for decl in &program.decls {
            self.decls.insert(decl.at.id, decl);
            match &decl.kind {
                ast::DeclKind::Error(names) => self.collect_errors(names),
                ast::DeclKind::MatchKind(names) => {
                    for kind in names {
                        if !self.match_kinds.insert(kind.name.clone()) {
                            let text = format!("match kind `{kind}` is declared twice");
                            self.report(Diagnostic::error("name", kind.span, text));
                        }
                    }
                }
                ast::DeclKind::Typedef(t) => {
                    if let ast::TypedefTarget::Declared { decl: inner, .. } = &t.target {
                        self.decls.insert(inner.at.id, inner);
                        self.collect_global(inner);
                    }
                    self.collect_global(decl);
                }
                _ => self.collect_global(decl),
            }
        }
    }

    fn collect_errors(&mut self, names: &[ast::Ident]) {
        for ident in names {
            let next = self.errors.len() as u32;
            if let Some(&known) = self.errors.get(&ident.name) {
                let core = (known as usize) < CORE_ERRORS.len();
                if !core {
                    self.report(Diagnostic::error(
                        "name",
                        ident.span,
                        format!("error `{ident}` is declared twice"),
                    ));
                }
                continue;
            }
            self.errors.insert(ident.name.clone(), next);
        }
    }

    fn collect_global(&mut self, decl: &'a ast::Decl) {
        let Some(name) = decl.name() else {
            return;
        };
        let known = self.globals.entry(name.name.clone()).or_default();
        let earlier = known
            .iter()
            .find(|d| !(is_function(d) && is_function(decl)))
            .copied();
        match earlier {
            None => known.push(decl),
            // An announced extern, or a parser/control type followed by its definition of the same
            // name.
            Some(first) if matches!(first.kind, ast::DeclKind::ExternForward(_)) => {
                known.retain(|d| !std::ptr::eq(*d, first));
                known.push(decl);
            }
            Some(_) if matches!(decl.kind, ast::DeclKind::ExternForward(_)) => {}
            Some(first) => {
                let before = first.name().map_or(first.at.span, |n| n.span);
                self.report(
                    Diagnostic::error("name", name.span, format!("`{name}` is declared twice"))
                        .with_related(before, "first declared here"),
                );
            }
        }
    }
}

/// That a name is not declared, and the file to include if it is a built-in one's.
pub(super) fn undeclared(path: &ast::Path) -> Diagnostic {
    let name = &path.name;
    let d = Diagnostic::error("name", name.span, format!("`{name}` is not declared"));
    match declared_by(&name.name) {
        Some(file) => d.with_help(format!("`#include <{file}>` declares it")),
        None => d,
    }
}

pub(super) fn is_function(decl: &ast::Decl) -> bool {
    matches!(
        decl.kind,
        ast::DeclKind::Function(_) | ast::DeclKind::ExternFunction(_)
    )
}

//! From the syntax tree to p4ir: names are resolved, types checked, constants folded and instances
//! made in one walk that starts at `main`.
//!
//! Elaborating an expression ([`expr`]) gives an [`value::Elab`]: its type and either a compile-time value,
//! a pure run-time expression, a place, or a list of such. Whatever has an effect is emitted as a statement
//! into the current block on the way, which puts it in evaluation order. Types are concrete everywhere:
//! a generic function, parser or control is elaborated anew for each set of arguments, a parser or control for
//! each instance. Declarations that `main` does not reach are elaborated afterwards into a program that is
//! thrown away, to find their errors.

mod annot;
mod apply;
mod assign;
mod builtin;
mod calculation;
mod call;
mod cast;
mod control;
mod decl;
mod entries;
mod expr;
mod infer_call;
mod instance;
mod keyset;
mod limits;
mod loops;
mod member;
mod methods;
mod ops;
mod package;
mod parser;
mod stmt;
mod table;
mod tna;
mod unused;
mod value;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use indexmap::IndexSet;
use num_bigint::BigInt;

use p4ir::{Architecture, Place, StmtKind, TypeId, Var, VarId, VarKind};

use crate::ast::{self, NodeId, Symbol};
use crate::diag::{Diagnostic, Diagnostics};
use crate::p4info::{Decls, Facts, Records};
use crate::pp::declared_by;
use crate::source::{SourceMap, Span};
use crate::types::Ty;
use crate::types::infer::Infer;

use instance::BlockInstance;
use value::Elab;

/// What a name stands for.
#[derive(Clone)]
enum Entity<'a> {
    /// A constant, variable, parameter, instance, table, action or value set.
    Value(Elab<'a>),
    /// A type, ready to use.
    Type(Ty),
    /// A declaration that makes a type of its arguments: generic records, externs, blocks, packages.
    TypeDecl(&'a ast::Decl),
    /// User functions and extern functions of one name.
    Functions(Vec<&'a ast::Decl>),
    /// An error was reported.
    Poison,
}

type Scope<'a> = HashMap<Symbol, Declared<'a>>;

/// A name in a scope.
#[derive(Clone)]
struct Declared<'a> {
    entity: Entity<'a>,
    role: Role,
    at: Span,
}

/// What a declaration is, as far as names care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A constant, variable, instance, action, table, type or type parameter.
    Local,
    /// A parameter, which no declaration of an inner block may hide.
    Param,
    /// A constructor's parameter: known at compile time, but not while types are made.
    Constructor,
}

/// What kind of body is being elaborated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    /// No statement may be emitted.
    Constant,
    Function,
    Action,
    Parser,
    Control,
}

/// The body being elaborated.
#[derive(Clone)]
struct Body {
    kind: BodyKind,
    /// Where `return e` puts its value, and its type.
    result: Option<(VarId, Ty)>,
    loops: u32,
}

/// A function instantiated with type arguments.
#[derive(Clone)]
struct FunctionInstance {
    id: p4ir::FunctionId,
    params: Vec<(VarId, Ty, ast::Direction)>,
    result: Option<(VarId, Ty)>,
}

/// The walk's state.
pub(crate) struct Lowerer<'a> {
    program: &'a ast::Program,
    map: &'a SourceMap,
    diags: Diagnostics,
    reported: HashSet<(Option<Span>, String)>,
    ir: p4ir::Program,
    facts: Facts<'a>,
    /// Declarations at the top level by name; several for overloaded functions.
    globals: HashMap<Symbol, Vec<&'a ast::Decl>>,
    /// All declarations of types, by id.
    decls: HashMap<NodeId, &'a ast::Decl>,
    resolved: HashMap<NodeId, Entity<'a>>,
    in_progress: HashSet<NodeId>,
    /// Parsers and controls that were elaborated.
    elaborated: HashSet<NodeId>,
    records: HashMap<(NodeId, Vec<Ty>), Ty>,
    functions: HashMap<(NodeId, Vec<Ty>), FunctionInstance>,
    ir_types: HashMap<Ty, TypeId>,
    errors: HashMap<Symbol, u32>,
    match_kinds: IndexSet<Symbol>,
    scopes: Vec<Scope<'a>>,
    body: Body,
    out: p4ir::Block,
    infer: Infer,
    blocks: Vec<BlockInstance<'a>>,
    /// Prefix of control-plane names inside the instance being elaborated, without a final dot.
    prefix: String,
    /// What is elaborated is reached from `main`.
    reached: bool,
    /// Actions made for a table's list, with what they were made of.
    wrapped: HashMap<p4ir::ActionId, p4ir::ActionId>,
    /// A type is being made: constructor parameters have no value yet.
    sizing: bool,
    /// Type parameters that default values of a package's parameters may use.
    default_scope: Option<(&'a [ast::TypeParam], Vec<Ty>)>,
    /// The object whose abstract method is being read.
    this: Option<Elab<'a>>,
    /// Objects of Tofino's architecture.
    tna_objects: tna::Objects,
    /// Values of the members so far of enums that are being made.
    open_enums: HashMap<NodeId, Vec<BigInt>>,
    /// Present nesting.
    depth: u32,
    /// What the program asked for besides expressions: see [`limits`].
    spent: limits::Spent,
    files: BTreeMap<String, u32>,
    types_cache: CommonTypes,
}

#[derive(Clone, Copy)]
struct CommonTypes {
    boolean: TypeId,
    bit32: TypeId,
    error: TypeId,
}

/// What lowering gives: the program, not yet validated, and what P4Info needs.
pub(crate) struct Lowered<'a> {
    pub(crate) ir: p4ir::Program,
    pub(crate) facts: Facts<'a>,
    pub(crate) decls: Decls<'a>,
    pub(crate) records: Records,
    pub(crate) diags: Diagnostics,
}

/// Errors of `core.p4`, in its order.
const CORE_ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

/// Nesting of expressions, instances and calls that is followed before giving up.
const MAX_DEPTH: u32 = 200;

/// Elaborates a program. The result means something only if there are no errors among the findings.
pub(crate) fn lower<'a>(program: &'a ast::Program, map: &'a SourceMap) -> Lowered<'a> {
    let mut lowerer = Lowerer::new(program, map);
    lowerer.collect();
    lowerer.ir.architecture = Architecture::declared(|name| lowerer.globals.contains_key(name));
    lowerer.main();
    let ir = lowerer.ir.clone();
    let facts = lowerer.facts.clone();
    lowerer.check_rest();
    let records = lowerer.records.into_iter().filter_map(|((id, args), ty)| {
        let plain = args.is_empty();
        ty.record().filter(|_| plain).map(|r| (id, r.clone()))
    });
    Lowered {
        ir,
        facts,
        decls: lowerer.decls,
        records: records.collect(),
        diags: lowerer.diags,
    }
}

impl<'a> Lowerer<'a> {
    fn new(program: &'a ast::Program, map: &'a SourceMap) -> Self {
        let mut ir = p4ir::Program::default();
        let types_cache = CommonTypes {
            boolean: ir.types.boolean(),
            bit32: ir.types.bit(32),
            error: ir.types.intern(p4ir::Type::Error),
        };
        Self {
            program,
            map,
            diags: Diagnostics::new(),
            reported: HashSet::new(),
            ir,
            facts: Facts::default(),
            globals: HashMap::new(),
            decls: HashMap::new(),
            resolved: HashMap::new(),
            in_progress: HashSet::new(),
            elaborated: HashSet::new(),
            records: HashMap::new(),
            functions: HashMap::new(),
            ir_types: HashMap::new(),
            errors: HashMap::new(),
            match_kinds: IndexSet::new(),
            scopes: Vec::new(),
            body: Body {
                kind: BodyKind::Constant,
                result: None,
                loops: 0,
            },
            out: Vec::new(),
            infer: Infer::default(),
            blocks: Vec::new(),
            prefix: String::new(),
            reached: true,
            wrapped: HashMap::new(),
            sizing: false,
            default_scope: None,
            this: None,
            tna_objects: tna::Objects::default(),
            open_enums: HashMap::new(),
            depth: 0,
            spent: limits::Spent::default(),
            files: BTreeMap::new(),
            types_cache,
        }
    }

    /// Reports a finding once, however many instances it is found in.
    fn report(&mut self, diagnostic: Diagnostic) {
        if self
            .reported
            .insert((diagnostic.span, diagnostic.message.clone()))
        {
            self.diags.push(diagnostic);
        }
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::warning(code, span, message));
    }

    fn span(&mut self, span: Span) -> p4ir::Span {
        let at = self.map.location(span);
        let next = self.files.len() as u32;
        let file = *self.files.entry(at.file.to_string()).or_insert(next);
        if file == next {
            self.ir.files.push(at.file.to_string());
        }
        p4ir::Span {
            file,
            line: at.line,
            column: at.column,
        }
    }

    /// Appends a statement to the current block.
    fn emit(&mut self, kind: StmtKind, span: Span) {
        if self.body.kind == BodyKind::Constant {
            self.error("const", span, "this is not a compile-time constant");
            return;
        }
        self.spend(1);
        let span = self.span(span);
        self.out.push(p4ir::Stmt { kind, span });
    }

    /// Runs `f` with an empty block and returns what it emitted.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (p4ir::Block, T) {
        let outer = std::mem::take(&mut self.out);
        let result = f(self);
        (std::mem::replace(&mut self.out, outer), result)
    }

    /// Runs `f` with one more scope.
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Scope::new());
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// Runs `f` where only top-level names are visible, as a body of its own.
    fn detached<T>(&mut self, body: Body, f: impl FnOnce(&mut Self) -> T) -> T {
        let scopes = std::mem::take(&mut self.scopes);
        let out = std::mem::take(&mut self.out);
        let body = std::mem::replace(&mut self.body, body);
        self.scopes.push(Scope::new());
        let result = f(self);
        self.scopes = scopes;
        self.out = out;
        self.body = body;
        result
    }

    /// Guards recursion over nesting; `None` (and an error) when it is too deep, or when the program is too large to go on.
    fn deeper<T>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            let text = format!(
                "this is nested too deeply: declarations, statements and expressions may be nested {MAX_DEPTH} levels"
            );
            self.error("limit", span, text);
            return None;
        }
        if !self.has_room(span) {
            return None;
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        Some(result)
    }

    fn new_var(&mut self, name: &str, ty: &Ty, kind: VarKind, span: Span) -> VarId {
        self.store_words(ty, span);
        let ty = self.ir_ty(ty);
        let span = self.span(span);
        self.ir.vars.push(Var {
            name: name.to_owned(),
            ty,
            kind,
            span,
        })
    }

    fn temp(&mut self, ty: &Ty, span: Span) -> Place {
        Place::var(self.new_var("tmp", ty, VarKind::Temp, span))
    }

    fn declare(&mut self, name: &ast::Ident, entity: Entity<'a>) {
        self.declare_as(Role::Local, name, entity);
    }

    fn declare_as(&mut self, role: Role, name: &ast::Ident, entity: Entity<'a>) {
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
    fn check_shadowing(&mut self, name: &ast::Ident) {
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

    /// What a name stands for here.
    fn lookup(&mut self, path: &ast::Path) -> Entity<'a> {
        match self.find(path) {
            Some(entity) => entity,
            None => {
                let d = undeclared(path);
                let d = match d.help {
                    Some(_) => d,
                    None => d.with_nearest(&path.name.name, self.names(path)),
                };
                self.report(d);
                Entity::Poison
            }
        }
    }

    /// Whether the program is made for v1model, whose rules then hold too.
    fn v1model(&self) -> bool {
        self.ir.architecture == Some(Architecture::V1Model)
    }

    /// All names that could have been meant, in order.
    fn names(&self, path: &ast::Path) -> Vec<&str> {
        let scopes = self.scopes.iter().filter(|_| !path.absolute);
        let mut names: Vec<&str> = scopes.flat_map(|s| s.keys().map(|k| &**k)).collect();
        names.extend(self.globals.keys().map(|k| &**k));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn find(&mut self, path: &ast::Path) -> Option<Entity<'a>> {
        if !path.absolute {
            for scope in self.scopes.iter().rev() {
                let Some(declared) = scope.get(&path.name.name) else {
                    continue;
                };
                if self.sizing && declared.role == Role::Constructor {
                    let (at, text) = (
                        declared.at,
                        "a type cannot depend on a constructor parameter",
                    );
                    self.report(
                        Diagnostic::error("const", path.name.span, text)
                            .with_related(at, "the parameter is declared here"),
                    );
                    return Some(Entity::Poison);
                }
                return Some(declared.entity.clone());
            }
        }
        match self.global(&path.name.name) {
            None => self.match_kind(&path.name.name),
            known => known,
        }
    }

    /// A match kind is a value too.
    fn match_kind(&self, name: &str) -> Option<Entity<'a>> {
        let index = self.match_kinds.get_index_of(name)? as u32;
        Some(Entity::Value(Elab::new(
            Ty::MatchKind,
            value::Val::Enum(index),
        )))
    }

    fn global(&mut self, name: &str) -> Option<Entity<'a>> {
        let decls = self.globals.get(name)?.clone();
        match decls.as_slice() {
            [only] if !is_function(only) => Some(self.resolve(only)),
            all => Some(Entity::Functions(
                all.iter().copied().filter(|d| is_function(d)).collect(),
            )),
        }
    }

    /// Takes in the names of the top level, all errors and match kinds.
    fn collect(&mut self) {
        for (i, name) in CORE_ERRORS.iter().enumerate() {
            self.errors.insert(Symbol::from(*name), i as u32);
            self.ir.errors.push((*name).to_owned());
        }
        let program = self.program;
        for decl in &program.decls {
            self.decls.insert(decl.at.id, decl);
            match &decl.kind {
                ast::DeclKind::Error(names) => self.collect_errors(names),
                ast::DeclKind::MatchKind(names) => {
                    for kind in names {
                        if !self.match_kinds.insert(kind.name.clone()) {
                            let text = format!("match kind `{kind}` is declared twice");
                            self.error("name", kind.span, text);
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
            let next = self.ir.errors.len() as u32;
            if let Some(&known) = self.errors.get(&ident.name) {
                let core = (known as usize) < CORE_ERRORS.len();
                if !core {
                    self.error(
                        "name",
                        ident.span,
                        format!("error `{ident}` is declared twice"),
                    );
                }
                continue;
            }
            self.errors.insert(ident.name.clone(), next);
            self.ir.errors.push(ident.name.to_string());
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
            // An announced extern, or a parser/control type followed by its definition of the same name.
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

    /// Elaborates what `main` did not reach, only for its errors.
    fn check_rest(&mut self) {
        self.reached = false;
        let program = self.program;
        for decl in &program.decls {
            if self.diags.is_full() {
                return;
            }
            self.check_unused(decl);
        }
    }
}

/// That a name is not declared, and the file to include if it is a built-in one's.
fn undeclared(path: &ast::Path) -> Diagnostic {
    let name = &path.name;
    let d = Diagnostic::error("name", name.span, format!("`{name}` is not declared"));
    match declared_by(&name.name) {
        Some(file) => d.with_help(format!("`#include <{file}>` declares it")),
        None => d,
    }
}

fn is_function(decl: &ast::Decl) -> bool {
    matches!(
        decl.kind,
        ast::DeclKind::Function(_) | ast::DeclKind::ExternFunction(_)
    )
}

/// A shared list of parameters' names and types, for messages and P4Info.
type Params<'a> = Rc<[ActionParam<'a>]>;

/// A parameter of an action.
struct ActionParam<'a> {
    decl: &'a ast::Param,
    ty: Ty,
    var: VarId,
}

/// An action that can be called or put into tables.
pub(crate) struct ActionInfo<'a> {
    id: p4ir::ActionId,
    decl: &'a ast::Action,
    params: Params<'a>,
}

impl std::fmt::Debug for ActionInfo<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

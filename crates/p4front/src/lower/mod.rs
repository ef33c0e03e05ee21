//! From the syntax tree to p4ir: names are resolved, types checked, constants folded and instances
//! made in one walk that starts at `main`.
//!
//! Elaborating an expression ([`expr`]) gives an [`value::Elab`]: its type and either a
//! compile-time value, a pure run-time expression, a place, or a list of such. Whatever has an
//! effect is emitted as a statement into the current block on the way, which puts it in evaluation
//! order. Types are concrete everywhere: a generic function, parser or control is elaborated anew
//! for each set of arguments, a parser or control for each instance. Declarations that `main` does
//! not reach are elaborated afterwards into a program that is thrown away, to find their errors.
//!
//! The walk stands between two: the [`checker::Checker`] has declarations, scopes, inference and
//! findings, the [`emitter::Emitter`] the program that is made. The emitter reads the checker and
//! never changes it; the checker does not know of the emitter.

mod action_data;
mod annot;
mod apply;
mod args;
mod assign;
mod built_in;
mod builtin;
mod calculation;
mod call;
mod cast;
mod checker;
mod control;
mod decl;
mod emitter;
mod entries;
mod expr;
mod infer_call;
mod instance;
mod keyset;
mod limits;
mod loops;
mod member;
mod methods;
mod notes;
mod ops;
mod package;
mod parser;
mod probe;
mod residual;
mod stmt;
mod table;
mod tna;
mod tna_alu;
mod tna_hash;
mod unused;
mod value;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use p4ir::{Architecture, ExternId, Place, StmtKind, VarId, VarKind};

use crate::ast::{self, NodeId};
use crate::diag::{Diagnostic, Diagnostics};
use crate::p4info::{Decls, Facts, Records};
use crate::source::{SourceMap, Span};
use crate::types::Ty;

use checker::{Checker, Declared, Entity, Role, Scope, is_function, undeclared};
use emitter::Emitter;
use instance::BlockInstance;
use value::Elab;

pub(crate) use built_in::built_in;
pub(crate) use notes::{Meaning, Notes};
use probe::Asked;
pub(crate) use probe::{Anchor, Known, Member, Probe, Seen, probe};

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

impl Body {
    /// A body in which values must be known at compile time.
    const fn constant() -> Self {
        Self {
            kind: BodyKind::Constant,
            result: None,
            loops: 0,
        }
    }
}

/// A function's declaration, its type arguments, and the extern objects it is given; `None` is an
/// object of which only the type is known.
type FunctionKey = (NodeId, Vec<Ty>, Vec<Option<ExternId>>);

/// A function instantiated with type arguments.
#[derive(Clone)]
struct FunctionInstance {
    id: p4ir::FunctionId,
    params: Vec<(VarId, Ty, ast::Direction)>,
    result: Option<(VarId, Ty)>,
}

/// The walk: it elaborates what the checker knows, and has the emitter make what comes of it.
pub(crate) struct Lowerer<'a> {
    checker: Checker<'a>,
    emitter: Emitter,
    facts: Facts<'a>,
    /// Parsers and controls that were elaborated.
    elaborated: HashSet<NodeId>,
    /// Functions by their type arguments and the objects they are given.
    functions: HashMap<FunctionKey, FunctionInstance>,
    blocks: Vec<BlockInstance<'a>>,
    /// Default values of the parameters of actions, by parameter.
    defaults: HashMap<NodeId, Elab<'a>>,
    body: Body,
    /// Prefix of control-plane names inside the instance being elaborated, without a final dot.
    prefix: String,
    /// What is elaborated is reached from `main`.
    reached: bool,
    /// The object whose abstract method is being read.
    this: Option<Elab<'a>>,
    /// Objects of Tofino's architecture.
    tna_objects: tna::Objects,
    /// The question that is to be answered on the way.
    asked: Asked<'a>,
}

/// What lowering gives: the program, not yet validated, and what P4Info needs.
pub(crate) struct Lowered<'a> {
    pub(crate) ir: p4ir::Program,
    pub(crate) facts: Facts<'a>,
    pub(crate) decls: Decls<'a>,
    pub(crate) records: Records,
    pub(crate) diags: Diagnostics,
    pub(crate) notes: Notes,
}

/// Nesting of expressions, instances and calls that is followed before giving up.
const MAX_DEPTH: u32 = 200;

/// Elaborates a program. The result means something only if there are no errors among the findings;
/// what was noted always does.
pub(crate) fn lower<'a>(
    program: &'a ast::Program,
    map: &'a SourceMap,
    notes: Notes,
) -> Lowered<'a> {
    let mut lowerer = Lowerer::new(program, map, notes);
    lowerer.main();
    let ir = lowerer.emitter.ir.clone();
    let facts = lowerer.facts.clone();
    lowerer.check_rest();
    let records = lowerer
        .checker
        .records
        .into_iter()
        .filter_map(|((id, args), ty)| {
            let plain = args.is_empty();
            ty.record().filter(|_| plain).map(|r| (id, r.clone()))
        });
    Lowered {
        ir,
        facts,
        decls: lowerer.checker.decls,
        records: records.collect(),
        diags: lowerer.checker.diags,
        notes: lowerer.checker.notes,
    }
}

impl<'a> Lowerer<'a> {
    fn new(program: &'a ast::Program, map: &'a SourceMap, notes: Notes) -> Self {
        let checker = Checker::new(program, map, notes);
        let emitter = Emitter::new(&checker);
        Self {
            checker,
            emitter,
            facts: Facts::default(),
            elaborated: HashSet::new(),
            functions: HashMap::new(),
            blocks: Vec::new(),
            defaults: HashMap::new(),
            body: Body::constant(),
            prefix: String::new(),
            reached: true,
            this: None,
            tna_objects: tna::Objects::default(),
            asked: Asked::default(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.checker.report(diagnostic);
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::warning(code, span, message));
    }

    fn span(&mut self, span: Span) -> p4ir::Span {
        self.emitter.span(&self.checker, span)
    }

    /// Appends a statement to the current block.
    fn emit(&mut self, kind: StmtKind, span: Span) {
        if self.body.kind == BodyKind::Constant {
            self.error("const", span, "this is not a compile-time constant");
            return;
        }
        self.emitter.push(&self.checker, kind, span);
    }

    /// Runs `f` with an empty block and returns what it emitted.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (p4ir::Block, T) {
        let outer = std::mem::take(&mut self.emitter.out);
        let result = f(self);
        (std::mem::replace(&mut self.emitter.out, outer), result)
    }

    /// Runs `f` with one more scope.
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.checker.scopes.push(Scope::new());
        let result = f(self);
        self.checker.scopes.pop();
        result
    }

    /// Runs `f` where only top-level names are visible, as a body of its own.
    fn detached<T>(&mut self, body: Body, f: impl FnOnce(&mut Self) -> T) -> T {
        let scopes = std::mem::take(&mut self.checker.scopes);
        let out = std::mem::take(&mut self.emitter.out);
        let body = std::mem::replace(&mut self.body, body);
        self.checker.scopes.push(Scope::new());
        let result = f(self);
        self.checker.scopes = scopes;
        self.emitter.out = out;
        self.body = body;
        result
    }

    /// Guards recursion over nesting; `None` (and an error) when it is too deep, or when the
    /// program is too large to go on.
    fn deeper<T>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.checker.depth >= MAX_DEPTH {
            let text = format!(
                "this is nested too deeply: declarations, statements and expressions may be nested {MAX_DEPTH} levels"
            );
            self.error("limit", span, text);
            return None;
        }
        if !self.has_room(span) || self.asked.is_answered() {
            return None;
        }
        self.checker.depth += 1;
        let result = f(self);
        self.checker.depth -= 1;
        Some(result)
    }

    fn new_var(&mut self, name: &str, ty: &Ty, kind: VarKind, span: Span) -> VarId {
        self.store_words(ty, span);
        self.emitter.var(&self.checker, name, ty, kind, span)
    }

    fn temp(&mut self, ty: &Ty, span: Span) -> Place {
        Place::var(self.new_var("tmp", ty, VarKind::Temp, span))
    }

    fn declare(&mut self, name: &ast::Ident, entity: Entity<'a>) {
        self.declare_as(Role::Local, name, entity);
    }

    fn declare_as(&mut self, role: Role, name: &ast::Ident, entity: Entity<'a>) {
        self.checker.declare(role, name, entity);
    }

    /// What a name stands for here.
    fn lookup(&mut self, path: &ast::Path) -> Entity<'a> {
        match self.find(path) {
            Some(entity) => entity,
            None => {
                let d = undeclared(path);
                let d = match d.help {
                    Some(_) => d,
                    None => d.with_nearest(&path.name.name, self.checker.names(path)),
                };
                self.report(d);
                Entity::Poison
            }
        }
    }

    /// Whether the program is made for v1model, whose rules then hold too.
    fn v1model(&self) -> bool {
        self.emitter.ir.architecture == Some(Architecture::V1Model)
    }

    fn find(&mut self, path: &ast::Path) -> Option<Entity<'a>> {
        if !path.absolute {
            for scope in self.checker.scopes.iter().rev() {
                let Some(declared) = scope.get(&path.name.name) else {
                    continue;
                };
                if self.checker.sizing && declared.role == Role::Constructor {
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
                let (entity, at) = (declared.entity.clone(), declared.at);
                self.checker.used(path.name.span, at);
                return Some(entity);
            }
        }
        self.note_global(&path.name);
        match self.global(&path.name.name) {
            None => {
                if let Some(at) = self.checker.notes.match_kind_at(&path.name.name) {
                    self.checker.used(path.name.span, at);
                }
                self.checker.match_kind(&path.name.name)
            }
            known => known,
        }
    }

    /// Notes which declaration of the top level a name means; of several functions the first, until
    /// one is chosen.
    fn note_global(&mut self, name: &ast::Ident) {
        let decls = self.checker.globals.get(&name.name);
        if let Some(declared) = decls.and_then(|all| all.first()).and_then(|d| d.name()) {
            let at = declared.span;
            self.checker.used(name.span, at);
        }
    }

    fn global(&mut self, name: &str) -> Option<Entity<'a>> {
        let decls = self.checker.globals.get(name)?.clone();
        match decls.as_slice() {
            [only] if !is_function(only) => Some(self.resolve(only)),
            all => Some(Entity::Functions(
                all.iter().copied().filter(|d| is_function(d)).collect(),
            )),
        }
    }

    /// Elaborates what `main` did not reach, only for its errors.
    fn check_rest(&mut self) {
        self.reached = false;
        let program = self.checker.program;
        for decl in &program.decls {
            if self.checker.diags.is_full() {
                return;
            }
            self.check_unused(decl);
        }
    }
}

/// A shared list of parameters' names and types, for messages and P4Info.
type Params<'a> = Rc<[ActionParam<'a>]>;

/// A parameter of an action.
struct ActionParam<'a> {
    decl: &'a ast::Param,
    ty: Ty,
    var: VarId,
}

impl ActionParam<'_> {
    /// Whether the control plane fills it.
    fn is_data(&self) -> bool {
        self.decl.direction == ast::Direction::None
    }
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

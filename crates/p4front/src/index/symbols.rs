//! What a program declares, from its tree: names, kinds, places.

use crate::ast::{self, Decl, DeclKind, Param, Program, Stmt, StmtKind};
use crate::source::{SourceMap, Span};

/// What a name is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each says what it is
pub enum Kind {
    Header,
    HeaderUnion,
    Struct,
    Field,
    Enum,
    EnumMember,
    ErrorMember,
    MatchKind,
    Typedef,
    NewType,
    TypeParam,
    Extern,
    Constructor,
    Method,
    ExternFunction,
    Function,
    ParserType,
    ControlType,
    Package,
    Parser,
    State,
    Control,
    Action,
    Table,
    ValueSet,
    Constant,
    Variable,
    Instance,
    Param,
}

impl Kind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Header => "header",
            Kind::HeaderUnion => "header union",
            Kind::Struct => "struct",
            Kind::Field => "field",
            Kind::Enum => "enum",
            Kind::EnumMember => "member of an enum",
            Kind::ErrorMember => "error",
            Kind::MatchKind => "match kind",
            Kind::Typedef => "typedef",
            Kind::NewType => "type",
            Kind::TypeParam => "type parameter",
            Kind::Extern => "extern",
            Kind::Constructor => "constructor",
            Kind::Method => "method",
            Kind::ExternFunction => "extern function",
            Kind::Function => "function",
            Kind::ParserType => "parser type",
            Kind::ControlType => "control type",
            Kind::Package => "package",
            Kind::Parser => "parser",
            Kind::State => "state",
            Kind::Control => "control",
            Kind::Action => "action",
            Kind::Table => "table",
            Kind::ValueSet => "value set",
            Kind::Constant => "constant",
            Kind::Variable => "variable",
            Kind::Instance => "instance",
            Kind::Param => "parameter",
        }
    }

    /// Whether the name is one of a type.
    pub fn is_type(self) -> bool {
        matches!(
            self,
            Kind::Header
                | Kind::HeaderUnion
                | Kind::Struct
                | Kind::Enum
                | Kind::Typedef
                | Kind::NewType
                | Kind::TypeParam
                | Kind::Extern
                | Kind::ParserType
                | Kind::ControlType
                | Kind::Package
                | Kind::Parser
                | Kind::Control
        )
    }
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: ast::Symbol,
    /// What it is.
    pub kind: Kind,
    /// Where the name stands.
    pub span: Span,
    /// The whole declaration.
    pub extent: Span,
    /// Index of the declaration that it is a part of.
    pub parent: Option<usize>,
    /// Words before, and the text of, its first line: `action` and `set(bit<9> port)`.
    head: (&'static str, Span, &'static str),
    /// Parameters, where it is called.
    pub params: Vec<Span>,
}

impl Symbol {
    /// The declaration without its body, on one line.
    pub fn signature(&self, map: &SourceMap) -> String {
        let (before, span, behind) = self.head;
        let text = map.text(span);
        let text = match map.expansion_at(span) {
            Some(_) => &self.name,
            None => text,
        };
        let mut line = String::from(before);
        for word in without_comments(text).split_whitespace() {
            if !line.is_empty() && !line.ends_with(['(', '<', ' ']) && !word.starts_with(')') {
                line.push(' ');
            }
            line.push_str(word);
        }
        line + behind
    }

    /// The comment above the declaration, or behind it on its line.
    pub fn documentation(&self, map: &SourceMap) -> String {
        let Some(file) = map.file(self.extent.file) else {
            return String::new();
        };
        let first = file.line_index(self.extent.start);
        let mut lines: Vec<&str> = Vec::new();
        let mut block = false;
        for index in (0..first).rev() {
            let line = file.line_text(index).trim();
            let ends_block = line.ends_with("*/");
            if !(block || ends_block || line.starts_with("//")) {
                break;
            }
            // A comment behind a declaration belongs to that.
            if ends_block && !block && !line.starts_with("/*") && !line.starts_with('*') {
                break;
            }
            lines.push(line);
            block = (block || ends_block) && !line.starts_with("/*");
            if lines.len() == MAX_DOCUMENTATION {
                break;
            }
        }
        lines.reverse();
        let behind = file.line_text(file.line_index(self.extent.end));
        if lines.is_empty()
            && let Some((_, comment)) = behind.split_once("//")
        {
            return comment.trim_matches(['/', ' ']).to_owned();
        }
        let bare = |line: &&str| {
            let line = line.trim_start_matches(['/', '*']).trim_end_matches("*/");
            line.trim().trim_matches(['-', '=', '*']).trim().to_owned()
        };
        let text: Vec<String> = lines.iter().map(bare).collect();
        text.join("\n").trim().to_owned()
    }
}

/// Lines of the longest comment that is shown.
const MAX_DOCUMENTATION: usize = 40;

/// A text without what stands in comments.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = match from.get(..2) {
            Some("//") => from.find('\n'),
            Some("/*") => from.find("*/").map(|end| end + 2),
            _ => {
                out.push('/');
                Some(1)
            }
        };
        rest = from.get(end.unwrap_or(from.len())..).unwrap_or_default();
    }
    out + rest
}

/// All declarations of a program, each behind what it is a part of.
pub(super) fn of(map: &SourceMap, program: &Program) -> Vec<Symbol> {
    let mut collector = Collector {
        map,
        symbols: Vec::new(),
        parent: None,
    };
    for decl in &program.decls {
        collector.decl(decl);
    }
    collector.symbols
}

struct Collector<'m> {
    map: &'m SourceMap,
    symbols: Vec<Symbol>,
    parent: Option<usize>,
}

impl Collector<'_> {
    fn add(
        &mut self,
        kind: Kind,
        name: &ast::Ident,
        extent: Span,
        head: (&'static str, Span, &'static str),
    ) -> usize {
        self.symbols.push(Symbol {
            name: name.name.clone(),
            kind,
            span: name.span,
            extent,
            parent: self.parent,
            head,
            params: Vec::new(),
        });
        self.symbols.len() - 1
    }

    /// What `parts` adds is a part of `parent`.
    fn within(&mut self, parent: usize, parts: impl FnOnce(&mut Self)) {
        let outer = self.parent.replace(parent);
        parts(self);
        self.parent = outer;
    }

    fn params(&mut self, of: usize, params: &[Param]) {
        self.within(of, |c| {
            for param in params {
                let from = match param.annotations.is_empty() {
                    true => param.at.span,
                    false => param.ty.at.span,
                };
                c.add(
                    Kind::Param,
                    &param.name,
                    param.at.span,
                    ("", from.to(param.at.span), ""),
                );
            }
        });
        if let Some(symbol) = self.symbols.get_mut(of) {
            symbol.params.extend(params.iter().map(|p| p.at.span));
        }
    }

    fn type_params(&mut self, of: usize, params: &[ast::TypeParam]) {
        self.within(of, |c| {
            for param in params {
                c.add(
                    Kind::TypeParam,
                    &param.name,
                    param.at.span,
                    ("", param.name.span, ""),
                );
            }
        });
    }

    /// Something with parameters in parentheses behind its name.
    fn callable(
        &mut self,
        kind: Kind,
        word: &'static str,
        at: Span,
        (name, type_params, params): (&ast::Ident, &[ast::TypeParam], &[Param]),
    ) -> usize {
        let head = match (params.last(), type_params.last()) {
            (Some(last), _) => (word, name.span.to(last.at.span), ")"),
            (None, Some(last)) => (word, name.span.to(last.at.span), ">()"),
            (None, None) => (word, name.span, "()"),
        };
        let id = self.add(kind, name, at, head);
        self.type_params(id, type_params);
        self.params(id, params);
        id
    }

    fn prototype(&mut self, kind: Kind, at: Span, proto: &ast::Prototype) -> usize {
        let id = self.callable(
            kind,
            "",
            at,
            (&proto.name, &proto.type_params, &proto.params),
        );
        let result = proto.result.at.span;
        if kind != Kind::Constructor
            && let Some(symbol) = self.symbols.get_mut(id)
            && result.file == symbol.head.1.file
            && result.start <= symbol.head.1.start
        {
            symbol.head.1 = result.to(symbol.head.1);
        }
        id
    }

    fn decl(&mut self, decl: &Decl) {
        let at = decl.at.span;
        match &decl.kind {
            DeclKind::Constant(c) => {
                let head = ("const ", c.ty.at.span.to(c.value.at.span), "");
                self.add(Kind::Constant, &c.name, at, head);
            }
            DeclKind::Variable(v) => {
                let head = ("", v.ty.at.span.to(v.name.span), "");
                self.add(Kind::Variable, &v.name, at, head);
            }
            DeclKind::Instance(i) => {
                let head = ("", i.ty.at.span.to(i.name.span), "");
                let id = self.add(Kind::Instance, &i.name, at, head);
                self.within(id, |c| i.init.iter().flatten().for_each(|d| c.decl(d)));
            }
            DeclKind::Error(names) => self.names(Kind::ErrorMember, "error.", names),
            DeclKind::MatchKind(names) => self.names(Kind::MatchKind, "match_kind ", names),
            DeclKind::Composite(c) => self.composite(at, c),
            DeclKind::Enum(e) => {
                let id = self.add(Kind::Enum, &e.name, at, ("enum ", e.name.span, ""));
                self.within(id, |c| c.names(Kind::EnumMember, "", &e.members));
            }
            DeclKind::SerializableEnum(e) => {
                let head = ("enum ", e.underlying.at.span.to(e.name.span), "");
                let id = self.add(Kind::Enum, &e.name, at, head);
                self.within(id, |c| {
                    for member in &e.members {
                        let whole = member.name.span.to(member.value.at.span);
                        c.add(Kind::EnumMember, &member.name, whole, ("", whole, ""));
                    }
                });
            }
            DeclKind::Typedef(t) => match &t.target {
                ast::TypedefTarget::Type(ty) => {
                    let head = ("typedef ", ty.at.span.to(t.name.span), "");
                    self.add(Kind::Typedef, &t.name, at, head);
                }
                ast::TypedefTarget::Declared { decl, .. } => {
                    self.decl(decl);
                    self.add(Kind::Typedef, &t.name, at, ("typedef ", t.name.span, ""));
                }
            },
            DeclKind::NewType(t) => {
                let head = ("type ", t.underlying.at.span.to(t.name.span), "");
                self.add(Kind::NewType, &t.name, at, head);
            }
            DeclKind::ExternForward(name) => {
                self.add(Kind::Extern, name, at, ("extern ", name.span, ""));
            }
            DeclKind::ExternObject(object) => {
                let head = ("extern ", object.name.span, "");
                let id = self.add(Kind::Extern, &object.name, at, head);
                self.type_params(id, &object.type_params);
                self.within(id, |c| {
                    for method in &object.methods {
                        let kind = match method.kind {
                            ast::MethodKind::Constructor => Kind::Constructor,
                            _ => Kind::Method,
                        };
                        c.prototype(kind, method.at.span, &method.prototype);
                    }
                });
            }
            DeclKind::ExternFunction(proto) => {
                self.prototype(Kind::ExternFunction, at, proto);
            }
            DeclKind::Function(f) => {
                let id = self.prototype(Kind::Function, at, &f.prototype);
                self.within(id, |c| c.stmts(&f.body.stmts));
            }
            DeclKind::ParserType(c) => {
                let parts = (&c.name, &*c.type_params, &*c.params);
                self.callable(Kind::ParserType, "parser ", at, parts);
            }
            DeclKind::ControlType(c) => {
                let parts = (&c.name, &*c.type_params, &*c.params);
                self.callable(Kind::ControlType, "control ", at, parts);
            }
            DeclKind::Package(c) => {
                let parts = (&c.name, &*c.type_params, &*c.params);
                self.callable(Kind::Package, "package ", at, parts);
            }
            DeclKind::Parser(p) => self.parser(at, p),
            DeclKind::Control(c) => {
                let s = &c.signature;
                let parts = (&s.name, &*s.type_params, &*s.params);
                let id = self.callable(Kind::Control, "control ", at, parts);
                self.constructor_params(id, &c.constructor_params);
                self.within(id, |s| {
                    c.locals.iter().for_each(|d| s.decl(d));
                    s.stmts(&c.body.stmts);
                });
            }
            DeclKind::Action(a) => {
                let id = self.callable(Kind::Action, "action ", at, (&a.name, &[], &a.params));
                self.within(id, |c| c.stmts(&a.body.stmts));
            }
            DeclKind::Table(t) => {
                self.add(Kind::Table, &t.name, at, ("table ", t.name.span, ""));
            }
            DeclKind::ValueSet(v) => {
                let head = ("value_set of ", v.element.at.span, "");
                self.add(Kind::ValueSet, &v.name, at, head);
            }
        }
    }

    /// Parameters of a constructor are parts of what it makes, but no arguments of `apply`.
    fn constructor_params(&mut self, of: usize, params: &[Param]) {
        let count = self.symbols.get(of).map_or(0, |s| s.params.len());
        self.params(of, params);
        if let Some(symbol) = self.symbols.get_mut(of) {
            symbol.params.truncate(count);
        }
    }

    fn parser(&mut self, at: Span, p: &ast::Parser) {
        let s = &p.signature;
        let parts = (&s.name, &*s.type_params, &*s.params);
        let id = self.callable(Kind::Parser, "parser ", at, parts);
        self.constructor_params(id, &p.constructor_params);
        self.within(id, |c| {
            p.locals.iter().for_each(|d| c.decl(d));
            for state in &p.states {
                let head = ("state ", state.name.span, "");
                let id = c.add(Kind::State, &state.name, state.at.span, head);
                c.within(id, |c| c.stmts(&state.body));
            }
        });
    }

    fn composite(&mut self, at: Span, composite: &ast::Composite) {
        let (kind, word) = match composite.kind {
            ast::CompositeKind::Header => (Kind::Header, "header "),
            ast::CompositeKind::HeaderUnion => (Kind::HeaderUnion, "header_union "),
            ast::CompositeKind::Struct => (Kind::Struct, "struct "),
        };
        let name = &composite.name;
        let id = self.add(kind, name, at, (word, name.span, ""));
        self.type_params(id, &composite.type_params);
        self.within(id, |c| {
            for field in &composite.fields {
                let head = ("", field.ty.at.span.to(field.name.span), "");
                c.add(Kind::Field, &field.name, field.at.span, head);
            }
        });
    }

    fn names(&mut self, kind: Kind, word: &'static str, names: &[ast::Ident]) {
        for name in names {
            self.add(kind, name, name.span, (word, name.span, ""));
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        // Expansions of macros have one place for all they hold.
        if self.map.expansion_at(stmt.at.span).is_some() {
            return;
        }
        match &stmt.kind {
            StmtKind::Decl(decl) => self.decl(decl),
            StmtKind::Block(block) => self.stmts(&block.stmts),
            StmtKind::If {
                then, otherwise, ..
            } => {
                self.stmt(then);
                if let Some(other) = otherwise {
                    self.stmt(other);
                }
            }
            StmtKind::Switch { cases, .. } => {
                let bodies = cases.iter().filter_map(|case| case.body.as_ref());
                bodies.for_each(|body| self.stmts(&body.stmts));
            }
            StmtKind::For { init, body, .. } => {
                self.stmts(init);
                self.stmt(body);
            }
            StmtKind::ForIn { variable, body, .. } => {
                self.decl(variable);
                self.stmt(body);
            }
            _ => {}
        }
    }
}

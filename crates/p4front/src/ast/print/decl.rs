//! Prints declarations and tables.

use super::Printer;
use crate::ast::{
    ActionRef, Callable, Composite, CompositeKind, Control, Decl, DeclKind, Direction, Entry,
    Field, Ident, Instance, KeyElement, Method, MethodKind, Param, Parser, PropertyValue,
    Prototype, Table, TableProperty, TypeParam, Typedef, TypedefTarget, Variable,
};

impl Printer {
    /// A declaration, complete, without a line end.
    pub(super) fn decl(&mut self, d: &Decl) {
        self.annotations(&d.annotations);
        match &d.kind {
            DeclKind::Constant(c) => {
                self.put("const ");
                self.ty(&c.ty);
                self.put(format_args!(" {} = ", c.name));
                self.expr(&c.value);
                self.put(';');
            }
            DeclKind::Variable(v) => {
                self.variable(v);
                self.put(';');
            }
            DeclKind::Instance(i) => self.instance(i),
            DeclKind::Error(members) => self.members("error", members),
            DeclKind::MatchKind(members) => self.members("match_kind", members),
            DeclKind::Composite(c) => self.composite(c),
            DeclKind::Enum(e) => self.members(&format!("enum {}", e.name), &e.members),
            DeclKind::SerializableEnum(e) => {
                self.put("enum ");
                self.ty(&e.underlying);
                self.put(format_args!(" {} {{ ", e.name));
                self.commas(&e.members, Self::named_expr);
                self.put(" }");
            }
            DeclKind::Typedef(t) => self.typedef(t),
            DeclKind::NewType(n) => {
                self.put("type ");
                self.ty(&n.underlying);
                self.put(format_args!(" {};", n.name));
            }
            DeclKind::ExternObject(e) => {
                self.put(format_args!("extern {}", e.name));
                self.type_params(&e.type_params);
                self.put(' ');
                self.braces(&e.methods, Self::method);
            }
            DeclKind::ExternFunction(f) => {
                self.put("extern ");
                self.prototype(f);
                self.put(';');
            }
            DeclKind::ExternForward(name) => self.put(format_args!("extern {name};")),
            DeclKind::ParserType(c) => self.callable_type("parser", c),
            DeclKind::ControlType(c) => self.callable_type("control", c),
            DeclKind::Package(c) => self.callable_type("package", c),
            DeclKind::Parser(p) => self.parser(p),
            DeclKind::Control(c) => self.control(c),
            DeclKind::Action(a) => {
                self.put(format_args!("action {}", a.name));
                self.params(&a.params);
                self.put(' ');
                self.block(&a.body);
            }
            DeclKind::Table(t) => self.table(t),
            DeclKind::ValueSet(v) => {
                self.put("value_set<");
                self.ty(&v.element);
                self.put(">(");
                self.expr(&v.size);
                self.put(format_args!(") {};", v.name));
            }
            DeclKind::Function(f) => {
                self.prototype(&f.prototype);
                self.put(' ');
                self.block(&f.body);
            }
        }
    }

    pub(super) fn variable(&mut self, v: &Variable) {
        self.ty(&v.ty);
        self.put(format_args!(" {}", v.name));
        if let Some(e) = &v.init {
            self.put(" = ");
            self.expr(e);
        }
    }

    fn instance(&mut self, i: &Instance) {
        self.ty(&i.ty);
        self.args(&i.args);
        self.put(format_args!(" {}", i.name));
        if let Some(decls) = &i.init {
            self.put(" = ");
            self.braces(decls, Self::decl);
        }
        self.put(';');
    }

    fn members(&mut self, head: &str, members: &[Ident]) {
        self.put(format_args!("{head} {{ "));
        self.commas(members, |p, m| p.put(m));
        self.put(" }");
    }

    fn composite(&mut self, c: &Composite) {
        let word = match c.kind {
            CompositeKind::Header => "header",
            CompositeKind::HeaderUnion => "header_union",
            CompositeKind::Struct => "struct",
        };
        self.put(format_args!("{word} {}", c.name));
        self.type_params(&c.type_params);
        self.put(' ');
        self.braces(&c.fields, Self::field);
    }

    fn field(&mut self, f: &Field) {
        self.annotations(&f.annotations);
        self.ty(&f.ty);
        self.put(format_args!(" {};", f.name));
    }

    fn typedef(&mut self, t: &Typedef) {
        self.put("typedef ");
        match &t.target {
            TypedefTarget::Type(ty) => {
                self.ty(ty);
                self.put(format_args!(" {};", t.name));
            }
            TypedefTarget::Declared { decl, dimensions } => {
                self.decl(decl);
                self.put(format_args!(" {}", t.name));
                for e in dimensions {
                    self.put('[');
                    self.expr(e);
                    self.put(']');
                }
                self.put(';');
            }
        }
    }

    fn type_params(&mut self, params: &[TypeParam]) {
        if !params.is_empty() {
            self.put('<');
            self.commas(params, |p, t| p.put(&t.name));
            self.put('>');
        }
    }

    fn params(&mut self, params: &[Param]) {
        self.put('(');
        self.commas(params, Self::param);
        self.put(')');
    }

    pub(super) fn param(&mut self, p: &Param) {
        self.annotations(&p.annotations);
        self.put(match p.direction {
            Direction::None => "",
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
        });
        self.ty(&p.ty);
        self.put(format_args!(" {}", p.name));
        if let Some(e) = &p.default {
            self.put(" = ");
            self.expr(e);
        }
    }

    fn prototype(&mut self, f: &Prototype) {
        self.ty(&f.result);
        self.put(format_args!(" {}", f.name));
        self.type_params(&f.type_params);
        self.params(&f.params);
    }

    fn method(&mut self, m: &Method) {
        self.annotations(&m.annotations);
        match m.kind {
            MethodKind::Constructor => {
                self.put(&m.prototype.name);
                self.params(&m.prototype.params);
            }
            MethodKind::Method => self.prototype(&m.prototype),
            MethodKind::Abstract => {
                self.put("abstract ");
                self.prototype(&m.prototype);
            }
        }
        self.put(';');
    }

    fn callable(&mut self, word: &str, c: &Callable) {
        self.put(format_args!("{word} {}", c.name));
        self.type_params(&c.type_params);
        self.params(&c.params);
    }

    fn callable_type(&mut self, word: &str, c: &Callable) {
        self.callable(word, c);
        self.put(';');
    }

    fn parser(&mut self, p: &Parser) {
        self.callable("parser", &p.signature);
        if !p.constructor_params.is_empty() {
            self.params(&p.constructor_params);
        }
        self.put(" {\n");
        self.lines(&p.locals, Self::decl);
        self.lines(&p.states, Self::state);
        self.line();
        self.put('}');
    }

    fn control(&mut self, c: &Control) {
        self.callable("control", &c.signature);
        if !c.constructor_params.is_empty() {
            self.params(&c.constructor_params);
        }
        self.put(" {\n");
        self.lines(&c.locals, Self::decl);
        self.indent += 1;
        self.line();
        self.put("apply ");
        self.block(&c.body);
        self.indent -= 1;
        self.put('\n');
        self.line();
        self.put('}');
    }

    /// Items on lines of their own, one level deeper.
    fn lines<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.indent += 1;
        for item in items {
            self.line();
            each(self, item);
            self.put('\n');
        }
        self.indent -= 1;
    }

    fn table(&mut self, t: &Table) {
        self.put(format_args!("table {} ", t.name));
        self.braces(&t.properties, Self::property);
    }

    fn property(&mut self, p: &TableProperty) {
        self.annotations(&p.annotations);
        self.put(format_args!(
            "{}{} = ",
            if p.is_const { "const " } else { "" },
            p.name
        ));
        match &p.value {
            PropertyValue::Key(elements) => self.braces(elements, Self::key_element),
            PropertyValue::Actions(actions) => self.braces(actions, |p, a| {
                p.action_ref(a);
                p.put(';');
            }),
            PropertyValue::Entries(entries) => self.braces(entries, Self::entry),
            PropertyValue::Expr(e) => {
                self.expr(e);
                self.put(';');
            }
        }
    }

    fn key_element(&mut self, k: &KeyElement) {
        self.expr(&k.expr);
        self.put(format_args!(" : {} ", k.match_kind));
        self.annotations(&k.annotations);
        self.put(';');
    }

    fn action_ref(&mut self, a: &ActionRef) {
        self.annotations(&a.annotations);
        self.path(&a.path);
        if let Some(args) = &a.args {
            self.args(args);
        }
    }

    fn entry(&mut self, e: &Entry) {
        if e.is_const {
            self.put("const ");
        }
        if let Some(p) = &e.priority {
            self.put("priority = (");
            self.expr(p);
            self.put(") : ");
        }
        self.keyset(&e.keyset);
        self.put(" : ");
        self.action_ref(&e.action);
        self.put(' ');
        self.annotations(&e.annotations);
        self.put(';');
    }
}

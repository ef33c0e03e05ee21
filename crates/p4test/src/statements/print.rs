//! The P4_16 text of a generated program.

use std::fmt::{self, Display, Formatter, Write as _};

use super::ast::{
    Arg, Block, Callable, Callee, Choice, Code, Cond, Control, Direction, ELEMENTS, Expr, Given,
    Kind, Lvalue, Op, Parser, Program, Record, Source, Step, Stmt, Table, Test, Ty, Var,
};
use super::walk::{Reached, reached};

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits(width) => write!(f, "bit<{width}>"),
            Self::Record(record) => f.write_str(record.name()),
            Self::Stack => write!(f, "e_t[{ELEMENTS}]"),
        }
    }
}

impl Display for Direction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::In => "in ",
            Self::Out => "out ",
            Self::InOut => "inout ",
            Self::None => "",
        })
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("#include <core.p4>\n#include <v1model.p4>\n\n")?;
        for record in Record::ALL {
            let kind = if record.is_header() {
                "header"
            } else {
                "struct"
            };
            let fields = record
                .fields()
                .iter()
                .fold(String::new(), |text, (name, ty)| {
                    format!("{text} {ty} {name};")
                });
            writeln!(f, "{kind} {} {{{fields} }}", record.name())?;
        }
        let mut printer = Printer {
            program: self,
            reached: reached(self),
            code: Code::Control(0),
            text: String::new(),
            indent: 0,
        };
        let functions = (0..self.functions.len()).map(Code::Function);
        let parsers = (0..self.parsers.len()).map(Code::Parser);
        let controls = (0..self.controls.len()).map(Code::Control);
        for code in functions.chain(parsers).chain(controls) {
            if printer.reached.codes.contains(&code) {
                printer.code(code);
            }
        }
        f.write_str(&printer.text)?;
        f.write_str(REST)
    }
}

/// What every program has behind ingress.
const REST: &str = "
control Ver(inout headers_t hdr, inout meta_t meta) { apply { } }
control Eg(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.r.setValid();
        hdr.r.m = meta.m;
        hdr.r.n = meta.n;
        hdr.r.x = meta.p.x;
        hdr.r.y = meta.p.y;
    }
}
control Upd(inout headers_t hdr, inout meta_t meta) { apply { } }
control Dep(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.c);
        pkt.emit(hdr.s);
        pkt.emit(hdr.h);
        pkt.emit(hdr.k);
        pkt.emit(hdr.r);
    }
}
V1Switch(P(), Ver(), Ing(), Eg(), Upd(), Dep()) main;
";

struct Printer<'p> {
    program: &'p Program,
    /// The rest is left out.
    reached: Reached,
    /// Where names are looked up.
    code: Code,
    text: String,
    indent: usize,
}

impl<'p> Printer<'p> {
    fn line(&mut self, text: &str) {
        let indent = self.indent * 4;
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn code(&mut self, code: Code) {
        self.code = code;
        match code {
            Code::Function(_) | Code::Action(..) => self.function(),
            Code::Parser(index) => self.parser(index),
            Code::Control(index) => self.control(index),
        }
    }

    fn params(callable: &Callable) -> Vec<String> {
        let one = |((var, direction), default): ((&Var, Direction), &Option<u64>)| {
            let default = default.map_or(String::new(), |value| format!(" = {value}"));
            format!("{direction}{} {}{default}", var.ty, var.name)
        };
        callable.params().zip(&callable.defaults).map(one).collect()
    }

    fn locals(&mut self, callable: &Callable) {
        for (var, first) in callable.locals() {
            let text = format!("{} {} = {};", var.ty, var.name, self.source(first));
            self.line(&text);
        }
    }

    fn function(&mut self) {
        let callable: &'p Callable = self.program.code(self.code);
        let result = callable.result.as_ref();
        let result_ty = result.map_or("void".to_owned(), |(width, _)| format!("bit<{width}>"));
        let params = Self::params(callable).join(", ");
        self.open(&format!("{result_ty} {}({params}) {{", callable.name));
        self.locals(callable);
        self.block(&callable.body);
        if let Some((_, value)) = result {
            let text = format!("return {};", self.expr(value));
            self.line(&text);
        }
        self.close();
    }

    /// `C0() i0;`
    fn instances(&mut self, count: usize, make: fn(usize) -> Callee) {
        for instance in 0..count {
            if self
                .reached
                .instances
                .contains(&(self.code, make(instance)))
            {
                let code = self.program.called(self.code, make(instance));
                let name = &self.program.code(code).name;
                self.line(&format!("{name}() i{instance};"));
            }
        }
    }

    fn parser(&mut self, index: usize) {
        let parser: &'p Parser = &self.program.parsers[index];
        let code = &parser.code;
        let mut params = vec!["packet_in pkt".to_owned()];
        params.extend(Self::params(code));
        if index + 1 == self.program.parsers.len() {
            params.push("inout standard_metadata_t sm".to_owned());
        }
        self.open(&format!("parser {}({}) {{", code.name, params.join(", ")));
        self.instances(parser.instances.len(), Callee::Parser);
        self.locals(code);
        self.open("state start {");
        self.block(&code.body);
        self.line("transition accept;");
        self.close();
        self.close();
    }

    fn control(&mut self, index: usize) {
        let control: &'p Control = &self.program.controls[index];
        let code = &control.code;
        let mut params = Self::params(code);
        let is_ingress = index + 1 == self.program.controls.len();
        if is_ingress {
            params.push("inout standard_metadata_t sm".to_owned());
        }
        self.open(&format!("control {}({}) {{", code.name, params.join(", ")));
        self.instances(control.instances.len(), Callee::Control);
        self.locals(code);
        for (number, action) in control.actions.iter().enumerate() {
            self.code = Code::Action(index, number);
            if self.reached.codes.contains(&self.code) {
                self.action_declaration(action);
            }
        }
        self.code = Code::Control(index);
        for (number, table) in control.tables.iter().enumerate() {
            if self.reached.tables.contains(&(index, number)) {
                self.table(table);
            }
        }
        self.open("apply {");
        if is_ingress {
            self.line("sm.egress_spec = 1;");
        }
        self.block(&code.body);
        self.close();
        self.close();
    }

    fn action_declaration(&mut self, action: &Callable) {
        let params = Self::params(action).join(", ");
        self.open(&format!("action {}({params}) {{", action.name));
        self.locals(action);
        self.block(&action.body);
        self.close();
    }

    fn table(&mut self, table: &Table) {
        self.open(&format!("table {} {{", table.name));
        self.open("key = {");
        for (index, (_, key, kind)) in table.keys.iter().enumerate() {
            let kind = match kind {
                Kind::Exact => "exact",
                Kind::Ternary => "ternary",
            };
            let text = format!("{} : {kind} @name(\"k{index}\");", self.expr(key));
            self.line(&text);
        }
        self.close();
        self.open("actions = {");
        for listed in &table.actions {
            let text = format!(
                "{}({});",
                self.action(listed.action),
                self.args(Callee::Action(listed.action), &listed.bound)
            );
            self.line(&text);
        }
        self.close();
        let text = format!(
            "const default_action = {};",
            self.choice(table, &table.default)
        );
        self.line(&text);
        if !table.entries.is_empty() {
            self.open("const entries = {");
            for entry in &table.entries {
                let keys: Vec<String> = table
                    .keys
                    .iter()
                    .zip(&entry.keys)
                    .map(|((width, _, kind), (value, mask))| match kind {
                        Kind::Exact => format!("{width}w{value}"),
                        Kind::Ternary => format!("{width}w{value} &&& {width}w{mask}"),
                    })
                    .collect();
                let choice = self.choice(table, &entry.choice);
                self.line(&format!("({}) : {choice};", keys.join(", ")));
            }
            self.close();
        }
        self.close();
    }

    fn action(&self, index: usize) -> &str {
        let code = self.program.called(self.code, Callee::Action(index));
        &self.program.code(code).name
    }

    fn choice(&self, table: &Table, choice: &Choice) -> String {
        let listed = &table.actions[choice.listed];
        let args: Vec<&Given> = listed.bound.iter().chain(&choice.data).collect();
        let callee = Callee::Action(listed.action);
        format!(
            "{}({})",
            self.action(listed.action),
            self.args(callee, args)
        )
    }

    // ----- statements -----

    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let text = match stmt {
            Stmt::If(cond, then, other) => {
                let cond = self.cond(cond);
                self.open(&format!("if ({cond}) {{"));
                self.block(then);
                if !other.is_empty() {
                    self.indent -= 1;
                    self.open("} else {");
                    self.block(other);
                }
                return self.close();
            }
            Stmt::Switch(value, cases, default) => {
                let head = self.expr(value);
                let cases = cases
                    .iter()
                    .map(|(label, block)| (label.to_string(), block));
                return self.switch(&head, cases.collect(), default);
            }
            Stmt::SwitchAction(table, cases, default) => {
                let Some(control) = self.program.around(self.code) else {
                    return;
                };
                let table = &control.tables[*table];
                let label = |listed: &usize| self.action(table.actions[*listed].action).to_owned();
                let cases = cases.iter().map(|(listed, block)| (label(listed), block));
                let head = format!("{}.apply().action_run", table.name);
                return self.switch(&head, cases.collect(), default);
            }
            other => self.simple(other),
        };
        self.line(&text);
    }

    fn switch(&mut self, head: &str, cases: Vec<(String, &Block)>, default: &Block) {
        self.open(&format!("switch ({head}) {{"));
        for (label, block) in cases {
            self.open(&format!("{label}: {{"));
            self.block(block);
            self.close();
        }
        if !default.is_empty() {
            self.open("default: {");
            self.block(default);
            self.close();
        }
        self.close();
    }

    fn simple(&self, stmt: &Stmt) -> String {
        match stmt {
            Stmt::Assign(place, value) => {
                format!("{} = {};", self.place(place), self.source(value))
            }
            Stmt::SetValid(place) => format!("{}.setValid();", self.place(place)),
            Stmt::SetInvalid(place) => format!("{}.setInvalid();", self.place(place)),
            Stmt::Push(place, count) => format!("{}.push_front({count});", self.place(place)),
            Stmt::Pop(place, count) => format!("{}.pop_front({count});", self.place(place)),
            Stmt::Apply(table) => format!("{}.apply();", self.table_name(*table)),
            Stmt::Call(callee, args) => self.call(*callee, args),
            Stmt::Return(None) => "return;".to_owned(),
            Stmt::Return(Some(value)) => format!("return {};", self.expr(value)),
            Stmt::Exit => "exit;".to_owned(),
            Stmt::Extract(place) => format!("pkt.extract({});", self.place(place)),
            Stmt::If(..) | Stmt::Switch(..) | Stmt::SwitchAction(..) => String::new(),
        }
    }

    fn call(&self, callee: Callee, args: &[Given]) -> String {
        let named = args.iter().any(|given| given.named);
        let args = self.args(callee, args);
        match callee {
            Callee::Function(f) => format!("{}({args});", self.program.functions[f].name),
            Callee::Action(a) => format!("{}({args});", self.action(a)),
            Callee::Control(i) => format!("i{i}.apply({args});"),
            Callee::Parser(i) if args.is_empty() => format!("i{i}.apply(pkt);"),
            Callee::Parser(i) if named => format!("i{i}.apply(pkt = pkt, {args});"),
            Callee::Parser(i) => format!("i{i}.apply(pkt, {args});"),
        }
    }

    fn table_name(&self, table: usize) -> &str {
        let control = self.program.around(self.code);
        control.map_or("", |control| &control.tables[table].name)
    }

    // ----- values -----

    fn args<'a>(&self, callee: Callee, args: impl IntoIterator<Item = &'a Given>) -> String {
        let code = self.program.called(self.code, callee);
        let params = &self.program.code(code).vars;
        let one = |given: &Given| {
            let value = match &given.arg {
                Arg::Value(value) => self.source(value),
                Arg::Place(place) => self.place(place),
            };
            match given.named {
                true => format!("{} = {value}", params[given.param].name),
                false => value,
            }
        };
        let all: Vec<String> = args.into_iter().map(one).collect();
        all.join(", ")
    }

    fn source(&self, source: &Source) -> String {
        match source {
            Source::Number(e) => self.expr(e),
            Source::Copy(place) => self.place(place),
            Source::List(all) => {
                let all: Vec<String> = all.iter().map(|e| self.expr(e)).collect();
                format!("{{ {} }}", all.join(", "))
            }
        }
    }

    fn place(&self, place: &Lvalue) -> String {
        let var = self.program.var(self.code, place.var);
        let (mut text, mut ty) = (var.name.clone(), var.ty);
        for step in &place.steps {
            let _ = match (step, ty) {
                (Step::Field(index), Ty::Record(record)) => {
                    let (name, field) = record.fields()[*index];
                    ty = field;
                    write!(text, ".{name}")
                }
                (Step::Moving(index), _) => write!(text, "[{}]", self.expr(index)),
                (Step::Next, _) => write!(text, ".next"),
                (Step::Index(index) | Step::Field(index), _) => write!(text, "[{index}]"),
            };
            if !matches!(step, Step::Field(_)) {
                ty = Ty::Record(Record::Element);
            }
        }
        if let Some((hi, lo)) = place.slice {
            let _ = write!(text, "[{hi}:{lo}]");
        }
        text
    }

    fn expr(&self, e: &Expr) -> String {
        match e {
            Expr::Const(width, value) => format!("{width}w{value}"),
            Expr::Read(place) => self.place(place),
            Expr::Binary(op, a, b) => {
                let op = match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    Op::And => "&",
                    Op::Or => "|",
                    Op::Xor => "^",
                };
                format!("({} {op} {})", self.expr(a), self.expr(b))
            }
            Expr::Not(a) => format!("(~{})", self.expr(a)),
            Expr::Cast(width, a) => format!("((bit<{width}>) {})", self.expr(a)),
            Expr::Mux(cond, a, b) => {
                format!(
                    "({} ? {} : {})",
                    self.cond(cond),
                    self.expr(a),
                    self.expr(b)
                )
            }
            Expr::Call(function, args) => {
                let name = &self.program.functions[*function].name;
                format!("{name}({})", self.args(Callee::Function(*function), args))
            }
        }
    }

    fn cond(&self, cond: &Cond) -> String {
        match cond {
            Cond::Compare(test, a, b) => {
                let test = match test {
                    Test::Equal => "==",
                    Test::Unequal => "!=",
                    Test::Less => "<",
                    Test::AtLeast => ">=",
                };
                format!("({} {test} {})", self.expr(a), self.expr(b))
            }
            Cond::IsValid(place) => format!("{}.isValid()", self.place(place)),
            Cond::Not(a) => format!("!{}", self.cond(a)),
            Cond::And(a, b) => format!("({} && {})", self.cond(a), self.cond(b)),
            Cond::Or(a, b) => format!("({} || {})", self.cond(a), self.cond(b)),
            Cond::Hit(table) => format!("{}.apply().hit", self.table_name(*table)),
        }
    }
}

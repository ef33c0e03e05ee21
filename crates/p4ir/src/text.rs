//! The text form: deterministic, complete, made for reading (`explain`) and for goldens.
//!
//! Variables print as `v7_name`, so that two of the same name stay apart.

use std::fmt::{self, Write};

use crate::Program;
use crate::arch::{ArgValue, Package};
use crate::block::{
    ActionScope, Annotation, Direction, Key, KeySet, Param, Parser, SelectMatch, Table, Target,
    Transition,
};
use crate::entity::{ExprId, TypeId, VarId};
use crate::expr::{BinaryOp, Const, ExprKind, Place, Projection, UnaryOp};
use crate::stmt::{Assign, Callee, ExternArg, Stmt, StmtKind};
use crate::types::{RecordKind, Type};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer {
            program: self,
            out: f,
            indent: 0,
        }
        .program()
    }
}

struct Printer<'p, 'f, 'w> {
    program: &'p Program,
    out: &'w mut fmt::Formatter<'f>,
    indent: usize,
}

impl Printer<'_, '_, '_> {
    fn line(&mut self, text: &str) -> fmt::Result {
        writeln!(self.out, "{:width$}{text}", "", width = self.indent * 4)
    }

    fn program(&mut self) -> fmt::Result {
        let program = self.program;
        writeln!(self.out, "errors {{ {} }}", program.errors.join(", "))?;
        for (_, ty) in program.types.iter() {
            self.type_decl(ty)?;
        }
        for (id, var) in program.vars.iter() {
            writeln!(
                self.out,
                "var {id}_{}: {}",
                var.name,
                self.type_name(var.ty)
            )?;
        }
        for (id, object) in program.externs.iter() {
            let types: Vec<_> = object
                .type_args
                .iter()
                .map(|t| self.type_name(*t))
                .collect();
            let args: Vec<_> = object
                .args
                .iter()
                .map(|(n, e)| format!("{n} = {}", self.expr(*e)))
                .collect();
            writeln!(
                self.out,
                "extern {id} {}<{}>({}) {}",
                object.ty.name(),
                types.join(", "),
                args.join(", "),
                object.name
            )?;
        }
        for (id, set) in program.value_sets.iter() {
            let fields: Vec<_> = set
                .fields
                .iter()
                .map(|f| format!("{}: {} {}", f.name, self.type_name(f.ty), f.kind.name()))
                .collect();
            writeln!(
                self.out,
                "value_set {id} {}({}) size {}",
                set.name,
                fields.join(", "),
                set.size
            )?;
        }
        for (id, function) in program.functions.iter() {
            let result = function
                .result
                .map_or(String::new(), |v| format!(" -> {}", self.var(v)));
            let head = format!(
                "function {id} {}({}){result}",
                function.name,
                self.params(&function.params)
            );
            self.block(&head, &function.body)?;
        }
        for (id, action) in program.actions.iter() {
            let head = format!(
                "{}action {id} {}({})",
                annotations(&action.annotations),
                action.name,
                self.params(&action.params)
            );
            self.block(&head, &action.body)?;
        }
        for (id, table) in program.tables.iter() {
            let head = format!(
                "{}table {id} {} {{",
                annotations(&table.annotations),
                table.name
            );
            self.line(&head)?;
            self.indent += 1;
            self.table(table)?;
            self.indent -= 1;
            self.line("}")?;
        }
        for (id, parser) in program.parsers.iter() {
            let head = format!(
                "parser {id} {} : {}({}) start {} {{",
                parser.name,
                parser.type_name,
                self.params(&parser.params),
                parser.start
            );
            self.line(&head)?;
            self.indent += 1;
            self.parser(parser)?;
            self.indent -= 1;
            self.line("}")?;
        }
        for (id, control) in program.controls.iter() {
            let head = format!(
                "control {id} {} : {}({}) {{",
                control.name,
                control.type_name,
                self.params(&control.params)
            );
            self.line(&head)?;
            self.indent += 1;
            self.block("init", &control.init)?;
            self.block("apply", &control.body)?;
            self.indent -= 1;
            self.line("}")?;
        }
        let main = self.package(&program.main);
        self.line(&format!("main {main}"))
    }

    fn package(&self, package: &Package) -> String {
        let args: Vec<_> = package
            .args
            .iter()
            .map(|a| {
                let value = match &a.value {
                    ArgValue::Parser(id) => id.to_string(),
                    ArgValue::Control(id) => id.to_string(),
                    ArgValue::Extern(id) => id.to_string(),
                    ArgValue::Value(id) => self.expr(*id),
                    ArgValue::Package(inner) => self.package(inner),
                };
                format!("{} = {value}", a.name)
            })
            .collect();
        format!("{}({})", package.type_name, args.join(", "))
    }

    fn type_decl(&mut self, ty: &Type) -> fmt::Result {
        match ty {
            Type::Record { kind, name, fields } if *kind != RecordKind::Tuple => {
                let kind = match kind {
                    RecordKind::Struct => "struct",
                    RecordKind::Union => "header_union",
                    _ => "header",
                };
                self.line(&format!("{kind} {name} {{"))?;
                for field in fields {
                    let text = format!(
                        "    {}{}: {}",
                        annotations(&field.annotations),
                        field.name,
                        self.type_name(field.ty)
                    );
                    self.line(&text)?;
                }
                self.line("}")
            }
            Type::Enum { name, members } => {
                self.line(&format!("enum {name} {{ {} }}", members.join(", ")))
            }
            _ => Ok(()),
        }
    }

    fn type_name(&self, ty: TypeId) -> String {
        match self.program.types.get(ty) {
            None => format!("?{ty}"),
            Some(Type::Bits {
                width,
                signed: false,
            }) => format!("bit<{width}>"),
            Some(Type::Bits {
                width,
                signed: true,
            }) => format!("int<{width}>"),
            Some(Type::Bool) => "bool".into(),
            Some(Type::Error) => "error".into(),
            Some(Type::String) => "string".into(),
            Some(Type::Varbit { max }) => format!("varbit<{max}>"),
            Some(Type::Enum { name, .. }) => name.clone(),
            Some(Type::Record {
                kind: RecordKind::Tuple,
                fields,
                ..
            }) => {
                let inner: Vec<_> = fields.iter().map(|f| self.type_name(f.ty)).collect();
                format!("tuple<{}>", inner.join(", "))
            }
            Some(Type::Record { name, .. }) => name.clone(),
            Some(Type::Stack { element, size }) => format!("{}[{size}]", self.type_name(*element)),
        }
    }

    fn var(&self, id: VarId) -> String {
        self.program
            .vars
            .get(id)
            .map_or_else(|| format!("?{id}"), |v| format!("{id}_{}", v.name))
    }

    fn params(&self, params: &[Param]) -> String {
        let all: Vec<_> = params
            .iter()
            .map(|p| {
                let direction = match p.direction {
                    Direction::In => "in ",
                    Direction::Out => "out ",
                    Direction::InOut => "inout ",
                    Direction::None => "",
                };
                format!("{direction}{}", self.var(p.var))
            })
            .collect();
        all.join(", ")
    }

    fn place(&self, place: &Place) -> String {
        let mut text = self.var(place.var);
        let mut ty = self.program.vars.get(place.var).map(|v| v.ty);
        for step in &place.path {
            let shape = ty.and_then(|t| self.program.types.get(t));
            match step {
                Projection::Field(i) => {
                    let field = shape
                        .and_then(|t| t.fields())
                        .and_then(|f| f.get(*i as usize));
                    match field {
                        Some(field) => text += &format!(".{}", field.name),
                        None => text += &format!(".?{i}"),
                    }
                    ty = field.map(|f| f.ty);
                }
                Projection::Index(_) | Projection::DynIndex(_) => {
                    match step {
                        Projection::DynIndex(e) => text += &format!("[{}]", self.expr(*e)),
                        Projection::Index(i) => text += &format!("[{i}]"),
                        Projection::Field(_) => {}
                    }
                    ty = match shape {
                        Some(Type::Stack { element, .. }) => Some(*element),
                        _ => None,
                    };
                }
            }
        }
        text
    }

    fn constant(&self, value: &Const, ty: Option<TypeId>) -> String {
        match value {
            Const::Bits(v) => match ty.and_then(|t| self.program.types.get(t)?.bits()) {
                Some((w, s)) => format!("{w}{}{v:#x}", if s { "s" } else { "w" }),
                None => format!("{v:#x}"),
            },
            Const::Bool(b) => b.to_string(),
            Const::Error(i) => format!(
                "error.{}",
                self.program.errors.get(*i as usize).map_or("?", |s| s)
            ),
            Const::Enum(i) => match ty.and_then(|t| self.program.types.get(t)) {
                Some(Type::Enum { name, members }) => {
                    format!("{name}.{}", members.get(*i as usize).map_or("?", |s| s))
                }
                _ => format!("#{i}"),
            },
            Const::Str(s) => format!("{s:?}"),
        }
    }

    fn expr(&self, id: ExprId) -> String {
        let Some(expr) = self.program.exprs.get(id) else {
            return format!("?{id}");
        };
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, Some(expr.ty)),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Unary(op, a) => {
                let sign = match op {
                    UnaryOp::Not => "!",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Neg => "-",
                };
                format!("{sign}{}", self.expr(*a))
            }
            ExprKind::Binary(op, a, b) => {
                format!("({} {} {})", self.expr(*a), symbol(*op), self.expr(*b))
            }
            ExprKind::Cast(a) => format!("({}){}", self.type_name(expr.ty), self.expr(*a)),
            ExprKind::Slice { value, hi, lo } => format!("{}[{hi}:{lo}]", self.expr(*value)),
            ExprKind::Mux { cond, then, other } => {
                format!(
                    "({} ? {} : {})",
                    self.expr(*cond),
                    self.expr(*then),
                    self.expr(*other)
                )
            }
            ExprKind::IsValid(place) => format!("{}.isValid()", self.place(place)),
            ExprKind::NextIndex(place) => format!("{}.nextIndex", self.place(place)),
            ExprKind::PacketLength => "packet.length()".into(),
        }
    }

    fn block(&mut self, head: &str, body: &[Stmt]) -> fmt::Result {
        self.line(&format!("{head} {{"))?;
        self.body(body)?;
        self.line("}")
    }

    fn body(&mut self, body: &[Stmt]) -> fmt::Result {
        self.indent += 1;
        for stmt in body {
            self.stmt(stmt)?;
        }
        self.indent -= 1;
        Ok(())
    }

    fn assign(&self, a: &Assign) -> String {
        format!("{} = {}", self.place(&a.dst), self.expr(a.value))
    }

    fn copies(&self, copies: &[Assign]) -> String {
        let all: Vec<_> = copies.iter().map(|a| self.assign(a)).collect();
        all.join("; ")
    }

    /// Copies out, in one line.
    fn copies_out(&self, copies: &[Stmt]) -> String {
        let one = |stmt: &Stmt| match &stmt.kind {
            StmtKind::If { cond, then, .. } => {
                format!("if {} {{ {} }}", self.expr(*cond), self.copies_out(then))
            }
            kind => self.simple(kind),
        };
        let all: Vec<_> = copies.iter().map(one).collect();
        all.join("; ")
    }

    fn stmt(&mut self, stmt: &Stmt) -> fmt::Result {
        let text = match &stmt.kind {
            StmtKind::If { cond, then, other } => {
                let head = format!("if {} {{", self.expr(*cond));
                self.line(&head)?;
                self.body(then)?;
                if !other.is_empty() {
                    self.line("} else {")?;
                    self.body(other)?;
                }
                "}".into()
            }
            StmtKind::Switch {
                value,
                cases,
                default,
            } => {
                let head = format!("switch {} {{", self.expr(*value));
                self.line(&head)?;
                let ty = self.program.exprs.get(*value).map(|e| e.ty);
                for case in cases {
                    let labels: Vec<_> = case.labels.iter().map(|l| self.constant(l, ty)).collect();
                    self.block(&labels.join(", "), &case.body)?;
                }
                self.block("default", default)?;
                "}".into()
            }
            StmtKind::Loop {
                head,
                cond,
                body,
                step,
                rounds: _,
            } => {
                self.block("loop head", head)?;
                let cond = format!("while {}", self.expr(*cond));
                self.block(&cond, body)?;
                return self.block("step", step);
            }
            other => self.simple(other),
        };
        self.line(&text)
    }

    fn simple(&self, kind: &StmtKind) -> String {
        match kind {
            StmtKind::Assign(a) => self.assign(a),
            StmtKind::AssignSlice { dst, hi, lo, value } => {
                format!("{}[{hi}:{lo}] = {}", self.place(dst), self.expr(*value))
            }
            StmtKind::Reset(p) => format!("reset {}", self.place(p)),
            StmtKind::SetValid(p) => format!("{}.setValid()", self.place(p)),
            StmtKind::SetInvalid(p) => format!("{}.setInvalid()", self.place(p)),
            StmtKind::PushFront { stack, count } => {
                format!("{}.push_front({count})", self.place(stack))
            }
            StmtKind::PopFront { stack, count } => {
                format!("{}.pop_front({count})", self.place(stack))
            }
            StmtKind::Break => "break".into(),
            StmtKind::Continue => "continue".into(),
            StmtKind::Return => "return".into(),
            StmtKind::Exit => "exit".into(),
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => {
                format!(
                    "call {} [{}] [{}]",
                    self.callee(*callee),
                    self.copies(copy_in),
                    self.copies_out(copy_out)
                )
            }
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            } => {
                let mut text = format!("apply {table}");
                if let Some(t) = self.program.tables.get(*table) {
                    let _ = write!(text, " {}", t.name);
                }
                if let Some(v) = hit {
                    let _ = write!(text, " hit -> {}", self.var(*v));
                }
                if let Some(v) = action_run {
                    let _ = write!(text, " action_run -> {}", self.var(*v));
                }
                text
            }
            StmtKind::Extern(call) => {
                let object = call.callee.object();
                let object = object.map_or(String::new(), |id| format!("{id}."));
                let args: Vec<_> = call.args.iter().map(|a| self.extern_arg(a)).collect();
                let result = call
                    .result
                    .as_ref()
                    .map_or(String::new(), |p| format!(" -> {}", self.place(p)));
                let types: Vec<_> = call.type_args.iter().map(|t| self.type_name(*t)).collect();
                format!(
                    "extern {object}{}<{}>({}){result}",
                    call.callee.name(),
                    types.join(", "),
                    args.join(", ")
                )
            }
            StmtKind::Extract { header, advance } => {
                format!("extract {}{}", self.place(header), self.advance(advance))
            }
            StmtKind::ExtractVarbit {
                header,
                size,
                advance,
            } => {
                format!(
                    "extract {} varbit {}{}",
                    self.place(header),
                    self.expr(*size),
                    self.advance(advance)
                )
            }
            StmtKind::Lookahead { dst } => format!("lookahead {}", self.place(dst)),
            StmtKind::Advance { bits } => format!("advance {}", self.expr(*bits)),
            StmtKind::Verify { cond, error } => {
                format!("verify {} else {}", self.expr(*cond), self.expr(*error))
            }
            StmtKind::Emit { header } => format!("emit {}", self.place(header)),
            StmtKind::If { .. } | StmtKind::Switch { .. } | StmtKind::Loop { .. } => String::new(),
        }
    }

    fn advance(&self, stack: &Option<Place>) -> String {
        stack
            .as_ref()
            .map_or(String::new(), |p| format!(" advance {}", self.place(p)))
    }

    fn callee(&self, callee: Callee) -> String {
        match callee {
            Callee::Action(id) => format!(
                "{id} {}",
                self.program.actions.get(id).map_or("?", |a| &a.name)
            ),
            Callee::Function(id) => format!(
                "{id} {}",
                self.program.functions.get(id).map_or("?", |a| &a.name)
            ),
            Callee::Control(id) => format!(
                "{id} {}",
                self.program.controls.get(id).map_or("?", |a| &a.name)
            ),
            Callee::Parser(id) => format!(
                "{id} {}",
                self.program.parsers.get(id).map_or("?", |a| &a.name)
            ),
        }
    }

    fn extern_arg(&self, arg: &ExternArg) -> String {
        match arg {
            ExternArg::In(e) => self.expr(*e),
            ExternArg::Fields { values, .. } => {
                let all: Vec<_> = values.iter().map(|e| self.expr(*e)).collect();
                format!("{{{}}}", all.join(", "))
            }
            ExternArg::Out(p) => format!("out {}", self.place(p)),
            ExternArg::InOut(p) => format!("inout {}", self.place(p)),
            ExternArg::Object(id) => id.to_string(),
            ExternArg::Omitted => "_".into(),
        }
    }

    fn key_set(&self, set: &KeySet, ty: Option<TypeId>) -> String {
        match set {
            KeySet::Any => "_".into(),
            KeySet::Value(v) => self.constant(v, ty),
            KeySet::Mask { value, mask } => format!("{value:#x} &&& {mask:#x}"),
            KeySet::Range { lo, hi } => format!("{lo:#x} .. {hi:#x}"),
        }
    }

    fn key_sets(&self, sets: &[KeySet], types: &[Option<TypeId>]) -> String {
        let all: Vec<_> = sets
            .iter()
            .enumerate()
            .map(|(i, s)| self.key_set(s, types.get(i).copied().flatten()))
            .collect();
        format!("({})", all.join(", "))
    }

    fn table_action(&self, table: &Table, index: u32, args: &[Const]) -> String {
        let Some(action) = table
            .actions
            .get(index as usize)
            .and_then(|a| self.program.actions.get(a.action))
        else {
            return format!("?{index}");
        };
        let types: Vec<_> = action
            .data_params()
            .map(|p| self.program.vars.get(p.var).map(|v| v.ty))
            .collect();
        let args: Vec<_> = args
            .iter()
            .enumerate()
            .map(|(i, a)| self.constant(a, types.get(i).copied().flatten()))
            .collect();
        format!("{}({})", action.name, args.join(", "))
    }

    fn key(&self, key: &Key) -> String {
        format!(
            "key {}: {} // {}",
            self.expr(key.expr),
            key.kind.name(),
            key.name
        )
    }

    fn table(&mut self, table: &Table) -> fmt::Result {
        if !table.prologue.is_empty() {
            self.block("prologue", &table.prologue)?;
        }
        for key in &table.keys {
            let text = self.key(key);
            self.line(&text)?;
        }
        for action in &table.actions {
            let scope = match action.scope {
                ActionScope::TableAndDefault => "",
                ActionScope::TableOnly => " tableonly",
                ActionScope::DefaultOnly => " defaultonly",
            };
            let name = self
                .program
                .actions
                .get(action.action)
                .map_or("?", |a| &a.name);
            let text = format!(
                "action {} {name}{scope} [{}] [{}]",
                action.action,
                self.copies(&action.copy_in),
                self.copies_out(&action.copy_out)
            );
            self.line(&text)?;
        }
        let default = &table.default_action;
        let constant = if default.is_const { "const " } else { "" };
        let text = format!(
            "{constant}default {}",
            self.table_action(table, default.action, &default.args)
        );
        self.line(&text)?;
        let types: Vec<_> = table
            .keys
            .iter()
            .map(|k| self.program.exprs.get(k.expr).map(|e| e.ty))
            .collect();
        for entry in &table.entries {
            let constant = if entry.is_const { "const " } else { "" };
            let text = format!(
                "{constant}entry {} priority {} : {}",
                self.key_sets(&entry.keys, &types),
                entry.priority,
                self.table_action(table, entry.action, &entry.args)
            );
            self.line(&text)?;
        }
        if let Some(size) = table.size {
            self.line(&format!("size {size}"))?;
        }
        if let Some(id) = table.implementation {
            self.line(&format!("implementation {id}"))?;
        }
        for id in &table.direct {
            self.line(&format!("direct {id}"))?;
        }
        if table.idle_timeout {
            self.line("idle_timeout")?;
        }
        Ok(())
    }

    fn parser(&mut self, parser: &Parser) -> fmt::Result {
        self.block("init", &parser.init)?;
        for id in &parser.states {
            let Some(state) = self.program.states.get(*id) else {
                self.line(&format!("?{id}"))?;
                continue;
            };
            self.line(&format!("state {id} {} {{", state.name))?;
            self.body(&state.body)?;
            self.indent += 1;
            match &state.transition {
                Transition::Goto(target) => {
                    let text = format!("goto {}", self.target(target));
                    self.line(&text)?;
                }
                Transition::Select { keys, cases } => {
                    let texts: Vec<_> = keys.iter().map(|k| self.expr(*k)).collect();
                    let types: Vec<_> = keys
                        .iter()
                        .map(|k| self.program.exprs.get(*k).map(|e| e.ty))
                        .collect();
                    self.line(&format!("select ({}) {{", texts.join(", ")))?;
                    for case in cases {
                        let sets = match &case.matches {
                            SelectMatch::Sets(sets) => self.key_sets(sets, &types),
                            SelectMatch::ValueSet(id) => id.to_string(),
                        };
                        let text = format!("    {sets}: {}", self.target(&case.target));
                        self.line(&text)?;
                    }
                    self.line("}")?;
                }
            }
            self.indent -= 1;
            self.line("}")?;
        }
        Ok(())
    }

    fn target(&self, target: &Target) -> String {
        match target {
            Target::State(id) => format!(
                "{id} {}",
                self.program.states.get(*id).map_or("?", |s| &s.name)
            ),
            Target::Accept => "accept".into(),
            Target::Reject => "reject".into(),
        }
    }
}

fn annotations(list: &[Annotation]) -> String {
    list.iter().map(|a| format!("@{} ", a.name)).collect()
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::AddSat => "|+|",
        BinaryOp::SubSat => "|-|",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Concat => "++",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}

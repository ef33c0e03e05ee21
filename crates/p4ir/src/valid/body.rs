//! Checks of statements.

use super::Checker;
use super::work::Node;
use crate::entity::{ExprId, TypeId, VarId};
use crate::expr::{ExprKind, Place};
use crate::externs::ExternCallee;
use crate::stmt::{Assign, Block, Callee, ExternArg, ExternCall, Stmt, StmtKind};
use crate::types::Type;

/// Where a body stands.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// Name of the entity that owns the body.
    pub(super) owner: &'a str,
    /// Whether parser statements are legal.
    pub(super) parser: bool,
    /// Whether we are inside a loop.
    pub(super) in_loop: bool,
}

impl Checker<'_> {
    /// Checks a body and appends the callables it calls to `callees`.
    pub(super) fn body(&mut self, body: &[Stmt], cx: Context<'_>, callees: &mut Vec<Node>) {
        for stmt in body {
            if let Err(message) = self.stmt(stmt, cx, callees) {
                self.fail(cx.owner, stmt.span, message);
            }
        }
    }

    fn expr_ty(&self, id: ExprId) -> Result<TypeId, String> {
        self.program
            .exprs
            .get(id)
            .map(|e| e.ty)
            .ok_or_else(|| format!("unknown expression {id}"))
    }

    fn var_type(&self, id: VarId) -> Result<&Type, String> {
        let var = self
            .program
            .vars
            .get(id)
            .ok_or_else(|| format!("unknown variable {id}"))?;
        Ok(&self.program.types[var.ty])
    }

    fn expect_bool(&self, id: ExprId) -> Result<(), String> {
        match self.program.types[self.expr_ty(id)?] {
            Type::Bool => Ok(()),
            _ => Err(format!("{id} must be a bool")),
        }
    }

    fn expect_bit32(&self, id: ExprId) -> Result<(), String> {
        match self.program.types[self.expr_ty(id)?] {
            Type::Bits {
                width: 32,
                signed: false,
            } => Ok(()),
            _ => Err(format!("{id} must be a bit<32>")),
        }
    }

    fn expect_header(&self, place: &Place) -> Result<(), String> {
        let ty = self.place(None, place)?;
        if self.program.types[ty].is_header() {
            Ok(())
        } else {
            Err("not a header".into())
        }
    }

    fn expect_stack(&self, place: &Place) -> Result<(), String> {
        match self.program.types[self.place(None, place)?] {
            Type::Stack { .. } => Ok(()),
            _ => Err("not a header stack".into()),
        }
    }

    pub(super) fn assign(&self, assign: &Assign) -> Result<(), String> {
        let dst = self.place(None, &assign.dst)?;
        let src = self.expr_ty(assign.value)?;
        if dst != src {
            return Err(format!("assignment of {src} to {dst}"));
        }
        let computed = !matches!(self.program.exprs[assign.value].kind, ExprKind::Read(_));
        if computed && !self.program.types[dst].is_scalar() {
            return Err("an aggregate can only be copied".into());
        }
        Ok(())
    }

    fn stmt(
        &mut self,
        stmt: &Stmt,
        cx: Context<'_>,
        callees: &mut Vec<Node>,
    ) -> Result<(), String> {
        match &stmt.kind {
            StmtKind::Assign(assign) => self.assign(assign),
            StmtKind::AssignSlice { dst, hi, lo, value } => {
                let ty = self.place(None, dst)?;
                let (width, _) = self.program.types[ty]
                    .bits()
                    .ok_or("slice of something that is not bits")?;
                let value = self.expr_ty(*value)?;
                let fits = hi >= lo
                    && *hi < width
                    && self.program.types[value].bits() == Some((hi - lo + 1, false));
                if fits {
                    Ok(())
                } else {
                    Err("slice out of range or of the wrong width".into())
                }
            }
            StmtKind::Reset(place) => self.place(None, place).map(drop),
            StmtKind::SetValid(place) | StmtKind::SetInvalid(place) => self.expect_header(place),
            StmtKind::Emit { header } => {
                if cx.parser {
                    return Err("emit in a parser".into());
                }
                self.expect_header(header)
            }
            StmtKind::PushFront { stack, count } | StmtKind::PopFront { stack, count } => {
                if *count == 0 {
                    return Err("count must be positive".into());
                }
                self.expect_stack(stack)
            }
            StmtKind::If { cond, then, other } => {
                self.expect_bool(*cond)?;
                self.body(then, cx, callees);
                self.body(other, cx, callees);
                Ok(())
            }
            StmtKind::Switch {
                value,
                cases,
                default,
            } => {
                let ty = self.expr_ty(*value)?;
                let mut seen = std::collections::HashSet::new();
                for case in cases {
                    for label in &case.labels {
                        self.constant(label, ty)?;
                        if !seen.insert(label) {
                            return Err("label twice".into());
                        }
                    }
                    self.body(&case.body, cx, callees);
                }
                self.body(default, cx, callees);
                Ok(())
            }
            StmtKind::Loop {
                head,
                cond,
                body,
                step,
                rounds: _,
            } => {
                self.expect_bool(*cond)?;
                self.body(head, cx, callees);
                self.body(
                    body,
                    Context {
                        in_loop: true,
                        ..cx
                    },
                    callees,
                );
                self.body(step, cx, callees);
                Ok(())
            }
            StmtKind::Break | StmtKind::Continue if !cx.in_loop => Err("not in a loop".into()),
            StmtKind::Break | StmtKind::Continue | StmtKind::Return | StmtKind::Exit => Ok(()),
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => {
                self.callee(*callee, cx.parser)?;
                callees.push(Node::Callee(*callee));
                copy_in.iter().try_for_each(|a| self.assign(a))?;
                self.copies_out(copy_out, cx)
            }
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            } => {
                if cx.parser {
                    return Err("table applied in a parser".into());
                }
                if self.program.tables.get(*table).is_none() {
                    return Err("unknown table".into());
                }
                callees.push(Node::Table(*table));
                if let Some(var) = hit
                    && !matches!(self.var_type(*var)?, Type::Bool)
                {
                    return Err("hit must be a bool".into());
                }
                if let Some(var) = action_run
                    && self.var_type(*var)?.bits() != Some((32, false))
                {
                    return Err("action_run must be a bit<32>".into());
                }
                Ok(())
            }
            StmtKind::Extern(call) => self.extern_call(call),
            _ => self.parser_stmt(&stmt.kind, cx),
        }
    }

    /// Copies out run on every way out of a callee, so nothing in them may lead anywhere.
    pub(super) fn copies_out(&mut self, copies: &Block, cx: Context<'_>) -> Result<(), String> {
        for copy in copies {
            match &copy.kind {
                StmtKind::Assign(_) | StmtKind::AssignSlice { .. } | StmtKind::SetInvalid(_) => {
                    self.stmt(copy, cx, &mut Vec::new())?;
                }
                StmtKind::If { cond, then, other } => {
                    self.expect_bool(*cond)?;
                    self.copies_out(then, cx)?;
                    self.copies_out(other, cx)?;
                }
                _ => return Err("a copy out only stores".into()),
            }
        }
        Ok(())
    }

    fn parser_stmt(&mut self, kind: &StmtKind, cx: Context<'_>) -> Result<(), String> {
        if !cx.parser {
            return Err("parser statement outside a parser".into());
        }
        match kind {
            StmtKind::Extract { header, advance } => {
                self.expect_header(header)?;
                advance.as_ref().map_or(Ok(()), |s| self.expect_stack(s))
            }
            StmtKind::ExtractVarbit {
                header,
                size,
                advance,
            } => {
                self.expect_header(header)?;
                self.expect_bit32(*size)?;
                advance.as_ref().map_or(Ok(()), |s| self.expect_stack(s))
            }
            StmtKind::Lookahead { dst } => {
                let ty = self.place(None, dst)?;
                self.program
                    .types
                    .wire_width(ty)
                    .map(drop)
                    .ok_or_else(|| "lookahead of a type without wire form".into())
            }
            StmtKind::Advance { bits } => self.expect_bit32(*bits),
            StmtKind::Verify { cond, error } => {
                self.expect_bool(*cond)?;
                match self.program.types[self.expr_ty(*error)?] {
                    Type::Error => Ok(()),
                    _ => Err("verify raises an error".into()),
                }
            }
            _ => Err("unchecked statement".into()),
        }
    }

    fn callee(&self, callee: Callee, parser: bool) -> Result<(), String> {
        let known = match callee {
            Callee::Action(id) => self.program.actions.get(id).is_some() && !parser,
            Callee::Function(id) => self.program.functions.get(id).is_some(),
            Callee::Control(id) => self.program.controls.get(id).is_some() && !parser,
            Callee::Parser(id) => self.program.parsers.get(id).is_some() && parser,
        };
        if known {
            Ok(())
        } else {
            Err(format!("{callee:?} cannot be called here"))
        }
    }

    fn extern_call(&self, call: &ExternCall) -> Result<(), String> {
        if let ExternCallee::Method(id, method) = &call.callee {
            let object = self.program.externs.get(*id);
            let object = object.ok_or("unknown extern object")?;
            if !method.fits(&object.ty) {
                let (name, ty) = (method.name(), object.ty.name());
                return Err(format!(
                    "`{name}` is not the method that {ty} has of that name"
                ));
            }
        }
        for arg in &call.args {
            match arg {
                ExternArg::In(e) => {
                    let ty = self.expr_ty(*e)?;
                    if !self.program.types[ty].is_scalar() {
                        return Err(format!(
                            "aggregate passed to {} unflattened",
                            call.callee.name()
                        ));
                    }
                }
                ExternArg::Fields { values, .. } => {
                    for value in values {
                        self.expr_ty(*value)?;
                    }
                }
                ExternArg::Out(place) | ExternArg::InOut(place) => drop(self.place(None, place)?),
                ExternArg::Object(id) if self.program.externs.get(*id).is_none() => {
                    return Err("unknown extern object".into());
                }
                ExternArg::Object(_) | ExternArg::Omitted => {}
            }
        }
        if let Some(place) = &call.result {
            self.place(None, place)?;
        }
        Ok(())
    }
}

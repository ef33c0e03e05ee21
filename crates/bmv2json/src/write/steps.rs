//! Blocks as steps: calls written out, copies by header and field, and places that are known at run
//! time only as chains of conditions.

use p4ir::{
    Assign, Block, Callee, Const, ExprId, ExprKind, ParserId, Place, StmtKind, SwitchCase, TableId,
    Type, UnaryOp, VarId, VarKind,
};
use serde_json::{Value, json};

use super::json::{field, named, number, ones, op, operand, unary};
use super::storage::Spot;
use super::{Write, Writer};

/// Places of a callee, and what they are for one call. No new place shares anything with an old
/// one.
pub(super) type Renames = Vec<(Place, Place)>;

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A primitive.
    Op(Value),
    /// An operation of the parser.
    Parse(Value),
    /// Both branches of a condition, and the condition's `source_info`.
    If(Value, Vec<Step>, Vec<Step>, Value),
    /// `loop { head; if !cond break; body; step }`
    Loop {
        head: Vec<Step>,
        cond: Value,
        body: Vec<Step>,
        step: Vec<Step>,
    },
    Break,
    Continue,
    /// Ends the innermost scope.
    Return,
    /// Ends the pipeline.
    Exit,
    /// The body of a callable.
    Scope(Vec<Step>),
    /// Applies a table.
    Apply(TableId, Edges),
    /// Runs a subparser, then the copies.
    Sub(ParserId, Vec<Step>, Renames),
    /// Appends a header to the packet that leaves.
    Emit(String),
}

/// What follows a table by what it did.
#[derive(Clone, Debug)]
pub(super) enum Edges {
    None,
    HitMiss(Vec<Step>, Vec<Step>),
    /// By position in the table's list of actions.
    Actions(Vec<Vec<Step>>),
}

/// Most branches of one `switch`.
const MAX_CASES: usize = 1000;

impl Writer<'_> {
    pub(super) fn primitive(&self, name: &str, parameters: Vec<Value>) -> Step {
        Step::Op(self.placed(json!({ "op": name, "parameters": parameters })))
    }

    pub(super) fn parse(name: &str, parameters: Vec<Value>) -> Step {
        Step::Parse(json!({ "op": name, "parameters": parameters }))
    }

    pub(super) fn block(&mut self, block: &Block) -> Write<Vec<Step>> {
        let mut steps = Vec::new();
        let mut i = 0;
        while let Some(stmt) = block.get(i) {
            if stmt.span.line > 0 {
                self.span = stmt.span;
            }
            let next = block.get(i + 1).map(|s| &s.kind);
            if let Some(step) = self.apply_and_branch(&stmt.kind, next)? {
                steps.push(step);
                i += 2;
                continue;
            }
            self.spend(1)?;
            self.statement(&stmt.kind, &mut steps)?;
            i += 1;
        }
        Ok(steps)
    }

    /// A table and the branch on what it did, if the second statement is such a branch and nothing
    /// else asks.
    fn apply_and_branch(
        &mut self,
        kind: &StmtKind,
        next: Option<&StmtKind>,
    ) -> Write<Option<Step>> {
        let StmtKind::ApplyTable {
            table,
            hit,
            action_run,
        } = kind
        else {
            return Ok(None);
        };
        match (hit, action_run, next) {
            (Some(hit), None, Some(StmtKind::If { cond, then, other })) => {
                let Some(positive) = self.is_flag(*cond, *hit) else {
                    return Ok(None);
                };
                let (then, other) = (self.block(then)?, self.block(other)?);
                let (hit, miss) = if positive {
                    (then, other)
                } else {
                    (other, then)
                };
                Ok(Some(Step::Apply(*table, Edges::HitMiss(hit, miss))))
            }
            (
                None,
                Some(run),
                Some(StmtKind::Switch {
                    value,
                    cases,
                    default,
                }),
            ) if self.reads_only(*value, *run) => {
                let edges = self.by_action(*table, cases, default)?;
                Ok(Some(Step::Apply(*table, edges)))
            }
            _ => Ok(None),
        }
    }

    /// Whether an expression is a variable or its opposite, and the variable is read nowhere else.
    fn is_flag(&self, cond: ExprId, var: VarId) -> Option<bool> {
        match &self.p.exprs[cond].kind {
            ExprKind::Unary(UnaryOp::Not, inner) => self.reads_only(*inner, var).then_some(false),
            _ => self.reads_only(cond, var).then_some(true),
        }
    }

    fn reads_only(&self, expr: ExprId, var: VarId) -> bool {
        let reads = |kind: &ExprKind| matches!(kind, ExprKind::Read(p) if p.var == var);
        let all = self.p.exprs.values().filter(|e| reads(&e.kind)).count();
        reads(&self.p.exprs[expr].kind) && all == 1 && self.p.vars[var].kind == VarKind::Temp
    }

    fn by_action(&mut self, table: TableId, cases: &[SwitchCase], default: &Block) -> Write<Edges> {
        let count = self.p.tables[table].actions.len();
        let mut edges = vec![self.block(default)?; count];
        for case in cases {
            let body = self.block(&case.body)?;
            for label in &case.labels {
                let Const::Bits(position) = label else {
                    continue;
                };
                let position = usize::try_from(position).ok();
                if let Some(edge) = position.and_then(|i| edges.get_mut(i)) {
                    *edge = body.clone();
                }
            }
        }
        Ok(Edges::Actions(edges))
    }

    fn statement(&mut self, kind: &StmtKind, steps: &mut Vec<Step>) -> Write<()> {
        match kind {
            StmtKind::Assign(a) => steps.extend(self.assign(a)?),
            StmtKind::AssignSlice { dst, hi, lo, value } => {
                steps.extend(self.assign_slice(dst, *hi, *lo, *value)?);
            }
            StmtKind::Reset(place) => steps.extend(self.at(place, &mut |w, p| w.reset(p))?),
            StmtKind::SetValid(place) => steps.extend(self.header_step("add_header", place)?),
            StmtKind::SetInvalid(place) => steps.extend(self.header_step("remove_header", place)?),
            StmtKind::PushFront { stack, count } => {
                steps.extend(self.shift("push", stack, *count)?)
            }
            StmtKind::PopFront { stack, count } => steps.extend(self.shift("pop", stack, *count)?),
            StmtKind::If { cond, then, other } => {
                let (cond, source) = (self.cond(*cond)?, self.source());
                steps.push(Step::If(
                    cond,
                    self.block(then)?,
                    self.block(other)?,
                    source,
                ));
            }
            StmtKind::Switch {
                value,
                cases,
                default,
            } => {
                steps.extend(self.switch(*value, cases, default)?);
            }
            StmtKind::Loop {
                head,
                cond,
                body,
                step,
                ..
            } => {
                let (head, body, step) = (self.block(head)?, self.block(body)?, self.block(step)?);
                let cond = self.cond(*cond)?;
                steps.push(Step::Loop {
                    head,
                    cond,
                    body,
                    step,
                });
            }
            StmtKind::Break => steps.push(Step::Break),
            StmtKind::Continue => steps.push(Step::Continue),
            StmtKind::Return => steps.push(Step::Return),
            StmtKind::Exit => {
                self.spend(self.frames.iter().map(Vec::len).sum())?;
                steps.extend(self.frames.iter().rev().flatten().cloned());
                steps.push(Step::Exit);
            }
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => {
                self.call(*callee, copy_in, copy_out, steps)?;
            }
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            } => {
                let edges = self.stored_outcome(*table, *hit, *action_run)?;
                steps.push(Step::Apply(*table, edges));
            }
            StmtKind::Extern(call) => steps.extend(self.extern_call(call)?),
            StmtKind::Emit { header } => {
                let header = self.header(header)?;
                steps.push(Step::Emit(header));
            }
            _ => steps.extend(self.parser_statement(kind)?),
        }
        Ok(())
    }

    fn stored_outcome(
        &mut self,
        table: TableId,
        hit: Option<VarId>,
        run: Option<VarId>,
    ) -> Write<Edges> {
        let set = |w: &mut Self, var: VarId, value: u32| -> Write<Vec<Step>> {
            let target = w.scalar(&Place::var(var))?;
            Ok(vec![w.primitive("assign", vec![target, number(value)])])
        };
        match (hit, run) {
            (None, None) => Ok(Edges::None),
            (Some(hit), None) => Ok(Edges::HitMiss(set(self, hit, 1)?, set(self, hit, 0)?)),
            (None, Some(run)) => {
                let count = self.p.tables[table].actions.len() as u32;
                let edges = (0..count)
                    .map(|i| set(self, run, i))
                    .collect::<Write<_>>()?;
                Ok(Edges::Actions(edges))
            }
            (Some(_), Some(_)) => {
                Err(self.error("asking a table for `hit` and `action_run` at once"))
            }
        }
    }

    fn call(
        &mut self,
        callee: Callee,
        copy_in: &[Assign],
        copy_out: &Block,
        steps: &mut Vec<Step>,
    ) -> Write<()> {
        if let Callee::Parser(parser) = callee {
            return self.call_parser(parser, copy_in, copy_out, steps);
        }
        for copy in copy_in {
            steps.extend(self.assign(copy)?);
        }
        let after = self.block(copy_out)?;
        self.frames.push(after.clone());
        let (init, body) = match callee {
            Callee::Action(id) => (None, &self.p.actions[id].body),
            Callee::Function(id) => (None, &self.p.functions[id].body),
            Callee::Control(id) => (Some(&self.p.controls[id].init), &self.p.controls[id].body),
            Callee::Parser(_) => return Ok(()),
        };
        let mut inner = Vec::new();
        if let Some(init) = init {
            inner.extend(self.block(init)?);
        }
        inner.extend(self.block(body)?);
        self.frames.pop();
        steps.push(Step::Scope(inner));
        steps.extend(after);
        Ok(())
    }

    fn switch(&mut self, value: ExprId, cases: &[SwitchCase], default: &Block) -> Write<Vec<Step>> {
        if cases.len() > MAX_CASES {
            return Err(self.error(format!("a `switch` with more than {MAX_CASES} branches")));
        }
        let ty = self.p.expr_type(value);
        let source = self.source();
        let mut rest = self.block(default)?;
        for case in cases.iter().rev() {
            let mut any = None;
            for label in &case.labels {
                let this = op("==", self.num(value)?, self.constant(label, ty)?);
                any = Some(match any {
                    None => this,
                    Some(before) => op("or", before, this),
                });
            }
            if let Some(cond) = any {
                rest = vec![Step::If(
                    cond,
                    self.block(&case.body)?,
                    rest,
                    source.clone(),
                )];
            }
        }
        Ok(rest)
    }

    // ---- copies ----

    /// What `f` makes for whichever place is meant.
    pub(super) fn at(
        &mut self,
        place: &Place,
        f: &mut dyn FnMut(&mut Self, &Place) -> Write<Vec<Step>>,
    ) -> Write<Vec<Step>> {
        let mut made = Vec::new();
        for (conditions, place) in self.alternatives(place)?.iter().rev() {
            let this = f(self, place)?;
            made = match conditions.is_empty() {
                true => this,
                false => vec![Step::If(
                    self.all_equal(conditions)?,
                    this,
                    made,
                    self.source(),
                )],
            };
        }
        Ok(made)
    }

    pub(super) fn assign(&mut self, a: &Assign) -> Write<Vec<Step>> {
        let ty = self.p.expr_type(a.value);
        if self.data.contains_key(&a.dst.var) {
            return Err(self.error("an assignment to action data"));
        }
        match (&self.p.types[ty], &self.p.exprs[a.value].kind) {
            (Type::Bits { width: 0, .. }, _) => Ok(Vec::new()),
            (
                Type::Record { .. } | Type::Stack { .. } | Type::Varbit { .. },
                ExprKind::Read(src),
            ) => {
                let src = src.clone();
                self.at(&a.dst, &mut |w, dst| {
                    w.at(&src, &mut |w, src| w.copy(dst, src))
                })
            }
            (Type::String, _) => Err(self.error("a variable of type string")),
            _ => {
                let value = self.argument(a.value)?;
                self.at(&a.dst, &mut |w, dst| {
                    let target = w.scalar(dst)?;
                    Ok(vec![w.primitive("assign", vec![target, value.clone()])])
                })
            }
        }
    }

    /// `dst = src`, both known.
    fn copy(&mut self, dst: &Place, src: &Place) -> Write<Vec<Step>> {
        let ty = self.type_of(dst)?;
        if self.p.types[ty].bits() == Some((0, false)) {
            return Ok(Vec::new());
        }
        Ok(match (self.spot(dst)?, self.spot(src)?) {
            (Spot::Header(d), Spot::Header(s)) => {
                vec![self.primitive(
                    "assign_header",
                    vec![named("header", &d), named("header", &s)],
                )]
            }
            (Spot::Stack(d, _), Spot::Stack(s, _)) => {
                let kind = "header_stack";
                vec![self.primitive(
                    "assign_header_stack",
                    vec![named(kind, &d), named(kind, &s)],
                )]
            }
            (Spot::Union(d), Spot::Union(s)) => {
                let kind = "header_union";
                vec![self.primitive("assign_union", vec![named(kind, &d), named(kind, &s)])]
            }
            (Spot::UnionStack(d, _), Spot::UnionStack(s, _)) => {
                let kind = "header_union_stack";
                vec![self.primitive("assign_union_stack", vec![named(kind, &d), named(kind, &s)])]
            }
            (Spot::Scalar(dh, df), Spot::Scalar(sh, sf)) => {
                let name = match self.p.types[ty] {
                    Type::Varbit { .. } => "assign_VL",
                    _ => "assign",
                };
                vec![self.primitive(name, vec![field(&dh, &df), field(&sh, &sf)])]
            }
            (Spot::Several(d), Spot::Several(s)) => {
                let mut steps = Vec::new();
                for (d, s) in d.iter().zip(&s) {
                    steps.extend(self.copy(d, s)?);
                }
                steps
            }
            _ => return Err(self.error("a copy between things of different kinds")),
        })
    }

    fn reset(&mut self, place: &Place) -> Write<Vec<Step>> {
        let ty = self.type_of(place)?;
        Ok(match self.spot(place)? {
            Spot::Scalar(header, name) => match self.p.types[ty] {
                Type::Bits { width: 0, .. } => Vec::new(),
                Type::Varbit { .. } => {
                    return Err(self.error("a variable of type varbit outside of a header"));
                }
                _ => vec![self.primitive("assign", vec![field(&header, &name), number(0u32)])],
            },
            Spot::Header(name) => {
                vec![self.primitive("remove_header", vec![named("header", &name)])]
            }
            Spot::Stack(name, size) => {
                vec![self.primitive("pop", vec![named("header_stack", &name), number(size)])]
            }
            Spot::Union(_) => {
                let members = self.p.types[ty].fields().map_or(0, <[_]>::len) as u32;
                let mut steps = Vec::new();
                for i in 0..members {
                    steps.extend(self.reset(&place.field(i))?);
                }
                steps
            }
            Spot::UnionStack(name, size) => {
                let stack = named("header_union_stack", &name);
                vec![self.primitive("pop", vec![stack, number(size)])]
            }
            Spot::Several(parts) => {
                let mut steps = Vec::new();
                for part in &parts {
                    steps.extend(self.reset(part)?);
                }
                steps
            }
        })
    }

    fn header_step(&mut self, name: &str, place: &Place) -> Write<Vec<Step>> {
        self.at(place, &mut |w, place| {
            let header = w.header(place)?;
            Ok(vec![w.primitive(name, vec![named("header", &header)])])
        })
    }

    fn shift(&mut self, name: &str, stack: &Place, count: u32) -> Write<Vec<Step>> {
        self.at(stack, &mut |w, stack| {
            let stack = match w.spot(stack)? {
                Spot::Stack(stack, _) => named("header_stack", &stack),
                Spot::UnionStack(stack, _) => named("header_union_stack", &stack),
                _ => return Err(w.error("a header stack is expected")),
            };
            Ok(vec![w.primitive(name, vec![stack, number(count)])])
        })
    }

    fn assign_slice(&mut self, dst: &Place, hi: u32, lo: u32, value: ExprId) -> Write<Vec<Step>> {
        let ty = self.type_of(dst)?;
        let (width, signed) = self.stored(ty)?;
        let kept = ones(width) - (ones(hi + 1) - ones(lo));
        let mut new = self.num(value)?;
        if lo > 0 {
            new = op("<<", new, number(lo));
        }
        self.at(dst, &mut |w, dst| {
            let target = w.scalar(dst)?;
            let old = op("&", target.clone(), number(kept.clone()));
            let mut whole = op("|", old, new.clone());
            if signed {
                whole = op("two_comp_mod", whole, number(width));
            }
            Ok(vec![w.primitive("assign", vec![target, operand(whole)])])
        })
    }

    // ---- the parser ----

    fn parser_statement(&mut self, kind: &StmtKind) -> Write<Vec<Step>> {
        match kind {
            StmtKind::Extract { header, advance } => self.extract(header, advance.as_ref(), None),
            StmtKind::ExtractVarbit {
                header,
                size,
                advance,
            } => {
                let size = self.num(*size)?;
                self.extract(header, advance.as_ref(), Some(size))
            }
            StmtKind::Lookahead { dst } => self.at(dst, &mut |w, dst| w.lookahead(dst)),
            StmtKind::Advance { bits } => {
                let bits = self.argument(*bits)?;
                Ok(vec![Self::parse("advance", vec![bits])])
            }
            StmtKind::Verify { cond, error } => self.verify(*cond, *error),
            _ => Err(self.error("a statement that this block cannot have")),
        }
    }

    fn extract(
        &mut self,
        header: &Place,
        advance: Option<&Place>,
        size: Option<Value>,
    ) -> Write<Vec<Step>> {
        let name = if size.is_some() {
            "extract_VL"
        } else {
            "extract"
        };
        // BMv2 wants an expression here, whatever the length is.
        let size = size.map(|s| json!({ "type": "expression", "value": s }));
        let with_size = |target: Value| std::iter::once(target).chain(size.clone()).collect();
        if let Some(stack) = advance {
            let target = match self.spot(stack)? {
                Spot::Stack(name, _) => named("stack", &name),
                Spot::UnionStack(name, _) => {
                    let ty = self.p.place_type(stack).map(|t| &self.p.types[t]);
                    let Some(Type::Stack { element, .. }) = ty else {
                        return Err(self.error("a stack is expected"));
                    };
                    let member = match header.path.last() {
                        Some(p4ir::Projection::Field(i)) => *i as usize,
                        _ => return Err(self.error("a member of a union is expected")),
                    };
                    let fields = self.p.types[*element].fields().unwrap_or(&[]);
                    let member = fields.get(member).map_or("", |f| f.name.as_str());
                    json!({ "type": "union_stack", "value": [name, member] })
                }
                _ => return Err(self.error("a header stack is expected")),
            };
            return Ok(vec![Self::parse(name, with_size(target))]);
        }
        self.at(header, &mut |w, header| {
            let header = w.header(header)?;
            Ok(vec![Self::parse(
                name,
                with_size(named("regular", &header)),
            )])
        })
    }

    fn lookahead(&mut self, dst: &Place) -> Write<Vec<Step>> {
        let mut steps = Vec::new();
        let mut offset = 0;
        if let Spot::Header(name) = self.spot(dst)? {
            let ty = self.type_of(dst)?;
            let width = self.p.types.wire_width(ty).unwrap_or(0) as u32;
            // All of it or nothing: whether there is enough shows before the header becomes valid.
            let all = self.temp(width, false);
            steps.push(Self::parse(
                "set",
                vec![all, json!({ "type": "lookahead", "value": [0, width] })],
            ));
            steps.push(self.primitive("add_header", vec![named("header", &name)]));
        }
        self.lookahead_fields(dst, &mut offset, &mut steps)?;
        Ok(steps)
    }

    fn lookahead_fields(
        &mut self,
        dst: &Place,
        offset: &mut u32,
        steps: &mut Vec<Step>,
    ) -> Write<()> {
        let ty = self.type_of(dst)?;
        let parts = match &self.p.types[ty] {
            Type::Record { fields, .. } => (0..fields.len() as u32).map(|i| dst.field(i)).collect(),
            Type::Stack { size, .. } => {
                let element = |i| dst.project(p4ir::Projection::Index(i));
                (0..*size).map(element).collect::<Vec<_>>()
            }
            _ => {
                let (width, _) = self.stored(ty)?;
                if width > 0 {
                    let target = self.scalar(dst)?;
                    let ahead = json!({ "type": "lookahead", "value": [offset, width] });
                    steps.push(Self::parse("set", vec![target, ahead]));
                    *offset += width;
                }
                return Ok(());
            }
        };
        for part in parts {
            self.lookahead_fields(&part, offset, steps)?;
        }
        Ok(())
    }

    fn verify(&mut self, cond: ExprId, error: ExprId) -> Write<Vec<Step>> {
        let errors: Vec<(Option<Value>, u32)> = match &self.p.exprs[error].kind {
            ExprKind::Const(Const::Error(i)) => vec![(None, *i)],
            _ => {
                let found = self.num(error)?;
                let each = (0..self.p.errors.len() as u32)
                    .map(|i| (Some(op("!=", found.clone(), number(i))), i));
                each.collect()
            }
        };
        let holds = self.cond(cond)?;
        let mut steps = Vec::new();
        for (another, index) in errors {
            let cond = match another {
                None => holds.clone(),
                Some(another) => op("or", holds.clone(), another),
            };
            if self.frames.iter().all(Vec::is_empty) {
                steps.push(Self::parse("verify", vec![cond, number(index)]));
                continue;
            }
            // What callers are promised is copied before the parser ends.
            let mut failed: Vec<Step> = self.frames.iter().rev().flatten().cloned().collect();
            let never = json!({ "type": "bool", "value": false });
            failed.push(Self::parse("verify", vec![never, number(index)]));
            let failed_cond = unary("not", cond);
            steps.push(Step::If(failed_cond, failed, Vec::new(), self.source()));
        }
        Ok(steps)
    }
}

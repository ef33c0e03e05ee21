//! Calls with a meaning of their own: methods of headers, stacks and packets, `verify`,
//! `static_assert`; and calls to externs of the architecture.

use num_traits::ToPrimitive;
use p4ir::{
    ExprKind as IrExpr, ExternArg, ExternCall, ExternCallee, ExternFunction, ExternId,
    ExternMethod, ExternType, Place, Projection, StmtKind,
};

use super::args::{ArgVal, Args};
use super::assign::Selection;
use super::built_in::members_of;
use super::value::{Elab, Object, Val};
use super::{BodyKind, Lowerer};
use crate::ast::{self, DeclKind, ExprKind, MethodKind, NodeId};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::{RecordKind, Ty};
use p4ir::limits::MAX_BITS;

/// Methods that give the size of a type.
pub(super) const SIZE_METHODS: [&str; 4] = [
    "minSizeInBits",
    "minSizeInBytes",
    "maxSizeInBits",
    "maxSizeInBytes",
];

impl<'a> Lowerer<'a> {
    /// `minSizeInBits()` and its kin.
    pub(super) fn size_method(
        &mut self,
        ty: &Ty,
        name: &str,
        args: &'a [ast::Arg],
    ) -> Option<Elab<'a>> {
        let (max, bytes) = match name {
            "minSizeInBits" => (false, false),
            "minSizeInBytes" => (false, true),
            "maxSizeInBits" => (true, false),
            "maxSizeInBytes" => (true, true),
            _ => return None,
        };
        if !args.is_empty() {
            return None;
        }
        let bits = ty.size_bits(max)?;
        Some(Elab::int(if bytes { bits.div_ceil(8) } else { bits }))
    }

    /// Methods of values: headers, unions, stacks.
    pub(super) fn builtin(
        &mut self,
        object: Elab<'a>,
        ty: &Ty,
        member: &'a ast::Ident,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        if let Some(size) = self.size_method(ty, &member.name, args) {
            return size;
        }
        let void = || Elab::new(Ty::Void, Val::Void);
        match (&*member.name, ty) {
            ("isValid", Ty::Record(r)) if r.kind != RecordKind::Struct && args.is_empty() => {
                if matches!(object.val, Val::Poison) {
                    return Elab::new(Ty::Bool, Val::Poison);
                }
                if r.kind == RecordKind::Header {
                    self.validity(&object)
                } else {
                    self.union_validity(&object, span)
                }
            }
            ("setValid" | "setInvalid", Ty::Record(r))
                if r.kind == RecordKind::Header && args.is_empty() =>
            {
                if let Some(place) = self.writable(&object, span) {
                    if &*member.name == "setValid" {
                        self.invalidate_siblings(&place, span);
                        self.emit(StmtKind::SetValid(place), span);
                    } else {
                        self.emit(StmtKind::SetInvalid(place), span);
                    }
                }
                void()
            }
            ("push_front" | "pop_front", Ty::Stack(_, size)) if args.len() == 1 => {
                let count = self.const_int(&args[0].value);
                let (Some(place), Some(count)) = (self.writable(&object, span), count) else {
                    return void();
                };
                let Some(count) = count.to_u32().filter(|c| *c > 0) else {
                    self.error(
                        "type",
                        args[0].at.span,
                        "the count must be a positive number",
                    );
                    return void();
                };
                let count = count.min(*size).max(1);
                let stack = place;
                let kind = if &*member.name == "push_front" {
                    StmtKind::PushFront { stack, count }
                } else {
                    StmtKind::PopFront { stack, count }
                };
                self.emit(kind, span);
                void()
            }
            _ => {
                self.look_at(args);
                let text = match (&*member.name, ty) {
                    ("isValid" | "setValid" | "setInvalid", Ty::Record(r))
                        if r.kind == RecordKind::Header =>
                    {
                        format!("`{member}` takes no arguments")
                    }
                    ("push_front" | "pop_front", Ty::Stack(..)) => {
                        format!("`{member}` takes one argument")
                    }
                    _ => format!("`{ty}` has no method `{member}`"),
                };
                let d = Diagnostic::error("name", member.span, text);
                let methods = methods_of(ty);
                self.report(match methods.contains(&&*member.name) {
                    true => d,
                    false => d.with_known("methods", &member.name, methods.iter().copied()),
                });
                Elab::poison()
            }
        }
    }

    fn writable(&mut self, object: &Elab<'a>, span: Span) -> Option<Place> {
        match &object.val {
            Val::Place {
                place,
                writable: true,
            } => Some(place.clone()),
            Val::Poison => None,
            _ => {
                self.error("type", span, "this value is read-only");
                None
            }
        }
    }

    /// Methods of `packet_in` and `packet_out`.
    pub(super) fn packet_method(
        &mut self,
        ty: &Ty,
        member: &'a ast::Ident,
        type_args: &'a [ast::Type],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        let Ty::Extern(id, ..) = ty else {
            return Elab::poison();
        };
        let Some(proto) = self.method(*id, member, args, span) else {
            self.look_at(args);
            return Elab::poison();
        };
        let void = Elab::new(Ty::Void, Val::Void);
        let what = format!("`{member}`");
        let Some(bound) = self.bind(&what, &proto.params, args, span) else {
            return Elab::poison();
        };
        let given: Vec<&ast::Expr> = bound.slots.iter().flatten().map(|a| &a.value).collect();
        match (&*member.name, given.as_slice()) {
            ("extract", [header]) => {
                self.extract(type_args, header, None, span);
                void
            }
            ("extract", [header, size]) => {
                let size = Size {
                    expr: size,
                    first: bound.order.first() == Some(&1),
                };
                self.extract(type_args, header, Some(size), span);
                void
            }
            ("lookahead", []) => self.lookahead(type_args, span),
            ("advance", [bits]) => {
                let value = self.bit_count(bits);
                if !value.is_poison() {
                    let bits = self.scalar(&value, span);
                    self.emit(StmtKind::Advance { bits }, span);
                }
                void
            }
            ("length", []) => {
                let ty = self.emitter.common.bit32;
                Elab::new(
                    Ty::bit(32),
                    Val::Expr(self.emitter.ir.add_expr(IrExpr::PacketLength, ty)),
                )
            }
            ("emit", [value]) => {
                let value_span = value.at.span;
                let want = type_args.first().map(|t| self.ty(t));
                let value = self.expr(value, want.as_ref());
                let value = match &want {
                    Some(ty) => self.coerce(value, ty, value_span),
                    None => value,
                };
                self.emit_headers(&value, value_span);
                void
            }
            _ => {
                let text = format!("`{}` of a packet is not known to this compiler", proto.name);
                self.error("unsupported", span, text);
                Elab::poison()
            }
        }
    }

    /// `packet.emit`: every header inside, in order.
    fn emit_headers(&mut self, value: &Elab<'a>, span: Span) {
        match (&value.ty, &value.val) {
            (_, Val::Poison) | (Ty::Poison, _) => {}
            (ty, Val::Place { place, .. }) if ty.is_header() => {
                self.emit(
                    StmtKind::Emit {
                        header: place.clone(),
                    },
                    span,
                );
            }
            (ty, Val::Agg(_)) if ty.is_header() => {
                let temp = self.temp(&value.ty, span);
                self.store(&temp, &value.ty, value.clone(), span);
                self.emit(StmtKind::Emit { header: temp }, span);
            }
            (
                Ty::Record(_) | Ty::Stack(..) | Ty::Tuple(_) | Ty::ListExpr(_) | Ty::StructExpr(_),
                val,
            ) => {
                let count = match val {
                    Val::Agg(all) => all.len(),
                    _ => value.ty.components().len(),
                };
                for i in 0..count {
                    let part = self.component(value, i as u32, span);
                    self.emit_headers(&part, span);
                }
            }
            (ty, _) => {
                let text = format!("only headers can be emitted, `{ty}` is none");
                self.error("type", span, text);
            }
        }
    }

    /// A number of bits of a packet.
    fn bit_count(&mut self, e: &'a ast::Expr) -> Elab<'a> {
        let value = self.expr(e, Some(&Ty::bit(32)));
        self.coerce(value, &Ty::bit(32), e.at.span)
    }

    fn extract(
        &mut self,
        type_args: &'a [ast::Type],
        header: &'a ast::Expr,
        size: Option<Size<'a>>,
        span: Span,
    ) {
        let given = type_args.first().map(|t| self.ty(t));
        let early = size.filter(|size| size.first);
        let mut early = early.map(|size| self.bit_count(size.expr));
        let mark = self.emitter.out.len();
        let (mut place, ty) = if matches!(header.kind, ExprKind::DontCare) {
            let Some(ty) = given else {
                self.error(
                    "type",
                    span,
                    "the type of the header to skip is not known: write `extract<T>(_)`",
                );
                return;
            };
            (self.temp(&ty, span), ty)
        } else {
            match self.lvalue(header) {
                Some(l) if matches!(l.part, Selection::All) => (l.place, l.whole),
                Some(_) => {
                    self.error("type", header.at.span, "a slice cannot be extracted");
                    return;
                }
                None => return,
            }
        };
        if let Some(early) = &mut early
            && self.emitter.out.len() > mark
        {
            self.spill(early, mark, span);
        }
        if matches!(ty, Ty::Param(..) | Ty::Poison) {
            return;
        }
        if !ty.is_header() {
            self.error(
                "type",
                header.at.span,
                format!("only headers can be extracted, `{ty}` is none"),
            );
            return;
        }
        let varbits = ty
            .components()
            .iter()
            .filter(|t| matches!(t, Ty::Varbit(_)))
            .count();
        if varbits > 1 {
            self.error(
                "type",
                header.at.span,
                format!("`{ty}` has {varbits} varbit fields; only one can be extracted"),
            );
            return;
        }
        if size.is_none() && ty.has_varbit() {
            self.report(
                Diagnostic::error("type", header.at.span, format!("`{ty}` has a varbit field"))
                    .with_help("give its length in bits as a second argument of `extract`"),
            );
            return;
        }
        let advance = place
            .path
            .iter()
            .enumerate()
            .find_map(|(i, step)| match step {
                Projection::DynIndex(e) => match &self.emitter.ir.exprs[*e].kind {
                    IrExpr::NextIndex(p) if p.var == place.var && p.path[..] == place.path[..i] => {
                        Some(p.clone())
                    }
                    _ => None,
                },
                _ => None,
            });
        let kind = match size {
            None => StmtKind::Extract {
                header: place.clone(),
                advance,
            },
            Some(size) => {
                if !ty.has_varbit() {
                    self.error(
                        "type",
                        header.at.span,
                        format!("`{ty}` has no varbit field"),
                    );
                    return;
                }
                let value = early.unwrap_or_else(|| {
                    let mark = self.emitter.out.len();
                    let value = self.bit_count(size.expr);
                    // The size cannot move `next`, but other indices.
                    if self.emitter.out.len() > mark && advance.is_none() {
                        self.freeze(&mut place, mark, span);
                    }
                    value
                });
                let size = self.scalar(&value, span);
                StmtKind::ExtractVarbit {
                    header: place.clone(),
                    size,
                    advance,
                }
            }
        };
        // The siblings go first: afterwards `next` may denote another element.
        self.invalidate_siblings(&place, span);
        self.emit(kind, span);
    }

    fn lookahead(&mut self, type_args: &'a [ast::Type], span: Span) -> Elab<'a> {
        let Some(ty) = type_args.first().map(|t| self.ty(t)) else {
            self.error(
                "type",
                span,
                "the type to look ahead for is not known: write `lookahead<T>()`",
            );
            return Elab::poison();
        };
        if matches!(ty, Ty::Param(..) | Ty::Poison) {
            return Elab::new(ty, Val::Poison);
        }
        if ty.size_bits(false).is_none() || ty.has_varbit() || ty.is_union() {
            self.error(
                "type",
                span,
                format!("`{ty}` has no fixed size to look ahead"),
            );
            return Elab::new(ty, Val::Poison);
        }
        let dst = self.temp(&ty, span);
        if has_stack(&ty) {
            // In one piece, then taken apart: stacks have no wire form of their own.
            let bits = Ty::bit(ty.size_bits(false).unwrap_or(0).min(u64::from(MAX_BITS)) as u32);
            let raw = self.temp(&bits, span);
            self.emit(StmtKind::Lookahead { dst: raw.clone() }, span);
            let mut left = bits.bits().map_or(0, |(w, _)| w);
            let raw = Elab::place(bits, raw, false);
            self.unpack(&raw, &mut left, &dst, &ty, span);
        } else {
            self.emit(StmtKind::Lookahead { dst: dst.clone() }, span);
        }
        Elab::place(ty, dst, false)
    }

    /// Stores the `left` low bits of `raw`, from the top, into the leaves of `dst`.
    fn unpack(&mut self, raw: &Elab<'a>, left: &mut u32, dst: &Place, ty: &Ty, span: Span) {
        if ty.is_header() {
            self.emit(StmtKind::SetValid(dst.clone()), span);
        }
        if !Self::is_scalar(ty) {
            for (i, part) in ty.components().iter().enumerate() {
                let step = match ty {
                    Ty::Stack(..) => Projection::Index(i as u32),
                    _ => Projection::Field(i as u32),
                };
                self.unpack(raw, left, &dst.project(step), part, span);
            }
            return;
        }
        let width = ty.size_bits(false).unwrap_or(0) as u32;
        if width == 0 || width > *left {
            return;
        }
        let bits = self.slice_value(raw.clone(), *left - 1, *left - width, span);
        *left -= width;
        let value = self.cast(bits, ty, span);
        self.store(dst, ty, value, span);
    }

    /// The method of an extern type that a call means.
    fn method(
        &mut self,
        id: NodeId,
        member: &'a ast::Ident,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<&'a ast::Prototype> {
        let DeclKind::ExternObject(object) = &self.checker.decls.get(&id)?.kind else {
            return None;
        };
        let named: Vec<_> = object
            .methods
            .iter()
            .filter(|m| m.kind != MethodKind::Constructor && m.prototype.name == *member)
            .map(|m| (&m.prototype, m.prototype.params.as_slice()))
            .collect();
        if named.is_empty() {
            let methods = object.methods.iter();
            let named = methods.filter(|m| m.kind != MethodKind::Constructor);
            let mut known: Vec<&str> = named.map(|m| &*m.prototype.name.name).collect();
            known.dedup();
            let text = format!("`{}` has no method `{member}`", object.name);
            self.report(Diagnostic::error("name", member.span, text).with_known(
                "methods",
                &member.name,
                known,
            ));
            return None;
        }
        let what = format!("`{}.{member}`", object.name);
        let chosen = self.overload(&what, &named, args, span);
        let meant = chosen.or_else(|| named.first().map(|(proto, _)| *proto));
        if let Some(proto) = meant {
            self.checker.used(member.span, proto.name.span);
        }
        chosen
    }

    /// Notes what a method that the language defines is.
    pub(super) fn note_method(&mut self, ty: &Ty, member: &ast::Ident) {
        if !self.checker.notes.are_taken() {
            return;
        }
        let known = members_of(ty, true).into_iter();
        let meant = known.map(|m| m.name).find(|name| *name == &*member.name);
        if let Some(name) = meant {
            self.checker.used_built_in(member.span, name);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn extern_method(
        &mut self,
        instance: Option<ExternId>,
        id: NodeId,
        outer_args: &[Ty],
        member: &'a ast::Ident,
        type_args: &'a [ast::Type],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        let Some(proto) = self.method(id, member, args, span) else {
            self.look_at(args);
            return Elab::poison();
        };
        let outer = self
            .checker
            .decls
            .get(&id)
            .map_or(&[][..], |d| Self::type_params(d));
        let outer_args = self.checker.infer.reopen(outer_args);
        let Some((targs, mut tys, result)) =
            self.signature(proto, type_args, outer, &outer_args, span)
        else {
            return Elab::poison();
        };
        let ints = self.open_ints(&mut tys);
        let what = format!("`{member}`");
        let Some(bound) = self.bind(&what, &proto.params, args, span) else {
            return Elab::poison();
        };
        let Some(values) = self.arguments(&proto.params, &tys, &bound, span) else {
            return Elab::poison();
        };
        let Some(targs) = self.settle(&targs, proto, &bound.slots, span) else {
            return Elab::poison();
        };
        self.checker.infer.give_widths(&outer_args);
        self.check_settled(&proto.params, &tys, span);
        self.check_ints(&ints, &tys, &bound.slots, span);
        // A result that nothing gives a type is none.
        let result = match self.checker.infer.is_dont_care(&result) {
            true => Ty::Void,
            false => self.checker.infer.resolve(&result),
        };
        match instance {
            Some(instance) => {
                self.call_extern(Some(instance), proto, &targs, values, &tys, result, span)
            }
            // Only while a declaration is checked without its instance.
            None => Elab::new(result, Val::Poison),
        }
    }

    /// Emits a call to an extern function or method.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn call_extern(
        &mut self,
        object: Option<ExternId>,
        proto: &'a ast::Prototype,
        targs: &[Ty],
        values: Args<'a>,
        tys: &[Ty],
        result: Ty,
        span: Span,
    ) -> Elab<'a> {
        if object.is_none() {
            match &*proto.name.name {
                "static_assert" => return self.static_assert(&values.values, span),
                "verify" => return self.verify(&values.values, span),
                _ => {}
            }
        }
        let mut args = Vec::new();
        let mut after = Vec::new();
        for (slot, (value, ty)) in values.values.into_iter().zip(tys).enumerate() {
            let ty = self.checker.infer.resolve(ty);
            args.push(match value {
                ArgVal::Omitted => ExternArg::Omitted,
                ArgVal::Ignored => ExternArg::Out(self.temp(&ty, span)),
                ArgVal::Value(v) => self.extern_in(v, span),
                ArgVal::Ref(l, now) => {
                    let place = match (&l.part, &now) {
                        (Selection::All, None) => l.place.clone(),
                        _ => {
                            let temp = self.temp(&ty, span);
                            let old = now.unwrap_or_else(|| self.load(&l, span));
                            self.store(&temp, &ty, old, span);
                            after.push((slot, l.clone(), temp.clone()));
                            temp
                        }
                    };
                    ExternArg::InOut(place)
                }
            });
        }
        if let Some(id) = object
            && &*proto.name.name == "read"
            && self.emitter.ir.externs[id].ty == ExternType::Register
            && let Some(cell) = tys.first().map(|t| self.checker.infer.resolve(t))
            && !Self::is_scalar(&cell)
            && self.v1model()
        {
            let text = format!("a register that holds `{cell}` cannot be read");
            self.report(
                Diagnostic::error("unsupported", span, text)
                    .with_help("use a register for each field"),
            );
        }
        for (arg, param) in args.iter_mut().zip(&proto.params) {
            if param.direction == ast::Direction::Out
                && let ExternArg::InOut(place) = arg
            {
                *arg = ExternArg::Out(place.clone());
            }
        }
        let type_args = targs.iter().map(|t| self.ir_ty(t)).collect();
        let place = (result != Ty::Void).then(|| self.temp(&result, span));
        self.facts.extern_call(proto, targs, &args);
        let to = (place.as_ref(), &result);
        let meant = self.tna() && self.tna_call(object, &proto.name.name, &args, to, tys, span);
        if !meant {
            let name = &proto.name.name;
            let callee = match object {
                Some(id) => {
                    let method = ExternMethod::of(&self.emitter.ir.externs[id].ty, name);
                    ExternCallee::Method(id, method)
                }
                None => ExternCallee::Function(ExternFunction::from_name(name)),
            };
            let call = ExternCall {
                callee,
                type_args,
                args,
                result: place.clone(),
            };
            self.emit_extern(call, span);
        }
        // Results are copied out as the arguments are written.
        after.sort_by_key(|(slot, ..)| values.order.iter().position(|at| at == slot));
        for (_, l, temp) in after {
            let new = Elab::place(l.ty(), temp, false);
            self.store_lvalue(l, new, span);
        }
        match place {
            Some(place) => Elab::place(result, place, false),
            None => Elab::new(Ty::Void, Val::Void),
        }
    }

    pub(super) fn extern_in(&mut self, value: Elab<'a>, span: Span) -> ExternArg {
        if matches!(value.val, Val::Object(Object::Packet)) {
            return ExternArg::Omitted;
        }
        if let Val::Object(Object::Extern(id)) = value.val {
            return ExternArg::Object(id);
        }
        if !Self::is_scalar(&value.ty) {
            let mut values = Vec::new();
            let value = self.with_widths(value, span);
            self.leaves(&value, span, &mut values);
            return ExternArg::Fields {
                ty: self.ir_ty(&value.ty),
                values,
            };
        }
        let value = self.with_widths(value, span);
        ExternArg::In(self.scalar(&value, span))
    }

    /// Numbers without width get 32 bits, or as many as they need.
    pub(super) fn with_widths(&mut self, value: Elab<'a>, span: Span) -> Elab<'a> {
        match (value.ty, value.val) {
            (Ty::Int, Val::Int(v)) => {
                let width = (v.bits() as u32 + 1).max(32);
                self.sized(&v, &Ty::bit(width), span)
            }
            (ty, Val::Agg(all)) => {
                let all: Vec<_> = all.into_iter().map(|v| self.with_widths(v, span)).collect();
                let tys: Vec<_> = all.iter().map(|v| v.ty.clone()).collect();
                let ty = match ty {
                    Ty::ListExpr(_) | Ty::Tuple(_) | Ty::StructExpr(_) => Ty::tuple(tys),
                    other => other,
                };
                Elab::new(ty, Val::Agg(all))
            }
            (ty, val) => Elab::new(ty, val),
        }
    }

    fn verify(&mut self, values: &[ArgVal<'a>], span: Span) -> Elab<'a> {
        let void = Elab::new(Ty::Void, Val::Void);
        if self.body.kind != BodyKind::Parser {
            self.error("call", span, "`verify` can only be called in parsers");
            return void;
        }
        if let [ArgVal::Value(cond), ArgVal::Value(error)] = values {
            let (cond, error) = (self.scalar(cond, span), self.scalar(error, span));
            self.emit(StmtKind::Verify { cond, error }, span);
        }
        void
    }

    fn static_assert(&mut self, values: &[ArgVal<'a>], span: Span) -> Elab<'a> {
        let Some(ArgVal::Value(cond)) = values.first() else {
            return Elab::boolean(true);
        };
        match &cond.val {
            Val::Bool(true) | Val::Poison => {}
            Val::Bool(false) => {
                let text = match values.get(1) {
                    Some(ArgVal::Value(Elab {
                        val: Val::Str(s), ..
                    })) => format!("static_assert failed: {s}"),
                    _ => "static_assert failed".into(),
                };
                self.error("assert", span, text);
            }
            _ => self.error(
                "const",
                span,
                "the condition of static_assert must be known at compile time",
            ),
        }
        Elab::boolean(true)
    }
}

/// The size of a header with a varbit field that is extracted.
#[derive(Clone, Copy)]
struct Size<'a> {
    expr: &'a ast::Expr,
    /// The call writes it in front of the header.
    first: bool,
}

/// Whether a stack is inside a type.
fn has_stack(ty: &Ty) -> bool {
    match ty {
        Ty::Stack(..) => true,
        Ty::Record(r) => r.fields.iter().any(|f| has_stack(&f.ty)),
        Ty::Tuple(all) => all.iter().any(has_stack),
        _ => false,
    }
}

/// Methods that a type has without a declaration.
pub(super) fn methods_of(ty: &Ty) -> &'static [&'static str] {
    match ty {
        Ty::Record(r) if r.kind == RecordKind::Header => &[
            "isValid",
            "setValid",
            "setInvalid",
            "minSizeInBits",
            "minSizeInBytes",
        ],
        Ty::Record(r) if r.kind == RecordKind::Union => {
            &["isValid", "minSizeInBits", "minSizeInBytes"]
        }
        Ty::Record(_) => &["minSizeInBits", "minSizeInBytes"],
        Ty::Stack(..) => &["push_front", "pop_front"],
        _ => &["apply"],
    }
}

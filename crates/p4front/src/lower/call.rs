//! Calls: finding the callee, binding arguments to parameters, copying in and out.

use std::rc::Rc;

use p4ir::{Assign, Block, Callee, Place, StmtKind, VarKind};

use super::args::{ArgVal, Args, Matched, Passing, objects_apart};
use super::builtin::SIZE_METHODS;
use super::value::{Elab, Object, Val};
use super::{ActionInfo, Body, BodyKind, Entity, FunctionInstance, Lowerer, Role};
use crate::ast::{self, DeclKind, Direction, ExprKind};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    pub(super) fn call(
        &mut self,
        callee: &'a ast::Expr,
        type_args: &'a [ast::Type],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        match &callee.kind {
            ExprKind::Path(path) => match self.lookup(path) {
                Entity::Functions(all) => {
                    self.call_named(&all, path.name.span, type_args, args, span)
                }
                Entity::Value(Elab {
                    val: Val::Action(info),
                    ..
                }) => {
                    if let Some(first) = type_args.first() {
                        let text = format!("action `{}` takes no type arguments", info.decl.name);
                        self.error("type", first.at.span, text);
                    }
                    self.call_action(&info, args, span);
                    Elab::new(Ty::Void, Val::Void)
                }
                Entity::Poison => {
                    self.look_at(args);
                    Elab::poison()
                }
                _ => self.not_callable(&path.name.name, span),
            },
            ExprKind::Member { base, member } => {
                if let ExprKind::TypeName(ty) = &base.kind {
                    return self.call_on_type(ty, member, args, span);
                }
                if &*member.name == "apply"
                    && let Some(table) = self.table_named(base)
                {
                    self.checker.used_built_in(member.span, "apply");
                    return self.apply_bare(table, args, span);
                }
                let object = match SIZE_METHODS.contains(&&*member.name) {
                    true => self.measured(base),
                    false => self.expr(base, None),
                };
                self.call_method(object, member, type_args, args, span)
            }
            _ => self.not_callable("this expression", span),
        }
    }

    fn not_callable(&mut self, what: &str, span: Span) -> Elab<'a> {
        self.error("type", span, format!("`{what}` cannot be called"));
        Elab::poison()
    }

    /// Elaborates arguments only to find errors in them.
    pub(super) fn look_at(&mut self, args: &'a [ast::Arg]) {
        for arg in args {
            if !matches!(arg.value.kind, ExprKind::DontCare) {
                self.expr(&arg.value, None);
            }
        }
    }

    /// Which argument goes to which parameter; `None` (reported) if they do not fit.
    pub(super) fn bind(
        &mut self,
        what: &str,
        params: &'a [ast::Param],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Matched<'a>> {
        match self.match_args(params, args) {
            Ok(bound) => {
                for arg in args {
                    let name = arg.name.as_ref();
                    let meant = name.and_then(|n| params.iter().find(|p| p.name == *n));
                    if let (Some(name), Some(param)) = (name, meant) {
                        self.checker.used(name.span, param.name.span);
                    }
                }
                Some(bound)
            }
            Err(wrong) => {
                self.report(Diagnostic {
                    span: wrong.span.or(Some(span)),
                    message: format!("{what}: {}", wrong.message),
                    ..*wrong
                });
                None
            }
        }
    }

    /// The pure part of [`Self::bind`], also used to choose among overloads.
    pub(super) fn match_args(
        &self,
        params: &'a [ast::Param],
        args: &'a [ast::Arg],
    ) -> Result<Matched<'a>, Box<Diagnostic>> {
        let wrong = |span, text: String| Box::new(Diagnostic::error("call", span, text));
        if let Some(odd) = args
            .iter()
            .find(|a| a.name.is_some() != args[0].name.is_some())
        {
            let text = "either all arguments are named or none".into();
            return Err(wrong(Some(odd.at.span), text));
        }
        let mut slots: Vec<Option<&'a ast::Arg>> = vec![None; params.len()];
        let mut order = Vec::with_capacity(params.len());
        for (i, arg) in args.iter().enumerate() {
            let slot = match &arg.name {
                None => i,
                Some(name) => match params.iter().position(|p| p.name == *name) {
                    Some(slot) => slot,
                    None => {
                        let known = params.iter().map(|p| &*p.name.name);
                        let d = wrong(Some(name.span), format!("there is no parameter `{name}`"));
                        return Err(Box::new(d.with_known("parameters", &name.name, known)));
                    }
                },
            };
            order.push(slot);
            match slots.get_mut(slot) {
                None => {
                    let text = format!("{} arguments given, {} expected", args.len(), params.len());
                    return Err(wrong(Some(arg.at.span), text));
                }
                Some(Some(_)) => {
                    let text = "this parameter has an argument already".into();
                    return Err(wrong(Some(arg.at.span), text));
                }
                Some(empty) => *empty = Some(arg),
            }
        }
        order.extend((0..params.len()).filter(|slot| slots[*slot].is_none()));
        for (param, arg) in params.iter().zip(&slots) {
            if arg.is_none() && param.default.is_none() && !is_optional(param) {
                let text = format!("the argument for `{}` is missing", param.name);
                return Err(wrong(None, text));
            }
        }
        Ok(Matched { slots, order })
    }

    /// Elaborates arguments as they are written, from left to right, against parameter types that
    /// may contain inference variables; those are bound on the way, and all values converted at the
    /// end (P4_16, section 6.8). Where an `out` or `inout` argument is, is saved at once: neither a
    /// later argument nor the callee can move it.
    pub(super) fn arguments(
        &mut self,
        params: &'a [ast::Param],
        tys: &[Ty],
        bound: &Matched<'a>,
        span: Span,
    ) -> Option<Args<'a>> {
        let mut values: Vec<Option<ArgVal<'a>>> = params.iter().map(|_| None).collect();
        let mut ok = true;
        for &slot in &bound.order {
            let (param, ty, arg) = (&params[slot], &tys[slot], bound.slots[slot]);
            let mark = self.emitter.out.len();
            let mut value = match arg {
                Some(arg) => self.argument(param, ty, &arg.value),
                None => {
                    let value = self.default_argument(param, ty);
                    if let (Ty::Block(..), ArgVal::Value(v)) = (ty, &value) {
                        let ty = self.checker.infer.resolve(ty);
                        ok &= self.block_fits(&ty, &v.ty.clone(), span);
                    }
                    Some(value)
                }
            };
            if self.emitter.out.len() > mark {
                self.spill_arguments(params, &mut values, mark, span);
            }
            if let Some(ArgVal::Ref(l, _)) = &mut value {
                let mark = self.emitter.out.len();
                self.fix(l, mark, span);
            }
            ok &= value.is_some();
            values[slot] = Some(value.unwrap_or(ArgVal::Omitted));
        }
        let mut values: Vec<ArgVal<'a>> = values.into_iter().flatten().collect();
        if !ok {
            return None;
        }
        for ((value, ty), arg) in values.iter_mut().zip(tys).zip(&bound.slots) {
            let at = arg.map_or(span, |a| a.value.at.span);
            if let ArgVal::Value(v) = value {
                if matches!(ty, Ty::Block(..)) {
                    continue;
                }
                let taken = std::mem::replace(v, Elab::poison());
                if taken.ty.is_data() || !ty.is_data() {
                    *v = self.coerce(taken, ty, at);
                } else {
                    self.error("type", at, format!("`{}` cannot be passed", taken.ty));
                }
                ok &= !v.ty.is_poison();
            }
        }
        let order = bound.order.clone();
        ok.then_some(Args { values, order })
    }

    /// Saves the values of the arguments so far, in front of statement `mark`.
    fn spill_arguments(
        &mut self,
        params: &'a [ast::Param],
        values: &mut [Option<ArgVal<'a>>],
        mark: usize,
        span: Span,
    ) {
        let known = params.iter().zip(values);
        for (param, value) in known.filter_map(|(p, v)| Some((p, v.as_mut()?))) {
            match value {
                ArgVal::Value(v) => self.spill(v, mark, span),
                ArgVal::Ref(l, now @ None) if param.direction == Direction::InOut => {
                    let mut value = self.load(l, span);
                    self.spill(&mut value, mark, span);
                    *now = Some(value);
                }
                _ => {}
            }
        }
    }

    fn argument(&mut self, param: &'a ast::Param, ty: &Ty, e: &'a ast::Expr) -> Option<ArgVal<'a>> {
        let resolved = self.checker.infer.resolve(ty);
        if matches!(param.direction, Direction::Out | Direction::InOut) && resolved.is_data() {
            if matches!(e.kind, ExprKind::DontCare) {
                if param.direction == Direction::Out {
                    return Some(ArgVal::Ignored);
                }
                self.error(
                    "call",
                    e.at.span,
                    "`_` is only possible for `out` parameters",
                );
                return None;
            }
            let l = self.lvalue(e)?;
            let given = l.ty();
            if !self.checker.infer.unify(ty, &given) || !self.same_type(ty, &given) {
                let text = format!(
                    "`{}` parameter `{}` is `{resolved}`; the argument is `{given}`",
                    dir(param.direction),
                    param.name
                );
                self.error("type", e.at.span, text);
                return None;
            }
            return Some(ArgVal::Ref(l, None));
        }
        if matches!(e.kind, ExprKind::DontCare) {
            self.error(
                "call",
                e.at.span,
                "`_` is only possible for `out` parameters",
            );
            return None;
        }
        let value = self.expr(e, Some(&resolved));
        if value.ty.is_poison() {
            return None;
        }
        if matches!((&resolved, &value.ty), (Ty::Var(_), Ty::StructExpr(_))) {
            self.error(
                "type",
                e.at.span,
                "the type of this initialiser is not known: write it in front, `(T) { ... }`",
            );
            return None;
        }
        if matches!(resolved, Ty::Block(..)) {
            return self
                .block_fits(&resolved, &value.ty, e.at.span)
                .then_some(ArgVal::Value(value));
        }
        if !self.checker.infer.unify(ty, &value.ty) {
            // Let the conversion explain, unless the parameter's type itself is open.
            if !self.checker.infer.known(&resolved) {
                let text = format!(
                    "the argument for `{}` has type `{}`, which does not fit `{resolved}`",
                    param.name, value.ty
                );
                self.error("type", e.at.span, text);
                return None;
            }
        }
        Some(ArgVal::Value(value))
    }

    fn same_type(&self, a: &Ty, b: &Ty) -> bool {
        let (a, b) = (self.checker.infer.resolve(a), self.checker.infer.resolve(b));
        a == b || a.is_poison() || b.is_poison() || !self.checker.infer.known(&a)
    }

    fn default_argument(&mut self, param: &'a ast::Param, ty: &Ty) -> ArgVal<'a> {
        let Some(default) = &param.default else {
            return ArgVal::Omitted;
        };
        if let Some(known) = self.defaults.get(&param.at.id) {
            return ArgVal::Value(known.clone());
        }
        let body = Body::constant();
        let ty = self.checker.infer.resolve(ty);
        let scope = self.checker.default_scope.take();
        let value = self.detached(body, |s| {
            if let Some((params, args)) = &scope {
                s.bind_type_params(params, args);
            }
            s.const_expr(default, Some(&ty))
        });
        self.checker.default_scope = scope;
        ArgVal::Value(value)
    }

    /// Parameters with a direction hold data, also once the type parameters are known.
    pub(super) fn check_settled(&mut self, params: &'a [ast::Param], tys: &[Ty], span: Span) {
        for (param, ty) in params.iter().zip(tys) {
            let ty = self.checker.infer.resolve(ty);
            if param.direction != Direction::None && !ty.can_be_directed() {
                let text = format!(
                    "parameter `{}` has a direction and cannot be `{ty}`",
                    param.name
                );
                self.report(
                    Diagnostic::error("type", span, text)
                        .with_related(param.at.span, "the parameter is declared here"),
                );
            }
        }
    }

    /// `out` and `inout` parameters have no default value.
    pub(super) fn check_default(&mut self, param: &'a ast::Param) {
        if param.default.is_some() && matches!(param.direction, Direction::Out | Direction::InOut) {
            self.error(
                "type",
                param.at.span,
                "`out` and `inout` parameters have no default values",
            );
        }
    }

    /// Picks the function whose parameters fit the arguments.
    pub(super) fn overload<T: Copy>(
        &mut self,
        what: &str,
        candidates: &[(T, &'a [ast::Param])],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<T> {
        let fitting: Vec<_> = candidates
            .iter()
            .filter(|(_, p)| self.match_args(p, args).is_ok())
            .collect();
        match (fitting.as_slice(), candidates) {
            ([only], _) => Some(only.0),
            ([], [only]) => {
                self.bind(what, only.1, args, span);
                None
            }
            ([], _) => {
                self.error(
                    "call",
                    span,
                    format!("no version of {what} takes these {} arguments", args.len()),
                );
                None
            }
            // Several may differ by default values: the one with the fewest parameters is meant.
            (several, _) => {
                let least = several.iter().map(|(_, p)| p.len()).min().unwrap_or(0);
                let best: Vec<_> = several.iter().filter(|(_, p)| p.len() == least).collect();
                if let [only] = best.as_slice() {
                    return Some(only.0);
                }
                let mut d = Diagnostic::error(
                    "call",
                    span,
                    format!("it is not clear which version of {what} is meant"),
                )
                .with_help("name the arguments: `parameter = value`");
                for param in best.iter().filter_map(|(_, p)| p.first()) {
                    d = d.with_related(param.at.span, "a candidate takes this");
                }
                self.report(d);
                None
            }
        }
    }

    fn call_named(
        &mut self,
        all: &[&'a ast::Decl],
        at: Span,
        type_args: &'a [ast::Type],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        // A function is not visible inside itself if another one is meant.
        let open = |d: &&&ast::Decl| !self.checker.in_progress.contains(&d.at.id);
        let several = all.iter().filter(open).count() > 0;
        let candidates: Vec<_> = all
            .iter()
            .filter(|d| !several || open(d))
            .filter_map(|d| Some((*d, prototype(d)?.params.as_slice())))
            .collect();
        let name = all
            .first()
            .and_then(|d| d.name())
            .map_or(String::new(), |n| format!("`{n}`"));
        let Some(decl) = self.overload(&name, &candidates, args, span) else {
            self.look_at(args);
            return Elab::poison();
        };
        let Some(proto) = prototype(decl) else {
            return Elab::poison();
        };
        self.checker.used(at, proto.name.span);
        let Some(bound) = self.bind(&name, &proto.params, args, span) else {
            return Elab::poison();
        };
        let Some((targs, mut tys, result)) = self.signature(proto, type_args, &[], &[], span)
        else {
            return Elab::poison();
        };
        let ints = match decl.kind {
            DeclKind::ExternFunction(_) => self.open_ints(&mut tys),
            _ => Vec::new(),
        };
        let Some(values) = self.arguments(&proto.params, &tys, &bound, span) else {
            return Elab::poison();
        };
        let Some(targs) = self.settle(&targs, proto, &bound.slots, span) else {
            return Elab::poison();
        };
        self.check_settled(&proto.params, &tys, span);
        self.check_ints(&ints, &tys, &bound.slots, span);
        let result = self.checker.infer.resolve(&result);
        match &decl.kind {
            DeclKind::Function(f) => {
                let (objects, values) = objects_apart(values);
                match self.function(decl, f, &targs, objects, span) {
                    Some(instance) => self.call_function(&instance, values, span),
                    None => Elab::new(result, Val::Poison),
                }
            }
            _ => self.call_extern(None, proto, &targs, values, &tys, result, span),
        }
    }

    /// A function with its type arguments and the extern objects it is given; elaborated on first
    /// use.
    pub(super) fn function(
        &mut self,
        decl: &'a ast::Decl,
        f: &'a ast::Function,
        targs: &[Ty],
        objects: Vec<Elab<'a>>,
        span: Span,
    ) -> Option<FunctionInstance> {
        let ids = objects.iter().map(|object| match object.val {
            Val::Object(Object::Extern(id)) => Some(id),
            _ => None,
        });
        let key = (decl.at.id, targs.to_vec(), ids.collect());
        if let Some(known) = self.functions.get(&key) {
            return Some(known.clone());
        }
        if !self.one_more_instance(span) || !self.all_fit(targs, span) {
            return None;
        }
        if !self.checker.in_progress.insert(decl.at.id) {
            self.error(
                "call",
                span,
                format!(
                    "function `{}` calls itself; P4 has no recursion",
                    f.prototype.name
                ),
            );
            return None;
        }
        let made = self.deeper(span, |s| s.new_function(f, targs, objects));
        self.checker.in_progress.remove(&decl.at.id);
        let made = made?;
        self.functions.insert(key, made.clone());
        Some(made)
    }

    fn new_function(
        &mut self,
        f: &'a ast::Function,
        targs: &[Ty],
        objects: Vec<Elab<'a>>,
    ) -> FunctionInstance {
        let proto = &f.prototype;
        let body = Body {
            kind: BodyKind::Function,
            result: None,
            loops: 0,
        };
        self.detached(body, |s| {
            s.bind_type_params(&proto.type_params, targs);
            let result_ty = s.ty(&proto.result);
            let result = (result_ty != Ty::Void).then(|| {
                (
                    s.new_var("result", &result_ty, VarKind::Result, proto.name.span),
                    result_ty,
                )
            });
            s.body.result = result.clone();
            let (params, ir_params) = s.value_params(&proto.params, Some(objects));
            s.scoped(|s| s.block(&f.body));
            if result.is_some() && !returns(&f.body) {
                s.report(
                    Diagnostic::error(
                        "type",
                        proto.name.span,
                        format!("function `{}` can end without a value", proto.name),
                    )
                    .with_help("every path must end with `return`"),
                );
            }
            let span = s.span(proto.name.span);
            let body = std::mem::take(&mut s.emitter.out);
            let id = s.emitter.ir.functions.push(p4ir::Function {
                name: proto.name.to_string(),
                params: ir_params,
                result: result.as_ref().map(|(v, _)| *v),
                body,
                span,
            });
            FunctionInstance { id, params, result }
        })
    }

    /// Declares parameters of functions and actions as variables of their own. Parameters that are
    /// extern objects stand for `objects`, in order; they are possible where there are any, in
    /// functions, and take no storage.
    #[allow(clippy::type_complexity)]
    pub(super) fn value_params(
        &mut self,
        params: &'a [ast::Param],
        objects: Option<Vec<Elab<'a>>>,
    ) -> (Vec<(p4ir::VarId, Ty, Direction)>, Vec<p4ir::Param>) {
        let takes_objects = objects.is_some();
        let mut objects = objects.into_iter().flatten();
        let mut passed = Vec::new();
        let mut listed = Vec::new();
        for param in params {
            self.annotation_values(&param.annotations);
            let ty = self.ty(&param.ty);
            if takes_objects && matches!(ty, Ty::Extern(..)) && !ty.is_packet() {
                // Without a call, only the type is known.
                let unknown = || Elab::new(ty.clone(), Val::Poison);
                let object = objects.next().unwrap_or_else(unknown);
                self.declare_as(Role::Param, &param.name, Entity::Value(object));
                continue;
            }
            if !ty.is_data() {
                self.error(
                    "type",
                    param.ty.at.span,
                    format!("`{ty}` cannot be a parameter here"),
                );
            }
            if is_optional(param) {
                self.error(
                    "type",
                    param.at.span,
                    "`@optional` is only possible for externs, packages and their types",
                );
            }
            let var = self.new_var(&param.name.name, &ty, VarKind::Param, param.name.span);
            if param.direction == Direction::Out {
                self.reset(Place::var(var), &ty, param.at.span);
            }
            let writable = matches!(param.direction, Direction::Out | Direction::InOut);
            self.declare_as(
                Role::Param,
                &param.name,
                Entity::Value(Elab::place(ty.clone(), Place::var(var), writable)),
            );
            self.check_default(param);
            passed.push((var, ty, param.direction));
            listed.push(p4ir::Param {
                name: param.name.to_string(),
                direction: ir_direction(param.direction),
                var,
            });
        }
        (passed, listed)
    }

    fn call_function(&mut self, f: &FunctionInstance, args: Args<'a>, span: Span) -> Elab<'a> {
        let passing: Vec<_> = f
            .params
            .iter()
            .map(|(v, t, d)| Passing {
                place: Place::var(*v),
                ty: t.clone(),
                direction: *d,
            })
            .collect();
        let result = f.result.as_ref().map(|(var, ty)| {
            let temp = self.temp(ty, span);
            (temp, Place::var(*var), ty.clone())
        });
        let given = args.into_written(passing);
        self.emit_call(Callee::Function(f.id), given, result.as_ref(), span);
        match result {
            Some((temp, _, ty)) => Elab::place(ty, temp, false),
            None => Elab::new(Ty::Void, Val::Void),
        }
    }

    pub(super) fn call_action(
        &mut self,
        info: &Rc<ActionInfo<'a>>,
        args: &'a [ast::Arg],
        span: Span,
    ) {
        if self.body.kind == BodyKind::Parser || self.body.kind == BodyKind::Function {
            self.error(
                "call",
                span,
                "actions can only be called from actions and controls",
            );
            return;
        }
        let what = format!("action `{}`", info.decl.name);
        let Some(bound) = self.bind(&what, &info.decl.params, args, span) else {
            self.look_at(args);
            return;
        };
        let tys: Vec<_> = info.params.iter().map(|p| p.ty.clone()).collect();
        let Some(values) = self.arguments(&info.decl.params, &tys, &bound, span) else {
            return;
        };
        let passing: Vec<_> = info
            .params
            .iter()
            .map(|p| Passing {
                place: Place::var(p.var),
                ty: p.ty.clone(),
                direction: p.decl.direction,
            })
            .collect();
        let given = values.into_written(passing);
        self.emit_call(Callee::Action(info.id), given, None, span);
    }

    /// Emits a call with its copies. `given` are the arguments as they are written. `result` is
    /// where to, where from, and the type.
    pub(super) fn emit_call(
        &mut self,
        callee: Callee,
        given: Vec<(Passing, ArgVal<'a>)>,
        result: Option<&(Place, Place, Ty)>,
        span: Span,
    ) {
        let (copy_in, mut copy_out) = self.copies(given, span);
        if let Some((to, from, ty)) = result {
            let value = Elab::place(ty.clone(), from.clone(), false);
            let (copy, ()) = self.nested(|s| s.store(to, ty, value, span));
            copy_out.extend(copy);
        }
        self.emit(
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            },
            span,
        );
    }

    /// The copies of a call, in the order of the arguments as they are written.
    pub(super) fn copies(
        &mut self,
        given: Vec<(Passing, ArgVal<'a>)>,
        span: Span,
    ) -> (Vec<Assign>, Block) {
        let mut copy_in = Vec::new();
        let mut copy_out = Block::new();
        for (param, value) in given {
            let given = match value {
                ArgVal::Value(v) => Some(v),
                ArgVal::Ref(l, now) => {
                    let old = (param.direction == Direction::InOut)
                        .then(|| now.unwrap_or_else(|| self.load(&l, span)));
                    let new = Elab::place(param.ty.clone(), param.place.clone(), false);
                    let (copy, ()) = self.nested(|s| s.store_lvalue(l, new, span));
                    copy_out.extend(copy);
                    old
                }
                ArgVal::Ignored | ArgVal::Omitted => None,
            };
            match given {
                None => {}
                Some(v) => match &v.val {
                    // In parts, into storage that nobody else reads.
                    Val::Agg(_) | Val::Invalid => self.store(&param.place, &param.ty, v, span),
                    Val::Object(_) => {}
                    _ => {
                        let value = self.scalar_or_copy(&v, span);
                        let dst = param.place.clone();
                        copy_in.push(Assign { dst, value });
                    }
                },
            }
        }
        (copy_in, copy_out)
    }

    /// A scalar expression, or the read of an aggregate's place.
    pub(super) fn scalar_or_copy(&mut self, e: &Elab<'a>, span: Span) -> p4ir::ExprId {
        match &e.val {
            Val::Place { place, .. } => self.read(place.clone(), &e.ty.clone()),
            _ => self.scalar(e, span),
        }
    }

    /// What a size method is called on. Of an element of a stack only the type counts: there need
    /// be no such element.
    fn measured(&mut self, e: &'a ast::Expr) -> Elab<'a> {
        if let ExprKind::Index { base, index } = &e.kind
            && matches!(
                (&base.kind, &index.kind),
                (ExprKind::Path(_), ExprKind::Int(_))
            )
        {
            let whole = self.expr(base, None);
            match &whole.ty {
                Ty::Stack(element, _) => return Elab::new((**element).clone(), Val::Poison),
                ty if ty.is_poison() => return Elab::poison(),
                _ => {}
            }
        }
        self.expr(e, None)
    }

    /// `T.apply(...)` and the size methods of types.
    fn call_on_type(
        &mut self,
        ty: &'a ast::Type,
        member: &'a ast::Ident,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        let resolved = self.ty(ty);
        self.note_method(&resolved, member);
        match &resolved {
            Ty::Poison => Elab::poison(),
            Ty::Block(..) if &*member.name == "apply" => {
                let value = self.direct_instance(&resolved, span);
                self.apply_block(&value, args, span)
            }
            _ if resolved.is_data() => match self.size_method(&resolved, &member.name, args) {
                Some(size) => size,
                None => self.not_callable(&member.name, span),
            },
            _ => self.not_callable(&member.name, span),
        }
    }

    fn call_method(
        &mut self,
        object: Elab<'a>,
        member: &'a ast::Ident,
        type_args: &'a [ast::Type],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        let ty = self.checker.infer.resolve(&object.ty);
        self.note_method(&ty, member);
        match &ty {
            Ty::Poison => {
                self.look_at(args);
                Elab::poison()
            }
            Ty::Extern(id, _, targs) => match &object.val {
                Val::Object(Object::Packet) => {
                    self.packet_method(&ty, member, type_args, args, span)
                }
                val => {
                    let id = *id;
                    let instance = match val {
                        Val::Object(Object::Extern(instance)) => Some(*instance),
                        _ => None,
                    };
                    self.extern_method(instance, id, targs, member, type_args, args, span)
                }
            },
            Ty::Block(..) if &*member.name == "apply" => self.apply_block(&object, args, span),
            _ => self.builtin(object, &ty, member, args, span),
        }
    }
}

/// Whether every path through a block ends in `return` or `exit`.
fn returns(block: &ast::Block) -> bool {
    block.stmts.iter().any(stmt_returns)
}

fn stmt_returns(stmt: &ast::Stmt) -> bool {
    match &stmt.kind {
        ast::StmtKind::Return(_) | ast::StmtKind::Exit => true,
        ast::StmtKind::Block(b) => returns(b),
        ast::StmtKind::If {
            then,
            otherwise: Some(other),
            ..
        } => stmt_returns(then) && stmt_returns(other),
        ast::StmtKind::Switch { cases, .. } => {
            cases.iter().any(|c| c.label.is_none())
                && cases.iter().all(|c| c.body.as_ref().is_none_or(returns))
                && cases.last().is_some_and(|c| c.body.is_some())
        }
        _ => false,
    }
}

pub(super) fn prototype(decl: &ast::Decl) -> Option<&ast::Prototype> {
    match &decl.kind {
        DeclKind::Function(f) => Some(&f.prototype),
        DeclKind::ExternFunction(p) => Some(p),
        _ => None,
    }
}

pub(super) fn ir_direction(d: Direction) -> p4ir::Direction {
    match d {
        Direction::None => p4ir::Direction::None,
        Direction::In => p4ir::Direction::In,
        Direction::Out => p4ir::Direction::Out,
        Direction::InOut => p4ir::Direction::InOut,
    }
}

fn dir(d: Direction) -> &'static str {
    match d {
        Direction::None => "directionless",
        Direction::In => "in",
        Direction::Out => "out",
        Direction::InOut => "inout",
    }
}

pub(super) fn is_optional(param: &ast::Param) -> bool {
    param
        .annotations
        .iter()
        .any(|a| &*a.name.name == "optional")
}

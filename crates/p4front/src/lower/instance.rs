//! Objects that exist when the program starts: externs, parsers, controls; and applying the latter
//! two.

use p4ir::{Assign, Block, Callee, ExternInstance, ExternType, Place, StmtKind, VarKind};

use super::args::{ArgVal, Args, Passing};
use super::assign::Selection;
use super::value::{Elab, Object, Val};
use super::{Body, BodyKind, Entity, Lowerer, Role};
use crate::ast::{self, DeclKind, Direction, MethodKind, NodeId};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::{Ty, Types};
use p4ir::limits::MAX_ELEMENTS;

/// A parser or control that was instantiated. Its body is elaborated where it is first applied.
pub(super) struct BlockInstance<'a> {
    pub(super) decl: &'a ast::Decl,
    pub(super) type_args: Vec<Ty>,
    pub(super) ctor: Vec<Elab<'a>>,
    /// Control-plane name, the prefix of the names inside.
    pub(super) name: String,
    pub(super) applied: Option<(Callee, Vec<Bound<'a>>)>,
}

/// What an apply parameter stands for inside the block.
#[derive(Clone)]
pub(super) enum Bound<'a> {
    /// A packet or another extern object.
    Object(Elab<'a>),
    /// Storage of the block's own, to be copied to and from.
    Own(Passing),
    /// The caller's storage.
    Alias(Passing),
}

impl<'a> Lowerer<'a> {
    /// A declared instance.
    pub(super) fn instance(&mut self, decl: &'a ast::Decl, i: &'a ast::Instance) -> Elab<'a> {
        let ty = self.object_type(&i.ty);
        if &*i.name.name == "main" && !matches!(ty, Ty::Package(..) | Ty::Poison) {
            self.error("arch", i.name.span, "`main` must be a package");
        }
        let name = self.control_plane_name(&i.name.name, &decl.annotations, i.name.span);
        let value = self.make(&ty, &i.args, name, &decl.annotations, i.name.span);
        self.abstract_methods(&value, i);
        self.decided(value)
    }

    /// The type of an object to be made. Each object decides for itself what `_` among its type
    /// arguments is.
    fn object_type(&mut self, ty: &'a ast::Type) -> Ty {
        match self.ty(ty) {
            Ty::Extern(id, name, args) => {
                let args = self.checker.infer.reopen(&args);
                Ty::Extern(id, name, Types::new(args))
            }
            other => other,
        }
    }

    /// The object once constructor and abstract methods have said what its type arguments are; what
    /// they left open stays open, and each call decides.
    fn decided(&mut self, object: Elab<'a>) -> Elab<'a> {
        if let Ty::Extern(_, _, args) = &object.ty {
            self.checker.infer.leave_open(args);
        }
        Elab::new(self.checker.infer.resolve(&object.ty), object.val)
    }

    /// `T(args)` in an expression.
    pub(super) fn construct(
        &mut self,
        ty: &'a ast::Type,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        let resolved = self.object_type(ty);
        let local = match &resolved {
            Ty::Extern(_, name, _) | Ty::Block(_, name, _) | Ty::Package(_, name, _) => {
                name.to_string()
            }
            _ => String::new(),
        };
        let annotations = match &resolved {
            Ty::Block(id, ..) => self
                .checker
                .decls
                .get(id)
                .map_or(&[][..], |d| &d.annotations),
            _ => &[],
        };
        let name = self.control_plane_name(&local, annotations, span);
        let value = self.make(&resolved, args, name, &[], span);
        self.no_abstract_methods(&value, span);
        self.decided(value)
    }

    /// `T.apply(...)`: an instance for this call.
    pub(super) fn direct_instance(&mut self, ty: &Ty, span: Span) -> Elab<'a> {
        let local = match ty {
            Ty::Block(_, name, _) => name.to_string(),
            _ => String::new(),
        };
        let name = self.control_plane_name(&local, &[], span);
        self.make(ty, &[], name, &[], span)
    }

    /// Makes an object of a type.
    pub(super) fn make(
        &mut self,
        ty: &Ty,
        args: &'a [ast::Arg],
        name: String,
        annotations: &'a [ast::Annotation],
        span: Span,
    ) -> Elab<'a> {
        match ty {
            Ty::Extern(id, ..) => self.make_extern(*id, ty, args, name, annotations, span),
            Ty::Block(id, ..) => self.make_block(*id, ty, args, name, span),
            Ty::Package(id, ..) => self.make_package(*id, ty, args, &name, span),
            Ty::Poison => Elab::poison(),
            other => {
                self.error("type", span, format!("`{other}` cannot be instantiated"));
                Elab::poison()
            }
        }
    }

    /// Constructor arguments: compile-time values.
    pub(super) fn constructor_args(
        &mut self,
        what: &str,
        params: &'a [ast::Param],
        tys: &[Ty],
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Vec<Elab<'a>>> {
        let bound = self.bind(what, params, args, span)?;
        let kind = std::mem::replace(&mut self.body.kind, BodyKind::Constant);
        let values = self.arguments(params, tys, &bound, span);
        self.body.kind = kind;
        let mut out = Vec::new();
        for (value, arg) in values?.values.into_iter().zip(bound.slots) {
            match value {
                ArgVal::Value(v) if v.is_const() => out.push(v),
                ArgVal::Value(_) => {
                    let at = arg.map_or(span, |a| a.at.span);
                    self.error(
                        "const",
                        at,
                        "a constructor argument must be known at compile time",
                    );
                    return None;
                }
                _ => out.push(Elab::poison()),
            }
        }
        Some(out)
    }

    fn make_extern(
        &mut self,
        id: NodeId,
        ty: &Ty,
        args: &'a [ast::Arg],
        name: String,
        annotations: &'a [ast::Annotation],
        span: Span,
    ) -> Elab<'a> {
        let Ty::Extern(_, type_name, targs) = ty else {
            return Elab::poison();
        };
        let Some(decl) = self.checker.decls.get(&id).copied() else {
            return Elab::poison();
        };
        let DeclKind::ExternObject(object) = &decl.kind else {
            return Elab::poison();
        };
        let constructors: Vec<_> = object
            .methods
            .iter()
            .filter(|m| m.kind == MethodKind::Constructor)
            .map(|m| (&m.prototype, m.prototype.params.as_slice()))
            .collect();
        if constructors.is_empty() {
            self.error("type", span, format!("`{type_name}` has no constructor"));
            return Elab::poison();
        }
        let what = format!("`{type_name}`");
        let Some(proto) = self.overload(&what, &constructors, args, span) else {
            return Elab::poison();
        };
        let Some((_, tys, _)) = self.signature(proto, &[], &object.type_params, targs, span) else {
            return Elab::poison();
        };
        let Some(values) = self.constructor_args(&what, &proto.params, &tys, args, span) else {
            return Elab::poison();
        };
        let ty = self.checker.infer.resolve(ty);
        self.check_specialized(object, &ty, span);
        self.check_elements(proto, &values, span);
        let Ty::Extern(_, _, targs) = &ty else {
            return Elab::poison();
        };
        if !self.all_inferred(object, proto, targs, span) {
            return Elab::poison();
        }
        let ir_args = proto
            .params
            .iter()
            .zip(&values)
            .filter(|(_, v)| v.ty.is_data() && Self::is_scalar(&v.ty) && !v.is_poison())
            .map(|(p, v)| {
                let v = self.with_widths(v.clone(), span);
                (p.name.to_string(), self.scalar(&v, span))
            })
            .collect();
        let tna = self.tna();
        let mut instance = ExternInstance {
            name,
            ty: if tna {
                ExternType::of_tna(type_name)
            } else {
                ExternType::from_name(type_name)
            },
            type_args: targs.iter().map(|t| self.ir_ty(t)).collect(),
            args: ir_args,
            annotations: self.annotations(annotations),
            span: self.span(span),
        };
        if tna && instance.ty == ExternType::ActionSelector {
            self.tna_selector(&mut instance, &values);
        }
        let id = self.emitter.ir.externs.push(instance);
        self.facts.extern_instance(id, targs, annotations, span);
        if tna {
            self.tna_made(id, targs, &values, span);
        }
        Elab::new(ty.clone(), Val::Object(Object::Extern(id)))
    }

    /// Whether the type arguments of an object are known. A `_` may stay open where only methods
    /// use the parameter; it may not where the constructor does, nor for what a register holds.
    fn all_inferred(
        &mut self,
        object: &'a ast::ExternObject,
        proto: &'a ast::Prototype,
        targs: &[Ty],
        span: Span,
    ) -> bool {
        let cell = self.tna() && &*object.name.name == "Register";
        for (at, (param, arg)) in object.type_params.iter().zip(targs).enumerate() {
            if self.checker.infer.known(arg) && *arg != Ty::Any {
                continue;
            }
            let of_param = |p: &ast::Param| matches!(&p.ty.kind, ast::TypeKind::Name(n) if n.name == param.name);
            let made_of = proto.params.iter().any(of_param);
            if self.checker.infer.is_dont_care(arg) && !made_of && !(cell && at == 0) {
                continue;
            }
            let text = format!("the type arguments of `{}` cannot be inferred", object.name);
            self.report(
                Diagnostic::error("type", span, text)
                    .with_help(format!("write the type that stands for `{}`", param.name)),
            );
            return false;
        }
        true
    }

    /// An array that could never be made is an error here, not when the program is loaded.
    fn check_elements(&mut self, proto: &ast::Prototype, values: &[Elab<'a>], span: Span) {
        let array = matches!(
            &*proto.name.name.to_ascii_lowercase(),
            "counter" | "meter" | "register"
        );
        let size = values.first().and_then(Elab::as_int);
        if array && size.is_some_and(|n| *n > MAX_ELEMENTS.into()) {
            let text = format!("an array may have {MAX_ELEMENTS} elements at most");
            self.error("limit", span, text);
        }
    }

    fn make_block(
        &mut self,
        id: NodeId,
        ty: &Ty,
        args: &'a [ast::Arg],
        name: String,
        span: Span,
    ) -> Elab<'a> {
        let Ty::Block(_, type_name, targs) = ty else {
            return Elab::poison();
        };
        let Some(decl) = self.checker.decls.get(&id).copied() else {
            return Elab::poison();
        };
        let params = match &decl.kind {
            DeclKind::Parser(p) => &p.constructor_params,
            DeclKind::Control(c) => &c.constructor_params,
            _ => {
                let text = format!("`{type_name}` is only a type: it has no body to instantiate");
                self.error("type", span, text);
                return Elab::poison();
            }
        };
        let tys = self.block_types(decl, targs, params);
        let what = format!("`{type_name}`");
        let Some(ctor) = self.constructor_args(&what, params, &tys, args, span) else {
            return Elab::new(ty.clone(), Val::Poison);
        };
        if !self.one_more_instance(span) {
            return Elab::new(ty.clone(), Val::Poison);
        }
        let instance = BlockInstance {
            decl,
            type_args: targs.to_vec(),
            ctor,
            name,
            applied: None,
        };
        self.blocks.push(instance);
        Elab::new(
            ty.clone(),
            Val::Object(Object::Block(self.blocks.len() - 1)),
        )
    }

    /// Parameter types of a generic parser, control or package.
    pub(super) fn block_types(
        &mut self,
        decl: &'a ast::Decl,
        targs: &[Ty],
        params: &'a [ast::Param],
    ) -> Vec<Ty> {
        self.detached(Body::constant(), |s| {
            s.bind_type_params(Self::type_params(decl), targs);
            params.iter().map(|p| s.ty(&p.ty)).collect()
        })
    }

    /// Apply parameters of a parser, control, or type of these.
    pub(super) fn apply_params(decl: &'a ast::Decl) -> &'a [ast::Param] {
        match &decl.kind {
            DeclKind::Parser(p) => &p.signature.params,
            DeclKind::Control(c) => &c.signature.params,
            DeclKind::ParserType(c) | DeclKind::ControlType(c) => &c.params,
            _ => &[],
        }
    }

    /// `block.apply(args)`.
    pub(super) fn apply_block(
        &mut self,
        block: &Elab<'a>,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        let void = Elab::new(Ty::Void, Val::Void);
        let Ty::Block(_, type_name, _) = &block.ty else {
            return Elab::poison();
        };
        let Val::Object(Object::Block(index)) = block.val else {
            self.look_at(args);
            return void;
        };
        let decl = self.blocks[index].decl;
        let is_parser = matches!(decl.kind, DeclKind::Parser(_));
        let wanted = if is_parser {
            BodyKind::Parser
        } else {
            BodyKind::Control
        };
        if self.body.kind != wanted {
            let place = if is_parser {
                "parsers"
            } else {
                "the `apply` of controls"
            };
            self.error(
                "call",
                span,
                format!("`{type_name}` can only be applied in {place}"),
            );
            return void;
        }
        let params = Self::apply_params(decl);
        let targs = self.blocks[index].type_args.clone();
        let tys = self.block_types(decl, &targs, params);
        let Some(bound) = self.bind(&format!("`{type_name}`"), params, args, span) else {
            self.look_at(args);
            return void;
        };
        let Some(args) = self.arguments(params, &tys, &bound, span) else {
            return void;
        };
        let tys: Vec<Ty> = tys.iter().map(|t| self.checker.infer.resolve(t)).collect();
        if self.blocks[index].applied.is_none() {
            let bindings = self.choose_bindings(params, &tys, &args.values);
            self.elaborate_block(index, bindings, span);
        }
        let Some((callee, bindings)) = self.blocks[index].applied.clone() else {
            return void;
        };
        self.emit_block_call(callee, &bindings, args, span);
        void
    }

    /// Which parameters work on the caller's storage: those whose argument shares none of it with
    /// another.
    fn choose_bindings(
        &mut self,
        params: &'a [ast::Param],
        tys: &[Ty],
        values: &[ArgVal<'a>],
    ) -> Vec<Bound<'a>> {
        let unshared = self.unshared(values);
        let mut bindings = Vec::new();
        for (((param, ty), value), unshared) in params.iter().zip(tys).zip(values).zip(unshared) {
            if !ty.is_data() || *ty == Ty::Int {
                let object = match value {
                    ArgVal::Value(v) => v.clone(),
                    _ => Elab::poison(),
                };
                bindings.push(Bound::Object(object));
                continue;
            }
            let passing = |place| Passing {
                place,
                ty: ty.clone(),
                direction: param.direction,
            };
            bindings.push(match unshared {
                Some(place) => Bound::Alias(passing(place)),
                None => {
                    let name = &param.name;
                    let var = self.new_var(&name.name, ty, VarKind::Param, name.span);
                    Bound::Own(passing(Place::var(var)))
                }
            });
        }
        bindings
    }

    /// The storage of each argument that is a whole place, known when the program is compiled, of
    /// which no other argument has any part: only there is it the same whether a block works on the
    /// place or on a copy.
    fn unshared(&self, values: &[ArgVal<'a>]) -> Vec<Option<Place>> {
        let place = |value: &ArgVal<'a>| match value {
            ArgVal::Ref(l, _) => Some(l.place.clone()),
            ArgVal::Value(Elab {
                val: Val::Place { place, .. },
                ..
            }) => Some(place.clone()),
            _ => None,
        };
        let places: Vec<Option<Place>> = values.iter().map(place).collect();
        let alone = |at: usize, place: &Place| {
            let mut others = places.iter().enumerate().filter(|(i, _)| *i != at);
            !others.any(|(_, other)| other.as_ref().is_some_and(|o| place.overlaps(o)))
        };
        let whole = |value: &ArgVal<'a>| match value {
            ArgVal::Ref(l, now) => {
                let is_member = self.enclosing_union(&l.place).is_some();
                matches!(l.part, Selection::All) && now.is_none() && !is_member
            }
            _ => true,
        };
        let unshared = |(at, place): (usize, &Option<Place>)| {
            let place = place.as_ref()?;
            let bindable = place.is_static() && whole(&values[at]) && alone(at, place);
            bindable.then(|| place.clone())
        };
        places.iter().enumerate().map(unshared).collect()
    }

    fn emit_block_call(
        &mut self,
        callee: Callee,
        bindings: &[Bound<'a>],
        args: Args<'a>,
        span: Span,
    ) {
        let unshared = self.unshared(&args.values);
        let mut given = Vec::new();
        // Storage of the first caller that this call has to borrow, with a place to save it.
        let mut borrowed: Vec<(Passing, Place)> = Vec::new();
        let params = bindings.iter().zip(unshared).collect();
        for ((bound, place), value) in args.into_written(params) {
            match bound {
                Bound::Object(first) => self.same_number(first, &value, span),
                Bound::Alias(p) if place.as_ref() == Some(&p.place) => {}
                Bound::Own(p) | Bound::Alias(p) => {
                    if matches!(bound, Bound::Alias(_)) {
                        borrowed.push((p.clone(), self.temp(&p.ty, span)));
                    }
                    given.push((p.clone(), value));
                }
            }
        }
        if borrowed.is_empty() {
            self.emit_call(callee, given, None, span);
            return;
        }
        self.emit_borrowing_call(callee, given, &borrowed, span);
    }

    /// A parameter of type `int` was built into the block when it was first applied.
    fn same_number(&mut self, first: &Elab<'a>, value: &ArgVal<'a>, span: Span) {
        let ArgVal::Value(now) = value else { return };
        if let (Some(a), Some(b)) = (first.as_int(), now.as_int())
            && first.ty == Ty::Int
            && a != b
        {
            let text =
                format!("this instance was applied with {a} for an `int` parameter, here with {b}");
            self.report(
                Diagnostic::error("unsupported", span, text)
                    .with_help("make an instance for each number"),
            );
        }
    }

    /// Applies a block whose parameters are another caller's storage: takes copies of all
    /// arguments, saves the storage, fills it, calls, takes copies, restores, and gives the results
    /// back. Borrowed places share nothing with each other, nor with an argument that is its
    /// parameter's storage already.
    fn emit_borrowing_call(
        &mut self,
        callee: Callee,
        given: Vec<(Passing, ArgVal<'a>)>,
        borrowed: &[(Passing, Place)],
        span: Span,
    ) {
        let mut copy_in: Vec<Assign> = Vec::new();
        let mut copy_out = Block::new();
        let mut results = Vec::new();
        for (param, save) in borrowed {
            let value = self.read(param.place.clone(), &param.ty);
            let dst = save.clone();
            copy_in.push(Assign { dst, value });
        }
        for (param, value) in given {
            let stage = self.temp(&param.ty, span);
            let given = match value {
                ArgVal::Value(v) => Some(v),
                ArgVal::Ref(l, now) => {
                    let old = (param.direction == Direction::InOut)
                        .then(|| now.unwrap_or_else(|| self.load(&l, span)));
                    let new = Elab::place(param.ty.clone(), param.place.clone(), false);
                    let (copy, ()) = self.nested(|s| s.store(&stage, &param.ty, new, span));
                    copy_out.extend(copy);
                    results.push((l, Elab::place(param.ty.clone(), stage.clone(), false)));
                    old
                }
                ArgVal::Ignored | ArgVal::Omitted => None,
            };
            if let Some(given) = given {
                self.store(&stage, &param.ty, given, span);
                let value = self.read(stage, &param.ty);
                let dst = param.place.clone();
                copy_in.push(Assign { dst, value });
            }
        }
        let (after, ()) = self.nested(|s| {
            for (param, save) in borrowed {
                let saved = Elab::place(param.ty.clone(), save.clone(), false);
                s.store(&param.place, &param.ty, saved, span);
            }
            for (l, result) in results {
                s.store_lvalue(l, result, span);
            }
        });
        copy_out.extend(after);
        self.emit(
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            },
            span,
        );
    }

    /// Elaborates an instance's body with its parameters bound.
    pub(super) fn elaborate_block(&mut self, index: usize, bindings: Vec<Bound<'a>>, span: Span) {
        let block = &self.blocks[index];
        let (decl, targs, ctor, name) = (
            block.decl,
            block.type_args.clone(),
            block.ctor.clone(),
            block.name.clone(),
        );
        if self.is_beside(decl.at.span) {
            return;
        }
        if !self.checker.in_progress.insert(decl.at.id) {
            self.error(
                "call",
                span,
                "this parser or control contains itself; P4 has no recursion",
            );
            return;
        }
        self.elaborated.insert(decl.at.id);
        let targs: Vec<Ty> = targs
            .iter()
            .map(|t| self.checker.infer.resolve(t))
            .collect();
        let kind = match decl.kind {
            DeclKind::Parser(_) => BodyKind::Parser,
            _ => BodyKind::Control,
        };
        let prefix = std::mem::replace(&mut self.prefix, name);
        let body = Body {
            kind,
            result: None,
            loops: 0,
        };
        let callee = self.deeper(span, |s| {
            s.detached(body, |s| {
                s.bind_type_params(Self::type_params(decl), &targs);
                let params = s.bind_block_params(decl, &bindings);
                match &decl.kind {
                    DeclKind::Parser(p) => {
                        s.bind_constructor(&p.constructor_params, &ctor);
                        Some(Callee::Parser(s.scoped(|s| s.parser_body(p, params))))
                    }
                    DeclKind::Control(c) => {
                        s.bind_constructor(&c.constructor_params, &ctor);
                        Some(Callee::Control(s.scoped(|s| s.control_body(c, params))))
                    }
                    _ => None,
                }
            })
        });
        self.prefix = prefix;
        self.checker.in_progress.remove(&decl.at.id);
        if let Some(callee) = callee.flatten() {
            self.blocks[index].applied = Some((callee, bindings));
        }
    }

    fn bind_constructor(&mut self, params: &'a [ast::Param], values: &[Elab<'a>]) {
        for (param, value) in params.iter().zip(values) {
            self.declare_as(Role::Constructor, &param.name, Entity::Value(value.clone()));
        }
    }

    /// Declares apply parameters; resets `out` ones.
    fn bind_block_params(
        &mut self,
        decl: &'a ast::Decl,
        bindings: &[Bound<'a>],
    ) -> Vec<p4ir::Param> {
        let mut listed = Vec::new();
        for (param, bound) in Self::apply_params(decl).iter().zip(bindings) {
            match bound {
                Bound::Object(value) => {
                    self.declare_as(Role::Param, &param.name, Entity::Value(value.clone()));
                }
                Bound::Own(p) | Bound::Alias(p) => {
                    let writable = matches!(param.direction, Direction::Out | Direction::InOut);
                    if param.direction == Direction::Out {
                        self.reset(p.place.clone(), &p.ty, param.at.span);
                    }
                    let value = Elab::place(p.ty.clone(), p.place.clone(), writable);
                    self.declare_as(Role::Param, &param.name, Entity::Value(value));
                    listed.push(p4ir::Param {
                        name: param.name.to_string(),
                        direction: super::call::ir_direction(param.direction),
                        var: p.place.var,
                    });
                }
            }
        }
        listed
    }
}

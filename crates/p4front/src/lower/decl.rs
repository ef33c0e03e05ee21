//! Declarations at the top level, types as written, constants.

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};
use p4ir::TypeId;

use super::limits::TypeSize;
use super::value::{Elab, Val};
use super::{Body, BodyKind, Declared, Entity, Lowerer, Role, Scope};
use crate::ast::{self, DeclKind, TypeKind};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::fold::wrap;
use crate::types::{EnumTy, Extent, FieldTy, NewTy, Record, RecordKind, Ty, Types};
use p4ir::limits::MAX_BITS;

impl<'a> Lowerer<'a> {
    /// What a top-level declaration stands for; elaborated on first use.
    pub(super) fn resolve(&mut self, decl: &'a ast::Decl) -> Entity<'a> {
        if let Some(known) = self.checker.resolved.get(&decl.at.id) {
            return known.clone();
        }
        if !self.checker.in_progress.insert(decl.at.id) {
            let (span, text) = match decl.name() {
                Some(name) => (
                    name.span,
                    format!("`{name}` depends on itself; P4 has no recursion"),
                ),
                None => (decl.at.span, "this declaration depends on itself".into()),
            };
            self.error("name", span, text);
            return Entity::Poison;
        }
        let body = Body::constant();
        let prefix = std::mem::take(&mut self.prefix);
        let entity = self
            .deeper(decl.at.span, |s| s.detached(body, |s| s.resolve_new(decl)))
            .unwrap_or(Entity::Poison);
        self.prefix = prefix;
        self.checker.in_progress.remove(&decl.at.id);
        self.checker.resolved.insert(decl.at.id, entity.clone());
        entity
    }

    fn resolve_new(&mut self, decl: &'a ast::Decl) -> Entity<'a> {
        match &decl.kind {
            DeclKind::Constant(c) => Entity::Value(self.constant(c)),
            DeclKind::Composite(c) if c.type_params.is_empty() => {
                Entity::Type(self.record(decl, Vec::new(), decl.at.span))
            }
            DeclKind::Enum(e) => {
                let members = e.members.iter().map(|m| m.name.clone()).collect();
                self.distinct(&e.members);
                let ty = EnumTy {
                    decl: decl.at.id,
                    name: e.name.name.clone(),
                    members,
                    repr: None,
                };
                Entity::Type(Ty::Enum(Rc::new(ty)))
            }
            DeclKind::SerializableEnum(e) => Entity::Type(self.serializable_enum(decl, e)),
            DeclKind::Typedef(t) => Entity::Type(self.typedef(t)),
            DeclKind::NewType(t) => {
                let underlying = self.ty(&t.underlying);
                let ok = matches!(
                    underlying,
                    Ty::Bits { .. }
                        | Ty::Bool
                        | Ty::New(_)
                        | Ty::Enum(_)
                        | Ty::Poison
                        | Ty::Varbit(_)
                        | Ty::Error
                );
                if !ok {
                    let text = format!("`{underlying}` cannot underlie a `type` declaration");
                    self.error("type", t.underlying.at.span, text);
                }
                let below = underlying.extent();
                let ty = NewTy {
                    decl: decl.at.id,
                    name: t.name.name.clone(),
                    underlying,
                    extent: Extent {
                        depth: below.depth + 1,
                        ..below
                    },
                };
                Entity::Type(self.bounded(Ty::New(Rc::new(ty)), t.name.span))
            }
            DeclKind::Composite(_)
            | DeclKind::ExternObject(_)
            | DeclKind::ParserType(_)
            | DeclKind::ControlType(_)
            | DeclKind::Parser(_)
            | DeclKind::Control(_)
            | DeclKind::Package(_) => Entity::TypeDecl(decl),
            DeclKind::Action(a) => {
                let info = self.action(decl, a);
                Entity::Value(Elab::new(Ty::Action, Val::Action(info)))
            }
            DeclKind::Instance(i) => {
                let value = self.instance(decl, i);
                if matches!(value.ty, Ty::Block(..)) {
                    let text = format!(
                        "`{}`: parsers and controls cannot be instantiated at the top level",
                        i.name
                    );
                    self.report(
                        Diagnostic::error("arch", i.name.span, text)
                            .with_help("instantiate it where it is used: in a parser, a control, or the arguments of a package"),
                    );
                }
                Entity::Value(value)
            }
            DeclKind::Function(_) | DeclKind::ExternFunction(_) => Entity::Functions(vec![decl]),
            DeclKind::ExternForward(name) => {
                self.error(
                    "name",
                    name.span,
                    format!("extern `{name}` is announced but not declared"),
                );
                Entity::Poison
            }
            _ => {
                self.error(
                    "name",
                    decl.at.span,
                    "this declaration cannot stand at the top level",
                );
                Entity::Poison
            }
        }
    }

    pub(super) fn distinct(&mut self, names: &[ast::Ident]) {
        let mut seen = std::collections::HashSet::new();
        for name in names {
            if !seen.insert(name.name.clone()) {
                self.error("name", name.span, format!("`{name}` is declared twice"));
            }
        }
    }

    /// `const T name = value`: its value.
    pub(super) fn constant(&mut self, c: &'a ast::Constant) -> Elab<'a> {
        let ty = self.ty(&c.ty);
        if matches!(
            ty,
            Ty::Void | Ty::Extern(..) | Ty::Block(..) | Ty::Package(..)
        ) {
            let text = format!("a constant cannot have type `{ty}`");
            self.report(
                Diagnostic::error("type", c.ty.at.span, text).with_help(format!(
                    "an object is declared as an instance: `{ty}(...) {};`",
                    c.name
                )),
            );
            return Elab::poison();
        }
        let value = self.const_expr(&c.value, Some(&ty));
        let value = self.coerce(value, &ty, c.value.at.span);
        self.spend(value.components());
        value
    }

    /// Elaborates an expression that must be known at compile time.
    pub(super) fn const_expr(&mut self, e: &'a ast::Expr, want: Option<&Ty>) -> Elab<'a> {
        let kind = std::mem::replace(&mut self.body.kind, BodyKind::Constant);
        let value = self.expr(e, want);
        self.body.kind = kind;
        if !value.is_const() {
            self.error("const", e.at.span, "this is not a compile-time constant");
            return Elab::poison();
        }
        value
    }

    /// A compile-time number.
    pub(super) fn const_int(&mut self, e: &'a ast::Expr) -> Option<BigInt> {
        let value = self.const_expr(e, None);
        let value = self.strip_enum(value);
        if value.is_poison() {
            return None;
        }
        match value.val {
            Val::Int(v) => Some(v),
            _ => {
                self.error(
                    "type",
                    e.at.span,
                    format!("expected a number, found `{}`", value.ty),
                );
                None
            }
        }
    }

    /// A compile-time number that is part of a type.
    fn size(&mut self, e: &'a ast::Expr) -> Option<BigInt> {
        let sizing = std::mem::replace(&mut self.checker.sizing, true);
        let value = self.const_int(e);
        self.checker.sizing = sizing;
        value
    }

    fn width(&mut self, e: &'a ast::Expr, least: u32) -> Option<u32> {
        let value = self.size(e)?;
        match value.to_u32().filter(|w| (least..=MAX_BITS).contains(w)) {
            Some(w) => Some(w),
            None => {
                let text = format!("{value} is not a legal width ({least} to {MAX_BITS} bits)");
                self.error("type", e.at.span, text);
                None
            }
        }
    }

    /// The number of elements of a stack.
    fn stack_size(&mut self, e: &'a ast::Expr) -> Option<u32> {
        let value = self.size(e)?;
        match value.to_u32().filter(|n| *n <= 65_536) {
            Some(n) => Some(n),
            None => {
                self.error(
                    "type",
                    e.at.span,
                    format!("{value} is not a legal number of elements"),
                );
                None
            }
        }
    }

    /// The type an AST type denotes here.
    pub(super) fn ty(&mut self, t: &'a ast::Type) -> Ty {
        self.deeper(t.at.span, |s| s.ty_inner(t))
            .unwrap_or(Ty::Poison)
    }

    fn ty_inner(&mut self, t: &'a ast::Type) -> Ty {
        match &t.kind {
            TypeKind::Bool => Ty::Bool,
            TypeKind::Error => Ty::Error,
            TypeKind::MatchKind => Ty::MatchKind,
            TypeKind::String => Ty::String,
            TypeKind::Void => Ty::Void,
            TypeKind::DontCare => self.checker.infer.dont_care(),
            TypeKind::Integer => Ty::Int,
            TypeKind::Bit(None) => Ty::bit(1),
            TypeKind::Bit(Some(w)) => self.width(w, 0).map_or(Ty::Poison, Ty::bit),
            TypeKind::Int(w) => self.width(w, 1).map_or(Ty::Poison, |width| Ty::Bits {
                width,
                signed: true,
            }),
            TypeKind::Varbit(w) => self.width(w, 0).map_or(Ty::Poison, Ty::Varbit),
            TypeKind::Name(path) => match self.lookup(path) {
                Entity::Type(ty) => ty,
                Entity::TypeDecl(decl) => self.specialize(decl, Vec::new(), t.at.span),
                Entity::Poison => Ty::Poison,
                Entity::Value(_) | Entity::Functions(_) => {
                    self.error("type", t.at.span, format!("`{}` is not a type", path.name));
                    Ty::Poison
                }
            },
            TypeKind::Specialized { base, args } => {
                let Some(args) = self.type_args(args, t.at.span) else {
                    return Ty::Poison;
                };
                match self.lookup(base) {
                    Entity::TypeDecl(decl) => self.specialize(decl, args, t.at.span),
                    Entity::Poison => Ty::Poison,
                    Entity::Type(ty) if args.is_empty() => ty,
                    _ => {
                        self.error(
                            "type",
                            t.at.span,
                            format!("`{}` takes no type arguments", base.name),
                        );
                        Ty::Poison
                    }
                }
            }
            TypeKind::Array { element, size } => {
                let inner = self.ty(element);
                let size = self.stack_size(size);
                if matches!(
                    inner,
                    Ty::Void | Ty::Extern(..) | Ty::Block(..) | Ty::Package(..) | Ty::Int
                ) {
                    self.error(
                        "type",
                        element.at.span,
                        format!("there are no arrays of `{inner}`"),
                    );
                    return Ty::Poison;
                }
                match size {
                    Some(n) if !inner.is_poison() => {
                        self.bounded(Ty::Stack(inner.into(), n), t.at.span)
                    }
                    _ => Ty::Poison,
                }
            }
            TypeKind::Tuple(all) => self.tuple(all, t.at.span),
            TypeKind::List(inner) => {
                let list = Ty::List(self.ty(inner).into());
                self.bounded(list, t.at.span)
            }
        }
    }

    fn tuple(&mut self, all: &'a [ast::Type], span: Span) -> Ty {
        let mut fields = Vec::new();
        let mut room = TypeSize::default();
        for t in all {
            let ty = self.ty(t);
            if !self.takes(&mut room, &ty, span) {
                return Ty::Poison;
            }
            let open = matches!(t.kind, TypeKind::DontCare);
            let object = matches!(
                ty,
                Ty::Void | Ty::String | Ty::Extern(..) | Ty::Block(..) | Ty::Package(..)
            );
            if open || object {
                let text = format!("a tuple cannot have a component of type `{ty}`");
                self.error("type", t.at.span, text);
                return Ty::Poison;
            }
            fields.push(ty);
        }
        Ty::tuple(fields)
    }

    /// Type arguments as written; `None` (reported) if they are too large together.
    fn type_args(&mut self, args: &'a [ast::Type], span: Span) -> Option<Vec<Ty>> {
        let mut room = TypeSize::default();
        let mut tys = Vec::with_capacity(args.len());
        for arg in args {
            let ty = self.ty(arg);
            if !self.takes(&mut room, &ty, span) {
                return None;
            }
            tys.push(ty);
        }
        Some(tys)
    }

    /// The type parameters of a declaration that makes types.
    pub(super) fn type_params(decl: &'a ast::Decl) -> &'a [ast::TypeParam] {
        match &decl.kind {
            DeclKind::Composite(c) => &c.type_params,
            DeclKind::ExternObject(e) => &e.type_params,
            DeclKind::ParserType(c) | DeclKind::ControlType(c) | DeclKind::Package(c) => {
                &c.type_params
            }
            DeclKind::Parser(p) => &p.signature.type_params,
            DeclKind::Control(c) => &c.signature.type_params,
            DeclKind::Function(f) => &f.prototype.type_params,
            DeclKind::ExternFunction(f) => &f.type_params,
            _ => &[],
        }
    }

    /// A generic declaration with its arguments. Missing arguments become inference variables for
    /// what is instantiated (externs, blocks, packages).
    fn specialize(&mut self, decl: &'a ast::Decl, mut args: Vec<Ty>, span: Span) -> Ty {
        let params = Self::type_params(decl);
        let name = match decl.name() {
            Some(name) => name.name.clone(),
            None => return Ty::Poison,
        };
        if args.is_empty() && !matches!(decl.kind, DeclKind::Composite(_)) {
            args = params.iter().map(|_| self.checker.infer.fresh()).collect();
        }
        if args.len() != params.len() {
            let text = format!(
                "`{name}` takes {} type arguments, {} given",
                params.len(),
                args.len()
            );
            self.error("type", span, text);
            return Ty::Poison;
        }
        if let DeclKind::Composite(c) = &decl.kind
            && args.iter().any(|a| matches!(a, Ty::Var(_)))
            && c.fields
                .iter()
                .any(|f| matches!(f.ty.kind, TypeKind::Tuple(_)))
            && self.body.kind == BodyKind::Constant
            && self.checker.scopes.iter().all(Scope::is_empty)
        {
            self.error(
                "type",
                span,
                format!("the type arguments of `{name}` must be written here"),
            );
            return Ty::Poison;
        }
        if args.iter().any(|a| a.mentions(decl.at.id)) {
            let text = format!("`{name}` is contained in its own type arguments");
            self.error("type", span, text);
            return Ty::Poison;
        }
        match &decl.kind {
            DeclKind::Composite(_) => self.record(decl, args, span),
            DeclKind::ExternObject(_) => Ty::Extern(decl.at.id, name, Types::new(args)),
            DeclKind::Package(_) => Ty::Package(decl.at.id, name, Types::new(args)),
            _ => Ty::Block(decl.at.id, name, Types::new(args)),
        }
    }

    /// Binds type parameters in the innermost scope.
    pub(super) fn bind_type_params(&mut self, params: &'a [ast::TypeParam], args: &[Ty]) {
        for (param, arg) in params.iter().zip(args) {
            self.declare(&param.name, Entity::Type(arg.clone()));
        }
    }

    pub(super) fn record(&mut self, decl: &'a ast::Decl, args: Vec<Ty>, span: Span) -> Ty {
        let DeclKind::Composite(c) = &decl.kind else {
            return Ty::Poison;
        };
        let key = (decl.at.id, args);
        if let Some(known) = self.checker.records.get(&key) {
            return known.clone();
        }
        let body = Body::constant();
        let kind = match c.kind {
            ast::CompositeKind::Struct => RecordKind::Struct,
            ast::CompositeKind::Header => RecordKind::Header,
            ast::CompositeKind::HeaderUnion => RecordKind::Union,
        };
        let args = key.1.clone();
        let made: Option<(Vec<FieldTy>, bool)> = self.deeper(span, |s| {
            s.detached(body, |s| {
                s.bind_type_params(&c.type_params, &args);
                let names: Vec<_> = c.fields.iter().map(|f| f.name.clone()).collect();
                s.distinct(&names);
                for (i, field) in c.fields.iter().enumerate() {
                    s.annotation_values(&field.annotations);
                    s.field_annotations(c, i);
                }
                let mut room = TypeSize::default();
                let mut fields = Vec::with_capacity(c.fields.len());
                for (index, f) in c.fields.iter().enumerate() {
                    let ty = s.field_ty(kind, f);
                    if !s.takes(&mut room, &ty, c.name.span) {
                        return (fields, false);
                    }
                    let name = f.name.name.clone();
                    fields.push(FieldTy { name, ty, index });
                }
                (fields, true)
            })
        });
        let fields = match made {
            Some((fields, true)) => fields,
            Some((_, false)) => {
                self.checker.records.insert(key, Ty::Poison);
                return Ty::Poison;
            }
            None => return Ty::Poison,
        };
        let name = c.name.name.clone();
        let record = Record::new((kind, decl.at.id, name), args, fields);
        let ty = self.bounded(Ty::Record(Rc::new(record)), c.name.span);
        self.checker.records.insert(key, ty.clone());
        ty
    }

    /// `@match` names a match kind; `@length` uses only what is declared before it.
    fn field_annotations(&mut self, c: &'a ast::Composite, i: usize) {
        for a in &c.fields[i].annotations {
            let ast::AnnotationBody::Unstructured(tokens) = &a.body else {
                continue;
            };
            match &*a.name.name {
                "match" => {
                    let known = match tokens.as_slice() {
                        [one] => self.checker.match_kinds.contains(&one.text),
                        _ => false,
                    };
                    if !known {
                        self.error(
                            "annotation",
                            a.at.span,
                            "`@match` takes the name of a match kind",
                        );
                    }
                }
                "length" => {
                    for t in tokens
                        .iter()
                        .filter(|t| t.kind == ast::AnnotationTokenKind::Word)
                    {
                        let earlier = c.fields[..i].iter().any(|f| f.name.name == t.text);
                        if !earlier
                            && !matches!(&*t.text, "bit" | "int" | "bool" | "true" | "false")
                            && !self.checker.globals.contains_key(&t.text)
                        {
                            let text = format!("`{}` is not declared before this field", t.text);
                            let fields = c.fields[..i].iter().map(|f| &*f.name.name);
                            let d = Diagnostic::error("name", t.span, text);
                            self.report(d.with_known("fields", &t.text, fields));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn field_ty(&mut self, kind: RecordKind, field: &'a ast::Field) -> Ty {
        let ty = self.ty(&field.ty);
        let fits = match (&ty, kind) {
            (Ty::Poison | Ty::Var(_) | Ty::Param(..), _) => true,
            (Ty::Int | Ty::String, RecordKind::Struct) => true,
            (Ty::Int | Ty::String | Ty::Void | Ty::MatchKind, _) => false,
            (t, _) if !t.is_data() => false,
            (t, RecordKind::Union) => t.is_header(),
            (Ty::Bits { .. } | Ty::Bool | Ty::Varbit(_) | Ty::New(_), _) => true,
            (Ty::Enum(e), RecordKind::Header) => e.repr.is_some(),
            (t @ (Ty::Record(_) | Ty::Stack(..)), RecordKind::Header) => t.fits_header(),
            (_, RecordKind::Header) => false,
            (_, RecordKind::Struct) => true,
        };
        if fits {
            return ty;
        }
        let what = match kind {
            RecordKind::Struct => "struct",
            RecordKind::Header => "header",
            RecordKind::Union => "header union",
        };
        self.error(
            "type",
            field.ty.at.span,
            format!("a {what} cannot have a field of type `{ty}`"),
        );
        Ty::Poison
    }

    fn typedef(&mut self, t: &'a ast::Typedef) -> Ty {
        match &t.target {
            ast::TypedefTarget::Type(ty) => self.ty(ty),
            ast::TypedefTarget::Declared { decl, dimensions } => {
                let mut ty = match self.resolve(decl) {
                    Entity::Type(ty) => ty,
                    _ => Ty::Poison,
                };
                for size in dimensions {
                    ty = match self.stack_size(size) {
                        Some(n) => self.bounded(Ty::Stack(ty.into(), n), size.at.span),
                        None => Ty::Poison,
                    };
                }
                ty
            }
        }
    }

    fn serializable_enum(&mut self, decl: &'a ast::Decl, e: &'a ast::SerializableEnum) -> Ty {
        let underlying = self.ty(&e.underlying);
        if !matches!(underlying, Ty::Bits { .. } | Ty::Poison) {
            let text =
                format!("an enum is represented by `bit<N>` or `int<N>`, not `{underlying}`");
            self.error("type", e.underlying.at.span, text);
            return Ty::Poison;
        }
        let members = || e.members.iter().map(|m| m.name.name.clone()).collect();
        // Members may refer to members before them: their values are kept in `open_enums` until all
        // are known.
        let ty = Ty::Enum(Rc::new(EnumTy {
            decl: decl.at.id,
            name: e.name.name.clone(),
            members: members(),
            repr: Some((underlying.clone(), Vec::new())),
        }));
        self.rebind(&e.name, Entity::Type(ty.clone()));
        self.checker.open_enums.insert(decl.at.id, Vec::new());
        for member in &e.members {
            let value = self.const_expr(&member.value, Some(&underlying));
            let value = self.coerce(value, &underlying, member.value.at.span);
            let value = value.as_int().cloned().unwrap_or_else(BigInt::zero);
            let named = Elab::new(ty.clone(), Val::Int(value.clone()));
            self.rebind(&member.name, Entity::Value(named));
            if let Some(values) = self.checker.open_enums.get_mut(&decl.at.id) {
                values.push(value);
            }
        }
        let values = self
            .checker
            .open_enums
            .remove(&decl.at.id)
            .unwrap_or_default();
        let names: Vec<_> = e.members.iter().map(|m| m.name.clone()).collect();
        self.distinct(&names);
        Ty::Enum(Rc::new(EnumTy {
            decl: decl.at.id,
            name: e.name.name.clone(),
            members: members(),
            repr: Some((underlying, values)),
        }))
    }

    /// Gives a name of the innermost scope a new meaning.
    fn rebind(&mut self, name: &ast::Ident, entity: Entity<'a>) {
        if let Some(scope) = self.checker.scopes.last_mut() {
            let declared = Declared {
                entity,
                role: Role::Local,
                at: name.span,
            };
            scope.insert(name.name.clone(), declared);
        }
    }

    /// The p4ir type of a type that exists at run time.
    pub(super) fn ir_ty(&mut self, ty: &Ty) -> TypeId {
        self.emitter.ty(&self.checker, ty)
    }

    /// The value a type has when nobody gave one (`...` in initialisers).
    pub(super) fn default_value(&mut self, ty: &Ty, span: Span) -> Elab<'a> {
        let val = match ty {
            Ty::Bits { .. } | Ty::Int => Val::Int(BigInt::zero()),
            Ty::Bool => Val::Bool(false),
            Ty::Error => Val::Error(0),
            Ty::String => Val::Str("".into()),
            Ty::Enum(e) => match &e.repr {
                Some(_) => Val::Int(BigInt::zero()),
                None => Val::Enum(0),
            },
            Ty::New(n) => self.default_value(&n.underlying, span).val,
            Ty::Tuple(all) => Val::Agg(all.iter().map(|t| self.default_value(t, span)).collect()),
            Ty::Record(r) if r.kind == RecordKind::Struct => Val::Agg(
                r.fields
                    .iter()
                    .map(|f| self.default_value(&f.ty, span))
                    .collect(),
            ),
            Ty::Record(_) => Val::Invalid,
            Ty::Stack(t, n) => {
                let one = self.default_value(t, span);
                Val::Agg(vec![one; *n as usize])
            }
            Ty::Poison => Val::Poison,
            _ => {
                self.error("type", span, format!("type `{ty}` has no default value"));
                return Elab::poison();
            }
        };
        Elab::new(ty.clone(), val)
    }

    /// A number as a constant of a sized type, or of a `type` made of one, with a warning if it
    /// does not fit.
    pub(super) fn sized(&mut self, value: &BigInt, ty: &Ty, span: Span) -> Elab<'a> {
        let Some((width, signed)) = ty.number() else {
            return Elab::poison();
        };
        let wrapped = wrap(value, width, signed);
        if wrapped != *value {
            // A number that fits the bits but not the sign is a common idiom (0xff for -1).
            let same_bits = *value >= BigInt::zero() && *value < (BigInt::one() << width);
            if !same_bits {
                self.warn(
                    "overflow",
                    span,
                    format!("{value} does not fit `{ty}`; it becomes {wrapped}"),
                );
            }
        }
        Elab::new(ty.clone(), Val::Int(wrapped))
    }
}

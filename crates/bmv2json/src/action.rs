//! Primitives: the single steps of actions, which parsers use too.

use num_traits::ToPrimitive as _;
use p4ir::{
    Assign, Const, ExprId, ExprKind, ExternArg, ExternCall, ExternCallee, ExternFunction,
    ExternMethod, Field, Place, RecordKind, StmtKind, Type, TypeId,
};

use crate::data::{HeaderRef, Reader};
use crate::error::Read;
use crate::expr::Num;
use crate::model::{Arg, FieldList, Primitive};

impl Reader<'_> {
    /// The operands of a primitive; `count` of them, unless it is none.
    pub(crate) fn operands(&self, p: &Primitive, count: Option<usize>) -> Read<Vec<Arg>> {
        let place = format!("{}, `{}`", self.context, p.op);
        let args: Vec<Arg> = p
            .parameters
            .iter()
            .map(|v| Arg::new(v, &place))
            .collect::<Read<_>>()?;
        match count {
            Some(n) if n != args.len() => {
                Err(self.malformed(format!("`{}` takes {n} operands, not {}", p.op, args.len())))
            }
            _ => Ok(args),
        }
    }

    /// One primitive that does not jump.
    pub(crate) fn primitive(&mut self, p: &Primitive) -> Read<()> {
        self.at(p.source_info.as_ref());
        let expected = match p.op.as_str() {
            "exit" | "drop" | "no_op" => Some(0),
            "add_header" | "add_header_fast" | "remove_header" | "truncate" | "assert"
            | "assume" => Some(1),
            "assign"
            | "modify_field"
            | "add_to_field"
            | "subtract_from_field"
            | "copy_header"
            | "assign_VL"
            | "assign_header"
            | "assign_header_stack"
            | "assign_union"
            | "assign_union_stack"
            | "push"
            | "pop"
            | "count"
            | "log_msg" => Some(2),
            "register_read" | "register_write" | "execute_meter" => Some(3),
            "add" | "subtract" | "bit_xor" | "bit_or" | "bit_and" | "shift_left"
            | "shift_right" => Some(3),
            _ => None,
        };
        let args = self.operands(p, expected)?;
        match (p.op.as_str(), &args[..]) {
            ("no_op", _) => {}
            ("exit", _) => self.emit(StmtKind::Exit),
            ("assign" | "modify_field", [dst, src]) => self.assign(dst, src)?,
            ("add_to_field", [dst, by]) => self.compute("+", dst, dst, by)?,
            ("subtract_from_field", [dst, by]) => self.compute("-", dst, dst, by)?,
            (op, [dst, left, right]) if operator(op).is_some() => {
                self.compute(operator(op).unwrap_or_default(), dst, left, right)?;
            }
            ("assign_VL", [dst, src]) => self.copy_field(dst, src)?,
            ("assign_header" | "copy_header", [dst, src]) => self.copy_header(dst, src)?,
            ("assign_union" | "assign_header_stack" | "assign_union_stack", [dst, src]) => {
                self.copy_whole(dst, src)?;
            }
            ("add_header" | "add_header_fast", [h]) => {
                let h = self.header_arg(h)?;
                self.emit(StmtKind::SetValid(h.place));
                self.invalidate(&h.others);
            }
            ("remove_header", [h]) => {
                let h = self.header_arg(h)?;
                self.emit(StmtKind::SetInvalid(h.place));
            }
            ("push" | "pop", [stack, count]) => self.shift(&p.op, stack, count)?,
            _ => self.extern_primitive(&p.op, &args)?,
        }
        Ok(())
    }

    /// `dst = left op right`, as P4_14 has it.
    fn compute(&mut self, op: &str, dst: &Arg, left: &Arg, right: &Arg) -> Read<()> {
        let value = Arg::Op {
            op: op.into(),
            left: Some(Box::new(left.clone())),
            right: Some(Box::new(right.clone())),
            cond: None,
        };
        self.assign(dst, &value)
    }

    pub(crate) fn assign(&mut self, dst: &Arg, src: &Arg) -> Read<()> {
        let (place, ty) = self.field_arg(dst)?;
        let Some((width, signed)) = self.program.types.get(ty).and_then(Type::bits) else {
            return self.copy_field(dst, src);
        };
        let value = self.modulo(src, width)?;
        let value = self.cast(
            Num {
                expr: value,
                width,
                signed: false,
            },
            width,
            signed,
        );
        self.emit(StmtKind::Assign(Assign { dst: place, value }));
        Ok(())
    }

    /// A field of variable width.
    fn copy_field(&mut self, dst: &Arg, src: &Arg) -> Read<()> {
        let (dst, ty) = self.field_arg(dst)?;
        let (src, from) = self.field_arg(src)?;
        self.copy(dst, ty, src, from)
    }

    fn copy(&mut self, dst: Place, ty: TypeId, src: Place, from: TypeId) -> Read<()> {
        if ty != from {
            return Err(self.unsupported("a copy between different types"));
        }
        let value = self.read(src, ty);
        self.emit(StmtKind::Assign(Assign { dst, value }));
        Ok(())
    }

    fn copy_header(&mut self, dst: &Arg, src: &Arg) -> Read<()> {
        let (dst, src) = (self.header_arg(dst)?, self.header_arg(src)?);
        self.copy(dst.place.clone(), dst.ty, src.place, src.ty)?;
        if !dst.others.is_empty() {
            let cond = self.is_valid(dst.place);
            let then = self.block(|r| {
                r.invalidate(&dst.others);
                Ok(())
            })?;
            self.emit(StmtKind::If {
                cond,
                then,
                other: Vec::new(),
            });
        }
        Ok(())
    }

    /// A stack or union by name.
    fn whole(&mut self, arg: &Arg) -> Read<(Place, TypeId)> {
        let place = match arg {
            Arg::Named(kind, name) if kind.ends_with("stack") => self.stack(name)?.place,
            _ => self.union_arg(arg)?,
        };
        let ty = self.program.place_type(&place);
        ty.map(|ty| (place, ty))
            .ok_or_else(|| self.malformed("no such stack or union"))
    }

    fn copy_whole(&mut self, dst: &Arg, src: &Arg) -> Read<()> {
        let (dst, ty) = self.whole(dst)?;
        let (src, from) = self.whole(src)?;
        self.copy(dst, ty, src, from)
    }

    fn shift(&mut self, op: &str, stack: &Arg, count: &Arg) -> Read<()> {
        let (Arg::Named(_, name), Arg::Number(n)) = (stack, count) else {
            return Err(self.malformed("a stack and a number are expected"));
        };
        let stack = self.stack(name)?.place;
        match n.to_u32() {
            Some(0) => {}
            Some(count) if op == "push" => self.emit(StmtKind::PushFront { stack, count }),
            Some(count) => self.emit(StmtKind::PopFront { stack, count }),
            None => return Err(self.malformed("a count out of range")),
        }
        Ok(())
    }

    // ---- externs ----

    pub(crate) fn call(&mut self, function: ExternFunction, args: Vec<ExternArg>) {
        self.emit(StmtKind::Extern(ExternCall {
            callee: ExternCallee::Function(function),
            type_args: Vec::new(),
            args,
            result: None,
        }));
    }

    /// Calls the method that an object has of this name.
    pub(crate) fn method(&mut self, object: &Arg, name: &str, args: Vec<ExternArg>) -> Read<()> {
        let Arg::Named(_, object) = object else {
            return Err(self.malformed("an object is expected"));
        };
        let id = self.externs.get(object).copied();
        let id = id.ok_or_else(|| self.unknown("object", object.as_str()))?;
        let method = ExternMethod::of(&self.program.externs[id].ty, name);
        self.emit(StmtKind::Extern(ExternCall {
            callee: ExternCallee::Method(id, method),
            type_args: Vec::new(),
            args,
            result: None,
        }));
        Ok(())
    }

    fn input(&mut self, arg: &Arg) -> Read<ExternArg> {
        Ok(ExternArg::In(self.exact(arg)?.expr))
    }

    fn output(&mut self, arg: &Arg) -> Read<ExternArg> {
        Ok(ExternArg::Out(self.field_arg(arg)?.0))
    }

    fn extern_primitive(&mut self, op: &str, args: &[Arg]) -> Read<()> {
        match (op, args) {
            ("mark_to_drop" | "drop", _) => {
                let place = Place::var(self.blocks[2]);
                self.call(ExternFunction::MarkToDrop, vec![ExternArg::InOut(place)]);
            }
            ("truncate", [n]) => {
                let args = vec![self.input(n)?];
                self.call(ExternFunction::Truncate, args);
            }
            ("assert" | "assume", [cond]) => {
                let cond = self.condition(cond)?;
                let function = ExternFunction::from_name(op);
                self.call(function, vec![ExternArg::In(cond)]);
            }
            ("count", [counter, index]) => {
                let args = vec![self.input(index)?];
                self.method(counter, "count", args)?;
            }
            ("execute_meter", [meter, index, dst]) => {
                let args = vec![self.input(index)?, self.output(dst)?];
                self.method(meter, "execute_meter", args)?;
            }
            ("register_read", [dst, register, index]) => {
                let args = vec![self.output(dst)?, self.input(index)?];
                self.method(register, "read", args)?;
            }
            ("register_write", [register, index, value]) => {
                let width = self.register_width(register)?;
                let index = self.input(index)?;
                let value = ExternArg::In(self.modulo(value, width)?);
                self.method(register, "write", vec![index, value])?;
            }
            ("modify_field_rng_uniform", [dst, low, high]) => self.random(dst, low, high)?,
            ("modify_field_with_hash_based_offset", [dst, base, calculation, size]) => {
                self.hash(dst, base, calculation, size)?;
            }
            ("log_msg", [Arg::Named(_, text), Arg::List(values)]) => {
                let ty = self.program.types.intern(Type::String);
                let text = ExprKind::Const(Const::Str(text.clone()));
                let text = ExternArg::In(self.program.add_expr(text, ty));
                let values = values.clone();
                let data = self.data("", &values)?;
                self.call(ExternFunction::LogMsg, vec![text, data]);
            }
            _ => self.packet_primitive(op, args)?,
        }
        Ok(())
    }

    /// Primitives that copy packets or send digests.
    fn packet_primitive(&mut self, op: &str, args: &[Arg]) -> Read<()> {
        let json = self.json;
        match (op, args) {
            (
                "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress",
                [session, rest @ ..],
            ) => {
                let kind = self.clone_type(u32::from(op.starts_with("clone_egress")));
                let session = self.input(session)?;
                let kept = self.listed(&json.field_lists, rest.first())?;
                self.call(
                    ExternFunction::Clone3,
                    vec![ExternArg::In(kind), session, kept],
                );
            }
            ("resubmit" | "recirculate", rest) => {
                let kept = self.listed(&json.field_lists, rest.first())?;
                self.call(ExternFunction::from_name(op), vec![kept]);
            }
            ("generate_digest", [receiver, list]) => {
                let receiver = self.input(receiver)?;
                let data = self.listed(&json.learn_lists, Some(list))?;
                self.call(ExternFunction::Digest, vec![receiver, data]);
            }
            (_, [object @ Arg::Named(kind, name), rest @ ..]) if kind == "extern" => {
                let instance = json.extern_instances.iter().find(|e| e.name == *name);
                let instance = instance.ok_or_else(|| self.unknown("extern instance", name))?;
                let method = op
                    .strip_prefix('_')
                    .and_then(|o| o.strip_prefix(&*instance.kind));
                let method = method.and_then(|o| o.strip_prefix('_'));
                let method = method.ok_or_else(|| self.unsupported(format!("primitive `{op}`")))?;
                let args = rest.iter().map(|a| match a {
                    Arg::Field(..) => Ok(ExternArg::InOut(self.field_arg(a)?.0)),
                    _ => self.input(a),
                });
                let args = args.collect::<Read<_>>()?;
                self.method(object, method, args)?;
            }
            _ => return Err(self.unsupported(format!("primitive `{op}`"))),
        }
        Ok(())
    }

    fn register_width(&self, register: &Arg) -> Read<u32> {
        let Arg::Named(_, name) = register else {
            return Err(self.malformed("a register is expected"));
        };
        let array = self.json.register_arrays.iter().find(|a| a.name == *name);
        let array = array.ok_or_else(|| self.unknown("register", name.as_str()))?;
        Ok(array.bitwidth.unwrap_or(32))
    }

    /// Bounds take the type of the result, as the program had it.
    fn random(&mut self, dst: &Arg, low: &Arg, high: &Arg) -> Read<()> {
        let (place, ty) = self.field_arg(dst)?;
        let width = self
            .program
            .types
            .get(ty)
            .and_then(Type::bits)
            .map(|(w, _)| w);
        let width = width.ok_or_else(|| self.malformed("a field of fixed width is expected"))?;
        let low = ExternArg::In(self.modulo(low, width)?);
        let high = ExternArg::In(self.modulo(high, width)?);
        self.call(
            ExternFunction::Random,
            vec![ExternArg::Out(place), low, high],
        );
        Ok(())
    }

    fn hash(&mut self, dst: &Arg, base: &Arg, calculation: &Arg, size: &Arg) -> Read<()> {
        let Arg::Named(_, name) = calculation else {
            return Err(self.malformed("a calculation is expected"));
        };
        let (dst, base, size) = (self.output(dst)?, self.input(base)?, self.input(size)?);
        let headers = self.calculated_headers(name, None)?;
        self.by_validity(&headers, &mut Vec::new(), &mut |r, absent| {
            let (algorithm, data, _) = r.calculation(name, absent)?;
            let args = [&dst, &ExternArg::In(algorithm), &base, &data, &size];
            r.call(ExternFunction::Hash, args.map(Clone::clone).to_vec());
            Ok(())
        })
    }

    /// Headers whose fields a calculation reads, apart from `known`.
    pub(crate) fn calculated_headers(&self, name: &str, known: Option<&str>) -> Read<Vec<String>> {
        let calculations = &self.json.calculations;
        let c = calculations.iter().find(|c| c.name == name);
        let c = c.ok_or_else(|| self.unknown("calculation", name))?;
        let place = format!("calculation `{name}`");
        let mut headers = Vec::new();
        for input in &c.input {
            let Some(header) = header_name(&Arg::new(input, &place)?) else {
                continue;
            };
            let packet = self.headers.get(&header).is_some_and(|h| !h.metadata);
            if packet && known != Some(&*header) && !headers.contains(&header) {
                headers.push(header);
            }
        }
        // Beyond this all are taken to be there, to keep the program small.
        headers.truncate(MAX_VALIDITIES);
        Ok(headers)
    }

    /// Emits what `f` makes for each set of headers that can be invalid: BMv2 leaves these out of
    /// calculations.
    pub(crate) fn by_validity(
        &mut self,
        headers: &[String],
        absent: &mut Vec<String>,
        f: &mut dyn FnMut(&mut Self, &[String]) -> Read<()>,
    ) -> Read<()> {
        let Some((first, rest)) = headers.split_first() else {
            return f(self, absent);
        };
        let place = self.header(first)?.place;
        let cond = self.is_valid(place);
        let then = self.block(|r| r.by_validity(rest, absent, f))?;
        absent.push(first.clone());
        let other = self.block(|r| r.by_validity(rest, absent, f))?;
        absent.pop();
        self.emit(StmtKind::If { cond, then, other });
        Ok(())
    }

    /// Algorithm and input of a calculation, and whether the payload belongs to it.
    /// What belongs to the headers `absent` is left out.
    pub(crate) fn calculation(
        &mut self,
        name: &str,
        absent: &[String],
    ) -> Read<(ExprId, ExternArg, bool)> {
        let json = self.json;
        let c = json.calculations.iter().find(|c| c.name == name);
        let c = c.ok_or_else(|| self.unknown("calculation", name))?;
        let place = format!("calculation `{name}`");
        let mut input: Vec<Arg> = c
            .input
            .iter()
            .map(|v| Arg::new(v, &place))
            .collect::<Read<_>>()?;
        let before = input.len();
        input.retain(|a| !matches!(a, Arg::Named(kind, _) if kind == "payload"));
        let payload = input.len() < before;
        input.retain(|a| header_name(a).is_none_or(|h| !absent.contains(&h)));
        let algorithm = self.algorithm(&c.algo, Some(name))?;
        Ok((algorithm, self.data("", &input)?, payload))
    }

    /// The fields of the list whose number is `id`; none for 0 or none.
    fn listed(&mut self, lists: &[FieldList], id: Option<&Arg>) -> Read<ExternArg> {
        let Some(Arg::Number(id)) = id else {
            return self.data("", &[]);
        };
        let Some(list) = lists.iter().find(|l| id.to_i64() == Some(l.id)) else {
            return if id.to_i64() == Some(0) {
                self.data("", &[])
            } else {
                Err(self.unknown("field list", id.to_string()))
            };
        };
        let place = format!("field list `{}`", list.name);
        let fields: Vec<Arg> = list
            .elements
            .iter()
            .map(|v| Arg::new(v, &place))
            .collect::<Read<_>>()?;
        self.data(&list.name, &fields)
    }

    /// Values as one aggregate argument; headers count as their fields.
    fn data(&mut self, name: &str, args: &[Arg]) -> Read<ExternArg> {
        let mut values = Vec::new();
        for a in args {
            match a {
                Arg::Named(kind, _) if kind == "header" => {
                    let h = self.header_arg(a)?;
                    self.header_fields(&h, &mut values);
                }
                _ if self.is_varbit(a)? => {
                    let (place, ty) = self.field_arg(a)?;
                    values.push(self.read(place, ty));
                }
                _ => values.push(self.exact(a)?.expr),
            }
        }
        let mut fields = Vec::new();
        for (i, v) in values.iter().enumerate() {
            let ty = self.program.expr_type(*v);
            fields.push(Field {
                name: i.to_string(),
                ty,
                annotations: Vec::new(),
            });
        }
        let kind = if name.is_empty() {
            RecordKind::Tuple
        } else {
            RecordKind::Struct
        };
        let ty = self.program.types.intern(Type::Record {
            kind,
            name: name.into(),
            fields,
        });
        Ok(ExternArg::Fields { ty, values })
    }

    /// True for a field of variable width.
    pub(crate) fn is_varbit(&self, a: &Arg) -> Read<bool> {
        let Arg::Field(header, field) = a else {
            return Ok(false);
        };
        if field == "$valid$" {
            return Ok(false);
        }
        let h = self.header(header)?;
        let (_, ty) = self.field_of(&h.place, h.ty, field)?;
        Ok(matches!(
            self.program.types.get(ty),
            Some(Type::Varbit { .. })
        ))
    }

    fn header_fields(&mut self, h: &HeaderRef, values: &mut Vec<ExprId>) {
        let fields = self
            .program
            .types
            .get(h.ty)
            .and_then(Type::fields)
            .unwrap_or(&[])
            .to_vec();
        for (i, f) in (0u32..).zip(&fields) {
            values.push(self.read(h.place.field(i), f.ty));
        }
    }
}

/// The operator of a primitive that computes.
fn operator(primitive: &str) -> Option<&'static str> {
    Some(match primitive {
        "add" => "+",
        "subtract" => "-",
        "bit_xor" => "^",
        "bit_or" => "|",
        "bit_and" => "&",
        "shift_left" => "<<",
        "shift_right" => ">>",
        _ => return None,
    })
}

/// Headers of one calculation whose validity is looked at.
const MAX_VALIDITIES: usize = 4;

/// The header an operand belongs to.
fn header_name(arg: &Arg) -> Option<String> {
    match arg {
        Arg::Field(header, _) => Some(header.clone()),
        Arg::Named(kind, header) if kind == "header" => Some(header.clone()),
        _ => None,
    }
}

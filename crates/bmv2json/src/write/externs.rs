//! Externs as primitives.

use p4ir::{
    Const, ExprId, ExprKind, ExternArg, ExternCall, ExternCallee, ExternFunction, ExternMethod,
    Place, Type, TypeId,
};
use serde_json::{Value, json};

use super::json::{field, named, number, ones, op, operand};
use super::steps::Step;
use super::{Write, Writer};

/// The value of `egress_spec` that drops a packet in v1model.
const DROP_PORT: u32 = 511;

impl Writer<'_> {
    pub(super) fn extern_call(&mut self, call: &ExternCall) -> Write<Vec<Step>> {
        match &call.callee {
            ExternCallee::Method(id, method) => {
                let name = self.p.externs[*id].name.clone();
                self.method(*id, method, &name, call)
            }
            ExternCallee::Function(function) => self.function(function, call),
        }
    }

    fn input(&mut self, call: &ExternCall, i: usize) -> Write<ExprId> {
        match call.args.get(i) {
            Some(ExternArg::In(e)) => Ok(*e),
            _ => Err(self.error(format!(
                "an argument of `{}` that BMv2 does not take",
                call.callee.name()
            ))),
        }
    }

    fn input_operand(&mut self, call: &ExternCall, i: usize) -> Write<Value> {
        let e = self.input(call, i)?;
        self.argument(e)
    }

    fn output<'c>(&self, call: &'c ExternCall, i: usize) -> Write<&'c Place> {
        match call.args.get(i) {
            Some(ExternArg::Out(p) | ExternArg::InOut(p)) => Ok(p),
            _ => Err(self.error(format!(
                "an argument of `{}` that BMv2 does not take",
                call.callee.name()
            ))),
        }
    }

    /// A field that a primitive may store into, and how its value gets to the place.
    fn stored_to(&mut self, place: &Place, plain: bool) -> Write<(Value, Vec<Step>)> {
        let ty = self.type_of(place)?;
        let (width, signed) = self.stored(ty)?;
        if place.is_static() && (plain || !signed) {
            return Ok((self.scalar(place)?, Vec::new()));
        }
        let temp = self.temp(width, false);
        let mut value = temp.clone();
        if signed {
            value = operand(op("two_comp_mod", value, number(width)));
        }
        let after = self.at(place, &mut |w, place| {
            let target = w.scalar(place)?;
            Ok(vec![w.primitive("assign", vec![target, value.clone()])])
        })?;
        Ok((temp, after))
    }

    fn method(
        &mut self,
        id: p4ir::ExternId,
        method: &ExternMethod,
        name: &str,
        call: &ExternCall,
    ) -> Write<Vec<Step>> {
        let mut steps = Vec::new();
        match method {
            ExternMethod::Count => {
                let index = self.input_operand(call, 0)?;
                steps.push(self.primitive("count", vec![named("counter_array", name), index]));
            }
            ExternMethod::CountDirect => {}
            ExternMethod::ExecuteMeter => {
                let index = self.input_operand(call, 0)?;
                let (target, after) = self.stored_to(self.output(call, 1)?, false)?;
                steps.push(self.primitive(
                    "execute_meter",
                    vec![named("meter_array", name), index, target],
                ));
                steps.extend(after);
            }
            ExternMethod::ReadDirectMeter => {
                // BMv2 stores the colour before whichever action runs: in a field of ours, which
                // those actions read that ask.
                let colour = match self.meter_targets.get(&id) {
                    Some(target) => json!({ "type": "field", "value": target }),
                    None => self.temp(32, false),
                };
                self.meter_targets.insert(id, colour["value"].clone());
                let place = self.output(call, 0)?;
                let (width, signed) = self.stored(self.type_of(place)?)?;
                let value = match signed {
                    true => op("two_comp_mod", colour, number(width)),
                    false => op("&", colour, number(ones(width))),
                };
                let value = operand(value);
                steps.extend(self.at(place, &mut |w, place| {
                    let target = w.scalar(place)?;
                    Ok(vec![w.primitive("assign", vec![target, value.clone()])])
                })?);
            }
            ExternMethod::ReadRegister => {
                let (target, after) = self.stored_to(self.output(call, 0)?, false)?;
                let index = self.input_operand(call, 1)?;
                steps.push(self.primitive(
                    "register_read",
                    vec![target, named("register_array", name), index],
                ));
                steps.extend(after);
            }
            ExternMethod::WriteRegister => {
                let (index, value) = (self.input_operand(call, 0)?, self.input_operand(call, 1)?);
                steps.push(self.primitive(
                    "register_write",
                    vec![named("register_array", name), index, value],
                ));
            }
            ExternMethod::GetChecksum16 => {
                let Some(result) = &call.result else {
                    return Ok(steps);
                };
                let (before, input) = self.fields(call, 0)?;
                steps.extend(before);
                let calculation = self.calculation("csum16", input);
                let (target, after) = self.stored_to(result, true)?;
                let args = vec![target, number(0u32), calculation, number(0x10000u32)];
                steps.push(self.primitive("modify_field_with_hash_based_offset", args));
                steps.extend(after);
            }
            ExternMethod::EntryCell => {
                return Err(self.error(format!("direct register `{name}`")));
            }
            ExternMethod::Other(other) => {
                return Err(self.error(format!("method `{other}` of `{name}`")));
            }
        }
        Ok(steps)
    }

    fn function(&mut self, function: &ExternFunction, call: &ExternCall) -> Write<Vec<Step>> {
        let name = function.name();
        Ok(match function {
            ExternFunction::MarkToDrop => self.mark_to_drop(call)?,
            ExternFunction::Truncate => {
                let length = self.input_operand(call, 0)?;
                vec![self.primitive("truncate", vec![length])]
            }
            ExternFunction::Assert | ExternFunction::Assume => {
                let cond = self.input(call, 0)?;
                let cond = operand(self.cond(cond)?);
                vec![self.primitive(name, vec![cond])]
            }
            ExternFunction::LogMsg => self.log_msg(call)?,
            ExternFunction::Random => {
                let (target, after) = self.stored_to(self.output(call, 0)?, true)?;
                let (low, high) = (self.input_operand(call, 1)?, self.input_operand(call, 2)?);
                let mut steps =
                    vec![self.primitive("modify_field_rng_uniform", vec![target, low, high])];
                steps.extend(after);
                steps
            }
            ExternFunction::Hash => self.hash(call)?,
            ExternFunction::Digest => self.digest(call)?,
            ExternFunction::Clone
            | ExternFunction::Clone3
            | ExternFunction::ClonePreservingFieldList => self.clone_packet(call)?,
            ExternFunction::Resubmit | ExternFunction::ResubmitPreservingFieldList => {
                self.again("resubmit", call)?
            }
            ExternFunction::Recirculate | ExternFunction::RecirculatePreservingFieldList => {
                self.again("recirculate", call)?
            }
            _ => return Err(self.error(format!("extern function `{name}` in this block"))),
        })
    }

    /// The primitive acts on the packet's own standard metadata, whatever it is given. So a copy
    /// gets by assignment what the primitive would write.
    fn mark_to_drop(&mut self, call: &ExternCall) -> Write<Vec<Step>> {
        let place = self.output(call, 0)?.clone();
        if place == Place::var(self.blocks.standard_metadata) {
            return Ok(vec![self.primitive(
                "mark_to_drop",
                vec![named("header", "standard_metadata")],
            )]);
        }
        let ty = self.type_of(&place)?;
        let fields = self.p.types[ty].fields().unwrap_or(&[]);
        let position = |name| fields.iter().position(|f| f.name == name);
        let dropped = [
            (position("egress_spec"), DROP_PORT),
            (position("mcast_grp"), 0),
        ];
        let mut steps = Vec::new();
        for (field, value) in dropped {
            let Some(field) = field else { continue };
            steps.extend(self.at(&place.field(field as u32), &mut |w, place| {
                let target = w.scalar(place)?;
                Ok(vec![w.primitive("assign", vec![target, number(value)])])
            })?);
        }
        Ok(steps)
    }

    fn log_msg(&mut self, call: &ExternCall) -> Write<Vec<Step>> {
        let text = self.input(call, 0)?;
        let ExprKind::Const(Const::Str(text)) = self.p.exprs[text].kind.clone() else {
            return Err(self.error("`log_msg` without a string constant"));
        };
        let mut values = Vec::new();
        if let Some(ExternArg::Fields { values: given, .. }) = call.args.get(1) {
            for value in given {
                values.push(self.argument(*value)?);
            }
        }
        let values = json!({ "type": "parameters_vector", "value": values });
        Ok(vec![self.primitive(
            "log_msg",
            vec![named("string", &text), values],
        )])
    }

    /// The fields of an aggregate argument; values that are none are stored in one before.
    pub(super) fn fields(&mut self, call: &ExternCall, i: usize) -> Write<(Vec<Step>, Vec<Value>)> {
        let values = match call.args.get(i) {
            Some(ExternArg::Fields { values, .. }) => values.clone(),
            Some(ExternArg::In(value)) => vec![*value],
            _ => Vec::new(),
        };
        let (mut before, mut fields) = (Vec::new(), Vec::new());
        for value in values {
            let ty = self.p.expr_type(value);
            if self.p.types[ty].bits().is_some_and(|(width, _)| width == 0) {
                continue;
            }
            fields.push(
                match (&self.p.exprs[value].kind, self.plain_field(value)?) {
                    (_, Some(field)) => field,
                    (ExprKind::Const(constant), None) => {
                        let (width, _) = self.stored(ty)?;
                        let bits = match constant {
                            Const::Bits(bits) => bits.clone(),
                            Const::Bool(b) => u32::from(*b).into(),
                            Const::Error(i) | Const::Enum(i) => (*i).into(),
                            Const::Str(_) => return Err(self.error("a string among fields")),
                        };
                        let text = super::json::padded(&bits, width);
                        json!({ "type": "hexstr", "value": text, "bitwidth": width })
                    }
                    _ => {
                        let (width, signed) = self.stored(ty)?;
                        let temp = self.temp(width, signed);
                        let value = self.argument(value)?;
                        before.push(self.primitive("assign", vec![temp.clone(), value]));
                        temp
                    }
                },
            );
        }
        Ok((before, fields))
    }

    /// A new calculation, as an operand.
    pub(super) fn calculation(&mut self, algorithm: &str, input: Vec<Value>) -> Value {
        let id = self.calculations.len();
        let name = format!("calc_{id}");
        let made = self.placed(json!({
            "name": name, "id": id, "algo": algorithm, "input": input,
        }));
        self.calculations.push(made);
        named("calculation", &name)
    }

    /// The member of `HashAlgorithm` that an argument is.
    pub(super) fn algorithm(&mut self, call: &ExternCall, i: usize) -> Write<String> {
        let e = self.input(call, i)?;
        let expr = &self.p.exprs[e];
        match (&expr.kind, &self.p.types[expr.ty]) {
            (ExprKind::Const(Const::Enum(i)), Type::Enum { members, .. }) => {
                let name = members.get(*i as usize);
                // What a named calculation had when it was read is made anew.
                let name = name.and_then(|name| name.split('@').next());
                let name = name.map(str::to_owned);
                name.ok_or_else(|| self.error("an algorithm that there is not"))
            }
            _ => Err(self.error("an algorithm that is not known when the program is compiled")),
        }
    }

    fn hash(&mut self, call: &ExternCall) -> Write<Vec<Step>> {
        let algorithm = self.algorithm(call, 1)?;
        let (mut steps, input) = self.fields(call, 3)?;
        let base = self.input_operand(call, 2)?;
        let max = self.input_operand(call, 4)?;
        let calculation = self.calculation(&algorithm, input);
        let (target, after) = self.stored_to(self.output(call, 0)?, true)?;
        let args = vec![target, base, calculation, max];
        steps.push(self.primitive("modify_field_with_hash_based_offset", args));
        steps.extend(after);
        Ok(steps)
    }

    fn digest(&mut self, call: &ExternCall) -> Write<Vec<Step>> {
        let name = match call.args.get(1) {
            Some(ExternArg::Fields { ty, .. }) => self.record_name(*ty),
            _ => String::new(),
        };
        let (mut steps, elements) = self.taken(call, 1)?;
        let known = self
            .learn_lists
            .iter()
            .find(|l| l["name"] == *name && l["elements"] == json!(elements));
        let id = match known {
            Some(list) => list["id"].as_u64().unwrap_or(1),
            None => {
                let id = self.learn_lists.len() as u64 + 1;
                self.learn_lists
                    .push(json!({ "name": name, "id": id, "elements": elements }));
                id
            }
        };
        let receiver = self.input_operand(call, 0)?;
        steps.push(self.primitive("generate_digest", vec![receiver, number(id)]));
        Ok(steps)
    }

    /// The values of an aggregate argument as they are now, in fields of their own: BMv2 reads the
    /// fields of a digest at the end of ingress, and a digest holds what they are when it is made.
    /// Digests of one type share the fields.
    fn taken(&mut self, call: &ExternCall, i: usize) -> Write<(Vec<Step>, Vec<Value>)> {
        let (ty, values) = match call.args.get(i) {
            Some(ExternArg::Fields { ty, values }) => (*ty, values.clone()),
            Some(ExternArg::In(value)) => (self.p.expr_type(*value), vec![*value]),
            _ => return Ok((Vec::new(), Vec::new())),
        };
        let (mut steps, mut fields) = (Vec::new(), Vec::new());
        for (position, value) in values.into_iter().enumerate() {
            let (width, signed) = self.stored(self.p.expr_type(value))?;
            if width == 0 {
                continue;
            }
            let name = format!("digest.{}.{position}", p4ir::Entity::index(ty));
            if !self.temps.iter().any(|(known, ..)| *known == name) {
                self.temps.push((name.clone(), width, signed));
            }
            let target = field("scalars", &name);
            let value = self.argument(value)?;
            steps.push(self.primitive("assign", vec![target.clone(), value]));
            fields.push(target);
        }
        Ok((steps, fields))
    }

    fn record_name(&self, ty: TypeId) -> String {
        match &self.p.types[ty] {
            Type::Record { name, .. } => name.clone(),
            _ => String::new(),
        }
    }

    fn clone_packet(&mut self, call: &ExternCall) -> Write<Vec<Step>> {
        let kind = self.input(call, 0)?;
        let name = match self.p.exprs[kind].kind {
            ExprKind::Const(Const::Enum(0)) => "clone_ingress_pkt_to_egress",
            ExprKind::Const(Const::Enum(_)) => "clone_egress_pkt_to_egress",
            _ => {
                return Err(
                    self.error("a kind of clone that is not known when the program is compiled")
                );
            }
        };
        let session = self.input_operand(call, 1)?;
        let (mut steps, list) = self.kept(call, 2)?;
        steps.push(self.primitive(name, vec![session, list]));
        Ok(steps)
    }

    fn again(&mut self, name: &str, call: &ExternCall) -> Write<Vec<Step>> {
        let (mut steps, list) = self.kept(call, 0)?;
        steps.push(self.primitive(name, vec![list]));
        Ok(steps)
    }

    /// The number of the list of fields that a copy of the packet keeps.
    fn kept(&mut self, call: &ExternCall, i: usize) -> Write<(Vec<Step>, Value)> {
        let (before, elements) = match call.args.get(i) {
            Some(ExternArg::In(index))
                if self.p.types[self.p.expr_type(*index)].bits().is_some() =>
            {
                let ExprKind::Const(Const::Bits(index)) = &self.p.exprs[*index].kind else {
                    return Err(
                        self.error("a field list that is not known when the program is compiled")
                    );
                };
                let index = index.clone();
                let mut elements = Vec::new();
                let meta = Place::var(self.blocks.metadata);
                self.marked(&meta, false, &index.into(), &mut elements)?;
                (Vec::new(), elements)
            }
            Some(ExternArg::Fields { .. }) => self.fields(call, i)?,
            _ => (Vec::new(), Vec::new()),
        };
        let known = self
            .field_lists
            .iter()
            .find(|l| l["elements"] == json!(elements));
        let id = match known {
            Some(list) => list["id"].as_u64().unwrap_or(1),
            None => {
                let id = self.field_lists.len() as u64 + 1;
                let name = format!("fl_{id}");
                self.field_lists
                    .push(json!({ "name": name, "id": id, "elements": elements }));
                id
            }
        };
        Ok((before, number(id)))
    }

    /// Fields of the user's metadata that are marked `@field_list(index)`.
    fn marked(
        &mut self,
        place: &Place,
        all: bool,
        index: &p4ir::BigInt,
        out: &mut Vec<Value>,
    ) -> Write<()> {
        let ty = self.type_of(place)?;
        let Type::Record { fields, .. } = self.p.types[ty].clone() else {
            if all && self.p.types[ty].is_scalar() {
                let found = self.scalar(place)?;
                out.push(field(
                    found["value"][0].as_str().unwrap_or_default(),
                    found["value"][1].as_str().unwrap_or_default(),
                ));
            }
            return Ok(());
        };
        for (i, f) in (0u32..).zip(&fields) {
            let lists = f.annotations.iter().filter(|a| a.name == "field_list");
            let here = lists
                .flat_map(|a| &a.values)
                .any(|(_, v)| matches!(v, p4ir::AnnotationValue::Int(n) if n == index));
            self.marked(&place.field(i), all || here, index, out)?;
        }
        Ok(())
    }
}

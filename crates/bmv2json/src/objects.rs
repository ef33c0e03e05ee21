//! Actions and extern objects: counters, meters, registers, profiles, value sets.

use num_bigint::BigInt;
use p4ir::{
    Action, Const, Direction, ExprId, ExprKind, ExternInstance, ExternType, KeyKind, MatchKind,
    Param, Place, StmtKind, Type, ValueSet, ValueSetField, VarKind,
};

use crate::data::Reader;
use crate::error::Read;
use crate::model::{self, Arg};
use p4ir::limits::MAX_ELEMENTS;

/// Members of v1model's `HashAlgorithm`.
const ALGORITHMS: [&str; 8] = [
    "crc32",
    "crc32_custom",
    "crc16",
    "crc16_custom",
    "random",
    "identity",
    "csum16",
    "xor16",
];

impl Reader<'_> {
    /// Everything that is neither parser nor pipeline.
    pub(crate) fn objects(&mut self) -> Read<()> {
        let json = self.json;
        for a in &json.counter_arrays {
            let kind = self.member("CounterType", &["packets", "bytes", "packets_and_bytes"], 2);
            self.array(a, [ExternType::Counter, ExternType::DirectCounter], kind)?;
        }
        for a in &json.meter_arrays {
            let bytes = u32::from(a.kind.as_deref() == Some("bytes"));
            let kind = self.member("MeterType", &["packets", "bytes"], bytes);
            self.array(a, [ExternType::Meter, ExternType::DirectMeter], kind)?;
        }
        for a in &json.register_arrays {
            let size = self.elements(a)?;
            let ty = self.bits(a.bitwidth.unwrap_or(32), false);
            let mut instance = instance(&a.name, ExternType::Register, vec![("size", size)]);
            instance.type_args.push(ty);
            self.add_extern(instance);
        }
        for e in &json.extern_instances {
            self.extern_object(e)?;
        }
        for p in json.pipelines.iter().flat_map(|p| &p.action_profiles) {
            self.profile(p)?;
        }
        for v in &json.parse_vsets {
            let name = v.name.rsplit('.').next().unwrap_or(&v.name).to_string();
            let ty = self.bits(v.compressed_bitwidth, false);
            let field = ValueSetField {
                name,
                ty,
                kind: KeyKind::Match(MatchKind::Exact),
            };
            let id = self.program.value_sets.push(ValueSet {
                name: v.name.clone(),
                fields: vec![field],
                size: v.max_size.unwrap_or(1024),
                annotations: Vec::new(),
                span: self.span,
            });
            self.value_sets.insert(v.name.clone(), id);
        }
        json.actions.iter().try_for_each(|a| self.action(a))
    }

    /// The number of elements of an array, which is what it costs to make one.
    fn elements(&mut self, a: &model::Array) -> Read<ExprId> {
        let n = a.size.unwrap_or(0);
        if n > MAX_ELEMENTS {
            self.context = format!("array `{}`", a.name);
            return Err(self.malformed(format!("{n} elements are too many")));
        }
        Ok(self.size(n))
    }

    fn size(&mut self, n: u64) -> ExprId {
        self.constant(&BigInt::from(n), 32, false)
    }

    /// A member of a plain enum.
    fn member(&mut self, name: &str, members: &[&str], index: u32) -> ExprId {
        let members = members.iter().map(|m| (*m).to_string()).collect();
        let ty = self.program.types.intern(Type::Enum {
            name: name.into(),
            members,
        });
        self.program
            .add_expr(ExprKind::Const(Const::Enum(index)), ty)
    }

    /// A member of `CloneType`: I2E is 0, E2E is 1.
    pub(crate) fn clone_type(&mut self, index: u32) -> ExprId {
        self.member("CloneType", &["I2E", "E2E"], index)
    }

    /// A member of `HashAlgorithm`. The parameters of a custom CRC are those of a calculation, so
    /// each has a member of its own.
    pub(crate) fn algorithm(&mut self, name: &str, calculation: Option<&str>) -> Read<ExprId> {
        let name = if name == "cksum16" { "csum16" } else { name };
        let json = self.json;
        let custom = (1..).zip(&json.calculations).filter_map(|(number, c)| {
            let member = format!("{}@{number}:{}", c.algo, c.name);
            c.algo
                .ends_with("_custom")
                .then_some((c.name.as_str(), member))
        });
        let custom: Vec<(&str, String)> = custom.collect();
        let own = calculation.and_then(|of| custom.iter().position(|(name, _)| *name == of));
        let index = match own {
            Some(place) => Some(ALGORITHMS.len() + place),
            None => ALGORITHMS.iter().position(|known| *known == name),
        };
        let index = index.and_then(|index| u32::try_from(index).ok());
        let index = index.ok_or_else(|| self.unsupported(format!("algorithm `{name}`")))?;
        let custom = custom.iter().map(|(_, member)| member.as_str());
        let members: Vec<&str> = ALGORITHMS.into_iter().chain(custom).collect();
        Ok(self.member("HashAlgorithm", &members, index))
    }

    fn array(
        &mut self,
        a: &model::Array,
        [indexed, direct]: [ExternType; 2],
        kind: ExprId,
    ) -> Read<()> {
        if a.is_direct {
            self.add_extern(instance(&a.name, direct, vec![("type", kind)]));
        } else {
            let size = self.elements(a)?;
            self.add_extern(instance(
                &a.name,
                indexed,
                vec![("size", size), ("type", kind)],
            ));
        }
        Ok(())
    }

    /// An extern object of another architecture than v1model: for executors that know its type.
    fn extern_object(&mut self, e: &model::ExternObject) -> Read<()> {
        self.context = format!("extern instance `{}`", e.name);
        let mut made = instance(&e.name, ExternType::from_name(&e.kind), Vec::new());
        for a in &e.attribute_values {
            let value = match Arg::new(&a.value, &self.context)? {
                Arg::Number(n) => {
                    let width = u32::try_from(n.bits()).unwrap_or(u32::MAX).max(32);
                    self.constant(&n, width, false)
                }
                Arg::Named(_, text) => {
                    let ty = self.program.types.intern(Type::String);
                    self.program.add_expr(ExprKind::Const(Const::Str(text)), ty)
                }
                _ => return Err(self.unsupported(format!("attribute `{}`", a.name))),
            };
            made.args.push((a.name.clone(), value));
        }
        self.add_extern(made);
        Ok(())
    }

    fn profile(&mut self, p: &model::Profile) -> Read<()> {
        self.context = format!("action profile `{}`", p.name);
        let size = self.size(p.max_size);
        let made = match &p.selector {
            None => instance(&p.name, ExternType::ActionProfile, vec![("size", size)]),
            Some(s) => {
                let algorithm = self.algorithm(&s.algo, None)?;
                let width = self.size(64); // BMv2 takes the hash as it is
                let args = vec![
                    ("algorithm", algorithm),
                    ("size", size),
                    ("outputWidth", width),
                ];
                instance(&p.name, ExternType::ActionSelector, args)
            }
        };
        self.add_extern(made);
        Ok(())
    }

    fn action(&mut self, a: &model::Action) -> Read<()> {
        self.context = format!("action `{}`", a.name);
        self.action_data.clear();
        let mut params = Vec::new();
        for d in &a.runtime_data {
            let ty = self.bits(d.bitwidth, false);
            let var = self.var(&d.name, ty, VarKind::Param);
            self.action_data.push((var, d.bitwidth));
            params.push(Param {
                name: d.name.clone(),
                direction: Direction::None,
                var,
            });
        }
        let body = self.block(|r| r.jumping_primitives(&a.primitives))?;
        self.action_data.clear();
        let id = self.program.actions.push(Action {
            name: a.name.clone(),
            params,
            body,
            annotations: Vec::new(),
            span: self.span,
        });
        self.actions.insert(a.id, id);
        Ok(())
    }

    /// Makes headers invalid: the other members of a union of which one became valid.
    pub(crate) fn invalidate(&mut self, others: &[Place]) {
        for place in others {
            self.emit(StmtKind::SetInvalid(place.clone()));
        }
    }
}

fn instance(name: &str, ty: ExternType, args: Vec<(&str, ExprId)>) -> ExternInstance {
    ExternInstance {
        name: name.into(),
        ty,
        type_args: Vec::new(),
        args: args.into_iter().map(|(n, e)| (n.to_string(), e)).collect(),
        annotations: Vec::new(),
        span: p4ir::Span::default(),
    }
}

//! Storage: which header, stack or field of the file a place is.

use std::collections::{BTreeMap, BTreeSet};

use p4ir::{
    BigUint, ExprId, ExprKind, Place, Program, Projection, RecordKind, Type, TypeId, V1Model, VarId,
};
use serde_json::{Map, Value, json};

use super::{Write, Writer};

/// What a place without run-time indices is.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    /// A field of this header or metadata.
    Scalar(String, String),
    /// A header.
    Header(String),
    /// A stack of headers.
    Stack(String, u32),
    /// A header union.
    Union(String),
    /// A stack of unions.
    UnionStack(String, u32),
    /// Several places: fields of a struct, elements of an array.
    Several(Vec<Place>),
}

/// A place and the conditions under which it is meant: index expressions and their values.
pub(super) type Alternative = (Vec<(ExprId, u32)>, Place);

/// Most alternatives of one place.
const MAX_ALTERNATIVES: usize = 4096;

/// Most operations of one place: the format has no run-time index, so each alternative repeats the
/// index expressions, and an index inside an index multiplies.
const MAX_OPERATIONS: u64 = 1 << 12;

/// Names that the format itself uses.
const RESERVED: [&str; 2] = ["scalars", "standard_metadata"];

/// A name for every variable: that of the source, with a number where several have it.
pub(super) fn names(p: &Program, blocks: &V1Model) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let top = p.types[p.vars[blocks.headers].ty].fields().unwrap_or(&[]);
    let taken = top.iter().map(|f| f.name.as_str()).chain(RESERVED);
    for name in taken.chain(p.vars.values().map(|v| v.name.as_str())) {
        *count.entry(name).or_default() += 1;
    }
    let name = |(id, var): (VarId, &p4ir::Var)| match id {
        id if id == blocks.standard_metadata => "standard_metadata".to_owned(),
        _ if var.name.is_empty() || count.get(&*var.name) != Some(&1) => {
            format!("{}_{}", var.name, p4ir::Entity::index(id))
        }
        _ => var.name.clone(),
    };
    p.vars.iter().map(name).collect()
}

impl Writer<'_> {
    pub(super) fn type_of(&self, place: &Place) -> Write<TypeId> {
        let ty = self.p.place_type(place);
        ty.ok_or_else(|| self.error("a place that its type does not have"))
    }

    /// The places that one with run-time indices may be.
    pub(super) fn alternatives(&self, place: &Place) -> Write<Vec<Alternative>> {
        let place = &self.renamed(place);
        let mut all: Vec<Alternative> = vec![(Vec::new(), Place::var(place.var))];
        for step in &place.path {
            let Projection::DynIndex(index) = step else {
                for (_, place) in &mut all {
                    place.path.push(*step);
                }
                continue;
            };
            let mut next = Vec::new();
            for (conditions, place) in &all {
                let Type::Stack { size, .. } = &self.p.types[self.type_of(place)?] else {
                    return Err(self.error("an index into what is no stack"));
                };
                for i in 0..*size {
                    let mut conditions = conditions.clone();
                    conditions.push((*index, i));
                    next.push((conditions, place.project(Projection::Index(i))));
                }
                if next.len() > MAX_ALTERNATIVES {
                    return Err(self.error(format!(
                        "an index known at run time only, into more than {MAX_ALTERNATIVES} elements"
                    )));
                }
            }
            all = next;
        }
        if place.is_static() {
            return Ok(all);
        }
        let operations = self.operations_of_place(place, &mut BTreeMap::new());
        if operations > MAX_OPERATIONS {
            return Err(self.error(format!(
                "an index known at run time only inside others, {operations} operations where {MAX_OPERATIONS} are the \
                 most; assign the inner index to a variable first"
            )));
        }
        Ok(all)
    }

    /// The operations that a place is written as: each of its alternatives repeats its indices.
    fn operations_of_place(&self, place: &Place, known: &mut BTreeMap<ExprId, u64>) -> u64 {
        let mut prefix = Place::var(place.var);
        let (mut alternatives, mut indices) = (1_u64, 1_u64);
        for step in &place.path {
            let Projection::DynIndex(index) = step else {
                prefix.path.push(*step);
                continue;
            };
            if let Some(Type::Stack { size, .. }) =
                self.p.place_type(&prefix).map(|ty| &self.p.types[ty])
            {
                alternatives = alternatives.saturating_mul((*size).into());
            }
            indices = indices.saturating_add(self.operations(*index, known));
            prefix.path.push(Projection::Index(0));
        }
        alternatives.saturating_mul(indices)
    }

    /// The operations that an expression is written as.
    fn operations(&self, id: ExprId, known: &mut BTreeMap<ExprId, u64>) -> u64 {
        if let Some(operations) = known.get(&id) {
            return *operations;
        }
        let operations = match &self.p.exprs[id].kind {
            ExprKind::Read(place) | ExprKind::IsValid(place) => {
                self.operations_of_place(place, known)
            }
            kind => {
                let operands = kind.operands();
                let all = operands
                    .iter()
                    .map(|operand| self.operations(*operand, known));
                all.fold(1, u64::saturating_add)
            }
        };
        known.insert(id, operations);
        operations
    }

    /// What a place is, and that it is used.
    pub(super) fn spot(&mut self, place: &Place) -> Write<Spot> {
        let place = &self.renamed(place);
        self.used.insert(place.var);
        let top = self.p.vars[place.var].ty;
        let root = self.names[p4ir::Entity::index(place.var)].clone();
        let standard = place.var == self.blocks.standard_metadata;
        let mut at = match place.var == self.blocks.headers {
            true => String::new(),
            false => root.clone(),
        };
        // The header that the place is in, and the name of the part within it.
        let mut header: Option<(String, String)> = None;
        let mut ty = top;
        let is_header = |ty: TypeId| self.p.types[ty].is_header();
        if is_header(ty) {
            header = Some((at.clone(), String::new()));
        }
        for step in &place.path {
            let (name, next) = match (step, &self.p.types[ty]) {
                (Projection::Field(i), Type::Record { fields, .. }) => {
                    let field = &fields[*i as usize];
                    (
                        joined(header.as_ref().map_or(&at, |h| &h.1), &field.name),
                        field.ty,
                    )
                }
                (Projection::Index(i), Type::Stack { element, .. }) => {
                    let base = header.as_ref().map_or(&at, |h| &h.1);
                    (format!("{base}[{i}]"), *element)
                }
                _ => return Err(self.error("a place that its type does not have")),
            };
            match &mut header {
                Some((_, part)) => *part = name,
                None => at = name,
            }
            ty = next;
            if header.is_none() && is_header(ty) {
                header = Some((at.clone(), String::new()));
            }
        }
        self.sayable(ty)?;
        Ok(match (&self.p.types[ty], header) {
            (
                Type::Record {
                    kind: RecordKind::Header,
                    ..
                },
                Some((name, _)),
            ) => Spot::Header(name),
            (
                Type::Record {
                    kind: RecordKind::Union,
                    ..
                },
                _,
            ) => Spot::Union(at),
            (Type::Record { fields, .. }, _) => {
                Spot::Several((0..fields.len() as u32).map(|i| place.field(i)).collect())
            }
            (Type::Stack { element, size }, _) => match &self.p.types[*element] {
                Type::Record {
                    kind: RecordKind::Header,
                    ..
                } => Spot::Stack(at, *size),
                Type::Record {
                    kind: RecordKind::Union,
                    ..
                } => Spot::UnionStack(at, *size),
                _ => Spot::Several(
                    (0..*size)
                        .map(|i| place.project(Projection::Index(i)))
                        .collect(),
                ),
            },
            (_, Some((name, part))) => Spot::Scalar(name, part),
            (Type::Varbit { .. }, None) => Spot::Scalar(at, "value".into()),
            (_, None) if standard => {
                let part = at.split_once('.').map_or(at.as_str(), |(_, rest)| rest);
                Spot::Scalar("standard_metadata".into(), part.into())
            }
            (_, None) => Spot::Scalar("scalars".into(), at),
        })
    }

    /// Refuses headers that BMv2 does not have, also as elements of stacks and members of unions.
    fn sayable(&self, ty: TypeId) -> Write<()> {
        match &self.p.types[ty] {
            Type::Stack { element, .. } => self.sayable(*element),
            Type::Record {
                kind: RecordKind::Union,
                fields,
                ..
            } => fields.iter().try_for_each(|f| self.sayable(f.ty)),
            Type::Record {
                kind: RecordKind::Header,
                name,
                ..
            } => self.whole_bytes(ty, name),
            _ => Ok(()),
        }
    }

    fn whole_bytes(&self, ty: TypeId, name: &str) -> Write<()> {
        let (mut fixed, mut varying) = (0, Vec::new());
        self.header_bits(ty, &mut fixed, &mut varying);
        if varying.len() > 1 {
            return Err(self.error(format!(
                "header `{name}` has {} varbit fields, and BMv2 takes one: split it into several headers",
                varying.len()
            )));
        }
        let odd = fixed % 8;
        if odd > 0 {
            return Err(self.error(format!(
                "header `{name}` has {fixed} bits, and BMv2 takes headers of whole bytes only: add a field of {} bits, or \
                 join it with the header beside it",
                8 - odd
            )));
        }
        match varying.first() {
            Some(max) if max % 8 > 0 => Err(self.error(format!(
                "the varbit field of header `{name}` has up to {max} bits, and BMv2 takes whole bytes only: make it \
                 `varbit<{}>`",
                max.next_multiple_of(8)
            ))),
            _ => Ok(()),
        }
    }

    /// Bits of the fields of fixed width, and the greatest widths of the others.
    fn header_bits(&self, ty: TypeId, fixed: &mut u64, varying: &mut Vec<u32>) {
        match &self.p.types[ty] {
            Type::Varbit { max } => varying.push(*max),
            Type::Record { fields, .. } => {
                for f in fields {
                    self.header_bits(f.ty, fixed, varying);
                }
            }
            _ => *fixed += self.stored(ty).map_or(0, |(width, _)| u64::from(width)),
        }
    }

    /// A new field of `scalars`.
    pub(super) fn temp(&mut self, width: u32, signed: bool) -> Value {
        let name = format!("tmp.{}", self.number());
        self.temps.push((name.clone(), width, signed));
        super::json::field("scalars", &name)
    }

    /// Width and signedness of a scalar as it is stored.
    pub(super) fn stored(&self, ty: TypeId) -> Write<(u32, bool)> {
        match &self.p.types[ty] {
            Type::Bits { width, signed } => Ok((*width, *signed)),
            Type::Bool => Ok((1, false)),
            Type::Error | Type::Enum { .. } => Ok((32, false)),
            _ => Err(self.error("a value of variable width where BMv2 wants a number")),
        }
    }

    // ---- declarations ----

    /// `header_types`, `headers` and the rest, of all that is used.
    pub(super) fn storage(&mut self) -> Write<Value> {
        let mut d = Declared::default();
        let used = self.used.clone();
        let standard = self.blocks.standard_metadata;
        for var in used.iter().filter(|v| **v != standard) {
            self.span = self.p.vars[*var].span;
            self.declare(&Place::var(*var), &mut d)?;
        }
        let mut scalars = std::mem::take(&mut d.scalars);
        let temps = self.temps.iter();
        scalars.extend(temps.map(|(name, width, signed)| json!([name, width, signed])));
        d.metadata("scalars", "scalars_0", scalars);
        let mut fields = Vec::new();
        for f in self.p.types[self.p.vars[standard].ty]
            .fields()
            .unwrap_or(&[])
        {
            let (width, signed) = self.stored(f.ty)?;
            fields.push(json!([f.name, width, signed]));
        }
        d.metadata("standard_metadata", "standard_metadata", fields);
        Ok(d.finish())
    }

    fn declare(&mut self, place: &Place, d: &mut Declared) -> Write<()> {
        let ty = self.type_of(place)?;
        match self.spot(place)? {
            Spot::Scalar(header, field) => match &self.p.types[ty] {
                Type::Varbit { max } => {
                    let name = format!("varbit_{max}");
                    let fields = vec![json!(["value", "*"])];
                    d.header_type(&name, &name, fields, Some(max.div_ceil(8)));
                    d.header(&header, &name, false);
                }
                _ if header == "scalars" => {
                    let (width, signed) = self.stored(ty)?;
                    if width > 0 {
                        d.scalars.push(json!([field, width, signed]));
                    }
                }
                _ => {}
            },
            Spot::Header(name) => {
                let header_type = self.declare_type(ty, d)?;
                d.header(&name, &header_type, false);
            }
            Spot::Stack(name, size) => {
                let Type::Stack { element, .. } = self.p.types[ty] else {
                    return Ok(());
                };
                let header_type = self.declare_type(element, d)?;
                let ids: Vec<usize> = (0..size)
                    .map(|i| d.header(&format!("{name}[{i}]"), &header_type, false))
                    .collect();
                let id = d.stacks.len();
                d.stacks.push(json!({ "name": name, "id": id, "header_type": header_type, "size": size, "header_ids": ids }));
            }
            Spot::Union(name) => {
                self.declare_union(place, ty, &name, d)?;
            }
            Spot::UnionStack(name, size) => {
                let Type::Stack { element, .. } = self.p.types[ty] else {
                    return Ok(());
                };
                let mut ids = Vec::new();
                let mut union_type = String::new();
                for i in 0..size {
                    let at = place.project(Projection::Index(i));
                    let (id, name) =
                        self.declare_union(&at, element, &format!("{name}[{i}]"), d)?;
                    ids.push(id);
                    union_type = name;
                }
                let id = d.union_stacks.len();
                d.union_stacks.push(json!({ "name": name, "id": id, "union_type": union_type, "size": size, "header_union_ids": ids }));
            }
            Spot::Several(parts) => {
                for part in parts {
                    self.declare(&part, d)?;
                }
            }
        }
        Ok(())
    }

    fn declare_union(
        &mut self,
        place: &Place,
        ty: TypeId,
        name: &str,
        d: &mut Declared,
    ) -> Write<(usize, String)> {
        let Type::Record {
            name: type_name,
            fields,
            ..
        } = self.p.types[ty].clone()
        else {
            return Err(self.error("a union that is none"));
        };
        let mut ids = Vec::new();
        let mut members = Vec::new();
        for (i, f) in (0u32..).zip(&fields) {
            let header_type = self.declare_type(f.ty, d)?;
            if let Spot::Header(name) = self.spot(&place.field(i))? {
                ids.push(d.header(&name, &header_type, false));
            }
            members.push(json!([f.name, header_type]));
        }
        let type_name = d.type_name(ty, &type_name);
        if d.union_names.insert(type_name.clone()) {
            let id = d.union_types.len();
            d.union_types
                .push(json!({ "name": type_name, "id": id, "headers": members }));
        }
        let id = d.unions.len();
        d.unions
            .push(json!({ "name": name, "id": id, "union_type": type_name, "header_ids": ids }));
        Ok((id, type_name))
    }

    /// The name of a header type, declared if it is new.
    fn declare_type(&mut self, ty: TypeId, d: &mut Declared) -> Write<String> {
        let Type::Record { name, .. } = &self.p.types[ty] else {
            return Err(self.error("a header that is none"));
        };
        let name = d.type_name(ty, name);
        let mut fields = Vec::new();
        let mut bits = 0;
        let varying = self.header_fields(ty, "", &mut fields, &mut bits)?;
        let longest = varying.map(|max| (bits + max).div_ceil(8));
        d.header_type(&name, &name, fields, longest);
        Ok(name)
    }

    /// Adds the fields of a header; the longest length of that of variable width.
    fn header_fields(
        &self,
        ty: TypeId,
        prefix: &str,
        out: &mut Vec<Value>,
        bits: &mut u32,
    ) -> Write<Option<u32>> {
        let mut varying = None;
        let mut add = |w: &Self, name: String, ty: TypeId| -> Write<()> {
            match &w.p.types[ty] {
                Type::Varbit { max } => {
                    varying = Some(*max);
                    out.push(json!([name, "*"]));
                }
                Type::Record { .. } | Type::Stack { .. } => {
                    let inner = w.header_fields(ty, &name, out, bits)?;
                    varying = varying.or(inner);
                }
                _ => {
                    let (width, signed) = w.stored(ty)?;
                    *bits += width;
                    if width > 0 {
                        out.push(json!([name, width, signed]));
                    }
                }
            }
            Ok(())
        };
        match &self.p.types[ty] {
            Type::Record { fields, .. } => {
                for f in fields {
                    add(self, joined(prefix, &f.name), f.ty)?;
                }
            }
            Type::Stack { element, size } => {
                for i in 0..*size {
                    add(self, format!("{prefix}[{i}]"), *element)?;
                }
            }
            _ => {}
        }
        Ok(varying)
    }

    /// What fields of standard metadata are called in `simple_switch`.
    pub(super) fn aliases(&self) -> Vec<Value> {
        let ty = self.p.vars[self.blocks.standard_metadata].ty;
        let mut list = Vec::new();
        for f in self.p.types[ty].fields().unwrap_or(&[]) {
            for a in f.annotations.iter().filter(|a| a.name == "alias") {
                if let Some((_, p4ir::AnnotationValue::Str(alias))) = a.values.first() {
                    list.push(json!([alias, ["standard_metadata", f.name]]));
                }
            }
        }
        list
    }
}

fn joined(before: &str, name: &str) -> String {
    match before.is_empty() {
        true => name.to_owned(),
        false => format!("{before}.{name}"),
    }
}

/// Declarations while they are collected.
#[derive(Default)]
struct Declared {
    type_names: BTreeMap<TypeId, String>,
    known: BTreeSet<String>,
    union_names: BTreeSet<String>,
    types: Vec<Value>,
    headers: Vec<Value>,
    stacks: Vec<Value>,
    union_types: Vec<Value>,
    unions: Vec<Value>,
    union_stacks: Vec<Value>,
    scalars: Vec<Value>,
}

impl Declared {
    /// The name of a type: its own, with a number where another type has it.
    fn type_name(&mut self, ty: TypeId, name: &str) -> String {
        if let Some(known) = self.type_names.get(&ty) {
            return known.clone();
        }
        let taken: BTreeSet<&String> = self.type_names.values().collect();
        let unique = match taken.contains(&name.to_owned()) || name.is_empty() {
            true => format!("{name}_{ty}"),
            false => name.to_owned(),
        };
        self.type_names.insert(ty, unique.clone());
        unique
    }

    fn header_type(&mut self, key: &str, name: &str, fields: Vec<Value>, longest: Option<u32>) {
        if !self.known.insert(key.to_owned()) {
            return;
        }
        let id = self.types.len();
        let mut made = json!({ "name": name, "id": id, "fields": fields });
        if let (Some(longest), Some(made)) = (longest, made.as_object_mut()) {
            made.insert("max_length".into(), json!(longest));
        }
        self.types.push(made);
    }

    fn header(&mut self, name: &str, header_type: &str, metadata: bool) -> usize {
        let id = self.headers.len();
        self.headers.push(json!({
            "name": name, "id": id, "header_type": header_type, "metadata": metadata, "pi_omit": metadata,
        }));
        id
    }

    fn metadata(&mut self, name: &str, header_type: &str, mut fields: Vec<Value>) {
        // BMv2 wants whole bytes; what no packet holds can be filled up.
        let width = |f: &Value| f.get(1).and_then(Value::as_u64).unwrap_or(0);
        let odd = fields.iter().map(width).sum::<u64>() % 8;
        if odd > 0 {
            fields.push(json!(["_padding", 8 - odd, false]));
        }
        self.header_type(name, header_type, fields, None);
        self.header(name, header_type, true);
    }

    fn finish(self) -> Value {
        let mut map = Map::new();
        let parts = [
            ("header_types", self.types),
            ("headers", self.headers),
            ("header_stacks", self.stacks),
            ("header_union_types", self.union_types),
            ("header_unions", self.unions),
            ("header_union_stacks", self.union_stacks),
        ];
        for (name, list) in parts {
            map.insert(name.into(), Value::Array(list));
        }
        Value::Object(map)
    }
}

/// Bits of a constant in two's complement as the number that they stand for.
pub(super) fn signed_text(bits: &BigUint, width: u32, signed: bool) -> String {
    match signed && width > 0 && bits.bit(u64::from(width) - 1) {
        true => format!("-{:#x}", (BigUint::from(1u32) << width) - bits),
        false => format!("{bits:#x}"),
    }
}

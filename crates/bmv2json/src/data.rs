//! The storage: headers, stacks, unions and metadata, and the names under which the rest of the
//! file refers to them.

use std::collections::{BTreeMap, BTreeSet};

use p4ir::{
    ActionId, CORE_ERRORS, Direction, Entity as _, ExternId, ExternInstance, Field, Param, Place,
    Program, Projection, RecordKind, Span, Stmt, StmtKind, Type, TypeId, ValueSetId, Var, VarId,
    VarKind,
};

use crate::model::{HeaderType, Json, SourceInfo};
use crate::older::BESIDE_STANDARD;

use crate::error::{Bmv2Error, Read};
use p4ir::limits::MAX_BITS;

/// A header, and the other members if it is in a union.
#[derive(Debug, Clone)]
pub(crate) struct HeaderRef {
    pub(crate) place: Place,
    pub(crate) ty: TypeId,
    /// Metadata has no validity.
    pub(crate) metadata: bool,
    /// Members of the same union: at most one of all is valid.
    pub(crate) others: Vec<Place>,
}

/// A stack of headers or unions.
#[derive(Debug, Clone)]
pub(crate) struct StackRef {
    pub(crate) place: Place,
    pub(crate) element: TypeId,
    pub(crate) size: u32,
}

/// Turns a file into a program, part by part.
pub(crate) struct Reader<'j> {
    pub(crate) json: &'j Json,
    pub(crate) program: Program,
    /// The program's error of each number that the file has for one.
    pub(crate) errors: BTreeMap<u32, u32>,
    pub(crate) headers: BTreeMap<String, HeaderRef>,
    pub(crate) stacks: BTreeMap<String, StackRef>,
    pub(crate) unions: BTreeMap<String, Place>,
    /// Headers, user metadata, standard metadata.
    pub(crate) blocks: [VarId; 3],
    pub(crate) actions: BTreeMap<i64, ActionId>,
    pub(crate) externs: BTreeMap<String, ExternId>,
    pub(crate) value_sets: BTreeMap<String, ValueSetId>,
    /// Value sets whose fields the keys of a select have told.
    pub(crate) fitted: BTreeSet<ValueSetId>,
    /// Action data of the action being read.
    pub(crate) action_data: Vec<(VarId, u32)>,
    /// Statements being made.
    pub(crate) out: Vec<Stmt>,
    /// In a parser a stack access out of bounds is an error.
    pub(crate) in_parser: bool,
    /// Place in the P4 source of what is being read.
    pub(crate) span: Span,
    /// What is being read, for messages.
    pub(crate) context: String,
}

impl<'j> Reader<'j> {
    pub(crate) fn new(json: &'j Json) -> Read<Self> {
        let nowhere = VarId::new(0);
        let mut r = Reader {
            json,
            program: Program::default(),
            errors: BTreeMap::new(),
            headers: BTreeMap::new(),
            stacks: BTreeMap::new(),
            unions: BTreeMap::new(),
            blocks: [nowhere; 3],
            actions: BTreeMap::new(),
            externs: BTreeMap::new(),
            value_sets: BTreeMap::new(),
            fitted: BTreeSet::new(),
            action_data: Vec::new(),
            out: Vec::new(),
            in_parser: false,
            span: Span::default(),
            context: "header_types".into(),
        };
        r.errors()?;
        r.storage()?;
        Ok(r)
    }

    // ---- messages ----

    pub(crate) fn unknown(&self, kind: &'static str, name: impl Into<String>) -> Bmv2Error {
        Bmv2Error::Unknown {
            place: self.context.clone(),
            kind,
            name: name.into(),
        }
    }

    pub(crate) fn unsupported(&self, what: impl Into<String>) -> Bmv2Error {
        Bmv2Error::Unsupported {
            place: self.context.clone(),
            what: what.into(),
        }
    }

    pub(crate) fn malformed(&self, why: impl Into<String>) -> Bmv2Error {
        Bmv2Error::Malformed {
            place: self.context.clone(),
            why: why.into(),
        }
    }

    // ---- statements ----

    pub(crate) fn emit(&mut self, kind: StmtKind) {
        self.out.push(Stmt {
            kind,
            span: self.span,
        });
    }

    /// Sets the place of the statements that follow.
    pub(crate) fn at(&mut self, info: Option<&SourceInfo>) {
        self.span = match info {
            None => Span::default(),
            Some(s) => {
                let files = &mut self.program.files;
                let known = files.iter().position(|f| *f == s.filename);
                let file = known.unwrap_or_else(|| {
                    files.push(s.filename.clone());
                    files.len() - 1
                });
                let file = u32::try_from(file).unwrap_or(0);
                let place = Span {
                    file,
                    line: s.line,
                    column: s.column.saturating_add(1),
                };
                self.program.add_excerpt(place, &s.source_fragment);
                place
            }
        };
    }

    /// The statements that `f` makes.
    pub(crate) fn block(&mut self, f: impl FnOnce(&mut Self) -> Read<()>) -> Read<Vec<Stmt>> {
        let before = std::mem::take(&mut self.out);
        let r = f(self);
        let made = std::mem::replace(&mut self.out, before);
        r.map(|()| made)
    }

    pub(crate) fn var(&mut self, name: &str, ty: TypeId, kind: VarKind) -> VarId {
        self.program.vars.push(Var {
            name: name.into(),
            ty,
            kind,
            span: self.span,
        })
    }

    /// The first `n` of headers, metadata and standard metadata as parameters.
    pub(crate) fn shared_params(&self, n: usize) -> Vec<Param> {
        let names = ["hdr", "meta", "standard_metadata"];
        let param = |(name, var): (&str, VarId)| Param {
            name: name.into(),
            direction: Direction::InOut,
            var,
        };
        names
            .into_iter()
            .zip(self.blocks)
            .take(n)
            .map(param)
            .collect()
    }

    pub(crate) fn add_extern(&mut self, instance: ExternInstance) {
        let name = instance.name.clone();
        let id = self.program.externs.push(instance);
        self.externs.insert(name, id);
    }

    // ---- storage ----

    /// The program's errors: those of `core.p4` first, then the others by number. Core errors that
    /// the file lacks get the numbers behind its own, as BMv2 gives them.
    fn errors(&mut self) -> Read<()> {
        self.context = "errors".into();
        let mut names = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for (name, number) in &self.json.errors {
            let again = names.insert(name.as_str(), *number).is_some();
            if again || numbers.insert(*number, name.as_str()).is_some() {
                return Err(self.malformed(format!(
                    "error `{name}`, number {number}: one of both is not new"
                )));
            }
        }
        let highest = numbers.last_key_value().map(|(number, _)| *number);
        let mut next = highest.map_or(Some(0), |n| n.checked_add(1));
        for core in CORE_ERRORS {
            let number = match names.get(core) {
                Some(number) => *number,
                None => {
                    let free =
                        next.ok_or_else(|| self.malformed("error numbers that are too large"))?;
                    next = free.checked_add(1);
                    free
                }
            };
            self.add_error(core, number);
        }
        for (number, name) in numbers {
            if !CORE_ERRORS.contains(&name) {
                self.add_error(name, number);
            }
        }
        Ok(())
    }

    fn add_error(&mut self, name: &str, number: u32) {
        let index = u32::try_from(self.program.errors.len()).unwrap_or(u32::MAX);
        self.program.errors.push(name.into());
        self.errors.insert(number, index);
    }

    fn storage(&mut self) -> Read<()> {
        let mut types = BTreeMap::new();
        for t in &self.json.header_types {
            let header = self.record(t, RecordKind::Header)?;
            let fields = self.record(t, RecordKind::Struct)?;
            types.insert(t.name.as_str(), (header, fields));
        }
        self.context = "headers".into();
        let by_id: BTreeMap<i64, usize> = self
            .json
            .headers
            .iter()
            .enumerate()
            .map(|(i, h)| (h.id, i))
            .collect();
        let mut parts = FieldLists::default();
        let mut placed: BTreeMap<usize, Vec<Projection>> = BTreeMap::new();
        self.stack_parts(&types, &by_id, &mut parts, &mut placed)?;
        self.union_parts(&types, &by_id, &mut parts, &mut placed)?;
        let mut metadata = FieldLists::default();
        let mut standard = None;
        for (i, h) in self.json.headers.iter().enumerate() {
            let &(header, record) = types
                .get(h.header_type.as_str())
                .ok_or_else(|| self.unknown("header type", h.header_type.as_str()))?;
            match (h.metadata, h.name.as_str()) {
                (true, "standard_metadata") => standard = Some(record),
                (true, name) if BESIDE_STANDARD.contains(&name) => {}
                (true, name) => {
                    let path = vec![metadata.add(name, record)];
                    placed.insert(i, path);
                }
                (false, name) => {
                    placed
                        .entry(i)
                        .or_insert_with(|| vec![parts.add(name, header)]);
                }
            }
        }
        let standard = standard.ok_or_else(|| self.unknown("header", "standard_metadata"))?;
        if let Some(name) = parts.duplicate().or_else(|| metadata.duplicate()) {
            return Err(
                self.malformed(format!("two headers, stacks or unions are called `{name}`"))
            );
        }
        let headers = self.program.types.intern(parts.record("headers"));
        let user = self.program.types.intern(metadata.record("metadata"));
        self.blocks = [
            self.var("hdr", headers, VarKind::Param),
            self.var("meta", user, VarKind::Param),
            self.var("standard_metadata", standard, VarKind::Param),
        ];
        self.name_headers(&types, &placed);
        self.name_stacks_and_unions(&parts)
    }

    /// The type of a header, or of metadata (without validity).
    fn record(&mut self, t: &HeaderType, kind: RecordKind) -> Read<TypeId> {
        self.context = format!("header type `{}`", t.name);
        let width = |f: &[serde_json::Value]| f.get(1).and_then(serde_json::Value::as_u64);
        let fixed: u64 = t.fields.iter().filter_map(|f| width(f)).sum();
        let mut fields = Vec::new();
        for f in &t.fields {
            let name = f.first().and_then(serde_json::Value::as_str);
            let name = name.ok_or_else(|| self.malformed("a field without a name"))?;
            if fields.iter().any(|f: &Field| f.name == name) {
                return Err(self.malformed(format!("two fields are called `{name}`")));
            }
            let ty = match width(f) {
                Some(w) => Type::Bits {
                    width: u32::try_from(w)
                        .ok()
                        .filter(|w| *w <= MAX_BITS)
                        .ok_or_else(|| self.malformed(format!("field `{name}` is too wide")))?,
                    signed: f
                        .get(2)
                        .and_then(serde_json::Value::as_bool)
                        .unwrap_or(false),
                },
                None if f.get(1).and_then(serde_json::Value::as_str) != Some("*") => {
                    return Err(self.malformed(format!("field `{name}` has no width")));
                }
                None => {
                    let all = u64::from(t.max_length.unwrap_or(0)) * 8;
                    let max = u32::try_from(all.saturating_sub(fixed)).unwrap_or(u32::MAX);
                    if max > MAX_BITS {
                        return Err(self.malformed(format!("field `{name}` is too wide")));
                    }
                    Type::Varbit { max }
                }
            };
            let ty = self.program.types.intern(ty);
            fields.push(Field {
                name: name.into(),
                ty,
                annotations: Vec::new(),
            });
        }
        Ok(self.program.types.intern(Type::Record {
            kind,
            name: t.name.clone(),
            fields,
        }))
    }

    fn stack_parts(
        &mut self,
        types: &HeaderTypes<'_>,
        by_id: &BTreeMap<i64, usize>,
        parts: &mut FieldLists,
        placed: &mut BTreeMap<usize, Vec<Projection>>,
    ) -> Read<()> {
        for s in &self.json.header_stacks {
            let &(element, _) = types
                .get(s.header_type.as_str())
                .ok_or_else(|| self.unknown("header type", s.header_type.as_str()))?;
            let size = u32::try_from(s.header_ids.len()).unwrap_or(u32::MAX);
            let ty = self.program.types.intern(Type::Stack { element, size });
            let at = parts.add(&s.name, ty);
            for (i, id) in (0..size).zip(&s.header_ids) {
                let h = by_id
                    .get(id)
                    .ok_or_else(|| self.unknown("header", id.to_string()))?;
                self.check_member(*h, &s.header_type, &s.name)?;
                placed.insert(*h, vec![at, Projection::Index(i)]);
            }
        }
        Ok(())
    }

    /// A header of a stack or union has the type that is said there.
    fn check_member(&self, header: usize, header_type: &str, of: &str) -> Read<()> {
        match self.json.headers.get(header) {
            Some(h) if h.metadata || h.header_type != header_type => Err(self.malformed(format!(
                "`{}` in `{of}` is not a header of type `{header_type}`",
                h.name
            ))),
            _ => Ok(()),
        }
    }

    fn union_parts(
        &mut self,
        types: &HeaderTypes<'_>,
        by_id: &BTreeMap<i64, usize>,
        parts: &mut FieldLists,
        placed: &mut BTreeMap<usize, Vec<Projection>>,
    ) -> Read<()> {
        let mut union_types = BTreeMap::new();
        let mut member_types = BTreeMap::new();
        for u in &self.json.header_union_types {
            let mut fields = Vec::new();
            for (name, header_type) in &u.headers {
                let &(ty, _) = types
                    .get(header_type.as_str())
                    .ok_or_else(|| self.unknown("header type", header_type.as_str()))?;
                if fields.iter().any(|f: &Field| f.name == *name) {
                    let union = &u.name;
                    return Err(
                        self.malformed(format!("two members of `{union}` are called `{name}`"))
                    );
                }
                fields.push(Field {
                    name: name.clone(),
                    ty,
                    annotations: Vec::new(),
                });
            }
            let kind = RecordKind::Union;
            let ty = Type::Record {
                kind,
                name: u.name.clone(),
                fields,
            };
            union_types.insert(u.name.as_str(), self.program.types.intern(ty));
            member_types.insert(u.name.as_str(), &u.headers);
        }
        let union_type = |r: &Self, name: &str| {
            union_types
                .get(name)
                .copied()
                .ok_or_else(|| r.unknown("union type", name))
        };
        let mut paths: BTreeMap<i64, Vec<Projection>> = BTreeMap::new();
        for s in &self.json.header_union_stacks {
            let element = union_type(self, &s.union_type)?;
            let size = u32::try_from(s.header_union_ids.len()).unwrap_or(u32::MAX);
            let ty = self.program.types.intern(Type::Stack { element, size });
            let at = parts.add(&s.name, ty);
            for (i, id) in (0..size).zip(&s.header_union_ids) {
                paths.insert(*id, vec![at, Projection::Index(i)]);
            }
        }
        for u in &self.json.header_unions {
            let ty = union_type(self, &u.union_type)?;
            let path = match paths.get(&u.id) {
                Some(p) => p.clone(),
                None => vec![parts.add(&u.name, ty)],
            };
            let members = member_types.get(u.union_type.as_str());
            for (i, id) in (0u32..).zip(&u.header_ids) {
                let h = by_id
                    .get(id)
                    .ok_or_else(|| self.unknown("header", id.to_string()))?;
                let member = members.and_then(|list| list.get(i as usize));
                let (_, header_type) = member.ok_or_else(|| {
                    self.malformed(format!("`{}` has more headers than its type", u.name))
                })?;
                self.check_member(*h, header_type, &u.name)?;
                let mut path = path.clone();
                path.push(Projection::Field(i));
                placed.insert(*h, path);
            }
            parts.unions.push((u.name.clone(), path));
        }
        Ok(())
    }

    fn name_headers(&mut self, types: &HeaderTypes<'_>, placed: &BTreeMap<usize, Vec<Projection>>) {
        for (i, h) in self.json.headers.iter().enumerate() {
            let Some(&(header, record)) = types.get(h.header_type.as_str()) else {
                continue;
            };
            let (var, ty) = match (h.metadata, h.name.as_str()) {
                (true, "standard_metadata") => (self.blocks[2], record),
                (true, name) if BESIDE_STANDARD.contains(&name) => (self.blocks[2], record),
                (true, _) => (self.blocks[1], record),
                (false, _) => (self.blocks[0], header),
            };
            let path = placed.get(&i).cloned().unwrap_or_default();
            let place = Place { var, path };
            let others = self.union_siblings(&place);
            let r = HeaderRef {
                place,
                ty,
                metadata: h.metadata,
                others,
            };
            self.headers.insert(h.name.clone(), r);
        }
    }

    /// The other members of the union that the header at `place` is in.
    pub(crate) fn union_siblings(&self, place: &Place) -> Vec<Place> {
        let mut above = place.clone();
        let Some(Projection::Field(own)) = above.path.pop() else {
            return Vec::new();
        };
        let ty = self
            .program
            .place_type(&above)
            .and_then(|t| self.program.types.get(t));
        let Some(Type::Record {
            kind: RecordKind::Union,
            fields,
            ..
        }) = ty
        else {
            return Vec::new();
        };
        let count = u32::try_from(fields.len()).unwrap_or(0);
        (0..count)
            .filter(|i| *i != own)
            .map(|i| above.field(i))
            .collect()
    }

    fn name_stacks_and_unions(&mut self, parts: &FieldLists) -> Read<()> {
        let hdr = self.blocks[0];
        for (i, f) in (0u32..).zip(&parts.fields) {
            if let Some(Type::Stack { element, size }) = self.program.types.get(f.ty) {
                let place = Place::var(hdr).field(i);
                let s = StackRef {
                    place,
                    element: *element,
                    size: *size,
                };
                self.stacks.insert(f.name.clone(), s);
            }
        }
        for (name, path) in &parts.unions {
            let place = Place {
                var: hdr,
                path: path.clone(),
            };
            self.unions.insert(name.clone(), place);
        }
        Ok(())
    }

    // ---- names ----

    pub(crate) fn header(&self, name: &str) -> Read<HeaderRef> {
        self.headers
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown("header", name))
    }

    pub(crate) fn stack(&self, name: &str) -> Read<StackRef> {
        self.stacks
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown("header stack", name))
    }

    /// Field `name` of a record at `place`.
    pub(crate) fn field_of(&self, place: &Place, ty: TypeId, name: &str) -> Read<(Place, TypeId)> {
        let types = &self.program.types;
        let found = types.field_index(ty, name).and_then(|i| {
            let field = types.get(ty)?.fields()?.get(usize::try_from(i).ok()?)?;
            Some((place.field(i), field.ty))
        });
        found.ok_or_else(|| self.unknown("field", name))
    }
}

/// Types by the name of the header type: as a header, and as plain fields.
type HeaderTypes<'j> = BTreeMap<&'j str, (TypeId, TypeId)>;

/// Fields of one of the three variables while they are collected.
#[derive(Default)]
struct FieldLists {
    fields: Vec<Field>,
    unions: Vec<(String, Vec<Projection>)>,
}

impl FieldLists {
    fn add(&mut self, name: &str, ty: TypeId) -> Projection {
        let i = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        self.fields.push(Field {
            name: name.into(),
            ty,
            annotations: Vec::new(),
        });
        Projection::Field(i)
    }

    /// A name that occurs twice.
    fn duplicate(&self) -> Option<&str> {
        let mut seen = BTreeSet::new();
        let mut names = self.fields.iter().map(|f| f.name.as_str());
        names.find(|n| !seen.insert(*n))
    }

    fn record(&self, name: &str) -> Type {
        Type::Record {
            kind: RecordKind::Struct,
            name: name.into(),
            fields: self.fields.clone(),
        }
    }
}

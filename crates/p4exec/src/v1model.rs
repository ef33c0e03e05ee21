//! What executors know of a program besides its code: its blocks, where the fields of the standard
//! metadata lie, which user metadata is preserved or has a meaning outside, and how leaves are
//! called. What is known of Tofino's metadata is in [`crate::tna`].
//!
//! v1model's user metadata fields get a meaning by annotation:
//!
//! * `@field_list(i, ...)`: kept by the clones, resubmissions and recirculations that name `i`.
//! * `@switchwright("ing_prio")`, `@switchwright("eg_prio")`: the packet's ingress and egress
//!   priority, reported with every output.
//! * `@switchwright("port_status")`: filled at the start of ingress; bit *p* says that port *p* is
//!   up.

use std::collections::BTreeMap;
use std::ops::Range;

use p4ir::{
    Annotation, AnnotationValue, ControlId, LeafKind, ParserId, Program, RecordKind, Type, TypeId,
    V1Model, ValidProgram, VarId,
};

use crate::path::passes;
use crate::tna::TnaInfo;

/// The port that means "drop" in `egress_spec`.
pub const DROP_PORT: u64 = 511;

/// Values of `standard_metadata.instance_type`.
pub mod instance_type {
    /// Came in from a port.
    pub const NORMAL: u64 = 0;
    /// Clone made after ingress.
    pub const INGRESS_CLONE: u64 = 1;
    /// Clone made after egress.
    pub const EGRESS_CLONE: u64 = 2;
    /// Came back from egress.
    pub const RECIRCULATED: u64 = 4;
    /// Multicast copy.
    pub const REPLICATED: u64 = 5;
    /// Ingress runs on it again.
    pub const RESUBMITTED: u64 = 6;
}

/// A leaf with the name a person would call it by.
#[derive(Clone, Debug)]
pub struct NamedLeaf {
    /// E.g. `meta.tag`, `hdr.ipv4.dscp`, `standard_metadata.egress_spec`.
    pub name: String,
    /// Its index in the layout.
    pub leaf: usize,
    /// For a header field: the leaf of the header's validity.
    pub valid: Option<usize>,
}

/// The fields of `standard_metadata_t` that the switch itself reads and writes.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct StandardFields {
    pub ingress_port: Option<usize>,
    pub egress_spec: Option<usize>,
    pub egress_port: Option<usize>,
    pub instance_type: Option<usize>,
    pub packet_length: Option<usize>,
    pub enq_timestamp: Option<usize>,
    pub ingress_global_timestamp: Option<usize>,
    pub egress_global_timestamp: Option<usize>,
    pub mcast_grp: Option<usize>,
    pub egress_rid: Option<usize>,
    pub checksum_error: Option<usize>,
    pub parser_error: Option<usize>,
    pub priority: Option<usize>,
}

/// The blocks of a program, as they are run one after the other.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Of ingress.
    pub parser: ParserId,
    /// v1model's checksum verification and ingress; Tofino's ingress.
    pub ingress: Vec<ControlId>,
    /// Only Tofino has them: the ingress deparser and the egress parser.
    pub between: Option<(ControlId, ParserId)>,
    /// Egress.
    pub egress: Vec<ControlId>,
    /// v1model's checksum computation and deparser; Tofino's egress deparser.
    pub deparser: Vec<ControlId>,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// What is run.
    pub blocks: Blocks,
    /// For Tofino; then there is no standard metadata, and none of what follows but names.
    pub tna: Option<TnaInfo>,
    /// Passes through ingress and egress that one packet may cause.
    pub passes: u32,
    /// The variables of headers, user and standard metadata.
    pub kept_vars: Vec<VarId>,
    /// Standard metadata.
    pub standard: StandardFields,
    /// All leaves of the headers.
    pub headers: Range<usize>,
    /// All leaves of the user metadata.
    pub metadata: Range<usize>,
    /// All leaves of the standard metadata.
    pub standard_metadata: Range<usize>,
    /// Named leaves of all three, headers first.
    pub names: Vec<NamedLeaf>,
    /// Leaves of user metadata by `@field_list` index.
    pub field_lists: BTreeMap<u64, Vec<usize>>,
    /// The leaf annotated `@switchwright("ing_prio")`.
    pub ing_prio: Option<usize>,
    /// The leaf annotated `@switchwright("eg_prio")`.
    pub eg_prio: Option<usize>,
    /// The leaf annotated `@switchwright("port_status")`.
    pub port_status: Option<usize>,
}

/// Walks a variable's type and visits every leaf with its name and the annotations above it.
pub(crate) struct Walk<'p> {
    program: &'p ValidProgram,
    next: usize,
    valid: Option<usize>,
    pub(crate) names: Vec<NamedLeaf>,
    annotated: Vec<(usize, &'p Annotation)>,
}

impl<'p> Walk<'p> {
    pub(crate) fn new(program: &'p ValidProgram) -> Self {
        Self {
            program,
            next: 0,
            valid: None,
            names: Vec::new(),
            annotated: Vec::new(),
        }
    }

    /// All leaves of a variable.
    pub(crate) fn variable(&mut self, var: VarId, name: &str) -> Range<usize> {
        self.next = self.program.layout().base(var) as usize;
        let start = self.next;
        self.visit(self.program.vars[var].ty, name, &[]);
        start..self.next
    }

    fn leaf(&mut self, name: String, annotations: &[&'p Annotation]) {
        self.names.push(NamedLeaf {
            name,
            leaf: self.next,
            valid: self.valid,
        });
        self.annotated
            .extend(annotations.iter().map(|a| (self.next, *a)));
        self.next += 1;
    }

    fn visit(&mut self, ty: TypeId, name: &str, annotations: &[&'p Annotation]) {
        let program = self.program;
        match &program.types[ty] {
            Type::Record { kind, fields, .. } => {
                let outer = self.valid;
                if *kind == RecordKind::Header {
                    self.valid = None;
                    let leaf = self.next;
                    self.leaf(format!("{name}.$valid$"), &[]);
                    self.valid = Some(leaf);
                }
                for field in fields {
                    let mut inherited = annotations.to_vec();
                    inherited.extend(&field.annotations);
                    let name = inner_name(name, &field.name);
                    self.visit(field.ty, &name, &inherited);
                }
                self.valid = outer;
            }
            Type::Stack { element, size } => {
                self.leaf(format!("{name}.nextIndex"), &[]);
                for i in 0..*size {
                    self.visit(*element, &format!("{name}[{i}]"), annotations);
                }
            }
            _ => self.leaf(name.to_owned(), annotations),
        }
    }
}

impl ProgramInfo {
    /// What is known of a program; `None` if it is neither for v1model nor for Tofino.
    #[must_use]
    pub fn new(program: &ValidProgram) -> Option<Self> {
        match program.v1model() {
            Some(view) => Some(Self::of_v1model(program, view)),
            None => Self::of_tna(program),
        }
    }

    fn of_tna(program: &ValidProgram) -> Option<Self> {
        let view = program.tna()?;
        let mut walk = Walk::new(program);
        let tna = TnaInfo::new(program, &view, &mut walk);
        Some(Self {
            blocks: Blocks {
                parser: view.ingress.parser,
                ingress: vec![view.ingress.control],
                between: Some((view.ingress.deparser, view.egress.parser)),
                egress: vec![view.egress.control],
                deparser: vec![view.egress.deparser],
            },
            passes: tna.passes,
            tna: Some(tna),
            kept_vars: Vec::new(),
            standard: StandardFields::default(),
            headers: 0..0,
            metadata: 0..0,
            standard_metadata: 0..0,
            names: walk.names,
            field_lists: BTreeMap::new(),
            ing_prio: None,
            eg_prio: None,
            port_status: None,
        })
    }

    fn of_v1model(program: &ValidProgram, view: V1Model) -> Self {
        let mut walk = Walk::new(program);
        let headers = walk.variable(view.headers, "hdr");
        let metadata = walk.variable(view.metadata, "meta");
        let standard_metadata = walk.variable(view.standard_metadata, "standard_metadata");
        let Walk {
            names, annotated, ..
        } = walk;
        let user = annotated.iter().filter(|(leaf, _)| metadata.contains(leaf));
        let mut field_lists: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (leaf, annotation) in user.clone().filter(|(_, a)| a.name == "field_list") {
            for (_, value) in &annotation.values {
                if let Some(index) = list_index(value) {
                    let list = field_lists.entry(index).or_default();
                    if list.last() != Some(leaf) {
                        list.push(*leaf);
                    }
                }
            }
        }
        let role = |role: &str| {
            user.clone()
                .find(|(_, a)| has_role(a, role))
                .map(|(leaf, _)| *leaf)
        };
        Self {
            standard: standard_fields(program, view.standard_metadata),
            ing_prio: role("ing_prio"),
            eg_prio: role("eg_prio"),
            port_status: role("port_status"),
            blocks: Blocks {
                parser: view.parser,
                ingress: vec![view.verify_checksum, view.ingress],
                between: None,
                egress: vec![view.egress],
                deparser: vec![view.compute_checksum, view.deparser],
            },
            tna: None,
            passes: passes(program),
            kept_vars: vec![view.headers, view.metadata, view.standard_metadata],
            headers,
            metadata,
            standard_metadata,
            names,
            field_lists,
        }
    }

    /// The leaves that clones and waiting packets keep: headers, user and standard metadata.
    #[must_use]
    pub fn kept(&self) -> [Range<usize>; 3] {
        [&self.headers, &self.metadata, &self.standard_metadata].map(Range::clone)
    }
}

/// The name of a field inside something; where names get very long, without what is outside.
fn inner_name(outer: &str, field: &str) -> String {
    if outer.len() + field.len() > LONG_NAME {
        return field.chars().take(LONG_NAME).collect();
    }
    format!("{outer}.{field}")
}

/// Bytes of names that are shown whole.
const LONG_NAME: usize = 1024;

fn list_index(value: &AnnotationValue) -> Option<u64> {
    match value {
        AnnotationValue::Int(i) => u64::try_from(i).ok(),
        AnnotationValue::Tokens(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn has_role(annotation: &Annotation, role: &str) -> bool {
    annotation.name == "switchwright"
        && annotation.values.iter().any(|(_, value)| match value {
            AnnotationValue::Str(text) | AnnotationValue::Tokens(text) => {
                text.trim_matches('"') == role
            }
            _ => false,
        })
}

fn standard_fields(program: &ValidProgram, var: VarId) -> StandardFields {
    let ty = program.vars[var].ty;
    let base = program.layout().base(var) as usize;
    let at = |name: &str| {
        let index = program.types.field_index(ty, name)?;
        Some(base + program.layout().field_offset(ty, index) as usize)
    };
    StandardFields {
        ingress_port: at("ingress_port"),
        egress_spec: at("egress_spec"),
        egress_port: at("egress_port"),
        instance_type: at("instance_type"),
        packet_length: at("packet_length"),
        enq_timestamp: at("enq_timestamp"),
        ingress_global_timestamp: at("ingress_global_timestamp"),
        egress_global_timestamp: at("egress_global_timestamp"),
        mcast_grp: at("mcast_grp"),
        egress_rid: at("egress_rid"),
        checksum_error: at("checksum_error"),
        parser_error: at("parser_error"),
        priority: at("priority"),
    }
}

/// Width at which `error` and plain enums are kept, and match in tables.
pub const ENUM_WIDTH: u32 = 32;

/// The width of a leaf as a bit string; a varbit is empty at first.
#[must_use]
pub const fn leaf_width(kind: LeafKind) -> u32 {
    match kind {
        LeafKind::Bits { width, .. } => width,
        LeafKind::Bool | LeafKind::Valid => 1,
        LeafKind::NextIndex | LeafKind::Error | LeafKind::Enum => ENUM_WIDTH,
        LeafKind::Varbit { .. } | LeafKind::Str => 0,
    }
}

/// The width of a scalar type as a bit string; 0 for what is none.
#[must_use]
pub fn scalar_width(program: &Program, ty: TypeId) -> u32 {
    match program.types.get(ty) {
        Some(Type::Bits { width, .. }) => *width,
        Some(Type::Bool) => 1,
        Some(Type::Error | Type::Enum { .. }) => ENUM_WIDTH,
        Some(Type::Varbit { max }) => *max,
        _ => 0,
    }
}

/// The name of a type's enum member.
pub(crate) fn enum_member(program: &Program, ty: TypeId, index: u64) -> Option<&str> {
    match program.types.get(ty)? {
        Type::Enum { members, .. } => members
            .get(usize::try_from(index).ok()?)
            .map(String::as_str),
        _ => None,
    }
}

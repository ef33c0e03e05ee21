//! What executors know of the headers and metadata of a program for v1model: where the fields of
//! the standard metadata lie, and which user metadata is preserved or has a meaning outside. User
//! metadata fields get a meaning by annotation:
//!
//! * `@field_list(i, ...)`: kept by the clones, resubmissions and recirculations that name `i`.
//! * `@switchwright("ing_prio")`, `@switchwright("eg_prio")`: the packet's ingress and egress
//!   priority, reported with every output.
//! * `@switchwright("port_status")`: filled at the start of ingress; bit *p* says that port *p* is
//!   up.

use std::collections::BTreeMap;
use std::ops::Range;

use p4ir::{AnnotationValue, LeafKind, Program, Type, TypeId, V1Model, ValidProgram, VarId};

use crate::limits::passes;
use crate::names::{NamedLeaf, Walk};
use crate::value::Bits;

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

/// The fields of `standard_metadata_t` that the switch itself reads and writes: by default their
/// leaves, as far as the program's metadata has them.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct StandardFields<T = Option<usize>> {
    pub ingress_port: T,
    pub egress_spec: T,
    pub egress_port: T,
    pub instance_type: T,
    pub packet_length: T,
    pub enq_timestamp: T,
    pub ingress_global_timestamp: T,
    pub egress_global_timestamp: T,
    pub mcast_grp: T,
    pub egress_rid: T,
    pub checksum_error: T,
    pub parser_error: T,
    pub priority: T,
}

impl StandardFields {
    /// The same fields as something else than their leaves.
    pub(crate) fn map<T>(&self, mut f: impl FnMut(Option<usize>) -> T) -> StandardFields<T> {
        StandardFields {
            ingress_port: f(self.ingress_port),
            egress_spec: f(self.egress_spec),
            egress_port: f(self.egress_port),
            instance_type: f(self.instance_type),
            packet_length: f(self.packet_length),
            enq_timestamp: f(self.enq_timestamp),
            ingress_global_timestamp: f(self.ingress_global_timestamp),
            egress_global_timestamp: f(self.egress_global_timestamp),
            mcast_grp: f(self.mcast_grp),
            egress_rid: f(self.egress_rid),
            checksum_error: f(self.checksum_error),
            parser_error: f(self.parser_error),
            priority: f(self.priority),
        }
    }
}

/// What is known of the headers and metadata of a program for v1model.
#[derive(Clone, Debug)]
pub struct V1ModelInfo {
    /// Passes through ingress and egress that one packet may cause.
    pub passes: u32,
    /// The variables of headers, user and standard metadata.
    pub kept_vars: [VarId; 3],
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

impl V1ModelInfo {
    pub(crate) fn new(program: &ValidProgram, view: &V1Model) -> Self {
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
                .find(|(_, a)| a.says("switchwright", role))
                .map(|(leaf, _)| *leaf)
        };
        Self {
            passes: passes(program),
            standard: standard_fields(program, view.standard_metadata),
            ing_prio: role("ing_prio"),
            eg_prio: role("eg_prio"),
            port_status: role("port_status"),
            kept_vars: [view.headers, view.metadata, view.standard_metadata],
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

fn list_index(value: &AnnotationValue) -> Option<u64> {
    match value {
        AnnotationValue::Int(i) => u64::try_from(i).ok(),
        AnnotationValue::Tokens(text) => text.trim().parse().ok(),
        _ => None,
    }
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

/// The value of a leaf that is not in a packet, once what it belongs to was read from one: headers
/// become valid, the counters of stacks and arrays 0. `None` for what the packet holds.
#[must_use]
pub fn set_by_reading(kind: LeafKind) -> Option<Bits> {
    match kind {
        LeafKind::Valid => Some(Bits::from_bool(true)),
        LeafKind::NextIndex => Some(Bits::zero(ENUM_WIDTH)),
        _ => None,
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

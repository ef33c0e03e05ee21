//! P4Info of a program: the control plane's view of it (P4Runtime specification 1.4, chapter 6).
//!
//! Plain data, entity by entity what p4c writes: same ids, aliases and names. The order is that of p4c's
//! traversal too: blocks of the package in order, then what they contain.

mod build;
mod facts;
mod ids;
mod notes;
mod objects;
mod reach;
mod types;

use std::collections::BTreeMap;

pub(crate) use build::build;
pub(crate) use facts::{Facts, SelectorFact};
pub(crate) use types::{Decls, Records};

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct P4Info {
    /// About the program as a whole.
    pub pkg_info: PkgInfo,
    /// Tables.
    pub tables: Vec<Table>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Action profiles and selectors.
    pub action_profiles: Vec<ActionProfile>,
    /// Indirect counters.
    pub counters: Vec<Counter>,
    /// Direct counters.
    pub direct_counters: Vec<DirectCounter>,
    /// Indirect meters.
    pub meters: Vec<Meter>,
    /// Direct meters.
    pub direct_meters: Vec<DirectMeter>,
    /// Headers of packet-in and packet-out.
    pub controller_packet_metadata: Vec<ControllerPacketMetadata>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Registers.
    pub registers: Vec<Register>,
    /// Digests.
    pub digests: Vec<Digest>,
    /// User-defined types that occur in the above; `None` if nothing above has types.
    pub type_info: Option<TypeInfo>,
}

/// From the `@pkginfo` annotation of `main`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PkgInfo {
    /// Architecture, e.g. `v1model`.
    pub arch: String,
    /// Keys of `@pkginfo`: name, version, contact, organization, url.
    pub fields: BTreeMap<String, String>,
    /// Keys of `@platform_property`.
    pub platform_properties: BTreeMap<String, i64>,
    /// Other annotations, as written.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
}

/// An annotation with brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct StructuredAnnotation {
    /// Name.
    pub name: String,
    /// Values; with a key for `@a[k = v]`.
    pub values: Vec<(Option<String>, AnnotationLiteral)>,
    /// Written as key-value pairs.
    pub key_values: bool,
}

/// A value in a structured annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationLiteral {
    /// A string.
    Str(String),
    /// A number.
    Int(i64),
    /// A boolean.
    Bool(bool),
}

/// What all entities have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preamble {
    /// Type prefix and 24 bits.
    pub id: u32,
    /// Fully qualified name.
    pub name: String,
    /// Shortest unique suffix of the name.
    pub alias: String,
    /// Annotations as written, known ones left out.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
    /// From `@brief` and `@description`.
    pub doc: Option<Documentation>,
}

/// Documentation of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documentation {
    /// `@brief`
    pub brief: String,
    /// `@description`
    pub description: String,
}

/// How a match field matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchType {
    /// Equality.
    Exact,
    /// Longest prefix.
    Lpm,
    /// Value and mask.
    Ternary,
    /// Interval.
    Range,
    /// Value or anything.
    Optional,
    /// Of the architecture.
    Other(String),
}

/// A key field of a table or value set.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchField {
    /// Id within the table.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Width in bits; 0 for translated strings.
    pub bitwidth: u32,
    /// How it matches.
    pub match_type: MatchType,
    /// Name of its `type`, if it has one.
    pub type_name: Option<String>,
    /// Annotations as written.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
    /// Documentation.
    pub doc: Option<Documentation>,
}

/// Where a table may use an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Anywhere.
    TableAndDefault,
    /// Only in entries.
    TableOnly,
    /// Only as default.
    DefaultOnly,
}

/// An action of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionRef {
    /// The action.
    pub id: u32,
    /// Where it may be used.
    pub scope: Scope,
    /// Annotations as written.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
}

/// A default action and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultAction {
    /// The action.
    pub action_id: u32,
    /// Its arguments.
    pub arguments: Vec<ActionArgument>,
}

/// An argument of a default action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionArgument {
    /// The parameter.
    pub param_id: u32,
    /// Bytes, padded to the parameter's width.
    pub value: Vec<u8>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Id and names.
    pub preamble: Preamble,
    /// Key fields.
    pub match_fields: Vec<MatchField>,
    /// Actions.
    pub action_refs: Vec<ActionRef>,
    /// The default action if it is constant.
    pub const_default_action_id: Option<u32>,
    /// The default action at start.
    pub initial_default_action: Option<DefaultAction>,
    /// Action profile or selector.
    pub implementation_id: Option<u32>,
    /// Direct counters and meters.
    pub direct_resource_ids: Vec<u32>,
    /// Number of entries.
    pub size: i64,
    /// Entries age.
    pub idle_timeout: bool,
    /// `const entries`.
    pub is_const_table: bool,
    /// Has entries from the program.
    pub has_initial_entries: bool,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionParam {
    /// Id within the action.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Width in bits; 0 for translated strings and plain enums.
    pub bitwidth: u32,
    /// Name of its `type`, if it has one.
    pub type_name: Option<String>,
    /// Annotations as written.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
    /// Documentation.
    pub doc: Option<Documentation>,
}

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Id and names.
    pub preamble: Preamble,
    /// Parameters the control plane fills.
    pub params: Vec<ActionParam>,
}

/// An action profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionProfile {
    /// Id and names.
    pub preamble: Preamble,
    /// Tables that use it.
    pub table_ids: Vec<u32>,
    /// Has groups.
    pub with_selector: bool,
    /// Number of members.
    pub size: i64,
    /// `@max_group_size`
    pub max_group_size: Option<i32>,
    /// `@selector_size_semantics("sum_of_members")`, with `@max_member_weight`; `None` if not annotated.
    pub size_semantics: Option<SizeSemantics>,
}

/// What the size of a selector counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSemantics {
    /// The sum of weights.
    SumOfWeights,
    /// The number of members, with a greatest weight.
    SumOfMembers(Option<i32>),
}

/// What counters and meters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Both (counters).
    Both,
}

/// An array of counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Id and names.
    pub preamble: Preamble,
    /// What it counts.
    pub unit: Unit,
    /// Number of cells.
    pub size: i64,
    /// Name of the index's `type`, if it has one.
    pub index_type_name: Option<String>,
}

/// A counter per entry.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectCounter {
    /// Id and names.
    pub preamble: Preamble,
    /// What it counts.
    pub unit: Unit,
    /// Its table.
    pub direct_table_id: u32,
}

/// An array of meters.
#[derive(Clone, Debug, PartialEq)]
pub struct Meter {
    /// Id and names.
    pub preamble: Preamble,
    /// What it measures.
    pub unit: Unit,
    /// Number of cells.
    pub size: i64,
    /// Name of the index's `type`, if it has one.
    pub index_type_name: Option<String>,
}

/// A meter per entry.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectMeter {
    /// Id and names.
    pub preamble: Preamble,
    /// What it measures.
    pub unit: Unit,
    /// Its table.
    pub direct_table_id: u32,
}

/// A field of a packet-in or packet-out header.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketMetadata {
    /// Id within the header.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Width in bits.
    pub bitwidth: u32,
    /// Name of its `type`, if it has one.
    pub type_name: Option<String>,
    /// Annotations as written.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
}

/// A header annotated `@controller_header`.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerPacketMetadata {
    /// Id and names: `packet_in` or `packet_out`.
    pub preamble: Preamble,
    /// Fields.
    pub metadata: Vec<PacketMetadata>,
}

/// A parser value set.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueSet {
    /// Id and names.
    pub preamble: Preamble,
    /// Fields.
    pub fields: Vec<MatchField>,
    /// Greatest number of members.
    pub size: i32,
}

/// An array of registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// Id and names.
    pub preamble: Preamble,
    /// Type of a cell.
    pub type_spec: TypeSpec,
    /// Number of cells.
    pub size: i64,
    /// Name of the index's `type`, if it has one.
    pub index_type_name: Option<String>,
}

/// A digest.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// Id and names.
    pub preamble: Preamble,
    /// Type of the data.
    pub type_spec: TypeSpec,
}

/// A type (P4Runtime's `P4DataTypeSpec`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeSpec {
    /// `bit<W>`
    Bit(u32),
    /// `int<W>`
    Int(u32),
    /// `varbit<W>`
    Varbit(u32),
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `tuple<...>`
    Tuple(Vec<TypeSpec>),
    /// A struct of [`TypeInfo::structs`].
    Struct(String),
    /// A header of [`TypeInfo::headers`].
    Header(String),
    /// A header union of [`TypeInfo::header_unions`].
    HeaderUnion(String),
    /// A stack of headers.
    HeaderStack(String, u32),
    /// A stack of header unions.
    HeaderUnionStack(String, u32),
    /// An enum of [`TypeInfo::enums`].
    Enum(String),
    /// An enum of [`TypeInfo::serializable_enums`].
    SerializableEnum(String),
    /// A type of [`TypeInfo::new_types`].
    NewType(String),
}

/// A serialisable enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerializableEnum {
    /// Width of the values.
    pub bitwidth: u32,
    /// Members and their values, as bytes padded to the width.
    pub members: Vec<(String, Vec<u8>)>,
}

/// What a `type` declaration is for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewTypeKind {
    /// The same as in the data plane.
    Original(TypeSpec),
    /// Translated to bits.
    TranslatedBits {
        /// Name of the translation.
        uri: String,
        /// Width for the control plane.
        bitwidth: u32,
    },
    /// Translated to a string.
    TranslatedString {
        /// Name of the translation.
        uri: String,
    },
}

/// A `type` declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct NewType {
    /// What it is.
    pub kind: NewTypeKind,
    /// Annotations as written.
    pub annotations: Vec<String>,
    /// Structured annotations.
    pub structured_annotations: Vec<StructuredAnnotation>,
}

/// User-defined types by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeInfo {
    /// Structs: fields in order.
    pub structs: BTreeMap<String, Vec<(String, TypeSpec)>>,
    /// Headers: fields in order.
    pub headers: BTreeMap<String, Vec<(String, TypeSpec)>>,
    /// Header unions: member names and header types.
    pub header_unions: BTreeMap<String, Vec<(String, String)>>,
    /// Enums: members.
    pub enums: BTreeMap<String, Vec<String>>,
    /// Serialisable enums.
    pub serializable_enums: BTreeMap<String, SerializableEnum>,
    /// `type` declarations.
    pub new_types: BTreeMap<String, NewType>,
    /// Members of `error`, if it occurs.
    pub errors: Vec<String>,
}

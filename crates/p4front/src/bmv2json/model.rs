//! The parts of a BMv2 JSON file that matter, as they stand there. Operands ("type value objects")
//! are read by [`Arg::new`].

use num_bigint::BigInt;
use num_traits::Num as _;
use serde::Deserialize;
use serde_json::Value;

use super::{Bmv2Error, Read};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Json {
    pub(super) header_types: Vec<HeaderType>,
    pub(super) headers: Vec<Header>,
    pub(super) header_stacks: Vec<Stack>,
    pub(super) header_union_types: Vec<UnionType>,
    pub(super) header_unions: Vec<Union>,
    pub(super) header_union_stacks: Vec<UnionStack>,
    pub(super) field_lists: Vec<FieldList>,
    pub(super) errors: Vec<(String, u32)>,
    pub(super) parsers: Vec<Parser>,
    pub(super) parse_vsets: Vec<ValueSet>,
    pub(super) deparsers: Vec<Deparser>,
    pub(super) meter_arrays: Vec<Array>,
    pub(super) counter_arrays: Vec<Array>,
    pub(super) register_arrays: Vec<Array>,
    pub(super) calculations: Vec<Calculation>,
    pub(super) learn_lists: Vec<FieldList>,
    pub(super) actions: Vec<Action>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) checksums: Vec<Checksum>,
    pub(super) extern_instances: Vec<ExternObject>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExternObject {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) attribute_values: Vec<Attribute>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attribute {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) value: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct HeaderType {
    pub(super) name: String,
    /// `[name, width or "*"]` or `[name, width, signed]`.
    pub(super) fields: Vec<Vec<Value>>,
    /// Greatest length in bytes of a header with a variable field.
    pub(super) max_length: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) header_type: String,
    #[serde(default)]
    pub(super) metadata: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) header_type: String,
    pub(super) header_ids: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct UnionType {
    pub(super) name: String,
    pub(super) headers: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Union {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) union_type: String,
    pub(super) header_ids: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct UnionStack {
    pub(super) name: String,
    pub(super) union_type: String,
    pub(super) header_union_ids: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FieldList {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) elements: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Parser {
    pub(super) name: String,
    pub(super) init_state: String,
    pub(super) parse_states: Vec<State>,
}

#[derive(Debug, Deserialize)]
pub(super) struct State {
    pub(super) name: String,
    pub(super) parser_ops: Vec<Primitive>,
    pub(super) transitions: Vec<Transition>,
    pub(super) transition_key: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Transition {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) value: Option<String>,
    pub(super) mask: Option<String>,
    pub(super) next_state: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ValueSet {
    pub(super) name: String,
    pub(super) compressed_bitwidth: u32,
    #[serde(default)]
    pub(super) max_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Deparser {
    pub(super) order: Vec<String>,
    #[serde(default)]
    pub(super) primitives: Vec<Primitive>,
}

/// A counter, meter or register array.
#[derive(Debug, Deserialize)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) size: Option<u64>,
    #[serde(default)]
    pub(super) is_direct: bool,
    pub(super) binding: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) result_target: Option<(String, String)>,
    pub(super) bitwidth: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Calculation {
    pub(super) name: String,
    pub(super) algo: String,
    pub(super) input: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Checksum {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) target: (String, String),
    pub(super) calculation: String,
    #[serde(default = "yes")]
    pub(super) verify: bool,
    #[serde(default = "yes")]
    pub(super) update: bool,
    pub(super) if_cond: Option<Value>,
    pub(super) source_info: Option<SourceInfo>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(super) struct Action {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) runtime_data: Vec<RuntimeData>,
    pub(super) primitives: Vec<Primitive>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RuntimeData {
    pub(super) name: String,
    pub(super) bitwidth: u32,
}

/// A primitive of an action or an operation of a parser.
#[derive(Debug, Deserialize)]
pub(super) struct Primitive {
    pub(super) op: String,
    #[serde(default)]
    pub(super) parameters: Vec<Value>,
    pub(super) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SourceInfo {
    pub(super) filename: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pipeline {
    pub(super) name: String,
    pub(super) init_table: Option<String>,
    pub(super) tables: Vec<Table>,
    #[serde(default)]
    pub(super) action_profiles: Vec<Profile>,
    #[serde(default)]
    pub(super) conditionals: Vec<Conditional>,
    #[serde(default)]
    pub(super) action_calls: Vec<ActionCall>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) max_size: u64,
    pub(super) selector: Option<Selector>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Selector {
    pub(super) algo: String,
    pub(super) input: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Conditional {
    pub(super) name: String,
    pub(super) expression: Value,
    pub(super) true_next: Option<String>,
    pub(super) false_next: Option<String>,
    pub(super) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ActionCall {
    pub(super) name: String,
    pub(super) action_id: i64,
    pub(super) next_node: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) key: Vec<Key>,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) action_profile: Option<String>,
    /// Its name in older files.
    pub(super) act_prof_name: Option<String>,
    /// In older files, for the profile.
    pub(super) selector: Option<Selector>,
    pub(super) max_size: Option<u64>,
    #[serde(default)]
    pub(super) with_counters: bool,
    #[serde(default)]
    pub(super) support_timeout: bool,
    pub(super) direct_meters: Option<String>,
    #[serde(default)]
    pub(super) action_ids: Vec<i64>,
    /// Names in the order of `action_ids`, which older files lack.
    #[serde(default)]
    pub(super) actions: Vec<String>,
    pub(super) base_default_next: Option<String>,
    pub(super) next_tables: std::collections::BTreeMap<String, Option<String>>,
    pub(super) default_entry: Option<DefaultEntry>,
    #[serde(default)]
    pub(super) entries: Vec<Entry>,
    pub(super) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Key {
    pub(super) match_type: String,
    pub(super) name: Option<String>,
    /// A field, or a header for `valid`.
    pub(super) target: Value,
    pub(super) mask: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DefaultEntry {
    pub(super) action_id: i64,
    #[serde(default)]
    pub(super) action_entry_const: bool,
    #[serde(default)]
    pub(super) action_data: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) match_key: Vec<MatchKey>,
    pub(super) action_entry: DefaultEntry,
    #[serde(default)]
    pub(super) priority: u32,
    pub(super) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MatchKey {
    pub(super) match_type: String,
    /// A hex string, or a boolean for `valid`.
    pub(super) key: Option<Value>,
    pub(super) mask: Option<String>,
    pub(super) prefix_length: Option<u32>,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arg {
    /// `[instance, field]`
    Field(String, String),
    /// `[header expression, "$valid$"]`
    Valid(Box<Arg>),
    /// `[stack, field]` of the last element extracted.
    StackField(String, String),
    /// `[union stack, member, field]` of the last element extracted.
    UnionStackField(String, String, String),
    /// `[union stack, member]`, to extract into.
    UnionStackMember(String, String),
    /// A number.
    Number(BigInt),
    /// A number with a width.
    Sized(BigInt, u32),
    /// A boolean.
    Bool(bool),
    /// Action data by position.
    Data(usize),
    /// A field's or member's position.
    Position(u32),
    /// `[offset, width]` in bits from the cursor.
    Lookahead(u32, u32),
    /// Something by its name: a header, stack, array, ...
    Named(String, String),
    /// Several.
    List(Vec<Arg>),
    /// An operation.
    Op {
        op: String,
        left: Option<Box<Arg>>,
        right: Option<Box<Arg>>,
        cond: Option<Box<Arg>>,
    },
}

impl Arg {
    /// Reads an operand; `place` is named in errors.
    pub(super) fn new(v: &Value, place: &str) -> Read<Arg> {
        let bad = || Bmv2Error::Malformed {
            place: place.into(),
            why: format!("operand {v}"),
        };
        if let Some(n) = v.as_u64() {
            return u32::try_from(n).map(Arg::Position).map_err(|_| bad());
        }
        if v.get("op").is_some() {
            return Arg::operation(v, place);
        }
        let kind = v.get("type").and_then(Value::as_str).ok_or_else(bad)?;
        let value = v.get("value").ok_or_else(bad)?;
        let text = |i: usize| {
            value
                .get(i)
                .and_then(Value::as_str)
                .map(String::from)
                .ok_or_else(bad)
        };
        let number = |i: usize| {
            let n = value
                .get(i)
                .and_then(Value::as_u64)
                .and_then(|n| u32::try_from(n).ok());
            n.ok_or_else(bad)
        };
        Ok(match kind {
            "field" => match value.get(0).filter(|h| h.is_object()) {
                Some(header) if text(1)? == "$valid$" => {
                    Arg::Valid(Box::new(Arg::new(header, place)?))
                }
                _ => Arg::Field(text(0)?, text(1)?),
            },
            "stack_field" => Arg::StackField(text(0)?, text(1)?),
            "union_stack_field" => Arg::UnionStackField(text(0)?, text(1)?, text(2)?),
            "union_stack" => Arg::UnionStackMember(text(0)?, text(1)?),
            "hexstr" => {
                let n = hex(value.as_str().ok_or_else(bad)?).ok_or_else(bad)?;
                match v.get("bitwidth").and_then(Value::as_u64) {
                    Some(w) => Arg::Sized(n, u32::try_from(w).map_err(|_| bad())?),
                    None => Arg::Number(n),
                }
            }
            "bool" => Arg::Bool(value.as_bool().ok_or_else(bad)?),
            "runtime_data" | "local" => {
                let n = value.as_u64().and_then(|n| usize::try_from(n).ok());
                Arg::Data(n.ok_or_else(bad)?)
            }
            "lookahead" => Arg::Lookahead(number(0)?, number(1)?),
            "expression" => Arg::new(value, place)?,
            "parameters_vector" => {
                let none = value.as_object().is_some_and(serde_json::Map::is_empty);
                let empty = Vec::new();
                let list = if none {
                    &empty
                } else {
                    value.as_array().ok_or_else(bad)?
                };
                Arg::List(
                    list.iter()
                        .map(|v| Arg::new(v, place))
                        .collect::<Read<_>>()?,
                )
            }
            "payload" => Arg::Named(kind.into(), String::new()),
            _ => Arg::Named(kind.into(), value.as_str().ok_or_else(bad)?.into()),
        })
    }

    fn operation(v: &Value, place: &str) -> Read<Arg> {
        let side = |name: &str| match v.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(v) => Arg::new(v, place).map(|a| Some(Box::new(a))),
        };
        let op = v
            .get("op")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string();
        Ok(Arg::Op {
            op,
            left: side("left")?,
            right: side("right")?,
            cond: side("cond")?,
        })
    }
}

/// `0x1f`, `-0x2`.
pub(super) fn hex(text: &str) -> Option<BigInt> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let n = BigInt::from_str_radix(digits, 16).ok()?;
    Some(if negative { -n } else { n })
}

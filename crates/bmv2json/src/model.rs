//! The parts of a BMv2 JSON file that matter, as they stand there. Operands ("type value objects")
//! are read by [`Arg::new`].

use num_bigint::BigInt;
use num_traits::Num as _;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Bmv2Error, Read};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Json {
    pub(crate) header_types: Vec<HeaderType>,
    pub(crate) headers: Vec<Header>,
    pub(crate) header_stacks: Vec<Stack>,
    pub(crate) header_union_types: Vec<UnionType>,
    pub(crate) header_unions: Vec<Union>,
    pub(crate) header_union_stacks: Vec<UnionStack>,
    pub(crate) field_lists: Vec<FieldList>,
    pub(crate) errors: Vec<(String, u32)>,
    pub(crate) parsers: Vec<Parser>,
    pub(crate) parse_vsets: Vec<ValueSet>,
    pub(crate) deparsers: Vec<Deparser>,
    pub(crate) meter_arrays: Vec<Array>,
    pub(crate) counter_arrays: Vec<Array>,
    pub(crate) register_arrays: Vec<Array>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) learn_lists: Vec<FieldList>,
    pub(crate) actions: Vec<Action>,
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) extern_instances: Vec<ExternObject>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExternObject {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) attribute_values: Vec<Attribute>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) value: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderType {
    pub(crate) name: String,
    /// `[name, width or "*"]` or `[name, width, signed]`.
    pub(crate) fields: Vec<Vec<Value>>,
    /// Greatest length in bytes of a header with a variable field.
    pub(crate) max_length: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) id: i64,
    pub(crate) header_type: String,
    #[serde(default)]
    pub(crate) metadata: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) header_type: String,
    pub(crate) header_ids: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UnionType {
    pub(crate) name: String,
    pub(crate) headers: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Union {
    pub(crate) name: String,
    pub(crate) id: i64,
    pub(crate) union_type: String,
    pub(crate) header_ids: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UnionStack {
    pub(crate) name: String,
    pub(crate) union_type: String,
    pub(crate) header_union_ids: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FieldList {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) elements: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Parser {
    pub(crate) name: String,
    pub(crate) init_state: String,
    pub(crate) parse_states: Vec<State>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) parser_ops: Vec<Primitive>,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) transition_key: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transition {
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) mask: Option<String>,
    pub(crate) next_state: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ValueSet {
    pub(crate) name: String,
    pub(crate) compressed_bitwidth: u32,
    #[serde(default)]
    pub(crate) max_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Deparser {
    pub(crate) order: Vec<String>,
    #[serde(default)]
    pub(crate) primitives: Vec<Primitive>,
}

/// A counter, meter or register array.
#[derive(Debug, Deserialize)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    #[serde(default)]
    pub(crate) is_direct: bool,
    pub(crate) binding: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) result_target: Option<(String, String)>,
    pub(crate) bitwidth: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Calculation {
    pub(crate) name: String,
    pub(crate) algo: String,
    pub(crate) input: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) target: (String, String),
    pub(crate) calculation: String,
    #[serde(default = "yes")]
    pub(crate) verify: bool,
    #[serde(default = "yes")]
    pub(crate) update: bool,
    pub(crate) if_cond: Option<Value>,
    pub(crate) source_info: Option<SourceInfo>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) id: i64,
    pub(crate) runtime_data: Vec<RuntimeData>,
    pub(crate) primitives: Vec<Primitive>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RuntimeData {
    pub(crate) name: String,
    pub(crate) bitwidth: u32,
}

/// A primitive of an action or an operation of a parser.
#[derive(Debug, Deserialize)]
pub(crate) struct Primitive {
    pub(crate) op: String,
    #[serde(default)]
    pub(crate) parameters: Vec<Value>,
    pub(crate) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SourceInfo {
    pub(crate) filename: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    #[serde(default)]
    pub(crate) source_fragment: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) init_table: Option<String>,
    pub(crate) tables: Vec<Table>,
    #[serde(default)]
    pub(crate) action_profiles: Vec<Profile>,
    #[serde(default)]
    pub(crate) conditionals: Vec<Conditional>,
    #[serde(default)]
    pub(crate) action_calls: Vec<ActionCall>,
    pub(crate) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) max_size: u64,
    pub(crate) selector: Option<Selector>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Selector {
    pub(crate) algo: String,
    pub(crate) input: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Conditional {
    pub(crate) name: String,
    pub(crate) expression: Value,
    pub(crate) true_next: Option<String>,
    pub(crate) false_next: Option<String>,
    pub(crate) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionCall {
    pub(crate) name: String,
    pub(crate) action_id: i64,
    pub(crate) next_node: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) key: Vec<Key>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) action_profile: Option<String>,
    /// Its name in older files.
    pub(crate) act_prof_name: Option<String>,
    /// In older files, for the profile.
    pub(crate) selector: Option<Selector>,
    pub(crate) max_size: Option<u64>,
    #[serde(default)]
    pub(crate) with_counters: bool,
    #[serde(default)]
    pub(crate) support_timeout: bool,
    pub(crate) direct_meters: Option<String>,
    #[serde(default)]
    pub(crate) action_ids: Vec<i64>,
    /// Names in the order of `action_ids`, which older files lack.
    #[serde(default)]
    pub(crate) actions: Vec<String>,
    pub(crate) base_default_next: Option<String>,
    pub(crate) next_tables: std::collections::BTreeMap<String, Option<String>>,
    pub(crate) default_entry: Option<DefaultEntry>,
    #[serde(default)]
    pub(crate) entries: Vec<Entry>,
    pub(crate) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub(crate) match_type: String,
    pub(crate) name: Option<String>,
    /// A field, or a header for `valid`.
    pub(crate) target: Value,
    pub(crate) mask: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct DefaultEntry {
    pub(crate) action_id: i64,
    #[serde(default)]
    pub(crate) action_entry_const: bool,
    #[serde(default)]
    pub(crate) action_data: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub(crate) match_key: Vec<MatchKey>,
    pub(crate) action_entry: DefaultEntry,
    #[serde(default)]
    pub(crate) priority: u32,
    pub(crate) source_info: Option<SourceInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MatchKey {
    pub(crate) match_type: String,
    /// A hex string, or a boolean for `valid`.
    pub(crate) key: Option<Value>,
    pub(crate) mask: Option<String>,
    pub(crate) prefix_length: Option<u32>,
    pub(crate) start: Option<String>,
    pub(crate) end: Option<String>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arg {
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
    pub(crate) fn new(v: &Value, place: &str) -> Read<Arg> {
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
pub(crate) fn hex(text: &str) -> Option<BigInt> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let n = BigInt::from_str_radix(digits, 16).ok()?;
    Some(if negative { -n } else { n })
}

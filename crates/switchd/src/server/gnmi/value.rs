//! Values of leaves, and how each encoding writes them (gNMI sections 2.2.3 and 2.3).

use std::sync::Arc;

use ::gnmi::proto::{self, TypedValue, typed_value::Value as Typed};
use serde_json::{Map, Value as Json};
use tonic::Status;

use super::models::Step;

/// A leaf's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(Arc<str>),
    /// A value of an enumeration.
    Word(&'static str),
    /// A module and an identity of it.
    Identity(&'static str, &'static str),
    /// At most 32 bits.
    Small(u32),
    /// 64 bits.
    Big(u64),
    Flag(bool),
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    /// RFC 7951.
    Ietf,
    /// A scalar for each leaf.
    Proto,
}

impl Encoding {
    pub(super) const ALL: [proto::Encoding; 3] = [
        proto::Encoding::Json,
        proto::Encoding::JsonIetf,
        proto::Encoding::Proto,
    ];

    /// The encoding of a request.
    ///
    /// # Errors
    /// UNIMPLEMENTED for the others.
    pub(super) fn of(number: i32) -> Result<Self, Status> {
        match proto::Encoding::try_from(number) {
            Ok(proto::Encoding::Json) => Ok(Self::Json),
            Ok(proto::Encoding::JsonIetf) => Ok(Self::Ietf),
            Ok(proto::Encoding::Proto) => Ok(Self::Proto),
            Ok(other) => Err(Status::unimplemented(format!(
                "the encoding {} is not supported; use JSON, JSON_IETF or PROTO",
                other.as_str_name()
            ))),
            Err(_) => Err(Status::invalid_argument(format!(
                "there is no encoding {number}; use JSON, JSON_IETF or PROTO"
            ))),
        }
    }

    /// The encoding of a subscription, whose values are all leaves. A request without an encoding
    /// looks the same as one with JSON, and clients that were written for Stratum (finsy) give none
    /// and take scalars only. gNMI section 2.3 has clients see from the value how it is encoded, so
    /// JSON gives scalars too; JSON_IETF gives JSON.
    ///
    /// # Errors
    /// As [`Encoding::of`].
    pub(super) fn of_leaves(number: i32) -> Result<Self, Status> {
        Ok(match Self::of(number)? {
            Self::Json => Self::Proto,
            other => other,
        })
    }

    /// A leaf.
    pub(super) fn leaf(self, value: &Value) -> TypedValue {
        let value = match (self, value) {
            (Self::Proto, Value::Text(text)) => Typed::StringVal(text.to_string()),
            (Self::Proto, Value::Word(word) | Value::Identity(_, word)) => {
                Typed::StringVal((*word).to_owned())
            }
            (Self::Proto, Value::Small(number)) => Typed::UintVal((*number).into()),
            (Self::Proto, Value::Big(number)) => Typed::UintVal(*number),
            (Self::Proto, Value::Flag(flag)) => Typed::BoolVal(*flag),
            (Self::Json | Self::Ietf, value) => return self.json(&self.bare(value)),
        };
        TypedValue { value: Some(value) }
    }

    /// A value as JSON.
    pub(super) fn bare(self, value: &Value) -> Json {
        match (self, value) {
            (_, Value::Text(text)) => Json::from(&**text),
            (Self::Ietf, Value::Identity(module, word)) => Json::from(format!("{module}:{word}")),
            (_, Value::Word(word) | Value::Identity(_, word)) => Json::from(*word),
            (_, Value::Small(number)) => Json::from(*number),
            // RFC 7951 section 6.1: 64 bits are more than every reader's numbers have.
            (Self::Ietf, Value::Big(number)) => Json::from(number.to_string()),
            (_, Value::Big(number)) => Json::from(*number),
            (_, Value::Flag(flag)) => Json::from(*flag),
        }
    }

    /// A subtree.
    pub(super) fn json(self, value: &Json) -> TypedValue {
        let bytes = value.to_string().into_bytes();
        let value = match self {
            Self::Ietf => Typed::JsonIetfVal(bytes),
            Self::Json | Self::Proto => Typed::JsonVal(bytes),
        };
        TypedValue { value: Some(value) }
    }

    /// What a member of an object is called whose parent is another step, or the outside: RFC 7951
    /// section 4 names the module where it changes.
    fn member(self, parent: Option<Step>, step: Step) -> String {
        let same = parent.is_some_and(|parent| parent.module == step.module);
        match self {
            Self::Ietf if !same => format!("{}:{}", step.module.name(), step.name),
            _ => step.name.to_owned(),
        }
    }

    /// Puts a value into an object, in the containers on the way. `outer` is the node that the
    /// object stands for, where that is inside of the answer.
    pub(super) fn insert(
        self,
        object: &mut Map<String, Json>,
        outer: Option<Step>,
        way: &[Step],
        value: Json,
    ) {
        let Some((step, rest)) = way.split_first() else {
            return;
        };
        let name = self.member(outer, *step);
        if rest.is_empty() {
            object.insert(name, value);
            return;
        }
        let inner = object
            .entry(name)
            .or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(inner) = inner {
            self.insert(inner, Some(*step), rest, value);
        }
    }
}

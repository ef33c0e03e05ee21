//! The protobuf text format, byte for byte as p4c and the C++ tools write it: the two header
//! comments that name the schema, two spaces per level, repeated fields one by one, octal escapes.

use std::fmt::Write as _;

use prost::{Message, Name};
use prost_reflect::{DynamicMessage, MapKey, MessageDescriptor, ReflectMessage, Value};

use crate::descriptor_pool;

/// Why a message could not be printed or parsed.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The message is not one of P4Runtime.
    #[error("{0} is not a message of the P4Runtime protos")]
    UnknownMessage(String),
    /// The text is not this message.
    #[error("this is not a {message} in text format: {reason}")]
    Parse {
        /// Full name of the message that was expected.
        message: String,
        /// Where and what.
        reason: String,
    },
    /// A message could not be taken over between its two forms: a bug of ours.
    #[error("{message} does not survive its own encoding: {source}")]
    Transcode {
        /// Full name of the message.
        message: String,
        /// What the decoder said.
        source: prost::DecodeError,
    },
}

/// A message in text format, after `# proto-file:` and `# proto-message:` comments.
///
/// # Errors
/// [`TextError::UnknownMessage`] for a message that is not of this crate.
pub fn to_text<M: Message + Name>(message: &M) -> Result<String, TextError> {
    let dynamic = to_dynamic(message)?;
    let descriptor = dynamic.descriptor();
    let mut text = format!(
        "# proto-file: {}\n# proto-message: {}\n\n",
        descriptor.parent_file().name(),
        descriptor.full_name()
    );
    write_fields(&mut text, &dynamic, 0);
    Ok(text)
}

/// A message with its names: serialised, it is JSON as protobuf defines it (names in camel case,
/// 64-bit numbers as strings, bytes in base64).
///
/// # Errors
/// [`TextError::UnknownMessage`] for a message that is not of this crate.
pub fn to_dynamic<M: Message + Name>(message: &M) -> Result<DynamicMessage, TextError> {
    let decoded = DynamicMessage::decode(descriptor_of::<M>()?, message.encode_to_vec().as_slice());
    decoded.map_err(|source| TextError::Transcode {
        message: M::full_name(),
        source,
    })
}

/// Reads a message from text format; comments are ignored, also in the header.
///
/// # Errors
/// [`TextError::Parse`] with the place of the first fault.
pub fn from_text<M: Message + Name + Default>(text: &str) -> Result<M, TextError> {
    let descriptor = descriptor_of::<M>()?;
    let dynamic =
        DynamicMessage::parse_text_format(descriptor, text).map_err(|error| TextError::Parse {
            message: M::full_name(),
            reason: error.to_string(),
        })?;
    dynamic
        .transcode_to()
        .map_err(|source| TextError::Transcode {
            message: M::full_name(),
            source,
        })
}

fn descriptor_of<M: Name>() -> Result<MessageDescriptor, TextError> {
    descriptor_pool()
        .get_message_by_name(&M::full_name())
        .ok_or_else(|| TextError::UnknownMessage(M::full_name()))
}

/// Writes the fields that are set, in order of their numbers.
fn write_fields(out: &mut String, message: &DynamicMessage, depth: usize) {
    if let Some((type_url, inner)) = expand_any(message) {
        write_message(out, &format!("[{type_url}]"), &inner, depth);
        return;
    }
    for (field, value) in message.fields() {
        match value {
            Value::List(values) => {
                for value in values {
                    write_value(out, field.name(), value, field.kind(), depth);
                }
            }
            Value::Map(entries) => {
                let kind = field.kind();
                let Some(entry) = kind.as_message() else {
                    continue;
                };
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by_key(|(key, _)| sortable(key));
                for (key, value) in entries {
                    indent(out, depth);
                    let _ = writeln!(out, "{} {{", field.name());
                    let (key_field, value_field) =
                        (entry.map_entry_key_field(), entry.map_entry_value_field());
                    let key = Value::from(key.clone());
                    write_value(out, "key", &key, key_field.kind(), depth + 1);
                    write_value(out, "value", value, value_field.kind(), depth + 1);
                    indent(out, depth);
                    out.push_str("}\n");
                }
            }
            value => write_value(out, field.name(), value, field.kind(), depth),
        }
    }
}

fn write_message(out: &mut String, name: &str, message: &DynamicMessage, depth: usize) {
    indent(out, depth);
    let _ = writeln!(out, "{name} {{");
    write_fields(out, message, depth + 1);
    indent(out, depth);
    out.push_str("}\n");
}

fn write_value(
    out: &mut String,
    name: &str,
    value: &Value,
    kind: prost_reflect::Kind,
    depth: usize,
) {
    if let Value::Message(message) = value {
        return write_message(out, name, message, depth);
    }
    indent(out, depth);
    let _ = write!(out, "{name}: ");
    let _ = match value {
        Value::Bool(value) => write!(out, "{value}"),
        Value::I32(value) => write!(out, "{value}"),
        Value::I64(value) => write!(out, "{value}"),
        Value::U32(value) => write!(out, "{value}"),
        Value::U64(value) => write!(out, "{value}"),
        Value::F32(value) => write!(out, "{value}"),
        Value::F64(value) => write!(out, "{value}"),
        Value::EnumNumber(number) => {
            match kind.as_enum().and_then(|values| values.get_value(*number)) {
                Some(value) => write!(out, "{}", value.name()),
                None => write!(out, "{number}"),
            }
        }
        Value::String(value) => {
            write_escaped(out, value.as_bytes());
            Ok(())
        }
        Value::Bytes(value) => {
            write_escaped(out, value);
            Ok(())
        }
        // Handled by the callers: neither nests in a list or a map.
        Value::Message(_) | Value::List(_) | Value::Map(_) => Ok(()),
    };
    out.push('\n');
}

/// The content of a `google.protobuf.Any` whose type is known here.
fn expand_any(message: &DynamicMessage) -> Option<(String, DynamicMessage)> {
    if message.descriptor().full_name() != "google.protobuf.Any" {
        return None;
    }
    let type_url = message.get_field_by_name("type_url")?.as_str()?.to_owned();
    let value = message.get_field_by_name("value")?.as_bytes()?.clone();
    let (_, name) = type_url.rsplit_once('/')?;
    let descriptor = descriptor_pool().get_message_by_name(name)?;
    let inner = DynamicMessage::decode(descriptor, value).ok()?;
    Some((type_url, inner))
}

/// Map keys in the order in which C++ prints them: numbers by value, strings by bytes.
fn sortable(key: &MapKey) -> (i128, &str) {
    match key {
        MapKey::Bool(key) => (i128::from(*key), ""),
        MapKey::I32(key) => (i128::from(*key), ""),
        MapKey::I64(key) => (i128::from(*key), ""),
        MapKey::U32(key) => (i128::from(*key), ""),
        MapKey::U64(key) => (i128::from(*key), ""),
        MapKey::String(key) => (0, key),
    }
}

/// Quotes with C escapes: what is not printable ASCII in octal.
pub fn write_escaped(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for &byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                out.push('\\');
                for shift in [6, 3, 0] {
                    out.push(char::from(b'0' + (byte >> shift & 7)));
                }
            }
        }
    }
    out.push('"');
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::p4::config::v1 as config;
    use crate::p4::v1::{self, entity, field_match, update};

    fn request(values: &[Vec<u8>]) -> v1::WriteRequest {
        v1::WriteRequest {
            device_id: 1,
            updates: values
                .iter()
                .map(|value| v1::Update {
                    r#type: update::Type::Insert.into(),
                    entity: Some(v1::Entity {
                        entity: Some(entity::Entity::TableEntry(v1::TableEntry {
                            table_id: 0x0200_0001,
                            r#match: vec![v1::FieldMatch {
                                field_id: 1,
                                field_match_type: Some(field_match::FieldMatchType::Exact(
                                    field_match::Exact {
                                        value: value.clone(),
                                    },
                                )),
                            }],
                            ..Default::default()
                        })),
                    }),
                })
                .collect(),
            ..Default::default()
        }
    }

    #[test]
    fn printed_as_the_tools_print() {
        let text = to_text(&request(&[b"\x00\x0a\"A\\\xff".to_vec()])).unwrap();
        let expected = r#"# proto-file: p4/v1/p4runtime.proto
# proto-message: p4.v1.WriteRequest

device_id: 1
updates {
  type: INSERT
  entity {
    table_entry {
      table_id: 33554433
      match {
        field_id: 1
        exact {
          value: "\000\n\"A\\\377"
        }
      }
    }
  }
}
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn maps_packed_lists_and_any() {
        let mut info = config::P4Info::default();
        let mut types = config::P4TypeInfo::default();
        types
            .structs
            .insert("b_t".into(), config::P4StructTypeSpec::default());
        types
            .structs
            .insert("a_t".into(), config::P4StructTypeSpec::default());
        info.type_info = Some(types);
        let documentation = config::Documentation {
            brief: "why".into(),
            ..Default::default()
        };
        info.tables.push(config::Table {
            direct_resource_ids: vec![7, 8],
            other_properties: Some(prost_types::Any {
                type_url: "type.googleapis.com/p4.config.v1.Documentation".into(),
                value: documentation.encode_to_vec(),
            }),
            ..Default::default()
        });
        let text = to_text(&info).unwrap();
        let body = r#"tables {
  direct_resource_ids: 7
  direct_resource_ids: 8
  other_properties {
    [type.googleapis.com/p4.config.v1.Documentation] {
      brief: "why"
    }
  }
}
type_info {
  structs {
    key: "a_t"
    value {
    }
  }
  structs {
    key: "b_t"
    value {
    }
  }
}
"#;
        assert!(text.ends_with(body), "{text}");
        assert_eq!(from_text::<config::P4Info>(&text).unwrap(), info);
    }

    #[test]
    fn faults_are_told_with_their_place() {
        let error = from_text::<v1::WriteRequest>("updates {\n  typo: INSERT\n}\n").unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("p4.v1.WriteRequest") && message.contains("typo"),
            "{message}"
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(values: Vec<Vec<u8>>) {
            let request = request(&values);
            let text = to_text(&request).unwrap();
            prop_assert_eq!(from_text::<v1::WriteRequest>(&text).unwrap(), request);
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = from_text::<v1::WriteRequest>(&text);
        }
    }
}

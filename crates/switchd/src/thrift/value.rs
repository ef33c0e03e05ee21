//! Values of Thrift's protocol. A message describes itself, so one reader and one writer serve all
//! methods; what a method expects is checked by the accessors of [`Fields`]. Depth, number and
//! length of what is read are bounded.

use thrift::protocol::{
    TFieldIdentifier, TInputProtocol, TListIdentifier, TMapIdentifier, TOutputProtocol,
    TStructIdentifier, TType,
};
use thrift::{ProtocolError, ProtocolErrorKind};

/// Levels of structures and containers in a message; the interface has three.
const DEPTH: usize = 16;

/// Values in a message.
pub const MOST_VALUES: usize = 1 << 16;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// `byte`.
    I8(i8),
    /// `i16`.
    I16(i16),
    /// `i32`, and members of enumerations.
    I32(i32),
    /// `i64`.
    I64(i64),
    /// `double`.
    Double(f64),
    /// `string` or `binary`.
    Bytes(Vec<u8>),
    /// A structure.
    Struct(Fields),
    /// A list or a set, with the type of its elements.
    List(TType, Vec<Value>),
    /// A map of strings.
    Texts(Vec<(String, String)>),
}

/// The fields of a structure, or the arguments of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(i16, Value)>);

/// An argument of another type than the interface has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongType {
    /// The number of the field.
    pub field: i16,
    /// What is expected.
    pub expected: &'static str,
}

macro_rules! accessors {
    ($($(#[$doc:meta])* $name:ident, $given:ident: $kind:ident => $type:ty, $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// [`WrongType`].
        pub fn $given(&self, field: i16) -> Result<Option<&$type>, WrongType> {
            match self.value(field) {
                None => Ok(None),
                Some(Value::$kind(value)) => Ok(Some(value)),
                Some(_) => Err(WrongType { field, expected: $text }),
            }
        }

        /// The same, or what stands for a field that is absent.
        ///
        /// # Errors
        /// [`WrongType`].
        pub fn $name(&self, field: i16) -> Result<$type, WrongType> {
            Ok(self.$given(field)?.cloned().unwrap_or_default())
        }
    )*};
}

impl Fields {
    /// These fields.
    #[must_use]
    pub fn of(fields: impl IntoIterator<Item = (i16, Value)>) -> Self {
        Self(fields.into_iter().collect())
    }

    /// The value of a field, whatever it is.
    #[must_use]
    pub fn value(&self, field: i16) -> Option<&Value> {
        let found = self.0.iter().find(|(number, _)| *number == field);
        found.map(|(_, value)| value)
    }

    accessors! {
        /// A `bool`.
        bool, given_bool: Bool => bool, "a bool";
        /// An `i16`.
        i16, given_i16: I16 => i16, "an i16";
        /// An `i32`.
        i32, given_i32: I32 => i32, "an i32";
        /// An `i64`.
        i64, given_i64: I64 => i64, "an i64";
        /// A `double`.
        double, given_double: Double => f64, "a double";
        /// A `binary`.
        bytes, given_bytes: Bytes => Vec<u8>, "a string";
        /// A structure.
        fields, given_fields: Struct => Fields, "a structure";
    }

    /// A `string`; what is no UTF-8 names nothing, and is changed until it is some.
    ///
    /// # Errors
    /// [`WrongType`].
    pub fn text(&self, field: i16) -> Result<String, WrongType> {
        let bytes = self.given_bytes(field)?;
        Ok(bytes.map_or_else(String::new, |b| String::from_utf8_lossy(b).into_owned()))
    }

    fn list<'a, T: 'a>(
        &'a self,
        field: i16,
        expected: &'static str,
        element: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Vec<T>, WrongType> {
        let wrong = WrongType { field, expected };
        match self.value(field) {
            None => Ok(Vec::new()),
            Some(Value::List(_, elements)) => elements
                .iter()
                .map(|one| element(one).ok_or_else(|| wrong.clone()))
                .collect(),
            Some(_) => Err(wrong),
        }
    }

    /// A list of structures.
    ///
    /// # Errors
    /// [`WrongType`].
    pub fn structs(&self, field: i16) -> Result<Vec<&Self>, WrongType> {
        self.list(field, "a list of structures", |value| match value {
            Value::Struct(fields) => Some(fields),
            _ => None,
        })
    }

    /// A list of `binary`s.
    ///
    /// # Errors
    /// [`WrongType`].
    pub fn byte_strings(&self, field: i16) -> Result<Vec<&[u8]>, WrongType> {
        self.list(field, "a list of strings", |value| match value {
            Value::Bytes(bytes) => Some(bytes.as_slice()),
            _ => None,
        })
    }
}

impl Value {
    /// A `string`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }

    /// A structure.
    pub fn structure(fields: impl IntoIterator<Item = (i16, Self)>) -> Self {
        Self::Struct(Fields::of(fields))
    }

    /// A list of structures.
    pub fn structures(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::List(TType::Struct, elements.into_iter().collect())
    }

    const fn kind(&self) -> TType {
        match self {
            Self::Bool(_) => TType::Bool,
            Self::I8(_) => TType::I08,
            Self::I16(_) => TType::I16,
            Self::I32(_) => TType::I32,
            Self::I64(_) => TType::I64,
            Self::Double(_) => TType::Double,
            Self::Bytes(_) => TType::String,
            Self::Struct(_) => TType::Struct,
            Self::List(..) => TType::List,
            Self::Texts(_) => TType::Map,
        }
    }
}

fn refused<T>(kind: ProtocolErrorKind, what: &str) -> thrift::Result<T> {
    Err(ProtocolError::new(kind, what).into())
}

/// Reads values of one message.
pub struct Reader<'a> {
    input: &'a mut dyn TInputProtocol,
    left: usize,
}

impl<'a> Reader<'a> {
    /// A reader of the message that comes next.
    pub fn new(input: &'a mut dyn TInputProtocol) -> Self {
        Self {
            input,
            left: MOST_VALUES,
        }
    }

    /// The fields of a structure.
    ///
    /// # Errors
    /// [`thrift::Error`]: the connection, or a message that is too deep, too large or none.
    pub fn fields(&mut self) -> thrift::Result<Fields> {
        self.structure(DEPTH)
    }

    fn structure(&mut self, depth: usize) -> thrift::Result<Fields> {
        let mut fields = Vec::new();
        self.input.read_struct_begin()?;
        loop {
            let field = self.input.read_field_begin()?;
            if field.field_type == TType::Stop {
                break;
            }
            let value = self.value(field.field_type, depth)?;
            self.input.read_field_end()?;
            if let (Some(id), Some(value)) = (field.id, value) {
                fields.push((id, value));
            }
        }
        self.input.read_struct_end()?;
        Ok(Fields(fields))
    }

    /// A value; none for a map, which no method takes.
    fn value(&mut self, kind: TType, depth: usize) -> thrift::Result<Option<Value>> {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.checked_sub(1)) else {
            return refused(
                ProtocolErrorKind::SizeLimit,
                "the message has too many values or levels",
            );
        };
        self.left = left;
        Ok(Some(match kind {
            TType::Bool => Value::Bool(self.input.read_bool()?),
            TType::I08 => Value::I8(self.input.read_i8()?),
            TType::I16 => Value::I16(self.input.read_i16()?),
            TType::I32 => Value::I32(self.input.read_i32()?),
            TType::I64 => Value::I64(self.input.read_i64()?),
            TType::Double => Value::Double(self.input.read_double()?),
            TType::String | TType::Utf7 => Value::Bytes(self.input.read_bytes()?),
            TType::Struct => Value::Struct(self.structure(depth)?),
            TType::List => {
                let list = self.input.read_list_begin()?;
                self.elements(list.element_type, list.size, depth)?
            }
            TType::Set => {
                let set = self.input.read_set_begin()?;
                self.elements(set.element_type, set.size, depth)?
            }
            TType::Map => {
                let map = self.input.read_map_begin()?;
                for _ in 0..map.size {
                    for kind in [map.key_type, map.value_type].into_iter().flatten() {
                        self.value(kind, depth)?;
                    }
                }
                return Ok(None);
            }
            _ => {
                return refused(
                    ProtocolErrorKind::InvalidData,
                    "a value has a type that no method takes",
                );
            }
        }))
    }

    fn elements(&mut self, kind: TType, size: i32, depth: usize) -> thrift::Result<Value> {
        let mut elements = Vec::new();
        for _ in 0..size {
            elements.extend(self.value(kind, depth)?);
        }
        Ok(Value::List(kind, elements))
    }
}

/// Writes the fields of a structure.
///
/// # Errors
/// [`thrift::Error`] of the transport.
pub fn write_fields(output: &mut dyn TOutputProtocol, fields: &Fields) -> thrift::Result<()> {
    output.write_struct_begin(&TStructIdentifier::new(""))?;
    for (id, value) in &fields.0 {
        output.write_field_begin(&TFieldIdentifier::new("", value.kind(), *id))?;
        write_value(output, value)?;
        output.write_field_end()?;
    }
    output.write_field_stop()?;
    output.write_struct_end()
}

fn length(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

fn write_value(output: &mut dyn TOutputProtocol, value: &Value) -> thrift::Result<()> {
    match value {
        Value::Bool(value) => output.write_bool(*value),
        Value::I8(value) => output.write_i8(*value),
        Value::I16(value) => output.write_i16(*value),
        Value::I32(value) => output.write_i32(*value),
        Value::I64(value) => output.write_i64(*value),
        Value::Double(value) => output.write_double(*value),
        Value::Bytes(bytes) => output.write_bytes(bytes),
        Value::Struct(fields) => write_fields(output, fields),
        Value::List(kind, elements) => {
            output.write_list_begin(&TListIdentifier::new(*kind, length(elements.len())))?;
            for element in elements {
                write_value(output, element)?;
            }
            output.write_list_end()
        }
        Value::Texts(pairs) => {
            let size = length(pairs.len());
            output.write_map_begin(&TMapIdentifier::new(TType::String, TType::String, size))?;
            for (key, value) in pairs {
                output.write_string(key)?;
                output.write_string(value)?;
            }
            output.write_map_end()
        }
    }
}

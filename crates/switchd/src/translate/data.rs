//! Values of any P4 type, as registers hold and digests carry them (P4Runtime 1.5, section 8.4).
//!
//! The executor knows a value of an aggregate type as its scalar leaves side by side, in order of
//! declaration.

use p4exec::value::Bits;
use p4runtime::p4::config::v1 as info;
use p4runtime::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime::p4::v1;
use p4runtime::p4::v1::p4_data::Data;

use super::refusal::Refusal;
use super::value::{Shape, decode, encode};

/// Types refer to types; more than this many levels are a loop.
const DEPTH: u32 = 32;

/// A type without names.
enum Plain<'a> {
    Bits(Shape),
    Bool,
    Error,
    Enum(&'a info::P4EnumTypeSpec),
    Serializable(u32),
    Struct(Vec<&'a info::P4DataTypeSpec>),
    Tuple(&'a [info::P4DataTypeSpec]),
    Header(Vec<Shape>),
}

fn shape(spec: &info::P4BitstringLikeTypeSpec) -> Result<Shape, Refusal> {
    let width = |w: i32| u32::try_from(w).unwrap_or(0);
    match &spec.type_spec {
        Some(Bitstring::Bit(bit)) => Ok(Shape::unsigned(width(bit.bitwidth))),
        Some(Bitstring::Int(int)) => Ok(Shape {
            width: width(int.bitwidth),
            signed: true,
        }),
        Some(Bitstring::Varbit(_)) | None => Err(Refusal::unimplemented(
            "varbit values are not supported here",
        )),
    }
}

fn plain<'a>(
    types: &'a info::P4TypeInfo,
    spec: &'a info::P4DataTypeSpec,
    depth: u32,
) -> Result<Plain<'a>, Refusal> {
    let lost = |name: &str| Refusal::invalid(format!("P4Info has no type `{name}`"));
    if depth == 0 {
        return Err(Refusal::invalid("the type refers to itself"));
    }
    Ok(match spec.type_spec.as_ref() {
        Some(TypeSpec::Bitstring(bits)) => Plain::Bits(shape(bits)?),
        Some(TypeSpec::Bool(_)) => Plain::Bool,
        Some(TypeSpec::Error(_)) => Plain::Error,
        Some(TypeSpec::Tuple(tuple)) => Plain::Tuple(&tuple.members),
        Some(TypeSpec::Struct(name)) => {
            let found = types
                .structs
                .get(&name.name)
                .ok_or_else(|| lost(&name.name))?;
            Plain::Struct(
                found
                    .members
                    .iter()
                    .filter_map(|m| m.type_spec.as_ref())
                    .collect(),
            )
        }
        Some(TypeSpec::Header(name)) => {
            let found = types
                .headers
                .get(&name.name)
                .ok_or_else(|| lost(&name.name))?;
            let fields = found.members.iter().filter_map(|m| m.type_spec.as_ref());
            Plain::Header(fields.map(shape).collect::<Result<_, _>>()?)
        }
        Some(TypeSpec::Enum(name)) => Plain::Enum(
            types
                .enums
                .get(&name.name)
                .ok_or_else(|| lost(&name.name))?,
        ),
        Some(TypeSpec::SerializableEnum(name)) => {
            let found = types.serializable_enums.get(&name.name);
            let found = found.ok_or_else(|| lost(&name.name))?;
            let width = found.underlying_type.as_ref().map_or(0, |t| t.bitwidth);
            Plain::Serializable(u32::try_from(width).unwrap_or(0))
        }
        Some(TypeSpec::NewType(name)) => {
            use info::p4_new_type_spec::Representation;
            let found = types
                .new_types
                .get(&name.name)
                .ok_or_else(|| lost(&name.name))?;
            match found.representation.as_ref() {
                Some(Representation::OriginalType(spec)) => plain(types, spec, depth - 1)?,
                _ => {
                    return Err(Refusal::unimplemented(
                        "translated types are not supported here",
                    ));
                }
            }
        }
        _ => {
            return Err(Refusal::unimplemented(
                "values of this type are not supported",
            ));
        }
    })
}

/// Reads a value's leaves.
fn leaves(
    types: &info::P4TypeInfo,
    spec: &info::P4DataTypeSpec,
    given: &v1::P4Data,
    out: &mut Vec<Bits>,
    depth: u32,
) -> Result<(), Refusal> {
    let wrong = |expected: &str| Refusal::invalid(format!("the data is not {expected}"));
    let data = given.data.as_ref().ok_or_else(|| super::missing("data"))?;
    match (plain(types, spec, depth)?, data) {
        (Plain::Bits(shape), Data::Bitstring(bytes)) => out.push(decode(bytes, shape)?),
        (Plain::Bits(_), _) => return Err(wrong("a bit string")),
        (Plain::Bool, Data::Bool(value)) => out.push(Bits::from_bool(*value)),
        (Plain::Bool, _) => return Err(wrong("a bool")),
        (Plain::Serializable(width), Data::EnumValue(bytes)) => {
            out.push(decode(bytes, Shape::unsigned(width))?);
        }
        (Plain::Serializable(_), _) => return Err(wrong("an enum value")),
        (Plain::Enum(spec), Data::Enum(name)) => {
            let place = spec.members.iter().position(|m| m.name == *name);
            let place = place.ok_or_else(|| wrong("a member of the enum"))?;
            out.push(Bits::from_u64(32, place as u64));
        }
        (Plain::Enum(_), _) => return Err(wrong("a member of the enum")),
        (Plain::Struct(specs), Data::Struct(value)) => {
            members(types, specs.into_iter(), value, out, depth)?;
        }
        (Plain::Struct(_), _) => return Err(wrong("a struct")),
        (Plain::Tuple(specs), Data::Tuple(value)) => {
            members(types, specs.iter(), value, out, depth)?;
        }
        (Plain::Tuple(_), _) => return Err(wrong("a tuple")),
        (Plain::Header(shapes), Data::Header(value)) => {
            if shapes.len() != value.bitstrings.len() {
                return Err(wrong(&format!("a header of {} fields", shapes.len())));
            }
            for (shape, bytes) in shapes.into_iter().zip(&value.bitstrings) {
                out.push(decode(bytes, shape)?);
            }
        }
        (Plain::Header(_), _) => return Err(wrong("a header")),
        (Plain::Error, _) => return Err(Refusal::unimplemented("errors cannot be written")),
    }
    Ok(())
}

fn members<'a>(
    types: &info::P4TypeInfo,
    specs: impl ExactSizeIterator<Item = &'a info::P4DataTypeSpec>,
    value: &v1::P4StructLike,
    out: &mut Vec<Bits>,
    depth: u32,
) -> Result<(), Refusal> {
    if specs.len() != value.members.len() {
        return Err(Refusal::invalid(format!(
            "the data has {} members where the type has {}",
            value.members.len(),
            specs.len()
        )));
    }
    for (index, (spec, member)) in specs.zip(&value.members).enumerate() {
        leaves(types, spec, member, out, depth - 1)
            .map_err(|r| r.at(&format!("member {index}")))?;
    }
    Ok(())
}

/// Reads the value of a register cell of `width` bits.
///
/// # Errors
/// INVALID_ARGUMENT or OUT_OF_RANGE if the data is not of the type.
pub fn decode_cell(
    types: &info::P4TypeInfo,
    spec: &info::P4DataTypeSpec,
    given: &v1::P4Data,
    width: u32,
) -> Result<Bits, Refusal> {
    let mut parts = Vec::new();
    leaves(types, spec, given, &mut parts, DEPTH)?;
    let whole = parts.into_iter().reduce(|all, part| all.concat(&part));
    let whole = whole.unwrap_or_else(|| Bits::zero(width));
    if whole.width() > width {
        return Err(Refusal::invalid(format!(
            "the data has {} bits where the cell has {width}",
            whole.width()
        )));
    }
    Ok(whole.resize_unsigned(width))
}

/// Where leaves come from: a list, or the bits of one value from the top.
trait Leaves {
    fn next(&mut self, width: u32) -> Bits;
}

struct Listed<'a>(std::slice::Iter<'a, Bits>);

impl Leaves for Listed<'_> {
    fn next(&mut self, width: u32) -> Bits {
        self.0.next().cloned().unwrap_or_else(|| Bits::zero(width))
    }
}

struct Packed<'a> {
    whole: &'a Bits,
    taken: u32,
}

impl Leaves for Packed<'_> {
    fn next(&mut self, width: u32) -> Bits {
        let top = self.whole.width().saturating_sub(self.taken);
        self.taken += width;
        match (top, top.checked_sub(width)) {
            (1.., Some(low)) if width > 0 => self.whole.slice(top - 1, low),
            _ => Bits::zero(width),
        }
    }
}

fn tell(
    types: &info::P4TypeInfo,
    spec: &info::P4DataTypeSpec,
    from: &mut dyn Leaves,
    depth: u32,
) -> v1::P4Data {
    let data = match plain(types, spec, depth) {
        Ok(Plain::Bits(shape)) => Some(Data::Bitstring(encode(
            &from.next(shape.width),
            shape.signed,
        ))),
        Ok(Plain::Bool) => Some(Data::Bool(from.next(1).is_true())),
        Ok(Plain::Serializable(width)) => Some(Data::EnumValue(encode(&from.next(width), false))),
        Ok(Plain::Enum(spec)) => {
            let place = from.next(32).to_usize();
            let member = place.and_then(|i| spec.members.get(i));
            member.map(|m| Data::Enum(m.name.clone()))
        }
        Ok(Plain::Error) => {
            let names = types.error.as_ref().map(|e| e.members.as_slice());
            let place = from.next(32).to_usize();
            let name = place.and_then(|i| names.unwrap_or_default().get(i));
            name.map(|name| Data::Error(name.clone()))
        }
        Ok(Plain::Struct(specs)) => {
            let members = specs
                .into_iter()
                .map(|s| tell(types, s, from, depth - 1))
                .collect();
            Some(Data::Struct(v1::P4StructLike { members }))
        }
        Ok(Plain::Tuple(specs)) => {
            let members = specs
                .iter()
                .map(|s| tell(types, s, from, depth - 1))
                .collect();
            Some(Data::Tuple(v1::P4StructLike { members }))
        }
        Ok(Plain::Header(shapes)) => {
            let value = |s: Shape| encode(&from.next(s.width), s.signed);
            let bitstrings = shapes.into_iter().map(value).collect();
            Some(Data::Header(v1::P4Header {
                is_valid: true,
                bitstrings,
            }))
        }
        Err(_) => None,
    };
    v1::P4Data { data }
}

/// The message of a register cell.
#[must_use]
pub fn encode_cell(
    types: &info::P4TypeInfo,
    spec: &info::P4DataTypeSpec,
    value: &Bits,
) -> v1::P4Data {
    let mut packed = Packed {
        whole: value,
        taken: 0,
    };
    tell(types, spec, &mut packed, DEPTH)
}

/// The message of a digest's leaves.
#[must_use]
pub fn encode_leaves(
    types: &info::P4TypeInfo,
    spec: &info::P4DataTypeSpec,
    leaves: &[Bits],
) -> v1::P4Data {
    tell(types, spec, &mut Listed(leaves.iter()), DEPTH)
}

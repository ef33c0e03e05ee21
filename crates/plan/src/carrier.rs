//! Where in the packet a tag travels, and the number that stands for it there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use super::tag::{ClassId, NewTag, Tag};

/// The header field that carries the tag.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
    EnumMessage,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CarrierKind {
    /// The differentiated services code point of IPv4 and IPv6 (6 bits; the two ECN bits beside it
    /// are never touched). End hosts and routing see nothing.
    #[strum(message = "IPv4 and IPv6 DSCP")]
    #[default]
    Dscp,
    /// The priority code point of an 802.1Q tag (3 bits).
    #[strum(message = "802.1Q priority code point")]
    VlanPcp,
    /// The VLAN identifier of an 802.1Q tag (12 bits; 4095 is reserved).
    #[strum(message = "802.1Q VLAN identifier")]
    VlanVid,
    /// Our own header after Ethernet (8 bits).
    #[strum(message = "Our own header after Ethernet, between switches only")]
    Shim,
}

impl CarrierKind {
    /// Every carrier.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Width of the field, in bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Dscp => 6,
            Self::VlanPcp => 3,
            Self::VlanVid => 12,
            Self::Shim => 8,
        }
    }

    /// The greatest number that may stand for a tag.
    #[must_use]
    pub const fn max_code(self) -> u16 {
        match self {
            Self::VlanVid => 4094,
            other => (1 << other.bits()) - 1,
        }
    }

    /// The name in plan files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The number that stands for a tag (and a class) in the carrier.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct TagCode(u16);

impl TagCode {
    /// The code with this number.
    #[must_use]
    pub const fn new(raw: u16) -> Self {
        Self(raw)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// The carrier of a plan with the code of every tag.
///
/// Where class bits are carried they are the bits above the tag's:
/// `code = class << class_shift | code of the tag`. A rule for any class then matches the tag's
/// bits only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Carrier {
    /// The header field.
    pub kind: CarrierKind,
    /// The code of every tag.
    #[serde(with = "tag_codes")]
    #[schemars(with = "BTreeMap<String, TagCode>")]
    pub codes: BTreeMap<Tag, TagCode>,
    /// The code that lossy packets leave with; it is no tag's code.
    #[serde(default)]
    pub lossy: TagCode,
    /// How many bits the tag has below the class bits, where class bits are carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_shift: Option<u8>,
}

impl Carrier {
    /// Consecutive codes from 1 for these tags, lossy packets have code 0. With `class_bits` the
    /// tags get just as many bits as they need and the classes the bits above.
    #[must_use]
    pub fn numbered(
        kind: CarrierKind,
        tags: impl IntoIterator<Item = Tag>,
        class_bits: bool,
    ) -> Self {
        let codes = tags.into_iter().zip((1..).map(TagCode::new)).collect();
        Self::coded(kind, codes, class_bits)
    }

    /// These codes for tags, lossy packets have code 0. With `class_bits` the tags get just as many
    /// bits as they need and the classes the bits above.
    #[must_use]
    pub fn coded(kind: CarrierKind, codes: BTreeMap<Tag, TagCode>, class_bits: bool) -> Self {
        let highest = codes.values().map(|code| code.get()).max().unwrap_or(0);
        let needed = u8::try_from(u16::BITS - highest.leading_zeros()).unwrap_or(16);
        Self {
            kind,
            codes,
            lossy: TagCode::new(0),
            class_shift: class_bits.then_some(needed),
        }
    }

    /// Whether the codes of tags fit the field together with this number of classes, where class
    /// bits are carried.
    #[must_use]
    pub fn has_room_for(&self, classes: usize) -> bool {
        let highest = self
            .codes
            .values()
            .map(|code| code.get())
            .max()
            .unwrap_or(0);
        let shift = u32::from(self.class_shift.unwrap_or(0));
        let last = u64::try_from(classes.saturating_sub(1)).unwrap_or(u64::MAX);
        let class = last.checked_mul(1 << shift.min(16));
        class.is_some_and(|class| class | u64::from(highest) <= u64::from(self.kind.max_code()))
    }

    /// The number that stands in the packet; `None` for a tag without a code. Lossy packets have no
    /// class.
    #[must_use]
    pub fn code(&self, class: ClassId, tag: NewTag) -> Option<TagCode> {
        let NewTag::Lossless(tag) = tag else {
            return Some(self.lossy);
        };
        let code = self.codes.get(&tag)?.get();
        let class = match self.class_shift {
            Some(shift) => u16::from(class.get()).checked_shl(u32::from(shift))?,
            None => 0,
        };
        Some(TagCode::new(class | code))
    }

    /// The bits of the field that tell tags apart (all of them unless class bits are carried): the
    /// mask of a rule for any class.
    #[must_use]
    pub fn tag_mask(&self) -> u16 {
        let full = (1u32 << self.kind.bits()) - 1;
        let low = self
            .class_shift
            .map_or(full, |shift| (1u32 << shift.min(16)) - 1);
        u16::try_from(low & full).unwrap_or(u16::MAX)
    }

    /// The tag that a number in the packet stands for; lossy for the lossy code and for unknown
    /// numbers.
    #[must_use]
    pub fn decode(&self, code: TagCode) -> NewTag {
        if code == self.lossy {
            return NewTag::Lossy;
        }
        let low = TagCode::new(code.get() & self.tag_mask());
        self.codes
            .iter()
            .find(|(_, c)| **c == low)
            .map_or(NewTag::Lossy, |(tag, _)| NewTag::Lossless(*tag))
    }
}

/// Map keys in JSON are text: `{"1": 8}` is tag 1 with code 8.
mod tag_codes {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Tag, TagCode};

    pub(super) fn serialize<S: Serializer>(
        codes: &BTreeMap<Tag, TagCode>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(codes.iter().map(|(tag, code)| (tag.to_string(), code)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Tag, TagCode>, D::Error> {
        BTreeMap::<String, TagCode>::deserialize(deserializer)?
            .into_iter()
            .map(|(tag, code)| {
                let number = tag.parse().map_err(|_| {
                    D::Error::custom(format!("`{tag}` is not a tag (a number from 0 to 255)"))
                })?;
                Ok((Tag::new(number), code))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_bits_stand_above_the_tag() {
        let tags = [1, 2, 3].map(Tag::new);
        let carrier = Carrier::numbered(CarrierKind::Dscp, tags, true);
        assert_eq!(carrier.class_shift, Some(2));
        let code = carrier.code(ClassId::new(2), NewTag::Lossless(Tag::new(3)));
        assert_eq!(code, Some(TagCode::new(0b10_11)));
        assert_eq!(carrier.tag_mask(), 0b11);
        assert_eq!(
            carrier.decode(TagCode::new(0b10_11)),
            NewTag::Lossless(Tag::new(3))
        );
        assert_eq!(carrier.decode(TagCode::new(0)), NewTag::Lossy);
        assert_eq!(carrier.decode(TagCode::new(0b100)), NewTag::Lossy);
    }

    #[test]
    fn without_class_bits_the_code_is_the_tag_alone() {
        let carrier = Carrier::numbered(CarrierKind::VlanPcp, [0, 1].map(Tag::new), false);
        assert_eq!(carrier.tag_mask(), 7);
        for class in 0..2 {
            let code = carrier.code(ClassId::new(class), NewTag::Lossless(Tag::new(1)));
            assert_eq!(code, Some(TagCode::new(2)));
        }
        assert_eq!(carrier.decode(TagCode::new(3)), NewTag::Lossy);
    }
}

//! What templates read of tags, whatever family the program is of.

use plan::RuleForm;

use super::TaggerFeatures;

/// Codes of tags, and how rules match.
pub(in crate::family) struct TagText {
    /// Whether a packet may have no carrier; else all that a switch forwards have one.
    pub(in crate::family) optional: bool,
    /// Whether rules belong to a version of the plan.
    pub(in crate::family) versioned: bool,
    /// Whether a packet may just have been given a tag that it keeps.
    pub(in crate::family) channels: bool,
    /// Whether maps take the place of rules.
    pub(in crate::family) maps: bool,
    /// Whether rules match sets of ports, as bitmaps.
    pub(in crate::family) sets: bool,
    pub(in crate::family) port_bits: u16,
    /// How rules match ports.
    pub(in crate::family) port_match: &'static str,
    /// Whether the code has class bits above the tag. Tofino's programs hold them apart: the
    /// compiler finds no place for one field of which actions write a part.
    pub(in crate::family) split: bool,
    pub(in crate::family) code_bits: u16,
    /// The highest bit of the code.
    pub(in crate::family) code_top: u16,
    pub(in crate::family) tag_bits: u16,
    /// The highest bit of the tag.
    pub(in crate::family) tag_top: u16,
    pub(in crate::family) class_bits: u16,
    /// The mask of a class that is asked for.
    pub(in crate::family) class_mask: u32,
    pub(in crate::family) lossy: u16,
    /// The tag's bits of the lossy code, which no rule has.
    pub(in crate::family) lossy_tag: u32,
}

impl TagText {
    /// Of a program without tags, which reads nothing of it.
    pub(in crate::family) const fn none() -> Self {
        Self {
            optional: false,
            versioned: false,
            channels: false,
            maps: false,
            sets: false,
            port_bits: 0,
            port_match: "",
            split: false,
            code_bits: 0,
            code_top: 0,
            tag_bits: 0,
            tag_top: 0,
            class_bits: 0,
            class_mask: 0,
            lossy: 0,
            lossy_tag: 0,
        }
    }

    /// The tags of a program with these features.
    pub(in crate::family) fn of(features: &TaggerFeatures) -> Self {
        let sets = features.form == RuleForm::PortSets;
        let (code_bits, tag_bits) = (features.code_bits(), features.tag_bits());
        Self {
            optional: true,
            versioned: false,
            channels: false,
            maps: features.maps,
            sets,
            port_bits: features.port_bits,
            port_match: if sets { "ternary" } else { "exact" },
            split: features.class_bits() > 0,
            code_bits,
            code_top: code_bits.saturating_sub(1),
            tag_bits,
            tag_top: tag_bits.saturating_sub(1),
            class_bits: features.class_bits(),
            class_mask: low_bits(features.class_bits()),
            lossy: features.lossy.get(),
            lossy_tag: u32::from(features.lossy.get()) & low_bits(tag_bits),
        }
    }
}

/// As many ones, from the lowest bit.
fn low_bits(bits: u16) -> u32 {
    1_u32
        .checked_shl(bits.into())
        .map_or(u32::MAX, |above| above - 1)
}

//! The text of the `tagger` programs: one template for every carrier over a pipeline for each architecture. P4 stands in the
//! templates; here is what it depends on.

use askama::Template;
use plan::{CarrierKind, RuleForm};

use super::TaggerFeatures;
use crate::capabilities::{Architecture, Capabilities};
use crate::family::STAMP;
use crate::layout::{HASH_SHIFT_MAX, Layout, table};

/// Bits of the flow hash that an ECMP group looks at.
const FLOW_HASH_BITS: u8 = 16;

/// What the templates read.
struct View {
    title: String,
    stamp: &'static str,
    generator: &'static str,
    architecture: &'static str,
    /// Whether it is for Tofino.
    tna: bool,
    /// Whether rules match sets of ports, as bitmaps.
    sets: bool,
    port_bits: u16,
    /// How rules match ports.
    port_match: &'static str,
    /// Whether the code has class bits above the tag. Tofino's programs hold them apart: the compiler finds no place for one
    /// field of which actions write a part.
    split: bool,
    code_bits: u16,
    /// The highest bit of the code.
    code_top: u16,
    tag_bits: u16,
    /// The highest bit of the tag.
    tag_top: u16,
    class_bits: u16,
    /// The mask of a class that is asked for.
    class_mask: u32,
    lossy: u16,
    /// The tag's bits of the lossy code, which no rule has.
    lossy_tag: u32,
    /// The header that is put on and taken off at the edge; none for `dscp`.
    carrier_header: &'static str,
    /// Bytes of the header that ingress hands to egress, as a word.
    bridge_bytes: &'static str,
    bridge_padding: u16,
    shifts: Vec<Shift>,
    ipv4_routes: u32,
    ipv6_routes: u32,
    ecmp_groups: u32,
    ecmp_members: u32,
    ecmp_group_members: u32,
    tag_rules: u32,
}

/// Which bits of the flow a hash shift picks.
struct Shift {
    low: u8,
    high: u8,
}

/// Declares the templates of every carrier, by architecture, and renders the one that is asked for.
macro_rules! templates {
    ($($architecture:ident $carrier:ident $name:ident $path:literal;)*) => {
        $(#[derive(Template)]
        #[template(path = $path, escape = "none")]
        struct $name {
            v: View,
        })*

        fn render_view(
            architecture: Architecture,
            carrier: CarrierKind,
            v: View,
        ) -> Result<String, askama::Error> {
            match (architecture, carrier) {
                $((Architecture::$architecture, CarrierKind::$carrier) => $name { v }.render(),)*
            }
        }
    };
}

templates! {
    V1model Dscp DscpV1model "v1model/tagger_dscp.p4";
    V1model VlanPcp VlanPcpV1model "v1model/tagger_vlan_pcp.p4";
    V1model VlanVid VlanVidV1model "v1model/tagger_vlan_vid.p4";
    V1model Shim ShimV1model "v1model/tagger_shim.p4";
    Tofino Dscp DscpTofino "tna/tagger_dscp.p4";
    Tofino VlanPcp VlanPcpTofino "tna/tagger_vlan_pcp.p4";
    Tofino VlanVid VlanVidTofino "tna/tagger_vlan_vid.p4";
    Tofino Shim ShimTofino "tna/tagger_shim.p4";
}

/// The program's text, with tables as large as the layout says.
pub(super) fn render(
    features: &TaggerFeatures,
    target: &Capabilities,
    layout: &Layout,
) -> Result<String, askama::Error> {
    let v = view(features, target, layout);
    render_view(target.architecture, features.carrier, v)
}

fn view(features: &TaggerFeatures, target: &Capabilities, layout: &Layout) -> View {
    let sets = features.form == RuleForm::PortSets;
    let (code_bits, tag_bits) = (features.code_bits(), features.tag_bits());
    // The header between ingress and egress: padding (the template wants some), one bit, the code of at most 12 bits.
    let used = 1 + code_bits;
    let bridge_bits = if used < 8 { 8 } else { 16 };
    View {
        title: features.program_name(),
        stamp: STAMP,
        generator: env!("CARGO_PKG_VERSION"),
        architecture: target.include,
        tna: target.architecture == Architecture::Tofino,
        sets,
        port_bits: features.port_bits,
        port_match: if sets { "ternary" } else { "exact" },
        split: features.class_bits() > 0,
        code_bits,
        code_top: code_bits - 1,
        tag_bits,
        tag_top: tag_bits.saturating_sub(1),
        class_bits: features.class_bits(),
        class_mask: low_bits(features.class_bits()),
        lossy: features.lossy.get(),
        lossy_tag: u32::from(features.lossy.get()) & low_bits(tag_bits),
        carrier_header: match features.carrier {
            CarrierKind::Dscp => "",
            CarrierKind::VlanPcp | CarrierKind::VlanVid => "headers.vlan",
            CarrierKind::Shim => "headers.shim",
        },
        bridge_bytes: if bridge_bits == 8 {
            "one byte"
        } else {
            "two bytes"
        },
        bridge_padding: bridge_bits - used,
        shifts: (0..=HASH_SHIFT_MAX)
            .map(|low| Shift {
                low,
                high: low + (FLOW_HASH_BITS - 1),
            })
            .collect(),
        ipv4_routes: layout.size(table::IPV4_ROUTE),
        ipv6_routes: layout.size(table::IPV6_ROUTE),
        ecmp_groups: layout.size(table::ECMP_GROUP),
        ecmp_members: layout.selector_size,
        ecmp_group_members: layout.group_members,
        tag_rules: layout.size(table::CLASSIFY),
    }
}

/// As many ones, from the lowest bit.
fn low_bits(bits: u16) -> u32 {
    1_u32.checked_shl(bits.into()).map_or(u32::MAX, |above| above - 1)
}

//! The text of the `tagger` programs: a template for each architecture, over parts that both
//! include. P4 stands in the templates; here is what it depends on.

use askama::Template;
use plan::CarrierKind;

use super::TaggerFeatures;
use super::text::TagText;
use crate::capabilities::{Architecture, Capabilities};
use crate::family::p4_names::P4Names;
use crate::family::{Family as _, STAMP};
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
    /// What things are called there.
    arch: P4Names,
    /// What becomes of a packet without a route.
    no_route: &'static str,
    tag: TagText,
    /// Whether a carrier is put on and taken off at the edge.
    edge: bool,
    /// Whether that is the fabric's own header.
    shim: bool,
    /// Whether it is an 802.1Q tag,
    vlan: bool,
    /// and the code is in its PCP.
    pcp: bool,
    /// The header that is put on and taken off at the edge, and the field of it that has the code;
    /// none for `dscp`.
    carrier_header: &'static str,
    carrier_field: &'static str,
    /// The code that a packet leaves with, in egress.
    leaving_code: &'static str,
    /// Bytes of the header that ingress hands to egress, as a word.
    bridge_bytes: &'static str,
    bridge_padding: u16,
    shifts: Vec<Shift>,
    sizes: Sizes,
}

/// Most entries of tables: numbers for Tofino, constants of `layout.p4` for v1model.
struct Sizes {
    ipv4_routes: String,
    ipv6_routes: String,
    tag_rules: String,
    ecmp_returns: String,
    ecmp_groups: u32,
    ecmp_members: u32,
    ecmp_group_members: u32,
}

impl Sizes {
    fn of(layout: &Layout, arch: &P4Names) -> Self {
        let size = |table, constant| arch.size(layout, table, constant);
        Self {
            ipv4_routes: size(table::IPV4_ROUTE, "ROUTE_SIZE"),
            ipv6_routes: size(table::IPV6_ROUTE, "ROUTE_SIZE"),
            tag_rules: size(table::CLASSIFY, "TAG_RULE_SIZE"),
            ecmp_returns: size(table::ECMP_RETURN, "ECMP_RETURN_SIZE"),
            ecmp_groups: layout.size(table::ECMP_GROUP),
            ecmp_members: layout.selector_size,
            ecmp_group_members: layout.group_members,
        }
    }
}

/// Which bits of the flow a hash shift picks.
struct Shift {
    low: u8,
    high: u8,
}

#[derive(Template)]
#[template(path = "tagger/p4/v1model.p4", escape = "none")]
struct V1modelProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "tagger/p4/tofino.p4", escape = "none")]
struct TofinoProgram {
    v: View,
}

/// The program's text, with tables as large as the layout says.
pub(super) fn render(
    features: &TaggerFeatures,
    target: &Capabilities,
    layout: &Layout,
) -> Result<String, askama::Error> {
    let v = view(features, target, layout);
    match target.architecture {
        Architecture::V1model => V1modelProgram { v }.render(),
        Architecture::Tofino => TofinoProgram { v }.render(),
    }
}

fn view(features: &TaggerFeatures, target: &Capabilities, layout: &Layout) -> View {
    let tag = TagText::of(features);
    // The header between ingress and egress: padding (the template wants some), one bit, the code
    // of at most 12 bits.
    let used = 1 + tag.code_bits;
    let bridge_bits = if used < 8 { 8 } else { 16 };
    let tna = target.architecture == Architecture::Tofino;
    let arch = P4Names::of(target.architecture);
    let (carrier_header, carrier_field) = carrier_of(features.carrier);
    let leaving_code = match (tna, tag.split) {
        (false, _) => "meta.code",
        (true, false) => "headers.bridge.code",
        (true, true) => "headers.bridge.class_bits ++ headers.bridge.tag",
    };
    View {
        title: features.program_name(),
        stamp: STAMP,
        generator: env!("CARGO_PKG_VERSION"),
        architecture: target.include,
        tna,
        arch,
        no_route: if tna { "no_route" } else { "NoAction" },
        tag,
        edge: features.has_edge(),
        shim: features.carrier == CarrierKind::Shim,
        vlan: matches!(
            features.carrier,
            CarrierKind::VlanPcp | CarrierKind::VlanVid
        ),
        pcp: features.carrier == CarrierKind::VlanPcp,
        carrier_header,
        carrier_field,
        leaving_code,
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
        sizes: Sizes::of(layout, &arch),
    }
}

/// The header that a carrier is, and its field with the code; none for `dscp`, whose header every
/// packet has.
const fn carrier_of(carrier: CarrierKind) -> (&'static str, &'static str) {
    match carrier {
        CarrierKind::Dscp => ("", ""),
        CarrierKind::VlanPcp => ("headers.vlan", "headers.vlan.pcp"),
        CarrierKind::VlanVid => ("headers.vlan", "headers.vlan.vid"),
        CarrierKind::Shim => ("headers.shim", "headers.shim.lossless_tag"),
    }
}

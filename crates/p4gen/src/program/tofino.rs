//! The `tagger` family for Tofino 1 and 2: one template per tag carrier over a common pipeline.

use askama::Template;
use plan::{CarrierKind, RuleForm};

use super::tagger::{
    PortSetsDoc, PortSetsTypes, PortsExactDoc, PortsExactTypes, carrier_header, port_match,
    tag_text,
};
use super::{Program, ProgramError, STAMP, SourceFile, shared_includes, stamped};
use crate::layout::{Architecture, Features, HASH_SHIFT_MAX, Layout, ProgramFeatures, Room};

/// Bits of the flow hash that an ECMP group looks at.
const FLOW_HASH_BITS: u8 = 16;

/// What the carriers' templates read. Every field is P4 text in its final form.
struct View {
    title: String,
    stamp: &'static str,
    generator: &'static str,
    architecture: &'static str,
    port_doc: String,
    port_types: String,
    port_code: String,
    port_tables: String,
    tag_types: String,
    tag_keys: String,
    code: Code,
    carrier_header: &'static str,
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

#[derive(Template)]
#[template(path = "tna/tagger_dscp.p4", escape = "none")]
struct DscpProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "tna/tagger_vlan_pcp.p4", escape = "none")]
struct VlanPcpProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "tna/tagger_vlan_vid.p4", escape = "none")]
struct VlanVidProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "tna/tagger_shim.p4", escape = "none")]
struct ShimProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "tna/ports_exact_code.p4", escape = "none")]
struct PortsExactCode;

#[derive(Template)]
#[template(path = "tna/ports_sets_code.p4", escape = "none")]
struct PortSetsCode {
    code: Code,
}

#[derive(Template)]
#[template(path = "tna/tag_with_class_keys.p4", escape = "none")]
struct TagWithClassKeys {
    port_match: &'static str,
}

/// How a program holds what the carrier holds: as one field, or, where rules write some of its bits and keep the class's,
/// as two. The compiler finds no place for one field of which actions write a part.
#[derive(Clone, Copy)]
struct Code {
    bits: u16,
    tag_bits: u16,
}

impl Code {
    fn of(features: &Features) -> Self {
        Self {
            bits: features.code_bits(),
            tag_bits: features.tag_bits(),
        }
    }

    fn is_split(self) -> bool {
        self.tag_bits < self.bits
    }

    /// The fields of a header or of metadata.
    fn fields(self) -> String {
        if self.is_split() {
            let class = self.bits - self.tag_bits;
            format!("    bit<{class}>       class_bits;\n    tag_t        tag;")
        } else {
            "    code_t       code;".to_owned()
        }
    }

    /// The field that rules write.
    fn tag(self) -> &'static str {
        if self.is_split() { "tag" } else { "code" }
    }

    /// Lines that set the code of a header or of metadata.
    fn set(self, owner: &str, value: &str, indent: usize) -> String {
        let Self { bits, tag_bits } = self;
        if self.is_split() {
            format!(
                "{:indent$}{owner}.class_bits = {value}[{}:{tag_bits}];\n{:indent$}{owner}.tag = {value}[{}:0];",
                "",
                bits - 1,
                "",
                tag_bits - 1
            )
        } else {
            format!("{:indent$}{owner}.code = {value};", "")
        }
    }

    /// The code of a header or of metadata.
    fn get(self, owner: &str) -> String {
        if self.is_split() {
            format!("{owner}.class_bits ++ {owner}.tag")
        } else {
            format!("{owner}.code")
        }
    }
}

#[derive(Template)]
#[template(path = "tna/ports_sets_tables.p4", escape = "none")]
struct PortSetsTables;

/// Renders the program with these features and this room.
pub(super) fn render(
    features: &Features,
    architecture: Architecture,
    room: &Room,
) -> Result<Program, ProgramError> {
    let v = view(features, architecture, room)?;
    let text = match features.carrier {
        CarrierKind::Dscp => DscpProgram { v }.render(),
        CarrierKind::VlanPcp => VlanPcpProgram { v }.render(),
        CarrierKind::VlanVid => VlanVidProgram { v }.render(),
        CarrierKind::Shim => ShimProgram { v }.render(),
    }?;
    let includes = shared_includes();
    Ok(Program {
        name: "tagger",
        architecture,
        features: ProgramFeatures::Tagger(*features),
        layout: Layout::tofino_tagger(*features, room),
        main: SourceFile {
            name: "tagger.p4".to_owned(),
            text: stamped(&text, &includes),
        },
        includes,
    })
}

fn view(
    features: &Features,
    architecture: Architecture,
    room: &Room,
) -> Result<View, askama::Error> {
    let code = Code::of(features);
    let (port_doc, port_types, port_code, port_tables) = match features.form {
        RuleForm::Exact => (
            PortsExactDoc.render()?,
            PortsExactTypes.render()?,
            PortsExactCode.render()?,
            String::new(),
        ),
        RuleForm::PortSets => (
            PortSetsDoc.render()?,
            PortSetsTypes {
                bits: features.port_bits,
            }
            .render()?,
            PortSetsCode { code }.render()?,
            PortSetsTables.render()? + "\n",
        ),
    };
    let port_match = port_match(features.form);
    let (tag_types, mut tag_keys, _) = tag_text(features, port_match, "")?;
    if code.is_split() {
        tag_keys = TagWithClassKeys { port_match }.render()?;
    }
    let bridge = Bridge::of(features);
    Ok(View {
        title: features.program_name(),
        stamp: STAMP,
        generator: env!("CARGO_PKG_VERSION"),
        architecture: architecture.name(),
        port_doc,
        port_types,
        port_code,
        port_tables,
        tag_types,
        tag_keys,
        code,
        carrier_header: carrier_header(features.carrier),
        bridge_bytes: bridge.bytes,
        bridge_padding: bridge.padding,
        shifts: (0..=HASH_SHIFT_MAX)
            .map(|low| Shift {
                low,
                high: low + (FLOW_HASH_BITS - 1),
            })
            .collect(),
        ipv4_routes: room.ipv4_routes,
        ipv6_routes: room.ipv6_routes,
        ecmp_groups: room.ecmp_groups,
        ecmp_members: room.ecmp_members,
        ecmp_group_members: room.group_members,
        tag_rules: room.tag_rules,
    })
}

/// The header that ingress hands to egress: padding, one bit, the code.
struct Bridge {
    bytes: &'static str,
    padding: u16,
}

impl Bridge {
    fn of(features: &Features) -> Self {
        // The widest code has 12 bits, and the template wants at least one bit of padding.
        let used = 1 + features.code_bits();
        let (bytes, bits) = if used < 8 {
            ("one byte", 8)
        } else {
            ("two bytes", 16)
        };
        Self {
            bytes,
            padding: bits - used,
        }
    }
}

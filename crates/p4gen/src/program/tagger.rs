//! The `tagger` family for v1model: one template per tag carrier over a common pipeline, with the port
//! mode and the class bits as text fragments.

use askama::Template;
use plan::{CarrierKind, RuleForm};

use super::{Program, ProgramError};
use crate::layout::{Features, ProgramFeatures};

/// What the carriers' templates read. Every field is P4 text in its final form.
struct View {
    title: String,
    generator: &'static str,
    port_doc: String,
    port_types: String,
    port_code: String,
    tag_types: String,
    tag_keys: String,
    tag_target: String,
    carrier_header: &'static str,
}

#[derive(Template)]
#[template(path = "v1model/tagger_dscp.p4", escape = "none")]
struct DscpProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "v1model/tagger_vlan_pcp.p4", escape = "none")]
struct VlanPcpProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "v1model/tagger_vlan_vid.p4", escape = "none")]
struct VlanVidProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "v1model/tagger_shim.p4", escape = "none")]
struct ShimProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "common/ports_exact_doc.p4", escape = "none")]
pub(super) struct PortsExactDoc;

#[derive(Template)]
#[template(path = "common/ports_exact_types.p4", escape = "none")]
pub(super) struct PortsExactTypes;

#[derive(Template)]
#[template(path = "common/ports_exact_code.p4", escape = "none")]
struct PortsExactCode;

#[derive(Template)]
#[template(path = "common/ports_sets_doc.p4", escape = "none")]
pub(super) struct PortSetsDoc;

#[derive(Template)]
#[template(path = "common/ports_sets_types.p4", escape = "none")]
pub(super) struct PortSetsTypes {
    pub(super) bits: u16,
}

#[derive(Template)]
#[template(path = "common/ports_sets_code.p4", escape = "none")]
struct PortSetsCode;

#[derive(Template)]
#[template(path = "common/tag_plain_types.p4", escape = "none")]
struct TagPlainTypes {
    code_bits: u16,
    lossy: u16,
}

#[derive(Template)]
#[template(path = "common/tag_plain_keys.p4", escape = "none")]
struct TagPlainKeys {
    port_match: &'static str,
}

#[derive(Template)]
#[template(path = "common/tag_with_class_types.p4", escape = "none")]
struct TagWithClassTypes {
    code_bits: u16,
    tag_bits: u16,
    class_bits: u16,
    lossy: u16,
}

#[derive(Template)]
#[template(path = "common/tag_with_class_keys.p4", escape = "none")]
struct TagWithClassKeys {
    port_match: &'static str,
    code_top: u16,
    tag_bits: u16,
    tag_top: u16,
}

/// Renders the program with these features.
pub(super) fn render(features: &Features) -> Result<Program, ProgramError> {
    let v = view(features)?;
    let text = match features.carrier {
        CarrierKind::Dscp => DscpProgram { v }.render(),
        CarrierKind::VlanPcp => VlanPcpProgram { v }.render(),
        CarrierKind::VlanVid => VlanVidProgram { v }.render(),
        CarrierKind::Shim => ShimProgram { v }.render(),
    }?;
    Ok(Program::for_v1model(
        "tagger",
        ProgramFeatures::Tagger(*features),
        text,
    ))
}

fn view(features: &Features) -> Result<View, askama::Error> {
    let port_match = port_match(features.form);
    let (port_doc, port_types, port_code) = match features.form {
        RuleForm::Exact => (
            PortsExactDoc.render()?,
            PortsExactTypes.render()?,
            PortsExactCode.render()?,
        ),
        RuleForm::PortSets => (
            PortSetsDoc.render()?,
            PortSetsTypes {
                bits: features.port_bits,
            }
            .render()?,
            PortSetsCode.render()?,
        ),
    };
    let (tag_types, tag_keys, tag_target) = tag_text(features, port_match, "meta.code")?;
    Ok(View {
        title: features.program_name(),
        generator: env!("CARGO_PKG_VERSION"),
        port_doc,
        port_types,
        port_code,
        tag_types,
        tag_keys,
        tag_target,
        carrier_header: carrier_header(features.carrier),
    })
}

/// How `classify` and `rewrite` match ports.
pub(super) const fn port_match(form: RuleForm) -> &'static str {
    match form {
        RuleForm::Exact => "exact",
        RuleForm::PortSets => "ternary",
    }
}

/// The header that is put on and taken off at the edge; none for `dscp`.
pub(super) const fn carrier_header(carrier: CarrierKind) -> &'static str {
    match carrier {
        CarrierKind::Dscp => "",
        CarrierKind::VlanPcp | CarrierKind::VlanVid => "headers.vlan",
        CarrierKind::Shim => "headers.shim",
    }
}

/// The code's types, the key of the tag tables, and where `set_tag` writes (`code` holds what leaves).
pub(super) fn tag_text(
    features: &Features,
    port_match: &'static str,
    code: &str,
) -> Result<(String, String, String), askama::Error> {
    let code_bits = features.code_bits();
    let tag_bits = features.tag_bits();
    let lossy = features.lossy.get();
    if features.class_bits() == 0 {
        return Ok((
            TagPlainTypes { code_bits, lossy }.render()?,
            TagPlainKeys { port_match }.render()?,
            code.to_owned(),
        ));
    }
    let tag_top = tag_bits.saturating_sub(1);
    Ok((
        TagWithClassTypes {
            code_bits,
            tag_bits,
            class_bits: features.class_bits(),
            lossy,
        }
        .render()?,
        TagWithClassKeys {
            port_match,
            code_top: code_bits - 1,
            tag_bits,
            tag_top,
        }
        .render()?,
        format!("{code}[{tag_top}:0]"),
    ))
}

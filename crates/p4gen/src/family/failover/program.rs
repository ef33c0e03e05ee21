//! The text of the `failover` programs: what the templates read. P4 stands in the templates; here
//! is what it depends on.

use askama::Template;

use super::tables::{STATUS_HIGH_ID, send_params, tag_id};
use super::{FailoverFeatures, MOST_SWITCHES, NO_REVERSE, names};
use crate::capabilities::{Architecture, Capabilities};
use crate::family::p4_names::P4Names;
use crate::family::tagger::text::TagText;
use crate::family::{Family as _, STAMP};
use crate::layout::{Layout, ids, table};

/// The multicast group that takes port-down packets of the first pipe to the others; those of the
/// others follow.
const PORT_DOWN_GROUP: u16 = 1;

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
    /// The port towards hosts before which the header is taken off: in egress, on Tofino in
    /// ingress.
    out_port: &'static str,
    port_down_group: u16,
    generator_port: u16,
    has_clots: bool,
    most_switches: u8,
    status_high_id: u32,
    sizes: Sizes,
    port_bits: u16,
    /// Endings of the names of the port status's registers.
    words: Vec<&'static str>,
    /// Whether it has two.
    wide: bool,
    /// Whether rules put out routes.
    routes: bool,
    /// Whether the header keeps the way that packets have come.
    reverse: bool,
    /// Whether it tells a number: a failure set, a route, failed trees.
    number: bool,
    /// Whether it tells trees.
    trees: bool,
    /// Whether packets to some destinations keep the way that they have come and others do not.
    mixed: bool,
    /// The number of hops that says that a packet keeps none.
    no_reverse: u8,
    /// Ids of the key fields of the number and the tree.
    tag_id: u32,
    tree_id: u32,
    /// Of the fields by which routes are changed, the second: whether a packet's reverse route
    /// grows.
    grows: &'static str,
    multipath: bool,
    /// Whether packets have a lossless tag.
    tagged: bool,
    tag: TagText,
    stack: u8,
    /// The type of a stack of hops, as wide as the types around it.
    stack_type: String,
    /// The parser's state after the forward route.
    after_forward: &'static str,
    sends: Vec<Send>,
    updates: Vec<Update>,
}

/// Most entries of tables: numbers for Tofino, constants of `layout.p4` for v1model, but for the
/// rules.
struct Sizes {
    security: String,
    neighbors: String,
    destinations: String,
    local_hosts: String,
    next_hops: String,
    tag_rules: String,
    rules: u32,
    ways: u32,
}

impl Sizes {
    fn of(layout: &Layout, arch: &P4Names) -> Self {
        let size = |table, constant| arch.size(layout, table, constant);
        Self {
            security: size(table::SECURITY, "SECURITY_SIZE"),
            neighbors: size(table::NEIGHBOR, "NEIGHBOR_SIZE"),
            destinations: size(table::ENCAP, "ENCAP_SIZE"),
            local_hosts: size(table::LOCAL_HOST, "LOCAL_HOST_SIZE"),
            next_hops: size(table::SRC_FORWARD, "SRC_FORWARD_SIZE"),
            tag_rules: size(table::CLASSIFY, "TAG_RULE_SIZE"),
            rules: layout.size(table::RES_FORWARD),
            ways: layout.size(table::WAY),
        }
    }
}

/// The action that sends a packet on and leaves it so many hops for the switches after.
struct Send {
    id: String,
    name: String,
    rest: u8,
    /// Types and names.
    params: Vec<(String, &'static str)>,
    /// As wide as the text before the first parameter.
    indent: String,
}

impl Send {
    fn new(features: &FailoverFeatures, port_type: &str, rest: u8) -> Self {
        let full = names::send(rest.into()).unwrap_or_default();
        let name = full.trim_start_matches("ingress.").to_owned();
        let kind = |(param, bits)| match param {
            "port" => (port_type.to_owned(), param),
            _ => (format!("bit<{bits}>"), param),
        };
        Self {
            id: match rest {
                0 => "ID_ACTION_SEND".to_owned(),
                rest => format!("0x{:08X}", ids::SEND + u32::from(rest)),
            },
            params: send_params(features, rest).into_iter().map(kind).collect(),
            indent: " ".repeat("    action (".len() + name.len()),
            name,
            rest,
        }
    }
}

/// An action that changes the routes in the header as the packet leaves.
struct Update {
    name: &'static str,
    pops: bool,
    pushes: bool,
    /// Of (follows its forward route, its reverse route grows), those for which it is done.
    keys: &'static [&'static str],
}

impl Update {
    fn all(features: &FailoverFeatures) -> Vec<Self> {
        let update = |name, pops, pushes, keys| Self {
            name,
            pops,
            pushes,
            keys,
        };
        match (features.source_routes, features.keeps_reverse()) {
            (true, true) => vec![
                update("pop", true, false, &["(1, 0)"]),
                update("push", false, true, &["(0, 1)"]),
                update("pop_and_push", true, true, &["(1, 1)"]),
            ],
            (true, false) => vec![update("pop", true, false, &["(1, 0)", "(1, 1)"])],
            (false, true) => vec![update("push", false, true, &["(0, 1)"])],
            (false, false) => Vec::new(),
        }
    }
}

#[derive(Template)]
#[template(path = "failover/p4/v1model.p4", escape = "none")]
struct V1modelProgram {
    v: View,
}

#[derive(Template)]
#[template(path = "failover/p4/tofino.p4", escape = "none")]
struct TofinoProgram {
    v: View,
}

/// The program's text, with tables as large as the layout says.
pub(super) fn render(
    features: &FailoverFeatures,
    target: &Capabilities,
    layout: &Layout,
) -> Result<String, askama::Error> {
    let v = view(features, target, layout);
    match target.architecture {
        Architecture::V1model => V1modelProgram { v }.render(),
        Architecture::Tofino => TofinoProgram { v }.render(),
    }
}

fn view(features: &FailoverFeatures, target: &Capabilities, layout: &Layout) -> View {
    let tna = target.architecture == Architecture::Tofino;
    let arch = P4Names::of(target.architecture);
    let pipeline = target.pipeline.as_ref();
    let words = ["", "_high"].into_iter().take(features.status_words());
    let reverse = features.keeps_reverse();
    let state = features.state;
    View {
        title: features.program_name(),
        stamp: STAMP,
        generator: env!("CARGO_PKG_VERSION"),
        architecture: target.include,
        tna,
        out_port: if tna { arch.egress_port } else { arch.out_port },
        arch,
        port_down_group: PORT_DOWN_GROUP,
        generator_port: pipeline.map_or(0, |p| p.generator_port),
        has_clots: pipeline.is_some_and(|p| p.has_clots),
        most_switches: MOST_SWITCHES,
        status_high_id: STATUS_HIGH_ID,
        sizes: Sizes::of(layout, &arch),
        port_bits: features.port_bits,
        words: words.collect(),
        wide: features.status_words() > 1,
        routes: features.source_routes,
        reverse,
        number: state.has_number(),
        trees: state.has_tree(),
        mixed: state.is_mixed(),
        no_reverse: NO_REVERSE,
        tag_id: tag_id(state),
        tree_id: tag_id(state) + 1,
        grows: if state.is_mixed() {
            "keeps_way"
        } else {
            "in_fabric"
        },
        multipath: features.multipath,
        tagged: features.tags.is_some(),
        tag: tag_text(features),
        stack: features.stack,
        stack_type: format!("{:12}", format!("hop_t[{}]", features.stack)),
        after_forward: if reverse { "parse_reverse" } else { "accept" },
        sends: (0..=features.most_rest())
            .map(|rest| Send::new(features, arch.port_type, rest))
            .collect(),
        updates: Update::all(features),
    }
}

/// What templates read of tags: those of every packet, under its version.
fn tag_text(features: &FailoverFeatures) -> TagText {
    TagText {
        optional: false,
        versioned: true,
        channels: features.channels,
        ..features
            .tags
            .as_ref()
            .map_or_else(TagText::none, TagText::of)
    }
}

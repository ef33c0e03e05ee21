//! The `failover` family for Tofino 1 and 2: the pipeline of v1model's program in ingress, with the port status in a
//! register. What an ALU or a parser of Tofino does otherwise is spelled out here and under `templates/tna/`.

use std::fmt::Write as _;

use askama::Template;

use super::failover::{
    Params, drop_stack, fragment, label_doc, label_keys, output_doc, send_doc, send_name,
    send_text, src_update, stacks,
};
use super::{Program, ProgramError, STAMP, SourceFile, shared_includes, stamped};
use crate::layout::tofino::{PORT_DOWN_GROUP, STATUS_HIGH_ID, generator_port};
use crate::layout::{
    Architecture, FailoverFeatures, FailoverRoom, HeaderState, Layout, MOST_SWITCHES,
    ProgramFeatures,
};

/// What the template reads. Every field is P4 text in its final form; fragments that stand in lists begin with
/// the line break that separates them from what is before.
struct View {
    title: String,
    stamp: &'static str,
    generator: &'static str,
    architecture: &'static str,
    generator_port: u16,
    port_down_group: u16,
    stack: u8,
    most_switches: u8,
    room: FailoverRoom,
    hop_bytes: &'static str,
    label_doc: &'static str,
    output_doc: &'static str,
    high_doc: &'static str,
    status_fields: String,
    status_start: String,
    status_action: String,
    status_registers: String,
    status_key: String,
    apply_status: String,
    stacks: String,
    metadata: String,
    metadata_start: String,
    parse_routes: String,
    flow_headers: &'static str,
    flow_select: &'static str,
    flow_states: &'static str,
    flow_action: &'static str,
    flow_choice: &'static str,
    flow_tables: String,
    apply_flow_hash: &'static str,
    apply_way: &'static str,
    src_forward: String,
    send_doc: &'static str,
    send_actions: String,
    send_choices: String,
    set_bits_action: String,
    apply_set_bits: &'static str,
    label_keys: String,
    too_long: String,
    arrive: String,
    src_update: String,
    apply_src_update: &'static str,
    drop_routes: String,
    pragmas: String,
}

#[derive(Template)]
#[template(path = "tna/failover.p4", escape = "none")]
struct FailoverProgram {
    v: View,
}

/// Renders the program with these features and this room.
pub(super) fn render(
    features: &FailoverFeatures,
    architecture: Architecture,
    room: &FailoverRoom,
) -> Result<Program, ProgramError> {
    let text = FailoverProgram {
        v: view(features, architecture, room),
    }
    .render()?;
    let includes = shared_includes();
    Ok(Program {
        name: "failover",
        architecture,
        features: ProgramFeatures::Failover(*features),
        layout: Layout::tofino_failover(*features, room),
        main: SourceFile {
            name: "failover.p4".to_owned(),
            text: stamped(&text, &includes),
        },
        includes,
    })
}

fn view(features: &FailoverFeatures, architecture: Architecture, room: &FailoverRoom) -> View {
    let flow = |text: &'static str| {
        if features.multipath {
            fragment(text)
        } else {
            ""
        }
    };
    let labelled = features.state != HeaderState::ReverseRoute;
    let status_key = if features.status_words() > 1 {
        format!(
            "\n            meta.port_status_high : ternary @id({STATUS_HIGH_ID}) @name(\"port_status_high\");"
        )
    } else {
        String::new()
    };
    View {
        title: features.program_name(),
        stamp: STAMP,
        generator: env!("CARGO_PKG_VERSION"),
        architecture: architecture.name(),
        generator_port: generator_port(architecture),
        port_down_group: PORT_DOWN_GROUP,
        stack: features.stack,
        most_switches: MOST_SWITCHES,
        room: *room,
        hop_bytes: if features.has_routes() {
            ", and one for every hop"
        } else {
            ""
        },
        label_doc: label_doc(features.state),
        output_doc: output_doc(features.source_routes),
        high_doc: if features.status_words() > 1 {
            ", and in `high` ones for port 32 + p"
        } else {
            ""
        },
        status_fields: status(features, |high| {
            format!("\n    port_set_t   stays_up{high};\n    port_set_t   port_status{high};")
        }),
        status_start: status(features, |high| {
            format!(
                "\n        meta.stays_up{high} = 0xffffffff;\n        meta.port_status{high} = 0;"
            )
        }),
        status_action: status_action(features),
        status_registers: status_registers(features),
        apply_status: status(features, |high| {
            format!("\n        meta.port_status{high} = look{high}.execute(0);")
        }),
        stacks: stacks(
            features,
            "\n    hop_t        arrived;          // the port that the packet came by, before the others",
        ),
        metadata: metadata(features),
        metadata_start: metadata_start(features),
        parse_routes: parse_routes(features),
        flow_headers: flow(include_str!(
            "../../templates/common/failover_flow_headers.p4"
        )),
        flow_select: flow(include_str!(
            "../../templates/common/failover_flow_select.p4"
        )),
        flow_states: flow(include_str!("../../templates/tna/failover_flow_states.p4")),
        flow_action: flow(include_str!("../../templates/tna/failover_flow.p4")),
        flow_choice: flow("\n            encapsulate_flow;"),
        flow_tables: flow(include_str!("../../templates/tna/failover_flow_tables.p4"))
            .replace("{{ROOM}}", &room.ways.to_string()),
        apply_flow_hash: flow(include_str!("../../templates/tna/failover_flow_apply.p4")),
        apply_way: flow(include_str!("../../templates/tna/failover_way_apply.p4")),
        src_forward: src_forward(features, room, &status_key),
        send_doc: send_doc(features.state),
        send_actions: (0..=features.most_rest())
            .map(|rest| send(features, rest))
            .collect(),
        send_choices: (0..=features.most_rest())
            .map(|rest| format!("\n            {};", send_name(rest)))
            .collect(),
        set_bits_action: set_bits_action(features.state),
        apply_set_bits: if labelled {
            "\n                set_bits();"
        } else {
            ""
        },
        label_keys: label_keys(features),
        too_long: too_long(features),
        arrive: arrive(features),
        src_update: src_update(
            features,
            &["headers.forward[0].setInvalid();"],
            &[
                "headers.arrived.setValid();",
                "headers.arrived.port = (bit<8>)meta.came_from;",
            ],
        ),
        apply_src_update: if features.has_routes() {
            "\n                src_update.apply();"
        } else {
            ""
        },
        drop_routes: drop_routes(features),
        pragmas: pragmas(features, architecture),
        status_key,
    }
}

/// Keeps hops that nobody writes out of the buffers in which Tofino 2 lets bytes pass by (CLOTs): the compiler puts
/// them there, and the assembler refuses what it makes of it.
fn pragmas(features: &FailoverFeatures, architecture: Architecture) -> String {
    if !features.keeps_reverse() || architecture != Architecture::T2na {
        return String::new();
    }
    let line =
        |hop: u8| format!("@do_not_use_clot(\"ingress\", \"headers.reverse[{hop}].port\")\n");
    (0..features.stack).map(line).collect()
}

/// The same text for each register of the port status, by the ending of its names.
fn status(features: &FailoverFeatures, text: impl Fn(&str) -> String) -> String {
    let words = ["", "_high"].into_iter().take(features.status_words());
    words.map(text).collect()
}

fn status_action(features: &FailoverFeatures) -> String {
    let (params, body) = if features.status_words() > 1 {
        (
            "@id(1) port_set_t others, @id(2) port_set_t others_high",
            "        meta.stays_up = others;\n        meta.stays_up_high = others_high;\n",
        )
    } else {
        (
            "@id(1) port_set_t others",
            "        meta.stays_up = others;\n",
        )
    };
    format!("    @id(ID_ACTION_TAKE_DOWN)\n    action take_down({params}) {{\n{body}    }}")
}

fn status_registers(features: &FailoverFeatures) -> String {
    let text = status(features, |high| {
        format!(
            "    // One cell. Every packet reads it, and one from the generator takes a port away.\n    \
             Register<port_set_t, bit<1>>(1, 0xffffffff) ports_up{high};\n\n    \
             RegisterAction<port_set_t, bit<1>, port_set_t>(ports_up{high}) look{high} = {{\n        \
             void apply(inout port_set_t up, out port_set_t now) {{\n            \
             up = up & meta.stays_up{high};\n            now = up;\n        }}\n    }};\n\n"
        )
    });
    text.trim_end().to_owned()
}

fn metadata(features: &FailoverFeatures) -> String {
    let mut text = String::new();
    if features.keeps_reverse() {
        text.push_str(
            "\n\n    // The reverse route, this switch's port first; places beyond its end are zero.\n    \
             bit<8>       reverse_hops;",
        );
        for hop in 0..features.stack {
            let _ = write!(text, "\n    bit<8>       rev_{hop};");
        }
    }
    if features.multipath {
        text.push_str(fragment(include_str!(
            "../../templates/tna/failover_flow_metadata.p4"
        )));
    }
    match features.state {
        HeaderState::ReverseRoute => {}
        HeaderState::Tag => {
            text.push_str("\n\n    // Bits that the header gets.\n    bit<24>      set;");
        }
        HeaderState::Trees => {
            text.push_str(
                "\n\n    // Bits that the header gets.\n    bit<24>      set;\n    bit<8>       set_tree;",
            );
        }
    }
    text
}

fn metadata_start(features: &FailoverFeatures) -> String {
    let mut fields: Vec<String> = Vec::new();
    if features.keeps_reverse() {
        fields.push("reverse_hops".to_owned());
        fields.extend((0..features.stack).map(|hop| format!("rev_{hop}")));
    }
    if features.multipath {
        fields.extend(["l4_src_port", "l4_dst_port", "flow_hash", "ways"].map(str::to_owned));
    }
    match features.state {
        HeaderState::ReverseRoute => {}
        HeaderState::Tag => fields.push("set".to_owned()),
        HeaderState::Trees => fields.extend(["set", "set_tree"].map(str::to_owned)),
    }
    let line = |field: String| format!("\n        meta.{field} = 0;");
    fields.into_iter().map(line).collect()
}

/// The rest of the state `parse_shim`, and the states of the hops: one for every count, for a parser has no loops
/// that hardware would run.
fn parse_routes(features: &FailoverFeatures) -> String {
    let reverse = features.keeps_reverse();
    let select = |names: &str, name: &str, none: &str, counts: u8, beside: &str| {
        let mut text = format!("        transition select({names}) {{\n");
        let _ = writeln!(text, "            {}: {none};", case("0", beside));
        for count in 1..=counts {
            let _ = writeln!(
                text,
                "            {}: parse_{name}_{count};",
                case(&count.to_string(), beside)
            );
        }
        text.push_str("            default: malformed;\n        }\n    }");
        text
    };
    let (forward_count, reverse_count) = ("headers.shim.forward_hops", "headers.shim.reverse_hops");
    let stack = features.stack;
    let after = if reverse { "parse_reverse" } else { "accept" };
    let states = |text: &mut String, name: &str, after: &str| {
        for count in 1..=stack {
            let _ = write!(text, "\n\n    state parse_{name}_{count} {{");
            for hop in 0..count {
                let _ = write!(text, "\n        packet.extract(headers.{name}[{hop}]);");
                if name == "reverse" && hop + 1 < stack {
                    let _ = write!(
                        text,
                        "\n        meta.rev_{} = headers.reverse[{hop}].port;",
                        hop + 1
                    );
                }
            }
            let _ = write!(text, "\n        transition {after};\n    }}");
        }
    };
    let mut text = match (features.source_routes, reverse) {
        (true, true) => select(forward_count, "forward", after, stack, ""),
        (false, true) => {
            format!(
                "        transition select({forward_count}) {{\n            0: parse_reverse;\n            \
                 default: malformed;\n        }}\n    }}"
            )
        }
        (routes, false) => select(
            &format!("{forward_count}, {reverse_count}"),
            "forward",
            after,
            if routes { stack } else { 0 },
            "0",
        ),
    };
    if features.source_routes {
        states(&mut text, "forward", after);
    }
    if reverse {
        text.push_str("\n\n    state parse_reverse {\n");
        text += &select(reverse_count, "reverse", "accept", stack, "");
        states(&mut text, "reverse", "accept");
    }
    text
}

/// A case of a select over a count, and over another where that is looked at too.
fn case(count: &str, beside: &str) -> String {
    if beside.is_empty() {
        count.to_owned()
    } else {
        format!("({count}, {beside})")
    }
}

fn src_forward(features: &FailoverFeatures, room: &FailoverRoom, status_key: &str) -> String {
    if !features.source_routes {
        return String::new();
    }
    let invalidate = drop_stack("forward", features.stack);
    let invalidate = invalidate.trim_start_matches('\n');
    fragment(include_str!("../../templates/tna/failover_src_forward.p4"))
        .replace("{{INVALIDATE}}", &format!("{invalidate}\n"))
        .replace("{{STATUS}}", status_key)
        .replace("{{ROOM}}", &room.next_hops.to_string())
}

/// The action that sends a packet on and leaves it so many hops for the switches after. Bits are kept here and set by
/// `set_bits`: an action is one operation deep.
fn send(features: &FailoverFeatures, rest: u8) -> String {
    let mut params: Params = vec![("PortId_t", "port".to_owned())];
    let mut body = vec!["for_tm.ucast_egress_port = port;".to_owned()];
    if features.state != HeaderState::ReverseRoute {
        params.extend([
            ("bit<24>", "keep".to_owned()),
            ("bit<24>", "set".to_owned()),
        ]);
        body.push("headers.shim.resilience = headers.shim.resilience & keep;".to_owned());
        body.push("meta.set = set;".to_owned());
    }
    if features.state == HeaderState::Trees {
        params.extend([
            ("bit<8>", "keep_tree".to_owned()),
            ("bit<8>", "set_tree".to_owned()),
        ]);
        body.push("headers.shim.tree = headers.shim.tree & keep_tree;".to_owned());
        body.push("meta.set_tree = set_tree;".to_owned());
    }
    send_text(rest, params, body)
}

fn set_bits_action(state: HeaderState) -> String {
    let tree = match state {
        HeaderState::ReverseRoute => return String::new(),
        HeaderState::Tag => "",
        HeaderState::Trees => "\n        headers.shim.tree = headers.shim.tree | meta.set_tree;",
    };
    format!(
        "\n\n    // The other half of what a rule does to the header.\n    action set_bits() {{\n        \
         headers.shim.resilience = headers.shim.resilience | meta.set;{tree}\n    }}"
    )
}

fn too_long(features: &FailoverFeatures) -> String {
    if !features.keeps_reverse() {
        return String::new();
    }
    format!(
        "\n                }} else if (headers.shim.reverse_hops == {}) {{\n                    \
         drop_because((drop_index_t)DROP_TOO_LONG);",
        features.stack
    )
}

/// What is done with a packet from another switch before anything is decided.
fn arrive(features: &FailoverFeatures) -> String {
    let mut text = String::new();
    if features.keeps_reverse() {
        text.push_str(
            "\n                    meta.reverse_hops = headers.shim.reverse_hops + 1;\n                    \
             meta.rev_0 = (bit<8>)meta.came_from;",
        );
    }
    if features.source_routes {
        text.push_str(
            "\n                    if (headers.shim.forward_hops != 0) {\n                        \
             src_forward.apply();\n                    }",
        );
    }
    text
}

fn drop_routes(features: &FailoverFeatures) -> String {
    let mut text = String::new();
    if features.source_routes {
        text += &drop_stack("forward", features.stack);
    }
    if features.keeps_reverse() {
        text.push_str("\n        headers.arrived.setInvalid();");
        text += &drop_stack("reverse", features.stack);
    }
    text
}

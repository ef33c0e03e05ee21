//! The `failover` family for v1model: one template; what depends on the header's content, on source routes
//! and on multipath comes in as text fragments, and what exists once per hop is spelled out here.

use std::fmt::Write as _;

use askama::Template;

use super::{Program, ProgramError};
use crate::layout::{FailoverFeatures, HeaderState, MOST_SWITCHES, ProgramFeatures};

/// What the template reads. Every field is P4 text in its final form; fragments that stand in lists begin with
/// the line break that separates them from what is before.
struct View {
    title: String,
    generator: &'static str,
    stack: u8,
    most_switches: u8,
    port_bits: u16,
    rules: u32,
    hop_bytes: &'static str,
    label_doc: &'static str,
    output_doc: &'static str,
    stacks: String,
    metadata: String,
    parse_routes: String,
    flow_headers: &'static str,
    flow_select: &'static str,
    flow_states: &'static str,
    flow_action: &'static str,
    flow_choice: &'static str,
    src_forward: String,
    apply_src_forward: &'static str,
    send_doc: &'static str,
    send_actions: String,
    send_choices: String,
    label_keys: String,
    arrive: String,
    src_update: String,
    apply_src_update: &'static str,
    drop_routes: String,
}

#[derive(Template)]
#[template(path = "v1model/failover.p4", escape = "none")]
struct FailoverProgram {
    v: View,
}

/// Renders the program with these features.
pub(super) fn render(features: &FailoverFeatures) -> Result<Program, ProgramError> {
    let text = FailoverProgram { v: view(features) }.render()?;
    Ok(Program::for_v1model(
        "failover",
        ProgramFeatures::Failover(*features),
        text,
    ))
}

/// A fragment without the line break at its end.
pub(super) const fn fragment(text: &'static str) -> &'static str {
    text.trim_ascii_end()
}

fn view(features: &FailoverFeatures) -> View {
    let flow = |text: &'static str| {
        if features.multipath {
            fragment(text)
        } else {
            ""
        }
    };
    let routed = |text: &'static str| {
        if features.source_routes {
            fragment(text)
        } else {
            ""
        }
    };
    let stack = features.stack.to_string();
    View {
        title: features.program_name(),
        generator: env!("CARGO_PKG_VERSION"),
        stack: features.stack,
        most_switches: MOST_SWITCHES,
        port_bits: features.port_bits,
        rules: features.rules,
        hop_bytes: if features.has_routes() {
            ", and one for every hop"
        } else {
            ""
        },
        label_doc: label_doc(features.state),
        output_doc: output_doc(features.source_routes),
        stacks: stacks(features, ""),
        metadata: metadata(features),
        parse_routes: parse_routes(features),
        flow_headers: flow(include_str!(
            "../../templates/common/failover_flow_headers.p4"
        )),
        flow_select: flow(include_str!(
            "../../templates/common/failover_flow_select.p4"
        )),
        flow_states: flow(include_str!(
            "../../templates/common/failover_flow_states.p4"
        )),
        flow_action: flow(include_str!(
            "../../templates/common/failover_flow_action.p4"
        )),
        flow_choice: flow("\n            encapsulate_flow;"),
        src_forward: routed(include_str!(
            "../../templates/common/failover_src_forward.p4"
        ))
        .replace("{{STACK}}", &stack),
        apply_src_forward: routed(include_str!(
            "../../templates/common/failover_apply_src_forward.p4"
        )),
        send_doc: send_doc(features.state),
        send_actions: (0..=features.most_rest())
            .map(|rest| send(features, rest))
            .collect(),
        send_choices: (0..=features.most_rest())
            .map(|rest| format!("\n            {};", send_name(rest)))
            .collect(),
        label_keys: label_keys(features),
        arrive: arrive(features),
        src_update: src_update(
            features,
            &["headers.forward.pop_front(1);"],
            &[
                "headers.reverse.push_front(1);",
                "headers.reverse[0].setValid();",
                "headers.reverse[0].port = (bit<8>)standard_metadata.ingress_port;",
            ],
        ),
        apply_src_update: if features.has_routes() {
            "\n\n        src_update.apply();"
        } else {
            ""
        },
        drop_routes: drop_routes(features),
    }
}

pub(super) const fn label_doc(state: HeaderState) -> &'static str {
    match state {
        HeaderState::ReverseRoute => {
            "// The header tells them by the way that the packet has come (Plinko): a list of the ports by which\n\
             // it came into the switches so far, the latest first, this switch's own included."
        }
        HeaderState::Tag => {
            "// The header tells them by a number in `resilience`: for the set of failed links that the packet\n\
             // has met (FCP), or for the route that it follows (MPLS-FRR)."
        }
        HeaderState::Trees => {
            "// The header tells them by a bit in `resilience` for every tree that has failed (EDST, ADST); the\n\
             // tree that the packet is on is told by its input port, or by `tree`."
        }
    }
}

pub(super) const fn output_doc(source_routes: bool) -> &'static str {
    if source_routes {
        "// A rule puts the ports of the whole way into the header (source routes). A switch takes the next one\n\
         // off and uses it if that port is up; else the route is void, and its own rules find another."
    } else {
        "// A rule gives one port: every switch on the way has rules (hop by hop)."
    }
}

/// The stacks of hops; `arrived` comes before the reverse route.
pub(super) fn stacks(features: &FailoverFeatures, arrived: &str) -> String {
    let mut text = String::new();
    let mut stack = |wanted: bool, before: &str, name: &str| {
        if wanted {
            let kind = format!("hop_t[{}]", features.stack);
            let _ = write!(text, "{before}\n    {kind:12} {name};");
        }
    };
    stack(features.source_routes, "", "forward");
    stack(features.keeps_reverse(), arrived, "reverse");
    text
}

fn metadata(features: &FailoverFeatures) -> String {
    let mut text = String::new();
    if features.source_routes {
        text.push_str("\n    bit<8>       unread;           // hops of the forward route that are still to be parsed");
    }
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
            "../../templates/common/failover_flow_metadata.p4"
        )));
    }
    text
}

/// The rest of the state `parse_shim`, and the states of the hops. A count that is too large ends in an error.
fn parse_routes(features: &FailoverFeatures) -> String {
    let stack = features.stack;
    let bound = |kept: bool, field: &str| {
        if kept {
            format!("headers.shim.{field} <= {stack}")
        } else {
            format!("headers.shim.{field} == 0")
        }
    };
    let mut text = format!(
        "        verify({}\n               && {}, error.RouteCount);\n",
        bound(features.source_routes, "forward_hops"),
        bound(features.keeps_reverse(), "reverse_hops")
    );
    let after = if features.keeps_reverse() {
        "parse_reverse"
    } else {
        "accept"
    };
    if features.source_routes {
        let _ = write!(
            text,
            "        meta.unread = headers.shim.forward_hops;\n        transition select(headers.shim.forward_hops) {{\n            \
             0: {after};\n            default: parse_forward;\n        }}\n    }}\n\n    state parse_forward {{\n        \
             packet.extract(headers.forward.next);\n        meta.unread = meta.unread - 1;\n        \
             transition select(meta.unread) {{\n            0: {after};\n            default: parse_forward;\n        }}\n    }}"
        );
    } else {
        let _ = write!(text, "        transition {after};\n    }}");
    }
    if features.keeps_reverse() {
        text.push_str(
            "\n\n    // One state a hop, so that every hop has its own place in the key. This switch's port comes\n    \
             // before them.\n    state parse_reverse {\n        transition select(headers.shim.reverse_hops) {\n            \
             0: accept;\n            default: parse_reverse_1;\n        }\n    }",
        );
        for hop in 1..=stack {
            let _ = write!(
                text,
                "\n\n    state parse_reverse_{hop} {{\n        packet.extract(headers.reverse.next);"
            );
            if hop == stack {
                text.push_str("\n        transition accept;\n    }");
                continue;
            }
            let next = hop + 1;
            let _ = write!(
                text,
                "\n        meta.rev_{hop} = headers.reverse.last.port;\n        \
                 transition select(headers.shim.reverse_hops) {{\n            {hop}: accept;\n            \
                 default: parse_reverse_{next};\n        }}\n    }}"
            );
        }
    }
    text
}

pub(super) const fn send_doc(state: HeaderState) -> &'static str {
    match state {
        HeaderState::ReverseRoute => "Nothing else changes: the reverse route grows by itself.",
        HeaderState::Tag => "The number keeps the bits of `keep` and gets those of `set`.",
        HeaderState::Trees => {
            "Trees keep the bits of `keep` and get those of `set`: failed trees, and the\n    // tree that the packet is on from here."
        }
    }
}

pub(super) fn send_name(rest: u8) -> String {
    match rest {
        0 => "send".to_owned(),
        rest => format!("send_{rest}"),
    }
}

/// The action that sends a packet on and leaves it so many hops for the switches after.
fn send(features: &FailoverFeatures, rest: u8) -> String {
    let mut params: Params = vec![("port_id_t", "port".to_owned())];
    let mut body = vec!["standard_metadata.egress_spec = port;".to_owned()];
    if features.state != HeaderState::ReverseRoute {
        params.extend([
            ("bit<24>", "keep".to_owned()),
            ("bit<24>", "set".to_owned()),
        ]);
        body.push("headers.shim.resilience = (headers.shim.resilience & keep) | set;".to_owned());
    }
    if features.state == HeaderState::Trees {
        params.extend([
            ("bit<8>", "keep_tree".to_owned()),
            ("bit<8>", "set_tree".to_owned()),
        ]);
        body.push("headers.shim.tree = (headers.shim.tree & keep_tree) | set_tree;".to_owned());
    }
    send_text(rest, params, body)
}

/// Types and names of an action's parameters.
pub(super) type Params = Vec<(&'static str, String)>;

/// The text of an action that sends, with what it does besides leaving hops.
pub(super) fn send_text(rest: u8, mut params: Params, mut body: Vec<String>) -> String {
    if rest > 0 {
        body.push(format!("headers.shim.forward_hops = {rest};"));
    }
    for hop in 1..=rest {
        params.push(("bit<8>", format!("hop_{hop}")));
        let at = hop - 1;
        body.push(format!("headers.forward[{at}].setValid();"));
        body.push(format!("headers.forward[{at}].port = hop_{hop};"));
    }
    let id = match rest {
        0 => "ID_ACTION_SEND".to_owned(),
        rest => format!("{:#010X}", FailoverFeatures::send_id(rest)).replace("0X", "0x"),
    };
    let name = send_name(rest);
    let params: Vec<String> = (1..)
        .zip(&params)
        .map(|(id, (kind, name))| format!("@id({id}) {kind} {name}"))
        .collect();
    let lines: Vec<String> = params.chunks(3).map(|line| line.join(", ")).collect();
    let indent = " ".repeat("    action (".len() + name.len());
    let mut text = if rest == 0 {
        String::new()
    } else {
        "\n".to_owned()
    };
    let _ = write!(
        text,
        "\n    @id({id})\n    action {name}({}) {{",
        lines.join(&format!(",\n{indent}"))
    );
    for line in body {
        let _ = write!(text, "\n        {line}");
    }
    text.push_str("\n    }");
    text
}

pub(super) fn label_keys(features: &FailoverFeatures) -> String {
    let mut text = String::new();
    let mut key = |id: u32, name: &str, field: &str| {
        let _ = write!(
            text,
            "\n            {field} : ternary @id({id}) @name(\"{name}\");"
        );
    };
    match features.state {
        HeaderState::ReverseRoute => {
            key(5, "hops", "meta.reverse_hops");
            for hop in 0..features.stack {
                key(
                    6 + u32::from(hop),
                    &format!("rev_{hop}"),
                    &format!("meta.rev_{hop}"),
                );
            }
        }
        HeaderState::Tag => key(5, "tag", "headers.shim.resilience"),
        HeaderState::Trees => {
            key(5, "tag", "headers.shim.resilience");
            key(6, "tree", "headers.shim.tree");
        }
    }
    text
}

/// What is done with a packet from another switch before anything is decided.
fn arrive(features: &FailoverFeatures) -> String {
    if !features.keeps_reverse() {
        return String::new();
    }
    format!(
        "\n            if (headers.shim.reverse_hops == {}) {{\n                drop_because(DROP_TOO_LONG);\n            }}\n            \
         meta.reverse_hops = headers.shim.reverse_hops + 1;\n            \
         meta.rev_0 = (bit<8>)standard_metadata.ingress_port;",
        features.stack
    )
}

/// The table that pops the hop that was followed and pushes the port that the packet came by, given the statements of
/// both besides the counts.
pub(super) fn src_update(features: &FailoverFeatures, pop: &[&str], push: &[&str]) -> String {
    if !features.has_routes() {
        return String::new();
    }
    let mut pop = pop.to_vec();
    pop.push("headers.shim.forward_hops = headers.shim.forward_hops - 1;");
    let mut push = push.to_vec();
    push.push("headers.shim.reverse_hops = headers.shim.reverse_hops + 1;");
    let both: Vec<&str> = pop.iter().chain(&push).copied().collect();
    let (mut actions, mut choices, mut entries) = (String::new(), String::new(), String::new());
    let mut add = |name: &str, id: &str, body: &[&str], keys: &[&str]| {
        let _ = write!(actions, "    @id({id})\n    action {name}() {{\n");
        for line in body {
            let _ = writeln!(actions, "        {line}");
        }
        actions.push_str("    }\n\n");
        let _ = writeln!(choices, "            {name};");
        for key in keys {
            let _ = writeln!(entries, "            {key} : {name}();");
        }
    };
    match (features.source_routes, features.keeps_reverse()) {
        (true, true) => {
            add("pop", "ID_ACTION_POP", &pop, &["(1, 0)"]);
            add("push", "ID_ACTION_PUSH", &push, &["(0, 1)"]);
            add("pop_and_push", "ID_ACTION_POP_AND_PUSH", &both, &["(1, 1)"]);
        }
        (true, false) => add("pop", "ID_ACTION_POP", &pop, &["(1, 0)", "(1, 1)"]),
        _ => add("push", "ID_ACTION_PUSH", &push, &["(0, 1)"]),
    }
    fragment(include_str!(
        "../../templates/common/failover_src_update.p4"
    ))
    .replace("{{ACTIONS}}", &actions)
    .replace("{{CHOICES}}", &choices)
    .replace("{{ENTRIES}}", &entries)
}

fn drop_routes(features: &FailoverFeatures) -> String {
    let mut text = String::new();
    for (kept, name) in [
        (features.source_routes, "forward"),
        (features.keeps_reverse(), "reverse"),
    ] {
        if kept {
            let _ = write!(
                text,
                "\n        headers.{name}.pop_front({});",
                features.stack
            );
        }
    }
    text
}

/// Takes all hops of a route away, one by one.
pub(super) fn drop_stack(name: &str, stack: u8) -> String {
    let line = |hop: u8| format!("\n        headers.{name}[{hop}].setInvalid();");
    (0..stack).map(line).collect()
}

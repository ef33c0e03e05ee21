//! A topology of KNE (openconfig/kne), which runs networks on Kubernetes, in the text format of its
//! protocol buffers.

use topology::{NodeId, Topology};

use super::{
    ExportError, ExportOptions, Exported, ExportedFile, GRPC_PORT, Source, cut_links, devices,
    hold, interface,
};

const ENGINE: &str = "KNE";

/// Names that Kubernetes takes for pods, with what KNE puts before them.
fn fits(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=50).contains(&name.len())
        && name.chars().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// The name of the topology, which becomes that of a namespace.
fn namespace(topology: &Topology) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    let name: String = topology.name().chars().map(plain).take(50).collect();
    match name.trim_matches('-') {
        "" => "switchwright".to_owned(),
        name => name.to_owned(),
    }
}

/// Writes the network: `topology.pb.txt`, and the devices file for a `push` inside the cluster.
///
/// # Errors
/// [`ExportError`]: names that Kubernetes does not take.
pub fn kne(source: &Source<'_>, options: &ExportOptions) -> Result<Exported, ExportError> {
    let topology = source.topology();
    hold(
        topology,
        ENGINE,
        "small letters, digits and `-` inside, 50 characters at most",
        fits,
    )?;
    let name = namespace(topology);
    let mut text = format!("name: {}\n", quoted(&name));
    for id in topology.switch_ids() {
        let cut: String = cut_links(topology, id).map(|line| line + "; ").collect();
        let line = source.switch_line(id, options);
        // Links go down once they are there: before the last step of the line, which is the switch.
        let line = match line.split_once("exec ") {
            Some((wait, run)) => format!("{wait}{cut}exec {run}"),
            None => line,
        };
        let port = format!(
            "  services: {{ key: {GRPC_PORT} value: {{ name: \"p4runtime\" inside: {GRPC_PORT} }} }}\n"
        );
        text += &node(&topology.switch(id).name, &options.image, &line, &port);
    }
    for id in topology.host_ids() {
        let ends = topology.uplinks(id).iter();
        let wait: String = ends
            .map(|(port, _)| u32::from(port.get()) + 1)
            .map(|number| {
                format!("until ls /sys/class/net/eth{number} >/dev/null 2>&1; do sleep 0.1; done; ")
            })
            .collect();
        let set_up: String = source
            .host_commands(id)
            .into_iter()
            .map(|line| line + "; ")
            .collect();
        let line = format!("{wait}{set_up}exec sleep infinity");
        text += &node(&topology.host(id).name, &options.image, &line, "");
    }
    for link in topology.links() {
        let end = |node: NodeId| quoted(topology.node_name(node));
        text += &format!(
            "links: {{ a_node: {} a_int: {} z_node: {} z_int: {} }}\n",
            end(link.a.node),
            quoted(&interface(link.a)),
            end(link.b.node),
            quoted(&interface(link.b)),
        );
    }
    let file = ExportedFile {
        name: "topology.pb.txt".to_owned(),
        text,
    };
    let devices = devices(topology, |node| {
        format!("service-{node}.{name}.svc.cluster.local:{GRPC_PORT}")
    });
    Ok(Exported {
        files: vec![file, devices],
        crossing: 0,
    })
}

/// A container that runs a line of a shell.
fn node(name: &str, image: &str, line: &str, more: &str) -> String {
    format!(
        "nodes: {{\n  name: {}\n  vendor: HOST\n  config: {{ image: {} command: \"/bin/sh\" command: \"-c\" command: {} }}\n{more}}}\n",
        quoted(name),
        quoted(image),
        quoted(line)
    )
}

/// A string of the text format.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

//! Routes read from a file.
//!
//! As text, a route is a line: the source host, the switches in order, the destination host,
//! separated by spaces. `#` starts a comment. Where parallel links make it matter, a node says by
//! which of its ports the route leaves it: `h1 s1:3 s2 h2`. Without a port the lowest one that is
//! up is taken.
//!
//! As JSON, the same lines are strings:
//! `{"format": "switchwright-routes", "version": 1, "routes": ["h1 s1 s2 h2"]}`.

use quantities::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{ArcId, Attachment, Fabric, HostId, NodeId, SwitchId, Topology};

/// The `format` of a route file.
const FORMAT: &str = "switchwright-routes";
/// The `version` that this program reads.
const VERSION: u32 = 1;

/// A route file in its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteFile {
    /// Always `switchwright-routes`.
    pub format: String,
    /// The version of this format: 1.
    pub version: u32,
    /// Routes such as `h1 s1 s2 h2`.
    pub routes: Vec<String>,
}

/// Why routes from a file are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteFileError {
    /// Not the JSON form.
    #[error("the route file is not what it should be: {0}")]
    Json(String),
    /// Another kind of file.
    #[error("the route file's format is `{0}`; it must be `{FORMAT}`")]
    Format(String),
    /// A version of the future.
    #[error("the route file's version is {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A route is not a path of the topology.
    #[error("route {number} (`{route}`): {reason}")]
    Route {
        /// Its place, from 1.
        number: usize,
        /// The route.
        route: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
}

/// Reads a route file, text or JSON, into the lines of
/// [`RoutePolicy::Explicit`](super::RoutePolicy).
///
/// # Errors
/// [`RouteFileError`] if it is JSON, but not a route file of a known version.
pub fn parse_routes(text: &str) -> Result<Vec<String>, RouteFileError> {
    if text.trim_start().starts_with('{') {
        let file: RouteFile =
            serde_json::from_str(text).map_err(|e| RouteFileError::Json(e.to_string()))?;
        if file.format != FORMAT {
            return Err(RouteFileError::Format(file.format));
        }
        if file.version != VERSION {
            return Err(RouteFileError::Version(file.version));
        }
        return Ok(file.routes);
    }
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim());
    Ok(lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect())
}

/// A listed route, found in the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its place in the list, from 0.
    pub(super) number: usize,
    pub(super) from: SwitchId,
    pub(super) to: SwitchId,
    pub(super) source: Attachment,
    pub(super) destination: Attachment,
    pub(super) arcs: Vec<ArcId>,
}

/// Finds the listed routes in a topology, in their order; those with a link that is down are left
/// out.
pub(super) fn resolve(
    topology: &Topology,
    fabric: &Fabric,
    routes: &[String],
) -> Result<Vec<Listed>, RouteFileError> {
    let mut found = Vec::new();
    for (at, route) in routes.iter().enumerate() {
        let listed = resolve_one(topology, fabric, at, route);
        found.extend(listed.map_err(|reason| RouteFileError::Route {
            number: at + 1,
            route: route.clone(),
            reason,
        })?);
    }
    Ok(found)
}

/// A step of a route: a node and the port it is left by.
type Step = (NodeId, Option<PortId>);

fn resolve_one(
    topology: &Topology,
    fabric: &Fabric,
    number: usize,
    route: &str,
) -> Result<Option<Listed>, String> {
    let steps = route.split_whitespace().map(|word| step(topology, word));
    let steps = steps.collect::<Result<Vec<Step>, String>>()?;
    let [(source, source_port), middle @ .., (destination, None)] = &steps[..] else {
        return Err(
            "write at least a host, a switch and a host; the last takes no port".to_owned(),
        );
    };
    let (NodeId::Host(source), NodeId::Host(destination)) = (*source, *destination) else {
        return Err("a route starts and ends at a host".to_owned());
    };
    if source == destination {
        return Err("a route joins two different hosts".to_owned());
    }
    let mut switches = Vec::new();
    for &(node, port) in middle {
        match node {
            NodeId::Switch(switch) if switches.iter().any(|&(seen, _)| seen == switch) => {
                let name = topology.node_name(node);
                return Err(format!("it visits `{name}` twice; cut the loop out"));
            }
            NodeId::Switch(switch) => switches.push((switch, port)),
            NodeId::Host(_) => {
                let name = topology.node_name(node);
                return Err(format!("`{name}` is a host, which does not forward"));
            }
        }
    }
    let (Some(&(from, _)), Some(&(to, last_port))) = (switches.first(), switches.last()) else {
        return Err("write at least one switch between the hosts".to_owned());
    };
    let arrival = attachment(topology, source, *source_port, from, None)?;
    let departure = attachment(topology, destination, None, to, last_port)?;
    let mut arcs = Vec::new();
    for pair in switches.windows(2) {
        arcs.push(arc(topology, fabric, pair[0], pair[1].0)?);
    }
    // Every piece exists; the route is usable if every piece is up.
    let arcs: Option<Vec<ArcId>> = arcs.into_iter().collect();
    let ends = arrival.zip(departure);
    Ok(ends.zip(arcs).map(|((source, destination), arcs)| Listed {
        number,
        from,
        to,
        source,
        destination,
        arcs,
    }))
}

fn step(topology: &Topology, word: &str) -> Result<Step, String> {
    let (name, port) = match word.split_once(':') {
        None => (word, None),
        Some((name, port)) => (name, Some(port)),
    };
    let node = topology.node(name);
    let node = node.ok_or_else(|| format!("the topology has no node `{name}`"))?;
    let port = port.map(|text| {
        topology.port_named(node, text).ok_or_else(|| {
            format!("`{text}` in `{word}` is no port of `{name}`; write `NODE` or `NODE:PORT`")
        })
    });
    Ok((node, port.transpose()?))
}

/// Where a host is attached to a switch, by given ports or the lowest; `None` if it is down.
fn attachment(
    topology: &Topology,
    host: HostId,
    host_port: Option<PortId>,
    switch: SwitchId,
    switch_port: Option<PortId>,
) -> Result<Option<Attachment>, String> {
    let mut exists = false;
    for (port, peer) in topology.uplinks(host) {
        if peer.end.node == NodeId::Switch(switch)
            && host_port.is_none_or(|wanted| wanted == *port)
            && switch_port.is_none_or(|wanted| wanted == peer.end.port)
        {
            exists = true;
            if topology.is_live(peer.link) {
                let port = peer.end.port;
                return Ok(Some(Attachment { port, host }));
            }
        }
    }
    if exists {
        return Ok(None);
    }
    let (host, switch) = (&topology.host(host).name, &topology.switch(switch).name);
    Err(match host_port.or(switch_port) {
        Some(port) => format!("port {port} does not join `{host}` and `{switch}`"),
        None => format!("host `{host}` is not linked to `{switch}`"),
    })
}

/// The arc from a switch to the next, by a given port or the lowest; `None` if it is down.
fn arc(
    topology: &Topology,
    fabric: &Fabric,
    (from, port): (SwitchId, Option<PortId>),
    to: SwitchId,
) -> Result<Option<ArcId>, String> {
    let names = || (&topology.switch(from).name, &topology.switch(to).name);
    let leads = |p: &PortId| {
        let peer = topology.peer(from, *p);
        peer.is_some_and(|peer| peer.end.node == NodeId::Switch(to))
    };
    if let Some(port) = port {
        if !leads(&port) {
            let (from, to) = names();
            return Err(format!("port {port} of `{from}` does not lead to `{to}`"));
        }
        return Ok(fabric.arc_at(from, port));
    }
    if !topology.peers(from).any(|(p, _)| leads(&p)) {
        let (from, to) = names();
        return Err(format!("`{from}` has no link to `{to}`"));
    }
    let live = fabric.out_arcs(from).find(|(_, arc)| arc.to == to);
    Ok(live.map(|(id, _)| id))
}

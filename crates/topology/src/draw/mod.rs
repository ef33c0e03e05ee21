//! Drawing a topology as SVG.
//!
//! Layered networks are drawn in rows, hosts at the bottom, pods side by side; server-centric ones
//! in rows as well; all others in a circle or by simulated forces. What fits is labelled: names,
//! hosts, ports. As networks grow, ports go first, then the hosts of a switch become one label,
//! then names go, so that the shape stays legible. Every link has its ends as a title, which a
//! pointer over it shows. The same topology gives the same picture.

mod free;
mod labels;
mod layout;
mod rows;
mod svg;
#[cfg(test)]
mod tests;

use super::ids::{LinkId, NodeId, SwitchId};
use super::model::{Endpoint, Role, Topology};
use labels::Labels;
use layout::{Layout, Point, Shape};
use svg::Svg;

/// Up to this many links all ports are labelled; beyond, those that have room.
const PORTS_DRAWN: usize = 48;
/// Up to this many links switches in rows are so wide that all ports have room.
const PORTS_ROOMY: usize = 240;
/// Up to this many links ports are labelled at all.
const PORTS_TRIED: usize = 1000;
/// Up to this many hosts each is drawn.
const HOSTS_DRAWN: usize = 300;
/// Up to this many hosts each has its name.
const HOSTS_NAMED: usize = 64;
/// Up to this many hosts a picture draws each; the hosts of a switch are one label beyond it.
const HOSTS_APART: usize = 32;
/// The widest row of host names in a picture, in pixels.
const NAMES_WIDTH: f64 = 1400.0;
/// Width of a character of a host's name or of a rack's label, in pixels.
const HOST_CHARACTER: f64 = 6.3;
/// Up to this many switches (in a row, where there are rows) each has its name.
const SWITCHES_NAMED: usize = 72;

/// Fill colours by layer from the hosts up; the last serves all above.
const LAYER_COLOURS: [&str; 4] = ["#2a9d8f", "#3d7ea6", "#27476e", "#5b3f8c"];
const SERVER_COLOUR: &str = "#d98c3f";
const PLAIN_COLOUR: &str = "#3d7ea6";
const DOWN_COLOUR: &str = "#d62839";

/// Which ports are labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortLabels {
    All,
    /// Those whose label covers no other.
    Fitting,
    None,
}

/// How much detail there is room for.
#[derive(Clone, Copy, Debug)]
struct Detail {
    ports: PortLabels,
    /// Whether switches in rows are made wide enough for their ports.
    roomy: bool,
    hosts: bool,
    host_names: bool,
    names: bool,
}

impl Detail {
    fn of(topology: &Topology, widest: usize, purpose: Purpose) -> Self {
        let (hosts, links) = (topology.hosts().len(), topology.links().len());
        let folded = purpose == Purpose::Picture
            && (hosts > HOSTS_APART || host_slot(topology) * count(hosts) > NAMES_WIDTH);
        Self {
            ports: match links {
                0..=PORTS_DRAWN => PortLabels::All,
                links if links <= PORTS_TRIED => PortLabels::Fitting,
                _ => PortLabels::None,
            },
            roomy: links <= PORTS_ROOMY,
            hosts: hosts <= HOSTS_DRAWN && !folded,
            host_names: hosts <= HOSTS_NAMED,
            names: widest <= SWITCHES_NAMED,
        }
    }
}

/// What a layout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A picture to read, in which names do not overlap.
    Picture,
    /// Positions for a program that draws, zooms and chooses names itself.
    Positions,
}

/// Pixels that the longest name of a host takes in a row of them.
fn host_slot(topology: &Topology) -> f64 {
    let lengths = topology
        .hosts()
        .iter()
        .map(|host| host.name.chars().count());
    count(lengths.max().unwrap_or(0)) * HOST_CHARACTER + 8.0
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

/// The hosts of a switch in a few words: `h1-h16 (16)`. What long names have in common at their
/// beginning stands once: `host-pod12-rack07-01..16 (16)`.
fn rack_label(names: &[&str]) -> String {
    let (Some(first), Some(last)) = (names.first(), names.last()) else {
        return String::new();
    };
    if names.len() == 1 {
        return (*first).to_owned();
    }
    let total = names.len();
    if first.len() + last.len() <= SHORT_NAMES {
        return format!("{first}-{last} ({total})");
    }
    let same = first.char_indices().zip(last.chars());
    let same = same
        .take_while(|((_, a), b)| a == b)
        .map(|((at, a), _)| at + a.len_utf8());
    let end = same.last().unwrap_or(0);
    // A number is not split.
    let end = first[..end]
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .len();
    format!("{first}..{} ({total})", &last[end..])
}

/// Letters of two names that are written side by side.
const SHORT_NAMES: usize = 16;

/// The label of the hosts that are attached to a switch first.
fn rack_of(topology: &Topology, switch: SwitchId) -> String {
    let hosts = topology.peers(switch).filter_map(|(_, peer)| {
        let NodeId::Host(host) = peer.end.node else {
            return None;
        };
        let first = topology
            .uplinks(host)
            .first()
            .map(|(_, peer)| peer.end.node);
        (first == Some(NodeId::Switch(switch))).then_some(topology.host(host).name.as_str())
    });
    rack_label(&hosts.collect::<Vec<_>>())
}

/// Where nodes stand on the drawing, in pixels from the upper left.
#[derive(Clone, Debug, PartialEq)]
pub struct Positions {
    /// Width of the drawing.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// The middle of every switch.
    pub switches: Vec<(f64, f64)>,
    /// The middle of every host; nothing where hosts are too many to be drawn one by one.
    pub hosts: Vec<Option<(f64, f64)>>,
}

impl Topology {
    fn layout(&self, purpose: Purpose) -> Layout {
        if self.is_layered() {
            rows::layered(self, purpose)
        } else if self.switches().iter().any(|s| s.role == Role::Server) {
            rows::server_centric(self, purpose)
        } else {
            free::layout(self, purpose)
        }
    }

    /// Where switches and hosts stand on a drawing that has every host.
    #[must_use]
    pub fn positions(&self) -> Positions {
        let layout = self.layout(Purpose::Positions);
        let point = |at: Point| (at.x, at.y);
        Positions {
            width: layout.width,
            height: layout.height,
            switches: layout
                .switches
                .iter()
                .map(|place| point(place.at))
                .collect(),
            hosts: layout.hosts.iter().map(|at| at.map(point)).collect(),
        }
    }

    /// Draws the topology as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let layout = self.layout(Purpose::Picture);
        let mut svg = Svg::new(layout.width, layout.height);
        title(&mut svg, self);
        for band in &layout.bands {
            svg.band(band);
        }
        links(&mut svg, self, &layout);
        hosts(&mut svg, self, &layout);
        switches(&mut svg, self, &layout);
        svg.finish()
    }
}

fn title(svg: &mut Svg, topology: &Topology) {
    let counted =
        |n: usize, what: &str, many: &str| format!("{n} {}", if n == 1 { what } else { many });
    let mut parts = vec![
        counted(topology.switches().len(), "switch", "switches"),
        counted(topology.hosts().len(), "host", "hosts"),
        counted(topology.links().len(), "link", "links"),
    ];
    let down = topology
        .link_ids()
        .filter(|&link| !topology.is_live(link))
        .count();
    if down > 0 {
        parts.push(format!("{down} down"));
    }
    svg.title(topology.name(), &parts.join(" · "));
}

/// Line width by rate: the fastest links of a network are the thickest.
fn widths(topology: &Topology, scale: f64) -> impl Fn(LinkId) -> f64 + '_ {
    let fastest = topology
        .links()
        .iter()
        .map(|l| l.rate.get())
        .max()
        .unwrap_or(1);
    move |link| {
        #[expect(clippy::cast_precision_loss, reason = "a line width")]
        let ratio = topology.link(link).rate.get() as f64 / fastest as f64;
        scale * (1.0 + ratio.log10().max(-2.0) / 4.0)
    }
}

fn links(svg: &mut Svg, topology: &Topology, layout: &Layout) {
    let count = topology.links().len();
    let (scale, opacity) = match count {
        0..=60 => (2.0, 1.0),
        61..=300 => (1.3, 0.75),
        301..=1500 => (0.9, 0.5),
        1501..=6000 => (0.6, 0.3),
        _ => (0.4, 0.12),
    };
    let width = widths(topology, scale);
    let ends = layout.link_ends(topology);
    // Links that are down come last, on top of the others.
    for live in [true, false] {
        svg.open_links(live, opacity);
        for link in topology
            .link_ids()
            .filter(|&link| topology.is_live(link) == live)
        {
            if let Some([a, b]) = ends[link.index()] {
                let title = about(topology, link);
                svg.link([a, b], layout.bends[link.index()], width(link), &title);
            }
        }
        svg.close();
    }
    ports(svg, topology, layout, &ends);
}

/// A link in words.
fn about(topology: &Topology, id: LinkId) -> String {
    let link = topology.link(id);
    let end = |end: Endpoint| {
        let name = topology.node_name(end.node);
        match end.node {
            NodeId::Host(_) => name.to_owned(),
            NodeId::Switch(switch) => match topology.interface(switch, end.port) {
                Some(interface) => format!("{name} {interface} (port {})", end.port),
                None => format!("{name} port {}", end.port),
            },
        }
    };
    let state = if topology.is_live(id) { "" } else { ", down" };
    format!(
        "{} - {}, {}, {} m{state}",
        end(link.a),
        end(link.b),
        link.rate.with_unit(),
        link.length
    )
}

/// Labels ports of switches next to them: by name if there is room for it, else by number.
fn ports(svg: &mut Svg, topology: &Topology, layout: &Layout, ends: &[Option<[Point; 2]>]) {
    if layout.detail.ports == PortLabels::None {
        return;
    }
    let mut labels = Labels::around(topology, layout);
    for link in topology.link_ids() {
        let Some([a, b]) = ends[link.index()] else {
            continue;
        };
        let entry = topology.link(link);
        for (end, near, far) in [(entry.a, a, b), (entry.b, b, a)] {
            let NodeId::Switch(switch) = end.node else {
                continue;
            };
            let at = layout.port_label(near, far, layout.bends[link.index()]);
            let number = end.port.to_string();
            let name = topology.interface(switch, end.port);
            let fitting = [name, Some(&number)].into_iter().flatten();
            let fitting = fitting.into_iter().find(|text| labels.place(at, text));
            match (fitting, layout.detail.ports) {
                (Some(text), _) => svg.port(at, text),
                (None, PortLabels::All) => svg.port(at, &number),
                (None, _) => {}
            }
        }
    }
}

fn hosts(svg: &mut Svg, topology: &Topology, layout: &Layout) {
    for host in topology.host_ids() {
        let uplink = topology
            .uplinks(host)
            .first()
            .map(|(_, peer)| peer.end.node);
        if let (Some(at), Some(NodeId::Switch(switch))) = (layout.hosts[host.index()], uplink) {
            let name = layout
                .detail
                .host_names
                .then_some(topology.host(host).name.as_str());
            let label = layout.host_label(at, layout.switches[switch.index()].at);
            svg.host(at, layout.host_radius, name, label);
        }
    }
}

fn switches(svg: &mut Svg, topology: &Topology, layout: &Layout) {
    for id in topology.switch_ids() {
        let switch = topology.switch(id);
        let colour = match (switch.role, switch.layer) {
            (Role::Server, _) => SERVER_COLOUR,
            (Role::Switch, Some(layer)) => {
                LAYER_COLOURS[usize::from(layer).min(LAYER_COLOURS.len() - 1)]
            }
            (Role::Switch, None) => PLAIN_COLOUR,
        };
        let place = layout.switches[id.index()];
        svg.switch(place, colour, switch.up, &switch.name);
        if layout.detail.names {
            svg.name(place, &switch.name, switch.up);
        }
        if !layout.detail.hosts && layout.detail.names {
            svg.rack(place, &rack_of(topology, id));
        }
    }
}

/// A switch on the drawing.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: Point,
    shape: Shape,
}

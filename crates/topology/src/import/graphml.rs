//! GraphML, as in the Internet Topology Zoo: nodes become switches, each with as many hosts as
//! asked for.
//!
//! Read where present: `label` (or a yEd label) as the name; `LinkSpeedRaw` in bits per second, or
//! `LinkSpeed` with `LinkSpeedUnits`; `Latitude` and `Longitude`, from which the length of a link
//! is the great-circle distance. Links of a node to itself are left out.
//!
//! Nodes stand in the natural order of their ids, which name them in the file. Of several nodes
//! with one label, the first keeps it, and the others get their id behind it.

use std::collections::{BTreeMap, BTreeSet};

use quantities::{BitRate, Metres};
use roxmltree::{Document, Node};

use super::super::file;
use super::super::ports::natural_order;
use super::{
    Draft, DraftEnd, DraftLink, ImportError, ImportFormat, ImportOptions, Order, add_hosts,
};

/// Mean radius of the earth in metres.
const EARTH: f64 = 6_371_000.0;

/// The data of an element, by the name of the attribute.
type Data<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn read(text: &str, options: &ImportOptions) -> Result<Draft, ImportError> {
    let format = ImportFormat::GraphMl;
    let document = Document::parse(text).map_err(|error| ImportError::Syntax {
        format,
        reason: error.to_string(),
    })?;
    if document.root_element().tag_name().name() != "graphml" {
        let root = document.root_element().tag_name().name();
        return Err(ImportError::Unknown(format!(
            "it is XML of `{root}`, not `graphml`"
        )));
    }
    let mut draft = Draft::new(format, options);
    let keys = keys(&document);
    if let Some(graph) = elements(&document, "graph").next()
        && let Some(network) = data(graph, &keys).get("Network")
    {
        draft.name = name_from(network);
    }
    let nodes = add_nodes(&mut draft, &document, &keys, options)?;
    let mut loops = 0;
    for (at, edge) in elements(&document, "edge").enumerate() {
        let place = format!("edge {at} (line {})", line(&document, edge));
        let end = |attribute: &str| {
            let id = edge.attribute(attribute).unwrap_or("");
            nodes
                .get(id)
                .ok_or_else(|| draft.value(&place, format!("its {attribute} `{id}` is no node")))
        };
        let (a, b) = (end("source")?, end("target")?);
        if a.name == b.name {
            loops += 1;
            continue;
        }
        let data = data(edge, &keys);
        let rate = rate(&data).map_err(|reason| draft.value(&place, reason))?;
        let length = a.place.zip(b.place).map(|(a, b)| distance(a, b));
        let ends = [DraftEnd::open(&a.name), DraftEnd::open(&b.name)];
        draft.links.push(DraftLink {
            rate,
            length,
            ..DraftLink::new(place, ends)
        });
    }
    if loops > 0 {
        draft
            .notes
            .push(format!("{loops} links of a node to itself were left out"));
    }
    Ok(draft)
}

/// A node of the file.
struct GraphNode {
    name: String,
    /// Latitude and longitude in degrees.
    place: Option<(f64, f64)>,
}

/// Adds a switch and its hosts for every node; the nodes by their ids.
fn add_nodes(
    draft: &mut Draft,
    document: &Document<'_>,
    keys: &BTreeMap<&str, &str>,
    options: &ImportOptions,
) -> Result<BTreeMap<String, GraphNode>, ImportError> {
    draft.order = Order::Nodes;
    let mut nodes = BTreeMap::new();
    let mut names = BTreeSet::new();
    let mut found: Vec<Node<'_, '_>> = elements(document, "node").collect();
    let id = |node: &Node<'_, '_>| node.attribute("id").unwrap_or_default().to_owned();
    found.sort_by(|a, b| natural_order(&id(a), &id(b)));
    for node in found {
        // A yEd group is a node around a graph: its members count, not itself.
        if node
            .children()
            .any(|child| child.has_tag_name(("http://graphml.graphdrawing.org/xmlns", "graph")))
        {
            continue;
        }
        let place = format!("node on line {}", line(document, node));
        let id = node
            .attribute("id")
            .ok_or_else(|| draft.value(&place, "it has no `id`"))?;
        let data = data(node, keys);
        let drawn = node
            .descendants()
            .find(|d| d.tag_name().name() == "NodeLabel");
        let label = data
            .get("label")
            .copied()
            .or_else(|| drawn.and_then(|label| label.text()));
        let mut name = name_from(label.unwrap_or(id));
        if name.is_empty() || !names.insert(name.clone()) {
            name = format!("{name}_{}", name_from(id));
            names.insert(name.clone());
        }
        let number = |key: &str| data.get(key).and_then(|text| text.parse::<f64>().ok());
        let found = GraphNode {
            name: name.clone(),
            place: number("Latitude").zip(number("Longitude")),
        };
        if nodes.insert(id.to_owned(), found).is_some() {
            return Err(draft.value(&place, format!("its id `{id}` is used twice")));
        }
        draft.switches.push(name);
    }
    add_hosts(draft, options.hosts_per_node);
    if options.hosts_per_node > 0 {
        let hosts = options.hosts_per_node;
        draft.notes.push(format!(
            "GraphML has no hosts: every node was given {hosts}"
        ));
    }
    Ok(nodes)
}

fn elements<'a>(document: &'a Document<'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document
        .descendants()
        .filter(move |node| node.is_element() && node.tag_name().name() == name)
}

fn line(document: &Document<'_>, node: Node<'_, '_>) -> u32 {
    document.text_pos_at(node.range().start).row
}

/// The names of attributes by their keys.
fn keys<'a>(document: &'a Document<'a>) -> BTreeMap<&'a str, &'a str> {
    let pair = |key: Node<'a, 'a>| Some((key.attribute("id")?, key.attribute("attr.name")?));
    elements(document, "key").filter_map(pair).collect()
}

fn data<'a>(node: Node<'a, 'a>, keys: &BTreeMap<&'a str, &'a str>) -> Data<'a> {
    let entry = |child: Node<'a, 'a>| {
        let name = keys.get(child.attribute("key")?)?;
        Some((*name, child.text()?.trim()))
    };
    let children = node
        .children()
        .filter(|child| child.tag_name().name() == "data");
    children.filter_map(entry).collect()
}

/// A name without the characters that names may not hold.
fn name_from(label: &str) -> String {
    let allowed = |c: char| {
        if c.is_whitespace() || c == ':' || c == ',' {
            '_'
        } else {
            c
        }
    };
    label.trim().chars().map(allowed).collect()
}

/// The rate of a link, if it is given in a way that is understood.
fn rate(data: &Data<'_>) -> Result<Option<BitRate>, String> {
    let parse = |text: &str, gigabits: f64| {
        let number = text.parse::<f64>().ok();
        let rate = number.and_then(|number| file::parse_rate(number * gigabits));
        rate.map(Some)
            .ok_or_else(|| format!("`{text}` is not a link speed; write a number above 0"))
    };
    if let Some(raw) = data.get("LinkSpeedRaw") {
        return parse(raw, 1e-9);
    }
    let Some(speed) = data.get("LinkSpeed") else {
        return Ok(None);
    };
    match data.get("LinkSpeedUnits").copied().unwrap_or("G") {
        "T" => parse(speed, 1e3),
        "G" => parse(speed, 1.0),
        "M" => parse(speed, 1e-3),
        "K" | "k" => parse(speed, 1e-6),
        // Ranges and technologies instead of numbers: the default applies.
        _ => Ok(None),
    }
}

/// The great-circle distance between two places in degrees.
fn distance(a: (f64, f64), b: (f64, f64)) -> Metres {
    let (lat_a, lat_b) = (a.0.to_radians(), b.0.to_radians());
    let (half_lat, half_lon) = ((lat_b - lat_a) / 2.0, (b.1 - a.1).to_radians() / 2.0);
    let chord = half_lat.sin().powi(2) + lat_a.cos() * lat_b.cos() * half_lon.sin().powi(2);
    let metres = 2.0 * EARTH * chord.sqrt().min(1.0).asin();
    // At most half the circumference, 20,015 km.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range, see above"
    )]
    Metres::new(metres.round().max(1.0) as u32)
}

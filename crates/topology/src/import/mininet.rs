//! The two JSON formats that describe Mininet networks of P4 switches.
//!
//! p4lang tutorials: `{"hosts": {"h1": {"ip": "10.0.1.1/24", "mac": ...}}, "switches": {"s1": ...},
//! "links": [["h1", "s1-p1"], ["s1-p2", "s2-p1", latency, bandwidth]]}` with bandwidth in Mb/s.
//!
//! p4-utils: the same under `topology` (in p4app under `targets`), with links `["s1", "s2", {"bw":
//! 10, "port1": 1, "port2": 2}]`, ports numbered in the order of the links, and addresses by an
//! assignment strategy where hosts name none. Delays are not taken over, which a note says: what
//! Mininet delays stands for no length of a cable.

use std::net::Ipv4Addr;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::file;
use super::super::ports::GivenPort;
use super::{
    Draft, DraftEnd, DraftHost, DraftLink, ImportError, ImportFormat, ImportOptions, Order,
    parse_cidr, parse_megabits,
};

#[derive(Debug, Deserialize)]
struct Network {
    #[serde(default)]
    hosts: IndexMap<String, HostSpec>,
    #[serde(default)]
    switches: IndexMap<String, IgnoredAny>,
    links: Vec<Vec<Value>>,
    #[serde(default)]
    assignment_strategy: Option<String>,
    #[serde(default)]
    default: Option<LinkDefaults>,
}

#[derive(Debug, Default, Deserialize)]
struct HostSpec {
    ip: Option<String>,
    mac: Option<String>,
}

#[derive(Debug, Deserialize)]
struct LinkDefaults {
    bw: Option<f64>,
    delay: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct P4App {
    topology: Option<Network>,
    #[serde(default)]
    targets: IndexMap<String, Value>,
}

/// The top-level keys of a JSON object.
pub(super) fn keys(text: &str) -> Result<Vec<String>, ImportError> {
    let object: IndexMap<String, IgnoredAny> = serde_json::from_str(text)
        .map_err(|e| ImportError::Unknown(format!("it is not valid JSON: {e}")))?;
    Ok(object.into_keys().collect())
}

fn syntax(format: ImportFormat) -> impl Fn(serde_json::Error) -> ImportError {
    move |error| ImportError::Syntax {
        format,
        reason: error.to_string(),
    }
}

/// Reads a `topology.json` of the tutorials.
pub(super) fn read_tutorials(text: &str, options: &ImportOptions) -> Result<Draft, ImportError> {
    let format = ImportFormat::Tutorials;
    let network: Network = serde_json::from_str(text).map_err(syntax(format))?;
    let mut draft = Draft::new(format, options);
    add_nodes(&mut draft, &network)?;
    let mut delays = 0;
    for (at, link) in network.links.iter().enumerate() {
        let place = place("links", at, link);
        let (a, b) = names(&draft, link, &place)?;
        let rate = match link.get(3) {
            None | Some(Value::Null) => None,
            Some(value) => Some(bandwidth(&draft, value, &place)?),
        };
        let ends = [
            dashed_end(&draft, a, &place)?,
            dashed_end(&draft, b, &place)?,
        ];
        delays += usize::from(link.get(2).is_some_and(is_delay));
        draft.links.push(DraftLink {
            rate,
            ..DraftLink::new(place, ends)
        });
    }
    note_delays(&mut draft, delays);
    Ok(draft)
}

/// Reads a `p4app.json`.
pub(super) fn read_p4utils(text: &str, options: &ImportOptions) -> Result<Draft, ImportError> {
    let format = ImportFormat::P4Utils;
    let app: P4App = serde_json::from_str(text).map_err(syntax(format))?;
    let mut draft = Draft::new(format, options);
    // p4-utils numbers ports and addresses in the order of the file.
    draft.order = Order::File;
    let network = match app.topology {
        Some(network) => network,
        None => {
            let described = app
                .targets
                .into_iter()
                .find(|(_, target)| target.get("links").is_some());
            let (name, target) = described.ok_or_else(|| {
                draft.value(
                    "targets",
                    "no target has `links`; name one that describes a network",
                )
            })?;
            draft
                .notes
                .push(format!("the network is that of target `{name}`"));
            serde_json::from_value(target).map_err(syntax(format))?
        }
    };
    add_nodes(&mut draft, &network)?;
    addresses_of_links(&mut draft, &network)?;
    let default = network.default.as_ref().and_then(|default| default.bw);
    let usual = network
        .default
        .as_ref()
        .and_then(|default| default.delay.as_ref());
    let mut delays = 0;
    for (at, link) in network.links.iter().enumerate() {
        let place = place("topology.links", at, link);
        let (a, b) = names(&draft, link, &place)?;
        let option = |key: &str| {
            link.get(2)
                .and_then(|o| o.get(key))
                .filter(|v| !v.is_null())
        };
        let rate = match option("bw").cloned().or(default.map(Value::from)) {
            None => None,
            Some(value) => Some(bandwidth(&draft, &value, &place)?),
        };
        let end = |node: &str, key: &str, label: &str| {
            let port = match option(key) {
                None => GivenPort::Open,
                Some(value) => {
                    let number = value.as_u64().and_then(|n| u16::try_from(n).ok());
                    let reason =
                        || draft.value(&place, format!("{value} is not a port number for `{key}`"));
                    GivenPort::Number(number.ok_or_else(reason)?)
                }
            };
            let name = option(label).and_then(Value::as_str);
            Ok::<_, ImportError>(DraftEnd {
                label: name.map(str::to_owned),
                ..DraftEnd::new(node, port)
            })
        };
        let ends = [end(a, "port1", "intfName1")?, end(b, "port2", "intfName2")?];
        delays += usize::from(option("delay").or(usual).is_some_and(is_delay));
        draft.links.push(DraftLink {
            rate,
            ..DraftLink::new(place, ends)
        });
    }
    note_delays(&mut draft, delays);
    assign(
        &mut draft,
        network.assignment_strategy.as_deref().unwrap_or("l2"),
    )?;
    Ok(draft)
}

fn add_nodes(draft: &mut Draft, network: &Network) -> Result<(), ImportError> {
    draft.switches = network.switches.keys().cloned().collect();
    for (name, spec) in &network.hosts {
        let place = format!("hosts.{name}");
        let mut host = DraftHost {
            name: name.clone(),
            ..DraftHost::default()
        };
        if let Some(ip) = &spec.ip {
            host.ipv4 = Some(ip_address(draft, ip, &place)?);
        }
        if let Some(mac) = &spec.mac {
            host.mac = Some(mac_address(draft, mac, &place)?);
        }
        draft.hosts.push(host);
    }
    Ok(())
}

fn ip_address(draft: &Draft, text: &str, place: &str) -> Result<(Ipv4Addr, u8), ImportError> {
    let reason = || format!("`{text}` is not an IPv4 address; write one as in 10.0.1.1/24");
    parse_cidr(text).ok_or_else(|| draft.value(place, reason()))
}

fn mac_address(draft: &Draft, text: &str, place: &str) -> Result<[u8; 6], ImportError> {
    let reason =
        || format!("`{text}` is not an Ethernet address; write one as in 08:00:00:00:01:11");
    file::parse_mac(text).ok_or_else(|| draft.value(place, reason()))
}

/// p4-utils keeps hosts' addresses at links: `{"params1": {"ip": ...}, "addr1": ...}`. The first
/// link's are the host's.
fn addresses_of_links(draft: &mut Draft, network: &Network) -> Result<(), ImportError> {
    for (at, link) in network.links.iter().enumerate() {
        let place = place("topology.links", at, link);
        for (end, side) in [(0, "1"), (1, "2")] {
            let text = |pointer: String| link.get(2)?.pointer(&pointer)?.as_str();
            let ip = text(format!("/params{side}/ip"));
            let mac = text(format!("/addr{side}"));
            let ip = ip.map(|ip| ip_address(draft, ip, &place)).transpose()?;
            let mac = mac.map(|mac| mac_address(draft, mac, &place)).transpose()?;
            let name = link.get(end).and_then(Value::as_str);
            if let Some(host) = draft
                .hosts
                .iter_mut()
                .find(|h| Some(h.name.as_str()) == name)
            {
                host.ipv4 = host.ipv4.or(ip);
                host.mac = host.mac.or(mac);
            }
        }
    }
    Ok(())
}

/// A link as messages name it: its position in the list, and its ends.
fn place(list: &str, at: usize, link: &[Value]) -> String {
    let end = |at: usize| link.get(at).and_then(Value::as_str).unwrap_or("?");
    format!("{list}[{at}] ({} - {})", end(0), end(1))
}

/// The two ends of a link as they are written.
fn names<'a>(
    draft: &Draft,
    link: &'a [Value],
    place: &str,
) -> Result<(&'a str, &'a str), ImportError> {
    match (
        link.first().and_then(Value::as_str),
        link.get(1).and_then(Value::as_str),
    ) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(draft.value(place, "a link starts with the names of two nodes")),
    }
}

/// Whether a delay is given that is not 0.
fn is_delay(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)),
        _ => false,
    }
}

/// Says that delays are left out.
fn note_delays(draft: &mut Draft, count: usize) {
    if count > 0 {
        let links = if count == 1 {
            "1 link"
        } else {
            &format!("{count} links")
        };
        draft.notes.push(format!(
            "the delay of {links} is left out: links have a length, from which their delay follows (5 ns/m)"
        ));
    }
}

/// Megabits per second, as a number or a text.
fn bandwidth(
    draft: &Draft,
    value: &Value,
    place: &str,
) -> Result<quantities::BitRate, ImportError> {
    let number = value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok());
    let reason = || format!("{value} is not a bandwidth; write megabits per second above 0");
    number
        .and_then(parse_megabits)
        .ok_or_else(|| draft.value(place, reason()))
}

/// `s1-p3` is port 3 of switch s1; a name without a port is a host, or a switch's next free port.
fn dashed_end(draft: &Draft, text: &str, place: &str) -> Result<DraftEnd, ImportError> {
    let is_node = |name: &str| {
        draft.switches.iter().any(|s| s == name) || draft.hosts.iter().any(|h| h.name == name)
    };
    if !is_node(text)
        && let Some((name, port)) = text.rsplit_once("-p")
    {
        let number = port.parse().map_err(|_| {
            draft.value(
                place,
                format!("`{port}` in `{text}` is not a port number; write `s1-p3`"),
            )
        })?;
        return Ok(DraftEnd::new(name, GivenPort::Number(number)));
    }
    Ok(DraftEnd::open(text))
}

/// Gives addresses to hosts without one, as p4-utils does: `l2` puts all into 10.0.0.0/16, `mixed`
/// the hosts of a switch into a network of /24, `l3` every host into one of its own. Numbers come
/// from names (`h7`, `s3`) where they end in one, else from the order.
fn assign(draft: &mut Draft, strategy: &str) -> Result<(), ImportError> {
    if !matches!(strategy, "l2" | "mixed" | "l3" | "manual") {
        let reason = format!("`{strategy}` is not a strategy; use l2, mixed, l3 or manual");
        return Err(draft.value("topology.assignment_strategy", reason));
    }
    let numbered: Vec<u32> = (1..)
        .zip(&draft.hosts)
        .map(|(n, h)| number(&h.name, n))
        .collect();
    for (at, own) in numbered.into_iter().enumerate() {
        let host = &draft.hosts[at];
        if host.ipv4.is_some() || strategy == "manual" {
            continue;
        }
        let switch = draft.links.iter().find_map(|link| match &link.ends {
            [a, b] if a.node == host.name => Some(&b.node),
            [a, b] if b.node == host.name => Some(&a.node),
            _ => None,
        });
        let position = switch.and_then(|s| draft.switches.iter().position(|other| other == s));
        let order = position
            .and_then(|p| u32::try_from(p + 1).ok())
            .unwrap_or(0);
        let switch = switch.map_or(0, |name| number(name, order));
        let address = match strategy {
            "l2" => (own < 1 << 16).then_some((own, 16)),
            "mixed" => (own < 255 && switch < 1 << 16).then_some((switch << 8 | own, 24)),
            _ => (own < 256 && switch < 256).then_some((switch << 16 | own << 8 | 2, 24)),
        };
        let Some((low, length)) = address else {
            let reason = format!(
                "host {own} of switch {switch} does not fit the strategy `{strategy}`; give it an `ip`"
            );
            return Err(draft.value(&format!("hosts.{}", host.name), reason));
        };
        let address = Ipv4Addr::from(10 << 24 | low);
        let [a, b, c, d] = address.octets();
        let host = &mut draft.hosts[at];
        host.ipv4 = Some((address, length));
        host.mac.get_or_insert([0, 0, a, b, c, d]);
    }
    Ok(())
}

/// The number that a name ends in after a letter, else `order`.
fn number(name: &str, order: u32) -> u32 {
    let mut characters = name.chars();
    let letter = characters.next().is_some_and(char::is_alphabetic);
    characters
        .as_str()
        .parse()
        .ok()
        .filter(|_| letter)
        .unwrap_or(order)
}

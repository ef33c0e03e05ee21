//! `switchwright trace`: one packet through the embedded switches, hop by hop.

use std::path::Path;

use clap::{Args, ValueEnum};
use p4gen::build::BuildDirectory;
use plan::ClassId;
use quantities::PortId;
use serde::Serialize;
use simulator::embedded::{Hop, Network, NetworkError, Probe, Reroute, Walk, WalkEnd};
use topology::{NodeId, Topology};

use super::check;
use super::fault::{Context, Fault, Status};
use super::given::Given;
use super::terminal::Terminal;
use super::words::counted;

/// Arguments of `switchwright trace`.
#[derive(Debug, Args)]
pub(super) struct Trace {
    /// The build directory.
    directory: String,
    /// The sending host.
    #[arg(long, value_name = "HOST")]
    from: String,
    /// The receiving host.
    #[arg(long, value_name = "HOST")]
    to: String,
    /// A link that has failed, as `s1-s2` (`s1:3-s2:1` among parallel ones). Repeatable.
    #[arg(long, value_name = "LINK")]
    fail: Vec<String>,
    /// How routing has reacted to the failures; failover tables react by themselves.
    #[arg(long, value_enum, default_value_t = Routing::Converged)]
    routing: Routing,
    /// The packet's lossless class, counted from 0.
    #[arg(long, default_value_t = 0, conflicts_with = "lossy")]
    class: u8,
    /// Send a lossy packet.
    #[arg(long)]
    lossy: bool,
    /// UDP source port: another flow may take another way.
    #[arg(long, default_value_t = 49152, value_name = "PORT")]
    flow: u16,
    /// Send IPv6.
    #[arg(long)]
    ipv6: bool,
    /// Print one line for each switch, without tables and bytes. So does `--quiet`.
    #[arg(long, alias = "brief")]
    short: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Routing {
    /// All switches: the best routes over what is left.
    Converged,
    /// Only the switches at the failed links; the others forward as before.
    Local,
}

/// What `trace --json` prints.
#[derive(Serialize)]
struct TraceReport<'a> {
    to: &'a str,
    failed: &'a [String],
    delivered: bool,
    #[serde(flatten)]
    walk: &'a Walk,
}

impl Trace {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if self.fail.is_empty() {
            given.refuse_all(&["routing"], "without `--fail`")?;
        }
        if terminal.json {
            given.refuse_all(&["short"], "with `--json`, which has everything")?;
        }
        let mut network = self.network(given, terminal)?;
        let walk = self.walk(&mut network)?;
        let delivered = matches!(&walk.end, WalkEnd::Delivered { host } if *host == self.to);
        let report = TraceReport {
            to: &self.to,
            failed: &self.fail,
            delivered,
            walk: &walk,
        };
        let short = self.short || terminal.quiet;
        terminal.result(&report, || describe(&walk, network.topology(), short))?;
        if delivered {
            Ok(())
        } else {
            Err(Fault::shown(Status::Failed))
        }
    }

    fn network(&self, given: &Given, terminal: &Terminal) -> Result<Network, Fault> {
        let directory = BuildDirectory::open(Path::new(&self.directory))
            .and_then(BuildDirectory::over_p4runtime)
            .input(&self.directory)?;
        let plan = check::prove(check::load_built(&directory)?, terminal)?;
        if !plan.tables().has_tags() {
            let reason = "here: this plan has no lossless classes";
            given.refuse_all(&["class", "lossy"], reason)?;
        }
        let network = Network::open(directory, plan).map_err(refuse)?;
        if self.fail.is_empty() {
            return Ok(network);
        }
        let link = |name: &String| {
            network
                .topology()
                .link_named(name)
                .input(format!("--fail {name}"))
        };
        let failed = self.fail.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        let topology = network.topology();
        for (name, link) in self.fail.iter().zip(&failed) {
            for (flag, host) in [("--from", &self.from), ("--to", &self.to)] {
                let host = topology.host_named(host).input(flag)?;
                let only = topology.uplinks(host).len() == 1;
                let ends = [topology.link(*link).a.node, topology.link(*link).b.node];
                if only && ends.contains(&NodeId::Host(host)) {
                    return Err(Fault::input(format!(
                        "--fail {name}: that is the one link of host `{}`, so no packet of {flag} can be followed",
                        topology.host(host).name
                    )));
                }
            }
        }
        let reroute = match self.routing {
            Routing::Converged => Reroute::Converged,
            Routing::Local => Reroute::Local,
        };
        network.after_failures(&failed, reroute).map_err(refuse)
    }

    fn walk(&self, network: &mut Network) -> Result<Walk, Fault> {
        let probe = Probe {
            from: network.topology().host_named(&self.from).input("--from")?,
            to: network.topology().host_named(&self.to).input("--to")?,
            class: (!self.lossy).then_some(ClassId::new(self.class)),
            flow: self.flow,
            ipv6: self.ipv6,
        };
        let (packet, switch, port) = network.packet(&probe).map_err(refuse)?;
        network
            .walk(&self.from, packet, switch, port)
            .map_err(refuse)
    }
}

/// What stops a network is wrong input: files, names, a program that does not compile.
pub(super) fn refuse(error: NetworkError) -> Fault {
    Fault::input(error)
}

/// A walk for people: a line for each switch, and below it what the switch did unless `short`.
pub(super) fn describe(walk: &Walk, topology: &Topology, short: bool) -> String {
    let places = Places::of(walk, topology);
    let mut text = format!("{}\n", walk.from);
    for (number, hop) in walk.hops.iter().enumerate() {
        text.push_str(&hop_line(number + 1, hop, &places));
        if !short {
            text.push_str(&hop_details(hop));
        }
    }
    let switches = counted(walk.hops.len(), "switch");
    text + &match &walk.end {
        WalkEnd::Delivered { host } => format!("{host}: delivered after {switches}\n"),
        WalkEnd::Dropped { switch, reason } => {
            let circle = circle(&walk.hops).map_or_else(String::new, |way| {
                format!("; it went round: {way}. No switch on this way has a route around the failed links")
            });
            format!("dropped at {switch} after {switches}: {reason}{circle}\n")
        }
        WalkEnd::Lost { switch, port } => {
            let port = places.label(switch, *port);
            format!("lost: port {port} of {switch} leads nowhere\n")
        }
        WalkEnd::Circling => format!("circling: gave up after {switches}\n"),
    }
}

/// The names of switches and ports of a walk, and the widths of their columns.
struct Places<'a> {
    topology: &'a Topology,
    switch: usize,
    in_port: usize,
    out_port: usize,
}

impl<'a> Places<'a> {
    fn of(walk: &Walk, topology: &'a Topology) -> Self {
        let mut places = Self {
            topology,
            switch: 0,
            in_port: 3,
            out_port: 3,
        };
        for hop in &walk.hops {
            let [came, went] = places.ports(hop).map(|port| port.chars().count());
            places.switch = places.switch.max(hop.switch.chars().count());
            places.in_port = places.in_port.max(came);
            places.out_port = places.out_port.max(went);
        }
        places
    }

    /// A port by the name of its switch.
    fn label(&self, switch: &str, port: PortId) -> String {
        match self.topology.switch_named(switch) {
            Ok(switch) => self.topology.port_label(switch, port),
            Err(_) => port.to_string(),
        }
    }

    /// The ports by which a packet came and went.
    fn ports(&self, hop: &Hop) -> [String; 2] {
        let out = hop.out_port.map(|port| self.label(&hop.switch, port));
        let out = out.unwrap_or_else(|| "-".to_owned());
        [self.label(&hop.switch, hop.in_port), out]
    }
}

/// The switches between two arrivals of a packet at one port of a switch, if it has come back
/// there.
fn circle(hops: &[Hop]) -> Option<String> {
    let place = |hop: &Hop| (hop.switch.clone(), hop.in_port);
    let last = place(hops.last()?);
    let before = hops[..hops.len() - 1].iter();
    let begin = before.rev().position(|hop| place(hop) == last)?;
    let round = &hops[hops.len() - begin - 2..];
    let names: Vec<&str> = round.iter().map(|hop| hop.switch.as_str()).collect();
    Some(names.join(" > "))
}

fn hop_line(number: usize, hop: &Hop, places: &Places<'_>) -> String {
    let rises = if hop.out_port.is_some() && hop.tag_after != hop.tag_before {
        "  <- changes"
    } else {
        ""
    };
    let [came, went] = places.ports(hop);
    let (switch, width) = (&hop.switch, places.switch);
    let (wide_in, wide_out) = (places.in_port, places.out_port);
    let place = format!("{number:3} {switch:width$}  in {came:>wide_in$} -> out {went:>wide_out$}");
    let tag = format!(
        "tag {:>5} -> {:5}  ING_PRIO {}  EG_PRIO {}",
        hop.tag_before, hop.tag_after, hop.ing_prio, hop.eg_prio
    );
    if hop.header_before.is_none() && hop.header_after.is_none() {
        return format!("{place}   {tag}{rises}\n");
    }
    let header = hop.header_after.as_ref();
    let header = header.map_or_else(|| "no header".to_owned(), ToString::to_string);
    // The header has a number of its own, which is called its tag too.
    let lossless = match (hop.tag_before.as_str(), hop.tag_after.as_str()) {
        ("none", "none") => String::new(),
        _ => format!("lossless {tag}   "),
    };
    format!("{place}   {lossless}{header}\n")
}

fn hop_details(hop: &Hop) -> String {
    let width = hop.tables.iter().map(|t| t.table.len()).max().unwrap_or(0);
    let mut text = String::new();
    for step in &hop.tables {
        let key = step.text.key.join(", ");
        let entry = match (&step.text.entry, step.priority) {
            (None, _) => "miss".to_owned(),
            (Some(entry), None) => format!("hit [{entry}]"),
            (Some(entry), Some(priority)) => format!("hit [{entry}] priority {priority}"),
        };
        let action = step.text.action.as_deref().unwrap_or("-");
        text.push_str(&format!(
            "        {:width$}  {key}\n        {:width$}  {entry} => {action}\n",
            step.table, ""
        ));
    }
    text.push_str(&format!(
        "        {:width$}  {}\n",
        "bytes in", hop.bytes_before
    ));
    if let Some(bytes) = &hop.bytes_after {
        text.push_str(&format!("        {:width$}  {bytes}\n", "bytes out"));
    }
    text
}

/// A walk as one line of switches and tags, for the tour.
pub(super) fn one_line(walk: &Walk) -> String {
    let hops = walk
        .hops
        .iter()
        .map(|h| format!("{} ({} -> {})", h.switch, h.tag_before, h.tag_after));
    let end = match &walk.end {
        WalkEnd::Delivered { host } => host.clone(),
        WalkEnd::Dropped { reason, .. } => format!("dropped: {reason}"),
        WalkEnd::Lost { .. } => "lost".to_owned(),
        WalkEnd::Circling => "circling".to_owned(),
    };
    format!(
        "{} - {} - {end}",
        walk.from,
        hops.collect::<Vec<_>>().join(" - ")
    )
}

/// Prints walks for the tour without their details.
pub(super) fn brief(terminal: &Terminal, walk: &Walk, topology: &Topology) {
    terminal.say(describe(walk, topology, true).trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_ends_with_its_fate() {
        let walk = Walk {
            from: "h1".to_owned(),
            hops: vec![],
            end: WalkEnd::Circling,
        };
        let topology = topology::generate::Ring {
            switches: 3,
            hosts: 1,
            cables: topology::generate::Cables::default(),
        };
        let topology = topology.generate().unwrap();
        assert_eq!(
            describe(&walk, &topology, true),
            "h1\ncircling: gave up after 0 switches\n"
        );
        assert!(one_line(&walk).ends_with("circling"));
    }
}

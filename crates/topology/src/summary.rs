//! What there is to say about a topology at a glance.

use std::collections::BTreeMap;
use std::fmt;

use quantities::BitRate;
use rayon::prelude::*;
use serde::Serialize;

use super::assumptions::Assumptions;
use super::distances::Distances;
use super::fabric::{Fabric, UNREACHABLE};
use super::ids::{NodeId, SwitchId};
use super::model::Topology;

/// Beyond this many switches the diameter is taken from a sample of switches.
const EXACT_SWITCHES: usize = 4096;

/// Counts and measures of a topology, over what is up unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The topology's name.
    pub name: String,
    /// All switches.
    pub switches: usize,
    /// All hosts.
    pub hosts: usize,
    /// All links.
    pub links: usize,
    /// Links between switches.
    pub fabric_links: usize,
    /// Links that are not in use: down, or at a switch that is.
    pub links_down: usize,
    /// Switches that are down.
    pub switches_down: usize,
    /// Pairs of switches joined by more than one link.
    pub parallel_pairs: usize,
    /// Switches by number of links to other switches.
    pub fabric_degrees: BTreeMap<usize, usize>,
    /// The most ports that a switch has.
    pub ports_max: u16,
    /// Hosts on an edge switch, fewest and most.
    pub hosts_per_edge: Option<(usize, usize)>,
    /// The longest of the shortest paths between two switches that are up, in links; `None` if some
    /// cannot reach each other.
    pub diameter: Option<u16>,
    /// The mean length of the shortest paths between different edge switches, in links.
    pub mean_distance: Option<f64>,
    /// Whether diameter and mean distance are over a sample of switches only.
    pub sampled: bool,
    /// The layers, from the hosts up, where the topology is layered.
    pub layers: Vec<LayerSummary>,
    /// All links by rate in bits per second.
    pub rates: BTreeMap<BitRate, usize>,
    /// An upper bound of the bisection bandwidth: what crosses between the first half of the edge
    /// switches and the second, or what the hosts of either half can send if that is less.
    pub bisection_bound_gbps: f64,
    /// What of this nobody gave.
    #[serde(skip_serializing_if = "Assumptions::is_empty")]
    pub assumed: Assumptions,
}

/// One layer of a layered topology.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSummary {
    /// Its number, 0 next to the hosts.
    pub layer: u8,
    /// How many switches it has.
    pub switches: usize,
    /// The bandwidth of its links toward the hosts.
    pub down_gbps: f64,
    /// The bandwidth of its links away from them.
    pub up_gbps: f64,
    /// Down over up: above 1 the layer is oversubscribed. `None` at the top.
    pub oversubscription: Option<f64>,
}

impl Topology {
    /// Summarises the topology.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let fabric = Fabric::new(self);
        let mut degrees = BTreeMap::new();
        let mut parallel_pairs = 0;
        for switch in self.switch_ids() {
            let mut runs: BTreeMap<SwitchId, usize> = BTreeMap::new();
            for (_, arc) in fabric.out_arcs(switch) {
                *runs.entry(arc.to).or_default() += 1;
            }
            *degrees.entry(runs.values().sum()).or_insert(0) += 1;
            parallel_pairs += runs
                .iter()
                .filter(|&(&to, &count)| count > 1 && to > switch)
                .count();
        }
        let mut rates = BTreeMap::new();
        for link in self.links() {
            *rates.entry(link.rate).or_insert(0) += 1;
        }
        let per_edge = fabric.edge_switches().map(|s| fabric.attachments(s).len());
        let per_edge: Vec<usize> = per_edge.collect();
        let between_switches = |l: &&super::Link| {
            matches!((l.a.node, l.b.node), (NodeId::Switch(_), NodeId::Switch(_)))
        };
        let reach = Reach::new(self, &fabric);
        Summary {
            name: self.name().to_owned(),
            switches: self.switches().len(),
            hosts: self.hosts().len(),
            links: self.links().len(),
            fabric_links: self.links().iter().filter(between_switches).count(),
            links_down: self.link_ids().filter(|&l| !self.is_live(l)).count(),
            switches_down: self.switches().iter().filter(|s| !s.up).count(),
            parallel_pairs,
            fabric_degrees: degrees,
            ports_max: self.switches().iter().map(|s| s.ports).max().unwrap_or(0),
            hosts_per_edge: per_edge
                .iter()
                .min()
                .copied()
                .zip(per_edge.iter().max().copied()),
            diameter: reach.diameter,
            mean_distance: reach.mean,
            sampled: reach.sampled,
            layers: if self.is_layered() {
                layers(self)
            } else {
                Vec::new()
            },
            rates,
            bisection_bound_gbps: bisection(self, &fabric),
            assumed: self.assumptions(),
        }
    }
}

/// Distances over all switches, or a sample.
struct Reach {
    diameter: Option<u16>,
    mean: Option<f64>,
    sampled: bool,
}

impl Reach {
    fn new(topology: &Topology, fabric: &Fabric) -> Self {
        let up: Vec<bool> = topology.switches().iter().map(|s| s.up).collect();
        let all: Vec<SwitchId> = fabric.switch_ids().filter(|s| up[s.index()]).collect();
        let sampled = all.len() > EXACT_SWITCHES;
        let step = all.len().div_ceil(EXACT_SWITCHES).max(1);
        let targets: Vec<_> = all.iter().copied().step_by(step).collect();
        let distances = Distances::new(fabric, &targets);
        let attached = |s| !fabric.attachments(s).is_empty();
        let edge: Vec<bool> = fabric.switch_ids().map(attached).collect();
        // Of each target: the longest distance, the sum to other edge switches, and their number.
        let one = |row: usize| {
            let from = targets[row].index();
            let (mut longest, mut sum, mut pairs) = (0, 0u64, 0u64);
            for (to, &hops) in distances
                .row(row)
                .iter()
                .enumerate()
                .filter(|&(to, _)| up[to])
            {
                longest = hops.max(longest);
                if edge[from] && edge[to] && to != from {
                    sum += u64::from(hops);
                    pairs += 1;
                }
            }
            (longest, sum, pairs)
        };
        let rows: Vec<(u16, u64, u64)> = (0..targets.len()).into_par_iter().map(one).collect();
        let longest = rows.iter().map(|&(longest, ..)| longest).max().unwrap_or(0);
        let (sum, pairs) = rows
            .iter()
            .fold((0, 0), |(s, p), &(_, sum, pairs)| (s + sum, p + pairs));
        let connected = longest != UNREACHABLE;
        #[expect(clippy::cast_precision_loss, reason = "a mean for people to read")]
        let mean = (connected && pairs > 0).then(|| sum as f64 / pairs as f64);
        Self {
            diameter: connected.then_some(longest),
            mean,
            sampled,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a sum for people to read")]
fn gbps(bits: u128) -> f64 {
    bits as f64 / 1e9
}

fn layers(topology: &Topology) -> Vec<LayerSummary> {
    let mut sums: BTreeMap<u8, (usize, u128, u128)> = BTreeMap::new();
    for switch in topology.switch_ids() {
        let layer = topology.switch(switch).layer.unwrap_or(0);
        let (count, down, up) = sums.entry(layer).or_default();
        *count += 1;
        for (_, peer) in topology
            .peers(switch)
            .filter(|(_, peer)| topology.is_live(peer.link))
        {
            let rate = u128::from(topology.link(peer.link).rate.get());
            match peer.end.node {
                NodeId::Switch(other) if topology.switch(other).layer > Some(layer) => *up += rate,
                _ => *down += rate,
            }
        }
    }
    let summary = |(layer, (switches, down, up))| {
        let (down_gbps, up_gbps) = (gbps(down), gbps(up));
        LayerSummary {
            layer,
            switches,
            down_gbps,
            up_gbps,
            oversubscription: (up > 0).then(|| down_gbps / up_gbps),
        }
    };
    sums.into_iter().map(summary).collect()
}

/// An upper bound of the bisection bandwidth: the edge switches are halved in id order (neighbours
/// in a pod stay together), and every other switch joins the side to which it has more bandwidth.
fn bisection(topology: &Topology, fabric: &Fabric) -> f64 {
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    let mut side: Vec<Option<bool>> = vec![None; fabric.switch_count()];
    for (at, switch) in edge.iter().enumerate() {
        side[switch.index()] = Some(2 * at >= edge.len());
    }
    let rate = |arc: &super::Arc| u128::from(topology.link(arc.link).rate.get());
    // Layer by layer away from the hosts; a tie cuts half of the links whichever side it joins.
    let mut frontier = edge.clone();
    while !frontier.is_empty() {
        let mut next: Vec<SwitchId> = Vec::new();
        for &at in &frontier {
            next.extend(
                fabric
                    .out_arcs(at)
                    .map(|(_, arc)| arc.to)
                    .filter(|to| side[to.index()].is_none()),
            );
        }
        next.sort_unstable();
        next.dedup();
        let choose = |&switch: &SwitchId| {
            let pull = |wanted: bool| -> u128 {
                let arcs = fabric.out_arcs(switch).map(|(_, arc)| arc);
                arcs.filter(|arc| side[arc.to.index()] == Some(wanted))
                    .map(rate)
                    .sum()
            };
            pull(true) > pull(false)
        };
        let chosen: Vec<bool> = next.iter().map(choose).collect();
        for (switch, chosen) in next.iter().zip(chosen) {
            side[switch.index()] = Some(chosen);
        }
        frontier = next;
    }
    let crossing = |arc: &&super::Arc| {
        side[arc.from.index()] == Some(false) && side[arc.to.index()] == Some(true)
    };
    let cut: u128 = fabric.arcs().iter().filter(crossing).map(rate).sum();
    let half = |wanted: bool| -> u128 {
        let links = topology
            .switch_ids()
            .filter(|s| side[s.index()] == Some(wanted));
        let attached = links.flat_map(|s| topology.peers(s)).filter(|(_, peer)| {
            matches!(peer.end.node, NodeId::Host(_)) && topology.is_live(peer.link)
        });
        attached
            .map(|(_, peer)| u128::from(topology.link(peer.link).rate.get()))
            .sum()
    };
    gbps(cut.min(half(true)).min(half(false)))
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        let down = |count: usize| {
            if count > 0 {
                format!(" ({count} down)")
            } else {
                String::new()
            }
        };
        writeln!(
            f,
            "  switches   {}{}, up to {} ports",
            self.switches,
            down(self.switches_down),
            self.ports_max
        )?;
        match self.hosts_per_edge {
            Some((least, most)) if least == most => {
                writeln!(f, "  hosts      {}, {most} per edge switch", self.hosts)?;
            }
            Some((least, most)) => {
                writeln!(
                    f,
                    "  hosts      {}, {least} to {most} per edge switch",
                    self.hosts
                )?;
            }
            None => writeln!(f, "  hosts      {}", self.hosts)?,
        }
        let links = format!("{}{}", self.links, down(self.links_down));
        write!(
            f,
            "  links      {links}, {} between switches",
            self.fabric_links
        )?;
        match self.parallel_pairs {
            0 => writeln!(f)?,
            pairs => writeln!(f, ", {pairs} pairs of switches with parallel links")?,
        }
        let rates = self
            .rates
            .iter()
            .map(|(rate, count)| format!("{count} x {} Gb/s", gbps(u128::from(rate.get()))));
        writeln!(f, "  rates      {}", rates.collect::<Vec<_>>().join(", "))?;
        let degrees = self.fabric_degrees.iter();
        let degrees: Vec<_> = degrees
            .rev()
            .take(8)
            .map(|(degree, count)| format!("{count} x {degree}"))
            .collect();
        writeln!(f, "  degrees    {}", degrees.join(", "))?;
        let sample = if self.sampled { " (sampled)" } else { "" };
        match (self.diameter, self.mean_distance) {
            (Some(diameter), Some(mean)) => {
                writeln!(
                    f,
                    "  diameter   {diameter}, mean {mean:.2} between edge switches{sample}"
                )?;
            }
            (Some(diameter), None) => writeln!(f, "  diameter   {diameter}{sample}")?,
            (None, _) => writeln!(
                f,
                "  diameter   none: some switches cannot reach each other{sample}"
            )?,
        }
        for layer in self.layers.iter().rev() {
            write!(f, "  layer {}    {} switches", layer.layer, layer.switches)?;
            match layer.oversubscription {
                Some(ratio) => {
                    let (down, up) = (layer.down_gbps, layer.up_gbps);
                    writeln!(
                        f,
                        ", {down} Gb/s down, {up} Gb/s up, oversubscribed {ratio:.2} : 1"
                    )?;
                }
                None => writeln!(f, ", {} Gb/s down", layer.down_gbps)?,
            }
        }
        write!(f, "  bisection  at most {} Gb/s", self.bisection_bound_gbps)?;
        for assumption in self.assumed.iter() {
            write!(f, "\n  assumed    {assumption}")?;
        }
        Ok(())
    }
}

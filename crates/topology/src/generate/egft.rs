//! Extended generalized fat-trees (Stephens15 section 4.7; Ohring95).

use super::{Cables, Check, GenerateError, MAX_PORTS, Network};
use crate::{Switch, SwitchId, Topology};

/// The most layers of switches.
const MAX_LAYERS: u64 = 6;

/// How large an EGFT is.
#[derive(Clone, Debug, PartialEq)]
pub enum EgftSize {
    /// By its parameters, lowest layer first; the host layer is not counted.
    Shape(EgftShape),
    /// The fewest switches that serve so many hosts (Stephens15 section 4.7).
    Hosts {
        /// Number of hosts.
        hosts: u32,
        /// Ports per switch.
        ports: u16,
        /// Host bandwidth over uplink bandwidth of a top-of-rack switch, at least 1. The layers
        /// above are not oversubscribed any further.
        oversubscription: f64,
    },
}

/// XGFT(h; m; w) with p parallel links: a switch of layer i (from 1) has `down[i]` children, a node
/// of layer i - 1 has `up[i]` parents, and each such pair is joined by `parallel[i]` links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgftShape {
    /// Children of a switch, per layer (the m of the literature).
    pub down: Vec<u32>,
    /// Parents of a node of the layer below, per layer (w); the first is 1: a host has one switch.
    pub up: Vec<u32>,
    /// Links between a parent and a child, per layer (p); the first is 1.
    pub parallel: Vec<u32>,
}

/// An extended generalized fat-tree. Top-of-rack switches are `tor1`, ...; then `spine1`, ... above
/// two layers, `agg1`, ... and `core1`, ... above three (`layer4-1`, ... beyond). Ports are those
/// to the hosts' side, then those away from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Egft {
    /// How large it is.
    pub size: EgftSize,
    /// Rates and lengths.
    pub cables: Cables,
}

impl EgftShape {
    fn layers(&self) -> usize {
        self.down.len()
    }

    /// How many switches layer `i` (from 0) has, if that can be counted.
    fn width(&self, i: usize) -> Option<u64> {
        let above = self.down[i + 1..].iter();
        let below = self.up[..=i].iter();
        above
            .chain(below)
            .try_fold(1u64, |product, &x| product.checked_mul(u64::from(x)))
    }

    /// How many ports a switch of layer `i` uses.
    fn ports(&self, i: usize) -> u64 {
        let links = |layer: usize, nodes: &[u32]| match (nodes.get(layer), self.parallel.get(layer))
        {
            (Some(&nodes), Some(&parallel)) => u64::from(nodes) * u64::from(parallel),
            _ => 0,
        };
        links(i, &self.down) + links(i + 1, &self.up)
    }

    /// The shape of fewest switches, of those the one that serves the fewest hosts.
    fn smallest(hosts: u32, ports: u16, oversubscription: f64) -> Option<Self> {
        let ports = u32::from(ports);
        let mut best: Option<(u64, u64, Self)> = None;
        let mut offer = |down: Vec<u32>, up: Vec<u32>, parallel: Vec<u32>| {
            let shape = Self { down, up, parallel };
            let switches =
                (0..shape.layers()).try_fold(0u64, |sum, i| sum.checked_add(shape.width(i)?));
            let served = shape.down.iter().map(|&m| u64::from(m)).product();
            if let Some(switches) = switches
                && best
                    .as_ref()
                    .is_none_or(|(s, h, _)| (switches, served) < (*s, *h))
            {
                best = Some((switches, served, shape));
            }
        };
        if hosts <= ports {
            offer(vec![hosts], vec![1], vec![1]);
        }
        for per_tor in 1..ports.min(hosts) {
            let tors = hosts.div_ceil(per_tor);
            for above in 1..=ports - per_tor {
                // The fewest parallel links that carry the hosts' traffic at that oversubscription.
                let needed = f64::from(per_tor) / (f64::from(above) * oversubscription);
                let Some(first) = (1..=ports).find(|&p| f64::from(p) >= needed) else {
                    continue;
                };
                if per_tor + above * first > ports {
                    continue;
                }
                if tors * first <= ports {
                    offer(vec![per_tor, tors], vec![1, above], vec![1, first]);
                }
                for pod in 2..=(ports / 2 / first).min(tors) {
                    let pods = tors.div_ceil(pod);
                    for second in 1..=ports / pods {
                        let top = (pod * first).div_ceil(second);
                        if pod * first + top * second <= ports {
                            let down = vec![per_tor, pod, pods];
                            offer(down, vec![1, above, top], vec![1, first, second]);
                        }
                    }
                }
            }
        }
        best.map(|(_, _, shape)| shape)
    }
}

impl Egft {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if the shape is none, or no shape of up to three layers meets the size.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("egft");
        let (shape, hosts) = self.shape(&check)?;
        let name = format!("egft-{hosts}");
        let mut net = Network::new("egft", name, self.cables);
        let mut layers: Vec<Vec<SwitchId>> = Vec::new();
        for layer in 0..shape.layers() {
            layers.push(switches(&mut net, &shape, layer, &check)?);
        }
        // Hosts are dealt so that counts differ by at most one.
        let tors = u64::try_from(layers[0].len()).unwrap_or(u64::MAX);
        for (number, &tor) in (0u64..).zip(&layers[0]) {
            let share = hosts / tors + u64::from(number < hosts % tors);
            net.hosts(tor, u16::try_from(share).unwrap_or(u16::MAX));
        }
        for layer in 1..shape.layers() {
            join(&mut net, &shape, layer, &layers[layer - 1], &layers[layer]);
        }
        net.finish()
    }

    /// The shape and the number of hosts, checked.
    fn shape(&self, check: &Check) -> Result<(EgftShape, u64), GenerateError> {
        let (shape, hosts) = match &self.size {
            EgftSize::Shape(shape) => {
                let mut capacity = shape.down.iter();
                let hosts = capacity.try_fold(1u64, |n, &m| n.checked_mul(u64::from(m)));
                (shape.clone(), hosts.unwrap_or(u64::MAX))
            }
            EgftSize::Hosts {
                hosts,
                ports,
                oversubscription,
            } => {
                check.range("the number of hosts", *hosts, 1, super::MAX_NODES)?;
                check.range("the number of ports", *ports, 1, 1024)?;
                if !(oversubscription.is_finite() && *oversubscription >= 1.0) {
                    return Err(check.impossible(format!(
                        "the oversubscription is {oversubscription}, but must be a number of at least 1"
                    )));
                }
                let shape = EgftShape::smallest(*hosts, *ports, *oversubscription);
                let shape = shape.ok_or_else(|| {
                    check.impossible(format!(
                        "three layers of {ports}-port switches cannot serve {hosts} hosts at an \
                         oversubscription of {oversubscription}; use more ports or fewer hosts"
                    ))
                })?;
                (shape, u64::from(*hosts))
            }
        };
        let layers = shape.layers();
        let given = u64::try_from(layers).unwrap_or(u64::MAX);
        check.range("the number of layers", given, 1, MAX_LAYERS)?;
        if shape.up.len() != layers || shape.parallel.len() != layers {
            return Err(check.impossible(
                "the lists of children, parents and parallel links differ in length; give one number \
                 per layer in each",
            ));
        }
        for i in 0..layers {
            check.range(
                "a number of children",
                shape.down[i],
                1,
                u64::from(MAX_PORTS),
            )?;
            check.range("a number of parents", shape.up[i], 1, u64::from(MAX_PORTS))?;
            check.range(
                "a number of parallel links",
                shape.parallel[i],
                1,
                u64::from(MAX_PORTS),
            )?;
            check.nodes("switches", shape.width(i))?;
        }
        if (shape.up[0], shape.parallel[0]) != (1, 1) {
            return Err(
                check.impossible("a host has one link to one switch; start both lists with 1")
            );
        }
        check.nodes("hosts", Some(hosts))?;
        Ok((shape, hosts))
    }
}

/// Adds the switches of one layer. Those below the top are grouped by the topmost digit of their
/// labels: the subtrees that meet at the top.
fn switches(
    net: &mut Network,
    shape: &EgftShape,
    layer: usize,
    check: &Check,
) -> Result<Vec<SwitchId>, GenerateError> {
    let ports = check.ports("a switch", shape.ports(layer))?;
    let width = shape.width(layer).unwrap_or(0);
    let top = shape.layers() - 1;
    let subtrees = u64::from(shape.down[top]);
    let grouped = layer < top && top > 1;
    let switch = |number: u64| {
        let name = match layer {
            0 => format!("tor{}", number + 1),
            1 if top == 1 => format!("spine{}", number + 1),
            1 => format!("agg{}", number + 1),
            2 => format!("core{}", number + 1),
            layer => format!("layer{}-{}", layer + 1, number + 1),
        };
        let group = grouped.then(|| u32::try_from(number / (width / subtrees)).unwrap_or(u32::MAX));
        net.builder.switch(Switch {
            layer: u8::try_from(layer).ok(),
            group,
            ..Switch::new(name, ports)
        })
    };
    Ok((0..width).map(switch).collect())
}

/// Joins a layer to the one below. The label of a switch is a number in mixed radix, highest digit
/// first: digit i counts parents (up to `up[i]`) where i is not above the switch's own layer,
/// children (up to `down[i]`) where it is. Two switches of neighbouring layers are joined if they
/// differ at most in the digit of the upper layer.
fn join(
    net: &mut Network,
    shape: &EgftShape,
    layer: usize,
    lower: &[SwitchId],
    upper: &[SwitchId],
) {
    let (children, parents) = (count(shape.down[layer]), count(shape.up[layer]));
    let parallel = shape.parallel[layer];
    // Digits below `layer` are shared by both labels and take `low` values.
    let low: usize = shape.up[..layer].iter().map(|&w| count(w)).product();
    let base = shape.down[layer - 1] * shape.parallel[layer - 1];
    for (number, &below) in lower.iter().enumerate() {
        let (high, rest) = (number / (children * low), number % (children * low));
        let (child, tail) = (rest / low, rest % low);
        for parent in 0..parents {
            let above = upper[(high * parents + parent) * low + tail];
            for link in 1..=parallel {
                let lower_port = base + narrow(parent) * parallel + link;
                let upper_port = narrow(child) * parallel + link;
                net.join((below, port(lower_port)), (above, port(upper_port)));
            }
        }
    }
}

fn count(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A port number; the number of ports was checked when the switch was made.
fn port(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

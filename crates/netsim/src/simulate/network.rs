//! The network that a scenario is for: a topology, what its plan is to be, and the target. The simulator
//! makes it in memory; whatever builds a directory from a scenario begins with the same [`NetworkSpec`].

use std::collections::BTreeMap;

use p4gen::targets::{Target, V1MODEL};
use plan::{CarrierKind, RuleForm, Tables};
use quantities::{BitRate, Metres};
use schemes::{Algorithm, TaggerOptions};
use serde::Deserialize;
use topology::Topology;
use topology::generate::{
    Bcube, Cables, Clos, FatTree, Jellyfish, JellyfishSize, Line, Ring, ThreeLayerClos, ThreeNode,
};
use topology::routes::RoutePolicy;

use super::quantity::Speed;
use super::scenario::ScenarioError;

/// The network that a scenario is for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Switches, hosts and links.
    pub topology: TopologySpec,
    /// Rates and lengths of the links.
    #[serde(default)]
    pub cables: CablesSpec,
    /// What is planned for it.
    #[serde(default)]
    pub plan: PlanSpec,
    /// What the switches are.
    #[serde(default)]
    pub target: TargetSpec,
}

/// A generator with its arguments, as `switchwright topo` takes them, or switches and links by name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// The papers' triangle.
    ThreeNode,
    /// Switches in a row.
    Line(RowSpec),
    /// Switches in a circle.
    Ring(RowSpec),
    /// Leaf-spine, or with `pods` three layers.
    Clos(ClosSpec),
    /// The k-ary fat-tree.
    FatTree {
        /// Ports of every switch.
        k: u16,
    },
    /// BCube(n, k).
    Bcube {
        /// Ports of every switch.
        n: u16,
        /// The k of BCube(n, k).
        k: u16,
    },
    /// A random regular graph.
    Jellyfish {
        /// Number of switches.
        switches: u32,
        /// Ports of every switch.
        ports: u16,
        /// Ports that lead to other switches.
        fabric_ports: u16,
        /// Seed of the graph; 1 if absent.
        seed: Option<u64>,
    },
    /// Everything by name.
    Drawn(DrawnSpec),
}

/// Switches in a row or circle.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// Number of switches.
    pub switches: u32,
    /// Hosts per switch.
    #[serde(default = "one_host")]
    pub hosts: u16,
}

/// A Clos.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosSpec {
    /// Leaves; per pod, with `pods`.
    pub leaves: u32,
    /// Spines in all.
    pub spines: u32,
    /// Hosts per leaf.
    #[serde(default = "one_host")]
    pub hosts: u16,
    /// Three layers: this many pods.
    pub pods: Option<u32>,
    /// Three layers: aggregation switches per pod.
    pub aggregations: Option<u32>,
}

/// Switches, hosts and links by name. A switch's hosts have its first ports; then come its links in the
/// order of the list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnSpec {
    /// The hosts of every switch.
    pub switches: BTreeMap<String, Vec<String>>,
    /// Links as pairs of switches; a pair that is named twice has two.
    pub links: Vec<[String; 2]>,
}

fn one_host() -> u16 {
    1
}

/// Rates and lengths, where they are not the generators' own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CablesSpec {
    /// Rate of links between switches.
    pub fabric_rate: Option<Speed>,
    /// Rate of links to hosts.
    pub host_rate: Option<Speed>,
    /// Length of links between switches, in metres.
    pub fabric_length: Option<u32>,
    /// Length of links to hosts, in metres.
    pub host_length: Option<u32>,
}

/// What is planned, with the options of `switchwright plan`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSpec {
    /// The scheme: Tagger if absent.
    pub scheme: SchemeSpec,
    /// How tags are computed.
    pub algorithm: Option<AlgorithmSpec>,
    /// The routes that are to be lossless, as in a plan file: `{policy: up-down, bounces: 1}`.
    pub routes: Option<RoutePolicy>,
    /// Instead of `routes`: the switches that a route passes, each with the port by which it is left where
    /// that matters (`s1:3`). A path is meant for all hosts of its first and last switch.
    pub paths: Vec<Vec<String>>,
    /// How many bounces stay lossless; 1 if absent.
    pub bounces: Option<u8>,
    /// Number of lossless classes; 1 if absent.
    pub classes: Option<u8>,
    /// With `ttl`: hops that stay lossless.
    pub hops: Option<u8>,
    /// Carry the class beside the tag.
    pub class_bits: bool,
    /// Where tags travel.
    pub carrier: CarrierKind,
    /// How rules match ports.
    pub rules: RuleForm,
}

/// Schemes that the simulated switches' tables can be made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemeSpec {
    /// Tagger (Tagger17).
    #[default]
    Tagger,
    /// TTL tagging (TaggerDraft section 4.2).
    Ttl,
}

/// Algorithms of Tagger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmSpec {
    /// A tag per hop of each route.
    BruteForce,
    /// Brute-force tags, merged greedily.
    Greedy,
    /// The sound rule for any routes.
    SingleValued,
    /// One more tag per bounce.
    Clos,
}

/// What the switches are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetSpec {
    /// BMv2's `simple_switch` and the embedded switch.
    #[default]
    V1model,
}

impl TargetSpec {
    /// The target that it names.
    #[must_use]
    pub fn target(self) -> &'static dyn Target {
        match self {
            Self::V1model => &V1MODEL,
        }
    }
}

impl NetworkSpec {
    /// Switches, hosts and links.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if a generator refuses its arguments, or names do not fit together.
    pub fn topology(&self) -> Result<Topology, ScenarioError> {
        let cables = self.cables.cables();
        let made = match &self.topology {
            TopologySpec::ThreeNode => ThreeNode { cables }.generate(),
            TopologySpec::Line(row) => Line {
                switches: row.switches,
                hosts: row.hosts,
                cables,
            }
            .generate(),
            TopologySpec::Ring(row) => Ring {
                switches: row.switches,
                hosts: row.hosts,
                cables,
            }
            .generate(),
            TopologySpec::Clos(clos) => return clos.generate(cables),
            &TopologySpec::FatTree { k } => FatTree { k, cables }.generate(),
            &TopologySpec::Bcube { n, k } => Bcube { n, k, cables }.generate(),
            &TopologySpec::Jellyfish {
                switches,
                ports,
                fabric_ports,
                seed,
            } => Jellyfish {
                size: JellyfishSize::Switches {
                    switches,
                    fabric_ports,
                },
                ports,
                seed: seed.unwrap_or(1),
                cables,
            }
            .generate(),
            TopologySpec::Drawn(drawn) => return drawn.build(cables),
        };
        made.map_err(wrong)
    }

    /// The tables that the plan asks for, yet to be proven.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if the topology is wrong or the scheme refuses it.
    pub fn tables(&self) -> Result<Tables, ScenarioError> {
        let topology = self.topology()?;
        let options = self.plan.options(&topology)?;
        match self.plan.scheme {
            SchemeSpec::Tagger => schemes::tagger(&topology, &options),
            SchemeSpec::Ttl => schemes::ttl(&topology, self.plan.hops, &options),
        }
        .map_err(|e| ScenarioError::wrong("network.plan", e))
    }
}

fn wrong(error: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::wrong("network.topology", error)
}

impl CablesSpec {
    fn cables(&self) -> Cables {
        let usual = Cables::default();
        let rate = |rate: Option<Speed>, usual: BitRate| rate.map_or(usual, |speed| speed.0);
        let length = |length: Option<u32>, usual: Metres| length.map_or(usual, Metres::new);
        Cables {
            host_rate: rate(self.host_rate, usual.host_rate),
            fabric_rate: rate(self.fabric_rate, usual.fabric_rate),
            host_length: length(self.host_length, usual.host_length),
            fabric_length: length(self.fabric_length, usual.fabric_length),
        }
    }
}

impl ClosSpec {
    fn generate(&self, cables: Cables) -> Result<Topology, ScenarioError> {
        match (self.pods, self.aggregations) {
            (None, None) => Clos {
                leaves: self.leaves,
                spines: self.spines,
                hosts: self.hosts,
                parallel: 1,
                cables,
            }
            .generate(),
            (Some(pods), Some(aggregations)) => ThreeLayerClos {
                pods,
                leaves: self.leaves,
                aggregations,
                spines: self.spines,
                hosts: self.hosts,
                planes: false,
                cables,
            }
            .generate(),
            _ => {
                return Err(wrong(
                    "a clos of three layers has both `pods` and `aggregations`",
                ));
            }
        }
        .map_err(wrong)
    }
}

impl DrawnSpec {
    /// By way of a topology file, which checks names and derives addresses.
    fn build(&self, cables: Cables) -> Result<Topology, ScenarioError> {
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        let mut links = Vec::new();
        let gigabits = |rate: BitRate| rate.get() as f64 / 1e9;
        for (switch, hosts) in &self.switches {
            for (number, host) in hosts.iter().enumerate() {
                links.push(serde_json::json!({
                    "a": format!("{switch}:{}", number + 1), "b": format!("{host}:0"),
                    "rate_gbps": gigabits(cables.host_rate), "length_m": cables.host_length.get(),
                }));
            }
            used.insert(switch, u32::try_from(hosts.len()).unwrap_or(u32::MAX));
        }
        for [a, b] in &self.links {
            let mut port = |name: &'_ String| {
                let known = self.switches.get_key_value(name);
                let (name, _) =
                    known.ok_or_else(|| wrong(format!("there is no switch `{name}`")))?;
                let last = used.entry(name).or_default();
                *last = last.saturating_add(1);
                Ok(format!("{name}:{last}"))
            };
            let (a, b) = (port(a)?, port(b)?);
            links.push(serde_json::json!({
                "a": a, "b": b,
                "rate_gbps": gigabits(cables.fabric_rate), "length_m": cables.fabric_length.get(),
            }));
        }
        let switch =
            |(name, ports): (&&str, &u32)| serde_json::json!({ "name": name, "ports": ports });
        let host = |name: &String| serde_json::json!({ "name": name });
        let file = serde_json::json!({
            "format": topology::FORMAT, "version": topology::VERSION, "name": "drawn",
            "switches": used.iter().map(switch).collect::<Vec<_>>(),
            "hosts": self.switches.values().flatten().map(host).collect::<Vec<_>>(),
            "links": links,
        });
        Topology::from_json(&file.to_string()).map_err(wrong)
    }
}

impl PlanSpec {
    fn options(&self, topology: &Topology) -> Result<TaggerOptions, ScenarioError> {
        let usual = TaggerOptions::default();
        let routes = match (&self.routes, self.paths.is_empty()) {
            (routes, true) => routes.clone(),
            (None, false) => Some(self.listed(topology)?),
            (Some(_), false) => {
                let problem = "has both `routes` and `paths`; say one of them";
                return Err(ScenarioError::wrong("network.plan", problem));
            }
        };
        let options = TaggerOptions {
            algorithm: self.algorithm.map(|algorithm| match algorithm {
                AlgorithmSpec::BruteForce => Algorithm::BruteForce,
                AlgorithmSpec::Greedy => Algorithm::Greedy,
                AlgorithmSpec::SingleValued => Algorithm::SingleValued,
                AlgorithmSpec::Clos => Algorithm::Clos,
            }),
            routes,
            bounces: self.bounces.unwrap_or(usual.bounces),
            class_bits: self.class_bits,
            carrier: self.carrier,
            form: self.rules,
            ..usual
        };
        Ok(match self.classes {
            None | Some(1) => options,
            Some(classes) => options.with_classes(classes),
        })
    }

    /// The paths between all hosts of their ends.
    fn listed(&self, topology: &Topology) -> Result<RoutePolicy, ScenarioError> {
        let mut routes = Vec::new();
        for (number, path) in self.paths.iter().enumerate() {
            let place = format!("network.plan.paths[{number}]");
            let hosts = |step: Option<&String>| {
                let name = step.map_or("", |s| s.split(':').next().unwrap_or(s));
                let switch = topology.switch_named(name);
                let switch = switch.map_err(|e| ScenarioError::wrong(place.clone(), e))?;
                let hosts = topology
                    .peers(switch)
                    .filter_map(|(_, peer)| match peer.end.node {
                        topology::NodeId::Host(host) => Some(topology.host(host).name.clone()),
                        topology::NodeId::Switch(_) => None,
                    });
                Ok(hosts.collect::<Vec<_>>())
            };
            let (from, to) = (hosts(path.first())?, hosts(path.last())?);
            let path = path.join(" ");
            for from in &from {
                routes.extend(to.iter().map(|to| format!("{from} {path} {to}")));
            }
        }
        Ok(RoutePolicy::Explicit { routes })
    }
}

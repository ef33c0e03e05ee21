//! What a scenario has planned for its network: a scheme with the options that `switchwright plan` has for it.

use std::sync::Arc;

use plan::{CarrierKind, RuleForm, Tables};
use quantities::Progress;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Method, TransitionKind, TransitionOptions, df_edst, failover,
    lossless_failover,
};
use schemes::{Algorithm, Search, TaggerOptions};
use serde::Deserialize;
use topology::Topology;
use topology::routes::RoutePolicy;

use super::error::ScenarioError;

fn wrong(error: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::wrong("network.plan", error)
}

/// What is planned, with the options of `switchwright plan`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSpec {
    /// The scheme: Tagger if absent.
    pub scheme: SchemeSpec,
    /// How tags are computed.
    pub algorithm: Option<AlgorithmSpec>,
    /// With `algorithm: optimal`: moves of the search for fewer tags; 100,000,000 if absent.
    pub search_moves: Option<u64>,
    /// The routes that are to be lossless, as in a plan file: `{policy: up-down, bounces: 1}`.
    pub routes: Option<RoutePolicy>,
    /// Instead of `routes`: the switches that a route passes, each with the port by which it is left where
    /// that matters (`s1:3`). A path is meant for all hosts of its first and last switch.
    pub paths: Vec<Vec<String>>,
    /// How many bounces stay lossless; 1 if absent. With `flattened-clos`: how many turns other than up, then down; 0 if absent.
    pub bounces: Option<u8>,
    /// Number of lossless classes; 1 if absent.
    pub classes: Option<u8>,
    /// With `ttl`: hops that stay lossless.
    pub hops: Option<u8>,
    /// With `ksp`: paths of each pair of switches; 8 if absent.
    pub k: Option<u32>,
    /// Carry the class beside the tag.
    pub class_bits: bool,
    /// Where tags travel; in the DSCP if absent. Those of failover schemes are in their own header, the shim.
    pub carrier: Option<CarrierKind>,
    /// How rules match ports.
    pub rules: RuleForm,
    /// Failover schemes: how many failed links to survive; 1 if absent, or as many as the trees of `df-edst` leave.
    pub resilience: Option<u8>,
    /// Failover schemes: how packets are kept lossless; they are not if absent, but for df-fi, whose packets have channels.
    pub lossless: Option<LosslessSpec>,
    /// Failover schemes: routings to every switch; if absent, every host is a destination of its own.
    pub multipath: Option<u16>,
    /// Schemes over disjoint trees: how many; as many as the resilience needs if absent, or with `df-edst` as there are.
    pub trees: Option<u8>,
    /// With `df-fi`: spread packets over at least so many channels. With `df-edst`: so many channels, each with trees of its own.
    /// 1 if absent.
    pub channels: Option<u8>,
    /// With `df-edst`: to which trees packets may change; `t` if absent.
    pub ttg: Option<TransitionSpec>,
    /// Failover schemes: the seed of random paths; with `algorithm: optimal`, of the search. 1 if absent.
    pub seed: Option<u64>,
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
    /// Up, then down through the virtual layers of a Flattened Clos (FC23 section 3).
    FlattenedClos,
    /// Failover by the way that a packet has come (Stephens15 section 4.2).
    Plinko,
    /// Failover by the set of failures that a packet has met.
    Fcp,
    /// Failover by the number of the route that a packet follows.
    MplsFrr,
    /// Failover over edge-disjoint spanning trees.
    Edst,
    /// Failover over arc-disjoint spanning trees toward every destination.
    Adst,
    /// Failover in one lossless channel per packet (Stephens15 section 5.1).
    DfFi,
    /// Failover over edge-disjoint spanning trees along an acyclic graph of trees, lossless (Stephens15 section 5.2).
    DfEdst,
    /// All shortest paths with one tag, as without a scheme.
    Ecmp,
    /// The k shortest paths with one tag, as without a scheme.
    Ksp,
}

impl SchemeSpec {
    /// The failover scheme that it names, if it is one.
    const fn failover(self) -> Option<FailoverScheme> {
        match self {
            Self::Tagger | Self::Ttl | Self::FlattenedClos | Self::Ecmp | Self::Ksp => None,
            Self::Plinko => Some(FailoverScheme::Plinko),
            Self::Fcp => Some(FailoverScheme::Fcp),
            Self::MplsFrr => Some(FailoverScheme::MplsFrr),
            Self::Edst => Some(FailoverScheme::Edst),
            Self::Adst => Some(FailoverScheme::Adst),
            Self::DfFi => Some(FailoverScheme::DfFi),
            Self::DfEdst => Some(FailoverScheme::DfEdst),
        }
    }
}

/// How packets of failover schemes are kept lossless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LosslessSpec {
    /// The tag rises where keeping it could close a cycle of buffers.
    Rising,
}

/// Tree transition graphs of DF-EDST (Stephens15 section 5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransitionSpec {
    /// Packets stay on the tree that they begin on.
    NoRes,
    /// From each tree to the next, beginning on the first.
    Line,
    /// From all initial trees to the head of a line of the others.
    T,
    /// Layers, each two trees narrower than the one before.
    ALayer,
    /// Layers, each half as wide as the one before.
    MLayer,
    /// As `t`; among initial trees a random acyclic graph.
    Rand,
    /// As `t`; from every initial tree to all later ones.
    Max,
}

impl From<TransitionSpec> for TransitionKind {
    fn from(kind: TransitionSpec) -> Self {
        match kind {
            TransitionSpec::NoRes => Self::NoRes,
            TransitionSpec::Line => Self::Line,
            TransitionSpec::T => Self::T,
            TransitionSpec::ALayer => Self::ALayer,
            TransitionSpec::MLayer => Self::MLayer,
            TransitionSpec::Rand => Self::Rand,
            TransitionSpec::Max => Self::Max,
        }
    }
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
    /// Single-valued, after a search for fewer tags.
    Optimal,
    /// One more tag per bounce.
    Clos,
}

/// Whether an option shapes a scheme.
fn owns(scheme: SchemeSpec, option: &str) -> bool {
    use SchemeSpec::{Adst, DfEdst, DfFi, Edst, FlattenedClos, Ksp, Tagger, Ttl};
    match option {
        "algorithm" | "routes" | "paths" => matches!(scheme, Tagger | Ttl),
        "search_moves" => scheme == Tagger,
        "bounces" | "classes" | "class_bits" => matches!(scheme, Tagger | Ttl | FlattenedClos),
        "hops" => matches!(scheme, Tagger | Ttl),
        "k" => scheme == Ksp,
        "carrier" => scheme.failover().is_none(),
        "lossless" => scheme.failover().is_some() && scheme != DfEdst,
        "trees" => matches!(scheme, Edst | Adst | DfEdst),
        "channels" => matches!(scheme, DfFi | DfEdst),
        "ttg" => scheme == DfEdst,
        _ => scheme.failover().is_some(),
    }
}

/// The schemes that an option shapes, in words.
fn for_whom(option: &str) -> &'static str {
    match option {
        "algorithm" | "routes" | "paths" | "hops" => "schemes tagger and ttl",
        "search_moves" => "scheme tagger",
        "bounces" | "classes" | "class_bits" => "schemes tagger, ttl and flattened-clos",
        "k" => "scheme ksp",
        "carrier" => "schemes whose tables follow routes",
        "lossless" => "failover schemes other than df-edst",
        "trees" => "schemes edst, adst and df-edst",
        "channels" => "schemes df-fi and df-edst",
        "ttg" => "scheme df-edst",
        _ => "failover schemes",
    }
}

/// Paths of each pair of switches, if nobody says how many: as `switchwright plan` has it.
const USUAL_K: u32 = 8;

impl PlanSpec {
    /// The tables that are asked for, yet to be proven.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if the scheme refuses the topology or an option.
    pub fn tables(&self, topology: &Topology) -> Result<Tables, ScenarioError> {
        self.tables_told(topology, &Arc::default())
    }

    /// The same, told to somebody who may cancel it. Schemes that search or make failover tables end there; others at their end.
    ///
    /// # Errors
    /// As [`PlanSpec::tables`].
    pub fn tables_told(
        &self,
        topology: &Topology,
        progress: &Arc<Progress>,
    ) -> Result<Tables, ScenarioError> {
        self.refuse_idle()?;
        progress.checkpoint();
        let mut options = self.options(topology)?;
        options.search.stop = Some(progress.stop());
        let tables = self.tables_with(topology, &options, progress);
        progress.checkpoint();
        tables
    }

    fn tables_with(
        &self,
        topology: &Topology,
        options: &TaggerOptions,
        progress: &Arc<Progress>,
    ) -> Result<Tables, ScenarioError> {
        match (self.scheme, self.scheme.failover()) {
            (_, Some(scheme)) => self.failover_tables(topology, scheme, options, progress),
            (SchemeSpec::Ecmp, None) => {
                let routes = RoutePolicy::Shortest;
                schemes::one_tag(topology, "ecmp", &routes, options).map_err(wrong)
            }
            (SchemeSpec::Ksp, None) => {
                let k = self.k.unwrap_or(USUAL_K);
                let routes = RoutePolicy::Ksp { k };
                schemes::one_tag(topology, "ksp", &routes, options).map_err(wrong)
            }
            (SchemeSpec::FlattenedClos, None) => {
                let turns = self.bounces.unwrap_or(0);
                schemes::flattened_clos(topology, turns, options).map_err(wrong)
            }
            (SchemeSpec::Ttl, None) => schemes::ttl(topology, self.hops, options).map_err(wrong),
            (_, None) => schemes::tagger(topology, options).map_err(wrong),
        }
    }

    fn failover_tables(
        &self,
        topology: &Topology,
        scheme: FailoverScheme,
        tags: &TaggerOptions,
        progress: &Arc<Progress>,
    ) -> Result<Tables, ScenarioError> {
        let usual = FailoverOptions::new(scheme);
        let kind = self.ttg.unwrap_or(TransitionSpec::T);
        let surviving = match (scheme, kind) {
            (FailoverScheme::DfEdst, TransitionSpec::NoRes | TransitionSpec::Line) => 0,
            _ => usual.resilience,
        };
        let options = FailoverOptions {
            resilience: self.resilience.unwrap_or(surviving),
            multipath: self.multipath,
            trees: self.trees,
            transitions: TransitionOptions {
                channels: self.channels.unwrap_or(1),
                ..TransitionOptions::new(kind.into())
            },
            seed: self.seed.unwrap_or(usual.seed),
            progress: Arc::clone(progress),
            ..usual
        };
        let method = match (self.lossless, scheme) {
            (Some(LosslessSpec::Rising), _) => Some(Method::Rising),
            (None, FailoverScheme::DfFi) => Some(Method::Channels(self.channels.unwrap_or(1))),
            (None, _) => None,
        };
        match method {
            None if scheme == FailoverScheme::DfEdst => df_edst(topology, &options, tags),
            Some(method) => lossless_failover(topology, &options, method, tags),
            None => failover(topology, &options),
        }
        .map_err(wrong)
    }

    /// Refuses what the scheme has no use for.
    fn refuse_idle(&self) -> Result<(), ScenarioError> {
        let idle = |option: &&(&str, bool)| option.1 && !owns(self.scheme, option.0);
        if let Some((name, _)) = self.given().iter().find(idle) {
            let others = for_whom(name);
            return Err(wrong(format!(
                "`{name}` is for {others}; leave it out, or name one of these as the `scheme`"
            )));
        }
        let searches = self.algorithm == Some(AlgorithmSpec::Optimal);
        if self.search_moves.is_some() && !searches {
            return Err(wrong(
                "`search_moves` is for `algorithm: optimal`; leave it out, or name that algorithm",
            ));
        }
        if self.seed.is_some() && self.scheme.failover().is_none() && !searches {
            return Err(wrong(
                "`seed` is for failover schemes and for `algorithm: optimal`; leave it out, or name one of these",
            ));
        }
        if self.channels.is_some() && self.lossless.is_some() {
            return Err(wrong(
                "`lossless: rising` takes the place of channels; leave out `channels` or `lossless`",
            ));
        }
        Ok(())
    }

    /// The options that only some schemes have, and whether they are given.
    fn given(&self) -> [(&'static str, bool); 16] {
        let in_shim = matches!(self.carrier, None | Some(CarrierKind::Shim));
        [
            ("algorithm", self.algorithm.is_some()),
            ("search_moves", self.search_moves.is_some()),
            ("routes", self.routes.is_some()),
            ("paths", !self.paths.is_empty()),
            ("bounces", self.bounces.is_some()),
            ("classes", self.classes.is_some()),
            ("hops", self.hops.is_some()),
            ("class_bits", self.class_bits),
            ("k", self.k.is_some()),
            ("carrier", !in_shim),
            ("resilience", self.resilience.is_some()),
            ("lossless", self.lossless.is_some()),
            ("multipath", self.multipath.is_some()),
            ("trees", self.trees.is_some()),
            ("channels", self.channels.is_some()),
            ("ttg", self.ttg.is_some()),
        ]
    }

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
                AlgorithmSpec::Optimal => Algorithm::Optimal,
                AlgorithmSpec::Clos => Algorithm::Clos,
            }),
            routes,
            bounces: self.bounces.unwrap_or(usual.bounces),
            class_bits: self.class_bits,
            carrier: self.carrier.unwrap_or(match self.scheme.failover() {
                Some(_) => CarrierKind::Shim,
                None => usual.carrier,
            }),
            form: self.rules,
            seed: self.seed.unwrap_or(usual.seed),
            search: Search {
                moves: self.search_moves.unwrap_or(usual.search.moves),
                ..Search::default()
            },
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

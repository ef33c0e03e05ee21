//! What a scenario has planned for its network: a scheme with the options that `switchwright plan`
//! has for it.

use std::sync::Arc;

use plan::{CarrierKind, RuleForm, Tables};
use quantities::Progress;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Method, TransitionKind, TransitionOptions, df_edst, failover,
    lossless_failover,
};
use schemes::{
    Algorithm, SchemeKind, Search, Spelling, TaggerOptions, contradiction, idle_by_destination,
    idle_for_routes, idle_for_scheme, idle_without_tags,
};
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
    /// Instead of `routes`: the switches that a route passes, each with the port by which it is
    /// left where that matters (`s1:3`). A path is meant for all hosts of its first and last
    /// switch.
    pub paths: Vec<Vec<String>>,
    /// How many bounces stay lossless; 1 if absent. With `flattened-clos`: how many turns other
    /// than up, then down; 0 if absent.
    pub bounces: Option<u8>,
    /// Number of lossless classes; 1 if absent.
    pub classes: Option<u8>,
    /// With `ttl`: hops that stay lossless; as many as the longest shortest path has if absent.
    pub hops: Option<u8>,
    /// With `ksp`: paths of each pair of switches; 8 if absent.
    pub k: Option<u32>,
    /// Carry the class beside the tag.
    pub class_bits: bool,
    /// Where tags travel; in the DSCP if absent. Those of failover schemes are in their own header,
    /// the shim.
    pub carrier: Option<CarrierKind>,
    /// How rules match ports; by sets of ports if absent.
    pub rules: Option<RuleForm>,
    /// Failover schemes: how many failed links to survive; 1 if absent, or as many as the trees of
    /// `df-edst` leave.
    pub resilience: Option<u8>,
    /// Failover schemes: how packets are kept lossless; they are not if absent, but for df-fi,
    /// whose packets have channels.
    pub lossless: Option<LosslessSpec>,
    /// Failover schemes: routings to every switch; if absent, every host is a destination of its
    /// own.
    pub multipath: Option<u16>,
    /// Schemes over disjoint trees: how many; as many as the resilience needs if absent, or with
    /// `df-edst` as there are.
    pub trees: Option<u8>,
    /// With `df-fi`: spread packets over at least so many channels. With `df-edst`: so many
    /// channels, each with trees of its own. 1 if absent.
    pub channels: Option<u8>,
    /// With `df-edst`: to which trees packets may change; `t` if absent.
    pub ttg: Option<TransitionSpec>,
    /// Recorded in the plan; seeds the random paths of failover schemes and the search of
    /// `algorithm: optimal`. 1 if absent.
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
    /// Failover over edge-disjoint spanning trees along an acyclic graph of trees, lossless
    /// (Stephens15 section 5.2).
    DfEdst,
    /// All shortest paths with one tag, as without a scheme.
    Ecmp,
    /// The k shortest paths with one tag, as without a scheme.
    Ksp,
}

impl SchemeSpec {
    /// The scheme as the list of options knows it.
    const fn kind(self) -> SchemeKind {
        match self {
            Self::Tagger => SchemeKind::Tagger,
            Self::Ttl => SchemeKind::Ttl,
            Self::FlattenedClos => SchemeKind::FlattenedClos,
            Self::Ecmp => SchemeKind::Ecmp,
            Self::Ksp => SchemeKind::Ksp,
            Self::Plinko => SchemeKind::Failover(FailoverScheme::Plinko),
            Self::Fcp => SchemeKind::Failover(FailoverScheme::Fcp),
            Self::MplsFrr => SchemeKind::Failover(FailoverScheme::MplsFrr),
            Self::Edst => SchemeKind::Failover(FailoverScheme::Edst),
            Self::Adst => SchemeKind::Failover(FailoverScheme::Adst),
            Self::DfFi => SchemeKind::Failover(FailoverScheme::DfFi),
            Self::DfEdst => SchemeKind::Failover(FailoverScheme::DfEdst),
        }
    }

    /// The failover scheme that it names, if it is one.
    const fn failover(self) -> Option<FailoverScheme> {
        self.kind().failover()
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

    /// The same, told to somebody who may cancel it. Schemes that search or make failover tables
    /// end there; others at their end.
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
        self.refuse_idle_for_routes(topology, &options)?;
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
        let scheme = self.scheme.kind();
        self.refuse(|option| idle_for_scheme(option, scheme, None))?;
        let contradicts = contradiction(scheme, self.trees, self.resilience, Spelling::Fields);
        if let Some(problem) = contradicts {
            return Err(wrong(format!("{problem}; give one of the two")));
        }
        if scheme == SchemeKind::FlattenedClos {
            self.refuse(|option| idle_by_destination(option, Spelling::Fields))?;
        }
        let channels = scheme == SchemeKind::Failover(FailoverScheme::DfFi);
        let trees = scheme == SchemeKind::Failover(FailoverScheme::DfEdst);
        if scheme.failover().is_some() && self.lossless.is_none() && !channels && !trees {
            self.refuse(|option| idle_without_tags(option, Spelling::Fields))?;
        }
        if self.channels.is_some() && self.lossless.is_some() {
            return Err(wrong(
                "`lossless: rising` takes the place of channels; leave out `channels` or `lossless`",
            ));
        }
        Ok(())
    }

    /// Refuses options of other routes than those that are promised, as far as the scheme has
    /// routes.
    fn refuse_idle_for_routes(
        &self,
        topology: &Topology,
        options: &TaggerOptions,
    ) -> Result<(), ScenarioError> {
        let routes = match self.scheme {
            SchemeSpec::Tagger => options.routes_for(topology, options.algorithm_for(topology)),
            SchemeSpec::Ttl => options.routes.clone().unwrap_or(RoutePolicy::Shortest),
            _ => return Ok(()),
        };
        let searches = self.algorithm == Some(AlgorithmSpec::Optimal);
        self.refuse(|option| {
            idle_for_routes(option, topology, &routes, searches, Spelling::Fields)
        })?;
        // The routes say these numbers too.
        let twice = |name: &str, one: u64, other: u64| {
            let problem = format!("`{name}: {one}` contradicts the {other} of `routes`");
            Err(wrong(format!("{problem}; give one of the two")))
        };
        match (&self.routes, self.bounces, self.k) {
            (Some(RoutePolicy::UpDown { bounces }), Some(own), _) if own != *bounces => {
                twice("bounces", own.into(), (*bounces).into())
            }
            (Some(RoutePolicy::Ksp { k }), _, Some(own)) if own != *k => {
                twice("k", own.into(), (*k).into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses the first option that is given and of which `idle` says why it means nothing.
    fn refuse(&self, idle: impl Fn(&str) -> Option<String>) -> Result<(), ScenarioError> {
        for (field, option) in self.given() {
            if let Some(reason) = idle(option) {
                return Err(wrong(format!(
                    "`{field}` means nothing {reason}; leave `{field}` out"
                )));
            }
        }
        Ok(())
    }

    /// The fields that are given, and the options of `switchwright plan` that they are.
    fn given(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        // A new field is refused by the compiler until it is listed.
        let Self {
            scheme: _,
            algorithm,
            search_moves,
            routes,
            paths,
            bounces,
            classes,
            hops,
            k,
            class_bits,
            carrier,
            rules,
            resilience,
            lossless,
            multipath,
            trees,
            channels,
            ttg,
            seed,
        } = self;
        let all = [
            ("algorithm", "algorithm", algorithm.is_some()),
            ("search_moves", "search_moves", search_moves.is_some()),
            ("routes", "routes", routes.is_some()),
            ("paths", "routes", !paths.is_empty()),
            ("bounces", "bounces", bounces.is_some()),
            ("classes", "classes", classes.is_some()),
            ("hops", "hops", hops.is_some()),
            ("k", "k", k.is_some()),
            ("class_bits", "class_bits", *class_bits),
            ("carrier", "carrier", carrier.is_some()),
            ("rules", "rules", rules.is_some()),
            ("resilience", "resilience", resilience.is_some()),
            ("lossless", "lossless", lossless.is_some()),
            ("multipath", "multipath", multipath.is_some()),
            ("trees", "trees", trees.is_some()),
            ("channels", "channels", channels.is_some()),
            ("ttg", "ttg", ttg.is_some()),
            ("seed", "seed", seed.is_some()),
        ];
        let given = all.into_iter().filter(|(.., given)| *given);
        given.map(|(field, option, _)| (field, option))
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
            form: self.rules.unwrap_or_default(),
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

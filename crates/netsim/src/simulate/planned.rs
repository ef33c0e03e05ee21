//! What a scenario has planned for its network: a scheme with the options that `switchwright plan` has for it.

use plan::{CarrierKind, RuleForm, Tables};
use schemes::failover::{FailoverOptions, FailoverScheme, Method, failover, lossless_failover};
use schemes::{Algorithm, TaggerOptions};
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
    /// With `ksp`: paths of each pair of switches; 8 if absent.
    pub k: Option<u32>,
    /// Carry the class beside the tag.
    pub class_bits: bool,
    /// Where tags travel; in the DSCP if absent. Those of failover schemes are in their own header, the shim.
    pub carrier: Option<CarrierKind>,
    /// How rules match ports.
    pub rules: RuleForm,
    /// Failover schemes: how many failed links to survive; 1 if absent.
    pub resilience: Option<u8>,
    /// Failover schemes: how packets are kept lossless; they are not if absent, but for df-fi, whose packets have channels.
    pub lossless: Option<LosslessSpec>,
    /// Failover schemes: routings to every switch; if absent, every host is a destination of its own.
    pub multipath: Option<u16>,
    /// Failover schemes: the seed of random paths; 1 if absent.
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
    /// All shortest paths with one tag, as without a scheme.
    Ecmp,
    /// The k shortest paths with one tag, as without a scheme.
    Ksp,
}

impl SchemeSpec {
    /// The failover scheme that it names, if it is one.
    const fn failover(self) -> Option<FailoverScheme> {
        match self {
            Self::Tagger | Self::Ttl | Self::Ecmp | Self::Ksp => None,
            Self::Plinko => Some(FailoverScheme::Plinko),
            Self::Fcp => Some(FailoverScheme::Fcp),
            Self::MplsFrr => Some(FailoverScheme::MplsFrr),
            Self::Edst => Some(FailoverScheme::Edst),
            Self::Adst => Some(FailoverScheme::Adst),
            Self::DfFi => Some(FailoverScheme::DfFi),
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

/// Paths of each pair of switches, if nobody says how many: as `switchwright plan` has it.
const USUAL_K: u32 = 8;

impl PlanSpec {
    /// The tables that are asked for, yet to be proven.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if the scheme refuses the topology or an option.
    pub fn tables(&self, topology: &Topology) -> Result<Tables, ScenarioError> {
        self.refuse_idle()?;
        let options = self.options(topology)?;
        match (self.scheme, self.scheme.failover()) {
            (_, Some(scheme)) => self.failover_tables(topology, scheme, &options),
            (SchemeSpec::Ecmp, None) => {
                let routes = RoutePolicy::Shortest;
                schemes::one_tag(topology, "ecmp", &routes, &options).map_err(wrong)
            }
            (SchemeSpec::Ksp, None) => {
                let k = self.k.unwrap_or(USUAL_K);
                let routes = RoutePolicy::Ksp { k };
                schemes::one_tag(topology, "ksp", &routes, &options).map_err(wrong)
            }
            (SchemeSpec::Ttl, None) => schemes::ttl(topology, self.hops, &options).map_err(wrong),
            (_, None) => schemes::tagger(topology, &options).map_err(wrong),
        }
    }

    fn failover_tables(
        &self,
        topology: &Topology,
        scheme: FailoverScheme,
        tags: &TaggerOptions,
    ) -> Result<Tables, ScenarioError> {
        let usual = FailoverOptions::new(scheme);
        let options = FailoverOptions {
            resilience: self.resilience.unwrap_or(usual.resilience),
            multipath: self.multipath,
            seed: self.seed.unwrap_or(usual.seed),
            ..usual
        };
        let method = match (self.lossless, scheme) {
            (Some(LosslessSpec::Rising), _) => Some(Method::Rising),
            (None, FailoverScheme::DfFi) => Some(Method::Channels(1)),
            (None, _) => None,
        };
        match method {
            Some(method) => lossless_failover(topology, &options, method, tags),
            None => failover(topology, &options),
        }
        .map_err(wrong)
    }

    /// Refuses what the scheme has no use for.
    fn refuse_idle(&self) -> Result<(), ScenarioError> {
        let for_tags = [
            ("algorithm", self.algorithm.is_some()),
            ("routes", self.routes.is_some()),
            ("paths", !self.paths.is_empty()),
            ("bounces", self.bounces.is_some()),
            ("classes", self.classes.is_some()),
            ("hops", self.hops.is_some()),
            ("class_bits", self.class_bits),
        ];
        let for_ksp = [("k", self.k.is_some())];
        let in_shim = matches!(self.carrier, None | Some(CarrierKind::Shim));
        let for_routes = [("carrier", !in_shim)];
        let for_failover = [
            ("resilience", self.resilience.is_some()),
            ("lossless", self.lossless.is_some()),
            ("multipath", self.multipath.is_some()),
            ("seed", self.seed.is_some()),
        ];
        let (tags, ksp) = ("schemes tagger and ttl", "scheme ksp");
        let failover = (&for_failover[..], "failover schemes");
        let idle = match self.scheme {
            SchemeSpec::Tagger | SchemeSpec::Ttl => vec![(&for_ksp[..], ksp), failover],
            SchemeSpec::Ecmp => vec![(&for_tags[..], tags), (&for_ksp[..], ksp), failover],
            SchemeSpec::Ksp => vec![(&for_tags[..], tags), failover],
            _ => vec![
                (&for_tags[..], tags),
                (&for_ksp[..], ksp),
                (&for_routes[..], "schemes whose tables follow routes"),
            ],
        };
        let given = idle.into_iter().find_map(|(options, others)| {
            let found = options.iter().find(|(_, given)| *given)?;
            Some((found.0, others))
        });
        match given {
            Some((name, others)) => Err(wrong(format!(
                "`{name}` is for {others}; leave it out, or name one of these as the `scheme`"
            ))),
            None => Ok(()),
        }
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

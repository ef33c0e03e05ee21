//! Which routes are to be lossless.

use std::fmt;
use std::str::FromStr;

use schemes::failover::{LaneRouting, PathPolicy};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use topology::routes::RoutePolicy;
use topology::{NodeId, Topology};

use super::tags::Classes;
use super::{PlanError, PlanSpec, RouteName, SchemeKind, Spelling};
use crate::choice::{Choice, Named};

/// Routes as users write them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutesSpec {
    /// By name; `k`, `bounces` and `max_switches` stand beside it.
    Name(RouteName),
    /// As in a plan file: `{policy: up-down, bounces: 1}`.
    Policy(RoutePolicy),
    /// On the command line: a file with a route on each line. Whoever reads the command line
    /// replaces it by the routes.
    File(String),
}

impl FromStr for RoutesSpec {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.parse::<Named<RouteName>>();
        Ok(name.map_or_else(|_| Self::File(text.to_owned()), |name| Self::Name(name.0)))
    }
}

impl<'de> Deserialize<'de> for RoutesSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Routes;
        impl<'de> Visitor<'de> for Routes {
            type Value = RoutesSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a kind of routes, or a policy as in `{policy: shortest}`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RoutesSpec, E> {
                let name: Named<RouteName> = text.parse().map_err(E::custom)?;
                Ok(RoutesSpec::Name(name.0))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RoutesSpec, A::Error> {
                RoutePolicy::deserialize(MapAccessDeserializer::new(map)).map(RoutesSpec::Policy)
            }
        }
        deserializer.deserialize_any(Routes)
    }
}

/// The field `paths`: which of the shortest paths failover routes take, or a list of the routes
/// that are to be lossless.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "the name of a policy of paths, or a list of paths"
)]
pub enum PathsSpec {
    /// Failover schemes: which paths routes take.
    Policy(Named<PathPolicy>),
    /// Instead of `routes`: the switches that each route passes, each with the port by which it is
    /// left where that matters (`s1:3`). A path is meant for all hosts of its first and last
    /// switch.
    Listed(Vec<Vec<String>>),
}

#[cfg(feature = "clap")]
impl clap::builder::ValueParserFactory for PathsSpec {
    type Parser = clap::builder::ValueParser;

    fn value_parser() -> Self::Parser {
        use clap::builder::TypedValueParser as _;
        crate::choice::possible_values::<PathPolicy>()
            .try_map(|name| name.parse().map(Self::Policy))
            .into()
    }
}

/// The routes that are to be lossless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Routes {
    /// Those that suit the topology.
    Suitable,
    /// These.
    Policy(RoutePolicy),
    /// The paths between all hosts of their ends.
    Listed(Vec<Vec<String>>),
}

/// Paths of each pair of switches, if none is asked for.
pub(super) const DEFAULT_K: u32 = 8;
/// The most switches of a simple path, if none is asked for.
const DEFAULT_MAX_SWITCHES: u16 = 3;

impl PlanSpec {
    /// The bounces that the plan asks for, here or in its routes.
    pub(super) const fn bounces_asked(&self) -> Option<u8> {
        match (&self.routes, self.bounces) {
            (Some(RoutesSpec::Policy(RoutePolicy::UpDown { bounces })), None) => Some(*bounces),
            (_, bounces) => bounces,
        }
    }

    /// The routing with virtual lanes that is asked for instead of rising tags, if one is.
    pub(super) fn lanes(&self, spelling: Spelling) -> Result<Option<LaneRouting>, PlanError> {
        let Some(RoutesSpec::Name(RouteName::Lanes(routing))) = self.routes else {
            return Ok(None);
        };
        let given = spelling.with_value("routes", routing.name());
        if self.scheme.0 != SchemeKind::Tagger {
            let problem =
                format!("{given} has virtual lanes, which take the place of another scheme's tags");
            let help = format!("leave {} out", spelling.option("scheme"));
            return Err(PlanError::new(problem).help(help));
        }
        self.refuse(spelling, |option| {
            OF_RISING_TAGS
                .contains(&option)
                .then(|| format!("with {given}, whose packets keep their lane"))
        })?;
        Ok(Some(routing))
    }
}

/// Options of tags that rise; lanes do not.
const OF_RISING_TAGS: &[&str] = &[
    "algorithm",
    "search_moves",
    "time_limit",
    "k",
    "bounces",
    "max_switches",
    "classes",
    "class",
    "class_bits",
];

impl Routes {
    /// The routes of a plan whose tags rise; up-down routes have the bounces of the classes.
    ///
    /// # Errors
    /// [`PlanError`] if numbers of other routes are given, or two different numbers.
    pub(super) fn of(
        spec: &PlanSpec,
        classes: &Classes,
        spelling: Spelling,
    ) -> Result<Self, PlanError> {
        let bounces = classes.bounces();
        let routes = match (&spec.routes, &spec.paths) {
            (Some(_), Some(PathsSpec::Listed(_))) => {
                let problem = "has both `routes` and `paths`; say one of them";
                return Err(PlanError::new(problem));
            }
            (None, Some(PathsSpec::Listed(paths))) => Self::Listed(paths.clone()),
            (None, _) => Self::Suitable,
            (Some(RoutesSpec::Policy(policy)), _) => Self::Policy(policy.clone()),
            (Some(RoutesSpec::Name(name)), _) => Self::Policy(named(*name, spec, bounces)?),
            (Some(RoutesSpec::File(path)), _) => {
                let problem = format!("the file of routes `{path}` is not read here");
                return Err(PlanError::new(problem).help(known_routes(spelling)));
            }
        };
        routes.refuse_numbers(spec, spelling)?;
        Ok(routes)
    }

    /// Refuses numbers of routes that are not promised.
    fn refuse_numbers(&self, spec: &PlanSpec, spelling: Spelling) -> Result<(), PlanError> {
        let (ksp, all) = match self {
            Self::Policy(RoutePolicy::Ksp { k }) => (Some(*k), false),
            Self::Policy(RoutePolicy::AllSimple { .. }) => (None, true),
            _ => (None, false),
        };
        spec.refuse(spelling, |option| {
            let kind = match option {
                "k" if ksp.is_none() => "ksp",
                "max_switches" if !all => "all",
                _ => return None,
            };
            let wanted = spelling.with_value("routes", kind);
            Some(match self {
                Self::Policy(policy) => format!("with {policy}: it is for {wanted}"),
                _ => format!("here: it is for {wanted}"),
            })
        })?;
        let twice = |name: &str, one: u64, other: u64| {
            let given = spelling.with_value(name, &one.to_string());
            let routes = spelling.option("routes");
            let problem = format!("{given} contradicts the {other} of {routes}");
            Err(PlanError::new(problem).help("give one of the two"))
        };
        match (self, spec.bounces, spec.k) {
            (Self::Policy(RoutePolicy::UpDown { bounces }), Some(own), _)
                if own != *bounces && matches!(spec.routes, Some(RoutesSpec::Policy(_))) =>
            {
                twice("bounces", own.into(), (*bounces).into())
            }
            (Self::Policy(RoutePolicy::Ksp { k }), _, Some(own)) if own != *k => {
                twice("k", own.into(), (*k).into())
            }
            (Self::Policy(RoutePolicy::AllSimple { max_switches }), ..)
                if spec.max_switches.is_some_and(|own| own != *max_switches) =>
            {
                let own = spec.max_switches.unwrap_or_default();
                twice("max_switches", own.into(), (*max_switches).into())
            }
            _ => Ok(()),
        }
    }

    /// The policy of a topology; `None` where it is to suit.
    ///
    /// # Errors
    /// [`PlanError`] if a path names a switch that there is not.
    pub(super) fn policy(&self, topology: &Topology) -> Result<Option<RoutePolicy>, PlanError> {
        match self {
            Self::Suitable => Ok(None),
            Self::Policy(policy) => Ok(Some(policy.clone())),
            Self::Listed(paths) => listed(paths, topology).map(Some),
        }
    }
}

/// What to write for routes.
fn known_routes(spelling: Spelling) -> String {
    let option = spelling.option("routes");
    format!("{option} takes {}", RouteName::names().join(", "))
}

/// The policy of a name, with the numbers beside it.
fn named(name: RouteName, spec: &PlanSpec, bounces: u8) -> Result<RoutePolicy, PlanError> {
    Ok(match name {
        RouteName::Shortest => RoutePolicy::Shortest,
        RouteName::Ksp => RoutePolicy::Ksp {
            k: spec.k.unwrap_or(DEFAULT_K),
        },
        RouteName::UpDown => RoutePolicy::UpDown { bounces },
        RouteName::All => RoutePolicy::AllSimple {
            max_switches: spec.max_switches.unwrap_or(DEFAULT_MAX_SWITCHES),
        },
        RouteName::Bcube => RoutePolicy::BcubeDigit,
        RouteName::BcubeRotations => RoutePolicy::BcubeRotations,
        RouteName::Lanes(routing) => {
            let problem = format!("`{}` has lanes, and its tags do not rise", routing.name());
            return Err(PlanError::new(problem));
        }
    })
}

/// The paths between all hosts of their ends.
fn listed(paths: &[Vec<String>], topology: &Topology) -> Result<RoutePolicy, PlanError> {
    let mut routes = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let hosts = |step: Option<&String>| {
            let name = step.map_or("", |s| s.split(':').next().unwrap_or(s));
            let switch = topology.switch_named(name);
            let switch =
                switch.map_err(|error| PlanError::new(format!("paths[{number}]: {error}")))?;
            let hosts = topology
                .peers(switch)
                .filter_map(|(_, peer)| match peer.end.node {
                    NodeId::Host(host) => Some(topology.host(host).name.clone()),
                    NodeId::Switch(_) => None,
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

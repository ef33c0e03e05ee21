//! A plan as users ask for it: a scheme and a field for every option.

mod choices;
mod error;
mod failover;
mod numbers;
mod owners;
mod routes;
mod scheme;
mod tags;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use plan::failover::Element;
use plan::{Budget, CarrierKind, RuleForm, Tables};
use quantities::{Bytes, Progress};
use schemes::Algorithm;
use schemes::failover::{PathPolicy, TransitionKind, TreeGrowth, TreeOrder};
use serde::Deserialize;
use topology::{AssumedOfNetwork, Topology};

pub use choices::{ImportantScheme, Lossless, RouteName};
pub use error::PlanError;
pub use owners::{SchemeKind, Spelling, owners};
pub use routes::{PathsSpec, RoutesSpec};
pub use scheme::Scheme;
pub use tags::ClassText;

use crate::choice::Named;
use crate::error::ScenarioError;
use crate::quantity::Size;

/// Headings of `switchwright plan --help`.
#[cfg(feature = "clap")]
mod heading {
    pub(super) const TAGS: &str = "Tags, routes, classes";
    pub(super) const FAILOVER: &str = "Failover schemes";
    pub(super) const TREES: &str = "Failover scheme df-edst";
    pub(super) const IMPORTANT: &str = "Important destinations";
    pub(super) const LIMITS: &str = "Limits of switches";
}

/// A plan as users ask for it. A field that is absent takes its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct PlanSpec {
    /// The system whose tables to compute.
    #[cfg_attr(feature = "clap", arg(long, default_value_t))]
    pub scheme: Named<SchemeKind>,
    /// Recorded in the plan; seeds whatever is drawn at random [default: 1].
    #[cfg_attr(feature = "clap", arg(long))]
    pub seed: Option<u64>,

    /// How tags are computed [default: clos in layered topologies, else single-valued].
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TAGS))]
    pub algorithm: Option<Named<Algorithm>>,
    /// With --algorithm optimal: moves of the search, about a million a second. Plans of the same
    /// number and seed are the same [default: 100000000].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::TAGS))]
    pub search_moves: Option<u64>,
    /// With --algorithm optimal: end the search after this number of seconds. The result then
    /// depends on the machine [default: 60].
    #[serde(skip)]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", help_heading = heading::TAGS))]
    pub time_limit: Option<u64>,
    /// The routes that are to be lossless: shortest, ksp, up-down, all, bcube, bcube-rotations, or
    /// a file of routes [default: up-down in layered topologies, else shortest]; or one way for
    /// every pair of switches in virtual lanes, which packets keep, on any topology: up-down-any,
    /// lash, dfsssp (Domke11).
    #[cfg_attr(feature = "clap", arg(long, value_name = "ROUTES", help_heading = heading::TAGS))]
    pub routes: Option<RoutesSpec>,
    /// With up-down routes: how many bounces stay lossless [default: 1]. With --scheme
    /// flattened-clos: how many turns other than up, then down [default there: 0].
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TAGS))]
    pub bounces: Option<u8>,
    /// With routes or scheme ksp: paths per pair of switches [default: 8].
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TAGS))]
    pub k: Option<u32>,
    /// With --routes all: the most switches of a route [default: 3].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::TAGS))]
    pub max_switches: Option<u16>,
    /// With --scheme ttl: switches that a packet may pass and stay lossless [default: as many as
    /// the longest shortest path has].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_parser = clap::value_parser!(u8).range(1..), help_heading = heading::TAGS)
    )]
    pub hops: Option<u8>,
    /// Number of lossless classes [default: 1].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", conflicts_with = "class", help_heading = heading::TAGS)
    )]
    pub classes: Option<u8>,
    /// A lossless class by name, with its own limit of bounces where class bits are carried.
    /// Repeatable.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NAME[:BOUNCES]", help_heading = heading::TAGS)
    )]
    pub class: Vec<ClassText>,
    /// Carry the class beside the tag, so that each class keeps its own limit.
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TAGS))]
    pub class_bits: bool,
    /// Where in the packet tags travel [default: dscp, or shim with failover schemes].
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TAGS))]
    pub carrier: Option<Named<CarrierKind>>,
    /// The codes of tags in their carrier, in the order of tags; without --class-bits class N
    /// begins with tag N. Tags beyond the list take codes by convention [default: DSCPs 26, 28, 30,
    /// then those for local use; with vlan-pcp the priorities; else 1, 2, 3].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "CODE,...", help_heading = heading::TAGS)
    )]
    pub codes: Vec<u16>,
    /// The lossless priorities of tags, 1 to 7, in the order of tags. Tags beyond the list take
    /// priorities by convention [default: 3, 4, 2, 5, 1, 6, 7].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "PRIORITY,...", help_heading = heading::TAGS)
    )]
    pub tag_priorities: Vec<u8>,
    /// How rules match ports [default: port-sets]. Tofino matches sets of ports up to 32 only: a
    /// plan for wider switches wants `exact` there.
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TAGS))]
    pub rules: Option<Named<RuleForm>>,

    /// How many failures at once to survive [default: 1, or one less than there are trees]; with
    /// df-edst, at least.
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", help_heading = heading::FAILOVER))]
    pub resilience: Option<u8>,
    /// Rules put out one port (the default).
    #[cfg_attr(
        feature = "clap",
        arg(long, conflicts_with = "source_routes", help_heading = heading::FAILOVER)
    )]
    pub hop_by_hop: bool,
    /// Rules put out the ports of all switches on the rest of the way. With flattened-clos: packets
    /// take disjoint paths (FC23 section 3.2), each flow one by its hash.
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::FAILOVER))]
    pub source_routes: bool,
    /// Route to switches rather than hosts, by this number of independent routings. With
    /// flattened-clos: the most disjoint paths of a pair [default there: all].
    #[cfg_attr(feature = "clap", arg(long, value_name = "E", help_heading = heading::FAILOVER))]
    pub multipath: Option<u16>,
    /// Compress the tables, and choose routes that compress well.
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::FAILOVER))]
    pub compress: bool,
    /// Which paths routes take [default: random-shortest, or common with --compress].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "POLICY", help_heading = heading::FAILOVER)
    )]
    pub paths: Option<PathsSpec>,
    /// What may fail [default: links].
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::FAILOVER))]
    pub protect: Option<Named<Element>>,
    /// How many disjoint trees [default: one more than the resilience; with df-edst, as many as
    /// there are, of each channel].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::FAILOVER))]
    pub trees: Option<u8>,
    /// How the trees of edst and adst grow [default: shallow].
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::FAILOVER))]
    pub growth: Option<Named<TreeGrowth>>,
    /// Let packets start on a shortest-path tree beside the disjoint ones (df-edst: on a priority
    /// of its own, in networks whose shortest ways close no cycle of buffers).
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::FAILOVER))]
    pub default_tree: bool,
    /// Write the tree of a packet into its header (always with --default-tree), instead of deriving
    /// it from the ingress port.
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::FAILOVER))]
    pub mark_trees: bool,
    /// The most hops that a route in a header may have, at most 32 [default: as many as the routes
    /// of the plan have, at least 16].
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOPS", help_heading = heading::FAILOVER))]
    pub stack: Option<u8>,
    /// Keep packets lossless whatever has failed, as far as the tables survive it; df-fi does so by
    /// channels.
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOW", help_heading = heading::FAILOVER))]
    pub lossless: Option<Named<Lossless>>,
    /// With df-fi: spread packets over at least this number of channels [default: the fewest that
    /// suffice]. With df-edst: the number of channels, each with separate trees [default: 1].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::FAILOVER))]
    pub channels: Option<u8>,

    /// With df-edst: to which trees packets may change (Stephens15 section 5.2.2) [default: t].
    #[cfg_attr(feature = "clap", arg(long, value_name = "GRAPH", help_heading = heading::TREES))]
    pub ttg: Option<Named<TransitionKind>>,
    /// With df-edst: the order in which a switch tries the trees of a layer [default: res].
    #[cfg_attr(feature = "clap", arg(long, value_name = "ORDER", help_heading = heading::TREES))]
    pub tree_order: Option<Named<TreeOrder>>,
    /// With df-edst: on how many trees of a channel packets may begin [default: as many as the
    /// resilience leaves].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::TREES))]
    pub initial_trees: Option<u8>,
    /// With df-edst: how many trees of a channel lead to each destination, the shortest as far as
    /// the resilience leaves it [default: all].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::TREES))]
    pub subset: Option<u8>,
    /// With df-edst: let packets change from each tree of a layer to the next in it, too.
    #[cfg_attr(feature = "clap", arg(long, help_heading = heading::TREES))]
    pub connect_layers: bool,

    /// Hosts to which packets survive failures by --important-scheme, beside all others by --scheme
    /// (Stephens15 section 4.9); with plinko, fcp, mpls-frr, edst and adst.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_delimiter = ',', value_name = "HOST,...", help_heading = heading::IMPORTANT)
    )]
    pub important: Vec<String>,
    /// The scheme for the hosts of --important.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SCHEME", help_heading = heading::IMPORTANT)
    )]
    pub important_scheme: Option<Named<ImportantScheme>>,
    /// How many failures at once packets to them survive [default: 1; with edst and adst, as many
    /// as there are trees for].
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", help_heading = heading::IMPORTANT))]
    pub important_resilience: Option<u8>,

    /// Lossless priorities of a switch, beside the lossy one [default: 7].
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "N",
            value_parser = clap::value_parser!(u8).range(1..=7),
            help_heading = heading::LIMITS
        )
    )]
    pub priorities: Option<u8>,
    /// Packet buffer of a switch, in KiB (`12288` or `12MiB`) [default: 12288].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "KIB", value_parser = Size::kibibytes, help_heading = heading::LIMITS)
    )]
    pub buffer: Option<Size>,
    /// Largest frame, in bytes [default: 1500].
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "BYTES",
            value_parser = clap::value_parser!(u64).range(64..=65_535),
            help_heading = heading::LIMITS
        )
    )]
    pub mtu: Option<u64>,
    /// TCAM of a switch for tag rules, in bits [default: no limit].
    #[cfg_attr(feature = "clap", arg(long, value_name = "BITS", help_heading = heading::LIMITS))]
    pub tcam_bits: Option<u64>,
    /// Most ports of a switch [default: 511].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = heading::LIMITS))]
    pub ports: Option<u16>,
}

/// The seed of a plan, if none is asked for.
const DEFAULT_SEED: u64 = 1;

/// Whether an option is given.
trait Given {
    fn is_given(&self) -> bool;
}

impl Given for bool {
    fn is_given(&self) -> bool {
        *self
    }
}

impl<T> Given for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T> Given for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

/// The names of the fields of a plan that are given. A field that is not listed does not compile.
macro_rules! given_fields {
    ($spec:expr; $scheme:ident, $($field:ident),*) => {{
        let PlanSpec { $scheme: _, $($field),* } = $spec;
        let all = [$((stringify!($field), $field.is_given())),*];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
    }};
}

impl PlanSpec {
    /// The tables that are asked for, yet to be proven; `progress` can cancel the computation.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if an option means nothing, options contradict each other, or the
    /// scheme refuses the topology.
    pub fn tables(
        &self,
        topology: &Topology,
        progress: &Arc<Progress>,
    ) -> Result<Tables, ScenarioError> {
        let settled = self
            .settles(topology)
            .then(|| self.settle(topology.clone()));
        let topology = settled.as_ref().unwrap_or(topology);
        let tables = self
            .validate(Spelling::Fields)
            .and_then(|scheme| scheme.tables(topology, Spelling::Fields, progress));
        tables.map_err(|error| ScenarioError::wrong("network.plan", error))
    }

    /// The scheme with its options. What depends on the topology, [`Scheme::tables`] refuses.
    ///
    /// # Errors
    /// [`PlanError`] if an option means nothing for the scheme, is out of range, or contradicts
    /// another; in the words of `spelling`.
    pub fn validate(&self, spelling: Spelling) -> Result<Scheme, PlanError> {
        self.refuse_idle(spelling)?;
        self.refuse_ranges(spelling)?;
        self.refuse_contradictions(spelling)?;
        Scheme::of(self, spelling)
    }

    /// The options that are given, by the names of their fields.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        given_fields!(
            self; scheme, seed, algorithm, search_moves, time_limit, routes, bounces, k,
            max_switches, hops, classes, class, class_bits, carrier, codes, tag_priorities, rules,
            resilience, hop_by_hop, source_routes, multipath, compress, paths, protect, trees, growth, default_tree,
            mark_trees, stack, lossless, channels, ttg, tree_order, initial_trees, subset,
            connect_layers, important, important_scheme, important_resilience, priorities, buffer,
            mtu, tcam_bits, ports
        )
    }

    /// Refuses the first option that is given and of which `idle` says why it means nothing.
    fn refuse(
        &self,
        spelling: Spelling,
        idle: impl Fn(&str) -> Option<String>,
    ) -> Result<(), PlanError> {
        for field in self.given() {
            // A list of paths says which routes are to be lossless.
            let listed = field == "paths" && matches!(self.paths, Some(PathsSpec::Listed(_)));
            let option = if listed { "routes" } else { field };
            if let Some(reason) = idle(option) {
                let option = spelling.option(field);
                return Err(PlanError::new(format!("{option} means nothing {reason}"))
                    .help(format!("leave {option} out")));
            }
        }
        Ok(())
    }

    /// Refuses options that the scheme has no use for.
    fn refuse_idle(&self, spelling: Spelling) -> Result<(), PlanError> {
        let scheme = self.scheme.0;
        let important = self.important_scheme.map(|scheme| scheme.0.0);
        self.refuse(spelling, |option| {
            owners::idle_for_scheme(option, scheme, important)
        })?;
        let flattened = scheme == SchemeKind::FlattenedClos;
        if flattened && !self.source_routes {
            self.refuse(spelling, |option| {
                owners::idle_by_destination(option, spelling)
            })?;
        }
        if scheme.failover().is_some() && !self.has_failover_tags() {
            self.refuse(spelling, |option| {
                owners::idle_without_tags(option, spelling)
            })?;
        }
        Ok(())
    }

    /// Whether packets of the failover scheme have lossless tags.
    fn has_failover_tags(&self) -> bool {
        self.lossless.is_some() || self.scheme.0.has_channels()
    }

    /// Refuses numbers that no switch has.
    fn refuse_ranges(&self, spelling: Spelling) -> Result<(), PlanError> {
        let outside = |name: &str, value: u64, range: &str| {
            let given = spelling.with_value(name, &value.to_string());
            Err(PlanError::new(format!("{given} is not in {range}")))
        };
        match (self.hops, self.priorities, self.mtu) {
            (Some(0), ..) => outside("hops", 0, "1..=255"),
            (_, Some(n), _) if !(1..=7).contains(&n) => outside("priorities", n.into(), "1..=7"),
            (.., Some(n)) if !(64..=65_535).contains(&n) => outside("mtu", n, "64..=65535"),
            _ => Ok(()),
        }
    }

    /// Refuses options that say two things at once.
    fn refuse_contradictions(&self, spelling: Spelling) -> Result<(), PlanError> {
        let (trees, failures) = (self.trees, self.resilience);
        if let Some(problem) = owners::contradiction(self.scheme.0, trees, failures, spelling) {
            return Err(PlanError::new(problem).help("give one of the two"));
        }
        let both = |one: &str, other: &str| {
            let (one, other) = (spelling.option(one), spelling.option(other));
            Err(PlanError::new(format!("{one} cannot be used with {other}"))
                .help("give one of the two"))
        };
        if self.hop_by_hop && self.source_routes {
            return both("hop_by_hop", "source_routes");
        }
        if self.classes.is_some() && !self.class.is_empty() {
            return both("classes", "class");
        }
        if self.channels.is_some() && self.lossless.is_some() {
            let rising = spelling.with_value("lossless", "rising");
            let problem = format!("{rising} takes the place of channels");
            let options = ["channels", "lossless"].map(|name| spelling.option(name));
            return Err(
                PlanError::new(problem).help(format!("leave out {} or {}", options[0], options[1]))
            );
        }
        Ok(())
    }

    /// Whether these options give what the topology leaves to assume.
    fn settles(&self, topology: &Topology) -> bool {
        let assumed = topology.assumed();
        (assumed.buffer && self.buffer.is_some()) || (assumed.mtu && self.mtu.is_some())
    }

    /// The topology without assumptions about what these options give.
    #[must_use]
    pub fn settle(&self, topology: Topology) -> Topology {
        let assumed = topology.assumed();
        topology.with_assumed(AssumedOfNetwork {
            buffer: assumed.buffer && self.buffer.is_none(),
            mtu: assumed.mtu && self.mtu.is_none(),
        })
    }

    /// What a switch has.
    fn budget(&self) -> Budget {
        let usual = Budget::default();
        Budget {
            lossless_priorities: self.priorities.unwrap_or(usual.lossless_priorities),
            ports: self.ports.unwrap_or(usual.ports),
            tcam_bits: self.tcam_bits.or(usual.tcam_bits),
            buffer: self.buffer.map_or(usual.buffer, |size| size.0),
            mtu: self.mtu.map_or(usual.mtu, Bytes::new),
        }
    }

    /// Where chance begins.
    fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }

    /// Which paths failover routes take.
    fn path_policy(&self) -> PathPolicy {
        match &self.paths {
            Some(PathsSpec::Policy(policy)) => policy.0,
            _ if self.compress => PathPolicy::Common,
            _ => PathPolicy::RandomShortest,
        }
    }
}

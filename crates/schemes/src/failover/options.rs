//! What can be asked of the failover schemes.

use std::collections::BTreeMap;
use std::sync::Arc;

use quantities::Progress;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use super::important::{Important, MOST_TREES};
use super::{
    Element, FailoverError, LabelKind, MAX_HOPS, Output, TransitionKind, TransitionOptions,
};

/// The forwarding function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum FailoverScheme {
    /// Rules match the way that a packet has come.
    #[strum(message = "Failover by the way that a packet has come (Stephens15 section 4.3)")]
    Plinko,
    /// Rules match the set of failures that a packet has met.
    #[strum(message = "Failover by the set of failures that a packet has met")]
    Fcp,
    /// Rules match the number of the route that a packet follows.
    #[strum(message = "Failover by the number of the route that a packet follows")]
    MplsFrr,
    /// Edge-disjoint spanning trees.
    #[strum(message = "Failover over edge-disjoint spanning trees (Stephens15 section 4.4)")]
    Edst,
    /// Arc-disjoint spanning trees toward every destination.
    #[strum(message = "Failover over arc-disjoint spanning trees toward every destination")]
    Adst,
    /// Rules match the way that a packet has come, and no packet crosses a link twice in the same
    /// direction, so that it can keep one lossless channel.
    #[strum(
        message = "Failover by the way that a packet has come, every packet in one lossless channel (Stephens15 section 5.1)"
    )]
    DfFi,
    /// Edge-disjoint spanning trees, and packets change from tree to tree along an acyclic graph,
    /// so that they can keep one lossless channel.
    #[strum(
        message = "Failover over edge-disjoint spanning trees along an acyclic graph of trees; lossless, and the header says nothing of it (Stephens15 section 5.2)"
    )]
    DfEdst,
}

impl FailoverScheme {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What its packets carry.
    #[must_use]
    pub const fn label(self) -> LabelKind {
        match self {
            Self::Plinko | Self::DfFi => LabelKind::ReverseRoute,
            Self::Fcp => LabelKind::FailureSet,
            Self::MplsFrr => LabelKind::RouteId,
            Self::Edst | Self::Adst | Self::DfEdst => LabelKind::FailedTrees,
        }
    }

    /// Whether it forwards along trees.
    #[must_use]
    pub const fn by_trees(self) -> bool {
        matches!(self, Self::Edst | Self::Adst | Self::DfEdst)
    }
}

/// Which of the shortest paths a route takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum PathPolicy {
    /// A random one: spreads routes over links.
    #[strum(message = "A random shortest path for every route")]
    #[default]
    RandomShortest,
    /// The one by the lowest ports.
    #[strum(message = "The shortest path by the lowest ports")]
    FirstShortest,
    /// Compression-aware (Stephens15 section 4.5.3): the most common way from this switch to the
    /// destination that avoids the failures, if there is one. Else, and this is ours, a backup way
    /// is that one of the shortest which all hosts at the destination's switch prefer, so that
    /// their rules have the same outputs; ways without failures stay random.
    #[strum(
        message = "The most common way that avoids the failures, else one that the hosts of a switch share: for compression (Stephens15 section 4.5.3)"
    )]
    Common,
    /// Compression-aware just as Stephens15 section 4.5.3 has it: as [`Self::Common`], but where no
    /// way is there yet a random shortest one.
    #[strum(
        message = "The most common way that avoids the failures, else a random shortest path: as in Stephens15 section 4.5.3"
    )]
    CommonOnly,
}

impl PathPolicy {
    /// Whether ways that are there already are taken again.
    pub(super) const fn takes_common(self) -> bool {
        matches!(self, Self::Common | Self::CommonOnly)
    }
}

/// How disjoint trees grow (EDST, ADST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum TreeGrowth {
    /// Around their destination, breadth first, so that they are shallow.
    #[strum(message = "Around their destination, breadth first: few links deep")]
    #[default]
    Shallow,
    /// By links in random order, whatever the depth: what the packing of Roskind85 and the
    /// construction of Edmonds leave open.
    #[strum(
        message = "By links in random order, whatever the depth, as in Stephens15's evaluation"
    )]
    Random,
}

impl TreeGrowth {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Hops that a header has room for where ways are no longer, unless somebody asks for another
/// number.
pub const USUAL_STACK: u8 = 16;

/// The number of hops that a header has room for: the requested number, or else enough for routes
/// of `longest` hops and at least [`USUAL_STACK`].
pub(super) fn stack_for(asked: Option<u8>, longest: usize) -> u8 {
    asked.unwrap_or_else(|| USUAL_STACK.max(u8::try_from(longest).unwrap_or(u8::MAX)))
}

/// Options of the failover schemes.
#[derive(Clone, Debug)]
pub struct FailoverOptions {
    /// The forwarding function.
    pub scheme: FailoverScheme,
    /// How many failures to survive; for trees, one less than there are trees unless `trees` says
    /// otherwise; for DF-EDST, how many at least.
    pub resilience: u8,
    /// What fails.
    pub protect: Element,
    /// What rules put out.
    pub output: Output,
    /// With network virtualization, how many routings there are to every switch; without, every
    /// host is a destination of its own.
    pub multipath: Option<u16>,
    /// Whether tables are compressed (Stephens15 section 4.5.2).
    pub compress: bool,
    /// Which paths routes take.
    pub paths: PathPolicy,
    /// How many trees; as many as the resilience needs if absent (DF-EDST: as many as there are).
    pub trees: Option<u8>,
    /// How trees grow (EDST, ADST).
    pub growth: TreeGrowth,
    /// Whether packets start on a shortest-path tree beside the disjoint ones.
    pub default_tree: bool,
    /// Whether packets carry the number of their tree, as they always do with a default tree; else
    /// the port they come in by tells it.
    pub mark_trees: bool,
    /// How packets change from tree to tree (DF-EDST).
    pub transitions: TransitionOptions,
    /// The most hops of a route in the header; if absent, as many as the ways of the plan take, and
    /// [`USUAL_STACK`] at least.
    pub stack: Option<u8>,
    /// The seed of random paths.
    pub seed: u64,
    /// Destinations that another scheme plans, if there are any.
    pub important: Option<Important>,
    /// Where to tell how much is planned.
    pub progress: Arc<Progress>,
}

impl FailoverOptions {
    /// The defaults of a scheme: resilience 1, links, hop by hop, every host a destination.
    #[must_use]
    pub fn new(scheme: FailoverScheme) -> Self {
        Self {
            scheme,
            resilience: 1,
            protect: Element::Link,
            output: Output::HopByHop,
            multipath: None,
            compress: false,
            paths: PathPolicy::RandomShortest,
            trees: None,
            growth: TreeGrowth::Shallow,
            default_tree: false,
            mark_trees: false,
            transitions: TransitionOptions::new(TransitionKind::T),
            stack: None,
            seed: 1,
            important: None,
            progress: Arc::default(),
        }
    }

    /// How many failures are asked to be survived.
    pub(super) fn survives(&self) -> usize {
        if self.scheme.by_trees() {
            self.tree_count().saturating_sub(1)
        } else {
            usize::from(self.resilience)
        }
    }

    /// The most hops that a way of the plan may have.
    pub(super) fn most_hops(&self) -> usize {
        self.stack.map_or(MAX_HOPS, usize::from)
    }

    /// How many trees to build.
    pub(super) fn tree_count(&self) -> usize {
        usize::from(self.trees.unwrap_or(self.resilience.saturating_add(1)))
    }

    /// Whether packets that meet more failures than are counted must be dropped by rules of their
    /// own. Otherwise no rule matches them, which drops them too; but compression widens rules over
    /// whatever no rule matches, and a packet to a failed switch would go round and round.
    pub(super) fn drops_beyond(&self) -> bool {
        self.compress && self.protect == Element::Switch
    }

    pub(super) fn check(&self) -> Result<(), FailoverError> {
        let scheme = self.scheme.name();
        let refuse = |option, reason| {
            Err(FailoverError::Option {
                option,
                scheme,
                reason,
            })
        };
        if self.most_hops() > MAX_HOPS || self.most_hops() == 0 {
            return refuse("--stack", "a header holds 1 to 32 hops");
        }
        if self.multipath == Some(0) {
            return refuse(
                "--multipath 0",
                "there must be at least one routing to every switch",
            );
        }
        if self.scheme.by_trees() {
            if self.output == Output::SourceRoutes {
                return refuse(
                    "--source-routes",
                    "every switch knows every tree, so a port is enough",
                );
            }
            if self.compress {
                return refuse(
                    "--compress",
                    "the order of its rules matters (Stephens15 section 4.5.1)",
                );
            }
            if self.protect == Element::Switch {
                return refuse("--protect switches", "its trees are disjoint in links only");
            }
            if self.tree_count() == 0 || self.tree_count() > MOST_TREES {
                return refuse("--trees", "the header marks 1 to 24 trees");
            }
            if self.scheme == FailoverScheme::DfEdst {
                if self.growth != TreeGrowth::Shallow {
                    return refuse("--growth", "its trees are always shallow");
                }
                if self.default_tree && self.transitions.channels > 1 {
                    return refuse(
                        "--default-tree --channels",
                        "one channel of trees takes all packets that have met a failure",
                    );
                }
                if let Some((option, reason)) = self.transitions.wrong(self.trees) {
                    return refuse(option, reason);
                }
            }
        } else if self.trees.is_some()
            || self.growth != TreeGrowth::Shallow
            || self.default_tree
            || self.mark_trees
        {
            return refuse(
                "--trees, --growth, --default-tree, --mark-trees",
                "it has no trees",
            );
        }
        match &self.important {
            Some(important) => important.check(self),
            None => Ok(()),
        }
    }

    /// The options by name, as provenance.
    pub(super) fn describe(&self) -> BTreeMap<String, String> {
        let mut options = BTreeMap::new();
        let mut set = |name: &str, value: String| drop(options.insert(name.to_owned(), value));
        if self.scheme == FailoverScheme::DfEdst {
            self.transitions.describe(&mut set);
            if self.default_tree {
                set("default-tree", self.default_tree.to_string());
            }
            set("marked", self.mark_trees.to_string());
        } else if self.scheme.by_trees() {
            set("trees", self.tree_count().to_string());
            if self.growth != TreeGrowth::Shallow {
                set("growth", self.growth.name().to_owned());
            }
            set("default-tree", self.default_tree.to_string());
            set("marked", (self.default_tree || self.mark_trees).to_string());
        } else {
            set("resilience", self.resilience.to_string());
            let output = match self.output {
                Output::HopByHop => "hop-by-hop",
                Output::SourceRoutes => "source-routes",
            };
            set("output", output.to_owned());
            set("compress", self.compress.to_string());
            let paths = match self.paths {
                PathPolicy::RandomShortest => "random-shortest",
                PathPolicy::FirstShortest => "first-shortest",
                PathPolicy::Common => "common",
                PathPolicy::CommonOnly => "common-only",
            };
            set("paths", paths.to_owned());
        }
        if let Some(ways) = self.multipath {
            set("multipath", ways.to_string());
        }
        if let Some(important) = &self.important {
            important.describe(&mut set);
        }
        options
    }
}

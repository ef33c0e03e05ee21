//! Failover schemes with their options (Stephens15 chapters 4 and 5).

use std::collections::BTreeSet;
use std::sync::Arc;

use plan::failover::{Element, Output};
use plan::{CarrierKind, Tables};
use quantities::Progress;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Important, Method, PathPolicy, TransitionKind,
    TransitionOptions, TreeGrowth, df_edst, failover, lossless_failover,
};
use topology::{NodeId, Topology};

use super::tags::Tags;
use super::{ImportantScheme, PlanError, PlanSpec, SchemeKind, Spelling};
use crate::choice::Choice;

/// Backup ways for failed links or switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    forwarding: Forwarding,
    protect: Element,
    stack: Option<u8>,
    multipath: Option<u16>,
    seed: u64,
    lossless: LosslessTags,
    important: Option<ImportantHosts>,
}

/// How packets are forwarded when something has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forwarding {
    /// Along backup routes of packets' own: Plinko, FCP, MPLS-FRR, DF-FI.
    Routes {
        scheme: FailoverScheme,
        resilience: u8,
        output: Output,
        compress: bool,
        paths: PathPolicy,
    },
    /// Along disjoint trees: EDST, ADST.
    Trees {
        scheme: FailoverScheme,
        survive: Survive,
        growth: TreeGrowth,
        marks: Marks,
        paths: PathPolicy,
    },
    /// Along disjoint trees in an acyclic graph of trees: DF-EDST.
    TreeGraph {
        /// The failures that are survived at least.
        resilience: u8,
        trees: Option<u8>,
        transitions: TransitionOptions,
        marks: Marks,
    },
}

/// How many trees there are: by one number or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Survive {
    /// One more than this.
    Failures(u8),
    /// So many.
    Trees(u8),
    /// As many as lead to the destinations.
    All,
}

/// How packets know their tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    default_tree: bool,
    mark_trees: bool,
}

/// How packets are kept lossless.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LosslessTags {
    /// They are not.
    None,
    /// By tags that rise.
    Rising(Tags),
    /// By channels, at least this number.
    Channels(u8, Tags),
    /// By channels of trees.
    Trees(Tags),
}

/// Hosts to which packets survive failures by another scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ImportantHosts {
    hosts: Vec<String>,
    forwarding: Forwarding,
}

impl Failover {
    pub(super) fn of(
        spec: &PlanSpec,
        scheme: FailoverScheme,
        spelling: Spelling,
    ) -> Result<Self, PlanError> {
        Ok(Self {
            forwarding: Forwarding::of(spec, scheme),
            protect: spec.protect.map_or(Element::Link, |protect| protect.0),
            stack: spec.stack,
            multipath: spec.multipath,
            seed: spec.seed(),
            lossless: LosslessTags::of(spec, scheme, spelling)?,
            important: ImportantHosts::of(spec, spelling)?,
        })
    }

    pub(super) fn tables(
        &self,
        topology: &Topology,
        spelling: Spelling,
        progress: &Arc<Progress>,
    ) -> Result<Tables, PlanError> {
        let mut options = FailoverOptions {
            multipath: self.multipath,
            ..self.options(&self.forwarding, progress)
        };
        if let Some(important) = &self.important {
            options.important = Some(Important {
                hosts: important.found(topology, spelling)?,
                all_trees: important.forwarding.takes_all_trees(),
                options: Box::new(self.options(&important.forwarding, progress)),
            });
        }
        let made = match &self.lossless {
            LosslessTags::None => failover(topology, &options),
            LosslessTags::Rising(tags) => {
                lossless_failover(topology, &options, Method::Rising, &tags.options())
            }
            LosslessTags::Channels(least, tags) => {
                let method = Method::Channels(*least);
                lossless_failover(topology, &options, method, &tags.options())
            }
            LosslessTags::Trees(tags) => df_edst(topology, &options, &tags.options()),
        };
        made.map_err(PlanError::new)
    }

    /// The options of one way of forwarding.
    fn options(&self, forwarding: &Forwarding, progress: &Arc<Progress>) -> FailoverOptions {
        FailoverOptions {
            protect: self.protect,
            stack: self.stack,
            seed: self.seed,
            progress: Arc::clone(progress),
            ..forwarding.options()
        }
    }
}

impl Forwarding {
    /// The forwarding of a scheme: options that mean nothing for it are not looked at.
    fn of(spec: &PlanSpec, scheme: FailoverScheme) -> Self {
        let marks = Marks {
            default_tree: spec.default_tree,
            mark_trees: spec.mark_trees,
        };
        match scheme {
            FailoverScheme::DfEdst => {
                let transitions = transitions(spec);
                let usual = match transitions.kind {
                    TransitionKind::NoRes | TransitionKind::Line => 0,
                    _ => 1,
                };
                Self::TreeGraph {
                    resilience: spec.resilience.unwrap_or(usual),
                    trees: spec.trees,
                    transitions,
                    marks,
                }
            }
            scheme if scheme.by_trees() => Self::Trees {
                scheme,
                survive: match (spec.trees, spec.resilience) {
                    (Some(trees), _) => Survive::Trees(trees),
                    (None, failures) => Survive::Failures(failures.unwrap_or(1)),
                },
                growth: spec
                    .growth
                    .map_or_else(TreeGrowth::default, |growth| growth.0),
                marks,
                // Trees take no common ways.
                paths: match spec.path_policy() {
                    PathPolicy::FirstShortest => PathPolicy::FirstShortest,
                    _ => PathPolicy::RandomShortest,
                },
            },
            scheme => Self::Routes {
                scheme,
                resilience: spec.resilience.unwrap_or(1),
                output: match spec.source_routes {
                    true => Output::SourceRoutes,
                    false => Output::HopByHop,
                },
                compress: spec.compress,
                paths: spec.path_policy(),
            },
        }
    }

    /// The same for important destinations, which survive this number of failures.
    fn surviving(self, failures: Option<u8>) -> Self {
        match self {
            Self::Routes {
                scheme,
                output,
                compress,
                paths,
                ..
            } => Self::Routes {
                scheme,
                resilience: failures.unwrap_or(1),
                output,
                compress,
                paths,
            },
            Self::Trees {
                scheme,
                growth,
                marks,
                paths,
                ..
            } => Self::Trees {
                scheme,
                survive: failures.map_or(Survive::All, Survive::Failures),
                growth,
                marks,
                paths,
            },
            graph @ Self::TreeGraph { .. } => graph,
        }
    }

    const fn takes_all_trees(self) -> bool {
        matches!(
            self,
            Self::Trees {
                survive: Survive::All,
                ..
            }
        )
    }

    fn options(self) -> FailoverOptions {
        match self {
            Self::Routes {
                scheme,
                resilience,
                output,
                compress,
                paths,
            } => FailoverOptions {
                resilience,
                output,
                compress,
                paths,
                ..FailoverOptions::new(scheme)
            },
            Self::Trees {
                scheme,
                survive,
                growth,
                marks,
                paths,
            } => {
                let usual = FailoverOptions::new(scheme);
                FailoverOptions {
                    resilience: match survive {
                        Survive::Failures(failures) => failures,
                        Survive::Trees(_) | Survive::All => usual.resilience,
                    },
                    trees: match survive {
                        Survive::Trees(trees) => Some(trees),
                        Survive::Failures(_) | Survive::All => None,
                    },
                    growth,
                    default_tree: marks.default_tree,
                    mark_trees: marks.mark_trees,
                    paths,
                    ..usual
                }
            }
            Self::TreeGraph {
                resilience,
                trees,
                transitions,
                marks,
            } => FailoverOptions {
                resilience,
                trees,
                transitions,
                default_tree: marks.default_tree,
                mark_trees: marks.mark_trees,
                ..FailoverOptions::new(FailoverScheme::DfEdst)
            },
        }
    }
}

/// To which trees packets may change.
fn transitions(spec: &PlanSpec) -> TransitionOptions {
    let usual = TransitionOptions::new(spec.ttg.map_or(TransitionKind::T, |graph| graph.0));
    TransitionOptions {
        order: spec.tree_order.map_or(usual.order, |order| order.0),
        channels: spec.channels.unwrap_or(usual.channels),
        initial: spec.initial_trees,
        subset: spec.subset,
        connected: spec.connect_layers,
        ..usual
    }
}

impl LosslessTags {
    fn of(spec: &PlanSpec, scheme: FailoverScheme, spelling: Spelling) -> Result<Self, PlanError> {
        let tags = || Tags::of(spec, CarrierKind::Shim, spelling);
        Ok(match (spec.lossless, scheme) {
            (Some(_), _) => Self::Rising(tags()?),
            (None, FailoverScheme::DfFi) => Self::Channels(spec.channels.unwrap_or(1), tags()?),
            (None, FailoverScheme::DfEdst) => Self::Trees(tags()?),
            (None, _) => Self::None,
        })
    }
}

impl ImportantHosts {
    fn of(spec: &PlanSpec, spelling: Spelling) -> Result<Option<Self>, PlanError> {
        let important = spelling.option("important");
        let scheme = match (spec.important_scheme, spec.important.is_empty()) {
            (Some(scheme), false) => scheme.0.0,
            (None, true) if spec.important_resilience.is_none() => return Ok(None),
            (scheme, true) => {
                let option = match scheme {
                    Some(_) => "important_scheme",
                    None => "important_resilience",
                };
                let problem = format!(
                    "{} is for {important}, which names no host",
                    spelling.option(option)
                );
                let hosts = spelling.with_value("important", "HOST,...");
                let help = format!("name hosts with {hosts}, or leave it out");
                return Err(PlanError::new(problem).help(help));
            }
            (None, false) => {
                let problem = format!("{important} names hosts, but no scheme for packets to them");
                let names = ImportantScheme::names().join("|");
                let choice = spelling.with_value("important_scheme", &names);
                return Err(PlanError::new(problem).help(format!("choose one with {choice}")));
            }
        };
        Ok(Some(Self {
            hosts: spec.important.clone(),
            forwarding: Forwarding::of(spec, scheme).surviving(spec.important_resilience),
        }))
    }

    /// The hosts of a topology.
    fn found(
        &self,
        topology: &Topology,
        spelling: Spelling,
    ) -> Result<BTreeSet<topology::HostId>, PlanError> {
        let option = spelling.option("important");
        let refuse = |problem: String| {
            let problem = format!("{option}: {problem}");
            Err(PlanError::new(problem).help("name hosts of the topology"))
        };
        let mut hosts = BTreeSet::new();
        for name in &self.hosts {
            match topology.node(name) {
                Some(NodeId::Host(host)) => drop(hosts.insert(host)),
                Some(NodeId::Switch(_)) => {
                    return refuse(format!("`{name}` is a switch, and destinations are hosts"));
                }
                None => return refuse(format!("there is no host `{name}`")),
            }
        }
        Ok(hosts)
    }
}

impl SchemeKind {
    /// Whether its packets keep lossless channels of their own.
    pub(super) const fn has_channels(self) -> bool {
        matches!(
            self,
            Self::Failover(FailoverScheme::DfFi | FailoverScheme::DfEdst)
        )
    }
}

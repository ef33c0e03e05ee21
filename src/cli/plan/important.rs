//! Options of `plan` for important destinations: another failover scheme for packets to some hosts
//! (Stephens15 section 4.9).

use clap::{Args, ValueEnum};
use schemes::failover::{FailoverOptions, FailoverScheme, Important, PathPolicy, TreeGrowth};
use topology::{NodeId, Topology};

use super::super::fault::Fault;

/// Failover schemes that can stand beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ImportantScheme {
    /// By the way that a packet has come.
    Plinko,
    /// By the set of failures that a packet has met.
    Fcp,
    /// By the number of the route that a packet follows.
    MplsFrr,
    /// Over edge-disjoint spanning trees.
    Edst,
    /// Over arc-disjoint spanning trees toward every destination.
    Adst,
}

impl ImportantScheme {
    const fn failover(self) -> FailoverScheme {
        match self {
            Self::Plinko => FailoverScheme::Plinko,
            Self::Fcp => FailoverScheme::Fcp,
            Self::MplsFrr => FailoverScheme::MplsFrr,
            Self::Edst => FailoverScheme::Edst,
            Self::Adst => FailoverScheme::Adst,
        }
    }
}

/// Which destinations are important, and how packets to them survive failures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Important destinations")]
pub(super) struct ImportantArgs {
    /// Hosts to which packets survive failures by --important-scheme, beside all others by --scheme
    /// (Stephens15 section 4.9); with plinko, fcp, mpls-frr, edst and adst.
    #[arg(long, value_delimiter = ',', value_name = "HOST,...")]
    important: Vec<String>,
    /// The scheme for the hosts of --important.
    #[arg(long, value_enum, value_name = "SCHEME")]
    important_scheme: Option<ImportantScheme>,
    /// How many failures at once packets to them survive [default: 1; with edst and adst, as many
    /// as there are trees for].
    #[arg(long, value_name = "T")]
    important_resilience: Option<u8>,
}

impl ImportantArgs {
    /// The scheme for important destinations, if there are some.
    pub(super) fn scheme(&self) -> Option<FailoverScheme> {
        self.important_scheme.map(ImportantScheme::failover)
    }

    /// The important destinations, if there are some; the rest is planned by these options.
    pub(super) fn of(
        &self,
        topology: &Topology,
        rest: &FailoverOptions,
    ) -> Result<Option<Important>, Fault> {
        let scheme = match (self.scheme(), self.important.is_empty()) {
            (Some(scheme), false) => scheme,
            (None, true) if self.important_resilience.is_none() => return Ok(None),
            (scheme, true) => {
                let option = if scheme.is_some() {
                    "--important-scheme"
                } else {
                    "--important-resilience"
                };
                return Err(Fault::input(format!(
                    "`{option}` is for `--important`, which names no host"
                ))
                .help("name hosts with `--important HOST,...`, or leave it out"));
            }
            (None, false) => {
                return Err(Fault::input(
                    "`--important` names hosts, but no scheme for packets to them",
                )
                .help("choose one with `--important-scheme plinko|fcp|mpls-frr|edst|adst`"));
            }
        };
        let mut important = Important {
            hosts: [].into(),
            all_trees: scheme.by_trees() && self.important_resilience.is_none(),
            options: Box::new(own_options(scheme, self.important_resilience, rest)),
        };
        for name in &self.important {
            match topology.node(name) {
                Some(NodeId::Host(host)) => drop(important.hosts.insert(host)),
                Some(NodeId::Switch(_)) => {
                    return Err(Fault::input(format!(
                        "--important: `{name}` is a switch, and destinations are hosts"
                    ))
                    .help("name hosts of the topology"));
                }
                None => {
                    return Err(
                        Fault::input(format!("--important: there is no host `{name}`"))
                            .help("name hosts of the topology"),
                    );
                }
            }
        }
        Ok(Some(important))
    }
}

/// What is asked of the rest, as far as it means something for the scheme of important
/// destinations.
fn own_options(
    scheme: FailoverScheme,
    resilience: Option<u8>,
    rest: &FailoverOptions,
) -> FailoverOptions {
    let usual = FailoverOptions {
        resilience: resilience.unwrap_or(1),
        protect: rest.protect,
        stack: rest.stack,
        seed: rest.seed,
        progress: rest.progress.clone(),
        ..FailoverOptions::new(scheme)
    };
    if scheme.by_trees() {
        return FailoverOptions {
            growth: rest.growth,
            default_tree: rest.default_tree,
            mark_trees: rest.mark_trees,
            paths: of_trees(rest.paths),
            ..usual
        };
    }
    FailoverOptions {
        output: rest.output,
        compress: rest.compress,
        paths: rest.paths,
        ..usual
    }
}

/// The policy of trees, which take no common ways.
const fn of_trees(paths: PathPolicy) -> PathPolicy {
    match paths {
        PathPolicy::FirstShortest => PathPolicy::FirstShortest,
        _ => PathPolicy::RandomShortest,
    }
}

/// What is left for the rest of options that shape the one of the two schemes that they mean
/// something for.
pub(super) fn for_rest(options: FailoverOptions) -> FailoverOptions {
    let usual = FailoverOptions::new(options.scheme);
    if options.scheme.by_trees() {
        return FailoverOptions {
            output: usual.output,
            compress: usual.compress,
            paths: of_trees(options.paths),
            ..options
        };
    }
    FailoverOptions {
        growth: TreeGrowth::Shallow,
        default_tree: usual.default_tree,
        mark_trees: usual.mark_trees,
        ..options
    }
}

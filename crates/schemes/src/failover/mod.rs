//! Local fast failover (Stephens15 chapter 4): backup ways for arbitrary failed links, chosen by
//! the switches themselves from the status of their own ports.
//!
//! | scheme | header | module |
//! |---|---|---|
//! | Plinko | the reverse route | [`resilient`] (Algorithm 1) |
//! | MPLS-FRR | a number for every route | [`resilient`] (Algorithm 1) |
//! | FCP | a number for the set of failures | [`sets`] |
//! | EDST | the failed trees | [`packing`], [`trees`] (Algorithm 2) |
//! | ADST | the failed trees | [`arborescences`], [`trees`] (Algorithm 3) |
//! | DF-FI | the reverse route, a channel | [`resilient`], [`channels`], [`dependency`] (section 5.1) |
//! | DF-EDST | a channel, if there are several | [`df_edst`] (section 5.2) |
//! | none, disjoint paths of a Flattened Clos | the route | [`disjoint`] (FC23) |
//! | none, one way for every pair, in virtual lanes | the route | [`lanes`] (Domke11) |
//!
//! Any of them can have lossless tags that rise ([`lossless`]). Some destinations can be planned by
//! another of them than all others ([`important`], section 4.9).
//!
//! Every destination is planned by itself, with random numbers of its own, so that destinations are
//! planned side by side and the tables do not depend on how many cores there are.

mod arborescences;
mod channels;
mod compress;
mod dependency;
mod df_edst;
mod disjoint;
mod important;
mod index;
mod lanes;
mod layering;
mod lossless;
mod options;
mod packing;
mod paths;
mod placed;
mod resilient;
mod roots;
mod sets;
mod shallow;
mod trees;

#[cfg(test)]
mod goldens;
#[cfg(test)]
mod tests;

use plan::failover::{
    Claim, Destination, Element, Failover, LabelKind, MAX_HOPS, Output, SwitchTable, Target,
    Ternary, WIDEST,
};
use plan::{Provenance, Tables};
use quantities::{PortId, Progress};
use rayon::prelude::*;
use thiserror::Error;
use topology::{Fabric, SwitchId, Topology};

pub use arborescences::arborescences;
pub use channels::MAX_WALKS;
pub use compress::{CompressError, Compressed, compress, compress_beside, equivalent, keeps_clear};
pub use df_edst::{TransitionKind, TransitionOptions, TreeOrder};
pub use disjoint::{SourceRouteOptions, source_routes};
pub use important::Important;
pub use lanes::{LaneCount, LaneRouting, count_lanes, virtual_lanes};
pub use lossless::{Method, lossless};
use options::stack_for;
pub use options::{FailoverOptions, FailoverScheme, PathPolicy, TreeGrowth, USUAL_STACK};
pub use packing::{Packing, pack};
pub use roots::Roots;
pub use shallow::{Forest, shallow_pack};
pub use trees::TreeSet;

use crate::{SchemeError, TaggerOptions};
use df_edst::Channels;
use lossless::{lossless_within, with_tags};
use paths::Ways;
use placed::{BySwitch, Placed};

/// Why there are no failover tables; each message says how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FailoverError {
    /// A port beyond the port status.
    #[error(
        "port {port} of switch `{switch}` leads to another switch, but the port status that rules match ends at port \
         {WIDEST}; number the ports of `{switch}` lower"
    )]
    Port {
        /// The switch.
        switch: String,
        /// The port.
        port: PortId,
    },
    /// Ways longer than the header has room for.
    #[error(
        "with resilience {resilience} a packet may cross {needed} switches, but its header holds {stack} hops; ask for a \
         lower `--resilience` or, up to {MAX_HOPS}, a deeper `--stack`"
    )]
    Stack {
        /// Resilience asked for.
        resilience: u8,
        /// Hops needed.
        needed: usize,
        /// Hops that there are.
        stack: usize,
    },
    /// Paths longer than the header has room for.
    #[error(
        "disjoint paths of up to {needed} links do not fit a header of {stack} hops; ask for a deeper `--stack`, up to {MAX_HOPS}"
    )]
    Paths {
        /// Links of the longest.
        needed: usize,
        /// Hops that there are.
        stack: usize,
    },
    /// Two switches that no path up and down joins.
    #[error(
        "no way up, then down leads from `{from}` to `{to}` through {layers} virtual layers, so there is no disjoint path to write \
         into a header; make a network of more layers (`topo flattened-clos --layers {}`), repair links, or plan tables by \
         destination (leave out `--source-routes`)",
        layers + 1
    )]
    Apart {
        /// The first switch.
        from: String,
        /// The last switch.
        to: String,
        /// Virtual layers of the topology.
        layers: usize,
    },
    /// Ways longer than any header.
    #[error(
        "ways cross up to {needed} links, but a header holds at most {most} hops; choose routes that need none (`--routes shortest`)"
    )]
    LongWays {
        /// Links of the longest.
        needed: usize,
        /// Hops that there can be.
        most: u8,
    },
    /// More failures than links to fail.
    #[error(
        "resilience {resilience} is beyond this topology, which has {links} links between switches; ask for at most that"
    )]
    Resilience {
        /// Resilience asked for.
        resilience: u8,
        /// Links between switches.
        links: usize,
    },
    /// More trees than the topology has.
    #[error(
        "{asked} {kind} disjoint trees are needed (one more than the failures to survive), but this \
         topology has {found}{place}; choose `--trees {found}`, which survives {resilience}, or a scheme without trees (plinko)"
    )]
    Trees {
        /// `edge` or `arc`.
        kind: &'static str,
        /// Trees asked for.
        asked: usize,
        /// Trees that there are.
        found: usize,
        /// Toward which switch, if that matters.
        place: String,
        /// Resilience of as many trees as there are.
        resilience: usize,
    },
    /// An option that means nothing for a scheme.
    #[error("`{option}` means nothing for {scheme}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// The scheme.
        scheme: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// More trees to important destinations than the topology has.
    #[error(
        "{asked} {kind} disjoint trees to important hosts are needed (one more than the failures to survive), but this topology has \
         {found}{place}; ask for `--important-resilience {resilience}`, or leave it out"
    )]
    ImportantTrees {
        /// `edge` or `arc`.
        kind: &'static str,
        /// Trees asked for.
        asked: usize,
        /// Trees that there are.
        found: usize,
        /// Toward which switch, if that matters.
        place: String,
        /// Resilience of as many trees as there are.
        resilience: usize,
    },
    /// An important host that packets cannot reach.
    #[error(
        "host `{host}` has no live link, so no packet reaches it; leave it out of `--important`"
    )]
    ImportantHost {
        /// The host.
        host: String,
    },
    /// Nothing is left for the scheme of the rest.
    #[error(
        "every host is named as important, so nothing is left for the other scheme; plan with `--scheme {scheme}` alone"
    )]
    AllImportant {
        /// The scheme of important destinations.
        scheme: &'static str,
    },
    /// The tables are more than can be numbered.
    #[error("{0}; ask for less resilience or a smaller network")]
    TooLarge(&'static str),
    /// Compression went wrong.
    #[error(transparent)]
    Compress(#[from] CompressError),
    /// A plan without failover tables.
    #[error(
        "the plan has no failover tables, whose ways could be kept lossless; choose a failover scheme"
    )]
    NoTables,
    /// More ways under failures than can be looked at.
    #[error(
        "packets have more than {most} ways under the failures that the tables survive; ask for a lower `--resilience`, or \
         route to switches (`--multipath 1`)"
    )]
    Walks {
        /// How many can be.
        most: u64,
    },
    /// Trees that guarantee less than was asked for.
    #[error(
        "{trees} trees with the transition graph `{kind}` guarantee that {guaranteed} failures are survived, not {asked}; ask for \
         `--resilience {guaranteed}`, fewer `--initial-trees`, a larger `--subset`, or another `--ttg`"
    )]
    Guarantee {
        /// Failures that were to be survived.
        asked: usize,
        /// Failures that are.
        guaranteed: usize,
        /// The transition graph.
        kind: &'static str,
        /// How many trees it has.
        trees: usize,
    },
    /// A unit that no channel can hold.
    #[error(
        "the ways from `{source_switch}` to {destination} that begin with one link close a cycle of buffers by themselves, so no \
         channel can hold them; ask for a lower `--resilience`, another `--seed`, or `--lossless rising`"
    )]
    CyclicUnit {
        /// Where they begin.
        source_switch: String,
        /// Where they end, in words.
        destination: String,
    },
    /// More channels than can be numbered.
    #[error(
        "{needed} channels are needed, but at most {most} can be numbered; use `--lossless rising`"
    )]
    Channels {
        /// Channels needed.
        needed: usize,
        /// Channels that there are.
        most: usize,
    },
    /// The ways cannot have tags.
    #[error(transparent)]
    Tags(#[from] SchemeError),
}

/// Destinations planned before their rules go to the tables: bounds the memory in between.
const BATCH: usize = 64;

/// Computes the failover tables of a topology.
///
/// # Errors
/// [`FailoverError`] if the options do not suit the topology.
pub fn failover(topology: &Topology, options: &FailoverOptions) -> Result<Tables, FailoverError> {
    options.check()?;
    let mut network = Network::new(topology, options)?;
    network.order = order_of_links(&network)?;
    let failover = match &options.important {
        Some(important) => important::tables(network, important)?,
        None => network.tables()?,
    };
    let mut provenance = Provenance::ours(options.scheme.name(), "");
    provenance.seed = options.seed;
    provenance.options = options.describe();
    Ok(Tables::failover_only(
        topology.clone(),
        provenance,
        failover,
    ))
}

/// The order of links that backup ways of DF-FI follow as far as they can, so that many of them fit
/// into one channel (ours). In a network of two layers links are ordered by their upper switch,
/// each one's links up before those down. In others by what a first plan without order has: such
/// that the fewest of its ways lead backward.
fn order_of_links(network: &Network<'_>) -> Result<Option<Vec<u32>>, FailoverError> {
    let options = network.options;
    if options.scheme != FailoverScheme::DfFi {
        return Ok(None);
    }
    if let Some(order) = channels::by_upper_switch(&network.fabric) {
        return Ok(Some(order));
    }
    let plain = FailoverOptions {
        compress: false,
        ..options.clone()
    };
    let first = Network::new(network.topology, &plain)?.tables()?;
    Ok(channels::order(network.topology, &network.fabric, &first))
}

/// Computes failover tables whose packets can be lossless.
///
/// # Errors
/// [`FailoverError`] if the options do not suit the topology, or the ways cannot have tags.
pub fn lossless_failover(
    topology: &Topology,
    options: &FailoverOptions,
    method: Method,
    tagger: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    // Rules that give channels tell destinations apart that others do not, so they are compressed
    // with their channels.
    let late = options.compress && matches!(method, Method::Channels(_));
    let plain = FailoverOptions {
        compress: options.compress && !late,
        ..options.clone()
    };
    let first = failover(topology, &plain).and_then(|tables| lossless(tables, method, tagger));
    let mut tables = match method {
        Method::Channels(least) if options.scheme == FailoverScheme::DfFi => {
            within_channels(topology, &plain, first, least, tagger)?
        }
        _ => first?,
    };
    if let (true, Some(failover)) = (late, &mut tables.failover) {
        compress_all(failover, &[], &options.progress)?;
        let options = &mut tables.provenance.options;
        options.insert("compress".to_owned(), late.to_string());
    }
    Ok(tables)
}

/// Tables of DF-FI whose ways are chosen within as many channels as a switch has priorities, where
/// the first need more or cannot have channels; the first if there are none.
fn within_channels(
    topology: &Topology,
    options: &FailoverOptions,
    first: Result<Tables, FailoverError>,
    least: u8,
    tagger: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    let most = tagger.budget.lossless_priorities;
    match &first {
        Ok(tables) if tables.tagging.priorities.len() <= usize::from(most) => return first,
        Ok(_) | Err(FailoverError::CyclicUnit { .. } | FailoverError::Channels { .. }) => {}
        Err(_) => return first,
    }
    let network = Network::new(topology, options)?;
    let Some((failover, chosen)) = dependency::plan(&network, most)? else {
        return first;
    };
    let mut provenance = Provenance::ours(options.scheme.name(), "");
    provenance.seed = options.seed;
    provenance.options = options.describe();
    let made = &mut provenance.options;
    made.insert("within-channels".to_owned(), most.to_string());
    let tables = Tables::failover_only(topology.clone(), provenance, failover);
    lossless_within(tables, &chosen, least, tagger)
}

/// Computes failover tables of DF-EDST whose packets are lossless: a priority for each channel.
///
/// # Errors
/// [`FailoverError`] if the options do not suit the topology.
pub fn df_edst(
    topology: &Topology,
    options: &FailoverOptions,
    tagger: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    let mut tables = failover(topology, options)?;
    let channels = Channels::find(&Fabric::new(topology), options)?;
    let tagged = channels.lossless(&mut tables, tagger)?;
    with_tags(tables, "trees", tagged, 1, tagger)
}

/// Compresses all tables, whose rules are to match no packets of foreign codes.
fn compress_all(
    failover: &mut Failover,
    foreign: &[u32],
    progress: &Progress,
) -> Result<(), FailoverError> {
    progress.begin(failover.tables.len() as u64);
    let compressed: Result<Vec<SwitchTable>, CompressError> = failover
        .tables
        .par_iter_mut()
        .map(|table| {
            let compressed = compress_beside(table, foreign)?;
            equivalent(table, &compressed.table)?;
            keeps_clear(&compressed.table, foreign)?;
            *table = SwitchTable::default();
            progress.advance(1);
            Ok(compressed.table)
        })
        .collect();
    failover.tables = compressed?;
    Ok(())
}

/// Refuses ports beyond the port status.
fn check_ports(topology: &Topology, fabric: &Fabric) -> Result<(), FailoverError> {
    match fabric.arcs().iter().find(|arc| arc.out_port > WIDEST) {
        None => Ok(()),
        Some(arc) => Err(FailoverError::Port {
            switch: topology.switch(arc.from).name.clone(),
            port: arc.out_port,
        }),
    }
}

/// A topology with what every destination's planner needs of it.
struct Network<'a> {
    topology: &'a Topology,
    options: &'a FailoverOptions,
    fabric: Fabric,
    /// The switches that packets enter the network at.
    sources: Vec<SwitchId>,
    destinations: Vec<Destination>,
    /// By arc: its place in an order that backup ways follow as far as they can.
    order: Option<Vec<u32>>,
    /// Codes of destinations that another scheme plans: rules must not match their packets.
    foreign: Vec<u32>,
    /// Whether there are to be as many trees as there can be.
    all_trees: bool,
}

impl<'a> Network<'a> {
    fn new(topology: &'a Topology, options: &'a FailoverOptions) -> Result<Self, FailoverError> {
        let fabric = Fabric::new(topology);
        check_ports(topology, &fabric)?;
        let links = fabric.arcs().len() / 2;
        if usize::from(options.resilience) > links {
            return Err(FailoverError::Resilience {
                resilience: options.resilience,
                links,
            });
        }
        let sources: Vec<SwitchId> = fabric.edge_switches().collect();
        let destinations = destinations(&fabric, &sources, options)?;
        Ok(Self {
            topology,
            options,
            fabric,
            sources,
            destinations,
            order: None,
            foreign: Vec::new(),
            all_trees: false,
        })
    }

    /// Tables without rules.
    fn empty(&self) -> Failover {
        let options = self.options;
        Failover {
            label: options.scheme.label(),
            output: options.output,
            claim: Claim {
                failures: u32::from(options.resilience),
                element: options.protect,
            },
            stack: stack_for(options.stack, 0),
            destinations: self.destinations.clone(),
            tables: vec![SwitchTable::default(); self.topology.switches().len()],
        }
    }

    /// Plans every destination and gathers the rules switch by switch.
    fn tables(&self) -> Result<Failover, FailoverError> {
        let options = self.options;
        let mut failover = self.empty();
        match options.scheme {
            FailoverScheme::Plinko | FailoverScheme::MplsFrr | FailoverScheme::DfFi => {
                self.gather(&mut failover, |destination| {
                    resilient::plan(self, destination)
                })?;
            }
            FailoverScheme::Fcp => {
                self.gather(&mut failover, |destination| sets::plan(self, destination))?;
            }
            FailoverScheme::DfEdst => {
                let channels = Channels::find(&self.fabric, options)?;
                let home = |destination: &Destination| destination.homes(self.topology)[0];
                let groups = self.destinations.chunk_by(|a, b| home(a) == home(b));
                let homes: Vec<(SwitchId, u32, usize)> = groups
                    .map(|group| (home(&group[0]), group[0].code, group.len()))
                    .collect();
                let switches: Vec<SwitchId> = homes.iter().map(|&(home, ..)| home).collect();
                failover.claim.failures = channels.guaranteed(&self.fabric, &switches)?;
                let beginnings = channels.beginnings(&self.fabric, &homes);
                let block = !(self.stride() - 1);
                self.gather(&mut failover, |destination| {
                    let group =
                        homes.partition_point(|&(_, first, _)| first <= destination.code) - 1;
                    let codes = Ternary::new(destination.code, block);
                    let to = (home(destination), &beginnings[group]);
                    Ok(channels.rules(&self.fabric, destination, codes, to))
                })?;
            }
            FailoverScheme::Edst | FailoverScheme::Adst => {
                let trees = self.trees()?;
                failover.claim.failures = u32::try_from(trees.count() - 1).unwrap_or(u32::MAX);
                self.gather(&mut failover, |destination| {
                    Ok(trees.rules(
                        &self.fabric,
                        destination.code,
                        destination.homes(self.topology)[0],
                    ))
                })?;
            }
        }
        if options.compress {
            compress_all(&mut failover, &self.foreign, &options.progress)?;
        }
        Ok(failover)
    }

    /// The disjoint trees to all destinations.
    fn trees(&self) -> Result<TreeSet, FailoverError> {
        if self.foreign.is_empty() {
            return TreeSet::find(self.topology, &self.fabric, self.options);
        }
        let homes = self.destinations.iter();
        let homes = homes.filter_map(|own| own.homes(self.topology).first().copied());
        let mut homes: Vec<SwitchId> = homes.collect();
        homes.sort_unstable();
        homes.dedup();
        let of = (self.topology, &self.fabric, self.options);
        if self.all_trees {
            return important::all_trees(of.0, of.1, of.2, &homes);
        }
        TreeSet::toward_all(of.0, of.1, of.2, &homes)
    }

    fn gather(
        &self,
        failover: &mut Failover,
        plan: impl Fn(&Destination) -> Result<Placed, FailoverError> + Sync,
    ) -> Result<(), FailoverError> {
        let progress = &self.options.progress;
        let tables = &mut failover.tables;
        let mut longest = 0;
        progress.begin(self.destinations.len() as u64);
        for batch in self.destinations.chunks(BATCH) {
            let planned: Vec<Result<BySwitch, FailoverError>> = batch
                .par_iter()
                .map(|destination| {
                    let rules = plan(destination)?.by_switch();
                    progress.advance(1);
                    Ok(rules)
                })
                .collect();
            // Of several errors always the first destination's.
            let planned: Vec<BySwitch> = planned.into_iter().collect::<Result<_, _>>()?;
            let own = planned.iter().map(|rules| rules.longest);
            longest = own.max().unwrap_or(0).max(longest);
            tables.par_iter_mut().enumerate().for_each(|(at, table)| {
                let switch = SwitchId::new(u32::try_from(at).unwrap_or(u32::MAX));
                for rule in planned.iter().flat_map(|rules| rules.of(switch)) {
                    table.push_copy(&rule);
                }
            });
        }
        tables.par_iter_mut().for_each(SwitchTable::shrink);
        failover.stack = stack_for(self.options.stack, longest);
        Ok(())
    }

    /// How far apart the codes of the switches' first routings are.
    fn stride(&self) -> u32 {
        stride(self.options)
    }

    /// Whether ways are built as the options say, for planners.
    fn ways(&self, destination: &Destination) -> Ways<'_> {
        let homes = destination.homes(self.topology);
        let mut ways = Ways::new(
            &self.fabric,
            homes,
            self.options,
            u64::from(destination.code),
        );
        ways.order = self.order.as_deref();
        ways
    }
}

/// The destinations: hosts, or switches with hosts, each as often as there are to be routings.
///
/// Codes count hosts in the order of their switches and ports, so that the hosts of a switch have
/// neighbouring codes, which compress well.
fn destinations(
    fabric: &Fabric,
    sources: &[SwitchId],
    options: &FailoverOptions,
) -> Result<Vec<Destination>, FailoverError> {
    let mut found: Vec<Destination> = Vec::new();
    match options.multipath {
        Some(ways) => {
            for (first, &switch) in (0..).step_by(stride(options) as usize).zip(sources) {
                let targets = (0..ways).map(|path| Target::Switch { switch, path });
                let numbered = (first..).zip(targets);
                found.extend(numbered.map(|(code, target)| Destination::new(code, target)));
            }
        }
        None => {
            let mut known = std::collections::BTreeSet::new();
            for &switch in sources {
                let hosts = fabric.attachments(switch).iter().map(|a| a.host);
                let fresh = hosts.filter(|&host| known.insert(host));
                let numbered = (u32::try_from(found.len()).unwrap_or(u32::MAX)..).zip(fresh);
                found.extend(
                    numbered.map(|(code, host)| Destination::new(code, Target::Host(host))),
                );
            }
        }
    }
    if found.last().is_some_and(|last| last.code >= 1 << 24) {
        return Err(FailoverError::TooLarge(
            "there are more destinations than a code of 24 bits can number",
        ));
    }
    Ok(found)
}

/// How far apart the codes of two switches' first routings are: where rules are shared by all
/// routings to a switch, a power of two.
fn stride(options: &FailoverOptions) -> u32 {
    let ways = u32::from(options.multipath.unwrap_or(1));
    match options.scheme {
        FailoverScheme::DfEdst => ways.next_power_of_two(),
        _ => ways,
    }
}

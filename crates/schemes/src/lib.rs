//! Schemes: one per system of the literature. Pure: topology, routes and options in, [`Tables`]
//! out.
//!
//! | scheme | algorithms | source |
//! |---|---|---|
//! | [`tagger`] | brute force, greedy, single-valued, optimal, Clos | Tagger17, TaggerDraft |
//! | [`ttl`] | tag = hop count, whatever the routes | TaggerDraft section 4.2 |
//! | [`flattened_clos`] | a rule per virtual layer and direction | FC23 |
//! | [`one_tag`] | none: what ECMP and k shortest paths do without tags | |
//! | [`failover`] | Plinko, FCP, MPLS-FRR, EDST, ADST, DF-FI, DF-EDST, source routes; lossless by lanes or by rising tags | Stephens15 chapters 4 and 5 |
//!
//! A scheme may be wrong: nothing of it is trusted. The proof in [`plan::check()`] reads
//! the tables alone.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

mod acyclic;
mod brute;
mod cells;
mod change;
mod classes;
mod components;
mod demand;
mod error;
mod exact;
pub mod failover;
mod flattened;
mod options;
mod single;
mod turn;
mod turns;

use plan::{Carrier, Class, Promise, Provenance, RuleForm, Tables, Tag, TagRule, Tagging};
use topology::routes::{RoutePolicy, RouteSet};
use topology::{Fabric, Topology};

pub use brute::GreedyCount;
pub use change::{FoundChange, LossyChange, Means, NoChange, find_change};
pub use error::SchemeError;
pub use options::{Algorithm, ClassSpec, TaggerOptions};
pub use single::Search;

use cells::{Cells, Squares};
use classes::ClassPlan;

/// The rules that an algorithm made, with the tags that they use.
struct Tagged {
    /// The tags, in rising order.
    tags: Vec<Tag>,
    classes: Vec<Class>,
    rules: Vec<Vec<TagRule>>,
}

/// Tagger: tags by one of its algorithms.
///
/// # Errors
/// [`SchemeError`] if the options do not suit the topology, or the algorithm cannot make a table.
pub fn tagger(topology: &Topology, options: &TaggerOptions) -> Result<Tables, SchemeError> {
    let algorithm = options.algorithm_for(topology);
    let routes = options.routes_for(topology, algorithm);
    let mut provenance = Provenance::ours("tagger", algorithm.name());
    let tagged = match algorithm {
        Algorithm::Optimal => {
            let (tagged, at_least) = optimal(topology, options, &routes)?;
            let known = &mut provenance.options;
            known.insert(TAGS_AT_LEAST.to_owned(), at_least.to_string());
            tagged
        }
        Algorithm::Clos => turns::clos(topology, options)?,
        Algorithm::SingleValued => single_valued(topology, options, &routes)?,
        Algorithm::BruteForce | Algorithm::Greedy => {
            by_hops(topology, options, algorithm, &routes)?
        }
    };
    provenance
        .options
        .insert("routes".to_owned(), routes.to_string());
    assemble(topology, options, provenance, tagged, &routes)
}

/// The option of a plan's provenance that says with how few tags single-valued rules can do, as far
/// as is known.
pub const TAGS_AT_LEAST: &str = "tags_at_least";

/// Tagger17's generalisation numbers tags from 0.
const FIRST_TAG: Tag = Tag::new(0);

/// Single-valued rules: different ones for every tag, or the same for all if several classes share
/// them.
fn single_valued(
    topology: &Topology,
    options: &TaggerOptions,
    routes: &RoutePolicy,
) -> Result<Tagged, SchemeError> {
    let set = RouteSet::new(topology, routes.clone())?;
    if options.classes.len() == 1 && options.classes[0].bounces.is_none() {
        return tables(set.fabric(), options, &single::single_valued(&set)?);
    }
    let (turns, rises) = single::uniform(&set)?;
    turns::tag_turns(topology, options, FIRST_TAG, rises, |switch| {
        turns[switch.index()].clone()
    })
}

/// Single-valued rules of as few tags as are found, and how few there can be.
fn optimal(
    topology: &Topology,
    options: &TaggerOptions,
    routes: &RoutePolicy,
) -> Result<(Tagged, usize), SchemeError> {
    if options.classes.len() > 1 || options.classes[0].bounces.is_some() {
        return Err(SchemeError::Classes {
            algorithm: Algorithm::Optimal.name(),
            classes: options.classes.len(),
        });
    }
    let set = RouteSet::new(topology, routes.clone())?;
    let found = single::optimal(&set, &options.search, options.seed)?;
    let tagged = tables(set.fabric(), options, &found.levels)?;
    Ok((tagged, found.at_least))
}

/// Algorithms 1 and 2 of Tagger17.
fn by_hops(
    topology: &Topology,
    options: &TaggerOptions,
    algorithm: Algorithm,
    routes: &RoutePolicy,
) -> Result<Tagged, SchemeError> {
    if options.classes.len() > 1 {
        return Err(SchemeError::Classes {
            algorithm: algorithm.name(),
            classes: options.classes.len(),
        });
    }
    let set = RouteSet::new(topology, routes.clone())?;
    let levels = match algorithm {
        Algorithm::Greedy => brute::greedy(topology, &set)?,
        _ => brute::brute_force(&set)?.levels,
    };
    tables(set.fabric(), options, &levels)
}

/// What Tagger17's Algorithm 2 makes of routes, as counts: its rules may have several new tags for
/// one key, which no table can hold.
///
/// # Errors
/// [`SchemeError`] if the routes do not suit the topology, or are longer than tags can count.
pub fn greedy_count(topology: &Topology, routes: &RoutePolicy) -> Result<GreedyCount, SchemeError> {
    let set = RouteSet::new(topology, routes.clone())?;
    brute::greedy_count(&set)
}

/// Rules from the tables of every level.
fn tables(
    fabric: &Fabric,
    options: &TaggerOptions,
    levels: &[Cells],
) -> Result<Tagged, SchemeError> {
    let rises = u8::try_from(levels.len().saturating_sub(1)).unwrap_or(u8::MAX);
    let (tags, classes) = ClassPlan::new(options).allot(FIRST_TAG, rises)?;
    let rules = Squares::new(fabric).rules(levels, &tags, options.form);
    Ok(Tagged {
        tags,
        classes,
        rules,
    })
}

/// TTL tagging (TaggerDraft section 4.2): the tag counts the switches that a packet has passed,
/// whatever its route, and after `hops` switches the packet turns lossy. By default `hops` is as
/// many as the longest shortest path has, and the shortest paths are promised.
///
/// # Errors
/// [`SchemeError`] if there are more classes and hops than tags.
pub fn ttl(
    topology: &Topology,
    hops: Option<u8>,
    options: &TaggerOptions,
) -> Result<Tables, SchemeError> {
    let promises_shortest = matches!(options.routes, None | Some(RoutePolicy::Shortest));
    let hops = match hops {
        Some(given) if promises_shortest => {
            let needed = turns::longest_shortest_path(topology)?;
            if given < needed {
                return Err(SchemeError::Hops { given, needed });
            }
            given
        }
        Some(given) => given.max(1),
        None => turns::longest_shortest_path(topology)?,
    };
    let tagged = turns::ttl(topology, hops, options)?;
    let shortest = || RoutePolicy::Shortest;
    let routes = options.routes.clone().unwrap_or_else(shortest);
    let mut provenance = Provenance::ours("ttl", "");
    provenance
        .options
        .insert("hops".to_owned(), hops.to_string());
    assemble(topology, options, provenance, tagged, &routes)
}

/// Flattened Clos (FC23): packets that climb through the virtual layers, then descend, keep their
/// tag, whatever their route; any other turn raises it, and after `bounces` such turns the packet
/// turns lossy. Ways with at most so many bounces are promised; packets are forwarded without any.
///
/// # Errors
/// [`SchemeError`] if the topology has no virtual layers.
pub fn flattened_clos(
    topology: &Topology,
    bounces: u8,
    options: &TaggerOptions,
) -> Result<Tables, SchemeError> {
    let tagged = flattened::rules(topology, options, bounces)?;
    let mut provenance = Provenance::ours("flattened-clos", "");
    let known = &mut provenance.options;
    known.insert("bounces".to_owned(), bounces.to_string());
    let routes = RoutePolicy::VirtualUpDown { bounces };
    assemble(topology, options, provenance, tagged, &routes)
}

/// One lossless tag for all turns of some routes: what networks do that know no tags. Nothing keeps
/// cycles of buffers away; the proof tells whether there are any.
///
/// # Errors
/// [`SchemeError`] if the routes do not suit the topology.
pub fn one_tag(
    topology: &Topology,
    scheme: &str,
    routes: &RoutePolicy,
    options: &TaggerOptions,
) -> Result<Tables, SchemeError> {
    let set = RouteSet::new(topology, routes.clone())?;
    let used = Cells::of_one_level(&brute::brute_force(&set)?.levels);
    let tagged = tables(set.fabric(), options, &[used])?;
    let mut provenance = Provenance::ours(scheme, "");
    let known = &mut provenance.options;
    known.insert("routes".to_owned(), routes.to_string());
    assemble(topology, options, provenance, tagged, routes)
}

/// Puts the parts of a plan together.
fn assemble(
    topology: &Topology,
    options: &TaggerOptions,
    mut provenance: Provenance,
    tagged: Tagged,
    routes: &RoutePolicy,
) -> Result<Tables, SchemeError> {
    provenance.seed = options.seed;
    let plan = ClassPlan::new(options);
    let promises = plan
        .promised(routes)
        .into_iter()
        .map(|(class, routes)| Promise { class, routes });
    let (carrier, tagging) = numbered(options, tagged, options.class_bits, &mut provenance)?;
    Ok(Tables {
        promises: promises.collect(),
        forwarding: forwarding(routes),
        failover: None,
        provenance,
        carrier,
        tagging,
        topology: topology.clone(),
        budget: options.budget.clone(),
    })
}

/// Rules with the codes and priorities of their tags.
fn numbered(
    options: &TaggerOptions,
    tagged: Tagged,
    class_bits: bool,
    provenance: &mut Provenance,
) -> Result<(Carrier, Tagging), SchemeError> {
    let (numbers, kind) = (&options.numbers, options.carrier);
    let codes = numbers.codes.iter().map(|code| code.get().to_string());
    let priorities = numbers.priorities.iter().map(ToString::to_string);
    let chosen: [(&str, &str, Vec<String>); 2] = [
        ("codes", "codes", codes.collect()),
        ("tag-priorities", "priorities", priorities.collect()),
    ];
    let tags = tagged.tags.len();
    let chosen = chosen.into_iter().filter(|(.., given)| !given.is_empty());
    for (option, what, given) in chosen {
        if given.len() > tags {
            let given = given.len();
            return Err(SchemeError::TooManyNumbers { what, given, tags });
        }
        let known = &mut provenance.options;
        known.insert(option.to_owned(), given.join(","));
    }
    let classes = class_bits.then_some(tagged.classes.len());
    let tagging = Tagging {
        classes: tagged.classes,
        class_bits,
        priorities: numbers.priorities(kind, &tagged.tags),
        form: options.form,
        rules: match options.form {
            RuleForm::Exact => exact::expand(tagged.rules),
            RuleForm::PortSets => tagged.rules,
        },
    };
    Ok((numbers.carrier(kind, &tagged.tags, classes), tagging))
}

/// Where packets go while nothing fails: shortest ways among the promised ones.
fn forwarding(routes: &RoutePolicy) -> RoutePolicy {
    match routes {
        RoutePolicy::UpDown { .. } => RoutePolicy::UpDown { bounces: 0 },
        RoutePolicy::VirtualUpDown { .. } => RoutePolicy::VirtualUpDown { bounces: 0 },
        RoutePolicy::AllSimple { .. } => RoutePolicy::Shortest,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;

//! Schemes: one per system of the seeds. Pure: topology, routes and options in, [`Tables`] out.
//!
//! | scheme | algorithms | source |
//! |---|---|---|
//! | [`tagger`] | brute force, greedy, single-valued, Clos | 000, 001, 002 |
//! | [`ttl`] | tag = hop count, whatever the routes | 002 section 4.2 |
//!
//! A scheme may be wrong: nothing of it is trusted. The proof in [`plan::check`](crate::plan::check) reads
//! the tables alone.

mod classes;
mod error;
mod options;
mod turns;

use crate::plan::{Carrier, Class, Promise, Provenance, Routes, Tables, Tag, TagRule, Tagging};
use crate::routes::RoutePolicy;
use crate::topology::Topology;

pub use error::SchemeError;
pub use options::{Algorithm, ClassSpec, TaggerOptions};

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
    let tagged = match algorithm {
        Algorithm::Clos => turns::clos(topology, options)?,
    };
    let mut provenance = Provenance::ours("tagger", algorithm.name());
    provenance
        .options
        .insert("routes".to_owned(), routes.to_string());
    Ok(assemble(topology, options, provenance, tagged, &routes))
}

/// TTL tagging (002 section 4.2): the tag counts the switches that a packet has passed, whatever its
/// route, and after `hops` switches the packet turns lossy. By default `hops` is as many as the longest
/// shortest path has, and the shortest paths are promised.
///
/// # Errors
/// [`SchemeError`] if there are more classes and hops than tags.
pub fn ttl(
    topology: &Topology,
    hops: Option<u8>,
    options: &TaggerOptions,
) -> Result<Tables, SchemeError> {
    let hops = match hops {
        Some(hops) => hops.max(1),
        None => turns::longest_shortest_path(topology)?,
    };
    let tagged = turns::ttl(topology, hops, options)?;
    let shortest = || Routes::Policy(RoutePolicy::Shortest);
    let routes = options.routes.clone().unwrap_or_else(shortest);
    let mut provenance = Provenance::ours("ttl", "");
    provenance
        .options
        .insert("hops".to_owned(), hops.to_string());
    Ok(assemble(topology, options, provenance, tagged, &routes))
}

/// Puts the parts of a plan together.
fn assemble(
    topology: &Topology,
    options: &TaggerOptions,
    mut provenance: Provenance,
    tagged: Tagged,
    routes: &Routes,
) -> Tables {
    provenance.seed = options.seed;
    let plan = ClassPlan::new(options);
    let promises = plan
        .promised(routes)
        .into_iter()
        .map(|(class, routes)| Promise { class, routes });
    Tables {
        promises: promises.collect(),
        forwarding: forwarding(routes),
        provenance,
        carrier: Carrier::numbered(
            options.carrier,
            tagged.tags.iter().copied(),
            options.class_bits,
        ),
        tagging: Tagging {
            classes: tagged.classes,
            class_bits: options.class_bits,
            priorities: tagged.tags.into_iter().zip((1..).map(Into::into)).collect(),
            form: options.form,
            rules: tagged.rules,
        },
        topology: topology.clone(),
        budget: options.budget.clone(),
    }
}

/// Where packets go while nothing fails: shortest ways among the promised ones.
fn forwarding(routes: &Routes) -> Routes {
    match routes {
        Routes::Policy(RoutePolicy::UpDown { .. }) => {
            Routes::Policy(RoutePolicy::UpDown { bounces: 0 })
        }
        Routes::Policy(RoutePolicy::AllSimple { .. }) => Routes::Policy(RoutePolicy::Shortest),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;

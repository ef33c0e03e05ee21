//! Why a scheme makes no tables.

use plan::{NewTag, Tag};
use quantities::PortId;
use thiserror::Error;
use topology::flattened::FlattenedError;
use topology::routes::RouteError;

/// Why a scheme makes no tables; each message says how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// The topology has no layers.
    #[error(
        "the `clos` algorithm needs a layered topology, but switch `{switch}` has no layer or is linked to a switch \
         of its own layer; set `layer` on every switch, or use `--algorithm single-valued`"
    )]
    NotLayered {
        /// A switch that breaks the layers.
        switch: String,
    },
    /// The routes are not the algorithm's.
    #[error(
        "the `{algorithm}` algorithm tags {expected}, not {given}; use `--algorithm single-valued` for those"
    )]
    Routes {
        /// The algorithm.
        algorithm: &'static str,
        /// What it is for.
        expected: &'static str,
        /// What was asked.
        given: String,
    },
    /// A policy does not suit the topology.
    #[error("{0}")]
    Policy(#[from] RouteError),
    /// There is no class.
    #[error("there is no lossless class; ask for at least one")]
    NoClass,
    /// More tags than a tag can count.
    #[error(
        "{needed} tags are needed, but at most {most} can be counted; ask for fewer classes, bounces or hops"
    )]
    TooManyTags {
        /// Tags needed.
        needed: usize,
        /// Tags that there are.
        most: usize,
    },
    /// More codes or priorities are chosen than there are tags.
    #[error(
        "{given} {what} are given, but the number of tags of this plan is {tags}; give at most {tags}, or ask for more \
         classes, bounces or hops"
    )]
    TooManyNumbers {
        /// Codes or priorities.
        what: &'static str,
        /// How many are given.
        given: usize,
        /// The tags of the plan.
        tags: usize,
    },
    /// Fewer hops than the promised routes have.
    #[error(
        "after {given} switches packets turn lossy, but the longest of the shortest paths, which are promised, has \
         {needed}; ask for `--hops {needed}` or more, or promise fewer routes (`--routes FILE`)"
    )]
    Hops {
        /// Switches that a packet may pass.
        given: u8,
        /// Switches that it must pass.
        needed: u8,
    },
    /// The topology is no Flattened Clos.
    #[error(transparent)]
    Flattened(#[from] FlattenedError),
    /// Merging tags gave one key two answers (Tagger17's Algorithm 2).
    #[error(
        "the greedy algorithm's rules are multi-valued: at switch `{switch}`, tag {tag} from port {in_port} to port \
         {out_port} becomes {first} on one route and {second} on another, and a table holds one answer; use \
         `--algorithm single-valued`"
    )]
    MultiValued {
        /// The switch.
        switch: String,
        /// The tag of the key.
        tag: Tag,
        /// The ingress port of the key.
        in_port: PortId,
        /// The egress port of the key.
        out_port: PortId,
        /// One answer.
        first: NewTag,
        /// The other.
        second: NewTag,
    },
    /// Several classes with an algorithm that cannot share tags among them.
    #[error(
        "the `{algorithm}` algorithm's rules differ from tag to tag, so {classes} classes cannot share tags; use \
         `--algorithm single-valued` or `clos`"
    )]
    Classes {
        /// The algorithm.
        algorithm: &'static str,
        /// How many classes were asked for.
        classes: usize,
    },
}

//! The evidence of the proof: what the tables of a plan are and do, each kind computed once.
//!
//! Nothing here decides whether a plan is right: that is what [`obligations`](super::obligations)
//! say of the evidence.

use topology::routes::forwarding::Routing;
use topology::routes::{RouteError, RoutePolicy};

use super::Options;
use super::certificate::GraphSize;
use super::error::PlanError;
use super::failures::FailureReport;
use super::forward::{self, Flattened, Followed};
use super::resilience::lossless::{self, Tags};
use super::resilience::{self, WalkSource};
use super::rules::Rules;
use super::rules::dependencies::Dependencies;
use super::shape;
use crate::failover::Failover;
use crate::model::Tables;
use crate::tag::ClassId;

/// Everything that the proof knows of a plan. What is absent could not be computed, because what it
/// is made from is wrong, or has no subject in the plan.
pub(super) struct Evidence<'a> {
    /// The plan.
    pub(super) tables: &'a Tables,
    /// What was asked for.
    pub(super) options: &'a Options,
    /// What names something that does not exist, in the failover tables or else the tag tables.
    pub(super) malformed: Vec<PlanError>,
    /// The tag rules.
    pub(super) tagging: Tagging<'a>,
    /// Of each promise, in order: what its first route that turns lossy is.
    pub(super) replays: Vec<Result<(), PlanError>>,
    /// Walks through failover tables under failures.
    pub(super) walks: Option<FailureReport>,
    /// Packets that were followed through the plan's own forwarding.
    pub(super) forwarding: Option<Result<Followed, RouteError>>,
}

/// What is known of the tag rules of a plan.
pub(super) enum Tagging<'a> {
    /// The plan has no lossless tags, or they refer to what does not exist.
    Unread,
    /// Rules of equal precedence match the same packet and disagree: an error for each switch.
    Ambiguous(Vec<PlanError>),
    /// The rules, and what the buffers that they fill may wait for.
    Read(Box<(Rules<'a>, Dependencies)>),
}

/// What can be read of a plan: that to which all its references lead somewhere.
pub(super) struct References<'a> {
    /// References that lead nowhere.
    pub(super) malformed: Vec<PlanError>,
    /// The failover tables, if the plan has any and they can be read.
    pub(super) failover: Option<&'a Failover>,
    /// Whether the plan has lossless tags and they can be read.
    pub(super) tags: bool,
}

impl<'a> References<'a> {
    /// Follows every reference. Tag tables are not looked at beside failover tables that are
    /// malformed.
    pub(super) fn new(tables: &'a Tables) -> Self {
        let mut malformed = Vec::new();
        if let Some(failover) = &tables.failover {
            malformed.extend(resilience::shape(&tables.topology, failover));
            malformed.extend(lossless::shape(tables, failover));
        }
        let readable = malformed.is_empty();
        if readable && tables.has_tags() {
            malformed.extend(shape::references(tables));
        }
        Self {
            failover: tables.failover.as_ref().filter(|_| readable),
            tags: tables.has_tags() && malformed.is_empty(),
            malformed,
        }
    }
}

impl<'a> Tagging<'a> {
    /// Spells the rules out and makes the graph over the buffers that they fill.
    pub(super) fn new(tables: &'a Tables, options: &Options, references: &References<'_>) -> Self {
        if !references.tags {
            return Self::Unread;
        }
        let rules = match Rules::new(tables) {
            Ok(rules) => rules,
            Err(conflicts) => return Self::Ambiguous(conflicts),
        };
        let failover = references.failover;
        let channels = failover.map(|failover| lossless::channels(failover, &rules));
        let channels = channels.unwrap_or_default();
        options.progress.checkpoint();
        let dependencies = Dependencies::new(&rules, &channels, &options.progress);
        Self::Read(Box::new((rules, dependencies)))
    }

    /// The rules and the dependencies of buffers, if the rules can be read.
    pub(super) fn read(&self) -> Option<(&Rules<'a>, &Dependencies)> {
        match self {
            Self::Read(read) => Some((&read.0, &read.1)),
            Self::Unread | Self::Ambiguous(_) => None,
        }
    }

    /// The size of the graph of buffers, if there is one.
    pub(super) fn graph(&self) -> Option<GraphSize> {
        let (_, dependencies) = self.read()?;
        Some(dependencies.size)
    }

    /// The tags of packets on their walks; walks are to tell what a cycle of buffers comes from.
    pub(super) fn on_walks(&self) -> Option<Tags<'_>> {
        let (rules, dependencies) = self.read()?;
        Some(Tags::new(rules, &dependencies.cycle))
    }

    /// Replays every promise.
    fn replays(&self, tables: &Tables) -> Vec<Result<(), PlanError>> {
        let Some((rules, _)) = self.read() else {
            return Vec::new();
        };
        let promises = tables.promises.iter();
        promises
            .map(|promise| super::promise::replay(rules, promise))
            .collect()
    }
}

impl<'a> Evidence<'a> {
    /// Computes all evidence. Packets are walked through failover tables here, or were before.
    pub(super) fn gather(tables: &'a Tables, options: &'a Options, source: WalkSource<'_>) -> Self {
        Self::gather_by(tables, None, options, source)
    }

    /// The same where entries were made before, by this routing of a network with the same
    /// switches and hosts; without one, they are those of the tables themselves.
    pub(super) fn gather_by(
        tables: &'a Tables,
        built: Option<&Result<Routing<'_>, RouteError>>,
        options: &'a Options,
        source: WalkSource<'_>,
    ) -> Self {
        let references = References::new(tables);
        let tagged = || {
            let tagging = Tagging::new(tables, options, &references);
            options.progress.checkpoint();
            let replays = tagging.replays(tables);
            (tagging, replays)
        };
        let forwards = tables.failover.is_none() && references.tags;
        // Neither asks anything of the other.
        let flatten = || match built {
            Some(Ok(routing)) => Ok(Flattened::new(&tables.topology, routing)),
            Some(Err(error)) => Err(error.clone()),
            None => Ok(Flattened::new(&tables.topology, &tables.routing()?)),
        };
        let flattened = || forwards.then(flatten);
        let ((tagging, replays), flattened) = rayon::join(tagged, flattened);
        options.progress.checkpoint();
        let walks = references.failover.map(|failover| {
            let how = (&options.failures, &*options.progress);
            let tags = tagging.on_walks();
            resilience::walk_all(&tables.topology, failover, how, tags.as_ref(), source)
        });
        let rules = tagging.read().map(|(rules, _)| rules);
        let shortest = kept_shortest(tables, &replays);
        let follow = |flattened| forward::follow(tables, flattened, rules, &shortest);
        let forwarding = flattened.map(|flattened| flattened.map(follow));
        options.progress.checkpoint();
        Self {
            malformed: references.malformed,
            tables,
            options,
            tagging,
            replays,
            walks,
            forwarding,
        }
    }

    /// The evidence of a plan of which nothing was computed.
    pub(super) fn of_references(
        tables: &'a Tables,
        options: &'a Options,
        references: References<'_>,
    ) -> Self {
        Self {
            malformed: references.malformed,
            tables,
            options,
            tagging: Tagging::Unread,
            replays: Vec::new(),
            walks: None,
            forwarding: None,
        }
    }

    /// Whether the buffer dependency graph is acyclic; `None` if it was not made.
    pub(super) fn is_acyclic(&self) -> Option<bool> {
        let (_, dependencies) = self.tagging.read()?;
        Some(dependencies.cycle.is_empty())
    }

    /// Whether no packet was seen to circulate; `None` if none was followed.
    pub(super) fn is_loop_free(&self) -> Option<bool> {
        if let Some(walks) = &self.walks {
            return Some(walks.loops == 0);
        }
        let followed = self.forwarding.as_ref()?.as_ref().ok()?;
        let circulates = |error: &PlanError| matches!(error, PlanError::Loop { .. });
        Some(!followed.errors.iter().any(circulates))
    }
}

/// The classes of which all shortest paths were shown to stay lossless.
fn kept_shortest(tables: &Tables, replays: &[Result<(), PlanError>]) -> Vec<ClassId> {
    let promises = tables.promises.iter().zip(replays);
    promises
        .filter(|(promise, kept)| promise.routes == RoutePolicy::Shortest && kept.is_ok())
        .map(|(promise, _)| promise.class)
        .collect()
}

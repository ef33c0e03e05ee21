//! The proof: reads the tables of a plan, and nothing else, and shows
//!
//! - **shape**: every name, tag, port and code that the plan refers to exists; rules of equal
//!   precedence that match the same packet agree;
//! - **priorities**: distinct tags have distinct lossless priorities, and there are enough;
//! - **no cyclic buffer dependency** for any routing whatever and any behaviour of the hosts: the
//!   graph over lossless ingress buffers (port, tag) that the rules make reachable from host-facing
//!   ports is acyclic, and tags never fall between switches (Tagger17, theorem 1);
//! - **promises**: every route that the plan promises stays lossless, replayed through the rules;
//! - **forwarding**: the plan's own forwarding has no loop and drops nothing that has a way;
//! - **failover**: with any so many failures, packets arrive if there is a way, and never circulate
//!   (see [`resilience`]); where the plan has lossless classes too, every packet that arrives stays
//!   lossless on its way, and the graph over buffers is that of all states of failure at once:
//!   whatever failed before and fails now, packets of both times together close no cycle;
//! - **budgets**: ports, TCAM bits, and PFC headroom within the buffer.
//!
//! Not an error, but told pair by pair: where the plan's own forwarding leaves what its tags keep
//! lossless ([`Forwarded`]).
//!
//! Not shown: that hosts drain what they receive (a host that pauses for ever stops its own
//! traffic).

mod arriving;
mod blocks;
pub(crate) mod checked;
mod depend;
mod destinations;
mod error;
mod failures;
mod flat;
mod forward;
mod lookup;
mod promise;
mod replay;
mod report;
pub mod resilience;
mod shape;
mod shortest;
mod strays;
mod walk;

use std::fmt;
use std::sync::Arc;

use quantities::Progress;
use thiserror::Error;

pub use arriving::HeadroomNeeded;
pub use error::{Buffer, Cycle, Fault, LostRoute, PlanError, PortName};
pub use failures::{FailureReport, LostPacket, PartReport, Sample};
pub use report::{CheckReport, PairWithout, PromisedPairs, Resilience, Verdict};
pub use resilience::{FailureOptions, ForeignShare, Share, WalkedShare};
pub use strays::{Forwarded, LossyWay};

use topology::Fabric;
use topology::routes::RoutePolicy;

use super::failover::Failover;
use super::model::Tables;
use super::tag::ClassId;
use checked::CheckedPlan;
use depend::Dependencies;
use forward::{Flattened, Walk};
use lookup::{Lookup, Ports};
use report::Verdicts;
use resilience::Walks;
use resilience::lossless::{self, Tags};

/// What the proof may be asked to leave out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether budgets count: off to see whether tables are sound apart from what today's switches
    /// have.
    pub budgets: bool,
    /// How failover tables are proven.
    pub failures: FailureOptions,
    /// Where to tell how much is proven of failover tables; all proofs end there when they are
    /// cancelled.
    pub progress: Arc<Progress>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            budgets: true,
            failures: FailureOptions::default(),
            progress: Arc::default(),
        }
    }
}

/// A refused plan: every error that was found, and the report.
#[derive(Clone, Debug, Error)]
pub struct CheckFailure {
    /// What is wrong; at least one error.
    pub errors: Vec<PlanError>,
    /// The same in figures.
    pub report: CheckReport,
}

impl CheckFailure {
    /// Whose fault the refusal is: malformed input outweighs a failed proof, which outweighs a
    /// target that is too small.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let faults = self.errors.iter().map(PlanError::fault);
        faults.min().unwrap_or(Fault::Proof)
    }
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Proves a plan.
///
/// # Errors
/// Every error that could be found: one cycle, one conflict per switch, one lost route per promise.
pub fn check(tables: Tables, options: &Options) -> Result<CheckedPlan, Box<CheckFailure>> {
    let mut proof = Proof::default();
    match &tables.failover {
        Some(failover) => proof.failover(&tables, failover, options),
        None => proof.routes(&tables, options),
    }
    let report = proof.outcome(&tables, options)?;
    Ok(CheckedPlan::witness(tables, report))
}

/// Walks packets through failover tables to a share of the destinations only, where one machine is
/// not enough.
///
/// # Errors
/// Tables that cannot be walked, or have no failover.
pub fn walk_share(
    tables: &Tables,
    options: &Options,
    share: Share,
) -> Result<WalkedShare, Box<CheckFailure>> {
    let mut proof = Proof {
        share: Some(share),
        ..Proof::default()
    };
    if let Some(failover) = &tables.failover {
        proof.failover(tables, failover, options);
    }
    proof.walked.ok_or_else(|| {
        let report = CheckReport::new(tables, &proof.errors, proof.verdicts, None, None);
        let errors = proof.errors;
        Box::new(CheckFailure { errors, report })
    })
}

/// The outcome of a check of failover tables whose walks were [shared out](walk_share): the report
/// of [`check`], from all shares. It is no witness, for the shares came from elsewhere.
///
/// # Errors
/// As [`check`].
pub fn check_shares(
    tables: &Tables,
    options: &Options,
    shares: &[WalkedShare],
) -> Result<Result<CheckReport, Box<CheckFailure>>, ForeignShare> {
    let mut proof = Proof {
        walks: Walks::Shares(shares),
        ..Proof::default()
    };
    if let Some(failover) = &tables.failover {
        WalkedShare::check_all(shares, &tables.topology, failover)?;
        proof.failover(tables, failover, options);
    }
    Ok(proof.outcome(tables, options))
}

/// What has been shown so far.
#[derive(Default)]
struct Proof<'a> {
    /// Where walks through failover tables come from.
    walks: Walks<'a>,
    /// The share of the destinations that is to be walked to and nothing else, and what that has
    /// shown.
    share: Option<Share>,
    walked: Option<WalkedShare>,
    errors: Vec<PlanError>,
    verdicts: Verdicts,
    failures: Option<FailureReport>,
    forwarded: Option<Forwarded>,
    /// Classes of which all shortest paths have been shown to stay lossless.
    shortest: Vec<ClassId>,
}

impl Proof<'_> {
    /// What it has come to.
    fn outcome(self, tables: &Tables, options: &Options) -> Result<CheckReport, Box<CheckFailure>> {
        let mut errors = self.errors;
        if !options.budgets {
            errors.retain(|error| error.fault() != Fault::Target);
        }
        let report = CheckReport::new(
            tables,
            &errors,
            self.verdicts,
            self.failures,
            self.forwarded,
        );
        if errors.is_empty() {
            return Ok(report);
        }
        Err(Box::new(CheckFailure { errors, report }))
    }

    /// Tables whose forwarding follows routes.
    fn routes(&mut self, tables: &Tables, options: &Options) {
        // Neither asks anything of the other.
        let (lookup, flattened) =
            rayon::join(|| self.tags(tables, options), || Flattened::new(tables));
        let Some(lookup) = lookup else {
            return;
        };
        options.progress.checkpoint();
        let (wrong, forwarded) = match flattened {
            Ok(flattened) => forwarding(tables, flattened, lookup.as_ref(), &self.shortest),
            Err(error) => (vec![error.into()], None),
        };
        options.progress.checkpoint();
        self.forwarded = forwarded;
        let followed = !wrong.iter().any(|e| matches!(e, PlanError::Routes(_)));
        let circulates = wrong.iter().any(|e| matches!(e, PlanError::Loop { .. }));
        self.verdicts.loop_free = followed.then_some(!circulates);
        self.errors.extend(wrong);
    }

    /// Failover tables, with or without lossless tags.
    fn failover(&mut self, tables: &Tables, failover: &Failover, options: &Options) {
        self.errors
            .extend(resilience::shape(&tables.topology, failover));
        self.errors.extend(lossless::shape(tables, failover));
        if !self.errors.is_empty() {
            return;
        }
        if tables.has_tags() {
            self.tags(tables, options);
        }
        if self.failures.is_none() && self.walked.is_none() {
            self.walks(tables, failover, options, None);
        }
    }

    /// Walks packets through failover tables, with their tags if those can be read.
    fn walks(
        &mut self,
        tables: &Tables,
        failover: &Failover,
        options: &Options,
        tags: Option<&Tags<'_>>,
    ) {
        let how = (&options.failures, &*options.progress);
        if let Some(share) = self.share {
            let walked = WalkedShare::walk(&tables.topology, failover, how, tags, share);
            self.walked = Some(walked);
            return;
        }
        let found = resilience::walk_all(&tables.topology, failover, how, tags, self.walks);
        self.verdicts.loop_free = Some(found.loops == 0);
        self.errors.extend(PlanError::of_failures(&found));
        self.failures = Some(found);
    }

    /// The lossless tags. Nothing where they refer to what does not exist; else their tables
    /// spelled out, if no rules disagree.
    fn tags(&mut self, tables: &Tables, options: &Options) -> Option<Option<Lookup>> {
        let wrong = shape::references(tables);
        let sound = wrong.is_empty();
        self.errors.extend(wrong);
        if !sound {
            return None;
        }
        self.errors.extend(shape::priorities(tables));
        self.errors.extend(shape::carrier(tables));
        if options.budgets {
            self.errors.extend(shape::budgets(tables));
        }
        match Lookup::new(tables) {
            Ok(lookup) => {
                self.behaviour(tables, options, &lookup);
                Some(Some(lookup))
            }
            Err(conflicts) => {
                self.errors.extend(conflicts);
                Some(None)
            }
        }
    }

    /// What following packets shows.
    fn behaviour(&mut self, tables: &Tables, options: &Options, lookup: &Lookup) {
        let ports = Ports::new(&tables.topology);
        let failover = tables.failover.as_ref();
        let channels = failover.map(|failover| lossless::channels(failover, lookup, &ports));
        let channels = channels.unwrap_or_default();
        let (mut graph, falls) = Dependencies::new(tables, &ports, lookup, &channels);
        self.errors.extend(falls);
        options.progress.checkpoint();
        let cycle = graph.shortest_cycle();
        options.progress.checkpoint();
        self.verdicts.cbd_free = Some(cycle.is_none());
        let cycle = cycle.unwrap_or_default();
        let mut described = graph.describe(&cycle);
        let limits = graph.passed_limits();
        if let Some(failover) = failover {
            self.errors
                .extend(lossless::within_switches(tables, lookup));
            let tags = Tags::new(tables, lookup, &ports, &cycle);
            self.walks(tables, failover, options, Some(&tags));
            let found = self.failures.iter_mut();
            described.causes = found.flat_map(|found| found.causes.drain(..)).collect();
        }
        if !cycle.is_empty() {
            self.errors.push(PlanError::Cycle(described));
        }
        self.errors.extend(limits);
        for promise in &tables.promises {
            match promise::promise(tables, lookup, promise) {
                Ok(()) if promise.routes == RoutePolicy::Shortest => {
                    self.shortest.push(promise.class);
                }
                Ok(()) => {}
                Err(lost) => self.errors.push(lost),
            }
        }
    }
}

/// Checks the forwarding that entries are made from: the first loop and the first dropped packet,
/// or else how much of the traffic stays lossless, which of the classes in `shortest` is known as
/// far as they go by shortest paths.
fn forwarding(
    tables: &Tables,
    Flattened { groups, families }: Flattened,
    lookup: Option<&Lookup>,
    shortest: &[ClassId],
) -> (Vec<PlanError>, Option<Forwarded>) {
    let topology = &tables.topology;
    let fabric = Fabric::new(topology);
    // What one family's walk is made from goes before the other's begins.
    let made = |family| Walk::new(topology, &fabric, &groups, family);
    let walks: Vec<Walk<'_>> = families.into_iter().map(made).collect();
    let mut errors: Vec<PlanError> = walks.iter().flat_map(Walk::errors).collect();
    errors.dedup();
    let forwarded = lookup
        .filter(|_| errors.is_empty())
        .map(|lookup| strays::forwarded(tables, lookup, &walks, shortest));
    (errors, forwarded)
}

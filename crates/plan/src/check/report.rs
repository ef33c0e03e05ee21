//! What `check` reports, as data.

use std::collections::BTreeSet;

use serde::Serialize;
use topology::Assumptions;
use topology::routes::{JoinedPairs, RoutePolicy, RouteSet};

use super::certificate::GraphSize;
use super::error::PlanError;
use super::evidence::Evidence;
use super::failures::{FailureReport, PartReport, Sample};
use super::forward::strays::Forwarded;
use crate::model::{Promise, Tables};

/// What a check has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything was computed: it holds.
    Proven,
    /// Nothing wrong was found, but sets of failures were drawn, not all explored.
    Sampled,
    /// Something does not hold; there is a counterexample.
    Refuted,
}

impl Verdict {
    /// The word, in text and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Sampled => "sampled",
            Self::Refuted => "refuted",
        }
    }
}

/// Resilience to failures, as far as a scheme claims any.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Resilience {
    /// Failures that the scheme claims to survive; where destinations differ, those that packets to
    /// any survive.
    pub claimed: u32,
    /// The largest number of simultaneous failures that was tried.
    pub checked_failures: u32,
    /// How many sets of failures were tried.
    pub sets_checked: u64,
    /// Whether that was all of them.
    pub exhaustive: bool,
    /// The most failures of which all sets were tried.
    pub exhaustive_failures: u32,
    /// What was drawn beyond them; `null` if all sets were tried.
    pub sample: Option<Sample>,
    /// The destinations by how their packets survive failures, where they differ; else absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartReport>,
    /// How many (set, source, destination) lost a packet that a route remained for. Where all sets
    /// are explored, sets that only add failures which the walk does not touch are not counted
    /// again.
    pub lost: u64,
    /// How many (set, source, destination) had a packet go in circles.
    pub loops: u64,
    /// How many packets were walked: sets that touch nothing on a walk are not walked again.
    pub walks: u64,
    /// How many (set, source, destination) had a packet arrive that turned lossy on its way; `null`
    /// without lossless class.
    pub lossy: Option<u64>,
    /// The fewest lossless priorities by which these ways can be lossless without a cycle of
    /// buffers, as far as is known (1 or 2); `null` without lossless class.
    pub priorities_at_least: Option<u32>,
    /// The greatest hops of a walk over the fewest possible, both counted from host to host; `null`
    /// where nothing was walked.
    pub stretch_max: Option<f64>,
}

impl Resilience {
    /// Of a plan that claims none: the packets that its forwarding drops, if that was `followed`,
    /// while nothing fails.
    fn of_routes(errors: &[PlanError], followed: bool) -> Self {
        let dropped = |error: &&PlanError| matches!(error, PlanError::BlackHole { .. });
        Self {
            sets_checked: u64::from(followed),
            exhaustive: followed,
            lost: errors.iter().filter(dropped).count() as u64,
            ..Self::default()
        }
    }
}

impl From<FailureReport> for Resilience {
    fn from(found: FailureReport) -> Self {
        Self {
            claimed: found.claimed,
            checked_failures: found.checked_failures,
            sets_checked: found.sets_checked,
            exhaustive: found.exhaustive,
            exhaustive_failures: found.exhaustive_failures,
            sample: found.sample,
            parts: found.parts,
            lost: found.lost,
            loops: found.loops,
            walks: found.walks,
            lossy: found.lossy,
            priorities_at_least: found.priorities_at_least,
            stretch_max: Some(found.stretch_max),
        }
    }
}

/// How many pairs of switches with hosts the plan promises anything: a route that stays lossless
/// or, with failover tables, delivery wherever a way remains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PromisedPairs {
    /// Pairs of a switch with hosts and another one, times the classes.
    pub pairs: u64,
    /// Of these, those with a promised route.
    pub with_route: u64,
    /// Of these, those without one: the plan promises them nothing.
    pub without_route: u64,
    /// The first pairs without one, at most a hundred, by class and switches.
    pub first_without: Vec<PairWithout>,
}

/// A pair of switches that the plan promises nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PairWithout {
    /// The name of the class; `null` where failover tables have none.
    pub class: Option<String>,
    /// The first switch.
    pub from: String,
    /// The last switch.
    pub to: String,
}

/// The outcome of a check. `check --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// What was shown, in a word.
    pub verdict: Verdict,
    /// Whether everything was shown: the verdict is [`Verdict::Proven`].
    pub proven: bool,
    /// Whether there is no cyclic buffer dependency, whatever the routing; `null` if that was not
    /// computed.
    pub cbd_free: Option<bool>,
    /// Why `cbd_free` is `null`, if it is.
    pub cbd_free_unknown: Option<&'static str>,
    /// How large the buffer dependency graph is, which was searched for a cycle; `null` if it was
    /// not made.
    pub graph: Option<GraphSize>,
    /// Whether no packet circulates: by the plan's own forwarding or, under every set of failures
    /// that was tried, by its failover tables; `null` if that was not computed, or sets of failures
    /// were drawn and none showed a loop.
    pub loop_free: Option<bool>,
    /// Lossless priorities that the plan's tags take.
    pub lossless_priorities: usize,
    /// The pairs of switches with hosts that the plan promises something; `null` if its promises
    /// cannot be read.
    pub promised: Option<PromisedPairs>,
    /// Where the plan's own forwarding turns lossy; `null` where failover tables forward, or that
    /// was not computed.
    pub forwarding: Option<Forwarded>,
    /// Resilience to failures.
    pub resilience: Resilience,
    /// The first error, in words.
    pub counterexample: Option<String>,
    /// What of the network nobody gave: the verdict holds if the assumed values do.
    #[serde(skip_serializing_if = "Assumptions::is_empty")]
    pub assumed: Assumptions,
    /// How long the check took; the caller, who has a clock, fills it in.
    pub seconds: f64,
}

impl CheckReport {
    /// The report of what was found.
    pub(super) fn new(evidence: Evidence<'_>, errors: &[PlanError], proven: bool) -> Self {
        let (cbd_free, loop_free) = (evidence.is_acyclic(), evidence.is_loop_free());
        let graph = evidence.tagging.graph();
        let Evidence {
            tables,
            walks: failures,
            forwarding,
            ..
        } = evidence;
        let worst = errors.iter().min_by_key(|error| error.fault());
        let priorities: BTreeSet<_> = tables.tagging.priorities.values().collect();
        let drawn = failures.as_ref().is_some_and(|found| !found.exhaustive);
        let verdict = match (proven, drawn) {
            (false, _) => Verdict::Refuted,
            (true, true) => Verdict::Sampled,
            (true, false) => Verdict::Proven,
        };
        Self {
            verdict,
            proven: verdict == Verdict::Proven,
            cbd_free,
            graph,
            cbd_free_unknown: cbd_free.is_none().then(|| {
                if tables.has_tags() {
                    "the tables are too broken to tell"
                } else {
                    "the plan has no lossless class"
                }
            }),
            loop_free: loop_free.filter(|free| !(*free && drawn)),
            lossless_priorities: priorities.len(),
            promised: promised(tables),
            forwarding: forwarding.and_then(|followed| followed.ok()?.lossless),
            resilience: match failures {
                Some(found) => Resilience::from(found),
                None => Resilience::of_routes(errors, loop_free.is_some()),
            },
            counterexample: worst.map(ToString::to_string),
            assumed: tables.topology.assumptions(),
            seconds: 0.0,
        }
    }

    /// The same report with the time that the check took.
    #[must_use]
    pub fn timed(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }
}

/// The largest number of pairs without a promised route that a report lists by name.
const MAX_NAMED: usize = 100;

/// The pairs that a plan promises something.
fn promised(tables: &Tables) -> Option<PromisedPairs> {
    let mut found = PromisedPairs::default();
    let Some(_) = &tables.failover else {
        for (number, class) in (0..).zip(&tables.tagging.classes) {
            let own = |promise: &&Promise| promise.class.index() == number;
            let routes: Vec<_> = tables.promises.iter().filter(own).collect();
            let routes = routes.into_iter().map(|promise| &promise.routes);
            found.add(tables, Some(&class.name), routes)?;
        }
        return Some(found);
    };
    // Whatever way there is.
    found.add(tables, None, std::iter::once(&RoutePolicy::Shortest))?;
    Some(found)
}

impl PromisedPairs {
    /// Adds the pairs of a class with these promises.
    fn add<'a>(
        &mut self,
        tables: &Tables,
        class: Option<&str>,
        routes: impl Iterator<Item = &'a RoutePolicy>,
    ) -> Option<()> {
        let topology = &tables.topology;
        let nothing = RoutePolicy::Explicit { routes: vec![] };
        let mut policies: Vec<&RoutePolicy> = routes.collect();
        policies.dedup();
        if policies.is_empty() {
            policies.push(&nothing);
        }
        // A pair needs a route of one of several promises.
        let most = match policies.len() {
            1 => MAX_NAMED,
            _ => usize::MAX,
        };
        let mut joined: Option<JoinedPairs> = None;
        for policy in policies {
            let set = RouteSet::new(topology, policy.clone()).ok()?;
            let own = set.joined_pairs(most);
            joined = Some(match joined {
                None => own,
                Some(before) => before.either(&own),
            });
        }
        let joined = joined?;
        self.pairs += joined.pairs;
        self.without_route += joined.apart;
        self.with_route += joined.pairs - joined.apart;
        let name = |switch| topology.switch(switch).name.clone();
        let room = MAX_NAMED.saturating_sub(self.first_without.len());
        let named = joined.named.into_iter().take(room);
        self.first_without
            .extend(named.map(|(from, to)| PairWithout {
                class: class.map(str::to_owned),
                from: name(from),
                to: name(to),
            }));
        Some(())
    }

    /// Whether some pair is promised nothing, or there is no pair at all.
    #[must_use]
    pub const fn has_gaps(&self) -> bool {
        self.without_route > 0 || self.pairs == 0
    }
}

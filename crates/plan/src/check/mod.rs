//! The proof of a plan: what is assumed, what is shown, and why that is enough.
//!
//! [`check()`] reads the tables of a plan and nothing else; it does not know which scheme computed
//! them. The code follows this page: `evidence.rs` computes what the tables are and do, each kind
//! of evidence once; `obligations.rs` lists what must hold of the evidence. A plan is proven if
//! every obligation holds, or speaks of something that the plan does not have.
//!
//! # Model
//!
//! *Network.* Switches with numbered ports, hosts, and links that join two ports each. Links and
//! switches may fail and return at any time.
//!
//! *Switch* (TaggerDraft section 6). A packet that comes in by port *i* with tag *t* and is sent
//! out of port *o* leaves with the tag *u* that the tag rules give as a function of its class,
//! *t*, *i* and *o*. From its arrival until it is sent, the packet is counted in the ingress
//! buffer of *i* and the priority of *t*; it waits in the egress queue of *o* and the priority of
//! *u*. A packet that no rule matches is *lossy* there and from then on: it may be dropped, and
//! pauses nobody. All other packets are *lossless*: they are dropped only if there is no room for
//! them.
//!
//! *PFC* (IEEE 802.1Qbb). While an ingress buffer holds more than a threshold, the switch pauses
//! its priority at the other end of the link. A paused egress queue sends nothing, and no other
//! queue is affected. *Headroom* is what a buffer has above the threshold, for the packets that
//! arrive before a pause takes effect (TaggerDraft section 3.3).
//!
//! # Definitions
//!
//! A *lossless ingress buffer* is a pair of a port and a tag. The *buffer dependency graph* has as
//! nodes all buffers that packets can get into: those of every port with a host, with every tag
//! and class; those behind a link on which a failover rule sends packets from hosts with a tag
//! that the rule gives them (its channel); and those that packets get into from there by the
//! rules, out of any port. It has an edge from (*p*, *t*) to (*q*, *u*) if the rules let a packet
//! that came by *p* with *t* leave with *u* by the port whose link ends at *q*. The graph does not
//! depend on forwarding tables or on what has failed: it has the edges of all of them at once. The
//! edges from buffers of ports with hosts to channels are left out: no edge leads to such a
//! buffer, so it is on no cycle.
//!
//! A *deadlock* is a lossless ingress buffer that is above its threshold from some time on for
//! ever. A packet *has a path* if live links join the switch where it enters to a switch of its
//! destination.
//!
//! # Assumptions
//!
//! - **A1** Switches apply the tables as the plan has them, and tables do not change while packets
//!   that were tagged by them are in the network (TaggerDraft section 6.2).
//! - **A2** Every lossless priority has an egress queue at each port and an ingress buffer of its
//!   own; ingress and egress priority are those of the arriving and of the new tag (TaggerDraft
//!   section 6.3).
//! - **A3** Switches and hosts act on a pause within the time that TaggerDraft equation 1 allows
//!   for, given the rate and the length of the link and the MTU of the plan's budget.
//! - **A4** Hosts drain: no host pauses a priority for ever.
//! - **A5** A switch moves every packet to its egress queue in finite time; a queue that is not
//!   paused for ever sends its first packet in finite time, or drops it where the link is gone.
//! - **A6** All links are those of the topology, or a part of them. Links that are up lose and
//!   damage nothing.
//! - **A7** Hosts of a class send with its initial tag. T1 and T2 do not use this: there hosts
//!   send what they like.
//! - **A8** Failures do not change while a packet is on its way, and a switch knows which of its
//!   own ports are up (Stephens15 section 2.3). Only T6 uses this.
//!
//! # Theorem
//!
//! Let a plan meet these obligations, as far as it has what they speak of:
//!
//! - **O1 well-formed.** Everything that the tables name exists.
//! - **O2 injective.** Distinct tags have distinct lossless priorities, of which there are enough,
//!   and distinct codes in the packet.
//! - **O3 within the budget.** Every switch has the ports, the TCAM, and a buffer for the headroom
//!   of all lossless priorities at all its links (TaggerDraft equation 1).
//! - **O4 single-valued.** Rules of equal precedence that match the same packet agree.
//! - **O5 rising.** In no transition between switches that packets can make is the new tag below
//!   the old one (Tagger17, theorem 1, second requirement).
//! - **O6 resilient.** With at most *K* failed links or switches, where the plan claims to survive
//!   *K* failures of its failover tables: every packet from a switch with hosts to a destination
//!   elsewhere that has a path arrives, and none comes twice into the same state. Where the plan
//!   has lossless classes, the packets of each stay lossless on all these paths, from every port of
//!   a host to every port of the destination, and between hosts of one switch.
//! - **O7 acyclic.** The buffer dependency graph has no cycle (Tagger17, theorem 1, first
//!   requirement, of all tags at once; Stephens15 theorem 2.2.1).
//! - **O8 limited.** No transition that the packets of a class can make gives a tag above the
//!   limit of the class.
//! - **O9 promised.** On every route that the plan promises to a class, each switch gives a
//!   lossless tag to a packet that begins with the initial tag.
//! - **O10 delivered.** Without failover tables: from every switch with hosts, packets to every
//!   host to which there is a path come to it, whichever of the next hops switches choose; none
//!   comes twice to the same switch.
//!
//! Then:
//!
//! - **T1** No deadlock can form, for any forwarding tables, any traffic, and any sequence of
//!   failures.
//! - **T2** No lossless packet is dropped for want of buffer.
//! - **T3** A packet that follows a promised route arrives without having been lossy, if no link
//!   on the route fails.
//! - **T4** No packet of a class carries a tag above the limit of the class.
//! - **T5** Without failover tables, every packet between hosts that has a path arrives, unless it
//!   turns lossy and is dropped.
//! - **T6** With failover tables, every packet between hosts at different switches that has a path
//!   arrives while no more than *K* links or switches have failed, unless it turns lossy and is
//!   dropped. If its class is lossless, it was lossless all the way.
//!
//! # Proof
//!
//! *T1.* Suppose there are deadlocks, let *D* be the set of all their buffers, and (*p*, *t*) one
//! of them. By O2 it is the only one that its priority at *p* stands for. It pauses what could
//! fill it (A3), so some packet in it is never sent: else it would drain. By A1 and O4 that packet
//! has one new tag *u* at the port *o* that it is sent to, and by A5 it waits in the queue of *o*
//! and *u*. That queue is paused for ever, else A5 would have all packets in it sent. Not by a
//! host (A4), so by the switch behind *o* (A6), for its ingress buffer (*q*, *u*), which then is
//! in *D* too. Both are nodes of the graph, because packets came into them by the rules, and the
//! packet itself is why there is an edge from (*p*, *t*) to (*q*, *u*), unless *p* has a host. So
//! every buffer of *D* has a successor in *D* which is not that of a port with a host. *D* is
//! finite, so the graph has a cycle, against O7.
//!
//! O5 is not used: the graph of O7 has the buffers of all tags, so that a cycle over several tags
//! is one of its cycles. With O5, T1 follows already if the buffers of each tag by themselves have
//! no cycle, as in Tagger17, and a packet changes its priority at most once for each tag.
//!
//! *T2.* A packet finds no room only if the headroom of its buffer is full. O3 reserves for every
//! priority and every link what TaggerDraft equation 1 says can still come after a pause; by O2
//! and A2 no other tag uses it, and by A3 no more comes.
//!
//! *T3, T4.* By A7 the packet begins with the initial tag. The rules then give it the tags that O9
//! and O8 speak of, since by O4 they give one answer. It is not dropped (T2), and by T1 and A5 it
//! is sent on at every hop.
//!
//! *T5.* By O10 every hop leads on, and no packet returns to a switch. So it arrives after at most
//! as many hops as there are switches, each of which it leaves in finite time (T1, A5).
//!
//! *T6.* By A8 a packet walks through the failover tables under one set of failures. Its walk
//! depends on the state of those links alone that the rules it met have asked about. So all sets
//! of failures are covered by one walk with none failed, and by one for each of these links failed
//! while those before it are up, and so on: every set falls into exactly one of the walks
//! ([`resilience`]). O6 holds of every walk, hence of every set.
//!
//! # What is not claimed
//!
//! - That switches do what tables say (A1): programs and entries are generated from a proven plan,
//!   and tested against it.
//! - T2 where budgets are left out ([`Options::budgets`]); T6 beyond the sets that were explored
//!   or drawn, where all are too many ([`Verdict::Sampled`]).
//! - Anything of pairs without a promised route. How many there are is reported
//!   ([`CheckReport::promised`]), and so is where the plan's own forwarding leaves what its tags
//!   keep lossless ([`Forwarded`]): neither is an error.
//! - Delivery while failures change, and the loss of packets with the link that carried them.
//! - Updates from one plan to another while packets are under way: [`change`] proves those.
//! - How soon packets arrive, fairness, and how far congestion spreads: T1 excludes a pause for
//!   ever, not a long one.

pub mod against;
mod arriving;
mod assumptions;
mod certificate;
mod certify;
pub mod change;
pub(crate) mod checked;
mod destinations;
mod error;
mod evidence;
mod failures;
mod forward;
mod obligations;
mod promise;
mod report;
pub mod resilience;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use quantities::Progress;
use thiserror::Error;

pub use arriving::HeadroomNeeded;
pub use assumptions::{ASSUMPTIONS, Assumption, Subject};
pub use certificate::{Certificate, CertifiedBuffer, GraphSize};
pub use certify::cycle_of;
pub use error::{Buffer, Cycle, Fault, LostRoute, PlanError, PortName};
pub use failures::{FailureReport, LostPacket, PartReport, Sample};
pub use forward::strays::{Forwarded, LossyWay};
pub use report::{CheckReport, PairWithout, PromisedPairs, Resilience, Verdict};
pub use resilience::{FailureOptions, ForeignShare, Share, WalkedShare};

use super::model::Tables;
use checked::CheckedPlan;
use evidence::{Evidence, References, Tagging};
use obligations::{Finding, OBLIGATIONS};
use resilience::WalkSource;

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
    /// The names of the obligations that are not met, in the order of the [theorem](self).
    pub refuted: Vec<&'static str>,
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
    let report = conclude(Evidence::gather(&tables, options, WalkSource::Here))?;
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
    let references = References::new(tables);
    let Some(failover) = references.failover else {
        let evidence = Evidence::of_references(tables, options, references);
        return Err(Box::new(examine(evidence).1));
    };
    let tagging = Tagging::new(tables, options, &references);
    let how = (&options.failures, &*options.progress);
    let tags = tagging.on_walks();
    let topology = &tables.topology;
    Ok(WalkedShare::walk(
        topology,
        failover,
        how,
        tags.as_ref(),
        share,
    ))
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
    if let Some(failover) = &tables.failover {
        WalkedShare::check_all(shares, &tables.topology, failover)?;
    }
    let source = WalkSource::Shares(shares);
    Ok(conclude(Evidence::gather(tables, options, source)))
}

/// The report, if every obligation is met.
fn conclude(evidence: Evidence<'_>) -> Result<CheckReport, Box<CheckFailure>> {
    match examine(evidence) {
        (true, found) => Ok(found.report),
        (false, found) => Err(Box::new(found)),
    }
}

/// Examines every obligation: whether all are met, and what was found. Nothing is proven by
/// evidence that is absent.
fn examine(evidence: Evidence<'_>) -> (bool, CheckFailure) {
    let (mut errors, mut refuted) = (Vec::new(), Vec::new());
    let mut open = false;
    for obligation in &OBLIGATIONS {
        match (obligation.examine)(&evidence) {
            Finding::Holds | Finding::Vacuous => {}
            Finding::Open => open = true,
            Finding::Refuted(found) => {
                refuted.push(obligation.name);
                errors.extend(found);
            }
        }
    }
    let proven = refuted.is_empty() && !open;
    let report = CheckReport::new(evidence, &errors, proven);
    let found = CheckFailure {
        errors,
        refuted,
        report,
    };
    (proven, found)
}

//! Certificates and cycles of plans, from their tables alone.

use quantities::Progress;

use super::certificate::Certificate;
use super::error::Cycle;
use super::evidence::References;
use super::resilience::lossless;
use super::rules::Rules;
use super::rules::dependencies::Dependencies;
use crate::model::Tables;

impl Certificate {
    /// The certificate of the tag rules of a plan. Nothing if the plan has no lossless tags, if its
    /// rules cannot be read, or if there is a cycle.
    #[must_use]
    pub fn of(tables: &Tables) -> Option<Self> {
        let references = References::new(tables);
        if !references.tags {
            return None;
        }
        let rules = Rules::new(tables).ok()?;
        let failover = references.failover;
        let channels = failover.map(|failover| lossless::channels(failover, &rules));
        Self::new(&rules, &channels.unwrap_or_default())
    }
}

/// A shortest cycle of buffers that the tag rules of a plan allow, whatever its promises and its
/// budget are. Nothing if there is none, or if the rules cannot be read.
#[must_use]
pub fn cycle_of(tables: &Tables) -> Option<Cycle> {
    let references = References::new(tables);
    let rules = references.tags.then(|| Rules::new(tables).ok())??;
    let found = Dependencies::new(&rules, &[], &Progress::default());
    let cycle = found.cycle;
    (!cycle.is_empty()).then(|| rules.name_cycle(&cycle, &[]))
}

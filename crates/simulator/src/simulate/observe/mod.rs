//! What a simulation reports: figures, diagrams, the page that shows both, statistics over seeds.

pub(super) mod completions;
pub(super) mod diagrams;
pub(super) mod page;
pub(super) mod report;
pub(super) mod seeds;

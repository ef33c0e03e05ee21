//! What a simulation reports: figures, diagrams, a moving picture, the page, statistics over seeds.

pub(super) mod animation;
pub(super) mod completions;
pub(super) mod diagrams;
pub(super) mod page;
pub(super) mod report;
pub(super) mod seeds;

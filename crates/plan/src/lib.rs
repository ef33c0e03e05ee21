//! Plans: the tables that a scheme computed, and the independent proof of them.
//!
//! [`Tables`] hold a whole plan, unchecked. [`check()`] proves them and returns a [`CheckedPlan`],
//! the only thing that everything after this room accepts, or every error that it found.

mod budget;
mod carrier;
pub mod check;
pub mod failover;
mod file;
mod model;
mod portset;
mod summary;
mod tag;

pub use budget::{Budget, PFC_FRAME, SwitchHeadroom, headroom, propagation, switch_headroom};
pub use carrier::{Carrier, CarrierKind, TagCode};
pub use check::checked::{CheckedPlan, Classified, RuleCounts};
pub use check::{
    CheckFailure, CheckReport, Fault, HeadroomNeeded, PlanError, Sample, Verdict, check,
};
pub use failover::Failover;
pub use file::{FORMAT, PlanFileError, VERSION};
pub use model::{Class, LOSSY_PRIORITY, Promise, Provenance, RuleForm, Tables, TagRule, Tagging};
pub use portset::{BITMAP_WORDS, PortBitmap, PortSet, PortSetError};
pub use summary::{FailoverPart, FailoverSummary, PlanSummary};
pub use tag::{ClassId, NewTag, Tag};

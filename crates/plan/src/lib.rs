//! Plans: the tables that a scheme computed, and the independent proof of them.
//!
//! [`Tables`] hold a whole plan, unchecked. [`check()`] proves them and returns a [`CheckedPlan`], the only
//! thing that everything after this room accepts, or every error that it found.

mod budget;
mod carrier;
pub mod check;
mod checked;
pub mod failover;
mod file;
mod model;
mod portset;
mod summary;

pub use budget::{Budget, PFC_FRAME, SwitchHeadroom, headroom, propagation, switch_headroom};
pub use carrier::{Carrier, CarrierKind, TagCode};
pub use check::{CheckFailure, CheckReport, Fault, PlanError, Sample, Verdict, check};
pub use checked::{CheckedPlan, Classified, RuleCounts};
pub use failover::Failover;
pub use file::{FORMAT, PlanFileError, VERSION};
pub use model::{
    Class, ClassId, LOSSY_PRIORITY, NewTag, Promise, Provenance, RuleForm, Tables, Tag, TagRule,
    Tagging,
};
pub use portset::{BITMAP_WORDS, PortBitmap, PortSet, PortSetError};
pub use summary::{FailoverSummary, PlanSummary};

//! Plans: the tables that a scheme computed, and the independent proof of them.
//!
//! [`Tables`] hold a whole plan, unchecked. [`check()`] proves them and returns a [`CheckedPlan`],
//! the only type that the code generator, the simulator and the control plane accept, or every
//! error that it found.
//!
//! # Who uses it
//!
//! Use it to prove tables of any origin: the crate `schemes`, another program by a plan file
//! ([`Tables::from_json`]), or a human. The proof reads the tables alone; it shares no code with
//! the planner. Its assumptions and theorem are on the front page of [`check`](mod@check).
//!
//! # Example
//!
//! ```
//! use plan::NewTag;
//! use plan::check::{Options, check};
//! use schemes::{TaggerOptions, tagger};
//! use topology::generate::{Cables, Clos};
//!
//! let (leaves, spines, hosts, parallel) = (3, 2, 2, 1);
//! let cables = Cables::default();
//! let topology = Clos { leaves, spines, hosts, parallel, cables }.generate()?;
//! let tables = tagger(&topology, &TaggerOptions::default())?;
//! let plan = check(tables.clone(), &Options::default())?;
//! assert_eq!(plan.report().cbd_free, Some(true));
//!
//! // Rules that never raise a tag let buffers wait on each other in a circle.
//! let mut wrong = tables;
//! for rule in wrong.tagging.rules.iter_mut().flatten() {
//!     rule.new_tag = NewTag::Lossless(rule.tag);
//! }
//! let refused = check(wrong, &Options::default()).expect_err("it can deadlock");
//! assert!(!refused.errors.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `prove` of this crate prints both verdicts.

mod budget;
mod carrier;
pub mod check;
pub mod failover;
mod file;
mod model;
mod numbers;
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
pub use numbers::{TagNumbers, usual_codes, usual_dscps, usual_priorities};
pub use portset::{BITMAP_WORDS, PortBitmap, PortSet, PortSetError};
pub use summary::{FailoverPart, FailoverSummary, PlanSummary};
pub use tag::{ClassId, NewTag, Tag};

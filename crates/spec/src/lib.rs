//! What is asked of Switchwright, as one type for every place that asks.
//!
//! A [`Request`] names a topology, its cables, a plan and a target. A [`Scenario`] adds who sends
//! what and what happens when. The command line (feature `clap`), scenario files, the page and
//! Python spell these types; none of them has a list of schemes or of options.
//!
//! ```
//! use spec::Request;
//!
//! let request: Request = serde_json::from_str(
//!     r#"{ "topology": { "clos": { "leaves": 4, "spines": 4 } },
//!          "plan": { "scheme": "edst", "trees": 2 } }"#,
//! )?;
//! let tables = request.tables()?;
//! assert_eq!(tables.provenance.scheme, "edst");
//!
//! // One tree survives no failure: the two options contradict each other.
//! let contradiction: Request = serde_json::from_str(
//!     r#"{ "topology": { "clos": { "leaves": 4, "spines": 4 } },
//!          "plan": { "scheme": "edst", "trees": 1, "resilience": 1 } }"#,
//! )?;
//! assert!(contradiction.tables().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `request` of this crate reads requests as YAML and proves what they ask for.
//!
//! # How a plan is asked for
//!
//! [`PlanSpec`] has a field for every option, as users write them. [`PlanSpec::validate`] refuses
//! options that mean nothing for the scheme or contradict each other, and returns a [`Scheme`]:
//! an enum whose variants hold the options of that scheme and no others. [`Scheme::tables`] is the
//! only way from a request to [`plan::Tables`].
//!
//! A new scheme has a variant of [`SchemeKind`], the options that it shares in
//! [`owners`](fn@owners), and a variant of [`Scheme`].

mod choice;
mod error;
mod generators;
mod plan_spec;
mod quantity;
mod request;
mod scenario;
mod topology_spec;

pub use choice::{Choice, Named};
pub use error::ScenarioError;
pub use generators::{EgftSpec, FlattenedClosSpec, JellyfishSpec, SplitText, XpanderSpec};
pub use plan_spec::{
    ClassText, ImportantScheme, Lossless, PathsSpec, PlanError, PlanSpec, RouteName, RoutesSpec,
    Scheme, SchemeKind, Spelling, owners,
};
pub use quantity::{Length, Size, Speed, Time};
pub use request::{Request, TargetSpec};
pub use scenario::{
    ArrivalsSpec, BUNDLED, EcnSpec, EventSpec, FlowSpec, MAX_PACKET, MIN_PACKET, PatternSpec,
    PauseSpec, RerouteSpec, RouteSpec, Scenario, SchedulerSpec, SenderSpec, SwitchSpec,
    ThresholdSpec, TransportSpec, WatchdogAction, WatchdogSpec, WorkloadSpec, bundled,
};
pub use topology_spec::{
    BcubeSpec, CablesSpec, ClosSpec, DrawnSpec, FatTreeSpec, RowSpec, TopologySpec,
};

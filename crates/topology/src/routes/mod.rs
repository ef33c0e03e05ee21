//! Routes: policies, their lazy enumeration over a topology, and what forwarding makes of them.

mod bcube;
mod count;
mod error;
mod explicit;
pub mod forwarding;
mod pairs;
mod policy;
mod route;
mod search;
mod set;
mod space;
mod virtual_layers;
mod yen;

#[cfg(test)]
mod tests;

pub use count::RouteCount;
pub use error::RouteError;
pub use explicit::{RouteFile, RouteFileError, parse_routes};
pub use pairs::JoinedPairs;
pub use policy::RoutePolicy;
pub use route::{Hop, Path, Route};
pub use set::{Paths, RouteSet};
pub use space::{UpDownAutomaton, UpDownState};
pub use virtual_layers::VirtualReach;

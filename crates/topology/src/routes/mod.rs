//! Routes: policies, their lazy enumeration over a topology, and what forwarding makes of them.

mod bcube;
mod count;
mod explicit;
pub mod forwarding;
mod policy;
mod route;
mod search;
mod set;
mod space;
mod yen;

#[cfg(test)]
mod tests;

pub use count::RouteCount;
pub use explicit::{RouteFile, RouteFileError, parse_routes};
pub use policy::RoutePolicy;
pub use route::{Hop, Path, Route};
pub use set::{Paths, RouteError, RouteSet};
pub use space::{ShortestDag, UpDownAutomaton, UpDownState};

//! Routes: policies, their lazy enumeration over a topology, and what forwarding makes of them.

mod policy;
mod route;
mod search;
mod set;

pub use policy::RoutePolicy;
pub use route::{Hop, Path, Route};
pub use set::{Paths, RouteError, RouteSet};
#[cfg(test)]
mod tests;

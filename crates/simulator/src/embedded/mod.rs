//! The embedded target: a network of in-process switches that execute the generated `.p4` itself.
//!
//! The program text is parsed by `p4front`, every switch gets the entries that its files hold, and
//! packets go through the executor. There is no second pipeline: what is traced here is what ships.

mod fleet;
mod load;
mod network;
mod walk;

pub use fleet::{Arrival, Fleet, Trail, TrailEnd};
pub use load::{LoadError, install, install_switch, set_failed};
pub use network::frame;
pub use network::{Network, NetworkError, Probe, Reroute};
pub use walk::{FailoverHeader, Hop, StepText, TableStep, Walk, WalkEnd};

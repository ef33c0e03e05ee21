//! SONiC's QoS, PFC and buffer tables.
//!
//! | module | what |
//! |---|---|
//! | [`tables`] | the tables of one switch, as typed rows |
//! | [`mod@read`], [`mod@write`] | `config_db.json` to and from them |
//! | [`mod@assign`] | tag rules as maps, without TCAM where traffic classes suffice |
//! | [`mod@configure`] | the whole configuration of a switch of a plan |
//! | [`mod@merge`] | that configuration beside the one that an operator has |
//! | [`mod@audit`] | whether a fabric that runs is what it should be |
//! | [`pipeline`] | what tables do to packets, rebuilt from them alone |

pub mod assign;
pub mod audit;
pub mod configure;
mod fault;
mod interfaces;
pub mod merge;
pub mod pipeline;
pub mod platform;
pub mod read;
mod references;
pub mod tables;
pub mod write;

pub use assign::{Need, Shortage, assign, need};
pub use configure::{Options, Watchdog, configure, without_tags};
pub use fault::{ConfigError, ConfigFault};
pub use interfaces::{interface, port_of};
pub use merge::{Base, Configuration, MergeError, configuration};
pub use pipeline::{Pipeline, PortIndex, Treatment};
pub use platform::Platform;
pub use read::read;
pub use tables::ConfigDb;

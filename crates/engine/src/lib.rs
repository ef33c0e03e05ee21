//! The engine behind a page: one function, [`Engine::call`], from a request to a response, both
//! JSON.
//!
//! A request names everything that it is about, so that any of them can come first: the topology
//! and the plan come with each, and the engine remembers the last few it made. Only simulations
//! last from one request to the next; they have numbers.
//!
//! Nothing here is a pipeline of its own: networks come from `simulator`, programs from `p4gen`,
//! diagnostics from `p4front`. The same crate is compiled to WebAssembly, where the interpreter
//! runs the switches, and into the command line, where machine code does.
//!
//! What is asked for may be hostile. Sizes and steps have limits ([`limits`]) that errors name; how
//! long a call may take and how much memory it may have is up to whoever runs the engine, for there
//! are plans that take hours by nature. An engine of [`Engine::of_owner`] has no limits and reads
//! files of the machine: whoever asks it runs the process.

mod colours;
mod headers;
pub mod limits;
mod loads;
mod network;
mod packets;
mod plans;
mod programs;
mod request;
mod simulations;
mod topologies;
#[cfg(target_arch = "wasm32")]
pub mod wasm;

use std::sync::Arc;

use quantities::Progress;
use serde_json::{Value, json};

pub use limits::MAX_REQUEST_BYTES;
use limits::Trust;
use network::Networks;
use plan::CheckedPlan;
use request::{NetworkRequest, Request};
use simulations::Simulations;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// What was asked for is wrong, or does not fit together.
    #[error("{0}")]
    Wrong(String),
    /// It is more than this engine takes on.
    #[error(
        "{what} is limited to {most} here, and this is {given}; the command line has no such limit"
    )]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        most: u64,
        /// What was asked for.
        given: u64,
    },
}

impl Refusal {
    fn wrong(error: impl std::fmt::Display) -> Self {
        Self::Wrong(error.to_string())
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Wrong(_) => "wrong",
            Self::Limit { .. } => "limit",
        }
    }
}

/// The engine: see the crate documentation.
#[derive(Default)]
pub struct Engine {
    trust: Trust,
    networks: Networks,
    simulations: Simulations,
}

impl Engine {
    /// An engine that remembers nothing, for requests of anybody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An engine that remembers nothing, for requests of whoever runs the process.
    #[must_use]
    pub fn of_owner() -> Self {
        Self {
            trust: Trust::Owner,
            networks: Networks::new(Trust::Owner),
            simulations: Simulations::new(Trust::Owner),
        }
    }

    /// From now on tells this of what requests take, and ends those that are cancelled: planning
    /// and proofs by unwinding ([`quantities::Cancelled::caught`]), with nothing lost of what was
    /// remembered before; a slice of a simulation with what it has come to.
    pub fn tell(&mut self, progress: &Arc<Progress>) {
        self.networks.tell(progress);
        self.simulations.tell(progress);
    }

    /// Answers a request: `{"ok": ...}`, or `{"error": {"kind", "message"}}` where there is no
    /// answer.
    pub fn call(&mut self, request: &str) -> String {
        let answer = match self.answer(request) {
            Ok(answer) => json!({ "ok": answer }),
            Err(refusal) => {
                json!({ "error": { "kind": refusal.kind(), "message": refusal.to_string() } })
            }
        };
        answer.to_string()
    }

    /// The proven plan of a network, spelled as in requests, for what takes the plan itself.
    ///
    /// # Errors
    /// What a request about it would be refused for, or why it is not proven.
    pub fn proven(&mut self, network: &str) -> Result<CheckedPlan, String> {
        let asked = serde_json::from_str::<NetworkRequest>(network)
            .map_err(|e| format!("the network cannot be read: {e}"))?;
        self.networks.plan_of(&asked).map_err(|e| e.to_string())
    }

    fn answer(&mut self, request: &str) -> Result<Value, Refusal> {
        let trust = self.trust;
        trust.at_most("a request in bytes", MAX_REQUEST_BYTES, request.len())?;
        let request: Request = serde_json::from_str(request)
            .map_err(|e| Refusal::Wrong(format!("the request cannot be read: {e}")))?;
        match request {
            Request::About => Ok(about(trust)),
            Request::Scenarios => Ok(simulations::bundled()),
            Request::Topology(asked) => topologies::topology(&asked, trust),
            Request::Summary(asked) => topologies::summary(&asked, trust),
            Request::Draw(asked) => topologies::draw(&asked, trust),
            Request::Plan(asked) => self.networks.plan(&asked),
            Request::Load(asked) => self.networks.load(&asked),
            Request::Entries(asked) => self.networks.entries(&asked),
            Request::Build(asked) => self.networks.build(&asked),
            Request::Trace(asked) => self.networks.trace(&asked),
            Request::Compile(asked) => programs::compile(&asked, trust),
            Request::Stf(asked) => programs::stf(&asked, trust),
            Request::Packets(asked) => programs::packets(&asked, trust),
            Request::Simulate(asked) => self.simulations.start(&mut self.networks, &asked),
            Request::Run(asked) => self.simulations.run(&asked),
            Request::Change(asked) => self.simulations.change(&asked),
            Request::Report(asked) => self.simulations.report(&asked),
            Request::Plots(asked) => self.simulations.plots(&asked),
            Request::End(asked) => self.simulations.end(&asked),
        }
    }
}

fn about(trust: Trust) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "executor": if cfg!(feature = "jit") { "compiled" } else { "interpreter" },
        "limits": limits::all(trust),
    })
}

/// Some value as JSON; ours have no keys or numbers that JSON does not take.
fn value(of: impl serde::Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(of).map_err(Refusal::wrong)
}

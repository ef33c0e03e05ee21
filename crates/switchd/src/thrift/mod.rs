//! The Thrift services of BMv2's `simple_switch`, for the tools that speak them: `runtime_CLI`,
//! `simple_switch_CLI`, p4-utils.
//!
//! The interface is that of behavioral-model: `standard.thrift`, `simple_pre.thrift`,
//! `simple_pre_lag.thrift` and `simple_switch.thrift`, multiplexed over TBinaryProtocol.
//! [`methods`] lists every method of it, [`value`] reads and writes their messages, [`connections`]
//! serves clients. The methods themselves work on the same state as the P4Runtime server and mostly
//! by its updates ([`crate::server::switch::Switch::amend`]), so a change by either side is seen by
//! the other: [`tables`], [`profiles`], [`arrays`], [`replication`], [`ports`], [`config`].
//!
//! Thrift knows no arbitration: whoever connects may change everything.

mod arrays;
mod config;
mod connections;
mod keys;
mod methods;
mod ports;
mod profiles;
mod replication;
mod tables;
pub mod value;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4exec::tables::Slot;
use p4ir::TableId;
use tokio::runtime::Handle;

use crate::engine::EngineHandle;
use crate::ports::Ports;
use crate::server::switch::Switch;
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::schema::Schema;
use value::{Fields, Value, WrongType};

pub use connections::{Limits, ThriftServer};
pub use methods::names as method_names;

/// The port of BMv2's Thrift server unless told otherwise.
pub const DEFAULT_PORT: u16 = 9090;

/// What the services are about.
#[derive(Clone)]
pub struct Subject {
    /// The device: programs and what they hold.
    pub switch: Arc<Switch>,
    /// Its ports.
    pub ports: Arc<Mutex<Ports>>,
    /// The data plane.
    pub engine: EngineHandle,
    /// The device id.
    pub device_id: u64,
    /// Whether `load_new_config` and `swap_configs` are allowed.
    pub swap: bool,
}

/// Why a method does not do what it is asked for.
#[derive(Debug)]
enum Fault {
    /// The exception of the method, with its code.
    Code(i32),
    /// The same, and why, for the log.
    Refused(i32, String),
    /// The method has no exception, or the call is none: an application exception.
    Application(String),
}

impl From<WrongType> for Fault {
    fn from(WrongType { field, expected }: WrongType) -> Self {
        Self::Application(format!("argument {field} is not {expected}"))
    }
}

/// A refusal that no code of the interface says better.
impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Application(refusal.message)
    }
}

/// What a method answers: nothing for `void`.
type Outcome = Result<Option<Value>, Fault>;

/// What is remembered between calls, for one program.
#[derive(Default)]
struct Memory {
    /// The program; what belongs to another one is forgotten.
    schema: Option<Arc<Schema>>,
    /// How often a slot was freed by a client of this interface: part of an entry's handle, as in
    /// BMv2.
    versions: BTreeMap<(TableId, Slot), u8>,
    replication: replication::Nodes,
}

/// A call in progress.
struct Call<'a> {
    subject: &'a Subject,
    runtime: &'a Handle,
    /// The port that is served.
    port: u16,
    memory: &'a Mutex<Memory>,
    args: Fields,
}

impl Call<'_> {
    /// What is remembered about the program that runs now. Calls that change or name entries hold
    /// it: they come one after the other.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let pipelines = self.subject.switch.pipelines();
        let schema = pipelines.current().map(|p| &p.contents.schema);
        let same = match (schema, &memory.schema) {
            (Some(now), Some(known)) => Arc::ptr_eq(now, known),
            (None, None) => true,
            _ => false,
        };
        if !same {
            *memory = Memory {
                schema: schema.cloned(),
                ..Memory::default()
            };
        }
        memory
    }

    /// Looks at the program's state; `absent` is the fault where there is no program.
    fn look<T>(
        &self,
        absent: i32,
        look: impl FnOnce(&PipelineState) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let pipelines = self.subject.switch.pipelines();
        let no_program = || Fault::Refused(absent, "no program is loaded".to_owned());
        look(&pipelines.current().ok_or_else(no_program)?.contents)
    }
}

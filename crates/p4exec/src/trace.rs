//! What an executor tells about a packet on its way.

use quantities::PortId;

use crate::drop_reason::DropReason;
use crate::tables::{EntryHandle, EntryPriority, FieldMatch, MemberId};
use crate::value::Bits;

/// One table application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableTrace {
    /// The table's control-plane name.
    pub table: String,
    /// Key fields by control-plane name, with their values.
    pub key: Vec<(String, Bits)>,
    /// The entry that won; `None` is a miss.
    pub hit: Option<EntryTrace>,
    /// The member the selector or entry led to.
    pub member: Option<MemberId>,
    /// The control-plane name of the action run; `None` if the table had none to run.
    pub action: Option<String>,
    /// Its control-plane arguments by name.
    pub args: Vec<(String, Bits)>,
}

/// The entry that won.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryTrace {
    /// Its handle.
    pub handle: EntryHandle,
    /// Its priority.
    pub priority: EntryPriority,
    /// Its key.
    pub key: Vec<FieldMatch>,
}

/// Values of fields by name (`hdr.ipv4.ttl`, `meta.tag`, `standard_metadata.egress_spec`): all
/// metadata, and the fields of the headers that are valid.
pub type Fields = Vec<(String, Bits)>;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TraceEvent {
    /// A packet (new, resubmitted or recirculated) starts parsing for ingress.
    Ingress {
        port: PortId,
        length: usize,
        instance_type: u64,
    },
    /// A parser state runs.
    ParserState { parser: String, state: String },
    /// The parser rejected the packet.
    ParserError { error: String },
    /// A table was applied.
    Table(TableTrace),
    /// Ingress is over.
    EndOfIngress { fields: Fields },
    /// A copy starts egress.
    Egress {
        port: PortId,
        rid: u16,
        instance_type: u64,
    },
    /// Egress is over, checksums not yet computed.
    EndOfEgress { port: PortId, fields: Fields },
    /// `log_msg`, with its values filled in.
    Log(String),
    /// A packet leaves.
    Sent { port: PortId, bytes: Vec<u8> },
    /// A packet or copy ends.
    Dropped(DropReason),
}

/// Listens to an executor.
pub trait Tracer {
    /// Takes an event.
    fn event(&mut self, event: TraceEvent);

    /// Hears that a statement, or a state of a parser, that stands here runs.
    fn statement(&mut self, _at: p4ir::Span) {}
}

impl Tracer for Vec<TraceEvent> {
    fn event(&mut self, event: TraceEvent) {
        self.push(event);
    }
}

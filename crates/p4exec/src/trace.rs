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

impl TraceEvent {
    /// The event as a line for people; none for what says nothing new beside the packets that came
    /// in and left.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        Some(match self {
            Self::Ingress {
                port,
                instance_type,
                ..
            } => {
                format!("ingress  port {} instance type {instance_type}", port.get())
            }
            Self::ParserState { parser, state } => format!("parse    {parser}.{state}"),
            Self::ParserError { error } => format!("parse    error {error}"),
            Self::Table(table) => {
                let value = |(name, value): &(String, Bits)| format!("{name}={value}");
                let list = |values: &[(String, Bits)]| -> String {
                    values.iter().map(value).collect::<Vec<_>>().join(", ")
                };
                let hit = match &table.hit {
                    Some(entry) => format!("entry {}", entry.handle),
                    None => "miss".to_owned(),
                };
                let member = table
                    .member
                    .map_or(String::new(), |m| format!(", member {}", m.0));
                let action = table.action.as_deref().unwrap_or("no action");
                let (key, args) = (list(&table.key), list(&table.args));
                format!(
                    "table    {} [{key}] {hit}{member} -> {action}({args})",
                    table.table
                )
            }
            Self::Egress {
                port,
                rid,
                instance_type,
            } => {
                format!(
                    "egress   port {} rid {rid} instance type {instance_type}",
                    port.get()
                )
            }
            Self::Log(text) => format!("log      {text}"),
            Self::Dropped(reason) => format!("drop     {reason}"),
            _ => return None,
        })
    }
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

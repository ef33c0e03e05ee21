//! One packet's walk through the network, hop by hop, as the executor saw it.

use std::collections::BTreeSet;
use std::sync::Arc;

use p4exec::Tracer;
use p4exec::trace::{EntryTrace, TableTrace, TraceEvent};
use p4gen::entries::Notation;
use p4gen::family::NO_REVERSE;
use p4gen::layout::SHIM_BYTES;
use p4gen::targets;
use plan::{CarrierKind, TagCode};
use quantities::{Nanos, PortId, Priority};
use serde::Serialize;
use topology::{NodeId, SwitchId};
use wire::headers::Layers;

use super::network::{Network, NetworkError};

/// A packet that has crossed so many switches goes round in circles (its TTL says the same a little
/// later).
const MAX_HOPS: usize = 255;

/// EtherType of the shim (`p4src/layout.p4`: `ETHERTYPE_SHIM`).
const SHIM_ETHER_TYPE: u16 = 0x88B5;
/// Where in the shim the tag is (`p4src/headers.p4`: `shim_t.lossless_tag`).
const SHIM_TAG_OFFSET: usize = 7;

/// A table that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableStep {
    /// The table.
    pub table: String,
    /// The key fields, by name, in hexadecimal.
    pub key: Vec<(String, String)>,
    /// The entry that won, as its match; `None` is a miss.
    pub entry: Option<String>,
    /// The entry's priority, where the table has priorities.
    pub priority: Option<i32>,
    /// The action that ran, with its arguments.
    pub action: Option<String>,
    /// The same for people.
    pub text: StepText,
}

/// A table that was applied, in words: ports with their names, bitmaps of ports as lists, addresses
/// as addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepText {
    /// The key fields, as `name=value`.
    pub key: Vec<String>,
    /// What each field of the entry that won matches; `None` is a miss.
    pub entry: Option<String>,
    /// The action that ran, with its arguments.
    pub action: Option<String>,
}

/// One switch on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The switch's name.
    pub switch: String,
    /// Where the packet came in.
    pub in_port: PortId,
    /// Where it left; `None` if it ended here.
    pub out_port: Option<PortId>,
    /// Tables in order of application.
    pub tables: Vec<TableStep>,
    /// The code that the packet arrived with; `None` without a carrier.
    pub code_before: Option<u16>,
    /// The code that it left with; `None` without a carrier.
    pub code_after: Option<u16>,
    /// The tag that it arrived with: a number, `lossy`, or `none` without a carrier.
    pub tag_before: String,
    /// The tag that it left with.
    pub tag_after: String,
    /// The failover header that the packet arrived with, where the plan has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_before: Option<FailoverHeader>,
    /// The failover header that it left with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_after: Option<FailoverHeader>,
    /// ING_PRIO: the queue that this switch accounts and pauses upstream.
    pub ing_prio: Priority,
    /// EG_PRIO: the queue in which the packet waits for the wire.
    pub eg_prio: Priority,
    /// The packet as it arrived, in hexadecimal.
    pub bytes_before: String,
    /// The packet as it left, in hexadecimal.
    pub bytes_after: Option<String>,
    /// The lines of P4 that ran, in order of file and line, each once: the file by its number among
    /// those of the program.
    #[serde(skip)]
    pub lines: Vec<(u32, u32)>,
}

/// What is kept of a traced packet.
#[derive(Default)]
struct Watched {
    events: Vec<TraceEvent>,
    lines: BTreeSet<(u32, u32)>,
}

impl Tracer for Watched {
    fn event(&mut self, event: TraceEvent) {
        self.events.push(event);
    }

    fn statement(&mut self, at: p4ir::Span) {
        if at.line > 0 {
            self.lines.insert((at.file, at.line));
        }
    }
}

/// What a failover header says (`p4src/headers.p4`: `shim_t` and the hops after it).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailoverHeader {
    /// The version that its tables belong to.
    pub version: u8,
    /// Which of the routings to its destination it was given.
    pub multipath: u8,
    /// The virtual destination.
    pub destination: u16,
    /// Failure set, route, or failed trees.
    pub tag: u32,
    /// The tree that the packet is on.
    pub tree: u8,
    /// Switches that it may still cross.
    pub hop_limit: u8,
    /// The ports by which it is to leave the next switches.
    pub forward: Vec<u8>,
    /// The ports by which it came into the switches so far, the latest first; `None` where the
    /// header says that it keeps none.
    pub reverse: Option<Vec<u8>>,
}

impl FailoverHeader {
    /// The header of a packet; `None` without one, or if its counts reach beyond the packet.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (ether_type, shim) = bytes.get(12..)?.split_first_chunk::<2>()?;
        if u16::from_be_bytes(*ether_type) != SHIM_ETHER_TYPE {
            return None;
        }
        let (fixed, hops) = shim.split_first_chunk::<{ SHIM_BYTES as usize }>()?;
        let kept = (fixed[11] != NO_REVERSE).then_some(usize::from(fixed[11]));
        let (forward, reverse) = (usize::from(fixed[10]), kept.unwrap_or(0));
        let hops = hops.get(..forward + reverse)?;
        Some(Self {
            version: fixed[0],
            multipath: fixed[1],
            destination: u16::from_be_bytes([fixed[2], fixed[3]]),
            tag: u32::from_be_bytes([0, fixed[4], fixed[5], fixed[6]]),
            tree: fixed[8],
            hop_limit: fixed[9],
            forward: hops[..forward].to_vec(),
            reverse: kept.map(|_| hops[forward..].to_vec()),
        })
    }
}

impl std::fmt::Display for FailoverHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |hops: &[u8]| {
            let hops: Vec<String> = hops.iter().map(ToString::to_string).collect();
            hops.join(" ")
        };
        write!(
            f,
            "v{} to {} tag {} tree {} limit {} forward [{}] reverse {}",
            self.version,
            self.destination,
            self.tag,
            self.tree,
            self.hop_limit,
            list(&self.forward),
            match &self.reverse {
                Some(reverse) => format!("[{}]", list(reverse)),
                None => "not kept".to_owned(),
            }
        )
    }
}

/// How a walk ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub enum WalkEnd {
    /// A host got it.
    Delivered {
        /// The host's name.
        host: String,
    },
    /// A switch dropped it.
    Dropped {
        /// The switch's name.
        switch: String,
        /// Why.
        reason: String,
    },
    /// It left by a port that leads nowhere.
    Lost {
        /// The switch's name.
        switch: String,
        /// The port.
        port: PortId,
    },
    /// It crossed more switches than any packet may.
    Circling,
}

/// A packet's walk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Walk {
    /// The sending host.
    pub from: String,
    /// The hops in order.
    pub hops: Vec<Hop>,
    /// How it ended.
    #[serde(flatten)]
    pub end: WalkEnd,
}

impl Network {
    /// Sends one packet in at a switch's port and follows it.
    ///
    /// # Errors
    /// [`NetworkError`] if a switch on the way does not start.
    pub fn walk(
        &mut self,
        from: &str,
        packet: Vec<u8>,
        switch: SwitchId,
        port: PortId,
    ) -> Result<Walk, NetworkError> {
        let mut hops = Vec::new();
        let (mut bytes, mut switch, mut port) = (packet, switch, port);
        let end = loop {
            if hops.len() == MAX_HOPS {
                break WalkEnd::Circling;
            }
            let (hop, sent) = self.step(&bytes, switch, port)?;
            let name = hop.switch.clone();
            hops.push(hop);
            let (out, sent) = match sent {
                Ok(sent) => sent,
                Err(reason) => {
                    break WalkEnd::Dropped {
                        switch: name,
                        reason,
                    };
                }
            };
            let Some(peer) = self.topology().peer(switch, out) else {
                break WalkEnd::Lost {
                    switch: name,
                    port: out,
                };
            };
            match peer.end.node {
                NodeId::Host(host) => {
                    break WalkEnd::Delivered {
                        host: self.topology().host(host).name.clone(),
                    };
                }
                NodeId::Switch(next) => (bytes, switch, port) = (sent, next, peer.end.port),
            }
        };
        Ok(Walk {
            from: from.to_owned(),
            hops,
            end,
        })
    }

    /// One switch: what it did, and the packet with its port or the reason why there is none.
    #[allow(clippy::type_complexity)]
    fn step(
        &mut self,
        bytes: &[u8],
        switch: SwitchId,
        port: PortId,
    ) -> Result<(Hop, Result<(PortId, Vec<u8>), String>), NetworkError> {
        let name = self.topology().switch(switch).name.clone();
        let plan = Arc::clone(self.shared_plan());
        let notation = targets::notation(self.target(), plan.tables());
        let table_step = |event: &TraceEvent| table_step(event, switch, &notation);
        let device = self.device(switch)?;
        let mut watched = Watched::default();
        let now = Nanos::new(0);
        device.accept_traced(now, port, bytes, &mut watched);
        let first = device.poll_transmit(now).map(|sent| {
            let priorities = (sent.ing_prio, sent.eg_prio);
            (sent.port, sent.bytes.to_vec(), priorities)
        });
        // The walk follows one packet; copies end here.
        while device.poll_transmit(now).is_some() {}
        let reason = device.drops().first().map(ToString::to_string);
        let code_before = self.code(bytes);
        let code_after = first.as_ref().and_then(|(_, sent, _)| self.code(sent));
        let (ing_prio, eg_prio) = first.as_ref().map_or_else(Default::default, |sent| sent.2);
        let hop = Hop {
            switch: name,
            in_port: port,
            out_port: first.as_ref().map(|sent| sent.0),
            tables: watched.events.iter().filter_map(table_step).collect(),
            code_before,
            code_after,
            header_before: self.header(bytes),
            header_after: first.as_ref().and_then(|sent| self.header(&sent.1)),
            tag_before: self.tag(code_before),
            tag_after: self.tag(code_after),
            ing_prio,
            eg_prio,
            bytes_before: hex(bytes),
            bytes_after: first.as_ref().map(|sent| hex(&sent.1)),
            lines: watched.lines.into_iter().collect(),
        };
        let outcome = first
            .map(|(port, bytes, _)| (port, bytes))
            .ok_or_else(|| reason.unwrap_or_else(|| "the program sent nothing".to_owned()));
        Ok((hop, outcome))
    }

    fn header(&self, bytes: &[u8]) -> Option<FailoverHeader> {
        self.plan().tables().failover.as_ref()?;
        FailoverHeader::read(bytes)
    }

    /// The number in the plan's carrier; `None` if the packet has no such field.
    #[must_use]
    pub fn code(&self, bytes: &[u8]) -> Option<u16> {
        if !self.plan().tables().has_tags() {
            return None;
        }
        let layers = Layers::parse(bytes).ok()?;
        match self.plan().carrier().kind {
            CarrierKind::Dscp => layers.dscp().map(u16::from),
            CarrierKind::VlanPcp => layers.pcp().map(|pcp| u16::from(pcp.get())),
            CarrierKind::VlanVid => layers.vlan.map(|tag| tag.get_vlan_identifier()),
            CarrierKind::Shim if layers.ether_type.0 == SHIM_ETHER_TYPE => {
                layers.payload.get(SHIM_TAG_OFFSET).copied().map(u16::from)
            }
            CarrierKind::Shim => None,
        }
    }

    fn tag(&self, code: Option<u16>) -> String {
        let carrier = self.plan().carrier();
        code.map_or_else(
            || "none".to_owned(),
            |code| carrier.decode(TagCode::new(code)).to_string(),
        )
    }
}

fn table_step(event: &TraceEvent, switch: SwitchId, notation: &Notation<'_>) -> Option<TableStep> {
    let TraceEvent::Table(applied) = event else {
        return None;
    };
    let field = |(name, value): &(String, p4exec::value::Bits)| (name.clone(), value.to_string());
    let hit = applied.hit.as_ref();
    Some(TableStep {
        table: applied.table.clone(),
        key: applied.key.iter().map(field).collect(),
        entry: hit.map(|hit| joined(hit.key.iter().map(ToString::to_string))),
        priority: hit.map(|hit| hit.priority.0).filter(|p| *p != 0),
        action: action(applied),
        text: step_text(applied, switch, notation),
    })
}

fn step_text(applied: &TableTrace, switch: SwitchId, notation: &Notation<'_>) -> StepText {
    let table = &applied.table;
    let key = applied.key.iter().map(|(name, value)| {
        let value = notation.key(switch, table, name, value);
        format!("{name}={value}")
    });
    let matched = |hit: &EntryTrace| {
        let fields = applied.key.iter().zip(&hit.key);
        joined(fields.map(|((name, _), of)| notation.matched(switch, table, name, of)))
    };
    StepText {
        key: key.collect(),
        entry: applied.hit.as_ref().map(matched),
        action: action_text(applied, switch, notation),
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn action(applied: &TableTrace) -> Option<String> {
    let args = applied.args.iter();
    called(
        applied,
        args.map(|(name, value)| format!("{name} = {value}")),
    )
}

fn action_text(applied: &TableTrace, switch: SwitchId, notation: &Notation<'_>) -> Option<String> {
    let written = applied.args.iter().map(|(name, value)| {
        let value = notation.parameter(switch, name, value);
        format!("{name} = {value}")
    });
    called(applied, written)
}

/// The action that ran, with its arguments.
fn called(applied: &TableTrace, arguments: impl Iterator<Item = String>) -> Option<String> {
    let name = applied.action.as_ref()?;
    Some(format!("{name}({})", joined(arguments)))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

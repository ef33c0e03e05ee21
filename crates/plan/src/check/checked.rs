//! The witness of the proof, and the figures that every plan reports.

use std::sync::Arc;

use quantities::{PortId, Priority};
use serde::Serialize;
use topology::{SwitchId, Topology};

use super::{Certificate, CheckReport};
use crate::budget::{SwitchHeadroom, switch_headroom};
use crate::carrier::Carrier;
use crate::model::{RuleForm, Tables, Tagging};
use crate::tag::{ClassId, NewTag, Tag};

/// Bits of a port number in an exact-port key (v1model and TNA both have 9).
const PORT_NUMBER_BITS: u64 = 9;

/// A plan that was proven. Only [`check`](super::check()) makes one, and it cannot be changed
/// afterwards; cloning is cheap.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    tables: Arc<Tables>,
    report: Arc<CheckReport>,
}

/// How many rules a switch holds and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// Rules as the plan has them. The lossy catch-all is not among them: it is the table's default
    /// action.
    pub rules: u64,
    /// How many exact-port rules the same port sets stand for.
    pub exact: u64,
    /// Width of the key of one rule, in bits.
    pub key_bits: u64,
    /// `rules * key_bits`.
    pub tcam_bits: u64,
}

impl CheckedPlan {
    /// Called by the proof, and by nothing else.
    pub(super) fn witness(tables: Tables, report: CheckReport) -> Self {
        Self {
            tables: Arc::new(tables),
            report: Arc::new(report),
        }
    }

    /// The report of the proof.
    #[must_use]
    pub fn report(&self) -> CheckReport {
        (*self.report).clone()
    }

    /// The certificate that buffers cannot wait for each other in a cycle; nothing without
    /// lossless tags. It is as large as the graph: [`CheckReport::graph`] says how large that is.
    #[must_use]
    pub fn certificate(&self) -> Option<Certificate> {
        Certificate::of(&self.tables)
    }

    /// Everything that the plan holds.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The network.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.tables.topology
    }

    /// Classes, priorities, rules.
    #[must_use]
    pub fn tagging(&self) -> &Tagging {
        &self.tables.tagging
    }

    /// Where tags travel.
    #[must_use]
    pub fn carrier(&self) -> &Carrier {
        &self.tables.carrier
    }

    /// The ingress and egress priority of a packet and the tag with which it leaves (TaggerDraft
    /// section 6.3): both priorities are the lossy one if no rule matches.
    #[must_use]
    pub fn classify(
        &self,
        switch: SwitchId,
        class: ClassId,
        tag: Tag,
        in_port: PortId,
        out_port: PortId,
    ) -> Classified {
        let tagging = self.tagging();
        let new_tag = tagging.new_tag(switch, class, tag, in_port, out_port);
        let arriving = match new_tag {
            NewTag::Lossless(_) => NewTag::Lossless(tag),
            NewTag::Lossy => NewTag::Lossy,
        };
        Classified {
            ingress: tagging.priority(arriving),
            egress: tagging.priority(new_tag),
            new_tag,
        }
    }

    /// The rules of one switch in numbers.
    #[must_use]
    pub fn counts(&self, switch: SwitchId) -> RuleCounts {
        self.tables.counts(switch)
    }

    /// What lossless priorities cost one switch.
    #[must_use]
    pub fn headroom(&self, switch: SwitchId) -> SwitchHeadroom {
        switch_headroom(self.topology(), switch, &self.tables.budget)
    }
}

/// What the classify stage of a switch decides about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classified {
    /// ING_PRIO: the queue that this switch accounts and pauses upstream.
    pub ingress: Priority,
    /// EG_PRIO: the queue in which the packet waits for the wire.
    pub egress: Priority,
    /// The tag with which it leaves.
    pub new_tag: NewTag,
}

impl Tables {
    /// How many bits a one-hot bitmap of ports needs: bit `p` for port `p`, over all switches (one
    /// program serves them all).
    #[must_use]
    pub fn port_bitmap_bits(&self) -> u16 {
        let ports = self.topology.switches().iter().map(|s| s.ports);
        ports.max().unwrap_or(0).saturating_add(1)
    }

    /// Width of the key of a tag rule, in bits: the carrier, and both ports.
    #[must_use]
    pub fn key_bits(&self) -> u64 {
        let port = match self.tagging.form {
            RuleForm::Exact => PORT_NUMBER_BITS,
            RuleForm::PortSets => u64::from(self.port_bitmap_bits()),
        };
        u64::from(self.carrier.kind.bits()) + 2 * port
    }

    /// The rules of one switch in numbers.
    #[must_use]
    pub fn counts(&self, switch: SwitchId) -> RuleCounts {
        let rules = self.tagging.rules.get(switch.index());
        let rules = rules.map_or(&[][..], Vec::as_slice);
        let count = rules.len() as u64;
        let key_bits = self.key_bits();
        RuleCounts {
            rules: count,
            exact: rules.iter().map(|r| r.exact_count() as u64).sum(),
            key_bits,
            tcam_bits: count * key_bits,
        }
    }
}

//! What a target can do, as data; and what it refuses, with the way out.
//!
//! Limits of the language and the switch stand here; limits of a table (how many entries) are the
//! program's own and stand in its [`Layout`].

use std::fmt;

use thiserror::Error;

use crate::plan::layout::{self, Layout};
use crate::plan::{CheckedPlan, RuleForm};
use crate::topology::SwitchId;

/// What a target can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The target's name.
    pub target: &'static str,
    /// Number of priorities, the lossy one included.
    pub priorities: u16,
    /// The highest number that a port may have.
    pub highest_port: u16,
    /// The widest one-hot bitmap of ports, in bits.
    pub bitmap_bits: u16,
}

/// BMv2's `simple_switch` and the embedded switch. Ports are 9 bits and 511 means "drop";
/// `standard_metadata.priority` has 3 bits.
pub const V1MODEL: Capabilities = Capabilities {
    target: "v1model",
    priorities: 1 << layout::PRIORITY_BITS,
    highest_port: 510,
    bitmap_bits: layout::BITMAP_BITS_MAX,
};

/// Something that the plan needs and the target does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Refusal {
    /// The target.
    pub target: &'static str,
    /// The resource, as a plural: `priorities`, `entries of table ingress.classify`.
    pub resource: String,
    /// The switch that needs most, if it is about one.
    pub switch: Option<String>,
    /// How much the plan needs.
    pub need: u64,
    /// How much there is.
    pub limit: u64,
    /// What to change.
    pub mend: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.switch.as_deref().map(|s| format!("switch `{s}`"));
        write!(
            f,
            "target {} cannot carry this plan: {} needs {} {}, the target has {}; {}",
            self.target,
            who.as_deref().unwrap_or("it"),
            self.need,
            self.resource,
            self.limit,
            self.mend
        )
    }
}

impl Capabilities {
    /// Everything that a plan needs and this target does not have, as far as entries do not matter.
    #[must_use]
    pub fn refusals(&self, plan: &CheckedPlan) -> Vec<Refusal> {
        [
            self.priorities_of(plan),
            self.ports_of(plan),
            self.bitmap_of(plan),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn refusal(&self, resource: &str, need: u64, limit: u64, mend: &'static str) -> Refusal {
        Refusal {
            target: self.target,
            resource: resource.to_owned(),
            switch: None,
            need,
            limit,
            mend,
        }
    }

    fn priorities_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let highest = plan.tagging().priorities.values().max()?.get();
        let need = u64::from(highest) + 1;
        let limit = u64::from(self.priorities);
        (need > limit).then(|| {
            self.refusal(
                "priorities",
                need,
                limit,
                "plan with fewer bounces or classes",
            )
        })
    }

    fn ports_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let topology = plan.topology();
        let (port, switch) = topology
            .switch_ids()
            .filter_map(|s| Some((topology.peers(s).last()?.0, s)))
            .max_by_key(|(port, _)| *port)?;
        (port.get() > self.highest_port).then(|| Refusal {
            switch: Some(topology.switch(switch).name.clone()),
            ..self.refusal(
                "port numbers",
                u64::from(port.get()),
                u64::from(self.highest_port),
                "number its ports from 1, or split the switch",
            )
        })
    }

    fn bitmap_of(&self, plan: &CheckedPlan) -> Option<Refusal> {
        let bits = plan.tables().port_bitmap_bits();
        let wide = plan.tagging().form == RuleForm::PortSets && bits > self.bitmap_bits;
        wide.then(|| {
            self.refusal(
                "bits of port bitmap (one per port, and bit 0)",
                u64::from(bits),
                u64::from(self.bitmap_bits),
                "plan with rules for exact ports instead of port sets",
            )
        })
    }

    /// What a table of a switch lacks for its entries.
    #[must_use]
    pub fn table_refusal(
        &self,
        plan: &CheckedPlan,
        switch: SwitchId,
        layout: &Layout,
        table: &str,
        entries: u64,
    ) -> Option<Refusal> {
        let size = u64::from(layout.table(table)?.size);
        (entries > size).then(|| Refusal {
            switch: Some(plan.topology().switch(switch).name.clone()),
            ..self.refusal(
                &format!("entries of table {table}"),
                entries,
                size,
                match table {
                    layout::table::CLASSIFY | layout::table::REWRITE => {
                        "plan with port sets, which take far fewer rules than exact ports"
                    }
                    layout::table::RES_FORWARD => {
                        "plan with --compress, --multipath or less resilience, which takes fewer rules"
                    }
                    layout::table::ENCAP
                    | layout::table::NEIGHBOR
                    | layout::table::LOCAL_HOST => "split the network: a switch knows every host",
                    _ => "address the hosts of one switch from one prefix, so that routes merge",
                },
            )
        })
    }

    /// What the action selector of a switch lacks for its members.
    #[must_use]
    pub fn selector_refusal(
        &self,
        plan: &CheckedPlan,
        switch: SwitchId,
        layout: &Layout,
        members: u64,
    ) -> Option<Refusal> {
        let limit = u64::from(layout.selector_size);
        (members > limit).then(|| Refusal {
            switch: Some(plan.topology().switch(switch).name.clone()),
            ..self.refusal(
                "members of ECMP groups",
                members,
                limit,
                "plan with fewer equal-cost paths",
            )
        })
    }
}

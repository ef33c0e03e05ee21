//! The `tagger` family: lossless tags over routed Ethernet (Tagger17).

pub(super) mod entries;
mod maps;
mod program;
pub(in crate::family) mod steps;
mod summary;
pub(super) mod tables;
pub(super) mod text;

use plan::{CarrierKind, CheckedPlan, RuleForm, TagCode};
use serde::Serialize;
use topology::SwitchId;

use super::{EntrySource, Family, Summary, summary as summaries};
use crate::capabilities::{Architecture, Capabilities, Demand, Ingress, Pipeline, Resource};
use crate::entries::{EntriesError, SwitchEntries};
use crate::layout::{Layout, PORT_BITS, SHIM_BYTES, table};

pub use entries::of_maps;
pub use summary::{ClassReport, RulesReport, TagReport};

/// What a `tagger` program depends on. Two plans with equal features have the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TaggerFeatures {
    /// Where tags travel.
    pub carrier: CarrierKind,
    /// How many bits the tag has below the class bits, where class bits are carried.
    pub class_shift: Option<u8>,
    /// The code of lossy packets.
    pub lossy: TagCode,
    /// How rules match ports.
    pub form: RuleForm,
    /// Width of the one-hot bitmap of ports: bit `p` stands for port `p`. Without meaning in exact
    /// form.
    pub port_bits: u16,
    /// Whether, instead of rules, maps between DSCP, traffic class, priority group and queue say
    /// what becomes of tags, as SONiC has them.
    pub maps: bool,
}

impl TaggerFeatures {
    /// The features that a plan uses.
    #[must_use]
    pub fn of(plan: &CheckedPlan) -> Self {
        let carrier = plan.carrier();
        let form = plan.tagging().form;
        Self {
            carrier: carrier.kind,
            class_shift: carrier.class_shift,
            lossy: carrier.lossy,
            form,
            port_bits: match form {
                RuleForm::Exact => PORT_BITS,
                RuleForm::PortSets => plan.tables().port_bitmap_bits(),
            },
            maps: false,
        }
    }

    /// The features of a plan for switches whose maps say what its rules say.
    #[must_use]
    pub fn with_maps(plan: &CheckedPlan) -> Self {
        Self {
            // No table matches two ports at once, but what stands for ACL rules.
            form: RuleForm::Exact,
            port_bits: PORT_BITS,
            // Maps know whole DSCPs.
            class_shift: None,
            maps: true,
            ..Self::of(plan)
        }
    }

    /// Width of the carrier's field, in bits.
    #[must_use]
    pub const fn code_bits(&self) -> u16 {
        self.carrier.bits() as u16
    }

    /// Width of the tag within the code, in bits.
    #[must_use]
    pub fn tag_bits(&self) -> u16 {
        self.class_shift.map_or(self.code_bits(), |shift| {
            u16::from(shift).min(self.code_bits())
        })
    }

    /// Width of the class bits above the tag; 0 where none are carried.
    #[must_use]
    pub fn class_bits(&self) -> u16 {
        self.code_bits() - self.tag_bits()
    }

    /// Whether the program puts a carrier on at the edge (and takes it off).
    #[must_use]
    pub const fn has_edge(&self) -> bool {
        !matches!(self.carrier, CarrierKind::Dscp)
    }
}

/// How to need fewer routes.
const ROUTES_MEND: &str = "address the hosts of one switch from one prefix, so that routes merge";

impl Family for TaggerFeatures {
    fn name(&self) -> &'static str {
        "tagger"
    }

    // Such as `tagger-dscp-sets33`, `tagger-shim-exact-class2`.
    fn program_name(&self) -> String {
        let ports = match self.form {
            RuleForm::Exact if self.maps => "maps".to_owned(),
            RuleForm::Exact => "exact".to_owned(),
            RuleForm::PortSets => format!("sets{}", self.port_bits),
        };
        let class = match self.class_bits() {
            0 => String::new(),
            bits => format!("-class{bits}"),
        };
        format!("tagger-{}-{ports}{class}", self.carrier.name())
    }

    fn carrier_bytes(&self) -> u16 {
        match self.carrier {
            CarrierKind::Dscp => 0,
            CarrierKind::VlanPcp | CarrierKind::VlanVid => 4,
            CarrierKind::Shim => SHIM_BYTES,
        }
    }

    fn routes(&self) -> bool {
        true
    }

    fn demands(&self, plan: &CheckedPlan) -> Vec<Demand> {
        match self.form {
            RuleForm::Exact => Vec::new(),
            RuleForm::PortSets => vec![Demand {
                resource: Resource::BitmapBits,
                need: plan.tables().port_bitmap_bits().into(),
                mend: "plan with rules for exact ports instead of port sets (`plan --rules exact`)",
            }],
        }
    }

    fn layout(&self, architecture: Architecture) -> Layout {
        tables::layout(self, architecture)
    }

    fn render(&self, target: &Capabilities, layout: &Layout) -> Result<String, askama::Error> {
        program::render(self, target, layout)
    }

    fn entries(
        &self,
        source: &EntrySource<'_>,
        switch: SwitchId,
    ) -> Result<SwitchEntries, EntriesError> {
        entries::generate(self, source, switch)
    }

    fn mend(&self, table: &str) -> &'static str {
        match table {
            table::ACL_TC => "plan for fewer lossless routes",
            table::CLASSIFY | table::REWRITE | table::INGRESS_REWRITE => {
                "plan with port sets (`plan --rules port-sets`), which take far fewer rules than exact ports"
            }
            _ => ROUTES_MEND,
        }
    }

    fn ingress(&self, layout: &Layout, pipeline: &Pipeline) -> Ingress {
        steps::ingress(self, layout, pipeline)
    }

    fn summary(&self, source: &summaries::Source<'_>) -> Summary {
        summary::summary(source)
    }
}

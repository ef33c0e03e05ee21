//! Program families: what data planes do, one folder each.
//!
//! A family says which tables its programs have, writes their text and their entries, and knows
//! what they take of a pipeline. It does so for every kind of architecture; what differs between
//! targets of one kind are their capabilities.

pub mod failover;
mod p4_names;
pub mod summary;
pub mod tagger;

use std::collections::BTreeMap;

use plan::CheckedPlan;
use serde::Serialize;
use topology::SwitchId;
use topology::routes::forwarding::SwitchTables;

pub use failover::{FailoverFeatures, HeaderState, NO_REVERSE};
pub use summary::Summary;
pub use tagger::TaggerFeatures;

use crate::capabilities::{Architecture, Capabilities, Demand, Ingress, Pipeline};
use crate::entries::{DevicePorts, EntriesError, Ports, Problem, SwitchEntries};
use crate::layout::Layout;

/// What stands in a program's text where its stamp goes.
pub(crate) const STAMP: &str = "0000000000000000";
/// The version that builds stamp unless they are told another.
pub const DEFAULT_VERSION: u8 = 1;

/// How to need fewer entries where every switch has one for every host.
const SPLIT_MEND: &str = "split the network: a switch knows every host";

/// A program family with its features chosen: all that depends on which program a plan needs.
pub trait Family {
    /// The family's name; the main file of its programs is `NAME.p4`.
    fn name(&self) -> &'static str;

    /// A name that tells all programs of all families apart.
    fn program_name(&self) -> String;

    /// The most bytes that packets grow by inside the fabric.
    fn carrier_bytes(&self) -> u16;

    /// Whether its programs forward by the plan's routes.
    fn routes(&self) -> bool;

    /// What the program of this plan needs of a target.
    fn demands(&self, plan: &CheckedPlan) -> Vec<Demand>;

    /// The program's tables and actions.
    fn layout(&self, architecture: Architecture) -> Layout;

    /// The program's text, with tables as large as the layout says.
    ///
    /// # Errors
    /// A template cannot be rendered (our bug).
    fn render(&self, target: &Capabilities, layout: &Layout) -> Result<String, askama::Error>;

    /// The entries of one switch.
    ///
    /// # Errors
    /// [`EntriesError::Unfit`] when the plan says what the program cannot hold; two ports of a
    /// switch that end up with one device port.
    fn entries(
        &self,
        source: &EntrySource<'_>,
        switch: SwitchId,
    ) -> Result<SwitchEntries, EntriesError>;

    /// How to need fewer entries of a table.
    fn mend(&self, table: &str) -> &'static str;

    /// What the program does in a pipeline.
    fn ingress(&self, layout: &Layout, pipeline: &Pipeline) -> Ingress;

    /// What a report tells of the plan's tables.
    fn summary(&self, source: &summary::Source<'_>) -> Summary;
}

/// What entries are made of, besides a family's features. It serves all switches.
#[derive(Clone, Copy, Debug)]
pub struct EntrySource<'a> {
    /// The plan.
    pub plan: &'a CheckedPlan,
    /// What runs the program.
    pub target: &'a Capabilities,
    /// The program's layout.
    pub layout: &'a Layout,
    /// The plan's routes, or what is left of them after failures, for a family that forwards by
    /// them.
    pub forwarding: Option<&'a dyn SwitchTables>,
    /// The version that packets are stamped with in a family that has versions, and that its
    /// entries are for.
    pub version: u8,
    /// Which device port stands behind a port of the plan; on targets that have the plan's numbers
    /// nothing asks.
    pub device_ports: &'a DevicePorts,
    /// Under SONiC: the configurations that tags are put beside, by switch.
    pub bases: Option<&'a BTreeMap<String, sonic::Base>>,
}

impl<'a> EntrySource<'a> {
    /// Entries of the default version, for switches whose ports have the plan's numbers.
    #[must_use]
    pub fn new(
        plan: &'a CheckedPlan,
        target: &'a Capabilities,
        layout: &'a Layout,
        forwarding: Option<&'a dyn SwitchTables>,
    ) -> Self {
        static SAME: DevicePorts = DevicePorts::SAME;
        Self {
            plan,
            target,
            layout,
            forwarding,
            version: DEFAULT_VERSION,
            device_ports: &SAME,
            bases: None,
        }
    }

    /// The configuration that the tags of a switch are put beside.
    fn base(&self, switch: SwitchId) -> Option<&'a sonic::Base> {
        self.bases?.get(&self.plan.topology().switch(switch).name)
    }

    /// The ports of a switch as its device numbers them.
    fn ports(&self, switch: SwitchId) -> Result<Ports, Problem> {
        let topology = self.plan.topology();
        let name = &topology.switch(switch).name;
        let ports = topology.peers(switch).map(|(port, _)| port);
        let devices = match self.target.architecture {
            Architecture::V1model => &DevicePorts::SAME,
            Architecture::Tofino => self.device_ports,
        };
        Ports::of(name, ports, devices)
    }

    /// An error with the switch that it is about.
    fn unfit(&self, switch: SwitchId, problem: Problem) -> EntriesError {
        EntriesError::Unfit {
            at: self.plan.topology().switch(switch).name.clone(),
            problem,
        }
    }
}

/// Declares the families: a variant for each with its features. A plan's family is the first whose
/// features it has, and the last where it has none of them.
macro_rules! families {
    ($($(#[$doc:meta])* $variant:ident($features:ident)),*; $(#[$last_doc:meta])* $last:ident($last_features:ident)) => {
        /// What a program depends on, by its family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ProgramFeatures {
            $($(#[$doc])* $variant($features),)*
            $(#[$last_doc])* $last($last_features),
        }

        impl ProgramFeatures {
            /// The features that a plan uses.
            #[must_use]
            pub fn of(plan: &CheckedPlan) -> Self {
                $(if let Some(features) = $features::of(plan) {
                    return features.into();
                })*
                $last_features::of(plan).into()
            }
        }

        impl ProgramFeatures {
            /// The features of a plan on a target: under SONiC its rules are maps.
            #[must_use]
            pub fn on(plan: &CheckedPlan, target: &Capabilities) -> Self {
                match target.maps {
                    Some(_) => TaggerFeatures::with_maps(plan).into(),
                    None => Self::of(plan),
                }
            }
        }

        impl std::ops::Deref for ProgramFeatures {
            type Target = dyn Family + Sync;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(features) => features,)*
                    Self::$last(features) => features,
                }
            }
        }

        $(impl From<$features> for ProgramFeatures {
            fn from(features: $features) -> Self {
                Self::$variant(features)
            }
        })*

        impl From<$last_features> for ProgramFeatures {
            fn from(features: $last_features) -> Self {
                Self::$last(features)
            }
        }
    };
}

families! {
    /// Local fast failover.
    Failover(FailoverFeatures);
    /// Lossless tags over any routing.
    Tagger(TaggerFeatures)
}

//! Targets: what switches can do, and what a build directory holds for them, one folder for each
//! kind.

mod formats;
pub mod sonic;
pub mod tofino;
pub mod v1model;

use std::collections::BTreeMap;

use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::P4Info;
use plan::{CheckedPlan, Tables};
use serde::{Deserialize, Serialize};
use topology::SwitchId;

pub use self::formats::{Format, Formats};
pub use self::sonic::{SONIC_8TC, SONIC_8TC_ACL, SONIC_16TC, SONIC_16TC_ACL};
pub use tofino::{TNA, TNA2};
pub use v1model::{EMBEDDED, V1MODEL};

use crate::capabilities::{Architecture, Capabilities};
use crate::entries::{EntriesError, Notation, SwitchEntries};
use crate::family::summary::SwitchReport;
use crate::program::Program;
use crate::program::p4info::P4InfoError;

/// Every target, as `targets` prints them. A new one is a line here.
pub static ALL: [&dyn Target; 8] = [
    &V1MODEL,
    &EMBEDDED,
    &TNA,
    &TNA2,
    &SONIC_8TC,
    &SONIC_16TC,
    &SONIC_8TC_ACL,
    &SONIC_16TC_ACL,
];

/// How people read the values of a plan's program on a target. Only v1model numbers ports as the
/// plan does.
#[must_use]
pub fn notation<'a>(target: &Capabilities, tables: &'a Tables) -> Notation<'a> {
    let plan_ports = target.architecture == Architecture::V1model;
    Notation::new(tables, target.maps.is_some(), plan_ports)
}

/// Something that plans are built for.
pub trait Target: Sync {
    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// What entries are written by: the program's P4Info.
    ///
    /// # Errors
    /// The front end refuses the program (our bug).
    fn p4info(&self, program: &Program) -> Result<P4Info, P4InfoError>;

    /// The files of one switch: its entries in the formats by which the target is filled.
    ///
    /// # Errors
    /// Entries do not fit the program (our bug).
    fn switch_files(
        &self,
        build: &Build<'_>,
        files: &SwitchFiles,
        entries: &SwitchEntries,
    ) -> Result<Vec<File>, TargetError>;

    /// What the directory holds besides programs, entries, plan and reports.
    ///
    /// # Errors
    /// A file cannot be put into JSON (our bug).
    fn extra_files(
        &self,
        build: &Build<'_>,
        switches: &[BuiltSwitch],
    ) -> Result<Vec<File>, TargetError>;

    /// How the program is compiled and run: commands, a line each.
    fn commands(&self, build: &Build<'_>, switches: &[BuiltSwitch]) -> String;
}

/// The target of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Target> {
    let mut all = ALL.into_iter();
    all.find(|target| target.capabilities().target == name)
}

/// What files are made from.
pub struct Build<'a> {
    /// The plan.
    pub plan: &'a CheckedPlan,
    /// The program.
    pub program: &'a Program,
    /// Its P4Info.
    pub index: &'a P4InfoIndex,
    /// Where it is.
    pub files: &'a ProgramFiles,
    /// Under SONiC: what becomes of the PFC watchdog.
    pub watchdog: ::sonic::Watchdog,
    /// Under SONiC: the configurations that tags are put beside, by switch.
    pub bases: &'a BTreeMap<String, ::sonic::Base>,
    /// For v1model: the formats of entries.
    pub formats: &'a Formats,
}

/// A switch whose entries are made.
pub struct BuiltSwitch {
    /// What it holds.
    pub report: SwitchReport,
    /// Where its entries are.
    pub files: SwitchFiles,
}

/// A file of a build directory.
pub struct File {
    /// Its path below the directory.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl File {
    fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
        }
    }
}

/// Why a file cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Entries do not fit the program.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// A switch has no configuration.
    #[error(transparent)]
    Sonic(#[from] ::sonic::MergeError),
    /// The audit of configurations with an operator's rows finds something.
    #[error("{0}")]
    Merged(String),
    /// The audit of the configurations does not show what the plan promises.
    #[error("the audit of the configurations: {0}")]
    Audit(String),
    /// A file cannot be put into JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Where a build directory has its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramFiles {
    /// The program's name, which says all that it depends on.
    pub name: String,
    /// The main file.
    pub main: String,
    /// P4Info, in text format.
    pub p4info: String,
}

impl ProgramFiles {
    /// Where this program is put.
    pub(crate) fn of(program: &Program) -> Self {
        Self {
            name: program.features.program_name(),
            main: format!("p4/{}", program.main.name),
            p4info: format!("p4/{}.p4info.txtpb", program.name()),
        }
    }
}

/// The files of one switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchFiles {
    /// The switch's name.
    pub name: String,
    /// P4Runtime device id.
    pub device_id: u64,
    /// Its directory.
    pub directory: String,
    /// How many entries it has: table entries, selector members and groups.
    pub entries: u64,
}

impl SwitchFiles {
    /// Path of the `p4.v1.WriteRequest` in text format.
    #[must_use]
    pub fn entries_txtpb(&self) -> String {
        format!("{}/entries.txtpb", self.directory)
    }

    /// Path of the same message in binary.
    #[must_use]
    pub fn entries_binpb(&self) -> String {
        format!("{}/entries.binpb", self.directory)
    }

    /// Path of the entries as p4lang/tutorials has them.
    #[must_use]
    pub fn runtime_json(&self) -> String {
        format!("{}/runtime.json", self.directory)
    }

    /// The switch: device ids count them from 0, in topology order.
    pub(crate) fn id(&self) -> SwitchId {
        SwitchId::new(u32::try_from(self.device_id).unwrap_or(u32::MAX))
    }

    /// Path of the configuration for SONiC.
    #[must_use]
    pub fn config_db_json(&self) -> String {
        format!("{}/config_db.json", self.directory)
    }

    /// Path of the JSON patch for SONiC.
    #[must_use]
    pub fn patch_json(&self) -> String {
        format!("{}/patch.json", self.directory)
    }

    /// Path of the entries for BF Runtime.
    #[must_use]
    pub fn bfrt_json(&self) -> String {
        format!("{}/bfrt.json", self.directory)
    }

    /// Path of the commands for `simple_switch_CLI`.
    #[must_use]
    pub fn commands_txt(&self) -> String {
        format!("{}/commands.txt", self.directory)
    }
}

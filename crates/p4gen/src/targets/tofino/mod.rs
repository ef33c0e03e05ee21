//! The targets `tna` and `tna2`: one program with room for what the plan needs, every switch's entries for BF Runtime, a
//! loader.

mod estimate;
mod estimate_failover;

use rayon::prelude::*;

pub use estimate::{Estimate, ROUTES, Step, TAGS};
pub use estimate_failover::RULES;

use plan::CheckedPlan;
use topology::SwitchId;
use topology::routes::forwarding::{Forwarding, Reroute};

use super::capabilities::Capabilities;
use super::v1model::{PLAN, json_file, picture, refuse};
use crate::build::directory::{Staging, file_name};
use crate::build::manifest::{MANIFEST, MadeFrom, Manifest, ProgramFiles, SwitchFiles};
use crate::build::report::{BuildReport, SwitchReport};
use crate::build::{BuildError, BuildOptions, Progress, TargetKind, failover_page, page};
use crate::entries::{SwitchEntries, bfrt, tofino as tagger_entries, tofino_failover};
use crate::layout::{
    Architecture, FailoverFeatures, FailoverRoom, Features, Layout, ProgramFeatures, Room,
};
use crate::program::{self, Program};

/// The loader for bfrt_python.
const LOADER: &str = include_str!("bfrt_load.py");
/// Its name in the build directory.
const LOADER_FILE: &str = "bfrt_load.py";
/// What feeds the port status of a `failover` program.
const PORTS: &str = include_str!("bfrt_ports.py");
/// Its name in the build directory.
const PORTS_FILE: &str = "bfrt_ports.py";

/// Writes everything into the staging directory.
pub(crate) fn build(
    plan: &CheckedPlan,
    target: TargetKind,
    staging: &Staging,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<BuildReport, BuildError> {
    let made = make(plan, target, options, progress)?;
    let program = made.program;
    let job = Job {
        plan,
        target,
        staging,
        version: match program.features {
            ProgramFeatures::Tagger(_) => 0,
            ProgramFeatures::Failover(_) => options.version,
        },
        files: ProgramFiles {
            name: program.features.program_name(),
            main: format!("p4/{}", program.main.name),
            p4info: format!("p4/{}.p4info.txtpb", program.name),
        },
        program,
    };
    job.write(&made.entries, made.estimate)
}

/// A program and what goes into it.
pub struct Made {
    /// The program.
    pub program: Program,
    /// Of every switch, in topology order.
    pub entries: Vec<SwitchEntries>,
    estimate: Option<Estimate>,
}

/// The program and the entries of a plan, unless the target cannot hold them.
pub fn make(
    plan: &CheckedPlan,
    target: TargetKind,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<Made, BuildError> {
    refuse(target.capabilities().refusals(plan))?;
    known_switches(plan, options)?;
    let wanted = Wanted {
        plan,
        target,
        options,
        progress,
    };
    match ProgramFeatures::of(plan) {
        ProgramFeatures::Tagger(features) => wanted.tagger(&features),
        ProgramFeatures::Failover(features) => wanted.failover(&features),
    }
}

/// What a program is made from.
struct Wanted<'a> {
    plan: &'a CheckedPlan,
    target: TargetKind,
    options: &'a BuildOptions,
    progress: Progress<'a>,
}

impl Wanted<'_> {
    fn tagger(&self, features: &Features) -> Result<Made, BuildError> {
        let plan = self.plan;
        let forwarding = Forwarding::new(
            plan.topology(),
            &plan.tables().forwarding,
            Reroute::Converged,
        )?;
        // Names and widths do not depend on the room.
        let layout = Layout::tofino_tagger(*features, &Room::default());
        let entries = self.entries(|id| {
            let devices = &self.options.device_ports;
            let made = tagger_entries::generate(plan, features, &layout, &forwarding, id, devices);
            Ok(made?)
        })?;
        let need = entries.iter().map(tagger_entries::room_needed);
        let room = Room::holding(&need.reduce(|a, b| a.max(&b)).unwrap_or_default());
        let capabilities = self.target.capabilities();
        let estimate = capabilities
            .pipeline
            .map(|pipeline| Estimate::of(features, &room, &pipeline));
        refuse_pipeline(capabilities, estimate.as_ref())?;
        let program = program::generate_tofino(features, architecture(self.target), &room)?;
        Ok(Made {
            program,
            entries,
            estimate,
        })
    }

    fn failover(&self, features: &FailoverFeatures) -> Result<Made, BuildError> {
        let layout = Layout::tofino_failover(*features, &FailoverRoom::default());
        let architecture = architecture(self.target);
        let made_for = tofino_failover::For {
            architecture,
            features,
            layout: &layout,
            version: self.options.version,
            devices: &self.options.device_ports,
        };
        let entries =
            self.entries(|id| Ok(tofino_failover::generate(self.plan, &made_for, id)?))?;
        let need = entries.iter().map(tofino_failover::room_needed);
        let room = FailoverRoom::holding(&need.reduce(|a, b| a.max(&b)).unwrap_or_default());
        let capabilities = self.target.capabilities();
        let estimate = capabilities
            .pipeline
            .map(|pipeline| Estimate::of_failover(features, &room, &pipeline));
        refuse_pipeline(capabilities, estimate.as_ref())?;
        let program = program::generate_tofino_failover(features, architecture, &room)?;
        Ok(Made {
            program,
            entries,
            estimate,
        })
    }

    /// The entries of every switch, in topology order.
    fn entries(
        &self,
        of: impl Fn(SwitchId) -> Result<SwitchEntries, BuildError> + Sync,
    ) -> Result<Vec<SwitchEntries>, BuildError> {
        let ids: Vec<SwitchId> = self.plan.topology().switch_ids().collect();
        ids.par_iter()
            .map(|id| {
                let entries = of(*id)?;
                (self.progress)(1);
                Ok(entries)
            })
            .collect::<Vec<_>>()
            .into_iter()
            // Of several errors always the first switch's.
            .collect()
    }
}

fn refuse_pipeline(
    capabilities: &Capabilities,
    estimate: Option<&Estimate>,
) -> Result<(), BuildError> {
    match estimate {
        Some(estimate) => refuse(capabilities.pipeline_refusals(estimate)),
        None => Ok(()),
    }
}

/// The architecture of a target.
pub fn architecture(target: TargetKind) -> Architecture {
    match target {
        TargetKind::V1model => Architecture::V1model,
        TargetKind::Tna => Architecture::Tna,
        TargetKind::Tna2 => Architecture::T2na,
    }
}

fn known_switches(plan: &CheckedPlan, options: &BuildOptions) -> Result<(), BuildError> {
    let topology = plan.topology();
    let known = |name: &str| topology.switches().iter().any(|switch| switch.name == name);
    match options.device_ports.switches().find(|name| !known(name)) {
        Some(name) => Err(BuildError::NoSuchSwitch(name.to_owned())),
        None => Ok(()),
    }
}

/// What is written.
struct Job<'a> {
    plan: &'a CheckedPlan,
    target: TargetKind,
    staging: &'a Staging,
    version: u8,
    files: ProgramFiles,
    /// The program.
    pub program: Program,
}

impl Job<'_> {
    fn write(
        self,
        entries: &[SwitchEntries],
        estimate: Option<Estimate>,
    ) -> Result<BuildReport, BuildError> {
        let (plan, staging) = (self.plan, self.staging);
        let capabilities = self.target.capabilities();
        staging.make_dir("p4")?;
        for file in self.program.files() {
            staging.write(&format!("p4/{}", file.name), file.text.as_bytes())?;
        }
        let info = program::p4info::of_layout(&self.program.layout());
        let text = p4runtime::to_text(&info)?;
        staging.write(&self.files.p4info, text.as_bytes())?;
        let index = p4runtime::P4InfoIndex::new(info).map_err(BuildError::P4Info)?;
        let (switches, listed) = self.switches(entries, &index)?;
        staging.write(LOADER_FILE, LOADER.as_bytes())?;
        if self.has_status() {
            staging.write(PORTS_FILE, PORTS.as_bytes())?;
        }
        staging.write(PLAN, plan.tables().to_json().as_bytes())?;
        let mut report = BuildReport::new(
            plan,
            capabilities,
            self.files.name.clone(),
            self.version,
            switches,
        );
        report.pipeline = estimate;
        staging.write("report.json", &json_file(&report)?)?;
        let files = page::Files {
            commands: self.commands(&listed),
            trace: false,
        };
        let picture = picture(plan.topology());
        let page = match &report.failover {
            Some(failover) => failover_page::render(plan, &report, failover, &files, &picture)?,
            None => page::render(plan, &report, &files, &picture)?,
        };
        staging.write("report.html", page.as_bytes())?;
        let manifest = Manifest::new(
            capabilities.target,
            capabilities.priorities,
            self.files,
            MadeFrom {
                topology: plan.topology().name().to_owned(),
                plan: PLAN.to_owned(),
                provenance: plan.tables().provenance.clone(),
            },
            listed,
            staging.digests(),
        );
        staging.write_unlisted(MANIFEST, &json_file(&manifest)?)?;
        Ok(report)
    }

    fn switches(
        &self,
        entries: &[SwitchEntries],
        index: &p4runtime::P4InfoIndex,
    ) -> Result<(Vec<SwitchReport>, Vec<SwitchFiles>), BuildError> {
        let written: Vec<(SwitchReport, SwitchFiles)> = self
            .plan
            .topology()
            .switch_ids()
            .zip(entries)
            .collect::<Vec<_>>()
            .par_iter()
            .map(|(id, entries)| {
                let report = SwitchReport::new(self.plan, *id, entries);
                let name = &self.plan.topology().switch(*id).name;
                let files = SwitchFiles {
                    name: name.clone(),
                    device_id: id.index() as u64,
                    directory: format!("switches/{}", file_name(name)),
                    entries: report.entries(),
                };
                self.staging.make_dir(&files.directory)?;
                let text = bfrt::write(entries, index, self.program.name)?;
                self.staging.write(&files.bfrt_json(), text.as_bytes())?;
                Ok((report, files))
            })
            .collect::<Result<_, BuildError>>()?;
        Ok(written.into_iter().unzip())
    }

    /// Whether the program has a register that is told which ports are up.
    fn has_status(&self) -> bool {
        matches!(self.program.features, ProgramFeatures::Failover(_))
    }

    /// How the program is compiled and the first switch loaded.
    fn commands(&self, switches: &[SwitchFiles]) -> String {
        let (compiler, arch) = match self.target {
            TargetKind::Tna2 => ("tofino2", "t2na"),
            _ => ("tofino", "tna"),
        };
        let name = self.program.name;
        let entries = switches.first().map_or_else(String::new, |switch| {
            let load = |script: &str| {
                format!(
                    "\nSWITCHWRIGHT_BFRT=$PWD/{} bfshell -b $PWD/{script}",
                    switch.bfrt_json()
                )
            };
            if self.has_status() {
                load(LOADER_FILE) + &load(PORTS_FILE)
            } else {
                load(LOADER_FILE)
            }
        });
        format!(
            "p4c --target {compiler} --arch {arch} --bf-rt-schema {name}.tofino/bfrt.json -o {name}.tofino {}{entries}",
            self.files.main
        )
    }
}

#[cfg(test)]
mod tests;

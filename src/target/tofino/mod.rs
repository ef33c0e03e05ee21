//! The targets `tna` and `tna2`: one program with room for what the plan needs, every switch's entries for BF Runtime, a
//! loader.

mod estimate;

use rayon::prelude::*;

pub use estimate::{Estimate, Step, TAGS};

use super::capabilities::Pipeline;
use super::directory::{Staging, file_name};
use super::manifest::{MANIFEST, MadeFrom, Manifest, ProgramFiles, SwitchFiles};
use super::report::{BuildReport, SwitchReport};
use super::v1model::{PLAN, json_file, picture, refuse};
use super::{BuildError, BuildOptions, Progress, TargetKind, page};
use crate::entries::tofino::{generate, room_needed};
use crate::entries::{SwitchEntries, bfrt};
use crate::plan::CheckedPlan;
use crate::plan::layout::{Architecture, Features, Layout, ProgramFeatures, Room};
use crate::program::{self, Program};
use crate::routes::forwarding::{Forwarding, Reroute};
use crate::topology::SwitchId;

/// The loader for bfrt_python.
const LOADER: &str = include_str!("bfrt_load.py");
/// Its name in the build directory.
const LOADER_FILE: &str = "bfrt_load.py";

/// Writes everything into the staging directory.
pub(super) fn build(
    plan: &CheckedPlan,
    target: TargetKind,
    staging: &Staging,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<BuildReport, BuildError> {
    let capabilities = target.capabilities();
    let ProgramFeatures::Tagger(features) = ProgramFeatures::of(plan) else {
        return Err(BuildError::NoProgram(capabilities.target));
    };
    refuse(capabilities.refusals(plan))?;
    known_switches(plan, options)?;
    let entries = all_entries(plan, &features, options, progress)?;
    let need = entries.iter().map(room_needed).reduce(|a, b| a.max(&b));
    let room = Room::holding(&need.unwrap_or_default());
    let estimate = capabilities
        .pipeline
        .map(|pipeline: Pipeline| Estimate::of(&features, &room, &pipeline));
    if let Some(estimate) = &estimate {
        refuse(capabilities.pipeline_refusals(estimate))?;
    }
    let program = program::generate_tofino(&features, architecture(target), &room)?;
    let job = Job {
        plan,
        target,
        staging,
        files: ProgramFiles {
            name: program.features.program_name(),
            main: format!("p4/{}", program.main.name),
            p4info: format!("p4/{}.p4info.txtpb", program.name),
        },
        program,
    };
    job.write(&entries, estimate)
}

fn architecture(target: TargetKind) -> Architecture {
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

/// The entries of every switch, in topology order.
fn all_entries(
    plan: &CheckedPlan,
    features: &Features,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<Vec<SwitchEntries>, BuildError> {
    let topology = plan.topology();
    let forwarding = Forwarding::new(topology, &plan.tables().forwarding, Reroute::Converged)?;
    // Names and widths do not depend on the room.
    let layout = Layout::tofino_tagger(*features, &Room::default());
    let ids: Vec<SwitchId> = topology.switch_ids().collect();
    ids.par_iter()
        .map(|id| {
            let devices = &options.device_ports;
            let entries = generate(plan, features, &layout, &forwarding, *id, devices)?;
            progress(1);
            Ok(entries)
        })
        .collect()
}

/// What is written.
struct Job<'a> {
    plan: &'a CheckedPlan,
    target: TargetKind,
    staging: &'a Staging,
    files: ProgramFiles,
    program: Program,
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
        staging.write(PLAN, plan.tables().to_json().as_bytes())?;
        let mut report = BuildReport::new(plan, capabilities, self.files.name.clone(), 0, switches);
        report.pipeline = estimate;
        staging.write("report.json", &json_file(&report)?)?;
        let files = page::Files {
            commands: self.commands(&listed),
            trace: false,
        };
        let page = page::render(plan, &report, &files, &picture(plan.topology()))?;
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

    /// How the program is compiled and the first switch loaded.
    fn commands(&self, switches: &[SwitchFiles]) -> String {
        let (compiler, arch) = match self.target {
            TargetKind::Tna2 => ("tofino2", "t2na"),
            _ => ("tofino", "tna"),
        };
        let name = self.program.name;
        let entries = switches.first().map_or_else(String::new, |switch| {
            format!(
                "\nSWITCHWRIGHT_BFRT=$PWD/{} bfshell -b $PWD/{LOADER_FILE}",
                switch.bfrt_json()
            )
        });
        format!(
            "p4c --target {compiler} --arch {arch} --bf-rt-schema {name}.tofino/bfrt.json -o {name}.tofino {}{entries}",
            self.files.main
        )
    }
}

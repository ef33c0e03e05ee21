//! The v1model target: one program, every switch's entries in three formats, and what BMv2 and Mininet
//! need around them.

use plan::CheckedPlan;
use rayon::prelude::*;
use topology::routes::forwarding::{Forwarding, Reroute};
use topology::{SwitchId, Topology};

use super::capabilities::Refusal;
use crate::build::directory::{Staging, file_name};
use crate::build::manifest::{MANIFEST, MadeFrom, Manifest, ProgramFiles, SwitchFiles};
use crate::build::report::{BuildReport, SwitchReport};
use crate::build::{BuildError, BuildOptions, Progress, TargetKind, failover_page, mininet, page};
use crate::entries::{self, SwitchEntries, commands, runtime_json, write_request};
use crate::layout::{Layout, ProgramFeatures};
use crate::program;

/// The largest network that the report draws.
const PICTURE_SWITCHES_MAX: usize = 400;
/// Where the plan itself is kept.
pub(crate) const PLAN: &str = "plan.json";

/// Writes everything into the staging directory.
pub(crate) fn build(
    plan: &CheckedPlan,
    staging: &Staging,
    options: &BuildOptions,
    progress: Progress<'_>,
) -> Result<BuildReport, BuildError> {
    let target = TargetKind::V1model;
    refuse(target.capabilities().refusals(plan))?;
    let program = program::generate(plan)?;
    let layout = program.layout();
    let forwards = match layout.features {
        ProgramFeatures::Failover(_) => Forwards::Failover,
        ProgramFeatures::Tagger(_) => Forwards::Routes(Forwarding::new(
            plan.topology(),
            &plan.tables().forwarding,
            Reroute::Converged,
        )?),
    };
    let info = program::p4info::of(&program)?;
    let index = p4runtime::P4InfoIndex::new(info.clone()).map_err(BuildError::P4Info)?;
    let job = Job {
        plan,
        staging,
        layout,
        options: options.clone(),
        forwards,
        index,
        files: ProgramFiles {
            name: program.features.program_name(),
            main: format!("p4/{}", program.main.name),
            p4info: format!("p4/{}.p4info.txtpb", program.name),
        },
        bmv2_json: format!("p4/{}.json", program.name),
        progress,
    };
    staging.make_dir("p4")?;
    for file in program.files() {
        staging.write(&format!("p4/{}", file.name), file.text.as_bytes())?;
    }
    let text = p4runtime::to_text(&info)?;
    staging.write(&job.files.p4info, text.as_bytes())?;
    job.switches_and_the_rest()
}

/// What all switches share while the directory is written.
struct Job<'a> {
    plan: &'a CheckedPlan,
    staging: &'a Staging,
    layout: Layout,
    options: BuildOptions,
    forwards: Forwards,
    index: p4runtime::P4InfoIndex,
    files: ProgramFiles,
    bmv2_json: String,
    progress: Progress<'a>,
}

/// What forwards packets.
enum Forwards {
    /// Routes.
    Routes(Forwarding),
    /// The plan's failover tables.
    Failover,
}

impl Job<'_> {
    fn switches_and_the_rest(self) -> Result<BuildReport, BuildError> {
        let plan = self.plan;
        let ids: Vec<SwitchId> = plan.topology().switch_ids().collect();
        let switches: Vec<SwitchReport> = ids
            .par_iter()
            .map(|id| self.switch(*id))
            .collect::<Vec<_>>()
            .into_iter()
            // Of several errors always the first switch's.
            .collect::<Result<_, _>>()?;
        let target = TargetKind::V1model;
        let queues = target.capabilities().priorities;
        let carrier_bytes = self.layout.features.carrier_bytes();
        let reach = match self.forwards {
            Forwards::Routes(_) => mininet::Reach::Gateway,
            Forwards::Failover => mininet::Reach::Direct,
        };
        let topology =
            mininet::topology_json(plan.topology(), queues, carrier_bytes, reach, |id| {
                let files = self.switch_files(id, 0);
                let groups = switches.get(id.index()).map_or(0, |s| s.groups);
                mininet::Entries::new(&files, groups > 0)
            })?;
        self.staging.write("topology.json", &topology)?;
        let makefile = mininet::makefile(&self.files.main, &self.bmv2_json);
        self.staging.write("Makefile", makefile.as_bytes())?;
        let p4app = mininet::p4app_json(plan.topology(), queues, &self.files.main, |id| {
            self.switch_files(id, 0).commands_txt()
        })?;
        self.staging.make_dir(mininet::P4UTILS)?;
        self.staging
            .write(&format!("{}/p4app.json", mininet::P4UTILS), &p4app)?;
        self.staging
            .write(PLAN, plan.tables().to_json().as_bytes())?;
        let listed = ids
            .iter()
            .zip(&switches)
            .map(|(id, report)| self.switch_files(*id, report.entries()))
            .collect();
        let report = BuildReport::new(
            plan,
            target.capabilities(),
            self.files.name.clone(),
            self.options.version,
            switches,
        );
        self.staging.write("report.json", &json_file(&report)?)?;
        let files = page::Files {
            commands: format!(
                "p4c-bm2-ss --std p4-16 -o {} {}\nsimple_switch_grpc --no-p4 -- --priority-queues {queues}",
                self.bmv2_json, self.files.main
            ),
            trace: true,
        };
        let picture = picture(plan.topology());
        let page = match &report.failover {
            Some(failover) => failover_page::render(plan, &report, failover, &files, &picture)?,
            None => page::render(plan, &report, &files, &picture)?,
        };
        self.staging.write("report.html", page.as_bytes())?;
        let manifest = Manifest::new(
            target.name(),
            queues,
            self.files,
            MadeFrom {
                topology: plan.topology().name().to_owned(),
                plan: PLAN.to_owned(),
                provenance: plan.tables().provenance.clone(),
            },
            listed,
            self.staging.digests(),
        );
        self.staging
            .write_unlisted(MANIFEST, &json_file(&manifest)?)?;
        Ok(report)
    }

    /// Generates and writes the entries of one switch.
    fn switch(&self, id: SwitchId) -> Result<SwitchReport, BuildError> {
        let entries = match &self.forwards {
            Forwards::Routes(forwarding) => {
                entries::tagger::generate(self.plan, &self.layout, forwarding, id)?
            }
            Forwards::Failover => {
                entries::failover::generate(self.plan, &self.layout, id, self.options.version)?
            }
        };
        let report = SwitchReport::new(self.plan, id, &entries);
        self.refuse_too_many(id, &report)?;
        let files = self.switch_files(id, report.entries());
        self.staging.make_dir(&files.directory)?;
        self.write_entries(&files, &entries)?;
        (self.progress)(1);
        Ok(report)
    }

    fn write_entries(
        &self,
        files: &SwitchFiles,
        entries: &SwitchEntries,
    ) -> Result<(), BuildError> {
        let request = write_request::write_text(entries, &self.index)?;
        self.staging
            .write(&files.entries_txtpb(), request.as_bytes())?;
        let program = runtime_json::ProgramFiles {
            p4info: self.files.p4info.clone(),
            bmv2_json: self.bmv2_json.clone(),
        };
        let json = runtime_json::write(entries, &self.index, &program)?;
        self.staging.write(&files.runtime_json(), json.as_bytes())?;
        let commands = commands::write(entries, &self.index)?;
        self.staging
            .write(&files.commands_txt(), commands.as_bytes())?;
        Ok(())
    }

    fn switch_files(&self, id: SwitchId, entries: u64) -> SwitchFiles {
        let name = &self.plan.topology().switch(id).name;
        SwitchFiles {
            name: name.clone(),
            device_id: id.index() as u64,
            directory: format!("switches/{}", file_name(name)),
            entries,
        }
    }

    fn refuse_too_many(&self, id: SwitchId, report: &SwitchReport) -> Result<(), BuildError> {
        let caps = TargetKind::V1model.capabilities();
        let tables = report.tables.iter();
        let mut refusals: Vec<Refusal> = tables
            .filter_map(|(table, n)| caps.table_refusal(self.plan, id, &self.layout, table, *n))
            .collect();
        refusals.extend(caps.selector_refusal(self.plan, id, &self.layout, report.members));
        refuse(refusals)
    }
}

pub(crate) fn refuse(refusals: Vec<Refusal>) -> Result<(), BuildError> {
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(BuildError::Refused(refusals))
    }
}

/// A value as an indented JSON file.
pub(crate) fn json_file<T: serde::Serialize>(value: &T) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The network as SVG; empty where it has too many switches for a picture to show anything.
pub(crate) fn picture(topology: &Topology) -> String {
    if topology.switches().len() > PICTURE_SWITCHES_MAX {
        return String::new();
    }
    topology.to_svg()
}

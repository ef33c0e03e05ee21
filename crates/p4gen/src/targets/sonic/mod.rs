//! Switches under SONiC: no P4, but maps between DSCP, traffic class, priority group and queue.
//! Every switch gets its configuration, whole and as a JSON patch; beside it stands the program
//! that is SONiC's pipeline as far as lossless traffic goes, with its entries made from that
//! configuration: what `trace`, `simulate` and `emulate` run.

use std::collections::BTreeMap;

use ::sonic::audit::{Fabric, Routing, audit};
use ::sonic::platform::{GENERIC_8TC, GENERIC_8TC_ACL, GENERIC_16TC, GENERIC_16TC_ACL};
use ::sonic::{ConfigError, Configuration, MergeError, Platform};
use p4runtime::p4::config::v1::P4Info;
use plan::{CarrierKind, CheckedPlan};
use serde_json::Value;
use topology::SwitchId;

use super::{Build, BuiltSwitch, File, SwitchFiles, Target, TargetError, V1MODEL};
use crate::capabilities::{Architecture, Capabilities, Refusal};
use crate::entries::{SwitchEntries, write_request};
use crate::layout;
use crate::program::Program;
use crate::program::p4info::{self, P4InfoError};

/// A kind of switch under SONiC.
pub struct Sonic {
    /// What it can do.
    pub capabilities: Capabilities,
}

/// Eight traffic classes, no ACL rules that set one.
pub static SONIC_8TC: Sonic = Sonic {
    capabilities: on(
        "sonic-generic-8tc",
        "a switch under SONiC with 8 traffic classes",
        "sonic --platform generic-8tc",
        &GENERIC_8TC,
    ),
};

/// Sixteen traffic classes, no ACL rules that set one.
pub static SONIC_16TC: Sonic = Sonic {
    capabilities: on(
        "sonic-generic-16tc",
        "a switch under SONiC with 16 traffic classes",
        "sonic --platform generic-16tc",
        &GENERIC_16TC,
    ),
};

/// Eight traffic classes, and ACL rules that set one.
pub static SONIC_8TC_ACL: Sonic = Sonic {
    capabilities: on(
        "sonic-generic-8tc-acl",
        "a switch under SONiC with 8 traffic classes and ACL rules with TC_ACTION",
        "sonic --platform generic-8tc-acl",
        &GENERIC_8TC_ACL,
    ),
};

/// Sixteen traffic classes, and ACL rules that set one.
pub static SONIC_16TC_ACL: Sonic = Sonic {
    capabilities: on(
        "sonic-generic-16tc-acl",
        "a switch under SONiC with 16 traffic classes and ACL rules with TC_ACTION",
        "sonic --platform generic-16tc-acl",
        &GENERIC_16TC_ACL,
    ),
};

const fn on(
    target: &'static str,
    what: &'static str,
    build: &'static str,
    platform: &'static Platform,
) -> Capabilities {
    Capabilities {
        target,
        what,
        build,
        architecture: Architecture::V1model,
        // The plan's priorities are priority groups and queues, of which SONiC has 8 each that PFC
        // knows.
        priorities: 1 << layout::PRIORITY_BITS,
        ingress_priority: true,
        pfc: true,
        maps: Some(platform),
        restrictions: &[
            "config_db.json fills the switch; the program is a model of its pipeline, for `trace`, `simulate` and `emulate`, \
             and what is said of P4Runtime here is said of that model.",
            "The priority group is chosen before the egress port is known: a packet that turns lossy at a switch is \
             accounted to the priority group of its tag there if some egress ports keep it lossless.",
            "No chip has been tried.",
        ],
        ..V1MODEL.capabilities
    }
}

/// What the maps of a platform cannot say, whatever they are.
#[must_use]
pub(crate) fn unmapped(plan: &CheckedPlan) -> Option<(&'static str, &'static str)> {
    let tables = plan.tables();
    if tables.failover.is_some() {
        let mend = "build it for v1model or Tofino: failover tables need a program";
        return Some(("failover tables", mend));
    }
    if plan.carrier().kind != CarrierKind::Dscp {
        let mend =
            "plan with --carrier dscp: a switch under SONiC chooses the traffic class by DSCP";
        return Some(("tags outside the DSCP", mend));
    }
    None
}

/// What a platform lacks for a plan: of each resource the switch that needs most.
///
/// # Errors
/// The rows of operators' configurations that contradict the plan.
pub(crate) fn refusals(
    target: &'static str,
    platform: &'static Platform,
    plan: &CheckedPlan,
    bases: &Bases,
) -> Result<Vec<Refusal>, ConfigError> {
    let options = ::sonic::Options::on(platform);
    let mut worst: Vec<Refusal> = Vec::new();
    let topology = plan.topology();
    let (mut short, mut faults) = (Vec::new(), Vec::new());
    for switch in topology.switch_ids() {
        match configured(plan, switch, &options, bases) {
            Ok(_) => {}
            Err(MergeError::Shortage(shortage)) => short.push((switch, shortage)),
            Err(MergeError::Collision(ConfigError(found))) => faults.extend(found),
        }
    }
    if !faults.is_empty() {
        return Err(ConfigError(faults));
    }
    for (switch, shortage) in short {
        let known = worst
            .iter_mut()
            .find(|known| known.resource == shortage.resource);
        if known
            .as_ref()
            .is_some_and(|known| known.need >= shortage.need)
        {
            continue;
        }
        let refusal = Refusal {
            target,
            resource: shortage.resource.to_owned(),
            switch: Some(topology.switch(switch).name.clone()),
            need: shortage.need,
            limit: shortage.limit,
            mend: shortage.mend,
        };
        match known {
            Some(known) => *known = refusal,
            None => worst.push(refusal),
        }
    }
    Ok(worst)
}

/// The configurations that tags are put beside, by switch.
type Bases = BTreeMap<String, ::sonic::Base>;

/// The configuration of a switch, beside the operator's if there is one.
fn configured(
    plan: &CheckedPlan,
    switch: SwitchId,
    options: &::sonic::Options,
    bases: &Bases,
) -> Result<Configuration, MergeError> {
    let base = bases.get(&plan.topology().switch(switch).name);
    ::sonic::configuration(plan, switch, options, base)
}

impl Sonic {
    fn options(&self, build: &Build<'_>) -> ::sonic::Options {
        ::sonic::Options {
            platform: self.capabilities.maps.unwrap_or(&GENERIC_8TC),
            watchdog: build.watchdog,
        }
    }
}

/// Audits the configurations of a plan as `audit` reads them, whatever way packets take.
fn audited(
    plan: &CheckedPlan,
    options: &::sonic::Options,
    bases: &Bases,
) -> Result<(), TargetError> {
    let refused = |problem: String| match bases.is_empty() {
        true => TargetError::Audit(problem),
        false => TargetError::Merged(problem),
    };
    let topology = plan.topology();
    let mut configs = Vec::new();
    for switch in topology.switch_ids() {
        let config = configured(plan, switch, options, bases)?;
        let text = Value::Object(config.tables).to_string();
        let name = &topology.switch(switch).name;
        let read = ::sonic::read(name, &text);
        configs.push(read.map_err(|error| TargetError::Audit(error.to_string()))?);
    }
    let fabric = Fabric {
        topology,
        configs: &configs,
        mtu: plan.tables().budget.mtu,
    };
    let report = audit(&fabric, Routing::Any);
    if let Some(finding) = report.findings.first() {
        return Err(refused(finding.to_string()));
    }
    match report.cbd_free {
        Some(true) => Ok(()),
        Some(false) => Err(refused("buffers can wait for each other".to_owned())),
        None => Err(refused(report.cbd_free_unknown.unwrap_or_default())),
    }
}

impl Target for Sonic {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn p4info(&self, program: &Program) -> Result<P4Info, P4InfoError> {
        p4info::of(program)
    }

    fn switch_files(
        &self,
        build: &Build<'_>,
        files: &SwitchFiles,
        entries: &SwitchEntries,
    ) -> Result<Vec<File>, TargetError> {
        let options = self.options(build);
        let config = configured(build.plan, files.id(), &options, build.bases)?;
        let (tables, patch) = (Value::Object(config.tables), config.patch);
        let request = write_request::write_text(entries, build.index)?;
        Ok(vec![
            File::new(files.config_db_json(), json(&tables)?),
            File::new(files.patch_json(), json(&patch)?),
            File::new(files.entries_txtpb(), request),
        ])
    }

    /// None; but the configurations of all switches together are audited here, before anything is
    /// left on disk.
    fn extra_files(
        &self,
        build: &Build<'_>,
        _switches: &[BuiltSwitch],
    ) -> Result<Vec<File>, TargetError> {
        audited(build.plan, &self.options(build), build.bases)?;
        Ok(Vec::new())
    }

    /// How the first switch is configured.
    fn commands(&self, _build: &Build<'_>, switches: &[BuiltSwitch]) -> String {
        switches.first().map_or_else(String::new, |switch| {
            let patch = switch.files.patch_json();
            format!(
                "sudo config apply-patch --dry-run {patch}   # on {}",
                switch.files.name
            )
        })
    }
}

fn json(value: &Value) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

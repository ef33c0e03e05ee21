//! Plans, their proofs, the entries and programs that are made of them.

use p4gen::build::{BuildOptions, ProgramWithEntries, build_files};
use p4gen::entries::{Row, rows};
use plan::check::PlanError;
use plan::{CheckFailure, CheckedPlan};
use serde_json::{Value, json};
use topology::Topology;

use crate::colours;
use crate::network::Networks;
use crate::request::{BuildRequest, EntriesRequest, NetworkRequest};
use crate::{Refusal, value};

impl Networks {
    /// Answers `plan`: figures and verdict, or every reason why not, with the cycle if there is
    /// one.
    pub(crate) fn plan(&mut self, asked: &NetworkRequest) -> Result<Value, Refusal> {
        let (tables, proof) = self.proof(asked)?;
        let priorities = tables.tagging.priorities.iter();
        let tags: Vec<Value> = priorities
            .map(|(tag, priority)| json!({ "tag": tag, "priority": priority }))
            .collect();
        let file = tables.to_json();
        let link_tags = colours::tags(tables);
        let (scheme, name) = (
            tables.provenance.scheme.clone(),
            tables.topology.name().to_owned(),
        );
        let mut answer = match proof {
            Ok(plan) => proven(plan)?,
            Err(failure) => refused(failure, &tables.topology)?,
        };
        answer["tags"] = value(tags)?;
        self.told_as(&file);
        answer["file"] = value(file)?;
        answer["link_tags"] = value(link_tags)?;
        answer["scheme"] = value(scheme)?;
        answer["topology"] = value(name)?;
        Ok(answer)
    }

    /// Answers `entries`.
    pub(crate) fn entries(&mut self, asked: &EntriesRequest) -> Result<Value, Refusal> {
        let plan = self.plan_of(&asked.network)?;
        let options = BuildOptions::default();
        let target = target("v1model")?;
        let made =
            ProgramWithEntries::new(&plan, target, &options, &|_| ()).map_err(Refusal::wrong)?;
        let topology = plan.topology();
        let named = asked.switches.iter();
        let named = named.map(|name| topology.switch_named(name).map_err(Refusal::wrong));
        let mut switches = named.collect::<Result<Vec<_>, _>>()?;
        if switches.is_empty() {
            switches = topology.switch_ids().collect();
        }
        let mut found = Vec::new();
        for switch in switches {
            let entries = made.entries(switch).map_err(Refusal::wrong)?;
            found.extend(rows(&entries).iter().map(Row::cells));
        }
        Ok(json!({ "columns": Row::COLUMNS, "rows": found }))
    }

    /// Answers `build`: the program's files, and how many entries every switch has.
    pub(crate) fn build(&mut self, asked: &BuildRequest) -> Result<Value, Refusal> {
        let plan = self.plan_of(&asked.network)?;
        let options = BuildOptions::default();
        let target = target(&asked.target)?;
        let made =
            ProgramWithEntries::new(&plan, target, &options, &|_| ()).map_err(Refusal::wrong)?;
        let mut counts = Vec::new();
        for switch in plan.topology().switch_ids() {
            let entries = made.entries(switch).map_err(Refusal::wrong)?;
            counts.push(rows(&entries).len());
        }
        let files = made.program.files();
        let files: Vec<Value> = files
            .map(|file| json!({ "name": file.name, "text": file.text }))
            .collect();
        let mut answer =
            json!({ "program": made.program.name(), "files": files, "entries": counts });
        if asked.directory {
            answer["directory"] = directory(&plan, target, &options)?;
        }
        Ok(answer)
    }
}

fn target(name: &str) -> Result<&'static dyn p4gen::targets::Target, Refusal> {
    p4gen::targets::named(name).ok_or_else(|| {
        let names: Vec<&str> = p4gen::targets::ALL
            .iter()
            .map(|t| t.capabilities().target)
            .collect();
        Refusal::Wrong(format!(
            "there is no target `{name}`; the targets are {}",
            names.join(", ")
        ))
    })
}

/// The files of a build directory by path.
fn directory(
    plan: &CheckedPlan,
    target: &'static dyn p4gen::targets::Target,
    options: &BuildOptions,
) -> Result<Value, Refusal> {
    let (_, files) = build_files(plan, target, options, &|_| ()).map_err(Refusal::wrong)?;
    let text = |(path, bytes): (String, Vec<u8>)| match String::from_utf8(bytes) {
        Ok(text) => Ok((path, Value::from(text))),
        Err(_) => Err(Refusal::Wrong(format!("`{path}` is no text"))),
    };
    let files = files.into_iter().map(text);
    Ok(Value::Object(files.collect::<Result<_, _>>()?))
}

fn proven(plan: &CheckedPlan) -> Result<Value, Refusal> {
    let topology = plan.topology();
    let rules: Vec<u64> = topology
        .switch_ids()
        .map(|switch| plan.counts(switch).rules)
        .collect();
    Ok(json!({
        "proven": true,
        "summary": plan.summary(0.0),
        "report": plan.report(),
        "promised": plan.promised().to_string(),
        "rules": rules,
        "errors": [],
        "cycle": null,
        "lost": null,
    }))
}

fn refused(failure: &CheckFailure, topology: &Topology) -> Result<Value, Refusal> {
    let errors: Vec<String> = failure.errors.iter().map(ToString::to_string).collect();
    let cycle = failure.errors.iter().find_map(|error| match error {
        PlanError::Cycle(cycle) => Some(cycle),
        _ => None,
    });
    let lost = failure.errors.iter().find_map(|error| match error {
        PlanError::RouteLost(route) => Some(json!({
            "nodes": route.nodes, "tags": route.tags, "switch": route.switch, "text": route.to_string(),
        })),
        _ => None,
    });
    let cycle = cycle.map(|cycle| {
        let buffers = cycle.buffers.iter().map(|buffer| {
            // A packet came in by this port: it waits at the switch, and so does the link that it
            // came over.
            let switch = topology.switch_named(&buffer.port.switch).ok();
            let link = switch
                .and_then(|switch| topology.peer(switch, buffer.port.port))
                .map(|peer| peer.link.index());
            json!({
                "switch": buffer.port.switch, "port": buffer.port.port, "tag": buffer.tag,
                "priority": buffer.priority, "link": link, "number": switch.map(|s| s.index()),
            })
        });
        json!({ "buffers": buffers.collect::<Vec<_>>(), "causes": cycle.causes })
    });
    Ok(json!({
        "proven": false,
        "report": failure.report,
        "errors": errors,
        "cycle": cycle,
        "lost": lost,
    }))
}

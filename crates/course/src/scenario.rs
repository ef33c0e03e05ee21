//! Scenarios that students write: they deadlock with plain PFC, and with tags they do not.

use std::path::Path;

use plan::check::Options;
use simulator::embedded::Network;
use simulator::simulate::{SimulationReport, simulate};
use spec::Scenario;

use crate::grade::CaseResult;
use crate::lab::{Lab, LabError, read};

/// The longest scenario that is played, in milliseconds.
const MAX_MILLISECONDS: u64 = 20;

pub(crate) fn judge(lab: &Lab, file: &Path) -> Result<Vec<CaseResult>, LabError> {
    let given = lab.folder.join("given.yaml");
    let given = Scenario::from_yaml(&read(&given)?).map_err(|e| LabError::Broken {
        path: given.display().to_string(),
        why: e.to_string(),
    })?;
    let text = read(file)?;
    let about = [
        (
            "network",
            "the network, its rates and buffers are those of the lab; it is played for a short time",
        ),
        ("deadlock", "with plain PFC, without tags, a deadlock forms"),
        (
            "tags",
            "with tags, the same failures and flows do not deadlock, and no lossless packet is lost",
        ),
    ];
    let all = |whys: [Vec<String>; 3]| {
        let results = about.into_iter().zip(whys);
        Ok(results
            .map(|((name, about), why)| CaseResult::new(name, about, why))
            .collect())
    };
    let mut scenario = match Scenario::from_yaml(&text) {
        Ok(scenario) => scenario,
        Err(error) => return all([(); 3].map(|()| vec![error.to_string()])),
    };
    let mut network = Vec::new();
    let millis = scenario.duration.0.get() / 1_000_000;
    if millis > MAX_MILLISECONDS {
        network.push(format!(
            "it lasts {millis} ms; {MAX_MILLISECONDS} ms are enough"
        ));
        return all([
            network,
            vec!["not played".into()],
            vec!["not played".into()],
        ]);
    }
    if format!("{:?}", scenario.network) != format!("{:?}", given.network) {
        network.push("its `network` is not that of given.yaml".to_owned());
    }
    if format!("{:?} {:?}", scenario.rate, scenario.switches)
        != format!("{:?} {:?}", given.rate, given.switches)
    {
        network.push("its `rate` or `switches` are not those of given.yaml".to_owned());
    }
    scenario.tags = false;
    let plain = match play(&scenario) {
        Ok(report) if report.deadlocks > 0 => Vec::new(),
        Ok(report) => vec![format!("no deadlock: {}", goodput(&report))],
        Err(why) => vec![why],
    };
    scenario.tags = true;
    let tagged = match play(&scenario) {
        Ok(report) if report.deadlocks > 0 => vec![
            "it deadlocks with tags too: its routes are not those that the plan promises"
                .to_owned(),
        ],
        Ok(report) if report.lossless_drops > 0 => vec![format!(
            "{} lossless packets were lost",
            report.lossless_drops
        )],
        Ok(_) => Vec::new(),
        Err(why) => vec![why],
    };
    all([network, plain, tagged])
}

fn play(scenario: &Scenario) -> Result<SimulationReport, String> {
    let tables = scenario.tables().map_err(|e| e.to_string())?;
    let plan = plan::check(tables, &Options::default()).map_err(|e| e.to_string())?;
    let network = Network::of(plan).map_err(|e| e.to_string())?;
    let outcome = simulate(&network, scenario, false).map_err(|e| e.to_string())?;
    Ok(outcome.report)
}

fn goodput(report: &SimulationReport) -> String {
    let flow = |f: &simulator::simulate::FlowReport| {
        format!("{} {:.1} Gb/s at the end", f.name, f.gbps_at_end)
    };
    report.flows.iter().map(flow).collect::<Vec<_>>().join(", ")
}

//! `switchwright targets`: what every target can do.

use clap::Args;
use p4gen::capabilities::{Capabilities, Pipeline};
use p4gen::targets;
use serde::Serialize;

use super::fault::Fault;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright targets`.
#[derive(Debug, Args)]
pub(super) struct Targets {
    /// Show everything about these targets.
    #[arg(value_name = "TARGET")]
    names: Vec<String>,
}

/// What `targets --json` prints.
#[derive(Serialize)]
struct Figures {
    targets: Vec<&'static Capabilities>,
}

impl Targets {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let all = targets::ALL.map(|target| target.capabilities());
        let named = |name: &String| {
            let found = all.iter().find(|target| target.target == name);
            found.copied().ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|target| target.target).collect();
                Fault::input(format!("there is no target `{name}`"))
                    .help(format!("the targets are {}", known.join(", ")))
            })
        };
        let chosen = self.names.iter().map(named);
        let chosen = chosen.collect::<Result<Vec<_>, Fault>>()?;
        let figures = Figures {
            targets: match chosen.is_empty() {
                true => all.to_vec(),
                false => chosen,
            },
        };
        terminal.result(&figures, || match self.names.is_empty() {
            true => list(&figures.targets),
            false => figures.targets.iter().map(describe).collect(),
        })
    }
}

/// How the tables of a target are filled.
fn filled_over(target: &Capabilities) -> &'static str {
    match target.maps {
        Some(_) => "config_db.json",
        None => target.api.name(),
    }
}

const fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// A row for each target: how it is named, filled, and how much it has.
fn list(targets: &[&Capabilities]) -> String {
    let row = |target: &&Capabilities| {
        let stages = target.pipeline.as_ref().map(|p| p.stages.to_string());
        vec![
            target.target.to_owned(),
            target.build.to_owned(),
            filled_over(target).to_owned(),
            target.priorities.to_string(),
            yes(target.pfc).to_owned(),
            stages.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = targets.iter().map(row).collect();
    let header = [
        "target",
        "build --target",
        "filled by",
        "priorities",
        "PFC",
        "stages",
    ];
    let more = "`switchwright targets TARGET` shows everything about a target.";
    terminal::table(&header, &[3, 5], &rows) + &terminal::paragraph(more, 0)
}

/// Everything about one target.
fn describe(target: &&Capabilities) -> String {
    let mut facts = vec![
        ("build --target", target.build.to_owned()),
        ("tables are filled by", filled_over(target).to_owned()),
        ("priorities", target.priorities.to_string()),
        ("ingress priority", yes(target.ingress_priority).to_owned()),
        ("PFC", yes(target.pfc).to_owned()),
    ];
    if let Some(maps) = target.maps {
        facts.push(("traffic classes", maps.traffic_classes.to_string()));
        facts.push(("ACL rules for tags", maps.acl_rules.to_string()));
    }
    facts.extend([
        ("highest port", target.highest_port.to_string()),
        ("widest port bitmap", format!("{} bits", target.bitmap_bits)),
        ("widest port status", format!("{} bits", target.status_bits)),
        ("hops of a route", target.route_hops.to_string()),
        ("keys match", target.match_kinds.join(", ")),
    ]);
    facts.extend(target.pipeline.iter().flat_map(pipeline));
    facts.extend([
        ("a batch of writes is", target.atomicity.name().to_owned()),
        ("registers over the API", yes(target.registers).to_owned()),
        ("value sets over the API", yes(target.value_sets).to_owned()),
    ]);
    let mut text = terminal::paragraph(&format!("{}: {}", target.target, target.what), 0);
    text.push_str(&terminal::facts(&facts));
    for restriction in target.restrictions {
        text.push_str(&terminal::paragraph(restriction, 2));
    }
    text
}

/// What the pipeline of a target has.
fn pipeline(p: &Pipeline) -> [(&'static str, String); 4] {
    let blocks = |blocks: u16, rows: u16, bits: u16| {
        format!("{blocks} blocks of {rows} rows of {bits} bits")
    };
    [
        ("stages", p.stages.to_string()),
        (
            "TCAM of a stage",
            blocks(p.tcam_blocks, p.tcam_rows, p.tcam_bits),
        ),
        ("ternary crossbar", format!("{} bytes", p.crossbar_bytes)),
        (
            "SRAM of a stage",
            blocks(p.sram_blocks, p.sram_rows, p.sram_bits),
        ),
    ]
}

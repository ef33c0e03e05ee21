//! `switchwright targets`: what every target can do.

use clap::Args;
use p4gen::capabilities::{Capabilities, Pipeline};
use p4gen::targets;
use serde::Serialize;

use super::fault::Fault;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright targets`.
#[derive(Debug, Args)]
pub(super) struct Targets {}

/// What `targets --json` prints.
#[derive(Serialize)]
struct Figures {
    targets: Vec<&'static Capabilities>,
}

impl Targets {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let figures = Figures {
            targets: targets::ALL.map(|target| target.capabilities()).to_vec(),
        };
        terminal.result(&figures, || describe(&figures.targets))
    }
}

/// A row for everything that targets differ in, a column for every target.
fn describe(targets: &[&Capabilities]) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let row = |name: &str, of: &dyn Fn(&Capabilities) -> String| {
        let mut row = vec![name.to_owned()];
        row.extend(targets.iter().map(|target| of(target)));
        row
    };
    let pipeline = |of: &'static dyn Fn(&Pipeline) -> String| {
        move |target: &Capabilities| target.pipeline.as_ref().map_or_else(|| "-".to_owned(), of)
    };
    let rows = vec![
        row("`build --target`", &|t| t.build.to_owned()),
        row("tables are filled over", &|t| match t.maps {
            Some(_) => "config_db.json".to_owned(),
            None => t.api.name().to_owned(),
        }),
        row("traffic classes", &|t| {
            t.maps
                .map_or_else(|| "-".to_owned(), |maps| maps.traffic_classes.to_string())
        }),
        row("ACL rules for tags", &|t| {
            t.maps
                .map_or_else(|| "-".to_owned(), |maps| maps.acl_rules.to_string())
        }),
        row("priorities", &|t| t.priorities.to_string()),
        row("ingress priority", &|t| yes(t.ingress_priority)),
        row("PFC", &|t| yes(t.pfc)),
        row("highest port", &|t| t.highest_port.to_string()),
        row("widest port bitmap", &|t| format!("{} bits", t.bitmap_bits)),
        row("widest port status", &|t| format!("{} bits", t.status_bits)),
        row("hops of a route", &|t| t.route_hops.to_string()),
        row("keys match", &|t| t.match_kinds.join(", ")),
        row("stages", &pipeline(&|p| p.stages.to_string())),
        row(
            "TCAM of a stage",
            &pipeline(&|p| format!("{} of {} x {}", p.tcam_blocks, p.tcam_rows, p.tcam_bits)),
        ),
        row(
            "ternary crossbar",
            &pipeline(&|p| format!("{} bytes", p.crossbar_bytes)),
        ),
        row(
            "SRAM of a stage",
            &pipeline(&|p| format!("{} of {} x {}", p.sram_blocks, p.sram_rows, p.sram_bits)),
        ),
        row("a batch of writes is", &|t| t.atomicity.name().to_owned()),
        row("registers over the API", &|t| yes(t.registers)),
        row("value sets over the API", &|t| yes(t.value_sets)),
    ];
    let mut header = vec![""];
    header.extend(targets.iter().map(|t| t.target));
    let mut text = terminal::table(&header, &[], &rows);
    for target in targets {
        text.push_str(&format!("{}: {}\n", target.target, target.what));
        for restriction in target.restrictions {
            text.push_str(&format!("    {restriction}\n"));
        }
    }
    text
}

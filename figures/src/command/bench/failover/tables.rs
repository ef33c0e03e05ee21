//! The tables of `switchwright bench failover`.

use crate::failover::{
    CustomHardware, LossFigure, ProofFigure, SchemeState, StateFigure, SwitchFailureFigure,
};
use switchwright::cli::terminal;

pub(super) fn state_table(figures: &[StateFigure]) -> String {
    let row = |f: &StateFigure| {
        vec![
            f.topology.to_owned(),
            f.hosts.to_string(),
            f.t.to_string(),
            f.output.to_owned(),
            if f.shared_backup_ways {
                "shared"
            } else {
                "common-only"
            }
            .to_owned(),
            f.plain_rules.to_string(),
            f.plain_rules_max.to_string(),
            f.rules_max.to_string(),
            format!("{:.2}", f.ratio),
            f.ratio_of_paper
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            format!("{:.2}", f.bits_max as f64 / 1e6),
            format!("{:.2}", f.tofino_bits_max as f64 / 1e6),
            format!("{:.2}", f.plan_seconds),
            format!("{:.2}", f.compress_seconds),
            f.peak_memory
                .map_or_else(|| "-".to_owned(), |b| (b.get() >> 20).to_string()),
        ]
    };
    let header = [
        "topology",
        "hosts",
        "t",
        "output",
        "ways",
        "rules",
        "max",
        "compressed",
        "ratio",
        "Stephens15",
        "Mbit",
        "Tofino Mbit",
        "plan s",
        "with compression s",
        "peak MiB",
    ];
    let right: Vec<usize> = (5..header.len()).collect();
    terminal::table(
        &header,
        &right,
        &figures.iter().map(row).collect::<Vec<_>>(),
    )
}

pub(super) fn scheme_table(figures: &[SchemeState]) -> String {
    let mbit = |bits: u64| format!("{:.3}", bits as f64 / 1e6);
    let row = |f: &SchemeState| {
        vec![
            f.topology.clone(),
            f.hosts.to_string(),
            f.t.to_string(),
            f.variant.clone(),
            f.rules_max.to_string(),
            f.actions_max.to_string(),
            mbit(f.bits_max),
            mbit(f.tofino_bits_max),
        ]
    };
    let header = [
        "topology",
        "hosts",
        "t",
        "scheme",
        "rules",
        "actions",
        "Mbit",
        "Tofino Mbit",
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    terminal::table(&header, &[1, 2, 4, 5, 6, 7], &rows)
}

pub(super) fn switch_table(figures: &[SwitchFailureFigure]) -> String {
    let row = |f: &SwitchFailureFigure| {
        vec![
            f.subject.clone(),
            f.failures.to_string(),
            format!("{:.1e}", f.lost),
            f.lost_by_equation
                .map_or_else(|| "-".to_owned(), |v| format!("{v:.1e}")),
            format!("{:.1e}", f.avoidable),
        ]
    };
    let header = [
        "scheme",
        "failed switches",
        "lost",
        "by (4.3), (4.4)",
        "with a way left",
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    terminal::table(&header, &[1, 2, 3, 4], &rows)
}

pub(super) fn proof_table(figures: &[ProofFigure]) -> String {
    let row = |f: &ProofFigure| {
        vec![
            f.name.to_owned(),
            f.links.to_string(),
            f.pairs.to_string(),
            f.failures.to_string(),
            f.sets.to_string(),
            if f.exhaustive { "all" } else { "drawn" }.to_owned(),
            f.walks.to_string(),
            format!("{:.1}", f.saved),
            format!("{:.2}", f.seconds),
            f.lost.to_string(),
        ]
    };
    let header = [
        "proof", "links", "pairs", "failed", "sets", "which", "walks", "saved x", "seconds", "lost",
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    terminal::table(&header, &[1, 2, 3, 4, 6, 7, 8, 9], &rows)
}

/// What part of all flows is lost under failures of links.
pub(super) fn loss_table(figures: &[LossFigure]) -> String {
    let optional =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1e}"));
    let row = |f: &LossFigure| {
        vec![
            f.topology.to_owned(),
            f.subject.clone(),
            f.failures.to_string(),
            format!("{} of {}", f.sets_with_losses, f.sets),
            format!("{:.1e}", f.lost),
            optional(f.lost_error),
            optional(f.lost_by_4_2),
        ]
    };
    let header = [
        "topology",
        "scheme",
        "failed",
        "sets with losses",
        "lost",
        "+-",
        "by (4.2)",
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    terminal::table(&header, &[2, 3, 4, 5, 6], &rows)
}

pub(super) fn custom_table(figures: &[CustomHardware]) -> String {
    let mbit = |bits: u64| format!("{:.3}", bits as f64 / 1e6);
    let row = |f: &CustomHardware| {
        vec![
            f.topology.clone(),
            f.scheme.to_owned(),
            f.t.to_string(),
            f.destinations.to_string(),
            f.rules_max.to_string(),
            mbit(f.bits_max),
            mbit(f.tcam_bits_max),
        ]
    };
    let header = [
        "topology",
        "scheme",
        "t",
        "destinations",
        "rules of custom hardware",
        "Mbit",
        "Mbit of TCAM today",
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    terminal::table(&header, &[2, 3, 4, 5, 6], &rows)
}

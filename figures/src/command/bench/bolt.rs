//! `switchwright bench tcp-bolt`: Stephens15's Figures 3.1 to 3.9, and the round-trip times of
//! section 3.3.1.

use report::Plot;
use serde::Serialize;

use crate::tcp_bolt::{
    self, BackgroundRow, BoltClaim, BoltOptions, HeadOfLineRow, IncastRow, Mix, MixRun,
    RoundTripRow, ShareRow, SharesRun, SpeedupRow, Variant,
};
use measure::Machine;
use switchwright::cli::fault::Fault;
use switchwright::cli::terminal::{self, Terminal};

/// What is asked for.
pub(super) struct Request<'a> {
    /// The figure; without one the round-trip times.
    pub(super) figure: Option<u8>,
    /// How much to play.
    pub(super) options: BoltOptions,
    /// Transports that have this in their name.
    pub(super) only: Option<&'a str>,
    /// Where to draw the figure.
    pub(super) plot: Option<&'a str>,
}

/// What `--json` prints, whatever was measured.
#[derive(Serialize)]
struct Report<'a, Rows: ?Sized> {
    machine: Machine,
    /// The paper's figure; nothing for the round-trip times.
    figure: Option<u8>,
    quick: bool,
    seed: u64,
    seeds: u32,
    rows: &'a Rows,
}

/// Rows of Figures 3.7 to 3.9.
#[derive(Serialize)]
struct MixRows<'a, Row> {
    sizes: &'a [Row],
    claims: Vec<BoltClaim>,
    runs: &'a [MixRun],
}

/// Makes the figure.
pub(super) fn run(request: &Request<'_>, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |variant: &Variant| {
        request
            .only
            .is_none_or(|text| variant.name().contains(text))
    };
    let variants: Vec<Variant> = Variant::ALL.into_iter().filter(wanted).collect();
    if variants.is_empty() {
        let names = Variant::ALL.map(Variant::name);
        return Err(super::none_matches(request.only, &names));
    }
    let options = &request.options;
    let all_of_it = || match request.only {
        Some(only) => Err(Fault::input(format!(
            "`--only {only}` is for figures 2 to 9: here all transports stand beside TCP"
        ))),
        None => Ok(()),
    };
    let one_seed = || match options.seeds {
        1 => Ok(()),
        seeds => Err(Fault::input(format!(
            "`--seeds {seeds}` is for figures 7 to 9: nothing else leaves anything to chance but the ports of a few flows"
        ))),
    };
    match request.figure {
        None => {
            all_of_it()?;
            one_seed()?;
            let watch = terminal.watch("round trips");
            let rows = tcp_bolt::round_trips(options, watch.progress());
            drop(watch);
            let rows = rows.map_err(Fault::input)?;
            finish(
                request,
                rows.as_slice(),
                None,
                terminal,
                describe_round_trips,
            )
        }
        Some(1) => {
            all_of_it()?;
            one_seed()?;
            let watch = terminal.watch("one flow");
            let rows = tcp_bolt::figure_3_1(options, watch.progress());
            drop(watch);
            let rows = rows.map_err(Fault::input)?;
            let plot = tcp_bolt::plot_speedup(&rows);
            finish(
                request,
                rows.as_slice(),
                Some(plot),
                terminal,
                describe_speedup,
            )
        }
        Some(number @ (2 | 3 | 5)) => {
            one_seed()?;
            let watch = terminal.watch("five flows");
            let runs = tcp_bolt::fairness(options, &variants, watch.progress());
            drop(watch);
            let runs = runs.map_err(Fault::input)?;
            let plot = drawn(&runs, number).map(tcp_bolt::plot_shares);
            let rows: Vec<ShareRow> = runs.into_iter().flat_map(|run| run.rows).collect();
            finish(request, rows.as_slice(), plot, terminal, describe_shares)
        }
        Some(number @ (4 | 6)) => {
            one_seed()?;
            let watch = terminal.watch("two bottlenecks");
            let runs = tcp_bolt::head_of_line(options, &variants, watch.progress());
            drop(watch);
            let runs = runs.map_err(Fault::input)?;
            let plot = drawn(&runs, number).map(tcp_bolt::plot_head_of_line);
            let rows: Vec<HeadOfLineRow> = runs.into_iter().flat_map(|run| run.rows).collect();
            finish(
                request,
                rows.as_slice(),
                plot,
                terminal,
                describe_head_of_line,
            )
        }
        Some(number) => {
            let watch = terminal.watch("54 hosts");
            let mix = tcp_bolt::mix(options, &variants, watch.progress());
            drop(watch);
            mixed(request, number, &mix.map_err(Fault::input)?, terminal)
        }
    }
}

/// The run that the paper's figure shows, or the first if it was not asked for.
fn drawn<Row>(runs: &[SharesRun<Row>], figure: u8) -> Option<&SharesRun<Row>> {
    let shown = match figure {
        2 => Variant::Tcp,
        3 | 4 => Variant::TcpDcb,
        _ => Variant::TcpBolt,
    };
    let found = runs.iter().find(|run| run.variant == shown);
    found.or_else(|| runs.first())
}

fn mixed(request: &Request<'_>, number: u8, mix: &Mix, terminal: &Terminal) -> Result<(), Fault> {
    let figure = format!("3.{number}");
    let claims = mix.claims().into_iter();
    let claims: Vec<BoltClaim> = claims.filter(|claim| claim.figure == figure).collect();
    if number == 7 {
        let sizes = mix.background();
        let plot = tcp_bolt::plot_mix_background(&sizes);
        let rows = MixRows {
            sizes: &sizes,
            claims,
            runs: &mix.runs,
        };
        let describe = |rows: &MixRows<'_, BackgroundRow>| {
            describe_background(rows.sizes) + &describe_runs(&rows.claims, rows.runs)
        };
        return finish(request, &rows, Some(plot), terminal, describe);
    }
    let sizes = mix.incasts();
    let plot = tcp_bolt::plot_mix_incasts(&sizes);
    let rows = MixRows {
        sizes: &sizes,
        claims,
        runs: &mix.runs,
    };
    let describe = |rows: &MixRows<'_, IncastRow>| {
        describe_incasts(rows.sizes) + &describe_runs(&rows.claims, rows.runs)
    };
    finish(request, &rows, Some(plot), terminal, describe)
}

/// Draws and prints.
fn finish<Rows: Serialize + ?Sized>(
    request: &Request<'_>,
    rows: &Rows,
    plot: Option<Plot>,
    terminal: &Terminal,
    describe: impl Fn(&Rows) -> String,
) -> Result<(), Fault> {
    if let (Some(path), Some(plot)) = (request.plot, plot) {
        terminal::write(path, &plot.svg())?;
    }
    let report = Report {
        machine: Machine::here(),
        figure: request.figure,
        quick: request.options.quick,
        seed: request.options.seed,
        seeds: request.options.seeds,
        rows,
    };
    terminal.result(&report, || describe(rows))
}

fn describe_round_trips(rows: &[RoundTripRow]) -> String {
    let row = |row: &RoundTripRow| {
        let paper = row
            .paper
            .map(|[idle, loaded]| format!("{idle:.0} to {loaded:.0}"));
        vec![
            row.variant.name().to_owned(),
            format!("{:.0}", row.least_us),
            format!("{:.0}", row.near_us),
            format!("{:.0}", row.far_us),
            format!("{:.0}", row.most_us),
            paper.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let header = [
        "transport",
        "least us",
        "one switch",
        "two switches",
        "most",
        "Stephens15",
    ];
    terminal::table(&header, &[1, 2, 3, 4, 5], &rows)
        + "round-trip times of five flows to one host, averages by how many switches they pass\n"
}

fn describe_speedup(rows: &[SpeedupRow]) -> String {
    let row = |row: &SpeedupRow| {
        let paper = row.paper.map(|[least, most]| format!("{least} to {most}"));
        vec![
            row.variant.name().to_owned(),
            row.bytes.to_string(),
            format!("{:.1}", row.us),
            format!("{:.2}", row.speedup),
            paper.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let header = [
        "transport",
        "bytes",
        "us",
        "times as fast as TCP",
        "Stephens15",
    ];
    terminal::table(&header, &[1, 2, 3, 4], &rows)
        + "one flow over two links of 10 Gb/s, round trips of 240 us; TCP-DCB begins with 200 packets here, as in the paper\n"
}

fn describe_shares(rows: &[ShareRow]) -> String {
    let row = |row: &ShareRow| {
        let far = row.far.iter().map(|share| format!("{share:.2}"));
        vec![
            row.variant.name().to_owned(),
            row.flows.to_string(),
            format!("{:.2}", row.near),
            row.paper
                .map_or_else(|| "-".to_owned(), |paper| paper.to_string()),
            far.collect::<Vec<_>>().join(" "),
            format!("{:.3}", row.fairness),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let header = [
        "transport",
        "flows",
        "B Gb/s",
        "Stephens15",
        "H1 to H4",
        "Jain's index",
    ];
    terminal::table(&header, &[1, 2, 3, 4, 5], &rows)
}

fn describe_head_of_line(rows: &[HeadOfLineRow]) -> String {
    let row = |row: &HeadOfLineRow| {
        let paper = row
            .paper
            .map(|values| values.map(|value| value.to_string()).join(", "));
        vec![
            row.variant.name().to_owned(),
            format!("{:.2}", row.a_c),
            format!("{:.2}", row.a_d),
            format!("{:.2}", row.others),
            format!("{:.2}", row.a_d_alone),
            format!("{:.2}", row.others_alone),
            paper.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let header = [
        "transport",
        "A to C Gb/s",
        "A to D",
        "others to C",
        "A to D alone",
        "others then",
        "Stephens15: A to C, A to D, alone",
    ];
    terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
}

/// A value with its interval.
fn with_interval(value: f64, interval: Option<f64>) -> String {
    match interval {
        Some(half) => format!("{value:.2} +- {half:.2}"),
        None => format!("{value:.2}"),
    }
}

fn describe_background(rows: &[BackgroundRow]) -> String {
    let row = |row: &BackgroundRow| {
        vec![
            row.variant.name().to_owned(),
            row.bytes.to_string(),
            row.flows.to_string(),
            row.unfinished.to_string(),
            format!("{:.2}", row.p50),
            with_interval(row.p99, row.p99_interval),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let header = [
        "transport",
        "bytes",
        "flows",
        "not done",
        "p50/optimum",
        "p99/optimum",
    ];
    terminal::table(&header, &[1, 2, 3, 4, 5], &rows)
}

fn describe_incasts(rows: &[IncastRow]) -> String {
    let row = |row: &IncastRow| {
        vec![
            row.variant.name().to_owned(),
            row.bytes.to_string(),
            row.incasts.to_string(),
            row.unfinished.to_string(),
            format!("{:.2}", row.p50),
            format!("{:.2}", row.p99),
            with_interval(row.p999, row.p999_interval),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let header = [
        "transport",
        "bytes",
        "incasts",
        "not done",
        "p50/optimum",
        "p99",
        "p99.9",
    ];
    terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
}

fn describe_runs(claims: &[BoltClaim], runs: &[MixRun]) -> String {
    let claim = |claim: &BoltClaim| {
        vec![
            claim.what.to_owned(),
            claim.paper.to_owned(),
            format!("{:.2}", claim.ours),
            if claim.agrees { "yes" } else { "no" }.to_owned(),
        ]
    };
    let run = |run: &MixRun| {
        vec![
            run.variant.name().to_owned(),
            run.seed.to_string(),
            format!("{:.0}", run.gbps),
            run.losses.to_string(),
            run.lossless_drops.to_string(),
            run.pauses.to_string(),
            run.deadlocks.to_string(),
            format!("{:.1}", run.seconds),
        ]
    };
    let claims: Vec<Vec<String>> = claims.iter().map(claim).collect();
    let runs: Vec<Vec<String>> = runs.iter().map(run).collect();
    let compared = match claims.is_empty() {
        true => String::new(),
        false => terminal::table(
            &["geometric mean over sizes", "Stephens15", "ours", "agrees"],
            &[2],
            &claims,
        ),
    };
    let header = [
        "transport",
        "seed",
        "Gb/s",
        "lost",
        "lossless lost",
        "pauses",
        "deadlocks",
        "s",
    ];
    compared + &terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7], &runs)
}

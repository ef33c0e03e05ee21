//! Figures 3.2 to 3.6: what competing flows get, on the topologies of Figures 2.1 and 2.2.

use quantities::Progress;
use rayon::prelude::*;
use serde::Serialize;
use simulator::simulate::{Outcome, SimulationReport};

use super::variant::{JITTER, ROUND_TRIP, Variant};
use super::{BoltError, BoltOptions, play};

/// What flows got while so many of them competed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    /// The transport.
    pub variant: Variant,
    /// How many flows competed.
    pub flows: usize,
    /// What the flow with the near port got, in gigabits per second: B's.
    pub near: f64,
    /// What the flows of the far switch got, each, from H1 on.
    pub far: Vec<f64>,
    /// Jain's index of fairness of all of them: 1 if they got the same.
    pub fairness: f64,
    /// What the paper says of the near flow: its fair share over TCP and TCP-Bolt, half the link
    /// over TCP-DCB.
    pub paper: Option<f64>,
}

/// What the flows of Figure 2.2 got while A sent to C and to D, and when it had done with C.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadOfLineRow {
    /// The transport.
    pub variant: Variant,
    /// A's flow to C, over both bottlenecks, in gigabits per second.
    pub a_c: f64,
    /// A's flow to D, over the first one.
    pub a_d: f64,
    /// The three other flows to C, on average.
    pub others: f64,
    /// A's flow to D when the one to C has ended.
    pub a_d_alone: f64,
    /// The three other flows then, on average.
    pub others_alone: f64,
    /// The paper, where it says something: flows to C and to D, and D's alone.
    pub paper: Option<[f64; 3]>,
}

/// A run over time.
#[derive(Clone, Debug)]
pub struct SharesRun<Row> {
    /// The transport.
    pub variant: Variant,
    /// What flows got, by how many there were or by who sent.
    pub rows: Vec<Row>,
    /// Times in milliseconds, and the throughput of each flow in gigabits per second.
    pub times: Vec<f64>,
    /// By flow.
    pub series: Vec<(String, Vec<f64>)>,
}

/// Milliseconds for the paper's two seconds.
const fn step_ms(options: &BoltOptions) -> u64 {
    match options.quick {
        true => 20,
        false => 200,
    }
}

/// Figures 3.2 (TCP), 3.3 (TCP-DCB) and 3.5 (TCP-Bolt) and the other transports: B and up to four
/// hosts of another switch send to A.
///
/// # Errors
/// [`BoltError`].
pub fn fairness(
    options: &BoltOptions,
    variants: &[Variant],
    progress: &Progress,
) -> Result<Vec<SharesRun<ShareRow>>, BoltError> {
    each(variants, progress, |variant| five_flows(variant, options))
}

/// Figure 3.2: TCP, which is about fair.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_2(options: &BoltOptions) -> Result<SharesRun<ShareRow>, BoltError> {
    five_flows(Variant::Tcp, options)
}

/// Figure 3.3: TCP-DCB, which is fair to ports.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_3(options: &BoltOptions) -> Result<SharesRun<ShareRow>, BoltError> {
    five_flows(Variant::TcpDcb, options)
}

/// Figure 3.4: TCP-DCB, where D's flow is held up by C's.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_4(options: &BoltOptions) -> Result<SharesRun<HeadOfLineRow>, BoltError> {
    two_bottlenecks(Variant::TcpDcb, options)
}

/// Figure 3.5: TCP-Bolt, which is fair to flows.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_5(options: &BoltOptions) -> Result<SharesRun<ShareRow>, BoltError> {
    five_flows(Variant::TcpBolt, options)
}

/// Figure 3.6: TCP-Bolt, where D's flow gets what C's leaves.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_6(options: &BoltOptions) -> Result<SharesRun<HeadOfLineRow>, BoltError> {
    two_bottlenecks(Variant::TcpBolt, options)
}

/// Figures 3.4 (TCP-DCB) and 3.6 (TCP-Bolt) and the other transports: A sends to C and to D; three
/// others send to C. Both bottlenecks are switches: hosts have links of 40 Gb/s, and C and D are
/// behind switches of their own.
///
/// # Errors
/// [`BoltError`].
pub fn head_of_line(
    options: &BoltOptions,
    variants: &[Variant],
    progress: &Progress,
) -> Result<Vec<SharesRun<HeadOfLineRow>>, BoltError> {
    each(variants, progress, |variant| {
        two_bottlenecks(variant, options)
    })
}

fn each<Row: Send>(
    variants: &[Variant],
    progress: &Progress,
    run: impl Fn(Variant) -> Result<SharesRun<Row>, BoltError> + Sync,
) -> Result<Vec<SharesRun<Row>>, BoltError> {
    progress.begin(variants.len() as u64);
    variants
        .par_iter()
        .map(|&variant| {
            let found = run(variant);
            progress.advance(1);
            found
        })
        .collect()
}

/// The paper's flows: H2 from 2 to 12 s, H3 from 4 to 10 s, H4 from 6 to 8 s, of 14.
pub(super) fn five_flows_scenario(variant: Variant, step: u64, seed: u64) -> String {
    let (sender, switches) = (variant.sender(false), variant.switches(6));
    let flow = |name: &str, from: u64, until: u64| {
        format!(
            "  - {{ name: {name}, from: {name}, to: A, start: {}ms, stop: {}ms, {sender} }}\n",
            from * step,
            until * step
        )
    };
    let flows = [
        flow("B", 0, 7),
        flow("H1", 0, 7),
        flow("H2", 1, 6),
        flow("H3", 2, 5),
        flow("H4", 3, 4),
    ];
    format!(
        "name: five flows, {}\nseed: {seed}\nround_trip: {ROUND_TRIP}\njitter: {JITTER}\nduration: {}ms\nsample: {}us\nswitches: {switches}\n\
         network:\n  topology: {{ drawn: {{ switches: {{ left: [A, B], right: [H1, H2, H3, H4] }}, links: [[left, right]] }} }}\n  \
         cables: {{ host_rate: 10Gbps, fabric_rate: 10Gbps }}\nflows:\n{}",
        variant.name(),
        7 * step,
        step * 1_000 / 50,
        flows.concat()
    )
}

fn five_flows(variant: Variant, options: &BoltOptions) -> Result<SharesRun<ShareRow>, BoltError> {
    let step = step_ms(options);
    let outcome = play(&five_flows_scenario(variant, step, options.seed), true)?;
    let (times, series) = over_time(&outcome);
    let mut rows = Vec::new();
    for flows in 2..=5 {
        // The period in which that many begin to compete, when they have had time to find their
        // shares.
        let from = (flows - 2) as u64 * step;
        let period = (from + step * 2 / 5, from + step);
        let got: Vec<f64> = series[..flows]
            .iter()
            .map(|(_, values)| mean_between(&times, values, period))
            .collect();
        let sum: f64 = got.iter().sum();
        let squares: f64 = got.iter().map(|share| share * share).sum();
        rows.push(ShareRow {
            variant,
            flows,
            near: got[0],
            far: got[1..].to_vec(),
            fairness: sum * sum / (flows as f64 * squares.max(1e-9)),
            paper: match variant {
                Variant::Tcp | Variant::TcpBolt => Some([5.0, 3.33, 2.5, 2.0][flows - 2]),
                Variant::TcpDcb => Some(5.0),
                _ => None,
            },
        });
    }
    Ok(SharesRun {
        variant,
        rows,
        times,
        series,
    })
}

fn two_bottlenecks(
    variant: Variant,
    options: &BoltOptions,
) -> Result<SharesRun<HeadOfLineRow>, BoltError> {
    let step = 2 * step_ms(options);
    let (sender, switches) = (variant.sender(false), variant.switches(7));
    let flow = |name: &str, (from, to): (&str, &str), until: u64| {
        format!(
            "  - {{ name: {name}, from: {from}, to: {to}, stop: {}ms, {sender} }}\n",
            until * step
        )
    };
    let flows = [
        flow("A-C", ("A", "C"), 1),
        flow("A-D", ("A", "D"), 2),
        flow("H1-C", ("H1", "C"), 2),
        flow("H2-C", ("H2", "C"), 2),
        flow("H3-C", ("H3", "C"), 2),
    ];
    let text = format!(
        "name: head of line, {}\nseed: {}\nround_trip: {ROUND_TRIP}\njitter: {JITTER}\nduration: {}ms\nsample: {}us\nswitches: {switches}\n\
         network:\n  topology: {{ drawn: {{ switches: {{ left: [A], right: [H1, H2, H3], at_c: [C], at_d: [D] }}, \
         links: [[left, right], [right, at_c], [right, at_d]] }} }}\n  \
         cables: {{ host_rate: 40Gbps, fabric_rate: 10Gbps }}\nflows:\n{}",
        variant.name(),
        options.seed,
        2 * step,
        step * 1_000 / 50,
        flows.concat()
    );
    let outcome = play(&text, true)?;
    let (times, series) = over_time(&outcome);
    let got = |flow: usize, from: u64| {
        let period = (from + step * 2 / 5, from + step);
        mean_between(&times, &series[flow].1, period)
    };
    let row = HeadOfLineRow {
        variant,
        a_c: got(0, 0),
        a_d: got(1, 0),
        others: (2..5).map(|flow| got(flow, 0)).sum::<f64>() / 3.0,
        a_d_alone: got(1, step),
        others_alone: (2..5).map(|flow| got(flow, step)).sum::<f64>() / 3.0,
        paper: match variant {
            Variant::TcpDcb => Some([2.5, 2.5, 10.0]),
            // Half of the fair share over two bottlenecks, and all that it leaves; the paper's
            // prose has the two the wrong way round.
            Variant::TcpBolt => Some([1.25, 8.75, 10.0]),
            _ => None,
        },
    };
    Ok(SharesRun {
        variant,
        rows: vec![row],
        times,
        series,
    })
}

/// Times in milliseconds, and what each flow got in gigabits per second.
fn over_time(outcome: &Outcome) -> (Vec<f64>, Vec<(String, Vec<f64>)>) {
    let Some(plots) = &outcome.plots else {
        return (Vec::new(), Vec::new());
    };
    let times = plots.goodput.iter().map(|(us, _)| us / 1e3).collect();
    (times, named(&outcome.report, &plots.flows))
}

fn named(report: &SimulationReport, flows: &[Vec<f64>]) -> Vec<(String, Vec<f64>)> {
    let names = report.flows.iter().map(|flow| flow.name.clone());
    names.zip(flows.iter().cloned()).collect()
}

/// The average of the points in a period of milliseconds.
fn mean_between(times: &[f64], values: &[f64], (from, until): (u64, u64)) -> f64 {
    let inside = |time: f64| time > from as f64 && time <= until as f64 + 1e-9;
    let picked = times.iter().zip(values).filter(|(time, _)| inside(**time));
    let (count, sum) = picked.fold((0, 0.0), |(count, sum), (_, value)| {
        (count + 1, sum + value)
    });
    sum / f64::from(count.max(1))
}

//! How much faster several threads simulate a network, and from the work of their windows what more
//! cores would give.

use serde::Serialize;
use simulator::simulate::{Outcome, Session, SimulateError, Threads, Windows, meet};
use spec::Scenario;

use super::machine::timed;
use super::simulation::SimulationBench;

/// How often threads meet to measure what that takes.
const MEETINGS: u32 = 100_000;
/// Cores of which is told what they would give.
const CORES: [usize; 5] = [2, 4, 8, 16, 64];

/// A run by some threads.
#[derive(Clone, Debug, Serialize)]
pub struct SharedFigure {
    /// How the work was shared.
    pub windows: Windows,
    /// Frames that switches processed.
    pub packet_hops: u64,
    /// Wall-clock time, without setting up; the shortest of the runs.
    pub seconds: f64,
    /// The first row's time over this one's.
    pub speedup: f64,
    /// Whether the report and the pictures are those of the first row, byte for byte.
    pub same: bool,
}

/// What so many cores would give, computed from the events of every window and the measured time of
/// an event.
#[derive(Clone, Debug, Serialize)]
pub struct Projection {
    /// Cores, each with a part.
    pub cores: usize,
    /// Windows of that partition, counted in a run.
    pub windows: Windows,
    /// All events over the sum, window by window, of those of the part that had the most: the
    /// speed-up if waiting took no time.
    pub balance: f64,
    /// The speed-up if threads take in proportion to their number to meet, as two here do.
    pub speedup: f64,
    /// The speed-up over the number of cores.
    pub efficiency: f64,
}

/// What [`parallel`] measured.
#[derive(Clone, Debug, Serialize)]
pub struct ParallelFigure {
    /// What was simulated.
    pub case: String,
    /// Switches.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Simulated time in microseconds.
    pub simulated_us: f64,
    /// Nanoseconds that so many threads take to meet when none has anything to do.
    pub wait_ns: f64,
    /// By number of threads, the first with one.
    pub runs: Vec<SharedFigure>,
    /// By number of cores.
    pub projections: Vec<Projection>,
}

/// Simulates for so long by one thread and by `threads`, the shortest of `runs` runs each, and
/// tells what more would give.
///
/// # Errors
/// [`SimulateError`].
pub fn parallel(
    bench: &SimulationBench,
    micros: f64,
    threads: usize,
    runs: usize,
    told: impl Fn(&str),
) -> Result<ParallelFigure, SimulateError> {
    let scenario = SimulationBench::scenario(micros)?;
    let mut first: Option<(String, f64)> = None;
    let mut figures: Vec<SharedFigure> = Vec::new();
    for number in [1, threads] {
        let mut best: Option<SharedFigure> = None;
        for run in 1..=runs {
            told(&format!("{number} threads, run {run} of {runs}"));
            let (outcome, windows, seconds) = play(bench, &scenario, Threads::new(number))?;
            let text = format!("{outcome:?}");
            let (alone, one) = first.get_or_insert((text.clone(), seconds));
            if number == 1 {
                *one = one.min(seconds);
            }
            let figure = SharedFigure {
                windows,
                packet_hops: outcome.report.packet_hops,
                seconds,
                speedup: *one / seconds,
                same: text == *alone,
            };
            let same = best.as_ref().is_none_or(|best| best.same) && figure.same;
            if best.as_ref().is_none_or(|best| seconds < best.seconds) {
                best = Some(figure);
            }
            if let Some(best) = &mut best {
                best.same = same;
            }
        }
        figures.extend(best);
    }
    let seconds = figures.first().map_or(0.0, |figure| figure.seconds);
    let (_, waiting) = timed(|| meet(2, MEETINGS));
    let wait = waiting / f64::from(MEETINGS);
    let mut projections = Vec::new();
    for cores in CORES {
        told(&format!("{cores} parts"));
        let threads = Threads {
            threads,
            parts: cores,
        };
        let (_, windows, _) = play(bench, &scenario, threads)?;
        projections.push(project(cores, windows, seconds, wait));
    }
    let topology = bench.topology();
    Ok(ParallelFigure {
        case: scenario.name.clone(),
        switches: topology.switches().len(),
        hosts: topology.hosts().len(),
        simulated_us: micros,
        wait_ns: wait * 1e9,
        runs: figures,
        projections,
    })
}

/// What comes out, how it was shared, and how long it took without setting up.
fn play(
    bench: &SimulationBench,
    scenario: &Scenario,
    threads: Threads,
) -> Result<(Outcome, Windows, f64), SimulateError> {
    let mut session = Session::shared(bench.network(), scenario, false, threads)?;
    let (run, seconds) = timed(|| session.run(u64::MAX, u64::MAX));
    run?;
    let windows = session.windows();
    Ok((session.finish(false), windows, seconds))
}

/// What cores would give: of one core's time the share that the longest parts have, and the waits.
fn project(cores: usize, windows: Windows, seconds: f64, wait: f64) -> Projection {
    let balance = windows.events as f64 / windows.longest_part_events.max(1) as f64;
    let waits = (windows.windows + 2 * windows.looks) as f64 * wait * cores as f64 / 2.0;
    let speedup = seconds / (seconds / balance + waits);
    Projection {
        cores,
        windows,
        balance,
        speedup,
        efficiency: speedup / cores as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_give_what_the_longest_part_and_the_waits_leave() {
        let windows = Windows {
            windows: 1_000,
            events: 1_000_000,
            longest_part_events: 125_000,
            ..Windows::default()
        };
        let found = project(16, windows, 10.0, 0.0);
        assert_eq!((found.balance, found.speedup), (8.0, 8.0));
        // 1000 waits of 8 times 1 us are 8 ms beside 1.25 s.
        let found = project(16, windows, 10.0, 1e-6);
        assert!((found.speedup - 10.0 / 1.258).abs() < 1e-9, "{found:?}");
    }
}

//! `switchwright merge`: what the shares of a command found, put together: the figures, words and
//! exit status that the command gives on one machine.

use clap::Args;
use plan::check::WalkedShare;

use super::fault::Fault;
use super::given::Given;
use super::shard::{self, Found, Work};
use super::terminal::Terminal;
use super::{bench, check, measure, reproduce, simulate};
use ::measure::SeedRun;
use ::measure::failover::SetTally;

/// Arguments of `switchwright merge`.
#[derive(Debug, Args)]
pub(super) struct Merge {
    /// The folder of the shares.
    folder: String,
    /// The folder for the figures of `measure` and `bench failover`, or the page of `reproduce`.
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
}

impl Merge {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let shares = shard::gather(&self.folder)?;
        let foreign = || {
            Fault::input(format!(
                "{}: a share found what its command does not look for",
                self.folder
            ))
        };
        let (seconds, out) = (shares.seconds, self.out.as_deref());
        let all = shares.found.into_iter();
        match shares.work {
            work @ Work::Check { .. } => {
                given.refuse_all(&["out"], "here: these are shares of `check`")?;
                let own = |found| match found {
                    Found::Check(walked) => Some(walked),
                    _ => None,
                };
                let walked: Option<Vec<WalkedShare>> = all.map(own).collect();
                check::merged(&work, &walked.ok_or_else(foreign)?, seconds, terminal)
            }
            work @ Work::Measure { .. } => {
                let own = |found| match found {
                    Found::Measure(tallies) => Some(tallies),
                    _ => None,
                };
                let tallies: Option<Vec<Vec<SetTally>>> = all.map(own).collect();
                let tallies = in_turn(tallies.ok_or_else(foreign)?);
                measure::merged(&work, &tallies, out, terminal)
            }
            work @ Work::Simulate { .. } => {
                given.refuse_all(&["out"], "here: these are shares of `simulate`")?;
                let own = |found| match found {
                    Found::Simulate(runs) => Some(runs),
                    _ => None,
                };
                let runs: Option<Vec<Vec<SeedRun>>> = all.map(own).collect();
                let runs = in_turn(runs.ok_or_else(foreign)?);
                simulate::merged(&work, runs, seconds, terminal)
            }
            Work::Reproduce { .. } => {
                let own = |found| match found {
                    Found::Reproduce(items) => Some(items),
                    _ => None,
                };
                let items: Option<Vec<Vec<String>>> = all.map(own).collect();
                reproduce::merged(&in_turn(items.ok_or_else(foreign)?), out, terminal)
            }
            Work::BenchFailover { .. } => {
                let own = |found| match found {
                    Found::BenchFailover(cases) => Some(*cases),
                    _ => None,
                };
                let cases: Option<Vec<_>> = all.map(own).collect();
                bench::failover::merged(cases.ok_or_else(foreign)?, out, terminal)
            }
        }
    }
}

/// What shares that took turns have found, in the order of the items.
fn in_turn<T>(shares: Vec<Vec<T>>) -> Vec<T> {
    let mut shares: Vec<_> = shares.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let round: Vec<T> = shares.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return all;
        }
        all.extend(round);
    }
}

//! `switchwright merge`: what the shares of a command found, put together: the figures, words and
//! exit status that the command gives on one machine.

use clap::Args;
use plan::check::WalkedShare;

use super::fault::Fault;
use super::given::Given;
use super::own;
use super::shard::{self, ShareResult, Work};
use super::terminal::Terminal;
use super::{check, figures, measure, simulate};
use ::measure::failover::SetTally;
use simulator::simulate::SeedRun;

/// Arguments of `switchwright merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// The folder of the shares.
    pub folder: String,
    /// The folder for the figures of `measure` and `bench failover`, or the page of `reproduce`.
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
}

impl Merge {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let command = shard::command(&self.folder);
        if command.is_some_and(|command| figures::COMMANDS_OF_SHARES.contains(&command.as_str())) {
            return Err(figures::start(&own::arguments()));
        }
        let shares = shard::gather::<Work, ShareResult>(&self.folder)?;
        shares.work.hold()?;
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
                    ShareResult::Check(walked) => Some(walked),
                    _ => None,
                };
                let walked: Option<Vec<WalkedShare>> = all.map(own).collect();
                check::merged(&work, &walked.ok_or_else(foreign)?, seconds, terminal)
            }
            work @ Work::Measure { .. } => {
                let own = |found| match found {
                    ShareResult::Measure(tallies) => Some(tallies),
                    _ => None,
                };
                let tallies: Option<Vec<Vec<SetTally>>> = all.map(own).collect();
                let tallies = in_turn(tallies.ok_or_else(foreign)?);
                measure::merged(&work, &tallies, out, terminal)
            }
            work @ Work::Simulate { .. } => {
                given.refuse_all(&["out"], "here: these are shares of `simulate`")?;
                let own = |found| match found {
                    ShareResult::Simulate(runs) => Some(runs),
                    _ => None,
                };
                let runs: Option<Vec<Vec<SeedRun>>> = all.map(own).collect();
                let runs = in_turn(runs.ok_or_else(foreign)?);
                simulate::merged(&work, runs, seconds, terminal)
            }
        }
    }
}

/// What shares that took turns have found, in the order of the items.
#[must_use]
pub fn in_turn<T>(shares: Vec<Vec<T>>) -> Vec<T> {
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

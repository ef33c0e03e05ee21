//! `switchwright merge` of the shares of `bench failover` and `reproduce`.

use switchwright::cli::fault::Fault;
use switchwright::cli::shard::{Shares, gather};
use switchwright::cli::terminal::Terminal;
use switchwright::cli::{Merge, in_turn};

use super::shares::{ShareResult, Work};
use super::{bench, reproduce};
use crate::failover::Cases;

/// Prints what all shares of a folder found, as one machine would.
///
/// # Errors
/// Shares that are missing or of other work, a folder that cannot be written.
pub(super) fn run(merge: &Merge, terminal: &Terminal) -> Result<(), Fault> {
    let shares: Shares<Work, ShareResult> = gather(&merge.folder)?;
    let foreign = || {
        Fault::input(format!(
            "{}: a share found what its command does not look for",
            merge.folder
        ))
    };
    let out = merge.out.as_deref();
    let all = shares.found.into_iter();
    match shares.work {
        Work::Reproduce { .. } => {
            let own = |found| match found {
                ShareResult::Reproduce(items) => Some(items),
                ShareResult::BenchFailover(_) => None,
            };
            let items: Option<Vec<Vec<String>>> = all.map(own).collect();
            reproduce::merged(&in_turn(items.ok_or_else(foreign)?), out, terminal)
        }
        Work::BenchFailover { .. } => {
            let own = |found| match found {
                ShareResult::BenchFailover(cases) => Some(*cases),
                ShareResult::Reproduce(_) => None,
            };
            let cases: Option<Vec<Cases>> = all.map(own).collect();
            bench::failover::merged(cases.ok_or_else(foreign)?, out, terminal)
        }
    }
}

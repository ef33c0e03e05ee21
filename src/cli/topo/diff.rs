//! `switchwright topo diff`: what differs between two networks.

use clap::{Args, ValueEnum};
use serde::Serialize;
use topology::difference::{Comparison, Difference, MatchBy};

use super::super::fault::{Fault, Status};
use super::super::terminal::Terminal;
use super::super::words::counted;
use super::network;

/// Arguments of `switchwright topo diff`.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// The network as it should be: a topology file, a plan, a build directory, a file of another
    /// tool, or a folder of SONiC's config_db.json files and of LLDP tables.
    a: String,
    /// The network as it is.
    b: String,
    /// How switches and hosts are matched [default: by name; the rest, and networks without a name
    /// in common, by structure].
    #[arg(long, value_enum, value_name = "WAY")]
    by: Option<By>,
}

/// How nodes are matched.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// By name alone.
    Name,
    /// By how they are joined, whatever their names.
    Structure,
}

/// What `topo diff --json` prints.
#[derive(Serialize)]
struct Report<'a> {
    /// Whether nothing differs.
    equal: bool,
    #[serde(flatten)]
    difference: &'a Difference,
}

impl DiffArgs {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let (a, b) = (network(&self.a)?, network(&self.b)?);
        let by = match self.by {
            None => MatchBy::Auto,
            Some(By::Name) => MatchBy::Name,
            Some(By::Structure) => MatchBy::Structure,
        };
        let difference = Comparison::new(&a, &b, by).difference();
        let equal = difference.is_empty();
        let report = Report {
            equal,
            difference: &difference,
        };
        terminal.result(&report, || describe(&difference))?;
        match equal {
            true => Ok(()),
            false => Err(Fault::shown(Status::Failed)),
        }
    }
}

/// The differences in words, how many there are last.
pub(in crate::cli) fn describe(difference: &Difference) -> String {
    let Difference { a, b, items, .. } = difference;
    if difference.is_empty() {
        return format!("{difference}{a} and {b} do not differ\n");
    }
    let count = counted(items.len(), "difference");
    format!("{difference}{count} between {a} and {b}\n")
}

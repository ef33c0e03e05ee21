//! `switchwright entries`: what every switch of a build directory holds, as a table or CSV.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{Args, ValueEnum};
use p4gen::build::BuildDirectory;
use p4gen::entries::{Row, SwitchEntries, rows, rows_for_people};
use p4gen::targets;
use serde::Serialize;
use topology::spreadsheet;

use super::check;
use super::fault::{Context, Fault};
use super::given::Given;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright entries`.
#[derive(Debug, Args)]
pub(super) struct Entries {
    /// The build directory.
    directory: String,
    /// Of this switch only; may be repeated.
    #[arg(long, value_name = "NAME")]
    switch: Vec<String>,
    /// Of this table or action profile only; may be repeated.
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// How they are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file to write [default: standard output]
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "-",
        hide_default_value = true
    )]
    output: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table for people.
    Text,
    /// Comma-separated values, for spreadsheets and scripts.
    Csv,
}

/// What `entries --json` prints.
#[derive(Serialize)]
struct Figures {
    entries: Vec<Row>,
}

impl Entries {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if terminal.json {
            given.refuse_all(&["format", "output"], "with `--json`")?;
        }
        let directory = BuildDirectory::open(Path::new(&self.directory)).map_err(Fault::input)?;
        let entries = directory.entries(&self.switch).input(&self.directory)?;
        let people = matches!(self.format, Format::Text) && !terminal.json;
        let mut found: Vec<Row> = match people {
            true => readable(&directory, &entries)?,
            false => entries.iter().flat_map(rows).collect(),
        };
        self.refuse_unknown_tables(&found)?;
        if !self.table.is_empty() {
            found.retain(|row| self.table.contains(&row.table));
        }
        if terminal.json {
            return terminal.result(&Figures { entries: found }, String::new);
        }
        let text = match self.format {
            Format::Text => as_table(&found, terminal::width_at(&self.output)),
            Format::Csv => as_csv(&found).input("entries as CSV")?,
        };
        terminal::write(&self.output, &text)
    }

    /// Refuses tables of which these switches hold nothing.
    fn refuse_unknown_tables(&self, found: &[Row]) -> Result<(), Fault> {
        let tables: BTreeSet<&str> = found.iter().map(|row| row.table.as_str()).collect();
        let unknown = |name: &&String| name.is_empty() || !tables.contains(name.as_str());
        let Some(name) = self.table.iter().find(unknown) else {
            return Ok(());
        };
        let tables: Vec<&str> = tables.into_iter().filter(|name| !name.is_empty()).collect();
        Err(Fault::input(format!("`{name}` has no entry here"))
            .help(format!("there are entries of {}", tables.join(", "))))
    }
}

/// Rows whose values are written for people, by the plan of the directory.
fn readable(directory: &BuildDirectory, entries: &[SwitchEntries]) -> Result<Vec<Row>, Fault> {
    let tables = check::load_built(directory)?;
    let target = directory.target().map_err(Fault::input)?;
    let notation = targets::notation(target, &tables);
    let mut found = Vec::new();
    for held in entries {
        let switch = tables.topology.switch_named(&held.switch);
        let switch = switch.map_err(Fault::input)?;
        found.extend(rows_for_people(held, switch, &notation));
    }
    Ok(found)
}

fn as_table(rows: &[Row], width: Option<usize>) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.cells().to_vec()).collect();
    terminal::table_within(width, &Row::COLUMNS, &[4], &rows)
}

fn as_csv(rows: &[Row]) -> Result<String, csv::Error> {
    let columns = Row::COLUMNS.map(str::to_owned);
    let rows = rows.iter().map(|row| row.cells().to_vec());
    spreadsheet::text(std::iter::once(columns.to_vec()).chain(rows))
}

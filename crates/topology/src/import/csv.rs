//! Links as comma-separated values, one a line, under a line that names the columns.
//!
//! `a` and `b` are the nodes at the ends. Optional are `a_port` and `b_port` (a number, or an
//! interface name that ends in one), `rate_gbps`, `length_m`, and `a_kind` and `b_kind` (`switch`
//! or `host`). Where no kind is given at all, nodes with a single link are hosts; where that leaves
//! no host, every node is a switch and gets the hosts that the options say.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use quantities::{BitRate, Metres};
use serde::Deserialize;

use super::super::file;
use super::{
    Draft, DraftEnd, DraftHost, DraftLink, ImportError, ImportFormat, ImportOptions, add_hosts,
    trailing_number,
};

/// The columns, as errors name them.
pub(super) const COLUMNS: &str = "a,a_port,b,b_port,rate_gbps,length_m,a_kind,b_kind";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    a: String,
    b: String,
    a_port: Option<String>,
    b_port: Option<String>,
    rate_gbps: Option<f64>,
    length_m: Option<u32>,
    a_kind: Option<Kind>,
    b_kind: Option<Kind>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Switch,
    Host,
}

/// Whether a text begins with a line that names both columns of nodes.
pub(super) fn is_table(text: &str) -> bool {
    let mut columns = text.lines().next().unwrap_or("").split(',').map(column);
    let has = |name: &str| columns.clone().any(|column| column == name);
    let found = has("a") && has("b");
    columns.next().is_some() && found
}

/// The name of a column, as it is looked for.
fn column(title: &str) -> String {
    title.trim().trim_matches('"').to_ascii_lowercase()
}

pub(super) fn read(text: &str, options: &ImportOptions) -> Result<Draft, ImportError> {
    let mut draft = Draft::new(ImportFormat::Csv, options);
    let rows = rows(text)?;
    for (node, kind) in kinds(&draft, &rows)? {
        match kind {
            Kind::Switch => draft.switches.push(node),
            Kind::Host => draft.hosts.push(DraftHost {
                name: node,
                ..DraftHost::default()
            }),
        }
    }
    for (line, row) in rows {
        let place = format!("line {line}");
        let end = |node: String, port: Option<String>| match port {
            None => Ok(DraftEnd { node, port: None }),
            Some(text) => match trailing_number(&text) {
                Some(port) => Ok(DraftEnd {
                    node,
                    port: Some(port),
                }),
                None => Err(draft.value(
                    &place,
                    format!(
                        "`{text}` is no port: write a number, or an interface name that ends in one"
                    ),
                )),
            },
        };
        let ends = [end(row.a, row.a_port)?, end(row.b, row.b_port)?];
        let rate = row.rate_gbps.map(|gbps| {
            file::parse_rate(gbps).ok_or_else(|| {
                draft.value(
                    &place,
                    format!("`{gbps}` is no rate: write gigabits per second above 0"),
                )
            })
        });
        let rate: Option<BitRate> = rate.transpose()?;
        draft.links.push(DraftLink {
            place,
            ends,
            rate,
            length: row.length_m.map(Metres::new),
        });
    }
    if draft.hosts.is_empty() {
        add_hosts(&mut draft, options.hosts_per_node);
    }
    Ok(draft)
}

/// The rows with the lines that they stand on.
fn rows(text: &str) -> Result<Vec<(u64, Row)>, ImportError> {
    let syntax = |error: csv::Error| ImportError::Syntax {
        format: ImportFormat::Csv,
        reason: format!("{error}; the columns are {COLUMNS}, of which a and b must be there"),
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let titles = reader.headers().map_err(syntax)?.iter().map(column);
    let titles: csv::StringRecord = titles.collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(syntax)?;
        let line = record.position().map_or(0, csv::Position::line);
        rows.push((line, record.deserialize(Some(&titles)).map_err(syntax)?));
    }
    Ok(rows)
}

/// What each node is, in the order in which they come.
fn kinds(draft: &Draft, rows: &[(u64, Row)]) -> Result<IndexMap<String, Kind>, ImportError> {
    let mut said: IndexMap<&str, Option<Kind>> = IndexMap::new();
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, row) in rows {
        for (node, kind) in [(&row.a, row.a_kind), (&row.b, row.b_kind)] {
            *links.entry(node).or_default() += 1;
            let known = said.entry(node).or_default();
            if known.is_some() && kind.is_some() && *known != kind {
                let reason = format!("`{node}` is a switch in one line and a host in another");
                return Err(draft.value(&format!("line {line}"), reason));
            }
            *known = known.or(kind);
        }
    }
    let told = said.values().any(Option::is_some);
    let kind = |node: &str| match links.get(node) {
        Some(1) if !told => Kind::Host,
        _ => Kind::Switch,
    };
    let all = said.into_iter();
    Ok(all
        .map(|(node, said)| (node.to_owned(), said.unwrap_or_else(|| kind(node))))
        .collect())
}

//! Links as comma-separated values, one a line, under a line that names the columns.
//!
//! `a` and `b` are the nodes at the ends; [`COLUMNS`] are all columns. Ports are numbers or the
//! names of interfaces. A semicolon or a tab may stand in place of the comma, as spreadsheets write
//! them. Where no kind is given at all, nodes with a single link are hosts; where that leaves no
//! host, every node is a switch and gets the hosts that the options say.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use csv::StringRecord;
use indexmap::IndexMap;
use quantities::{BitRate, Metres};

use super::super::file;
use super::super::ports::GivenPort;
use super::{
    Draft, DraftEnd, DraftHost, DraftLink, ImportError, ImportFormat, ImportOptions, add_hosts,
    parse_cidr,
};

/// The columns, as errors name them.
pub(super) const COLUMNS: &str = "a, b, a_port, b_port, rate_gbps (or rate), length_m (or length), up, a_kind, b_kind, \
     a_ipv4, b_ipv4, a_mac, b_mac";

/// What a column holds. Those of an end say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Node(usize),
    Port(usize),
    Kind(usize),
    Ipv4(usize),
    Mac(usize),
    Rate,
    Length,
    Up,
}

impl Column {
    fn of(title: &str) -> Option<Self> {
        Some(match title {
            "rate" | "rate_gbps" => Self::Rate,
            "length" | "length_m" => Self::Length,
            "up" => Self::Up,
            "a" => Self::Node(0),
            "b" => Self::Node(1),
            _ => {
                let (end, what) = title.split_once('_')?;
                let end = match end {
                    "a" => 0,
                    "b" => 1,
                    _ => return None,
                };
                match what {
                    "port" => Self::Port(end),
                    "kind" => Self::Kind(end),
                    "ipv4" => Self::Ipv4(end),
                    "mac" => Self::Mac(end),
                    _ => return None,
                }
            }
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Host,
}

/// What a row says of one end.
#[derive(Debug, Default)]
struct End {
    kind: Option<Kind>,
    ipv4: Option<(Ipv4Addr, u8)>,
    mac: Option<[u8; 6]>,
}

/// The lines that a table may begin with before it names the columns.
fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// What stands between the columns, if the first line names both columns of nodes.
fn delimiter(text: &str) -> Option<char> {
    let title = text.lines().find(|line| !is_comment(line))?;
    [',', ';', '\t'].into_iter().find(|&delimiter| {
        let mut columns = title.split(delimiter).map(column);
        let has = |name: &str| columns.clone().any(|column| column == name);
        let found = has("a") && has("b");
        columns.nth(1).is_some() && found
    })
}

/// Whether a text begins with a line that names both columns of nodes.
pub(super) fn is_table(text: &str) -> bool {
    delimiter(text).is_some()
}

/// The name of a column, as it is looked for.
fn column(title: &str) -> String {
    title.trim().trim_matches('"').trim().to_ascii_lowercase()
}

pub(super) fn read(text: &str, options: &ImportOptions) -> Result<Draft, ImportError> {
    let mut draft = Draft::new(ImportFormat::Csv, options);
    let table = Table::read(&draft, text)?;
    let mut about: IndexMap<String, End> = IndexMap::new();
    for (line, record) in &table.rows {
        let row = Row {
            draft: &draft,
            table: &table,
            line: *line,
            record,
        };
        let link = row.link()?;
        for (at, end) in link.ends.iter().enumerate() {
            let known = about.entry(end.node.clone()).or_default();
            row.learn(at, &end.node, known)?;
        }
        draft.links.push(link);
    }
    let stated = about.values().any(|end| end.kind.is_some());
    let kinds = kinds(&draft, &about, stated);
    let hosts = |node: &str| kinds.get(node) == Some(&Kind::Host);
    draft.switches = about.keys().filter(|node| !hosts(node)).cloned().collect();
    draft.leave_out(&hosts)?;
    // What is left may have one link where it had two.
    let kinds = self::kinds(&draft, &about, stated);
    draft
        .switches
        .retain(|node| kinds.get(node) == Some(&Kind::Switch));
    for (node, kind) in &kinds {
        if *kind == Kind::Host {
            let end = &about[node];
            draft.hosts.push(DraftHost {
                name: node.clone(),
                mac: end.mac,
                ipv4: end.ipv4,
            });
        }
    }
    if draft.hosts.is_empty() {
        add_hosts(&mut draft, options.hosts_per_node);
    }
    Ok(draft)
}

/// What each node with a link is: as it is said or, where no kind is said at all, a host if it has
/// a single link.
fn kinds(draft: &Draft, about: &IndexMap<String, End>, stated: bool) -> IndexMap<String, Kind> {
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    for end in draft.links.iter().flat_map(|link| &link.ends) {
        *links.entry(&end.node).or_default() += 1;
    }
    let kind = |(node, end): (&String, &End)| {
        let count = *links.get(node.as_str())?;
        let guess = match count {
            1 if !stated => Kind::Host,
            _ => Kind::Switch,
        };
        Some((node.clone(), end.kind.unwrap_or(guess)))
    };
    about.iter().filter_map(kind).collect()
}

/// The cells, and what each column holds.
struct Table {
    /// By column: its place and its title.
    columns: BTreeMap<Column, (usize, String)>,
    rows: Vec<(u64, StringRecord)>,
    /// Whether a comma is a decimal point, as where a semicolon separates columns.
    decimal_comma: bool,
}

impl Table {
    fn read(draft: &Draft, text: &str) -> Result<Self, ImportError> {
        let text = text.trim_start_matches('\u{feff}');
        let delimiter = delimiter(text).unwrap_or(',');
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .delimiter(u8::try_from(delimiter).unwrap_or(b','))
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let lines: Vec<&str> = text.lines().collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| ImportError::Syntax {
                format: ImportFormat::Csv,
                reason: error.to_string(),
            })?;
            // Spreadsheets write rows of empty cells.
            if record.iter().all(str::is_empty) {
                continue;
            }
            // The position of a record is that of the comments before it.
            let mut line = record.position().map_or(1, csv::Position::line);
            let is_skipped = |line: u64| {
                let at = usize::try_from(line)
                    .ok()
                    .and_then(|line| line.checked_sub(1));
                at.and_then(|at| lines.get(at))
                    .is_some_and(|line| is_comment(line))
            };
            while is_skipped(line) {
                line += 1;
            }
            rows.push((line, record));
        }
        let titles = match rows.is_empty() {
            true => (1, StringRecord::new()),
            false => rows.remove(0),
        };
        let table = Self {
            columns: columns(draft, &titles)?,
            rows,
            decimal_comma: delimiter == ';',
        };
        let count = titles.1.len();
        let wide = |record: &StringRecord| record.iter().skip(count).any(|cell| !cell.is_empty());
        for (line, record) in &table.rows {
            if record.len() < count || wide(record) {
                let reason = format!(
                    "has {} cells, but the first line names {count} columns",
                    record.len()
                );
                return Err(draft.value(&format!("line {line}"), reason));
            }
        }
        Ok(table)
    }
}

/// The columns that a line of titles names.
fn columns(
    draft: &Draft,
    (line, titles): &(u64, StringRecord),
) -> Result<BTreeMap<Column, (usize, String)>, ImportError> {
    let mut columns = BTreeMap::new();
    for (at, title) in titles.iter().map(column).enumerate() {
        // Spreadsheets write empty columns at the end.
        if title.is_empty() {
            continue;
        }
        let place = format!("line {line}, column `{title}`");
        let known = Column::of(&title).ok_or_else(|| {
            draft.value(&place, format!("is not known; the columns are {COLUMNS}"))
        })?;
        if let Some((_, first)) = columns.insert(known, (at, title)) {
            return Err(draft.value(
                &place,
                format!("says the same as column `{first}`: keep one"),
            ));
        }
    }
    Ok(columns)
}

/// One row.
struct Row<'a> {
    draft: &'a Draft,
    table: &'a Table,
    line: u64,
    record: &'a StringRecord,
}

impl Row<'_> {
    /// What a column holds here, unless it is empty.
    fn cell(&self, column: Column) -> Option<&str> {
        let (at, _) = self.table.columns.get(&column)?;
        self.record.get(*at).filter(|cell| !cell.is_empty())
    }

    /// Reads a cell. `expected` says what it should be.
    fn read<T>(
        &self,
        column: Column,
        parse: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, ImportError> {
        let Some(text) = self.cell(column) else {
            return Ok(None);
        };
        match parse(text) {
            Some(value) => Ok(Some(value)),
            None => {
                let title = self.table.columns.get(&column);
                let title = title.map_or("", |(_, title)| title.as_str());
                let place = format!("line {}, column `{title}`", self.line);
                Err(self
                    .draft
                    .value(&place, format!("`{text}` is not {expected}")))
            }
        }
    }

    fn link(&self) -> Result<DraftLink, ImportError> {
        let end = |at: usize| {
            let node = self.cell(Column::Node(at)).unwrap_or_default().to_owned();
            if node.is_empty() {
                let title = ["a", "b"][at];
                let place = format!("line {}, column `{title}`", self.line);
                return Err(self
                    .draft
                    .value(&place, "is empty: write the name of a node"));
            }
            let expected = "a port: write a number up to 65535, or the name of an interface";
            let port = self.read(Column::Port(at), GivenPort::read, expected)?;
            Ok(DraftEnd::new(node, port.unwrap_or(GivenPort::Open)))
        };
        let number = |text: &str| match self.table.decimal_comma {
            true => text.replace(',', "."),
            false => text.to_owned(),
        };
        let rate = |text: &str| gigabits(&number(text));
        let length = |text: &str| number(text).parse::<Metres>().ok();
        let expected_rate =
            "a rate: write gigabits per second above 0, as in 100, or a unit, as in 400 Gb/s";
        let expected_length = "a length: write metres, as in 30, or a unit, as in 3 km";
        let place = format!("line {}", self.line);
        Ok(DraftLink {
            rate: self.read(Column::Rate, rate, expected_rate)?,
            length: self.read(Column::Length, length, expected_length)?,
            up: self
                .read(Column::Up, yes_or_no, "yes or no")?
                .unwrap_or(true),
            ..DraftLink::new(place, [end(0)?, end(1)?])
        })
    }

    /// What the row says of a node, beside what is known of it.
    fn learn(&self, at: usize, node: &str, known: &mut End) -> Result<(), ImportError> {
        let kind = self.read(Column::Kind(at), kind, "a kind: write switch or host")?;
        if known.kind.is_some() && kind.is_some() && known.kind != kind {
            let reason = format!("`{node}` is a switch in one line and a host in another");
            return Err(self.draft.value(&format!("line {}", self.line), reason));
        }
        known.kind = known.kind.or(kind);
        let expected = "an IPv4 address: write one as in 10.0.1.1/24";
        let ipv4 = self.read(Column::Ipv4(at), parse_cidr, expected)?;
        known.ipv4 = known.ipv4.or(ipv4);
        let expected = "an Ethernet address: write one as in 02:00:0a:00:00:01";
        let mac = self.read(Column::Mac(at), file::parse_mac, expected)?;
        known.mac = known.mac.or(mac);
        Ok(())
    }
}

/// A rate above 0, in gigabits per second unless it names a unit.
fn gigabits(text: &str) -> Option<BitRate> {
    match text.parse::<f64>() {
        Ok(gigabits) => file::parse_rate(gigabits),
        Err(_) => text.parse().ok().filter(|&rate| rate != BitRate::ZERO),
    }
}

fn kind(text: &str) -> Option<Kind> {
    match text.to_ascii_lowercase().as_str() {
        "switch" => Some(Kind::Switch),
        "host" => Some(Kind::Host),
        _ => None,
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "up" | "1" => Some(true),
        "no" | "false" | "down" | "0" => Some(false),
        _ => None,
    }
}

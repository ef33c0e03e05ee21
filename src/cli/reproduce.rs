//! `switchwright reproduce`: every table and figure of the papers with numbers, ours beside theirs.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::fault::{Context, Fault};
use super::given::Given;
use super::terminal::{self, Terminal};
use measure::reproduce::{
    Counts, Effort, Item, ItemReport, Paper, Recorded, Run, Verdict, catalogue, page, told,
};

/// Arguments of `switchwright reproduce`.
#[derive(Debug, Args)]
pub(super) struct Reproduce {
    /// The paper: Tagger17, TaggerDraft, Stephens15, FC23, or `all`.
    #[arg(required_unless_present = "list")]
    paper: Option<String>,
    /// One of its tables and figures, by the name in the list (`table-4.11`) or the beginning of several (`table`).
    item: Option<String>,
    /// List the tables and figures, with the verdicts of --out, else those recorded with this version.
    #[arg(long)]
    list: bool,
    /// Smaller sizes and few seeds: all of it in a quarter of an hour on two cores [default].
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' sizes and more seeds: hours.
    #[arg(long)]
    full: bool,
    /// The folder for one page with every plot, and the numbers behind it. What it holds already is not computed again.
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
}

/// What `--out` makes.
const FOLDER: &str = "folder of reproduced figures";

#[derive(Serialize)]
struct List {
    items: Vec<Listed>,
}

/// An entry of the list.
#[derive(Serialize)]
struct Listed {
    paper: &'static str,
    item: &'static str,
    title: &'static str,
    source: String,
    topology: &'static str,
    sizes: &'static str,
    seeds: &'static str,
    /// How many numbers of the paper it has.
    rows: usize,
    verdict: Option<Verdict>,
    counts: Option<Counts>,
    /// How much was computed for the verdict.
    effort: Option<Effort>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    items: Vec<ItemReport>,
}

impl Reproduce {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let chosen = self.chosen()?;
        if self.list {
            given.refuse_all(
                &["quick", "full"],
                "beside `--list`, which computes nothing",
            )?;
            return self.tell_list(&chosen, terminal);
        }
        let effort = if self.full {
            Effort::Full
        } else {
            Effort::Quick
        };
        if let Some(folder) = &self.out {
            terminal::claim(folder, FOLDER)?;
        }
        let mut reports = Vec::new();
        for item in &chosen {
            reports.push(self.one(item, effort, terminal)?);
        }
        if let Some(folder) = &self.out {
            write_folder(folder)?;
        }
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            items: reports,
        };
        terminal.result(&report, || describe(&report.items))
    }

    /// The entries that are asked for.
    fn chosen(&self) -> Result<Vec<Item>, Fault> {
        let all = catalogue();
        let Some(paper) = &self.paper else {
            return Ok(all);
        };
        let keys = || Paper::ALL.map(Paper::key).join(", ");
        let any = paper.eq_ignore_ascii_case("all");
        let own: Vec<Item> = all
            .into_iter()
            .filter(|item| any || item.paper.key().eq_ignore_ascii_case(paper))
            .collect();
        if own.is_empty() {
            return Err(Fault::input(format!("`{paper}` is no paper")).help(format!(
                "the papers are {} (docs/references.md), and `all` for all of them",
                keys()
            )));
        }
        let Some(name) = &self.item else {
            return Ok(own);
        };
        let exact: Vec<Item> = own
            .iter()
            .filter(|item| item.name == name)
            .copied()
            .collect();
        let begun = || {
            own.iter()
                .filter(|item| item.name.starts_with(name.as_str()))
        };
        let chosen = if exact.is_empty() {
            begun().copied().collect()
        } else {
            exact
        };
        if chosen.is_empty() {
            let names: Vec<&str> = own.iter().map(|item| item.name).collect();
            return Err(Fault::input(format!("{paper} has no `{name}` here"))
                .help(format!("it has {}", names.join(", "))));
        }
        Ok(chosen)
    }

    fn tell_list(&self, items: &[Item], terminal: &Terminal) -> Result<(), Fault> {
        let recorded = Recorded::read().input("the recorded verdicts")?;
        let listed = |item: &Item| {
            let here = self.out.as_ref().and_then(|folder| read(folder, item));
            let beside = recorded.of(item);
            let (verdict, counts, effort) = match (&here, beside, &self.out) {
                (Some(here), ..) => (here.verdict, Some(here.counts), Some(here.effort)),
                (None, Some(beside), None) => {
                    (beside.verdict, Some(beside.counts), Some(beside.effort))
                }
                _ => (None, None, None),
            };
            let reason = here.and_then(|here| here.reason);
            Listed {
                paper: item.paper.key(),
                item: item.name,
                title: item.title,
                source: item.source(),
                topology: item.topology,
                sizes: item.sizes,
                seeds: item.seeds,
                rows: (item.rows)().len(),
                reason: reason.filter(|_| verdict.is_none()),
                verdict,
                counts,
                effort: effort.filter(|_| verdict.is_some()),
            }
        };
        let list = List {
            items: items.iter().map(listed).collect(),
        };
        terminal.result(&list, || describe_list(&list.items))
    }

    /// Computes an entry, or takes what the folder has of it.
    fn one(&self, item: &Item, effort: Effort, terminal: &Terminal) -> Result<ItemReport, Fault> {
        let name = format!("{} {}", item.paper.key(), item.name);
        if let Some(folder) = &self.out
            && let Some(done) = read(folder, item)
            && done.digest == item.digest(effort)
            && done.reason.is_none()
        {
            return Ok(done);
        }
        let watch = terminal.progress(&name);
        let report = item.compute(&Run {
            effort,
            progress: &std::sync::Arc::default(),
        });
        watch.finish_and_clear();
        if self.out.is_some() {
            let told = told(report.verdict);
            terminal.note(format!("{name}: {told} ({})", report.counts.words()));
        }
        let Some(folder) = &self.out else {
            return Ok(report);
        };
        let json = serde_json::to_string_pretty(&report).input("figures as JSON")?;
        let path = place(folder, item);
        terminal::write(&path.to_string_lossy(), &(json + "\n"))?;
        // What was written is what later runs read: the same numbers, to the last digit.
        Ok(read(folder, item).unwrap_or(report))
    }
}

/// The file of an entry.
fn place(folder: &str, item: &Item) -> PathBuf {
    let name = format!("{}-{}.json", item.paper.key(), item.name);
    Path::new(folder).join("items").join(name)
}

/// What a folder has of an entry; nothing if that cannot be read, for then it is computed again.
fn read(folder: &str, item: &Item) -> Option<ItemReport> {
    let text = std::fs::read_to_string(place(folder, item)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Writes the page and the numbers of all entries that a folder has.
fn write_folder(folder: &str) -> Result<(), Fault> {
    let items = catalogue();
    let reports: Vec<(Option<&Item>, ItemReport)> = items
        .iter()
        .filter_map(|item| Some((Some(item), read(folder, item)?)))
        .collect();
    let text = page(&reports).input("the page")?;
    let put = |name: &str, text: &str| {
        let path = Path::new(folder).join(name);
        terminal::write(&path.to_string_lossy(), text)
    };
    put("index.html", &text)?;
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        items: reports.into_iter().map(|(_, report)| report).collect(),
    };
    let json = serde_json::to_string_pretty(&report).input("figures as JSON")?;
    put("reproduce.json", &(json + "\n"))
}

fn describe_list(items: &[Listed]) -> String {
    let rows = items.iter().map(|item| {
        let counts = item.counts.map(|counts| counts.words());
        let why = item.reason.clone();
        vec![
            item.paper.to_owned(),
            item.item.to_owned(),
            item.title.to_owned(),
            told(item.verdict).to_owned(),
            why.or(counts).unwrap_or_default(),
        ]
    });
    let header = ["paper", "item", "shows", "verdict", "numbers"];
    terminal::table(&header, &[], &rows.collect::<Vec<_>>())
}

fn describe(items: &[ItemReport]) -> String {
    let mut text = String::new();
    for item in items {
        text += &format!(
            "{}: {} ({}; {} s)\n",
            item.source,
            told(item.verdict),
            item.counts.words(),
            measure::reproduce::short(item.seconds)
        );
        if let Some(reason) = &item.reason {
            text += &format!("  {reason}\n");
        }
        let rows = item.rows.iter().map(|row| {
            vec![
                row.name.clone(),
                row.paper.clone(),
                row.ours.map_or_else(|| "-".to_owned(), |ours| ours.words()),
                row.tolerance.clone(),
                told(row.verdict).to_owned(),
                row.difference.clone().unwrap_or_default(),
                row.reason.clone().unwrap_or_default(),
            ]
        });
        let header = ["number", "paper", "ours", "within", "verdict", "by", "why"];
        text += &terminal::table(&header, &[1, 2], &rows.collect::<Vec<_>>());
    }
    text
}

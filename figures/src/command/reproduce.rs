//! `switchwright reproduce`: every table and figure of the papers with numbers, ours beside theirs.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::shares::{ShareResult, Work};
use crate::reproduce::{
    Counts, Effort, Item, ItemReport, Paper, Recorded, Run, Verdict, catalogue, page, told,
};
use measure::timed;
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::given::Given;
use switchwright::cli::shard::{LongSharding, Sharding};
use switchwright::cli::terminal::{self, Terminal};
use switchwright::cli::words::counted;

/// Arguments of `switchwright reproduce`.
#[derive(Debug, Args)]
pub(super) struct Reproduce {
    /// The paper: Tagger17, TaggerDraft, Stephens15, FC23, or `all`.
    #[arg(required_unless_present = "list")]
    paper: Option<String>,
    /// One of its tables and figures, by the name in the list (`table-4.11`) or the beginning of
    /// several (`table`).
    item: Option<String>,
    /// List the tables and figures, with the verdicts of --out, else those recorded with this
    /// version.
    #[arg(long)]
    list: bool,
    /// Smaller sizes and few seeds: all of it in a quarter of an hour on two cores [default].
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' sizes and more seeds: hours.
    #[arg(long)]
    full: bool,
    /// The folder for one page with every plot, and the numbers behind it. What it holds already is
    /// not computed again.
    #[arg(long, value_name = "DIR", conflicts_with = "shard")]
    out: Option<String>,
    #[command(flatten)]
    sharding: LongSharding,
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
    pub(super) fn run(mut self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let chosen = self.chosen()?;
        if self.list {
            given.refuse_all(
                &["quick", "full", "shard", "shards"],
                "beside `--list`, which computes nothing",
            )?;
            return self.tell_list(&chosen, terminal);
        }
        let effort = if self.full {
            Effort::Full
        } else {
            Effort::Quick
        };
        let sharding: Sharding = std::mem::take(&mut self.sharding).into();
        if sharding.wanted() {
            return sharding.run(self.work(), terminal, |share| {
                let own = chosen.iter().skip(share.index).step_by(share.of);
                let texts = |item| json(&compute(item, effort, terminal));
                let (texts, seconds) = timed(|| own.map(texts).collect::<Result<Vec<_>, _>>());
                Ok((ShareResult::Reproduce(texts?), seconds))
            });
        }
        if let Some(folder) = &self.out {
            terminal::claim(folder, FOLDER)?;
        }
        let mut reports = Vec::new();
        for item in &chosen {
            reports.push(self.one(item, effort, terminal)?);
        }
        tell(reports, self.out.as_deref(), terminal)
    }

    /// All that the outcome depends on.
    fn work(&self) -> Work {
        Work::Reproduce {
            paper: self.paper.clone().unwrap_or_default(),
            item: self.item.clone(),
            full: self.full,
        }
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
        let report = compute(item, effort, terminal);
        // What is written is what later runs and merges read: the same numbers, to the last digit.
        let text = json(&report)?;
        let report: ItemReport = serde_json::from_str(&text).input(&name)?;
        if let Some(folder) = &self.out {
            let told = told(report.verdict);
            terminal.note(format!("{name}: {told} ({})", report.counts.words()));
            let path = place(folder, &report.paper, &report.item);
            terminal::write(&path.to_string_lossy(), &text)?;
        }
        Ok(report)
    }
}

fn compute(item: &Item, effort: Effort, terminal: &Terminal) -> ItemReport {
    let watch = terminal.progress(&format!("{} {}", item.paper.key(), item.name));
    let report = item.compute(&Run {
        effort,
        progress: &std::sync::Arc::default(),
    });
    watch.finish_and_clear();
    report
}

/// An entry as the folder and shares have it.
fn json(report: &ItemReport) -> Result<String, Fault> {
    Ok(serde_json::to_string_pretty(report).input("figures as JSON")? + "\n")
}

/// Tells of entries; with a folder, whose items are there, its page is written.
fn tell(items: Vec<ItemReport>, folder: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    if let Some(folder) = folder {
        write_folder(folder)?;
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        items,
    };
    terminal.result(&report, || describe(&report.items))
}

/// What shares have computed, in order.
///
/// # Errors
/// What is no entry, a folder that cannot be written.
pub(super) fn merged(
    texts: &[String],
    folder: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    if let Some(folder) = folder {
        terminal::claim(folder, FOLDER)?;
    }
    let all = catalogue();
    let mut items = Vec::new();
    for text in texts {
        let report: ItemReport = serde_json::from_str(text).input("an entry of a share")?;
        let known = |item: &Item| item.paper.key() == report.paper && item.name == report.item;
        if !all.iter().any(known) {
            let (paper, item) = (&report.paper, &report.item);
            return Err(Fault::input(format!(
                "a share has `{paper} {item}`: there is no such entry"
            )));
        }
        if let Some(folder) = folder {
            let path = place(folder, &report.paper, &report.item);
            terminal::write(&path.to_string_lossy(), text)?;
        }
        items.push(report);
    }
    tell(items, folder, terminal)
}

/// The file of an entry.
fn place(folder: &str, paper: &str, item: &str) -> PathBuf {
    let name = format!("{paper}-{item}.json");
    Path::new(folder).join("items").join(name)
}

/// What a folder has of an entry; nothing if that cannot be read, for then it is computed again.
fn read(folder: &str, item: &Item) -> Option<ItemReport> {
    let text = std::fs::read_to_string(place(folder, item.paper.key(), item.name)).ok()?;
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

/// How many entries there are, by verdict, and what became of all their rows.
fn summary_of(items: &[Listed]) -> String {
    let with = |verdict| items.iter().filter(|item| item.verdict == verdict).count();
    let verdicts = [
        Some(Verdict::Reproduced),
        Some(Verdict::Better),
        Some(Verdict::Differs),
        Some(Verdict::NotLegible),
        None,
    ];
    let entries = verdicts.map(|verdict| (with(verdict), told(verdict)));
    let entries = entries.iter().filter(|(count, _)| *count > 0);
    let entries: Vec<String> = entries
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let known = items.iter().filter_map(|item| item.counts);
    let numbers = known.fold(Counts::default(), Counts::and).words();
    let numbers = match numbers.as_str() {
        "" => "nothing computed".to_owned(),
        numbers => format!("their numbers: {numbers}"),
    };
    format!(
        "{}: {}; {numbers}\n",
        counted(items.len(), "entry"),
        entries.join(", ")
    )
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
    summary_of(items) + &terminal::table(&header, &[], &rows.collect::<Vec<_>>())
}

fn describe(items: &[ItemReport]) -> String {
    let mut text = String::new();
    for item in items {
        text += &format!(
            "{}: {} ({}; {} s)\n",
            item.source,
            told(item.verdict),
            item.counts.words(),
            crate::reproduce::short(item.seconds)
        );
        if let Some(reason) = &item.reason {
            text += &format!("  {reason}\n");
        }
        let rows = item.rows.iter().map(|row| {
            vec![
                row.name.clone(),
                row.paper.clone(),
                row.ours_words(),
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

//! What documents say of the papers' figures: parts of them are written from the numbers of
//! `switchwright reproduce`.
//!
//! Between `<!-- figures: KEY -->` and `<!-- figures end -->` stands what [`render`] makes of the
//! recorded run: `list` for all entries, else the rows of one, such as `FC23 table-3`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::book;

/// The recorded run, which the program is built with too.
const RECORDED: &str = "docs/reproduced.json";
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- figures end -->";

/// What of an entry and of a row is recorded.
const OF_ITEM: &[&str] = &[
    "paper", "item", "title", "source", "effort", "verdict", "counts",
];
const OF_ROW: &[&str] = &["name", "paper", "ours", "verdict", "difference", "reason"];

/// Records a folder's run, if one is given, and rewrites the documents. Entries that the folder has
/// not stay as they are recorded.
pub(crate) fn write(root: &Path, folder: Option<&str>) -> Result<(), String> {
    if let Some(folder) = folder {
        let made = Path::new(folder).join("reproduce.json");
        let text = fs::read_to_string(&made).map_err(|e| format!("{}: {e}", made.display()))?;
        let path = root.join(RECORDED);
        let before = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let text = recorded(&parse(&before, &path)?, &parse(&text, &made)?)?;
        put(&path, &text)?;
    }
    for (path, text, rendered) in documents(root)? {
        if text != rendered {
            put(&path, &rendered)?;
        }
    }
    Ok(())
}

/// Finds documents that say something else than the recorded run.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    for (path, text, rendered) in documents(root)? {
        if text != rendered {
            let path = path.strip_prefix(root).unwrap_or(&path).display();
            findings.push(format!(
                "{path}: its figures are not those of {RECORDED}; run `cargo xtask figures`"
            ));
        }
    }
    Ok(())
}

/// Holds a folder's run against the record: numbers whose verdict is another, of entries that were
/// computed with the same effort.
///
/// # Errors
/// There are such numbers, which it names, or none to compare.
pub(crate) fn compare(root: &Path, folder: Option<&str>) -> Result<(), String> {
    let made = Path::new(folder.ok_or("name the folder of a run: `figures --check FOLDER`")?)
        .join("reproduce.json");
    let path = root.join(RECORDED);
    let read = |path: &Path| {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        parse(&text, path)
    };
    let (compared, found) = differences(&read(&path)?, &read(&made)?);
    if compared == 0 {
        return Err(format!(
            "{} and {} have no number in common",
            made.display(),
            path.display()
        ));
    }
    if found.is_empty() {
        println!("xtask: {compared} numbers have the verdicts on record");
        return Ok(());
    }
    Err(format!(
        "numbers have other verdicts than on record ({compared} compared):\n  {}\nif they are right, record them: `cargo xtask figures {}`",
        found.join("\n  "),
        folder.unwrap_or_default()
    ))
}

/// How many numbers two runs have in common, and those of other verdicts.
fn differences(record: &Value, run: &Value) -> (usize, Vec<String>) {
    let items = |run: &Value| run["items"].as_array().cloned().unwrap_or_default();
    let (mut compared, mut found) = (0, Vec::new());
    let before = items(record);
    for item in items(run) {
        let same = |old: &&Value| {
            ["paper", "item", "effort"].map(|key| &old[key])
                == ["paper", "item", "effort"].map(|key| &item[key])
        };
        let Some(old) = before.iter().find(same) else {
            continue;
        };
        let rows = |item: &Value| item["rows"].as_array().cloned().unwrap_or_default();
        let known = rows(old);
        for row in rows(&item) {
            let Some(old) = known.iter().find(|old| old["name"] == row["name"]) else {
                continue;
            };
            compared += 1;
            if verdict(old) != verdict(&row) {
                found.push(format!(
                    "{} {}, {}: {}, on record {}",
                    word(&item, "paper"),
                    word(&item, "item"),
                    word(&row, "name"),
                    verdict(&row),
                    verdict(old)
                ));
            }
        }
    }
    (compared, found)
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn parse(text: &str, path: &Path) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The documents with such parts: path, text, and text with the parts as they should be.
fn documents(root: &Path) -> Result<Vec<(PathBuf, String, String)>, String> {
    let path = root.join(RECORDED);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let run = parse(&text, &path)?;
    let mut paths = vec![root.join("README.md")];
    book::documents_in(&root.join("docs"), true, &mut paths);
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if text.contains(BEGIN) {
            let rendered = rewrite(&text, &run).map_err(|e| format!("{}: {e}", path.display()))?;
            found.push((path, text, rendered));
        }
    }
    Ok(found)
}

/// A document with all its parts as they should be.
fn rewrite(text: &str, run: &Value) -> Result<String, String> {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (key, after) = after.split_once(" -->").ok_or("a part has no key")?;
        let (_, after) = after
            .split_once(END)
            .ok_or_else(|| format!("the part `{key}` has no end"))?;
        written += &format!("{before}{BEGIN}{key} -->\n\n{}\n{END}", render(key, run)?);
        rest = after;
    }
    Ok(written + rest)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn verdict(value: &Value) -> &str {
    value["verdict"].as_str().unwrap_or("not computed")
}

/// A part by its key.
fn render(key: &str, run: &Value) -> Result<String, String> {
    let items = run["items"]
        .as_array()
        .ok_or("the recorded run has no items")?;
    if key == "list" {
        let rows = items.iter().map(|item| {
            format!(
                "| {} | {} | {} | {}{} |\n",
                word(item, "source"),
                word(item, "title"),
                verdict(item),
                counts(&item["counts"]),
                if word(item, "effort") == "full" {
                    " (`--full`)"
                } else {
                    ""
                }
            )
        });
        return Ok(format!(
            "| figure | shows | verdict | numbers |\n|---|---|---|---|\n{}",
            rows.collect::<String>()
        ));
    }
    let of_key = |item: &&Value| format!("{} {}", word(item, "paper"), word(item, "item")) == key;
    let item = items
        .iter()
        .find(of_key)
        .ok_or_else(|| format!("`{key}` is not recorded"))?;
    let rows = item["rows"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    // A row with a verdict and without ours: there is no such thing here.
    let none = |row: &Value| row["ours"].is_null() && row["verdict"] == "differs";
    let computed = rows
        .iter()
        .filter(|row| row["ours"].is_object() || none(row));
    let lines = computed.map(|row| {
        format!(
            "| {} | {} | {} | {} |\n",
            word(row, "name"),
            word(row, "paper"),
            estimate(&row["ours"]),
            verdict(row)
        )
    });
    let header = format!(
        "| {} | paper | ours | verdict |\n|---|---|---|---|\n",
        word(item, "title")
    );
    Ok(header + &lines.collect::<String>())
}

fn counts(counts: &Value) -> String {
    let all = [
        ("reproduced", "reproduced"),
        ("better", "better"),
        ("differs", "differ"),
        ("not_legible", "not legible"),
        ("open", "not computed"),
    ];
    let some = all.iter().filter_map(|(key, said)| {
        let count = counts[*key].as_u64().filter(|&count| count > 0)?;
        Some(format!("{count} {said}"))
    });
    some.collect::<Vec<_>>().join(", ")
}

/// A mean with its confidence interval, four digits each.
fn estimate(ours: &Value) -> String {
    if ours.is_null() {
        return "none".to_owned();
    }
    let mean = ours["mean"].as_f64().map_or_else(String::new, short);
    match ours["interval"].as_array().map(Vec::as_slice) {
        Some([low, high]) if low != high => {
            let [low, high] = [low, high].map(|end| end.as_f64().map_or_else(String::new, short));
            format!("{mean} ({low} to {high})")
        }
        _ => mean,
    }
}

fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&size) {
        return format!("{number:.1e}");
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// What is kept of a run, with what was recorded `before` of entries that it has not.
fn recorded(before: &Value, run: &Value) -> Result<String, String> {
    let pick = |value: &Value, keys: &[&str]| {
        let kept = keys
            .iter()
            .filter(|key| !value[**key].is_null() || **key == "verdict" || **key == "ours");
        let fields = kept.map(|key| ((*key).to_owned(), value[*key].clone()));
        fields.collect::<Map<String, Value>>()
    };
    let fresh = run["items"].as_array().ok_or("the run has no items")?;
    let key = |item: &Value| {
        (
            word(item, "paper").to_owned(),
            word(item, "item").to_owned(),
        )
    };
    let of = |item: &Value| {
        let mut kept = pick(item, OF_ITEM);
        let rows = item["rows"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let rows = rows.iter().map(|row| Value::Object(pick(row, OF_ROW)));
        kept.insert("rows".to_owned(), rows.collect());
        Value::Object(kept)
    };
    let mut items = before["items"].as_array().cloned().unwrap_or_default();
    for item in fresh {
        match items.iter_mut().find(|old| key(old) == key(item)) {
            Some(old) => *old = of(item),
            None => items.push(of(item)),
        }
    }
    let mut kept = Map::new();
    kept.insert("version".to_owned(), run["version"].clone());
    kept.insert("items".to_owned(), items.into());
    let text = serde_json::to_string_pretty(&Value::Object(kept)).map_err(|e| e.to_string())?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_verdicts_are_found_where_the_effort_is_the_same() {
        let run = |effort: &str, verdict: Option<&str>| {
            let rows = serde_json::json!([{"name": "a", "verdict": verdict}]);
            serde_json::json!({"items": [{"paper": "P", "item": "table-1", "effort": effort, "rows": rows}]})
        };
        let record = run("quick", Some("better"));
        assert_eq!(differences(&record, &record), (1, Vec::new()));
        let (compared, found) = differences(&record, &run("quick", None));
        assert_eq!(compared, 1);
        assert_eq!(found, ["P table-1, a: not computed, on record better"]);
        assert_eq!(differences(&record, &run("full", None)), (0, Vec::new()));
    }

    #[test]
    fn parts_are_written_from_the_run() {
        let run = serde_json::json!({"version": "1", "items": [{
            "paper": "P", "item": "table-1", "title": "a table", "source": "P Table 1", "verdict": "better",
            "counts": {"better": 1, "open": 2}, "seconds": 3.5,
            "rows": [{"name": "a", "paper": "2", "ours": {"mean": 1.5, "interval": [1.0, 2.0], "runs": 2}, "verdict": "better", "series": "s"}],
        }]});
        let before = serde_json::json!({"version": "0", "items": [
            {"paper": "P", "item": "table-1", "rows": []},
            {"paper": "P", "item": "table-2", "source": "P Table 2", "title": "another", "verdict": null, "counts": {}, "rows": []},
        ]});
        let kept: Value = serde_json::from_str(&recorded(&before, &run).unwrap()).unwrap();
        assert_eq!(kept["items"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            kept["items"][1], before["items"][1],
            "what was not made anew stays"
        );
        assert!(
            kept["items"][0]["seconds"].is_null()
                && kept["items"][0]["rows"][0]["series"].is_null()
        );
        let text = "before\n<!-- figures: P table-1 -->old<!-- figures end -->\nafter <!-- figures: list --><!-- figures end -->";
        let written = rewrite(text, &kept).unwrap();
        assert!(
            written.contains("| a | 2 | 1.5 (1 to 2) | better |"),
            "{written}"
        );
        assert!(
            written.contains("| P Table 1 | a table | better | 1 better, 2 not computed |"),
            "{written}"
        );
        // What is written is left as it is.
        assert_eq!(rewrite(&written, &kept).unwrap(), written);
        assert!(rewrite("<!-- figures: nothing --><!-- figures end -->", &kept).is_err());
    }
}

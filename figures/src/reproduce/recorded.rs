//! The verdicts that came of the last recorded run: what documents claim, and what the list shows
//! before anything is computed here.

use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::item::{Effort, Item};
use super::verdict::{Counts, Verdict};

/// Written by `cargo xtask figures` from what `switchwright reproduce --out` has made.
const RECORDED: &str = include_str!("../../reproduced.json");

/// A recorded run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recorded {
    /// The version of Switchwright.
    pub version: String,
    /// Its entries.
    pub items: Vec<RecordedItem>,
}

/// What came of an entry.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RecordedItem {
    /// The paper's key.
    pub paper: String,
    /// The name.
    pub item: String,
    /// How much was computed.
    pub effort: Effort,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Rows by verdict.
    pub counts: Counts,
    /// The rows.
    pub rows: Vec<RecordedRow>,
}

/// What came of a number.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RecordedRow {
    /// What it is.
    pub name: String,
    /// Ours.
    pub ours: Option<Estimate>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// By how much they differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub difference: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl Recorded {
    /// The run that this program was built with.
    ///
    /// # Errors
    /// A file of another form: a test reads it.
    pub fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(RECORDED)
    }

    /// What came of an entry.
    #[must_use]
    pub fn of(&self, item: &Item) -> Option<&RecordedItem> {
        let key = item.paper.key();
        let mut items = self.items.iter();
        items.find(|recorded| recorded.paper == key && recorded.item == item.name)
    }
}

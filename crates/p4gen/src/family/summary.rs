//! What a report page tells of a plan's tables, in the form in which every family tells it.

use std::collections::BTreeMap;

use plan::check::Resilience;
use plan::{CheckedPlan, RuleCounts, SwitchHeadroom};
use quantities::Bytes;
use serde::Serialize;
use topology::SwitchId;

use crate::entries::SwitchEntries;

/// What a summary is made of.
pub struct Source<'a> {
    /// The plan.
    pub plan: &'a CheckedPlan,
    /// What every switch holds, in topology order.
    pub switches: &'a [SwitchReport],
    /// What the check tried of failures.
    pub resilience: &'a Resilience,
    /// The version that packets are stamped with.
    pub version: u8,
    /// The platform whose maps take the place of tag rules, if they do.
    pub maps: Option<&'static sonic::Platform>,
}

/// What a report page tells.
#[derive(Default)]
pub struct Summary {
    /// What was proven, a sentence each.
    pub proof: Vec<String>,
    /// The family's own figures, with what they count.
    pub figures: Vec<(u64, &'static str)>,
    /// Sections of the page, in order.
    pub sections: Vec<Section>,
}

/// A section of a report page.
#[derive(Default)]
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// Its first paragraph.
    pub text: String,
    /// Headings of the columns of its table; none where it has no table.
    pub columns: Vec<&'static str>,
    /// Rows of the table.
    pub rows: Vec<Vec<String>>,
    /// Whether its cells are words, not figures.
    pub words: bool,
}

/// What one switch holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchReport {
    /// The switch.
    pub name: String,
    /// Its layer, counted from the hosts.
    pub layer: Option<u8>,
    /// Its tag rules.
    pub rules: RuleCounts,
    /// Its entries, by table.
    pub tables: BTreeMap<String, u64>,
    /// Members of its action selector.
    pub members: u64,
    /// Groups of its action selector.
    pub groups: u64,
    /// What its lossless priorities cost.
    pub headroom: SwitchHeadroom,
}

impl SwitchReport {
    /// What a switch holds, from its entries.
    pub(crate) fn new(plan: &CheckedPlan, switch: SwitchId, entries: &SwitchEntries) -> Self {
        let described = plan.topology().switch(switch);
        let mut tables: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in &entries.tables {
            *tables.entry(&entry.table).or_insert(0) += 1;
        }
        let named = tables
            .into_iter()
            .map(|(table, count)| (table.to_owned(), count));
        let tables = named.collect();
        Self {
            name: described.name.clone(),
            layer: described.layer,
            rules: plan.counts(switch),
            tables,
            members: entries.members.len() as u64,
            groups: entries.groups.len() as u64,
            headroom: plan.headroom(switch),
        }
    }

    /// Table entries, members and groups together.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.tables.values().sum::<u64>() + self.members + self.groups
    }
}

/// The switches of every layer under its name; where there are no layers, all under one.
pub(crate) fn by_layer(all: &[SwitchReport]) -> Vec<(String, Vec<&SwitchReport>)> {
    let mut layers: BTreeMap<Option<u8>, Vec<&SwitchReport>> = BTreeMap::new();
    for switch in all {
        layers.entry(switch.layer).or_default().push(switch);
    }
    let top = all.iter().filter_map(|s| s.layer).max();
    layers
        .into_iter()
        .map(|(layer, switches)| (layer_name(layer, top), switches))
        .collect()
}

/// The lowest and the highest of a figure, as text.
pub(crate) fn range(
    switches: &[&SwitchReport],
    of: &dyn Fn(&SwitchReport) -> u64,
    show: fn(u64) -> String,
) -> String {
    let low = switches.iter().map(|s| of(s)).min().unwrap_or(0);
    let high = switches.iter().map(|s| of(s)).max().unwrap_or(0);
    if low == high {
        show(low)
    } else {
        format!("{} to {}", show(low), show(high))
    }
}

fn layer_name(layer: Option<u8>, top: Option<u8>) -> String {
    match layer {
        None => "all".to_owned(),
        Some(0) => "layer 0 (hosts)".to_owned(),
        layer if layer == top => format!("layer {} (top)", top.unwrap_or(0)),
        Some(layer) => format!("layer {layer}"),
    }
}

/// A number with thin spaces between its thousands.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes; from 10 KiB on in KiB or MiB.
pub(crate) fn bytes(value: u64) -> String {
    Bytes::new(value).rounded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(bytes(21_968), "21.4 KiB");
        assert_eq!(bytes(12 << 20), "12.0 MiB");
    }
}

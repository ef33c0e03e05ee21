//! How many entries the tables of a program hold.

use std::collections::BTreeMap;

use entries::SwitchEntries;

use super::{Layout, VERSION_KEY};

/// How many entries a switch puts into each table, and members into the action selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSizes {
    tables: BTreeMap<String, u32>,
    /// Members of the action selector, over all groups.
    pub members: u32,
    /// Members of its largest group.
    pub group_members: u32,
}

impl TableSizes {
    /// How many entries of a switch each table gets, and the action selector members.
    #[must_use]
    pub fn needed(entries: &SwitchEntries) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let largest = entries.groups.iter().map(|g| g.members.len()).max();
        let mut sizes = Self {
            members: number(entries.members.len()),
            group_members: number(largest.unwrap_or(0)),
            ..Self::default()
        };
        for entry in &entries.tables {
            sizes.add(&entry.table);
        }
        sizes
    }

    /// One entry more in this table.
    pub fn add(&mut self, table: &str) {
        let count = self.tables.entry(table.to_owned()).or_default();
        *count = count.saturating_add(1);
    }

    /// The entries of this table; 0 where nothing is known of it.
    #[must_use]
    pub fn of(&self, table: &str) -> u32 {
        self.tables.get(table).copied().unwrap_or(0)
    }

    /// The larger of both, table by table.
    #[must_use]
    pub fn max(mut self, other: Self) -> Self {
        for (table, count) in other.tables {
            let own = self.tables.entry(table).or_default();
            *own = count.max(*own);
        }
        Self {
            members: self.members.max(other.members),
            group_members: self.group_members.max(other.group_members),
            ..self
        }
    }
}

impl<const N: usize> From<[(&str, u32); N]> for TableSizes {
    fn from(sizes: [(&str, u32); N]) -> Self {
        let tables = sizes.map(|(table, size)| (table.to_owned(), size));
        Self {
            tables: tables.into(),
            ..Self::default()
        }
    }
}

impl Layout {
    /// Makes tables as large as these entries need: powers of two, none smaller than it is. A table
    /// whose key has a version holds the entries of two plans side by side.
    #[must_use]
    pub fn holding(mut self, need: &TableSizes) -> Self {
        let up = |need: u32, floor: u32| {
            let power = need.checked_next_power_of_two();
            power.unwrap_or(need).max(floor)
        };
        for table in &mut self.tables {
            let versions = if table.field(VERSION_KEY).is_some() {
                2
            } else {
                1
            };
            let entries = need.of(table.name).saturating_mul(versions);
            table.size = up(entries, table.size);
        }
        self.selector_size = up(need.members, self.selector_size);
        self.group_members = up(need.group_members, self.group_members);
        self
    }
}

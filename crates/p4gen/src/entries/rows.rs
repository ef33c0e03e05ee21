//! Entries as rows of text: what people read and filter, and what spreadsheets take (CSV).

use serde::Serialize;
use topology::SwitchId;

use super::notation::Notation;
use super::{
    Bits, EntryAction, FieldMatch, GroupId, Key, MemberId, NamedAction, NamedCall, Replica,
    SwitchEntries, value_text,
};

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// An entry of a table.
    Entry,
    /// What a table does with packets that match no entry.
    Default,
    /// A member of an action profile.
    Member,
    /// A group of an action selector.
    Group,
    /// A multicast group.
    Multicast,
    /// A clone session.
    Clone,
}

/// One entry in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name of the switch.
    pub switch: String,
    /// What it is.
    pub kind: RowKind,
    /// Its table or action profile; empty for multicast groups and clone sessions.
    pub table: String,
    /// `field=value`, joined by spaces; keys that are left out match everything. The id where there
    /// are no keys.
    #[serde(rename = "match")]
    pub matches: String,
    /// The largest wins; nothing where the table has no priorities.
    pub priority: Option<i32>,
    /// Name of the action, `member` or `group`; empty for what has only copies or members.
    pub action: String,
    /// `parameter=value`, joined by spaces; the ids of members, or the copies as `port/instance`.
    pub parameters: String,
}

impl Row {
    /// The names of the columns, in the order of [`Row::cells`].
    pub const COLUMNS: [&'static str; 7] = [
        "switch",
        "kind",
        "table",
        "match",
        "priority",
        "action",
        "parameters",
    ];

    /// The columns as text.
    #[must_use]
    pub fn cells(&self) -> [String; 7] {
        [
            self.switch.clone(),
            self.kind.name().to_owned(),
            self.table.clone(),
            self.matches.clone(),
            self.priority
                .map_or_else(String::new, |priority| priority.to_string()),
            self.action.clone(),
            self.parameters.clone(),
        ]
    }
}

impl RowKind {
    /// Its name in a cell.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Default => "default",
            Self::Member => "member",
            Self::Group => "group",
            Self::Multicast => "multicast",
            Self::Clone => "clone",
        }
    }
}

/// All that a switch gets: entries of tables, members, groups, multicast groups, clone sessions, in
/// this order. Values are written so that programs can read them: ports and bitmaps as numbers.
#[must_use]
pub fn rows(entries: &SwitchEntries) -> Vec<Row> {
    written(entries, &Values::Numbers)
}

/// The same rows for people: ports with their names, bitmaps of ports as lists, addresses as
/// addresses. `switch` is the number of the switch in the plan's topology.
#[must_use]
pub fn rows_for_people(
    entries: &SwitchEntries,
    switch: SwitchId,
    notation: &Notation<'_>,
) -> Vec<Row> {
    written(entries, &Values::People(switch, notation))
}

/// How values are written.
enum Values<'a> {
    /// As numbers and, by their width, as addresses.
    Numbers,
    /// By what they stand for at a switch.
    People(SwitchId, &'a Notation<'a>),
}

fn written(entries: &SwitchEntries, values: &Values<'_>) -> Vec<Row> {
    let row = |kind, table: &str, matches: String| Row {
        switch: entries.switch.clone(),
        kind,
        table: table.to_owned(),
        matches,
        priority: None,
        action: String::new(),
        parameters: String::new(),
    };
    let tables = entries.tables.iter().map(|entry| {
        let kind = match entry.is_default {
            true => RowKind::Default,
            false => RowKind::Entry,
        };
        let (action, parameters) = values.action(&entry.action);
        let keys = entry.keys.iter().map(|key| values.key(&entry.table, key));
        Row {
            priority: entry.priority,
            action,
            parameters,
            ..row(kind, &entry.table, values.joined(keys))
        }
    });
    let members = entries.members.iter().map(|member| Row {
        action: member.action.action.to_string(),
        parameters: values.arguments(&member.action),
        ..row(RowKind::Member, &member.profile, member.id.to_string())
    });
    let groups = entries.groups.iter().map(|group| Row {
        parameters: values.joined(group.members.iter().map(u32::to_string)),
        ..row(RowKind::Group, &group.profile, group.id.to_string())
    });
    let multicast = entries.multicast_groups.iter().map(|group| Row {
        parameters: values.copies(&group.replicas),
        ..row(RowKind::Multicast, "", group.id.to_string())
    });
    let clones = entries.clone_sessions.iter().map(|(id, session)| Row {
        parameters: values.copies(&session.replicas),
        ..row(RowKind::Clone, "", id.to_string())
    });
    let rest = members.chain(groups).chain(multicast).chain(clones);
    tables.chain(rest).collect()
}

impl Values<'_> {
    /// Words of a cell. Names of ports hold spaces, so that commas stand between words for people.
    fn joined(&self, words: impl Iterator<Item = String>) -> String {
        let between = match self {
            Self::Numbers => " ",
            Self::People(..) => ", ",
        };
        words.collect::<Vec<_>>().join(between)
    }

    /// A key as P4 writes sets of values: `value`, `value/length`, `value&&&mask`, `low..high`.
    fn key(&self, table: &str, key: &Key) -> String {
        let value = match (self, &key.value) {
            (Self::People(switch, notation), value) => {
                notation.matched(*switch, table, &key.field, value)
            }
            (_, FieldMatch::Exact(value) | FieldMatch::Optional(Some(value))) => text(value),
            (_, FieldMatch::Lpm { value, prefix_len }) => {
                format!("{}/{prefix_len}", text(value))
            }
            (_, FieldMatch::Ternary { value, mask }) => format!(
                "{}&&&{}",
                value_text::hexadecimal(value),
                value_text::hexadecimal(mask)
            ),
            (_, FieldMatch::Range { low, high }) => format!("{}..{}", text(low), text(high)),
            (_, FieldMatch::Optional(None)) => "*".to_owned(),
        };
        format!("{}={value}", key.field)
    }

    fn action(&self, action: &NamedAction) -> (String, String) {
        match action {
            EntryAction::Call(call) => (call.action.to_string(), self.arguments(call)),
            EntryAction::Member(MemberId(id)) => ("member".to_owned(), id.to_string()),
            EntryAction::Group(GroupId(id)) => ("group".to_owned(), id.to_string()),
            EntryAction::OneShot(never) => match *never {},
        }
    }

    fn arguments(&self, call: &NamedCall) -> String {
        let argument = |(name, value): &(super::Name, Bits)| {
            let value = match self {
                Self::People(switch, notation) => notation.parameter(*switch, name, value),
                Self::Numbers => text(value),
            };
            format!("{name}={value}")
        };
        self.joined(call.params.iter().map(argument))
    }

    fn copies(&self, replicas: &[Replica]) -> String {
        let copy = |copy: &Replica| format!("{}/{}", copy.port, copy.rid);
        self.joined(replicas.iter().map(copy))
    }
}

fn text(bits: &Bits) -> String {
    value_text::address(bits).unwrap_or_else(|| value_text::decimal(bits))
}

//! What one switch gets, by names and with widths; independent of any format.

use std::borrow::Cow;

use p4runtime::Bits;
use quantities::PortId;

use crate::layout::TableSizes;

/// A control-plane name, as in P4Info. Static where the layout of our own programs gives it.
pub type Name = Cow<'static, str>;

/// Everything that the control plane installs in one switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchEntries {
    /// Name of the switch.
    pub switch: String,
    /// Members of action profiles; per profile numbered 1, 2, 3, ... in order.
    pub members: Vec<Member>,
    /// Groups of action selectors; per selector numbered 1, 2, 3, ... in order.
    pub groups: Vec<Group>,
    /// Entries of tables.
    pub tables: Vec<TableEntry>,
    /// Multicast groups.
    pub multicast_groups: Vec<MulticastGroup>,
    /// Clone sessions.
    pub clone_sessions: Vec<CloneSession>,
}

impl SwitchEntries {
    /// How many entries each table gets, and the action selector members.
    #[must_use]
    pub fn sizes(&self) -> TableSizes {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let largest = self.groups.iter().map(|g| g.members.len()).max();
        let mut sizes = TableSizes::default();
        sizes.members = number(self.members.len());
        sizes.group_members = number(largest.unwrap_or(0));
        for entry in &self.tables {
            sizes.add(&entry.table);
        }
        sizes
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Name of the table.
    pub table: Name,
    /// Values of the keys; one that is left out matches everything.
    pub keys: Vec<Key>,
    /// The largest wins; only where a key is ternary, range or optional, and then at least 1.
    pub priority: Option<i32>,
    /// What happens to packets that match.
    pub action: EntryAction,
    /// Whether this is the table's default: what happens to packets that match nothing.
    pub is_default: bool,
}

/// A key of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the match field.
    pub field: Name,
    /// What it matches.
    pub value: MatchValue,
}

/// What a key matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchValue {
    /// This value.
    Exact(Bits),
    /// Values with these first bits.
    Lpm {
        /// Zero after the prefix.
        value: Bits,
        /// At least 1: with 0 the key is left out.
        prefix_len: u32,
    },
    /// Values that agree in the bits of the mask.
    Ternary {
        /// Zero outside the mask.
        value: Bits,
        /// Not zero: with no bit set the key is left out.
        mask: Bits,
    },
    /// Values between the two, both included.
    Range {
        /// The first.
        low: Bits,
        /// The last.
        high: Bits,
    },
    /// This value, where the table lets the key be left out.
    Optional(Bits),
}

impl MatchValue {
    /// The match kind in the words of P4.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Lpm { .. } => "lpm",
            Self::Ternary { .. } => "ternary",
            Self::Range { .. } => "range",
            Self::Optional(_) => "optional",
        }
    }

    /// A ternary value, brought to its normal form; `None` where no bit counts.
    #[must_use]
    pub fn ternary(value: &Bits, mask: Bits) -> Option<Self> {
        (!mask.is_zero()).then(|| Self::Ternary {
            value: value.masked(&mask),
            mask,
        })
    }

    /// A range; `None` where it has every value.
    #[must_use]
    pub fn range(low: Bits, high: Bits) -> Option<Self> {
        let everything = low.is_zero() && high == Bits::ones(high.width());
        (!everything).then_some(Self::Range { low, high })
    }

    /// A prefix, brought to its normal form; `None` where no bit counts.
    #[must_use]
    pub fn lpm(value: Bits, prefix_len: u32) -> Option<Self> {
        (prefix_len > 0).then(|| Self::Lpm {
            value: value.truncated(prefix_len),
            prefix_len,
        })
    }
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// An action with its arguments.
    Direct(ActionCall),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
}

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Name of the action.
    pub action: Name,
    /// Parameters by name, with their values.
    pub params: Vec<(Name, Bits)>,
}

impl ActionCall {
    /// A call without arguments.
    #[must_use]
    pub fn bare(action: impl Into<Name>) -> Self {
        Self {
            action: action.into(),
            params: Vec::new(),
        }
    }
}

/// A member of an action profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the profile.
    pub profile: Name,
    /// Counts from 1 in the profile.
    pub id: u32,
    /// What it does.
    pub action: ActionCall,
}

/// A group of an action selector: a packet's hash picks one of the members, each as likely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the selector.
    pub profile: Name,
    /// Counts from 1 in the selector.
    pub id: u32,
    /// Ids of the members, each once.
    pub members: Vec<u32>,
}

/// Where copies of a multicast packet go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastGroup {
    /// 1 to 32767.
    pub id: u32,
    /// The copies.
    pub replicas: Vec<Replica>,
}

/// Where clones go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneSession {
    /// 1 to 32767.
    pub id: u32,
    /// The copies.
    pub replicas: Vec<Replica>,
    /// Longer clones are cut to so many bytes; 0 does not cut.
    pub packet_length_bytes: u16,
}

/// One copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replica {
    /// Tells copies to one port apart in egress.
    pub instance: u16,
    /// The port that it leaves by.
    pub port: PortId,
}

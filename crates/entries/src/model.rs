//! What one switch gets, by names and with widths; independent of any format.

use std::borrow::Cow;
use std::convert::Infallible;

use p4exec::state::{CloneSession, Replica};
use p4exec::tables::{EntryAction, FieldMatch};
use p4exec::value::Bits;

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
    /// Clone sessions with their ids, 1 to 32767.
    pub clone_sessions: Vec<(u32, CloneSession)>,
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
    pub action: NamedAction,
    /// Whether this is the table's default: what happens to packets that match nothing.
    pub is_default: bool,
}

/// What an entry does, by name. Files of entries have no one-shot sets.
pub type NamedAction = EntryAction<NamedCall, Infallible>;

/// A key of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the match field.
    pub field: Name,
    /// What it matches.
    pub value: FieldMatch,
}

/// An action with its arguments, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCall {
    /// Name of the action.
    pub action: Name,
    /// Parameters by name, with their values.
    pub params: Vec<(Name, Bits)>,
}

impl From<NamedCall> for NamedAction {
    fn from(call: NamedCall) -> Self {
        Self::Call(call)
    }
}

impl NamedCall {
    /// A call with arguments.
    #[must_use]
    pub fn new<const N: usize>(action: impl Into<Name>, params: [(&'static str, Bits); N]) -> Self {
        let params = params.map(|(name, value)| (name.into(), value));
        Self {
            action: action.into(),
            params: params.into(),
        }
    }

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
    pub action: NamedCall,
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

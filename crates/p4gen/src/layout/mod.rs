//! The layout of the generated programs' tables: the one definition of names, ids, key fields and
//! widths that the program text and the table entries share.
//!
//! A family says what tables its programs have; its text and its entries meet here. The ids of
//! `layout.p4`, which every program includes, are rendered from [`ids`]; tests hold layouts against
//! the P4Info of the rendered programs.

pub(crate) mod ids;
mod meaning;
mod names;
mod sizes;

pub use entries::MatchKind;
use plan::ClassId;
use serde::Serialize;

pub use meaning::Meaning;
pub use names::{
    DROP_COUNTER, DropReason, ECMP_PROFILE, ECMP_SELECTOR, EGRESS_CLASS_COUNTER,
    INGRESS_CLASS_COUNTER, PORTS_UP, action, profile_of, selector_of, table,
};
pub use sizes::TableSizes;

/// Width of a port number, in bits (v1model and TNA).
pub const PORT_BITS: u16 = 9;
/// Width of a priority, in bits (IEEE 802.1Qbb: eight classes).
pub const PRIORITY_BITS: u16 = 3;
/// Width of an ECMP group number, in bits. Group 0 means "no group".
pub const ECMP_GROUP_BITS: u16 = 16;
/// The greatest `hash_shift` of the `ecmp` action: the flow hash has 32 bits, of which 16 are used.
pub const HASH_SHIFT_MAX: u8 = 16;
/// The most ports that a one-hot bitmap may stand for (port numbers 0 to 253). The shift that makes
/// the bitmap takes 8 bits on BMv2, and the numbers that are no port (510: CPU, 511: drop) must
/// fall outside.
pub const BITMAP_BITS_MAX: u16 = 254;
/// Bits of a cell of the register of the port status on Tofino.
pub const STATUS_WORD_BITS: u16 = 32;
/// The most ports that the status stands for there: two registers.
pub const STATUS_BITS_MAX: u16 = 2 * STATUS_WORD_BITS;
/// The key field of the version that entries belong to.
pub const VERSION_KEY: &str = "version";
/// The key field of the lossless channel that a rule has just given a packet; 0 if none has.
pub const CHANNEL_KEY: &str = "channel";

/// Bytes of the fabric's own header, without the hops of routes.
pub const SHIM_BYTES: u16 = 14;

/// The DSCP with which a host picks a lossless class where the carrier is not the DSCP itself:
/// class 0 is 26, class 1 is 28, and so on, as [`plan::usual_dscps`] lists them. (Where it is,
/// hosts send the code of the class's initial tag.)
#[must_use]
pub fn edge_dscp(class: ClassId) -> u8 {
    let usual = plan::usual_dscps().nth(class.index());
    usual
        .and_then(|dscp| u8::try_from(dscp).ok())
        .unwrap_or(u8::MAX)
}

/// A field of a table's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeyField {
    /// Name in P4Info.
    pub name: &'static str,
    /// Id within the table.
    pub id: u32,
    /// How it is matched.
    pub kind: MatchKind,
    /// Width, in bits.
    pub bits: u16,
}

/// A parameter of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Name in P4Info.
    pub name: &'static str,
    /// Id within the action.
    pub id: u32,
    /// Width, in bits.
    pub bits: u16,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// Full name.
    pub name: &'static str,
    /// P4Runtime id.
    pub id: u32,
    /// Parameters, in order.
    pub params: Vec<Param>,
}

impl Action {
    /// An action with parameters of these names and widths, numbered from 1.
    pub(crate) fn new(
        name: &'static str,
        params: impl IntoIterator<Item = (&'static str, u16)>,
    ) -> Self {
        let param = |(id, (name, bits))| Param { name, id, bits };
        Self {
            name,
            id: ids::of_action(name),
            params: (1..).zip(params).map(param).collect(),
        }
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Full name.
    pub name: &'static str,
    /// P4Runtime id.
    pub id: u32,
    /// Key fields in the order of the program text; the selector's hash input is not among them.
    pub key: Vec<KeyField>,
    /// Actions that entries may have. The default action (`const`) is among them only where entries
    /// use it too.
    pub actions: Vec<&'static str>,
    /// Most entries.
    pub size: u32,
    /// The action selector, if the actions are its members.
    pub selector: Option<&'static str>,
}

impl Table {
    /// A table with these key fields.
    pub(crate) fn new(
        name: &'static str,
        key: Vec<KeyField>,
        actions: impl IntoIterator<Item = &'static str>,
        size: u32,
    ) -> Self {
        Self {
            name,
            id: ids::of_table(name),
            key,
            actions: actions.into_iter().collect(),
            size,
            selector: None,
        }
    }

    /// Whether entries have a priority (P4Runtime: any ternary, range or optional key field).
    #[must_use]
    pub fn has_priority(&self) -> bool {
        self.key.iter().any(|f| f.kind == MatchKind::Ternary)
    }

    /// A key field by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&KeyField> {
        self.key.iter().find(|f| f.name == name)
    }
}

/// The tables and actions of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// The tables, in id order.
    pub tables: Vec<Table>,
    /// The actions, in id order.
    pub actions: Vec<Action>,
    /// Id of [`ECMP_SELECTOR`]; 0 in a program that has none.
    pub selector_id: u32,
    /// Most members of the selector, over all groups.
    pub selector_size: u32,
    /// Most members of one group.
    pub group_members: u32,
}

impl Layout {
    /// The layout with these tables and actions, and no selector.
    pub(crate) fn new(mut tables: Vec<Table>, mut actions: Vec<Action>) -> Self {
        tables.sort_by_key(|t| t.id);
        actions.sort_by_key(|a| a.id);
        Self {
            tables,
            actions,
            ..Self::default()
        }
    }

    /// A table by its full name (constants in [`table`]).
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// An action by its full name (constants in [`action`]).
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|a| a.name == name)
    }

    /// The most entries of a table; 0 for one that is not there.
    #[must_use]
    pub fn size(&self, table: &str) -> u32 {
        self.table(table).map_or(0, |t| t.size)
    }
}

pub(crate) const fn exact(id: u32, name: &'static str, bits: u16) -> KeyField {
    field(id, name, MatchKind::Exact, bits)
}

pub(crate) const fn ternary(id: u32, name: &'static str, bits: u16) -> KeyField {
    field(id, name, MatchKind::Ternary, bits)
}

pub(crate) const fn field(id: u32, name: &'static str, kind: MatchKind, bits: u16) -> KeyField {
    KeyField {
        name,
        id,
        kind,
        bits,
    }
}

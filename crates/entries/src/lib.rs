//! Entries of P4 tables: one model of what a control plane installs in a switch, and one check of
//! it against a program.
//!
//! [`SwitchEntries`] says by names what a switch gets. A [`Catalog`] says what a program (or its
//! P4Info) has: names, ids, widths, match kinds, which action stands where. [`resolve`] puts both
//! together and gives the [`Update`]s of the executor, or the first [`EntryError`]: what is wrong,
//! in which entry, and how to mend it.
//!
//! | user | what it does here |
//! |---|---|
//! | `p4gen` | makes [`SwitchEntries`] of a plan, reads and writes them in every format |
//! | `simulator` | installs them in the switches of a network: [`resolve`] |
//! | `stf` | installs the entries of case files, one by one: [`Catalog::resolve_entry`] |
//! | `switchd` | reads and writes entries of P4Runtime, by the same rules: [`message`], [`check`] |
//!
//! A wrong entry is refused in the same words by all of them.
//!
//! ```
//! use entries::{Bits, FieldMatch, Key, NamedCall, SwitchEntries, TableEntry};
//!
//! let source = r#"
//!     #include <core.p4>
//!     #include <v1model.p4>
//!     header ipv4_t { bit<32> dst; }
//!     struct headers_t { ipv4_t ipv4; }
//!     struct meta_t {}
//!     parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
//!         state start { p.extract(h.ipv4); transition accept; }
//!     }
//!     control V(inout headers_t h, inout meta_t m) { apply {} }
//!     control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
//!         action to(bit<9> port) { s.egress_spec = port; }
//!         table routes { key = { h.ipv4.dst: lpm; } actions = { to; } }
//!         apply { routes.apply(); }
//!     }
//!     control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
//!     control D(packet_out p, in headers_t h) { apply { p.emit(h.ipv4); } }
//!     V1Switch(P(), V(), I(), E(), V(), D()) main;
//! "#;
//! let mut files = p4front::source::SourceMap::new();
//! let file = files.add("routes.p4", source).expect("it is small");
//! let compiled = p4front::compile(&mut files, file, &p4front::Options::default());
//! let program = compiled.expect("it is P4").ir;
//!
//! let dst = FieldMatch::lpm(&Bits::from_u64(32, 0x0a00_0000), 8).expect("8 bits matter");
//! let mut entries = SwitchEntries {
//!     switch: "s1".to_owned(),
//!     tables: vec![TableEntry {
//!         table: "I.routes".into(),
//!         keys: vec![Key { field: "h.ipv4.dst".into(), value: dst }],
//!         priority: None,
//!         action: NamedCall::new("I.to", [("port", Bits::from_u64(9, 3))]).into(),
//!         is_default: false,
//!     }],
//!     ..SwitchEntries::default()
//! };
//! assert_eq!(entries::resolve(&program, &entries)?.len(), 1);
//!
//! entries.tables[0].priority = Some(7);
//! assert_eq!(
//!     entries::resolve(&program, &entries).unwrap_err().to_string(),
//!     "s1, entry 0 (I.routes): the table has only exact and LPM match fields; leave out the \
//!      priority 7"
//! );
//! # Ok::<(), entries::EntryError>(())
//! ```
//!
//! [`Update`]: p4exec::Update

mod bytestring;
pub mod catalog;
pub mod check;
pub mod message;
mod model;
mod problem;
mod resolve;

pub use bytestring::Bytestring;
pub use catalog::Catalog;
pub use model::{
    Group, Key, Member, MulticastGroup, Name, NamedAction, NamedCall, SwitchEntries, TableEntry,
};
pub use p4exec::state::{CloneSession, Replica};
pub use p4exec::tables::{EntryAction, FieldMatch, GroupId, MemberId};
pub use p4exec::value::Bits;
pub use p4ir::MatchKind;
pub use problem::{EntryError, Problem};
pub use resolve::{
    MAX_REPLICATION_ID, Resolved, ResolvedCall, ResolvedMember, ResolvedSwitch, entry_place,
    resolve,
};

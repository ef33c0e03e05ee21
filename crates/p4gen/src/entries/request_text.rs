//! A `p4.v1.WriteRequest` in text format, an update a line, written straight from the entries: a
//! large network has millions of updates, for which messages with descriptions of themselves take
//! far longer than everything else in a build.
//!
//! What is written here is what the C++ tools print of the same message in their one-line form.
//! Tests hold it against the message that [`write`](super::write_request::write) makes.

use entries::{Bits, Catalog, Resolved, ResolvedCall};
use p4runtime::{P4InfoIndex, bytestring};

use super::{
    EntriesError, EntryAction, FieldMatch, Group, GroupId, MemberId, Replica, SwitchEntries,
    packet_length,
};

/// What says of which schema the text is.
const HEAD: &str = "# proto-file: p4/v1/p4runtime.proto\n# proto-message: p4.v1.WriteRequest\n\n";
/// Bytes of a line, about.
const LINE: usize = 256;

/// The message as text.
///
/// # Errors
/// [`EntriesError`] for entries that do not fit the program.
pub(super) fn write(entries: &SwitchEntries, info: &P4InfoIndex) -> Result<String, EntriesError> {
    let catalog = Catalog::of_p4info(info.info());
    let resolved = catalog.resolve(entries)?;
    let updates = entries.tables.len() + entries.members.len() + entries.groups.len();
    let mut out = Text(String::with_capacity(HEAD.len() + LINE * updates));
    out.0.push_str(HEAD);
    for member in &resolved.members {
        out.update("INSERT", "action_profile_member", |out| {
            out.number("action_profile_id", member.profile.id);
            out.number("member_id", member.id);
            out.within("action", |out| out.call(&member.call));
        });
    }
    for (group, profile) in entries.groups.iter().zip(&resolved.groups) {
        out.update("INSERT", "action_profile_group", |out| {
            out.group(profile.id, group);
        });
    }
    for entry in &resolved.tables {
        let kind = if entry.is_default { "MODIFY" } else { "INSERT" };
        out.update(kind, "table_entry", |out| out.table_entry(entry));
    }
    for group in &entries.multicast_groups {
        out.replication("multicast_group_entry", |out| {
            out.number("multicast_group_id", group.id);
            out.replicas(&group.replicas);
        });
    }
    for (id, session) in &entries.clone_sessions {
        let cut = packet_length(&entries.switch, *id, session)?;
        out.replication("clone_session_entry", |out| {
            out.number("session_id", *id);
            out.replicas(&session.replicas);
            out.number("packet_length_bytes", cut.into());
        });
    }
    Ok(out.0)
}

/// Text under construction. Fields with their default value are left out, as proto3 has it.
struct Text(String);

impl Text {
    fn update(&mut self, kind: &str, entity: &str, content: impl FnOnce(&mut Self)) {
        self.0.push_str("updates { type: ");
        self.0.push_str(kind);
        self.0.push(' ');
        self.within("entity", |out| out.within(entity, content));
        self.0.push_str("}\n");
    }

    fn replication(&mut self, entry: &str, content: impl FnOnce(&mut Self)) {
        self.update("INSERT", "packet_replication_engine_entry", |out| {
            out.within(entry, content);
        });
    }

    /// A message in a field.
    fn within(&mut self, field: &str, content: impl FnOnce(&mut Self)) {
        self.0.push_str(field);
        self.0.push_str(" { ");
        content(self);
        self.0.push_str("} ");
    }

    fn number(&mut self, field: &str, value: u32) {
        if value == 0 {
            return;
        }
        self.0.push_str(field);
        self.0.push_str(": ");
        let mut digits = [0; 10];
        let mut first = digits.len();
        let mut rest = value;
        while rest > 0 {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.0
            .extend(digits[first..].iter().map(|&digit| char::from(digit)));
        self.0.push(' ');
    }

    /// A byte string, in canonical form.
    fn bytes(&mut self, field: &str, bytes: &[u8]) {
        self.0.push_str(field);
        self.0.push_str(": ");
        p4runtime::write_escaped(&mut self.0, bytestring::canonical(bytes));
        self.0.push(' ');
    }

    fn value(&mut self, field: &str, value: &Bits) {
        self.bytes(field, &value.to_bytes_be());
    }

    fn call(&mut self, call: &ResolvedCall<'_>) {
        self.number("action_id", call.action.id);
        for (param, value) in call.params() {
            self.within("params", |out| {
                out.number("param_id", param.id);
                out.value("value", value);
            });
        }
    }

    fn group(&mut self, profile: u32, group: &Group) {
        self.number("action_profile_id", profile);
        self.number("group_id", group.id);
        for &member in &group.members {
            self.within("members", |out| {
                out.number("member_id", member);
                out.number("weight", 1);
            });
        }
    }

    fn table_entry(&mut self, entry: &Resolved<'_>) {
        self.number("table_id", entry.table.id);
        for (field, value) in entry.matches() {
            let Some(value) = value else { continue };
            self.within("match", |out| {
                out.number("field_id", field.id);
                out.within(value.kind().name(), |out| out.match_value(value));
            });
        }
        self.within("action", |out| match &entry.action {
            EntryAction::Call(call) => out.within("action", |out| out.call(call)),
            EntryAction::Member(MemberId(id)) => out.number("action_profile_member_id", *id),
            EntryAction::Group(GroupId(id)) => out.number("action_profile_group_id", *id),
            EntryAction::OneShot(never) => match *never {},
        });
        // Never negative: entries have been checked.
        self.number("priority", entry.priority.unsigned_abs());
        if entry.is_default {
            self.0.push_str("is_default_action: true ");
        }
    }

    fn match_value(&mut self, value: &FieldMatch) {
        match value {
            FieldMatch::Exact(value) | FieldMatch::Optional(Some(value)) => {
                self.value("value", value)
            }
            FieldMatch::Lpm { value, prefix_len } => {
                self.value("value", value);
                self.number("prefix_len", *prefix_len);
            }
            FieldMatch::Ternary { value, mask } => {
                self.value("value", value);
                self.value("mask", mask);
            }
            FieldMatch::Range { low, high } => {
                self.value("low", low);
                self.value("high", high);
            }
            FieldMatch::Optional(None) => {}
        }
    }

    fn replicas(&mut self, replicas: &[Replica]) {
        for replica in replicas {
            self.within("replicas", |out| {
                out.number("instance", replica.rid.into());
                out.bytes("port", &replica.port.get().to_be_bytes());
            });
        }
    }
}

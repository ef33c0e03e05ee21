//! `pvs_*` and `show_pvs`: parser value sets. simple_switch_CLI gives all fields of a member as one
//! number, the first field in its highest bits; P4Runtime has one match per field.

use entries::catalog::match_kind;
use entries::{Bits, Bytestring as _, FieldMatch, MatchKind, message};
use num_bigint::BigUint;
use p4runtime::p4::config::v1::{MatchField, ValueSet};
use p4runtime::p4::v1::{self, entity::Entity, field_match, update};

use super::{Outcome, Session, help};

impl Session {
    pub(super) fn value_sets(&mut self, command: &str, words: &[&str]) -> Outcome {
        match (command, words) {
            ("show_pvs", []) => Ok(self
                .info()?
                .info()
                .value_sets
                .iter()
                .map(describe)
                .collect()),
            ("pvs_get", [name]) => {
                let set = self.value_set(name)?;
                let members = self.members_of(&set)?;
                let value = |member: &v1::ValueSetMember| format!("{}\n", text_of(&set, member));
                Ok(members.iter().map(value).collect())
            }
            ("pvs_add", [name, value]) => {
                let set = self.value_set(name)?;
                let (member, mut members) = (member(&set, value)?, self.members_of(&set)?);
                // As in BMv2, a value that is there already is no error.
                if !members.contains(&member) {
                    members.push(member);
                    self.set_members(&set, members)?;
                }
                Ok(format!("{value} is in {name}"))
            }
            ("pvs_remove", [name, value]) => {
                let set = self.value_set(name)?;
                let (member, mut members) = (member(&set, value)?, self.members_of(&set)?);
                members.retain(|there| *there != member);
                self.set_members(&set, members)?;
                Ok(format!("{value} is not in {name}"))
            }
            ("pvs_clear", [name]) => {
                let set = self.value_set(name)?;
                self.set_members(&set, Vec::new())?;
                Ok(format!("{name} is empty"))
            }
            _ => Err(help::unknown_or_usage(command).into()),
        }
    }

    fn value_set(&self, name: &str) -> Outcome<ValueSet> {
        let sets = &self.info()?.info().value_sets;
        let called = |set: &&ValueSet| {
            let preamble = set.preamble.as_ref();
            preamble.is_some_and(|p| p.name == name || p.alias == name)
        };
        Ok(sets.iter().find(called).cloned().ok_or_else(|| {
            let known: Vec<&str> = sets.iter().map(name_of).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            format!("the program has no parser value set named '{name}'; it has {known}")
        })?)
    }

    fn members_of(&mut self, set: &ValueSet) -> Outcome<Vec<v1::ValueSetMember>> {
        let value_set_id = id_of(set);
        let wanted = v1::ValueSetEntry {
            value_set_id,
            members: Vec::new(),
        };
        let members = |entity| match entity {
            Entity::ValueSetEntry(entry) if entry.value_set_id == value_set_id => entry.members,
            _ => Vec::new(),
        };
        let found = self.fetch(Entity::ValueSetEntry(wanted))?;
        Ok(found.into_iter().flat_map(members).collect())
    }

    fn set_members(&mut self, set: &ValueSet, members: Vec<v1::ValueSetMember>) -> Outcome<()> {
        let entry = v1::ValueSetEntry {
            value_set_id: id_of(set),
            members,
        };
        self.change(update::Type::Modify, Entity::ValueSetEntry(entry))
    }
}

fn id_of(set: &ValueSet) -> u32 {
    set.preamble.as_ref().map_or(0, |p| p.id)
}

fn name_of(set: &ValueSet) -> &str {
    set.preamble.as_ref().map_or("", |p| p.name.as_str())
}

fn width_of(field: &MatchField) -> u32 {
    u32::try_from(field.bitwidth).unwrap_or(0)
}

fn describe(set: &ValueSet) -> String {
    let width: u32 = set.r#match.iter().map(width_of).sum();
    format!(
        "{:<30} [{width} bits, {} values at most]\n",
        name_of(set),
        set.size
    )
}

/// The member that a number stands for.
fn member(set: &ValueSet, text: &str) -> Outcome<v1::ValueSetMember> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => BigUint::parse_bytes(digits.as_bytes(), 16),
        None => BigUint::parse_bytes(text.as_bytes(), 10),
    };
    let mut value = parsed.ok_or_else(|| format!("'{text}' is not a number"))?;
    let width: u32 = set.r#match.iter().map(width_of).sum();
    if value.bits() > u64::from(width) {
        return Err(format!(
            "'{text}' needs more than the {width} bits of {}",
            name_of(set)
        )
        .into());
    }
    let mut matches = Vec::new();
    for field in set.r#match.iter().rev() {
        let width = width_of(field);
        let part = Bits::from_biguint(width, &value);
        value >>= width;
        let given = match match_kind(field) {
            Some(MatchKind::Ternary) => FieldMatch::Ternary {
                value: part,
                mask: Bits::ones(width),
            },
            Some(MatchKind::Lpm) => FieldMatch::Lpm {
                value: part,
                prefix_len: width,
            },
            Some(MatchKind::Range) => FieldMatch::Range {
                low: part.clone(),
                high: part,
            },
            Some(MatchKind::Optional) => FieldMatch::Optional(Some(part)),
            Some(MatchKind::Exact) | None => FieldMatch::Exact(part),
        };
        matches.extend(message::write(field.id, &given, Bits::canonical));
    }
    matches.reverse();
    Ok(v1::ValueSetMember { r#match: matches })
}

/// A member as one number, in hexadecimal; what matches more than one value is told by field.
fn text_of(set: &ValueSet, member: &v1::ValueSetMember) -> String {
    let mut whole = BigUint::default();
    for field in &set.r#match {
        let given = member.r#match.iter().find(|m| m.field_id == field.id);
        let value = match given.and_then(|m| m.field_match_type.as_ref()) {
            Some(field_match::FieldMatchType::Exact(m)) => &m.value,
            Some(field_match::FieldMatchType::Ternary(m)) => &m.value,
            Some(field_match::FieldMatchType::Lpm(m)) => &m.value,
            Some(field_match::FieldMatchType::Range(m)) => &m.low,
            _ => continue,
        };
        whole = (whole << width_of(field)) | BigUint::from_bytes_be(value);
    }
    format!("{whole:#x}")
}

#[cfg(test)]
mod tests {
    use p4runtime::p4::config::v1::match_field::{Match, MatchType};

    use super::*;

    fn set(widths: &[i32]) -> ValueSet {
        set_of(widths, MatchType::Exact)
    }

    fn set_of(widths: &[i32], kind: MatchType) -> ValueSet {
        let field = |(id, bitwidth): (u32, i32)| MatchField {
            id,
            bitwidth,
            r#match: Some(Match::MatchType(kind.into())),
            ..Default::default()
        };
        ValueSet {
            r#match: (1..).zip(widths.iter().copied()).map(field).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn one_number_stands_for_all_fields() {
        let set = set(&[16, 4, 12]);
        let member = member(&set, "0x0800a123").expect("member");
        let values: Vec<Vec<u8>> = member
            .r#match
            .iter()
            .map(|m| match &m.field_match_type {
                Some(field_match::FieldMatchType::Exact(m)) => m.value.clone(),
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(values, [vec![8, 0], vec![10], vec![1, 0x23]]);
        assert_eq!(text_of(&set, &member), "0x800a123");
    }

    #[test]
    fn a_member_is_matched_as_its_fields_are() {
        for kind in [
            MatchType::Exact,
            MatchType::Lpm,
            MatchType::Ternary,
            MatchType::Range,
            MatchType::Optional,
        ] {
            let set = set_of(&[9], kind);
            let member = member(&set, "0x105").expect("member");
            let field = &set.r#match[0];
            let read = message::read("f", 9, match_kind(field), &member.r#match[0], |bytes| {
                entries::check::bytes(bytes, 9, String::new)
            });
            let read = read.expect("a match of the field's kind");
            assert!(read.matches(&Bits::from_u64(9, 0x105)), "{kind:?}");
            assert!(!read.matches(&Bits::from_u64(9, 0x104)), "{kind:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let set = set(&[8]);
        assert!(member(&set, "256").is_err() && member(&set, "x").is_err());
        assert!(member(&set, "0xff").is_ok());
    }
}

//! `act_prof_*`: members and groups of action profiles. Handles count from 0, P4Runtime's ids here
//! from 1.

use std::fmt::Write as _;

use p4gen::entries::{commands, write_request};
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1::{self, entity::Entity, update};

use super::{Outcome, Session, handle, help, tables};

fn id_of(text: &str) -> Outcome<u32> {
    Ok(handle(text)?
        .checked_add(1)
        .ok_or("the handle is too large")?)
}

/// The command on a profile that an old command on the profile's table stands for.
pub(super) fn of_table(command: &str) -> Option<&'static str> {
    Some(match command {
        "table_indirect_create_member" => "act_prof_create_member",
        "table_indirect_delete_member" => "act_prof_delete_member",
        "table_indirect_modify_member" => "act_prof_modify_member",
        "table_indirect_create_group" => "act_prof_create_group",
        "table_indirect_delete_group" => "act_prof_delete_group",
        "table_indirect_add_member_to_group" => "act_prof_add_member_to_group",
        "table_indirect_remove_member_from_group" => "act_prof_remove_member_from_group",
        "table_dump_member" => "act_prof_dump_member",
        "table_dump_group" => "act_prof_dump_group",
        _ => return None,
    })
}

impl Session {
    /// Commands that name the table instead of its profile.
    pub(super) fn profiles_of_table(&mut self, command: &str, words: &[&str]) -> Outcome {
        let (Some(instead), Some((table, rest))) = (of_table(command), words.split_first()) else {
            return Err(format!("usage: {command} TABLE ...").into());
        };
        let index = self.info()?;
        let found = index.table(table).map_err(|e| e.to_string())?;
        let profile = index.action_profile_by_id(found.implementation_id);
        let profile = profile
            .map_err(|_| format!("{table} has no action profile"))?
            .name()
            .to_owned();
        let words: Vec<&str> = [profile.as_str()]
            .into_iter()
            .chain(rest.iter().copied())
            .collect();
        self.profiles(instead, &words)
    }

    pub(super) fn profiles(&mut self, command: &str, words: &[&str]) -> Outcome {
        match (command, words) {
            ("act_prof_create_member", [profile, action, args @ ..]) => {
                let taken = self.members(profile)?.iter().map(|m| m.member_id).collect();
                let member_id = next_free(taken);
                let member = self.member(profile, member_id, action, args)?;
                self.change(update::Type::Insert, Entity::ActionProfileMember(member))?;
                Ok(format!(
                    "Member has been created with handle {}",
                    member_id - 1
                ))
            }
            ("act_prof_modify_member", [profile, action, at, args @ ..]) => {
                let member = self.member(profile, id_of(at)?, action, args)?;
                self.change(update::Type::Modify, Entity::ActionProfileMember(member))?;
                Ok(format!("Modified member {at}"))
            }
            ("act_prof_delete_member", [profile, at]) => {
                let member = v1::ActionProfileMember {
                    action_profile_id: self.profile(profile)?,
                    member_id: id_of(at)?,
                    action: None,
                };
                self.change(update::Type::Delete, Entity::ActionProfileMember(member))?;
                Ok(format!("Deleted member {at}"))
            }
            ("act_prof_create_group", [profile]) => {
                let groups = self.groups(profile)?;
                let group_id = next_free(groups.iter().map(|g| g.group_id).collect());
                let group = v1::ActionProfileGroup {
                    action_profile_id: self.profile(profile)?,
                    group_id,
                    ..Default::default()
                };
                self.change(update::Type::Insert, Entity::ActionProfileGroup(group))?;
                Ok(format!(
                    "Group has been created with handle {}",
                    group_id - 1
                ))
            }
            ("act_prof_delete_group", [profile, at]) => {
                let group = v1::ActionProfileGroup {
                    action_profile_id: self.profile(profile)?,
                    group_id: id_of(at)?,
                    ..Default::default()
                };
                self.change(update::Type::Delete, Entity::ActionProfileGroup(group))?;
                Ok(format!("Deleted group {at}"))
            }
            ("act_prof_add_member_to_group", [profile, member, group]) => {
                let member_id = id_of(member)?;
                let mut group = self.group(profile, group)?;
                group.members.push(v1::action_profile_group::Member {
                    member_id,
                    weight: 1,
                    watch_kind: None,
                });
                self.change(update::Type::Modify, Entity::ActionProfileGroup(group))?;
                Ok(format!("Member {member} is in the group"))
            }
            ("act_prof_remove_member_from_group", [profile, member, group]) => {
                let member_id = id_of(member)?;
                let mut group = self.group(profile, group)?;
                group.members.retain(|m| m.member_id != member_id);
                self.change(update::Type::Modify, Entity::ActionProfileGroup(group))?;
                Ok(format!("Member {member} is not in the group"))
            }
            ("act_prof_dump", [profile]) => self.dump_profile(profile),
            ("act_prof_dump_member", [profile, at]) => {
                let id = id_of(at)?;
                let members = self.members(profile)?;
                let found = members.iter().find(|m| m.member_id == id);
                let member =
                    found.ok_or_else(|| format!("{profile} has no member with handle {at}"))?;
                Ok(describe_member(self.info()?, member))
            }
            ("act_prof_dump_group", [profile, at]) => Ok(describe_group(&self.group(profile, at)?)),
            _ => Err(help::unknown_or_usage(command).into()),
        }
    }

    fn profile(&self, name: &str) -> Outcome<u32> {
        Ok(self
            .info()?
            .action_profile(name)
            .map_err(|e| e.to_string())?
            .id())
    }

    fn member(
        &self,
        profile: &str,
        id: u32,
        action: &str,
        args: &[&str],
    ) -> Outcome<v1::ActionProfileMember> {
        let index = self.info()?;
        let line = format!(
            "act_prof_create_member {profile} {action} {}\n",
            args.join(" ")
        );
        let entries = commands::read("", &line, index).map_err(|e| e.to_string())?;
        let request = write_request::write(&entries, index).map_err(|e| e.to_string())?;
        let entity = request.updates.into_iter().next().and_then(|u| u.entity);
        match entity.and_then(|e| e.entity) {
            Some(Entity::ActionProfileMember(member)) => Ok(v1::ActionProfileMember {
                member_id: id,
                ..member
            }),
            _ => Err("the line describes no member".into()),
        }
    }

    fn members(&mut self, profile: &str) -> Outcome<Vec<v1::ActionProfileMember>> {
        let wanted = v1::ActionProfileMember {
            action_profile_id: self.profile(profile)?,
            ..Default::default()
        };
        let found = self.fetch(Entity::ActionProfileMember(wanted))?;
        let member = |entity| match entity {
            Entity::ActionProfileMember(member) => Some(member),
            _ => None,
        };
        Ok(found.into_iter().filter_map(member).collect())
    }

    fn groups(&mut self, profile: &str) -> Outcome<Vec<v1::ActionProfileGroup>> {
        let wanted = v1::ActionProfileGroup {
            action_profile_id: self.profile(profile)?,
            ..Default::default()
        };
        let found = self.fetch(Entity::ActionProfileGroup(wanted))?;
        let group = |entity| match entity {
            Entity::ActionProfileGroup(group) => Some(group),
            _ => None,
        };
        Ok(found.into_iter().filter_map(group).collect())
    }

    fn group(&mut self, profile: &str, at: &str) -> Outcome<v1::ActionProfileGroup> {
        let id = id_of(at)?;
        let groups = self.groups(profile)?;
        let found = groups.into_iter().find(|g| g.group_id == id);
        Ok(found.ok_or_else(|| format!("{profile} has no group with handle {at}"))?)
    }

    fn dump_profile(&mut self, profile: &str) -> Outcome {
        let (members, groups) = (self.members(profile)?, self.groups(profile)?);
        let index = self.info()?;
        let mut text = "==========\nMEMBERS\n".to_owned();
        for member in &members {
            let _ = writeln!(text, "**********\n{}", describe_member(index, member));
        }
        text.push_str("==========\nGROUPS\n");
        for group in &groups {
            let _ = writeln!(text, "**********\n{}", describe_group(group));
        }
        text.push_str("==========\n");
        Ok(text)
    }
}

fn describe_member(index: &P4InfoIndex, member: &v1::ActionProfileMember) -> String {
    let call = member.action.as_ref().map(|a| tables::call_text(index, a));
    format!(
        "Dumping member {}\nAction entry: {}",
        member.member_id.saturating_sub(1),
        call.unwrap_or_default()
    )
}

fn describe_group(group: &v1::ActionProfileGroup) -> String {
    let members = group.members.iter().map(|m| m.member_id.saturating_sub(1));
    let members: Vec<String> = members.map(|id| id.to_string()).collect();
    format!(
        "Dumping group {}\nMembers: [{}]",
        group.group_id.saturating_sub(1),
        members.join(", ")
    )
}

/// The lowest id above 0 that is not taken.
fn next_free(mut taken: Vec<u32>) -> u32 {
    taken.sort_unstable();
    let above = taken.last().map_or(1, |highest| highest.saturating_add(1));
    let gap = (1..).zip(taken).find(|(want, have)| want != have);
    gap.map_or(above, |(want, _)| want)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_id_is_taken() {
        assert_eq!(next_free(vec![]), 1);
        assert_eq!(next_free(vec![2, 1]), 3);
        assert_eq!(next_free(vec![4, 1, 2]), 3);
        assert_eq!(next_free(vec![5]), 1);
    }
}

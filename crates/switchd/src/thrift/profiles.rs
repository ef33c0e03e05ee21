//! `bm_mt_act_prof_*`: members and groups of action profiles. A handle is an id of P4Runtime less
//! one, for those begin at 1.

use p4exec::tables::profile::{StoredGroup, StoredMember};
use p4exec::tables::{ActionProfile, GroupId, MemberId};
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::update::Type;
use thrift::protocol::TType;
use tonic::Code;

use super::keys::{action_values, code, read_action};
use super::value::Value;
use super::{Call, Fault, Outcome};
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::schema::{ProfileSchema, Schema};
use crate::translate::update_of;

pub(super) const fn id_of(handle: i32) -> u32 {
    handle.cast_unsigned().wrapping_add(1)
}

pub(super) const fn handle_of(id: u32) -> i32 {
    id.wrapping_sub(1).cast_signed()
}

/// A refusal of a member or a group, as the caller finds what it means.
enum Refused {
    Fault(Fault),
    Refusal(Refusal),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl Refused {
    /// `missing` and `used` are the codes for what is not there and for what something else refers
    /// to.
    fn fault(self, missing: i32, used: i32) -> Fault {
        match self {
            Self::Fault(fault) => fault,
            Self::Refusal(refusal) => {
                let code = match refusal.code {
                    Code::NotFound => missing,
                    Code::FailedPrecondition => used,
                    Code::ResourceExhausted => code::TABLE_FULL,
                    _ => code::ERROR,
                };
                Fault::Refused(code, refusal.message)
            }
        }
    }
}

fn member_fault(refused: Refused) -> Fault {
    refused.fault(code::INVALID_MBR_HANDLE, code::MBR_STILL_USED)
}

fn group_fault(refused: Refused) -> Fault {
    refused.fault(code::INVALID_GRP_HANDLE, code::GRP_STILL_USED)
}

fn find<'a>(schema: &'a Schema, name: &str) -> Result<&'a ProfileSchema, Fault> {
    schema
        .profiles
        .values()
        .find(|profile| profile.name == name)
        .ok_or(Fault::Code(code::INVALID_ACTION_PROFILE_NAME))
}

/// A profile that has groups.
fn find_selector<'a>(schema: &'a Schema, name: &str) -> Result<&'a ProfileSchema, Fault> {
    let profile = find(schema, name)?;
    match profile.with_selector {
        true => Ok(profile),
        false => Err(Fault::Code(code::NO_ACTION_PROFILE_SELECTION)),
    }
}

fn state_of<'a>(
    contents: &'a PipelineState,
    profile: &ProfileSchema,
) -> Result<&'a ActionProfile, Fault> {
    let state = contents.state().profile(profile.profile);
    state.map_err(|e| Fault::Refused(code::ERROR, e.to_string()))
}

/// The smallest id that is free.
fn free_id(taken: impl Iterator<Item = u32>) -> u32 {
    let mut next = 1;
    for id in taken {
        if id > next {
            break;
        }
        next = id.saturating_add(1);
    }
    next
}

/// Adds a thing to a profile and hands out its handle.
fn add(
    call: &Call<'_>,
    make: impl FnOnce(&PipelineState, &str) -> Result<(u32, Entity), Fault>,
    fault: fn(Refused) -> Fault,
) -> Outcome {
    let name = call.args.text(2)?;
    let mut added = 0;
    let made = call.subject.switch.amend::<Refused>(|contents| {
        let (id, entity) = make(contents, &name)?;
        added = id;
        Ok(vec![update_of(Type::Insert, entity)])
    });
    made.map_err(fault)?;
    Ok(Some(Value::I32(handle_of(added))))
}

/// Changes or deletes one.
fn change(
    call: &Call<'_>,
    kind: Type,
    make: impl FnOnce(&PipelineState, &str) -> Result<Entity, Fault>,
    fault: fn(Refused) -> Fault,
) -> Outcome {
    let name = call.args.text(2)?;
    let make =
        |contents: &PipelineState| Ok::<_, Refused>(vec![update_of(kind, make(contents, &name)?)]);
    let made = call.subject.switch.amend(make);
    made.map_err(fault)?;
    Ok(None)
}

fn member_message(profile: &ProfileSchema, id: u32, action: Option<v1::Action>) -> Entity {
    Entity::ActionProfileMember(v1::ActionProfileMember {
        action_profile_id: profile.id,
        member_id: id,
        action,
    })
}

pub(super) fn add_member(call: &Call<'_>) -> Outcome {
    let (action, data) = (call.args.text(3)?, call.args.byte_strings(4)?);
    let make = |contents: &PipelineState, name: &str| {
        let profile = find(&contents.schema, name)?;
        let action = read_action(&profile.actions, &action, &data)?;
        let id = free_id(state_of(contents, profile)?.members().keys().map(|id| id.0));
        Ok((id, member_message(profile, id, Some(action))))
    };
    add(call, make, member_fault)
}

pub(super) fn delete_member(call: &Call<'_>) -> Outcome {
    let id = id_of(call.args.i32(3)?);
    let make = |contents: &PipelineState, name: &str| {
        Ok(member_message(find(&contents.schema, name)?, id, None))
    };
    change(call, Type::Delete, make, member_fault)
}

pub(super) fn modify_member(call: &Call<'_>) -> Outcome {
    let id = id_of(call.args.i32(3)?);
    let (action, data) = (call.args.text(4)?, call.args.byte_strings(5)?);
    let make = |contents: &PipelineState, name: &str| {
        let profile = find(&contents.schema, name)?;
        let action = read_action(&profile.actions, &action, &data)?;
        Ok(member_message(profile, id, Some(action)))
    };
    change(call, Type::Modify, make, member_fault)
}

fn group_message(profile: &ProfileSchema, id: u32) -> v1::ActionProfileGroup {
    v1::ActionProfileGroup {
        action_profile_id: profile.id,
        group_id: id,
        ..Default::default()
    }
}

pub(super) fn create_group(call: &Call<'_>) -> Outcome {
    let make = |contents: &PipelineState, name: &str| {
        let profile = find_selector(&contents.schema, name)?;
        let id = free_id(state_of(contents, profile)?.groups().keys().map(|id| id.0));
        let group = group_message(profile, id);
        Ok((id, Entity::ActionProfileGroup(group)))
    };
    add(call, make, group_fault)
}

pub(super) fn delete_group(call: &Call<'_>) -> Outcome {
    let id = id_of(call.args.i32(3)?);
    let make = |contents: &PipelineState, name: &str| {
        let profile = find_selector(&contents.schema, name)?;
        Ok(Entity::ActionProfileGroup(group_message(profile, id)))
    };
    change(call, Type::Delete, make, group_fault)
}

/// Changes the members of a group as it is read.
fn change_group(
    call: &Call<'_>,
    change_members: impl FnOnce(&mut Vec<v1::action_profile_group::Member>, u32) -> Result<(), Fault>,
) -> Outcome {
    let (member, group) = (id_of(call.args.i32(3)?), id_of(call.args.i32(4)?));
    let make = |contents: &PipelineState, name: &str| {
        let profile = find_selector(&contents.schema, name)?;
        let state = state_of(contents, profile)?;
        if !state.members().contains_key(&MemberId(member)) {
            return Err(Fault::Code(code::INVALID_MBR_HANDLE));
        }
        let filter = group_message(profile, group);
        let mut found = None;
        let read = crate::translate::profile::read_groups(contents, &filter, &mut |entity| {
            if let Entity::ActionProfileGroup(group) = entity {
                found = Some(group);
            }
            Ok(())
        });
        read.map_err(|r| Fault::Refused(code::ERROR, r.message))?;
        let mut found = found
            .filter(|_| group != 0)
            .ok_or(Fault::Code(code::INVALID_GRP_HANDLE))?;
        change_members(&mut found.members, member)?;
        Ok(Entity::ActionProfileGroup(found))
    };
    change(call, Type::Modify, make, group_fault)
}

pub(super) fn add_member_to_group(call: &Call<'_>) -> Outcome {
    change_group(call, |members, member_id| {
        if members.iter().any(|m| m.member_id == member_id) {
            return Err(Fault::Code(code::MBR_ALREADY_IN_GRP));
        }
        members.push(v1::action_profile_group::Member {
            member_id,
            weight: 1,
            watch_kind: None,
        });
        Ok(())
    })
}

pub(super) fn remove_member_from_group(call: &Call<'_>) -> Outcome {
    change_group(call, |members, member_id| {
        let before = members.len();
        members.retain(|m| m.member_id != member_id);
        match members.len() < before {
            true => Ok(()),
            false => Err(Fault::Code(code::MBR_NOT_IN_GRP)),
        }
    })
}

fn member_value(schema: &Schema, id: MemberId, member: &StoredMember) -> Value {
    let (name, data) = action_values(schema, member.call());
    Value::structure([(1, Value::I32(handle_of(id.0))), (2, name), (3, data)])
}

fn group_value(id: GroupId, group: &StoredGroup) -> Value {
    let members = group.members().iter();
    let members = members.map(|m| Value::I32(handle_of(m.member.0)));
    let members = Value::List(TType::I32, members.collect());
    Value::structure([(1, Value::I32(handle_of(id.0))), (2, members)])
}

/// Looks at the state of the profile that the second argument names.
fn look<T>(
    call: &Call<'_>,
    selector: bool,
    look: impl FnOnce(&Schema, &ActionProfile) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let name = call.args.text(2)?;
    call.look(code::INVALID_ACTION_PROFILE_NAME, |contents| {
        let profile = match selector {
            true => find_selector(&contents.schema, &name)?,
            false => find(&contents.schema, &name)?,
        };
        look(&contents.schema, state_of(contents, profile)?)
    })
}

pub(super) fn members(call: &Call<'_>) -> Outcome {
    look(call, false, |schema, state| {
        let members = state.members().iter();
        let value = |(id, member): (&MemberId, &StoredMember)| member_value(schema, *id, member);
        Ok(Some(Value::structures(members.map(value))))
    })
}

pub(super) fn member(call: &Call<'_>) -> Outcome {
    let id = MemberId(id_of(call.args.i32(3)?));
    look(call, false, |schema, state| {
        let member = state.members().get(&id);
        let member = member.ok_or(Fault::Code(code::INVALID_MBR_HANDLE))?;
        Ok(Some(member_value(schema, id, member)))
    })
}

pub(super) fn groups(call: &Call<'_>) -> Outcome {
    look(call, true, |_, state| {
        let groups = state.groups().iter();
        let value = |(id, group): (&GroupId, &StoredGroup)| group_value(*id, group);
        Ok(Some(Value::structures(groups.map(value))))
    })
}

pub(super) fn group(call: &Call<'_>) -> Outcome {
    let id = GroupId(id_of(call.args.i32(3)?));
    look(call, true, |_, state| {
        let group = state.groups().get(&id);
        let group = group.ok_or(Fault::Code(code::INVALID_GRP_HANDLE))?;
        Ok(Some(group_value(id, group)))
    })
}

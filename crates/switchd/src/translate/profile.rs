//! Members and groups of action profiles (P4Runtime 1.5, sections 9.2.1 and 9.2.2).

use p4exec::Update;
use p4exec::tables::{GroupId, GroupMember, MemberId};
use p4runtime::p4::v1;
use p4runtime::p4::v1::action_profile_group::member::WatchKind;
use p4runtime::p4::v1::entity::Entity;

use super::action::{
    Place, WriteContext, decode_action, encode_action, group_size, watch_number, weight,
    weight_message,
};
use super::pipeline_state::{Note, NoteKey, PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::ProfileSchema;
use super::{Sink, Steps, Verb, missing};

fn step(update: Update) -> Step {
    Step::Update(update)
}

/// Members and groups cannot be mixed with one-shot entries (P4Runtime 1.5, section 9.2.3).
fn check_style(contents: &View<'_>, profile: &ProfileSchema) -> Result<(), Refusal> {
    if profile
        .tables
        .iter()
        .all(|table| contents.one_shots(*table).entries == 0)
    {
        return Ok(());
    }
    Err(Refusal::invalid(
        "its tables have one-shot entries, which cannot be mixed with members",
    ))
}

/// The steps of an update of a member.
///
/// # Errors
/// INVALID_ARGUMENT; NOT_FOUND and others come from the state.
pub fn write_member(
    contents: &View<'_>,
    verb: Verb,
    given: &v1::ActionProfileMember,
) -> Result<Steps, Refusal> {
    let schema = contents.schema.profile(given.action_profile_id)?;
    let here = |r: Refusal| {
        r.at(&format!(
            "member {} of profile `{}`",
            given.member_id, schema.name
        ))
    };
    if given.member_id == 0 {
        return Err(here(Refusal::invalid("member ids start at 1")));
    }
    let (profile, member) = (schema.profile, MemberId(given.member_id));
    if verb == Verb::Delete {
        return Ok(Steps::one(step(Update::DeleteMember { profile, member })));
    }
    if verb == Verb::Insert {
        check_style(contents, schema).map_err(here)?;
    }
    let action = given
        .action
        .as_ref()
        .ok_or_else(|| here(missing("action")))?;
    let call = decode_action(&schema.actions, action, Place::Entry).map_err(here)?;
    Ok(Steps::one(step(match verb {
        Verb::Insert => Update::InsertMember {
            profile,
            member,
            call,
        },
        _ => Update::ModifyMember {
            profile,
            member,
            call,
        },
    })))
}

fn members(
    around: &WriteContext<'_>,
    profile: &ProfileSchema,
    given: &v1::ActionProfileGroup,
) -> Result<Vec<GroupMember>, Refusal> {
    let mut members = Vec::with_capacity(given.members.len());
    for member in &given.members {
        let here = |r: Refusal| r.at(&format!("member {}", member.member_id));
        let watch_port = match &member.watch_kind {
            None => None,
            Some(WatchKind::WatchPort(bytes)) if bytes.is_empty() => None,
            Some(WatchKind::WatchPort(bytes)) => Some(around.port(bytes).map_err(here)?),
            #[allow(deprecated)]
            Some(WatchKind::Watch(number)) => {
                watch_number(*number, around.cpu_port).map_err(here)?
            }
        };
        members.push(GroupMember {
            member: MemberId(member.member_id),
            weight: weight(profile, member.weight).map_err(here)?,
            watch_port: watch_port
                .map(|p| around.watched(p))
                .transpose()
                .map_err(here)?,
        });
    }
    Ok(members)
}

/// The steps of an update of a group.
///
/// # Errors
/// INVALID_ARGUMENT; NOT_FOUND and others come from the state.
pub fn write_group(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    verb: Verb,
    given: &v1::ActionProfileGroup,
) -> Result<Steps, Refusal> {
    let schema = contents.schema.profile(given.action_profile_id)?;
    let here = |r: Refusal| {
        r.at(&format!(
            "group {} of profile `{}`",
            given.group_id, schema.name
        ))
    };
    if given.group_id == 0 {
        return Err(here(Refusal::invalid("group ids start at 1")));
    }
    let (profile, group) = (schema.profile, GroupId(given.group_id));
    let key = NoteKey::Group(profile, given.group_id);
    if verb == Verb::Delete {
        let mut steps = Steps::one(step(Update::DeleteGroup { profile, group }));
        steps.push(Step::Note(key, None));
        return Ok(steps);
    }
    if verb == Verb::Insert {
        check_style(contents, schema).map_err(here)?;
    }
    let bound = bound(contents, schema, verb, given).map_err(here)?;
    let members = members(around, schema, given).map_err(here)?;
    group_size(schema, bound, members.iter().map(|m| m.weight)).map_err(|r| {
        // With a bound of the client's own the group has no room (9.2.2, rules on max_size).
        here(if schema.max_group_size == 0 {
            Refusal::exhausted(r.message)
        } else {
            r
        })
    })?;
    let update = match verb {
        Verb::Insert => Update::InsertGroup {
            profile,
            group,
            members,
        },
        _ => Update::ModifyGroup {
            profile,
            group,
            members,
        },
    };
    let mut steps = Steps::one(step(update));
    if given.max_size != 0 && verb == Verb::Insert {
        let note = Note {
            max_size: given.max_size,
            ..Note::default()
        };
        steps.push(Step::Note(key, Some(note)));
    }
    Ok(steps)
}

/// The bound on a group: `max_size`, set at its insertion for good, within that of P4Info.
fn bound(
    contents: &View<'_>,
    schema: &ProfileSchema,
    verb: Verb,
    given: &v1::ActionProfileGroup,
) -> Result<u32, Refusal> {
    let Ok(wanted) = u32::try_from(given.max_size) else {
        return Err(Refusal::invalid(format!(
            "max_size {} is negative",
            given.max_size
        )));
    };
    if schema.max_group_size > 0 && wanted > schema.max_group_size {
        return Err(Refusal::invalid(format!(
            "max_size {wanted} exceeds the profile's largest group, {}",
            schema.max_group_size
        )));
    }
    if verb == Verb::Modify {
        let exists = contents.state().profile(schema.profile)?;
        let exists = exists.groups().contains_key(&GroupId(given.group_id));
        let note = contents.note(NoteKey::Group(schema.profile, given.group_id));
        let before = note.map_or(0, |n| n.max_size);
        if exists && before != given.max_size {
            return Err(Refusal::invalid(format!(
                "max_size is {before} since the group was inserted and cannot change to {wanted}"
            )));
        }
    }
    Ok(if wanted == 0 {
        schema.max_group_size
    } else {
        wanted
    })
}

/// The profiles a request names: all if the id is 0.
fn selected(contents: &PipelineState, id: u32) -> Result<Vec<&ProfileSchema>, Refusal> {
    if id == 0 {
        return Ok(contents.schema.profiles.values().collect());
    }
    Ok(vec![contents.schema.profile(id)?])
}

/// Hands out members.
///
/// # Errors
/// NOT_FOUND if the profile is not there, INVALID_ARGUMENT for a member of no profile.
pub fn read_members(
    contents: &PipelineState,
    filter: &v1::ActionProfileMember,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    if filter.action_profile_id == 0 && filter.member_id != 0 {
        return Err(Refusal::invalid("a member is named without its profile"));
    }
    for schema in selected(contents, filter.action_profile_id)? {
        for (id, member) in contents.state().profile(schema.profile)?.members() {
            if filter.member_id == 0 || filter.member_id == id.0 {
                sink(Entity::ActionProfileMember(v1::ActionProfileMember {
                    action_profile_id: schema.id,
                    member_id: id.0,
                    action: encode_action(&contents.schema, &schema.actions, member.call()),
                }))?;
            }
        }
    }
    Ok(())
}

/// Hands out groups.
///
/// # Errors
/// NOT_FOUND if the profile is not there, INVALID_ARGUMENT for a group of no profile.
pub fn read_groups(
    contents: &PipelineState,
    filter: &v1::ActionProfileGroup,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    if filter.action_profile_id == 0 && filter.group_id != 0 {
        return Err(Refusal::invalid("a group is named without its profile"));
    }
    for schema in selected(contents, filter.action_profile_id)? {
        for (id, group) in contents.state().profile(schema.profile)?.groups() {
            if filter.group_id != 0 && filter.group_id != id.0 {
                continue;
            }
            let members = group.members().iter();
            let members = members.map(|m| v1::action_profile_group::Member {
                member_id: m.member.0,
                weight: weight_message(Some(schema), m.weight),
                watch_kind: m
                    .watch_port
                    .map(|p| WatchKind::WatchPort(contents.schema.port_bytes(p))),
            });
            let note = contents.note(NoteKey::Group(schema.profile, id.0));
            sink(Entity::ActionProfileGroup(v1::ActionProfileGroup {
                action_profile_id: schema.id,
                group_id: id.0,
                members: members.collect(),
                max_size: note.map_or(0, |n| n.max_size),
            }))?;
        }
    }
    Ok(())
}

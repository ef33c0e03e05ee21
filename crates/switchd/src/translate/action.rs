//! Actions with their arguments (P4Runtime 1.5, sections 9.1.2 and 9.2.3).

use entries::{Problem, check};
use p4exec::tables::profile::MAX_GROUP_WEIGHT;
use p4exec::tables::{ActionCall, EntryAction, GroupId, MemberId, WeightedCall};
use p4runtime::p4::v1;
use p4runtime::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics};
use p4runtime::p4::v1::{action_profile_action, table_action};
use quantities::PortId;

use super::refusal::Refusal;
use super::schema::{ActionChoice, ProfileSchema, Schema, TableSchema};
use super::value::{self, port_number};

/// Where an action is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In an entry or a member.
    Entry,
    /// As default action.
    Default,
}

/// Reads an action of those a table or profile offers (P4Runtime 1.5, section 9.1.2).
///
/// # Errors
/// INVALID_ARGUMENT, OUT_OF_RANGE, or PERMISSION_DENIED if the scope is violated.
pub fn decode_action(
    choices: &[ActionChoice],
    given: &v1::Action,
    place: Place,
) -> Result<ActionCall, Refusal> {
    let choice = choices.iter().find(|c| c.schema.id == given.action_id);
    let as_default = place == Place::Default;
    let allowed = |choice: &&ActionChoice| match place {
        Place::Entry => choice.in_entries,
        Place::Default => choice.as_default,
    };
    let Some(found) = choice.filter(allowed) else {
        let id = || format!("{0} ({0:#010x})", given.action_id);
        let name = choice.map_or_else(id, |choice| choice.schema.name.clone());
        let names = choices.iter().filter(allowed);
        let names = names.map(|choice| choice.schema.name.as_str());
        return Err(check::not_allowed(&name, as_default, choice.is_some(), names).into());
    };
    let choice = found;
    let params = &choice.schema.params;
    let fail = |what: String| {
        Err(Refusal::invalid(format!(
            "action `{}`: {what}",
            choice.schema.name
        )))
    };
    let mut args = Vec::with_capacity(params.len());
    for (index, param) in params.iter().enumerate() {
        let same = given.params.get(index).filter(|p| p.param_id == param.id);
        let Some(value) = same.or_else(|| given.params.iter().find(|p| p.param_id == param.id))
        else {
            let (action, param) = (choice.schema.name.clone(), param.name.clone());
            return Err(Problem::ParamMissing { action, param }.into());
        };
        let value = value::read(&value.value, param.shape, param.names.as_deref())
            .map_err(|r| r.at(&check::param_place(&choice.schema.name, &param.name)))?;
        args.push(value);
    }
    if given.params.len() != params.len() {
        let extra = given
            .params
            .iter()
            .enumerate()
            .find(|(i, p)| {
                !params.iter().any(|q| q.id == p.param_id)
                    || given.params[..*i].iter().any(|q| q.param_id == p.param_id)
            })
            .map_or(0, |(_, p)| p.param_id);
        return fail(format!("parameter {extra} is unknown or given twice"));
    }
    Ok(ActionCall {
        action: choice.action,
        args,
    })
}

/// The message of an action; `None` if P4Info does not have it.
#[must_use]
pub fn encode_action(
    schema: &Schema,
    choices: &[ActionChoice],
    call: &ActionCall,
) -> Option<v1::Action> {
    let choice = choices.iter().find(|c| c.action == call.action);
    let Some(choice) = choice else {
        // The program's own default action may be one that its list does not name.
        let action_id = schema.action_id(call.action)?;
        return call.args.is_empty().then(|| v1::Action {
            action_id,
            params: Vec::new(),
        });
    };
    let params = choice.schema.params.iter().zip(&call.args);
    Some(v1::Action {
        action_id: choice.schema.id,
        params: params
            .map(|(param, value)| v1::action::Param {
                param_id: param.id,
                value: value::write(value, param.shape, param.names.as_deref()),
            })
            .collect(),
    })
}

/// What reading a one-shot set needs besides the table.
pub struct WriteContext<'a> {
    /// The program.
    pub schema: &'a Schema,
    /// The port of the controller.
    pub cpu_port: Option<PortId>,
    /// The switch's ports.
    pub ports: &'a dyn Fn() -> Vec<PortId>,
    /// The state is made again: what only packets change may be set.
    pub restoring: bool,
}

impl WriteContext<'_> {
    /// Reads a port as the program's control plane knows ports: by its number, the standard's
    /// number of the CPU port, or its name.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if there can be no such port.
    pub fn port(&self, bytes: &[u8]) -> Result<PortId, Refusal> {
        match &self.schema.port_names {
            None => value::port(bytes, self.cpu_port),
            Some(names) => port_number(value::named(bytes, names)?, self.cpu_port),
        }
    }

    /// A port to be watched must be one of the switch (P4Runtime 1.5, section 9.2).
    ///
    /// # Errors
    /// INVALID_ARGUMENT if it is not.
    pub fn watched(&self, port: PortId) -> Result<PortId, Refusal> {
        if (self.ports)().contains(&port) {
            return Ok(port);
        }
        Err(Refusal::invalid(format!(
            "watch port {port} is not a port of the switch"
        )))
    }
}

/// Weights are at least 1, or left out where the switch decides them.
///
/// # Errors
/// INVALID_ARGUMENT.
pub fn weight(profile: &ProfileSchema, given: i32) -> Result<u32, Refusal> {
    if profile.weights_disallowed {
        return match given {
            0 => Ok(1),
            _ => Err(Refusal::invalid(format!(
                "weight {given} is given, but `{}` allows no weights",
                profile.name
            ))),
        };
    }
    match u32::try_from(given) {
        Ok(weight) if weight > 0 => Ok(weight),
        _ => Err(Refusal::invalid(format!(
            "weight {given} is not at least 1"
        ))),
    }
}

/// The message of a weight.
#[must_use]
pub fn weight_message(profile: Option<&ProfileSchema>, weight: u32) -> i32 {
    match profile {
        Some(profile) if profile.weights_disallowed => 0,
        _ => i32::try_from(weight).unwrap_or(i32::MAX),
    }
}

/// Reads what an entry of a table does, and whether a one-shot set spelt its modes out.
///
/// # Errors
/// See [`decode_action`]; NOT_FOUND comes later, from the state.
pub fn decode_table_action(
    around: &WriteContext<'_>,
    table: &TableSchema,
    given: &v1::TableAction,
) -> Result<(EntryAction, bool), Refusal> {
    use table_action::Type;
    let profile = table
        .profile
        .map(|id| around.schema.profile(id))
        .transpose()?;
    let action = match (given.r#type.as_ref(), profile) {
        (None, _) => return Err(Refusal::invalid("the table action is empty")),
        (Some(Type::Action(action)), None) => {
            EntryAction::Call(decode_action(&table.actions, action, Place::Entry)?)
        }
        (Some(Type::Action(_)), Some(_)) => return Err(check::NAME_A_MEMBER.into()),
        (Some(_), None) => return Err(check::GIVE_AN_ACTION.into()),
        (Some(Type::ActionProfileMemberId(id)), Some(_)) => EntryAction::Member(MemberId(*id)),
        (Some(Type::ActionProfileGroupId(id)), Some(profile)) => {
            with_selector(profile)?;
            EntryAction::Group(GroupId(*id))
        }
        (Some(Type::ActionProfileActionSet(set)), Some(profile)) => {
            with_selector(profile)?;
            let explicit = modes(profile, set)?;
            return Ok((one_shot(around, profile, table, set)?, explicit));
        }
    };
    Ok((action, false))
}

fn with_selector(profile: &ProfileSchema) -> Result<(), Refusal> {
    match profile.with_selector {
        true => Ok(()),
        false => Err(check::NO_SELECTOR.into()),
    }
}

/// Mode and size semantics may be spelt out as what they are; others are not supported (9.2.3).
fn modes(profile: &ProfileSchema, set: &v1::ActionProfileActionSet) -> Result<bool, Refusal> {
    if set.group_action.is_some() {
        return Err(Refusal::unimplemented("group actions are not supported"));
    }
    let natural = if profile.max_member_weight.is_some() {
        SizeSemantics::SumOfMembers
    } else {
        SizeSemantics::SumOfWeights
    };
    match (set.action_selection_mode(), set.size_semantics()) {
        (
            ActionSelectionMode::DefaultModeDeterminedByActionSelector,
            SizeSemantics::DefaultSizeDeterminedByActionSelector,
        ) => Ok(false),
        (ActionSelectionMode::Hash, size) if size == natural => Ok(true),
        _ => Err(Refusal::unimplemented(
            "selection modes and size semantics other than the selector's own are not supported",
        )),
    }
}

fn one_shot(
    around: &WriteContext<'_>,
    profile: &ProfileSchema,
    table: &TableSchema,
    set: &v1::ActionProfileActionSet,
) -> Result<EntryAction, Refusal> {
    let actions = &set.action_profile_actions;
    let mut calls = Vec::with_capacity(actions.len());
    for (index, given) in actions.iter().enumerate() {
        let here = |r: Refusal| r.at(&format!("action {index} of the set"));
        let Some(action) = &given.action else {
            return Err(here(Refusal::invalid("the action is missing")));
        };
        use action_profile_action::WatchKind;
        let watch_port = match &given.watch_kind {
            None => None,
            Some(WatchKind::WatchPort(bytes)) if bytes.is_empty() => None,
            Some(WatchKind::WatchPort(bytes)) => Some(around.port(bytes).map_err(here)?),
            #[allow(deprecated)]
            Some(WatchKind::Watch(number)) => {
                watch_number(*number, around.cpu_port).map_err(here)?
            }
        };
        calls.push(WeightedCall {
            call: decode_action(&table.actions, action, Place::Entry).map_err(here)?,
            weight: weight(profile, given.weight).map_err(here)?,
            watch_port: watch_port
                .map(|p| around.watched(p))
                .transpose()
                .map_err(here)?,
        });
    }
    group_size(
        profile,
        profile.max_group_size,
        calls.iter().map(|c| c.weight),
    )?;
    Ok(EntryAction::OneShot(calls))
}

/// The deprecated number of a port to watch; 0 watches none.
///
/// # Errors
/// INVALID_ARGUMENT if there can be no such port.
pub fn watch_number(number: i32, cpu_port: Option<PortId>) -> Result<Option<PortId>, Refusal> {
    match u32::try_from(number) {
        Ok(0) => Ok(None),
        Ok(number) => port_number(number, cpu_port).map(Some),
        Err(_) => Err(Refusal::invalid(format!("watch port {number} is negative"))),
    }
}

/// A group may not be larger than the bound, as the profile counts.
///
/// # Errors
/// INVALID_ARGUMENT if it is.
pub fn group_size(
    profile: &ProfileSchema,
    bound: u32,
    weights: impl Iterator<Item = u32> + Clone,
) -> Result<(), Refusal> {
    let total: u64 = weights.clone().map(u64::from).sum();
    if total > MAX_GROUP_WEIGHT {
        return Err(Refusal::invalid(format!(
            "the weights sum to {total}; {MAX_GROUP_WEIGHT} is the most that can be told apart"
        )));
    }
    let size: u64 = match profile.max_member_weight {
        Some(largest) => {
            if let Some(weight) = weights.clone().find(|w| largest > 0 && *w > largest) {
                return Err(Refusal::invalid(format!(
                    "weight {weight} exceeds `{}`'s largest member weight {largest}",
                    profile.name
                )));
            }
            weights.count() as u64
        }
        None => total,
    };
    if bound > 0 && size > u64::from(bound) {
        return Err(Refusal::invalid(format!(
            "the group's size {size} exceeds the {bound} that `{}` allows",
            profile.name
        )));
    }
    Ok(())
}

/// The message of what an entry does.
#[must_use]
pub fn encode_table_action(
    schema: &Schema,
    table: &TableSchema,
    action: &EntryAction,
    explicit: bool,
) -> Option<v1::TableAction> {
    use table_action::Type;
    let kind = match action {
        EntryAction::Call(call) => Type::Action(encode_action(schema, &table.actions, call)?),
        EntryAction::Member(id) => Type::ActionProfileMemberId(id.0),
        EntryAction::Group(id) => Type::ActionProfileGroupId(id.0),
        EntryAction::OneShot(calls) => {
            let profile = table.profile.and_then(|id| schema.profiles.get(&id));
            let mut set = v1::ActionProfileActionSet {
                action_profile_actions: calls
                    .iter()
                    .map(|c| v1::ActionProfileAction {
                        action: encode_action(schema, &table.actions, &c.call),
                        weight: weight_message(profile, c.weight),
                        watch_kind: c.watch_port.map(|port| {
                            action_profile_action::WatchKind::WatchPort(schema.port_bytes(port))
                        }),
                    })
                    .collect(),
                ..Default::default()
            };
            if explicit {
                let members = profile.is_some_and(|p| p.max_member_weight.is_some());
                set.set_action_selection_mode(ActionSelectionMode::Hash);
                set.set_size_semantics(if members {
                    SizeSemantics::SumOfMembers
                } else {
                    SizeSemantics::SumOfWeights
                });
            }
            Type::ActionProfileActionSet(set)
        }
    };
    Some(v1::TableAction { r#type: Some(kind) })
}

//! Parser value sets (P4Runtime 1.5, section 9.6).

use p4exec::Update;
use p4exec::tables::FieldMatch;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;

use super::key::{decode_key, encode_key};
use super::pipeline_state::{PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::{Schema, ValueSetSchema, unknown};
use super::{Sink, Steps, Verb};

fn find(schema: &Schema, id: u32) -> Result<&ValueSetSchema, Refusal> {
    schema
        .value_sets
        .get(&id)
        .ok_or_else(|| unknown("value set", id))
}

/// Replaces the members.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS for a member given twice; RESOURCE_EXHAUSTED comes
/// from the state.
pub fn write(contents: &View<'_>, verb: Verb, given: &v1::ValueSetEntry) -> Result<Steps, Refusal> {
    verb.only_modify("value set")?;
    let schema = find(contents.schema, given.value_set_id)?;
    let mut members: Vec<Vec<FieldMatch>> = Vec::with_capacity(given.members.len());
    for (index, member) in given.members.iter().enumerate() {
        let here = |r: Refusal| r.at(&format!("value set `{}`: member {index}", schema.name));
        let member = decode_key(&schema.fields, &member.r#match).map_err(here)?;
        if members.contains(&member) {
            return Err(here(Refusal::exists("it is given twice")));
        }
        members.push(member);
    }
    Ok(Steps::one(Step::Update(Update::SetValueSet {
        set: schema.set,
        members,
    })))
}

/// Hands out value sets: all if the id is 0.
///
/// # Errors
/// NOT_FOUND.
pub fn read(
    contents: &PipelineState,
    filter: &v1::ValueSetEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    let schemas: Vec<_> = if filter.value_set_id == 0 {
        contents.schema.value_sets.values().collect()
    } else {
        vec![find(&contents.schema, filter.value_set_id)?]
    };
    for schema in schemas {
        let state = contents.state().value_set(schema.set)?;
        let members = state.members().iter();
        sink(Entity::ValueSetEntry(v1::ValueSetEntry {
            value_set_id: schema.id,
            members: members
                .map(|member| v1::ValueSetMember {
                    r#match: encode_key(&schema.fields, member),
                })
                .collect(),
        }))?;
    }
    Ok(())
}

//! How digests are delivered (P4Runtime 1.5, section 9.8); the delivery itself is in
//! `server::digests`.

use p4runtime::p4::v1;
use p4runtime::p4::v1::digest_entry::Config;
use p4runtime::p4::v1::entity::Entity;

use super::pipeline_state::{Note, NoteKey, PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::{DigestSchema, Schema, unknown};
use super::{Sink, Steps, Verb};

fn find(schema: &Schema, id: u32) -> Result<&DigestSchema, Refusal> {
    schema.digests.get(&id).ok_or_else(|| unknown("digest", id))
}

/// INSERT enables a digest, MODIFY changes how it is delivered, DELETE disables it.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS.
pub fn write(contents: &View<'_>, verb: Verb, given: &v1::DigestEntry) -> Result<Steps, Refusal> {
    let schema = find(contents.schema, given.digest_id)?;
    let key = NoteKey::Digest(given.digest_id);
    let here = |r: Refusal| r.at(&format!("digest `{}`", schema.name));
    match (verb, contents.note(key).is_some()) {
        (Verb::Insert, true) => return Err(here(Refusal::exists("it is enabled already"))),
        (Verb::Modify | Verb::Delete, false) => {
            return Err(here(Refusal::not_found("it is not enabled")));
        }
        _ => {}
    }
    if verb == Verb::Delete {
        return Ok(Steps::one(Step::Note(key, None)));
    }
    let config = given.config.unwrap_or_default();
    let Config {
        max_timeout_ns,
        max_list_size,
        ack_timeout_ns,
    } = config;
    if max_timeout_ns < 0 || max_list_size < 0 || ack_timeout_ns < 0 {
        return Err(here(Refusal::invalid(
            "no number of its config may be negative",
        )));
    }
    let note = Note {
        digest: Some(config),
        ..Note::default()
    };
    Ok(Steps::one(Step::Note(key, Some(note))))
}

/// Hands out the digests that are enabled: all if the id is 0.
///
/// # Errors
/// NOT_FOUND if P4Info has no such digest.
pub fn read(
    contents: &PipelineState,
    filter: &v1::DigestEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    if filter.digest_id != 0 {
        find(&contents.schema, filter.digest_id)?;
    }
    for (key, note) in contents.notes() {
        if let NoteKey::Digest(digest_id) = *key
            && (filter.digest_id == 0 || filter.digest_id == digest_id)
        {
            let config = note.digest;
            sink(Entity::DigestEntry(v1::DigestEntry { digest_id, config }))?;
        }
    }
    Ok(())
}

//! The program as a whole: its JSON, another one, its state, the parameters of its hashes. And what
//! is not served: learning.

use md5::{Digest as _, Md5};
use p4exec::Update;
use p4exec::externs::hash::{Calculation, CrcConfig, HashAlgorithm};
use p4runtime::p4::v1::ForwardingPipelineConfig;
use serde_json::Value as Json;

use super::replication::Sessions;
use super::value::Value;
use super::{Call, Fault, Outcome};
use crate::server::pipeline::{Pipeline, device_text};
use crate::translate::refusal::Refusal;

/// `SwapOperationErrorCode`.
const SWAP_DISABLED: i32 = 1;
const ONGOING_SWAP: i32 = 2;
const NO_ONGOING_SWAP: i32 = 3;

/// `LearnOperationErrorCode`.
const INVALID_LIST: i32 = 1;
const LEARN_ERROR: i32 = 3;

/// `CrcErrorCode` and `ToeplitzHashErrorCode`.
const INVALID_CALCULATION: i32 = 1;
const WRONG_CALCULATION: i32 = 2;
const INVALID_CONFIG: i32 = 3;

/// `IdLookupErrorCode`.
const INVALID_TYPE: i32 = 0;
const INVALID_RESOURCE: i32 = 1;

/// What BMv2 says before it has a program.
const NO_PROGRAM: &str = "{}";

/// The JSON of a pipeline: as it came, or made of its P4 source.
fn json_of(pipeline: &Pipeline) -> Result<String, Fault> {
    let text = device_text(&pipeline.config.p4_device_config)?;
    if bmv2json::is_json(&text) {
        return Ok(text.into_owned());
    }
    bmv2json::write(&pipeline.contents.schema.program, "program.p4")
        .map_err(|e| Fault::Application(format!("the program cannot be said in BMv2's JSON: {e}")))
}

fn current_json(call: &Call<'_>) -> Result<String, Fault> {
    let pipelines = call.subject.switch.pipelines();
    pipelines
        .current()
        .map_or_else(|| Ok(NO_PROGRAM.to_owned()), json_of)
}

pub(super) fn config(call: &Call<'_>) -> Outcome {
    Ok(Some(Value::text(current_json(call)?)))
}

pub(super) fn config_md5(call: &Call<'_>) -> Outcome {
    let sum = Md5::digest(current_json(call)?.as_bytes());
    Ok(Some(Value::Bytes(sum.to_vec())))
}

pub(super) fn info(call: &Call<'_>) -> Outcome {
    let device = i64::try_from(call.subject.device_id).unwrap_or(i64::MAX);
    // The optional fields name sockets of nanomsg, of which there is none.
    let fields = [(1, Value::I64(device)), (2, Value::I32(call.port.into()))];
    Ok(Some(Value::structure(fields)))
}

fn check_swap(call: &Call<'_>) -> Result<(), Fault> {
    match call.subject.swap {
        true => Ok(()),
        false => Err(Fault::Code(SWAP_DISABLED)),
    }
}

/// Builds a program, and runs it or keeps it for `swap_configs`.
fn install(call: &Call<'_>, config: ForwardingPipelineConfig, save: bool) -> Result<(), Refusal> {
    let switch = &call.subject.switch;
    call.runtime.block_on(switch.install(config, save))
}

pub(super) fn load_new_config(call: &Call<'_>) -> Outcome {
    check_swap(call)?;
    if call.subject.switch.pipelines().saved.is_some() {
        return Err(Fault::Code(ONGOING_SWAP));
    }
    let config = ForwardingPipelineConfig {
        p4_device_config: call.args.bytes(1)?,
        ..Default::default()
    };
    install(call, config, true)?;
    Ok(None)
}

pub(super) fn swap_configs(call: &Call<'_>) -> Outcome {
    check_swap(call)?;
    match call.subject.switch.run_saved() {
        Ok(()) => Ok(None),
        Err(refusal) if refusal.code == tonic::Code::NotFound => {
            Err(Fault::Refused(NO_ONGOING_SWAP, refusal.message))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// The same program anew: without entries, counts, multicast groups and nodes. As in BMv2, clone
/// sessions and the parameters of hashes stay.
pub(super) fn reset_state(call: &Call<'_>) -> Outcome {
    let switch = &call.subject.switch;
    let running = {
        let pipelines = switch.pipelines();
        let running = pipelines.running.as_ref();
        let kept = running.map(|p| {
            let hashes: Vec<_> = p.contents.state().hashers.customs().collect();
            let sessions = Sessions::of(&p.contents)?;
            Ok::<_, Refusal>((p.config.clone(), sessions, hashes))
        });
        kept.transpose()?
    };
    let Some((config, sessions, hashes)) = running else {
        return Ok(None);
    };
    install(call, config, false)?;
    sessions.set(switch)?;
    for (algorithm, config) in hashes {
        let config = Some(config);
        switch.amend_state(Update::SetCrc { algorithm, config })?;
    }
    Ok(None)
}

pub(super) fn serialize_state(_: &Call<'_>) -> Outcome {
    Err(Fault::Application(
        "the state is not written in BMv2's format; start the switch with --state-dir DIR to keep it".to_owned(),
    ))
}

/// The program's JSON, to look things up.
fn parsed(call: &Call<'_>) -> Result<Json, Fault> {
    serde_json::from_str(&current_json(call)?).map_err(|e| Fault::Application(e.to_string()))
}

fn array<'a>(json: &'a Json, name: &str) -> impl Iterator<Item = &'a Json> + use<'a> {
    json.get(name)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
}

fn is_named(object: &Json, name: &str) -> bool {
    object.get("name").and_then(Json::as_str) == Some(name)
}

pub(super) fn id_from_name(call: &Call<'_>) -> Outcome {
    let (kind, name) = (call.args.i32(2)?, call.args.text(3)?);
    let json = parsed(call)?;
    let in_pipelines = |list| {
        let pipelines = array(&json, "pipelines");
        pipelines
            .flat_map(|pipeline| array(pipeline, list))
            .collect()
    };
    let objects: Vec<&Json> = match kind {
        0 => in_pipelines("tables"),
        1 => in_pipelines("action_profiles"),
        2 => array(&json, "counter_arrays").collect(),
        3 => array(&json, "meter_arrays").collect(),
        4 => array(&json, "register_arrays").collect(),
        5 => array(&json, "learn_lists").collect(),
        _ => return Err(Fault::Code(INVALID_TYPE)),
    };
    let found = objects.into_iter().find(|object| is_named(object, &name));
    let id = found.and_then(|object| i32::try_from(object.get("id")?.as_i64()?).ok());
    id.map(|id| Some(Value::I32(id)))
        .ok_or(Fault::Code(INVALID_RESOURCE))
}

/// Samples go out over nanomsg in BMv2; here digests are P4Runtime's.
fn refuse_learning(call: &Call<'_>) -> Outcome {
    let list = i64::from(call.args.i32(2)?);
    let json = parsed(call)?;
    let known =
        array(&json, "learn_lists").any(|l| l.get("id").and_then(Json::as_i64) == Some(list));
    if !known {
        return Err(Fault::Code(INVALID_LIST));
    }
    Err(Fault::Refused(
        LEARN_ERROR,
        "there are no learning notifications over nanomsg; digests go to P4Runtime's clients"
            .to_owned(),
    ))
}

pub(super) fn learning_ack(call: &Call<'_>) -> Outcome {
    refuse_learning(call)
}

pub(super) fn learning_set(call: &Call<'_>) -> Outcome {
    refuse_learning(call)
}

/// The number of a calculation among those of the program, and its algorithm.
fn calculation(call: &Call<'_>) -> Result<(usize, String), Fault> {
    let name = call.args.text(2)?;
    let json = parsed(call)?;
    let mut numbered = (1..).zip(array(&json, "calculations"));
    let found = numbered.find(|(_, c)| is_named(c, &name));
    let found = found.and_then(|(number, c)| Some((number, c.get("algo")?.as_str()?.to_owned())));
    found.ok_or(Fault::Code(INVALID_CALCULATION))
}

/// How many calculations have an algorithm.
fn count(call: &Call<'_>, algorithm: &str) -> Result<usize, Fault> {
    let json = parsed(call)?;
    let same = |c: &&Json| c.get("algo").and_then(Json::as_str) == Some(algorithm);
    Ok(array(&json, "calculations").filter(same).count())
}

/// Whether the program came as JSON: its calculations have names then.
fn is_json(call: &Call<'_>) -> bool {
    let pipelines = call.subject.switch.pipelines();
    let config = pipelines.current().map(|p| &p.config.p4_device_config);
    let text = config.and_then(|bytes| device_text(bytes).ok());
    text.is_some_and(|text| bmv2json::is_json(&text))
}

fn set_crc(
    call: &Call<'_>,
    algorithm: &str,
    of: fn(Calculation) -> HashAlgorithm,
    config: CrcConfig,
) -> Outcome {
    let (number, found) = calculation(call)?;
    if found != algorithm {
        return Err(Fault::Code(WRONG_CALCULATION));
    }
    let too_many = |_| Fault::Code(INVALID_CONFIG);
    let number = match is_json(call) {
        true => u16::try_from(number).map_err(too_many)?,
        false if count(call, algorithm)? == 1 => 0,
        false => {
            let why = "the calculations of a P4 source cannot be told apart: start the switch with the program's JSON";
            return Err(Fault::Refused(INVALID_CONFIG, why.to_owned()));
        }
    };
    let (algorithm, config) = (of(Calculation(number)), Some(config));
    let set = Update::SetCrc { algorithm, config };
    let made = call.subject.switch.amend_state(set);
    made.map_err(|refusal| Fault::Refused(INVALID_CONFIG, refusal.message))?;
    Ok(None)
}

pub(super) fn set_crc16(call: &Call<'_>) -> Outcome {
    let given = call.args.fields(3)?;
    let number = |field| Ok::<_, Fault>(u64::from(given.i16(field)?.cast_unsigned()));
    let config = CrcConfig {
        width: 16,
        polynomial: number(1)?,
        initial: number(2)?,
        final_xor: number(3)?,
        reflect_input: given.bool(4)?,
        reflect_output: given.bool(5)?,
    };
    set_crc(call, "crc16_custom", HashAlgorithm::Crc16Custom, config)
}

pub(super) fn set_crc32(call: &Call<'_>) -> Outcome {
    let given = call.args.fields(3)?;
    let number = |field| Ok::<_, Fault>(u64::from(given.i32(field)?.cast_unsigned()));
    let config = CrcConfig {
        width: 32,
        polynomial: number(1)?,
        initial: number(2)?,
        final_xor: number(3)?,
        reflect_input: given.bool(4)?,
        reflect_output: given.bool(5)?,
    };
    set_crc(call, "crc32_custom", HashAlgorithm::Crc32Custom, config)
}

/// No program that runs here has such a hash.
pub(super) fn set_toeplitz(call: &Call<'_>) -> Outcome {
    calculation(call)?;
    Err(Fault::Code(WRONG_CALCULATION))
}

//! Forwarding pipelines: from the bytes a client pushes to a program that runs (P4Runtime 1.5,
//! chapters 7, 14 and 15).

use std::borrow::Cow;
use std::sync::Arc;

use p4exec::BuildError;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use prost::Message;

use crate::engine::control::Control;
use crate::engine::{BoxedExecutor, EngineHandle, ExecutorKind, ReadyProgram};
use crate::port_names::PortNames;
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::schema::Schema;

/// A program with its configuration and everything it holds.
pub struct Pipeline {
    /// As the client gave it.
    pub config: v1::ForwardingPipelineConfig,
    /// Names and state.
    pub contents: PipelineState,
}

/// `p4.tmp.P4DeviceConfig`, in which clients of BMv2 wrap the JSON.
#[derive(Clone, PartialEq, Message)]
struct Wrapped {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// Control characters never occur in a program's text, and always in a wrapped one.
fn is_text(bytes: &[u8]) -> bool {
    !bytes
        .iter()
        .any(|b| *b < 0x20 && !b"\t\n\x0b\x0c\r".contains(b))
}

/// The text of a device config, raw or wrapped: P4 or BMv2 JSON.
///
/// # Errors
/// INVALID_ARGUMENT if there is none.
pub fn device_text(bytes: &[u8]) -> Result<Cow<'_, str>, Refusal> {
    let expected = "expected P4_16 text or BMv2 JSON, raw or in a p4.tmp.P4DeviceConfig";
    if bytes.is_empty() {
        return Err(Refusal::invalid(format!(
            "p4_device_config is empty; {expected}"
        )));
    }
    if !is_text(bytes) {
        let wrapped = Wrapped::decode(bytes).ok();
        let data = wrapped
            .map(|w| w.device_data)
            .filter(|d| !d.is_empty() && is_text(d));
        let data = data
            .ok_or_else(|| Refusal::invalid(format!("p4_device_config is no text; {expected}")))?;
        return Ok(Cow::Owned(device_text(&data)?.into_owned()));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Refusal::invalid(format!("p4_device_config is not UTF-8: {e}")))?;
    Ok(Cow::Borrowed(text))
}

/// The program in a device config.
///
/// # Errors
/// INVALID_ARGUMENT with what the front end says.
pub fn read_device_config(bytes: &[u8]) -> Result<ValidProgram, Refusal> {
    let text = device_text(bytes)?;
    if bmv2json::is_json(&text) {
        return bmv2json::read(&text)
            .map_err(|e| Refusal::invalid(format!("p4_device_config: {e}")));
    }
    compile(&text)
}

/// A program comes alone and sees built-in files only: a client must not make the switch read those
/// of its machine.
fn compile(text: &str) -> Result<ValidProgram, Refusal> {
    let mut map = SourceMap::new();
    let main = map
        .add("p4_device_config", text)
        .map_err(|e| Refusal::invalid(format!("p4_device_config: {e}")))?;
    let options = p4front::Options {
        files: p4front::Files::Builtin,
        ..p4front::Options::default()
    };
    p4front::compile(&mut map, main, &options)
        .map(|compiled| compiled.ir)
        .map_err(|findings| {
            let text = findings.render(&map);
            // What is sent back travels in a trailer, which must stay small.
            Refusal::invalid(format!("p4_device_config: {}", cut(&text, 2000)))
        })
}

/// The first characters of a text.
fn cut(text: &str, length: usize) -> &str {
    text.char_indices()
        .nth(length)
        .map_or(text, |(end, _)| &text[..end])
}

/// The P4Info of a configuration. BMv2 JSON may come without: it is that of the program then.
fn p4info<'a>(
    config: &'a v1::ForwardingPipelineConfig,
    program: &ValidProgram,
) -> Result<Cow<'a, P4Info>, Refusal> {
    match &config.p4info {
        Some(info) => Ok(Cow::Borrowed(info)),
        None if bmv2json::is_json(&device_text(&config.p4_device_config)?) => {
            Ok(Cow::Owned(p4front::p4info_of(program)))
        }
        None => Err(no_p4info()),
    }
}

/// Why a configuration without P4Info is refused.
#[must_use]
pub fn no_p4info() -> Refusal {
    Refusal::invalid("the config has no p4info")
}

fn unfit(error: BuildError) -> Refusal {
    Refusal::invalid(format!("p4_device_config: {error}"))
}

/// The program of a configuration, which its P4Info fits.
fn read(
    config: &v1::ForwardingPipelineConfig,
    names: &Arc<PortNames>,
) -> Result<(Arc<ValidProgram>, Schema), Refusal> {
    let program = Arc::new(read_device_config(&config.p4_device_config)?);
    let info = p4info(config, &program)?;
    let schema = Schema::new(Arc::clone(&program), &info, names)?;
    Ok((program, schema))
}

/// Verifies a configuration and makes its program ready, with all that takes long.
///
/// # Errors
/// As [`Pipeline::build`].
pub fn prepare(
    executor: ExecutorKind,
    config: &v1::ForwardingPipelineConfig,
) -> Result<ReadyProgram, Refusal> {
    // Whether a configuration fits does not depend on what the ports of this switch are called.
    let (program, _) = read(config, &Arc::default())?;
    executor.prepare(program).map_err(unfit)
}

impl Pipeline {
    /// Verifies a configuration and builds what runs it; nothing runs yet. All of that happens
    /// here: a program that a client pushed should go through [`super::build`].
    ///
    /// # Errors
    /// INVALID_ARGUMENT if something is missing or does not fit.
    pub fn build(
        engine: &EngineHandle,
        config: v1::ForwardingPipelineConfig,
    ) -> Result<Self, Refusal> {
        let (program, schema) = read(&config, engine.port_names())?;
        let executor = engine.build(program).map_err(unfit)?;
        Ok(Self::new(engine, config, schema, executor))
    }

    /// The same for a program that [`prepare`] has made ready from this configuration.
    ///
    /// # Errors
    /// As [`Pipeline::build`].
    pub fn link(
        engine: &EngineHandle,
        config: v1::ForwardingPipelineConfig,
        ready: ReadyProgram,
    ) -> Result<Self, Refusal> {
        let names = engine.port_names();
        let info = p4info(&config, &ready.program)?;
        let schema = Schema::new(Arc::clone(&ready.program), &info, names)?;
        let executor = engine.link(ready).map_err(unfit)?;
        Ok(Self::new(engine, config, schema, executor))
    }

    fn new(
        engine: &EngineHandle,
        mut config: v1::ForwardingPipelineConfig,
        schema: Schema,
        executor: BoxedExecutor,
    ) -> Self {
        if config.p4info.is_none() {
            config.p4info = Some(p4front::p4info_of(&schema.program));
        }
        let control = Control::new(engine, executor);
        Self {
            config,
            contents: PipelineState::new(Arc::new(schema), control),
        }
    }

    /// The parts of the configuration that a client asks for.
    #[must_use]
    pub fn response(
        &self,
        wanted: v1::get_forwarding_pipeline_config_request::ResponseType,
    ) -> v1::ForwardingPipelineConfig {
        use v1::get_forwarding_pipeline_config_request::ResponseType as Wanted;
        let info = matches!(wanted, Wanted::All | Wanted::P4infoAndCookie);
        let device = matches!(wanted, Wanted::All | Wanted::DeviceConfigAndCookie);
        v1::ForwardingPipelineConfig {
            p4info: self.config.p4info.clone().filter(|_| info),
            p4_device_config: if device {
                self.config.p4_device_config.clone()
            } else {
                Vec::new()
            },
            cookie: self.config.cookie,
        }
    }
}

//! Set: the one thing that a client can configure of a port is whether it is enabled (gNMI section
//! 3.4).

use std::collections::BTreeMap;
use std::time::SystemTime;

use ::gnmi::proto::typed_value::Value as Typed;
use ::gnmi::proto::update_result::Operation;
use ::gnmi::proto::{Path, SetRequest, SetResponse, Update, UpdateResult};
use quantities::PortId;
use serde_json::Value as Json;
use tonic::Status;

use super::facts::Facts;
use super::path::{Pattern, answer_prefix};
use super::schema::{KEY, Kind, LEAVES, LIST_DEPTH, nanoseconds};
use crate::engine::EngineError;
use crate::server::limits::GnmiLimits;

/// The model's default of `enabled`.
const DEFAULT: bool = true;

/// Makes all changes of a request, or none.
///
/// # Errors
/// The first operation that is refused: INVALID_ARGUMENT, UNIMPLEMENTED, or NOT_FOUND where there
/// is no such port.
pub(super) fn answer(
    facts: &Facts,
    request: &SetRequest,
    limits: &GnmiLimits,
) -> Result<SetResponse, Status> {
    super::refuse_extensions(&request.extension)?;
    if let Some(update) = request.union_replace.first() {
        let pattern = pattern(request.prefix.as_ref(), update.path.as_ref())?;
        return Err(Status::unimplemented(format!(
            "{pattern}: union_replace is not implemented; use update"
        )));
    }
    let count = request.delete.len() + request.replace.len() + request.update.len();
    super::check_count("operations", count, limits)?;
    if count == 0 {
        return Err(Status::invalid_argument("the request has no operation"));
    }
    let mut change = Change {
        prefix: request.prefix.as_ref(),
        ports: BTreeMap::new(),
        enabled: BTreeMap::new(),
        response: Vec::new(),
    };
    for state in facts.engine.port_states().ports {
        let port = facts.port(state);
        change.ports.insert(port.name.to_string(), state.port);
    }
    // The order of gNMI section 3.4.3.
    for path in &request.delete {
        change.delete(path)?;
    }
    for update in &request.replace {
        change.update(update, Operation::Replace)?;
    }
    for update in &request.update {
        change.update(update, Operation::Update)?;
    }
    answer_prefix(request.prefix.as_ref())?;
    let set = facts.engine.set_ports_enabled(&change.enabled);
    set.map_err(|error| match error {
        EngineError::NoPort(_) => Status::not_found(error.to_string()),
        other => Status::unavailable(other.to_string()),
    })?;
    Ok(SetResponse {
        prefix: request.prefix.clone(),
        response: change.response,
        timestamp: i64::try_from(nanoseconds(SystemTime::now())).unwrap_or(i64::MAX),
        ..SetResponse::default()
    })
}

fn pattern(prefix: Option<&Path>, path: Option<&Path>) -> Result<Pattern, Status> {
    Pattern::read(prefix, path.unwrap_or(&Path::default()))
}

/// What a request changes.
struct Change<'a> {
    prefix: Option<&'a Path>,
    ports: BTreeMap<String, PortId>,
    enabled: BTreeMap<PortId, bool>,
    response: Vec<UpdateResult>,
}

impl Change<'_> {
    fn delete(&mut self, path: &Path) -> Result<(), Status> {
        let pattern = pattern(self.prefix, Some(path))?;
        let reach = pattern.reach()?;
        for (number, filter) in &reach.leaves {
            let Some(leaf) = LEAVES.get(*number) else {
                continue;
            };
            let name = leaf.steps.last().map_or("", |step| step.name);
            if leaf.kind != Kind::Config || name != "enabled" {
                return Err(Status::unimplemented(format!(
                    "{pattern} cannot be deleted: it has more than config/enabled"
                )));
            }
            let here = self.ports.iter().filter(|(name, _)| filter.has(name));
            let ports: Vec<PortId> = here.map(|(_, port)| *port).collect();
            self.enabled
                .extend(ports.into_iter().map(|port| (port, DEFAULT)));
        }
        self.done(path, Operation::Delete);
        Ok(())
    }

    fn update(&mut self, update: &Update, operation: Operation) -> Result<(), Status> {
        let pattern = pattern(self.prefix, update.path.as_ref())?;
        pattern.reach()?;
        let invalid = |why: &str| Status::invalid_argument(format!("{pattern}: {why}"));
        #[allow(deprecated)]
        if update.value.is_some() {
            return Err(invalid(
                "the field `value` is gone since gNMI 0.3; use `val`",
            ));
        }
        let Some((names, port)) = pattern.concrete() else {
            return Err(invalid("what is set must be named without wildcards"));
        };
        let value = update.val.as_ref().and_then(|value| value.value.as_ref());
        let value = value.ok_or_else(|| invalid("there is no value"))?;
        let Some(port) = port else {
            return Err(Status::unimplemented(format!(
                "{pattern} cannot be set; set config/enabled of an interface"
            )));
        };
        // The path is in the tree: these are below an interface.
        let enabled = match names.get(LIST_DEPTH..) {
            Some(["config", "enabled"]) => flag(value).map_err(|why| invalid(&why))?,
            Some(["config"]) => {
                let given = config(value, port).map_err(|why| invalid(&why))?;
                given.or((operation == Operation::Replace).then_some(DEFAULT))
            }
            Some(["state", ..] | ["ethernet", "state", ..]) => {
                return Err(invalid("this is state, which nobody can set"));
            }
            _ => {
                return Err(Status::unimplemented(format!(
                    "{pattern} cannot be set; of an interface only config/enabled can"
                )));
            }
        };
        let number = self.ports.get(port);
        let number = number
            .ok_or_else(|| Status::not_found(format!("{pattern}: the switch has no such port")))?;
        self.enabled
            .extend(enabled.map(|enabled| (*number, enabled)));
        self.done(&update.path.clone().unwrap_or_default(), operation);
        Ok(())
    }

    fn done(&mut self, path: &Path, operation: Operation) {
        self.response.push(UpdateResult {
            path: Some(path.clone()),
            op: operation.into(),
            ..UpdateResult::default()
        });
    }
}

/// The JSON text of a value.
fn json(value: &Typed) -> Result<Json, String> {
    let (Typed::JsonVal(text) | Typed::JsonIetfVal(text)) = value else {
        return Err(format!("its value is {}", described(value)));
    };
    serde_json::from_slice(text).map_err(|error| format!("the value is no JSON: {error}"))
}

const fn described(value: &Typed) -> &'static str {
    match value {
        Typed::StringVal(_) => "a string",
        Typed::IntVal(_) | Typed::UintVal(_) => "a number",
        Typed::BoolVal(_) => "a boolean",
        _ => "of another type",
    }
}

fn flag(value: &Typed) -> Result<Option<bool>, String> {
    if let Typed::BoolVal(flag) = value {
        return Ok(Some(*flag));
    }
    match json(value).map_err(|why| format!("a boolean is needed: {why}"))? {
        Json::Bool(flag) => Ok(Some(flag)),
        _ => Err("a boolean is needed".to_owned()),
    }
}

/// A whole `config`: `enabled`, and `name` as it is.
fn config(value: &Typed, port: &str) -> Result<Option<bool>, String> {
    let Json::Object(members) = json(value).map_err(|why| format!("JSON is needed: {why}"))? else {
        return Err("an object is needed".to_owned());
    };
    let mut enabled = None;
    for (name, value) in &members {
        let name = name.strip_prefix("openconfig-interfaces:").unwrap_or(name);
        match (name, value) {
            ("enabled", Json::Bool(flag)) => enabled = Some(*flag),
            ("enabled", _) => return Err("`enabled` is a boolean".to_owned()),
            (KEY, Json::String(same)) if same == port => {}
            (KEY, _) => return Err("`name` is the interface's own name".to_owned()),
            (other, _) => {
                let other: String = other.chars().take(64).collect();
                return Err(format!("`{other}` cannot be set; only `enabled` can"));
            }
        }
    }
    Ok(enabled)
}

//! Get: a snapshot of paths (gNMI section 3.3).

use std::collections::BTreeSet;

use ::gnmi::proto::get_request::DataType;
use ::gnmi::proto::{GetRequest, GetResponse, ModelData, Notification, Path, Update};
use prost::Message as _;
use serde_json::{Map, Value as Json};
use tonic::Status;

use super::facts::{Facts, Port, Snapshot, Wants};
use super::models::{Module, Step};
use super::path::{Filter, Pattern, Reach, answer_prefix, leaf_path};
use super::schema::{KEY, Kind, LEAVES, LIST_DEPTH, Leaf, nanoseconds};
use super::value::{Encoding, Value};
use crate::server::limits::{GnmiLimits, Permit};

/// The leaves that a request is about.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    kind: DataType,
    models: Option<Vec<Module>>,
}

impl Choice {
    /// # Errors
    /// INVALID_ARGUMENT for a type that there is not; UNIMPLEMENTED for a model that is not served.
    pub(super) fn read(kind: i32, models: &[ModelData]) -> Result<Self, Status> {
        let kind = DataType::try_from(kind)
            .map_err(|_| Status::invalid_argument(format!("there is no type of data {kind}")))?;
        let models = match models {
            [] => None,
            models => Some(models.iter().map(model).collect::<Result<_, _>>()?),
        };
        Ok(Self { kind, models })
    }

    pub(super) fn has(&self, leaf: &Leaf) -> bool {
        let kind = match self.kind {
            DataType::All => true,
            DataType::Config => leaf.kind == Kind::Config,
            DataType::State => leaf.kind != Kind::Config,
            DataType::Operational => leaf.kind == Kind::Operational,
        };
        let models = self.models.as_ref();
        kind && models.is_none_or(|models| models.contains(&leaf.module()))
    }
}

fn model(model: &ModelData) -> Result<Module, Status> {
    let fits = |module: &Module| {
        let organization = &model.organization;
        let version = &model.version;
        (organization.is_empty() || organization == module.organization())
            && (version.is_empty() || version == module.version())
    };
    Module::named(&model.name).filter(fits).ok_or_else(|| {
        let text: String = format!("{} {}", model.name, model.version)
            .chars()
            .take(100)
            .collect();
        Status::unimplemented(format!(
            "the model {text} is not served; Capabilities lists those that are"
        ))
    })
}

/// What an update takes in an answer besides its bytes.
const OVERHEAD: usize = 8;

/// How much an answer may become.
struct Room {
    /// Memory that all answers share, as much as this one has become.
    memory: Permit,
    most: usize,
}

impl Room {
    fn take(&mut self, update: &Update) -> Result<(), Status> {
        let size = update.encoded_len() + OVERHEAD;
        if size > self.left() {
            return Err(self.full());
        }
        match self.memory.more(size) {
            true => Ok(()),
            false => Err(Status::resource_exhausted(
                "too many clients do not take their answers; try again",
            )),
        }
    }

    const fn left(&self) -> usize {
        self.most.saturating_sub(self.memory.count())
    }

    fn full(&self) -> Status {
        let most = self.most;
        Status::resource_exhausted(format!(
            "the answer is longer than {most} bytes; ask for fewer paths, or use Subscribe with the mode ONCE"
        ))
    }
}

/// What a request asks for.
struct Question {
    prefix: Option<Path>,
    encoding: Encoding,
    choice: Choice,
    paths: Vec<(Pattern, Reach)>,
}

/// Answers a request. `memory` grows with the answer and comes back with it.
///
/// # Errors
/// INVALID_ARGUMENT, UNIMPLEMENTED and NOT_FOUND as gNMI section 3.3.4 says; RESOURCE_EXHAUSTED for
/// what is too large.
pub(super) async fn answer(
    facts: &std::sync::Arc<Facts>,
    request: GetRequest,
    limits: &GnmiLimits,
    memory: Permit,
) -> Result<(GetResponse, Permit), Status> {
    let question = read(&request, limits)?;
    let wants = question.paths.iter().map(|(_, reach)| reach.wants());
    let wants = wants.fold(Wants::default(), Wants::with);
    let snapshot = facts.snapshot(wants).await?;
    let mut room = Room {
        memory,
        most: limits.answer,
    };
    let mut notification = Vec::new();
    for (pattern, reach) in &question.paths {
        let update = question.updates(pattern, reach, &snapshot, &mut room)?;
        notification.push(Notification {
            timestamp: i64::try_from(nanoseconds(snapshot.time)).unwrap_or(i64::MAX),
            prefix: question.prefix.clone(),
            update,
            ..Notification::default()
        });
    }
    let response = GetResponse {
        notification,
        ..GetResponse::default()
    };
    Ok((response, room.memory))
}

fn read(request: &GetRequest, limits: &GnmiLimits) -> Result<Question, Status> {
    super::refuse_extensions(&request.extension)?;
    let encoding = Encoding::of(request.encoding)?;
    let choice = Choice::read(request.r#type, &request.use_models)?;
    let prefix = request.prefix.as_ref();
    if request.path.is_empty() {
        return Err(Status::invalid_argument("the request has no path"));
    }
    super::check_count("paths", request.path.len(), limits)?;
    let read = |path| {
        let pattern = Pattern::read(prefix, path)?;
        let reach = pattern.reach()?;
        Ok::<_, Status>((pattern, reach))
    };
    Ok(Question {
        prefix: answer_prefix(prefix)?,
        encoding,
        choice,
        paths: request.path.iter().map(read).collect::<Result<_, _>>()?,
    })
}

impl Question {
    fn updates(
        &self,
        pattern: &Pattern,
        reach: &Reach,
        snapshot: &Snapshot,
        room: &mut Room,
    ) -> Result<Vec<Update>, Status> {
        let updates = match self.encoding {
            Encoding::Proto => self.scalars(pattern, reach, snapshot, room)?,
            Encoding::Json | Encoding::Ietf => self.objects(pattern, reach, snapshot, room)?,
        };
        let asked = reach.leaves.keys().filter_map(|number| LEAVES.get(*number));
        let chosen = asked.into_iter().any(|leaf| self.choice.has(leaf));
        let one = pattern.concrete().is_some_and(|(_, port)| port.is_some());
        if updates.is_empty() && chosen && one {
            return Err(Status::not_found(format!("{pattern} has no value")));
        }
        Ok(updates)
    }

    /// The values of leaves below a node, for the ports of a filter.
    fn values<'a>(
        &'a self,
        numbers: impl Iterator<Item = (&'a usize, &'a Filter)> + Clone + 'a,
        port: &'a Port,
    ) -> impl Iterator<Item = (&'static Leaf, Value)> + 'a {
        let here = numbers.filter(|(_, filter)| filter.has(&port.name));
        let leaves = here.filter_map(|(number, _)| LEAVES.get(*number));
        let chosen = leaves.filter(|leaf| self.choice.has(leaf));
        chosen.filter_map(|leaf| Some((leaf, leaf.value(port)?)))
    }

    fn scalars(
        &self,
        pattern: &Pattern,
        reach: &Reach,
        snapshot: &Snapshot,
        room: &mut Room,
    ) -> Result<Vec<Update>, Status> {
        let mut updates = Vec::new();
        for port in &snapshot.ports {
            for (leaf, value) in self.values(reach.leaves.iter(), port) {
                let update = Update {
                    path: Some(leaf_path(pattern.origin(), leaf, port)),
                    val: Some(self.encoding.leaf(&value)),
                    ..Update::default()
                };
                room.take(&update)?;
                updates.push(update);
            }
        }
        Ok(updates)
    }

    /// One value for each node that the path ends at.
    fn objects(
        &self,
        pattern: &Pattern,
        reach: &Reach,
        snapshot: &Snapshot,
        room: &mut Room,
    ) -> Result<Vec<Update>, Status> {
        let mut updates = Vec::new();
        for (steps, filter) in &reach.nodes {
            let ports = snapshot.ports.iter();
            let ports: Vec<&Port> = ports.filter(|port| filter.has(&port.name)).collect();
            // The list of ports is one value; below it there is one for each port.
            let groups: Vec<&[&Port]> = match steps.len() {
                depth if depth < LIST_DEPTH => vec![&ports],
                _ => ports.chunks(1).collect(),
            };
            for group in groups {
                let Some(value) = self.subtree(steps, group, room)? else {
                    continue;
                };
                let port = group.first().filter(|_| steps.len() >= LIST_DEPTH);
                let update = Update {
                    path: Some(pattern.answer(steps, port.map(|port| &*port.name))),
                    val: Some(self.encoding.json(&value)),
                    ..Update::default()
                };
                room.take(&update)?;
                updates.push(update);
            }
        }
        Ok(updates)
    }

    /// What is below a node, of these ports; nothing where that is nothing.
    fn subtree(
        &self,
        steps: &[Step],
        ports: &[&Port],
        room: &Room,
    ) -> Result<Option<Json>, Status> {
        let below = |leaf: &Leaf| leaf.steps.starts_with(steps);
        let all = Filter::All;
        let numbers: BTreeSet<usize> = (0..LEAVES.len())
            .filter(|number| LEAVES.get(*number).is_some_and(below))
            .collect();
        if steps.len() < LIST_DEPTH {
            return self.list(steps, ports, &numbers, room).map(Some);
        }
        let mut object = Map::new();
        let Some(port) = ports.first() else {
            return Ok(None);
        };
        let numbers = numbers.iter().map(|number| (number, &all));
        for (leaf, value) in self.values(numbers, port) {
            let way = leaf.steps.get(steps.len()..).unwrap_or_default();
            let value = self.encoding.bare(&value);
            if way.is_empty() {
                return Ok(Some(value));
            }
            self.encoding.insert(&mut object, None, way, value);
        }
        Ok((!object.is_empty()).then_some(Json::Object(object)))
    }

    /// The list of ports, in the containers above it.
    fn list(
        &self,
        steps: &[Step],
        ports: &[&Port],
        numbers: &BTreeSet<usize>,
        room: &Room,
    ) -> Result<Json, Status> {
        let all = Filter::All;
        let way: &[Step] = LEAVES.first().map_or(&[], |leaf| &leaf.steps[..LIST_DEPTH]);
        let outer = way.last().copied();
        let mut entries = Vec::new();
        let mut size = 0;
        for port in ports {
            let mut entry = Map::new();
            let numbers = numbers.iter().map(|number| (number, &all));
            for (leaf, value) in self.values(numbers, port) {
                let way = leaf.steps.get(LIST_DEPTH..).unwrap_or_default();
                let value = self.encoding.bare(&value);
                self.encoding.insert(&mut entry, outer, way, value);
            }
            if entry.is_empty() {
                continue;
            }
            // An entry of a list always has its key.
            entry.entry(KEY).or_insert_with(|| Json::from(&*port.name));
            let entry = Json::Object(entry);
            size += entry.to_string().len();
            if size > room.left() {
                return Err(room.full());
            }
            entries.push(entry);
        }
        let mut object = Map::new();
        let way = way.get(steps.len()..).unwrap_or_default();
        self.encoding
            .insert(&mut object, None, way, Json::Array(entries));
        Ok(Json::Object(object))
    }
}

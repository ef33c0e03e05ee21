//! The plan file: versioned JSON that any tool may write, and that `check` and `build` read.
//!
//! `docs/plan-file.md` describes it, `docs/plan.schema.json` is its JSON Schema. The whole topology
//! is inside, so a plan file needs nothing beside it. Switches with the same rules share one list.

use std::collections::BTreeMap;
use std::fmt;

use quantities::Priority;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;
use topology::routes::RoutePolicy;
use topology::{FileError, HeaderError, SwitchId, Topology, TopologyPart, read_with_header};

use super::budget::Budget;
use super::carrier::{Carrier, CarrierKind, TagCode};
use super::failover::{Failover, FailoverFile, FailoverFileError};
use super::model::{Class, Promise, Provenance, RuleForm, Tables, TagRule, Tagging};
use super::portset::PortSet;
use super::tag::{ClassId, NewTag, Tag};

/// The `format` of a plan file.
pub const FORMAT: &str = "switchwright-plan";
/// The `version` that this program reads and writes.
pub const VERSION: u32 = 1;

/// A plan file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    /// Always `switchwright-plan`.
    format: String,
    /// The version of this format: 1.
    version: u32,
    /// Where the tables come from.
    provenance: Provenance,
    /// The lossless classes, at least one unless the plan has failover tables. A class's number is
    /// its position, from 0.
    #[serde(default)]
    classes: Vec<Class>,
    /// Whether packets carry their class beside the tag.
    #[serde(default)]
    class_bits: bool,
    /// The lossless tags.
    #[serde(default)]
    tags: Vec<TagEntry>,
    /// Where tags travel.
    #[serde(default)]
    carrier: CarrierEntry,
    /// How rules match ports.
    #[serde(default)]
    form: RuleForm,
    /// The routes that are to be lossless, class by class.
    #[serde(default)]
    promises: Vec<Promise>,
    /// Where packets go: forwarding tables are made from these routes.
    #[serde(default = "shortest")]
    forwarding: RoutePolicy,
    /// What a switch has.
    #[serde(default)]
    budget: Budget,
    /// The rules. A switch that is not named has none: all its packets are lossy.
    #[serde(default)]
    rules: Vec<RuleGroup>,
    /// The failover tables, if packets are forwarded by such.
    #[serde(default)]
    failover: Option<FailoverFile>,
    /// The network, as in a topology file.
    #[schemars(with = "serde_json::Value")]
    #[serde(rename = "topology")]
    _topology: IgnoredAny,
}

/// What of a plan file is read by itself, beside the rest.
#[derive(Deserialize)]
struct Inside<'a> {
    /// The network, as in a topology file.
    #[serde(borrow)]
    topology: TopologyPart<'a>,
}

/// The same, not read yet: what is wrong with it is told as of a topology file.
#[derive(Deserialize)]
struct Enclosed<'a> {
    #[serde(borrow)]
    topology: &'a RawValue,
}

/// Reads the network of a plan file.
fn topology_inside(text: &str) -> Result<Result<Topology, FileError>, serde_json::Error> {
    match serde_json::from_str::<Inside<'_>>(text) {
        Ok(file) => Ok(file.topology.topology()),
        Err(_) => {
            let file = serde_json::from_str::<Enclosed<'_>>(text)?;
            Ok(Topology::from_json(file.topology.get()))
        }
    }
}

/// A lossless tag.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TagEntry {
    /// The tag: tags never fall along a route.
    tag: Tag,
    /// Its lossless priority, 1 to 7, its own.
    priority: Priority,
    /// The number that stands for it in the packet, its own.
    code: TagCode,
}

/// Where tags travel.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CarrierEntry {
    /// The header field.
    kind: CarrierKind,
    /// The code that lossy packets leave with.
    lossy: TagCode,
    /// Where packets carry class bits: how many bits the tag has below them.
    #[serde(skip_serializing_if = "Option::is_none")]
    class_shift: Option<u8>,
}

/// Rules that several switches share.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleGroup {
    /// The switches, by name.
    switches: Vec<String>,
    /// Their rules. What no rule matches is lossy.
    rules: Vec<RuleEntry>,
}

/// A tag rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    /// The tag with which the packet arrives.
    tag: Tag,
    /// The class that the rule is for, where packets carry class bits; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<ClassId>,
    /// The ports by which the packet may come in.
    #[serde(rename = "in")]
    in_ports: PortSet,
    /// The ports by which the packet may leave.
    #[serde(rename = "out")]
    out_ports: PortSet,
    /// The tag with which the packet leaves.
    new: NewTag,
    /// Of rules that match the same packet the one with the greatest precedence counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    precedence: u8,
}

const fn shortest() -> RoutePolicy {
    RoutePolicy::Shortest
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Serialize for NewTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Lossless(tag) => tag.serialize(serializer),
            Self::Lossy => serializer.serialize_str("lossy"),
        }
    }
}

impl<'de> Deserialize<'de> for NewTag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NewTagText)
    }
}

/// What a new tag is, for errors.
const NEW_TAG: &str = "a new tag is a number from 0 to 255, or \"lossy\"";

/// Reads a new tag where it stands.
struct NewTagText;

impl Visitor<'_> for NewTagText {
    type Value = NewTag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a new tag: a number from 0 to 255, or \"lossy\"")
    }

    fn visit_u64<E: de::Error>(self, tag: u64) -> Result<NewTag, E> {
        let tag = u8::try_from(tag).map_err(|_| E::custom(NEW_TAG))?;
        Ok(NewTag::Lossless(Tag::new(tag)))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<NewTag, E> {
        match word {
            "lossy" => Ok(NewTag::Lossy),
            _ => Err(E::custom(NEW_TAG)),
        }
    }
}

impl JsonSchema for NewTag {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NewTag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The tag with which a packet leaves: a tag's number, or `lossy`.",
            "oneOf": [
                {"type": "integer", "minimum": 0, "maximum": 255},
                {"const": "lossy"}
            ]
        })
    }
}

/// Why a plan file is refused.
#[derive(Debug, Error)]
pub enum PlanFileError {
    /// Not JSON, or not of this structure.
    #[error("the plan file is not what it should be: {0}")]
    Json(#[from] serde_json::Error),
    /// Another kind of file.
    #[error(
        "this is no plan file: its `format` is {found}, and must be \"{FORMAT}\"; make plans with `switchwright plan`"
    )]
    Format {
        /// What it says.
        found: String,
    },
    /// A version of the future.
    #[error(
        "the plan file's version is {0}, but this program reads version {VERSION}; use a newer program"
    )]
    Version(u32),
    /// The topology inside is bad.
    #[error("`topology`: {0}")]
    Topology(#[from] topology::FileError),
    /// The failover tables are bad.
    #[error(transparent)]
    Failover(#[from] FailoverFileError),
    /// Rules for a switch that does not exist.
    #[error(
        "rules[{group}].switches: there is no switch `{name}` in the plan's topology; correct the name"
    )]
    NoSuchSwitch {
        /// Position of the group of rules.
        group: usize,
        /// The name.
        name: String,
    },
    /// Two lists of rules for one switch.
    #[error("rules[{group}].switches: `{name}` has rules already; give every switch one list")]
    SwitchTwice {
        /// Position of the second group of rules.
        group: usize,
        /// The name.
        name: String,
    },
    /// A tag is listed twice.
    #[error("tags[{at}]: tag {tag} is listed twice; remove one of them")]
    TagTwice {
        /// Position of the second one.
        at: usize,
        /// The tag.
        tag: Tag,
    },
}

impl From<HeaderError> for PlanFileError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Json(error) => Self::Json(error),
            HeaderError::Format(found) => Self::Format { found },
            HeaderError::Version(version) => Self::Version(version),
        }
    }
}

impl Tables {
    /// Reads a plan file. The tables are not proven.
    ///
    /// # Errors
    /// [`PlanFileError`], which names the place and says how to mend it.
    pub fn from_json(text: &str) -> Result<Self, PlanFileError> {
        let tables = || {
            read_with_header(text, (FORMAT, VERSION), |file: &PlanFile| {
                (&file.format, file.version)
            })
        };
        let (file, topology) = rayon::join(tables, || topology_inside(text));
        let (file, topology) = (file?, topology??);
        let (priorities, codes) = tags(&file.tags)?;
        let rules = ungroup(&topology, file.rules)?;
        let failover = match file.failover {
            Some(file) => Some(Failover::from_file(file, &topology)?),
            None => None,
        };
        Ok(Self {
            provenance: file.provenance,
            topology,
            tagging: Tagging {
                classes: file.classes,
                class_bits: file.class_bits,
                priorities,
                form: file.form,
                rules,
            },
            carrier: Carrier {
                kind: file.carrier.kind,
                codes,
                lossy: file.carrier.lossy,
                class_shift: file.carrier.class_shift,
            },
            promises: file.promises,
            forwarding: file.forwarding,
            failover,
            budget: file.budget,
        })
    }

    /// Writes the plan file. The same plan gives the same text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::from("{\n");
        field(&mut text, "format", &FORMAT);
        field(&mut text, "version", &VERSION);
        field(&mut text, "provenance", &self.provenance);
        if self.has_tags() {
            self.write_tagging(&mut text);
        }
        field(&mut text, "budget", &self.budget);
        if self.has_tags() {
            self.write_rules(&mut text);
        }
        if let Some(failover) = &self.failover {
            failover.write_json(&self.topology, &mut text);
        }
        text.push_str("  \"topology\": ");
        text.push_str(self.topology.to_json().trim_end());
        text.push_str("\n}\n");
        text
    }

    /// Writes what there is to say of lossless tags, apart from the rules.
    fn write_tagging(&self, text: &mut String) {
        list(text, "classes", &self.tagging.classes);
        field(text, "class_bits", &self.tagging.class_bits);
        let tags = self
            .tagging
            .priorities
            .iter()
            .map(|(tag, priority)| TagEntry {
                tag: *tag,
                priority: *priority,
                code: self.carrier.codes.get(tag).copied().unwrap_or_default(),
            });
        list(text, "tags", &tags.collect::<Vec<_>>());
        let carrier = CarrierEntry {
            kind: self.carrier.kind,
            lossy: self.carrier.lossy,
            class_shift: self.carrier.class_shift,
        };
        field(text, "carrier", &carrier);
        field(text, "form", &self.tagging.form);
        list(text, "promises", &self.promises);
        field(text, "forwarding", &self.forwarding);
    }

    /// Writes the rules, switches with the same ones together, in the order of their first switch.
    fn write_rules(&self, text: &mut String) {
        let mut known: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        let mut groups: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
        for (switch, rules) in self.topology.switches().iter().zip(&self.tagging.rules) {
            let lines: Vec<String> = rules
                .iter()
                .map(|rule| json(&RuleEntry::from(rule)))
                .collect();
            let group = *known.entry(lines).or_insert_with_key(|lines| {
                groups.push((Vec::new(), lines.clone()));
                groups.len() - 1
            });
            groups[group].0.push(&switch.name);
        }
        text.push_str("  \"rules\": [");
        for (at, (switches, lines)) in groups.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            text.push_str(&format!(
                "{comma}\n    {{\"switches\": {}, \"rules\": [",
                json(switches)
            ));
            for (at, line) in lines.iter().enumerate() {
                text.push_str(if at == 0 { "\n      " } else { ",\n      " });
                text.push_str(line);
            }
            text.push_str("\n    ]}");
        }
        text.push_str("\n  ],\n");
    }

    /// The JSON Schema of the plan file.
    #[must_use]
    pub fn json_schema() -> Schema {
        let mut schema = schemars::schema_for!(PlanFile);
        let mut inner = Topology::json_schema();
        inner.remove("$schema");
        let definitions = inner.remove("$defs");
        if let Some(serde_json::Value::Object(definitions)) = definitions
            && let Some(own) = schema.get_mut("$defs").and_then(|d| d.as_object_mut())
        {
            own.extend(definitions);
        }
        if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
            properties.insert("topology".to_owned(), inner.to_value());
        }
        schema
    }
}

/// The names of the switches with their positions.
fn names(topology: &Topology) -> impl Iterator<Item = (&str, usize)> {
    let ids = topology.switch_ids().map(SwitchId::index);
    topology.switches().iter().map(|s| s.name.as_str()).zip(ids)
}

type Codes = BTreeMap<Tag, TagCode>;

fn tags(entries: &[TagEntry]) -> Result<(BTreeMap<Tag, Priority>, Codes), PlanFileError> {
    let mut priorities = BTreeMap::new();
    let mut codes = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let tag = entry.tag;
        if priorities.insert(tag, entry.priority).is_some() {
            return Err(PlanFileError::TagTwice { at, tag });
        }
        codes.insert(tag, entry.code);
    }
    Ok((priorities, codes))
}

fn ungroup(
    topology: &Topology,
    groups: Vec<RuleGroup>,
) -> Result<Vec<Vec<TagRule>>, PlanFileError> {
    let places: BTreeMap<&str, usize> = names(topology).collect();
    let mut rules: Vec<Option<Vec<TagRule>>> = vec![None; topology.switches().len()];
    for (group, entry) in groups.into_iter().enumerate() {
        let mut own: Vec<TagRule> = entry.rules.into_iter().map(TagRule::from).collect();
        let last = entry.switches.len().saturating_sub(1);
        for (number, name) in entry.switches.into_iter().enumerate() {
            let Some(&place) = places.get(name.as_str()) else {
                return Err(PlanFileError::NoSuchSwitch { group, name });
            };
            if rules[place].is_some() {
                return Err(PlanFileError::SwitchTwice { group, name });
            }
            rules[place] = Some(match number == last {
                true => std::mem::take(&mut own),
                false => own.clone(),
            });
        }
    }
    Ok(rules.into_iter().map(Option::unwrap_or_default).collect())
}

impl From<&TagRule> for RuleEntry {
    fn from(rule: &TagRule) -> Self {
        Self {
            tag: rule.tag,
            class: rule.class,
            in_ports: rule.in_ports.clone(),
            out_ports: rule.out_ports.clone(),
            new: rule.new_tag,
            precedence: rule.precedence,
        }
    }
}

impl From<RuleEntry> for TagRule {
    fn from(entry: RuleEntry) -> Self {
        Self {
            precedence: entry.precedence,
            class: entry.class,
            tag: entry.tag,
            in_ports: entry.in_ports,
            out_ports: entry.out_ports,
            new_tag: entry.new,
        }
    }
}

/// The JSON form of plain structs of strings and numbers, which always have one.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn field<T: Serialize>(text: &mut String, key: &str, value: &T) {
    text.push_str(&format!("  \"{key}\": {},\n", json(value)));
}

/// Writes one list, an entry a line.
fn list<T: Serialize>(text: &mut String, key: &str, entries: &[T]) {
    text.push_str(&format!("  \"{key}\": ["));
    for (at, entry) in entries.iter().enumerate() {
        text.push_str(if at == 0 { "\n    " } else { ",\n    " });
        text.push_str(&json(entry));
    }
    text.push_str(if entries.is_empty() {
        "],\n"
    } else {
        "\n  ],\n"
    });
}

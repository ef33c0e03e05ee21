//! Paths of requests: read, checked, and compared with the data tree (gNMI sections 2.2.2, 2.4 and
//! 2.7, gNMI path conventions).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ::gnmi::proto::{Path, PathElem};
use tonic::Status;

use super::facts::{Port, Wants};
use super::models::{Module, Step};
use super::schema::{KEY, LEAVES, LIST, LIST_DEPTH, Leaf};

/// The origin of OpenConfig's models.
const ORIGIN: &str = "openconfig";

/// More elements than any path of the data tree has, wildcards counted twice.
const LONGEST: usize = 16;

/// Characters of a path in a message.
const SHOWN: usize = 200;

/// An element of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// A node, or any (`*`), perhaps one entry of a list.
    One {
        module: Option<Module>,
        name: Option<String>,
        key: Option<String>,
    },
    /// Any number of nodes (`...`).
    Any,
}

/// The ports that a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    All,
    Named(BTreeSet<String>),
}

impl Filter {
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }

    fn add(&mut self, name: Option<String>) {
        match (&mut *self, name) {
            (Self::Named(names), Some(name)) => {
                names.insert(name);
            }
            _ => *self = Self::All,
        }
    }
}

/// A path of a request with its prefix.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    segments: Vec<Segment>,
    /// The origin as the path itself has it: answers have it too.
    origin: String,
}

/// What a path means in the data tree.
#[derive(Debug)]
pub(super) struct Reach {
    /// Numbers of leaves, rising, each with its ports.
    pub(super) leaves: BTreeMap<usize, Filter>,
    /// The nodes that the path ends at, in the order of the tree.
    pub(super) nodes: Vec<(Vec<Step>, Filter)>,
}

impl Reach {
    /// The sources of the values.
    pub(super) fn wants(&self) -> Wants {
        let leaves = self.leaves.keys().filter_map(|number| LEAVES.get(*number));
        leaves.map(Leaf::wants).fold(Wants::default(), Wants::with)
    }
}

/// What answers repeat of a request's prefix: its target and its origin.
///
/// # Errors
/// An origin that is not served.
pub(super) fn answer_prefix(prefix: Option<&Path>) -> Result<Option<Path>, Status> {
    let Some(prefix) = prefix else {
        return Ok(None);
    };
    check_origin(&prefix.origin)?;
    let said = !prefix.target.is_empty() || !prefix.origin.is_empty();
    Ok(said.then(|| Path {
        origin: prefix.origin.clone(),
        target: prefix.target.clone(),
        ..Path::default()
    }))
}

fn check_origin(origin: &str) -> Result<(), Status> {
    if origin.is_empty() || origin == ORIGIN || Module::named(origin).is_some() {
        return Ok(());
    }
    let origin: String = origin.chars().take(SHOWN).collect();
    Err(Status::unimplemented(format!(
        "the origin '{origin}' is not served; leave it out, or give '{ORIGIN}'"
    )))
}

impl Pattern {
    /// Reads a path with its prefix.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no path; UNIMPLEMENTED for an origin that is not served.
    pub(super) fn read(prefix: Option<&Path>, path: &Path) -> Result<Self, Status> {
        let invalid = |why: &str| {
            let text = Text(prefix, path);
            Status::invalid_argument(format!("the path {text} cannot be used: {why}"))
        };
        #[allow(deprecated)]
        let old = !path.element.is_empty() || prefix.is_some_and(|p| !p.element.is_empty());
        if old {
            return Err(invalid(
                "it has the field `element`, which gNMI 0.4 replaced by `elem`",
            ));
        }
        if !path.target.is_empty() {
            return Err(invalid("only a prefix has a target"));
        }
        check_origin(&path.origin)?;
        if !path.origin.is_empty() && prefix.is_some_and(|prefix| !prefix.origin.is_empty()) {
            return Err(invalid("its prefix and itself have an origin"));
        }
        let mut segments = Vec::new();
        for element in elements(prefix, path) {
            let segment = Segment::read(element).map_err(|why| invalid(&why))?;
            if segment != Segment::Any || segments.last() != Some(&Segment::Any) {
                segments.push(segment);
            }
            if segments.len() > LONGEST {
                return Err(invalid("it has too many elements"));
            }
        }
        Ok(Self {
            segments,
            origin: path.origin.clone(),
        })
    }

    /// What the path means.
    ///
    /// # Errors
    /// UNIMPLEMENTED if that is nothing.
    pub(super) fn reach(&self) -> Result<Reach, Status> {
        let mut leaves: BTreeMap<usize, Filter> = BTreeMap::new();
        let mut nodes: Vec<(Vec<Step>, Filter)> = Vec::new();
        for (number, leaf) in LEAVES.iter().enumerate() {
            for depth in 0..=leaf.steps.len() {
                let mut found = Vec::new();
                align(&self.segments, &leaf.steps[..depth], None, &mut found);
                for name in found {
                    let known = leaves.contains_key(&number);
                    let none = || Filter::Named(BTreeSet::new());
                    let filter = leaves.entry(number).or_insert_with(none);
                    filter.add(name.clone());
                    let steps = &leaf.steps[..depth];
                    match nodes.iter_mut().find(|(node, _)| node == steps) {
                        Some((_, filter)) => filter.add(name),
                        // A node above has it already.
                        None if known => {}
                        None => {
                            let mut filter = none();
                            filter.add(name);
                            nodes.push((steps.to_vec(), filter));
                        }
                    }
                }
            }
        }
        if leaves.is_empty() {
            return Err(Status::unimplemented(format!(
                "the path {self} is not implemented; below /interfaces/interface are config, state with counters, and ethernet/state"
            )));
        }
        Ok(Reach { leaves, nodes })
    }

    /// The names of the nodes and the port, where the path has no wildcard.
    pub(super) fn concrete(&self) -> Option<(Vec<&str>, Option<&str>)> {
        let mut names = Vec::new();
        let mut port = None;
        for (depth, segment) in self.segments.iter().enumerate() {
            let Segment::One { name, key, .. } = segment else {
                return None;
            };
            names.push(name.as_deref()?);
            if depth + 1 == LIST_DEPTH {
                port = Some(key.as_deref()?);
            }
        }
        Some((names, port))
    }

    /// The origin that answers have.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The path of a node in answers.
    pub(super) fn answer(&self, steps: &[Step], port: Option<&str>) -> Path {
        node_path(&self.origin, steps, port)
    }
}

/// The path of a leaf of a port.
pub(super) fn leaf_path(origin: &str, leaf: &Leaf, port: &Port) -> Path {
    node_path(origin, &leaf.steps, Some(&port.name))
}

/// The path of a node.
pub(super) fn node_path(origin: &str, steps: &[Step], port: Option<&str>) -> Path {
    let element = |(depth, step): (usize, &Step)| PathElem {
        name: step.name.to_owned(),
        key: port
            .filter(|_| depth + 1 == LIST_DEPTH)
            .map(|port| (KEY.to_owned(), port.to_owned()))
            .into_iter()
            .collect(),
    };
    Path {
        origin: origin.to_owned(),
        elem: steps.iter().enumerate().map(element).collect(),
        ..Path::default()
    }
}

impl Segment {
    fn read(element: &PathElem) -> Result<Self, String> {
        let text = element.name.as_str();
        if text.is_empty() {
            return Err("an element has no name".to_owned());
        }
        if text == "..." {
            return match element.key.is_empty() {
                true => Ok(Self::Any),
                false => Err("`...` has no keys".to_owned()),
            };
        }
        let (module, name) = match text.split_once(':') {
            None => (None, text),
            Some((module, name)) => {
                let known = Module::named(module);
                (Some(known.ok_or("it names an unknown module")?), name)
            }
        };
        if !element.key.is_empty() && name != LIST && name != "*" {
            return Err(format!("`{}` is no list", shown(name)));
        }
        if let Some(other) = element.key.keys().find(|key| *key != KEY) {
            return Err(format!(
                "the list `{LIST}` has the key `{KEY}`, and no `{}`",
                shown(other)
            ));
        }
        let key = element.key.get(KEY).filter(|key| *key != "*");
        if key.is_some_and(String::is_empty) {
            return Err(format!("the key `{KEY}` is empty"));
        }
        Ok(Self::One {
            module,
            name: (name != "*").then(|| name.to_owned()),
            key: key.cloned(),
        })
    }
}

/// Every way in which the segments are these steps: the name of the port in each, if it is given.
fn align(
    segments: &[Segment],
    steps: &[Step],
    named: Option<&String>,
    found: &mut Vec<Option<String>>,
) {
    let Some((segment, segments)) = segments.split_first() else {
        if steps.is_empty() {
            found.push(named.cloned());
        }
        return;
    };
    match segment {
        Segment::Any => {
            for skipped in 0..=steps.len() {
                align(segments, &steps[skipped..], named, found);
            }
        }
        Segment::One { module, name, key } => {
            let Some((step, steps)) = steps.split_first() else {
                return;
            };
            let other_module = module.is_some_and(|module| module != step.module);
            let other_name = name.as_ref().is_some_and(|name| name != step.name);
            if other_module || other_name || (key.is_some() && step.name != LIST) {
                return;
            }
            align(segments, steps, key.as_ref().or(named), found);
        }
    }
}

fn elements<'a>(prefix: Option<&'a Path>, path: &'a Path) -> impl Iterator<Item = &'a PathElem> {
    let prefix = prefix.into_iter().flat_map(|prefix| &prefix.elem);
    prefix.chain(&path.elem)
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// A path as people write it, cut where it is very long.
struct Text<'a>(Option<&'a Path>, &'a Path);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for element in elements(self.0, self.1).take(LONGEST + 1) {
            text.push('/');
            text.extend(element.name.chars().take(SHOWN));
            for (key, value) in element.key.iter().take(LONGEST) {
                text.push('[');
                text.extend(key.chars().take(SHOWN));
                text.push('=');
                text.extend(value.chars().take(SHOWN));
                text.push(']');
            }
        }
        if text.is_empty() {
            text.push('/');
        }
        f.write_str(&shown(&text))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = |segment: &Segment| match segment {
            Segment::Any => PathElem {
                name: "...".to_owned(),
                ..PathElem::default()
            },
            Segment::One { name, key, .. } => PathElem {
                name: name.clone().unwrap_or_else(|| "*".to_owned()),
                key: key
                    .iter()
                    .map(|key| (KEY.to_owned(), key.clone()))
                    .collect(),
            },
        };
        let path = Path {
            elem: self.segments.iter().map(element).collect(),
            ..Path::default()
        };
        Text(None, &path).fmt(f)
    }
}

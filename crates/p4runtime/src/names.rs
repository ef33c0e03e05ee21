//! Objects of a P4Info by name and by id, in both directions.
//!
//! People and files say `Ingress.forward`; the wire says 0x02000001. An object answers to its full
//! name and to its alias (P4Runtime 1.5, 6.1, "Preamble Message").

use std::collections::{BTreeMap, BTreeSet};

use crate::p4::config::v1::{
    Action, ActionProfile, MatchField, P4Info, Preamble, Table, action::Param,
};

/// A name or number that the program does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No object of that kind has this name.
    #[error("the program has no {kind} named '{name}'; it has {}", list(.known))]
    UnknownName {
        /// "table", "action", ...
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// No object of that kind has this id.
    #[error("the program has no {kind} with id {id} ({id:#010x})")]
    UnknownId {
        /// "table", "action", ...
        kind: &'static str,
        /// The id that was asked for.
        id: u32,
    },
    /// A table has no such key, or an action no such parameter.
    #[error("{owner} has no {kind} '{name}'; it has {}", list(.known))]
    UnknownPart {
        /// Name of the table or action.
        owner: String,
        /// "match field" or "parameter".
        kind: &'static str,
        /// The name or number that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// An object has no name or no id: the P4Info is broken.
    #[error("the P4Info has a {kind} '{name}' without a name or without an id")]
    Unnamed {
        /// "table", "action", ...
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Two match fields of a table or two parameters of an action share an id: the P4Info is
    /// broken.
    #[error("{owner} has two {kind}s with the id {id}")]
    DuplicatePart {
        /// Name of the table, action, value set or header.
        owner: String,
        /// "match field", "parameter" or "field".
        kind: &'static str,
        /// The id.
        id: u32,
    },
    /// Two objects of a kind share a name or an id: the P4Info is broken.
    #[error("the P4Info has two {kind} objects that answer to '{name}'")]
    Duplicate {
        /// "table", "action", ...
        kind: &'static str,
        /// The name or id that they share.
        name: String,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

/// Whether a P4Info keeps the rules that a client relies on (P4Runtime 1.5, section 6): every
/// object has a name and an id, no two objects share an id, no two of a kind share a name, and ids
/// within an object are unique.
///
/// # Errors
/// The first rule that is broken.
pub fn check(info: &P4Info) -> Result<(), NameError> {
    let mut ids = BTreeMap::new();
    for (kind, preambles) in objects(info) {
        Positions::new(kind, preambles.iter().copied())?;
        for preamble in preambles.into_iter().flatten() {
            let name = preamble.name.clone();
            if preamble.id == 0 || name.is_empty() {
                return Err(NameError::Unnamed { kind, name });
            }
            if ids.insert(preamble.id, kind).is_some() {
                let name = format!("{:#010x}", preamble.id);
                return Err(NameError::Duplicate { kind, name });
            }
        }
    }
    for table in &info.tables {
        let ids = table.match_fields.iter().map(|f| f.id);
        unique(table.name(), "match field", ids)?;
    }
    for action in &info.actions {
        unique(
            action.name(),
            "parameter",
            action.params.iter().map(|p| p.id),
        )?;
    }
    for header in &info.controller_packet_metadata {
        let name = header.preamble.as_ref().map_or("", |p| &p.name);
        unique(name, "field", header.metadata.iter().map(|m| m.id))?;
    }
    for set in &info.value_sets {
        let name = set.preamble.as_ref().map_or("", |p| &p.name);
        unique(name, "match field", set.r#match.iter().map(|f| f.id))?;
    }
    Ok(())
}

/// The preambles of all objects, by kind.
fn objects(info: &P4Info) -> [(&'static str, Vec<&Option<Preamble>>); 11] {
    macro_rules! of {
        ($list:ident) => {
            info.$list.iter().map(|object| &object.preamble).collect()
        };
    }
    [
        ("table", of!(tables)),
        ("action", of!(actions)),
        ("action profile", of!(action_profiles)),
        ("counter", of!(counters)),
        ("direct counter", of!(direct_counters)),
        ("meter", of!(meters)),
        ("direct meter", of!(direct_meters)),
        ("controller header", of!(controller_packet_metadata)),
        ("value set", of!(value_sets)),
        ("register", of!(registers)),
        ("digest", of!(digests)),
    ]
}

fn unique(
    owner: &str,
    kind: &'static str,
    ids: impl Iterator<Item = u32>,
) -> Result<(), NameError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            let owner = owner.to_owned();
            return Err(NameError::DuplicatePart { owner, kind, id });
        }
    }
    Ok(())
}

/// A P4Info with look-up of tables, actions and action profiles.
#[derive(Clone, Debug)]
pub struct P4InfoIndex {
    info: P4Info,
    tables: Positions,
    actions: Positions,
    profiles: Positions,
}

/// Positions of the objects of one kind, by name or alias, and by id.
#[derive(Clone, Debug)]
struct Positions {
    kind: &'static str,
    by_name: BTreeMap<String, usize>,
    by_id: BTreeMap<u32, usize>,
    names: Vec<String>,
}

impl P4InfoIndex {
    /// Indexes a P4Info.
    ///
    /// # Errors
    /// [`NameError::Duplicate`] when two objects of a kind share a full name or an id.
    pub fn new(info: P4Info) -> Result<Self, NameError> {
        let tables = Positions::new("table", info.tables.iter().map(|t| &t.preamble))?;
        let actions = Positions::new("action", info.actions.iter().map(|a| &a.preamble))?;
        let profiles = Positions::new(
            "action profile",
            info.action_profiles.iter().map(|p| &p.preamble),
        )?;
        Ok(Self {
            info,
            tables,
            actions,
            profiles,
        })
    }

    /// The message itself.
    #[must_use]
    pub fn info(&self) -> &P4Info {
        &self.info
    }

    /// A table by full name or alias.
    ///
    /// # Errors
    /// [`NameError::UnknownName`].
    pub fn table(&self, name: &str) -> Result<&Table, NameError> {
        self.tables.named(name).map(|at| &self.info.tables[at])
    }

    /// A table by id.
    ///
    /// # Errors
    /// [`NameError::UnknownId`].
    pub fn table_by_id(&self, id: u32) -> Result<&Table, NameError> {
        self.tables.numbered(id).map(|at| &self.info.tables[at])
    }

    /// An action by full name or alias.
    ///
    /// # Errors
    /// [`NameError::UnknownName`].
    pub fn action(&self, name: &str) -> Result<&Action, NameError> {
        self.actions.named(name).map(|at| &self.info.actions[at])
    }

    /// An action by id.
    ///
    /// # Errors
    /// [`NameError::UnknownId`].
    pub fn action_by_id(&self, id: u32) -> Result<&Action, NameError> {
        self.actions.numbered(id).map(|at| &self.info.actions[at])
    }

    /// An action profile or selector by full name or alias.
    ///
    /// # Errors
    /// [`NameError::UnknownName`].
    pub fn action_profile(&self, name: &str) -> Result<&ActionProfile, NameError> {
        self.profiles
            .named(name)
            .map(|at| &self.info.action_profiles[at])
    }

    /// An action profile or selector by id.
    ///
    /// # Errors
    /// [`NameError::UnknownId`].
    pub fn action_profile_by_id(&self, id: u32) -> Result<&ActionProfile, NameError> {
        self.profiles
            .numbered(id)
            .map(|at| &self.info.action_profiles[at])
    }
}

impl Positions {
    fn new<'a>(
        kind: &'static str,
        preambles: impl Iterator<Item = &'a Option<Preamble>>,
    ) -> Result<Self, NameError> {
        let mut positions = Self {
            kind,
            by_name: BTreeMap::new(),
            by_id: BTreeMap::new(),
            names: Vec::new(),
        };
        let mut aliases = Vec::new();
        for (at, preamble) in preambles.enumerate() {
            let Some(preamble) = preamble else { continue };
            let duplicate = |name: String| NameError::Duplicate { kind, name };
            if positions
                .by_name
                .insert(preamble.name.clone(), at)
                .is_some()
            {
                return Err(duplicate(preamble.name.clone()));
            }
            if positions.by_id.insert(preamble.id, at).is_some() {
                return Err(duplicate(format!("{:#010x}", preamble.id)));
            }
            aliases.push((preamble.alias.clone(), at));
            positions.names.push(preamble.name.clone());
        }
        // A full name goes before an alias of another object that looks the same.
        for (alias, at) in aliases {
            positions.by_name.entry(alias).or_insert(at);
        }
        Ok(positions)
    }

    fn named(&self, name: &str) -> Result<usize, NameError> {
        self.by_name
            .get(name)
            .copied()
            .ok_or_else(|| NameError::UnknownName {
                kind: self.kind,
                name: name.to_owned(),
                known: self.names.clone(),
            })
    }

    fn numbered(&self, id: u32) -> Result<usize, NameError> {
        self.by_id.get(&id).copied().ok_or(NameError::UnknownId {
            kind: self.kind,
            id,
        })
    }
}

macro_rules! with_preamble {
    ($($message:ident),*) => {$(
        impl $message {
            /// Its id, 0 without preamble.
            #[must_use]
            pub fn id(&self) -> u32 {
                self.preamble.as_ref().map_or(0, |preamble| preamble.id)
            }

            /// Its full name, empty without preamble.
            #[must_use]
            pub fn name(&self) -> &str {
                self.preamble.as_ref().map_or("", |preamble| &preamble.name)
            }
        }
    )*};
}

with_preamble!(Table, Action, ActionProfile);

impl Table {
    /// One of the table's keys, by name.
    ///
    /// # Errors
    /// [`NameError::UnknownPart`].
    pub fn field(&self, name: &str) -> Result<&MatchField, NameError> {
        let found = self.match_fields.iter().find(|field| field.name == name);
        found.ok_or_else(|| self.no_field(name.to_owned()))
    }

    /// One of the table's keys, by id.
    ///
    /// # Errors
    /// [`NameError::UnknownPart`].
    pub fn field_by_id(&self, id: u32) -> Result<&MatchField, NameError> {
        let found = self.match_fields.iter().find(|field| field.id == id);
        found.ok_or_else(|| self.no_field(id.to_string()))
    }

    fn no_field(&self, name: String) -> NameError {
        NameError::UnknownPart {
            owner: self.name().to_owned(),
            kind: "match field",
            name,
            known: self
                .match_fields
                .iter()
                .map(|field| field.name.clone())
                .collect(),
        }
    }
}

impl Action {
    /// One of the action's parameters, by name.
    ///
    /// # Errors
    /// [`NameError::UnknownPart`].
    pub fn param(&self, name: &str) -> Result<&Param, NameError> {
        let found = self.params.iter().find(|param| param.name == name);
        found.ok_or_else(|| self.no_param(name.to_owned()))
    }

    /// One of the action's parameters, by id.
    ///
    /// # Errors
    /// [`NameError::UnknownPart`].
    pub fn param_by_id(&self, id: u32) -> Result<&Param, NameError> {
        let found = self.params.iter().find(|param| param.id == id);
        found.ok_or_else(|| self.no_param(id.to_string()))
    }

    fn no_param(&self, name: String) -> NameError {
        NameError::UnknownPart {
            owner: self.name().to_owned(),
            kind: "parameter",
            name,
            known: self.params.iter().map(|param| param.name.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> P4Info {
        let preamble = |id, name: &str, alias: &str| {
            Some(Preamble {
                id,
                name: name.into(),
                alias: alias.into(),
                ..Default::default()
            })
        };
        P4Info {
            tables: vec![Table {
                preamble: preamble(0x0200_0001, "Ingress.forward", "forward"),
                match_fields: vec![MatchField {
                    id: 1,
                    name: "hdr.ipv4.dst".into(),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            actions: vec![
                Action {
                    preamble: preamble(0x0100_0001, "Ingress.send", "send"),
                    ..Default::default()
                },
                Action {
                    preamble: preamble(0x0100_0002, "send", "send"),
                    ..Default::default()
                },
            ],
            ..Default::default()
        }
    }

    #[test]
    fn names_aliases_and_ids() {
        let index = P4InfoIndex::new(info()).unwrap();
        assert_eq!(index.table("forward").unwrap().id(), 0x0200_0001);
        assert_eq!(
            index.table("Ingress.forward").unwrap().name(),
            "Ingress.forward"
        );
        assert_eq!(
            index.action("send").unwrap().id(),
            0x0100_0002,
            "full names go first"
        );
        assert_eq!(
            index.action_by_id(0x0100_0001).unwrap().name(),
            "Ingress.send"
        );
        assert_eq!(
            index.table("forward").unwrap().field_by_id(1).unwrap().name,
            "hdr.ipv4.dst"
        );
    }

    #[test]
    fn unknown_names_tell_the_known_ones() {
        let index = P4InfoIndex::new(info()).unwrap();
        let error = index.table("forwrd").unwrap_err().to_string();
        assert_eq!(
            error,
            "the program has no table named 'forwrd'; it has Ingress.forward"
        );
        let error = index
            .table("forward")
            .unwrap()
            .field("dst")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "Ingress.forward has no match field 'dst'; it has hdr.ipv4.dst"
        );
    }

    #[test]
    fn duplicates_are_refused() {
        let mut twice = info();
        twice.tables.push(twice.tables[0].clone());
        assert!(matches!(
            P4InfoIndex::new(twice),
            Err(NameError::Duplicate { kind: "table", .. })
        ));
    }
}

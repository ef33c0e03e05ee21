//! Ids and aliases of P4Info entities, as p4c assigns them.
//!
//! An id is an 8-bit prefix for the kind of entity and 24 bits: those of `@id`, or of a hash
//! (Jenkins, one at a time) of the name, with linear probing in order of names. An alias is the
//! shortest suffix of the name, cut at dots, that no other entity of any kind shares.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Kinds of entities; the discriminant is the prefix of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Action = 0x01,
    Table = 0x02,
    ValueSet = 0x03,
    ControllerHeader = 0x04,
    ActionProfile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
}

impl Kind {
    /// What messages call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Table => "table",
            Self::ValueSet => "value set",
            Self::ControllerHeader => "controller header",
            Self::ActionProfile => "action profile",
            Self::Counter => "counter",
            Self::DirectCounter => "direct counter",
            Self::Meter => "meter",
            Self::DirectMeter => "direct meter",
            Self::Register => "register",
            Self::Digest => "digest",
        }
    }
}

/// Why an `@id` cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IdError {
    WrongPrefix,
    Taken,
}

/// Names of all entities, their ids and aliases.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    ids: BTreeMap<(Kind, String), Option<u32>>,
    taken: BTreeSet<u32>,
    names: BTreeSet<String>,
    suffixes: HashMap<String, u32>,
    /// What stands before names where they are hashed, and not where they are written: a pipe's
    /// name.
    prefix: String,
}

impl Symbols {
    /// Symbols of a program for Tofino: everything but actions has the pipe's name before its own
    /// when ids are made of names.
    pub(super) fn in_pipe(pipe: &str) -> Self {
        Self {
            prefix: format!("{pipe}."),
            ..Self::default()
        }
    }

    /// Adds an entity, with the number of its `@id`.
    pub(super) fn add(&mut self, kind: Kind, name: &str, id: Option<u32>) -> Result<(), IdError> {
        let key = (kind, name.to_owned());
        if self.ids.contains_key(&key) {
            return Ok(());
        }
        let mut result = Ok(());
        let prefix = (kind as u32) << 24;
        let id = id.and_then(|id| {
            if id >> 24 != 0 && id >> 24 != kind as u32 {
                result = Err(IdError::WrongPrefix);
                return None;
            }
            let id = id | prefix;
            if !self.taken.insert(id) {
                result = Err(IdError::Taken);
                return None;
            }
            Some(id)
        });
        self.ids.insert(key, id);
        if self.names.insert(name.to_owned()) {
            for suffix in suffixes(name) {
                *self.suffixes.entry(suffix.to_owned()).or_default() += 1;
            }
        }
        result
    }

    /// Gives ids to what has none. Kinds and names in order, so that collisions resolve as p4c
    /// resolves them.
    pub(super) fn assign(&mut self) {
        for ((kind, name), id) in &mut self.ids {
            if id.is_some() {
                continue;
            }
            let prefix = (*kind as u32) << 24;
            let start = match kind {
                Kind::Action => jenkins(name.as_bytes()),
                _ => jenkins(format!("{}{name}", self.prefix).as_bytes()),
            };
            let found = (0..1u32 << 24)
                .map(|step| prefix | (start.wrapping_add(step) & 0x00ff_ffff))
                .find(|candidate| !self.taken.contains(candidate))
                .unwrap_or(prefix);
            self.taken.insert(found);
            *id = Some(found);
        }
    }

    /// The id of an entity that was added.
    pub(super) fn id(&self, kind: Kind, name: &str) -> u32 {
        self.ids
            .get(&(kind, name.to_owned()))
            .copied()
            .flatten()
            .unwrap_or(0)
    }

    /// The alias of a name that was added.
    pub(super) fn alias(&self, name: &str) -> String {
        suffixes(name)
            .find(|s| self.suffixes.get(*s).is_none_or(|n| *n < 2))
            .unwrap_or(name)
            .to_owned()
    }
}

/// Suffixes of a name at dots, shortest first.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let cuts: Vec<usize> = name
        .rmatch_indices('.')
        .map(|(i, _)| i + 1)
        .chain([0])
        .collect();
    cuts.into_iter().map(move |i| &name[i..])
}

fn jenkins(bytes: &[u8]) -> u32 {
    let mut hash: u32 = 0;
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Ids within a table, action or header: those of `@id`, and for the others the next free number.
pub(super) fn field_ids(given: &[Option<u32>]) -> Vec<u32> {
    let mut taken: BTreeSet<u32> = given.iter().flatten().copied().collect();
    let mut index = 1;
    let mut ids = Vec::with_capacity(given.len());
    for id in given {
        match id {
            Some(id) => {
                ids.push(*id);
                index += 1;
            }
            None => {
                while taken.contains(&index) {
                    index += 1;
                }
                taken.insert(index);
                ids.push(index);
            }
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_p4c_gives() {
        let mut symbols = Symbols::default();
        symbols.add(Kind::Table, "ingress.bd", None).unwrap();
        symbols.add(Kind::Action, "NoAction", None).unwrap();
        symbols.add(Kind::Action, "x", Some(7)).unwrap();
        symbols.assign();
        assert_eq!(symbols.id(Kind::Table, "ingress.bd"), 48_392_551);
        assert_eq!(symbols.id(Kind::Action, "NoAction"), 21_257_015);
        assert_eq!(symbols.id(Kind::Action, "x"), 0x0100_0007);
        assert_eq!(
            symbols.add(Kind::Table, "y", Some(0x0100_0001)),
            Err(IdError::WrongPrefix)
        );
    }

    #[test]
    fn aliases_are_shortest_unique_suffixes() {
        let mut symbols = Symbols::default();
        for name in ["d.a.c", "e.b.c", "e.b.x"] {
            symbols.add(Kind::Table, name, None).unwrap();
        }
        assert_eq!(symbols.alias("d.a.c"), "a.c");
        assert_eq!(symbols.alias("e.b.x"), "x");
    }

    #[test]
    fn fields_without_id_take_free_numbers() {
        assert_eq!(field_ids(&[None, Some(1), None]), [2, 1, 3]);
        assert_eq!(field_ids(&[None, None]), [1, 2]);
    }
}

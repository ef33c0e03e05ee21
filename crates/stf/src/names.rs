//! Finding tables, actions, keys and objects by the names case files use: whole, or the end of one.

use p4exec::RuntimeState;
use p4ir::{ExternId, ExternType, TableId, ValueSetId};
use p4runtime::NameError;

/// The one of `names` that equals `wanted`, or else the only one that ends with it; `None` if there
/// is neither.
fn find<T>(names: impl Iterator<Item = (T, String)>, wanted: &str) -> Result<Option<T>, String> {
    let mut ends = Vec::new();
    for (item, name) in names {
        if name == wanted {
            return Ok(Some(item));
        }
        if name.ends_with(wanted) {
            ends.push((item, name));
        }
    }
    if ends.len() > 1 {
        let names: Vec<_> = ends.into_iter().map(|(_, name)| name).collect();
        return Err(format!("`{wanted}` could be {}", names.join(" or ")));
    }
    Ok(ends.pop().map(|(item, _)| item))
}

/// As [`find`], for a kind of object that the program must have.
fn known<T>(
    kind: &'static str,
    names: impl Iterator<Item = (T, String)>,
    wanted: &str,
) -> Result<T, String> {
    let names: Vec<(T, String)> = names.collect();
    let known = names.iter().map(|(_, name)| name.clone()).collect();
    let found = find(names.into_iter(), wanted).map_err(|e| format!("{kind}: {e}"))?;
    found.ok_or_else(|| {
        let name = wanted.to_owned();
        NameError::UnknownName { kind, name, known }.to_string()
    })
}

pub(crate) fn table(state: &RuntimeState, name: &str) -> Result<TableId, String> {
    let tables = state.program().tables.iter();
    known("table", tables.map(|(id, t)| (id, t.name.clone())), name)
}

/// The full name of a table's action; the name as it is given if the table has no such action.
pub(crate) fn action(state: &RuntimeState, table: TableId, name: &str) -> Result<String, String> {
    let program = state.program();
    let actions = program.tables[table].actions.iter();
    let names = actions.map(|a| program.actions[a.action].name.clone());
    let found = find(names.map(|name| (name.clone(), name)), name);
    let found = found.map_err(|e| format!("action: {e} in table `{}`", program.tables[table].name));
    Ok(found?.unwrap_or_else(|| name.to_owned()))
}

pub(crate) fn object(
    state: &RuntimeState,
    types: &[ExternType],
    name: &str,
) -> Result<ExternId, String> {
    let program = state.program();
    let of_type = program
        .externs
        .iter()
        .filter(|(_, e)| types.contains(&e.ty));
    let kind = match types.first() {
        Some(ExternType::Counter) => "counter",
        Some(ExternType::DirectCounter) => "direct counter",
        Some(ExternType::Meter) => "meter",
        Some(ExternType::Register) => "register",
        _ => "action profile",
    };
    known(kind, of_type.map(|(id, e)| (id, e.name.clone())), name)
}

pub(crate) fn value_set(state: &RuntimeState, name: &str) -> Result<ValueSetId, String> {
    let sets = state.program().value_sets.iter();
    known(
        "value set",
        sets.map(|(id, set)| (id, set.name.clone())),
        name,
    )
}

/// The header whose validity a key of this name matches, if it does.
pub(crate) fn validity(name: &str) -> Option<String> {
    let mut ends = ["$valid$", "isValid()"].iter();
    let start = ends.find_map(|end| name.strip_suffix(end));
    start.map(|start| start.trim_end_matches('.').to_owned())
}

/// The position of the key a case file calls `wanted`: `$1` stands for `[1]`, `valid` for a
/// header's validity, and leading parts of the name may be missing.
pub(crate) fn key(keys: &[&str], wanted: &str) -> Result<usize, String> {
    let wanted = undollar(wanted);
    let base = wanted.strip_suffix(".valid").map(str::to_owned);
    let same = |name: &str| {
        name == wanted
            || name.strip_suffix('$') == Some(&wanted)
            || validity(name).is_some_and(|of| of == wanted || Some(&of) == base.as_ref())
    };
    let end = |name: &str| {
        let dotted = format!(".{wanted}");
        name.ends_with(&dotted)
            || name.strip_suffix('$').is_some_and(|n| n.ends_with(&dotted))
            || validity(name).is_some_and(|of| wanted == "valid" || of.ends_with(&dotted))
    };
    keys.iter()
        .position(|name| same(name))
        .or_else(|| keys.iter().rposition(|name| end(name)))
        .ok_or_else(|| {
            format!(
                "there is no key `{wanted}`; the keys are {}",
                keys.join(", ")
            )
        })
}

/// `a$1.b` as `a[1].b`.
fn undollar(name: &str) -> String {
    let Some((start, rest)) = name.split_once('$') else {
        return name.to_owned();
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return name.to_owned();
    }
    format!("{start}[{}]{}", &rest[..digits], &rest[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_by_whole_name_and_by_end() {
        let keys = ["hdr.extra[0].h", "hdr.ipv4.$valid$", "meta.tag"];
        assert_eq!(key(&keys, "extra$0.h"), Ok(0));
        assert_eq!(key(&keys, "hdr.ipv4.valid"), Ok(1));
        assert_eq!(key(&keys, "hdr.ipv4"), Ok(1));
        assert_eq!(key(&keys, "valid"), Ok(1));
        assert_eq!(key(&keys, "tag"), Ok(2));
        assert!(key(&keys, "ag").is_err());
    }

    #[test]
    fn an_end_must_be_the_only_one() {
        let names = || {
            ["a.drop", "b.drop", "b.set"]
                .into_iter()
                .map(|n| (n, n.to_owned()))
        };
        assert_eq!(find(names(), "set"), Ok(Some("b.set")));
        assert_eq!(find(names(), "a.drop"), Ok(Some("a.drop")));
        assert_eq!(find(names(), "get"), Ok(None));
        assert!(
            find(names(), "drop")
                .unwrap_err()
                .contains("a.drop or b.drop")
        );
    }
}

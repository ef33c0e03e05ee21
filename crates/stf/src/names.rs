//! Finding tables, actions, keys and objects by the names case files use: whole, or the end of one.

use p4exec::RuntimeState;
use p4ir::{ActionId, ExternId, ExternType, TableId, ValueSetId};

/// The one of `names` that equals `wanted`, or else the only one that ends with it.
fn find<T>(names: impl Iterator<Item = (T, String)>, wanted: &str) -> Result<T, String> {
    let mut ends = Vec::new();
    for (item, name) in names {
        if name == wanted {
            return Ok(item);
        }
        if name.ends_with(wanted) {
            ends.push((item, name));
        }
    }
    match ends.len() {
        1 => Ok(ends.remove(0).0),
        0 => Err(format!("there is no `{wanted}`")),
        _ => {
            let names: Vec<_> = ends.into_iter().map(|(_, name)| name).collect();
            Err(format!("`{wanted}` could be {}", names.join(" or ")))
        }
    }
}

pub(crate) fn table(state: &RuntimeState, name: &str) -> Result<TableId, String> {
    let names = state
        .program()
        .tables
        .iter()
        .map(|(id, t)| (id, t.name.clone()));
    find(names, name).map_err(|e| format!("table: {e}"))
}

pub(crate) fn action(state: &RuntimeState, table: TableId, name: &str) -> Result<ActionId, String> {
    let program = state.program();
    let actions = &program.tables[table].actions;
    let names = actions
        .iter()
        .map(|a| (a.action, program.actions[a.action].name.clone()));
    find(names, name).map_err(|e| format!("action: {e} in table `{}`", program.tables[table].name))
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
    find(of_type.map(|(id, e)| (id, e.name.clone())), name)
        .map_err(|e| format!("{}: {e}", types[0].name()))
}

pub(crate) fn value_set(state: &RuntimeState, name: &str) -> Result<ValueSetId, String> {
    let sets = state.program().value_sets.iter();
    find(sets.map(|(id, set)| (id, set.name.clone())), name).map_err(|e| format!("value set: {e}"))
}

/// The position of the key a case file calls `wanted`: `$1` stands for `[1]`, `valid` for a
/// header's validity, and leading parts of the name may be missing.
pub(crate) fn key(keys: &[&str], wanted: &str) -> Result<usize, String> {
    let wanted = undollar(wanted);
    let base = wanted.strip_suffix(".valid").map(str::to_owned);
    let validity = |name: &str| {
        ["$valid$", "isValid()"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .map(|start| start.trim_end_matches('.').to_owned())
    };
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
        assert_eq!(find(names(), "set"), Ok("b.set"));
        assert_eq!(find(names(), "a.drop"), Ok("a.drop"));
        assert!(
            find(names(), "drop")
                .unwrap_err()
                .contains("a.drop or b.drop")
        );
    }
}

//! Two P4Infos in text form, compared object by object.

use std::collections::{BTreeMap, BTreeSet};

/// A message in text form: its fields in an order that does not depend on the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Scalar(String),
    Message(Vec<(String, Value)>),
}

/// What differs between two P4Infos: first identifiers and names, then everything else.
///
/// # Errors
/// One of the texts is no message in text form.
pub(super) fn differences(ours: &str, theirs: &str) -> Result<Vec<String>, String> {
    let ours = objects(ours).map_err(|e| format!("ours: {e}"))?;
    let theirs = objects(theirs).map_err(|e| format!("the published one: {e}"))?;
    let names = |of: &BTreeMap<String, Vec<Value>>| of.keys().cloned().collect::<BTreeSet<_>>();
    let (ours_named, theirs_named) = (names(&ours), names(&theirs));
    let only = |from: &BTreeSet<String>, other: &BTreeSet<String>, whose: &str| {
        let first = from.difference(other).next();
        first.map(|name| format!("P4Info: only {whose} has {name}"))
    };
    let mut found: Vec<String> = [
        only(&ours_named, &theirs_named, "ours"),
        only(&theirs_named, &ours_named, "the published one"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let both = ours_named.intersection(&theirs_named);
    let fields: BTreeSet<String> = both
        .flat_map(|name| fields_that_differ(&ours[name], &theirs[name]))
        .collect();
    found.extend(fields.into_iter().map(|what| format!("P4Info: {what}")));
    Ok(found)
}

/// Paths of the fields that two objects of one name differ in.
fn fields_that_differ(ours: &[Value], theirs: &[Value]) -> Vec<String> {
    let leaves = |values: &[Value]| {
        let mut found = BTreeSet::new();
        for value in values {
            leaves_of(value, "", &mut found);
        }
        found
    };
    let (ours, theirs) = (leaves(ours), leaves(theirs));
    let say = |whose: &'static str| {
        move |(path, value): &(String, String)| format!("only {whose} has {path}: {value}")
    };
    let one = ours.difference(&theirs).map(say("ours"));
    one.chain(theirs.difference(&ours).map(say("the published one")))
        .collect()
}

fn leaves_of(value: &Value, path: &str, found: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Scalar(text) => {
            found.insert((path.to_owned(), text.clone()));
        }
        Value::Message(fields) => {
            for (name, value) in fields {
                let inner = match path {
                    "" => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                leaves_of(value, &inner, found);
            }
        }
    }
}

/// The top-level messages by field, identifier and name.
fn objects(text: &str) -> Result<BTreeMap<String, Vec<Value>>, String> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (field, value) in parse(text)? {
        let preamble = member(&value, "preamble");
        let of = |name| match preamble.and_then(|p| member(p, name)) {
            Some(Value::Scalar(text)) => text.clone(),
            _ => String::new(),
        };
        let (id, name) = (of("id"), of("name"));
        let key = format!("{field} {id} {name}");
        all.entry(key.trim().to_owned()).or_default().push(value);
    }
    Ok(all)
}

fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let Value::Message(fields) = value else {
        return None;
    };
    fields
        .iter()
        .find(|(field, _)| field == name)
        .map(|(_, value)| value)
}

/// The fields of a message in text form.
fn parse(text: &str) -> Result<Vec<(String, Value)>, String> {
    let tokens = tokens(text);
    let mut rest = tokens.as_slice();
    let fields = message(&mut rest)?;
    match rest.first() {
        None => Ok(fields),
        Some(token) => Err(format!("`{token}` is not expected")),
    }
}

fn message(rest: &mut &[String]) -> Result<Vec<(String, Value)>, String> {
    let mut fields = Vec::new();
    while let Some((name, behind)) = rest.split_first() {
        if matches!(name.as_str(), "}" | ">") {
            break;
        }
        *rest = behind;
        if matches!(name.as_str(), ";" | ",") {
            continue;
        }
        if rest.first().is_some_and(|t| t == ":") {
            *rest = &rest[1..];
        }
        if rest.first().is_some_and(|t| t == "[") {
            *rest = &rest[1..];
            while rest.first().is_some_and(|t| t != "]") {
                fields.push((name.clone(), value(rest)?));
                if rest.first().is_some_and(|t| t == ",") {
                    *rest = &rest[1..];
                }
            }
            *rest = rest.get(1..).unwrap_or_default();
        } else {
            fields.push((name.clone(), value(rest)?));
        }
    }
    fields.sort();
    Ok(fields)
}

fn value(rest: &mut &[String]) -> Result<Value, String> {
    let (first, behind) = rest.split_first().ok_or("a value is missing")?;
    *rest = behind;
    if matches!(first.as_str(), "{" | "<") {
        let fields = message(rest)?;
        *rest = rest.get(1..).ok_or("a message is not closed")?;
        return Ok(Value::Message(fields));
    }
    let mut text = first.clone();
    // Strings one behind the other are one.
    while first.starts_with('"') && rest.first().is_some_and(|t| t.starts_with('"')) {
        text.pop();
        text.push_str(&rest[0][1..]);
        *rest = &rest[1..];
    }
    Ok(Value::Scalar(text))
}

fn tokens(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        let length = if c == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == '"' {
            super::format::string(rest)
        } else if word(c) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let (part, behind) = rest.split_at(length);
        rest = behind;
        if c != '#' && !c.is_whitespace() {
            found.push(part.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_blanks_do_not_count() {
        let ours = "tables { preamble { id: 7 name: \"a\" } size: 3 }\nactions { id: 1 }";
        let theirs = "# of p4c\nactions: < id: 1 >\ntables {\n size: 3\n preamble{ name:\"\" \"a\", id: 7 } }";
        assert_eq!(differences(ours, theirs), Ok(Vec::new()));
    }

    #[test]
    fn objects_and_fields_that_differ_are_named() {
        let table =
            |id, size| format!("tables {{ preamble {{ id: {id} name: \"a\" }} size: {size} }}");
        assert_eq!(
            differences(&table(7, 3), &table(7, 4)),
            Ok(vec![
                "P4Info: only ours has size: 3".to_owned(),
                "P4Info: only the published one has size: 4".to_owned(),
            ])
        );
        assert_eq!(
            differences(&table(7, 3), &table(8, 3)),
            Ok(vec![
                "P4Info: only ours has tables 7 \"a\"".to_owned(),
                "P4Info: only the published one has tables 8 \"a\"".to_owned(),
            ])
        );
        assert!(differences("tables {", "").is_err());
    }
}

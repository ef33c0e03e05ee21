//! What is written keeps to `docs/sonic-tables.schema.json`. As much of JSON Schema is checked here
//! as that file uses; a keyword that it did not use before fails.

use regex::Regex;
use serde_json::{Map, Value};
use sonic::platform::{GENERIC_8TC, GENERIC_8TC_ACL};
use sonic::{Options, Watchdog, configure};

use super::written::{bounces, clos};

/// Keywords that say nothing about values.
const WORDS: [&str; 4] = ["$schema", "title", "description", "$defs"];

struct Schema {
    root: Value,
}

impl Schema {
    fn check(&self, schema: &Value, value: &Value, place: &str) {
        for (keyword, rule) in schema.as_object().unwrap() {
            match keyword.as_str() {
                "$ref" => {
                    let pointer = rule.as_str().unwrap().trim_start_matches('#');
                    self.check(self.root.pointer(pointer).unwrap(), value, place);
                }
                "type" => match rule.as_str().unwrap() {
                    "object" => assert!(value.is_object(), "{place}: {value}"),
                    "string" => assert!(value.is_string(), "{place}: {value}"),
                    other => panic!("type {other}"),
                },
                "enum" => assert!(rule.as_array().unwrap().contains(value), "{place}: {value}"),
                "pattern" => {
                    let pattern = Regex::new(rule.as_str().unwrap()).unwrap();
                    assert!(
                        pattern.is_match(value.as_str().unwrap()),
                        "{place}: {value}"
                    );
                }
                "minLength" | "maxLength" => {
                    let length = value.as_str().unwrap().len() as u64;
                    let bound = rule.as_u64().unwrap();
                    let fits = match keyword.as_str() {
                        "minLength" => length >= bound,
                        _ => length <= bound,
                    };
                    assert!(fits, "{place}: {value}");
                }
                "required" => {
                    for name in rule.as_array().unwrap() {
                        let name = name.as_str().unwrap();
                        assert!(value.get(name).is_some(), "{place}: no {name}");
                    }
                }
                "propertyNames" => {
                    for name in value.as_object().unwrap().keys() {
                        self.check(rule, &Value::from(name.as_str()), place);
                    }
                }
                "properties" | "additionalProperties" => {}
                word if WORDS.contains(&word) => {}
                other => panic!("{place}: keyword {other} is not checked"),
            }
        }
        if let Value::Object(fields) = value {
            self.fields(schema, fields, place);
        }
    }

    fn fields(&self, schema: &Value, fields: &Map<String, Value>, place: &str) {
        for (name, field) in fields {
            let place = format!("{place}/{name}");
            let known = schema.get("properties").and_then(|all| all.get(name));
            match known.or(schema.get("additionalProperties")) {
                Some(Value::Bool(false)) => panic!("{place} is not in the schema"),
                Some(rule @ Value::Object(_)) => self.check(rule, field, &place),
                _ => {}
            }
        }
    }
}

#[test]
fn what_is_written_keeps_to_the_schema() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/sonic-tables.schema.json"
    );
    let root: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let schema = Schema { root };
    let plans = [
        (bounces(&clos(), 1), &GENERIC_8TC),
        (bounces(&clos(), 3), &GENERIC_8TC_ACL),
    ];
    for (plan, platform) in plans {
        for watchdog in [Watchdog::Off, Watchdog::Net] {
            for switch in plan.topology().switch_ids() {
                let config = configure(&plan, switch, &Options { platform, watchdog }).unwrap();
                let tables = Value::Object(sonic::write::tables(&config));
                schema.check(&schema.root, &tables, "");
            }
        }
    }
    // The schema is no rubber stamp.
    let wrong = serde_json::json!({"PORT": {"Ethernet0": {"lanes": "x", "speed": "1"}}});
    assert!(std::panic::catch_unwind(|| schema.check(&schema.root, &wrong, "")).is_err());
}

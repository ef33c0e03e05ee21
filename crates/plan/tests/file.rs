//! The plan file: read back as written, described by its schema, and refused with words.

use plan::Tables;
use plan::check::{Options, check};
use schemes::{TaggerOptions, tagger};
use topology::generate::{Cables, Clos, FatTree};

fn plan() -> Tables {
    let clos = Clos {
        leaves: 4,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().expect("a valid Clos");
    let options = TaggerOptions {
        class_bits: true,
        ..TaggerOptions::default()
    };
    tagger(&topology, &options.with_classes(2)).expect("tables")
}

#[test]
fn reads_what_it_writes() {
    let tables = plan();
    let text = tables.to_json();
    let read = Tables::from_json(&text).expect("our own file");
    assert_eq!(read, tables);
    assert_eq!(read.to_json(), text);
    check(read, &Options::default()).expect("a sound plan");
}

#[test]
fn the_file_reads_well() {
    insta::assert_snapshot!(plan().to_json());
}

#[test]
fn a_large_fat_tree_is_a_small_file() {
    let cables = Cables::default();
    let topology = FatTree { k: 16, cables }.generate().expect("a fat-tree");
    let alone = topology.to_json().len();
    let tables = tagger(&topology, &TaggerOptions::default()).expect("tables");
    assert!(tables.to_json().len() < alone + 10_000);
}

#[test]
fn schema_file_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&Tables::json_schema()).expect("plain JSON");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan.schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, schema.clone() + "\n").expect("docs/ is there");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        written.trim_end(),
        schema,
        "run this test with UPDATE_SCHEMA=1"
    );
}

#[test]
fn bad_files_say_what_and_where() {
    let good = plan().to_json();
    let cases = [
        ("{", "EOF while parsing"),
        ("{}", "its `format` is missing"),
        (
            "{\"format\": \"switchwright-topology\"}",
            "\"switchwright-topology\"",
        ),
    ];
    for (text, expected) in cases {
        let error = Tables::from_json(text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let edits = [
        ("\"version\": 1", "\"version\": 2", "version is 2"),
        ("\"leaf1\",", "\"leaf9\",", "no switch `leaf9`"),
        ("\"leaf1\",", "\"leaf2\",", "`leaf2` has rules already"),
        (
            "\"in\":\"1-4\"",
            "\"in\":\"4-1\"",
            "`4-1` is not a set of ports",
        ),
        ("\"new\":1", "\"new\":\"none\"", "a new tag is a number"),
        (
            "{\"tag\":2,\"priority\"",
            "{\"tag\":1,\"priority\"",
            "tag 1 is listed twice",
        ),
        ("\"form\"", "\"from\"", "unknown field `from`"),
        ("leaf1:1", "leaf1:99", "`topology`: "),
    ];
    for (from, to, expected) in edits {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let error = Tables::from_json(&text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

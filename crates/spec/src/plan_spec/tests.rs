//! Every option belongs to some scheme and is refused for all others.

use std::sync::Arc;

use topology::generate::{Cables, Clos, Ring};

use super::{PlanSpec, SchemeKind, Spelling, owners};
use crate::choice::Choice;

/// A value of every field.
const FIELDS: &[(&str, &str)] = &[
    ("seed", "3"),
    ("algorithm", r#""optimal""#),
    ("search_moves", "1000"),
    ("routes", r#""shortest""#),
    ("bounces", "2"),
    ("k", "3"),
    ("max_switches", "3"),
    ("hops", "6"),
    ("classes", "2"),
    ("class", r#"["gold"]"#),
    ("class_bits", "true"),
    ("carrier", r#""vlan-pcp""#),
    ("codes", "[26, 28]"),
    ("tag_priorities", "[3, 4]"),
    ("rules", r#""exact""#),
    ("resilience", "1"),
    ("hop_by_hop", "true"),
    ("source_routes", "true"),
    ("multipath", "1"),
    ("compress", "true"),
    ("paths", r#""common""#),
    ("protect", r#""switches""#),
    ("trees", "1"),
    ("growth", r#""random""#),
    ("default_tree", "true"),
    ("mark_trees", "true"),
    ("stack", "5"),
    ("lossless", r#""rising""#),
    ("channels", "1"),
    ("ttg", r#""line""#),
    ("tree_order", r#""perf""#),
    ("initial_trees", "1"),
    ("subset", "2"),
    ("connect_layers", "true"),
    ("important", r#"["h1"]"#),
    ("important_scheme", r#""adst""#),
    ("important_resilience", "2"),
    ("priorities", "3"),
    ("buffer", r#""1MiB""#),
    ("mtu", "9000"),
    ("tcam_bits", "100000"),
    ("ports", "64"),
];

fn spec(scheme: &str, fields: &[(&str, &str)]) -> PlanSpec {
    let fields = fields
        .iter()
        .map(|(name, value)| format!(r#", "{name}": {value}"#));
    let fields: String = fields.collect();
    serde_json::from_str(&format!(r#"{{"scheme": "{scheme}"{fields}}}"#)).unwrap()
}

fn problem(spec: &PlanSpec) -> String {
    let said = spec.validate(Spelling::Fields).err();
    said.map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn every_option_is_some_schemes_and_refused_for_the_others() {
    let mut refused = 0;
    for field in FIELDS {
        let name = field.0;
        assert!(!owners(name).is_empty(), "no scheme has `{name}`");
        for scheme in SchemeKind::ALL {
            let given = spec(scheme.name(), std::slice::from_ref(field));
            assert_eq!(given.given().collect::<Vec<_>>(), [name]);
            let said = problem(&given);
            let idle = said.contains("means nothing for the scheme");
            let own = owners(name).contains(scheme);
            assert_eq!(idle, !own, "{name}, {scheme:?}: {said}");
            refused += usize::from(idle);
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let one_bounce = ("routes", r#"{"policy": "up-down", "bounces": 1}"#);
    let lash = ("routes", r#""lash""#);
    for (scheme, fields, part) in [
        (
            "edst",
            &[("trees", "1"), ("resilience", "1")][..],
            "survives 0 failures",
        ),
        (
            "edst",
            &[("trees", "2"), ("resilience", "3")],
            "survives 1 failures",
        ),
        ("tagger", &[("hops", "1")], "it is for ttl"),
        ("ttl", &[("algorithm", r#""clos""#)], "it is for tagger"),
        ("tagger", &[("k", "3")], "`routes: ksp`"),
        (
            "tagger",
            &[one_bounce, ("bounces", "2")],
            "contradicts the 1 of `routes`",
        ),
        (
            "tagger",
            &[one_bounce, ("class", r#"["gold:2"]"#)],
            "class `gold` is to stay lossless over more bounces than `bounces: 1` allows",
        ),
        (
            "tagger",
            &[("classes", "2"), ("class", r#"["gold"]"#)],
            "cannot be used with",
        ),
        ("tagger", &[("classes", "0")], "no lossless class"),
        ("tagger", &[("priorities", "8")], "not in 1..=7"),
        (
            "tagger",
            &[("codes", "[64]")],
            "`codes`: there is no code 64",
        ),
        (
            "tagger",
            &[("codes", "[0]")],
            "0 is the code of lossy packets",
        ),
        ("tagger", &[("codes", "[3, 3]")], "code 3 is given twice"),
        (
            "tagger",
            &[("carrier", r#""vlan-pcp""#), ("codes", "[8]")],
            "vlan-pcp carries 1 to 7",
        ),
        (
            "plinko",
            &[("lossless", r#""rising""#), ("codes", "[256]")],
            "shim carries 1 to 255",
        ),
        (
            "tagger",
            &[("tag_priorities", "[0]")],
            "0 is the priority of lossy packets",
        ),
        (
            "tagger",
            &[("tag_priorities", "[8]")],
            "there is no priority 8",
        ),
        (
            "tagger",
            &[("tag_priorities", "[4, 4]")],
            "priority 4 is given twice",
        ),
        ("plinko", &[("codes", "[2]")], "without lossless tags"),
        ("tagger", &[lash, ("bounces", "2")], "keep their lane"),
        ("ttl", &[lash], "virtual lanes"),
        (
            "df-fi",
            &[("lossless", r#""rising""#), ("channels", "2")],
            "takes the place of channels",
        ),
    ] {
        let said = problem(&spec(scheme, fields));
        assert!(said.contains(part), "{scheme} {fields:?}: {said:?}");
    }
}

#[test]
fn what_depends_on_the_topology_is_refused_there() {
    let ring = Ring {
        switches: 4,
        hosts: 1,
        cables: Cables::default(),
    };
    let ring = ring.generate().unwrap();
    let spec = spec("tagger", &[("bounces", "2")]);
    let said = spec.tables(&ring, &Arc::default()).unwrap_err().to_string();
    assert!(said.contains("the topology has no layers"), "{said}");
}

#[test]
fn codes_and_priorities_are_the_operators() {
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables: Cables::default(),
    };
    let clos = clos.generate().unwrap();
    let numbers = |scheme: &str, fields: &[(&str, &str)]| {
        let made = spec(scheme, fields).tables(&clos, &Arc::default());
        made.map(|tables| {
            let priorities = tables.tagging.priorities.iter();
            let code = |tag| tables.carrier.codes[tag].get();
            let all = priorities.map(|(tag, priority)| (code(tag), priority.get()));
            all.collect::<Vec<_>>()
        })
    };
    assert_eq!(numbers("tagger", &[]).unwrap(), [(26, 3), (28, 4)]);
    for scheme in ["tagger", "ttl", "df-fi"] {
        let fields = [("codes", "[40]"), ("tag_priorities", "[6]")];
        let first = numbers(scheme, &fields).unwrap()[0];
        assert_eq!(first, (40, 6), "{scheme}");
    }
    let three = [("codes", "[1, 2, 3]")];
    let said = numbers("tagger", &three).unwrap_err().to_string();
    assert!(
        said.contains("3 codes are given, but the number of tags of this plan is 2"),
        "{said}"
    );
    let three = [("tag_priorities", "[1, 2, 3]")];
    let said = numbers("tagger", &three).unwrap_err().to_string();
    assert!(said.contains("3 priorities are given"), "{said}");
}

#[test]
fn bounces_of_a_policy_are_those_that_tags_survive() {
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables: Cables::default(),
    };
    let clos = clos.generate().unwrap();
    let tables = |fields: &[(&str, &str)]| {
        let tables = spec("tagger", fields).tables(&clos, &Arc::default());
        tables.unwrap().to_json()
    };
    let two = ("routes", r#"{"policy": "up-down", "bounces": 2}"#);
    let policy = tables(&[two]);
    assert_eq!(policy, tables(&[("bounces", "2")]));
    assert_eq!(
        policy,
        tables(&[("routes", r#""up-down""#), ("bounces", "2")])
    );
    assert_ne!(policy, tables(&[]));
}

//! What programs say of their entries (`@entry_restriction`, `@refers_to`) holds for those that
//! plans of both families get, on v1model and on Tofino.
#![allow(clippy::panic, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use entries::{Bits, Bytestring as _};
use p4gen::capabilities::Capabilities;
use p4gen::entries::{FieldMatch, NamedAction, NamedCall, SwitchEntries, TableEntry};
use p4gen::family::{EntrySource, ProgramFeatures};
use p4gen::program::{self, p4info};
use p4gen::targets::{TNA, V1MODEL};
use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::{P4Info, Table};
use plan::failover::Output;
use plan::{CarrierKind, CheckedPlan, RuleForm, check};
use schemes::TaggerOptions;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Important, Method, failover, lossless_failover,
};
use topology::generate::{Cables, Line, ThreeNode};
use topology::routes::forwarding::{Forwarding, Reroute, SwitchTables};
use topology::{HostId, Topology};

use super::tagger;

/// Tables and parameters of which something is said, with how many entries it was held against.
type Judged = BTreeMap<String, usize>;

/// A value without leading zeros, so that those of different widths compare.
fn plain(bits: &Bits) -> Vec<u8> {
    bits.canonical()
}

/// Whether a restriction holds, in as much of the language of P4-constraints as our programs use:
/// comparisons of two operands, joined by `||`, clauses ended by `;`.
fn holds(restriction: &str, operand: &dyn Fn(&str) -> Vec<u8>) -> bool {
    let value = |text: &str| {
        let number = match text.strip_prefix("0x") {
            Some(hex) => u128::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        let bits = |number: u128| plain(&Bits::from_uint(number, 128).expect("wide enough"));
        number.map_or_else(|| operand(text), bits)
    };
    let comparison = |text: &str| match text.split_whitespace().collect::<Vec<_>>()[..] {
        [left, "==", right] => value(left) == value(right),
        [left, "!=", right] => value(left) != value(right),
        _ => panic!("`{text}` is not understood"),
    };
    let clause = |text: &str| {
        text.split("||")
            .map(comparison)
            .fold(false, |any, one| any | one)
    };
    let clauses = restriction.split(';').map(str::trim);
    let clauses = clauses.filter(|clause| !clause.is_empty());
    clauses.map(clause).fold(true, |all, one| all & one)
}

/// An operand of a restriction: an exact key by its name, value or mask of a ternary one.
fn operand(table: &Table, entry: &TableEntry, name: &str) -> Vec<u8> {
    let (field, part) = name.split_once("::").unwrap_or((name, ""));
    let declared = table.match_fields.iter().find(|f| f.name == field);
    let declared = declared.unwrap_or_else(|| panic!("no key {field}"));
    let kind = |kind: MatchType| Some(Match::MatchType(kind as i32));
    let given = entry.keys.iter().find(|key| key.field == field);
    match (part, given.map(|key| &key.value)) {
        ("", Some(FieldMatch::Exact(value))) => plain(value),
        ("value", Some(FieldMatch::Ternary { value, .. })) => plain(value),
        ("mask", Some(FieldMatch::Ternary { mask, .. })) => plain(mask),
        ("value" | "mask", None) if declared.r#match == kind(MatchType::Ternary) => vec![0],
        (_, found) => panic!("`{name}` is not understood of {found:?}"),
    }
}

/// What stands in an annotation of this name: `@NAME(...)`.
fn annotation<'a>(all: &'a [String], name: &str) -> Option<&'a str> {
    let inside = |text: &'a String| {
        let rest = text.strip_prefix('@')?.strip_prefix(name)?;
        rest.strip_prefix('(')?.strip_suffix(')')
    };
    all.iter().find_map(inside)
}

/// Table and field that values refer to.
fn reference(annotations: &[String]) -> Option<(&str, &str)> {
    let inside = annotation(annotations, "refers_to")?;
    let (table, field) = inside.split_once(',').expect("a table and a field");
    Some((table.trim(), field.trim()))
}

/// The last part of a name.
fn alias(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn exact_value<'a>(entry: &'a TableEntry, field: &str) -> Option<&'a Bits> {
    let key = entry.keys.iter().find(|key| key.field == field)?;
    match &key.value {
        FieldMatch::Exact(value) => Some(value),
        _ => None,
    }
}

/// A program's description beside the entries of one switch.
struct Judge<'a> {
    info: &'a P4Info,
    entries: &'a SwitchEntries,
}

impl Judge<'_> {
    /// What does not hold.
    fn complaints(&self, judged: &mut Judged) -> Vec<String> {
        let mut found = Vec::new();
        for table in &self.info.tables {
            let preamble = table.preamble.as_ref().expect("every table has one");
            let own = self.entries.tables.iter();
            for entry in own.filter(|entry| entry.table == preamble.name) {
                if let Some(text) = annotation(&preamble.annotations, "entry_restriction") {
                    *judged.entry(preamble.name.clone()).or_default() += 1;
                    let operand = |name: &str| operand(table, entry, name);
                    if !holds(text.trim_matches('"'), &operand) {
                        found.push(format!("{entry:?} does not keep {text}"));
                    }
                }
                for field in &table.match_fields {
                    let target = reference(&field.annotations);
                    let value = exact_value(entry, &field.name);
                    let place = format!("{} {}", preamble.name, field.name);
                    found.extend(self.dangling(target, value, place, judged));
                }
                if let NamedAction::Call(call) = &entry.action {
                    found.extend(self.of_action(call, judged));
                }
            }
        }
        found
    }

    /// References of an action's parameters that lead to no entry.
    fn of_action(&self, call: &NamedCall, judged: &mut Judged) -> Vec<String> {
        let of_name = |a: &&p4runtime::p4::config::v1::Action| {
            a.preamble.as_ref().is_some_and(|p| p.name == call.action)
        };
        let action = self.info.actions.iter().find(of_name);
        let mut found = Vec::new();
        for param in &action.expect("an action of the program").params {
            let value = call.params.iter().find(|(name, _)| *name == param.name);
            let place = format!("{} {}", call.action, param.name);
            let target = reference(&param.annotations);
            found.extend(self.dangling(target, value.map(|(_, bits)| bits), place, judged));
        }
        found
    }

    /// A value without an entry that it refers to.
    fn dangling(
        &self,
        target: Option<(&str, &str)>,
        value: Option<&Bits>,
        place: String,
        judged: &mut Judged,
    ) -> Option<String> {
        let (table, field) = target?;
        let value = value.expect("a value refers");
        let there = self.entries.tables.iter().any(|entry| {
            alias(&entry.table) == table && exact_value(entry, field).is_some_and(|v| v == value)
        });
        let complaint = format!("{place}: {value} is not in {table}.{field}");
        *judged.entry(place).or_default() += 1;
        (!there).then_some(complaint)
    }
}

fn failover_plan(topology: &Topology, options: &FailoverOptions) -> CheckedPlan {
    let tables = failover(topology, options).expect("the scheme has tables for it");
    let short = check::Options {
        failures: check::FailureOptions {
            failures: Some(0),
            ..check::FailureOptions::default()
        },
        ..check::Options::default()
    };
    check(tables, &short).expect("and they are sound")
}

/// A failover plan whose packets keep lossless by tags that rise.
fn lossless_plan(topology: &Topology, form: RuleForm) -> CheckedPlan {
    let tags = TaggerOptions {
        carrier: CarrierKind::Shim,
        form,
        ..TaggerOptions::default()
    };
    let options = FailoverOptions {
        stack: Some(4),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let tables = lossless_failover(topology, &options, Method::Rising, &tags);
    let sound = check(tables.expect("tags for it"), &check::Options::default());
    sound.expect("and they are sound")
}

/// Plans of every kind of header and output, with several routings, and with more ports than one
/// register has.
fn failover_plans() -> Vec<CheckedPlan> {
    let cables = Cables::default();
    let ring = ThreeNode { cables }.generate().expect("three switches");
    let wide = Line {
        switches: 2,
        hosts: 34,
        cables,
    };
    let wide = wide.generate().expect("a line");
    let long = Line {
        switches: 5,
        hosts: 1,
        cables,
    };
    let long = long.generate().expect("a line");
    let mut plans = Vec::new();
    for scheme in [
        FailoverScheme::Plinko,
        FailoverScheme::Fcp,
        FailoverScheme::MplsFrr,
    ] {
        for output in [Output::HopByHop, Output::SourceRoutes] {
            let base = FailoverOptions {
                output,
                stack: Some(4),
                ..FailoverOptions::new(scheme)
            };
            let several = FailoverOptions {
                compress: true,
                multipath: Some(3),
                ..base.clone()
            };
            let none_fails = FailoverOptions {
                resilience: 0,
                ..base.clone()
            };
            plans.push(failover_plan(&ring, &base));
            plans.push(failover_plan(&ring, &several));
            plans.push(failover_plan(&wide, &none_fails));
        }
    }
    let long_routes = FailoverOptions {
        output: Output::SourceRoutes,
        resilience: 0,
        stack: Some(4),
        ..FailoverOptions::new(FailoverScheme::MplsFrr)
    };
    plans.push(failover_plan(&long, &long_routes));
    plans.extend([RuleForm::Exact, RuleForm::PortSets].map(|form| lossless_plan(&ring, form)));
    for scheme in [FailoverScheme::Edst, FailoverScheme::Adst] {
        let base = FailoverOptions {
            trees: Some(1),
            stack: Some(4),
            ..FailoverOptions::new(scheme)
        };
        let default_tree = FailoverOptions {
            default_tree: true,
            multipath: Some(1),
            ..base.clone()
        };
        let beside = FailoverOptions {
            multipath: Some(2),
            stack: Some(4),
            important: Some(Important {
                hosts: [HostId::new(1)].into(),
                options: Box::new(base.clone()),
                all_trees: true,
            }),
            ..FailoverOptions::new(FailoverScheme::Plinko)
        };
        plans.extend([base, default_tree, beside].map(|options| failover_plan(&ring, &options)));
    }
    plans
}

/// The entries of all switches of a plan, with what the program says of them.
fn made(plan: &CheckedPlan, target: &Capabilities) -> (P4Info, Vec<SwitchEntries>) {
    let features = ProgramFeatures::of(plan);
    let program = program::generate(features, target).expect("the templates render");
    let info = p4info::of(&program).expect("our own program compiles");
    let topology = plan.topology();
    let forwarding = features.routes().then(|| {
        let routes = Forwarding::new(topology, &plan.tables().forwarding, Reroute::Converged);
        routes.expect("the policy fits")
    });
    let routes = forwarding.as_ref().map(|made| made as &dyn SwitchTables);
    let source = EntrySource::new(plan, target, &program.layout, routes);
    let entries = |switch| {
        features
            .entries(&source, switch)
            .expect("what was checked fits")
    };
    (info, topology.switch_ids().map(entries).collect())
}

#[test]
fn entries_keep_what_their_program_says_of_them() {
    let plans: Vec<CheckedPlan> = tagger::plans()
        .into_iter()
        .chain(failover_plans())
        .collect();
    for target in [&V1MODEL.capabilities, &TNA.capabilities] {
        let mut judged = Judged::new();
        let mut said = BTreeSet::new();
        for plan in &plans {
            let (info, switches) = made(plan, target);
            said.extend(statements(&info));
            for entries in &switches {
                let judge = Judge {
                    info: &info,
                    entries,
                };
                let complaints = judge.complaints(&mut judged);
                assert!(complaints.is_empty(), "{}: {complaints:#?}", target.target);
            }
        }
        // Whatever a program says was held against entries, but of the action that leaves a full
        // stack: no scheme's does.
        said.remove("ingress.send_4 port");
        let judged: BTreeSet<String> = judged.into_keys().collect();
        assert_eq!(judged, said, "{}", target.target);
        assert!(said.len() > 15, "{}: {said:?}", target.target);
    }
}

/// The tables, keys and parameters of which a program says something.
fn statements(info: &P4Info) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    for table in &info.tables {
        let preamble = table.preamble.as_ref().expect("every table has one");
        if annotation(&preamble.annotations, "entry_restriction").is_some() {
            said.insert(preamble.name.clone());
        }
        let refer =
            |f: &&p4runtime::p4::config::v1::MatchField| reference(&f.annotations).is_some();
        let fields = table.match_fields.iter().filter(refer);
        said.extend(fields.map(|f| format!("{} {}", preamble.name, f.name)));
    }
    for action in &info.actions {
        let name = action.preamble.as_ref().map_or("", |p| p.name.as_str());
        let params = action.params.iter();
        let refer = params.filter(|p| reference(&p.annotations).is_some());
        said.extend(refer.map(|p| format!("{name} {}", p.name)));
    }
    said
}

#[test]
fn entries_that_break_a_rule_are_found() {
    let plan = &failover_plans()[0];
    let (info, switches) = made(plan, &V1MODEL.capabilities);
    let mut entries = switches[0].clone();
    let complaints = |entries: &SwitchEntries| {
        let judge = Judge {
            info: &info,
            entries,
        };
        judge.complaints(&mut Judged::new())
    };
    assert_eq!(complaints(&entries), Vec::<String>::new());
    let seven = Bits::from_uint(7_u8, 48).expect("an address");
    for entry in &mut entries.tables {
        let local = alias(&entry.table) == "local_host";
        let keys = entry.keys.iter_mut().filter(|key| key.field == "dst_addr");
        for key in keys.filter(|_| local) {
            key.value = FieldMatch::ternary(&Bits::zero(48), seven.clone()).expect("bits count");
        }
    }
    let masks = complaints(&entries);
    assert!(
        masks.iter().any(|c| c.contains("dst_addr::mask")),
        "{masks:?}"
    );
    entries
        .tables
        .retain(|entry| alias(&entry.table) != "island_in");
    let missing = complaints(&entries);
    assert!(
        missing
            .iter()
            .any(|c| c.contains("is not in island_in.port")),
        "{missing:?}"
    );
}

#[test]
fn restrictions_are_evaluated() {
    let operand = |name: &str| vec![if name == "a" { 1 } else { 2 }];
    for (text, expected) in [
        ("a == 1", true),
        ("a != 1", false),
        ("a == 0x1; b == 2", true),
        ("a == 1;\n b == 3;\n", false),
        ("a == 2 || b == 2", true),
        ("a == b", false),
    ] {
        assert_eq!(holds(text, &operand), expected, "{text}");
    }
}

//! The rules of Tagger17's three switches.

use plan::RuleForm;
use schemes::{Algorithm, TaggerOptions, tagger};
use topology::generate::{Cables, ThreeNode};
use topology::routes::RoutePolicy;

use super::super::item::{EntryError, ItemError, Row, Run, Value};

/// A rule of a table: switch, tag, input port, output port, new tag.
type Rule = (&'static str, u16, u16, u16, u16);

/// The table under Algorithm 2.
const GREEDY: &[Rule] = &[
    ("A", 0, 2, 3, 0),
    ("A", 0, 2, 4, 0),
    ("A", 0, 3, 2, 0),
    ("A", 0, 3, 4, 1),
    ("A", 0, 4, 2, 0),
    ("A", 0, 4, 3, 0),
    ("B", 0, 2, 1, 0),
    ("B", 0, 2, 4, 0),
    ("B", 0, 1, 2, 0),
    ("B", 0, 1, 4, 1),
    ("B", 0, 4, 1, 0),
    ("B", 0, 4, 2, 0),
    ("C", 0, 4, 1, 0),
    ("C", 0, 4, 3, 0),
    ("C", 0, 1, 3, 0),
    ("C", 0, 1, 4, 0),
    ("C", 0, 3, 1, 0),
    ("C", 0, 3, 4, 0),
    ("C", 1, 1, 4, 1),
    ("C", 1, 3, 4, 1),
];

/// Ports of every switch in the table under Algorithm 1: to the host, and to the other two.
const PORTS: [(&str, u16, [u16; 2]); 3] = [("A", 2, [3, 4]), ("B", 2, [1, 4]), ("C", 4, [1, 3])];

/// Tags of the example by Algorithm 1, and by Algorithm 2.
const TAGS: [f64; 2] = [3.0, 2.0];

/// No route of at most three switches goes on from its third.
const THIRD_SWITCH: &str = "no simple path of three switches in the triangle goes on from the third to another switch; the paper's \
                            table has these rules all the same, as if packets could come back";
/// Toward a host ours keeps the tag.
const TOWARD_HOST: &str = "what leaves the network toward a host needs no further priority, so ours keeps the tag where the paper's raises it";

/// The table under Algorithm 1: a packet from the host becomes 1, and on it goes.
fn brute_force_table() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (switch, host, others) in PORTS {
        let [a, b] = others;
        rules.extend([(switch, 0, host, a, 1), (switch, 0, host, b, 1)]);
        for tag in [1, 2] {
            for (from, to) in [(a, host), (a, b), (b, a), (b, host)] {
                rules.push((switch, tag, from, to, tag + 1));
            }
        }
    }
    rules
}

fn name(&(switch, tag, from, to, _): &Rule) -> String {
    format!("{switch}: tag {tag}, port {from} to {to}")
}

fn row(rule: &Rule, reason: &'static str) -> Row {
    Row::exact("new tag", name(rule), f64::from(rule.4)).because(reason)
}

fn tags(number: f64) -> Row {
    Row::exact("tags", "tags", number).lower()
}

/// Rows of the table under Algorithm 1.
pub(super) fn brute_force_rows() -> Vec<Row> {
    let table = brute_force_table();
    let reason = |&(switch, tag, _, to, _): &Rule| {
        let to_host = PORTS
            .iter()
            .any(|&(name, host, _)| name == switch && host == to);
        match (to_host, tag) {
            (true, _) => TOWARD_HOST,
            (false, 2) => THIRD_SWITCH,
            _ => "",
        }
    };
    let rows = table.iter().map(|rule| row(rule, reason(rule)));
    rows.chain([tags(TAGS[0])]).collect()
}

/// Rows of the table under Algorithm 2.
pub(super) fn greedy_rows() -> Vec<Row> {
    let rows = GREEDY.iter().map(|rule| row(rule, ""));
    rows.chain([tags(TAGS[1])]).collect()
}

/// The rules of the triangle, and its number of tags; of a rule that ours does not have there is
/// none.
fn measure(algorithm: Algorithm, table: &[Rule]) -> Result<Vec<Value>, ItemError> {
    let topology = ThreeNode {
        cables: Cables::default(),
    };
    let topology = topology.generate().told()?;
    let options = TaggerOptions {
        algorithm: Some(algorithm),
        routes: Some(RoutePolicy::AllSimple { max_switches: 3 }),
        form: RuleForm::Exact,
        ..TaggerOptions::default()
    };
    let tables = tagger(&topology, &options).told()?;
    let mut values = vec![Value::of("tags", tables.tagging.priorities.len() as f64)];
    for rule in table {
        let &(switch, tag, from, to, _) = rule;
        let at = topology
            .switches()
            .iter()
            .position(|own| own.name == switch);
        let own = at.map_or(&[][..], |at| &tables.tagging.rules[at]);
        let found = own.iter().find(|own| {
            let port = |set: &plan::PortSet| set.as_single().map(quantities::PortId::get);
            own.tag.get() == u8::try_from(tag).unwrap_or(u8::MAX)
                && port(&own.in_ports) == Some(from)
                && port(&own.out_ports) == Some(to)
        });
        let new = found
            .and_then(|rule| rule.new_tag.tag())
            .map(|tag| tag.get());
        values.push(match new {
            Some(new) => Value::of(name(rule), f64::from(new)),
            None => Value::none(name(rule)),
        });
    }
    Ok(values)
}

/// Our rules by Algorithm 1.
pub(super) fn brute_force(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure(Algorithm::BruteForce, &brute_force_table())
}

/// Our rules by Algorithm 2.
pub(super) fn greedy(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure(Algorithm::Greedy, GREEDY)
}

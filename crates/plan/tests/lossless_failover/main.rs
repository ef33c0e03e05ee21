//! Failover tables with lossless tags, and which verdicts the proof gives: against a brute-force
//! walk that shares nothing with the proof, and on tables that were tampered with.
#![allow(clippy::unwrap_used)]

mod trees;
mod walks;

use std::collections::{BTreeMap, BTreeSet};

use plan::check::{FailureOptions, Options};
use plan::failover::{
    Action, Destination, Label, LabelKind, Origin, PortMask, ReverseMatch, Rule, SwitchTable,
    Target, Ternary, Write,
};
use plan::{CheckReport, ClassId, Fault, NewTag, PlanError, Tables, Tag, check};
use quantities::PortId;
use schemes::TaggerOptions;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Important, Method, failover, lossless_failover,
};
use topology::generate::{Bcube, Cables, Clos, FatTree, Jellyfish, JellyfishSize};
use topology::{Fabric, HostId, LinkId, NodeId, SwitchId, Topology};

const RING: &str = include_str!("../../../../examples/topologies/ring-with-chords.json");

fn ring() -> Topology {
    Topology::from_json(RING).unwrap()
}

fn jellyfish() -> Topology {
    let size = JellyfishSize::Switches {
        switches: 8,
        fabric_ports: 4,
    };
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size,
        ports: 6,
        seed: 3,
        cables,
    };
    jellyfish.generate().unwrap()
}

fn options(scheme: FailoverScheme, resilience: u8) -> FailoverOptions {
    FailoverOptions {
        resilience,
        stack: Some(32),
        ..FailoverOptions::new(scheme)
    }
}

fn plan(topology: &Topology, options: &FailoverOptions, method: Method) -> Tables {
    let tagger = TaggerOptions::default();
    lossless_failover(topology, options, method, &tagger).unwrap()
}

/// The report of a check, whatever it says, and the errors.
fn report(tables: Tables, failures: Option<u32>) -> (CheckReport, Vec<PlanError>) {
    let failures = FailureOptions {
        failures,
        ..FailureOptions::default()
    };
    let options = Options {
        failures,
        ..Options::default()
    };
    match check(tables, &options) {
        Ok(plan) => (plan.report(), vec![]),
        Err(failure) => (failure.report, failure.errors),
    }
}

/// A buffer: the switch, the input port, the tag.
type Buffer = (SwitchId, PortId, Tag);

/// What brute force finds: packets that turned lossy on their way, and the dependencies of buffers.
#[derive(Default)]
struct Brute {
    lossy: u64,
    waits: BTreeMap<Buffer, BTreeSet<Buffer>>,
}

impl Brute {
    fn has_cycle(&self) -> bool {
        let mut left = self.waits.clone();
        loop {
            let ends: Vec<Buffer> = left
                .iter()
                .filter(|(_, next)| !next.iter().any(|next| left.contains_key(next)))
                .map(|(buffer, _)| *buffer)
                .collect();
            if ends.is_empty() {
                return !left.is_empty();
            }
            ends.iter().for_each(|end| drop(left.remove(end)));
        }
    }
}

/// All sets of at most `most` links between switches.
fn sets(topology: &Topology, most: usize) -> Vec<Vec<LinkId>> {
    let fabric = Fabric::new(topology);
    let links: BTreeSet<LinkId> = fabric.arcs().iter().map(|arc| arc.link).collect();
    let mut all = vec![vec![]];
    for link in links {
        let with = all.iter().filter(|set: &&Vec<LinkId>| set.len() < most);
        let more: Vec<Vec<LinkId>> = with
            .map(|set| set.iter().copied().chain([link]).collect())
            .collect();
        all.extend(more);
    }
    all
}

/// One switch on a packet's way: the input port (of another switch), the output port, the channel
/// given.
type Step = (SwitchId, Option<PortId>, PortId, Option<Tag>);

/// The way of a packet by the definition of failover tables; `None` if it does not arrive.
fn walk(
    tables: &Tables,
    source: SwitchId,
    destination: &Destination,
    failed: &[LinkId],
) -> Option<(Vec<Step>, SwitchId, PortId)> {
    let failover = tables.failover.as_ref()?;
    let topology = &tables.topology;
    let (mut at, mut origin) = (source, Origin::Host);
    let (mut label, mut forward): (Label, Vec<u8>) = Default::default();
    let mut steps = Vec::new();
    while steps.len() < 200 {
        let mut up = PortMask::EMPTY;
        for (port, peer) in topology.peers(at) {
            if topology.is_live(peer.link) && !failed.contains(&peer.link) {
                up = up.with(port);
            }
        }
        let followed = (!forward.is_empty()).then(|| PortId::new(u16::from(forward.remove(0))));
        let mut channel = None;
        let out = match followed.filter(|port| up.contains(*port)) {
            Some(port) => port,
            None => {
                forward.clear();
                if destination.homes(topology).contains(&at) {
                    let Origin::Port(last) = origin else {
                        return None;
                    };
                    return Some((steps, at, last));
                }
                let (_, rule) = failover
                    .table(at)?
                    .lookup(destination.code, origin, &label, up)?;
                let Action::Forward { route, write } = rule.action else {
                    return None;
                };
                write.apply(&mut label);
                channel = write.channel;
                forward = route[1..].to_vec();
                PortId::new(u16::from(route[0]))
            }
        };
        let from = match origin {
            Origin::Port(port) => Some(port),
            _ => None,
        };
        steps.push((at, from, out, channel));
        let peer = topology.peer(at, out).filter(|_| up.contains(out))?;
        let NodeId::Switch(next) = peer.end.node else {
            return None;
        };
        (at, origin) = (next, Origin::Port(peer.end.port));
        if failover.protection(destination).label == LabelKind::ReverseRoute {
            label
                .reverse
                .insert(0, u8::try_from(peer.end.port.get()).ok()?);
        }
    }
    None
}

/// Walks every packet under every set of at most `most` failures and follows its tag.
fn brute(tables: &Tables, most: usize) -> Brute {
    let fabric = Fabric::new(&tables.topology);
    let failover = tables.failover.as_ref().unwrap();
    let mut found = Brute::default();
    for set in sets(&tables.topology, most) {
        // Where destinations differ in how much they survive, no more is asked of one.
        let asked = |to: &&Destination| to.own.is_none_or(|own| set.len() <= own.failures as usize);
        for destination in failover.destinations.iter().filter(asked) {
            for source in fabric.edge_switches() {
                if let Some((steps, home, last)) = walk(tables, source, destination, &set) {
                    follow(
                        tables,
                        &fabric,
                        destination,
                        &steps,
                        (home, last),
                        &mut found,
                    );
                }
            }
        }
    }
    found
}

fn follow(
    tables: &Tables,
    fabric: &Fabric,
    destination: &Destination,
    steps: &[Step],
    (home, last): (SwitchId, PortId),
    found: &mut Brute,
) {
    let class = ClassId::new(0);
    let tagging = &tables.tagging;
    let first = steps[0].0;
    for host in fabric.attachments(first) {
        let mut tag = tagging.classes[0].initial;
        let mut before: Option<Buffer> = None;
        let mut kept = true;
        for &(switch, from, out, channel) in steps {
            let from = from.unwrap_or(host.port);
            let here = (switch, from, tag);
            if let Some(before) = before {
                found.waits.entry(before).or_default().insert(here);
            }
            before = Some(here);
            let new = channel.map_or_else(
                || tagging.new_tag(switch, class, tag, from, out),
                NewTag::Lossless,
            );
            match new {
                NewTag::Lossless(new) => tag = new,
                NewTag::Lossy => {
                    kept = false;
                    break;
                }
            }
        }
        if kept && let Some(before) = before {
            found
                .waits
                .entry(before)
                .or_default()
                .insert((home, last, tag));
            found.waits.entry((home, last, tag)).or_default();
            let hosts = fabric.attachments(home).iter();
            let mut meant = hosts.filter(|a| match destination.target {
                Target::Host(host) => a.host == host,
                Target::Switch { .. } => true,
            });
            kept = meant.all(|a| tagging.new_tag(home, class, tag, last, a.port) != NewTag::Lossy);
        }
        found.lossy += u64::from(!kept);
    }
}

const SCHEMES: [FailoverScheme; 6] = [
    FailoverScheme::Plinko,
    FailoverScheme::Fcp,
    FailoverScheme::MplsFrr,
    FailoverScheme::Edst,
    FailoverScheme::Adst,
    FailoverScheme::DfFi,
];

#[test]
fn rising_tags_keep_every_scheme_lossless_as_brute_force_sees_it() {
    for topology in [ring(), jellyfish()] {
        for scheme in SCHEMES {
            // The ring has one edge-disjoint spanning tree only.
            let one = scheme == FailoverScheme::Edst && topology == ring();
            let options = FailoverOptions {
                trees: one.then_some(1),
                ..options(scheme, 1)
            };
            let tables = plan(&topology, &options, Method::Rising);
            let failures = tables.failover.as_ref().unwrap().claim.failures;
            let found = brute(&tables, failures as usize);
            let name = (topology.name(), scheme);
            assert_eq!((found.lossy, found.has_cycle()), (0, false), "{name:?}");
            let (report, errors) = report(tables, None);
            assert_eq!(errors, vec![], "{name:?}");
            assert_eq!((report.proven, report.cbd_free), (true, Some(true)));
            assert_eq!(report.resilience.lossy, Some(0));
            assert!(report.resilience.exhaustive);
            assert!(report.lossless_priorities <= 3, "{name:?}: {report:?}");
            let least = report.resilience.priorities_at_least.unwrap() as usize;
            assert!(least <= report.lossless_priorities, "{name:?}");
        }
    }
}

/// One host by arc-disjoint trees, as many as there are, the rest by Plinko.
fn mixed() -> FailoverOptions {
    FailoverOptions {
        important: Some(Important {
            hosts: [HostId::new(1)].into(),
            options: Box::new(options(FailoverScheme::Adst, 1)),
            all_trees: true,
        }),
        ..options(FailoverScheme::Plinko, 1)
    }
}

#[test]
fn rising_tags_keep_two_schemes_beside_each_other_lossless() {
    for topology in [ring(), jellyfish()] {
        let mut tables = plan(&topology, &mixed(), Method::Rising);
        let parts = tables.failover.as_ref().unwrap().parts();
        assert_eq!(parts[0].protection.failures, 1);
        assert!(parts[1].protection.failures > 1, "{parts:?}");
        let (report, errors) = report(tables.clone(), None);
        assert_eq!(errors, vec![], "{}", topology.name());
        assert!(report.proven && report.resilience.exhaustive);
        assert_eq!(
            (report.cbd_free, report.resilience.lossy),
            (Some(true), Some(0))
        );
        // Brute force asks the rest for one failure too.
        let failover = tables.failover.as_mut().unwrap();
        let usual = failover.usual();
        for to in &mut failover.destinations {
            to.own = Some(to.own.unwrap_or(usual));
        }
        let found = brute(&tables, parts[1].protection.failures as usize);
        assert_eq!((found.lossy, found.has_cycle()), (0, false));
    }
}

#[test]
fn channels_keep_packets_lossless_as_brute_force_sees_it() {
    for topology in [ring(), jellyfish()] {
        for (compress, least) in [(false, 1), (true, 1), (false, 4)] {
            let options = FailoverOptions {
                compress,
                ..options(FailoverScheme::DfFi, 1)
            };
            let tables = plan(&topology, &options, Method::Channels(least));
            let found = brute(&tables, 1);
            assert_eq!((found.lossy, found.has_cycle()), (0, false));
            let (report, errors) = report(tables, None);
            assert_eq!(errors, vec![]);
            assert_eq!(report.cbd_free, Some(true));
            assert!(report.lossless_priorities >= usize::from(least));
        }
    }
}

#[test]
fn larger_networks_and_more_failures() {
    let cables = Cables::default();
    let fat_tree = FatTree { k: 4, cables }.generate().unwrap();
    let bcube = Bcube { n: 4, k: 1, cables }.generate().unwrap();
    for (topology, t) in [(fat_tree, 2), (bcube, 1)] {
        let switches = FailoverOptions {
            multipath: Some(1),
            ..options(FailoverScheme::Plinko, t)
        };
        let (found, errors) = report(plan(&topology, &switches, Method::Rising), None);
        assert_eq!(errors, vec![]);
        assert!(
            found.resilience.exhaustive && found.lossless_priorities <= 3,
            "{found:?}"
        );
    }
}

/// A plan of Plinko with rising tags on the ring, which needs more than one.
fn risen() -> Tables {
    let tables = plan(&ring(), &options(FailoverScheme::Plinko, 1), Method::Rising);
    assert!(tables.tagging.priorities.len() > 1);
    tables
}

#[test]
fn one_tag_for_all_ways_closes_a_cycle_and_the_failures_are_named() {
    let mut tables = risen();
    let ports = |s: usize| ring().switches()[s].ports;
    for (at, rules) in tables.tagging.rules.iter_mut().enumerate() {
        for rule in rules {
            rule.in_ports = (1..=ports(at)).map(PortId::new).collect();
            rule.out_ports = rule.in_ports.clone();
            rule.new_tag = NewTag::Lossless(rule.tag);
        }
    }
    assert!(brute(&tables, 1).has_cycle());
    let (found, errors) = report(tables, None);
    assert_eq!((found.proven, found.cbd_free), (false, Some(false)));
    let cycle = errors.iter().find_map(|error| match error {
        PlanError::Cycle(cycle) => Some(cycle),
        _ => None,
    });
    let cycle = cycle.expect("a cycle");
    assert_eq!(cycle.buffers.len(), cycle.causes.len());
    let text = cycle.to_string();
    assert!(
        text.contains(" waits for ") && text.contains("by "),
        "{text}"
    );
}

#[test]
fn a_lowered_tag_is_found() {
    let mut tables = risen();
    let mut changed = 0;
    for rule in tables.tagging.rules.iter_mut().flatten() {
        if rule.new_tag.tag().is_some_and(|new| new > rule.tag) {
            rule.new_tag = NewTag::Lossless(rule.tag);
            changed += 1;
        }
    }
    assert!(changed > 0);
    let sees = brute(&tables, 1);
    assert!(sees.lossy > 0 || sees.has_cycle());
    let (found, _) = report(tables, None);
    assert!(!found.proven);
    assert_eq!(
        found.cbd_free,
        Some(!sees.has_cycle()),
        "only rules that some way uses are there"
    );
}

#[test]
fn a_removed_tag_rule_is_found_with_the_packet_that_turns_lossy() {
    let whole = risen();
    let mut refused = 0;
    for switch in 0..whole.tagging.rules.len() {
        for rule in 0..whole.tagging.rules[switch].len() {
            let mut tables = whole.clone();
            tables.tagging.rules[switch].remove(rule);
            let lossy = brute(&tables, 1).lossy;
            let (found, errors) = report(tables, None);
            assert_eq!(found.resilience.lossy.unwrap() > 0, lossy > 0);
            let named = errors.iter().any(|e| match e {
                PlanError::PacketLossy(lost) => lost.to_string().contains("turns lossy there"),
                _ => false,
            });
            assert_eq!(named, lossy > 0, "{errors:?}");
            refused += usize::from(!found.proven);
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn channels_for_packets_of_other_switches_are_refused() {
    let mut tables = plan(
        &ring(),
        &options(FailoverScheme::DfFi, 1),
        Method::Channels(1),
    );
    let failover = tables.failover.as_mut().unwrap();
    let mut loose = SwitchTable::default();
    for rule in failover.tables[0].iter() {
        let mut rule = rule.to_rule();
        rule.origin = Origin::Any;
        rule.reverse = ReverseMatch::default();
        loose.push(rule);
    }
    failover.tables[0] = loose;
    let (found, errors) = report(tables, None);
    assert_eq!(
        (found.proven, found.cbd_free, found.loop_free),
        (false, None, None)
    );
    assert!(
        errors[0]
            .to_string()
            .contains("only packets from hosts get one"),
        "{errors:?}"
    );
}

/// All that a failover rule can name, one change at a time.
#[test]
fn what_a_failover_rule_names_must_exist() {
    let sound = failover(&ring(), &options(FailoverScheme::Plinko, 1)).unwrap();
    type Change = fn(&mut Rule);
    let changes: [(Change, &str); 8] = [
        (
            |rule| rule.origin = Origin::Port(PortId::new(99)),
            "no port 99",
        ),
        (
            |rule| rule.origin = Origin::Port(PortId::new(0)),
            "no port 0",
        ),
        (
            |rule| rule.ports.up = rule.ports.up.with(PortId::new(99)),
            "no port 99",
        ),
        (
            |rule| rule.ports.down = PortMask::single(PortId::new(99)),
            "no port 99",
        ),
        (
            |rule| rule.reverse = ReverseMatch::exact([99]),
            "no port 99",
        ),
        (|rule| rule.destination = Ternary::exact(99), "`dst` 99"),
        (|rule| rule.tree = Some(99), "no tree 99"),
        (
            |rule| {
                rule.action = Action::Forward {
                    route: Box::new([99]),
                    write: Write::default(),
                }
            },
            "no port 99",
        ),
    ];
    for (change, said) in changes {
        let mut tables = sound.clone();
        let failover = tables.failover.as_mut().unwrap();
        let mut table = SwitchTable::default();
        for (number, rule) in failover.tables[0].iter().enumerate() {
            let mut rule = rule.to_rule();
            if number == 0 {
                change(&mut rule);
            }
            table.push(rule);
        }
        failover.tables[0] = table;
        let failure = check(tables, &Options::default()).expect_err(said);
        let text = failure.to_string();
        assert!(
            text.contains(said) && text.contains("failover rule 1 of"),
            "{text}"
        );
        assert_eq!(failure.fault(), Fault::Input, "{text}");
    }
}

/// Every verdict must be able to come out each way, or it says nothing.
#[test]
fn no_verdict_is_a_constant() {
    let ring = ring();
    let plain = failover(&ring, &options(FailoverScheme::Plinko, 1)).unwrap();
    let tagger = schemes::tagger(&ring, &TaggerOptions::default()).unwrap();
    let mut cyclic = tagger.clone();
    for (rules, switch) in cyclic.tagging.rules.iter_mut().zip(ring.switches()) {
        for rule in rules {
            rule.in_ports = (1..=switch.ports).map(PortId::new).collect();
            rule.out_ports = rule.in_ports.clone();
            rule.new_tag = NewTag::Lossless(rule.tag);
        }
    }
    let mut circling = plain.clone();
    for table in &mut circling.failover.as_mut().unwrap().tables {
        let mut careless = SwitchTable::default();
        for rule in table.iter() {
            let mut rule = rule.to_rule();
            rule.reverse = ReverseMatch::default();
            careless.push(rule);
        }
        *table = careless;
    }
    circling.failover.as_mut().unwrap().label = LabelKind::RouteId;
    let mut broken = tagger.clone();
    broken.tagging.rules.pop();
    let mut lossy = risen();
    lossy.tagging.rules[0].clear();
    let plans = [plain, tagger, cyclic, circling, broken, lossy, risen()];
    let reports: Vec<CheckReport> = plans
        .into_iter()
        .map(|plan| report(plan, Some(1)).0)
        .collect();
    let values = |verdict: fn(&CheckReport) -> Option<bool>| {
        reports.iter().map(verdict).collect::<BTreeSet<_>>()
    };
    let every = BTreeSet::from([None, Some(false), Some(true)]);
    assert_eq!(values(|r| r.cbd_free), every);
    assert_eq!(values(|r| r.loop_free), every);
    assert_eq!(values(|r| r.resilience.lossy.map(|lossy| lossy > 0)), every);
    assert_eq!(
        values(|r| Some(r.proven)),
        BTreeSet::from([Some(false), Some(true)])
    );
    for report in &reports {
        assert_eq!(report.cbd_free.is_none(), report.cbd_free_unknown.is_some());
        assert_eq!(report.proven, report.counterexample.is_none());
    }
    assert_eq!(
        reports[0].cbd_free_unknown,
        Some("the plan has no lossless class")
    );
}

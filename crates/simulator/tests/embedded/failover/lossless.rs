//! Failover plans with lossless tags as programs: at every switch a packet gets the tag and the
//! priorities that the plan's rules say, whatever has failed, and what arrives was lossless on its
//! whole way.

use std::collections::BTreeSet;

use p4gen::targets::TNA;
use plan::check::Options;
use plan::check::resilience::Survey;
use plan::failover::{Action, Output, Target};
use plan::{
    CarrierKind, CheckedPlan, ClassId, LOSSY_PRIORITY, NewTag, RuleForm, Tag, TagCode, check,
};
use quantities::Progress;
use quantities::{Nanos, PortId, Priority};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use schemes::TaggerOptions;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Method, SourceRouteOptions, TransitionKind, TransitionOptions,
    df_edst, lossless_failover, source_routes,
};
use simulator::embedded::{Arrival, Fleet, Hop, Network, Probe, Trail, TrailEnd, Walk, WalkEnd};
use topology::generate::{
    Cables, Clos, FatTree, FlattenedClos, Jellyfish, JellyfishSize, ThreeNode,
};
use topology::routes::forwarding::Reroute;
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

use super::variants;
use crate::large;

const CLASS: ClassId = ClassId::new(0);

fn lossless_plan(topology: &Topology, options: &FailoverOptions, form: RuleForm) -> CheckedPlan {
    let method = match options.scheme {
        FailoverScheme::DfFi => Method::Channels(2),
        _ => Method::Rising,
    };
    let tags = TaggerOptions {
        carrier: CarrierKind::Shim,
        form,
        ..TaggerOptions::default()
    };
    let tables = match options.scheme {
        FailoverScheme::DfEdst => df_edst(topology, options, &tags),
        _ => lossless_failover(topology, options, method, &tags),
    };
    check(tables.unwrap(), &Options::default()).unwrap()
}

/// Plans by all schemes whose packets can be lossless.
fn lossless_variants() -> Vec<(&'static str, FailoverOptions)> {
    let df_fi = FailoverOptions::new(FailoverScheme::DfFi);
    let routes = FailoverOptions {
        output: Output::SourceRoutes,
        multipath: Some(2),
        ..df_fi.clone()
    };
    let trees = FailoverOptions {
        transitions: TransitionOptions::new(TransitionKind::Line),
        ..FailoverOptions::new(FailoverScheme::DfEdst)
    };
    let channels = FailoverOptions {
        transitions: TransitionOptions {
            channels: 2,
            ..TransitionOptions::new(TransitionKind::T)
        },
        multipath: Some(2),
        ..trees.clone()
    };
    let mut all = variants();
    all.extend([
        ("df-fi", df_fi),
        ("df-fi-routes", routes),
        ("df-edst", trees),
        ("df-edst-channels", channels),
    ]);
    all
}

/// The options with as many trees as the network has.
fn with_trees(mut options: FailoverOptions, trees: u8) -> FailoverOptions {
    if options.scheme.by_trees() {
        options.trees = Some(trees);
    }
    if options.scheme == FailoverScheme::DfEdst {
        options.resilience = trees - 1;
    }
    options
}

/// Networks, and how many disjoint trees each has.
fn topologies() -> [(Topology, u8); 3] {
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 8,
            fabric_ports: 4,
        },
        ports: 5,
        seed: 3,
        cables,
    };
    [
        (ThreeNode { cables }.generate().unwrap(), 1),
        (FatTree { k: 4, cables }.generate().unwrap(), 1),
        (jellyfish.generate().unwrap(), 2),
    ]
}

/// Whether a variant is tried on a topology: on each, or on one in turn, which takes a third of the
/// time. A case of another number and form is another program.
fn is_tried(variant: usize, topology: usize) -> bool {
    large() || variant % 3 == topology
}

/// Shortest ways through a Clos, then trees.
fn minimal_ways(form: RuleForm) -> CheckedPlan {
    let clos = Clos {
        leaves: 6,
        spines: 4,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let options = FailoverOptions {
        default_tree: true,
        transitions: TransitionOptions::new(TransitionKind::Line),
        ..FailoverOptions::new(FailoverScheme::DfEdst)
    };
    lossless_plan(&clos.generate().unwrap(), &options, form)
}

/// Source routes over the disjoint paths of a Flattened Clos.
fn disjoint_paths(form: RuleForm) -> CheckedPlan {
    let clos = FlattenedClos {
        switches: 8,
        ports: 9,
        fabric_ports: 8,
        layers: None,
        split: Some(vec![2, 2]),
        single_links: false,
        optical: None,
        seed: 1,
        cables: Cables::default(),
    };
    let tags = TaggerOptions {
        carrier: CarrierKind::Shim,
        form,
        ..TaggerOptions::default()
    };
    let wanted = SourceRouteOptions {
        paths: None,
        bounces: 1,
        stack: Some(8),
    };
    let tables = source_routes(
        &clos.generate().unwrap(),
        wanted,
        &tags,
        &Progress::default(),
    );
    check(tables.unwrap(), &Options::default()).unwrap()
}

/// Links between switches.
fn fabric_links(topology: &Topology) -> Vec<LinkId> {
    let between = |link: &LinkId| {
        let link = topology.link(*link);
        matches!(
            (link.a.node, link.b.node),
            (NodeId::Switch(_), NodeId::Switch(_))
        )
    };
    topology.link_ids().filter(between).collect()
}

/// The channel that rules of a switch give packets from its hosts which leave for a destination by
/// a port.
fn channel(plan: &CheckedPlan, hop: &Hop, switch: SwitchId, out: PortId) -> Option<Tag> {
    let failover = plan.tables().failover.as_ref().unwrap();
    let code = u32::from(hop.header_after.as_ref()?.destination);
    let rules = failover.tables[switch.index()].iter();
    let given = rules.filter_map(|rule| match rule.action {
        Action::Forward { write, .. } if rule.destination.matches(code) => {
            let (port, _) = rule.action.out()?;
            write.channel.filter(|_| port == out)
        }
        _ => None,
    });
    let given: BTreeSet<Tag> = given.collect();
    assert!(given.len() < 2, "a first link has one channel: {given:?}");
    given.into_iter().next()
}

/// What the plan says of a packet with this tag at a hop: both priorities and the tag with which it
/// leaves.
fn said(plan: &CheckedPlan, hop: &Hop, tag: Option<Tag>) -> ((Priority, Priority), Option<Tag>) {
    let (Some(tag), Some(out)) = (tag, hop.out_port) else {
        return ((LOSSY_PRIORITY, LOSSY_PRIORITY), None);
    };
    let switch = plan.topology().switch_named(&hop.switch).unwrap();
    let from_host = hop.header_before.is_none();
    if let Some(channel) = from_host.then(|| channel(plan, hop, switch, out)).flatten() {
        let priority = |tag| plan.tagging().priority(NewTag::Lossless(tag));
        return ((priority(tag), priority(channel)), Some(channel));
    }
    let said = plan.classify(switch, CLASS, tag, hop.in_port, out);
    ((said.ingress, said.egress), said.new_tag.tag())
}

/// The failures that packets to any destination survive.
fn least_claim(plan: &CheckedPlan) -> u32 {
    let parts = plan.tables().failover.as_ref().unwrap().parts();
    let claims = parts.iter().map(|part| part.protection.failures);
    claims.min().unwrap()
}

/// Holds every hop of a walk against the plan; the highest code on the way, and whether it was
/// lossless to the end.
fn held(plan: &CheckedPlan, walk: &Walk, class: Option<ClassId>) -> (u16, bool) {
    let mut tag = class.map(|class| plan.tagging().classes[class.index()].initial);
    let mut highest = 0;
    for hop in walk.hops.iter().filter(|hop| hop.out_port.is_some()) {
        let (priorities, new_tag) = said(plan, hop, tag);
        assert_eq!((hop.ing_prio, hop.eg_prio), priorities, "{hop:?}");
        tag = new_tag;
        if let Some(code) = hop.code_after {
            let codes = &plan.carrier().codes;
            let expected = tag.map_or(plan.carrier().lossy, |tag| codes[&tag]);
            assert_eq!(TagCode::new(code), expected, "{hop:?}");
            highest = highest.max(code);
        }
    }
    (highest, tag.is_some())
}

/// Walks a packet of class 0, and one that is lossy, between some hosts; how many hops were looked
/// at, and the highest tag.
fn walks(plan: &CheckedPlan, failed: &[LinkId]) -> (usize, u16) {
    let topology = plan.topology();
    let network = Network::of(plan.clone()).unwrap();
    let mut network = network.after_failures(failed, Reroute::Converged).unwrap();
    let (mut hops, mut highest) = (0, 0);
    let hosts: Vec<_> = topology.host_ids().collect();
    for (at, &from) in hosts.iter().enumerate() {
        for to in [hosts[(at + 1) % hosts.len()], hosts[(at + 5) % hosts.len()]] {
            for class in [Some(CLASS), None].into_iter().filter(|_| from != to) {
                let probe = Probe {
                    from,
                    to,
                    class,
                    flow: 9,
                    ipv6: at % 2 == 0,
                };
                let (bytes, switch, port) = network.packet(&probe).unwrap();
                let walk = network.walk("h", bytes, switch, port).unwrap();
                let host = topology.host(to).name.clone();
                assert_eq!(walk.end, WalkEnd::Delivered { host }, "{failed:?}");
                let (code, lossless) = held(plan, &walk, class);
                assert_eq!(lossless, class.is_some(), "lossless to the end: {walk:?}");
                highest = highest.max(code);
                hops += walk.hops.len();
            }
        }
    }
    (hops, highest)
}

/// Compiled code takes the same ways.
fn compiled(plan: &CheckedPlan, failed: &[LinkId]) {
    let topology = plan.topology();
    let mut fleet = Fleet::of(plan.clone()).unwrap();
    fleet.set_failed(failed);
    let hosts: Vec<_> = topology.host_ids().collect();
    let pairs = hosts.iter().zip(hosts.iter().cycle().skip(1));
    let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
    let probes: Vec<_> = pairs
        .iter()
        .map(|(from, to)| fleet.probe(**from, **to, b"x").unwrap())
        .collect();
    for ((_, to), trail) in pairs.iter().zip(fleet.send(&probes)) {
        assert!(
            matches!(&trail.end, TrailEnd::Host(host, _) if host == *to),
            "{trail:?}"
        );
    }
}

#[test]
fn packets_keep_the_tags_that_the_plan_says_whatever_has_failed() {
    let mut plans = vec![("minimal", minimal_ways(RuleForm::Exact), true)];
    for (place, (topology, trees)) in topologies().into_iter().enumerate() {
        let variants = lossless_variants().into_iter().enumerate();
        for (number, (name, options)) in variants.filter(|(n, _)| is_tried(*n, place)) {
            let options = with_trees(options, trees);
            let form = [RuleForm::Exact, RuleForm::PortSets][number % 2];
            let plan = lossless_plan(&topology, &options, form);
            let survives = least_claim(&plan) > 0;
            plans.push((name, plan, survives));
        }
    }
    let (mut hops, mut highest) = (0, 0);
    for (name, plan, survives) in &plans {
        let links = fabric_links(plan.topology());
        let failed = links.iter().step_by(7).map(std::slice::from_ref);
        for failed in failed.take(if *survives { 3 } else { 0 }).chain([&[][..]]) {
            let (walked, tag) = walks(plan, failed);
            assert!(walked > 0, "{name}");
            compiled(plan, failed);
            hops += walked;
            highest = highest.max(tag);
        }
    }
    assert!(hops > 1500 && highest > 0, "{hops} hops, tags to {highest}");
}

/// Random walks, and of the large case. `FAILOVER_WALKS` gives another number.
const WALKS: [usize; 2] = [2_000, 100_000];
/// Walks under one set of failures.
const WALKS_PER_SET: usize = 40;
/// The most links that fail at once.
const MOST_FAILED: usize = 3;

/// A plan's tables, and its program on both executors.
struct Sides<'a> {
    plan: &'a CheckedPlan,
    survey: Survey<'a>,
    interpreted: Network,
    compiled: Fleet,
    tofino: Fleet,
    failed: Vec<LinkId>,
}

impl<'a> Sides<'a> {
    fn new(plan: &'a CheckedPlan) -> Self {
        Self {
            plan,
            survey: Survey::new(plan.topology(), plan.tables().failover.as_ref().unwrap()),
            interpreted: Network::of(plan.clone()).unwrap(),
            compiled: Fleet::of(plan.clone()).unwrap(),
            tofino: Fleet::of_tofino(plan, &TNA).unwrap(),
            failed: Vec::new(),
        }
    }

    fn set_failed(&mut self, failed: Vec<LinkId>) {
        let topology = self.plan.topology();
        for switch in topology.switch_ids() {
            let device = self.interpreted.device(switch).unwrap();
            for (port, peer) in topology.peers(switch) {
                device
                    .set_link_up(Nanos::new(0), port, !failed.contains(&peer.link))
                    .unwrap();
            }
        }
        self.compiled.set_failed(&failed);
        self.tofino.set_failed(&failed);
        self.failed = failed;
    }

    /// Whether the packet arrives, by the tables alone, for each routing that it may be given.
    fn arrives(&self, source: SwitchId, to: HostId) -> BTreeSet<bool> {
        let topology = self.plan.topology();
        let failover = self.plan.tables().failover.as_ref().unwrap();
        let home = topology.uplinks(to)[0].1.end.node;
        let elements: Vec<u32> = self.failed.iter().map(|link| link.index() as u32).collect();
        let destinations = failover.destinations.iter().enumerate();
        let meant = destinations.filter(|(_, destination)| match destination.target {
            Target::Host(host) => host == to,
            Target::Switch { switch, .. } => NodeId::Switch(switch) == home,
        });
        meant
            .map(|(place, _)| self.survey.walks(&elements, place, &[source])[0].arrived)
            .collect()
    }

    /// The program for Tofino says the same, but that another hash of the flow chooses the routing:
    /// then every hop is lossless as promised.
    fn agrees(&self, tofino: &Trail, trail: &Trail, probe: &Probe) {
        let failover = self.plan.tables().failover.as_ref().unwrap();
        let several = |d: &plan::failover::Destination| matches!(d.target, Target::Switch { path, .. } if path > 0);
        if !failover.destinations.iter().any(several) {
            assert_eq!(tofino.hops, trail.hops, "{:?}, {probe:?}", self.failed);
            assert_eq!(
                tofino.priorities, trail.priorities,
                "{:?}, {probe:?}",
                self.failed
            );
        } else if self.failed.len() <= least_claim(self.plan) as usize
            && matches!(tofino.end, TrailEnd::Host(..))
        {
            let lossless =
                |&(ing, eg): &(Priority, Priority)| ing != LOSSY_PRIORITY && eg != LOSSY_PRIORITY;
            let all = tofino.priorities.iter().all(lossless);
            assert_eq!(
                all,
                probe.class.is_some(),
                "{:?}, {probe:?}: {tofino:?}",
                self.failed
            );
        }
    }

    /// One packet on all sides: the same way, the same priorities and so the same tags, the same
    /// end. Whether it arrived.
    fn agree(&mut self, probe: &Probe) -> bool {
        let failed = self.failed.clone();
        let (bytes, switch, port) = self.interpreted.packet(probe).unwrap();
        let arrival = Arrival {
            switch,
            port,
            bytes: bytes.clone(),
        };
        let walk = self.interpreted.walk("h", bytes, switch, port).unwrap();
        let trail = self.compiled.send(std::slice::from_ref(&arrival)).remove(0);
        let of_tofino = self.tofino.send(&[arrival]).remove(0);
        let left = || walk.hops.iter().filter(|hop| hop.out_port.is_some());
        let topology = self.plan.topology();
        let ways: Vec<(SwitchId, PortId)> = left()
            .map(|hop| {
                (
                    topology.switch_named(&hop.switch).unwrap(),
                    hop.out_port.unwrap(),
                )
            })
            .collect();
        let priorities: Vec<(Priority, Priority)> =
            left().map(|hop| (hop.ing_prio, hop.eg_prio)).collect();
        assert_eq!(ways, trail.hops, "{failed:?}, {probe:?}");
        assert_eq!(priorities, trail.priorities, "{failed:?}, {probe:?}");
        self.agrees(&of_tofino, &trail, probe);
        let arrived = matches!(walk.end, WalkEnd::Delivered { .. });
        match &trail.end {
            TrailEnd::Host(host, _) => assert!(arrived && *host == probe.to, "{walk:?}"),
            TrailEnd::Dropped => assert!(!arrived, "{walk:?}"),
            TrailEnd::Lost | TrailEnd::Circling => panic!("{failed:?}: {trail:?}"),
        }
        let said = self.arrives(switch, probe.to);
        assert!(said.contains(&arrived), "{failed:?}: {walk:?}");
        let (_, lossless) = held(self.plan, &walk, probe.class);
        let promised = failed.len() <= least_claim(self.plan) as usize;
        if arrived && promised {
            assert_eq!(lossless, probe.class.is_some(), "{failed:?}: {walk:?}");
        }
        arrived
    }
}

#[test]
fn interpreter_compiled_code_and_tables_agree_on_random_walks() {
    let wanted = std::env::var("FAILOVER_WALKS").map_or_else(
        |_| WALKS[usize::from(large())],
        |count| count.parse().unwrap(),
    );
    let mut plans = Vec::new();
    for (place, (topology, trees)) in topologies().into_iter().enumerate() {
        let variants = lossless_variants().into_iter().enumerate();
        for (number, (_, options)) in variants.filter(|(n, _)| is_tried(*n, place)) {
            let options = with_trees(options, trees);
            let form = [RuleForm::PortSets, RuleForm::Exact][number % 2];
            plans.push(lossless_plan(&topology, &options, form));
        }
    }
    plans.extend([RuleForm::PortSets, RuleForm::Exact].map(disjoint_paths));
    plans.push(minimal_ways(RuleForm::PortSets));
    let each = wanted.div_ceil(plans.len());
    let (mut count, mut delivered) = (0, 0);
    for (number, plan) in (0..).zip(&plans) {
        let mut rng = ChaCha8Rng::seed_from_u64(number);
        let mut sides = Sides::new(plan);
        let links = fabric_links(plan.topology());
        let hosts: Vec<HostId> = plan.topology().host_ids().collect();
        for walk in 0..each {
            if walk % WALKS_PER_SET == 0 {
                let size = rng.random_range(0..=MOST_FAILED.min(links.len()));
                let failed: Vec<LinkId> = links.sample(&mut rng, size).copied().collect();
                sides.set_failed(failed);
            }
            let pair: Vec<HostId> = hosts.sample(&mut rng, 2).copied().collect();
            let probe = Probe {
                from: pair[0],
                to: pair[1],
                class: rng.random_bool(0.9).then_some(CLASS),
                flow: rng.random(),
                ipv6: rng.random_bool(0.5),
            };
            delivered += usize::from(sides.agree(&probe));
            count += 1;
        }
    }
    println!("{count} walks, {delivered} delivered");
    assert!(count >= wanted && delivered < count && delivered * 2 > count);
}

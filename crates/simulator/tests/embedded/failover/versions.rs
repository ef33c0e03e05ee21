//! Versions side by side: whatever mixture of old and new entries and stamps the switches hold on
//! the way from one plan to the next, every packet goes the way of one of the two plans.

use p4gen::entries::SwitchEntries;
use p4gen::family::{EntrySource, ProgramFeatures};
use p4gen::layout::{action, table};
use p4gen::targets::V1MODEL;
use schemes::failover::{FailoverOptions, FailoverScheme};
use simulator::embedded::{Fleet, Trail, TrailEnd};
use topology::generate::{Cables, FatTree};
use topology::{HostId, SwitchId, Topology};

use super::plan;

/// Entries that belong to no version: both plans say the same of them.
fn is_stamp(entry: &p4gen::entries::TableEntry) -> bool {
    entry.table == table::ISLAND_IN
}

/// Old entries and new ones, with the stamps of `stamps`.
fn both(old: &SwitchEntries, new: &SwitchEntries, stamps: &SwitchEntries) -> SwitchEntries {
    let mut entries = old.clone();
    entries.tables.retain(|entry| !is_stamp(entry));
    let more = new.tables.iter().filter(|entry| !is_stamp(entry));
    for entry in more {
        if !entries.tables.contains(entry) {
            entries.tables.push(entry.clone());
        }
    }
    let stamps = stamps.tables.iter().filter(|entry| is_stamp(entry));
    entries.tables.extend(stamps.cloned());
    entries
}

fn pairs(topology: &Topology) -> Vec<(HostId, HostId)> {
    let hosts = || topology.host_ids();
    let pairs = hosts().flat_map(|from| hosts().map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).collect()
}

fn ways(fleet: &mut Fleet) -> Vec<Trail> {
    let pairs = pairs(fleet.topology());
    let probes = pairs
        .iter()
        .map(|&(from, to)| fleet.probe(from, to, b"x").unwrap());
    let packets: Vec<_> = probes.collect();
    fleet.send(&packets)
}

#[test]
fn no_packet_sees_a_mixture_of_two_plans() {
    let cables = Cables::default();
    let topology = FatTree { k: 4, cables }.generate().unwrap();
    let options = |seed| FailoverOptions {
        seed,
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let (old, new) = (plan(&topology, &options(1)), plan(&topology, &options(2)));
    let target = &V1MODEL.capabilities;
    let layout = |plan| ProgramFeatures::of(plan).layout(target.architecture);
    assert_eq!(layout(&old), layout(&new));
    let layout = layout(&old);
    let entries = |plan, version| -> Vec<SwitchEntries> {
        let source = EntrySource {
            version,
            ..EntrySource::new(plan, target, &layout, None)
        };
        let of = |switch| ProgramFeatures::of(plan).entries(&source, switch).unwrap();
        topology.switch_ids().map(of).collect()
    };
    let (olds, news) = (entries(&old, 1), entries(&new, 2));
    let fleet = |of: &dyn Fn(SwitchId) -> SwitchEntries| {
        let entries = |switch| Ok(of(switch));
        Fleet::with(old.clone(), entries).unwrap()
    };
    let at = |switch: SwitchId| switch.index();
    let old_ways = ways(&mut fleet(&|s| olds[at(s)].clone()));
    let new_ways = ways(&mut fleet(&|s| news[at(s)].clone()));
    assert_ne!(old_ways, new_ways, "other seeds choose other ways");
    assert!(
        olds.iter()
            .flat_map(|e| &e.tables)
            .any(|e| match &e.action {
                p4gen::entries::EntryAction::Call(call) => call.action == action::FROM_HOST,
                _ => false,
            })
    );

    // Old entries everywhere, new ones on some switches; both everywhere, new stamps at some
    // switches; new stamps everywhere, old entries gone from some switches.
    type Stage<'a> = (&'a str, &'a dyn Fn(SwitchId) -> SwitchEntries);
    let odd = |switch: SwitchId| switch.index() % 2 == 1;
    let side =
        |s: SwitchId, stamps: &[SwitchEntries]| both(&olds[at(s)], &news[at(s)], &stamps[at(s)]);
    let stages: [Stage<'_>; 4] = [
        ("installing", &|s| {
            if odd(s) {
                side(s, &olds)
            } else {
                olds[at(s)].clone()
            }
        }),
        ("stamping", &|s| side(s, if odd(s) { &news } else { &olds })),
        ("stamped", &|s| side(s, &news)),
        ("removing", &|s| {
            if odd(s) {
                news[at(s)].clone()
            } else {
                side(s, &news)
            }
        }),
    ];
    for (name, stage) in stages {
        let found = ways(&mut fleet(stage));
        for ((trail, old), new) in found.iter().zip(&old_ways).zip(&new_ways) {
            assert!(matches!(trail.end, TrailEnd::Host(..)), "{name}: {trail:?}");
            assert!(trail == old || trail == new, "{name}: {trail:?}");
        }
    }
}

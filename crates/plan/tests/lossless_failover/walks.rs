//! Random packets under random failures: the proof's reader and a walk that shares nothing with it
//! agree on every hop and tag.

use plan::check::resilience::{TaggedPacket, TaggedSurvey, TaggedWalk};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemes::failover::{TransitionKind, TransitionOptions, df_edst};

use super::trees::random;
use super::*;

/// The same by the definitions of failover tables and tag rules.
fn walked(tables: &Tables, destination: &Destination, packet: &TaggedPacket) -> Option<TaggedWalk> {
    let failed: Vec<LinkId> = packet
        .failed
        .iter()
        .map(|&link| LinkId::new(link))
        .collect();
    let (steps, _, _) = walk(tables, packet.source, destination, &failed)?;
    let mut tag = Some(tables.tagging.classes[0].initial);
    let hops = steps.into_iter().map(|(switch, from, out, channel)| {
        let from = from.unwrap_or(packet.host);
        tag = tag.and_then(|tag| {
            let new = tables
                .tagging
                .new_tag(switch, ClassId::new(0), tag, from, out);
            channel.or(new.tag())
        });
        (switch, out, tag)
    });
    Some(TaggedWalk {
        hops: hops.collect(),
        arrived: true,
    })
}

/// Compares so many walks of a plan under up to one failure more than it claims to survive; how
/// many arrived, and how many lossless.
fn compare(tables: &Tables, walks: usize, seed: u64) -> (usize, usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let topology = &tables.topology;
    let fabric = Fabric::new(topology);
    let links: Vec<u32> = sets(topology, 1)[1..]
        .iter()
        .map(|set| u32::try_from(set[0].index()).unwrap())
        .collect();
    let sources: Vec<SwitchId> = fabric.edge_switches().collect();
    let failover = tables.failover.as_ref().unwrap();
    let most = failover.claim.failures as usize + 1;
    let survey = TaggedSurvey::new(tables).unwrap();
    let each = walks.div_ceil(failover.destinations.len());
    let (mut arrived, mut lossless) = (0, 0);
    for (at, destination) in failover.destinations.iter().enumerate() {
        let homes = destination.homes(topology);
        let away: Vec<SwitchId> = sources
            .iter()
            .copied()
            .filter(|s| !homes.contains(s))
            .collect();
        let packets: Vec<TaggedPacket> = (0..each)
            .map(|_| {
                let source = *away.choose(&mut rng).unwrap();
                let host = fabric.attachments(source).choose(&mut rng).unwrap().port;
                let count = rng.random_range(0..=most.min(links.len()));
                let failed = links.sample(&mut rng, count).copied().collect();
                TaggedPacket {
                    source,
                    host,
                    failed,
                }
            })
            .collect();
        for (packet, found) in packets.iter().zip(survey.walks(at, &packets)) {
            let expected = walked(tables, destination, packet);
            assert_eq!(found.arrived, expected.is_some(), "{packet:?}");
            if let Some(expected) = expected {
                lossless += usize::from(found.hops.iter().all(|(_, _, tag)| tag.is_some()));
                arrived += 1;
                assert_eq!(found, expected, "{packet:?}");
            }
        }
    }
    (arrived, lossless)
}

#[test]
fn a_hundred_thousand_random_walks_agree_tags_included() {
    let cables = Cables::default();
    let fat_tree = FatTree { k: 4, cables }.generate().unwrap();
    let to_switches = |scheme, t| FailoverOptions {
        multipath: Some(2),
        ..options(scheme, t)
    };
    let mut trees = to_switches(FailoverScheme::DfEdst, 1);
    trees.transitions = TransitionOptions {
        channels: 2,
        ..TransitionOptions::new(TransitionKind::Max)
    };
    let clos = Clos {
        leaves: 6,
        spines: 4,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let clos = clos.generate().unwrap();
    let minimal = FailoverOptions {
        default_tree: true,
        ..to_switches(FailoverScheme::DfEdst, 1)
    };
    let plans = [
        df_edst(&clos, &minimal, &TaggerOptions::default()).unwrap(),
        plan(
            &fat_tree,
            &to_switches(FailoverScheme::Plinko, 2),
            Method::Rising,
        ),
        plan(
            &ring(),
            &options(FailoverScheme::MplsFrr, 2),
            Method::Rising,
        ),
        plan(
            &random(20, 6),
            &to_switches(FailoverScheme::DfFi, 1),
            Method::Channels(1),
        ),
        df_edst(&random(20, 6), &trees, &TaggerOptions::default()).unwrap(),
        plan(&ring(), &mixed(), Method::Rising),
    ];
    let (mut arrived, mut lossless) = (0, 0);
    for (seed, tables) in (1..).zip(&plans) {
        let found = compare(tables, 25_000, seed);
        arrived += found.0;
        lossless += found.1;
    }
    assert!(
        arrived > 80_000 && lossless > 80_000,
        "{arrived} {lossless}"
    );
}

/// Every set of failures of the networks, none drawn.
#[test]
fn whole_networks_are_proven_under_every_set_of_failures() {
    let cables = Cables::default();
    let fat_tree = FatTree { k: 4, cables }.generate().unwrap();
    let rising = (FailoverScheme::Plinko, Method::Rising);
    let by_channels = (FailoverScheme::DfFi, Method::Channels(1));
    for topology in [fat_tree, random(20, 6)] {
        for t in [1, 2] {
            for (scheme, method) in [rising, by_channels] {
                let options = FailoverOptions {
                    multipath: Some(1),
                    ..options(scheme, t)
                };
                let (found, errors) = report(plan(&topology, &options, method), None);
                assert_eq!(errors, vec![], "{} {scheme:?} {t}", topology.name());
                assert!(found.proven && found.resilience.exhaustive);
                assert_eq!(found.cbd_free, Some(true));
                let links = Fabric::new(&topology).arcs().len() as u64 / 2;
                let all = if t == 1 {
                    1 + links
                } else {
                    1 + links + links * (links - 1) / 2
                };
                assert_eq!(found.resilience.sets_checked, all);
            }
        }
    }
}

#[test]
fn channels_of_a_larger_fat_tree_are_proven_under_every_two_failures() {
    let cables = Cables::default();
    let fat_tree = FatTree { k: 8, cables }.generate().unwrap();
    let options = FailoverOptions {
        multipath: Some(1),
        ..options(FailoverScheme::DfFi, 2)
    };
    let (found, errors) = report(plan(&fat_tree, &options, Method::Channels(1)), None);
    assert_eq!(errors, vec![]);
    assert_eq!((found.proven, found.cbd_free), (true, Some(true)));
    assert!(found.resilience.exhaustive && found.lossless_priorities <= 7);
    assert_eq!(found.resilience.sets_checked, 32_897);
}

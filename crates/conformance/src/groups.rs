//! Point 18: members, groups, one-shot groups, multicast groups, clone sessions.

use controlplane::entity;
use p4runtime::p4::v1::{
    self, action_profile_action, action_profile_group, entity::Entity as Kind,
    packet_replication_engine_entry as pre, replica, table_action, update,
};
use tonic::Code;

use super::Verdict;
use super::bench::{TestBed, exact};
use super::entries::profile;

const MEMBERS: &str = "members and groups with weights and watch ports are written and read back; a group may be empty; what is referred to cannot be deleted (9.2)";
const ONE_SHOT: &str =
    "a selector is programmed in one shot: actions with weights inside the entry (9.2.3)";
const REPLICATION: &str =
    "multicast groups and clone sessions have ids above 0 and replicas that differ (9.5)";

/// Ports that are tried where none are named: few servers have none of these.
const TRIED_PORTS: std::ops::RangeInclusive<u8> = 1..=64;

/// Two ports that the server has, or why none are known.
type Ports = Result<[u8; 2], String>;

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    members(bench).await;
    let ports = find_ports(bench).await;
    groups(bench, &ports).await;
    one_shot(bench, &ports).await;
    replication(bench, &ports).await;
}

fn member(bench: &TestBed, id: u32, port: u8) -> Kind {
    Kind::ActionProfileMember(v1::ActionProfileMember {
        action_profile_id: profile(bench),
        member_id: id,
        action: Some(bench.call("send", &[&[port]])),
    })
}

fn in_group(member_id: u32, weight: i32, port: Option<u8>) -> action_profile_group::Member {
    action_profile_group::Member {
        member_id,
        weight,
        watch_kind: port
            .map(|port| action_profile_group::member::WatchKind::WatchPort(vec![port].into())),
    }
}

fn group(bench: &TestBed, id: u32, members: Vec<action_profile_group::Member>) -> Kind {
    Kind::ActionProfileGroup(v1::ActionProfileGroup {
        action_profile_id: profile(bench),
        group_id: id,
        members,
        max_size: 0,
    })
}

/// Whether an entity reads back as it was written, but for its form.
async fn reads_back(bench: &TestBed, written: &Kind, query: Kind) -> (bool, String) {
    let canonical = |kind: &Kind| {
        entity::canonical(&entity::wrap(kind.clone()), bench.index())
            .ok()
            .flatten()
    };
    match bench.read(query).await {
        Err(status) => (
            false,
            format!(
                "{} ({})",
                super::bench::name(status.code()),
                status.message()
            ),
        ),
        Ok(held) => {
            let wanted = canonical(written);
            let there = held.iter().any(|kind| canonical(kind) == wanted);
            (
                there,
                format!(
                    "{} entities{}",
                    held.len(),
                    if there { "" } else { ", none of them it" }
                ),
            )
        }
    }
}

/// Two ports that the server has: those that were named, else the first that a group may watch.
/// What was seen where there are none.
async fn find_ports(bench: &TestBed) -> Ports {
    if let Some(named) = bench.options.ports {
        return Ok(named);
    }
    let mut found = Vec::new();
    let mut last = String::new();
    for port in TRIED_PORTS {
        let watching = group(bench, 2, vec![in_group(1, 1, Some(port))]);
        let outcome = bench.put(update::Type::Insert, watching).await;
        if outcome.code != Code::Ok {
            last = outcome.to_string();
            continue;
        }
        let _ = bench
            .put(update::Type::Delete, group(bench, 2, Vec::new()))
            .await;
        found.push(port);
        if let &[one, two] = found.as_slice() {
            return Ok([one, two]);
        }
    }
    Err(format!(
        "no two ports were found that a group may watch, of {} to {} ({last}); --ports names them",
        TRIED_PORTS.start(),
        TRIED_PORTS.end()
    ))
}

async fn members(bench: &mut TestBed) {
    for id in 1..=3 {
        let outcome = bench.put(update::Type::Insert, member(bench, id, 1)).await;
        bench.demand(18, "INSERT of a member", &outcome, &[Code::Ok], MEMBERS);
    }
}

async fn groups(bench: &mut TestBed, ports: &Ports) {
    let weighted = group(bench, 1, vec![in_group(1, 2, None), in_group(2, 1, None)]);
    let mut groups = vec![("a group with weights", weighted)];
    let watch = "a group with watch ports";
    match ports {
        Ok([one, two]) => {
            let members = vec![in_group(1, 1, Some(*one)), in_group(3, 1, Some(*two))];
            groups.push((watch, group(bench, 2, members)));
        }
        Err(seen) => bench.note(18, watch, Verdict::Skip, seen.clone(), MEMBERS),
    }
    groups.push(("an empty group", group(bench, 3, Vec::new())));
    for (check, kind) in groups {
        let outcome = bench.put(update::Type::Insert, kind.clone()).await;
        bench.demand(18, check, &outcome, &[Code::Ok], MEMBERS);
        if outcome.code == Code::Ok {
            let query = Kind::ActionProfileGroup(v1::ActionProfileGroup {
                action_profile_id: profile(bench),
                ..Default::default()
            });
            let (there, seen) = reads_back(bench, &kind, query).await;
            bench.judge(18, "it reads back", there, seen, MEMBERS);
        }
    }
    let cases = [
        (
            "a group with an unknown member",
            group(bench, 9, vec![in_group(99, 1, None)]),
            Code::NotFound,
        ),
        (
            "a group with a weight of 0",
            group(bench, 10, vec![in_group(1, 0, None)]),
            Code::InvalidArgument,
        ),
    ];
    for (check, kind, code) in cases {
        let outcome = bench.put(update::Type::Insert, kind).await;
        bench.demand(18, check, &outcome, &[code], MEMBERS);
    }
    let entry = v1::TableEntry {
        table_id: bench.table("choosing"),
        r#match: vec![exact(1, &[1])],
        action: Some(v1::TableAction {
            r#type: Some(table_action::Type::ActionProfileGroupId(1)),
        }),
        ..Default::default()
    };
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(entry))
        .await;
    bench.demand(
        18,
        "an entry that refers to a group",
        &outcome,
        &[Code::Ok],
        MEMBERS,
    );
    for (check, kind) in [
        ("DELETE of a group in use", group(bench, 1, Vec::new())),
        ("DELETE of a member in use", member(bench, 1, 1)),
    ] {
        let outcome = bench.put(update::Type::Delete, kind).await;
        bench.demand(18, check, &outcome, &[Code::FailedPrecondition], MEMBERS);
    }
}

async fn one_shot(bench: &mut TestBed, ports: &Ports) {
    let [one, two] = ports.clone().unwrap_or([1, 2]);
    let action = |port: u8, weight| v1::ActionProfileAction {
        action: Some(bench.call("send", &[&[port]])),
        weight,
        // Without ports that are there, nothing is watched.
        watch_kind: ports
            .is_ok()
            .then(|| action_profile_action::WatchKind::WatchPort(vec![port].into())),
    };
    let entry = |actions| {
        Kind::TableEntry(v1::TableEntry {
            table_id: bench.table("choosing"),
            r#match: vec![exact(1, &[2])],
            action: Some(v1::TableAction {
                r#type: Some(table_action::Type::ActionProfileActionSet(
                    v1::ActionProfileActionSet {
                        action_profile_actions: actions,
                        ..Default::default()
                    },
                )),
            }),
            ..Default::default()
        })
    };
    let (right, wrong) = (
        entry(vec![action(one, 2), action(two, 1)]),
        entry(vec![action(one, 0)]),
    );
    let outcome = bench.put(update::Type::Insert, wrong).await;
    bench.demand(
        18,
        "a one-shot action with a weight of 0",
        &outcome,
        &[Code::InvalidArgument],
        ONE_SHOT,
    );
    let outcome = bench.put(update::Type::Insert, right.clone()).await;
    bench.demand(
        18,
        "a one-shot group beside groups with ids",
        &outcome,
        &[Code::InvalidArgument],
        "a selector is programmed in one shot or with members and groups, not both; else INVALID_ARGUMENT (9.2.3)",
    );
    clear(bench).await;
    let outcome = bench.put(update::Type::Insert, right.clone()).await;
    bench.demand(18, "a one-shot group", &outcome, &[Code::Ok], ONE_SHOT);
    if outcome.code == Code::Ok {
        let query = Kind::TableEntry(v1::TableEntry {
            table_id: bench.table("choosing"),
            ..Default::default()
        });
        let (there, seen) = reads_back(bench, &right, query).await;
        bench.judge(18, "it reads back", there, seen, ONE_SHOT);
    }
}

/// Removes what [`members`] and [`groups`] made, and the entry that a server may have let in.
async fn clear(bench: &TestBed) {
    let entry = Kind::TableEntry(v1::TableEntry {
        table_id: bench.table("choosing"),
        r#match: vec![exact(1, &[1])],
        ..Default::default()
    });
    let _ = bench.put(update::Type::Delete, entry).await;
    let entry = Kind::TableEntry(v1::TableEntry {
        table_id: bench.table("choosing"),
        r#match: vec![exact(1, &[2])],
        ..Default::default()
    });
    let _ = bench.put(update::Type::Delete, entry).await;
    for id in (1..=3).chain([9, 10]) {
        let _ = bench
            .put(update::Type::Delete, group(bench, id, Vec::new()))
            .await;
    }
    for id in 1..=3 {
        let _ = bench.put(update::Type::Delete, member(bench, id, 1)).await;
    }
}

fn copies(ports: &[(u8, u32)]) -> Vec<v1::Replica> {
    let one = |(port, instance): &(u8, u32)| v1::Replica {
        port_kind: Some(replica::PortKind::Port(vec![*port].into())),
        instance: *instance,
        backup_replicas: Vec::new(),
    };
    ports.iter().map(one).collect()
}

fn replicate(kind: pre::Type) -> Kind {
    Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) })
}

fn multicast(multicast_group_id: u32, replicas: Vec<v1::Replica>) -> Kind {
    replicate(pre::Type::MulticastGroupEntry(v1::MulticastGroupEntry {
        multicast_group_id,
        replicas,
        metadata: Default::default(),
    }))
}

fn clone(session_id: u32, replicas: Vec<v1::Replica>) -> Kind {
    replicate(pre::Type::CloneSessionEntry(v1::CloneSessionEntry {
        session_id,
        replicas,
        class_of_service: 0,
        packet_length_bytes: 64,
    }))
}

async fn replication(bench: &mut TestBed, ports: &Ports) {
    let [first, second] = ports.clone().unwrap_or([1, 2]);
    let two = || copies(&[(first, 1), (second, 1)]);
    for (check, kind, query) in [
        (
            "a multicast group",
            multicast(1, two()),
            multicast(0, Vec::new()),
        ),
        ("a clone session", clone(1, two()), clone_query()),
    ] {
        let outcome = bench.put(update::Type::Insert, kind.clone()).await;
        bench.demand(18, check, &outcome, &[Code::Ok], REPLICATION);
        let (there, seen) = reads_back(bench, &kind, query).await;
        bench.judge(18, "it reads back", there, seen, REPLICATION);
    }
    let outcome = bench.put(update::Type::Insert, multicast(1, two())).await;
    bench.demand(
        18,
        "a multicast group that is there",
        &outcome,
        &[Code::AlreadyExists],
        REPLICATION,
    );
    let outcome = bench
        .put(update::Type::Modify, multicast(1, copies(&[(second, 2)])))
        .await;
    bench.demand(
        18,
        "MODIFY of a multicast group",
        &outcome,
        &[Code::Ok],
        REPLICATION,
    );
    let wrong = [
        ("multicast group 0", multicast(0, two())),
        ("clone session 0", clone(0, two())),
        (
            "a replica given twice",
            multicast(7, copies(&[(first, 1), (first, 1)])),
        ),
    ];
    for (check, kind) in wrong {
        let outcome = bench.put(update::Type::Insert, kind).await;
        bench.demand(18, check, &outcome, &[Code::InvalidArgument], REPLICATION);
    }
    let outcome = bench
        .put(update::Type::Delete, multicast(99, Vec::new()))
        .await;
    bench.demand(
        18,
        "DELETE of a multicast group that is not there",
        &outcome,
        &[Code::NotFound],
        REPLICATION,
    );
}

fn clone_query() -> Kind {
    replicate(pre::Type::CloneSessionEntry(
        v1::CloneSessionEntry::default(),
    ))
}

//! The entries of the `tagger` programs against the plan that they come from: whatever a packet's
//! tag and ports, the tables do what the plan says; whatever its destination, they send it where
//! forwarding says; and every format carries them.
#![allow(clippy::panic, reason = "tests fail by panicking")]

use std::net::IpAddr;

use entries::{Bits, Bytestring as _};
use p4gen::entries::runtime_json::{self, ProgramFiles};
use p4gen::entries::{
    FieldMatch, GroupId, NamedAction, NamedCall, SwitchEntries, TableEntry, commands, write_request,
};
use p4gen::family::{EntrySource, Family, TaggerFeatures};
use p4gen::layout::{self, Layout, action, table};
use p4gen::targets::V1MODEL;
use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::match_field::Match;
use p4runtime::p4::config::v1::{
    Action, ActionProfile, ActionRef, MatchField, P4Info, Preamble, Table, action::Param,
};
use plan::{
    self, CarrierKind, CheckedPlan, ClassId, LOSSY_PRIORITY, NewTag, RuleForm, Tables, TagCode,
};
use quantities::{PortId, Priority};
use schemes::{ClassSpec, TaggerOptions};
use topology::generate::{Cables, Clos, FatTree, Jellyfish, JellyfishSize, Line};
use topology::routes::forwarding::{Forwarding, NextHop, Reroute};
use topology::{NodeId, SwitchId, Topology};

fn clos() -> Topology {
    let clos = Clos {
        leaves: 4,
        spines: 3,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    clos.generate().expect("a small Clos")
}

fn checked(tables: Tables) -> CheckedPlan {
    plan::check(tables, &plan::check::Options::default()).expect("the scheme's tables are sound")
}

/// Plans in every carrier and rule form, with and without class bits, layered and not.
pub(crate) fn plans() -> Vec<CheckedPlan> {
    let line = Line {
        switches: 4,
        hosts: 1,
        cables: Cables::default(),
    };
    let line = line.generate().expect("a short line");
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 10,
            fabric_ports: 4,
        },
        ports: 6,
        seed: 1,
        cables: Cables::default(),
    };
    let jellyfish = jellyfish.generate().expect("a small Jellyfish");
    let mut plans = Vec::new();
    for form in [RuleForm::PortSets, RuleForm::Exact] {
        for &carrier in CarrierKind::ALL {
            let options = TaggerOptions {
                carrier,
                form,
                ..TaggerOptions::default()
            };
            plans.push(checked(
                schemes::tagger(&clos(), &options).expect("up-down tags"),
            ));
        }
        let class = |name: &str, bounces| ClassSpec {
            name: name.into(),
            bounces,
        };
        let classes = TaggerOptions {
            classes: vec![class("storage", Some(0)), class("training", None)],
            class_bits: true,
            form,
            ..TaggerOptions::default()
        };
        plans.push(checked(
            schemes::tagger(&clos(), &classes).expect("tags with classes"),
        ));
        let options = TaggerOptions {
            form,
            ..TaggerOptions::default()
        };
        plans.push(checked(
            schemes::ttl(&line, None, &options).expect("TTL tags"),
        ));
        plans.push(checked(
            schemes::tagger(&jellyfish, &options).expect("tags of any topology"),
        ));
    }
    plans
}

fn preamble(id: u32, name: &str) -> Option<Preamble> {
    Some(Preamble {
        id,
        name: name.to_owned(),
        alias: name.to_owned(),
        ..Default::default()
    })
}

/// The P4Info that the layout promises; that the programs keep the promise is tested with them.
fn p4info(layout: &Layout) -> P4InfoIndex {
    let field = |f: &layout::KeyField| MatchField {
        id: f.id,
        name: f.name.to_owned(),
        bitwidth: f.bits.into(),
        r#match: Some(Match::MatchType(p4front::match_type(f.kind) as i32)),
        ..Default::default()
    };
    let action_id = |name: &&str| layout.action(name).expect("the layout is whole").id;
    let table = |t: &layout::Table| Table {
        preamble: preamble(t.id, t.name),
        match_fields: t.key.iter().map(field).collect(),
        action_refs: t
            .actions
            .iter()
            .map(|name| ActionRef {
                id: action_id(name),
                ..Default::default()
            })
            .collect(),
        implementation_id: t.selector.map_or(0, |_| layout.selector_id),
        size: t.size.into(),
        ..Default::default()
    };
    let param = |p: &layout::Param| Param {
        id: p.id,
        name: p.name.to_owned(),
        bitwidth: p.bits.into(),
        ..Default::default()
    };
    let action = |a: &layout::Action| Action {
        preamble: preamble(a.id, a.name),
        params: a.params.iter().map(param).collect(),
    };
    let info = P4Info {
        tables: layout.tables.iter().map(table).collect(),
        actions: layout.actions.iter().map(action).collect(),
        action_profiles: vec![ActionProfile {
            preamble: preamble(layout.selector_id, layout::ECMP_SELECTOR),
            with_selector: true,
            size: layout.selector_size.into(),
            max_group_size: layout.group_members as i32,
            ..Default::default()
        }],
        ..Default::default()
    };
    P4InfoIndex::new(info).expect("ids and names are unique")
}

fn forwarding(plan: &CheckedPlan) -> Forwarding {
    let topology = plan.topology();
    Forwarding::new(topology, &plan.tables().forwarding, Reroute::Converged)
        .expect("the policy fits, or there were no plan")
}

fn layout_of(plan: &CheckedPlan) -> Layout {
    TaggerFeatures::of(plan).layout(V1MODEL.capabilities.architecture)
}

fn entries_of(
    plan: &CheckedPlan,
    layout: &Layout,
    forwarding: &Forwarding,
    switch: SwitchId,
) -> SwitchEntries {
    let source = EntrySource::new(plan, &V1MODEL.capabilities, layout, Some(forwarding));
    let entries = TaggerFeatures::of(plan).entries(&source, switch);
    entries.expect("what was checked fits")
}

/// Calls `look` on every switch of every plan.
fn for_each_switch(
    look: impl Fn(&CheckedPlan, &Forwarding, SwitchId, &SwitchEntries, &P4InfoIndex),
) {
    for plan in plans() {
        let layout = layout_of(&plan);
        let (info, forwarding) = (p4info(&layout), forwarding(&plan));
        for switch in plan.topology().switch_ids() {
            let entries = entries_of(&plan, &layout, &forwarding, switch);
            look(&plan, &forwarding, switch, &entries, &info);
        }
    }
}

/// The entry that wins: the largest priority, then the longest prefix.
fn lookup<'a>(
    entries: &'a SwitchEntries,
    table: &str,
    packet: &[(&str, Bits)],
) -> Option<&'a TableEntry> {
    let matches = |entry: &&TableEntry| {
        entry.table == table
            && entry.keys.iter().all(|key| {
                let (_, bits) = packet
                    .iter()
                    .find(|(name, _)| *name == key.field)
                    .expect("a known key");
                key.value.matches(bits)
            })
    };
    let prefix = |entry: &TableEntry| {
        let lengths = entry.keys.iter().map(|key| match key.value {
            FieldMatch::Lpm { prefix_len, .. } => prefix_len,
            _ => 0,
        });
        lengths.max().unwrap_or(0)
    };
    entries
        .tables
        .iter()
        .filter(matches)
        .max_by_key(|entry| (entry.priority, prefix(entry)))
}

fn direct(entry: &TableEntry) -> &NamedCall {
    match &entry.action {
        NamedAction::Call(call) => call,
        other => panic!("{other:?} is not an action"),
    }
}

fn arg(call: &NamedCall, name: &str) -> u64 {
    let (_, value) = call
        .params
        .iter()
        .find(|(param, _)| *param == name)
        .expect("a parameter");
    u64::try_from(value.to_u128().expect("small")).expect("small")
}

/// The fields over which a tag rule is looked up, as the program computes them.
fn tag_packet(
    features: &TaggerFeatures,
    code: TagCode,
    in_port: PortId,
    out_port: PortId,
) -> Vec<(&'static str, Bits)> {
    let port = |port: PortId| match features.form {
        RuleForm::Exact => Bits::from_uint(port.get(), features.port_bits.into()).expect("a port"),
        RuleForm::PortSets => Bits::zero(features.port_bits.into()).with_bit(port.get().into()),
    };
    let tag_bits = u32::from(features.tag_bits());
    let tag = code.get() & ((1_u32 << tag_bits) - 1) as u16;
    let mut packet = vec![
        ("tag", Bits::from_uint(tag, tag_bits).expect("masked")),
        ("in_port", port(in_port)),
        ("out_port", port(out_port)),
    ];
    if features.class_bits() > 0 {
        let class = code.get() >> tag_bits;
        packet.push((
            "class",
            Bits::from_uint(class, features.class_bits().into()).expect("a class"),
        ));
    }
    packet
}

#[test]
fn tables_do_what_the_plan_says() {
    for_each_switch(|plan, _, switch, entries, _| {
        let features = TaggerFeatures::of(plan);
        let (tagging, carrier) = (plan.tagging(), plan.carrier());
        let ports: Vec<PortId> = plan
            .topology()
            .peers(switch)
            .map(|(port, _)| port)
            .collect();
        let classes = 0..tagging.classes.len() as u8;
        for class in classes.map(ClassId::new) {
            for (&tag, &code) in &carrier.codes {
                let code = carrier.code(class, NewTag::Lossless(tag)).unwrap_or(code);
                for &in_port in &ports {
                    for &out_port in &ports {
                        let packet = tag_packet(&features, code, in_port, out_port);
                        let wanted = plan.classify(switch, class, tag, in_port, out_port);
                        let got = classified(entries, &packet);
                        assert_eq!(
                            got,
                            (wanted.ingress, wanted.egress),
                            "{switch} {class} {tag}"
                        );
                        let new = rewritten(&features, entries, &packet, code, carrier.lossy);
                        let wanted = carrier.code(class, wanted.new_tag);
                        assert_eq!(
                            Some(new),
                            wanted,
                            "{switch} {class} {tag} {in_port} {out_port}"
                        );
                    }
                }
            }
        }
    });
}

fn classified(entries: &SwitchEntries, packet: &[(&str, Bits)]) -> (Priority, Priority) {
    let lossy = (LOSSY_PRIORITY, LOSSY_PRIORITY);
    lookup(entries, table::CLASSIFY, packet)
        .map(direct)
        .map_or(lossy, |call| {
            if call.action == action::LOSSY {
                return lossy;
            }
            let priority = |name| Priority::new(arg(call, name) as u8);
            (priority("ing_prio"), priority("eg_prio"))
        })
}

fn rewritten(
    features: &TaggerFeatures,
    entries: &SwitchEntries,
    packet: &[(&str, Bits)],
    code: TagCode,
    lossy: TagCode,
) -> TagCode {
    let call = lookup(entries, table::REWRITE, packet).map(direct);
    call.filter(|call| call.action == action::SET_TAG)
        .map_or(lossy, |call| {
            let class = code.get() >> features.tag_bits() << features.tag_bits();
            TagCode::new(class | arg(call, "tag") as u16)
        })
}

/// The next hops that the tables give a destination.
fn next_hops(entries: &SwitchEntries, destination: IpAddr) -> Vec<NextHop> {
    let (table, bits) = match destination {
        IpAddr::V4(a) => (table::IPV4_ROUTE, Bits::from_uint(u32::from(a), 32)),
        IpAddr::V6(a) => (table::IPV6_ROUTE, Bits::from_uint(u128::from(a), 128)),
    };
    let packet = [("dst_addr", bits.expect("an address"))];
    let hop = |call: &NamedCall| NextHop {
        port: PortId::new(arg(call, "port") as u16),
        mac: {
            let [_, _, mac @ ..] = arg(call, "dst_mac").to_be_bytes();
            mac
        },
    };
    let Some(call) = lookup(entries, table, &packet).map(direct) else {
        return vec![];
    };
    match call.action.as_ref() {
        action::NEXT_HOP => vec![hop(call)],
        action::ECMP => {
            let number = Bits::from_uint(arg(call, "group"), 16).expect("a group");
            let entry = lookup(entries, table::ECMP_GROUP, &[("group", number)]);
            let NamedAction::Group(GroupId(id)) = entry.expect("a group for every route").action
            else {
                panic!("the group table refers to groups")
            };
            let group = entries
                .groups
                .iter()
                .find(|group| group.id == id)
                .expect("a group");
            let member = |id: &u32| {
                entries
                    .members
                    .iter()
                    .find(|m| m.id == *id)
                    .expect("a member")
            };
            group
                .members
                .iter()
                .map(|id| hop(&member(id).action))
                .collect()
        }
        _ => vec![],
    }
}

#[test]
fn packets_go_where_forwarding_says() {
    for_each_switch(|plan, forwarding, switch, entries, _| {
        let topology = plan.topology();
        let forwarding = forwarding.switch(switch);
        for host in topology.hosts() {
            for address in [IpAddr::V4(host.ipv4), IpAddr::V6(host.ipv6)] {
                let hops = next_hops(entries, address);
                assert!(!hops.is_empty(), "{switch} does not know {address}");
                assert_eq!(hops, forwarding.lookup(address), "{switch} {address}");
            }
        }
        assert_eq!(
            next_hops(entries, "192.0.2.1".parse().expect("an address")),
            forwarding.lookup("192.0.2.1".parse().expect("an address"))
        );
    });
}

#[test]
fn hosts_face_their_gateway() {
    for_each_switch(|plan, _, switch, entries, _| {
        let topology = plan.topology();
        for (port, peer) in topology.peers(switch) {
            let packet = [("port", Bits::from_uint(port.get(), 9).expect("a port"))];
            let entry = lookup(entries, table::HOST_PORT, &packet);
            assert_eq!(entry.is_some(), matches!(peer.end.node, NodeId::Host(_)));
            if let Some(entry) = entry {
                let [_, _, mac @ ..] = arg(direct(entry), "gateway_mac").to_be_bytes();
                assert_eq!(mac, topology.port_mac(switch, port));
            }
            if TaggerFeatures::of(plan).has_edge() {
                let out = lookup(entries, table::HOST_PORT_OUT, &packet);
                assert_eq!(out.is_some(), entry.is_some());
            }
        }
        if TaggerFeatures::of(plan).has_edge() {
            for (class, spec) in (0..).map(ClassId::new).zip(&plan.tagging().classes) {
                let dscp = Bits::from_uint(layout::edge_dscp(class), 6).expect("a code point");
                let call = lookup(entries, table::EDGE_CLASS, &[("dscp", dscp)]).map(direct);
                let code = plan.carrier().code(class, NewTag::Lossless(spec.initial));
                assert_eq!(
                    call.map(|call| arg(call, "code") as u16),
                    code.map(TagCode::get)
                );
            }
        }
    });
}

#[test]
fn every_format_carries_them() {
    let files = ProgramFiles {
        p4info: "p4/tagger.p4info.txtpb".into(),
        bmv2_json: "p4/tagger.json".into(),
    };
    for_each_switch(|_, _, _, entries, info| {
        let mut entries = entries.clone();
        p4gen::entries::Catalog::of_p4info(info.info())
            .arrange(&mut entries)
            .expect("names are known");
        let name = &entries.switch;
        let text = write_request::write_text(&entries, info).expect("entries fit");
        assert_eq!(
            write_request::read_text(name, &text, info).expect("our own"),
            entries
        );
        let text = runtime_json::write(&entries, info, &files).expect("entries fit");
        assert_eq!(
            runtime_json::read(name, &text, info).expect("our own").0,
            entries
        );
        let text = commands::write(&entries, info).expect("entries fit");
        assert_eq!(commands::read(name, &text, info).expect("our own"), entries);
    });
}

#[test]
fn neighbouring_layers_look_at_different_bits() {
    let tree = FatTree {
        k: 4,
        cables: Cables::default(),
    }
    .generate()
    .expect("a fat-tree");
    let plan = checked(schemes::tagger(&tree, &TaggerOptions::default()).expect("tags"));
    let layout = layout_of(&plan);
    let forwarding = forwarding(&plan);
    let shift = |layer| {
        let switch = tree
            .switch_ids()
            .find(|&s| tree.switch(s).layer == Some(layer));
        let entries = entries_of(&plan, &layout, &forwarding, switch.expect("a layer")).tables;
        let calls = entries
            .iter()
            .filter(|e| e.table == table::IPV4_ROUTE)
            .map(direct);
        let ecmp = calls.filter(|call| call.action == action::ECMP);
        ecmp.map(|call| arg(call, "hash_shift"))
            .next()
            .expect("there is multipath")
    };
    assert_eq!([shift(0), shift(1)], [0, 6]);
}

#[test]
fn a_leaf_needs_few_rules_whatever_its_radix() {
    for hosts in [2, 30] {
        let clos = Clos {
            leaves: 4,
            spines: 16,
            hosts,
            parallel: 1,
            cables: Cables::default(),
        };
        let clos = clos.generate().expect("a Clos");
        let bounces = 1;
        let options = TaggerOptions {
            bounces,
            ..TaggerOptions::default()
        };
        let plan = checked(schemes::tagger(&clos, &options).expect("tags"));
        let layout = layout_of(&plan);
        let entries = entries_of(&plan, &layout, &forwarding(&plan), SwitchId::new(0));
        for name in [table::CLASSIFY, table::REWRITE] {
            let rules = entries
                .tables
                .iter()
                .filter(|entry| entry.table == name)
                .count();
            assert!(rules <= 2 * (usize::from(bounces) + 1), "{name}: {rules}");
        }
    }
}

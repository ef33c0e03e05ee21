//! Entries of the `tagger` programs: what a checked plan says of one switch.
//!
//! | table | from | entry |
//! |---|---|---|
//! | `host_port` | ports that face hosts | port -> the port's own address |
//! | `edge_class` | lossless classes | DSCP of a host's packet -> code of the class's first tag |
//! | `ipv4_route`, `ipv6_route` | forwarding | prefix -> next hop, ECMP group or discard |
//! | `ecmp_group` | forwarding | number -> group of next hops |
//! | `ecmp_return` | forwarding | (group, port of a member) -> the next member that leads elsewhere |
//! | `classify` | tag rules | (tag, in port, out port) -> ING_PRIO, EG_PRIO |
//! | `rewrite` | tag rules | (tag, in port, out port) -> new tag |
//! | `dscp_to_tc`, `acl_tc`, `tc_to_pg`, `tc_to_queue`, `tc_to_dscp` | `config_db.json` | what stands for tag rules under SONiC |
//! | `host_port_out` | ports that face hosts | port -> take the carrier off |
//! | `in_port_bit`, `out_port_bit` | ports (Tofino, port sets) | port -> its one-hot bit |
//!
//! A set of ports is one ternary key over the one-hot bitmap of the port: value 0, and a mask of
//! the bits *outside* the set; the only bit that is set in the packet's bitmap must be inside.
//! What no rule matches is lossy; that is the tables' default action and no entry.

use std::collections::{BTreeMap, BTreeSet};

use entries::{Bits, GroupId};
use plan::failover::Action;
use plan::{Carrier, CheckedPlan, ClassId, NewTag, PortSet, RuleForm, Tag, TagRule};
use quantities::PortId;
use topology::routes::forwarding::{
    ForwardAction, NextHop, SwitchForwarding, SwitchTables, after_return,
};
use topology::{NodeId, SwitchId};

use sonic::Platform;

use super::tables::RewriteNames;
use super::{TaggerFeatures, maps};
use crate::entries::writer::{Writer, number};
use crate::entries::{
    EntriesError, EntryAction, FieldMatch, Group, Key, Member, NamedCall, Ports, Problem,
    SwitchEntries,
};
use crate::family::EntrySource;
use crate::layout::{self, CHANNEL_KEY, MatchKind, VERSION_KEY, action, table};

/// How far one layer's bits of the flow hash are from the next layer's: room for 64 next hops.
const HASH_BITS_PER_LAYER: u8 = 6;

/// The entries of one switch.
pub(super) fn generate(
    features: &TaggerFeatures,
    source: &EntrySource<'_>,
    switch: SwitchId,
) -> Result<SwitchEntries, EntriesError> {
    let topology = source.plan.topology();
    let unfit = |problem| source.unfit(switch, problem);
    let missing = || Problem::Forwarding("there are no routes");
    let forwarding = source.forwarding.ok_or_else(missing).map_err(unfit)?;
    let mut build = Build {
        plan: source.plan,
        switch,
        ports: source.ports(switch).map_err(unfit)?,
        names: RewriteNames::of(source.target.architecture),
        platform: source.target.maps,
        base: source.base(switch),
        version: None,
        to: Writer::new(source.layout, &topology.switch(switch).name),
    };
    build.all(features, forwarding).map_err(unfit)?;
    Ok(build.to.entries)
}

/// The entries of the tables that are SONiC's maps, from a configuration of a switch.
///
/// # Errors
/// [`EntriesError::Unfit`] if its ports are not those of the plan, or its queues more than the
/// program knows.
pub fn of_maps(
    source: &EntrySource<'_>,
    switch: SwitchId,
    config: &sonic::ConfigDb,
) -> Result<SwitchEntries, EntriesError> {
    let topology = source.plan.topology();
    let mut to = Writer::new(source.layout, &topology.switch(switch).name);
    let filled = maps::fill(&mut to, topology, switch, config);
    filled.map_err(|problem| source.unfit(switch, problem))?;
    Ok(to.entries)
}

/// Adds the classes of what hosts send and the tag rules of one switch, which belong to the
/// source's version, to its entries.
pub(in crate::family) fn add_tags<'a>(
    features: &TaggerFeatures,
    source: &EntrySource<'a>,
    switch: SwitchId,
    to: Writer<'a>,
) -> Result<Writer<'a>, Problem> {
    let mut build = Build {
        plan: source.plan,
        switch,
        ports: source.ports(switch)?,
        names: RewriteNames::of(source.target.architecture),
        platform: None,
        base: None,
        version: Some(source.version),
        to,
    };
    build.classes()?;
    build.tag_rules()?;
    if features.form == RuleForm::PortSets {
        build.port_bits(features.port_bits)?;
    }
    Ok(build.to)
}

/// The channel that a rule gives a packet.
pub(in crate::family) fn channel(action: &Action) -> Option<Tag> {
    match action {
        Action::Forward { write, .. } => write.channel,
        Action::Drop => None,
    }
}

/// The code by which programs know a channel; zero is for none.
pub(in crate::family) fn channel_code(carrier: &Carrier, channel: Tag) -> Result<u16, Problem> {
    let code = carrier
        .codes
        .get(&channel)
        .ok_or_else(|| no_code(&channel))?;
    match code.get() {
        0 => Err(Problem::Failover(format!(
            "channel {channel} has code 0, which stands for no channel; number codes from 1"
        ))),
        code => Ok(code),
    }
}

struct Build<'a> {
    plan: &'a CheckedPlan,
    switch: SwitchId,
    ports: Ports,
    names: RewriteNames,
    /// What the switch has for maps, where they take the place of rules.
    platform: Option<&'static Platform>,
    /// The configuration that tags are put beside.
    base: Option<&'a sonic::Base>,
    /// The version that rules belong to, if they have one.
    version: Option<u8>,
    to: Writer<'a>,
}

impl Build<'_> {
    fn all(
        &mut self,
        features: &TaggerFeatures,
        forwarding: &dyn SwitchTables,
    ) -> Result<(), Problem> {
        self.host_ports()?;
        self.routes(&forwarding.tables_of(self.switch))?;
        if features.maps {
            return self.maps();
        }
        self.tag_rules()?;
        if features.form == RuleForm::PortSets {
            self.port_bits(features.port_bits)?;
        }
        Ok(())
    }

    /// A key over a port of this switch, as its device numbers it.
    fn port_key(
        &self,
        table: &'static str,
        field: &'static str,
        port: PortId,
    ) -> Result<Key, Problem> {
        self.to.exact(table, field, self.ports.device(port))
    }

    fn host_ports(&mut self) -> Result<(), Problem> {
        let topology = self.plan.topology();
        let faces_host = |(port, peer): (PortId, topology::Peer)| {
            matches!(peer.end.node, NodeId::Host(_)).then_some(port)
        };
        let ports: Vec<PortId> = topology.peers(self.switch).filter_map(faces_host).collect();
        for &port in &ports {
            let mac = topology.port_mac(self.switch, port);
            let key = self.port_key(table::HOST_PORT, "port", port)?;
            let call = self.to.call(action::FACE_HOST, &[number(mac)])?;
            self.to.add(table::HOST_PORT, vec![key], None, call);
        }
        if self.to.layout.table(table::HOST_PORT_OUT).is_none() {
            return Ok(());
        }
        self.classes()?;
        for &port in &ports {
            let key = self.port_key(table::HOST_PORT_OUT, "port", port)?;
            let call = self.to.call(action::STRIP_CARRIER, &[])?;
            self.to.add(table::HOST_PORT_OUT, vec![key], None, call);
        }
        Ok(())
    }

    /// The first code of every class.
    fn classes(&mut self) -> Result<(), Problem> {
        let carrier = self.plan.carrier();
        for (class, spec) in (0..).map(ClassId::new).zip(&self.plan.tagging().classes) {
            let code = carrier.code(class, NewTag::Lossless(spec.initial));
            let code = code.ok_or_else(|| no_code(&spec.initial))?.get().into();
            let dscp = layout::edge_dscp(class);
            let mut keys = vec![self.to.exact(table::EDGE_CLASS, "dscp", dscp)?];
            keys.extend(self.version_key(table::EDGE_CLASS)?);
            let call = self.to.call(action::SET_INITIAL_CODE, &[code])?;
            self.to.add(table::EDGE_CLASS, keys, None, call);
        }
        Ok(())
    }

    /// The key over the version; none where rules have none.
    fn version_key(&self, name: &str) -> Result<Option<Key>, Problem> {
        let key = |version| self.to.exact(name, VERSION_KEY, version);
        self.version.map(key).transpose()
    }

    /// Routes by prefix; several next hops are members of a group, each member once per switch.
    fn routes(&mut self, forwarding: &SwitchForwarding) -> Result<(), Problem> {
        let mut members: BTreeMap<NextHop, u32> = BTreeMap::new();
        let mut actions = Vec::with_capacity(forwarding.groups.len());
        for hops in forwarding.groups.iter() {
            if let &[only] = hops {
                actions.push(self.next_hop(only)?);
                continue;
            }
            let mut ids = Vec::with_capacity(hops.len());
            for &hop in hops {
                let next = count(members.len())?;
                let id = *members.entry(hop).or_insert(next);
                if id == next {
                    let action = self.next_hop(hop)?;
                    let profile = layout::ECMP_SELECTOR.into();
                    self.to.entries.members.push(Member {
                        profile,
                        id,
                        action,
                    });
                }
                ids.push(id);
            }
            let id = count(self.to.entries.groups.len())?;
            let profile = layout::ECMP_SELECTOR.into();
            self.to.entries.groups.push(Group {
                profile,
                id,
                members: ids,
            });
            let key = self.to.exact(table::ECMP_GROUP, "group", id)?;
            self.to.push(
                table::ECMP_GROUP,
                vec![key],
                None,
                EntryAction::Group(GroupId(id)),
            );
            self.returns(id, hops)?;
            actions.push(
                self.to
                    .call(action::ECMP, &[id.into(), self.hash_shift().into()])?,
            );
        }
        for &(prefix, action) in &forwarding.ipv4 {
            let address = u32::from(prefix.address());
            self.route(
                table::IPV4_ROUTE,
                address.into(),
                prefix.length(),
                action,
                &actions,
            )?;
        }
        for &(prefix, action) in &forwarding.ipv6 {
            let address = u128::from(prefix.address());
            self.route(
                table::IPV6_ROUTE,
                address,
                prefix.length(),
                action,
                &actions,
            )?;
        }
        Ok(())
    }

    /// What becomes of packets that come back from a member of a group.
    fn returns(&mut self, group: u32, hops: &[NextHop]) -> Result<(), Problem> {
        for (port, hop) in after_return(self.plan.topology(), self.switch, hops) {
            let keys = vec![
                self.to.exact(table::ECMP_RETURN, "group", group)?,
                self.port_key(table::ECMP_RETURN, "in_port", port)?,
            ];
            let call = self.next_hop(hop)?;
            self.to.add(table::ECMP_RETURN, keys, None, call);
        }
        Ok(())
    }

    fn route(
        &mut self,
        table: &'static str,
        address: u128,
        length: u8,
        action: ForwardAction,
        groups: &[NamedCall],
    ) -> Result<(), Problem> {
        let value = self.to.value(table, "dst_addr", address)?;
        let value = FieldMatch::lpm(&value, length.into());
        let call = match action {
            ForwardAction::Discard => self.to.call(action::DISCARD, &[])?,
            ForwardAction::Group(group) => {
                let group = usize::try_from(group).ok().and_then(|at| groups.get(at));
                let missing = || Problem::Forwarding("a route names a group that is not there");
                group.cloned().ok_or_else(missing)?
            }
        };
        let keys = value.into_iter().map(|value| Key {
            field: "dst_addr".into(),
            value,
        });
        self.to.add(table, keys.collect(), None, call);
        Ok(())
    }

    fn next_hop(&self, hop: NextHop) -> Result<NamedCall, Problem> {
        let source = self.plan.topology().port_mac(self.switch, hop.port);
        let port = self.ports.device(hop.port);
        let values = [port.into(), number(source), number(hop.mac)];
        self.to.call(action::NEXT_HOP, &values)
    }

    /// Which bits of the flow hash this switch uses: other ones than the layers below and above,
    /// for among the flows that a switch gets the bits that its peers looked at are all alike.
    fn hash_shift(&self) -> u8 {
        let spread = |number: usize, step: u8| {
            let shifts = usize::from(layout::HASH_SHIFT_MAX) + 1;
            u8::try_from(number * usize::from(step) % shifts).unwrap_or_default()
        };
        match self.plan.topology().switch(self.switch).layer {
            Some(layer) => spread(layer.into(), HASH_BITS_PER_LAYER),
            None => spread(self.switch.index(), HASH_BITS_PER_LAYER + 1),
        }
    }

    /// The maps of the switch's configuration as SONiC would read it.
    fn maps(&mut self) -> Result<(), Problem> {
        let unmapped = |e: &dyn std::fmt::Display| Problem::Maps(e.to_string());
        let platform = self
            .platform
            .ok_or(Problem::Maps("there are none".into()))?;
        let options = sonic::Options::on(platform);
        let config = sonic::configuration(self.plan, self.switch, &options, self.base);
        let config = config.map_err(|e| unmapped(&e))?;
        let text = serde_json::Value::Object(config.tables).to_string();
        let name = &self.plan.topology().switch(self.switch).name;
        let read = sonic::read(name, &text).map_err(|e| unmapped(&e))?;
        let topology = self.plan.topology();
        maps::fill(&mut self.to, topology, self.switch, &read)
    }

    fn tag_rules(&mut self) -> Result<(), Problem> {
        let plan = self.plan;
        let rules = plan.tagging().rules.get(self.switch.index());
        let rules = rules.map_or(&[][..], Vec::as_slice);
        let given = self.channel_rules()?;
        let kept = rules.iter().map(|rule| (0, rule));
        let rules: Vec<(u16, &TagRule)> = kept
            .chain(given.iter().map(|(code, rule)| (*code, rule)))
            .collect();
        for name in [table::CLASSIFY, self.names.table] {
            let has_priority = self.to.table(name)?.has_priority();
            // Two rules may say the same; a table holds a key once.
            let mut seen = BTreeSet::new();
            for &(channel, rule) in &rules {
                let call = match name {
                    table::CLASSIFY => self.classify(rule)?,
                    _ => self.rewrite(rule)?,
                };
                let priority = has_priority.then(|| i32::from(rule.precedence) + 1);
                for port_keys in self.port_keys(name, rule)? {
                    let code = self.tag_code(rule.tag)?;
                    let mut keys = vec![self.to.exact(name, "tag", code)?];
                    keys.extend(port_keys);
                    keys.extend(self.class_key(name, rule.class)?);
                    keys.extend(self.version_key(name)?);
                    if self.to.table(name)?.field(CHANNEL_KEY).is_some() {
                        keys.push(self.to.exact(name, CHANNEL_KEY, channel)?);
                    }
                    if seen.insert((keys.clone(), priority)) {
                        self.to.add(name, keys, priority, call.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// What becomes of a packet from a host that was just given a channel, by the channel's code:
    /// whatever its first tag, it leaves with the channel.
    fn channel_rules(&self) -> Result<Vec<(u16, TagRule)>, Problem> {
        let failover = self.plan.tables().failover.as_ref();
        let table = failover.and_then(|failover| failover.tables.get(self.switch.index()));
        let mut out_ports: BTreeMap<Tag, BTreeSet<PortId>> = BTreeMap::new();
        for action in table.iter().flat_map(|table| table.actions()) {
            if let (Some(channel), Some((port, _))) = (channel(action), action.out()) {
                out_ports.entry(channel).or_default().insert(port);
            }
        }
        let peers = self.plan.topology().peers(self.switch);
        let hosts = peers.filter(|(_, peer)| matches!(peer.end.node, NodeId::Host(_)));
        let in_ports: PortSet = hosts.map(|(port, _)| port).collect();
        let classes = self.plan.tagging().classes.iter();
        let initial: BTreeSet<Tag> = classes.map(|class| class.initial).collect();
        let mut rules = Vec::new();
        for (channel, out_ports) in out_ports {
            let code = channel_code(self.plan.carrier(), channel)?;
            for &tag in &initial {
                let rule = TagRule {
                    precedence: 0,
                    class: None,
                    tag,
                    in_ports: in_ports.clone(),
                    out_ports: out_ports.iter().copied().collect(),
                    new_tag: NewTag::Lossless(channel),
                };
                rules.push((code, rule));
            }
        }
        Ok(rules)
    }

    /// ING_PRIO is that of the arriving tag, EG_PRIO that of the new one (TaggerDraft section 6.3).
    fn classify(&self, rule: &TagRule) -> Result<NamedCall, Problem> {
        let tagging = self.plan.tagging();
        match rule.new_tag {
            NewTag::Lossy => self.to.call(action::LOSSY, &[]),
            NewTag::Lossless(_) => {
                let arriving = tagging.priority(NewTag::Lossless(rule.tag));
                let leaving = tagging.priority(rule.new_tag);
                let values = [arriving.get().into(), leaving.get().into()];
                self.to.call(action::SET_PRIORITIES, &values)
            }
        }
    }

    fn rewrite(&self, rule: &TagRule) -> Result<NamedCall, Problem> {
        match rule.new_tag {
            NewTag::Lossy => self.to.call(self.names.set_lossy_code, &[]),
            NewTag::Lossless(tag) => {
                let code = self.tag_code(tag)?.into();
                self.to.call(self.names.set_tag, &[code])
            }
        }
    }

    /// The code of a tag without class bits.
    fn tag_code(&self, tag: plan::Tag) -> Result<u16, Problem> {
        let code = self.plan.carrier().codes.get(&tag);
        Ok(code.ok_or_else(|| no_code(&tag))?.get())
    }

    /// The key over the class bits; none for a rule of any class.
    fn class_key(&self, name: &str, class: Option<ClassId>) -> Result<Option<Key>, Problem> {
        let Some(class) = class else { return Ok(None) };
        let value = self.to.value(name, "class", class.get().into())?;
        let value = FieldMatch::ternary(&value, Bits::ones(value.width()));
        Ok(value.map(|value| Key {
            field: "class".into(),
            value,
        }))
    }

    /// The keys over both ports: one lot for sets, a lot for every two ports in exact form.
    fn port_keys(&self, name: &'static str, rule: &TagRule) -> Result<Vec<Vec<Key>>, Problem> {
        let in_field = self.to.table(name)?.field("in_port");
        if in_field.is_some_and(|field| field.kind == MatchKind::Ternary) {
            let in_key = self.port_set(name, "in_port", &rule.in_ports)?;
            let out_key = self.port_set(name, "out_port", &rule.out_ports)?;
            return Ok(vec![in_key.into_iter().chain(out_key).collect()]);
        }
        let mut pairs = Vec::with_capacity(rule.exact_count());
        for in_port in rule.in_ports.iter() {
            for out_port in rule.out_ports.iter() {
                pairs.push(vec![
                    self.port_key(name, "in_port", in_port)?,
                    self.port_key(name, "out_port", out_port)?,
                ]);
            }
        }
        Ok(pairs)
    }

    /// "Port in S": no bit outside S is set in the one-hot bitmap of the port.
    fn port_set(
        &self,
        name: &str,
        field: &'static str,
        ports: &PortSet,
    ) -> Result<Option<Key>, Problem> {
        let width = self.to.value(name, field, 0)?.width();
        if let Some(last) = ports.last().filter(|last| u32::from(last.get()) >= width) {
            let found = u32::from(last.get()) + 1;
            return Err(Problem::Width {
                what: format!("{field} of {name}"),
                expected: width,
                found,
                value: format!("{{{ports}}}"),
            });
        }
        let mut outside = Bits::zero(width);
        for bit in 0..width {
            let inside = u16::try_from(bit).is_ok_and(|port| ports.contains(PortId::new(port)));
            if !inside {
                outside = outside.with_bit(bit);
            }
        }
        let value = FieldMatch::ternary(&Bits::zero(width), outside);
        Ok(value.map(|value| Key {
            field: field.into(),
            value,
        }))
    }
    /// Every port's bit, where tables say it. Bits stay those of the plan's numbers, so that rules
    /// over port sets are the same on every target.
    fn port_bits(&mut self, width: u16) -> Result<(), Problem> {
        for (name, action) in [
            (table::IN_PORT_BIT, action::SET_IN_PORT),
            (table::OUT_PORT_BIT, action::SET_OUT_PORT),
        ] {
            if self.to.layout.table(name).is_none() {
                continue;
            }
            for (port, device) in self.ports.iter() {
                if port.get() >= width {
                    return Err(Problem::Width {
                        what: format!("bits of {action}"),
                        expected: width.into(),
                        found: u32::from(port.get()) + 1,
                        value: port.to_string(),
                    });
                }
                let bits = Bits::zero(width.into()).with_bit(port.get().into());
                let call = NamedCall {
                    action: action.into(),
                    params: vec![("bits".into(), bits)],
                };
                let key = self.to.exact(name, "port", device)?;
                self.to.add(name, vec![key], None, call);
            }
        }
        Ok(())
    }
}

/// The number that follows so many, counted from 1.
fn count(others: usize) -> Result<u32, Problem> {
    let next = u32::try_from(others)
        .ok()
        .and_then(|others| others.checked_add(1));
    next.ok_or(Problem::Forwarding(
        "there are more groups or next hops than can be numbered",
    ))
}

fn no_code(tag: &plan::Tag) -> Problem {
    Problem::missing(format!("the carrier has no code for tag {tag}"))
}

//! Traffic classes for a switch's tag rules.
//!
//! A switch under SONiC knows no rule over (tag, ingress port, egress port). It knows a traffic
//! class, which the ingress port chooses and by which the ingress port's maps give the priority
//! group, the egress port's maps the queue and the new DSCP. So a traffic class stands for a tag
//! and for all ingress ports at which packets with this tag fare alike, whatever egress port they
//! leave by; then the maps of the ports say what the rules say, and no TCAM is taken.
//!
//! Where there are more such classes than the platform has, and it has ACL rules that set the
//! traffic class, a class stands for a tag and the tag with which the packet leaves. The DSCP alone
//! chooses a class of the arriving tag, because it alone gives the priority group; rules set
//! another class where the most frequent one of a port is not right.

use std::collections::{BTreeMap, BTreeSet};

use plan::{CheckedPlan, ClassId, LOSSY_PRIORITY, NewTag, Tag};
use quantities::PortId;
use thiserror::Error;
use topology::SwitchId;

use crate::platform::{HIGHEST_DSCP, Platform};

/// The traffic class of everything that is not lossless.
pub const LOSSY_TC: u8 = 0;

/// The resource that a [`Shortage`] of traffic classes names.
pub(crate) const TRAFFIC_CLASSES: &str = "traffic classes";

/// The maps of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchMaps {
    /// By ingress port and DSCP: the traffic class.
    pub dscp_to_tc: BTreeMap<PortId, Vec<u8>>,
    /// By traffic class: the priority group.
    pub tc_to_group: Vec<u8>,
    /// By egress port and traffic class: the queue.
    pub tc_to_queue: BTreeMap<PortId, Vec<u8>>,
    /// By egress port and traffic class: the DSCP with which packets leave.
    pub tc_to_dscp: BTreeMap<PortId, Vec<u8>>,
    /// The ACL rules; no two match the same packet.
    pub rules: Vec<Rule>,
}

/// An ACL rule that sets the traffic class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Ingress ports.
    pub in_ports: BTreeSet<PortId>,
    /// Egress ports.
    pub out_ports: BTreeSet<PortId>,
    /// The DSCP.
    pub dscp: u8,
    /// The traffic class that it sets.
    pub tc: u8,
}

/// What a switch's tag rules take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Traffic classes if there are no ACL rules, the lossy one included.
    pub traffic_classes: usize,
    /// Traffic classes with ACL rules.
    pub traffic_classes_with_rules: usize,
    /// ACL rules then.
    pub acl_rules: usize,
}

/// What a platform lacks for a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("needs {need} {resource}, there are {limit}")]
pub struct Shortage {
    /// Of what, as a plural.
    pub resource: &'static str,
    /// How much the switch needs.
    pub need: u64,
    /// How much there is.
    pub limit: u64,
    /// What to change.
    pub mend: &'static str,
}

/// Where a packet goes and as what: its queue, and the DSCP with which it leaves.
type Leaving = (u8, u8);

/// What becomes of packets with one DSCP that come in by one port.
struct Arrival {
    dscp: u8,
    port: PortId,
    /// The priority of the arriving tag.
    group: u8,
    /// By egress port.
    leaving: Vec<Leaving>,
}

/// All that decides about the traffic classes of a switch.
struct Behaviour {
    ports: Vec<PortId>,
    lossy: Leaving,
    /// Those of which something stays lossless.
    arrivals: Vec<Arrival>,
}

/// The codes of the plan's lossless tags: DSCP, class, tag. Codes of classes that the plan does not
/// have are lossy.
pub(crate) fn codes(plan: &CheckedPlan) -> Vec<(u8, ClassId, Tag)> {
    let (tagging, carrier) = (plan.tagging(), plan.carrier());
    let classes = match carrier.class_shift {
        Some(_) => tagging.classes.len(),
        None => 1,
    };
    let mut codes = Vec::new();
    for class in (0..).map(ClassId::new).take(classes) {
        for &tag in tagging.priorities.keys() {
            let code = carrier.code(class, NewTag::Lossless(tag));
            let code = code.and_then(|code| u8::try_from(code.get()).ok());
            codes.extend(code.map(|code| (code, class, tag)));
        }
    }
    codes
}

/// The DSCP of packets that are not lossless.
pub(crate) fn lossy_dscp(plan: &CheckedPlan) -> u8 {
    u8::try_from(plan.carrier().lossy.get()).unwrap_or_default()
}

impl Behaviour {
    fn of(plan: &CheckedPlan, switch: SwitchId) -> Self {
        let (tagging, carrier) = (plan.tagging(), plan.carrier());
        let ports: Vec<PortId> = plan
            .topology()
            .peers(switch)
            .map(|(port, _)| port)
            .collect();
        let lossy = (LOSSY_PRIORITY.get(), lossy_dscp(plan));
        let mut arrivals = Vec::new();
        for (dscp, class, tag) in codes(plan) {
            for &port in &ports {
                let leaves = |&out: &PortId| {
                    let new_tag = tagging.new_tag(switch, class, tag, port, out);
                    let code = carrier.code(class, new_tag).map(|code| code.get());
                    let code = code.and_then(|code| u8::try_from(code).ok());
                    (tagging.priority(new_tag).get(), code.unwrap_or(lossy.1))
                };
                let leaving: Vec<Leaving> = ports.iter().map(leaves).collect();
                if leaving.iter().any(|leaving| *leaving != lossy) {
                    arrivals.push(Arrival {
                        dscp,
                        port,
                        group: tagging.priority(NewTag::Lossless(tag)).get(),
                        leaving,
                    });
                }
            }
        }
        Self {
            ports,
            lossy,
            arrivals,
        }
    }

    /// Maps in which everything is lossy, for so many traffic classes.
    fn lossy_maps(&self, classes: usize) -> SwitchMaps {
        let by_port = |value: Vec<u8>| -> BTreeMap<PortId, Vec<u8>> {
            self.ports
                .iter()
                .map(|port| (*port, value.clone()))
                .collect()
        };
        SwitchMaps {
            dscp_to_tc: by_port(vec![LOSSY_TC; usize::from(HIGHEST_DSCP) + 1]),
            tc_to_group: vec![LOSSY_PRIORITY.get(); classes],
            tc_to_queue: by_port(vec![self.lossy.0; classes]),
            tc_to_dscp: by_port(vec![self.lossy.1; classes]),
            rules: Vec::new(),
        }
    }

    /// A traffic class for each tag and each kind of ingress port.
    fn without_rules(&self) -> SwitchMaps {
        let mut classes: BTreeMap<(u8, &[Leaving]), u8> = BTreeMap::new();
        for arrival in &self.arrivals {
            let next = number(classes.len() + 1);
            let key = (arrival.group, arrival.leaving.as_slice());
            classes.entry(key).or_insert(next);
        }
        let mut maps = self.lossy_maps(classes.len() + 1);
        for arrival in &self.arrivals {
            let tc = classes[&(arrival.group, arrival.leaving.as_slice())];
            set(&mut maps.dscp_to_tc, arrival.port, arrival.dscp, tc);
            maps.tc_to_group[usize::from(tc)] = arrival.group;
            for (&out, &(queue, dscp)) in self.ports.iter().zip(&arrival.leaving) {
                set(&mut maps.tc_to_queue, out, tc, queue);
                set(&mut maps.tc_to_dscp, out, tc, dscp);
            }
        }
        maps
    }

    /// A traffic class for each tag and each tag to leave with, chosen by ACL rules.
    fn with_rules(&self) -> SwitchMaps {
        let mut classes: BTreeMap<(u8, Leaving), u8> = BTreeMap::new();
        for arrival in &self.arrivals {
            for &leaving in arrival.leaving.iter().filter(|l| **l != self.lossy) {
                let next = number(classes.len() + 1);
                classes.entry((arrival.group, leaving)).or_insert(next);
            }
        }
        let mut maps = self.lossy_maps(classes.len() + 1);
        for (&(group, (queue, dscp)), &tc) in &classes {
            maps.tc_to_group[usize::from(tc)] = group;
            for &port in &self.ports {
                set(&mut maps.tc_to_queue, port, tc, queue);
                set(&mut maps.tc_to_dscp, port, tc, dscp);
            }
        }
        let mut exceptions: BTreeMap<(u8, u8, BTreeSet<PortId>), BTreeSet<PortId>> =
            BTreeMap::new();
        for arrival in &self.arrivals {
            let class = |leaving: &Leaving| match *leaving == self.lossy {
                true => LOSSY_TC,
                false => classes[&(arrival.group, *leaving)],
            };
            let mut by_class: BTreeMap<u8, BTreeSet<PortId>> = BTreeMap::new();
            for (&out, leaving) in self.ports.iter().zip(&arrival.leaving) {
                by_class.entry(class(leaving)).or_default().insert(out);
            }
            // Never the lossy class: its priority group is not the tag's. Of equally frequent ones
            // the lowest, so that the same plan gives the same maps.
            let lossless = by_class.iter().filter(|(tc, _)| **tc != LOSSY_TC);
            let most = lossless.max_by_key(|(tc, outs)| (outs.len(), !**tc));
            let usual = most.map_or(LOSSY_TC, |(tc, _)| *tc);
            set(&mut maps.dscp_to_tc, arrival.port, arrival.dscp, usual);
            for (tc, outs) in by_class.into_iter().filter(|(tc, _)| *tc != usual) {
                let alike = exceptions.entry((arrival.dscp, tc, outs)).or_default();
                alike.insert(arrival.port);
            }
        }
        let mut merged: BTreeMap<(u8, u8, BTreeSet<PortId>), BTreeSet<PortId>> = BTreeMap::new();
        for ((dscp, tc, outs), ins) in exceptions {
            merged.entry((dscp, tc, ins)).or_default().extend(outs);
        }
        let rules = merged
            .into_iter()
            .map(|((dscp, tc, in_ports), out_ports)| Rule {
                in_ports,
                out_ports,
                dscp,
                tc,
            });
        maps.rules = rules.collect();
        maps
    }
}

fn number(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

fn set(maps: &mut BTreeMap<PortId, Vec<u8>>, port: PortId, at: u8, value: u8) {
    if let Some(slot) = maps
        .get_mut(&port)
        .and_then(|map| map.get_mut(usize::from(at)))
    {
        *slot = value;
    }
}

/// What the rules of a switch take of any platform.
#[must_use]
pub fn need(plan: &CheckedPlan, switch: SwitchId) -> Need {
    let behaviour = Behaviour::of(plan, switch);
    let (plain, ruled) = (behaviour.classes(), behaviour.with_rules());
    Need {
        traffic_classes: plain,
        traffic_classes_with_rules: ruled.tc_to_group.len(),
        acl_rules: ruled.rules.len(),
    }
}

impl Behaviour {
    /// How many traffic classes there are without rules.
    fn classes(&self) -> usize {
        let kinds = self.arrivals.iter().map(|a| (a.group, &a.leaving));
        1 + kinds.collect::<BTreeSet<_>>().len()
    }
}

/// The maps of a switch on a platform: without ACL rules if its traffic classes suffice.
///
/// # Errors
/// What it needs and the platform does not have.
pub fn assign(
    plan: &CheckedPlan,
    switch: SwitchId,
    platform: &Platform,
) -> Result<SwitchMaps, Shortage> {
    let behaviour = Behaviour::of(plan, switch);
    let limit = usize::from(platform.traffic_classes);
    let need = behaviour.classes();
    if need <= limit {
        return Ok(behaviour.without_rules());
    }
    let short = |resource, need: usize, limit, mend| Shortage {
        resource,
        need: need as u64,
        limit,
        mend,
    };
    let classes = |need| {
        let mend =
            "plan with fewer bounces or classes, or name a platform that has more (`--platform`)";
        short(TRAFFIC_CLASSES, need, limit as u64, mend)
    };
    if platform.acl_rules == 0 {
        return Err(classes(need));
    }
    let maps = behaviour.with_rules();
    if maps.tc_to_group.len() > limit {
        return Err(classes(maps.tc_to_group.len()));
    }
    let rules = u64::from(platform.acl_rules);
    if maps.rules.len() as u64 > rules {
        let mend = "plan for fewer lossless routes";
        return Err(short("ACL rules", maps.rules.len(), rules, mend));
    }
    Ok(maps)
}

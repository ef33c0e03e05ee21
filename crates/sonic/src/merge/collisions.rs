//! Traffic of the operator in codes or priorities of the plan.

use std::collections::{BTreeMap, BTreeSet};

use plan::NewTag;

use super::Merge;
use crate::assign;
use crate::pipeline::{DSCPS, PortIndex};
use crate::tables::MapKind;

/// How to choose others.
const MEND_PRIORITY: &str = "choose other priorities (`plan --tag-priorities`), make this DSCP a code of the plan \
                             (`plan --codes`), or map it to another traffic class";
const MEND_CODE: &str =
    "choose other codes (`plan --codes`), or take the DSCP out of the operator's class";

/// The tags of the plan by code and by priority.
pub(super) struct Tags {
    /// The priority of each code.
    pub(super) codes: BTreeMap<u8, u8>,
    /// A word for the owner of each priority: `tag 1`.
    priorities: BTreeMap<u8, String>,
}

impl Merge<'_> {
    pub(super) fn tags(&self) -> Tags {
        let tagging = self.plan.tagging();
        let codes = assign::codes(self.plan).into_iter();
        let codes = codes.map(|(dscp, _, tag)| {
            let priority = tagging.priority(NewTag::Lossless(tag));
            (dscp, priority.get())
        });
        let owners = tagging.priorities.iter();
        let owners = owners.map(|(tag, priority)| (priority.get(), format!("tag {tag}")));
        Tags {
            codes: codes.collect(),
            priorities: owners.collect(),
        }
    }

    /// Notes everything of the operator that would share a code or a priority with tags.
    pub(super) fn collisions(&mut self) {
        let tags = self.tags();
        let ports: Vec<(String, PortIndex)> = self
            .ports
            .iter()
            .filter_map(|(_, name)| Some((name.clone(), self.index(name)?)))
            .collect();
        for (name, index) in &ports {
            for dscp in 0..DSCPS {
                match tags.codes.get(&dscp) {
                    Some(priority) => self.taken_code(name, *index, dscp, *priority),
                    None => self.foreign(&tags, &ports, (name, *index), dscp),
                }
            }
            self.pauses(&tags, name, *index);
            self.remarks(&tags, name);
        }
        self.acl(&tags, &ports);
    }

    /// A code of the plan that the operator has given a class: the default class and the plan's own
    /// priority do no harm.
    fn taken_code(&mut self, port: &str, index: PortIndex, dscp: u8, priority: u8) {
        let tc = self.pipeline.class_of(index, dscp);
        let default = self.pipeline.class_of(index, assign::lossy_dscp(self.plan));
        let group = self.pipeline.group_of(index, tc);
        if tc == default || group == priority {
            return;
        }
        let queue = self.pipeline.queue_of(index, tc);
        let problem = format!(
            "traffic class {tc} (priority group {group}, queue {queue}), but DSCP {dscp} is a code of the plan with \
             priority {priority}; {MEND_CODE}"
        );
        let key = format!("{}.{dscp}", self.map_name(MapKind::DscpToTc, port));
        self.fault(MapKind::DscpToTc.table(), key, problem);
    }

    /// A DSCP that is no code, in the priority group or the queue of a tag.
    fn foreign(
        &mut self,
        tags: &Tags,
        outs: &[(String, PortIndex)],
        (port, index): (&str, PortIndex),
        dscp: u8,
    ) {
        let tc = self.pipeline.class_of(index, dscp);
        let group = self.pipeline.group_of(index, tc);
        let queues = outs.iter().map(|(_, out)| self.pipeline.queue_of(*out, tc));
        let queue = queues
            .into_iter()
            .find(|queue| tags.priorities.contains_key(queue));
        let (what, number) = match (tags.priorities.contains_key(&group), queue) {
            (true, _) => ("priority group", group),
            (false, Some(queue)) => ("queue", queue),
            (false, None) => return,
        };
        let owner = &tags.priorities[&number];
        let problem = format!(
            "traffic class {tc} and so {what} {number}, but priority {number} is that of {owner} of the plan; \
             {MEND_PRIORITY}"
        );
        let key = format!("{}.{dscp}", self.map_name(MapKind::DscpToTc, port));
        self.fault(MapKind::DscpToTc.table(), key, problem);
    }

    /// PFC priorities of tags that stop another queue, or are asked for by another priority group.
    fn pauses(&mut self, tags: &Tags, port: &str, index: PortIndex) {
        for (&priority, owner) in &tags.priorities {
            let kind = MapKind::PfcToQueue;
            let bound = self.base.config.map_of(kind, port);
            let said = bound.and_then(|map| map.get(&priority));
            let queue = self.pipeline.paused_queue(index, priority);
            if said.is_some() && queue != priority {
                let problem = format!(
                    "queue {queue}, but {owner} of the plan waits in queue {priority}; map it to {priority}, or choose \
                     other priorities (`plan --tag-priorities`)"
                );
                let key = format!("{}.{priority}", self.map_name(kind, port));
                self.fault(kind.table(), key, problem);
            }
            let kind = MapKind::PfcToPriorityGroup;
            let group = self.base.config.map_of(kind, port);
            if let Some(&group) = group.and_then(|map| map.get(&priority))
                && group != priority
            {
                let problem = format!(
                    "priority group {group}, but {owner} of the plan has priority group {priority}; map it to \
                     {priority}, or choose other priorities (`plan --tag-priorities`)"
                );
                let key = format!("{}.{priority}", self.map_name(kind, port));
                self.fault(kind.table(), key, problem);
            }
        }
    }

    /// Traffic classes that leave with a code of the plan.
    fn remarks(&mut self, tags: &Tags, port: &str) {
        let kind = MapKind::TcToDscp;
        let map = self.base.config.map_of(kind, port).cloned();
        for (tc, dscp) in map.into_iter().flatten() {
            if tags.codes.contains_key(&dscp) {
                let problem = format!(
                    "traffic class {tc} leaves with DSCP {dscp}, which is a code of the plan; {MEND_CODE}"
                );
                let key = format!("{}.{tc}", self.map_name(kind, port));
                self.fault(kind.table(), key, problem);
            }
        }
    }

    /// ACL rules that set the class of a code, or a class in the queue of a tag.
    fn acl(&mut self, tags: &Tags, outs: &[(String, PortIndex)]) {
        let base = self.base;
        for rule in &base.config.acl {
            let table = "ACL_RULE";
            if tags.codes.contains_key(&rule.dscp) {
                let problem = format!(
                    "sets the traffic class of DSCP {}, which is a code of the plan; {MEND_CODE}",
                    rule.dscp
                );
                self.fault(table, rule.name.clone(), problem);
            }
            let queues = outs
                .iter()
                .map(|(_, out)| self.pipeline.queue_of(*out, rule.tc));
            let queue = queues
                .into_iter()
                .find(|queue| tags.priorities.contains_key(queue));
            if let Some(queue) = queue {
                let problem = format!(
                    "sets traffic class {} and so queue {queue}, but priority {queue} is that of {} of the plan; \
                     {MEND_PRIORITY}",
                    rule.tc, tags.priorities[&queue]
                );
                self.fault(table, rule.name.clone(), problem);
            }
        }
    }

    /// The traffic classes that the operator's traffic has.
    pub(super) fn used_classes(&self, tags: &Tags) -> BTreeSet<u8> {
        let others = || (0..DSCPS).filter(|dscp| !tags.codes.contains_key(dscp));
        let mut used: BTreeSet<u8> = self.base.config.acl.iter().map(|rule| rule.tc).collect();
        // What no map names has traffic class 0.
        used.insert(0);
        for (_, name) in &self.ports {
            if let Some(index) = self.index(name) {
                used.extend(others().map(|dscp| self.pipeline.class_of(index, dscp)));
            }
        }
        used
    }
}

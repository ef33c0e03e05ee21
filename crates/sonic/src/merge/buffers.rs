//! Buffers: rows of the operator that suffice are kept, missing ones are added.

use quantities::PortId;

use super::Merge;
use crate::assign;
use crate::configure::{
    EGRESS_LOSSLESS_POOL, EGRESS_LOSSLESS_PROFILE, LOSSLESS_POOL, LOSSLESS_THRESHOLD,
};
use crate::tables::{ConfigDb, PoolSide, ProfileRow};
use crate::write::MARK;

impl Merge<'_> {
    pub(super) fn buffers(&mut self, ours: &ConfigDb) {
        for (name, row) in &ours.pools {
            if self.pool(row.side, name).is_none() {
                self.add.pools.insert(name.clone(), row.clone());
            }
        }
        let tags = self.tags();
        for (port, name) in self.ports.clone() {
            for &priority in tags.codes.values() {
                self.group(ours, port, &name, priority);
                self.queue(ours, &name, priority);
            }
            self.lossy_rows(ours, &name);
        }
    }

    /// Headroom of a port's priority group: the operator's if it suffices.
    fn group(&mut self, ours: &ConfigDb, port: PortId, name: &str, priority: u8) {
        let base = &self.base.config;
        let key = (name.to_owned(), priority);
        let Some(profile) = ours.priority_groups.get(&key).cloned().flatten() else {
            return;
        };
        let Some(row) = ours.profiles.get(&profile) else {
            return;
        };
        let Some(given) = base.priority_groups.get(&key) else {
            if !base.computes_headroom(name) {
                let profile = self.headroom_profile(port, profile, row.clone());
                self.add.priority_groups.insert(key, profile);
            }
            return;
        };
        // Of a row with profile NULL SONiC computes the headroom.
        let Some(given) = given else { return };
        let has = base.profiles.get(given).and_then(|profile| profile.xoff);
        let need = row.xoff.unwrap_or_default();
        if has.is_none_or(|has| has < need) {
            let has = match has {
                Some(has) => format!("{has} bytes of headroom (`xoff`)"),
                None => "no headroom (`xoff`)".to_owned(),
            };
            let problem = format!(
                "profile `{given}` has {has}, but priority {priority} of the plan needs {need}; raise it, take the row \
                 out, or choose other priorities (`plan --tag-priorities`)"
            );
            self.fault("BUFFER_PG", format!("{name}|{priority}"), problem);
        }
    }

    /// The name under which a profile with headroom is in the tables.
    fn headroom_profile(&mut self, port: PortId, name: String, row: ProfileRow) -> Option<String> {
        let row = match self.pool(PoolSide::Ingress, LOSSLESS_POOL) {
            None => row,
            Some((pool, false)) => {
                let problem = format!(
                    "mode static, but the headroom of port {port} needs a pool of mode dynamic; add rows to BUFFER_PG \
                     for the plan's priorities"
                );
                self.fault("BUFFER_POOL", pool, problem);
                return None;
            }
            Some((pool, true)) => ProfileRow {
                pool,
                dynamic_th: Some(LOSSLESS_THRESHOLD),
                ..row
            },
        };
        Some(self.profile(name, row))
    }

    /// Adds a profile, under a name that no other one has.
    fn profile(&mut self, name: String, row: ProfileRow) -> String {
        let known = self.base.config.profiles.get(&name);
        if known == Some(&row) {
            return name;
        }
        let name = match known {
            Some(_) => format!("{MARK}_{name}"),
            None => name,
        };
        self.add.profiles.insert(name.clone(), row);
        name
    }

    /// The operator's pool of a side, the usual one if he has it, and whether it is dynamic.
    fn pool(&self, side: PoolSide, usual: &str) -> Option<(String, bool)> {
        let pools = &self.base.config.pools;
        let fits = |of: PoolSide| of == side || of == PoolSide::Both;
        let mut all = pools.iter().filter(|(_, row)| fits(row.side));
        let usual = pools.get_key_value(usual).filter(|(_, row)| fits(row.side));
        let (name, row) = usual.or_else(|| all.next())?;
        Some((name.clone(), row.dynamic))
    }

    /// The profile of a port's lossless queue: the operator's, if it is not that of lossy queues.
    fn queue(&mut self, ours: &ConfigDb, name: &str, priority: u8) {
        let base = &self.base.config;
        let key = (name.to_owned(), priority);
        let Some(given) = base.queues.get(&key) else {
            let profile = self.queue_profile(ours);
            self.add.queues.insert(key, profile);
            return;
        };
        let lossy = self.index(name).map(|index| {
            let tc = self.pipeline.class_of(index, assign::lossy_dscp(self.plan));
            self.pipeline.queue_of(index, tc)
        });
        let lossy = base.queues.get(&(name.to_owned(), lossy.unwrap_or(0)));
        if lossy == Some(given) {
            let problem = format!(
                "profile `{given}` is that of lossy queues, but queue {priority} is lossless in the plan; give it \
                 another profile, take the row out, or choose other priorities (`plan --tag-priorities`)"
            );
            self.fault("BUFFER_QUEUE", format!("{name}|{priority}"), problem);
        }
    }

    fn queue_profile(&mut self, ours: &ConfigDb) -> String {
        let name = EGRESS_LOSSLESS_PROFILE.to_owned();
        let base = &self.base.config;
        if base.profiles.contains_key(&name) {
            return name;
        }
        let row = ours.profiles.get(&name).cloned().unwrap_or_default();
        let row = match self.pool(PoolSide::Egress, EGRESS_LOSSLESS_POOL) {
            None => row,
            Some((pool, dynamic)) => ProfileRow {
                // The highest threshold: egress drops nothing that ingress accounts.
                dynamic_th: dynamic.then_some(i32::from(crate::platform::HIGHEST_PG)),
                static_th: row.static_th.filter(|_| !dynamic),
                pool,
                ..row
            },
        };
        self.profile(name, row)
    }

    /// Rows for lossy traffic, where the operator has no rows at all for a port.
    fn lossy_rows(&mut self, ours: &ConfigDb, name: &str) {
        let base = &self.base.config;
        let key = (name.to_owned(), 0);
        let mut wanted = Vec::new();
        if !base.priority_groups.keys().any(|(port, _)| port == name)
            && let Some(Some(profile)) = ours.priority_groups.get(&key)
        {
            self.add
                .priority_groups
                .insert(key.clone(), Some(profile.clone()));
            wanted.push((profile.clone(), PoolSide::Ingress));
        }
        if !base.queues.keys().any(|(port, _)| port == name)
            && let Some(profile) = ours.queues.get(&key)
        {
            self.add.queues.insert(key, profile.clone());
            wanted.push((profile.clone(), PoolSide::Egress));
        }
        for (profile, side) in wanted {
            let row = ours.profiles.get(&profile).cloned();
            if let (Some(mut row), false) = (row, base.profiles.contains_key(&profile)) {
                if let Some((pool, _)) = self.pool(side, &row.pool) {
                    row.pool = pool;
                }
                self.add.profiles.insert(profile, row);
            }
        }
    }
}

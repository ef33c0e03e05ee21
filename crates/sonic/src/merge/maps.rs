//! The operator's maps with the traffic classes of tags in them.

use std::collections::{BTreeMap, BTreeSet};

use plan::LOSSY_PRIORITY;

use super::Merge;
use super::collisions::Tags;
use crate::assign::{self, LOSSY_TC, Shortage, SwitchMaps, assign};
use crate::configure::acl_rules;
use crate::platform::{HIGHEST_DSCP, HIGHEST_PG, Platform};
use crate::tables::{ConfigDb, MapKind, NumberMap, PortQosRow};
use crate::write::{MARK, Names};

const TOO_FEW: &str = "map the operator's DSCPs to fewer traffic classes, plan with fewer bounces or classes, or name a \
                       platform that has more (`--platform`)";

/// The traffic classes of tags.
struct Classes {
    maps: SwitchMaps,
    /// The number of each class of `maps`. That of the lossy class is none where nothing has it.
    numbers: Vec<Option<u8>>,
}

impl Merge<'_> {
    /// Binds the ports to the operator's maps with tags in them.
    ///
    /// # Errors
    /// The traffic classes that the operator's traffic leaves free do not suffice.
    pub(super) fn maps(&mut self, platform: &Platform, ours: &ConfigDb) -> Result<(), Shortage> {
        let tags = self.tags();
        let used = self.used_classes(&tags);
        let classes = self.classes(platform, &tags, &used)?;
        let mut names: BTreeMap<(MapKind, String), Names> = BTreeMap::new();
        for (port, name) in self.ports.clone() {
            let row = ours.port_qos.get(&name).cloned().unwrap_or_default();
            let given = self.base.config.port_qos.get(&name);
            let mut bound = PortQosRow {
                pfc_enable: row.pfc_enable,
                watchdog: row.watchdog,
                ..PortQosRow::default()
            };
            if let Some(given) = given {
                bound.pfc_enable.extend(&given.pfc_enable);
                bound.watchdog.extend(&given.watchdog);
            }
            for (kind, map) in classes.of(self, &tags, port, &name) {
                let before = self.base.bound(kind, &name).map(str::to_owned);
                let whole = self.with(kind, &name, &used, &map);
                let same = self.base.config.map_of(kind, &name) == Some(&whole);
                if same && let Some(before) = before {
                    bound.maps.insert(kind, before);
                    continue;
                }
                let prefix = prefix(kind, before.as_deref());
                let key = (kind, prefix.clone());
                let names = names.entry(key).or_insert_with(|| Names::new(prefix));
                bound.maps.insert(kind, names.name(whole));
            }
            self.add.port_qos.insert(name, bound);
        }
        for ((kind, _), names) in names {
            self.add.maps.entry(kind).or_default().extend(names.maps());
        }
        let mut rules = classes.maps.rules.clone();
        for rule in &mut rules {
            rule.tc = classes.number(rule.tc);
        }
        self.add.acl = acl_rules(self.plan, self.switch, &rules);
        Ok(())
    }

    /// The traffic classes of tags, among those that the operator's traffic leaves free.
    fn classes(
        &self,
        platform: &Platform,
        tags: &Tags,
        used: &BTreeSet<u8>,
    ) -> Result<Classes, Shortage> {
        let free = (1..platform.traffic_classes).filter(|tc| !used.contains(tc));
        let free: Vec<u8> = free.collect();
        let count = |classes: usize| u8::try_from(classes).unwrap_or(u8::MAX);
        let short = |need: u64| Shortage {
            resource: "traffic classes beside the operator's",
            need,
            limit: free.len() as u64,
            mend: TOO_FEW,
        };
        let room = Platform {
            traffic_classes: count(free.len() + 1),
            ..*platform
        };
        let maps = assign(self.plan, self.switch, &room).map_err(|shortage| {
            match shortage.resource == assign::TRAFFIC_CLASSES {
                true => short(shortage.need.saturating_sub(1)),
                false => shortage,
            }
        })?;
        let lossy = maps.rules.iter().any(|rule| rule.tc == LOSSY_TC)
            || maps.dscp_to_tc.values().any(|map| {
                let mut codes = tags.codes.keys();
                codes.any(|code| map.get(usize::from(*code)) == Some(&LOSSY_TC))
            });
        let lossless = maps.tc_to_group.len().saturating_sub(1);
        let mut numbers = free.iter().copied().map(Some);
        let mut all: Vec<Option<u8>> = vec![None];
        all.extend(numbers.by_ref().take(lossless));
        if lossy {
            let need = lossless as u64 + 1;
            all[0] = Some(numbers.next().flatten().ok_or_else(|| short(need))?);
        }
        Ok(Classes { maps, numbers: all })
    }

    /// The operator's map of a kind with more in it. Where a port has none, its traffic goes on as
    /// it did without.
    fn with(&self, kind: MapKind, port: &str, used: &BTreeSet<u8>, more: &NumberMap) -> NumberMap {
        let before = self.base.config.map_of(kind, port).cloned();
        let mut whole = before.unwrap_or_else(|| match kind {
            MapKind::DscpToTc => (0..=HIGHEST_DSCP).map(|dscp| (dscp, LOSSY_TC)).collect(),
            MapKind::TcToPriorityGroup | MapKind::TcToQueue => {
                used.iter().map(|tc| (*tc, 0)).collect()
            }
            MapKind::PfcToQueue => (0..=HIGHEST_PG).map(|p| (p, p)).collect(),
            MapKind::TcToDscp | MapKind::PfcToPriorityGroup => NumberMap::new(),
        });
        whole.extend(more);
        whole
    }

    /// The queue of lossy packets at a port, as the operator has it.
    fn lossy_queue(&self, port: &str) -> u8 {
        let lossy = assign::lossy_dscp(self.plan);
        self.index(port).map_or(LOSSY_PRIORITY.get(), |index| {
            let tc = self.pipeline.class_of(index, lossy);
            self.pipeline.queue_of(index, tc)
        })
    }

    /// Their priority group.
    fn lossy_group(&self, port: &str) -> u8 {
        let lossy = assign::lossy_dscp(self.plan);
        let index = self.index(port);
        index.map_or(LOSSY_PRIORITY.get(), |index| {
            self.pipeline.arrival(index, lossy)
        })
    }
}

impl Classes {
    fn number(&self, class: u8) -> u8 {
        let number = self.numbers.get(usize::from(class));
        number.copied().flatten().unwrap_or(LOSSY_TC)
    }

    /// The classes that have a number, each with it.
    fn numbered(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        let all = self.numbers.iter().enumerate();
        all.filter_map(|(class, number)| Some((class, (*number)?)))
    }

    /// What a port's maps say of tags.
    fn of(
        &self,
        merge: &Merge<'_>,
        tags: &Tags,
        port: quantities::PortId,
        name: &str,
    ) -> [(MapKind, NumberMap); 5] {
        let maps = &self.maps;
        let codes = tags.codes.keys().map(|&code| {
            let classes = maps.dscp_to_tc.get(&port);
            let class = classes.and_then(|map| map.get(usize::from(code)));
            (code, self.number(class.copied().unwrap_or(LOSSY_TC)))
        });
        let groups = self.numbered().map(|(class, tc)| {
            let group = maps.tc_to_group.get(class).copied().filter(|g| *g > 0);
            (tc, group.unwrap_or_else(|| merge.lossy_group(name)))
        });
        let at = |map: &BTreeMap<quantities::PortId, Vec<u8>>, class: usize| {
            map.get(&port).and_then(|map| map.get(class)).copied()
        };
        let queues = self.numbered().map(|(class, tc)| {
            let queue = at(&maps.tc_to_queue, class).filter(|queue| *queue > 0);
            (tc, queue.unwrap_or_else(|| merge.lossy_queue(name)))
        });
        let dscps = self
            .numbered()
            .filter_map(|(class, tc)| Some((tc, at(&maps.tc_to_dscp, class)?)));
        let pauses = tags.codes.values().map(|priority| (*priority, *priority));
        [
            (MapKind::DscpToTc, codes.collect()),
            (MapKind::TcToPriorityGroup, groups.collect()),
            (MapKind::TcToQueue, queues.collect()),
            (MapKind::TcToDscp, dscps.collect()),
            (MapKind::PfcToQueue, pauses.collect()),
        ]
    }
}

/// How names of maps begin that are made from a map of the operator's.
fn prefix(kind: MapKind, before: Option<&str>) -> String {
    let side = match kind {
        MapKind::DscpToTc => "_IN",
        MapKind::TcToQueue | MapKind::TcToDscp => "_OUT",
        _ => "",
    };
    match before {
        None => format!("{MARK}{side}"),
        Some(before) => format!("{before}_{MARK}{side}"),
    }
}

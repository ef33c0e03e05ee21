//! `mc_*` and `mirroring_*`: multicast groups and clone sessions.
//!
//! simple_switch_CLI makes nodes first and puts them into groups; P4Runtime knows only groups with
//! their copies. Nodes live here: those of the switch's groups are numbered when replication is
//! first touched, new ones count on.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use p4runtime::p4::v1::{
    self, entity::Entity, packet_replication_engine_entry as replication, replica, update,
};

use super::{Outcome, Session, handle, help, number};

/// Copies with one instance number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    instance: u32,
    ports: Vec<u16>,
}

impl Node {
    fn read(words: &[&str]) -> Outcome<Self> {
        let (instance, ports) = words.split_first().ok_or("an instance number is missing")?;
        Ok(Self {
            instance: number(instance)?,
            ports: ports.iter().map(|p| number(p)).collect::<Outcome<_>>()?,
        })
    }

    fn replicas(&self) -> Vec<v1::Replica> {
        self.ports
            .iter()
            .map(|port| replica_to(*port, self.instance))
            .collect()
    }

    fn has(&self, copy: &v1::Replica) -> bool {
        copy.instance == self.instance && self.ports.contains(&port_of(copy))
    }

    /// Puts another node in this one's place in a group; false if this one's copies are not all
    /// there.
    fn replace(&self, group: &mut v1::MulticastGroupEntry, new: &Self) -> bool {
        let own = group.replicas.iter().filter(|copy| self.has(copy)).count();
        if self.ports.is_empty() || own < self.ports.len() {
            return false;
        }
        group.replicas.retain(|copy| !self.has(copy));
        group.replicas.extend(new.replicas());
        true
    }
}

fn replica_to(port: u16, instance: u32) -> v1::Replica {
    let bytes = port.to_be_bytes();
    let port = p4runtime::bytestring::canonical(&bytes).to_vec();
    v1::Replica {
        port_kind: Some(replica::PortKind::Port(port)),
        instance,
        backup_replicas: Vec::new(),
    }
}

fn port_of(replica: &v1::Replica) -> u16 {
    match &replica.port_kind {
        Some(replica::PortKind::Port(bytes)) => bytes
            .iter()
            .fold(0, |port, byte| port << 8 | u16::from(*byte)),
        #[allow(deprecated)]
        Some(replica::PortKind::EgressPort(port)) => u16::try_from(*port).unwrap_or(u16::MAX),
        None => u16::MAX,
    }
}

/// The nodes that a group consists of.
fn nodes_of(group: &v1::MulticastGroupEntry) -> Vec<Node> {
    let mut nodes: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
    for replica in &group.replicas {
        nodes
            .entry(replica.instance)
            .or_default()
            .push(port_of(replica));
    }
    let node = |(instance, ports)| Node { instance, ports };
    nodes.into_iter().map(node).collect()
}

fn entity(kind: replication::Type) -> Entity {
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) })
}

impl Session {
    pub(super) fn replication(&mut self, command: &str, words: &[&str]) -> Outcome {
        if command.starts_with("mc_") {
            self.learn_nodes()?;
        }
        match (command, words) {
            ("mc_mgrp_create", [group]) => {
                let group = v1::MulticastGroupEntry {
                    multicast_group_id: number(group)?,
                    ..Default::default()
                };
                self.change(
                    update::Type::Insert,
                    entity(replication::Type::MulticastGroupEntry(group)),
                )?;
                Ok("Group created".to_owned())
            }
            ("mc_mgrp_destroy", [group]) => {
                let group = v1::MulticastGroupEntry {
                    multicast_group_id: number(group)?,
                    ..Default::default()
                };
                self.change(
                    update::Type::Delete,
                    entity(replication::Type::MulticastGroupEntry(group)),
                )?;
                Ok("Group destroyed".to_owned())
            }
            ("mc_node_create", [_, ..]) => {
                let node = Node::read(words)?;
                let nodes = self.nodes.get_or_insert_default();
                nodes.push(Some(node));
                Ok(format!("node was created with handle {}", nodes.len() - 1))
            }
            ("mc_node_update", [at, ports @ ..]) => self.update_node(at, ports),
            ("mc_node_destroy", [at]) => {
                self.update_node(at, &[])?;
                let place = handle(at)? as usize;
                if let Some(node) = self.nodes.as_mut().and_then(|nodes| nodes.get_mut(place)) {
                    *node = None;
                }
                Ok("Node destroyed".to_owned())
            }
            ("mc_node_associate", [group, at]) => {
                let (node, mut group) = (self.node(at)?, self.multicast_group(group)?);
                group.replicas.extend(node.replicas());
                self.change(
                    update::Type::Modify,
                    entity(replication::Type::MulticastGroupEntry(group)),
                )?;
                Ok("Node is in the group".to_owned())
            }
            ("mc_node_dissociate", [group, at]) => {
                let (node, mut group) = (self.node(at)?, self.multicast_group(group)?);
                let before = group.replicas.len();
                group.replicas.retain(|copy| !node.has(copy));
                if group.replicas.len() == before {
                    return Err("the node is not in the group".into());
                }
                self.change(
                    update::Type::Modify,
                    entity(replication::Type::MulticastGroupEntry(group)),
                )?;
                Ok("Node is not in the group".to_owned())
            }
            ("mc_dump", []) => self.mc_dump(),
            ("mirroring_add", [session, port]) => {
                let replicas = vec![replica_to(number(port)?, 0)];
                self.add_session(session, replicas)
            }
            ("mirroring_add_mc", [session, group]) => {
                let replicas = self.multicast_group(group)?.replicas;
                self.add_session(session, replicas)
            }
            ("mirroring_delete", [session]) => {
                let session = v1::CloneSessionEntry {
                    session_id: number(session)?,
                    ..Default::default()
                };
                self.change(
                    update::Type::Delete,
                    entity(replication::Type::CloneSessionEntry(session)),
                )?;
                Ok("Session deleted".to_owned())
            }
            ("mirroring_get", [session]) => self.mirroring_get(session),
            _ => Err(help::unknown_or_usage(command).into()),
        }
    }

    /// Numbers the nodes of the switch's groups.
    fn learn_nodes(&mut self) -> Outcome<()> {
        if self.nodes.is_none() {
            let groups = self.multicast_groups()?;
            self.nodes = Some(groups.iter().flat_map(nodes_of).map(Some).collect());
        }
        Ok(())
    }

    fn node(&self, at: &str) -> Outcome<Node> {
        let place = handle(at)? as usize;
        let found = self.nodes.as_ref().and_then(|nodes| nodes.get(place));
        Ok(found
            .cloned()
            .flatten()
            .ok_or_else(|| format!("there is no node with handle {at}"))?)
    }

    fn update_node(&mut self, at: &str, ports: &[&str]) -> Outcome {
        let old = self.node(at)?;
        let ports = ports.iter().map(|p| number(p)).collect::<Outcome<_>>()?;
        let new = Node {
            instance: old.instance,
            ports,
        };
        for mut group in self.multicast_groups()? {
            if old.replace(&mut group, &new) {
                self.change(
                    update::Type::Modify,
                    entity(replication::Type::MulticastGroupEntry(group)),
                )?;
            }
        }
        let place = handle(at)? as usize;
        if let Some(node) = self.nodes.as_mut().and_then(|nodes| nodes.get_mut(place)) {
            *node = Some(new);
        }
        Ok("Node updated".to_owned())
    }

    fn multicast_groups(&mut self) -> Outcome<Vec<v1::MulticastGroupEntry>> {
        let wanted = replication::Type::MulticastGroupEntry(v1::MulticastGroupEntry::default());
        let found = self.fetch(entity(wanted))?;
        let group = |entity| match entity {
            Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
                r#type: Some(replication::Type::MulticastGroupEntry(group)),
            }) => Some(group),
            _ => None,
        };
        let mut groups: Vec<_> = found.into_iter().filter_map(group).collect();
        groups.sort_by_key(|group| group.multicast_group_id);
        Ok(groups)
    }

    fn multicast_group(&mut self, id: &str) -> Outcome<v1::MulticastGroupEntry> {
        let wanted: u32 = number(id)?;
        let groups = self.multicast_groups()?;
        let found = groups.into_iter().find(|g| g.multicast_group_id == wanted);
        Ok(found.ok_or_else(|| {
            format!("there is no multicast group {id}; make it with mc_mgrp_create")
        })?)
    }

    fn mc_dump(&mut self) -> Outcome {
        let mut text = "==========\nMC ENTRIES\n".to_owned();
        for group in self.multicast_groups()? {
            let _ = writeln!(text, "**********\nmgrp({})", group.multicast_group_id);
            for node in nodes_of(&group) {
                let ports: Vec<String> = node.ports.iter().map(u16::to_string).collect();
                let _ = writeln!(
                    text,
                    "  -> (rid={}) -> (ports=[{}])",
                    node.instance,
                    ports.join(", ")
                );
            }
        }
        text.push_str("==========\n");
        Ok(text)
    }

    fn add_session(&mut self, session: &str, replicas: Vec<v1::Replica>) -> Outcome {
        let session = v1::CloneSessionEntry {
            session_id: number(session)?,
            replicas,
            ..Default::default()
        };
        self.change(
            update::Type::Insert,
            entity(replication::Type::CloneSessionEntry(session)),
        )?;
        Ok("Session added".to_owned())
    }

    fn mirroring_get(&mut self, session: &str) -> Outcome {
        let session_id: u32 = number(session)?;
        let wanted = v1::CloneSessionEntry {
            session_id,
            ..Default::default()
        };
        let found = self.fetch(entity(replication::Type::CloneSessionEntry(wanted)))?;
        for entity in found {
            if let Entity::PacketReplicationEngineEntry(entry) = entity
                && let Some(replication::Type::CloneSessionEntry(found)) = entry.r#type
                && found.session_id == session_id
            {
                let ports: Vec<String> = found
                    .replicas
                    .iter()
                    .map(|r| port_of(r).to_string())
                    .collect();
                return Ok(format!("session {session} -> ports [{}]", ports.join(", ")));
            }
        }
        Err(format!("there is no clone session {session}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fall_into_nodes_and_nodes_make_groups() {
        let nodes = [
            Node {
                instance: 1,
                ports: vec![2, 300],
            },
            Node {
                instance: 7,
                ports: vec![4],
            },
        ];
        let group = v1::MulticastGroupEntry {
            multicast_group_id: 1,
            replicas: nodes.iter().flat_map(Node::replicas).collect(),
            ..Default::default()
        };
        assert_eq!(nodes_of(&group), nodes);
    }

    /// Instance 0 is what nodes have of which nobody needs to tell the copies apart.
    #[test]
    fn nodes_of_one_instance_are_changed_one_by_one() {
        let node = |instance, ports: &[u16]| Node {
            instance,
            ports: ports.to_vec(),
        };
        let (first, second, nothing) = (node(0, &[1, 2]), node(0, &[3]), node(0, &[]));
        let mut group = v1::MulticastGroupEntry {
            multicast_group_id: 1,
            replicas: [first.replicas(), second.replicas()].concat(),
            ..Default::default()
        };
        assert!(second.replace(&mut group, &node(0, &[4])));
        assert_eq!(nodes_of(&group), [node(0, &[1, 2, 4])]);
        assert!(
            !second.replace(&mut group, &nothing),
            "it is not there any more"
        );
        assert!(!nothing.replace(&mut group, &second));
        assert!(!node(1, &[1]).replace(&mut group, &second));
        assert!(first.replace(&mut group, &nothing));
        assert_eq!(nodes_of(&group), [node(0, &[4])]);
    }
}

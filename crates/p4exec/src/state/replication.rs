//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

use quantities::PortId;

use crate::ports::PortSet;

/// One copy to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// Where it leaves.
    pub port: PortId,
    /// The copy's `egress_rid`.
    pub rid: u16,
}

/// What a clone session makes of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// Copies to ports, made after those of the group.
    pub replicas: Vec<Replica>,
    /// Copies to every replica of a multicast group.
    pub multicast_group: Option<u16>,
    /// If given, clones are cut to this many bytes when they leave.
    pub truncate_to: Option<u32>,
}

/// Whose copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Copies {
    /// Those of a multicast group.
    Group(u16),
    /// Those of a clone session's own.
    Session(u32),
}

/// The engine's configuration.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    groups: BTreeMap<u16, Vec<Replica>>,
    sessions: BTreeMap<u32, CloneSession>,
    /// One list per copy.
    backups: BTreeMap<Copies, Vec<Vec<Replica>>>,
}

impl Replication {
    /// The copies of a multicast group, in order; `None` if it does not exist.
    #[must_use]
    pub fn group(&self, id: u16) -> Option<&[Replica]> {
        self.groups.get(&id).map(Vec::as_slice)
    }

    /// All groups.
    #[must_use]
    pub const fn groups(&self) -> &BTreeMap<u16, Vec<Replica>> {
        &self.groups
    }

    /// A clone session.
    #[must_use]
    pub fn session(&self, id: u32) -> Option<&CloneSession> {
        self.sessions.get(&id)
    }

    /// All sessions.
    #[must_use]
    pub const fn sessions(&self) -> &BTreeMap<u32, CloneSession> {
        &self.sessions
    }

    /// For each of the copies, the replicas that take its place while its port is down; empty if
    /// none has any.
    #[must_use]
    pub fn backups(&self, of: Copies) -> &[Vec<Replica>] {
        self.backups.get(&of).map_or(&[], Vec::as_slice)
    }

    pub(super) fn set_backups(&mut self, of: Copies, backups: Vec<Vec<Replica>>) {
        if backups.is_empty() {
            self.backups.remove(&of);
        } else {
            self.backups.insert(of, backups);
        }
    }

    /// The copies as they are to be made now: each at its own port, or if that is down at the first
    /// backup's that is up.
    fn resolve(&self, of: Copies, replicas: &[Replica], ports: &PortSet) -> Vec<Replica> {
        let mut copies = replicas.to_vec();
        for (copy, backups) in copies.iter_mut().zip(self.backups(of)) {
            if !ports.is_up(copy.port)
                && let Some(backup) = backups.iter().find(|backup| ports.is_up(backup.port))
            {
                *copy = *backup;
            }
        }
        copies
    }

    /// The copies of a multicast group as they are to be made now; none if it does not exist.
    #[must_use]
    pub fn copies(&self, group: u16, ports: &PortSet) -> Vec<Replica> {
        let replicas = self.group(group).unwrap_or_default();
        self.resolve(Copies::Group(group), replicas, ports)
    }

    pub(super) fn set_group(
        &mut self,
        id: u16,
        replicas: Option<Vec<Replica>>,
    ) -> Option<Vec<Replica>> {
        match replicas {
            Some(replicas) => self.groups.insert(id, replicas),
            None => self.groups.remove(&id),
        }
    }

    pub(super) fn set_session(
        &mut self,
        id: u32,
        session: Option<CloneSession>,
    ) -> Option<CloneSession> {
        match session {
            Some(session) => self.sessions.insert(id, session),
            None => self.sessions.remove(&id),
        }
    }

    /// A clone session with the copies to make now: those of its group first, then its own; `None`
    /// if it does not exist.
    #[must_use]
    pub fn clones(&self, id: u32, ports: &PortSet) -> Option<(&CloneSession, Vec<Replica>)> {
        let session = self.session(id)?;
        let mut copies = match session.multicast_group {
            Some(group) => self.copies(group, ports),
            None => Vec::new(),
        };
        copies.extend(self.resolve(Copies::Session(id), &session.replicas, ports));
        Some((session, copies))
    }
}

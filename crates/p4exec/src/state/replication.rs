//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

use units::PortId;

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

/// The engine's configuration.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    groups: BTreeMap<u16, Vec<Replica>>,
    sessions: BTreeMap<u32, CloneSession>,
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

    /// The copies of a clone session: those of its group first, then its own.
    #[must_use]
    pub fn clones(&self, session: &CloneSession) -> Vec<Replica> {
        let group = session
            .multicast_group
            .and_then(|id| self.group(id))
            .unwrap_or_default();
        group.iter().chain(&session.replicas).copied().collect()
    }
}

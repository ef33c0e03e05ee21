//! Action profiles and selectors: actions that entries share, alone (members) or in groups.
//!
//! A selector's choice is deterministic: the hash of its key fields modulo the number of live
//! places in the group. A member of weight *w* has *w* places; places are in rising member order,
//! which with weights of one is the order BMv2 uses (`ActionProfile::GroupMgr::get_from_hash`).

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use units::PortId;

use super::entry::{ActionCall, WeightedCall};

/// A member of an action profile, numbered by the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// A group of an action profile, numbered by the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// A member's place in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupMember {
    /// Which member.
    pub member: MemberId,
    /// The share of packets, relative to the other weights; at least 1.
    pub weight: u32,
    /// If given, the member counts only while this port is up.
    pub watch_port: Option<PortId>,
}

/// A group: its members in rising order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    members: Vec<GroupMember>,
}

impl Group {
    /// The members in rising order.
    #[must_use]
    pub fn members(&self) -> &[GroupMember] {
        &self.members
    }
}

/// The largest sum of weights in a group or a one-shot set.
pub const MAX_GROUP_WEIGHT: u64 = 1 << 16;

/// Why a profile refuses an operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// No such member.
    #[error("action profile `{profile}` has no member {member}")]
    NoMember {
        /// The profile.
        profile: String,
        /// The member.
        member: u32,
    },
    /// No such group.
    #[error("action profile `{profile}` has no group {group}")]
    NoGroup {
        /// The profile.
        profile: String,
        /// The group.
        group: u32,
    },
    /// The number is taken.
    #[error("action profile `{profile}` already has a {what} {id}")]
    Duplicate {
        /// The profile.
        profile: String,
        /// "member" or "group".
        what: &'static str,
        /// Its number.
        id: u32,
    },
    /// Something still refers to it.
    #[error("{what} {id} of action profile `{profile}` is in use by {user}; remove that first")]
    InUse {
        /// The profile.
        profile: String,
        /// "member" or "group".
        what: &'static str,
        /// Its number.
        id: u32,
        /// What refers to it.
        user: String,
    },
    /// No room.
    #[error("action profile `{profile}` is full: its size is {size} members")]
    Full {
        /// The profile.
        profile: String,
        /// The size the program declares.
        size: usize,
    },
    /// Weights that are zero or too large together.
    #[error(
        "group {group} of action profile `{profile}`: weights must be at least 1 and sum to at \
         most {MAX_GROUP_WEIGHT}"
    )]
    Weight {
        /// The profile.
        profile: String,
        /// The group.
        group: u32,
    },
    /// Groups in a profile that has no selector.
    #[error("action profile `{profile}` has no selector, hence no groups")]
    NoSelector {
        /// The profile.
        profile: String,
    },
}

/// Picks among weighted places by a hash value.
pub struct Selector;

impl Selector {
    /// The index of the item picked among `(weight, live)` pairs, in their order; `None` if no
    /// live item has weight.
    pub fn pick(places: impl Iterator<Item = (u32, bool)> + Clone, hash: u64) -> Option<usize> {
        let total: u64 = places
            .clone()
            .filter(|(_, live)| *live)
            .map(|(weight, _)| u64::from(weight))
            .sum();
        let mut rest = hash.checked_rem(total)?;
        for (index, (weight, live)) in places.enumerate() {
            let weight = if live { u64::from(weight) } else { 0 };
            if rest < weight {
                return Some(index);
            }
            rest -= weight;
        }
        None
    }

    /// The action picked from a one-shot set.
    #[must_use]
    pub fn pick_one_shot<'a>(
        set: &'a [WeightedCall],
        hash: u64,
        up: &dyn Fn(PortId) -> bool,
    ) -> Option<&'a ActionCall> {
        let places = set.iter().map(|w| (w.weight, w.watch_port.is_none_or(up)));
        Self::pick(places, hash).map(|index| &set[index].call)
    }
}

/// An action profile, with a selector if the program gives it one.
#[derive(Clone, Debug)]
pub struct ActionProfile {
    name: String,
    with_selector: bool,
    size: Option<usize>,
    members: BTreeMap<MemberId, ActionCall>,
    groups: BTreeMap<GroupId, Group>,
}

impl ActionProfile {
    /// An empty profile.
    #[must_use]
    pub const fn new(name: String, with_selector: bool, size: Option<usize>) -> Self {
        Self {
            name,
            with_selector,
            size,
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    /// The control-plane name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether entries may name groups.
    #[must_use]
    pub const fn with_selector(&self) -> bool {
        self.with_selector
    }

    /// The members in rising order.
    #[must_use]
    pub const fn members(&self) -> &BTreeMap<MemberId, ActionCall> {
        &self.members
    }

    /// The groups in rising order.
    #[must_use]
    pub const fn groups(&self) -> &BTreeMap<GroupId, Group> {
        &self.groups
    }

    fn no_member(&self, member: MemberId) -> ProfileError {
        ProfileError::NoMember {
            profile: self.name.clone(),
            member: member.0,
        }
    }

    fn no_group(&self, group: GroupId) -> ProfileError {
        ProfileError::NoGroup {
            profile: self.name.clone(),
            group: group.0,
        }
    }

    /// Adds a member. The action must have been checked against the tables that use the profile.
    pub fn insert_member(&mut self, id: MemberId, call: ActionCall) -> Result<(), ProfileError> {
        if self.members.contains_key(&id) {
            let profile = self.name.clone();
            return Err(ProfileError::Duplicate {
                profile,
                what: "member",
                id: id.0,
            });
        }
        if let Some(size) = self.size
            && self.members.len() >= size
        {
            return Err(ProfileError::Full {
                profile: self.name.clone(),
                size,
            });
        }
        self.members.insert(id, call);
        Ok(())
    }

    /// Replaces a member's action and returns the old one.
    pub fn modify_member(
        &mut self,
        id: MemberId,
        call: ActionCall,
    ) -> Result<ActionCall, ProfileError> {
        match self.members.get_mut(&id) {
            Some(place) => Ok(std::mem::replace(place, call)),
            None => Err(self.no_member(id)),
        }
    }

    /// Removes a member that no group holds. The caller sees to it that no entry names it.
    pub fn remove_member(&mut self, id: MemberId) -> Result<ActionCall, ProfileError> {
        let holder = self
            .groups
            .iter()
            .find(|(_, g)| g.members.iter().any(|m| m.member == id));
        if let Some((group, _)) = holder {
            return Err(ProfileError::InUse {
                profile: self.name.clone(),
                what: "member",
                id: id.0,
                user: format!("group {}", group.0),
            });
        }
        self.members.remove(&id).ok_or_else(|| self.no_member(id))
    }

    fn check_group(
        &self,
        id: GroupId,
        mut members: Vec<GroupMember>,
    ) -> Result<Group, ProfileError> {
        if !self.with_selector {
            return Err(ProfileError::NoSelector {
                profile: self.name.clone(),
            });
        }
        members.sort_by_key(|m| m.member);
        let mut seen = BTreeSet::new();
        for m in &members {
            if !self.members.contains_key(&m.member) {
                return Err(self.no_member(m.member));
            }
            if !seen.insert(m.member) {
                let (profile, id) = (self.name.clone(), m.member.0);
                return Err(ProfileError::Duplicate {
                    profile,
                    what: "group member",
                    id,
                });
            }
        }
        let total: u64 = members.iter().map(|m| u64::from(m.weight)).sum();
        if members.iter().any(|m| m.weight == 0) || total > MAX_GROUP_WEIGHT {
            return Err(ProfileError::Weight {
                profile: self.name.clone(),
                group: id.0,
            });
        }
        Ok(Group { members })
    }

    /// Adds a group, empty or not.
    pub fn insert_group(
        &mut self,
        id: GroupId,
        members: Vec<GroupMember>,
    ) -> Result<(), ProfileError> {
        if self.groups.contains_key(&id) {
            let profile = self.name.clone();
            return Err(ProfileError::Duplicate {
                profile,
                what: "group",
                id: id.0,
            });
        }
        let group = self.check_group(id, members)?;
        self.groups.insert(id, group);
        Ok(())
    }

    /// Replaces the members of a group and returns the old ones.
    pub fn modify_group(
        &mut self,
        id: GroupId,
        members: Vec<GroupMember>,
    ) -> Result<Vec<GroupMember>, ProfileError> {
        let group = self.check_group(id, members)?;
        match self.groups.get_mut(&id) {
            Some(place) => Ok(std::mem::replace(place, group).members),
            None => Err(self.no_group(id)),
        }
    }

    /// Removes a group. The caller sees to it that no entry names it.
    pub fn remove_group(&mut self, id: GroupId) -> Result<Vec<GroupMember>, ProfileError> {
        self.groups
            .remove(&id)
            .map(|g| g.members)
            .ok_or_else(|| self.no_group(id))
    }

    /// The action of a member.
    pub fn member(&self, id: MemberId) -> Result<&ActionCall, ProfileError> {
        self.members.get(&id).ok_or_else(|| self.no_member(id))
    }

    /// A group.
    pub fn group(&self, id: GroupId) -> Result<&Group, ProfileError> {
        self.groups.get(&id).ok_or_else(|| self.no_group(id))
    }

    /// The member that a hash value picks from a group, and its action; `None` if the group is
    /// unknown or has no live member.
    #[must_use]
    pub fn pick(
        &self,
        id: GroupId,
        hash: u64,
        up: &dyn Fn(PortId) -> bool,
    ) -> Option<(MemberId, &ActionCall)> {
        let members = &self.groups.get(&id)?.members;
        let places = members
            .iter()
            .map(|m| (m.weight, m.watch_port.is_none_or(up)));
        let member = members[Selector::pick(places, hash)?].member;
        Some((member, self.members.get(&member)?))
    }

    /// Removes all members and groups.
    pub fn clear(&mut self) {
        self.members.clear();
        self.groups.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4ir::{ActionId, Entity as _};

    fn profile(members: u32) -> ActionProfile {
        let mut profile = ActionProfile::new("ecmp".into(), true, None);
        for m in 0..members {
            let call = ActionCall {
                action: ActionId::new(m as usize),
                args: vec![],
            };
            profile.insert_member(MemberId(m), call).unwrap();
        }
        profile
    }

    fn member(id: u32, weight: u32, port: Option<u16>) -> GroupMember {
        GroupMember {
            member: MemberId(id),
            weight,
            watch_port: port.map(PortId::new),
        }
    }

    #[test]
    fn members_are_picked_in_rising_order_by_the_remainder() {
        let mut p = profile(4);
        let members = vec![member(3, 1, None), member(0, 1, None), member(2, 1, None)];
        p.insert_group(GroupId(1), members).unwrap();
        let picks: Vec<u32> = (0..6)
            .map(|hash| p.pick(GroupId(1), hash, &|_| true).unwrap().0.0)
            .collect();
        assert_eq!(picks, [0, 2, 3, 0, 2, 3]);
    }

    #[test]
    fn weights_are_shares_and_dead_ports_leave_the_group() {
        let mut p = profile(2);
        p.insert_group(
            GroupId(7),
            vec![member(0, 3, Some(1)), member(1, 1, Some(2))],
        )
        .unwrap();
        let count = |up: &dyn Fn(PortId) -> bool| {
            (0..400)
                .filter(|h| p.pick(GroupId(7), *h, up).unwrap().0 == MemberId(0))
                .count()
        };
        assert_eq!(count(&|_| true), 300);
        assert_eq!(count(&|port| port == PortId::new(2)), 0);
        assert!(p.pick(GroupId(7), 0, &|_| false).is_none(), "nobody lives");
    }

    #[test]
    fn what_is_in_use_stays() {
        let mut p = profile(1);
        p.insert_group(GroupId(1), vec![member(0, 1, None)])
            .unwrap();
        assert!(matches!(
            p.remove_member(MemberId(0)),
            Err(ProfileError::InUse { .. })
        ));
        p.modify_group(GroupId(1), vec![]).unwrap();
        assert!(p.pick(GroupId(1), 0, &|_| true).is_none());
        p.remove_member(MemberId(0)).unwrap();
        let lost = p.modify_group(GroupId(1), vec![member(0, 1, None)]);
        assert!(matches!(
            lost,
            Err(ProfileError::NoMember { member: 0, .. })
        ));
        assert!(matches!(
            ActionProfile::new("plain".into(), false, None).insert_group(GroupId(1), vec![]),
            Err(ProfileError::NoSelector { .. })
        ));
    }
}

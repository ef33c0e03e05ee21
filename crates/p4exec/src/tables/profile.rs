//! Action profiles and selectors: actions that entries share, alone (members) or in groups.
//!
//! A selector's choice is deterministic: the hash of its key fields modulo the number of live
//! places in the group. A member of weight *w* has *w* places; places are in rising member order,
//! which with weights of one is the order BMv2 uses (`ActionProfile::GroupMgr::get_from_hash`).

use std::collections::{BTreeMap, BTreeSet};

use quantities::PortId;
use thiserror::Error;

use super::entry::{ActionCall, GroupId, MemberId};
use super::revision::Revision;
use super::slot_map::SlotMap;
use crate::ports::PortSet;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGroup {
    members: Vec<GroupMember>,
}

impl StoredGroup {
    /// The members in rising order.
    #[must_use]
    pub fn members(&self) -> &[GroupMember] {
        &self.members
    }
}

/// A group as packets see it.
#[derive(Clone, Debug)]
struct Picks {
    choice: Choice,
    /// Each member with the place of its row.
    members: Box<[(MemberId, u32)]>,
}

/// A member: its action, typed and packed, and how often groups and entries name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMember {
    call: ActionCall,
    row: Vec<u64>,
}

impl StoredMember {
    /// A member with an action and its packed form.
    #[must_use]
    pub const fn new(call: ActionCall, row: Vec<u64>) -> Self {
        Self { call, row }
    }

    /// The action.
    #[must_use]
    pub const fn call(&self) -> &ActionCall {
        &self.call
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Weight, weights up to and with this one, and the port that must be up.
    places: Vec<(u32, u32, Option<PortId>)>,
    /// The one weight all have, or zero.
    even: u32,
    watches: bool,
}

impl Choice {
    /// A choice among places given by weight and the port that must be up, if any.
    pub fn new(places: impl Iterator<Item = (u32, Option<PortId>)>) -> Self {
        let mut sum = 0u32;
        let places: Vec<_> = places
            .map(|(weight, watch)| {
                sum = sum.saturating_add(weight);
                (weight, sum, watch)
            })
            .collect();
        let first = places.first().map_or(0, |p| p.0);
        Self {
            even: if places.iter().all(|p| p.0 == first) {
                first
            } else {
                0
            },
            watches: places.iter().any(|p| p.2.is_some()),
            places,
        }
    }

    /// The place picked by a hash value: the hash modulo the sum of the weights of live places
    /// says where among those places, in their order. `None` if no live place has weight.
    #[must_use]
    pub fn pick(&self, hash: u64, ports: &PortSet) -> Option<usize> {
        if self.watches && !ports.all_up() {
            return self.pick_live(hash, ports);
        }
        let total = self.places.last()?.1;
        let rest = hash.checked_rem(u64::from(total))? as u32;
        Some(match self.even {
            0 => self.places.partition_point(|p| p.1 <= rest),
            1 => rest as usize,
            even => (rest / even) as usize,
        })
    }

    /// The live places in their order, each with its weight.
    pub(crate) fn live<'a>(
        &'a self,
        ports: &'a PortSet,
    ) -> impl Iterator<Item = (usize, u32)> + 'a {
        let places = self.places.iter().enumerate();
        let is_live = |watch: &Option<PortId>| watch.is_none_or(|port| ports.is_up(port));
        places
            .filter(move |(_, (_, _, watch))| is_live(watch))
            .map(|(index, (weight, _, _))| (index, *weight))
    }

    fn pick_live(&self, hash: u64, ports: &PortSet) -> Option<usize> {
        let weight = |p: &(u32, u32, Option<PortId>)| {
            let live = p.2.is_none_or(|port| ports.is_up(port));
            if live { u64::from(p.0) } else { 0 }
        };
        let total: u64 = self.places.iter().map(weight).sum();
        let mut rest = hash.checked_rem(total)?;
        self.places.iter().position(|place| {
            let weight = weight(place);
            let here = rest < weight;
            rest = rest.saturating_sub(weight);
            here
        })
    }
}

/// An action profile, with a selector if the program gives it one.
#[derive(Clone, Debug)]
pub struct ActionProfile {
    name: String,
    with_selector: bool,
    size: Option<usize>,
    members: BTreeMap<MemberId, StoredMember>,
    groups: BTreeMap<GroupId, StoredGroup>,
    /// The rows of the members, and the groups, as packets find them.
    rows: SlotMap<Box<[u64]>>,
    picks: SlotMap<Picks>,
    /// How many places in groups, and how many entries, name a member.
    member_uses: BTreeMap<MemberId, (usize, usize)>,
    /// How many entries name a group.
    group_uses: BTreeMap<GroupId, usize>,
    /// Changes with members and groups.
    revision: Revision,
}

impl ActionProfile {
    /// An empty profile.
    #[must_use]
    pub fn new(name: String, with_selector: bool, size: Option<usize>) -> Self {
        Self {
            name,
            with_selector,
            size,
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            rows: SlotMap::default(),
            picks: SlotMap::default(),
            member_uses: BTreeMap::new(),
            group_uses: BTreeMap::new(),
            revision: Revision::new(),
        }
    }

    /// The most members, if the program says.
    #[must_use]
    pub const fn size(&self) -> Option<usize> {
        self.size
    }

    /// The members in rising order.
    #[must_use]
    pub const fn members(&self) -> &BTreeMap<MemberId, StoredMember> {
        &self.members
    }

    /// The groups in rising order.
    #[must_use]
    pub const fn groups(&self) -> &BTreeMap<GroupId, StoredGroup> {
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

    /// Whether a member may be added.
    ///
    /// # Errors
    /// [`ProfileError`] if the number is taken or there is no room.
    pub fn check_new_member(&self, id: MemberId) -> Result<(), ProfileError> {
        if self.members.contains_key(&id) {
            let profile = self.name.clone();
            return Err(ProfileError::Duplicate {
                profile,
                what: "member",
                id: id.0,
            });
        }
        match self.size {
            Some(size) if self.members.len() >= size => Err(ProfileError::Full {
                profile: self.name.clone(),
                size,
            }),
            _ => Ok(()),
        }
    }

    /// Whether a member exists and neither groups nor entries name it.
    ///
    /// # Errors
    /// [`ProfileError`] that says who does.
    pub fn check_unused_member(&self, id: MemberId) -> Result<(), ProfileError> {
        self.member(id)?;
        let (in_groups, in_entries) = self.member_uses.get(&id).copied().unwrap_or_default();
        if in_groups == 0 && in_entries == 0 {
            return Ok(());
        }
        let holds = |g: &StoredGroup| g.members.iter().any(|m| m.member == id);
        let holder = self.groups.iter().find(|(_, g)| holds(g));
        Err(self.in_use("member", id.0, in_entries, holder.map(|(group, _)| group.0)))
    }

    /// Whether a group may be added.
    ///
    /// # Errors
    /// [`ProfileError`] if the number is taken, or as [`ActionProfile::make_group`].
    pub fn check_new_group(&self, id: GroupId) -> Result<(), ProfileError> {
        if self.groups.contains_key(&id) {
            let profile = self.name.clone();
            return Err(ProfileError::Duplicate {
                profile,
                what: "group",
                id: id.0,
            });
        }
        Ok(())
    }

    /// Whether a group exists and no entry names it.
    ///
    /// # Errors
    /// [`ProfileError`] if not.
    pub fn check_unused_group(&self, id: GroupId) -> Result<(), ProfileError> {
        self.group(id)?;
        match self.group_uses.get(&id) {
            Some(count) => Err(self.in_use("group", id.0, *count, None)),
            None => Ok(()),
        }
    }

    fn in_use(
        &self,
        what: &'static str,
        id: u32,
        entries: usize,
        group: Option<u32>,
    ) -> ProfileError {
        ProfileError::InUse {
            profile: self.name.clone(),
            what,
            id,
            user: match group {
                Some(group) => format!("group {group}"),
                None => format!("{entries} table entries"),
            },
        }
    }

    /// A group of these members, in rising order.
    ///
    /// # Errors
    /// [`ProfileError`] if there is no selector, a member is unknown, or the weights are bad.
    pub fn make_group(
        &self,
        id: GroupId,
        mut members: Vec<GroupMember>,
    ) -> Result<StoredGroup, ProfileError> {
        if !self.with_selector {
            return Err(ProfileError::NoSelector {
                profile: self.name.clone(),
            });
        }
        members.sort_by_key(|m| m.member);
        let mut seen = BTreeSet::new();
        for m in &members {
            self.member(m.member)?;
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
        Ok(StoredGroup { members })
    }

    /// Puts a member in place of the old one (or none) and returns that.
    pub(crate) fn put_member(
        &mut self,
        id: MemberId,
        member: Option<StoredMember>,
    ) -> Option<StoredMember> {
        self.revision = Revision::new();
        match member {
            Some(member) => {
                self.rows.put(id.0, member.row.as_slice().into());
                self.members.insert(id, member)
            }
            None => {
                self.rows.remove(id.0);
                self.members.remove(&id)
            }
        }
    }

    /// Puts a group in place of the old one (or none) and returns that.
    pub(crate) fn put_group(
        &mut self,
        id: GroupId,
        group: Option<StoredGroup>,
    ) -> Option<StoredGroup> {
        self.revision = Revision::new();
        for member in group.iter().flat_map(|g| &g.members) {
            self.member_uses.entry(member.member).or_default().0 += 1;
        }
        let old = match group {
            Some(group) => {
                self.picks.put(id.0, self.picks_of(&group));
                self.groups.insert(id, group)
            }
            None => {
                self.picks.remove(id.0);
                self.groups.remove(&id)
            }
        };
        for member in old.iter().flat_map(|g| &g.members) {
            if let Some(uses) = self.member_uses.get_mut(&member.member) {
                uses.0 -= 1;
                if *uses == (0, 0) {
                    self.member_uses.remove(&member.member);
                }
            }
        }
        old
    }

    /// A group for packets. Its members exist, and none goes while a group names it.
    fn picks_of(&self, group: &StoredGroup) -> Picks {
        let members = group.members.iter();
        let place = |m: &GroupMember| self.rows.place(m.member.0).unwrap_or(u32::MAX);
        Picks {
            choice: Choice::new(members.clone().map(|m| (m.weight, m.watch_port))),
            members: members.map(|m| (m.member, place(m))).collect(),
        }
    }

    /// Counts an entry that names a member, or one less.
    pub(crate) fn count_member(&mut self, id: MemberId, more: bool) {
        let uses = self.member_uses.entry(id).or_default();
        uses.1 = if more {
            uses.1 + 1
        } else {
            uses.1.saturating_sub(1)
        };
        if *uses == (0, 0) {
            self.member_uses.remove(&id);
        }
    }

    /// Counts an entry that names a group, or one less.
    pub(crate) fn count_group(&mut self, id: GroupId, more: bool) {
        let uses = self.group_uses.entry(id).or_default();
        *uses = if more {
            *uses + 1
        } else {
            uses.saturating_sub(1)
        };
        if *uses == 0 {
            self.group_uses.remove(&id);
        }
    }

    /// A member.
    ///
    /// # Errors
    /// [`ProfileError::NoMember`].
    pub fn member(&self, id: MemberId) -> Result<&StoredMember, ProfileError> {
        self.members.get(&id).ok_or_else(|| self.no_member(id))
    }

    /// A group.
    ///
    /// # Errors
    /// [`ProfileError::NoGroup`].
    pub fn group(&self, id: GroupId) -> Result<&StoredGroup, ProfileError> {
        self.groups.get(&id).ok_or_else(|| self.no_group(id))
    }

    /// The row of a member's action.
    #[must_use]
    pub fn member_row(&self, id: MemberId) -> Option<&[u64]> {
        self.rows.get(id.0).map(|row| &**row)
    }

    /// The member that a hash value picks from a group, and its row; `None` if the group is
    /// unknown or has no live member. Allocates nothing.
    #[must_use]
    pub fn pick_row(&self, id: GroupId, hash: u64, ports: &PortSet) -> Option<(MemberId, &[u64])> {
        let group = self.picks.get(id.0)?;
        let (member, place) = group.members[group.choice.pick(hash, ports)?];
        Some((member, self.rows.at(place)?))
    }

    /// The rows of the live members of a group in their order, each with its weight; none if there
    /// is no such group.
    pub(crate) fn group_rows<'a>(
        &'a self,
        id: GroupId,
        ports: &'a PortSet,
    ) -> impl Iterator<Item = (u32, &'a [u64])> {
        self.picks.get(id.0).into_iter().flat_map(|group| {
            let live = group.choice.live(ports);
            live.filter_map(|(index, weight)| {
                let (_, place) = group.members[index];
                Some((weight, &**self.rows.at(place)?))
            })
        })
    }

    /// What packets pick depends on this, the hash and the ports alone.
    #[inline]
    pub(crate) const fn revision(&self) -> Revision {
        self.revision
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
            profile.put_member(
                MemberId(m),
                Some(StoredMember::new(call, vec![u64::from(m)])),
            );
        }
        profile
    }

    fn put(profile: &mut ActionProfile, id: u32, members: Vec<GroupMember>) {
        let group = profile.make_group(GroupId(id), members).unwrap();
        profile.put_group(GroupId(id), Some(group));
    }

    fn member(id: u32, weight: u32, port: Option<u16>) -> GroupMember {
        GroupMember {
            member: MemberId(id),
            weight,
            watch_port: port.map(PortId::new),
        }
    }

    fn pick(profile: &ActionProfile, group: u32, hash: u64, ports: &PortSet) -> Option<u32> {
        let (member, row) = profile.pick_row(GroupId(group), hash, ports)?;
        assert_eq!(row, [u64::from(member.0)]);
        Some(member.0)
    }

    #[test]
    fn members_are_picked_in_rising_order_by_the_remainder() {
        let mut p = profile(4);
        let members = vec![member(3, 1, None), member(0, 1, None), member(2, 1, None)];
        put(&mut p, 1, members);
        let picks: Vec<_> = (0..6)
            .map(|h| pick(&p, 1, h, &PortSet::default()))
            .collect();
        assert_eq!(picks, [0, 2, 3, 0, 2, 3].map(Some));
    }

    #[test]
    fn weights_are_shares_and_dead_ports_leave_the_group() {
        let mut p = profile(2);
        put(
            &mut p,
            7,
            vec![member(0, 3, Some(1)), member(1, 1, Some(2))],
        );
        let count = |ports: &PortSet| {
            let picks = (0..400).map(|h| pick(&p, 7, h, ports));
            picks.filter(|m| *m == Some(0)).count()
        };
        let mut ports = PortSet::default();
        assert_eq!(count(&ports), 300);
        ports.set_up(PortId::new(1), false);
        assert_eq!(count(&ports), 0);
        assert_eq!(pick(&p, 7, 0, &ports), Some(1));
        ports.set_up(PortId::new(2), false);
        assert_eq!(pick(&p, 7, 0, &ports), None, "nobody lives");
        ports.set_up(PortId::new(1), true);
        assert_eq!(count(&ports), 400);
        assert_eq!(ports.down().collect::<Vec<_>>(), [PortId::new(2)]);
    }

    #[test]
    fn what_is_in_use_stays() {
        let mut p = profile(1);
        put(&mut p, 1, vec![member(0, 1, None)]);
        let error = p.check_unused_member(MemberId(0)).unwrap_err();
        assert!(error.to_string().contains("in use by group 1"), "{error}");
        put(&mut p, 1, vec![]);
        assert_eq!(pick(&p, 1, 0, &PortSet::default()), None);
        p.count_group(GroupId(1), true);
        let error = p.check_unused_group(GroupId(1)).unwrap_err();
        assert!(error.to_string().contains("1 table entries"), "{error}");
        p.count_group(GroupId(1), false);
        p.check_unused_group(GroupId(1)).unwrap();
        p.check_unused_member(MemberId(0)).unwrap();
        p.put_member(MemberId(0), None);
        let lost = p.make_group(GroupId(1), vec![member(0, 1, None)]);
        assert!(matches!(
            lost,
            Err(ProfileError::NoMember { member: 0, .. })
        ));
        let plain = ActionProfile::new("plain".into(), false, None);
        assert!(matches!(
            plain.make_group(GroupId(1), vec![]),
            Err(ProfileError::NoSelector { .. })
        ));
    }
}

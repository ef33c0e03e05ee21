//! Groups of equal next hops, of one switch.

use super::{ForwardAction, NextHop, SwitchForwarding};
use crate::{Ipv4Prefix, Ipv6Prefix};

/// Groups of equal next hops by number. A large network's switches have hundreds each, so that all
/// lie in one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HopGroups {
    hops: Vec<NextHop>,
    /// Where the hops of every group end.
    ends: Vec<u32>,
}

impl HopGroups {
    /// Adds a group.
    pub fn push(&mut self, hops: impl IntoIterator<Item = NextHop>) {
        self.hops.extend(hops);
        self.ends.push(number(self.hops.len()));
    }

    /// Number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The next hops of a group; nothing if there is none of this number.
    #[must_use]
    pub fn get(&self, group: u32) -> Option<&[NextHop]> {
        let end = |at: usize| self.ends.get(at).map(|&end| end as usize);
        let at = group as usize;
        let start = at.checked_sub(1).map_or(Some(0), end)?;
        self.hops.get(start..end(at)?)
    }

    /// The next hops of all groups, by number.
    pub fn iter(&self) -> impl Iterator<Item = &[NextHop]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let hops = &self.hops[start..end as usize];
            start = end as usize;
            hops
        })
    }
}

impl FromIterator<Vec<NextHop>> for HopGroups {
    fn from_iter<T: IntoIterator<Item = Vec<NextHop>>>(groups: T) -> Self {
        let mut all = Self::default();
        for hops in groups {
            all.push(hops);
        }
        all
    }
}

/// A count as a number: a switch has at most as many next hops as ports times destinations, and
/// entries of more than 32 bits nowhere.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The places of the bits that are set, rising.
pub(super) fn places(mask: u64) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let place = rest.trailing_zeros();
        let some = rest != 0;
        rest &= rest.wrapping_sub(1);
        some.then_some(place)
    })
}

/// A group under construction.
#[derive(Clone, Copy, Debug)]
enum Draft {
    /// Those next hops of the switch whose places' bits are set.
    Places(u64),
    /// Those that are listed, from one number to another.
    Listed(u32, u32),
}

/// Groups of next hops under construction. None comes twice: each is of other arcs, or of another
/// host.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    /// Next hops of the switch.
    own: &'a [NextHop],
    drafts: Vec<Draft>,
    listed: Vec<NextHop>,
}

impl<'a> Groups<'a> {
    /// No group yet, of a switch with these next hops.
    pub(super) const fn new(own: &'a [NextHop]) -> Self {
        Self {
            own,
            drafts: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// The number of one more group; an empty one discards.
    pub(super) fn add(&mut self, hops: impl IntoIterator<Item = NextHop>) -> ForwardAction {
        let start = number(self.listed.len());
        self.listed.extend(hops);
        let end = number(self.listed.len());
        match start == end {
            true => ForwardAction::Discard,
            false => self.draft(Draft::Listed(start, end)),
        }
    }

    /// The same of the switch's next hops whose places' bits are set.
    pub(super) fn add_places(&mut self, mask: u64) -> ForwardAction {
        match mask {
            0 => ForwardAction::Discard,
            mask => self.draft(Draft::Places(mask)),
        }
    }

    fn draft(&mut self, draft: Draft) -> ForwardAction {
        self.drafts.push(draft);
        ForwardAction::Group(number(self.drafts.len() - 1))
    }

    /// The groups that entries use, numbered anew in the order of first use.
    pub(super) fn compact(
        self,
        mut ipv4: Vec<(Ipv4Prefix, ForwardAction)>,
        mut ipv6: Vec<(Ipv6Prefix, ForwardAction)>,
    ) -> SwitchForwarding {
        let mut numbering = Numbering {
            numbers: vec![UNUSED; self.drafts.len()],
            groups: HopGroups {
                hops: Vec::with_capacity(self.drafts.len()),
                ends: Vec::with_capacity(self.drafts.len()),
            },
            old: self,
        };
        numbering.number(&mut ipv4);
        numbering.number(&mut ipv6);
        let mut groups = numbering.groups;
        groups.hops.shrink_to_fit();
        SwitchForwarding { groups, ipv4, ipv6 }
    }
}

/// Groups that are numbered anew.
struct Numbering<'a> {
    old: Groups<'a>,
    /// By old number: the new one, or [`UNUSED`].
    numbers: Vec<u32>,
    groups: HopGroups,
}

/// A group that no entry uses yet.
const UNUSED: u32 = u32::MAX;

impl Numbering<'_> {
    /// Has entries name the groups by their new numbers.
    fn number<P>(&mut self, entries: &mut [(P, ForwardAction)]) {
        for (_, action) in entries {
            if let ForwardAction::Group(group) = action {
                if self.numbers[*group as usize] == UNUSED {
                    self.add(*group);
                }
                *group = self.numbers[*group as usize];
            }
        }
    }

    fn add(&mut self, group: u32) {
        let Groups {
            own,
            drafts,
            listed,
        } = &self.old;
        let groups = &mut self.groups;
        self.numbers[group as usize] = number(groups.ends.len());
        match drafts[group as usize] {
            Draft::Places(mask) => {
                let hops = places(mask).map(|place| own[place as usize]);
                groups.hops.extend(hops);
            }
            Draft::Listed(start, end) => {
                let hops = &listed[start as usize..end as usize];
                groups.hops.extend_from_slice(hops);
            }
        }
        groups.ends.push(number(groups.hops.len()));
    }
}

#[cfg(test)]
mod tests {
    use quantities::PortId;

    use super::*;

    fn hop(port: u16) -> NextHop {
        NextHop {
            port: PortId::new(port),
            mac: [0; 6],
        }
    }

    #[test]
    fn groups_are_found_by_number_and_in_order() {
        let rows = [vec![hop(1), hop(2)], vec![], vec![hop(3)]];
        let groups: HopGroups = rows.iter().cloned().collect();
        assert_eq!(groups.iter().collect::<Vec<_>>(), rows);
        let by_number = (0..4).map(|group| groups.get(group).map(<[NextHop]>::to_vec));
        let [a, b, c] = rows.map(Some);
        assert_eq!(by_number.collect::<Vec<_>>(), [a, b, c, None]);
        assert!(HopGroups::default().is_empty() && groups.len() == 3);
    }

    #[test]
    fn groups_that_no_entry_uses_go() {
        let own = [hop(4), hop(3)];
        let mut groups = Groups::new(&own);
        assert_eq!(groups.add([]), ForwardAction::Discard);
        assert_eq!(groups.add_places(0), ForwardAction::Discard);
        let [_, b] = [1, 2].map(|port| groups.add([hop(port)]));
        let c = groups.add_places(0b10);
        let all4 = Ipv4Prefix::new(std::net::Ipv4Addr::UNSPECIFIED, 0);
        let all6 = Ipv6Prefix::new(std::net::Ipv6Addr::UNSPECIFIED, 0);
        let v4 = [c, b, c].map(|action| (all4, action));
        let v6 = [b, c, ForwardAction::Discard].map(|action| (all6, action));
        let table = groups.compact(v4.to_vec(), v6.to_vec());
        let ports = table.groups.iter().map(|group| group[0].port.get());
        assert_eq!(ports.collect::<Vec<_>>(), [3, 2]);
        let named = |action: &ForwardAction| match action {
            ForwardAction::Group(group) => Some(*group),
            ForwardAction::Discard => None,
        };
        let v4 = table.ipv4.iter().map(|(_, action)| named(action));
        assert_eq!(v4.collect::<Vec<_>>(), [Some(0), Some(1), Some(0)]);
        let v6 = table.ipv6.iter().map(|(_, action)| named(action));
        assert_eq!(v6.collect::<Vec<_>>(), [Some(1), Some(0), None]);
    }
}

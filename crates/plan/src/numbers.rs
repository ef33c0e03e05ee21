//! The numbers that stand for tags: their codes in the packet and their priorities.
//!
//! An operator may choose any of them. The others follow a convention, which avoids numbers that
//! standards give another meaning:
//!
//! - A DSCP: first 26, with which RoCE is sent by convention, then 28 and 30 of the same assured
//!   forwarding class (RFC 2597), then the code points for experimental and local use, which end in
//!   `11` (RFC 2474 section 6). So these stay free: the class selectors 8, 16, ..., 56 (RFC 2474),
//!   of which 48 also marks congestion notification packets, 46 (expedited forwarding, RFC 3246),
//!   44 (VOICE-ADMIT, RFC 5865), 1 (lower effort, RFC 8622), and the other assured forwarding
//!   classes.
//! - A priority: first 3 and 4, then 2; 5 (voice), 1 (background), 6 and 7 (control) are the last,
//!   and 0 is the lossy one. The names are those of IEEE 802.1Q, Annex I.
//! - An 802.1Q priority code point: the priority itself, as IEEE 802.1Qbb has it.
//! - A VLAN identifier and our own header: 1, 2, 3 and so on.

use std::collections::{BTreeMap, BTreeSet};

use quantities::Priority;

use super::carrier::{Carrier, CarrierKind, TagCode};
use super::tag::Tag;

/// DSCPs in the order in which tags take them.
const USUAL_DSCPS: [u16; 19] = [
    26, 28, 30, 27, 31, 35, 39, 43, 47, 51, 55, 59, 63, 11, 15, 19, 23, 7, 3,
];

/// Priorities in the order in which tags take them.
const USUAL_PRIORITIES: [u8; 7] = [3, 4, 2, 5, 1, 6, 7];

/// The DSCPs in the order in which tags and classes take them by convention, each once. After the
/// last DSCP the numbers go on, so that tags without a DSCP are found by their codes.
pub fn usual_dscps() -> impl Iterator<Item = u16> {
    let rest = (1..=u16::MAX).filter(|code| !USUAL_DSCPS.contains(code));
    USUAL_DSCPS.into_iter().chain(rest)
}

/// The codes of a carrier in the order in which tags take them by convention, each once. They go on
/// beyond the greatest code of the carrier.
pub fn usual_codes(kind: CarrierKind) -> Box<dyn Iterator<Item = u16>> {
    match kind {
        CarrierKind::Dscp => Box::new(usual_dscps()),
        CarrierKind::VlanPcp => Box::new(usual_priorities().map(|code| code.get().into())),
        CarrierKind::VlanVid | CarrierKind::Shim => Box::new(1..=u16::MAX),
    }
}

/// The priorities in the order in which tags take them by convention, each once. After the last
/// priority the numbers go on.
pub fn usual_priorities() -> impl Iterator<Item = Priority> {
    let rest = (1..=u8::MAX).filter(|priority| !USUAL_PRIORITIES.contains(priority));
    USUAL_PRIORITIES.into_iter().chain(rest).map(Priority::new)
}

/// The numbers that an operator chooses for tags, in the order of the tags. Tags beyond the end of
/// a list take numbers by convention.
///
/// Without class bits the class at position `n` begins with the tag at position `n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagNumbers {
    /// Codes in the carrier.
    pub codes: Vec<TagCode>,
    /// Lossless priorities.
    pub priorities: Vec<Priority>,
}

impl TagNumbers {
    /// The priority of each tag, in the order of `tags`. In the field of IEEE 802.1Q priorities a
    /// code that is chosen is the priority too, unless another one is chosen.
    #[must_use]
    pub fn priorities(&self, kind: CarrierKind, tags: &[Tag]) -> BTreeMap<Tag, Priority> {
        let own = match kind {
            CarrierKind::VlanPcp if self.priorities.is_empty() => self
                .codes
                .iter()
                .filter_map(|code| u8::try_from(code.get()).ok().map(Priority::new))
                .collect(),
            _ => self.priorities.clone(),
        };
        let all = chosen_then(&own, usual_priorities());
        tags.iter().copied().zip(all).collect()
    }

    /// The carrier with a code for each tag; lossy packets have code 0. With `classes` packets
    /// carry the number of their class above the tag. Where the codes by convention leave no room
    /// for that, codes that are not chosen count from 1.
    #[must_use]
    pub fn carrier(&self, kind: CarrierKind, tags: &[Tag], classes: Option<usize>) -> Carrier {
        let counted = || (1..=u16::MAX).map(TagCode::new);
        let order: Vec<TagCode> = match kind {
            CarrierKind::VlanPcp => {
                let priorities = self.priorities(kind, tags).into_values();
                let own = priorities.skip(self.codes.len());
                let own = own.map(|priority| u16::from(priority.get()));
                let rest = usual_codes(kind).take(tags.len() * 2);
                own.chain(rest).map(TagCode::new).collect()
            }
            kind => usual_codes(kind)
                .map(TagCode::new)
                .take(tags.len() * 2)
                .collect(),
        };
        let usual = self.with_codes(kind, tags, order.into_iter(), classes.is_some());
        match classes {
            Some(classes) if !usual.has_room_for(classes) => {
                self.with_codes(kind, tags, counted(), true)
            }
            _ => usual,
        }
    }

    fn with_codes(
        &self,
        kind: CarrierKind,
        tags: &[Tag],
        order: impl Iterator<Item = TagCode>,
        class_bits: bool,
    ) -> Carrier {
        let codes = chosen_then(&self.codes, order);
        Carrier::coded(kind, tags.iter().copied().zip(codes).collect(), class_bits)
    }
}

/// The chosen numbers, then those of `order` that are not among them, each once.
fn chosen_then<T: Copy + Ord>(
    chosen: &[T],
    order: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let mut taken: BTreeSet<T> = chosen.iter().copied().collect();
    let rest = order.filter(move |number| taken.insert(*number));
    chosen.iter().copied().chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(count: u8) -> Vec<Tag> {
        (1..=count).map(Tag::new).collect()
    }

    fn codes(carrier: &Carrier) -> Vec<u16> {
        carrier.codes.values().map(|code| code.get()).collect()
    }

    fn chosen(codes: &[u16], priorities: &[u8]) -> TagNumbers {
        TagNumbers {
            codes: codes.iter().copied().map(TagCode::new).collect(),
            priorities: priorities.iter().copied().map(Priority::new).collect(),
        }
    }

    fn priorities(numbers: &TagNumbers, kind: CarrierKind, count: u8) -> Vec<u8> {
        let all = numbers.priorities(kind, &tags(count));
        all.values().map(|priority| priority.get()).collect()
    }

    #[test]
    fn tags_take_no_code_that_a_standard_gives_another_meaning() {
        let numbers = TagNumbers::default();
        let carrier = numbers.carrier(CarrierKind::Dscp, &tags(19), None);
        let taken: BTreeSet<u16> = codes(&carrier).into_iter().collect();
        assert_eq!(taken.len(), 19);
        // RFC 2474, RFC 3246, RFC 5865, RFC 8622, and RFC 2597 without its class 3.
        let selectors = (0..64).step_by(8);
        let assured = [10, 12, 14, 18, 20, 22, 34, 36, 38];
        for other in selectors.chain([46, 44, 1]).chain(assured) {
            assert!(!taken.contains(&other), "{other}");
        }
        assert_eq!(codes(&carrier)[..3], [26, 28, 30]);
        assert_eq!(
            priorities(&numbers, CarrierKind::Dscp, 7),
            [3, 4, 2, 5, 1, 6, 7]
        );
    }

    #[test]
    fn there_is_a_number_for_every_tag_that_can_be_counted() {
        for kind in CarrierKind::ALL {
            let carrier = TagNumbers::default().carrier(*kind, &tags(254), None);
            let distinct: BTreeSet<u16> = codes(&carrier).into_iter().collect();
            assert_eq!(distinct.len(), 254, "{kind:?}");
            assert!(!distinct.contains(&0));
        }
        let all = priorities(&TagNumbers::default(), CarrierKind::Dscp, 254);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 254);
    }

    #[test]
    fn what_is_not_chosen_follows_the_convention() {
        let some = chosen(&[28], &[4]);
        let carrier = some.carrier(CarrierKind::Dscp, &tags(3), None);
        assert_eq!(codes(&carrier), [28, 26, 30]);
        assert_eq!(priorities(&some, CarrierKind::Dscp, 3), [4, 3, 2]);
        let shim = chosen(&[2], &[]).carrier(CarrierKind::Shim, &tags(3), None);
        assert_eq!(codes(&shim), [2, 1, 3]);
    }

    #[test]
    fn a_priority_code_point_is_the_priority() {
        let kind = CarrierKind::VlanPcp;
        for (numbers, both) in [
            (TagNumbers::default(), [3, 4, 2]),
            (chosen(&[], &[5, 6]), [5, 6, 3]),
            (chosen(&[4], &[]), [4, 3, 2]),
        ] {
            let carrier = numbers.carrier(kind, &tags(3), None);
            assert_eq!(codes(&carrier), both.map(u16::from), "{numbers:?}");
            assert_eq!(priorities(&numbers, kind, 3), both, "{numbers:?}");
        }
        let apart = chosen(&[4], &[3, 4]);
        assert_eq!(codes(&apart.carrier(kind, &tags(2), None)), [4, 3]);
    }

    #[test]
    fn classes_stand_above_the_code() {
        let numbers = TagNumbers::default();
        let two = numbers.carrier(CarrierKind::Dscp, &tags(3), Some(2));
        assert_eq!((codes(&two), two.class_shift), (vec![26, 28, 30], Some(5)));
        let three = numbers.carrier(CarrierKind::Dscp, &tags(3), Some(3));
        assert_eq!((codes(&three), three.class_shift), (vec![1, 2, 3], Some(2)));
        let own = chosen(&[5], &[]).carrier(CarrierKind::Dscp, &tags(3), Some(8));
        assert_eq!((codes(&own), own.class_shift), (vec![5, 1, 2], Some(3)));
    }
}

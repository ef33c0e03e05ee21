//! Which masks of a tuple space are searched under one mask.
//!
//! Masks are taken in falling order of their entries; each joins the group with which it has the
//! most bits in common, if those are enough to tell the entries of both apart, and else begins a
//! group of its own.

/// The most tuples.
pub(super) const MAX_TUPLES: usize = 1024;

/// Masks searched under the bits they all have.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) mask: Box<[u64]>,
    pub(super) members: Vec<Box<[u64]>>,
    places: usize,
}

/// Ones of a mask.
pub(super) fn ones(mask: &[u64]) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
}

/// What [`tells_apart`] demands while masks are few.
pub(super) const STRICT: u64 = 1024;

/// Whether so many bits tell so many entries apart: `demand` sixteenths of a value per entry.
pub(super) const fn tells_apart(bits: u32, places: usize, demand: u64) -> bool {
    bits >= 59 || (1u64 << bits) * 16 >= (places as u64).saturating_mul(demand)
}

fn common(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// The groups of masks that come with their numbers of places, the most first. With many masks the
/// demands sink, for then every tuple saved is worth more comparisons.
pub(super) fn groups(masks: &[(usize, Box<[u64]>)]) -> Vec<Group> {
    let demand = match masks.len() {
        0..=4096 => STRICT,
        4097..=8192 => STRICT / 16,
        _ => STRICT / 1024,
    };
    let most = if masks.len() > 8192 {
        MAX_TUPLES / 4
    } else {
        MAX_TUPLES
    };
    let mut groups: Vec<Group> = Vec::new();
    for (places, mask) in masks {
        let full = groups.len() >= most;
        let mut best: Option<(u32, usize)> = None;
        for (index, group) in groups.iter().enumerate() {
            let bits = common(&group.mask, mask);
            let fits = full || tells_apart(bits, group.places + places, demand);
            if fits && best.is_none_or(|(top, _)| bits > top) {
                best = Some((bits, index));
            }
        }
        match best {
            Some((_, index)) => join(&mut groups[index], *places, mask),
            None => groups.push(Group {
                mask: mask.clone(),
                members: vec![mask.clone()],
                places: *places,
            }),
        }
    }
    groups
}

fn join(group: &mut Group, places: usize, mask: &[u64]) {
    for (own, word) in group.mask.iter_mut().zip(mask) {
        *own &= word;
    }
    group.members.push(mask.into());
    group.places += places;
}

/// Cuts a group in two: the masks with more bits, and those with fewer.
pub(super) fn halve(group: &Group) -> [Option<Group>; 2] {
    let mut members = group.members.clone();
    members.sort_by_key(|mask| std::cmp::Reverse(ones(mask)));
    let fewer = members.split_off(members.len().div_ceil(2));
    [members, fewer].map(|members| {
        let mut masks = members.iter();
        let first = masks.next()?;
        let mut half = Group {
            mask: first.clone(),
            members: vec![first.clone()],
            // Only counted while groups are formed.
            places: 0,
        };
        masks.for_each(|mask| join(&mut half, 0, mask));
        Some(half)
    })
}

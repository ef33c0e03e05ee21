//! A map from numbers that the control plane chose to items in slots, which are found by one hash
//! and do not move: who looks often remembers the slot.

use std::collections::BTreeMap;
use std::fmt;

use super::hash::{HashIndex, hash_words};

/// See the module documentation.
#[derive(Clone)]
pub(super) struct SlotMap<T> {
    index: HashIndex,
    places: Vec<Option<(u32, T)>>,
    free: Vec<u32>,
}

/// Items by number; slots and spare capacity are left out.
impl<T: fmt::Debug> fmt::Debug for SlotMap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: BTreeMap<u32, &T> = self
            .places
            .iter()
            .flatten()
            .map(|(id, item)| (*id, item))
            .collect();
        f.debug_map().entries(items).finish()
    }
}

impl<T> Default for SlotMap<T> {
    fn default() -> Self {
        Self {
            index: HashIndex::default(),
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

fn hash(id: u32) -> u32 {
    hash_words(&[u64::from(id)])
}

impl<T> SlotMap<T> {
    /// The place of a number.
    #[inline]
    pub(super) fn place(&self, id: u32) -> Option<u32> {
        let is = |at: u32| matches!(&self.places[at as usize], Some((known, _)) if *known == id);
        self.index.get(hash(id), is)
    }

    /// What lies in a place.
    #[inline]
    pub(super) fn at(&self, place: u32) -> Option<&T> {
        self.places
            .get(place as usize)?
            .as_ref()
            .map(|(_, item)| item)
    }

    /// What lies under a number.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.at(self.place(id)?)
    }

    /// Puts a thing under a number, in the place of the old one if there is one.
    pub(super) fn put(&mut self, id: u32, item: T) {
        if let Some(place) = self.place(id) {
            self.places[place as usize] = Some((id, item));
            return;
        }
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        if place as usize == self.places.len() {
            self.places.push(None);
        }
        self.places[place as usize] = Some((id, item));
        self.index.insert(hash(id), place);
    }

    /// Frees the place of a number.
    pub(super) fn remove(&mut self, id: u32) {
        let Some(place) = self.place(id) else { return };
        if let Some(at) = self.index.find(hash(id), |p| p == place) {
            self.index.remove_at(at);
        }
        self.places[place as usize] = None;
        self.free.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_shelf_is_a_map_with_steady_places(steps in proptest::collection::vec((any::<bool>(), 0u32..20, any::<u8>()), 1..200)) {
            let mut shelf = SlotMap::default();
            let mut model: BTreeMap<u32, (u8, u32)> = BTreeMap::new();
            for (put, id, item) in steps {
                if put {
                    shelf.put(id, item);
                    let place = shelf.place(id).unwrap();
                    let (_, first) = *model.entry(id).or_insert((item, place));
                    prop_assert_eq!(first, place);
                    model.insert(id, (item, place));
                } else {
                    shelf.remove(id);
                    model.remove(&id);
                }
                for id in 0..20 {
                    prop_assert_eq!(shelf.get(id), model.get(&id).map(|(item, _)| item));
                }
            }
        }
    }
}

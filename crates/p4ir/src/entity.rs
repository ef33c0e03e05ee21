//! Typed handles and the arenas they index. `Display` of a handle is its name in the text form.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// An index newtype into one arena.
pub trait Entity: Copy + Eq + Ord + std::hash::Hash + fmt::Display {
    /// The handle of the `index`-th entity.
    fn new(index: usize) -> Self;
    /// Position in the arena.
    fn index(self) -> usize;
}

macro_rules! entity {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(u32);

        impl Entity for $name {
            fn new(index: usize) -> Self {
                Self(index as u32)
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

entity! {
    /// A type of [`crate::Program::types`].
    TypeId = "t";
    /// An expression.
    ExprId = "e";
    /// A variable: storage.
    VarId = "v";
    /// An action.
    ActionId = "act";
    /// A function.
    FunctionId = "fn";
    /// A table.
    TableId = "tbl";
    /// A parser instance.
    ParserId = "prs";
    /// A parser state.
    StateId = "st";
    /// A control instance.
    ControlId = "ctl";
    /// A parser value set.
    ValueSetId = "vs";
    /// An extern instance.
    ExternId = "ext";
}

/// A vector indexed by its own handle type. Entities are only ever added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "V: Serialize", deserialize = "V: Deserialize<'de>"))]
pub struct Arena<K, V> {
    items: Vec<V>,
    #[serde(skip)]
    key: PhantomData<K>,
}

impl<K, V> Default for Arena<K, V> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            key: PhantomData,
        }
    }
}

impl<K: Entity, V> Arena<K, V> {
    /// Adds an entity and returns its handle.
    pub fn push(&mut self, item: V) -> K {
        self.items.push(item);
        K::new(self.items.len() - 1)
    }

    /// The entity, or `None` when the handle is not of this arena.
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Handles and entities in order of creation.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (K, &V)> + DoubleEndedIterator {
        self.items.iter().enumerate().map(|(i, v)| (K::new(i), v))
    }

    /// Handles and entities in order of creation, to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (K, &mut V)> {
        self.items
            .iter_mut()
            .enumerate()
            .map(|(i, v)| (K::new(i), v))
    }

    /// Entities in order of creation.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }

    /// Handles in order of creation.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::new)
    }
}

impl<K: Entity, V> Index<K> for Arena<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for Arena<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

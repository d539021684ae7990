//! How parts of a volume group refer to each other: by position, not by pointer or name.
//!
//! An id is the slot of a volume in its group's list. Slots are never reused while the group is
//! in memory, so an id stays valid while other volumes come, go, and change their names. An id
//! means nothing in another group, or in another reading of the same text.
//!
//! Costs: a removed volume leaves an empty slot until the text is read again.

use alloc::vec::Vec;

/// A logical volume of one volume group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LvId(u32);

/// A physical volume of one volume group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PvId(u32);

/// What serves as the index of a [`Slots`].
pub(crate) trait Id: Copy {
    fn new(index: usize) -> Self;
    fn slot(self) -> usize;
}

impl LvId {
    /// The slot, for tables of a caller that hold something for each volume.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PvId {
    /// The slot, for tables of a caller that hold something for each volume.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Id for LvId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a text holds fewer volumes than that"))
    }

    fn slot(self) -> usize {
        self.index()
    }
}

impl Id for PvId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a text holds fewer volumes than that"))
    }

    fn slot(self) -> usize {
        self.index()
    }
}

/// A list whose items keep their index when others are removed.
#[derive(Debug, Clone)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
}

// Not derived: that would ask for `T: Default`.
impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(crate) fn add<I: Id>(&mut self, item: T) -> I {
        self.slots.push(Some(item));
        debug_assert!(u32::try_from(self.slots.len()).is_ok(), "ids have 32 bits");
        I::new(self.slots.len() - 1)
    }

    pub(crate) fn get<I: Id>(&self, id: I) -> Option<&T> {
        self.slots.get(id.slot())?.as_ref()
    }

    pub(crate) fn get_mut<I: Id>(&mut self, id: I) -> Option<&mut T> {
        self.slots.get_mut(id.slot())?.as_mut()
    }

    pub(crate) fn remove<I: Id>(&mut self, id: I) -> Option<T> {
        self.slots.get_mut(id.slot())?.take()
    }

    /// Slots in use and not: the length of a table indexed by slot.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    pub(crate) fn iter<I: Id>(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| Some((I::new(index), slot.as_ref()?)))
    }
}

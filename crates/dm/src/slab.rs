//! Things that go on, by a number that they keep until they end.

/// Things by their number; numbers are used again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    idle: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            idle: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, thing: T) -> usize {
        if let Some(id) = self.idle.pop() {
            assert!(self.slots[id].is_none(), "an idle number names nothing");
            self.slots[id] = Some(thing);
            return id;
        }
        self.slots.push(Some(thing));
        self.slots.len() - 1
    }

    pub(crate) fn get(&self, id: usize) -> &T {
        self.slots[id].as_ref().expect("it goes on")
    }

    pub(crate) fn get_mut(&mut self, id: usize) -> &mut T {
        self.slots[id].as_mut().expect("it goes on")
    }

    pub(crate) fn remove(&mut self, id: usize) -> T {
        let thing = self.slots[id].take().expect("it goes on");
        self.idle.push(id);
        thing
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.len() == self.idle.len()
    }

    /// All that still go on.
    pub(crate) fn into_things(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().flatten()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    #[cfg(any(test, feature = "explore"))]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// What is always so.
    pub(crate) fn check(&self) {
        let used = self.iter().count();
        assert_eq!(
            used + self.idle.len(),
            self.slots.len(),
            "each number is used or idle"
        );
    }
}

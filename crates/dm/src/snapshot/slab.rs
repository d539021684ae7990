//! Things that go on, by a number that they keep until they end.

/// Things by their number; numbers are used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
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
    pub(super) fn insert(&mut self, thing: T) -> usize {
        if let Some(id) = self.idle.pop() {
            assert!(self.slots[id].is_none(), "an idle number names nothing");
            self.slots[id] = Some(thing);
            return id;
        }
        self.slots.push(Some(thing));
        self.slots.len() - 1
    }

    pub(super) fn get(&self, id: usize) -> &T {
        self.slots[id].as_ref().expect("it goes on")
    }

    pub(super) fn get_mut(&mut self, id: usize) -> &mut T {
        self.slots[id].as_mut().expect("it goes on")
    }

    pub(super) fn remove(&mut self, id: usize) -> T {
        self.idle.push(id);
        self.slots[id].take().expect("it goes on")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.idle.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// What is always so.
    pub(super) fn check(&self) {
        let used = self.iter().count();
        assert_eq!(
            used + self.idle.len(),
            self.slots.len(),
            "each number is used or idle"
        );
    }
}

//! The page cache: which blocks are in memory, and which of them may go.
//!
//! ```text
//!   first use ──► inactive ──(used again)──► active
//!                    │  ▲                      │
//!        evicted ◄───┘  └──(too many active)───┘
//! ```
//!
//! Two lists, as the kernel has them: what is used twice becomes active, and active pages go back
//! when they are more than the inactive ones. Pages of files and buffers of metadata live in the
//! same lists. A page that is dirty, under way or held by the log is passed over.
//!
//! A page is known by its block: without delayed allocation each page of a file has its block from
//! the moment it is written. Does not model: mapped pages, swapping, memory of inodes and names.

const NONE: u32 = u32::MAX;

/// Whose pages those of the device itself are: metadata.
pub(super) const DEVICE: u32 = 0;

/// A page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// Its block.
    pub(super) block: u32,
    /// Its file; [`DEVICE`] for metadata.
    pub(super) inode: u32,
    /// Which page of the file.
    pub(super) index: u32,
    /// To be written in its place.
    pub(super) dirty: bool,
    /// On its way to the device.
    pub(super) writing: bool,
    /// On its way from the device.
    pub(super) reading: bool,
    /// In the running transaction (metadata).
    pub(super) running: bool,
    /// In the transaction that is being committed (metadata).
    pub(super) committing: bool,
    /// Freed while it was being committed.
    pub(super) forgotten: bool,
    /// Of data: the transaction that must not commit before it is written. Of metadata: the one
    /// whose place in the log is needed until it is written. 0 is none.
    pub(super) transaction: u32,
    referenced: bool,
    active: bool,
    before: u32,
    behind: u32,
}

impl Page {
    /// Whether memory cannot be taken from it now.
    fn held(&self) -> bool {
        self.dirty
            || self.writing
            || self.reading
            || self.running
            || self.committing
            || (self.inode == DEVICE && self.transaction != 0)
    }
}

/// A list of slots, newest first.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
    len: usize,
}

impl List {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        len: 0,
    };
}

/// The cache.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    /// Slot of each block.
    slots: Vec<u32>,
    pages: Vec<Page>,
    free: Vec<u32>,
    /// Inactive, active.
    lists: [List; 2],
    capacity: usize,
    dirty: usize,
    writing: usize,
}

impl Cache {
    /// An empty cache of `capacity` pages for a device of so many blocks.
    pub(super) fn new(blocks: u32, capacity: usize) -> Self {
        Self {
            slots: vec![NONE; blocks as usize],
            pages: Vec::new(),
            free: Vec::new(),
            lists: [List::EMPTY; 2],
            capacity,
            dirty: 0,
            writing: 0,
        }
    }

    /// The page of a block.
    pub(super) fn get(&self, block: u32) -> Option<&Page> {
        self.pages.get(self.slots[block as usize] as usize)
    }

    /// The page of a block, to change what does not count pages.
    pub(super) fn get_mut(&mut self, block: u32) -> Option<&mut Page> {
        self.pages.get_mut(self.slots[block as usize] as usize)
    }

    /// Pages held.
    pub(super) fn len(&self) -> usize {
        self.lists[0].len + self.lists[1].len
    }

    /// Whether a page can be inserted.
    pub(super) fn has_room(&self) -> bool {
        self.len() < self.capacity
    }

    /// Pages that may be held.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Dirty pages.
    pub(super) fn dirty(&self) -> usize {
        self.dirty
    }

    /// Pages on their way to the device.
    pub(super) fn writing(&self) -> usize {
        self.writing
    }

    /// Whether a block is in memory, and its contents too.
    pub(super) fn is_ready(&self, block: u32) -> bool {
        self.get(block).is_some_and(|page| !page.reading)
    }

    /// Whether a block is on its way to the device.
    pub(super) fn is_writing(&self, block: u32) -> bool {
        self.get(block).is_some_and(|page| page.writing)
    }

    /// A page for a block that has none; there is room.
    pub(super) fn insert(&mut self, block: u32, inode: u32, index: u32) {
        assert!(self.has_room(), "room is made before a page is inserted");
        assert_eq!(self.slots[block as usize], NONE, "a block has one page");
        let page = Page {
            block,
            inode,
            index,
            dirty: false,
            writing: false,
            reading: false,
            running: false,
            committing: false,
            forgotten: false,
            transaction: 0,
            referenced: false,
            active: false,
            before: NONE,
            behind: NONE,
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.pages[slot as usize] = page;
            slot
        } else {
            self.pages.push(page);
            self.pages.len() as u32 - 1
        };
        self.slots[block as usize] = slot;
        self.link(slot);
    }

    /// Forgets the page of a block.
    pub(super) fn remove(&mut self, block: u32) {
        self.set_dirty(block, false);
        self.set_writing(block, false);
        let slot = std::mem::replace(&mut self.slots[block as usize], NONE);
        self.unlink(slot);
        self.free.push(slot);
    }

    /// Notes that a page was used.
    pub(super) fn touch(&mut self, block: u32) {
        let slot = self.slots[block as usize];
        let page = &mut self.pages[slot as usize];
        if !page.active && page.referenced {
            self.unlink(slot);
            let page = &mut self.pages[slot as usize];
            (page.active, page.referenced) = (true, false);
            self.link(slot);
        } else {
            page.referenced = true;
        }
    }

    /// Sets or clears the mark of a page that is in memory.
    pub(super) fn set_dirty(&mut self, block: u32, dirty: bool) {
        let page = &mut self.pages[self.slots[block as usize] as usize];
        self.dirty = self.dirty + usize::from(dirty) - usize::from(page.dirty);
        page.dirty = dirty;
    }

    /// Sets or clears the mark of a page that is in memory.
    pub(super) fn set_writing(&mut self, block: u32, writing: bool) {
        let page = &mut self.pages[self.slots[block as usize] as usize];
        self.writing = self.writing + usize::from(writing) - usize::from(page.writing);
        page.writing = writing;
    }

    /// Takes memory from the page that was used longest ago; fails if all are held.
    pub(super) fn evict(&mut self) -> bool {
        for _ in 0..2 * self.len() {
            if self.lists[1].len > self.lists[0].len {
                self.move_to(self.lists[1].last, false);
            }
            let slot = self.lists[0].last;
            if slot == NONE {
                return false;
            }
            let page = self.pages[slot as usize];
            if page.held() {
                self.move_to(slot, false);
            } else {
                self.remove(page.block);
                return true;
            }
        }
        false
    }

    fn move_to(&mut self, slot: u32, active: bool) {
        self.unlink(slot);
        let page = &mut self.pages[slot as usize];
        (page.active, page.referenced) = (active, false);
        self.link(slot);
    }

    /// Puts a slot in front of its list.
    fn link(&mut self, slot: u32) {
        let list = &mut self.lists[usize::from(self.pages[slot as usize].active)];
        let second = std::mem::replace(&mut list.first, slot);
        list.len += 1;
        if second == NONE {
            list.last = slot;
        } else {
            self.pages[second as usize].before = slot;
        }
        let page = &mut self.pages[slot as usize];
        (page.before, page.behind) = (NONE, second);
    }

    fn unlink(&mut self, slot: u32) {
        let Page {
            before,
            behind,
            active,
            ..
        } = self.pages[slot as usize];
        let list = &mut self.lists[usize::from(active)];
        list.len -= 1;
        if before == NONE {
            list.first = behind;
        }
        if behind == NONE {
            list.last = before;
        }
        if before != NONE {
            self.pages[before as usize].behind = behind;
        }
        if behind != NONE {
            self.pages[behind as usize].before = before;
        }
    }

    /// What must always hold; takes as long as there are pages.
    pub(super) fn check(&self) {
        assert!(self.len() <= self.capacity, "no more pages than memory");
        let mut counts = (0, 0, 0);
        for (active, list) in self.lists.iter().enumerate() {
            let (mut slot, mut before) = (list.first, NONE);
            while slot != NONE {
                let page = &self.pages[slot as usize];
                assert_eq!(page.before, before, "a list reads the same both ways");
                assert_eq!(usize::from(page.active), active, "a page knows its list");
                assert_eq!(
                    self.slots[page.block as usize], slot,
                    "a block has its page"
                );
                counts.0 += 1;
                counts.1 += usize::from(page.dirty);
                counts.2 += usize::from(page.writing);
                before = slot;
                slot = page.behind;
            }
            assert_eq!(list.last, before, "a list ends where it says");
        }
        assert_eq!(counts, (self.len(), self.dirty, self.writing), "counts");
    }
}

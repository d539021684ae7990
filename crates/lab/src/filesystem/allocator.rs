//! Which blocks and inodes are free, and which of them is taken next: as ext3 takes them.
//!
//! Blocks: a file that is written has a *reservation window*, a range that no other file's window
//! may overlap, from its goal on and with at least one free block in it. Its blocks come from its
//! window, the goal first. A window starts with 8 blocks; when it is left and more than half of it
//! was used, the next is twice as long. Other groups are tried in their order after the goal's.
//!
//! A block that is freed stays untouched until the transaction that freed it is committed: until
//! then a crash would bring the old owner back.
//!
//! Inodes: those of files in the group of their directory, else where a hash of the directory says,
//! else anywhere; directories of the root in the group with the fewest directories among those
//! better than the average (Orlov, without its debts), others near their parent; before 2.6 each in
//! the emptiest group.

use std::collections::BTreeMap;

use super::bits::Bits;
use super::geometry::{FIRST, Geometry, ROOT};
use super::options::Spread;

/// Blocks of a file's first window.
const WINDOW_MIN: u32 = 8;
/// Blocks of a window at most.
const WINDOW_MAX: u32 = 1027;

/// A file's reservation: blocks that others keep away from while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    start: u32,
    /// The block after its last; `start` if there is none.
    end: u32,
    size: u32,
    hits: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            start: 0,
            end: 0,
            size: WINDOW_MIN,
            hits: 0,
        }
    }
}

/// Free and used.
#[derive(Debug, Clone)]
pub(super) struct Allocator {
    used: Bits,
    /// Freed by a transaction that is not committed.
    withheld: Bits,
    /// Free blocks of each group, those withheld included.
    free: Vec<u32>,
    inodes: Bits,
    free_inodes: Vec<u32>,
    directories: Vec<u32>,
    /// Windows of files that are written: first block, block after the last.
    windows: BTreeMap<u32, u32>,
}

impl Allocator {
    /// A new file system: only what the layout needs is used.
    pub(super) fn new(geometry: &Geometry) -> Self {
        let mut allocator = Self {
            used: Bits::none(geometry.blocks),
            withheld: Bits::none(geometry.blocks),
            free: Vec::new(),
            inodes: Bits::none(geometry.inodes()),
            free_inodes: vec![geometry.inodes_per_group; geometry.groups as usize],
            directories: vec![0; geometry.groups as usize],
            windows: BTreeMap::new(),
        };
        for group in 0..geometry.groups {
            let (start, end) = (geometry.start(group), geometry.end(group));
            allocator.free.push(end - start);
            for block in geometry.fixed(group) {
                allocator.take(geometry, block);
            }
        }
        for inode in 1..FIRST {
            allocator.take_inode(geometry, inode);
        }
        allocator.directories[0] = 1;
        allocator
    }

    /// Marks a free block as used.
    pub(super) fn take(&mut self, geometry: &Geometry, block: u32) {
        assert!(self.used.insert(block), "a block has one owner");
        self.free[geometry.group_of(block) as usize] -= 1;
    }

    /// Frees a block, to be used again at once or only after [`Self::release`].
    pub(super) fn free(&mut self, geometry: &Geometry, block: u32, withhold: bool) {
        assert!(self.used.remove(block), "only a used block is freed");
        self.free[geometry.group_of(block) as usize] += 1;
        if withhold {
            self.withheld.insert(block);
        }
    }

    /// Lets a freed block be used again.
    pub(super) fn release(&mut self, block: u32) {
        self.withheld.remove(block);
    }

    /// Free blocks, those withheld included.
    pub(super) fn free_blocks(&self) -> u64 {
        self.free.iter().map(|&free| u64::from(free)).sum()
    }

    /// Free inodes.
    pub(super) fn free_inodes(&self) -> u64 {
        self.free_inodes.iter().map(|&free| u64::from(free)).sum()
    }

    /// Ends a file's reservation.
    pub(super) fn discard(&mut self, window: &mut Window) {
        if window.start < window.end {
            self.windows.remove(&window.start);
        }
        (window.start, window.end, window.hits) = (0, 0, 0);
    }

    /// Takes a block at the goal or as near behind it as can be; none if all are used.
    pub(super) fn allocate(
        &mut self,
        geometry: &Geometry,
        goal: u32,
        window: &mut Window,
    ) -> Option<u32> {
        let first = geometry.group_of(goal);
        for strict in [true, false] {
            for step in 0..geometry.groups {
                let group = (first + step) % geometry.groups;
                let free = self.free[group as usize];
                if free == 0 || (strict && step > 0 && free <= window.size / 2) {
                    continue;
                }
                let from = if step == 0 {
                    goal
                } else {
                    geometry.start(group)
                };
                if let Some(block) = self.allocate_in(geometry, group, from, window) {
                    self.take(geometry, block);
                    window.hits += 1;
                    return Some(block);
                }
            }
            // The goal was past the group's free blocks: once around, from its start.
            let start = geometry.start(first);
            if let Some(block) = self.allocate_in(geometry, first, start, window) {
                self.take(geometry, block);
                window.hits += 1;
                return Some(block);
            }
        }
        None
    }

    /// A free block of the group from `from` on, inside the window, which moves if it must.
    fn allocate_in(
        &mut self,
        geometry: &Geometry,
        group: u32,
        from: u32,
        window: &mut Window,
    ) -> Option<u32> {
        let end = geometry.end(group);
        if (window.start..window.end).contains(&from) {
            let last = window.end.min(end);
            if let Some(block) = self.used.next_clear(&self.withheld, from, last) {
                return Some(block);
            }
            let start = window.start.max(geometry.start(group));
            if let Some(block) = self.used.next_clear(&self.withheld, start, last) {
                return Some(block);
            }
        }
        self.reserve(from, end, window)?;
        let last = window.end.min(end);
        let start = window.start.max(from);
        self.used.next_clear(&self.withheld, start, last)
    }

    /// Moves the window to the first gap between other windows from `from` on that has a free block
    /// before `end`; none if there is none.
    fn reserve(&mut self, from: u32, end: u32, window: &mut Window) -> Option<()> {
        if window.start < window.end && window.hits > (window.end - window.start) / 2 {
            window.size = (window.size * 2).min(WINDOW_MAX);
        }
        self.discard(window);
        let mut from = from;
        loop {
            let free = self.used.next_clear(&self.withheld, from, end)?;
            // The gap that the wanted range can begin in.
            let mut start = from;
            loop {
                let before = self.windows.range(..=start).next_back();
                if let Some((_, &past)) = before.filter(|(_, past)| **past > start) {
                    start = past;
                    continue;
                }
                match self.windows.range(start..).next() {
                    Some((&next, &past)) if next < start + window.size => start = past,
                    _ => break,
                }
            }
            if start >= end {
                return None;
            }
            let past = start + window.size;
            if (start..past).contains(&free) {
                (window.start, window.end) = (start, past);
                self.windows.insert(start, past);
                return Some(());
            }
            from = free.max(start);
        }
    }

    /// Marks a free inode as used.
    pub(super) fn take_inode(&mut self, geometry: &Geometry, inode: u32) {
        assert!(self.inodes.insert(inode - 1), "an inode has one owner");
        self.free_inodes[geometry.group_of_inode(inode) as usize] -= 1;
    }

    /// Frees an inode.
    pub(super) fn free_inode(&mut self, geometry: &Geometry, inode: u32, directory: bool) {
        assert!(self.inodes.remove(inode - 1), "only a used inode is freed");
        let group = geometry.group_of_inode(inode) as usize;
        self.free_inodes[group] += 1;
        self.directories[group] -= u32::from(directory);
    }

    /// Whether another inode of the same block of the table is used.
    pub(super) fn has_neighbours(&self, geometry: &Geometry, inode: u32) -> bool {
        let per_block = geometry.inodes_per_block;
        let first = (inode - 1) / per_block * per_block;
        (first..first + per_block).any(|other| other != inode - 1 && self.inodes.has(other))
    }

    /// Takes an inode for a file in the directory `parent`.
    pub(super) fn allocate_file(&mut self, geometry: &Geometry, parent: u32) -> Option<u32> {
        let group = self.group_of_file(geometry, parent)?;
        self.allocate_inode(geometry, group)
    }

    /// Takes an inode for a directory in the directory `parent`.
    pub(super) fn allocate_directory(
        &mut self,
        geometry: &Geometry,
        parent: u32,
        spread: Spread,
    ) -> Option<u32> {
        let group = match spread {
            Spread::Orlov => self.group_of_directory(geometry, parent)?,
            Spread::Emptiest => self.emptiest_group(geometry)?,
        };
        self.directories[group as usize] += 1;
        self.allocate_inode(geometry, group)
    }

    fn allocate_inode(&mut self, geometry: &Geometry, group: u32) -> Option<u32> {
        let start = group * geometry.inodes_per_group;
        let bit = self
            .inodes
            .next_clear(&self.inodes, start, start + geometry.inodes_per_group)?;
        self.take_inode(geometry, bit + 1);
        Some(bit + 1)
    }

    fn group_of_file(&self, geometry: &Geometry, parent: u32) -> Option<u32> {
        let groups = geometry.groups;
        let home = geometry.group_of_inode(parent);
        let fits =
            |group: u32| self.free_inodes[group as usize] > 0 && self.free[group as usize] > 0;
        if fits(home) {
            return Some(home);
        }
        let mut group = (home + parent) % groups;
        let mut step = 1;
        while step < groups {
            group = (group + step) % groups;
            if fits(group) {
                return Some(group);
            }
            step *= 2;
        }
        let mut others = (1..=groups).map(|step| (home + step) % groups);
        others.find(|&group| self.free_inodes[group as usize] > 0)
    }

    fn group_of_directory(&self, geometry: &Geometry, parent: u32) -> Option<u32> {
        let groups = u64::from(geometry.groups);
        let (inodes, blocks) = (self.free_inodes() / groups, self.free_blocks() / groups);
        let home = geometry.group_of_inode(parent);
        let mut near = (0..geometry.groups).map(|step| (home + step) % geometry.groups);
        let better = |group: u32| {
            let (free_inodes, free) = (self.free_inodes[group as usize], self.free[group as usize]);
            free_inodes > 0 && u64::from(free_inodes) >= inodes && u64::from(free) >= blocks
        };
        let best = if parent == ROOT {
            near.clone()
                .filter(|&group| better(group))
                .min_by_key(|&group| self.directories[group as usize])
        } else {
            let quarter = u64::from(geometry.inodes_per_group / 4);
            near.clone().find(|&group| {
                let free_inodes = u64::from(self.free_inodes[group as usize]);
                let free = u64::from(self.free[group as usize]);
                free_inodes > 0 && free_inodes + quarter >= inodes && free + 8192 >= blocks
            })
        };
        best.or_else(|| near.find(|&group| self.free_inodes[group as usize] > 0))
    }

    /// The group with the most free blocks of those with inodes enough; the first of several.
    fn emptiest_group(&self, geometry: &Geometry) -> Option<u32> {
        let average = self.free_inodes() / u64::from(geometry.groups);
        let groups = (0..geometry.groups).rev().filter(|&group| {
            let free = self.free_inodes[group as usize];
            free > 0 && u64::from(free) >= average
        });
        groups.max_by_key(|&group| self.free[group as usize])
    }

    /// Whether a block is used.
    pub(super) fn is_used(&self, block: u32) -> bool {
        self.used.has(block)
    }
}

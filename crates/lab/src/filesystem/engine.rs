//! The file system as a whole, and its clock.
//!
//! One caller makes calls, one after the other; the kernel's threads work beside it: the log's
//! commits, the writing back. A call takes the processor's time and waits where the kernel would
//! wait; while time passes, answers come in and the threads go on.
//!
//! ```text
//!   settle   until nothing moves: answers ─► commit ─► write back ─► requests to the device
//!   wait     settle, look at the clock of device and timers, go there, settle, …
//! ```
//!
//! Whatever happens at one moment happens in this order, so a run is the same every time.

use std::collections::{BTreeMap, BTreeSet};

use super::account::Account;
use super::allocator::Allocator;
use super::cache::{Cache, DEVICE};
use super::directory::Directory;
use super::geometry::{FIRST, Geometry, LOG, RESIZE, ROOT};
use super::inode::{self, Inode, Inodes};
use super::journal::Journal;
use super::options::{BLOCK, Journaling, LogPlace, Options};
use super::queue::{Purpose, Queue, Request};
use super::writeback::WriteBack;
use crate::component::Component;
use crate::disk::drive::{Model, Operation, Spent};
use crate::error::{Error, Kind, Result};

/// Blocks of the directory `lost+found`.
const LOST_BLOCKS: u32 = 4;
/// Turns in which nothing but the clock's hands may fail to move.
const TURNS_MAX: u32 = 1_000_000;

/// For what the caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// For blocks of this class.
    Component(Component),
    /// For others' requests to be done: whatever the device serves.
    Served,
}

/// A file system on a device, and the kernel that serves it, in virtual time.
#[derive(Debug)]
pub struct FileSystem {
    pub(super) options: Options,
    pub(super) geometry: Geometry,
    pub(super) allocator: Allocator,
    pub(super) inodes: Inodes,
    pub(super) directories: BTreeMap<u32, Directory>,
    pub(super) cache: Cache,
    pub(super) journal: Journal,
    pub(super) writeback: WriteBack,
    pub(super) queue: Queue,
    pub(super) account: Account,
    pub(super) now_ns: u64,
    /// What the blocks are that files, directories and the log have.
    pub(super) directory_blocks: BTreeSet<u32>,
    device: Box<dyn Model>,
}

impl FileSystem {
    /// A new file system on `device`, mounted at time 0 with nothing in memory but the superblock
    /// and the descriptors. Fails if the device cannot hold it.
    pub fn new(device: Box<dyn Model>, options: Options) -> Result<Self> {
        let geometry = Geometry::new(device.blocks() * 512, &options)?;
        let pages = (options.memory_bytes / BLOCK) as usize;
        if pages < 1024 {
            let what = "a kernel needs some memory for its cache: 4 MiB at least";
            return Err(Error::new(Kind::Impossible, what));
        }
        let mut system = Self {
            allocator: Allocator::new(&geometry),
            inodes: Inodes::default(),
            directories: BTreeMap::new(),
            cache: Cache::new(geometry.blocks, pages),
            journal: Journal::default(),
            writeback: WriteBack::new(options.wakeup_ns),
            queue: Queue::new(options.queue, options.request_bytes),
            account: Account::default(),
            now_ns: 0,
            directory_blocks: BTreeSet::new(),
            device,
            geometry,
            options,
        };
        system.make_directories();
        if system.options.journaling == Journaling::Ordered {
            system.make_log()?;
        }
        for block in 0..=system.geometry.descriptor_blocks {
            system.cache.insert(block, DEVICE, block);
        }
        Ok(system)
    }

    fn make_directories(&mut self) {
        self.inodes.insert(DEVICE, Inode::default());
        for (number, blocks) in [(ROOT, 1), (FIRST, LOST_BLOCKS)] {
            let mut inode = Inode {
                directory: true,
                size: u64::from(blocks) * BLOCK,
                ..Inode::default()
            };
            for _ in 0..blocks {
                let mut window = inode.window;
                let found = self.allocator.allocate(&self.geometry, 0, &mut window);
                let block = found.expect("a new file system has room for its directories");
                self.allocator.discard(&mut window);
                self.directory_blocks.insert(block);
                inode.blocks.push(block);
            }
            self.inodes.insert(number, inode);
            let directory = Directory::new(blocks, self.options.index);
            self.directories.insert(number, directory);
        }
        self.allocator.take_inode(&self.geometry, FIRST);
        // The file that holds the reserved descriptors: its list is a block of its own.
        let mut resize = Inode::default();
        let mut window = resize.window;
        let found = self.allocator.allocate(&self.geometry, 0, &mut window);
        self.allocator.discard(&mut window);
        resize.set_indirect(1, found.expect("a new file system has room"));
        self.inodes.insert(RESIZE, resize);
        let root = self.directories.get_mut(&ROOT).expect("the root");
        root.insert("lost+found", FIRST)
            .expect("a new directory has room");
    }

    /// Takes the blocks of the log one after the other, with those that list them.
    fn make_log(&mut self) -> Result<()> {
        let size = self.options.log_blocks;
        if size < 1024 || u64::from(size) > self.allocator.free_blocks() / 2 {
            let what = format!("a log of {size} blocks: 1,024 at least, half of the rest at most");
            return Err(Error::new(Kind::Impossible, what));
        }
        let mut block = match self.options.log_place {
            LogPlace::Middle => self.geometry.start(self.geometry.groups / 2),
            LogPlace::Start => 0,
        };
        let mut take = |allocator: &mut Allocator| {
            while allocator.is_used(block) {
                block = (block + 1) % self.geometry.blocks;
            }
            allocator.take(&self.geometry, block);
            block
        };
        let mut log = Inode {
            size: u64::from(size) * BLOCK,
            ..Inode::default()
        };
        for page in 0..size {
            for slot in inode::path(page) {
                if log.indirect(slot).is_none() {
                    log.set_indirect(slot, take(&mut self.allocator));
                }
            }
            log.blocks.push(take(&mut self.allocator));
        }
        self.journal = Journal::new(&log.blocks);
        self.inodes.insert(LOG, log);
        Ok(())
    }

    /// Where everything of the fixed layout is.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What it is, and its kernel.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Nanoseconds since it was mounted.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// What was done until now; its sums are those of the time.
    pub fn account(&self) -> Account {
        let mut account = self.account;
        account.elapsed_ns = self.now_ns;
        self.queue.settle(self.now_ns, &mut account);
        account.spent = self.spent();
        account
    }

    /// Where the device's time went until now, as far as the device knows: lookups, heads.
    pub fn spent(&self) -> Spent {
        let mut spent = Spent::default();
        self.device.account(&mut spent);
        spent
    }

    /// The caller computes.
    pub(super) fn compute(&mut self, time_ns: u64) {
        self.account.processor_ns += time_ns;
        let until_ns = self.now_ns + time_ns;
        while let Some(next_ns) = self.next_event().filter(|&next_ns| next_ns <= until_ns) {
            self.now_ns = self.now_ns.max(next_ns);
            self.settle();
        }
        self.now_ns = until_ns;
    }

    /// Lets time pass in which the caller does nothing; the account calls it computing.
    pub fn sleep(&mut self, time_ns: u64) {
        self.compute(time_ns);
        self.settle();
    }

    /// The caller waits until `done`.
    pub(super) fn wait(&mut self, blame: Blame, done: impl Fn(&Self) -> bool) {
        self.settle();
        let mut turns = 0;
        while !done(self) {
            let next_ns = self.next_event().expect("what is waited for is under way");
            let before_ns = self.now_ns;
            self.now_ns = self.now_ns.max(next_ns);
            self.settle();
            let class = match blame {
                Blame::Component(class) => class,
                Blame::Served => self.queue.served(),
            };
            self.account.class_mut(class).waited_ns += self.now_ns - before_ns;
            turns = if self.now_ns == before_ns {
                turns + 1
            } else {
                0
            };
            assert!(turns < TURNS_MAX, "time goes on");
        }
    }

    fn next_event(&self) -> Option<u64> {
        let events = [
            self.device.wake(),
            self.commit_time(),
            Some(self.writeback.next_ns()),
        ];
        events.into_iter().flatten().min()
    }

    /// Does what can be done now.
    pub(super) fn settle(&mut self) {
        loop {
            let device = &mut *self.device;
            let answered = self.queue.collect(self.now_ns, device, &mut self.account);
            let mut moved = !answered.is_empty();
            for request in answered {
                self.answered(&request);
            }
            moved |= self.run_commit();
            moved |= self.run_writeback();
            let device = &mut *self.device;
            moved |= self.queue.send(self.now_ns, device, &mut self.account);
            if !moved {
                return;
            }
        }
    }

    /// Notes that the blocks of a request are where they should be.
    fn answered(&mut self, request: &Request) {
        if request.class == Component::Journal {
            return;
        }
        for block in request.start..request.start + request.count {
            let Some(page) = self.cache.get_mut(block) else {
                continue;
            };
            if request.operation == Operation::Read {
                page.reading = false;
                continue;
            }
            let metadata = page.inode == DEVICE;
            let clean = !page.dirty && !page.running && !page.committing;
            let was = if metadata && clean {
                std::mem::take(&mut page.transaction)
            } else {
                0
            };
            self.cache.set_writing(block, false);
            if was != 0 {
                self.journal.written(was);
            }
        }
    }

    /// What a block is.
    pub(super) fn class_of(&self, block: u32) -> Component {
        if let Some(class) = self.geometry.class_of(block) {
            return class;
        }
        if self.directory_blocks.contains(&block) {
            return Component::Directory;
        }
        match self.cache.get(block) {
            Some(page) if page.inode != DEVICE => Component::FileData,
            _ => Component::Metadata,
        }
    }

    /// Makes room for a page; waits for writing back if all are held.
    pub(super) fn make_room(&mut self) {
        while !self.cache.has_room() && !self.cache.evict() {
            let writing = self.cache.writing();
            self.writeback.hurry();
            if writing == 0 && self.cache.dirty() == 0 {
                self.request_commit();
            }
            let before = self.account_of_progress();
            self.wait(Blame::Served, |system| {
                system.account_of_progress() != before
            });
        }
    }

    /// Changes whenever a page may have become free to go.
    fn account_of_progress(&self) -> (usize, usize, u32) {
        let cache = &self.cache;
        (cache.writing(), cache.dirty(), self.journal.committed())
    }

    /// Brings a block of metadata into memory.
    pub(super) fn read_metadata(&mut self, block: u32) {
        if self.cache.get(block).is_none() {
            self.make_room();
            self.cache.insert(block, DEVICE, block);
            self.cache.get_mut(block).expect("just inserted").reading = true;
            let class = self.class_of(block);
            self.queue.add(Purpose::Read, Operation::Read, class, block);
        }
        self.cache.touch(block);
        if !self.cache.is_ready(block) {
            let class = self.class_of(block);
            self.wait(Blame::Component(class), |system| {
                system.cache.is_ready(block)
            });
        }
    }

    /// A page for a block of metadata whose old contents nobody needs.
    pub(super) fn new_metadata(&mut self, block: u32) {
        if self.cache.get(block).is_none() {
            self.make_room();
            self.cache.insert(block, DEVICE, block);
        }
        self.cache.touch(block);
    }

    /// What must always hold; takes as long as there are pages and blocks.
    pub fn check(&self) {
        self.cache.check();
        self.account().check();
        let mut owned = BTreeSet::new();
        for (_, inode) in self.inodes.iter() {
            for block in inode.all_blocks() {
                assert!(owned.insert(block), "a block has one owner");
                assert!(self.allocator.is_used(block), "a block of a file is used");
                let fixed = self.geometry.class_of(block);
                assert!(fixed.is_none(), "no file has a block of the layout");
            }
        }
        let fixed: u64 = (0..self.geometry.groups)
            .map(|group| u64::from(self.geometry.overhead(group)))
            .sum();
        assert_eq!(
            fixed + owned.len() as u64 + self.allocator.free_blocks(),
            u64::from(self.geometry.blocks),
            "a block is free or has an owner"
        );
        for directory in self.directories.values() {
            directory.check();
        }
        self.check_journal();
    }

    /// Free blocks and free inodes.
    pub fn free(&self) -> (u64, u64) {
        (self.allocator.free_blocks(), self.allocator.free_inodes())
    }
}

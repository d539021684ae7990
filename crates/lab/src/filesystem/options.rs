//! What a modelled file system and its kernel are: defaults of Linux 2.6.27, each with its source.
//!
//! ```text
//!   dirty ratios 5 and 10 %       mm/page-writeback.c since 2.6.22 (doubled in 2.6.30)
//!   expiry 30 s, wake-up 5 s      the same: dirty_expire_interval, dirty_writeback_interval
//!   commit 5 s, log/4 a batch     JBD_DEFAULT_MAX_COMMIT_AGE, j_max_transaction_buffers
//!   barriers off                  fs/ext3/super.c: barrier=0 unless mounted otherwise
//!   read-ahead 128 KiB            VM_MAX_READAHEAD; mm/readahead.c for how the window grows
//!   request at most 512 KiB       BLK_DEF_MAX_SECTORS; 128 requests: BLKDEV_MAX_RQ
//!   access times kept             relatime became the default in 2.6.30
//!   inode 256 B, one for 16 KiB   mke2fs.conf of e2fsprogs 1.41
//!   log 128 MiB in the middle     e2fsprogs 1.41, from 4 GiB on
//! ```
//!
//! Memory was not stated in the study; it is an option here and its default says nothing about the
//! study's machine. The processor's costs are estimates for a desktop of 2008.

/// Nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// Bytes of a block of the file system, and of a page.
pub const BLOCK: u64 = 4096;

/// Whether a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journaling {
    /// ext3, `data=ordered`: metadata in the log, data before the commit.
    Ordered,
    /// ext2.
    None,
}

/// Whether a commit empties the drive's write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// A flush before the commit record, which is written through.
    On,
    /// None.
    Off,
}

/// How directories are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// From the first block to the last.
    Linear,
    /// By a hash (`dir_index`), once a directory has a second block.
    Tree,
}

/// Whether reading a file changes its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessTime {
    /// At most once a second.
    Kept,
    /// Never.
    Ignored,
}

/// Where a new directory goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// One of the root away from others, any other near its parent: since Linux 2.6.
    Orlov,
    /// Into the emptiest group, wherever its parent is: before.
    Emptiest,
}

/// Where the log lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPlace {
    /// In the middle of the file system.
    Middle,
    /// Behind the first group's tables, where today's mke2fs puts it without `flex_bg`.
    Start,
}

/// What the processor needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// A call of the system, whatever it does.
    pub call_ns: u64,
    /// Copying a page of a file, and its place in the cache.
    pub page_ns: u64,
    /// Finding a place for a block.
    pub allocate_ns: u64,
    /// Making a file or a directory, besides its blocks.
    pub create_ns: u64,
    /// Removing one.
    pub delete_ns: u64,
    /// Looking through a block of a directory.
    pub search_ns: u64,
}

/// A file system to be made, and the kernel that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Log or none.
    pub journaling: Journaling,
    /// Blocks of the log.
    pub log_blocks: u32,
    /// Where it lies.
    pub log_place: LogPlace,
    /// Bytes of file system for which there is an inode.
    pub inode_ratio: u64,
    /// Bytes of an inode.
    pub inode_bytes: u64,
    /// How directories are searched.
    pub index: Index,
    /// Where directories go.
    pub spread: Spread,
    /// Whether reading writes.
    pub access_time: AccessTime,
    /// Flushes or none.
    pub barrier: Barrier,
    /// Memory for the page cache.
    pub memory_bytes: u64,
    /// Percent of it that may be dirty before writing back begins.
    pub background_percent: u64,
    /// Percent that may be dirty or on its way before writers wait.
    pub dirty_percent: u64,
    /// Age at which what is dirty is written.
    pub expire_ns: u64,
    /// How often ages are looked at.
    pub wakeup_ns: u64,
    /// Age at which a transaction is committed.
    pub commit_ns: u64,
    /// Most that is read ahead; 0 switches it off.
    pub read_ahead_bytes: u64,
    /// Requests to write that may be outstanding.
    pub queue: usize,
    /// Bytes of a request at most.
    pub request_bytes: u64,
    /// Blocks of a chunk of the striped volume below, as `mke2fs -E stride=` is told; 0: nothing.
    pub stride: u32,
    /// Number of the process, which spreads the first blocks of files over a group.
    pub process: u32,
    /// What the processor needs.
    pub costs: Costs,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            journaling: Journaling::Ordered,
            log_blocks: 32_768,
            log_place: LogPlace::Middle,
            inode_ratio: 16_384,
            inode_bytes: 256,
            index: Index::Tree,
            spread: Spread::Orlov,
            access_time: AccessTime::Kept,
            barrier: Barrier::Off,
            memory_bytes: 512 << 20,
            background_percent: 5,
            dirty_percent: 10,
            expire_ns: 30 * SECOND_NS,
            wakeup_ns: 5 * SECOND_NS,
            commit_ns: 5 * SECOND_NS,
            read_ahead_bytes: 128 << 10,
            queue: 128,
            request_bytes: 512 << 10,
            stride: 0,
            process: 2000,
            costs: Costs {
                call_ns: 1_000,
                page_ns: 4_000,
                allocate_ns: 2_000,
                create_ns: 20_000,
                delete_ns: 20_000,
                search_ns: 4_000,
            },
        }
    }
}

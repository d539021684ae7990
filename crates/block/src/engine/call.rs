//! One system call on a file, as a value.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, RawFd};

use io_uring::{opcode, squeue, types};
use rustix::io::{ReadWriteFlags, pread, preadv2, pwrite, pwritev2};

/// What the kernel is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read at the offset.
    Read,
    /// Read at the offset what is in the page cache; `EAGAIN` if that is nothing.
    ReadCached,
    /// Write at the offset.
    Write,
    /// Write at the offset; done when durable.
    WriteDurable,
    /// `fallocate` with this mode.
    Allocate(i32),
    /// Tell a block device that the range is not needed (`BLKDISCARD`).
    Discard,
    /// Make the data durable (`fdatasync`).
    SyncData,
}

/// The longest transfer of one call, in bytes: the answer is a signed 32-bit number.
const TRANSFER_MAX: usize = 1 << 30;

/// `BLKDISCARD` of `linux/fs.h`; its argument is a start and a length in bytes.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// One system call with its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    fd: RawFd,
    action: Action,
    offset: u64,
    len: u64,
    memory: *mut u8,
}

// SAFETY: who makes a call promises that its memory and file stay until it is answered, on
// whatever thread it runs.
unsafe impl Send for Call {}

impl Call {
    /// A call that moves data between `memory` and the file.
    ///
    /// # Safety
    /// Until the call was answered, `fd` is open and the `len` bytes at `memory` are valid, and
    /// nobody else touches them (for a write: nobody else writes them).
    pub(crate) unsafe fn transfer(
        fd: RawFd,
        action: Action,
        offset: u64,
        memory: *mut u8,
        len: usize,
    ) -> Self {
        Self {
            fd,
            action,
            offset,
            len: len.min(TRANSFER_MAX) as u64,
            memory,
        }
    }

    /// A call without data.
    ///
    /// # Safety
    /// `fd` is open until the call was answered.
    pub(crate) unsafe fn bare(fd: RawFd, action: Action, offset: u64, len: u64) -> Self {
        debug_assert!(matches!(
            action,
            Action::Allocate(_) | Action::Discard | Action::SyncData
        ));
        Self {
            fd,
            action,
            offset,
            len,
            memory: std::ptr::null_mut(),
        }
    }

    /// The same call, as another action.
    pub(crate) fn with_action(self, action: Action) -> Self {
        let is_bare = matches!(
            action,
            Action::Allocate(_) | Action::Discard | Action::SyncData
        );
        debug_assert_eq!(is_bare, self.memory.is_null(), "a transfer stays one");
        Self { action, ..self }
    }

    /// Does the call on this thread: bytes, or an errno below zero.
    ///
    /// Transfers are made without the C library: in a process with threads it guards each of them
    /// with two atomic operations, so that the thread can be cancelled inside, which nobody does.
    pub(crate) fn run(&self) -> i32 {
        let done = match self.action {
            Action::Read => return number(pread(self.file(), self.bytes(), self.offset)),
            Action::ReadCached => {
                let vector = &mut [IoSliceMut::new(self.bytes())];
                let flags = ReadWriteFlags::NOWAIT;
                return number(preadv2(self.file(), vector, self.offset, flags));
            }
            Action::Write => return number(pwrite(self.file(), self.content(), self.offset)),
            Action::WriteDurable => {
                let vector = &[IoSlice::new(self.content())];
                let flags = ReadWriteFlags::DSYNC;
                return number(pwritev2(self.file(), vector, self.offset, flags));
            }
            Action::Allocate(mode) => self.allocate(mode),
            Action::Discard => self.discard(),
            // SAFETY: fdatasync takes any number; the descriptor is open by the maker's promise.
            Action::SyncData => unsafe { libc::fdatasync(self.fd) as isize },
        };
        if done < 0 {
            let errno = std::io::Error::last_os_error().raw_os_error();
            return -errno.unwrap_or(libc::EIO);
        }
        done as i32
    }

    fn file(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open by the maker's promise.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }

    /// The memory that a read fills.
    #[expect(clippy::mut_from_ref, reason = "a call owns its memory while it runs")]
    fn bytes(&self) -> &mut [u8] {
        debug_assert!(!self.memory.is_null(), "a read has memory");
        // SAFETY: the maker keeps the memory valid, and nobody else touches it until the call is
        // answered; it is used for one read at a time.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.len as usize) }
    }

    /// The memory that a write stores.
    fn content(&self) -> &[u8] {
        debug_assert!(!self.memory.is_null(), "a write has memory");
        // SAFETY: the maker keeps the memory valid and unchanged until the call is answered.
        unsafe { std::slice::from_raw_parts(self.memory, self.len as usize) }
    }

    fn allocate(&self, mode: i32) -> isize {
        let offset = self.offset as libc::off_t;
        let len = self.len as libc::off_t;
        // SAFETY: fallocate takes numbers; the descriptor is open by the maker's promise.
        unsafe { libc::fallocate(self.fd, mode, offset, len) as isize }
    }

    fn discard(&self) -> isize {
        let span = [self.offset, self.len];
        // SAFETY: BLKDISCARD reads two 64-bit numbers from its argument.
        unsafe { libc::ioctl(self.fd, BLKDISCARD, span.as_ptr()) as isize }
    }

    /// The call as an entry of a ring; `None` if the ring cannot do it.
    pub(crate) fn entry(&self) -> Option<squeue::Entry> {
        let fd = types::Fd(self.fd);
        let len = self.len as u32;
        let fits = self.memory.is_null() || self.len <= TRANSFER_MAX as u64;
        debug_assert!(fits, "a transfer's length fits an entry");
        let entry = match self.action {
            Action::Read => opcode::Read::new(fd, self.memory, len)
                .offset(self.offset)
                .build(),
            Action::Write => opcode::Write::new(fd, self.memory, len)
                .offset(self.offset)
                .build(),
            Action::WriteDurable => opcode::Write::new(fd, self.memory, len)
                .offset(self.offset)
                .rw_flags(libc::RWF_DSYNC)
                .build(),
            Action::Allocate(mode) => opcode::Fallocate::new(fd, self.len)
                .offset(self.offset)
                .mode(mode)
                .build(),
            Action::SyncData => opcode::Fsync::new(fd)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            Action::ReadCached | Action::Discard => return None,
        };
        Some(entry)
    }
}

/// What a call came to: bytes, or an errno below zero.
fn number(result: rustix::io::Result<usize>) -> i32 {
    match result {
        Ok(count) => count as i32,
        Err(errno) => -errno.raw_os_error(),
    }
}

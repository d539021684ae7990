//! From a request to calls: what to ask the kernel next, and what its answer means.
//!
//! ```text
//!   read, write      Transfer ─▶ …rest… ─▶ [Sync]
//!   write zeroes     Punch ─▶ ZeroRange ─▶ Fill ─▶ [Sync]     each only if the one before
//!   discard          Discard                                  is not to be had
//!   flush            Sync
//! ```
//!
//! The file system is asked for what it may not do, once; [`Lacks`] remembers the refusals for
//! all queues of the file. Zeros are written as data only when nothing else is left, because that
//! allocates. A discard that is refused is done: it is advice.

use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::fs::SeekFrom;

use super::device::Shared;
use super::probe::Backing;
use crate::engine::{Action, Call};
use crate::{Buffer, Completion, Durability, Error, Kind, Operation, Request, Result, Unmap};

/// Zeros are written in pieces of this many bytes.
const FILL_PIECE: usize = 1 << 20;

const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
const ZERO_RANGE: i32 = libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE;

/// Something that a file may not do.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Ability {
    DurableWrite = 1,
    Punch = 2,
    ZeroRange = 4,
    Discard = 8,
}

/// What a file has refused to do, and what it lost.
#[derive(Debug)]
pub(super) struct Lacks {
    abilities: AtomicU8,
    /// Where the file ended when it was seen to have been truncated; what is behind is lost.
    end: AtomicU64,
}

impl Default for Lacks {
    fn default() -> Self {
        Self {
            abilities: AtomicU8::new(0),
            end: AtomicU64::new(u64::MAX),
        }
    }
}

impl Lacks {
    fn has(&self, ability: Ability) -> bool {
        self.abilities.load(Ordering::Relaxed) & ability as u8 == 0
    }

    fn remember(&self, ability: Ability) {
        self.abilities.fetch_or(ability as u8, Ordering::Relaxed);
    }

    /// Remembers that a file which had `size` bytes ends at byte `end`.
    fn notice_end(&self, end: u64, size: u64) {
        if end < size {
            self.end.fetch_min(end, Ordering::Relaxed);
        }
    }

    fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Transfer,
    Punch,
    ZeroRange,
    Fill,
    Discard,
    Sync,
}

/// What an answer of the kernel leads to.
#[derive(Debug)]
pub(super) enum Next {
    /// Another call.
    Call,
    /// The end.
    Finished(Result<()>),
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Task {
    request: Request,
    step: Step,
    /// Bytes of the present step that are done.
    done: u64,
    /// Stands in for the request's buffer where that is not aligned.
    bounce: Option<Buffer>,
}

impl Task {
    pub(super) fn new(request: Request, shared: &Shared) -> Self {
        let step = match request.operation {
            Operation::Read | Operation::Write => Step::Transfer,
            Operation::WriteZeroes(Unmap::Allowed) if shared.lacks.has(Ability::Punch) => {
                Step::Punch
            }
            Operation::WriteZeroes(_) if shared.lacks.has(Ability::ZeroRange) => Step::ZeroRange,
            Operation::WriteZeroes(_) => Step::Fill,
            Operation::Discard => Step::Discard,
            Operation::Flush => Step::Sync,
        };
        let has_buffer = matches!(request.operation, Operation::Read | Operation::Write);
        debug_assert!(
            has_buffer || request.buffer.is_empty(),
            "only transfers have a buffer"
        );
        let address = request.buffer.as_ptr() as usize;
        // A power of two.
        let misaligned = address & (shared.memory_align - 1) != 0;
        let bounce = misaligned.then(|| {
            let mut aligned = shared.bounce.get(request.buffer.len());
            debug_assert_eq!(aligned.len(), request.buffer.len(), "a bounce is as long");
            if request.operation == Operation::Write {
                aligned.copy_from_slice(&request.buffer);
            }
            aligned
        });
        Self {
            request,
            step,
            done: 0,
            bounce,
        }
    }

    /// The answer.
    pub(super) fn complete(self, result: Result<()>) -> Completion {
        self.request.complete(result)
    }

    /// Whether the next call reads the file.
    pub(super) fn reads(&self) -> bool {
        self.request.operation == Operation::Read
    }

    /// The result without any call, if there is nothing to ask the kernel for.
    pub(super) fn done_at_once(&self, shared: &Shared) -> bool {
        self.step == Step::Discard
            && (shared.info.discard_granularity == 0 || !shared.lacks.has(Ability::Discard))
    }

    /// Why nothing is asked at all: the range lies behind the end of a file that was truncated.
    ///
    /// A write there would make the file longer again, and what was lost in between would be read
    /// as zeros, without a word. So the end is looked for before each write, which costs a tenth of
    /// a microsecond; a file that is truncated between the look and the write still grows. What was
    /// once seen to be lost stays lost until the file is opened again, also for reads.
    pub(super) fn lost(&self, shared: &Shared) -> Option<Error> {
        if shared.backing != Backing::File {
            return None;
        }
        let writes = matches!(
            self.request.operation,
            Operation::Write | Operation::WriteZeroes(_)
        );
        if writes && let Ok(end) = rustix::fs::seek(&shared.file, SeekFrom::End(0)) {
            shared.lacks.notice_end(end, shared.info.size);
        }
        let end = shared.lacks.end();
        let touches = self.reads() || writes;
        (touches && self.request.range.end() > end).then(|| truncated(shared, end))
    }

    /// What to ask the kernel. The call must be answered before this task or `shared` goes.
    pub(super) fn call(&mut self, shared: &Shared) -> Call {
        let fd = shared.file.as_raw_fd();
        let action = self.action(shared);
        debug_assert!(
            self.done <= self.request.range.len(),
            "no more is done than was asked"
        );
        let (offset, left) = (
            self.request.range.start() + self.done,
            self.request.range.len() - self.done,
        );
        match self.step {
            Step::Transfer => {
                let buffer = self.bounce.as_mut().unwrap_or(&mut self.request.buffer);
                let (from, len) = (self.done as usize, buffer.len() - self.done as usize);
                let memory = if matches!(action, Action::Read) {
                    buffer[from..].as_mut_ptr()
                } else {
                    // What is written may be lent to others, and is only read.
                    buffer[from..].as_ptr().cast_mut()
                };
                // SAFETY: the task owns the buffer, touches it only when it was answered, and
                // lives until then; so does the file. The kernel writes to it for a read only.
                unsafe { Call::transfer(fd, action, offset, memory, len) }
            }
            Step::Fill => {
                let len = left.min(FILL_PIECE as u64) as usize;
                let memory = zeros().as_ptr().cast_mut();
                // SAFETY: the zeros are never freed, and this call reads them only.
                unsafe { Call::transfer(fd, action, offset, memory, len) }
            }
            // SAFETY: the file stays open until this is answered.
            _ => unsafe { Call::bare(fd, action, offset, left) },
        }
    }

    fn action(&self, shared: &Shared) -> Action {
        match self.step {
            Step::Transfer if self.reads() => Action::Read,
            Step::Transfer if self.is_fua() && shared.lacks.has(Ability::DurableWrite) => {
                Action::WriteDurable
            }
            Step::Transfer | Step::Fill => Action::Write,
            Step::Discard if shared.backing == Backing::Disk => Action::Discard,
            Step::Punch | Step::Discard => Action::Allocate(PUNCH),
            Step::ZeroRange => Action::Allocate(ZERO_RANGE),
            Step::Sync => Action::SyncData,
        }
    }

    fn is_fua(&self) -> bool {
        self.request.durability == Durability::Fua
    }

    /// Takes the kernel's answer to the last call.
    pub(super) fn advance(&mut self, shared: &Shared, result: i32) -> Next {
        match -result {
            libc::EINTR | libc::EAGAIN => return Next::Call,
            libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY | libc::EINVAL => {
                if let Some(next) = self.without(shared, -result) {
                    return next;
                }
            }
            _ => {}
        }
        if result < 0 {
            return Next::Finished(Err(self.failure(shared, -result)));
        }
        match self.step {
            Step::Transfer => self.transferred(shared, result as u64),
            Step::Fill => {
                self.done += result as u64;
                if self.done < self.request.range.len() {
                    return Next::Call;
                }
                self.sync_or_finish(true)
            }
            Step::Punch | Step::ZeroRange => self.sync_or_finish(true),
            Step::Discard | Step::Sync => Next::Finished(Ok(())),
        }
    }

    /// Another way for what the file refuses; `None` if there is none.
    fn without(&mut self, shared: &Shared, errno: i32) -> Option<Next> {
        let (ability, step) = match self.step {
            Step::Transfer if self.is_fua() && errno != libc::EINVAL => {
                let refused = shared.lacks.has(Ability::DurableWrite);
                shared.lacks.remember(Ability::DurableWrite);
                return refused.then_some(Next::Call);
            }
            Step::Punch => (Ability::Punch, Step::ZeroRange),
            Step::ZeroRange => (Ability::ZeroRange, Step::Fill),
            Step::Discard => {
                shared.lacks.remember(Ability::Discard);
                return Some(Next::Finished(Ok(())));
            }
            _ => return None,
        };
        shared.lacks.remember(ability);
        debug_assert_eq!(self.done, 0, "a step that was refused has done nothing");
        self.step = step;
        Some(Next::Call)
    }

    fn transferred(&mut self, shared: &Shared, count: u64) -> Next {
        self.done += count;
        if self.done != self.request.range.len() {
            // Direct I/O goes on at whole blocks only; a read that ends elsewhere met the file's
            // end.
            let block = u64::from(shared.info.logical_block);
            let stuck = count == 0 || shared.is_direct() && !self.done.is_multiple_of(block);
            return if stuck {
                Next::Finished(Err(self.too_short(shared)))
            } else {
                Next::Call
            };
        }
        if self.reads() {
            if let Some(aligned) = self.bounce.take() {
                self.request.buffer.copy_from_slice(&aligned);
            }
            return Next::Finished(Ok(()));
        }
        let durable = shared.lacks.has(Ability::DurableWrite);
        self.sync_or_finish(!durable)
    }

    /// After the data is where it belongs; `separately`: FUA is not done yet.
    fn sync_or_finish(&mut self, separately: bool) -> Next {
        if self.is_fua() && separately {
            self.step = Step::Sync;
            return Next::Call;
        }
        Next::Finished(Ok(()))
    }

    fn too_short(&self, shared: &Shared) -> Error {
        let at = self.request.range.start() + self.done;
        if self.reads() {
            shared.lacks.notice_end(at, shared.info.size);
            return truncated(shared, at);
        }
        let what = format!("{} takes no data at byte {at}", shared.info.name);
        Error::new(Kind::Io, what)
    }

    fn failure(&self, shared: &Shared, errno: i32) -> Error {
        let name = &shared.info.name;
        let doing = match self.step {
            Step::Transfer if self.reads() => "read",
            Step::Transfer => "write",
            Step::Punch | Step::ZeroRange | Step::Fill => "write zeros to",
            Step::Discard => "discard",
            Step::Sync => return Error::io(format!("cannot flush {name}"), os_error(errno)),
        };
        let (start, len) = (self.request.range.start(), self.request.range.len());
        let mut what = format!("cannot {doing} {len} bytes at byte {start} of {name}");
        if errno == libc::ENOSPC {
            what.push_str(" (free some space on the file system that holds it)");
        }
        Error::io(what, os_error(errno))
    }
}

fn truncated(shared: &Shared, end: u64) -> Error {
    let what = format!(
        "{} ends at byte {end}, but had {} bytes when it was opened: it was truncated; restore it \
         and open it again",
        shared.info.name, shared.info.size
    );
    Error::new(Kind::Io, what)
}

fn os_error(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

/// Zeros to write, for everybody.
fn zeros() -> &'static Buffer {
    static ZEROS: OnceLock<Buffer> = OnceLock::new();
    ZEROS.get_or_init(|| Buffer::zeroed(FILL_PIECE))
}

#[cfg(test)]
mod tests;

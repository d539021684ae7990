//! Keeps a server of a block device alive when memory runs out.
//!
//! A machine that is short of memory writes dirty pages to its disks. If one of those disks is
//! served by a process of the same machine, the process must get through each write without
//! waiting for memory: else the kernel waits for the process and the process for the kernel.
//!
//! ```text
//!   file system ─▶ /dev/loop0 ─▶ FUSE ─▶ this process ─▶ disks       (direct, no page cache)
//!        ▲                                   │
//!        └───── "free some memory" ◀─────────┘                       what must not happen
//! ```
//!
//! Four measures, of which each closes one way into that circle:
//!
//! - all memory is locked, so that nothing has to be read back before a request can be answered;
//! - the process says that it cleans pages for others (`PR_SET_IO_FLUSHER`), so that the kernel
//!   does not start I/O in order to give it memory; threads inherit it from the one that started
//!   them, hence [`protect`] comes before the first of them;
//! - it is the last to be killed for its memory;
//! - its data path allocates nothing in steady state (shown by `tests/fuse_allocation.rs`), and
//!   reads and writes disks directly.
//!
//! Costs: every page of the process stays in memory, and stacks are paid in full. Does not make
//! swapping onto a served volume safe: other parts of the kernel's way allocate as well.

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, configure_io_flusher_behavior, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// What the kernel reads as "never, as long as anything else can be killed".
const LAST_TO_BE_KILLED: &str = "-1000";

/// Whether something could be done, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is in force.
    Done,
    /// The system does not let this process; a reason for people.
    Refused(String),
}

/// Which measures are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// All memory is locked, also what is allocated later.
    pub memory_locked: Outcome,
    /// The kernel starts no I/O to find memory for this thread and those it starts.
    pub io_flusher: Outcome,
    /// The process is not chosen when memory is freed by killing.
    pub kept_alive: Outcome,
}

/// Takes every measure that this process may take. To be called before threads are started.
pub fn protect() -> Protection {
    Protection {
        io_flusher: outcome(configure_io_flusher_behavior(true)),
        kept_alive: match std::fs::write("/proc/self/oom_score_adj", LAST_TO_BE_KILLED) {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Refused(error.to_string()),
        },
        memory_locked: lock_memory(),
    }
}

impl Protection {
    /// What people should know, if they serve a device that is written: that memory could not be
    /// locked, and how it can be.
    pub fn warning(&self) -> Option<String> {
        let Outcome::Refused(reason) = &self.memory_locked else {
            return None;
        };
        Some(format!(
            "memory is not locked ({reason}): when memory runs out, writes to the volume may hang; \
             raise the limit (ulimit -l unlimited, LimitMEMLOCK=infinity), or give CAP_IPC_LOCK"
        ))
    }
}

/// Locks what there is and what comes. With a limit nothing is locked: once it was reached, every
/// allocation would fail, which ends the process.
fn lock_memory() -> Outcome {
    let may_lock_all = capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK))
        || getrlimit(Resource::Memlock).current.is_none();
    if may_lock_all {
        return outcome(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE));
    }
    let limit = getrlimit(Resource::Memlock).current.unwrap_or(0);
    Outcome::Refused(format!("the limit is {} KiB", limit >> 10))
}

fn outcome(result: Result<(), Errno>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(errno) => Outcome::Refused(errno.to_string()),
    }
}

//! How system calls on files get done without their thread waiting for each.
//!
//! ```text
//!   file queue ── Job ──▶ Engine ──▶ ring (io_uring)  ┐
//!   file queue ◀─ Done ── Engine ◀── pool (threads)   ┘ one per driver
//! ```
//!
//! A [`Call`] is one system call with all its arguments; it can be run here and now, by a thread
//! of the pool, or by the kernel through the ring. All three end in the same number: bytes, or an
//! errno below zero. So whoever builds calls (`file/`) knows nothing of engines, and a call that
//! the ring cannot do goes to the pool.
//!
//! Promises: each job's number is handed back exactly once, to the queue that gave the job. Jobs
//! are batched: they reach the kernel at the latest when somebody polls or waits, several with one
//! system call.
//! Does not: order, retry or understand calls.

mod call;
mod pool;
mod ring;
mod state;

pub(crate) use call::{Action, Call};
pub(crate) use pool::Pool;
pub(crate) use ring::Ring;
pub use state::EngineKind;
pub(crate) use state::{Done, Engine, Job};

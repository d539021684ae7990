//! The block device: requests, buffers, errors, and what ends a stack.
//!
//! A [`Device`] describes itself and opens [`Queue`]s; a queue belongs to one thread, takes
//! [`Request`]s and answers each exactly once with a [`Completion`]. A [`Driver`] is that thread's
//! way to the kernel: all queues opened on it share its engine, and it is what the thread sleeps
//! on. Nothing here knows what a volume is. [`parity`] is arithmetic over buffers, and here because
//! its instructions need `unsafe`.

mod admit;
mod answers;
mod blocking;
mod buffer;
mod checked;
pub mod clock;
mod device;
mod driver;
mod engine;
mod error;
pub mod file;
mod mailbox;
pub mod memory;
pub mod parity;
pub mod partition;
mod range;
mod request;
pub mod salvage;
pub mod sim;
mod stream;
pub mod trace;

pub use answers::Answers;
pub use blocking::BlockingDevice;
pub use buffer::{BLOCK_ALIGN, Buffer, BufferPool};
pub use checked::{Checked, FlushLatch};
pub use device::{Access, Device, Extent, ExtentKind, Info, Queue};
pub use driver::{Driver, Interest, Readiness, Waker, Watch};
pub use engine::EngineKind;
pub use error::{Error, Kind, Result};
pub use mailbox::{Mailbox, Outbox};
pub use range::Range;
pub use request::{Completion, Durability, Operation, Request, Unmap};
pub use stream::{Holes, Piece, read_ranges, read_stream};

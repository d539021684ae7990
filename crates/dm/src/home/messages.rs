//! What is asked of a home, by its queues and by those who control it.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use block::{Device, Mailbox, Outbox, Request};

use super::direct::HoldOf;
use super::home_device::NoticeHandler;
use crate::Result;
use crate::machine::{Face, Machine};
use crate::map::Returned;

/// Something asked of a home.
pub(super) enum Message<M: Machine> {
    /// A request to a face, and where the answer goes.
    Request {
        from: Arc<Outbox>,
        face: usize,
        request: Request,
    },
    /// A request that went to legs without the machine, and was not done.
    Returned {
        from: Arc<Outbox>,
        face: usize,
        returned: Returned<HoldOf<M>>,
    },
    /// The machine may wait for holds that have ended.
    Freed,
    /// The queue with this outbox goes away: what is held for it is answered.
    Abandon(Arc<Outbox>),
    /// Let nothing through, and say when all has ended.
    Suspend(SyncSender<Result<()>>),
    /// Get ready to be made of something else, and say what the faces are then.
    Prepare {
        number: u64,
        config: M::Config,
        legs: Vec<Arc<dyn Device>>,
        reply: SyncSender<Result<Vec<Option<Face>>>>,
    },
    /// Do not become what this number was given for.
    Forget(u64),
    /// Become what this number was given for.
    Reload {
        number: u64,
        handler: Option<NoticeHandler<M>>,
        reply: SyncSender<Result<()>>,
    },
    /// Let requests through again.
    Resume,
    /// An order, and who waits until it is obeyed.
    Control {
        control: M::Control,
        obeyed: SyncSender<Result<()>>,
    },
    /// How is it?
    Status(SyncSender<Result<M::Status>>),
    /// End.
    Stop,
}

/// What was asked and has not been seen by the home.
pub(super) type Inbox<M> = Mailbox<Message<M>>;

//! A machine at home, and how it is told to rest, to become something else, and to go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use block::Device;

use super::direct::Behind;
use super::face_device::FaceDevice;
use super::messages::{Inbox, Message};
use super::runner::{Begin, Runner};
use crate::gate::Gateway;
use crate::machine::{Face, Machine};
use crate::{Error, Kind, Result};

/// A machine with its legs on a thread of its own. Clones share it; the machine is stopped when
/// the last clone, the last device of a face and the last queue are gone.
pub struct Home<M: Machine> {
    handle: Arc<Handle<M>>,
    faces: Arc<[Option<Face>]>,
    legs: Arc<[Arc<dyn Device>]>,
}

/// A home as it will be ([`Home::prepare`]). Dropped, it leaves no trace.
#[must_use]
pub struct Prepared<M: Machine> {
    home: Home<M>,
    number: u64,
    /// Who hears its notices then; `None`: who hears them now.
    handler: Option<NoticeHandler<M>>,
}

/// Handles a machine's notices, on the home's thread: it must not wait for anything there.
pub type NoticeHandler<M> = Box<dyn FnMut(<M as Machine>::Notice, &Controller<M>) + Send>;

/// Gives a machine orders and asks it how it is, and does not keep it running.
pub struct Controller<M: Machine> {
    inbox: Arc<Inbox<M>>,
}

/// Keeps the thread running.
pub(super) struct Handle<M: Machine> {
    pub(super) inbox: Arc<Inbox<M>>,
    pub(super) gateway: Arc<Gateway<Behind<M>>>,
    pub(super) name: String,
    /// Numbers what is prepared.
    prepared: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<M: Machine> Home<M> {
    /// Starts `machine`, known as `name`, on `legs`; waits at most `limit` for it to be loaded.
    /// Nobody hears its notices.
    pub fn start(
        name: impl Into<String>,
        machine: M,
        legs: Vec<Arc<dyn Device>>,
        limit: Duration,
    ) -> Result<Self> {
        Self::start_with_notices(name, machine, legs, limit, Box::new(|_, _| {}))
    }

    /// The same; `handler` gets the machine's notices, perhaps before this returns.
    pub fn start_with_notices(
        name: impl Into<String>,
        machine: M,
        legs: Vec<Arc<dyn Device>>,
        limit: Duration,
        handler: NoticeHandler<M>,
    ) -> Result<Self> {
        Self::begin(name.into(), (machine, legs), Begin::Start, (limit, handler))
    }

    /// The same, suspended: it is not told to start before [`Home::resume`], and its faces are what
    /// they will be if nothing is amiss. What they are asked meanwhile is held.
    ///
    /// # Errors
    ///
    /// A leg cannot be opened. A start that fails ends it, and all that it is asked fails.
    pub fn suspended(
        name: impl Into<String>,
        machine: M,
        legs: Vec<Arc<dyn Device>>,
        limit: Duration,
        handler: NoticeHandler<M>,
    ) -> Result<Self> {
        Self::begin(name.into(), (machine, legs), Begin::Wait, (limit, handler))
    }

    fn begin(
        name: String,
        (machine, legs): (M, Vec<Arc<dyn Device>>),
        begin: Begin,
        (limit, handler): (Duration, NoticeHandler<M>),
    ) -> Result<Self> {
        let inbox = Arc::new(Inbox::default());
        let gateway = Arc::new(Gateway::new(0, Behind::nothing()));
        let legs: Arc<[Arc<dyn Device>]> = legs.into();
        let (say, begun) = sync_channel(1);
        let shared = (Arc::clone(&inbox), Arc::clone(&gateway));
        let theirs = (Arc::clone(&legs), name.clone());
        let thread = std::thread::Builder::new()
            .name(format!("home {name}"))
            .spawn(move || {
                let (legs, name) = theirs;
                Runner::begin((name, machine), (&legs, begin), shared, (say, handler));
            })
            .map_err(|error| {
                let source = block::Error::io("cannot start a thread", error);
                Error::device(name.clone(), source)
            })?;
        let handle = Arc::new(Handle {
            inbox,
            gateway,
            name,
            prepared: AtomicU64::new(0),
            thread: Mutex::new(Some(thread)),
        });
        let faces = handle.wait(&begun, limit)?.into();
        Ok(Self {
            handle,
            faces,
            legs,
        })
    }

    /// The device that the face with this number is, if there is one.
    pub fn face(&self, number: usize) -> Option<FaceDevice<M>> {
        let face = self.faces.get(number)?.clone()?;
        let leg = face.extents_of_leg.map(|leg| Arc::clone(&self.legs[leg]));
        let handle = Arc::clone(&self.handle);
        Some(FaceDevice::new(handle, (number, face.info), leg))
    }

    /// Gets ready to be made of `config`, on `legs`, and changes nothing yet; at most for `limit`.
    /// One such preparation is kept at a time: the last one.
    ///
    /// # Errors
    ///
    /// It cannot become that while it runs, or a leg cannot be opened.
    pub fn prepare(
        &self,
        config: M::Config,
        legs: Vec<Arc<dyn Device>>,
        limit: Duration,
    ) -> Result<Prepared<M>> {
        let number = self.handle.prepared.fetch_add(1, Ordering::Relaxed);
        let (reply, replied) = sync_channel(1);
        self.handle.send(Message::Prepare {
            number,
            config,
            legs: legs.clone(),
            reply,
        })?;
        // Dropped where this fails, so that a late preparation is forgotten.
        let mut prepared = Prepared {
            home: Self {
                handle: Arc::clone(&self.handle),
                faces: Arc::default(),
                legs: legs.into(),
            },
            number,
            handler: None,
        };
        prepared.home.faces = self.handle.wait(&replied, limit)?.into();
        Ok(prepared)
    }

    /// Ends what is in flight and holds what comes in until [`Home::resume`]. If that takes more
    /// than `limit`, it goes on as before and this fails.
    pub fn suspend(&self, limit: Duration) -> Result<()> {
        let (say, suspended) = sync_channel(1);
        self.handle.send(Message::Suspend(say))?;
        let result = self.handle.wait(&suspended, limit);
        if result
            .as_ref()
            .is_err_and(|error| error.kind() == Kind::TimedOut)
        {
            self.handle.send(Message::Resume)?;
        }
        result
    }

    /// Lets requests through again.
    pub fn resume(&self) -> Result<()> {
        self.handle.send(Message::Resume)
    }

    /// Gives the machine an order, and waits until it is obeyed; at most for `limit`.
    pub fn control(&self, control: M::Control, limit: Duration) -> Result<()> {
        let (obeyed, heard) = sync_channel(1);
        self.handle.send(Message::Control { control, obeyed })?;
        self.handle.wait(&heard, limit)
    }

    /// How the machine is. Waits at most `limit`.
    pub fn status(&self, limit: Duration) -> Result<M::Status> {
        let (reply, replied) = sync_channel(1);
        self.handle.send(Message::Status(reply))?;
        self.handle.wait(&replied, limit)
    }

    /// What gives the machine orders without keeping it running.
    pub fn controller(&self) -> Controller<M> {
        Controller::new(Arc::clone(&self.handle.inbox))
    }
}

impl<M: Machine> Clone for Home<M> {
    fn clone(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            faces: Arc::clone(&self.faces),
            legs: Arc::clone(&self.legs),
        }
    }
}

impl<M: Machine> Prepared<M> {
    /// The home as it will be. What its faces are asked before [`Prepared::reload`] is held, as the
    /// home is suspended.
    pub fn home(&self) -> &Home<M> {
        &self.home
    }

    /// Notices go to `handler` from the reload on, since they number what it is made of then.
    pub fn heard_by(mut self, handler: NoticeHandler<M>) -> Self {
        self.handler = Some(handler);
        self
    }

    /// The home, which is suspended, becomes what it was prepared for, and stays suspended.
    ///
    /// # Errors
    ///
    /// It is not suspended, something else was prepared since, or it has ended; it is as it was.
    pub fn reload(mut self, limit: Duration) -> Result<Home<M>> {
        let (reply, replied) = sync_channel(1);
        let handler = self.handler.take();
        let handle = &self.home.handle;
        handle.send(Message::Reload {
            number: self.number,
            handler,
            reply,
        })?;
        handle.wait(&replied, limit)?;
        Ok(self.home.clone())
    }
}

impl<M: Machine> Drop for Prepared<M> {
    fn drop(&mut self) {
        let forget = Message::Forget(self.number);
        self.home.handle.inbox.send(&mut vec![forget]);
    }
}

impl<M: Machine> Controller<M> {
    pub(super) fn new(inbox: Arc<Inbox<M>>) -> Self {
        Self { inbox }
    }

    /// Gives the machine an order. One that has ended does not get it.
    pub fn send(&self, control: M::Control) {
        let (obeyed, _) = sync_channel(1);
        self.inbox
            .send(&mut vec![Message::Control { control, obeyed }]);
    }

    /// Whether the machine has ended, and asks nothing of its legs any more.
    pub fn has_ended(&self) -> bool {
        self.inbox.is_closed()
    }

    /// How the machine is; `None` if it has ended or does not answer within `limit`. Not for the
    /// machine's own thread.
    pub fn status(&self, limit: Duration) -> Option<M::Status> {
        let (reply, replied) = sync_channel(1);
        self.inbox.send(&mut vec![Message::Status(reply)]);
        replied.recv_timeout(limit).ok()?.ok()
    }
}

impl<M: Machine> Clone for Controller<M> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.inbox))
    }
}

impl<M: Machine> std::fmt::Debug for Controller<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Controller")
    }
}

impl<M: Machine> Handle<M> {
    fn send(&self, message: Message<M>) -> Result<()> {
        let mut messages = vec![message];
        self.inbox.send(&mut messages);
        if messages.is_empty() {
            return Ok(());
        }
        Err(self.gone())
    }

    fn wait<T>(&self, answer: &Receiver<Result<T>>, limit: Duration) -> Result<T> {
        answer.recv_timeout(limit).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => {
                    let what = format!("{} did not answer within {limit:?}", self.name);
                    Error::new(Kind::TimedOut, what)
                }
                RecvTimeoutError::Disconnected => self.gone(),
            })
        })
    }

    fn gone(&self) -> Error {
        let what = format!("{} has ended; activate it again", self.name);
        Error::new(Kind::Device, what)
    }
}

impl<M: Machine> Drop for Handle<M> {
    fn drop(&mut self) {
        self.inbox.send(&mut vec![Message::Stop]);
        let thread = self.thread.get_mut();
        if let Some(thread) = thread.unwrap_or_else(PoisonError::into_inner).take() {
            // What it panicked with was said when it did.
            let _ = thread.join();
        }
    }
}

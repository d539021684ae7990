//! A queue of a home's device, on the thread of whoever uses it.
//!
//! What the machine's map allows goes to the legs from here (`direct.rs`), all else to the home.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{Answers, Completion, Driver, Error, Info, Kind, Operation, Outbox, Queue, Request};

use super::direct::Direct;
use super::home_device::Handle;
use super::messages::Message;
use crate::machine::Machine;

/// How many requests of one queue are with the home at a time: enough to keep several fast disks
/// busy. More wait in the queue.
pub const DEPTH_MAX: usize = 256;

pub(super) struct HomeQueue<M: Machine> {
    /// What needs no home goes this way.
    direct: Direct<M>,
    handle: Arc<Handle<M>>,
    face: usize,
    info: Info,
    outbox: Arc<Outbox>,
    /// Requests that go to the home with the next poll.
    outgoing: Vec<Message<M>>,
    /// Requests for which the home has no room yet.
    backlog: VecDeque<Request>,
    /// Requests in `outgoing` or with the home.
    forwarded: usize,
    /// Answers that needed no home.
    ready: Answers,
}

impl<M: Machine> HomeQueue<M> {
    pub(super) fn new(
        handle: Arc<Handle<M>>,
        (face, info): (usize, Info),
        driver: &Driver,
    ) -> Self {
        let outbox = Outbox::new(driver.waker());
        let (gateway, inbox) = (&handle.gateway, &handle.inbox);
        Self {
            direct: Direct::new(gateway, inbox, &outbox, (face, driver)),
            handle,
            face,
            info,
            outbox,
            outgoing: Vec::new(),
            backlog: VecDeque::new(),
            forwarded: 0,
            ready: Answers::new(driver),
        }
    }

    /// Gives the home what it has room for.
    fn forward(&mut self) {
        while self.forwarded < DEPTH_MAX {
            let Some(request) = self.backlog.pop_front() else {
                break;
            };
            self.forwarded += 1;
            let from = Arc::clone(&self.outbox);
            let face = self.face;
            self.outgoing.push(Message::Request {
                from,
                face,
                request,
            });
        }
        self.handle.inbox.send(&mut self.outgoing);
        for message in self.outgoing.drain(..) {
            // The home has ended.
            if let Message::Request { request, .. } = message {
                self.forwarded -= 1;
                self.ready
                    .push(request.complete(Err(gone(&self.info.name))));
            }
        }
    }
}

/// The error of a request whose home has ended.
pub(super) fn gone(name: &str) -> Error {
    Error::new(Kind::Gone, format!("{name} has ended; activate it again"))
}

impl<M: Machine> Queue for HomeQueue<M> {
    fn submit(&mut self, request: Request) {
        let flush = request.operation == Operation::Flush;
        match self.info.admit(&request) {
            Ok(()) if flush || !request.range.is_empty() => {
                if let Err(request) = self.direct.submit(request) {
                    self.backlog.push_back(request);
                }
            }
            result => self.ready.push(request.complete(result)),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.forwarded > 0 {
            self.forwarded -= self.outbox.take(done);
        }
        if !self.backlog.is_empty() {
            self.forward();
        }
        self.forwarded += self.direct.poll(done);
        self.ready.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.backlog.len() + self.forwarded + self.direct.in_flight() + self.ready.len()
    }
}

impl<M: Machine> Drop for HomeQueue<M> {
    fn drop(&mut self) {
        self.forwarded += self.direct.abandon();
        let abandon = Message::Abandon(Arc::clone(&self.outbox));
        self.handle.inbox.send(&mut vec![abandon]);
        self.outbox.wait_for(self.forwarded);
    }
}

//! One thread's work: requests in from the kernel, steps to the device, answers back.
//!
//! A turn takes what the kernel has (up to a batch), gives it to the device's queue, answers what
//! is done, and sleeps only when a whole turn found nothing. A write's data are read behind its
//! 80 bytes of headers into an aligned buffer, so they go to the device as they came; the buffer
//! of a small write is copied into a small one so that a megabyte is not held for 4 KiB.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{
    Access, Buffer, BufferPool, Completion, Driver, Durability, ExtentKind, Interest, Queue, Range,
    Readiness, Result, Unmap, Waker,
};
use rustix::io::Errno;

use crate::fuse::job::{Job, Next};
use crate::fuse::protocol::{
    Operation, REQUEST_HEADER, Reply, TRANSFER_MAX, WRITE_BODY, decode, reply_header,
};
use crate::fuse::session::Shared;

/// Requests taken from the kernel before the device is looked at.
const BATCH: usize = 32;
/// Headers of a write: what lies before its data.
const HEAD: usize = REQUEST_HEADER + WRITE_BODY;
/// Bodies longer than a write's, of all operations known, end before this many bytes.
const HEAD_MAX: usize = 256;
const _: () = assert!(HEAD <= HEAD_MAX, "what is always sent fits");
const _: () = assert!(COPY_MAX < TRANSFER_MAX, "what is not copied fills a buffer");
/// Writes up to this many bytes are copied out of the receive buffer.
const COPY_MAX: usize = TRANSFER_MAX / 2;
/// Memory that waits for requests, per thread, in bytes.
const POOL_IDLE: usize = 8 << 20;
/// Extents that are asked for at a time when seeking.
const EXTENTS_AT_ONCE: usize = 64;

pub(crate) struct Worker {
    shared: Arc<Shared>,
    channel: Arc<OwnedFd>,
    driver: Driver,
    waker: Waker,
    queue: Box<dyn Queue>,
    pool: BufferPool,
    /// Where the next request's data go.
    receive: Buffer,
    /// Jobs under way; a request's tag is the index of its job.
    jobs: Vec<Option<Job>>,
    free: Vec<usize>,
    /// Jobs that wait at the gate.
    parked: VecDeque<usize>,
    done: Vec<Completion>,
    /// Requests of the kernel without an answer.
    owed: Cell<usize>,
}

/// What a look at the channel found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    Request,
    Nothing,
    Ended,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, channel: Arc<OwnedFd>, driver: Driver) -> Result<Self> {
        let queue = shared.device.open_queue(&driver)?;
        let pool = BufferPool::new(POOL_IDLE);
        let receive = pool.get(TRANSFER_MAX);
        Ok(Self {
            shared,
            channel,
            waker: driver.waker(),
            driver,
            queue,
            pool,
            receive,
            jobs: Vec::new(),
            free: Vec::new(),
            parked: VecDeque::new(),
            done: Vec::new(),
            owed: Cell::new(0),
        })
    }

    /// Answers until the mount is gone or the export stops, and then finishes what is under way.
    pub(crate) fn run(mut self) {
        let mut ended = false;
        loop {
            let mut busy = false;
            for _ in 0..BATCH {
                if ended || self.shared.stop.load(Ordering::Acquire) {
                    ended = true;
                    break;
                }
                match self.receive() {
                    Received::Request => busy = true,
                    Received::Nothing => break,
                    Received::Ended => ended = true,
                }
            }
            // Those that must wait again are parked again, behind the ones looked at.
            for _ in 0..self.parked.len() {
                let index = self.parked.pop_front().expect("it was counted");
                self.begin(index);
            }
            // Last: an answer that is already there does not end a sleep.
            busy |= self.finish();
            if cfg!(debug_assertions) {
                self.check();
            }
            if ended && self.jobs.iter().all(Option::is_none) {
                assert_eq!(self.owed.get(), 0, "every request was answered");
                return;
            }
            if !busy && !self.sleep(ended) {
                return;
            }
        }
    }

    /// Panics unless every request of the kernel has an answer, or a job that is under way.
    fn check(&self) {
        let jobs = self.jobs.iter().flatten().count();
        assert_eq!(
            jobs + self.free.len(),
            self.jobs.len(),
            "a number is free or taken"
        );
        assert_eq!(self.owed.get(), jobs, "a request has a job or an answer");
        let moving = jobs.checked_sub(self.parked.len());
        assert_eq!(
            moving,
            Some(self.queue.in_flight()),
            "a job waits for the gate or the device"
        );
        for &index in &self.parked {
            assert!(self.jobs[index].is_some(), "what is parked is a job");
        }
    }

    /// Waits for the kernel or the device. `false`: waiting is no longer possible.
    fn sleep(&mut self, ended: bool) -> bool {
        let mut channel = [Interest::new(self.channel.as_fd(), Readiness::Readable)];
        let others = if ended { &mut [] } else { &mut channel[..] };
        self.driver.wait(others, None).is_ok()
    }

    fn receive(&mut self) -> Received {
        if self.receive.len() != TRANSFER_MAX {
            self.receive = self.pool.get(TRANSFER_MAX);
        }
        let mut head = [0_u8; HEAD_MAX];
        let mut parts = [
            IoSliceMut::new(&mut head[..HEAD]),
            IoSliceMut::new(&mut self.receive),
        ];
        let len = match rustix::io::readv(&*self.channel, &mut parts) {
            Ok(len) => len,
            Err(Errno::AGAIN) => return Received::Nothing,
            // The request was withdrawn before it was read, or a signal came.
            Err(Errno::NOENT | Errno::INTR) => return Received::Request,
            Err(_) => return Received::Ended,
        };
        let spill = len.saturating_sub(HEAD).min(HEAD_MAX - HEAD);
        head[HEAD..HEAD + spill].copy_from_slice(&self.receive[..spill]);
        let known = len.min(HEAD + spill);
        if let Some(incoming) = decode(&head[..known], len) {
            self.serve(incoming.unique, incoming.operation);
        }
        Received::Request
    }

    fn serve(&mut self, unique: u64, operation: Operation) {
        if operation != Operation::Silent {
            self.owed.set(self.owed.get() + 1);
        }
        match operation {
            Operation::Silent => {}
            Operation::Init {
                major,
                minor,
                flags,
                read_ahead_max,
            } => match Reply::init(major, minor, flags, read_ahead_max) {
                Some(reply) => self.reply(unique, &reply),
                None => self.fail(unique, libc::EPROTO),
            },
            Operation::GetAttributes => {
                let reply = Reply::attributes(&self.shared.attributes());
                self.reply(unique, &reply);
            }
            Operation::SetAttributes { size } => {
                let file = self.shared.attributes();
                match size {
                    Some(size) if size != file.size => self.fail(unique, libc::EPERM),
                    _ => self.reply(unique, &Reply::attributes(&file)),
                }
            }
            Operation::Open { flags } => {
                let wants = flags as i32 & libc::O_ACCMODE;
                if self.shared.access == Access::ReadOnly && wants != libc::O_RDONLY {
                    self.fail(unique, libc::EROFS);
                } else {
                    self.reply(unique, &Reply::open());
                }
            }
            Operation::Read { offset, len } => self.read(unique, offset, len),
            Operation::Write {
                offset,
                len,
                durability,
            } => self.write(unique, offset, len, durability),
            Operation::Sync => self.start(Job::sync(unique)),
            Operation::Allocate { offset, len, mode } => self.allocate(unique, offset, len, mode),
            Operation::Seek { offset, whence } => self.seek(unique, offset, whence),
            Operation::StatFs => {
                let reply = Reply::stat_fs(self.shared.size.load(Ordering::Relaxed));
                self.reply(unique, &reply);
            }
            Operation::Acknowledge => self.reply(unique, &Reply::NOTHING),
            Operation::Lookup => self.fail(unique, libc::ENOENT),
            Operation::Unknown => self.fail(unique, libc::ENOSYS),
            Operation::Malformed => self.fail(unique, libc::EINVAL),
        }
    }

    /// The size, asked for again if `end` lies behind what was last seen.
    fn size_for(&self, end: u64) -> u64 {
        let size = self.shared.size.load(Ordering::Relaxed);
        if end <= size {
            size
        } else {
            self.shared.refresh_size()
        }
    }

    fn read(&mut self, unique: u64, offset: u64, len: u32) {
        let len = u64::from(len).min(TRANSFER_MAX as u64);
        let end = self
            .size_for(offset.saturating_add(len))
            .min(offset.saturating_add(len));
        if end <= offset {
            return self.reply(unique, &Reply::NOTHING);
        }
        let range = Range::new(offset, end - offset);
        let job = Job::read(unique, range, self.shared.block, &self.pool);
        self.start(job);
    }

    fn write(&mut self, unique: u64, offset: u64, len: u32, durability: Durability) {
        if self.shared.access == Access::ReadOnly {
            return self.fail(unique, libc::EROFS);
        }
        let size = self.size_for(offset.saturating_add(u64::from(len)));
        if offset >= size {
            return self.fail(unique, libc::ENOSPC);
        }
        // A write over the end is cut, and the answer says how much was done.
        let len = u64::from(len).min(size - offset) as usize;
        if len == 0 {
            return self.reply(unique, &Reply::written(0));
        }
        let data = if len <= COPY_MAX {
            let mut data = self.pool.get(len);
            data.copy_from_slice(&self.receive[..len]);
            data
        } else {
            let mut data = std::mem::take(&mut self.receive);
            data.truncate(len);
            data
        };
        let block = self.shared.block;
        self.start(Job::write(unique, offset, data, durability, block));
    }

    fn allocate(&mut self, unique: u64, offset: u64, len: u64, mode: u32) {
        const KEEP_SIZE: u32 = libc::FALLOC_FL_KEEP_SIZE as u32;
        const PUNCH: u32 = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u32;
        const ZERO: u32 = libc::FALLOC_FL_ZERO_RANGE as u32;
        const ZERO_KEEPING: u32 = ZERO | KEEP_SIZE;
        if self.shared.access == Access::ReadOnly {
            return self.fail(unique, libc::EROFS);
        }
        let Some(end) = offset.checked_add(len) else {
            return self.fail(unique, libc::EFBIG);
        };
        let size = self.size_for(end);
        let unmap = match mode {
            PUNCH => Unmap::Allowed,
            ZERO | ZERO_KEEPING => Unmap::Forbidden,
            // Space within the device is always there.
            0 | KEEP_SIZE if end <= size => return self.reply(unique, &Reply::NOTHING),
            0 | KEEP_SIZE => return self.fail(unique, libc::ENOSPC),
            _ => return self.fail(unique, libc::EOPNOTSUPP),
        };
        if end > size && mode == ZERO {
            return self.fail(unique, libc::ENOSPC);
        }
        let end = end.min(size);
        if end <= offset {
            return self.reply(unique, &Reply::NOTHING);
        }
        self.start(Job::zero(
            unique,
            Range::new(offset, end - offset),
            unmap,
            self.shared.block,
        ));
    }

    /// Finds the next data or hole. The look-up may take as long as the device's file system does.
    fn seek(&mut self, unique: u64, offset: u64, whence: u32) {
        let size = self.shared.refresh_size();
        let data_wanted = match whence as i32 {
            libc::SEEK_DATA => true,
            libc::SEEK_HOLE => false,
            _ => return self.fail(unique, libc::EINVAL),
        };
        let mut at = offset;
        while at < size {
            let rest = Range::new(at, size - at);
            let extents = match self.shared.device.extents(rest, EXTENTS_AT_ONCE) {
                Ok(extents) => extents,
                Err(error) => return self.fail(unique, error.errno()),
            };
            let before = at;
            for extent in extents {
                if (extent.kind == ExtentKind::Data) == data_wanted {
                    return self.reply(unique, &Reply::offset(at.min(size)));
                }
                at = at.saturating_add(extent.len);
            }
            if at == before {
                return self.fail(unique, libc::EIO);
            }
        }
        // Behind the last byte there is a hole, and nowhere data.
        if data_wanted || offset > size {
            return self.fail(unique, libc::ENXIO);
        }
        self.reply(unique, &Reply::offset(size));
    }

    fn start(&mut self, job: Job) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        });
        debug_assert!(self.jobs[index].is_none(), "a free number names no job");
        self.jobs[index] = Some(job);
        self.begin(index);
    }

    /// Takes the first step of a job, or parks it.
    fn begin(&mut self, index: usize) {
        let job = self.jobs[index].as_mut().expect("a job begins once");
        if let Some((range, claim)) = job.claim()
            && !self.shared.gate.enter(range, claim, &self.waker)
        {
            self.parked.push_back(index);
            return;
        }
        let next = job.begin(index as u64, &self.pool);
        self.step(index, next);
    }

    fn step(&mut self, index: usize, next: Next) {
        match next {
            Next::Submit(request) => self.queue.submit(request),
            Next::Done { data, skip } => {
                let job = self.retire(index);
                if job.is_read() {
                    self.send(job.unique, None, &data[skip..]);
                } else if job.is_write() {
                    self.reply(job.unique, &Reply::written(job.len()));
                } else {
                    self.reply(job.unique, &Reply::NOTHING);
                }
            }
        }
    }

    fn retire(&mut self, index: usize) -> Job {
        let job = self.jobs[index].take().expect("a job ends once");
        debug_assert!(self.free.len() < self.jobs.len(), "a number is free once");
        self.free.push(index);
        if let Some((range, claim)) = job.claim() {
            self.shared.gate.leave(range, claim);
        }
        job
    }

    /// Moves on what the device has answered. Whether there was anything.
    fn finish(&mut self) -> bool {
        let mut done = std::mem::take(&mut self.done);
        self.queue.poll(&mut done);
        let any = !done.is_empty();
        for completion in done.drain(..) {
            let index = completion.tag as usize;
            match completion.result {
                Ok(()) => {
                    let job = self.jobs[index].as_mut().expect("answers belong to jobs");
                    let next = job.advance(completion.tag, completion.buffer, &self.pool);
                    self.step(index, next);
                }
                Err(error) => {
                    let job = self.retire(index);
                    self.fail(job.unique, error.errno());
                }
            }
        }
        self.done = done;
        any
    }

    fn reply(&self, unique: u64, reply: &Reply) {
        self.send(unique, None, reply.bytes());
    }

    fn fail(&self, unique: u64, errno: i32) {
        let errno = NonZeroU32::new(errno.unsigned_abs());
        self.send(unique, errno.or(NonZeroU32::new(libc::EIO as u32)), &[]);
    }

    fn send(&self, unique: u64, error: Option<NonZeroU32>, body: &[u8]) {
        assert!(self.owed.get() > 0, "only requests are answered");
        self.owed.set(self.owed.get() - 1);
        let header = reply_header(unique, error, body.len());
        // ENOENT: the kernel no longer waits for it. Any other failure ends the next receive.
        let _ = rustix::io::writev(&*self.channel, &[IoSlice::new(&header), IoSlice::new(body)]);
    }
}

//! The way back to a server that was lost: connect, compare, look whether it is the same disk,
//! replay, flush. Nothing is written before the disk has been looked at.

use std::time::{Duration, Instant};

use super::{ABILITIES, Failure, OWN_FLUSH, Owner, Pending, REPLAY_DEPTH, silence};
use crate::client::connect::{Agreed, CONNECT_MAX, connect};
use crate::client::queue::NbdQueue;
use crate::client::reconnecting::journal::Journal;
use crate::client::reconnecting::marks::Written;
use crate::wire::constants::FLAG_READ_ONLY;
use block::{Buffer, Completion, Error, Kind, Queue, Range, Request, Result};

/// Why an attempt failed, or what it came to.
type Attempt<T> = std::result::Result<T, Failure>;

impl Owner {
    /// Connects, and brings the server to where it was.
    pub(super) fn attempt(&mut self, limit: Duration) -> Attempt<NbdQueue> {
        let connection =
            connect(&self.address, limit.min(CONNECT_MAX)).map_err(Failure::Passing)?;
        compare(&self.name, &self.agreed, &connection.agreed).map_err(Failure::Final)?;
        let mut queue = NbdQueue::new(self.name.clone(), connection, &self.driver, None);
        let deadline = Instant::now() + self.timeout;
        self.recognise(&mut queue, deadline)?;
        if !self.journal.is_empty() {
            self.replay(&mut queue, deadline)?;
        }
        Ok(queue)
    }

    /// Whether this is the disk that it was: each mark still stands where it stood.
    fn recognise(&self, queue: &mut NbdQueue, deadline: Instant) -> Attempt<()> {
        let ranges = self.inbox.marks().ranges();
        // Of writes under way nobody knows whether the server before did them.
        let sent = self.pending.values().filter(|pending| pending.tries > 0);
        let pending: Vec<Written<'_>> = sent.filter_map(Pending::written).collect();
        for range in ranges {
            let found = self.read_back(queue, range, deadline)?;
            let Some(otherwise) = self.inbox.marks().judge(range, &found, &pending) else {
                continue;
            };
            let what = format!(
                "the server of {} came back with something else: {otherwise}; nothing was written \
                 to it, and it is no longer used: make the server serve the right disk, check that \
                 it is not an older copy, and begin again",
                self.name
            );
            return Err(Failure::Final(Error::new(Kind::Gone, what)));
        }
        Ok(())
    }

    /// The bytes of `range`, over a connection that nobody else uses yet.
    fn read_back(&self, queue: &mut NbdQueue, range: Range, deadline: Instant) -> Attempt<Vec<u8>> {
        let block = u64::from(self.agreed.sizes.minimum.max(512));
        let start = range.start() / block * block;
        let end = range
            .end()
            .next_multiple_of(block)
            .min(self.agreed.size.max(range.end()));
        let buffer = Buffer::zeroed((end - start) as usize);
        queue.submit(Request::read(OWN_FLUSH, start, buffer));
        let mut read = Err(Failure::Passing(Error::new(Kind::Gone, "nothing was read")));
        self.collect(queue, deadline, |_, answer| {
            let from = (range.start() - start) as usize;
            let bytes = answer.buffer.get(from..from + range.len() as usize);
            read = match (answer.result, bytes) {
                (Ok(()), Some(bytes)) => Ok(bytes.to_vec()),
                (Err(error), _) => Err(Failure::Passing(error)),
                (Ok(()), None) => return Ok(()),
            };
            Ok(())
        })?;
        read
    }

    /// Repeats what the server acknowledged and may have forgotten, and makes it durable.
    fn replay(&mut self, queue: &mut NbdQueue, deadline: Instant) -> Attempt<()> {
        {
            let mut requests = self.journal.requests().peekable();
            while requests.peek().is_some() {
                for request in requests.by_ref().take(REPLAY_DEPTH) {
                    queue.submit(request);
                }
                self.finish(queue, deadline)?;
            }
        }
        queue.submit(Request::flush(OWN_FLUSH));
        self.finish(queue, deadline)?;
        self.journal = Journal::default();
        self.inbox.marks().settle(self.stamp);
        Ok(())
    }

    /// Waits for everything in flight, which must succeed.
    fn finish(&self, queue: &mut NbdQueue, deadline: Instant) -> Attempt<()> {
        self.collect(queue, deadline, |queue, answer| {
            let Err(error) = answer.result else {
                return Ok(());
            };
            let broke = matches!(queue.loss(), Some((Kind::Invalid, _)));
            queue.die(&error);
            if error.kind() == Kind::Gone && !broke {
                return Err(Failure::Passing(error));
            }
            let what = format!(
                "the server of {} came back and refused the replay of writes that it had \
                 acknowledged ({error}), so data is lost: check the server's disk, then serve it \
                 again",
                self.name
            );
            Err(Failure::Final(Error::new(Kind::FlushFailed, what)))
        })
    }

    /// Hands all answers to `take`, until nothing is in flight.
    fn collect(
        &self,
        queue: &mut NbdQueue,
        deadline: Instant,
        mut take: impl FnMut(&mut NbdQueue, Completion) -> Attempt<()>,
    ) -> Attempt<()> {
        let mut done = Vec::new();
        loop {
            queue.poll(&mut done);
            for answer in done.drain(..) {
                take(queue, answer)?;
            }
            if queue.in_flight() == 0 {
                return Ok(());
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                let error = silence(&self.name, self.timeout);
                queue.die(&error);
                return Err(Failure::Final(error));
            }
            let waited = self.driver.wait(&mut [], Some(rest));
            waited.map_err(Failure::Passing)?;
        }
    }
}

/// Fails where the export is not what it was.
fn compare(name: &str, before: &Agreed, now: &Agreed) -> Result<()> {
    let changed = if now.size != before.size {
        format!("its size was {} bytes and is {}", before.size, now.size)
    } else if (now.flags ^ before.flags) & FLAG_READ_ONLY != 0 {
        let what = if now.flags & FLAG_READ_ONLY == 0 {
            "writable"
        } else {
            "read-only"
        };
        format!("it is {what} now")
    } else if before.flags & !now.flags & ABILITIES != 0 {
        "it no longer flushes, discards or writes zeros as it did".to_owned()
    } else if now.sizes.minimum > before.sizes.minimum {
        format!("its blocks are {} bytes now", now.sizes.minimum)
    } else {
        return Ok(());
    };
    let what = format!(
        "the server of {name} came back changed: {changed}; it is no longer used, since this may \
         be another disk: check it and begin again"
    );
    Err(Error::new(Kind::Gone, what))
}

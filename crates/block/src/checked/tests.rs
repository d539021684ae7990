//! Wrong requests do not get through, and a failed flush is not forgotten.

use super::{Checked, FlushLatch};
use crate::{
    Answers, Buffer, Completion, Driver, Durability, Error, Info, Kind, Operation, Queue, Range,
    Request, Result,
};

/// Answers everything as told.
#[derive(Debug)]
struct Fixed {
    answers: Answers,
    fail: Option<Kind>,
    seen: usize,
}

impl Queue for Fixed {
    fn submit(&mut self, request: Request) {
        self.seen += 1;
        let result = self
            .fail
            .map_or(Ok(()), |kind| Err(Error::new(kind, "told to fail")));
        self.answers.push(request.complete(result));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.answers.drain_into(done);
    }

    fn in_flight(&self) -> usize {
        self.answers.len()
    }
}

fn queue(driver: &Driver, info: Info, latch: &FlushLatch) -> Checked<Fixed> {
    let inner = Fixed {
        answers: Answers::new(driver),
        fail: None,
        seen: 0,
    };
    Checked::new(inner, driver, info, latch.clone())
}

fn ask(queue: &mut Checked<Fixed>, request: Request) -> Result<()> {
    let tag = request.tag;
    queue.submit(request);
    assert_eq!(queue.in_flight(), 1);
    let mut done = Vec::new();
    queue.poll(&mut done);
    assert_eq!((done.len(), queue.in_flight()), (1, 0));
    assert_eq!(done[0].tag, tag);
    done.remove(0).result
}

#[test]
fn improper_requests_are_refused() {
    // Each rule of the contract turns away what breaks it, before the queue inside sees it.
    let driver = Driver::new().unwrap();
    let mut info = Info::new("disk", 1 << 20);
    info.logical_block = 4096;
    let mut queue = queue(&driver, info.clone(), &FlushLatch::default());
    let read = |start, len| Request::read(5, start, Buffer::zeroed(len));
    let mut short = read(0, 4096);
    short.buffer.truncate(512);
    let mut flush = Request::flush(1);
    flush.buffer = Buffer::zeroed(1);
    let improper = [
        read(512, 4096),
        read(0, 512),
        read(1 << 20, 4096),
        read(u64::MAX - 4096, 4096),
        Request::bare(0, Operation::Discard, Range::new(0, (1 << 20) + 4096)),
        short,
        flush,
    ];
    for request in improper {
        let error = ask(&mut queue, request).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidRequest, "{error}");
        assert!(error.to_string().contains("disk"));
    }
    ask(&mut queue, read(1 << 20, 0)).unwrap();
    assert_eq!(queue.inner.seen, 0);
    ask(&mut queue, read((1 << 20) - 4096, 4096)).unwrap();
    queue.resize((1 << 20) - 4096);
    ask(&mut queue, read((1 << 20) - 4096, 4096)).unwrap_err();
    assert_eq!(queue.inner.seen, 1);
    queue.info.read_only = true;
    let write = Request::write(0, 0, Durability::Volatile, Buffer::zeroed(4096));
    let error = ask(&mut queue, write).unwrap_err();
    assert_eq!(error.kind(), Kind::ReadOnly);
}

#[test]
fn a_failed_flush_is_not_forgotten() {
    // After a failed flush no queue of the device promises durability again.
    let driver = Driver::new().unwrap();
    let latch = FlushLatch::default();
    let info = Info::new("disk", 1 << 20);
    let mut first = queue(&driver, info.clone(), &latch);
    let mut second = queue(&driver, info, &latch);
    let write = |durability| Request::write(3, 0, durability, Buffer::zeroed(512));
    first.inner.fail = Some(Kind::Unsupported);
    ask(&mut first, Request::flush(0)).unwrap_err();
    assert!(!latch.has_failed());
    first.inner.fail = Some(Kind::Io);
    ask(&mut first, write(Durability::Volatile)).unwrap_err();
    assert!(!latch.has_failed());
    ask(&mut first, Request::flush(0)).unwrap_err();
    assert!(latch.has_failed());
    for request in [Request::flush(1), write(Durability::Fua)] {
        let error = ask(&mut second, request).unwrap_err();
        assert_eq!(error.kind(), Kind::FlushFailed);
    }
    ask(&mut second, write(Durability::Volatile)).unwrap();
}

#[test]
fn flushes_beside_a_failed_one_fail() {
    // Of several flushes at the same time only one is told that data was lost; none promises it.
    let driver = Driver::new().unwrap();
    let latch = FlushLatch::default();
    let info = Info::new("disk", 1 << 20);
    let mut first = queue(&driver, info.clone(), &latch);
    let mut second = queue(&driver, info, &latch);
    let fua = Request::write(3, 0, Durability::Fua, Buffer::zeroed(512));
    second.submit(fua);
    first.submit(Request::flush(1));
    first.inner.fail = Some(Kind::Io);
    first.submit(Request::flush(2));
    first.inner.fail = None;
    first.submit(Request::write(
        4,
        0,
        Durability::Volatile,
        Buffer::zeroed(512),
    ));
    let mut done = Vec::new();
    first.poll(&mut done);
    second.poll(&mut done);
    let answer = |tag| {
        let one = done.iter().find(|one| one.tag == tag).unwrap();
        one.result.as_ref().err().map(Error::kind)
    };
    assert_eq!(answer(1), Some(Kind::FlushFailed));
    assert_eq!(answer(2), Some(Kind::Io));
    assert_eq!(answer(3), Some(Kind::FlushFailed));
    assert_eq!(answer(4), None);
}

#[test]
#[should_panic(expected = "exactly once")]
fn a_second_answer_is_a_defect() {
    // A queue that answers twice is caught.
    let driver = Driver::new().unwrap();
    let mut queue = queue(&driver, Info::new("disk", 4096), &FlushLatch::default());
    queue.submit(Request::flush(1));
    let again = Request::flush(0).complete(Ok(()));
    queue.inner.answers.push(again);
    queue.poll(&mut Vec::new());
}

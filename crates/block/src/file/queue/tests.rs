//! A queue says what is in flight, learns what the file does not do, and gives its place back.

use std::sync::Arc;

use super::FileQueue;
use crate::file::device::Shared;
use crate::file::probe::Path;
use crate::file::tests::Named;
use crate::file::{Access, Caching, FileDevice};
use crate::{Buffer, Driver, EngineKind, Queue, Request};

fn shared(named: &Named) -> Arc<Shared> {
    let file = named.open().into();
    let device = FileDevice::from_fd(file, "queue", Access::ReadWrite, Caching::PageCache);
    device.expect("opens").shared()
}

fn read(tag: u64) -> Request {
    Request::read(tag, 0, Buffer::zeroed(4096))
}

/// What was submitted is in flight until its answer is handed out; the place of a queue that is
/// dropped is free for another one.
#[test]
fn what_is_in_flight_is_counted() {
    let named = Named::new("counted", 8192);
    let driver = Driver::with_engine(EngineKind::Threads).expect("threads");
    let mut queue = FileQueue::new(shared(&named), &driver);
    assert_eq!(queue.in_flight(), 0);
    queue.submit(read(1));
    queue.submit(read(2));
    assert_eq!(queue.in_flight(), 2);
    let mut done = Vec::new();
    while done.len() < 2 {
        queue.poll(&mut done);
        assert_eq!(queue.in_flight(), 2 - done.len());
        if done.len() < 2 {
            driver.wait(&mut [], None).expect("they are answered");
        }
    }
    queue.read = Path::Inline;
    queue.submit(read(3));
    assert_eq!(queue.in_flight(), 1, "it is done, and not handed out");
    queue.read = Path::Engine;
    let number = queue.number.expect("it has asked the engine");
    queue.submit(read(4));
    drop(queue);
    let next = driver.open_queue().expect("there is an engine");
    assert_eq!(next, number, "the place is free");
}

/// Reads go on being tried in the page cache, unless the file knows no such reads.
#[test]
fn the_cache_is_asked_first_while_it_answers() {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    let named = Named::new("cached", 8192);
    std::fs::write(&named.path, [7; 8192]).expect("is written");
    let shared = shared(&named);
    let driver = Driver::new().expect("an engine");
    let mut queue = FileQueue::new(Arc::clone(&shared), &driver);
    if queue.read != Path::CacheFirst {
        return; // In memory there is no cache before it, and a demanded engine comes first.
    }
    let mut done = Vec::new();
    queue.submit(read(1));
    while done.is_empty() {
        queue.poll(&mut done);
        if done.is_empty() {
            driver.wait(&mut [], None).expect("it is answered");
        }
    }
    assert_eq!(done[0].buffer[..], [7; 4096]);
    let mut bytes = [0; 512];
    let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
    let nowait = ReadWriteFlags::NOWAIT;
    let answers = preadv2(&shared.file, &mut parts, 0, nowait) != Err(Errno::OPNOTSUPP);
    let wanted = if answers {
        Path::CacheFirst
    } else {
        Path::Engine
    };
    assert_eq!(queue.read, wanted);
}

/// A file that knows no reads from the page cache alone, such as those of `/proc`, is asked for one
/// only once.
#[test]
fn who_cannot_answer_from_the_cache_is_not_asked_again() {
    let named = Named::new("refusing", 8192);
    let mut shared = shared(&named);
    let refusing = std::fs::File::open("/proc/self/status").expect("every process has it");
    Arc::get_mut(&mut shared).expect("the device is gone").file = refusing.into();
    let driver = Driver::new().expect("an engine");
    let mut queue = FileQueue::new(shared, &driver);
    queue.read = Path::CacheFirst;
    queue.submit(read(1));
    assert_eq!(queue.read, Path::Engine);
    assert_eq!(queue.in_flight(), 1, "the engine reads it");
}

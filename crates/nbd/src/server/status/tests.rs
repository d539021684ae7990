//! Questions are counted, answered in order, and not left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use block::{Device, Driver, Extent, ExtentKind, Info, Kind, Queue, Range, Result};

use super::{EXTENT_COUNT_MAX, StatusWorker, Wanted};
use crate::server::contexts;

/// Tells how many extents were asked for; byte 512 is its end.
#[derive(Default)]
struct Counting {
    answered: AtomicU64,
}

impl Device for Counting {
    fn info(&self) -> Info {
        Info::new("counting", 1024)
    }

    fn open_queue(&self, _: &Driver) -> Result<Box<dyn Queue>> {
        unreachable!("nobody reads")
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        assert_ne!(range.start(), 512, "on purpose");
        // A file system may need its time.
        thread::sleep(Duration::from_millis(1));
        self.answered.fetch_add(1, Ordering::SeqCst);
        let (len, kind) = (count_max as u64, ExtentKind::Data);
        Ok(vec![Extent { len, kind }])
    }
}

fn start() -> (Driver, Arc<Counting>, StatusWorker) {
    let driver = Driver::new().expect("a driver");
    let device = Arc::new(Counting::default());
    let contexts = contexts::all(&[]).map(|(_, chosen)| chosen).collect();
    let worker = StatusWorker::start(Arc::clone(&device) as _, contexts, driver.waker());
    (driver, device, worker.expect("a thread"))
}

/// What was asked waits until its answer is taken, and each answer wakes whoever waits.
#[test]
fn questions_wait_for_their_answers() {
    let (driver, _device, mut worker) = start();
    let range = Range::new(0, 512);
    worker.ask(1, range, Wanted::One);
    worker.ask(2, range, Wanted::Many);
    assert_eq!(worker.waiting(), 2);
    // Answers of others that were taken before stay, and are not counted.
    let mut done = vec![(0, Ok(Vec::new()))];
    while worker.waiting() > 0 {
        driver
            .wait(&mut [], Some(Duration::from_mins(1)))
            .expect("answers wake");
        worker.take(&mut done).expect("the thread runs");
        assert_eq!(worker.waiting(), 3 - done.len());
    }
    let answers = done.into_iter().skip(1);
    let found = answers.map(|(tag, told)| (tag, told.expect("it knows")[0].1[0].len));
    let found: Vec<(u64, u64)> = found.collect();
    assert_eq!(found, [(1, 1), (2, EXTENT_COUNT_MAX as u64)]);
    worker.take(&mut Vec::new()).expect("nothing is missing");
}

/// A device that panics is an error for who waits, instead of a wait for ever.
#[test]
fn a_panic_is_told() {
    let (_driver, _device, mut worker) = start();
    worker.ask(1, Range::new(512, 512), Wanted::One);
    let error = loop {
        match worker.take(&mut Vec::new()) {
            Ok(()) => thread::yield_now(),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), Kind::Io);
}

/// The end of a connection waits for its thread, which uses the device until then.
#[test]
fn no_thread_is_left_behind() {
    let (_driver, device, mut worker) = start();
    for tag in 0..20 {
        worker.ask(tag, Range::new(0, 512), Wanted::One);
    }
    drop(worker);
    assert_eq!(device.answered.load(Ordering::SeqCst), 20);
    assert_eq!(Arc::strong_count(&device), 1);
}

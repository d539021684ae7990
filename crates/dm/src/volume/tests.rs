//! Volumes over a device that counts, holds and fails what it is asked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use block::{
    BlockingDevice, Buffer, Completion, Device, Driver, Durability, Error, Extent, ExtentKind,
    Info, Kind, Operation, Queue, Range, Request, Result, Unmap, Waker,
};

use proptest::prelude::{any, prop, prop_assert_eq, proptest};

use super::{Access, Volume};
use crate::table::tests::{Byte, SECTOR, byte_of, trees};
use crate::table::{Area, Layout, Piece, Table};

const DISK: u64 = 1 << 20;

/// A device that does what its test says.
struct Probe {
    info: Info,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What was asked, in order.
    log: Vec<(Operation, Range, Durability)>,
    /// Requests wait here instead of being done.
    hold: bool,
    /// What everything is answered with.
    failure: Option<Error>,
    /// No queue can be opened any more.
    closed: bool,
    wakers: Vec<Waker>,
}

struct ProbeQueue {
    state: Arc<Mutex<State>>,
    waiting: VecDeque<Request>,
}

impl Probe {
    fn new(name: &str) -> Arc<Self> {
        let mut info = Info::new(name, DISK);
        info.discard_granularity = 4096;
        let state = Arc::default();
        Arc::new(Self { info, state })
    }

    fn log(&self) -> Vec<(Operation, Range, Durability)> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }

    fn flushes(&self) -> usize {
        let log = self.log();
        log.iter()
            .filter(|(what, ..)| *what == Operation::Flush)
            .count()
    }

    fn fail(&self, failure: Option<Error>) {
        self.state.lock().unwrap().failure = failure;
    }

    fn hold(&self, hold: bool) {
        let mut state = self.state.lock().unwrap();
        state.hold = hold;
        state.wakers.iter().for_each(Waker::wake);
    }
}

impl Device for Probe {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let mut state = self.state.lock().unwrap();
        if state.closed {
            return Err(Error::new(Kind::Open, "it cannot be opened"));
        }
        state.wakers.push(driver.waker());
        Ok(Box::new(ProbeQueue {
            state: Arc::clone(&self.state),
            waiting: VecDeque::new(),
        }))
    }

    fn extents(&self, range: Range, _count_max: usize) -> Result<Vec<Extent>> {
        self.state
            .lock()
            .unwrap()
            .log
            .push((Operation::Read, range, Durability::Volatile));
        let (kind, len) = if range.start() < DISK / 2 {
            (ExtentKind::Data, range.len().min(DISK / 2 - range.start()))
        } else {
            (ExtentKind::Hole, range.len())
        };
        Ok(vec![Extent { len, kind }])
    }
}

impl Queue for ProbeQueue {
    fn submit(&mut self, request: Request) {
        let mut state = self.state.lock().unwrap();
        let what = (request.operation, request.range, request.durability);
        state.log.push(what);
        self.waiting.push_back(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let state = self.state.lock().unwrap();
        if state.hold {
            return;
        }
        // In an order of its own: the last one first.
        while let Some(request) = self.waiting.pop_back() {
            done.push(request.complete(state.failure.clone().map_or(Ok(()), Err)));
        }
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }
}

/// A table over pieces.
fn table(pieces: Vec<Piece>) -> Table {
    let layout = Layout::new("layout", pieces).expect("well formed");
    Table::compile(&layout).expect("compiles")
}

fn linear(probe: &Arc<Probe>, len: u64) -> Piece {
    Piece::linear(len, Arc::clone(probe) as Arc<dyn Device>, 0)
}

fn striped(probes: &[&Arc<Probe>], rows: u64) -> Piece {
    let areas = probes.iter().map(|probe| {
        let device = Arc::clone(probe) as Arc<dyn Device>;
        Area::device(device, 0)
    });
    Piece::striped(4096 * rows * probes.len() as u64, 4096, areas.collect())
}

fn volume(pieces: Vec<Piece>) -> Volume {
    Volume::new("vg/lv", Access::ReadWrite, table(pieces))
}

fn queue(volume: &Volume) -> (Driver, Box<dyn Queue>) {
    let driver = Driver::new().unwrap();
    let queue = volume.open_queue(&driver).unwrap();
    (driver, queue)
}

fn ask(queue: &mut Box<dyn Queue>, request: Request) -> Completion {
    queue.submit(request);
    let mut done = Vec::new();
    queue.poll(&mut done);
    assert_eq!(done.len(), 1, "one request, one answer");
    done.remove(0)
}

fn write(queue: &mut Box<dyn Queue>, start: u64, len: usize) -> Result<()> {
    let buffer = Buffer::zeroed(len);
    ask(
        queue,
        Request::write(1, start, Durability::Volatile, buffer),
    )
    .result
}

/// What the disks under a tree hold, by the tree alone.
#[derive(Default)]
struct Disks(HashMap<(String, u64), u8>);

impl Disks {
    /// Does what a request does to a range; whether all of it can be done.
    fn each(&mut self, tree: &Layout, range: Range, mut with: impl FnMut(u64, &mut u8)) -> bool {
        let mut whole = true;
        for at in range.start()..range.end() {
            match byte_of(tree, at) {
                Byte::On(disk, byte) => with(at, self.0.entry((disk, byte)).or_default()),
                Byte::Zero => with(at, &mut 0),
                Byte::Error(_) => whole = false,
            }
        }
        whole
    }
}

proptest! {
    /// Requests to any tree, also where it holds a byte of a disk twice, do to the disks what the
    /// tree says byte by byte.
    #[test]
    fn volumes_do_what_the_tree_says(
        tree in trees(),
        requests in prop::collection::vec((0..4, any::<u64>(), 0_u64..20), 1..12),
    ) {
        let table = Table::compile(&tree).unwrap();
        let devices = table.devices().to_vec();
        let volume = Volume::new("volume", Access::ReadWrite, table);
        let (_driver, mut queue) = queue(&volume);
        let mut disks = Disks::default();
        let sectors = tree.size() / SECTOR;
        for (tag, (kind, start, len)) in requests.into_iter().enumerate() {
            let start = start % sectors;
            let range = Range::new(start * SECTOR, len.min(sectors - start) * SECTOR);
            let bytes: Vec<u8> = (0..range.len()).map(|at| (at / 7 + tag as u64) as u8).collect();
            let buffer = Buffer::copy_of(&bytes);
            let request = match kind {
                0 => Request::read(0, range.start(), buffer),
                1 => Request::bare(0, Operation::WriteZeroes(Unmap::Allowed), range),
                2 => Request::bare(0, Operation::Discard, range),
                _ => Request::write(0, range.start(), Durability::Volatile, buffer),
            };
            let answer = ask(&mut queue, request);
            let mut wanted = bytes.clone();
            let whole = disks.each(&tree, range, |at, byte| {
                let at = (at - range.start()) as usize;
                match kind {
                    0 => wanted[at] = *byte,
                    1 | 2 => *byte = 0,
                    _ => *byte = bytes[at],
                }
            });
            prop_assert_eq!(answer.result.is_ok(), whole);
            if whole && kind == 0 {
                prop_assert_eq!(&*answer.buffer, &wanted[..]);
            }
        }
        for device in devices {
            let info = device.info();
            let mut blocking = BlockingDevice::open(device.as_ref()).unwrap();
            let mut content = blocking.read(Range::new(0, info.size)).unwrap();
            for ((_, at), byte) in disks.0.iter().filter(|((name, _), _)| *name == info.name) {
                prop_assert_eq!(content[*at as usize], *byte);
                content[*at as usize] = 0;
            }
            prop_assert_eq!(content.iter().find(|byte| **byte != 0), None);
        }
    }
}

/// A striped write is cut at chunks; the buffer comes back whole, and FUA goes along.
#[test]
fn requests_are_cut_at_chunks() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![striped(&[&a, &b], 4)]);
    let (_driver, mut queue) = queue(&volume);
    let bytes: Vec<u8> = (0..12288).map(|at| (at / 512) as u8).collect();
    let request = Request::write(7, 2048, Durability::Fua, Buffer::copy_of(&bytes));
    let answer = ask(&mut queue, request);
    assert_eq!((answer.tag, &*answer.buffer), (7, &*bytes));
    let fua = |start, len| (Operation::Write, Range::new(start, len), Durability::Fua);
    assert_eq!(a.log(), [fua(2048, 2048), fua(4096, 4096)]);
    assert_eq!(b.log(), [fua(0, 4096), fua(4096, 2048)]);
}

/// Without data, each leg is asked once, however many chunks it holds.
#[test]
fn bare_requests_merge_per_leg() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![striped(&[&a, &b], 64)]);
    let (_driver, mut queue) = queue(&volume);
    let range = Range::new(4096, 62 * 8192);
    ask(&mut queue, Request::bare(1, Operation::Discard, range))
        .result
        .unwrap();
    let discard = |start, len| {
        (
            Operation::Discard,
            Range::new(start, len),
            Durability::Volatile,
        )
    };
    assert_eq!(a.log(), [discard(4096, 62 * 4096)]);
    assert_eq!(b.log(), [discard(0, 62 * 4096)]);
}

/// A flush goes to what was written since the last one that succeeded, whichever queue wrote.
#[test]
fn flushes_go_where_writes_went() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096), linear(&b, 4096)]);
    let (_one, mut writer) = queue(&volume);
    let (_two, mut flusher) = queue(&volume);
    let flushes = |queue: &mut Box<dyn Queue>| {
        let result = ask(queue, Request::flush(1)).result;
        (
            result.map_err(|error| error.kind()),
            a.flushes(),
            b.flushes(),
        )
    };
    // What happened before the volume was made is not known.
    assert_eq!(flushes(&mut flusher), (Ok(()), 1, 1));
    assert_eq!(flushes(&mut flusher), (Ok(()), 0, 0));
    write(&mut writer, 4096, 512).unwrap();
    assert_eq!(flushes(&mut flusher), (Ok(()), 0, 1));
    write(&mut writer, 0, 512).unwrap();
    a.fail(Some(Error::new(Kind::Io, "medium")));
    assert_eq!(flushes(&mut flusher), (Err(Kind::Io), 1, 0));
    a.fail(None);
    assert_eq!(flushes(&mut writer), (Ok(()), 1, 0));
    assert_eq!(flushes(&mut writer), (Ok(()), 0, 0));
}

/// A flush does not end before one that another queue began earlier and that covers its writes.
#[test]
fn flushes_do_not_hide_behind_each_other() {
    let a = Probe::new("a");
    let volume = volume(vec![linear(&a, 4096)]);
    let (_one, mut first) = queue(&volume);
    let (_two, mut second) = queue(&volume);
    a.hold(true);
    first.submit(Request::flush(1));
    second.submit(Request::flush(2));
    let mut done = Vec::new();
    second.poll(&mut done);
    assert!(done.is_empty(), "the first flush has not ended");
    a.hold(false);
    second.poll(&mut done);
    first.poll(&mut done);
    assert_eq!(done.len(), 2);
}

/// What is written while a flush runs is not covered by it: the next flush is made.
#[test]
fn flushes_cover_what_was_written_before() {
    let a = Probe::new("a");
    let volume = volume(vec![linear(&a, 4096)]);
    let (_one, mut flusher) = queue(&volume);
    let (_two, mut writer) = queue(&volume);
    a.hold(true);
    flusher.submit(Request::flush(1));
    a.hold(false);
    write(&mut writer, 0, 512).unwrap();
    let mut done = Vec::new();
    flusher.poll(&mut done);
    assert_eq!((done.len(), a.flushes()), (1, 1));
    assert!(ask(&mut flusher, Request::flush(2)).result.is_ok());
    assert_eq!(a.flushes(), 1, "it is asked once more");
}

/// The first error wins and names the volume and the leg; the rest is waited for.
#[test]
fn errors_name_the_leg() {
    let (a, b) = (Probe::new("disk-a"), Probe::new("disk-b"));
    let missing = Piece::of(4096, Area::missing("Ab12-cd"));
    let volume = volume(vec![linear(&a, 4096), linear(&b, 4096), missing]);
    let (_driver, mut queue) = queue(&volume);
    b.fail(Some(Error::new(Kind::Io, "cannot write")));
    let error = write(&mut queue, 0, 8192).unwrap_err();
    assert_eq!(error.to_string(), "vg/lv: disk-b: cannot write");
    assert_eq!(error.kind(), Kind::Io);
    b.fail(None);
    let error = write(&mut queue, 4096, 8192).unwrap_err();
    assert_eq!(error.to_string(), "vg/lv: missing device Ab12-cd");
    assert_eq!(queue.in_flight(), 0);
}

/// Discards read as zeros only if each device discards, and reads zeros where it did.
#[test]
fn discards_read_as_zeros_if_all_do() {
    let probe = |granularity, zeroes| {
        let mut info = Info::new("probe", DISK);
        (info.discard_granularity, info.discard_zeroes) = (granularity, zeroes);
        let state = Arc::default();
        Arc::new(Probe { info, state })
    };
    let zeroes = |probes: &[&Arc<Probe>]| volume(vec![striped(probes, 2)]).info().discard_zeroes;
    let (good, keeps, never) = (probe(512, true), probe(512, false), probe(0, true));
    assert!(zeroes(&[&good, &good]));
    assert!(!zeroes(&[&good, &keeps]));
    assert!(!zeroes(&[&good, &never]), "what is not discarded stays");
}

/// A device that cannot be opened when the table names it first answers with an error, and nobody
/// waits; the others go on.
#[test]
fn devices_that_do_not_open_answer_with_an_error() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096)]);
    let (_driver, mut queue) = queue(&volume);
    b.state.lock().unwrap().closed = true;
    let grown = vec![linear(&a, 4096), linear(&b, 4096)];
    volume.grow(table(grown)).unwrap();
    for (start, len) in [(4096, 512), (2048, 4096)] {
        let buffer = Buffer::zeroed(len);
        let request = Request::write(7, start, Durability::Volatile, buffer);
        queue.submit(request);
        let mut done = Vec::new();
        queue.poll(&mut done);
        assert_eq!((done.len(), queue.in_flight()), (1, 0));
        let error = done.remove(0).result.unwrap_err();
        assert_eq!(error.to_string(), "vg/lv: it cannot be opened");
    }
    write(&mut queue, 0, 512).unwrap();
    let error = volume.open_queue(&Driver::new().unwrap()).err().unwrap();
    assert_eq!(error.to_string(), "vg/lv: it cannot be opened");
}

/// A queue lets go of a device that its table does not name any more when it is polled, though it
/// is asked for nothing.
#[test]
fn devices_that_are_not_used_are_let_go() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096)]);
    let (_driver, mut queue) = queue(&volume);
    write(&mut queue, 0, 512).unwrap();
    let weak = Arc::downgrade(&a);
    drop(a);
    let suspension = volume.suspend().unwrap();
    suspension.publish(table(vec![linear(&b, 4096)])).unwrap();
    queue.poll(&mut Vec::new());
    assert!(weak.upgrade().is_none(), "it is still held");
    write(&mut queue, 0, 512).unwrap();
    assert_eq!(b.log().len(), 1);
}

/// A write whose answer is lost with its queue counts as written: the next flush asks its device.
#[test]
fn writes_of_dropped_queues_are_flushed() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096), linear(&b, 4096)]);
    let (_driver, mut first) = queue(&volume);
    let (_other, mut second) = queue(&volume);
    for probe in [&a, &b] {
        ask(&mut second, Request::flush(1)).result.unwrap();
        probe.log();
    }
    a.hold(true);
    let buffer = Buffer::zeroed(512);
    first.submit(Request::write(1, 0, Durability::Volatile, buffer));
    drop(first);
    a.hold(false);
    ask(&mut second, Request::flush(2)).result.unwrap();
    assert_eq!((a.flushes(), b.flushes()), (1, 0));
}

/// What the devices say is combined: sizes are the strictest, abilities what all have.
#[test]
fn info_is_combined() {
    let mut fine = Info::new("fine", DISK);
    (fine.fua, fine.discard_granularity, fine.discard_zeroes) = (true, 512, true);
    let mut coarse = Info::new("coarse", DISK);
    (coarse.logical_block, coarse.physical_block) = (4096, 16384);
    (coarse.rotational, coarse.fua, coarse.alignment_offset) = (true, true, 4096);
    let probe = |info: Info| {
        let state = Arc::default();
        Arc::new(Probe { info, state })
    };
    let (fine, coarse) = (probe(fine), probe(coarse));
    let volume = volume(vec![striped(&[&coarse, &fine], 2)]);
    let info = volume.info();
    assert_eq!(
        (info.size, info.logical_block, info.physical_block),
        (16384, 4096, 16384)
    );
    assert_eq!((info.minimum_io, info.optimal_io), (4096, 8192));
    assert_eq!(
        (info.rotational, info.fua, info.alignment_offset),
        (true, true, 4096)
    );
    assert_eq!(
        (info.discard_granularity, info.discard_zeroes),
        (512, false)
    );
    // A leg that does not discard is not asked to.
    let (_driver, mut queue) = queue(&volume);
    let all = Range::new(0, 16384);
    ask(&mut queue, Request::bare(1, Operation::Discard, all))
        .result
        .unwrap();
    assert_eq!((fine.log().len(), coarse.log().len()), (1, 0));
    let first = Range::new(0, 4096);
    let answer = ask(&mut queue, Request::bare(2, Operation::Discard, first));
    assert!(answer.result.is_ok() && coarse.log().is_empty());
}

/// Extents follow the table; a device is asked once per extent of its own, not per chunk.
#[test]
fn extents_follow_the_table() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let pieces = vec![striped(&[&a, &b], 256), Piece::zero(4096)];
    let volume = volume(pieces);
    let all = Range::new(0, 2 * DISK + 4096);
    let extents = volume.extents(all, 10).unwrap();
    let wanted = [(DISK, ExtentKind::Data), (DISK + 4096, ExtentKind::Hole)];
    assert_eq!(extents, wanted.map(|(len, kind)| Extent { len, kind }));
    assert_eq!((a.log().len(), b.log().len()), (2, 2));
    assert_eq!(volume.extents(all, 1).unwrap().len(), 1);
    let outside = volume.extents(Range::new(2 * DISK, 8192), 1);
    assert_eq!(outside.unwrap_err().kind(), Kind::InvalidRequest);
}

/// A piece is cut where its device says that other bytes begin, wherever the question starts.
#[test]
fn extents_follow_the_device() {
    let probe = Probe::new("probe");
    let volume = volume(vec![linear(&probe, DISK)]);
    for start in [0, 4096, DISK / 2 - 4096] {
        let extents = volume.extents(Range::new(start, DISK - start), 10);
        let wanted = [
            (DISK / 2 - start, ExtentKind::Data),
            (DISK / 2, ExtentKind::Hole),
        ];
        let wanted = wanted.map(|(len, kind)| Extent { len, kind });
        assert_eq!(extents.unwrap(), wanted);
    }
}

/// Answers end where the question does, and no device is asked for more.
#[test]
fn extents_end_with_the_question() {
    let probe = Probe::new("probe");
    let volume = volume(vec![linear(&probe, 8192), Piece::zero(8192)]);
    let page = |at| volume.extents(Range::new(at, 4096), 10).unwrap();
    for at in [0, 4096, 8192] {
        let len: u64 = page(at).iter().map(|extent| extent.len).sum();
        assert_eq!(len, 4096);
    }
    let asked = probe.log().into_iter().map(|(_, range, _)| range);
    assert!(asked.eq([0, 4096].map(|at| Range::new(at, 4096))));
}

/// Growth is seen at once, with requests in flight, and nothing is asked twice.
#[test]
fn growth_needs_no_drain() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096)]);
    let (_driver, mut queue) = queue(&volume);
    a.hold(true);
    queue.submit(Request::read(1, 0, Buffer::zeroed(512)));
    volume
        .grow(table(vec![linear(&a, 4096), linear(&b, 4096)]))
        .unwrap();
    assert_eq!((volume.info().size, volume.generation()), (8192, 2));
    write(&mut queue, 4096, 512).unwrap();
    assert_eq!(b.log().len(), 1);
    a.hold(false);
    let mut done = Vec::new();
    queue.poll(&mut done);
    assert_eq!(done[0].tag, 1);

    let error = volume.grow(table(vec![linear(&b, 4096)])).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Busy);
    assert_eq!(volume.generation(), 2);
}

/// A suspended volume holds what comes in, and its table is exchanged only when drained.
#[test]
fn suspension_holds_and_drains() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096)]);
    let (driver, mut queue) = queue(&volume);
    a.hold(true);
    queue.submit(Request::read(1, 0, Buffer::zeroed(512)));
    let suspension = volume.suspend().unwrap();
    assert_eq!(volume.suspend().err().unwrap().kind(), crate::Kind::Busy);
    queue.submit(Request::read(2, 0, Buffer::zeroed(512)));
    assert!(!suspension.is_drained());
    let late = suspension.wait(Duration::from_millis(5)).unwrap_err();
    assert_eq!(late.kind(), crate::Kind::TimedOut);

    a.hold(false);
    let mut done = Vec::new();
    queue.poll(&mut done);
    assert_eq!((done.len(), done[0].tag, queue.in_flight()), (1, 1, 1));
    suspension.wait(Duration::ZERO).unwrap();
    queue.poll(&mut done);
    assert_eq!(done.len(), 1, "the second one is held");
    suspension.publish(table(vec![linear(&b, 4096)])).unwrap();
    driver.wait(&mut [], Some(Duration::from_secs(10))).unwrap();
    queue.poll(&mut done);
    assert_eq!((done.len(), done[1].tag), (2, 2));
    assert_eq!((a.log().len(), b.log().len()), (1, 1));
}

/// A suspension waits for all parts of a request that was cut, and for nothing that was answered
/// without any device.
#[test]
fn suspension_waits_for_all_parts() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![striped(&[&a, &b], 2)]);
    let (_driver, mut queue) = queue(&volume);
    queue.submit(Request::read(1, 1 << 30, Buffer::zeroed(512)));
    assert!(volume.suspend().unwrap().is_drained(), "it was refused");
    a.hold(true);
    b.hold(true);
    queue.submit(Request::read(2, 0, Buffer::zeroed(8192)));
    let suspension = volume.suspend().unwrap();
    assert!(!suspension.is_drained());
    let mut done = Vec::new();
    for (probe, is_drained) in [(&a, false), (&b, true)] {
        probe.hold(false);
        queue.poll(&mut done);
        assert_eq!(suspension.is_drained(), is_drained);
    }
    assert_eq!(done.len(), 2);
}

/// A suspension waits for the queues that are left, and for those only.
#[test]
fn suspension_forgets_closed_queues() {
    let probe = Probe::new("probe");
    let volume = volume(vec![linear(&probe, 8192)]);
    let ((_driver, mut left), (_other, closed)) = (queue(&volume), queue(&volume));
    drop(closed);
    probe.hold(true);
    left.submit(Request::read(1, 0, Buffer::zeroed(8192)));
    let suspension = volume.suspend().unwrap();
    assert!(!suspension.is_drained());
    drop(left);
    assert!(suspension.is_drained());
}

/// A longer table over the same bytes is growth, and one over other bytes is none.
#[test]
fn growth_is_told_from_other_tables() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 8192)]);
    for (pieces, is_growth) in [
        (vec![linear(&a, 8192)], true),
        (vec![linear(&a, 8192), linear(&b, 4096)], true),
        (vec![linear(&a, 4096)], false),
        (vec![linear(&b, 8192)], false),
    ] {
        let table = table(pieces);
        assert_eq!(volume.is_growth(&table), is_growth);
        assert_eq!(volume.grow(table).is_ok(), is_growth);
        let back = volume.suspend().unwrap();
        back.publish(self::table(vec![linear(&a, 8192)])).unwrap();
    }
}

/// A table that is published too early is refused; a dropped suspension changes nothing.
#[test]
fn busy_volumes_keep_their_table() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096)]);
    let (_driver, mut queue) = queue(&volume);
    a.hold(true);
    queue.submit(Request::read(1, 0, Buffer::zeroed(512)));
    let suspension = volume.suspend().unwrap();
    let error = suspension
        .publish(table(vec![linear(&b, 4096)]))
        .unwrap_err();
    assert_eq!((error.kind(), volume.generation()), (crate::Kind::Busy, 1));
    a.hold(false);
    let mut done = Vec::new();
    queue.poll(&mut done);
    write(&mut queue, 0, 512).unwrap();
    assert_eq!((done.len(), a.log().len(), b.log().len()), (1, 2, 0));
}

/// Tables are exchanged under writers in other threads; each write is on exactly one leg, the one
/// that was current, and nothing is in flight while the volume is drained.
#[test]
fn exchange_under_load() {
    let (a, b) = (Probe::new("a"), Probe::new("b"));
    let volume = volume(vec![linear(&a, 4096)]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let asked = std::thread::scope(|scope| {
        let threads = [0, 1].map(|_| {
            scope.spawn(|| {
                let (driver, mut queue) = queue(&volume);
                let (mut asked, mut done) = (0_usize, Vec::new());
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    while queue.in_flight() < 4 {
                        queue.submit(Request::read(0, 0, Buffer::empty()));
                        queue.submit(Request::read(0, 0, Buffer::zeroed(512)));
                        asked += 1;
                    }
                    queue.poll(&mut done);
                    if done.is_empty() {
                        let limit = Some(Duration::from_secs(10));
                        driver.wait(&mut [], limit).unwrap();
                    }
                    done.drain(..).for_each(|answer| answer.result.unwrap());
                }
                while queue.in_flight() > 0 {
                    queue.poll(&mut done);
                }
                asked
            })
        });
        let mut seen = 0;
        for round in 0..200 {
            let suspension = volume.suspend().unwrap();
            suspension.wait(Duration::from_secs(10)).unwrap();
            let (before, after) = (a.log().len(), b.log().len());
            let (idle, next) = match round % 2 {
                0 => (after, &b),
                _ => (before, &a),
            };
            assert_eq!(idle, 0, "only the current leg is asked");
            seen += before + after;
            suspension.publish(table(vec![linear(next, 4096)])).unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let asked: usize = threads
            .map(|thread| thread.join().unwrap())
            .into_iter()
            .sum();
        asked - seen
    });
    assert_eq!(asked, a.log().len() + b.log().len());
}

//! Homes of well-behaved, late and broken machines.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use block::memory::MemoryDevice;
use block::{Buffer, Completion, Device, Driver, Error, Info, Kind, Queue, Request};

use super::{DEPTH_MAX, Home};
use crate::delay::{Delay, Slowness};
use crate::machine::sealed::Sealed;
use crate::machine::{Event, Face, Machine, Step, Steps};
use crate::map::NoMap;

const LIMIT: Duration = Duration::from_secs(10);
const MS: Duration = Duration::from_millis(1);

fn home_of<M: Machine>(machine: M) -> crate::Result<Home<M>> {
    let leg = Arc::new(MemoryDevice::new("leg", 1 << 20));
    Home::start("home", machine, vec![leg], LIMIT)
}

fn late(read: Duration) -> Home<Delay> {
    let slowness = Slowness {
        read,
        ..Slowness::default()
    };
    home_of(Delay::new("late", slowness)).expect("starts")
}

fn one_face(legs: &[Info]) -> Vec<Option<Face>> {
    let (info, extents_of_leg) = (legs[0].clone(), None);
    vec![Some(Face {
        info,
        extents_of_leg,
    })]
}

fn queue<M: Machine>(home: &Home<M>) -> (Driver, Box<dyn Queue>) {
    let driver = Driver::new().unwrap();
    let queue = home.face(0).unwrap().open_queue(&driver).unwrap();
    (driver, queue)
}

fn read(tag: u64) -> Request {
    Request::read(tag, 0, Buffer::zeroed(512))
}

/// Polls and waits until nothing is in flight.
fn finish(driver: &Driver, queue: &mut Box<dyn Queue>) -> Vec<Completion> {
    let mut done = Vec::new();
    queue.poll(&mut done);
    while queue.in_flight() > 0 {
        driver.wait(&mut [], Some(LIMIT)).unwrap();
        queue.poll(&mut done);
    }
    done
}

/// More requests than the home takes at a time are all answered, each under its own tag.
#[test]
fn deep_queues_are_served() {
    let home = late(Duration::ZERO);
    let (driver, mut queue) = queue(&home);
    let count = 5 * DEPTH_MAX as u64 + 3;
    (0..count).for_each(|tag| queue.submit(read(tag)));
    let mut tags: Vec<u64> = finish(&driver, &mut queue)
        .iter()
        .map(|answer| answer.tag)
        .collect();
    tags.sort_unstable();
    assert!(tags.into_iter().eq(0..count));
}

/// Answers come late, and not by much more than they have to.
#[test]
fn answers_come_late() {
    let home = late(20 * MS);
    let (driver, mut queue) = queue(&home);
    let start = std::time::Instant::now();
    (0..8).for_each(|tag| queue.submit(read(tag)));
    finish(&driver, &mut queue);
    let elapsed = start.elapsed();
    assert!((20 * MS..LIMIT).contains(&elapsed), "took {elapsed:?}");
}

/// A suspended home ends what is in flight, holds what comes, and goes on when resumed.
#[test]
fn suspending_holds_requests() {
    let home = late(5 * MS);
    let (driver, mut queue) = queue(&home);
    let mut done = Vec::new();
    queue.submit(read(1));
    queue.poll(&mut done);
    home.suspend(LIMIT).unwrap();
    assert_eq!(home.suspend(LIMIT).unwrap_err().kind(), crate::Kind::Busy);
    queue.submit(read(2));
    queue.poll(&mut done);
    assert_eq!((done.len(), queue.in_flight()), (1, 1), "the first is done");
    driver.wait(&mut [], Some(20 * MS)).unwrap();
    queue.poll(&mut done);
    assert_eq!(done.len(), 1, "the second is held");
    home.resume().unwrap();
    done.extend(finish(&driver, &mut queue));
    assert_eq!(done[1].tag, 2);
}

/// A machine that answers nothing before it is told to.
#[derive(Default)]
struct Gate {
    held: Vec<Request>,
    is_open: bool,
    is_suspending: bool,
}

impl Sealed for Gate {}

impl Machine for Gate {
    type Control = ();
    type Status = usize;
    type Notice = Infallible;
    type Config = ();
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn status(&self) -> usize {
        self.held.len()
    }

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        one_face(legs)
    }

    fn foresee(&self, (): &(), legs: &[Info]) -> crate::Result<Vec<Option<Face>>> {
        Ok(one_face(legs))
    }

    fn event(&mut self, event: Event<(), ()>, _now: Duration, steps: &mut Steps<Infallible>) {
        match event {
            Event::Start => steps.push(Step::Started(Ok(()))),
            Event::Request { request, .. } => self.held.push(request),
            Event::Control { id, control: () } => {
                self.is_open = true;
                steps.push(Step::Obeyed { id, result: Ok(()) });
            }
            Event::Suspend => self.is_suspending = true,
            Event::Resume => {}
            Event::Stop => steps.push(Step::Stopped),
            _ => unreachable!("it asks for nothing"),
        }
        if self.is_open {
            for request in self.held.drain(..) {
                let (tag, buffer) = (request.tag, request.buffer);
                let result = Ok(());
                steps.push(Step::Done(Completion {
                    tag,
                    result,
                    buffer,
                }));
            }
        }
        if self.held.is_empty() && std::mem::take(&mut self.is_suspending) {
            steps.push(Step::Suspended);
        }
    }
}

/// A suspension that takes too long is given up: the home goes on by itself.
#[test]
fn late_suspensions_are_taken_back() {
    let home = home_of(Gate::default()).expect("starts");
    let (driver, mut queue) = queue(&home);
    queue.submit(read(1));
    queue.poll(&mut Vec::new());
    let error = home.suspend(MS).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::TimedOut);
    assert_eq!(home.status(LIMIT).unwrap(), 1, "it holds the first");
    home.control((), LIMIT).unwrap();
    queue.submit(read(2));
    assert_eq!(finish(&driver, &mut queue).len(), 2);
}

/// Queues that are dropped wait for what is in flight, and not for what is held.
#[test]
fn dropped_queues_do_not_hang() {
    let home = late(20 * MS);
    let (_driver, mut queue) = queue(&home);
    (0..10).for_each(|tag| queue.submit(read(tag)));
    queue.poll(&mut Vec::new());
    drop(queue);
    home.suspend(LIMIT).unwrap();
    let (_driver, mut queue) = self::queue(&home);
    (0..10).for_each(|tag| queue.submit(read(tag)));
    queue.poll(&mut Vec::new());
    drop(home);
    drop(queue);
}

/// A machine that does what its test says.
struct Broken {
    start: Option<Error>,
}

impl Sealed for Broken {}

impl Machine for Broken {
    type Control = ();
    type Status = ();
    type Notice = Infallible;
    type Config = ();
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn status(&self) {}

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        one_face(legs)
    }

    fn foresee(&self, (): &(), legs: &[Info]) -> crate::Result<Vec<Option<Face>>> {
        Ok(one_face(legs))
    }

    fn event(&mut self, event: Event<(), ()>, _now: Duration, steps: &mut Steps<Infallible>) {
        match event {
            Event::Start => steps.push(Step::Started(self.start.take().map_or(Ok(()), Err))),
            Event::Request { request, .. } if request.tag == 3 => panic!("this machine breaks"),
            Event::Request { .. } | Event::Control { .. } => {}
            Event::Stop => steps.push(Step::Stopped),
            _ => unreachable!("nothing else happens in these tests"),
        }
    }
}

/// A machine that cannot be loaded says why.
#[test]
fn failed_starts_are_told() {
    let start = Some(Error::new(Kind::Invalid, "the log is torn"));
    let error = home_of(Broken { start }).err().unwrap();
    assert_eq!(error.to_string(), "home: the log is torn");
}

/// A machine that panics fails its requests, and those that come later, and hangs nobody.
#[test]
fn panics_are_answered() {
    let home = home_of(Broken { start: None }).unwrap();
    let (driver, mut queue) = queue(&home);
    (0..8).for_each(|tag| queue.submit(read(tag)));
    let gone = |done: Vec<Completion>| {
        let kinds = done
            .iter()
            .map(|answer| answer.result.as_ref().unwrap_err().kind());
        kinds.filter(|kind| *kind == Kind::Gone).count()
    };
    assert_eq!(gone(finish(&driver, &mut queue)), 8);
    queue.submit(read(9));
    assert_eq!(gone(finish(&driver, &mut queue)), 1);
    assert!(home.resume().is_err());
}

/// An order that is not obeyed is not waited for.
#[test]
fn orders_have_a_limit() {
    let home = home_of(Broken { start: None }).unwrap();
    let error = home.control((), MS).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::TimedOut);
}

/// Parts of one leg, a face each; the size of each, if it is there.
struct Parts(Vec<Option<u64>>);

impl Parts {
    fn faces_of(config: &[Option<u64>], legs: &[Info]) -> Vec<Option<Face>> {
        let face = |size: &Option<u64>| {
            Some(Face {
                info: Info {
                    size: (*size)?,
                    ..legs[0].clone()
                },
                extents_of_leg: Some(0),
            })
        };
        config.iter().map(face).collect()
    }
}

impl Sealed for Parts {}

/// Its answers are those of the leg, which holds the faces one behind the other, 4 KiB each.
impl Machine for Parts {
    type Control = ();
    type Status = ();
    type Notice = Infallible;
    type Config = Vec<Option<u64>>;
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn status(&self) {}

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        Self::faces_of(&self.0, legs)
    }

    fn foresee(&self, config: &Self::Config, legs: &[Info]) -> crate::Result<Vec<Option<Face>>> {
        if config.is_empty() {
            return Err(crate::Error::new(crate::Kind::Busy, "it needs a face"));
        }
        Ok(Self::faces_of(config, legs))
    }

    fn event(
        &mut self,
        event: Event<(), Self::Config>,
        _now: Duration,
        steps: &mut Steps<Infallible>,
    ) {
        match event {
            Event::Start => steps.push(Step::Started(Ok(()))),
            Event::Request { face, mut request } => {
                let range = request.range;
                let start = range.start() + 4096 * face as u64;
                request.range = block::Range::new(start, range.len());
                steps.push(Step::Sub { leg: 0, request });
            }
            Event::Answer { answer, .. } => steps.push(Step::Done(answer)),
            Event::Suspend => steps.push(Step::Suspended),
            Event::Reload(config) => self.0 = config,
            Event::Resume => {}
            Event::Stop => steps.push(Step::Stopped),
            _ => unreachable!("it asked for none"),
        }
    }
}

fn ask<M: Machine>(home: &Home<M>, face: usize, start: u64) -> block::Result<u8> {
    let face = home.face(face).expect("it is there");
    let mut device = block::BlockingDevice::open(&face)?;
    device
        .read(block::Range::new(start, 512))
        .map(|bytes| bytes[0])
}

/// Faces of one machine come, go and change their size while it is suspended; a queue that was
/// opened before is held to what is there now.
#[test]
fn faces_come_and_go() {
    let legs = |byte: u8| -> Vec<Arc<dyn Device>> {
        vec![Arc::new(MemoryDevice::from_bytes(
            "leg",
            vec![byte; 1 << 20],
        ))]
    };
    let old = Home::start("home", Parts(vec![Some(4096), Some(4096)]), legs(1), LIMIT).unwrap();
    assert!(old.face(2).is_none());
    assert_eq!(
        [ask(&old, 0, 3584), ask(&old, 1, 0)].map(Result::unwrap),
        [1, 1]
    );
    let error = old.prepare(Vec::new(), legs(2), LIMIT).err().unwrap();
    assert_eq!(error.to_string(), "it needs a face");

    let forgotten = old.prepare(vec![None], legs(3), LIMIT).unwrap();
    let change = || vec![Some(512), None, Some(1024)];
    let prepared = old.prepare(change(), legs(2), LIMIT).unwrap();
    drop(forgotten);
    let error = prepared.reload(LIMIT).err().unwrap();
    assert_eq!(error.kind(), crate::Kind::Busy, "it is not suspended");
    old.suspend(LIMIT).unwrap();
    let replaced = old.prepare(vec![None], legs(3), LIMIT).unwrap();
    let prepared = old.prepare(change(), legs(2), LIMIT).unwrap();
    let error = replaced.reload(LIMIT).err().unwrap();
    assert_eq!(error.kind(), crate::Kind::Busy, "another one is prepared");
    let ahead = prepared.home().clone();
    let new = prepared.reload(LIMIT).unwrap();
    new.resume().unwrap();

    assert_eq!(
        [ask(&new, 0, 0), ask(&ahead, 2, 512)].map(Result::unwrap),
        [2, 2]
    );
    assert!(new.face(1).is_none());
    let kinds = [(0, 512), (1, 0)].map(|(face, at)| ask(&old, face, at).unwrap_err().kind());
    assert_eq!(kinds, [Kind::InvalidRequest, Kind::Gone]);
}

/// One that becomes another one by a start only; a start reads its leg, and may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heir {
    number: u64,
    starts: bool,
}

impl Sealed for Heir {}

impl Machine for Heir {
    type Control = ();
    type Status = u64;
    type Notice = Infallible;
    type Config = Self;
    type Map = NoMap;

    fn map(&self) -> Arc<NoMap> {
        Arc::new(NoMap)
    }

    fn status(&self) -> u64 {
        self.number
    }

    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>> {
        one_face(legs)
    }

    fn foresee(&self, _: &Self, legs: &[Info]) -> crate::Result<Vec<Option<Face>>> {
        Ok(one_face(legs))
    }

    fn successor(&self, config: &Self, _: &[Info]) -> crate::Result<Option<Self>> {
        Ok(Some(*config))
    }

    fn event(&mut self, event: Event<(), Self>, _now: Duration, steps: &mut Steps<Infallible>) {
        let start = u64::MAX;
        match event {
            Event::Start => {
                let request = Request::read(start, 0, Buffer::zeroed(512));
                steps.push(Step::Sub { leg: 0, request });
            }
            Event::Request { request, .. } => steps.push(Step::Sub { leg: 0, request }),
            Event::Answer { answer, .. } if answer.tag == start => {
                let failed = block::Error::new(Kind::Io, "its start fails");
                let result = self.starts.then_some(()).ok_or(failed);
                steps.push(Step::Started(result));
            }
            Event::Answer { answer, .. } => steps.push(Step::Done(answer)),
            Event::Suspend => steps.push(Step::Suspended),
            Event::Stop => steps.push(Step::Stopped),
            // The first one never obeys.
            Event::Resume | Event::Control { .. } => {}
            _ => unreachable!("it is not reloaded"),
        }
    }
}

/// While requests are held another machine takes the place of one, on other legs, and starts. Who
/// wants it suspended meanwhile waits for that; what was ordered before is not obeyed.
#[test]
fn machines_have_successors() {
    let legs = |byte: u8| -> Vec<Arc<dyn Device>> {
        vec![Arc::new(MemoryDevice::from_bytes("leg", vec![byte; 4096]))]
    };
    let first = Heir {
        number: 0,
        starts: true,
    };
    let home = Home::start("home", first, legs(1), LIMIT).unwrap();
    assert_eq!(ask(&home, 0, 0).unwrap(), 1);
    let order = {
        let home = home.clone();
        std::thread::spawn(move || home.control((), LIMIT))
    };
    for number in 1..20 {
        home.suspend(LIMIT).unwrap();
        let heir = Heir { number, ..first };
        let byte = number as u8 + 1;
        let prepared = home.prepare(heir, legs(byte), LIMIT).unwrap();
        assert_eq!(
            home.status(LIMIT).unwrap(),
            number - 1,
            "nothing is done yet"
        );
        let home = prepared.reload(LIMIT).unwrap();
        assert_eq!(home.status(LIMIT).unwrap(), number);
        let error = home.prepare(heir, legs(byte), LIMIT).err().unwrap();
        assert_eq!(error.kind(), crate::Kind::Busy, "it has not started");
        let (driver, mut queue) = queue(&home);
        queue.submit(read(number));
        home.resume().unwrap();
        if number % 2 == 0 {
            home.suspend(LIMIT).unwrap();
            home.resume().unwrap();
        }
        let answers = finish(&driver, &mut queue);
        assert!(matches!(&answers[..], [answer] if answer.buffer[0] == byte));
    }
    let error = order.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Busy, "who was told is no more");
}

/// Where the start of a successor fails, it has ended: what was held fails, and all that comes.
#[test]
fn successors_may_not_start() {
    let first = Heir {
        number: 0,
        starts: true,
    };
    let home = home_of(first).unwrap();
    home.suspend(LIMIT).unwrap();
    let heir = Heir {
        number: 1,
        starts: false,
    };
    let leg: Arc<dyn Device> = Arc::new(MemoryDevice::new("leg", 4096));
    let home = home.prepare(heir, vec![leg], LIMIT).unwrap();
    let home = home.reload(LIMIT).unwrap();
    let (driver, mut queue) = queue(&home);
    queue.submit(read(1));
    home.resume().unwrap();
    let answers = finish(&driver, &mut queue);
    assert_eq!(answers[0].result.as_ref().unwrap_err().kind(), Kind::Gone);
    assert!(home.controller().has_ended());
}

/// A home that was made suspended asks its legs for nothing before it is resumed, and may end
/// before that; who asked it hears so.
#[test]
fn homes_wait_to_be_started() {
    let make = || {
        let first = Heir {
            number: 0,
            starts: true,
        };
        let leg: Arc<dyn Device> = Arc::new(MemoryDevice::from_bytes("leg", vec![7; 4096]));
        Home::suspended("home", first, vec![leg], LIMIT, Box::new(|_, _| {})).unwrap()
    };
    let home = make();
    let (driver, mut asks) = queue(&home);
    asks.submit(read(1));
    assert!(home.control((), LIMIT).is_err(), "it obeys nothing yet");
    assert_eq!(asks.in_flight(), 1);
    home.resume().unwrap();
    let answers = finish(&driver, &mut asks);
    assert!(matches!(&answers[..], [answer] if answer.buffer[0] == 7));
    drop(make());
    let home = make();
    let (driver, mut asks) = queue(&home);
    asks.submit(read(1));
    let controller = home.controller();
    drop((home, asks));
    assert!(controller.has_ended());
    drop(driver);
}

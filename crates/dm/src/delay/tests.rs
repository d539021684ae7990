//! The machine alone, in time that the tests make up.

use std::convert::Infallible;
use std::time::Duration;

use block::{Buffer, Operation, Range, Request};

use super::{Delay, Slowness};
use crate::machine::{Event, Machine, Step, Steps};

const MS: Duration = Duration::from_millis(1);

/// The steps of an event.
fn tell(
    delay: &mut Delay,
    event: Event<Slowness, Slowness>,
    now: Duration,
) -> Vec<Step<Infallible>> {
    let mut steps = Steps::default();
    delay.event(event, now, &mut steps);
    std::iter::from_fn(|| steps.pop()).collect()
}

fn read(tag: u64, len: usize) -> Event<Slowness, Slowness> {
    Event::Request {
        face: 0,
        request: Request::read(tag, 0, Buffer::zeroed(len)),
    }
}

/// A request waits for its latency, goes to the leg, and its answer is the leg's.
#[test]
fn latency_comes_first() {
    let slowness = Slowness {
        read: 3 * MS,
        ..Slowness::default()
    };
    let mut delay = Delay::new("slow", slowness);
    assert!(matches!(
        tell(&mut delay, Event::Start, MS)[..],
        [Step::Started(Ok(()))]
    ));
    let [Step::Timer { at, key }] = tell(&mut delay, read(7, 512), MS)[..] else {
        panic!("a read waits");
    };
    assert_eq!(at, 4 * MS);
    let mut steps = tell(&mut delay, Event::Timer(key), at);
    let Some(Step::Sub { leg: 0, request }) = steps.pop() else {
        panic!("then it goes to the leg");
    };
    let answer = request.complete(Ok(()));
    let event = Event::Answer { leg: 0, answer };
    let steps = tell(&mut delay, event, 5 * MS);
    assert!(matches!(&steps[..], [Step::Done(answer)] if answer.tag == 7));
    let flush = Request::bare(8, Operation::Flush, Range::EMPTY);
    let steps = tell(
        &mut delay,
        Event::Request {
            face: 0,
            request: flush,
        },
        5 * MS,
    );
    assert!(
        matches!(steps[..], [Step::Sub { .. }]),
        "no latency, no wait"
    );
}

/// Data goes over one wire: requests follow each other, and a pause is not saved up.
#[test]
fn the_rate_is_shared() {
    let slowness = Slowness {
        bytes_per_second: Some(512_000),
        ..Slowness::default()
    };
    let mut delay = Delay::new("slow", slowness);
    let mut due = |now| match tell(&mut delay, read(1, 512), now)[..] {
        [Step::Timer { at, .. }] => at,
        _ => panic!("a read waits"),
    };
    assert_eq!([due(MS), due(MS), due(2 * MS)], [2 * MS, 3 * MS, 4 * MS]);
    assert_eq!(due(10 * MS), 11 * MS);
}

/// Suspending and stopping wait for what is in flight.
#[test]
fn ends_when_idle() {
    let mut delay = Delay::new("fast", Slowness::default());
    let mut steps = tell(&mut delay, read(1, 512), MS);
    let Some(Step::Sub { request, .. }) = steps.pop() else {
        panic!("no latency, no wait");
    };
    assert!(tell(&mut delay, Event::Suspend, MS).is_empty());
    let answer = request.complete(Ok(()));
    let steps = tell(&mut delay, Event::Answer { leg: 0, answer }, MS);
    assert!(matches!(steps[..], [Step::Done(_), Step::Suspended]));
    let steps = tell(&mut delay, Event::Stop, MS);
    assert!(matches!(steps[..], [Step::Stopped]));
}

/// An order changes the latency of what comes after it.
#[test]
fn orders_are_obeyed() {
    let mut delay = Delay::new("slow", Slowness::default());
    let control = Slowness {
        read: 10 * MS,
        ..Slowness::default()
    };
    let steps = tell(&mut delay, Event::Control { id: 3, control }, MS);
    assert!(matches!(
        steps[..],
        [Step::Obeyed {
            id: 3,
            result: Ok(())
        }]
    ));
    assert_eq!(delay.status(), control);
    let steps = tell(&mut delay, read(7, 512), MS);
    assert!(matches!(steps[..], [Step::Timer { at, .. }] if at == 11 * MS));
}

//! A sleep in a ring ends for what the sleeper awaits, whatever it watched before.

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use super::{Done, Engine, EngineKind, Job};
use crate::engine::{Action, Call};

/// Far more than an answer takes on a loaded machine.
const LONG: Option<Duration> = Some(Duration::from_mins(1));

/// An engine with a ring; none where the kernel grants no ring.
fn engine() -> Option<Engine> {
    let wake: OwnedFd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
    Engine::new(EngineKind::Uring, Arc::new(wake)).ok()
}

fn watch(socket: &UnixStream) -> libc::pollfd {
    libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    }
}

#[test]
fn a_sleep_with_a_limit_ends_for_answers_only() {
    // Beside a call in flight, what earlier sleeps watched ends no later one: each answer takes
    // one sleep, though its call is answered long after the sleep began.
    let Some(mut engine) = engine() else { return };
    let (quiet, _theirs) = UnixStream::pair().unwrap();
    let queue = engine.open_queue();
    let mut answers: Vec<Done> = Vec::new();
    for _ in 0..20 {
        let (pipe, mut end) = std::io::pipe().unwrap();
        let mut byte = [0_u8];
        // SAFETY: the pipe and the byte live until the answer came.
        let call =
            unsafe { Call::transfer(pipe.as_raw_fd(), Action::Read, 0, byte.as_mut_ptr(), 1) };
        engine.give(Job {
            queue,
            slot: 0,
            call,
        });
        // Leaves a watch to be taken back.
        let mut others = [watch(&quiet)];
        engine
            .sleep(&mut others, Some(Duration::ZERO))
            .unwrap()
            .unwrap();
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            end.write_all(b"x").unwrap();
        });
        engine.sleep(&mut others, LONG).unwrap().unwrap();
        answers.clear();
        engine.fetch(queue, &mut answers);
        let early = answers.is_empty();
        while answers.is_empty() {
            engine.sleep(&mut [], LONG).unwrap().unwrap();
            engine.fetch(queue, &mut answers);
        }
        writer.join().unwrap();
        assert_eq!(others[0].revents, 0);
        assert!(!early, "a sleep ended before its answer came");
        assert_eq!(answers[0].result, 1);
    }
    engine.close_queue(queue);
}

#[test]
fn a_sleep_for_nothing_lasts_as_long_as_its_limit() {
    // Beside a call in flight and after other watches, a sleep for which nothing comes takes its
    // whole time, and a socket that becomes ready is told apart from one that was watched before.
    let Some(mut engine) = engine() else { return };
    let (quiet, theirs) = UnixStream::pair().unwrap();
    let (pipe, mut end) = std::io::pipe().unwrap();
    let mut byte = [0_u8];
    let queue = engine.open_queue();
    // SAFETY: the pipe and the byte live until the answer came.
    let call = unsafe { Call::transfer(pipe.as_raw_fd(), Action::Read, 0, byte.as_mut_ptr(), 1) };
    engine.give(Job {
        queue,
        slot: 0,
        call,
    });
    let limit = Duration::from_millis(5);
    for _ in 0..20 {
        let (start, mut others) = (Instant::now(), [watch(&quiet)]);
        engine.sleep(&mut others, Some(limit)).unwrap().unwrap();
        assert!(start.elapsed() >= limit, "{:?}", start.elapsed());
        assert_eq!(others[0].revents, 0);
    }
    (&theirs).write_all(b"x").unwrap();
    let mut others = [watch(&quiet)];
    engine.sleep(&mut others, LONG).unwrap().unwrap();
    assert_ne!(others[0].revents, 0);
    end.write_all(b"x").unwrap();
    let mut answers = Vec::new();
    while answers.is_empty() {
        engine.sleep(&mut [], LONG).unwrap().unwrap();
        engine.fetch(queue, &mut answers);
    }
    engine.close_queue(queue);
}

//! Messages and answers between real threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Mailbox, Outbox};
use crate::{Buffer, Completion, Driver};

fn answer(tag: u64) -> Completion {
    Completion {
        tag,
        result: Ok(()),
        buffer: Buffer::empty(),
    }
}

#[test]
fn messages_of_many_threads_come_once_and_in_order() {
    // Proves: an owner that sleeps whenever it may misses nothing, whoever sends.
    const THREADS: u64 = 4;
    const EACH: u64 = 2000;
    let driver = Driver::new().expect("a driver");
    let mailbox = Arc::new(Mailbox::default());
    mailbox.set_waker(driver.waker());
    let senders = (0..THREADS).map(|thread| {
        let mailbox = Arc::clone(&mailbox);
        std::thread::spawn(move || {
            for number in 0..EACH {
                mailbox.send(&mut vec![(thread, number)]);
            }
        })
    });
    let senders: Vec<_> = senders.collect();
    let (mut next, mut received) = ([0; THREADS as usize], VecDeque::new());
    while next.iter().sum::<u64>() < THREADS * EACH {
        mailbox.receive(&mut received);
        for (thread, number) in received.drain(..) {
            assert_eq!(next[thread as usize], number, "in order");
            next[thread as usize] += 1;
        }
        let is_over = next.iter().sum::<u64>() == THREADS * EACH;
        if !is_over && mailbox.may_sleep() {
            // A message that wakes nobody would make this wait end with its limit.
            let before = std::time::Instant::now();
            driver
                .wait(&mut [], Some(Duration::from_mins(1)))
                .expect("waits");
            assert!(before.elapsed() < Duration::from_secs(50), "it was woken");
        }
    }
    for sender in senders {
        sender.join().expect("it ends");
    }
}

#[test]
fn a_closed_mailbox_leaves_messages_with_their_sender() {
    // Proves: what the owner does not get is neither lost nor taken.
    let mailbox = Mailbox::default();
    mailbox.send(&mut vec![1]);
    assert_eq!(mailbox.close(), [1]);
    let mut kept = vec![2, 3];
    mailbox.send(&mut kept);
    assert_eq!(kept, [2, 3]);
    assert!(mailbox.is_closed() && mailbox.close().is_empty());
}

#[test]
fn a_queue_waits_for_as_many_answers_as_it_misses() {
    // Proves: only the first answer in an empty box asks for a wake-up, and that is enough for
    // whoever waits for several.
    let driver = Driver::new().expect("a driver");
    let outbox = Outbox::new(driver.waker());
    assert!(outbox.put(answer(1)));
    assert!(!outbox.put(answer(2)));
    let mut done = Vec::new();
    assert_eq!(outbox.take(&mut done), 2);
    assert_eq!(done.iter().map(|one| one.tag).collect::<Vec<_>>(), [1, 2]);
    let owner = Arc::clone(&outbox);
    let owner = std::thread::spawn(move || {
        for tag in 0..1000 {
            if owner.put(answer(tag)) {
                owner.notify();
            }
        }
    });
    outbox.wait_for(1000);
    owner.join().expect("it ends");
    assert_eq!(outbox.take(&mut done), 0);
}

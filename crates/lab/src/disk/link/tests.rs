//! Links against closed forms.

use super::{Linked, Network};
use crate::disk::capped::{Cap, Capped};
use crate::disk::catalog;
use crate::disk::drive::{Command, Drive, Model, Operation};
use crate::disk::rotation::Angle;

/// A volume that answers at once.
fn instant() -> Capped {
    let cap = Cap {
        blocks: 1 << 20,
        operations: None,
        bytes: None,
        burst_ns: 0,
        latency_ns: 0,
    };
    Capped::new(cap).unwrap()
}

/// 1 byte per 10 ns, 1 ms there and back, no headers.
const NETWORK: Network = Network {
    rate: 100_000_000,
    round_trip_ns: 1_000_000,
    header: 0,
};

fn command(tag: u64, operation: Operation, count: u32) -> Command {
    Command {
        tag,
        operation,
        start: 0,
        count,
    }
}

fn drain(model: &mut impl Model) -> Vec<(u64, u64)> {
    let mut answers = Vec::new();
    while let Some(wake) = model.wake() {
        while let Some(answer) = model.answer(wake) {
            answers.push((answer.at_ns, answer.tag));
        }
    }
    answers
}

/// One request is a round trip and its data; many share the rate, and each direction its own.
#[test]
fn messages_share_the_rate() {
    let mut link = Linked::new(instant(), NETWORK).unwrap();
    link.submit(0, command(7, Operation::Read, 100));
    assert_eq!(drain(&mut link), [(1_512_000, 7)]);
    let mut link = Linked::new(instant(), NETWORK).unwrap();
    for tag in 0..10 {
        link.submit(0, command(tag, Operation::Write, 100));
        link.submit(0, command(100 + tag, Operation::Read, 100));
    }
    let answers = drain(&mut link);
    assert_eq!(answers.len(), 20);
    // The last read arrives with the last write, and sends its own data back.
    assert_eq!(answers[19], (1_000_000 + 11 * 512_000, 109));
}

/// A disk is slower behind a network by the network alone, request by request.
#[test]
fn a_disk_keeps_its_time() {
    let drive = Drive::new(catalog::hp97560(), Angle::default()).unwrap();
    let mut near = drive.clone();
    let mut far = Linked::new(drive, NETWORK).unwrap();
    near.submit(500_000, command(1, Operation::Read, 8));
    far.submit(0, command(1, Operation::Read, 8));
    let near = drain(&mut near);
    let far = drain(&mut far);
    assert_eq!(far[0].0, near[0].0 + 500_000 + 8 * 5120);
}

#[test]
fn a_network_has_a_rate() {
    assert!(Linked::new(instant(), Network { rate: 0, ..NETWORK }).is_err());
    let gigabit = Network::ethernet(1000, 100_000);
    assert_eq!(gigabit.rate, 117_500_000);
}

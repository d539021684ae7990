//! Arrays whose description changed since their superblocks were written: nothing moves, and what
//! is new is filled.

use std::sync::Arc;

use block::memory::MemoryDevice;
use block::sim::Random;
use block::{Access, Device};

use super::alive::{settle, write_some};
use super::made::Made;
use super::{assert_reads, losses};
use crate::raid::{ArrayConfig, ArrayLeg, LegContent, Scheme};

/// md's level and layout, and how many legs.
type Kind = (u32, u32, usize);

fn scheme(level: u32, layout: u32) -> Scheme {
    Scheme::from_md(level, layout).expect("it is known")
}

fn blank(other: &Arc<dyn Device>, byte: u8) -> Arc<dyn Device> {
    let bytes = vec![byte; other.info().size as usize];
    Arc::new(MemoryDevice::from_bytes("new", bytes))
}

/// The legs of an array as `from`, of which `count` are `to`'s, with new ones behind.
fn legs(from: &Made, to: &Made) -> (Vec<Arc<dyn Device>>, ArrayConfig) {
    let mut devices = from.legs();
    let mut config = ArrayConfig {
        access: Access::ReadWrite,
        ..to.config()
    };
    for leg in devices.len() / 2..config.legs.len() {
        devices.extend([blank(&devices[0], 0xdd), blank(&devices[1], 0)]);
        config.legs[leg].content = LegContent::Rebuild;
    }
    devices.truncate(2 * config.legs.len());
    (devices, config)
}

/// What they were, and what they are called from now on.
fn pairs() -> Vec<(Kind, Kind)> {
    let mut all = Vec::new();
    for layout in 0..4 {
        all.push(((5, layout, 4), (6, layout + 16, 5)));
        all.push(((6, layout + 16, 5), (5, layout, 4)));
    }
    all.push(((5, 5, 3), (6, 5, 4)));
    all.push(((6, 5, 5), (5, 5, 4)));
    for layout in 0..6 {
        all.push(((1, 0, 2), (5, layout, 2)));
        all.push(((5, layout, 2), (1, 0, 2)));
    }
    all
}

/// What was there is read at once, without a leg as well; it is written; and when all is filled any
/// legs may be lost that the new level may lose.
#[test]
fn arrays_go_on_as_what_they_are_called() {
    let mut random = Random::new(5);
    for (from, to) in pairs() {
        let what = format!("{from:?} to {to:?}");
        let mut before = Made::new(scheme(from.0, from.1), from.2);
        before.begin_at(0);
        let mut made = Made::new(scheme(to.0, to.1), to.2);
        assert!(made.content == before.content, "{what}: the same data");
        let (devices, config) = legs(&before, &made);
        let mut first = config.clone();
        first.access = Access::ReadOnly;
        first.legs[1] = ArrayLeg::default();
        let home = Made::start(&first, devices.clone()).expect("it starts");
        assert_reads(&made, &home, &format!("{what}, without a leg"));
        drop(home);
        let home = Made::start(&config, devices.clone()).expect("it starts");
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        assert_reads(&made, &home, &what);
        drop(home);
        for lost in losses(to.2, scheme(to.0, to.1).redundancy(to.2).min(2)) {
            let mut config = made.config();
            for leg in &lost {
                config.legs[*leg] = ArrayLeg::default();
            }
            let home = Made::start(&config, devices.clone()).expect("it starts");
            assert_reads(&made, &home, &format!("{what}, without {lost:?}"));
        }
    }
}

/// Where power was cut between the superblocks of the legs, some say what the array was: all of
/// them are believed, in any mixture.
#[test]
fn superblocks_of_both_levels_are_believed() {
    for (from, to) in pairs() {
        let what = format!("{from:?} to {to:?}");
        let mut before = Made::new(scheme(from.0, from.1), from.2);
        before.begin_at(0);
        let made = Made::new(scheme(to.0, to.1), to.2);
        let mut after = Made::new(scheme(to.0, to.1), to.2);
        after.begin_at(0);
        let shared = from.2.min(to.2);
        // The first record has the same events as the last one before, the next one has more.
        for written in 0..2_usize << shared {
            after.change(|one| one.events = 10 + (written >> shared) as u64);
            let (mut devices, mut config) = legs(&before, &made);
            config.access = Access::ReadOnly;
            for leg in (0..shared).filter(|leg| written >> leg & 1 == 1) {
                devices[2 * leg + 1] = Arc::clone(&after.legs()[2 * leg + 1]);
            }
            let home = Made::start(&config, devices).expect("it starts");
            assert_reads(&made, &home, &format!("{what}: {written:b} were written"));
            let status = home.status(super::LIMIT).expect("it runs");
            let doubted = status.remarks.iter().find(|one| one.contains("believed"));
            assert_eq!(doubted, None, "{what}: {written:b}");
        }
    }
}

//! Arrays that are written: with all legs, without some, and with one that comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::memory::MemoryDevice;
use block::sim::Random;
use block::{Access, BlockingDevice, Device, Range};

use super::made::{CHUNK, Made, REGION};
use super::{LIMIT, assert_reads, losses, schemes};
use crate::home::Home;
use crate::raid::{
    Action, Array, ArrayConfig, ArrayLeg, Geometry, LegContent, LegState, Notice, Scheme,
};

/// How often something is written.
const WRITES: usize = 60;

pub(super) fn writable(made: &Made) -> ArrayConfig {
    ArrayConfig {
        access: Access::ReadWrite,
        ..made.config()
    }
}

pub(super) fn without(config: &ArrayConfig, lost: &[usize]) -> ArrayConfig {
    let mut config = config.clone();
    for leg in lost {
        config.legs[*leg] = ArrayLeg::default();
    }
    config
}

/// Writes here and there, and reads some of it back.
pub(super) fn write_some(made: &mut Made, home: &Home<Array>, random: &mut Random, what: &str) {
    let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
    let sectors = made.content.len() as u64 / 512;
    for number in 0..WRITES {
        let start = random.below(sectors);
        let most = if number % 4 == 0 { 9 * CHUNK } else { CHUNK };
        let len = 1 + random.below((sectors - start).min(most / 512));
        let range = Range::new(start * 512, len * 512);
        let bytes: Vec<u8> = (0..range.len()).map(|_| random.number() as u8).collect();
        device
            .write_at(&bytes, range.start())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        made.content[range.start() as usize..range.end() as usize].copy_from_slice(&bytes);
        let read = device.read(range).expect("it is read");
        assert!(read == bytes, "{what}: {range:?} is not what was written");
    }
    device
        .flush()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Waits until nothing is brought in sync any more.
pub(super) fn settle(home: &Home<Array>, what: &str) {
    let begun = Instant::now();
    loop {
        let status = home.status(LIMIT).expect("it runs");
        let is_filling = status.legs.iter().any(|leg| leg.0 == LegState::Filling);
        if status.action == Action::Idle && !is_filling {
            return;
        }
        assert!(begun.elapsed() < LIMIT, "{what}: {status:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Nobody's array is written by reading what it holds without these legs.
pub(super) fn assert_redundant(
    made: &Made,
    legs: &[Arc<dyn Device>],
    lost: &[Vec<usize>],
    what: &str,
) {
    for lost in lost {
        let config = without(&made.config(), lost);
        let home = Made::start(&config, legs.to_vec()).expect("it starts");
        assert_reads(made, &home, &format!("{what}, read without {lost:?}"));
    }
}

/// What is written is read, and is there without any legs that the array may lose.
#[test]
fn every_layout_is_written() {
    let mut random = Random::new(1);
    for (scheme, legs) in schemes() {
        let what = format!("{scheme:?} of {legs}");
        let mut made = Made::new(scheme, legs);
        let devices = made.legs();
        let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
        write_some(&mut made, &home, &mut random, &what);
        assert_reads(&made, &home, &what);
        drop(home);
        let lost = losses(legs, scheme.redundancy(legs).min(2));
        assert_redundant(&made, &devices, &lost, &what);
    }
}

/// An array that lacks legs is written, too; what it lacked they get when they are back, and then
/// others may be lost.
#[test]
fn legs_that_were_away_get_what_they_missed() {
    let mut random = Random::new(2);
    for (scheme, legs) in schemes() {
        let losses = losses(legs, scheme.redundancy(legs).min(2));
        for lost in losses.iter().filter(|lost| !lost.is_empty()) {
            let what = format!("{scheme:?} of {legs} without {lost:?}");
            let mut made = Made::new(scheme, legs);
            let devices = made.legs();
            let config = without(&writable(&made), lost);
            let home = Made::start(&config, devices.clone()).expect("it starts");
            write_some(&mut made, &home, &mut random, &what);
            assert_reads(&made, &home, &what);
            drop(home);
            assert_redundant(&made, &devices, &[lost.clone(), Vec::new()], &what);
            let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
            write_some(&mut made, &home, &mut random, &what);
            settle(&home, &what);
            assert_reads(&made, &home, &what);
            drop(home);
            assert_redundant(&made, &devices, &losses, &what);
        }
    }
}

/// What was never in sync, and what writes may have been cut short in, is brought in sync.
#[test]
fn what_is_not_in_sync_is_brought_in_sync() {
    let mut random = Random::new(3);
    for (scheme, legs) in schemes() {
        for until in [None, Some(0), Some(3 * super::made::REGION)] {
            let what = format!("{scheme:?} of {legs}, in sync up to {until:?}");
            let mut made = Made::new(scheme, legs);
            made.tear(2..4);
            if let Some(until) = until {
                made.synced_until(until);
            }
            let devices = made.legs();
            let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
            settle(&home, &what);
            write_some(&mut made, &home, &mut random, &what);
            assert_reads(&made, &home, &what);
            drop(home);
            let lost = losses(legs, scheme.redundancy(legs).min(2));
            assert_redundant(&made, &devices, &lost, &what);
        }
    }
}

/// An array that becomes another one while it is used keeps what it knows: larger, its end is
/// brought in sync; with another leg in the place of one that is gone, that is filled.
#[test]
fn arrays_change_while_they_are_used() {
    let mut random = Random::new(4);
    let is_near = |scheme: &Scheme| !matches!(scheme, Scheme::Copies(copies) if copies.far > 1);
    for (scheme, legs) in schemes().into_iter().filter(|(scheme, _)| is_near(scheme)) {
        let what = format!("{scheme:?} of {legs}");
        let mut made = Made::new(scheme, legs);
        let mut devices = made.legs();
        let small = made.cut();
        let home = Made::start(&writable(&small), devices.clone()).expect("it starts");
        let mut small = small;
        write_some(&mut small, &home, &mut random, &what);
        made.content[..small.content.len()].copy_from_slice(&small.content);
        let mut config = writable(&made);
        let home = become_other(&home, &config, &devices);
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        // Another leg takes the place of one.
        let new = made.legs();
        devices[0] = block_of(&new[0], 0xdd);
        devices[1] = block_of(&new[1], 0);
        config.legs[0].id = 100;
        config.legs[0].content = LegContent::Rebuild;
        let home = become_other(&home, &config, &devices);
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        assert_reads(&made, &home, &what);
        drop(home);
        let lost = losses(legs, scheme.redundancy(legs).min(2));
        assert_redundant(&made, &devices, &lost, &what);
    }
}

/// What is marked when an array is started without a leg, and cannot be made right without it,
/// waits: another leg in its place gets all, and then others may be lost. Where parity was never
/// computed, nothing waits for that.
#[test]
fn what_waits_for_a_leg_goes_to_another_one() {
    let mut random = Random::new(5);
    for (scheme, legs) in schemes() {
        let what = format!("{scheme:?} of {legs}");
        let mut made = Made::new(scheme, legs);
        let mut devices = made.legs();
        let mut config = without(&writable(&made), &[0]);
        for _ in ["marks it", "finds marks"] {
            let home = Made::start(&config, devices.clone()).expect("it starts");
            write_some(&mut made, &home, &mut random, &what);
        }
        let home = Made::start(&config, devices.clone()).expect("it starts");
        let is_parity = matches!(scheme, Scheme::Parity(..));
        if is_parity || legs == 2 {
            let status = home.status(LIMIT).expect("it runs");
            assert_eq!(status.action, Action::Waiting, "{what}: {status:?}");
        } else {
            settle(&home, &what);
        }
        if is_parity {
            let mut config = config.clone();
            config.legs[1].id = 101;
            config.legs[1].content = LegContent::Rebuild;
            home.suspend(LIMIT).expect("it rests");
            let prepared = home.prepare(config, devices.clone(), LIMIT);
            assert!(prepared.is_err(), "{what}: a leg that is needed goes");
            home.resume().expect("it goes on");
        }
        let new = made.legs();
        devices[0] = block_of(&new[0], 0xdd);
        devices[1] = block_of(&new[1], 0);
        config.legs[0] = writable(&made).legs.swap_remove(0);
        config.legs[0].id = 100;
        config.legs[0].content = LegContent::Rebuild;
        let home = become_other(&home, &config, &devices);
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        assert_reads(&made, &home, &what);
        drop(home);
        let lost = losses(legs, scheme.redundancy(legs).min(2));
        assert_redundant(&made, &devices, &lost, &what);
        if is_parity {
            made.synced_until(0);
            let config = without(&writable(&made), &[0]);
            let home = Made::start(&config, made.legs()).expect("it starts");
            let status = home.status(LIMIT).expect("it runs");
            assert_eq!(status.action, Action::Resync, "{what}: {status:?}");
        }
    }
}

/// The array that an array becomes, which those that opened it before are served by.
pub(super) fn become_other(
    home: &Home<Array>,
    config: &ArrayConfig,
    devices: &[Arc<dyn Device>],
) -> Home<Array> {
    home.suspend(LIMIT).expect("it rests");
    let prepared = home.prepare(config.clone(), devices.to_vec(), LIMIT);
    let other = prepared.expect("it may be").reload(LIMIT);
    let other = other.expect("it becomes that");
    other.resume().expect("it goes on");
    other
}

/// What an array tells of its legs goes to whoever knows their numbers: another one hears it when
/// it has become another one.
#[test]
fn notices_number_the_legs_of_now() {
    let made = Made::new(Scheme::Mirror, 2);
    let mut devices = made.legs();
    let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
    settle(&home, "two legs");
    let mut config = writable(&made);
    let geometry = Geometry::new(Scheme::Mirror, 3, 0, config.geometry().leg_size());
    config.described.geometry = geometry.expect("it can be");
    config.legs.push(ArrayLeg {
        data: Some(devices.len()),
        meta: Some(devices.len() + 1),
        id: 100,
        content: LegContent::Rebuild,
        ..ArrayLeg::default()
    });
    config.leg_names.push("leg 2".into());
    let new = made.legs();
    devices.extend([block_of(&new[0], 0xdd), block_of(&new[1], 0)]);
    let (tell, heard) = std::sync::mpsc::channel();
    home.suspend(LIMIT).expect("it rests");
    let prepared = home.prepare(config, devices, LIMIT).expect("it may be");
    let prepared = prepared.heard_by(Box::new(move |notice, _| {
        tell.send(notice).expect("somebody listens");
    }));
    let home = prepared.reload(LIMIT).expect("it becomes that");
    home.resume().expect("it goes on");
    let filled = heard.recv_timeout(LIMIT);
    assert_eq!(filled, Ok(Notice::Filled(2)));
}

/// A device as large as another one, full of one byte.
fn block_of(other: &Arc<dyn Device>, byte: u8) -> Arc<dyn Device> {
    let bytes = vec![byte; other.info().size as usize];
    Arc::new(MemoryDevice::from_bytes("new", bytes))
}

/// What is marked is brought in sync by an array whose regions are others: larger or smaller ones.
#[test]
fn marks_are_kept_in_regions_of_another_size() {
    for (scheme, legs) in schemes() {
        for region in [REGION / 2, 2 * REGION, 8 * REGION] {
            let what = format!("{scheme:?} of {legs}, regions of {region}");
            let mut made = Made::new(scheme, legs);
            made.tear(2..4);
            let devices = made.legs();
            let mut config = writable(&made);
            config.described.region_size = region;
            let home = Made::start(&config, devices.clone()).expect("it starts");
            settle(&home, &what);
            assert_reads(&made, &home, &what);
            drop(home);
            let lost = losses(legs, scheme.redundancy(legs).min(2));
            assert_redundant(&made, &devices, &lost, &what);
        }
    }
}

/// An array that became smaller says so before anybody writes it, so that what it gets when it
/// grows again, whoever made it do so, is brought in sync.
#[test]
fn what_comes_behind_a_smaller_size_is_new() {
    let is_near = |scheme: &Scheme| !matches!(scheme, Scheme::Copies(copies) if copies.far > 1);
    for (scheme, legs) in schemes().into_iter().filter(|(scheme, _)| is_near(scheme)) {
        for how in ["opened", "reloaded"] {
            let what = format!("{scheme:?} of {legs}, {how}");
            let made = Made::new(scheme, legs);
            let small = made.cut();
            let devices = made.legs();
            let home = if how == "opened" {
                Made::start(&writable(&small), devices.clone()).expect("it starts")
            } else {
                let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
                let other = become_other(&home, &writable(&small), &devices);
                // One that is stopped while it rests writes nothing.
                assert_reads(&small, &other, &what);
                other
            };
            drop(home);
            // The extents behind it are others now.
            for (number, device) in devices.iter().step_by(2).enumerate() {
                let start = small.config().geometry().leg_size();
                let bytes = vec![number as u8 + 1; (device.info().size - start) as usize];
                let mut io = BlockingDevice::open(&**device).expect("it opens");
                io.write_at(&bytes, start).expect("it is written");
            }
            let home = Made::start(&writable(&made), devices.clone()).expect("it starts");
            settle(&home, &what);
            let mut io = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
            let all = io.read(Range::new(0, made.content.len() as u64));
            let mut made = made;
            made.content = all.expect("it is read");
            assert_eq!(made.content[..small.content.len()], small.content, "{what}");
            drop((io, home));
            let lost = losses(legs, scheme.redundancy(legs).min(2));
            assert_redundant(&made, &devices, &lost, &what);
        }
    }
}

//! Rows of parity that power cut in the middle, and legs that are lost then.

use std::sync::Arc;

use block::memory::MemoryDevice;
use block::sim::Random;
use block::{BlockingDevice, Device, Range};

use super::alive::{without, writable, write_some};
use super::made::{CHUNK, Made};
use super::{LIMIT, assert_reads, losses, schemes};
use crate::raid::bitmap::START;
use crate::raid::journal::MARK_AT;
use crate::raid::{Consistency, Scheme};

type Devices = Vec<Arc<dyn Device>>;

fn bytes_of(device: &Arc<dyn Device>) -> Vec<u8> {
    let mut open = BlockingDevice::open(&**device).expect("it opens");
    let all = Range::new(0, device.info().size);
    open.read(all).expect("it is read")
}

fn images(devices: &Devices) -> Vec<Vec<u8>> {
    devices.iter().map(bytes_of).collect()
}

fn devices(images: &[Vec<u8>]) -> Devices {
    let device = |bytes: &Vec<u8>| -> Arc<dyn Device> {
        Arc::new(MemoryDevice::from_bytes("left", bytes.clone()))
    };
    images.iter().map(device).collect()
}

/// What a cut may leave of the data of legs: each sector is old or new. Metadata are new.
fn torn(before: &[Vec<u8>], after: &[Vec<u8>], random: &mut Random) -> Vec<Vec<u8>> {
    let mut left = after.to_vec();
    for leg in (0..left.len()).step_by(2) {
        let sectors = left[leg].chunks_mut(512).zip(before[leg].chunks(512));
        for (new, old) in sectors {
            if random.chance(1, 2) {
                new.copy_from_slice(old);
            }
        }
    }
    left
}

fn parity_schemes() -> impl Iterator<Item = (Scheme, usize)> {
    let all = schemes().into_iter();
    all.filter(|(scheme, _)| matches!(scheme, Scheme::Parity(..)))
}

/// What was written of a row, whichever of its sectors, is there after a cut with any legs that the
/// array may lose, and so is what was not being written.
#[test]
fn rows_that_were_cut_are_written_once_more() {
    let mut random = Random::new(1);
    for (scheme, legs) in parity_schemes() {
        let what = format!("{scheme:?} of {legs}");
        let mut made = Made::new(scheme, legs);
        let legs_made = made.legs();
        let home = Made::start(&writable(&made), legs_made.clone()).expect("it starts");
        write_some(&mut made, &home, &mut random, &what);
        let before = images(&legs_made);
        let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
        // Of one row: what was written of another one may have been flushed.
        let row = random.below(4);
        let width = CHUNK * (legs - scheme.redundancy(legs)) as u64;
        let start = row * width + 512 * random.below(8);
        let who = made.config().geometry().row(row);
        let new: Vec<u8> = (0..CHUNK + 512).map(|_| random.number() as u8).collect();
        device.write_at(&new, start).expect("it is written");
        made.content[start as usize..][..new.len()].copy_from_slice(&new);
        let after = images(&legs_made);
        for lost in losses(legs, scheme.redundancy(legs)) {
            // Nobody has the journal then, and nothing is made up: sectors are old or new.
            if lost.contains(&who.p) && who.q.is_none_or(|q| lost.contains(&q)) {
                continue;
            }
            let left = devices(&torn(&before, &after, &mut random));
            let config = without(&writable(&made), &lost);
            let again = Made::start(&config, left).expect("it starts");
            assert_reads(&made, &again, &format!("{what} without {lost:?}"));
        }
        drop(home);
    }
}

/// Where bitmaps do not have its mark any more a journal is not used: others wrote since.
#[test]
fn journals_of_before_others_came_are_not_used() {
    let mut random = Random::new(2);
    for (scheme, legs) in parity_schemes() {
        let what = format!("{scheme:?} of {legs}");
        let mut written = Made::new(scheme, legs);
        let legs_made = written.legs();
        let home = Made::start(&writable(&written), legs_made.clone()).expect("it starts");
        write_some(&mut written, &home, &mut random, &what);
        let mut left = images(&legs_made);
        // Others wrote all of it, and kernels take the mark away.
        let made = Made::new(scheme, legs);
        for leg in 0..legs {
            left[2 * leg].clone_from(&made.data[leg]);
        }
        let before = Made::start(&writable(&made), devices(&left)).expect("it starts");
        let mut device = BlockingDevice::open(&before.face(0).expect("a face")).expect("it opens");
        let all = Range::new(0, made.content.len() as u64);
        let read = device.read(all).expect("it is read");
        assert!(*read != made.content[..], "{what}: the mark means nothing");
        for leg in 0..legs {
            let mark = START as usize + MARK_AT;
            left[2 * leg + 1][mark..mark + 4].fill(0);
            let again = Made::start(&writable(&made), devices(&left)).expect("it starts");
            assert_reads(
                &made,
                &again,
                &format!("{what}, mark gone on {leg} and those before"),
            );
        }
        drop(home);
    }
}

/// A journal needs room for a row; and who wants none has none. Neither says that nothing can be
/// written.
#[test]
fn without_a_journal_it_is_said() {
    let (scheme, legs) = parity_schemes().next().expect("there are some");
    let made = Made::new(scheme, legs);
    let small = |consistency| {
        let mut images = images(&made.legs());
        for leg in 0..legs {
            images[2 * leg + 1].truncate(16384);
        }
        let mut config = writable(&made);
        config.consistency = consistency;
        let home = Made::start(&config, devices(&images)).expect("it starts");
        let mut device = BlockingDevice::open(&home.face(0).expect("a face")).expect("it opens");
        device.write_at(&[1; 512], 0).expect("it is written");
        home.status(LIMIT).expect("it runs").remarks
    };
    let remarks = small(Consistency::Journal);
    assert!(
        remarks.iter().any(|one| one.contains("no journal")),
        "{remarks:?}"
    );
    assert_eq!(small(Consistency::None), Vec::<String>::new());
}

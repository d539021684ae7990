//! What a mirror says and believes of images that it loses.

use std::time::Duration;

use block::{Buffer, Durability, Info, Kind, Request};

use super::{REGION, SIZE, Set, status, wait_for};
use crate::machine::Machine;
use crate::mirror::control::{Event, Step, Steps};
use crate::mirror::map::MirrorMap;
use crate::mirror::regions::{Held, Regions};
use crate::mirror::{
    ImageOrder, Mirror, MirrorConfig, MirrorImage, Notice, Primary, Sync, log_length,
};

/// A region that could not be written to an image was not copied, and is not in sync.
#[test]
fn copies_that_fail_are_no_copies() {
    let set = Set::new();
    set.devices[1].disk().vanish();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "images=AD");
    wait_for(&home, "copying=0");
    assert!(status(&home).contains("in_sync=0/16"), "{}", status(&home));
}

/// A rate of nothing is no rate: the copy is as fast as it can be.
#[test]
fn a_rate_of_nothing_limits_nothing() {
    let set = Set::new();
    let mut config = Set::config();
    config.copy_rate = Some(0);
    let home = set.start(config).unwrap();
    wait_for(&home, "images=AA in_sync=16/16");
}

fn notices(mirror: &mut Mirror, event: Event) -> (Vec<Notice>, Vec<(usize, Request)>) {
    let mut steps = Steps::default();
    mirror.event(event, Duration::ZERO, &mut steps);
    let (mut said, mut asked) = (Vec::new(), Vec::new());
    while let Some(step) = steps.pop() {
        match step {
            Step::Notice(notice) => said.push(notice),
            Step::Sub { leg, request } => asked.push((leg, request)),
            _ => {}
        }
    }
    (said, asked)
}

/// A mirror whose description says that all images are in sync asks for another one when it loses
/// an image, and not before.
#[test]
fn descriptions_are_changed_when_they_are_wrong() {
    let images = vec![MirrorImage::present(10, 0), MirrorImage::present(11, 1)];
    let mut config = MirrorConfig::new("mirror", SIZE, REGION, images);
    (config.sync, config.primary) = (Sync::Assumed, Primary::All);
    let infos = ["a", "b"].map(|name| Info::new(name, SIZE));
    let mut mirror = Mirror::new(config, &infos).unwrap();
    assert_eq!(notices(&mut mirror, Event::Start).0, []);
    let buffer = Buffer::zeroed(512);
    let write = Request::write(1, 0, Durability::Volatile, buffer);
    let (said, mut asked) = notices(
        &mut mirror,
        Event::Request {
            face: 0,
            request: write,
        },
    );
    assert_eq!((said.len(), asked.len()), (0, 2));
    let mut orders = Vec::new();
    for (leg, request) in asked.drain(..) {
        let error = block::Error::new(Kind::Io, "it broke");
        let answer = request.complete(if leg == 0 { Err(error) } else { Ok(()) });
        orders.extend(notices(&mut mirror, Event::Answer { leg, answer }).0);
    }
    let wanted = ImageOrder {
        in_sync: vec![1],
        out_of_sync: vec![0],
    };
    assert_eq!(orders, [Notice::Persist(wanted)]);
}

/// Of a log the header counts and a bit for each region, in whole sectors.
#[test]
fn logs_are_as_long_as_their_bits() {
    for (regions, sectors) in [(1, 3), (4096, 3), (4097, 4), (8192, 4), (8193, 5)] {
        assert_eq!(log_length(regions), sectors * 512, "{regions}");
    }
}

/// A region stays dirty when its last write ends, since its log bit is 0; one whose mark was
/// refused was never written, and is clean again.
#[test]
fn written_regions_stay_dirty() {
    let mut regions = Regions::new(MirrorMap::without_images(4, REGION));
    for region in 0..3 {
        regions.set_in_sync(region, true);
    }
    assert_eq!(regions.hold(0, 1), Held::Mark);
    assert_eq!(regions.hold(0, 2), Held::Waits);
    assert_eq!(regions.open(0), [1, 2]);
    regions.release(0, Duration::ZERO);
    regions.release(0, Duration::ZERO);
    assert_eq!((regions.dirty_count(), regions.active_count()), (1, 1));
    assert_eq!(regions.hold(0, 3), Held::Free, "the mark is there still");
    regions.release(0, Duration::ZERO);

    assert_eq!(regions.hold(1, 4), Held::Mark);
    assert_eq!(regions.refuse(1), [4]);
    regions.release(1, Duration::ZERO);
    assert_eq!(regions.active_count(), 1, "it was not written");

    assert_eq!(regions.hold(3, 5), Held::Free, "its bit is 0 all the time");
    regions.release(3, Duration::ZERO);
    assert_eq!((regions.dirty_count(), regions.active_count()), (1, 1));
    regions.check();
}

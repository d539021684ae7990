//! Legs that answer slowly, badly or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::Device;
use block::sim::{Image, Random, SimDevice};
use dm::raid::{ArrayConfig, ArrayLeg, Assembly, Described, Geometry, Keeping, LegState, Scheme};

use super::run::{Event, Options, scrub};
use super::subject::{Part, Subject};
use super::{Blame, Finding, FindingKind, Holds, Summary, Unchecked, Unknown};
use crate::Error;

const SIZE: u64 = 3 << 20;
const SECTOR: u64 = 512;
const BLOCK: u64 = 4096;

/// Disks that hold the same, but for these sectors of these disks.
fn disks(count: usize, damaged: &[(usize, u64)]) -> Vec<Arc<SimDevice>> {
    let mut random = Random::new(9);
    let bytes: Vec<u8> = (0..SIZE).map(|_| random.number() as u8).collect();
    let disk = |number: usize| {
        let mut own = bytes.clone();
        for (_, sector) in damaged.iter().filter(|(disk, _)| *disk == number) {
            own[(sector * SECTOR) as usize + 7] ^= 0x10;
        }
        let name = format!("disk-{number}");
        Arc::new(SimDevice::of_image(name, Image::from_bytes(&own)))
    };
    (0..count).map(disk).collect()
}

fn mirror(disks: &[Arc<SimDevice>]) -> Subject<'static> {
    let count = disks.len();
    let geometry = Geometry::new(Scheme::Mirror, count, 0, SIZE).expect("a mirror");
    let leg = |number: usize| ArrayLeg {
        data: Some(number),
        ..ArrayLeg::default()
    };
    let config = ArrayConfig {
        name: "mirror".into(),
        id: 0,
        size: SIZE,
        described: Described::new(geometry, SIZE),
        legs: (0..count).map(leg).collect(),
        leg_names: (0..count).map(|number| format!("leg-{number}")).collect(),
        access: dm::volume::Access::ReadOnly,
        first: dm::raid::FirstSync::Due,
        consistency: dm::raid::Consistency::None,
        keeping: Keeping::Mapper,
    };
    let valid = LegState::Valid { until: u64::MAX };
    let devices = disks.iter().map(|disk| Arc::clone(disk) as Arc<dyn Device>);
    let part = Part::new(config, Assembly::of(vec![valid; count]), devices.collect());
    Subject::of_part("mirror", part.expect("it fits"))
}

fn scrubbed(subject: &Subject<'_>, options: Options) -> (Vec<Finding>, Summary) {
    let mut found = Vec::new();
    let summary = scrub(subject, options, &mut |event| {
        if let Event::Found(finding) = event {
            found.push(finding.clone());
        }
        Ok::<_, Error>(())
    });
    (found, summary.expect("it is read"))
}

/// Proves: what a leg cannot read is told, block by block, and beside it the others are compared
/// without that leg: three copies name who is wrong, two that are left do not.
#[test]
fn bad_blocks_are_told_and_the_rest_is_compared() {
    let disks = disks(3, &[(1, 17), (1, 2000)]);
    // Sector 17 lies in block 2, 2000 in block 250.
    disks[0].disk().faults_mut().unreadable = [18, 5000].into();
    let (found, summary) = scrubbed(&mirror(&disks), Options::default());
    let told: Vec<(u64, u64, bool)> = found
        .iter()
        .map(|one| {
            let is_unreadable = one.kind == FindingKind::Unreadable;
            (one.legs[0].start, one.len, is_unreadable)
        })
        .collect();
    let expected = [
        (2 * BLOCK, BLOCK, true),
        (17 * SECTOR, SECTOR, false),
        (2000 * SECTOR, SECTOR, false),
        (625 * BLOCK, BLOCK, true),
    ];
    assert_eq!(told, expected);
    let two = FindingKind::Mismatch(Blame::Unknown(Unknown::TwoCopies));
    assert_eq!(found[1].kind, two, "disk-0 cannot tell there");
    assert_eq!(found[2].kind, FindingKind::Mismatch(Blame::Legs(vec![1])));
    assert_eq!(found[2].legs[1].holds, Holds::Data(2000 * SECTOR));
    assert_eq!(found[2].legs[1].on[0].device, "disk-1");
    assert_eq!((summary.checked, summary.unreadable), (SIZE, 2 * BLOCK));
    assert_eq!((summary.mismatches, summary.known), (2, 1));
    assert!(!summary.is_clean());
}

/// Proves: a disk that is gone ends nothing: it is asked so often, then no more, and what only one
/// other leg holds is not compared.
#[test]
fn a_disk_that_is_gone_is_given_up() {
    let disks = disks(2, &[]);
    disks[1].disk().vanish();
    let (found, summary) = scrubbed(&mirror(&disks), Options::default());
    assert!(found.iter().all(|one| one.kind == FindingKind::Unreadable));
    assert_eq!(summary.checked, 0);
    assert_eq!(summary.unchecked[&Unchecked::Unreadable], SIZE);
}

/// Proves: no more is read of each leg than the rate allows, and whoever wants the end gets it
/// meanwhile.
#[test]
fn a_rate_is_kept() {
    let disks = disks(2, &[]);
    let begin = Instant::now();
    let options = Options {
        rate: Some(10 * SIZE),
    };
    let (_, summary) = scrubbed(&mirror(&disks), options);
    assert!(summary.is_clean());
    assert!(
        begin.elapsed() >= Duration::from_millis(90),
        "a tenth of a second"
    );
    let options = Options { rate: Some(1) };
    let ended = scrub(&mirror(&disks), options, &mut |_| {
        Err(Error::new(crate::Kind::Ended, "enough"))
    });
    assert_eq!(ended.expect_err("it was ended").kind(), crate::Kind::Ended);
}

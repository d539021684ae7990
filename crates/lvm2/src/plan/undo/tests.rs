//! Tests: what may come back, against a table of extents kept naively.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::undo;
use crate::model::samples::{golden, read, text};
use crate::model::{Area, SegmentType, VolumeGroup};
use crate::plan::change::{Change, Level};
use crate::plan::logical::{
    Along, Conversion, Initial, MirrorLog, MirrorState, NewKind, NewVolume, Resize, Stripes,
    convert_mirrors, create_volume, remove_volumes, resize_volume,
};
use crate::plan::samples::{assert_sound, by_author, done, layout, texts};
use crate::plan::size::{ResizeTo, SizeArgument};
use crate::{Extents, Kind, Result, Uuid};

fn create(vg: &VolumeGroup, name: &str, size: u64, stripes: usize) -> Result<Change> {
    let stripes = Stripes {
        count: stripes,
        size: None,
    };
    let new = NewVolume {
        name: Some(name),
        kind: NewKind::Striped(stripes),
        ..NewVolume::linear(SizeArgument::extents(size))
    };
    by_author(|author| create_volume(vg, &new, author))
}

fn remove(vg: &VolumeGroup, name: &str) -> Result<Change> {
    by_author(|author| remove_volumes(vg, &[name], Along::Nothing, author))
}

fn resize(vg: &VolumeGroup, name: &str, size: u64) -> Result<Change> {
    let resize = Resize::to(name, SizeArgument::extents(size), ResizeTo::Either);
    by_author(|author| resize_volume(vg, &resize, author))
}

fn mirror(vg: &VolumeGroup, name: &str, legs: usize) -> VolumeGroup {
    let conversion = Conversion {
        volume: name,
        legs,
        log: Some(MirrorLog::Core),
        region_size: None,
        initial: Initial::Synchronise,
        places: None,
        policy: None,
        state: MirrorState::Unknown,
    };
    done(by_author(|author| convert_mirrors(vg, &conversion, author)))
}

fn back(versions: &[VolumeGroup]) -> Result<Change> {
    by_author(|author| undo(versions, author))
}

#[test]
fn a_removed_volume_comes_back() {
    // Proves: undo is a new version, with a warning that its extents were free.
    let first = done(create(&read(&text(&[])), "a", 10, 1));
    let second = done(remove(&first, "a"));
    let change = back(&[first.clone(), second]).expect("nobody was there");
    assert_sound(&change);
    assert_eq!(texts(&change, Level::Warning).len(), 1);
    let third = done(Ok(change));
    assert_eq!((third.seqno, layout(&third)), (4, layout(&first)));
}

#[test]
fn extents_that_others_used_do_not() {
    // Proves: the volume, the extents and the other volume are named, even where it is gone again.
    let first = done(create(&read(&text(&[])), "a", 10, 1));
    let second = done(remove(&first, "a"));
    let third = done(create(&second, "b", 4, 1));
    let fourth = done(remove(&third, "b"));
    let versions = [first, second, third, fourth];
    let error = back(&versions).expect_err("b was there");
    assert_eq!(error.kind, Kind::Refused);
    for part in [
        "Extents 0-3",
        "logical volume a's",
        "mapped to b",
        "version 4",
    ] {
        assert!(error.context.contains(part), "{error}");
    }
    back(&versions[1..]).expect("nothing was there in the second version");
    let error = back(&[versions[0].clone(), versions[3].clone()]).expect_err("two are unknown");
    assert!(error.context.contains("not known"), "{error}");
    back(&versions[..1]).expect_err("there is one only");
}

#[test]
fn nobody_goes_back_to_what_was_moved_away() {
    // Proves: a volume that is elsewhere since keeps its place, though nobody has its old one, also
    // where only its end moved or a stripe of it did, and where it is gone again; one that only
    // became smaller comes back.
    for stripes in [1, 2] {
        let first = done(create(&read(&text(&[])), "a", 8, stripes));
        let second = moved(&first, "a", 20);
        let third = done(create(&second, "b", 1, 1));
        let fourth = done(remove(&third, "a"));
        for versions in [
            &[first.clone(), second.clone()][..],
            &[first.clone(), second.clone(), third.clone()],
            &[first.clone(), second.clone(), third.clone(), fourth.clone()],
        ] {
            let error = back(versions).expect_err("a is elsewhere");
            assert_eq!(error.kind, Kind::Refused);
            for part in ["Logical volume a was moved", "than to version 3"] {
                assert!(error.context.contains(part), "{error}");
            }
        }
        let change = back(&[second.clone(), third, fourth]).expect("a was not moved since");
        assert_eq!(texts(&change, Level::Warning).len(), 1);
        let smaller = done(resize(&first, "a", 4));
        let change = back(&[first.clone(), smaller.clone()]).expect("nobody was there");
        assert_eq!(texts(&change, Level::Warning).len(), 1);
        let elsewhere = moved(&smaller, "a", 30);
        let error = back(&[first, smaller, elsewhere]).expect_err("its start is elsewhere");
        assert!(error.context.contains("was moved away"), "{error}");
    }
}

/// The next version, in which the last area of a volume begins at another extent, as stock's and
/// our own commands that move extents leave it.
fn moved(vg: &VolumeGroup, name: &str, to: u64) -> VolumeGroup {
    let mut vg = vg.clone();
    vg.seqno += 1;
    let id = vg.lv_by_name(name).expect("is there");
    let SegmentType::Striped(striped) = &mut vg.lv_mut(id).segments[0].kind else {
        panic!("{name} is not striped");
    };
    let Some(Area::Pv { start, .. }) = striped.areas.last_mut() else {
        panic!("{name} is not on a physical volume");
    };
    *start = Extents(to);
    vg
}

#[test]
fn mirrors_come_back_only_as_they_are() {
    // Proves: the first copy is still the volume; a copy that was away is not one any more.
    let first = done(create(&read(&text(&[])), "a", 8, 1));
    let second = mirror(&first, "a", 2);
    let plain = done(back(&[first.clone(), second.clone()]));
    assert_eq!(layout(&plain), layout(&first));
    let third = mirror(&second, "a", 1);
    let error = back(&[second.clone(), third]).expect_err("the second copy is stale");
    assert!(error.context.contains("state of their own"), "{error}");
    let third = done(create(&second, "b", 3, 1));
    let again = done(back(&[second.clone(), third]));
    assert_eq!(layout(&again), layout(&second));
}

#[test]
fn thin_pools_do_not_go_back() {
    // Proves: a pool whose transaction has moved on is refused.
    let first = golden();
    let mut second = first.clone();
    second.seqno += 1;
    let unchanged = back(&[first.clone(), second.clone()]).expect("nothing has changed");
    assert_eq!(done(Ok(unchanged)).seqno, first.seqno + 2);
    let pool = second
        .lvs()
        .find(|(_, lv)| matches!(lv.first(), Some(SegmentType::ThinPool(_))))
        .expect("there is one")
        .0;
    if let SegmentType::ThinPool(pool) = &mut second.lv_mut(pool).segments[0].kind {
        pool.transaction_id += 1;
    }
    back(&[first, second]).expect_err("it has gone on");
}

#[test]
fn what_was_gone_together_comes_back() {
    // Proves: a RAID that was removed with all its parts comes back, a mirror too; a snapshot does
    // not, because its origin was written meanwhile, nor a thin volume whose pool went on.
    let first = golden();
    for name in ["raid5", "raid1", "mirror2"] {
        let second = done(remove(&first, name));
        let third = done(create(&second, "other", 1, 1));
        for versions in [
            &[first.clone(), second.clone()][..],
            &[first.clone(), second, third],
        ] {
            match back(versions) {
                Ok(change) => assert_eq!(layout(&done(Ok(change))), layout(&first), "{name}"),
                Err(error) => assert!(error.context.contains("were mapped to other"), "{error}"),
            }
        }
    }
    for name in ["snap1", "thin1s"] {
        let Ok(second) = remove(&first, name) else {
            continue;
        };
        let error = back(&[first.clone(), done(Ok(second))]).expect_err(name);
        assert!(error.context.contains("a state of their own"), "{error}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Create(u8, u64, usize),
    Resize(u8, u64),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u8, 1..90_u64, 1..4_usize).prop_map(|(n, size, s)| Step::Create(n, size, s)),
        (0..4_u8, 1..120_u64).prop_map(|(name, size)| Step::Resize(name, size)),
        (0..4_u8).prop_map(Step::Remove),
    ]
}

/// Each extent with what it is: volume, stripes, stripe size, place.
type Table = BTreeMap<(Uuid, u64), (Uuid, usize, u64, u64)>;

fn table(vg: &VolumeGroup) -> Table {
    let mut table = Table::new();
    for (_, lv) in vg.lvs() {
        for segment in &lv.segments {
            let SegmentType::Striped(striped) = &segment.kind else {
                continue;
            };
            let count = striped.areas.len() as u64;
            for (index, area) in striped.areas.iter().enumerate() {
                let Area::Pv { pv, start } = area else {
                    continue;
                };
                for row in 0..segment.length.0 / count {
                    let place = segment.start.0 + row * count + index as u64;
                    let size = striped.stripe_size.0;
                    let what = (lv.uuid, striped.areas.len(), size, place);
                    table.insert((vg.pv(*pv).uuid, start.0 + row), what);
                }
            }
        }
    }
    table
}

proptest! {
    #[test]
    fn undo_agrees_with_a_table(steps in proptest::collection::vec(step(), 1..25)) {
        // Proves: for every version of a random history, undo is refused exactly where an extent
        // belonged to something else in between, or its volume had its contents elsewhere, and
        // otherwise gives the same volumes.
        let mut versions = vec![read(&text(&[]))];
        for step in &steps {
            let vg = versions.last().expect("there is one");
            let change = match step {
                Step::Create(n, size, stripes) => create(vg, &format!("v{n}"), *size, *stripes),
                Step::Resize(name, size) => resize(vg, &format!("v{name}"), *size),
                Step::Remove(name) => remove(vg, &format!("v{name}")),
            };
            if let Ok(change) = change {
                versions.push(done(Ok(change)));
            }
        }
        for first in 0..versions.len() - 1 {
            let wanted = table(&versions[first]);
            let is_kept = versions[first + 1..].iter().all(|later| {
                let later = table(later);
                let places: BTreeSet<_> = later.values().map(|what| (what.0, what.3)).collect();
                wanted.iter().all(|(extent, what)| match later.get(extent) {
                    Some(now) => now == what,
                    None => !places.contains(&(what.0, what.3)),
                })
            });
            match back(&versions[first..]) {
                Ok(change) => {
                    prop_assert!(is_kept, "version {first} came back");
                    assert_sound(&change);
                    let vg = change.vg().expect("a group");
                    prop_assert_eq!(layout(vg), layout(&versions[first]));
                }
                Err(error) => prop_assert!(!is_kept, "{}", error),
            }
        }
    }
}

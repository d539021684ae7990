//! Random groups and random moves: every extent is where the history of the move says.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

use super::{Ask, abort, moved, only};
use crate::model::samples::{read, text};
use crate::model::{AllocationPolicy, Area, LvFlag, LvId, Place, PvId, SegmentType, VolumeGroup};
use crate::plan::logical::{
    CHUNK_SIZE_DEFAULT, Initial, MirrorLog, MirrorOptions, NewKind, NewSnapshot, NewVolume,
    Stripes, create_snapshot, create_volume, pvs_below,
};
use crate::plan::physical::pvmove::list::whole_copies;
use crate::plan::physical::{MoveMode, moves};
use crate::plan::samples::{by_author, done, free, resize};
use crate::plan::segments::merge;
use crate::plan::size::SizeArgument;
use crate::{Kind, Result, Sectors, Uuid};

/// An extent of a physical volume.
type Extent = (PvId, u64);
/// An extent of a volume, in the order of its rows of stripes.
type Key = (Uuid, u64);

/// How a random group comes about.
#[derive(Debug, Clone)]
enum Step {
    Linear(u64, usize),
    Striped(u64, usize),
    Mirror(u64, bool),
    Snapshot(usize, u64),
    Grow(usize, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..20_u64, 0..5_usize).prop_map(|(size, pv)| Step::Linear(size, pv)),
        (1..10_u64, 2..4_usize).prop_map(|(size, count)| Step::Striped(size * count as u64, count)),
        (1..10_u64, any::<bool>()).prop_map(|(size, has_log)| Step::Mirror(size, has_log)),
        (0..4_usize, 1..5_u64).prop_map(|(origin, size)| Step::Snapshot(origin, size)),
        (0..4_usize, 1..6_u64).prop_map(|(volume, size)| Step::Grow(volume, size)),
    ]
}

/// A group of five physical volumes.
fn group() -> VolumeGroup {
    let mut vg = read(&text(&[]));
    for number in 3..5 {
        let mut pv = vg.pvs().next().expect("there are three").1.clone();
        pv.key = format!("pv{number}");
        pv.device = Some(format!("/dev/sd{number}"));
        pv.uuid = crate::plan::samples::uuid(900 + number);
        vg.add_pv(pv);
    }
    vg
}

fn take(vg: &VolumeGroup, number: usize, step: &Step) -> Result<VolumeGroup> {
    let name = format!("v{number}");
    let size = |size: u64| SizeArgument::from_extents(&size.to_string()).expect("it is a size");
    let volume = |kind, extents| NewVolume {
        name: Some(&name),
        kind,
        ..NewVolume::linear(size(extents))
    };
    let create = |new: &NewVolume<'_>| by_author(|author| create_volume(vg, new, author));
    let change = match step {
        Step::Linear(extents, pv) => {
            let places = super::places(vg, &[&format!("pv{pv}")]);
            let new = NewVolume {
                places: Some(&places),
                name: Some(&name),
                ..NewVolume::linear(size(*extents))
            };
            create(&new)
        }
        Step::Striped(extents, count) => {
            let stripes = Stripes {
                count: *count,
                size: Some(Sectors(128)),
            };
            create(&volume(NewKind::Striped(stripes), *extents))
        }
        Step::Mirror(extents, has_log) => {
            let options = MirrorOptions {
                legs: 2,
                log: if *has_log {
                    MirrorLog::Disk
                } else {
                    MirrorLog::Core
                },
                region_size: None,
                initial: Initial::Synchronise,
            };
            create(&volume(NewKind::Mirror(options, Stripes::LINEAR), *extents))
        }
        Step::Snapshot(origin, extents) => {
            let origin = format!("v{origin}");
            let new = NewSnapshot {
                origin: &origin,
                chunk_size: CHUNK_SIZE_DEFAULT,
                store: volume(NewKind::LINEAR, *extents),
            };
            by_author(|author| create_snapshot(vg, &new, author))
        }
        Step::Grow(volume, extents) => {
            resize(vg, &format!("v{volume}"), &format!("+{extents}"), None)
        }
    };
    // A size that a store has already is no change.
    let change = change?;
    Ok(change
        .vg()
        .map_or_else(|| vg.clone(), |_| done(Ok(change.clone()))))
}

/// The random parts of a move, and how far it gets.
#[derive(Debug, Clone)]
struct Course {
    source: usize,
    ranges: Option<(u64, u64)>,
    targets: Vec<usize>,
    policy: Option<AllocationPolicy>,
    mode: MoveMode,
    piece_max: u64,
    /// Pieces that are moved before the move is aborted; it ends where there are no more.
    moved: usize,
    /// Which of those that are left is the next one.
    order: usize,
}

fn course() -> impl Strategy<Value = Course> {
    let policy = prop_oneof![
        3 => Just(None),
        1 => prop::sample::select(&AllocationPolicy::ALL[..]).prop_map(Some),
    ];
    let mode = prop::sample::select(&[MoveMode::Pieces, MoveMode::Pieces, MoveMode::Atomic][..]);
    let ranges = prop::option::of((0..40_u64, 1..40_u64));
    let targets = prop::collection::btree_set(0..5_usize, 0..4);
    let targets = targets
        .prop_map(|all| all.into_iter().collect::<Vec<_>>())
        .prop_shuffle();
    (
        0..5_usize,
        ranges,
        targets,
        policy,
        mode,
        1..9_u64,
        0..30_usize,
        0..3_usize,
    )
        .prop_map(
            |(source, ranges, targets, policy, mode, piece_max, moved, order)| Course {
                source,
                ranges,
                targets,
                policy,
                mode,
                piece_max,
                moved,
                order,
            },
        )
}

/// Where every extent lies, through moves; of mirrors that are no moves the images are looked at.
fn ground(vg: &VolumeGroup) -> BTreeMap<Key, Extent> {
    let mut found = BTreeMap::new();
    for (_, lv) in vg.lvs() {
        if lv.flags.has(LvFlag::Pvmove) || lv.name().starts_with("pvmove") {
            continue;
        }
        for segment in &lv.segments {
            let SegmentType::Striped(striped) = &segment.kind else {
                continue;
            };
            let count = striped.areas.len() as u64;
            for (stripe, area) in striped.areas.iter().enumerate() {
                for row in 0..segment.length.0 / count {
                    let key = (lv.uuid, segment.start.0 + row * count + stripe as u64);
                    let was = found.insert(key, resolve(vg, area, row));
                    assert!(was.is_none(), "two segments have an extent");
                }
            }
        }
    }
    let distinct: BTreeSet<Extent> = found.values().copied().collect();
    assert_eq!(distinct.len(), found.len(), "two volumes share an extent");
    found
}

/// The extent that is read of an area, `offset` behind its start.
fn resolve(vg: &VolumeGroup, area: &Area, offset: u64) -> Extent {
    let (lv, at) = match *area {
        Area::Pv { pv, start } => return (pv, start.0 + offset),
        Area::Lv { lv, start } => (lv, start.0 + offset),
    };
    let mut segments = vg.lv(lv).segments.iter();
    let segment = segments
        .find(|one| one.start.0 <= at && at < one.end().0)
        .expect("it has the extent");
    let copy = match &segment.kind {
        SegmentType::Mirror(mirror) if mirror.extents_moved == Some(segment.length) => 1,
        _ => 0,
    };
    resolve(vg, &segment.areas()[copy], at - segment.start.0)
}

/// From where to where each extent of a move goes, by the piece's start.
fn pieces(vg: &VolumeGroup, mover: LvId) -> BTreeMap<u64, Vec<(Extent, Extent)>> {
    let mut found = BTreeMap::new();
    for segment in &vg.lv(mover).segments {
        let pairs = (0..segment.length.0).map(|offset| {
            let end = |copy: usize| match segment.areas()[copy] {
                Area::Pv { pv, start } => (pv, start.0 + offset),
                Area::Lv { .. } => resolve(vg, &segment.areas()[copy], offset),
            };
            (end(0), end(1))
        });
        found.insert(segment.start.0, pairs.collect());
    }
    found
}

/// Stock takes a layer away only where each area stands on exactly one piece.
fn assert_exact(vg: &VolumeGroup, mover: LvId) {
    let pieces: BTreeSet<(u64, u64)> = match whole_copies(&vg.lv(mover).segments) {
        Some((from, _)) => &vg.lv(from).segments,
        None => &vg.lv(mover).segments,
    }
    .iter()
    .map(|piece| (piece.start.0, piece.length.0))
    .collect();
    let mut seen = BTreeSet::new();
    for segment in vg.lvs().flat_map(|(_, lv)| &lv.segments) {
        let length = segment.area_length().unwrap_or_default().0;
        for area in segment.areas() {
            if let Area::Lv { lv, start } = area
                && *lv == mover
            {
                assert!(seen.insert((start.0, length)));
            }
        }
    }
    assert_eq!(seen, pieces);
}

/// Whether no two copies of a mirror and no two stripes of a segment share a physical volume.
fn is_apart(vg: &VolumeGroup) -> bool {
    let are_disjoint = |sets: &[BTreeSet<PvId>]| {
        let all: BTreeSet<PvId> = sets.iter().flatten().copied().collect();
        all.len() == sets.iter().map(BTreeSet::len).sum::<usize>()
    };
    vg.lvs().all(|(_, lv)| {
        lv.segments.iter().all(|segment| {
            let below = |area: &Area| match area {
                Area::Pv { pv, .. } => BTreeSet::from([*pv]),
                Area::Lv { lv, .. } => pvs_below(vg, *lv),
            };
            let sets: Vec<BTreeSet<PvId>> = segment.areas().iter().map(below).collect();
            are_disjoint(&sets)
        })
    })
}

fn flags(vg: &VolumeGroup) -> Vec<(String, Vec<String>)> {
    let names = |flags: &crate::model::Flags<LvFlag>| {
        flags.names(Place::Status).map(str::to_owned).collect()
    };
    let all = vg.lvs();
    all.map(|(_, lv)| (lv.name().to_owned(), names(&lv.flags)))
        .collect()
}

/// A move from its beginning to its end, or until it is aborted.
fn run(before: &VolumeGroup, course: &Course) {
    let name = |pv: &usize| format!("pv{pv}");
    let source = match course.ranges {
        None => name(&course.source),
        Some((start, length)) => format!("pv{}:{start}+{length}", course.source),
    };
    let targets: Vec<String> = course.targets.iter().map(name).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let ask = Ask {
        policy: course.policy,
        mode: course.mode,
        piece_max: course.piece_max,
        ..Ask::of(&source, &targets)
    };
    let (change, mover) = match ask.change(before) {
        Ok(begun) => begun,
        Err(error) => {
            assert!(
                matches!(error.kind, Kind::Refused | Kind::Space),
                "{error:?}"
            );
            return;
        }
    };
    assert!(change.freed.is_empty());
    let mut vg = done(Ok(change));
    let id = vg.lv_by_uuid(&mover).expect("it is there");
    assert_exact(&vg, id);
    let mut expected = ground(before);
    assert_eq!(ground(&vg), expected);
    let mut left = pieces(&vg, id);
    assert!(
        left.values()
            .all(|pairs| pairs.len() as u64 <= course.piece_max)
            || course.mode == MoveMode::Atomic
    );
    for _ in 0..course.moved {
        let Some(start) = left.keys().nth(course.order % left.len().max(1)).copied() else {
            break;
        };
        let pairs: BTreeMap<Extent, Extent> = left
            .remove(&start)
            .expect("it is left")
            .into_iter()
            .collect();
        for extent in expected.values_mut() {
            *extent = pairs.get(extent).copied().unwrap_or(*extent);
        }
        vg = done(moved(&vg, mover, start));
        assert_eq!(ground(&vg), expected);
    }
    if left.is_empty() {
        assert!(moves(&vg).is_empty());
    } else {
        assert!(only(&vg).running.is_some());
        vg = done(abort(&vg, mover));
        assert_eq!(ground(&vg), expected);
    }
    assert_eq!(flags(&vg), flags(before));
    assert_eq!(free(&vg), free(before));
    for (_, lv) in vg.lvs() {
        let mut merged = lv.segments.clone();
        merge(&mut merged);
        assert_eq!(merged, lv.segments, "neighbours are joined");
    }
    if course.policy != Some(AllocationPolicy::Anywhere) && is_apart(before) {
        assert!(is_apart(&vg), "siblings meet");
    }
}

proptest! {
    #[test]
    fn moves_keep_every_extent(
        steps in prop::collection::vec(step(), 1..8),
        courses in prop::collection::vec(course(), 1..4),
    ) {
        // Proves: at each step every extent of every volume is where the history of the move says,
        // and nobody else's; texts are sound and come back; in the end all flags, free extents and
        // names are as before, neighbours are joined, and siblings apart that were so.
        let mut vg = group();
        for (number, step) in steps.iter().enumerate() {
            vg = take(&vg, number, step).unwrap_or(vg);
        }
        for course in &courses {
            run(&vg, course);
        }
    }
}

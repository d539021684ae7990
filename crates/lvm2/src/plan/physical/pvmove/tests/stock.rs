//! Moves that stock began, in texts as it writes them, and moves that nobody would begin so.

use std::collections::BTreeSet;

use super::{Ask, abort, ended, moved, only, tables};
use crate::model::samples::{PE_COUNT, every_type, golden, linear, read, text};
use crate::model::{AllocationPolicy, LvFlag, LvId, SegmentType, VolumeGroup};
use crate::plan::change::Level;
use crate::plan::physical::{MoveMode, moves};
use crate::plan::samples::{done, free, id, layout, refusal, texts};
use crate::{Extents, Uuid};

const LOCKED: &str = r#""READ", "WRITE", "VISIBLE", "LOCKED""#;
const HIDDEN: &str = r#""READ", "WRITE""#;
const MOVER: &str = r#""READ", "WRITE", "PVMOVE", "LOCKED""#;

/// A volume of these segments, each from the start to the end of its own text.
fn volume(name: &str, status: &str, segments: &[String]) -> String {
    let id = format!("{:0>32}", name.replace('_', "x"));
    let numbered = segments.iter().enumerate();
    let texts: Vec<String> = numbered
        .map(|(index, text)| format!("segment{} {{ {text} }}", index + 1))
        .collect();
    let texts = texts.join(
        "
",
    );
    let count = segments.len();
    format!(
        "{name} {{ id = \"{id}\" status = [{status}] flags = [] segment_count = {count}\n{texts}}}"
    )
}

/// `length` extents from `start`, striped over these areas.
fn striped(start: u64, length: u64, areas: &[(&str, u64)]) -> String {
    let places: Vec<String> = areas
        .iter()
        .map(|(on, at)| format!("\"{on}\", {at}"))
        .collect();
    format!(
        "start_extent = {start} extent_count = {length} type = \"striped\" stripe_count = {} \
         stripe_size = 128 stripes = [{}]",
        areas.len(),
        places.join(", ")
    )
}

fn mirror(start: u64, length: u64, moved: u64, from: (&str, u64), to: (&str, u64)) -> String {
    format!(
        "start_extent = {start} extent_count = {length} type = \"mirror\" mirror_count = 2 \
         extents_moved = {moved} region_size = 4096 mirrors = [\"{}\", {}, \"{}\", {}]",
        from.0, from.1, to.0, to.1
    )
}

/// Stripes, an origin and a copy of a mirror that stock moves away from the first physical volume.
fn several() -> VolumeGroup {
    let stripes = [striped(0, 10, &[("pvmove0", 0), ("pv1", 0)])];
    let copy = "mirror_count = 2 mirror_log = \"m_mlog\" region_size = 4096 \
                mirrors = [\"m_mimage_0\", 0, \"m_mimage_1\", 0]";
    let pieces = [
        mirror(0, 5, 0, ("pv0", 0), ("pv2", 0)),
        mirror(5, 5, 0, ("pv0", 9), ("pv2", 5)),
        mirror(10, 4, 0, ("pv0", 5), ("pv2", 10)),
    ];
    let hidden_locked = r#""READ", "WRITE", "LOCKED""#;
    read(&text(&[
        volume("s", LOCKED, &stripes),
        crate::model::samples::lv("m", 4, "mirror", copy),
        volume("o", LOCKED, &[striped(0, 5, &[("pvmove0", 5)])]),
        volume(
            "m_mimage_0",
            hidden_locked,
            &[striped(0, 4, &[("pvmove0", 10)])],
        ),
        volume("m_mimage_1", HIDDEN, &[striped(0, 4, &[("pv1", 5)])]),
        volume("m_mlog", HIDDEN, &[striped(0, 1, &[("pv1", 10)])]),
        volume("pvmove0", MOVER, &pieces),
    ]))
}

/// The one move's identity.
fn mover(vg: &VolumeGroup) -> Uuid {
    only(vg).uuid
}

#[test]
fn a_move_of_stock_is_understood_and_ended() {
    // Proves: what is moved, from where and to where; stripes, origins and copies get their new
    // extents, and nothing is locked any more; aborted, they keep the old ones.
    let vg = several();
    let one = only(&vg);
    assert_eq!((one.lv, &one.name[..]), (id(&vg, "pvmove0"), "pvmove0"));
    assert_eq!(
        (one.extents, one.moved, one.mode),
        (Extents(14), Extents(0), MoveMode::Pieces)
    );
    assert_eq!(one.running.expect("it is").volumes, [id(&vg, "s")]);
    let change = moved(&vg, one.uuid, 0).expect("it can");
    assert_eq!(tables(&change), ["pvmove0"]);
    let aborted = done(abort(&done(Ok(change)), one.uuid));
    let expected = [
        "s: 0+10 striped pv2:0 pv1:0",
        "m: 0+4 mirror m_mimage_0 m_mimage_1",
        "o: 0+5 linear pv0:9",
        "m_mimage_0: 0+4 linear pv0:5",
        "m_mimage_1: 0+4 linear pv1:5",
        "m_mlog: 0+1 linear pv1:10",
    ];
    assert_eq!(layout(&aborted), expected);
    let over = ended(&vg, one.uuid);
    let expected = [
        "s: 0+10 striped pv2:0 pv1:0",
        "m: 0+4 mirror m_mimage_0 m_mimage_1",
        "o: 0+5 linear pv2:5",
        "m_mimage_0: 0+4 linear pv2:10",
        "m_mimage_1: 0+4 linear pv1:5",
        "m_mlog: 0+1 linear pv1:10",
    ];
    assert_eq!(layout(&over), expected);
    for vg in [aborted, over] {
        assert!(vg.lvs().all(|(_, lv)| !lv.flags.has(LvFlag::Locked)));
    }
}

#[test]
fn an_atomic_move_of_stock_goes_as_a_whole() {
    // Proves: it is known by its copies, beside a move in pieces; it ends or is aborted with all
    // that it has, and its copies are gone.
    let pairs = |pv: &'static str, at: u64| {
        [
            striped(0, 10, &[(pv, at)]),
            striped(10, 5, &[(pv, at + 20)]),
        ]
    };
    let copies = ("pvmove0_mimage_0", "pvmove0_mimage_1");
    let vg = read(&text(&[
        volume("a", LOCKED, &[striped(0, 10, &[("pvmove0", 0)])]),
        volume("b", LOCKED, &[striped(0, 5, &[("pvmove1", 0)])]),
        volume("c", LOCKED, &[striped(0, 5, &[("pvmove0", 10)])]),
        volume(
            "pvmove0",
            MOVER,
            &[mirror(0, 15, 0, (copies.0, 0), (copies.1, 0))],
        ),
        volume(copies.0, HIDDEN, &pairs("pv0", 0)),
        volume(copies.1, HIDDEN, &pairs("pv1", 5)),
        volume(
            "pvmove1",
            MOVER,
            &[mirror(0, 5, 0, ("pv1", 0), ("pv0", 40))],
        ),
    ]));
    let all = moves(&vg);
    let modes: Vec<MoveMode> = all.iter().map(|one| one.mode).collect();
    assert_eq!(modes, [MoveMode::Atomic, MoveMode::Pieces]);
    let pvs: Vec<_> = vg.pvs().map(|(pv, _)| pv).collect();
    assert_eq!(
        (&all[0].sources[..], &all[0].targets[..]),
        (&pvs[..1], &pvs[1..2])
    );
    let piece = all[0].running.clone().expect("there is the whole");
    assert_eq!((piece.start, piece.length), (Extents(0), Extents(15)));
    assert_eq!(piece.volumes, [id(&vg, "a"), id(&vg, "c")]);
    let aborted = done(abort(&vg, all[0].uuid));
    assert_eq!(
        layout(&aborted),
        [
            "a: 0+10 linear pv0:0",
            "b: 0+5 linear pvmove1",
            "c: 0+5 linear pv0:20",
            "pvmove1: 0+5 mirror pv1:0 pv0:40"
        ]
    );
    let over = ended(&ended(&vg, all[0].uuid), all[1].uuid);
    assert_eq!(
        layout(&over),
        [
            "a: 0+10 linear pv1:5",
            "b: 0+5 linear pv0:40",
            "c: 0+5 linear pv1:25"
        ]
    );
}

#[test]
fn odd_moves_end_too() {
    // Proves: pieces may be moved in any order, and volumes may stand on several pieces or on parts
    // of one; what is noted as moved in part is not moved.
    let pieces = [
        mirror(0, 4, 0, ("pv0", 0), ("pv2", 0)),
        mirror(4, 6, 6, ("pv0", 20), ("pv2", 50)),
        mirror(10, 6, 3, ("pv0", 10), ("pv2", 10)),
    ];
    let vg = read(&text(&[
        volume("a", LOCKED, &[striped(0, 12, &[("pvmove0", 2)])]),
        volume(
            "b",
            LOCKED,
            &[striped(0, 4, &[("pvmove0", 14), ("pvmove0", 0)])],
        ),
        volume("pvmove0", MOVER, &pieces),
    ]));
    let one = only(&vg);
    assert_eq!(one.moved, Extents(6));
    assert_eq!(
        one.running.expect("there are two").volumes,
        [id(&vg, "a"), id(&vg, "b")]
    );
    assert_eq!(
        layout(&done(abort(&vg, one.uuid))),
        [
            "a: 0+2 linear pv0:2",
            "a: 2+6 linear pv2:50",
            "a: 8+4 linear pv0:10",
            "b: 0+4 striped pv0:14 pv0:0",
        ]
    );
    assert_eq!(
        layout(&done(moved(&done(moved(&vg, one.uuid, 10)), one.uuid, 0))),
        [
            "a: 0+2 linear pv2:2",
            "a: 2+6 linear pv2:50",
            "a: 8+4 linear pv2:10",
            "b: 0+4 striped pv2:14 pv2:0",
        ]
    );
}

#[test]
fn what_stock_leaves_at_the_end_goes_away() {
    // Proves: between its last two commits stock leaves a volume without extents; it is listed as a
    // move with nothing to do, and ends. Where all pieces are moved, nothing is left but the end.
    let error = format!("start_extent = 0 extent_count = {PE_COUNT} type = \"error\"");
    let vg = read(&text(&[
        linear("a", 0, 0, 5),
        volume("pvmove0", MOVER, &[error]),
    ]));
    let one = only(&vg);
    assert_eq!((one.extents, one.running), (Extents::ZERO, None));
    assert_eq!(layout(&done(abort(&vg, one.uuid))), ["a: 0+5 linear pv0:0"]);

    let pieces = [mirror(0, 4, 4, ("pv0", 0), ("pv2", 0))];
    let vg = read(&text(&[
        volume("a", LOCKED, &[striped(0, 4, &[("pvmove0", 0)])]),
        volume("pvmove0", MOVER, &pieces),
    ]));
    let one = only(&vg);
    assert_eq!(
        (one.extents, one.moved, one.running),
        (Extents(4), Extents(4), None)
    );
    let over = done(abort(&vg, mover(&vg)));
    assert_eq!(layout(&over), ["a: 0+4 linear pv2:0"]);
    let said = refusal(moved(&over, one.uuid, 0));
    assert!(said.contains("already finished or aborted"), "{said}");
}

#[test]
fn every_kind_of_volume_moves_or_says_why_not() {
    // Proves: in the group of the golden disks, and in one with a volume of every type, what each
    // physical volume holds moves away and back as what it is, in pieces or as a whole, apart from
    // what stock refuses too; aborted, all is as it was.
    let mut every = every_type();
    let unknown: Vec<LvId> = every
        .lvs()
        .filter(|(_, lv)| matches!(lv.first(), Some(SegmentType::Unknown(_))))
        .map(|(id, _)| id)
        .collect();
    assert!(Ask::of("pv0", &[]).refusal(&every).contains("unknown type"));
    for id in unknown {
        every.remove_lv(id);
    }
    let mut said = BTreeSet::new();
    for vg in [golden(), every] {
        for (pv, volume) in vg.pvs() {
            for mode in [MoveMode::Pieces, MoveMode::Atomic] {
                let ask = Ask {
                    mode,
                    policy: Some(AllocationPolicy::Anywhere),
                    ..Ask::of(&volume.key, &[])
                };
                let (change, mover) = match ask.change(&vg) {
                    Ok(made) => made,
                    Err(error) => {
                        said.insert(error.context);
                        continue;
                    }
                };
                said.extend(texts(&change, Level::Warning));
                let begun = done(Ok(change));
                assert_eq!(layout(&done(abort(&begun, mover))), layout(&vg), "{pv:?}");
                assert_eq!(free(&ended(&begun, mover)), free(&vg));
            }
        }
    }
    let kept = |part: &str| {
        format!(
            "Skipping vgx/ri_{part}: unable to pvmove device used for raid with integrity; \
             lvconvert --replace puts another image of vgx/ri elsewhere."
        )
    };
    let expected = [
        "Detected pvmove in progress for /dev/loop5: vgx/pvmove0 must be ended or aborted first"
            .to_owned(),
        kept("rimage_1_imeta"),
        kept("rimage_1_iorig"),
        kept("rmeta_1"),
        "Skipping vgx/wcc_cvol: unable to pvmove device used for writecache.".to_owned(),
    ];
    assert_eq!(said.into_iter().collect::<Vec<String>>(), expected);
}

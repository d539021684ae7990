//! Linear volumes, from the beginning of a move to either end.

use super::{Ask, abort, ended, moved, only, tables};
use crate::model::samples::{PE_COUNT, linear, read, text};
use crate::model::{AllocationPolicy, LvFlag, Place, VolumeGroup, to_text};
use crate::plan::change::Level;
use crate::plan::logical::{
    Along, Conversion, Initial, MirrorLog, MirrorOptions, MirrorState, NewKind, NewVolume, Stripes,
    convert_mirrors, create_volume, remove_volumes, rename_volume,
};
use crate::plan::physical::{MoveMode, moves};
use crate::plan::samples::{by_author, done, free, id, layout, refusal, resize, texts};
use crate::plan::size::SizeArgument;
use crate::text::Style;
use crate::{Extents, Kind};

/// Two volumes on the first physical volume, one of them in two segments.
fn two() -> VolumeGroup {
    let vg = read(&text(&[linear("a", 0, 0, 10), linear("b", 0, 10, 5)]));
    done(resize(&vg, "a", "12", None))
}

fn names(vg: &VolumeGroup, name: &str) -> Vec<String> {
    let flags = &vg.lv(id(vg, name)).flags;
    flags.names(Place::Status).map(str::to_owned).collect()
}

/// The content of a group, whatever its seqno and author.
fn content(vg: &VolumeGroup) -> String {
    let mut vg = vg.clone();
    (vg.seqno, vg.header) = (0, crate::model::Header::default());
    String::from_utf8(to_text(&vg, Style::Raw)).expect("it is text")
}

#[test]
fn a_move_begins_goes_on_and_ends() {
    // Proves: what each text says, what `moves` reads in it, whose tables change, and what is free
    // to be discarded in the end.
    let before = two();
    let (change, mover) = Ask::of("pv0", &[]).change(&before).expect("it is possible");
    assert_eq!(tables(&change), ["a", "b"]);
    assert!(change.freed.is_empty() && change.before.is_empty());
    let vg = done(Ok(change));
    assert_eq!(
        layout(&vg),
        [
            "a: 0+8 linear pvmove0",
            "a: 8+2 linear pvmove0",
            "a: 10+2 linear pvmove0",
            "b: 0+5 linear pvmove0",
            "pvmove0: 0+8 mirror pv0:0 pv1:0",
            "pvmove0: 8+2 mirror pv0:8 pv1:8",
            "pvmove0: 10+2 mirror pv0:15 pv1:10",
            "pvmove0: 12+5 mirror pv0:10 pv1:12",
        ]
    );
    assert_eq!(names(&vg, "pvmove0"), ["READ", "WRITE", "PVMOVE", "LOCKED"]);
    assert_eq!(names(&vg, "a"), ["READ", "WRITE", "VISIBLE", "LOCKED"]);
    let lv = vg.lv(id(&vg, "pvmove0"));
    assert_eq!(
        (lv.uuid, lv.allocation),
        (mover, Some(AllocationPolicy::Contiguous))
    );
    let one = only(&vg);
    assert_eq!(
        (one.extents, one.moved, one.mode),
        (Extents(17), Extents(0), MoveMode::Pieces)
    );
    let pvs: Vec<_> = vg.pvs().map(|(pv, _)| pv).collect();
    assert_eq!((one.sources, one.targets), (vec![pvs[0]], vec![pvs[1]]));

    let change = moved(&vg, mover, 0).expect("it is the first piece");
    assert_eq!(tables(&change), ["pvmove0"]);
    let vg = done(Ok(change));
    let one = only(&vg);
    let piece = one.running.expect("there is more");
    assert_eq!(
        (one.moved, piece.start, piece.length),
        (Extents(8), Extents(8), Extents(2))
    );
    assert_eq!(piece.volumes, [id(&vg, "a")]);
    assert!(refusal(moved(&vg, mover, 0)).contains("no piece to be moved at extent 0"));
    assert!(refusal(moved(&vg, mover, 9)).contains("no piece to be moved at extent 9"));

    let vg = done(moved(&done(moved(&vg, mover, 8)), mover, 10));
    assert_eq!(
        only(&vg).running.expect("one is left").volumes,
        [id(&vg, "b")]
    );
    let change = moved(&vg, mover, 12).expect("it is the last piece");
    assert_eq!(tables(&change), ["a", "b", "-pvmove0"]);
    let freed: u64 = change.freed.iter().map(|piece| piece.length.0 >> 20).sum();
    assert_eq!(freed, 17);
    let vg = done(Ok(change));
    assert_eq!(
        layout(&vg),
        ["a: 0+12 linear pv1:0", "b: 0+5 linear pv1:12"]
    );
    assert_eq!(names(&vg, "a"), ["READ", "WRITE", "VISIBLE"]);
    assert!(moves(&vg).is_empty());
    assert_eq!(free(&vg), free(&before));
    assert!(refusal(abort(&vg, mover)).contains("already finished or aborted"));
}

#[test]
fn an_aborted_move_keeps_what_has_arrived() {
    // Proves: without a moved piece the group is as it was; with one, it has that piece, and the
    // segment is cut there.
    let before = two();
    let (vg, mover) = Ask::of("pv0", &["pv2"]).begun(&before);
    assert_eq!(content(&done(abort(&vg, mover))), content(&before));
    let vg = done(abort(&done(moved(&vg, mover, 8)), mover));
    assert_eq!(
        layout(&vg),
        [
            "a: 0+8 linear pv0:0",
            "a: 8+2 linear pv2:8",
            "a: 10+2 linear pv0:15",
            "b: 0+5 linear pv0:10"
        ]
    );
    assert!(vg.lvs().all(|(_, lv)| !lv.flags.has(LvFlag::Locked)));
}

#[test]
fn an_atomic_move_goes_as_a_whole() {
    // Proves: stock's shape, with a copy of all on either side; there is one piece; it ends with
    // everything on the target, and aborted with everything where it was.
    let before = two();
    let ask = Ask {
        mode: MoveMode::Atomic,
        ..Ask::of("pv0", &["pv2"])
    };
    let (vg, mover) = ask.begun(&before);
    assert_eq!(
        layout(&vg)[4..],
        [
            "pvmove0: 0+17 mirror pvmove0_mimage_0 pvmove0_mimage_1",
            "pvmove0_mimage_0: 0+8 linear pv0:0",
            "pvmove0_mimage_0: 8+2 linear pv0:8",
            "pvmove0_mimage_0: 10+2 linear pv0:15",
            "pvmove0_mimage_0: 12+5 linear pv0:10",
            "pvmove0_mimage_1: 0+8 linear pv2:0",
            "pvmove0_mimage_1: 8+2 linear pv2:8",
            "pvmove0_mimage_1: 10+2 linear pv2:10",
            "pvmove0_mimage_1: 12+5 linear pv2:12",
        ]
    );
    assert_eq!(names(&vg, "pvmove0_mimage_0"), ["READ", "WRITE"]);
    let one = only(&vg);
    assert_eq!(
        (one.extents, one.moved, one.mode),
        (Extents(17), Extents(0), MoveMode::Atomic)
    );
    let piece = one.running.expect("there is the whole");
    assert_eq!((piece.start, piece.length), (Extents(0), Extents(17)));
    assert_eq!(piece.volumes, [id(&vg, "a"), id(&vg, "b")]);
    assert_eq!(content(&done(abort(&vg, mover))), content(&before));
    let vg = ended(&vg, mover);
    assert_eq!(
        layout(&vg),
        ["a: 0+12 linear pv2:0", "b: 0+5 linear pv2:12"]
    );
}

#[test]
fn only_what_was_asked_for_moves() {
    // Proves: ranges of the source and of the target are kept to; a volume that was named moves
    // and no other does.
    let before = two();
    let (vg, mover) = Ask::of("pv0:6-11:16", &["pv2:50-"]).begun(&before);
    assert_eq!(
        layout(&vg),
        [
            "a: 0+6 linear pv0:0",
            "a: 6+4 linear pvmove0",
            "a: 10+1 linear pv0:15",
            "a: 11+1 linear pvmove0",
            "b: 0+2 linear pvmove0",
            "b: 2+3 linear pv0:12",
            "pvmove0: 0+4 mirror pv0:6 pv2:50",
            "pvmove0: 4+1 mirror pv0:16 pv2:54",
            "pvmove0: 5+2 mirror pv0:10 pv2:55",
        ]
    );
    assert_eq!(content(&done(abort(&vg, mover))), content(&before));
    let named = Ask {
        volume: Some("b"),
        ..Ask::of("pv0", &[])
    };
    let (vg, mover) = named.begun(&before);
    assert_eq!(only(&vg).extents, Extents(5));
    assert_eq!(names(&vg, "a"), ["READ", "WRITE", "VISIBLE"]);
    assert_eq!(layout(&ended(&vg, mover))[2], "b: 0+5 linear pv1:0");
}

#[test]
fn several_moves_at_once_are_apart() {
    // Proves: a second move gets the next number and leaves what is locked alone; each ends by
    // itself; a volume with extents in two moves is locked until the last of them is over.
    let vg = read(&text(&[linear("a", 0, 0, 6), linear("b", 1, 0, 4)]));
    let (vg, first) = Ask::of("pv0:0-2", &["pv2"]).begun(&vg);
    assert_eq!(
        Ask::of("pv0:3-", &["pv2"]).refusal(&vg),
        "Detected pvmove in progress for /dev/sd0: vg/pvmove0 must be ended or aborted first"
    );
    let (change, second) = Ask::of("pv1", &["pv0"])
        .change(&vg)
        .expect("it is possible");
    assert!(texts(&change, Level::Warning).is_empty());
    let vg = done(Ok(change));
    assert_eq!(
        layout(&vg)[2..4],
        ["b: 0+4 linear pvmove1", "pvmove0: 0+3 mirror pv0:0 pv2:0"]
    );
    let vg = ended(&vg, first);
    assert_eq!(names(&vg, "b"), ["READ", "WRITE", "VISIBLE", "LOCKED"]);
    // What is locked stays where it is.
    let (vg, third) = Ask::of("pv2", &["pv1"]).begun(&vg);
    assert_eq!(moves(&vg)[1].name, "pvmove2");
    let vg = done(abort(&ended(&vg, third), second));
    assert_eq!(
        layout(&vg),
        [
            "a: 0+3 linear pv1:4",
            "a: 3+3 linear pv0:3",
            "b: 0+4 linear pv1:0"
        ]
    );
    assert!(vg.lvs().all(|(_, lv)| !lv.flags.has(LvFlag::Locked)));
}

#[test]
fn what_is_locked_is_skipped_or_refused() {
    // Proves: volumes in a move stay where they are, and people are told; where one was asked for
    // or all are, the move is refused.
    let vg = read(&text(&[linear("a", 0, 0, 6), linear("b", 1, 0, 4)]));
    let (vg, _) = Ask::of("pv0:0-2", &["pv1"]).begun(&vg);
    let (change, _) = Ask::of("pv1", &["pv2"])
        .change(&vg)
        .expect("b can be moved");
    assert_eq!(texts(&change, Level::Warning), Vec::<String>::new());
    let vg = read(&text(&[
        linear("a", 0, 0, 6).replace("\"VISIBLE\"", "\"VISIBLE\", \"LOCKED\""),
        linear("b", 0, 10, 4),
    ]));
    let (change, _) = Ask::of("pv0", &[]).change(&vg).expect("b can be moved");
    let said = texts(&change, Level::Warning);
    assert!(said[0].starts_with("Skipping locked LV vg/a"), "{said:?}");
    let named = Ask {
        volume: Some("a"),
        ..Ask::of("pv0", &[])
    };
    assert!(named.refusal(&vg).starts_with("Skipping locked LV vg/a"));
    assert!(
        Ask::of("pv0:0-5", &[])
            .refusal(&vg)
            .starts_with("All data on source PV skipped."),
    );
}

#[test]
fn a_move_that_cannot_be_made_is_refused() {
    // Proves: stock's words where nothing is to be moved, where there is no space or none that
    // may be used, and that the policy is obeyed.
    let vg = two();
    assert_eq!(Ask::of("pv1", &[]).refusal(&vg), "No data to move for vg.");
    assert_eq!(
        Ask::of("pv0", &["pv0"]).refusal(&vg),
        "No extents available for allocation."
    );
    assert_eq!(
        Ask::of("pv0", &["pv1:0-9"]).refusal(&vg),
        "Insufficient free space: 17 extents needed, but only 10 available\nUnable to allocate \
         mirror extents for vg/pvmove0.\nFailed to convert pvmove LV to mirrored."
    );
    let contiguous = Ask {
        policy: Some(AllocationPolicy::Contiguous),
        ..Ask::of("pv0", &["pv1:0-8:10-18"])
    };
    assert!(contiguous.refusal(&vg).contains("suitable contiguous"));
    let named = Ask {
        volume: Some("c"),
        ..Ask::of("pv0", &[])
    };
    assert_eq!(named.refusal(&vg), "Logical volume c not found.");
    let empty = Ask {
        piece_max: 0,
        ..Ask::of("pv0", &[])
    };
    assert_eq!(
        empty.change(&vg).expect_err("no pieces").kind,
        Kind::Request
    );
    let full = read(&text(&[
        linear("a", 0, 0, 5),
        linear("b", 1, 0, PE_COUNT),
        linear("c", 2, 0, PE_COUNT),
    ]));
    for (targets, said) in [
        (
            &[][..],
            "Insufficient free space: 5 extents needed, but only 0 ",
        ),
        (
            &["pv1"],
            "WARNING: No free extents on physical volume \"/dev/sd1\".\nNo specified PVs have",
        ),
    ] {
        let refusal = Ask::of("pv0", targets).refusal(&full);
        assert!(refusal.starts_with(said), "{refusal}");
    }
    let missing = text(&[linear("a", 0, 0, 5)]).replacen(
        "[\"ALLOCATABLE\"] flags = []",
        "[\"ALLOCATABLE\"] flags = [\"MISSING\"]",
        1,
    );
    assert!(
        Ask::of("pv0", &[])
            .refusal(&read(&missing))
            .contains("is missing")
    );
    let exported = text(&[linear("a", 0, 0, 5)]).replacen("\"RESIZEABLE\"", "\"EXPORTED\"", 1);
    assert_eq!(
        Ask::of("pv0", &[]).refusal(&read(&exported)),
        "Volume group vg is exported"
    );
}

#[test]
fn anywhere_extents_stay_on_their_physical_volume() {
    // Proves: with that policy the source may be the target.
    let vg = two();
    let ask = Ask {
        policy: Some(AllocationPolicy::Anywhere),
        ..Ask::of("pv0:0-9", &["pv0:50-"])
    };
    let (vg, mover) = ask.begun(&vg);
    assert_eq!(
        layout(&ended(&vg, mover))[..2],
        ["a: 0+10 linear pv0:50", "a: 10+2 linear pv0:15"]
    );
}

#[test]
fn nobody_takes_what_is_being_moved() {
    // Proves: volumes in a move cannot be changed in size, renamed or removed, nor can a mirror
    // take over the segments of a copy that is being moved; when the move is over, it can.
    let log = MirrorOptions {
        legs: 2,
        log: MirrorLog::Core,
        region_size: None,
        initial: Initial::NoSync,
    };
    let new = NewVolume {
        name: Some("m"),
        kind: NewKind::Mirror(log, Stripes::LINEAR),
        ..NewVolume::linear(SizeArgument::from_extents("4").expect("it is a size"))
    };
    let vg = done(by_author(|author| create_volume(&two(), &new, author)));
    let (vg, mover) = Ask::of("pv0", &["pv2"]).begun(&vg);
    let linear = Conversion {
        volume: "m",
        legs: 1,
        log: None,
        region_size: None,
        initial: Initial::Synchronise,
        places: None,
        policy: None,
        state: MirrorState::InSync,
    };
    let convert = |vg: &VolumeGroup| by_author(|author| convert_mirrors(vg, &linear, author));
    let why = refusal(convert(&vg));
    assert!(
        why.starts_with("Extents of m_mimage_0 are being moved"),
        "{why}"
    );
    let why = refusal(resize(&vg, "m", "3", None));
    assert!(why.starts_with("Extents of m"), "a part of a piece: {why}");
    let locked = [
        resize(&vg, "a", "20", None),
        by_author(|author| rename_volume(&vg, "a", "c", author)),
        by_author(|author| remove_volumes(&vg, &["a"], Along::Nothing, author)),
        by_author(|author| remove_volumes(&vg, &["m"], Along::Nothing, author)),
    ];
    for change in locked {
        refusal(change);
    }
    let over = done(convert(&ended(&vg, mover)));
    assert_eq!(layout(&over)[2], "m: 0+4 linear pv2:17");
}

//! What else is done to a group while extents move, or afterwards: an older text, a lost disk.

use alloc::collections::BTreeSet;

use super::{Ask, abort, ended, moved};
use crate::model::VolumeGroup;
use crate::model::samples::{linear, lv, read, text};
use crate::ondisk::AreaUse;
use crate::plan::change::{Change, Level};
use crate::plan::group::{AreaState, Insistence, PartialVolumes, remove_missing, restore_group};
use crate::plan::logical::ImageStates;
use crate::plan::physical::MoveMode;
use crate::plan::samples::{by_author, done, layout, refusal, resize, texts};
use crate::{Result, Uuid};

/// A linear volume, and one of two stripes, both with extents on the first physical volume.
fn group() -> VolumeGroup {
    let fields = "stripe_count = 2 stripe_size = 128 stripes = [\"pv0\", 20, \"pv1\", 0]";
    read(&text(&[
        linear("a", 0, 0, 10),
        lv("s", 12, "striped", fields),
    ]))
}

fn back(backup: &VolumeGroup, now: &VolumeGroup, insistence: Insistence) -> Result<Change> {
    let present: BTreeSet<_> = now.pvs().map(|(_, pv)| pv.uuid).collect();
    by_author(|author| restore_group(backup, Some(now), &present, insistence, author))
}

#[test]
fn nobody_goes_back_behind_a_move_unasked() {
    // Proves: a text from before a piece was moved is refused, wherever the move is by now, and
    // says how much would be lost of what; who insists is warned. Where nothing has moved yet, or
    // nothing did in the end, it is restored.
    let before = group();
    for mode in [MoveMode::Pieces, MoveMode::Atomic] {
        let ask = Ask {
            mode,
            ..Ask::of("pv0", &["pv2"])
        };
        let (begun, mover) = ask.begun(&before);
        for now in [&begun, &done(abort(&begun, mover))] {
            let change = back(&before, now, Insistence::None).expect("nothing is elsewhere");
            assert!(texts(&change, Level::Warning).is_empty());
            assert_eq!(layout(&done(Ok(change))), layout(&before));
        }
        let end = ended(&begun, mover);
        let why = refusal(back(&before, &end, Insistence::None));
        assert!(why.contains("(10 of a, 6 of s)"), "{why}");
        assert!(why.contains("pvmove") && why.contains("--force"), "{why}");
        let forced = back(&before, &end, Insistence::Forced).expect("it is insisted on");
        assert_eq!(texts(&forced, Level::Warning).len(), 1);
        refusal(back(&begun, &end, Insistence::None));
        let why = refusal(back(&end, &before, Insistence::None));
        assert!(why.contains("(10 of a, 6 of s)"), "the other way: {why}");
    }
    let (begun, mover) = Ask::of("pv0", &["pv2"]).begun(&before);
    let middle = done(moved(&begun, mover, 0));
    for then in [&before, &begun] {
        let why = refusal(back(then, &middle, Insistence::None));
        assert!(why.contains("(8 of a)"), "{why}");
    }
    let aborted = done(abort(&middle, mover));
    let change = back(&middle, &aborted, Insistence::None);
    done(Ok(change.expect("all is where it says")));
}

#[test]
fn what_only_changed_its_size_comes_back() {
    // Proves: a volume that became larger or smaller, or is gone, has not moved; one that got other
    // extents instead of those it lost has, as far as anybody can tell.
    let before = group();
    let larger = done(resize(&before, "a", "15", None));
    let smaller = done(resize(&before, "a", "4", None));
    for (then, now) in [(&before, &larger), (&larger, &before), (&before, &smaller)] {
        back(then, now, Insistence::None).expect("nothing moved");
    }
    let elsewhere = |start| read(&text(&[linear("a", 0, start, 10)]));
    let why = refusal(back(&before, &elsewhere(3), Insistence::None));
    assert!(why.contains("(10 of a)"), "{why}");
    back(&before, &elsewhere(0), Insistence::None).expect("s is gone, and a where it was");
}

fn used(pv: Uuid) -> AreaState {
    AreaState {
        pv,
        area: 0,
        usage: AreaUse::Used,
    }
}

#[test]
fn a_lost_disk_of_a_move_says_what_to_do() {
    // Proves: `vgreduce --removemissing --force` over a move from or to what is lost changes
    // nothing and names `pvmove --abort`, behind which it can.
    let before = group();
    for lost in ["pv0", "pv2"] {
        let (begun, mover) = Ask::of("pv0", &["pv2"]).begun(&before);
        let remove = |vg: &VolumeGroup| {
            let gone = vg.pvs().find(|(_, pv)| pv.key == lost).map(|(pv, _)| pv);
            let gone = BTreeSet::from([gone.expect("it is there")]);
            let partial = PartialVolumes::Remove;
            let states = ImageStates::default();
            let areas: Vec<AreaState> = vg.pvs().map(|(_, pv)| used(pv.uuid)).collect();
            by_author(|author| remove_missing(vg, &gone, partial, &states, &areas, author))
        };
        let why = refusal(remove(&begun));
        assert!(
            why.contains("vg/pvmove0") && why.contains("pvmove --abort"),
            "{why}"
        );
        let aborted = done(abort(&begun, mover));
        let left = remove(&aborted).expect("nothing moves any more");
        let left = left.vg().expect("a group");
        let kept = if lost == "pv0" { 0 } else { 2 };
        assert_eq!(layout(left).len(), kept, "{lost}");
    }
}

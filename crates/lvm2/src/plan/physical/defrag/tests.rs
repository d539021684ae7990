//! Tests: what is moved, and where everything is then.

mod random;
mod room;

use super::plan::{Defrag, DefragScope, plan_defrag};
use crate::model::samples::{hidden_linear, linear, lv, read, text};
use crate::model::{AllocationMap, PvId, VolumeGroup};
use crate::plan::physical::pvmove::{Relocation, relocated};
use crate::plan::physical::{begin_relocation, moves, piece_moved};
use crate::plan::samples::{by_author, done, id, layout};
use crate::{Extents, Uuid};

/// A linear volume of these runs: physical volume, first extent, length.
fn runs(name: &str, runs: &[(usize, u64, u64)]) -> String {
    let whole = linear(name, 0, 0, 1);
    let (head, _) = whole.split_once("segment_count").expect("it has segments");
    let mut start = 0;
    let mut made = vec![format!("{head}segment_count = {}\n", runs.len())];
    for (number, (pv, at, length)) in runs.iter().enumerate() {
        made.push(format!(
            "segment{} {{ start_extent = {start} extent_count = {length} type = \"striped\" \
             stripe_count = 1 stripes = [\"pv{pv}\", {at}] }}\n",
            number + 1
        ));
        start += length;
    }
    made.concat() + "}\n"
}

fn group(lvs: &[String]) -> VolumeGroup {
    read(&text(lvs))
}

fn of_volume(vg: &VolumeGroup, name: &str) -> Defrag {
    plan_defrag(vg, DefragScope::Volume(id(vg, name))).expect("it is planned")
}

/// The group after all passes, each of which is made as the plan says, piece by piece.
fn after(vg: &VolumeGroup, plan: &Defrag) -> VolumeGroup {
    let mut now = vg.clone();
    for pass in &plan.passes {
        now = moved(&now, pass, 3);
    }
    now
}

/// A pass, from its beginning to its end.
fn moved(vg: &VolumeGroup, pass: &[Relocation], piece_max: u64) -> VolumeGroup {
    let expected = layout(&relocated(vg, pass).expect("it is possible"));
    let begun = by_author(|author| begin_relocation(vg, pass, Extents(piece_max), author));
    let (change, mover) = begun.expect("it is possible");
    assert!(change.freed.is_empty());
    let now = to_its_end(done(Ok(change)), mover);
    assert_eq!(layout(&now), expected);
    now
}

fn to_its_end(mut vg: VolumeGroup, mover: Uuid) -> VolumeGroup {
    while let Some(one) = moves(&vg).first() {
        let piece = one.running.clone().expect("there is more");
        vg = done(by_author(|author| {
            piece_moved(&vg, &mover, piece.start, author)
        }));
    }
    vg
}

/// Where a plan moves what, as text: `pv0:8+4 > pv0:4`.
fn told(plan: &Defrag) -> Vec<Vec<String>> {
    let one = |one: &Relocation| {
        format!(
            "pv{}:{}+{} > pv{}:{}",
            one.pv.index(),
            one.from.start.0,
            one.from.length.0,
            one.to.0.index(),
            one.to.1.0
        )
    };
    let passes = plan.passes.iter();
    passes.map(|pass| pass.iter().map(one).collect()).collect()
}

/// The first extent behind all that are in use.
fn end(vg: &VolumeGroup, pv: usize) -> u64 {
    let map = AllocationMap::of(vg);
    let pv: PvId = vg.pvs().nth(pv).expect("it is there").0;
    let ends = map.allocations(pv).iter().map(|taken| taken.range.end().0);
    ends.max().unwrap_or(0)
}

#[test]
fn the_fewest_extents_move() {
    // Proves: the longest run stays where the others fit beside it; other volumes are not touched;
    // what is contiguous is left alone.
    let vg = group(&[
        runs("a", &[(0, 10, 8), (0, 30, 2), (0, 20, 3)]),
        runs("b", &[(0, 23, 4)]),
    ]);
    let plan = of_volume(&vg, "a");
    // The last run is where it should be already.
    assert_eq!(told(&plan), [["pv0:30+2 > pv0:18"]]);
    assert_eq!(plan.extents, Extents(2));
    assert_eq!(plan.segments, (3, 1));
    let now = after(&vg, &plan);
    assert_eq!(layout(&now)[1..], layout(&vg)[3..]);
    assert!(of_volume(&now, "a").passes.is_empty());
    assert!(of_volume(&vg, "b").passes.is_empty());

    let vg = group(&[runs("a", &[(0, 10, 8), (0, 30, 2), (0, 40, 3)])]);
    let plan = of_volume(&vg, "a");
    assert_eq!(
        told(&plan),
        [["pv0:30+2 > pv0:18", "pv0:40+3 > pv0:20"]],
        "the long run stays"
    );
    assert_eq!(layout(&after(&vg, &plan)), ["a: 0+13 linear pv0:10"]);
}

#[test]
fn a_volume_gets_past_itself() {
    // Proves: where its own extents are in the way, they move in passes, each extent once.
    let vg = group(&[
        runs("a", &[(0, 8, 8), (0, 20, 8)]),
        runs("b", &[(0, 0, 8)]),
        runs("c", &[(0, 28, 72)]),
    ]);
    let plan = of_volume(&vg, "a");
    let expected: [&[&str]; 2] = [&["pv0:20+4 > pv0:16"], &["pv0:24+4 > pv0:20"]];
    assert_eq!(told(&plan), expected);
    assert_eq!(plan.extents, Extents(8));
    assert_eq!(layout(&after(&vg, &plan))[0], "a: 0+16 linear pv0:8");
}

#[test]
fn without_room_a_volume_goes_elsewhere_or_stays() {
    // Proves: another physical volume is used only where the own one has no room; with none, the
    // volume is named, and nothing moves.
    let a = runs("a", &[(0, 8, 8), (0, 20, 8)]);
    let full = [
        runs("b", &[(0, 0, 8)]),
        runs("c", &[(0, 16, 4), (0, 28, 72)]),
    ];
    let vg = group(&[std::slice::from_ref(&a), &full[..]].concat());
    let plan = of_volume(&vg, "a");
    assert_eq!(
        told(&plan),
        [["pv0:8+8 > pv1:0", "pv0:20+8 > pv1:8"]],
        "there is no room on pv0"
    );
    let others = [runs("d", &[(1, 0, 99)]), runs("e", &[(2, 2, 98)])];
    let vg = group(&[&[a], &full[..], &others].concat());
    let plan = of_volume(&vg, "a");
    assert!(plan.passes.is_empty());
    assert_eq!(plan.left, [id(&vg, "a")]);
}

#[test]
fn each_copy_is_joined_by_itself_and_stays_apart() {
    // Proves: the images of a mirror are parts of it, and none comes to where another one is, not
    // even where there is no room on its own physical volume.
    let fields = "mirror_count = 2 mirror_log = \"m_mlog\" region_size = 2048 \
                  mirrors = [\"m_mimage_0\", 0, \"m_mimage_1\", 0]";
    let image =
        |name: &str, all: &[(usize, u64, u64)]| runs(name, all).replace(", \"VISIBLE\"", "");
    let vg = group(&[
        lv("m", 4, "mirror", fields),
        image("m_mimage_0", &[(0, 0, 2), (0, 10, 2)]),
        image("m_mimage_1", &[(1, 0, 2), (1, 4, 2)]),
        hidden_linear("m_mlog", 2, 0, 1),
        runs("x", &[(1, 2, 2)]),
        runs("y", &[(1, 6, 94)]),
        runs("z", &[(2, 1, 97)]),
    ]);
    let plan = of_volume(&vg, "m");
    assert_eq!(told(&plan), [["pv0:10+2 > pv0:2"]]);
    assert_eq!(plan.left, [id(&vg, "m_mimage_1")]);
    assert_eq!(plan.segments, (5, 4));
    after(&vg, &plan);
}

#[test]
fn stripes_are_joined_by_themselves() {
    // Proves: a segment is cut through both stripes, and each goes on where it was.
    let stripes = |number: u64, start: u64, length: u64, at: [u64; 2]| {
        format!(
            "segment{number} {{ start_extent = {start} extent_count = {length} type = \"striped\" \
             stripe_count = 2 stripe_size = 128 stripes = [\"pv0\", {}, \"pv1\", {}] }}\n",
            at[0], at[1]
        )
    };
    let whole = linear("s", 0, 0, 1);
    let (head, _) = whole.split_once("segment_count").expect("it has segments");
    let (one, two) = (stripes(1, 0, 8, [0, 10]), stripes(2, 8, 4, [8, 30]));
    let vg = group(&[format!("{head}segment_count = 2\n{one}{two}}}\n")]);
    let plan = of_volume(&vg, "s");
    assert_eq!(told(&plan), [["pv0:8+2 > pv0:4", "pv1:30+2 > pv1:14"]]);
    let now = after(&vg, &plan);
    assert_eq!(layout(&now), ["s: 0+12 striped pv0:0 pv1:10"]);
}

#[test]
fn a_group_is_packed_to_the_front() {
    // Proves: what fits a gap exactly fills it, and what is behind stays; else all shifts; a volume
    // much longer than the gap gets out of the way and comes back.
    let packed = |lvs: &[String]| {
        let vg = group(lvs);
        let plan = plan_defrag(&vg, DefragScope::GroupToStart).expect("it is planned");
        let now = after(&vg, &plan);
        assert!(plan.left.is_empty());
        (told(&plan), plan.extents.0, end(&now, 0))
    };
    let exact = [
        runs("a", &[(0, 0, 4)]),
        runs("b", &[(0, 8, 10)]),
        runs("c", &[(0, 20, 2)]),
        runs("d", &[(0, 30, 4)]),
    ];
    let (told, extents, end) = packed(&exact);
    assert_eq!(told, [["pv0:30+4 > pv0:4", "pv0:20+2 > pv0:18"]]);
    assert_eq!((extents, end), (6, 20));
    let together = [
        runs("a", &[(0, 7, 20)]),
        runs("b", &[(0, 27, 5)]),
        runs("c", &[(0, 32, 2)]),
        runs("d", &[(0, 34, 5)]),
    ];
    let (told, extents, end) = packed(&together);
    assert_eq!(told, [["pv0:32+2 > pv0:0", "pv0:34+5 > pv0:2"]]);
    assert_eq!((extents, end), (7, 32));
    let shifted = [runs("a", &[(0, 4, 8)]), runs("b", &[(0, 12, 3)])];
    let (told, extents, end) = packed(&shifted);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!((extents, end), (11, 11));
    let far = [runs("a", &[(0, 1, 40)]), runs("b", &[(0, 41, 5)])];
    let (told, extents, end) = packed(&far);
    assert!(told.len() <= 4, "{told:?}");
    assert_eq!((extents, end), (85, 45));
}

#[test]
fn nothing_is_moved_that_must_not_be() {
    // Proves: a volume that is being moved keeps its place, and a second move waits for the first.
    let vg = group(&[runs("a", &[(0, 0, 2), (0, 10, 2)])]);
    let plan = of_volume(&vg, "a");
    let pass = &plan.passes[0];
    let begun = by_author(|author| begin_relocation(&vg, pass, Extents(9), author));
    let now = done(begun.map(|(change, _)| change));
    assert!(of_volume(&now, "a").passes.is_empty());
    let again = by_author(|author| begin_relocation(&now, pass, Extents(9), author));
    let why = again.expect_err("it is under way").context;
    assert!(why.contains("being moved"), "{why}");
    let taken = Relocation {
        to: (pass[0].to.0, Extents(1)),
        ..pass[0]
    };
    let wrong = by_author(|author| begin_relocation(&vg, &[taken], Extents(9), author));
    let why = wrong.expect_err("it is taken").context;
    assert!(why.contains("not free"), "{why}");
}

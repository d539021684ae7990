//! Commits keep the group old or new, whatever fails or is lost.

use std::sync::Arc;

use block::sim::{Image, Limits, Recorder, SimDevice, states};
use block::{Device, Kind as BlockKind, Range};
use lvm2::Bytes;
use lvm2::model::VolumeGroup;
use lvm2::ondisk::{AreaUse, Label, PvUse};
use lvm2::plan::{AreaChange, HeaderEdit};

use super::super::{
    FlushPoint, FlushPolicy, Held, Hooks, NoHooks, OpenPv, Reach, adopt, clear, edit_labels, erase,
    initialise, remove_label, write_group,
};
use super::disks::{self, Areas, blank, committed, group, newest, next, open, open_devices, uuid};
use crate::{Error, Kind, Result};

/// A commit is read back from every area, and the next one goes on.
#[test]
fn a_commit_reaches_every_area() {
    let images = [blank(1, Areas::Two), blank(2, Areas::One)];
    let devices = disks::devices(&images);
    let mut vg = group(&[1, 2]);
    for seqno in 1..40 {
        let mut pvs = open_devices(&devices);
        vg = next(&vg);
        assert_eq!(vg.seqno, seqno);
        write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks).expect("commits");
        let mut areas = pvs.iter().flat_map(OpenPv::areas).map(|area| area.held);
        let held = Held::Version {
            group: vg.uuid,
            seqno,
        };
        assert!(areas.all(|found| found == held));
        let reread = open_devices(&devices);
        assert!(
            reread
                .iter()
                .flat_map(OpenPv::areas)
                .all(|area| area.held == held)
        );
    }
}

/// Where an area does not lie on its device, or has no room for a text, nothing is written, and
/// the device is named.
#[test]
fn areas_beyond_the_device_are_refused() {
    let writes = disks::writes(1, Areas::Two);
    for (size, second) in [(3 << 20, 1 << 20), (disks::SIZE, 512)] {
        let mut image = Image::new(size);
        for (start, bytes) in writes.iter().filter(|(start, _)| start.0 < 3 << 20) {
            image.write(start.0, bytes);
        }
        let head = image.bytes(Range::new(0, 2048));
        let mut label = Label::scan(&head).label.expect("is there");
        label.pv.metadata_areas[1].size = Bytes(second);
        image.write(512, &label.encode().expect("fits"));
        let device = &disks::devices(&[image])[0];
        let mut pvs = [OpenPv::open(disks::taken("disk7", device)).expect("has a label")];
        assert_eq!(pvs[0].areas()[1].held, Held::Damaged);
        let vg = next(&group(&[1]));
        let error = write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks)
            .expect_err("has no place");
        assert_eq!(error.kind(), Kind::Damaged, "{error}");
        assert!(
            error
                .to_string()
                .contains("of disk7 does not lie on the device"),
            "{error}"
        );
        assert_ne!(
            pvs[0].areas()[0].held,
            Held::Version {
                group: vg.uuid,
                seqno: vg.seqno
            }
        );
    }
}

/// What is not newer is not written: somebody else was there.
#[test]
fn an_old_version_is_not_written() {
    let images = committed(&[(1, Areas::One)], 3);
    let mut pvs = open(&images);
    let mut vg = group(&[1]);
    vg.seqno = 3;
    let error =
        write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks).expect_err("is old");
    assert_eq!(error.kind(), Kind::Refused);
    assert!(
        error.to_string().contains("somebody else changed it"),
        "{error}"
    );
}

/// A damaged area, a stale one and a precommitted slot are put right by the next commit.
#[test]
fn the_next_commit_repairs() {
    let mut images = committed(&[(1, Areas::Two), (2, Areas::One)], 3);
    images[0].write(4096, &[0xff; 512]);
    let stale = committed(&[(1, Areas::Two), (2, Areas::One)], 2);
    images[1] = stale[1].clone();
    let devices = disks::devices(&images);
    let mut pvs = open_devices(&devices);
    assert_eq!(pvs[0].areas()[0].held, Held::Damaged);
    let mut vg = group(&[1, 2]);
    vg.seqno = 4;
    write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks).expect("commits");
    let good = Held::Version {
        group: vg.uuid,
        seqno: 4,
    };
    let reread = open_devices(&devices);
    assert!(
        reread
            .iter()
            .flat_map(OpenPv::areas)
            .all(|area| area.held == good)
    );
}

fn explore(
    images: &[Image],
    flush_policy: FlushPolicy,
    run: impl Fn(&mut [OpenPv], FlushPolicy),
    judge: impl Fn(&[Image], bool) -> std::result::Result<(), String>,
) -> (usize, Vec<String>) {
    let recorder = Recorder::default();
    let record = |image: &Image| {
        let device = Arc::new(SimDevice::of_image("disk", image.clone()));
        recorder.record(device).expect("is read")
    };
    let devices: Vec<Arc<dyn Device>> = images.iter().map(record).collect();
    run(&mut open_devices(&devices), flush_policy);
    recorder.mark();
    let log = recorder.log();
    let (mut count, mut lost) = (0, Vec::new());
    for state in states(&log, Limits::default(), 1) {
        count += 1;
        if let Err(why) = judge(&state.images, state.marks > 0) {
            lost.push(format!("{why}: {}", state.cut));
        }
    }
    (count, lost)
}

fn old_or_new(
    old: Option<u32>,
    new: Option<u32>,
) -> impl Fn(&[Image], bool) -> std::result::Result<(), String> {
    move |images, is_promised| {
        let found = newest(images);
        let is_good = found == new || (found == old && !is_promised);
        if is_good {
            Ok(())
        } else {
            Err(format!("found {found:?} instead of {old:?} or {new:?}"))
        }
    }
}

/// Power is cut anywhere in a commit: old or new; and each flush that matters is missed.
#[test]
fn a_cut_leaves_old_or_new() {
    let images = committed(&[(1, Areas::Two), (2, Areas::One)], 3);
    let run = |pvs: &mut [OpenPv], flush_policy| {
        let mut vg = group(&[1, 2]);
        vg.seqno = 4;
        write_group(pvs, &vg, &[], flush_policy, &mut NoHooks).expect("commits");
    };
    let judge = old_or_new(Some(3), Some(4));
    let (count, lost) = explore(&images, FlushPolicy::Strict, run, &judge);
    assert!(count > 20, "{count} states");
    assert_eq!(lost, Vec::<String>::new());
    for point in [FlushPoint::Texts, FlushPoint::Headers] {
        let (_, lost) = explore(&images, FlushPolicy::Without(point), run, &judge);
        assert!(
            !lost.is_empty(),
            "a cut without the flush {point:?} loses something"
        );
    }
    let (_, lost) = explore(&images, FlushPolicy::None, run, &judge);
    assert!(!lost.is_empty(), "without flushes something is lost");
}

/// A group is removed or is there as it was, also where an area holds an older version.
#[test]
fn a_cut_removal_brings_no_old_version_back() {
    let mut images = committed(&[(1, Areas::One), (2, Areas::One)], 3);
    images[0] = committed(&[(1, Areas::One), (2, Areas::One)], 2)[0].clone();
    let run = |pvs: &mut [OpenPv], flush_policy| {
        erase(pvs, group(&[1]).uuid, flush_policy).expect("is removed");
    };
    let judge = old_or_new(Some(3), None);
    let (_, lost) = explore(&images, FlushPolicy::Strict, run, &judge);
    assert_eq!(lost, Vec::<String>::new());
    for point in [FlushPoint::Stale, FlushPoint::Cleared] {
        let (_, lost) = explore(&images, FlushPolicy::Without(point), run, &judge);
        assert!(
            !lost.is_empty(),
            "a cut without the flush {point:?} loses something"
        );
    }
}

/// The used areas change from one to the other: never is only an ignored one good.
#[test]
fn a_cut_change_of_areas_keeps_one_readable() {
    let images = committed(&[(1, Areas::SecondIgnored)], 3);
    let swap = |area, usage| AreaChange {
        pv: uuid(1),
        area,
        usage,
    };
    let run = |pvs: &mut [OpenPv], flush_policy| {
        let mut vg = group(&[1]);
        vg.seqno = 4;
        let changes = [swap(0, AreaUse::Ignored), swap(1, AreaUse::Used)];
        write_group(pvs, &vg, &changes, flush_policy, &mut NoHooks).expect("commits");
        assert_eq!(pvs[0].areas()[0].usage(), AreaUse::Ignored);
    };
    let judge = old_or_new(Some(3), Some(4));
    let (_, lost) = explore(&images, FlushPolicy::Strict, run, &judge);
    assert_eq!(lost, Vec::<String>::new());
    let left_out = FlushPolicy::Without(FlushPoint::Headers);
    let (_, lost) = explore(&images, left_out, run, &judge);
    assert!(!lost.is_empty());
}

/// A label points to areas that are there.
#[test]
fn a_cut_new_volume_has_its_areas_or_no_label() {
    let image = Image::new(disks::SIZE);
    let run = |flush_policy: FlushPolicy| {
        let recorder = Recorder::default();
        let device = recorder
            .record(Arc::new(SimDevice::of_image("disk", image.clone())))
            .expect("is read");
        let mut disk = disks::taken("disk", &device);
        initialise(&mut disk, &disks::writes(7, Areas::Two), flush_policy).expect("is made");
        recorder.mark();
        let log = recorder.log();
        let broken = states(&log, Limits::default(), 1).filter(|state| {
            let pvs = open(&state.images);
            let promised = state.marks > 0 && pvs.is_empty();
            promised
                || pvs
                    .iter()
                    .flat_map(OpenPv::areas)
                    .any(|area| area.held == Held::Damaged)
        });
        broken.count()
    };
    assert_eq!(run(FlushPolicy::Strict), 0);
    for point in [FlushPoint::NewAreas, FlushPoint::NewLabel] {
        assert!(run(FlushPolicy::Without(point)) > 0, "{point:?}");
    }
}

/// Labels are edited and removed, and nothing else is touched.
#[test]
fn labels_change_alone() {
    let devices = disks::devices(&committed(&[(1, Areas::One), (2, Areas::One)], 3));
    let mut pvs = open_devices(&devices);
    let edit = [(uuid(1), HeaderEdit::Usage(PvUse::Free))];
    edit_labels(
        &mut pvs,
        &edit,
        FlushPolicy::Strict,
        FlushPoint::LabelsBefore,
    )
    .expect("writes");
    let reread = open_devices(&devices);
    assert_eq!(reread[0].label().pv.usage(), PvUse::Free);
    assert_eq!(reread[1].label().pv.usage(), PvUse::Used);
    clear(
        &mut pvs,
        group(&[1]).uuid,
        |pv| pv == uuid(2),
        FlushPolicy::Strict,
    )
    .expect("clears");
    assert_eq!(open_devices(&devices)[0].areas()[0].held, Held::Nothing);
    let mut disk = disks::taken("a", &devices[0]);
    remove_label(&mut disk, FlushPolicy::Strict).expect("is removed");
    let error = OpenPv::open(disks::taken("a", &devices[0])).expect_err("is none any more");
    assert_eq!(error.kind(), Kind::Damaged);
}

struct Suspended(Vec<&'static str>, bool);

impl Hooks for Suspended {
    fn suspend(&mut self, _vg: &lvm2::model::VolumeGroup) -> Result<()> {
        self.0.push("suspend");
        if self.1 {
            Ok(())
        } else {
            Err(Error::new(Kind::Refused, "it is in use"))
        }
    }

    fn publish(&mut self, _reach: Reach) {
        self.0.push("publish");
    }

    fn resume(&mut self) {
        self.0.push("resume");
    }
}

/// Each I/O of a commit fails once: the group is old or new, the error says where, and whoever
/// serves it goes on with the right tables.
#[test]
fn an_error_at_each_request_leaves_old_or_new() {
    let images = committed(&[(1, Areas::Two), (2, Areas::One)], 3);
    let (mut unchanged, mut partial) = (0, 0);
    for disk in 0..2 {
        for request in 1..40 {
            let sims = disks::sims(&images);
            sims[disk]
                .disk()
                .faults_mut()
                .failing
                .insert(request, BlockKind::Io);
            let mut hooks = Suspended(Vec::new(), true);
            let devices: Vec<Arc<dyn Device>> =
                sims.iter().map(|sim| Arc::new(sim.clone()) as _).collect();
            let mut vg = group(&[1, 2]);
            vg.seqno = 4;
            let mut run = || -> Result<()> {
                let mut pvs = Vec::new();
                for (number, device) in devices.iter().enumerate() {
                    pvs.push(OpenPv::open(disks::take(
                        &format!("disk{number}"),
                        device,
                    )?)?);
                }
                adopt(&mut pvs, FlushPolicy::Strict)?;
                write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut hooks)
            };
            let result = run();
            let found = newest(&disks::content(&sims));
            match result {
                Ok(()) => assert_eq!(found, Some(4)),
                Err(error) if error.kind() == Kind::Incomplete => {
                    partial += 1;
                    assert!(
                        error.to_string().contains(&format!("disk{disk}")),
                        "{error}"
                    );
                    assert_eq!(hooks.0, ["suspend", "publish"], "{error}");
                    assert_eq!(found, Some(4));
                }
                Err(error) => {
                    unchanged += 1;
                    assert!(
                        error.to_string().contains(&format!("disk{disk}")),
                        "{error}"
                    );
                    assert!(error.to_string().contains("nothing was changed"), "{error}");
                    assert_eq!(found, Some(3));
                }
            }
        }
    }
    assert!(unchanged > 6 && partial >= 3, "{unchanged} {partial}");
    let mut pvs = open(&images);
    let mut vg = group(&[1, 2]);
    vg.seqno = 4;
    let mut hooks = Suspended(Vec::new(), false);
    write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut hooks).expect_err("is in use");
    assert_eq!(hooks.0, ["suspend", "resume"]);
}

/// Texts are placed apart from the live ones until they do not fit.
#[test]
fn a_text_that_does_not_fit_is_refused() {
    let images = committed(&[(1, Areas::Small)], 3);
    let mut pvs = open(&images);
    let mut vg: VolumeGroup = group(&[1]);
    vg.seqno = 4;
    vg.tags = (0..2000).map(|number| format!("tag{number}")).collect();
    let error =
        write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks).expect_err("is long");
    assert_eq!(error.kind(), Kind::Refused);
    assert!(error.to_string().contains("--metadatasize"), "{error}");
    assert_eq!(newest(&images), Some(3));
}

//! What is in use or holds a file system, and what becomes of it.

use lvm2::Uuid;
use lvm2::model::{PhysicalVolume, VolumeGroup};
use lvm2::ondisk::AreaUse;
use lvm2::plan::group::{
    AreaState, GroupAttribute, SplitInto, SplitOff, change_group, split_group,
};
use lvm2::plan::logical::{Along, Resize, remove_volumes, resize_volume};
use lvm2::plan::size::{ResizeTo, SizeArgument};
use lvm2::plan::{Author, Change, VolumeChange};

use super::bench::{Bench, Served, in_group};
use crate::apply::{Agreement, Answer, FileSystems, Quiet, Request};
use crate::host::Sysfs;
use crate::{Kind, Result};

const DATA_START: u64 = 1 << 20;
const MIB: u64 = 1 << 20;

/// A group with `data`, 8 MiB at the start of the first disk.
fn with_volume() -> (Bench, Uuid) {
    let bench = Bench::new();
    bench.create_group();
    bench
        .create_volume(&in_group("lvcreate"), &mut Quiet::yes())
        .expect("is made");
    let scan = bench.scan();
    let (group, lv) = scan.find_volume("vg0/data").expect("is there");
    let uuid = group.model.lv(lv).uuid;
    (bench, uuid)
}

/// `data` with half of what it had.
fn halved(vg: &VolumeGroup, author: &mut Author<'_>) -> lvm2::Result<Change> {
    let resize = Resize::to("data", SizeArgument::extents(1), ResizeTo::Smaller);
    resize_volume(vg, &resize, author)
}

fn removed(vg: &VolumeGroup, author: &mut Author<'_>) -> lvm2::Result<Change> {
    remove_volumes(vg, &["data"], Along::Nothing, author)
}

/// The disk with this number, and all that is on it, in a group of its own.
fn split<const DISK: usize>(vg: &VolumeGroup, author: &mut Author<'_>) -> lvm2::Result<Change> {
    let pvs = vg.pvs().map(|(id, _)| id).skip(DISK).take(1).collect();
    let in_use = |pv: &PhysicalVolume| AreaState {
        pv: pv.uuid,
        area: 0,
        usage: AreaUse::Used,
    };
    let areas: Vec<AreaState> = vg.pvs().map(|(_, pv)| in_use(pv)).collect();
    let (into, off) = (SplitInto::named("vg1"), SplitOff::Pvs(&pvs));
    split_group(vg, into, off, &areas, author)
}

type Planner = fn(&VolumeGroup, &mut Author<'_>) -> lvm2::Result<Change>;

/// Makes a change of the group while `served` serves it, and gives what was told.
fn change(
    bench: &Bench,
    request: &Request,
    (served, answer): (&mut Served, Answer),
    plan: Planner,
) -> Result<String> {
    let mut prompt = Quiet {
        answer,
        messages: Vec::new(),
    };
    bench.with_session(&mut prompt, Some(served), |session| {
        session.change(request, &mut |scan, author| {
            Ok(plan(&scan.find_group("vg0")?.model, author)?.into())
        })
    })?;
    let texts = prompt.messages.into_iter().map(|message| message.text);
    Ok(texts.collect::<Vec<_>>().join("; "))
}

fn seqno(bench: &Bench) -> u32 {
    bench.scan().find_group("vg0").expect("is there").seqno
}

/// A file system: its name, what to do about it, and its first bytes with their places.
type FileSystem = (&'static str, &'static str, Vec<(u64, Vec<u8>)>);

/// Each file system, for a volume of `size` bytes.
fn superblocks(size: u64) -> [FileSystem; 5] {
    let ext = |features: u32| {
        let number = |number: u64| (number as u32).to_le_bytes().to_vec();
        vec![
            (1024 + 0x4, number(size / 1024)),
            (1024 + 0x38, vec![0x53, 0xef]),
            (1024 + 0x60, number(u64::from(features))),
        ]
    };
    let blocks = (size / 4096).to_be_bytes();
    let xfs = [&b"XFSB\0\0\x10\0"[..], &blocks].concat();
    let btrfs = vec![
        (65536 + 0x40, b"_BHRfS_M".to_vec()),
        (65536 + 0xd1, size.to_le_bytes().to_vec()),
    ];
    let last = (size / 4096 - 1) as u32;
    let swap = [1u32.to_le_bytes(), last.to_le_bytes()].concat();
    let swap = vec![(1024, swap), (4086, b"SWAPSPACE2".to_vec())];
    [
        ("ext4", "resize2fs", ext(0x40)),
        ("xfs", "not supported (xfs)", vec![(0, xfs)]),
        ("btrfs", "btrfs filesystem resize", btrfs),
        ("swap", "(see mkswap)", swap),
        (
            "crypto_LUKS",
            "cryptsetup resize",
            vec![(0, b"LUKS\xba\xbe\0\x02".to_vec())],
        ),
    ]
}

/// A volume does not become smaller than a file system in it, and people read both sizes and what
/// to do; unless they insist, or the file system ends before.
#[test]
fn file_systems_are_not_cut() {
    for (name, remedy, parts) in superblocks(8 * MIB) {
        let (bench, _) = with_volume();
        for (at, bytes) in &parts {
            bench.folder.write("disks/a.img", DATA_START + at, bytes);
        }
        let cut = |file_systems| {
            let request = Request {
                file_systems,
                ..in_group("lvreduce")
            };
            let served = &mut Served::default();
            change(&bench, &request, (served, Answer::No), halved)
        };
        for kept in [FileSystems::Kept, FileSystems::Resized] {
            let error = cut(kept).expect_err("is cut");
            assert_eq!(error.kind(), Kind::Refused);
            let text = error.to_string();
            let sizes = "File system size (8.00 MiB) is larger than the requested size (4.00 MiB)";
            let found = format!("File system {name} found on vg0/data.");
            for part in [&found, sizes, remedy, "--fs ignore"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        assert_eq!(seqno(&bench), 2, "nothing is written");
        cut(FileSystems::Ignored).expect("people insist");
    }
    for (name, _, parts) in superblocks(4 * MIB).into_iter().take(4) {
        let (bench, _) = with_volume();
        for (at, bytes) in parts {
            bench.folder.write("disks/a.img", DATA_START + at, &bytes);
        }
        let served = &mut Served::default();
        let request = in_group("lvreduce");
        change(&bench, &request, (served, Answer::No), halved).expect(name);
    }
}

/// A volume in use is not taken away, and becomes smaller only if people agree or its file system
/// became so before; one that goes to another group is still there, and others do not matter.
#[test]
fn volumes_in_use_are_kept() {
    let pid = std::process::id();
    let warning = "Reducing active and open logical volume to 4.00 MiB.";
    let in_use = format!("Logical volume vg0/data in use: process {pid} serves it");
    let not_reduced = "Logical volume vg0/data NOT reduced.";
    let (asked, given) = (Agreement::Asked, Agreement::Given);
    let (kept, resized) = (FileSystems::Kept, FileSystems::Resized);
    let (no, yes) = (Answer::No, Answer::Yes);
    let (removed, halved): (Planner, Planner) = (removed, halved);
    let cases = [
        ((removed, given, kept, yes), Some(in_use.as_str()), ""),
        ((removed, asked, resized, yes), Some(&in_use), ""),
        ((halved, asked, kept, no), Some(not_reduced), ""),
        ((halved, asked, kept, yes), None, ""),
        ((halved, given, kept, no), None, warning),
        ((halved, asked, resized, no), None, ""),
        ((split::<0>, asked, kept, no), None, ""),
        ((split::<1>, asked, kept, no), None, ""),
    ];
    for (number, ((plan, agreement, file_systems, answer), refusal, told)) in
        cases.into_iter().enumerate()
    {
        let request = Request {
            agreement,
            file_systems,
            changes_pvs: true,
            ..in_group("change")
        };
        let (bench, data) = with_volume();
        let mut served = Served {
            in_use: vec![data],
            ..Served::default()
        };
        let done = change(&bench, &request, (&mut served, answer), plan);
        if let Some(refusal) = refusal {
            let text = done.expect_err("is refused").to_string();
            assert!(text.starts_with(refusal), "{number}: {text}");
            assert_eq!((seqno(&bench), served.disks), (2, vec![]), "{number}");
            // Another volume is in use.
            let mut served = Served {
                in_use: vec![Uuid::from_random(&[7; 32])],
                ..Served::default()
            };
            change(&bench, &request, (&mut served, answer), plan).expect("nobody uses it");
        } else {
            let done = done.expect("nothing is lost");
            assert_eq!(done.contains(warning), !told.is_empty(), "{number}: {done}");
        }
    }
}

/// What would be asked is known before, in stock's words.
#[test]
fn a_plan_knows_the_question() {
    let (bench, data) = with_volume();
    let mut served = Served {
        in_use: vec![data],
        ..Served::default()
    };
    let preview = bench.with_session(&mut Quiet::yes(), Some(&mut served), |session| {
        session.preview(&in_group("lvreduce"), &mut |scan, author| {
            Ok(halved(&scan.find_group("vg0")?.model, author)?.into())
        })
    });
    assert_eq!(
        preview.expect("is possible").questions,
        [
            "  WARNING: Reducing active and open logical volume to 4.00 MiB.\n  THIS MAY DESTROY \
             YOUR DATA (filesystem etc.)\nDo you really want to reduce vg0/data? [y/n]: "
        ]
    );
    assert_eq!((seqno(&bench), served.disks), (2, vec![]));
}

/// Volumes that the kernel has active under its own tables are not renamed, changed or removed
/// here; new ones, others, and those of a clone of the group do not matter.
#[test]
fn volumes_of_the_kernel_are_left_alone() {
    let (mut bench, data) = with_volume();
    let group = bench.scan().find_group("vg0").expect("is there").uuid;
    let other = Uuid::from_random(&[7; 32]);
    let plain = |uuid: Uuid| uuid.to_string().replace('-', "");
    let name = "data".to_owned();
    let of = |lv: Uuid| -> [VolumeChange; 4] {
        let name = || name.clone();
        let (from, to) = (name(), "new".to_owned());
        [
            VolumeChange::Deactivate { lv, name: name() },
            VolumeChange::Reload { lv, name: name() },
            VolumeChange::Rename { lv, from, to },
            VolumeChange::Activate { lv, name: name() },
        ]
    };
    bench.host.sysfs = Sysfs::at(bench.folder.path("sys"));
    let folder = bench.folder.path("sys/class/block/dm-3/dm");
    std::fs::create_dir_all(&folder).expect("is made");
    for (active_group, active, changed) in [
        (group, data, data),
        (group, other, data),
        (other, data, data),
        (group, data, other),
    ] {
        let uuid = format!("LVM-{}{}", plain(active_group), plain(active));
        std::fs::write(folder.join("uuid"), uuid).expect("is written");
        for (number, volume) in of(changed).into_iter().enumerate() {
            let touched = bench.change(&in_group("change"), &mut Quiet::yes(), |scan, author| {
                let vg = &scan.find_group("vg0")?.model;
                let limit = [GroupAttribute::MaxLv(vg.seqno)];
                let mut change = change_group(vg, &limit, &[], author)?;
                change.volumes = vec![volume.clone()];
                Ok(change.into())
            });
            let is_held = active_group == group && active == changed && number < 3;
            let error = touched.err();
            assert_eq!(error.is_some(), is_held, "{volume:?}: {error:?}");
            if let Some(error) = error {
                let start = "Logical volume vg0/data in use: the kernel has it active as dm-3;";
                assert!(error.to_string().starts_with(start), "{error}");
            }
        }
    }
}

//! What is said of arrays that a stock kernel left in the middle of something is what it said of
//! them itself, as far as superblocks can know (`tests/fixtures/raid/NAME.view.txt`).

use std::collections::BTreeMap;
use std::fs;

use lvm2::model::SegmentType;

use super::{ArrayReader, FoundArray, ImageState, Task};
use crate::scan::Scan;
use crate::tests::fixture::{Folder, fixture_path};

/// All arrays of the groups on these disks, by name.
fn arrays(scan: &Scan) -> BTreeMap<String, FoundArray> {
    let mut reader = ArrayReader::default();
    let mut all = BTreeMap::new();
    for group in &scan.groups {
        for (lv, volume) in group.model.lvs() {
            if let Some(found) = reader.read(scan, group, lv).expect("it is an array") {
                all.insert(format!("{}-{}", group.name, volume.name()), found);
            }
        }
    }
    all
}

/// What `dmsetup status` said of a set's arrays: name, letters of the legs, done, all, action.
fn statuses(set: &str) -> Vec<(String, String, u64, u64, String)> {
    let view = fs::read_to_string(fixture_path(&format!("raid/{set}.view.txt"))).expect("a view");
    let lines = view.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, _, _, "raid", _, _, letters, ratio, action, ..] = words[..] else {
            return None;
        };
        let (done, all) = ratio.split_once('/')?;
        let name = name.trim_end_matches(':').to_owned();
        let numbers = (done.parse().ok()?, all.parse().ok()?);
        Some((
            name,
            letters.to_owned(),
            numbers.0,
            numbers.1,
            action.to_owned(),
        ))
    });
    lines.collect()
}

/// The letters of the kernel, one for each image.
fn letters(found: &FoundArray) -> String {
    let letter = |image: &ImageState| match image {
        ImageState::Missing | ImageState::Distrusted(_) => 'D',
        ImageState::OutOfSync => 'a',
        ImageState::InSync => 'A',
    };
    found.images.iter().map(letter).collect()
}

fn action(task: Task) -> &'static str {
    match task {
        Task::Idle => "idle",
        Task::Resync(_) => "resync",
        Task::Recover(_) => "recover",
        Task::Reshape(_) => "reshape",
    }
}

/// Images and what is under way are what the kernel said, and what was under way is.
#[test]
fn superblocks_say_what_the_kernel_said() {
    let mut count = 0;
    for set in ["levels", "rebuild", "resync", "dirty"] {
        let folder = Folder::unpacked(&format!("raid/{set}.tar.zst"));
        let found = arrays(&folder.scan());
        for (name, expected, done, all, running) in statuses(set) {
            if name == "levels-raid0_meta" {
                assert!(!found.contains_key(&name), "it keeps no state");
                continue;
            }
            let found = &found[&name];
            assert_eq!(letters(found), expected, "{name}");
            assert_eq!(action(found.task), running, "{name}");
            // The power was cut behind what the kernel said: some more may be done.
            let is_running = found
                .progress()
                .is_some_and(|one| one.done > 0 && !one.is_done());
            assert_eq!(is_running, done < all, "{name}: {found:?}");
            count += 1;
        }
    }
    assert!(count >= 45, "{count} arrays were looked at");
}

/// A disk that was away is not believed where the others say so, and missing where it is gone.
#[test]
fn a_disk_that_was_away_is_not_believed() {
    let folder = Folder::unpacked("raid/degraded.tar.zst");
    for (name, found) in arrays(&folder.scan()) {
        // Nothing but a bitmap tells of what a blind one missed.
        let is_told = !name.contains("-blind");
        assert_eq!(found.distrusts(), is_told, "{name}: {found:?}");
        assert_eq!(found.task, Task::Idle, "{name}");
    }
    folder.remove("d1.img");
    let gone = arrays(&folder.scan());
    assert_eq!(gone.len(), 20, "they are there without it");
    for (name, found) in gone {
        assert!(!found.distrusts(), "{name}: {found:?}");
        assert_eq!(found.images[1], ImageState::Missing, "{name}");
    }
}

/// A reshape is known, with where data are and will be, and is neither at its start nor at its end.
#[test]
fn reshapes_are_known() {
    let folder = Folder::unpacked("raid/reshape.tar.zst");
    let found = arrays(&folder.scan());
    assert_eq!(found.len(), statuses("reshape").len());
    for (name, found) in found {
        assert!(matches!(found.task, Task::Reshape(_)), "{name}: {found:?}");
        let progress = found.progress().expect("it is under way");
        assert!(
            progress.done > 0 && !progress.is_done(),
            "{name}: {progress:?}"
        );
        let starts = (found.data_start, found.new_start.expect("it moves"));
        assert!(starts.0 != starts.1, "{name}: {starts:?}");
        assert!(
            found
                .images
                .iter()
                .all(|image| *image == ImageState::InSync),
            "{name}: {found:?}"
        );
    }
}

/// A superblock of zeros beside others is not believed; where all are zeros the array is new, and
/// nothing is said; what contradicts itself makes no array.
#[test]
fn zeros_and_nonsense() {
    let folder = Folder::unpacked("raid/levels.tar.zst");
    let starts = |folder: &Folder| -> Vec<(String, u64)> {
        let scan = folder.scan();
        let group = &scan.groups[0];
        let lv = group.model.lv_by_name("raid5x6").expect("a volume");
        let Some(SegmentType::Raid(raid)) = group.model.lv(lv).first() else {
            panic!("it is an array");
        };
        let mut reader = ArrayReader::default();
        let metas = raid
            .images
            .iter()
            .map(|image| image.meta.expect("it has one"));
        let places = metas.map(|meta| {
            reader
                .place(&scan, group, meta, (0, 512))
                .expect("it is there")
        });
        let name =
            |device: &dyn block::Device| device.info().name.rsplit('/').next().map(str::to_owned);
        places
            .map(|(device, start)| (name(&*device).expect("a name"), start))
            .collect()
    };
    let places = starts(&folder);
    let (first, others) = places.split_first().expect("six of them");
    folder.write(&first.0, first.1, &[0; 512]);
    let found = &arrays(&folder.scan())["levels-raid5x6"];
    assert!(
        matches!(found.images[0], ImageState::Distrusted(_)),
        "{found:?}"
    );
    assert_eq!(letters(found), "DAAAAA");
    let (other, rest) = others.split_first().expect("five of them");
    folder.write(&other.0, other.1 + 48, &6_u32.to_le_bytes());
    folder.write(&other.0, other.1 + 16, &(1_u64 << 40).to_le_bytes());
    let scan = folder.scan();
    let lv = scan.groups[0]
        .model
        .lv_by_name("raid5x6")
        .expect("a volume");
    let error = ArrayReader::default().read(&scan, &scan.groups[0], lv);
    let error = error.expect_err("no array").to_string();
    assert!(error.contains("levels/raid5x6"), "{error}");
    for (disk, start) in rest.iter().chain([other]) {
        folder.write(disk, *start, &[0; 512]);
    }
    assert!(!arrays(&folder.scan()).contains_key("levels-raid5x6"));
}

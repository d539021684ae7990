//! Layouts, judged by the file system's own tools; hostile ones by not hanging.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::trace::label::{FileSystem, Labels, Map, Touched};
use crate::trace::{Certainty, Class, Label, Operation, Record, Trace};

/// A folder that is removed in the end.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ashlar-lab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn output(program: &str, arguments: &[&str]) -> String {
    let ran = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .output();
    let ran = ran.unwrap_or_else(|error| panic!("{program} (e2fsprogs or xfsprogs): {error}"));
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A tree with large and small files, holes, many names and links.
fn plant(folder: &Path) {
    let data = vec![7_u8; 3_000_000];
    for index in 0..40 {
        let sub = folder.join(format!("folder {index}"));
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("small"), &data[..index * 700]).unwrap();
    }
    let many = folder.join("many");
    fs::create_dir(&many).unwrap();
    for index in 0..600 {
        let name = format!("a rather long name, so that the directory takes blocks {index:090}");
        fs::write(many.join(name), b"").unwrap();
    }
    fs::write(folder.join("large"), &data).unwrap();
    let holes = File::create(folder.join("holes")).unwrap();
    for index in 0..200 {
        std::os::unix::fs::FileExt::write_all_at(&holes, b"x", index * 50_000).unwrap();
    }
    std::os::unix::fs::symlink("y".repeat(100), folder.join("long link")).unwrap();
    std::os::unix::fs::symlink("short", folder.join("short link")).unwrap();
}

fn make(folder: &Path, program: &str, options: &[&str], size: &str) -> PathBuf {
    let image = folder.join("image");
    let tree = folder.join("tree");
    if !tree.exists() {
        fs::create_dir(&tree).unwrap();
        plant(&tree);
    }
    let _ = fs::remove_file(&image);
    let (image_text, tree) = (image.to_str().unwrap(), tree.to_str().unwrap());
    let mut arguments = vec!["-q", "-F", "-d", tree];
    arguments.extend(options);
    arguments.extend([image_text, size]);
    output(program, &arguments);
    image
}

type Oracle = BTreeMap<u64, Class>;

/// "5", "5-9" or several with commas.
fn numbers(text: &str) -> Vec<u64> {
    let ends = |range: &str| -> Vec<u64> {
        let range = range.trim();
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse().ok();
        match (number(first), number(last)) {
            (Some(first), Some(last)) => (first..=last).collect(),
            _ => Vec::new(),
        }
    };
    text.split(',').flat_map(ends).collect()
}

/// What `dumpe2fs` says of the groups.
fn judge_groups(image: &str, oracle: &mut Oracle) {
    let (mut backup, mut group) = (false, 0);
    for line in output("dumpe2fs", &[image]).lines() {
        let line = line.trim();
        if let Some(free) = line.strip_prefix("Free blocks: ") {
            oracle.extend(numbers(free).into_iter().map(|block| (block, Class::Free)));
            continue;
        }
        let number = line
            .strip_prefix("Group ")
            .and_then(|rest| rest.split(':').next());
        if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
            (group, backup) = (number, false);
        }
        for part in line.split(", ") {
            let Some((what, place)) = part.split_once(" at ") else {
                continue;
            };
            let place = place.split([' ', '(']).next().unwrap_or_default();
            backup |= what.starts_with("Backup");
            let class = match what {
                "Primary superblock" => Class::Superblock,
                "Backup superblock" => Class::Backup,
                "Group descriptors" | "Reserved GDT blocks" | "Group descriptor" => {
                    Class::GroupDescriptors
                }
                "Block bitmap" => Class::BlockBitmap,
                "Inode bitmap" => Class::InodeBitmap,
                "Inode table" => Class::InodeTable,
                _ => continue,
            };
            for block in numbers(place) {
                // Where the descriptors are with their groups, the first of sixteen has them.
                let kept = what == "Group descriptor" && group % 16 != 0;
                let copy = (backup || kept) && class == Class::GroupDescriptors;
                oracle.insert(block, if copy { Class::Backup } else { class });
            }
        }
    }
}

/// What `debugfs` says of each inode that is in use.
fn judge_inodes(folder: &Path, image: &str, oracle: &mut Oracle) {
    let commands = folder.join("commands");
    let text = (1..1100).fold(String::new(), |mut text, inode| {
        let _ = writeln!(text, "testi <{inode}>\nstat <{inode}>");
        text
    });
    fs::write(&commands, text).unwrap();
    let told = output("debugfs", &["-f", commands.to_str().unwrap(), image]);
    for told in told.split("debugfs: testi ").skip(1) {
        let number: u64 = told[1..told.find('>').unwrap()].parse().unwrap();
        if !told.contains("is marked in use") || number == 7 || number == 1 {
            continue;
        }
        let class = match number {
            8 => Class::Journal,
            _ if told.contains("Type: directory") => Class::Directory,
            _ if told.contains("Type: regular") || told.contains("Type: symlink") => {
                Class::FileData
            }
            _ => continue,
        };
        let Some(at) = ["\nEXTENTS:\n", "\nBLOCKS:\n"]
            .iter()
            .find_map(|head| told.find(head).map(|at| at + head.len()))
        else {
            continue;
        };
        let list = told[at..].lines().next().unwrap_or_default();
        for entry in list.split(", ") {
            let Some((inside, place)) = entry.trim().split_once("):") else {
                continue;
            };
            let pointers = inside.contains("IND") || inside.contains("ETB");
            let class = if pointers { Class::BlockMap } else { class };
            for block in numbers(place) {
                oracle.insert(block, class);
            }
        }
    }
}

#[test]
fn layouts_are_as_the_tools_say() {
    // Every block of file systems of many shapes has the class that dumpe2fs and debugfs give it.
    let folder = Folder::new("layouts");
    let cases: [(&str, &[&str], &str, FileSystem); 8] = [
        (
            "mkfs.ext2",
            &["-b", "1024", "-N", "1024"],
            "40M",
            FileSystem::Ext2,
        ),
        (
            "mkfs.ext2",
            &["-b", "4096", "-N", "1024"],
            "40M",
            FileSystem::Ext2,
        ),
        (
            "mkfs.ext3",
            &["-b", "1024", "-J", "size=4"],
            "48M",
            FileSystem::Ext3,
        ),
        ("mkfs.ext4", &["-b", "1024"], "48M", FileSystem::Ext4),
        ("mkfs.ext4", &["-b", "4096"], "80M", FileSystem::Ext4),
        (
            "mkfs.ext4",
            &["-b", "1024", "-O", "^resize_inode,meta_bg"],
            "140M",
            FileSystem::Ext4,
        ),
        (
            "mkfs.ext4",
            &["-b", "4096", "-O", "bigalloc", "-C", "16384"],
            "64M",
            FileSystem::Ext4,
        ),
        (
            "mkfs.ext4",
            &["-b", "2048", "-O", "^flex_bg,^64bit,sparse_super2"],
            "80M",
            FileSystem::Ext4,
        ),
    ];
    for (program, options, size, kind) in cases {
        let image = make(&folder.0, program, options, size);
        let map = Map::read("image", &mut File::open(&image).unwrap()).unwrap();
        let what = format!("{program} {options:?}");
        assert_eq!(map.file_system, kind, "{what}");
        assert_eq!(map.remarks, Vec::<String>::new(), "{what}");
        let image_text = image.to_str().unwrap();
        let mut oracle = Oracle::new();
        judge_inodes(&folder.0, image_text, &mut oracle);
        judge_groups(image_text, &mut oracle);
        let head = output("dumpe2fs", &["-h", image_text]);
        let field = |name: &str| -> u64 {
            let line = head.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_once(':').unwrap().1.trim().parse().unwrap()
        };
        let (size, blocks) = (field("Block size"), field("Block count"));
        let mut seen: BTreeMap<Class, u64> = BTreeMap::new();
        for block in field("First block")..blocks {
            let class = map.class_at(block * size / 512);
            *seen.entry(class).or_default() += 1;
            match oracle.get(&block) {
                Some(&judged) => assert_eq!(class, judged, "{what}: block {block}"),
                // What no tool lists is used by the resize inode, or is the rest of a cluster.
                None => assert!(
                    class == Class::Free && options.contains(&"bigalloc")
                        || matches!(
                            class,
                            Class::GroupDescriptors | Class::Auxiliary | Class::FileData
                        ),
                    "{what}: block {block} is {class}"
                ),
            }
        }
        assert!(
            seen[&Class::Directory] > 40 && seen[&Class::FileData] > 700,
            "{what}: {seen:?}"
        );
        assert!(
            seen.contains_key(&Class::BlockMap) || options.contains(&"bigalloc"),
            "{seen:?}"
        );
        assert_eq!(
            seen.contains_key(&Class::Journal),
            kind != FileSystem::Ext2,
            "{what}"
        );
        assert_eq!(map.class_at(blocks * size / 512), Class::Outside);
    }
}

#[test]
fn hostile_layouts_end() {
    // Bytes changed anywhere in the metadata: a map or an error, soon.
    let folder = Folder::new("hostile");
    let image = make(&folder.0, "mkfs.ext4", &["-b", "1024", "-N", "1024"], "24M");
    let sound = fs::read(&image).unwrap();
    let map = Map::read("image", &mut sound.as_slice()).unwrap();
    let tables = map
        .areas()
        .iter()
        .filter(|area| !matches!(area.class, Class::FileData | Class::Free | Class::Journal));
    let places: Vec<u64> = tables
        .flat_map(|area| area.start * 512..area.end * 512)
        .collect();
    let mut state = 5_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for round in 0..150 {
        let mut bytes = sound.clone();
        for _ in 0..=next(40) {
            let at = match round % 3 {
                0 => 1024 + next(1024) as u64,
                _ => places[next(places.len())],
            };
            bytes[at as usize] = [0, 0xff, next(256) as u8][next(3)];
        }
        let _ = Map::read("image", &mut bytes.as_slice());
    }
    for cut in [0, 1024, 2047, 2048, 9000, 1 << 20] {
        assert!(Map::read("image", &mut &sound[..cut]).is_err());
    }
}

#[test]
fn labels_say_how_sure_they_are() {
    // Freed, made, kept and mixed places.
    let folder = Folder::new("labels");
    let image = make(&folder.0, "mkfs.ext4", &["-b", "1024", "-N", "1024"], "24M");
    let image_text = image.to_str().unwrap();
    let before = Map::read("image", &mut File::open(&image).unwrap()).unwrap();
    let find = |map: &Map, class: Class| {
        map.areas()
            .iter()
            .rev()
            .find(|area| area.class == class)
            .unwrap()
            .start
    };
    output("debugfs", &["-w", "-R", "rm large", image_text]);
    let after = Map::read("image", &mut File::open(&image).unwrap()).unwrap();
    let freed = (0..48 << 10)
        .step_by(2)
        .find(|&at| before.class_at(at) == Class::FileData && after.class_at(at) == Class::Free)
        .unwrap();
    let label = |class: Class, certainty: Certainty| Label { class, certainty };
    let (free, journal) = (find(&before, Class::Free), find(&before, Class::Journal));
    let table = find(&after, Class::InodeTable);
    let labels = Labels::new(Some(before), after);
    assert_eq!(
        labels.label(freed, 2),
        label(Class::FileData, Certainty::Sometimes)
    );
    assert_eq!(
        labels.label(free, 2),
        label(Class::Free, Certainty::Sometimes)
    );
    assert_eq!(
        labels.label(journal, 8),
        label(Class::Journal, Certainty::Always)
    );
    let border = labels.label(journal - 2, 8);
    assert_eq!(border, label(Class::Journal, Certainty::Mixed));
    assert_eq!(labels.label(u64::MAX - 1, 8).class, Class::Outside);
    let mut mixed = Trace::default();
    for operation in [Operation::Read, Operation::Write, Operation::Discard] {
        let record = Record::new(0, operation, journal - 2, 8);
        mixed.records.push(record);
    }
    mixed.records[1].count = 4;
    let counts = labels.count(&mixed);
    let other = labels.label(journal - 2, 2).class;
    let touched = |read, written| Touched { read, written };
    // Of what is free before and after, only what was in use is written.
    let expected = [
        (Class::Journal, touched(6, 2)),
        (Class::FileData, touched(0, 2)),
        (other, touched(2, 0)),
    ];
    assert_eq!(counts, expected.into(), "each block by its own place");
    let mut trace = Trace::default();
    trace
        .records
        .push(Record::new(0, Operation::Write, table, 2));
    trace.records.push(Record::new(0, Operation::Flush, 0, 0));
    labels.apply(&mut trace);
    let classes: Vec<Class> = trace.records.iter().map(|one| one.label.class).collect();
    assert_eq!(classes, [Class::InodeTable, Class::Unknown]);
    assert_eq!(trace.header.file_system, Some(labels.after().uuid));
}

#[test]
fn the_log_says_what_was_made_and_removed() {
    // debugfs writes transactions of every format; what they copied has the class that its content
    // shows, and only in those of the run.
    let folder = Folder::new("log");
    let formats: [(&[&str], &str); 5] = [
        (&["-O", "^metadata_csum,^64bit"], ""),
        (&["-O", "^metadata_csum,64bit"], ""),
        (&["-O", "metadata_csum,^64bit"], "-c -v 2"),
        (&["-O", "metadata_csum,64bit"], "-c -v 2"),
        (&["-O", "metadata_csum,64bit"], "-c -v 3"),
    ];
    for (options, sums) in formats {
        let mut all = vec!["-b", "1024", "-N", "1024"];
        all.extend(options);
        let image = make(&folder.0, "mkfs.ext4", &all, "24M");
        let image_text = image.to_str().unwrap();
        let read = || Map::read("image", &mut File::open(&image).unwrap()).unwrap();
        let free = read();
        let area = free.areas().iter().rev();
        let mut area = area.filter(|area| area.class == Class::Free);
        let first = area.next().unwrap().start / 2 + 3;
        // A directory that has one record, and numbers of blocks.
        let names = [&[0, 0, 0, 0, 0, 4, 0, 0][..], &[0; 1016]].concat();
        let numbers: Vec<u8> = (0..256_u32).flat_map(|at| (at * 7).to_le_bytes()).collect();
        let contents = folder.0.join("contents");
        fs::write(&contents, [names, numbers].concat()).unwrap();
        let commands = folder.0.join("commands");
        let mut text = String::new();
        let blocks = format!("{first},{}", first + 9);
        let _ = writeln!(text, "jo {sums}\njw -b {blocks} {}\njc", contents.display());
        fs::write(&commands, text).unwrap();
        output(
            "debugfs",
            &["-w", "-f", commands.to_str().unwrap(), image_text],
        );
        let labels = Labels::new(Some(free.clone()), read());
        let what = format!("{options:?} {sums}");
        let class = |block: u64| labels.label(block * 2, 2).class;
        assert_eq!(class(first), Class::Directory, "{what}");
        assert_eq!(class(first + 9), Class::BlockMap, "{what}");
        assert_eq!(class(first + 8), Class::Free, "{what}");
        let mut trace = Trace::default();
        for (operation, start) in [(Operation::Write, 8), (Operation::Write, 9)] {
            trace
                .records
                .push(Record::new(0, operation, (first + start) * 2, 2));
        }
        labels.apply(&mut trace);
        let classes: Vec<Class> = trace.records.iter().map(|one| one.label.class).collect();
        assert_eq!(classes, [Class::FileData, Class::BlockMap], "{what}");
        let all = Certainty::Sometimes;
        assert!(trace.records.iter().all(|one| one.label.certainty == all));
        let mixed = labels.label(first * 2, 20);
        assert_eq!(
            (mixed.class, mixed.certainty),
            (Class::Free, Certainty::Mixed)
        );
    }
}

//! Layouts of XFS, judged by `xfs_db`; hostile ones by not hanging.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::ext::{Folder, output};
use crate::trace::Class;
use crate::trace::label::{FileSystem, Map};

/// Has names, a file and a link, for images that nobody mounts.
const PROTOTYPE: &str = "/dev/null\n0 0\nd--755 0 0\nmany d--755 0 0\n{names}$\n\
                         large ---644 0 0 {large}\nlink l--777 0 0 somewhere\n$\n";

/// An image made by `mkfs.xfs` with these options, filled from a prototype.
fn make(folder: &Path, options: &[&str]) -> PathBuf {
    let [image, large, prototype] = ["image", "large", "prototype"].map(|name| folder.join(name));
    let _ = fs::remove_file(&image);
    File::create(&image).unwrap().set_len(48 << 20).unwrap();
    fs::write(&large, vec![7; 3_000_000]).unwrap();
    let empty = folder.join("empty");
    fs::write(&empty, b"").unwrap();
    let names = (0..300).fold(String::new(), |mut names, index| {
        let empty = empty.display();
        let _ = writeln!(names, "a-rather-long-name-{index:090} ---644 0 0 {empty}");
        names
    });
    let text = PROTOTYPE.replace("{names}", &names);
    let text = text.replace("{large}", large.to_str().unwrap());
    fs::write(&prototype, text).unwrap();
    let [image_text, prototype] = [&image, &prototype].map(|path| path.to_str().unwrap());
    let mut arguments = vec!["-q", "-f", "--unsupported", "-d", "agcount=3"];
    arguments.extend(options);
    arguments.extend(["-p", prototype, image_text]);
    output("mkfs.xfs", &arguments);
    image
}

/// The one that was mounted.
fn mounted(folder: &Path) -> PathBuf {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/layouts/xfs.zst");
    let packed = File::open(&packed).unwrap_or_else(|_| panic!("{} is missing", packed.display()));
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).expect("a zstd file");
    let mut bytes = Vec::new();
    decoder.read_to_end(&mut bytes).unwrap();
    let image = folder.join("mounted");
    fs::write(&image, bytes).unwrap();
    image
}

/// Blocks of a group, bits of a block's number in it, bytes of a block, all blocks.
fn geometry(image: &str) -> [u64; 4] {
    let names = ["agblocks", "agblklog", "blocksize", "dblocks"];
    let wanted = format!("p {}", names.join(" "));
    let told = output("xfs_db", &["-r", "-c", "sb 0", "-c", &wanted, image]);
    names.map(|name| {
        let line = told.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_once(" = ").unwrap().1.parse().unwrap()
    })
}

/// What `xfs_db` calls each block.
fn judge(image: &str) -> Vec<String> {
    let [group_blocks, bits, _, blocks] = geometry(image);
    let mut commands = vec!["blockget -n".to_owned()];
    for group in 0..blocks.div_ceil(group_blocks) {
        let count = group_blocks.min(blocks - group * group_blocks);
        commands.push(format!("fsblock {}", group << bits));
        commands.push(format!("blockuse -c {count}"));
    }
    let mut arguments = vec!["-r"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command.as_str()]));
    arguments.push(image);
    let told = output("xfs_db", &arguments);
    let words = told.lines().map(|line| line.split_whitespace().nth(4));
    words.map(|word| word.unwrap().to_owned()).collect()
}

/// The class of what `xfs_db` calls a block.
fn class_of(name: &str, group: u64) -> Class {
    match name {
        "sb" if group == 0 => Class::Superblock,
        "sb" => Class::Backup,
        "agf" | "agi" => Class::GroupDescriptors,
        "btbno" | "btcnt" | "freelist" | "agfl" | "rtbitmap" | "rtsum" => Class::BlockBitmap,
        "btino" | "btfino" | "inode" => Class::InodeTable,
        "btrmap" | "btrefcnt" | "attr" => Class::Auxiliary,
        "free1" | "free2" => Class::Free,
        "dir" => Class::Directory,
        "data" | "symlink" => Class::FileData,
        "log" => Class::Journal,
        other => panic!("xfs_db calls a block '{other}'"),
    }
}

/// Compares every block of an image; counts what was found.
fn compare(image: &Path, what: &str) -> BTreeMap<Class, u64> {
    let bytes = fs::read(image).unwrap();
    let map = Map::read("image", &mut bytes.as_slice()).unwrap();
    assert_eq!(map.file_system, FileSystem::Xfs, "{what}");
    assert_eq!(map.remarks, Vec::<String>::new(), "{what}");
    let image_text = image.to_str().unwrap();
    let [group_blocks, _, size, blocks] = geometry(image_text);
    let judged = judge(image_text);
    assert_eq!(judged.len() as u64, blocks, "{what}");
    let mut seen = BTreeMap::new();
    for (block, name) in (0..).zip(judged) {
        let class = map.class_at(block * size / 512);
        let content = &bytes[(block * size) as usize..][..4];
        // xfs_db counts the tree of a file's extents for its data.
        let expected = match class_of(&name, block / group_blocks) {
            Class::FileData if [b"BMAP", b"BMA3"].iter().any(|magic| content == *magic) => {
                Class::BlockMap
            }
            expected => expected,
        };
        assert_eq!(class, expected, "{what}: block {block}, {name}");
        *seen.entry(class).or_default() += 1;
    }
    assert_eq!(map.class_at(blocks * size / 512), Class::Outside, "{what}");
    let sector = output(
        "xfs_db",
        &["-r", "-c", "sb 0", "-c", "p sectsize", image_text],
    );
    let sectors = sector
        .trim()
        .split(" = ")
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 512;
    let heads = [0, 1, 2, 3].map(|sector| map.class_at(sector * sectors));
    let descriptors = Class::GroupDescriptors;
    let list = Class::BlockBitmap;
    assert_eq!(
        heads,
        [Class::Superblock, descriptors, descriptors, list],
        "{what}"
    );
    seen
}

#[test]
fn layouts_of_xfs_are_as_xfs_db_says() {
    // Every block of versions 4 and 5, of several shapes, has the class that xfs_db gives it.
    let folder = Folder::new("xfs");
    let shapes: [&[&str]; 6] = [
        &["-m", "crc=0"],
        &["-m", "crc=0", "-b", "size=1024", "-n", "size=8192"],
        &["-m", "crc=0,finobt=0", "-i", "size=1024"],
        &["-b", "size=1024", "-m", "rmapbt=1"],
        &["-b", "size=8192", "-i", "size=2048,sparse=0"],
        &["-m", "finobt=0", "-s", "size=4096"],
    ];
    for options in shapes {
        let seen = compare(&make(&folder.0, options), &format!("{options:?}"));
        assert!(seen[&Class::Directory] > 3 && seen[&Class::FileData] > 300);
        assert!(seen[&Class::InodeTable] > 10, "{seen:?}");
    }
    let seen = compare(&mounted(&folder.0), "mounted");
    assert!(seen[&Class::BlockMap] >= 3, "{seen:?}");
    assert!(seen[&Class::Auxiliary] > 7 && seen[&Class::Directory] > 3);
}

#[test]
fn hostile_layouts_of_xfs_end() {
    // Bytes changed anywhere in the metadata: a map or an error, soon.
    let folder = Folder::new("hostile-xfs");
    let sound = fs::read(mounted(&folder.0)).unwrap();
    let map = Map::read("image", &mut sound.as_slice()).unwrap();
    let tables = map.areas().iter();
    let tables =
        tables.filter(|area| !matches!(area.class, Class::FileData | Class::Free | Class::Journal));
    let places: Vec<u64> = tables
        .flat_map(|area| area.start * 512..area.end * 512)
        .collect();
    let mut random = block::sim::Random::new(11);
    let mut bytes = sound.clone();
    for round in 0..300 {
        let mut changed = Vec::new();
        for _ in 0..=random.below(40) {
            let at = match round % 3 {
                0 => random.below(4 * 512),
                _ => places[random.index(places.len())],
            } as usize;
            changed.push(at);
            bytes[at] = [0, 0xff, random.below(256) as u8][random.index(3)];
        }
        let _ = Map::read("image", &mut bytes.as_slice());
        for at in changed {
            bytes[at] = sound[at];
        }
    }
    for cut in [512, 1024, 2048, 9000, 1 << 20] {
        assert!(Map::read("image", &mut &sound[..cut]).is_err());
    }
    let mut later = sound.clone();
    later[219] |= 0x40;
    let refused = Map::read("image", &mut later.as_slice()).unwrap_err();
    assert!(refused.to_string().contains("not known"), "{refused}");
}

#[test]
fn the_smallest_xfs_is_read() {
    // The fuzzer's first input, one group of 64 blocks made by hand: what is in each block.
    let path = "../../fuzz/corpus/file_system/xfs";
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let map = Map::read("image", &mut bytes.as_slice()).unwrap();
    assert_eq!(map.remarks, Vec::<String>::new());
    let areas = map.areas().iter();
    let areas: Vec<(u64, u64, Class)> = areas
        .map(|area| (area.start, area.end, area.class))
        .collect();
    let expected = [
        (0, 1, Class::Superblock),
        (1, 3, Class::GroupDescriptors),
        (3, 6, Class::BlockBitmap),
        (6, 7, Class::InodeTable),
        (7, 8, Class::FileData),
        (8, 40, Class::InodeTable),
        (40, 42, Class::BlockBitmap),
        (42, 43, Class::Directory),
        (43, 44, Class::BlockMap),
        (44, 48, Class::FileData),
        (48, 56, Class::Journal),
        (56, 57, Class::FileData),
        (57, 64, Class::Free),
    ];
    assert_eq!(areas, expected);
}

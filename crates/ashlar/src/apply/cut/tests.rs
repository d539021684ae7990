//! Tests: how short an image gets and what keeps it from that, loop devices among it.

use std::fs::{File, create_dir_all, write};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use block::partition::read_table;
use lvm2::Bytes;

use super::{Image, ImageLengths, cut, foresee_cut, read, require_no_loop};
use crate::host::{Location, Window};
use crate::tests::fixture::Folder;
use crate::{Error, Kind, Result};

const MIB: u64 = 1 << 20;
/// How long an image with a partition table is: no whole MiB, so that its last copy ends nowhere
/// that a command would have chosen.
const PARTITIONED: u64 = 16 * MIB + 4096;

/// An image, and where in it a physical volume would be: in its only partition, or in all of it.
struct Sample {
    folder: Folder,
    file: File,
    window: Option<Window>,
}

impl Sample {
    /// An image of so many bytes with something at its beginning.
    fn new(size: u64) -> Self {
        let folder = Folder::new();
        folder.disk("image-to-be-cut", &[7; 4096]);
        let options = File::options().read(true).write(true).clone();
        let file = options.open(folder.path("image-to-be-cut"));
        let file = file.expect("opens");
        file.set_len(size).expect("has the size");
        Self {
            folder,
            file,
            window: None,
        }
    }

    /// One with a GPT that has a partition from 1 MiB on.
    fn partitioned() -> Self {
        let mut sample = Self::new(PARTITIONED);
        let mut sfdisk = Command::new("sfdisk")
            .args(["-q", "--no-reread", "--no-tell-kernel"])
            .arg(sample.folder.path("image-to-be-cut"))
            .stdin(Stdio::piped())
            .spawn()
            .expect("sfdisk (Debian package fdisk) runs");
        let mut input = sfdisk.stdin.take().expect("is piped");
        let script = b"label: gpt\nstart=2048, size=26624\n";
        input.write_all(script).expect("writes");
        drop(input);
        assert!(sfdisk.wait().expect("ends").success());
        sample.window = sample.partition();
        let there = sample.window.expect("is there");
        assert_eq!((there.start, there.len), (MIB, 13 * MIB));
        sample
    }

    /// What the table says.
    fn partition(&self) -> Option<Window> {
        let size = self.file.metadata().expect("is there").len();
        let table = read_table(size, 512, |range| {
            Ok(read(&self.file, range).expect("reads"))
        });
        let table = table.expect("is good")?;
        assert!(table.remarks.is_empty(), "{:?}", table.remarks);
        let one = table.partitions.first()?;
        Some(Window {
            partition: one.number,
            start: one.range.start(),
            len: one.range.len(),
        })
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, at).expect("writes");
    }

    fn foresee(&self, end: u64) -> Result<ImageLengths> {
        let location = Location {
            window: self.window,
            ..Location::whole(self.folder.path("image-to-be-cut"))
        };
        foresee_cut(&location, Bytes(end), Bytes(end))
    }

    fn cut(&self, end: u64) -> Result<()> {
        cut(self.file.as_fd(), "image", self.window, Bytes(end))
    }

    /// Cutting it is refused because of the byte at this place, and nothing happens.
    fn is_kept_by(&self, end: u64, place: u64) {
        let size = self.file.metadata().expect("is there").len();
        let foreseen: Error = self.foresee(end).expect_err("something is there");
        let tried = self.cut(end).expect_err("something is there");
        for error in [foreseen, tried] {
            assert_eq!(error.kind(), Kind::Refused, "{error}");
            let part = format!("at byte {place} of the file, and only zeros");
            assert!(error.to_string().contains(&part), "{error}");
        }
        assert_eq!(self.file.metadata().expect("is there").len(), size);
    }
}

#[test]
fn an_image_is_cut_where_only_zeros_are_left() {
    // Proves: the file ends on the next whole MiB, also where zeros were written behind that; what
    // is none of them is named by its sector; and an image that is needed to its end stays.
    let image = Sample::new(8 * MIB);
    image.put(5 * MIB, &[0; 9000]);
    let lengths = ImageLengths {
        file: (8 * MIB, 3 * MIB),
        partition: None,
        flushes: 1,
    };
    let end = 2 * MIB + 1;
    assert_eq!(image.foresee(end).expect("can be cut"), lengths);
    assert!(lengths.is_shorter());
    for end in [7 * MIB + 1, 8 * MIB] {
        let same = image.foresee(end).expect("nothing is cut");
        assert_eq!((same.file, same.flushes), ((8 * MIB, 8 * MIB), 0));
        assert!(!same.is_shorter());
    }
    image.put(5 * MIB + 8191, &[1]);
    image.is_kept_by(end, 5 * MIB + 7680);
    image.put(5 * MIB + 8191, &[0]);
    image.cut(end).expect("can be cut");
    let bytes = std::fs::read(image.folder.path("image-to-be-cut")).expect("is read");
    assert_eq!(bytes.len() as u64, 3 * MIB);
    assert_eq!(bytes[..4096], [7; 4096], "what is needed stays");
}

#[test]
fn copies_of_the_own_table_are_cut_off() {
    // Proves: the copy of a GPT goes with the end, also the one in the middle of a disk that grew,
    // but nothing that follows it; the table and then the file get the lengths that were foreseen.
    let mut image = Sample::partitioned();
    image.file.set_len(20 * MIB).expect("grows");
    image.put(PARTITIONED, &[1]);
    image.is_kept_by(4 * MIB, PARTITIONED);
    image.put(PARTITIONED, &[0]);
    image.foresee(4 * MIB).expect("can be cut");
    image.file.set_len(PARTITIONED).expect("is as before");
    let lengths = ImageLengths {
        file: (PARTITIONED, 6 * MIB),
        partition: Some((1, 13 * MIB, 4 * MIB)),
        // The copy, the table, the file.
        flushes: 3,
    };
    let foreseen = image.foresee(4 * MIB).expect("can be cut");
    assert_eq!(foreseen, lengths);
    assert!(foreseen.is_shorter());
    image.cut(4 * MIB).expect("can be cut");
    assert_eq!(image.file.metadata().expect("is there").len(), 6 * MIB);
    image.window = image.partition();
    let same = image.foresee(4 * MIB).expect("nothing is cut");
    let kept = Some((1, 4 * MIB, 4 * MIB));
    assert_eq!((same.partition, same.flushes), (kept, 0));
    assert!(!same.is_shorter());
}

#[test]
fn what_a_killed_command_left_of_the_table_is_cut_off() {
    // Proves: a copy of the table that a command wrote and no header names does not keep the next
    // one, which needs less, from cutting; one that is not whole does.
    let image = Sample::partitioned();
    let begun = Image::of(&image.file, image.window, Bytes(8 * MIB)).expect("can be cut");
    let (at, copy) = begun.writes.first().expect("a copy comes first");
    image.put(*at, copy);
    let header = 10 * MIB - 512;
    assert_eq!(at + copy.len() as u64, header + 512);
    image.put(header + 16, b"else");
    image.is_kept_by(4 * MIB, header);
    image.put(*at, copy);
    image.cut(4 * MIB).expect("can be cut");
    assert_eq!(image.file.metadata().expect("is there").len(), 6 * MIB);
    assert_eq!(image.partition().map(|there| there.len), Some(4 * MIB));
}

#[test]
fn loop_devices_of_others_are_noticed() {
    // Proves: a loop device over the file, also by another of its names, one over a file of this
    // name that is not to be seen here, and none over other files, removed ones or nothing.
    let folder = Folder::new();
    folder.disk("mine.img", &[]);
    folder.disk("other.img", &[]);
    create_dir_all(folder.path("again")).expect("is made");
    let again = folder.path("again/mine.img");
    folder.disk("again/mine.img", &[]);
    std::fs::hard_link(folder.path("mine.img"), folder.path("alias.img")).expect("is made");
    let file = File::open(folder.path("mine.img")).expect("is there");
    let found = file.metadata().expect("is there");
    let nowhere = folder.path("container");
    let cases = [
        (folder.path("mine.img"), true),
        (folder.path("alias.img"), true),
        (folder.path("other.img"), false),
        (again, false),
        (nowhere.join("mine.img"), true),
        (nowhere.join("other.img"), false),
        (nowhere.join("mine.img (deleted)"), false),
    ];
    let disks = folder.path("block");
    create_dir_all(disks.join("sda")).expect("is made");
    create_dir_all(disks.join("loop0")).expect("is made");
    create_dir_all(disks.join("loop7/loop")).expect("is made");
    for (path, is_refused) in cases {
        let text = format!("{}\n", path.display());
        write(disks.join("loop7/loop/backing_file"), text).expect("is written");
        let outcome = require_no_loop(&file, &found, &disks);
        assert_eq!(outcome.is_err(), is_refused, "{}", path.display());
        if let Err(error) = outcome {
            assert_eq!(error.kind(), Kind::Refused);
            assert!(
                error.to_string().contains("losetup -d /dev/loop7"),
                "{error}"
            );
        }
    }
}

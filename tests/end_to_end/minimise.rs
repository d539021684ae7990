//! `image minimise`: images get as short as what is in them, whole at every moment.

use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use tests::{Access, DiskImage, LoopDevice, Stock, Tool};

const MIB: u64 = 1 << 20;
/// Extents of 256 KiB.
const EXTENT: u64 = 256 << 10;
/// The volumes that stay, and their extents; of `a`, which is removed, there are five.
const VOLUMES: [(&str, u64); 2] = [("b", 7), ("c", 3)];
/// Where the first extent of a physical volume begins.
const START: u64 = MIB;

/// For a server on a machine that does something else as well.
const PATIENCE: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(50);

/// What is around the physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    Gpt,
    Mbr,
}

/// When an image is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Killed,
    Done,
}

/// An image with the group `sys` in it.
struct Image {
    disk: DiskImage,
    around: Around,
}

impl Deref for Image {
    type Target = DiskImage;

    fn deref(&self) -> &DiskImage {
        &self.disk
    }
}

impl Image {
    /// An image of 32 MiB without anything.
    fn empty(name: &str, around: Around) -> Self {
        let disk = DiskImage::new(name, 32 * MIB);
        Self { disk, around }
    }

    /// One without a group.
    fn blank(name: &str, around: Around) -> Self {
        let image = Self::empty(name, around);
        match around {
            Around::Nothing => {}
            Around::Gpt => image.partition("label: gpt\nsize=2MiB, type=uefi\ntype=lvm\n"),
            Around::Mbr => image.partition("label: dos\nsize=2MiB, type=ef\ntype=8e\n"),
        }
        image
    }

    /// One whose group has a hole in front of its volumes.
    fn new(name: &str, around: Around) -> Self {
        let image = Self::blank(name, around);
        image.fill(&[]);
        image
    }

    fn partition(&self, table: &str) {
        let tool = Tool::new("sfdisk").arg("--quiet").arg(self.path());
        tool.input(table).succeed();
    }

    fn fill(&self, options: &[&str]) {
        let pv = self.pv();
        self.ashlar("pvcreate").args(options).arg(&pv).succeed();
        self.ashlar("vgcreate -s 256k sys").arg(&pv).succeed();
        self.ashlar("lvcreate -l 5 -n a sys").succeed();
        for (name, extents) in VOLUMES {
            let create = format!("lvcreate -l {extents} -n {name} sys");
            self.ashlar(&create).succeed();
            let file = self.join(name);
            fs::write(&file, content(name, extents)).expect("room for it");
            let copy = self.ashlar("cp").arg(&file);
            copy.arg(format!("sys/{name}")).succeed();
        }
        self.ashlar("lvremove -y sys/a").succeed();
    }

    fn pv(&self) -> String {
        let number = if self.around == Around::Nothing {
            ""
        } else {
            ":2"
        };
        format!("{}{number}", self.path().display())
    }

    /// Makes it what it was, with holes for zeros.
    fn restore(&self, bytes: &[u8]) {
        const CHUNK: usize = 64 << 10;
        let file = File::create(self.path()).expect("our own image");
        file.set_len(bytes.len() as u64).expect("room for it");
        for (at, chunk) in (0..).step_by(CHUNK).zip(bytes.chunks(CHUNK)) {
            if chunk.iter().any(|byte| *byte != 0) {
                file.write_all_at(chunk, at).expect("room for it");
            }
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        let file = File::options().write(true).open(self.path());
        let file = file.expect("our own image");
        file.write_all_at(bytes, at)
            .expect("room for our own image");
    }

    /// Waits until a server that was told to end is gone.
    fn is_served_by_nobody(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let owners = self.ashlar("owners").succeed().text();
            if !owners.contains("sys") {
                return;
            }
            assert!(Instant::now() < end, "still served: {owners}");
            thread::sleep(INTERVAL);
        }
    }

    /// It is refused with these words, and nothing is written.
    fn refused(&self, words: &str) {
        let before = self.bytes();
        let finished = self.minimise().exit(5);
        assert!(finished.complaints().contains(words), "{words}: {finished}");
        assert!(before == self.bytes(), "{words}: something was written");
    }

    /// What lies at this byte, behind the physical volume, keeps the image as long as it is.
    fn keeps_what_is_at(&self, at: u64) {
        self.write(at, b"mine");
        self.refused(&format!(
            "something lies behind the physical volume, at byte {at}"
        ));
        self.write(at, &[0; 4]);
        self.gets_short("without it");
    }

    /// It gets as short as it can be, and stays whole.
    fn gets_short(&self, when: &str) {
        self.minimise().succeed();
        assert_eq!(self.size(), least(self.around), "{when}");
        self.is_whole(Moment::Done, when);
    }

    /// The volumes hold what was written to them.
    fn is_whole(&self, moment: Moment, when: &str) {
        for (name, extents) in VOLUMES {
            let read = self.ashlar(&format!("cat sys/{name}")).succeed();
            assert!(read.stdout == content(name, extents), "{name}, {when}");
        }
        if self.around != Around::Nothing {
            let verify = Tool::new("sfdisk").arg("--verify").arg(self.path());
            let said = verify.succeed();
            let is_sound = said.text().contains("No errors detected.");
            // Between the table and the end of the file, the copy is not at the end.
            let is_between = said.complaints().contains("will be corrected by write");
            let is_fine = is_sound || moment == Moment::Killed && is_between;
            assert!(is_fine, "{when}: {said}");
            let dump = Tool::new("sfdisk").arg("--dump").arg(self.path()).succeed();
            assert!(
                dump.text().contains("disk.img2 : start=        6144"),
                "{dump}"
            );
        }
    }

    /// Stock accepts the physical volume, and finds the volumes in it.
    fn is_accepted_by_stock(&self) {
        let start = match self.around {
            Around::Nothing => 0,
            Around::Gpt | Around::Mbr => 3 * MIB,
        };
        let cut = self.join("pv.img");
        fs::write(&cut, &self.bytes()[start as usize..]).expect("room for it");
        let device = LoopDevice::attach(&cut, Access::ReadWrite);
        let stock = Stock::on([&device]);
        stock.without_driver("vgck").arg("sys").succeed();
        let fields = [
            "--noheadings",
            "-o",
            "pv_pe_count,pv_pe_alloc_count,pv_mda_count",
        ];
        let pvs = stock.without_driver("pvs").args(fields).succeed();
        let used: u64 = VOLUMES.iter().map(|(_, extents)| extents).sum();
        let expected = [used.to_string(), used.to_string(), "1".to_owned()];
        let text = pvs.text();
        assert!(text.split_whitespace().eq(expected), "{pvs}");
    }
}

/// Bytes that no other place of any volume holds.
fn content(name: &str, extents: u64) -> Vec<u8> {
    let words = (0..extents * EXTENT / 16).map(|at| format!("{name} {at:>13}\n"));
    words.collect::<String>().into_bytes()
}

/// What the image of `around` has at last.
fn least(around: Around) -> u64 {
    let used: u64 = VOLUMES.iter().map(|(_, extents)| extents * EXTENT).sum();
    let end = START + used;
    match around {
        Around::Nothing => end.next_multiple_of(MIB),
        Around::Mbr => (3 * MIB + end).next_multiple_of(MIB),
        // And the copy of the table.
        Around::Gpt => (3 * MIB + end).next_multiple_of(MIB) + MIB,
    }
}

#[test]
fn images_end_behind_what_is_in_them() {
    // Proves: the plan says what comes, and writes nothing; then the volumes hold what they held,
    // the file has the least size, stock and sfdisk accept it, and a second time nothing is done.
    for around in [Around::Nothing, Around::Gpt, Around::Mbr] {
        let image = Image::new("minimise", around);
        let before = image.bytes();
        let plan = image.ashlar("plan --json image minimise").arg(image.path());
        let plan = plan.succeed().text();
        let size = format!("\"bytes_now\":{}, \"bytes\":{}", 32 * MIB, least(around));
        assert!(plan.contains(&size), "{plan}");
        let gets = "\"lv_name\":\"b\", \"gets\":[{";
        assert!(
            plan.contains(gets) && plan.contains("as it can be?"),
            "{plan}"
        );
        image
            .ashlar("image minimise -t -y")
            .arg(image.path())
            .succeed();
        assert!(before == image.bytes(), "only a look");
        let done = image.minimise().succeed().text();
        let said = format!("has {} bytes, and not {}.", least(around), 32 * MIB);
        assert!(done.contains(&said), "{done}");
        assert_eq!(image.size(), least(around), "{around:?}");
        image.is_whole(Moment::Done, "minimised");
        image.is_accepted_by_stock();
        let again = image.minimise().succeed().text();
        assert!(again.contains("is as short as it can be."), "{again}");
        let plan = image.ashlar("plan image minimise").arg(image.path());
        let plan = plan.succeed().text();
        assert!(plan.contains("is as short as it can be."), "{plan}");
        // And it may grow again.
        image.grow("+4M");
        if around == Around::Nothing {
            image.ashlar("pvresize").arg(image.pv()).succeed();
            image.ashlar("lvcreate -l 8 -n more sys").succeed();
        }
    }
}

#[test]
fn a_killed_command_goes_on() {
    // Proves: kill -9 at calls of each kind leaves volumes with what they held and a table that
    // sfdisk accepts, and the same command again ends where one that was not killed does; also
    // where the file had grown, so that a copy of the table lay in its middle.
    const KINDS: [&str; 4] = [
        "pwrite64,pwritev,pwritev2",
        "fdatasync,fsync",
        "fallocate",
        "ftruncate",
    ];
    let every = std::env::var_os("ASHLAR_EVERY_KILL").is_some();
    let stride = if every { 1 } else { 3 };
    for grown in [0, 8] {
        let image = Image::new("minimise-killed", Around::Gpt);
        image.grow(&format!("+{grown}M"));
        let before = image.bytes();
        let mut kills = Vec::new();
        for (kind, calls) in KINDS.iter().enumerate() {
            let mut count = 0;
            let mut call = 1;
            loop {
                assert!(call < 500, "it never ended");
                image.restore(&before);
                if !image.killed(calls, call) {
                    break;
                }
                count += 1;
                let when = format!("grown by {grown} MiB, killed at call {call} of {calls}");
                image.is_whole(Moment::Killed, &when);
                image.gets_short(&format!("{when}, and done again"));
                call += if kind == 0 { stride } else { 1 };
            }
            kills.push(count);
        }
        println!("{kills:?} kills");
        assert!(kills.iter().all(|count| *count > 0), "{kills:?}");
    }
}

#[test]
fn a_killed_command_is_no_hindrance_to_one_that_needs_less() {
    // Proves: what a killed command wrote for the end that it wanted is known to the next one,
    // though a volume was removed meanwhile and the image gets shorter than that.
    let image = Image::new("minimise-killed-less", Around::Gpt);
    let before = image.bytes();
    let mut call = 1;
    loop {
        image.restore(&before);
        if !image.killed("fdatasync,fsync", call) {
            break;
        }
        image.ashlar("lvremove -y sys/b").succeed();
        image.minimise().succeed();
        let less = VOLUMES[0].1 * EXTENT / MIB * MIB;
        assert!(image.size() <= least(Around::Gpt) - less, "{call}");
        let read = image.ashlar("cat sys/c").succeed();
        assert!(read.stdout == content("c", VOLUMES[1].1), "{call}");
        let verify = Tool::new("sfdisk").arg("--verify").arg(image.path());
        assert!(verify.succeed().text().contains("No errors detected."));
        call += 1;
    }
    assert!(call > 5, "{call}");
}

#[test]
fn only_zeros_are_cut_off() {
    // Proves: whatever lies behind the physical volume and is neither zero nor the table's is kept.
    for around in [Around::Nothing, Around::Gpt, Around::Mbr] {
        let image = Image::new("minimise-zeros", around);
        let short = format!("pvresize -y --setphysicalvolumesize 8m {}", image.pv());
        image.ashlar(&short).succeed();
        image.keeps_what_is_at(20 * MIB + 512);
    }
    let image = Image::new("minimise-footer", Around::Mbr);
    image.grow("+1M");
    image.write(33 * MIB - 512, b"conectix");
    image.refused("something lies behind the physical volume");
}

#[test]
fn what_stock_gave_back_is_not_zeroed() {
    // Proves: stock makes a member shorter and leaves its label as it was. What somebody then
    // writes behind its end is kept; without it the image gets short, and the label says so.
    let image = Image::new("minimise-stock", Around::Nothing);
    {
        let device = LoopDevice::attach(&image.path(), Access::ReadWrite);
        let stock = Stock::on([&device]);
        let resize = stock.without_driver("pvresize");
        let resize = resize.args(["-y", "--setphysicalvolumesize", "16m"]);
        resize.arg(device.path()).succeed();
    }
    assert_eq!(labelled(&image), 32 * MIB, "stock leaves it");
    image.keeps_what_is_at(24 * MIB);
    assert!(labelled(&image) <= image.size());
}

/// The size that the label of a physical volume says.
fn labelled(image: &Image) -> u64 {
    // In the second sector, behind 32 bytes of the label and a UUID of 32.
    let bytes = &image.bytes()[512 + 64..512 + 72];
    u64::from_le_bytes(bytes.try_into().expect("eight"))
}

#[test]
fn what_lies_behind_a_partition_keeps_it() {
    // Proves: another partition behind, a logical partition, and a damaged table are refused.
    let table = "label: gpt\nsize=2MiB, type=uefi\nsize=20MiB, type=lvm\ntype=linux\n";
    let dos = "label: dos\nsize=2MiB, type=ef\nsize=20MiB, type=8e\ntype=5\n";
    for (around, table) in [(Around::Gpt, table), (Around::Mbr, dos)] {
        let image = Image::empty("minimise-behind", around);
        image.partition(table);
        image.fill(&[]);
        image.refused("lies behind it");
    }
    let image = Image::new("minimise-table", Around::Gpt);
    let header = image.bytes()[512..1024].to_vec();
    image.write(512 + 60, &[header[60] ^ 1]);
    image.refused("repair the table first");
}

#[test]
fn unusual_tables_are_kept_whole() {
    // Proves: a table with more entries, and one whose file grew, with its old copy in the middle.
    for (table, grown) in [
        ("table-length: 256\n", 0),
        ("", 8),
        ("table-length: 4\n", 1),
    ] {
        let image = Image::empty("minimise-tables", Around::Gpt);
        let parts = "size=2MiB, type=uefi\ntype=lvm\n";
        image.partition(&format!("label: gpt\nfirst-lba: 2048\n{table}\n{parts}"));
        image.fill(&[]);
        image.grow(&format!("+{grown}M"));
        image.gets_short(table);
        image.is_accepted_by_stock();
    }
}

#[test]
fn images_in_use_or_in_doubt_are_left_alone() {
    // Proves: a volume that is attached, a loop device over the image, an exported group, one that
    // is not whole, and a copy are refused with nothing written.
    let image = Image::new("minimise-use", Around::Nothing);
    image.ashlar("attach sys/b").succeed();
    image.refused("is served by process");
    image.ashlar("detach sys/b").succeed();
    image.is_served_by_nobody();
    let device = LoopDevice::attach(&image.path(), Access::ReadOnly);
    image.refused("stands over it: losetup -d");
    drop(device);
    image.ashlar("vgexport sys").succeed();
    image.refused("is exported");
    image.ashlar("vgimport sys").succeed();
    let copy = image.join("copy.img");
    fs::copy(image.path(), &copy).expect("room for it");
    let both = image
        .ashlar("image minimise -y --devices")
        .arg(image.path());
    let both = both.arg("--devices").arg(&copy).arg(image.path()).exit(5);
    let sentence = "Cannot update volume group sys with duplicate PV devices";
    assert!(both.complaints().contains(sentence), "{both}");
    fs::remove_file(&copy).expect("our own image");
    let other = image.sparse("other.img", 8 * MIB);
    let extend = image.ashlar("vgextend --devices").arg(image.path());
    extend
        .arg("--devices")
        .arg(&other)
        .arg("sys")
        .arg(&other)
        .succeed();
    image.refused("while PVs are missing");
}

#[test]
fn what_cannot_move_stays() {
    // Proves: a contiguous volume and a mirror's copies stay where they are, and are named; a
    // second metadata area at the end keeps the size of the physical volume.
    let image = Image::new("minimise-fixed", Around::Nothing);
    image.ashlar("lvchange --alloc contiguous sys/c").succeed();
    let done = image.minimise().succeed().text();
    assert!(
        done.contains("Logical volume sys/c stays where it is"),
        "{done}"
    );
    assert_eq!(
        image.size(),
        START.next_multiple_of(MIB) + 4 * MIB,
        "15 extents"
    );
    image.is_whole(Moment::Done, "c stayed");
    let image = Image::blank("minimise-areas", Around::Nothing);
    image.fill(&["--metadatacopies", "2"]);
    let done = image.minimise().succeed().text();
    assert!(
        done.contains("its second metadata area is at its end"),
        "{done}"
    );
    assert_eq!(image.size(), 32 * MIB);
    image.is_whole(Moment::Done, "nothing was done");
}

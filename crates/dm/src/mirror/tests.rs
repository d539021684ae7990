//! The parts of a mirror one by one, and the whole under power cuts.

mod hand;
mod losses;

use std::sync::Arc;
use std::time::{Duration, Instant};

use block::memory::MemoryDevice;
use block::sim::{Disk, Faults, Image, Random, SimDevice};
use block::{BlockingDevice, Device, Durability, Kind, Request};

use super::bits::Bits;
use super::explore::{Campaign, SeededFault};
use super::log_image::LogImage;
use super::{
    Access, Content, Control, ImageHealth, LogHealth, LogPlace, Mirror, MirrorConfig, MirrorImage,
    Sync, in_sync_images, is_in_sync,
};
use crate::Kind as Refusal;
use crate::explore;
use crate::home::Home;
use crate::machine::Machine;
use crate::mirror::control::{Event, Step, Steps};

const LIMIT: Duration = Duration::from_secs(10);
const KIB: u64 = 1 << 10;
const SIZE: u64 = 256 * KIB;
const REGION: u64 = 16 * KIB;

fn campaign(states: u64, fault: Option<SeededFault>) -> Campaign {
    let extent = explore::Campaign {
        seed: 1,
        states,
        histories: 4000,
    };
    Campaign { extent, fault }
}

/// No promise is broken by any cut.
#[test]
fn power_cuts_break_no_promise() {
    let report = campaign(5_000, None).run();
    println!("{report}");
    assert_eq!(report.broken, None);
    let count = |what| report.counts.get(what).copied().unwrap_or(0);
    assert!(report.states >= 5_000);
    for what in [
        "cuts without a leg",
        "cuts with an outdated leg back",
        "cuts for the kernel with an outdated leg",
        "cuts after the log failed",
        "killed",
        "logs given back",
        "got another size",
        "reads without the home",
        "writes without the home",
    ] {
        assert!(count(what) > 0, "{what}");
    }
    assert!(count("stopped") > count("logs given back"));
}

/// Each mistake is found.
#[test]
fn mistakes_are_found() {
    for (name, fault) in SeededFault::ALL {
        let report = campaign(100_000, Some(*fault)).run();
        println!("{name}: {report}: {:?}", report.broken);
        assert!(report.broken.is_some(), "{name} is not found: {report}");
    }
}

/// Bits are like a vector of booleans.
#[test]
fn bits_are_like_booleans() {
    let mut random = Random::new(5);
    for len in [1, 63, 64, 65, 200] {
        let mut bits = Bits::new(len);
        let mut plain = vec![false; len as usize];
        for _ in 0..600 {
            let at = random.below(len);
            // Mostly ones, so that zeros have to be searched for.
            let value = random.chance(7, 8);
            bits.set(at, value);
            plain[at as usize] = value;
            bits.check();
            let from = random.below(len) as usize;
            let zero = |at: &usize| !plain[*at];
            let first = (from..plain.len()).find(zero).or((0..from).find(zero));
            assert_eq!(bits.find_zero(from as u64), first.map(|at| at as u64));
        }
    }
}

fn log_image(bytes: &[u8], regions: u64, sync: Sync) -> LogImage {
    LogImage::load(bytes.to_vec(), regions, 512, sync).unwrap()
}

/// A log's header: magic, version, region count.
fn header(count: u64, bits: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 1536];
    bytes[..4].copy_from_slice(&0x4d69_5272_u32.to_le_bytes());
    bytes[4] = 2;
    bytes[8..16].copy_from_slice(&count.to_le_bytes());
    bytes[1024..1024 + bits.len()].copy_from_slice(bits);
    bytes
}

/// New logs, created logs, grown and shrunk ones mean what they mean to the kernel.
#[test]
fn logs_are_understood() {
    let bits = |log: &LogImage, count| (0..count).map(|at| log.get(at)).collect::<Vec<_>>();
    let new = vec![0; 1536];
    assert_eq!(bits(&log_image(&new, 3, Sync::AsLogged), 3), [false; 3]);
    assert_eq!(bits(&log_image(&new, 3, Sync::Assumed), 3), [true; 3]);
    let created = header(u64::MAX, &[0b101]);
    assert_eq!(
        bits(&log_image(&created, 3, Sync::AsLogged), 3),
        [true, false, true]
    );
    assert_eq!(bits(&log_image(&created, 3, Sync::Full), 3), [false; 3]);
    let grown = header(2, &[0xff]);
    assert_eq!(
        bits(&log_image(&grown, 4, Sync::AsLogged), 4),
        [true, true, false, false]
    );
    let mut shrunk = log_image(&header(8, &[0xff]), 3, Sync::AsLogged);
    let [(0, all)] = shrunk.take_changed()[..] else {
        panic!("what was read may not be durable");
    };
    assert_eq!(all[1024], 0b111, "bits behind the end are 0");
    shrunk.claim(3);
    let [(0, first)] = shrunk.take_changed()[..] else {
        panic!("then the header");
    };
    assert_eq!(
        first[8..16],
        [3, 0, 0, 0, 0, 0, 0, 0],
        "the count is what it is now"
    );
    assert!(!shrunk.is_changed());
    let mut later = header(3, &[]);
    later[4] = 3;
    let error = LogImage::load(later, 3, 512, Sync::AsLogged).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
}

/// The record of images in sync comes back, only as a whole, and only if nobody else ran the mirror
/// since: the kernel makes version 2 of version 1.
#[test]
fn records_come_back() {
    let mut one = log_image(&header(3, &[7]), 3, Sync::AsLogged);
    assert!(one.recorded_images().is_empty());
    one.record_images(&[7, u64::MAX]);
    one.claim(3);
    let mut bytes = header(3, &[7]);
    for (at, run) in one.take_changed() {
        bytes[at as usize..][..run.len()].copy_from_slice(run);
    }
    assert_eq!(bytes[4], 1, "the kernel takes it, and notes that it did");
    assert_eq!(
        log_image(&bytes, 3, Sync::AsLogged).recorded_images(),
        [7, u64::MAX]
    );
    for at in 512..1024 {
        let mut torn = bytes.clone();
        torn[at] ^= 1;
        assert!(
            log_image(&torn, 3, Sync::AsLogged)
                .recorded_images()
                .is_empty()
        );
    }
    assert_eq!(
        in_sync_images(&bytes),
        [7, u64::MAX],
        "without running it too"
    );
    assert!(is_in_sync(&bytes, 3));
    bytes[4] = 2;
    assert!(in_sync_images(&bytes).is_empty());
    let mut taken = log_image(&bytes, 3, Sync::AsLogged);
    assert!(taken.recorded_images().is_empty());
    taken.claim(3);
    for (at, run) in taken.take_changed() {
        bytes[at as usize..][..run.len()].copy_from_slice(run);
    }
    assert!(
        log_image(&bytes, 3, Sync::AsLogged)
            .recorded_images()
            .is_empty(),
        "nor does it come back"
    );
}

/// Devices of a mirror: two images and a log, and what they hold at first.
struct Set {
    devices: Vec<SimDevice>,
}

impl Set {
    /// Images that hold different bytes, and a new log.
    fn new() -> Self {
        let image = |value| Image::from_bytes(&vec![value; SIZE as usize]);
        let contents = [image(1), image(2), Image::new(4 * KIB)];
        let disk = |content| SimDevice::of_image("disk", content);
        Self {
            devices: contents.map(disk).into(),
        }
    }

    fn config() -> MirrorConfig {
        let images = vec![MirrorImage::present(10, 0), MirrorImage::present(11, 1)];
        let mut config = MirrorConfig::new("mirror", SIZE, REGION, images);
        config.log = LogPlace::Disk(2);
        config.clean_after = Duration::from_millis(20);
        config
    }

    fn start(&self, config: MirrorConfig) -> crate::Result<Home<Mirror>> {
        let infos: Vec<_> = self.devices.iter().map(Device::info).collect();
        let mirror = Mirror::new(config, &infos)?;
        Home::start("mirror", mirror, self.devices(), LIMIT)
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        let devices = self.devices.iter().cloned();
        devices.map(|disk| Arc::new(disk) as _).collect()
    }

    /// One byte of each region.
    fn image(&self, image: usize) -> Vec<u8> {
        let disk = self.devices[image].disk();
        let regions = 0..SIZE / REGION;
        regions
            .map(|region| disk.content().bytes(block::Range::new(region * REGION, 1))[0])
            .collect()
    }

    fn log_version(&self) -> u8 {
        let disk = self.devices[2].disk();
        disk.content().bytes(block::Range::new(4, 1))[0]
    }

    /// The same disks after a cut that loses all that is not durable, and with a fault no more.
    fn reboot(self) -> Self {
        let disks = self.devices.iter().map(|device| {
            let content = device.disk().durable();
            SimDevice::of_image("disk", content)
        });
        Self {
            devices: disks.collect(),
        }
    }
}

/// How a mirror is, in a line: a letter for each image, and counts.
fn status(home: &Home<Mirror>) -> String {
    let status = home.status(LIMIT).unwrap();
    let letter = |image: &ImageHealth| match image {
        ImageHealth::Good => 'A',
        ImageHealth::ReadErrors => 'R',
        ImageHealth::OutOfSync => 'S',
        ImageHealth::Lost => 'D',
        ImageHealth::Missing => 'M',
    };
    let images: String = status.images.iter().map(letter).collect();
    let (in_sync, regions) = (status.in_sync, status.regions);
    let (dirty, copying) = (status.dirty, status.copying);
    let log = match status.log {
        LogHealth::Memory => "core",
        LogHealth::Disk => "disk",
        LogHealth::Failed => "failed",
    };
    format!("images={images} in_sync={in_sync}/{regions} dirty={dirty} copying={copying} log={log}")
}

/// Waits until the status says `words`.
fn wait_for(home: &Home<Mirror>, words: &str) {
    let start = Instant::now();
    while !status(home).contains(words) {
        let status = status(home);
        assert!(start.elapsed() < LIMIT, "{status} does not become {words}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A new mirror is copied from its first image, and is in sync when it comes back.
#[test]
fn new_mirrors_are_copied() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "images=AA in_sync=16/16 dirty=0");
    assert_eq!(set.log_version(), 1, "it is claimed");
    drop(home);
    assert_eq!(set.log_version(), 2, "it is given back");
    assert_eq!((set.image(0), set.image(1)), (vec![1; 16], vec![1; 16]));
    let home = set.start(Set::config()).unwrap();
    assert_eq!(
        status(&home),
        "images=AA in_sync=16/16 dirty=0 copying=0 log=disk"
    );
}

/// Without a first copy, both images are taken as they are; a rebuilt image is copied to.
#[test]
fn first_copies_can_be_left_out() {
    let set = Set::new();
    let mut config = Set::config();
    config.sync = Sync::Assumed;
    let home = set.start(config).unwrap();
    assert!(status(&home).starts_with("images=AA in_sync=16/16"));
    drop(home);
    assert_eq!(set.image(1), [2; 16]);
    let mut config = Set::config();
    config.images[0].content = Content::Rebuild;
    let home = set.start(config).unwrap();
    wait_for(&home, "images=AA in_sync=16/16 dirty=0");
    assert_eq!(set.image(0), [2; 16]);
}

/// A mirror that loses an image goes on; the image is out of sync when it comes back, and is copied
/// to.
#[test]
fn lost_legs_are_stale() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "in_sync=16/16 dirty=0");
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    set.devices[0].disk().vanish();
    device.write_at(&[9; 512], 3 * REGION).unwrap();
    device.flush().unwrap();
    assert_eq!(device.read(block::Range::new(0, 512)).unwrap(), [1; 512]);
    assert!(status(&home).starts_with("images=DA in_sync=15/16"));
    drop((device, home));
    let set = set.reboot();
    assert_eq!((set.image(0)[3], set.image(1)[3]), (1, 9));
    // Alone, the image out of sync is not served.
    let mut config = Set::config();
    config.images[1].device = None;
    let error = set.start(config.clone()).err().unwrap();
    assert!(error.to_string().contains("are out of date"), "{error}");
    config.access = Access::ReadOnly;
    let home = set.start(config).unwrap();
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    assert_eq!(device.read(block::Range::new(0, 512)).unwrap(), [1; 512]);
    let outdated = block::Range::new(3 * REGION, 512);
    assert_eq!(device.read(outdated).unwrap_err().kind(), Kind::Io);
    drop((device, home));
    // Beside the other one, it is copied to.
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "images=AA in_sync=16/16 dirty=0");
    assert_eq!(set.image(0)[3], 9);
}

/// An image that is back while the mirror is used keeps what it holds, and gets what it missed when
/// the mirror is started next.
#[test]
fn images_that_are_back_wait_for_the_next_start() {
    let set = Set::new();
    drop({
        let home = set.start(Set::config()).unwrap();
        wait_for(&home, "in_sync=16/16 dirty=0");
        home
    });
    let mut config = Set::config();
    config.images[1].device = None;
    let home = set.start(config).unwrap();
    home.suspend(LIMIT).unwrap();
    let prepared = home.prepare(Set::config(), set.devices(), LIMIT).unwrap();
    let other = prepared.reload(LIMIT).unwrap();
    other.resume().unwrap();
    let mut device = BlockingDevice::open(&other.face(0).unwrap()).unwrap();
    device.write_at(&[9; 512], 3 * REGION).unwrap();
    device.flush().unwrap();
    assert_eq!((set.image(0)[3], set.image(1)[3]), (9, 1));
    drop((device, other, home));
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "images=AA in_sync=16/16 dirty=0");
    assert_eq!(set.image(1)[3], 9);
}

/// A block that one image cannot read is read from the other; a write mends it.
#[test]
fn read_errors_are_passed_over() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "in_sync=16/16 dirty=0");
    for image in 0..2 {
        let mut disk = set.devices[image].disk();
        disk.faults_mut().unreadable.insert(image as u64);
    }
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    for block in 0..2 {
        let range = block::Range::new(block * 512, 512);
        assert_eq!(device.read(range).unwrap(), [1; 512]);
    }
    let both = block::Range::new(0, 1024);
    assert_eq!(device.read(both).unwrap_err().kind(), Kind::Io);
    device.write_at(&[4; 1024], 0).unwrap();
    assert_eq!(device.read(both).unwrap(), [4; 1024]);
    assert!(status(&home).starts_with("images=RR"));
}

/// A log that fails stops what it would have to know of, and nothing else.
#[test]
fn failed_logs_stop_new_writes() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "in_sync=16/16 dirty=0");
    set.devices[2].disk().vanish();
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    let error = device.write_at(&[4; 512], 0).unwrap_err();
    assert!(error.to_string().contains("the log cannot be written"));
    assert_eq!(device.read(block::Range::new(0, 512)).unwrap(), [1; 512]);
    assert!(status(&home).ends_with("log=failed"));
    assert_eq!((set.image(0)[0], set.image(1)[0]), (1, 1));
}

/// When no image can be written, the request fails and no image is lost.
#[test]
fn images_are_not_lost_together() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "in_sync=16/16 dirty=0");
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    for image in 0..2 {
        let mut disk = set.devices[image].disk();
        let next = disk.begun() + 1;
        disk.faults_mut().failing.insert(next, Kind::NoSpace);
    }
    let error = device.write_at(&[4; 512], 0).unwrap_err();
    assert_eq!(error.kind(), Kind::NoSpace);
    wait_for(&home, "images=AA in_sync=16/16 dirty=0");
}

/// A read-only mirror writes nothing, whatever state it is in.
#[test]
fn read_only_mirrors_write_nothing() {
    let set = Set::new();
    let mut config = Set::config();
    config.access = Access::ReadOnly;
    let home = set.start(config).unwrap();
    assert!(home.face(0).unwrap().info().read_only);
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    assert_eq!(device.read(block::Range::new(0, 512)).unwrap(), [1; 512]);
    home.suspend(LIMIT).unwrap();
    home.resume().unwrap();
    drop((device, home));
    assert_eq!((set.image(0), set.image(1)), (vec![1; 16], vec![2; 16]));
    let log = set.devices[2].disk();
    assert!(*log.content() == Image::new(4 * KIB));
}

/// Copying keeps to its rate, which can be changed; words that mean nothing are refused.
#[test]
fn copying_has_a_rate() {
    let set = Set::new();
    let mut config = Set::config();
    config.copy_rate = Some(1);
    let home = set.start(config).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    assert!(!status(&home).contains("in_sync=16/16"));
    home.suspend(LIMIT).unwrap();
    home.resume().unwrap();
    home.control(Control::Rate(0), LIMIT).unwrap();
}

/// A mirror that gets another size keeps what it knows, and writes nothing before it goes on; what
/// is new is copied, with the log on a disk and in memory.
#[test]
fn mirrors_get_another_size() {
    for log in [LogPlace::Disk(2), LogPlace::Core] {
        let set = Set::new();
        let sized = |size: u64| {
            let mut config = Set::config();
            (config.size, config.log) = (size, log);
            config
        };
        let content = |leg: usize| set.devices[leg].disk().content().clone();
        let home = set.start(sized(SIZE / 2)).unwrap();
        wait_for(&home, "in_sync=8/8 dirty=0");
        home.suspend(LIMIT).unwrap();
        let before: Vec<_> = (0..3).map(content).collect();
        let grown = home.prepare(sized(SIZE), set.devices(), LIMIT).unwrap();
        let grown = grown.reload(LIMIT).unwrap();
        assert!(status(&grown).starts_with("images=AA in_sync=8/16"));
        assert!((0..3).map(content).eq(before), "it is suspended");
        grown.resume().unwrap();
        let mut device = BlockingDevice::open(&grown.face(0).unwrap()).unwrap();
        device.write_at(&[5; 512], SIZE - 512).unwrap();
        wait_for(&grown, "images=AA in_sync=16/16 dirty=0");
        assert_eq!((set.image(0), set.image(1)), (vec![1; 16], vec![1; 16]));
        assert_eq!(
            device.read(block::Range::new(SIZE - 512, 512)).unwrap(),
            [5; 512]
        );

        grown.suspend(LIMIT).unwrap();
        let small = grown
            .prepare(sized(SIZE / 4), set.devices(), LIMIT)
            .unwrap();
        let small = small.reload(LIMIT).unwrap();
        small.resume().unwrap();
        wait_for(&small, "in_sync=4/4 dirty=0");
        let error = device.read(block::Range::new(SIZE / 2, 512)).unwrap_err();
        assert_eq!(error.kind(), block::Kind::InvalidRequest);
        drop((home, grown, small, device));
        if log == LogPlace::Disk(2) {
            assert_eq!(set.log_version(), 2, "it is given back");
            assert_eq!(
                set.devices[2]
                    .disk()
                    .content()
                    .bytes(block::Range::new(8, 1)),
                [4]
            );
        }
    }
}

/// A mirror that is suspended for good writes nothing at its end: its log may be another's by then.
#[test]
fn suspended_mirrors_end_in_silence() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "in_sync=16/16 dirty=0");
    home.suspend(LIMIT).unwrap();
    let log = || set.devices[2].disk().content().clone();
    let before = log();
    drop(home);
    assert!(log() == before);
}

/// What cannot change while a mirror is used is refused before anything is done.
#[test]
fn other_images_are_not_taken() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    let refused = |change: &dyn Fn(&mut MirrorConfig)| {
        let mut config = Set::config();
        change(&mut config);
        home.prepare(config, set.devices(), LIMIT)
            .err()
            .unwrap()
            .to_string()
    };
    let refusals = [
        refused(&|config| config.region_size *= 2),
        refused(&|config| config.access = super::Access::ReadOnly),
        refused(&|config| config.log = LogPlace::Core),
        refused(&|config| config.images[1].id = 99),
        refused(&|config| config.images.truncate(1)),
        refused(&|config| config.images[1].device = None),
        refused(&|config| config.size = 1 << 40),
    ];
    for (refusal, words) in refusals.iter().zip([
        "its regions",
        "whether it is written",
        "its log",
        "its images",
        "its images",
        "images went",
        "has 262144 bytes",
    ]) {
        assert!(refusal.contains(words), "{refusal}");
    }
    // In another order they are the same images.
    let mut config = Set::config();
    config.images.reverse();
    home.prepare(config, set.devices(), LIMIT)
        .map(drop)
        .unwrap();
}

/// Behind the regions that a log knows there may be ones: no cut makes them count.
#[test]
fn bits_count_when_they_are_durable() {
    let outdated = header(2, &[0xff, 0xff]);
    let mut grown = log_image(&outdated, 16, Sync::AsLogged);
    let mut disk = outdated.clone();
    for (at, run) in grown.take_changed() {
        disk[at as usize..][..run.len()].copy_from_slice(run);
    }
    assert_eq!(disk[8], 2, "the count waits for the bits");
    assert_eq!(disk[1024..1026], [0b11, 0]);
    grown.claim(16);
    let [(0, header)] = grown.take_changed()[..] else {
        panic!("the header follows");
    };
    assert_eq!(header[8], 16);
}

/// What cannot be a mirror is refused with a reason.
#[test]
fn nonsense_is_refused() {
    let infos: Vec<_> = (0..3)
        .map(|_| MemoryDevice::new("image", SIZE).info())
        .collect();
    let good = || {
        let images = vec![MirrorImage::present(1, 0), MirrorImage::present(2, 1)];
        MirrorConfig::new("m", SIZE, REGION, images)
    };
    assert!(Mirror::new(good(), &infos).is_ok());
    let refused = |change: fn(&mut MirrorConfig)| {
        let mut config = good();
        change(&mut config);
        Mirror::new(config, &infos).unwrap_err().kind()
    };
    assert_eq!(refused(|m| m.images.clear()), Refusal::InvalidLayout);
    assert_eq!(refused(|m| m.region_size = 3000), Refusal::InvalidLayout);
    assert_eq!(refused(|m| m.size = 2 * SIZE), Refusal::DeviceTooSmall);
    assert_eq!(refused(|m| m.size = 1 << 60), Refusal::TooComplex);
    assert_eq!(
        refused(|m| m.log = LogPlace::Disk(1)),
        Refusal::InvalidLayout
    );
    assert_eq!(
        refused(|m| m.images[0].device = Some(7)),
        Refusal::InvalidLayout
    );
    assert_eq!(
        refused(|m| m.images.iter_mut().for_each(|image| image.device = None)),
        Refusal::Device
    );
    let small = |m: &mut MirrorConfig| {
        m.region_size = 512;
        m.log = LogPlace::Disk(2);
    };
    let mut tiny = infos.clone();
    tiny[2].size = 1024;
    let mut config = good();
    small(&mut config);
    let error = Mirror::new(config, &tiny).unwrap_err();
    assert_eq!(error.kind(), Refusal::DeviceTooSmall);
}

/// What the log says may be in a cache only, if whoever wrote it was killed: it is durable before
/// a write relies on it.
#[test]
fn logs_are_durable_before_they_count() {
    let set = Set::new();
    let home = set.start(Set::config()).unwrap();
    wait_for(&home, "in_sync=16/16 dirty=0");
    drop(home);
    let set = set.reboot();
    // Killed in the middle of clearing all bits.
    let mut log = BlockingDevice::open(&set.devices[2]).unwrap();
    log.write_at(&[0; 512], 1024).unwrap();
    drop(log);
    let mut config = Set::config();
    config.clean_after = Duration::from_hours(1);
    let home = set.start(config).unwrap();
    let bits = set.devices[2]
        .disk()
        .durable()
        .bytes(block::Range::new(1024, 2));
    assert_eq!(bits, [0, 0], "before the first request");
    drop(home);
}

/// A mirror that got another size and cannot claim its log for it writes nothing: what the log says
/// may not be durable.
#[test]
fn unclaimed_logs_stop_all_writes() {
    let set = Set::new();
    let mut config = Set::config();
    config.size = SIZE / 2;
    let home = set.start(config).unwrap();
    wait_for(&home, "in_sync=8/8 dirty=0");
    home.suspend(LIMIT).unwrap();
    let home = home.prepare(Set::config(), set.devices(), LIMIT).unwrap();
    let home = home.reload(LIMIT).unwrap();
    set.devices[2].disk().vanish();
    home.resume().unwrap();
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    // A region that is not in sync needs nothing of the log, if that is durable.
    device.write_at(&[4; 512], SIZE - 512).unwrap_err();
    device.flush().unwrap_err();
    assert_eq!(device.read(block::Range::new(0, 512)).unwrap(), [1; 512]);
    assert_eq!(set.image(0), [1; 16]);
}

/// A write to a region that could not be marked is refused, although another refused write holds
/// the region still, as it waits for a copy elsewhere.
#[test]
fn refused_regions_make_nobody_wait() {
    let images = vec![MirrorImage::present(10, 0), MirrorImage::present(11, 1)];
    let mut config = MirrorConfig::new("mirror", 2 * REGION, REGION, images);
    config.log = LogPlace::Disk(2);
    let infos = [("a", SIZE), ("b", SIZE), ("log", 4 * KIB)];
    let infos = infos.map(|(name, size)| block::Info::new(name, size));
    let mut mirror = Mirror::new(config, &infos).unwrap();
    let (mut steps, mut asked) = (Steps::default(), Vec::new());
    // The steps that follow an event; requests to images are kept.
    let mut tell = |event, asked: &mut Vec<(usize, Request)>| {
        let mut done = Vec::new();
        mirror.event(event, Duration::ZERO, &mut steps);
        while let Some(step) = steps.pop() {
            match step {
                Step::Sub {
                    leg: image,
                    request,
                } => asked.push((image, request)),
                Step::Done(answer) => done.push((answer.tag, answer.result.is_ok())),
                _ => {}
            }
        }
        done
    };
    let answer = |image, request: Request, result| Event::Answer {
        leg: image,
        answer: request.complete(result),
    };
    tell(Event::Start, &mut asked);
    let (image, mut request) = asked.remove(0);
    request.buffer.copy_from_slice(&header(2, &[0b01]));
    tell(answer(image, request, Ok(())), &mut asked);
    while let Some(at) = asked.iter().position(|(image, _)| *image == 2) {
        let (image, request) = asked.remove(at);
        tell(answer(image, request, Ok(())), &mut asked);
    }
    let (image, copy) = asked.remove(0);
    assert_eq!(copy.range.start(), REGION, "the region that is out of sync");
    let write = |tag, start, len: usize| {
        let buffer = block::Buffer::zeroed(len);
        Event::Request {
            face: 0,
            request: Request::write(tag, start, Durability::Volatile, buffer),
        }
    };
    assert!(tell(write(1, REGION - 512, 1024), &mut asked).is_empty());
    let (log, mark) = asked.remove(0);
    assert_eq!((log, asked.len()), (2, 0));
    let error = block::Error::new(Kind::Io, "the log fails");
    assert!(tell(answer(log, mark, Err(error)), &mut asked).is_empty());
    assert_eq!(tell(write(2, 0, 512), &mut asked), [(2, false)]);
    assert_eq!(tell(answer(image, copy, Ok(())), &mut asked), [(1, false)]);
}

/// A disk that answers in any order, slowly, makes no difference to what is read.
#[test]
fn slow_legs_are_waited_for() {
    let clock = block::clock::Clock::virtual_time();
    let slow = |seed| {
        let faults = Faults {
            latency_ns: 4_000_000,
            jitter_ns: 9_000_000,
            ..Faults::default()
        };
        let disk = Disk::new("slow", Image::new(SIZE), 512, faults, seed);
        SimDevice::new(disk, clock.clone())
    };
    let set = Set {
        devices: vec![slow(1), slow(2), slow(3)],
    };
    let home = set.start(Set::config()).unwrap();
    let mut device = BlockingDevice::open(&home.face(0).unwrap()).unwrap();
    let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 512) as u8).collect();
    device.write_at(&bytes, 0).unwrap();
    device.flush().unwrap();
    assert!(device.read(block::Range::new(0, SIZE)).unwrap() == bytes);
    drop((device, home));
    assert!(set.devices[0].disk().durable() == Image::from_bytes(&bytes));
    assert!(set.devices[1].disk().durable() == Image::from_bytes(&bytes));
}

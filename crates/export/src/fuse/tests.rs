//! A device behind FUSE is a file: read and written at any byte, punched, sought, and looped.
//!
//! The tests go one at a time: a child that another test forks must not hold a file of this mount
//! while the mount's server, which is the same process, is asked to end.

use std::fs::{File, OpenOptions};
use std::io::IoSlice;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use block::memory::MemoryDevice;
use block::sim::{Image, SimDevice};
use block::{Device, Driver, Extent, ExtentKind, Info, Queue, Range};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use super::{Access, FuseFile, Mount, Options};
use crate::loop_device::{LoopDevice, Use, usage};

pub(crate) static ALONE: Mutex<()> = Mutex::new(());
/// Far more than anything takes on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A served device over a temporary file.
struct Served<D: Device + 'static> {
    device: Arc<D>,
    file: Option<FuseFile>,
    path: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Served<MemoryDevice> {
    fn new(size: u64, access: Access) -> Self {
        let bytes = (0..size).map(|i| (i * 31 % 253) as u8).collect();
        Self::of(MemoryDevice::from_bytes("memory", bytes), access)
    }
}

impl<D: Device + 'static> Served<D> {
    fn of(device: D, access: Access) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let device = Arc::new(device);
        let path = std::env::temp_dir().join(format!("ashlar-fuse-{}", std::process::id()));
        File::create(&path).unwrap();
        let options = Options { access, threads: 2 };
        let file = FuseFile::serve(device.clone(), &path, &options).unwrap();
        Self {
            device,
            file: Some(file),
            path,
            _alone: alone,
        }
    }

    fn open(&self) -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.path)
            .unwrap()
    }
}

impl<D: Device + 'static> Drop for Served<D> {
    fn drop(&mut self) {
        self.file.take().unwrap().stop().unwrap();
        if !std::thread::panicking() {
            let users = Arc::strong_count(&self.device);
            assert_eq!(users, 1, "its threads have ended");
        }
        assert_eq!(
            std::fs::metadata(&self.path).unwrap().len(),
            0,
            "the file is back"
        );
        std::fs::remove_file(&self.path).unwrap();
    }
}

/// What to do, from which byte, with how many, and what to write there.
fn step() -> impl Strategy<Value = (u8, u64, usize, u8)> {
    (0..4_u8, 0..300_000_u64, 1..70_000_usize, any::<u8>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_file_is_its_device(steps in vec(step(), 1..20)) {
        // Any reads, writes, punches and zeroings through the file equal the same on a slice.
        let served = Served::new(300_032, Access::ReadWrite);
        let file = served.open();
        let mut model = served.device.snapshot();
        for (kind, start, len, byte) in steps {
            let len = len.min(model.len() - start as usize);
            let span = start as usize..start as usize + len;
            match kind {
                0 => {
                    let mut bytes = vec![0; len];
                    file.read_exact_at(&mut bytes, start).unwrap();
                    prop_assert_eq!(&bytes, &model[span]);
                }
                1 => {
                    file.write_all_at(&vec![byte; len], start).unwrap();
                    model[span].fill(byte);
                }
                2 => {
                    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    fallocate(&file, flags, start, len as u64).unwrap();
                    model[span].fill(0);
                }
                _ => {
                    fallocate(&file, FallocateFlags::ZERO_RANGE, start, len as u64).unwrap();
                    model[span].fill(0);
                }
            }
            file.sync_all().unwrap();
            prop_assert_eq!(&served.device.snapshot(), &model);
        }
    }
}

#[test]
fn neighbours_of_partial_writes_keep_theirs() {
    // Four threads write every fourth byte of the same blocks, and no byte is lost.
    let served = Served::new(64 << 10, Access::ReadWrite);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let file = served.open();
            scope.spawn(move || {
                for at in (thread..4096).step_by(4) {
                    file.write_all_at(&[thread as u8 + 1], at).unwrap();
                }
            });
        }
    });
    let content = served.device.snapshot();
    assert!((0..4096).all(|at| content[at] == (at % 4) as u8 + 1));
}

#[test]
fn a_read_only_file_refuses() {
    // Opening for writing fails, whoever asks; a read beyond the end is empty; the size stays.
    let served = Served::new(4096, Access::ReadOnly);
    assert!(OpenOptions::new().write(true).open(&served.path).is_err());
    let file = File::open(&served.path).unwrap();
    assert_eq!(file.read_at(&mut [0; 10], 4096).unwrap(), 0);
    assert_eq!(file.metadata().unwrap().len(), 4096);
    assert_eq!(seek(&file, SeekFrom::Data(10)).unwrap(), 10);
    assert_eq!(seek(&file, SeekFrom::Hole(10)).unwrap(), 4096);
}

#[test]
fn writes_end_at_the_end() {
    // A write over the end is cut there, one behind it fails, and the size cannot be set.
    let served = Served::new(4096, Access::ReadWrite);
    let file = served.open();
    assert_eq!(file.write_at(&[1; 100], 4000).unwrap(), 96);
    assert_eq!(
        file.write_at(&[1; 100], 4096).unwrap_err().raw_os_error(),
        Some(libc::ENOSPC)
    );
    assert!(file.set_len(10).is_err());
    file.set_len(4096).unwrap();
}

#[test]
fn what_was_to_be_durable_is_durable() {
    // Whichever way a program asks for durability, no power cut takes back what it was answered;
    // and what nobody asked it for is not flushed one by one.
    const SIZE: u64 = 1 << 20;
    let served = Served::of(
        SimDevice::of_image("disk", Image::new(SIZE)),
        Access::ReadWrite,
    );
    let open = |flags| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags);
        options.open(&served.path).unwrap()
    };
    let durable = |start| {
        let held = served.device.disk().durable();
        held.bytes(Range::new(start, 4096)) == [3; 4096]
    };
    // Aligned, as O_DIRECT wants it.
    let data = block::Buffer::copy_of(&[3; 4096]);
    let plain = open(0);
    plain.write_all_at(&data, 0).unwrap();
    assert!(
        !durable(0),
        "the disk has a cache, or nothing is tested here"
    );
    let opened = [
        libc::O_DSYNC,
        libc::O_SYNC,
        libc::O_DSYNC | libc::O_DIRECT,
        libc::O_SYNC | libc::O_DIRECT,
    ];
    for (start, flags) in (1_u64..).zip(opened) {
        let start = start * 8192;
        open(flags).write_all_at(&data, start).unwrap();
        assert!(durable(start), "opened with {flags:#o}");
    }
    for (start, flags) in (10_u64..).zip([ReadWriteFlags::DSYNC, ReadWriteFlags::SYNC]) {
        let start = start * 8192;
        pwritev2(&plain, &[IoSlice::new(&data)], start, flags).unwrap();
        assert!(durable(start), "written with {flags:?}");
    }
    assert!(!durable(0), "what was synchronous was written with FUA");
    plain.sync_data().unwrap();
    assert!(durable(0));
    plain.write_all_at(&data, 4096).unwrap();
    plain.sync_all().unwrap();
    assert!(durable(4096));
}

#[test]
fn a_loop_device_stands_on_it() {
    // What is written to the loop device with direct I/O is in the device, and back. Whoever looks
    // for a free number meanwhile may claim it for a moment.
    let served = Served::new(1 << 20, Access::ReadWrite);
    let node = LoopDevice::attach(&served.path, Access::ReadWrite, 512).unwrap();
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_EXCL);
    let mut claimed = options.open(node.path());
    until("it can be claimed", || {
        if claimed.is_err() {
            claimed = options.open(node.path());
        }
        claimed.is_ok()
    });
    let file = claimed.unwrap();
    assert_eq!(usage(node.path()).unwrap(), Use::Held);
    file.write_all_at(&[9; 8192], 4096).unwrap();
    file.sync_all().unwrap();
    assert_eq!(served.device.snapshot()[4096..12288], [9; 8192]);
    drop(file);
    until("it is free", || usage(node.path()).unwrap() == Use::Free);
}

#[test]
fn a_mount_goes_when_it_is_told() {
    // What is mounted is mounted no more when `remove` returns, and a second time is no error.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = std::env::temp_dir().join(format!("ashlar-fuse-mount-{}", std::process::id()));
    File::create(&path).unwrap();
    let is_mounted = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.contains(path.to_str().unwrap())
    };
    let (mut mount, channel) = Mount::new(&path, Access::ReadOnly).unwrap();
    assert!(is_mounted());
    mount.remove().unwrap();
    assert!(!is_mounted());
    mount.remove().unwrap();
    drop(channel);
    std::fs::remove_file(&path).unwrap();
}

/// A device that says of itself that it holds nothing.
struct Empty(MemoryDevice);

impl Device for Empty {
    fn info(&self) -> Info {
        self.0.info()
    }

    fn open_queue(&self, driver: &Driver) -> block::Result<Box<dyn Queue>> {
        self.0.open_queue(driver)
    }

    fn extents(&self, range: Range, _: usize) -> block::Result<Vec<Extent>> {
        let (len, kind) = (range.len(), ExtentKind::Hole);
        Ok(vec![Extent { len, kind }])
    }
}

#[test]
fn there_is_no_data_behind_the_last() {
    // Who looks for data where only holes follow is told that there is none.
    let served = Served::of(Empty(MemoryDevice::new("empty", 8192)), Access::ReadWrite);
    let file = served.open();
    assert_eq!(seek(&file, SeekFrom::Data(0)), Err(Errno::NXIO));
    assert_eq!(seek(&file, SeekFrom::Hole(4096)), Ok(4096));
    assert_eq!(seek(&file, SeekFrom::Hole(8193)), Err(Errno::NXIO));
}

#[test]
fn nobody_works_for_nothing() {
    // Threads that have no requests sleep: they use next to no processor time.
    let served = Served::new(4096, Access::ReadWrite);
    served.open().sync_all().unwrap();
    let ticks = || -> u64 {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        let of_fuse = stats.filter_map(|stat| {
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let number = |at: usize| fields[at].parse::<u64>().unwrap();
            name.starts_with("fuse").then(|| number(11) + number(12))
        });
        of_fuse.sum()
    };
    let before = ticks();
    std::thread::sleep(Duration::from_millis(500));
    // Each is 10 ms; two threads that are awake use a hundred on two free processors.
    assert!(ticks() - before < 10, "{} ticks", ticks() - before);
}

#[test]
fn a_missing_device_is_named_with_its_remedy() {
    let error = super::mount::require(Path::new("/nowhere/fuse")).unwrap_err();
    assert!(error.to_string().contains("modprobe fuse"), "{error}");
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

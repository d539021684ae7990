//! Block devices: what the kernel says of them, and that they do as asked.
//!
//! Needs root, for loop devices; without, there is nothing to test and it says so.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use ashlar_block::file::{Access, Caching, Claim, FileDevice, FileOptions};
use ashlar_block::{
    BlockingDevice, Buffer, Device, Driver, EngineKind, Kind, Range, Request, Unmap,
};

const SIZE: u64 = 8 << 20;
/// A sector more: whole sectors, and no whole blocks of 4096 bytes.
const TAIL_SIZE: u64 = SIZE + 512;

/// A loop device that goes when this is dropped.
struct Loop {
    path: PathBuf,
    image: PathBuf,
}

impl Loop {
    /// `None` where loop devices cannot be made.
    fn attach(name: &str, arguments: &[&str]) -> Option<Self> {
        let image = std::env::temp_dir().join(format!("ashlar-{name}-{}", std::process::id()));
        File::create(&image).unwrap().set_len(TAIL_SIZE).unwrap();
        let losetup = Command::new("losetup")
            .args(["--find", "--show"])
            .args(arguments)
            .arg(&image)
            .output();
        match losetup {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8(output.stdout).unwrap();
                let path = PathBuf::from(path.trim());
                Some(Self { path, image })
            }
            _ => {
                println!("skipped: no loop device can be made (needs root and losetup)");
                std::fs::remove_file(&image).unwrap();
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
        let _ = std::fs::remove_file(&self.image);
    }
}

fn open(path: &Path, access: Access, claim: Claim) -> ashlar_block::Result<FileDevice> {
    let mut options = FileOptions::new(access);
    options.claim = claim;
    FileDevice::open_with(path, options)
}

/// Sizes and blocks are the kernel's, and writes, zeros and discards work at the block's size.
#[test]
fn disks_of_both_block_sizes() {
    for block in [512_usize, 4096] {
        let sector = format!("--sector-size={block}");
        let Some(disk) = Loop::attach(&format!("disk{block}"), &[&sector]) else {
            return;
        };
        let device = open(&disk.path, Access::ReadWrite, Claim::Shared).unwrap();
        let info = device.info();
        // The rest that is no whole block is none of the disk's.
        let size = TAIL_SIZE / block as u64 * block as u64;
        assert_eq!((info.size, info.logical_block as usize), (size, block));
        assert!(info.physical_block >= info.logical_block);
        assert!(info.discard_granularity > 0 && info.durable && !info.read_only);
        let read_only = open(&disk.path, Access::ReadOnly, Claim::Shared).unwrap();
        assert_eq!(read_only.info().discard_granularity, 0);
        let mut drivers = vec![Driver::with_engine(EngineKind::Threads).unwrap()];
        drivers.extend(Driver::with_engine(EngineKind::Uring));
        for driver in drivers {
            let mut blocking = BlockingDevice::open_on(&device, &driver).unwrap();
            let bytes: Vec<u8> = (0..300_000).map(|at| (at % 251 + 1) as u8).collect();
            blocking.write_at(&bytes, 12_345).unwrap();
            blocking.flush().unwrap();
            assert_eq!(blocking.read(Range::new(12_345, 300_000)).unwrap(), bytes);
            for (start, unmap) in [(16_384, Unmap::Allowed), (65_536, Unmap::Forbidden)] {
                blocking
                    .write_zeroes(Range::new(start, 8192), unmap)
                    .unwrap();
                let around = blocking.read(Range::new(start - 1, 8194)).unwrap();
                assert!(around[0] != 0 && around[8193] != 0);
                assert!(around[1..8193].iter().all(|&byte| byte == 0));
            }
            blocking.discard(Range::new(0, SIZE)).unwrap();
        }
        let driver = Driver::new().unwrap();
        let mut queue = device.open_queue(&driver).unwrap();
        queue.submit(Request::read(1, 0, Buffer::zeroed(512)));
        let mut done = Vec::new();
        while queue.in_flight() > 0 {
            driver.wait(&mut [], None).unwrap();
            queue.poll(&mut done);
        }
        assert_eq!(done[0].result.is_ok(), block == 512);
    }
}

/// A claimed disk is refused to the next claim, and a read-only one to writers.
#[test]
fn claims_and_read_only_disks() {
    let Some(disk) = Loop::attach("claim", &[]) else {
        return;
    };
    let first = open(&disk.path, Access::ReadWrite, Claim::Exclusive).unwrap();
    let error = open(&disk.path, Access::ReadOnly, Claim::Exclusive).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    open(&disk.path, Access::ReadOnly, Claim::Shared).unwrap();
    drop(first);
    // A child of another test has it until it becomes another program.
    let is_free = |_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        open(&disk.path, Access::ReadWrite, Claim::Exclusive).is_ok()
    };
    assert!((0..500).any(is_free), "it is let go");

    let Some(fixed) = Loop::attach("fixed", &["--read-only"]) else {
        return;
    };
    let device = open(&fixed.path, Access::ReadOnly, Claim::Shared).unwrap();
    assert!(device.info().read_only);
    let error = open(&fixed.path, Access::ReadWrite, Claim::Shared).unwrap_err();
    assert!(
        matches!(error.kind(), Kind::ReadOnly | Kind::Open),
        "{error}"
    );
}

/// The page cache is an other way to the same bytes.
#[test]
fn disks_through_the_page_cache() {
    let Some(disk) = Loop::attach("cached", &[]) else {
        return;
    };
    let mut options = FileOptions::new(Access::ReadWrite);
    options.caching = Caching::PageCache;
    let device = FileDevice::open_with(&disk.path, options).unwrap();
    assert!(!device.is_direct());
    let mut blocking = BlockingDevice::open(&device).unwrap();
    blocking.write_at(b"seen by both", 1000).unwrap();
    blocking.flush().unwrap();
    let direct = open(&disk.path, Access::ReadOnly, Claim::Shared).unwrap();
    assert!(direct.is_direct());
    let mut direct = BlockingDevice::open(&direct).unwrap();
    assert_eq!(direct.read(Range::new(1000, 12)).unwrap(), b"seen by both");
}

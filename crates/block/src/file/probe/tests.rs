//! What is known of files in memory and on this machine's disk, and when calls go past the cache.

use std::fs::read_to_string;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags};

use super::{Backing, Path, Probed, choose_direct, describe_disk, number};
use crate::file::tests::Named;
use crate::file::{Access, Caching, FileDevice};
use crate::{BLOCK_ALIGN, Device, Info};

fn stat(file: impl AsFd) -> Statx {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN;
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).expect("it is open")
}

/// What is known before anything was asked.
fn probed(backing: Backing, size: u64) -> Probed {
    Probed {
        info: Info::new("probed", size),
        backing,
        read: Path::CacheFirst,
        write: Path::Engine,
        memory_align: 1,
        tail: 0,
    }
}

/// A file in memory is not durable, and no call for it waits; on a disk it is as the disk says.
#[test]
fn files_are_what_holds_them() {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = rustix::fs::memfd_create("memory", flags).expect("a file in memory");
    rustix::fs::ftruncate(&file, 8192).expect("grows");
    let device = FileDevice::from_fd(file, "m", Access::ReadWrite, Caching::Probe).expect("opens");
    let shared = device.shared();
    assert!(!shared.info.durable && !shared.info.rotational);
    assert_eq!((shared.read, shared.write), (Path::Inline, Path::Inline));

    let named = Named::new("held", 8192);
    let device = FileDevice::open(&named.path, Access::ReadWrite).expect("opens");
    for (access, discards) in [(Access::ReadWrite, true), (Access::ReadOnly, false)] {
        let info = FileDevice::open(&named.path, access).expect("opens").info();
        assert_eq!(info.discard_granularity > 0, discards);
        assert_eq!(info.discard_zeroes, discards);
    }
    let stat = stat(&device);
    let disk = format!(
        "/sys/dev/block/{}:{}",
        stat.stx_dev_major, stat.stx_dev_minor
    );
    let read = |file: String| read_to_string(file).ok();
    let turns = read(format!("{disk}/queue/rotational"))
        .or_else(|| read(format!("{disk}/../queue/rotational")));
    let turns = turns.is_some_and(|text| text.trim() == "1");
    if device.info().durable {
        assert_eq!(device.info().rotational, turns);
    }
}

/// Only whole blocks of a disk are used.
#[test]
fn disks_end_with_a_whole_block() {
    // A file in place of the disk: it knows no blocks of its own, so they are sectors.
    let named = Named::new("disk", 0);
    let file = named.open();
    let mut stat = stat(&file);
    (stat.stx_rdev_major, stat.stx_rdev_minor) = (4095, 1_048_575);
    let mut probed = probed(Backing::Disk, 10_000);
    describe_disk(file.as_fd(), &stat, &mut probed).expect("may be written to");
    assert_eq!((probed.info.size, probed.info.logical_block), (9728, 512));
    assert_eq!(probed.info.discard_granularity, 0);
}

/// Numbers of sysfs are read from the device or, for a partition, from its disk.
#[test]
fn numbers_are_read() {
    let named = Named::new("numbers", 0);
    let folder = named.path.with_extension("sys");
    std::fs::create_dir_all(folder.join("part")).expect("a folder");
    std::fs::write(folder.join("ro"), "1\n").expect("a file");
    std::fs::write(folder.join("size"), "4096\n").expect("a file");
    std::fs::write(folder.join("part/size"), "8\n").expect("a file");
    std::fs::write(folder.join("part/word"), "none\n").expect("a file");
    let part = folder.join("part").display().to_string();
    let found = ["size", "ro", "word", "gone"].map(|file| number(&part, file));
    std::fs::remove_dir_all(&folder).expect("it goes");
    assert_eq!(found, [Some(8), Some(1), None, None]);
}

/// A file is read past the cache where it wants no larger pieces than the sectors of the disk in
/// it and no coarser memory than ours; one that does not say is tried.
#[test]
fn direct_io_is_chosen_where_it_fits() {
    let named = Named::new("chosen", 64 << 10);
    let chosen = |known: bool, memory: u32, offset: u32, caching| {
        let file = named.open();
        let mut stat = stat(&file);
        let dioalign = StatxFlags::DIOALIGN.bits();
        stat.stx_mask = if known {
            stat.stx_mask | dioalign
        } else {
            stat.stx_mask & !dioalign
        };
        (stat.stx_dio_mem_align, stat.stx_dio_offset_align) = (memory, offset);
        let mut probed = probed(Backing::File, 64 << 10);
        choose_direct(file.as_fd(), &stat, caching, &mut probed).expect("it is open");
        let flags = rustix::fs::fcntl_getfl(&file).expect("it is open");
        let is_direct = probed.read == Path::Engine;
        assert_eq!(
            is_direct,
            flags.contains(OFlags::DIRECT),
            "{memory} {offset}"
        );
        is_direct.then_some(probed.memory_align)
    };
    let probe = Caching::Probe;
    let takes = named.takes_direct();
    assert_eq!(chosen(true, 512, 512, probe), takes.then_some(512));
    assert_eq!(chosen(true, 3, 512, probe), takes.then_some(4));
    assert_eq!(chosen(true, 512, 512, Caching::PageCache), None);
    assert_eq!(chosen(true, 512, 4096, probe), None, "larger pieces");
    assert_eq!(chosen(true, 0, 512, probe), None);
    assert_eq!(chosen(true, 512, 0, probe), None);
    let coarse = 2 * u32::try_from(BLOCK_ALIGN).expect("is small");
    assert_eq!(chosen(true, coarse, 512, probe), None);
    let tried = chosen(false, 8, 8, probe);
    assert!(tried.is_none_or(|align| align == 4096), "{tried:?}");
}

//! What the kernel says about an open file: kind, size, blocks, and how to read and write it.

use std::fs::read_to_string;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, OFlags, SeekFrom, Statx, StatxFlags};

use super::medium::{self, sys_folder};
use super::{Access, Caching};
use crate::{BLOCK_ALIGN, Buffer, Error, Info, Kind, Result};

/// How one direction of a file is served when no engine was demanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    /// The call is made by the thread that submits.
    Inline,
    /// What the page cache holds, by the thread that submits; the rest through the engine.
    CacheFirst,
    /// Through the engine.
    Engine,
}

/// What holds the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backing {
    /// A regular file.
    File,
    /// A block device.
    Disk,
}

/// All that is known after opening.
#[derive(Debug)]
pub(super) struct Probed {
    pub(super) info: Info,
    pub(super) backing: Backing,
    pub(super) read: Path,
    pub(super) write: Path,
    /// Buffers must begin on multiples of this, in bytes; a power of two.
    pub(super) memory_align: usize,
    /// Bytes at the end of the file that are no whole sector and are not used.
    pub(super) tail: u64,
}

/// Sectors of 512 bytes are the finest thing that disks are cut into.
pub(super) const SECTOR: u64 = 512;

/// Looks at the open file `fd`, and switches direct I/O on where it is used.
pub(super) fn probe(
    fd: BorrowedFd<'_>,
    name: &str,
    access: Access,
    caching: Caching,
) -> Result<Probed> {
    let fail = |errno: rustix::io::Errno| {
        Error::io(format!("cannot examine {name}"), errno.into()).with_kind(Kind::Open)
    };
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN;
    let stat = rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, wanted).map_err(fail)?;
    let backing = match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile => Backing::File,
        FileType::BlockDevice => Backing::Disk,
        other => {
            let what = format!("{name} is {}, not a disk or a disk image", kind_name(other));
            return Err(Error::new(Kind::Open, what));
        }
    };
    // For a block device, statx knows nothing of the size; its end does.
    let size = match backing {
        Backing::File => stat.stx_size,
        Backing::Disk => rustix::fs::seek(fd, SeekFrom::End(0)).map_err(fail)?,
    };
    let mut info = Info::new(name, size - size % SECTOR);
    info.read_only = access == Access::ReadOnly;
    info.fua = !info.read_only;
    info.durable = true;
    let mut probed = Probed {
        info,
        backing,
        read: Path::CacheFirst,
        write: Path::Engine,
        memory_align: 1,
        tail: size % SECTOR,
    };
    match backing {
        Backing::File => describe_file(fd, &stat, &mut probed),
        Backing::Disk => describe_disk(fd, &stat, &mut probed)?,
    }
    if probed.read != Path::Inline {
        choose_direct(fd, &stat, caching, &mut probed).map_err(fail)?;
    }
    Ok(probed)
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "something else",
    }
}

fn describe_file(fd: BorrowedFd<'_>, stat: &Statx, probed: &mut Probed) {
    let info = &mut probed.info;
    if !info.read_only {
        info.discard_granularity = stat.stx_blksize.max(SECTOR as u32);
        info.discard_zeroes = true;
    }
    let (major, minor) = (stat.stx_dev_major, stat.stx_dev_minor);
    // File systems over several disks, in memory, in user space and behind a network have a device
    // number of their own, which no disk has.
    let block = if medium::is_disk(major, minor) {
        rustix::fs::fstatvfs(fd).map_or(0, |found| found.f_frsize)
    } else {
        0
    };
    info.physical_block = medium::below_file(major, minor, block);
    if in_memory(fd) {
        info.durable = false;
        (probed.read, probed.write) = (Path::Inline, Path::Inline);
        return;
    }
    let disk = sys_folder(major, minor);
    info.rotational = number(&disk, "queue/rotational") == Some(1);
}

/// Whether the file lives in memory only, where no call ever waits for a device.
fn in_memory(fd: BorrowedFd<'_>) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    const HUGETLBFS: u64 = 0x9584_58f6;
    let magic = rustix::fs::fstatfs(fd).map(|stat| stat.f_type as u64 & 0xffff_ffff);
    matches!(magic, Ok(TMPFS | RAMFS | HUGETLBFS))
}

fn describe_disk(fd: BorrowedFd<'_>, stat: &Statx, probed: &mut Probed) -> Result<()> {
    let info = &mut probed.info;
    let sys = sys_folder(stat.stx_rdev_major, stat.stx_rdev_minor);
    let get = |file: &str| number(&sys, file);
    let small = |file: &str| get(file).and_then(|value| u32::try_from(value).ok());
    info.logical_block = rustix::fs::ioctl_blksszget(fd).unwrap_or(SECTOR as u32);
    info.physical_block = rustix::fs::ioctl_blkpbszget(fd).unwrap_or(info.logical_block);
    if !info.logical_block.is_power_of_two() || !info.physical_block.is_power_of_two() {
        let what = format!(
            "{} says that its blocks have {} and {} bytes, which are no powers of two",
            info.name, info.logical_block, info.physical_block
        );
        return Err(Error::new(Kind::Open, what));
    }
    let below = medium::below_disk(stat.stx_rdev_major, stat.stx_rdev_minor);
    info.physical_block = info.physical_block.max(info.logical_block).max(below);
    info.size -= info.size % u64::from(info.logical_block);
    info.minimum_io = small("queue/minimum_io_size").unwrap_or(0);
    info.optimal_io = small("queue/optimal_io_size").unwrap_or(0);
    info.alignment_offset = small("alignment_offset").unwrap_or(0);
    info.rotational = get("queue/rotational") == Some(1);
    let discards = get("queue/discard_max_bytes").unwrap_or(0) > 0;
    if discards && !info.read_only {
        info.discard_granularity = small("queue/discard_granularity").unwrap_or(0);
    }
    if !info.read_only && get("ro") == Some(1) {
        let what = format!("{} is a read-only disk; open it for reading", info.name);
        return Err(Error::new(Kind::ReadOnly, what));
    }
    Ok(())
}

/// The number in a file of sysfs. A partition has no `queue` of its own, but its disk, one folder
/// up, has.
fn number(folder: &str, file: &str) -> Option<u64> {
    let read = |path: String| read_to_string(path).ok()?.trim().parse().ok();
    read(format!("{folder}/{file}")).or_else(|| read(format!("{folder}/../{file}")))
}

/// Uses direct I/O if `caching` and the file allow it.
fn choose_direct(
    fd: BorrowedFd<'_>,
    stat: &Statx,
    caching: Caching,
    probed: &mut Probed,
) -> std::result::Result<(), rustix::io::Errno> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    if caching == Caching::PageCache || rustix::fs::fcntl_setfl(fd, flags | OFlags::DIRECT).is_err()
    {
        return Ok(());
    }
    let known = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    let (memory, offset) = if known {
        (stat.stx_dio_mem_align, stat.stx_dio_offset_align)
    } else {
        // Page-aligned memory satisfies every device.
        (4096, trial_read(fd))
    };
    // A file that wants larger pieces than the sectors of the disk in it is not read directly.
    let fits = offset <= probed.info.logical_block && memory as usize <= BLOCK_ALIGN;
    if offset == 0 || memory == 0 || !fits {
        return rustix::fs::fcntl_setfl(fd, flags);
    }
    (probed.read, probed.write) = (Path::Engine, Path::Engine);
    probed.memory_align = (memory as usize).next_power_of_two();
    Ok(())
}

/// The smallest piece that a direct read at byte 0 accepts, in bytes; 0: none.
fn trial_read(fd: BorrowedFd<'_>) -> u32 {
    let mut memory = Buffer::zeroed(4096);
    let mut accepts = |len: usize| rustix::io::pread(fd, &mut memory[..len], 0).is_ok();
    [SECTOR as usize, 4096]
        .into_iter()
        .find(|&len| accepts(len))
        .unwrap_or(0) as u32
}

#[cfg(test)]
mod tests;

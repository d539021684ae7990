//! Signatures: what tells that a device holds something that people may want to keep.
//!
//! A new volume may lie where an old file system was, and some program may find that again; so
//! stock wipes the few bytes by which such things are recognised, and asks first. The list is ours:
//! the formats that people have on disks, with the bytes that their own documentation names.

use lvm2::Bytes;

/// What is looked for: a name, where, and which bytes.
struct Magic {
    name: &'static str,
    at: Place,
    bytes: &'static [u8],
}

#[derive(Clone, Copy)]
enum Place {
    /// From the start.
    Start(u64),
    /// So far before the end, the end rounded down to a multiple.
    End { before: u64, multiple: u64 },
}

/// A signature that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Whose it is: `ext4`, `LVM2_member`, …
    pub name: &'static str,
    /// Where its bytes are.
    pub offset: Bytes,
    /// How many there are: zeroing them makes it unrecognisable.
    pub length: usize,
}

const fn start(name: &'static str, at: u64, bytes: &'static [u8]) -> Magic {
    Magic {
        name,
        at: Place::Start(at),
        bytes,
    }
}

const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];

const MAGICS: &[Magic] = &[
    start("LVM2_member", 0x018, b"LVM2 001"),
    start("LVM2_member", 0x218, b"LVM2 001"),
    start("LVM2_member", 0x418, b"LVM2 001"),
    start("LVM2_member", 0x618, b"LVM2 001"),
    start("ext4", 0x438, &[0x53, 0xef]),
    start("xfs", 0, b"XFSB"),
    start("xfs_external_log", 0, &[0xfe, 0xed, 0xba, 0xbe]),
    start("btrfs", 0x10040, b"_BHRfS_M"),
    start("swap", 0xff6, b"SWAPSPACE2"),
    start("swap", 0xff6, b"SWAP-SPACE"),
    start("swap", 0x1ff6, b"SWAPSPACE2"),
    start("swap", 0x3ff6, b"SWAPSPACE2"),
    start("swap", 0xfff6, b"SWAPSPACE2"),
    start("crypto_LUKS", 0, b"LUKS\xba\xbe"),
    start("crypto_LUKS", 0x4000, b"SKUL\xba\xbe"),
    start("linux_raid_member", 0, MD),
    start("linux_raid_member", 0x1000, MD),
    Magic {
        name: "linux_raid_member",
        at: Place::End {
            before: 0x10000,
            multiple: 0x10000,
        },
        bytes: MD,
    },
    Magic {
        name: "linux_raid_member",
        at: Place::End {
            before: 0x2000,
            multiple: 0x1000,
        },
        bytes: MD,
    },
    start("gpt", 0x200, b"EFI PART"),
    start("gpt", 0x1000, b"EFI PART"),
    Magic {
        name: "gpt",
        at: Place::End {
            before: 0x200,
            multiple: 0x200,
        },
        bytes: b"EFI PART",
    },
    start("ntfs", 3, b"NTFS    "),
    start("exfat", 3, b"EXFAT   "),
    start("vfat", 0x36, b"FAT12   "),
    start("vfat", 0x36, b"FAT16   "),
    start("vfat", 0x52, b"FAT32   "),
    start("iso9660", 0x8001, b"CD001"),
    start("udf", 0x8001, b"BEA01"),
    start("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    start("erofs", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    start("hfsplus", 0x400, b"H+"),
    start("nilfs2", 0x406, &[0x34, 0x34]),
    start("squashfs", 0, b"hsqs"),
    start("jfs", 0x8000, b"JFS1"),
    start("reiserfs", 0x10034, b"ReIsEr"),
    start("gfs2", 0x10000, &[0x01, 0x16, 0x19, 0x70]),
    start("ocfs2", 0x1000, b"OCFSV2"),
    start("bcache", 0x1018, &[0xc6, 0x85, 0x73, 0xf6]),
    start("DM_snapshot_cow", 0, b"SnAp"),
    start("DM_integrity", 0, b"integrt\0"),
    start("vdo", 0, b"dmvdo001"),
    start("BitLocker", 3, b"-FVE-FS-"),
    start("dos", 0x1fe, &[0x55, 0xaa]),
];

/// Finds signatures on something of `size` bytes that `read` reads: `None` where a place cannot be
/// read, which then counts as without a signature.
pub fn find_signatures(
    size: Bytes,
    mut read: impl FnMut(Bytes, usize) -> Option<Vec<u8>>,
) -> Vec<Signature> {
    let mut found: Vec<Signature> = Vec::new();
    for magic in MAGICS {
        let length = magic.bytes.len();
        let place = match magic.at {
            Place::Start(at) => Some(at),
            Place::End { before, multiple } => (size.0 - size.0 % multiple).checked_sub(before),
        };
        let Some(at) = place.filter(|at| at + length as u64 <= size.0) else {
            continue;
        };
        let is_there = read(Bytes(at), length).is_some_and(|bytes| bytes == magic.bytes);
        // A boot sector belongs to the file system in it.
        let is_part = magic.name == "dos" && found.iter().any(|other| other.offset.0 < 0x200);
        if is_there && !is_part {
            found.push(Signature {
                name: magic.name,
                offset: Bytes(at),
                length,
            });
        }
    }
    let is_inside = |one: &Signature| one.offset.0 + one.length as u64 <= size.0;
    assert!(found.iter().all(is_inside), "what is wiped is there");
    found
}

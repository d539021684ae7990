//! What `mkfs` really writes, and hostile bytes.

use std::process::Command;

use lvm2::Bytes;

use super::{End, FileSystem, file_systems};
use crate::tests::fixture::Folder;

const MIB: u64 = 1 << 20;

fn on(bytes: &[u8]) -> Vec<FileSystem> {
    file_systems(Bytes(bytes.len() as u64), |at, length| {
        let start = usize::try_from(at.0).ok()?;
        Some(bytes.get(start..start + length)?.to_vec())
    })
}

fn made(size: u64, command: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.path("fs");
    let file = std::fs::File::create(&path).expect("is made");
    file.set_len(size).expect("has the size");
    let made = Command::new(command[0])
        .args(&command[1..])
        .arg(&path)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .expect("mkfs is installed");
    assert!(made.status.success(), "{command:?}: {made:?}");
    std::fs::read(&path).expect("reads")
}

/// Of each file system that its own tool makes, name and size are read.
#[test]
fn what_mkfs_writes_is_understood() {
    let cases: [(&[&str], &str, u64); 9] = [
        (&["mkfs.ext2", "-q", "-F"], "ext2", 16 * MIB),
        (&["mkfs.ext3", "-q", "-F"], "ext3", 16 * MIB),
        (&["mkfs.ext4", "-q", "-F"], "ext4", 16 * MIB),
        (
            &["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "64bit"],
            "ext4",
            16 * MIB,
        ),
        (
            &["mkfs.ext4", "-q", "-F", "-b", "1024", "-O", "^has_journal"],
            "ext4",
            16 * MIB,
        ),
        (&["mkfs.xfs", "-q", "-f"], "xfs", 320 * MIB),
        (&["mkfs.btrfs", "-q", "-f"], "btrfs", 128 * MIB),
        (&["mkswap", "-q"], "swap", 8 * MIB),
        (&["mkswap", "-q", "-p", "16384"], "swap", 8 * MIB),
    ];
    for (command, name, size) in cases {
        let found = on(&made(size, command));
        let expected = FileSystem {
            name,
            end: End::At(Bytes(size)),
        };
        assert_eq!(found, [expected], "{command:?}");
        assert!(expected.is_cut_at(Bytes(size - 1)) && !expected.is_cut_at(Bytes(size)));
    }
    assert_eq!(on(&vec![0; 4 << 20]), []);
}

/// A file system smaller than what it is on has its own size, not that of the device.
#[test]
fn a_smaller_one_has_its_own_size() {
    let folder = Folder::new();
    let path = folder.path("fs");
    let file = std::fs::File::create(&path).expect("is made");
    file.set_len(16 * MIB).expect("has the size");
    let made = Command::new("/usr/sbin/mkfs.ext4")
        .args(["-q", "-F", "-b", "1024"])
        .arg(&path)
        .arg("5000")
        .status();
    assert!(made.expect("mkfs is installed").success());
    let found = on(&std::fs::read(&path).expect("reads"));
    assert_eq!(found[0].end, End::At(Bytes(5000 * 1024)));
}

/// Of LUKS, the end cannot be known: any cut may hit.
#[test]
fn luks_needs_all_there_is() {
    for version in [1, 2] {
        let mut bytes = vec![0; 1 << 20];
        bytes[..8].copy_from_slice(&[b'L', b'U', b'K', b'S', 0xba, 0xbe, 0, version]);
        let found = on(&bytes);
        assert_eq!((found[0].name, found[0].end), ("crypto_LUKS", End::Open));
        assert!(found[0].is_cut_at(Bytes(u64::MAX)));
    }
}

/// Superblocks that make no sense, and devices too short for one, have no file system and no
/// panic: every byte of each superblock set to ones, to zero, and cut off.
#[test]
fn nonsense_is_refused() {
    let commands: [&[&str]; 3] = [&["mkfs.ext4", "-q", "-F"], &["mkswap", "-q"], &["true"]];
    for command in commands {
        let size = 16 * MIB;
        let whole = if command[0] == "true" {
            vec![0xff; size as usize]
        } else {
            made(size, command)
        };
        let head = &whole[..70_000];
        for at in (0..2048).chain(4080..4096).chain(65536..65_800) {
            for byte in [0, 0xff] {
                let mut bytes = head.to_vec();
                bytes[at] = byte;
                for found in on(&bytes) {
                    assert_ne!(found.end, End::At(Bytes(0)));
                }
            }
        }
        for length in 0..2048 {
            on(&head[..length]);
        }
    }
    let mut ext = vec![0; 4096];
    ext[1024 + 0x38..1024 + 0x3a].copy_from_slice(&[0x53, 0xef]);
    ext[1024 + 0x4] = 1;
    ext[1024 + 0x18] = 32;
    assert_eq!(on(&ext), [], "a block of 2^42 bytes");
    let mut xfs = vec![0; 4096];
    xfs[..16].copy_from_slice(b"XFSB\0\0\x10\0\xff\xff\xff\xff\xff\xff\xff\xff");
    assert_eq!(on(&xfs), [], "more than 2^64 bytes");
}

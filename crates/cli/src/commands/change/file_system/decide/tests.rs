//! What each file system is told to do, and when it is refused.

use std::path::PathBuf;

use ashlar::filesystem::{Btrfs, Content, End, FileSystem, Swap};
use lvm2::Bytes;

use super::{Check, Decision, Mount, Mounts, Situation, Step, Word, decide};

const MIB: u64 = 1 << 20;

fn content(name: &'static str, mib: u64) -> Content {
    let end = End::At(Bytes(mib * MIB));
    Content {
        found: vec![FileSystem { name, end }],
        btrfs: Some(Btrfs {
            device: 2,
            devices: 1,
        }),
        swap: Some(Swap {
            page: 4096,
            uuid: [7; 16],
            label: b"s".to_vec(),
        }),
    }
}

fn mount() -> Mount {
    Mount {
        point: PathBuf::from("/m"),
        options: "rw,noatime".to_owned(),
        is_whole: true,
    }
}

fn about<'a>(content: &'a Content, mib: (u64, u64), mounts: &'a [Mount]) -> Situation<'a> {
    Situation {
        name: "vg0/u",
        old: Bytes(mib.0 * MIB),
        new: Bytes(mib.1 * MIB),
        content,
        mounts,
        is_swap_on: false,
        mode: Mounts::Asked,
        check: Check::Needed,
    }
}

/// The command lines, with what is mounted for one alone.
fn lines(steps: &[Step]) -> Vec<String> {
    let line = |step: &Step| {
        let words = step.words.iter().map(|word| match word {
            Word::Plain(text) => format!(" {}", text.display()),
            Word::Node => " NODE".to_owned(),
            Word::Point => " POINT".to_owned(),
        });
        let mounted = step.mounted.map_or("", |_| "mounted ");
        format!("{mounted}{}{}", step.program, words.collect::<String>())
    };
    steps.iter().map(line).collect()
}

fn decided(content: &Content, mib: (u64, u64), mounts: &[Mount]) -> Decision {
    decide(&about(content, mib, mounts)).expect("it can be done")
}

fn refused(about: &Situation<'_>, words: &str) {
    let error = decide(about).expect_err("it cannot be done").to_string();
    assert!(error.contains(words), "{error}");
}

/// Each file system becomes smaller in front of the volume, larger behind it, by its own tool.
#[test]
fn each_has_its_tool_and_its_order() {
    const MKSWAP: &str = "mkswap -p 4096 -U 07070707-0707-0707-0707-070707070707 -L s NODE";
    let smaller = [
        ("ext3", vec!["e2fsck -f -p NODE", "resize2fs NODE 40960k"]),
        (
            "btrfs",
            vec!["mounted btrfs filesystem resize 2:41943040 POINT"],
        ),
        ("swap", vec![&*format!("{MKSWAP} 40960").leak()]),
    ];
    for (name, before) in smaller {
        let decision = decided(&content(name, 80), (80, 40), &[]);
        assert_eq!(lines(&decision.before), before);
        assert_eq!(lines(&decision.after), [""; 0], "{name}");
        // What ends within the new size stays as it is.
        let decision = decided(&content(name, 40), (80, 40), &[]);
        assert_eq!(decision.before, []);
        assert!(decision.notes.join(" ").contains("reduce is not needed"));
    }
    let larger = [
        ("ext4", vec!["e2fsck -f -p NODE"], "resize2fs NODE"),
        ("xfs", vec![], "mounted xfs_growfs -d POINT"),
        (
            "btrfs",
            vec![],
            "mounted btrfs filesystem resize 2:max POINT",
        ),
        ("swap", vec![], MKSWAP),
    ];
    for (name, before, after) in larger {
        let decision = decided(&content(name, 40), (40, 80), &[]);
        assert_eq!(lines(&decision.before), before, "{name}");
        assert_eq!(lines(&decision.after), [after], "{name}");
        // The volume has its size already, since somebody was interrupted.
        let decision = decided(&content(name, 40), (80, 80), &[]);
        assert_eq!(lines(&decision.after), [after], "{name}");
    }
}

/// What is mounted is resized there; ext is unmounted to become smaller, and comes back.
#[test]
fn mounts_are_used_or_given_back() {
    let mounts = [mount()];
    let ext = content("ext4", 80);
    let decision = decided(&ext, (80, 40), &mounts);
    let before = ["umount /m", "e2fsck -f -p NODE", "resize2fs NODE 40960k"];
    assert_eq!(lines(&decision.before), before);
    let finally = ["mount -o rw,noatime NODE /m"];
    assert_eq!(lines(&decision.finally), finally);
    let question = "Continue with ext4 file system reduce steps: unmount, fsck, resize2fs? [y/n]: ";
    assert_eq!(decision.question.as_deref(), Some(question));
    for (mode, count) in [(Mounts::Managed, 1), (Mounts::Ended, 0)] {
        let about = Situation {
            mode,
            check: Check::No,
            ..about(&ext, (80, 40), &mounts)
        };
        let decision = decide(&about).expect("it can be done");
        assert_eq!(lines(&decision.before), ["umount /m", before[2]]);
        assert_eq!((decision.question, decision.finally.len()), (None, count));
    }
    for (name, line) in [
        ("ext4", "resize2fs NODE"),
        ("xfs", "xfs_growfs -d POINT"),
        ("btrfs", "btrfs filesystem resize 2:max POINT"),
    ] {
        let decision = decided(&content(name, 40), (40, 80), &mounts);
        assert_eq!(
            (lines(&decision.after), decision.before),
            (vec![line.to_owned()], vec![])
        );
    }
    let unchanged = |content, mib, mounts| Situation {
        mode: Mounts::Unchanged,
        ..about(content, mib, mounts)
    };
    refused(&unchanged(&ext, (80, 40), &mounts), "unmount is needed");
    let xfs = content("xfs", 40);
    refused(&unchanged(&xfs, (40, 80), &[]), "to be mounted");
    decide(&unchanged(&xfs, (40, 80), &mounts)).expect("it is mounted");
    refused(
        &about(&ext, (80, 40), &[mount(), mount()]),
        "several places",
    );
}

/// What is no file system, several, encrypted, cut already, in use as swap, or XFS that would
/// become smaller is refused.
#[test]
fn what_nobody_can_do_is_refused() {
    let none = Content::default();
    refused(
        &about(&none, (80, 40), &[]),
        "No file system found on vg0/u.",
    );
    let decision = decided(&none, (40, 80), &[]);
    assert_eq!((decision.before, decision.after), (vec![], vec![]));
    let mut several = content("ext4", 80);
    several.found.extend(content("btrfs", 80).found);
    refused(&about(&several, (40, 80), &[]), "ext4, btrfs");
    let mut luks = content("crypto_LUKS", 80);
    luks.found[0].end = End::Open;
    refused(&about(&luks, (40, 80), &[]), "cryptsetup resize");
    refused(&about(&content("ext4", 80), (60, 90), &[]), "it was cut");
    refused(
        &about(&content("xfs", 80), (80, 40), &[]),
        "not supported (xfs)",
    );
    let swap = content("swap", 80);
    let on = Situation {
        is_swap_on: true,
        ..about(&swap, (80, 40), &[])
    };
    refused(&on, "swapoff it first");
    let mut other = content("btrfs", 40);
    other.btrfs = Some(Btrfs {
        device: 1,
        devices: 2,
    });
    refused(&about(&other, (40, 80), &[]), "has 2 devices");
}

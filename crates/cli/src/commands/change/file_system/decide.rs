//! What has to be done to a file system when its volume becomes larger or smaller: a pure function.
//!
//! ```text
//!              smaller                          larger
//!   ext2/3/4   not mounted: e2fsck, resize2fs   mounted or not: resize2fs (e2fsck if not)
//!   XFS        refused                          mounted: xfs_growfs
//!   btrfs      mounted: btrfs filesystem resize, both ways
//!   swap       not in use: made anew with its UUID and label, both ways
//!   LUKS       refused                          refused
//! ```
//!
//! Where it has to be mounted and is not, the tool gets a mount of its own that nobody else sees
//! and that ends with the tool. Sentences that stock (2.03.17 and later) has are stock's.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use ashlar::filesystem::{Content, End, FileSystem};
use lvm2::Bytes;
use lvm2::plan::display_size;

use crate::args::Error;

/// `--fsmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mounts {
    /// Unmounted and mounted again as needed, after a question.
    Asked,
    /// The same without a question.
    Managed,
    /// Left as they are.
    Unchanged,
    /// Unmounted, and left so.
    Ended,
}

/// Whether file systems are checked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Where their tools want that.
    Needed,
    /// No (`--nofsck`).
    No,
}

/// Where a volume is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The mount point.
    pub(super) point: PathBuf,
    /// The options that mount it so again.
    pub(super) options: String,
    /// Whether it is the whole file system, and not a part of it.
    pub(super) is_whole: bool,
}

/// What is known before anything is done.
#[derive(Debug, Clone)]
pub(super) struct Situation<'a> {
    /// The volume: `vg0/data`.
    pub(super) name: &'a str,
    /// Its size.
    pub(super) old: Bytes,
    /// The size that it gets; the same where only the file system is left to do.
    pub(super) new: Bytes,
    /// What is in it.
    pub(super) content: &'a Content,
    /// Where it is mounted.
    pub(super) mounts: &'a [Mount],
    /// Whether the kernel swaps to it.
    pub(super) is_swap_on: bool,
    /// `--fsmode`.
    pub(super) mode: Mounts,
    /// `--nofsck`.
    pub(super) check: Check,
}

/// A word of a tool's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// As it is.
    Plain(OsString),
    /// The volume's node or file.
    Node,
    /// Where it is mounted, by the mount of its own.
    Point,
}

/// A program to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Its name.
    pub(super) program: &'static str,
    /// Debian's package.
    pub(super) package: &'static str,
    /// What stands behind its name.
    pub(super) words: Vec<Word>,
    /// The exit status, beside 0, that is success.
    pub(super) success: i32,
    /// The type of the file system that is mounted for it alone.
    pub(super) mounted: Option<&'static str>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Decision {
    /// What people are told first.
    pub(super) notes: Vec<String>,
    /// What they are asked.
    pub(super) question: Option<String>,
    /// What is run before the volume gets its size.
    pub(super) before: Vec<Step>,
    /// What is run after it.
    pub(super) after: Vec<Step>,
    /// What is run at the end, whatever happened before.
    pub(super) finally: Vec<Step>,
    /// The file system, if it changes.
    pub(super) kind: Option<&'static str>,
}

/// Decides, or says why it cannot be done.
pub(super) fn decide(about: &Situation<'_>) -> Result<Decision, Error> {
    let is_smaller = about.new < about.old;
    let fs = match &about.content.found[..] {
        [] if is_smaller => {
            return Err(Error::failed(format!(
                "No file system found on {}.\nIt is not reduced: leave --resizefs out if what it \
                 holds may be cut.",
                about.name
            )));
        }
        [] => {
            let notes = vec![format!("No file system found on {}.", about.name)];
            return Ok(Decision {
                notes,
                ..Decision::default()
            });
        }
        [fs] => fs,
        several => {
            let names: Vec<&str> = several.iter().map(|fs| fs.name).collect();
            return Err(Error::failed(format!(
                "Several file systems found on {}: {}. Wipe the signatures of those that are not \
                 used (wipefs), or resize by hand.",
                about.name,
                names.join(", ")
            )));
        }
    };
    let End::At(end) = fs.end else {
        return Err(Error::failed(format!(
            "File system {} found on {}, which --resizefs does not look into: use cryptsetup \
             resize, and resize what is in it by its own tool.",
            fs.name, about.name
        )));
    };
    let mut decision = Decision::default();
    let place = about.mounts.first();
    let place = place.map(|mount| format!(" mounted at {}", mount.point.display()));
    decision.notes.push(format!(
        "File system {} found on {}{}.",
        fs.name,
        about.name,
        place.unwrap_or_default()
    ));
    if is_smaller {
        smaller(about, fs, end, &mut decision)?;
    } else {
        larger(about, fs, end, &mut decision)?;
    }
    Ok(decision)
}

fn smaller(
    about: &Situation<'_>,
    fs: &FileSystem,
    end: Bytes,
    decision: &mut Decision,
) -> Result<(), Error> {
    let relation = match end.cmp(&about.new) {
        std::cmp::Ordering::Less => "less than",
        std::cmp::Ordering::Equal => "equal to",
        std::cmp::Ordering::Greater => "larger than",
    };
    decision.notes.push(format!(
        "File system size ({}) is {relation} the requested size ({}).",
        shown(end),
        shown(about.new)
    ));
    if end <= about.new {
        let note = "File system reduce is not needed.";
        decision.notes.push(note.to_owned());
        return Ok(());
    }
    decision.kind = Some(fs.name);
    match fs.name {
        "xfs" => {
            return Err(Error::failed(format!(
                "{}\nFile system reduce is required and not supported (xfs).",
                decision.notes.join("\n")
            )));
        }
        "btrfs" => {
            let step = btrfs(about, &about.new.0.to_string())?;
            require_mountable(about, &step)?;
            decision.before.push(step);
        }
        "swap" => decision.before.push(swap(about)?),
        _ => ext_smaller(about, decision)?,
    }
    let tool = decision.before.last().map_or("", |step| step.program);
    let note = format!("File system reduce is required using {tool}.");
    decision.notes.insert(2, note);
    Ok(())
}

fn ext_smaller(about: &Situation<'_>, decision: &mut Decision) -> Result<(), Error> {
    let mut words = Vec::new();
    if unmount(about, "reduce", decision)? {
        words.push("unmount");
    }
    if about.check == Check::Needed {
        let note = "File system fsck will be run before reduce.";
        decision.notes.push(note.to_owned());
        decision.before.push(e2fsck());
        words.push("fsck");
    }
    words.push("resize2fs");
    let size = format!("{}k", about.new.0 / 1024);
    let step = e2fsprogs("resize2fs", vec![Word::Node, plain(size)]);
    decision.before.push(step);
    ask(about, "reduce", &words, decision);
    Ok(())
}

/// A mounted file system is unmounted, and mounted again at the end. Gives whether it is mounted.
fn unmount(about: &Situation<'_>, what: &str, decision: &mut Decision) -> Result<bool, Error> {
    let mount = match about.mounts {
        [] => return Ok(false),
        [mount] if mount.is_whole => mount,
        _ => {
            return Err(Error::failed(format!(
                "{} is mounted at several places: unmount it first.",
                about.name
            )));
        }
    };
    if about.mode == Mounts::Unchanged {
        return Err(Error::failed(format!(
            "File system unmount is needed for {what} of {}, and --fsmode nochange forbids it.",
            about.name
        )));
    }
    let note = format!("File system unmount is needed for {what}.");
    decision.notes.push(note);
    let point = || plain(mount.point.clone());
    decision.before.push(Step {
        program: "umount",
        package: "mount",
        words: vec![point()],
        success: 0,
        mounted: None,
    });
    if about.mode != Mounts::Ended {
        let options = plain(mount.options.clone());
        decision.finally.push(Step {
            program: "mount",
            package: "mount",
            words: vec![plain("-o"), options, Word::Node, point()],
            success: 0,
            mounted: None,
        });
    }
    Ok(true)
}

/// Whoever uses a mounted file system is asked before it goes.
fn ask(about: &Situation<'_>, what: &str, words: &[&str], decision: &mut Decision) {
    if about.mode == Mounts::Asked && !about.mounts.is_empty() {
        decision.question = Some(format!(
            "Continue with {} file system {what} steps: {}? [y/n]: ",
            decision.kind.unwrap_or_default(),
            words.join(", ")
        ));
    }
}

fn larger(
    about: &Situation<'_>,
    fs: &FileSystem,
    end: Bytes,
    decision: &mut Decision,
) -> Result<(), Error> {
    if end > about.old {
        return Err(Error::failed(format!(
            "File system {} on {} needs {} and its volume has {}: it was cut. Make the volume as \
             large first, without --resizefs, and check it.",
            fs.name,
            about.name,
            shown(end),
            shown(about.old)
        )));
    }
    decision.kind = Some(fs.name);
    let step = match fs.name {
        "xfs" => Step {
            program: "xfs_growfs",
            package: "xfsprogs",
            words: vec![plain("-d"), Word::Point],
            success: 0,
            mounted: about.mounts.is_empty().then_some("xfs"),
        },
        "btrfs" => btrfs(about, "max")?,
        "swap" => swap(about)?,
        _ => {
            let must_end = about.mode == Mounts::Ended && !about.mounts.is_empty();
            if must_end {
                unmount(about, "extend", decision)?;
            }
            if about.check == Check::Needed && (must_end || about.mounts.is_empty()) {
                decision.before.push(e2fsck());
            }
            e2fsprogs("resize2fs", vec![Word::Node])
        }
    };
    require_mountable(about, &step)?;
    decision.after.push(step);
    Ok(())
}

/// Fails where a mount of its own is forbidden.
fn require_mountable(about: &Situation<'_>, step: &Step) -> Result<(), Error> {
    if step.mounted.is_none() || about.mode != Mounts::Unchanged {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{} needs {} to be mounted, and --fsmode nochange forbids it.",
        step.program, about.name
    )))
}

fn btrfs(about: &Situation<'_>, size: &str) -> Result<Step, Error> {
    let found = about.content.btrfs.filter(|found| found.device > 0);
    let found = found
        .ok_or_else(|| Error::failed(format!("The btrfs on {} cannot be read.", about.name)))?;
    if found.devices > 1 && about.mounts.is_empty() {
        return Err(Error::failed(format!(
            "The btrfs on {} has {} devices: mount it first.",
            about.name, found.devices
        )));
    }
    let size = format!("{}:{size}", found.device);
    let words = ["filesystem".into(), "resize".into(), size];
    let mut words: Vec<Word> = words.into_iter().map(plain::<String>).collect();
    words.push(Word::Point);
    Ok(Step {
        program: "btrfs",
        package: "btrfs-progs",
        words,
        success: 0,
        mounted: about.mounts.is_empty().then_some("btrfs"),
    })
}

/// Makes a swap area anew.
fn swap(about: &Situation<'_>) -> Result<Step, Error> {
    if about.is_swap_on {
        return Err(Error::failed(format!(
            "The machine swaps to {}: swapoff it first.",
            about.name
        )));
    }
    let old = about.content.swap.as_ref().ok_or_else(|| {
        Error::failed(format!(
            "The swap area on {} was made on a machine of another byte order: use mkswap.",
            about.name
        ))
    })?;
    let mut words = vec![plain("-p"), plain(old.page.to_string())];
    if old.uuid != [0; 16] {
        words.extend([plain("-U"), plain(dashed(old.uuid))]);
    }
    if !old.label.is_empty() {
        words.extend([plain("-L"), plain(OsString::from_vec(old.label.clone()))]);
    }
    words.push(Word::Node);
    if about.new < about.old {
        words.push(plain((about.new.0 / 1024).to_string()));
    }
    Ok(Step {
        program: "mkswap",
        package: "util-linux",
        words,
        success: 0,
        mounted: None,
    })
}

pub(super) fn e2fsck() -> Step {
    let words = vec![plain("-f"), plain("-p"), Word::Node];
    // 1: it found errors, and corrected them.
    Step {
        success: 1,
        ..e2fsprogs("e2fsck", words)
    }
}

pub(super) fn e2fsprogs(program: &'static str, words: Vec<Word>) -> Step {
    Step {
        program,
        package: "e2fsprogs",
        words,
        success: 0,
        mounted: None,
    }
}

pub(super) fn plain<T: Into<OsString>>(text: T) -> Word {
    Word::Plain(text.into())
}

/// A UUID as everybody but LVM2 writes it.
fn dashed(uuid: [u8; 16]) -> String {
    let pieces = [0..4, 4..6, 6..8, 8..10, 10..16].map(|piece| {
        let bytes = uuid[piece].iter().map(|byte| format!("{byte:02x}"));
        bytes.collect::<String>()
    });
    pieces.join("-")
}

/// A size as stock shows it.
pub(super) fn shown(bytes: Bytes) -> String {
    display_size(bytes.whole_sectors())
}

#[cfg(test)]
mod tests;

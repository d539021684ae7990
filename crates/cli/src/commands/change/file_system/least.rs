//! How small a file system can get, as its own tool says; nothing is written for it.
//!
//! The tool estimates, and what it says of a file system that became smaller may be less again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ashlar::filesystem::{Content, End};
use lvm2::Bytes;

use super::decide::{Step, Word, e2fsck, e2fsprogs, plain};
use super::tools;
use crate::args::Error;
use crate::commands::run::Held;

/// Where the superblock of ext2, ext3 and ext4 has the logarithm of its KiB in a block.
pub(super) const EXT_BLOCK_AT: u64 = 1024 + 24;
/// And where the features without which it may only be read, of which this one gives out clusters
/// of blocks: resize2fs refuses such file systems.
const EXT_FEATURES_AT: u64 = 1024 + 100;
const EXT_BIGALLOC: u32 = 0x200;
/// Blocks of 64 KiB.
pub(super) const EXT_BLOCK_MAX: u32 = 6;
const EXT_BLOCK_SIZE_MAX: u64 = 1024 << EXT_BLOCK_MAX;

/// How small a volume's file system can get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands::change) enum Least {
    /// To this.
    Size(Bytes),
    /// It keeps its size, and why.
    Kept(String),
}

/// Asks for the least size of what is in the volume `name` of `size`, which nobody uses; `options`
/// are those of `attach`.
pub(in crate::commands::change) fn least(
    name: &str,
    size: Bytes,
    content: &Content,
    options: &[String],
) -> Result<Least, Error> {
    let kept = |why: &str| Ok(Least::Kept(why.to_owned()));
    let fs = match &content.found[..] {
        [] => return kept("no file system was found on it"),
        [fs] => fs,
        _ => return kept("several file systems were found on it"),
    };
    match fs.name {
        "ext2" | "ext3" | "ext4" => {}
        "xfs" => return kept("XFS cannot become smaller"),
        "swap" => return kept("swap is as large as somebody wanted it"),
        "btrfs" => return kept("btrfs is made smaller by lvreduce -r"),
        _ => return kept("what is in it is not looked into"),
    }
    // The superblock of an array or of a replicated disk, or what somebody put there.
    let whole = Bytes(size.0 / EXT_BLOCK_SIZE_MAX * EXT_BLOCK_SIZE_MAX);
    if !matches!(fs.end, End::At(end) if end >= whole) {
        return kept(
            "its file system ends before it does, and something else may lie behind that \
             (lvreduce -r makes both smaller)",
        );
    }
    let step = e2fsprogs("resize2fs", vec![plain("-P"), Word::Node]);
    // Nothing is begun that cannot be ended.
    tools::require([&e2fsck(), &step].into_iter())?;
    let options = [options, &["--readonly".to_owned()]].concat();
    let held = Held::attach(name, &options)?;
    let least = ask(&step, Path::new(&held.path));
    held.end()?;
    least
}

/// Asks resize2fs. What it refuses, such as what is to be checked first, keeps its size.
fn ask(step: &Step, node: &Path) -> Result<Least, Error> {
    let file = File::open(node)?;
    let field = |at| -> Result<u32, Error> {
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, at)?;
        Ok(u32::from_le_bytes(bytes))
    };
    if field(EXT_FEATURES_AT)? & EXT_BIGALLOC != 0 {
        let why = "resize2fs makes none smaller that has the feature bigalloc";
        return Ok(Least::Kept(why.to_owned()));
    }
    let block = Some(field(EXT_BLOCK_AT)?).filter(|log| *log <= EXT_BLOCK_MAX);
    let said = match tools::run(step, node, node, None) {
        Ok(said) => said,
        Err(error) => {
            let words = error.to_string();
            let why = words.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            return Ok(Least::Kept(why));
        }
    };
    let blocks = said.rsplit(':').next().unwrap_or_default().trim();
    let bytes = blocks.parse::<u64>().ok().zip(block);
    let bytes = bytes.and_then(|(blocks, log)| blocks.checked_mul(1024 << log));
    Ok(match bytes {
        Some(bytes) => Least::Size(Bytes(bytes)),
        None => Least::Kept(format!(
            "resize2fs does not say how small it can get: {said}"
        )),
    })
}

//! How small a file system can get, as its own tool says; nothing is written for it.
//!
//! The tool estimates, and what it says of a file system that became smaller may be less again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lvm::Bytes;
use manager::filesystem::{Content, End};

use super::decide::{Word, e2fsck, e2fsprogs, plain};
use super::tools;
use crate::args::Error;
use crate::commands::run::Held;

/// Where the superblock of ext2, ext3 and ext4 has the logarithm of its KiB in a block.
const EXT_BLOCK_AT: u64 = 1024 + 24;
/// Blocks of 64 KiB.
const EXT_BLOCK_MAX: u32 = 6;
const EXT_BLOCK_SIZE_MAX: u64 = 1024 << EXT_BLOCK_MAX;

/// How small a volume's file system can get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands::change) enum Least {
    /// To this.
    Size(Bytes),
    /// It keeps its size, and why.
    Kept(&'static str),
}

/// Asks for the least size of what is in the volume `name` of `size`, which nobody uses; `options`
/// are those of `attach`.
pub(in crate::commands::change) fn least(
    name: &str,
    size: Bytes,
    content: &Content,
    options: &[String],
) -> Result<Least, Error> {
    let fs = match &content.found[..] {
        [] => return Ok(Least::Kept("no file system was found on it")),
        [fs] => fs,
        _ => return Ok(Least::Kept("several file systems were found on it")),
    };
    match fs.name {
        "ext2" | "ext3" | "ext4" => {}
        "xfs" => return Ok(Least::Kept("XFS cannot become smaller")),
        "swap" => return Ok(Least::Kept("swap is as large as somebody wanted it")),
        "btrfs" => return Ok(Least::Kept("btrfs is made smaller by lvreduce -r")),
        _ => return Ok(Least::Kept("what is in it is not looked into")),
    }
    // The superblock of an array or of a replicated disk, or what somebody put there.
    let whole = Bytes(size.0 / EXT_BLOCK_SIZE_MAX * EXT_BLOCK_SIZE_MAX);
    if !matches!(fs.end, End::At(end) if end >= whole) {
        return Ok(Least::Kept(
            "its file system ends before it does, and something else may lie behind that \
             (lvreduce -r makes both smaller)",
        ));
    }
    let step = e2fsprogs("resize2fs", vec![plain("-P"), Word::Node]);
    // Nothing is begun that cannot be ended.
    tools::require([&e2fsck(), &step].into_iter())?;
    let options = [options, &["--readonly".to_owned()]].concat();
    let held = Held::attach(name, &options)?;
    let node = Path::new(&held.path);
    let size = tools::run(&step, node, node, None).and_then(|said| {
        let blocks = said.rsplit(':').next().unwrap_or_default().trim();
        let bytes = blocks.parse::<u64>().ok().zip(ext_block(node)?);
        let bytes = bytes.and_then(|(blocks, block)| blocks.checked_mul(block));
        bytes.map(Bytes).ok_or_else(|| {
            let what = format!("resize2fs does not say how small {name} can get: {said}");
            Error::failed(what)
        })
    });
    held.end()?;
    size.map(Least::Size)
}

/// The size of a block of ext2, ext3 or ext4.
fn ext_block(node: &Path) -> Result<Option<u64>, Error> {
    let mut bytes = [0; 4];
    File::open(node)?.read_exact_at(&mut bytes, EXT_BLOCK_AT)?;
    let log = u32::from_le_bytes(bytes);
    Ok((log <= EXT_BLOCK_MAX).then(|| 1024 << log))
}

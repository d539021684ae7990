//! What people would type to have the real program do the same.
//!
//! The programs are those of today's distributions. What a program cannot be told (which phases,
//! what a character costs) is left out: the real one does all, at its own cost.

use super::bonnie::{Bonnie, BonnieStyle, Ending};
use super::dd::{Copying, Dd};
use super::iozone::IoZone;
use super::stream::{Path, Warmth};
use crate::workload::postmark::Settings;

/// Between writing and reading, where the memory is emptied.
const EMPTY: &str = "sync; echo 3 > /proc/sys/vm/drop_caches\n";

/// A configuration that `PostMark` reads.
pub(super) fn postmark(settings: &Settings) -> String {
    let Settings {
        number,
        transactions,
        size: (low, high),
        seed,
        ..
    } = settings;
    format!(
        "set number {number}\nset transactions {transactions}\nset size {low} {high}\n\
         set seed {seed}\nrun\nquit\n"
    )
}

impl Bonnie {
    pub(super) fn command(&self) -> String {
        let mebibytes = self.file_bytes.div_ceil(1 << 20);
        match self.style {
            BonnieStyle::Bonnie => format!("bonnie -s {mebibytes}\n"),
            BonnieStyle::PlusPlus => {
                let (chunk, files) = (self.chunk, self.files.div_ceil(1024));
                format!("bonnie++ -d . -s {mebibytes}M:{chunk} -n {files}\n")
            }
        }
    }
}

impl Dd {
    pub(super) fn command(&self) -> String {
        let (block, count) = (self.block, self.bytes.div_ceil(self.block));
        let flag = |name: &str| match self.path {
            Path::Direct => format!(" {name}=direct"),
            Path::Buffered => String::new(),
        };
        let synced = match self.ending {
            Ending::Synced => " conv=fsync",
            Ending::Closed => "",
        };
        let (out, into) = (flag("oflag"), flag("iflag"));
        let write = format!("dd if=/dev/zero of=dd bs={block} count={count}{out}{synced}\n");
        if self.copying == Copying::Write {
            return write;
        }
        format!("{write}{EMPTY}dd if=dd of=/dev/null bs={block}{into}\n")
    }
}

impl IoZone {
    pub(super) fn command(&self) -> String {
        let direct = if self.path == Path::Direct { " -I" } else { "" };
        let synced = if self.ending == Ending::Synced {
            " -e"
        } else {
            ""
        };
        let cold = match self.warmth {
            Warmth::Cold => " -U MOUNTPOINT",
            Warmth::Warm => "",
        };
        let cells = self.cells().into_iter();
        let cell = |(file, record): (u64, u64)| {
            let (file, record) = (file.div_ceil(1024), record.div_ceil(1024));
            format!("iozone -i 0 -i 1 -i 2 -s {file} -r {record}{direct}{synced}{cold}\n")
        };
        cells.map(cell).collect()
    }
}

//! Writers of files, each in a folder of its own of a file system, and what they promised.

use std::fs;
use std::path::PathBuf;

use tests::{Daemon, Group, Mounted, Tool};

use super::verifier;

/// A writer's folder, and what it promised.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) folder: String,
    pub(super) journal: PathBuf,
    pub(super) seed: u64,
}

/// All writers of a test.
pub(super) struct Writers {
    pub(super) group: Group,
    seed: u64,
    pub(super) made: u64,
    /// Steps with fsync that were found.
    pub(super) kept: u64,
}

impl Writers {
    pub(super) fn new(group: Group, seed: u64) -> Self {
        Self {
            group,
            seed,
            made: 0,
            kept: 0,
        }
    }

    /// A writer in a new folder, which has begun.
    pub(super) fn begin(&mut self, mounted: &Mounted) -> (Daemon, Work) {
        self.made += 1;
        let folder = self.made.to_string();
        let work = Work {
            journal: self.group.join(format!("journal{folder}")),
            seed: self.seed + self.made,
            folder,
        };
        let folder = mounted.path().join(&work.folder);
        Tool::new("mkdir").arg(&folder).succeed();
        let writer = verifier("write").arg(&folder).arg(&work.journal);
        let writer = writer.args([&work.seed.to_string(), "1000000000"]);
        let has_begun = || fs::metadata(&work.journal).is_ok_and(|file| file.len() > 0);
        (Daemon::start(writer, has_begun), work)
    }

    /// Requires that what was promised is there.
    pub(super) fn check(&mut self, mounted: &Mounted, works: &[Work]) {
        for work in works {
            let check = verifier("check").arg(mounted.path().join(&work.folder));
            let check = check.arg(&work.journal).arg(work.seed.to_string());
            let found: u64 = check.succeed().text().trim().parse().expect("a number");
            self.kept += found;
        }
    }

    /// Mounts a volume, which replays its log, checks what it holds and leaves it clean.
    pub(super) fn check_on(&mut self, volume: &str, works: &[Work]) {
        let node = self.group.attach(volume);
        let mounted = self.group.mount(&node);
        self.check(&mounted, works);
        mounted.unmount();
        Tool::new("e2fsck").arg("-fn").arg(&node).succeed();
        self.group.detach(volume);
    }

    /// Makes room: the oldest of some works goes, and is no longer asked for on this volume.
    pub(super) fn forget(&self, volume: &str, works: &mut Vec<Work>) {
        if works.len() <= 2 {
            return;
        }
        let node = self.group.attach(volume);
        let mounted = self.group.mount(&node);
        let old = mounted.path().join(works.remove(0).folder);
        Tool::new("rm").arg("-r").arg(old).succeed();
        mounted.unmount();
        self.group.detach(volume);
    }
}

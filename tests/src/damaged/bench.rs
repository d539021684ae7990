//! The disks on which both sides work: sparse images, attached once and given their heads again for
//! each case.
//!
//! Stock sees loop devices over its images, the program sees its own; only the first MiB of each is
//! ever different. A second row of images holds the doubles and clones.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::cases::{Case, DISKS_MAX, Damage};
use super::template::{DISK, GROUP, HEAD, pv_uuid, text};
use super::verdict::{Left, left};
use crate::loops::{Access, LoopDevice};
use crate::scratch::Scratch;
use crate::stock::Stock;
use crate::tool::{Tool, ashlar};

/// The heads of a group's disks at three times.
pub(super) struct Template {
    /// One commit ago.
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    /// A renamed clone with identities of its own.
    clone: Vec<Vec<u8>>,
    before: Left,
}

pub(super) struct Bench {
    folder: Scratch,
    ours: Vec<PathBuf>,
    loops: Vec<LoopDevice>,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = Scratch::new("damaged");
        let row = |whose: &str| -> Vec<PathBuf> {
            let image = |number| folder.sparse(&format!("{whose}{number}.img"), DISK);
            (0..2 * DISKS_MAX).map(image).collect()
        };
        let (ours, theirs) = (row("ours"), row("stock"));
        let attach = |image: &PathBuf| LoopDevice::attach(image, Access::ReadWrite);
        let loops = theirs.iter().map(attach).collect();
        Self {
            folder,
            ours,
            loops,
        }
    }

    fn write(&self, disk: usize, head: &[u8]) {
        let node = self.loops[disk].path();
        for path in [node, &self.ours[disk]] {
            let file = OpenOptions::new().write(true).open(path).expect("a disk");
            file.write_all_at(head, 0).expect("it takes a head");
        }
    }

    fn heads(&self, disks: std::ops::Range<usize>) -> Vec<Vec<u8>> {
        let read = |disk: usize| {
            let file = fs::File::open(self.loops[disk].path()).expect("a disk");
            let mut head = vec![0; HEAD];
            file.read_exact_at(&mut head, 0).expect("it has a head");
            head
        };
        disks.map(read).collect()
    }

    fn stock(&self, seen: &[usize]) -> Stock {
        Stock::on(seen.iter().map(|disk| &self.loops[*disk]))
    }

    fn ours(&self, seen: &[usize]) -> Tool {
        let names = seen
            .iter()
            .map(|disk| self.ours[*disk].display().to_string());
        ashlar()
            .env("ASHLAR_DEVICES", names.collect::<Vec<_>>().join(":"))
            .env("LVM_SYSTEM_DIR", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path())
    }

    fn backup_file(&self, disks: usize) -> PathBuf {
        self.folder.join(format!("group{disks}.vg"))
    }

    /// Lets stock make the group on so many disks.
    pub(super) fn template(&self, disks: usize) -> Template {
        let file = self.backup_file(disks);
        fs::write(&file, text(disks)).expect("a backup");
        let all: Vec<usize> = (0..disks).collect();
        for disk in 0..disks {
            self.write(disk, &vec![0; HEAD]);
            let stock = self.stock(&all);
            let create = stock
                .without_driver("pvcreate")
                .args(["-ff", "-y", "--norestorefile"]);
            let create = create.arg("--uuid").arg(pv_uuid(disk));
            create.arg(self.loops[disk].path()).succeed();
        }
        let stock = self.stock(&all);
        let restore = stock
            .without_driver("vgcfgrestore")
            .args(["--force", "-y", "-f"]);
        restore.arg(&file).arg(GROUP).succeed();
        let old = self.heads(0..disks);
        stock
            .without_driver("vgchange")
            .args(["--addtag", "t", GROUP])
            .succeed();
        let new = self.heads(0..disks);
        let backup = stock.without_driver("vgcfgbackup").arg("-f").arg(&file);
        backup.arg(GROUP).succeed();
        let before = left(&fs::read_to_string(&file).expect("a backup"));
        stock
            .without_driver("vgrename")
            .args([GROUP, "vgc"])
            .succeed();
        stock
            .without_driver("pvchange")
            .args(["-u", "--all"])
            .succeed();
        let clone = self.heads(0..disks);
        Template {
            old,
            new,
            clone,
            before,
        }
    }

    /// What stock and we leave of the group.
    pub(super) fn run(&self, template: &Template, case: &Case) -> [Left; 2] {
        let mut seen = Vec::new();
        for disk in 0..case.disks {
            let is_hit = case.subset.contains(&disk);
            let head = match case.damage {
                Damage::Stale if is_hit => &template.old[disk],
                _ => &template.new[disk],
            };
            self.write(disk, head);
            if case.damage != Damage::Missing || !is_hit {
                seen.push(disk);
            }
            let second = match case.damage {
                Damage::Doubled if is_hit => &template.new[disk],
                Damage::Cloned => &template.clone[disk],
                _ => continue,
            };
            self.write(DISKS_MAX + disk, second);
            seen.push(DISKS_MAX + disk);
        }
        let stock = self.stock(&seen);
        let words = |name: &dyn Fn(usize) -> String| -> Vec<String> {
            let words = case.command.split_whitespace().map(|word| match word {
                "@backup" => self.backup_file(case.disks).display().to_string(),
                _ => match word.strip_prefix('@').map(str::parse) {
                    Some(Ok(disk)) => name(disk),
                    _ => word.to_owned(),
                },
            });
            words.collect()
        };
        let theirs = words(&|disk| self.loops[disk].path().display().to_string());
        stock.without_driver(&theirs[0]).args(&theirs[1..]).run();
        let here = words(&|disk| self.ours[disk].display().to_string());
        self.ours(&seen).args(here).run();
        let backup = |tool: Tool, name: &str| {
            let file = self.folder.join(name);
            let _ = fs::remove_file(&file);
            tool.arg("-f").arg(&file).arg(GROUP).run();
            left(&fs::read_to_string(&file).unwrap_or_default())
        };
        [
            backup(stock.without_driver("vgcfgbackup"), "stock.vg"),
            backup(self.ours(&seen).arg("vgcfgbackup"), "ours.vg"),
        ]
    }
}

impl Template {
    pub(super) fn before(&self) -> &Left {
        &self.before
    }
}

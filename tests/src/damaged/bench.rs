//! The disks on which both sides work: sparse images, attached once and given their heads again for
//! each case.
//!
//! Stock sees loop devices over its images, the program sees its own. A second row of images holds
//! the doubles and clones. Heads are written for each case; marks once for each number of disks,
//! and again where a command wrote over them.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::cases::{Case, DISKS_MAX, Damage};
use super::marks::{Marks, Written};
use super::template::{CLONE, DISK, GROUP, HEAD, pv_uuid, text};
use super::verdict::{Found, Left, filled, left};
use crate::loops::{Access, LoopDevice};
use crate::scratch::Scratch;
use crate::stock::Stock;
use crate::tool::{Tool, ashlar};

/// The heads of a group's disks at three times.
pub(super) struct Template {
    /// One commit ago.
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    /// A renamed group of physical volumes with identities of their own.
    renamed: Vec<Vec<u8>>,
    /// The same as a group of its own identity.
    clone: Vec<Vec<u8>>,
    /// The volumes of the group, and of its clone.
    before: [Left; 2],
    marks: Marks,
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
        let (text, logs) = text(disks);
        fs::write(&file, text).expect("a backup");
        let all: Vec<usize> = (0..disks).collect();
        let both_rows = logs
            .iter()
            .flat_map(|(disk, at)| [(*disk, *at), (DISKS_MAX + disk, *at)]);
        let marks = Marks::with_logs(both_rows.collect());
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
        let run = |words: &[&str]| stock.without_driver(words[0]).args(&words[1..]).succeed();
        let before = left(&fs::read_to_string(&file).expect("a backup"));
        run(&["vgrename", GROUP, CLONE]);
        run(&["pvchange", "-u", "--all"]);
        let renamed = self.heads(0..disks);
        run(&["vgchange", "-u", CLONE]);
        let clone = self.heads(0..disks);
        let second = self.folder.join("clone.vg");
        run(&["vgcfgbackup", "-f", &second.display().to_string(), CLONE]);
        let second = left(&fs::read_to_string(&second).expect("a backup"));
        for disk in (0..disks).chain(DISKS_MAX..DISKS_MAX + disks) {
            marks.write(disk, self.loops[disk].path());
            marks.write(disk, &self.ours[disk]);
        }
        Template {
            old,
            new,
            renamed,
            clone,
            before: [before, second],
            marks,
        }
    }

    /// What was there, and what stock and we leave of it.
    pub(super) fn run(&self, template: &Template, case: &Case) -> [Found; 3] {
        let seen = self.damage(template, case);
        let stock = self.stock(&seen);
        let theirs = self.words(case, |disk| self.loops[disk].path().display().to_string());
        stock.without_driver(&theirs[0]).args(&theirs[1..]).run();
        let here = self.words(case, |disk| self.ours[disk].display().to_string());
        self.ours(&seen).args(here).run();
        let (mut by_stock, mut by_us) = (Written::new(), Written::new());
        let marks = &template.marks;
        for disk in &seen {
            marks.written(*disk, self.loops[*disk].path(), &mut by_stock);
            marks.written(*disk, &self.ours[*disk], &mut by_us);
        }
        let disks = template.disks(case, &seen);
        let backup = |tool: Tool, group: &str| {
            let file = self.folder.join("left.vg");
            let _ = fs::remove_file(&file);
            tool.arg("-f").arg(&file).arg(group).run();
            left(&fs::read_to_string(&file).unwrap_or_default())
        };
        let has_clone = matches!(case.damage, Damage::Cloned | Damage::Renamed);
        let found = |written: Written, [group, clone]: [Left; 2]| {
            let holds = |id: &str, extent| held(&disks, &written, id, extent);
            Found {
                group: filled(&group, holds),
                clone: clone
                    .filter(|_| has_clone)
                    .and_then(|clone| filled(&Some(clone), holds)),
                written,
            }
        };
        let left_by = |tool: &dyn Fn() -> Tool| {
            let clone = || backup(tool(), CLONE);
            [backup(tool(), GROUP), has_clone.then(clone).flatten()]
        };
        let theirs = left_by(&|| stock.without_driver("vgcfgbackup"));
        let here = left_by(&|| self.ours(&seen).arg("vgcfgbackup"));
        [
            found(Written::new(), template.before.clone()),
            found(by_stock, theirs),
            found(by_us, here),
        ]
    }

    /// Gives the disks their heads; those that are there.
    fn damage(&self, template: &Template, case: &Case) -> Vec<usize> {
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
                Damage::Cloned if is_hit => &template.clone[disk],
                Damage::Renamed => &template.renamed[disk],
                _ => continue,
            };
            self.write(DISKS_MAX + disk, second);
            seen.push(DISKS_MAX + disk);
        }
        seen
    }

    /// The words of a case's command, in which disks have the names that `name` gives them.
    fn words(&self, case: &Case, name: impl Fn(usize) -> String) -> Vec<String> {
        let words = case.command.split_whitespace().map(|word| match word {
            "@backup" => self.backup_file(case.disks).display().to_string(),
            _ => match word.strip_prefix('@').map(str::parse) {
                Some(Ok(disk)) => name(disk),
                _ => word.to_owned(),
            },
        });
        words.collect()
    }
}

impl Template {
    /// The physical volumes, by their identities, and the disks that they are on.
    fn disks(&self, case: &Case, seen: &[usize]) -> Vec<(String, usize)> {
        let identity = |slot: &usize| {
            let disk = slot % DISKS_MAX;
            match case.damage {
                Damage::Cloned | Damage::Renamed if *slot >= DISKS_MAX => {
                    identity(&self.clone[disk])
                }
                _ => pv_uuid(disk),
            }
        };
        seen.iter().map(|slot| (identity(slot), *slot)).collect()
    }
}

/// What an extent of a physical volume holds on each of its disks.
fn held(disks: &[(String, usize)], written: &Written, id: &str, extent: u64) -> String {
    let on = disks.iter().filter(|(known, _)| known == id);
    let held = on.map(|(_, disk)| match written.get(&(*disk, extent)) {
        Some(what) => what.clone(),
        None => Marks::name(*disk, extent),
    });
    held.collect::<Vec<_>>().join(" and ")
}

/// The identity in a disk's label, which begins at its second sector.
fn identity(head: &[u8]) -> String {
    let label = &head[512..];
    let text = String::from_utf8_lossy(&label[32..64]).into_owned();
    let cuts = [0, 6, 10, 14, 18, 22, 26, 32];
    let parts = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
    parts.collect::<Vec<_>>().join("-")
}

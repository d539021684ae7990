//! The disks: one row of loop devices, on which stock and the program work in turn, each from the
//! same state.
//!
//! Images lie in memory. Between two runs their pages are put back, which costs what was changed.
//! Both sides have one configuration, one folder for files and the same names of devices, so that
//! what they print can be equal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::meta::{self, Fields};
use super::neutral;
use super::pages::Pages;
use super::states::{Recipe, Step};
use super::values::Names;
use crate::damaged::template_of;
use crate::loops::{Access, LoopDevice};
use crate::scratch::Scratch;
use crate::stock::Stock;
use crate::tool::{Tool, ashlar_path};

pub(super) const DISKS: usize = 6;
/// The size of a disk: that of `damaged`'s.
const SIZE: u64 = 48 << 20;
/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Who runs a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Stock,
    Ours,
}

pub(super) struct Bench {
    folder: Scratch,
    images: Vec<PathBuf>,
    loops: Vec<LoopDevice>,
}

/// Disks from which lines start.
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) names: Names,
    /// Stock, seeing the disks that are there.
    stock: Stock,
    disks: Vec<Pages>,
    /// Identities that are there.
    known: BTreeSet<String>,
    backup: Vec<u8>,
}

/// What a line did.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// The exit code; none where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) is_hung: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// What is on the disks then, and in files.
    pub(super) fields: Fields,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = Scratch::within(Path::new("/dev/shm"), "judge");
        let image = |number| folder.sparse(&format!("disk{number}.img"), SIZE);
        let images: Vec<PathBuf> = (0..DISKS).map(image).collect();
        let attach = |image: &PathBuf| LoopDevice::attach(image, Access::ReadWrite);
        let loops = images.iter().map(attach).collect();
        let ours = folder.join("ours");
        fs::create_dir(&ours).expect("a folder");
        std::os::unix::fs::symlink(ashlar_path(), ours.join("lvm")).expect("a link");
        Self {
            folder,
            images,
            loops,
        }
    }

    /// Lets stock make a state.
    pub(super) fn state(&self, recipe: &Recipe) -> State {
        let mut seen: BTreeSet<usize> = (0..DISKS).collect();
        self.put(&vec![Pages::default(); DISKS]);
        for step in &recipe.steps {
            let all = self.stock(&(0..DISKS).collect());
            if let Step::Hide(disk) = step {
                seen.remove(disk);
            }
            self.make(step, &all, &mut seen);
        }
        let stock = self.stock(&seen);
        let disks = self.pages();
        let mut names = Names {
            disks: seen.iter().map(|disk| self.node(*disk)).collect(),
            folder: self.folder.join("files").display().to_string(),
            ..Names::default()
        };
        meta::names(&disks, SIZE, &mut names);
        let known = names.ids.iter().cloned().collect();
        self.clear_files(&[]);
        let backup = self.folder.join("files/group.vg");
        if let Some(group) = names.groups.first() {
            let tool = stock.without_driver("vgcfgbackup").arg("-f").arg(&backup);
            tool.arg(group).run();
        }
        let backup = fs::read(backup).unwrap_or_default();
        State {
            name: recipe.name,
            names,
            stock,
            disks,
            known,
            backup,
        }
    }

    fn make(&self, step: &Step, stock: &Stock, seen: &mut BTreeSet<usize>) {
        match step {
            Step::Run { is_stock, words } => {
                let words: Vec<String> = words.iter().map(|word| self.word(word)).collect();
                let tool = if *is_stock {
                    stock.without_driver(&words[0])
                } else {
                    Tool::new(&words[0])
                };
                tool.args(&words[1..]).succeed();
            }
            Step::Hide(disk) => drop(seen.remove(disk)),
            Step::Copy { from, to } => self.change(|disks| disks[*to] = disks[*from].clone()),
            Step::Put {
                disk,
                offset,
                bytes,
            } => self.change(|disks| disks[*disk].put(*offset, bytes)),
            Step::Group { disks, from, to } => self.group(stock, *disks, from, to),
            Step::Edit { disk, from, to } => self.change(|disks| edit(disks, *disk, from, to)),
            Step::Spoil(disk) => self.change(|disks| {
                for text in meta::texts(disks, SIZE) {
                    if text.disk() == *disk {
                        disks[*disk].put(text.start() + 40, b"\x01");
                    }
                }
            }),
        }
    }

    fn group(&self, stock: &Stock, disks: usize, from: &str, to: &str) {
        let text = template_of(disks);
        assert!(text.contains(from), "{from}: not in the text");
        let file = self.folder.join("template.vg");
        fs::write(&file, text.replace(from, to)).expect("a backup");
        for disk in 0..disks {
            let create = stock
                .without_driver("pvcreate")
                .args(["-ff", "-y", "--norestorefile"]);
            let create = create.arg("--uuid").arg(crate::damaged::identity_of(disk));
            create.arg(self.node(disk)).succeed();
        }
        let restore = stock
            .without_driver("vgcfgrestore")
            .args(["--force", "-y", "-f"]);
        restore.arg(file).arg("vg").succeed();
    }

    fn node(&self, disk: usize) -> String {
        self.loops[disk].path().display().to_string()
    }

    /// A word of a line, where `@2` is the node of the third disk.
    pub(super) fn word(&self, word: &str) -> String {
        let is_digit = |c: char| c.is_ascii_digit();
        let Some(rest) = word.strip_prefix('@') else {
            return word.to_owned();
        };
        let ranges = rest.trim_start_matches(is_digit);
        match rest[..rest.len() - ranges.len()].parse() {
            Ok(disk) => self.node(disk) + ranges,
            Err(_) => word.to_owned(),
        }
    }

    fn stock(&self, seen: &BTreeSet<usize>) -> Stock {
        Stock::on(seen.iter().map(|disk| &self.loops[*disk]))
    }

    fn pages(&self) -> Vec<Pages> {
        self.images.iter().map(|image| Pages::read(image)).collect()
    }

    fn put(&self, disks: &[Pages]) {
        for (pages, image) in disks.iter().zip(&self.images) {
            pages.restore(image);
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Pages>)) {
        let mut disks = self.pages();
        change(&mut disks);
        self.put(&disks);
    }

    /// Gives lines the files that they may name.
    fn clear_files(&self, backup: &[u8]) {
        let files = self.folder.join("files");
        // The first time there is none.
        let _ = fs::remove_dir_all(&files);
        fs::create_dir(&files).expect("a folder");
        fs::write(files.join("group.vg"), backup).expect("a file");
        fs::write(files.join("empty"), b"").expect("a file");
    }

    /// Runs a line on a state, on one side.
    pub(super) fn run(&self, state: &State, side: Side, line: &[String], input: &str) -> Outcome {
        self.put(&state.disks);
        self.clear_files(&state.backup);
        let system = state.stock.system_dir();
        for folder in ["backup", "archive", "cache"] {
            // Most lines leave none.
            let _ = fs::remove_dir_all(system.join(folder));
        }
        let program = match side {
            Side::Stock => PathBuf::from("lvm"),
            Side::Ours => self.folder.join("ours/lvm"),
        };
        let seen = state.names.disks.join(":");
        let tool = Tool::new(program)
            .arg(&line[0])
            .args(["--driverloaded", "n"])
            .args(&line[1..])
            .env("LVM_SYSTEM_DIR", &system)
            .env("LVM_SUPPRESS_FD_WARNINGS", "1")
            .env("ASHLAR_RUNTIME_DIR", self.folder.join("run"))
            .env("ASHLAR_DEVICES", seen)
            .env("XDG_STATE_HOME", self.folder.join("home"))
            .within(self.folder.path())
            .input(input)
            .limit(LIMIT);
        let (is_hung, finished) = match tool.try_run() {
            Ok(finished) => (false, finished),
            Err(finished) => (true, finished),
        };
        let disks = self.pages();
        let mut fields = meta::fields(&disks, SIZE, &state.known);
        for folder in [
            self.folder.join("files"),
            system.join("backup"),
            system.join("archive"),
        ] {
            for (path, text) in files(&folder, &state.known) {
                meta::file_fields(&path, &text, &state.known, &mut fields);
                fields.insert(path, text);
            }
        }
        let text = |text: String| neutral::text(&text, &state.known);
        Outcome {
            code: finished.code,
            is_hung,
            stdout: text(finished.text()),
            stderr: text(finished.complaints()),
            fields,
        }
    }
}

/// Changes texts; what their headers say follows.
fn edit(disks: &mut [Pages], disk: Option<usize>, from: &str, to: &str) {
    let mut is_done = false;
    for text in meta::texts(disks, SIZE) {
        let is_meant = disk.is_none_or(|disk| disk == text.disk());
        let old = String::from_utf8_lossy(&text.bytes).into_owned();
        let new = old.replace(from, to);
        if is_meant && new != old {
            text.replace(disks, new.as_bytes());
            is_done = true;
        }
    }
    assert!(is_done, "{from}: in no text");
}

/// The names of files in a folder and their lines, without comments and what is made anew.
fn files(folder: &Path, known: &BTreeSet<String>) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let text =
            String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()).into_owned();
        let kept = text.lines().filter(|line| {
            let is_made = ["#", "creation_", "description"];
            !is_made
                .iter()
                .any(|made| line.trim_start().starts_with(made))
        });
        let text = kept.collect::<Vec<_>>().join("\n");
        let name = entry.file_name().to_string_lossy().into_owned();
        (
            format!("file/{}", archived(&name)),
            neutral::text(&text, known),
        )
    };
    entries.map(read).collect()
}

/// The name of a file; of an archived text, which ends in a number at random, without that.
fn archived(name: &str) -> &str {
    let (stem, number) = name.rsplit_once('-').unwrap_or((name, ""));
    let number = number.strip_suffix(".vg").unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { stem } else { name }
}

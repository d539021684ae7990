//! What scripts written for LVM2 once stopped at: each cause by a short script, in `causes.txt`.

use std::fs;
use std::path::{Path, PathBuf};

use tests::{Finished, Scratch, ashlar};

const CAUSES: &str = include_str!("causes.txt");
const SIZE: u64 = 32 << 20;
const DISKS: usize = 3;

/// Disks on which a script runs.
struct Bench {
    scratch: Scratch,
}

impl Bench {
    fn new() -> Self {
        let scratch = Scratch::new("causes");
        for folder in ["disks", "away"] {
            fs::create_dir(scratch.join(folder)).expect("a folder");
        }
        let bench = Self { scratch };
        for number in 1..=DISKS {
            Self::make(&bench.disk(&format!("d{number}")));
        }
        bench
    }

    fn disk(&self, name: &str) -> PathBuf {
        self.scratch.join("disks").join(name)
    }

    fn make(path: &Path) {
        let file = fs::File::create(path).and_then(|file| file.set_len(SIZE));
        file.expect("a disk");
    }

    /// What a word of a script stands for.
    fn word(&self, word: &str) -> String {
        let is_disk = |name: &str| name.len() == 2 && name.starts_with('d');
        if let Some((head, disk)) = word.rsplit_once('=').filter(|(_, name)| is_disk(name)) {
            return format!("{head}={}", self.disk(disk).display());
        }
        let (name, rest) = word.split_at(word.find([':', '/']).unwrap_or(word.len()));
        match name {
            "DEV" => format!("{}{rest}", self.scratch.join("dev").display()),
            "backup" => self.scratch.join("backup").display().to_string(),
            name if is_disk(name) => format!("{}{rest}", self.disk(name).display()),
            _ => word.to_owned(),
        }
    }

    fn run(&self, words: &str) -> Finished {
        let words = words.split(' ').map(|word| self.word(word));
        let tool = ashlar()
            .env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("DM_DEV_DIR", self.scratch.join("dev"))
            .env("ASHLAR_DEVICES", self.scratch.join("disks"));
        tool.args(words).run()
    }

    /// Changes a disk behind the program's back.
    fn change(&self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        let away = |name: &str| self.scratch.join("away").join(name);
        let done = match words[..] {
            ["lose", name] => fs::rename(self.disk(name), away(name)),
            ["back", name] => fs::rename(away(name), self.disk(name)),
            ["copy", from, to] => fs::copy(self.disk(from), self.disk(to)).map(drop),
            ["zero", name] => {
                Self::make(&self.disk(name));
                Ok(())
            }
            ["cut", name] => {
                let disk = fs::File::options().write(true).open(self.disk(name));
                disk.and_then(|disk| disk.set_len(SIZE / 2))
            }
            _ => panic!("{words:?} is no line of a script"),
        };
        done.expect("a disk is changed");
    }
}

/// Runs a script; what is wrong with it.
fn fails(script: &str) -> Option<String> {
    let bench = Bench::new();
    let mut said = String::new();
    let mut at = "";
    for line in script.lines().filter(|line| !line.is_empty()) {
        if line.contains("$ ") {
            at = line;
        }
        let wrong = |why: String| Some(format!("{at}\n  {line}\n  {why}\n"));
        if let Some(text) = line.strip_prefix("> ") {
            if !said.contains(text) {
                return wrong(format!("is not in: {said}"));
            }
        } else if let Some(text) = line.strip_prefix("! ") {
            if said.contains(text) {
                return wrong(format!("is in: {said}"));
            }
        } else if let Some((code, words)) = line.split_once("$ ") {
            let wanted = code.parse().unwrap_or(0);
            let done = bench.run(words);
            said = done.text() + &done.complaints();
            if done.code != Some(wanted) {
                return wrong(format!("ended with {:?}: {said}", done.code));
            }
        } else {
            bench.change(line);
        }
    }
    None
}

#[test]
fn each_cause_is_gone() {
    let scripts: Vec<&str> = CAUSES.split("\n= ").skip(1).collect();
    assert!(scripts.len() > 25, "each is read");
    let failed = scripts.iter().filter_map(|script| {
        let (name, lines) = script.split_once('\n').expect("it has lines");
        fails(lines).map(|why| format!("== {name}\n{why}"))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

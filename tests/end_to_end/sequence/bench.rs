//! Six disks that both work on, and the judge.

use std::path::PathBuf;

use tests::{Disks, Finished, Scratch, Tool};

use super::prediction::Prediction;
use super::state::{LV_FIELDS, PV_FIELDS, Row, SEGMENT_FIELDS, State, VG_FIELDS};

const DISKS: u64 = 6;
const DISK: u64 = 40 << 20;
const SEPARATOR: char = '~';

/// Whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// Ours.
    Ashlar,
    /// Stock's.
    Stock,
}

/// The disks.
pub(super) struct Bench {
    disks: Disks,
}

/// The disks as they were.
pub(super) struct Copy {
    /// Goes away with the copy.
    _scratch: Scratch,
    pub(super) images: Vec<PathBuf>,
}

/// A command that ended.
pub(super) struct Ran {
    finished: Finished,
    /// Of ours.
    prediction: Option<Prediction>,
}

impl Bench {
    pub(super) fn new() -> Self {
        // Different sizes, so that the choice of extents has something to choose.
        let sizes = (0..DISKS).map(|disk| DISK + (disk << 21));
        let disks = Disks::new("sequence", sizes);
        Self { disks }
    }

    /// A file beside the disks.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.disks.join(name)
    }

    /// Our program, on these disks only, with stock's locks.
    pub(super) fn ashlar(&self) -> Tool {
        self.disks.ashlar()
    }

    fn stock(&self, name: &str) -> Tool {
        self.disks.stock().without_driver(name)
    }

    /// Runs a command, which may fail, but not crash.
    pub(super) fn run(&self, author: Author, words: &[String]) -> Ran {
        let plan = || Prediction::read(self.ashlar().arg("plan").args(words).run());
        let prediction = (author == Author::Ashlar).then(plan);
        let tool = match author {
            Author::Ashlar => self.ashlar().args(words),
            Author::Stock => {
                let mut tool = self.stock(&words[0]);
                if words[0] == "lvcreate" {
                    tool = tool.args(["-an", "-Zn", "-Wn"]);
                }
                tool.args(&words[1..])
            }
        };
        let finished = tool.run();
        let code = finished.code;
        assert!(matches!(code, Some(0 | 3 | 5)), "{finished}");
        Ran {
            finished,
            prediction,
        }
    }

    /// Both find the disks in order, and say the same about them.
    pub(super) fn judged(&self) -> State {
        let vgck = self.stock("vgck").succeed();
        assert_eq!(vgck.text().trim(), "", "{vgck}");
        let mut pvs = self.report("pvs", PV_FIELDS);
        for pv in &pvs {
            self.stock("pvck").arg(&pv["pv_name"]).succeed();
        }
        let nodes = self.disks.nodes();
        let devices: Vec<String> = nodes
            .iter()
            .map(|node| node.display().to_string())
            .collect();
        // The same choices, whatever the devices are called.
        pvs.sort_by_key(|pv| devices.iter().position(|device| *device == pv["pv_name"]));
        State {
            devices,
            pvs,
            vgs: self.report("vgs", VG_FIELDS),
            lvs: self.report("lvs -a", LV_FIELDS),
            segments: self.report("lvs -a --segments", SEGMENT_FIELDS),
        }
    }

    fn report(&self, command: &str, fields: &'static str) -> Vec<Row> {
        let mut words = command.split(' ');
        let name = words.next().expect("a command");
        let options = ["--noheadings", "--units", "s", "--nosuffix", "--separator"];
        let ask = |tool: Tool| {
            let tool = tool.args(words.clone()).args(options);
            let tool = tool.arg(SEPARATOR.to_string()).args(["-o", fields]);
            tool.succeed()
        };
        let ours = ask(self.ashlar().arg(name));
        let theirs = ask(self.stock(name));
        let said = ours.complaints();
        assert!(!said.contains("WARNING"), "{ours}");
        let (ours, theirs) = (ours.text(), theirs.text());
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            assert_eq!(ours, theirs, "{command} -o {fields}");
        }
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{command}");
        let row = |line: &str| -> Row {
            let values = line.trim().split(SEPARATOR).map(str::to_owned);
            fields.split(',').zip(values).collect()
        };
        ours.lines().map(row).collect()
    }

    /// Copies the disks, without their holes.
    pub(super) fn copy(&self) -> Copy {
        let scratch = Scratch::new("sequence-copy");
        let copied = |image: &PathBuf| {
            let copy = scratch.join(image.file_name().expect("a name"));
            Tool::new("cp")
                .arg("--sparse=always")
                .args([image, &copy])
                .succeed();
            copy
        };
        Copy {
            images: self.disks.images().iter().map(copied).collect(),
            _scratch: scratch,
        }
    }
}

impl Ran {
    /// Whether it did what it was asked for.
    pub(super) fn succeeded(&self) -> bool {
        self.finished.code == Some(0)
    }

    /// In a word for people.
    pub(super) fn outcome(&self) -> String {
        if self.succeeded() {
            return String::new();
        }
        let said = self.finished.complaints();
        format!(
            "refused: {}",
            said.trim().lines().last().unwrap_or_default()
        )
    }

    /// It did what was predicted, and nothing where it was refused.
    pub(super) fn check(&self, before: &State, after: &State) {
        let Some(prediction) = &self.prediction else {
            return;
        };
        prediction.check(self.finished.code, before, after);
        if !self.succeeded() {
            assert_eq!(before, after, "{}", self.finished);
        }
    }
}

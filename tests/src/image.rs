//! `disk.img`, and commands that see nothing else of the machine.
//!
//! The folder around it has their locks, archives and runtime files, so that tests do not meet.

use std::fs;
use std::path::PathBuf;

use crate::killed::{killing, was_killed};
use crate::scratch::Scratch;
use crate::tool::{Tool, ashlar};

/// An image in a folder of its own.
#[derive(Debug)]
pub struct DiskImage {
    scratch: Scratch,
}

impl DiskImage {
    /// An image of `size` bytes without anything in it.
    pub fn new(name: &str, size: u64) -> Self {
        let scratch = Scratch::new(name);
        scratch.sparse("disk.img", size);
        Self { scratch }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.join("disk.img")
    }

    /// A path in the folder around it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Makes another file of `size` bytes beside it that takes no space.
    pub fn sparse(&self, name: &str, size: u64) -> PathBuf {
        self.scratch.sparse(name, size)
    }

    /// Its size, in bytes.
    pub fn size(&self) -> u64 {
        fs::metadata(self.path()).expect("our own image").len()
    }

    /// All that it holds.
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).expect("our own image")
    }

    /// The variables with which the program sees the image alone.
    pub fn environment(&self) -> [(&'static str, PathBuf); 5] {
        [
            ("ASHLAR_DEVICES", self.path()),
            ("ASHLAR_RUNTIME_DIR", self.join("run")),
            ("LVM_LOCKING_DIR", self.join("locks")),
            ("LVM_SYSTEM_DIR", self.join("lvm")),
            ("ASHLAR_IO", "threads".into()),
        ]
    }

    /// A tool that may run the program, which then sees the image alone.
    pub fn on_image(&self, tool: Tool) -> Tool {
        let variables = self.environment().into_iter();
        variables.fold(tool, |tool, (name, value)| tool.env(name, value))
    }

    /// The program, with the words of a line.
    pub fn ashlar(&self, line: &str) -> Tool {
        self.on_image(ashlar()).args(line.split_whitespace())
    }

    /// `image minimise`, without a question.
    pub fn minimise(&self) -> Tool {
        self.ashlar("image minimise -y").arg(self.path())
    }

    /// Makes the file longer, and nothing in it.
    pub fn grow(&self, size: &str) {
        let grow = Tool::new("truncate").args(["-s", size]);
        grow.arg(self.path()).succeed();
    }

    /// Whether `image minimise` was killed as it made one of these system calls for this time.
    ///
    /// # Panics
    /// When it ended in another way without success.
    pub fn killed(&self, calls: &str, call: usize) -> bool {
        let tool = self.on_image(killing(calls, call, &self.join("calls")));
        let minimise = tool.args(["image", "minimise", "-y"]).arg(self.path());
        was_killed(&minimise.run())
    }
}

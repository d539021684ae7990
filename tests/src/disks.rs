//! Blank disks that the program and stock LVM2 both work on, in turn or at once.
//!
//! They stay attached as loop devices, which both open; stock's configuration folder serves both,
//! so they take the same locks. The program has a runtime folder of its own.

use std::path::{Path, PathBuf};

use crate::loops::{Access, LoopDevice};
use crate::scratch::Scratch;
use crate::stock::Stock;
use crate::tool::{Tool, ashlar};

/// The disks.
#[derive(Debug)]
pub struct Disks {
    scratch: Scratch,
    images: Vec<PathBuf>,
    loops: Vec<LoopDevice>,
    stock: Stock,
}

impl Disks {
    /// A disk for each size, in bytes.
    pub fn new(name: &str, sizes: impl IntoIterator<Item = u64>) -> Self {
        let scratch = Scratch::new(name);
        let images: Vec<PathBuf> = sizes
            .into_iter()
            .enumerate()
            .map(|(number, size)| scratch.sparse(&format!("disk{number}.img"), size))
            .collect();
        let attach = |image: &PathBuf| LoopDevice::attach(image, Access::ReadWrite);
        let loops: Vec<LoopDevice> = images.iter().map(attach).collect();
        let stock = Stock::on(&loops);
        Self {
            scratch,
            images,
            loops,
            stock,
        }
    }

    /// What the loop devices lie on.
    pub fn images(&self) -> &[PathBuf] {
        &self.images
    }

    /// The loop devices' nodes.
    pub fn nodes(&self) -> Vec<&Path> {
        self.loops.iter().map(LoopDevice::path).collect()
    }

    /// Stock LVM2 on them.
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    /// A path beside them.
    pub fn join(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Lets a tool that runs the program see them only, with stock's locks.
    pub fn seen_by(&self, tool: Tool) -> Tool {
        let nodes = self.nodes();
        let nodes = nodes.iter().map(|node| node.display().to_string());
        tool.env("LVM_SYSTEM_DIR", self.stock.system_dir())
            .env("ASHLAR_RUNTIME_DIR", self.join("run"))
            .env("ASHLAR_DEVICES", nodes.collect::<Vec<_>>().join(":"))
    }

    /// The program, seeing them only.
    pub fn ashlar(&self) -> Tool {
        self.seen_by(ashlar())
    }
}

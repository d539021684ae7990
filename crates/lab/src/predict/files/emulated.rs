//! The same question to the model of a file system, to hold beside its prediction.

use crate::disk::drive::Model;
use crate::error::Result;
use crate::filesystem::postmark::{self, Outcome};
use crate::filesystem::{Elevator, FileSystem, Options};
use crate::layout::Layout;
use crate::stack;
use crate::workload::postmark::Settings;

/// Runs `settings` on a new file system on `layout`, behind a queue that sorts in front of each
/// drive; `seed` decides phases and shuffled orders. Fails where the volume cannot hold it.
pub fn emulate(
    layout: &Layout,
    settings: &Settings,
    options: &Options,
    seed: u64,
) -> Result<Outcome> {
    let sort = |disk| -> Box<dyn Model> { Box::new(Elevator::new(disk, 1)) };
    let volume = stack::build_behind(layout, seed, sort)?;
    let mut system = FileSystem::new(volume, options.clone())?;
    postmark::run(&mut system, settings)
}

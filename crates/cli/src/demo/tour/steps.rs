//! The order of the tour.

use super::world::World;
use super::{build, chart, cut, fill, grow, judge, loss};
use crate::args::Error;
use crate::demo::story::Story;

/// Goes through all of it.
pub(in crate::demo) fn steps(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    story.step("Build a group of our own on six empty disks")?;
    build::build(story, world)?;
    story.step("Write the volumes, and read them back")?;
    fill::fill(story, world)?;
    story.step("Serve a volume over NBD, and extend it while it is written")?;
    grow::grow(story, world)?;
    story.step("Lose a disk of the mirror while it is written")?;
    loss::lose(story, world)?;
    story.step("Cut the power in the middle of commits")?;
    cut::cut(story, world)?;
    story.step("Compare one disk, linear and striped")?;
    chart::chart(story, world)?;
    story.step("Let stock LVM2 judge the disks")?;
    judge::judge(story, world)
}

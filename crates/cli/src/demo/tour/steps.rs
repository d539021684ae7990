//! The order of the tour.

use super::page::Seen;
use super::world::World;
use super::{
    back, build, chart, cost, cut, dies, emptied, fill, grow, judge, loss, mounted, stolen,
};
use crate::args::Error;
use crate::demo::story::Story;

/// Goes through all of it.
pub(in crate::demo) fn steps(story: &mut Story<'_>, world: &World<'_>) -> Result<Seen, Error> {
    story.step("Build a group of our own on six empty disks")?;
    build::build(story, world)?;
    story.step("Write the volumes, and read them back")?;
    fill::fill(story, world)?;
    story.step("Serve a volume over NBD, and extend it while it is written")?;
    grow::grow(story, world)?;
    story.step("Attach a volume, mount it, and extend it while files are written")?;
    mounted::mounted(story, world)?;
    story.step("Take a snapshot, write, and take it all back")?;
    back::back(story, world)?;
    story.step("Empty a disk while a volume on it is written")?;
    emptied::empty(story, world)?;
    story.step("Lose a disk of the mirror while it is written")?;
    loss::lose(story, world)?;
    story.step("Let a disk of a RAID 5 die under load, and put another in its place")?;
    dies::die(story, world)?;
    story.step("Let a computer be stolen, and go on with what was elsewhere")?;
    stolen::steal(story, world)?;
    story.step("Cut the power in the middle of commits")?;
    cut::cut(story, world)?;
    story.step("Compare one disk, linear and striped")?;
    let bars = chart::chart(story, world)?;
    story.step("Ask the lab what layers cost")?;
    let answers = cost::ask(story, world)?;
    story.step("Let stock LVM2 judge the disks")?;
    judge::judge(story, world)?;
    build::draw(story, world)?;
    let picture = build::picture(world)?;
    Ok(Seen {
        picture,
        bars,
        answers,
    })
}

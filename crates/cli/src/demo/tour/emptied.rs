//! A disk is emptied while a volume that lies on it is written.

use super::load::Load;
use super::served::Served;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::story::Story;

const NAME: &str = "fast";
/// The disks, from 0: which is emptied, and which takes what it holds.
const FROM: usize = 0;
const TO: usize = 5;

/// Serves, writes and moves.
pub(super) fn empty(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let volume = format!("{GROUP}/{NAME}");
    let (address, _) = Served::address(world, NAME);
    story.command(&format!("ashlar serve {volume} --nbd {address} &"))?;
    let served = Served::start(world, &[], NAME)?;
    let load = Load::start(served.uri())?;
    let blocks = world.choose(500, 50);
    load.wait(blocks, world.interrupt)?;
    story.say("A client writes, and goes on while another process types:")?;
    let (from, to) = (World::disk(FROM), World::disk(TO));
    world.show(story, &["pvmove", &from, &to])?;
    load.wait(blocks, world.interrupt)?;
    let written = load.end()?;
    served.end()?;
    let pvs = ["pvs", "-o", "pv_name,pv_size,pv_used,pv_free", &from, &to];
    world.show(story, &pvs)?;
    // Nothing is read of the disk that was emptied.
    let left: Vec<String> = (World::disk_names().into_iter())
        .filter(|name| *name != from)
        .collect();
    written.compare(&*world.open(&left, NAME)?, &volume)?;
    story.good(&format!(
        "{} writes answered before, during and after; the slowest took {:.0} ms; without {from} \
         all of\nthem are there",
        written.count,
        written.slowest.as_secs_f64() * 1000.0
    ))
}

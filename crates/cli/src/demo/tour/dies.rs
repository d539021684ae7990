//! A disk of a RAID 5 dies while the volume is written; another one takes its place.
//!
//! It dies as that of the mirror does (`loss.rs`): the server behind which it is ends. What is
//! written meanwhile is made up by parity, and the new image is filled from that.

use std::time::Duration;

use super::load::Load;
use super::loss::{behind_server, serve_beside};
use super::served::Served;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::story::Story;

const NAME: &str = "wall";
/// The disks of its images, from 0; the one that dies; and the one that takes its place.
const IMAGES: std::ops::Range<usize> = 0..4;
const DIES: usize = 1;
const SPARE: usize = 5;

/// Makes the volume, serves it, writes, lets the disk die, and repairs it.
pub(super) fn die(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let volume = format!("{GROUP}/{NAME}");
    let (dead, spare) = (World::disk(DIES), World::disk(SPARE));
    let images: Vec<String> = IMAGES.map(World::disk).collect();
    let size = world.choose("24m", "12m");
    let mut words = vec![
        "lvcreate", "--type", "raid5", "-i", "3", "-L", size, "-n", NAME, GROUP,
    ];
    words.extend(images.iter().map(String::as_str));
    world.show(story, &words)?;
    // What parity was never made for would be lost with the disk.
    world.show(story, &["sync", &volume])?;
    let all = World::disk_names().into_iter();
    let left: Vec<String> = all.filter(|name| *name != dead).collect();
    let (disk, uri) = behind_server(world, &dead)?;
    let (address, _) = Served::address(world, NAME);
    story.say(&format!("{dead} is behind an NBD server again, {uri}"))?;
    story.command(&format!("ashlar serve {volume} --nbd {address} &"))?;
    let served = serve_beside(world, (&left, &uri), NAME)?;
    let load = Load::start(served.uri())?;
    let blocks = world.choose(300, 50);
    load.wait(blocks, world.interrupt)?;
    disk.stop(Duration::ZERO);
    drop(disk);
    story.say(&format!("It ends: {dead} is dead, and the writer goes on."))?;
    load.wait(blocks, world.interrupt)?;
    let fields = "lv_name,lv_attr,copy_percent,lv_health_status";
    world.show(story, &["lvs", "-o", fields, &volume])?;
    let written = load.end()?;
    served.end()?;
    written.compare(&*world.open(&left, NAME)?, &volume)?;
    world.show(
        story,
        &["lvconvert", "-y", "--replace", &dead, &volume, &spare],
    )?;
    world.show(story, &["sync", &volume])?;
    written.compare(&*world.open(&left, NAME)?, &volume)?;
    story.good(&format!(
        "{} writes answered while {dead} was there and after it died; the slowest waited {:.1} s; \
         {spare} holds\nnow what it held, and all of them are there",
        written.count,
        written.slowest.as_secs_f64()
    ))
}

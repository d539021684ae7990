//! A computer is stolen, and the leg of its mirror that was elsewhere has all that was on it.
//!
//! The mirror is an array of md's, with one leg in the computer and one behind an NBD server. The
//! files of this step are in a folder of their own: the rest of the tour knows nothing of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fill::write_noise;
use super::loss::behind_server;
use super::world::{World, typed};
use crate::args::Error;
use crate::demo::story::Story;
use crate::demo::volumes::hash_file;

const GROUP: &str = "home";
const VOLUME: &str = "home/data";
const LOCAL: &str = "computer.img";
const REMOTE: &str = "elsewhere.img";
const NEW: &str = "new-computer.img";
const VOLUME_SIZE: u64 = 8 << 20;

/// Makes the mirror, loses the computer, goes on with what is elsewhere, and finds it again.
pub(super) fn steal(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let folder = world.private.join("stolen");
    fs::create_dir_all(&folder)?;
    let world = &World {
        disks: folder,
        private: world.private,
        pace: world.pace,
        interrupt: world.interrupt,
    };
    let size = world.choose(48 << 20, 24 << 20);
    for disk in [LOCAL, REMOTE, NEW] {
        fs::File::create(world.disks.join(disk))?.set_len(size)?;
    }
    let (server, uri) = behind_server(world, REMOTE)?;
    story.say(&format!(
        "{LOCAL} is the disk of a computer; {REMOTE} is in another house, behind an NBD server,\n\
         {uri}"
    ))?;
    let on = |devices: &[&str], words: &[&str]| {
        let devices = devices.join(",");
        let options = ["--assume-exclusive", "--devices", &devices];
        let words: Vec<&str> = words.iter().chain(&options).copied().collect();
        world.run(&words)
    };
    let both = [LOCAL, &*uri];
    let create = ["md", "create", "--level", "1", GROUP, LOCAL, &uri];
    shown(story, &create, &on(&both, &create)?)?;
    let group = ["vgcreate", "-s", "1m", GROUP, "md:home"];
    shown(story, &group, &on(&both, &group)?)?;
    let volume = ["lvcreate", "-L", "8m", "-n", "data", GROUP];
    shown(story, &volume, &on(&both, &volume)?)?;
    let (old, new) = (noise(world, "monday", 1)?, noise(world, "tuesday", 2)?);
    let name = |path: &Path| path.display().to_string();
    on(&both, &["cp", &name(&old), VOLUME])?;
    story.say("The computer is stolen. What is elsewhere is assembled alone:")?;
    let left = [&*uri];
    let list = ["md", "list"];
    shown(story, &list, &on(&left, &list)?)?;
    let read = world.disks.join("read");
    let is_there = |devices: &[&str], wanted: &Path| {
        on(devices, &["cp", VOLUME, &name(&read)])?;
        same(world, wanted, &read)
    };
    is_there(&left, &old)?;
    on(&left, &["cp", &name(&new), VOLUME])?;
    story.good("it holds all that was written, and is written on")?;
    let add = ["md", "add", GROUP, NEW];
    shown(story, &add, &on(&[&uri, NEW], &add)?)?;
    is_there(&[NEW], &new)?;
    story.good(&format!(
        "{NEW}, the disk of another computer, is a whole leg now: it alone holds all, too"
    ))?;
    story.say(&format!("{LOCAL} is found again, with all disks attached:"))?;
    let all = [LOCAL, &uri, NEW];
    shown(story, &list, &on(&all, &list)?)?;
    is_there(&all, &new)?;
    is_there(&[LOCAL, NEW], &new)?;
    server.stop(Duration::ZERO);
    story.good("what the thief has is never believed, whichever disks stand beside it")
}

/// A file of noise.
fn noise(world: &World<'_>, name: &str, seed: u64) -> Result<PathBuf, Error> {
    let path = world.disks.join(name);
    write_noise(&path, VOLUME_SIZE, seed)?;
    Ok(path)
}

/// Requires that what was read is what was written, and forgets it.
fn same(world: &World<'_>, wanted: &Path, read: &Path) -> Result<(), Error> {
    let wanted = hash_file(wanted, world.interrupt)?;
    let found = hash_file(read, world.interrupt)?;
    fs::remove_file(read)?;
    if wanted == found {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{VOLUME} reads as SHA-256 {found} after {wanted} was written; please report this"
    )))
}

/// A command as it is typed, and what it printed.
fn shown(story: &mut Story<'_>, words: &[&str], printed: &str) -> Result<(), Error> {
    story.command(&typed(words))?;
    story.say(printed.trim_end())
}

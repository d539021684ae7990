//! Six disks, a group on them, and a linear, a striped and a mirrored volume.

use std::fs::File;

use super::world::{DISK_COUNT, GROUP, World};
use crate::args::Error;
use crate::demo::picture::Picture;
use crate::demo::story::Story;

const MIB: u64 = 1 << 20;

/// Makes all of it.
pub(super) fn build(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let size = world.choose(128, 48);
    make_disks(story, world, size)?;
    story.command(&format!("cd {}", world.disks.display()))?;
    story.command("export ASHLAR_DEVICES=$PWD")?;
    story.say("Copies of the metadata, which LVM2 keeps in /etc/lvm, go to")?;
    story.command(&format!(
        "export LVM_SYSTEM_DIR={}",
        world.system_dir().display()
    ))?;
    let disks = World::disk_names();
    let with = |words: &[&'static str]| -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain(disks.iter().cloned()).collect()
    };
    let show = |story: &mut Story<'_>, words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        world.show(story, &words)
    };
    show(story, &with(&["pvcreate"]))?;
    show(story, &with(&["vgcreate", "-s", "1m", GROUP]))?;
    let (small, large) = (world.choose("32m", "8m"), world.choose("48m", "12m"));
    world.show(
        story,
        &["lvcreate", "-L", small, "-n", "plain", GROUP, "disk1.img"],
    )?;
    world.show(
        story,
        &[
            "lvcreate",
            "-L",
            large,
            "--stripes",
            "3",
            "-n",
            "fast",
            GROUP,
        ],
    )?;
    world.show(
        story,
        &[
            "lvcreate",
            "-L",
            small,
            "--type",
            "mirror",
            "-m",
            "1",
            "-n",
            "safe",
            GROUP,
            "disk4.img",
            "disk5.img",
            "disk6.img",
        ],
    )?;
    world.show(
        story,
        &["lvs", "-a", "-o", "lv_name,lv_attr,lv_size,devices", GROUP],
    )?;
    draw(story, world)
}

fn make_disks(story: &mut Story<'_>, world: &World<'_>, size: u64) -> Result<(), Error> {
    std::fs::create_dir_all(&world.disks).map_err(|error| {
        let what = format!("Cannot make the directory {}", world.disks.display());
        Error::failed(what).because(error)
    })?;
    story.command(&format!(
        "truncate -s {size}M disk{{1..{DISK_COUNT}}}.img    # in {}",
        world.disks.display()
    ))?;
    for name in World::disk_names() {
        let path = world.disks.join(name);
        let made = File::create_new(&path).and_then(|file| file.set_len(size * MIB));
        made.map_err(|error| {
            Error::failed(format!("Cannot make the disk {}", path.display())).because(error)
        })?;
    }
    Ok(())
}

/// Draws the group as it is.
pub(super) fn draw(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let picture = picture(world)?;
    story.say("Each letter is an extent of 1 MiB:")?;
    story.say(&picture.draw(story.paint()))
}

/// The picture of the group as it is.
pub(super) fn picture(world: &World<'_>) -> Result<Picture, Error> {
    let (_, scan) = world.look(&World::disk_names())?;
    let group = scan.find_group(GROUP);
    let group = group.map_err(|error| Error::failed(error.to_string()))?;
    Ok(Picture::of(&group.model, |number| {
        let found = group.members.get(number);
        let found = found.and_then(|member| member.presence.found());
        let path = found.map(|pv| &scan.device(scan.pv(pv).device).name);
        let name = path.map_or("missing", |path| path.rsplit('/').next().unwrap_or(path));
        name.to_owned()
    }))
}

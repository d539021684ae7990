//! A volume is attached as a block device, carries a mounted file system, and is extended while
//! files are written to it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::MountFlags;

use super::background::{Background, Progress};
use super::load::pattern;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::files::{Attached, Means, Mounted, has_capability, means, mount_point};
use crate::demo::interrupt::Interrupt;
use crate::demo::process;
use crate::demo::story::Story;

const NAME: &str = "plain";
const MIB: u64 = 1 << 20;
/// Files that are written, in turns, and bytes of each: little, as small file systems have little.
const FILES: u64 = 8;
const FILE: usize = 128 << 10;
/// The right to let a mounted file system grow, as a bit of the capabilities.
const CAP_SYS_RESOURCE: u32 = 24;

/// Attaches, mounts, writes and extends, where the machine allows it.
pub(super) fn mounted(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    if let Some(why) = obstacle() {
        return story.left_out(&format!("Left out: {why}."));
    }
    let volume = format!("{GROUP}/{NAME}");
    let attached = Attached::guard(world.runtime());
    story.command(&format!("ashlar attach {volume}"))?;
    let node = world.run(&["attach", &volume])?;
    let node = node.trim().to_owned();
    story.say(&node)?;
    tool(story, world, &["mkfs.ext4", "-q", &node])?;
    let folder = mount_point(world.private);
    std::fs::create_dir_all(&folder)?;
    story.command(&format!("mount {node} {}", folder.display()))?;
    let Some(mounted) = Mounted::mount(Path::new(&node), &folder, flags())? else {
        story.left_out("Left out: this kernel has no ext4.")?;
        return attached.close();
    };
    let before = size(&folder)?;
    let writer = Writer::start(&folder)?;
    let count = world.choose(40, 8);
    writer.wait(count, world.interrupt)?;
    story.say("Files are written to it, each with fsync, and go on to be, while others type:")?;
    let more = world.choose("+16m", "+8m");
    world.show(story, &["lvextend", "-L", more, &volume])?;
    let grows_mounted = has_capability(CAP_SYS_RESOURCE);
    if grows_mounted {
        tool(story, world, &["resize2fs", &node])?;
    } else {
        story.left_out(
            "Left out: letting the file system grow while it is mounted, which CAP_SYS_RESOURCE \
             allows.\nThe device has grown; the file system does below.",
        )?;
    }
    writer.wait(count, world.interrupt)?;
    let seeds = writer.end()?;
    story.command(&format!("umount {}", folder.display()))?;
    mounted.close()?;
    tool(story, world, &["e2fsck", "-f", "-n", &node])?;
    if !grows_mounted {
        // Which wants to see it checked first.
        tool(story, world, &["e2fsck", "-f", "-p", &node])?;
        tool(story, world, &["resize2fs", &node])?;
    }
    let read_only = flags() | MountFlags::RDONLY;
    let again = Mounted::mount(Path::new(&node), &folder, read_only)?;
    let after = size(&folder)?;
    if after <= before {
        let what = format!("The file system on {volume} has not grown; please report this");
        return Err(Error::failed(what));
    }
    compare(&folder, &seeds)?;
    again.map_or(Ok(()), Mounted::close)?;
    story.good(&format!(
        "{} MiB of file system became {} MiB, with {} writes with fsync while the volume grew;\n\
         e2fsck has no complaints, and the files hold what was written last",
        before / MIB,
        after / MIB,
        seeds.iter().max().unwrap_or(&0)
    ))?;
    story.command(&format!("ashlar detach {volume}"))?;
    attached.close()
}

/// Why it cannot be done here.
fn obstacle() -> Option<String> {
    match means() {
        Means::Node => {}
        Means::File => return Some("a block device, and mounting it, needs root".to_owned()),
        Means::Nothing(why) => return Some(why.to_owned()),
    }
    let tools = ["mkfs.ext4", "resize2fs", "e2fsck"];
    let missing = tools.iter().find(|tool| !process::is_installed(tool))?;
    Some(format!(
        "{missing}, of the package e2fsprogs, is not installed"
    ))
}

/// What is mounted is for data alone.
fn flags() -> MountFlags {
    MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC
}

/// Shows a command of another program, and runs it.
fn tool(story: &mut Story<'_>, world: &World<'_>, words: &[&str]) -> Result<(), Error> {
    world.interrupt.check()?;
    let line = words.join(" ");
    story.command(&line)?;
    process::run(Command::new(words[0]).args(&words[1..]), &line).map(drop)
}

/// Bytes of the file system that is mounted there.
fn size(folder: &Path) -> Result<u64, Error> {
    let about = rustix::fs::statvfs(folder).map_err(std::io::Error::from)?;
    Ok(about.f_blocks * about.f_frsize)
}

/// Fails unless each file holds what was written to it last.
fn compare(folder: &Path, seeds: &[u64]) -> Result<(), Error> {
    let mut wanted = vec![0; FILE];
    for (number, seed) in seeds.iter().enumerate().filter(|(_, seed)| **seed > 0) {
        let path = file(folder, number as u64);
        let found = std::fs::read(&path).map_err(|error| {
            Error::failed(format!("Cannot read {}", path.display())).because(error)
        })?;
        pattern(*seed, 0, &mut wanted);
        if found != wanted {
            let what = format!(
                "{} lost what was written; please report this",
                path.display()
            );
            return Err(Error::failed(what));
        }
    }
    Ok(())
}

fn file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("file{number}"))
}

/// Writes files, one after the other, on a thread of its own. Dropped, it ends.
struct Writer(Background<std::io::Result<Vec<u64>>>);

impl Writer {
    fn start(folder: &Path) -> Result<Self, Error> {
        let folder = folder.to_owned();
        Background::start("files", move |progress| write(&folder, progress)).map(Self)
    }

    /// Waits until `more` files were written after this.
    fn wait(&self, more: u64, interrupt: &Interrupt) -> Result<(), Error> {
        let stalled = "The mounted file system takes no more files";
        self.0.wait(more, stalled, interrupt)
    }

    /// The seed of each file; the largest is the number of writes.
    fn end(mut self) -> Result<Vec<u64>, Error> {
        let seeds = self.0.end().expect("it ends once")?;
        seeds.map_err(|error| Error::failed("A file cannot be written").because(error))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Nothing can be unmounted under it.
        self.0.end();
    }
}

fn write(folder: &Path, progress: &Progress) -> std::io::Result<Vec<u64>> {
    let mut seeds = vec![0; FILES as usize];
    let mut buffer = vec![0; FILE];
    for seed in 1_u64.. {
        if progress.is_stopped() {
            break;
        }
        let number = seed % FILES;
        pattern(seed, 0, &mut buffer);
        let mut file = File::create(file(folder, number))?;
        file.write_all(&buffer)?;
        file.sync_all()?;
        seeds[number as usize] = seed;
        progress.done(seed);
    }
    Ok(seeds)
}

//! The order of the steps.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::disks::{self, GROUP};
use super::files::{self, Places};
use super::interrupt::Interrupt;
use super::picture::Picture;
use super::story::Story;
use super::tour::{self, Pace, Seen, World};
use super::{network, process, volumes};
use crate::args::Error;
use crate::commands::{self, Disks, PrivateFolder, Session};

const MIB: u64 = 1 << 20;
/// The disks of the tour, in the folder of the bundled ones.
const TOUR: &str = "tour";

/// Runs the demo. The disks go into `keep`, and stay there, if it is given.
pub(crate) fn run(keep: Option<&Path>, pace: Pace, session: &mut Session) -> Result<(), Error> {
    let start = Instant::now();
    let interrupt = Interrupt::watch()?;
    let private = PrivateFolder::make()?;
    let folder = match keep {
        Some(folder) => folder.to_owned(),
        None => private.path().join("disks"),
    };
    let mut story = Story::new(session);
    let outcome = steps(&mut story, &folder, private.path(), &interrupt).and_then(|()| {
        let world = World {
            disks: folder.join(TOUR),
            private: private.path(),
            pace,
            interrupt: &interrupt,
        };
        tour::steps(&mut story, &world)
    });
    let place = story.place();
    let seen = match outcome {
        Ok(seen) => seen,
        Err(error) => {
            drop(private);
            return Err(match error.kind() {
                crate::args::Kind::Pipe => error,
                _ => Error::failed(format!("The demo ended in {place}: {error}")),
            });
        }
    };
    story.step("Write the tour down")?;
    write_down(&mut story, &seen, keep)?;
    story.step("Clean up")?;
    let path = private.path().to_owned();
    drop(private);
    let left = leftovers(&path);
    if !left.is_empty() {
        let what = format!("The demo left something behind: {}", left.join(", "));
        return Err(Error::failed(what));
    }
    let seconds = start.elapsed().as_secs_f64();
    story.good(
        "Nothing is left behind: no mount, no loop device, no process, no file but the page.",
    )?;
    story.say(&format!("That took {seconds:.1} s."))?;
    if keep.is_some() {
        let folder = folder.display();
        story.say(&format!("The disks are still in {folder}, as you asked."))
    } else {
        story.say("To try the commands yourself: ashlar demo --keep DIRECTORY leaves the disks.")
    }
}

fn steps(
    story: &mut Story<'_>,
    folder: &Path,
    private: &Path,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    let places = Places {
        disks: folder,
        folder: private,
    };
    introduce(story)?;
    clean_up_after_killed(story)?;
    story.step("Unpack five disks that stock LVM2 wrote")?;
    unpack(story, folder, interrupt)?;
    story.step("Look at the volume group, as LVM2's own commands show it")?;
    report(story, &places, "vgs")?;
    report(story, &places, "lvs")?;
    interrupt.check()?;
    story.step("Draw which extents of which disk hold which volume")?;
    let disks = look(story, folder)?;
    draw(story, &disks)?;
    interrupt.check()?;
    story.step("Read the volumes, and compare them with what the kernel saw")?;
    volumes::compare_all(story, &disks, interrupt)?;
    story.step("Serve a volume over NBD, and read it back through the socket")?;
    network::serve_and_read(story, &disks, private, interrupt)?;
    story.step("Attach the volume with a file system, and look into it")?;
    files::attach_and_list(story, &places, interrupt)?;
    interrupt.check()
}

fn introduce(story: &mut Story<'_>) -> Result<(), Error> {
    story.print("Ashlar demo: LVM2 volumes without device-mapper, daemons or udev.\n")?;
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ashlar"));
    story.print(&format!(
        "Each step shows the command that does the same; ashlar is\n{}\n",
        program.display()
    ))
}

fn clean_up_after_killed(story: &mut Story<'_>) -> Result<(), Error> {
    for abandoned in PrivateFolder::abandoned() {
        let path = abandoned.path().display();
        story.print(&format!("A killed process left {path}: removed.\n"))?;
        if let Err(error) = files::clean_up(abandoned.path()) {
            story.session().tell(&error.to_string());
        }
    }
    Ok(())
}

fn unpack(story: &mut Story<'_>, folder: &Path, interrupt: &Interrupt) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| {
        Error::failed(format!("Cannot make the directory {}", folder.display())).because(error)
    })?;
    story.command(&format!("export ASHLAR_DEVICES={}", folder.display()))?;
    let mut list = Vec::new();
    disks::unpack(folder, interrupt, |name, size| {
        list.push(format!("{name} {} MiB", size / MIB));
        Ok(())
    })?;
    story.say(&list.join(", "))
}

/// Runs one of the reporting commands.
fn report(story: &mut Story<'_>, places: &Places<'_>, name: &str) -> Result<(), Error> {
    story.command(&format!("ashlar {name}"))?;
    let devices = places.disks.display().to_string();
    let printed = process::ashlar(&places.runtime(), &["--devices", &devices, name])?;
    story.say(printed.trim_end())
}

/// Writes the picture and the page, and says where.
fn write_down(story: &mut Story<'_>, seen: &Seen, keep: Option<&Path>) -> Result<(), Error> {
    let folder = keep.map_or_else(tour::own_folder, |folder| Ok(folder.to_owned()));
    match folder.and_then(|folder| tour::write(story, seen, &folder)) {
        Ok([picture, page]) => {
            story.say(&format!("The disks as a picture: {}", picture.display()))?;
            story.say(&format!("The tour as a page:     {}", page.display()))
        }
        Err(error) => story.left_out(&format!("Left out: no page can be written: {error}")),
    }
}

/// Finds the disks once for all of the next steps.
fn look(story: &mut Story<'_>, folder: &Path) -> Result<Disks, Error> {
    let devices = folder.display().to_string();
    let arguments = commands::device_arguments(&devices)?;
    story.session().disks(&arguments)
}

fn draw(story: &mut Story<'_>, disks: &Disks) -> Result<(), Error> {
    story.command("ashlar pvdisplay -m")?;
    story.say("says it in words; the picture has one letter for each extent of 1 MiB:")?;
    let group = disks.scan.find_group(GROUP);
    let group = group.map_err(|error| Error::failed(error.to_string()))?;
    let name = |number: usize| {
        let found = group.members.get(number);
        let found = found.and_then(|member| member.presence.found());
        let path = found.map(|pv| &disks.scan.device(disks.scan.pv(pv).device).name);
        let name = path.map_or("missing", |path| path.rsplit('/').next().unwrap_or(path));
        name.to_owned()
    };
    let picture = Picture::of(&group.model, name).draw(story.paint());
    story.say(&picture)
}

/// What is left of the demo in `folder` or over files in it.
fn leftovers(folder: &Path) -> Vec<String> {
    let mut left = Vec::new();
    if folder.exists() {
        left.push(format!("the directory {}", folder.display()));
    }
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file"));
        if backing.is_ok_and(|file| Path::new(file.trim_end()).starts_with(folder)) {
            left.push(format!("the loop device {}", entry.file_name().display()));
        }
    }
    left
}

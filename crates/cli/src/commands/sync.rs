//! `sync`: a RAID volume or a mirror is at work until all that it consists of goes together.

use std::thread;
use std::time::{Duration, Instant};

use ashlar::live::{Client, MirrorStatus, VolumeStatus};
use dm::volume::Access;
use lvm2::Uuid;

use super::Session;
use super::cp::{Bar, Signals};
use super::open::{FLAGS, Opener, take};
use super::session::Disks;
use crate::args::{Arguments, Command, Error, Example, flags};

/// How often is asked how far it is.
const PAUSE: Duration = Duration::from_millis(200);
/// After so long without any progress none is awaited, where an image is missing.
const STILL: Duration = Duration::from_secs(15);

/// `sync`
pub(super) const COMMAND: Command = Command {
    name: "sync",
    summary: "Bring RAID volumes and mirrors in sync, and wait until they are",
    operands: "VG/LV ...",
    description: "What a RAID volume or a mirror consists of is brought in sync while somebody \
        uses it: a new one, an image that is new or was away, and what a loss of power has cut \
        short. This uses it for as long as that takes. Where a process serves the volume already, \
        that does it, and is waited for. On a terminal a bar shows how far it is.\n\n\
        What was done so far is kept when the command is ended, and is gone on with when the \
        volume is used next. The exit status is 5 where an image is missing or fails meanwhile: \
        without it all cannot be in sync.",
    flags: &[FLAGS, flags::COMMON],
    examples: &[Example {
        line: "ashlar lvcreate --type raid5 -i 3 -L 10g -n data vg0 && ashlar sync vg0/data",
        does: "makes a volume that may lose a disk from the start",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::usage(
            "sync: name a RAID volume or a mirror, as in: ashlar sync vg0/data",
        ));
    }
    let disks = session.disks(arguments)?;
    for name in arguments.operands() {
        if let Err(error) = one(name, arguments, &disks, session) {
            session.fail_later(&error.to_string());
        }
    }
    Ok(())
}

fn one(
    name: &str,
    arguments: &Arguments,
    disks: &Disks,
    session: &mut Session,
) -> Result<(), Error> {
    let (group, id) = disks.scan.find_volume(name).map_err(failed)?;
    let lv = group.model.lv(id);
    let volume = format!("{}/{}", group.name, lv.name());
    if let Some(mut client) = Client::find(group.uuid).map_err(failed)? {
        let mut ask = || Ok(client.status().map_err(failed)?.unwrap_or_default());
        if found(&ask()?, lv.uuid).is_some() {
            return wait(&volume, lv.uuid, &mut ask);
        }
    }
    let live = take(disks, group.uuid)?;
    let options = Opener::options(arguments, Access::ReadWrite)?;
    let used = live.open(lv.name(), options.missing).map_err(failed)?;
    for gap in &used.gaps {
        session.tell(&format!("WARNING: {gap}."));
    }
    let waited = wait(&volume, lv.uuid, &mut || Ok(live.status()));
    used.close()
        .map_err(|error| Error::failed(format!("{volume}: {error}")))?;
    waited
}

/// Waits until all of a volume is in sync, as whoever is asked says.
fn wait(
    name: &str,
    lv: Uuid,
    ask: &mut dyn FnMut() -> Result<Vec<VolumeStatus>, Error>,
) -> Result<(), Error> {
    let signals = Signals::watch()?;
    let (mut bar, mut last) = (None, (0, Instant::now()));
    loop {
        signals.check()?;
        let statuses = ask()?;
        let Some(status) = found(&statuses, lv) else {
            return Err(Error::failed(format!("{name} is in use no more")));
        };
        if status.mirrors.is_empty() {
            return Err(Error::failed(format!(
                "{name} is neither a RAID volume with redundancy nor a mirror"
            )));
        }
        let sum = |of: fn(&MirrorStatus) -> u64| status.mirrors.iter().map(of).sum::<u64>();
        let (done, all) = (sum(|one| one.in_sync), sum(|one| one.regions));
        let bar = bar.get_or_insert_with(|| Bar::new(all));
        bar.show(done, all.saturating_sub(done), String::new);
        if status.mirrors.iter().all(MirrorStatus::is_in_sync) {
            bar.clear();
            return Ok(());
        }
        if done != last.0 {
            last = (done, Instant::now());
        }
        if done == all && last.1.elapsed() > STILL && !has_lost(status) {
            bar.clear();
            return Err(Error::failed(format!(
                "{name} is in sync, but the metadata do not say so of all images: what keeps them \
                 from that is told by who serves it; those are filled once more by the next use"
            )));
        }
        let images = status.mirrors.iter().flat_map(MirrorStatus::failed);
        let images = images.filter(|image| !image.state.is_filled());
        let images: Vec<String> = images
            .map(|image| format!("{} {}", image.name, image.state.word()))
            .collect();
        if !images.is_empty() && (done == all || last.1.elapsed() > STILL) {
            bar.clear();
            return Err(Error::failed(format!(
                "{name} is not in sync, and cannot be without {}; lvconvert --repair puts others \
                 in their place",
                images.join(", ")
            )));
        }
        thread::sleep(PAUSE);
    }
}

/// Whether an image of it cannot be filled.
fn has_lost(status: &VolumeStatus) -> bool {
    let mut images = status.mirrors.iter().flat_map(MirrorStatus::failed);
    images.any(|image| !image.state.is_filled())
}

/// What is said of a volume.
fn found(statuses: &[VolumeStatus], lv: Uuid) -> Option<&VolumeStatus> {
    statuses.iter().find(|status| status.uuid == Some(lv))
}

#[expect(clippy::needless_pass_by_value, reason = "results are mapped with it")]
fn failed(error: ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
